"""Recording and reading each kind of evidence, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from calibration.labels import Blindness, LabelSource, ReferenceLabel, ReferenceRule, UnresolvedReason
from calibration.store.assessments import LabelEntry, add_labels, iter_labels
from calibration.store.chain import events
from calibration.store.database import Store
from calibration.store.imports import record_import, seal_import
from calibration.store.items import (
    Scope,
    add_items,
    count_items,
    get_item,
    item_content,
    item_ids,
    iter_full_items,
    iter_items,
    list_datasets,
)
from calibration.store.judges import RunOrigin, add_run, get_judge, get_run, list_judges, list_runs
from calibration.store.references import (
    AdjudicationEntry,
    ReferenceEntry,
    add_adjudications,
    add_reference_labels,
    iter_adjudications,
    iter_references,
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
from calibration.store.rubrics import add_rubric, get_rubric, get_rubric_by_digest, list_rubrics
from calibration.store.sets import (
    MemberEntry,
    add_set,
    freeze_set,
    get_set,
    get_set_by_digest,
    iter_members,
    list_sets,
)
from calibration.store.verdicts import VerdictEntry, add_verdicts, iter_verdicts
from rubrics.digest import digest
from rubrics.errors import DeclarationError, DifferentRecord, RecordError
from rubrics.item import Item, Split
from rubrics.verdict import UnknownReason, Verdict
from tests.calibration.store.evidence import (
    DATASET,
    NOW,
    add_report_and_policy,
    ids,
    item,
    label,
    later,
    lay_down,
    look,
    pair_rubric,
    rubric,
    verdict,
)

ALL = Scope(dataset=DATASET)


# --- rubrics


def test_a_rubric_is_published_once_and_read_back(store: Store) -> None:
    """The same text twice is one rubric; it comes back equal, newest version first."""
    with store.write() as session:
        assert add_rubric(session=session, rubric=rubric(), actor="lead", at=NOW)
        assert not add_rubric(session=session, rubric=rubric(), actor="lead", at=later(5))
        assert add_rubric(session=session, rubric=rubric(2, "Is it right?"), actor="lead", at=NOW)
    with store.read() as session:
        assert get_rubric(session=session, name="refund-policy") == rubric(2, "Is it right?")
        assert get_rubric(session=session, name="refund-policy", version=1) == rubric()
        assert get_rubric_by_digest(session=session, digest=rubric().digest) == rubric()
        assert [str(ref) for ref, _ in list_rubrics(session=session)] == [
            "refund-policy@1",
            "refund-policy@2",
        ]
        published = [event.payload["rubric"] for event in events(session=session, stream="records")]
        assert published == ["refund-policy@1", "refund-policy@2"]


def test_other_content_under_a_published_version_is_refused(store: Store) -> None:
    """name@version never changes its meaning; the sentence names the next free version."""
    with store.write() as session:
        add_rubric(session=session, rubric=rubric(), actor="lead", at=NOW)
        with pytest.raises(DifferentRecord, match="publish this text as refund-policy@2"):
            add_rubric(session=session, rubric=rubric(1, "Is it wrong?"), actor="lead", at=NOW)
    with store.read() as session:
        assert get_rubric(session=session, name="refund-policy") == rubric()
        with pytest.raises(RecordError, match="no rubric 'refund-policy@9' is published"):
            get_rubric(session=session, name="refund-policy", version=9)
        with pytest.raises(RecordError, match="voirdire rubric list"):
            get_rubric_by_digest(session=session, digest="0" * 64)


# --- items


def test_items_come_back_whole_and_in_their_order(store: Store) -> None:
    """What was imported is what is read, in the order of the file, across chunks."""
    given = [item(n) for n in (5, 3, 9, *range(100, 1250))] + [
        item(7, output=None, output_a="one", output_b="two", split=Split.TUNING, tags={})
    ]
    with store.write() as session:
        assert add_items(session=session, dataset=DATASET, items=iter(given), at=NOW).added == len(given)
    with store.read() as session:
        assert list(iter_full_items(session=session, scope=ALL)) == given
        assert get_item(session=session, dataset=DATASET, item_id="case-7") == given[-1]
        assert ids(iter_items(session=session, scope=Scope(dataset=DATASET, split=Split.TUNING))) == [
            "case-7"
        ]
        assert (
            count_items(session=session, scope=ALL) == len(given) == len(item_ids(session=session, scope=ALL))
        )
        assert list_datasets(session=session) == [(DATASET, len(given))]
        first = next(iter_items(session=session, scope=ALL))
        assert (first.group, first.tags, first.system) == ("prompt-2", {"channel": "mail"}, "bot-7")


def test_the_payload_has_the_digest_that_items_state() -> None:
    """What is stored of an item is what its content digest is computed from."""
    for each in (item(1), item(2, evidence={}), item(3, output=None, output_a="", output_b="b")):
        assert digest(item_content(each)) == each.content_digest


def test_a_second_import_adds_nothing_and_a_changed_item_is_refused(store: Store) -> None:
    """The same items are counted as present; the sentence says what differs in a changed one."""
    with store.write() as session:
        add_items(session=session, dataset=DATASET, items=[item(1), item(2)], at=NOW)
        again = add_items(
            session=session, dataset=DATASET, items=[item(1), item(2), item(2), item(3)], at=later(9)
        )
        assert (again.added, again.present, again.different) == (1, 3, ())
        for changed, what in [
            (item(2, output="other"), "text"),
            (item(2, group="g"), "group"),
            (item(2, tags={}), "tags"),
            (item(2, split=Split.TUNING), "split"),
        ]:
            with pytest.raises(DifferentRecord, match=f"'case-2'.* another {what}") as refused:
                add_items(session=session, dataset=DATASET, items=[item(1), changed], at=NOW)
            assert refused.value.position == 1
        lenient = add_items(
            session=session,
            dataset=DATASET,
            items=[item(9), item(2, group="g"), item(1)],
            at=NOW,
            strict=False,
        )
        assert (lenient.added, lenient.present, lenient.different) == (1, 1, (1,))
    with store.read() as session:
        assert get_item(session=session, dataset=DATASET, item_id="case-2") == item(2)


def test_the_same_id_in_two_datasets_are_two_items(store: Store) -> None:
    """Ids are unique within a dataset; equal texts share their payload."""
    with store.write() as session:
        add_items(session=session, dataset="one", items=[item(1)], at=NOW)
        add_items(session=session, dataset="two", items=[item(1, group="other")], at=NOW)
        found = get_item(session=session, dataset="two", item_id="case-1")
        assert isinstance(found, Item)
        assert found.group == "other"
        with pytest.raises(RecordError, match="dataset 'two' has no item 'case-2'"):
            get_item(session=session, dataset="two", item_id="case-2")


def test_a_scope_is_a_dataset_or_a_set() -> None:
    """Neither or both is a mistake of the caller."""
    with pytest.raises(ValueError, match="a dataset or a set"):
        Scope()
    with pytest.raises(ValueError, match="a dataset or a set"):
        Scope(dataset="d", set_digest="s")


# --- labels


def test_labels_come_back_with_everything_said(store: Store) -> None:
    """Answer, reason, mode, blindness, source, times and repeat are read as recorded."""
    berlin = timezone(timedelta(hours=2))
    given = label(
        1,
        answer="unknown",
        reason="evidence_missing",
        failure_mode="wrong_amount",
        blind=Blindness.DECLARED,
        source=LabelSource.MODEL,
        repeat=1,
        shown_at=datetime(2026, 7, 1, 14, 0, tzinfo=berlin),
        decided_at=datetime(2026, 7, 1, 12, 0, 7, 5, tzinfo=UTC),
    )
    with store.write() as session:
        asked = lay_down(session).rubric.digest
        add_labels(session=session, dataset=DATASET, rubric_digest=asked, labels=[given], at=NOW)
    with store.read() as session:
        (back,) = iter_labels(session=session, scope=ALL, rubric_digest=asked)
    told = [field for field in LabelEntry.__slots__ if field not in ("note", "fields")]
    assert [getattr(back, field) for field in told] == [getattr(given, field) for field in told]
    assert (back.note_digest, back.shown_at) == (None, datetime(2026, 7, 1, 12, 0, tzinfo=UTC))


def test_labels_are_filtered_ordered_and_superseded(store: Store) -> None:
    """By item order, then criterion and rater; a corrected label is left out unless asked for."""
    with store.write() as session:
        asked = lay_down(session).rubric.digest
        first = [label(3, "bob"), label(0, "bob"), label(0, "ann"), label(0, "ann", "3", criterion="tone")]
        add_labels(session=session, dataset=DATASET, rubric_digest=asked, labels=first, at=NOW)
        wrong = next(iter_labels(session=session, scope=ALL, rubric_digest=asked, criterion="correct"))
        corrected = label(0, "ann", "fail", revision=1, supersedes=wrong.digest)
        add_labels(session=session, dataset=DATASET, rubric_digest=asked, labels=[corrected], at=later(60))
    with store.read() as session:

        def found(**options: object) -> list[tuple[str, str, str]]:
            labels = iter_labels(session=session, scope=ALL, rubric_digest=asked, **options)  # type: ignore[arg-type]
            return [(each.item_id, each.rater, each.answer) for each in labels]

        assert found(criterion="correct") == [
            ("case-0", "ann", "fail"),
            ("case-0", "bob", "pass"),
            ("case-3", "bob", "pass"),
        ]
        assert found(criterion="correct", live=False)[:2] == [
            ("case-0", "ann", "pass"),
            ("case-0", "ann", "fail"),
        ]
        assert found(criterion="tone") == [("case-0", "ann", "3")]
        assert len(found()) == 4


def test_a_label_never_changes_and_a_correction_has_one_successor(store: Store) -> None:
    """The same label again is present; another answer, or a second correction of one label, is refused."""
    with store.write() as session:
        asked = lay_down(session).rubric.digest

        def add(entry: LabelEntry, *, strict: bool = True) -> tuple[int, int, tuple[int, ...]]:
            outcome = add_labels(
                session=session, dataset=DATASET, rubric_digest=asked, labels=[entry], at=NOW, strict=strict
            )
            return outcome.added, outcome.present, outcome.different

        assert add(label(1, note="hm")) == (1, 0, ())
        assert add(label(1, note="hm")) == (0, 1, ())
        with pytest.raises(
            DifferentRecord, match=r"'ann' is recorded with 'pass' on item 'case-1'.*'fail' was"
        ):
            add(label(1, answer="fail"))
        assert add(label(1, answer="fail"), strict=False) == (0, 0, (0,))
        (first,) = iter_labels(session=session, scope=ALL, rubric_digest=asked)
        assert add(label(1, answer="fail", revision=1, supersedes=first.digest)) == (1, 0, ())
        with pytest.raises(DifferentRecord):
            add(label(1, answer="unknown", revision=2, supersedes=first.digest))


@pytest.mark.parametrize(
    ("entry", "error", "words"),
    [
        (
            label(1, answer="banana"),
            DeclarationError,
            r"'banana' is no answer under 'correct'; allowed: fail, pass",
        ),
        (label(1, answer="5", criterion="tone"), DeclarationError, "'5' is no answer under 'tone'"),
        (label(1, criterion="grammar"), DeclarationError, "no criterion 'grammar'; it has correct, tone"),
        (label(99), RecordError, "has no item 'case-99'"),
        (label(1, rater=""), DeclarationError, "rater ''"),
        (label(1, rater="a\0"), DeclarationError, r"U\+0000"),
    ],
)
def test_labels_that_fit_nothing_are_refused(
    sqlite_store: Store, entry: LabelEntry, error: type[Exception], words: str
) -> None:
    """An answer off the scale, an unknown criterion or item, a rater without a name: one sentence each."""
    with sqlite_store.write() as session:
        asked = lay_down(session).rubric.digest
        with pytest.raises(error, match=words):
            add_labels(session=session, dataset=DATASET, rubric_digest=asked, labels=[entry], at=NOW)


# --- adjudications and references


def test_adjudications_are_read_back_and_resolved_once(store: Store) -> None:
    """A resolution needs a reason and stays; a revision replaces it."""
    with store.write() as session:
        asked = lay_down(session).rubric.digest

        def add(entry: AdjudicationEntry) -> int:
            return add_adjudications(
                session=session, dataset=DATASET, rubric_digest=asked, adjudications=[entry], at=NOW
            ).added

        first = AdjudicationEntry("case-1", "correct", "zoe", "fail", reason="it is not")
        assert (add(first), add(first)) == (1, 0)
        with pytest.raises(DifferentRecord, match="already adjudicated"):
            add(AdjudicationEntry("case-1", "correct", "yan", "pass", reason="it is"))
        with pytest.raises(DeclarationError, match="has no reason"):
            add(AdjudicationEntry("case-2", "correct", "zoe", "fail", reason=" "))
        (stored,) = iter_adjudications(session=session, scope=ALL, rubric_digest=asked)
        revised = AdjudicationEntry(
            "case-1", "correct", "yan", "unknown", reason="both fit", revision=1, supersedes=stored.digest
        )
        assert add(revised) == 1
        (live,) = iter_adjudications(session=session, scope=ALL, rubric_digest=asked, criterion="correct")
        assert (live.adjudicator, live.answer, live.supersedes) == ("yan", "unknown", stored.digest)
        assert len(list(iter_adjudications(session=session, scope=ALL, rubric_digest=asked, live=False))) == 2


def test_reference_labels_name_what_they_rest_on(store: Store) -> None:
    """The same labels give the same row; a later label gives a further row; another result is refused."""
    label_pass = ReferenceLabel(Verdict.PASS, 3)
    open_label = ReferenceLabel(Verdict.UNKNOWN, 2, unresolved=UnresolvedReason.DISAGREEMENT)
    with store.write() as session:
        asked = lay_down(session).rubric.digest

        def add(*entries: ReferenceEntry, rule: ReferenceRule = ReferenceRule.MAJORITY) -> int:
            return add_reference_labels(
                session=session,
                dataset=DATASET,
                rubric_digest=asked,
                rule=rule,
                min_raters=2,
                references=entries,
                at=NOW,
            ).added

        first = ReferenceEntry("case-1", "correct", label_pass, "a" * 64)
        assert (add(first), add(first)) == (1, 0)
        assert add(ReferenceEntry("case-1", "correct", open_label, "b" * 64)) == 1
        assert add(first, rule=ReferenceRule.UNANIMOUS) == 1
        assert add(ReferenceEntry("case-2", "tone", label_pass, "c" * 64, answer="4")) == 1
        with pytest.raises(DifferentRecord, match="majority reference of item 'case-1'"):
            add(ReferenceEntry("case-1", "correct", open_label, "a" * 64))
        found = list(iter_references(session=session, scope=ALL, rubric_digest=asked))
        assert sorted((each.item_id, each.rule, each.inputs_digest[0]) for each in found) == [
            ("case-1", "majority", "a"),
            ("case-1", "majority", "b"),
            ("case-1", "unanimous", "a"),
            ("case-2", "majority", "c"),
        ]
        (tone,) = iter_references(session=session, scope=ALL, rubric_digest=asked, criterion="tone")
        assert (tone.label, tone.answer, tone.min_raters) == (label_pass, "4", 2)
        assert open_label in [each.label for each in found]


# --- judges, runs, verdicts


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


# --- sets


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


# --- policies, reports, looks


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


# --- imports


def test_an_import_is_recorded_once_and_sealed(store: Store) -> None:
    """The same file has the same key and no second event; the seal counts what it brought."""
    with store.write() as session:
        file: dict[str, Any] = {
            "session": session,
            "kind": "items",
            "dataset": DATASET,
            "file_digest": "a" * 64,
            "provenance": {"origin": "https://example.org", "licence": "CC-BY-4.0"},
            "actor": "lead",
            "at": NOW,
        }
        keys = set()
        for turn in (0, 1):
            key = record_import(**file)
            keys.add(key)
            add_items(session=session, dataset=DATASET, items=[item(1), item(2)], at=NOW, import_key=key)
            seal = seal_import(session=session, key=key, kind="items", actor="lead", at=later(turn))
            assert seal.rows == 2
        assert len(keys) == 1
        assert record_import(**(file | {"file_digest": "b" * 64})) not in keys
        kinds = [event.kind for event in events(session=session, stream="imports")]
        assert kinds == ["file.imported", "import.sealed", "file.imported"]
