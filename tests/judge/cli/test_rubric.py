"""`voirdire rubric`: publish, list, show, compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.judge.cli.records import address, on, support, told

DRAFT = """
name: refunds
version: {version}
title: Refunds
purpose: Whether an answer keeps to the policy.
criteria:
  - key: correct
    title: Correct
    question: {question}
    guidance: {{pass_when: it is, fail_when: it is not, cannot_decide_when: unclear}}
    {more}
"""


def draft(
    folder: Path, name: str = "refunds.yaml", *, version: int = 1, question: str = "Right?", more: str = ""
) -> str:
    """A file with a rubric."""
    path = folder / name
    path.write_text(DRAFT.format(version=version, question=question, more=more), encoding="utf-8")
    return str(path)


def test_publish_list_and_show(store: Any, tmp_path: Path) -> None:
    """A file or a rubric that ships; publishing the same again changes nothing."""
    db = on(address(store))
    source = draft(tmp_path)
    first = told(db("rubric", "add", source, "--json"))
    assert (first["rubric"], first["new"]) == ("refunds@1", True)
    assert told(db("rubric", "add", source, "--json")) == {**first, "new": False}
    assert told(db("rubric", "add", "refund-policy", "--json"))["rubric"] == "refund-policy@1"
    listed = told(db("rubric", "list", "--json"))["rubrics"]
    assert [each["rubric"] for each in listed] == ["refund-policy@1", "refunds@1"]
    assert listed[1]["criteria"] == [
        {"key": "correct", "scale": "binary", "role": "acceptance", "required": True}
    ]
    shown = told(db("rubric", "show", "refunds", "--json"))
    assert (shown["digest"], shown["content"]["title"]) == (first["digest"], "Refunds")


def test_the_words_of_a_rubric(sqlite_store: Any, tmp_path: Path) -> None:
    """Question, guidance, levels and what it does not establish, as a person reads them."""
    db = on(sqlite_store.where)
    assert "No rubric is published. Next: voirdire rubric add FILE" in db("rubric", "list").stdout
    assert db("rubric", "add", draft(tmp_path)).stdout.startswith("Published refunds@1 (")
    assert db("rubric", "add", draft(tmp_path)).stdout.startswith("Already published: refunds@1 (")
    said = db("rubric", "show", "refunds@1").stdout
    assert "correct: Correct (binary, acceptance, required)" in said
    assert "fail when it is not" in said
    assert "refunds@1" in db("rubric", "list").stdout
    support(db, tmp_path)
    assert "Does not establish" in db("rubric", "show", "support-imported").stdout
    levels = (
        "scale: {kind: ordinal, levels: [{level: 1, anchor: bad}, {level: 2, anchor: good}], accept_at: 2}"
    )
    path = draft(tmp_path, "levels.yaml", version=2, more=levels)
    Path(path).write_text(Path(path).read_text().replace("pass_when: it is, fail_when: it is not, ", ""))
    assert db("rubric", "add", path).exit_code == 0
    assert "passes from 2 on" in db("rubric", "show", "refunds").stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"question": "Wrong?"}, "refunds@1 is published with other content"),
        ({"version": 2, "more": "required: false"}, "no required criterion"),
        ({"version": 2, "more": "colour: red"}, "'colour' is not a known key"),
    ],
)
def test_what_cannot_be_published_is_said(change: Any, said: str, sqlite_store: Any, tmp_path: Path) -> None:
    """Exit 3; the next version, the line, or what is missing."""
    db = on(sqlite_store.where)
    told(db("rubric", "add", draft(tmp_path), "--json"))
    result = db("rubric", "add", draft(tmp_path, "other.yaml", **change))
    assert result.exit_code == 3
    assert said in result.stderr
    assert len(told(db("rubric", "list", "--json"))["rubrics"]) == 1


def test_differences(sqlite_store: Any, tmp_path: Path) -> None:
    """Between published versions and files; two files need no store."""
    db = on(sqlite_store.where)
    first = draft(tmp_path)
    second = draft(tmp_path, "draft.yaml", version=2, question="Quite right?")
    told(db("rubric", "add", first, "--json"))
    found = told(db("rubric", "diff", "refunds@1", second, "--json"))
    assert (found["old"]["rubric"], found["new"]["rubric"]) == ("refunds@1", "refunds@2")
    assert [change["part"] for change in found["changes"]] == ["question"]
    assert found["asked_anew"] == ["correct"]
    said = on(str(tmp_path / "none" / "x.db"))("rubric", "diff", first, second).stdout
    assert said.startswith("From refunds@1 to refunds@2: 1 change.")
    assert "one and the same" in db("rubric", "diff", "refunds", first).stdout
    weaker = draft(tmp_path, "weaker.yaml", version=3, more="required: false")
    assert "Acceptance got weaker." in db("rubric", "diff", first, weaker).stdout


def test_a_rubric_that_is_not_there(sqlite_store: Any) -> None:
    """Neither a file nor published."""
    db = on(sqlite_store.where)
    assert "no rubric 'none' is published" in db("rubric", "show", "none").stderr
    assert db("rubric", "diff", "none@1", "none@2").exit_code == 3
    assert "cannot read" in db("rubric", "add", "none.yaml").stderr
