"""The house rules that no linter checks."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator

import pytest
from packaging.utils import canonicalize_name

from tests.source_tree import (
    LATE_ONLY,
    PACKAGES,
    ROOT,
    all_python_files,
    among,
    cli_files,
    declared_requirements,
    findings,
    imports_anywhere,
    imports_at_top,
    module_owners,
    product_files,
    pure_files,
    repository_files,
)

REVISIONS = ROOT / "calibration" / "store" / "migrations" / "versions"
"""Alembic's scripts: run by it in order, imported by nobody."""
BUSY = {"secrets", "time", "os", "socket", "subprocess", "uuid"}
"""Modules through which a pure module would reach the clock, the machine or chance."""
CLOCKS = re.compile(r"\b(datetime\.(now|utcnow)|(date|datetime)\.today)$")
OWN_CHANCE = re.compile(r"^(np\.|numpy\.)?random\.(?!(Random|default_rng|Generator|SeedSequence|PCG64)$)\w+$")
SEEDED = re.compile(r"(^|\.)(default_rng|Random)$")


def impurities(tree: ast.Module) -> set[str]:
    """Where a module asks the clock, the environment or a generator of its own."""
    found = {name for name in imports_anywhere(tree) if name.split(".")[0] in BUSY}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        called = ast.unparse(call.func)
        unseeded = SEEDED.search(called) and not (call.args or call.keywords)
        if unseeded or CLOCKS.search(called) or OWN_CHANCE.search(called):
            found.add(called)
    return found


def test_pure_modules_take_clock_generator_and_environment_as_arguments() -> None:
    """A pure module reads no clock, no environment and draws from no generator of its own."""
    assert findings(pure_files(), impurities) == {}


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from os import environ",
        "def f():\n    return datetime.now(UTC)",
        "x = np.random.default_rng()",
        "x = np.random.normal(3)",
        "x = datetime.date.today()",
        "x = random.random()",
        "x = random.Random()",
    ],
)
def test_impurity_is_noticed(source: str) -> None:
    """The check above sees each kind of impurity."""
    assert impurities(ast.parse(source))


def test_generator_from_an_argument_is_pure() -> None:
    """A seed that is passed in makes a generator pure."""
    source = "def f(seed):\n    return np.random.default_rng(seed).normal() + random.Random(seed).random()"
    assert impurities(ast.parse(source)) == set()


def test_product_code_asserts_nothing() -> None:
    """`python -O` drops asserts: product code raises named errors."""
    asserts = findings(
        product_files(), lambda tree: [n.lineno for n in statements(tree) if isinstance(n, ast.Assert)]
    )
    assert asserts == {}


def test_every_module_says_what_it_is() -> None:
    """Every module opens with a docstring."""
    assert findings(product_files(), lambda tree: [] if ast.get_docstring(tree) else ["no docstring"]) == {}


def test_files_are_short() -> None:
    """A file has at most 500 lines."""
    lengths = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in all_python_files()}
    assert {str(file.relative_to(ROOT)): lines for file, lines in lengths.items() if lines > 500} == {}


def test_function_bodies_are_short() -> None:
    """A function's body has at most 50 lines, its docstring not counted; a revision lists its tables."""
    files = [file for file in all_python_files() if file.parent != REVISIONS]
    assert findings(files, lambda tree: [body for body in bodies(tree) if body[1] > 50]) == {}


def bodies(tree: ast.Module) -> Iterable[tuple[str, int]]:
    """The name and body length of each function, docstring excluded."""
    for node in statements(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            described = ast.get_docstring(node, clean=False) and len(node.body) > 1
            yield node.name, (node.end_lineno or 0) - node.body[1 if described else 0].lineno + 1


BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement below, at any depth; expressions hold none and are not gone through."""
    for block in BLOCKS:
        for below in getattr(node, block, ()):
            yield below
            yield from statements(below)


def test_functions_are_found_at_any_depth() -> None:
    """The check above sees a function in a class, a branch, a handler, a case and another function."""
    places = [
        "class c:", "if x:\n pass\nelse:", "try:\n pass\nexcept E:", "try:\n pass\nfinally:",
        "match x:\n case 1:", "for x in y:", "with x:", "def outer():", "async def outer():",
    ]  # fmt: skip
    for place in places:
        source = f'{place}\n  def inner():\n   """Words."""\n   a = 1\n   return a'
        assert ("inner", 2) in set(bodies(ast.parse(source))), place


# written in two halves, so that this file does not name them either
INDEXES = tuple(map("".join, [("py", "pi.org"), ("python", "hosted"), ("npm", "js."), ("index", "-url")]))
PLACES = tuple(map("".join, [("/wo", "rk/"), ("/ro", "ot/"), ("/opt", "/wheels"), ("find", "-links")]))


@pytest.mark.parametrize("words", [INDEXES, PLACES], ids=["indexes", "places"])
def test_no_file_names_an_index_or_a_machine(words: tuple[str, ...]) -> None:
    """The repository says neither where its packages come from nor where it was written."""
    guilty = []
    for file in repository_files():
        text = file.read_bytes().decode("utf-8", "replace")
        guilty += [(str(file.relative_to(ROOT)), word) for word in words if word in text]
    assert guilty == []


def test_every_folder_of_modules_is_a_package() -> None:
    """A folder without `__init__.py` is invisible to the import contracts."""
    folders = {file.parent for file in product_files() if file.parent != REVISIONS}
    bare = {str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").is_file()}
    assert bare == set()


def test_root_holds_only_the_known_names() -> None:
    """The root stays the names that ARCHITECTURE lists; hidden files aside."""
    allowed = {
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "Makefile",
        "pyproject.toml",
        "requirements.lock",
        "tests",
    }
    names = {file.relative_to(ROOT).parts[0] for file in repository_files()}
    assert {name for name in names if not name.startswith(".")} - allowed - set(PACKAGES) == set()


# -- what the import contracts cannot see


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    """litellm, scikit-learn and scipy.stats cost seconds: they are imported inside functions only."""
    assert findings(product_files(), lambda tree: among(imports_at_top(tree), LATE_ONLY)) == {}


def test_command_line_imports_no_store_and_no_service_at_module_top() -> None:
    """A command imports its database or its server when it runs, not when the command line starts."""
    late = ("calibration.store", "judge.api", "sqlmodel", "sqlalchemy", "fastapi", "uvicorn", "alembic")
    assert findings(cli_files(), lambda tree: among(imports_at_top(tree), late)) == {}


def test_product_imports_no_test() -> None:
    """The product does not know its tests."""
    assert findings(product_files(), lambda tree: among(imports_anywhere(tree), ("tests", "pytest"))) == {}


# -- dependencies


def test_every_imported_library_is_declared() -> None:
    """The product imports no library that is there only because another library needs it."""
    declared = {canonicalize_name(requirement.name) for requirement in declared_requirements()}
    owners = module_owners()
    own = {*sys.stdlib_module_names, *PACKAGES, "pydantic_core"}  # pydantic pins its core to one version

    def undeclared(tree: ast.Module) -> set[str]:
        roots = {name.partition(".")[0] for name in imports_anywhere(tree)} - own
        return {root for root in roots if not declared & set(map(canonicalize_name, owners.get(root, [])))}

    assert findings(product_files(), undeclared) == {}
