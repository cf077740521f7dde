"""`voirdire audit`: verify that the records are what they were when they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rubrics.errors import RecordError

if TYPE_CHECKING:
    from calibration.store.chain import Head

_EPILOG = """
[bold]Examples[/bold]

voirdire audit verify --json

voirdire audit checkpoint --out heads-2026-11.json

voirdire audit verify --checkpoint heads-2026-11.json --public-key ito.pub

[bold]Exit codes[/bold]  0 every record holds, 1 a record was changed, 3 failure, 64 usage.
"""

app = typer.Typer(rich_markup_mode="rich", add_completion=False, no_args_is_help=True)

JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
CHECKPOINT_SCHEMA = "voirdire.checkpoint/1"
_TOLD = 20


@app.callback(epilog=_EPILOG)
def _audit() -> None:
    """Verify that no record was changed."""


@app.command("verify")
def verify(
    context: typer.Context,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="FILE", help="Heads that were kept outside the database.")
    ] = None,
    public_key: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Every decision must be signed by one of these; repeatable."),
    ] = None,
    as_json: JSON = False,
) -> None:
    """Compare every record with its digest, chain and seal, and compute every decision anew.

    Exit 1 and the first bad record by name. Labels, verdicts, references, reports, events, calls, grades and
    decisions are covered; a cut tail shows only against a kept checkpoint, and a decision that somebody with
    the whole database made up only against a public key.
    """
    from calibration.registry.detached import read_public_keys
    from calibration.registry.verifying import Recomputed
    from calibration.registry.verifying import verify as verified
    from calibration.store.chain import heads
    from calibration.store.decisions import decision_head
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import opened

    kept = _read_checkpoint(checkpoint) if checkpoint else {}
    keys = read_public_keys(public_key or ())
    with opened(context) as store, store.read() as session:
        found = verified(session=session, checkpoints=kept, public_keys=keys)
        ends = {name: head.seq for name, head in heads(session=session).items()}
        ends["decisions"] = decision_head(session=session).seq
    counts = {how.value: found.count(how) for how in Recomputed}
    if as_json:
        print_json(
            {
                "records": ends,
                "broken": [_broken_object(f) for f in found.findings],
                "recomputed": {**counts, "decisions": {k: v.value for k, v in found.recomputed.items()}},
            }
        )
    elif found.findings:
        lines = [str(finding) for finding in found.findings[:_TOLD]]
        more = len(found.findings) - _TOLD
        print_lines(lines + ([f"and {more} more (--json lists them)"] if more > 0 else []))
    else:
        signed = [f"Every decision is signed by {', '.join(key.name for key in keys)}."] if keys else []
        print_lines([*_holds(ends, counts, against=checkpoint), *signed])
    if found.findings:
        raise typer.Exit(1)


def _broken_object(finding: Any) -> dict[str, Any]:
    """One finding as scripts read it: where, which record, and what is wrong."""
    place = finding.key.removeprefix("record ")
    number = int(place) if place.isdigit() and place != finding.key else None
    return {"stream": finding.table, "number": number, "record": finding.key, "problem": finding.what}


def _holds(ends: dict[str, int], counts: dict[str, int], *, against: str | None) -> list[str]:
    counted = ", ".join(f"{name} {number}" for name, number in sorted(ends.items()))
    tail = "The checkpoint is reached." if against else "A cut tail shows only against a kept checkpoint."
    lines = [f"Every link holds ({counted}). {tail}"]
    decided = counts["same"] + counts["from_report"]
    if decided:
        lines.append(
            f"Computed anew and as signed: {decided} of {decided} decisions, {counts['same']} of them from "
            f"labels and verdicts, {counts['from_report']} from their reports."
        )
    return lines


@app.command("checkpoint")
def checkpoint_(
    context: typer.Context,
    out: Annotated[str, typer.Option(metavar="FILE", help="Where to write it; - is standard output.")] = "-",
) -> None:
    """Write the newest record of every chain, to be kept outside the database."""
    import sys
    from pathlib import Path

    from calibration.store.chain import heads
    from calibration.store.decisions import STREAM, decision_head
    from judge.cli.stores import now, opened
    from rubrics.digest import canonical_json, digest
    from rubrics.errors import DeclarationError

    with opened(context) as store, store.read() as session:
        ends = {**heads(session=session), STREAM: decision_head(session=session)}
    body = {
        "schema": CHECKPOINT_SCHEMA,
        "at": now().isoformat(),
        "heads": {name: {"number": h.seq, "hash": h.hash} for name, h in sorted(ends.items()) if h.seq},
    }
    text = canonical_json({**body, "digest": digest(body)}) + "\n"
    if out == "-":
        sys.stdout.write(text)
        return
    try:
        with Path(out).open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise DeclarationError(f"cannot write --out {out!r} ({error.strerror})") from error


def _read_checkpoint(path: str) -> dict[str, Head]:
    """The heads of a checkpoint file.

    Raises:
        RecordError: it cannot be read, or is not the file that was written.
    """
    import json
    from pathlib import Path

    from calibration.store.chain import Head
    from rubrics.digest import digest

    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(found, dict) or found.get("schema") != CHECKPOINT_SCHEMA:
            raise ValueError(
                "it is no file that `voirdire audit checkpoint --out FILE` wrote (schema "
                f"{CHECKPOINT_SCHEMA!r}, the heads of the streams, a digest)"
            )
        body = {key: value for key, value in found.items() if key != "digest"}
        if digest(body) != found["digest"]:
            raise ValueError("it is not the one that its digest names")
        return {name: Head(int(h["number"]), str(h["hash"])) for name, h in found["heads"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"the checkpoint {path!r} cannot be used: {error}") from error


@app.command("seal")
def seal(context: typer.Context, as_json: JSON = False) -> None:
    """Seal every row of the evidence that is not sealed yet; every signature does so too.

    From then on a row that is changed in any column, or removed, is found, however it came.
    """
    from calibration.store.seals import seal_evidence
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened

    with opened(context) as store, store.write() as session:
        sealed = seal_evidence(session=session, actor=actor(), at=now())
    if as_json:
        print_json({"sealed": sealed})
        return
    print_lines([f"{sealed:,} rows were sealed." if sealed else "Every row was sealed before."])


@app.command("looks")
def looks(
    context: typer.Context,
    judge: Annotated[str | None, typer.Option(help="Only those at this judge.")] = None,
    criterion: Annotated[str | None, typer.Option(help="Only those under this criterion.")] = None,
    as_json: JSON = False,
) -> None:
    """List the looks at the evidence, oldest first: who saw what, and what of the error it spent."""
    from calibration.calibrate.spending import spent_looks
    from calibration.store.judges import get_judge
    from judge.cli.output import print_json, print_rows
    from judge.cli.stores import opened
    from rubrics.digest import short

    with opened(context) as store, store.read() as session:
        digest = get_judge(session=session, judge=judge).digest if judge else None
        found = spent_looks(session=session, judge_digest=digest, criterion=criterion)
    if as_json:
        print_json({"looks": [each.to_json() for each in found]})
        return
    rows = [
        (
            short(each.look.input_digest),
            f"{each.look.at:%Y-%m-%d}",
            each.look.actor,
            each.look.kind.value,
            each.judge or "-",
            "-" if each.number is None else f"{each.number} of {each.allowed}, {each.alpha or 0:.2%}",
            each.look.steered.value,
        )
        for each in found
    ]
    head = ("look", "on", "by", "what", "judge", "error spent", "steered")
    print_rows(head, rows, empty="Nobody has looked at any evidence.")


@app.command("reopen")
def reopen(
    context: typer.Context,
    judge: Annotated[str, typer.Option(help="The judge whose looks are spent.")],
    criterion: Annotated[str, typer.Option(help="Criterion of the rubric.")],
    rubric: Annotated[str, typer.Option(metavar="NAME[@V]", help="The rubric.")],
    set_ref: Annotated[str, typer.Option("--set", metavar="NAME", help="The fresh set.")],
    sign: Annotated[str, typer.Option(metavar="NAME", help="The second person.")],
    reason: Annotated[str, typer.Option(help="Why it is examined again.")],
    as_json: JSON = False,
) -> None:
    """Open a new count of looks for a judge, on a set that nobody has seen it on; a second person signs."""
    from calibration.calibrate.evidence_set import open_set
    from calibration.calibrate.looks import reopen as reopened
    from calibration.store.judges import get_judge
    from judge.cli.lookups import recorded_rubric
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import now, opened

    with opened(context) as store, store.write() as session:
        found = reopened(
            session=session,
            judge_digest=get_judge(session=session, judge=judge).digest,
            rubric_digest=recorded_rubric(session, rubric).digest,
            criterion=criterion,
            evidence=open_set(session=session, ref=set_ref),
            signer=sign,
            reason=reason,
            at=now(),
        )
    if as_json:
        print_json({"judge": judge, "set": set_ref, "looks_before": found.spent, "signer": sign})
        return
    print_lines([f"Signed by {sign}: a new count of looks at {judge}; {found.spent} were taken before."])
