"""Audited failures and anchors: when the alarm comes, and that it comes once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlmodel import Session

from calibration.labels import Blindness
from calibration.monitoring import watch_anchors, watch_audit
from calibration.store.assessments import LabelEntry, add_labels
from calibration.store.database import Store
from calibration.store.decisions import StoredDecision
from calibration.store.items import add_items
from calibration.store.judges import RunOrigin, add_run
from calibration.store.verdicts import add_verdicts
from rubrics.errors import RecordError
from rubrics.item import Item
from tests.calibration.filling import CLEAN, CRITERION, NOW, RUBRIC, entry
from tests.calibration.registry.deciding import examined, later, signed


def audited(session: Session, decision: StoredDecision, words: list[str], dataset: str = "audited") -> None:
    """Failing outputs of another time, labelled, with what the judge said of them."""
    ids = [f"a{n:03d}" for n in range(len(words))]
    items = [Item.model_validate({"item_id": i, "input": "q", "output": f"answer {i}"}) for i in ids]
    add_items(session=session, dataset=dataset, items=items, at=NOW)
    labels = [
        LabelEntry(i, CRITERION, rater, "fail", blind=Blindness.DECLARED)
        for i in ids
        for rater in ("ann", "ben")
    ]
    add_labels(session=session, dataset=dataset, rubric_digest=RUBRIC.digest, labels=labels, at=NOW)
    judged(session, decision, dict(zip(ids, words, strict=True)), dataset)


def judged(
    session: Session, decision: StoredDecision, words: dict[str, str], dataset: str, attempt: int = 0
) -> None:
    """A run of the judge on the dataset."""
    run = add_run(
        session=session,
        judge_digest=decision.scope.judge_digest,
        rubric_digest=RUBRIC.digest,
        dataset=dataset,
        origin=RunOrigin.IMPORT,
        plan={"attempt": attempt},
        units=0,
        at=later(attempt),
    )
    add_verdicts(session=session, verdicts=[entry(run, item, word) for item, word in words.items()], at=NOW)


def watch(session: Session, decision: StoredDecision) -> object:
    """The reading of the audited dataset."""
    return watch_audit(session=session, decision=decision, dataset="audited", actor="watch", at=later(1))


def test_a_drift_is_noticed_once(store: Store) -> None:
    """Half of forty audited failures accepted, at a limit of 10 %: e-value and CUSUM raise their alarms."""
    with store.write() as session:
        decision = signed(session, examined(session, CLEAN))
        audited(session, decision, ["accept", "reject"] * 20)
        first = watch_audit(session=session, decision=decision, dataset="audited", actor="watch", at=later(1))
        assert (first.accepted, first.failures, first.limit) == (20, 40, 0.10)
        assert first.e_value >= 40
        assert first.alarm_at is not None
        assert first.warned_at is not None
        assert {alarm.trigger for alarm in first.alarms} == {"audit_e_value", "cusum"}
        assert watch(session, decision) == first


@pytest.mark.parametrize("words", [["reject"] * 60, [*["reject"] * 19, "accept"] * 3, ["missing"] * 30])
def test_a_judge_within_its_limit_raises_none(sqlite_store: Store, words: list[str]) -> None:
    """Five per cent, nothing at all, and verdicts that are still open."""
    with sqlite_store.write() as session:
        decision = signed(session, examined(session, CLEAN))
        audited(session, decision, words)
        found = watch_audit(session=session, decision=decision, dataset="audited", actor="watch", at=later(1))
    assert found.alarm_at is None
    assert not [alarm for alarm in found.alarms if alarm.trigger == "audit_e_value"]


def test_nothing_to_audit_is_said(sqlite_store: Store) -> None:
    """Neither labels nor verdicts, or labels alone."""
    with sqlite_store.write() as session:
        decision = signed(session, examined(session, CLEAN))
        with pytest.raises(RecordError, match="nothing is audited"):
            watch(session, decision)
        with pytest.raises(RecordError, match="two are compared"):
            watch_anchors(session=session, decision=decision, dataset="none", actor="w", at=NOW)


def test_an_anchor_whose_verdict_changed_is_an_alarm(store: Store) -> None:
    """The newest run against the first, over the items that both answered."""
    with store.write() as session:
        decision = signed(session, examined(session, CLEAN))
        audited(session, decision, ["reject"] * 5, "anchors")
        judged(session, decision, {f"a{n:03d}": "reject" for n in range(5)}, "anchors", 1)

        def watched() -> object:
            return watch_anchors(
                session=session, decision=decision, dataset="anchors", actor="watch", at=later(3)
            )

        calm = watch_anchors(session=session, decision=decision, dataset="anchors", actor="w", at=later(2))
        assert (calm.anchors, calm.changed, calm.alarm) == (5, (), None)
        judged(session, decision, {"a000": "reject", "a001": "accept", "a002": "abstained"}, "anchors", 2)
        found = watch_anchors(session=session, decision=decision, dataset="anchors", actor="w", at=later(3))
        assert (found.anchors, found.changed) == (3, ("a001", "a002"))
        assert found.alarm is not None
        assert found.alarm.sentence == "2 of 3 anchors in anchors have another verdict now"
        assert watched() == replace(found)
