"""Probe guards: what a recorded probe lets a policy say, and which of several probes counts."""

from __future__ import annotations

from typing import Any

import pytest

from calibration.admission import decide
from calibration.calibrate.probed import counting
from calibration.evidence import CalibrationReport, Examination, ItemKind, ItemStatus, PolicyItem, ProbeFigure
from calibration.policy import AdmissionPolicy, Guard, far_only, parse_policy
from calibration.policy_lint import lint_policy
from calibration.rendering.items import found_text, limit_words
from calibration.rendering.next_step import next_step
from calibration.rendering.vocabulary import name_words
from calibration.report import build_report
from calibration.report.supplement import Supplement
from rubrics.errors import TableError
from tests.calibration.examples import SCOPE, make_cases

CASES = make_cases({"fail": {"reject": 80}, "pass": {"accept": 80}})


def probed(family: str = "padding", **changes: Any) -> ProbeFigure:
    """A clean probe of a hundred failures."""
    plain = {
        "family": family, "probe": "probes-1", "word": "bounded", "n": 100, "flipped": 0,
        "flipped_at_most": 0, "back": 0, "rise_lower": -0.04, "rise_upper": 0.04, "p_value": 1.0, "shared": 2,
    }  # fmt: skip
    return ProbeFigure.model_validate({**plain, **changes})


def policy(**guards: Guard) -> AdmissionPolicy:
    """far_only 10 % with probe guards."""
    return far_only(0.10).model_copy(update={"guards": {f"probe_{name}": g for name, g in guards.items()}})


def found(asked: AdmissionPolicy, *probes: ProbeFigure) -> PolicyItem:
    """The first guard's item on a judge without a fault."""
    report = build_report(CASES, scope=SCOPE, policy=asked, supplement=Supplement(probes=probes))
    return next(item for item in decide(report, asked).items if item.name.startswith("probe_"))


FIVE = Guard(upper_at_most=0.05)


@pytest.mark.parametrize(
    ("probe", "guard", "status", "word"),
    [
        (probed(), FIVE, ItemStatus.PASS, "bounded"),
        (probed(rise_upper=0.05), FIVE, ItemStatus.PASS, "bounded"),
        (probed(rise_upper=0.08, word="underpowered"), FIVE, ItemStatus.INSUFFICIENT, "underpowered"),
        # bounded by the probe's own bound and not by the policy's limit
        (probed(rise_upper=0.08), FIVE, ItemStatus.INSUFFICIENT, "underpowered"),
        # the policy's limit is wider than the bound that the probe was asked for
        (probed(rise_upper=0.08, word="underpowered"), Guard(upper_at_most=0.1), ItemStatus.PASS, "bounded"),
        (probed(word="biased", flipped=9, rise_lower=0.03), FIVE, ItemStatus.FAIL, "biased"),
        # a rise that is certain fails however small it is
        (probed(word="biased", rise_lower=0.001, rise_upper=0.02), FIVE, ItemStatus.FAIL, "biased"),
        (probed(), Guard(upper_at_most=0.05, min_n=101), ItemStatus.INSUFFICIENT, "underpowered"),
        (probed(word="biased"), Guard(upper_at_most=0.05, effect="warn"), ItemStatus.WARNING, "biased"),
        (
            probed(word="biased"),
            Guard(upper_at_most=0.05, effect="insufficient"),
            ItemStatus.INSUFFICIENT,
            "b",
        ),
        (probed("withheld"), FIVE, ItemStatus.INSUFFICIENT, "not probed"),
        (probed("withheld"), Guard(upper_at_most=0.05, effect="warn"), ItemStatus.WARNING, "not probed"),
        (probed(flipped_at_most=7), FIVE, ItemStatus.PASS, "bounded"),
    ],
)
def test_one_word_one_status(probe: ProbeFigure, guard: Guard, status: ItemStatus, word: str) -> None:
    """Biased fails, bounded under the limit passes, everything else and nothing at all is insufficient."""
    item = found(policy(padding=guard), probe)
    assert (item.status, item.kind, item.limit) == (status, ItemKind.RATE, guard.limit)
    assert item.detail.startswith(word)
    assert ("up to 7" in item.detail) == (probe.flipped_at_most == 7)


def test_levels_are_shared_among_all_that_the_policy_asks_about() -> None:
    """Probing one kind of change at a time, each at the full level, is no answer to two guards; bias is."""
    two = policy(padding=FIVE, invisible=FIVE)
    assert found(two, probed(shared=2)).status is ItemStatus.PASS
    alone = found(two, probed(shared=1))
    assert alone.status is ItemStatus.INSUFFICIENT
    assert alone.detail.startswith("probe all kinds of change in one probe of at least 100 failures")
    assert found(two, probed(shared=1, word="biased")).status is ItemStatus.FAIL


def test_a_report_without_a_probe_is_the_report_of_before() -> None:
    """Nothing probed leaves no key, so that recorded reports keep their digests; a probe is read back."""
    plain = build_report(CASES, scope=SCOPE)
    with_probe = build_report(CASES, scope=SCOPE, supplement=Supplement(probes=(probed(),)))
    assert "probes" not in plain.model_dump(mode="json")
    assert with_probe.report != plain.report
    assert CalibrationReport.model_validate(with_probe.model_dump(mode="json", by_alias=True)) == with_probe


def result(dataset: str, *effects: dict[str, Any]) -> dict[str, Any]:
    """A recorded probe of as many failures as were answered."""
    plain = {
        "family": "padding", "word": "bounded", "answered": 100, "unknown": 0, "flipped": 0,
        "flipped_at_most": 0, "flipped_back": 0,
        "rise_lower": -0.04, "rise_upper": 0.04, "p_value": 1.0,
    }  # fmt: skip
    told = [{**plain, **effect} for effect in effects]
    return {
        "dataset": dataset,
        "effects": [{"n": each.get("answered", 0) + each["unknown"], **each} for each in told],
    }


BIASED = result("biased", {"word": "biased", "rise_upper": 0.01})
CLEAN = result("clean", {})
LARGER = result("larger", {"answered": 200})


@pytest.mark.parametrize(
    ("recorded", "counts"),
    [
        ([BIASED, CLEAN], "biased"),
        ([CLEAN, BIASED], "biased"),
        ([BIASED, result("less", {"answered": 80})], "biased"),
        # along with the other kinds that a policy asks about, over fewer items or as many
        ([BIASED, result("pair", {"answered": 80}, {"family": "invisible", "answered": 80})], "biased"),
        ([BIASED, result("pair", {"rise_upper": 0.06}, {"family": "invisible"})], "biased"),
        # nor over more: whoever probes chooses the items, and an honest one more is soon found
        ([BIASED, LARGER], "biased"),
        ([LARGER, BIASED], "biased"),
        ([LARGER, BIASED, result("more", {"answered": 100_000})], "biased"),
        # items without a verdict are no evidence that it does not rise
        ([BIASED, result("silent", {"answered": 90, "unknown": 200, "rise_upper": 0.9})], "biased"),
        ([CLEAN, result("worse", {"rise_upper": 0.08})], "worse"),
        ([result("worse", {"rise_upper": 0.08}), CLEAN], "worse"),
        ([LARGER, result("pair", {}, {"family": "invisible"})], "larger"),
    ],
)  # fmt: skip
def test_which_probe_counts(recorded: list[dict[str, Any]], counts: str) -> None:
    """A rise that was found stands; else the most answered counts, of as many the worst."""
    figures = {figure.family: figure.probe for figure in counting(recorded)}
    assert figures["padding"] == counts


def test_a_probe_gone_on_with_counts_as_it_ended() -> None:
    """With its own figures, however it looked half-way."""
    stopped = result("larger", {"answered": 60, "unknown": 140, "rise_upper": 0.5, "flipped_at_most": 140})
    assert [figure.rise_upper for figure in counting([stopped, LARGER])] == [0.04]
    moved = result("larger", {"answered": 60, "word": "biased"})
    assert [figure.word for figure in counting([moved, LARGER])] == ["bounded"]


def test_a_rise_found_in_a_judge_that_asks_the_same_is_its_own() -> None:
    """It counts before the judge's own bound, with the other's name; nothing else of the other counts."""
    (moved,) = counting([LARGER], [("first", [BIASED, CLEAN])])
    assert (moved.word, moved.judge, moved.probe) == ("biased", "first", "biased")
    assert counting([], [("first", [CLEAN, LARGER])]) == ()
    (own,) = counting([BIASED], [("first", [result("wider", {"answered": 200, "word": "biased"})])])
    assert (own.probe, own.judge) == ("biased", "")
    assert "judge" not in own.model_dump(mode="json")
    assert ProbeFigure.model_validate(moved.model_dump(mode="json")) == moved
    item = found(policy(padding=FIVE), moved)
    assert item.status is ItemStatus.FAIL
    assert item.detail.endswith("found in judge first, which asks the same calls")


def test_a_result_that_read_silence_as_rejection_shows_no_bound() -> None:
    """A result recorded before answers were counted stands where it found a rise, and only there."""
    for word, counted in (("bounded", 0), ("underpowered", 0), ("biased", 1)):
        old = result("old", {"word": word})
        del old["effects"][0]["answered"]
        assert len(counting([old])) == counted


def test_a_guard_on_no_probe_is_refused_with_its_line() -> None:
    """A misspelt kind of change, another comparison, a rise that nothing could show."""
    head = "name: mine\nversion: 1\nprimary: {upper_at_most: 0.1}\nguards:\n  "
    for line, said in (
        ("probe_paddding: {upper_at_most: 0.05}", "probe_inject_FIELD"),
        ("probe_padding: {point_at_most: 0.05}", "takes upper_at_most"),
        ("probe_padding: {upper_at_most: 0.0005}", "between 0.001 and 1"),
    ):
        with pytest.raises(TableError, match=said):
            parse_policy(head + line, source="mine.yaml")
    asked = parse_policy(head + "probe_inject_policy: {upper_at_most: 0.05, min_n: 80}", source="mine.yaml")
    assert (asked.probe_guards, lint_policy(asked)) == (("inject_policy",), ())


def test_a_name_that_only_code_can_make_is_no_guard() -> None:
    """A policy that skipped its own checks is not decided on."""
    with pytest.raises(ValueError, match="is no guard"):
        found(policy(banana=FIVE))


def test_probe_guards_in_words() -> None:
    """What the guard asks, as a property of the judge."""
    assert name_words("probe_inject_policy") == "unmoved by an instruction in policy"
    assert name_words("probe_padding") == "unmoved by padding"
    assert name_words("probe_other_thing") == "unmoved by other thing"
    assert name_words("looks") == "looks at this evidence"


@pytest.mark.parametrize(
    ("probe", "said", "step"),
    [
        (probed("withheld"), "", "run `voirdire probe --family padding --family invisible` for this judge"),
        (probed(rise_upper=0.08), "accepts up to 8 points more", "probe more failing answers (--items)"),
        (
            probed(word="biased", rise_lower=0.031),
            "accepts at least 3.1 points more",
            "read the changed copies that it accepted",
        ),
    ],
    ids=["unprobed", "underpowered", "biased"],
)
def test_what_to_do_about_a_probe(probe: ProbeFigure, said: str, step: str) -> None:
    """The whole command for all kinds at once, no look for it, and the rise in points."""
    two = policy(padding=FIVE, invisible=FIVE)
    supplement = Supplement(probes=(probe, probed("invisible")))
    report = build_report(CASES, scope=SCOPE, policy=two, supplement=supplement)
    decision = decide(report, two)
    first = decision.items[1]
    assert (found_text(first, report), limit_words(first)) == (said, "rise ≤ 5 points")
    line = next_step(Examination(report=report, decision=decision))
    assert step in line
    assert "and this policy allows" not in line
