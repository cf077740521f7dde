"""Which judges ask the same calls, so that what was found in one counts for the other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from calibration.calibrate.same_calls import ask_the_same, server
from calibration.store.database import Store
from calibration.store.judges import StoredJudge, add_judge, get_judge
from rubrics.digest import digest
from tests.judge.cases import POINTWISE

NOW = datetime(2026, 12, 1, tzinfo=UTC)
MODEL = {"kind": "model", "model": "openai/m", "reask": False, "prompt": {"text": "Judge."}}
RULE = {"kind": "rule", "version": 1, "description": "", "rules": [{"name": "word"}]}


@pytest.fixture
def recorded(sqlite_store: Store) -> Callable[..., StoredJudge]:
    """Records a judge of the fields, under an identity of them and of the engine that wrote its prompts."""

    def record(name: str, engine: int = 1, **content: Any) -> StoredJudge:
        named = {"name": name, **content}
        key = digest([engine, named])
        with sqlite_store.write() as session:
            add_judge(
                session=session,
                digest=key,
                judge_name=name,
                kind=content["kind"],
                content=named,
                actor="lead",
                at=NOW,
            )
            return get_judge(session=session, judge=key)

    return record


def test_what_moves_no_call_makes_no_other_judge(
    sqlite_store: Store, recorded: Callable[..., StoredJudge]
) -> None:
    """Name and re-ask of a model, name, number and description of a rule, names of members; nothing else."""
    model, again = recorded("a", **MODEL), recorded("b", **{**MODEL, "reask": True})
    other = recorded("b", **{**MODEL, "prompt": {"text": "Judge well."}})
    rule, second = recorded("r", **RULE), recorded("s", **{**RULE, "version": 2, "description": "x"})
    stricter = recorded("r", **{**RULE, "rules": [{"name": "words"}]})
    newer = recorded("a", engine=2, **MODEL)

    def panel(name: str, *members: StoredJudge, votes: int = 3) -> StoredJudge:
        listed = [{"judge": each.digest, "votes": votes} for each in members]
        return recorded(name, kind="panel", members=listed, rule="majority")

    def cascade(first: StoredJudge, then: StoredJudge, *sent: str) -> StoredJudge:
        return recorded("c", kind="cascade", first=first.digest, then=then.digest, escalate=list(sent))

    cases = [
        (model, model, True),
        (model, again, True),
        (rule, second, True),
        (panel("p", model, rule), panel("q", second, again), True),
        (cascade(model, rule, "unknown", "pass"), cascade(again, second, "pass", "unknown"), True),
        (model, other, False),
        (rule, stricter, False),
        (model, rule, False),
        (model, newer, False),
        (panel("p", model, rule), panel("q", model, rule, votes=1), False),
        (panel("p", model, rule), panel("q", other, rule), False),
        (cascade(model, rule, "pass"), cascade(rule, model, "pass"), False),
        (recorded("x", kind="external"), recorded("y", kind="external"), False),
    ]
    with sqlite_store.read() as session:
        for one, two, same in cases:
            assert ask_the_same(session=session, one=one, other=two, rubric=POINTWISE) is same, (one, two)
            assert ask_the_same(session=session, one=two, other=one, rubric=POINTWISE) is same, (one, two)


def test_another_spelling_of_a_model_escapes_no_finding(
    sqlite_store: Store, recorded: Callable[..., StoredJudge]
) -> None:
    """Limits that settle items without a call, names and spellings ask the same; what is sent does not."""
    spec = {
        "kind": "model",
        "model": "openai/m",
        "api_base": "http://127.0.0.1:8979/v1",
        "prompt": {"name": "p", "version": 1, "binary": "b", "several": "s"},
        "criteria_per_call": 1,
        "show": ["input", "policy"],
    }
    served = {**spec, "model": "m", "api_base": None, "weights": "a" * 64}
    cases: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
        (spec, {"max_characters": 100_000, "blank_output": "ask", "reask": True}, True),
        (spec, {"api_base": "http://LOCALHOST:8979/v1/"}, True),
        (spec, {"model": "hosted_vllm/m"}, True),
        (spec, {"prompt": {"name": "q", "version": 2, "binary": "b", "several": "t"}}, True),
        (spec, {"show": ["policy", "output", "input", "ticket"]}, True),
        ({**spec, "show": None}, {"show": ["input", "policy", "answer_key"]}, True),
        ({**spec, "criteria_per_call": "all"}, {"criteria_per_call": 2}, True),
        (served, {"model": "n", "context": 4096}, True),
        (spec, {"api_base": "http://127.0.0.1:8980/v1"}, False),
        (spec, {"model": "openai/n"}, False),
        (spec, {"prompt": {"name": "p", "version": 1, "binary": "c", "several": "s"}}, False),
        (spec, {"show": ["input"]}, False),
        (spec, {"show": None}, False),
        (spec, {"criteria_per_call": 2}, False),
        (served, {"weights": "b" * 64}, False),
    ]
    for at, (known, changed, same) in enumerate(cases):
        one, two = recorded(f"a{at}", **known), recorded(f"b{at}", **{**known, **changed})
        with sqlite_store.read() as session:
            assert ask_the_same(session=session, one=one, other=two, rubric=POINTWISE) is same, changed


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://127.0.0.1:80/v1", "HTTP://LocalHost/v1/", True),
        ("https://[::1]:443", "https://127.0.0.1/", True),
        ("https://api.example.org/v1", "https://API.Example.org.:443/v1", True),
        ("http://h/v1", "https://h/v1", False),
        ("http://h/v1", "http://h:8000/v1", False),
        ("http://h/v1", "http://h/V1", False),
        ("http://h/v1", "http://k/v1", False),
    ],
)
def test_a_server_has_one_spelling(one: str, other: str, same: bool) -> None:
    """Case of scheme and host, a default port, a slash at the end and names of this machine say nothing."""
    assert (server(one) == server(other)) is same
