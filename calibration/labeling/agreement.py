"""How far the raters of a session agree, with each other and with themselves, and what they say of criteria.

For a lead: no rater may see it while rating. Only live answers of this session count; what the close or the
window left open is in no denominator here, and `session_status` says how many those are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeAlias

import numpy as np
from sqlmodel import Session

from calibration.evidence import AlphaFigure, KappaFigure, RateFigure, UndefinedFigure
from calibration.labeling.plan import seeded
from calibration.labeling.records import UNKNOWN, CannotDecide
from calibration.report.agreement import kappa_figure
from calibration.report.figures import rate_figure
from calibration.statistics.agreement import KappaWeights, cohens_kappa
from calibration.statistics.alpha_interval import nominal_alpha
from calibration.statistics.bootstrap import (
    BootstrapMethod,
    Floats,
    bootstrap_interval,
    distinct_vectors,
    resample_totals,
)
from calibration.store.items import ref_of_key
from calibration.store.payloads import StoredText, read_payloads
from calibration.store.rater_records import Said, answers_in
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sessions import get_session, seats_of
from calibration.values import Undefined
from rubrics.criterion import Criterion
from rubrics.scale import OrdinalScale

Labels: TypeAlias = Mapping[str, Mapping[str, str]]
"""item -> rater -> answer."""
_SEED: Final = 20_261_130
"""Of the resamples, so that the same answers give the same interval."""


@dataclass(frozen=True, slots=True)
class Comment:
    """What a rater wrote when a criterion was too ambiguous to decide."""

    item_id: str
    rater: str
    note: str
    """Untrusted; may be empty."""


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """Agreement on one criterion."""

    criterion: str
    title: str
    answers: Mapping[str, int]
    """How often each answer was given, repeats apart, in the order of the scale, `unknown` last."""
    raters: int
    items: int
    """Items that anybody answered."""
    shared: int
    """Items that two or more answered: what agreement rests on."""
    agreement: RateFigure | UndefinedFigure
    """Shared items on which all said the same."""
    kappa: KappaFigure | UndefinedFigure
    """Cohen's kappa of exactly two raters. Of levels quadratically weighted, over the items on which both
    chose one; else unweighted, cannot-decide a category of its own."""
    weights: KappaWeights
    """Of the near misses in kappa."""
    alpha: AlphaFigure | UndefinedFigure
    """Krippendorff's alpha of any number of raters, every two different answers equally far apart."""
    consistency: RateFigure | UndefinedFigure
    """Hidden repeats to which the same person gave the same answer."""
    cannot_decide: RateFigure | UndefinedFigure
    """Of all answers, repeats apart."""
    ambiguous: tuple[Comment, ...]


@dataclass(frozen=True, slots=True)
class Pace:
    """How one rater works."""

    rater: str
    answers: int
    median_seconds: float | Undefined
    """From shown to decided, idle answers left out."""
    idle: RateFigure | UndefinedFigure
    """Answers during which the page saw no sign of life for minutes."""
    consistency: RateFigure | UndefinedFigure
    """Of this person's hidden repeats, over all criteria."""


@dataclass(frozen=True, slots=True)
class SessionAgreement:
    """All of it for one session."""

    criteria: tuple[CriterionAgreement, ...]
    paces: tuple[Pace, ...]


def session_agreement(*, session: Session, name: str) -> SessionAgreement:
    """Agreement on each criterion of the session's rubric and the pace of each rater.

    Raises:
        RecordError: no such session.
    """
    stored = get_session(session=session, session_name=name)
    raters = [seat.rater for seat in seats_of(session=session, key=stored.key) if seat.kind == "rate"]
    rubric = get_rubric_by_digest(session=session, digest=stored.rubric_digest)
    given = [
        said
        for said in answers_in(session=session, key=stored.key)
        if not said.retracted and said.rater in raters
    ]
    comments = _comments(session, given)
    return SessionAgreement(
        criteria=tuple(_of_criterion(each, given, comments.get(each.key, ())) for each in rubric.criteria),
        paces=tuple(
            _pace(rater, [said for said in given if said.rater == rater]) for rater in sorted(raters)
        ),
    )


def pseudonyms(raters: Iterable[str], *, session: str) -> dict[str, str]:
    """A name for each rater that tells nothing: rater-1, rater-2 ... in an order of the session's own.

    The same session and raters give the same names; another session gives others.
    """
    names = sorted(set(raters))
    seeded("pseudonyms", session, *names).shuffle(names)
    return {name: f"rater-{place}" for place, name in enumerate(names, start=1)}


def _of_criterion(
    criterion: Criterion, given: Sequence[Said], comments: Sequence[Comment]
) -> CriterionAgreement:
    mine = [said for said in given if said.criterion == criterion.key]
    first = [said for said in mine if said.repeat == 0]
    words = (*criterion.answers, UNKNOWN)
    labels: dict[str, dict[str, str]] = defaultdict(dict)
    for said in first:
        labels[said.item_key][said.rater] = said.value
    counts = Counter(said.value for said in first)
    return CriterionAgreement(
        criterion=criterion.key,
        title=criterion.title,
        answers={word: counts[word] for word in words},
        raters=len({said.rater for said in first}),
        items=len(labels),
        shared=sum(len(each) > 1 for each in labels.values()),
        agreement=_raw(labels),
        kappa=_kappa(labels, criterion),
        weights=_weights(criterion),
        alpha=_alpha(labels, words),
        consistency=_consistency(mine),
        cannot_decide=_share(counts[UNKNOWN], len(first), "nobody has answered"),
        ambiguous=tuple(comments),
    )


def _raw(labels: Labels) -> RateFigure | UndefinedFigure:
    shared = [set(each.values()) for each in labels.values() if len(each) > 1]
    return _share(sum(len(words) == 1 for words in shared), len(shared), "no item has two raters")


def _weights(criterion: Criterion) -> KappaWeights:
    return KappaWeights.QUADRATIC if isinstance(criterion.scale, OrdinalScale) else KappaWeights.NONE


def _kappa(labels: Labels, criterion: Criterion) -> KappaFigure | UndefinedFigure:
    raters = sorted({rater for each in labels.values() for rater in each})
    if len(raters) < 2:
        return UndefinedFigure(undefined="only one rater has answered")
    if len(raters) > 2:
        return UndefinedFigure(undefined=f"{len(raters)} raters: Cohen's kappa is for two, see alpha")
    levels = isinstance(criterion.scale, OrdinalScale)
    words = criterion.answers if levels else (*criterion.answers, UNKNOWN)
    place = {word: at for at, word in enumerate(words)}
    table = [[0] * len(words) for _ in words]
    for each in labels.values():
        if len(each) == 2 and set(each.values()) <= set(words):
            table[place[each[raters[0]]]][place[each[raters[1]]]] += 1
    rng = np.random.default_rng(_SEED)
    return _of_levels(table, rng) if levels else kappa_figure(table, rng=rng)


def _of_levels(table: Sequence[Sequence[int]], rng: np.random.Generator) -> KappaFigure | UndefinedFigure:
    """Kappa of levels; items resampled, for levels are rare and the normal interval is then too short."""
    found = cohens_kappa(table, weights=KappaWeights.QUADRATIC)
    if isinstance(found, Undefined):
        return UndefinedFigure(undefined=found.reason)
    counts = np.asarray(table).ravel()
    cells = distinct_vectors(np.repeat(np.eye(counts.size), counts, axis=0))
    totals = resample_totals(cells, rng=rng, resamples=2_000)
    resampled = bootstrap_interval(
        cells, totals, _weighted_kappas, confidence=0.95, method=BootstrapMethod.PERCENTILE
    )
    interval = None
    if not isinstance(resampled, Undefined) and not isinstance(resampled.interval, Undefined):
        interval = resampled.interval
    return KappaFigure(
        estimate=found.kappa,
        lower=interval.lower if interval else None,
        upper=interval.upper if interval else None,
        po=found.po,
        pe=found.pe,
        kappa_max=None,
        n=int(found.n),
        degenerate=isinstance(found.interval, Undefined),
        method="quadratic weights; items resampled" if interval else "none",
    )


def _weighted_kappas(totals: Floats) -> Floats:
    """Quadratically weighted kappa of flattened tables, one row each; NaN where chance agreement is 1."""
    size = round(totals.shape[1] ** 0.5)
    tables = totals.reshape(-1, size, size)
    missed = np.subtract.outer(np.arange(size), np.arange(size)) ** 2
    chance = np.einsum("bi,bj,ij->b", tables.sum(axis=2), tables.sum(axis=1), missed)
    chance /= totals.sum(axis=1)
    observed = np.einsum("bij,ij->b", tables, missed)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(chance > 0, 1 - observed / chance, np.nan)


def _alpha(labels: Labels, words: Sequence[str]) -> AlphaFigure | UndefinedFigure:
    units = [Counter(each.values()) for _, each in sorted(labels.items())]
    found = nominal_alpha(units, categories=words, rng=np.random.default_rng(_SEED))
    if isinstance(found, Undefined):
        return UndefinedFigure(undefined=found.reason)
    interval = None if isinstance(found.interval, Undefined) else found.interval
    return AlphaFigure(
        estimate=found.value,
        lower=interval.lower if interval else None,
        upper=interval.upper if interval else None,
        method="Krippendorff 2011, nominal; units resampled",
    )


def _consistency(given: Iterable[Said]) -> RateFigure | UndefinedFigure:
    """Repeats answered as the first time, among repeats whose first answer stands."""
    first = {(s.rater, s.item_key, s.criterion): s.value for s in given if s.repeat == 0}
    again = [
        (said.value, first[key])
        for said in given
        if said.repeat > 0 and (key := (said.rater, said.item_key, said.criterion)) in first
    ]
    return _share(sum(a == b for a, b in again), len(again), "no hidden repeat was answered yet")


def _share(x: int, n: int, otherwise: str) -> RateFigure | UndefinedFigure:
    return rate_figure(x, n) if n else UndefinedFigure(undefined=otherwise)


def _pace(rater: str, given: Sequence[Said]) -> Pace:
    timed = [
        (said.decided_at - said.shown_at).total_seconds()
        for said in given
        if said.shown_at is not None and said.decided_at is not None and not said.idle
    ]
    return Pace(
        rater=rater,
        answers=len(given),
        median_seconds=median(timed) if timed else Undefined("no answer was timed"),
        idle=_share(sum(said.idle for said in given), len(given), "no answer yet"),
        consistency=_consistency(given),
    )


def _comments(session: Session, given: Sequence[Said]) -> dict[str, list[Comment]]:
    """What was said of each criterion that it is ambiguous, oldest first."""
    found = [said for said in given if said.reason == CannotDecide.CRITERION_AMBIGUOUS]
    texts = read_payloads(session=session, digests=[s.note_digest for s in found if s.note_digest])
    comments: dict[str, list[Comment]] = defaultdict(list)
    for said in sorted(found, key=lambda each: (each.recorded_at, each.digest)):
        text = texts.get(said.note_digest or "")
        note = str(text.content["note"]) if isinstance(text, StoredText) else ""
        item_id, _ = ref_of_key(session=session, key=said.item_key)
        comments[said.criterion].append(Comment(item_id, said.rater, note))
    return comments
