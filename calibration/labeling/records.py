"""What a rater is given and what a rater says: the records between the store and the pages.

Nothing here names an item, a system, a stratum or another person: a page that shows all of a record
shows nothing that could bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from rubrics.criterion import EvidenceSource
from rubrics.rubric import Criterion, Rubric

EARLIEST_MS: Final = 250
"""A press sooner than this after the task was shown was meant for the one before it: ignored."""
IDLE_MINUTES: Final = 5
"""Longer between shown and decided counts as idle and is left out of figures of speed."""
BATCH: Final = 50
"""Items of a batch, after which a break is offered."""
BREAK_MINUTES: Final = 40
"""Minutes without a break after which one is offered."""

LEFT, RIGHT, TIE, UNKNOWN = "left", "right", "tie", "unknown"


class TaskKind(StrEnum):
    """What is asked of the person."""

    PRACTICE = "practice"
    """A worked example of the rubric, with feedback; never evidence."""
    RATE = "rate"
    ADJUDICATE = "adjudicate"


class CannotDecide(StrEnum):
    """Why a rater cannot decide; one is required."""

    EVIDENCE_MISSING = "evidence_missing"
    CRITERION_AMBIGUOUS = "criterion_ambiguous"
    OUTPUT_CUT_OFF = "output_cut_off"
    OUTSIDE_EXPERTISE = "outside_expertise"
    OTHER = "other"


class NothingWhy(StrEnum):
    """Why there is no task."""

    NO_SESSION = "no_session"
    """The person is in no session."""
    ALL_DONE = "all_done"
    CLOSED = "closed"
    WINDOW_OVER = "window_over"
    """The observation window has ended."""
    NOT_YET_OPEN = "not_yet_open"


class IgnoredWhy(StrEnum):
    """Why an answer was neither stored nor an error."""

    TOO_EARLY = "too_early"
    """Pressed within EARLIEST_MS after the task was shown."""
    ALREADY_ANSWERED = "already_answered"
    """Another tab was faster with another answer; that one stands. Undo it to change it."""


class EventKind(StrEnum):
    """What a page may note beside answers."""

    SHOWN = "shown"
    BREAK = "break"
    """A break was taken."""
    BREAK_SKIPPED = "break_skipped"
    IDLE = "idle"
    RUBRIC_NOTICE = "rubric_notice"
    """A newer version of the rubric was announced and read."""


class Span(NamedTuple):
    """A marked piece of a shown field, in characters of its text."""

    field: str
    """The key of the shown field; for a pair `left` or `right`."""
    start: int
    """From 0."""
    end: int
    """Exclusive."""


class TaskKey(NamedTuple):
    """What an answer is given to; a page binds its buttons to it (`str(key)` is a widget key)."""

    assignment: str
    criterion: str
    lease_no: int
    """The fencing number of the hand-out: an answer with an older one is refused."""

    def __str__(self) -> str:
        return f"{self.assignment}-{self.criterion}-{self.lease_no}"


@dataclass(frozen=True, slots=True)
class ShownField:
    """One text beside the criterion."""

    key: str
    """The rubric's key; of a pair `left` and `right`, already swapped for this person."""
    title: str
    source: EvidenceSource
    text: str
    """Untrusted: it goes through the page's one safe way of showing text."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer that was given."""

    digest: str
    value: str
    """As the person saw it: left and right, not A and B."""
    reason: str | None
    failure_mode: str | None
    note: str
    decided_at: datetime
    revision: int
    retracted: bool = False
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One criterion of one item as one person sees it."""

    session: str
    """Name of the session."""
    assignment: str
    lease_no: int
    kind: TaskKind
    fields: tuple[ShownField, ...]
    rubric: Rubric
    criterion: Criterion
    criterion_no: int
    """1-based; the criteria of one item come in a row."""
    criteria: int
    position: int
    """1-based place among this person's items of the kind."""
    of: int
    given: GivenAnswer | None = None
    """The live answer, where the task is looked at again."""

    @property
    def key(self) -> TaskKey:
        """What an answer to this task names."""
        return TaskKey(self.assignment, self.criterion.key, self.lease_no)

    @property
    def answers(self) -> tuple[str, ...]:
        """The values that an answer may have beside `unknown`, in the order of their keys."""
        return shown_answers(self.criterion)


def shown_answers(criterion: Criterion) -> tuple[str, ...]:
    """The answers of the criterion as a person gives them: left, right, tie for a pair."""
    return (LEFT, RIGHT, TIE) if criterion.scale.kind == "preference" else criterion.answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person said of a task."""

    value: str
    """One of task.answers, or `unknown` (cannot decide), which needs a reason."""
    shown_at: datetime
    """When the page showed the task."""
    decided_at: datetime
    """When the key was pressed, by the clock of the server."""
    reason: str | None = None
    """A word of CannotDecide; only with `unknown`."""
    failure_mode: str | None = None
    """A failure mode of the criterion; only with an answer that fails."""
    note: str = ""
    spans: tuple[Span, ...] = ()
    ui_version: str = ""
    idle: bool = False
    """True where the page saw more than IDLE_MINUTES without a sign of life."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What the rubric says of a practice case, after it was answered."""

    agrees: bool
    expected: str
    """As task.answers spells it."""
    why: str


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of an answer; exactly one of `digest`, `ignored`, `feedback` is set."""

    digest: str | None = None
    """Of the stored assessment, be it new or the same as before."""
    new: bool = False
    """False where the same answer was stored before: pressing twice stores once."""
    ignored: IgnoredWhy | None = None
    feedback: Feedback | None = None
    """For a practice case."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """There is no task for this person now."""

    why: NothingWhy
    awaiting_adjudication: int = 0
    """Of the person's items, those that wait for an adjudicator."""
    session: str | None = None
    opens_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the person is, in items; practice apart."""

    batch: int
    """1-based number of the current batch."""
    batch_done: int
    batch_size: int
    """Items of this batch; the last one may be shorter."""
    done: int
    """Items done in this session."""
    of: int
    total_ever: int
    """Items done in all sessions."""
    minutes_since_break: float
    """Since the last break, or since the first task of the day was shown; 0 where nothing was shown yet."""
    break_due: bool = False
    """True when a batch was just finished or BREAK_MINUTES have passed."""


@dataclass(frozen=True, slots=True)
class Past:
    """One line of a person's own history, newest first."""

    session: str
    assignment: str
    criterion: str
    criterion_title: str
    position: int
    excerpt: str
    """The first words of the output; untrusted."""
    given: GivenAnswer
    changeable: bool
    """True while the session is open."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session as those in it may know it."""

    name: str
    rubric: str
    """name@version."""
    role: TaskKind
    """RATE or ADJUDICATE."""
    open: bool
    window_ends_at: datetime | None
    done: int
    of: int


@dataclass(frozen=True, slots=True)
class Revealed:
    """One of the answers in dispute, without a name, in random order."""

    letter: str
    """A, B, C ..."""
    value: str
    """As the adjudicator sees the item: left and right, not A and B."""
    reason: str | None
    failure_mode: str | None
    note: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """An item and criterion to adjudicate."""

    task: Task
    first: GivenAnswer | None
    """The adjudicator's own verdict before the reveal; None until it was given."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What became of a resolution."""

    digest: str
    value: str
    """`unknown` left it unresolved."""
    changed: bool
    """True where the final verdict differs from the first one."""


@dataclass(frozen=True, slots=True)
class AdjudicationCounts:
    """An adjudicator's cases."""

    open: int
    resolved: int
    unresolved: int


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who signed in."""

    id: str
    handle: str
    """The name that sessions, labels and signatures use; unique."""
    name: str
    """For display; untrusted."""
    auth: str
    """local, oidc or proxy."""

    @property
    def verified(self) -> bool:
        """False for a local name, which anyone can type."""
        return self.auth != "local"
