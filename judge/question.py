"""One criterion asked of one item: the texts that a judge is shown, and what is settled without asking it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judge.fence import Flag, Shown, all_flags, is_blank, show
from judge.spec import BlankOutput, ModelJudge
from rubrics.answer import Answer, answered, no_answer
from rubrics.criterion import ALL_OUTPUTS, Criterion, EvidenceField
from rubrics.digest import digest
from rubrics.errors import DeclarationError
from rubrics.item import Item
from rubrics.rubric import Rubric
from rubrics.scale import OrdinalScale, PreferenceScale
from rubrics.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Question:
    """One criterion of a rubric asked of one item.

    Raises DeclarationError where the criterion is not of the rubric, or item and rubric differ in mode.
    """

    rubric: Rubric
    criterion: Criterion
    item: Item

    def __post_init__(self) -> None:
        if self.criterion not in self.rubric.criteria:
            self.rubric.criterion(self.criterion.key)
            raise DeclarationError(
                f"criterion {self.criterion.key!r} is worded otherwise in {self.rubric.ref}"
            )
        if self.item.mode is not self.criterion.mode:
            raise DeclarationError(
                f"item {self.item.item_id!r} is {self.item.mode.value} and {self.rubric.ref} asks "
                f"{self.criterion.mode.value} questions; import it with the outputs that the rubric judges"
            )


def asked_together(judge: ModelJudge, criteria: Sequence[Criterion]) -> tuple[tuple[Criterion, ...], ...]:
    """The criteria of a rubric by the call that asks about them, in the order of the rubric.

    They depend on judge and rubric alone, so that a criterion is always asked in the company in which it was
    examined.
    """
    size = len(criteria) if judge.criteria_per_call == "all" else judge.criteria_per_call
    return tuple(tuple(criteria[at : at + size]) for at in range(0, len(criteria), size))


@dataclass(frozen=True, slots=True)
class Piece:
    """One text of an item as the judge sees it."""

    field: EvidenceField
    shown: Shown


@dataclass(frozen=True, slots=True)
class Material:
    """Every text of an item that a judge is shown, in the order of the rubric's fields."""

    pieces: tuple[Piece, ...]

    @property
    def digest(self) -> str:
        """The digest of the texts as rendered, marks aside; equal for both orders of a pair.

        A changed character changes it, so that no verdict is ever reused for another text.
        """
        return digest(
            [[piece.field.key, piece.field.source.value, piece.shown.text] for piece in self.pieces]
        )

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What the texts tried, or happened to hold."""
        return all_flags(piece.shown for piece in self.pieces)

    @property
    def characters(self) -> int:
        """Characters of all texts as shown."""
        return sum(len(piece.shown.text) for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Settled:
    """An answer that needs no call, with the reason in words."""

    answer: Answer
    rationale: str


def material(
    judge: ModelJudge, question: Question, *, fields: tuple[EvidenceField, ...] | None = None
) -> Material:
    """The texts that the judge is shown: the fields that its spec names and the item has, outputs always.

    `fields` are the rubric's, for a caller that asks about many items and has read them once.
    """
    pieces = []
    for field in question.rubric.fields if fields is None else fields:
        text = question.item.text(field.key)
        wanted = judge.show is None or field.key in judge.show
        if field.key in ALL_OUTPUTS or (wanted and not is_blank(text)):
            pieces.append(Piece(field, show(text)))
    return Material(tuple(pieces))


def settled(judge: ModelJudge, question: Question, texts: Material) -> Settled | None:
    """The answer that is known without asking the model, or None.

    Abstained(evidence_missing) without a field that the criterion requires; invalid(too_long) beyond the
    judge's limit; a fail for a blank output, if the judge says so. Raises DeclarationError where the judge
    does not show a required field: it would judge without it.
    """
    criterion = question.criterion
    if judge.show is not None and (hidden := [key for key in criterion.requires if key not in judge.show]):
        raise DeclarationError(
            f"judge {judge.name!r} does not show {hidden[0]!r}, which criterion {criterion.key!r} requires; "
            "add it to `show`, or remove `show` from the judge"
        )
    if missing := [key for key in criterion.requires if is_blank(question.item.text(key))]:
        return Settled(no_answer("abstained", "evidence_missing"), f"the item has no {', no '.join(missing)}")
    if judge.max_characters is not None and texts.characters > judge.max_characters:
        words = f"{texts.characters:,} characters are shown; this judge takes up to {judge.max_characters:,}"
        return Settled(no_answer("invalid", "too_long"), words)
    blank = judge.blank_output is BlankOutput.FAIL and is_blank("".join(question.item.outputs))
    if blank and not isinstance(criterion.scale, PreferenceScale):
        return Settled(_worst(criterion), "the output is blank; by this judge's spec a blank output fails")
    return None


def _worst(criterion: Criterion) -> Answer:
    scale = criterion.scale
    return answered(scale.answers[0] if isinstance(scale, OrdinalScale) else Verdict.FAIL.value)
