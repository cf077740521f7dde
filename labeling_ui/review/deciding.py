"""The decision on one judge: nothing preselected, reasons first, and no word that the policy did not say.

What may be signed is the policy's own outcome; an admission against it takes two people. A stricter word than
the policy's is not signed: what is unsigned admits nobody anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st
from sqlmodel import Session

from calibration.evidence import AdmissionDecision, AdmissionOutcome
from calibration.labeling.records import Person
from calibration.policy import AdmissionPolicy
from calibration.registry import ANY_POPULATION, LOCAL, Signature, sign
from calibration.store.decisions import DecisionScope, StoredDecision, current_decision
from labeling_ui.components import notice, show
from labeling_ui.review import here
from labeling_ui.review.access import recording, require_rated
from labeling_ui.review.evidence import Answered, Examined, labelled_by, scope_of, stale
from labeling_ui.review.overrides import Proposal, close, open_proposal, propose, withdraw
from labeling_ui.review.pages import heading
from rubrics.digest import short
from rubrics.errors import DifferentRecord, JudgeCalibrationError, RecordError

LEAST_REASON: Final = 20
"""Characters of a reason before anything can be signed."""
CHOICES: Final = ("Admit", "Reject", "More labels")
_MEANS: Final = {
    "Admit": AdmissionOutcome.ADMIT,
    "Reject": AdmissionOutcome.REJECT,
    "More labels": AdmissionOutcome.INSUFFICIENT,
}
_SAYS: Final = {outcome: choice for choice, outcome in _MEANS.items()}
_REFUSED: Final = "review_sign_refused"
_STALE: Final = "review_stale"


@dataclass(frozen=True, slots=True)
class Desk:
    """What lies before a reviewer who decides on a judge."""

    who: Person
    answered: Answered
    examined: Examined
    policy: AdmissionPolicy
    decision: AdmissionDecision
    """The outcome, among all judges that were examined on the question; it is what is signed."""
    standing: StoredDecision | None
    """What stood for the scope when the page was drawn."""
    withheld: str = ""
    """Why an admission by the policy is not one person's to sign; empty where it is."""

    @property
    def outcome(self) -> AdmissionOutcome:
        """What one person may sign."""
        return AdmissionOutcome.INSUFFICIENT if self.withheld else self.decision.outcome

    @property
    def token(self) -> str:
        """What the keys of widgets are bound to: nothing typed for one report is signed for another."""
        return self.examined.stored.digest[:16]


def established(who: Person) -> str:
    """How the person is established, as the record says it."""
    return f"verified by {who.auth}" if who.verified else LOCAL


def draw(desk: Desk) -> None:
    """The control: a choice, a reason, and a button that waits for both."""
    show(
        heading(
            f"Decide on {desk.examined.judge}",
            under=f"Under {desk.policy.label}, role {desk.policy.role.replace('_', ' ')}.",
        )
    )
    if refused := st.session_state.pop(_REFUSED, ""):
        show(notice(refused))
    with here.store().read() as session:
        old = _stale_when_first_seen(session, desk)
        waiting = open_proposal(
            session=session,
            judge_digest=desk.examined.stored.judge_digest,
            report_digest=desk.examined.stored.digest,
            policy_digest=desk.policy.digest,
        )
        labelled = labelled_by(session=session, question=desk.answered.question, person=desk.who.handle)
    if old:
        show(notice("Nothing can be signed on this report.", f"{old[:1].upper()}{old[1:]}."))
        return
    if labelled:
        said = f"You labelled {labelled:,} items of this set yourself; the record will say so."
        show(notice(said))
    if waiting is not None:
        _second(desk, waiting)
    else:
        _first(desk)


def _stale_when_first_seen(session: Session, desk: Desk) -> str:
    """Why the report is out of date, asked once for each report: a large set takes a while.

    Signing asks again, so that what is remembered here only spares a reader the work.
    """
    known: dict[str, str] = st.session_state.setdefault(_STALE, {})
    digest = desk.examined.stored.digest
    if digest not in known:
        known[digest] = stale(session=session, answered=desk.answered, examined=desk.examined)
    return known[digest]


def _first(desk: Desk) -> None:
    """The choice of whoever decides."""
    if desk.withheld:
        show(notice("One signature does not admit here.", f"{desk.withheld[:1].upper()}{desk.withheld[1:]}."))
    choice = st.segmented_control("Decision", CHOICES, default=None, key=f"decision_{desk.token}")
    agrees = choice is not None and _MEANS[choice] is desk.outcome
    against = choice == "Admit" and not agrees
    if choice is not None and not agrees:
        show(notice(*_disagreement(desk, against=against)))
    population = st.text_input(
        "For which outputs", value=ANY_POPULATION, key=f"population_{desk.token}", max_chars=200, width=420
    )
    reason = _reason(desk)
    days = 7
    if against:
        days = st.number_input(
            "Days until it lapses",
            min_value=1,
            max_value=max(1, desk.policy.expiry.days - 1),
            value=min(7, max(1, desk.policy.expiry.days - 1)),
            key=f"days_{desk.token}",
            width=200,
        )
    ready = len(reason.strip()) >= LEAST_REASON
    if against:
        st.button(
            "Propose the override",
            key=f"propose_{desk.token}",
            disabled=not ready,
            on_click=_guarded,
            args=(_propose, desk, population, reason, int(days)),
        )
    else:
        st.button(
            "Sign",
            key=f"sign_{desk.token}",
            type="primary",
            disabled=not (ready and agrees),
            on_click=_guarded,
            args=(_sign, desk, population, reason),
        )


def _reason(desk: Desk) -> str:
    said = st.text_area(
        "Reasons: what was read, and why it suffices (20 characters at least)",
        key=f"reason_{desk.token}",
        max_chars=4_000,
        height=100,
        width=760,
    )
    return str(said or "")


def _disagreement(desk: Desk, *, against: bool) -> tuple[str, str]:
    """What choosing another word than the policy's means."""
    says = _SAYS[desk.outcome].lower()
    if against:
        return (
            f"The policy says: {says}.",
            "To admit against it, another person signs in and signs too, and it lapses sooner.",
        )
    return (
        f"The policy says: {says}.",
        "The registry records the policy's outcome or an admission against it by two people. Leave this "
        "unsigned, and the judge is admitted to nothing.",
    )


def _second(desk: Desk, waiting: Proposal) -> None:
    """The second signature under an override, or the first one taken back."""
    first = waiting.signature
    show(
        notice(
            f"{first.signer} proposes to admit against the policy, for {waiting.days} days.",
            f"“{first.reason}” Until a second, different person signs, nothing is admitted.",
        )
    )
    if first.same_person(desk.who.handle):
        st.button(
            "Take the proposal back",
            key=f"withdraw_{desk.token}",
            on_click=_guarded,
            args=(_withdraw, desk, waiting, "taken back by who proposed it"),
        )
        return
    reason = _reason(desk)
    ready = len(reason.strip()) >= LEAST_REASON
    left, right = st.columns([1, 3])
    with left:
        st.button(
            "Sign as the second person",
            key=f"second_{desk.token}",
            type="primary",
            disabled=not ready,
            on_click=_guarded,
            args=(_sign_second, desk, waiting, reason),
        )
    with right:
        st.button(
            "Refuse the proposal",
            key=f"refuse_{desk.token}",
            disabled=not ready,
            on_click=_guarded,
            args=(_withdraw, desk, waiting, reason),
        )


def _guarded(act: object, *given: object) -> None:
    """Do it; say in one sentence what was refused."""
    try:
        act(*given)  # type: ignore[operator]
    except JudgeCalibrationError as error:
        said = str(error)
        st.session_state[_REFUSED] = f"{said[:1].upper()}{said[1:]}."


def _signature(desk: Desk, session: Session, reason: str) -> Signature:
    """The reviewer's signature; that they labelled in the set stands in it."""
    who = desk.who
    labelled = labelled_by(session=session, question=desk.answered.question, person=who.handle)
    also = f" ({who.handle} labelled {labelled:,} items of this set.)" if labelled else ""
    return Signature(who.handle, reason.strip() + also, established(who))


def _ready(desk: Desk, session: Session, population: str, reason: str) -> DecisionScope:
    """The scope, after every check anew: who signs, on what, and what stands.

    Raises:
        RaterRefused: the person may not review, or still rates items of the set.
        RecordError: the report is no longer what the records give, or the reason is too short.
        DifferentRecord: another decision stands than the one that was shown.
    """
    here.reviewer()
    require_rated(desk.who, desk.answered.question.set_digest)
    if len(reason.strip()) < LEAST_REASON:
        raise RecordError(f"a reason has at least {LEAST_REASON} characters: say what was read")
    if old := stale(session=session, answered=desk.answered, examined=desk.examined):
        raise RecordError(old)
    scope = scope_of(desk.answered, desk.examined, population=population.strip() or ANY_POPULATION)
    found = current_decision(session=session, scope=scope)
    if scope.population == ANY_POPULATION:
        seen = desk.standing.hash if desk.standing else None
        if (found.hash if found else None) != seen:
            there = f"decision {short(found.hash)}" if found else "no decision"
            raise DifferentRecord(f"{there} stands now: read it on this page, then sign")
    return scope


def _sign(desk: Desk, population: str, reason: str) -> None:
    at = here.clock()
    with recording() as session:
        scope = _ready(desk, session, population, reason)
        sign(
            session=session,
            scope=scope,
            report=desk.examined.examination.report,
            decision=desk.decision,
            policy=desk.policy,
            signature=_signature(desk, session, reason),
            at=at,
        )


def _propose(desk: Desk, population: str, reason: str, days: int) -> None:
    with recording() as session:
        scope = _ready(desk, session, population, reason)
        propose(
            session=session,
            scope=scope,
            report_digest=desk.examined.stored.digest,
            policy_digest=desk.policy.digest,
            signature=_signature(desk, session, reason),
            days=days,
            at=here.clock(),
        )


def _sign_second(desk: Desk, waiting: Proposal, reason: str) -> None:
    at = here.clock()
    with recording() as session:
        scope = _ready(desk, session, waiting.population, reason)
        stored = sign(
            session=session,
            scope=scope,
            report=desk.examined.examination.report,
            decision=desk.decision,
            policy=desk.policy,
            signature=waiting.signature,
            at=at,
            override=waiting.seconded(_signature(desk, session, reason)),
        )
        close(session=session, proposal=waiting, decision=stored.hash, actor=desk.who.handle, at=at)


def _withdraw(desk: Desk, waiting: Proposal, reason: str) -> None:
    here.reviewer()
    require_rated(desk.who, desk.answered.question.set_digest)
    with recording() as session:
        withdraw(session=session, proposal=waiting, actor=desk.who.handle, reason=reason, at=here.clock())
