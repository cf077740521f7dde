"""The three scales on which a criterion is answered, and how an answer reads as a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, ValidationInfo, field_validator

from rubrics.errors import DeclarationError
from rubrics.record import Frozen, Text, shown
from rubrics.verdict import Verdict

RESERVED_LEVELS = frozenset({"pass", "fail", "unknown", "pending", "cannot_decide", "tie"})
"""Words that mean something else in a label file, so no level may be called so."""


class Preference(StrEnum):
    """Which output of a pair is preferred, in source positions."""

    A = "A"
    B = "B"
    TIE = "tie"


class GradingMode(StrEnum):
    """Whether one output or a pair of outputs is judged."""

    POINTWISE = "pointwise"
    PAIRWISE = "pairwise"


@dataclass(frozen=True, slots=True)
class NoClaim:
    """Why an answer reads as neither pass nor fail: the scale claims nothing about it."""

    reason: str


def _level_name(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _usable_level(name: str) -> str:
    if not name or name != name.strip() or not name.isprintable() or len(name) > 64:
        raise ValueError(f"{shown(name)} cannot name a level; use a number or a short word")
    if name.casefold() in RESERVED_LEVELS:
        raise ValueError(f"a level cannot be called {name!r}: in a label file that word means something else")
    return name


Answer = Annotated[str, BeforeValidator(_level_name)]
"""What was answered; a whole number is taken as its digits."""
LevelName = Annotated[Answer, AfterValidator(_usable_level)]


class BinaryScale(Frozen):
    """Pass or fail."""

    kind: Literal["binary"]

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that can be given, beside `unknown`."""
        return (Verdict.PASS.value, Verdict.FAIL.value)


class Level(Frozen):
    """One step of an ordinal scale with the description that fixes its place."""

    level: LevelName
    anchor: Text
    """What an output at this level looks like, in observable words."""


class OrdinalScale(Frozen):
    """Ordered levels, worst first; a level at or above `accept_at` passes."""

    kind: Literal["ordinal"]
    levels: tuple[Level, ...]
    accept_at: LevelName
    """The lowest level that passes."""

    @field_validator("levels")
    @classmethod
    def _ordered(cls, levels: tuple[Level, ...]) -> tuple[Level, ...]:
        names = [level.level for level in levels]
        if len(names) < 2:
            raise ValueError(f"holds {len(names)} of at least two levels; one level tells nothing apart")
        for place, name in enumerate(names):
            if name in names[:place]:
                raise ValueError(f"names level {name!r} twice; name each level once")
        if all(name.isdecimal() for name in names) and sorted(names, key=int) != names:
            raise ValueError(
                f"are given as {', '.join(names)}; list them from worst to best, lowest number first"
            )
        return levels

    @field_validator("accept_at")
    @classmethod
    def _reachable(cls, accept_at: str, info: ValidationInfo) -> str:
        levels: tuple[Level, ...] | None = info.data.get("levels")
        if levels is None:  # already refused
            return accept_at
        names = [level.level for level in levels]
        if accept_at not in names:
            raise ValueError(f"{shown(accept_at)} is not one of the levels; allowed: {', '.join(names[1:])}")
        if accept_at == names[0]:
            raise ValueError(
                f"{accept_at!r} is the lowest level, so every output would pass; "
                f"allowed: {', '.join(names[1:])}"
            )
        return accept_at

    @property
    def answers(self) -> tuple[str, ...]:
        """The names of the levels, worst first."""
        return tuple(level.level for level in self.levels)

    def rank(self, level: str | int) -> int:
        """The place of the level on the scale, 0 = worst; the distance that weighted kappa uses.

        Raises DeclarationError for a word that is no level.
        """
        return self.answers.index(_answer(self, level))


class PreferenceScale(Frozen):
    """A or B or a tie; the claim says which preference accepts.

    Accept = the declared candidate is preferred, or neither is where `tie_accepts`. Without a declared
    candidate the sides mean nothing, no preference passes or fails, and FAR is undefined.
    """

    kind: Literal["preference"]
    candidate: Literal["A", "B"] | None = "B"
    """The side whose superiority is claimed; null where neither side is the candidate."""
    tie_accepts: StrictBool = False

    @field_validator("tie_accepts")
    @classmethod
    def _claimed(cls, tie_accepts: bool, info: ValidationInfo) -> bool:
        if tie_accepts and info.data.get("candidate", "B") is None:
            raise ValueError(
                "needs a declared candidate; declare `candidate: A` or `B`, or drop `tie_accepts`"
            )
        return tie_accepts

    @property
    def has_claim(self) -> bool:
        """True where a preference can pass or fail."""
        return self.candidate is not None

    @property
    def answers(self) -> tuple[str, ...]:
        """The preferences that can be given, in source positions."""
        return tuple(preference.value for preference in Preference)


def _spelled_out(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


AnyScale: TypeAlias = BinaryScale | OrdinalScale | PreferenceScale
Scale = Annotated[AnyScale, Field(discriminator="kind"), BeforeValidator(_spelled_out)]
"""A scale; its bare kind (`binary`, `preference`) is short for the mapping with nothing else in it."""
BINARY = BinaryScale(kind="binary")


def _answer(scale: AnyScale, value: str | int) -> str:
    name = _level_name(value)
    if not isinstance(name, str) or name not in scale.answers:
        allowed = ", ".join((*scale.answers, Verdict.UNKNOWN.value))
        raise DeclarationError(f"{shown(value)} is no answer on this {scale.kind} scale; allowed: {allowed}")
    return name


def read(scale: AnyScale, value: str | int) -> Verdict | NoClaim:
    """The verdict that an answer amounts to: by `accept_at` on levels, by the claim on preferences.

    `unknown` reads as unknown on every scale. A preference without a declared candidate is NoClaim.
    Raises DeclarationError for a value that is no answer on the scale, naming those that are.
    """
    if value == Verdict.UNKNOWN:
        return Verdict.UNKNOWN
    name = _answer(scale, value)
    if isinstance(scale, BinaryScale):
        return Verdict(name)
    if isinstance(scale, OrdinalScale):
        return _verdict(scale.rank(name) >= scale.rank(scale.accept_at))
    if scale.candidate is None:
        return NoClaim("no candidate declared")
    return _verdict(name == scale.candidate or (name == Preference.TIE and scale.tie_accepts))


def _verdict(accepted: bool) -> Verdict:
    return Verdict.PASS if accepted else Verdict.FAIL
