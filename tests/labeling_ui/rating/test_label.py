"""The page Label, pressed button by button."""

from __future__ import annotations

import pytest

from calibration.labeling import rating
from calibration.labeling.plan import SessionPlan
from calibration.labeling.records import Nothing, Task
from calibration.labeling.sessions import reassign
from calibration.store.rubrics import add_rubric
from labeling_ui.rating.version import UI_VERSION
from rubrics.criterion import Criterion, Guidance
from rubrics.rubric import Rubric
from rubrics.scale import Level, OrdinalScale
from tests.calibration.labeling import world
from tests.labeling_ui.rating.conftest import Opens, plain
from tests.labeling_ui.rating.seat import Seat, everything

REASONS = ["Evidence missing", "Criterion ambiguous", "Output cut off", "Outside my expertise", "Other"]


def test_pass_and_fail_store_and_advance(opens: Opens) -> None:
    """One press stores the answer with its moments, and the next item is on the page."""
    room = opens()
    seat = room.sit("ann")
    first = seat.number
    seat.press("Pass")
    second = seat.number
    seat.press("Fail")
    assert len({first, second, seat.number}) == 3
    rows = room.rows("assessment", "value, rater, blind, shown_at < decided_at")
    assert rows == [("pass", "ann", "yes", 1), ("fail", "ann", "yes", 1)]
    assert room.rows("assessment_context", "position, ui_version, idle") == [
        (1, UI_VERSION, 0),
        (2, UI_VERSION, 0),
    ]


def test_cannot_decide_needs_a_reason_and_leads_back(opens: Opens) -> None:
    """Cannot decide stores nothing by itself; Back returns to the answers; a reason stores it."""
    room = opens()
    seat = room.sit("ann")
    first = seat.number
    seat.press("Cannot decide")
    assert seat.labels == [*REASONS, "Back"]
    seat.press("Back")
    assert "Pass" in seat.labels
    assert seat.number == first
    assert room.rows("assessment") == []
    seat.press("Cannot decide").press("Criterion ambiguous")
    assert room.rows("assessment", "value, reason") == [("unknown", "criterion_ambiguous")]
    assert seat.number != first


def test_fail_takes_one_way_to_fail(opens: Opens) -> None:
    """Where the criterion names ways to fail, one more press says which, or that it is none of them."""
    room = opens(asked=world.rubric())
    seat = room.sit("ann").press("Fail")
    assert seat.labels == ["Invented", "Wrong sum", "Just fail", "Back"]
    assert "an amount is wrong" in seat.html
    seat.press("Wrong sum").press("Fail").press("Just fail")
    assert room.rows("assessment", "value, failure_mode") == [("fail", "wrong_sum"), ("fail", None)]


def test_undo_brings_the_item_back_and_keeps_both_rows(opens: Opens) -> None:
    """Undo takes the answer back by a record of its own; the new answer is a revision of the old one."""
    room = opens()
    seat = room.sit("ann")
    first = seat.number
    seat.write("so it is").press("Pass")
    assert seat.number != first
    seat.press("Undo")
    assert seat.number == first
    assert [field.value for field in seat.app.text_area] == ["so it is"]
    seat.press("Fail")
    assert room.rows("assessment", "value, revision") == [("pass", 0), ("fail", 1)]
    assert len(room.rows("retraction")) == 1


def test_undo_is_closed_at_the_start(opens: Opens) -> None:
    """With nothing answered there is nothing to undo or to look back at."""
    seat = opens().sit("ann")
    assert seat.button("Undo").disabled
    assert seat.button("Previous").disabled
    seat.press("Pass")
    assert not seat.button("Undo").disabled


def test_press_too_soon_is_ignored(opens: Opens) -> None:
    """A press within 250 ms after the item was shown was meant for the one before it."""
    room = opens()
    seat = room.sit("ann")
    first = seat.number
    seat.press("Pass", after=0.1)
    assert seat.number == first
    assert room.rows("assessment") == []
    seat.press("Pass")
    assert len(room.rows("assessment")) == 1
    seat.press("Cannot decide", after=0.1)
    assert "Pass" in seat.labels


def test_long_pause_is_flagged_idle(opens: Opens) -> None:
    """More than five minutes for one item say nothing of the rater's speed."""
    room = opens()
    room.sit("ann").press("Pass", after=301)
    assert room.rows("assessment_context", "idle") == [(1,)]


def test_note_and_quoted_words_are_stored_with_the_press(opens: Opens) -> None:
    """The note goes with the answer, and what it quotes is kept as a place in the text."""
    room = opens()
    seat = room.sit("ann")
    words = f"answer {seat.number}"
    seat.write(f"“{words}” says nothing").press("Fail")
    assert room.rows("assessment_context", "spans") == [(f'[["output",0,{len(words)}]]',)]
    assert seat.app.text_area[0].value == ""


def test_widget_keys_are_bound_to_the_task(opens: Opens) -> None:
    """Every button of the bar and the note name the assignment and criterion that they answer."""
    room = opens(asked=plain(criteria=2))
    seat = room.sit("ann")
    for _ in range(3):
        task = str(room.next_of("ann").key)
        keys = [each.key for each in (*seat.app.button, *seat.app.text_area)]
        assert keys
        assert all(key is not None and task in key for key in keys)
        seat.press("Pass")


def test_criteria_of_an_item_come_in_a_row(opens: Opens) -> None:
    """The item stays until all its criteria are answered."""
    room = opens(asked=plain(criteria=3))
    seat = room.sit("ann")
    seen = []
    for _ in range(4):
        seen.append((seat.number, seat.html.partition("Criterion ")[2][:6]))
        seat.press("Pass")
    assert [criterion for _, criterion in seen] == ["1 of 3", "2 of 3", "3 of 3", "1 of 3"]
    assert len({number for number, _ in seen[:3]}) == 1
    assert seen[3][0] != seen[0][0]


def shortcuts(seat: Seat) -> list[str]:
    """The keys on the page."""
    return [each.proto.shortcut for each in seat.app.button if each.proto.shortcut and not each.disabled]


def ordinal() -> Rubric:
    """A rubric with four levels."""
    asked = world.rubric()
    scale = OrdinalScale(
        kind="ordinal",
        levels=tuple(Level(level=str(each), anchor=f"looks like {each}") for each in range(4)),
        accept_at="2",
    )
    graded = Criterion(
        key="graded",
        title="Graded",
        question="How good is it?",
        scale=scale,
        guidance=Guidance(cannot_decide_when="it is cut off"),
        failure_modes=asked.criteria[0].failure_modes,
    )
    return asked.model_copy(update={"criteria": (graded,)})


@pytest.mark.parametrize(
    ("asked", "make", "presses", "expected"),
    [
        (plain(), world.item, [], ["1", "2", "3", "u", "left", "b"]),
        (plain(), world.item, ["Cannot decide"], ["1", "2", "3", "4", "5", "escape"]),
        (world.rubric(), world.item, ["Fail"], ["1", "2", "0", "escape"]),
        (world.pairs(), world.pair, [], ["1", "2", "3", "4", "u", "left", "b"]),
        (ordinal(), world.item, [], ["0", "1", "2", "3", "x", "u", "left", "b"]),
        (ordinal(), world.item, ["0"], ["1", "2", "0", "escape"]),
        (plain(), world.item, ["Item is broken"], ["1", "escape"]),
        (plain(), world.item, ["Previous"], ["x", "left", "right"]),
    ],
    ids=["answers", "reasons", "modes", "pair", "levels", "low level", "broken", "look back"],
)
def test_keys_are_unique_in_every_state(
    opens: Opens, asked: Rubric, make: object, presses: list[str], expected: list[str]
) -> None:
    """No key means two things at once, and none is C or R, which the framework keeps."""
    seat = opens(asked=asked, make=make).sit("ann")
    for label in [seat.labels[0] if asked.criteria[0].key != "graded" else "3", *presses]:
        seat.press(label)
    found = shortcuts(seat)
    assert found == expected
    assert len(set(found)) == len(found)
    assert not {"c", "r"} & set(found)


def test_pair_is_answered_by_side(opens: Opens) -> None:
    """Left and right are what the rater sees; the source position that it stands for is what is stored."""
    room = opens(asked=world.pairs(), make=world.pair, items=12)
    seat = room.sit("ann")
    expected = []
    for _ in range(8):
        left_is_a = seat.html.index("source A") < seat.html.index("source B")
        expected.append("A" if left_is_a else "B")
        assert "Output A" not in seat.html
        seat.press("Left is better")
    seat.press("Tie").press("Cannot decide").press("Other")
    assert [row[0] for row in room.rows("assessment", "value")] == [*expected, "tie", "unknown"]
    assert set(expected) == {"A", "B"}


def test_order_is_the_raters_own(opens: Opens) -> None:
    """Two raters of the same items meet them in different orders, each the one that was stored."""
    room = opens(items=8)
    orders: dict[str, list[int]] = {}
    for who in ("ann", "ben"):
        seat = room.sit(who)
        orders[who] = []
        for _ in range(8):
            orders[who].append(seat.number)
            seat.press("Pass")
    assert sorted(orders["ann"]) == sorted(orders["ben"]) == list(range(8))
    assert orders["ann"] != orders["ben"]


def test_new_tab_resumes_at_the_same_item(opens: Opens) -> None:
    """The place in the queue is the database's: another tab, or a restarted server, goes on from it."""
    room = opens()
    seat = room.sit("ann").press("Pass").press("Fail")
    assert room.sit("ann").number == seat.number


def test_second_tab_overwrites_nothing(opens: Opens) -> None:
    """Of two tabs on one item the first to answer stands, and the other is told so."""
    room = opens()
    one, two = room.sit("ann"), room.sit("ann")
    one.press("Pass")
    two.press("Fail")
    assert room.rows("assessment", "value") == [("pass",)]
    assert "answered in another tab" in two.html
    assert two.number == one.number


@pytest.mark.parametrize(("key", "late"), [("Cannot decide", "1"), ("Fail", "2"), ("Item is broken", "1")])
def test_second_key_after_another_tab_answered_stores_nothing(opens: Opens, key: str, late: str) -> None:
    """Where another tab answered while a question was open, its keys do nothing, and the page says why."""
    room = opens(asked=world.rubric())
    one, two = room.sit("ann"), room.sit("ann")
    one.press("Pass")
    two.press(key)
    assert "answered in another tab" in two.html
    assert "Your last key stored nothing" in two.html
    assert late not in shortcuts(two)
    assert room.rows("assessment", "value") == [("pass",)]
    assert two.press("On to the current item").number == one.reload().number
    assert "Pass" in two.labels


def test_reassigned_items_are_told(opens: Opens) -> None:
    """Whoever's items went to another rater reads so, in the middle of a question and at the end."""
    room = opens(items=2)
    seat = room.sit("ann")
    with room.store.write() as session:
        reassign(
            session=session,
            name=world.SESSION,
            absent="ann",
            to=["cy"],
            actor="lead",
            at=room.clock(),
            force=True,
        )
    assert "given to another rater" in seat.press("Cannot decide").html
    assert "2 of your items were given to other raters" in seat.press("On to the current item").html


def test_same_press_in_two_tabs_is_one_answer(opens: Opens) -> None:
    """The same answer from a second tab is the answer that is there already."""
    room = opens()
    one, two = room.sit("ann"), room.sit("ann")
    one.press("Pass")
    two.press("Pass")
    assert room.rows("assessment", "value") == [("pass",)]
    assert two.number == one.number
    assert "vd-notice" not in two.html


def test_repeat_looks_like_any_other_item(opens: Opens) -> None:
    """A hidden repeat comes once, at least 30 items later, and its page differs in its place only."""
    plan = SessionPlan(raters_per_item=2, repeat_share=0.02, repeats_at_least=1, practice=0, seed=7)
    room = opens(items=31, plan=plan)
    pages: dict[int, list[tuple[int, str]]] = {}
    for place in range(1, 33):
        task = room.next_of("ann")
        if place == 1 or place > 30:
            seat = room.sit("ann")
            shown = seat.html.replace(f"{place - 1} of 32", "PLACE").replace(f"total {place - 1}", "TOTAL")
            pages.setdefault(world.number_of(task), []).append((place, shown.partition("vd-item")[2]))
        else:
            pages.setdefault(world.number_of(task), []).append((place, ""))
        room.clock.wait(5)
        given = world.said("pass", (room.clock() - world.NOW).total_seconds())
        rating.answer(store=room.store, rater="ann", task=task.key, answer=given, now=room.clock())
    (twice,) = [shown for shown in pages.values() if len(shown) == 2]
    (first, look), (second, again) = twice
    assert second - first >= 30
    assert look == again or first > 1


def test_labels_name_the_rubric_version(opens: Opens) -> None:
    """A version published while a session runs is announced once, and the labels stay under the old one."""
    room = opens()
    seat = room.sit("ann").press("Pass")
    newer = plain(version=2)
    changed = newer.criteria[0].model_copy(
        update={"guidance": newer.criteria[0].guidance.model_copy(update={"pass_when": "it always is"})}
    )
    with room.store.write() as session:
        add_rubric(
            session=session,
            rubric=newer.model_copy(update={"criteria": (changed,)}),
            actor="lead",
            at=room.clock(),
        )
    seat.press("Pass")
    assert "refunds@2 was published" in seat.html
    assert "<ins>always </ins>" in seat.html
    assert seat.labels == ["I have read this"]
    assert "refunds@2 was published" in room.sit("ann").html
    seat.press("I have read this").press("Fail")
    assert "was published" not in room.sit("ann").html
    assert {row[0] for row in room.rows("assessment", "rubric_digest")} == {plain().digest}


def test_broken_item_is_set_aside_with_a_reason(opens: Opens) -> None:
    """An item is set aside only with a word on what is wrong; nothing is stored, and the next one comes."""
    room = opens()
    seat = room.sit("ann")
    first = seat.number
    seat.press("Item is broken").press("Set it aside")
    assert "what is broken" in seat.html
    assert seat.number == first
    seat.write("the text is another item's").press("Set it aside")
    assert seat.number != first
    assert room.rows("assessment") == []
    assert ("broken",) in room.rows("assignment", "state")


def test_break_is_offered_after_forty_minutes(opens: Opens) -> None:
    """A break can be taken or skipped, is noted either way, and the same item waits behind it."""
    room = opens()
    seat = room.sit("ann").press("Pass")
    waiting = room.next_of("ann")
    seat.press("Pass", after=41 * 60)
    assert seat.labels == ["I am back from a break", "Go on without one"]
    seat.press("Go on without one")
    assert seat.number != world.number_of(waiting)
    assert [row[0] for row in room.rows("rater_event", "kind")][-2:] == ["shown", "break_skipped"]
    seat.press("Pass", after=41 * 60).press("I am back from a break")
    assert "Pass" in seat.labels


def test_practice_answers_with_feedback_and_stores_nothing(opens: Opens) -> None:
    """A practice case hides its worked examples, says what the rubric says, and is never evidence."""
    room = opens(plan=world.PLAIN.model_copy(update={"practice": 2}))
    seat = room.sit("ann")
    for place in range(2):
        assert f"Practice</b> · {place} of 2" in seat.html
        assert "it says b" not in seat.html
        assert seat.button("Undo").disabled
        seat.press("Pass")
        assert "The rubric says" in seat.html
        seat.press("Go on")
    assert "Batch 1" in seat.html
    assert room.rows("assessment") == []


def test_all_done_says_what_waits(opens: Opens) -> None:
    """At the end of the queue the page says so, with what waits for an adjudicator."""
    room = opens(items=2)
    world.rate_all(room.store, "ben", lambda task: "fail")
    room.clock.wait(600)
    seat = room.sit("ann").press("Pass").press("Pass")
    assert "Nothing left for you." in seat.html
    assert seat.labels == []
    room.sit("zoe").go("adjudicate")
    assert "2 of your items await adjudication" in seat.reload().html


def test_queue_of_one_item(opens: Opens) -> None:
    """A session of one item has a first, a last and an end."""
    seat = opens(items=1).sit("ann")
    assert "0 of 1" in seat.html
    assert "Nothing left for you." in seat.press("Pass").html


@pytest.mark.parametrize("items", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_long_queue_shows_a_batch_and_a_number(opens: Opens, items: int) -> None:
    """Of thousands of items the page shows a batch of fifty, and the whole as a number."""
    plan = world.PLAIN.model_copy(update={"raters_per_item": 1})
    seat = opens(items=items, raters=("ann",), plan=plan).sit("ann").press("Pass")
    assert "<b>Batch 1</b> · 1 of 50" in seat.html
    assert f"this session 1 of {items:,}" in seat.html


def test_person_in_no_session_is_told_so(opens: Opens) -> None:
    """Somebody whom nobody added reads by which name they would be added."""
    room = opens()
    assert "You rate in no session yet" in room.sit("stranger").html
    assert "Your cases stand under Adjudicate." in room.sit("zoe").html


def test_closed_session_takes_nothing(opens: Opens) -> None:
    """A press into a session that was closed meanwhile stores nothing, and the page says why."""
    room = opens()
    seat = room.sit("ann")
    with room.store.write() as session:
        session.connection().exec_driver_sql(
            "UPDATE labeling_session SET state = 'closed', closed_at = opens_at"
        )
    seat.press("Pass")
    assert room.rows("assessment") == []
    assert "is closed" in seat.html
    assert ("rater.refused",) in room.rows("audit_event", "kind")


def test_page_holds_nothing_that_could_bias(opens: Opens) -> None:
    """Nothing sent to a rater names items, systems, strata, tags, hidden evidence or another rater."""
    room = opens(items=4, raters=("mallory", "wendell"))
    room.sit("mallory").write("canary-note").press("Fail")
    seat = room.sit("wendell")
    sent = [everything(seat)]
    for _ in range(4):
        sent.append(everything(seat.press("Pass")))
    sent.append(everything(seat.go("history")))
    for text in sent:
        assert "canary" not in text
        assert "case-" not in text
        assert "mallory" not in text


def test_store_tells_the_same_story(opens: Opens) -> None:
    """After every press the page shows what the store says is next."""
    room = opens(items=4)
    seat = room.sit("ann")
    for label in ("Pass", "Fail", "Undo", "Pass"):
        seat.press(label)
        assert seat.number == world.number_of(room.next_of("ann"))
    found: Task | Nothing = rating.next_task(store=room.store, rater="ben", now=room.clock())
    assert isinstance(found, Task)
