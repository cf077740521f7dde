"""Rule judges: what they accept, reject and abstain on, and what their spec refuses."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge import rules
from judge.rule_spec import Effect, RuleSpec
from judge.rules import MAX_OUTPUT, Finding, judge_all, judge_item, load_checks
from rubrics.errors import DeclarationError, ExecutionError, TableError
from rubrics.item import Item
from rubrics.loader import parse_declaration
from rubrics.verdict import FAIL, PASS, unknown

POLICY = "Goods may be returned within 30 days, less a fee of 15%. Faulty goods get a full refund by 2 May."
CANNOT_TELL = unknown("abstained", "cannot_tell")
FIGURES: dict[str, Any] = {
    "kind": "figures",
    "name": "figures",
    "conversions": [{"unit": "week", "times": 7, "of": "day"}],
}


def spec(*declared: dict[str, Any], **changes: Any) -> RuleSpec:
    """A rule judge with the given rules."""
    base: dict[str, Any] = {"name": "terms", "version": 1, "criterion": "terms", "evidence": ["policy"]}
    return RuleSpec.model_validate(base | {"rules": declared} | changes)


def item(output: str | None, *, question: str = "May I return it?", policy: str = POLICY) -> Item:
    """One item with the policy as its evidence."""
    pair = {} if output is not None else {"output_a": "x", "output_b": "y"}
    return Item(item_id="i", input=question, output=output, evidence={"policy": policy}, **pair)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("You have 30 days.", PASS),
        ("You have thirty days, and 15 per cent stays with us.", PASS),
        ("You have 60 days.", FAIL),
        ("You have 30 business days.", FAIL),
        ("You have 30 hours.", FAIL),
        ("You have €30.", FAIL),
        ("You have 20-30 days.", FAIL),
        ("You have a month.", FAIL),
        ("You may return it.", PASS),
        ("Until 2 May.", PASS),
        ("Until 3 May.", CANNOT_TELL),
        ("Half a day is enough.", CANNOT_TELL),
        ("Code 77 says so.", CANNOT_TELL),
        ("Number 30 says so.", PASS),
        ("You wrote nine days ago.", PASS),
        ("60 days, or half a day.", FAIL),
    ],
)
def test_figures_must_be_in_the_evidence(output: str, expected: object) -> None:
    """Value and unit decide; what is not read abstains; a fail outweighs an abstention."""
    assert judge_item(spec(FIGURES), item(output)).outcome == expected


def test_conversions_are_the_spec_s_own() -> None:
    """Two weeks are 14 days for a spec that says so, and no term at all for one that does not."""
    fortnight = item("You have two weeks.", policy="Within 14 days.")
    assert judge_item(spec(FIGURES), fortnight).outcome == PASS
    assert judge_item(spec(FIGURES | {"conversions": []}), fortnight).outcome == FAIL


def test_the_customer_s_own_figures_may_be_restated_unless_the_spec_says_no() -> None:
    """A figure of the input passes, which includes a false one; `restated_from: []` refuses it."""
    repeated = item("Yes, 45 days.", question="I have 45 days, right?")
    assert judge_item(spec(FIGURES), repeated).outcome == PASS
    assert judge_item(spec(FIGURES | {"restated_from": []}), repeated).outcome == FAIL


def test_an_amount_that_may_have_been_worked_out_abstains() -> None:
    """With a price in the input and a percentage in the evidence; without a price it fails."""
    assert judge_item(spec(FIGURES), item("You lose €12.", question="It cost €80.")).outcome == CANNOT_TELL
    assert judge_item(spec(FIGURES), item("You lose €12.")).outcome == FAIL
    strict = FIGURES | {"computed_amounts": "fail"}
    assert judge_item(spec(strict), item("You lose €12.", question="It cost €80.")).outcome == FAIL


@pytest.mark.parametrize("setting", ["past_figures", "dates", "fractions", "bare_digits"])
def test_each_unread_thing_has_its_own_effect(setting: str) -> None:
    """fail, abstain and ignore do what they say, for each kind of thing."""
    output = {
        "past_figures": "9 days ago",
        "dates": "on 3 May",
        "fractions": "half a day",
        "bare_digits": "77",
    }
    expected = {"fail": FAIL, "abstain": CANNOT_TELL, "ignore": PASS}
    seen = {e: judge_item(spec(FIGURES | {setting: e}), item(output[setting])).outcome for e in expected}
    assert seen == expected


def test_the_rationale_names_the_figure_and_where_it_stands() -> None:
    """A person can find what was held against the output."""
    verdict = judge_item(spec(FIGURES), item("Goods may come back within 60 days of the delivery."))
    assert verdict.rationale == 'figures: "come back within [60 days] of the delivery." is in no source'
    assert verdict.findings[0].effect is Effect.FAIL


FREE: dict[str, Any] = {
    "kind": "forbidden",
    "name": "free",
    "patterns": ["free", "no fee"],
    "allowed_where": ["free of charge"],
    "says": "says that it is free",
}


@pytest.mark.parametrize(
    ("output", "policy", "expected"),
    [
        ("It is free.", POLICY, FAIL),
        ("It is FREE!", POLICY, FAIL),
        ("There is no fee.", POLICY, FAIL),
        ("Freely given, carefree.", POLICY, PASS),
        ("It is not free.", POLICY, PASS),
        ("It isn't free.", POLICY, PASS),
        ("No, it is free.", POLICY, FAIL),
        ("Not a problem at all: it is free.", POLICY, FAIL),
        ("It is free.", "Returns are free of charge.", PASS),
        ("fr\u200bee", POLICY, FAIL),
    ],
)
def test_forbidden_wording_needs_a_licence(output: str, policy: str, expected: object) -> None:
    """Whole words in any case; a negation in the same clause, or a grant in the evidence, lets them pass."""
    assert judge_item(spec(FREE), item(output, policy=policy)).outcome == expected


def test_required_wording_is_asked_where_the_evidence_calls_for_it() -> None:
    """The claims desk must be named where the clause sends the case there, and nowhere else."""
    desk = {
        "kind": "required",
        "name": "desk",
        "patterns": ["claims desk"],
        "needed_where": ["injur(?:y|ies)"],
    }
    judge = spec(desk | {"lacks": "does not name the claims desk"})
    injury = "Injuries go to the claims desk."
    assert judge_item(judge, item("The Claims Desk has it.", policy=injury)).outcome == PASS
    assert judge_item(judge, item("Get well soon.", policy=injury)).outcome == FAIL
    assert judge_item(judge, item("Get well soon.")).outcome == PASS
    always = spec({**desk, "needed_where": [], "lacks": "x"})
    assert judge_item(always, item("Get well soon.")).outcome == FAIL


CODE: dict[str, Any] = {"kind": "code", "name": "postcode", "entry_point": "postcode", "version": "1.2"}


def test_a_check_in_code_decides_like_any_rule() -> None:
    """None passes, a finding has its effect, and one that is to be ignored leaves no trace."""

    def found(effect: Effect) -> rules.Check:
        return lambda _item: Finding("postcode", effect, "looks wrong")

    assert judge_item(spec(CODE), item("x"), checks={"postcode": lambda _item: None}).outcome == PASS
    assert judge_item(spec(CODE), item("x"), checks={"postcode": found(Effect.FAIL)}).outcome == FAIL
    assert (
        judge_item(spec(CODE), item("x"), checks={"postcode": found(Effect.ABSTAIN)}).outcome == CANNOT_TELL
    )
    ignored = judge_item(spec(CODE), item("x"), checks={"postcode": found(Effect.IGNORE)})
    assert (ignored.outcome, ignored.findings) == (PASS, ())


def test_a_check_that_breaks_or_is_missing_is_never_a_verdict() -> None:
    """The error names check and item; nothing is accepted by silence."""

    def broken(_item: Item) -> Finding | None:
        raise KeyError("postcode")

    with pytest.raises(ExecutionError, match=r"'postcode' failed on item 'i'.*mend the check") as raised:
        judge_item(spec(CODE), item("x"), checks={"postcode": broken})
    assert not raised.value.retryable
    with pytest.raises(DeclarationError, match="was not loaded"):
        judge_item(spec(CODE), item("x"))


class _Point:
    """An installed entry point, as far as loading reads it."""

    name = "postcode"

    class dist:
        """The distribution that brings it."""

        version = "1.2"

    def load(self) -> rules.Check:
        """A check that finds nothing."""
        return lambda _item: None


class _Points(list[_Point]):
    """What importlib.metadata gives for a group."""

    @property
    def names(self) -> set[str]:
        """The names in the group."""
        return {point.name for point in self}


def test_checks_are_loaded_by_entry_point_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one of that name and version is loaded; another version or no such name is refused."""
    monkeypatch.setattr(metadata, "entry_points", lambda group: _Points([_Point()]))
    assert set(load_checks(spec(CODE, FREE))) == {"postcode"}
    with pytest.raises(DeclarationError, match=r"version '1\.2', the spec declares '1\.3'"):
        load_checks(spec(CODE | {"version": "1.3"}))
    with pytest.raises(DeclarationError, match=r"0 entry points .* 'other'.*installed here: postcode"):
        load_checks(spec(CODE | {"entry_point": "other"}))


def test_no_package_here_brings_checks_by_itself() -> None:
    """Without installed checks the message says so."""
    with pytest.raises(DeclarationError, match="installed here: none"):
        load_checks(spec(CODE))


def test_an_item_without_the_evidence_is_never_accepted() -> None:
    """Missing or blank evidence abstains, whatever the output says, with the field's name."""
    for evidence in ({}, {"policy": " \n"}):
        bare = Item(item_id="i", input="?", output="Sure.", evidence=evidence)
        verdict = judge_item(spec(FIGURES), bare)
        assert verdict.outcome == unknown("abstained", "evidence_missing")
        assert verdict.rationale == "the item has no policy"


def test_pairs_blank_and_huge_outputs_are_unknown_with_a_reason() -> None:
    """Each has its own detail, and none is accepted."""
    assert judge_item(spec(FIGURES), item(None)).outcome == unknown("abstained", "not_applicable")
    for blank in ("", " \n", "\u200b"):
        assert judge_item(spec(FIGURES), item(blank)).outcome == CANNOT_TELL
    huge = judge_item(spec(FIGURES), item("x" * (MAX_OUTPUT + 1)))
    assert huge.outcome == unknown("invalid", "too_long")
    assert judge_item(spec(FIGURES), item("x" * MAX_OUTPUT)).outcome == PASS


def test_judge_all_keeps_one_verdict_an_item() -> None:
    """Verdicts come by id, in the order of the items."""
    second = Item(item_id="j", input="?", output="60 days", evidence={"policy": POLICY})
    verdicts = judge_all(spec(FIGURES), [item("30 days"), second])
    assert [(key, verdict.outcome) for key, verdict in verdicts.items()] == [("i", PASS), ("j", FAIL)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rules: [{kind: forbidden, name: a, patterns: ['('], says: x}]", "is no regular expression"),
        ("rules: [{kind: forbidden, name: a, patterns: ['(?i)x'], says: x}]", "is no regular expression"),
        ("rules: []", "at least 1"),
        ("rules: [{kind: figures, name: a}, {kind: figures, name: a}]", "two rules are called 'a'"),
        ("rules: [{kind: figures, name: a, restated_from: [output]}]", "'output' is the text under judgment"),
        ("rules: [{kind: guess, name: a}]", "guess"),
    ],
)
def test_a_spec_that_cannot_work_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    """The message names what is wrong; the spec never reaches an item."""
    head = "name: terms\nversion: 1\ncriterion: terms\nevidence: [policy]\n"
    with pytest.raises(TableError, match=sentence.replace("(", r"\(")):
        parse_declaration(head + text, RuleSpec, source="rule.yaml")


@pytest.mark.parametrize(
    "conversions",
    [
        [{"unit": "week", "times": 7, "of": "day"}, {"unit": "week", "times": 5, "of": "business_day"}],
        [{"unit": "week", "times": 7, "of": "day"}, {"unit": "day", "times": 24, "of": "hour"}],
        [{"unit": "week", "times": 1, "of": "week"}],
    ],
)
def test_conversions_that_contradict_each_other_are_refused(conversions: list[dict[str, Any]]) -> None:
    """A unit is converted once, and to one that is not converted itself."""
    with pytest.raises(ValueError, match="convert"):
        spec(FIGURES | {"conversions": conversions})


def test_evidence_may_not_be_the_output_itself() -> None:
    """A judge that compares the output with itself would accept everything."""
    with pytest.raises(ValueError, match="would confirm itself"):
        spec(FIGURES, evidence=["output"])


def test_every_changed_field_is_another_judge() -> None:
    """The digest moves with each rule, setting, name and version."""
    variants = [
        spec(FIGURES),
        spec(FREE),
        spec(FIGURES, FREE),
        spec(FREE, FIGURES),
        spec(FIGURES, version=2),
        spec(FIGURES, criterion="other"),
        spec(FIGURES, evidence=["policy", "order"]),
        spec(FIGURES | {"dates": "fail"}),
        spec(FIGURES | {"conversions": []}),
        spec(FREE | {"patterns": ["free"]}),
        spec(CODE),
        spec(CODE | {"version": "1.3"}),
    ]
    assert len({variant.digest for variant in variants}) == len(variants)
    assert spec(FIGURES).digest == spec(dict(FIGURES)).digest


UNITS = ["days", "business days", "hours", "months", "%", " euros"]


@settings(max_examples=150, derandomize=True)
@given(st.integers(1, 400), st.integers(1, 400), st.sampled_from(UNITS), st.sampled_from(UNITS))
def test_a_figure_passes_exactly_when_the_evidence_has_it(said: int, meant: int, unit: str, due: str) -> None:
    """Same value and unit pass; anything else fails, whatever the numbers are."""
    output, policy = f"It takes {said} {unit}, I think.", f"The clause says {meant} {due} and no more."
    outcome = judge_item(spec(FIGURES), item(output, question="How long?", policy=policy)).outcome
    assert outcome == (PASS if (said, unit) == (meant, due) else FAIL)


@settings(max_examples=150, derandomize=True)
@given(st.text(max_size=120), st.text(max_size=60))
def test_no_text_breaks_a_rule_judge(output: str, policy: str) -> None:
    """Every text gets a verdict with a rationale, the same one twice."""
    one = item(output, policy=policy)
    verdict = judge_item(spec(FIGURES, FREE), one)
    assert verdict.rationale
    assert verdict == judge_item(spec(FIGURES, FREE), one)
