"""Missing verdicts come first only where they can settle the outcome; then it is said towards what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from calibration.evidence import Examination
from calibration.labels import Blindness
from calibration.policy import AdmissionPolicy, Guard, far_only
from calibration.rendering.next_step import next_step
from calibration.rendering.numbers import NBSP, NNBSP
from calibration.rendering.open_verdicts import clean_once_in, gate_if, may_settle
from calibration.rendering.reading import Reading, Readings
from calibration.rendering.reasons import changed_by
from calibration.statistics.proportions import GateResult
from tests.calibration.rendering import examples
from tests.calibration.rendering.examples import Evidence, examine, preferences

FIRST = "get the {} first (run the judge on {}), then examine again"


def plain(text: str) -> str:
    """The text with plain spaces."""
    return text.replace(NNBSP, " ").replace(NBSP, " ")


def step(shown: Examination) -> str:
    """The last line with plain spaces."""
    return plain(next_step(shown))


def change(shown: Examination) -> list[str]:
    """What would change the outcome, with plain spaces."""
    return [plain(text) for text in changed_by(Readings.of(shown).all[0])]


def guarded(**guards: Guard) -> AdmissionPolicy:
    """far_only with further guards."""
    return far_only(0.10).model_copy(update={"guards": guards})


def test_missing_verdicts_that_may_admit_come_first() -> None:
    """0 of 60 with 30 open: all rejected it is 0 of 60, up to 6 %, which holds 10 %."""
    shown = examine(Evidence(fail=60, open_fail=30))
    assert step(shown).startswith("Next: " + FIRST.format("30 missing verdicts", "them"))
    assert change(shown)[0] == (
        "The 30 missing verdicts on failing answers may decide false acceptance alone: if the judge rejects "
        "them all, it holds the limit; if the judge accepts them all, it breaks the limit."
    )


def test_one_missing_verdict_is_one() -> None:
    """0 of 35 with one open: it alone decides, and the sentence is in the singular."""
    shown = examine(Evidence(fail=35, open_fail=1))
    assert step(shown).startswith("Next: " + FIRST.format("1 missing verdict", "it"))
    assert change(shown)[0] == (
        "The 1 missing verdict on a failing answer may decide false acceptance alone: if the judge rejects "
        "it, it holds the limit."
    )


def test_missing_verdicts_that_cannot_admit_come_second() -> None:
    """2 of 60 does not hold 10 % even if all 30 open verdicts reject: failing answers come first."""
    shown = examples.open_verdicts()
    assert step(shown).startswith("Next: collect ")
    # 2 accepted need 69 failing answers
    assert "; also get the 30 missing verdicts: if the judge rejects them all, 9 more will do" in step(shown)
    assert change(shown)[0].endswith(
        "may decide false acceptance alone: if the judge accepts them all, it breaks the limit."
    )
    assert change(shown)[1].startswith("384 more failing answers, all rejected")
    single = examine(Evidence(fail=20, open_fail=1))
    assert "; also get the 1 missing verdict: if the judge rejects it, 15 more will do" in step(single)
    assert "may decide" not in change(single)[0]
    pairs = preferences(Evidence(fail=60, accepted_fail=2, good=0, open_fail=30))
    assert "if the judge takes the right side of them all, 9 more will do" in step(pairs)


def test_disputed_answers_stay_against_the_judge() -> None:
    """Missing verdicts do not settle what a dispute holds back: 3 disputed of 53 do not hold 10 %."""
    shown = examine(Evidence(fail=50, open_fail=1, unresolved=3, accepted_unresolved=3))
    assert step(shown).startswith("Next: have the 3 disputed answers that it accepted adjudicated")
    assert "; also get the 1 missing verdict" in step(shown)


def test_clusters_are_allowed_for() -> None:
    """0 of 60 in 12 prompts is worth too few: no missing verdict admits the judge."""
    assert gate_if(read(Evidence(fail=60, open_fail=30)), accepted=False) is GateResult.PASS
    shown = examine(Evidence(fail=60, open_fail=30, per_prompt=5))
    assert "; also get the 30 missing verdicts. Draw them as a fresh set of" in step(shown)
    clustered = Readings.of(shown).all[0]
    assert gate_if(clustered, accepted=False) is GateResult.INSUFFICIENT


def read(evidence: Evidence, policy: AdmissionPolicy | None = None) -> Reading:
    """The reading of an examination under 10 %."""
    return Readings.of(examine(evidence, policy=policy)).all[0]


def test_pairs_are_spoken_of_as_pairs() -> None:
    """Missing verdicts on pairs: sides are taken, nothing is accepted."""
    assert change(preferences(Evidence(fail=60, good=0, open_fail=30)))[0] == (
        "The 30 missing verdicts on pairs with a preferred side may decide the wrong side alone: if the "
        "judge takes the right side of them all, it holds the limit; if the judge takes the wrong side of "
        "them all, it breaks the limit."
    )
    assert (
        "on a pair with a preferred side may decide"
        in (change(preferences(Evidence(fail=35, good=0, open_fail=1)))[0])
    )


GOOD = Evidence(fail=120, good=130, accepted_good=125, raters=2, blind=Blindness.YES, open_fail=20)


@pytest.mark.parametrize(
    ("name", "guard", "evidence", "settles"),
    [
        ("abstention", Guard(point_at_most=0.05), GOOD, True),
        ("abstention", Guard(upper_at_most=0.10), GOOD, True),
        ("abstention", Guard(upper_at_most=0.10), replace(GOOD, abstained_fail=20), False),
        ("coverage", Guard(point_at_least=0.95), GOOD, True),
        ("slice_far", Guard(lower_not_above=0.10), replace(GOOD, slices=True), False),
        ("far_high_bound", Guard(point_at_most=0.10), GOOD, True),
        ("rater_kappa", Guard(point_at_least=0.6), GOOD, False),
        ("kappa_vs_reference", Guard(lower_at_least=0.99), GOOD, True),
        ("abstention", Guard(point_at_most=0.05), replace(GOOD, open_fail=0), False),
    ],
)
def test_each_item_is_asked_by_its_own_numbers(
    name: str, guard: Guard, evidence: Evidence, settles: bool
) -> None:
    """A guard: whether its best case would hold; agreement between raters no verdict can mend."""
    reading = read(evidence, guarded(**{name: guard}))
    assert reading.decision is not None
    item = next(item for item in reading.decision.items if item.name == name)
    assert may_settle(reading, item) is settles


@pytest.mark.parametrize(
    ("evidence", "settles"),
    [
        (Evidence(fail=50, open_fail=5, good=120, accepted_good=100), True),
        (Evidence(fail=50, open_fail=5, good=120, accepted_good=0), False),
        (Evidence(fail=50, open_fail=5, good=0), False),
    ],
)
def test_telling_apart_needs_accepted_good_answers(evidence: Evidence, settles: bool) -> None:
    """Missing verdicts on failing answers do not make a judge accept good ones."""
    reading = read(evidence)
    assert reading.decision is not None
    item = next(item for item in reading.decision.items if item.name == "informative")
    assert may_settle(reading, item) is settles


def test_without_a_limit_nothing_is_settled() -> None:
    """Where no limit was named, or no failing answer is counted, no verdict settles anything."""
    assert gate_if(Readings.of(examples.undecided()).all[0], accepted=False) is GateResult.INSUFFICIENT
    assert clean_once_in(Readings.of(examples.undecided()).all[0]) is None
    assert gate_if(read(Evidence(fail=0)), accepted=True) is GateResult.INSUFFICIENT
