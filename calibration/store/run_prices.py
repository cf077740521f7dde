"""Prices that somebody declared for a run, in one stream of the audit trail. Kept from raters.

A call keeps what it cost; here stands by which prices, so that what is left of a run can be paid by the same.
"""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Session

from calibration.store.chain import append_event, events

RUNS = "runs"
PRICED = "run.priced"


def record_prices(
    *, session: Session, run: str, prices: tuple[float, float], actor: str, at: datetime
) -> bool:
    """True if the prices are now recorded, False if they are the newest of this run already.

    Args:
        session: a writing session.
        run: key of the run, which may be about to begin.
        prices: US dollars of a million tokens, input and output.
        actor: who declared them.
        at: now.
    """
    if prices_of(session=session, run=run) == prices:
        return False
    paid_by = {"run": run, "input": prices[0], "output": prices[1]}
    append_event(session=session, stream=RUNS, kind=PRICED, actor=actor, payload=paid_by, at=at)
    return True


def prices_of(*, session: Session, run: str) -> tuple[float, float] | None:
    """The newest prices that were declared for the run, input and output; None where nobody did."""
    found = None
    for event in events(session=session, stream=RUNS, kind=PRICED):
        if event.payload["run"] == run:
            found = (float(event.payload["input"]), float(event.payload["output"]))
    return found
