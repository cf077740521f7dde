"""Who saw errors and declared something later: the set decides nothing about it, or a second person signs."""

from __future__ import annotations

import math
import random
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from sqlmodel import Session

from calibration.admission import decide
from calibration.calibrate import calibrate
from calibration.calibrate.disagreements import declare_steered, disagreements
from calibration.calibrate.evidence_set import EvidenceSet, convenience_set
from calibration.calibrate.looks import looks_used
from calibration.calibrate.spending import spent_looks
from calibration.calibrate.steering import sign_unsteered
from calibration.evidence import AdmissionDecision, AdmissionOutcome, CalibrationReport
from calibration.policy import AdmissionPolicy, shipped_policy
from calibration.store.database import Store
from calibration.store.judges import add_judge, get_judge
from calibration.store.reports import Look, LookKind, add_look, list_looks
from rubrics.digest import digest
from rubrics.errors import DeclarationError
from tests.calibration.examples import make_report
from tests.calibration.filling import CRITERION, DATASET, NOW, RUBRIC, Counts, asked, fill, fill_verdicts
from tests.databases import BOTH

COUNTS: Counts = {"fail": {"accept": 2, "reject": 60}, "pass": {"accept": 70, "abstained": 1}}
POLICY = shipped_policy("acceptance")


def evidence_of(session: Session) -> EvidenceSet:
    """The dataset's set."""
    return convenience_set(session=session, dataset=DATASET, actor="test", at=NOW)


def exported(session: Session, actor: str, *, hours: float = 1) -> Any:
    """What this person reads of the errors of gpt."""
    return disagreements(
        session=session,
        evidence=evidence_of(session),
        rubric=RUBRIC,
        criterion=CRITERION,
        judge=get_judge(session=session, judge="gpt"),
        actor=actor,
        at=NOW + timedelta(hours=hours),
    )


def declare(session: Session, name: str, actor: str, *, hours: float) -> None:
    """A judge that somebody declares at that time, with verdicts on the same items."""
    content = {"kind": "external", "name": name}
    add_judge(
        session=session,
        digest=digest(content),
        judge_name=name,
        kind="external",
        content=content,
        actor=actor,
        at=NOW + timedelta(hours=hours),
    )
    fill_verdicts(session, {"fail": {"reject": 62}, "pass": {"accept": 71}}, judge=name)


def decided(session: Session, judge: str, policy: AdmissionPolicy = POLICY) -> AdmissionDecision:
    """What the policy says of the judge."""
    question = asked(session, policy, judges=(judge,))
    found = calibrate(session=session, asked=question, at=NOW + timedelta(hours=9)).comparison.examinations[0]
    assert found.decision is not None
    return found.decision


def steered(decision: AdmissionDecision) -> str:
    """Why the set decides nothing; empty where it may."""
    return next((item.detail for item in decision.items if item.name == "exploratory"), "")


@BOTH
def test_errors_are_written_with_a_look(store: Store) -> None:
    """Accepted failures and passes that were not accepted; one look a person and input, presumed to steer."""
    with store.write() as session:
        fill(session, COUNTS)
        first, again, other = (
            exported(session, "ann"),
            exported(session, "ann", hours=2),
            exported(session, "ben"),
        )
        looks = list_looks(session=session)
    assert [(d.reference, d.verdict, d.reason) for d in first.items] == [
        ("fail", "pass", None),
        ("fail", "pass", None),
        ("pass", "unknown", "abstained"),
    ]
    assert first.look.input_digest == again.look.input_digest != other.look.input_digest
    assert {(look.kind, look.steered) for look in looks} == {(LookKind.EXPORT, "presumed")}


@pytest.mark.parametrize(
    ("reader", "declarer", "hours", "shaped"),
    [("ann", "ann", 2, True), ("ann", "ben", 2, False), ("ann", "ann", 0.5, False)],
)
def test_what_the_reader_declares_later_is_presumed_steered(
    store: Store, reader: str, declarer: str, hours: float, shaped: bool
) -> None:
    """The same person afterwards; neither another person nor what was declared before."""
    with store.write() as session:
        fill(session, COUNTS)
        exported(session, reader)
        declare(session, "gpt-2", declarer, hours=hours)
        decision = decided(session, "gpt-2")
    assert bool(steered(decision)) is shaped
    assert decision.outcome == ("insufficient_evidence" if shaped else "admit")
    if shaped:
        said = steered(decision)
        assert "is development data here: ann exported its errors" in said
        assert "draw a fresh set with 52 reference failures, about 120 cases" in said


def test_a_second_person_signs_that_nothing_was_steered(store: Store) -> None:
    """Not the reader and not the declarer; afterwards the set decides again, about this judge alone."""
    with store.write() as session:
        fill(session, COUNTS)
        look = exported(session, "ann").look
        declare(session, "gpt-2", "ann", hours=2)
        declare(session, "gpt-3", "ann", hours=2)
        subject = get_judge(session=session, judge="gpt-2").digest
        sign: dict[str, Any] = {"session": session, "look": look, "subjects": (subject,), "at": NOW}
        with pytest.raises(DeclarationError, match="a second, different person signs"):
            sign_unsteered(**sign, signer="ANN", reason="it was written before")
        with pytest.raises(DeclarationError, match="under 10 characters"):
            sign_unsteered(**sign, signer="ben", reason="ok")
        sign_unsteered(**sign, signer="ben", reason="it was written before the errors were read")
        assert decided(session, "gpt-2").outcome == "admit"
        assert steered(decided(session, "gpt-3"))


def test_a_set_that_steered_stays_development_data(store: Store) -> None:
    """For whoever declares something later; no signature undoes it."""
    with store.write() as session:
        fill(session, COUNTS)
        look = declare_steered(
            session=session,
            evidence=evidence_of(session),
            criterion=CRITERION,
            reason="the prompt was changed after reading it",
            actor="ann",
            at=NOW + timedelta(hours=1),
        )
        declare(session, "gpt-2", "ben", hours=2)
        assert "used a report on it to change something" in steered(decided(session, "gpt-2"))
        assert steered(decided(session, "gpt")) == ""
        with pytest.raises(DeclarationError, match="stays development data"):
            sign_unsteered(
                session=session, look=look, subjects=("x",), signer="cho", reason="a good reason here", at=NOW
            )
        with pytest.raises(DeclarationError, match="say what was changed"):
            declare_steered(
                session=session,
                evidence=evidence_of(session),
                criterion=CRITERION,
                reason="x",
                actor="a",
                at=NOW,
            )


def test_each_look_says_what_it_spent(store: Store) -> None:
    """A third of the error each, under three looks; reading errors spends none of it."""
    with store.write() as session:
        fill(session, COUNTS)
        decided(session, "gpt")
        exported(session, "ann")
        spent = {each.look.kind: each for each in spent_looks(session=session)}
    report = spent[LookKind.REPORT]
    assert (report.judge, report.number, report.allowed) == ("gpt", 1, 3)
    assert report.alpha == pytest.approx(0.05 / 3)
    assert (spent[LookKind.EXPORT].number, spent[LookKind.EXPORT].alpha) == (None, None)


LIMIT, FAILURES, SETS = 0.10, 60, 5


@cache
def report_of(accepted: int) -> CalibrationReport:
    """The report on a set of sixty failures of which so many are accepted."""
    counts = {"fail": {"accept": accepted, "reject": FAILURES - accepted}, "pass": {"accept": 60}}
    return make_report(counts, POLICY_GATE)


POLICY_GATE = shipped_policy("far_only").model_copy(update={"looks": POLICY.looks})
"""The gate of the acceptance policy, three looks, without what a set of labels has to be."""


def shop(session: Session, shopper: int, accepted: list[int]) -> AdmissionOutcome | None:
    """The first admission that somebody gets from trying five sets, each look in the ledger; None without."""
    for place, x in enumerate(accepted):
        inputs = digest(["shopping", shopper, place])
        look = Look(
            input_digest=inputs,
            kind=LookKind.REPORT,
            criterion=f"c{shopper}",
            actor="shopper",
            at=NOW + timedelta(minutes=place),
            judge_digest=get_judge(session=session, judge="gpt").digest,
            rubric_digest=RUBRIC.digest,
            policy_digest=POLICY.digest,
        )
        add_look(session=session, look=look)
        used = looks_used(
            session=session,
            judge_digest=look.judge_digest or "",
            rubric_digest=RUBRIC.digest,
            criterion=look.criterion,
            input_digest=inputs,
        )
        assert used == place + 1
        found = decide(report_of(x), POLICY_GATE, looks_used=used).outcome
        if found is AdmissionOutcome.ADMIT:
            return found
    return None


def shoppers(session: Session, count: int, seed: int) -> int:
    """How many of so many shoppers get a judge at the limit admitted."""
    rng = random.Random(seed)
    sets = [[sum(rng.random() < LIMIT for _ in range(FAILURES)) for _ in range(SETS)] for _ in range(count)]
    return sum(shop(session, shopper, accepted) is not None for shopper, accepted in enumerate(sets))


def at_most(x: int, n: int, p: float) -> float:
    """P(X <= x) of a binomial, by its sum."""
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(x + 1))


def test_shopping_for_sets_stays_under_the_nominal_error() -> None:
    """Exactly: only three of five sets count, each at a third of the error; together under 2.5 %."""
    passes = [x for x in range(20) if decide(report_of(x), POLICY_GATE).outcome is AdmissionOutcome.ADMIT]
    each = at_most(max(passes), FAILURES, LIMIT)
    together = 1 - (1 - each) ** POLICY.looks.max
    assert together <= 0.025
    without_ledger = shipped_policy("far_only")
    freely = max(
        x
        for x in range(20)
        if decide(
            make_report(
                {"fail": {"accept": x, "reject": FAILURES - x}, "pass": {"accept": 60}}, without_ledger
            ),
            without_ledger,
        ).outcome
        is AdmissionOutcome.ADMIT
    )
    assert 1 - (1 - at_most(freely, FAILURES, LIMIT)) ** SETS > 0.025  # what the ledger is there for
    for number in (4, 5):
        assert decide(report_of(0), POLICY_GATE, looks_used=number).outcome is AdmissionOutcome.INSUFFICIENT


def test_shopping_through_the_ledger(sqlite_store: Store) -> None:
    """40 shoppers of five sets each, every look recorded and counted; the slow form has 4,000."""
    with sqlite_store.write() as session:
        fill(session, {"fail": {"reject": 1}, "pass": {"accept": 1}})
        asked(session, POLICY)
        assert shoppers(session, 40, seed=7) / 40 <= 0.025


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_shopping_through_the_ledger_at_length(sqlite_store: Store) -> None:
    """4,000 shoppers, a hundred to a ledger: the share admitted is at most the nominal error."""
    admitted = 0
    with sqlite_store.write() as session:
        fill(session, {"fail": {"reject": 1}, "pass": {"accept": 1}})
        asked(session, POLICY)
        for hundred in range(40):
            ledger = session.begin_nested()
            admitted += shoppers(session, 100, seed=hundred)
            ledger.rollback()
    assert admitted / 4000 <= 0.025


def test_another_name_for_the_same_verdicts_is_no_further_judge(sqlite_store: Store) -> None:
    """Declared after the look at its twin it decides nothing, until a second person signs; others do."""
    with sqlite_store.write() as session:
        fill(session, {"fail": {"reject": 62}, "pass": {"accept": 71}})
        declare(session, "twin", "ann", hours=1)
        assert steered(decided(session, "gpt")) == ""
        assert steered(decided(session, "twin")) == ""
        declare(session, "renamed", "ann", hours=10)
        assert "'renamed' was declared after" in steered(decided(session, "renamed"))
        subjects = (get_judge(session=session, judge="renamed").digest,)
        for look in list_looks(session=session):
            sign_unsteered(
                session=session,
                look=look,
                subjects=subjects,
                signer="B. Cho",
                reason="two deployments of one model",
                at=NOW + timedelta(hours=11),
            )
        assert steered(decided(session, "renamed")) == ""
