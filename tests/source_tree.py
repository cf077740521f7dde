"""The product's own files, as the tests about the code read them."""

from __future__ import annotations

import ast
import importlib.metadata
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = ROOT / "pyproject.toml"
PACKAGES = ("rubrics", "calibration", "judge", "labeling_ui")
LATE_ONLY = ("litellm", "sklearn", "scipy.stats")
"""Libraries that cost seconds: imported inside the function that needs them."""


@cache
def product_files() -> tuple[Path, ...]:
    """Every Python file of the four packages."""
    return tuple(sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py")))


@cache
def files_of_tests() -> tuple[Path, ...]:
    """Every Python file under tests/."""
    return tuple(sorted((ROOT / "tests").rglob("*.py")))


@cache
def repository_files() -> tuple[Path, ...]:
    """The files that git knows or would add; without git, everything but caches and hidden folders."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.CalledProcessError):
        return tuple(
            file for name in (*PACKAGES, "tests") for file in (ROOT / name).rglob("*") if file.is_file()
        )
    return tuple(ROOT / name for name in sorted(set(listed.split("\0"))) if name and (ROOT / name).is_file())


def module_name(file: Path, root: Path = ROOT) -> str:
    """The dotted name under which a product file below `root` is imported."""
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def module_exists(name: str) -> bool:
    """Whether a dotted name of ours is a file or a package in this tree."""
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


@cache
def contract(name: str) -> dict[str, list[str]]:
    """One import contract as pyproject.toml declares it."""
    declared = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    found: dict[str, list[str]] = next(entry for entry in declared if entry["id"] == name)
    return found


def declared_requirements() -> Iterator[Requirement]:
    """Every requirement of pyproject.toml, extras included."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    for group in (project["dependencies"], *project["optional-dependencies"].values()):
        yield from map(Requirement, group)


@cache
def module_owners() -> Mapping[str, list[str]]:
    """For each importable name the distributions that bring it; reading all of them takes seconds."""
    return importlib.metadata.packages_distributions()


@cache
def parsed(file: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def imports_at_top(tree: ast.Module) -> Iterator[str]:
    """The dotted names that importing the module imports: all but those inside functions.

    `from a import b` gives `a` and `a.b`, since b may be a module. Imports under TYPE_CHECKING
    never run and are left out.
    """
    yield from _imports(tree.body)


def _imports(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _imports(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody"):
                yield from _imports(getattr(node, field, []))
            for handler in getattr(node, "handlers", []):
                yield from _imports(handler.body)


def imports_anywhere(tree: ast.Module) -> Iterator[str]:
    """The dotted names imported anywhere in the module, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def under(name: str, package: str) -> bool:
    """Whether a dotted name is the package or lies in it."""
    return name == package or name.startswith(f"{package}.")


def among(names: Iterable[str], packages: Iterable[str]) -> set[str]:
    """The names that lie in one of the packages."""
    return {name for name in names if any(under(name, package) for package in packages)}


def cli_files() -> list[Path]:
    """The modules of the command line."""
    return [file for file in product_files() if under(module_name(file), "judge.cli")]


def findings(
    files: Iterable[Path], look: Callable[[ast.Module], Iterable[object]]
) -> dict[str, list[object]]:
    """What `look` finds in each file's syntax tree, for the files where it finds anything."""
    seen = {str(file.relative_to(ROOT)): list(look(parsed(file))) for file in files}
    return {name: found for name, found in seen.items() if found}


def all_python_files() -> list[Path]:
    """The product and its tests."""
    return [*product_files(), *files_of_tests()]


def pure_files() -> list[Path]:
    """The files of the modules that the contract `pure` names."""
    sources = contract("pure")["source_modules"]
    return [file for file in product_files() if any(under(module_name(file), source) for source in sources)]
