"""What a reader of a report must know of how its cases were read, a sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from calibration.calibrate.cases import Placed
from calibration.calibrate.references import References
from calibration.calibrate.verdicts import Judged
from calibration.store.judges import StoredJudge


def warnings_of(
    judge: StoredJudge, judged: Judged, references: References, placed: Sequence[Placed]
) -> list[str]:
    """The remarks on one judge's verdicts and the references; empty where nothing is unusual."""
    warnings = []
    if judge.kind == "external":
        warnings.append("external, unverified: of an imported judge only its verdicts are known")
    if judged.earlier_runs:
        warnings.append(f"{judged.earlier_runs} earlier runs of this judge are left out; the newest counts")
    if references.conflicting:
        warnings.append(
            f"{references.conflicting} answers of raters contradict the same rater's other answer to the "
            "item; they count as cannot decide"
        )
    absent = sum(each.item.item_id not in judged.answers for each in placed)
    if absent:
        warnings.append(f"{absent} of {len(placed)} items have no verdict of {judge.name}: missing, open")
    return warnings
