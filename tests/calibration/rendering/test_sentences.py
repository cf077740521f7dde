"""The first line, the decision, its reasons and the last line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from calibration.evidence import Comparison, Examination
from calibration.labels import Blindness
from calibration.policy import shipped_policy
from calibration.rendering.next_step import next_step
from calibration.rendering.numbers import NBSP, NNBSP
from calibration.rendering.reading import Readings
from calibration.rendering.reasons import bound_by, changed_by, reasons
from calibration.rendering.sentences import decision_sentence, headline
from tests.calibration.rendering import examples
from tests.calibration.rendering.examples import Evidence, examine


def plain(text: str) -> str:
    """The text with plain spaces."""
    return text.replace(NNBSP, " ").replace(NBSP, " ")


HEADLINES = {
    "rejected": (
        "Of 80 answers that people failed, the judge accepted 16, 20 %; up to 30 % fits this sample; "
        "your limit is 10 %."
    ),
    "admitted": (
        "Of 50 answers that people failed, the judge accepted 0, 0 %; up to 7 % fits this sample; "
        "your limit is 10 %."
    ),
    # 32 of 60 in the worst case: Wilson's upper end .654
    "open_verdicts": (
        "Of 60 answers that people failed, the judge accepted 2, 3 %, and 30 have no verdict yet; "
        "counting that against it, up to 65 % fits this sample; your limit is 10 %."
    ),
    # 4 of 100 in 20 clusters of 5 are read as 1 of about 25
    "clustered": (
        "Of 100 answers from 20 prompts that people failed, the judge accepted 4, 4 %; as answers to one "
        "prompt are alike, up to 20 % fits this sample; your limit is 10 %."
    ),
    "no_failures": (
        "People failed none of 200 answers, so nothing shows how often the judge accepts a failure; "
        "your limit is 10 %."
    ),
    "undecided": (
        "Of 80 answers that people failed, the judge accepted 16, 20 %; up to 30 % fits this sample; "
        "you named no limit."
    ),
    "full_policy": (
        "Of 120 answers that people failed, the judge accepted 2, 2 %, and 1 more that it accepted or may "
        "accept has no agreed label; counting that against it, at the level for 3 looks, up to 9 % fits "
        "this sample; your limit is 10 %."
    ),
    "constructed": (
        "Of 64 answers that the constructed labels fail, the judge accepted 1, 2 %; up to 8 % fits this "
        "sample; your limit is 10 %."
    ),
    "three_judges": (
        "Of 80 answers that people failed, three judges accepted between 1 (1 %) and 16 (20 %); your limit "
        "is 10 %: 1 admit, 1 insufficient evidence, 1 reject."
    ),
}


@pytest.mark.parametrize(("name", "words"), HEADLINES.items(), ids=HEADLINES)
def test_first_line_is_counts_in_words(name: str, words: str) -> None:
    """The first line counts failures, acceptances, what fits the sample, and the limit."""
    assert plain(headline(examples.ALL[name]())) == words


def test_several_criteria_are_named_in_the_first_line() -> None:
    """Each criterion has its own counts."""
    said = plain(headline(examples.two_criteria()))
    assert said.startswith(
        "Under states the date, of 64 answers that people failed, the judge accepted 1, 2 %;"
    )
    assert (
        "under answers the question, of 72 answers that people failed, the judge accepted 19, 26 %;" in said
    )
    assert said.endswith("your limit is 10 %: 1 admit, 1 reject.")


def test_labels_by_a_model_are_not_called_people() -> None:
    """Where a model labelled, the first line does not say that people did."""
    report = examples.rejected().report
    raters = report.raters
    assert raters is not None
    model = report.model_copy(
        update={"evidence_grade": "model", "raters": raters.model_copy(update={"sources": {"model": 200}})}
    )
    said = headline(Examination(report=model, decision=examples.rejected().decision))
    assert "people" not in said
    assert "that a model or code failed" in said


DECISIONS = {
    "rejected": "Reject judge-b.",
    "admitted": "Admit judge-a.",
    "insufficient": "Not enough evidence to admit or reject judge-c.",
    "undecided": "judge-b accepted 16 of 80 failing answers; nothing was decided.",
    "three_judges": "Admit judge-a. Reject judge-b. Collect more evidence on judge-c.",
    "two_criteria": "rule-window: admit for states the date; reject for answers the question.",
    "eleven_judges": "Admit 2 of 11 judges. Reject 7. Collect more evidence on 2.",
}


@pytest.mark.parametrize(("name", "words"), DECISIONS.items(), ids=DECISIONS)
def test_decision_is_one_plain_sentence(name: str, words: str) -> None:
    """The heading says what to do with whom, by counts where the names would not fit."""
    assert plain(decision_sentence(Readings.of(examples.ALL[name]()))) == words


def test_nobody_admitted_is_said() -> None:
    """Many judges of whom none is admitted: the heading says none, not nothing."""
    bad = tuple(
        examine(Evidence(fail=80, accepted_fail=30, accepted_good=114), judge=f"judge-{i}") for i in range(6)
    )
    said = plain(decision_sentence(Readings.of(Comparison(examinations=bad))))
    assert said == "Admit none of 6 judges. Reject 6."


def bound(name: str) -> str:
    """What bound the outcome of an example."""
    return plain(" ".join(bound_by(Readings.of(examples.ALL[name]()).all[0])))


def test_rejection_states_the_least_that_fits() -> None:
    """A rejection is carried by the lower end."""
    assert bound("rejected") == "It accepted 16/80 failing answers: at least 13 %. The limit is 10 %."


def test_admission_states_the_most_that_fits() -> None:
    """An admission is carried by the upper end, of the worst case where something is open."""
    assert bound("admitted") == "It accepted 0/50 failing answers: at most 7 %. The limit is 10 %."
    assert bound("full_policy").startswith(
        "It accepted 2/120 failing answers, 3/121 counting what is open or disputed against it: at most 9 %."
    )


def test_open_verdicts_state_both_cases() -> None:
    """Between best and worst case lies the limit: both are said."""
    assert bound("open_verdicts") == (
        "It accepted 2/60 failing answers if all that is open or disputed turns out well, 32/60 if badly: "
        "anything from 1 % to 65 % fits. The limit, 10 %, lies between."
    )


def test_clusters_state_what_reading_them_as_independent_would_do() -> None:
    """The plain interval of a clustered sample would pass by mistake, and the page says so."""
    assert "read as independent they would reach only 9.8 % and pass by mistake" in bound("clustered")


def change(name: str) -> str:
    """What would change the outcome of an example."""
    return plain(" ".join(changed_by(Readings.of(examples.ALL[name]()).all[0])))


def test_admission_names_the_failure_that_ends_it() -> None:
    """0 of 50 admits, 1 of 51 (upper end .1030) does not."""
    assert "One more accepted failure (1/51, up to 10.3 %) turns it into insufficient evidence." in change(
        "admitted"
    )


def test_rejection_names_what_the_limit_allows() -> None:
    """Of 80 failures 2 may be accepted (x = 2 needs n = 69, x = 3 needs n = 84)."""
    assert "Among 80 failing answers this limit allows at most 2 accepted." in change("rejected")


def test_insufficient_names_both_numbers_and_the_cost_of_a_look() -> None:
    """39 clean or 282 at the observed rate, at one look; and looking again is a further look."""
    said = change("insufficient")
    assert (
        "39 more failing answers if the judge rejects them all, about 282 at the rate so far (at one look)"
        in said
    )
    assert "this policy allows one" in said


FURTHER = (
    " Draw them as a fresh set of the whole size, since this policy allows one look, which is used; or "
    "declare more looks beforehand."
)
NEXT = {
    "rejected": (
        "Next: read the 16 failing answers it accepted (their ids: --explain or the HTML report), change the "
        "judge, use a fresh set."
    ),
    "admitted": "Next: before relying on it, have two blind raters label these answers (one rater labelled).",
    "insufficient": (
        "Next: collect 39 more failing answers if the judge rejects them all, about 282 at the rate so far "
        "(at one look)." + FURTHER
    ),
    # 2 accepted of 60 do not hold 10 % even if all 30 open verdicts reject; 69 would
    "open_verdicts": (
        "Next: collect 384 more failing answers, all rejected (at one look); at the rate so far none would "
        "do; also get the 30 missing verdicts: if the judge rejects them all, 9 more will do." + FURTHER
    ),
    "no_failures": "Next: collect at least 35 failing answers, all rejected (at one look)." + FURTHER,
    "undecided": (
        "Next: name the largest share of failing answers that you can bear, such as --far-limit 0.10."
    ),
    "constructed": "Next: examine your own answers: voirdire check FILE --far-limit 0.10.",
    "full_policy": "Next: before relying on it, have it signed; an unsigned outcome admits nobody.",
    "three_judges": (
        "Next: for judge-c, collect 19 more failing answers if the judge rejects them all, about 59 at "
        "the rate so far (at one look)." + FURTHER
    ),
}


@pytest.mark.parametrize(("name", "words"), NEXT.items(), ids=NEXT)
def test_last_line_says_what_to_do(name: str, words: str) -> None:
    """The last line is one thing to do or to collect."""
    assert plain(next_step(examples.ALL[name]())) == words


def next_under_acceptance(evidence: Evidence, looks_used: int = 1) -> str:
    """The next step under the acceptance policy."""
    return plain(next_step(examine(evidence, policy=shipped_policy("acceptance"), looks_used=looks_used)))


GOOD = Evidence(fail=120, good=130, accepted_good=125, raters=2, blind=Blindness.YES)


def test_each_missing_ground_has_its_own_step() -> None:
    """One rater, unknown blindness, a spent look, too few passes: each names what to collect."""
    assert "have two raters, blind to the judge" in next_under_acceptance(replace(GOOD, raters=1))
    assert "record that they were blind" in next_under_acceptance(replace(GOOD, blind=Blindness.NO))
    assert "draw a fresh set" in next_under_acceptance(GOOD, looks_used=4)
    assert next_under_acceptance(replace(GOOD, good=30, accepted_good=30)) == (
        "Next: collect 20 more good answers; the policy asks for 50."
    )


def test_looks_that_are_left_are_not_said_to_be_used() -> None:
    """The acceptance policy allows three looks: only after the third is a further one ruled out."""
    few = replace(GOOD, good=30, accepted_good=30)
    assert "fresh set" not in next_under_acceptance(few, looks_used=2)
    assert next_under_acceptance(few, looks_used=3).endswith(
        FURTHER.replace("one look, which is", "three looks, which are")
    )


def test_over_rejecting_judge_is_sent_to_its_good_answers() -> None:
    """A judge rejected for turning good answers away: those are what to read."""
    said = next_under_acceptance(
        Evidence(fail=120, good=130, accepted_good=60, raters=2, blind=Blindness.YES)
    )
    assert said == "Next: read the 70 good answers it did not accept, change the judge, use a fresh set."


def test_disputed_acceptances_are_adjudicated_first() -> None:
    """Where only unresolved references stand between the judge and the limit, they come first."""
    evidence = Evidence(fail=50, accepted_good=114, unresolved=3, accepted_unresolved=3)
    assert plain(next_step(examine(evidence))) == (
        "Next: have the 3 disputed answers that it accepted adjudicated, then examine again. "
        "Examining again is a further look, and this policy allows one: use a fresh set, or declare more "
        "looks beforehand."
    )


def test_constant_rejecter_is_told_that_it_accepts_nothing() -> None:
    """Rejecting everything passes the gate and still is not informative."""
    said = plain(next_step(examine(Evidence(fail=50, accepted_good=0))))
    assert said == "Next: use another judge: this one accepts no good answer either."


@pytest.mark.parametrize("name", examples.ALL)
def test_no_sentence_is_empty_or_unfinished(name: str) -> None:
    """Every sentence of the first screen begins with a capital or a name and ends with a full stop."""
    shown = examples.ALL[name]()
    found = reasons(Readings.of(shown))
    said = [headline(shown), next_step(shown), *found.bound, *found.change, *found.silent]
    for text in said:
        assert text.strip() == text
        assert text.endswith(".")
        assert "None" not in text
        assert "  " not in text
    assert found.bound
    assert found.change
    assert found.silent


def test_comparison_without_examination_is_refused() -> None:
    """Nothing to show is said, not drawn."""
    with pytest.raises(ValueError, match="nothing to show"):
        headline(Comparison(examinations=()))
