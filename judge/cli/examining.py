"""The work of `voirdire check`: table -> reports -> decisions -> what is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from calibration.admission import decide
from calibration.evidence import CalibrationReport, Case, Comparison, Examination, RankRange, ReportScope, Tie
from calibration.interchange.columns import Part, listed
from calibration.interchange.flat import FlatTable, diagnose, parse_table
from calibration.interchange.grid import DELIMITERS
from calibration.interchange.lines import display_name, read_bytes, write_rejected
from calibration.interchange.options import OnRepeat, ReadOptions
from calibration.interchange.words import parse_map
from calibration.labels import LabelSource, ReferenceRule
from calibration.policy import SHIPPED, AdmissionPolicy, far_only, load_policy
from calibration.report import build_report, rank
from calibration.report.build import NOTHING
from calibration.report.supplement import Supplement
from calibration.report.whole import WHOLE, whole_rubric_cases
from judge.cli.doctor import diagnosis_object, print_diagnosis
from judge.cli.errors import ExitCode, tell
from judge.cli.output import exit_code, print_json, print_words, require_replaceable, write_html
from judge.cli.progress import waiting
from rubrics.errors import DeclarationError
from rubrics.verdict import UnknownReason

ALL = "all"
_DEMO = "demo"
_TOLD_LINES = 10
_QUICK_BYTES = 500_000  # read and examined in about a second


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asked of the table, besides how to read it."""

    judges: tuple[str, ...]
    criteria: tuple[str, ...]
    far_limit: float | None
    policy: str | None
    rule: ReferenceRule | None
    min_raters: int
    rank: bool
    as_json: bool
    html: str | None
    force: bool
    explain: bool
    supplement: Supplement = NOTHING

    def admission_policy(self) -> AdmissionPolicy | None:
        """The policy that decides, None where nothing does.

        Raises:
            DeclarationError: there is no such policy, it is wrong, or it is for the demonstration only.
        """
        if self.far_limit is not None:
            return far_only(self.far_limit)
        if self.policy == _DEMO:
            raise DeclarationError(
                f"the policy {_DEMO!r} is for the bundled demonstration (voirdire demo) and decides on no "
                "other table: give acceptance, far_only or a YAML file"
            )
        return load_policy(self.policy) if self.policy is not None else None

    def policy_problems(self, policy: AdmissionPolicy | None) -> tuple[str, ...]:
        """What is wrong with a policy that somebody wrote, one sentence each; those that ship have none."""
        if policy is None or self.policy is None or self.policy in SHIPPED:
            return ()
        from calibration.policy_lint import lint_policy

        return lint_policy(policy)

    @property
    def several(self) -> bool:
        """True where the answer has the form for several reports whatever the table holds."""
        return self.rank or ALL in self.judges or ALL in self.criteria


def read_options(
    *,
    columns: Sequence[str],
    words: Sequence[str],
    null_as: str,
    slices: Sequence[str],
    cluster: str | None,
    on_repeat: OnRepeat,
    skip_bad: bool,
    sources: Sequence[LabelSource] | None,
    delimiter: str | None,
) -> ReadOptions:
    """How to read the table, from the words of the command line.

    Raises:
        typer.BadParameter: an option is not of its form.
    """
    if delimiter is not None and delimiter not in DELIMITERS:
        raise typer.BadParameter(f"{delimiter!r} is none of , ; tab", param_hint="--delimiter")
    try:
        maps = tuple(parse_map(word) for word in words)
    except DeclarationError as error:
        raise typer.BadParameter(str(error), param_hint="--map") from error
    parts = [_part(text) for text in columns]
    judges = tuple(dict.fromkeys(column for part, column in parts if part == Part.JUDGE_LABEL))
    several = judges if len(judges) > 1 else ()
    settled = [(part, column) for part, column in parts if not (several and part == Part.JUDGE_LABEL)]
    twice = [part for part, count in Counter(part for part, _ in settled).items() if count > 1]
    if twice:
        raise typer.BadParameter(f"{twice[0]} is given more than once", param_hint="--column")
    return ReadOptions(
        columns=dict(settled),
        judge_columns=several,
        maps=maps,
        null_as=UnknownReason(null_as),
        slices=tuple(dict.fromkeys(slices)),
        cluster=cluster,
        on_repeat=on_repeat,
        skip_bad=skip_bad,
        sources=frozenset(sources) if sources else None,
        delimiter=delimiter,
    )


def _part(text: str) -> tuple[str, str]:
    """(part, column) of PART=COLUMN."""
    part, equals, column = text.partition("=")
    if not equals or part not in set(Part):
        raise typer.BadParameter(
            f"{text!r} is not PART=COLUMN with a part of {', '.join(Part)}", param_hint="--column"
        )
    return part, column


def examine_table(file: str, options: ReadOptions, wanted: Wanted, *, doctor: bool) -> ExitCode:
    """Examine every judge that is asked for, show the result, and return the exit code.

    Raises:
        JudgeCalibrationError: the table, the policy or an output path cannot be used.
    """
    policy = wanted.admission_policy()
    for problem in wanted.policy_problems(policy):
        tell(f"! policy: {problem}")
    page = Path(wanted.html) if wanted.html else None
    if page is not None:
        require_replaceable(page, force=wanted.force)
    data, name = read_bytes(file), display_name(file)
    if doctor:
        return _doctor(data, name, options, as_json=wanted.as_json, file=file)
    with waiting(f"Examining {len(data) / 1e6:.0f} MB", long=len(data) > _QUICK_BYTES):
        table = parse_table(data, name=name, options=options)
        found = _examine(table, wanted, policy)
    _tell_rejected(file, table)
    only = found.examinations[0] if len(found.examinations) == 1 and not wanted.several else None
    shown = only or found
    if page is not None:
        from calibration.rendering.html import render_html

        write_html(page, render_html(shown, made_at=datetime.now(UTC)))
    if wanted.as_json:
        print_json({**shown.to_json(), "source": _source_object(table)})
    else:
        for note in table.notes:
            tell(f"Note: {note}")
        print_words(shown, explain=wanted.explain)
    if page is not None:
        tell(f"Wrote {page}")
    return exit_code(found.outcomes)


def _doctor(data: bytes, name: str, options: ReadOptions, *, as_json: bool, file: str) -> ExitCode:
    """Show what each column could be; 3 where the table cannot be read as it is."""
    diagnosis = diagnose(data, name=name, options=options)
    argv = ("check", file)
    if as_json:
        print_json(diagnosis_object(diagnosis, argv))
    else:
        print_diagnosis(diagnosis, argv=argv, to_stderr=False)
    return ExitCode.OPERATIONAL if diagnosis.problem else ExitCode.ADMIT


def _examine(table: FlatTable, wanted: Wanted, policy: AdmissionPolicy | None) -> Comparison:
    """Report and decision of every judge under every criterion that is asked for."""
    rule = wanted.rule or (policy.reference.label_rule if policy else ReferenceRule.MAJORITY)
    examinations: list[Examination] = []
    places: list[RankRange] = []
    ties: list[Tie] = []
    by_judge: dict[str, dict[str, list[Case]]] = {}
    for criterion in _chosen(table, table.criteria, wanted.criteria, part=Part.CRITERION):
        references = table.references(criterion, rule=rule, min_raters=wanted.min_raters)
        assessments = table.assessments(criterion)
        reports: list[CalibrationReport] = []
        cases: dict[str, list[Case]] = {}
        for judge in _chosen(table, table.judges(criterion), wanted.judges, part=Part.JUDGE):
            cases[judge] = table.cases(criterion, judge, references)
            by_judge.setdefault(judge, {})[criterion] = cases[judge]
            report = build_report(
                cases[judge],
                scope=ReportScope(judge=judge, criterion=criterion),
                policy=policy,
                assessments=assessments,
                supplement=replace(wanted.supplement, written=table.written(judge)),
                warnings=table.warnings_on(criterion, judge),
            )
            reports.append(report)
        examinations.extend(_decided(reports, policy))
        if wanted.rank:
            ranked, tied = rank(criterion, cases)
            places.extend(ranked)
            ties.extend(tied)
    return Comparison(
        examinations=tuple(examinations),
        whole_rubric=_whole_rubric(by_judge, policy),
        rank=tuple(places),
        ties=tuple(ties),
    )


def _whole_rubric(
    by_judge: Mapping[str, Mapping[str, list[Case]]], policy: AdmissionPolicy | None
) -> tuple[Examination, ...]:
    """Each judge of several criteria on all of them together; none where there is one criterion."""
    reports = [
        build_report(
            whole_rubric_cases(criteria), scope=ReportScope(judge=judge, criterion=WHOLE), policy=policy
        )
        for judge, criteria in by_judge.items()
        if len(criteria) > 1
    ]
    return tuple(_decided(reports, policy))


def _decided(reports: Sequence[CalibrationReport], policy: AdmissionPolicy | None) -> list[Examination]:
    """The reports of one criterion with their decisions; each judge's rivals are the others."""
    if policy is None:
        return [Examination(report=report, decision=None) for report in reports]
    return [
        Examination(
            report=report,
            decision=decide(report, policy, rivals=[other for other in reports if other is not report]),
        )
        for report in reports
    ]


def _chosen(table: FlatTable, there: Sequence[str], asked: Sequence[str], *, part: Part) -> list[str]:
    """The judges or criteria that are asked for, in the table's order; all without a word or with `all`.

    Raises:
        DeclarationError: the table does not hold what is asked for, or has no column that would say.
    """
    if not asked or ALL in asked:
        return list(there)
    for name in asked:
        if name not in there and part not in table.columns:
            raise DeclarationError(
                f"the table has no {part} column, so its one {part} has no name; leave --{part} out"
            )
        if name not in there:
            raise DeclarationError(
                f"the table has no {part} {name!r}; it has {listed(there)}: name one, or all"
            )
    return [name for name in there if name in asked]


def _tell_rejected(file: str, table: FlatTable) -> None:
    """Write the refused lines to a new file and say on stderr which they are."""
    if not table.rejected:
        return
    path = write_rejected(file, table.rejected_text)
    lines = len({problem.line for problem in table.rejected})
    for problem in table.rejected[:_TOLD_LINES]:
        tell(f"  left out: line {problem.line}: {problem.message}")
    more = f" ({lines - _TOLD_LINES} more)" if lines > _TOLD_LINES else ""
    tell(f"{lines} lines left out{more}; they are in {path}")


def _source_object(table: FlatTable) -> dict[str, Any]:
    """How the table was read, for the JSON."""
    return {
        "name": table.name,
        "rows": table.rows,
        "duplicates": table.duplicates,
        "contradictions_settled": table.repeats,
        "rejected": [{"line": p.line, "field": p.field, "message": p.message} for p in table.rejected],
        "columns": table.columns,
        "tags": list(table.tags),
        "warnings": list(table.warnings),
        "notes": list(table.notes),
    }
