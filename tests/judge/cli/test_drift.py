"""`voirdire drift systems` and `draw`: a system that nobody calibrated on is audited on its own outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calibration.labels import Blindness
from calibration.store.assessments import LabelEntry, add_labels
from calibration.store.database import Store
from calibration.store.decisions import StoredDecision
from calibration.store.integrity import findings
from calibration.store.items import Scope, iter_full_items
from calibration.store.sets import get_set, iter_members
from rubrics.item import Item
from tests.judge.cli.grading import answers, prepared
from tests.judge.cli.records import Run
from tests.judge.grading_world import BAD, GOOD, NOW, RUBRIC, item

SLIPPED = "You have 90 days."
"""A failure that the rule does not see."""


def outputs(bad: int, good: int, slipped: int, system: str = "bot-9") -> list[Item]:
    """Outputs of a system that nobody calibrated on."""
    texts = [BAD] * bad + [GOOD] * good + [SLIPPED] * slipped
    return [item(f"x{n:03d}", text, system=system) for n, text in enumerate(texts)]


def world(store: Store, folder: Path, items: list[Item]) -> tuple[Run, StoredDecision, str]:
    """The rule is admitted, and has graded the outputs."""
    db, decision = prepared(store)
    file = answers(folder, items)
    graded = db("grade", file, "--rubric", "refunds", "--criterion", "true", "--judge", "true-by-rule")
    assert graded.exit_code == 0, graded.stderr
    return db, decision, file


def systems(db: Run, decision: StoredDecision) -> dict[str, Any]:
    """The one system as JSON."""
    (found,) = json.loads(db("drift", "systems", decision.hash[:12], "--json").stdout)["systems"]
    return found  # type: ignore[no-any-return]


def drawn(db: Run, decision: StoredDecision, file: str, accepted: int, other: int) -> None:
    """The draw of so many outputs of each kind."""
    result = db(
        "drift", "draw", decision.hash[:12], file, "--system", "bot-9", "--session", "may", "--rater", "ann",
        "--rater", "ben", "--accepted", str(accepted), "--not-accepted", str(other),
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr


def label(store: Store, wrong: tuple[str, ...] = (BAD, SLIPPED)) -> None:
    """Both raters on every drawn output."""
    with store.write() as session:
        items = list(iter_full_items(session=session, scope=Scope(dataset="audit-may")))
        labels = [
            LabelEntry(
                each.item_id,
                "true",
                rater,
                "fail" if (each.output or "").startswith(wrong) else "pass",
                blind=Blindness.DECLARED,
            )
            for each in items
            if isinstance(each, Item)
            for rater in ("ann", "ben")
        ]
        add_labels(session=session, dataset="audit-may", rubric_digest=RUBRIC.digest, labels=labels, at=NOW)


def test_a_system_is_audited_on_its_own_outputs(sqlite_store: Store, tmp_path: Path) -> None:
    """60 rejected and 10 of 140 accepted are wrong: FAR 10/70 from half of each, and it stays flagged."""
    db, decision, file = world(sqlite_store, tmp_path, outputs(60, 130, 10))
    assert "bot-9: 200 outputs graded, none audited" in db("drift", "systems", decision.hash[:12]).stdout
    drawn(db, decision, file, 140, 30)
    with sqlite_store.read() as session:
        members = list(
            iter_members(session=session, set_digest=get_set(session=session, set_name="audit-may").digest)
        )
        assert {(each.stratum, each.inclusion_probability) for each in members} == {
            ("accepted", 1.0),
            ("not_accepted", 0.5),
        }
        assert [each.item_id for each in members] == sorted(each.item_id for each in members)
        assert not {each.item_id for each in members} & {f"x{n:03d}" for n in range(200)}
    before = systems(db, decision)
    assert (before["graded"], before["labelled"], before["far"]) == (200, 0, None)
    label(sqlite_store)
    after = systems(db, decision)
    assert (after["labelled"], after["failures"]) == (170, 40)
    assert after["far"] == pytest.approx(10 / 70)
    assert after["lower"] < 10 / 70 < after["upper"]
    assert after["holds"] is False
    said = " ".join(db("drift", "systems", decision.hash[:12]).stdout.split())
    assert "FAR 14.3 %" in said
    assert "Its outputs stay flagged: candidate not audited." in said
    with sqlite_store.read() as session:
        assert list(findings(session, {})) == []


def test_an_audit_that_holds_ends_the_flag(sqlite_store: Store, tmp_path: Path) -> None:
    """50 failures all rejected: the next grade of the system bears no flag."""
    db, decision, file = world(sqlite_store, tmp_path, outputs(50, 20, 0))
    call = ("grade", file, "--rubric", "refunds", "--criterion", "true", "--json")
    flagged = json.loads(db(*call).stdout)["grades"]
    assert all("candidate not audited" in str(each["flags"]) for each in flagged)
    drawn(db, decision, file, 1000, 1000)
    label(sqlite_store)
    found = systems(db, decision)
    assert (found["far"], found["holds"]) == (0.0, True)
    assert all(each["flags"] == [] for each in json.loads(db(*call).stdout)["grades"])


def test_unresolved_outputs_leave_room_on_both_sides(sqlite_store: Store, tmp_path: Path) -> None:
    """A draw that nobody finished is between all that it may still become."""
    db, decision, file = world(sqlite_store, tmp_path, outputs(20, 20, 0))
    drawn(db, decision, file, 20, 20)
    with sqlite_store.write() as session:
        items = list(iter_full_items(session=session, scope=Scope(dataset="audit-may")))
        bad = [each.item_id for each in items if isinstance(each, Item) and str(each.output).startswith(BAD)]
        good = [each.item_id for each in items if each.item_id not in bad][:15]
        labels = [
            LabelEntry(name, "true", rater, "fail" if name in bad else "pass", blind=Blindness.DECLARED)
            for name in [*bad, *good]
            for rater in ("ann", "ben")
        ]
        add_labels(session=session, dataset="audit-may", rubric_digest=RUBRIC.digest, labels=labels, at=NOW)
    found = systems(db, decision)
    assert (found["labelled"], found["far"], found["lower"]) == (35, 0.0, 0.0)
    assert found["upper"] > 5 / 25  # the five that nobody labelled may all be failures


@pytest.mark.parametrize(
    ("items", "system", "words"),
    [
        (outputs(5, 0, 0), "bot-9", "the texts of 5 graded outputs of 'bot-9' are not in the file"),
        (outputs(5, 5, 0), "bot-3", "no output of 'bot-3' was graded on decision"),
    ],
)
def test_a_draw_with_holes_is_refused(
    sqlite_store: Store, tmp_path: Path, items: list[Item], system: str, words: str
) -> None:
    """Every graded output must be there to be drawn."""
    db, decision, _ = world(sqlite_store, tmp_path, outputs(5, 5, 0))
    result = db(
        "drift", "draw", decision.hash[:12], answers(tmp_path, items), "--system", system, "--session", "may",
        "--rater", "ann", "--rater", "ben",
    )  # fmt: skip
    assert result.exit_code == 3
    assert words in " ".join(result.stderr.split())
