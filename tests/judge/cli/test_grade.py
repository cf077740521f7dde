"""`voirdire grade`, `grades` and `gate`, from the store and, for the gate, from an exported file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calibration.store.database import Store
from calibration.store.grades import iter_grades
from calibration.store.integrity import check
from calibration.store.watching import alarms, open_audits
from tests.calibration.store.test_integrity import address_of
from tests.databases import BOTH
from tests.judge.cli.grading import FREE, TRUE, answers, bundle_of, prepared
from tests.judge.cli.records import jsonl, on, told
from tests.judge.grading_world import (
    GOOD,
    RUBRIC,
    admitted,
    item,
    judged,
    lay_down,
    rule,
)


@BOTH
def test_grades_are_recorded_and_shown(store: Store, tmp_path: Path) -> None:
    """Each with its decision, the judge's error rate and its attempt; the records verify."""
    db, decision = prepared(store)
    file = answers(tmp_path, [item("x1", GOOD), item("x2", FREE)])
    first = told(db("grade", file, *TRUE, "--json"))
    one, two = first["grades"]
    assert [g["overall"] for g in (one, two)] == ["pass", "fail"]
    criterion = one["criteria"][0]
    assert (criterion["decision"], criterion["report"]) == (decision.hash, decision.report_digest)
    assert (criterion["far"]["x"], criterion["far"]["n"]) == (0, 60)
    assert 0 < criterion["far"]["upper"] < 0.10
    again = told(db("grade", file, *TRUE, "--json"))["grades"][0]
    assert (one["attempt"], again["attempt"]) == (1, 2)
    bound = again["criteria"][0]["far"]
    assert bound["bound_after_attempts"] == pytest.approx(1 - (1 - bound["upper"]) ** 2)
    listed = [g["grade"] for g in told(db("grades", "list", "--json"))["grades"]]
    assert set(listed[:2]) == {one["grade"], two["grade"]}
    assert "graded before, 3 times at most" in " ".join(db("grade", file, *TRUE).stdout.split())
    assert check(address_of(store)) == ()


def test_the_same_key_gives_the_same_grades(sqlite_store: Store, tmp_path: Path) -> None:
    """Nothing is graded or counted again; the key with another request is refused."""
    db, _ = prepared(sqlite_store)
    file = answers(tmp_path, [item("x1", GOOD), item("x2", FREE)])
    first = told(db("grade", file, *TRUE, "--key", "order-7", "--json"))["grades"]
    second = told(db("grade", file, *TRUE, "--key", "order-7", "--json"))["grades"]
    assert [g["grade"] for g in first] == [g["grade"] for g in second]
    for one, two in zip(first, second, strict=True):
        (said, again) = (each["criteria"][0] for each in (one, two))
        assert (said["report"], said["far"]) == (again["report"], again["far"])
        assert again["far"]["n"]
    with sqlite_store.read() as session:
        assert [g.attempt for g in iter_grades(session=session)] == [1, 1]
    other = answers(tmp_path, [item("x1", "You have 31 days.")], "other.jsonl")
    long_id = answers(tmp_path, [item("x" * 300, GOOD)], "long.jsonl")
    assert db("grade", long_id, *TRUE, "--key", "order-8").exit_code == 0
    assert "at most 150 are allowed" in db("grade", other, *TRUE, "--key", "k" * 151).stderr
    refused = db("grade", other, *TRUE, "--key", "order-7")
    assert refused.exit_code == 3
    assert "used for another request" in refused.stderr


def test_a_batch_goes_on_where_it_was(sqlite_store: Store, tmp_path: Path) -> None:
    """A cut line is written anew, nothing twice; a recorded grade that the file lost is not given again."""
    db, _ = prepared(sqlite_store)
    items = [item(f"x{n}", GOOD if n % 2 else FREE) for n in range(60)]
    file, out = answers(tmp_path, items), tmp_path / "graded.jsonl"
    assert db("grade", file, *TRUE, "--out", str(out)).exit_code == 0
    whole = out.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 61
    out.write_bytes(b"".join(lines[:31]) + lines[31][:40])
    assert db("grade", file, *TRUE, "--out", str(out)).exit_code == 0
    found = [json.loads(line) for line in out.read_text().splitlines()[1:]]
    assert sorted(g["item_id"] for g in found) == sorted(each.item_id for each in items)
    assert {g["grade"] for g in found} == {json.loads(line)["grade"] for line in lines[1:]}
    done = db("grade", file, *TRUE, "--out", str(out))
    assert "60 items were graded before" in done.stdout
    assert "Rates over the whole file, 60 items: true: 30 of 60 accepted" in " ".join(done.stdout.split())
    with sqlite_store.read() as session:
        assert {g.attempt for g in iter_grades(session=session)} == {1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("text", "has another text than when"),
        ("criteria", "begun with another criteria"),
        ("garbage", "no JSON object"),
        ("other", "is no batch of grades"),
    ],
)
def test_a_batch_of_something_else_is_refused(
    sqlite_store: Store, tmp_path: Path, change: str, words: str
) -> None:
    """Another text, another request, or another file under the name."""
    db, _ = prepared(sqlite_store)
    out = tmp_path / "graded.jsonl"
    file = answers(tmp_path, [item("x1", GOOD)])
    asked: tuple[str, ...] = TRUE
    if change in {"text", "criteria"}:
        assert db("grade", file, *TRUE, "--out", str(out)).exit_code == 0
    if change == "text":
        file = answers(tmp_path, [item("x1", FREE)])
    if change == "criteria":
        asked = (*TRUE, "--criterion", "kind", "--human", "kind")
    if change == "garbage":
        out.write_text("hello\n")
    if change == "other":
        out.write_text('{"schema": "something"}\n')
    refused = db("grade", file, *asked, "--out", str(out))
    assert refused.exit_code == 3
    assert words in " ".join(refused.stderr.split())


def test_what_people_do_is_appended(store: Store, tmp_path: Path) -> None:
    """Pending with an id, resolved later; overridden and appealed against; every step stays on record."""
    db, _ = prepared(store)
    file = answers(tmp_path, [item("x1", GOOD)])
    asked = (*TRUE, "--criterion", "kind", "--human", "kind")
    (grade,) = told(db("grade", file, *asked, "--json"))["grades"]
    assert grade["overall"] == "pending"
    assert told(db("grades", "queue", "--json"))["grades"][0]["waiting"] == ["kind"]
    key = grade["grade"]
    who = ("--by", "A. Blum", "--reason", "read it from end to end")
    resolved = told(db("grades", "resolve", key, "--criterion", "kind", "--verdict", "pass", *who, "--json"))
    assert (resolved["overall"], resolved["first_overall"], resolved["waiting"]) == ("pass", "pending", [])
    twice = db("grades", "resolve", key, "--criterion", "kind", "--verdict", "fail", *who)
    assert twice.exit_code == 3
    assert "waits for nobody" in twice.stderr
    appealed = told(db("grades", "appeal", key, "--criterion", "true", *who, "--json"))
    assert (appealed["overall"], appealed["waiting"]) == ("pass", ["true"])
    overridden = told(
        db("grades", "override", key, "--criterion", "true", "--verdict", "fail", *who, "--json")
    )
    assert (overridden["overall"], overridden["waiting"]) == ("fail", [])
    assert [e["kind"] for e in overridden["events"]] == ["resolved", "appealed", "overridden"]
    shown = db("grades", "show", key[:10]).stdout
    assert "fail (first pending)" in shown
    assert "A. Blum appealed against true" in shown
    assert "Nothing waits for a person." in db("grades", "queue").stdout
    assert check(address_of(store)) == ()


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("resolve", "--criterion", "kind", "--verdict", "maybe"), 64, "none of pass, fail, unknown"),
        (("resolve", "--criterion", "none", "--verdict", "pass"), 3, "has no criterion"),
        (("override", "--criterion", "true", "--verdict", "pass"), 3, "is pass already"),
    ],
)
def test_a_step_that_makes_no_sense_is_refused(
    sqlite_store: Store, tmp_path: Path, args: tuple[str, ...], code: int, words: str
) -> None:
    """And nothing is appended."""
    db, _ = prepared(sqlite_store)
    file = answers(tmp_path, [item("x1", GOOD)])
    (grade,) = told(db("grade", file, *TRUE, "--criterion", "kind", "--human", "kind", "--json"))["grades"]
    who = ("--by", "A. Blum", "--reason", "read it from end to end")
    refused = db("grades", args[0], grade["grade"], *args[1:], *who)
    assert (refused.exit_code, words in " ".join(refused.stderr.split())) == (code, True), refused.stderr
    short = db(
        "grades",
        "resolve",
        grade["grade"],
        "--criterion",
        "kind",
        "--verdict",
        "pass",
        "--by",
        "A",
        "--reason",
        "x",
    )
    assert "under 10 characters" in short.stderr
    nobody = db(
        "grades", "resolve", grade["grade"], "--criterion", "kind", "--verdict", "pass", "--by", " ", *who[2:]
    )
    assert "the name is blank" in nobody.stderr
    assert told(db("grades", "show", grade["grade"], "--json"))["events"] == []


def test_a_system_that_nobody_audited(sqlite_store: Store, tmp_path: Path) -> None:
    """Flagged, an audit asked for, and no corrected rate over its outputs."""
    db, decision = prepared(sqlite_store)
    file = answers(tmp_path, [item(f"x{n}", GOOD, system="bot-8") for n in range(3)])
    found = told(db("grade", file, *TRUE, "--json"))
    assert found["grades"][0]["flags"][0]["trigger"] == "system"
    (rate,) = found["rates"]
    assert (rate["n"], rate["left_out_unaudited"], rate["estimate"]) == (0, 3, None)
    with sqlite_store.read() as session:
        assert open_audits(session=session) == {(decision.hash, "bot-8")}
    assert "candidate not audited" in db("grade", file, *TRUE).stdout


def test_a_corrected_pass_rate_with_its_interval(sqlite_store: Store, tmp_path: Path) -> None:
    """40 of 50 accepted by a judge without a known error: about 80 %, with what the labels leave open."""
    db, _ = prepared(sqlite_store)
    items = [item(f"x{n}", GOOD if n < 40 else FREE) for n in range(50)]
    file = answers(tmp_path, items)
    (rate,) = told(db("grade", file, *TRUE, "--json"))["rates"]
    assert (rate["accepted"], rate["n"], rate["estimate"]) == (40, 50, pytest.approx(0.8))
    assert 0.5 < rate["lower"] < 0.8 < rate["upper"] < 1
    assert "corrected for the judge's errors 80%" in " ".join(db("grade", file, *TRUE).stdout.split())


def test_a_preview_grades_nothing(sqlite_store: Store, tmp_path: Path) -> None:
    """Who would grade and at what cost; no grade is recorded."""
    db, _ = prepared(sqlite_store)
    file = answers(tmp_path, [item("x1", GOOD)])
    found = told(db("grade", file, *TRUE, "--dry-run", "--json"))
    assert (found["items"], found["graders"][0]["cost_micros"]) == (1, 0)
    said = db("grade", file, *TRUE, "--dry-run").stdout
    assert said.startswith("1 item under ")
    assert "makes no paid call" in said
    with sqlite_store.read() as session:
        assert list(iter_grades(session=session)) == []


GATES = [(49, 0.8, 0), (25, 0.9, 1), (42, 0.85, 2)]


@pytest.mark.parametrize(("good", "least", "code"), GATES)
def test_the_gate_opens_on_a_corrected_rate(
    sqlite_store: Store, tmp_path: Path, good: int, least: float, code: int
) -> None:
    """Open where the lower end reaches it, shut where the upper end does not, else insufficient."""
    db, decision = prepared(sqlite_store)
    items = [item(f"x{n}", GOOD if n < good else FREE) for n in range(50)]
    file, out = answers(tmp_path, items), str(tmp_path / "graded.jsonl")
    path = bundle_of(db, decision, tmp_path)
    assert db("grade", file, *TRUE, "--out", out).exit_code == 0
    asked = ("gate", out, "--pass-at-least", str(least))
    result = db(*asked, *TRUE, "--json")
    assert result.exit_code == code, (result.stdout, result.stderr)
    assert json.loads(result.stdout)["accepted"] == good
    assert db(*asked, "--decision", str(path)).exit_code == code


def test_a_verdict_in_another_role_opens_nothing(sqlite_store: Store, tmp_path: Path) -> None:
    """A diagnostic admission is none for the gate, in the store or exported."""
    with sqlite_store.write() as session:
        lay_down(session)
        decision = admitted(session, rule("style", "free"), "style", role="diagnostic")
    db = on(sqlite_store.where)
    path = bundle_of(db, decision, tmp_path)
    assert db("gate", "--rubric", RUBRIC.ref, "--criterion", "style").exit_code == 4
    assert db("gate", "--decision", str(path)).exit_code == 4


def test_imported_verdicts_need_an_admission_too(sqlite_store: Store, tmp_path: Path) -> None:
    """Verdicts of an external judge pass the gate only while a decision on that judge is live."""
    from judge.spec import ExternalJudge

    with sqlite_store.write() as session:
        lay_down(session)
        judged(session, ExternalJudge(kind="external", name="gpt"), "true")
    db = on(sqlite_store.where)
    named = {"judge": "gpt", "rubric": RUBRIC.ref, "criterion": "true", "label": "pass"}
    records = [{"item_id": f"x{n}", **named} for n in range(60)]
    file = jsonl(tmp_path, "verdicts.jsonl", *records)
    asked = ("gate", file, *TRUE, "--judge", "gpt", "--pass-at-least", "0.5")
    assert db(*asked).exit_code == 4
    with sqlite_store.write() as session:
        decision = admitted(session, ExternalJudge(kind="external", name="gpt"), "true")
    opened = db(*asked)
    assert (opened.exit_code, "Open" in opened.stdout) == (0, True), opened.stderr
    for odd in ({"judge": "claude"}, {"judge": None}, {"rubric": "refunds@2"}, {"rubric": ""}):
        mixed = jsonl(tmp_path, "mixed.jsonl", *records[:5], {**records[6], **odd})
        refused = db("gate", mixed, *TRUE, "--judge", "gpt", "--pass-at-least", "0.5")
        assert (refused.exit_code, "line 6: a verdict of" in refused.stderr) == (3, True), refused.stderr
    items = jsonl(tmp_path, "items.jsonl", {"item_id": "x1", "output": "a"})
    none = db("gate", items, *TRUE, "--judge", "gpt", "--pass-at-least", "0.5")
    assert (none.exit_code, "this is no file of verdicts" in " ".join(none.stderr.split())) == (3, True)
    missing = jsonl(tmp_path, "missing.jsonl", *records[:5], {**records[6], "label": None})
    still = db("gate", missing, *TRUE, "--judge", "gpt", "--pass-at-least", "0.5")
    assert (still.exit_code, "still open" in still.stdout) == (2, True)
    assert (
        db("decisions", "suspend", decision.hash[:12], "--sign", "A", "--reason", "it was changed").exit_code
        == 0
    )
    assert db(*asked).exit_code == 4


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("--pass-at-least", "0.9"), 3),
        (("FILE",), 3),
        (("FILE", "--pass-at-least", "2"), 64),
        (("FILE", "--pass-at-least", "0.9"), 3),
    ],
)
def test_a_gate_that_is_asked_wrongly_stays_shut(
    sqlite_store: Store, tmp_path: Path, args: tuple[str, ...], code: int
) -> None:
    """A rate without a file, a file without a rate, no rate at all, or an item twice."""
    db, _ = prepared(sqlite_store)
    twice = [{"item_id": "x", "judge": "true-by-rule", "criterion": "true", "label": "pass"}] * 2
    file = jsonl(tmp_path, "v.jsonl", *twice)
    assert db("gate", *(file if a == "FILE" else a for a in args), *TRUE).exit_code == code


def test_the_alarm_of_a_moved_model_is_recorded(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grading ends with 4, what was graded before is recorded, and the next call is refused at once."""
    from judge import grade_command as grading
    from tests.judge.grading_world import model, reaching, says

    with sqlite_store.write() as session:
        lay_down(session)
        decision = admitted(session, model(), "kind", reported="gpt-x-2026")
    replies = [says("pass")] * 2 + [says("pass", model_name="gpt-x-2027")] * 2
    connect, _ = reaching(lambda call: replies.pop(0)(call))
    monkeypatch.setattr(grading, "_reach", connect)
    db = on(sqlite_store.where)
    file = answers(tmp_path, [item("x1", GOOD), item("x2", GOOD)])
    asked = ("grade", file, "--rubric", RUBRIC.ref, "--criterion", "kind")
    assert db(*asked).exit_code == 4
    with sqlite_store.read() as session:
        assert [g.item_id for g in iter_grades(session=session)] == ["x1"]
        (alarm,) = alarms(session=session, decisions=[decision.hash])
    assert "gpt-x-2027" in alarm.sentence
    again = db(*asked)
    assert again.exit_code == 4
    assert "suspended by an alarm" in " ".join(again.stderr.split())
