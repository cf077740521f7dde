"""A decision covers so many attempts of an item: what is resubmitted until it passes goes to people."""

from __future__ import annotations

from pathlib import Path

from calibration.store.database import Store
from tests.judge.cli.grading import TRUE, answers
from tests.judge.cli.records import address, on, told
from tests.judge.grading_world import GOOD, WATCHFUL, admitted, item, lay_down, rule

TWICE = WATCHFUL.model_copy(update={"name": "twice", "most_attempts": 2})


def test_further_attempts_go_to_people(sqlite_store: Store, tmp_path: Path) -> None:
    """Two are judged; the third alone is refused, and beside another item it is pending."""
    with sqlite_store.write() as session:
        lay_down(session)
        decision = admitted(session, rule("true", "free"), "true", policy=TWICE)
    assert decision.content["most_attempts"] == 2
    db = on(address(sqlite_store))
    one = answers(tmp_path, [item("x1", GOOD)])
    for attempt in (1, 2):
        (given,) = told(db("grade", one, *TRUE, "--json"))["grades"]
        assert (given["overall"], given["attempt"]) == ("pass", attempt)
    third = db("grade", one, *TRUE)
    assert third.exit_code == 4
    assert "attempt 3 of this item; the decision covers 2" in " ".join(third.stderr.split())
    both = answers(tmp_path, [item("x1", GOOD), item("x2", GOOD)])
    old, new = told(db("grade", both, *TRUE, "--json"))["grades"]
    assert (old["overall"], new["overall"]) == ("pending", "pass")
    assert [(flag["trigger"], flag["field"]) for flag in old["flags"]] == [("attempts", "attempt")]
    assert "Covers at most 2 attempts of an item" in db("decisions", "show", decision.hash[:12]).stdout
    assert "graded at most 2 times on one decision" in " ".join(db("policy", "show", "twice").stdout.split())
