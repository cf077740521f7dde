"""What the statistics may load: `voirdire check` starts without scipy.stats and scikit-learn."""

from __future__ import annotations

import subprocess
import sys

from tests.source_tree import ROOT

MODULES = sorted(file.stem for file in (ROOT / "calibration" / "statistics").glob("*.py"))

USE = """
import numpy as np
from calibration.statistics.bias import LengthRow, verbosity_effect
from calibration.statistics.paired import mcnemar_exact
from calibration.statistics.planning import failures_for_power, largest_true_far
from calibration.statistics.proportions import clopper_pearson_interval
from calibration.statistics.ranking import clustered_difference
from calibration.statistics.strata import Stratum, korn_graubard
mcnemar_exact(3, 9)
failures_for_power(limit=0.1, true_far=0.02, power=0.9, z=1.96)
largest_true_far(60, limit=0.1, power=0.8, z=1.96)
clopper_pearson_interval(3, 9)
clustered_difference([1, 0], [2, 2])
korn_graubard([Stratum(0.5, 1, 9), Stratum(0.5, 2, 9)])
verbosity_effect([LengthRow(False, 6, 2, 3), LengthRow(False, 7, 3, 2)])
"""


def loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after running the code."""
    program = code + "\nimport sys\nprint(' '.join(sys.modules))"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    return set(ran.stdout.split())


def test_importing_all_statistics_loads_no_scipy() -> None:
    """The functions that need scipy import it."""
    names = loaded(
        "\n".join(f"import calibration.statistics.{name}" for name in MODULES if name != "__init__")
    )
    assert "calibration.statistics.bootstrap" in names
    assert {name for name in names if name.split(".")[0] in ("scipy", "sklearn", "statsmodels")} == set()


def test_using_them_loads_neither_scipy_stats_nor_scikit_learn() -> None:
    """Quantiles come from scipy.special, separation from scipy.optimize; nothing reaches further."""
    names = loaded(USE)
    assert "scipy.special" in names
    assert not {"scipy.stats", "sklearn"} & names
