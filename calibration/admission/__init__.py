"""A policy on a report -> decision: `decide` is the whole interface.

Pure. Any item that fails rejects; else any that is insufficient makes the evidence insufficient; else the
judge is admitted. What an item may do follows from its kind (STATISTICS §0.4).
"""

from calibration.admission.decide import decide, outcome_of

__all__ = ["decide", "outcome_of"]
