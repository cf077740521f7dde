"""The words of a label or verdict -> an answer on its criterion's scale; an unknown word is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from calibration.interchange.json_values import as_text
from calibration.interchange.lines import shown
from calibration.interchange.native.fields import BadField
from calibration.interchange.words import (
    HUMAN_WORDS,
    JUDGE_WORDS,
    REASON_WORDS,
    Cell,
    Side,
    fold,
    likely_meaning,
)
from rubrics.criterion import Criterion
from rubrics.errors import DeclarationError
from rubrics.rubric import Rubric
from rubrics.scale import AnyScale, OrdinalScale
from rubrics.verdict import Outcome, UnknownReason, Verdict

NULL: Final = "null"
"""The word by which `--map` names a null or an empty cell."""
UNKNOWN: Final = Verdict.UNKNOWN.value
_WHOLE_LEVEL: Final = re.compile(r"(\d+)\.0+")
_BINARY: Final = frozenset({Verdict.PASS.value, Verdict.FAIL.value})
_PLACEHOLDER: Final = "WHICH_ANSWER"
"""Stands in a proposed command for a meaning that only the person knows; no map takes it as it is."""


class Said(NamedTuple):
    """What a label or verdict says."""

    answer: str
    """An answer of the scale, or unknown."""
    reason: UnknownReason | None = None
    """Why it is unknown; of verdicts only."""
    detail: str | None = None
    empty: bool = False
    """True where nothing was said, so that a reason beside it may say why."""


@dataclass(frozen=True, slots=True)
class AnswerMap:
    """What one word means: `--map WORD=MEANING`."""

    word: str
    """Folded; `null` is a null or an empty cell."""
    meaning: str
    """Folded: an answer of the scale, cannot_decide, or of a verdict a reason."""

    def __str__(self) -> str:
        return f"{self.word}={self.meaning}"


class BadWord(BadField):
    """A word that nobody has explained."""

    def __init__(self, word: str, side: Side, criterion: str, allowed: str) -> None:
        super().__init__(f"label {shown(word)} is no answer under {criterion!r}; allowed: {allowed}", "label")
        self.word = word
        self.side = side


def parse_answer_map(text: str) -> AnswerMap:
    """The map that `WORD=MEANING` states.

    Raises:
        DeclarationError: there is no =, or nothing after it.
    """
    word, equals, meaning = text.rpartition("=")
    if not equals or not meaning.strip():
        raise DeclarationError(
            f"--map {shown(text)} is not WORD=MEANING, e.g. --map yes=pass or --map null=tie; a meaning is "
            "an answer of the scale, cannot_decide, or of a verdict a reason such as invalid"
        )
    return AnswerMap(fold(word) or NULL, fold(meaning))


class AnswerBook:
    """The words of one criterion on one side: its answers, the contract's, and what `--map` explains."""

    def __init__(
        self,
        criterion: Criterion,
        side: Side,
        *,
        maps: Sequence[AnswerMap] = (),
        null_as: UnknownReason = UnknownReason.MISSING,
    ) -> None:
        self.side = side
        self.scale: AnyScale = criterion.scale
        self._criterion = criterion.key
        words = _words(criterion.scale, side, null_as)
        self.meant = frozenset(each for each in maps if each.meaning in words)
        """The maps whose meaning exists here."""
        self._words = words | {each.word: words[each.meaning] for each in self.meant}
        self._words[""] = self._words[NULL] if any(m.word == NULL for m in self.meant) else words[""]
        self._met: dict[Any, Said] = {}

    def read(self, value: Any) -> Said:
        """What a label says; remembered, so that a file's line costs one look.

        Raises:
            BadWord: nobody has explained the word.
        """
        try:
            return self._met[value]
        except KeyError:
            said = self._met[value] = self._read(as_text(value))
            return said
        except TypeError:  # a list or an object: no label, and no key of a dictionary
            return self._read(as_text(value))

    def _read(self, text: str) -> Said:
        said = self._words.get(fold(text))
        whole = _WHOLE_LEVEL.fullmatch(text.strip()) if isinstance(self.scale, OrdinalScale) else None
        if said is None and whole:  # tables write the level 3 as 3.0 where a column has gaps
            said = self._words.get(whole[1])
        if said is None:
            raise BadWord(text, self.side, self._criterion, self.allowed)
        return said

    @property
    def allowed(self) -> str:
        """The words that are read, for messages."""
        reasons = f", {', '.join(UnknownReason)}" if self.side is Side.JUDGE else ""
        return f"{', '.join(self.scale.answers)}, cannot_decide and null{reasons}"

    def met(self, found: AnswerMap) -> bool:
        """True where the map explained a word of the file."""
        words = {fold(as_text(value)) or NULL for value in self._met}
        return found in self.meant and found.word in words


def read_reason(fields: Mapping[str, Any], said: Said) -> tuple[Said, str | None]:
    """The verdict with the reason and detail beside it, and a reason that is free text, a rationale.

    Raises:
        BadField: the reason of a missing verdict is no reason, or contradicts the verdict.
    """
    word, detail = fields.get("reason"), fields.get("detail")
    if word is None and detail is None:
        return said, None
    found = _reason(as_text(word), as_text(detail))
    if found is None:
        if said.empty and as_text(word).strip():
            allowed = ", ".join(UnknownReason)
            raise BadField(
                f"reason {shown(as_text(word))} of a missing verdict is none of {allowed}", "reason"
            )
        return said, as_text(word) or None
    if not said.empty and said.reason is not found.reason:
        told = said.reason or said.answer
        raise BadField(
            f"label {told!s} stands beside reason {found.reason!s}: a judge gave a verdict or has a reason "
            "for none; empty one of the two",
            "reason",
        )
    return Said(UNKNOWN, found.reason, found.detail or (None if said.empty else said.detail)), None


def _reason(word: str, detail: str) -> Outcome | None:
    """The outcome that reason and detail state, None where the reason is free text."""
    told = REASON_WORDS.get(fold(word), Cell.UNMAPPED)
    narrow = REASON_WORDS.get(fold(detail), Cell.UNMAPPED)
    if narrow is Cell.UNMAPPED or (isinstance(narrow, Outcome) and narrow.detail is None):
        raise BadField(f"detail {shown(detail)} is no detail of a reason", "detail")
    if not isinstance(narrow, Outcome):
        return told if isinstance(told, Outcome) else None
    if told is Cell.UNMAPPED or (isinstance(told, Outcome) and told.reason is not narrow.reason):
        raise BadField(f"detail {narrow.detail!r} does not belong to reason {shown(word)}", "detail")
    return narrow


def _words(scale: AnyScale, side: Side, null_as: UnknownReason) -> dict[str, Said]:
    words: dict[str, Said] = {}
    if side is Side.HUMAN:
        words |= {
            word: Said(UNKNOWN) for word, v in HUMAN_WORDS.items() if v in {Verdict.UNKNOWN, Cell.EMPTY}
        }
    else:
        outcomes = {**REASON_WORDS, **JUDGE_WORDS}
        words |= {word: _outcome(found, null_as) for word, found in outcomes.items() if word not in _BINARY}
    # after the contract's words: a level may be called like one of them, and then is the level
    return words | {fold(name): Said(name) for name in reversed(scale.answers)}


def _outcome(found: Outcome | Cell, null_as: UnknownReason) -> Said:
    if isinstance(found, Outcome):
        return Said(UNKNOWN, found.reason, found.detail)
    return Said(UNKNOWN, null_as, None, empty=True)


class AnswerBooks:
    """The books of every criterion of a file's rubrics."""

    def __init__(
        self,
        rubrics: Iterable[Rubric],
        side: Side,
        *,
        maps: Sequence[AnswerMap] = (),
        null_as: UnknownReason = UnknownReason.MISSING,
    ) -> None:
        """Opens a book for each criterion.

        Raises:
            DeclarationError: a map's meaning exists under no criterion.
        """
        self._maps = maps
        self._books = {
            (rubric.ref, criterion.key): AnswerBook(criterion, side, maps=maps, null_as=null_as)
            for rubric in rubrics
            for criterion in rubric.criteria
        }
        for each in maps:
            if not any(each in book.meant for book in self._books.values()):
                allowed = next(iter(self._books.values())).allowed
                raise DeclarationError(
                    f"--map {each}: {each.meaning!r} is no meaning here; allowed: {allowed}"
                )

    def of(self, rubric: Rubric, criterion: str) -> AnswerBook:
        """The book of a criterion.

        Raises:
            BadField: the rubric has no such criterion.
        """
        book = self._books.get((rubric.ref, criterion))
        if book is None:
            keys = ", ".join(each.key for each in rubric.criteria)
            raise BadField(f"{rubric.ref} has no criterion {shown(criterion)}; it has {keys}", "criterion")
        return book

    def unmet(self) -> tuple[AnswerMap, ...]:
        """The maps whose word no label held."""
        return tuple(each for each in self._maps if not any(book.met(each) for book in self._books.values()))


def proposed(words: Iterable[str], side: Side) -> tuple[str, ...]:
    """`--map` options that would explain the words, for the command that a message proposes."""
    told = [(word, likely_meaning(side, word) or _PLACEHOLDER) for word in words]
    return tuple(part for word, meaning in told for part in ("--map", f"{fold(word)}={meaning}"))
