"""Stub rubrics: what holds labels and verdicts that were made elsewhere, one for each dataset."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlmodel import Session

from calibration.interchange.columns import listed
from calibration.interchange.doctor import NeedsOptions
from calibration.interchange.lines import shown
from calibration.interchange.native.answers import AnswerMap, proposed
from calibration.interchange.native.survey import Survey
from calibration.interchange.words import HUMAN_WORDS, REASON_WORDS, Side, fold
from calibration.store.rubrics import get_rubric, list_rubrics
from rubrics.errors import DeclarationError, RecordError
from rubrics.rubric import Rubric
from rubrics.scale import Preference
from rubrics.stub import stub_rubric
from rubrics.verdict import Verdict

_DECIDED: Final = frozenset({Verdict.PASS.value, Verdict.FAIL.value})
_PREFERENCES: Final = frozenset(fold(each) for each in Preference)
_WITHOUT_SCALE: Final = (frozenset(HUMAN_WORDS) | frozenset(REASON_WORDS)) - _DECIDED
_RANGE: Final = re.compile(r"(\d{1,3})-(\d{1,3})")
_MOST_LEVELS: Final = 100
_TOLD: Final = 6


@dataclass(frozen=True, slots=True)
class RubricOptions:
    """What was said about the rubric: a published one, or what the stub shall be."""

    ref: str | None = None
    """NAME@VERSION, or NAME for its newest version."""
    stub: bool = False
    levels: tuple[str, ...] = ()
    """Of ordinal criteria, worst first."""
    accept_at: str | None = None
    candidate: str | None = None
    """The side whose superiority a stub of pairs claims; None claims nothing."""
    tie_accepts: bool = False


def parse_levels(text: str) -> tuple[str, ...]:
    """The levels that `1-4` or `poor,fair,good` states, worst first.

    Raises:
        DeclarationError: fewer than two, or more than a hundred.
    """
    found = _RANGE.fullmatch(text.strip())
    if found:
        levels = tuple(str(level) for level in range(int(found[1]), int(found[2]) + 1))
    else:
        levels = tuple(part.strip() for part in text.split(",") if part.strip())
    if not 2 <= len(levels) <= _MOST_LEVELS:
        raise DeclarationError(
            f"--levels {shown(text)}: give them worst first, such as 1-4 or poor,fair,good"
        )
    return levels


def stub_name(dataset: str) -> str:
    """The name of the stub rubric of a dataset, such as `triviaqa-imported`."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", dataset).strip("-_.")[:54].rstrip("-_.")
    return f"{plain or 'labels'}-imported"


def existing_stub(
    session: Session, options: RubricOptions, survey: Survey, dataset: str, name: str
) -> Rubric | None:
    """The stub that earlier imports into the dataset published; None before the first.

    Raises:
        DeclarationError: it does not hold the file's criteria, or has other levels than were given.
    """
    stub = published_rubric(session, stub_name(dataset))
    if stub is None:
        return None
    if not all(criterion.imported for criterion in stub.criteria):
        raise DeclarationError(f"{stub.ref} is published and is no stub: say --rubric {stub.ref}")
    held = {criterion.key: criterion for criterion in stub.criteria}
    missing = sorted(set(survey.words) - set(held))
    if missing:
        raise DeclarationError(
            f"{name} has the criteria {listed(missing)}, which {stub.ref} of earlier imports does not hold "
            f"({listed(held)}): publish a rubric with all of them by `voirdire rubric add` and say --rubric"
        )
    scales = [held[key].scale for key in survey.words]
    if options.levels and any(s.kind == "ordinal" and s.answers != options.levels for s in scales):
        raise DeclarationError(
            f"--levels {','.join(options.levels)}: {stub.ref} of earlier imports has other levels; "
            "leave the option out"
        )
    return stub


def new_stub(
    options: RubricOptions,
    survey: Survey,
    dataset: str,
    maps: Sequence[AnswerMap],
    side: Side,
    name: str,
) -> Rubric:
    """The stub that holds a file's criteria, the same whatever the order of its lines.

    Raises:
        NeedsOptions: words fit no scale.
        DeclarationError: no criterion, one whose name cannot be a key, or both outputs and pairs.
    """
    if not survey.words:
        raise DeclarationError(f"{name} names no criterion, so there is nothing that a stub could hold")
    called = stub_name(dataset)
    stubs = []
    for key in sorted(survey.words, key=_natural):
        kind = _told_scale(key, options, survey, maps, side, name)
        ordinal, pairwise = kind == "ordinal", kind == "preference"
        stubs.append(
            stub_rubric(
                called,
                key,
                levels=options.levels if ordinal else (),
                accept_at=options.accept_at if ordinal else None,
                pairwise=pairwise,
                candidate=options.candidate,
                tie_accepts=options.tie_accepts,
            )
        )
    if len(stubs) == 1:
        return stubs[0]
    return _joined(stubs)


def _joined(stubs: Sequence[Rubric]) -> Rubric:
    """One rubric with the criteria of all."""
    criteria = tuple(stub.criteria[0] for stub in stubs)
    if len({criterion.mode for criterion in criteria}) > 1:
        told = ", ".join(f"{criterion.key} {criterion.mode}" for criterion in criteria)
        raise DeclarationError(
            f"one rubric judges single outputs or pairs, not both ({told}): import the two kinds from two "
            "files into two datasets"
        )
    return Rubric(
        name=stubs[0].name,
        version=1,
        title=f"Imported labels: {len(criteria)} criteria",
        purpose=stubs[0].purpose,
        criteria=criteria,
        does_not_establish=stubs[0].does_not_establish,
    )


def _told_scale(
    criterion: str,
    options: RubricOptions,
    survey: Survey,
    maps: Sequence[AnswerMap],
    side: Side,
    name: str,
) -> str:
    """The scale that the words of a criterion speak of.

    Raises:
        NeedsOptions: they fit none.
    """
    meanings = {each.word: each.meaning for each in maps}
    levels = {fold(level) for level in options.levels}
    words = {
        word: meanings.get(fold(word or "") or "null", fold(word or "")) for word in survey.words[criterion]
    }
    meant = {meaning for meaning in words.values() if meaning not in _WITHOUT_SCALE or meaning in levels}
    if levels and {_level(meaning) for meaning in meant} <= levels:
        return "ordinal"
    if meant <= _DECIDED:
        return "binary"
    if meant <= _PREFERENCES:
        return "preference"
    odd = [word for word, meaning in words.items() if meaning in meant - _DECIDED - _PREFERENCES]
    odd = odd or [word for word, meaning in words.items() if meaning in meant]
    raise _words_fit_no_scale(criterion, survey, [word for word in odd if word is not None], side, name)


def _level(meaning: str) -> str:
    return re.sub(r"^(\d+)\.0+$", r"\1", meaning)


def _words_fit_no_scale(
    criterion: str, survey: Survey, odd: Sequence[str], side: Side, name: str
) -> NeedsOptions:
    counts = survey.words[criterion]
    told = ", ".join(
        f"{shown(word)} ({counts[word]}, first on line {survey.first[criterion, word]})"
        for word in odd[:_TOLD]
    )
    numbers = all(re.fullmatch(r"\d{1,3}(\.0+)?", word) for word in odd)
    low, high = (min(odd, key=float), max(odd, key=float)) if numbers else ("1", "4")
    more = f" and {len(odd) - _TOLD} more words" if len(odd) > _TOLD else ""
    return NeedsOptions(
        f"{name}: {criterion!r} holds {told}{more}, neither pass and fail nor A, B and tie: say what each "
        "word means by --map WORD=MEANING, or name ordered levels by "
        f"--levels {low}-{high} --accept-at LEVEL",
        options=() if numbers and len(odd) > 2 else proposed(odd[:_TOLD], side),
        field="label",
    )


def _natural(key: str) -> list[tuple[int, int, str]]:
    """Sorts Q2 before Q10, the same way whatever the order of the file."""
    parts = re.findall(r"\d+|\D+", key)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def published_rubric(session: Session, word: str) -> Rubric | None:
    """The published rubric NAME@VERSION, or NAME in its newest version; None where there is none."""
    name, at, version = word.partition("@")
    if at and not (version.isdecimal() and len(version) < 10):
        return None
    try:
        return get_rubric(session=session, name=name, version=int(version) if at else None)
    except RecordError:
        if any((ref.name, str(ref.version)) == (name, version or str(ref.version))
               for ref, _ in list_rubrics(session=session)):  # fmt: skip
            raise  # it is there, and was changed
        return None
