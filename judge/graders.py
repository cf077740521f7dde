"""One criterion of one item by its grader: a rule here, or a model that is called."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from calibration.store.judges import StoredJudge
from judge.calls import ModelCallError, ModelClient
from judge.grading import Graded, grade, grade_by_rule, sit
from judge.question import Question
from judge.rules import load_checks
from judge.spec import JudgeKind, ModelJudge, RuleJudge
from rubrics.errors import JudgeNotAdmitted
from rubrics.item import Item
from rubrics.rubric import Rubric
from rubrics.scale import NoClaim
from rubrics.verdict import Outcome

SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Answered:
    """What a grader said."""

    outcome: Outcome
    rationale: str


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


Asking = Callable[[Rubric, Item, tuple[str, ...]], Answered]
"""(rubric, item, models that were calibrated) -> what the judge says; raises ModelMoved."""


@contextmanager
def open_grader(
    judge: StoredJudge, criterion: str, connect: Callable[..., AbstractContextManager[Connected]] | None
) -> Iterator[Asking]:
    """The judge, ready to be asked about the criterion inside the block.

    Raises:
        JudgeNotAdmitted: it cannot be run here, or its record does not have the digest that was admitted.
    """
    spec = _spec(judge, criterion)
    if isinstance(spec, RuleJudge):
        yield _by_rule(judge, criterion, spec)
        return
    if connect is None:
        raise JudgeNotAdmitted(
            f"judge {judge.name!r} needs its model, and no model may be called here",
            missing=(f"a way to call the model of {judge.name}",),
        )
    with connect(spec) as reached, asyncio.Runner() as loop:
        if reached.client is None:
            raise TypeError(f"the connection of {judge.name} makes no client")
        client = loop.run(_made(reached.client))
        try:
            yield _by_model(criterion, spec, loop, client, reached.served_at)
        finally:
            loop.run(client.aclose())


async def _made(factory: Callable[[], ModelClient]) -> ModelClient:
    """A client that was made inside the loop in which it is used."""
    return factory()


def _spec(judge: StoredJudge, criterion: str) -> RuleJudge | ModelJudge:
    kinds: dict[str, type[RuleJudge] | type[ModelJudge]] = {
        JudgeKind.RULE: RuleJudge,
        JudgeKind.MODEL: ModelJudge,
    }
    kind = kinds.get(judge.kind)
    if kind is None:
        raise JudgeNotAdmitted(
            f"judge {judge.name!r} is {judge.kind} and cannot be run here; import its verdicts and let "
            "`voirdire gate` read them",
            missing=(f"a rule or model judge admitted for {criterion}",),
        )
    spec = kind.model_validate(dict(judge.content))
    if spec.digest != judge.digest:
        raise JudgeNotAdmitted(
            f"the record of judge {judge.name!r} does not have the digest that was admitted",
            missing=("an intact judge record; run `voirdire audit verify`",),
        )
    return spec


def _by_rule(judge: StoredJudge, criterion: str, spec: RuleJudge) -> Asking:
    checks = load_checks(spec)

    def ask(rubric: Rubric, item: Item, models: tuple[str, ...]) -> Answered:  # noqa: ARG001 - a rule has none
        return _answered(judge.name, grade_by_rule(spec, _question(rubric, criterion, item), checks=checks))

    return ask


def _by_model(
    criterion: str, spec: ModelJudge, loop: asyncio.Runner, client: ModelClient, served_at: str | None
) -> Asking:
    secret = secrets.token_bytes(SECRET_BYTES)
    sittings: dict[str, Any] = {}

    def ask(rubric: Rubric, item: Item, models: tuple[str, ...]) -> Answered:
        sitting = sittings.setdefault(rubric.digest, sit(spec, rubric, secret=secret, served_at=served_at))
        try:
            graded = loop.run(grade(sitting, _question(rubric, criterion, item), client))
        except ModelCallError as error:  # no key, unknown model: nothing is to be concluded about the item
            return Answered(error.outcome, str(error))
        answered = _answered(str(spec.name), graded)
        for verdict in graded.verdicts:
            reported = verdict.reported_model
            if models and reported is not None and reported not in models:
                raise ModelMoved(
                    f"the provider reports model {reported!r}; calibrated: {', '.join(models)}", answered
                )
        return answered

    return ask


def _question(rubric: Rubric, criterion: str, item: Item) -> Question:
    return Question(rubric, rubric.criterion(criterion), item)


def _answered(name: str, graded: Graded) -> Answered:
    if isinstance(graded.outcome, NoClaim):
        raise JudgeNotAdmitted(
            f"judge {name!r} gave a preference and the criterion declares no candidate: nothing is accepted",
            missing=("a criterion that declares which side is the candidate",),
        )
    said = [verdict.rationale for verdict in graded.verdicts if verdict.rationale]
    return Answered(graded.outcome, "\n\n".join(dict.fromkeys(said)))
