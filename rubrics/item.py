"""Item: one thing to be judged, with its evidence, its cluster and its slices."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from rubrics.criterion import OUTPUT_FIELDS
from rubrics.digest import digest
from rubrics.record import EvidenceKey, Frozen, ItemText, Misfit, shown
from rubrics.scale import GradingMode

MAX_ID = 512
"""Characters of an id; a longer one no longer fits a database index."""


_CONTROL = re.compile(r"[\x00-\x1f]")


class Split(StrEnum):
    """What an item may be used for."""

    CALIBRATION = "calibration"
    TUNING = "tuning"
    """Seen while rubric or prompt were written, so never evidence about a judge."""


def _usable_id(text: str) -> str:
    if not text.strip():
        raise ValueError(f"{shown(text)} is blank; write at least one character")
    if len(text) > MAX_ID:
        raise ValueError(f"{shown(text)} has {len(text):,} characters; an id has at most {MAX_ID}")
    if _CONTROL.search(text):
        raise ValueError(f"{shown(text)} holds a control character; an id is one line of text")
    return text


def _tag_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and math.isfinite(value):
        return str(value)
    return value


ItemId = Annotated[ItemText, AfterValidator(_usable_id)]
"""Joined exactly, so neither trimmed nor folded."""
TagName = Annotated[ItemText, AfterValidator(_usable_id)]
TagValue = Annotated[ItemText, BeforeValidator(_tag_text)]
"""A slice's name; numbers and truth values are taken as JSON writes them."""


class Item(Frozen):
    """One case: the input, the output or pair of outputs under judgment, and the evidence beside them."""

    item_id: ItemId
    input: ItemText
    output: ItemText | None = None
    """May be empty: an empty output is judged, not missing."""
    output_a: ItemText | None = None
    output_b: ItemText | None = None
    evidence: Mapping[EvidenceKey, ItemText] = Field(default_factory=dict)
    """Further texts by the keys that the rubric's evidence fields name."""
    group: ItemId = Field(default="", validate_default=True)
    """Cluster: items of one group are not independent; its own id where none is given."""
    tags: Mapping[TagName, TagValue] = Field(default_factory=dict)
    """Slices and strata by name."""
    split: Split = Split.CALIBRATION
    system: ItemText = ""
    """Which system wrote the output. Never shown to judge or rater."""
    model_family: ItemText = ""
    """The family of that system's model, for self-preference. Never shown to judge or rater."""

    @field_validator("group", mode="before")
    @classmethod
    def _own_group(cls, group: Any, info: ValidationInfo) -> Any:
        return info.data.get("item_id", "unknown") if group in ("", None) else group

    @field_validator("tags", mode="before")
    @classmethod
    def _without_nulls(cls, tags: Any) -> Any:
        # a null tag says that the item is not tagged
        return {k: v for k, v in tags.items() if v is not None} if isinstance(tags, Mapping) else tags

    @model_validator(mode="after")
    def _one_mode(self) -> Self:
        given = {name for name in ("output", "output_a", "output_b") if getattr(self, name) is not None}
        if given not in (set(fields) for fields in OUTPUT_FIELDS.values()):
            words = ", ".join(sorted(given)) or "no output"
            raise ValueError(f"the item has {words}; allowed: output, or output_a and output_b")
        for key in self.evidence:
            if key in Item.model_fields:
                raise Misfit(f"{key!r} is a field of the item itself; give the evidence another name", key)
        return self

    @property
    def mode(self) -> GradingMode:
        """Whether the item holds one output or a pair."""
        return GradingMode.POINTWISE if self.output is not None else GradingMode.PAIRWISE

    @property
    def outputs(self) -> tuple[str, ...]:
        """The text or texts under judgment, in source positions."""
        texts = (self.output, self.output_a, self.output_b)
        return tuple(text for text in texts if text is not None)

    def text(self, key: str) -> str:
        """The text of the input, an output or an evidence field, by the rubric's key for it; "" if absent."""
        if key in _SHOWN:
            return getattr(self, key) or ""
        return self.evidence.get(key, "")

    def missing(self, requires: Iterable[str]) -> tuple[str, ...]:
        """Which of the required fields are absent or blank, in the order asked."""
        return tuple(key for key in requires if not self.text(key).strip())

    @property
    def content_digest(self) -> str:
        """The digest of what judge and rater are shown: input, outputs, evidence; not the id.

        Equal for two items with the same texts. A changed character of any of them changes it, so a
        verdict or label bound to it is never reused for another text.
        """
        shown_texts = {key: getattr(self, key) for key in _SHOWN if getattr(self, key) is not None}
        return digest({"schema": "item/1", **shown_texts, "evidence": dict(self.evidence)})

    @property
    def digest(self) -> str:
        """The digest of the whole record, id, group, tags and split included.

        A second import of the same id must equal it.
        """
        return digest({"schema": "item-record/1", **self.model_dump(mode="json", exclude_defaults=True)})


_SHOWN = ("input", "output", "output_a", "output_b")
