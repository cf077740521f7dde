"""`voirdire simulate`: the gate as table, picture and page; planted judges promised against delivered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calibration.simulating import running
from calibration.simulating.planted import scenarios
from calibration.simulating.promises import Claim, share
from calibration.simulating.scenarios import Scenario
from judge.cli.gate_simulated import bar
from tests.command_line import run, spawn


def gate(*args: str) -> dict[str, Any]:
    """The JSON of the gate's curves."""
    result = run("simulate", "gate", *args, "--json")
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["schema"] == "voirdire.gate_curve/1"
    return found


def chances(found: dict[str, Any], curve: int = 0) -> dict[float, float]:
    """P(admit) by true FAR."""
    return {point["true_far"]: point["probability"] for point in found["curves"][curve]["points"]}


# -- the gate


def test_the_gate_by_default_is_table_1() -> None:
    """50, 80, 150 and 300 failures, FARs around the limit, exact."""
    found = gate()
    assert [curve["failures"] for curve in found["curves"]] == [50, 80, 150, 300]
    assert found["exact"]
    assert found["seed"] is None
    assert list(chances(found)) == pytest.approx([0, 0.02, 0.05, 0.08, 0.1, 0.12, 0.15])
    at_limit = [chances(found, number)[0.1] for number in range(4)]
    assert [round(each, 3) for each in at_limit] == [0.005, 0.011, 0.014, 0.017]


def test_the_gate_in_words_and_bars() -> None:
    """The first sentence says who is let through at the limit, the last line what is next; bars fall."""
    result = run("simulate", "gate", "--failures", "150")
    words = " ".join(result.stdout.split())
    assert words.startswith(
        "A judge at the limit of 10 % is admitted 1.4 % of the time with 150 failures, one from"
    )
    assert "One that accepts 2 % is admitted 98.9 % of the time." in words
    assert "Exact: binomial probabilities, nothing simulated." in words
    bars = [line.count("█") for line in result.stdout.splitlines() if "█" in line or "▏" in line]
    assert bars == sorted(bars, reverse=True)
    assert bars[0] == 40
    assert result.stdout.rstrip().splitlines()[-1].startswith("Next: voirdire plan failures --limit 0.1")


def test_lines_fit_a_narrow_terminal() -> None:
    """Up to four curves, simulated ones too, fit into 80 columns."""
    for args in ((), ("--failures", "80", "--failures", "150", "--per-cluster", "5", "--replicates", "200")):
        table = run("simulate", "gate", *args).stdout.split("\n\n")[1]
        assert max(map(len, table.splitlines())) <= 80


def test_clusters_are_simulated_with_seed_and_error() -> None:
    """Method, interval, replicates and seed stand beside every simulated point; the seed repeats it."""
    asked = ("--failures", "150", "--per-cluster", "5", "--replicates", "2000", "--seed", "7")
    found = gate(*asked)
    point = found["curves"][0]["points"][2]
    assert (point["method"], point["replicates"], found["seed"], found["exact"]) == (
        "simulated",
        2000,
        7,
        False,
    )
    assert point["lower"] < point["probability"] < point["upper"]
    assert found == gate(*asked)
    words = " ".join(run("simulate", "gate", *asked).stdout.split())
    assert "Simulated: 2,000 calibrations a point, seed 7; ± is the Monte Carlo error" in words
    assert "5 from each prompt, correlated at 0.3" in words


def test_ignoring_clusters_shows_what_it_costs() -> None:
    """Clusters taken for independent answers, three looks that share nothing: 14 % at the limit."""
    asked = ("--failures", "150", "--per-cluster", "5", "--looks", "3", "--unshared", "--ignore-clusters")
    found = gate(*asked, "--replicates", "3000", "--true-far", "0.1")
    assert chances(found)[0.1] == pytest.approx(0.144, abs=0.03)
    assert (found["planning_icc"], found["shared"], found["looks"]) == (None, False, 3)
    words = " ".join(run("simulate", "gate", *asked, "--replicates", "200").stdout.split())
    assert "taken for independent ones, 3 looks that do not share the error" in words


def test_looks_that_share_the_error_are_exact() -> None:
    """Three looks at 150 failures: .0066 at the limit."""
    found = gate("--failures", "150", "--looks", "3")
    assert found["exact"]
    assert chances(found)[0.1] == pytest.approx(0.0066, abs=5e-5)
    assert (
        "3 looks that share the error" in run("simulate", "gate", "--failures", "150", "--looks", "3").stdout
    )


def test_strata() -> None:
    """Two strata: exact by their tables, named with weight and ratio; the total is their sum."""
    asked = ("--stratum", "easy=0.7:80", "--stratum", "hard=0.3:40:3")
    found = gate(*asked)
    assert found["exact"]
    assert found["curves"][0]["failures"] == 120
    assert [s["ratio"] for s in found["strata"]] == [1, 3]
    assert chances(found)[0.1] == pytest.approx(0.0106, abs=5e-5)
    words = " ".join(run("simulate", "gate", *asked).stdout.split())
    assert "in 2 strata re-weighted by MOVER" in words
    assert "hard 40 failures, weight 0.3, FAR x3" in words


def test_own_fars_and_the_limit() -> None:
    """FARs that are asked for come with the limit; without one below it there is no second sentence."""
    assert list(chances(gate("--failures", "80", "--true-far", "0.3"))) == [0.1, 0.3]
    assert "One that accepts" not in run("simulate", "gate", "--failures", "80", "--true-far", "0.3").stdout


def test_the_page(tmp_path: Path) -> None:
    """--html writes the picture with points between those of the table where they are exact."""
    page = tmp_path / "gate.html"
    result = run("simulate", "gate", "--failures", "80", "--html", str(page))
    assert result.exit_code == 0
    assert f"Wrote {page}" in result.stderr
    text = page.read_text("utf-8")
    assert text.count("L") > 80
    assert "A judge at the limit of 10" in text
    simulated = ("--per-cluster", "5", "--replicates", "200", "--failures", "80")
    assert run("simulate", "gate", *simulated, "--html", str(page)).exit_code == 0
    assert "Simulated: 200 calibrations" in page.read_text("utf-8")


def test_a_file_that_is_not_ours_is_kept(tmp_path: Path) -> None:
    """--html does not replace a file of someone else's, unless forced."""
    other = tmp_path / "notes.html"
    other.write_text("mine", encoding="utf-8")
    refused = run("simulate", "gate", "--failures", "80", "--html", str(other))
    assert refused.exit_code == 3
    assert other.read_text("utf-8") == "mine"
    assert run("simulate", "gate", "--failures", "80", "--html", str(other), "--force").exit_code == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--limit", "1"), "1 does not lie strictly"),
        (("--failures", "51", "--per-cluster", "5"), "failures is 51; give a multiple of 5"),
        (("--failures", "2", "--looks", "3"), "looks is 3, more than"),
        (("--true-far", "2"), "2 is not a share"),
        (("--stratum", "easy"), "'easy' is not NAME=WEIGHT:FAILURES"),
        (("--stratum", "easy=0:10"), "the weight of stratum 'easy' is 0"),
        (("--stratum", "a=1:10", "--stratum", "a=1:10"), "strata have distinct names"),
        (("--stratum", "a=1:50", "--failures", "50"), "give strata or --failures"),
        (("--stratum", "a=1:50", "--stratum", "b=1:50:9", "--true-far", "0.9"), "would put a stratum at"),
        (("--icc", "1", "--per-cluster", "5"), "icc is 1"),
        (tuple(word for n in range(7) for word in ("--failures", str(50 + n))), "give at most 6"),
    ],
)
def test_what_the_gate_refuses(args: tuple[str, ...], said: str) -> None:
    """What cannot be simulated is a usage error in one sentence."""
    result = run("simulate", "gate", *args)
    assert result.exit_code == 64
    assert said in " ".join(result.stderr.split())


def test_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has no bar, anything can be seen, everything is full; in ASCII too."""
    assert [bar(p, 10, ascii_only=False) for p in (0, 1e-6, 0.55, 1)] == ["", "▏", "█████▌", "██████████"]
    assert [bar(p, 10, ascii_only=True) for p in (0, 1e-6, 0.55, 1)] == ["", "#", "######", "##########"]
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = spawn("simulate", "gate", "--failures", "50")
    assert b"########" in done.stdout
    assert b"\\x" not in done.stdout


# -- voirdire itself


def planted(promised: float) -> tuple[Scenario, ...]:
    """One judge of which one thing is promised."""
    judge = scenarios()[0]
    return (
        Scenario(
            "at the limit",
            judge.policy,
            judge.plant,
            lambda found, _: [
                share("admitted", sum(c.admitted for c in found), len(found), promised),
                share("admitted", 0, len(found), 0.5, claim=Claim.AT_MOST),
                share("told", len(found), len(found), 0.5, claim=Claim.AT_LEAST),
            ],
        ),
    )


def test_promises_kept_are_exit_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every promise stands with what was delivered and its band; the same as JSON."""
    monkeypatch.setattr(running, "scenarios", lambda: planted(0.014))
    result = run("simulate", "self", "--replicates", "20")
    assert result.exit_code == 0
    assert result.stdout.startswith("All 3 promises kept: 1 planted judge, 20 calibrations through")
    assert "✔ admitted" in result.stdout
    assert "at least 50.0 %" in result.stdout
    found = json.loads(run("simulate", "self", "--replicates", "20", "--json").stdout)
    assert found["kept"]
    assert found["promises"][0]["promised"] == 0.014
    assert found["promises"][0]["band"][1] >= found["promises"][0]["delivered"]


def test_a_broken_promise_is_exit_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside its band: the mark, the count, what to do, exit 1; JSON too."""
    monkeypatch.setattr(running, "scenarios", lambda: planted(0.9))
    result = run("simulate", "self", "--replicates", "20")
    assert result.exit_code == 1
    assert result.stdout.startswith("1 promise of 3 broken")
    assert "✘ admitted" in result.stdout
    assert "Next: sign nothing with this installation" in result.stdout
    told = run("simulate", "self", "--replicates", "20", "--json")
    assert told.exit_code == 1
    assert not json.loads(told.stdout)["kept"]


def test_quick_is_small_and_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """--quick runs fewer calibrations than the default, the same ones for the same seed."""
    asked: list[tuple[int, int]] = []
    real = running.run_self

    def watched(*, replicates: int, seed: int, told: Any) -> Any:
        asked.append((replicates, seed))
        return real(replicates=20, seed=seed, planted=planted(0.014), told=told)

    monkeypatch.setattr(running, "run_self", watched)
    assert run("simulate", "self", "--quick", "--seed", "4").exit_code == 0
    assert run("simulate", "self").exit_code == 0
    assert asked == [(running.QUICK, 4), (running.FULL, 0)]
    assert running.QUICK < running.FULL / 10


def test_quick_and_a_number_contradict_each_other() -> None:
    """--quick with --replicates is a usage error."""
    result = run("simulate", "self", "--quick", "--replicates", "50")
    assert result.exit_code == 64
    assert "not both" in result.stderr
