"""Criterion: one property, its scale, and all that a rater or judge needs to answer it the same way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Self

from pydantic import Field, StrictBool, model_validator

from rubrics.digest import canonical_json, digest
from rubrics.record import EvidenceKey, Frozen, Key, Line, Misfit, OptionalText, Text, shown
from rubrics.scale import BINARY, Answer, GradingMode, NoClaim, PreferenceScale, Scale, read
from rubrics.verdict import Verdict

OUTPUT_FIELDS = {
    GradingMode.POINTWISE: {"output": "Output to judge"},
    GradingMode.PAIRWISE: {"output_a": "Output A", "output_b": "Output B"},
}
"""The texts under judgment by mode, with the heading that they have where a rubric gives no other."""
ALL_OUTPUTS = frozenset(key for fields in OUTPUT_FIELDS.values() for key in fields)


class JudgeRole(StrEnum):
    """What a verdict is used for."""

    ACCEPTANCE = "acceptance"
    """An accepted output goes out."""
    REVIEW_TRIGGER = "review_trigger"
    """A fail sends the output to a person."""
    DIAGNOSTIC = "diagnostic"
    """It is looked at and decides nothing."""


class EvidenceSource(StrEnum):
    """Where the text of a field comes from, and so how far it may be trusted."""

    RECORDED = "recorded"
    """A trusted record: the policy, the order, the source document."""
    CANDIDATE = "candidate"
    """Written by, or reachable for, the system under judgment: untrusted, fenced in prompts."""
    REFERENCE = "reference"
    """Made for the assessment: a reference answer."""


class EvidenceField(Frozen):
    """One text that rater and judge are shown beside the criterion."""

    key: EvidenceKey
    source: EvidenceSource
    title: Line
    """The heading above it, as the rater reads it."""
    description: OptionalText = ""


class Guidance(Frozen):
    """When to give which answer, in observable words; each completes the sentence of its name."""

    pass_when: OptionalText = ""
    fail_when: OptionalText = ""
    prefer_when: OptionalText = ""
    """Pairs only: what makes one output the better one."""
    tie_when: OptionalText = ""
    cannot_decide_when: OptionalText = ""


class SeverityLevel(Frozen):
    """How bad a failure is; levels are declared from least to most severe."""

    key: Key
    when: Text


class FailureMode(Frozen):
    """A named way to fail, which a rater may tick on a fail."""

    key: Key
    when: Text
    """What is seen in an output that fails this way."""
    severity: Key | None = None
    """The severity level that this mode has by itself."""


class Example(Frozen):
    """A worked case that teaches the criterion; never taken from calibration items."""

    input: OptionalText = ""
    output: OptionalText | None = None
    output_a: OptionalText | None = None
    output_b: OptionalText | None = None
    evidence: Mapping[EvidenceKey, Text] = Field(default_factory=dict)
    verdict: Answer
    """An answer on the criterion's scale, or `unknown`."""
    why: Text
    """The observable ground of the verdict."""

    @property
    def case(self) -> str:
        """What is shown, without verdict and reason: tells whether two examples are the same case."""
        texts = self.model_dump(exclude={"verdict", "why"}, exclude_none=True)
        given = {key: text for key, text in texts.items() if key in ALL_OUTPUTS or text}
        return given["output"] if list(given) == ["output"] else canonical_json(given)


class Criterion(Frozen):
    """One declared property of an output (or of a pair), answered on one scale."""

    key: Key
    title: Line
    """The property as a short statement, the heading of the criterion's card."""
    question: Text
    """The one question that is answered."""
    scale: Scale = BINARY
    role: JudgeRole = JudgeRole.ACCEPTANCE
    required: StrictBool = True
    """True where an accepted output must pass it; only acceptance criteria can be required."""
    guidance: Guidance = Guidance()
    severity: tuple[SeverityLevel, ...] = ()
    """Levels that a failure may carry, least severe first."""
    failure_modes: tuple[FailureMode, ...] = ()
    requires: tuple[EvidenceKey, ...] = ()
    """Fields that an item must have, not blank; else its verdict is unknown(abstained, evidence_missing)."""
    examples: tuple[Example, ...] = ()
    dimension: Key | None = None
    """A word that groups criteria in reports."""
    imported: StrictBool = False
    """True where labels came from elsewhere and the guidance that their raters had is not known."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for misfit in criterion_misfits(self):
            raise misfit
        return self

    @property
    def mode(self) -> GradingMode:
        """Pairwise for a preference, else pointwise."""
        return GradingMode.PAIRWISE if isinstance(self.scale, PreferenceScale) else GradingMode.POINTWISE

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that can be given, beside `unknown`."""
        return self.scale.answers

    @property
    def digest(self) -> str:
        """The digest of this criterion alone, to tell whether another version asks it in the same words."""
        return digest(self.model_dump(mode="json", exclude_defaults=True))

    def read(self, answer: str | int) -> Verdict | NoClaim:
        """The verdict that an answer amounts to (scale.read)."""
        return read(self.scale, answer)


def repeated(keys: Iterable[str]) -> tuple[int, str] | None:
    """The place and name of the first key that occurs a second time, or None."""
    seen: set[str] = set()
    for place, key in enumerate(keys):
        if key in seen:
            return place, key
        seen.add(key)
    return None


_GUIDANCE = {
    "binary": (("pass_when", "fail_when", "cannot_decide_when"), ()),
    "ordinal": (("cannot_decide_when",), ("pass_when", "fail_when")),
    "preference": (("prefer_when", "cannot_decide_when"), ("tie_when",)),
}
"""By scale: the guidance that must be there, and what else may be. Anchors guide on an ordinal scale."""


def _guidance_misfits(criterion: Criterion) -> Iterator[Misfit]:
    needed, optional = _GUIDANCE[criterion.scale.kind]
    for name in Guidance.model_fields:
        text = getattr(criterion.guidance, name)
        if text and name not in needed + optional:
            allowed = ", ".join(needed + optional)
            yield Misfit(
                f"has no place on a {criterion.scale.kind} scale; allowed: {allowed}", "guidance", name
            )
        if not text and name in needed and not criterion.imported:
            yield Misfit(f"{name!r} is missing; say when, in observable words", "guidance")


def _failure_misfits(criterion: Criterion) -> Iterator[Misfit]:
    levels = [level.key for level in criterion.severity]
    for part, keys in (
        ("severity", levels),
        ("failure_modes", [mode.key for mode in criterion.failure_modes]),
    ):
        if twice := repeated(keys):
            yield Misfit(f"{twice[1]!r} is declared twice; declare it once", part, twice[0], "key")
    for place, mode in enumerate(criterion.failure_modes):
        if mode.severity is not None and mode.severity not in levels:
            allowed = ", ".join(levels) or "none, for the criterion declares no `severity`"
            yield Misfit(
                f"{shown(mode.severity)} is no severity level of this criterion; allowed: {allowed}",
                *("failure_modes", place, "severity"),
            )


def _example_misfits(criterion: Criterion) -> Iterator[Misfit]:
    wanted = OUTPUT_FIELDS[criterion.mode]
    cases: set[str] = set()
    for place, example in enumerate(criterion.examples):
        given = {key for key in ALL_OUTPUTS if getattr(example, key) is not None}
        if given != set(wanted):
            words = ", ".join(sorted(given)) or "no output"
            yield Misfit(
                f"shows {words}; on a {criterion.scale.kind} scale it shows {' and '.join(wanted)}",
                *("examples", place),
            )
        if example.case in cases:
            yield Misfit("shows the same case as an example before it; keep one", "examples", place)
        cases.add(example.case)
        allowed = (*criterion.answers, Verdict.UNKNOWN.value)
        if example.verdict not in allowed:
            yield Misfit(
                f"{shown(example.verdict)} is no answer on this {criterion.scale.kind} scale; "
                f"allowed: {', '.join(allowed)}",
                *("examples", place, "verdict"),
            )


def _requirement_misfits(criterion: Criterion) -> Iterator[Misfit]:
    if criterion.required and criterion.role is not JudgeRole.ACCEPTANCE:
        yield Misfit(
            f"a criterion of role {criterion.role.value!r} cannot be required; write `required: false`, "
            "or give it the role acceptance",
            "role",
        )
    if twice := repeated(criterion.requires):
        yield Misfit(f"{twice[1]!r} is listed twice; list it once", "requires", twice[0])
    for place, key in enumerate(criterion.requires):
        if key in ALL_OUTPUTS:
            yield Misfit(
                f"{key!r} cannot be required: a blank output is a failure to be judged, not missing evidence",
                *("requires", place),
            )


def criterion_misfits(criterion: Criterion) -> Iterator[Misfit]:
    """What does not fit together within the criterion, each with the path that leads there."""
    yield from _requirement_misfits(criterion)
    yield from _guidance_misfits(criterion)
    yield from _failure_misfits(criterion)
    yield from _example_misfits(criterion)
