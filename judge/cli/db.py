"""`voirdire db`: upgrade, check, copy and restore the evidence store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from judge.cli.importing import AsJson

_EPILOG = """
[bold]Examples[/bold]

voirdire --db postgresql://voirdire@db/evidence db upgrade

voirdire db check

voirdire db backup evidence-2026-11-30.db

voirdire --db new.db db restore evidence-2026-11-30.db --sha256 3f5c...
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Upgrade, check, back up and restore the evidence store.",
    epilog=_EPILOG,
)


@app.command("upgrade")
def upgrade(context: typer.Context, as_json: AsJson = False) -> None:
    """Bring the database to the newest schema: everything, or after an error nothing.

    An SQLite file is upgraded by any command; a PostgreSQL database only by this one.
    """
    from calibration.store.schema import upgrade as upgrade_schema
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import opened

    done = upgrade_schema(context.obj)
    with opened(context) as store:  # records the policies that ship
        where = store.where
    if as_json:
        copy = str(done.copy) if done.copy else None
        print_json({"where": where, "before": done.before, "after": done.after, "copy": copy})
        return
    if not done.changed:
        print_lines([f"{where} is at revision {done.after}; nothing to do."])
        return
    copied = f" A copy of the old file is {done.copy}." if done.copy else ""
    before = f"from revision {done.before} " if done.before else "a new schema, "
    print_lines([f"Upgraded {where}: {before}to revision {done.after}.{copied}"])


@app.command("check")
def check(context: typer.Context, as_json: AsJson = False) -> None:
    """Compute every digest and chain anew; exit 1 if a record is not what was recorded."""
    from calibration.store.integrity import check as check_store
    from judge.cli.output import print_json, print_lines

    found = check_store(context.obj)
    if as_json:
        print_json({"findings": [{"table": f.table, "key": f.key, "what": f.what} for f in found]})
    else:
        print_lines([str(each) for each in found] or ["Every record is the one that was recorded."])
    raise typer.Exit(1 if found else 0)


@app.command("backup")
def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The copy; must not exist.")],
    as_json: AsJson = False,
) -> None:
    """Copy the store to one new file while others go on writing; keep its sha256 elsewhere."""
    from calibration.store.backup import backup as copy_store

    _tell_copy(copy_store(context.obj, file), "Backed up to", as_json=as_json)


@app.command("restore")
def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A copy that `voirdire db backup` made.")],
    sha256: Annotated[
        str | None, typer.Option(metavar="HEX", help="The copy's sha256, as it was noted.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make the store at --db from a backup that is whole; nothing that exists is overwritten."""
    from calibration.store.backup import restore as restore_store

    _tell_copy(restore_store(file, context.obj, sha256=sha256), "Restored", as_json=as_json)


def _tell_copy(copy: Any, said: str, *, as_json: bool) -> None:
    from judge.cli.output import print_json, print_lines

    if as_json:
        print_json({"file": str(copy.path), "sha256": copy.sha256, "rows": dict(copy.rows)})
        return
    held = {name: n for name, n in copy.rows.items() if n and name != "alembic_version"}
    told = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in held.items())
    print_lines([f"{said} {copy.path}: {sum(held.values()):,} rows.", f"  sha256 {copy.sha256}", f"  {told}"])
