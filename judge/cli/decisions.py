"""`voirdire decisions`: list, show and suspend signed decisions."""

from __future__ import annotations

from typing import Annotated, Any

import typer

_EPILOG = """
[bold]Examples[/bold]

voirdire decisions list --expiring-in 14

voirdire decisions show 8908

voirdire decisions suspend 8908 --sign "R. Ito" --reason "The provider changed the model."
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="List, show and suspend signed decisions.",
    epilog=_EPILOG,
)

JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def decision_object(stored: Any) -> dict[str, Any]:
    """A signed decision as JSON."""
    scope = stored.scope
    return {
        "decision": stored.hash,
        "number": stored.seq,
        "outcome": stored.outcome,
        "judge": stored.content.get("judge"),
        "judge_digest": scope.judge_digest,
        "rubric": stored.content.get("rubric"),
        "rubric_digest": scope.rubric_digest,
        "criterion": scope.criterion,
        "population": scope.population,
        "role": scope.role,
        "report": stored.report_digest,
        "policy": stored.policy_digest,
        "signer": stored.signer,
        "signer_established": stored.content.get("signer_established"),
        "reason": stored.content.get("reason"),
        "constructed": stored.content.get("constructed"),
        "valid_until": stored.valid_until.isoformat() if stored.valid_until else None,
        "decided_at": stored.decided_at.isoformat(),
        "supersedes": stored.supersedes,
        "previous": stored.prev_hash,
        "content": dict(stored.content),
    }


@app.command("list")
def list_(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Replaced decisions too.")] = False,
    expiring_in: Annotated[
        int | None,
        typer.Option(
            metavar="DAYS", min=0, help="Only admissions that lapse so soon; exit 1 if there is any."
        ),
    ] = None,
    as_json: JSON = False,
) -> None:
    """List the decisions that stand, newest last."""
    from datetime import timedelta

    from calibration.registry import expiring
    from calibration.store.decisions import iter_decisions
    from judge.cli.output import print_json, print_rows
    from judge.cli.stores import now, opened
    from rubrics.digest import short

    with opened(context) as store, store.read() as session:
        found = list(iter_decisions(session=session, standing=not every))
    if expiring_in is not None:
        found = list(expiring(found, within=timedelta(days=expiring_in), at=now()))
    if as_json:
        print_json({"decisions": [decision_object(stored) for stored in found]})
    else:
        rows = [
            (
                short(stored.hash),
                _standing(stored, now()),
                str(stored.content.get("judge")),
                f"{stored.content.get('rubric')} {stored.scope.criterion}",
                stored.scope.role,
                f"{stored.valid_until:%Y-%m-%d}" if stored.valid_until else "-",
                stored.signer,
            )
            for stored in found
        ]
        head = ("decision", "outcome", "judge", "rubric and criterion", "role", "until", "signer")
        print_rows(head, rows, empty="No decision stands.")
    if expiring_in is not None and found:
        raise typer.Exit(1)


def _standing(stored: Any, at: Any) -> str:
    lapsed = stored.valid_until is not None and at >= stored.valid_until
    return "lapsed" if lapsed else str(stored.outcome).replace("_", " ")


@app.command("show")
def show(
    context: typer.Context,
    decision: Annotated[str, typer.Argument(help="The first digits of its digest.")],
    as_json: JSON = False,
) -> None:
    """Show one decision with its items, reasons and digests."""
    from calibration.store.decisions import get_decision
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import now, opened
    from rubrics.digest import short

    with opened(context) as store, store.read() as session:
        stored = get_decision(session=session, hash_prefix=decision.replace(" ", ""))
    if as_json:
        print_json(decision_object(stored))
        return
    content = stored.content
    items = content.get("decision", {}).get("items", [])
    print_lines(
        [
            f"Decision {short(stored.hash)}, number {stored.seq}: {_standing(stored, now())}.",
            f"{content.get('judge')} on {content.get('rubric')} {stored.scope.criterion}, "
            f"{stored.scope.role}, {stored.scope.population}.",
            *(f"  {i['name']}: {i['status']} (value {i['value']}, limit {i['limit']})" for i in items),
            f"Signed by {stored.signer} ({content.get('signer_established')}), "
            f"{stored.decided_at:%Y-%m-%d %H:%M} UTC: {content.get('reason')}",
            *(["Constructed evidence: says nothing of real outputs."] if content.get("constructed") else []),
            f"Report {short(stored.report_digest)}, policy {short(stored.policy_digest)}, "
            f"judge {short(stored.scope.judge_digest)}, rubric {short(stored.scope.rubric_digest)}.",
        ]
    )


@app.command("suspend")
def suspend(
    context: typer.Context,
    decision: Annotated[str, typer.Argument(help="The first digits of its digest.")],
    sign: Annotated[str, typer.Option(metavar="NAME", help="Who signs.")],
    reason: Annotated[str, typer.Option(help="Why it no longer holds.")],
    as_json: JSON = False,
) -> None:
    """End an admission without judging the judge; grading is refused from now on."""
    from calibration.registry import Signature
    from calibration.registry import suspend as suspend_decision
    from calibration.store.decisions import get_decision
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import now, opened
    from rubrics.digest import short

    with opened(context) as store, store.write() as session:
        standing = get_decision(session=session, hash_prefix=decision.replace(" ", ""))
        stored = suspend_decision(
            session=session, standing=standing, signature=Signature(sign, reason), at=now()
        )
    if as_json:
        print_json(decision_object(stored))
        return
    print_lines([f"Suspended {short(standing.hash)} by decision {short(stored.hash)}."])
