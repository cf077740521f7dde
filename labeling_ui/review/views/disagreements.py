"""Disagreements: what a judge got wrong, item by item, opened at the price of a look."""

from __future__ import annotations

from typing import Final

import streamlit as st

from calibration.calibrate.disagreements import Disagreement, disagreements
from calibration.calibrate.evidence_set import open_set_by_digest
from calibration.rendering.numbers import whole
from calibration.store.judges import get_judge
from calibration.store.reports import LookKind
from calibration.store.rubrics import get_rubric_by_digest
from labeling_ui.components import Markup, notice, plain, show, untrusted
from labeling_ui.review import here
from labeling_ui.review.access import recording, require_labeling_closed, require_rated
from labeling_ui.review.evidence import Answered, Examined, Question, answered, questions
from labeling_ui.review.pages import heading, plain_page
from labeling_ui.review.tables import grid, row
from labeling_ui.review.wrong import ABOUT, ACCEPTED, KINDS, kind_of, listed, one_item

_OPENED: Final = "review_disagreements_opened"


def page() -> None:
    """Count the disagreements of a judge, and open them on request."""
    who = here.reviewer()
    with here.store().read() as session:
        asked = questions(session=session)
    if not asked:
        plain_page("No judge was measured yet.", "What judges got wrong stands here once one was.")
        return
    question = _question(asked)
    require_rated(who, question.set_digest)
    require_labeling_closed(question.set_digest)
    with here.store().read() as session:
        found = answered(session=session, question=question)
    examined = _judge(found)
    show(
        Markup('<h1 class="vd-claim">Where {} and people disagree</h1><p class="vd-under">{}</p>').format(
            untrusted(examined.judge), untrusted(question.words)
        ),
        _counts(examined),
    )
    opened = (examined.stored.digest, who.handle)
    if st.session_state.get(_OPENED) != opened:
        _door(opened)
        return
    _browse(question, examined, _read(question, examined, who.handle))


def _question(asked: tuple[Question, ...]) -> Question:
    if len(asked) == 1:
        return asked[0]
    place = st.selectbox(
        "Criterion, set, rubric and policy",
        range(len(asked)),
        format_func=lambda at: plain(asked[at].words),
        key="wrong_question",
        width=620,
    )
    return asked[place]


def _judge(found: Answered) -> Examined:
    if len(found.judges) == 1:
        return found.judges[0]
    place = st.selectbox(
        "Judge",
        range(len(found.judges)),
        format_func=lambda at: plain(found.judges[at].judge),
        key="wrong_judge",
        width=420,
    )
    return found.judges[place]


def _counts(examined: Examined) -> Markup:
    """How many of each kind, from the report: no item is named."""
    fail, good = examined.examination.report.table.fail, examined.examination.report.table.passing
    unusable = [each.abstained + each.invalid + each.open for each in (fail, good)]
    rows = [
        row("People fail, judge accepts", f"{whole(fail.accepted)}/{whole(fail.total)}"),
        row("People pass, judge rejects", f"{whole(good.rejected)}/{whole(good.total)}"),
        row("No usable verdict", f"{whole(sum(unusable))}/{whole(fail.total + good.total)}"),
        row(
            "Contradicts itself",
            f"{whole(fail.inconsistent + good.inconsistent)}/{whole(fail.total + good.total)}",
        ),
    ]
    return grid(("Kind", "x/n"), rows, label="Disagreements")


def _door(opened: tuple[str, str]) -> None:
    show(
        notice(
            "Reading the items is a look, recorded under your name.",
            "A judge, prompt or rubric that you declare afterwards is presumed to be steered by them: this "
            "set then decides about it only once a second person has signed.",
        )
    )
    st.button("Open the items", key=f"wrong_open_{opened[0][:16]}", on_click=_open, args=(opened,))


def _open(opened: tuple[str, str]) -> None:
    st.session_state[_OPENED] = opened


def _read(question: Question, examined: Examined, actor: str) -> tuple[Disagreement, ...]:
    """The items, with the look recorded in the same transaction, before any of them is shown."""
    with recording() as session:
        return disagreements(
            session=session,
            evidence=open_set_by_digest(session=session, digest=question.set_digest),
            rubric=get_rubric_by_digest(session=session, digest=question.rubric_digest),
            criterion=question.criterion,
            judge=get_judge(session=session, judge=examined.stored.judge_digest),
            actor=actor,
            at=here.clock(),
            kind=LookKind.DISAGREEMENTS,
        ).items


def _browse(question: Question, examined: Examined, items: tuple[Disagreement, ...]) -> None:
    """The items of a kind, and one of them."""
    kind = st.segmented_control("Kind", KINDS, default=ACCEPTED, key="wrong_kind") or ACCEPTED
    shown = [each for each in items if kind_of(each) == kind]
    show(heading(f"{kind}: {len(shown):,}", under=ABOUT[kind]))
    if not shown:
        return
    show(listed(shown))
    place = st.selectbox(
        "Item to read",
        range(len(shown)),
        format_func=lambda at: plain(shown[at].item_id),
        key=f"wrong_item_{KINDS.index(kind)}",
        width=420,
    )
    with here.store().read() as session:
        show(
            one_item(
                session=session,
                question=question,
                judge_digest=examined.stored.judge_digest,
                item_id=shown[place].item_id,
            )
        )


if __name__ == "__main__":
    page()
