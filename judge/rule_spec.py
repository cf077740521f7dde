"""RuleSpec: what a rule judge checks, how it reads figures, and its identity."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, PositiveInt, model_validator

from judge.figures import READING_VERSION, Unit
from rubrics.criterion import ALL_OUTPUTS
from rubrics.digest import digest
from rubrics.record import EvidenceKey, Frozen, Key, Misfit, Name, OptionalText, Text, shown


class Effect(StrEnum):
    """What a finding does to the verdict: a fail outweighs an abstention, an abstention a pass."""

    FAIL = "fail"
    ABSTAIN = "abstain"
    IGNORE = "ignore"


@cache
def whole_words(pattern: str) -> re.Pattern[str]:
    """The pattern of a rule, compiled to match whole words in upper and lower case alike."""
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)


def _compiles(pattern: str) -> str:
    try:
        whole_words(pattern)
    except re.error as error:
        raise ValueError(f"{shown(pattern)} is no regular expression: {error}; mend or delete it") from error
    return pattern


Pattern = Annotated[Text, AfterValidator(_compiles)]
"""A regular expression (Python's), tried on plain_text() as whole_words() compiles it."""
Patterns = Annotated[tuple[Pattern, ...], Field(min_length=1)]


class Conversion(Frozen):
    """One unit in terms of another: `times` of `of` make one `unit`."""

    unit: Unit
    times: PositiveInt
    of: Unit


class FiguresRule(Frozen):
    """Every figure of the output occurs in the evidence, or restates one of the `restated_from` texts.

    A figure occurs where value and unit are equal after the conversions; 5 days is not 5 business days,
    and a month is no number of days, unless a conversion says so. What a figure is said *of* is not read:
    the window of another clause passes where that clause is in the evidence too.
    """

    kind: Literal["figures"]
    name: Key
    restated_from: tuple[EvidenceKey, ...] = ("input",)
    """Texts whose figures may be repeated, such as the customer's own; a false one repeated passes."""
    conversions: tuple[Conversion, ...] = ()
    past_figures: Effect = Effect.IGNORE
    """A figure before "ago", not in the sources: it tells the case's history."""
    computed_amounts: Effect = Effect.ABSTAIN
    """An amount that may have been worked out: one is restated, and a fee or percentage is evidence."""
    dates: Effect = Effect.ABSTAIN
    """A date that is in no source: it may have been counted from one."""
    fractions: Effect = Effect.ABSTAIN
    """`half a day`, `a quarter of`: not read."""
    bare_digits: Effect = Effect.ABSTAIN
    """Digits whose unit is not known, and that are in no source."""

    @model_validator(mode="after")
    def _one_conversion_each(self) -> Self:
        units = [conversion.unit for conversion in self.conversions]
        chained = set(units) & {conversion.of for conversion in self.conversions}
        if chained:
            raise Misfit(f"{min(chained)!s} is converted and converted to; give the last unit", "conversions")
        if len(units) != len(set(units)):
            raise Misfit("a unit is converted twice; keep one of the two", "conversions")
        return self


class ForbiddenRule(Frozen):
    """No pattern occurs in the output, unless the evidence holds one of `allowed_where`.

    A match right after a negation ("it is not free") is no claim and is passed over.
    """

    kind: Literal["forbidden"]
    name: Key
    patterns: Patterns
    allowed_where: tuple[Pattern, ...] = ()
    says: Text
    """What the wording claims, for the rationale: "says that postage is free"."""


class RequiredRule(Frozen):
    """One of the patterns occurs in the output, where the evidence holds one of `needed_where`."""

    kind: Literal["required"]
    name: Key
    patterns: Patterns
    needed_where: tuple[Pattern, ...] = ()
    """Empty: always needed."""
    lacks: Text
    """What is missing, for the rationale: "does not name the claims desk"."""


class CodeRule(Frozen):
    """A check of an installed package, by its entry point in the group `voirdire.rules`."""

    kind: Literal["code"]
    name: Key
    entry_point: Text
    version: Text
    """Version of the distribution that brings the check; another one is another judge."""


Rule = Annotated[FiguresRule | ForbiddenRule | RequiredRule | CodeRule, Field(discriminator="kind")]


class RuleSpec(Frozen):
    """A rule judge for one criterion; its digest is its identity."""

    kind: Literal["rule"] = "rule"
    name: Name
    version: PositiveInt
    criterion: Key
    evidence: Annotated[tuple[EvidenceKey, ...], Field(min_length=1)]
    """Fields that an item must have: the trusted record that rules compare the output with."""
    description: OptionalText = ""
    rules: Annotated[tuple[Rule, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _never_the_output(self) -> Self:
        restated = {key for rule in self.rules if isinstance(rule, FiguresRule) for key in rule.restated_from}
        own = sorted(ALL_OUTPUTS & {*self.evidence, *restated})
        if own:
            raise ValueError(
                f"{own[0]!r} is the text under judgment and would confirm itself; name evidence or input"
            )
        return self

    @model_validator(mode="after")
    def _distinct_names(self) -> Self:
        names = [rule.name for rule in self.rules]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise Misfit(f"two rules are called {name!r}; rename one", "rules", index, "name")
        return self

    @property
    def digest(self) -> str:
        """The digest of everything that can move a verdict, the reading of figures included."""
        return digest({"schema": "rule-judge/1", "reading": READING_VERSION, **self.model_dump(mode="json")})
