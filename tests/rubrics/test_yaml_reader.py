"""YAML as declarations use it: plain values with their lines, and nothing that a declaration never needs."""

from __future__ import annotations

from typing import Any

import pytest

from rubrics.yaml_reader import MAX_DEPTH, MAX_VALUES, YamlRefused, read_yaml


def refusal(text: str) -> tuple[int, str]:
    """The line and the sentence of a refusal."""
    with pytest.raises(YamlRefused) as caught:
        read_yaml(text)
    assert str(caught.value) == caught.value.sentence
    return caught.value.line, caught.value.sentence


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing\n", None),
        ("a: 1\nb: [x, 'y', \"z\"]\nc: {d: e}\n", {"a": 1, "b": ["x", "y", "z"], "c": {"d": "e"}}),
        ("- ~\n- null\n- Null\n-\n- ''\n", [None, None, None, None, ""]),
        ("[true, True, TRUE, false, False]", [True, True, True, False, False]),
        ("['true', \"1\", '~']", ["true", "1", "~"]),
        ("[1, -2, +3, 007]", [1, -2, 3, 7]),
        ("[1.5, .5, 1e3, 2., -0.25]", [1.5, 0.5, 1000.0, 2.0, -0.25]),
        ("[no, on, 2026-11-30, 12:30]", ["no", "on", "2026-11-30", "12:30"]),
        ("[1_000, 0x1f, .inf, .nan, 1.2.3, 1e999]", ["1_000", "0x1f", ".inf", ".nan", "1.2.3", "1e999"]),
        ("a: >-\n  two\n  lines\nb: |\n  two\n  lines\n", {"a": "two lines", "b": "two\nlines\n"}),
        ("1: x\ntrue: y\n", {"1": "x", "true": "y"}),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_values(text: str, value: Any) -> None:
    """Plain scalars follow YAML 1.2; keys are words; a number of 5,000 digits is no number."""
    assert read_yaml(text)[0] == value


def test_lines_of_keys_and_entries() -> None:
    """Every key and every entry of a list knows its line."""
    text = "# top\na: 1\nb:\n  - x\n  - c: y\n    d: [p,\n      q]\n"
    assert read_yaml(text)[1] == {
        ("a",): 2,
        ("b",): 3,
        ("b", 0): 4,
        ("b", 1): 5,
        ("b", 1, "c"): 5,
        ("b", 1, "d"): 6,
        ("b", 1, "d", 0): 6,
        ("b", 1, "d", 1): 7,
    }


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "'a' is given twice, first on line 1; keep one"),
        ("a: 1\n---\nb: 2\n", 2, "a second document begins; one file declares one thing"),
        ("a: 1\nb: &x 2\n", 2, "anchors and aliases (&name, *name) are not read; write the text out"),
        ("a: 1\nb: *x\n", 2, "anchors and aliases (&name, *name) are not read; write the text out"),
        ("a: &x [1]\n", 1, "anchors and aliases (&name, *name) are not read; write the text out"),
        ("a: !!python/object:os.system x\n", 1, "tags (!name) are not read; delete it"),
        ("a: !!map {}\n", 1, "tags (!name) are not read; delete it"),
        ("a:\n  <<: {b: 1}\n", 2, "merge keys (<<) are not read; write the values out"),
        ("? [a]\n: b\n", 1, "a key must be one word"),
        ("%YAML 1.1\n---\na: no\n", 2, "a %YAML directive is not read; delete it"),
        ("a: {{name}}\n", 1, "a key must be one word"),
    ],
)
def test_what_a_declaration_never_needs_is_refused(text: str, line: int, said: str) -> None:
    """Repeated keys, references, tags, directives: what hides content or changes how the rest is read."""
    assert refusal(text) == (line, said)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\n\tb: 2\n", 2, "a tab stands where spaces belong; indent with spaces"),
        ("a: b: c\n", 1, "a second ': ' in one value, or a wrong indent"),
        ("a: 1\n  b: 2\n", 2, "a second ': ' in one value, or a wrong indent"),
        ("a: 'x\nb: 1\n", 1, "a quote or bracket that is opened here is never closed"),
        ("a: [x\nb: 1\n", 1, "a bracket that is opened here is not closed, or a ',' is missing"),
        ("a: {b: c\n", 1, "a bracket that is opened here is not closed, or a ',' is missing"),
        ("a: [\n", 2, "a quote or bracket that is opened here is never closed"),
        ("a: 'it's'\n", 1, "inside '…' an apostrophe is ''"),
        ("- a\nb: 1\n", 2, "the indent or the quotes do not fit together"),
        ("a: @x\n", 1, "a value cannot begin with @; put the text in quotes"),
        ('a: "\\q"\n', 1, 'a backslash in "…" needs a partner'),
        ("a: 1\nb\nc: 2\n", 2, "a key has no ': ' after it; write `key: value`"),
        ("a: - b\n", 1, "a list cannot begin behind a key; begin it on the next line"),
        ("a: ]\n", 1, "expected the node content, but found ']'"),
        ("a: \uffff\n", 1, "unacceptable character"),
    ],
)
def test_syntax_error_says_what_to_do(text: str, line: int, said: str) -> None:
    """The usual mistakes have their own words, with the line where they were made."""
    where, why = refusal(text)
    assert (where, why[:10]) == (line, "not YAML: ")
    assert said in why


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused_before_it_is_built(opening: str) -> None:
    """A bomb of brackets ends at the limit; nesting up to the limit is read."""
    assert refusal(opening * 2_000)[1] == f"nested more than {MAX_DEPTH} deep; check the brackets"
    assert read_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH)[0] != []


def check_endless_list(limit: int) -> None:
    """As many values as the limit are read, one more is not, and the line says where that was."""
    entries = limit - 1  # the list is a value too
    assert len(read_yaml("- a\n" * entries)[0]) == entries
    assert refusal("- a\n" * (entries + 5)) == (
        limit,
        f"more than {limit:,} values; is this the right file?",
    )


def test_endless_list_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is ten thousand values; seen here at a tenth of it."""
    assert MAX_VALUES == 10_000
    monkeypatch.setattr("rubrics.yaml_reader.MAX_VALUES", 1_000)
    check_endless_list(1_000)


@pytest.mark.slow
def test_endless_list_is_refused_at_the_shipped_limit() -> None:
    """Ten thousand values are read, one more is not."""
    check_endless_list(MAX_VALUES)
