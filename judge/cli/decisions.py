"""`voirdire decisions`: list, show, compare, suspend and carry over signed decisions."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from judge.cli.card import card
from judge.cli.signing import PublicKeys, signature_lines
from judge.cli.signing import sign as sign_with_key

_EPILOG = """
[bold]Examples[/bold]

voirdire decisions expiring --within 14

voirdire decisions show 8908

voirdire decisions suspend 8908 --sign "R. Ito" --reason "The provider changed the model."
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="List, show, compare, suspend and carry over signed decisions.",
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
    from calibration.store.watching import known_moment, lapsed
    from judge.cli.output import print_json, print_rows
    from judge.cli.stores import now, opened
    from rubrics.digest import short

    with opened(context) as store, store.read() as session:
        found = list(iter_decisions(session=session, standing=not every))
        at = known_moment(session=session, at=now())
        over = {each.hash for each in found if lapsed(session=session, decision=each.hash)}
    stand = len(found)
    if expiring_in is not None:
        found = list(expiring(found, within=timedelta(days=expiring_in), at=at))
    if as_json:
        print_json({"decisions": [decision_object(stored) for stored in found]})
    else:
        rows = [
            (
                short(stored.hash),
                "lapsed" if stored.hash in over else _standing(stored, at),
                str(stored.content.get("judge")),
                f"{stored.content.get('rubric')} {stored.scope.criterion}",
                stored.scope.role,
                f"{stored.valid_until:%Y-%m-%d}" if stored.valid_until else "-",
                stored.signer,
            )
            for stored in found
        ]
        head = ("decision", "outcome", "judge", "rubric and criterion", "role", "until", "signer")
        stands = "1 decision stands" if stand == 1 else f"{stand:,} decisions stand"
        within = f"No admission lapses within {expiring_in} days; {stands}."
        print_rows(head, rows, empty=within if stand and expiring_in is not None else "No decision stands.")
    if expiring_in is not None and found:
        raise typer.Exit(1)


@app.command("expiring")
def expiring_(
    context: typer.Context,
    within: Annotated[int, typer.Option(metavar="DAYS", min=0, help="Lapsing within so many days.")],
    as_json: JSON = False,
) -> None:
    """List the standing admissions that lapse soon or have lapsed; exit 1 if there is any."""
    list_(context, expiring_in=within, as_json=as_json)


def _standing(stored: Any, at: Any) -> str:
    lapsed = stored.valid_until is not None and at >= stored.valid_until
    return "lapsed" if lapsed else str(stored.outcome).replace("_", " ")


@app.command("show")
def show(
    context: typer.Context,
    decision: Annotated[str, typer.Argument(help="The first digits of its digest.")],
    public_key: PublicKeys = None,
    as_json: JSON = False,
) -> None:
    """Show one decision with its items, reasons and digests; with --public-key, only if it is signed."""
    from calibration.registry.detached import read_public_keys, require_signed, signatures_of
    from calibration.store.decisions import get_decision
    from calibration.store.watching import known_moment
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import now, opened
    from rubrics.digest import short

    with opened(context) as store, store.read() as session:
        stored = get_decision(session=session, hash_prefix=decision.replace(" ", ""))
        signatures = signatures_of(session=session, decision=stored.hash)
        at = known_moment(session=session, at=now())
    keys = read_public_keys(public_key or ())
    held = require_signed(stored.hash, signatures, keys, what="the decision") if keys else None
    if as_json:
        print_json({**decision_object(stored), "signatures": [each.to_json() for each in signatures]})
        return
    content = stored.content
    items = content.get("decision", {}).get("items", [])
    print_lines(
        [
            f"Decision {short(stored.hash)}, number {stored.seq}: {_standing(stored, at)}.",
            f"{content.get('judge')} on {content.get('rubric')} {stored.scope.criterion}, "
            f"{stored.scope.role}, {stored.scope.population}.",
            *(f"  {i['name']}: {i['status']} (value {i['value']}, limit {i['limit']})" for i in items),
            f"Signed by {stored.signer} ({content.get('signer_established')}), "
            f"{stored.decided_at:%Y-%m-%d %H:%M} UTC: {content.get('reason')}",
            *_besides(content),
            *signature_lines(signatures, held),
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


def _besides(content: Any) -> list[str]:
    """Who else signed, and what was carried over from where."""
    lines = []
    if most := content.get("most_attempts"):
        lines.append(f"Covers at most {most:,} attempts of an item; further ones go to people.")
    if withheld := content.get("withheld"):
        lines.append(f"Not admitted by one signature: {withheld}.")
    if override := content.get("override"):
        lines.append(
            f"Against the policy, which says {override['policy_outcome'].replace('_', ' ')}; also signed by "
            f"{override['second_signer']} ({override['second_established']}): {override['second_reason']}"
        )
    if carried := content.get("carried_over"):
        lines.append(f"Carried over from decision {carried['from'][:12]} as not substantive:")
        lines += [f"  {each['part']}: {each['words']}" for each in carried["words"]]
    return lines


@app.command("compare")
def compare(
    context: typer.Context,
    incumbent: Annotated[str, typer.Argument(help="The first digits of one decision's digest.")],
    challenger: Annotated[str, typer.Argument(help="Of the other's.")],
    as_json: JSON = False,
) -> None:
    """Show two decisions item by item: what stands, and what would take its place."""
    from calibration.registry import side_by_side
    from calibration.store.decisions import get_decision
    from judge.cli.output import print_json, print_lines, print_rows
    from judge.cli.stores import opened
    from rubrics.digest import short

    with opened(context) as store, store.read() as session:
        sides = [
            get_decision(session=session, hash_prefix=each.replace(" ", ""))
            for each in (incumbent, challenger)
        ]
    rows = list(side_by_side(*sides))
    if as_json:
        items = [{"name": r.name, "incumbent": r.incumbent, "challenger": r.challenger} for r in rows]
        print_json({"decisions": [decision_object(each) for each in sides], "items": items})
        return
    print_lines(
        [
            f"{short(each.hash)}: {each.content.get('judge')} on {each.content.get('rubric')} "
            f"{each.scope.criterion}, {each.outcome.replace('_', ' ')}."
            for each in sides
        ]
    )
    heads = ("item", *(f"{short(each.hash)} {each.content.get('judge')}" for each in sides))
    print_rows(heads, [(r.name, r.incumbent, r.challenger) for r in rows], empty="No item was decided.")


@app.command("carry")
def carry(
    context: typer.Context,
    decision: Annotated[str, typer.Argument(help="The first digits of the admission's digest.")],
    sign: Annotated[str, typer.Option(metavar="NAME", help="Who signs.")],
    reason: Annotated[str, typer.Option(help="Why nothing of substance changed.")],
    rubric: Annotated[str | None, typer.Option(metavar="NAME@V", help="The reworded rubric.")] = None,
    judge: Annotated[str | None, typer.Option(help="The judge with the reworded prompt.")] = None,
    as_json: JSON = False,
) -> None:
    """Carry an admission over to a rubric or prompt of which only words changed; each word is recorded.

    Refused where a rule changed, or anything of the judge but its prompt. It lapses when the first would.
    """
    from calibration.registry import Signature, carry_over
    from calibration.store.decisions import get_decision
    from calibration.store.judges import get_judge
    from judge.cli.lookups import recorded_rubric
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import now, opened
    from rubrics.digest import short

    with opened(context) as store, store.write() as session:
        stored = carry_over(
            session=session,
            standing=get_decision(session=session, hash_prefix=decision.replace(" ", "")),
            signature=Signature(sign, reason),
            at=now(),
            rubric=recorded_rubric(session, rubric) if rubric else None,
            judge=get_judge(session=session, judge=judge) if judge else None,
        )
    if as_json:
        print_json(decision_object(stored))
        return
    print_lines([f"Decision {short(stored.hash)} stands for the new version.", *_besides(stored.content)])


@app.command("export")
def export(
    context: typer.Context,
    decision: Annotated[str, typer.Argument(help="The first digits of the admission's digest.")],
    bundle: Annotated[str, typer.Option(metavar="FILE", help="Where to write it; must not exist.")],
    as_json: JSON = False,
) -> None:
    """Write an admission as one file by which outputs are graded without the database.

    It holds the report, policy, rubric and judge and the chain up to its head, and no text of any item. Keep
    the printed head elsewhere: whoever compares it knows that nothing was made up.
    """
    from pathlib import Path

    from calibration.registry.bundle import bundle_summary, export_bundle, open_bundle
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import now, opened
    from rubrics.errors import DeclarationError

    path = Path(bundle)
    with opened(context) as store, store.read() as session:
        written = export_bundle(session=session, decision_prefix=decision.replace(" ", ""), at=now())
    try:
        with path.open("xb") as file:
            file.write(written)
    except OSError as error:
        raise DeclarationError(f"cannot write --bundle {bundle!r} ({error.strerror})") from error
    found = bundle_summary(open_bundle(written, source=bundle))
    if as_json:
        print_json(dict(found))
        return
    print_lines(
        [
            f"Wrote {bundle}: {found['judge']} on {found['rubric']} {found['criterion']}, until "
            f"{found['valid_until'] or 'it is replaced'}.",
            f"Decision {found['decision']}",
            f"Head {found['head']['number']} {found['head']['hash']}",
        ]
    )


app.command("card")(card)
app.command("sign")(sign_with_key)
