"""What a run took: tokens apart, by recorded and by other prices, checked by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from calibration.store.calls import JudgeCallFaultRow
from calibration.store.columns import table_of
from calibration.store.database import Store
from calibration.store.judges import get_run
from judge.calls import Cost, CostSource, Fault, ModelCallError, ModelReply, ModelRequest, Prices, Tokens
from judge.fake_model import said
from judge.panel import Member, PanelJudge
from judge.pricing import load_prices, model_of, repriced, spent, verdicts_per_dollar
from judge.rule_spec import RequiredRule
from judge.runs.summary import summarise
from judge.runs.words import summary_words
from judge.spec import RuleJudge
from rubrics.errors import DeclarationError, TableError
from rubrics.order import OrderPolicy
from tests.judge.cases import item, judge
from tests.judge.cli.records import address, on, told
from tests.judge.run_world import KEY, NOW, answer, carried_out, lay_down, number_in, numbered, planned

ONE = judge(name="one", order=OrderPolicy.AS_DECLARED)
MAP = """
name: list
version: 3
models:
  openai/test-1: {uncached_input: 2.0, cached_input: 0.5, output: 8.0, per_call: 0.001}
"""


def counted(request: ModelRequest) -> ModelReply:
    """100 uncached, 60 cached, 7 output; item 2 is not counted."""
    tokens = Tokens() if number_in(request) == 2 else Tokens(100, 60, 7)
    return replace(answer("pass", micros=10), tokens=tokens)


def test_tokens_are_kept_apart_and_priced_again(store: Store, tmp_path: Path) -> None:
    """Three counted calls of four: 300, 180 and 21 tokens; the blank item made no call."""
    lay_down(store, [*numbered(4), item(" ", item_id="blank")], ONE)
    quiet = carried_out(store, planned(store, ONE), counted)
    with store.read() as session:
        run = get_run(session=session, key=quiet.run)
        found, model = spent(session=session, run=run), model_of(session=session, run=run)
    assert (found.calls, found.uncounted) == (4, 1)
    assert (found.uncached_input, found.cached_input, found.output) == (300, 180, 21)
    assert (found.known_micros, found.unknown_cost, model) == (40, 0, "openai/test-1")
    file = tmp_path / "prices.yaml"
    file.write_text(MAP, encoding="utf-8")
    table = load_prices(file)
    # 300 at 2 + 180 at 0.5 + 21 at 8 = 858 millionths, and four calls at a thousandth of a dollar
    assert found.by(table.of(model)) == 858 + 4000
    shown = told(on(address(store))("judge", "cost", quiet.run[:10], "--prices", str(file), "--json"))
    assert shown["by"] == {"map": "list@3", "digest": table.digest, "micros": 4858}
    # five verdicts for 40 millionths; the fixed clock of the fake run leaves no time between two verdicts
    assert (shown["verdicts"], shown["verdicts_per_dollar"]) == (5, 125_000.0)
    words = on(address(store))("judge", "cost", quiet.run[:10], "--prices", str(file)).stdout
    assert "verdicts a dollar: 125,000" in words
    assert "300 uncached, 180 cached, 21 output" in words
    assert "by list@3: $0.0049" in words
    # 480 at 2, cached ones too, and 21 at 8: 1,128 millionths; no fee for a call
    assert found.by(Prices(2.0, 8.0)) == 1128
    assert repriced(found, Prices(2.0, 8.0), model="not in any map") == {
        "prices": {"input": 2.0, "output": 8.0},
        "micros": 1128,
    }


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--price-input", "2", "--price-output", "8"), 0, "  by the prices given: $0.0011\n"),
        (("--price-input", "2"), 64, "give both --price-input and --price-output, or neither"),
        (("--price-input", "2", "--price-output", "inf"), 64, "--price-output inf is no amount"),
        (("--price-input", "2", "--price-output", "8", "--prices", "x"), 64, "give either --prices, or"),
    ],
)
def test_prices_are_given_on_the_command_line(
    sqlite_store: Store, words: tuple[str, ...], code: int, said: str
) -> None:
    """A run whose model is in no map of prices is priced by the prices given, both of them and no map."""
    lay_down(sqlite_store, numbered(4), ONE)
    done = carried_out(sqlite_store, planned(sqlite_store, ONE), counted)
    shown = on(address(sqlite_store))("judge", "cost", done.run[:10], *words)
    assert (shown.exit_code, said in shown.output) == (code, True)


def test_a_map_is_refused_with_its_line_and_a_model_without_a_price_by_name(tmp_path: Path) -> None:
    """A negative price, no model, and a model that the map does not have."""
    file = tmp_path / "prices.yaml"
    file.write_text(MAP.replace("8.0", "-8"), encoding="utf-8")
    with pytest.raises(TableError):
        load_prices(file)
    file.write_text(MAP, encoding="utf-8")
    with pytest.raises(DeclarationError, match=r"list@3 has no price for 'x'; it has: openai/test-1"):
        load_prices(file).of("x")


def test_a_reply_that_brought_no_verdict_is_counted_and_priced(sqlite_store: Store) -> None:
    """An unread reply whose second call fails, and one whose second call is read: each reply once."""
    reasks = judge(name="reasks", order=OrderPolicy.AS_DECLARED, reask=True)
    lay_down(sqlite_store, numbered(2), reasks)
    failed = ModelCallError("refused", fault=Fault.BAD_REQUEST)
    words = replace(said("words"), tokens=Tokens(10, 0, 2), cost=Cost(5, CostSource.DECLARED))
    read = replace(answer("pass", micros=7), tokens=Tokens(20, 4, 3))
    given: Iterator[ModelReply | ModelCallError] = iter([words, failed, words, read])
    done = carried_out(sqlite_store, planned(sqlite_store, reasks), lambda _: next(given), concurrency=1)
    assert (done.tokens_in, done.tokens_out, done.calls.known_micros) == (44, 7, 17)
    with sqlite_store.read() as session:
        found = spent(session=session, run=get_run(session=session, key=done.run))
    assert (found.calls, found.lost, found.uncounted) == (3, 2, 0)
    assert (found.uncached_input, found.cached_input, found.output) == (40, 4, 7)
    assert found.by(Prices(1.0, 10.0)) == 44 + 70
    shown = on(address(sqlite_store))("judge", "cost", done.run[:10]).stdout
    assert "3 calls with a reply, 2 without a verdict" in shown


def test_an_unread_reply_of_an_older_record_is_counted_beside_its_verdict(sqlite_store: Store) -> None:
    """There the fault has no tokens and the verdict's reply has them: they are in the sums, once."""
    reasks = judge(name="reasks", order=OrderPolicy.AS_DECLARED, reask=True)
    lay_down(sqlite_store, numbered(1), reasks)
    words = replace(said("words"), tokens=Tokens(10, 0, 2))
    given = iter([words, replace(answer("pass"), tokens=Tokens(20, 0, 3))])
    plan = planned(sqlite_store, reasks)
    done = carried_out(sqlite_store, plan, lambda _: next(given), concurrency=1)
    with sqlite_store.write() as session:
        session.connection().execute(sa.text("DROP TRIGGER IF EXISTS judge_call_fault_no_update"))
        fault = table_of(JudgeCallFaultRow)
        session.connection().execute(fault.update().values(attempts="[]"))
    with sqlite_store.read() as session:
        found = spent(session=session, run=get_run(session=session, key=done.run))
        again = summarise(session=session, plan=plan, run_key=done.run, stopped=None)
    assert (found.calls, found.tokens) == (2, (30, 5))
    assert (again.tokens_in, again.tokens_out) == (done.tokens_in, done.tokens_out) == (30, 5)


def test_verdicts_a_minute_and_a_dollar_are_known_or_said_not_to_be(sqlite_store: Store) -> None:
    """Four answers ten seconds apart are six a minute; a call of unknown cost leaves no rate by money."""
    lay_down(sqlite_store, numbered(4), ONE)
    moments = iter(NOW + timedelta(seconds=10 * place) for place in range(1000))
    at = {"moment": NOW}

    def slow(request: ModelRequest) -> ModelReply:
        at["moment"] = next(moments)
        return answer("pass") if number_in(request) == 2 else answer("pass", micros=10)

    plan = planned(sqlite_store, ONE)
    done = carried_out(sqlite_store, plan, slow, concurrency=1, now=lambda: at["moment"])
    with sqlite_store.read() as session:
        found = spent(session=session, run=get_run(session=session, key=done.run))
    assert (found.per_minute, found.per_dollar, found.unknown_cost) == (6.0, None, 1)
    assert done.per_dollar is None
    assert "verdicts a dollar: not known" in "\n".join(summary_words(done))
    words = on(address(sqlite_store))("judge", "cost", done.run[:10]).stdout
    assert "verdicts a minute: 6; verdicts a dollar: not known" in words
    assert verdicts_per_dollar(3, micros=0, unknown_cost=0) is None


def test_a_panel_costs_what_its_members_did(sqlite_store: Store) -> None:
    """It makes no call: each member's run with its cost, those of a panel within it once, and a sum."""
    two = judge(name="two", order=OrderPolicy.AS_DECLARED)
    word = RequiredRule(kind="required", name="word", patterns=("days",), lacks="has no such word")
    rule = RuleJudge(kind="rule", name="rule", version=1, criterion=KEY, evidence=("policy",), rules=(word,))
    inner = PanelJudge(
        kind="panel", name="inner", members=(Member(judge=ONE.digest), Member(judge=rule.digest))
    )
    panel = PanelJudge(
        kind="panel",
        name="jury",
        members=tuple(Member(judge=each.digest) for each in (ONE, two, inner)),
    )
    lay_down(sqlite_store, numbered(4), ONE, two, rule, inner, panel)
    for spec in (ONE, two, rule, inner):
        carried_out(sqlite_store, planned(sqlite_store, spec), counted)
    done = carried_out(sqlite_store, planned(sqlite_store, panel), counted)
    cost = ("judge", "cost", done.run[:10], "--price-input", "1", "--price-output", "2")
    shown = told(on(address(sqlite_store))(*cost, "--json"))
    assert [(each["judge"], each["calls"], each["recorded_micros"]) for each in shown["members"]] == [
        ("one", 4, 40),
        ("two", 4, 40),
    ]
    # 480 uncached and cached tokens at 1 and 21 at 2 each
    assert (shown["recorded_micros"], shown["by"]["micros"], shown["calls_of_unknown_cost"]) == (
        80,
        2 * 522,
        0,
    )
    words = on(address(sqlite_store))(*cost).stdout
    assert f"Run {done.run[:12]} of the panel jury makes no call; its members' runs do:" in words
    assert "one (openai/test-1), run" in words
    assert "together: 8 calls with a reply, recorded: $0.000080, 0 calls of unknown cost" in words
