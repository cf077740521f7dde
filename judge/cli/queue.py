"""`voirdire queue`: what waits for a person goes into a labeling session, and what raters said comes back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

_EPILOG = """
[bold]Examples[/bold]

voirdire queue open monday answers.jsonl --rubric refund-policy@1 --rater ann --rater ben

voirdire queue settle monday
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Put what waits for a person before raters, and read back what they said.",
    epilog=_EPILOG,
)

JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the session.")]


@app.command("open")
def open_(
    context: typer.Context,
    name: Name,
    file: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="The outputs as they were graded, unchanged.")
    ],
    rubric: Annotated[str, typer.Option(metavar="NAME[@V]", help="Under which they were graded.")],
    rater: Annotated[list[str], typer.Option(metavar="NAME", help="Who rates; repeatable.")],
    criterion: Annotated[
        list[str] | None, typer.Option(help="Only what waits for this criterion; repeatable.")
    ] = None,
    adjudicator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Who resolves disagreements; repeatable.")
    ] = None,
    per_item: Annotated[int, typer.Option(min=1, help="Raters of each output.")] = 1,
    seed: Annotated[int, typer.Option(help="Makes orders and sides repeatable.")] = 0,
    as_json: JSON = False,
) -> None:
    """Open a labeling session on the outputs that wait; raters see neither verdict nor reason."""
    from calibration.interchange.native.unrecorded import read_items
    from calibration.rendering.text import counted, visible
    from judge.cli.lookups import recorded_rubric
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened
    from judge.queue_sessions import Sending, send

    items = [item for each in file for item in read_items(each)]
    with opened(context) as store, store.write() as session:
        sending = Sending(
            name=name,
            rubric=recorded_rubric(session, rubric),
            items=items,
            raters=tuple(rater),
            adjudicators=tuple(adjudicator or ()),
            raters_per_item=per_item,
            criteria=frozenset(criterion or ()),
            seed=seed,
        )
        sent = send(session=session, sending=sending, actor=actor(), at=now())
    if as_json:
        print_json(
            {
                "session": sent.name,
                "grades": sorted(sent.grades.values()),
                "absent": list(sent.absent),
                "elsewhere": sent.elsewhere,
            }
        )
        return
    lines = [
        f"Session {visible(name)} is open on {counted(len(sent.grades), 'output')} that wait for a person."
    ]
    if sent.absent:
        lines.append(f"Not in the file, so left waiting: {counted(len(sent.absent), 'output')}.")
    if sent.elsewhere:
        lines.append(f"In an earlier session already: {counted(sent.elsewhere, 'output')}.")
    print_lines([*lines, f"Next: voirdire ui rate --as {rater[0]}, then voirdire queue settle {name}"])


@app.command("settle")
def settle_(context: typer.Context, name: Name, as_json: JSON = False) -> None:
    """Resolve the grades whose outputs the session's raters agree on, or an adjudicator has ruled on."""
    from calibration.rendering.text import counted, visible
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened
    from judge.grade_files import state_object
    from judge.queue_sessions import settle

    with opened(context) as store, store.write() as session:
        found = settle(session=session, name=name, actor=actor(), at=now())
    if as_json:
        resolved: list[Any] = [state_object(each) for each in found.resolved]
        print_json({"session": name, "resolved": resolved, "waiting": found.waiting})
        return
    lines = [f"{counted(len(found.resolved), 'grade')} resolved by session {visible(name)}."]
    lines += [
        f"  {each.stored.key[:12]} item {visible(each.stored.item_id)}: {each.overall.value}"
        for each in found.resolved
    ]
    if found.waiting:
        lines.append(f"{counted(found.waiting, 'grade')} of it still wait for a person.")
    print_lines(lines)
