"""Exports: what comes out can go in again and says the same; no cell of a table is a formula."""

from __future__ import annotations

import csv
import json
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.interchange.native.export import (
    LABEL_COLUMNS,
    VERDICT_COLUMNS,
    count_earlier_runs,
    export_labels,
    export_verdicts,
)
from calibration.interchange.native.stubs import RubricOptions, stub_name
from calibration.interchange.native.writing import csv_lines, json_lines, neutralised
from calibration.interchange.options import OnRepeat
from calibration.store.database import Store
from calibration.store.erasing import erase_item
from calibration.store.items import Scope
from calibration.store.judges import RunOrigin, add_judge, add_run
from calibration.store.rubrics import add_rubric, get_rubric
from calibration.store.schema import open_store
from calibration.store.verdicts import VerdictEntry, add_verdicts
from rubrics.digest import digest, short
from tests.calibration.interchange.native.files import (
    DATASET,
    NOW,
    item,
    label,
    labels_of,
    ruling,
    take,
    verdict,
    verdicts_of,
    with_items,
    write,
)
from tests.databases import BOTH

LABELS = [
    label(0, "fail", note="=1+1", blind="yes", source="model", confidence="0.9"),
    label(0, None, "bob", decided_at="2026-11-30T12:00:00+00:00"),
    label(1, "pass", failure_mode="late", reason="x"),
    label(1, "fail", note="\ud800\0\u2028", nested={"a": [1, {"b": None}]}),
    label(2, "pass", "bob", repeat=3),
    ruling(0, "pass", origin="constructed"),
]
VERDICTS = [
    verdict(0, "fail", rubric="CoT", raw="\ud800\0\u2028 =1"),
    verdict(0, "pass", rubric="Vanilla", order="ab"),
    verdict(0, "pass", rubric="Vanilla", order="ba", repeat=2),
    verdict(1, None, reason="invalid", detail="truncated", tokens_in=7, seed=1),
    verdict(1, "pass", judge="EM", rationale="why", cost_micros=5, latency_ms=6, reported_model="m"),
]


def lines_of(store: Store, kind: str) -> str:
    """The export of a kind as JSON Lines."""
    export: Any = {"labels": export_labels, "verdicts": export_verdicts}[kind]
    with store.read() as session:
        return "".join(json_lines(export(session=session, scope=Scope(dataset=DATASET))))


@pytest.mark.parametrize(("kind", "records"), [("labels", LABELS), ("verdicts", VERDICTS)])
@BOTH
def test_json_lines_lose_nothing(
    kind: str, records: list[Any], store: Store, migrated_sqlite: Path, tmp_path: Path
) -> None:
    """Imported into another store they come out again byte for byte, corrections and repeats included."""
    with_items(store, tmp_path)
    take(store, "items", write(tmp_path, item(7, origin="constructed")))
    records = [*records, label(7) if kind == "labels" else verdict(7, judge="EM")]
    take(store, kind, write(tmp_path, *records), on_repeat=OnRepeat.LAST)
    first = lines_of(store, kind)
    assert first.count("\n") == len(records)
    assert first.isascii()
    source = write(tmp_path, first.rstrip("\n"), name="export.jsonl")
    with store.read() as session:
        rubric = get_rubric(session=session, name=stub_name(DATASET))
    other = open_store(shutil.copy(migrated_sqlite, tmp_path / "other.db"))
    try:
        with other.write() as session:
            add_rubric(session=session, rubric=rubric, actor="lead", at=NOW)
        with_items(other, tmp_path)
        take(other, "items", write(tmp_path, item(7, origin="constructed")))
        found = take(other, kind, source, rubric=RubricOptions())
        assert (found.added, found.ignored, len(found.rejected)) == (len(records), 0, 0)
        assert lines_of(other, kind) == first
    finally:
        other.close()
    assert take(store, kind, source, rubric=RubricOptions()).added == 0


def test_every_label_is_exported_with_what_it_corrects(store: Store, tmp_path: Path) -> None:
    """In the order of items, adjudications last."""
    with_items(store, tmp_path)
    take(store, "labels", write(tmp_path, *LABELS), on_repeat=OnRepeat.LAST)
    found = labels_of(store)
    assert [(e["item_id"], e["rater"], e.get("revision")) for e in found] == [
        ("i0", "ann", None), ("i0", "bob", None), ("i1", "ann", None), ("i1", "ann", 1), ("i2", "bob", None),
        ("i0", "chief", None),
    ]  # fmt: skip
    assert found[3]["note"] == "\ud800\0\u2028"
    assert found[-1]["kind"] == "adjudication"


@pytest.mark.parametrize("how", ["items", "file", "line"])
def test_constructed_evidence_is_stamped(how: str, sqlite_store: Store, tmp_path: Path) -> None:
    """By its item, its file or its own line; nothing else is."""
    origin = "constructed" if how == "items" else ""
    take(
        sqlite_store,
        "items",
        write(tmp_path, *({"item_id": f"i{n}", "input": "q", "output": "a"} for n in (0, 1))),
        origin=origin,
    )
    line = {"origin": "constructed"} if how == "line" else {}
    for kind, record in (("labels", label(0, **line)), ("verdicts", verdict(0, **line))):
        take(sqlite_store, kind, write(tmp_path, record), origin="constructed" if how == "file" else "github")
    for found in (*labels_of(sqlite_store), *verdicts_of(sqlite_store)):
        assert found["evidence"] == "constructed"
        assert found.get("origin") == (None if how == "items" else "constructed")
    take(sqlite_store, "labels", write(tmp_path, label(1)), origin="github")
    assert ("evidence" in labels_of(sqlite_store)[1]) == (how == "items")


def test_a_stamp_that_the_items_do_not_bear_out_is_kept(sqlite_store: Store, tmp_path: Path) -> None:
    """An exported line that is imported where nothing else says so still says that it was constructed."""
    with_items(sqlite_store, tmp_path)
    take(sqlite_store, "labels", write(tmp_path, label(0, evidence="constructed"), label(1, evidence="seen")))
    first, second = labels_of(sqlite_store)
    assert (first["origin"], first["evidence"]) == ("constructed", "constructed")
    assert second["evidence"] == "seen"
    assert "origin" not in second


def test_an_erased_text_is_told(store: Store, tmp_path: Path) -> None:
    """The label stays; its note is gone, and who asked for that is said."""
    with_items(store, tmp_path)
    take(store, "labels", write(tmp_path, label(0, note="about ann")))
    erase_item(store=store, dataset=DATASET, item_id="i0", reason="asked for", signer="lead", at=NOW)
    found = labels_of(store)[0]
    assert "note" not in found
    assert found["label"] == "pass"
    assert found["erased"] == "2026-11-30T12:00:00+00:00 by lead: asked for"


def test_a_judge_that_ran_here_names_its_spec(store: Store, tmp_path: Path) -> None:
    """Two specs of one name stay two judges in the file, and of two runs the newest is written."""
    with_items(store, tmp_path)
    take(store, "verdicts", write(tmp_path, verdict(0)))
    with store.write() as session:
        rubric = get_rubric(session=session, name=stub_name(DATASET))
        for number, spec in enumerate(({"model": "a"}, {"model": "b"}, {"model": "b"})):
            add_judge(
                session=session, digest=digest(spec), judge_name="own", kind="model", content=spec,
                actor="lead", at=NOW,
            )  # fmt: skip
            run = add_run(
                session=session, judge_digest=digest(spec), rubric_digest=rubric.digest, dataset=DATASET,
                origin=RunOrigin.RUN, plan={"attempt": number}, units=1, at=NOW,
            )  # fmt: skip
            entry = VerdictEntry(run, "i1", "correct", "pass" if number else "fail")
            add_verdicts(session=session, verdicts=[entry], at=NOW)
    found = [v for v in verdicts_of(store) if v["item_id"] == "i1"]
    versions = [short(digest({"model": each})).replace(" ", "") for each in "ab"]
    assert sorted(v["judge_version"] for v in found) == sorted(versions)
    with store.read() as session:
        assert count_earlier_runs(session=session, dataset=DATASET) == 1
        scope = Scope(dataset=DATASET)
        every = list(export_verdicts(session=session, scope=scope, every_run=True))
        assert len(every) == 4
        assert len({v["run"] for v in every}) == 4
        one = export_verdicts(session=session, scope=scope, judge_digest=digest({"model": "a"}))
        assert [v["label"] for v in one] == ["fail"]


def test_filters(sqlite_store: Store, tmp_path: Path) -> None:
    """One criterion, one rubric."""
    with_items(sqlite_store, tmp_path)
    other = {**label(1), "criterion": "tone"}
    take(sqlite_store, "labels", write(tmp_path, label(0), other, ruling(1)))
    with sqlite_store.read() as session:
        scope = Scope(dataset=DATASET)
        found = list(export_labels(session=session, scope=scope, criterion="tone"))
        assert [each["item_id"] for each in found] == ["i1"]
        assert not list(export_labels(session=session, scope=scope, rubric_digest="0" * 64))


# -- tables


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "－"])
@pytest.mark.parametrize(
    "rest", ["", "1+1", "SUM(A1)", 'HYPERLINK("http://x","y")', "cmd|' /C calc'!A0", " "]
)
def test_no_cell_starts_a_formula(start: str, rest: str) -> None:
    """An apostrophe stands before whatever a spreadsheet could compute."""
    assert neutralised(start + rest) == "'" + start + rest


@pytest.mark.parametrize("cell", ["", "pass", "a=b", " =1", "'=1", "3", "ü", "(1)"])
def test_other_cells_stay(cell: str) -> None:
    """Nothing else is changed."""
    assert neutralised(cell) == cell


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["item_id", "rater", "note", "extra", "=x"]), st.text(), max_size=5))
def test_a_table_holds_every_field_and_no_formula(record: dict[str, str]) -> None:
    """Whatever the texts are: each comes back from its cell, behind an apostrophe where it needs one."""
    text = "".join(csv_lines([record], LABEL_COLUMNS))
    head, cells = csv.reader(StringIO(text, newline=""))
    row = dict(zip(head, cells, strict=True))
    further = {key: value for key, value in record.items() if key not in LABEL_COLUMNS}
    assert json.loads(row.pop("fields") or "{}") == further
    for key, value in record.items():
        if key in LABEL_COLUMNS:
            clean = value.encode("utf-8", "backslashreplace").decode()
            assert row[key] == neutralised(clean)
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)


def test_a_table_of_verdicts(sqlite_store: Store, tmp_path: Path) -> None:
    """Null is empty, numbers are digits, a reply that looks like a formula is none."""
    with_items(sqlite_store, tmp_path)
    take(sqlite_store, "verdicts", write(tmp_path, verdict(0, None, raw="=2", reason="error", tokens_in=7)))
    head, row = csv.reader(csv_lines(verdicts_of(sqlite_store), VERDICT_COLUMNS))
    told = dict(zip(head, row, strict=True))
    assert (told["label"], told["reason"], told["raw"], told["tokens_in"]) == ("", "error", "'=2", "7")
