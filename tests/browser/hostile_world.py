"""A labeling session in which everything that a person could have written is hostile."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from calibration.labeling import people, rating
from calibration.labeling.records import Nothing
from calibration.store.database import Store
from calibration.store.schema import open_store
from rubrics.criterion import Criterion, EvidenceField, EvidenceSource, Example, FailureMode, Guidance
from rubrics.item import Item
from rubrics.record import hidden_character
from rubrics.rubric import Rubric
from tests.calibration.labeling.world import NOW, PLAIN, later, opened, said
from tests.labeling_ui.hostile import RAN, hostile

FIELDS = 18
"""Evidence fields of the rubric; with input and output an item holds two texts more."""


@dataclass(frozen=True, slots=True)
class HostileWorld:
    """Where it is stored, who is in it, and what is shown."""

    db: Path
    items: int
    noting: str
    """Has answered every item, with a hostile note each."""
    rating: str
    """Has answered nothing yet."""
    adjudicating: str
    base: str


def names(base: str) -> tuple[str, str, str]:
    """Three people whose names act, phone out and hide."""
    return (
        f'<img src="{base}/name" onerror="{RAN}">',
        f"![x]({base}/person) :red[ann] `b` *c*",
        f"zo\u202ee <script>{RAN}</script>",
    )


def written(base: str) -> list[str]:
    """The texts of the corpus that a rubric may hold, short ones, on one line each."""
    texts = [text for text in hostile(base).values() if not hidden_character(text)]
    return [text for text in texts if text.strip() and len(text) < 200 and len(text.splitlines()) == 1]


def rubric(base: str) -> Rubric:
    """A rubric every word of which is hostile."""
    words = written(base)
    sources = list(EvidenceSource)
    return Rubric(
        name="hostile",
        version=1,
        title=words[0],
        purpose=words[1],
        evidence=tuple(
            EvidenceField(key=f"field_{n}", source=sources[n % len(sources)], title=words[n])
            for n in range(FIELDS)
        ),
        criteria=(
            Criterion(
                key="correct",
                title=words[20],
                question=words[21],
                guidance=Guidance(pass_when=words[22], fail_when=words[23], cannot_decide_when=words[24]),
                failure_modes=(FailureMode(key="invented", when=words[25]),),
                examples=tuple(
                    Example(input=words[n], output=words[n + 1], verdict=verdict, why=words[n + 2])
                    for n, verdict in ((30, "pass"), (33, "fail"), (36, "unknown"))
                ),
            ),
        ),
    )


def items(base: str) -> list[Item]:
    """The corpus, spread over the fields of as few items as hold it."""
    texts = list(hostile(base).values())
    wide = FIELDS + 2
    rows = [texts[at : at + wide] for at in range(0, len(texts), wide)]
    return [_item(number, row) for number, row in enumerate(rows)]


def _item(number: int, row: list[str]) -> Item:
    padded = [*row, *["x"] * (FIELDS + 2 - len(row))]
    return Item(
        item_id=f"case-{number}",
        input=padded[0] or "x",
        output=padded[1],
        evidence={f"field_{n}": text for n, text in enumerate(padded[2:])},
    )


def hostile_world(folder: Path, base: str) -> HostileWorld:
    """A store with the session, one rater's answers in it, and everybody known to the sign-in page."""
    db = folder / "hostile.db"
    noting, rating_name, adjudicating = names(base)
    made = items(base)
    store = open_store(db)
    try:
        opened(
            store,
            items=len(made),
            raters=(noting, rating_name),
            adjudicators=(adjudicating,),
            asked=rubric(base),
            plan=PLAIN,
            make=lambda number: made[number],
        )
        for name in (noting, rating_name, adjudicating):
            people.sign_in(store=store, handle=name, now=NOW)
        _answered(store, noting, [text for text in hostile(base).values() if len(text) < 200])
    finally:
        store.close()
    return HostileWorld(db, len(made), noting, rating_name, adjudicating, base)


def _answered(store: Store, rater: str, notes: list[str]) -> None:
    """Answer everything of a rater with pass and cannot decide in turn, a hostile note each."""
    for at in range(len(notes)):
        task = rating.next_task(store=store, rater=rater, now=later(10 * at))
        if isinstance(task, Nothing):
            return
        doubt = at % 2 == 1
        given = said(
            "unknown" if doubt else "pass",
            10 * at + 5,
            reason="criterion_ambiguous" if doubt else None,
            note=" | ".join(notes[at::6])[:3000],
        )
        rating.answer(store=store, rater=rater, task=task.key, answer=given, now=later(10 * at + 5))
