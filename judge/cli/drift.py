"""`voirdire drift`: watch an admitted judge by audited failures and anchors; what is noticed is an alarm."""

from __future__ import annotations

from typing import Annotated, Any

import typer

_EPILOG = """
[bold]Examples[/bold]

voirdire drift audit 8908 --dataset audited-in-may

voirdire drift anchors 8908 --dataset anchors

voirdire drift systems 8908

voirdire drift draw 8908 answers.jsonl --system helper-9 --session audit-may --rater ann --rater ben

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


@app.command("systems")
def systems(context: typer.Context, decision: DecisionId, as_json: JSON = False) -> None:
    """List the systems that wrote no calibrated output, and what the audit of each has shown."""
    from calibration.registry.auditing import system_audits
    from calibration.store.decisions import get_decision
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        watched = get_decision(session=session, hash_prefix=decision.replace(" ", ""))
        found = system_audits(session=session, decision=watched)
    if as_json:
        print_json({"systems": [_audit_object(each) for each in found]})
        return
    lines = [line for each in found for line in _audit_words(each, watched.hash[:12])]
    print_lines(
        lines or ["Every system that was graded wrote calibrated outputs too: no audit is asked for."]
    )


def _audit_object(audit: Any) -> dict[str, Any]:
    draw = audit.draw
    return {
        "system": audit.system,
        "graded": audit.graded,
        "session": draw.session_name if draw else None,
        "cells": [
            {"accepted": cell["accepted"], "cases": cell["cases"], "drawn": len(cell["items"])}
            for cell in (draw.cells if draw else ())
        ],
        "labelled": audit.labelled,
        "failures": audit.failures,
        "failures_needed": audit.needed,
        "far": audit.far.estimate if audit.far else None,
        "lower": audit.lower,
        "upper": audit.upper,
        "limit": audit.limit,
        "holds": audit.holds,
    }


def _audit_words(audit: Any, decision: str) -> list[str]:
    from calibration.rendering.numbers import fixed, percent
    from calibration.rendering.text import visible

    def shown(rate: float) -> str:
        return percent(fixed(100 * rate, 1))

    name, draw = visible(audit.system), audit.draw
    if draw is None:
        return [
            f"{name}: {audit.graded:,} outputs graded, none audited. Next: voirdire drift draw {decision} "
            "FILE --system NAME --session NAME --rater NAME --rater NAME"
        ]
    drawn = sum(len(cell["items"]) for cell in draw.cells)
    lines = [f"{name}: {audit.graded:,} outputs graded; {audit.labelled:,} of {drawn:,} drawn are labelled."]
    if audit.far is None or audit.upper is None:
        return [
            *lines,
            f"  No FAR yet: no failure among them, or too few labels (session {draw.session_name}).",
        ]
    lines.append(
        f"  FAR {shown(audit.far.estimate)} [{shown(audit.lower or 0.0)}, {shown(audit.upper)}] on "
        f"{audit.failures:,} failures; limit {shown(audit.limit)}, {audit.needed:,} failures are asked for."
    )
    held = "Its outputs are graded like those of a calibrated system." if audit.holds else (
        "Its outputs stay flagged: candidate not audited."
    )  # fmt: skip
    return [*lines, f"  {held}"]


@app.command("draw")
def draw(
    context: typer.Context,
    decision: DecisionId,
    file: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="The outputs of the system as they were graded.")
    ],
    system: Annotated[str, typer.Option(help="The system, as its outputs name it.")],
    session_name: Annotated[str, typer.Option("--session", metavar="NAME", help="Name of the session.")],
    rater: Annotated[list[str], typer.Option(metavar="NAME", help="Who rates; repeatable.")],
    accepted: Annotated[int, typer.Option(min=1, help="How many of the accepted outputs.")] = 100,
    not_accepted: Annotated[int, typer.Option(min=1, help="How many of the others.")] = 100,
    per_item: Annotated[int, typer.Option(min=1, help="Raters of each output.")] = 2,
    adjudicator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Who resolves disagreements; repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Makes the draw repeatable.")] = 0,
    as_json: JSON = False,
) -> None:
    """Draw accepted and other outputs of a system at random into a labeling session, to audit it."""
    from calibration.interchange.native.unrecorded import read_items
    from calibration.registry.auditing import SystemDraw, draw_system
    from calibration.store.decisions import get_decision
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened

    items = [item for each in file for item in read_items(each)]
    with opened(context) as store, store.write() as session:
        watched = get_decision(session=session, hash_prefix=decision.replace(" ", ""))
        asked = SystemDraw(
            decision=watched,
            system=system,
            items=items,
            accepted=accepted,
            not_accepted=not_accepted,
            session_name=session_name,
            raters=tuple(rater),
            adjudicators=tuple(adjudicator or ()),
            raters_per_item=per_item,
            seed=seed,
        )
        drawn = draw_system(session=session, asked=asked, actor=actor(), at=now())
    cells = [
        {"accepted": cell["accepted"], "cases": cell["cases"], "drawn": len(cell["items"])}
        for cell in drawn.cells
    ]
    if as_json:
        print_json({"system": system, "session": session_name, "set": drawn.set_digest, "cells": cells})
        return
    parts = [
        f"{cell['drawn']:,} of {cell['cases']:,} {'accepted' if cell['accepted'] else 'other'}"
        for cell in cells
    ]
    print_lines(
        [
            f"Drawn at random: {', '.join(parts)} outputs; session {session_name} is open.",
            f"Next: voirdire ui rate --as {rater[0]}",
        ]
    )
