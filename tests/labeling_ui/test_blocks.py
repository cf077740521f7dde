"""A text is laid out by naming its stretches: none is lost, none is rewritten."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeling_ui.blocks import Code, Prose, Step, Table, blocks, is_json, steps
from tests.labeling_ui.hostile import hostile

CORPUS = hostile("http://127.0.0.1:9")
LINES = st.lists(
    st.sampled_from(
        [
            "",
            "word",
            "```",
            "~~~py",
            "~~~~",
            "| a | b |",
            "|---|---|",
            "--|--",
            "a|b|c",
            "  ```  ",
            "| x\\|y |",
            "\r",
        ]
    ),
    max_size=9,
).map("\n".join)


def covered(text: str) -> None:
    """The blocks lie in order, without overlap, and what lies between them is line ends."""
    found = blocks(text)
    assert found[0].start == 0 or not text[: found[0].start].strip()
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert all(not text[a.end : b.start].strip("\r\n") for a, b in pairwise(found))
    assert not text[found[-1].end :].strip("\r\n")


@settings(max_examples=300, derandomize=True, deadline=None)
@given(LINES)
def test_blocks_cover_the_text(text: str) -> None:
    """From first to last character every stretch belongs to one block."""
    covered(text)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(LINES)
def test_cells_lose_only_bars_and_blanks(text: str) -> None:
    """What a table leaves out of its rows is bars and blanks."""
    for table in (block for block in blocks(text) if isinstance(block, Table)):
        for row, shown in zip(rows_of(text, table), table.rows, strict=True):
            kept = sum(cell.end - cell.start for cell in shown)
            dropped = len(row) - kept
            assert all(cell.start <= cell.end for cell in shown)
            assert dropped == row.count("|") - text_of(text, shown).count("|") + blanks(row, text, shown)


def rows_of(text: str, table: Table) -> list[str]:
    """The lines of a table but for the one under its head."""
    lines = text[table.start : table.end].split("\n")
    return [lines[0], *lines[2:]]


def text_of(text: str, row: tuple[tuple[int, int], ...]) -> str:
    """The words of a row's cells."""
    return "".join(text[start:end] for start, end in row)


def blanks(line: str, text: str, row: tuple[tuple[int, int], ...]) -> int:
    """How many blanks of the line are in no cell."""
    return sum(line.count(c) for c in " \r") - sum(text_of(text, row).count(c) for c in " \r")


def test_hostile_text_is_covered() -> None:
    """The corpus too is laid out without loss and without an error."""
    for text in CORPUS.values():
        covered(text)
        assert isinstance(steps(text), tuple)


def kinds(text: str) -> list[tuple[str, str]]:
    """The blocks by kind with their text."""
    return [(type(block).__name__, text[block.start : block.end]) for block in blocks(text)]


def test_fence_is_code_with_its_fence() -> None:
    """The lines between fences and the fences themselves are code; the rest is prose."""
    text = "Run:\n```sh\nls -l\n```\nThen stop."
    assert kinds(text) == [
        ("Prose", "Run:\n"),
        ("Code", "```sh\nls -l\n```"),
        ("Prose", "\nThen stop."),
    ]


def test_fence_that_never_closes_is_code_to_the_end() -> None:
    """A shorter or other fence does not close it."""
    assert kinds("````\na\n```\n~~~~") == [("Code", "````\na\n```\n~~~~")]


def test_table_needs_a_line_under_its_head() -> None:
    """Bars alone are prose: a shell pipe is no table."""
    assert kinds("cat a | sort\n| x |") == [("Prose", "cat a | sort\n| x |")]
    [table] = blocks("| a | b |\n|:--|--:|\n| 1 | 2 |\n| 3 |")
    assert isinstance(table, Table)
    assert [len(row) for row in table.rows] == [2, 2, 1]


def test_table_of_thousands_of_cells_stands_as_it_was_written() -> None:
    """A page of cells without end would take seconds to make; fixed columns hold the same text."""
    text = "|a|b|\n|-|-|\n" + "|x|y|\n" * 3_000
    assert isinstance(blocks(text)[0], Code)
    covered(text)


def test_bar_after_a_backslash_is_no_edge() -> None:
    """An escaped bar belongs to its cell."""
    text = "a|b\n-|-\nx\\|y|z"
    [table] = blocks(text)
    assert isinstance(table, Table)
    assert [text[cell.start : cell.end] for cell in table.rows[1]] == ["x\\|y", "z"]


@pytest.mark.parametrize("text", ['{"a": 1}', "[1, 2]", ' {"a": [1]} \n'])
def test_json_is_code(text: str) -> None:
    """A text that is JSON as a whole stands in fixed columns."""
    assert is_json(text)
    assert isinstance(blocks(text)[0], Code)


@pytest.mark.parametrize("text", ["{not json}", "12", '"a"', "", "[" * 3000 + "]" * 3000])
def test_what_is_no_json_is_prose(text: str) -> None:
    """A bare number or word is prose, and so is what no reader of JSON can follow."""
    assert not is_json(text)
    assert isinstance(blocks(text)[0], Prose)


MESSAGES = [
    {"role": "user", "content": "Find it."},
    {"role": "assistant", "content": [{"type": "text", "text": "I look."}], "tool_calls": [{"name": "find"}]},
    {"type": "tool", "output": None, "name": "find"},
]
READ = (
    Step("user", (("content", "Find it."),)),
    Step("assistant", (("content", "I look."), ("tool_calls", '[\n  {\n    "name": "find"\n  }\n]'))),
    Step("tool", (("name", "find"),)),
)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(MESSAGES),
        json.dumps({"id": 7, "messages": MESSAGES}),
        json.dumps({"steps": MESSAGES}),
        "\n".join(map(json.dumps, MESSAGES)) + "\n",
    ],
    ids=["list", "messages", "steps", "lines"],
)
def test_steps_of_a_trajectory(text: str) -> None:
    """Who acts, and everything else that a step holds, from each of the usual forms."""
    assert steps(text) == READ


@pytest.mark.parametrize(
    "text",
    [
        "Step 1: look",
        '[{"role": "user"}]',
        '[{"role": "user"}, 3]',
        '[{"a": 1}, {"a": 2}]',
        '{"messages": "none"}',
        '{"role": "a"}\nnot json',
        "",
    ],
)
def test_what_is_no_trajectory_has_no_steps(text: str) -> None:
    """Fewer than two steps, or steps that name nobody, are no trajectory."""
    assert steps(text) == ()
