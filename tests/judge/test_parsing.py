"""Replies read into answers: what counts, what never counts, and that nothing crashes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from judge.parsing import MAX_REPLY, AnswerForm, Parsed, Reading, SeveralForm, parse, parse_several
from rubrics.answer import Answer, answered, no_answer
from rubrics.verdict import UnknownReason

MARK = "0f3a9c41d2e7"
WORDS = (
    ("pass", answered("pass")),
    ("fail", answered("fail")),
    ("cannot_tell", no_answer("abstained", "cannot_tell")),
)
STRUCTURED = AnswerForm(Reading.STRUCTURED, WORDS, with_reason=True)
BARE = AnswerForm(Reading.STRUCTURED, WORDS, with_reason=False)
MARKED = AnswerForm(Reading.MARKED, WORDS, with_reason=True, mark=MARK)
LETTERS = AnswerForm(
    Reading.STRUCTURED, (("A", answered("fail")), ("B", answered("pass"))), with_reason=False
)
LEVELS = AnswerForm(
    Reading.STRUCTURED, tuple((str(n), answered(str(n))) for n in range(1, 6)), with_reason=False
)
PASS = '{"reason": "It cites rule 4.", "verdict": "pass"}'
FAIL = '{"reason": "It invents a rule.", "verdict": "fail"}'


def read(text: str | None, form: AnswerForm = STRUCTURED, **reply: Any) -> Answer:
    """The answer in a finished reply."""
    return parse(text, form, **{"finish": "stop", **reply}).answer


def invalid(detail: str) -> Answer:
    """Unknown because the reply is invalid."""
    return no_answer("invalid", detail)


@pytest.mark.parametrize(
    "text",
    [
        PASS,
        f" \n\t{PASS}\r\n ",
        f"```json\n{PASS}\n```",
        f"```\n{PASS}```",
        '{"verdict":"PASS","reason":""}',
        '{"reason":"he said \\"verdict\\": \\"fail\\"","verdict":"pass"}',
    ],
)
def test_one_object_of_the_agreed_form_is_read(text: str) -> None:
    """The whole reply is one object, alone or in one Markdown fence, in any ASCII case."""
    assert read(text) == answered("pass")


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("", "unparsed"),
        (" ", "unparsed"),
        (None, "unparsed"),
        ("pass", "unparsed"),
        ("Final verdict: PASS", "unparsed"),
        (f"Here you are: {PASS}", "unparsed"),
        (f"{PASS} Done.", "unparsed"),
        (PASS + FAIL, "unparsed"),
        (PASS + PASS, "unparsed"),  # two objects, agreeing or not, are not the form
        (f"[{PASS}]", "unparsed"),
        (f"\ufeff{PASS}", "unparsed"),
        (f"\u00a0{PASS}", "unparsed"),
        (f"```json\n{PASS}\n```\n```json\n{FAIL}\n```", "unparsed"),
        ('{"verdict": "pass"}', "unparsed"),  # the reason is part of the form
        ('{"reason": "x", "verdict": "pass", "confidence": 1}', "unparsed"),
        ('{"reason": 7, "verdict": "pass"}', "unparsed"),
        ('{"reason": "x", "verdict": ["pass"]}', "unparsed"),
        ('{"reason": "x", "verdict": null}', "unparsed"),
        ('{"reason": "x", "verdict": true}', "unparsed"),
        ('{"reason": "x", "verdict": {"verdict": "pass"}}', "unparsed"),
        ('{"reason": "x", "verdict": "pass"', "unparsed"),
        ('{"reason": "x", "reason": "y", "verdict": "pass"}', "unparsed"),
        ('{"reason": "x", "verdict": "pass", "verdict": "pass"}', "unparsed"),
        ('{"reason": "x", "verdict": "fail", "verdict": "pass"}', "contradictory"),
        ('{"reason": "x", "verdict": "pass", "verdict": "fail"}', "contradictory"),
        ('{"reason": "x", "verdic\\u0074": "pass"}', "unparsed"),
        ("{'reason': 'x', 'verdict': 'pass'}", "unparsed"),
        ('{"reason": "x", "verdict": "probably pass"}', "out_of_range"),
        ('{"reason": "x", "verdict": "pass\\u200b"}', "out_of_range"),
        ('{"reason": "x", "verdict": "pass\\udb40\\udc41"}', "out_of_range"),
        ('{"reason": "x", "verdict": "\\ud800"}', "out_of_range"),
        ('{"reason": "x", "verdict": "раss"}', "out_of_range"),  # Cyrillic look-alikes
        ('{"reason": "x", "verdict": "ſail"}', "out_of_range"),  # long s folds to s only outside ASCII
        ('{"reason": "x", "verdict": NaN}', "out_of_range"),
        ('{"reason": "x", "verdict": -Infinity}', "out_of_range"),
        ('{"reason": "x", "verdict": 1e999}', "out_of_range"),
        ('{"reason": "x", "verdict": 1}', "out_of_range"),
        ('{"reason": "x", "verdict": ' + "9" * 5000 + "}", "unparsed"),
        ("[" * 100_000, "unparsed"),
        ('{"a":' * 19_000, "unparsed"),
        ('{"reason": "' + "x" * MAX_REPLY + '", "verdict": "pass"}', "unparsed"),
    ],
)
def test_what_is_not_of_the_agreed_form_is_invalid(text: str | None, detail: str) -> None:
    """Every other reply is unknown(invalid) with its detail; nothing is repaired or guessed."""
    assert read(text) == invalid(detail)


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ('"3"', answered("3")),
        ("3", answered("3")),
        ("0", invalid("out_of_range")),
        ("6", invalid("out_of_range")),
        ("-1", invalid("out_of_range")),
        ("3.0", invalid("out_of_range")),
        ('"3.5"', invalid("out_of_range")),
        ('"8/10"', invalid("out_of_range")),
        ('"three"', invalid("out_of_range")),
        ('"٣"', invalid("out_of_range")),
        ('" 3"', invalid("out_of_range")),
        ("9.2e+124", invalid("out_of_range")),
        ("1" + "0" * 44, invalid("out_of_range")),
        ("true", invalid("unparsed")),
    ],
)
def test_levels_are_never_clamped_or_rescaled(value: str, answer: Answer) -> None:
    """Exactly a level is a level; other numbers, words and scripts are out of range."""
    assert read(f'{{"verdict": {value}}}', LEVELS) == answer


def test_words_mean_what_the_presentation_says() -> None:
    """A letter stands for the option that it was shown beside."""
    assert read('{"verdict": "A"}', LETTERS) == answered("fail")
    assert read('{"verdict": "b"}', LETTERS) == answered("pass")
    assert read('{"verdict": "pass"}', LETTERS) == invalid("out_of_range")


def test_abstention_is_an_answer_like_the_others() -> None:
    """The judge may say that it cannot tell, in the agreed place."""
    assert read('{"verdict": "cannot_tell"}', BARE) == no_answer("abstained", "cannot_tell")


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ({"finish": "length"}, invalid("truncated")),
        ({"finish": "content_filter"}, invalid("content_filter")),
        ({"finish": "tool_calls"}, invalid("unparsed")),
        ({"finish": None}, invalid("unparsed")),
        ({"finish": "banana"}, invalid("unparsed")),
        ({"refusal": "I cannot judge this."}, no_answer("abstained", "refusal")),
    ],
)
def test_a_reply_that_did_not_finish_is_no_verdict(reply: dict[str, Any], answer: Answer) -> None:
    """A valid object in a reply that was cut, filtered or refused is not read."""
    assert read(PASS, **reply) == answer


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that.",
        "I cannot judge this content.",
        "As an AI, I am unable to help.",
    ],
)
def test_a_refusal_in_words_is_an_abstention(text: str) -> None:
    """A model that declines in prose has refused; its words are kept as the rationale."""
    for form in (STRUCTURED, MARKED):
        assert parse(text, form, finish="stop") == Parsed(no_answer("abstained", "refusal"), text)


def test_an_apology_with_an_object_is_not_a_refusal() -> None:
    """Only a reply without any object can be a refusal in words."""
    assert read(f"I'm sorry, I cannot help thinking it fails: {FAIL}") == invalid("unparsed")


@pytest.mark.parametrize(
    "text",
    [
        f"It holds.\n=== VERDICT {MARK}\n{PASS}",
        f"=== VERDICT {MARK}\n```json\n{PASS}\n```\nThat is my view.",
        f'The output says {{"verdict": "fail", "reason": "ok"}}.\nVERDICT {MARK} {PASS}',
        f"The output says Final verdict: FAIL.\nVERDICT {MARK}\n{PASS}",
        f"VERDICT {MARK}\n{PASS}\n{PASS}",
        f"<think>VERDICT {MARK} {FAIL}, or not?</think>VERDICT {MARK} {PASS}",
        f"VERDICT {MARK} first some braces {{ }} and {{x}} {PASS}",
    ],
)
def test_after_the_mark_the_last_complete_object_counts(text: str) -> None:
    """What stands before the mark, quoted from the item or not, is never read."""
    assert read(text, MARKED) == answered("pass")


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        (PASS, "unparsed"),  # no mark: it may be quoted from the item
        (f"VERDICT 000000000000\n{PASS}", "unparsed"),
        (f"{PASS}\nVERDICT {MARK}", "unparsed"),
        (f"VERDICT {MARK}\npass", "unparsed"),
        (f"VERDICT {MARK}\n{FAIL}\n{PASS}", "contradictory"),
        (f"VERDICT {MARK}\n{PASS}\nWait. Final verdict: FAIL", "contradictory"),
        (f'VERDICT {MARK}\n{PASS}\nor rather {{"verdict": "fa', "contradictory"),
        (f'VERDICT {MARK}\n{{"reason": "x", "verdict": "fail", "verdict": "pass"}}', "contradictory"),
        (f'VERDICT {MARK}\n{PASS}\n{{"reason": "x", "verdict": "pass", "more": 1}}', "contradictory"),
    ],
)
def test_marked_replies_that_do_not_say_one_thing(text: str, detail: str) -> None:
    """Without the mark there is no verdict, and objects or words that differ contradict."""
    assert read(text, MARKED) == invalid(detail)


def test_the_rationale_can_be_stored() -> None:
    """A NUL or half a character in the reason becomes visible and does not cost the verdict."""
    parsed = parse('{"reason": "a\\u0000b\\ud800c", "verdict": "fail"}', STRUCTURED, finish="stop")
    assert parsed == Parsed(answered("fail"), "a\\u{0}b\\u{D800}c")


def test_a_form_has_a_mark_exactly_where_it_is_read() -> None:
    """A marked form without a mark, or a structured one with it, is a mistake of the caller."""
    for reading, mark in ((Reading.MARKED, None), (Reading.STRUCTURED, MARK)):
        with pytest.raises(ValueError, match="exactly `marked` has a mark"):
            AnswerForm(reading, WORDS, with_reason=True, mark=mark)


FRAGMENTS = st.sampled_from(
    [
        PASS,
        FAIL,
        MARK,
        "{",
        "}",
        '"verdict":',
        '"pass"',
        "```",
        "<think>",
        "</think>",
        "\ud800",
        "\0",
        "NaN",
        "\n",
    ]
)
REPLIES = st.one_of(
    st.text(), st.lists(FRAGMENTS | st.text(max_size=5), max_size=12).map("".join), st.just(None)
)
FORMS = st.sampled_from([STRUCTURED, BARE, MARKED, LETTERS, LEVELS])
FINISHES = st.sampled_from(["stop", "length", "content_filter", "tool_calls", "", None])


@settings(max_examples=250, derandomize=True)
@given(REPLIES, FORMS, FINISHES, st.none() | st.text())
@example("{" * 1000, BARE, "stop", None)
def test_no_reply_crashes_the_parser(
    text: str | None, form: AnswerForm, finish: str | None, refusal: str | None
) -> None:
    """Any reply is an option of the form or an unknown with a reason that is not open."""
    answer = parse(text, form, finish=finish, refusal=refusal).answer
    if answer.value is None:
        assert answer.reason in {UnknownReason.INVALID, UnknownReason.ABSTAINED}
    else:
        assert answer in [meaning for _, meaning in form.options]
        assert (finish, bool(refusal)) == ("stop", False)


@settings(max_examples=300, derandomize=True)
@given(st.text(max_size=30), st.text(max_size=30))
@example("\n", "")
@example("```", "```")
def test_only_white_space_may_stand_around_the_object(before: str, after: str) -> None:
    """A prefix or suffix other than JSON white space never leaves a pass."""
    framed = f"{before}{PASS}{after}"
    blank = not (before + after).strip(" \t\r\n")
    if read(framed) == answered("pass"):
        assert blank or framed.strip().startswith("```")
    else:
        assert not blank


@settings(max_examples=50, derandomize=True)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_no_value_but_an_option_is_read(value: Any) -> None:
    """Whatever JSON value stands as the verdict, only the option words are verdicts."""
    answer = read(json.dumps({"reason": "x", "verdict": value}))
    if answer.value is not None:
        assert isinstance(value, str)
        assert value.lower() == answer.value


def test_a_hostile_reply_costs_little() -> None:
    """Nested openings with a long tail are bounded in the work that they cause."""
    nested = '{"a":[' * 800
    assert read(f"{MARK}{nested}{'1,' * 45_000}", MARKED) == invalid("unparsed")


BOTH = SeveralForm(Reading.STRUCTURED, (("terms", STRUCTURED), ("tone", LEVELS)))
BOTH_MARKED = SeveralForm(Reading.MARKED, BOTH.forms, mark=MARK)
TONE = '"tone": {"verdict": 2}'
GOOD = f'{{"terms": {PASS}, {TONE}}}'


def both(text: str | None, form: SeveralForm = BOTH, **reply: Any) -> list[Answer]:
    """The answers in a finished reply about two criteria."""
    found = parse_several(text, form, **{"finish": "stop", **reply})
    assert list(found) == ["terms", "tone"]
    return [each.answer for each in found.values()]


@pytest.mark.parametrize("text", [GOOD, f"```json\n{GOOD}\n```", f'{{{TONE}, "terms": {PASS}}}'])
def test_one_object_answers_several_criteria(text: str) -> None:
    """Alone or in one fence, its keys in any order; reasons are kept by criterion."""
    assert both(text) == [answered("pass"), answered("2")]
    found = parse_several(text, BOTH, finish="stop")
    assert [each.rationale for each in found.values()] == ["It cites rule 4.", ""]


@pytest.mark.parametrize(
    ("terms", "detail"),
    [
        ("", "unparsed"),
        ('"terms": "pass", ', "unparsed"),
        ('"terms": null, ', "unparsed"),
        ('"terms": {"verdict": "pass"}, ', "unparsed"),  # the reason is part of the form
        ('"terms": {"reason": "x", "verdict": "pass", "score": 1}, ', "unparsed"),
        ('"terms": {"reason": "x", "verdict": {"verdict": "pass"}}, ', "unparsed"),
        ('"terms": {"reason": "x", "verdict": "maybe"}, ', "out_of_range"),
        ('"terms": {"reason": "x", "verdict": "pass", "verdict": "fail"}, ', "contradictory"),
        (f'"terms": {PASS}, "terms": {FAIL}, ', "contradictory"),
        (f'"terms": {PASS}, "terms": {PASS}, ', "unparsed"),
    ],
)
def test_one_bad_criterion_leaves_the_other(terms: str, detail: str) -> None:
    """Missing, of another form, off the scale, contradictory: unknown for that criterion alone."""
    assert both(f"{{{terms}{TONE}}}") == [invalid(detail), answered("2")]


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "terms: pass, tone: 2",
        f"Here: {GOOD}",
        f"[{GOOD}]",
        PASS,
        f'{{"terms": {PASS}, {TONE}, "other": {PASS}}}',
        f'{{"terms": {{"reason": "x", "\\u0076erdict": "pass"}}, {TONE}}}',
    ],
)
def test_a_reply_of_another_form_settles_every_criterion(text: str | None) -> None:
    """No object, not alone, keys that were not asked, a key spelled with escapes: all are unparsed."""
    assert both(text) == [invalid("unparsed")] * 2


def test_what_came_without_an_answer_settles_every_criterion() -> None:
    """Cut off, filtered, refused by the provider or in words."""
    assert both(GOOD, finish="length") == [invalid("truncated")] * 2
    assert both(GOOD, finish="content_filter") == [invalid("content_filter")] * 2
    assert both(GOOD, refusal="No.") == [no_answer("abstained", "refusal")] * 2
    assert both("I'm sorry, I can't help with that.") == [no_answer("abstained", "refusal")] * 2


def test_after_the_mark_the_last_object_counts_for_each_criterion() -> None:
    """What stands before the mark never counts; an object that differs spoils what it differs in."""
    other = f'{{"terms": {FAIL}, {TONE}}}'
    marked = f"VERDICT {MARK}\n"
    assert both(f"{other} {marked}{GOOD}", BOTH_MARKED) == [answered("pass"), answered("2")]
    assert both(f"{marked}{other} {GOOD}", BOTH_MARKED) == [invalid("contradictory"), answered("2")]
    assert both(f"{marked}{PASS} {GOOD}", BOTH_MARKED) == [invalid("contradictory")] * 2
    assert both(f"{marked}{GOOD} verdict: fail", BOTH_MARKED) == [invalid("contradictory"), answered("2")]
    assert both(f'{marked}{GOOD} {{"verdict": ', BOTH_MARKED) == [invalid("contradictory")] * 2
    assert both(f"{marked}{{{TONE}}}", BOTH_MARKED) == [invalid("unparsed"), answered("2")]
    for nothing in (GOOD, f"{marked}none", f"{marked}{PASS}"):
        assert both(nothing, BOTH_MARKED) == [invalid("unparsed")] * 2


def test_a_form_of_several_criteria_has_a_mark_where_it_is_marked() -> None:
    """As the form of one criterion."""
    with pytest.raises(ValueError, match="exactly `marked` has a mark"):
        SeveralForm(Reading.MARKED, BOTH.forms)


PIECES = (
    *'{}[]",: \\\n',
    '{"terms": ',
    '"tone": ',
    '"verdict": ',
    '"reason"',
    '"pass"',
    "2",
    MARK,
    PASS,
    GOOD,
)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_reply_is_an_answer_or_a_reasoned_unknown_for_each(text: str) -> None:
    """Pieces of replies in any order: no crash, and exactly the criteria that were asked."""
    for form in (BOTH, BOTH_MARKED):
        assert len(both(text, form)) == 2
