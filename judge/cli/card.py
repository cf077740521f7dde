"""`voirdire decisions card`: the printable page of a signed decision."""

from __future__ import annotations

from typing import Annotated

import typer


def card(
    context: typer.Context,
    decision: Annotated[str, typer.Argument(help="The first digits of its digest.")],
    html: Annotated[str, typer.Option(metavar="OUT", help="Where to write it.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is no voirdire page.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Write a decision as one printable page: what it allows, on what ground, and what ends it."""
    from pathlib import Path

    from calibration.registry.carded import decision_card
    from calibration.store.decisions import get_decision
    from judge.cli.output import print_json, print_lines, require_replaceable, write_html
    from judge.cli.stores import now, opened
    from rubrics.digest import short

    require_replaceable(Path(html), force=force)
    at = now()
    with opened(context) as store, store.read() as session:
        stored = get_decision(session=session, hash_prefix=decision.replace(" ", ""))
        page = decision_card(session=session, decision=stored, at=at, made_at=at)
    write_html(Path(html), page)
    if as_json:
        print_json({"decision": stored.hash, "file": html})
        return
    print_lines([f"Wrote the card of decision {short(stored.hash)} to {html}; it prints on one page."])
