"""Options that say what tokens cost, and what they refuse."""

from __future__ import annotations

import math
from typing import Annotated, TypeAlias

import typer

PriceInput: TypeAlias = Annotated[
    float | None, typer.Option(min=0, metavar="USD", help="Price of a million input tokens.")
]
PriceOutput: TypeAlias = Annotated[
    float | None, typer.Option(min=0, metavar="USD", help="Price of a million output tokens.")
]


def check_amount(option: str, dollars: float | None) -> None:
    """Refuse an amount of money that is no number, or without end."""
    if dollars is not None and not math.isfinite(dollars):
        raise typer.BadParameter(f"{option} {dollars} is no amount; give dollars, such as 2.50")


def check_prices(price_input: float | None, price_output: float | None) -> None:
    """Refuse one price without the other, and what is no amount."""
    if (price_input is None) != (price_output is None):
        raise typer.BadParameter("give both --price-input and --price-output, or neither")
    check_amount("--price-input", price_input)
    check_amount("--price-output", price_output)
