"""`voirdire set`: draw, freeze and show calibration sets."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from calibration.sampling import DesignKind

_EPILOG = """
[bold]Examples[/bold]

voirdire set draw may --dataset support --n 200 --one-per-cluster

voirdire set draw hard --dataset support --design failure_oversampled --by screen --take fail=100 \
--take pass=60 --rubric refund-policy@1 --criterion resolves_request

voirdire set freeze may --need invented_claim=20
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Draw, freeze and show calibration sets.",
    epilog=_EPILOG,
)

JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command("draw")
def draw(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the set; a name that exists is topped up.")],
    dataset: Annotated[str, typer.Option(help="Where its items are.")],
    design: Annotated[DesignKind, typer.Option(help="How items are drawn.")] = DesignKind.SIMPLE_RANDOM,
    n: Annotated[
        int | None, typer.Option("--n", min=1, help="Items in all, earlier members included.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="The tag that makes strata, or the judge whose verdicts screen.")
    ] = None,
    allocation: Annotated[
        list[str] | None, typer.Option("--take", metavar="STRATUM=N", help="Items of a stratum; repeatable.")
    ] = None,
    one_per_cluster: Annotated[
        bool, typer.Option("--one-per-cluster", help="At most one output of each group.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Makes the draw repeatable.")] = 0,
    rubric: Annotated[str | None, typer.Option(help="NAME@V of the screening verdicts.")] = None,
    criterion: Annotated[str | None, typer.Option(help="Criterion of the screening verdicts.")] = None,
    as_json: JSON = False,
) -> None:
    """Draw a set from the calibration items of a dataset and record it; freeze it next."""
    from pydantic import ValidationError

    from calibration.calibrate.sets import Drawing, draw_set
    from calibration.sampling import SamplingDesign
    from judge.cli.lookups import recorded_rubric
    from judge.cli.stores import actor, now, opened

    try:
        declared = SamplingDesign(
            kind=design,
            n=n,
            by=by,
            allocation=dict(_taken(text) for text in allocation or ()),
            one_per_cluster=one_per_cluster,
            seed=seed,
        )
    except ValidationError as error:
        raise typer.BadParameter(error.errors()[0]["msg"].removeprefix("Value error, ")) from error
    with opened(context) as store, store.write() as session:
        found = recorded_rubric(session, rubric) if rubric else None
        drawing = Drawing(name, dataset, declared, found, criterion)
        stored = draw_set(session=session, drawing=drawing, actor=actor(), at=now())
        shown = _shown(session, stored)
    _print(shown, as_json, f"Next: voirdire set freeze {stored.name}")


def _taken(text: str) -> tuple[str, int]:
    stratum, equals, number = text.rpartition("=")
    if not equals or not number.isdecimal():
        raise typer.BadParameter(f"{text!r} is not STRATUM=N, such as fail=100", param_hint="--take")
    return stratum, int(number)


@app.command("freeze")
def freeze(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="NAME or NAME@VERSION.")],
    need: Annotated[
        list[str] | None,
        typer.Option(metavar="MODE=N", help="Items wanted of a failure mode; repeatable."),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="Take the numbers that this policy requires.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Freeze a drawn set: refuse texts that the judge's author saw, list near-duplicates and shortfalls.

    An item counts for a failure mode by its tag failure_mode, or because a rater named the mode.
    """
    from calibration.calibrate.sets import freeze as freeze_set
    from calibration.store.rubrics import get_rubric, list_rubrics
    from judge.cli.stores import actor, now, opened

    with opened(context) as store, store.write() as session:
        stored = _stored(session, name)
        refs = list_rubrics(session=session)
        rubrics = tuple(get_rubric(session=session, name=r.name, version=r.version) for r, _ in refs)
        needed = _needed(session, need or [], policy)
        frozen = freeze_set(
            session=session, stored=stored, rubrics=rubrics, actor=actor(), at=now(), needed=needed
        )
        shown = _shown(session, frozen.stored)
    shown["near_duplicates"] = [
        {"first": t.first, "second": t.second, "similarity": t.similarity} for t in frozen.near_duplicates
    ]
    shown["failure_modes"] = [
        {"mode": each.mode, "items": each.items, "needed": each.needed, "short": each.short}
        for each in frozen.modes
    ]
    _print(shown, as_json, f"Next: voirdire calibrate --set {stored.name} --judge all --criterion NAME")


def _needed(session: Any, need: list[str], policy: str | None) -> dict[str, int]:
    """Items wanted by failure mode: those that the policy requires, and those that were typed."""
    from judge.cli.lookups import recorded_policy
    from judge.cli.stores import actor, now

    found: dict[str, int] = {}
    if policy is not None:
        chosen, _ = recorded_policy(session, name_or_file=policy, far_limit=None, actor=actor(), at=now())
        found |= chosen.required.failure_modes if chosen else {}
    for text in need:
        mode, equals, number = text.rpartition("=")
        if not equals or not mode or not number.isdecimal():
            raise typer.BadParameter(f"{text!r} is not MODE=N, such as invented=20", param_hint="--need")
        found[mode] = int(number)
    return found


@app.command("show")
def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="NAME or NAME@VERSION.")],
    as_json: JSON = False,
) -> None:
    """Show a set: how it was drawn, how many items, and what figures on it describe."""
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        shown = _shown(session, _stored(session, name))
    _print(shown, as_json, None)


@app.command("list")
def list_(context: typer.Context, as_json: JSON = False) -> None:
    """List the recorded sets."""
    from calibration.store.sets import list_sets
    from judge.cli.output import print_json, print_rows
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        sets = [_shown(session, stored) for stored in list_sets(session=session)]
    if as_json:
        print_json({"sets": sets})
        return
    rows = [
        (s["set"], s["dataset"], s["design"], str(s["items"]), s["frozen_at"] or "not frozen") for s in sets
    ]
    print_rows(("set", "dataset", "design", "items", "frozen"), rows, empty="No set is recorded.")


def _stored(session: Any, ref: str) -> Any:
    from calibration.store.sets import get_set

    name, _, version = ref.partition("@")
    if version and not version.isdecimal():
        raise typer.BadParameter(f"{ref!r} is not NAME or NAME@VERSION")
    return get_set(session=session, set_name=name, version=int(version) if version else None)


def _shown(session: Any, stored: Any) -> dict[str, Any]:
    """The set as JSON: its design, strata with their numbers, and its claim."""
    from collections import Counter

    from calibration.sampling import SamplingDesign
    from calibration.store.sets import iter_members

    members = list(iter_members(session=session, set_digest=stored.digest))
    design = SamplingDesign.model_validate(stored.content.get("design", {"kind": "convenience"}))
    return {
        "set": stored.ref,
        "digest": stored.digest,
        "dataset": stored.dataset,
        "design": design.kind.value,
        "seed": design.seed,
        "claim": design.claim,
        "items": len(members),
        "clusters": len({member.group for member in members}),
        "strata": dict(sorted(Counter(member.stratum or "" for member in members).items())),
        "frozen_at": stored.frozen_at.isoformat() if stored.frozen_at else None,
    }


def _print(shown: dict[str, Any], as_json: bool, following: str | None) -> None:
    from judge.cli.output import print_json, print_lines

    if as_json:
        print_json(shown)
        return
    strata = ", ".join(f"{name or 'all'} {n}" for name, n in shown["strata"].items())
    lines = [
        f"Set {shown['set']} of dataset {shown['dataset']}: {shown['items']} items in "
        f"{shown['clusters']} groups ({strata}).",
        f"Design {shown['design']}, seed {shown['seed']}: {shown['claim']}.",
        f"Frozen {shown['frozen_at']}." if shown["frozen_at"] else "Not frozen yet.",
    ]
    twins = shown.get("near_duplicates", [])
    if twins:
        lines.append(
            f"{len(twins)} pairs of near-duplicates, the nearest {twins[0]['first']} "
            f"and {twins[0]['second']}."
        )
    for each in shown.get("failure_modes", []):
        lines.append(_mode_line(**each))
    print_lines([*lines, *([following] if following else [])])


def _mode_line(*, mode: str, items: int, needed: int, short: int) -> str:
    if not needed:
        return f"Failure mode {mode}: {items} items known."
    told = f"{short} short: draw or write more before labeling" if short else "enough"
    return f"Failure mode {mode}: {items} of {needed} items known, {told}."
