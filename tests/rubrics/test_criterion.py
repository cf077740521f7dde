"""Criteria: what fits together and what does not."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from rubrics.record import Misfit
from rubrics.rubric import JudgeRole
from rubrics.scale import GradingMode
from rubrics.verdict import Verdict
from tests.rubrics.builders import BINARY_GUIDANCE, ORDINAL, PREFERENCE, criterion

EXAMPLE = {"output": "Hello.", "verdict": "pass", "why": "It greets."}
MODES = [{"key": "no_greeting", "when": "It opens otherwise.", "severity": "small"}]
SMALL = [{"key": "small", "when": "Nobody minds."}]


def misfit(**changes: Any) -> tuple[tuple[str | int, ...], str]:
    """Where and why the criterion is refused."""
    with pytest.raises(ValidationError) as caught:
        criterion(**changes)
    (error,) = caught.value.errors()
    cause = error["ctx"]["error"]
    assert isinstance(cause, Misfit)
    return cause.at, str(cause)


def test_defaults_are_those_of_an_acceptance_criterion() -> None:
    """What a short declaration means."""
    plain = criterion()
    assert (plain.role, plain.required, plain.imported) == (JudgeRole.ACCEPTANCE, True, False)
    assert (plain.scale.kind, plain.answers) == ("binary", ("pass", "fail"))
    assert (plain.requires, plain.failure_modes, plain.severity, plain.dimension) == ((), (), (), None)


def test_criterion_cannot_be_changed() -> None:
    """A declared criterion is frozen."""
    with pytest.raises(ValidationError, match="frozen"):
        criterion().title = "Other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "mode"),
    [({}, GradingMode.POINTWISE), (ORDINAL, GradingMode.POINTWISE), (PREFERENCE, GradingMode.PAIRWISE)],
)
def test_mode_follows_from_the_scale(changes: dict[str, Any], mode: GradingMode) -> None:
    """Only a preference needs a pair."""
    assert criterion(**changes).mode is mode


def test_answers_are_read_on_the_own_scale() -> None:
    """accept_at of the criterion's scale decides."""
    assert [criterion(**ORDINAL).read(level) for level in (1, 2, 3)] == [
        Verdict.FAIL,
        Verdict.PASS,
        Verdict.PASS,
    ]


@pytest.mark.parametrize("role", ["review_trigger", "diagnostic"])
def test_only_acceptance_can_be_required(role: str) -> None:
    """A required criterion decides over acceptance, so its role must."""
    at, said = misfit(role=role)
    assert at == ("role",)
    assert said.startswith(f"a criterion of role {role!r} cannot be required; write `required: false`")
    assert not criterion(role=role, required=False).required


@pytest.mark.parametrize("name", ["pass_when", "fail_when", "cannot_decide_when"])
def test_binary_guidance_is_complete(name: str) -> None:
    """A binary criterion says when each of the three answers is given."""
    at, said = misfit(guidance={key: text for key, text in BINARY_GUIDANCE.items() if key != name})
    assert (at, said) == (("guidance",), f"{name!r} is missing; say when, in observable words")


@pytest.mark.parametrize(
    ("changes", "guidance", "at"),
    [
        (ORDINAL, {}, ("guidance",)),
        (ORDINAL, ORDINAL["guidance"] | {"tie_when": "x"}, ("guidance", "tie_when")),
        (PREFERENCE, {"cannot_decide_when": "x"}, ("guidance",)),
        (PREFERENCE, PREFERENCE["guidance"] | {"pass_when": "x"}, ("guidance", "pass_when")),
        ({}, BINARY_GUIDANCE | {"prefer_when": "x"}, ("guidance", "prefer_when")),
    ],
)
def test_guidance_fits_the_scale(
    changes: dict[str, Any], guidance: dict[str, str], at: tuple[str, ...]
) -> None:
    """Each scale needs its own guidance and takes no other."""
    assert misfit(**(changes | {"guidance": guidance}))[0] == at


def test_imported_criterion_may_lack_guidance() -> None:
    """Labels made elsewhere come without the words that their raters had."""
    assert criterion(guidance={}, imported=True).guidance.pass_when == ""


@pytest.mark.parametrize(
    ("changes", "at", "said"),
    [
        ({"failure_modes": MODES}, ("failure_modes", 0, "severity"), "the criterion declares no `severity`"),
        (
            {"failure_modes": MODES, "severity": [{"key": "large", "when": "x"}]},
            ("failure_modes", 0, "severity"),
            "'small' is no severity level of this criterion; allowed: large",
        ),
        (
            {"failure_modes": MODES * 2, "severity": SMALL},
            ("failure_modes", 1, "key"),
            "'no_greeting' is declared twice; declare it once",
        ),
        ({"severity": SMALL * 2}, ("severity", 1, "key"), "'small' is declared twice; declare it once"),
        ({"requires": ["a", "b", "a"]}, ("requires", 2), "'a' is listed twice; list it once"),
        ({"requires": ["output"]}, ("requires", 0), "a blank output is a failure to be judged"),
        (
            {"examples": [EXAMPLE | {"verdict": "good"}]},
            ("examples", 0, "verdict"),
            "'good' is no answer on this binary scale; allowed: pass, fail, unknown",
        ),
        (
            {"examples": [EXAMPLE, EXAMPLE | {"why": "x"}]},
            ("examples", 1),
            "the same case as an example before",
        ),
        (
            {"examples": [{"verdict": "pass", "why": "x"}]},
            ("examples", 0),
            "shows no output; on a binary scale it shows output",
        ),
        (
            PREFERENCE | {"examples": [EXAMPLE | {"verdict": "A"}]},
            ("examples", 0),
            "shows output; on a preference scale it shows output_a and output_b",
        ),
        (
            ORDINAL | {"examples": [EXAMPLE | {"verdict": 4}]},
            ("examples", 0, "verdict"),
            "'4' is no answer on this ordinal scale; allowed: 1, 2, 3, unknown",
        ),
    ],
)
def test_parts_that_do_not_fit_are_named(
    changes: dict[str, Any], at: tuple[str | int, ...], said: str
) -> None:
    """Each misfit leads to its place and says what is allowed."""
    where, why = misfit(**changes)
    assert where == at
    assert said in why


def test_examples_of_every_scale_fit() -> None:
    """A level as number, a preference with its pair, an undecided case."""
    pair = {"output_a": "x", "output_b": "", "verdict": "tie", "why": "Both say nothing."}
    assert criterion(**PREFERENCE, examples=[pair]).examples[0].output_b == ""
    assert criterion(**ORDINAL, examples=[EXAMPLE | {"verdict": 3}]).examples[0].verdict == "3"
    assert criterion(examples=[EXAMPLE | {"verdict": "unknown"}]).examples[0].verdict == "unknown"


def test_example_s_case_is_what_it_shows() -> None:
    """The output where that is all; else every text, so that two inputs with one output are two cases."""
    alone, beside = criterion(examples=[EXAMPLE, EXAMPLE | {"input": "Hi"}]).examples
    assert alone.case == "Hello."
    assert beside.case == '{"input":"Hi","output":"Hello."}'


def test_failure_mode_may_carry_a_severity() -> None:
    """A declared level is taken."""
    assert criterion(failure_modes=MODES, severity=SMALL).failure_modes[0].severity == "small"


@pytest.mark.parametrize("value", ["yes", 1, "true"])
def test_truth_values_are_not_coerced(value: Any) -> None:
    """`required: yes` is a word in YAML 1.2 and no truth value."""
    with pytest.raises(ValidationError, match="valid boolean"):
        criterion(required=value)


def test_criterion_s_digest_is_that_of_its_words() -> None:
    """A spelled-out default changes nothing, another word does."""
    assert criterion().digest == criterion(role="acceptance", scale={"kind": "binary"}, requires=[]).digest
    assert criterion().digest != criterion(question="Does it greet?").digest
