"""The items that a report is about: a recorded set, or a dataset frozen as a convenience set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from calibration.calibrate.cases import Placed
from calibration.sampling import DesignKind, SamplingDesign
from calibration.store.items import Scope, StoredItem, iter_items
from calibration.store.sets import (
    MemberEntry,
    StoredSet,
    add_set,
    freeze_set,
    get_set,
    get_set_by_digest,
    iter_members,
    list_sets,
)
from rubrics.errors import DeclarationError, RecordError
from rubrics.item import Split

CONSTRUCTED = "constructed"


@dataclass(frozen=True, slots=True)
class EvidenceSet:
    """A frozen list of items with everything that a report needs of them."""

    ref: str
    """name@version."""
    digest: str
    dataset: str
    placed: tuple[Placed, ...]
    design: str
    claim: str
    screened_by: str | None
    """Judge whose verdicts made the strata; it is not examined on this set."""
    constructed: bool
    frozen_at: datetime

    @property
    def scope(self) -> Scope:
        """The items, for queries."""
        return Scope(set_digest=self.digest)

    @property
    def called(self) -> str:
        """The set as a sentence names it."""
        return f"set {self.ref}"


def open_set(*, session: Session, ref: str) -> EvidenceSet:
    """A recorded set by name or name@version.

    Raises:
        RecordError: there is none, or it is not frozen.
    """
    name, _, version = ref.partition("@")
    if version and not version.isdecimal():
        raise DeclarationError(f"{ref!r} is not NAME or NAME@VERSION; `voirdire set list` shows the sets")
    stored = get_set(session=session, set_name=name, version=int(version) if version else None)
    if stored.frozen_at is None:
        raise RecordError(
            f"set {stored.ref} is not frozen, so its items may still change; "
            f"run `voirdire set freeze {stored.name}`"
        )
    return _opened(session, stored, stored.frozen_at)


def open_set_by_digest(*, session: Session, digest: str) -> EvidenceSet:
    """The recorded set with the digest; raises RecordError where there is none or it is not frozen."""
    stored = get_set_by_digest(session=session, digest=digest)
    return open_set(session=session, ref=stored.ref)


def convenience_set(*, session: Session, dataset: str, actor: str, at: datetime) -> EvidenceSet:
    """The calibration items of the dataset, frozen as a convenience set at the first report.

    Later calls give the same set while the items are the same; further items make its next version.

    Raises:
        RecordError: the dataset has no calibration item.
    """
    items = list(iter_items(session=session, scope=Scope(dataset=dataset, split=Split.CALIBRATION)))
    if not items:
        raise RecordError(
            f"dataset {dataset!r} has no calibration item; "
            f"run `voirdire items import FILE --dataset {dataset}`"
        )
    name = f"all-of-{dataset}"
    versions = [s for s in list_sets(session=session, dataset=dataset) if s.name == name]
    if versions and versions[-1].frozen_at and _same_items(session, versions[-1], items):
        return _opened(session, versions[-1], versions[-1].frozen_at)
    design = SamplingDesign(kind=DesignKind.CONVENIENCE)
    set_digest = add_set(
        session=session,
        set_name=name,
        version=len(versions) + 1,
        dataset=dataset,
        content={"design": design.model_dump(mode="json")},
        members=[MemberEntry(item.item_id) for item in items],
        actor=actor,
        at=at,
        extends=versions[-1].digest if versions else None,
    )
    moment = freeze_set(session=session, set_digest=set_digest, actor=actor, at=at)
    return _opened(session, get_set_by_digest(session=session, digest=set_digest), moment)


def _same_items(session: Session, stored: StoredSet, items: Sequence[StoredItem]) -> bool:
    members = {m.item_id: m.content_digest for m in iter_members(session=session, set_digest=stored.digest)}
    return members == {item.item_id: item.content_digest for item in items}


def _opened(session: Session, stored: StoredSet, frozen_at: datetime) -> EvidenceSet:
    design = SamplingDesign.model_validate(stored.content.get("design", {"kind": "convenience"}))
    items = {
        item.item_id: item for item in iter_items(session=session, scope=Scope(set_digest=stored.digest))
    }
    placed = tuple(
        Placed(items[member.item_id], member.stratum or "", member.inclusion_probability)
        for member in iter_members(session=session, set_digest=stored.digest)
    )
    refuse_tuning_overlap(session=session, dataset=stored.dataset, items=(each.item for each in placed))
    screened = design.by if design.kind is DesignKind.FAILURE_OVERSAMPLED else None
    return EvidenceSet(
        ref=stored.ref,
        digest=stored.digest,
        dataset=stored.dataset,
        placed=placed,
        design=design.kind.value,
        claim=design.claim,
        screened_by=screened,
        constructed=any(each.item.tags.get("origin") == CONSTRUCTED for each in placed),
        frozen_at=frozen_at,
    )


def refuse_tuning_overlap(*, session: Session, dataset: str, items: Iterable[StoredItem]) -> None:
    """Refuse items whose group also holds a tuning item: the judge may have been written on it.

    Raises:
        DeclarationError: naming the first such group and how many there are.
    """
    tuning = {
        item.group for item in iter_items(session=session, scope=Scope(dataset=dataset, split=Split.TUNING))
    }
    shared = sorted({item.group for item in items} & tuning)
    if shared:
        raise DeclarationError(
            f"{len(shared)} groups lie in both tuning and calibration (the first: {shared[0]!r}); "
            "a judge tuned on a group is not examined on it: take its items out of the set"
        )
