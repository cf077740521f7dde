"""Options that say how a provider is asked, and what they refuse."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, TypeAlias

import typer


class Client(StrEnum):
    """Who makes the calls."""

    AUTO = "auto"
    DIRECT = "direct"
    LITELLM = "litellm"

    @property
    def direct(self) -> bool | None:
        """Whether the calls are made without LiteLLM; None where that can be."""
        return None if self is Client.AUTO else self is Client.DIRECT


Rate: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="N/min", help="Calls that the provider allows, retries included: 500/min, 8/s."),
]
TokenRate: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="N/min", help="Tokens that it allows; a call counts with the longest reply it may give."
    ),
]
AllowModelChange: TypeAlias = Annotated[
    bool,
    typer.Option("--allow-model-change", help="Go on where the provider says that another model answers."),
]


def check_rates(given: Mapping[str, str | None]) -> None:
    """Refuse, by the name of its option, what is no rate."""
    from judge.runs.pacing import parse_rate
    from rubrics.errors import DeclarationError

    for option, text in given.items():
        try:
            parse_rate(text or "1/s")
        except DeclarationError as error:
            raise typer.BadParameter(f"{option}: {error}") from error
