"""`voirdire check` on the tables of the acceptance lines: figures, decisions, exit codes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run
from tests.tables import (
    Row,
    five_outputs_of_twenty_prompts,
    none_of_fifty,
    rows,
    sixteen_of_eighty,
    to_csv,
    to_json_lines,
    twenty_of_eighty_and_empty,
    two_of_thirty,
    write_csv,
)


def examined(found: list[Row], *args: str, limit: str | None = "0.10") -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of `check` on the rows."""
    limits = [] if limit is None else ["--far-limit", limit]
    result = run("check", "-", *limits, "--json", *args, stdin=to_csv(found))
    assert result.stderr == ""
    return result.exit_code, json.loads(result.stdout)


def near(*values: float) -> Any:
    """The values to the four decimals of the acceptance lines."""
    return pytest.approx(values, abs=5e-5)


def test_16_of_80_failures_accepted_is_rejected_with_every_figure_of_the_line() -> None:
    """16/80 and 114/120: exit 1, FAR .20 [.1270, .3005], kappa .766, bound by the FAR gate."""
    code, report = examined(sixteen_of_eighty())
    assert code == 1
    far, kappa, accepted = report["far"], report["kappa"], report["failure_among_accepted"]
    assert (far["x"], far["n"]) == (16, 80)
    assert (far["estimate"], far["lower"], far["upper"]) == near(0.20, 0.1270, 0.3005)
    assert (accepted["x"], accepted["n"]) == (16, 130)
    assert (accepted["lower"], accepted["upper"]) == near(0.0772, 0.1906)
    assert (kappa["estimate"], kappa["lower"], kappa["upper"]) == pytest.approx(
        (0.766, 0.674, 0.858), abs=5e-4
    )
    assert report["decision"]["outcome"] == "reject"
    assert report["decision"]["binding"] == "far"


def test_0_of_50_failures_accepted_is_admitted() -> None:
    """0/50 with 114/120 passes accepted: exit 0, upper end 7.13 %."""
    code, report = examined(none_of_fifty())
    assert code == 0
    assert report["decision"]["outcome"] == "admit"
    assert report["far_gate"]["upper"] == pytest.approx(0.0713, abs=5e-5)


def test_2_of_30_failures_accepted_needs_39_clean_or_282_more() -> None:
    """2/30: exit 2, 39 further clean failures or 282 at the observed rate."""
    code, report = examined(two_of_thirty())
    assert code == 2
    assert report["decision"]["more_failures_needed"] == {"clean": 39, "at_observed_rate": 282, "looks": 1}


def test_30_empty_verdicts_are_open_both_ways() -> None:
    """2/30 plus 30 failures without a verdict: exit 2, FAR 2/60, bounds 2/60 and 32/60."""
    code, report = examined(two_of_thirty(empty=30))
    assert code == 2
    assert (report["far"]["x"], report["far"]["n"]) == (2, 60)
    assert report["counts"]["missing"] == 30
    bounds = report["far_bounds"]
    assert (bounds["low"], bounds["high"]) == pytest.approx((2 / 60, 32 / 60))


def test_20_of_80_plus_30_empty_is_rejected_even_at_best() -> None:
    """20/80 plus 30 empty verdicts: the best case 20/110 has its lower end over 10 %: exit 1."""
    code, report = examined(twenty_of_eighty_and_empty())
    assert code == 1
    gate = report["far_gate"]
    assert (gate["x_best"], gate["n_best"]) == (20, 110)
    assert gate["lower"] == pytest.approx(0.1209, abs=5e-5)


def test_16_of_80_plus_30_empty_is_not_rejected() -> None:
    """16/80 plus 30 empty verdicts: unanswered calls prove no false acceptance: exit 2."""
    found = rows(fail={"pass": 16, "fail": 64, "": 30}, passing={"pass": 114, "fail": 6})
    code, report = examined(found)
    assert code == 2
    assert report["far_gate"]["lower"] == pytest.approx(0.0916, abs=5e-5)


def test_200_passes_and_no_failure_is_insufficient() -> None:
    """No reference failure at all is no bad input and no admission: exit 2, FAR null."""
    code, report = examined(rows(fail={}, passing={"pass": 200}))
    assert code == 2
    assert report["far"]["n"] == 0
    assert report["far"]["estimate"] is None


def test_five_failures_all_rejected_is_insufficient() -> None:
    """0/5: the upper end is 43 %: exit 2."""
    code, report = examined(rows(fail={"fail": 5}, passing={"pass": 120}))
    assert code == 2
    assert report["far"]["upper"] == pytest.approx(0.43, abs=0.005)


def test_five_outputs_of_each_prompt_do_not_count_as_independent() -> None:
    """4 of 100 failures from 20 prompts: exit 2, though plain Wilson ends at 9.84 %."""
    code, report = examined(five_outputs_of_twenty_prompts())
    assert code == 2
    assert report["far"]["upper"] == pytest.approx(0.0984, abs=5e-5)
    assert report["far_gate"]["upper"] > 0.10
    assert report["counts"]["clusters_fail"] == 20


def test_the_same_outputs_taken_as_independent_only_when_somebody_says_so() -> None:
    """--cluster none is a person's word; with it the plain interval decides."""
    code, report = examined(five_outputs_of_twenty_prompts(), "--cluster", "none")
    assert code == 0
    assert report["far_gate"]["method"] == "wilson"


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(rows(fail={"fail": 200}, passing={}), id="failures only, all rejected"),
        pytest.param(rows(fail={"pass": 200}, passing={}), id="failures only, all accepted"),
        pytest.param(rows(fail={}, passing={"fail": 200}), id="passes only, all rejected"),
        pytest.param(rows(fail={"pass": 100}, passing={"pass": 100}), id="constant accepter"),
        pytest.param(rows(fail={"fail": 100}, passing={"fail": 100}), id="constant rejecter"),
        pytest.param(rows(fail={"abstained": 100}, passing={"abstained": 100}), id="constant abstainer"),
        pytest.param(rows(fail={"": 100}, passing={"": 100}), id="no verdict at all"),
        pytest.param(rows(fail={"invalid": 100}, passing={"invalid": 100}), id="nothing parsed"),
        pytest.param(
            rows(fail={"fail": 60, "pass": 1}, passing={"fail": 117, "pass": 3}), id="nearly constant"
        ),
    ],
)
@pytest.mark.parametrize("limit", ["0.10", "0.5", "0.99"])
def test_a_judge_that_tells_nothing_apart_is_never_admitted(found: list[Row], limit: str) -> None:
    """One class only, or (nearly) one answer whatever the item: never exit 0, at any limit."""
    code, report = examined(found, limit=limit)
    assert code in {1, 2}
    assert report["decision"]["outcome"] != "admit"


def test_a_table_of_items_that_nobody_decided_is_insufficient() -> None:
    """Unresolved references prove nothing: exit 2."""
    found = [{"id": str(n), "human_label": "cannot_decide", "judge_label": "pass"} for n in range(100)]
    code, report = examined(found)
    assert code == 2
    assert report["counts"]["reference_unresolved"] == 100


@pytest.mark.parametrize(
    "table",
    [sixteen_of_eighty(), none_of_fifty(), two_of_thirty(empty=30), five_outputs_of_twenty_prompts()],
    ids=["16 of 80", "0 of 50", "2 of 30 and empty", "5 of 20"],
)
def test_row_order_changes_nothing(table: list[Row]) -> None:
    """The same rows in any order give the same report, digest included."""
    code, report = examined(table)
    for seed in range(5):
        shuffled = list(table)
        random.Random(seed).shuffle(shuffled)
        assert examined(shuffled) == (code, report)


def test_repeated_rows_are_no_evidence() -> None:
    """A table pasted three times under itself gives the same figures; 25 clean failures stay too few."""
    found = rows(fail={"fail": 25}, passing={"pass": 60})
    once, thrice = examined(found), examined(found * 3)
    assert once[0] == thrice[0] == 2
    assert thrice[1]["far"] == once[1]["far"]
    assert thrice[1]["source"]["duplicates"] == 170
    assert any("170 exact repeats" in warning for warning in thrice[1]["warnings"])


def test_without_limit_or_policy_nothing_is_decided() -> None:
    """No limit: decision null, exit 0, and the last line says how to set one."""
    code, report = examined(sixteen_of_eighty(), limit=None)
    assert (code, report["decision"]) == (0, None)
    result = run("check", "-", stdin=to_csv(sixteen_of_eighty()))
    last = result.stdout.strip().splitlines()[-1]
    assert last.startswith("Next:")
    assert "--far-limit" in last


def test_the_first_line_is_counts_in_words_and_the_last_is_next() -> None:
    """Stdout begins with the counts and ends with what to do."""
    result = run("check", "-", "--far-limit", "0.10", stdin=to_csv(sixteen_of_eighty()))
    lines = result.stdout.strip().splitlines()
    assert "Of 80 answers that people failed, the judge accepted 16" in lines[0]
    assert "your limit is 10" in lines[0]
    assert lines[-1].startswith("Next:")


def test_baselines_stand_beside_every_judge() -> None:
    """Always accept and always reject are in every report."""
    _, report = examined(sixteen_of_eighty())
    far = {b["name"]: (b["far"]["x"], b["far"]["n"]) for b in report["baselines"]}
    assert far == {"always-accept": (80, 80), "always-reject": (0, 80)}


def test_the_verdict_table_and_the_source_are_both_in_the_json() -> None:
    """How the table was read stands under `source`, beside the report's own keys."""
    found = [{**row, "segment": "a"} for row in sixteen_of_eighty()]
    _, report = examined_with_notes(found)
    assert report["table"]["fail"]["accepted"] == 16
    assert report["source"]["rows"] == 200
    assert report["source"]["tags"] == ["segment"]


def examined_with_notes(found: list[Row], *args: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON, whatever stands on stderr."""
    result = run("check", "-", "--far-limit", "0.10", "--json", *args, stdin=to_csv(found))
    return result.exit_code, json.loads(result.stdout)


def test_columns_that_play_no_part_are_named() -> None:
    """A tag column is listed, never dropped without a word."""
    found = [{**row, "segment": "a"} for row in sixteen_of_eighty()]
    result = run("check", "-", stdin=to_csv(found))
    assert "kept as tags, in no figure: 'segment'" in result.stderr


# -- several judges and criteria -----------------------------------------------------------------


def two_judges() -> list[Row]:
    """One judge to be admitted and one to be rejected on the same items."""
    good = [{**row, "judge": "careful"} for row in none_of_fifty()]
    bad = [{**row, "judge": "kind", "judge_label": "pass"} for row in none_of_fifty()]
    return good + bad


def test_several_judges_are_all_examined_and_nobody_is_picked() -> None:
    """Without --judge every judge has its report; one rejection makes exit 1."""
    code, found = examined(two_judges())
    outcomes = {r["judge"]: r["decision"]["outcome"] for r in found["reports"]}
    assert outcomes == {"careful": "admit", "kind": "reject"}
    assert code == 1


def test_a_column_for_each_judge_is_as_good_as_a_row_for_each() -> None:
    """A wide table gives the same decisions as the long one, each judge called by its column."""
    wide = [{**row, "careful": row["judge_label"], "kind": "pass"} for row in none_of_fifty()]
    table = [{k: v for k, v in row.items() if k != "judge_label"} for row in wide]
    columns = ("--column", "judge_label=careful", "--column", "judge_label=kind")
    code, found = examined(table, *columns)
    long_code, long = examined(two_judges())
    assert (code, [r["far"] for r in found["reports"]]) == (long_code, [r["far"] for r in long["reports"]])
    assert [r["judge"] for r in found["reports"]] == ["careful", "kind"]


def test_one_judge_can_be_asked_for() -> None:
    """--judge NAME gives the report of that judge alone."""
    code, report = examined(two_judges(), "--judge", "careful")
    assert (code, report["judge"]) == (0, "careful")
    assert "reports" not in report


def test_all_admitted_is_exit_0_and_any_insufficient_is_exit_2() -> None:
    """Of several judges: 0 if all admit, 2 if one is insufficient and none rejected."""
    good = [{**row, "judge": "a"} for row in none_of_fifty()]
    other = [{**row, "judge": "b"} for row in none_of_fifty()]
    silent = [{**row, "judge": "c", "judge_label": "abstained"} for row in none_of_fifty()]
    assert examined(good + other)[0] == 0
    assert examined(good + other + silent)[0] == 2


def test_judge_all_has_the_form_for_several_even_for_one() -> None:
    """A script that says --judge all always finds `reports`."""
    _, found = examined(none_of_fifty(), "--judge", "all")
    assert [r["judge"] for r in found["reports"]] == ["judge"]


def test_rank_gives_places_as_ranges() -> None:
    """--rank: the careful judge stands before the kind one under the criterion."""
    _, found = examined(two_judges(), "--judge", "all", "--rank")
    places = {r["judge"]: (r["low"], r["high"]) for r in found["rank"]}
    assert places == {"careful": (1, 1), "kind": (2, 2)}
    assert {r["criterion"] for r in found["rank"]} == {"overall"}


def test_judges_that_cannot_be_told_apart_tie() -> None:
    """Two judges that differ on one failure share their places and are named as a tie."""
    first = [{**row, "judge": "a"} for row in none_of_fifty()]
    second = [{**row, "judge": "b"} for row in none_of_fifty()]
    second[0]["judge_label"] = "pass"
    _, found = examined(first + second, "--rank")
    assert {(r["low"], r["high"]) for r in found["rank"]} == {(1, 2)}
    assert sorted(found["ties"][0]["judges"]) == ["a", "b"]


def test_several_criteria_have_a_report_each() -> None:
    """Criteria are examined apart; --criterion picks one."""
    polite = [{**row, "criterion": "polite"} for row in none_of_fifty()]
    right = [{**row, "criterion": "right"} for row in sixteen_of_eighty()]
    code, found = examined(polite + right)
    outcomes = {r["criterion"]: r["decision"]["outcome"] for r in found["reports"]}
    assert outcomes == {"polite": "admit", "right": "reject"}
    assert code == 1
    assert examined(polite + right, "--criterion", "polite")[0] == 0


def test_an_item_that_a_judge_has_no_row_for_is_missing() -> None:
    """A judge that skipped the hard items is not examined on the easy ones alone."""
    full = [{**row, "judge": "full"} for row in sixteen_of_eighty()]
    skipping = [
        {**row, "judge": "skipping"}
        for row in sixteen_of_eighty()
        if not (row["human_label"] == "fail" and row["judge_label"] == "pass")
    ]
    _, found = examined(full + skipping, "--judge", "skipping")
    assert found["counts"]["missing"] == 16
    assert found["far"]["n"] == 80
    assert any("no row for 16 of 200 items" in warning for warning in found["warnings"])


@pytest.mark.parametrize("part", ["judge", "criterion"])
def test_a_nameless_judge_or_criterion_is_not_renamed(part: str) -> None:
    """Without the column a name on the command line could only be a mistake: exit 3, and `all` is all."""
    result = run("check", "-", f"--{part}", "nobody", "--far-limit", "0.10", stdin=to_csv(none_of_fifty()))
    assert result.exit_code == 3
    assert result.stdout == ""
    told = f"the table has no {part} column, so its one {part} has no name; leave --{part} out"
    assert told in result.stderr
    code, found = examined(none_of_fifty(), f"--{part}", "all")
    assert (code, len(found["reports"])) == (0, 1)


# -- raters and references -----------------------------------------------------------------------


def three_raters() -> list[Row]:
    """40 items: a says fail, b says fail, c says pass; and 60 that all pass."""
    found = []
    for n in range(100):
        for rater, label in (("a", "fail"), ("b", "fail"), ("c", "pass")):
            human = label if n < 40 else "pass"
            judge = "fail" if n < 40 else "pass"
            found.append({"id": f"i{n}", "rater": rater, "human_label": human, "judge_label": judge})
    return found


@pytest.mark.parametrize(
    ("options", "failures", "unresolved"),
    [((), 40, 0), (("--reference", "unanimous"), 0, 40), (("--min-raters", "4"), 0, 100),
     (("--reference", "adjudicated"), 0, 100)],
    ids=["majority", "unanimous", "too few raters", "adjudicated"],
)  # fmt: skip
def test_raters_become_a_reference_by_the_rule(
    options: tuple[str, ...], failures: int, unresolved: int
) -> None:
    """Three rows per item are one item with three raters, resolved as --reference says."""
    _, report = examined(three_raters(), *options)
    assert report["counts"]["reference_fail"] == failures
    assert report["counts"]["reference_unresolved"] == unresolved
    assert report["raters"]["raters"] == 3


def test_an_adjudication_wins() -> None:
    """adjudicated_label resolves what raters disagree on."""
    found = [{**row, "adjudicated_label": "fail"} for row in three_raters()]
    _, report = examined(found, "--reference", "adjudicated")
    assert report["counts"]["reference_fail"] == 100
    assert report["raters"]["adjudicated"] == 100


def test_a_reference_made_by_a_model_is_refused_and_can_never_admit() -> None:
    """Labels from a model: exit 3; asked for, they are examined and the outcome is never admit."""
    found = [{**row, "source": "model"} for row in none_of_fifty()]
    refused = run("check", "-", "--far-limit", "0.10", stdin=to_csv(found))
    assert refused.exit_code == 3
    assert "--reference-source" in refused.stderr
    code, report = examined(found, "--reference-source", "model")
    assert code == 2
    assert report["raters"]["sources"] == {"model": 170}
    assert report["evidence_grade"] == "model"


def test_declared_blindness_reaches_the_report() -> None:
    """blind=yes in a file is recorded as declared."""
    found = [{**row, "blind": "yes"} for row in none_of_fifty()]
    _, report = examined(found)
    assert report["raters"]["blind"] == {"declared": 170}


# -- forms and outputs ---------------------------------------------------------------------------


def test_every_form_gives_the_same_report(tmp_path: Path) -> None:
    """CSV, semicolons, tabs, BOM with CRLF, JSON Lines, a JSON array: one and the same evidence."""
    table = five_outputs_of_twenty_prompts()
    texts = {
        "a.csv": to_csv(table),
        "b.csv": to_csv(table, delimiter=";"),
        "c.tsv": to_csv(table, delimiter="\t"),
        "d.csv": "\ufeff" + to_csv(table, end="\r\n"),
        "e.jsonl": to_json_lines(table),
        "f.json": json.dumps(table),
        "g": to_json_lines(table),
    }
    digests = set()
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
        result = run("check", str(tmp_path / name), "--far-limit", "0.10", "--json")
        assert result.exit_code == 2, result.stderr
        digests.add(json.loads(result.stdout)["report"])
    assert len(digests) == 1


def test_slices_are_shown_by_prefix_and_by_option() -> None:
    """slice_* columns and --slice columns become slices of the report."""
    table = [{**row, "slice_lang": "de", "desk": "b"} for row in sixteen_of_eighty()]
    _, report = examined_with_notes(table, "--slice", "desk")
    assert {(s["slice"], s["value"]) for s in report["slices"]} == {("lang", "de"), ("desk", "b")}


def test_a_policy_decides_more_than_a_limit() -> None:
    """--policy acceptance wants two raters: what far_only admits is insufficient."""
    result = run("check", "-", "--policy", "acceptance", "--json", stdin=to_csv(none_of_fifty()))
    assert result.exit_code == 2
    items = {i["name"]: i["status"] for i in json.loads(result.stdout)["decision"]["items"]}
    assert len(items) > 3


def test_the_html_page_is_written_and_only_a_report_is_replaced(tmp_path: Path) -> None:
    """--html writes a page, replaces its own page, and refuses another file unless forced."""
    table = write_csv(tmp_path / "t.csv", sixteen_of_eighty())
    page = tmp_path / "report.html"
    args = ("check", str(table), "--far-limit", "0.10", "--html")
    assert run(*args, str(page)).exit_code == 1
    first = page.read_text("utf-8")
    assert "<html" in first
    assert "16/80" in first
    assert run(*args, str(page)).exit_code == 1
    before = table.read_text("utf-8")
    refused = run(*args, str(table))
    assert refused.exit_code == 3
    assert "--force" in refused.stderr
    assert table.read_text("utf-8") == before
    other = tmp_path / "notes.html"
    other.write_text("mine")
    assert run(*args, str(other), "--force").exit_code == 1
    assert other.read_text("utf-8").startswith("<!doctype html>")
    assert not list(tmp_path.glob(".*part"))
    folder = run(*args, str(tmp_path))
    assert folder.exit_code == 3
    assert "is a directory" in folder.stderr


def test_explain_adds_methods_and_denominators() -> None:
    """--explain says more than the plain report."""
    table = to_csv(sixteen_of_eighty())
    plain = run("check", "-", stdin=table).stdout
    explained = run("check", "-", "--explain", stdin=table).stdout
    assert len(explained) > len(plain) + 500
    assert "Wilson" in explained
