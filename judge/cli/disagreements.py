"""`voirdire errors`: read where a judge and people disagree, at the price of a look."""

from __future__ import annotations

from typing import Annotated, Any

import typer

_EPILOG = """
[bold]Examples[/bold]

voirdire errors export wrong.jsonl --judge gpt --criterion correct --set may

voirdire errors clear 8f21 --judge gpt-2 --sign "A. Blum" --reason "Written before the errors were read."

A judge, prompt or rubric that the same person declares afterwards is presumed to be steered by what was \
read: the set no longer decides about it, until a second person signs, or a fresh set is drawn.
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Read where a judge and people disagree, and say what that steered.",
    epilog=_EPILOG,
)

JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
SetRef = Annotated[str | None, typer.Option("--set", metavar="NAME", help="A frozen set.")]
Dataset = Annotated[str | None, typer.Option(help="A dataset's convenience set.")]


@app.command("export")
def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="FILE.jsonl, which must not exist.")],
    judge: Annotated[str, typer.Option(help="The judge.")],
    criterion: Annotated[str, typer.Option(help="Criterion of the rubric.")],
    set_ref: SetRef = None,
    dataset: Dataset = None,
    rubric: Annotated[
        str | None, typer.Option(metavar="NAME[@V]", help="Default: the one under which items are labelled.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Write the items on which judge and reference differ; recorded as a look before anything is written."""
    import json
    from pathlib import Path

    from calibration.calibrate.disagreements import disagreements
    from calibration.store.judges import get_judge
    from judge.cli.lookups import evidence_of, rubric_of_labels
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened
    from rubrics.digest import short
    from rubrics.errors import DeclarationError

    path = Path(file)
    if path.exists():
        raise DeclarationError(f"{file} exists; give another name")
    at, who = now(), actor()
    with opened(context) as store, store.write() as session:
        evidence = evidence_of(session, dataset=dataset, set_ref=set_ref, actor=who, at=at)
        found = disagreements(
            session=session,
            evidence=evidence,
            rubric=rubric_of_labels(session, evidence, rubric),
            criterion=criterion,
            judge=get_judge(session=session, judge=judge),
            actor=who,
            at=at,
        )
    try:
        with path.open("x", encoding="utf-8", newline="\n") as written:
            written.writelines(json.dumps(each.to_json()) + "\n" for each in found.items)
    except OSError as error:
        raise DeclarationError(f"cannot write {file!r} ({error.strerror})") from error
    if as_json:
        print_json({"look": found.look.input_digest, "items": len(found.items), "file": file})
        return
    print_lines(
        [
            f"Wrote {len(found.items)} disagreements to {file}; look "
            f"{short(found.look.input_digest)} by {who}.",
            f"What {who} declares from now on is presumed to be steered by them: {evidence.called} then "
            "decides about it only once a second person has signed (voirdire errors clear).",
        ]
    )


@app.command("steered")
def steered(
    context: typer.Context,
    criterion: Annotated[str, typer.Option(help="Criterion of the rubric.")],
    reason: Annotated[str, typer.Option(help="What was changed because of the set.")],
    set_ref: SetRef = None,
    dataset: Dataset = None,
    as_json: JSON = False,
) -> None:
    """Say that a set shaped a judge, prompt or rubric: for what is declared later it is development data."""
    from calibration.calibrate.disagreements import declare_steered
    from judge.cli.lookups import evidence_of
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened

    at, who = now(), actor()
    with opened(context) as store, store.write() as session:
        evidence = evidence_of(session, dataset=dataset, set_ref=set_ref, actor=who, at=at)
        look = declare_steered(
            session=session, evidence=evidence, criterion=criterion, reason=reason, actor=who, at=at
        )
    if as_json:
        print_json({"look": look.input_digest, "set": evidence.ref})
        return
    print_lines([f"{evidence.called} is development data for everything that is declared from now on."])


@app.command("clear")
def clear(
    context: typer.Context,
    look: Annotated[str, typer.Argument(help="The first digits of the look.")],
    sign: Annotated[str, typer.Option(metavar="NAME", help="The second person.")],
    reason: Annotated[str, typer.Option(help="How it is known that nothing was steered.")],
    judge: Annotated[str | None, typer.Option(help="The judge that was declared later.")] = None,
    rubric: Annotated[str | None, typer.Option(metavar="NAME@V", help="The rubric that was.")] = None,
    as_json: JSON = False,
) -> None:
    """Sign, as a second person, that what was seen did not go into a judge or rubric."""
    from calibration.calibrate.steering import sign_unsteered
    from calibration.store.judges import get_judge
    from calibration.store.steering import get_look
    from judge.cli.lookups import recorded_rubric
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import now, opened
    from rubrics.errors import DeclarationError

    if (judge is None) == (rubric is None):
        raise DeclarationError("name what was declared later: either --judge or --rubric")
    with opened(context) as store, store.write() as session:
        seen = get_look(session=session, digest_prefix=look.replace(" ", ""))
        subject = _subject(session, judge, rubric, get_judge, recorded_rubric)
        sign_unsteered(session=session, look=seen, subjects=(subject,), signer=sign, reason=reason, at=now())
    if as_json:
        print_json({"look": seen.input_digest, "subject": subject, "signer": sign})
        return
    print_lines([f"Signed by {sign}: look {seen.input_digest[:12]} did not steer {judge or rubric}."])


def _subject(
    session: Any, judge: str | None, rubric: str | None, get_judge: Any, recorded_rubric: Any
) -> str:
    found = get_judge(session=session, judge=judge) if judge else recorded_rubric(session, rubric)
    return str(found.digest)
