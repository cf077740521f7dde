"""`voirdire check`: a table with human and judge labels in, report and decision out, no database."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from calibration.interchange.options import OnRepeat
from calibration.labels import LabelSource, ReferenceRule
from calibration.statistics.rater_error import RaterErrors

if TYPE_CHECKING:
    from calibration.report.supplement import Supplement

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

_LIMIT = "The limit"
_WHO = "What is examined"
_OUTPUT = "Output"
_READING = "Reading the table"
_REFERENCE = "The reference"
_BEYOND = "Beyond the table"


class NullAs(StrEnum):
    """What an empty verdict without a reason may be read as."""

    MISSING = "missing"
    ABSTAINED = "abstained"
    INVALID = "invalid"


_LEAST_LIMIT = 0.0001  # calibration.policy.LEAST_LIMIT, which --help need not load


def _rate(text: str) -> float:
    """The rate that a text states, refused in one sentence where it states none."""
    return _between(text, 0)


def _limit(text: str) -> float:
    """The limit that a text states; under 0.0001 nobody could collect the failures that it takes."""
    return _between(text, _LEAST_LIMIT)


def _between(text: str, least: float) -> float:
    """The number of a text from `least`, and above 0, to below 1.

    Raises:
        typer.BadParameter: the text is no such number.
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (0 < value < 1 and value >= least):
        raise typer.BadParameter(f"{text!r} is not a rate between {least} and 1; 0.10 means 10 %")
    return value


_EPILOG = """
[bold]Examples[/bold]

voirdire check labels.csv --far-limit 0.10

voirdire check labels.csv --map 1=pass --map 0=fail --column human_label=gold

voirdire check all.jsonl --policy acceptance --judge all --rank --html report.html

cat labels.csv | voirdire check - --far-limit 0.05 --json

[bold]Exit codes[/bold]  0 admit (or no limit given), 1 reject, 2 insufficient evidence, 3 the file cannot \
be read, 64 usage. Of several judges: 0 if all are admitted, else 1 if any is rejected, else 2.
"""


_HELP = """
Examine a judge from a table of human and judge labels.

The table has one row per item with the columns [bold]id[/bold], [bold]human_label[/bold] and \
[bold]judge_label[/bold] (pass, fail, cannot_decide or empty). Optional columns are input, output, rater, \
blind, group, model_family, criterion, judge, reason, detail, adjudicated_label, note, source and slice_*; \
all others are kept as tags.
"""


@app.command(help=_HELP, epilog=_EPILOG)
def check(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="CSV, TSV, JSON Lines or JSON; - is standard input.")
    ],
    far_limit: Annotated[
        float | None,
        typer.Option(
            parser=_limit,
            rich_help_panel=_LIMIT,
            metavar="RATE",
            help="Largest share of failing answers that the judge may accept, e.g. 0.10; the end of the "
            "interval must not exceed it.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            rich_help_panel=_LIMIT,
            help="A whole admission policy: acceptance, far_only, or a YAML file.",
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|all", rich_help_panel=_WHO, help="Judge to examine; repeatable. Default: all."
        ),
    ] = None,
    criterion: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME|all", rich_help_panel=_WHO, help="Criterion; repeatable. Default: all."),
    ] = None,
    rank: Annotated[
        bool,
        typer.Option(
            "--rank", rich_help_panel=_WHO, help="Rank the judges; those that cannot be told apart tie."
        ),
    ] = False,
    slices: Annotated[
        list[str] | None,
        typer.Option(
            "--slice",
            metavar="COLUMN",
            rich_help_panel=_WHO,
            help="Show every value of the column on its own, as slice_* columns are; repeatable.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN|none",
            rich_help_panel=_WHO,
            help="Column that items share when they are not independent, e.g. the prompt. Default: group.",
        ),
    ] = None,
    reference: Annotated[
        ReferenceRule | None,
        typer.Option(
            metavar="RULE",
            rich_help_panel=_REFERENCE,
            help="How several raters become one reference label: majority, unanimous, adjudicated or "
            "unanimous_or_adjudicated. Default: the policy's rule, else majority.",
        ),
    ] = None,
    min_raters: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=_REFERENCE,
            help="Raters without whom an item stays unresolved.",
        ),
    ] = 1,
    reference_source: Annotated[
        list[LabelSource] | None,
        typer.Option(
            metavar="human|model|code",
            rich_help_panel=_REFERENCE,
            help="Whose labels count, where a source column says; repeatable. Labels of models or code are "
            "refused unless named here, and such a report can never admit.",
        ),
    ] = None,
    deployed: Annotated[
        str | None,
        typer.Option(
            metavar="ACCEPTED/N",
            rich_help_panel=_BEYOND,
            help="What the judge accepted of so many outputs in use, e.g. 700/1000: the pass rate is "
            "corrected for its errors.",
        ),
    ] = None,
    prevalence: Annotated[
        float | None,
        typer.Option(
            metavar="RATE",
            rich_help_panel=_BEYOND,
            parser=_rate,
            help="Share of failures in use: failure among accepted is restated for it.",
        ),
    ] = None,
    rater_errors: Annotated[
        str | None,
        typer.Option(
            metavar="FAIL/PASS",
            rich_help_panel=_BEYOND,
            help="Share of failures that raters fail, and of good outputs that they pass, e.g. 0.98/0.995: "
            "FAR is restated against the truth.",
        ),
    ] = None,
    accepts_only: Annotated[
        bool,
        typer.Option(
            "--accepts-only",
            rich_help_panel=_BEYOND,
            help="The rows are a sample of what the judge accepted: no FAR follows from it.",
        ),
    ] = False,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART=COLUMN",
            rich_help_panel=_READING,
            help="Which column plays a part, e.g. human_label=gold; an empty COLUMN says none. Repeatable; "
            "several judge_label columns are several judges.",
        ),
    ] = None,
    word: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="WORD=MEANING",
            rich_help_panel=_READING,
            help="What a label word means: pass, fail, cannot_decide, or for a judge a reason such as "
            "abstained. human:WORD=... and judge:WORD=... hold on one side. Repeatable.",
        ),
    ] = None,
    null_as: Annotated[
        NullAs,
        typer.Option(
            rich_help_panel=_READING,
            help="What an empty verdict without a reason is: missing is open, "
            "and counts as accepted in the worst case.",
        ),
    ] = NullAs.MISSING,
    on_repeat: Annotated[
        OnRepeat,
        typer.Option(
            rich_help_panel=_READING,
            help="Rows that contradict each other: refuse the file, let the last hold, or believe none.",
        ),
    ] = OnRepeat.REFUSE,
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad",
            rich_help_panel=_READING,
            help="Leave out lines that cannot be read; they are written to FILE.rejected.",
        ),
    ] = False,
    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar=",|;|tab",
            rich_help_panel=_READING,
            help="Default: the header tells.",
        ),
    ] = None,
    doctor: Annotated[
        bool,
        typer.Option("--doctor", rich_help_panel=_READING, help="Say what each column could be, and stop."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=_OUTPUT, help="Print the report as JSON, errors too.")
    ] = False,
    html: Annotated[
        str | None,
        typer.Option(metavar="OUT", rich_help_panel=_OUTPUT, help="Also write the report as one HTML file."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", rich_help_panel=_OUTPUT, help="Let --html replace a file that is no report."),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", rich_help_panel=_OUTPUT, help="Add methods, denominators and reasons."),
    ] = False,
) -> None:
    """Hand the words of the command line on to the work."""
    from judge.cli.examining import Wanted, examine_table, read_options

    if far_limit is not None and policy is not None:
        raise typer.BadParameter("give a limit or a policy, not both", param_hint="--far-limit / --policy")
    options = read_options(
        columns=column or (),
        words=word or (),
        null_as=null_as.value,
        slices=slices or (),
        cluster=cluster,
        on_repeat=on_repeat,
        skip_bad=skip_bad,
        sources=reference_source,
        delimiter=delimiter,
    )
    wanted = Wanted(
        judges=tuple(judge or ()),
        criteria=tuple(criterion or ()),
        far_limit=far_limit,
        policy=policy,
        rule=reference,
        min_raters=min_raters,
        rank=rank,
        as_json=as_json,
        html=html,
        force=force,
        explain=explain,
        supplement=_supplement(deployed, prevalence, rater_errors, accepts_only=accepts_only),
    )
    raise typer.Exit(examine_table(file, options, wanted, doctor=doctor))


def _supplement(
    deployed: str | None, prevalence: float | None, rater_errors: str | None, *, accepts_only: bool
) -> Supplement:
    """What the options say beside the table.

    Raises:
        typer.BadParameter: an option is not of its form.
    """
    from calibration.report.supplement import Deployment, Supplement

    deployment = errors = None
    if deployed is not None:
        accepted, n = _two(deployed, "--deployed", "ACCEPTED/N, such as 700/1000")
        if not (accepted.is_integer() and n.is_integer() and 0 <= accepted <= n and n > 0):
            raise typer.BadParameter(f"{deployed!r} is no count of a total", param_hint="--deployed")
        deployment = Deployment(int(accepted), int(n))
    if rater_errors is not None:
        detects, passes = _two(rater_errors, "--rater-errors", "FAIL/PASS, such as 0.98/0.995")
        if not (0 < detects <= 1 and 0 < passes <= 1):
            raise typer.BadParameter(f"{rater_errors!r} holds no two rates", param_hint="--rater-errors")
        errors = RaterErrors(detects, passes)
    return Supplement(
        deployment=deployment, prevalence=prevalence, rater_errors=errors, accepts_only=accepts_only
    )


def _two(text: str, option: str, form: str) -> tuple[float, float]:
    """The two numbers of a text a/b."""
    first, slash, second = text.partition("/")
    try:
        if not slash:
            raise ValueError
        return float(first), float(second)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not {form}", param_hint=option) from None
