"""Hostile texts through the pages about judges: names, rubrics, notes and reasons are words only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from calibration.calibrate import Asked, calibrate
from calibration.calibrate.evidence_set import open_set
from calibration.labeling.sessions import close_session
from calibration.policy import far_only
from calibration.store.judges import RunOrigin, add_judge, add_run, get_judge
from calibration.store.rubrics import add_rubric
from calibration.store.schema import open_store
from calibration.store.verdicts import VerdictEntry, add_verdicts
from labeling_ui.review import here
from rubrics.characters import UNSEEN
from rubrics.digest import digest
from rubrics.rubric import Rubric
from rubrics.verdict import UnknownReason
from tests.browser.hostile_world import HostileWorld, hostile_world, rubric, written
from tests.calibration.filling import record_policy
from tests.calibration.labeling.world import DATASET, NOW, SESSION, later
from tests.labeling_ui.hostile import hostile
from tests.labeling_ui.html_text import read
from tests.labeling_ui.review.looking import Looking
from tests.labeling_ui.review.test_judges import fill, press
from tests.labeling_ui.test_pages import BASE, DRAWS, FORMATS, OUR_ATTRIBUTES, OUR_TAGS, elements

TEN = far_only(0.10)
JUDGE = "![x](http://127.0.0.1:9/judge) <img src=x onerror=window.ran=1> :red[j]"
PLAIN_WORDS = {
    "selectbox",
    "text_area",
    "text_input",
    "number_input",
    "button_group",
    "toggle",
    "download_button",
}
"""Widgets that draw the words of their values as they are."""
MARKED = {"button", "form_submit_button", "button_group", "toggle", "download_button"}
"""Widgets whose label reads Markdown: our own words only."""
ALLOWED_TAGS = OUR_TAGS | {"em", "section"}
ALLOWED_ATTRIBUTES = OUR_ATTRIBUTES | {"colspan", "aria-hidden", "aria-label", "style"}


def measured(world: HostileWorld) -> None:
    """A judge with a hostile name and hostile reasons, measured; a second version of the hostile rubric."""
    store = open_store(world.db)
    asked, content = rubric(world.base), {"kind": "external", "name": JUDGE}
    texts = list(hostile(world.base).values())
    with store.write() as session:
        add_judge(
            session=session, digest=digest(content), judge_name=JUDGE, kind="external",
            content=content, actor=world.noting, at=NOW,
        )  # fmt: skip
        run = add_run(
            session=session, judge_digest=digest(content), rubric_digest=asked.digest,
            dataset=DATASET, origin=RunOrigin.IMPORT, plan={}, units=0, at=NOW,
        )  # fmt: skip
        answers: tuple[tuple[str, UnknownReason | None], ...] = (
            ("fail", None),
            ("unknown", UnknownReason.ABSTAINED),
            ("unknown", UnknownReason.INCONSISTENT),
        )
        entries = [
            VerdictEntry(
                run,
                f"case-{n}",
                "correct",
                answers[n % 3][0],
                answers[n % 3][1],
                rationale=" | ".join(texts[n::20])[:3000],
            )
            for n in range(world.items)
        ]
        add_verdicts(session=session, verdicts=entries, at=NOW)
        close_session(session=session, name=SESSION, actor="lead", at=later(9_000))
        record_policy(session, TEN)
        question = Asked(
            evidence=open_set(session=session, ref="may@1"), rubric=asked, criterion="correct",
            judges=(get_judge(session=session, judge=JUDGE),), policy=TEN, actor=world.noting,
        )  # fmt: skip
        calibrate(session=session, asked=question, at=NOW)
        first = asked.criteria[0].model_copy(update={"question": written(world.base)[3]})
        new = Rubric.model_validate({**asked.model_dump(), "version": 2, "criteria": (first,)})
        add_rubric(session=session, rubric=new, actor="lead", at=NOW)
    store.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[HostileWorld]:
    """The hostile session, closed, with a judge."""
    made = hostile_world(tmp_path, BASE)
    measured(made)
    yield made
    here._store.clear()


def check(page: Looking) -> str:
    """Nothing reads Markdown out of a text, every HTML is ours, nothing is unseen; all that is shown."""
    shown = []
    for each in elements(page.app._tree):
        assert each.type in DRAWS | PLAIN_WORDS, (each.type, str(each.proto)[:200])
        if each.type in MARKED:
            label = getattr(each.proto, "label", "")
            assert not FORMATS.search(label), label
        if each.type == "html":
            html = read(str(each.proto.body))
            assert set(html.tags) <= ALLOWED_TAGS, set(html.tags) - ALLOWED_TAGS
            assert {key for key, _ in html.attributes} <= ALLOWED_ATTRIBUTES
            shown.append("".join(html.raw))
        if each.type == "selectbox":
            shown += each.proto.options
    text = "".join(shown)
    assert not UNSEEN.search(text.replace("\n", ""))
    return text


def test_every_page_about_judges_shows_words_only(world: HostileWorld) -> None:
    """AppTest list 16 and 19 for the review pages: through each of them, an item, and a signed decision."""
    page = Looking(world.db, "lead")
    for view in ("judges", "disagreements", "rubrics", "decisions", "audit"):
        page.app.switch_page(f"views/{view}.py")
        said = check(page.run())
        if view == "judges":
            assert JUDGE in said
            label = {"reject": "Reject", "insufficient evidence": "More labels"}
            word = next(choice for outcome, choice in label.items() if f"{JUDGE}{outcome}" in said)
            reason = " | ".join(hostile(BASE).values())[:3900]
            check(press(fill(page, word, reason), "Sign"))
        if view == "disagreements":
            page.app.button[0].click()
            said = check(page.run())
            for kind in ("Abstentions", "Flips", "False rejects"):
                group = page.app.get("button_group")[0]
                group.set_value(kind)  # type: ignore[union-attr]
                said = check(page.run())
                assert f"{kind}: " in said
                reasons = said.split("asked once")[1]  # what the judge gave as its reason: many texts, joined
                assert "127.0.0.1:9/" in reasons
                assert " | " in reasons
        if view == "decisions":
            assert JUDGE in said
            assert "127.0.0.1:9/md-image" in said
