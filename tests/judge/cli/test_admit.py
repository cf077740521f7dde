"""`voirdire admit`: the decision table of the design comes out of the command, signed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from typer.testing import Result

from calibration.store.database import Store
from calibration.store.decisions import iter_decisions
from tests.calibration.filling import CLEAN, CRITERION, EXERCISE_3, Counts, fill, record_policy
from tests.judge.cli.records import Run, address, on

ONE_LOOK = "acceptance-one-look"
PASSES = {"accept": 120}


def admit(db: Run, policy: str, *more: str, judge: str = "gpt") -> Result:
    """The judge admitted by the policy on its dataset."""
    return db(
        "admit", "--judge", judge, "--criterion", CRITERION, "--dataset", "support", "--policy", policy,
        "--sign", "R. Ito", "--reason", "read the accepted failures", *more,
    )  # fmt: skip


def decided(
    store: Store, counts: Counts, policy: str, role: str = "acceptance"
) -> tuple[Result, dict[str, Any]]:
    """What the command ends with and prints."""
    from calibration.policy import LookRule, Minimum, shipped_policy

    with store.write() as session:
        base = shipped_policy("acceptance")
        one = {
            "name": ONE_LOOK,
            "looks": LookRule(max=1),
            "minimum": Minimum.model_validate({**base.minimum.model_dump(by_alias=True), "fail": 50}),
        }
        record_policy(session, base.model_copy(update=one))
        fill(session, counts)
    result = admit(on(address(store)), policy, "--role", role, "--json")
    return result, json.loads(result.stdout)


def nightly(*line: object) -> Any:
    """A line whose outcome and policy other lines have too."""
    return pytest.param(*line, marks=pytest.mark.slow)


TABLE = [
    # exercise 3 and its neighbours under the gate alone
    ("far_only", EXERCISE_3, 1, "far"),
    ("far_only", {"fail": {"reject": 50}, "pass": PASSES}, 0, "far"),
    ("far_only", {"fail": {"accept": 1, "reject": 49}, "pass": PASSES}, 2, "far"),
    nightly("far_only", {"fail": {"reject": 20}, "pass": PASSES}, 2, "far"),
    nightly("far_only", {"fail": {"accept": 4, "reject": 76}, "pass": PASSES}, 2, "far"),
    ("far_only", {"fail": {"accept": 1, "reject": 79}, "pass": PASSES}, 0, "far"),
    # 0 of 50: one look admits, three looks ask for two more
    (ONE_LOOK, {"fail": {"reject": 50}, "pass": PASSES}, 0, "far"),
    ("acceptance", {"fail": {"reject": 50}, "pass": PASSES}, 2, "far"),
    ("acceptance", {"fail": {"reject": 52}, "pass": PASSES}, 0, "far"),
    nightly("acceptance", {"fail": {"accept": 1, "reject": 51}, "pass": PASSES}, 2, "far"),
    nightly("acceptance", EXERCISE_3, 1, "far"),
    # the worked lines of open verdicts
    ("far_only", {"fail": {"accept": 2, "reject": 28, "missing": 30}, "pass": PASSES}, 2, "far"),
    nightly("far_only", {"fail": {"accept": 16, "reject": 64, "missing": 30}, "pass": PASSES}, 2, "far"),
    ("far_only", {"fail": {"accept": 20, "reject": 60, "missing": 30}, "pass": PASSES}, 1, "far"),
    # kappa .086 never rejects: its false acceptance does
    ("acceptance", {"fail": {"accept": 9, "reject": 1}, "pass": {"accept": 980, "reject": 10}}, 1, "far"),
    # the other roles
    ("review_trigger", {"fail": {"reject": 35}, "pass": PASSES}, 0, "far"),
    ("diagnostic", {"fail": {"accept": 15}, "pass": {"accept": 15}}, 0, "minimum_cases"),
]


@pytest.mark.parametrize(("policy", "counts", "code", "binding"), TABLE)
def test_the_decision_table(
    sqlite_store: Store, policy: str, counts: Mapping[str, Any], code: int, binding: str
) -> None:
    """Outcome, exit code and binding item of each line; the signed record says the same."""
    role = policy if policy in {"review_trigger", "diagnostic"} else "acceptance"
    result, said = decided(sqlite_store, counts, policy, role)
    outcome = {0: "admit", 1: "reject", 2: "insufficient_evidence"}[code]
    assert (result.exit_code, said["outcome"]) == (code, outcome), result.stderr
    assert said["report"]["decision"]["binding"] == binding
    with sqlite_store.read() as session:
        (stored,) = iter_decisions(session=session)
    assert (stored.outcome, stored.hash, stored.scope.role) == (outcome, said["decision"], role)


def test_on_postgresql_too(postgres_store: Store) -> None:
    """0 of 52 is admitted by default, and the record is there."""
    result, said = decided(postgres_store, {"fail": {"reject": 52}, "pass": PASSES}, "acceptance")
    assert (result.exit_code, said["outcome"]) == (0, "admit")


def test_kappa_alone_never_rejects(sqlite_store: Store) -> None:
    """[[980, 10], [9, 1]] turned to a good judge: kappa is not assessed or warns, and FAR decides."""
    counts = {"fail": {"reject": 60}, "pass": {"accept": 940, "reject": 50}}
    _, said = decided(sqlite_store, counts, "acceptance")
    items = {item["name"]: item["status"] for item in said["report"]["decision"]["items"]}
    assert items.get("kappa_vs_reference", "warning") in {"pass", "warning"}
    assert said["outcome"] == "admit"


@pytest.mark.parametrize(
    ("policy", "role"),
    [("acceptance", "review_trigger"), ("far_only", "diagnostic"), ("diagnostic", "acceptance"),
     ("review_trigger", "acceptance")],
)  # fmt: skip
def test_a_policy_of_another_role_signs_nothing(sqlite_store: Store, policy: str, role: str) -> None:
    """The refusal names both roles, and nothing is recorded."""
    with sqlite_store.write() as session:
        fill(session, CLEAN)
    db = on(address(sqlite_store))
    result = admit(db, policy, "--role", role)
    assert result.exit_code == 3
    assert "serves the role" in result.stderr
    assert f"the decision is for {role!r}" in " ".join(result.stderr.split())
    with sqlite_store.read() as session:
        assert list(iter_decisions(session=session)) == []


def test_the_words_that_a_person_reads(sqlite_store: Store) -> None:
    """Outcome, signer, validity and the first digits of the decision."""
    with sqlite_store.write() as session:
        fill(session, CLEAN)
    db = on(address(sqlite_store))
    said = " ".join(admit(db, "far_only").stdout.split())
    assert "Signed by R. Ito (local, unverified): admit, valid until" in said


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            ("--override-days", "0", "--second", "A. Blum", "--second-reason", "agrees with it"),
            "a day at least",
        ),
        (("--override-days", "7", "--second", ""), "is no name"),
        (("--second-reason", "agrees with it"), "name them with --second"),
        (("--role", "bogus"), "acceptance, review_trigger, diagnostic"),
    ],
)
def test_an_override_in_part_signs_nothing(given: tuple[str, ...], words: str) -> None:
    """What cannot be meant is refused before a store is opened, rather than dropped."""
    refused = admit(on("/nowhere/at/all.db"), "far_only", *given)
    said = " ".join(refused.stderr.replace("│", " ").split())
    assert (refused.exit_code, words in said) == (64, True), said
