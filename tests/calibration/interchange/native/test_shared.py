"""The public tables through the store: counts that their descriptions give."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calibration.interchange.native.core import Imported
from calibration.interchange.native.stubs import RubricOptions, stub_name
from calibration.interchange.options import OnRepeat
from calibration.store.assessments import iter_labels
from calibration.store.database import Store
from calibration.store.items import Scope, count_items, iter_items
from calibration.store.judges import list_judges
from calibration.store.rubrics import get_rubric
from calibration.store.verdicts import iter_verdicts
from rubrics.errors import DifferentRecord
from rubrics.verdict import UnknownReason
from tests.calibration.interchange.native.files import STUB, rows, take
from tests.shared_data import shared

pytestmark = pytest.mark.shared


def import_all(store: Store, name: str, **changes: Any) -> dict[str, Imported]:
    """Items, labels and verdicts of a public table."""
    folder = shared(f"data/{name}")
    return {
        kind: take(store, kind, str(folder / f"{kind}.jsonl"), dataset=name, **changes)
        for kind in ("items", "labels", "verdicts")
    }


def counts(found: dict[str, Imported]) -> list[tuple[int, int]]:
    """(lines, new records) of items, labels and verdicts."""
    return [(each.records, each.added) for each in found.values()]


@pytest.mark.slow
def test_triviaqa(store: Store, tmp_path: Path) -> None:
    """All 39,600 verdicts of 11 judges; a second import adds nothing, a changed line is refused."""
    found = import_all(store, "judges_triviaqa")
    assert counts(found) == [(3600, 3600), (3600, 3600), (39600, 39600)]
    assert dict(found["labels"].answers) == {"fail": 1093, "pass": 2507}
    assert dict(found["verdicts"].answers) == {"fail": 13424, "missing": 185, "pass": 25991}
    assert sorted(found["verdicts"].judges)[:4] == ["Contains", "EM", "GPT-4", "Gemma-2B"]
    assert len(found["verdicts"].judges) == 11
    before = rows(store)
    again = import_all(store, "judges_triviaqa")
    assert counts(again) == [(3600, 0), (3600, 0), (39600, 0)]
    changed = changed_at_line_100(tmp_path, shared("data/judges_triviaqa/verdicts.jsonl"))
    with pytest.raises(DifferentRecord, match=LINE_100):
        take(store, "verdicts", changed, dataset="judges_triviaqa")
    assert rows(store) == before
    with store.read() as session:
        scope = Scope(dataset="judges_triviaqa")
        assert len({item.group for item in iter_items(session=session, scope=scope)}) == 400


LINE_100 = r"changed\.jsonl, line 100: the verdict on item 'tq1-gpt-4t-9'"


def changed_at_line_100(folder: Path, source: Path) -> str:
    """The path of the file with another answer in its 100th line."""
    lines = source.read_text(encoding="utf-8").split("\n")
    lines[99] = lines[99].replace('"pass"', '"fail"')
    changed = folder / "changed.jsonl"
    changed.write_text("\n".join(lines), encoding="utf-8")
    return str(changed)


def test_a_part_of_triviaqa(sqlite_store: Store, tmp_path: Path) -> None:
    """Its first 400 items with their labels and all their verdicts: as the whole, in `make test`."""
    kept: set[str] = set()
    for kind in ("items", "labels", "verdicts"):
        lines = shared(f"data/judges_triviaqa/{kind}.jsonl").read_text(encoding="utf-8").splitlines()
        ids = [json.loads(line)["item_id"] for line in lines]
        kept = kept or set(ids[:400])
        part = [line for line, item_id in zip(lines, ids, strict=True) if item_id in kept]
        (tmp_path / f"{kind}.jsonl").write_text("\n".join(part), encoding="utf-8")

    def taken() -> list[tuple[int, int]]:
        files = {kind: str(tmp_path / f"{kind}.jsonl") for kind in ("items", "labels", "verdicts")}
        return counts({kind: take(sqlite_store, kind, file) for kind, file in files.items()})

    assert taken() == [(400, 400), (400, 400), (4400, 4400)]
    before = rows(sqlite_store)
    assert taken() == [(400, 0), (400, 0), (4400, 0)]
    with pytest.raises(DifferentRecord, match=LINE_100):
        take(sqlite_store, "verdicts", changed_at_line_100(tmp_path, tmp_path / "verdicts.jsonl"))
    assert rows(sqlite_store) == before
    with sqlite_store.read() as session:
        assert {judge.name for judge in list_judges(session=session)} >= {
            "Contains",
            "EM",
            "GPT-4",
            "Gemma-2B",
        }
        assert len(list_judges(session=session)) == 11


@pytest.mark.parametrize(("null_as", "reason"), [("invalid", "invalid"), ("missing", "missing")])
def test_pandalm(null_as: str, reason: str, sqlite_store: Store) -> None:
    """The 25 unusable verdicts are invalid where that is said, and otherwise missing, which is open."""
    found = import_all(sqlite_store, "pandalm", null_as=UnknownReason(null_as))
    assert counts(found) == [(999, 999), (2997, 2997), (1998, 1998)]
    assert found["verdicts"].answers[reason] == 25
    with sqlite_store.read() as session:
        scope = Scope(dataset="pandalm")
        reasons = Counter(v.reason for v in iter_verdicts(session=session, scope=scope))
        assert reasons == {None: 1973, UnknownReason(reason): 25}
        assert UnknownReason(reason).is_open == (null_as == "missing")
        rubric = get_rubric(session=session, name=stub_name("pandalm"))
        assert rubric.criteria[0].scale.model_dump() == {
            "kind": "preference", "candidate": None, "tie_accepts": False,
        }  # fmt: skip
        assert len({item.group for item in iter_items(session=session, scope=scope)}) == 170


def test_llm_rubric(store: Store) -> None:
    """81 repeated keys, 28 of them conflicting: both answers stay, and the rater counts as cannot-decide."""
    levels: RubricOptions = replace(STUB, levels=("1", "2", "3", "4"), accept_at="3")
    found = import_all(store, "llm_rubric", rubric=levels, on_repeat=OnRepeat.UNRESOLVED, cluster="none")
    labels = found["labels"]
    assert (labels.repeated, labels.conflicting, labels.ignored) == (81, 28, 53)
    assert counts(found) == [(473, 473), (8694, 8641), (4032, 4032)]
    with store.read() as session:
        scope = Scope(dataset="llm_rubric")
        items = list(iter_items(session=session, scope=scope))
        assert {item.group for item in items} == {item.item_id for item in items}
        assert Counter(item.tags["group"] for item in items) == {"real": 223, "synth": 250}
        rubric = get_rubric(session=session, name=stub_name("llm_rubric"))
        assert [c.key for c in rubric.criteria] == [f"Q{n}" for n in range(9)]
        said: dict[tuple[str, str, str], set[str]] = {}
        for each in iter_labels(session=session, scope=scope, rubric_digest=rubric.digest):
            said.setdefault((each.item_id, each.criterion, each.rater), set()).add(each.answer)
    assert len(said) == 8694 - 81
    assert sum(len(answers) > 1 for answers in said.values()) == 28


def test_llmbar(store: Store) -> None:
    """Four judges by five prompts: 18 judges, 15,084 verdicts, none lost to another of the same name."""
    found = import_all(store, "llmbar")
    assert counts(found) == [(419, 419), (419, 419), (15084, 15084)]
    assert dict(found["verdicts"].answers) == {"A": 7252, "B": 7780, "missing": 52}
    names = set(found["verdicts"].judges)
    assert len(names) == 18
    assert {"GPT-4/CoT", "GPT-4/Vanilla", "PaLM2/Metrics_Reference"} <= names
    with store.read() as session:
        assert {judge.name for judge in list_judges(session=session)} == names
        assert count_items(session=session, scope=Scope(dataset="llmbar")) == 419
        orders = Counter(v.order for v in iter_verdicts(session=session, scope=Scope(dataset="llmbar")))
    assert orders == {"ab": 7542, "ba": 7542}
