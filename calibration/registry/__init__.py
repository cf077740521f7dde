"""Use cases of the registry: sign a decision, suspend or carry one over, and ask whether a judge may grade.

Append-only: what stands for a scope is the decision that no other supersedes. Expiry is read against the
caller's clock, or the newest record where that is later, at every question: a decision lapses without
anybody writing a row, and a clock that is set back revives none.
"""

from calibration.registry.basis import recorded_population
from calibration.registry.carrying import Reworded, carry_over
from calibration.registry.changes import changes_since
from calibration.registry.population import Departure, PopulationRecord, Trigger, departures, population_of
from calibration.registry.signing import (
    ANY_POPULATION,
    LOCAL,
    SUSPENDED,
    Override,
    Signature,
    sign,
    suspend,
)
from calibration.registry.standing import (
    Admission,
    Beside,
    expiring,
    live_admission,
    missing_of,
    require_admission,
    side_by_side,
)

__all__ = [
    "ANY_POPULATION",
    "LOCAL",
    "SUSPENDED",
    "Admission",
    "Beside",
    "Departure",
    "Override",
    "PopulationRecord",
    "Reworded",
    "Signature",
    "Trigger",
    "carry_over",
    "changes_since",
    "departures",
    "expiring",
    "live_admission",
    "missing_of",
    "population_of",
    "recorded_population",
    "require_admission",
    "side_by_side",
    "sign",
    "suspend",
]
