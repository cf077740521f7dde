"""`voirdire policy`: record, lint, list, show and compare what decides an admission."""

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

voirdire policy diff acceptance strict.yaml
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Record, lint, list, show and compare policies.",
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
        _require_free(session, policy)
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


def _require_free(session: Any, policy: AdmissionPolicy) -> None:
    """Refuse another policy under a name and version that are taken, as of rubrics."""
    from calibration.store.reports import list_policies
    from rubrics.digest import short
    from rubrics.errors import DifferentRecord

    for each in list_policies(session=session):
        same = (each.name, each.version) == (policy.name, policy.version)
        if same and each.digest != policy.digest:
            raise DifferentRecord(
                f"{policy.label} is recorded with other content ({short(each.digest)}, since "
                f"{each.added_at:%Y-%m-%d %H:%M} UTC); give the changed policy a new version"
            )


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
        limit = f"{policy.primary.upper_at_most:g}" if policy.gate else "-"
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


@app.command("diff")
def diff(
    context: typer.Context,
    old: Annotated[str, typer.Argument(metavar="A", help="A recorded policy, one that ships, or a file.")],
    new: Annotated[str, typer.Argument(metavar="B", help="The one to compare with it.")],
    as_json: AsJson = False,
) -> None:
    """Show what differs between two policies and which changes let more judges in."""
    from calibration.admission.policy_diff import diff_policies
    from judge.cli.output import print_json, print_lines, print_rows
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        before, after = (_named(session, name) for name in (old, new))
    changes = diff_policies(before, after)
    if as_json:
        found = [
            {"field": c.field, "before": c.before, "after": c.after, "direction": c.direction.value}
            for c in changes
        ]
        print_json({"old": before.label, "new": after.label, "changes": found})
        return
    print_lines([f"{before.label} -> {after.label}"])
    rows = [(c.field, _said(c.before), _said(c.after), c.direction.value) for c in changes]
    print_rows(("field", before.label, after.label, ""), rows, empty="They decide alike.")


def _named(session: Any, name: str) -> AdmissionPolicy:
    """A recorded policy, or one that ships or lies in a file."""
    from calibration.policy import AdmissionPolicy, load_policy
    from calibration.store.reports import get_policy
    from rubrics.errors import RecordError

    try:
        return AdmissionPolicy.model_validate(get_policy(session=session, policy=name).content)
    except RecordError:
        return load_policy(name)


def _said(value: Any) -> str:
    """A value of a policy as a person reads it; - where there is none."""
    if value is None:
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _policy_object(stored: Any) -> dict[str, Any]:
    return {
        "policy": f"{stored.name}@{stored.version}",
        "digest": stored.digest,
        "added_at": stored.added_at.isoformat(),
        "added_by": stored.added_by,
    }


def _in_words(policy: AdmissionPolicy, stored: Any) -> list[str]:
    from rubrics.digest import short

    minimum = policy.minimum
    lines = [
        f"{policy.label} ({short(stored.digest)})",
        f"  recorded {stored.added_at:%Y-%m-%d %H:%M:%S} UTC by {stored.added_by}",
        *([f"  {policy.description}"] if policy.description else []),
        f"  role {policy.role}",
        *_gate_words(policy),
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
    lines += _part_words(policy)
    demands = ["blind raters"] if policy.reference.blind else []
    demands += ["constructed evidence may decide"] if policy.reference.allow_constructed else []
    lines.append(f"  reference by {policy.reference.label_rule.value}" + "".join(f", {d}" for d in demands))
    uses = f" or {policy.expiry.deployments:,} grades" if policy.expiry.deployments else ""
    lines.append(f"  a decision holds for {policy.expiry.days} days{uses}")
    if policy.most_attempts is not None:
        lines.append(
            f"  an item is graded at most {policy.most_attempts} times on one decision, then by people"
        )
    stopping = [word for word in policy.recalibrate_on if policy.suspends(word)]
    if stopping:
        lines.append(f"  suspended by a change of: {', '.join(stopping)}")
    if policy.warn_on:
        lines.append(f"  warned of a change of: {', '.join(policy.warn_on)}")
    return lines


def _gate_words(policy: AdmissionPolicy) -> list[str]:
    gate = policy.primary
    if not policy.gate:
        return [f"  no gate: both error rates are shown with their {gate.confidence:.0%} intervals"]
    sided = "one" if gate.sided == 1 else "two"
    return [
        f"  gate: false acceptance, upper end of the {sided}-sided {gate.confidence:.0%} interval at most "
        f"{gate.upper_at_most:g}",
        f"  looks: {policy.looks.max}, the error divided among them",
    ]


def _part_words(policy: AdmissionPolicy) -> list[str]:
    """What is asked of severity levels, modes, slices, cost and time."""
    lines = [
        f"  false acceptance of severity {level}: upper end at most {limit.upper_at_most:g}"
        for level, limit in policy.severities.items()
    ]
    for words, needed in (
        ("failure mode", policy.required.failure_modes),
        ("slice", policy.required.slices),
    ):
        lines += [f"  at least {number} failures of {words} {name}" for name, number in needed.items()]
    if policy.operation.cost_per_item_micros is not None:
        lines.append(f"  an item costs at most {policy.operation.cost_per_item_micros / 1e6:g} US dollars")
    if policy.operation.latency_p95_ms is not None:
        lines.append(f"  95 % of verdicts take at most {policy.operation.latency_p95_ms:,} ms")
    return lines
