"""Which column plays which part, and the doctor's answer where nobody can tell."""

from __future__ import annotations

import pytest

from calibration.interchange.columns import plain_name
from calibration.interchange.doctor import ColumnsUnclear
from calibration.interchange.flat import FlatTable, diagnose, parse_table
from calibration.interchange.options import ReadOptions
from rubrics.errors import DeclarationError, TableError


def table(head: str, *lines: str, **columns: str) -> FlatTable:
    """The table of a header and lines."""
    text = "\n".join([head, *lines])
    return parse_table(text.encode(), name="t.csv", options=ReadOptions(columns=columns))


def unclear(head: str, *lines: str) -> ColumnsUnclear:
    """The doctor's answer to a table that cannot be read."""
    with pytest.raises(ColumnsUnclear) as caught:
        table(head, *lines)
    return caught.value


@pytest.mark.parametrize("name", ["humanLabel", "Human Label", "human-label", "HUMAN_LABEL", " human.label "])
def test_spellings_of_one_name(name: str) -> None:
    """Case, spaces and dashes do not make another name."""
    assert plain_name(name) == "human_label"


@pytest.mark.parametrize(
    "head",
    [
        "item_id,human,judge",
        "example_id,human_passed,judge_passed",
        "uuid,gold,prediction",
        "Id,Human Label,llm_label",
    ],
)
def test_single_aliases_are_used(head: str) -> None:
    """Names that can only mean one part are read, and listed as warnings."""
    found = table(head, "1,pass,fail", "2,fail,pass")
    assert list(found.columns.values()) == [*sorted(head.split(","), key=head.split(",").index)]
    assert sum("was read as" in warning for warning in found.warnings) == 3


def test_own_names_win_over_aliases() -> None:
    """A column called human_label is the one, whatever else is there."""
    found = table("id,human_label,human,gold,judge_label,llm", "1,pass,fail,fail,pass,fail")
    assert found.columns["human_label"] == "human_label"
    assert found.tags == ("human", "gold", "llm")


@pytest.mark.parametrize(
    "head",
    [
        "id,human,gold,judge",
        "id,human,label,judge",
        "id,label,verdict,x",
        "item_id,uuid,human,judge",
        "id,score,result,y",
    ],
)
def test_two_candidates_are_never_picked_from(head: str) -> None:
    """Whatever the order, two columns that could play a part make the doctor answer."""
    cells = "a,pass,fail,pass"
    assert unclear(head, cells).diagnosis.options
    assert unclear(
        ",".join(reversed(head.split(","))), ",".join(reversed(cells.split(",")))
    ).diagnosis.options


@pytest.mark.parametrize("head", ["id,gold,truth,verdict", "verdict,truth,gold,id"])
def test_the_doctor_names_every_candidate_of_each_part(head: str) -> None:
    """A column whose name claims nothing (truth) may be a label all the same, and verdict either side's."""
    cells = dict(zip(["id", "gold", "truth", "verdict"], ["1", "pass", "pass", "fail"], strict=True))
    answer = unclear(head, ",".join(cells[name] for name in head.split(","))).diagnosis
    could = {finding.name: finding.could_play for finding in answer.columns}
    both = ("human_label", "judge_label")
    assert could == {"id": (), "gold": both, "truth": both, "verdict": both}
    assert ("--column", "human_label=gold", "--column", "judge_label=verdict") in answer.options
    assert len(set(answer.options)) == len(answer.options) == 6


@pytest.mark.parametrize("part", ["id", "human_label", "judge_label"])
def test_two_spellings_of_one_name_are_never_picked_from(part: str) -> None:
    """judge_label beside Judge_Label: nobody knows which is meant, until --column says."""
    head = f"id,human_label,judge_label,{part.title()}"
    answer = unclear(head, "1,pass,pass,fail", "2,fail,fail,pass").diagnosis
    assert "2 columns could hold the" in str(answer.problem)
    assert repr(part.title()) in str(answer.problem)
    each = (("--column", f"{part}={part}"), ("--column", f"{part}={part.title()}"))
    assert answer.options[:2] == each
    found = table(head, "1,pass,pass,fail", "2,fail,fail,pass", **{part: part})
    assert found.tags == (part.title(),)


def test_a_second_spelling_that_holds_scores_is_asked_for_too() -> None:
    """What the two hold does not say which one the person means."""
    lines = [f"{n},pass,0.{n},pass" for n in range(10, 30)]
    assert "'judge_label', 'Judge Label'" in str(unclear("id,human_label,judge_label,Judge Label", *lines))


def test_a_nameless_label_column_is_not_one_sides() -> None:
    """`label` alone beside a judge column could still be the judge's: it is asked for."""
    answer = unclear("id,label,gpt", "1,pass,fail").diagnosis
    assert answer.options[0][-2:] == ("--column", "judge_label=gpt")


def test_judge_is_a_name_or_a_label_by_what_it_holds() -> None:
    """A judge column with names is the judge's name, one with verdicts the judge's label."""
    named = table("id,human_label,judge,judge_verdict", "1,pass,gpt,fail", "2,fail,gpt,fail")
    assert named.columns["judge"] == "judge"
    assert named.judges("overall") == ("gpt",)
    held = table("id,human_label,judge", "1,pass,fail", "2,fail,fail")
    assert held.columns["judge_label"] == "judge"
    assert "judge" not in held.columns
    assert held.judges("overall") == ("judge",)


def test_prose_is_no_label_column() -> None:
    """A column that claims a part by its name and holds texts does not play it."""
    prose = ",".join(["id", "human_label", "judge_output", "judge_label"])
    lines = [f"{n},pass,This answer is the {n}th that I read and it is fine,pass" for n in range(12)]
    assert table(prose, *lines).tags == ("judge_output",)
    answer = unclear("id,human,judge_output", *[line.rpartition(",")[0] for line in lines])
    assert "no column holds the judge's verdicts" in str(answer)


def test_given_columns_settle_it() -> None:
    """--column decides; an empty one says that no column plays the part."""
    found = table(
        "id,a,b,judge,reason", "1,pass,fail,x,whatever", human_label="a", judge_label="b", reason="", judge=""
    )
    assert found.columns == {"id": "id", "human_label": "a", "judge_label": "b"}
    assert found.judges("overall") == ("judge",)
    assert found.tags == ("judge", "reason")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"score": "a"}, "no such part"),
        ({"human_label": "zz"}, "has no column 'zz'"),
        ({"human_label": "a", "judge_label": "a"}, "already plays another part"),
    ],
)
def test_given_columns_that_cannot_be(columns: dict[str, str], said: str) -> None:
    """A part or column that is not there, or a column with two parts."""
    with pytest.raises(DeclarationError, match=said):
        table("id,a,b", "1,pass,fail", **columns)


def test_the_diagnosis_holds_coverage_samples_and_unread_words() -> None:
    """Each column with how full it is, what it holds, and which words its side does not know."""
    text = "id,human_label,model_says\n1,pass,good\n2,,bad\n3,fail,pass\n"
    found = {c.name: c for c in diagnose(text.encode(), name="t").columns}
    assert (found["id"].plays, found["id"].filled, found["id"].distinct) == ("id", 3, 3)
    assert (found["human_label"].filled, found["human_label"].rows) == (2, 3)
    assert found["human_label"].samples == ("pass", "fail")
    assert found["model_says"].could_play == ("judge_label",)
    assert found["model_says"].unmapped == (("bad", 1), ("good", 1))


def test_ids_are_proposed_by_content() -> None:
    """Where no name claims the id, a column of distinct filled values is proposed."""
    answer = unclear("question,human_label,judge_label", "a,pass,pass", "b,fail,fail").diagnosis
    assert answer.options == (("--column", "id=question"),)


def test_several_judge_columns_may_be_several_judges() -> None:
    """The doctor proposes each candidate alone and, where nothing else is open, all of them as judges."""
    answer = unclear("id,human_label,gpt,claude", "1,pass,pass,1", "2,fail,fail,0").diagnosis
    assert answer.options == (
        ("--column", "judge_label=gpt"),
        ("--column", "judge_label=claude", "--map", "judge:0=fail", "--map", "judge:1=pass"),
        ("--column", "judge_label=gpt", "--column", "judge_label=claude",
         "--map", "judge:0=fail", "--map", "judge:1=pass"),
    )  # fmt: skip


def wide(head: str, *lines: str, judges: tuple[str, ...]) -> FlatTable:
    """A table with a column per judge."""
    data = "\n".join([head, *lines]).encode()
    return parse_table(data, name="t.csv", options=ReadOptions(judge_columns=judges))


def test_a_wide_table_keeps_its_line_numbers() -> None:
    """Both judges' rows stand on the line of the item; the rest of the line belongs to both."""
    found = wide("id,human_label,a,b,group", "1,pass,pass,fail,x", "2,fail,,fail,x", judges=("a", "b"))
    assert found.judges("overall") == ("a", "b")
    cases = found.cases("overall", "a", found.references("overall"))
    assert {c.cluster for c in cases} == {"group x"}
    with pytest.raises(TableError, match=r"'judge_label' holds 'no' \(1, first on line 3\)"):
        wide("id,human_label,a,b", "1,pass,pass,fail", "2,fail,pass,no", judges=("a", "b"))


@pytest.mark.parametrize(
    ("head", "judges", "said"),
    [
        ("id,human_label,a,b", ("a", "zz"), "no column 'zz'"),
        ("id,human_label,judge,a", ("a", "human_label"), "of its own"),
    ],
)
def test_wide_columns_that_cannot_be(head: str, judges: tuple[str, ...], said: str) -> None:
    """A judge column that is not there, or a table that names its judges already."""
    with pytest.raises(DeclarationError, match=said):
        wide(head, "1,pass,x,pass", judges=judges)


def test_a_table_that_can_be_read_has_no_problem() -> None:
    """The doctor of a healthy table says so, and proposes nothing."""
    answer = diagnose(b"id,human_label,judge_label\n1,pass,pass\n", name="t")
    assert (answer.problem, answer.options) == (None, ())
