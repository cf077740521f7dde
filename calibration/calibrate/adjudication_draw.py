"""Which cases an adjudicator looks at once a judge has run, and what FAR follows from what they say.

Adjudicating only the failures that the judge accepted makes the reference depend on the judge and pulls FAR
down (STATISTICS §0.10). So cases are drawn from all four cells of judge x raters, with probabilities that are
recorded: accepted failures and disagreements all of them, of every other cell a share.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any, Final

from sqlmodel import Session

from calibration.calibrate.cases import has_claim, outcome_of
from calibration.calibrate.evidence_set import EvidenceSet
from calibration.calibrate.references import References, read_references
from calibration.calibrate.verdicts import MISSING, read_verdicts
from calibration.evidence import AdjudicationCellFigure, AdjudicationFigure
from calibration.labels import ReferenceRule
from calibration.reference import resolve
from calibration.statistics.adjudication import AdjudicationCell, adjudicated_far
from calibration.store.adjudication_draws import StoredDraw, add_draw, draws_of
from calibration.store.items import item_key
from calibration.store.judges import StoredJudge
from calibration.values import Undefined
from rubrics.criterion import Criterion
from rubrics.errors import DeclarationError, DifferentRecord, RecordError
from rubrics.rubric import Rubric
from rubrics.verdict import Verdict

AT_LEAST: Final = 10
"""Cases of a cell that are drawn at least, as far as it has them."""
DISAGREE, UNDECIDED = "disagree", "undecided"
"""What raters say who do not all say the same, and of whom nobody decides."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A recorded draw."""

    digest: str
    cases: tuple[tuple[str, str], ...]
    """(item key, criterion) of every case drawn, sorted: the order tells nothing of why."""
    by_cell: Mapping[tuple[bool, str], tuple[int, int]]
    """Cases and cases drawn by (judge accepted, what the raters say)."""


@dataclass(frozen=True, slots=True)
class Draw:
    """What is to be drawn."""

    session_key: str
    """Key of the labeling session whose adjudicators are asked."""
    evidence: EvidenceSet
    rubric: Rubric
    criterion: str
    judge: StoredJudge
    share: float = 0.2
    """Of each cell whose cases are not all drawn."""
    seed: int = 0


def draw_adjudication(*, session: Session, draw: Draw, actor: str, at: datetime) -> Drawn:
    """The cases to adjudicate, recorded with the probability of each cell.

    Args:
        session: a writing session.
        draw: what is to be drawn.
        actor: who draws.
        at: now.

    Raises:
        DeclarationError: a share outside (0, 1], or a criterion without a claim, under which nothing is
            accepted.
        RecordError: no label, or the judge has no verdict.
        DifferentRecord: cases were drawn for this judge, set and criterion before.
    """
    criterion = draw.rubric.criterion(draw.criterion)
    if not 0 < draw.share <= 1:
        raise DeclarationError(f"the share {draw.share!r} is not in (0, 1]: give 0.2 for a fifth")
    if not has_claim(criterion):
        raise DeclarationError(
            f"{criterion.key!r} declares no candidate, so no judge accepts anything under it: only the"
            " raters' own disagreements are adjudicated"
        )
    if _recorded(session, draw):
        raise DifferentRecord(
            f"cases for {draw.judge.name!r} on {draw.evidence.called} under {criterion.key!r} were drawn"
            " before: a second draw would change their probabilities; adjudicate those first"
        )
    cells = _cells(session, draw, criterion)
    content = [_drawn(place, cell, items, draw) for place, (cell, items) in enumerate(sorted(cells.items()))]
    digest = add_draw(
        session=session,
        session_key=draw.session_key,
        set_digest=draw.evidence.digest,
        judge_digest=draw.judge.digest,
        rubric_digest=draw.rubric.digest,
        criterion=criterion.key,
        content={"seed": draw.seed, "share": draw.share, "cells": content},
        actor=actor,
        at=at,
    )
    chosen = sorted(item for cell in content for item in cell["items"])
    return Drawn(
        digest=digest,
        cases=tuple(sorted((item_key(draw.evidence.dataset, item), criterion.key) for item in chosen)),
        by_cell={
            (cell["judge_accepted"], cell["raters"]): (cell["cases"], len(cell["items"])) for cell in content
        },
    )


def _recorded(session: Session, draw: Draw) -> list[StoredDraw]:
    return draws_of(
        session=session,
        set_digest=draw.evidence.digest,
        judge_digest=draw.judge.digest,
        rubric_digest=draw.rubric.digest,
        criterion=draw.criterion,
    )


def _cells(session: Session, draw: Draw, criterion: Criterion) -> dict[tuple[bool, str], list[str]]:
    """Item ids by whether the judge accepted and what the raters say, every item of the set in one."""
    evidence = draw.evidence
    references = read_references(
        session=session,
        scope=evidence.scope,
        rubric_digest=draw.rubric.digest,
        criterion=criterion,
        rule=ReferenceRule.MAJORITY,
        min_raters=1,
    )
    if not references.assessments:
        raise RecordError(f"no label of {evidence.called} under {criterion.key!r} is recorded yet")
    judged = read_verdicts(
        session=session,
        scope=evidence.scope,
        judge_digest=draw.judge.digest,
        rubric_digest=draw.rubric.digest,
        dataset=evidence.dataset,
        criterion=criterion,
    )
    if judged is None:
        raise RecordError(
            f"judge {draw.judge.name!r} has no verdict on {evidence.called}; run `voirdire judge run` first"
        )
    said = raters_say(references)
    cells: dict[tuple[bool, str], list[str]] = {}
    for placed in evidence.placed:
        item = placed.item.item_id
        accepted = outcome_of(judged.answers.get(item, MISSING), criterion, None).accepted
        cells.setdefault((accepted, said.get(item, UNDECIDED)), []).append(item)
    return cells


def raters_say(references: References) -> dict[str, str]:
    """By item what its raters say, adjudications apart: pass, fail, disagree or undecided."""
    by_item: dict[str, list[Any]] = {}
    for each in references.assessments:
        by_item.setdefault(each.item_id, []).append(each)
    found = {}
    for item, assessments in by_item.items():
        label = resolve(assessments, None, rule=ReferenceRule.UNANIMOUS)
        words = {each.verdict for each in assessments}
        found[item] = label.verdict.value if label.resolved else DISAGREE if len(words) > 1 else UNDECIDED
    return found


def _drawn(place: int, cell: tuple[bool, str], items: Sequence[str], draw: Draw) -> dict[str, Any]:
    """A cell with the items that were drawn from it, each with the same probability."""
    accepted, said = cell
    whole = said in {DISAGREE, UNDECIDED} or (accepted and said == Verdict.FAIL.value)
    count = len(items) if whole else min(len(items), max(math.ceil(draw.share * len(items)), AT_LEAST))
    seed = hashlib.sha256(f"{draw.seed}\0{draw.judge.digest}\0{draw.criterion}\0{place}".encode()).digest()
    chosen = Random(int.from_bytes(seed[:16])).sample(sorted(items), count)
    return {
        "judge_accepted": accepted,
        "raters": said,
        "cases": len(items),
        "probability": count / len(items),
        "items": sorted(chosen),
    }


def adjudication_figure(
    *,
    session: Session,
    evidence: EvidenceSet,
    judge: StoredJudge,
    rubric: Rubric,
    criterion: str,
    references: References,
) -> AdjudicationFigure | None:
    """FAR re-weighted from the recorded draw for this judge; None where nothing was drawn.

    Undefined until every drawn case is adjudicated. A case left unresolved is adjudicated and is no failure.
    """
    draws = draws_of(
        session=session,
        set_digest=evidence.digest,
        judge_digest=judge.digest,
        rubric_digest=rubric.digest,
        criterion=criterion,
    )
    if not draws:
        return None
    cells = [_counted(cell, references) for cell in draws[-1].content["cells"]]
    return figure_of(cells)


def _counted(cell: Mapping[str, Any], references: References) -> AdjudicationCellFigure:
    labels = [references.by_item[item].label for item in cell["items"] if item in references.by_item]
    ruled = [label for label in labels if label.adjudicated]
    return AdjudicationCellFigure(
        judge_accepted=cell["judge_accepted"],
        raters=cell["raters"],
        cases=cell["cases"],
        drawn=len(cell["items"]),
        probability=cell["probability"],
        adjudicated=len(ruled),
        failures=sum(label.verdict is Verdict.FAIL for label in ruled),
    )


def figure_of(cells: Sequence[AdjudicationCellFigure]) -> AdjudicationFigure:
    """The re-weighted FAR of the cells, or why there is none yet."""
    drawn = sum(cell.drawn for cell in cells)
    adjudicated = sum(cell.adjudicated for cell in cells)
    common: dict[str, Any] = {
        "cells": tuple(cells),
        "cases": sum(cell.cases for cell in cells),
        "drawn": drawn,
        "adjudicated": adjudicated,
    }
    if adjudicated < drawn:
        return AdjudicationFigure(**common, undefined=f"{drawn - adjudicated} of {drawn} drawn cases wait")
    found = adjudicated_far(
        [
            AdjudicationCell(
                judge_accepted=cell.judge_accepted,
                rater_failed=cell.raters == Verdict.FAIL.value,
                cases=cell.cases,
                adjudicated=cell.adjudicated,
                failures=cell.failures,
            )
            for cell in cells
        ]
    )
    if isinstance(found, Undefined):
        return AdjudicationFigure(**common, undefined=found.reason)
    return AdjudicationFigure(
        **common,
        estimate=found.estimate,
        lower=found.interval.lower,
        upper=found.interval.upper,
        set_lower=found.set_interval.lower,
        set_upper=found.set_interval.upper,
        confidence=found.interval.confidence,
        method=found.interval.method,
        accepted_failures=found.accepted_failures,
        failures=found.failures,
    )
