"""`voirdire grade`: grade outputs with admitted judges, or be refused with what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from judge.cli.roles import check_role
from rubrics.errors import DeclarationError

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

_EPILOG = """
[bold]Examples[/bold]

voirdire grade answers.jsonl --rubric refund-policy@1 --criterion states_terms

voirdire grade answers.jsonl --rubric refund-policy@1 --out graded.jsonl

voirdire grade answers.jsonl --decision states_terms.bundle

[bold]Exit codes[/bold]  0 graded, 3 failure, 4 a judge is not admitted (the refusal names what is missing), \
64 usage.
"""


@app.command(epilog=_EPILOG)
def grade(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Items as JSON Lines or CSV; - is standard input.")
    ],
    rubric: Annotated[
        str | None, typer.Option(metavar="NAME[@V]", help="The published rubric; that of --decision else.")
    ] = None,
    criterion: Annotated[
        list[str] | None, typer.Option(help="Criterion; repeatable. Default: every required one.")
    ] = None,
    judge: Annotated[
        str, typer.Option(metavar="NAME|auto", help="auto takes each criterion's own admitted judge.")
    ] = "auto",
    population: Annotated[str, typer.Option(help="The outputs that are graded.")] = "as calibrated",
    role: Annotated[
        str | None,
        typer.Option(help="acceptance, review_trigger or diagnostic. Default: each criterion's own."),
    ] = None,
    human: Annotated[
        list[str] | None,
        typer.Option(metavar="CRITERION", help="Let people answer it: pending until one has; repeatable."),
    ] = None,
    decision: Annotated[
        list[str] | None,
        typer.Option(metavar="BUNDLE", help="Grade by an exported decision, without the database."),
    ] = None,
    public_key: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="By one of these --decision must be signed; repeatable."),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="The same key again gives the recorded grades; nobody is asked twice.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write each grade as a JSON line; goes on where it was."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say who would grade and what it would cost; grade nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Grade outputs: one verdict per criterion by its admitted judge, overall by the four-verdict rule.

    Every criterion needs a live admission for exactly this judge, rubric, criterion, population and role.
    Without one nothing is graded.
    """
    from calibration.interchange.native.unrecorded import read_items
    from judge.grade_command import Wanted, grade_offline, grade_recorded, preview

    check_role(role)
    if rubric is None and not decision:
        raise DeclarationError(
            "name the rubric with --rubric NAME@V, or an exported decision with --decision"
        )
    if public_key and not decision:
        raise DeclarationError("--public-key is for an exported decision: name it with --decision")
    wanted = Wanted(
        rubric=rubric,
        criteria=tuple(criterion or ()),
        judge=judge,
        population=population,
        role=role,
        people=frozenset(human or ()),
        bundles=tuple(decision or ()),
        key=key,
        out=out,
        public_keys=tuple(public_key or ()),
    )
    items = read_items(file)
    if dry_run:
        _print_preview(preview(context, wanted, items), as_json=as_json)
        return
    given = grade_offline(wanted, items) if decision else grade_recorded(context, wanted, items)
    _print(given, as_json=as_json)


def _print(given: Any, *, as_json: bool) -> None:
    from dataclasses import asdict

    from judge.cli.output import print_json, print_lines, print_rows
    from judge.grade_command import rates

    ref, graders, found = given.request.rubric.ref, given.graders, given.objects
    corrected = rates(given)
    if as_json:
        noticed = [asdict(each) for each in given.notices.found.values()]
        told = {"grades": found, "rates": corrected, "notices": noticed, "recorded": given.recorded}
        print_json({"rubric": ref, **told})
        return
    head = ("item", "overall", *(g.criterion for g in graders))
    rows = [(g["item_id"], g["overall"], *_words(g, graders)) for g in found]
    print_rows(head, rows, empty="No item to grade.")
    print_lines(
        [
            *_counted(found, ref, given.skipped),
            *_appointed(graders),
            *_moved(given),
            *_remarks(given),
            *_whole(given),
            *_rated(corrected),
        ]
    )


def _words(grade: Mapping[str, Any], graders: Sequence[Any]) -> tuple[str, ...]:
    by_criterion = {c["criterion"]: c for c in grade["criteria"]}
    cells = (by_criterion[g.criterion] for g in graders)
    return tuple(str(c["reason"] or c["verdict"]) for c in cells)


def _counted(found: Sequence[Mapping[str, Any]], ref: str, skipped: int) -> list[str]:
    from collections import Counter

    from calibration.rendering.text import counted

    said = ", ".join(f"{n} {w}" for w, n in sorted(Counter(g["overall"] for g in found).items()))
    lines = [f"{counted(len(found), 'item')} under {ref}: {said}."] if found else []
    were, are = ("was", "is") if skipped == 1 else ("were", "are")
    before = f"{counted(skipped, 'item')} {were} graded before and {are} in the file."
    return [*lines, before] if skipped else lines


def _appointed(graders: Sequence[Any]) -> list[str]:
    from rubrics.digest import short

    lines = []
    for g in graders:
        if g.decision is None:
            lines.append(f"{g.criterion}: people; `voirdire grades queue` shows what waits.")
            continue
        until = f" until {g.decision.valid_until:%Y-%m-%d}" if g.decision.valid_until else ""
        lines.append(f"{g.criterion}: {g.judge.name}, admitted by decision {short(g.decision.hash)}{until}.")
        lines += [f"  warning: {warning}." for warning in g.warnings]
        if g.decision.content.get("override"):
            lines.append("  signed against the policy, by two people.")
    if any(g.decision and g.decision.content.get("constructed") for g in graders):
        lines.append("Constructed evidence: the decision says nothing of real outputs.")
    return lines


def _moved(given: Any) -> list[str]:
    """That another model answered than the one that was calibrated, where its policy lets grading go on."""
    names = {g.decision.hash: g.judge.name for g in given.graders if g.decision}
    return [
        f"warning: {names[each.decision]}: {each.sentence}; its error rates are of the calibrated model."
        for each in given.notices.found.values()
        if each.trigger == "judge"
    ]


def _remarks(given: Any) -> list[str]:
    """What a reader must know of some items: where they lie, who waits, how often they were tried."""
    from collections import Counter

    from calibration.rendering.text import counted

    found = given.objects
    flags = Counter(flag["sentence"] for g in found for flag in g["flags"] if "sentence" in flag)
    lines = [f"{n} of {counted(len(found), 'item')}: {said}." for said, n in flags.most_common(5)]
    if len(flags) > 5:
        lines.append(f"and {counted(len(flags) - 5, 'more remark')} of this kind (--json lists all).")
    waiting = sum(any(c["queued"] for c in g["criteria"]) for g in found)
    if waiting and given.recorded:
        waits = "waits" if waiting == 1 else "wait"
        lines.append(f"{counted(waiting, 'item')} {waits} for a person: `voirdire grades queue`.")
    again = [g for g in found if g["attempt"] > 1]
    if again:
        most = max(again, key=lambda g: g["attempt"])
        bounds = [c["far"]["bound_after_attempts"] for c in most["criteria"] if c.get("far")]
        bound = f": an item that fails is accepted with up to {max(bounds):.0%}" if bounds else ""
        were = "was" if len(again) == 1 else "were"
        times = f"{most['attempt']} times at most{bound}"
        lines.append(f"{counted(len(again), 'item')} {were} graded before, {times}.")
    return lines


def _whole(given: Any) -> list[str]:
    """That the rates are of more than this call, where they are."""
    if len(given.whole) <= len(given.objects):
        return []
    return [f"Rates over the whole file, {len(given.whole)} items:"]


def _rated(corrected: Sequence[Mapping[str, Any]]) -> list[str]:
    """The corrected pass rate of each criterion, or why there is none."""
    lines = []
    for each in corrected:
        if each["estimate"] is None:
            if each["n"] > 1:
                lines.append(f"{each['criterion']}: no corrected pass rate ({each['undefined']}).")
            continue
        lines.append(
            f"{each['criterion']}: {each['accepted']} of {each['n']} accepted; corrected for the judge's "
            f"errors {each['estimate']:.0%} [{each['lower']:.0%}, {each['upper']:.0%}] pass."
        )
    return lines


def _print_preview(found: Mapping[str, Any], *, as_json: bool) -> None:
    from calibration.rendering.text import counted
    from judge.cli.output import print_json, print_lines

    if as_json:
        print_json(found)
        return
    lines = [f"{counted(found['items'], 'item')} under {found['rubric']}; nothing is graded."]
    for each in found["graders"]:
        cost = each["cost_micros"]
        said = "makes no paid call" if cost == 0 else "cost unknown"
        said = f"about {cost / 1e6:.2f} US dollars, by what its calibration cost" if cost else said
        lines.append(f"{each['criterion']}: {each['judge']}, {said}.")
    print_lines(lines)
