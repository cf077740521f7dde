"""A process that writes until it is killed; run by test_faults.

It prints the number of each transaction before it begins and after it was committed, so that the test
knows what was acknowledged. It forks for each kill: importing takes longer than being killed.
"""

from __future__ import annotations

import os
import sys

from calibration.store.assessments import add_labels
from calibration.store.chain import append_event
from calibration.store.imports import record_import, seal_import
from calibration.store.schema import open_store
from calibration.store.verdicts import add_verdicts
from tests.calibration.store.evidence import DATASET, NOW, label, later, lay_down, sign, verdict

ITEMS = 25


def say(word: str, number: int) -> None:
    """One line in one write, so that it is whole or absent however the process ends."""
    os.write(1, f"{word} {number}\n".encode())


def write_for_ever(address: str, first: int) -> None:
    """Imports of verdicts and labels with a decision each, one transaction a file, numbered from `first`."""
    store = open_store(address)
    number = first
    while True:
        number += 1
        say("begin", number)
        with store.write() as session:
            world = lay_down(session, items=ITEMS)
            key = record_import(
                session=session,
                kind="verdicts",
                dataset=DATASET,
                file_digest=f"{number:064}",
                provenance={"file": f"{number}.jsonl"},
                actor="lead",
                at=NOW,
            )
            repeats = [verdict(world.run_key, n, repeat=number, raw=f"{number}-{n}") for n in range(ITEMS)]
            add_verdicts(session=session, verdicts=repeats, at=NOW, import_key=key)
            seal_import(session=session, key=key, kind="verdicts", actor="lead", at=later(number))
            labels = [label(n, repeat=number, note=f"{number}") for n in range(ITEMS)]
            add_labels(
                session=session, dataset=DATASET, rubric_digest=world.rubric.digest, labels=labels, at=NOW
            )
            sign(session, world, seconds=number)
            append_event(
                session=session, stream="writes", kind="written", actor="lead", payload={"n": number}, at=NOW
            )
        say("done", number)


def main() -> None:
    """Reads `address first` a line, forks a writer, prints its process id."""
    for line in sys.stdin:
        address, first = line.rsplit(" ", 1)
        child = os.fork()
        if child == 0:
            write_for_ever(address, int(first))
        say("child", child)
        os.waitpid(child, 0)
        say("dead", child)


if __name__ == "__main__":
    main()
