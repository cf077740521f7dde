"""The flat table: cases, labels, repeats, contradictions, and what a reader must know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calibration.interchange.flat import FlatTable, parse_table, read_table
from calibration.interchange.options import OnRepeat, ReadOptions
from calibration.interchange.words import parse_map
from calibration.labels import Blindness, LabelSource, ReferenceRule, UnresolvedReason
from rubrics.errors import DeclarationError, TableError
from rubrics.verdict import FAIL, PASS, Outcome, UnknownReason, Verdict, unknown
from tests.shared_data import shared


def table(head: str, *lines: str, **options: Any) -> FlatTable:
    """The table of a header and lines."""
    return parse_table("\n".join([head, *lines]).encode(), name="t.csv", options=ReadOptions(**options))


def outcomes(found: FlatTable, judge: str = "judge", criterion: str = "overall") -> dict[str, Outcome]:
    """Item id -> outcome."""
    return {c.item_id: c.outcome for c in found.cases(criterion, judge, found.references(criterion))}


def labels(found: FlatTable, criterion: str = "overall", **rule: Any) -> dict[str, Verdict]:
    """Item id -> reference."""
    return {item: reference.verdict for item, reference in found.references(criterion, **rule).items()}


BASE = "id,human_label,judge_label"
JUDGED = "id,judge,human_label,judge_label"
RATED = "id,rater,human_label,judge_label"


def test_one_case_per_item_of_the_criterion() -> None:
    """Every judge has a case for every item, whether it has a row for it or not."""
    found = table(JUDGED, "1,a,pass,pass", "1,b,pass,fail", "2,a,fail,fail")
    assert outcomes(found, "a") == {"1": PASS, "2": FAIL}
    assert outcomes(found, "b") == {"1": FAIL, "2": unknown(UnknownReason.MISSING)}
    assert found.warnings_on("overall", "a") == ()
    assert found.warnings_on("overall", "b") == (
        "judge 'b' has no row for 1 of 2 items of 'overall': read as missing",
    )


def test_criteria_are_apart() -> None:
    """An item may have a label and verdict under each criterion; judges are those with a row there."""
    found = table("criterion," + JUDGED, "x,1,a,pass,pass", "y,1,a,fail,fail", "y,2,b,pass,pass")
    assert found.criteria == ("x", "y")
    assert (found.judges("x"), found.judges("y")) == (("a",), ("a", "b"))
    assert (labels(found, "x"), labels(found, "y")) == (
        {"1": Verdict.PASS},
        {"1": Verdict.FAIL, "2": Verdict.PASS},
    )


def test_rows_with_a_label_and_no_judge_widen_the_items() -> None:
    """Where judges are named, a row without one holds a label only."""
    found = table(JUDGED, "1,a,pass,pass", "2,,fail,")
    assert outcomes(found, "a") == {"1": PASS, "2": unknown(UnknownReason.MISSING)}
    with pytest.raises(TableError, match="judge is empty beside a verdict"):
        table(JUDGED, "1,a,pass,pass", "2,,fail,fail")


def test_a_table_without_a_single_verdict() -> None:
    """Labels alone cannot be examined."""
    with pytest.raises(DeclarationError, match="no row holds one"):
        table(JUDGED, "1,,pass,")


def test_exact_repeats_are_ignored_and_counted() -> None:
    """The same row twice is one row."""
    found = table(BASE, "1,pass,pass", "1,pass,pass", "1,pass,pass")
    assert (found.duplicates, len(outcomes(found))) == (2, 1)
    assert found.warnings == ("2 exact repeats of an earlier row ignored",)


def test_ids_that_differ_by_case_or_spaces_only_are_told() -> None:
    """Ids are joined exactly: A1, a1 and 'a  1' stay three items, and the two that look alike are named."""
    found = table(BASE, "A1,pass,pass", "b,fail,fail", "a1,pass,fail", "a  1,pass,pass")
    assert len(outcomes(found)) == 4
    assert found.warnings == (
        "1 id like another but for case or spaces ('A1' and 'a1'): each counts as an answer of its own",
    )


def test_a_run_column_makes_repeats_that_are_not_evidence() -> None:
    """Repeated runs of a judge are not further items: they are refused until somebody settles them."""
    lines = ("1,pass,pass,1", "1,pass,fail,2", "2,fail,fail,1", "2,fail,fail,2")
    with pytest.raises(TableError, match="already stands on line 2 with other content"):
        table(BASE + ",run", *lines)
    settled = table(BASE + ",run", *lines, on_repeat=OnRepeat.UNRESOLVED)
    assert outcomes(settled) == {"1": unknown("inconsistent", "votes"), "2": FAIL}
    assert outcomes(table(BASE + ",run", *lines, on_repeat=OnRepeat.LAST)) == {"1": FAIL, "2": FAIL}


def test_believing_nobody_is_final() -> None:
    """Once contradicted, no later row brings a value back."""
    lines = ("1,pass,pass,1", "1,fail,fail,2", "1,pass,pass,3", "1,pass,pass,4")
    found = table(BASE + ",run", *lines, on_repeat=OnRepeat.UNRESOLVED)
    assert labels(found) == {"1": Verdict.UNKNOWN}
    assert outcomes(found) == {"1": unknown("inconsistent", "votes")}


@pytest.mark.parametrize(
    ("head", "lines", "said"),
    [
        (JUDGED, ("1,a,pass,pass", "1,b,fail,pass"), "human_label 'fail' of id '1' contradicts line 2"),
        (RATED, ("1,a,pass,pass", "1,b,fail,fail"), "judge_label 'fail' of id '1' contradicts line 2"),
        (JUDGED + ",group", ("1,a,pass,pass,x", "1,b,pass,pass,y"), "group 'y' of id '1' contradicts line 2"),
        (JUDGED + ",input", ("1,a,pass,pass,x", "1,b,pass,pass,y"), "input 'y' of id '1' contradicts line 2"),
        (
            JUDGED + ",slice_a",
            ("1,a,pass,pass,x", "1,b,pass,pass,"),
            "slice_a '' of id '1' contradicts line 2",
        ),
        (
            RATED + ",adjudicated_label",
            ("1,a,pass,pass,fail", "1,b,fail,pass,pass"),
            "adjudicated_label 'pass' of id '1' contradicts line 2",
        ),
        (
            JUDGED + ",blind",
            ("1,a,pass,pass,yes", "1,b,pass,pass,no"),
            "human_label 'pass' of id '1' contradicts",
        ),
    ],
)
def test_rows_of_one_item_that_contradict_each_other(head: str, lines: tuple[str, ...], said: str) -> None:
    """Both lines are named; nobody is believed without being told to."""
    with pytest.raises(TableError, match=said):
        table(head, *lines)
    assert table(head, *lines, on_repeat=OnRepeat.LAST).repeats == 1
    assert table(head, *lines, skip_bad=True).rejected[0].line == 3


def test_a_refused_row_leaves_nothing_behind() -> None:
    """With --skip-bad a row that contradicts is in no figure, not even half of it."""
    found = table(JUDGED, "1,a,pass,pass", "1,b,fail,fail", "2,a,fail,fail", skip_bad=True)
    assert found.judges("overall") == ("a",)
    assert (found.rows, len(found.rejected)) == (2, 1)


def test_nothing_left_after_skipping_is_still_refused() -> None:
    """--skip-bad of a file in which every line is bad is no empty success."""
    with pytest.raises(TableError, match="'judge_label' holds 'x'"):
        table(BASE, "1,pass,x", "2,fail,x", skip_bad=True)


def test_an_empty_criterion_is_refused() -> None:
    """A criterion column that is empty in a row leaves open what the row is about."""
    with pytest.raises(TableError, match="line 3: criterion is empty"):
        table("criterion," + BASE, "a,1,pass,pass", ",2,pass,pass")


def test_a_map_that_met_nothing_is_said() -> None:
    """A mistyped --map is a warning."""
    found = table(BASE, "1,pass,pass", maps=(parse_map("judge:nope=fail"),))
    assert found.warnings == ("--map judge:nope=fail met no cell",)


def test_a_table_is_read_from_a_path(tmp_path: Path) -> None:
    """A path gives the same table as its bytes, under the path's name."""
    path = tmp_path / "t.csv"
    path.write_text(f"{BASE}\n1,pass,fail\n")
    found = read_table(str(path))
    assert (found.name, outcomes(found)) == (str(path), {"1": FAIL})


# -- raters --------------------------------------------------------------------------------------


def test_raters_are_assessments_of_one_item() -> None:
    """One row per rater; an empty label beside a name is that rater's cannot-decide."""
    found = table(RATED, "1,a,pass,pass", "1,b,fail,pass", "1,c,,pass", "2,a,fail,fail")
    said = found.assessments("overall")
    assert [(a.item_id, a.rater, a.verdict) for a in said] == [
        ("1", "a", Verdict.PASS), ("1", "b", Verdict.FAIL), ("1", "c", Verdict.UNKNOWN),
        ("2", "a", Verdict.FAIL),
    ]  # fmt: skip
    reference = found.references("overall")["1"]
    assert (reference.verdict, reference.raters) == (Verdict.UNKNOWN, 3)
    assert reference.unresolved is UnresolvedReason.DISAGREEMENT


def test_without_a_rater_an_empty_label_is_nobodys() -> None:
    """No name and no label: there is no assessment."""
    found = table(BASE, "1,,pass", "2,pass,pass")
    assert [a.item_id for a in found.assessments("overall")] == ["2"]
    assert found.references("overall")["1"].unresolved is UnresolvedReason.NO_LABEL


def test_adjudicated_labels() -> None:
    """An adjudication resolves, or leaves the item open on purpose."""
    head = RATED + ",adjudicated_label"
    found = table(head, "1,a,pass,pass,fail", "1,b,fail,pass,", "2,a,pass,pass,cannot_decide")
    references = found.references("overall", rule=ReferenceRule.ADJUDICATED)
    assert (references["1"].verdict, references["1"].adjudicated) == (Verdict.FAIL, True)
    assert references["2"].unresolved is UnresolvedReason.ADJUDICATION_OPEN


def test_blindness_in_a_file_is_a_declaration() -> None:
    """A file cannot say that the rating app enforced it."""
    lines = [
        f"{n},pass,pass,{word}" for n, word in enumerate(["yes", "sheet", "Declared", "no", "unknown", ""])
    ]
    found = table(BASE + ",blind", *lines)
    assert [a.blind for a in found.assessments("overall")] == [
        *[Blindness.DECLARED] * 3, Blindness.NO, *[Blindness.UNKNOWN] * 2,
    ]  # fmt: skip
    with pytest.raises(TableError, match="blind 'maybe' is none of yes"):
        table(BASE + ",blind", "1,pass,pass,maybe")


def test_labels_of_models_are_refused_left_out_or_let_in() -> None:
    """Unasked they are refused; --reference-source says whose labels count."""
    head, lines = BASE + ",source", ("1,pass,pass,human", "2,fail,fail,model", "3,fail,fail,code")
    with pytest.raises(TableError, match="2 labels come from model and code"):
        table(head, *lines)
    people = table(head, *lines, sources=frozenset({LabelSource.HUMAN}))
    assert labels(people) == {"1": Verdict.PASS, "2": Verdict.UNKNOWN, "3": Verdict.UNKNOWN}
    assert people.warnings == (
        "1 label from code left out (--reference-source)",
        "1 label from model left out (--reference-source)",
    )
    every = table(head, *lines, sources=frozenset(LabelSource))
    assert [a.source for a in every.assessments("overall")] == [
        LabelSource.HUMAN, LabelSource.MODEL, LabelSource.CODE,
    ]  # fmt: skip


# -- verdicts and reasons ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "reason", "detail", "outcome"),
    [
        ("", "", "", unknown("missing")),
        ("unknown", "error", "", unknown("error")),
        ("", "provider_error", "", unknown("error", "provider_error")),
        ("", "error", "timeout", unknown("error", "timeout")),
        ("", "", "refusal", unknown("abstained", "refusal")),
        ("", "error", "HTTP 500", unknown("error")),
        ("abstained", "I cannot tell.", "", unknown("abstained")),
        ("abstained", "refusal", "", unknown("abstained", "refusal")),
        ("cannot_decide", "", "", unknown("abstained", "cannot_tell")),
        ("pass", "It is right.", "", PASS),
        ("inconsistent", "", "", unknown("inconsistent")),
    ],
)
def test_why_there_is_no_verdict(label: str, reason: str, detail: str, outcome: Outcome) -> None:
    """The label, the reason and its detail together; prose is a rationale."""
    found = table(BASE + ",reason,detail", f"1,pass,{label},{reason},{detail}", "2,fail,fail,,")
    assert outcomes(found)["1"] == outcome


@pytest.mark.parametrize(
    ("label", "reason", "detail", "said"),
    [
        ("fail", "error", "", "stands beside reason 'error'"),
        ("pass", "", "timeout", "stands beside reason"),
        ("abstained", "error", "", "stands beside reason"),
        ("", "error", "refusal", "detail 'refusal' does not belong to reason 'error'"),
        ("", "somehow broken", "", "'reason' holds 'somehow broken'"),
    ],
)
def test_verdicts_and_reasons_that_contradict_each_other(
    label: str, reason: str, detail: str, said: str
) -> None:
    """A stored failure beside an error is not a fail; a word that is no reason is asked about."""
    with pytest.raises(TableError, match=said):
        table(BASE + ",reason,detail", f"1,pass,{label},{reason},{detail}")


def test_empty_verdicts_are_counted_once_an_item() -> None:
    """The warning counts verdicts, not the rows of several raters."""
    found = table(RATED, "1,a,pass,", "1,b,pass,", "2,a,fail,fail")
    assert found.warnings == ("1 empty verdict without a reason, read as missing (--null-as)",)


# -- clusters, slices, tags ----------------------------------------------------------------------


def clusters(found: FlatTable) -> dict[str, str]:
    """Item id -> cluster."""
    return {c.item_id: c.cluster for c in found.cases("overall", "judge", found.references("overall"))}


def test_items_share_a_group() -> None:
    """The column group is the cluster; an item without one stands alone, whatever groups are called."""
    found = table(BASE + ",group", "1,pass,pass,2", "2,pass,pass,", "3,fail,fail,2 ", "4,fail,fail,")
    of = clusters(found)
    assert of["1"] == of["3"]
    assert len(set(of.values())) == 3
    assert found.warnings == ("2 items without a value in 'group' taken to stand alone",)


def test_another_column_or_none_may_be_the_cluster() -> None:
    """--cluster names the column, or says that every item stands alone."""
    head, lines = BASE + ",group,prompt", ("1,pass,pass,a,p", "2,fail,fail,b,p")
    assert len(set(clusters(table(head, *lines)).values())) == 2
    assert len(set(clusters(table(head, *lines, cluster="prompt")).values())) == 1
    assert clusters(table(head, *lines, cluster="none")) == {"1": "1", "2": "2"}


def test_slices_by_prefix_and_by_name() -> None:
    """A slice_ column is called by what follows; an empty value is no slice."""
    found = table(BASE + ",slice_lang,desk", "1,pass,pass,de,x", "2,fail,fail,,x", slices=("desk",))
    slices = {c.item_id: c.slices for c in found.cases("overall", "judge", found.references("overall"))}
    assert slices == {"1": (("lang", "de"), ("desk", "x")), "2": (("desk", "x"),)}
    assert found.tags == ()
    with pytest.raises(DeclarationError, match="both the slice 'lang'"):
        table(BASE + ",slice_lang,lang", "1,pass,pass,de,x", slices=("lang",))


def test_what_plays_no_part_is_listed() -> None:
    """Tags and empty rows are said, maps that met nothing too."""
    found = table(BASE + ",x,y", "1,pass,pass,a,b", ",,,,")
    assert found.tags == ("x", "y")
    assert found.notes == ("kept as tags, in no figure: 'x', 'y'", "1 empty row skipped")


# -- the sample tables of other tools ------------------------------------------------------------


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("judgekeeper_results.csv", {"human_label": "label", "judge_label": "verdict"}),
        ("llm_judge_agreement.csv", {}),
        ("judgegate_labels.jsonl", {}),
        ("holdline_labels.jsonl", {}),
    ],
)
def test_sample_tables_say_what_their_makers_expect(name: str, columns: dict[str, str]) -> None:
    """Labels and verdicts of every item but the one whose id stands for two answers."""
    folder = shared("samples/flat_tables")
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    options = ReadOptions(columns=columns, on_repeat=OnRepeat.UNRESOLVED)
    found = parse_table((folder / name).read_bytes(), name=name, options=options)
    words = {None: Verdict.UNKNOWN, "pass": Verdict.PASS, "fail": Verdict.FAIL, "missing": Verdict.UNKNOWN}
    read = labels(found)
    wanted = {row["item_id"]: words[row["label"]] for row in expected["human"]}
    several = "KB-14"
    assert {i: v for i, v in read.items() if i != several} == {
        i: v for i, v in wanted.items() if i in read and i != several
    }
    said: dict[str, set[str | None]] = {}
    for row in expected["judge"]:
        if row["repeat"] == 1 or "judgekeeper" in name:
            said.setdefault(row["item_id"], set()).add(row["label"])
    for item_id, outcome in outcomes(found).items():
        if item_id == several:
            continue
        one = next(iter(said[item_id])) if len(said[item_id]) == 1 else "both"
        assert outcome == {
            "pass": PASS, "fail": FAIL, None: unknown("missing"), "both": unknown("inconsistent", "votes"),
        }[one], item_id  # fmt: skip


@pytest.mark.shared
def test_the_strange_texts_of_the_sample_survive() -> None:
    """U+2028, line ends in quotes, 20,000 characters and the id 007 are read as one row each."""
    folder = shared("samples/flat_tables")
    data = (folder / "llm_judge_agreement.csv").read_bytes()
    found = parse_table(data, name="t.csv", options=ReadOptions(on_repeat=OnRepeat.LAST))
    assert {"007", "KB-05", "KB-07", "KB-19"} <= set(labels(found))
    assert len(labels(found)) == 19


WRITTEN = "id,judge,human_label,judge_label,output,model_family"


def test_texts_and_families_are_of_the_items() -> None:
    """log2 of the characters; the family whose name stands in the judge's; an empty cell is not known."""
    rows = ("1,gpt-4.1,pass,pass,12345678,GPT", "2,gpt-4.1,fail,fail,1234,claude", "3,gpt-4.1,fail,pass,,")
    found = table(WRITTEN, *rows).written("gpt-4.1")
    assert found is not None
    assert (found.log2_length, found.own_family) == ({"1": 3.0, "2": 2.0}, {"1": True, "2": False})
    assert found.not_assessable is None


@pytest.mark.parametrize(
    ("head", "row", "judge", "why"),
    [
        (f"{BASE},output,model_family", "1,pass,pass,a,gpt", "strict", "the judge's name 'strict'"),
        (f"{BASE},output,model_family", "1,pass,pass,a,", "gpt", "no output names the family"),
        (f"{BASE},output", "1,pass,pass,a", "gpt", "no output names the family"),
    ],
)
def test_whose_family_is_not_known_says_what_is_missing(head: str, row: str, judge: str, why: str) -> None:
    """No judge that is called by its model, or nobody who says who wrote the outputs."""
    found = table(head, row).written(judge)
    assert found is not None
    assert why in (found.not_assessable or "")


def test_without_the_texts_nothing_is_known_of_their_length() -> None:
    """A table without an output column, whatever it says of families."""
    assert table(f"{BASE},model_family", "1,pass,pass,gpt").written("gpt") is None


def test_an_item_has_one_family() -> None:
    """Two rows of an item that name different families contradict each other."""
    rows = ("1,a,pass,pass,x,gpt", "1,b,pass,pass,x,claude")
    with pytest.raises(TableError, match="model_family 'claude' of id '1' contradicts line 2"):
        table(WRITTEN, *rows)
