"""What a reader of a report is told of what it rests on."""

from __future__ import annotations

from calibration.calibrate.remarks import cost_warnings
from calibration.evidence import OperationFigure
from calibration.policy import OperationLimits, far_only

FREE = OperationFigure(
    verdicts=2, costed=2, cost_micros=0, items=2, timed=2, latency_p95_ms=9, declared_free=2
)


def test_prices_declared_as_0_are_told_where_a_policy_limits_cost() -> None:
    """In the item's own sentence; not where nothing rests on them, or no limit is held against them."""
    limited = far_only(0.1).model_copy(update={"operation": OperationLimits(cost_per_item_micros=9)})
    assert cost_warnings(FREE, limited) == [
        "the cost rests on prices declared as 0: 2 verdicts cost nothing by them (source: declared)"
    ]
    assert cost_warnings(FREE.as_before, limited) == []
    assert (
        cost_warnings(None, limited) == cost_warnings(FREE, far_only(0.1)) == cost_warnings(FREE, None) == []
    )
