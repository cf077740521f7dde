"""Audit trail: what happened, by whom, and whether every record still is what it was."""

from __future__ import annotations

import json
from typing import Final

import streamlit as st

from calibration.registry.verifying import Recomputed, Verified, verify
from calibration.rendering.text import counted
from calibration.store.chain import Event, events, heads
from calibration.store.decisions import decision_head
from labeling_ui.components import Markup, notice, plain, show, untrusted
from labeling_ui.review import here
from labeling_ui.review.pages import heading, plain_page
from labeling_ui.review.tables import grid, row
from rubrics.digest import short

_SHOWN: Final = 50
_LONGEST: Final = 300
_TOLD: Final = 20
_ALL: Final = "all streams"


def page() -> None:
    """Verify on request, and list the newest events."""
    here.reviewer()
    with here.store().read() as session:
        ends = {name: head.seq for name, head in heads(session=session).items()}
        decided = decision_head(session=session)
    if not ends and not decided.seq:
        plain_page("Nothing was recorded yet.")
        return
    show(Markup('<h1 class="vd-claim">Audit trail</h1>'), _heads(ends, decided.seq, decided.hash))
    if st.button("Verify every record", key="audit_verify"):
        with here.store().read() as session:
            show(_verified(verify(session=session, checkpoints={})))
    streams = [_ALL, *sorted(ends)]
    place = st.selectbox(
        "Stream",
        range(len(streams)),
        format_func=lambda n: plain(streams[n]),
        key="audit_stream",
        width=320,
    )
    with here.store().read() as session:
        chosen = None if streams[place] == _ALL else streams[place]
        found = sorted(events(session=session, stream=chosen), key=lambda each: (each.at, each.seq))
    show(_events(found))


def _heads(ends: dict[str, int], decisions: int, newest: str) -> Markup:
    counted = ", ".join(f"{name} {number:,}" for name, number in sorted(ends.items()))
    said = f"Records: {counted or 'no event'}; decisions {decisions:,}."
    head = f" Newest decision {newest}." if decisions else ""
    return Markup('<p class="vd-under">{} Kept elsewhere, the newest hash of each stream shows a cut tail: '
                  "voirdire audit checkpoint.</p>").format(untrusted(said + head))  # fmt: skip


def _verified(found: Verified) -> Markup:
    """What came of verifying, the first bad record first."""
    same, again = found.count(Recomputed.SAME), found.count(Recomputed.FROM_REPORT)
    if not found.findings:
        said = (
            f"Every record is what its digest, chain and seal say. {same + again:,} decisions were computed "
            f"anew and are as signed: {same:,} from labels and verdicts, {again:,} from their reports."
        )
        return Markup('<section class="vd-signed" role="status"><p>{}</p></section>').format(said)
    lines = Markup("").join(
        Markup("<li>{}</li>").format(untrusted(str(finding))) for finding in found.findings[:_TOLD]
    )
    more = len(found.findings) - _TOLD
    rest = f"and {more:,} more: voirdire audit verify --json" if more > 0 else ""
    first = notice(
        f"{counted(len(found.findings), 'record')} not as it was written.",
        "Nothing that rests on them is to be relied on; restore a backup.",
    )
    return first + Markup('<ul class="vd-said">{}</ul><p>{}</p>').format(lines, rest)


def _events(found: list[Event]) -> Markup:
    newest = found[::-1][:_SHOWN]
    rows = [
        row(
            f"{each.at:%Y-%m-%d %H:%M:%S}",
            untrusted(each.kind),
            untrusted(each.actor),
            untrusted(_payload(each)),
            Markup('<span class="vd-hash" title="{}">{} {} {}</span>').format(
                each.hash, untrusted(each.stream), f"{each.seq:,}", short(each.hash)
            ),
        )
        for each in newest
    ]
    under = f"The newest {len(newest):,} of {len(found):,}. Times are UTC."
    return heading("Events", under=under) + grid(
        ("Time", "What", "Who", "Of what", "Record"), rows, label="Events"
    )


def _payload(event: Event) -> str:
    """What the event is about, in one line; digests cut to their first digits."""
    parts = []
    for key, value in event.payload.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        digest = len(text) == 64 and all(letter in "0123456789abcdef" for letter in text)
        parts.append(f"{key} {short(text) if digest else text}")
    line = "; ".join(parts)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


if __name__ == "__main__":
    page()
