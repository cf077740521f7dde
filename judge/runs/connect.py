"""The model of a judge, reachable for the time of a run: served here, or called where it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pydantic import SecretStr

from judge.calls import CostSource, Prices
from judge.direct_client import connect_direct, speaks
from judge.local_model import serve
from judge.model_client import connect, map_prices, missing_key
from judge.parsing import Reading
from judge.retries import Gate, Turn
from judge.runs.budget import Tariff
from judge.runs.run import ClientFactory
from judge.spec import Endpoint, JudgeSpec, ModelJudge
from rubrics.errors import DeclarationError

CONCURRENCY = 8
"""Calls in flight at first."""
MOST = 64
"""Calls in flight that a run finds its way up to, where nobody says how many."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How a run reaches the model of its judge."""

    client: ClientFactory | None
    """None for a judge that makes no call."""
    served_at: str | None = None
    concurrency: int = MOST
    """Calls in flight at most, where nobody says otherwise; the client's gate begins lower."""


def tariff_of(judge: JudgeSpec, prices: Prices | None = None) -> tuple[Tariff, CostSource]:
    """By which prices the judge's calls are paid, and where these come from; `prices` are the operator's."""
    if not isinstance(judge, ModelJudge):
        return Tariff(free=True), CostSource.UNBILLED
    if judge.endpoint is Endpoint.EMBEDDED:
        return Tariff(free=True), CostSource.EMBEDDED
    if prices is not None:
        return Tariff(prices), CostSource.DECLARED
    if judge.endpoint is Endpoint.COMPATIBLE:  # a model there only borrows a known name
        return Tariff(), CostSource.UNKNOWN
    found = map_prices(judge.model)
    return Tariff(found), CostSource.PRICE_MAP if found else CostSource.UNKNOWN


@contextmanager
def connected(
    judge: JudgeSpec,
    *,
    prices: Prices | None = None,
    gguf: Path | None = None,
    api_key: SecretStr | None = None,
    direct: bool | None = None,
    adaptive: bool = True,
    turn: Turn | None = None,
) -> Iterator[Connection]:
    """The judge's model, reachable inside the block.

    Args:
        judge: of the run.
        prices: what the operator says that tokens cost.
        gguf: the file of an embedded model that is not the default one.
        api_key: of an OpenAI-compatible server; a provider's own key comes from the environment.
        direct: whether to call without LiteLLM, None where that can be; both send the same request, so it is
            no part of a judge. An embedded model has its own client.
        adaptive: find how many calls the provider takes at once; else as many as the run allows.
        turn: waits until an attempt may be made that follows a failed one.

    Raises:
        DeclarationError: the direct client cannot call this model, a provider's key is not set, or an
            embedded model cannot be served.
        ExecutionError: the server of an embedded model does not start.
    """
    if not isinstance(judge, ModelJudge):
        yield Connection(None)
        return
    if judge.endpoint is Endpoint.EMBEDDED:
        with serve(judge, gguf) as model:
            yield Connection(lambda: model.client(rng=Random(), turn=turn), model.api_base, model.parallel)
        return
    without_litellm = _is_direct(judge, direct)
    if judge.endpoint is Endpoint.PROVIDER and (missing := missing_key(judge.model)):
        raise DeclarationError(
            f"the model {judge.model!r} needs a key; set {' and '.join(missing)} in the environment"
        )
    key = api_key if judge.endpoint is Endpoint.COMPATIBLE else None
    if without_litellm:
        tariff, source = tariff_of(judge, prices)
        yield Connection(
            lambda: connect_direct(
                rng=Random(),
                api_key=key,
                prices=tariff.prices,
                prices_by=source,
                gate=Gate(CONCURRENCY, MOST) if adaptive else None,
                turn=turn,
            )
        )
        return
    yield Connection(
        lambda: connect(
            rng=Random(),
            api_key=key,
            prices=prices,
            gate=Gate(CONCURRENCY, MOST) if adaptive else None,
            turn=turn,
            decisions=judge.reading is Reading.DECISION,
        )
    )


def _is_direct(judge: ModelJudge, wanted: bool | None) -> bool:
    """Whether the judge is called without LiteLLM; DeclarationError where that is wanted and cannot be."""
    if judge.reading is Reading.DECISION and not wanted:
        return False
    if judge.reading is Reading.DECISION:
        raise DeclarationError("a typed decision goes through LiteLLM; leave out --client direct")
    if wanted is None:
        return judge.endpoint is Endpoint.COMPATIBLE and speaks(judge.model)
    if not wanted:
        return False
    if speaks(judge.model) and (judge.endpoint is Endpoint.COMPATIBLE or judge.model.startswith("openai/")):
        return True
    raise DeclarationError(
        f"the model {judge.model!r} is not at an OpenAI-compatible address, so LiteLLM has to call it; "
        "leave out --client direct"
    )
