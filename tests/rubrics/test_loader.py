"""Rubric files: read, or refused with the line and a sentence that says what to do."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from rubrics import loader
from rubrics.errors import DeclarationError, TableError
from rubrics.item import Item
from rubrics.loader import catalog, load_catalog, load_rubric, open_rubric, parse_declaration, parse_rubric
from rubrics.rubric import Rubric
from tests.rubrics.builders import rubrics

FILE = Path(__file__).with_name("polite.yaml")
POLITE = FILE.read_text("utf-8")


def refusal(text: str) -> str:
    """What is said of a text that is no rubric."""
    with pytest.raises(DeclarationError) as caught:
        parse_rubric(text, source="p.yaml")
    return str(caught.value)


def line_of(words: str) -> int:
    """The line of polite.yaml on which the words stand."""
    return POLITE[: POLITE.index(words)].count("\n") + 1


def changed(old: str, new: str) -> str:
    """polite.yaml with the first occurrence of some words replaced."""
    assert old in POLITE
    return POLITE.replace(old, new, 1)


def test_file_is_read() -> None:
    """Every part of the file arrives in the rubric."""
    rubric = load_rubric(FILE)
    assert (rubric.ref, [criterion.key for criterion in rubric.criteria]) == (
        "politeness@1",
        ["greets", "tone"],
    )
    assert rubric.criteria[0].examples[0].why == 'It opens with "Hello".'
    assert rubric.criteria[1].answers == ("1", "2", "no")
    assert load_rubric(str(FILE)) == parse_rubric(POLITE) == rubric


@settings(max_examples=25, deadline=None, derandomize=True)
@given(rubrics())
def test_written_rubric_is_read_as_the_same_rubric(made: Rubric) -> None:
    """What a YAML 1.2 writer makes of a rubric is that rubric, whatever its words look like."""
    written = io.StringIO()
    YAML(typ="safe", pure=True).dump(made.model_dump(mode="json", exclude_defaults=True), written)
    assert parse_rubric(written.getvalue()).digest == made.digest


@pytest.mark.parametrize(
    "word", ["no", "yes", "on", "off", "y", "n", "NO", "2026-11-30", "0x1f", "0o17", "1_000", "1:30", ".inf"]
)
def test_word_that_other_readers_take_for_something_else_stays_a_word(word: str) -> None:
    """The Norway problem does not exist: a level, a sentence, an anchor called `no`."""
    assert (
        parse_rubric(changed("fail_when: no.", f"fail_when: {word}")).criteria[0].guidance.fail_when == word
    )
    levels = changed("level: no", f"level: {word}")
    assert parse_rubric(levels).criteria[1].answers[2] == word


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        (
            "accept_at: 2",
            "accept_at: foo",
            "accept_at",
            "criterion 'tone', scale.accept_at: 'foo' is not one of the levels; allowed: 2, no",
        ),
        ("accept_at: 2", "accept_at: 1", "accept_at", "'1' is the lowest level, so every output would pass"),
        ("title: The tone is warm", "titel: x", "- key: tone", "criterion 'tone': 'title' is missing"),
        ("version: 1", "version: one", "version", "version: must be a whole number, not 'one'"),
        ("version: 1", "version: 0", "version", "version: must be 1 or more, not 0"),
        (
            "version: 1",
            "version: 9999999999",
            "version",
            "version: must be less than 1000000000, not 9999999999",
        ),
        ("version: 1", "version: true", "version", "version: must be a whole number, not True"),
        ("name: politeness", "name: Polite ness", "name", "name: 'Polite ness' is not a name"),
        (
            "title: The tone is warm",
            "title: 2024",
            "title: The tone",
            "must be text, not 2024; put it in quotes if it is meant as text",
        ),
        (
            "title: The tone is warm",
            "title: 1.5",
            "title: The tone",
            "must be text, not 1.5; put it in quotes",
        ),
        (
            "title: The tone is warm",
            "title: true",
            "title: The tone",
            "must be text, not True; put it in quotes",
        ),
        (
            "title: The tone is warm",
            "title:",
            "title: The tone",
            "criterion 'tone', title: has no value; write text after the colon",
        ),
        (
            "title: The tone is warm",
            "title: ''",
            "title: The tone",
            "criterion 'tone', title: is empty; write at least one word",
        ),
        (
            "title: The tone is warm",
            'title: "\\ud800"',
            "title: The tone",
            "holds the invisible character U+D800; delete it",
        ),
        (
            "title: The tone is warm",
            'title: "\\0"',
            "title: The tone",
            "holds the invisible character U+0000; delete it",
        ),
        (
            "requires: [policy]",
            "requires: [polcy]",
            "requires",
            "criterion 'greets', requires 1: 'polcy' is no evidence field of this rubric",
        ),
        (
            "requires: [policy]",
            "requires: policy",
            "requires",
            "criterion 'greets', requires: must be a list, not 'policy'",
        ),
        (
            "requires: [policy]",
            "required: yes",
            "requires",
            "criterion 'greets', required: must be true or false, not 'yes'",
        ),
        (
            "requires: [policy]",
            "role: diagnostic",
            "requires",
            "criterion 'greets', role: a criterion of role 'diagnostic' cannot be required",
        ),
        (
            "requires: [policy]",
            "role: reviewer",
            "requires",
            "'reviewer' is not allowed; allowed: 'acceptance', 'review_trigger' or 'diagnostic'",
        ),
        (
            "verdict: pass",
            "verdict: maybe",
            "verdict",
            "criterion 'greets', example 1, verdict: 'maybe' is no answer on this binary scale",
        ),
        (
            "output: Hello",
            "output_a: Hello",
            "output: Hello",
            "criterion 'greets', example 1: shows output_a; on a binary scale it shows output",
        ),
        (
            "scale: binary",
            "scale: binry",
            "scale: binary",
            "scale: 'binry' is not allowed; allowed: 'binary', 'ordinal', 'preference'",
        ),
        (
            "scale: binary",
            "scale: {levels: 3}",
            "scale: binary",
            "scale: 'kind' is missing from {'levels': 3}",
        ),
        (
            "scale: binary",
            "scale: [1]",
            "scale: binary",
            "scale: must be a mapping of keys to values, not [1]",
        ),
        (
            "scale: binary",
            "scale: preference",
            "pass_when",
            "guidance.pass_when: has no place on a preference scale; allowed: prefer_when",
        ),
        ("level: no", "level: pass", "level: no", "scale, level 3, level: a level cannot be called 'pass'"),
        (
            "anchor: rude",
            "anchr: rude",
            "level: 1",
            "'anchr' is not a known key; did you mean 'anchor'? allowed: level, anchor",
        ),
        (
            "      fail_when: no.\n",
            "",
            "guidance:",
            "criterion 'greets', guidance: 'fail_when' is missing; say when, in observable words",
        ),
        (
            "source: recorded",
            "source: trusted",
            "source",
            "evidence field 'policy', source: 'trusted' is not allowed; allowed: 'recorded', 'candidate' or ",
        ),
        (
            "key: policy",
            "key: my policy",
            "key: policy",
            "evidence field 'my policy', key: 'my policy' is not a key",
        ),
        (
            "- key: tone",
            "- key: greets",
            "- key: tone",
            "criterion 'greets', key: 'greets' is declared twice; declare it once",
        ),
        (
            "- key: tone",
            "- name: tone",
            "- key: tone",
            "criterion 2: 'name' is not a known key; allowed: key, title",
        ),
    ],
)
def test_mistake_is_named_with_its_line(old: str, new: str, line: str, said: str) -> None:
    """File, line, place in words, what was given, what is allowed."""
    message = refusal(changed(old, new))
    assert f"p.yaml:{line_of(line)}: " in message
    assert said in message


def test_every_mistake_of_a_file_is_listed_in_the_order_of_the_file() -> None:
    """A person mends a file once, not once a mistake."""
    text = changed("title: The tone is warm", "titel: x").replace("version: 1", "version: one")
    assert refusal(text).splitlines() == [
        "p.yaml:3: version: must be a whole number, not 'one'",
        f"p.yaml:{line_of('- key: tone')}: criterion 'tone': 'title' is missing",
        f"p.yaml:{line_of('title: The tone')}: criterion 'tone': 'titel' is not a known key; "
        "did you mean 'title'? allowed: key, title, question, scale, role, required, guidance, severity, "
        "failure_modes, requires, examples, dimension, imported",
    ]


def test_list_of_mistakes_is_cut_and_counted() -> None:
    """Ten are listed, the rest is a number."""
    lines = refusal(POLITE + "".join(f"extra_{number}: 1\n" for number in range(14))).splitlines()
    assert (len(lines), lines[-1]) == (11, "and 4 more problems")


def test_error_carries_line_and_field() -> None:
    """A program can point at the place."""
    with pytest.raises(TableError) as caught:
        parse_rubric(changed("accept_at: 2", "accept_at: 9"))
    assert (caught.value.line, caught.value.field) == (line_of("accept_at"), "criteria.1.scale.accept_at")
    assert str(caught.value).startswith(f"rubric:{line_of('accept_at')}: ")


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n"])
def test_empty_file_is_called_empty(text: str) -> None:
    """And says what belongs into it."""
    assert refusal(text) == (
        "p.yaml:1: the file is empty; a rubric is a mapping with at least the keys "
        "name, version, title, purpose, criteria"
    )


@pytest.mark.parametrize(("text", "given"), [("- a\n", "['a']"), ("hello", "'hello'"), ("3", "3")])
def test_file_of_another_shape_is_quoted(text: str, given: str) -> None:
    """A list, a word or a number is no rubric."""
    assert refusal(text).startswith(f"p.yaml:1: the file holds {given}; a rubric is a mapping")


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_line_ends_of_other_systems_are_read(ends: str, tmp_path: Path) -> None:
    """The same rubric, the same lines in messages."""
    assert parse_rubric(POLITE.replace("\n", ends)).digest == parse_rubric(POLITE).digest
    text = changed("accept_at: 2", "accept_at: 9").replace("\n", ends)
    assert refusal(text).startswith(f"p.yaml:{line_of('accept_at')}: ")


def test_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    """In a file and in a text."""
    file = tmp_path / "bom.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + POLITE.encode())
    assert load_rubric(file) == parse_rubric("\ufeff" + POLITE) == parse_rubric(POLITE)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (POLITE.encode("utf-16"), ":1: the file is UTF-16; save it as UTF-8"),
        (
            POLITE.encode("utf-16-be", "strict")[:0] + b"\xfe\xff\x00a",
            ":1: the file is UTF-16; save it as UTF-8",
        ),
        (
            POLITE.encode().replace(b"Hello", b"H\xe9llo"),
            f":{line_of('Hello')}: the byte 0xE9 is not UTF-8; save the file as UTF-8",
        ),
    ],
)
def test_other_encoding_is_named(data: bytes, said: str, tmp_path: Path) -> None:
    """With the line of the first byte that is wrong."""
    file = tmp_path / "other.yaml"
    file.write_bytes(data)
    with pytest.raises(TableError) as caught:
        load_rubric(file)
    assert str(caught.value) == f"{file}{said}"


@pytest.mark.parametrize(
    ("character", "code"), [("\0", "U+0000"), ("\x07", "U+0007"), ("\u202e", "U+202E"), ("\x85", "U+0085")]
)
def test_invisible_character_is_named_with_its_line(character: str, code: str) -> None:
    """Before anything is read, for it might hide what is read."""
    text = changed("title: The tone", f"title: The{character} tone")
    assert (
        refusal(text)
        == f"p.yaml:{line_of('title: The tone')}: holds the invisible character {code}; delete it"
    )


def test_line_separator_inside_text_neither_breaks_it_nor_moves_the_lines() -> None:
    """U+2028 in a value is part of the value, and lines are those of an editor."""
    text = changed("title: The tone is warm", 'title: "The\u2028tone"').replace(
        "accept_at: 2", "accept_at: 9"
    )
    lines = refusal(text).splitlines()
    assert lines[0].startswith(
        f"p.yaml:{line_of('title: The tone')}: criterion 'tone', title: runs over several"
    )
    assert lines[1].startswith(f"p.yaml:{line_of('accept_at')}: ")


@pytest.mark.parametrize("name", ["", "absent.yaml"])
def test_file_that_cannot_be_opened_is_named(name: str, tmp_path: Path) -> None:
    """A folder and a missing file: the operating system's reason, and what to do."""
    with pytest.raises(DeclarationError, match=r"cannot read '.*': .+; give a YAML file"):
        load_rubric(tmp_path / name)


def test_path_that_is_none_is_refused() -> None:
    """A NUL in a path is no crash."""
    with pytest.raises(DeclarationError, match="is not a path"):
        load_rubric("a\0b")


def test_large_file_is_refused_unread(tmp_path: Path) -> None:
    """Whatever it holds, in a file and as a text."""
    file = tmp_path / "large.yaml"
    file.write_bytes(b"\xff" * (loader.MAX_BYTES + 1))
    with pytest.raises(DeclarationError, match=r"large.yaml is larger than 65,536 bytes"):
        load_rubric(file)
    assert refusal("é" * (loader.MAX_BYTES // 2 + 1)).startswith("p.yaml is larger than 65,536 bytes")


def test_other_records_are_declared_in_the_same_way() -> None:
    """Any frozen record can be read from YAML, with its own name in the messages."""
    text = "item_id: i1\ninput: May I?\noutput: You may.\n"
    assert parse_declaration(text, Item, source="i.yaml").output == "You may."
    with pytest.raises(TableError, match=r"^i.yaml:1: the file is empty; an item is a mapping"):
        parse_declaration("", Item, source="i.yaml")
    with pytest.raises(TableError, match=r"^i.yaml:3: 'outptu' is not a known key; did you mean 'output'"):
        parse_declaration(text.replace("output", "outptu") + "output: x\n", Item, source="i.yaml")


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.data())
def test_damaged_file_never_crashes_the_reader(data: st.DataObject) -> None:
    """A file cut, spliced or sprinkled with YAML's own signs is read or refused, never anything else."""
    start = data.draw(st.integers(0, len(POLITE)))
    end = data.draw(st.integers(start, min(start + 30, len(POLITE))))
    junk = data.draw(st.text(st.sampled_from("\t\n :-#&*!|>%@`'\"{}[],?~<=\\.0aé\u2028"), max_size=12))
    said = "rubric:1: read"
    try:
        parse_rubric(POLITE[:start] + junk + POLITE[end:])
    except DeclarationError as refused:
        said = str(refused)
    assert re.match(r"rubric:\d+: .", said)


# -- the catalog


def test_catalog_lists_what_ships() -> None:
    """By name, in order."""
    assert list(catalog()) == sorted(catalog())
    assert {"refund-policy", "summary-faithfulness"} <= set(catalog())


@pytest.mark.parametrize("name", catalog())
def test_shipped_rubric_is_found_by_name_and_by_version(name: str) -> None:
    """The file's name is the rubric's."""
    rubric = load_catalog(name)
    assert rubric.name == name
    assert load_catalog(rubric.ref) == open_rubric(name) == open_rubric(rubric.ref) == rubric


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("refund", "no rubric 'refund' ships with voirdire; there are: .*refund-policy"),
        (
            "refund-policy@99",
            "refund-policy@99 does not ship with voirdire; the version that does is refund-policy@1",
        ),
        ("refund-policy@x", "is not name@version"),
        ("../refund-policy", "no rubric '../refund-policy' ships"),
    ],
)
def test_rubric_that_does_not_ship_is_refused(name: str, said: str) -> None:
    """With those that do."""
    with pytest.raises(DeclarationError, match=said):
        load_catalog(name)


def test_path_is_opened_where_no_rubric_of_that_name_ships() -> None:
    """A file, or a sentence that names both possibilities."""
    assert open_rubric(str(FILE)) == load_rubric(FILE)
    with pytest.raises(
        DeclarationError,
        match=r"'refund' is neither a file nor a rubric that ships; these ship: .*refund-policy",
    ):
        open_rubric("refund")
