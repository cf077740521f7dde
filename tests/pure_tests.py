"""Which tests are of pure modules: those alone are followed line by line.

Following costs as much again as two thirds of a test's own time, and what is not pure is not counted.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
ALWAYS = ("tests/golden/", "tests/worked_examples/")


def places() -> tuple[str, ...]:
    """How the paths of those tests begin: the modules that coverage counts, mirrored."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    counted: list[str] = project["tool"]["coverage"]["report"]["include"]
    return (*ALWAYS, *sorted({place for pattern in counted for place in _mirrored(pattern)}))


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

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """The test with its fixtures, followed or not."""
        if item.nodeid.startswith(self._places):
            return (yield)
        self._controller.pause()
        try:
            return (yield)
        finally:
            self._controller.resume()


def follow_pure_only(config: pytest.Config) -> None:
    """Hold to that where coverage is measured at all."""
    measuring: Any = config.pluginmanager.getplugin("_cov")
    if getattr(measuring, "cov_controller", None) is not None:
        config.pluginmanager.register(FollowPureOnly(measuring.cov_controller), "follow-pure-only")
