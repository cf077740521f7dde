"""Data quality: what the evidence must be before a number on it may decide; never a reason to reject."""

from __future__ import annotations

from collections.abc import Iterator

from calibration.evidence import CalibrationReport, EvidenceGrade, ItemKind, ItemStatus, PolicyItem
from calibration.labels import Blindness, LabelSource
from calibration.policy import AdmissionPolicy
from calibration.statistics.planning import min_failures_clean

_GRADES = tuple(EvidenceGrade)


def quality_items(
    report: CalibrationReport, policy: AdmissionPolicy, looks_used: int, looks_before: int = 0
) -> list[PolicyItem]:
    """Every data-quality item that the policy asks for, and those that hold for every policy."""
    return [
        *_exploratory(report),
        *_minimum_counts(report, policy),
        *_reference_quality(report, policy),
        *([_looks(policy, looks_used, looks_before)] if policy.gate else []),
    ]


def _quality(
    name: str,
    holds: bool,
    value: float | int | str | None,
    limit: float | int | str | None,
    comparison: str,
    detail: str = "",
) -> PolicyItem:
    return PolicyItem(
        name=name,
        kind=ItemKind.DATA_QUALITY,
        status=ItemStatus.PASS if holds else ItemStatus.INSUFFICIENT,
        value=value,
        limit=limit,
        comparison=comparison,
        detail=detail,
    )


def _exploratory(report: CalibrationReport) -> Iterator[PolicyItem]:
    """Evidence seen before the policy was fixed, or that shaped the judge, decides nothing."""
    if report.exploratory is not None:
        yield _quality("exploratory", False, "exploratory", "fixed beforehand", "only", report.exploratory)


def _minimum_counts(report: CalibrationReport, policy: AdmissionPolicy) -> Iterator[PolicyItem]:
    minimum, counts = policy.minimum, report.counts
    found = {
        "minimum_fail": (counts.reference_fail, minimum.fail),
        "minimum_pass": (counts.reference_pass, minimum.passing),
        "minimum_cases": (report.table.all.total, minimum.cases),
    }
    for name, (value, limit) in found.items():
        if limit:
            yield _quality(name, value >= limit, value, limit, "count_at_least")
    clusters, gate = policy.primary.cluster.min_clusters, report.far_gate
    if clusters and gate.cases_per_cluster_max > 1:
        detail = "failures share clusters"
        yield _quality(
            "min_clusters", gate.clusters >= clusters, gate.clusters, clusters, "count_at_least", detail
        )


def _reference_quality(report: CalibrationReport, policy: AdmissionPolicy) -> Iterator[PolicyItem]:
    minimum, raters, total = policy.minimum, report.raters, report.table.all.total
    if minimum.raters_per_case:
        value = raters.raters_per_case_min if raters else 0
        yield _quality(
            "raters_per_case",
            value >= minimum.raters_per_case,
            value,
            minimum.raters_per_case,
            "count_at_least",
            "the item with fewest raters",
        )
    if minimum.unresolved_reference_at_most is not None:
        share = report.counts.reference_unresolved / total if total else 1.0
        yield _quality(
            "unresolved_reference",
            share <= minimum.unresolved_reference_at_most,
            share,
            minimum.unresolved_reference_at_most,
            "point_at_most",
        )
    if policy.reference.blind:
        yield _blind(report)
    yield from _grade(report, policy)


def _blind(report: CalibrationReport) -> PolicyItem:
    words = report.raters.blind if report.raters else {}
    seeing = {word: n for word, n in words.items() if not Blindness(word).satisfies_blind}
    detail = ", ".join(f"{n} {word}" for word, n in words.items()) or "no rater is recorded"
    return _quality("blind", bool(words) and not seeing, sum(seeing.values()), 0, "count_at_most", detail)


def _grade(report: CalibrationReport, policy: AdmissionPolicy) -> Iterator[PolicyItem]:
    """Constructed and non-human evidence decide under no policy that does not allow them."""
    grade, wanted = report.evidence_grade, policy.minimum.evidence_grade
    sources = report.raters.sources if report.raters else {}
    people = LabelSource.HUMAN.value
    if set(sources) - {people}:
        others = ", ".join(f"{n} {word}" for word, n in sources.items() if word != people)
        yield _quality("reference_source", False, others, people, "only", "labels not made by people")
    if report.constructed and not policy.reference.allow_constructed:
        yield _quality(
            "constructed_evidence", False, grade.value, "real", "only", "written for demonstration"
        )
    if wanted is not None:
        holds = _GRADES.index(grade) >= _GRADES.index(wanted)
        yield _quality("evidence_grade", holds, grade.value, wanted.value, "grade_at_least")


def _looks(policy: AdmissionPolicy, used: int, before: int) -> PolicyItem:
    allowed = policy.looks.max
    said = [f"{before} looks before a second signer opened this count"] if before else []
    if used > allowed:
        clean = min_failures_clean(policy.primary.upper_at_most, z=policy.z)
        needed = max(policy.minimum.fail, clean)
        said.append(
            f"looks exhausted: draw a fresh set with {needed} reference failures, and have a second person "
            "open a new count"
        )
    return _quality("looks", used <= allowed, used, allowed, "count_at_most", "; ".join(said))
