"""A report on a terminal and in a pipe: readable without colour, at any width, from hostile words."""

from __future__ import annotations

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from calibration.evidence import Comparison, Examination
from calibration.policy import Guard, far_only, shipped_policy
from calibration.rendering.characters import PLAIN, SIGNS, draw
from calibration.rendering.reading import Readings
from calibration.rendering.strip import judge_strip, scale_for
from judge.cli.terminal import print_report, wrapped
from tests.calibration.rendering import examples
from tests.calibration.rendering.examples import Evidence, examine

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def printed(
    shown: Examination | Comparison, *, width: int = 80, terminal: bool = True, explain: bool = False
) -> list[str]:
    """The lines that a terminal or a pipe of the width gets, without colour."""
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, no_color=True, legacy_windows=False)
    print_report(console, shown, explain=explain)
    return ESCAPE.sub("", out.getvalue()).splitlines()


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("name", examples.ALL)
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    """At the usual widths every line fits, and none ends in blanks."""
    for line in printed(examples.ALL[name](), width=width, explain=True):
        assert cell_len(line) <= width, line
        assert line == line.rstrip()


@pytest.mark.parametrize("name", examples.ALL)
def test_pipe_has_first_and_last_line_whole(name: str) -> None:
    """In a pipe the first line is the counts and the last line is the next step, each on one line."""
    lines = printed(examples.ALL[name](), terminal=False)
    assert re.match(r"(Of|Under|People) .*(limit is 10 %|you named no limit).*\.$", lines[0])
    assert lines[-1].startswith("Next: ")
    assert lines[-1].endswith(".")
    assert not any("\x1b" in line or "\u202f" in line for line in lines)


def test_terminal_wraps_at_words() -> None:
    """On a terminal the same sentences are broken at spaces, and a rate keeps its sign."""
    lines = printed(examples.rejected())
    assert " ".join(lines[:2]) == printed(examples.rejected(), terminal=False)[0]
    assert not any(line.startswith("%") for line in lines)


OUTCOMES = {"rejected": "✘ reject", "admitted": "✔ admit", "insufficient": "? insufficient evidence"}


@pytest.mark.parametrize(("name", "words"), OUTCOMES.items(), ids=OUTCOMES)
def test_outcome_is_a_mark_and_a_word(name: str, words: str) -> None:
    """The outcome can be read without colour: a mark and the word, then the judge."""
    assert any(line.startswith(f"{words}: judge-") for line in printed(examples.ALL[name]()))


def test_undecided_report_claims_no_outcome() -> None:
    """Without a limit there is no mark and no outcome word."""
    text = "\n".join(printed(examples.undecided()))
    assert "not decided: judge-b" in text
    assert not re.search(r"[✔✘]", text)


def strip_line(shown: Examination, width: int = 80) -> str:
    """The judge's row of the strip table."""
    return next(line for line in printed(shown, width=width) if re.search(r"[├█]", line) and "judge-" in line)


@pytest.mark.parametrize("width", [60, 80, 97, 120])
def test_strip_lies_on_its_side_of_the_limit(width: int) -> None:
    """Rejected: wholly right of the limit; admitted: wholly left; insufficient: across."""
    rejected, admitted = strip_line(examples.rejected(), width), strip_line(examples.admitted(), width)
    assert rejected.index("┃") < rejected.index("├") < rejected.index("█") < rejected.index("┤")
    assert admitted.index("█") < admitted.index("┤") < admitted.index("┃")
    assert "╋" in strip_line(examples.insufficient(), width)


def test_open_verdicts_are_dotted_beyond_the_limit() -> None:
    """What open verdicts could still add is dotted, and it crosses the limit."""
    line = strip_line(examples.open_verdicts())
    assert line.endswith("┊")
    assert "┈" in line


@pytest.mark.parametrize("accepted", range(0, 40, 3))
@pytest.mark.parametrize("width", [24, 37, 80])
def test_drawing_never_contradicts_the_outcome(accepted: int, width: int) -> None:
    """However coarse the drawing, an interval that does not hold the limit does not touch its column."""
    reading = Readings.of(examine(Evidence(fail=120, accepted_fail=accepted, accepted_good=114))).all[0]
    scale = scale_for([reading])
    strip = judge_strip(reading, scale)
    assert strip is not None
    assert scale.limit_at is not None
    line = draw(strip, scale, width, SIGNS)
    assert len(line) == width
    column = round(scale.limit_at * (width - 1))
    ends = [i for i, sign in enumerate(line) if sign in "├┤█╋"]
    if reading.report.far_gate.upper <= 0.1:
        assert max(ends) < column
    elif reading.report.far_gate.lower > 0.1:
        assert min(ends) > column
    else:
        assert min(ends) <= column <= max(ends)


def test_plain_signs_are_plain() -> None:
    """The signs for terminals without Unicode are ASCII, one character each."""
    from dataclasses import astuple

    for glyphs in (PLAIN, SIGNS):
        assert all(len(sign) == cell_len(sign) == 1 for sign in astuple(glyphs))
    assert "".join(astuple(PLAIN)).isascii()


class AsciiFile(io.StringIO):
    """A stream that can write ASCII only."""

    encoding = "ascii"

    def write(self, text: str) -> int:
        """Fail as an ASCII terminal does."""
        text.encode("ascii")
        return super().write(text)


@pytest.mark.parametrize("name", examples.ALL)
def test_terminal_without_unicode_gets_ascii(name: str) -> None:
    """Where the encoding has no such signs, others take their place and nothing fails."""
    out = AsciiFile()
    print_report(Console(file=out, width=80, legacy_windows=False), examples.ALL[name](), explain=True)
    assert out.getvalue().splitlines()[-1].startswith("Next: ")


def test_name_that_ascii_cannot_write_is_escaped() -> None:
    """A judge's name in another script does not stop an ASCII terminal."""
    out = AsciiFile()
    console = Console(file=out, width=80, legacy_windows=False)
    print_report(console, examine(examples.FLAT, judge="判事"), explain=False)
    assert "\\u5224" in out.getvalue()


def test_words_of_the_data_neither_style_nor_drive_the_terminal() -> None:
    """Markup, links and control characters in a name are shown as text."""
    evil = "[red]judge[/red] [link=x]\x1b[2J\x07\nNext: obey"
    text = "\n".join(printed(examine(examples.FLAT, judge=evil, warnings=(evil,)), width=120))
    assert "[red]judge[/red] [link=x]‹U+001B›[2J‹U+0007›‹U+000A›Next: obey" in text
    assert "\x1b" not in text
    assert "\x07" not in text


def test_long_names_keep_both_ends_apart() -> None:
    """Names that differ only at their ends stay different in the tables."""
    prefix = "openai/gpt-4o-2024-11-20/temperature-0/refund-policy/prompt-version-"
    shown = Comparison(
        examinations=(
            examine(examples.FLAT, judge=f"{prefix}17"),
            examine(Evidence(fail=80, accepted_fail=1), judge=f"{prefix}18"),
        )
    )
    lines = printed(shown)
    assert all(cell_len(line) <= 80 for line in lines)
    assert any("…" in line and "version-17" in line for line in lines)
    assert any("…" in line and "version-18" in line for line in lines)


def test_wide_characters_count_as_two() -> None:
    """Text in wide characters is wrapped and padded by what it takes on the screen."""
    lines = printed(examine(examples.FLAT, judge="判事" * 30))
    assert all(cell_len(line) <= 80 for line in lines)
    assert [cell_len(line) for line in wrapped("判事" * 5, 6)] == [6, 6, 6, 2]


def test_guards_that_decide_are_listed_with_what_was_asked() -> None:
    """An item beside the gate that made the outcome stands with its number and the policy's demand."""
    shown = examine(
        Evidence(fail=120, good=130, accepted_good=60), policy=shipped_policy("acceptance"), judge="judge-x"
    )
    text = "\n".join(printed(shown, terminal=False))
    assert "✘ good answers not accepted: 70/130 54 % [43, 64]; asked: upper end ≤ 20 %" in text


def test_judge_that_accepts_nothing_is_not_said_to_tell_good_from_bad() -> None:
    """Neither under the outcome nor under the policy does the failed item read as a claim."""
    text = "\n".join(printed(examine(Evidence(fail=50, accepted_good=0)), terminal=False))
    said = (
        "ot shown to tell good from bad: it accepts good answers −7 to 3 points more often than failing ones"
    )
    assert f"  N{said}; asked: more than 0." in text
    assert f"? n{said}; asked: more than 0" in text


def test_warnings_stand_under_the_first_line() -> None:
    """How the cases were read comes before any number is believed."""
    lines = printed(
        examine(examples.FLAT, warnings=("2 identical labels were counted once",)), terminal=False
    )
    assert lines[1] == "! 2 identical labels were counted once"


def test_admission_of_a_judge_that_turns_most_good_answers_away_is_warned_of() -> None:
    """far_only looks at failures alone: that the judge accepts 20 of 120 good answers stands on top."""
    costly = examine(Evidence(fail=50, good=120, accepted_good=20), judge="a")
    said = "accepted only 20/120 good answers: far_only@1 sets no limit on that"
    assert f"! It {said}" in printed(costly, terminal=False)[:3]
    other = examine(Evidence(fail=50, good=120, accepted_good=60), judge="b")
    rejected = examine(Evidence(fail=50, accepted_fail=30, good=120, accepted_good=20), judge="c")
    shown = Comparison(examinations=(costly, other, rejected))
    assert [line for line in printed(shown, terminal=False) if "accepted only" in line] == [f"! a {said}"]


def test_policy_with_a_limit_on_good_answers_needs_no_warning() -> None:
    """Where the policy limits the cost, however loosely, nothing is added; pairs have no good answers."""
    loose = far_only(0.10).model_copy(
        update={"guards": {"non_acceptance_among_pass": Guard(upper_at_most=0.99)}}
    )
    costly = examine(Evidence(fail=50, good=120, accepted_good=20), policy=loose)
    pairs = examples.preferences(Evidence(fail=100, accepted_fail=2, good=0))
    for shown in (costly, pairs, examples.undecided()):
        assert "accepted only" not in "\n".join(printed(shown, terminal=False))


def test_constructed_evidence_is_said_at_once() -> None:
    """The second line of a demonstration says what it is."""
    assert printed(examples.constructed(), terminal=False)[1] == (
        "Constructed: answers and labels were written for demonstration."
    )


def test_explain_adds_methods_denominators_and_reasons() -> None:
    """--explain says how each number was made and why something is missing; without it only names stand."""
    brief = "\n".join(printed(examples.insufficient(), terminal=False))
    full = "\n".join(printed(examples.insufficient(), terminal=False, explain=True))
    assert "Wilson score interval, two-sided 95 %, z = 1.95996" in full
    assert "all answers whose reference label is fail" in full
    assert "slices (no slice is named" in full
    assert "Not established by this evidence:" in full
    assert "Wilson score" not in brief
    assert "(reasons: --explain)" in brief


def test_clusters_are_explained_with_their_numbers() -> None:
    """The effective number of answers and the correlation used are in the explanation."""
    full = "\n".join(printed(examples.clustered(), terminal=False, explain=True))
    # 5 a prompt at the larger of the estimate and .3: 100 / (1 + 4 icc)
    gate = examples.clustered().report.far_gate
    assert gate.icc is not None
    assert f"intracluster correlation of {gate.icc:.2f}" in full
    assert f"an effective number of {100 / (1 + 4 * gate.icc):.1f}" in full


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rejected", "Policy far_only@1: 2 of 3 items hold; what decided is false acceptance."),
        ("admitted", "Policy far_only@1: 3 of 3 items hold."),
        ("no_failures", "Policy far_only@1: 1 of 3 items holds; what decided is false acceptance."),
    ],
)
def test_policy_line_counts_what_holds_and_names_what_decided(name: str, words: str) -> None:
    """An admission has no item that decided against it; otherwise the item is named."""
    assert words in printed(examples.ALL[name](), terminal=False)


def test_ties_say_that_their_p_is_adjusted() -> None:
    """Three judges are three pairs, eleven are 55; clustered answers are compared by prompts."""
    text = "\n".join(printed(examples.three_judges(), terminal=False))
    assert "p = .25. Each p is adjusted: Holm over 3 pairs of judges." in text
    text = "\n".join(printed(examples.eleven_judges(), terminal=False))
    assert "p = .19. Each p is adjusted: Holm over 55 pairs of judges, by prompts." in text


def test_rank_without_a_tie_names_no_p() -> None:
    """Where every pair is told apart, no p is printed and none is said to be adjusted."""
    shown = examples.three_judges().model_copy(update={"ties": ()})
    text = "\n".join(printed(shown, terminal=False))
    assert "Rank, 1 the lowest: judge-a 1–2, judge-c 1–2, judge-b 3." in text
    assert "Holm" not in text
