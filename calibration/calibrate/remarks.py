"""What a reader of a report must know of how its cases were read, a sentence each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calibration.admission.groups import declared_free
from calibration.calibrate.cases import Placed
from calibration.calibrate.references import References
from calibration.calibrate.verdicts import Judged
from calibration.evidence import AdjudicationFigure, OperationFigure
from calibration.policy import AdmissionPolicy
from calibration.rendering.text import listed, visible
from calibration.store.judges import StoredJudge

NAME_SHOWN = 80
"""Characters of a model's name that a sentence repeats."""


def warnings_of(
    judge: StoredJudge, judged: Judged, references: References, placed: Sequence[Placed]
) -> list[str]:
    """The remarks on one judge's verdicts and the references; empty where nothing is unusual."""
    warnings = []
    if judge.kind == "external":
        warnings.append("external, unverified: of an imported judge only its verdicts are known")
    if judged.earlier_runs:
        warnings.append(f"{judged.earlier_runs} earlier runs of this judge are left out; the newest counts")
    if len(judged.models) > 1:
        names = listed([visible(name)[:NAME_SHOWN] for name in judged.models])
        warnings.append(
            f"{len(judged.models)} models have answered in this run ({names}): every rate here is of their "
            "mixture, and none of one of them; ask one dated model anew for a rate of its own"
        )
    if references.conflicting:
        warnings.append(
            f"{references.conflicting} answers of raters contradict the same rater's other answer to the "
            "item; they count as cannot decide"
        )
    absent = sum(each.item.item_id not in judged.answers for each in placed)
    if absent:
        warnings.append(f"{absent} of {len(placed)} items have no verdict of {judge.name}: missing, open")
    return warnings


def cost_warnings(operation: OperationFigure | None, policy: AdmissionPolicy | None) -> list[str]:
    """What a limit on cost rests on, where that is somebody's word; empty without such a limit."""
    if policy is None or policy.operation.cost_per_item_micros is None:
        return []
    said = declared_free(operation)
    return [said] if said else []


def labeling_warnings(
    closed: Mapping[str, int], references: References, adjudication: AdjudicationFigure | None
) -> list[str]:
    """The remarks on how the labels came to be; empty where nothing is unusual.

    Args:
        closed: by item id, assessments that were open when the observation window ended.
        references: of the items of the set.
        adjudication: what a draw by judge x rater cells showed, where there was one.
    """
    warnings = []
    if closed:
        unlabelled = sum(item not in references.by_item for item in closed)
        warnings.append(
            f"{sum(closed.values())} assessments were still open when the observation window closed: unknown "
            f"(error, window_closed); {unlabelled} items have no label because of that and stay unresolved"
        )
    if adjudication is not None:
        warnings.append(
            f"{adjudication.drawn} of {adjudication.cases} cases were drawn for adjudication by what this "
            "judge said: drawn and undrawn references differ in kind, so read the re-weighted FAR beside FAR"
        )
    return warnings
