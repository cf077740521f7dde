"""A rater's open items on one offline page, and the answers that come back from it.

For a lead: a sheet is made for a rater who cannot reach the app. It holds what the app would show and no
judge field, reaches no network by its own policy, and its answers are marked `blind: sheet`, since nobody saw
what else lay on the table.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AwareDatetime, Field, ValidationError
from sqlmodel import Session

from calibration.labeling.choices import REASONS, Choice, answers, fails, modes
from calibration.labeling.handing import live, newest
from calibration.labeling.records import EARLIEST_MS, Answer, TaskKind, shown_answers
from calibration.labeling.storing import finish, store_answer
from calibration.labeling.tasks import (
    STREAM,
    Held,
    check_answer,
    fields_of,
    held,
    item_of,
    refuse_unless_running,
    to_source,
)
from calibration.labels import Blindness
from calibration.store.assignments import assignments_of, hand_out
from calibration.store.chain import append_event
from calibration.store.database import Store
from calibration.store.items import ErasedItem
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sessions import get_session, seats_of
from rubrics.characters import UNSEEN, code_point
from rubrics.criterion import Criterion
from rubrics.errors import DeclarationError, RaterRefused, RecordError, TableError
from rubrics.record import Frozen, shown

R = TypeVar("R", bound=Frozen)
SCHEMA: Final = "voirdire-sheet/1"
LEASE = timedelta(days=30)
"""A sheet is away from the desk for long: reassigning before that needs --force."""
CLOCKS_DIFFER: Final = timedelta(days=1)
"""By so much a rater's clock may be off."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet as it was made."""

    page: str
    """The HTML file."""
    rater: str
    items: int


def make_sheet(*, session: Session, name: str, rater: str, now: datetime) -> Sheet:
    """One HTML page with the rater's open items, each handed out to them.

    Args:
        session: a writing session.
        name: of the labeling session.
        rater: whose.
        now: when.

    Raises:
        RecordError: no such session, or the rater has no place or no open item in it.
        RaterRefused: the session takes no answers.
    """
    labeling = get_session(session=session, session_name=name)
    refuse_unless_running(labeling, now)
    if not seats_of(session=session, key=labeling.key, rater=rater, kind="rate"):
        raise RecordError(
            f"{rater!r} does not rate in the session {name!r}; see `voirdire session status {name}`"
        )
    rubric = get_rubric_by_digest(session=session, digest=labeling.rubric_digest)
    items = []
    opened = assignments_of(session=session, key=labeling.key, rater=rater, kind="rate", states=["open"])
    for assigned in list(opened):
        hand_out(session=session, assigned=assigned, until=now + LEASE)
        entry = _entry(session, Held(replace(assigned, lease_no=assigned.lease_no or 1), labeling, rubric))
        items += [entry] if entry else []
    if not items:
        raise RecordError(f"{rater!r} has no open item in the session {name!r}: nothing to put on a sheet")
    content = {
        "schema": SCHEMA,
        "session": name,
        "rater": rater,
        "said": {"session": _visible(name), "rater": _visible(rater)},
        "rubric": {"ref": rubric.ref, "title": rubric.title, "digest": rubric.digest},
        "criteria": [sheet_criterion(each) for each in rubric.criteria],
        "reasons": [_choice(each) for each in REASONS],
        "items": items,
    }
    return Sheet(_page(content), rater, len(items))


def _entry(session: Session, found: Held) -> dict[str, Any] | None:
    """An item as the sheet holds it, with the criteria that are still open; None where it was erased."""
    item = item_of(session, found.assigned)
    if isinstance(item, ErasedItem):
        return None
    answered = live(session, found)
    missing = [each for each in found.rubric.criteria if each.key not in answered]
    if not missing:
        return None
    shown_fields = fields_of(item, found.rubric, missing[0], swapped=found.assigned.swapped)
    return {
        "assignment": found.assigned.key,
        "lease_no": found.assigned.lease_no,
        "criteria": [each.key for each in missing],
        "fields": [
            {"key": f.key, "title": f.title, "source": f.source.value, "text": list(_pieces(f.text))}
            for f in shown_fields
        ],
    }


def _pieces(text: str) -> Iterator[list[str]]:
    """The text in pieces: plain ones, and characters that nobody sees by their number."""
    last = 0
    for found in UNSEEN.finditer(text):
        if found.start() > last:
            yield ["text", text[last : found.start()]]
        yield ["unseen", code_point(found[0])]
        last = found.end()
    if last < len(text):
        yield ["text", text[last:]]


def _visible(text: str) -> str:
    """The text in one line, with what nobody sees by its number."""
    return "".join(f"[{piece}]" if kind == "unseen" else piece for kind, piece in _pieces(text)).translate(
        {ord("\n"): " ", ord("\r"): " ", ord("\t"): " "}
    )


def sheet_criterion(criterion: Criterion) -> dict[str, Any]:
    """A criterion as the sheet holds it: its words, and its choices with their keys in the app."""
    guidance = criterion.guidance
    says = {
        "Pass when": guidance.pass_when,
        "Fail when": guidance.fail_when,
        "Better when": guidance.prefer_when,
        "Tie when": guidance.tie_when,
        "Cannot decide when": guidance.cannot_decide_when,
    }
    anchors = getattr(criterion.scale, "levels", ())
    when = {mode.key: mode.when for mode in criterion.failure_modes}
    return {
        "key": criterion.key,
        "title": criterion.title,
        "question": criterion.question,
        "guidance": [[title, text] for title, text in says.items() if text],
        "levels": [[each.level, each.anchor] for each in anchors],
        "answers": [_choice(each) for each in answers(criterion)],
        "failing": [each for each in shown_answers(criterion) if fails(criterion, each)],
        "failure_modes": [{**_choice(each), "when": when.get(each.value, "")} for each in modes(criterion)],
    }


def _choice(choice: Choice) -> dict[str, str | None]:
    """A button of the sheet: what it says, and the key that it has in the app too."""
    return {"value": choice.value, "press": choice.key, "says": choice.label}


def _page(content: Mapping[str, Any]) -> str:
    """The page: its data as JSON that no tag can end, script and style named by their hashes."""
    folder = files("calibration.labeling")
    script, style = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("sheet.js", "sheet.css"))
    data = json.dumps(content, ensure_ascii=True).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}';"
        " base-uri 'none'; form-action 'none'"
    )
    title = html.escape(_visible(f"{content['session']} - {content['rater']}"))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>{style}</style></head>\n"
        '<body><div id="sheet"></div>\n'
        "<noscript>This sheet needs JavaScript; it reaches no network.</noscript>\n"
        f'<script type="application/json" id="data">{data}</script>\n'
        f"<script>{script}</script></body></html>\n"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# -- what comes back


class SheetHeader(Frozen):
    """The first line of a sheet's export."""

    schema_: Literal["voirdire-sheet/1"] = Field(alias="schema")
    session: str
    rater: str
    rubric: str
    """Digest of the rubric that was answered."""


class SheetLine(Frozen):
    """One answer of a sheet's export."""

    assignment: str
    lease_no: int
    criterion: str
    value: str
    reason: str | None = None
    failure_mode: str | None = None
    note: Annotated[str, Field(max_length=10_000)] = ""
    shown_at: AwareDatetime
    decided_at: AwareDatetime


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a sheet's answers."""

    session: str
    rater: str
    added: int
    present: int
    """Answers that were recorded before, by this sheet or in the app."""


def session_of(lines: Sequence[str]) -> str:
    """The name of the session that an export is of; raises TableError where it is none."""
    return _read(lines)[0].session


def take_sheet(*, store: Store, lines: Sequence[str], now: datetime) -> Taken:
    """What became of the answers of a sheet: all of them are taken, or none.

    Only the open assignments of the rater whose sheet it is are answered, each under the number with which it
    was handed out; the labels say `blind: sheet`. The same file again adds nothing.

    Args:
        store: the store.
        lines: of the export, its header first; blank ones are skipped.
        now: when.

    Raises:
        TableError: a line is no answer of this sheet, or is not taken; names the line.
        RecordError: no such session.
        RaterRefused: the session takes no answers.
    """
    header, answers = _read(lines)
    try:
        added = _take_all(store, header, answers, now)
    except (RaterRefused, TableError) as refused:
        _audit(store, header, str(refused), now)
        raise
    return Taken(header.session, header.rater, added, len(answers) - added)


def _take_all(
    store: Store, header: SheetHeader, answers: Sequence[tuple[int, SheetLine]], now: datetime
) -> int:
    """How many answers are new; all of them are taken in one transaction, or none."""
    with store.write() as session:
        labeling = get_session(session=session, session_name=header.session)
        refuse_unless_running(labeling, now)
        if labeling.rubric_digest != header.rubric:
            raise TableError("line 1: the sheet was made under another rubric than the session's", line=1)
        added = 0
        for number, each in answers:
            try:
                added += _take(session, header, each, now)
            except (RaterRefused, DeclarationError) as error:
                raise TableError(
                    f"line {number}: {error}; nothing of the file was taken", line=number
                ) from error
    return added


def _audit(store: Store, header: SheetHeader, said: str, now: datetime) -> None:
    """Writes to the audit trail that a sheet was refused, under its rater where they rate in the session."""
    with store.write() as session:
        labeling = get_session(session=session, session_name=header.session)
        known = seats_of(session=session, key=labeling.key, rater=header.rater, kind="rate")
        append_event(
            session=session,
            stream=STREAM,
            kind="sheet.refused",
            actor=header.rater if known else "labels import",
            payload={"session": labeling.name, "rater": shown(header.rater), "said": said},
            at=now,
        )


def _read(lines: Sequence[str]) -> tuple[SheetHeader, list[tuple[int, SheetLine]]]:
    # an editor may have put a byte order mark before it
    lines = [line.removeprefix("\ufeff") if place == 0 else line for place, line in enumerate(lines)]
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not numbered:
        raise TableError("the file is empty: export the sheet again", line=1)
    header = _parsed(SheetHeader, *numbered[0])
    return header, [(number, _parsed(SheetLine, number, line)) for number, line in numbered[1:]]


def _parsed(record: type[R], number: int, line: str) -> R:
    try:
        return record.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "line"
        raise TableError(
            f"line {number}: {place}: {first['msg'].lower()}; export the sheet again",
            line=number,
            field=place,
        ) from error


def _check_times(line: SheetLine, opens_at: datetime, now: datetime) -> None:
    """Raises DeclarationError for times that no sheet writes; a rater's clock may be a day off."""
    if not line.shown_at <= line.decided_at <= now + CLOCKS_DIFFER:
        raise DeclarationError("shown_at, decided_at and today are not in this order")
    if line.shown_at < opens_at - CLOCKS_DIFFER:
        raise DeclarationError(
            f"shown_at is {line.shown_at.isoformat()}, before the session opened at {opens_at.isoformat()}:"
            " send the file as the sheet saved it"
        )
    if line.decided_at - line.shown_at < timedelta(milliseconds=EARLIEST_MS):
        raise DeclarationError(
            f"it was decided within {EARLIEST_MS} ms of being shown, which the sheet does not take: send the"
            " file as the sheet saved it"
        )


def _take(session: Session, header: SheetHeader, line: SheetLine, now: datetime) -> int:
    """1 for a new answer, 0 for one that is recorded already."""
    found = held(
        session,
        assignment=line.assignment,
        rater=header.rater,
        kind=TaskKind.RATE,
        now=now,
        lease_no=line.lease_no,
    )
    if found.labeling.name != header.session:
        raise RaterRefused(f"{shown(line.assignment)} belongs to another session")
    criterion = found.rubric.criterion(line.criterion)
    check_answer(criterion, line.value, line.reason, line.failure_mode)
    _check_times(line, found.labeling.opens_at, now)
    before = newest(session, found)
    standing = {key for key, said in before.items() if not said.retracted}
    if criterion.key in standing:
        said = before[criterion.key]
        value = to_source(line.value, criterion, swapped=found.assigned.swapped)
        if (said.value, said.reason, said.failure_mode) != (value, line.reason, line.failure_mode):
            raise DeclarationError("another answer to it is recorded; take that back in the app to change it")
        return 0
    if found.assigned.state != "open":
        raise RaterRefused("it is not among the open items")
    given = Answer(**line.model_dump(exclude={"assignment", "lease_no", "criterion"}), ui_version="sheet/1")
    store_answer(
        session,
        found,
        criterion,
        given,
        before=before.get(criterion.key),
        blind=Blindness.SHEET,
        now=now,
    )
    if len(standing) + 1 == len(found.rubric.criteria):
        finish(session, found)
    return 1
