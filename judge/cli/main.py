"""The command `voirdire`: which module serves which noun, and how every command ends.

Nothing but the command line library is imported until a command runs, so that --help is quick.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, cast

import typer
from typer.core import TyperCommand, TyperGroup

from judge.cli.errors import ExitCode, code_of, error_object, sentence, show, tell

# the command line library keeps its error classes private; BadParameter is public and derives from them
_USAGE_ERROR: Final = cast(type[Exception], typer.BadParameter.__mro__[1])


class Entry(NamedTuple):
    """A command or noun: where it lives and what the overview says of it."""

    module: str
    help: str


COMMANDS: Final[dict[str, Entry]] = {
    "check": Entry("judge.cli.check", "Examine a judge from a table of human and judge labels; no database."),
    "demo": Entry("judge.cli.demo", "Examine judges on a bundled, constructed sample."),
    "policy": Entry("judge.cli.policy", "Record, lint, list and show policies."),
    "rubric": Entry("judge.cli.rubric", "Publish, list, show and compare rubrics."),
    "items": Entry("judge.cli.items", "Import, list and show items."),
    "labels": Entry("judge.cli.labels", "Import, export and list labels."),
    "plan": Entry("judge.cli.plan", "Plan how much evidence is needed, or which limit is implied."),
    "simulate": Entry("judge.cli.simulate", "Simulate the gate, or voirdire itself on planted judges."),
    "set": Entry("judge.cli.sets", "Draw, freeze and show calibration sets."),
    "session": Entry("judge.cli.session", "Open, watch, reassign and close labeling sessions."),
    "people": Entry("judge.cli.people", "Grant roles, and list who signed in."),
    "judge": Entry("judge.cli.judge", "Declare, list, show and run judges."),
    "verdicts": Entry("judge.cli.verdicts", "Import, export and list verdicts."),
    "calibrate": Entry("judge.cli.calibrate", "Report on judges from recorded labels and verdicts."),
    "errors": Entry(
        "judge.cli.disagreements", "Read where a judge and people disagree, at the price of a look."
    ),
    "admit": Entry("judge.cli.admit", "Sign what a policy says of a judge."),
    "decisions": Entry("judge.cli.decisions", "List, show and suspend signed decisions."),
    "audit": Entry("judge.cli.audit", "Verify that no record was changed."),
    "grade": Entry("judge.cli.grade", "Grade outputs with an admitted judge."),
    "grades": Entry("judge.cli.grades", "What was graded, what waits for people, and what they did."),
    "queue": Entry("judge.cli.queue", "Put what waits for a person before raters, and read it back."),
    "drift": Entry("judge.cli.drift", "Watch an admitted judge: audited failures, anchors, alarms."),
    "gate": Entry("judge.cli.gate", "Open only for outputs that an admitted judge's verdicts carry."),
    "ui": Entry("judge.cli.ui", "Start the rating app or the review app."),
    "probe": Entry("judge.cli.probe", "Probe a judge with padded, dressed-up and instructing failures."),
    "compare": Entry("judge.cli.compare", "Compare two judges, or two systems, on the same items."),
    "db": Entry("judge.cli.db", "Upgrade, check, back up and restore the evidence store."),
}


class Root(TyperGroup):
    """The group of all commands; loads a command's module when it is called, not when it is listed."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 -- the signature of the library
        """The names of the commands, in the order in which the work is done."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 -- as above
        """The command of a name; while listing, a stand-in that knows its help only."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        if self._listing:
            return TyperCommand(cmd_name, help=entry.help)
        command = typer.main.get_command(importlib.import_module(entry.module).app)
        command.name = cmd_name
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the overview without importing what it lists."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,  # noqa: ARG002 -- the signature of the library
        **extra: Any,
    ) -> int:
        """Run a command line; ends the process with its exit code unless told not to."""
        typed = list(sys.argv[1:] if args is None else args)
        name = prog_name or "voirdire"
        self._main_shell_completion(extra, name, complete_var)
        code = _ending(self, name, typed, extra)
        if standalone_mode:
            sys.exit(code)
        return code


def _ending(group: Root, name: str, typed: Sequence[str], extra: dict[str, Any]) -> int:
    """The exit code of a command line, every way of ending included; never lets a traceback out."""
    argv = [word for word in typed if word != "--debug"]
    try:
        with group.make_context(name, list(argv), **extra) as context:
            group.invoke(context)
        sys.stdout.flush()
    except typer.Exit as ending:
        return _flushed(ending.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        tell("voirdire: interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return _pipe_gone()
    except _USAGE_ERROR as error:
        return _usage(error, argv)
    except Exception as error:  # noqa: BLE001 -- the last line of defence: a person reads one sentence
        if _interrupted(error):
            tell("voirdire: interrupted")
            return ExitCode.INTERRUPTED
        if "--debug" in typed:
            traceback.print_exc()
        show(error, argv)
        return _object(error_object(error, argv), argv, code_of(error))
    except SystemExit:
        # the library that draws help ends the process with 1 where its reader went away: a rejection's code
        return _pipe_gone()
    return ExitCode.ADMIT


def _interrupted(error: BaseException | None) -> bool:
    """True where an interrupt is behind the error: a library that it broke on import tells of that only."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _flushed(code: int) -> int:
    """The code, once everything has been handed over; a reader that went away or a full disk changes it."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _pipe_gone()
    except OSError as error:
        tell(f"voirdire: {sentence(error)}")
        _let_go()
        return ExitCode.OPERATIONAL
    return code


def _object(found: Mapping[str, Any], argv: Sequence[str], code: int) -> int:
    """The code, once a script that asked for JSON has the error too, if that can be written at all."""
    if "--json" not in argv:
        return _flushed(code)
    try:
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        return _pipe_gone()
    except OSError:  # told on stderr already: the device that is full may be what it is about
        _let_go()
    return code


def _pipe_gone() -> int:
    """The exit code for a closed pipe."""
    _let_go()
    return ExitCode.BROKEN_PIPE


def _let_go() -> None:
    """What is still buffered goes nowhere, without a complaint at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: Any, argv: Sequence[str]) -> int:
    """Tell what is wrong with the command line and where its help is."""
    path = error.ctx.command_path if error.ctx else "voirdire"
    message = f"{error.format_message().rstrip('.')}; see {path} --help"
    tell(f"voirdire: {message}")
    found = {"error": "usage", "message": message, "exit": int(ExitCode.USAGE)}
    return _object(found, argv, ExitCode.USAGE)


app = typer.Typer(cls=Root, name="voirdire", add_completion=True, rich_markup_mode="rich")


def _version(wanted: bool) -> None:
    """Print the installed version and end."""
    if wanted:
        from importlib.metadata import version

        typer.echo(f"voirdire {version('voirdire')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 -- its callback acts
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            metavar="PATH|URL",
            envvar="VOIRDIRE_DB",
            show_envvar=True,
            help="The evidence store: an SQLite file or a PostgreSQL address. "
            "Default: ~/.local/share/voirdire/voirdire.db.",
        ),
    ] = None,
    debug: Annotated[  # noqa: ARG001 -- read from the raw command line, since it may stand anywhere
        bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")
    ] = False,
) -> None:
    """Examine a model judge before it may accept or reject anything.

    Start with a table of human and judge labels:  voirdire check labels.csv --far-limit 0.10

    Exit codes: 0 admit, 1 reject, 2 insufficient evidence, 3 bad file or other failure, 64 usage.
    """
    context.obj = db
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(ExitCode.USAGE)


def main() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    app()


if __name__ == "__main__":
    main()
