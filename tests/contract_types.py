"""Contract types for import-linter that hold while modules they name are not written yet.

import-linter refuses a forbidden or protected contract that names an absent module of ours, so a
contract could only be written after the module that it guards. These two drop absent names and
check the rest; `tests/test_architecture.py` makes sure that an absent name is planned and no slip.
"""

from __future__ import annotations

from typing import Any

from grimp import ImportGraph
from importlinter import ContractCheck
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.protected import ProtectedContract


def _keep(contract: Any, field: str, graph: ImportGraph, *, roots: tuple[str, ...] | None) -> None:
    """Drop from one field the plain module names that the graph does not hold.

    With `roots`, names outside those packages stay: import-linter knows how to treat an absent
    external package there.
    """
    named = getattr(contract, field)
    setattr(
        contract,
        field,
        type(named)(
            expression
            for expression in named
            if expression.has_wildcard_expression()
            or expression.expression in graph.modules
            or (roots is not None and expression.expression.split(".")[0] not in roots)
        ),
    )


class ForbiddenWherePresent(ForbiddenContract):
    """A forbidden contract over those of its modules that exist."""

    type_name = "forbidden_where_present"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """The check of the parent class without absent modules of ours."""
        roots = tuple(self.session_options["root_packages"])
        for field in ("source_modules", "forbidden_modules"):
            _keep(self, field, graph, roots=roots)
        return super().check(graph, verbose)


class ProtectedWherePresent(ProtectedContract):
    """A protected contract: only the allowed importers import the protected package, directly."""

    type_name = "protected_where_present"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """The check of the parent class without absent modules, ours or others'."""
        for field in ("protected_modules", "allowed_importers"):
            _keep(self, field, graph, roots=None)
        return super().check(graph, verbose)
