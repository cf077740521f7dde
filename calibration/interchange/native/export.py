"""Labels and verdicts of the evidence store as native records, in the order of items.

What is written can be imported again and says the same; evidence that was constructed says so on
every line.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlmodel import Session

from calibration.interchange.native.core import PSEUDONYMS, store_mark
from calibration.interchange.native.judges import EXTERNAL
from calibration.interchange.native.survey import ADJUDICATION, CONSTRUCTED, CONSTRUCTED_TAG, STAMP
from calibration.store.assessments import AssessmentRow
from calibration.store.columns import Row, row_key, table_of
from calibration.store.inserting import batches
from calibration.store.items import ItemRow, Scope
from calibration.store.judges import JudgeRow, JudgeRunRow
from calibration.store.payloads import Erased, StoredText, read_payloads
from calibration.store.reading import Query, stream_named
from calibration.store.references import AdjudicationRow
from calibration.store.retractions import not_retracted
from calibration.store.rubrics import list_rubrics
from calibration.store.text import read_json
from calibration.store.verdicts import VerdictRow
from rubrics.digest import short
from rubrics.verdict import Verdict

LABEL_COLUMNS: Final = (
    *("item_id", "rater", "criterion", "label", "kind", "rubric", "source", "blind", "note", "reason"),
    *("failure_mode", "repeat", "revision", "shown_at", "decided_at", "origin", STAMP),
)
VERDICT_COLUMNS: Final = (
    *("item_id", "judge", "judge_version", "rubric", "criterion", "order", "label", "reason", "detail"),
    *("repeat", "raw", "rationale", "reported_model", "tokens_in", "tokens_out", "cost_micros"),
    *("latency_ms", "decided_at", "run", "origin", STAMP),
)
_UNKNOWN: Final = Verdict.UNKNOWN.value


def export_labels(
    *, session: Session, scope: Scope, rubric_digest: str | None = None, criterion: str | None = None
) -> Generator[dict[str, Any], None, None]:
    """Every label of the items in the scope, corrected ones and adjudications included, as native records.

    An answer that its rater took back and did not give anew is left out: a reader of the file could not tell.

    Args:
        session: a reading session.
        scope: which items.
        rubric_digest: one rubric version, or None for all.
        criterion: one criterion, or None for all.
    """
    stamps = _Stamps(session)
    wanted = {"rubric_digest": rubric_digest, "criterion": criterion}
    columns = ("rater", "value", "reason", "failure_mode", "note_digest", "blind", "source", "repeat")
    query = _about_items(AssessmentRow, scope, wanted, (*columns, "revision", "shown_at", "decided_at"))
    table, later = table_of(AssessmentRow), table_of(AssessmentRow).alias()
    corrected = sa.exists().where(later.c.supersedes == table.c.digest)
    query = query.where(sa.or_(corrected, not_retracted(table.c.digest)))
    order = (table.c.rubric_digest, table.c.criterion, table.c.rater, table.c.repeat, table.c.revision)
    for row, text in _with_texts(session, query.order_by(*_ITEM_ORDER, *order), "note_digest"):
        yield stamps.stamped(_label(row, stamps.refs), row, text)
    query = _about_items(
        AdjudicationRow, scope, wanted, ("adjudicator", "value", "reason_digest", "decided_at")
    )
    table, later = table_of(AdjudicationRow), table_of(AdjudicationRow).alias()
    live = query.where(~sa.exists().where(later.c.supersedes == table.c.digest))
    live = live.order_by(*_ITEM_ORDER, table.c.rubric_digest, table.c.criterion)
    for row, text in _with_texts(session, live, "reason_digest"):
        yield stamps.stamped(_adjudication(row, stamps.refs), row, text)


def pseudonymous(
    *, session: Session, dataset: str, records: Iterable[dict[str, Any]]
) -> Generator[dict[str, Any], None, None]:
    """The records of labels with a name for each person that tells nothing: rater-1, rater-2 ...

    The names are those of everybody who labelled or adjudicated in the dataset, in an order that depends on
    the dataset and the people: two exports give one person one name. Notes are not searched for names.
    Each record says from which store it is, which then refuses it: its raters would count twice.
    """
    mark = store_mark(session=session)
    people: set[str] = set()
    for row, column in ((AssessmentRow, "rater"), (AdjudicationRow, "adjudicator")):
        table = table_of(row)
        query = sa.select(table.c[column]).join(_ITEM, table.c.item_key == _ITEM.c.key).distinct()
        people |= set(session.connection().execute(query.where(_ITEM.c.dataset == dataset)).scalars())
    shuffled = sorted(people, key=lambda person: row_key("pseudonym", dataset, person))
    names = {person: f"rater-{place}" for place, person in enumerate(shuffled, start=1)}
    for record in records:
        yield {**record, "rater": names[record["rater"]], PSEUDONYMS: mark}


def export_verdicts(
    *,
    session: Session,
    scope: Scope,
    rubric_digest: str | None = None,
    criterion: str | None = None,
    judge_digest: str | None = None,
    every_run: bool = False,
) -> Generator[dict[str, Any], None, None]:
    """The verdicts on the items in the scope as native records.

    Args:
        session: a reading session.
        scope: which items.
        rubric_digest: one rubric version, or None for all.
        criterion: one criterion, or None for all.
        judge_digest: one judge, or None for all.
        every_run: also earlier runs of a judge, told apart by the field `run`; else its newest run under
            each rubric.
    """
    stamps = _Stamps(session)
    judges = _judges(session)
    table, run = table_of(VerdictRow), table_of(JudgeRunRow)
    columns = (
        *("run_key", "presentation", "repeat", "value", "reason", "detail", "reply_digest"),
        *("reported_model", "tokens_in", "tokens_out", "cost_micros", "latency_ms", "decided_at"),
    )
    query = _about_items(VerdictRow, scope, {"criterion": criterion}, columns).join(run)
    query = query.add_columns(run.c.judge_digest, run.c.rubric_digest)
    for column, value in ((run.c.rubric_digest, rubric_digest), (run.c.judge_digest, judge_digest)):
        if value is not None:
            query = query.where(column == value)
    if not every_run:
        query = query.where(~_newer_run(run))
    order = (run.c.rubric_digest, run.c.judge_digest, run.c.recorded_at, run.c.key, table.c.criterion)
    query = query.order_by(*_ITEM_ORDER, *order, table.c.presentation, table.c.repeat)
    for row, text in _with_texts(session, query, "reply_digest"):
        line = _verdict(row, stamps.refs, judges[row["judge_digest"]])
        yield stamps.stamped({**line, **({"run": row["run_key"][:12]} if every_run else {})}, row, text)


def count_earlier_runs(*, session: Session, dataset: str) -> int:
    """How many runs of the dataset are not the newest of their judge and rubric."""
    run = table_of(JudgeRunRow)
    query = sa.select(sa.func.count()).select_from(run).where(run.c.dataset == dataset, _newer_run(run))
    return int(session.connection().execute(query).scalar_one())


def _newer_run(run: sa.Table) -> sa.Exists:
    newer = run.alias()
    same = (newer.c[each] == run.c[each] for each in ("judge_digest", "rubric_digest", "dataset"))
    later = sa.or_(
        newer.c.recorded_at > run.c.recorded_at,
        sa.and_(newer.c.recorded_at == run.c.recorded_at, newer.c.key > run.c.key),
    )
    return sa.exists().where(*same, later)


# -- reading

_ITEM: Final = table_of(ItemRow)
_ITEM_ORDER: Final = (_ITEM.c.position, _ITEM.c.item_id)


def _about_items(
    row: type[Row], scope: Scope, wanted: Mapping[str, str | None], columns: Sequence[str]
) -> Query:
    """A query of rows that are about items, with what every export needs of both."""
    table = table_of(row)
    own = ("criterion", "import_key", *(("rubric_digest",) if "rubric_digest" in table.c else ()), *columns)
    query = sa.select(_ITEM.c.item_id, _ITEM.c.tags, *(table.c[each] for each in own))
    query = scope.applied(query.select_from(table.join(_ITEM, table.c.item_key == _ITEM.c.key)))
    for column, value in wanted.items():
        if value is not None:
            query = query.where(table.c[column] == value)
    return query


def _with_texts(
    session: Session, query: Query, column: str
) -> Iterator[tuple[dict[str, Any], StoredText | Erased | None]]:
    """Each row with the text that its column names."""
    for batch in batches(stream_named(session, query)):
        digests = [row[column] for row in batch if row[column] is not None]
        texts = read_payloads(session=session, digests=digests)
        for row in batch:
            yield row, texts.get(row[column])


class _Stamps:
    """The names of rubrics, and which rows rest on constructed evidence."""

    def __init__(self, session: Session) -> None:
        self.refs = {digest: str(ref) for ref, digest in list_rubrics(session=session)}

    def stamped(
        self, line: dict[str, Any], row: Mapping[str, Any], text: StoredText | Erased | None
    ) -> dict[str, Any]:
        """The record with its texts and further fields, and a stamp where the evidence is constructed."""
        line |= _texts(text)
        if line.get("origin") == CONSTRUCTED or CONSTRUCTED_TAG in row["tags"]:
            line[STAMP] = CONSTRUCTED
        return {key: value for key, value in line.items() if value is not None or key in {"label", "order"}}


def _texts(text: StoredText | Erased | None) -> dict[str, Any]:
    """The texts as they came, further fields beside them; of an erased one when and why."""
    if text is None:
        return {}
    if isinstance(text, Erased):
        return {"erased": f"{text.at.isoformat()} by {text.by}: {text.reason}"}
    content = dict(text.original)
    fields = content.pop("fields", None) or {}
    if "reason" in content:  # of an adjudication: a label's reason stands in its row
        content["note"] = content.pop("reason")
    return {**fields, **content}


def _judges(session: Session) -> dict[str, tuple[str, str | None]]:
    """Name and version of every judge, by digest: together they name one judge."""
    table = table_of(JudgeRow)
    query = sa.select(table.c.digest, table.c.name, table.c.kind, table.c.content, table.c.content_digest)
    found: dict[str, tuple[str, str | None]] = {}
    for row in session.connection().execute(query).mappings():
        content = read_json(row["content"], row["content_digest"], f"judge {row['name']!r}")
        if row["kind"] == EXTERNAL and "name" in content:
            found[row["digest"]] = (content["name"], content.get("version") or None)
        else:
            found[row["digest"]] = (row["name"], short(row["digest"]).replace(" ", ""))
    return found


# -- records


def _label(row: Mapping[str, Any], refs: Mapping[str, str]) -> dict[str, Any]:
    return {
        "item_id": row["item_id"],
        "rater": row["rater"],
        "criterion": row["criterion"],
        "label": _answer(row["value"]),
        "rubric": refs.get(row["rubric_digest"]),
        "source": row["source"],
        "blind": row["blind"],
        "reason": row["reason"],
        "failure_mode": row["failure_mode"],
        "repeat": row["repeat"] or None,
        "revision": row["revision"] or None,
        "shown_at": _moment(row["shown_at"]),
        "decided_at": _moment(row["decided_at"]),
    }


def _adjudication(row: Mapping[str, Any], refs: Mapping[str, str]) -> dict[str, Any]:
    return {
        "item_id": row["item_id"],
        "rater": row["adjudicator"],
        "criterion": row["criterion"],
        "label": _answer(row["value"]),
        "kind": ADJUDICATION,
        "rubric": refs.get(row["rubric_digest"]),
        "decided_at": _moment(row["decided_at"]),
    }


def _verdict(
    row: Mapping[str, Any], refs: Mapping[str, str], judge: tuple[str, str | None]
) -> dict[str, Any]:
    name, version = judge
    return {
        "item_id": row["item_id"],
        "judge": name,
        "judge_version": version,
        "rubric": refs.get(row["rubric_digest"]),
        "criterion": row["criterion"],
        "order": None if row["presentation"] == "none" else row["presentation"],
        "label": _answer(row["value"]),
        "reason": row["reason"],
        "detail": row["detail"],
        "repeat": row["repeat"] or None,
        "reported_model": row["reported_model"],
        "tokens_in": row["tokens_in"],
        "tokens_out": row["tokens_out"],
        "cost_micros": row["cost_micros"],
        "latency_ms": row["latency_ms"],
        "decided_at": _moment(row["decided_at"]),
    }


def _answer(value: str) -> str | None:
    return None if value == _UNKNOWN else value


def _moment(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None
