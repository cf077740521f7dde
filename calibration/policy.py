"""Admission policies: thresholds fixed before the evidence is seen; a policy's identity is its digest."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from calibration.evidence import EvidenceGrade, Frozen, ItemKind
from calibration.labels import ReferenceRule
from calibration.statistics.normal import look_adjusted_confidence, z_value
from rubrics.digest import digest
from rubrics.errors import DeclarationError
from rubrics.loader import parse_declaration, read_declaration
from rubrics.record import Misfit

COMPARISONS = ("upper_at_most", "lower_at_least", "lower_not_above", "point_at_most", "point_at_least")

GUARDS: dict[str, tuple[ItemKind, frozenset[str]]] = {
    "non_acceptance_among_pass": (ItemKind.RATE, frozenset({"upper_at_most", "point_at_most"})),
    "frr": (ItemKind.RATE, frozenset({"upper_at_most", "point_at_most"})),
    "abstention": (ItemKind.RATE, frozenset({"upper_at_most", "point_at_most"})),
    "invalid": (ItemKind.RATE, frozenset({"upper_at_most", "point_at_most"})),
    "coverage": (ItemKind.RATE, frozenset({"point_at_least"})),
    "position_consistency": (ItemKind.RATE, frozenset({"point_at_least"})),
    "position_effect_abs": (ItemKind.RATE, frozenset({"point_at_most"})),
    "repeat_pairwise": (ItemKind.RATE, frozenset({"point_at_least"})),
    "slice_far": (ItemKind.RATE, frozenset({"lower_not_above"})),
    "kappa_vs_reference": (ItemKind.AGREEMENT, frozenset({"lower_at_least"})),
    "rater_kappa": (ItemKind.DATA_QUALITY, frozenset({"point_at_least"})),
    "far_high_bound": (ItemKind.DATA_QUALITY, frozenset({"point_at_most"})),
}
"""What each guard may do and which comparisons it knows (STATISTICS §0.4, §10)."""

PROBE = "probe_"
"""How the guard on a probe begins; the kind of change follows: probe_inject_output."""
PROBES = (
    *("padding", "markdown_added", "markdown_stripped", "authority", "verdict_echo", "inject_output"),
    *("master_key", "thought_opener", "language_switch", "invisible", "withheld"),
)
"""The changes that `voirdire probe` makes, besides inject_FIELD for each other field that is shown."""
_INJECTED = re.compile(r"inject_[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PROBE_RULE = (ItemKind.RATE, frozenset({"upper_at_most"}))
LEAST_RISE = 0.001
"""Least rise in acceptance that a probe guard may ask for: a clean probe of 3,838 failures shows it."""


def guard_rule(name: str) -> tuple[ItemKind, frozenset[str]] | None:
    """What the guard of this name may do and which comparisons it knows; None where there is none."""
    if name.startswith(PROBE):
        family = name.removeprefix(PROBE)
        return _PROBE_RULE if family in PROBES or _INJECTED.fullmatch(family) else None
    return GUARDS.get(name)


LEAST_LIMIT = 0.0001
"""Least FAR limit that is examined: even a perfect judge would need 38,411 failures."""

MOST_EVIDENCE, MOST_RATERS = 100_000, 10
"""Most items and raters that a policy may ask for: what lint can play through before any evidence."""


class ClusterRule(Frozen):
    """How items that share a cluster are allowed for."""

    planning_icc: float = Field(default=0.3, ge=0, le=1)
    """Least intracluster correlation assumed; with no accepted failure nothing else protects."""
    min_clusters: int = Field(default=0, ge=0)
    """Clusters of failures wanted where a cluster holds more than one."""


class FarGate(Frozen):
    """The gate: the interval's upper end on FAR at or under the limit, open verdicts in the worst case."""

    metric: Literal["far"] = "far"
    interval: Literal["wilson"] = "wilson"
    confidence: float = Field(default=0.95, gt=0, le=0.999_999)
    sided: Literal[1, 2] = 2
    upper_at_most: float = Field(ge=LEAST_LIMIT, lt=1)
    open_verdicts: Literal["worst_case_to_pass_best_case_to_fail"] = "worst_case_to_pass_best_case_to_fail"
    cluster: ClusterRule = ClusterRule()


class Minimum(Frozen):
    """Least evidence; falling short is insufficient, never a rejection. 0 or null asks for nothing."""

    fail: int = Field(default=0, ge=0, le=MOST_EVIDENCE)
    passing: int = Field(default=0, ge=0, le=MOST_EVIDENCE, alias="pass")
    cases: int = Field(default=0, ge=0, le=MOST_EVIDENCE)
    raters_per_case: int = Field(default=0, ge=0, le=MOST_RATERS)
    unresolved_reference_at_most: float | None = Field(default=None, ge=0, le=1)
    evidence_grade: EvidenceGrade | None = None


class Guard(Frozen):
    """One limit beside the gate; exactly one comparison is given."""

    upper_at_most: float | None = None
    lower_at_least: float | None = None
    lower_not_above: float | None = None
    point_at_most: float | None = None
    point_at_least: float | None = None
    effect: Literal["fail", "insufficient", "warn"] | None = None
    """What breaking it does; by default what its kind does at most."""
    min_n: int = Field(default=0, ge=0)
    """Denominator below which it is insufficient (for slices: not assessed)."""

    @model_validator(mode="after")
    def _one_comparison(self) -> Self:
        given = [name for name in COMPARISONS if getattr(self, name) is not None]
        if len(given) != 1:
            allowed = ", ".join(COMPARISONS)
            raise ValueError(f"a guard has exactly one of {allowed}; this one has {given or 'none'}")
        return self

    @property
    def comparison(self) -> str:
        """The name of the one comparison."""
        return next(name for name in COMPARISONS if getattr(self, name) is not None)

    @property
    def limit(self) -> float:
        """The number compared with."""
        return float(getattr(self, self.comparison))


class ReferenceRequirement(Frozen):
    """What the reference labels must be."""

    blind: bool = False
    """Every rater was blind: enforced by the app, by a session sheet, or declared by the imported file."""
    label_rule: ReferenceRule = ReferenceRule.MAJORITY
    allow_constructed: bool = False
    """A demonstration policy may decide on constructed evidence; every line is stamped."""


class LookRule(Frozen):
    """How often the gate may be evaluated and how its error is divided among the looks."""

    max: int = Field(default=1, ge=1, le=1_000)
    rule: Literal["bonferroni"] = "bonferroni"


class Expiry(Frozen):
    """How long a decision holds."""

    days: int = Field(default=90, ge=1)
    deployments: int | None = Field(default=None, ge=1)


class SeverityLimit(Frozen):
    """The limit on FAR among the failures of one severity level; a severe failure may cost more."""

    upper_at_most: float = Field(ge=LEAST_LIMIT, lt=1)
    min_n: int = Field(default=0, ge=0, le=MOST_EVIDENCE)
    """Failures of the level below which it is insufficient."""


class RequiredEvidence(Frozen):
    """Failures that must be among the evidence, by failure mode and by slice (an adversarial slice)."""

    failure_modes: dict[str, int] = Field(default_factory=dict)
    """Least reference failures of each named mode."""
    slices: dict[str, int] = Field(default_factory=dict)
    """Least reference failures of each slice, written `name=value`."""

    @model_validator(mode="after")
    def _readable(self) -> Self:
        for part, needed in (("failure_modes", self.failure_modes), ("slices", self.slices)):
            for key, number in needed.items():
                if not 1 <= number <= MOST_EVIDENCE:
                    raise Misfit(f"{number!r} is not between 1 and {MOST_EVIDENCE:,}", part, key)
                if part == "slices" and not all(key.partition("=")[::2]):
                    raise Misfit("a slice is written name=value", part, key)
        return self


class OperationLimits(Frozen):
    """What a verdict may cost and how long it may take; null asks for nothing."""

    cost_per_item_micros: int | None = Field(default=None, ge=0)
    """Mean cost of judging an item, in millionths of a US dollar."""
    latency_p95_ms: int | None = Field(default=None, ge=1)
    """95th percentile of the time that a verdict takes, in milliseconds."""


TRIGGERS = (
    *("rubric", "judge", "prompt", "evidence_interface", "sampling", "population", "period"),
    *("anchor_change", "cusum", "audit_e_value"),
)
"""What calls for recalibration (STATISTICS §8, §10); `judge` covers the model that a provider reports."""
_LATER = ("gate", "severities", "required", "operation", "warn_on", "most_attempts")
"""Fields that older policies do not have: left at their default they do not enter the digest."""


class AdmissionPolicy(Frozen):
    """Everything that decides an admission, fixed beforehand."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    version: int = Field(ge=1)
    description: str = ""
    role: Literal["acceptance", "review_trigger", "diagnostic"] = "acceptance"
    primary: FarGate
    informative: bool = False
    """Insufficient unless the judge accepts reference passes more often than reference failures."""
    minimum: Minimum = Minimum()
    guards: dict[str, Guard] = Field(default_factory=dict)
    reference: ReferenceRequirement = ReferenceRequirement()
    looks: LookRule = LookRule()
    judges_compared: Literal["none", "holm"] = "none"
    expiry: Expiry = Expiry()
    recalibrate_on: tuple[str, ...] = ()
    """Triggers that suspend an admission until the judge is calibrated anew."""
    warn_on: tuple[str, ...] = ()
    """Triggers of `recalibrate_on` that only warn; so does one that stands in neither."""
    gate: bool = True
    """False for a policy of figures: FAR is shown with its interval, and nothing rests on it."""
    severities: dict[str, SeverityLimit] = Field(default_factory=dict)
    """A limit for each severity level that has its own."""
    required: RequiredEvidence = RequiredEvidence()
    operation: OperationLimits = OperationLimits()
    most_attempts: int | None = Field(default=None, ge=1)
    """How often an item may be graded on one decision; further attempts go to people. None for no maximum."""

    @model_validator(mode="after")
    def _known_guards(self) -> Self:
        for name, guard in self.guards.items():
            rule = guard_rule(name)
            if rule is None:
                known = ", ".join(
                    [*sorted(GUARDS), *(PROBE + each for each in PROBES), PROBE + "inject_FIELD"]
                )
                raise Misfit(f"no such guard is known; known guards: {known}", "guards", name)
            if guard.comparison not in rule[1]:
                takes = " or ".join(sorted(rule[1]))
                raise Misfit(f"takes {takes}, not {guard.comparison}", "guards", name)
            if name.startswith(PROBE) and not LEAST_RISE <= guard.limit < 1:
                raise Misfit(f"the rise {guard.limit!r} is not between {LEAST_RISE} and 1", "guards", name)
        if not self.gate and self.role != "diagnostic":
            raise Misfit(
                f"a policy of role {self.role!r} decides, so it has a gate; leave `gate` out, "
                "or take the role diagnostic",
                "gate",
            )
        if not self.gate and not self.minimum.cases:
            raise Misfit("a policy without a gate needs some evidence; give minimum.cases", "minimum")
        return self

    @property
    def label(self) -> str:
        """The name@version that people read."""
        return f"{self.name}@{self.version}"

    @property
    def digest(self) -> str:
        """Identity: SHA-256 of the whole content."""
        content = self.model_dump(mode="json", by_alias=True)
        for name in _LATER:
            if getattr(self, name) == AdmissionPolicy.model_fields[name].get_default(
                call_default_factory=True
            ):
                del content[name]
        return digest(content)

    @property
    def probe_guards(self) -> tuple[str, ...]:
        """The kinds of change that the policy has a guard on."""
        return tuple(name.removeprefix(PROBE) for name in self.guards if name.startswith(PROBE))

    def suspends(self, trigger: str) -> bool:
        """True where the trigger ends an admission until recalibration; False where it only warns."""
        return trigger in self.recalibrate_on and trigger not in self.warn_on

    @property
    def confidence(self) -> float:
        """Level of every gate interval: the error is divided among the looks."""
        return look_adjusted_confidence(1 - self.primary.confidence, self.looks.max)

    @property
    def z(self) -> float:
        """Normal quantile of the gate at its look level."""
        return z_value(self.confidence, sided=self.primary.sided)


def parse_policy(text: str, *, source: str) -> AdmissionPolicy:
    """The policy that a YAML text declares; `source` is what messages call the text.

    Raises:
        TableError: the text is no YAML mapping, or a field is unknown or out of range; names the line.
    """
    return parse_declaration(text, AdmissionPolicy, source=source)


SHIPPED = ("acceptance", "demo", "diagnostic", "far_only", "review_trigger")


@cache
def shipped_policy(name: str) -> AdmissionPolicy:
    """A policy that ships, by name.

    Raises:
        DeclarationError: no policy of this name ships.
    """
    if name not in SHIPPED:
        raise DeclarationError(
            f"no policy {name!r} ships with voirdire; there are {', '.join(SHIPPED)}; or give a YAML file"
        )
    text = resources.files("calibration").joinpath("policies", f"{name}.yaml").read_text("utf-8")
    return parse_policy(text, source=f"{name}.yaml")


def load_policy(name_or_path: str) -> AdmissionPolicy:
    """A shipped policy by name, or the policy in a YAML file.

    Raises:
        DeclarationError: neither a shipped name nor a readable file.
        TableError: the content is wrong; names the file and the line.
    """
    if name_or_path in SHIPPED:
        return shipped_policy(name_or_path)
    path = Path(name_or_path)
    if not path.exists():
        shipped = ", ".join(SHIPPED)
        raise DeclarationError(
            f"policy {name_or_path!r} is neither a shipped policy ({shipped}) nor a file that exists"
        )
    return parse_policy(read_declaration(path), source=name_or_path)


def far_only(limit: float) -> AdmissionPolicy:
    """The shipped far_only policy with another limit on FAR.

    Raises:
        DeclarationError: the limit is not between 0.0001 and 1.
    """
    if not LEAST_LIMIT <= limit < 1:
        raise DeclarationError(
            f"FAR limit {limit!r} is not a rate between {LEAST_LIMIT} and 1; 0.10 means 10 %"
        )
    base = shipped_policy("far_only")
    return base.model_copy(update={"primary": base.primary.model_copy(update={"upper_at_most": limit})})
