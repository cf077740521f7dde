"""`voirdire decisions export`: one file that grades without the database, and is refused once changed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from calibration.store.database import Store
from tests.judge.cli.grading import FREE, answers, bundle_of, prepared
from tests.judge.cli.records import on, told
from tests.judge.grading_world import GOOD, admitted, item, rule


def test_an_exported_decision_grades_without_the_database(store: Store, tmp_path: Path) -> None:
    """The same verdicts as by the store; no text of any item is in the file; it lapses on the same day."""
    db, decision = prepared(store)
    path = bundle_of(db, decision, tmp_path)
    text = path.read_text()
    assert GOOD not in text
    assert "How long do I have?" not in text
    nowhere = on(str(tmp_path / "no" / "such.db"))
    file = answers(tmp_path, [item("x1", GOOD), item("x2", FREE)])
    found = told(nowhere("grade", file, "--decision", str(path), "--json"))
    assert [g["overall"] for g in found["grades"]] == ["pass", "fail"]
    assert found["recorded"] is False
    assert found["grades"][0]["criteria"][0]["decision"] == decision.hash
    assert nowhere("gate", "--decision", str(path)).exit_code == 0
    assert db("decisions", "export", decision.hash[:12], "--bundle", str(path)).exit_code == 3


def test_an_exported_decision_covers_its_scope_only(sqlite_store: Store, tmp_path: Path) -> None:
    """Another population, role or criterion is refused with 4; another rubric with 3."""
    db, decision = prepared(sqlite_store)
    path = bundle_of(db, decision, tmp_path)
    file = answers(tmp_path, [item("x1", GOOD)])
    for more in (
        ("--population", "chats"),
        ("--role", "diagnostic"),
        ("--criterion", "kind"),
        ("--judge", "z"),
    ):
        assert db("grade", file, "--decision", str(path), *more).exit_code == 4, more
    assert db("grade", file, "--decision", str(path), "--rubric", "other@1").exit_code == 3
    assert db("grade", file).exit_code == 3


def test_one_changed_byte_of_an_export_is_refused(sqlite_store: Store, tmp_path: Path) -> None:
    """Two hundred places, one bit each, and a byte more or less: never a grade."""
    from calibration.registry.bundle import open_bundle
    from rubrics.errors import JudgeCalibrationError

    db, decision = prepared(sqlite_store)
    path = bundle_of(db, decision, tmp_path)
    whole, rng = path.read_bytes(), random.Random(7)
    open_bundle(whole, source="whole")
    broken = [whole[:-1], whole + b" ", whole[1:], b"", b"{}", whole.replace(b"pass", b"PASS", 1)]
    for place in rng.sample(range(len(whole)), 200):
        changed = bytearray(whole)
        changed[place] ^= 1 << rng.randrange(8)
        broken.append(bytes(changed))
    for data in broken:
        with pytest.raises(JudgeCalibrationError):
            open_bundle(data, source="broken")
    path.write_bytes(broken[-1])
    file = answers(tmp_path, [item("x1", GOOD)])
    for command in (("grade", file), ("gate",)):
        refused = db(*command, "--decision", str(path))
        assert refused.exit_code == 3
        assert "a byte was changed" in " ".join(refused.stderr.split())


def test_a_forged_export_does_not_fit_its_chain(sqlite_store: Store, tmp_path: Path) -> None:
    """Whoever makes the file's digest anew still meets the hashes of decision, report, policy and rubric."""
    from calibration.registry.bundle import open_bundle
    from rubrics.digest import canonical_json, digest
    from rubrics.errors import JudgeCalibrationError, RecordError

    db, decision = prepared(sqlite_store)
    found = json.loads(bundle_of(db, decision, tmp_path).read_text())

    def forged(change: Any) -> bytes:
        content = json.loads(json.dumps(found))
        change(content)
        body = {key: value for key, value in content.items() if key != "digest"}
        return (canonical_json({**body, "digest": digest(body)}) + "\n").encode()

    open_bundle(forged(lambda content: None), source="same")
    changes = [
        lambda c: c["chain"][0]["body"].update(outcome="reject"),
        lambda c: c["chain"][0]["body"].update(valid_until="2099-01-01T00:00:00.000000+00:00"),
        lambda c: c["chain"][0]["body"].update(population="everything"),
        lambda c: c["report"].update(criterion="kind"),
        lambda c: c["policy"]["primary"].update(upper_at_most=0.5),
        lambda c: c["rubric"].update(title="Another"),
        lambda c: c["chain"].append(c["chain"][0]),
        lambda c: c.update(chain=[]),
        lambda c: c.pop("report"),
        lambda c: c.update(members=None),
        lambda c: c.update(members=[]),
        lambda c: c.update(members={"d": {"name": "a", "kind": "rule", "content": "text"}}),
        lambda c: c["judge"].update(content="text"),
    ]
    for change in changes:
        with pytest.raises((RecordError, JudgeCalibrationError)):
            open_bundle(forged(change), source="forged")
    other = forged(lambda c: c["judge"]["content"]["rules"][0].update(patterns=["never"]))
    path = tmp_path / "other.bundle"
    path.write_bytes(other)
    refused = db("grade", answers(tmp_path, [item("x1", GOOD)]), "--decision", str(path))
    assert refused.exit_code == 4
    assert "does not have the digest that was admitted" in " ".join(refused.stderr.split())


def test_a_replaced_or_suspended_decision_is_not_exported(sqlite_store: Store, tmp_path: Path) -> None:
    """Only what stands and admits leaves the house; later decisions of others are in the chain."""
    db, first = prepared(sqlite_store)
    with sqlite_store.write() as session:
        second = admitted(session, rule("true", "free"), "true", days=0.001)
    out = ("--bundle", str(tmp_path / "b"))
    assert "was replaced by" in db("decisions", "export", first.hash[:12], *out).stderr
    assert db("decisions", "export", second.hash[:12], *out).exit_code == 0
    assert (
        db(
            "decisions", "suspend", second.hash[:12], "--sign", "R. Ito", "--reason", "it was changed"
        ).exit_code
        == 0
    )
    refused = db("decisions", "export", second.hash[:12], "--bundle", str(tmp_path / "c"))
    assert refused.exit_code == 4
