"""`voirdire people`: who signed in, and the roles that were granted."""

from __future__ import annotations

from typing import Annotated

import typer

from calibration.labeling.roles import Role

_EPILOG = """
[bold]Examples[/bold]

voirdire people grant ann@example.org --role rater

voirdire people revoke ann@example.org --role rater

voirdire people list
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Grant roles to people who sign in by an issuer or a proxy; local names have every role.",
    epilog=_EPILOG,
)

JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Handle = Annotated[str, typer.Argument(metavar="NAME", help="As labels and sessions call the person.")]
RoleOption = Annotated[Role, typer.Option("--role", help="What the person may be.")]


@app.command("grant")
def grant_(context: typer.Context, name: Handle, role: RoleOption, as_json: JSON = False) -> None:
    """Give a person a role; whoever may write to the store is trusted with this."""
    _change(context, name, role, given=True, as_json=as_json)


@app.command("revoke")
def revoke(context: typer.Context, name: Handle, role: RoleOption, as_json: JSON = False) -> None:
    """Take a role from a person; what they did under it stays."""
    _change(context, name, role, given=False, as_json=as_json)


def _change(context: typer.Context, name: str, role: Role, *, given: bool, as_json: bool) -> None:
    from calibration.labeling.people import grant
    from calibration.rendering.text import visible
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened

    with opened(context) as store:
        changed = grant(store=store, handle=name, role=role, given=given, actor=actor(), now=now())
    if as_json:
        print_json({"name": name, "role": role.value, "given": given, "changed": changed})
        return
    has = "has" if given else "no longer has"
    print_lines([f"{visible(name)} {has} the role {role.value}{'' if changed else ', as before'}."])


@app.command("list")
def list_(context: typer.Context, as_json: JSON = False) -> None:
    """List who signed in, how, and the roles that were granted."""
    from calibration.rendering.text import visible
    from calibration.store.people import list_people, roles_of
    from judge.cli.output import print_json, print_rows
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        found = [
            {
                "name": each.handle,
                "auth": each.auth,
                "roles": sorted(roles_of(session=session, handle=each.handle)),
            }
            for each in list_people(session=session)
        ]
    if as_json:
        print_json({"people": found})
        return
    rows = [
        (
            visible(str(each["name"])),
            str(each["auth"]),
            "every role" if each["auth"] == "local" else ", ".join(each["roles"]) or "none",
        )
        for each in found
    ]
    print_rows(("name", "signs in", "roles"), rows, empty="Nobody has signed in yet.")
