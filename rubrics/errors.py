"""The exception tree of voirdire.

JudgeCalibrationError
├── DeclarationError      a rubric, judge spec, policy or file is wrong: fix the input, a retry cannot help
│   └── TableError        a line of a table or JSON Lines file, with its place
├── ExecutionError        a model call or a reply went wrong; `retryable` says whether trying again may help
├── AdmissionError        grading was asked of a judge that may not grade
│   ├── JudgeNotAdmitted  no live decision for this judge, rubric, criterion, population and role
│   └── AdmissionExpired  there was one, and it has lapsed
├── RaterRefused          a rater or adjudicator asked for what the session does not allow them
├── RecordError           a stored record is not there, or is not the one that the digest names
│   └── DifferentRecord   a record with this id is there, with other content
└── StoreError            the database cannot take or give a record: full, locked, unreachable, another schema

Every message says what was given, what is allowed and what to do next, in one sentence.
"""

from __future__ import annotations


class JudgeCalibrationError(Exception):
    """The root: whoever calls voirdire may catch this one class."""


class DeclarationError(JudgeCalibrationError):
    """An input that someone wrote is wrong; the person who wrote it reads this."""


class TableError(DeclarationError):
    """A line of a file cannot be read as what it should be; names the file, the line and the field."""

    def __init__(self, message: str, *, line: int | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.field = field


class ExecutionError(JudgeCalibrationError):
    """A model call failed; the operator of a run reads this."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable


class AdmissionError(JudgeCalibrationError):
    """The registry does not allow this grading; the person who asked for the grade reads this."""


class JudgeNotAdmitted(AdmissionError):
    """No live decision covers the scope; `missing` lists the evidence that would be needed."""

    def __init__(self, message: str, *, missing: tuple[str, ...]) -> None:
        super().__init__(message)
        self.missing = missing


class AdmissionExpired(AdmissionError):
    """A decision covered the scope and its validity has ended, by time or by use."""

    def __init__(self, message: str, *, decision: str = "") -> None:
        super().__init__(message)
        self.decision = decision
        """The hash of that decision."""


class RaterRefused(JudgeCalibrationError):
    """Someone's assignment, a closed session, a role or a stale hand-out: the person who rates reads this."""


class RecordError(JudgeCalibrationError):
    """A stored record is missing, stale, or differs from its digest."""


class DifferentRecord(RecordError):
    """The id is taken by a record with other content; what is recorded is never overwritten."""

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position
        """Place of the refused record among those given, from 0; None when only one was given."""


class StoreError(JudgeCalibrationError):
    """The database refused or failed; whoever operates it reads this. Nothing of the step was stored."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable
        """True where the same step may succeed later; repeating it never stores anything twice."""
        self.unstored: tuple[str, ...] = ()
        """Of work that it ended half-way: what may be paid and is not stored, a sentence each."""
        self.resume = ""
        """The command that goes on with that work; "" where nothing was begun."""
