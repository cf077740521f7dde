"""The pass rate of many outputs by an admitted judge, corrected for its errors: does it open a gate?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

from calibration.evidence import CalibrationReport, CorrectedFigure
from calibration.interchange.grid import Rejected
from calibration.interchange.native.answers import AnswerBook, read_reason
from calibration.interchange.native.fields import BadField
from calibration.interchange.native.source import open_native
from calibration.interchange.native.verdicts import VERDICT_FIELDS
from calibration.interchange.words import Side
from calibration.rendering.text import counted
from calibration.report.beyond import corrected_figure
from calibration.report.supplement import Deployment
from judge.grade_files import BATCH_SCHEMA, read_grades, read_header
from rubrics.answer import answered, no_answer
from rubrics.criterion import Criterion
from rubrics.errors import DeclarationError, TableError
from rubrics.scale import NoClaim
from rubrics.verdict import Outcome, UnknownReason, Verdict


class GateOutcome(IntEnum):
    """What the gate does; its value is the exit code."""

    OPEN = 0
    SHUT = 1
    INSUFFICIENT = 2


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge said of many outputs under one criterion."""

    outcomes: Mapping[str, Outcome]
    """By item."""
    unaudited: tuple[str, ...] = ()
    """Items of systems that nobody audited: left out of every rate."""
    left_to_people: tuple[str, ...] = ()
    """Items that the judge did not judge."""
    decisions: frozenset[str] = frozenset()
    """The decisions that the verdicts say they rest on."""
    judges: frozenset[str] = frozenset()
    header: Mapping[str, Any] | None = None
    """What a batch of grades says that was asked; None where the file is none."""
    grades: Sequence[Mapping[str, Any]] = ()
    """The lines of a batch of grades."""

    @property
    def left_out(self) -> int:
        """Outputs in no rate: of systems that nobody audited, or left to people."""
        return len(self.unaudited) + len(self.left_to_people)

    @property
    def accepted(self) -> int:
        """Outputs that the judge accepted."""
        return sum(outcome.accepted for outcome in self.outcomes.values())

    @property
    def open(self) -> int:
        """Outputs whose verdict could still become anything."""
        return sum(outcome.is_open for outcome in self.outcomes.values())

    @property
    def deployment(self) -> Deployment:
        """The counts that are corrected: unknown verdicts are in n, as not accepted."""
        return Deployment(self.accepted, len(self.outcomes))


@dataclass(frozen=True, slots=True)
class GateResult:
    """The gate's answer."""

    outcome: GateOutcome
    sentence: str
    judged: Judged
    corrected: CorrectedFigure | None
    least: float | None


def decide_gate(judged: Judged, report: CalibrationReport, least: float | None) -> GateResult:
    """Whether the corrected pass rate is shown to reach what is asked.

    Open where the lower end of its 95 % interval reaches `least`, shut where the upper end stays under it,
    and insufficient between; insufficient too where nothing can be corrected: no verdict, a verdict that is
    still open, no reference failure, or a judge that tells passes from failures no better than chance. What
    was left out of the rate must not matter: it stays insufficient where it would not open with all of it
    counted as not accepted.

    Args:
        judged: the judge's verdicts.
        report: what its admission rests on.
        least: the pass rate asked for, in (0, 1]; None asks for nothing.
    """
    corrected = corrected_figure(report.table, judged.deployment) if judged.outcomes else None
    if why := _no_ground(report):
        return GateResult(GateOutcome.INSUFFICIENT, why, judged, None, least)
    if least is None:
        return GateResult(GateOutcome.OPEN, "the judge's admission is live", judged, corrected, least)
    why = _cannot_say(judged, corrected)
    if why:
        return GateResult(GateOutcome.INSUFFICIENT, why, judged, corrected, least)
    low, high = _ends(corrected)
    if low >= least and _left_out_matters(judged, report, least):
        are, they = ("is", "it") if judged.left_out == 1 else ("are", "they")
        said = (
            f"{judged.left_out} of {judged.left_out + len(judged.outcomes)} outputs {are} left out, and "
            f"counted as failing {they} would bring the lower end under {least:g}: have people answer what "
            "waits, audit the systems"
        )
        return GateResult(GateOutcome.INSUFFICIENT, said, judged, corrected, least)
    if low >= least:
        return GateResult(GateOutcome.OPEN, f"the pass rate is at least {least:g}", judged, corrected, least)
    if high < least:
        return GateResult(GateOutcome.SHUT, f"the pass rate is under {least:g}", judged, corrected, least)
    said = f"the interval holds {least:g}: judge more outputs, or label more failures and passes"
    return GateResult(GateOutcome.INSUFFICIENT, said, judged, corrected, least)


def _left_out_matters(judged: Judged, report: CalibrationReport, least: float) -> bool:
    """True where the gate would not open with everything that was left out counted as not accepted."""
    if not judged.left_out:
        return False
    all_of_it = Deployment(judged.accepted, len(judged.outcomes) + judged.left_out)
    worst = corrected_figure(report.table, all_of_it)
    return worst is None or worst.lower is None or worst.lower < least


def _no_ground(report: CalibrationReport) -> str:
    """Why nothing that the judge says can open a gate; empty where it may."""
    fail, passing = report.table.fail, report.table.passing
    if not report.headline.n:
        return "no reference failure is known of this judge: its acceptances say nothing"
    if report.far is not None and passing.accepted * fail.total <= fail.accepted * passing.total:
        return "the judge accepts failures as often as passes: it is no better than chance"
    return ""


def _cannot_say(judged: Judged, corrected: CorrectedFigure | None) -> str:
    if not judged.outcomes:
        are = "is" if judged.left_out == 1 else "are"
        left = f" ({counted(judged.left_out, 'output')} {are} left out)" if judged.left_out else ""
        return f"the file holds no verdict of this judge under the criterion{left}"
    if judged.open:
        are = "is" if judged.open == 1 else "are"
        return f"{judged.open} of {counted(len(judged.outcomes), 'verdict')} {are} still open"
    if corrected is None or corrected.lower is None:
        return corrected.undefined if corrected and corrected.undefined else "nothing can be corrected"
    return ""


def _ends(corrected: CorrectedFigure | None) -> tuple[float, float]:
    if corrected is None or corrected.lower is None or corrected.upper is None:
        raise ValueError("a corrected rate without an interval decides nothing")
    return corrected.lower, corrected.upper


def read_judged(source: str, criterion: Criterion, *, judge: str, rubric: str) -> Judged:
    """What a file says under the criterion: a batch of grades, or verdicts of another tool.

    Args:
        source: the file.
        criterion: whose verdicts are read; those under other criteria are passed over.
        judge: whose verdicts they must say they are.
        rubric: name@version under which they must say they were given.

    Raises:
        DeclarationError: the file cannot be read or names no such criterion.
        TableError: a line cannot be read, is of another judge or rubric, or names none, with its number.
    """
    path = Path(source)
    if path.is_file() and _is_batch(path):
        lines = read_grades(path)
        return replace(judged_of(lines, criterion), header=read_header(path), grades=lines)
    return _from_verdicts(source, criterion, judge, rubric)


def _is_batch(path: Path) -> bool:
    with path.open("rb") as file:
        return BATCH_SCHEMA.encode() in file.readline(100_000)


def judged_of(lines: Sequence[Mapping[str, Any]], criterion: Criterion) -> Judged:
    """What the judge said in grades, which are JSON objects of the form voirdire.grade/1."""
    outcomes: dict[str, Outcome] = {}
    unaudited: list[str] = []
    people: list[str] = []
    decisions: set[str] = set()
    judges: set[str] = set()
    for line in lines:
        item = line["item_id"]
        said = next((c for c in line["criteria"] if c["criterion"] == criterion.key), None)
        if said is None:
            raise DeclarationError(f"the grade of item {item!r} has no criterion {criterion.key!r}")
        if any(flag["trigger"] == "system" for flag in line["flags"] if flag["criterion"] == criterion.key):
            unaudited.append(item)
        elif not said["decision"]:
            people.append(item)
        else:
            reason = UnknownReason(said["reason"]) if said["reason"] else None
            outcomes[item] = Outcome(Verdict(said["verdict"]), reason, said["detail"])
            decisions.add(said["decision"])
            judges.add(said["judge"])
    return Judged(outcomes, tuple(unaudited), tuple(people), frozenset(decisions), frozenset(judges))


def _from_verdicts(source: str, criterion: Criterion, judge: str, rubric: str) -> Judged:
    """Verdict lines as `voirdire verdicts import` reads them, without a store to join them to."""
    book = AnswerBook(criterion, Side.JUDGE)
    outcomes: dict[str, Outcome] = {}
    with open_native(source, known=VERDICT_FIELDS) as file:
        for record in file.records():
            if isinstance(record, Rejected):
                raise TableError(f"{file.name}, line {record.line}: {record.message}", line=record.line)
            fields = record.fields
            if str(fields.get("criterion") or criterion.key) != criterion.key:
                continue
            if "label" not in fields and "reason" not in fields:
                raise TableError(
                    f"{file.name}, line {record.line}: no label, so this is no file of verdicts (item_id, "
                    "judge, rubric, criterion, label) and none of `voirdire grade --out`",
                    line=record.line,
                )
            for field, own in (("judge", judge), ("rubric", rubric)):
                _require_named(file.name, record.line, field, fields.get(field), own)
            item = str(fields.get("item_id") or "")
            if not item:
                raise TableError(f"{file.name}, line {record.line}: no item_id", line=record.line)
            if item in outcomes:
                raise TableError(
                    f"{file.name}, line {record.line}: item {item!r} has a verdict already; give one verdict "
                    "an item, orders and repeats settled",
                    line=record.line,
                )
            try:
                outcomes[item] = _outcome(book, criterion, fields)
            except BadField as bad:
                raise TableError(f"{file.name}, line {record.line}: {bad}", line=record.line) from bad
    return Judged(outcomes, judges=frozenset({judge} if outcomes else ()))


def _require_named(file: str, line: int, field: str, given: Any, own: str) -> None:
    """Refuse a verdict that is not said to be of the admitted judge, under the rubric of its admission."""
    if str(given or "") == own:
        return
    found = f"of the {field} {str(given)!r}" if given else f"of no {field} by name"
    raise TableError(
        f"{file}, line {line}: a verdict {found}, and the admission is of {own!r}: its error rates say "
        f"nothing of other ones; give lines with {field!r}: {own!r} alone",
        line=line,
    )


def _outcome(book: AnswerBook, criterion: Criterion, fields: Mapping[str, Any]) -> Outcome:
    said, _ = read_reason(fields, book.read(fields.get("label")))
    answer = answered(said.answer) if said.reason is None else no_answer(said.reason, said.detail)
    outcome = answer.outcome(criterion.scale)
    if isinstance(outcome, NoClaim):
        raise DeclarationError(
            f"criterion {criterion.key!r} declares no candidate, so a preference accepts nothing"
        )
    return outcome
