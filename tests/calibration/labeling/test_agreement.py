"""Agreement between raters: hand-counted, from live answers only, each figure with its denominator."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from calibration.evidence import AlphaFigure, KappaFigure, RateFigure, UndefinedFigure
from calibration.labeling import rating
from calibration.labeling.agreement import SessionAgreement, pseudonyms, session_agreement
from calibration.labeling.plan import SessionPlan
from calibration.labeling.records import Nothing, Task
from calibration.statistics.agreement import KappaWeights, cohens_kappa
from calibration.statistics.raters import krippendorff_alpha
from calibration.store.database import Store
from calibration.values import Undefined
from rubrics.criterion import Criterion, Guidance
from rubrics.errors import RecordError
from rubrics.rubric import Rubric
from rubrics.scale import Level, OrdinalScale
from tests.calibration.labeling import world
from tests.calibration.labeling.world import number_of, opened, rate_all, said


def agreement(store: Store) -> SessionAgreement:
    """The agreement of the world's session."""
    with store.read() as session:
        return session_agreement(session=session, name=world.SESSION)


def saying(fails: set[int], doubts: Collection[int] = ()) -> Callable[[Task], str]:
    """A rater who fails some items, cannot decide others, and passes the rest."""

    def judge(task: Task) -> str:
        number = number_of(task)
        return "fail" if number in fails else "unknown" if number in doubts else "pass"

    return judge


def test_two_raters_agree_as_counted_by_hand(store: Store) -> None:
    """10 items: 6 pass-pass, 2 fail-fail, 1 pass-fail, 1 unknown-pass; kappa and alpha by a second route."""
    opened(store, items=10)
    rate_all(store, "ann", saying({0, 1}, {3}))
    rate_all(store, "ben", saying({0, 1, 2}))
    [found] = agreement(store).criteria
    assert (found.raters, found.items, found.shared) == (2, 10, 10)
    assert dict(found.answers) == {"pass": 14, "fail": 5, "unknown": 1}
    assert isinstance(found.agreement, RateFigure)
    assert (found.agreement.x, found.agreement.n) == (8, 10)
    assert isinstance(found.cannot_decide, RateFigure)
    assert (found.cannot_decide.x, found.cannot_decide.n) == (1, 20)
    # rows ann, columns ben; pass, fail, unknown
    kappa = cohens_kappa([[6, 1, 0], [0, 2, 0], [1, 0, 0]])
    assert not isinstance(kappa, Undefined)
    assert isinstance(found.kappa, KappaFigure)
    assert found.kappa.estimate == pytest.approx(kappa.kappa)
    ann = [1, 1, 0, 2, 0, 0, 0, 0, 0, 0]
    ben = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    assert isinstance(found.alpha, AlphaFigure)
    assert found.alpha.estimate == pytest.approx(krippendorff_alpha([ann, ben]))
    assert found.alpha.lower is not None
    assert found.alpha.lower < found.alpha.estimate


def of_levels() -> Rubric:
    """A rubric that asks for one of four levels."""
    levels = tuple(Level(level=str(each), anchor=f"looks like {each}") for each in range(4))
    graded = Criterion(
        key="graded",
        title="Graded",
        question="How good is it?",
        scale=OrdinalScale(kind="ordinal", levels=levels, accept_at="2"),
        guidance=Guidance(cannot_decide_when="it is cut off"),
    )
    return world.rubric().model_copy(update={"criteria": (graded,)})


def test_levels_far_apart_count_more_than_near_misses(sqlite_store: Store) -> None:
    """Twelve items of levels 0 to 3, one of them undecided by one rater: kappa is of the other eleven."""
    ann, ben = [0, 0, 1, 1, 2, 2, 3, 3, 3, 2, 1], [0, 1, 1, 1, 2, 3, 3, 3, 0, 2, 1]
    opened(sqlite_store, items=12, asked=of_levels())
    rate_all(sqlite_store, "ann", lambda task: str([*ann, 0][number_of(task)]))
    rate_all(sqlite_store, "ben", lambda task: str([*ben, "unknown"][number_of(task)]))
    [found] = agreement(sqlite_store).criteria
    assert found.weights is KappaWeights.QUADRATIC
    assert isinstance(found.kappa, KappaFigure)
    assert found.kappa.n == 11
    observed = sum((a - b) ** 2 for a, b in zip(ann, ben, strict=True)) / 11
    chance = sum((a - b) ** 2 for a in ann for b in ben) / 121
    assert found.kappa.estimate == pytest.approx(1 - observed / chance)
    assert found.kappa.lower is not None
    assert found.kappa.upper is not None
    assert found.kappa.lower < found.kappa.estimate < found.kappa.upper <= 1
    assert found.kappa.method == "quadratic weights; items resampled"
    assert isinstance(found.agreement, RateFigure)
    assert (found.agreement.x, found.agreement.n) == (8, 12)


def test_levels_on_which_all_agree_have_no_interval(sqlite_store: Store) -> None:
    """Kappa is 1, and every resample gives 1 again: that is no interval."""
    opened(sqlite_store, items=6, asked=of_levels())
    for rater in ("ann", "ben"):
        rate_all(sqlite_store, rater, lambda task: str(number_of(task) % 3))
    [found] = agreement(sqlite_store).criteria
    assert isinstance(found.kappa, KappaFigure)
    assert (found.kappa.estimate, found.kappa.lower, found.kappa.method) == (1, None, "none")


def test_nothing_said_is_nothing_measured(sqlite_store: Store) -> None:
    """An open session has no figure, and each says why."""
    opened(sqlite_store)
    report = agreement(sqlite_store)
    [found] = report.criteria
    for figure in (found.agreement, found.kappa, found.alpha, found.consistency, found.cannot_decide):
        assert isinstance(figure, UndefinedFigure)
        assert figure.undefined
    assert [pace.median_seconds for pace in report.paces] == [Undefined("no answer was timed")] * 2


def test_one_rater_is_no_agreement(sqlite_store: Store) -> None:
    """With one rater's answers reliability is not assessed, and that is said."""
    opened(sqlite_store)
    rate_all(sqlite_store, "ann")
    [found] = agreement(sqlite_store).criteria
    assert found.shared == 0
    assert isinstance(found.kappa, UndefinedFigure)
    assert "one rater" in found.kappa.undefined


def test_three_raters_have_alpha_and_no_kappa(sqlite_store: Store) -> None:
    """Cohen's kappa is for two; the figure says so and points at alpha."""
    plan = SessionPlan(raters_per_item=3, repeat_share=0, repeats_at_least=0, practice=0)
    opened(sqlite_store, items=8, raters=("ann", "ben", "cy"), plan=plan)
    for rater, fails in (("ann", {0, 1}), ("ben", {0, 1}), ("cy", {0})):
        rate_all(sqlite_store, rater, saying(fails))
    [found] = agreement(sqlite_store).criteria
    assert isinstance(found.kappa, UndefinedFigure)
    assert "3 raters" in found.kappa.undefined
    assert isinstance(found.alpha, AlphaFigure)
    assert isinstance(found.agreement, RateFigure)
    assert (found.agreement.x, found.agreement.n) == (7, 8)


def test_answer_that_was_taken_back_counts_nowhere(sqlite_store: Store) -> None:
    """A retracted answer leaves every figure; what is answered instead takes its place."""
    opened(sqlite_store, items=4)
    tasks = rate_all(sqlite_store, "ann")
    rate_all(sqlite_store, "ben")
    rating.retract(
        store=sqlite_store,
        rater="ann",
        assignment=tasks[0].assignment,
        criterion=tasks[0].criterion.key,
        why="slip",
        now=world.later(200),
    )
    [found] = agreement(sqlite_store).criteria
    assert (found.items, found.shared) == (4, 3)
    rate_all(sqlite_store, "ann", lambda task: "fail", start=300)
    [found] = agreement(sqlite_store).criteria
    assert isinstance(found.agreement, RateFigure)
    assert (found.agreement.x, found.agreement.n) == (3, 4)


def test_repeats_measure_a_rater_against_themselves(sqlite_store: Store) -> None:
    """Hidden repeats enter self-consistency and no other figure."""
    plan = SessionPlan(raters_per_item=1, repeat_share=0.1, repeats_at_least=3, practice=0)
    opened(sqlite_store, items=40, raters=("ann",), plan=plan)
    seen: dict[int, int] = {}

    def changes_once(task: Task) -> str:
        number = number_of(task)
        seen[number] = seen.get(number, 0) + 1
        again = sum(times > 1 for times in seen.values())
        return "fail" if seen[number] > 1 and again == 1 else "pass"

    tasks = rate_all(sqlite_store, "ann", changes_once)
    repeats = len(tasks) - 40
    assert repeats >= 3
    report = agreement(sqlite_store)
    [found], [pace] = report.criteria, report.paces
    assert isinstance(found.consistency, RateFigure)
    assert (found.consistency.x, found.consistency.n) == (repeats - 1, repeats)
    assert pace.consistency == found.consistency
    assert found.items == 40
    assert sum(found.answers.values()) == 40
    assert pace.answers == 40 + repeats


def test_pace_leaves_idle_answers_out(sqlite_store: Store) -> None:
    """The median is over answers at work; idle ones are counted beside it."""
    opened(sqlite_store, items=3, raters=("ann", "ben"))
    for number, (seconds, idle) in enumerate([(4, False), (10, False), (900, True)]):
        start = 2_000 * number
        task = rating.next_task(store=sqlite_store, rater="ann", now=world.later(start))
        assert not isinstance(task, Nothing)
        at = start + seconds
        given = said("pass", at, idle=idle)
        changed = type(given)(
            value="pass", shown_at=world.later(start), decided_at=given.decided_at, idle=idle, ui_version="1"
        )
        rating.answer(store=sqlite_store, rater="ann", task=task.key, answer=changed, now=world.later(at))
    ann, ben = agreement(sqlite_store).paces
    assert ann.median_seconds == pytest.approx(7)
    assert isinstance(ann.idle, RateFigure)
    assert (ann.idle.x, ann.idle.n) == (1, 3)
    assert (ben.rater, ben.answers) == ("ben", 0)


def test_ambiguous_criterion_is_listed_with_what_was_said(sqlite_store: Store) -> None:
    """Each cannot-decide for an ambiguous criterion stands at its criterion, with the item and the words."""
    opened(sqlite_store, items=2, asked=world.rubric(criteria=2))
    words = {"correct": ("criterion_ambiguous", "which <b>sum</b>?"), "polite": ("other", "no idea")}
    for at in range(10, 50, 10):
        task = rating.next_task(store=sqlite_store, rater="ann", now=world.later(at))
        assert not isinstance(task, Nothing)
        reason, note = words[task.criterion.key]
        given = said("unknown", at + 3, reason=reason, note=note)
        rating.answer(store=sqlite_store, rater="ann", task=task.key, answer=given, now=world.later(at + 3))
    correct, polite = agreement(sqlite_store).criteria
    assert [(each.rater, each.note) for each in correct.ambiguous] == [("ann", "which <b>sum</b>?")] * 2
    assert {each.item_id for each in correct.ambiguous} == {"case-000", "case-001"}
    assert polite.ambiguous == ()


def test_same_answers_give_the_same_interval(sqlite_store: Store) -> None:
    """Two looks at one session show the same numbers."""
    opened(sqlite_store, items=8)
    rate_all(sqlite_store, "ann", saying({0, 1, 2}))
    rate_all(sqlite_store, "ben", saying({1, 2, 3}))
    assert agreement(sqlite_store) == agreement(sqlite_store)


def test_unknown_session_is_refused(sqlite_store: Store) -> None:
    """A session that is not there is said so."""
    with sqlite_store.read() as session, pytest.raises(RecordError):
        session_agreement(session=session, name="nobody")


def test_pseudonyms_are_stable_and_tell_nothing() -> None:
    """One name for each rater, the same every time, in another order in every session."""
    names = [f"person-{n:02}" for n in range(9)]
    found = pseudonyms([*names, *names], session="november")
    assert found == pseudonyms(reversed(names), session="november")
    assert sorted(found) == names
    assert sorted(found.values()) == [f"rater-{n}" for n in range(1, 10)]
    orders = {tuple(pseudonyms(names, session=f"s{n}")) for n in range(5)}
    assert len(orders) == 5
