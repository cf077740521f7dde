"""Which tests are of pure modules: those alone are followed line by line.

Following costs as much again as two thirds of a test's own time, and what is not pure is not counted.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from functools import _lru_cache_wrapper, cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
ALWAYS = ("tests/golden/", "tests/worked_examples/")


@cache
def _counted() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[str] = project["tool"]["coverage"]["report"]["include"]
    return found


def places() -> tuple[str, ...]:
    """How the paths of those tests begin: the modules that coverage counts, mirrored."""
    return (*ALWAYS, *sorted({place for pattern in _counted() for place in _mirrored(pattern)}))


def _mirrored(pattern: str) -> Iterator[str]:
    if pattern.endswith("/**"):
        yield f"tests/{pattern.removesuffix('**')}"
    else:
        folder, _, module = pattern.removesuffix(".py").rpartition("/")
        yield f"tests/{folder}/test_{module}"


class FollowPureOnly:
    """Pauses coverage while a test runs that is not of a pure module."""

    def __init__(self, controller: Any) -> None:
        self._controller, self._places = controller, places()
        self._followed = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """The test with its fixtures, followed or not."""
        followed, self._followed = self._followed, item.nodeid.startswith(self._places)
        if self._followed:
            if not followed:
                forget_what_is_kept()
            return (yield)
        self._controller.pause()
        try:
            return (yield)
        finally:
            self._controller.resume()


def forget_what_is_kept() -> None:
    """Empty the caches of pure functions: what was worked out while nobody followed would not be again."""
    pure = tuple(each.removesuffix("/**").removesuffix(".py").replace("/", ".") for each in _counted())
    ours = [module for name, module in list(sys.modules.items()) if name.startswith(pure)]
    for module in ours:
        for value in list(vars(module).values()):
            if isinstance(value, _lru_cache_wrapper):
                value.cache_clear()


def follow_pure_only(config: pytest.Config) -> None:
    """Hold to that where coverage is measured at all."""
    measuring: Any = config.pluginmanager.getplugin("_cov")
    if getattr(measuring, "cov_controller", None) is not None:
        config.pluginmanager.register(FollowPureOnly(measuring.cov_controller), "follow-pure-only")
