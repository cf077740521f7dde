"""What a judge costs when it is asked: taken over or read again, its verdicts cost what was paid for them."""

from __future__ import annotations

from dataclasses import replace

from calibration.evidence import OperationFigure
from calibration.store.database import Store
from calibration.store.erasing import erase_item
from calibration.store.items import Scope
from calibration.store.operation import operation_of
from calibration.store.payloads import erase_payload
from judge.calls import Cost, CostSource, ModelReply, ModelRequest
from judge.fake_model import said
from judge.panel import Member, PanelJudge
from judge.runs.replay import replay
from rubrics.order import OrderPolicy
from tests.judge.cases import item, judge
from tests.judge.run_world import (
    DATASET,
    KEY,
    NOW,
    answer,
    carried_out,
    lay_down,
    number_in,
    numbered,
    planned,
    verdicts,
)

ONE = judge(name="one", order=OrderPolicy.AS_DECLARED)
COPY = judge(name="copy", order=OrderPolicy.AS_DECLARED)


def priced(request: ModelRequest) -> ModelReply:
    """A pass for 200 millionths and the number of the item."""
    return answer("pass", micros=200 + number_in(request))


def operation(store: Store, run: str) -> OperationFigure | None:
    """What the run's verdicts cost."""
    with store.read() as session:
        return operation_of(session=session, scope=Scope(dataset=DATASET), run_key=run, criterion=KEY)


def figures(store: Store, run: str) -> tuple[int, int, int, int]:
    """Verdicts, how many are costed, what they cost, and how many are timed."""
    found = operation(store, run)
    assert found is not None
    return found.verdicts, found.costed, found.cost_micros, found.timed


def free_by_declaration(store: Store, run: str) -> int | None:
    """Verdicts whose call cost 0 by declared prices."""
    found = operation(store, run)
    assert found is not None
    return found.declared_free


def test_a_verdict_taken_over_costs_what_was_paid_for_it(store: Store) -> None:
    """Three of five are reused; read again as another judge all five; and what is reused there once more."""
    lay_down(store, numbered(3), ONE, COPY)
    first = carried_out(store, planned(store, ONE), priced)
    assert figures(store, first.run) == (3, 3, 603, 3)
    lay_down(store, numbered(5))
    second = carried_out(store, planned(store, ONE), priced)
    assert second.calls.known_micros == 203 + 204
    assert figures(store, second.run) == (5, 5, 1010, 5)
    copied = replay(store, planned(store, COPY), second.run, now=NOW)
    assert copied.run is not None
    assert figures(store, copied.run) == (5, 5, 1010, 5)


def test_a_cost_that_is_not_known_stays_so_when_it_is_taken_over(sqlite_store: Store) -> None:
    """Without a price nothing is costed, first or second; a blank item costs nothing by itself."""
    lay_down(sqlite_store, [*numbered(2), item(" ", item_id="blank")], ONE)
    carried_out(sqlite_store, planned(sqlite_store, ONE), lambda _: answer("pass"))
    lay_down(sqlite_store, numbered(3))
    second = carried_out(sqlite_store, planned(sqlite_store, ONE), priced)
    assert figures(sqlite_store, second.run)[:3] == (4, 2, 202)


def test_a_free_model_costs_nothing_and_that_is_known(sqlite_store: Store) -> None:
    """Priced at 0, asked or taken over: every verdict is costed, and it is counted that a word made it so."""
    lay_down(sqlite_store, numbered(2), ONE)
    carried_out(sqlite_store, planned(sqlite_store, ONE), lambda _: answer("pass", micros=0))
    lay_down(sqlite_store, numbered(3))
    second = carried_out(sqlite_store, planned(sqlite_store, ONE), lambda _: answer("pass", micros=0))
    assert figures(sqlite_store, second.run)[:3] == (3, 3, 0)
    assert free_by_declaration(sqlite_store, second.run) == 3


def test_a_model_that_nobody_bills_is_not_free_by_declaration(sqlite_store: Store) -> None:
    """Neither by a price map's 0, nor where a declared price was paid, nor without a call."""
    free = answer("pass", micros=0)
    mapped = replace(free, cost=Cost(0, CostSource.PRICE_MAP))
    lay_down(sqlite_store, [*numbered(2), item(" ", item_id="blank")], ONE)
    given = iter([mapped, answer("pass", micros=3)])
    run = carried_out(sqlite_store, planned(sqlite_store, ONE), lambda _: next(given)).run
    assert free_by_declaration(sqlite_store, run) == 0


def test_what_is_settled_without_a_call_has_no_duration(sqlite_store: Store) -> None:
    """A blank output and an erased text are counted apart, taken over by a replay too; the rest is timed."""
    lay_down(sqlite_store, [*numbered(3), item(" ", item_id="blank")], ONE, COPY)
    erase_item(store=sqlite_store, dataset=DATASET, item_id="n-1", reason="asked for", signer="dpo", at=NOW)
    run = carried_out(sqlite_store, planned(sqlite_store, ONE), priced).run
    copied = replay(sqlite_store, planned(sqlite_store, COPY), run, now=NOW).run
    assert copied is not None
    for key in (run, copied):
        found = operation(sqlite_store, key)
        assert found is not None
        assert (found.verdicts, found.costed, found.timed, found.uncalled) == (4, 4, 2, 2)


def test_a_panel_is_as_free_as_its_members(sqlite_store: Store) -> None:
    """Its own verdicts make no call; those of its members' runs are counted."""
    panel = PanelJudge(kind="panel", name="two", members=(Member(judge=ONE.digest, votes=2),))
    lay_down(sqlite_store, numbered(2), ONE, panel)
    asked = planned(sqlite_store, ONE, repeats=2)
    carried_out(sqlite_store, asked, lambda _: answer("pass", micros=0))
    run = carried_out(sqlite_store, planned(sqlite_store, panel), lambda _: answer("fail")).run
    assert free_by_declaration(sqlite_store, run) == 4
    found = operation(sqlite_store, run)
    assert found is not None
    assert (found.timed, found.uncalled) == (0, 0)  # its verdicts are of calls elsewhere


def test_where_the_record_of_it_is_erased_the_cost_is_not_known(sqlite_store: Store) -> None:
    """The reply that says from where a verdict was taken is gone: that one is not costed."""
    lay_down(sqlite_store, numbered(2), ONE)
    carried_out(sqlite_store, planned(sqlite_store, ONE), priced)
    lay_down(sqlite_store, numbered(3))
    second = carried_out(sqlite_store, planned(sqlite_store, ONE), priced).run
    taken = next(row for row in verdicts(sqlite_store, second) if row["call_key"] is None)
    with sqlite_store.write() as session:
        erase_payload(session=session, digest=taken["reply_digest"], reason="asked", signer="dpo", at=NOW)
    assert figures(sqlite_store, second)[:2] == (3, 2)


def test_an_unread_reply_is_paid_with_the_call_after_it(sqlite_store: Store) -> None:
    """One item takes two calls, 5 and 200 millionths; taken over it costs both."""
    reasks = judge(name="reasks", order=OrderPolicy.AS_DECLARED, reask=True)
    lay_down(sqlite_store, numbered(1), reasks)
    mumbled = said("words", cost=Cost(5, CostSource.DECLARED))
    given = iter([mumbled, answer("pass", micros=200), answer("pass", micros=201)])
    first = carried_out(sqlite_store, planned(sqlite_store, reasks), lambda _: next(given))
    assert figures(sqlite_store, first.run)[:3] == (1, 1, 205)
    lay_down(sqlite_store, numbered(2))
    second = carried_out(sqlite_store, planned(sqlite_store, reasks), lambda _: next(given))
    assert figures(sqlite_store, second.run)[:3] == (2, 2, 406)
