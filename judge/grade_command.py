"""The work of `voirdire grade`: appoint, ask, record, and write as far as it came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlmodel import Session

from calibration.registry.bundle import Bundle, open_bundle
from calibration.registry.detached import read_public_keys, require_signed
from calibration.report.beyond import corrected_figure
from calibration.store.database import Store
from calibration.store.decisions import get_decision
from calibration.store.grades import StoredGrade, attempts_by_item
from calibration.store.text import NAME_LIMIT
from calibration.store.watching import record_lapse
from judge.appointing import Grader, GradeRequest, appoint, appoint_bundled, require_known_people
from judge.cli.lookups import recorded_rubric
from judge.cli.stores import actor, now, opened
from judge.gating import judged_of
from judge.grade_files import Batch, grade_object, open_batch, read_grades, state_object
from judge.grade_records import known_requests, record_grades, record_notices, recorded_role, state_of
from judge.runs.connect import Connection, connected
from judge.service import PEOPLE, Grade, Notices, grade_items
from judge.spec import JudgeKind, ModelJudge
from rubrics.digest import digest
from rubrics.errors import AdmissionExpired, DeclarationError, RecordError
from rubrics.item import Item
from rubrics.rubric import Rubric

LONGEST_KEY = 150
AT_ONCE = 25
"""Items whose grades are recorded in one transaction: what is lost at most when the machine stops."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for."""

    rubric: str | None
    criteria: tuple[str, ...]
    judge: str
    population: str
    role: str | None
    people: frozenset[str]
    bundles: tuple[str, ...]
    key: str | None
    out: str | None
    public_keys: tuple[str, ...] = ()
    """Files of keys, by one of which each exported decision must be signed."""


@dataclass(frozen=True, slots=True)
class Given:
    """The grades of this call."""

    request: GradeRequest
    graders: tuple[Grader, ...]
    objects: list[dict[str, Any]]
    """In the order of the items; those of a batch that were done before are left out."""
    notices: Notices
    skipped: int
    recorded: bool
    whole: Sequence[Mapping[str, Any]] = ()
    """Every grade of the batch file, those of earlier calls included; empty where there is no file."""


def read_bundles(paths: Sequence[str], public_keys: Sequence[str] = ()) -> tuple[Bundle, ...]:
    """The exported decisions of the files.

    Raises:
        RecordError: a file cannot be read, is not the one that was exported, or is signed by none of the keys
            where any is given.
    """
    keys = read_public_keys(public_keys)
    found = []
    for path in paths:
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise RecordError(f"the decision bundle {path!r} cannot be read ({error.strerror})") from error
        bundle = open_bundle(data, source=path)
        if keys:
            require_signed(bundle.decision.hash, bundle.signatures, keys, what=f"the decision in {path}")
        found.append(bundle)
    return tuple(found)


def request_for(rubric: Rubric, wanted: Wanted) -> GradeRequest:
    """The request that the command line makes of the rubric."""
    keys = wanted.criteria or tuple(criterion.key for criterion in rubric.required)
    request = GradeRequest(rubric, keys, wanted.judge, wanted.population, wanted.role, wanted.people)
    require_known_people(request)
    return request


def grade_offline(wanted: Wanted, items: Sequence[Item]) -> Given:
    """Grades by exported decisions; nothing is recorded and no database is opened."""
    bundles = read_bundles(wanted.bundles, wanted.public_keys)
    request = bundled_request(bundles, wanted)
    graders = appoint_bundled(bundles=bundles, request=request, at=now())
    batch, left = _batch(wanted, request, graders, items)
    notices = Notices()
    objects: list[dict[str, Any]] = []
    for chunk in _chunks(grade_items(request, graders, left, connect=_reach, notices=notices)):
        found = [grade_object(grade, graders) for grade in chunk]
        _written(batch, found)
        objects += found
    whole = read_grades(batch.path) if batch else ()
    return Given(request, graders, objects, notices, len(items) - len(left), recorded=False, whole=whole)


def bundled_request(bundles: Sequence[Bundle], wanted: Wanted) -> GradeRequest:
    """The request over the rubric of the bundles, which is one.

    Raises:
        DeclarationError: they are of several rubrics, or of another than the one that is named.
    """
    rubrics = {bundle.rubric.digest: bundle.rubric for bundle in bundles}
    if len(rubrics) != 1:
        raise DeclarationError("the decisions are for several rubrics; grade under one at a time")
    (rubric,) = rubrics.values()
    if wanted.rubric is not None and wanted.rubric not in {rubric.ref, rubric.name}:
        raise DeclarationError(f"the decision is for {rubric.ref}, not for {wanted.rubric}")
    decided = tuple(dict.fromkeys(bundle.decision.scope.criterion for bundle in bundles))
    keys = wanted.criteria or (*decided, *sorted(wanted.people - set(decided)))
    roles = {bundle.decision.scope.role for bundle in bundles}
    role = wanted.role or (roles.pop() if len(roles) == 1 else None)
    request = GradeRequest(rubric, keys, wanted.judge, wanted.population, role, wanted.people)
    require_known_people(request)
    return request


def grade_recorded(context: Any, wanted: Wanted, items: Sequence[Item]) -> Given:
    """Grades by the decisions of the store, each recorded with what it rests on."""
    with opened(context) as store:
        with store.read() as session:
            request = request_for(recorded_rubric(session, wanted.rubric or ""), wanted)
        graders = _appointed(store, request)
        batch, left = _batch(wanted, request, graders, items)
        keys = _keys(wanted, batch, left)
        with store.read() as session:
            known = known_requests(session=session, request=request, items=left, keys=keys)
            objects = _as_given(session, known.values())
        _written(batch, objects)
        fresh = [item for item in left if item.item_id not in known]
        attempts = _attempts(store, request, graders, fresh)
        notices = Notices()
        try:
            grading = grade_items(request, graders, fresh, connect=_reach, notices=notices, attempts=attempts)
            for chunk in _chunks(grading):
                with store.write() as session:
                    stored = record_grades(
                        session=session, request=request, grades=chunk, keys=keys, actor=actor(), at=now()
                    )
                found = [_object(g, s, graders) for g, s in zip(chunk, stored, strict=True)]
                _written(batch, found)
                objects += found
        finally:
            if notices.found:
                with store.write() as session:
                    record_notices(session=session, notices=notices, actor=actor(), at=now())
        whole = read_grades(batch.path) if batch else ()
        return Given(request, graders, objects, notices, len(items) - len(left), recorded=True, whole=whole)


def _as_given(session: Session, grades: Iterable[StoredGrade]) -> list[dict[str, Any]]:
    """Grades that were given before, with report and error rate of the decisions that they rest on."""
    found = list(grades)
    hashes = {said["decision"] for each in found for said in each.content["criteria"]} - {""}
    decisions = {each: get_decision(session=session, hash_prefix=each) for each in hashes}
    return [state_object(state_of(session=session, stored=each), decisions) for each in found]


def _attempts(
    store: Store, request: GradeRequest, graders: Sequence[Grader], items: Sequence[Item]
) -> dict[str, int]:
    """How often the items were graded before, counted as their grades are recorded."""
    with store.read() as session:
        return attempts_by_item(
            session=session,
            rubric_digest=request.rubric.digest,
            items=[item.item_id for item in items],
            population=request.population,
            role=recorded_role(request, {grader.role for grader in graders}),
        )


def _object(grade: Grade, stored: StoredGrade, graders: Sequence[Grader]) -> dict[str, Any]:
    return grade_object(grade, graders, attempt=stored.attempt, key=stored.key)


def _appointed(store: Store, request: GradeRequest) -> tuple[Grader, ...]:
    """The graders; an admission that is found to have lapsed is written down as such."""
    try:
        with store.read() as session:
            return appoint(session=session, request=request, at=now())
    except AdmissionExpired as expired:
        if expired.decision:
            with store.write() as session:
                record_lapse(session=session, decision=expired.decision, actor=actor(), at=now())
        raise


def _batch(
    wanted: Wanted, request: GradeRequest, graders: Sequence[Grader], items: Sequence[Item]
) -> tuple[Batch | None, list[Item]]:
    """The batch file, if there is one, and the items that it lacks.

    Raises:
        DeclarationError: an item of the file has another text now.
    """
    if wanted.out is None:
        return None, list(items)
    batch = open_batch(Path(wanted.out), request, graders)
    for item in items:
        if batch.done.get(item.item_id, item.content_digest) != item.content_digest:
            raise DeclarationError(
                f"item {item.item_id!r} has another text than when {wanted.out} was written; a further "
                "attempt goes into another file"
            )
    return batch, [item for item in items if item.item_id not in batch.done]


def _keys(wanted: Wanted, batch: Batch | None, items: Sequence[Item]) -> Mapping[str, str]:
    """The idempotency key of each item: of the batch, or of the request."""
    if wanted.key is not None:
        return {item.item_id: _item_key(wanted.key, item.item_id) for item in items}
    return {item.item_id: batch.key_of(item.item_id) for item in items} if batch else {}


def _item_key(key: str, item_id: str) -> str:
    """The key of one item of a request; the id by its digest where both together are too long."""
    if len(key) > LONGEST_KEY:
        raise DeclarationError(f"--key has {len(key)} characters; at most {LONGEST_KEY} are allowed")
    whole = f"{key}:{item_id}"
    return whole if len(whole) <= NAME_LIMIT else f"{key}:{digest(item_id)[:32]}"


def _written(batch: Batch | None, objects: Sequence[Mapping[str, Any]]) -> None:
    if batch is not None and objects:
        batch.append(objects)


def _chunks(grades: Iterator[Grade]) -> Iterator[list[Grade]]:
    """The grades in lists, so that each list is recorded before more is asked; also where grading stops."""
    chunk: list[Grade] = []
    try:
        for grade in grades:
            chunk.append(grade)
            if len(chunk) == AT_ONCE:
                ready, chunk = chunk, []
                yield ready
    except (Exception, KeyboardInterrupt):
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


def _reach(spec: ModelJudge) -> AbstractContextManager[Connection]:
    """The judge's model, by the environment's key."""
    import os

    from pydantic import SecretStr

    from judge.runs.command import API_KEY

    given = os.environ.get(API_KEY)
    return connected(spec, api_key=SecretStr(given) if given else None)


def rates(given: Given) -> list[dict[str, Any]]:
    """The corrected pass rate of each judge over the whole batch file, or over the grades of this call.

    Where there is none it says why.
    Items of systems that nobody audited, and those that the judge did not judge, are left out and counted.
    """
    found = []
    for grader in given.graders:
        if grader.decision is None or grader.report is None:
            continue
        judged = judged_of(given.whole or given.objects, given.request.rubric.criterion(grader.criterion))
        corrected = corrected_figure(grader.report.table, judged.deployment)
        found.append(
            {
                "criterion": grader.criterion,
                "accepted": judged.accepted,
                "n": len(judged.outcomes),
                "estimate": corrected.estimate if corrected else None,
                "lower": corrected.lower if corrected else None,
                "upper": corrected.upper if corrected else None,
                "undefined": corrected.undefined if corrected else None,
                "left_out_unaudited": len(judged.unaudited),
                "left_to_people": len(judged.left_to_people),
                "open": judged.open,
            }
        )
    return found


def preview(context: Any, wanted: Wanted, items: Sequence[Item]) -> dict[str, Any]:
    """Who would grade and what it would cost, by what the judge's calibration cost an item."""
    if wanted.bundles:
        bundles = read_bundles(wanted.bundles, wanted.public_keys)
        request = bundled_request(bundles, wanted)
        graders = appoint_bundled(bundles=bundles, request=request, at=now())
    else:
        with opened(context) as store:
            with store.read() as session:
                request = request_for(recorded_rubric(session, wanted.rubric or ""), wanted)
            graders = _appointed(store, request)
    return {
        "rubric": request.rubric.ref,
        "items": len(items),
        "graders": [
            {
                "criterion": grader.criterion,
                "judge": grader.judge.name if grader.judge else PEOPLE,
                "decision": grader.decision.hash if grader.decision else None,
                "cost_micros": _cost(grader, len(items)),
            }
            for grader in graders
        ],
    }


def _cost(grader: Grader, items: int) -> int | None:
    """Millionths of a US dollar; 0 without a paid call, None where it is not known."""
    if grader.judge is None or grader.judge.kind in {JudgeKind.RULE, JudgeKind.BASELINE}:
        return 0
    found = grader.report.operation if grader.report else None
    if found is None or not found.items or found.costed < found.verdicts:
        return None
    return round(found.cost_micros / found.items * items)
