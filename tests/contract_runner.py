"""Check the import contracts on skeletons of the packages, in a process that never imported them.

`python -m tests.contract_runner DIRECTORY PYPROJECT` reads a list of plants as JSON on stdin, each
{module: [names that it imports]}, and prints for each the ids of the contracts that it breaks. Each gets
a skeleton of its own, which holds every module of the layout, empty but for the planted imports; each
second import of a module is planted inside a function, since a lazy import counts like any other.
"""

from __future__ import annotations

import importlib
import json
import sys
import tomllib
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from importlinter import configuration
from importlinter.application import use_cases
from importlinter.application.output import console

from tests.source_tree import PACKAGES

Plant = dict[str, list[str]]

LAYOUT = tuple(
    f"{package}.{name}"
    for package, names in {
        "rubrics": "verdict rubric item digest diff loader errors",
        "calibration": (
            "values labels evidence reference statistics.proportions statistics.agreement sampling policy "
            "report admission rendering store.database store.schema store.items store.references "
            "store.verdicts store.judges store.reports store.decisions store.erasing store.integrity "
            "store.backup store.run_lock store.adjudication_draws interchange.flat labeling "
            "labeling.sessions labeling.agreement labeling.sheets calibrate registry monitoring"
        ),
        "judge": (
            "spec prompt parsing order panel probes model_client local_model grading runs workers service "
            "baselines rules settings api.grading cli.main cli.judge"
        ),
        "labeling_ui": "components rating.app rating.label review.app review.judges",
    }.items()
    for name in names.split()
)
"""The modules of the architecture that the contracts speak of, written already or not."""


def packages_of(modules: tuple[str, ...]) -> set[str]:
    """Every package that holds one of the modules."""
    return {module.rsplit(".", depth)[0] for module in modules for depth in range(1, module.count(".") + 1)}


def lay_skeleton(root: Path, plant: Plant) -> None:
    """Write the layout under `root` with the planted imports."""
    modules = (*LAYOUT, *(module for module in plant if module not in LAYOUT))
    for package in packages_of(modules):
        directory = root.joinpath(*package.split("."))
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "__init__.py").write_text("", encoding="utf-8")
    for module in modules:
        lines = [
            f"import {name}" if number % 2 == 0 else f"def late() -> None:\n    import {name}"
            for number, name in enumerate(plant.get(module, []))
        ]
        root.joinpath(*module.split(".")).with_suffix(".py").write_text("\n".join(lines), encoding="utf-8")


def check_contract(pyproject: Path, contract: str) -> tuple[bool, str]:
    """Whether the packages on sys.path keep one contract, and what import-linter says of it."""
    configuration.configure()
    with redirect_stdout(StringIO()) as said, console.capture() as report:
        kept = use_cases.lint_imports(
            str(pyproject), (contract,), cache_dir=None, is_debug_mode=True, no_logo=True
        )
    return kept, said.getvalue() + report.get()


def contract_ids(pyproject: Path) -> list[str]:
    """The ids of the declared contracts, in order."""
    declared = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    return [contract["id"] for contract in declared]


def broken_by(plant: Plant, root: Path, pyproject: Path) -> list[str]:
    """The contracts that a skeleton with this plant, laid in the new folder `root`, breaks."""
    lay_skeleton(root, plant)
    sys.path.insert(0, str(root))
    importlib.invalidate_caches()
    try:
        return [name for name in contract_ids(pyproject) if not check_contract(pyproject, name)[0]]
    finally:
        sys.path.remove(str(root))


def main() -> None:
    """Read the plants, print the ids of the contracts that each breaks."""
    folder, pyproject = Path(sys.argv[1]), Path(sys.argv[2])
    plants: list[Plant] = json.load(sys.stdin)
    found = [broken_by(plant, folder / str(number), pyproject) for number, plant in enumerate(plants)]
    if loaded := sorted(set(PACKAGES) & set(sys.modules)):
        raise AssertionError(f"{loaded} were imported: a skeleton could be mistaken for them")
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
