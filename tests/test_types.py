"""Types, strictly, over the whole tree; here, so that it runs beside other tests and not before them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.timeout(900)
def test_types_hold() -> None:
    """Mypy finds nothing to say; `make lint` runs it alone."""
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
