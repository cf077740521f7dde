"""Length and own family in a report: planted leanings are found, and what is not assessable says so."""

from __future__ import annotations

import numpy as np
import pytest

from calibration.evidence import CalibrationReport, Case, Examination
from calibration.labels import ReferenceLabel
from calibration.rendering.background import measure_tables
from calibration.rendering.reading import Readings
from calibration.report import build_report
from calibration.report.supplement import Supplement, Written
from calibration.statistics.bias import LengthRow, self_preference, verbosity_effect
from calibration.values import Estimate, Interval
from rubrics.verdict import FAIL, PASS, Verdict
from tests.calibration.examples import SCOPE

N = 240


def planted(*, length: float = 0.0, family: float = 0.0) -> tuple[list[Case], Written]:
    """Half failures, half passes; acceptance rises with log2 length and for the judge's own family."""
    rng = np.random.default_rng(3)
    cases, lengths, own = [], {}, {}
    for n in range(N):
        fails, item = n % 2 == 0, f"i{n:03d}"
        lengths[item], own[item] = float(rng.normal(9, 1.5)), bool(n % 4 < 2)
        score = (-1.5 if fails else 1.5) + length * (lengths[item] - 9) + family * own[item]
        accepted = rng.random() < 1 / (1 + np.exp(-score))
        label = ReferenceLabel(Verdict.FAIL if fails else Verdict.PASS, 1)
        cases.append(Case(item, item, label, PASS if accepted else FAIL))
    return cases, Written(lengths, "characters", own)


def report_of(cases: list[Case], written: Written | None) -> CalibrationReport:
    """The report with what is known of the texts."""
    return build_report(cases, scope=SCOPE, supplement=Supplement(written=written))


def gaps(report: CalibrationReport) -> dict[str, str]:
    """What is not assessed, by name."""
    return {gap.name: gap.reason for gap in report.not_assessed}


def test_a_judge_that_leans_to_length_shows_it() -> None:
    """The planted odds of e^0.8 a doubling lie in the interval, which excludes 1; no lean includes it."""
    leaning = report_of(*planted(length=0.8)).verbosity
    assert leaning is not None
    odds = leaning.odds_per_doubling
    assert odds.lower is not None
    assert odds.upper is not None
    assert 1 < odds.lower < np.exp(0.8) < odds.upper
    assert [round(each.far.estimate or 0, 1) for each in leaning.thirds] == sorted(
        round(each.far.estimate or 0, 1) for each in leaning.thirds
    )
    assert sum(each.far.n + each.non_acceptance_among_pass.n for each in leaning.thirds) == leaning.items == N
    straight = report_of(*planted()).verbosity
    assert straight is not None
    assert (straight.odds_per_doubling.lower or 9) < 1 < (straight.odds_per_doubling.upper or 0)


def test_a_judge_that_prefers_its_own_family_shows_it() -> None:
    """FAR on its own and on the others by count, with an interval of the difference above 0."""
    cases, written = planted(family=2.0)
    found = report_of(cases, written).self_preference
    assert found is not None
    assert found.own_family is not None
    assert found.others is not None
    assert found.undefined is None
    own = [c for c in cases if written.own_family[c.item_id] and c.reference.verdict is Verdict.FAIL]
    assert (found.own_family.x, found.own_family.n) == (sum(c.outcome.accepted for c in own), len(own))
    assert (found.lower or 0) > 0
    assert (found.odds.lower or 0) > 1


def test_the_figures_are_those_of_the_statistics() -> None:
    """The same numbers by way of the rows themselves."""
    cases, written = planted(length=0.4, family=1.0)
    rows = [
        LengthRow(
            c.reference.verdict is Verdict.PASS, written.log2_length[c.item_id], int(c.outcome.accepted),
            int(not c.outcome.accepted), c.cluster, written.own_family[c.item_id],
        )
        for c in cases
    ]  # fmt: skip
    report, odds, own = report_of(cases, written), verbosity_effect(rows), self_preference(rows)
    assert report.verbosity is not None
    assert report.self_preference is not None
    assert isinstance(own.difference, Estimate)
    assert isinstance(own.difference.interval, Interval)
    assert report.verbosity.odds_per_doubling.estimate == pytest.approx(odds.odds_ratio.value)  # type: ignore[union-attr]
    assert report.self_preference.difference == own.difference.value
    assert report.self_preference.upper == own.difference.interval.upper


def test_what_is_not_assessable_says_why() -> None:
    """No texts, no family, one family only, too few failures, no variation: each its own words."""
    cases, written = planted()
    assert "not assessable" in gaps(report_of(cases, None))["self_preference"]
    assert "texts of the outputs are not here" in gaps(report_of(cases, None))["verbosity"]
    nobody = Written(written.log2_length, "characters", {}, "no output names the family")
    assert gaps(report_of(cases, nobody))["self_preference"] == "not assessable: no output names the family"
    alone = Written(written.log2_length, "characters", dict.fromkeys(written.own_family, True))
    assert "all are of its own family" in gaps(report_of(cases, alone))["self_preference"]
    others = Written(written.log2_length, "characters", dict.fromkeys(written.own_family, False))
    assert "none is of its own family" in gaps(report_of(cases, others))["self_preference"]
    few = report_of(cases[:40], written)
    assert "each family needs 30" in gaps(few)["self_preference"]
    assert few.self_preference is not None
    assert few.self_preference.own_family is not None
    same = Written(dict.fromkeys(written.log2_length, 8.0), "characters", written.own_family)
    assert gaps(report_of(cases, same))["verbosity"].startswith("not estimable")
    nothing = Written({}, "characters", {}, "no candidate is declared")
    assert gaps(report_of(cases, nothing))["verbosity"] == "not assessable: no candidate is declared"
    erased = Written({}, "characters", {})
    assert "known text" in gaps(report_of(cases, erased))["verbosity"]


def test_a_report_without_texts_keeps_its_digest_and_one_with_is_read_back() -> None:
    """Keys that are not there are not written."""
    cases, written = planted()
    plain, full = report_of(cases, None), report_of(cases, written)
    assert not {"verbosity", "self_preference"} & set(plain.model_dump(mode="json"))
    assert CalibrationReport.model_validate(full.model_dump(mode="json", by_alias=True)) == full


def test_leanings_in_words() -> None:
    """A table for each, with the ratio and its interval; small samples say what is missing."""
    cases, written = planted(length=0.8)
    said = {}
    for name, report in {"full": report_of(cases, written), "few": report_of(cases[:12], written)}.items():
        tables = measure_tables(Readings.of(Examination(report=report, decision=None)))
        said[name] = {t.heading.partition(":")[0]: {f.term: f.value for f in t.facts} for t in tables}
    long = said["full"]["Long and short answers"]
    assert long["Odds of acceptance at double length"].endswith("1 is no lean")
    assert sum("characters" in key for key in long) == 3
    own = said["full"]["Answers of its own model family"]
    assert own["Own family less others"].count("points") == 1
    assert "insufficient" in said["few"]["Answers of its own model family"]["Own family less others"]
