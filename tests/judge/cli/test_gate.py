"""`voirdire gate`: files that are not what was recorded, and what is left out of the rate."""

from __future__ import annotations

import json
from pathlib import Path

from calibration.store.database import Store
from tests.judge.cli.grading import FREE, TRUE, answers, prepared
from tests.judge.grading_world import GOOD, item


def test_a_changed_file_of_grades_is_refused(sqlite_store: Store, tmp_path: Path) -> None:
    """A verdict turned, a line gone or added, another population, rubric or judge at its head."""
    db, _ = prepared(sqlite_store)
    items = [item(f"x{n}", GOOD if n else FREE) for n in range(50)]
    out = tmp_path / "graded.jsonl"
    assert db("grade", answers(tmp_path, items), *TRUE, "--out", str(out)).exit_code == 0
    asked = ("gate", str(out), *TRUE, "--pass-at-least", "0.8")
    assert db(*asked).exit_code == 0
    head, *lines = [json.loads(line) for line in out.read_text().splitlines()]
    turned = {**lines[0], "criteria": [{**lines[0]["criteria"][0], "verdict": "pass"}]}
    other = {"true": {**head["graders"]["true"], "judge": "x" * 64}}
    changed = [
        ([head, turned, *lines[1:]], "is not the one that was recorded"),
        ([head, *lines[1:]], "lacks 1 grades"),
        ([head, *lines, {**lines[0], "item_id": "new", "grade": None}], "never recorded"),
        ([{**head, "population": "chats"}, *lines], "another population"),
        ([{**head, "rubric_digest": "0" * 64}, *lines], "another rubric"),
        ([{**head, "graders": other}, *lines], "another judge"),
    ]
    for content, words in changed:
        out.write_text("".join(json.dumps(line) + "\n" for line in content))
        refused = db(*asked)
        said = " ".join(refused.stderr.split())
        assert (refused.exit_code, words in said) == (3, True), (said, refused.stdout)


def test_what_is_left_out_must_not_matter(sqlite_store: Store) -> None:
    """Outputs left to people are counted as failing before the gate opens."""
    from calibration.evidence import CalibrationReport
    from calibration.store.reports import get_report
    from judge.gating import GateOutcome, Judged, decide_gate
    from rubrics.verdict import PASS

    _, decision = prepared(sqlite_store)
    with sqlite_store.read() as session:
        stored = get_report(session=session, digest_prefix=decision.report_digest)
    report = CalibrationReport.model_validate(stored.content)
    outcomes = {f"x{n}": PASS for n in range(100)}
    few, many = (Judged(outcomes, left_to_people=tuple(f"p{n}" for n in range(k))) for k in (3, 60))
    assert decide_gate(few, report, 0.8).outcome is GateOutcome.OPEN
    shut = decide_gate(many, report, 0.8)
    assert (shut.outcome, "60 of 160 outputs are left out" in shut.sentence) == (
        GateOutcome.INSUFFICIENT,
        True,
    )
    assert [
        decide_gate(Judged({}, left_to_people=left), report, 0.8).sentence for left in (("a",), ("a", "b"))
    ] == [
        f"the file holds no verdict of this judge under the criterion ({said} left out)"
        for said in ("1 output is", "2 outputs are")
    ]
