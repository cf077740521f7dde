"""One criterion of one item by its grader: a rule here, a model that is called, or their votes."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol

from calibration.store.judges import StoredJudge
from judge.calls import ModelCallError, ModelClient
from judge.grading import Graded, grade, grade_by_rule, sit
from judge.panel import CascadeJudge, PanelJudge
from judge.question import Question
from judge.rules import load_checks
from judge.spec import JudgeKind, ModelJudge, RuleJudge
from rubrics.answer import Answer, no_answer
from rubrics.criterion import Criterion
from rubrics.errors import JudgeNotAdmitted
from rubrics.item import Item
from rubrics.rubric import Rubric
from rubrics.scale import NoClaim
from rubrics.verdict import Outcome, UnknownReason

SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Answered:
    """What a grader said."""

    outcome: Outcome
    rationale: str
    cost_micros: int | None = None
    """What all its calls cost, in millionths of a US dollar; None where that is not known."""


class ModelMoved(Exception):
    """The provider reports another model than the calibrated one; never leaves the service."""

    def __init__(self, sentence: str, answered: Answered) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.answered = answered


class Connected(Protocol):
    """How the model of a judge is reached."""

    @property
    def client(self) -> Callable[[], ModelClient] | None:
        """Makes a client within the event loop."""
        ...

    @property
    def served_at(self) -> str | None:
        """The address of an embedded model."""
        ...


Models = Mapping[str, tuple[str, ...]]
"""By digest of who is asked: the models that answered when it was calibrated; none for any model."""
Asking = Callable[[Rubric, Item, Models], Answered]
"""(rubric, item, models that were calibrated) -> what the judge says; raises ModelMoved."""


@dataclass(frozen=True, slots=True)
class _Said:
    """One vote: of a judge asked in every order that it declares, or of a panel."""

    answer: Answer
    rationale: str
    cost_micros: int | None
    moved: str | None = None
    """That the provider reports another model than a calibrated one."""


_Voter = Callable[[Rubric, Item, Models, int], _Said]
"""(rubric, item, models that were calibrated, number of the vote) -> the vote."""


@contextmanager
def open_grader(
    judge: StoredJudge,
    criterion: str,
    connect: Callable[..., AbstractContextManager[Connected]] | None,
    members: Mapping[str, StoredJudge] = MappingProxyType({}),
) -> Iterator[Asking]:
    """The judge, ready to be asked about the criterion inside the block.

    Of a panel or cascade the members are asked, one after the other; `members` are their records. Nothing is
    concluded before the last vote that is needed.

    Raises:
        JudgeNotAdmitted: it, or a member, cannot be run here, or its record does not have the digest that was
            admitted.
    """
    with ExitStack() as stack:
        voter = _voter(stack, judge, criterion, connect, members)

        def ask(rubric: Rubric, item: Item, models: Models) -> Answered:
            said = voter(rubric, item, models, 1)
            answered = _answered(judge.name, rubric.criterion(criterion), said)
            if said.moved is not None:
                raise ModelMoved(said.moved, answered)
            return answered

        yield ask


def _voter(
    stack: ExitStack,
    judge: StoredJudge,
    criterion: str,
    connect: Callable[..., AbstractContextManager[Connected]] | None,
    members: Mapping[str, StoredJudge],
) -> _Voter:
    """Whoever votes as this judge, connected until the stack is left."""
    spec = _spec(judge, criterion)
    if isinstance(spec, RuleJudge):
        return _by_rule(criterion, spec)
    if isinstance(spec, PanelJudge | CascadeJudge):
        voters = [
            _voter(stack, _member(judge, each.judge, members), criterion, connect, members)
            for each in spec.judges
        ]
        return _by_votes(spec, voters)
    if connect is None:
        raise JudgeNotAdmitted(
            f"judge {judge.name!r} needs its model, and no model may be called here",
            missing=(f"a way to call the model of {judge.name}",),
        )
    reached = stack.enter_context(connect(spec))
    loop = stack.enter_context(asyncio.Runner())
    if reached.client is None:
        raise TypeError(f"the connection of {judge.name} makes no client")
    client = loop.run(_made(reached.client))
    stack.callback(lambda: loop.run(client.aclose()))
    return _by_model(criterion, spec, loop, client, reached.served_at)


async def _made(factory: Callable[[], ModelClient]) -> ModelClient:
    """A client that was made inside the loop in which it is used."""
    return factory()


def _member(judge: StoredJudge, digest: str, members: Mapping[str, StoredJudge]) -> StoredJudge:
    found = members.get(digest)
    if found is None:
        raise JudgeNotAdmitted(
            f"the records of those who vote in {judge.name!r} are not here ({digest[:12]}); grade with the "
            "database in place of the decision file",
            missing=(f"the record of member {digest[:12]} of {judge.name}",),
        )
    return found


_VOTING: dict[str, type[PanelJudge] | type[CascadeJudge]] = {
    JudgeKind.PANEL: PanelJudge,
    JudgeKind.CASCADE: CascadeJudge,
}
_RUN_HERE: dict[str, type[RuleJudge] | type[ModelJudge] | type[PanelJudge] | type[CascadeJudge]] = {
    JudgeKind.RULE: RuleJudge,
    JudgeKind.MODEL: ModelJudge,
    **_VOTING,
}


def _spec(judge: StoredJudge, criterion: str) -> RuleJudge | ModelJudge | PanelJudge | CascadeJudge:
    kind = _RUN_HERE.get(judge.kind)
    if kind is None:
        raise JudgeNotAdmitted(
            f"judge {judge.name!r} is {judge.kind} and cannot be run here; import its verdicts and let "
            "`voirdire gate` read them",
            missing=(f"a rule, model, panel or cascade admitted for {criterion}",),
        )
    spec = kind.model_validate(dict(judge.content))
    if spec.digest != judge.digest:
        raise JudgeNotAdmitted(
            f"the record of judge {judge.name!r} does not have the digest that was admitted",
            missing=("an intact judge record; run `voirdire audit verify`",),
        )
    return spec


def _by_rule(criterion: str, spec: RuleJudge) -> _Voter:
    checks = load_checks(spec)

    def vote(rubric: Rubric, item: Item, models: Models, number: int) -> _Said:  # noqa: ARG001 - a rule has neither
        return _vote(grade_by_rule(spec, _question(rubric, criterion, item), checks=checks))

    return vote


def _by_model(
    criterion: str, spec: ModelJudge, loop: asyncio.Runner, client: ModelClient, served_at: str | None
) -> _Voter:
    secret = secrets.token_bytes(SECRET_BYTES)
    sittings: dict[str, Any] = {}

    def vote(rubric: Rubric, item: Item, models: Models, number: int) -> _Said:
        sitting = sittings.setdefault(rubric.digest, sit(spec, rubric, secret=secret, served_at=served_at))
        try:
            graded = loop.run(grade(sitting, _question(rubric, criterion, item), client, repeat=number))
        except ModelCallError as error:  # no key, unknown model: nothing is to be concluded about the item
            return _Said(Answer(unknown=error.outcome), str(error), error.cost.micros)
        known = models.get(spec.digest, ())
        reported = (verdict.reported_model for verdict in graded.verdicts)
        other = next((name for name in reported if known and name is not None and name not in known), None)
        moved = f"the provider reports model {other!r}; calibrated: {', '.join(known)}" if other else None
        return replace(_vote(graded), moved=moved)

    return vote


def _by_votes(spec: PanelJudge | CascadeJudge, voters: Sequence[_Voter]) -> _Voter:
    """A panel asks all its members; a cascade its second judge only where the first sends the item on."""

    def vote(rubric: Rubric, item: Item, models: Models, number: int) -> _Said:  # noqa: ARG001 - votes have their own
        cast: list[list[_Said]] = []
        for member, voter in zip(spec.judges, voters, strict=True):
            if isinstance(spec, CascadeJudge) and cast and not spec.escalates(cast[0][0].answer):
                break
            cast.append([voter(rubric, item, models, each) for each in range(1, member.votes + 1)])
        votes = [[said.answer for said in each] for each in cast]
        every = [said for each in cast for said in each]
        answer = spec.decide(votes if len(votes) == len(voters) else [*votes, [NOT_ASKED]])
        costs = [said.cost_micros for said in every]
        return _Said(
            answer,
            "\n\n".join([_words(votes), *dict.fromkeys(s.rationale for s in every if s.rationale)]),
            None if None in costs else sum(cost or 0 for cost in costs),
            next((said.moved for said in every if said.moved), None),
        )

    return vote


NOT_ASKED = no_answer(UnknownReason.MISSING)
"""The answer of a cascade's second judge where the first settled the item; it is not read."""


def _words(votes: Sequence[Sequence[Answer]]) -> str:
    return "votes: " + "; ".join(", ".join(each.value or str(each.reason) for each in m) for m in votes)


def _question(rubric: Rubric, criterion: str, item: Item) -> Question:
    return Question(rubric, rubric.criterion(criterion), item)


def _vote(graded: Graded) -> _Said:
    said = [verdict.rationale for verdict in graded.verdicts if verdict.rationale]
    paid = [verdict.cost_micros for verdict in graded.verdicts]
    paid += [unread.cost_micros for verdict in graded.verdicts for unread in verdict.unread]
    cost = None if None in paid else sum(micros or 0 for micros in paid)
    return _Said(graded.answer, "\n\n".join(dict.fromkeys(said)), cost)


def _answered(name: str, criterion: Criterion, said: _Said) -> Answered:
    outcome = said.answer.outcome(criterion.scale)
    if isinstance(outcome, NoClaim):
        raise JudgeNotAdmitted(
            f"judge {name!r} gave a preference and the criterion declares no candidate: nothing is accepted",
            missing=("a criterion that declares which side is the candidate",),
        )
    return Answered(outcome, said.rationale, said.cost_micros)
