"""What probes of a judge showed, appended to one stream of the audit trail. Kept from raters.

The copies and the verdicts on them are records of their own; here stands what was counted, by which a policy
may decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from sqlmodel import Session

from calibration.store.chain import append_event, events

PROBES = "probes"
COUNTED = "probe.counted"


def record_probe(*, session: Session, result: Mapping[str, Any], actor: str, at: datetime) -> bool:
    """True if the result is now recorded, False if it is the newest of this probe already.

    Args:
        session: a writing session.
        result: counts by kind of change with the judge's and the rubric's digest, criterion and dataset of
            the copies; never the text of an item.
        actor: who probed.
        at: now.
    """
    last = None
    about = {name: result[name] for name in ("rubric_digest", "criterion")}
    for known in probe_results(session=session, **about):
        if (known["judge_digest"], known["dataset"]) == (result["judge_digest"], result["dataset"]):
            last = known
    if last == result:
        return False
    append_event(session=session, stream=PROBES, kind=COUNTED, actor=actor, payload=result, at=at)
    return True


def probe_results(*, session: Session, rubric_digest: str, criterion: str) -> Iterator[Mapping[str, Any]]:
    """The recorded results of all judges under the rubric and criterion, oldest first."""
    for event in events(session=session, stream=PROBES):
        said = event.payload
        if (said["rubric_digest"], said["criterion"]) == (rubric_digest, criterion):
            yield said
