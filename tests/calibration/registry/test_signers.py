"""Two signers at once: one chain, no fork; who has not read what stands signs nothing."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from calibration.registry import Signature
from calibration.store.database import Store
from calibration.store.decisions import iter_decisions, verify_decisions
from calibration.store.integrity import findings
from rubrics.errors import DifferentRecord
from tests.calibration.registry.deciding import CLEAN, again, examined, signed
from tests.databases import BOTH

SIGNERS = 4


@BOTH
def test_signers_at_once_make_one_chain(store: Store) -> None:
    """Each has read the first decision: one replaces it, the others are told to read what stands now."""
    with store.write() as session:
        first = signed(session, examined(session, CLEAN))
    start = threading.Barrier(SIGNERS)
    outcomes: list[str] = []

    def sign_once(number: int) -> None:
        signature = Signature(f"signer {number}", "read the first decision", replaces=first.hash)
        start.wait()
        try:
            with store.write() as session:
                signed(session, again(session), days=1, signature=signature)
            outcomes.append("signed")
        except DifferentRecord:
            outcomes.append("refused")

    threads = [threading.Thread(target=sign_once, args=(number,)) for number in range(SIGNERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["refused"] * (SIGNERS - 1) + ["signed"]
    with store.read() as session:
        chain = list(iter_decisions(session=session))
        assert [each.seq for each in chain] == [1, 2]
        assert chain[1].supersedes == first.hash
        assert verify_decisions(session=session) == ()
        assert list(findings(session, {})) == []


def test_two_who_began_at_once_are_told_of_each_other(sqlite_store: Store) -> None:
    """Neither named what stands: the later one reads the other's decision first, or names it."""
    with sqlite_store.write() as session:
        found = examined(session, CLEAN)
        first = signed(session, found, signature=Signature("A. Blum", "read the accepted failures", seen=0))
        late = Signature("R. Ito", "read the accepted failures", seen=0)
        with pytest.raises(DifferentRecord, match=r"'A\. Blum' signed decision .* \(admit\) .* meanwhile"):
            signed(session, found, signature=late)
        second = signed(session, found, signature=replace(late, replaces=first.hash), days=1)
        third = signed(session, found, signature=replace(late, seen=2), days=2)
    assert (second.supersedes, third.supersedes) == (first.hash, second.hash)
