"""`voirdire gate`: may these outputs go out, by what an admitted judge says of them?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rubrics.errors import DeclarationError

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

_EPILOG = """
[bold]Examples[/bold]

voirdire gate graded.jsonl --rubric refund-policy@1 --criterion states_terms --pass-at-least 0.9

voirdire gate verdicts.jsonl --decision states_terms.bundle --pass-at-least 0.9

voirdire gate --rubric refund-policy@1 --criterion states_terms

[bold]Exit codes[/bold]  0 open, 1 shut, 2 insufficient evidence, 3 failure (a lapsed or unreadable decision \
too), 4 the judge is not admitted, 64 usage.
"""


@app.command(epilog=_EPILOG)
def gate(
    context: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="Grades (of `grade --out`) or verdicts; without it only the admission is asked for.",
        ),
    ] = None,
    rubric: Annotated[str | None, typer.Option(metavar="NAME[@V]", help="The published rubric.")] = None,
    criterion: Annotated[str | None, typer.Option(help="The criterion; that of --decision else.")] = None,
    judge: Annotated[
        str, typer.Option(metavar="NAME|auto", help="auto takes the criterion's own admitted judge.")
    ] = "auto",
    pass_at_least: Annotated[
        float | None,
        typer.Option(metavar="RATE", help="The pass rate asked for, in (0, 1]; needs FILE."),
    ] = None,
    population: Annotated[str, typer.Option(help="The outputs that are judged.")] = "as calibrated",
    decision: Annotated[
        str | None, typer.Option(metavar="BUNDLE", help="An exported decision; no database is needed.")
    ] = None,
    public_key: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="By one of these --decision must be signed; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Open only where an admitted judge's verdicts, corrected for its errors, show the pass rate asked for.

    Without a live admission it stays shut, whatever the verdicts are; imported verdicts need one too.
    """
    from judge.cli.stores import opened
    from judge.gating import Judged, decide_gate, read_judged
    from judge.gating_records import require_recorded

    if pass_at_least is not None and not 0 < pass_at_least <= 1:
        raise typer.BadParameter(f"{pass_at_least} is no rate in (0, 1]", param_hint="--pass-at-least")
    if (pass_at_least is None) != (file is None):
        raise DeclarationError(
            "give both FILE and --pass-at-least, or neither to ask for the admission alone"
        )
    if public_key and not decision:
        raise DeclarationError("--public-key is for an exported decision: name it with --decision")
    keys = tuple(public_key or ())
    grader, rubric_found = _grader(context, rubric, criterion, judge, population, decision, keys=keys)
    chosen = rubric_found.criterion(grader.criterion)
    judged = Judged({})
    if file is not None:
        judged = read_judged(file, chosen, judge=grader.judge.name, rubric=rubric_found.ref)
        _require_own(judged, grader, file)
        _require_asked(judged.header, grader, rubric_found, population, file)
    if file is not None and decision is None and judged.header is not None:
        with opened(context) as store, store.read() as session:
            require_recorded(session=session, judged=judged, criterion=chosen.key, file=file)
    result = decide_gate(judged, grader.report, pass_at_least)
    _print(result, grader, rubric_found, as_json=as_json)
    raise typer.Exit(int(result.outcome))


def _grader(
    context: Any,
    rubric: str | None,
    criterion: str | None,
    judge: str,
    population: str,
    decision: str | None,
    *,
    keys: tuple[str, ...],
) -> tuple[Any, Any]:
    """The admitted judge and the rubric, from the store or from an exported decision."""
    from judge.appointing import appoint, appoint_bundled
    from judge.cli.lookups import recorded_rubric
    from judge.cli.stores import now, opened
    from judge.grade_command import Wanted, bundled_request, read_bundles, request_for

    wanted = Wanted(
        rubric=rubric,
        criteria=(criterion,) if criterion else (),
        judge=judge,
        population=population,
        role="acceptance",  # no verdict in another role opens anything
        people=frozenset(),
        bundles=(decision,) if decision else (),
        key=None,
        out=None,
        public_keys=keys,
    )
    if decision is not None:
        bundles = read_bundles(wanted.bundles, wanted.public_keys)
        request = bundled_request(bundles, wanted)
        (grader,) = appoint_bundled(bundles=bundles, request=request, at=now())
        return grader, request.rubric
    if rubric is None or criterion is None:
        raise DeclarationError("name --rubric and --criterion, or an exported decision with --decision")
    with opened(context) as store, store.read() as session:
        request = request_for(recorded_rubric(session, rubric), wanted)
        (grader,) = appoint(session=session, request=request, at=now())
    return grader, request.rubric


def _require_own(judged: Any, grader: Any, file: str) -> None:
    """Refuse verdicts that do not say that they are this judge's, or rest on another decision."""
    others = judged.judges - {grader.judge.name}
    if others:
        raise DeclarationError(
            f"{file} holds verdicts of {', '.join(sorted(others))}, and the admission is of "
            f"{grader.judge.name}: its error rates say nothing of other judges"
        )
    if judged.decisions - {grader.decision.hash}:
        raise DeclarationError(
            f"{file} was graded by another decision than the one that stands ({grader.decision.hash[:12]}): "
            "grade again"
        )


def _require_asked(header: Any, grader: Any, rubric: Any, population: str, file: str) -> None:
    """Refuse grades that were asked for under another rubric, for other outputs, or of another judge."""
    if header is None:
        return
    said = header.get("graders", {}).get(grader.criterion, {})
    asked = (
        ("rubric", header.get("rubric_digest"), rubric.digest),
        ("population", header.get("population"), population),
        ("judge", said.get("judge"), grader.judge.digest),
        ("decision", said.get("decision"), grader.decision.hash),
    )
    for what, there, own in asked:
        if there != own:
            raise DeclarationError(
                f"{file} was graded under another {what} ({there!r}) than the admission that stands "
                f"({own!r}): grade again"
            )


def _print(result: Any, grader: Any, rubric: Any, *, as_json: bool) -> None:
    from judge.cli.output import print_json, print_lines
    from rubrics.digest import short

    found, judged = result.corrected, result.judged
    word = result.outcome.name.lower()
    if as_json:
        print_json(
            {
                "outcome": word,
                "reason": result.sentence,
                "rubric": rubric.ref,
                "criterion": grader.criterion,
                "judge": grader.judge.name,
                "decision": grader.decision.hash,
                "report": grader.decision.report_digest,
                "pass_at_least": result.least,
                "accepted": judged.accepted,
                "n": len(judged.outcomes),
                "left_out_unaudited": len(judged.unaudited),
                "left_to_people": len(judged.left_to_people),
                "open": judged.open,
                "corrected": found.model_dump(mode="json") if found else None,
            }
        )
        return
    lines = [
        f"{'Open' if word == 'open' else 'Shut' if word == 'shut' else 'Insufficient'}: {result.sentence}."
    ]
    if found is not None and found.estimate is not None:
        lines.append(
            f"{judged.accepted} of {len(judged.outcomes)} accepted; corrected for the judge's errors "
            f"{found.estimate:.1%} [{found.lower:.1%}, {found.upper:.1%}] pass."
        )
    if judged.unaudited:
        lines.append(f"Left out, of systems that nobody audited: {len(judged.unaudited)}.")
    if judged.left_to_people:
        lines.append(f"Left out, left to people: {len(judged.left_to_people)}.")
    lines.append(
        f"{grader.judge.name} on {rubric.ref} {grader.criterion}, by decision {short(grader.decision.hash)}"
        + (f" until {grader.decision.valid_until:%Y-%m-%d}" if grader.decision.valid_until else "")
        + "."
    )
    print_lines(lines)
