"""How far raters agree, as a page shows it: by criterion, then the pace of each rater."""

from __future__ import annotations

from collections.abc import Sequence

from calibration.evidence import KappaFigure
from calibration.labeling.agreement import Comment, CriterionAgreement, Pace
from calibration.rendering.numbers import fixed
from calibration.rendering.text import counted
from calibration.statistics.agreement import KappaWeights
from calibration.values import Undefined
from labeling_ui.components import Markup, untrusted
from labeling_ui.review.figures import coefficient, rate
from labeling_ui.review.pages import heading, table

_WORDS = {"pass": "pass", "fail": "fail", "unknown": "cannot decide"}


def criterion_section(found: CriterionAgreement) -> Markup:
    """Agreement on one criterion: each figure with what it is of, the answers, and what raters say of it."""
    rows: list[Sequence[str | Markup]] = [
        ("Same answer from all", rate(found.agreement), "items that two or more rated"),
        *_beyond_chance(found),
        ("Same answer again", rate(found.consistency), "hidden repeats, same rater"),
        ("Cannot decide", rate(found.cannot_decide), "all answers"),
    ]
    under = " · ".join(
        (
            f"{found.shared:,} of {found.items:,} items rated by two or more",
            ", ".join(_count(found, word, count) for word, count in found.answers.items()),
        )
    )
    figures = table(("Figure", "x/n, or the value, with its 95 % interval", "Of"), rows, label="Agreement")
    return heading(found.title, under=under) + figures + _of_levels(found) + _ambiguous(found.ambiguous)


def _count(found: CriterionAgreement, word: str, count: int) -> str:
    """How often an answer was given; a level has a name that could be taken for a number."""
    if found.weights is KappaWeights.NONE or word in _WORDS:
        return f"{count:,} {_WORDS.get(word, word)}"
    return f"level {word}: {count:,}"


def _beyond_chance(found: CriterionAgreement) -> list[Sequence[str | Markup]]:
    weights = "" if found.weights is KappaWeights.NONE else f", {found.weights.value} weights"
    return [
        ("Cohen’s kappa", coefficient(found.kappa), f"beyond chance, two raters{weights}"),
        ("Krippendorff’s alpha", coefficient(found.alpha), "beyond chance, any number of raters"),
    ]


def _of_levels(found: CriterionAgreement) -> Markup:
    """What the weights of kappa mean, where answers are levels."""
    if found.weights is KappaWeights.NONE:
        return Markup("")
    on = f"the {found.kappa.n:,} items" if isinstance(found.kappa, KappaFigure) else "the items"
    return Markup('<p class="vd-under">{}</p>').format(
        f"Quadratic weights: a miss counts by its squared distance in levels, over {on} on which both chose "
        "one. Alpha takes levels as mere names, and cannot decide as one of them."
    )


def _ambiguous(comments: Sequence[Comment]) -> Markup:
    """What raters wrote when the criterion was too ambiguous: the words to sharpen stand here."""
    if not comments:
        return Markup("")
    lines = Markup("").join(
        Markup('<li dir="auto">{} <span>{} · {}</span></li>').format(
            untrusted(each.note or "(no note)"), untrusted(each.rater), untrusted(each.item_id)
        )
        for each in comments
    )
    said = Markup(
        '<p class="vd-eyebrow vd-apart">Called ambiguous {}, hidden repeats included</p>'
        '<ul class="vd-said">{}</ul>'
    )
    return said.format(counted(len(comments), "time"), lines)


def pace_section(paces: Sequence[Pace]) -> Markup:
    """How each rater works: answers, seconds, idle answers, agreement with themselves."""
    rows = [
        (
            each.rater,
            f"{each.answers:,}",
            _seconds(each.median_seconds),
            rate(each.idle),
            rate(each.consistency),
        )
        for each in paces
    ]
    head = ("Rater", "Answers", "Median time", "Idle", "Same answer again")
    under = "From shown to answered. Idle: minutes without a sign of life; left out of the median."
    return heading("Pace", under=under) + table(head, rows, label="Pace of the raters")


def _seconds(found: float | Undefined) -> str:
    if isinstance(found, Undefined):
        return found.reason
    return f"{fixed(found, 1 if found < 10 else 0)} s"
