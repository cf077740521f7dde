"""`voirdire probe`: what it tells before it asks, how many failures it takes, and how it goes on."""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from calibration.store.database import Store
from calibration.store.items import Scope
from judge.calls import ModelRequest
from judge.probe_command import ProbeWanted
from judge.probe_effects import ProbeWord, bounded_at_best, effect, items_needed
from judge.probe_words import unbounded_words
from judge.probing import Probe, prepare_probe
from judge.runs import StopKind
from judge.runs.command import Wanted
from judge.runs.pacing import Pacer
from judge.runs.summary import Stopped
from judge.spec import Endpoint
from rubrics.errors import DeclarationError, RecordError
from rubrics.item import Item
from rubrics.order import OrderPolicy
from tests.judge.cases import POINTWISE, item, judge
from tests.judge.cli.records import address, on
from tests.judge.provider import Answer, Hit, Provider, completion
from tests.judge.run_world import DATASET, KEY, NOW, label_all, lay_down, numbered, rows

FAIL = json.dumps({"reason": "x", "verdict": "fail"})
SPEC = judge(order=OrderPolicy.AS_DECLARED)


@pytest.mark.parametrize(("bound", "families"), [(0.05, 1), (0.05, 13), (0.2, 14), (0.001, 2)])
def test_the_fewest_items_by_which_nothing_moving_is_shown(bound: float, families: int) -> None:
    """So many without a flip end as bounded and one less does not."""
    n = items_needed(bound=bound, families=families)
    words = [
        effect("x", "y", [(False, False)] * size, bound=bound, families=families).word for size in (n - 1, n)
    ]
    assert words == [ProbeWord.UNDERPOWERED, ProbeWord.BOUNDED]
    groups = [str(place) for place in range(n)]
    assert bounded_at_best(groups, bound=bound, families=families)
    assert not bounded_at_best(["one"] * n, bound=bound, families=families)


def prepared(store: Store, items: list[Item], *names: str, most: int | None = None, bound: float) -> Probe:
    """A probe of the items, all of them failures."""
    lay_down(store, items, SPEC)
    label_all(store, {each.item_id: "fail" for each in items})
    with store.write() as session:
        return prepare_probe(
            session=session, judge=SPEC, rubric=POINTWISE, criterion=KEY, scope=Scope(dataset=DATASET),
            wanted=names, most=most, seed=1, bound=bound, at=NOW,
        )  # fmt: skip


def risks(probe: Probe, bound: float) -> str:
    """What the probe cannot show."""
    return "; ".join(unbounded_words(probe, bound=bound))


def test_as_many_failures_as_a_steady_judge_needs(sqlite_store: Store) -> None:
    """By default enough of them, a hundred at least; fewer are told with the number that suffices."""
    items = numbered(130)
    needed = items_needed(bound=0.03, families=1)
    assert needed == 125
    default = prepared(sqlite_store, items, "padding", bound=0.03)
    assert (len(default.originals), default.enough, risks(default, 0.03)) == (125, 125, "")
    assert len(prepared(sqlite_store, items, "padding", bound=0.2).originals) == 100
    few = prepared(sqlite_store, items, "padding", most=60, bound=0.03)
    assert risks(few, 0.03).endswith("125 would do: --items 125")
    short = prepared(sqlite_store, items, "padding", bound=0.025)
    assert (len(short.originals), short.enough) == (100, None)
    told = risks(short, 0.025)
    assert f"that takes {items_needed(bound=0.025, families=1)} and there are 130; label more" in told


def test_groups_and_rare_changes_take_more(sqlite_store: Store) -> None:
    """Items that share groups count for less, and a change of a few items is named by itself."""
    pairs = [each.model_copy(update={"group": f"g-{place // 2}"}) for place, each in enumerate(numbered(60))]
    grouped = prepared(sqlite_store, pairs, "padding", bound=0.1)
    assert grouped.enough is not None
    assert items_needed(bound=0.1, families=1) < grouped.enough <= 60
    marked = [item("**Bold** words.", item_id=f"m-{n}") for n in range(3)]
    rare = prepared(sqlite_store, [*marked, *pairs], "padding", "markdown_stripped", bound=0.2)
    assert risks(rare, 0.2).startswith("markdown_stripped changes 3 of 63 failures")


def test_nothing_that_changes_nothing_is_asked(sqlite_store: Store) -> None:
    """A text that the rubric does not show, or that no item has, is refused with nothing recorded."""
    with pytest.raises(
        DeclarationError, match=r"no probe 'inject_nothere' under refunds@1; .* inject_policy"
    ):
        prepared(sqlite_store, numbered(3), "inject_nothere", bound=0.2)
    with pytest.raises(RecordError, match="inject_answer_key: none of 3 reference failures is changed"):
        prepared(sqlite_store, numbered(3), "inject_answer_key", bound=0.2)
    assert not rows(sqlite_store, "SELECT 1 FROM item WHERE dataset LIKE 'probes-%'")


def test_long_ids_that_begin_alike_have_copies_of_their_own(sqlite_store: Store) -> None:
    """However long the common beginning: a copy for each item and kind of change."""
    twins = [item(f"Case {n}.", item_id="long" * 127 + f"{n:04}") for n in range(3)]
    probe = prepared(sqlite_store, twins, "padding", "invisible", bound=0.2)
    copies = [copy for each in probe.copies.values() for copy in each.values()]
    assert len(set(copies)) == len(copies) == 9


# -- the command

ABOUT = ("probe", "--judge", "served", "--dataset", DATASET, "--criterion", KEY, "--family", "padding")


def served(store: Store, provider: Provider) -> Any:
    """The command line on a store with forty failures and a judge at the provider."""
    spec = judge(
        name="served", model="openai/served-1", endpoint=Endpoint.COMPATIBLE, api_base=provider.api_base,
        order=OrderPolicy.AS_DECLARED,
    )  # fmt: skip
    lay_down(store, numbered(40), spec)
    label_all(store, {f"n-{n}": "fail" for n in range(40)})
    return on(address(store))


def test_what_cannot_be_shown_is_told_before_anything_is_asked(sqlite_store: Store) -> None:
    """A dry run says so with the way out, asks nobody, and leaves no copy, set or event behind."""
    with Provider(lambda _: completion(FAIL)) as provider:
        command = served(sqlite_store, provider)
        command("policy", "list")  # opening a store records the shipped policies
        before = rows(sqlite_store, "SELECT count(*) FROM audit_event")
        dry = command(*ABOUT, "--dry-run", "--rate", "30/min")
        as_json = command(*ABOUT, "--dry-run", "--json", "--items", "20", "--bound", "0.1")
        refused = command(*ABOUT, "--rate", "banana")
        assert not provider.hits
    assert "40 failures cannot show a rise of at most 5%" in dry.stdout
    assert "at most" in dry.stdout.splitlines()[2]
    assert "35 would do: --items 35" in as_json.stderr.replace("\n", " ")
    assert json.loads(as_json.stdout)["enough"] == 35
    assert refused.exit_code == 64
    assert rows(sqlite_store, "SELECT count(*) FROM audit_event") == before
    assert not rows(sqlite_store, "SELECT 1 FROM item WHERE dataset LIKE 'probes-%'")


def going_on(stderr: str) -> list[str]:
    """The command that is offered after a stop, without the name of the program."""
    (line,) = (line for line in stderr.splitlines() if line.strip().startswith("go on"))
    return shlex.split(line[line.index("voirdire ") :])[1:]


def after(hits: int, then: Callable[[], Answer]) -> Callable[[Hit], Answer]:
    """A provider that does something else from a certain call on."""
    seen: Counter[str] = Counter()

    def answer(_: Hit) -> Answer:
        seen["hits"] += 1
        return then() if seen["hits"] > hits else completion(FAIL)

    return answer


def test_a_changed_model_stops_a_probe_until_it_is_allowed(sqlite_store: Store) -> None:
    """Exit 3 with a command that works; its own option lets both models answer."""
    with Provider(after(10, lambda: completion(FAIL, model="another"))) as provider:
        command = served(sqlite_store, provider)
        stopped = command(*ABOUT, "--bound", "0.2", "--concurrency", "1")
        on_with = going_on(stopped.stderr)
        done = command(*on_with)
    assert (stopped.exit_code, done.exit_code) == (3, 0), (stopped.stderr, done.stderr)
    assert "--allow-model-change" in on_with
    assert "0/40" in done.stdout


def test_a_probe_that_is_interrupted_says_how_to_go_on(sqlite_store: Store) -> None:
    """Exit 130 as of a run, and the command that asks the rest."""

    def interrupt() -> Answer:
        if not again:
            again.append("voirdire")
            os.kill(os.getpid(), signal.SIGINT)
        return completion(FAIL)

    again: list[str] = []
    with Provider(after(10, interrupt)) as provider:
        command = served(sqlite_store, provider)
        stopped = command(*ABOUT, "--bound", "0.2", "--concurrency", "1", "--items", "40")
        asked = len(provider.hits)
        rest = going_on(stopped.stderr)
        done = command(*rest)
        assert asked < len(provider.hits) == 80
    assert (stopped.exit_code, done.exit_code) == (130, 0), stopped.stderr
    assert rest[-6:] == ["--items", "40", "--seed", "1", "--bound", "0.2"]


def test_a_probe_that_met_its_cap_leaves_a_higher_one_to_be_given() -> None:
    """The command that is offered would not stop at once; everything else in it is as asked."""
    run = Wanted(
        judge="j", dataset="d", set_ref=None, rubric=None, criteria=(KEY,), repeats=1, concurrency=None,
        max_cost=0.5, price_input=1.0, price_output=2.0, gguf=None,
    )  # fmt: skip
    wanted = ProbeWanted(run=run, families=("padding",), items=None, seed=2, bound=0.1)
    offered = wanted.going_on(Stopped(StopKind.COST_CAP, "the cap"))
    assert offered == (
        f"voirdire probe --judge j --dataset d --criterion {KEY} --price-input 1.0 --price-output 2.0 "
        "--family padding --seed 2 --bound 0.1 --max-cost AMOUNT"
    )
    assert "--max-cost 0.5" in wanted.command


def test_a_probe_keeps_the_rate(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call waits for its turn, as those of a run do."""
    turns: list[ModelRequest] = []

    async def turn(_: Pacer, request: ModelRequest) -> None:
        turns.append(request)

    monkeypatch.setattr(Pacer, "turn", turn)
    with Provider(lambda _: completion(FAIL)) as provider:
        done = served(sqlite_store, provider)(*ABOUT, "--bound", "0.2", "--rate", "500/min")
        assert len(turns) == len(provider.hits) == 80
    assert done.exit_code == 0, done.stderr
