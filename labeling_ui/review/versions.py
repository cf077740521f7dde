"""Versions of a rubric: what changed in which words, what hangs on each, what raters call ambiguous."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session

from calibration.labeling.records import CannotDecide
from calibration.labeling.sessions import OpenWork
from calibration.store.assessments import StoredLabel, iter_labels
from calibration.store.decisions import iter_decisions
from calibration.store.items import Scope, list_datasets
from calibration.store.judges import get_judge, list_runs
from calibration.store.payloads import StoredText, read_payloads
from labeling_ui.components import Markup, untrusted
from labeling_ui.review.pages import heading
from rubrics.changes import Change
from rubrics.diff import RubricDiff
from rubrics.rubric import Rubric
from rubrics.words import Edit, Run

_EFFECTS = {
    "weakens": "weakens: outputs may pass that did not before",
    "strengthens": "strengthens: outputs may fail that did not before",
    "redefines": "redefines: old and new verdicts are not comparable",
    "wording": "wording: no rule changed",
}


@dataclass(frozen=True, slots=True)
class Hanging:
    """What was made under one version and stays with it."""

    labels: int
    raters: int
    judges: tuple[str, ...]
    decisions: int
    admissions: int
    """Of the decisions those that admit and still stand."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A rater's word that a criterion could not be decided as it is written."""

    criterion: str
    item_id: str
    rater: str
    note: str
    """Untrusted; may be empty."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version with what hangs on it."""

    rubric: Rubric
    hanging: Hanging
    ambiguous: tuple[Ambiguous, ...]
    hidden: bool
    """True where comments are kept back from whoever still rates there."""


def version_of(*, session: Session, rubric: Rubric, work: OpenWork) -> Version:
    """The version with its live labels, judges and decisions, and what raters called ambiguous.

    Comments are kept back from whoever has something open under the rubric, in any version, or on the
    dataset: they would say what others could not decide, and of which item.
    """
    labels = [
        (dataset, label)
        for dataset, _ in list_datasets(session=session)
        for label in iter_labels(session=session, scope=Scope(dataset=dataset), rubric_digest=rubric.digest)
    ]
    shut = rubric.name in work.rubrics
    doubts = [
        label
        for dataset, label in labels
        if label.reason == CannotDecide.CRITERION_AMBIGUOUS and not shut and dataset not in work.datasets
    ]
    texts = read_payloads(session=session, digests=[each.note_digest for each in doubts if each.note_digest])
    return Version(
        rubric,
        _hanging(session, rubric, [label for _, label in labels]),
        tuple(
            Ambiguous(each.criterion, each.item_id, each.rater, _note(texts.get(each.note_digest or "")))
            for each in doubts
        ),
        hidden=shut or any(dataset in work.datasets for dataset, _ in labels),
    )


def _hanging(session: Session, rubric: Rubric, labels: Sequence[StoredLabel]) -> Hanging:
    runs = {run.judge_digest for run in list_runs(session=session, rubric_digest=rubric.digest)}
    judges = (get_judge(session=session, judge=digest) for digest in runs)
    standing = iter_decisions(session=session, rubric_digest=rubric.digest, standing=True)
    return Hanging(
        labels=len(labels),
        raters=len({label.rater for label in labels}),
        judges=tuple(sorted(judge.name for judge in judges)),
        decisions=sum(1 for _ in iter_decisions(session=session, rubric_digest=rubric.digest)),
        admissions=sum(each.outcome == "admit" for each in standing),
    )


def _note(found: object) -> str:
    return str(found.content.get("note", "")) if isinstance(found, StoredText) else ""


def hanging_words(found: Hanging) -> str:
    """What hangs on a version, in one line."""
    judges = f"{len(found.judges):,} {'judge' if len(found.judges) == 1 else 'judges'}"
    labels = f"{found.labels:,} {'label' if found.labels == 1 else 'labels'}"
    decisions = f"{found.decisions:,} {'decision' if found.decisions == 1 else 'decisions'}"
    raters = f"{found.raters:,} {'rater' if found.raters == 1 else 'raters'}"
    standing = f"{found.admissions:,} of them {'admits' if found.admissions == 1 else 'admit'} now"
    said = f"{labels} by {raters}, {judges}, {decisions}"
    return f"{said}, {standing}" if found.decisions else said


def diff_section(found: RubricDiff) -> Markup:
    """Every change with its words, and what the new version invalidates."""
    title = f"{found.old.ref} to {found.new.ref}"
    consequences = Markup("").join(
        Markup("<li>{}</li>").format(untrusted(each)) for each in found.consequences()
    )
    changes = Markup("").join(_change(change) for change in found.changes)
    none = Markup('<p class="vd-under">Nothing but the number differs.</p>')
    told = Markup('<ul class="vd-said">{}</ul>').format(consequences) if consequences else Markup("")
    return (
        heading(title, under=f"{len(found.changes):,} {'change' if len(found.changes) == 1 else 'changes'}")
        + (changes or none)
        + told
    )


def _change(change: Change) -> Markup:
    made = Markup('<div class="vd-change"><p class="vd-sub">{} · {}</p><p>{}</p>{}</div>')
    where = f"criterion {change.criterion}" if change.criterion else "whole rubric"
    words = Markup('<p class="vd-diff">{}</p>').format(_words(change.words)) if change.words else Markup("")
    return made.format(
        untrusted(where), _EFFECTS[change.effect.value], untrusted(str(change.sentence)), words
    )


def _words(runs: tuple[Run, ...]) -> Markup:
    kinds = {Edit.REMOVED: Markup("<del>{}</del>"), Edit.ADDED: Markup("<ins>{}</ins>")}
    return Markup("").join(kinds.get(run.edit, Markup("{}")).format(untrusted(run.text)) for run in runs)


def ambiguous_list(comments: tuple[Ambiguous, ...], *, hidden: bool) -> Markup:
    """What raters said of one criterion, as far as whoever reads it may know."""
    if not comments and hidden:
        return Markup(
            '<p class="vd-under">What raters call ambiguous opens once you have rated all yours.</p>'
        )
    if not comments:
        return Markup('<p class="vd-under">No rater called it ambiguous.</p>')
    lines = Markup("").join(
        Markup('<li dir="auto">{} <span>{} · {}</span></li>').format(
            untrusted(each.note or "(no note)"), untrusted(each.rater), untrusted(each.item_id)
        )
        for each in comments
    )
    return Markup('<p class="vd-eyebrow">Called ambiguous: {}</p><ul class="vd-said">{}</ul>').format(
        f"{len(comments):,}", lines
    )
