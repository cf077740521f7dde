"""The mutation run itself: one small module in `make test`, a sample of everything in `make nightly`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.__main__ import LEAST
from tests.mutation.running import PARTS, TESTS, Outcome, mutants, prepare, run, sample, shown


def test_changes_to_one_module_are_noticed(tmp_path: Path) -> None:
    """Eight mutants of Holm's adjustment: at least as many are noticed as of the whole."""
    prepare(
        tmp_path,
        mutate=["calibration/statistics/multiplicity.py"],
        tests=["tests/calibration/statistics/test_multiplicity.py"],
    )
    names = mutants(tmp_path, processes=1)
    assert names
    assert all(name.startswith("calibration.statistics.multiplicity.") for name in names)
    found = run(tmp_path, sample(names, 8, seed=0), of=len(names), processes=1)
    assert found.run == 8
    assert len(found.killed) >= LEAST * found.run, [shown(tmp_path, name) for name in found.survived]


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_changes_to_everything_are_noticed(tmp_path: Path) -> None:
    """A sample of 300 mutants of statistics, report and decision: at least 85 % are noticed."""
    prepare(tmp_path, mutate=PARTS.values(), tests=TESTS)
    names = mutants(tmp_path, processes=1)
    found = run(tmp_path, sample(names, 300, seed=1), of=len(names), processes=1)
    print(*[found.share(part) for part in PARTS], *found.survived, sep="\n")
    assert len(found.killed) >= LEAST * found.run


def test_shares_are_told_with_an_interval_where_not_all_were_run() -> None:
    """19 of 20 with Wilson's interval; the share of a part that was not run is none."""
    killed = tuple(f"calibration.report.m{n}" for n in range(19))
    found = Outcome(40, killed, ("calibration.report.m19",))
    assert found.share() == "all: 19 of 20 killed, 95.0 % [76.4, 99.1]"
    assert found.share("report").startswith("report: 19 of 20 killed")
    assert found.share("admission") == "admission: none run"
    assert Outcome(20, killed, ("calibration.report.m19",)).share() == "all: 19 of 20 killed, 95.0 %"
