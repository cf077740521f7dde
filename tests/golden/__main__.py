"""`python -m tests.golden FILE...`: every golden case through our functions; exit 1 when one differs."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.golden.runner import run

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("give one or more files of golden cases, for instance tests/golden/golden.json")
    sys.exit(run([Path(name) for name in sys.argv[1:]]))
