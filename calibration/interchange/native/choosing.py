"""Under which published rubric the labels or verdicts of a file stand; a stub is published where none is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlmodel import Session

from calibration.interchange.doctor import NeedsOptions
from calibration.interchange.lines import shown
from calibration.interchange.native.answers import AnswerMap
from calibration.interchange.native.fields import BadField
from calibration.interchange.native.stubs import (
    RubricOptions,
    existing_stub,
    new_stub,
    published_rubric,
    stub_name,
)
from calibration.interchange.native.survey import Survey
from calibration.interchange.words import Side
from calibration.store.rubrics import add_rubric, list_rubrics
from rubrics.rubric import Rubric

_TOLD: Final = 6


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rubrics of a file: one for all lines, or the one that each line names."""

    session: Session
    default: Rubric | None
    by_word: dict[str | None, Rubric]

    def of(self, word: str | None) -> Rubric:
        """The rubric of a line that names `word`.

        Raises:
            BadField: the line names another published rubric than was given for the file.
        """
        found = self.by_word.get(word)
        if found is None:
            found = self.by_word[word] = self._found(word)
        return found

    def _found(self, word: str | None) -> Rubric:
        if self.default is None:
            raise BadField(f"rubric {shown(word or '')} is not published", "rubric")
        published = published_rubric(self.session, word) if word and "@" in word else None
        if published is not None and published.digest != self.default.digest:
            raise BadField(
                f"rubric {published.ref} stands beside --rubric {self.default.ref}: "
                "import its lines by themselves, or leave the option out",
                "rubric",
            )
        return self.default

    def asked(self, word: str | None) -> str:
        """What a verdict's `rubric` says beyond the published one: by which prompt its judge was asked."""
        if word is None:
            return ""
        rubric = self.of(word)
        return "" if word in {rubric.name, rubric.ref, rubric.digest} else word

    @property
    def rubrics(self) -> tuple[Rubric, ...]:
        """Every rubric of the file, each once, by reference."""
        found = [self.default] if self.default else list(self.by_word.values())
        return tuple(sorted({each.digest: each for each in found}.values(), key=lambda each: each.ref))


def choose(  # noqa: PLR0913 -- keyword-only: what a stub is made of
    *,
    session: Session,
    options: RubricOptions,
    survey: Survey,
    dataset: str,
    name: str,
    maps: Sequence[AnswerMap],
    side: Side,
    actor: str,
    at: datetime,
) -> Chosen:
    """The rubrics under which a file's lines stand; a stub is published in the session.

    Raises:
        NeedsOptions: neither the lines nor an option name one, or words fit no scale.
        RecordError: the rubric that is named is not published.
        DeclarationError: the stub cannot hold the file's criteria.
    """
    if options.ref is not None:
        named = published_rubric(session, options.ref)
        if named is None:
            raise _notpublished_rubric(session, options.ref, f"--rubric {options.ref}")
        return Chosen(session, named, {})
    if options.stub:
        stub = existing_stub(session, options, survey, dataset, name)
        if stub is None:
            stub = new_stub(options, survey, dataset, maps, side, name)
            add_rubric(session=session, rubric=stub, actor=actor, at=at)
        return Chosen(session, stub, {})
    return Chosen(session, None, dict(_named_by_lines(session, survey, dataset, name)))


def _named_by_lines(
    session: Session, survey: Survey, dataset: str, name: str
) -> Iterable[tuple[str | None, Rubric]]:
    if None in survey.rubrics or not survey.rubrics:
        stub = published_rubric(session, stub_name(dataset))
        options = ("--rubric", stub.ref) if stub else ("--stub-rubric",)
        raise NeedsOptions(
            f"{name} does not say under which rubric it was answered: name a published one by --rubric NAME@V"
            f"{_published_list(session)}, or hold what was made elsewhere by --stub-rubric",
            options=options,
            field="rubric",
        )
    for word in sorted(each for each in survey.rubrics if each is not None):
        found = published_rubric(session, word)
        if found is None:
            raise _notpublished_rubric(session, word, f"{name} names the rubric {shown(word)}, which")
        yield word, found


def _notpublished_rubric(session: Session, word: str, said: str) -> NeedsOptions:
    said = said if said.endswith("which") else f"{said}: {shown(word)}"
    return NeedsOptions(
        f"{said} is not published{_published_list(session)}: name the rubric that was answered by --rubric "
        "NAME@V, or hold what was made elsewhere by --stub-rubric",
        field="rubric",
    )


def _published_list(session: Session) -> str:
    refs = [str(ref) for ref, _ in list_rubrics(session=session)]
    return f" (published: {', '.join(refs[:_TOLD])}{', ...' if len(refs) > _TOLD else ''})" if refs else ""
