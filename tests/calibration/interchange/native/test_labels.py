"""Labels and adjudications from files: joined exactly, repeats never guessed, nothing twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from calibration.interchange.doctor import NeedsOptions
from calibration.interchange.native.answers import parse_answer_map
from calibration.interchange.native.stubs import RubricOptions, parse_levels, stub_name
from calibration.interchange.options import OnRepeat
from calibration.labels import Blindness, LabelSource
from calibration.store.assessments import iter_labels
from calibration.store.database import Store
from calibration.store.imports import list_imports
from calibration.store.integrity import findings
from calibration.store.items import Scope
from calibration.store.references import iter_adjudications
from calibration.store.rubrics import add_rubric, get_rubric
from rubrics.errors import DeclarationError, DifferentRecord, JudgeCalibrationError, RecordError, TableError
from tests.calibration.interchange.native.files import (
    BY,
    DATASET,
    STUB,
    label,
    labels_of,
    rows,
    ruling,
    take,
    with_items,
    write,
)
from tests.calibration.store.evidence import rubric
from tests.databases import BOTH


def live(store: Store) -> list[tuple[str, str, str, int, int]]:
    """Item, rater, answer, repeat and revision of every live label."""
    with store.read() as session:
        digest = get_rubric(session=session, name=stub_name(DATASET)).digest
        found = iter_labels(session=session, scope=Scope(dataset=DATASET), rubric_digest=digest)
        return [(f.item_id, f.rater, f.answer, f.repeat, f.revision) for f in found]


def refused(store: Store, source: str, **changes: Any) -> str:
    """The sentence with which a file is refused; nothing of it is stored."""
    before = rows(store)
    with pytest.raises(JudgeCalibrationError) as caught:
        take(store, "labels", source, **changes)
    assert rows(store) == before
    return str(caught.value)


@BOTH
def test_a_label_with_everything(store: Store, tmp_path: Path) -> None:
    """Note, source and blindness are kept, and so is every field that has no name of its own."""
    with_items(store, tmp_path)
    more: dict[str, Any] = {"note": "n\u2028\0", "source": "model", "blind": "yes"}
    more |= {"confidence": 0.90, "meta": {"a": [1]}}
    take(store, "labels", write(tmp_path, label(0, **more)))
    with store.read() as session:
        digest = get_rubric(session=session, name="support-imported", version=1).digest
        found = next(iter_labels(session=session, scope=Scope(dataset=DATASET), rubric_digest=digest))
    assert (found.blind, found.source) == (Blindness.DECLARED, LabelSource.MODEL)
    told = labels_of(store)[0]
    assert (told["note"], told["confidence"], told["meta"]) == ("n\u2028\0", "0.9", {"a": ["1"]})


@pytest.mark.parametrize(
    ("said", "blind"),
    [("yes", "declared"), ("sheet", "declared"), ("declared", "declared"), ("no", "no"), (None, "unknown")],
)
def test_a_file_can_only_declare_that_a_rater_was_blind(
    said: str | None, blind: str, sqlite_store: Store, tmp_path: Path
) -> None:
    """Only the rating app enforces it."""
    with_items(sqlite_store, tmp_path)
    take(sqlite_store, "labels", write(tmp_path, label(0, blind=said)))
    assert labels_of(sqlite_store)[0]["blind"] == blind


def test_null_and_cannot_decide_stay_labels(sqlite_store: Store, tmp_path: Path) -> None:
    """They are answers of the rater, not gaps."""
    with_items(sqlite_store, tmp_path)
    found = take(sqlite_store, "labels", write(tmp_path, label(0, None), label(1, "cannot_decide"), label(2)))
    assert dict(found.answers) == {"pass": 1, "unknown": 2}
    assert [answer for _, _, answer, _, _ in live(sqlite_store)] == ["unknown", "unknown", "pass"]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"rater": "a", "criterion": "correct", "label": "pass"}, "item_id is missing"),
        ({"item_id": "i0", "criterion": "correct", "label": "pass"}, "rater is missing"),
        ({"item_id": "i0", "rater": "a", "criterion": "correct", "verdict": "pass"}, "label is missing"),
        (label(0, rater=" "), "rater is empty"),
        (label(0, rater="a\0"), "U+0000"),
        (label(0, rater="x" * 300), "300 characters"),
        (label(0, source="dog"), "source 'dog' is none of human, model, code"),
        (label(0, blind="perhaps"), "blind 'perhaps' is none of"),
        (label(0, kind="guess"), "kind 'guess' is none of"),
        (label(0, decided_at="yesterday"), "no moment with its zone"),
        (label(0, decided_at="2026-11-30T12:00:00"), "no moment with its zone"),
        (label(0, repeat="first"), "no whole number"),
        (label(0, criterion=7), "criterion"),
        (label(0, revision=2), "comes without the label before it"),
        ({**ruling(0), "rater": "ann"}, "may not adjudicate it"),
    ],
)
def test_a_record_that_is_no_label_is_refused(
    record: Any, said: str, sqlite_store: Store, tmp_path: Path
) -> None:
    """With its line and what is allowed; the lines around it are not stored either."""
    with_items(sqlite_store, tmp_path)
    told = refused(sqlite_store, write(tmp_path, label(0), record, label(1)))
    assert said in told
    assert "line 2: " in told or "criterion" in said


def test_ids_that_do_not_join_are_listed(store: Store, tmp_path: Path) -> None:
    """All of them, each with its first line; they are joined exactly."""
    with_items(store, tmp_path, 2)
    records = [label(0), label(7), label(8), label(7, rater="bob"), {**label(0), "item_id": "i1 "}]
    told = refused(store, write(tmp_path, *records))
    assert "4 lines of labels name items that dataset 'support' does not have" in told
    assert "'i7' (line 2), 'i8' (line 3), 'i1 ' (line 5)" in told
    found = take(store, "labels", write(tmp_path, *records), skip_bad=True)
    assert (found.added, [each.line for each in found.rejected]) == (1, [2, 3, 4, 5])


def test_a_dataset_without_items_is_named(sqlite_store: Store, tmp_path: Path) -> None:
    """The next command is said."""
    assert "voirdire items import FILE --dataset support" in refused(sqlite_store, write(tmp_path, label(0)))


@BOTH
def test_a_second_import_adds_nothing_and_a_changed_line_is_refused(store: Store, tmp_path: Path) -> None:
    """By its line; what is recorded stays."""
    with_items(store, tmp_path)
    records = [label(0), label(1, "fail"), ruling(0, "fail")]
    first = take(store, "labels", write(tmp_path, *records))
    assert (first.records, first.added, first.notes) == (3, 3, ("1 adjudication",))
    before = rows(store)
    again = take(store, "labels", write(tmp_path, *records))
    assert (again.added, again.present, again.import_key) == (0, 3, None)
    assert rows(store) == before
    for changed in (label(1, "pass"), label(1, "fail", note="x"), label(1, "fail", origin="x")):
        told = refused(store, write(tmp_path, label(0), changed))
        assert "line 2: 'ann' is recorded with 'fail' on item 'i1'" in told
    told = refused(store, write(tmp_path, label(0), ruling(0, "pass")))
    assert "line 2: item 'i0' is already adjudicated" in told
    found = take(store, "labels", write(tmp_path, label(1), ruling(0), label(2)), skip_bad=True)
    assert [each.line for each in found.rejected] == [1, 2]


# -- repeats


def test_the_same_label_again_is_ignored_and_counted(store: Store, tmp_path: Path) -> None:
    """Whatever its note: one rater gave one answer."""
    with_items(store, tmp_path)
    found = take(store, "labels", write(tmp_path, label(0), label(0, note="again"), label(1)))
    assert (found.records, found.added, found.ignored) == (3, 2, 1)
    assert (found.repeated, found.conflicting) == (1, 0)
    assert len(live(store)) == 2


@pytest.mark.parametrize("second", [label(0, "fail"), label(0, blind="yes"), label(0, source="model")])
def test_another_answer_of_the_same_rater_is_refused_with_both_lines(
    second: Any, sqlite_store: Store, tmp_path: Path
) -> None:
    """So is the same answer that came to be in another way."""
    with_items(sqlite_store, tmp_path)
    told = refused(sqlite_store, write(tmp_path, label(1), label(0), second))
    assert "line 3: 'ann' already answered item 'i0' under 'correct' on line 2 (pass)" in told
    assert "--on-repeat last or unresolved" in told


def test_the_last_answer_holds_where_asked(store: Store, tmp_path: Path) -> None:
    """The earlier ones stay recorded as what the last one corrects."""
    with_items(store, tmp_path)
    said = [label(0), label(0, "fail"), label(0, "fail", note="x"), label(0, None), label(1)]
    found = take(store, "labels", write(tmp_path, *said), on_repeat=OnRepeat.LAST)
    assert (found.added, found.ignored, found.repeated, found.conflicting) == (4, 1, 1, 1)
    assert live(store) == [("i0", "ann", "unknown", 0, 2), ("i1", "ann", "pass", 0, 0)]
    assert [each.get("revision") for each in labels_of(store)] == [None, 1, 2, None]
    assert take(store, "labels", write(tmp_path, *said), on_repeat=OnRepeat.LAST).added == 0


def test_both_answers_stay_where_nobody_is_believed(store: Store, tmp_path: Path) -> None:
    """They are repeats 0 and 1 of the rater, both live: the reference counts the rater as cannot-decide."""
    with_items(store, tmp_path)
    said = [label(0), label(0, "fail"), label(0), label(1)]
    found = take(store, "labels", write(tmp_path, *said), on_repeat=OnRepeat.UNRESOLVED)
    assert (found.added, found.ignored, found.repeated, found.conflicting) == (3, 1, 1, 1)
    expected = [("i0", "ann", "pass", 0, 0), ("i0", "ann", "fail", 1, 0), ("i1", "ann", "pass", 0, 0)]
    assert live(store) == expected
    assert take(store, "labels", write(tmp_path, *said), on_repeat=OnRepeat.UNRESOLVED).added == 0


def test_numbered_repeats_are_no_contradiction(sqlite_store: Store, tmp_path: Path) -> None:
    """A file that numbers a rater's repeats means them."""
    with_items(sqlite_store, tmp_path)
    found = take(sqlite_store, "labels", write(tmp_path, label(0), label(0, "fail", repeat=1)))
    assert (found.added, found.repeated) == (2, 0)


@pytest.mark.parametrize(
    ("mode", "answer"), [(OnRepeat.REFUSE, None), (OnRepeat.LAST, "fail"), (OnRepeat.UNRESOLVED, "unknown")]
)
def test_two_adjudications_of_one_item(
    mode: OnRepeat, answer: str | None, store: Store, tmp_path: Path
) -> None:
    """They are refused, or the last holds, or the item stays open; the same one again is ignored."""
    with_items(store, tmp_path)
    said = write(tmp_path, label(0), ruling(0), ruling(0, rater="other"), ruling(0, "fail", note="no"))
    if answer is None:
        told = refused(store, said)
        assert "line 4: item 'i0' is adjudicated twice under 'correct', first on line 2 (pass)" in told
        return
    found = take(store, "labels", said, on_repeat=mode)
    assert (found.added, found.ignored) == (2, 2)
    with store.read() as session:
        digest = get_rubric(session=session, name=stub_name(DATASET)).digest
        scope = Scope(dataset=DATASET)
        (settled,) = iter_adjudications(session=session, scope=scope, rubric_digest=digest)
    assert settled.answer == answer


def test_an_adjudication_without_a_reason_says_so(sqlite_store: Store, tmp_path: Path) -> None:
    """It is imported: the file may not have one, and the record shows that."""
    with_items(sqlite_store, tmp_path)
    take(sqlite_store, "labels", write(tmp_path, {**ruling(0), "note": None}))
    assert labels_of(sqlite_store)[0]["note"] == "imported without a reason"


def test_an_adjudicator_who_labelled_the_item_before_is_refused(store: Store, tmp_path: Path) -> None:
    """The database refuses it also over two files, and nothing of the second is stored."""
    with_items(store, tmp_path)
    take(store, "labels", write(tmp_path, label(0, rater="chief")))
    told = refused(store, write(tmp_path, label(1), ruling(0)))
    assert "may not be one of the raters of the item" in told


# -- rubrics


def test_without_a_rubric_the_ways_out_are_said(sqlite_store: Store, tmp_path: Path) -> None:
    """A stub, or the stub that is there, or a published one."""
    with_items(sqlite_store, tmp_path)
    source = write(tmp_path, label(0))
    nothing = RubricOptions()
    with pytest.raises(NeedsOptions) as caught:
        take(sqlite_store, "labels", source, rubric=nothing)
    assert caught.value.options == ("--stub-rubric",)
    take(sqlite_store, "labels", source)
    with pytest.raises(NeedsOptions) as caught:
        take(sqlite_store, "labels", source, rubric=nothing)
    assert caught.value.options == ("--rubric", "support-imported@1")
    assert "(published: support-imported@1)" in str(caught.value)


def test_a_published_rubric_is_named_or_stands_in_the_lines(sqlite_store: Store, tmp_path: Path) -> None:
    """NAME@V, or NAME for the newest; one that is not published is refused."""
    with_items(sqlite_store, tmp_path)
    published = rubric()
    with sqlite_store.write() as session:
        add_rubric(session=session, rubric=published, actor="lead", at=BY.at)
    for number, ref in enumerate(("refund-policy", "refund-policy@1")):
        found = take(sqlite_store, "labels", write(tmp_path, label(number)), rubric=RubricOptions(ref=ref))
        assert found.rubrics == ("refund-policy@1",)
        line = label(2 + number, rubric=ref)
        assert take(sqlite_store, "labels", write(tmp_path, line), rubric=RubricOptions()).added == 1
    for ref in ("refund-policy@2", "nothing", "nothing@1", "refund-policy@x"):
        told = refused(sqlite_store, write(tmp_path, label(0)), rubric=RubricOptions(ref=ref))
        assert "is not published (published: refund-policy@1)" in told
        told = refused(sqlite_store, write(tmp_path, label(0, rubric=ref)), rubric=RubricOptions())
        assert f"names the rubric '{ref}', which is not published" in told


def test_lines_of_several_rubrics_each_go_under_their_own(store: Store, tmp_path: Path) -> None:
    """And a line that names another than was given for the file is refused."""
    with_items(store, tmp_path)
    with store.write() as session:
        for version in (1, 2):
            add_rubric(session=session, rubric=rubric(version, f"Q{version}?"), actor="lead", at=BY.at)
    both = [label(0, rubric="refund-policy@1"), label(0, "fail", rubric="refund-policy@2")]
    both += [{**ruling(0), "rubric": "refund-policy@2"}]
    found = take(store, "labels", write(tmp_path, *both), rubric=RubricOptions())
    assert (found.records, found.added) == (3, 3)
    assert found.rubrics == ("refund-policy@1", "refund-policy@2")
    told = refused(store, write(tmp_path, *both), rubric=RubricOptions(ref="refund-policy@1"))
    assert "line 2: rubric refund-policy@2 stands beside --rubric refund-policy@1" in told


def test_a_word_of_another_rubric_is_no_rubric(sqlite_store: Store, tmp_path: Path) -> None:
    """What a tool calls its rubric does not contradict the published one that was named."""
    with_items(sqlite_store, tmp_path)
    assert take(sqlite_store, "labels", write(tmp_path, label(0, rubric="their prompt"))).added == 1


def test_a_criterion_or_an_answer_that_the_rubric_lacks_is_refused(
    sqlite_store: Store, tmp_path: Path
) -> None:
    """Unknown words come with their counts and the options that would explain them."""
    with_items(sqlite_store, tmp_path)
    with sqlite_store.write() as session:
        add_rubric(session=session, rubric=rubric(), actor="lead", at=BY.at)
    named = RubricOptions(ref="refund-policy")
    told = refused(sqlite_store, write(tmp_path, {**label(0), "criterion": "speed"}), rubric=named)
    assert "refund-policy@1 has no criterion 'speed'; it has correct, tone" in told
    with pytest.raises(NeedsOptions) as caught:
        take(
            sqlite_store,
            "labels",
            write(tmp_path, label(0), label(1, "1"), label(2, "0"), label(3, "1")),
            rubric=named,
        )
    assert "line 2: label '1' is no answer under 'correct'" in str(caught.value)
    assert "words that are not read: '1' (2), '0' (1)" in str(caught.value)
    assert caught.value.options == ("--map", "1=pass", "--map", "0=fail")
    assert caught.value.line == 2
    maps = tuple(map(parse_answer_map, ("1=pass", "0=fail", "x=fail")))
    found = take(sqlite_store, "labels", write(tmp_path, label(0, "1"), label(1, 0)), rubric=named, maps=maps)
    assert dict(found.answers) == {"fail": 1, "pass": 1}
    assert found.notes == ("--map x=fail met no label",)


@pytest.mark.parametrize(
    ("said", "changes", "scale", "answers"),
    [
        (["pass", "fail", None], {}, "binary", ("pass", "fail")),
        ([None, None], {}, "binary", ("pass", "fail")),
        (["A", "b", "tie"], {}, "preference", ("A", "B", "tie")),
        ([1, "4.0", None], {"levels": "1-4", "accept_at": "3"}, "ordinal", ("1", "2", "3", "4")),
        (
            ["poor", "good"],
            {"levels": "poor,fair,good", "accept_at": "fair"},
            "ordinal",
            ("poor", "fair", "good"),
        ),
    ],
)
def test_a_stub_takes_its_scale_from_the_words(
    said: list[Any], changes: Any, scale: str, answers: tuple[str, ...], sqlite_store: Store, tmp_path: Path
) -> None:
    """Pass and fail, A and B, or the levels that were named; it is marked imported and claims nothing."""
    with_items(sqlite_store, tmp_path, pairs=scale == "preference")
    levels = {**changes, "levels": parse_levels(changes["levels"])} if changes else {}
    records = [label(number, word) for number, word in enumerate(said)]
    take(sqlite_store, "labels", write(tmp_path, *records), rubric=RubricOptions(stub=True, **levels))
    with sqlite_store.read() as session:
        criterion = get_rubric(session=session, name="support-imported").criteria[0]
    assert (criterion.scale.kind, criterion.answers) == (scale, answers)
    assert criterion.imported
    assert getattr(criterion.scale, "candidate", None) is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ([1, 2, 4], "name ordered levels by --levels 1-4"),
        (["yes", "no"], "say what each word means by --map"),
        (["pass", "A"], "neither pass and fail nor A, B and tie"),
    ],
)
def test_words_that_fit_no_scale_are_told(
    said: list[Any], told: str, sqlite_store: Store, tmp_path: Path
) -> None:
    """With their counts and first lines; a scale is never guessed."""
    with_items(sqlite_store, tmp_path)
    records = [label(number, word) for number, word in enumerate(said)]
    assert told in refused(sqlite_store, write(tmp_path, *records))


def test_a_stub_holds_all_criteria_whatever_their_order(sqlite_store: Store, tmp_path: Path) -> None:
    """The same criteria give the same rubric, so that verdicts join the labels; further ones are refused."""
    with_items(sqlite_store, tmp_path)
    keys = ["Q2", "Q10", "Q1"]
    take(sqlite_store, "labels", write(tmp_path, *({**label(0), "criterion": key} for key in keys)))
    with sqlite_store.read() as session:
        stub = get_rubric(session=session, name="support-imported")
    assert [criterion.key for criterion in stub.criteria] == ["Q1", "Q2", "Q10"]
    found = take(sqlite_store, "labels", write(tmp_path, {**label(1), "criterion": "Q10"}))
    assert found.rubrics == ("support-imported@1",)
    told = refused(sqlite_store, write(tmp_path, {**label(1), "criterion": "Q3"}))
    assert "has the criteria 'Q3', which support-imported@1 of earlier imports does not hold" in told


def test_a_stub_of_other_levels_or_of_a_real_rubric_is_refused(sqlite_store: Store, tmp_path: Path) -> None:
    """What was published stays; the way out is said."""
    with_items(sqlite_store, tmp_path)
    with sqlite_store.write() as session:
        real = rubric().model_copy(update={"name": "real-imported"})
        add_rubric(session=session, rubric=real, actor="lead", at=BY.at)
    take(
        sqlite_store, "items", write(tmp_path, {"item_id": "i0", "input": "q", "output": "a"}), dataset="real"
    )
    told = refused(sqlite_store, write(tmp_path, label(0)), dataset="real")
    assert "real-imported@1 is published and is no stub" in told
    four = RubricOptions(stub=True, levels=parse_levels("1-4"), accept_at="3")
    take(sqlite_store, "labels", write(tmp_path, label(0, 1)), rubric=four)
    five = RubricOptions(stub=True, levels=parse_levels("1-5"), accept_at="3")
    assert "has other levels" in refused(sqlite_store, write(tmp_path, label(1, 1)), rubric=five)


def test_a_stub_that_cannot_be_made_is_refused(sqlite_store: Store, tmp_path: Path) -> None:
    """Outputs and pairs in one file, a criterion that cannot be a key, no criterion at all."""
    with_items(sqlite_store, tmp_path)
    mixed = [label(0), {**label(0, "A"), "criterion": "better"}]
    assert "single outputs or pairs, not both" in refused(sqlite_store, write(tmp_path, *mixed))
    assert "is not a key" in refused(sqlite_store, write(tmp_path, {**label(0), "criterion": "is it right?"}))
    assert "names no criterion" in refused(sqlite_store, write(tmp_path, {"item_id": "i0"}))


@pytest.mark.parametrize("text", ["4", "1-1", "4-1", "a,", ""])
def test_levels_are_two_at_least(text: str) -> None:
    """A range from worst to best, or names."""
    with pytest.raises(DeclarationError, match="worst first"):
        parse_levels(text)


def test_a_stub_is_named_after_its_dataset() -> None:
    """As far as a name of a rubric allows."""
    assert stub_name("support") == "support-imported"
    assert stub_name("Mails, May 2026/ü") == "Mails-May-2026-imported"
    assert stub_name("--") == "labels-imported"
    assert len(stub_name("x" * 200)) <= 64


def test_the_rubric_is_recorded_with_the_import(sqlite_store: Store, tmp_path: Path) -> None:
    """And whether any line says that it was constructed."""
    with_items(sqlite_store, tmp_path)
    take(sqlite_store, "labels", write(tmp_path, label(0), label(1, origin="constructed")))
    with sqlite_store.read() as session:
        told = list_imports(session=session, kind="labels")[0].provenance
    assert (told["rubrics"], told["constructed"]) == (["support-imported@1"], True)
    assert told["options"]["rubric"] == {"stub": True}


def test_csv_has_the_same_columns(sqlite_store: Store, tmp_path: Path) -> None:
    """An empty label is cannot-decide; a further column is kept."""
    with_items(sqlite_store, tmp_path)
    text = "item_id;rater;criterion;label;blind;round\ni0;ann;correct;;yes;2\ni1;ann;correct;pass;;"
    found = take(sqlite_store, "labels", write(tmp_path, text, name="labels.csv"), rubric=STUB)
    assert dict(found.answers) == {"pass": 1, "unknown": 1}
    assert labels_of(sqlite_store)[0]["round"] == "2"


def test_errors_are_of_their_kinds(sqlite_store: Store, tmp_path: Path) -> None:
    """A script can tell a bad line, a changed one and a missing dataset apart."""
    with pytest.raises(RecordError):
        take(sqlite_store, "labels", write(tmp_path, label(0)))
    with_items(sqlite_store, tmp_path)
    take(sqlite_store, "labels", write(tmp_path, label(0)))
    with pytest.raises(DifferentRecord):
        take(sqlite_store, "labels", write(tmp_path, label(0, "fail")))
    with pytest.raises(TableError):
        take(sqlite_store, "labels", write(tmp_path, "{"))


@BOTH
def test_two_imports_of_one_file_at_once(store: Store, tmp_path: Path) -> None:
    """Both succeed, the labels are there once, and one import is recorded."""
    with_items(store, tmp_path, 200)
    source = write(tmp_path, *(label(n, rater=rater) for n in range(200) for rater in ("ann", "bob")))
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: take(store, "labels", source), range(2)))
    assert sorted(each.added for each in found) == [0, 400]
    with store.read() as session:
        assert len(list_imports(session=session, kind="labels")) == 1
        assert list(findings(session, {})) == []
