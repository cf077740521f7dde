"""How long the outputs under judgment are, and whose family of models wrote them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlmodel import Session

from calibration.calibrate.cases import has_claim
from calibration.calibrate.evidence_set import EvidenceSet
from calibration.report.supplement import LENGTH, NO_FAMILY, Written, log2_length, own_family
from calibration.store.items import iter_full_items
from calibration.store.judges import StoredJudge
from rubrics.criterion import Criterion
from rubrics.item import Item
from rubrics.scale import PreferenceScale

RATIO = "candidate for each character of the other"


def lengths_of(*, session: Session, evidence: EvidenceSet, criterion: Criterion) -> dict[str, float]:
    """log2 of each output's length by item; of a pair that of the candidate's over the other's.

    An erased item has no text and is left out. Empty where the criterion claims nothing.
    """
    return dict(_lengths(session, evidence, criterion)) if has_claim(criterion) else {}


def written_of(
    *, lengths: Mapping[str, float], evidence: EvidenceSet, criterion: Criterion, judge: StoredJudge
) -> Written:
    """Lengths and families of the outputs in the set, as far as they are known.

    The judge's own family is one whose name stands in the name of its model; of a judge that is no single
    model nothing is assessable.

    Args:
        lengths: from lengths_of(), which reads every text: the same for all judges.
        evidence: the set.
        criterion: what is judged.
        judge: whose own family is looked for.
    """
    if not has_claim(criterion):
        return Written({}, RATIO, {}, "no candidate is declared, so that nothing is accepted")
    model = judge.content.get("model")
    families = {each.item.item_id: each.item.model_family for each in evidence.placed}
    own, why = own_family(families, str(model)), None
    if not own:
        why = NO_FAMILY
    elif not isinstance(model, str):
        why = f"of this judge ({judge.kind}) no single model is known"
        own = {}
    paired = isinstance(criterion.scale, PreferenceScale)
    return Written(lengths, RATIO if paired else LENGTH, own, why)


def _lengths(session: Session, evidence: EvidenceSet, criterion: Criterion) -> Iterator[tuple[str, float]]:
    scale = criterion.scale
    for item in iter_full_items(session=session, scope=evidence.scope):
        if not isinstance(item, Item):
            continue
        if not isinstance(scale, PreferenceScale):
            yield item.item_id, log2_length(item.output)
            continue
        a, b = log2_length(item.output_a), log2_length(item.output_b)
        yield item.item_id, b - a if scale.candidate == "B" else a - b
