"""What the evidence store holds of items, labels and verdicts, counted for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from calibration.labels import LabelSource
from calibration.store.assessments import AssessmentRow
from calibration.store.columns import table_of
from calibration.store.items import ItemRow
from calibration.store.judges import JudgeRow, JudgeRunRow
from calibration.store.references import AdjudicationRow
from calibration.store.retractions import not_retracted
from calibration.store.rubrics import RubricVersionRow
from calibration.store.verdicts import VerdictRow
from rubrics.item import Split
from rubrics.verdict import Verdict

_ITEM = table_of(ItemRow)
_RUBRIC = table_of(RubricVersionRow)
_LABEL = table_of(AssessmentRow)
_RULING = table_of(AdjudicationRow)
_VERDICT = table_of(VerdictRow)
_RUN = table_of(JudgeRunRow)
_JUDGE = table_of(JudgeRow)
_UNKNOWN = Verdict.UNKNOWN.value


@dataclass(frozen=True, slots=True)
class ItemCount:
    """The items of one dataset."""

    dataset: str
    calibration: int
    tuning: int
    groups: int


@dataclass(frozen=True, slots=True)
class LabelCount:
    """The labels of one dataset under one criterion."""

    dataset: str
    rubric: str
    criterion: str
    source: str
    items: int
    raters: int
    labels: int
    """Live ones: corrected labels are not counted."""
    cannot_decide: int
    blind: int
    """Labels that say the rater was blind: enforced, by a session sheet, or declared."""
    repeats: int
    """Labels that a rater gave beside an earlier one of the same item."""
    adjudications: int


@dataclass(frozen=True, slots=True)
class VerdictCount:
    """The verdicts of one judge on one dataset under one criterion, of all its runs."""

    dataset: str
    judge: str
    kind: str
    rubric: str
    criterion: str
    runs: int
    items: int
    verdicts: int
    unknown: int


def count_datasets(*, session: Session) -> list[ItemCount]:
    """The datasets by name."""
    query = sa.select(
        _ITEM.c.dataset,
        _sum_where(_ITEM.c.split == Split.CALIBRATION.value),
        _sum_where(_ITEM.c.split == Split.TUNING.value),
        sa.func.count(sa.distinct(_ITEM.c.group_name)),
    )
    query = query.group_by(_ITEM.c.dataset).order_by(_ITEM.c.dataset)
    return [ItemCount(*row) for row in session.connection().execute(query)]


def count_labels(*, session: Session, dataset: str | None = None) -> list[LabelCount]:
    """The labels that count, by dataset, rubric, criterion and source."""
    later = _LABEL.alias()
    blind = _LABEL.c.blind.in_(("yes", "sheet", "declared"))
    key = (_ITEM.c.dataset, _RUBRIC.c.name, _RUBRIC.c.version, _LABEL.c.criterion, _LABEL.c.source)
    query = sa.select(
        *key,
        sa.func.count(sa.distinct(_LABEL.c.item_key)),
        sa.func.count(sa.distinct(_LABEL.c.rater)),
        sa.func.count(),
        _sum_where(_LABEL.c.value == _UNKNOWN),
        _sum_where(blind),
        _sum_where(_LABEL.c.repeat > 0),
    )
    query = query.select_from(
        _LABEL.join(_ITEM, _LABEL.c.item_key == _ITEM.c.key).join(
            _RUBRIC, _LABEL.c.rubric_digest == _RUBRIC.c.digest
        )
    )
    query = query.where(~sa.exists().where(later.c.supersedes == _LABEL.c.digest))
    query = query.where(not_retracted(_LABEL.c.digest))
    rulings = _count_adjudications(session)
    found = []
    for row in session.connection().execute(_of(query, dataset).group_by(*key).order_by(*key)):
        name, rubric, version, criterion, source, *counts = row
        ref = f"{rubric}@{version}"
        values = [name, ref, criterion, source, *counts, rulings.pop((name, ref, criterion), 0)]
        found.append(LabelCount(*values))
    for (name, ref, criterion), settled in rulings.items():  # adjudicated without a recorded label
        if dataset in {None, name}:
            found.append(LabelCount(name, ref, criterion, LabelSource.HUMAN.value, 0, 0, 0, 0, 0, 0, settled))
    return found


def count_verdicts(*, session: Session, dataset: str | None = None) -> list[VerdictCount]:
    """The verdicts by dataset, rubric, kind of judge, judge and criterion."""
    key: tuple[Any, ...] = (
        *(_ITEM.c.dataset, _RUBRIC.c.name, _RUBRIC.c.version, _JUDGE.c.kind),
        *(_JUDGE.c.name, _JUDGE.c.digest, _VERDICT.c.criterion),
    )
    query = sa.select(
        *key,
        sa.func.count(sa.distinct(_VERDICT.c.run_key)),
        sa.func.count(sa.distinct(_VERDICT.c.item_key)),
        sa.func.count(),
        _sum_where(_VERDICT.c.value == _UNKNOWN),
    )
    query = query.select_from(
        _VERDICT.join(_ITEM, _VERDICT.c.item_key == _ITEM.c.key)
        .join(_RUN, _VERDICT.c.run_key == _RUN.c.key)
        .join(_JUDGE, _RUN.c.judge_digest == _JUDGE.c.digest)
        .join(_RUBRIC, _RUN.c.rubric_digest == _RUBRIC.c.digest)
    )
    found = []
    for row in session.connection().execute(_of(query, dataset).group_by(*key).order_by(*key)):
        name, rubric, version, kind, judge, _, criterion, *counts = row
        found.append(VerdictCount(name, judge, kind, f"{rubric}@{version}", criterion, *counts))
    return found


def _count_adjudications(session: Session) -> dict[tuple[str, str, str], int]:
    later = _RULING.alias()
    key = (_ITEM.c.dataset, _RUBRIC.c.name, _RUBRIC.c.version, _RULING.c.criterion)
    query = sa.select(*key, sa.func.count()).select_from(
        _RULING.join(_ITEM, _RULING.c.item_key == _ITEM.c.key).join(
            _RUBRIC, _RULING.c.rubric_digest == _RUBRIC.c.digest
        )
    )
    query = query.where(~sa.exists().where(later.c.supersedes == _RULING.c.digest)).group_by(*key)
    rows = session.connection().execute(query)
    return {(name, f"{rubric}@{version}", criterion): n for name, rubric, version, criterion, n in rows}


def _of(query: sa.Select[Any], dataset: str | None) -> sa.Select[Any]:
    return query if dataset is None else query.where(_ITEM.c.dataset == dataset)


def _sum_where(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.coalesce(sa.func.sum(sa.case((condition, 1), else_=0)), 0)
