"""`voirdire grades`: what was graded, what waits for a person, and what people did about it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

_EPILOG = """
[bold]Examples[/bold]

voirdire grades queue

voirdire grades resolve 4f1c --criterion tone --verdict pass --by "R. Ito" --reason "Polite throughout."

voirdire grades appeal 4f1c --criterion tone --by "A. Blum" --reason "The quoted sentence is not ours."
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="List and show grades; resolve, override and appeal against them.",
    epilog=_EPILOG,
)

JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
GradeId = Annotated[str, typer.Argument(metavar="GRADE", help="The first digits of its id, or its key.")]
CriterionName = Annotated[str, typer.Option(help="The criterion that it is about.")]
Given = Annotated[str, typer.Option(metavar="pass|fail|unknown", help="The verdict of the person.")]
By = Annotated[str, typer.Option(metavar="NAME", help="Who does this.")]
Reason = Annotated[str, typer.Option(help="What was seen.")]


@app.command("list")
def list_(
    context: typer.Context,
    rubric: Annotated[str | None, typer.Option(metavar="NAME[@V]", help="Only those under it.")] = None,
    overall: Annotated[
        str | None, typer.Option(metavar="pass|fail|pending|unknown", help="Only those first given so.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """List the grades as they were first given, oldest first."""
    from calibration.store.grades import iter_grades
    from judge.cli.lookups import recorded_rubric
    from judge.cli.output import print_json, print_rows
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        digest = recorded_rubric(session, rubric).digest if rubric else None
        found = list(iter_grades(session=session, rubric_digest=digest, overall=overall))
    if as_json:
        print_json({"grades": [_brief(each) for each in found]})
        return
    rows = [
        (g.key[:12], g.item_id, g.overall, str(g.attempt), f"{g.graded_at:%Y-%m-%d %H:%M}") for g in found
    ]
    print_rows(("grade", "item", "overall", "attempt", "graded (UTC)"), rows, empty="Nothing was graded.")


def _brief(stored: Any) -> dict[str, Any]:
    return {
        "grade": stored.key,
        "item_id": stored.item_id,
        "overall": stored.overall,
        "attempt": stored.attempt,
        "content_digest": stored.content_digest,
        "graded_at": stored.graded_at.isoformat(),
    }


@app.command("show")
def show(context: typer.Context, grade: GradeId, as_json: JSON = False) -> None:
    """Show a grade as it stands, with everything that people did about it."""
    from calibration.store.grades import get_grade
    from judge.cli.stores import opened
    from judge.grade_records import state_of

    with opened(context) as store, store.read() as session:
        state = state_of(session=session, stored=get_grade(session=session, key_prefix=grade))
    _print(state, as_json=as_json)


@app.command("queue")
def queue(
    context: typer.Context,
    rubric: Annotated[str | None, typer.Option(metavar="NAME[@V]", help="Only those under it.")] = None,
    as_json: JSON = False,
) -> None:
    """List what waits for a person: criteria for people, abstentions, review triggers, appeals."""
    from judge.cli.lookups import recorded_rubric
    from judge.cli.output import print_json, print_rows
    from judge.cli.stores import opened
    from judge.grade_files import state_object
    from judge.grade_records import queue as waiting

    with opened(context) as store, store.read() as session:
        digest = recorded_rubric(session, rubric).digest if rubric else None
        found = list(waiting(session=session, rubric_digest=digest))
    if as_json:
        print_json({"grades": [state_object(each) for each in found]})
        return
    rows = [
        (each.stored.key[:12], each.stored.item_id, each.overall.value, ", ".join(each.waiting))
        for each in found
    ]
    print_rows(("grade", "item", "overall", "waits for"), rows, empty="Nothing waits for a person.")


@app.command("resolve")
def resolve(
    context: typer.Context,
    grade: GradeId,
    criterion: CriterionName,
    verdict: Given,
    by: By,
    reason: Reason,
    as_json: JSON = False,
) -> None:
    """Answer a criterion that waits for a person; the overall verdict follows from it."""
    _step(context, grade, criterion, "resolved", verdict, by, reason, as_json=as_json)


@app.command("override")
def override(
    context: typer.Context,
    grade: GradeId,
    criterion: CriterionName,
    verdict: Given,
    by: By,
    reason: Reason,
    as_json: JSON = False,
) -> None:
    """Put another verdict in the place of one that was given; both stay on record."""
    _step(context, grade, criterion, "overridden", verdict, by, reason, as_json=as_json)


@app.command("appeal")
def appeal(
    context: typer.Context,
    grade: GradeId,
    criterion: CriterionName,
    by: By,
    reason: Reason,
    as_json: JSON = False,
) -> None:
    """Ask for a verdict to be looked at again; it stands until a person has resolved the appeal."""
    _step(context, grade, criterion, "appealed", None, by, reason, as_json=as_json)


def _step(
    context: Any,
    grade: str,
    criterion: str,
    kind: str,
    verdict: str | None,
    by: str,
    reason: str,
    *,
    as_json: bool,
) -> None:
    from calibration.store.grades import GradeEventKind, get_grade
    from judge.cli.stores import now, opened
    from judge.grade_records import Step, take_step

    if verdict not in {None, "pass", "fail", "unknown"}:
        raise typer.BadParameter(f"{verdict!r} is none of pass, fail, unknown", param_hint="--verdict")
    step = Step(criterion, GradeEventKind(kind), verdict, reason, by)
    with opened(context) as store, store.write() as session:
        stored = get_grade(session=session, key_prefix=grade)
        state = take_step(session=session, stored=stored, step=step, at=now())
    _print(state, as_json=as_json)


def _print(state: Any, *, as_json: bool) -> None:
    from judge.cli.output import print_json, print_lines
    from judge.grade_files import state_object

    if as_json:
        print_json(state_object(state))
        return
    stored = state.stored
    first = f" (first {stored.overall})" if stored.overall != state.overall.value else ""
    lines = [
        f"Grade {stored.key[:12]}: item {stored.item_id}, attempt {stored.attempt}, "
        f"{state.overall.value}{first}."
    ]
    for each in state.criteria:
        said = each.grade.outcome.reason or each.grade.outcome.verdict
        mark = ", appealed" if each.appealed else ""
        lines.append(f"  {each.grade.criterion}: {said.value} by {each.by}{mark}")
    for event in state.events:
        word = _WORDS[event.kind.value]
        lines.append(
            f"  {event.recorded_at:%Y-%m-%d %H:%M} {event.actor} {word} {event.criterion}"
            + (f" as {event.verdict}" if event.verdict else "")
            + f": {event.note if event.note is not None else '(erased)'}"
        )
    if state.waiting:
        lines.append(f"Waits for a person: {', '.join(state.waiting)}.")
    print_lines(lines)


_WORDS: dict[str, str] = {
    "resolved": "resolved",
    "overridden": "overrode",
    "appealed": "appealed against",
}
