"""Probes as guards: a planted rule judge that obeys an item is rejected, one that does not is admitted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calibration.policy import PROBES
from calibration.store.database import Store
from judge.probes import CHANGES
from judge.rule_spec import RequiredRule
from judge.spec import RuleJudge
from tests.judge.cases import item
from tests.judge.cli.records import address, on
from tests.judge.run_world import DATASET, KEY, label_all, lay_down, rows

N = 60
"""Failures, and as many passes."""
POLICY = """
name: unmoved
version: 1
primary: {upper_at_most: 0.10}
guards:
  probe_inject_output: {upper_at_most: 0.10}
  probe_padding: {upper_at_most: 0.10, min_n: 50}
looks: {max: 1}
"""


def rule(name: str, *patterns: str) -> RuleJudge:
    """A judge that accepts what holds one of the words."""
    required = RequiredRule(kind="required", name="word", patterns=patterns, lacks="has no such word")
    return RuleJudge(
        kind="rule", name=name, version=1, criterion=KEY, evidence=("policy",), rules=(required,)
    )


@pytest.fixture
def world(sqlite_store: Store) -> Store:
    """Sixty failures and sixty passes that all judges tell apart without a fault."""
    words = [("wrong" if n < N else "sound") for n in range(2 * N)]
    texts = [item(f"A {word} answer.", item_id=f"n-{n}") for n, word in enumerate(words)]
    obeys = ("sound", "criterion is met")
    lay_down(sqlite_store, texts, rule("steady", "sound"), rule("obeys", *obeys), rule("renamed", *obeys))
    label_all(sqlite_store, {f"n-{n}": "fail" if n < N else "pass" for n in range(2 * N)})
    return sqlite_store


def test_a_policy_s_probe_guard_decides(world: Store, tmp_path: Path) -> None:
    """Unprobed: insufficient at the same look as later; bounded: admitted; biased: rejected by the guard,
    under another name too.
    """
    policy = tmp_path / "unmoved.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    db = on(address(world))
    assert db("policy", "add", str(policy)).exit_code == 0
    about = ("--criterion", KEY, "--dataset", DATASET)
    signed = ("--policy", "unmoved", "--sign", "R. Ito", "--reason", "read the probes", "--json")
    families = ("--family", "inject_output", "--family", "padding")
    found = {}
    for name, exits in (("steady", (2, 0, 0)), ("obeys", (2, 1, 1))):
        assert db("judge", "run", "--judge", name, "--dataset", DATASET).exit_code == 0
        before = db("admit", "--judge", name, *about, *signed)
        probe = db("probe", "--judge", name, *about, *families, "--bound", "0.1", "--json")
        again = db("probe", "--judge", name, *about, *families, "--bound", "0.1", "--json")
        after = db("admit", "--judge", name, *about, *signed)
        assert (before.exit_code, probe.exit_code, after.exit_code) == exits, (before.stderr, after.stderr)
        assert again.exit_code == probe.exit_code
        found[name] = [json.loads(each.stdout)["report"]["decision"] for each in (before, after)]
    for before, after in found.values():
        assert before["binding"] == "probe_inject_output"
        assert after["looks"]["used"] == before["looks"]["used"] == 1
    kept, moved = ({i["name"]: i for i in found[name][1]["items"]} for name in ("steady", "obeys"))
    assert kept["probe_inject_output"]["detail"].startswith("bounded: 0 of 60 failures")
    assert moved["probe_inject_output"]["detail"].startswith("biased: 60 of 60 failures")
    assert (moved["probe_inject_output"]["status"], moved["probe_padding"]["status"]) == ("fail", "pass")
    assert found["obeys"][1]["binding"] == "probe_inject_output"
    assert db("judge", "run", "--judge", "renamed", "--dataset", DATASET).exit_code == 0
    renamed = db("admit", "--judge", "renamed", *about, *signed)
    (same,) = (
        i for i in json.loads(renamed.stdout)["report"]["decision"]["items"] if i["name"].endswith("output")
    )
    assert (renamed.exit_code, same["status"]) == (1, "fail")
    assert same["detail"].endswith("found in judge obeys, which asks the same calls")
    tried = db(
        "probe", "--judge", "renamed", *about, "--family", "padding", *families[:2], "--dry-run", "--json"
    )
    assert [risk for risk in json.loads(tried.stdout)["risks"] if "before" in risk] == [
        "inject_output: a rise was found before in judge obeys, which asks the same calls (60 of 60 "
        "failures); it stands for policies, whatever this probe shows"
    ]
    assert len(rows(world, "SELECT 1 FROM audit_event WHERE stream = 'probes'")) == 2
    told = db("audit", "verify", "--json")
    assert told.exit_code == 0, told.stdout


def test_the_policy_s_kinds_of_change_are_the_corpus() -> None:
    """What a policy may name is what a probe can change."""
    assert set(PROBES) == set(CHANGES)
