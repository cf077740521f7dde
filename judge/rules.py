"""Rule judges: figures, forbidden and required wording, and checks in code, tried on one item.

A rule judge is a judge like any other: it answers pass, fail or unknown, and is examined before it may accept
anything. It is pure: the same spec and item give the same verdict, and no text of the item is ever run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from importlib import metadata
from types import MappingProxyType
from typing import Self

from judge.figures import (
    CURRENCIES,
    Bare,
    Date,
    Figure,
    Found,
    Fraction,
    Unit,
    convert,
    find_figures,
    plain_text,
)
from judge.rule_spec import (
    CodeRule,
    Effect,
    FiguresRule,
    ForbiddenRule,
    RequiredRule,
    Rule,
    RuleSpec,
    whole_words,
)
from rubrics.errors import DeclarationError, ExecutionError
from rubrics.item import Item
from rubrics.verdict import FAIL, PASS, Outcome, UnknownReason, unknown

MAX_OUTPUT = 20_000
"""Characters of an output that rules are tried on; a longer one is unknown(invalid, too_long)."""
ENTRY_POINT_GROUP = "voirdire.rules"
"""Where an installed package names its checks."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found against the output."""

    rule: str
    effect: Effect
    sentence: str


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """The outcome of one item, with what was found and a rationale that a person can check."""

    outcome: Outcome
    rationale: str
    findings: tuple[Finding, ...] = ()


Check = Callable[[Item], Finding | None]
"""A check in code: what it found against the item's output, or None."""


def judge_item(
    spec: RuleSpec, item: Item, *, checks: Mapping[str, Check] = MappingProxyType({})
) -> RuleVerdict:
    """The verdict of a rule judge on one item; `checks` holds the code of each code rule by rule name.

    unknown(abstained, evidence_missing) without a required evidence field, unknown(abstained,
    not_applicable) for a pair, unknown(abstained, cannot_tell) for a blank output or where a rule
    abstains and none fails, unknown(invalid, too_long) beyond MAX_OUTPUT. Raises ExecutionError when a
    check in code raises, DeclarationError when it was not given.
    """
    if item.output is None:
        return _unknown("not_applicable", "a pair of outputs; a rule judge reads one output")
    if missing := item.missing(spec.evidence):
        return _unknown("evidence_missing", f"the item has no {', no '.join(missing)}")
    if len(item.output) > MAX_OUTPUT:
        outcome = unknown(UnknownReason.INVALID, "too_long")
        return RuleVerdict(outcome, f"{len(item.output):,} characters; rules read up to {MAX_OUTPUT:,}")
    output = plain_text(item.output)
    if not output.strip():
        return _unknown("cannot_tell", "the output is blank")
    found = tuple(finding for rule in spec.rules for finding in _findings(rule, spec, item, checks))
    return _concluded(found, len(spec.rules))


def judge_all(
    spec: RuleSpec, items: Iterable[Item], *, checks: Mapping[str, Check] = MappingProxyType({})
) -> dict[str, RuleVerdict]:
    """The verdict of each item by its id; see judge_item()."""
    return {item.item_id: judge_item(spec, item, checks=checks) for item in items}


def load_checks(spec: RuleSpec) -> dict[str, Check]:
    """The code of every code rule of the spec, by rule name, from the packages that are installed here.

    Imports the packages that the spec names. Raises DeclarationError where an entry point is not
    installed, or its distribution has another version than the spec declares.
    """
    return {rule.name: _load(rule) for rule in spec.rules if isinstance(rule, CodeRule)}


def _load(rule: CodeRule) -> Check:
    installed = metadata.entry_points(group=ENTRY_POINT_GROUP)
    named = [point for point in installed if point.name == rule.entry_point]
    if len(named) != 1:
        known = ", ".join(sorted(set(installed.names))) or "none"
        raise DeclarationError(
            f"{len(named)} entry points of {ENTRY_POINT_GROUP} are called {rule.entry_point!r}, exactly one "
            f"is needed; installed here: {known}"
        )
    version = named[0].dist.version if named[0].dist else "unknown"
    if version != rule.version:
        raise DeclarationError(
            f"the check {rule.entry_point!r} is installed in version {version!r}, the spec declares "
            f"{rule.version!r}; install that version, or declare this one: it is another judge"
        )
    check: Check = named[0].load()
    return check


def _unknown(detail: str, rationale: str) -> RuleVerdict:
    return RuleVerdict(unknown(UnknownReason.ABSTAINED, detail), rationale)


def _concluded(found: tuple[Finding, ...], tried: int) -> RuleVerdict:
    """Any fail fails, else any abstention abstains, else the output passes."""
    rationale = "; ".join(f"{finding.rule}: {finding.sentence}" for finding in found)
    effects = {finding.effect for finding in found}
    if Effect.FAIL in effects:
        return RuleVerdict(FAIL, rationale, found)
    if Effect.ABSTAIN in effects:
        return RuleVerdict(unknown(UnknownReason.ABSTAINED, "cannot_tell"), rationale, found)
    return RuleVerdict(PASS, f"nothing found against it by {tried} rules", found)


def _findings(rule: Rule, spec: RuleSpec, item: Item, checks: Mapping[str, Check]) -> Iterator[Finding]:
    output = plain_text(item.output or "")
    evidence = plain_text("\n".join(item.text(key) for key in spec.evidence))
    match rule:
        case FiguresRule():
            restated = plain_text("\n".join(item.text(key) for key in rule.restated_from))
            yield from _figure_findings(rule, output, _Sources.of(rule, evidence, restated))
        case ForbiddenRule():
            if not _matches(rule.allowed_where, evidence):
                yield from _forbidden(rule, output)
        case RequiredRule():
            needed = not rule.needed_where or _matches(rule.needed_where, evidence)
            if needed and not _matches(rule.patterns, output):
                yield Finding(rule.name, Effect.FAIL, rule.lacks)
        case CodeRule():
            yield from _by_code(rule, item, checks)


def _matches(patterns: tuple[str, ...], text: str) -> bool:
    return any(whole_words(pattern).search(text) for pattern in patterns)


_NEGATIONS = re.compile(r"(?:not|no|never|without|neither|nor|cannot|\w+n't)", re.IGNORECASE)
_NEGATION_REACH = 3


def _forbidden(rule: ForbiddenRule, output: str) -> Iterator[Finding]:
    for match in (match for pattern in rule.patterns for match in whole_words(pattern).finditer(output)):
        clause = re.split(r"[.,;:!?\n]", output[: match.start()])[-1]
        before = clause.split()[-_NEGATION_REACH:]
        if not any(_NEGATIONS.fullmatch(word) for word in before):
            yield Finding(rule.name, Effect.FAIL, f"{rule.says} ({_quoted(output, match.start(), match[0])})")


def _quoted(output: str, at: int, words: str) -> str:
    """The words in brackets, with up to three words of their surroundings on each side."""
    before = re.search(r"(?:\S+\s+){0,3}\S*$", output[max(0, at - 60) : at])
    after = re.match(r"\S*(?:\s+\S+){0,3}", output[at + len(words) :][:60])
    around = (found[0] if found else "" for found in (before, after))
    return f'"{next(around)}[{words}]{next(around)}"'.replace("\n", " ")


def _by_code(rule: CodeRule, item: Item, checks: Mapping[str, Check]) -> Iterator[Finding]:
    if rule.name not in checks:
        raise DeclarationError(f"the check of rule {rule.name!r} was not loaded; pass load_checks(spec)")
    try:
        finding = checks[rule.name](item)
    except Exception as error:
        raise ExecutionError(
            f"the check {rule.entry_point!r} failed on item {item.item_id!r}: {error!r}; mend the check",
            retryable=False,
        ) from error
    if finding is not None and finding.effect is not Effect.IGNORE:
        yield finding


@dataclass(frozen=True, slots=True)
class _Sources:
    """What the output may say: figures of the evidence, and of the texts that it may restate."""

    figures: frozenset[tuple[Decimal, Unit]]
    numbers: frozenset[Decimal]
    dates: tuple[Date, ...]
    fractions: frozenset[str]
    computable: bool
    """An amount is restated and the evidence has a fee or percentage to take off."""

    @classmethod
    def of(cls, rule: FiguresRule, evidence: str, restated: str) -> Self:
        trusted, own = find_figures(evidence), find_figures(restated)
        both = (*trusted, *own)
        figures = [thing for thing in both if isinstance(thing, Figure)]
        return cls(
            figures=frozenset(convert(figure, _conversions(rule)) for figure in figures),
            numbers=frozenset(thing.value for thing in both if isinstance(thing, Figure | Bare)),
            dates=tuple(thing for thing in both if isinstance(thing, Date)),
            fractions=frozenset(thing.text.lower() for thing in both if isinstance(thing, Fraction)),
            computable=_any_unit(own, CURRENCIES) and _any_unit(trusted, CURRENCIES | {Unit.PERCENT}),
        )


def _conversions(rule: FiguresRule) -> dict[Unit, tuple[int, Unit]]:
    return {conversion.unit: (conversion.times, conversion.of) for conversion in rule.conversions}


def _any_unit(found: tuple[Found, ...], units: frozenset[Unit]) -> bool:
    return any(isinstance(thing, Figure) and thing.unit in units for thing in found)


def _figure_findings(rule: FiguresRule, output: str, sources: _Sources) -> Iterator[Finding]:
    for thing in find_figures(output):
        effect, why = _against(thing, rule, sources)
        if effect is not Effect.IGNORE:
            yield Finding(rule.name, effect, f"{_quoted(output, thing.at, thing.text)} {why}")


def _against(thing: Found, rule: FiguresRule, sources: _Sources) -> tuple[Effect, str]:
    """What speaks against one thing of the output; Effect.IGNORE where nothing does."""
    match thing:
        case Figure() if convert(thing, _conversions(rule)) not in sources.figures:
            if thing.past:
                return rule.past_figures, "is in no source"
            if thing.unit in CURRENCIES and sources.computable:
                return rule.computed_amounts, "is in no source, and may have been worked out"
            return Effect.FAIL, "is in no source"
        case Date() if not any(thing.agrees(date) for date in sources.dates):
            return rule.dates, "is a date in no source, and may have been counted"
        case Fraction() if thing.text.lower() not in sources.fractions:
            return rule.fractions, "is a fraction, which is not read"
        case Bare() if thing.value not in sources.numbers:
            return rule.bare_digits, "is a number whose unit is not known"
    return Effect.IGNORE, ""
