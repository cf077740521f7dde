"""What a report does not carry: figures nobody could compute, and claims that the figures do not reach."""

from __future__ import annotations

from collections.abc import Iterator

from calibration.evidence import (
    CalibrationReport,
    EvidenceGrade,
    NotAssessed,
    RateFigure,
    UndefinedFigure,
)
from calibration.labels import Blindness
from calibration.policy import AdmissionPolicy
from calibration.report.figures import MIN_MARGIN, smallest_margin
from calibration.values import Undefined

_NO_DENOMINATOR = {
    "far": "no item has a reference failure",
    "far_decided": "the judge decided no reference failure",
    "frr": "no item has a reference pass",
    "non_acceptance_among_pass": "no item has a reference pass",
    "failure_among_accepted": "the judge accepted no item with a resolved reference",
    "disagreement": "no item has a resolved reference",
    "coverage": "there is no item",
    "abstention": "there is no item",
}
_LIMITABLE = {
    "coverage": "coverage",
    "abstention": "abstention",
    "invalid": "invalid replies",
    "non_acceptance_among_pass": "good outputs not accepted",
}


def not_assessed(report: CalibrationReport, policy: AdmissionPolicy | None) -> tuple[NotAssessed, ...]:
    """Each figure or property that this evidence or policy leaves out, with the reason."""
    return tuple(
        NotAssessed(name=name, reason=reason)
        for part in (_undefined(report), _agreement(report), _ground(report), _unlimited(report, policy))
        for name, reason in part
    )


def _undefined(report: CalibrationReport) -> Iterator[tuple[str, str]]:
    if report.far is None:
        yield "far", "no candidate declared: the wrong-side rate stands in its place"
    if report.failure_among_accepted.describes == "deployment":
        yield "far", "the items were sampled from what the judge accepted: no FAR follows from such an audit"
        return
    for name, reason in _NO_DENOMINATOR.items():
        figure: RateFigure | None = getattr(report, name)
        if figure is not None and figure.estimate is None:
            yield name, reason


def _agreement(report: CalibrationReport) -> Iterator[tuple[str, str]]:
    margin = smallest_margin(report.margins)
    if report.wrong_side is not None and isinstance(report.kappa, UndefinedFigure):
        yield "kappa", report.kappa.undefined
        return
    if isinstance(margin, Undefined):
        yield "kappa", margin.reason
    elif isinstance(report.kappa, UndefinedFigure):
        yield "kappa", report.kappa.undefined
    elif margin < MIN_MARGIN:
        n = report.margins.judge.n
        yield (
            "kappa",
            f"the rarer label or verdict is {round(margin * n)} of {n}, under 10 %: kappa misleads there",
        )
    if isinstance(report.kappa_decided, UndefinedFigure):
        yield "kappa_decided", report.kappa_decided.undefined


def _ground(report: CalibrationReport) -> Iterator[tuple[str, str]]:
    raters = report.raters
    if raters is None:
        yield "raters", "no rater is recorded: reliability of the reference not assessed"
    elif isinstance(raters.kappa, UndefinedFigure) and isinstance(raters.alpha, UndefinedFigure):
        yield "raters", raters.kappa.undefined
    if raters is not None:
        seeing = sum(n for word, n in raters.blind.items() if not Blindness(word).satisfies_blind)
        if seeing:
            total = sum(raters.blind.values())
            yield "blindness", f"{seeing} of {total} labels do not say that the rater was blind to the judge"
    if report.adjudication is not None and report.adjudication.undefined is not None:
        yield "adjudication", report.adjudication.undefined
    if report.position is None:
        yield "position", "not assessable: one order per item; whether order moves verdicts is not known"
    if report.repeats is None:
        yield "repeats", "one verdict per item: whether a repeat gives the same verdict was not looked at"
    yield from _leanings(report)
    if not report.slices:
        yield "slices", "no slice is named (columns slice_* or --slice COL)"
    if report.wrong_side is None:
        yield "wrong_side", "not a pairwise criterion"


def _leanings(report: CalibrationReport) -> Iterator[tuple[str, str]]:
    """Length and the judge's own family, where nothing is known of them or nothing follows."""
    length, family = report.verbosity, report.self_preference
    if length is None or family is None:
        yield "verbosity", "not assessable: the texts of the outputs are not here; a table has them in output"
        yield (
            "self_preference",
            "not assessable: which models wrote the outputs is not here; a table needs the columns output "
            "and model_family, and judges called by their models",
        )
        return
    if length.odds_per_doubling.undefined is not None:
        yield "verbosity", length.odds_per_doubling.undefined
    if family.undefined is not None:
        yield "self_preference", family.undefined


def _unlimited(report: CalibrationReport, policy: AdmissionPolicy | None) -> Iterator[tuple[str, str]]:
    if policy is None:
        yield "decision", "no limit and no policy: figures only"
        return
    for name, words in _LIMITABLE.items():
        if name not in policy.guards and getattr(report, name).estimate is not None:
            yield name, f"{policy.label} sets no limit on {words}: shown, not judged"
    if not policy.minimum.raters_per_case:
        yield "raters_per_case", f"{policy.label} asks for no second rater"
    if not policy.reference.blind:
        yield "blind", f"{policy.label} does not ask for blind raters"
    if policy.minimum.unresolved_reference_at_most is None and report.counts.reference_unresolved:
        yield "unresolved_reference", f"{policy.label} sets no limit on unresolved references"


def not_established(report: CalibrationReport, policy: AdmissionPolicy | None) -> tuple[str, ...]:
    """Claims that a reader might take from the figures and that they do not carry."""
    claims = [
        "The share of failures among what it accepts in production: these items are the calibration mix.",
        "Anything about another rubric, judge version, prompt, language or population.",
    ]
    if report.evidence_grade in {EvidenceGrade.UNKNOWN, EvidenceGrade.ONE_RATER, EvidenceGrade.MODEL}:
        claims.append("That the reference is right: no second independent person confirmed it.")
    if report.constructed:
        claims.append("Anything about real outputs: the items and labels were written for demonstration.")
    if policy is not None:
        limit = policy.primary.upper_at_most
        claims.extend(
            f"The limit on {figure.slice} {figure.value} alone: "
            f"{figure.far.x} of {figure.far.n} failures accepted."
            for figure in report.slices
            if figure.far.n and figure.far_gate.upper > limit
        )
    return tuple(claims)
