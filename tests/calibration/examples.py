"""Small sets of cases for tests, written as counts by reference and outcome."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from calibration.evidence import CalibrationReport, Case, ReportScope
from calibration.labels import ReferenceLabel, UnresolvedReason
from calibration.policy import AdmissionPolicy
from calibration.report import build_report
from rubrics.verdict import FAIL, PASS, Outcome, Verdict, unknown

SCOPE = ReportScope(judge="judge-a", criterion="supported")
REFERENCES = {
    "fail": ReferenceLabel(Verdict.FAIL, 1),
    "pass": ReferenceLabel(Verdict.PASS, 1),
    "unresolved": ReferenceLabel(Verdict.UNKNOWN, 1, unresolved=UnresolvedReason.DISAGREEMENT),
}


def outcome(word: str) -> Outcome:
    """The outcome that a count's key names: accept, reject, or the reason of an unknown."""
    return {"accept": PASS, "reject": FAIL}.get(word) or unknown(word)


def make_cases(
    counts: Mapping[str, Mapping[str, int]],
    *,
    per_cluster: int = 1,
    slices: tuple[tuple[str, str], ...] = (),
    start: int = 0,
) -> list[Case]:
    """Cases in the given numbers, by reference and outcome; failures may share clusters.

    Args:
        counts: reference -> outcome -> number, such as {"fail": {"accept": 16, "reject": 64}}.
        per_cluster: cases of one reference that share a cluster, in order.
        slices: of every case.
        start: first number of the item ids.
    """
    numbers = count(start)
    cases = []
    for reference, outcomes in counts.items():
        words = [word for word, n in outcomes.items() for _ in range(n)]
        for place, word in enumerate(words):
            number = next(numbers)
            cluster = f"{start}-{reference}-{place // per_cluster}"
            cases.append(Case(f"i{number:05d}", cluster, REFERENCES[reference], outcome(word), slices))
    return cases


def make_report(
    counts: Mapping[str, Mapping[str, int]], policy: AdmissionPolicy | None = None, *, per_cluster: int = 1
) -> CalibrationReport:
    """The report of such cases under a policy's gate settings."""
    return build_report(make_cases(counts, per_cluster=per_cluster), scope=SCOPE, policy=policy)
