"""Grading by an admitted panel or cascade: its members are asked, its rule decides, nothing is half done."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from calibration.registry.bundle import open_bundle
from calibration.store.database import Store
from calibration.store.decisions import iter_decisions
from calibration.store.judges import RunOrigin, add_run, list_runs
from calibration.store.operation import member_models, reported_models
from calibration.store.schema import open_store
from judge import grade_command
from judge.appointing import GradeRequest, appoint, appoint_bundled
from judge.calls import Cost, CostSource, Fault, ModelCallError, ModelReply, ModelRequest
from judge.fake_model import FakeTransport, failed, said
from judge.panel import CascadeJudge, Escalates, Member, PanelJudge, VoteRule
from judge.service import Grade, grade_items
from judge.spec import JudgeSpec
from rubrics.errors import JudgeNotAdmitted
from rubrics.item import Item
from rubrics.order import OrderPolicy
from tests.judge.cli.grading import answers
from tests.judge.cli.records import address, on, told
from tests.judge.grading_world import (
    DATASET,
    GOOD,
    NOW,
    RUBRIC,
    WATCHFUL,
    Handler,
    admitted,
    item,
    judged,
    lay_down,
    model,
    reaching,
    rule,
)

RULE = rule("kind", "rude")
ONE = model("one", order=OrderPolicy.AS_DECLARED)
TWO = model("two", order=OrderPolicy.AS_DECLARED, model="openai/gpt-y")
FREE_TEXT = "A rude word."


def panel(
    *members: JudgeSpec, votes: int = 1, how: VoteRule = VoteRule.UNANIMOUS, name: str = "both"
) -> PanelJudge:
    """A panel of the judges."""
    voting = tuple(Member(judge=each.digest, votes=votes) for each in members)
    return PanelJudge(kind="panel", name=name, members=voting, rule=how)


def cascade(first: JudgeSpec, then: JudgeSpec, name: str) -> CascadeJudge:
    """What the first accepts goes to the second."""
    return CascadeJudge(
        kind="cascade", name=name, first=first.digest, then=then.digest, escalate=(Escalates.PASS,)
    )


def verdict(word: str, *, micros: int | None = 100, name: str = "gpt-x-2026") -> ModelReply:
    """A reply at a price."""
    cost = Cost(None, CostSource.UNKNOWN) if micros is None else Cost(micros, CostSource.DECLARED)
    return said(json.dumps({"reason": f"says {word}", "verdict": word}), model=name, cost=cost)


OTHER = rule("kind", "free", name="other")
STRICT = panel(RULE, ONE)
MOST = panel(RULE, ONE, how=VoteRule.MAJORITY, name="most")
THRICE = panel(ONE, votes=3, how=VoteRule.MAJORITY, name="thrice")
MODELS = panel(ONE, TWO, name="models")
RULES = panel(RULE, OTHER, name="rules")
WATCHED = panel(RULE, ONE, name="watched")
STEPS = cascade(RULE, ONE, name="steps")
OUTER = cascade(RULE, MODELS, name="outer")
TOLD = model("told", order=OrderPolicy.AS_DECLARED)
NESTED = cascade(OTHER, RULES, name="nested")


@pytest.fixture(scope="module")
def laid(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with every panel and cascade admitted for `kind`; their members are admitted for nothing."""
    path = tmp_path_factory.mktemp("votes") / "votes.db"
    store = open_store(shutil.copy(migrated_sqlite, path))
    with store.write() as session:
        lay_down(session)
        for member in (RULE, ONE, TWO, OTHER):
            judged(session, member, "kind", reported="gpt-x-2026" if member is ONE else None)
        for spec in (STRICT, MOST, THRICE, MODELS, RULES, STEPS, OUTER, NESTED):
            admitted(session, spec, "kind")
        admitted(session, WATCHED, "kind", reported="gpt-x-2026")
    store.close()
    return path


@pytest.fixture
def world(laid: Path, tmp_path: Path) -> Iterator[Store]:
    """A copy of that file, opened."""
    store = open_store(shutil.copy(laid, tmp_path / "votes.db"))
    yield store
    store.close()


def graded(
    store: Store, spec: JudgeSpec, items: Sequence[Item], handler: Handler
) -> tuple[list[Grade], FakeTransport]:
    """The grades by the judge, and the model that its members share."""
    connect, transport = reaching(handler)
    request = GradeRequest(RUBRIC, ("kind",), judge=str(spec.name))
    with store.read() as session:
        graders = appoint(session=session, request=request, at=NOW)
    return list(grade_items(request, graders, items, connect=connect)), transport


@pytest.mark.parametrize(
    ("model_says", "spec", "expected"),
    [
        ("pass", STRICT, ("pass", None, "pass")),
        ("fail", STRICT, ("unknown", "inconsistent", "unknown")),
        ("fail", MOST, ("unknown", "inconsistent", "unknown")),
        ("cannot_tell", STRICT, ("unknown", "abstained", "unknown")),
    ],
)
def test_a_panel_is_asked_by_its_members(
    world: Store, model_says: str, spec: PanelJudge, expected: tuple[str, str | None, str]
) -> None:
    """The rule passes; with the model's vote the panel's rule decides; the cost is that of all calls."""
    (grade,), transport = graded(world, spec, [item("x1", GOOD)], lambda _: verdict(model_says))
    (kind,) = grade.criteria
    assert (kind.outcome.verdict.value, kind.outcome.reason, grade.overall) == expected
    assert (kind.judge, kind.cost_micros, len(transport.requests)) == (spec.name, 100, 1)
    assert kind.rationale.startswith("votes: pass; ")
    assert transport.closed


def test_votes_of_one_judge_are_calls_of_their_own(world: Store) -> None:
    """Three votes, two of which pass: the majority, at three prices."""
    words = iter(["pass", "fail", "pass"])
    (grade,), transport = graded(world, THRICE, [item("x1", GOOD)], lambda _: verdict(next(words)))
    assert (grade.overall, grade.criteria[0].cost_micros, len(transport.requests)) == ("pass", 300, 3)
    assert len({request.messages[-1].content for request in transport.requests}) == 3  # marks of their own


@pytest.mark.parametrize(
    ("output", "calls", "overall", "cost"),
    [(GOOD, 1, "pass", 100), (FREE_TEXT, 0, "fail", 0)],
    ids=["sent on", "settled"],
)
def test_a_cascade_asks_its_second_judge_for_what_the_first_sends_on(
    world: Store, output: str, calls: int, overall: str, cost: int
) -> None:
    """Passes go to the model, a fail of the rule is final and costs nothing."""
    (grade,), transport = graded(world, STEPS, [item("x1", output)], lambda _: verdict("pass"))
    assert (grade.overall, grade.criteria[0].cost_micros, len(transport.requests)) == (overall, cost, calls)


def test_what_a_panel_s_calls_cost_is_not_known_where_one_is_not(world: Store) -> None:
    """A call without a price: null, never the sum of the rest."""
    (grade,), _ = graded(
        world, MODELS, [item("x1", GOOD)], lambda r: verdict("pass", micros=None if "gpt-y" in r.model else 5)
    )
    assert grade.criteria[0].cost_micros is None


def test_a_vote_that_could_not_be_cast_leaves_the_item_open(world: Store) -> None:
    """A member's failed call is an error of the panel's verdict, no fail and no abstention."""

    def second_fails(request: ModelRequest) -> ModelReply | ModelCallError:
        return failed(Fault.TIMEOUT) if "gpt-y" in request.model else verdict("pass")

    (grade,), _ = graded(world, MODELS, [item("x1", GOOD)], second_fails)
    assert (grade.criteria[0].outcome.reason, grade.overall) == ("error", "unknown")


def test_a_member_that_answers_as_another_model_stops_the_panel(world: Store) -> None:
    """What was calibrated is what its members were then."""
    with pytest.raises(JudgeNotAdmitted, match="reports model 'gpt-x-2027'"):
        graded(world, WATCHED, [item("x1", GOOD)], lambda _: verdict("pass", name="gpt-x-2027"))


@pytest.mark.parametrize("swapped", [False, True])
def test_each_member_answers_by_its_own_model(world: Store, swapped: bool) -> None:
    """That another member was calibrated with the model that answers now is no excuse."""
    request = GradeRequest(RUBRIC, ("kind",), judge="models")
    with world.read() as session:
        (grader,) = appoint(session=session, request=request, at=NOW)
    assert grader.decision is not None
    calibrated = {ONE.digest: ["gpt-x-1"], TWO.digest: ["gpt-y-1"]}
    content = {
        **grader.decision.content,
        "reported_models": ["gpt-x-1", "gpt-y-1"],
        "member_models": calibrated,
    }
    grader = replace(grader, decision=replace(grader.decision, content=content))

    def answers_as(asked: ModelRequest) -> ModelReply:
        return verdict("pass", name="gpt-y-1" if "gpt-y" in asked.model and not swapped else "gpt-x-1")

    connect, _ = reaching(answers_as)
    grading = grade_items(request, [grader], [item("x1", GOOD)], connect=connect)
    if swapped:
        with pytest.raises(JudgeNotAdmitted, match="reports model 'gpt-x-1'; calibrated: gpt-y-1"):
            list(grading)
    else:
        assert [each.overall for each in grading] == ["pass"]


def test_a_model_that_moved_is_told_where_the_policy_lets_grading_go_on(
    world: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without the database: in the lines and in the JSON of the very call that met it."""
    mild = WATCHFUL.model_copy(update={"recalibrate_on": ()})
    with world.write() as session:
        decision = admitted(session, TOLD, "kind", policy=mild, reported="gpt-x-2026")
    db, nowhere = on(address(world)), on(str(tmp_path / "no" / "such.db"))
    bundle = str(tmp_path / "told.bundle")
    assert db("decisions", "export", decision.hash[:12], "--bundle", bundle).exit_code == 0
    connect, _ = reaching(lambda _: verdict("pass", name="gpt-x-2027"))
    monkeypatch.setattr(grade_command, "_reach", connect)
    file = answers(tmp_path, [item("x1", GOOD)])
    named = ("--rubric", RUBRIC.ref, "--criterion", "kind", "--judge", "told")
    for run, how in ((db, named), (nowhere, ("--decision", bundle))):
        shown = run("grade", file, *how)
        assert shown.exit_code == 0, shown.stderr
        assert "warning: told: the provider reports model 'gpt-x-2027'" in " ".join(shown.stdout.split())
        (notice,) = told(run("grade", file, *how, "--json"))["notices"]
        assert (notice["trigger"], "gpt-x-2027" in notice["sentence"]) == ("judge", True)


def test_an_inner_panel_votes_as_one_judge(world: Store) -> None:
    """A cascade whose second judge is a panel."""
    (grade,), transport = graded(world, OUTER, [item("x1", GOOD)], lambda _: verdict("pass"))
    assert (grade.overall, grade.criteria[0].cost_micros, len(transport.requests)) == ("pass", 200, 2)


def test_a_kill_between_two_votes_leaves_no_half_verdict(
    world: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second item's second vote never comes: the first item's grade stands, nothing of the second."""
    asked: list[str] = []
    broken = True

    def dies(request: ModelRequest) -> ModelReply:
        asked.append(request.model)
        if broken and len(asked) == 4:
            raise KeyboardInterrupt
        return verdict("pass")

    connect, _ = reaching(dies)
    monkeypatch.setattr(grade_command, "_reach", connect)
    db, out = on(address(world)), tmp_path / "out.jsonl"
    file = answers(tmp_path, [item("x1", GOOD), item("x2", GOOD)])
    args = (
        "grade",
        file,
        "--rubric",
        RUBRIC.ref,
        "--criterion",
        "kind",
        "--judge",
        "models",
        "--out",
        str(out),
    )
    assert db(*args).exit_code == 130
    assert [g["item_id"] for g in told(db("grades", "list", "--json"))["grades"]] == ["x1"]
    broken = False
    assert db(*args).exit_code == 0
    assert sorted(g["item_id"] for g in told(db("grades", "list", "--json"))["grades"]) == ["x1", "x2"]
    assert asked == ["openai/gpt-x", "openai/gpt-y"] * 3
    shown = [json.loads(line) for line in out.read_text("utf-8").splitlines()[1:]]
    assert [[c["cost_micros"] for c in each["criteria"]] for each in shown] == [[200], [200]]
    dry = told(db(*args[:-2], "--dry-run", "--json"))
    assert dry["graders"][0]["cost_micros"] is None  # its calibration was imported: no cost is known


@pytest.mark.parametrize("spec", [RULES, NESTED], ids=["panel", "cascade over a panel"])
def test_a_decision_file_holds_the_members(world: Store, tmp_path: Path, spec: JudgeSpec) -> None:
    """Without the database the same members vote; where one is not in the file, nobody does."""
    db, nowhere = on(address(world)), on(str(tmp_path / "no" / "such.db"))
    with world.read() as session:
        decision = next(d for d in iter_decisions(session=session) if d.scope.judge_digest == spec.digest)
    path = tmp_path / "decision.json"
    assert db("decisions", "export", decision.hash[:12], "--bundle", str(path)).exit_code == 0
    file = answers(tmp_path, [item("x1", GOOD), item("x2", "no")])
    asked = ("--rubric", RUBRIC.ref, "--criterion", "kind", "--judge", str(spec.name))
    by_store = told(db("grade", file, *asked, "--json"))
    by_file = told(nowhere("grade", file, "--decision", str(path), "--json"))
    votes = [[each["criteria"][0]["rationale"] for each in found["grades"]] for found in (by_store, by_file)]
    assert votes[0] == votes[1]
    assert votes[0][0].startswith("votes: ")
    bundle = open_bundle(path.read_bytes(), source="it")
    request = GradeRequest(RUBRIC, ("kind",))
    (grader,) = appoint_bundled(bundles=[replace(bundle, members={})], request=request, at=NOW)
    with pytest.raises(JudgeNotAdmitted, match=f"those who vote in '{spec.name}' are not here"):
        list(grade_items(request, [grader], [item("x1", GOOD)]))


def test_a_panel_s_reported_models_are_its_members(world: Store) -> None:
    """What providers said in the runs that voted, by way of the plan of the panel's own run."""
    with world.write() as session:
        newest = {run.judge_digest: run.key for run in list_runs(session=session)}
        key = add_run(
            session=session, judge_digest=STRICT.digest, rubric_digest=RUBRIC.digest, dataset=DATASET,
            origin=RunOrigin.RUN, units=0, at=NOW,
            plan={"criteria": ["kind"], "members": {m: newest[m] for m in (RULE.digest, ONE.digest)}},
        )  # fmt: skip
        assert reported_models(session=session, run_key=key) == ("gpt-x-2026",)
        assert member_models(session=session, run_key=key) == {RULE.digest: (), ONE.digest: ("gpt-x-2026",)}
