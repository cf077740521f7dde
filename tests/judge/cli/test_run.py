"""`voirdire judge run`: the plan first, then the run, how it ended and how to go on."""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest
from typer.testing import Result

from calibration.store.database import Store
from judge.runs import Progress
from judge.runs import bar as run_bars
from judge.runs.bar import run_bar
from judge.spec import BaselineJudge, Endpoint, ModelJudge
from rubrics.order import OrderPolicy
from tests.command_line import run
from tests.judge.cases import PAIRWISE, judge
from tests.judge.provider import Answer, Hit, Provider, completion, fault
from tests.judge.run_world import DATASET, KEY, label_all, lay_down, numbered, rows
from tests.judge.test_runs_plan import RULE, frozen_set

LENGTH = BaselineJudge(kind="baseline", name="length")


def command(store: Store, *words: str) -> Result:
    """`voirdire judge run` on the store, in this process."""
    return run("--db", store.where, "judge", "run", *words)


def served(provider: Provider, **changes: Any) -> ModelJudge:
    """A judge whose model is at the provider."""
    at = {"endpoint": Endpoint.COMPATIBLE, "api_base": provider.api_base, "order": OrderPolicy.AS_DECLARED}
    return judge(**{"name": "served", "model": "openai/served-model-1", **at, **changes})


def passes(delay: float = 0.0) -> Any:
    """A handler that answers every question with a pass."""
    text = json.dumps({"reason": "as asked", "verdict": "pass"})
    return lambda _hit: completion(text, delay=delay)


def test_the_plan_is_printed_and_a_dry_run_ends_there(sqlite_store: Store) -> None:
    """Units, calls, tokens, cost and conditions; nothing is asked and nothing recorded."""
    lay_down(sqlite_store, numbered(20), judge())
    result = command(
        sqlite_store, "--judge", "test-judge", "--dataset", DATASET, "--dry-run", "--criterion", KEY
    )
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "test-judge on dataset support under refunds@1: states_terms"
    assert lines[1] == "  40 units: 20 items x 2 orders"
    assert lines[2].startswith("  about 40 calls, ")
    assert "cost: not known; no price is known for this model" in result.stdout
    for word in ("fixed:", "sampled:", "uncontrolled:"):
        assert sum(line.strip().startswith(word) for line in lines) == 1
    assert max(map(len, lines)) <= 80
    assert rows(sqlite_store, "SELECT key FROM judge_run") == []


def test_a_dry_run_as_json(sqlite_store: Store) -> None:
    """The same as one object: plan, conditions and estimate, prices as given."""
    lay_down(sqlite_store, numbered(5), judge())
    given = ("--price-input", "1", "--price-output", "2", "--dry-run", "--json", "--repeats", "2")
    result = command(sqlite_store, "--judge", "test-judge", "--dataset", DATASET, "--criterion", KEY, *given)
    found = json.loads(result.stdout)
    assert found["dry_run"] is True
    assert found["plan"]["orders"] == ["ab", "ba"]
    assert (found["plan"]["item_count"], found["plan"]["repeats"]) == (5, 2)
    assert {"fixed", "sampled", "uncontrolled"} <= set(found["plan"])
    estimate = found["estimate"]
    assert (estimate["units"], estimate["calls"]) == (20, 20)
    assert estimate["cost"]["source"] == "declared"
    assert estimate["cost"]["micros"] == estimate["tokens"]["input"] + 2 * estimate["tokens"]["output"]


def test_a_judge_without_a_model_runs_at_once(sqlite_store: Store) -> None:
    """Every unit has its verdict: exit 0, the next command named; again, and nothing is new."""
    lay_down(sqlite_store, numbered(6), RULE)
    result = command(sqlite_store, "--judge", "says-days", "--dataset", DATASET)
    assert result.exit_code == 0
    assert "no call to a model" in result.stdout
    assert "6 of 6 units have their verdict.\n  pass 6\n" in result.stdout
    assert (
        "Next: voirdire calibrate --dataset support --judge says-days --criterion states_terms"
        in " ".join(result.stdout.split())
    )
    again = command(sqlite_store, "--judge", "says-days", "--dataset", DATASET)
    assert "6 of 6 units have their verdict, 0 of them new." in again.stdout
    assert "; 6 have their verdict, 0 are left" in again.stdout


def test_a_frozen_set_is_run_by_its_name(sqlite_store: Store) -> None:
    """Its members only; a set that may still change is refused with the command that freezes it."""
    lay_down(sqlite_store, numbered(6), RULE)
    frozen_set(sqlite_store, "n-1", "n-2")
    result = command(sqlite_store, "--judge", "says-days", "--set", "may", "--json")
    found = json.loads(result.stdout)
    assert (found["complete"], found["units"], found["verdicts"]) == (True, 2, {"pass": 2})
    assert found["stopped"] is None
    assert "resume" not in found
    assert command(sqlite_store, "--judge", "says-days", "--set", "june").exit_code == 3


def test_the_rubric_is_the_one_of_the_labels_or_has_to_be_named(sqlite_store: Store) -> None:
    """Two rubrics: named, or told by the labels of the items."""
    lay_down(sqlite_store, [], rubric=PAIRWISE)
    lay_down(sqlite_store, numbered(4), RULE)
    words = ("--judge", "says-days", "--dataset", DATASET)
    refused = command(sqlite_store, *words)
    assert refused.exit_code == 3
    assert "there are the rubrics pairs@1, refunds@1; name one with --rubric NAME@V" in refused.stderr
    assert command(sqlite_store, *words, "--rubric", "refunds@1").exit_code == 0
    label_all(sqlite_store, {"n-0": "pass"})
    assert command(sqlite_store, *words).exit_code == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--judge", "says-days"), 64, "name the items with either --set NAME or --dataset NAME"),
        (("--judge", "says-days", "--set", "a", "--dataset", "b"), 64, "either --set NAME or --dataset NAME"),
        (("--judge", "says-days", "--dataset", DATASET, "--price-input", "1"), 64, "give both --price-input"),
        (
            ("--judge", "says-days", "--dataset", DATASET, "--max-cost", "inf"),
            64,
            "--max-cost inf is no amount",
        ),
        (("--judge", "a", "--judge", "b", "--dataset", DATASET, "--max-cost", "1"), 64, "for one judge only"),
        (("--judge", "says-days", "--judge", "says-days", "--dataset", DATASET), 3, "each named once"),
        (("--judge", "says-days", "--dataset", DATASET, "--rate", "fast"), 64, "--rate: 'fast' is no rate"),
        (("--judge", "nobody", "--dataset", DATASET), 3, "no judge 'nobody' is recorded"),
        (("--judge", "says-days", "--dataset", "none"), 3, "dataset 'none' has no calibration item"),
        (
            ("--judge", "says-days", "--dataset", DATASET, "--criterion", "tone"),
            3,
            "answers only the pass or",
        ),
        (("--judge", "length", "--dataset", DATASET), 3, "learns from reference labels"),
    ],
)
def test_what_cannot_be_run_is_told_in_one_sentence(
    sqlite_store: Store, words: tuple[str, ...], code: int, said: str
) -> None:
    """Exit 64 for the command line, 3 for what it names; nothing on stdout, no traceback."""
    lay_down(sqlite_store, numbered(2), RULE, LENGTH)
    result = command(sqlite_store, *words)
    assert result.exit_code == code
    assert said in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_a_model_is_run_and_what_it_took_is_told(sqlite_store: Store) -> None:
    """Through the real LiteLLM to a server: verdicts, calls, tokens, cost by the prices given, its name."""
    with Provider(passes()) as provider:
        lay_down(sqlite_store, numbered(5), served(provider))
        words = ("--judge", "served", "--dataset", DATASET, "--criterion", KEY)
        prices = ("--price-input", "1", "--price-output", "2", "--max-cost", "1")
        slower = command(sqlite_store, *words, "--rate", "2/h", "--token-rate", "1000/min", "--dry-run")
        result = command(sqlite_store, *words, *prices, "--rate", "600/min")
    assert "  at most 2 calls/h and 1,000 tokens/min: 2.0 h at least" in slower.stdout
    assert result.exit_code == 0
    assert "  at most 600 calls/min\n" in result.stdout
    assert "5 of 5 units have their verdict." in result.stdout
    assert "5 calls, 500 tokens in, 35 tokens out, $0.00057" in result.stdout
    assert "; verdicts a dollar: 8,772" in result.stdout  # 5 for 570 millionths
    assert "answered by served-model-1" in result.stdout
    assert len(provider.hits) == 5


def test_a_key_that_is_refused_ends_the_run_in_one_sentence(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """401: one call, exit 3, what to check, how to go on; the key is nowhere."""
    monkeypatch.setenv("VOIRDIRE_API_KEY", "sk-canary-0123456789")
    with Provider(lambda _: fault(401, "wrong key sk-canary-0123456789")) as provider:
        lay_down(sqlite_store, numbered(30), served(provider))
        words = ("--judge", "served", "--dataset", DATASET, "--criterion", KEY)
        result = command(sqlite_store, *words, "--concurrency", "8")
    assert result.exit_code == 3
    assert len(provider.hits) == 1
    assert provider.hits[0].headers["authorization"] == "Bearer sk-canary-0123456789"
    told = result.stderr.splitlines()
    assert "refuses the key (HTTP 401); check the key and what it may use" in told[0]
    assert told[1] == f"  go on: voirdire judge run {shlex.join((*words, '--concurrency', '8'))}"
    assert "open: auth 1, not asked 29" in result.stdout
    everything = result.output + "".join(
        str(row) for row in rows(sqlite_store, "SELECT * FROM judge_call_fault")
    )
    assert "canary" not in everything


def test_a_key_that_is_not_set_is_told_before_anything_is_recorded(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable is named; no intent and no run is left behind."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    lay_down(sqlite_store, numbered(3), judge(model="openai/gpt-4.1-mini"))
    result = command(sqlite_store, "--judge", "test-judge", "--dataset", DATASET)
    assert result.exit_code == 3
    assert (
        "the model 'openai/gpt-4.1-mini' needs a key; set OPENAI_API_KEY in the environment" in result.stderr
    )
    assert "by the price map of the installed LiteLLM" in " ".join(result.stdout.split())
    assert rows(sqlite_store, "SELECT key FROM judge_run") == []


def test_a_cap_stops_the_run_and_names_itself(sqlite_store: Store) -> None:
    """Exit 3 with the sentence, as words and as JSON; a cap without a price is refused."""
    with Provider(passes()) as provider:
        lay_down(sqlite_store, numbered(9), served(provider))
        words = ("--judge", "served", "--dataset", DATASET, "--criterion", KEY, "--max-cost", "0.00105")
        prices = ("--price-input", "0", "--price-output", "1")
        result = command(sqlite_store, *words, *prices, "--json")
        unpriced = command(sqlite_store, *words)
    found = json.loads(result.stdout)
    assert result.exit_code == 3
    assert found["stopped"]["kind"] == "cost_cap"
    assert "raise the cap to go on" in result.stderr
    assert found["resume"].endswith("--price-input 0.0 --price-output 1.0 --max-cost AMOUNT")
    assert "  go on with a cap above $0.00105: voirdire judge run" in result.stderr
    # a call may cost 1,024 and costs 7: 28 + 1,024 would pass the cap of 1,050
    assert (found["cost"]["known_micros"], found["done"], found["pending"]) == (28, 4, 5)
    assert unpriced.exit_code == 3
    assert "no price is known for 'openai/served-model-1'" in unpriced.stderr


def test_ctrl_c_ends_with_130_and_the_command_to_go_on_works(sqlite_store: Store) -> None:
    """The calls in flight are finished, the rest is left; the printed command asks exactly the rest."""
    twelfth = threading.Event()

    def slow(hit: Hit) -> Answer:
        if hit.number >= 6:
            twelfth.set()
        answer: Answer = passes(0.3)(hit)
        return answer

    with Provider(slow) as provider:
        lay_down(sqlite_store, numbered(20), served(provider))
        words = ("judge", "run", "--judge", "served", "--dataset", DATASET, "--criterion", KEY)
        line = [
            sys.executable,
            "-m",
            "judge.cli.main",
            "--db",
            sqlite_store.where,
            *words,
            "--concurrency",
            "3",
        ]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert twelfth.wait(100)
            os.kill(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=100)
        assert process.returncode == 130
        asked = len(provider.hits)
        assert f"{asked} of 20 units have their verdict." in out
        assert f"not asked {20 - asked}" in out
        assert "voirdire: interrupted; the calls in flight were finished" in err
        resume = next(each for each in err.splitlines() if each.startswith("  go on: "))
        again = run("--db", sqlite_store.where, *shlex.split(resume.removeprefix("  go on: voirdire ")))
        assert again.exit_code == 0
        assert "20 of 20 units have their verdict" in again.stdout
    assert len(provider.hits) == 20


class Terminal(io.StringIO):
    """A stderr that a person looks at."""

    def isatty(self) -> bool:
        """It is a terminal."""
        return True


def test_whoever_interrupts_without_a_bar_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """On a pipe: that calls are finished and how to end at once; nothing where the run stops by itself."""
    with run_bar("gpt", done=0, units=9) as told:
        told(Progress(9, 1, 0, 0, stopping=True))
        assert capsys.readouterr().err == ""
        for done in (2, 3):
            told(Progress(9, done, 0, 0, stopping=True, interrupted=True))
    assert capsys.readouterr().err == "finishing the calls in flight; Ctrl-C stops at once.\n"


def test_the_bar_shows_after_a_while_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units done of all, money, failures; on a pipe there is none, and a quick run shows none."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with run_bar("gpt", done=1, units=9) as told:
        told(Progress(9, 2, 0, 0))
    assert "gpt" not in screen.getvalue()
    monkeypatch.setattr(run_bars, "AFTER_SECONDS", 0.0)
    shown = threading.Event()
    with run_bar("gpt", done=1, units=9) as told:
        while "gpt" not in screen.getvalue():
            shown.wait(0.01)
        told(Progress(9, 4, 2, 1_500_000, stopping=True))
    assert "4/9" in screen.getvalue()
    assert "$1.50, 2 failed, finishing the calls in flight" in screen.getvalue()
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with run_bar("gpt", done=0, units=1) as told:
        told(Progress(1, 1, 0, 0))
    assert pipe.getvalue() == ""


def test_planning_and_running_load_no_statistics(sqlite_store: Store) -> None:
    """A rule judge's run imports neither scikit-learn nor scipy.stats nor LiteLLM."""
    lay_down(sqlite_store, numbered(2), RULE)
    words = ["--db", sqlite_store.where, "judge", "run", "--judge", "says-days", "--dataset", DATASET]
    code = (
        "import sys\nfrom judge.cli.main import app\n"
        f"app({words!r}, standalone_mode=False)\n"
        "print([name for name in ('sklearn', 'scipy.stats', 'litellm') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_judges_named_together_are_asked_in_turn(sqlite_store: Store) -> None:
    """Item by item, each in a run of its own that says with whom; the words lead to the comparison."""
    with Provider(passes()) as provider:
        one, two = served(provider), served(provider, name="other", model="openai/other-model-2")
        lay_down(sqlite_store, numbered(6), one, two)
        words = ("--judge", "served", "--judge", "other", "--dataset", DATASET, "--criterion", KEY)
        dry = command(sqlite_store, *words, "--dry-run", "--json")
        result = command(sqlite_store, *words, "--concurrency", "1")
        again = json.loads(command(sqlite_store, *words, "--json").stdout)
    asked = [hit.body["model"] for hit in provider.hits]
    assert sorted(asked) == sorted(["served-model-1", "other-model-2"] * 6)
    assert all(
        abs(asked[:n].count("served-model-1") - asked[:n].count("other-model-2")) <= 2 for n in range(13)
    )
    assert "asked in turn with other, item by item" in str(
        json.loads(dry.stdout)["judges"][0]["plan"]["fixed"]
    )
    assert result.exit_code == 0
    assert result.stdout.count("6 of 6 units have their verdict.") == 2
    following = f"Next: voirdire judge compare served other --dataset {DATASET} --criterion {KEY}"
    assert following in " ".join(result.stdout.split())
    assert [(each["complete"], each["done_before"]) for each in again["judges"]] == [(True, 6), (True, 6)]
    assert len(again["judges"][0]["plan"]["in_turn_with"]) == 1


def test_a_judge_that_cannot_be_asked_stops_the_one_beside_it(sqlite_store: Store) -> None:
    """A refused key at one: exit 3, the other stops within a unit, and the command to go on names both."""
    with Provider(passes()) as good, Provider(lambda _: fault(401)) as bad:
        lay_down(sqlite_store, numbered(20), served(good), served(bad, name="locked"))
        words = ("--judge", "served", "--judge", "locked", "--dataset", DATASET, "--criterion", KEY)
        result = command(sqlite_store, *words, "--concurrency", "1")
    assert result.exit_code == 3
    assert len(good.hits) <= 4
    assert "--judge served --judge locked" in result.stderr
    assert "judge 'locked' stopped, and it is asked in turn with this one" not in result.stderr
