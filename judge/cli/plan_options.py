"""Options that the planning commands share, and what they refuse."""

from __future__ import annotations

from typing import Annotated

import typer


def share(value: float | None) -> float | None:
    """An option that is a share, refused where it does not lie in [0, 1]."""
    if value is not None and not 0 <= value <= 1:
        raise typer.BadParameter(f"{value:g} is not a share between 0 and 1; 0.10 means 10 %")
    return value


def open_share(value: float | None) -> float | None:
    """An option that is a share, refused where it does not lie strictly between 0 and 1."""
    if value is not None and not 0 < value < 1:
        raise typer.BadParameter(f"{value:g} does not lie strictly between 0 and 1; 0.10 means 10 %")
    return value


def price(value: float | None) -> float | None:
    """An option that is an amount of money, refused where it is negative or no number."""
    if value is not None and not 0 <= value < float("inf"):
        raise typer.BadParameter(f"{value:g} is not an amount of money: give 0 or more")
    return value


JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON, unrounded.")]
Limit = Annotated[
    float,
    typer.Option(
        metavar="RATE", callback=open_share, help="Largest share of failing answers a judge may accept."
    ),
]
TrueFar = Annotated[
    float,
    typer.Option(
        "--true-far",
        metavar="RATE",
        callback=share,
        help="Share of failing answers that the judge you hope for really accepts.",
    ),
]
Power = Annotated[
    float,
    typer.Option(metavar="SHARE", callback=open_share, help="How often it shall succeed, 0.8 is 80 %."),
]
Confidence = Annotated[
    float, typer.Option(metavar="SHARE", callback=open_share, help="Level of the two-sided interval.")
]
