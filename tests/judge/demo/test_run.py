"""The demo's loop: what it records, what it finds, and that a second run changes nothing."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from calibration.admission import decide
from calibration.evidence import AdmissionOutcome, Case, Examination, ReportScope
from calibration.policy import shipped_policy
from calibration.report import build_report
from calibration.store.database import Store
from calibration.store.items import Scope, add_items, count_items, iter_items
from calibration.store.judges import list_judges
from calibration.store.reports import list_looks, list_reports
from calibration.store.rubrics import add_rubric
from judge.baselines import BaselineName, BaselineSpec
from judge.baselines import judge_all as baseline_all
from judge.calls import ModelClient, ModelReply, ModelRequest
from judge.cli.stores import opened_at
from judge.demo.asking import ModelStep
from judge.demo.model import no_model
from judge.demo.records import DATASET, DRAWN
from judge.demo.run import DemoResult, run_demo
from judge.demo.sample import CRITERIA, demo_items, demo_references, demo_rule
from judge.fake_model import FakeTransport, said
from judge.local_model import local_judge
from judge.rules import judge_all as rule_all
from judge.spec import ModelJudge
from rubrics.errors import AdmissionExpired, DeclarationError, JudgeNotAdmitted, RecordError
from rubrics.item import Item
from rubrics.loader import load_catalog
from rubrics.verdict import FAIL, PASS, Outcome, UnknownReason, Verdict, unknown

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LATER = START + timedelta(days=400)
NONE = no_model("no model here")
ITEMS = {item.item_id: item for item in demo_items()}


def clock(start: datetime = START) -> Callable[[], datetime]:
    """A clock that goes on by a second whenever it is read."""
    ticks = iter(range(10_000))
    return lambda: start + timedelta(seconds=next(ticks))


def run(path: Path, start: datetime = START) -> DemoResult:
    """The demo without a model in the store at the path."""
    with opened_at(path) as store:
        return run_demo(store, NONE, clock=clock(start))


@dataclass(frozen=True, slots=True)
class Twice:
    """Two runs into one store, and what the store held after each."""

    path: Path
    first: DemoResult
    second: DemoResult
    before: list[str]
    after: list[str]


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    """The demo run twice into the same folder, the second time a day later."""
    path = tmp_path_factory.mktemp("demo") / "voirdire.db"
    first = run(path)
    before = dump(path)
    second = run(path, START + timedelta(days=1))
    return Twice(path, first, second, before, dump(path))


class Cut(Exception):
    """What ends a run of the demo at its model."""


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of its own, 400 days later, whose demo was cut off before its model answered anything."""
    path = tmp_path_factory.mktemp("begun") / "voirdire.db"

    def cut(_judge: ModelJudge) -> AbstractContextManager[Oracle]:
        raise Cut

    with pytest.raises(Cut), opened_at(path) as store:
        run_demo(store, ModelStep(local_judge(), served=cut), clock=clock(LATER))
    return path


@pytest.fixture
def demo_store(twice: Twice) -> Iterator[Store]:
    """The store that the demo left."""
    with opened_at(twice.path) as store:
        yield store


def dump(path: Path) -> list[str]:
    """Every row of every table, as SQL."""
    with sqlite3.connect(path) as connection:
        return list(connection.iterdump())


def copied(source: Path, target: Path) -> Path:
    """The store once more, in a file of its own."""
    with sqlite3.connect(source) as connection, sqlite3.connect(target) as other:
        connection.backup(other)
    return target


def on(found: DemoResult, criterion: str) -> Examination:
    """The examination under a criterion."""
    (examination,) = (e for e in found.comparison.examinations if e.report.criterion == criterion)
    return examination


def drawn(twice: Twice, criterion: str) -> list[Item]:
    """The items of the criterion's set."""
    scope = Scope(set_digest=twice.first.sample.sets[criterion].digest)
    with opened_at(twice.path) as store, store.read() as session:
        return [ITEMS[member.item_id] for member in iter_items(session=session, scope=scope)]


def accepted(outcomes: dict[str, Outcome], criterion: str, reference: Verdict) -> int:
    """How many items with this reference are accepted."""
    references = demo_references(criterion)
    return sum(
        outcome.accepted for item, outcome in outcomes.items() if references[item].verdict is reference
    )


def test_a_second_run_changes_nothing(twice: Twice) -> None:
    """Not a row of the store differs, no look is new, and every digest and decision is the same."""
    assert twice.before == twice.after
    assert (twice.first.new_looks, twice.second.new_looks) == (2, 0)
    assert twice.first.comparison == twice.second.comparison
    assert twice.first.decisions == twice.second.decisions
    assert twice.first.made_at == twice.second.made_at


def test_another_folder_gives_the_same_reports(twice: Twice, begun: Path, tmp_path: Path) -> None:
    """The digests follow from the sample alone: not from the folder, the day, or having been cut off."""
    other = run(copied(begun, tmp_path / "voirdire.db"), LATER)
    assert other.new_looks == 2
    assert other.comparison == twice.first.comparison


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_set_is_drawn_for_each_criterion(twice: Twice, criterion: str) -> None:
    """So many of the 170, one output a question."""
    members = drawn(twice, criterion)
    assert len(members) == len({member.group for member in members}) == DRAWN[criterion]


def test_what_the_first_set_leaves_out_is_kept(twice: Twice, demo_store: Store) -> None:
    """150 of 170 are examined under states_terms; the other 20 are there to be graded."""
    with demo_store.read() as session:
        assert count_items(session=session, scope=Scope(dataset=DATASET)) == len(ITEMS) == 170
    members = {member.item_id for member in drawn(twice, "states_terms")}
    assert {item.item_id for item in twice.first.sample.kept} == ITEMS.keys() - members
    assert len(twice.first.sample.kept) == 20


def test_a_model_makes_at_most_300_calls() -> None:
    """It is asked in both orders on each item of the set of resolves_request."""
    assert 2 * DRAWN["resolves_request"] <= 300


def test_the_policy_is_older_than_the_frozen_set(twice: Twice) -> None:
    """So nothing is exploratory, and a decision may rest on it."""
    for criterion in CRITERIA:
        assert on(twice.first, criterion).report.exploratory is None


@pytest.mark.parametrize(("criterion", "least"), [("states_terms", 60), ("resolves_request", 40)])
def test_each_set_has_failures_to_decide_on(twice: Twice, criterion: str, least: int) -> None:
    """More than the 35 that a judge without any error needs; counted in the labels as well."""
    counted = on(twice.first, criterion).report.counts.reference_fail
    references = demo_references(criterion)
    assert counted == sum(
        references[item.item_id].verdict is Verdict.FAIL for item in drawn(twice, criterion)
    )
    assert counted >= least


def test_the_rule_judge_is_admitted_on_the_checkable_criterion(twice: Twice) -> None:
    """Its figures are those of its verdicts tried here, item by item."""
    examination = on(twice.first, "states_terms")
    by_rule = rule_all(demo_rule(), drawn(twice, "states_terms"))
    outcomes = {item: found.outcome for item, found in by_rule.items()}
    table = examination.report.table
    assert table.fail.accepted == accepted(outcomes, "states_terms", Verdict.FAIL) == 1
    assert table.passing.accepted == accepted(outcomes, "states_terms", Verdict.PASS)
    assert examination.decision is not None
    assert examination.decision.outcome is AdmissionOutcome.ADMIT
    assert examination.decision.policy == "demo@1"


@pytest.mark.parametrize("criterion", CRITERIA)
def test_baselines_stand_beside_with_their_own_figures(twice: Twice, criterion: str) -> None:
    """The figures of the fitted ones are those of the baseline run here; an examined one is not listed."""
    report = on(twice.first, criterion).report
    fitted = {figure.name: figure for figure in report.baselines if not figure.name.startswith("always")}
    expected = {"length", "word_overlap"} - {report.judge}
    assert {figure.name for figure in report.baselines} == {"always-accept", "always-reject", *expected}
    for name, figure in fitted.items():
        spec = BaselineSpec(name=BaselineName(name))
        outcomes = baseline_all(spec, drawn(twice, criterion), demo_references(criterion))
        assert figure.far.x == accepted(outcomes, criterion, Verdict.FAIL)
        passed = figure.non_acceptance_among_pass
        assert passed.n - passed.x == accepted(outcomes, criterion, Verdict.PASS)


def test_without_a_model_a_baseline_stands_in_and_is_signed_for_nothing(twice: Twice) -> None:
    """It is examined under the criterion of judgment and rejected; only the rule judge is signed."""
    examination = on(twice.first, "resolves_request")
    assert examination.report.judge == "word_overlap"
    assert examination.decision is not None
    assert examination.decision.outcome is AdmissionOutcome.REJECT
    (signed,) = twice.first.decisions
    assert (signed.scope.criterion, signed.outcome, signed.signer) == ("states_terms", "admit", "demo")
    assert twice.first.model_absent == "no model here"


def test_everything_is_stamped_constructed(twice: Twice) -> None:
    """Every report and every signed decision says so."""
    assert all(each.report.constructed for each in twice.first.comparison.examinations)
    assert all(each.content["constructed"] is True for each in twice.first.decisions)


def test_the_acceptance_policy_decides_nothing_on_it(twice: Twice) -> None:
    """Constructed evidence admits under no policy that does not allow it, however good the figures."""
    report = build_report(
        perfect("states_terms", drawn(twice, "states_terms")),
        scope=SCOPE,
        policy=shipped_policy("acceptance"),
        constructed=True,
    )
    decision = decide(report, shipped_policy("acceptance"))
    assert decision.outcome is AdmissionOutcome.INSUFFICIENT
    assert "constructed_evidence" in {i.name for i in decision.items if i.status == "insufficient"}


SCOPE = ReportScope(judge="perfect", criterion="any")


def perfect(criterion: str, items: list[Item]) -> list[Case]:
    """The cases of a judge that says what the reference says, and abstains where it is unresolved."""
    said = {
        Verdict.PASS: PASS,
        Verdict.FAIL: FAIL,
        Verdict.UNKNOWN: unknown(UnknownReason.ABSTAINED, "cannot_tell"),
    }
    references = demo_references(criterion)
    return [
        Case(i.item_id, i.group, references[i.item_id], said[references[i.item_id].verdict]) for i in items
    ]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_demo_policy_admits_a_perfect_judge(twice: Twice, criterion: str) -> None:
    """On the set that is drawn and on the whole sample; with every verdict turned round it rejects."""
    policy = shipped_policy("demo")
    for items in (drawn(twice, criterion), list(ITEMS.values())):
        cases = perfect(criterion, items)
        report = build_report(cases, scope=SCOPE, policy=policy, constructed=True)
        assert decide(report, policy).outcome is AdmissionOutcome.ADMIT
        turned = [replace(c, outcome=FAIL if c.outcome is PASS else PASS) for c in cases]
        report = build_report(turned, scope=SCOPE, policy=policy, constructed=True)
        assert decide(report, policy).outcome is AdmissionOutcome.REJECT


def test_the_admitted_judge_grades_and_nobody_else_does(twice: Twice) -> None:
    """20 new answers are graded under states_terms; resolves_request is refused for want of a decision."""
    allowed, refused = twice.first.gradings
    assert (allowed.criterion, len(allowed.grades), allowed.refused) == ("states_terms", 20, None)
    by_hand = rule_all(demo_rule(), twice.first.sample.kept)
    for grade in allowed.grades:
        (criterion,) = grade.criteria
        assert criterion.outcome == by_hand[grade.item_id].outcome
        assert criterion.decision == twice.first.decisions[0].hash
    assert (refused.criterion, refused.grades) == ("resolves_request", ())
    assert isinstance(refused.refused, JudgeNotAdmitted)
    assert refused.refused.missing


class Oracle:
    """A model that is served nowhere: it picks the option of the reference, or always the first letter."""

    api_base, parallel = "http://127.0.0.1:9/v1", 4

    def __init__(self, *, knows: bool) -> None:
        self.calls = 0
        self._knows = knows
        self._references = demo_references("resolves_request")

    def client(self, *, rng: Random) -> ModelClient:
        """A client that answers at once."""
        return FakeTransport(self._answer)

    def _answer(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        text = "\n".join(message.content for message in request.messages)
        letter = self._letter(text) if self._knows else "A"
        return said(json.dumps({"verdict": letter}))

    def _letter(self, text: str) -> str:
        (item,) = (item for item in ITEMS.values() if item.input in text and str(item.output) in text)
        verdict = self._references[item.item_id].verdict.value
        word = "cannot_tell" if verdict == "unknown" else verdict
        (found,) = re.findall(rf'^- "([A-C])": {word}: ', text, re.MULTILINE)
        return str(found)


def with_model(path: Path, oracle: Oracle) -> DemoResult:
    """The demo with this model, where the store says that it was cut off."""
    step = ModelStep(local_judge(), served=lambda _judge: nullcontext(oracle))
    with opened_at(path) as store:
        return run_demo(store, step, clock=clock(LATER))


def test_a_model_that_is_always_right_is_admitted_on_the_judgment(begun: Path, tmp_path: Path) -> None:
    """It is asked in both orders once, examined, signed, and never asked again."""
    oracle = Oracle(knows=True)
    path = copied(begun, tmp_path / "voirdire.db")
    found = with_model(path, oracle)
    examination = on(found, "resolves_request")
    assert oracle.calls == 2 * DRAWN["resolves_request"]
    assert examination.report.judge == "smollm2-135m"
    assert examination.report.table.fail.accepted == 0
    assert examination.report.position is not None
    assert [each.outcome for each in found.decisions] == ["admit", "admit"]
    again = with_model(path, oracle)
    assert oracle.calls == 2 * DRAWN["resolves_request"]
    assert (again.new_looks, again.comparison, again.decisions) == (0, found.comparison, found.decisions)


def test_a_model_that_leans_to_a_place_is_not_admitted(begun: Path, tmp_path: Path) -> None:
    """Always the first letter: the orders contradict each other and nothing is accepted."""
    found = with_model(copied(begun, tmp_path / "voirdire.db"), Oracle(knows=False))
    report = on(found, "resolves_request").report
    assert report.table.all.inconsistent == DRAWN["resolves_request"]
    assert [each.outcome for each in found.decisions] == ["admit", "insufficient_evidence"]
    refused = found.gradings[1].refused
    assert isinstance(refused, JudgeNotAdmitted)
    assert any("informative" in line for line in refused.missing)
    assert any("no better than a baseline" in warning for warning in report.warnings)


def test_a_model_that_cannot_be_served_leaves_the_rest(begun: Path, tmp_path: Path) -> None:
    """What is missing is said, and a baseline stands in."""

    def fails(_judge: ModelJudge) -> AbstractContextManager[Oracle]:
        raise DeclarationError("the embedded model has no runtime here; run: pip install it")

    with opened_at(copied(begun, tmp_path / "voirdire.db")) as store:
        found = run_demo(store, ModelStep(local_judge(), served=fails), clock=clock(LATER))
    assert "pip install it" in found.model_absent
    assert on(found, "resolves_request").report.judge == "word_overlap"


def test_a_lapsed_admission_is_not_renewed_by_running_again(twice: Twice, tmp_path: Path) -> None:
    """After its thirty days grading is refused, and no further decision is signed on the old evidence."""
    later = run(copied(twice.path, tmp_path / "voirdire.db"), START + timedelta(days=31))
    assert later.decisions == twice.first.decisions
    assert isinstance(later.gradings[0].refused, AdmissionExpired)
    assert later.gradings[0].grades == ()


def test_every_baseline_and_the_rule_judge_are_recorded(demo_store: Store) -> None:
    """The constant ones too, though every report has them anyway."""
    with demo_store.read() as session:
        judges = {judge.name: judge.kind for judge in list_judges(session=session)}
        assert len(list_reports(session=session)) == len(list_looks(session=session)) == 2
    assert judges == {
        "refund-terms-by-rule": "rule",
        **dict.fromkeys(map(str, BaselineName), "baseline"),
    }


def test_a_store_with_other_evidence_is_refused(sqlite_store: Store) -> None:
    """The demo would mix its sample into it; nothing is written."""
    with sqlite_store.write() as session:
        item = Item(item_id="a", input="q", output="o")
        add_items(session=session, dataset="support", items=[item], at=START)
    with pytest.raises(RecordError, match=r"holds the dataset 'support'.*--out"):
        run_demo(sqlite_store, NONE, clock=clock())
    with sqlite_store.read() as session:
        assert list_judges(session=session) == []


def test_the_demo_of_another_version_is_refused(sqlite_store: Store) -> None:
    """A store whose rubric has the same name and other content belongs to another version's demo."""
    other = load_catalog("refund-policy").model_copy(update={"title": "Another title"})
    with sqlite_store.write() as session:
        add_rubric(session=session, rubric=other, actor="test", at=START)
    with pytest.raises(RecordError, match="the demo of another version"):
        run_demo(sqlite_store, NONE, clock=clock())
