"""Votes as one judge: every vote counts, open ones are waited for, and a panel has verdicts of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.store.database import Store
from calibration.store.items import Scope
from calibration.store.operation import operation_of
from judge.calls import Fault, ModelReply, ModelRequest
from judge.fake_model import failed
from judge.panel import CascadeJudge, Escalates, Member, PanelJudge, VoteRule, panel_words, vote
from judge.runs.plan import plan_run
from judge.spec import ModelJudge, parse_judge
from judge.spec_lint import risks, risks_with
from rubrics.answer import Answer, answered, no_answer
from rubrics.errors import RecordError, TableError
from rubrics.order import OrderPolicy
from tests.judge.cases import POINTWISE, judge
from tests.judge.cli.records import address, on
from tests.judge.run_world import (
    DATASET,
    KEY,
    adds_up,
    answer,
    carried_out,
    even_passes,
    lay_down,
    number_in,
    numbered,
    planned,
    rows,
)

P, F = answered("pass"), answered("fail")
ABSTAINED, INVALID = no_answer("abstained", "cannot_tell"), no_answer("invalid", "unparsed")
MISSING, ERROR = no_answer("missing"), no_answer("error", "timeout")
SPLIT = no_answer("inconsistent", "votes")


@pytest.mark.parametrize(
    ("votes", "majority", "unanimous"),
    [
        ([P, P, P], P, P),
        ([P, P, F], P, SPLIT),
        ([P, F], SPLIT, SPLIT),
        ([P, P, ABSTAINED], P, ABSTAINED),
        ([P, ABSTAINED, ABSTAINED], SPLIT, ABSTAINED),
        ([P, F, ABSTAINED], SPLIT, SPLIT),
        ([ABSTAINED, INVALID, ABSTAINED], INVALID, INVALID),
        ([P, P, MISSING], P, MISSING),
        ([P, MISSING, MISSING], MISSING, MISSING),
        ([P, F, ERROR], ERROR, SPLIT),
        ([P, ABSTAINED, ERROR], ERROR, ABSTAINED),
        ([F], F, F),
    ],
)
def test_every_vote_counts(votes: list[Answer], majority: Answer, unanimous: Answer) -> None:
    """Votes without an answer stay in the denominator; an open one is waited for where it can decide."""
    assert vote(votes, VoteRule.MAJORITY) == majority
    assert vote(votes, VoteRule.UNANIMOUS) == unanimous


ANY = st.sampled_from([P, F, ABSTAINED, INVALID, MISSING, ERROR])


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.lists(ANY, min_size=1, max_size=7), st.sampled_from(VoteRule))
def test_votes_have_no_order_and_a_settled_verdict_holds(votes: list[Answer], rule: VoteRule) -> None:
    """Any order of votes gives the same; and whatever open votes become, a value that stands stands."""
    found = vote(votes, rule)
    assert vote(votes[::-1], rule).value == found.value
    if found.value is not None:
        for later in (P, F, ABSTAINED):
            settled = [later if each in (MISSING, ERROR) else each for each in votes]
            assert vote(settled, rule) == found
    with pytest.raises(ValueError, match="no vote"):
        vote([], rule)


DIGESTS = ("a" * 64, "b" * 64)


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [(P, F, F), (F, P, F), (ABSTAINED, P, P), (INVALID, F, F), (ERROR, P, ERROR), (P, MISSING, MISSING)],
)
def test_a_cascade_asks_the_second_for_what_it_escalates(
    first: Answer, then: Answer, expected: Answer
) -> None:
    """Passes and unknowns go on, fails are final, an open first answer is waited for."""
    cascade = CascadeJudge(
        kind="cascade",
        name="two",
        first=DIGESTS[0],
        then=DIGESTS[1],
        escalate=(Escalates.UNKNOWN, Escalates.PASS),
    )
    assert cascade.decide([(first,), (then,)]) == expected


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("kind: panel\nname: p\nmembers: [{judge: $1}]\n", "members"),
        ("kind: panel\nname: p\nmembers: [{judge: gpt}, {judge: $1}]\n", "members"),
        ("kind: panel\nname: p\nmembers: [{judge: $1}, {judge: $1}]\n", "members"),
        ("kind: cascade\nname: c\nfirst: $1\nthen: $1\n", "then"),
        ("kind: cascade\nname: c\nfirst: $1\nthen: $2\nescalate: [unknown, pass, fail]\n", "escalate"),
    ],
)
def test_what_is_no_panel_is_refused_with_its_field(text: str, field: str) -> None:
    """One vote, a name for a digest, a judge twice, a cascade to itself or of everything."""
    with pytest.raises(TableError) as caught:
        parse_judge(text.replace("$1", DIGESTS[0]).replace("$2", DIGESTS[1]))
    assert field in str(caught.value.field)


def test_every_field_is_part_of_the_identity() -> None:
    """Votes, rule, members and what is escalated make another judge."""
    base = PanelJudge(kind="panel", name="p", members=(Member(judge=DIGESTS[0], votes=3),))
    others = [
        base.model_copy(update={"rule": VoteRule.UNANIMOUS}),
        base.model_copy(update={"members": (Member(judge=DIGESTS[0], votes=5),)}),
        base.model_copy(update={"members": (Member(judge=DIGESTS[1], votes=3),)}),
        base.model_copy(update={"name": "q"}),
    ]
    assert len({base.digest, *(each.digest for each in others)}) == 5


# -- panels as runs

CHEAP = judge(name="cheap", order=OrderPolicy.AS_DECLARED)
STRONG = judge(name="strong", order=OrderPolicy.AS_DECLARED, model="openai/strong-1")


def all_pass(_: ModelRequest) -> ModelReply:
    """A judge that accepts everything."""
    return answer("pass")


def test_a_panel_votes_with_what_its_members_said(store: Store) -> None:
    """Both members asked in runs of their own; the panel makes no call and has one verdict an item."""
    panel = PanelJudge(
        kind="panel",
        name="both",
        members=(Member(judge=CHEAP.digest), Member(judge=STRONG.digest)),
        rule=VoteRule.UNANIMOUS,
    )
    lay_down(store, numbered(6), CHEAP, STRONG, panel)
    carried_out(store, planned(store, CHEAP), all_pass)
    with pytest.raises(RecordError, match="'strong' was not asked about these items"):
        planned(store, panel)
    carried_out(store, planned(store, STRONG), even_passes)
    summary = carried_out(store, planned(store, panel), failed_model)
    assert (summary.complete, summary.verdicts) == (True, {"pass": 3})
    assert summary.unknown == {"inconsistent (votes)": 3}
    assert (summary.calls.made, adds_up(summary)) == (0, True)


def failed_model(_: ModelRequest) -> ModelReply:
    """A model that must not be asked."""
    raise AssertionError("a panel makes no call")


def test_repeats_of_one_judge_vote(sqlite_store: Store) -> None:
    """Three repeats, two of which say pass: the majority; fewer repeats than votes are not enough."""
    panel = PanelJudge(kind="panel", name="thrice", members=(Member(judge=CHEAP.digest, votes=3),))
    lay_down(sqlite_store, numbered(4), CHEAP, panel)
    carried_out(sqlite_store, planned(sqlite_store, CHEAP), lambda _: answer("pass", micros=7))
    with pytest.raises(RecordError, match="--repeats 3"):
        planned(sqlite_store, panel)
    said: dict[int, int] = {}

    def wavers(request: ModelRequest) -> ModelReply:
        number = number_in(request)
        said[number] = said.get(number, 0) + 1
        return answer("fail" if said[number] == 2 else "pass", micros=5)

    carried_out(sqlite_store, planned(sqlite_store, CHEAP, repeats=3), wavers)
    summary = carried_out(sqlite_store, planned(sqlite_store, panel), failed_model)
    assert summary.verdicts == {"pass": 4}
    with sqlite_store.read() as session:
        scope = Scope(dataset=DATASET)
        found = operation_of(session=session, scope=scope, run_key=summary.run, criterion=KEY)
    assert found is not None
    assert (found.verdicts, found.costed, found.cost_micros) == (4, 4, 4 * (7 + 5 + 5))  # the reused vote too
    assert (found.timed, found.latency_p95_ms) == (0, None)  # a vote is no call of the panel's run


def test_an_open_vote_leaves_the_item_open_until_it_is_cast(store: Store) -> None:
    """A member's failed call: the panel's unit stays open, says what to go on with, and is filled."""
    cascade = CascadeJudge(
        kind="cascade", name="two", first=CHEAP.digest, then=STRONG.digest, escalate=(Escalates.PASS,)
    )
    lay_down(store, numbered(4), CHEAP, STRONG, cascade)
    carried_out(store, planned(store, CHEAP), even_passes)
    carried_out(
        store,
        planned(store, STRONG),
        lambda request: failed(Fault.TIMEOUT) if number_in(request) == 2 else answer("fail"),
    )
    plan = planned(store, cascade)
    waiting = carried_out(store, plan, failed_model)
    assert (waiting.complete, waiting.verdicts, waiting.pending) == (False, {"fail": 3}, 1)
    assert waiting.stopped is not None
    assert "its members' runs" in waiting.stopped.sentence
    carried_out(store, planned(store, STRONG), all_pass)
    done = carried_out(store, planned(store, cascade), failed_model)
    assert (done.complete, done.verdicts, done.run) == (True, {"fail": 3, "pass": 1}, waiting.run)
    assert len(rows(store, "SELECT key FROM judge_run")) == 3


def test_the_plan_of_a_panel_names_the_runs_that_vote(sqlite_store: Store) -> None:
    """Other votes are another run: the members' runs are part of the plan."""
    panel = PanelJudge(kind="panel", name="thrice", members=(Member(judge=CHEAP.digest, votes=2),))
    lay_down(sqlite_store, numbered(2), CHEAP, panel)
    carried_out(sqlite_store, planned(sqlite_store, CHEAP, repeats=2), all_pass)
    with sqlite_store.read() as session:
        plan = plan_run(session=session, judge=panel, rubric=POINTWISE, dataset=DATASET, criteria=(KEY,))
    assert list(plan.content["members"]) == [CHEAP.digest]


# -- lint


def test_risky_choices_are_told_and_careful_ones_are_not() -> None:
    """Each risk by its words; a dated, swapped, abstaining judge at temperature 0 has none."""
    careful = judge(model="openai/gpt-4.1-2025-04-14")
    assert risks(careful) == ()
    bold = judge(
        model="openai/gpt-5",
        parameters={"temperature": 0.7},
        abstention=False,
        order="as_declared",
        blank_output="ask",
        reason="after",
    )
    words = " | ".join(risks(bold))
    for part in (
        "moving name",
        "temperature 0.7",
        "no abstention",
        "one order",
        "after the verdict",
        "blank",
    ):
        assert part in words
    own = {"endpoint": "compatible", "api_base": "http://127.0.0.1:1/v1"}
    assert "moving name" in " ".join(risks(judge(model="openai/gpt-4o-latest", **own)))
    assert risks(judge(model="openai/my-model", **own)) == ()
    even = PanelJudge(kind="panel", name="p", members=(Member(judge=DIGESTS[0], votes=2),))
    assert len(risks(even)) == 2
    lax = CascadeJudge(kind="cascade", name="c", first=DIGESTS[0], then=DIGESTS[1])
    assert "final" in risks(lax)[0]


def test_a_judge_of_its_own_family_is_told() -> None:
    """Outputs of the judge's family, and criteria without examples."""
    found = risks_with(judge(model="openai/gpt-4.1"), POINTWISE.criteria, ["gpt-4", "llama", ""])
    assert "no examples for tone" in found[0]
    assert found[1].startswith("it judges outputs of its own family (gpt-4)")
    assert (
        risks_with(
            ModelJudge(kind="model", name="x", model="anthropic/claude-x"), POINTWISE.criteria, ["gpt-4"]
        )[1:]
        == ()
    )


def test_judge_add_prints_the_risks(sqlite_store: Store, tmp_path: Path) -> None:
    """A person reads them when the judge is declared."""
    file = tmp_path / "judge.yaml"
    file.write_text("kind: model\nname: bold\nmodel: openai/gpt-5\nabstention: false\n", encoding="utf-8")
    done = on(address(sqlite_store))("judge", "add", str(file))
    assert done.exit_code == 0
    assert "! no abstention" in " ".join(done.stdout.split())


OWN = """
kind: model
name: own
model: openai/gpt-4.1-2025-04-14
prompt:
  name: mine
  version: 1
  binary:
    system: "Give a score from 1 to 10. {{question}} {{options}} {{answer}}"
    user: "{{answer_now}} {{material}}"
"""


def test_a_template_of_one_s_own_is_linted_and_a_shipped_one_is_not() -> None:
    """What is left out of the shipped wording is told; editing a shipped set under its name is seen too."""
    words = " | ".join(risks(parse_judge(OWN)))
    for part in ("CANDIDATE", "last word", "not asked again", "speaks of a score"):
        assert part in words
    for ref in ("standard@1", "brief@1", "reference@1", "trajectory@1"):
        assert risks(judge(model="openai/gpt-4.1-2025-04-14", prompt=ref)) == ()


def test_how_it_decides_is_said_in_words() -> None:
    """A panel by its votes and rule, a cascade by what it sends on."""
    panel = PanelJudge(
        kind="panel", name="p", members=(Member(judge=DIGESTS[0], votes=3), Member(judge=DIGESTS[1]))
    )
    assert panel_words(panel) == "4 votes of 2 judges, majority"
    alone = PanelJudge(kind="panel", name="p", members=(Member(judge=DIGESTS[0], votes=3),))
    assert panel_words(alone) == "3 votes of 1 judge, majority"
    sent = (Escalates.PASS, Escalates.UNKNOWN)
    cascade = CascadeJudge(kind="cascade", name="c", first=DIGESTS[0], then=DIGESTS[1], escalate=sent)
    assert panel_words(cascade) == (
        "a cascade: the first judge, then the second for "
        + ", ".join(
            "passes" if each is Escalates.PASS else "what it cannot tell"
            for each in Escalates
            if each in sent
        )
    )
