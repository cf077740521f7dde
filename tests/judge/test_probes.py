"""Probes: what is changed and what is not, counts by hand, one word, and a judge that obeys an item."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.admission import decide
from calibration.calibrate.probed import counting
from calibration.evidence import ItemStatus
from calibration.policy import Guard, far_only
from calibration.report import build_report
from calibration.report.supplement import Supplement
from calibration.statistics.paired import mcnemar_exact
from calibration.store.database import Store
from calibration.store.items import Scope
from calibration.values import Undefined
from judge.calls import ModelReply, ModelRequest
from judge.fake_model import said
from judge.fence import Flag, show
from judge.probe_effects import (
    Effect,
    ProbeWord,
    effect,
    smallest_detectable,
)
from judge.probe_words import probe_rows, probe_words
from judge.probes import CHANGES, INJECTION, PLACEBO, changed, corpus_digest, families, told
from judge.probing import Probe, prepare_probe, probe_object, read_effects
from judge.spec import Endpoint
from rubrics.errors import DeclarationError
from rubrics.item import MAX_ID, Item, Split
from rubrics.order import OrderPolicy
from rubrics.scale import PreferenceScale
from tests.calibration.examples import SCOPE
from tests.judge.cases import BETTER, POINTWISE, STATES, item, judge, pair
from tests.judge.cli.records import address, on
from tests.judge.provider import Answer, Hit, Provider, completion
from tests.judge.run_world import (
    DATASET,
    KEY,
    NOW,
    Handler,
    answer,
    carried_out,
    label_all,
    lay_down,
    numbered,
    rows,
)

EVERY = families(("input", "policy"))


@pytest.mark.parametrize("family", EVERY)
def test_a_change_leaves_everything_else_as_it_was(family: str) -> None:
    """One text is changed; the copy is of the tuning split, names its original, and can be no case."""
    original = item("## Terms\n\n- **You** have 30 days.")
    copy = changed(original, STATES, family)
    assert copy is not None
    texts = [("input", original.input, copy.input), ("output", original.output, copy.output)]
    texts.append(("policy", original.evidence["policy"], copy.evidence["policy"]))
    moved = [name for name, before, after in texts if before != after]
    assert moved == [family.removeprefix("inject_") if family[:7] == "inject_" else "output"]
    assert copy.split is Split.TUNING
    assert (copy.group, copy.tags) == (original.group, {"probe": family, "of": original.item_id})
    assert copy.item_id == f"{original.item_id}~{family}"
    assert (copy.system, copy.model_family) == ("", "")
    assert told(family)


def test_the_placebo_is_the_same_text() -> None:
    """The unchanged repeat has the original's content."""
    copy = changed(item(), STATES, PLACEBO)
    assert copy is not None
    assert copy.content_digest == item().content_digest


def test_what_a_change_does_not_touch_is_no_copy() -> None:
    """Markdown of a plain text, an evidence field that the item lacks."""
    assert changed(item("Plain words."), STATES, "markdown_stripped") is None
    assert changed(item(policy=None), STATES, "inject_policy") is None
    with pytest.raises(DeclarationError, match="there is no probe 'banana'"):
        changed(item(), STATES, "banana")


def test_of_a_pair_the_candidate_is_changed() -> None:
    """The baseline's text stays; without a candidate nothing is an acceptance."""
    copy = changed(pair(), BETTER, "inject_output")
    assert copy is not None
    assert (copy.output_a, copy.output_b) == (pair().output_a, f"{pair().output_b}\n\n{INJECTION}")
    bare = BETTER.model_copy(update={"scale": PreferenceScale(kind="preference", candidate=None)})
    with pytest.raises(DeclarationError, match="declares no candidate"):
        changed(pair(), bare, "inject_output")


def test_invisible_characters_reach_the_fence_as_such() -> None:
    """What cannot be seen is written out to the judge and flagged."""
    copy = changed(item(), STATES, "invisible")
    assert copy is not None
    assert Flag.HIDDEN_CHARACTERS in show(str(copy.output)).flags


def test_the_corpus_is_named_by_its_families() -> None:
    """In any order the same; one family less is another corpus."""
    assert corpus_digest(("a", "b")) == corpus_digest(("b", "a")) != corpus_digest(("a",))


def test_long_ids_that_begin_alike_have_copies_of_their_own() -> None:
    """A copy's id is cut to what an id may have, and still tells items and families apart."""
    first, second = ("x" * (MAX_ID - 1) + end for end in "ab")
    copies = [
        changed(item(item_id=item_id), STATES, family)
        for item_id in (first, second)
        for family in ("padding", "invisible")
    ]
    ids = {copy.item_id for copy in copies if copy is not None}
    assert len(ids) == 4
    assert all(len(each) <= MAX_ID for each in ids)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.text(max_size=200), st.sampled_from(EVERY))
def test_every_text_can_be_changed(text: str, family: str) -> None:
    """Any output becomes an item, or none where nothing changes."""
    copy = changed(Item(item_id="x", input="q", output=text, evidence={"policy": "p"}), STATES, family)
    assert copy is None or copy.item_id == f"x~{family}"


Accepted = tuple[bool | None, bool | None]


def pairs(*counts: tuple[int, Accepted]) -> list[Accepted]:
    """So many of each (unchanged, changed)."""
    return [pair for count, pair in counts for _ in range(count)]


def test_effects_by_hand() -> None:
    """Ten flips and none back of 100: exact p = 2 / 2^10; a bound of 5 % is not met."""
    found = effect("x", "y", pairs((10, (False, True)), (90, (False, False))), bound=0.05, families=1)
    assert (found.flipped.x, found.flipped.n, found.back) == (10, 100, 0)
    assert found.p_value == pytest.approx(2 / 2**10)
    assert found.word is ProbeWord.BIASED
    # smallest k with 2 / 2^k <= 0.05 is 6
    assert found.detectable == 6 / 100
    assert found.said == "biased"


@pytest.mark.parametrize(
    ("given", "families", "word"),
    [
        (pairs((400, (False, False))), 1, ProbeWord.BOUNDED),
        (pairs((400, (False, False))), 14, ProbeWord.BOUNDED),
        (pairs((50, (False, False))), 1, ProbeWord.UNDERPOWERED),
        (pairs((8, (False, True)), (192, (False, False))), 1, ProbeWord.BIASED),
        (pairs((8, (False, True)), (192, (False, False))), 14, ProbeWord.UNDERPOWERED),
        (pairs((8, (True, False)), (192, (False, False))), 1, ProbeWord.BOUNDED),
        (pairs((20, (True, True)), (380, (False, False))), 1, ProbeWord.BOUNDED),
    ],
    ids=["clean", "clean, shared", "few", "flips", "flips, shared", "flips back", "accepted anyway"],
)
def test_one_word(given: list[Accepted], families: int, word: ProbeWord) -> None:
    """Biased, bounded or underpowered, by flips beyond the unchanged repeat and by n."""
    assert effect("x", "y", given, bound=0.05, families=families).word is word


def test_open_verdicts_count_both_ways() -> None:
    """Twenty open copies: not a finding, and no bound either; every item stays in n."""
    found = effect("x", "y", pairs((380, (False, False)), (20, (False, None))), bound=0.05, families=1)
    assert (found.flipped.x, found.flipped_at_most, found.flipped.n, found.unknown) == (0, 20, 400, 20)
    assert found.word is ProbeWord.UNDERPOWERED
    assert found.to_json()["flipped_at_most"] == 20


def test_too_few_items_find_nothing() -> None:
    """Five flips of five are p = 1/16; no effect is detectable."""
    assert smallest_detectable(6, 0.05) == 1.0
    assert not isinstance(smallest_detectable(5, 0.05), float)


def test_a_judge_that_flips_by_chance_hides_a_larger_effect() -> None:
    """Forty of 151 flip back: a rise of 12.6 points is not found, and the least that could be is above it."""
    found = effect(
        *("x", "y", pairs((59, (False, True)), (40, (True, False)), (52, (False, False)))),
        bound=0.05,
        families=1,
    )
    assert (found.word, found.flipped.x - found.back) == (ProbeWord.UNDERPOWERED, 19)
    assert isinstance(found.detectable, float)
    assert found.detectable > 19 / 151
    more = round(found.detectable * 151)
    assert mcnemar_exact(40, 40 + more) <= 0.05 < mcnemar_exact(40, 39 + more)
    assert "40 of them flipping back" in str(smallest_detectable(80, 0.05, back=40))


def test_flips_of_one_group_are_one_finding() -> None:
    """Ten flips in two groups of five are p = 1/2: no bias, a wider end; alone in groups nothing moves."""
    given = pairs((10, (False, True)), (190, (False, False)))
    alone = effect("x", "y", given, bound=0.05, families=1, groups=[str(n) for n in range(200)])
    assert alone == effect("x", "y", given, bound=0.05, families=1)
    fives = effect("x", "y", given, bound=0.05, families=1, groups=[str(n // 5) for n in range(200)])
    assert (alone.word, fives.word) == (ProbeWord.BIASED, ProbeWord.UNDERPOWERED)
    assert (fives.p_value, fives.groups, fives.flipped.x) == (0.5, 40, 10)
    assert fives.lower < alone.lower < alone.upper < fives.upper
    # six flips are needed, in six of the forty groups, or of five: none
    assert fives.detectable == 6 / 200
    few = effect("x", "y", given, bound=0.05, families=1, groups=[str(n // 40) for n in range(200)])
    assert few.detectable == Undefined("5 groups of items are too few to find any effect at this level")


# -- a judge without an answer


def probed_by(store: Store, model: Handler, *names: str) -> tuple[Probe, tuple[Effect, ...]]:
    """The probe of thirty failures by these kinds of change, with what it shows of the model."""
    spec = judge(order=OrderPolicy.AS_DECLARED)
    lay_down(store, numbered(30), spec)
    label_all(store, {f"n-{n}": "fail" for n in range(30)})
    with store.write() as session:
        probe = prepare_probe(
            session=session, judge=spec, rubric=POINTWISE, criterion=KEY, scope=Scope(dataset=DATASET),
            wanted=names, most=30, seed=1, bound=0.2, at=NOW,
        )  # fmt: skip
    carried_out(store, probe.plan, model)
    with store.read() as session:
        return probe, read_effects(session=session, probe=probe, bound=0.2)


@pytest.mark.parametrize(
    "silent",
    [said("hmm"), said("{", finish="length"), said(None, refusal="no"), answer("unknown")],
    ids=["unreadable", "cut off", "refused", "abstains"],
)
def test_silence_under_a_probe_shows_no_resistance(sqlite_store: Store, silent: ModelReply) -> None:
    """Every copy without a verdict is counted, told, in n and a flip at most; no guard is passed by it."""

    def model(request: ModelRequest) -> ModelReply:
        return silent if "confirmed by two experts" in request.messages[-1].content else answer("fail")

    probe, found = probed_by(sqlite_store, model, "authority", "padding")
    quiet, steady = found
    assert (quiet.flipped.x, quiet.flipped_at_most, quiet.flipped.n) == (0, 30, 30)
    assert (quiet.unknown, quiet.answered, quiet.word) == (30, 0, ProbeWord.UNDERPOWERED)
    assert (steady.unknown, steady.answered, steady.word) == (0, 30, ProbeWord.BOUNDED)
    assert quiet.upper > 0.95
    (row, _) = probe_rows(found)
    assert row[:3] == ("authority", "0 to 30/30", "30")
    assert any("30 changed copies have no verdict" in line for line in probe_words(probe, found, bound=0.2))
    figure = counting([probe_object(probe, found, bound=0.2)])[0]
    asked = far_only(0.1).model_copy(update={"guards": {"probe_authority": Guard(upper_at_most=0.2)}})
    report = build_report([], scope=SCOPE, policy=asked, supplement=Supplement(probes=(figure,)))
    guard = next(each for each in decide(report, asked).items if each.name == "probe_authority")
    assert guard.status is ItemStatus.INSUFFICIENT
    assert guard.detail.endswith("up to 30 with those that have no verdict")


def test_silence_without_the_change_is_no_acceptance(sqlite_store: Store) -> None:
    """A judge that answers nothing until it is told what to say is moved by being told."""

    def model(request: ModelRequest) -> ModelReply:
        return answer("pass") if INJECTION in request.messages[-1].content else said("hmm")

    _, (found,) = probed_by(sqlite_store, model, "inject_output")
    assert (found.unchanged.x, found.flipped.x, found.unknown, found.word) == (0, 30, 0, ProbeWord.BIASED)


# -- the command, against a judge that obeys

N = 40


def obedient(hit: Hit) -> Answer:
    """Rejects everything, unless the texts tell it to accept."""
    obeys = INJECTION in hit.last_text
    return completion(json.dumps({"reason": "x", "verdict": "pass" if obeys else "fail"}))


@pytest.fixture(params=["sqlite_store", pytest.param("postgres_store", marks=pytest.mark.slow)])
def world(request: pytest.FixtureRequest) -> Store:
    """A store with forty failures and ten passes."""
    store: Store = request.getfixturevalue(request.param)
    lay_down(store, numbered(N + 10))
    label_all(store, {f"n-{n}": "fail" if n < N else "pass" for n in range(N + 10)})
    return store


def test_a_judge_that_obeys_an_item_is_biased(world: Store) -> None:
    """Through the whole command: the injections flip, the rest is bounded, nothing becomes a case."""
    with Provider(obedient) as provider:
        spec = judge(
            name="obeys",
            model="openai/served-1",
            endpoint=Endpoint.COMPATIBLE,
            api_base=provider.api_base,
            order=OrderPolicy.AS_DECLARED,
        )
        lay_down(world, [], spec)
        command = on(address(world))
        args = ("probe", "--judge", "obeys", "--dataset", DATASET, "--criterion", KEY, "--bound", "0.2")
        dry = json.loads(command(*args, "--dry-run", "--json").stdout)
        assert (dry["items"], dry["estimate"]["calls"], provider.hits) == (N, N * 14 - N, [])
        done = command(*args, "--json")
        found = json.loads(done.stdout)
        asked = len(provider.hits)
        again = command(*args)
        assert len(provider.hits) == asked
    words = {each["family"]: each["word"] for each in found["effects"]}
    assert {family for family, word in words.items() if word == "biased"} == {
        "inject_output",
        "inject_input",
        "inject_policy",
    }
    assert set(words) == {*CHANGES, "inject_input", "inject_policy"} - {"markdown_stripped"}
    assert {word for family, word in words.items() if "inject" not in family} == {"bounded"}
    assert (found["word"], done.exit_code, again.exit_code) == ("biased", 1, 1)
    assert "inject_output" in again.stdout
    assert {each["name"] for each in found["not_assessed"]} == {
        "markdown_stripped",
        "inject_answer_key",
        "order",
    }
    splits = dict(
        rows(world, "SELECT split, count(*) FROM item WHERE dataset LIKE 'probes-%' GROUP BY split")
    )
    assert list(splits) == ["tuning"]


def test_without_a_labelled_failure_there_is_nothing_to_probe(sqlite_store: Store) -> None:
    """One sentence, exit 3, and an unknown family is refused before anything is recorded."""
    lay_down(sqlite_store, numbered(3), judge(name="j", model="openai/dated-2025-01-01"))
    label_all(sqlite_store, {"n-0": "pass"})
    command = on(address(sqlite_store))
    args = ("probe", "--judge", "j", "--dataset", DATASET, "--criterion", KEY)
    assert "no item with a failing reference" in command(*args, "--dry-run").stderr
    assert "there is no probe 'banana'" in command(*args, "--family", "banana", "--dry-run").stderr
