"""The admission card: one page for print, what a signed decision allows, on what ground and how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from calibration.evidence import AdmissionDecision, Examination
from calibration.rendering import background, tables
from calibration.rendering.numbers import whole
from calibration.rendering.page import Fact
from calibration.rendering.reading import Reading, Readings
from calibration.rendering.sentences import headline
from calibration.rendering.shell import moment_words, render_page
from calibration.rendering.strip import judge_strip, scale_for
from calibration.rendering.text import capital, counted, named, visible
from calibration.rendering.vocabulary import BLIND_WORDS, GRADE_WORDS
from rubrics.digest import short

_MARKS = {"admit": "admit", "reject": "reject", "insufficient_evidence": "insufficient"}
_WHAT = {
    "acceptance": "accept answers on its own",
    "review_trigger": "decide which answers a person looks at",
    "diagnostic": "be read beside the answers; it decides nothing",
}
SUSPENDED, LAPSED = "suspended", "lapsed"


@dataclass(frozen=True, slots=True)
class SignedRecord:
    """A decision as it stands in the register."""

    number: int
    """Its place in the register, 1 the first."""
    digest: str
    previous: str
    """Digest of the record before it."""
    outcome: str
    """admit, reject, insufficient_evidence or suspended."""
    judge_kind: str
    judge_digest: str
    rubric: str
    """name@version."""
    rubric_digest: str
    population: str
    role: str
    signer: str
    established: str
    """How the signer was established: local and unverified, or by an issuer."""
    reason: str
    signed_at: datetime
    valid_until: datetime | None = None
    """The first moment at which it no longer holds; None where it does not lapse by time."""
    uses: int | None = None
    """Gradings after which it lapses; None where it does not lapse by use."""
    against_policy: bool = False
    """Admitted although the policy says otherwise, by two signers."""
    further: tuple[str, ...] = ()
    """A second signature, what was carried over: a sentence each."""
    lapses_when: tuple[str, ...] = field(default=())
    """What ends it at once, a clause each."""


def render_card(shown: Examination, record: SignedRecord, *, at: datetime, made_at: datetime | None) -> str:
    """The card as one HTML page.

    Args:
        shown: the report that was signed for, with what the policy made of it.
        record: the signed decision.
        at: the time for which the card says whether the decision still holds.
        made_at: when the card was made; None prints no time.

    Raises:
        ValueError: the report was not decided by a policy.
    """
    readings = Readings.of(shown)
    reading = readings.all[0]
    if reading.decision is None:
        raise ValueError("a card needs a decision: this report was measured without a limit or policy")
    standing = _standing(record, at)
    return render_page(
        "card.html",
        styles=("report.css", "card.css"),
        record=record,
        standing=standing.replace("_", " "),
        mark=_MARKS.get(standing, "none"),
        heading=_heading(reading, record, standing),
        headline=headline(shown),
        facts=tuple(_facts(reading, reading.decision, record)),
        rate_title=readings.rate_title,
        far=reading.gated,
        worst=_worst(reading),
        scale=scale_for([reading]),
        strip=judge_strip(reading, scale_for([reading])),
        items=tables.policy_tables(readings)[0].lines,
        not_assessed=background.claims(readings, "not_assessed"),
        not_established=background.claims(readings, "not_established"),
        signature=_signature(record),
        validity=_validity(record),
        digests=tuple(_digests(reading, reading.decision, record)),
        constructed=reading.report.constructed,
        made=moment_words(made_at),
    )


def _standing(record: SignedRecord, at: datetime) -> str:
    """The outcome, or that an admission has lapsed."""
    if record.outcome == "admit" and record.valid_until is not None and at >= record.valid_until:
        return LAPSED
    return record.outcome


def _heading(reading: Reading, record: SignedRecord, standing: str) -> str:
    """What the judge may do, in one sentence."""
    what, judge = _WHAT[record.role], reading.judge
    if standing == "admit":
        until = f" until {record.valid_until:%Y-%m-%d}" if record.valid_until else ""
        if record.uses is not None:
            uses = f"for {counted(record.uses, 'grading')}"
            until = f"{until}, or {uses}, whichever is first" if until else f" {uses}"
        return f"{judge} may {what}{until}."
    if standing == LAPSED:
        return f"{judge} may no longer {what}: its admission lapsed on {record.valid_until:%Y-%m-%d}."
    if standing == SUSPENDED:
        return f"{judge} may not {what}: its admission was suspended on {record.signed_at:%Y-%m-%d}."
    why = "it breaks the policy" if standing == "reject" else "the evidence does not decide"
    return f"{judge} may not {what}: {why}."


def _facts(reading: Reading, decision: AdmissionDecision, record: SignedRecord) -> Iterator[Fact]:
    report, counts = reading.report, reading.report.counts
    yield Fact("Judge", f"{reading.judge}, {visible(record.judge_kind)}")
    yield Fact("Rubric and criterion", f"{visible(record.rubric)}, {reading.criterion}")
    yield Fact("Role", visible(record.role).replace("_", " "))
    yield Fact("Population", visible(record.population))
    labels = (
        f"{whole(report.table.all.total)} answers: {whole(counts.reference_pass)} pass, "
        f"{whole(counts.reference_fail)} fail, {whole(counts.reference_unresolved)} unresolved"
    )
    yield Fact("Reference set", f"{labels}; {_ground(reading)}")
    looks = f"looks used {decision.looks.used}/{decision.looks.allowed}"
    yield Fact("Policy and looks", f"{visible(decision.policy)}; {looks}")


def _ground(reading: Reading) -> str:
    """How the labels came to be, and whether the raters were blind."""
    report = reading.report
    words = [GRADE_WORDS[report.evidence_grade]]
    if report.raters is not None:
        words += [BLIND_WORDS.get(word) or visible(word) for word in report.raters.blind]
    return "; ".join(words)


def _worst(reading: Reading) -> str:
    gate = reading.report.far_gate
    if gate.x == gate.x_best:
        return ""
    return f"worst case {whole(gate.x)}/{whole(gate.n)}, up to {reading.gate_upper}"


def _signature(record: SignedRecord) -> tuple[str, ...]:
    """Reasons and further signatures, a sentence each."""
    against = "Against the policy result." if record.against_policy else ""
    return tuple(visible(text) for text in (f"Reason: “{record.reason}”", *record.further, against) if text)


def _validity(record: SignedRecord) -> tuple[str, ...]:
    if record.outcome != "admit":
        return ("Nothing is allowed by it, so nothing lapses.",)
    lines = [f"from {record.signed_at:%Y-%m-%d}"]
    if record.valid_until is not None:
        days = (record.valid_until - record.signed_at).days
        lines[0] += f" to {record.valid_until:%Y-%m-%d} ({counted(days, 'day')})"
    if record.uses is not None:
        lines.append(f"or {counted(record.uses, 'grading')}")
    return tuple(lines)


def _digests(
    reading: Reading, decision: AdmissionDecision, record: SignedRecord
) -> Iterator[tuple[str, str, str]]:
    """(what, the first 12 hex digits, all of them) of everything that the record binds."""
    report = reading.report
    bound = (
        (f"record {record.number}", record.digest),
        ("record before it", record.previous),
        ("report", report.report),
        ("inputs", report.inputs),
        (f"policy {visible(decision.policy)}", decision.policy_digest),
        (f"judge {named(report.judge)}", record.judge_digest),
        (f"rubric {visible(record.rubric)}", record.rubric_digest),
    )
    for what, full in bound:
        yield capital(what), short(full), full
