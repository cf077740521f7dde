"""`voirdire compare` and `voirdire judge compare`: two judges, or two systems, on the same items."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from calibration.labels import ReferenceRule
from judge.cli.importing import AsJson

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

EPILOG = """
[bold]Examples[/bold]

voirdire compare gpt-old gpt-new --set may --criterion resolves_request

voirdire compare bot-1 bot-2 --dataset support --criterion resolves_request --gate

[bold]Exit codes[/bold]  0; with --gate 0 no rise beyond the margin, 1 a rise beyond it, 2 insufficient \
evidence; 3 failure, 64 usage.
"""


@app.command(epilog=EPILOG)
def compare(
    context: typer.Context,
    old: Annotated[str, typer.Argument(metavar="A", help="The judge, or system, that is in use.")],
    new: Annotated[str, typer.Argument(metavar="B", help="The one that is compared with it.")],
    criterion: Annotated[str, typer.Option(help="Criterion of the rubric.")],
    dataset: Annotated[str | None, typer.Option(help="All calibration items of a dataset.")] = None,
    set_ref: Annotated[
        str | None, typer.Option("--set", metavar="NAME[@V]", help="The members of a frozen set.")
    ] = None,
    rubric: Annotated[
        str | None, typer.Option(metavar="NAME[@V]", help="Default: the one under which items are labelled.")
    ] = None,
    reference: Annotated[
        ReferenceRule, typer.Option(help="How raters become a reference.")
    ] = ReferenceRule.MAJORITY,
    judge: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of two systems: judge by its verdicts, not by labels.")
    ] = None,
    margin: Annotated[
        float, typer.Option(min=0.001, max=0.5, metavar="RATE", help="Differences that make no difference.")
    ] = 0.05,
    gate: Annotated[
        bool, typer.Option("--gate", help="Let the exit code say whether B may replace A.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare two judges, or two systems, on the same items: paired rates, and one word.

    Judges: false acceptances on failures, non-acceptance on passes, the bridge for old pass rates, and how
    often both are wrong together. Systems: how often each is not accepted, input by input.
    """
    from calibration.labeling.sessions import close_due
    from calibration.store.judges import get_judge
    from judge.cli.lookups import evidence_of, rubric_of_labels
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened
    from judge.comparing import (
        Ground,
        gate_code,
        judge_words,
        judges_compared,
        system_words,
        systems_compared,
    )

    at, who = now(), actor()
    with opened(context) as store, store.write() as session:
        close_due(session=session, at=at)
        evidence = evidence_of(session, dataset=dataset, set_ref=set_ref, actor=who, at=at)
        published = rubric_of_labels(session, evidence, rubric)
        asked = published.criterion(criterion)
        ground = Ground(evidence, published, asked, reference, margin, who, at)
        judges = [_judge(session, name) for name in (old, new)]
        if judges[0] is not None and judges[1] is not None and judge is None:
            pair = judges_compared(session, ground, judges[0], judges[1])
            told, lines = pair.to_json(), list(judge_words(pair, old, new))
            errors = [pair.far, pair.non_acceptance]
        else:
            by = get_judge(session=session, judge=judge) if judge else None
            systems = systems_compared(session, ground, old, new, judge=by)
            told, lines, errors = systems.to_json(), list(system_words(systems)), [systems.failing]
    code = gate_code(errors, max_rise=margin)
    if as_json:
        print_json({"old": old, "new": new, **told, **({"gate": _GATE[code]} if gate else {})})
    else:
        print_lines([*lines, *([f"  gate: {_GATE[code]}"] if gate else [])])
    raise typer.Exit(code if gate else 0)


_GATE = {0: "pass", 1: "fail", 2: "insufficient_evidence"}


def _judge(session: Any, name: str) -> Any:
    from calibration.store.judges import get_judge
    from rubrics.errors import RecordError

    try:
        return get_judge(session=session, judge=name)
    except RecordError:
        return None
