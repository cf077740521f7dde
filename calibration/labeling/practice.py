"""Practice before a session: the rubric's own worked examples, with feedback; never evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from calibration.labeling.plan import seeded
from calibration.labeling.records import Feedback, Task, TaskKind
from calibration.labeling.tasks import fields_of, from_source
from rubrics.criterion import Criterion, Example
from rubrics.item import Item
from rubrics.rubric import Rubric

PREFIX: Final = "practice"


@dataclass(frozen=True, slots=True)
class PracticeCase:
    """One worked example, as a person meets it."""

    key: str
    """Stands in for an assignment."""
    criterion: Criterion
    example: Example
    swapped: bool


def practice_cases(
    rubric: Rubric, *, session: str, rater: str, seed: int, at_most: int
) -> list[PracticeCase]:
    """The cases that the person practises on, in their own order, the criteria taking turns."""
    rng = seeded("practice", session, seed, rater)
    by_criterion = []
    for criterion in rubric.criteria:
        places = list(enumerate(criterion.examples))
        rng.shuffle(places)
        by_criterion.append(
            [
                PracticeCase(f"{PREFIX}-{criterion.key}-{n}", criterion, e, rng.random() < 0.5)
                for n, e in places
            ]
        )
    turns = max((len(cases) for cases in by_criterion), default=0)
    mixed = [cases[turn] for turn in range(turns) for cases in by_criterion if turn < len(cases)]
    return mixed[:at_most]


def practice_task(case: PracticeCase, rubric: Rubric, *, session: str, position: int, of: int) -> Task:
    """The example as a task; it looks like any other."""
    example = case.example
    outputs = {key: getattr(example, key) for key in ("output", "output_a", "output_b")}
    item = Item(
        item_id=case.key,
        input=example.input,
        evidence=dict(example.evidence),
        **{key: text for key, text in outputs.items() if text is not None},
    )
    return Task(
        session=session,
        assignment=case.key,
        lease_no=1,
        kind=TaskKind.PRACTICE,
        fields=fields_of(item, rubric, case.criterion, swapped=case.swapped),
        rubric=rubric,
        criterion=case.criterion,
        criterion_no=1,
        criteria=1,
        position=position,
        of=of,
    )


def feedback_on(case: PracticeCase, value: str) -> Feedback:
    """What the rubric says of the case, beside what was answered."""
    expected = from_source(case.example.verdict, case.criterion, swapped=case.swapped)
    return Feedback(agrees=value == expected, expected=expected, why=case.example.why)
