"""`voirdire session`: open, watch, reassign and close labeling sessions; sheets; adjudication draws."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from sqlmodel import Session

    from calibration.labeling.plan import SessionPlan
    from calibration.labeling.sessions import SessionStatus

_EPILOG = """
[bold]Examples[/bold]

voirdire session open may --set may --rubric refund-policy@1 --rater ann --rater ben --adjudicator zoe

voirdire session status may

voirdire session sheet may --rater ann --out ann.html

voirdire session adjudicate may --judge gpt --criterion resolves_request
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Open, watch, reassign and close labeling sessions.",
    epilog=_EPILOG,
)

JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the session.")]
_FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M"]


@app.command("open")
def open_(
    context: typer.Context,
    name: Name,
    set_ref: Annotated[str, typer.Option("--set", metavar="NAME[@V]", help="The frozen set to rate.")],
    rubric: Annotated[str, typer.Option(metavar="NAME[@V]", help="What is asked.")],
    rater: Annotated[list[str], typer.Option(metavar="NAME", help="Who rates; repeatable.")],
    adjudicator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Who resolves disagreements; repeatable.")
    ] = None,
    per_item: Annotated[int, typer.Option(min=1, help="Raters of each item.")] = 2,
    repeats: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of items that come twice, unmarked; 0 for none.")
    ] = 0.05,
    practice: Annotated[int, typer.Option(min=0, help="Worked examples to practise on first.")] = 4,
    seed: Annotated[int, typer.Option(help="Makes orders and sides repeatable.")] = 0,
    opens_at: Annotated[
        datetime | None, typer.Option(formats=_FORMATS, metavar="UTC", help="Without it: at once.")
    ] = None,
    window_ends: Annotated[
        datetime | None, typer.Option(formats=_FORMATS, metavar="UTC", help="End of the observation window.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Open a session on a frozen set: every rater's order, sides and hidden repeats are fixed now.

    Times are UTC. When the window ends, what is still open becomes unknown (error, window_closed).
    """
    from calibration.labeling.plan import SessionPlan
    from calibration.labeling.sessions import Opening, open_session, session_status
    from calibration.rendering.text import visible
    from judge.cli.lookups import recorded_rubric, recorded_set
    from judge.cli.session_words import beyond_told
    from judge.cli.stores import actor, now, opened

    plan = SessionPlan(
        raters_per_item=per_item,
        repeat_share=repeats,
        repeats_at_least=10 if repeats else 0,
        practice=practice,
        seed=seed,
    )
    with opened(context) as store, store.write() as session:
        opening = Opening(
            name=name,
            stored_set=recorded_set(session, set_ref),
            rubric=recorded_rubric(session, rubric),
            raters=tuple(rater),
            adjudicators=tuple(adjudicator or ()),
            plan=plan,
            opens_at=_utc(opens_at),
            window_ends_at=_utc(window_ends),
        )
        stored = open_session(session=session, opening=opening, actor=actor(), at=now())
        status = session_status(session=session, name=name, now=now())
        again = _repeats(session, stored.key, rater)
        beyond = beyond_told(session, stored)
    following = "\n".join(
        [
            _repeats_told({visible(who): count for who, count in again.items()}, plan),
            *beyond,
            f"Next: voirdire ui rate --as {shlex.quote(visible(rater[0]))}",
        ]
    )
    _tell(status, as_json, extra={"repeats": again}, following=following)


def _repeats_told(again: dict[str, int], plan: SessionPlan) -> str:
    """How many items come twice, and why there are not more of them."""
    if not any(again.values()):
        why = f": they take {plan.repeat_distance} items a rater or more" if plan.repeat_share else ""
        return f"No hidden repeats{why}."
    told = ", ".join(f"{who} {count}" for who, count in again.items())
    full = plan.repeat_distance + plan.repeats_at_least - 1
    short = min(again.values()) < plan.repeats_at_least
    room = f"; {plan.repeats_at_least} take {full} items a rater or more" if short else ""
    return f"Hidden repeats: {told}{room}."


def _repeats(session: Session, key: str, raters: list[str]) -> dict[str, int]:
    """How many items each rater meets twice."""
    from collections import Counter

    from calibration.store.assignments import assignments_of

    found = Counter(each.rater for each in assignments_of(session=session, key=key) if each.repeat)
    return {rater: found[rater] for rater in raters}


@app.command("status")
def status(context: typer.Context, name: Name, as_json: JSON = False) -> None:
    """Show how far each person is, and which items were flagged as broken."""
    from calibration.labeling.sessions import close_due, session_status
    from judge.cli.session_words import disputes_told
    from judge.cli.stores import now, opened

    with opened(context) as store, store.write() as session:
        close_due(session=session, at=now())
        found = session_status(session=session, name=name, now=now())
        disputes = disputes_told(session, found.stored)
    _tell(found, as_json, following="\n".join(disputes))


@app.command("show")
def show(context: typer.Context, name: Name, as_json: JSON = False) -> None:
    """Show a session: its set, rubric, plan, window and people."""
    status(context, name, as_json=as_json)


@app.command("list")
def list_(context: typer.Context, as_json: JSON = False) -> None:
    """List the labeling sessions."""
    from calibration.labeling.sessions import close_due, session_status
    from calibration.rendering.text import visible
    from calibration.store.sessions import list_sessions
    from judge.cli.output import print_json, print_rows
    from judge.cli.stores import now, opened

    with opened(context) as store, store.write() as session:
        close_due(session=session, at=now())
        found = [
            session_status(session=session, name=each.name, now=now())
            for each in list_sessions(session=session)
        ]
    if as_json:
        print_json({"sessions": [_object(each) for each in found]})
        return
    rows = [
        (
            visible(each.stored.name),
            visible(each.stored.dataset),
            each.rubric,
            each.stored.state,
            f"{each.done:,}",
            f"{each.open:,}",
        )
        for each in found
    ]
    head = ("session", "dataset", "rubric", "state", "done", "open")
    print_rows(head, rows, empty="No session is recorded. Next: voirdire session open NAME --set SET ...")


@app.command("close")
def close(context: typer.Context, name: Name, as_json: JSON = False) -> None:
    """Close a session: raters' answers are taken no more, what is open becomes unknown by a record."""
    from calibration.labeling.sessions import close_session, session_status
    from judge.cli.stores import actor, now, opened

    with opened(context) as store, store.write() as session:
        left = close_session(session=session, name=name, actor=actor(), at=now())
        found = session_status(session=session, name=name, now=now())
    extra = {"left_open": left}
    said = (
        f"{left:,} {'assessment was' if left == 1 else 'assessments were'} open:"
        " now unknown (error, window_closed)."
        if left
        else "Nothing was open."
    )
    _tell(found, as_json, extra=extra, following=said)


@app.command("reassign")
def reassign(
    context: typer.Context,
    name: Name,
    absent: Annotated[str, typer.Option("--from", metavar="RATER", help="Who is away.")],
    to: Annotated[list[str], typer.Option("--to", metavar="RATER", help="Who takes over; repeatable.")],
    force: Annotated[
        bool, typer.Option("--force", help="Also what was handed out less than an hour ago, or on a sheet.")
    ] = False,
    as_json: JSON = False,
) -> None:
    """Give an absent rater's open items to others, who have not rated them."""
    from calibration.labeling.sessions import reassign as move
    from calibration.labeling.sessions import session_status, staying
    from judge.cli.session_words import moved_told
    from judge.cli.stores import actor, now, opened

    with opened(context) as store, store.write() as session:
        moved = move(session=session, name=name, absent=absent, to=to, actor=actor(), at=now(), force=force)
        left = staying(session=session, name=name, absent=absent, now=now(), force=force)
        found = session_status(session=session, name=name, now=now())
    extra = {"moved": moved, "staying": asdict(left)}
    _tell(found, as_json, extra=extra, following=moved_told(absent, moved, left))


@app.command("sheet")
def sheet(
    context: typer.Context,
    name: Name,
    rater: Annotated[str, typer.Option(metavar="NAME", help="Whose open items.")],
    out: Annotated[str, typer.Option(metavar="FILE", help="The HTML file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    as_json: JSON = False,
) -> None:
    """Write a rater's open items as one offline page; take its answers with `voirdire labels import`."""
    from pathlib import Path

    from calibration.labeling.sheets import make_sheet
    from calibration.rendering.text import counted, visible
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import now, opened
    from rubrics.errors import DeclarationError

    path = Path(out)
    if path.exists() and not force:
        raise DeclarationError(f"--out {out!r} exists: give another name, or --force to replace it")
    with opened(context) as store, store.write() as session:
        made = make_sheet(session=session, name=name, rater=rater, now=now())
        dataset = _dataset(session, name)
        path.write_text(made.page, encoding="utf-8", newline="\n")
    if as_json:
        print_json({"session": name, "rater": rater, "items": made.items, "file": str(path)})
        return
    print_lines(
        [
            f"Wrote {visible(str(path))}: {counted(made.items, 'item')} for {visible(rater)}."
            " It works without a network.",
            "Next, with the file that comes back: voirdire labels import ANSWERS.jsonl --dataset"
            f" {shlex.quote(visible(dataset))}",
        ]
    )


@app.command("adjudicate")
def adjudicate(
    context: typer.Context,
    name: Name,
    judge: Annotated[str, typer.Option(metavar="JUDGE", help="Whose verdicts make the cells.")],
    criterion: Annotated[str, typer.Option(metavar="KEY", help="Of the session's rubric.")],
    share: Annotated[
        float, typer.Option(help="Of the cells that are not drawn whole; at least ten cases of each.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="Makes the draw repeatable.")] = 0,
    as_json: JSON = False,
) -> None:
    """Draw cases from all four cells of judge x raters for adjudication, with recorded probabilities.

    Disagreements of raters and failures that the judge accepted are drawn whole. Adjudicators see neither
    the cell nor the judge.
    """
    from calibration.calibrate.adjudication_draw import Draw, draw_adjudication
    from calibration.calibrate.evidence_set import open_set_by_digest
    from calibration.labeling.disputes import assign_cases
    from calibration.store.judges import get_judge
    from calibration.store.rubrics import get_rubric_by_digest
    from calibration.store.sessions import get_session
    from judge.cli.stores import actor, now, opened

    with opened(context) as store, store.write() as session:
        labeling = get_session(session=session, session_name=name)
        draw = Draw(
            session_key=labeling.key,
            evidence=open_set_by_digest(session=session, digest=labeling.set_digest),
            rubric=get_rubric_by_digest(session=session, digest=labeling.rubric_digest),
            criterion=criterion,
            judge=get_judge(session=session, judge=judge),
            share=share,
            seed=seed,
        )
        drawn = draw_adjudication(session=session, draw=draw, actor=actor(), at=now())
        given = assign_cases(session=session, labeling=labeling, cases=drawn.cases, at=now())
    _tell_drawn(drawn.by_cell, len(drawn.cases), given, as_json)


_ACCEPTED = {True: "accepted", False: "not accepted"}


def _tell_drawn(by_cell: Any, drawn: int, given: int, as_json: bool) -> None:
    from judge.cli.output import print_json, print_lines, print_rows

    cells = [
        {"judge_accepted": accepted, "raters": said, "cases": cases, "drawn": taken}
        for (accepted, said), (cases, taken) in sorted(by_cell.items())
    ]
    if as_json:
        print_json({"cells": cells, "drawn": drawn, "assigned": given})
        return
    rows = [
        (
            _ACCEPTED[bool(each["judge_accepted"])],
            each["raters"],
            str(each["cases"]),
            str(each["drawn"]),
        )
        for each in cells
    ]
    print_rows(("judge", "raters say", "cases", "drawn"), rows, empty="")
    waiting = drawn - given
    told = f" {waiting:,} have no adjudicator who did not rate them, or wait already." if waiting else ""
    print_lines(
        [f"{drawn:,} {'case' if drawn == 1 else 'cases'} drawn, {given:,} given to adjudicators.{told}"]
    )


MOST_BYTES = 20_000_000
"""Of the answers of a sheet."""


def take_answers(context: typer.Context, path: Path, dataset: str, *, as_json: bool) -> None:
    """Record the answers that came back on a sheet, and say what became of them.

    Raises:
        DeclarationError: the file is too large, no text, or of a session on another dataset.
    """
    from calibration.labeling.sheets import session_of, take_sheet
    from calibration.rendering.text import counted, visible
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import now, opened
    from rubrics.errors import DeclarationError

    if path.stat().st_size > MOST_BYTES:
        raise DeclarationError(f"{str(path)!r} has more than {MOST_BYTES:,} bytes: no sheet is that long")
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise DeclarationError(f"{str(path)!r} is no UTF-8 text: export the sheet again") from error
    with opened(context) as store:
        with store.read() as session:
            held = _dataset(session, session_of(lines))
        if held != dataset:
            raise DeclarationError(
                f"the sheet is of dataset {held!r}, not {dataset!r}; give --dataset {held}"
            )
        taken = take_sheet(store=store, lines=lines, now=now())
    if as_json:
        counts = {"added": taken.added, "present": taken.present}
        print_json({"schema": "sheet/1", "session": taken.session, "rater": taken.rater, **counts})
        return
    print_lines(
        [
            f"{counted(taken.added, 'answer')} of {visible(taken.rater)} recorded in the session"
            f" {visible(taken.session)}, blind by sheet; {taken.present:,} were there."
        ]
    )


def _dataset(session: Session, name: str) -> str:
    from calibration.store.sessions import get_session

    return get_session(session=session, session_name=name).dataset


def _utc(moment: datetime | None) -> datetime | None:
    from datetime import UTC

    return moment.replace(tzinfo=UTC) if moment is not None else None


def _object(found: SessionStatus) -> dict[str, Any]:
    """The status as JSON."""
    from dataclasses import asdict

    stored = found.stored
    return {
        "session": stored.name,
        "dataset": stored.dataset,
        "set": stored.set_digest,
        "rubric": found.rubric,
        "state": stored.state,
        "opens_at": stored.opens_at.isoformat(),
        "window_ends_at": stored.window_ends_at.isoformat() if stored.window_ends_at else None,
        "closed_at": stored.closed_at.isoformat() if stored.closed_at else None,
        "plan": dict(stored.plan),
        "done": found.done,
        "open": found.open,
        "people": [asdict(each) for each in found.people],
        "broken": [{"rater": each.rater, "why": each.why} for each in found.broken],
    }


def _tell(
    found: SessionStatus, as_json: bool, *, extra: dict[str, Any] | None = None, following: str = ""
) -> None:
    from calibration.rendering.text import visible
    from judge.cli.output import print_json, print_lines, print_rows

    if as_json:
        print_json({**_object(found), **(extra or {})})
        return
    stored = found.stored
    ends = f", window until {stored.window_ends_at:%Y-%m-%d %H:%M} UTC" if stored.window_ends_at else ""
    print_lines(
        [
            f"Session {visible(stored.name)} on dataset {visible(stored.dataset)} under {found.rubric}:"
            f" {stored.state}{ends}.",
            f"{found.done:,} of {found.asked:,} {'assignment' if found.asked == 1 else 'assignments'} done.",
        ]
    )
    rows = [
        (
            visible(each.person) + (" (absent)" if each.absent else ""),
            "rates" if each.kind == "rate" else "adjudicates",
            *(f"{number:,}" for number in (each.done, each.open, each.broken, each.window_closed)),
        )
        for each in found.people
    ]
    print_rows(("person", "role", "done", "open", "broken", "left open"), rows, empty="")
    print_lines(
        [
            *(f"Broken, says {visible(each.rater)}: {visible(each.why)}" for each in found.broken),
            *following.splitlines(),
        ]
    )
