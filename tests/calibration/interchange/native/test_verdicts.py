"""Verdicts from files: judges told apart, positions turned round, nothing missing without a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from calibration.interchange.doctor import NeedsOptions
from calibration.interchange.native.answers import parse_answer_map
from calibration.interchange.native.judges import external_digest, external_judge
from calibration.interchange.native.stubs import RubricOptions
from calibration.interchange.options import OnRepeat, Positions
from calibration.store.database import Store
from calibration.store.judges import RunOrigin, add_judge, list_judges, list_runs
from judge.spec import ExternalJudge
from rubrics.digest import digest
from rubrics.errors import JudgeCalibrationError
from rubrics.verdict import UnknownReason
from tests.calibration.interchange.native.files import (
    BY,
    DATASET,
    label,
    rows,
    take,
    verdict,
    verdicts_of,
    with_items,
    write,
)
from tests.databases import BOTH


def said(store: Store) -> list[tuple[Any, ...]]:
    """Item, label, reason and detail of every verdict."""
    return [(v["item_id"], v["label"], v.get("reason"), v.get("detail")) for v in verdicts_of(store)]


def refused(store: Store, source: str, **changes: Any) -> str:
    """The sentence with which a file is refused; nothing of it is stored."""
    before = rows(store)
    with pytest.raises(JudgeCalibrationError) as caught:
        take(store, "verdicts", source, **changes)
    assert rows(store) == before
    return str(caught.value)


@BOTH
def test_a_verdict_with_everything(store: Store, tmp_path: Path) -> None:
    """Reply, rationale, what the call cost, and every field that has no name of its own."""
    with_items(store, tmp_path)
    more: dict[str, Any] = {
        "raw": "Pass.\0\ud800",
        "rationale": "The clause says so.",
        "reported_model": "m-1",
        "tokens_in": 12,
        "tokens_out": 3,
        "cost_micros": 4_000_000_000,
        "latency_ms": 250,
        "decided_at": "2026-11-30T13:00:00+01:00",
        "logprob": -0.25,
    }
    take(store, "verdicts", write(tmp_path, verdict(0, **more)))
    told = verdicts_of(store)[0]
    assert told == {
        **verdict(0),
        **more,
        "order": None,
        "rubric": "support-imported@1",
        "cost_micros": 4_000_000_000,
        "decided_at": "2026-11-30T12:00:00+00:00",
        "logprob": "-0.25",
    }


def test_reasons_and_details_of_missing_verdicts(sqlite_store: Store, tmp_path: Path) -> None:
    """A null without a reason is missing, which is open; nothing becomes a fail or a tie."""
    with_items(sqlite_store, tmp_path, 6)
    records = [
        verdict(0, None),
        verdict(1, None, reason="refusal"),
        verdict(2, None, reason="error", detail="timeout"),
        verdict(3, "abstained"),
        verdict(4, "fail", reason="It is wrong."),
        verdict(5, ""),
    ]
    found = take(sqlite_store, "verdicts", write(tmp_path, *records))
    assert said(sqlite_store) == [
        ("i0", None, "missing", None),
        ("i1", None, "abstained", "refusal"),
        ("i2", None, "error", "timeout"),
        ("i3", None, "abstained", None),
        ("i4", "fail", None, None),
        ("i5", None, "missing", None),
    ]
    assert dict(found.answers) == {"abstained": 2, "error": 1, "fail": 1, "missing": 2}
    assert verdicts_of(sqlite_store)[4]["rationale"] == "It is wrong."


@pytest.mark.parametrize("reason", ["missing", "abstained", "invalid"])
def test_null_is_what_it_is_said_to_be(reason: str, sqlite_store: Store, tmp_path: Path) -> None:
    """--null-as; a reason of its own holds before that."""
    with_items(sqlite_store, tmp_path)
    source = write(tmp_path, verdict(0, None), verdict(1, None, reason="error"))
    take(sqlite_store, "verdicts", source, null_as=UnknownReason(reason))
    assert [reason for _, _, reason, _ in said(sqlite_store)] == [reason, "error"]


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"item_id": "i0", "criterion": "correct", "label": "pass"}, "judge is missing"),
        ({"item_id": "i0", "judge": "gpt", "criterion": "correct", "verdict": "pass"}, "label is missing"),
        (verdict(0, order="AB"), 'order \'AB\' is none of "ab", "ba" and null'),
        (verdict(0, order=["ab"]), "order '[\"ab\"]' is none of"),
        (verdict(0, repeat=-1), "repeat '-1' is no whole number"),
        (verdict(0, repeat=1.5), "repeat '1.5' is no whole number"),
        (verdict(0, judge=" "), "judge is empty"),
        (verdict(0, judge="a\0"), "U+0000"),
        (verdict(0, reason="abstained"), "stands beside reason"),
        (verdict(0, tokens_in="many"), "tokens_in 'many' is no whole number"),
        (verdict(0, rationale="a", reason="b"), "stands in both"),
        (verdict(9), "item that"),
        (verdict(9), "items that"),
    ],
)
def test_a_record_that_is_no_verdict_is_refused(
    record: Any, told: str, sqlite_store: Store, tmp_path: Path
) -> None:
    """With its line and what is allowed; the lines around it are not stored either."""
    if record == verdict(9):
        told = "name items that dataset 'support' does not have: 'i9' (line 2)"
    with_items(sqlite_store, tmp_path)
    sentence = refused(sqlite_store, write(tmp_path, verdict(1), record, verdict(2)))
    assert told in sentence
    assert "line 2" in sentence


@BOTH
def test_a_second_import_adds_nothing_and_a_changed_line_is_refused(store: Store, tmp_path: Path) -> None:
    """By its line, be it the verdict, its reply or anything beside it."""
    with_items(store, tmp_path)
    records = [verdict(n, raw="r", x="y") for n in range(3)]
    take(store, "verdicts", write(tmp_path, *records))
    before = rows(store)
    again = take(store, "verdicts", write(tmp_path, *records))
    assert (again.added, again.present, again.import_key) == (0, 3, None)
    assert again.judges == ("gpt",)
    assert rows(store) == before
    for change in ({"label": "fail"}, {"raw": "s"}, {"x": "z"}, {"label": None}):
        told = refused(store, write(tmp_path, records[0], {**records[1], **change}))
        assert "line 2: the verdict on item 'i1' under 'correct'" in told
    found = take(store, "verdicts", write(tmp_path, records[0], verdict(1), verdict(3)), skip_bad=True)
    assert (found.added, [each.line for each in found.rejected]) == (1, [2])


def test_judges_are_external_and_told_apart_by_their_prompt(store: Store, tmp_path: Path) -> None:
    """One judge asked by two prompts is two judges; where one prompt is named, the plain name is enough."""
    with_items(store, tmp_path)
    records = [
        verdict(0, rubric="CoT"),
        verdict(0, "fail", rubric="Vanilla"),
        verdict(0, judge="EM", rubric="lexical"),
        verdict(0, judge="plain"),
    ]
    found = take(store, "verdicts", write(tmp_path, *records))
    assert found.added == 4
    assert found.judges == ("gpt/CoT", "gpt/Vanilla", "EM", "plain")
    with store.read() as session:
        judges = {judge.name: judge for judge in list_judges(session=session)}
        runs = list_runs(session=session, dataset=DATASET)
    assert {judge.kind for judge in judges.values()} == {"external"}
    assert dict(judges["gpt/CoT"].content) == {"kind": "external", "name": "gpt", "version": "CoT"}
    assert {run.origin for run in runs} == {RunOrigin.IMPORT}
    assert len(runs) == 4
    again = take(store, "verdicts", write(tmp_path, verdict(1, rubric="CoT"), verdict(1, rubric="New")))
    assert again.judges == ("gpt/CoT", "gpt/New")
    lone = take(store, "verdicts", write(tmp_path, verdict(1, judge="EM", rubric="other")))
    assert lone.judges == ("EM/other",)


@pytest.mark.parametrize(("name", "version"), [("gpt-4", ""), ("gpt-4", "CoT")])
def test_an_imported_judge_is_the_one_that_a_file_would_declare(name: str, version: str) -> None:
    """Its digest is that of judge.spec.ExternalJudge with the same name and version."""
    declared = ExternalJudge.model_validate({**external_judge(name, version), "kind": "external"})
    assert external_digest(name, version) == declared.digest


def test_verdicts_go_to_a_judge_that_was_declared(sqlite_store: Store, tmp_path: Path) -> None:
    """An external judge with an origin is found by its name; one that runs here is never it."""
    with_items(sqlite_store, tmp_path)
    spec = {"kind": "external", "name": "gpt", "version": "", "origin": "their pipeline"}
    with sqlite_store.write() as session:
        for judge_name, kind, content in (("gpt", "external", spec), ("own", "model", {"model": "m"})):
            add_judge(
                session=session, digest=digest(content), judge_name=judge_name, kind=kind, content=content,
                actor="lead", at=BY.at,
            )  # fmt: skip
    found = take(sqlite_store, "verdicts", write(tmp_path, verdict(0), verdict(0, judge="own")))
    assert found.judges == ("gpt", "own/external")
    with sqlite_store.read() as session:
        runs = {run.judge_digest for run in list_runs(session=session)}
    assert digest(spec) in runs
    assert digest({"model": "m"}) not in runs


# -- pairs


def test_positions_as_displayed_are_turned_round(store: Store, tmp_path: Path) -> None:
    """Of order ba, A becomes B; ties, reasons and order ab stay."""
    with_items(store, tmp_path, pairs=True)
    records = [
        verdict(0, "A", order="ab"),
        verdict(0, "A", order="ba"),
        verdict(1, "B", order="ba"),
        verdict(1, "tie", order="ab"),
        verdict(2, "tie", order="ba"),
        verdict(2, None, order="ab"),
    ]
    source = write(tmp_path, *records)
    take(store, "verdicts", source, positions=Positions.DISPLAYED)
    found = [(v["item_id"], v["order"], v["label"]) for v in verdicts_of(store)]
    assert found == [
        ("i0", "ab", "A"), ("i0", "ba", "B"), ("i1", "ab", "tie"), ("i1", "ba", "A"), ("i2", "ab", None),
        ("i2", "ba", "tie"),
    ]  # fmt: skip
    told = refused(store, source, positions=Positions.SOURCE)
    assert "line 2: the verdict on item 'i0'" in told


def test_displayed_positions_need_the_order(sqlite_store: Store, tmp_path: Path) -> None:
    """Without it nobody knows which output was shown first; a tie says the same either way."""
    with_items(sqlite_store, tmp_path, pairs=True)
    displayed = {"positions": Positions.DISPLAYED}
    told = refused(sqlite_store, write(tmp_path, verdict(0, "tie"), verdict(1, "A")), **displayed)
    assert "line 2: order is missing" in told


def test_null_may_be_a_tie_where_it_is_said(sqlite_store: Store, tmp_path: Path) -> None:
    """--map null=tie, and never without it."""
    with_items(sqlite_store, tmp_path, pairs=True)
    source = write(tmp_path, verdict(0, "A"), verdict(1, None), verdict(2, "null"))
    with pytest.raises(NeedsOptions):
        take(sqlite_store, "verdicts", source)
    take(sqlite_store, "verdicts", source, maps=(parse_answer_map("null=tie"),))
    assert [answer for _, answer, _, _ in said(sqlite_store)] == ["A", "tie", "tie"]


# -- repeats


def test_numbered_repeats_are_kept(store: Store, tmp_path: Path) -> None:
    """0, 1, 2 of one judge on one item, whatever they say."""
    with_items(store, tmp_path)
    records = [verdict(0, word, repeat=n) for n, word in enumerate(["pass", "fail", None])]
    found = take(store, "verdicts", write(tmp_path, *records))
    assert (found.added, found.repeated) == (3, 0)
    assert [v.get("repeat", 0) for v in verdicts_of(store)] == [0, 1, 2]


def test_the_same_line_again_is_ignored_and_counted(store: Store, tmp_path: Path) -> None:
    """It is one verdict."""
    with_items(store, tmp_path)
    found = take(store, "verdicts", write(tmp_path, verdict(0), verdict(1), verdict(0)))
    assert (found.records, found.added, found.ignored) == (3, 2, 1)
    assert (found.repeated, found.conflicting) == (1, 0)


def test_repeats_without_a_number_are_refused_with_both_lines(sqlite_store: Store, tmp_path: Path) -> None:
    """Another verdict, or the same verdict in another reply: two calls that nobody numbered."""
    with_items(sqlite_store, tmp_path)
    for other in (verdict(0, "fail"), verdict(0, raw="x")):
        told = refused(sqlite_store, write(tmp_path, verdict(0), verdict(1), other))
        assert "line 1: a verdict of 'gpt' on item 'i0' under 'correct' also stands on line 3" in told
        assert "(1 more line cannot be taken" in told


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (OnRepeat.LAST, [("i0", "fail", None, None), ("i1", "pass", None, None)]),
        (OnRepeat.UNRESOLVED, [("i0", None, "inconsistent", "votes"), ("i1", "pass", None, None)]),
    ],
)
def test_contradicting_lines_are_settled_where_asked(
    mode: OnRepeat, expected: Any, store: Store, tmp_path: Path
) -> None:
    """The last holds, or the verdict is inconsistent: a non-acceptance that stays in every denominator."""
    with_items(store, tmp_path)
    source = write(tmp_path, verdict(0), verdict(1), verdict(0, "fail"), verdict(1))
    found = take(store, "verdicts", source, on_repeat=mode)
    assert (found.records, found.added, found.ignored) == (4, 2, 2)
    assert (found.repeated, found.conflicting) == (2, 1)
    assert said(store) == expected
    assert take(store, "verdicts", source, on_repeat=mode).added == 0


# -- rubrics


def test_verdicts_stand_under_the_rubric_of_the_labels(sqlite_store: Store, tmp_path: Path) -> None:
    """A stub of the labels is the stub of the verdicts, its levels included."""
    with_items(sqlite_store, tmp_path)
    levels = RubricOptions(stub=True, levels=("1", "2", "3"), accept_at="2")
    take(sqlite_store, "labels", write(tmp_path, label(0, 3)), rubric=levels)
    found = take(sqlite_store, "verdicts", write(tmp_path, verdict(0, 2), verdict(1, "3.0", rubric="theirs")))
    assert found.rubrics == ("support-imported@1",)
    assert dict(found.answers) == {"2": 1, "3": 1}
    line = verdict(2, 1, rubric="support-imported@1")
    assert take(sqlite_store, "verdicts", write(tmp_path, line), rubric=RubricOptions()).added == 1


def test_csv_has_the_same_columns(sqlite_store: Store, tmp_path: Path) -> None:
    """An empty label is missing, an empty order none; a further column is kept."""
    with_items(sqlite_store, tmp_path)
    text = "item_id,judge,criterion,label,order,raw,seed\ni0,gpt,correct,,,,7\ni1,gpt,correct,pass,,hm,"
    take(sqlite_store, "verdicts", write(tmp_path, text, name="v.csv"))
    first, second = verdicts_of(sqlite_store)
    assert (first["label"], first["reason"], first["seed"]) == (None, "missing", "7")
    assert (second["label"], second["raw"]) == ("pass", "hm")
