"""`voirdire admit`: sign what a policy says of a judge on a report."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from judge.cli.roles import check_role

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

_EPILOG = """
[bold]Example[/bold]

voirdire admit --judge gpt --criterion resolves_request --set may --policy acceptance --sign "R. Ito" \
--reason "Both slices read; the accepted failure was inspected."

[bold]Exit codes[/bold]  0 admitted, 1 rejected, 2 insufficient evidence (each is recorded), \
3 failure, 64 usage.
"""


@app.command(epilog=_EPILOG)
def admit(
    context: typer.Context,
    judge: Annotated[str, typer.Option(help="The judge.")],
    criterion: Annotated[str, typer.Option(help="Criterion of the rubric.")],
    policy: Annotated[str, typer.Option(metavar="NAME", help="A recorded policy.")],
    sign: Annotated[str, typer.Option(metavar="NAME", help="Who signs.")],
    reason: Annotated[str, typer.Option(help="What was read and why it suffices.")],
    set_ref: Annotated[str | None, typer.Option("--set", help="A frozen set.")] = None,
    dataset: Annotated[str | None, typer.Option(help="A dataset's convenience set.")] = None,
    report: Annotated[
        str | None, typer.Option(metavar="DIGEST", help="The report's set, by the digest of the report.")
    ] = None,
    rubric: Annotated[
        str | None, typer.Option(metavar="NAME[@V]", help="Default: the one under which items are labelled.")
    ] = None,
    role: Annotated[str, typer.Option(help="acceptance, review_trigger or diagnostic.")] = "acceptance",
    population: Annotated[str, typer.Option(help="The outputs it is for.")] = "as calibrated",
    replaces: Annotated[
        str | None, typer.Option(metavar="D", help="The decision that was read and is replaced.")
    ] = None,
    override_days: Annotated[
        int | None,
        typer.Option(metavar="DAYS", help="Admit against the policy for so long; needs --second."),
    ] = None,
    second: Annotated[
        str | None, typer.Option(metavar="NAME", help="The second, different signer of an override.")
    ] = None,
    second_reason: Annotated[str, typer.Option(help="Why the second signer agrees.")] = "",
    signing_key: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Sign it with this Ed25519 key too (PEM, readable by you alone)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the decision as JSON.")] = False,
) -> None:
    """Decide by the policy and sign the outcome, whatever it is; only an admission lets the judge grade.

    The report is made anew from what is recorded: labels or verdicts added since then are a new look.
    """
    from calibration.calibrate import Asked
    from calibration.calibrate import calibrate as run
    from calibration.evidence import AdmissionOutcome
    from calibration.registry import Override, Signature
    from calibration.registry import sign as sign_decision
    from calibration.store.decisions import DecisionScope
    from calibration.store.judges import get_judge
    from judge.cli.lookups import exploratory, recorded_policy, rubric_of_labels, tell_families
    from judge.cli.output import exit_code
    from judge.cli.stores import actor, newest_decision, now, opened

    _require_sense(role, override_days, second, second_reason)
    override = None
    if second is not None and override_days is not None:
        override = Override(Signature(second, second_reason), override_days)
    who = actor()
    with opened(context) as store, newest_decision(store) as seen, store.write() as session:
        at = now()  # not before opening: that may have recorded the shipped policies
        evidence = _evidence(session, report, set_ref, dataset, who, at)
        chosen, recorded_at = recorded_policy(session, name_or_file=policy, far_limit=None, actor=who, at=at)
        published = rubric_of_labels(session, evidence, rubric)
        found = get_judge(session=session, judge=judge)
        asked = Asked(
            evidence=evidence,
            rubric=published,
            criterion=criterion,
            judges=(found,),
            policy=chosen,
            actor=who,
            exploratory=exploratory(chosen, recorded_at, evidence),
        )
        tell_families(session, asked.judges, evidence)
        (examination,) = run(session=session, asked=asked, at=at).comparison.examinations
        if chosen is None or examination.decision is None:  # a policy was given, so both exist
            raise typer.BadParameter("admit needs --policy")
        stored = sign_decision(
            session=session,
            scope=DecisionScope(found.digest, published.digest, criterion, population, role),
            report=examination.report,
            decision=examination.decision,
            policy=chosen,
            signature=Signature(
                sign, reason, replaces=replaces.replace(" ", "") if replaces else None, seen=seen
            ),
            at=at,
            override=override,
        )
        _sign_with_key(session, stored, signing_key, who, at)
    _print(stored, examination, as_json=as_json)
    raise typer.Exit(exit_code([AdmissionOutcome(stored.outcome)]))


def _require_sense(role: str, days: int | None, second: str | None, second_reason: str) -> None:
    """Refuse a role that there is none of, and an override that is given in part: it would be dropped."""
    check_role(role)
    if (days is None) != (second is None):
        raise typer.BadParameter("an override needs both --override-days and --second")
    if second_reason and second is None:
        raise typer.BadParameter("--second-reason is of a second signer; name them with --second")
    if days is not None and days < 1:
        raise typer.BadParameter(
            f"an override holds for a day at least, not for {days}", param_hint="--override-days"
        )
    if second is not None and not second.strip():
        raise typer.BadParameter(f"{second!r} is no name; say who signs second", param_hint="--second")


def _sign_with_key(session: Any, stored: Any, key_file: str | None, who: str, at: Any) -> None:
    """A detached signature beside the decision, where a key is given."""
    from calibration.registry.detached import record_signature, sign_detached

    if key_file is not None:
        made = sign_detached(decision=stored, key_file=key_file)
        record_signature(session=session, signature=made, actor=who, at=at)


def _evidence(
    session: Any, report: str | None, set_ref: str | None, dataset: str | None, who: str, at: Any
) -> Any:
    """The set of the report, or the one that is named."""
    from calibration.calibrate.evidence_set import open_set
    from calibration.store.reports import get_report
    from calibration.store.sets import get_set_by_digest
    from judge.cli.lookups import evidence_of
    from rubrics.errors import RecordError

    if report is None:
        return evidence_of(session, dataset=dataset, set_ref=set_ref, actor=who, at=at)
    stored = get_report(session=session, digest_prefix=report.replace(" ", ""))
    if stored.set_digest is None:
        raise RecordError(f"report {report!r} is bound to no set; calibrate on a set or dataset")
    return open_set(session=session, ref=get_set_by_digest(session=session, digest=stored.set_digest).ref)


def _print(stored: Any, examination: Any, *, as_json: bool) -> None:
    from judge.cli.decisions import decision_object
    from judge.cli.output import print_json, print_lines, print_words
    from rubrics.digest import short

    if as_json:
        print_json({**decision_object(stored), "report": examination.to_json()})
        return
    print_words(examination, explain=False)
    against = " against the policy" if stored.content.get("override") else ""
    instead = f" It replaces decision {short(stored.supersedes)}." if stored.supersedes else ""
    until = f", valid until {stored.valid_until:%Y-%m-%d %H:%M} UTC" if stored.valid_until else ""
    print_lines(
        [
            f"Signed by {stored.signer} (local, unverified): {stored.outcome}{against}{until}. "
            f"Decision {short(stored.hash)}.{instead}",
            *([f"Why not admitted: {withheld}."] if (withheld := stored.content.get("withheld")) else []),
        ]
    )
