"""Whatever a file holds, an importer says one sentence or imports it, and every line is counted once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibration.interchange.native.answers import parse_answer_map
from calibration.interchange.options import OnRepeat, Positions
from calibration.store.database import Store
from calibration.store.schema import open_store
from rubrics.errors import JudgeCalibrationError
from tests.calibration.interchange.native.files import (
    item,
    label,
    pair,
    rows,
    ruling,
    take,
    verdict,
    with_items,
)

QUICK = settings(
    derandomize=True,
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# fmt: off
FIELDS = (
    "item_id", "input", "output", "output_a", "output_b", "group", "tags", "split", "evidence", "origin",
    "rater", "judge", "criterion", "label", "note", "source", "blind", "kind", "rubric", "reason", "detail",
    "order", "raw", "repeat", "revision", "decided_at", "tokens_in", "judge_version", "slice_x", "x y", "",
)
SAID = (
    "i0", "i1", "pass", "fail", "A", "tie", "3", "3.0", "null", "cannot_decide", "abstained", "yes", "human",
    "adjudication", "ab", "ba", "correct", "tone", "constructed", "unparsed", "ann", "\0", "\ud800", "",
)
# fmt: on
KINDS = st.sampled_from(["items", "labels", "verdicts"])
NAMES, WORDS = st.sampled_from(FIELDS), st.sampled_from(SAID)
VALUES = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
NEARLY = st.sampled_from(
    [label(0), label(1, "fail"), ruling(0), verdict(0), verdict(1, None), item(8), pair(9)]
)
CHANGES = st.dictionaries(NAMES, VALUES, max_size=2)
RECORDS = st.dictionaries(NAMES, VALUES, max_size=8) | st.builds(lambda a, b: {**a, **b}, NEARLY, CHANGES)
LINES = RECORDS.map(json.dumps) | st.text(max_size=30)


@pytest.fixture(scope="module")
def world(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with two items; whatever is imported into it stays."""
    folder = tmp_path_factory.mktemp("fuzz")
    store = open_store(shutil.copy(migrated_sqlite, folder / "voirdire.db"))
    with_items(store, folder, 2)
    yield store
    store.close()


def attempt(store: Store, kind: str, source: Path, **changes: Any) -> None:
    """Import a file; refused, it leaves nothing; taken, each of its lines is counted once."""
    before = rows(store)
    try:
        found = take(store, kind, str(source), **changes)
    except JudgeCalibrationError:
        assert rows(store) == before
        return
    assert found.records == found.added + found.present + found.ignored + len(found.rejected)
    if found.rejected_file:
        Path(found.rejected_file).unlink()


@QUICK
@given(kind=KINDS, data=st.binary(max_size=200), suffix=st.sampled_from(["jsonl", "csv", "tsv", "txt"]))
def test_any_bytes(kind: str, data: bytes, suffix: str, world: Store, tmp_path: Path) -> None:
    """Bytes that are no table at all."""
    source = tmp_path / f"f.{suffix}"
    source.write_bytes(data)
    attempt(world, kind, source)


@settings(QUICK, max_examples=120)
@given(
    kind=KINDS,
    lines=st.lists(LINES, min_size=1, max_size=6),
    on_repeat=st.sampled_from(list(OnRepeat)),
    skip_bad=st.booleans(),
    positions=st.sampled_from(list(Positions)),
    word=st.sampled_from(["", "null=tie", "A=pass", "3=cannot_decide"]),
    cluster=st.sampled_from([None, "none", "input", "x y"]),
)
def test_any_records(
    kind: str,
    lines: list[str],
    on_repeat: OnRepeat,
    skip_bad: bool,
    positions: Positions,
    word: str,
    cluster: str | None,
    world: Store,
    tmp_path: Path,
) -> None:
    """Objects with the right names and anything in them, and nearly right ones."""
    source = tmp_path / "f.jsonl"
    source.write_text("\n".join(lines), encoding="utf-8", errors="replace")
    attempt(
        world,
        kind,
        source,
        on_repeat=on_repeat,
        skip_bad=skip_bad,
        positions=positions,
        maps=(parse_answer_map(word),) if word else (),
        cluster=cluster,
    )


@QUICK
@given(
    kind=KINDS,
    head=st.lists(NAMES, min_size=1, max_size=5),
    cells=st.lists(st.lists(WORDS | st.text(max_size=5), max_size=6), max_size=4),
    mark=st.sampled_from([",", ";", "\t"]),
    quote=st.sampled_from(["", '"']),
)
def test_any_table(
    kind: str, head: list[str], cells: list[list[str]], mark: str, quote: str, world: Store, tmp_path: Path
) -> None:
    """Delimited text with any header, torn rows and stray quotes."""
    source = tmp_path / "f.csv"
    text = "\n".join(mark.join(quote + cell for cell in row) for row in [head, *cells])
    source.write_text(text, encoding="utf-8", errors="replace")
    attempt(world, kind, source, skip_bad=True)
