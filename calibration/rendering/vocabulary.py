"""The words in which outcomes, policy items and figures are shown; one place for terminal, page and app."""

from __future__ import annotations

from dataclasses import dataclass

from calibration.evidence import AdmissionOutcome, EvidenceGrade, ItemStatus
from calibration.rendering.text import visible

OUTCOME_WORDS = {
    AdmissionOutcome.ADMIT: "admit",
    AdmissionOutcome.INSUFFICIENT: "insufficient evidence",
    AdmissionOutcome.REJECT: "reject",
}
"""In the order in which judges are listed."""

STATUS_WORDS = {
    ItemStatus.PASS: "holds",
    ItemStatus.INSUFFICIENT: "insufficient",
    ItemStatus.FAIL: "broken",
    ItemStatus.WARNING: "warning",
}

UNASKED = "not decided"
"""Where no limit and no policy was named."""

NAMES = {
    "far": "false acceptance",
    "informative": "telling good from bad",
    "non_acceptance_among_pass": "good answers not accepted",
    "frr": "good answers rejected",
    "failure_among_accepted": "failures among accepted",
    "abstention": "abstained",
    "invalid": "invalid replies",
    "coverage": "coverage (accepts or rejects)",
    "open": "open verdicts",
    "disagreement": "disagreement with people",
    "position": "order of presentation",
    "position_consistency": "same verdict in both orders",
    "position_effect_abs": "effect of the order",
    "repeats": "repeated runs",
    "repeat_pairwise": "repeated runs agree, pairs",
    "verbosity": "length of the answer",
    "self_preference": "answers of its own model family",
    "slices": "slices",
    "slice_far": "no slice wholly over the limit",
    "kappa": "kappa with people",
    "kappa_decided": "kappa (decided answers only)",
    "kappa_vs_reference": "kappa with people",
    "rater_kappa": "agreement between raters (kappa, alpha)",
    "far_high_bound": "false acceptance if every open answer counts against it",
    "far_decided": "false acceptance (decided only)",
    "wrong_side": "wrong side of a pair",
    "raters": "reliability of the raters",
    "raters_per_case": "raters per answer",
    "blind": "blind raters",
    "blindness": "blind raters",
    "evidence_grade": "ground of the labels",
    "unresolved_reference": "answers without an agreed label",
    "reference_source": "labels made by people",
    "constructed_evidence": "real evidence, not constructed",
    "looks": "looks at this evidence",
    "min_clusters": "prompts with a failing answer",
    "minimum_fail": "failing answers",
    "minimum_pass": "good answers",
    "minimum_cases": "answers in all",
    "decision": "decision",
    "exploratory": "policy and set fixed beforehand",
}


PROBE = "probe_"
"""How the policy item of a probe begins; the kind of change follows."""


def name_words(name: str) -> str:
    """The words for a policy item or figure; its own name with spaces where none are kept here."""
    family = visible(name.removeprefix(PROBE))
    if family.startswith("inject_"):
        return f"unmoved by an instruction in {family.removeprefix('inject_')}"
    if family != visible(name):
        return f"unmoved by {_PROBED.get(family, family.replace('_', ' '))}"
    return NAMES.get(name) or visible(name).replace("_", " ")


_PROBED = {
    "padding": "padding",
    "markdown_added": "added Markdown",
    "markdown_stripped": "stripped Markdown",
    "authority": "a claim of authority",
    "verdict_echo": "a verdict in the output",
    "master_key": "':' in place of the output",
    "thought_opener": "an opener in place of the output",
    "language_switch": "another language",
    "invisible": "invisible characters",
    "withheld": "an output withheld",
}
"""What a probe changes, after "unmoved by"."""


GRADE_WORDS = {
    EvidenceGrade.UNKNOWN: "who labelled is not recorded",
    EvidenceGrade.CONSTRUCTED: "labels constructed for demonstration",
    EvidenceGrade.MODEL: "labels made by a model or code, not by people",
    EvidenceGrade.ONE_RATER: "one rater for some or all answers",
    EvidenceGrade.SEVERAL: "at least two raters for every answer",
    EvidenceGrade.ADJUDICATED: "at least two raters for every answer, disputes adjudicated",
    EvidenceGrade.PRODUCTION_OUTCOME: "outcomes seen in production",
}

BLIND_WORDS = {
    "yes": "blind, enforced by the rating app",
    "sheet": "blind, on a session sheet",
    "declared": "blind, as the imported file says",
    "no": "not blind",
    "unknown": "not recorded whether blind",
}

SOURCE_WORDS = {"human": "by people", "model": "by a model", "code": "by code"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the verdict table."""

    field: str
    words: str
    group: str
    """decided, final or open."""


COLUMNS = (
    Column("accepted", "Accepts", "decided"),
    Column("rejected", "Rejects", "decided"),
    Column("abstained", "Abstained", "final"),
    Column("invalid", "Invalid", "final"),
    Column("inconsistent", "Inconsistent", "final"),
    Column("pending", "Pending", "open"),
    Column("missing", "Missing", "open"),
    Column("error", "Error", "open"),
)
