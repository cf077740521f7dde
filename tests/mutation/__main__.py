"""`python -m tests.mutation`: how many changes to the statistics, report and decision the tests notice."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.mutation.running import PARTS, TESTS, mutants, prepare, run, sample, shown

LEAST = 0.85
"""The share that has to be noticed."""


def main() -> int:
    """Run a sample, tell the shares and every survivor; 1 where fewer than `LEAST` were noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=300, metavar="N", help="mutants to run, drawn evenly")
    parser.add_argument("--all", action="store_true", help="every mutant: many hours")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--part", choices=PARTS, action="append", help="one of the parts; repeatable")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="voirdire-mutants-") as name:
        folder = Path(name)
        prepare(folder, mutate=[PARTS[part] for part in given.part or PARTS], tests=TESTS)
        names = mutants(folder, processes=given.processes)
        chosen = names if given.all else sample(names, given.sample, seed=given.seed)
        found = run(folder, chosen, of=len(names), processes=given.processes)
        for survivor in found.survived:
            print(f"survived: {survivor}\n{shown(folder, survivor)}")
    for part in given.part or PARTS:
        print(found.share(part))
    print(f"{found.share()}; {found.run:,} of {found.of:,} mutants run, seed {given.seed}")
    return 0 if len(found.killed) >= LEAST * found.run else 1


if __name__ == "__main__":
    sys.exit(main())
