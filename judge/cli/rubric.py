"""`voirdire rubric`: publish, list, show and compare what is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judge.cli.importing import AsJson
from rubrics.errors import DeclarationError

if TYPE_CHECKING:
    from sqlmodel import Session

    from rubrics.rubric import Criterion, Rubric

_EPILOG = """
[bold]Examples[/bold]

voirdire rubric add refund-policy.yaml

voirdire rubric add refund-policy

voirdire rubric show refund-policy@1

voirdire rubric diff refund-policy@1 draft.yaml
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Publish, list, show and compare rubrics.",
    epilog=_EPILOG,
)


@app.command("add")
def add(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE|NAME", help="A YAML file, or the name of a rubric that ships.")
    ],
    as_json: AsJson = False,
) -> None:
    """Publish a rubric; its name and version then mean this content for good."""
    from calibration.store.rubrics import add_rubric
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened
    from rubrics.digest import short
    from rubrics.rubric import publishing_problems

    rubric = _of_file(file)
    problems = publishing_problems(rubric)
    if problems:
        raise DeclarationError(problems[0])
    with opened(context) as store, store.write() as session:
        new = add_rubric(session=session, rubric=rubric, actor=actor(), at=now())
    if as_json:
        print_json({"rubric": rubric.ref, "digest": rubric.digest, "new": new})
        return
    said = "Published" if new else "Already published:"
    criteria = ", ".join(criterion.key for criterion in rubric.criteria)
    print_lines([f"{said} {rubric.ref} ({short(rubric.digest)}): {criteria}"])


@app.command("list")
def list_(context: typer.Context, as_json: AsJson = False) -> None:
    """List the published rubrics."""
    from calibration.store.rubrics import get_rubric, list_rubrics
    from judge.cli.output import print_json, print_rows
    from judge.cli.stores import opened
    from rubrics.digest import short
    from rubrics.loader import catalog

    with opened(context) as store, store.read() as session:
        refs = [ref for ref, _ in list_rubrics(session=session)]
        found = [get_rubric(session=session, name=ref.name, version=ref.version) for ref in refs]
    if as_json:
        print_json({"rubrics": [_summary(rubric) for rubric in found]})
        return
    rows = [
        (
            rubric.ref,
            short(rubric.digest),
            rubric.mode.value,
            ", ".join(c.key for c in rubric.criteria),
            rubric.title,
        )
        for rubric in found
    ]
    empty = f"No rubric is published. Next: voirdire rubric add FILE (these ship: {', '.join(catalog())})"
    print_rows(("rubric", "digest", "mode", "criteria", "title"), rows, empty=empty)


def _summary(rubric: Rubric) -> dict[str, Any]:
    return {
        "rubric": rubric.ref,
        "name": rubric.name,
        "version": rubric.version,
        "digest": rubric.digest,
        "title": rubric.title,
        "mode": rubric.mode.value,
        "imported": all(criterion.imported for criterion in rubric.criteria),
        "criteria": [
            {"key": c.key, "scale": c.scale.kind, "role": c.role.value, "required": c.required}
            for c in rubric.criteria
        ],
    }


@app.command("show")
def show(
    context: typer.Context,
    rubric: Annotated[
        str, typer.Argument(metavar="NAME[@V]", help="A published rubric; without @V its newest version.")
    ],
    as_json: AsJson = False,
) -> None:
    """Show a published rubric as rater and judge are asked it."""
    from judge.cli.lookups import recorded_rubric
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        found = recorded_rubric(session, rubric)
    if as_json:
        content = found.model_dump(mode="json", exclude_defaults=True)
        print_json({"rubric": found.ref, "digest": found.digest, "content": content})
        return
    print_lines(_in_words(found))


def _in_words(rubric: Rubric) -> list[str]:
    from rubrics.digest import short

    lines = [
        f"{rubric.ref} ({short(rubric.digest)}): {rubric.title}",
        rubric.purpose,
        "",
        "Shown to rater and judge",
    ]
    lines += [f"  {field.title} ({field.key}, {field.source.value})" for field in rubric.fields]
    for criterion in rubric.criteria:
        lines += ["", *_criterion_words(criterion)]
    for title, claims in (
        ("Establishes", rubric.establishes),
        ("Does not establish", rubric.does_not_establish),
    ):
        lines += ["", title, *(f"  {claim}" for claim in claims)] if claims else []
    return lines


def _criterion_words(criterion: Criterion) -> list[str]:
    needed = "required" if criterion.required else "not required"
    imported = ", imported" if criterion.imported else ""
    kind = f"{criterion.scale.kind}, {criterion.role.value}, {needed}{imported}"
    lines = [f"{criterion.key}: {criterion.title} ({kind})", f"  {criterion.question}"]
    guidance = criterion.guidance.model_dump()
    lines += [f"  {name.replace('_', ' ')} {text}" for name, text in guidance.items() if text]
    scale = criterion.scale
    if scale.kind == "ordinal":
        lines += [f"  {level.level}: {level.anchor}" for level in scale.levels]
        lines += [f"  passes from {scale.accept_at} on"]
    if scale.kind == "preference":
        claim = f"{scale.candidate} is the better" if scale.candidate else "no candidate declared"
        lines += [f"  claim: {claim}{', a tie accepts' if scale.tie_accepts else ''}"]
    lines += [f"  fails as {mode.key}: {mode.when}" for mode in criterion.failure_modes]
    return lines


@app.command("diff")
def diff(
    context: typer.Context,
    old: Annotated[str, typer.Argument(metavar="A", help="NAME@V, NAME, or a YAML file.")],
    new: Annotated[str, typer.Argument(metavar="B", help="NAME@V, NAME, or a YAML file.")],
    as_json: AsJson = False,
) -> None:
    """Say what changed from A to B, whether acceptance got weaker, and what no longer holds."""
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import opened
    from rubrics.diff import diff_rubrics

    if all(Path(each).is_file() for each in (old, new)):
        found = diff_rubrics(_of_file(old), _of_file(new))
    else:
        with opened(context) as store, store.read() as session:
            found = diff_rubrics(_either(session, old), _either(session, new))
    if as_json:
        changes = [
            {
                "criterion": change.criterion or None,
                "part": change.part.value,
                "action": change.action.value,
                "effect": change.effect.value,
                "sentence": change.sentence,
                "before": change.before,
                "after": change.after,
            }
            for change in found.changes
        ]
        print_json(
            {
                "old": {"rubric": found.old.ref, "digest": found.old.digest},
                "new": {"rubric": found.new.ref, "digest": found.new.digest},
                "identical": found.identical,
                "weakened": bool(found.weakened),
                "changes": changes,
                "asked_anew": list(found.asked_anew),
                "consequences": list(found.consequences()),
            }
        )
        return
    if found.identical:
        print_lines([f"{found.old.ref} and {found.new.ref} are one and the same."])
        return
    count = len(found.changes)
    weaker = " Acceptance got weaker." if found.weakened else ""
    head = (
        f"From {found.old.ref} to {found.new.ref}: {count} {'change' if count == 1 else 'changes'}.{weaker}"
    )
    changed = [f"  {change.effect.value}: {change}" for change in found.changes]
    print_lines([head, *changed, *found.consequences()])


def _of_file(name: str) -> Rubric:
    """The rubric in a file, or of that name among those that ship."""
    from rubrics.loader import catalog, load_catalog, load_rubric

    if not Path(name).exists() and name in catalog():
        return load_catalog(name)
    return load_rubric(name)


def _either(session: Session, name: str) -> Rubric:
    """The rubric in a file, else the published one."""
    from judge.cli.lookups import recorded_rubric

    return _of_file(name) if Path(name).is_file() else recorded_rubric(session, name)
