"""Every page with hostile texts, run without a browser: nothing that reads Markdown carries any of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calibration.labeling import rating
from calibration.labeling.sessions import Opening, open_session
from calibration.store.rubrics import add_rubric, get_rubric_by_digest
from calibration.store.schema import open_store
from calibration.store.sessions import get_session
from calibration.store.sets import get_set_by_digest
from labeling_ui.rating import here
from labeling_ui.review import here as review
from rubrics.characters import UNSEEN
from rubrics.rubric import Rubric
from tests.browser.hostile_world import HostileWorld, hostile_world, rubric, written
from tests.calibration.labeling.world import PLAIN, SESSION
from tests.labeling_ui.hostile import hostile
from tests.labeling_ui.html_text import read
from tests.labeling_ui.rating.seat import Room, Seat, everything
from tests.labeling_ui.review.looking import Looking
from tests.labeling_ui.test_panels import SAFE_ATTRIBUTES, SAFE_TAGS

REVIEW_VIEWS = sorted(
    {file.stem for file in (Path(review.__file__).parent / "views").glob("*.py")}
    - {"__init__", "sign_in", "raters"}
)
BASE = "http://127.0.0.1:9"
DRAWS = {  # beside HTML: widgets whose words are ours, or drawn as they are
    "html",
    "button",
    "text_area",
    "text_input",
    "bidi_component",
    "form_submit_button",
    "selectbox",
    "toggle",
    "checkbox",
    "number_input",
    "download_button",
    "arrow_data_frame",
}
FORMATS = re.compile(r"(?<!\\)[\[\]*_`<>$!]|(?<!\\):[a-z]")
"""A sign that Markdown, HTML, a formula or one of Streamlit's directives would begin with."""
OUR_TAGS = SAFE_TAGS | {"style", "ins", "del", "ol", "a"}
OUR_ATTRIBUTES = SAFE_ATTRIBUTES | {
    "scope",
    "aria-live",
    "aria-valuemin",
    "aria-valuemax",
    "aria-valuenow",
    "style",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> HostileWorld:
    """A session in which everything that a person could have written is hostile."""
    return hostile_world(tmp_path_factory.mktemp("hostile"), BASE)


@pytest.fixture
def room(world: HostileWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    """The room of that session."""
    store = open_store(world.db)
    yield Room(store, world.db, monkeypatch)
    store.close()
    here._store.clear()
    review._store.clear()


def elements(block: Any) -> Iterator[Any]:
    """Every element of a page, deepest last."""
    for child in block.children.values():
        if hasattr(child, "children"):
            yield from elements(child)
        else:
            yield child


def check(seat: Seat | Looking) -> None:
    """No element reads Markdown out of a text, every HTML is ours alone, and nothing is unseen."""
    assert not seat.app.exception
    for each in elements(seat.app._tree):
        assert each.type in DRAWS, (each.type, str(each.proto)[:200])
        if each.type in {"button", "form_submit_button"}:
            assert not FORMATS.search(each.label), each.label
        if each.type == "html":
            shown = read(str(each.proto.body))
            assert set(shown.tags) <= OUR_TAGS
            assert {key for key, _ in shown.attributes} <= OUR_ATTRIBUTES
    assert not UNSEEN.search(everything(seat))  # type: ignore[arg-type]


def views(room: Room, world: HostileWorld) -> Iterator[tuple[str, Seat | Looking]]:
    """Every page of both apps in each of its states that shows a text."""
    yield "sign in", room.sit(None)
    rater = room.sit(world.rating)
    yield "label", rater
    yield "way to fail", rater.press("Fail")
    yield "next", rater.press("Invented")
    yield "reason", rater.press("Cannot decide")
    yield "after a reason", rater.press("Other")
    yield "history", rater.go("history")
    newest = next(each for each in rater.app.button if each.label == "Open")
    rater._run(newest.click().run)
    yield "looked at again", rater
    adjudicator = room.sit(world.adjudicating)
    yield "case", adjudicator.go("adjudicate")
    yield "revealed", adjudicator.press("Pass")
    broken = room.next_of(world.rating).key
    why = " | ".join(hostile(BASE).values())[:4000]
    rating.flag_broken(store=room.store, rater=world.rating, task=broken, why=why, now=room.clock())
    yield "door of the review", Looking(world.db)
    lead = Looking(world.db, "lead")
    yield "raters", lead
    for view in REVIEW_VIEWS:
        yield view, lead.go(view)
    yield "closed to a rater", Looking(world.db, world.rating)
    learner = practising(room)
    yield "practice", learner
    yield "what the rubric says", learner.press("Pass")
    publish_another(room, world)
    yield "newer rubric", room.sit(world.rating)


def practising(room: Room) -> Seat:
    """Somebody in a second session on the same set, which begins with practice."""
    with room.store.write() as session:
        there = get_session(session=session, session_name=SESSION)
        opening = Opening(
            name="practice",
            stored_set=get_set_by_digest(session=session, digest=there.set_digest),
            rubric=get_rubric_by_digest(session=session, digest=there.rubric_digest),
            raters=("pia",),
            plan=PLAIN.model_copy(update={"practice": 1, "raters_per_item": 1}),
        )
        open_session(session=session, opening=opening, actor="lead", at=room.clock())
    return room.sit("pia")


def publish_another(room: Room, world: HostileWorld) -> None:
    """A second version of the rubric, of which the raters are told: other hostile words."""
    words = written(world.base)
    old = rubric(world.base)
    criterion = old.criteria[0].model_copy(update={"question": words[26], "title": words[27]})
    new = Rubric.model_validate({**old.model_dump(), "version": 2, "criteria": (criterion,)})
    with room.store.write() as session:
        add_rubric(session=session, rubric=new, actor="lead", at=room.clock())


def test_no_element_carries_a_text_as_markdown(room: Room, world: HostileWorld) -> None:
    """AppTest list 16 and 19: on no page does a text reach what formats it, and no page raises."""
    seen = []
    for name, seat in views(room, world):
        check(seat)
        seen.append(name)
    assert len(seen) == 16 + len(REVIEW_VIEWS)


def test_a_text_in_a_formatting_slot_is_noticed() -> None:
    """The check above sees what it looks for."""
    for text in ("[x](y)", "![x](y)", ":red[x]", "*x*", "a_b_", "`x`", "<b>", "$x$"):
        assert FORMATS.search(text)
    assert not FORMATS.search(r"\!\[x\]\(y\) \:red\[x\] Pass")


def test_the_corpus_is_large_enough() -> None:
    """Sixty hostile texts and more, each another one, each shown in the world of these tests."""
    assert len(set(hostile(BASE).values())) == len(hostile(BASE)) >= 60
