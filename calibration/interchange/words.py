"""Label words -> verdicts and outcomes. A word that is not known is never guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final, Generic, TypeVar

from calibration.interchange.lines import shown
from rubrics.errors import DeclarationError
from rubrics.verdict import FAIL, PASS, REASON_DETAILS, Outcome, UnknownReason, Verdict, unknown


class Side(StrEnum):
    """The columns whose words can be mapped."""

    HUMAN = "human"
    JUDGE = "judge"
    REASON = "reason"


class Cell(Enum):
    """What a label cell says besides a verdict."""

    EMPTY = "empty"
    """Nothing was said: no label, or no verdict and no reason of its own."""
    UNMAPPED = "unmapped"
    """A word that nobody has explained."""


HUMAN_WORDS: Final[Mapping[str, Verdict | Cell]] = {
    "pass": Verdict.PASS,
    "fail": Verdict.FAIL,
    "cannot_decide": Verdict.UNKNOWN,
    "unknown": Verdict.UNKNOWN,
    "": Cell.EMPTY,
}
JUDGE_WORDS: Final[Mapping[str, Outcome | Cell]] = {
    "pass": PASS,
    "fail": FAIL,
    "cannot_decide": unknown(UnknownReason.ABSTAINED, "cannot_tell"),
    **{reason.value: unknown(reason) for reason in UnknownReason},
    "unknown": Cell.EMPTY,
    "": Cell.EMPTY,
}
REASON_WORDS: Final[Mapping[str, Outcome | Cell]] = {
    **{reason.value: unknown(reason) for reason in UnknownReason},
    **{
        detail: unknown(reason, detail)
        for reason, details in REASON_DETAILS.items()
        for detail in sorted(details)
    },
    "": Cell.EMPTY,
}
REASONS_READ: Final = f"{', '.join(UnknownReason)} and their details"
LABELS_READ: Final = (
    f"pass, fail, cannot_decide, unknown and empty, of a judge also {', '.join(UnknownReason)}"
)
_TARGETS: Final[Mapping[Side, tuple[str, ...]]] = {
    Side.HUMAN: ("pass", "fail", "cannot_decide"),
    Side.JUDGE: ("pass", "fail", "cannot_decide", *(reason.value for reason in UnknownReason)),
    Side.REASON: tuple(reason.value for reason in UnknownReason),
}
# only for the command that a message proposes; nothing is read by these
_LIKELY_PASS = frozenset(
    {"1", "1.0", "true", "yes", "y", "t", "ok", "good", "correct", "accept", "accepted", "passed"}
)
_LIKELY_FAIL = frozenset(
    {"0", "0.0", "false", "no", "n", "f", "bad", "incorrect", "wrong", "reject", "rejected", "failed"}
)
_MOST_PROPOSED, _LONGEST_PROPOSED = 12, 40
# stands where only the person knows: a command that holds one is refused until they have chosen
_PLACEHOLDER: Final[Mapping[Side, str]] = {
    Side.HUMAN: "PASS_OR_FAIL",
    Side.JUDGE: "PASS_OR_FAIL",
    Side.REASON: "WHICH_REASON",
}
_TO_REPLACE: Final[Mapping[str, str]] = {
    "PASS_OR_FAIL": "replace PASS_OR_FAIL by pass or fail",
    "WHICH_REASON": f"replace WHICH_REASON by {', '.join([*UnknownReason][:-1])} or {[*UnknownReason][-1]}",
}
_LIKELY_NOTHING = frozenset(
    {"na", "n/a", "nan", "null", "none", "-", "?", "missing", "#n/a", "skip", "skipped"}
)


def fold(cell: str) -> str:
    """The cell as words are compared: without surrounding spaces, in lower case."""
    return cell.strip().casefold()


def boolean_like(word: str) -> bool:
    """True for a folded word that somebody may have meant as yes or no."""
    return word in _LIKELY_PASS or word in _LIKELY_FAIL


@dataclass(frozen=True, slots=True)
class WordMap:
    """What one word means: `--map WORD=MEANING`, for one side or wherever the meaning exists."""

    word: str
    """Folded."""
    meaning: str
    side: Side | None = None

    def applies_to(self, side: Side) -> bool:
        """True where cells of the side are read by this map."""
        if self.side is not None:
            return self.side is side
        return side is not Side.REASON and self.meaning in _TARGETS[side]

    def __str__(self) -> str:
        return f"{self.side}:{self.word}={self.meaning}" if self.side else f"{self.word}={self.meaning}"


def parse_map(text: str) -> WordMap:
    """The map that `WORD=MEANING`, `human:WORD=MEANING`, `judge:...` or `reason:...` states.

    Raises:
        DeclarationError: there is no =, the side does not know the meaning, or nobody has chosen one yet.
    """
    word, equals, meaning = text.rpartition("=")
    if choice := _TO_REPLACE.get(meaning.strip().upper()):
        raise DeclarationError(choice)
    prefix, colon, rest = word.partition(":")
    side = Side(prefix) if colon and prefix in set(Side) else None
    allowed = _TARGETS[side] if side else _TARGETS[Side.JUDGE]
    meaning = fold(meaning)
    if not equals or meaning not in allowed:
        raise DeclarationError(
            f"--map {shown(text)} is not WORD=MEANING, e.g. --map yes=pass; "
            f"a meaning is one of {', '.join(allowed)}"
        )
    return WordMap(fold(rest if side else word), meaning, side)


T = TypeVar("T")


class Lookup(dict[str, "T | Cell"], Generic[T]):
    """Cell text -> what it says, remembered as met, so that a table's row costs one dict access."""

    def __init__(self, words: Mapping[str, T | Cell]) -> None:
        super().__init__()
        self.words = dict(words)

    def __missing__(self, cell: str) -> T | Cell:
        value = self[cell] = self.words.get(fold(cell), Cell.UNMAPPED)
        return value


class WordBook:
    """The words of one table: the contract's and those that `--map` explains."""

    def __init__(
        self, maps: Sequence[WordMap] = (), *, null_as: UnknownReason = UnknownReason.MISSING
    ) -> None:
        self.maps = tuple(maps)
        self.null_as = unknown(null_as)
        human = {m.word: _HUMAN_MEANINGS[m.meaning] for m in maps if m.applies_to(Side.HUMAN)}
        judge = {m.word: JUDGE_WORDS[m.meaning] for m in maps if m.applies_to(Side.JUDGE)}
        reason = {m.word: REASON_WORDS[m.meaning] for m in maps if m.applies_to(Side.REASON)}
        self.human: Lookup[Verdict] = Lookup({**HUMAN_WORDS, **human})
        self.judge: Lookup[Outcome] = Lookup({**JUDGE_WORDS, **judge})
        self.reason: Lookup[Outcome] = Lookup({**REASON_WORDS, **reason})
        self._words: dict[Side, Mapping[str, object]] = {
            Side.HUMAN: self.human.words,
            Side.JUDGE: self.judge.words,
            Side.REASON: self.reason.words,
        }

    def knows(self, side: Side, word: str) -> bool:
        """True where the folded word is read on that side."""
        return word in self._words[side]

    def unused(self) -> tuple[WordMap, ...]:
        """The maps whose word no cell of their side held."""
        met = {
            side: {fold(cell) for cell in lookup}
            for side, lookup in (
                (Side.HUMAN, self.human),
                (Side.JUDGE, self.judge),
                (Side.REASON, self.reason),
            )
        }
        return tuple(
            m for m in self.maps if not any(m.applies_to(side) and m.word in met[side] for side in Side)
        )


_HUMAN_MEANINGS: Final = {"pass": Verdict.PASS, "fail": Verdict.FAIL, "cannot_decide": Verdict.UNKNOWN}


@dataclass(slots=True)
class UnmappedWords:
    """The words of a table that nobody has explained, with how often and where first."""

    counts: Counter[tuple[Side, str]] = field(default_factory=Counter)
    first: dict[tuple[Side, str], int] = field(default_factory=dict)

    def add(self, side: Side, cell: str, line: int) -> None:
        """Count one cell."""
        key = (side, cell.strip())
        self.counts[key] += 1
        self.first.setdefault(key, line)

    def of(self, side: Side) -> list[tuple[str, int]]:
        """(word, count) of one side, the most frequent first."""
        return [(word, count) for (where, word), count in self.counts.most_common() if where is side]


def likely_meaning(side: Side, word: str) -> str | None:
    """What a proposed command suggests for a word, None where nothing suggests itself."""
    folded = fold(word)
    if side is not Side.REASON and folded in _LIKELY_PASS:
        return "pass"
    if side is not Side.REASON and folded in _LIKELY_FAIL:
        return "fail"
    if folded in _LIKELY_NOTHING:
        return "cannot_decide" if side is Side.HUMAN else "missing"
    return None


def proposed_maps(words: Iterable[tuple[Side, str]]) -> tuple[str, ...]:
    """`--map` arguments that would explain the words; shared by both sides where both agree.

    A meaning that does not suggest itself is left to the person: its place is held by a word that
    `parse_map` refuses, with what to put there (`choices_in`). None where there are too many words, or
    one is too long, for a command that a person would type.
    """
    words = list(words)
    if len(words) > _MOST_PROPOSED or any(len(word) > _LONGEST_PROPOSED for _, word in words):
        return ()
    wanted = {(side, fold(word)): likely_meaning(side, word) or _PLACEHOLDER[side] for side, word in words}
    arguments: dict[str, None] = {}
    for (side, word), meaning in wanted.items():
        other = {Side.HUMAN: Side.JUDGE, Side.JUDGE: Side.HUMAN}.get(side)
        shared = other is not None and wanted.get((other, word)) == meaning
        arguments[f"{word}={meaning}" if shared else f"{side}:{word}={meaning}"] = None
    return tuple(part for argument in arguments for part in ("--map", argument))


def choices_in(command: str) -> tuple[str, ...]:
    """What a person must replace before the proposed command says anything, one sentence each."""
    return tuple(sentence for held, sentence in _TO_REPLACE.items() if f"={held}" in command)


def is_number(word: str) -> bool:
    """True for a word that reads as a finite number."""
    try:
        value = float(word)
    except ValueError:
        return False
    return value - value == 0.0
