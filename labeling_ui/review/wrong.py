"""Where a judge and people disagree, by kind, and one such item with what everybody said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlmodel import Session

from calibration.calibrate.disagreements import Disagreement
from calibration.labeling.tasks import fields_of
from calibration.store.assessments import iter_labels
from calibration.store.items import ErasedItem, Scope, get_item
from calibration.store.payloads import StoredText, read_payloads
from calibration.store.references import iter_adjudications
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sets import get_set_by_digest
from calibration.store.verdicts import iter_verdicts
from labeling_ui.components import Markup, criterion_panel, item_panel, prose, untrusted
from labeling_ui.review.evidence import Question
from labeling_ui.review.pages import heading
from labeling_ui.review.tables import grid, row

ACCEPTED, REJECTED, ABSTAINED, FLIPPED = "False accepts", "False rejects", "Abstentions", "Flips"
KINDS: Final = (ACCEPTED, REJECTED, ABSTAINED, FLIPPED)
ABOUT: Final[Mapping[str, str]] = {
    ACCEPTED: "People failed these and the judge accepts them.",
    REJECTED: "People passed these and the judge rejects them.",
    ABSTAINED: "The judge gives no usable verdict; each counts as not accepted.",
    FLIPPED: "Orders or repeated votes contradict each other, so no verdict stands.",
}


def kind_of(each: Disagreement) -> str:
    """Which of the four kinds a disagreement is."""
    if each.verdict == "unknown":
        return FLIPPED if each.reason == "inconsistent" else ABSTAINED
    return ACCEPTED if each.verdict == "pass" else REJECTED


def listed(items: Sequence[Disagreement]) -> Markup:
    """The disagreements of a kind in a table."""
    rows = [
        row(
            each.item_id,
            each.reference,
            each.verdict,
            untrusted((each.reason or "-").replace("_", " ")),
            untrusted(", ".join(each.failure_modes) or "-"),
        )
        for each in items
    ]
    return grid(("Item", "People say", "Judge says", "Why unknown", "Failure modes"), rows, label="Items")


@dataclass(frozen=True, slots=True)
class Remark:
    """What somebody said of an item, and why."""

    who: str
    answer: str
    why: str
    """Untrusted; empty where nothing was said."""


def one_item(*, session: Session, question: Question, judge_digest: str, item_id: str) -> Markup:
    """The item with its texts, the criterion, what raters and adjudicators said, and the judge's words."""
    dataset = get_set_by_digest(session=session, digest=question.set_digest).dataset
    rubric = get_rubric_by_digest(session=session, digest=question.rubric_digest)
    criterion = rubric.criterion(question.criterion)
    item = get_item(session=session, dataset=dataset, item_id=item_id)
    if isinstance(item, ErasedItem):
        texts = Markup('<p class="vd-under">The texts of this item were erased.</p>')
    else:
        texts = item_panel(fields_of(item, rubric, criterion, swapped=False))
    people = _people(session, question, item_id)
    said = _judge(session, question, judge_digest, item_id)
    return (
        heading(f"Item {item_id}")
        + _remarks("People", people)
        + _remarks("Judge", said)
        + Markup('<p class="vd-eyebrow vd-apart">The item</p>')
        + texts
        + criterion_panel(criterion, number=1, of=1, rubric=rubric.ref)
    )


def _people(session: Session, question: Question, item_id: str) -> list[Remark]:
    scope = Scope(set_digest=question.set_digest)
    rubric, criterion = question.rubric_digest, question.criterion
    labels = [
        each
        for each in iter_labels(session=session, scope=scope, rubric_digest=rubric, criterion=criterion)
        if each.item_id == item_id
    ]
    resolved = [
        each
        for each in iter_adjudications(
            session=session, scope=scope, rubric_digest=rubric, criterion=criterion
        )
        if each.item_id == item_id
    ]
    digests = [each.note_digest for each in labels] + [each.reason_digest for each in resolved]
    texts = read_payloads(session=session, digests=[each for each in digests if each])
    found = [
        Remark(
            each.rater,
            ": ".join(filter(None, (each.answer, each.failure_mode, each.reason))).replace("_", " "),
            _text(texts.get(each.note_digest or ""), "note"),
        )
        for each in labels
    ]
    found += [
        Remark(
            f"{each.adjudicator}, adjudicator",
            each.answer,
            _text(texts.get(each.reason_digest or ""), "reason"),
        )
        for each in resolved
    ]
    return found


def _judge(session: Session, question: Question, judge_digest: str, item_id: str) -> list[Remark]:
    given = [
        each
        for each in iter_verdicts(
            session=session,
            scope=Scope(set_digest=question.set_digest),
            criterion=question.criterion,
            judge_digest=judge_digest,
            rubric_digest=question.rubric_digest,
        )
        if each.item_id == item_id
    ]
    texts = read_payloads(session=session, digests=[each.reply_digest for each in given if each.reply_digest])
    return [
        Remark(
            _asked(each.order, each.repeat),
            ": ".join(filter(None, (each.answer, each.reason, each.detail))).replace("_", " "),
            _reply(texts.get(each.reply_digest or "")),
        )
        for each in given
    ]


def _asked(order: str | None, repeat: int) -> str:
    order_words = {"ab": "order A B", "ba": "order B A"}.get(order or "", "asked once")
    return f"{order_words}, repeat {repeat}" if repeat else order_words


def _text(found: Any, key: str) -> str:
    return str(found.content.get(key, "")) if isinstance(found, StoredText) else ""


def _reply(found: Any) -> str:
    return _text(found, "rationale") or _text(found, "raw")


def _remarks(who: str, remarks: Sequence[Remark]) -> Markup:
    if not remarks:
        return Markup("")
    lines = Markup("").join(
        Markup(
            '<div class="vd-change"><p><b>{}</b> <span class="vd-i" dir="auto">{}</span></p>{}</div>'
        ).format(
            untrusted(each.answer),
            untrusted(each.who),
            prose(each.why) if each.why.strip() else Markup('<p class="vd-none">No reason was given.</p>'),
        )
        for each in remarks
    )
    return Markup('<p class="vd-eyebrow vd-apart">{}</p>{}').format(who, lines)
