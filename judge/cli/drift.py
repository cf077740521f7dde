"""`voirdire drift`: watch an admitted judge by audited failures and anchors; what is noticed is an alarm."""

from __future__ import annotations

from typing import Annotated, Any

import typer

_EPILOG = """
[bold]Examples[/bold]

voirdire drift audit 8908 --dataset audited-in-may

voirdire drift anchors 8908 --dataset anchors

voirdire drift alarm 8908 --trigger sampling --reason "The provider changed its sampling."

[bold]Exit codes[/bold]  0 calm, 1 an alarm was raised, 3 failure, 64 usage.
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Watch an admitted judge: audited failures, anchors, alarms.",
    epilog=_EPILOG,
)

JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
DecisionId = Annotated[str, typer.Argument(metavar="DECISION", help="The first digits of its digest.")]
Dataset = Annotated[str, typer.Option(help="Where items, labels and the judge's verdicts are.")]


def _alarm_object(alarm: Any) -> dict[str, Any]:
    return {
        "decision": alarm.decision,
        "trigger": alarm.trigger,
        "sentence": alarm.sentence,
        "at": alarm.at.isoformat(),
        "by": alarm.actor,
    }


@app.command("audit")
def audit(context: typer.Context, decision: DecisionId, dataset: Dataset, as_json: JSON = False) -> None:
    """Read audited reference failures: an e-value against the policy's limit, and an early warning."""
    from calibration.monitoring import watch_audit
    from calibration.store.decisions import get_decision
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened

    with opened(context) as store, store.write() as session:
        watched = get_decision(session=session, hash_prefix=decision.replace(" ", ""))
        found = watch_audit(session=session, decision=watched, dataset=dataset, actor=actor(), at=now())
    if as_json:
        print_json(
            {
                "accepted": found.accepted,
                "failures": found.failures,
                "limit": found.limit,
                "e_value": found.e_value,
                "alarm_at": found.alarm_at,
                "warned_at": found.warned_at,
                "alarms": [_alarm_object(each) for each in found.alarms],
            }
        )
    else:
        print_lines(
            [
                f"{found.accepted} of {found.failures} audited failures accepted; limit {found.limit:g}; "
                f"e-value {found.e_value:.3g} (alarm at 40).",
                *(f"Alarm, {each.trigger.replace('_', ' ')}: {each.sentence}." for each in found.alarms),
            ]
        )
    if found.alarms:
        raise typer.Exit(1)


@app.command("anchors")
def anchors(context: typer.Context, decision: DecisionId, dataset: Dataset, as_json: JSON = False) -> None:
    """Compare the newest run on fixed items with the first: any changed verdict means another judge."""
    from calibration.monitoring import watch_anchors
    from calibration.store.decisions import get_decision
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened

    with opened(context) as store, store.write() as session:
        watched = get_decision(session=session, hash_prefix=decision.replace(" ", ""))
        found = watch_anchors(session=session, decision=watched, dataset=dataset, actor=actor(), at=now())
    if as_json:
        print_json(
            {
                "anchors": found.anchors,
                "changed": list(found.changed),
                "alarm": _alarm_object(found.alarm) if found.alarm else None,
            }
        )
    else:
        said = f"Alarm: {found.alarm.sentence}." if found.alarm else "No verdict changed."
        print_lines([f"{found.anchors} anchors were judged twice. {said}"])
    if found.alarm:
        raise typer.Exit(1)


@app.command("alarm")
def alarm(
    context: typer.Context,
    decision: DecisionId,
    trigger: Annotated[str, typer.Option(help="What changed: population, sampling, judge, ...")],
    reason: Annotated[str, typer.Option(help="What was noticed.")],
    as_json: JSON = False,
) -> None:
    """Raise an alarm by hand; the decision's policy says whether it suspends or warns."""
    from calibration.policy import TRIGGERS
    from calibration.store.decisions import get_decision
    from calibration.store.watching import raise_alarm
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened

    if trigger not in TRIGGERS:
        raise typer.BadParameter(f"{trigger!r} is none of {', '.join(TRIGGERS)}", param_hint="--trigger")
    with opened(context) as store, store.write() as session:
        watched = get_decision(session=session, hash_prefix=decision.replace(" ", ""))
        raised = raise_alarm(
            session=session,
            decision=watched.hash,
            trigger=trigger,
            sentence=reason,
            actor=actor(),
            at=now(),
        )
    if as_json:
        print_json(_alarm_object(raised))
        return
    print_lines([f"Alarm about decision {watched.hash[:12]}: {raised.trigger}, {raised.sentence}."])


@app.command("alarms")
def alarms(context: typer.Context, decision: DecisionId, as_json: JSON = False) -> None:
    """List the alarms about a decision, oldest first."""
    from calibration.store.decisions import get_decision
    from calibration.store.watching import alarms as raised
    from judge.cli.output import print_json, print_rows
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        watched = get_decision(session=session, hash_prefix=decision.replace(" ", ""))
        found = raised(session=session, decisions=(watched.hash,))
    if as_json:
        print_json({"alarms": [_alarm_object(each) for each in found]})
        return
    rows = [(f"{each.at:%Y-%m-%d %H:%M}", each.trigger, each.sentence, each.actor) for each in found]
    print_rows(("at (UTC)", "trigger", "what was noticed", "by"), rows, empty="No alarm was raised.")
