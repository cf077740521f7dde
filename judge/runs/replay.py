"""Stored replies read again without a call: by the code of today, or as a judge with the same prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlmodel import Session

from calibration.store.database import Store
from calibration.store.inserting import batches
from calibration.store.items import Scope
from calibration.store.judges import RunOrigin, RunState, StoredRun, add_run, get_judge, list_runs, move_run
from calibration.store.payloads import StoredText, read_payloads
from calibration.store.verdicts import StoredVerdict, VerdictEntry, add_verdicts, iter_verdicts
from judge.parsing import READING_VERSION, Parsed, Reading, SeveralForm, parse, parse_several
from judge.prompt import frame, frame_several
from judge.runs.plan import RunPlan
from judge.spec import ENGINE, ModelJudge
from rubrics.digest import digest, short
from rubrics.errors import DeclarationError, RecordError
from rubrics.order import Order
from rubrics.verdict import UnknownReason, Verdict

READ_ONLY = ("name", "reask")
"""Fields of a model judge that leave every prompt as it is."""
CHUNK = 500
_FINISHES = {"truncated": "length", "content_filter": "content_filter"}


@dataclass(frozen=True, slots=True)
class Changed:
    """A reply that is read otherwise now."""

    item_id: str
    criterion: str
    order: str | None
    before: str
    after: str


@dataclass(slots=True)
class Replayed:
    """What reading the replies of a run again came to."""

    source: str
    run: str | None
    """The run that holds the new verdicts; None where nothing is stored."""
    judge: str
    """Name of the judge whose run was read."""
    units: int
    """Of the plan: what a whole run has a verdict on."""
    left: int
    """Those on which the run that was read has none."""
    read: int = 0
    without_reply: int = 0
    """Verdicts that came without a reply: settled without a call, refused, imported or erased."""
    changed: list[Changed] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "schema": "replay/1",
            "source": self.source,
            "run": self.run,
            "units": self.units,
            "without_verdict": self.left,
            "read": self.read,
            "without_reply": self.without_reply,
            "changed": [
                {
                    "item_id": each.item_id,
                    "criterion": each.criterion,
                    "order": each.order,
                    "before": each.before,
                    "after": each.after,
                }
                for each in self.changed
            ],
        }


def replay(store: Store, plan: RunPlan, source: str, *, now: datetime, dry: bool = False) -> Replayed:
    """The replies of a run read again under the plan's judge.

    Where that judge is the run's own, what is read otherwise is told and nothing is stored; another judge
    gets a run of its own, with the same replies, at cost 0.

    Args:
        store: of both runs.
        plan: of the judge that reads; its items are read as far as the source has them.
        source: key of the run, or the beginning of one.
        now: when.
        dry: store nothing, whichever judge it is.

    Raises:
        DeclarationError: no model judge, or one whose prompts are not those of the run.
        RecordError: no such run, or several that begin so.
    """
    judge = plan.judge
    if not isinstance(judge, ModelJudge):
        raise DeclarationError(f"judge {str(judge.name)!r} is no model: it has no replies to read again")
    with store.read() as session:
        run = _run(list_runs(session=session, dataset=plan.dataset, rubric_digest=plan.rubric.digest), source)
        stored = get_judge(session=session, judge=run.judge_digest)
    _require_same_prompts(judge, stored.content, run.judge_digest)
    kept = judge.digest != run.judge_digest and not dry
    key = _record(store, plan, run, now) if kept else None
    scope = Scope(set_digest=plan.set_digest) if plan.set_digest else Scope(dataset=plan.dataset)
    with store.read() as session:
        verdicts = list(iter_verdicts(session=session, scope=scope, run_key=run.key))
    found = Replayed(run.key, key, stored.name, plan.units, _left(plan, verdicts))
    for batch in batches(verdicts, CHUNK):
        entries = list(_again(store, plan, judge, batch, found, run_key=key, now=now))
        if key is not None:
            with store.write() as session:
                add_verdicts(session=session, verdicts=entries, at=now, strict=False)
    if key is not None:
        with store.write() as session:
            move_run(session=session, key=key, state=RunState.PAUSED if found.left else RunState.FINISHED)
    return found


def run_named(*, session: Session, source: str) -> StoredRun:
    """The run whose key begins so, of whatever items; raises RecordError where there is not exactly one."""
    return _run(list_runs(session=session), source)


def _left(plan: RunPlan, verdicts: list[StoredVerdict]) -> int:
    """How many units of the plan the run has no verdict on."""
    keys = {criterion.key for criterion in plan.criteria}
    return plan.units - sum(each.criterion in keys and each.repeat <= plan.repeats for each in verdicts)


def _again(
    store: Store,
    plan: RunPlan,
    judge: ModelJudge,
    verdicts: list[StoredVerdict],
    found: Replayed,
    *,
    run_key: str | None,
    now: datetime,
) -> Iterator[VerdictEntry]:
    """The verdicts of one chunk as they read now, counted in `found`."""
    with store.read() as session:
        replies = read_payloads(
            session=session, digests=[each.reply_digest for each in verdicts if each.reply_digest]
        )
    for each in verdicts:
        reply = replies.get(each.reply_digest or "")
        said = reply.original if isinstance(reply, StoredText) else {}
        if not isinstance(said, Mapping) or said.get("raw") is None:
            found.without_reply += 1
            parsed = None
        else:
            found.read += 1
            parsed = _parsed(plan, judge, each, said)
            before, after = _word(each), _parsed_word(parsed)
            if before != after:
                found.changed.append(Changed(each.item_id, each.criterion, each.order, before, after))
        if run_key is not None:
            yield _entry(run_key, each, said, parsed, now)


def _parsed(plan: RunPlan, judge: ModelJudge, verdict: StoredVerdict, said: Mapping[str, Any]) -> Parsed:
    kept = said.get("fields") or {}
    order, keys = Order(verdict.order or "ab"), kept.get("asked") or [verdict.criterion]
    criteria = [plan.rubric.criterion(key) for key in keys]
    form = (frame_several(judge, criteria, order) if judge.several else frame(judge, criteria[0], order)).form
    if judge.reading is Reading.MARKED:
        form = replace(form, reading=Reading.MARKED, mark=str(kept.get("mark", "")))
    finish = str(kept.get("finish") or _FINISHES.get(verdict.detail or "", "stop"))
    raw, refusal = str(said["raw"]), kept.get("refusal")
    if isinstance(form, SeveralForm):
        return parse_several(raw, form, finish=finish, refusal=refusal)[verdict.criterion]
    return parse(raw, form, finish=finish, refusal=refusal)


def _entry(
    run_key: str, verdict: StoredVerdict, said: Mapping[str, Any], parsed: Parsed | None, now: datetime
) -> VerdictEntry:
    answer = parsed.answer if parsed else None
    return VerdictEntry(
        run_key=run_key,
        item_id=verdict.item_id,
        criterion=verdict.criterion,
        answer=(answer.value or Verdict.UNKNOWN.value) if answer else verdict.answer,
        reason=answer.reason if answer else verdict.reason,
        detail=(answer.unknown.detail if answer.unknown else None) if answer else verdict.detail,
        order=verdict.order,
        repeat=verdict.repeat,
        raw=said.get("raw"),
        rationale=(parsed.rationale or None) if parsed else said.get("rationale"),
        fields={**(said.get("fields") or {}), "replayed": verdict.digest},
        reported_model=verdict.reported_model,
        cost_micros=0,
        decided_at=now,
    )


def _word(verdict: StoredVerdict) -> str:
    return verdict.answer if verdict.reason is None else _reason(verdict.reason, verdict.detail)


def _parsed_word(parsed: Parsed) -> str:
    unknown = parsed.answer.unknown
    if unknown is None or unknown.reason is None:
        return str(parsed.answer.value)
    return _reason(unknown.reason, unknown.detail)


def _reason(reason: UnknownReason, detail: str | None) -> str:
    return f"unknown ({reason.value}{', ' + detail if detail else ''})"


def _run(runs: list[StoredRun], source: str) -> StoredRun:
    named = [run for run in runs if run.key.startswith(source) and run.origin is RunOrigin.RUN]
    if len(named) != 1:
        many = "several runs begin" if named else "no such run begins"
        raise RecordError(f"{many} with {source!r}; `voirdire judge show NAME` lists the runs of a judge")
    return named[0]


def _require_same_prompts(judge: ModelJudge, content: Mapping[str, Any], recorded: str) -> None:
    """Refuse a judge that would have asked otherwise: its answers would not be these replies."""
    source = ModelJudge.model_validate({**content, "kind": "model"})
    for version in range(1, READING_VERSION + 1):
        if _digest_at(source, version) == recorded:
            break
    else:
        raise DeclarationError(
            f"the run's judge {short(recorded)} was asked with other prompts than this version writes; "
            "run it anew"
        )
    mine, its = (each.model_dump(mode="json", exclude=set(READ_ONLY)) for each in (judge, source))
    other = sorted(name for name in mine if mine[name] != its[name])
    if other:
        raise DeclarationError(
            f"judge {judge.name!r} differs from the run's judge in {', '.join(other)}, so it was asked "
            "otherwise; only a judge with the same prompts can read these replies"
        )


def _digest_at(judge: ModelJudge, reading: int) -> str:
    dump = judge.model_dump(mode="json", exclude_defaults=True)
    prompt = judge.prompt.model_dump(mode="json")
    engine = {**ENGINE, "reading": reading}
    return digest({"schema": "model-judge/1", "engine": engine, **dump, "prompt": prompt})


def _record(store: Store, plan: RunPlan, source: StoredRun, now: datetime) -> str:
    with store.write() as session:
        return add_run(
            session=session,
            judge_digest=plan.judge.digest,
            rubric_digest=plan.rubric.digest,
            dataset=plan.dataset,
            set_digest=plan.set_digest,
            origin=RunOrigin.RUN,
            plan={**plan.content, "replays": source.key},
            units=plan.units,
            at=now,
        )
