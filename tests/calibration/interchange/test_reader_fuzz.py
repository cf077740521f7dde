"""Whatever bytes are given, the reader answers with a table or one of its own errors."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.interchange.flat import FlatTable, diagnose, parse_table
from calibration.interchange.options import OnRepeat, ReadOptions
from rubrics.errors import DeclarationError
from tests.tables import Row, to_csv, to_json_lines

WORDS = st.sampled_from(
    ["pass", "fail", "", "cannot_decide", "unknown", "abstained", "PASS ", "1", "nan", "x"]
)
IDS = st.sampled_from(["1", "2", "007", " 7", "ä", "a,b", 'q"', "x\u2028y", "", "\n"])
NAMES = st.sampled_from(
    ["id", "human_label", "judge_label", "judge", "rater", "criterion", "group", "reason", "label", "verdict",
     "slice_a", "", "blind", "source", "item_id", "human"]
)  # fmt: skip
FUZZ = settings(derandomize=True, max_examples=75, deadline=None)


def answered(data: bytes, name: str = "t", **options: Any) -> FlatTable | None:
    """The table, or None where the reader refused it in a sentence of its own."""
    try:
        table = parse_table(data, name=name, options=ReadOptions(**options))
    except DeclarationError as error:
        message = str(error)
        assert message
        assert "\n" not in message
        assert len(message) < 3000
        return None
    for criterion in table.criteria:
        references = table.references(criterion)
        for judge in table.judges(criterion):
            cases = table.cases(criterion, judge, references)
            assert len({case.item_id for case in cases}) == len(cases) == len(references)
            assert table.warnings_on(criterion, judge) is not None
    return table


@FUZZ
@given(data=st.binary(max_size=200), name=st.sampled_from(["t", "t.csv", "t.tsv", "t.json", "t.jsonl"]))
def test_any_bytes(data: bytes, name: str) -> None:
    """Arbitrary bytes under any name."""
    answered(data, name)


@FUZZ
@given(text=st.text(st.sampled_from('id,;\t"\n\r{}[]:\\u2028human_labelpf1 \u2028\ufeff\x00'), max_size=120))
def test_any_text_of_the_formats_own_characters(text: str) -> None:
    """Delimiters, quotes, braces and line ends in any order."""
    data = ("id,human_label,judge_label\n" + text).encode()
    answered(data)
    answered(text.encode(), "t.jsonl")
    answered(text.encode())


ROWS = st.fixed_dictionaries(
    {"id": IDS, "human_label": WORDS, "judge_label": WORDS, "judge": WORDS, "group": IDS}
).filter(lambda row: any(row.values()))  # a CSV row of nothing but commas is skipped and counted


@FUZZ
@given(
    table=st.lists(ROWS, min_size=1, max_size=8), on_repeat=st.sampled_from(OnRepeat), skip_bad=st.booleans()
)
def test_rows_of_words_in_any_combination(table: list[Row], on_repeat: OnRepeat, skip_bad: bool) -> None:
    """Repeats, contradictions and unknown words; CSV and JSON Lines are read alike."""
    by_csv = answered(to_csv(table).encode(), on_repeat=on_repeat, skip_bad=skip_bad)
    by_lines = answered(to_json_lines(table).encode(), on_repeat=on_repeat, skip_bad=skip_bad)
    assert (by_csv is None) == (by_lines is None)
    if by_csv is not None and by_lines is not None:
        assert by_csv.criteria == by_lines.criteria
        for judge in by_csv.judges("overall"):
            read = [t.cases("overall", judge, t.references("overall")) for t in (by_csv, by_lines)]
            assert read[0] == read[1]
        assert len(by_csv.rejected) == len(by_lines.rejected)
        assert by_csv.rows + len(by_csv.rejected) == len(table)


@FUZZ
@given(
    header=st.lists(NAMES, min_size=1, max_size=6).filter(any),
    cells=st.lists(st.lists(WORDS, max_size=6), max_size=4),
)
def test_any_header(header: list[str], cells: list[list[str]]) -> None:
    """Columns in any number, order and repetition; the doctor never fails on a grid."""
    text = "\n".join([",".join(header), *(",".join(row) for row in cells)])
    answered(text.encode())
    try:
        diagnosis = diagnose(text.encode(), name="t")
    except DeclarationError:
        return
    assert len(diagnosis.columns) == len(header)
    for way in diagnosis.options:
        assert way[0].startswith("--")


@FUZZ
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
        max_leaves=12,
    )
)
def test_any_json(value: Any) -> None:
    """Any JSON value, NaN and Infinity included, as a file and as a line."""
    text = json.dumps(value).encode()
    answered(text, "t.json")
    answered(text + b"\n" + text, "t.jsonl")
