"""The table from a golden function's name to the adapter that answers it with our functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calibration.statistics.normal import z_value
from calibration.values import Undefined

Inputs = dict[str, Any]
Adapter = Callable[[Inputs], Any]
ADAPTERS: dict[str, Adapter] = {}


def golden(name: str) -> Callable[[Adapter], Adapter]:
    """Register the adapter of a golden function."""

    def register(adapter: Adapter) -> Adapter:
        ADAPTERS[name] = adapter
        return adapter

    return register


def level(inputs: Inputs) -> dict[str, Any]:
    """The keyword arguments of the level: an explicit z where there is one, else the confidence."""
    if inputs.get("z") is not None:
        return {"z": float(inputs["z"])}
    return {"confidence": float(inputs.get("conf", 0.95))}


def quantile(inputs: Inputs) -> float:
    """The z of a case."""
    return float(inputs["z"]) if inputs.get("z") is not None else z_value(float(inputs.get("conf", 0.95)))


def plain(value: Any) -> Any:
    """The value as JSON has it: undefined is null, tuples are lists."""
    if isinstance(value, Undefined):
        return None
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value
