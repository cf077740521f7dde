"""Rubrics, decisions and the audit trail as the review app shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from calibration.labeling import rating
from calibration.labeling.records import Nothing
from calibration.store.database import Store
from calibration.store.rubrics import add_rubric
from labeling_ui.review import here
from rubrics.rubric import Rubric
from tests.calibration.labeling import world
from tests.labeling_ui.review.looking import Looking


@pytest.fixture
def db(sqlite_store: Store, tmp_path: Path) -> Iterator[Path]:
    """The file of an empty store."""
    assert sqlite_store.dialect == "sqlite"
    yield tmp_path / "voirdire.db"
    here._store.clear()


def at(page: Looking, view: str) -> Looking:
    """The page of this name."""
    page.app.switch_page(f"views/{view}.py")
    return page.run()


def reworded() -> Rubric:
    """The rubric's second version, asked in other words."""
    old = world.rubric()
    new = old.criteria[0].model_copy(update={"question": "Is it correct and complete?"})
    return Rubric.model_validate({**old.model_dump(), "version": 2, "criteria": (new,)})


def test_empty_store_says_what_to_do_on_every_page(db: Path) -> None:
    """Without records each page names the command that makes some, and none fails."""
    page = Looking(db, "lead")
    for view, words in (
        ("judges", "voirdire calibrate"),
        ("disagreements", "No judge was measured yet."),
        ("rubrics", "voirdire rubric add"),
        ("decisions", "voirdire admit"),
    ):
        assert words in at(page, view).words


def test_every_page_asks_for_the_role(db: Path, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest list 10: behind a proxy nobody without the role of reviewer opens any page."""
    monkeypatch.setenv("VOIRDIRE_UI_SIGN_IN", "proxy")
    world.opened(sqlite_store, items=2)
    page = Looking(db, user={"email": "eve@example.org"})
    for view in ("judges", "disagreements", "rubrics", "decisions", "audit"):
        said = at(page, view).words
        assert "no reviewer" in said
        assert "refunds" not in said


def test_versions_their_words_and_what_hangs_on_them(db: Path, sqlite_store: Store) -> None:
    """Labels stay with their version; the change is shown word by word; doubts stand beside the criterion."""
    world.opened(sqlite_store, items=2)
    task = rating.next_task(store=sqlite_store, rater="ann", now=world.later(1))
    assert not isinstance(task, Nothing)
    doubt = world.said("unknown", 5, reason="criterion_ambiguous", note="complete in whose eyes?")
    rating.answer(store=sqlite_store, rater="ann", task=task.key, answer=doubt, now=world.later(5))
    with sqlite_store.write() as session:
        add_rubric(session=session, rubric=reworded(), actor="lead", at=world.later(9))
    page = at(Looking(db, "lead"), "rubrics")
    assert "refunds@10 labels" not in page.words
    assert "refunds@11 label by 1 rater, 0 judges, 0 decisions" in page.words
    assert "refunds@20 labels by 0 raters" in page.words
    assert "<ins> and complete</ins>" in page.html
    assert "stay with it; refunds@2 begins with none" in page.words
    assert "No rater called it ambiguous." in page.words
    box = next(each for each in page.app.selectbox if each.label == "To")
    box.select_index(0)
    assert "complete in whose eyes?" in page.run().words


def test_comments_stay_shut_to_whoever_still_rates(db: Path, sqlite_store: Store) -> None:
    """Neither note, name nor item of another rater's doubt is shown while one rates; later it is."""
    world.opened(sqlite_store, items=1)
    task = rating.next_task(store=sqlite_store, rater="ann", now=world.later(1))
    assert not isinstance(task, Nothing)
    doubt = world.said("unknown", 5, reason="criterion_ambiguous", note="in whose eyes?")
    rating.answer(store=sqlite_store, rater="ann", task=task.key, answer=doubt, now=world.later(5))
    page = at(Looking(db, "ben"), "rubrics")
    assert "opens once you have rated all yours" in page.words
    assert not [each for each in ("in whose eyes", "case-000", "· ann", "ann ·") if each in page.words]
    world.rate_all(sqlite_store, "ben")
    assert "in whose eyes? ann · case-000" in page.run().words


def test_the_trail_lists_and_verifies(db: Path, sqlite_store: Store) -> None:
    """Events with who and when; verifying says that all holds, and names what was changed behind our back."""
    world.opened(sqlite_store, items=2)
    page = at(Looking(db, "lead"), "audit")
    assert "rubric.published" in page.words
    button = next(each for each in page.app.button if each.label == "Verify every record")
    button.click()
    assert "Every record is what its digest, chain and seal say." in page.run().words
    with sqlite_store.write() as session:
        raw = session.connection()
        raw.exec_driver_sql("PRAGMA ignore_check_constraints = 1")
        for (trigger,) in raw.exec_driver_sql(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_event'"
        ).all():
            raw.exec_driver_sql(f"DROP TRIGGER {trigger}")
        raw.exec_driver_sql("UPDATE audit_event SET actor = 'somebody' WHERE kind = 'rubric.published'")
    next(each for each in page.app.button if each.label == "Verify every record").click()
    said = page.run().words
    assert "not as it was written" in said
    assert "records record 1" in said
