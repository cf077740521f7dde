"""Rubrics: their versions, what changed in which words, what hangs on each, what raters call ambiguous."""

from __future__ import annotations

import streamlit as st

from calibration.labeling.sessions import open_work
from calibration.store.rubrics import get_rubric, list_rubrics
from labeling_ui.components import Markup, criterion_panel, plain, show, untrusted
from labeling_ui.review import here
from labeling_ui.review.pages import heading, plain_page
from labeling_ui.review.tables import grid, row
from labeling_ui.review.versions import Version, ambiguous_list, diff_section, hanging_words, version_of
from rubrics.diff import diff_rubrics
from rubrics.digest import short


def page() -> None:
    """Show the versions of a rubric, two of them word by word, and the criteria of the later one."""
    who = here.reviewer()
    with here.store().read() as session:
        refs = [ref for ref, _ in list_rubrics(session=session)]
    names = sorted({ref.name for ref in refs})
    if not names:
        plain_page("No rubric is published yet.", "Publish one with: voirdire rubric add FILE")
        return
    name = names[0]
    if len(names) > 1:
        name = names[
            st.selectbox(
                "Rubric",
                range(len(names)),
                format_func=lambda n: plain(names[n]),
                key="rubric_name",
                width=420,
            )
        ]
    versions = sorted(ref.version for ref in refs if ref.name == name)
    with here.store().read() as session:
        work = open_work(session=session, person=who.handle)
        found = [
            version_of(
                session=session, rubric=get_rubric(session=session, name=name, version=version), work=work
            )
            for version in versions
        ]
    show(_versions(found))
    _criteria(_compared(found) if len(found) > 1 else found[0])


def _versions(found: list[Version]) -> Markup:
    rows = [
        row(
            untrusted(each.rubric.ref),
            hanging_words(each.hanging),
            untrusted(", ".join(each.hanging.judges) or "-"),
            Markup('<span class="vd-hash" title="{}">{}</span>').format(
                each.rubric.digest, short(each.rubric.digest)
            ),
        )
        for each in reversed(found)
    ]
    newest = found[-1].rubric
    head = Markup('<h1 class="vd-claim">{}</h1><p class="vd-lede">{}</p>').format(
        untrusted(newest.title or newest.name), untrusted(newest.purpose)
    )
    under = "What was labelled, judged and decided under a version stays with it; nothing moves to another."
    return (
        head
        + heading("Versions", under=under)
        + grid(("Version", "What hangs on it", "Judges", "Digest"), rows, label="Versions")
    )


def _compared(found: list[Version]) -> Version:
    """Two versions word by word: the newest and the one before, or those that are picked."""
    left, right, _ = st.columns([1, 1, 2])
    places = range(len(found))
    with left:
        before = st.selectbox(
            "From",
            places,
            index=len(found) - 2,
            format_func=lambda n: plain(found[n].rubric.ref),
            key="rubric_from",
        )
    with right:
        after = st.selectbox(
            "To",
            places,
            index=len(found) - 1,
            format_func=lambda n: plain(found[n].rubric.ref),
            key="rubric_to",
        )
    show(diff_section(diff_rubrics(found[before].rubric, found[after].rubric)))
    return found[after]


def _criteria(found: Version) -> None:
    """Each criterion as raters read it, with what they could not decide beside it."""
    criteria, ref = found.rubric.criteria, found.rubric.ref
    show(heading(f"Criteria of {ref}"))
    for number, criterion in enumerate(criteria, start=1):
        left, right = st.columns([3, 2])
        with left:
            show(criterion_panel(criterion, number=number, of=len(criteria), rubric=ref))
        with right:
            said = tuple(each for each in found.ambiguous if each.criterion == criterion.key)
            show(ambiguous_list(said, hidden=found.hidden))


if __name__ == "__main__":
    page()
