"""`simulate gate`: how often the gate admits, in words, as a picture and as JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from calibration.rendering.gate_page import MOST_CURVES, Curve, render_gate
from calibration.rendering.text import counted, listed
from calibration.statistics.gate_curve import (
    AdmissionChance,
    GateSetting,
    PlannedStratum,
    admission_curve,
)
from judge.cli.answers import Answer, chance_object, chance_text, percent

_SHARES_OF_LIMIT = (0.0, 0.2, 0.5, 0.8, 1.0, 1.2, 1.5)
_WIDTH = 78
_BLOCKS = "▏▎▍▌▋▊▉█"
_FINE = 81
"""Points of the page's picture, where they cost nothing."""


def planned_stratum(text: str) -> PlannedStratum:
    """The stratum that NAME=WEIGHT:FAILURES or NAME=WEIGHT:FAILURES:RATIO stands for.

    Raises:
        ValueError: for anything else, or a weight, number or ratio that is not above 0.
    """
    number = r"\d+(?:\.\d+)?"
    found = re.fullmatch(rf"([^=]+)=({number}):(\d{{1,6}})(?::({number}))?", text)
    if not found:
        raise ValueError(f"--stratum {text!r} is not NAME=WEIGHT:FAILURES or NAME=WEIGHT:FAILURES:RATIO")
    return PlannedStratum(found[1], float(found[2]), int(found[3]), float(found[4] or 1))


@dataclass(frozen=True, slots=True)
class GateQuestion:
    """What `simulate gate` is asked."""

    settings: tuple[GateSetting, ...]
    """One for each curve; they differ in the number of failures."""
    true_fars: tuple[float, ...]
    replicates: int
    seed: int

    @classmethod
    def of(
        cls, settings: Sequence[GateSetting], true_fars: Sequence[float], *, replicates: int, seed: int
    ) -> GateQuestion:
        """The question, with FARs around the limit where none are given.

        Raises:
            ValueError: more settings than a picture can show.
        """
        if len(settings) > MOST_CURVES:
            raise ValueError(f"{len(settings)} numbers of failures; give at most {MOST_CURVES}")
        limit = settings[0].limit
        wanted = [*true_fars, limit] if true_fars else [min(1.0, limit * part) for part in _SHARES_OF_LIMIT]
        return cls(tuple(settings), tuple(sorted({round(far, 12) for far in wanted})), replicates, seed)

    @property
    def first(self) -> GateSetting:
        """The setting that stands for what all share."""
        return self.settings[0]


@dataclass(frozen=True, slots=True)
class GateFound:
    """The curves."""

    question: GateQuestion
    curves: tuple[tuple[AdmissionChance, ...], ...]

    @property
    def exact(self) -> bool:
        """Whether no point was simulated."""
        return all(point.simulated is None for curve in self.curves for point in curve)


def find(question: GateQuestion) -> GateFound:
    """P(admitted) of every setting at every true FAR.

    Raises:
        ValueError: a true FAR that would put a stratum above 1.
    """
    rng = np.random.default_rng(question.seed)
    return GateFound(
        question,
        tuple(
            admission_curve(setting, question.true_fars, rng=rng, replicates=question.replicates)
            for setting in question.settings
        ),
    )


def gate_answer(found: GateFound, *, ascii_only: bool) -> Answer:
    """The curves in words and bars."""
    question = found.question
    names = [_name(setting) for setting in question.settings]
    head, rows = _bars(found, names, ascii_only=ascii_only)
    limit = question.first.limit
    return Answer(
        words=_words(found),
        head=head,
        rows=rows,
        following=f"voirdire plan failures --limit {limit:g} --true-far FAR --power 0.8",
        data=_object(found, names),
        notes=_notes(found),
    )


def _name(setting: GateSetting) -> str:
    """A setting by its failures."""
    return counted(sum(s.failures for s in setting.strata) or setting.failures, "failure")


def _words(found: GateFound) -> tuple[str, ...]:
    """Who is let through at the limit, and who is turned away below it."""
    question = found.question
    at = question.true_fars.index(round(question.first.limit, 12))
    parts = [
        f"{chance_text(curve[at])} with {_name(setting)}"
        for setting, curve in zip(question.settings, found.curves, strict=True)
    ]
    parts[0] = parts[0].replace(" with ", " of the time with ", 1)
    told = (
        f"A judge at the limit of {percent(question.first.limit)} is admitted {listed(parts)}"
        f"{_design_words(question.first)}."
    )
    below = [number for number, far in enumerate(question.true_fars) if 0 < far < question.first.limit]
    if not below:
        return (told,)
    good = below[0]
    others = [chance_text(curve[good]) for curve in found.curves]
    return (
        told,
        f"One that accepts {percent(question.true_fars[good])} is admitted {listed(others)} of the time.",
    )


def _design_words(setting: GateSetting) -> str:
    """What the failures are like, and how often they are looked at."""
    parts = []
    if setting.strata:
        parts.append(f"in {counted(len(setting.strata), 'stratum', 'strata')} re-weighted by MOVER")
    elif setting.per_cluster == 1:
        parts.append("one from each prompt")
    else:
        parts.append(f"{setting.per_cluster} from each prompt, correlated at {setting.icc:g}")
        if not setting.allow_for_clusters:
            parts.append("taken for independent ones")
    if setting.looks > 1:
        parts.append(f"{setting.looks} looks that {'share' if setting.divided else 'do not share'} the error")
    return ", " + ", ".join(parts)


def _bars(
    found: GateFound, names: Sequence[str], *, ascii_only: bool
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Probability and bar for every true FAR; the bars fill what the width leaves."""
    cells = [[chance_text(point) for point in curve] for curve in found.curves]
    limit = found.question.first.limit
    firsts = [f"limit {percent(far)}" if far == limit else percent(far) for far in found.question.true_fars]
    numbers = [max(len(cell) for cell in column) for column in cells]
    left = _WIDTH - max(len("true FAR"), *map(len, firsts)) - sum(numbers) - 3 * len(cells)
    width = max(4, min(40, left // len(cells)))
    columns = [[first.rjust(10) for first in firsts]]
    for column, curve, size in zip(cells, found.curves, numbers, strict=True):
        columns.append(
            [
                f"{cell.rjust(size)} {bar(point.probability, width, ascii_only=ascii_only).ljust(width)}"
                for cell, point in zip(column, curve, strict=True)
            ]
        )
    head = ("true FAR", *(name.ljust(size + 1 + width) for name, size in zip(names, numbers, strict=True)))
    return head, tuple(zip(*columns, strict=True))


def bar(probability: float, width: int, *, ascii_only: bool) -> str:
    """A bar of at most so many characters; whatever is above 0 can be seen."""
    if probability <= 0:
        return ""
    if ascii_only:
        return "#" * max(1, round(probability * width))
    eighths = max(1, round(probability * width * 8))
    return "█" * (eighths // 8) + (_BLOCKS[eighths % 8 - 1] if eighths % 8 else "")


def _notes(found: GateFound) -> tuple[str, ...]:
    question = found.question
    notes = []
    if found.exact:
        notes.append("Exact: binomial probabilities, nothing simulated.")
    else:
        notes.append(
            f"Simulated: {question.replicates:,} calibrations a point, seed {question.seed}; ± is the Monte "
            "Carlo error (95 %)."
        )
    if question.first.strata:
        parts = [
            f"{s.name} {s.failures} failures, weight {s.weight:g}, FAR x{s.ratio:g}"
            for s in question.first.strata
        ]
        notes.append(f"Strata: {'; '.join(parts)}. The true FAR is their weighted mean.")
    return tuple(notes)


def _object(found: GateFound, names: Sequence[str]) -> dict[str, Any]:
    question, first = found.question, found.question.first
    return {
        "schema": "voirdire.gate_curve/1",
        "limit": first.limit,
        "confidence": first.confidence,
        "z": first.z,
        "looks": first.looks,
        "shared": first.divided,
        "per_cluster": first.per_cluster,
        "icc": first.icc,
        "planning_icc": first.planning_icc if first.allow_for_clusters else None,
        "strata": [
            {"name": s.name, "weight": s.weight, "failures": s.failures, "ratio": s.ratio}
            for s in first.strata
        ],
        "exact": found.exact,
        "seed": None if found.exact else question.seed,
        "curves": [
            {
                "name": name,
                "failures": sum(s.failures for s in setting.strata) or setting.failures,
                "points": [
                    {"true_far": far, **chance_object(point)}
                    for far, point in zip(question.true_fars, curve, strict=True)
                ],
            }
            for name, setting, curve in zip(names, question.settings, found.curves, strict=True)
        ],
    }


def gate_html(found: GateFound, *, made_at: datetime) -> str:
    """The curves as a page; exact ones are drawn with points between those of the table."""
    question = found.question
    return render_gate(
        [
            Curve(_name(setting), _places(question, setting, curve), tuple(map(chance_text, curve)))
            for setting, curve in zip(question.settings, found.curves, strict=True)
        ],
        true_fars=question.true_fars,
        limit=question.first.limit,
        sentences=_words(found),
        notes=_notes(found),
        made_at=made_at,
    )


def _places(
    question: GateQuestion, setting: GateSetting, curve: Sequence[AdmissionChance]
) -> tuple[tuple[float, float], ...]:
    known = dict(zip(question.true_fars, curve, strict=True))
    if all(point.simulated is None for point in curve):
        top = question.true_fars[-1]
        between = [float(far) for far in np.linspace(0, top, _FINE) if far not in known]
        points = admission_curve(setting, between, rng=np.random.default_rng(question.seed))
        known |= dict(zip(between, points, strict=True))
    return tuple((far, known[far].probability) for far in sorted(known))
