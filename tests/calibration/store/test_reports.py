"""Sets, policies, reports and looks, on both databases."""

from __future__ import annotations

from typing import Any

import pytest

from calibration.store.chain import events
from calibration.store.database import Store
from calibration.store.items import (
    Scope,
)
from calibration.store.reports import (
    LookKind,
    Steered,
    add_look,
    add_policy,
    get_policy,
    get_report,
    list_looks,
    list_policies,
    list_reports,
)
from calibration.store.sets import (
    MemberEntry,
    add_set,
    freeze_set,
    get_set,
    get_set_by_digest,
    iter_members,
    list_sets,
)
from calibration.store.verdicts import add_verdicts, iter_verdicts
from rubrics.digest import digest
from rubrics.errors import DeclarationError, DifferentRecord, RecordError
from tests.calibration.store.evidence import (
    DATASET,
    NOW,
    add_report_and_policy,
    ids,
    later,
    lay_down,
    look,
    verdict,
)

ALL = Scope(dataset=DATASET)


def draw(numbers: range) -> list[MemberEntry]:
    """Members with strata and probabilities."""
    return [MemberEntry(f"case-{n}", "fail" if n % 2 else "pass", 0.5 if n % 2 else 1) for n in numbers]


def test_a_set_is_drawn_frozen_and_read(store: Store) -> None:
    """Members keep order, stratum and probability; freezing is remembered once; scopes are limited to it."""
    with store.write() as session:
        world = lay_down(session)
        common: dict[str, Any] = {"session": session, "dataset": DATASET, "actor": "lead"}
        first = add_set(
            **common, set_name="may", version=1, content={"seed": 7}, members=draw(range(4)), at=NOW
        )
        assert get_set(session=session, set_name="may").frozen_at is None
        assert freeze_set(session=session, set_digest=first, actor="lead", at=later(5)) == later(5)
        assert freeze_set(session=session, set_digest=first, actor="bob", at=later(900)) == later(5)
        second = add_set(
            **common,
            set_name="may",
            version=2,
            content={"seed": 8},
            members=draw(range(6)),
            extends=first,
            at=later(10),
        )
        again = add_set(
            **common, set_name="may", version=1, content={"seed": 7}, members=draw(range(4)), at=later(99)
        )
        assert again == first != second
        add_verdicts(session=session, verdicts=[verdict(world.run_key, n) for n in range(6)], at=NOW)
    with store.read() as session:
        stored = get_set(session=session, set_name="may", version=1)
        assert (stored.digest, stored.frozen_at, stored.content) == (first, later(5), {"seed": 7})
        assert get_set(session=session, set_name="may").extends == first
        assert get_set_by_digest(session=session, digest=second).ref == "may@2"
        assert [each.ref for each in list_sets(session=session, dataset=DATASET)] == ["may@1", "may@2"]
        members = list(iter_members(session=session, set_digest=first))
        assert [(m.item_id, m.stratum, m.inclusion_probability) for m in members] == [
            ("case-0", "pass", 1.0),
            ("case-1", "fail", 0.5),
            ("case-2", "pass", 1.0),
            ("case-3", "fail", 0.5),
        ]
        assert ids(iter_verdicts(session=session, scope=Scope(set_digest=first))) == [
            f"case-{n}" for n in range(4)
        ]


def test_sets_refuse_what_would_make_them_ambiguous(sqlite_store: Store) -> None:
    """Other members under a taken name, an item twice, no item, an unknown item."""
    with sqlite_store.write() as session:
        lay_down(session)

        def add(members: list[MemberEntry]) -> str:
            return add_set(
                session=session,
                set_name="may",
                version=1,
                dataset=DATASET,
                content={},
                members=members,
                actor="lead",
                at=NOW,
            )

        add(draw(range(3)))
        with pytest.raises(DifferentRecord, match="may@1 is recorded with other members"):
            add(draw(range(4)))
        with pytest.raises(DifferentRecord):
            add([MemberEntry("case-0"), *draw(range(1, 3))])
        with pytest.raises(DeclarationError, match="'case-1' is twice"):
            add([*draw(range(2)), MemberEntry("case-1")])
        with pytest.raises(DeclarationError, match="no member"):
            add([])
        with pytest.raises(RecordError, match="no item 'case-50'"):
            add([MemberEntry("case-50")])
        with pytest.raises(RecordError, match="no set 'june'"):
            get_set(session=session, set_name="june")


def test_policies_count_from_their_first_moment(store: Store) -> None:
    """Recording a policy again changes nothing; it is found by name, name@version or digest."""
    content = {"id": "acceptance", "limit": 0.1}
    with store.write() as session:
        for moment, version in ((NOW, 1), (later(100), 1)):
            add_policy(
                session=session,
                digest=digest(content),
                policy_name="acceptance",
                version=version,
                content=content,
                actor="lead",
                at=moment,
            )
        for asked in ("acceptance", "acceptance@1", digest(content)):
            found = get_policy(session=session, policy=asked)
            assert (found.added_at, found.content) == (NOW, content)
        assert len(list_policies(session=session)) == 1
        for unknown in ("acceptance@2", "other"):
            with pytest.raises(RecordError, match=f"no policy '{unknown}'"):
                get_policy(session=session, policy=unknown)


def test_reports_are_bound_to_recorded_things(store: Store) -> None:
    """A report is recorded once, found by the beginning of its digest, and refused without its judge."""
    with store.write() as session:
        world = lay_down(session)
        report, policy = add_report_and_policy(session, world)
        assert add_report_and_policy(session, world) == (report, policy)
        stored = get_report(session=session, digest_prefix=report[:8])
        assert (stored.content["far"], stored.policy_digest) == ({"x": 1, "n": 80}, policy)
        assert list_reports(session=session, judge_digest=world.judge_digest, criterion="correct") == [stored]
        assert list_reports(session=session, dataset="other") == []
        for prefix, words in ((".", "no report begins"), ("", "several reports begin")):
            add_report_and_policy(session, world, inputs="i2")
            with pytest.raises(RecordError, match=words):
                get_report(session=session, digest_prefix=prefix)
    with pytest.raises(RecordError, match=r"(?i)foreign key"), store.write() as session:
        add_report_and_policy(session, type(world)(world.rubric, "no-such-judge", ""), inputs="i3")


def test_the_same_inputs_are_one_look(store: Store) -> None:
    """A look at the same inputs gives the first one back, whoever looks; each new one is in the trail."""
    with store.write() as session:
        world = lay_down(session)
        first, new = add_look(session=session, look=look(world))
        again, second = add_look(session=session, look=look(world, actor="bob", at=later(50)))
        assert (new, second, again) == (True, False, first)
        add_look(
            session=session,
            look=look(world, "i2", kind=LookKind.EXPORT, steered=Steered.PRESUMED, at=later(60)),
        )
        assert [each.kind for each in list_looks(session=session)] == ["report", "export"]
        assert list_looks(session=session, criterion="other") == []
        trail = list(events(session=session, stream="looks"))
        assert [event.payload["steered"] for event in trail] == ["no", "presumed"]
