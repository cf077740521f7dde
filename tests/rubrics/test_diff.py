"""Two versions of a rubric: every change found, weakened acceptance flagged, consequences said."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rubrics.changes import Effect
from rubrics.diff import RubricDiff, diff_rubrics
from rubrics.rubric import Rubric
from rubrics.words import marked
from tests.rubrics.builders import (
    BINARY_GUIDANCE,
    LEVELS,
    ORDINAL,
    PREFERENCE,
    criterion_data,
    rubric,
    rubric_contents,
    rubrics,
)

OPTIONAL = {"required": False}
GUIDED_LEVELS = ORDINAL | {"guidance": ORDINAL["guidance"] | {"pass_when": "p", "fail_when": "f"}}
SMALL, LARGE = {"key": "small", "when": "Nobody minds."}, {"key": "large", "when": "Somebody leaves."}
MODE = {"key": "late", "when": "It greets at the end."}
SEVERE = {"severity": [SMALL, LARGE]}
GREETS = {"output": "Hello.", "verdict": "pass", "why": "It greets."}
POLICY = {"key": "policy", "source": "recorded", "title": "House style"}


def scale_data(kind: str, **changes: Any) -> dict[str, Any]:
    """A criterion's scale and guidance, with some keys of the scale replaced."""
    base = {"ordinal": ORDINAL, "preference": PREFERENCE}[kind]
    return base | {"scale": base["scale"] | changes}


def between(old: dict[str, Any], new: dict[str, Any]) -> RubricDiff:
    """The difference of two rubrics of one criterion each."""
    return diff_rubrics(rubric(criterion_data(**old)), rubric(criterion_data(**new), version=2))


def swapped(effect: Effect) -> Effect:
    """The effect of the change undone."""
    return {Effect.WEAKENS: Effect.STRENGTHENS, Effect.STRENGTHENS: Effect.WEAKENS}.get(effect, effect)


DIRECTED = [
    ({}, OPTIONAL, "no longer required: an output that fails it can be accepted"),
    (OPTIONAL, OPTIONAL | {"role": "review_trigger"}, "role review_trigger now, acceptance before"),
    (OPTIONAL | {"role": "review_trigger"}, OPTIONAL | {"role": "diagnostic"}, "role diagnostic now"),
    (scale_data("ordinal", accept_at=3), ORDINAL, "passes from level 2 on, from 3 on before"),
    (PREFERENCE, scale_data("preference", tie_accepts=True), "a tie is accepted now"),
    (
        GUIDED_LEVELS,
        ORDINAL | {"guidance": ORDINAL["guidance"] | {"pass_when": "p"}},
        "guidance 'fail_when' removed",
    ),
    (
        GUIDED_LEVELS,
        ORDINAL | {"guidance": ORDINAL["guidance"] | {"fail_when": "f"}},
        "guidance 'pass_when' removed",
    ),
    ({"failure_modes": [MODE]}, {}, "failure mode 'late' removed"),
    (SEVERE, {"severity": [SMALL]}, "severity level 'large' removed"),
    (
        SEVERE | {"failure_modes": [MODE | {"severity": "large"}]},
        SEVERE | {"failure_modes": [MODE | {"severity": "small"}]},
        "failure mode 'late' of severity small now, large before",
    ),
    (
        SEVERE | {"failure_modes": [MODE | {"severity": "small"}]},
        SEVERE | {"failure_modes": [MODE]},
        "failure mode 'late' of severity none now, small before",
    ),
    ({"requires": ["policy"]}, {}, "required evidence field 'policy' removed"),
    (
        {"examples": [GREETS | {"verdict": "fail"}]},
        {"examples": [GREETS]},
        "the example 'Hello.' is pass now, fail before",
    ),
    (
        {"examples": [GREETS | {"verdict": "unknown"}]},
        {"examples": [GREETS]},
        "the example 'Hello.' is pass now, unknown before",
    ),
]


@pytest.mark.parametrize(("old", "new", "said"), DIRECTED)
def test_weakened_acceptance_is_flagged(old: dict[str, Any], new: dict[str, Any], said: str) -> None:
    """Each way in which outputs may pass that did not; and undone, it strengthens."""
    (change,) = between(old, new).weakened
    assert said in str(change)
    assert str(change).startswith("greets: ")
    back = between(new, old)
    assert [each.effect for each in back.changes] == [Effect.STRENGTHENS]
    assert back.weakened == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({}, ORDINAL, "answered on a scale of kind ordinal now, binary before"),
        (PREFERENCE, scale_data("preference", candidate="A"), "declared candidate A now, B before"),
        (PREFERENCE, scale_data("preference", candidate=None), "declared candidate none now, B before"),
        (ORDINAL, scale_data("ordinal", levels=LEVELS[:2]), "level '3' removed"),
        (ORDINAL, scale_data("ordinal", levels=[*LEVELS, {"level": 4, "anchor": "x"}]), "level '4' added"),
        (
            scale_data("ordinal", accept_at=3),
            scale_data("ordinal", levels=LEVELS[:2], accept_at=2),
            "passes from level 2 on, from 3 on before",
        ),
        (SEVERE, {"severity": [LARGE, SMALL]}, "the severity levels stand in another order"),
        ({}, {"imported": True}, "the guidance that its raters had is not known now"),
        ({"imported": True}, {}, "the guidance that its raters had is declared now"),
    ],
)
def test_another_question_is_not_called_weaker_or_stronger(
    old: dict[str, Any], new: dict[str, Any], said: str
) -> None:
    """Where verdicts before and after cannot be compared, the change says so and no direction."""
    found = [str(change) for change in between(old, new).by_effect(Effect.REDEFINES)]
    assert f"greets: {said}" in found
    assert not between(old, new).only_wording


def test_severity_among_reordered_levels_has_no_direction() -> None:
    """Small to large is worse only while large is the worse one in both versions."""
    old = {"severity": [SMALL, LARGE], "failure_modes": [MODE | {"severity": "small"}]}
    new = {"severity": [LARGE, SMALL], "failure_modes": [MODE | {"severity": "large"}]}
    assert {change.effect for change in between(old, new).changes} == {Effect.REDEFINES}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({}, {"title": "It says hello"}, "title reworded"),
        ({}, {"question": "Does it greet?"}, "question reworded"),
        ({"dimension": "tone"}, {}, "dimension reworded"),
        (
            {},
            {"guidance": BINARY_GUIDANCE | {"fail_when": "it does not greet."}},
            "guidance 'fail_when' reworded",
        ),
        (
            ORDINAL,
            scale_data("ordinal", levels=[LEVELS[0] | {"anchor": "x"}, *LEVELS[1:]]),
            "level '1' reworded",
        ),
        (
            PREFERENCE,
            PREFERENCE | {"guidance": PREFERENCE["guidance"] | {"tie_when": "x"}},
            "guidance 'tie_when' added",
        ),
        (
            {"failure_modes": [MODE]},
            {"failure_modes": [MODE | {"when": "x"}]},
            "failure mode 'late' reworded",
        ),
        (SEVERE, {"severity": [SMALL | {"when": "x"}, LARGE]}, "severity level 'small' reworded"),
        (
            {"failure_modes": [MODE, MODE | {"key": "b"}]},
            {"failure_modes": [MODE | {"key": "b"}, MODE]},
            "the failure modes stand in another order",
        ),
        ({}, {"examples": [GREETS]}, "example 'Hello.' added"),
        ({"examples": [GREETS]}, {}, "example 'Hello.' removed"),
        ({"examples": [GREETS]}, {"examples": [GREETS | {"why": "x"}]}, "example 'Hello.' reworded"),
        (
            {"examples": [GREETS | {"verdict": "fail"}]},
            {"examples": [GREETS | {"verdict": "unknown"}]},
            "the example 'Hello.' is unknown now, fail before",
        ),
    ],
)
def test_wording_is_left_to_a_reader(old: dict[str, Any], new: dict[str, Any], said: str) -> None:
    """Changed words that move no rule are wording, and a person may sign that they change nothing."""
    difference = between(old, new)
    assert [str(change) for change in difference.changes] == [f"greets: {said}"]
    assert difference.only_wording


def test_words_of_a_change_are_marked() -> None:
    """The reader sees the words that came and went."""
    new = {"guidance": BINARY_GUIDANCE | {"pass_when": "the first or last line is a greeting."}}
    (change,) = between({}, new).changes
    assert marked(change.words) == "the first {+or last +}line is a greeting."


def test_required_criterion_removed_is_weaker_and_added_is_stronger() -> None:
    """And so is a review trigger; an optional or diagnostic one decides nothing."""
    base = criterion_data()
    for extra, effect in (
        ({}, Effect.STRENGTHENS),
        (OPTIONAL | {"role": "review_trigger"}, Effect.STRENGTHENS),
        (OPTIONAL, Effect.WORDING),
        (OPTIONAL | {"role": "diagnostic"}, Effect.WORDING),
    ):
        more = rubric(base, criterion_data(key="more", **extra))
        assert [(str(c), c.effect) for c in diff_rubrics(rubric(base), more).changes] == [
            ("more: added", effect)
        ]
        assert [(str(c), c.effect) for c in diff_rubrics(more, rubric(base)).changes] == [
            ("more: removed", swapped(effect))
        ]


def test_order_of_criteria_is_a_change() -> None:
    """It moves what a judge reads first."""
    one, other = criterion_data(key="a"), criterion_data(key="b")
    (change,) = diff_rubrics(rubric(one, other), rubric(other, one)).changes
    assert (str(change), change.before, change.after) == (
        "the criteria stand in another order",
        "a, b",
        "b, a",
    )


@pytest.mark.parametrize(
    ("old", "new", "effect", "said"),
    [
        ([POLICY], [], Effect.REDEFINES, "evidence field 'policy' removed"),
        ([], [POLICY], Effect.REDEFINES, "evidence field 'policy' added"),
        ([POLICY], [POLICY | {"title": "Style"}], Effect.WORDING, "evidence field 'policy' reworded"),
        ([POLICY], [POLICY | {"description": "x"}], Effect.WORDING, "evidence field 'policy' reworded"),
        (
            [POLICY | {"source": "candidate"}],
            [POLICY],
            Effect.WEAKENS,
            "evidence field 'policy' is recorded text now, candidate before",
        ),
        (
            [POLICY],
            [POLICY | {"source": "candidate"}],
            Effect.STRENGTHENS,
            "evidence field 'policy' is candidate text now, recorded before",
        ),
        (
            [POLICY],
            [POLICY | {"source": "reference"}],
            Effect.REDEFINES,
            "evidence field 'policy' is reference text now, recorded before",
        ),
        (
            [],
            [{"key": "input", "source": "recorded", "title": "Input"}],
            Effect.WORDING,
            "evidence fields that every item has are written out differently; the same is shown",
        ),
        (
            [POLICY],
            [POLICY, {"key": "input", "source": "recorded", "title": "Input"}],
            Effect.WORDING,
            "the evidence fields stand in another order",
        ),
    ],
)
def test_change_of_evidence(old: Any, new: Any, effect: Effect, said: str) -> None:
    """Trusting what the candidate may have written is weaker; another field is another interface."""
    difference = diff_rubrics(rubric(evidence=old), rubric(evidence=new))
    assert [(str(change), change.effect) for change in difference.changes] == [(said, effect)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"title": "Other"}, "title reworded"),
        ({"purpose": "Other."}, "purpose reworded"),
        ({"establishes": ["More."]}, "claim 'More.' added"),
        ({"does_not_establish": ["More."]}, "caveat 'More.' added"),
    ],
)
def test_change_of_what_is_said_about_the_rubric(changes: dict[str, Any], said: str) -> None:
    """Title, purpose, claims and caveats."""
    assert [str(change) for change in diff_rubrics(rubric(), rubric(**changes)).changes] == [said]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(rubrics(), rubrics())
def test_change_is_found_exactly_where_contents_differ(old: Rubric, new: Rubric) -> None:
    """No difference of content goes unseen, and every effect is undone on the way back."""
    there, back = diff_rubrics(old, new), diff_rubrics(new, old)
    assert (there.changes == ()) == (old.content_digest == new.content_digest)
    assert Counter(swapped(change.effect) for change in there.changes) == Counter(
        c.effect for c in back.changes
    )


@settings(max_examples=30, deadline=None, derandomize=True)
@given(rubric_contents(), rubric_contents(), st.data())
def test_one_changed_field_is_seen(one: Any, other: Any, data: st.DataObject) -> None:
    """Any single field of the rubric or of a criterion taken from another rubric shows as a change."""
    mixed = {**one, "criteria": [dict(one["criteria"][0]), *one["criteria"][1:]]}
    place, source = data.draw(st.sampled_from([(mixed, other), (mixed["criteria"][0], other["criteria"][0])]))
    name = data.draw(st.sampled_from(sorted(place)))
    place[name] = source[name]
    try:
        old, new = (Rubric.model_validate({"name": "r", "version": 1} | content) for content in (one, mixed))
    except ValueError:
        assume(False)
    assert bool(diff_rubrics(old, new).changes) == (old != new)


def test_identical_rubrics_invalidate_nothing() -> None:
    """One and the same published rubric."""
    same = diff_rubrics(rubric(), rubric())
    assert same.identical
    assert (same.changes, same.consequences(), same.asked_anew) == ((), (), ())


def test_new_version_of_the_same_words_begins_without_evidence() -> None:
    """Evidence is bound to what was published, and a person may carry it over."""
    assert diff_rubrics(rubric(), rubric(version=2)).consequences() == (
        "Labels, verdicts, sets, reports and decisions made under politeness@1 stay with it; "
        "politeness@2 begins with none, so no judge may grade by it yet.",
        "Both ask and show exactly the same; a signed carry-over may be considered.",
    )


def test_changed_criterion_is_asked_anew_and_its_neighbour_is_untouched() -> None:
    """What has to be done again, and what might be carried over."""
    old = rubric(criterion_data(key="a"), criterion_data(key="b"))
    new = rubric(criterion_data(key="a"), criterion_data(key="b", question="Other?"), version=2)
    difference = diff_rubrics(old, new)
    assert (difference.untouched, difference.asked_anew) == (("a",), ("b",))
    assert difference.consequences()[1:] == (
        "To be labelled, judged and decided anew: b.",
        "Unchanged, so a signed carry-over may be considered: a.",
    )


@pytest.mark.parametrize("changes", [{"title": "Other"}, {"purpose": "Other."}, {"evidence": []}])
def test_change_beside_every_criterion_touches_all(changes: dict[str, Any]) -> None:
    """Evidence, title and purpose stand beside each criterion, so none is untouched."""
    difference = diff_rubrics(rubric(), rubric(version=2, **changes))
    assert (difference.untouched, difference.asked_anew) == ((), ("greets",))
    assert difference.consequences()[1:] == ("To be labelled, judged and decided anew: greets.",)


def test_changed_claims_touch_no_criterion() -> None:
    """What is said about the rubric is shown beside no criterion."""
    difference = diff_rubrics(rubric(), rubric(version=2, establishes=["More."]))
    assert difference.untouched == ("greets",)
    said = "Unchanged, so a signed carry-over may be considered: greets."
    assert difference.consequences()[1:] == (said,)


def test_other_required_criteria_are_another_overall_verdict() -> None:
    """combine() reads other criteria than before, and a reader is told."""
    old, new = rubric(criterion_data()), rubric(criterion_data(required=False), version=2)
    assert diff_rubrics(old, new).consequences()[-1] == (
        "The overall verdict rests on nothing now; before, on greets."
    )
