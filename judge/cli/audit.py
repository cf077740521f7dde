"""`voirdire audit`: verify that the records are what they were when they were written."""

from __future__ import annotations

from typing import Annotated

import typer

_EPILOG = """
[bold]Example[/bold]

voirdire audit verify --json

[bold]Exit codes[/bold]  0 every link holds, 1 a record was changed, 3 failure, 64 usage.
"""

app = typer.Typer(rich_markup_mode="rich", add_completion=False, no_args_is_help=True)


@app.callback(epilog=_EPILOG)
def _audit() -> None:
    """Verify that no record was changed."""


@app.command("verify")
def verify(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Follow the hash chains of decisions and events; exit 1 and name the first bad record."""
    from calibration.store.chain import heads, verify_events
    from calibration.store.decisions import decision_head, verify_decisions
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        broken = [*verify_decisions(session=session), *verify_events(session=session)]
        ends = {name: head.seq for name, head in heads(session=session).items()}
        ends["decisions"] = decision_head(session=session).seq
    if as_json:
        print_json(
            {
                "records": ends,
                "broken": [{"stream": b.stream, "number": b.seq, "problem": b.how} for b in broken],
            }
        )
    elif broken:
        print_lines([f"{b.stream} {b.seq}: {b.how}" for b in broken])
    else:
        counted = ", ".join(f"{name} {number}" for name, number in sorted(ends.items()))
        print_lines([f"Every link holds ({counted}). A cut tail shows only against a kept checkpoint."])
    if broken:
        raise typer.Exit(1)
