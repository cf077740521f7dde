"""What judges said is recorded as said and told apart by judge and run, on both databases."""

from __future__ import annotations

import pytest

from calibration.store.database import Store
from calibration.store.items import (
    Scope,
)
from calibration.store.judges import RunOrigin, add_run, get_judge, get_run, list_judges, list_runs
from calibration.store.rubrics import add_rubric
from calibration.store.verdicts import VerdictEntry, add_verdicts, iter_verdicts
from rubrics.errors import DeclarationError, DifferentRecord, RecordError
from rubrics.verdict import UnknownReason
from tests.calibration.store.evidence import (
    DATASET,
    NOW,
    later,
    lay_down,
    pair_rubric,
    verdict,
)

ALL = Scope(dataset=DATASET)


def test_verdicts_come_back_with_their_reasons(store: Store) -> None:
    """Answer, reason, detail, order and repeat are read as recorded, in the order of items."""
    with store.write() as session:
        run = lay_down(session).run_key
        given = [
            verdict(run, 4, "fail"),
            verdict(run, 0, "unknown", reason=UnknownReason.INVALID, detail="truncated", raw="PAS"),
            verdict(run, 0, repeat=1, tokens_in=10, tokens_out=2, cost_micros=3_000_000_000, latency_ms=80),
            verdict(run, 0, "2", criterion="tone"),
        ]
        assert add_verdicts(session=session, verdicts=given, at=NOW).added == 4
    with store.read() as session:
        found = list(iter_verdicts(session=session, scope=ALL, criterion="correct"))
        assert [(v.item_id, v.answer, v.reason, v.detail, v.order, v.repeat) for v in found] == [
            ("case-0", "unknown", UnknownReason.INVALID, "truncated", None, 0),
            ("case-0", "pass", None, None, None, 1),
            ("case-4", "fail", None, None, None, 0),
        ]
        assert {v.run_key for v in found} == {run}
        assert len(list(iter_verdicts(session=session, scope=ALL))) == 4


def test_pairs_are_stored_by_presentation(store: Store) -> None:
    """Both orders of a pair are two verdicts, in source positions."""
    with store.write() as session:
        world = lay_down(session)
        add_rubric(session=session, rubric=pair_rubric(), actor="lead", at=NOW)
        run = add_run(
            session=session,
            judge_digest=world.judge_digest,
            rubric_digest=pair_rubric().digest,
            dataset=DATASET,
            origin=RunOrigin.RUN,
            plan={"orders": ["ab", "ba"]},
            units=2,
            at=NOW,
        )
        both = [
            VerdictEntry(run, "case-1", "better", "A", order="ab"),
            VerdictEntry(run, "case-1", "better", "tie", order="ba"),
        ]
        assert add_verdicts(session=session, verdicts=both, at=NOW).added == 2
        with pytest.raises(DeclarationError, match="no answer under 'better'; allowed: A, B, tie, unknown"):
            add_verdicts(session=session, verdicts=[VerdictEntry(run, "case-2", "better", "pass")], at=NOW)
        found = list(iter_verdicts(session=session, scope=ALL, rubric_digest=pair_rubric().digest))
        assert [(each.order, each.answer) for each in found] == [("ab", "A"), ("ba", "tie")]


def test_a_second_import_of_verdicts_adds_nothing_and_a_changed_line_is_refused(store: Store) -> None:
    """Present verdicts are counted; a changed answer or reply is refused; nothing changes."""
    with store.write() as session:
        run = lay_down(session).run_key
        first = [verdict(run, n, raw=f"reply {n}") for n in range(4)]
        add_verdicts(session=session, verdicts=first, at=NOW)
        again = add_verdicts(session=session, verdicts=[*first, verdict(run, 5)], at=later(60))
        assert (again.added, again.present) == (1, 4)
        with pytest.raises(DifferentRecord, match="recorded as 'pass', and 'fail' was given") as refused:
            add_verdicts(session=session, verdicts=[first[0], verdict(run, 1, "fail")], at=NOW)
        assert refused.value.position == 1
        with pytest.raises(DifferentRecord, match="its reply"):
            add_verdicts(session=session, verdicts=[verdict(run, 1, raw="another")], at=NOW)
        lenient = add_verdicts(
            session=session, verdicts=[verdict(run, 1, "fail"), first[2]], at=NOW, strict=False
        )
        assert (lenient.added, lenient.present, lenient.different) == (0, 1, (0,))
        answers = [each.answer for each in iter_verdicts(session=session, scope=ALL)]
        assert answers == ["pass"] * 5


def test_verdicts_of_several_judges_are_told_apart(store: Store) -> None:
    """One call records lines of several runs in any order; each judge is read alone."""
    with store.write() as session:
        one, two = lay_down(session), lay_down(session, judge="claude")
        mixed = [verdict((one, two)[n % 2].run_key, n // 2, ("pass", "fail")[n % 2]) for n in range(8)]
        add_verdicts(session=session, verdicts=mixed, at=NOW)
    with store.read() as session:
        for world, answer in ((one, "pass"), (two, "fail")):
            found = list(iter_verdicts(session=session, scope=ALL, judge_digest=world.judge_digest))
            assert [each.answer for each in found] == [answer] * 4
            assert {each.judge_digest for each in found} == {world.judge_digest}
            assert len(list(iter_verdicts(session=session, scope=ALL, run_key=world.run_key))) == 4


def test_verdicts_without_a_run_or_item_are_refused(sqlite_store: Store) -> None:
    """An unknown run or item is named."""
    with sqlite_store.write() as session:
        run = lay_down(session).run_key
        with pytest.raises(RecordError, match="no run 'none'"):
            add_verdicts(session=session, verdicts=[verdict("none", 1)], at=NOW)
        with pytest.raises(RecordError, match="no item 'case-70' \\(nor 1 more"):
            add_verdicts(
                session=session, verdicts=[verdict(run, 70), verdict(run, 71), verdict(run, 1)], at=NOW
            )


def test_judges_and_runs_are_found_again(store: Store) -> None:
    """By name or digest; the same plan is the same run, and refused with another number of units."""
    with store.write() as session:
        world = lay_down(session)
        assert get_judge(session=session, judge="gpt").content == {"model": "gpt", "temperature": 0}
        assert get_judge(session=session, judge=world.judge_digest).name == "gpt"
        assert [judge.name for judge in list_judges(session=session)] == ["gpt"]
        with pytest.raises(RecordError, match="no judge 'nobody'"):
            get_judge(session=session, judge="nobody")
        assert lay_down(session).run_key == world.run_key
        (run,) = list_runs(session=session, dataset=DATASET, judge_digest=world.judge_digest)
        assert run == get_run(session=session, key=world.run_key)
        assert list_runs(session=session, rubric_digest="other") == []
        with pytest.raises(DifferentRecord, match="recorded with 0 units, and 7"):
            add_run(
                session=session,
                judge_digest=world.judge_digest,
                rubric_digest=world.rubric.digest,
                dataset=DATASET,
                origin=RunOrigin.IMPORT,
                plan={},
                units=7,
                at=NOW,
            )
