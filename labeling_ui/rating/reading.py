"""What is read on a page: the item at the left, the criterion and the note at the right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import streamlit as st
from markupsafe import Markup

from calibration.labeling.choices import REASONS, Choice, answers, words
from calibration.labeling.records import (
    LEFT,
    RIGHT,
    TIE,
    UNKNOWN,
    Answer,
    GivenAnswer,
    Progress,
    Revealed,
    Span,
    Task,
    TaskKind,
)
from labeling_ui.components import (
    Range,
    criterion_panel,
    eyebrow,
    item_panel,
    keycap,
    progress_line,
    prose,
    show,
    untrusted,
)
from labeling_ui.rating.desk import idle
from labeling_ui.rating.flow import Said, Step
from labeling_ui.rating.quotes import quotes
from labeling_ui.rating.version import UI_VERSION
from rubrics.criterion import EvidenceSource

COLUMNS: Final = (62, 38)
ASKS: Final = {
    Step.ANSWER: "",
    Step.REASON: "Why can it not be decided?",
    Step.MODE: "In which way does it fail?",
}
"""What a bar asks where the card does not."""
HINTS: Final = (("E", "fold evidence"), ("H", "help"))
LONGEST_NOTE: Final = 4_000


def item(task: Task, spans: Iterable[Span] = ()) -> None:
    """Show the texts of the item; reference texts folded, for they are not what is judged."""
    folded = [field.key for field in task.fields if field.source is EvidenceSource.REFERENCE]
    show(item_panel(task.fields, ranges(spans), folded=folded))


def ranges(spans: Iterable[Span]) -> Mapping[str, Sequence[Range]]:
    """The marked stretches by field."""
    found: dict[str, list[Range]] = defaultdict(list)
    for span in spans:
        found[span.field].append((span.start, span.end))
    return found


def card(task: Task) -> None:
    """Show what is asked and when to give which answer; no worked examples where one of them is the task."""
    criterion = task.criterion
    if task.kind is TaskKind.PRACTICE:
        criterion = criterion.model_copy(update={"examples": ()})
    show(criterion_panel(criterion, number=task.criterion_no, of=task.criteria, rubric=task.rubric.ref))


def legend(task: Task, choices: Sequence[Choice]) -> None:
    """Show what each way to fail means, in place of the card while one is asked for."""
    when = {mode.key: mode.when for mode in task.criterion.failure_modes}
    rows = Markup("").join(
        Markup('<div class="vd-gd">{}<b>{}</b><p>{}</p></div>').format(
            keycap(choice.key or ""), untrusted(choice.label), untrusted(when[choice.value])
        )
        for choice in choices
        if choice.value in when
    )
    head = Markup("{}<h1>{}</h1>").format(eyebrow("Ways to fail"), untrusted(task.criterion.title))
    show(
        Markup('<section class="vd-card vd-legend" aria-label="Ways to fail">{}{}</section>').format(
            head, rows
        )
    )


def note_key(task: Task) -> str:
    """The widget key of the note: bound to the task, so that words never move to another one."""
    return f"note-{task.key}"


def reason_key(task: Task) -> str:
    """The widget key of an adjudicator's reason."""
    return f"reason-{task.key}"


def note(task: Task) -> None:
    """Show the field for a note. What is typed is sent with the next press, not before."""
    _field(note_key(task), "Note, optional", "Which words decided it?")


def reason(task: Task) -> None:
    """Show the field for the reason of a resolution."""
    _field(reason_key(task), "Reason, required", "What decided it?")


def _field(key: str, label: str, hint: str) -> None:
    keys = keycap("N", "write") + keycap("M", "quote") + keycap("Esc", "leave")
    show(Markup('<div class="vd-note"><span>{}</span><span>{}</span></div>').format(untrusted(label), keys))
    st.text_area(
        label,
        key=key,
        height=84,
        max_chars=LONGEST_NOTE,
        placeholder=hint,
        label_visibility="collapsed",
        on_change="ignore",
    )


def noted(task: Task) -> str:
    """What stands in the note."""
    return str(st.session_state.get(note_key(task)) or "").strip()


def answer_of(task: Task, said: Said, *, shown_at: datetime, decided_at: datetime) -> Answer:
    """What was said of the task as it is stored, with the note and the spans that it quotes."""
    note = noted(task)
    return Answer(
        value=said.answer,
        reason=said.reason,
        failure_mode=said.mode,
        note=note,
        spans=quotes(note, judged_first(task)),
        shown_at=shown_at,
        decided_at=decided_at,
        ui_version=UI_VERSION,
        idle=idle(shown_at, decided_at),
    )


def judged_first(task: Task) -> list[tuple[str, str]]:
    """Key and text of each field, what is judged before what it is judged by."""
    fields = sorted(task.fields, key=lambda field: field.source is not EvidenceSource.CANDIDATE)
    return [(field.key, field.text) for field in fields]


def progress(made: Progress, task: Task, handle: str) -> None:
    """Show how far the batch is; the whole is a number only: a bar of ten thousand looks empty for days."""
    if task.kind is TaskKind.PRACTICE:
        line = progress_line(label="Practice", done=task.position - 1, of=task.of, right=handle)
    else:
        line = progress_line(
            label=f"Batch {made.batch:,}",
            done=made.batch_done,
            of=made.batch_size,
            right=f"{handle} · this session {made.done:,} of {made.of:,} · total {made.total_ever:,}",
        )
    show(line)


def mark(value: str) -> str:
    """The mark that stands for an answer beside its word."""
    return value if value in {"pass", "fail", UNKNOWN, TIE, LEFT, RIGHT} else "level"


def in_words(task: Task, given: GivenAnswer | Revealed) -> str:
    """The answer as its button said it, with the reason or the way to fail."""
    labels = {choice.value: choice.label for choice in answers(task.criterion)}
    reasons = {choice.value: choice.label.lower() for choice in REASONS}
    said = labels.get(given.value, given.value)
    more = [
        reasons.get(given.reason or "", given.reason or ""),
        words(given.failure_mode or "").lower(),
    ]
    detail = ", ".join(part for part in more if part)
    return f"{said}: {detail}" if detail else said


def given_answer(task: Task, given: GivenAnswer) -> None:
    """Show an answer that was given, to be read."""
    when = f"{given.decided_at:%d %b %Y, %H:%M} UTC"
    revised = f" · entry {given.revision + 1}" if given.revision else ""
    taken_back = " · taken back" if given.retracted else ""
    body = Markup('<section class="vd-card vd-given" aria-label="Your answer">{}<h1>{}</h1>{}{}</section>')
    noted_down = prose(given.note) if given.note else Markup("")
    show(
        body.format(
            eyebrow("Your answer"),
            untrusted(in_words(task, given)),
            Markup('<p class="vd-when">{}</p>').format(untrusted(when + revised + taken_back)),
            noted_down,
        )
    )


def heard(task: Task) -> str:
    """What a screen reader says of a new task: places, no texts."""
    kind = "Practice case" if task.kind is TaskKind.PRACTICE else "Item"
    return f"{kind} {task.position} of {task.of}, criterion {task.criterion_no} of {task.criteria}"
