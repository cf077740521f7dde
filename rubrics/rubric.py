"""Rubric: a versioned set of criteria with the evidence they are answered on, and its identity."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from pydantic import Field, StrictInt, model_validator

from rubrics.criterion import (
    ALL_OUTPUTS,
    OUTPUT_FIELDS,
    Criterion,
    EvidenceField,
    EvidenceSource,
    Example,
    FailureMode,
    Guidance,
    JudgeRole,
    SeverityLevel,
    repeated,
)
from rubrics.digest import digest
from rubrics.errors import DeclarationError
from rubrics.record import NAME, Frozen, Line, Misfit, Name, Text, shown
from rubrics.scale import GradingMode

__all__ = [
    "Criterion",
    "EvidenceField",
    "EvidenceSource",
    "Example",
    "FailureMode",
    "Guidance",
    "JudgeRole",
    "Rubric",
    "RubricRef",
    "SeverityLevel",
    "parse_ref",
    "publishing_problems",
]

SCHEMA = "rubric/1"
"""Part of every digest; moves only if the same words should stop meaning the same rubric."""
_REF = re.compile(rf"({NAME})@([1-9][0-9]{{0,8}})")


@dataclass(frozen=True, slots=True)
class RubricRef:
    """Name and version of a rubric, as people write them; which content that is, the digest says."""

    name: str
    version: int

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


def parse_ref(text: str) -> RubricRef:
    """The name and version that `name@version` says.

    Raises DeclarationError for any other form.

    >>> parse_ref("refund-policy@5")
    RubricRef(name='refund-policy', version=5)
    """
    found = _REF.fullmatch(text)
    if not found:
        raise DeclarationError(f"{shown(text)} is not name@version; write it like 'refund-policy@1'")
    return RubricRef(found[1], int(found[2]))


class Rubric(Frozen):
    """A versioned set of criteria; what is asked and shown, and what the answers can and cannot say."""

    name: Name
    version: StrictInt = Field(ge=1, lt=1_000_000_000)
    title: Line
    purpose: Text
    evidence: tuple[EvidenceField, ...] = ()
    criteria: tuple[Criterion, ...]
    establishes: tuple[Text, ...] = ()
    """What a pass on the required criteria shows."""
    does_not_establish: tuple[Text, ...] = ()
    """What a reader might think that it shows, and it does not."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for misfit in rubric_misfits(self):
            raise misfit
        return self

    @property
    def ref(self) -> str:
        """name@version, as people write it."""
        return f"{self.name}@{self.version}"

    @property
    def digest(self) -> str:
        """Identity: the digest of the whole content, name and version included.

        Fields left at their default do not enter, so that a field added to the format later leaves
        the digests of older rubrics alone; therefore no default may ever change its meaning.
        """
        return digest({"schema": SCHEMA, **self.model_dump(mode="json", exclude_defaults=True)})

    @property
    def content_digest(self) -> str:
        """The digest without name and version: equal where two versions ask and show the same."""
        dump = self.model_dump(mode="json", exclude_defaults=True, exclude={"name", "version"})
        return digest({"schema": SCHEMA, **dump})

    @property
    def mode(self) -> GradingMode:
        """Pointwise or pairwise; the same for all criteria."""
        return self.criteria[0].mode

    @property
    def required(self) -> tuple[Criterion, ...]:
        """The criteria whose verdicts combine() reads."""
        return tuple(criterion for criterion in self.criteria if criterion.required)

    @property
    def fields(self) -> tuple[EvidenceField, ...]:
        """Every field that rater and judge are shown, in order: input first and outputs last unless declared.

        What a rubric does not say of input and outputs is filled in; outputs are always candidate text.
        """
        declared = {field.key for field in self.evidence}
        before = () if "input" in declared else (_builtin("input", "Input", EvidenceSource.RECORDED),)
        after = tuple(
            _builtin(key, title, EvidenceSource.CANDIDATE)
            for key, title in OUTPUT_FIELDS[self.mode].items()
            if key not in declared
        )
        return (*before, *self.evidence, *after)

    def criterion(self, key: str) -> Criterion:
        """The criterion with the key.

        Raises DeclarationError where there is none, naming those that there are.
        """
        for criterion in self.criteria:
            if criterion.key == key:
                return criterion
        known = ", ".join(criterion.key for criterion in self.criteria)
        raise DeclarationError(f"{self.ref} has no criterion {shown(key)}; it has: {known}")


def _builtin(key: str, title: str, source: EvidenceSource) -> EvidenceField:
    return EvidenceField(key=key, title=title, source=source)


def publishing_problems(rubric: Rubric) -> tuple[str, ...]:
    """Why the rubric may not be published, a sentence each; empty where it may.

    A draft without a required criterion can be written and read; published, it would accept nothing
    and say so of every output (combine() of no verdict is unknown).
    """
    if rubric.required:
        return ()
    return (
        f"{rubric.ref} has no required criterion, so no output could ever be accepted; "
        "set `required: true` on at least one criterion of role acceptance",
    )


def _evidence_misfits(rubric: Rubric) -> Iterator[Misfit]:
    if twice := repeated(field.key for field in rubric.evidence):
        yield Misfit(f"{twice[1]!r} is declared twice; declare it once", "evidence", twice[0], "key")
    own_outputs = OUTPUT_FIELDS[rubric.mode]
    for place, field in enumerate(rubric.evidence):
        if field.key in ALL_OUTPUTS and field.key not in own_outputs:
            yield Misfit(
                f"{field.key!r} is not judged in a {rubric.mode.value} rubric; it judges "
                f"{' and '.join(own_outputs)}",
                *("evidence", place, "key"),
            )
        if field.key in ALL_OUTPUTS and field.source is not EvidenceSource.CANDIDATE:
            yield Misfit(
                f"{field.source.value!r} is refused for {field.key!r}: the text under judgment is never "
                "trusted; allowed: candidate",
                *("evidence", place, "source"),
            )


def _criteria_misfits(rubric: Rubric) -> Iterator[Misfit]:
    if twice := repeated(criterion.key for criterion in rubric.criteria):
        yield Misfit(f"{twice[1]!r} is declared twice; declare it once", "criteria", twice[0], "key")
    for place, criterion in enumerate(rubric.criteria):
        if criterion.mode is not rubric.mode:
            yield Misfit(
                f"is {criterion.mode.value} where the first criterion is {rubric.mode.value}; "
                "an item holds one output or a pair: make two rubrics",
                *("criteria", place, "scale"),
            )
        yield from _field_misfits(rubric, place, criterion)


def _field_misfits(rubric: Rubric, place: int, criterion: Criterion) -> Iterator[Misfit]:
    known = [field.key for field in rubric.fields if field.key not in ALL_OUTPUTS]
    allowed = ", ".join(known)
    for at, key in enumerate(criterion.requires):
        if key not in known:
            yield Misfit(
                f"{shown(key)} is no evidence field of this rubric; declare it under `evidence`, "
                f"or take one of: {allowed}",
                *("criteria", place, "requires", at),
            )
    for at, example in enumerate(criterion.examples):
        for key in example.evidence:
            if key not in known or key == "input":
                yield Misfit(
                    f"{shown(key)} is no evidence field of this rubric; declare it under `evidence`",
                    *("criteria", place, "examples", at, "evidence", key),
                )


def rubric_misfits(rubric: Rubric) -> Iterator[Misfit]:
    """What does not fit together within the rubric, each with the path that leads there."""
    for part, claims in (
        ("establishes", rubric.establishes),
        ("does_not_establish", rubric.does_not_establish),
    ):
        if twice := repeated(claims):
            yield Misfit("says the same as an entry before it; keep one", part, twice[0])
    if not rubric.criteria:
        yield Misfit("is empty; declare at least one criterion", "criteria")
    yield from _criteria_misfits(rubric)
    yield from _evidence_misfits(rubric)
