"""Rubrics: identity, fields shown, publishing."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from rubrics.errors import DeclarationError
from rubrics.record import Misfit
from rubrics.rubric import Rubric, RubricRef, parse_ref, publishing_problems
from rubrics.scale import GradingMode
from tests.rubrics.builders import (
    BINARY_GUIDANCE,
    ORDINAL,
    PREFERENCE,
    criterion_data,
    rubric,
    rubric_data,
    rubrics,
)


def misfit(**changes: Any) -> tuple[tuple[str | int, ...], str]:
    """Where and why the rubric is refused."""
    with pytest.raises(ValidationError) as caught:
        Rubric.model_validate(rubric_data(**changes))
    (error,) = caught.value.errors()
    cause = error["ctx"]["error"]
    assert isinstance(cause, Misfit)
    return cause.at, str(cause)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(rubrics())
def test_stored_rubric_is_the_same_rubric(made: Rubric) -> None:
    """Written as JSON with or without defaults and read back, it is equal and keeps its digest."""
    for dump in (made.model_dump(mode="json"), made.model_dump(mode="json", exclude_defaults=True)):
        again = Rubric.model_validate(json.loads(json.dumps(dump)))
        assert again == made
        assert again.digest == made.digest


@settings(max_examples=30, deadline=None, derandomize=True)
@given(rubrics(), rubrics())
def test_digest_is_equality(one: Rubric, other: Rubric) -> None:
    """Two rubrics have one digest exactly where they are equal."""
    assert (one.digest == other.digest) == (one == other)


def test_digest_does_not_move() -> None:
    """The digests of published rubrics outlive this version of the code: a pinned one, all fields at work."""
    full = rubric(
        criterion_data(
            role="review_trigger",
            required=False,
            severity=[{"key": "small", "when": "Nobody minds."}],
            failure_modes=[{"key": "no_greeting", "when": "It opens otherwise.", "severity": "small"}],
            requires=["policy"],
            examples=[
                {"output": "Hello.", "evidence": {"policy": "Greet."}, "verdict": "pass", "why": "It greets."}
            ],
            dimension="tone",
        ),
        criterion_data(key="warmth", **ORDINAL),
        establishes=["That it greets."],
        does_not_establish=["That it helps."],
    )
    assert full.digest == "757d99103f7093649c186a754b49b6ae799f07ee0155881a1d8d88fec4c9ba35"
    pair = "520c60007f17958ab8c48b6a14c69004ce598d86b9f592e6284551774830df0b"
    assert rubric(criterion_data(**PREFERENCE)).digest == pair


def test_digest_can_be_recomputed_with_other_tools() -> None:
    """It is the SHA-256 of the declared words as sorted JSON, defaults left out, schema put in."""
    text = (
        '{"criteria":[{"guidance":{"cannot_decide_when":"the output is cut off before its first full line.",'
        '"fail_when":"the first line is anything else.","pass_when":"the first line is a greeting."},'
        '"key":"greets","question":"Does the output open with a greeting?","title":"It greets the reader"}],'
        '"evidence":[{"key":"policy","source":"recorded","title":"House style"}],"name":"politeness",'
        '"purpose":"Decide whether an answer may be sent.","schema":"rubric/1","title":"Polite answers",'
        '"version":1}'
    )
    assert rubric().digest == hashlib.sha256(text.encode()).hexdigest()


def test_spelling_out_a_default_changes_nothing() -> None:
    """Only content is identity, not how much of it was typed."""
    spelled = rubric(
        criterion_data(scale={"kind": "binary"}, required=True, role="acceptance"), establishes=[]
    )
    assert spelled.digest == rubric().digest


def test_name_and_version_are_part_of_the_identity_and_not_of_the_content() -> None:
    """Two versions with the same words are two rubrics whose equal content can be seen."""
    assert rubric().digest != rubric(version=2).digest
    assert rubric().digest != rubric(name="other").digest
    assert rubric().content_digest == rubric(version=2, name="other").content_digest
    assert rubric().content_digest != rubric(purpose="Another.").content_digest


def test_same_ref_with_other_content_has_another_digest() -> None:
    """What lets publishing refuse a changed text under a name that is taken."""
    assert rubric().ref == rubric(purpose="Another.").ref == "politeness@1"
    assert rubric().digest != rubric(purpose="Another.").digest


@pytest.mark.parametrize("text", ["refund-policy@5", "Vanilla_NoRules@1", "a@999999999"])
def test_ref_is_read_and_written(text: str) -> None:
    """name@version there and back."""
    assert str(parse_ref(text)) == text


def test_ref_has_name_and_version() -> None:
    """The two parts by name."""
    assert parse_ref(rubric().ref) == RubricRef("politeness", 1)


@pytest.mark.parametrize(
    "text", ["", "a", "a@", "@1", "a@0", "a@01", "a@-1", "a@1.0", "a@b@1", "a b@1", "a@1\n", "a@²"]
)
def test_what_is_no_ref_is_refused(text: str) -> None:
    """Anything else is quoted, with an example of what is meant."""
    with pytest.raises(DeclarationError, match="is not name@version; write it like 'refund-policy@1'"):
        parse_ref(text)


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1", 1_000_000_000])
def test_version_is_a_whole_number(version: Any) -> None:
    """Nothing is coerced to a version."""
    with pytest.raises(ValidationError):
        rubric(version=version)


def test_fields_are_input_evidence_outputs() -> None:
    """What every item has is filled in, the output as untrusted text."""
    shown = [(field.key, field.source.value, field.title) for field in rubric().fields]
    assert shown == [
        ("input", "recorded", "Input"),
        ("policy", "recorded", "House style"),
        ("output", "candidate", "Output to judge"),
    ]


def test_declared_fields_keep_their_place_and_words() -> None:
    """A rubric may give input and output other headings, and another order."""
    evidence = [
        {"key": "output", "source": "candidate", "title": "Answer"},
        {"key": "input", "source": "candidate", "title": "Request"},
    ]
    assert [(field.key, field.title) for field in rubric(evidence=evidence).fields] == [
        ("output", "Answer"),
        ("input", "Request"),
    ]


def test_pair_is_shown_as_a_and_b() -> None:
    """A rubric of preferences shows two outputs."""
    pairwise = rubric(criterion_data(**PREFERENCE))
    assert pairwise.mode is GradingMode.PAIRWISE
    assert [field.key for field in pairwise.fields] == ["input", "policy", "output_a", "output_b"]


def test_criterion_is_found_by_key() -> None:
    """And where there is none, those that there are stand in the message."""
    assert rubric().criterion("greets").title == "It greets the reader"
    with pytest.raises(DeclarationError, match=r"politeness@1 has no criterion 'greet'; it has: greets"):
        rubric().criterion("greet")


def test_required_criteria_are_those_that_combine_reads() -> None:
    """Optional and diagnostic criteria are left out."""
    made = rubric(
        criterion_data(key="a", required=False),
        criterion_data(key="b"),
        criterion_data(key="c", role="diagnostic", required=False),
    )
    assert [each.key for each in made.required] == ["b"]
    assert publishing_problems(made) == ()


def test_rubric_without_required_criterion_is_readable_and_not_publishable() -> None:
    """A draft may be looked at; published it could accept nothing."""
    (problem,) = publishing_problems(rubric(criterion_data(required=False)))
    assert problem.startswith("politeness@1 has no required criterion, so no output could ever be accepted")


@pytest.mark.parametrize(
    ("changes", "at", "said"),
    [
        ({"criteria": []}, ("criteria",), "is empty; declare at least one criterion"),
        (
            {"criteria": [criterion_data()] * 2},
            ("criteria", 1, "key"),
            "'greets' is declared twice; declare it once",
        ),
        (
            {"criteria": [criterion_data(), criterion_data(key="b", **PREFERENCE)]},
            ("criteria", 1, "scale"),
            "is pairwise where the first criterion is pointwise",
        ),
        (
            {"criteria": [criterion_data(requires=["policy", "polcy"])]},
            ("criteria", 0, "requires", 1),
            "'polcy' is no evidence field of this rubric",
        ),
        (
            {"evidence": [{"key": "p", "source": "recorded", "title": "P"}] * 2},
            ("evidence", 1, "key"),
            "'p' is declared twice; declare it once",
        ),
        (
            {"evidence": [{"key": "output_a", "source": "candidate", "title": "A"}]},
            ("evidence", 0, "key"),
            "'output_a' is not judged in a pointwise rubric; it judges output",
        ),
        (
            {"evidence": [{"key": "output", "source": "recorded", "title": "O"}]},
            ("evidence", 0, "source"),
            "the text under judgment is never trusted; allowed: candidate",
        ),
        ({"establishes": ["a", "b", "a"]}, ("establishes", 2), "says the same as an entry before it"),
        (
            {"does_not_establish": ["a", "a"]},
            ("does_not_establish", 1),
            "says the same as an entry before it",
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


@pytest.mark.parametrize("key", ["polcy", "input", "output"])
def test_example_s_evidence_is_declared_evidence(key: str) -> None:
    """An example cannot show a field that no item of the rubric is asked to have."""
    example = {"output": "Hello.", "evidence": {key: "x"}, "verdict": "pass", "why": "y"}
    where, why = misfit(criteria=[criterion_data(guidance=BINARY_GUIDANCE, examples=[example])])
    assert where == ("criteria", 0, "examples", 0, "evidence", key)
    assert why.startswith(f"{key!r} is no evidence field of this rubric")


@settings(max_examples=20, deadline=None, derandomize=True)
@given(rubrics(), st.data())
def test_every_example_reads_on_its_scale(made: Rubric, data: st.DataObject) -> None:
    """No valid rubric holds an example whose verdict its own scale cannot read."""
    criterion = data.draw(st.sampled_from(made.criteria))
    for example in criterion.examples:
        criterion.read(example.verdict)
