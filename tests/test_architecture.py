"""The import contracts hold, bite, and miss nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.contract_runner import LAYOUT, Plant, check_contract, contract_ids
from tests.source_tree import (
    PACKAGES,
    PYPROJECT,
    ROOT,
    module_exists,
    under,
)

CONTRACTS = {
    contract["id"]: contract
    for contract in tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
}

PLANTS: list[tuple[set[str], Plant]] = [
    ({"shells"}, {"rubrics.verdict": ["calibration.values"]}),
    ({"shells"}, {"calibration.calibrate": ["judge.runs"]}),
    ({"shells"}, {"judge.cli.main": ["labeling_ui.rating.app"]}),
    ({"shells"}, {"labeling_ui.review.app": ["os", "judge.service"]}),
    ({"calibration"}, {"calibration.reference": ["calibration.evidence"]}),
    ({"calibration"}, {"calibration.store.items": ["os", "calibration.interchange.flat"]}),
    ({"calibration"}, {"calibration.labeling": ["calibration.calibrate"]}),
    ({"calibration"}, {"calibration.monitoring": ["calibration.registry"]}),
    ({"calibration"}, {"calibration.statistics.proportions": ["calibration.sampling"]}),
    ({"calibration"}, {"calibration.smuggled": []}),
    ({"calibration", "pure"}, {"calibration.report": ["os", "calibration.store.items"]}),
    ({"pure"}, {"calibration.statistics.proportions": ["os", "sqlmodel"]}),
    ({"pure"}, {"rubrics.loader": ["fastapi"]}),
    ({"pure"}, {"judge.parsing": ["httpx"]}),
    ({"pure"}, {"judge.prompt": ["judge.model_client"], "judge.model_client": ["litellm"]}),
    ({"pure"}, {"judge.panel": ["calibration.store.verdicts"]}),
    ({"blind"}, {"labeling_ui.rating.label": ["os", "calibration.report"]}),
    (
        {"blind"},
        {
            "labeling_ui.rating.app": ["calibration.labeling"],
            "calibration.labeling": ["calibration.store.references"],
            "calibration.store.references": ["calibration.store.verdicts"],
        },
    ),
    (
        {"blind"},
        {
            "labeling_ui.rating.app": ["labeling_ui.components"],
            "labeling_ui.components": ["calibration.registry"],
        },
    ),
    ({"blind"}, {"labeling_ui.rating.app": ["labeling_ui.review.app"]}),
    ({"blind", "shells"}, {"labeling_ui.rating.app": ["judge.spec"]}),
    ({"litellm"}, {"judge.grading": ["os", "litellm"]}),
    ({"litellm"}, {"judge.cli.judge": ["litellm.types"]}),
    ({"litellm"}, {"calibration.labeling": ["litellm"]}),
    ({"streamlit"}, {"judge.api.grading": ["streamlit"]}),
    ({"streamlit"}, {"calibration.labeling": ["os", "streamlit"]}),
    (
        set(),
        {
            "judge.model_client": ["litellm", "aiohttp"],
            "judge.local_model": ["litellm"],
            "judge.grading": ["judge.model_client", "calibration.registry"],
            "calibration.registry": ["calibration.calibrate", "calibration.store.decisions"],
            "calibration.store.items": ["sqlmodel", "rubrics.item"],
            "labeling_ui.rating.app": ["streamlit", "calibration.labeling"],
            "calibration.labeling": ["calibration.reference", "calibration.store.references"],
            "labeling_ui.review.app": ["calibration.registry"],
        },
    ),
]


@pytest.mark.parametrize("contract", CONTRACTS)
def test_contract_is_kept(contract: str) -> None:
    """The code keeps the import contract."""
    kept, said = check_contract(PYPROJECT, contract)
    assert kept, said


@pytest.fixture(scope="module")
def found_broken(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """For each plant the contracts that it breaks, found in one process that imports none of the packages."""
    folder = str(tmp_path_factory.mktemp("plants"))
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract_runner", folder, str(PYPROJECT)],
        input=json.dumps([plant for _, plant in PLANTS]),
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[list[str]] = json.loads(done.stdout)
    assert len(found) == len(PLANTS)
    return found


@pytest.mark.parametrize("number", range(len(PLANTS)), ids=["+".join(sorted({*b, *p})) for b, p in PLANTS])
def test_planted_violation_breaks_exactly_its_contract(number: int, found_broken: list[list[str]]) -> None:
    """An import planted in an empty copy of the layout breaks the contract that forbids it, and no other."""
    assert set(found_broken[number]) == PLANTS[number][0]


def test_every_contract_has_a_planted_violation() -> None:
    """No contract is believed to bite without having been seen to."""
    assert set().union(*(broken for broken, _ in PLANTS)) == set(contract_ids(PYPROJECT))


def named_modules(contract: dict[str, object]) -> set[str]:
    """Our own modules that a contract names."""
    names: set[str] = set()
    for field in ("source_modules", "forbidden_modules", "protected_modules", "allowed_importers"):
        listed = contract.get(field, [])
        assert isinstance(listed, list)
        names.update(name for name in listed if name.split(".")[0] in PACKAGES)
    return names


@pytest.mark.parametrize("contract", CONTRACTS)
def test_contract_names_no_module_by_mistake(contract: str) -> None:
    """A name in a contract is a module that exists or one that the architecture plans."""
    planned = {name.rsplit(".", depth)[0] for name in LAYOUT for depth in range(name.count(".") + 1)}
    slips = {name for name in named_modules(CONTRACTS[contract]) - planned if not module_exists(name)}
    assert not slips


def calibration_layers() -> list[set[str]]:
    """The layers inside calibration from top to bottom."""
    return [set(re.findall(r"\w+", layer)) for layer in CONTRACTS["calibration"]["layers"]]


def test_pure_contract_covers_every_layer_below_the_store() -> None:
    """Whatever lies below the store inside calibration is a source of the contract `pure`."""
    layers = calibration_layers()
    pure = set().union(*layers[layers.index({"store"}) + 1 :])
    listed = {
        name.split(".")[1] for name in CONTRACTS["pure"]["source_modules"] if under(name, "calibration")
    }
    assert listed == pure


# fmt: off
OPEN_TO_RATERS = {
    "__init__", "assessments", "assignments", "blind", "chain", "columns", "database", "imports", "inserting",
    "items", "payloads", "people", "rater_records", "reading", "references", "retractions", "rubrics",
    "schema", "sessions", "text", "triggers",
}
# fmt: on
"""Store modules that the rating app may reach: items, labels, and what every table needs."""


def undeclared_store_modules(root: Path) -> set[str]:
    """Store modules of no secrecy class: neither forbidden to raters nor declared open to them."""
    store = root / "calibration" / "store"
    present = {path.stem for path in store.glob("*.py")}
    secret = {
        name.rpartition(".")[2]
        for name in CONTRACTS["blind"]["forbidden_modules"]
        if under(name, "calibration.store")
    }
    return present - secret - OPEN_TO_RATERS


def test_every_store_module_has_a_secrecy_class() -> None:
    """A new store module is declared: forbidden to the rating app, or open to raters."""
    assert undeclared_store_modules(ROOT) == set()


def test_an_undeclared_store_module_is_noticed(tmp_path: Path) -> None:
    """The check above sees a store module that nobody declared."""
    store = tmp_path / "calibration" / "store"
    store.mkdir(parents=True)
    for name in ("items", "verdicts", "gossip"):
        (store / f"{name}.py").touch()
    assert undeclared_store_modules(tmp_path) == {"gossip"}
