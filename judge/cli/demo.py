"""`voirdire demo`: the whole loop on the bundled, constructed sample."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from judge.demo.files import DemoFiles
    from judge.demo.run import DemoResult
    from judge.runs import Progress

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

DEFAULT_OUT = "voirdire-demo"
_FIRST = "Asking the judges; the embedded model, where it is installed, takes a few minutes the first time."
_LEFT_OUT = "No model judge was examined: --no-model leaves it out."

_EPILOG = """
[bold]Example[/bold]

voirdire demo

[bold]Exit codes[/bold]  0 done, whatever was decided; 3 failure, 64 usage.
"""


@app.command(epilog=_EPILOG)
def demo(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for its own store and the report.")
    ] = Path(DEFAULT_OUT),
    model: Annotated[
        bool,
        typer.Option("--model/--no-model", help="Examine the embedded model too, where it is installed."),
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Examine judges on a bundled sample, sign what a policy says of them, and grade with the admitted one.

    The sample is constructed: every figure and decision is a demonstration and evidence about no judge. The
    demo has a store of its own in DIR; --db is not used. A second run into the same folder changes nothing.
    """
    from judge.cli.errors import tell
    from judge.cli.output import print_json, require_replaceable, write_html
    from judge.cli.stores import now, opened_at
    from judge.demo.files import DemoFiles, write_answers
    from judge.demo.model import find_model, no_model
    from judge.demo.run import run_demo
    from judge.demo.words import demo_object

    files = DemoFiles(out)
    files.make_folder()
    require_replaceable(files.page, force=False)
    if sys.stderr.isatty():
        tell(_FIRST)
    with opened_at(files.store) as store, asking("asking the model") as told:
        step = find_model(on_progress=told) if model else no_model(_LEFT_OUT)
        found = run_demo(store, step, clock=now)
    write_html(files.page, _page(found))
    write_answers(files.answers, found.sample.kept)
    if as_json:
        print_json(demo_object(found, files))
    else:
        _print(found, files)


@contextmanager
def asking(what: str) -> Iterator[Callable[[Progress], None]]:
    """A callback for how far a judge is; shows it on a terminal's stderr."""
    from judge.cli.progress import reading

    with reading(what) as told:
        yield lambda progress: told(progress.done, progress.units)


def _page(found: DemoResult) -> str:
    """The report of all criteria on one page; dated by its evidence, so that a second run writes the same."""
    from calibration.rendering.html import render_html

    return render_html(found.comparison, made_at=found.made_at)


def _print(found: DemoResult, files: DemoFiles) -> None:
    """What this is, a block for each criterion, what was signed and graded, the files, and one's own file."""
    from judge.cli.output import console, print_lines
    from judge.cli.terminal import print_figures
    from judge.demo import words

    screen, program = console(), _program()
    print_lines([*words.introduction(found), ""])
    for question, comparison in words.criteria(found):
        screen.rule(f"[bold]{question.split(':')[0]}[/bold]", align="left", style="dim")
        print_lines([question.partition(": ")[2], ""])
        print_figures(screen, comparison)
        print_lines([""])
    if found.model_absent:
        print_lines([found.model_absent, ""])
    screen.rule("[bold]What followed[/bold]", align="left", style="dim")
    print_lines([*words.signed(found), *words.graded(found), ""])
    lines = [
        "Grade them yourself:",
        *words.commands(found, files, program),
        "",
        "Files:",
        *words.written(files),
        "",
        *words.OWN_FILE,
        words.own_command(program),
    ]
    for line in lines:
        screen.print(line, soft_wrap=True, markup=False)


def _program() -> str:
    """How this program is called from here: by its path where no shell would find it by name."""
    called = Path(sys.argv[0])
    if called.name != "voirdire" or shutil.which("voirdire"):
        return "voirdire"
    here = Path.cwd()
    return str(called.relative_to(here) if called.is_relative_to(here) else called)
