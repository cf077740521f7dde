"""`voirdire check` on bad input: one clear sentence and exit 3; never a traceback, never a guess."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calibration.policy import LEAST_LIMIT
from judge.cli import check
from tests.command_line import run
from tests.tables import rows, sixteen_of_eighty, to_csv, to_json_lines, write_csv

HEAD = "id,human_label,judge_label\n"
GOOD = HEAD + "1,pass,pass\n2,fail,fail\n"


def refused(data: str | bytes, *args: str) -> str:
    """What stands on stderr of a check that ends with exit 3, no traceback and nothing on stdout."""
    result = run("check", "-", *args, stdin=data)
    assert result.exit_code == 3, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def test_missing_column() -> None:
    """The sentence names the part that is missing; the doctor shows what is there."""
    said = refused("id,judge_label\n1,pass\n")
    assert "human_label" in said
    assert "--column human_label=COLUMN" in said


def test_unknown_label_word() -> None:
    """Word, count, first line, what is allowed, and a command in which the person has to choose."""
    said = refused(GOOD + "3,pass,banana\n4,fail,banana\n")
    assert "'judge_label' holds 'banana' (2, first on line 4)" in said
    assert "pass, fail, cannot_decide" in said
    assert "try: voirdire check - --map judge:banana=PASS_OR_FAIL\n" in said
    assert said.endswith("replace PASS_OR_FAIL by pass or fail\n")


def test_a_proposed_command_cannot_be_run_without_a_choice() -> None:
    """Copied as it stands the command is refused (64): no word becomes a final verdict by itself."""
    table = GOOD + "3,fail,approve\n4,pass,approve\n"
    result = run("check", "-", "--map", "judge:approve=PASS_OR_FAIL", "--far-limit", "0.10", stdin=table)
    assert result.exit_code == 64
    assert "replace PASS_OR_FAIL by pass or fail" in result.stderr
    assert run("check", "-", "--map", "judge:approve=pass", stdin=table).exit_code == 0


def test_the_doctor_says_what_to_replace() -> None:
    """Where the words of a column are nobody's guess, the doctor's command comes with the choice to make."""
    table = "id,human_label,gold,judge_label\n1,pass,pass,approve\n2,fail,fail,deny\n"
    said = run("check", "-", "--doctor", "--column", "human_label=gold", stdin=table).stdout
    assert "once you replace PASS_OR_FAIL by pass or fail:" in said
    assert "--map judge:approve=PASS_OR_FAIL --map judge:deny=PASS_OR_FAIL" in said


def test_words_of_both_sides_are_told_at_once_and_the_command_works(tmp_path: Path) -> None:
    """1 and 0 are not guessed; the proposed command reads the file."""
    table = [
        {"id": str(n), "human_label": str(int(n > 5)), "judge_label": str(int(n > 4))} for n in range(20)
    ]
    path = write_csv(tmp_path / "numbers.csv", table)
    result = run("check", str(path))
    assert result.exit_code == 3
    proposed = next(line for line in result.stderr.splitlines() if "try:" in line)
    assert "--map 0=fail" in proposed
    assert "--map 1=pass" in proposed
    again = run(*proposed.partition("voirdire ")[2].split(), "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout)["counts"]["reference_fail"] == 6


@pytest.mark.parametrize("word", ["1", "0", "yes", "no", "Y", "TRUE", "ok", "accept", "N/A", "null", "none"])
def test_words_that_look_like_labels_are_not_guessed(word: str) -> None:
    """No word but the contract's is read without --map, on either side."""
    assert word in refused(GOOD + f"3,{word},pass\n")
    assert word in refused(GOOD + f"3,pass,{word}\n")


@pytest.mark.parametrize("value", [True, False, 1, 0, 1.0, ["pass"], {"label": "pass"}])
def test_json_values_that_are_no_words_are_refused(value: object) -> None:
    """true, 1 and [pass] in JSON are no label words."""
    line = json.dumps({"id": "a", "human_label": "pass", "judge_label": value})
    assert "judge_label" in refused(line + "\n")


def test_duplicate_id_with_other_content() -> None:
    """Both lines are named, and what differs."""
    said = refused(GOOD + "1,fail,pass\n")
    assert "line 4: id '1' already stands on line 2 with other content ('human_label')" in said
    assert "--on-repeat" in said


@pytest.mark.parametrize("data", ["", " \n \n", "\ufeff", "\ufeff\n"])
def test_empty_file(data: str) -> None:
    """Nothing at all is said to be empty."""
    assert "is empty" in refused(data)


def test_header_without_rows() -> None:
    """A header alone is no table."""
    assert "header and no row" in refused(HEAD)


def test_wrong_encoding_names_the_byte_and_its_place() -> None:
    """Latin-1 is not guessed: byte, position, line, and what is read."""
    data = GOOD.encode() + "3,pass,pàss\n".encode("latin-1")
    said = refused(data)
    assert "byte 0xE0 at position" in said
    assert str(data.index(b"\xe0")) in said
    assert "(line 4)" in said
    assert "UTF-8" in said


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_other_unicode_encodings_are_named(encoding: str) -> None:
    """UTF-16 and UTF-32, with or without a mark, are refused as what they are."""
    said = refused(GOOD.encode(encoding))
    assert "UTF-8" in said


def test_bom_and_crlf_are_read() -> None:
    """A byte order mark and carriage returns are no part of a name or label."""
    data = b"\xef\xbb\xbf" + to_csv(sixteen_of_eighty(), end="\r\n").encode()
    assert run("check", "-", "--far-limit", "0.10", stdin=data).exit_code == 1


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_separators_inside_a_text_do_not_cut_the_line(mark: str) -> None:
    """U+2028 and its like inside a text are characters, in JSON Lines and CSV."""
    table = [{**row, "output": f"one{mark}two"} for row in sixteen_of_eighty()]
    for text in (to_csv(table), to_json_lines(table)):
        result = run("check", "-", "--far-limit", "0.10", "--json", stdin=text)
        assert result.exit_code == 1, result.stderr
        assert json.loads(result.stdout)["counts"]["reference_fail"] == 80


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity"])
def test_nan_is_a_wrong_word_and_said_to_be_one(token: str) -> None:
    """Bare NaN in JSON is read and is no verdict; mapped, it is what the map says."""
    line = f'{{"id": "3", "human_label": "fail", "judge_label": {token}}}\n'
    text = to_json_lines([{"id": "1", "human_label": "pass", "judge_label": "pass"}]) + line
    assert f"'{token}' (1, first on line 2)" in refused(text)
    result = run("check", "-", "--map", f"judge:{token}=error", "--json", stdin=text)
    assert json.loads(result.stdout)["counts"]["error"] == 1
    assert "NaN" not in result.stdout


def test_nan_in_csv_is_not_missing() -> None:
    """The text nan in a CSV is a word that nobody explained."""
    assert "'nan'" in refused(GOOD + "3,pass,nan\n")


def test_a_ten_megabyte_line_is_read() -> None:
    """A field of 10 MB is a field, in CSV and in JSON Lines."""
    long = "x" * 10_000_000
    table = [
        *sixteen_of_eighty(),
        {"id": "long", "human_label": "pass", "judge_label": "pass", "output": long},
    ]
    table = [{"output": "", **row} for row in table]
    for text in (to_csv(table), to_json_lines(table)):
        result = run("check", "-", "--far-limit", "0.10", "--json", stdin=text)
        assert json.loads(result.stdout)["counts"]["reference_pass"] == 121


def test_a_ten_megabyte_word_is_not_printed_whole() -> None:
    """A wrong label of 10 MB makes a short sentence."""
    assert len(refused(GOOD + "3,pass," + "x" * 10_000_000 + "\n")) < 2000


def test_a_number_where_a_word_is_due() -> None:
    """Scores are never cut at a threshold that nobody named."""
    said = refused(HEAD + "".join(f"{n},pass,0.{n}\n" for n in range(10, 60)))
    assert "holds numbers" in said
    assert "where a word is due" in said
    assert "try:" not in said


def test_header_names_twice() -> None:
    """A column name may occur once: a reader that keeps the last is silent about the first."""
    said = refused("id,human_label,judge_label,judge_label\n1,pass,pass,fail\n")
    assert "'judge_label' more than once (columns 3, 4)" in said


def test_json_key_twice_in_one_object() -> None:
    """The same for a key of a JSON object."""
    said = refused('{"id": "1", "human_label": "pass", "judge_label": "pass", "judge_label": "fail"}\n')
    assert "'judge_label' occurs more than once" in said


@pytest.mark.parametrize(("line", "fields"), [("3,pass", 2), ("3,pass,pass,x", 4)])
def test_a_line_with_another_number_of_fields(line: str, fields: int) -> None:
    """Short and long lines are refused with their number."""
    assert f"line 4: {fields} fields where the header has 3" in refused(GOOD + line + "\n")


def test_a_quote_that_never_ends() -> None:
    """The line where the open field starts is named."""
    assert "line 4: the record that starts here" in refused(GOOD + '3,"pass,pass\n4,fail,fail\n')


def test_broken_json_names_line_and_place() -> None:
    """A cut line is refused, with its number."""
    text = to_json_lines([{"id": "1", "human_label": "pass", "judge_label": "pass"}])
    assert "line 2: not JSON" in refused(text + '{"id": "2", "human_la')


@pytest.mark.parametrize(
    "text", ["[1, 2]", '{"rows": []}', "[]", '"text"', "7\n", "[" * 100_000, '[{"id": ["']
)
def test_json_that_is_no_table(text: str) -> None:
    """Any JSON that is no list of objects with the parts is refused."""
    refused(text)


def test_half_a_surrogate_pair_is_refused() -> None:
    r"""An escape like \ud800 is no text and could not be written again."""
    said = refused('{"id": "\\ud800", "human_label": "pass", "judge_label": "pass"}\n')
    assert "half of a character" in said


def test_an_empty_id_is_refused() -> None:
    """Every row names its item."""
    assert "id is empty" in refused(GOOD + " ,pass,pass\n")


@pytest.mark.parametrize(
    "word", ["NaN", "nan", "null", "NULL", "None", " none ", "NA", "#N/A", "<NA>", "inf"]
)
def test_a_missing_value_is_no_id(word: str) -> None:
    """Rows that all have the id NaN would be one item, and its repeats left out without a word."""
    said = refused(GOOD + f"{word},fail,fail\n{word},fail,fail\n")
    assert f"line 4: id {word!r} is how a missing value is written: give each item an id" in said


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", '"nan"'])
def test_json_tokens_that_are_no_ids(token: str) -> None:
    """NaN and Infinity in JSON name no item, and neither does null."""
    line = '{{"id": {}, "human_label": "fail", "judge_label": "fail"}}\n'
    assert "give each item an id" in refused(line.format('"1"') + line.format(token))
    assert "id is empty" in refused(line.format('"1"') + line.format("null"))


def test_ids_that_merely_hold_such_a_word_are_read() -> None:
    """Only the whole cell counts: nan-1 and none_of_these are ids."""
    text = HEAD + "nan-1,pass,pass\nnone_of_these,fail,fail\nNaNcy,pass,pass\n"
    assert json.loads(run("check", "-", "--json", stdin=text).stdout)["counts"]["clusters"] == 3


def test_a_verdict_that_has_a_reason_for_none() -> None:
    """Fail beside the reason error is the trap of stored failures: neither is believed."""
    said = refused("id,human_label,judge_label,reason\n1,pass,pass,\n2,fail,fail,error\n")
    assert "judge_label 'fail' stands beside reason 'error'" in said


def test_group_must_be_one_per_id() -> None:
    """Two judges' rows that put an item into two groups contradict each other."""
    text = "id,judge,group,human_label,judge_label\n1,a,g1,pass,pass\n1,b,g2,pass,pass\n"
    assert "group 'g2' of id '1' contradicts line 2" in refused(text)


def test_human_labels_must_agree_across_judges() -> None:
    """The label of an item does not depend on who judges it."""
    text = "id,judge,human_label,judge_label\n1,a,pass,pass\n1,b,fail,pass\n"
    assert "human_label 'fail' of id '1' contradicts line 2" in refused(text)


def test_verdicts_must_agree_across_raters() -> None:
    """A judge's verdict on an item does not depend on who labels it."""
    text = "id,rater,human_label,judge_label\n1,a,pass,pass\n1,b,pass,fail\n"
    assert "judge_label 'fail' of id '1' contradicts line 2" in refused(text)


def test_ids_are_text_as_written() -> None:
    """007, 7 and 7.0 are three items, in CSV and as JSON numbers; nothing is rounded or cut."""
    text = HEAD + "007,pass,pass\n7,fail,fail\n7.0,pass,pass\n"
    assert json.loads(run("check", "-", "--json", stdin=text).stdout)["counts"]["clusters"] == 3
    lines = "".join(
        f'{{"id": {number}, "human_label": "pass", "judge_label": "pass"}}\n'
        for number in ("7", "7.0", "12345678901234567890123", "1e3", '"007"')
    )
    assert json.loads(run("check", "-", "--json", stdin=lines).stdout)["counts"]["clusters"] == 5


# -- columns that cannot be told -----------------------------------------------------------------


def test_two_candidates_are_shown_and_nobody_picks() -> None:
    """Verdict and label could each be either side: both commands are shown, exit 3."""
    said = refused("id,verdict,label\n1,pass,pass\n2,fail,pass\n")
    assert "--column human_label=verdict --column judge_label=label" in said
    assert "--column human_label=label --column judge_label=verdict" in said


def test_each_proposed_command_reads_the_file(tmp_path: Path) -> None:
    """What the doctor proposes works as typed."""
    path = tmp_path / "t.csv"
    path.write_text("item_id,human,alice,gpt4\n" + "".join(f"{n},pass,1,pass\n" for n in range(9)))
    result = run("check", str(path))
    proposed = [line.strip() for line in result.stderr.splitlines() if line.startswith("  voirdire check")]
    assert len(proposed) == 3
    for command in proposed:
        assert run(*command.split()[1:]).exit_code == 0


def test_a_single_alias_is_used_and_said() -> None:
    """item_id, human and judge are read where nothing else could be, and the report says so."""
    text = to_csv(sixteen_of_eighty()).replace("id,human_label,judge_label", "item_id,human,judge", 1)
    result = run("check", "-", "--far-limit", "0.10", "--json", stdin=text)
    assert result.exit_code == 1
    assert "the column 'judge' was read as judge_label" in json.loads(result.stdout)["warnings"]


def test_the_doctor_answers_on_demand() -> None:
    """--doctor shows every column; exit 0 where the table can be read, 3 where it cannot."""
    fine = run("check", "-", "--doctor", stdin=GOOD)
    assert fine.exit_code == 0
    assert "can be read as it is" in fine.stdout
    ill = run("check", "-", "--doctor", "--json", stdin="id,human_label,gpt\n1,pass,1\n2,fail,0\n")
    assert ill.exit_code == 3
    answer = json.loads(ill.stdout)
    assert answer["try"] == [
        "voirdire check - --column judge_label=gpt --map judge:0=fail --map judge:1=pass"
    ]
    assert [c["could_play"] for c in answer["columns"]] == [[], [], ["judge_label"]]


def test_data_in_the_first_line_is_noticed() -> None:
    """A table without a header is told so."""
    assert "reads like data" in refused("1,pass,pass\n2,fail,fail\n")


# -- what a person may settle --------------------------------------------------------------------


def test_on_repeat_last_and_unresolved() -> None:
    """Contradicting rows: the last holds, or nobody is believed."""
    text = GOOD + "2,pass,pass\n"
    last = json.loads(run("check", "-", "--on-repeat", "last", "--json", stdin=text).stdout)
    assert (last["counts"]["reference_pass"], last["counts"]["reference_fail"]) == (2, 0)
    neither = json.loads(run("check", "-", "--on-repeat", "unresolved", "--json", stdin=text).stdout)
    assert neither["counts"]["reference_unresolved"] == 1
    assert neither["counts"]["inconsistent"] == 1
    assert neither["warnings"]


@pytest.mark.parametrize(
    ("null_as", "column"), [("missing", "missing"), ("abstained", "abstained"), ("invalid", "invalid")]
)
def test_null_as_says_what_an_empty_verdict_is(null_as: str, column: str) -> None:
    """An empty verdict is open unless somebody says that it is final."""
    table = to_csv(rows(fail={"": 40}, passing={"pass": 50}))
    report = json.loads(run("check", "-", "--null-as", null_as, "--json", stdin=table).stdout)
    assert report["counts"][column] == 40


def test_a_reason_column_says_why_there_is_no_verdict() -> None:
    """Reasons and their details are read; free text beside a verdict is a rationale."""
    text = (
        "id,human_label,judge_label,reason\n1,fail,,timeout\n2,fail,,abstained\n3,fail,,unparsed\n"
        "4,pass,pass,Clearly right.\n5,fail,cannot_decide,\n6,fail,,\n"
    )
    counts = json.loads(run("check", "-", "--json", stdin=text).stdout)["counts"]
    assert [counts[r] for r in ("error", "abstained", "invalid", "missing")] == [1, 2, 1, 1]


def test_skip_bad_reads_the_rest_and_keeps_the_refused_lines(tmp_path: Path) -> None:
    """Refused lines go to FILE.rejected as they were, never over another file, and are told."""
    path = tmp_path / "t.csv"
    path.write_text(GOOD + '3,pass,"ban\nana"\n4,pass\n5,pass,pass\n', encoding="utf-8", newline="")
    result = run("check", str(path), "--skip-bad", "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["counts"]["reference_pass"] == 2
    assert [r["line"] for r in report["source"]["rejected"]] == [4, 6]
    assert any("2 lines could not be read" in warning for warning in report["warnings"])
    rejected = tmp_path / "t.csv.rejected"
    assert rejected.read_text() == HEAD + '3,pass,"ban\nana"\n4,pass\n'
    rejected.write_text("mine")
    assert run("check", str(path), "--skip-bad").exit_code == 0
    assert rejected.read_text() == "mine"
    assert (tmp_path / "t.csv.rejected-2").exists()


@pytest.mark.parametrize(
    "args",
    [("--column", "human_label=nope"), ("--slice", "nope"), ("--cluster", "nope"), ("--judge", "nope"),
     ("--policy", "nope"), ("--html", "nowhere/at/all.html")],
    ids=" ".join,
)  # fmt: skip
def test_options_that_name_what_is_not_there(args: tuple[str, ...], tmp_path: Path) -> None:
    """A column, judge, policy or folder that does not exist: exit 3, and what there is."""
    table = [{**row, "judge": judge} for judge in "ab" for row in sixteen_of_eighty()]
    result = run("check", str(write_csv(tmp_path / "t.csv", table)), *args)
    assert result.exit_code == 3
    assert "nope" in result.stderr or "nowhere" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "limit", ["10%", "abc", "0,1", "", "0", "1", "10", "-0.1", "nan", "inf", "1e-300", "0.00009"]
)
def test_a_limit_that_is_none_is_named_with_what_is_allowed(limit: str) -> None:
    """One sentence with what was given and 0.10, at once and with the exit code of a wrong command line."""
    result = run("check", "-", "--far-limit", limit, stdin=GOOD)
    assert result.exit_code == 64
    assert f"{limit!r} is not a rate between 0.0001 and 1; 0.10 means 10 %" in result.stderr
    assert "--far-limit" in result.stderr


def test_the_command_line_and_the_policy_have_one_least_limit() -> None:
    """The number that --help need not load is the policy's; the least limit itself is examined."""
    assert check._LEAST_LIMIT == LEAST_LIMIT
    assert run("check", "-", "--far-limit", str(LEAST_LIMIT), stdin=GOOD).exit_code == 2


def test_the_policy_of_the_demonstration_decides_on_no_table() -> None:
    """It may decide on constructed evidence, so that it is refused by name here."""
    assert "the policy 'demo' is for the bundled demonstration" in refused(GOOD, "--policy", "demo")


def test_a_policy_that_nobody_could_pass_is_warned_of(tmp_path: Path) -> None:
    """The decision is made all the same; what lint finds stands on stderr."""
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nversion: 1\nprimary: {upper_at_most: 0.05}\nminimum: {fail: 10}\n")
    result = run("check", "-", "--policy", str(path), stdin=to_csv(sixteen_of_eighty()))
    assert result.exit_code == 1
    assert "! policy: minimum.fail is 10, but" in result.stderr
    path.write_text("name: mine\nversion: 1\nprimary: {upper_at_most: 0.05}\n")
    assert run("check", "-", "--policy", str(path), stdin=to_csv(sixteen_of_eighty())).stderr == ""


def test_a_wrong_policy_file_is_named_with_its_line(tmp_path: Path) -> None:
    """A mistyped key: file, line, and the key that was meant."""
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nversion: 1\nprimary: {upper_at_mst: 0.05}\n")
    said = refused(GOOD, "--policy", str(path))
    assert "mine.yaml:3: primary: 'upper_at_mst' is not a known key; did you mean 'upper_at_most'?" in said


@pytest.mark.parametrize("rate", ["50%", "", "0", "1"])
def test_a_prevalence_that_is_no_rate(rate: str) -> None:
    """The share of failures in use is a rate like any other."""
    result = run("check", "-", "--prevalence", rate, stdin=GOOD)
    assert result.exit_code == 64
    assert f"{rate!r} is not a rate between 0 and 1" in result.stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """No file, or a directory: exit 3 in one sentence."""
    for path in (tmp_path / "none.csv", tmp_path):
        result = run("check", str(path))
        assert result.exit_code == 3
        assert "cannot read" in result.stderr


def test_items_that_share_a_prompt_are_noticed() -> None:
    """Repeating inputs or prompt ids without a cluster are warned of, since the interval is too narrow."""
    by_input = [{**row, "input": f"q{n // 5}"} for n, row in enumerate(sixteen_of_eighty())]
    by_id = [{**row, "prompt_id": f"q{n // 5}"} for n, row in enumerate(sixteen_of_eighty())]
    for table, option in ((by_input, "--cluster input"), (by_id, "--cluster prompt_id")):
        report = json.loads(run("check", "-", "--json", stdin=to_csv(table)).stdout)
        assert any(option in warning for warning in report["warnings"])
        told = run("check", "-", "--json", *option.split(), stdin=to_csv(table))
        assert json.loads(told.stdout)["counts"]["clusters"] == 40
        assert json.loads(told.stdout)["warnings"] == []


def test_with_json_an_error_is_json_too() -> None:
    """A script reads one JSON object on stdout, a person one sentence on stderr."""
    result = run("check", "-", "--json", stdin=GOOD + "3,pass,banana\n")
    assert result.exit_code == 3
    error = json.loads(result.stdout)
    assert (error["error"], error["exit"], error["line"]) == ("needs_options", 3, 4)
    assert error["message"] in result.stderr
    assert error["try"][0].startswith("voirdire check - --json --map")
