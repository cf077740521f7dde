"""`voirdire policy`: record, lint, list and show what decides an admission."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from judge.cli.importing import AsJson
from rubrics.errors import DeclarationError

if TYPE_CHECKING:
    from calibration.policy import AdmissionPolicy

_EPILOG = """
[bold]Examples[/bold]

voirdire policy lint strict.yaml

voirdire policy add strict.yaml

voirdire policy show acceptance
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Record, lint, list and show policies.",
    epilog=_EPILOG,
)
File = Annotated[
    str, typer.Argument(metavar="FILE|NAME", help="A YAML file, or the name of a policy that ships.")
]


@app.command("add")
def add(context: typer.Context, file: File, as_json: AsJson = False) -> None:
    """Record a policy; sets frozen from now on can be decided by it.

    A policy that could not even admit a judge without a fault is refused.
    """
    from calibration.policy import load_policy
    from calibration.policy_lint import lint_policy
    from calibration.store.reports import add_policy, get_policy
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened
    from rubrics.digest import short

    policy = load_policy(file)
    problems = lint_policy(policy)
    if problems:
        raise DeclarationError(
            f"{policy.label} cannot do its work and is not recorded: {'; '.join(problems)}"
        )
    with opened(context) as store, store.write() as session:
        new = add_policy(
            session=session,
            digest=policy.digest,
            policy_name=policy.name,
            version=policy.version,
            content=policy.model_dump(mode="json", by_alias=True),
            actor=actor(),
            at=now(),
        )
        stored = get_policy(session=session, policy=policy.digest)
    since = stored.added_at
    if as_json:
        found = {"policy": policy.label, "digest": policy.digest, "added_at": since.isoformat(), "new": new}
        print_json(found)
        return
    said = "Recorded" if new else "Already recorded:"
    print_lines([f"{said} {policy.label} ({short(policy.digest)}), since {since:%Y-%m-%d %H:%M:%S} UTC."])


@app.command("lint")
def lint(file: File, as_json: AsJson = False) -> None:
    """Say what is wrong with a policy before any evidence; exit 1 if something is."""
    from calibration.policy import load_policy
    from calibration.policy_lint import lint_policy
    from judge.cli.output import print_json, print_lines

    policy = load_policy(file)
    problems = lint_policy(policy)
    if as_json:
        print_json({"policy": policy.label, "digest": policy.digest, "problems": list(problems)})
    else:
        print_lines(list(problems) or [f"{policy.label}: nothing wrong is found."])
    raise typer.Exit(1 if problems else 0)


@app.command("list")
def list_(context: typer.Context, as_json: AsJson = False) -> None:
    """List the recorded policies and since when each may decide."""
    from calibration.policy import AdmissionPolicy
    from calibration.store.reports import list_policies
    from judge.cli.output import print_json, print_rows
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        found = list_policies(session=session)
    if as_json:
        print_json({"policies": [_policy_object(stored) for stored in found]})
        return
    rows = []
    for stored in found:
        policy = AdmissionPolicy.model_validate(stored.content)
        limit = f"{policy.primary.upper_at_most:g}"
        since = f"{stored.added_at:%Y-%m-%d %H:%M}"
        looks = str(policy.looks.max)
        rows.append((policy.label, policy.role, limit, looks, since))
    head = ("policy", "role", "FAR at most", "looks", "recorded (UTC)")
    print_rows(head, rows, empty="No policy is recorded.")


@app.command("show")
def show(
    context: typer.Context,
    policy: Annotated[
        str, typer.Argument(metavar="NAME[@V]", help="A recorded policy; without @V its newest version.")
    ],
    as_json: AsJson = False,
) -> None:
    """Show a recorded policy: its gate, minimum, guards and what else it demands."""
    from calibration.policy import AdmissionPolicy
    from calibration.store.reports import get_policy
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        stored = get_policy(session=session, policy=policy)
    if as_json:
        print_json({**_policy_object(stored), "content": dict(stored.content)})
        return
    print_lines(_in_words(AdmissionPolicy.model_validate(stored.content), stored))


def _policy_object(stored: Any) -> dict[str, Any]:
    return {
        "policy": f"{stored.name}@{stored.version}",
        "digest": stored.digest,
        "added_at": stored.added_at.isoformat(),
        "added_by": stored.added_by,
    }


def _in_words(policy: AdmissionPolicy, stored: Any) -> list[str]:
    from rubrics.digest import short

    gate, minimum = policy.primary, policy.minimum
    lines = [
        f"{policy.label} ({short(stored.digest)})",
        f"  recorded {stored.added_at:%Y-%m-%d %H:%M:%S} UTC by {stored.added_by}",
        *([f"  {policy.description}"] if policy.description else []),
        f"  role {policy.role}",
        f"  gate: false acceptance, upper end of the {'one' if gate.sided == 1 else 'two'}-sided "
        f"{gate.confidence:.0%} interval at most {gate.upper_at_most:g}",
        f"  looks: {policy.looks.max}, the error divided among them",
    ]
    needed = {
        "fail": "reference failures",
        "passing": "reference passes",
        "cases": "cases",
        "raters_per_case": "raters per case",
    }
    lines += [
        f"  at least {getattr(minimum, key)} {words}"
        for key, words in needed.items()
        if getattr(minimum, key)
    ]
    if minimum.evidence_grade is not None:
        lines.append(f"  evidence at least: {minimum.evidence_grade.value.replace('_', ' ')}")
    for name, guard in policy.guards.items():
        lines.append(f"  {name.replace('_', ' ')}: {guard.comparison.replace('_', ' ')} {guard.limit:g}")
    demands = ["blind raters"] if policy.reference.blind else []
    demands += ["constructed evidence may decide"] if policy.reference.allow_constructed else []
    lines.append(f"  reference by {policy.reference.label_rule.value}" + "".join(f", {d}" for d in demands))
    lines.append(f"  a decision holds for {policy.expiry.days} days")
    return lines
