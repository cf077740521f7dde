"""What lapses stays lapsed, whatever the clock says; alarms suspend or warn by the policy."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlmodel import Session

from calibration.registry import Admission, expiring, live_admission, side_by_side
from calibration.store.chain import append_event
from calibration.store.database import Store
from calibration.store.watching import (
    alarms,
    known_moment,
    open_audit,
    open_audits,
    raise_alarm,
    record_lapse,
)
from rubrics.errors import AdmissionExpired, JudgeNotAdmitted
from tests.calibration.filling import NOW, RUBRIC
from tests.calibration.registry.deciding import (
    CLEAN,
    TEN,
    again,
    examined,
    label_anew,
    later,
    scope_of,
    signed,
)
from tests.databases import BOTH


def ask(session: Session, days: float) -> Admission:
    """What the registry answers so many days after NOW."""
    return live_admission(
        session=session, scope=scope_of(session), judge="gpt", rubric=RUBRIC.ref, at=later(days)
    )


def test_expiry_holds_to_the_microsecond(sqlite_store: Store) -> None:
    """Half-open: the last microsecond is allowed, the next is not."""
    with sqlite_store.write() as session:
        decision = signed(session, examined(session, CLEAN))
        assert decision.valid_until is not None
        last = (decision.valid_until - NOW - timedelta(microseconds=1)) / timedelta(days=1)
        assert ask(session, last).decision.hash == decision.hash
        with pytest.raises(AdmissionExpired):
            ask(session, last + 1e-9)


def test_a_clock_that_is_set_back_revives_nothing(store: Store) -> None:
    """Any record that is later than the expiry tells the time; so does the lapse that was written down."""
    with store.write() as session:
        decision = signed(session, examined(session, CLEAN))
        assert ask(session, 1).decision.hash == decision.hash
        append_event(session=session, stream="x", kind="k", actor="a", payload={}, at=later(31))
        assert known_moment(session=session, at=NOW) == later(31)
        with pytest.raises(AdmissionExpired, match="lapsed on 2026-12-30"):
            ask(session, 1)


@BOTH
def test_a_lapse_is_written_down_once(store: Store) -> None:
    """Even with a time before the expiry, a recorded lapse ends the decision, and no other one."""
    with store.write() as session:
        decision = signed(session, examined(session, CLEAN), days=0.5)
        for _ in range(2):
            record_lapse(session=session, decision=decision.hash, actor="grade", at=later(1))
        with pytest.raises(AdmissionExpired):
            ask(session, 1)
        label_anew(session, 1.5)
        renewed = signed(session, again(session, days=2), days=2)
        assert ask(session, 3).decision.hash == renewed.hash


SUSPENDING = TEN.model_copy(
    update={"name": "watched", "recalibrate_on": ("anchor_change", "cusum"), "warn_on": ("cusum",)}
)


@pytest.mark.parametrize(
    ("trigger", "suspends"), [("anchor_change", True), ("cusum", False), ("audit_e_value", False)]
)
def test_an_alarm_suspends_or_warns_by_the_policy(store: Store, trigger: str, suspends: bool) -> None:
    """What the policy lists suspends unless it says that it only warns; what it does not list warns."""
    with store.write() as session:
        decision = signed(session, examined(session, CLEAN, SUSPENDING), policy=SUSPENDING, days=0.5)
        for _ in range(2):
            raise_alarm(
                session=session,
                decision=decision.hash,
                trigger=trigger,
                sentence="2 of 30 anchors changed",
                actor="watch",
                at=later(1),
            )
        assert len(alarms(session=session, decisions=[decision.hash])) == 1
        if suspends:
            with pytest.raises(JudgeNotAdmitted, match=r"suspended by an alarm .*2 of 30 anchors") as caught:
                ask(session, 2)
            assert "a calibration after the alarm of 2026-12-01" in caught.value.missing[0]
        else:
            (warning,) = ask(session, 2).warnings
            assert "2 of 30 anchors changed" in warning
        label_anew(session, 2)
        renewed = signed(session, again(session, SUSPENDING, days=3), policy=SUSPENDING, days=3)
        assert ask(session, 4) == Admission(renewed, ())


def test_an_audit_of_a_system_is_opened_once(store: Store) -> None:
    """The second request finds the first."""
    with store.write() as session:
        opened = [
            open_audit(session=session, decision="d", system="bot-8", actor="grade", at=later(n))
            for n in (1, 2)
        ]
        assert opened == [True, False]
        assert open_audits(session=session) == {("d", "bot-8")}


def test_what_lapses_soon_is_listed_soonest_first(sqlite_store: Store) -> None:
    """Suspensions and rejections are not; what has lapsed is."""
    with sqlite_store.write() as session:
        found = examined(session, CLEAN)
        first = signed(session, found)
        other = signed(session, found, days=5, population="chats")
    assert expiring([other, first], within=timedelta(days=40), at=NOW) == (first, other)
    assert expiring([other, first], within=timedelta(days=1), at=later(30)) == (first,)
    assert expiring([other, first], within=timedelta(days=0), at=later(99)) == (first, other)


def test_two_decisions_side_by_side(sqlite_store: Store) -> None:
    """Each item of either, as counted and as it stands."""
    with sqlite_store.write() as session:
        found = examined(session, CLEAN)
        one, two = signed(session, found), signed(session, found, population="chats")
    rows = {row.name: row for row in side_by_side(one, two)}
    assert rows["far"].incumbent == rows["far"].challenger == "0/40 [0.000, 0.088] pass"
    assert rows["looks"].incumbent == "1 pass"
