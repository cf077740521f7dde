"""The work of `voirdire judge run --replay`: what stored replies say now, and what their run lacks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calibration.rendering.text import counted
from calibration.store.run_prices import prices_of
from judge.cli.errors import ExitCode, tell
from judge.cli.output import print_json, print_lines
from judge.cli.stores import now, opened
from judge.runs.command import Wanted, planned_run
from judge.runs.replay import Replayed, replay, run_named

if TYPE_CHECKING:
    from sqlmodel import Session

    from calibration.store.database import Store

LISTED = 20
"""Replies that are told one by one where they read otherwise."""


def carry_replay(context: Any, wanted: Wanted, run: str, *, as_json: bool, dry_run: bool = False) -> ExitCode:
    """The exit code of reading stored replies again: 3 where units have none, else 1 where one changed."""
    with opened(context) as store:
        with store.read() as session:
            wanted = wanted if wanted.dataset or wanted.set_ref else _as_asked(session, wanted, run)
            plan = planned_run(session, wanted)
        found = replay(store, plan, run, now=now(), dry=dry_run)
        finish = _finishing(store, wanted, found).command if found.left else None
    if as_json:
        tried, on = {"dry_run": True} if dry_run else {}, {"resume": finish} if finish else {}
        print_json({**tried, **found.to_json(), **on})
    else:
        print_lines(list(_replay_words(found)))
    if found.left:
        tell(
            f"voirdire: {found.left:,} of {counted(found.units, 'unit')} "
            f"{'has' if found.left == 1 else 'have'} no verdict in run {found.source[:12]}: finish that run, "
            "then read it again"
        )
        tell(f"  finish it: {finish}", wrapped=False)
        return ExitCode.OPERATIONAL
    return ExitCode.REJECT if found.changed else ExitCode.ADMIT


def _finishing(store: Store, wanted: Wanted, found: Replayed) -> Wanted:
    """What finishes the run that was read, by the prices that were declared for it."""
    with store.read() as session:
        prices = prices_of(session=session, run=found.source)
    if prices is None or wanted.prices is not None:
        return replace(wanted, judge=found.judge)
    return replace(wanted, judge=found.judge, price_input=prices[0], price_output=prices[1])


def _replay_words(found: Replayed) -> Iterator[str]:
    where = "; nothing is stored" if found.run is None else f"; stored as run {found.run[:12]}"
    without = counted(found.without_reply, "verdict")
    yield f"Read {counted(found.read, 'reply', 'replies')} again, {without} without one{where}."
    for each in found.changed[:LISTED]:
        yield f"  {each.item_id}: {each.before} is now {each.after}"
    if len(found.changed) > LISTED:
        yield f"  and {len(found.changed) - LISTED:,} more"
    if not found.changed:
        yield "  all read as before"


def _as_asked(session: Session, wanted: Wanted, run: str) -> Wanted:
    """What is wanted, of the items, the rubric and the criteria that the run was about."""
    from calibration.store.rubrics import get_rubric_by_digest
    from calibration.store.sets import get_set_by_digest

    source = run_named(session=session, source=run)
    plan, of_set = json.loads(source.plan), source.set_digest
    return replace(
        wanted,
        dataset=None if of_set else source.dataset,
        set_ref=get_set_by_digest(session=session, digest=of_set).ref if of_set else None,
        rubric=get_rubric_by_digest(session=session, digest=source.rubric_digest).ref,
        criteria=tuple(wanted.criteria or plan.get("criteria", ())),
        repeats=plan.get("repeats", wanted.repeats),
    )
