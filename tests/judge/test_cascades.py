"""Cascades as runs: the second judge is asked only about what the first sends on, and what that saves."""

from __future__ import annotations

import json
from typing import Any

from calibration.store.database import Store
from judge.panel import CascadeJudge, Escalates
from judge.spec import Endpoint
from rubrics.order import OrderPolicy
from tests.judge.cases import item, judge
from tests.judge.cli.records import Run, address, on, told
from tests.judge.provider import Answer, Hit, Provider, completion, fault
from tests.judge.run_world import DATASET, KEY, label_all, lay_down, rows
from tests.judge.test_probe_guards import rule

N = 10
ON = ("--dataset", DATASET, "--criterion", KEY)
PRICES = ("--price-input", "1", "--price-output", "1")


def strict(hit: Hit) -> Answer:
    """A strong judge that accepts what is called sound."""
    word = "pass" if "sound" in hit.last_text else "fail"
    return completion(json.dumps({"reason": "x", "verdict": word}))


def laid(store: Store, provider: Provider, *, escalate: tuple[Escalates, ...]) -> None:
    """Ten answers: two sound, two that only look so to the cheap judge, six wrong; the judges."""
    words = ["sound", "sound", "seemly", "seemly", *["wrong"] * (N - 4)]
    texts = [item(f"A {word} answer.", item_id=f"n-{n}") for n, word in enumerate(words)]
    cheap = rule("cheap", "sound", "seemly")
    strong = judge(
        name="strong",
        model="openai/served-1",
        endpoint=Endpoint.COMPATIBLE,
        api_base=provider.api_base,
        order=OrderPolicy.BOTH,
    )
    cascade = CascadeJudge(
        kind="cascade", name="two", first=cheap.digest, then=strong.digest, escalate=escalate
    )
    lay_down(store, texts, cheap, strong, cascade)
    label_all(store, {f"n-{n}": "pass" if n < 2 else "fail" for n in range(N)})


def run(db: Run, name: str, *more: str) -> Any:
    """`voirdire judge run`."""
    return db("judge", "run", "--judge", name, *ON, *more)


def test_the_second_judge_is_asked_for_what_is_sent_on(sqlite_store: Store) -> None:
    """Four of ten items, in both orders: 8 calls in place of 20; the cascade's own verdicts are examined."""
    with Provider(strict) as provider:
        laid(sqlite_store, provider, escalate=(Escalates.PASS,))
        db = on(address(sqlite_store))
        dry = told(run(db, "two", "--dry-run", "--json"))
        assert (dry["stages"][0]["plan"]["item_count"], provider.hits) == (N, [])
        assert run(db, "cheap").exit_code == 0
        ready = " ".join(run(db, "two", *PRICES, "--dry-run").stdout.split())
        assert "strong is asked about 4 of 10 items (40%): about 8 calls left, about $" in ready
        (done,) = told(run(db, "two", *PRICES, "--json"))["runs"]
        assert len(provider.hits) == 8
        again = run(db, "two", *PRICES)
        assert (again.exit_code, len(provider.hits)) == (0, 8)
    saved = done["saved"]
    assert (saved["items"], saved["sent_on"], saved["calls_saved"]) == (N, 4, 12)
    # each call: 100 tokens in and 7 out at a dollar a million
    assert saved["saved_micros"] == 12 * 107
    assert "4 of 10 items went to the second judge; 12 of its calls saved" in again.stdout
    report = told(db("calibrate", *ON, "--judge", "two", "--json"))
    assert (report["far"]["x"], report["far"]["n"], report["counts"]["accepted_among_pass"]) == (0, 8, 2)
    # paid for the four items in both orders, spread over the ten that the cascade judged
    assert (report["operation"]["cost_micros"], report["operation"]["items"]) == (8 * 107, N)
    alone = db("calibrate", *ON, "--judge", "strong")
    assert alone.exit_code == 3
    assert "'strong' has no verdict" in alone.stderr
    every = told(db("calibrate", *ON, "--judge", "all", "--json"))
    assert {each["judge"] for each in every["reports"]} == {"cheap", "two"}


def test_where_nothing_is_sent_on_nobody_is_asked(sqlite_store: Store) -> None:
    """The cheap judge always decides: the cascade is finished without a call."""
    with Provider(strict) as provider:
        laid(sqlite_store, provider, escalate=(Escalates.UNKNOWN,))
        found = run(on(address(sqlite_store)), "two")
        assert (found.exit_code, provider.hits) == (0, [])
    assert "nothing is sent on to strong" in found.stdout
    assert rows(sqlite_store, "SELECT count(*) FROM judge_run") == [(2,)]


def test_a_second_judge_that_was_asked_about_everything_is_not_asked_again(sqlite_store: Store) -> None:
    """Its run on all items holds the answers; nothing is saved, and the cascade costs what it reads."""
    with Provider(strict) as provider:
        laid(sqlite_store, provider, escalate=(Escalates.PASS,))
        db = on(address(sqlite_store))
        assert run(db, "strong").exit_code == run(db, "cheap").exit_code == 0
        (done,) = told(run(db, "two", "--json"))["runs"]
        assert len(provider.hits) == 20
    assert (done["saved"]["calls_saved"], done["saved"]["second_run"], done["verdicts"]["pass"]) == (
        0,
        None,
        2,
    )


def test_calls_that_fail_leave_their_items_open_and_the_rest_goes_on(sqlite_store: Store) -> None:
    """One refused item of four: exit 3 with the command to go on, and only that item is asked again."""
    broken = True

    def answers(hit: Hit) -> Answer:
        return fault(400) if broken and "seemly" in hit.last_text else strict(hit)

    with Provider(answers) as provider:
        laid(sqlite_store, provider, escalate=(Escalates.PASS,))
        db = on(address(sqlite_store))
        first = run(db, "two")
        assert first.exit_code == 3
        assert "2 units have no verdict" in first.stderr
        assert "judge run --judge two" in first.stderr
        broken, asked = False, len(provider.hits)
        assert run(db, "two").exit_code == 0
        assert len(provider.hits) - asked == 4


def test_a_cap_holds_for_all_stages_together(sqlite_store: Store) -> None:
    """Less than a call's worth is left: it stops at the second judge and says how to go on."""
    with Provider(strict) as provider:
        laid(sqlite_store, provider, escalate=(Escalates.PASS,))
        found = run(on(address(sqlite_store)), "two", *PRICES, "--max-cost", "0.0001")
        assert (found.exit_code, provider.hits) == (3, [])
    assert "go on with a cap above $0.0001:" in found.stderr


def test_repeats_of_a_cascade_are_refused(sqlite_store: Store) -> None:
    """Repeats are votes, and votes are a panel's."""
    with Provider(strict) as provider:
        laid(sqlite_store, provider, escalate=(Escalates.PASS,))
        found = run(on(address(sqlite_store)), "two", "--repeats", "2")
    assert found.exit_code == 3
    assert "leave out --repeats" in found.stderr


def test_a_judge_of_its_own_family_is_told_where_the_items_are_known(sqlite_store: Store) -> None:
    """When it is run, examined and signed, and as a member of a cascade; not where families are another's."""
    nowhere = {"endpoint": Endpoint.COMPATIBLE, "api_base": "http://127.0.0.1:9/v1"}  # never called
    own = judge(name="own", model="openai/gpt-4.1-2025-04-14", **nowhere)
    cheap = rule("cheap", "sound")
    cascade = CascadeJudge(kind="cascade", name="two", first=cheap.digest, then=own.digest)
    texts = [item(f"A sound answer {n}.", item_id=f"n-{n}") for n in range(4)]
    texts = [each.model_copy(update={"model_family": "gpt-4"}) for each in texts]
    lay_down(sqlite_store, texts, own, cheap, cascade)
    label_all(sqlite_store, {f"n-{n}": "pass" for n in range(4)})
    db = on(address(sqlite_store))
    dry = run(db, "own", "--dry-run")
    assert "! it judges outputs of its own family (gpt-4)" in dry.stdout
    assert "no examples" not in dry.stdout
    assert "! no examples for tone" in db("judge", "run", "--judge", "own", *ON[:2], "--dry-run").stdout
    assert "own family" in told(run(db, "own", "--dry-run", "--json"))["risks"][0]
    assert run(db, "two").exit_code == 0
    examined = db("calibrate", *ON, "--judge", "two")
    assert "! own: it judges outputs of its own family (gpt-4)" in examined.stderr
    signed = ("--policy", "far_only", "--sign", "R. Ito", "--reason", "to be seen")
    assert "! own: it judges" in db("admit", *ON, "--judge", "two", *signed).stderr
    assert "own family" not in db("calibrate", *ON, "--judge", "cheap").stderr
