"""The work of `voirdire judge cost`: what a run's calls took, or those of its members where it makes none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from calibration.rendering.text import counted
from calibration.store.judges import StoredRun, get_judge, list_runs
from calibration.store.tallies import LostAttempts
from judge.calls import Prices
from judge.cli.output import print_json, print_lines
from judge.cli.stores import opened
from judge.pricing import PriceMap, Spent, member_runs, model_of, repriced, spent
from judge.runs.budget import dollars
from judge.runs.summary import lost_words
from rubrics.errors import RecordError

Source = PriceMap | Prices | None
"""By what a run is priced again."""


@dataclass(frozen=True, slots=True)
class _Paid:
    """One run whose calls were made."""

    run: StoredRun
    judge: str
    model: str
    spent: Spent
    by: dict[str, Any] | None
    """By other prices."""

    def to_json(self) -> dict[str, Any]:
        return {"run": self.run.key, "model": self.model, **self.spent.to_json(), "by": self.by}

    def words(self) -> Iterator[str]:
        """What it took; a line each."""
        yield from _cost_words(self.spent)
        if self.by is not None:
            yield f"by {_named(self.by)}: {dollars(self.by['micros'])}"


def carry_cost(context: Any, run: str, *, by: Source, as_json: bool) -> None:
    """Print what the run took; of a panel or cascade what its members' runs took, and all together."""
    with opened(context) as store, store.read() as session:
        named = [each for each in list_runs(session=session) if each.key.startswith(run)]
        if len(named) != 1:
            many = "several runs begin" if named else "no run begins"
            raise RecordError(f"{many} with {run!r}; `voirdire judge show NAME` lists the runs of a judge")
        members = member_runs(session=session, run=named[0])
        judge = get_judge(session=session, judge=named[0].judge_digest)
        paid = [_paid(session, each, by) for each in members or named]
    if not members:
        (one,) = paid
        if as_json:
            print_json(one.to_json())
        else:
            print_lines([f"Run {one.run.key[:12]} of {one.model}: " + "\n  ".join(one.words())])
        return
    if as_json:
        print_json({"run": named[0].key, "judge": judge.name, **_together(paid)})
        return
    print_lines(
        [f"Run {named[0].key[:12]} of the {judge.kind} {judge.name} makes no call; its members' runs do:"]
    )
    for each in paid:
        print_lines(
            [f"  {each.judge} ({each.model}), run {each.run.key[:12]}: " + "\n    ".join(each.words())]
        )
    print_lines([f"  together: {_sum_words(_together(paid))}"])


def _paid(session: Session, run: StoredRun, by: Source) -> _Paid:
    model, found = model_of(session=session, run=run), spent(session=session, run=run)
    judge = get_judge(session=session, judge=run.judge_digest)
    again = None if by is None else repriced(found, by, model=model)
    return _Paid(run, judge.name, model, found, again)


def _together(paid: Sequence[_Paid]) -> dict[str, Any]:
    """The members' runs and their sums, as scripts read them."""
    again = [each.by for each in paid if each.by is not None]
    total = {**again[0], "micros": sum(each["micros"] for each in again)} if again else None
    return {
        "members": [{"judge": each.judge, **each.to_json()} for each in paid],
        "calls": sum(each.spent.calls for each in paid),
        "recorded_micros": sum(each.spent.known_micros for each in paid),
        "calls_of_unknown_cost": sum(each.spent.unknown_cost for each in paid),
        "lost_beside": sum((each.spent.lost_attempts for each in paid), LostAttempts()).to_json(),
        "by": total,
    }


def _sum_words(total: dict[str, Any]) -> str:
    unknown, by = total["calls_of_unknown_cost"], total["by"]
    said = f"{counted(total['calls'], 'call')} with a reply, recorded: {dollars(total['recorded_micros'])}"
    said += f", {counted(unknown, 'call')} of unknown cost"
    return said + (f"; by {_named(by)}: {dollars(by['micros'])}" if by else "")


def _named(by: dict[str, Any]) -> str:
    return str(by.get("map", "the prices given"))


def _cost_words(found: Spent) -> Iterator[str]:
    """What the calls of a run took; a line each."""
    unknown, uncounted = found.unknown_cost, found.uncounted
    per_minute, per_dollar = (
        "not known" if rate is None else f"{rate:,.0f}" for rate in (found.per_minute, found.per_dollar)
    )
    lost = f", {found.lost:,} without a verdict" if found.lost else ""
    yield f"{counted(found.calls, 'call')} with a reply{lost}"
    yield f"tokens: {found.uncached_input:,} uncached, {found.cached_input:,} cached, {found.output:,} output"
    yield f"recorded: {dollars(found.known_micros)}, {counted(unknown, 'call')} of unknown cost"
    if lost_beside := lost_words(found.lost_attempts):
        yield lost_beside
    yield f"verdicts a minute: {per_minute}; verdicts a dollar: {per_dollar}"
    if uncounted:
        has, is_ = ("has", "is") if uncounted == 1 else ("have", "are")
        yield f"{counted(uncounted, 'call')} {has} no count of tokens and {is_} in no sum"
