"""An offline sheet holds what the app would show; its answers are taken for that rater's open items only."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest

from calibration.labeling import rating
from calibration.labeling.records import Task
from calibration.labeling.sessions import close_session, reassign
from calibration.labeling.sheets import Taken, make_sheet, sheet_criterion, take_sheet
from calibration.labels import Blindness
from calibration.store.assessments import iter_labels
from calibration.store.chain import events
from calibration.store.database import Store
from calibration.store.items import Scope
from rubrics.errors import RaterRefused, RecordError, TableError
from rubrics.rubric import Rubric
from tests.calibration.labeling.test_choices import criterion, levels
from tests.calibration.labeling.world import (
    DATASET,
    SESSION,
    item,
    later,
    opened,
    pair,
    pairs,
    rubric,
    said,
)


def sheet_of(store: Store, rater: str = "ann", at: float = 5) -> str:
    """The page of a rater's open items."""
    with store.write() as session:
        return make_sheet(session=session, name=SESSION, rater=rater, now=later(at)).page


def data_of(page: str) -> dict[str, Any]:
    """What the page's script reads."""
    found = re.search(r'id="data">(.*?)</script>', page)
    assert found
    content: dict[str, Any] = json.loads(found[1])
    return content


def export(data: dict[str, Any], value: str = "pass", **changes: Any) -> list[str]:
    """The lines that the page would save, every open task answered alike."""
    header = {
        "schema": data["schema"],
        "session": data["session"],
        "rater": data["rater"],
        "rubric": data["rubric"]["digest"],
    }
    answers = [
        {
            "assignment": each["assignment"],
            "lease_no": each["lease_no"],
            "criterion": criterion,
            "value": value,
            "shown_at": later(20 + place).isoformat(),
            "decided_at": later(21 + place).isoformat(),
            **changes,
        }
        for place, each in enumerate(data["items"])
        for criterion in each["criteria"]
    ]
    return [json.dumps(each) for each in (header, *answers)]


def labels(store: Store, asked: Rubric) -> list[tuple[str, str, str]]:
    """Rater, answer and blindness of each live label."""
    with store.read() as session:
        found = iter_labels(session=session, scope=Scope(dataset=DATASET), rubric_digest=asked.digest)
        return [(each.rater, each.answer, each.blind.value) for each in found]


def test_answers_of_a_sheet_are_labels_blind_by_sheet_and_taken_once(store: Store) -> None:
    """Every open task is answered once; the same file again adds nothing; the queue is done."""
    asked = opened(store, asked=rubric(criteria=2), items=3)
    lines = export(data_of(sheet_of(store)))
    assert take_sheet(store=store, lines=lines, now=later(900)) == Taken(SESSION, "ann", 6, 0)
    assert take_sheet(store=store, lines=lines, now=later(901)) == Taken(SESSION, "ann", 0, 6)
    assert labels(store, asked) == [("ann", "pass", Blindness.SHEET.value)] * 6
    assert not isinstance(rating.next_task(store=store, rater="ann", now=later(902)), Task)


def test_what_is_not_that_raters_open_item_is_refused_whole(store: Store) -> None:
    """Another's assignment, an unknown one, a stale number, a bad answer: nothing of the file is taken."""
    asked = opened(store)
    data, other = data_of(sheet_of(store)), data_of(sheet_of(store, "ben"))
    good = export(data)
    wrong = [
        export(data, value="maybe"),
        export(data, value="unknown"),
        export(data, lease_no=7),
        export(data, criterion="unheard"),
        export(data, shown_at=later(900).isoformat()),
        export(data, shown_at="1999-01-01T00:00:00Z", decided_at="1999-01-01T00:00:00Z"),
        export(data, shown_at="1999-01-01T00:00:00Z"),
        export(data, shown_at=later(20).isoformat(), decided_at=later(20.1).isoformat()),
        export(data, extra=1),
        [good[0], export(other)[1]],
        [good[0], "nonsense"],
        ["{}", *good[1:]],
        [],
    ]
    for lines in wrong:
        with pytest.raises(TableError):
            take_sheet(store=store, lines=lines, now=later(900))
    with pytest.raises(RecordError, match="no session"):
        take_sheet(store=store, lines=[good[0].replace(SESSION, "elsewhere"), *good[1:]], now=later(900))
    assert labels(store, asked) == []


def test_a_byte_order_mark_is_no_reason_to_refuse(sqlite_store: Store) -> None:
    """An editor that puts a mark before the first line takes nothing from its answers."""
    opened(sqlite_store)
    first, *rest = export(data_of(sheet_of(sqlite_store)))
    assert take_sheet(store=sqlite_store, lines=["\ufeff" + first, *rest], now=later(900)).added == 6


def test_names_in_the_title_hide_nothing(sqlite_store: Store) -> None:
    """A rater's name that turns the line around stands in the title by its number."""
    opened(sqlite_store, raters=("a\u202enn", "ben"))
    page = sheet_of(sqlite_store, "a\u202enn")
    assert "<title>november - a[U+202E]nn</title>" in page
    assert data_of(page)["said"] == {"session": "november", "rater": "a[U+202E]nn"}


def test_refused_sheets_are_audited(sqlite_store: Store) -> None:
    """Another's assignment, an unknown one, a stale number and a rater unheard of each leave an event."""
    opened(sqlite_store)
    good, other = export(data_of(sheet_of(sqlite_store))), export(data_of(sheet_of(sqlite_store, "ben")))
    stale = [good[0], good[1].replace('"lease_no": 1', '"lease_no": 7')]
    unknown = [good[0], json.dumps(json.loads(good[1]) | {"assignment": "nobody"})]
    stranger = [json.dumps(json.loads(good[0]) | {"rater": "x" * 900}), good[1]]
    for lines in ([good[0], other[1]], unknown, stale, stranger):
        with pytest.raises(TableError):
            take_sheet(store=sqlite_store, lines=lines, now=later(900))
    with sqlite_store.read() as session:
        found = [each for each in events(session=session, stream="labeling") if each.kind == "sheet.refused"]
    assert [each.actor for each in found] == ["ann", "ann", "ann", "labels import"]
    assert all("nothing of the file was taken" in each.payload["said"] for each in found)


def test_a_line_that_contradicts_the_app_is_refused(store: Store) -> None:
    """An answer given in the app meanwhile stands; the same one counts as present."""
    opened(store)
    data = data_of(sheet_of(store))
    task = rating.next_task(store=store, rater="ann", now=later(30))
    assert isinstance(task, Task)
    rating.answer(store=store, rater="ann", task=task.key, answer=said("fail", 40), now=later(40))
    with pytest.raises(TableError, match="another answer"):
        take_sheet(store=store, lines=export(data), now=later(900))
    first, *lines = export(data)
    rest = [line for line in lines if task.assignment not in line]
    assert take_sheet(store=store, lines=[first, *rest], now=later(900)).added == 5


def test_a_sheet_of_items_that_went_to_others_is_fenced_off(store: Store) -> None:
    """A sheet's items are reassigned by force only, and its answers are refused then; so after the close."""
    opened(store)
    lines = export(data_of(sheet_of(store)))
    with store.write() as session:
        to = {"session": session, "name": SESSION, "absent": "ann", "to": ["eve"], "actor": "lead"}
        assert reassign(**to, at=later(7200)) == 0  # type: ignore[arg-type]
        assert reassign(**to, at=later(7201), force=True) == 6  # type: ignore[arg-type]
    with pytest.raises(TableError, match="taken off your list"):
        take_sheet(store=store, lines=lines, now=later(7300))
    with store.write() as session:
        close_session(session=session, name=SESSION, actor="lead", at=later(7400))
    with pytest.raises(RaterRefused, match="closed"):
        take_sheet(store=store, lines=lines, now=later(7500))


def test_the_page_reaches_no_network_and_names_nothing_that_could_bias(sqlite_store: Store) -> None:
    """Script and style are named by hash, nothing else may load; no id, system, tag or stratum is in it."""
    opened(sqlite_store)
    page = sheet_of(sqlite_store)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    for tag in ("script", "style"):
        body = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        (text,) = body
        hashed = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{hashed}'" in policy[1]
    assert not re.search(r"https?://|src=|url\(|import\(", page)
    for word in ("canary", "case-0", "may@", "ben"):
        assert word not in page


def test_hostile_text_stays_text(sqlite_store: Store) -> None:
    """A closing script tag cannot end the data; characters that nobody sees are named by their number."""
    hostile = "</script><img src=x onerror=alert(1)>\u202e\u200bend"
    opened(sqlite_store, items=1, make=lambda number: item(number, output=hostile))
    page = sheet_of(sqlite_store)
    assert page.count("</script>") == 2
    assert "<img" not in page
    field = next(each for each in data_of(page)["items"][0]["fields"] if each["key"] == "output")
    assert field["text"] == [
        ["text", "</script><img src=x onerror=alert(1)>"],
        ["unseen", "U+202E"],
        ["unseen", "U+200B"],
        ["text", "end"],
    ]


def test_pairs_come_back_in_source_positions(sqlite_store: Store) -> None:
    """Left on a sheet is the output that stood there."""
    asked = opened(sqlite_store, asked=pairs(), make=pair, items=6)
    data = data_of(sheet_of(sqlite_store))
    lefts = {
        each["assignment"]: next(f for f in each["fields"] if f["key"] == "left")["text"][0][1]
        for each in data["items"]
    }
    take_sheet(store=sqlite_store, lines=export(data, value="left"), now=later(900))
    counted = sorted(answer for _, answer, _ in labels(sqlite_store, asked))
    assert counted == sorted(text.removeprefix("source ")[0] for text in lefts.values())
    assert set(counted) == {"A", "B"}


def keys_of(choices: list[dict[str, str]]) -> dict[str, str]:
    """What each key of a sheet says."""
    return {each["press"]: each["value"] for each in choices}


def test_keys_are_those_of_the_app(sqlite_store: Store) -> None:
    """A hand that knows the app is right on the sheet: 4 is a tie, 3 cannot decide, 0 just a fail."""
    opened(sqlite_store, asked=pairs(), make=pair, items=2)
    data = data_of(sheet_of(sqlite_store))
    assert keys_of(data["criteria"][0]["answers"]) == {"1": "left", "2": "right", "3": "unknown", "4": "tie"}
    assert list(keys_of(data["reasons"])) == ["1", "2", "3", "4", "5"]
    graded = sheet_criterion(criterion(levels("0", "1", "2"), modes=2))
    assert keys_of(graded["answers"]) == {"0": "0", "1": "1", "2": "2", "x": "unknown"}
    assert graded["failing"] == ["0"]
    assert keys_of(graded["failure_modes"]) == {"1": "mode_0", "2": "mode_1", "0": ""}
    assert [each["when"] for each in graded["failure_modes"]] == ["seen", "seen", ""]


def test_a_sheet_without_open_items_or_a_place_is_refused(sqlite_store: Store) -> None:
    """Nobody gets an empty sheet, and a stranger none."""
    opened(sqlite_store)
    take_sheet(store=sqlite_store, lines=export(data_of(sheet_of(sqlite_store))), now=later(900))
    for rater, match in (("ann", "no open item"), ("eve", "does not rate")):
        with pytest.raises(RecordError, match=match):
            sheet_of(sqlite_store, rater, at=901)
