"""The page: one file that asks for nothing, shows everything, and trusts no word of the data."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser
from importlib import resources

import pytest

from calibration.evidence import Comparison, Examination
from calibration.labels import Blindness
from calibration.policy import shipped_policy
from calibration.rendering.html import render_html
from calibration.rendering.items import bound_counts
from calibration.rendering.numbers import NBSP, NNBSP
from calibration.rendering.reading import Readings
from calibration.rendering.sentences import headline
from calibration.report.supplement import AnswerTable, answer_agreement
from rubrics.digest import short
from tests.calibration.rendering import examples
from tests.calibration.rendering.examples import Evidence, examine

VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})


class Page(HTMLParser):
    """The page taken apart: tags with attributes, text, and whether every tag was closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.stack: list[str] = []
        self.wrong: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See HTMLParser."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID and not (self.get_starttag_text() or "").endswith("/>"):
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See HTMLParser."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """See HTMLParser."""
        if not self.stack or self.stack.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        """See HTMLParser."""
        if "style" not in self.stack:
            self.words.append(data)

    @property
    def text(self) -> str:
        """The words as read, with single plain spaces."""
        return re.sub(r"\s+", " ", "".join(self.words).replace(NNBSP, " ").replace(NBSP, " "))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Attributes of every such tag."""
        return [attributes for name, attributes in self.tags if name == tag]


def page(shown: Examination | Comparison, **options: str) -> Page:
    """The rendered page, taken apart."""
    return Page(render_html(shown, made_at=None, title=options.get("title")))


@pytest.mark.parametrize("name", examples.ALL)
def test_page_is_well_formed_and_says_its_first_line(name: str) -> None:
    """Every kind of report renders, closes every tag and carries the counts in words."""
    shown = examples.ALL[name]()
    found = page(shown)
    assert found.wrong == []
    assert found.stack == []
    assert headline(shown).replace(NNBSP, " ") in found.text
    assert "None" not in re.sub(r"None\b(?= of)", "", found.text)


@pytest.mark.parametrize("name", ["full_policy", "eleven_judges"])
def test_page_asks_for_nothing(name: str) -> None:
    """No address, no script, no form, no frame: nothing that could load, run or send."""
    html = render_html(examples.ALL[name](), made_at=None)
    assert re.findall(r"https?:|//[a-z]|url\(|@import|javascript:", html) == []
    found = Page(html)
    assert {tag for tag, _ in found.tags} & {
        "script",
        "link",
        "img",
        "iframe",
        "form",
        "object",
        "embed",
    } == set()
    for tag, attributes in found.tags:
        assert not [key for key in attributes if key.startswith("on")], tag
        assert "style" not in attributes, "the content policy allows no style attribute"
        assert (attributes.get("href") or "#").startswith("#")


def test_content_policy_allows_the_one_style_sheet_by_its_digest() -> None:
    """The page forbids everything to load or run; its own style sheet is named by its digest."""
    html = render_html(examples.rejected(), made_at=None)
    policy = next(a["content"] for a in Page(html).all("meta") if "http-equiv" in a)
    style = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert len(style) == 1
    allowed = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"


EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"' onload='x {{ 7*7 }} \u202egnirts\x1b[31m"


def evil() -> Comparison:
    """Hostile words in every place that data may fill."""
    policy = shipped_policy("acceptance")
    evidence = Evidence(
        fail=120, accepted_fail=30, good=130, slices=True, raters=2, blind=Blindness.YES, unresolved=3
    )
    found = examine(evidence, policy=policy, judge=EVIL, criterion=EVIL, warnings=(EVIL,))
    report = found.report.model_copy(
        update={
            "rubric": EVIL,
            "dataset": EVIL,
            "not_established": (EVIL,),
            "not_assessed": tuple(g.model_copy(update={"reason": EVIL}) for g in found.report.not_assessed),
            "slices": tuple(f.model_copy(update={"slice": EVIL, "value": EVIL}) for f in found.report.slices),
            "baselines": tuple(
                b.model_copy(update={"name": EVIL, "description": EVIL}) for b in found.report.baselines
            ),
            "answer_agreement": answer_agreement(
                AnswerTable((EVIL, "b"), ((1, 2, 3), (0, 4, 0)), ordered=False)
            ),
            "design": EVIL,
            "claim": EVIL,
            "exploratory": EVIL,
        }
    )
    assert found.decision is not None
    items = tuple(item.model_copy(update={"detail": EVIL}) for item in found.decision.items)
    unknown = {"name": EVIL, "comparison": EVIL, "value": EVIL, "limit": EVIL, "detail": EVIL}
    items = (*items, items[-1].model_copy(update=unknown))
    decision = found.decision.model_copy(update={"items": items, "policy": EVIL})
    return Comparison(examinations=(Examination(report=report, decision=decision),) * 2)


@pytest.mark.parametrize("shown", [evil(), evil().examinations[0]], ids=["several", "one"])
def test_words_of_the_data_stay_words(shown: Examination | Comparison) -> None:
    """Names, reasons and details are escaped; what cannot be seen is named; templates in data do nothing."""
    html = render_html(shown, made_at=None, title=EVIL)
    found = Page(html)
    assert found.wrong == []
    assert found.all("script") == found.all("img") == []
    assert not [key for _, attributes in found.tags for key in attributes if key.startswith("on")]
    assert "{{ 7*7 }}" in found.text
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert "‹U+202E›" in found.text


def test_lone_surrogate_can_be_written() -> None:
    """A name that is no Unicode text still makes a file."""
    html = render_html(examine(examples.FLAT, judge="bad\ud800name"), made_at=None)
    assert "bad‹U+D800›name" in html.encode("utf-8").decode()


def test_every_denominator_is_on_the_page() -> None:
    """A statistician finds each x/n of the report."""
    shown = examples.full_policy()
    text = page(shown).text
    report = shown.report
    rates = (
        "far",
        "far_decided",
        "frr",
        "non_acceptance_among_pass",
        "failure_among_accepted",
        "disagreement",
    )
    for name in (*rates, "coverage", "abstention", "invalid", "open"):
        figure = getattr(report, name)
        assert f"{figure.x}/{figure.n}" in text, name
    assert "Answers without an agreed label" in text
    assert "6/256 2 %" in text
    gate = report.far_gate
    assert f"{gate.x}/{gate.n} up to" in text
    margins = report.margins
    assert f"{margins.judge.accepted}/{margins.judge.n}" in text
    assert f"{margins.reference.passing}/{margins.reference.n}" in text
    for figure in report.slices:
        assert f"{figure.slice} {figure.value}" in text
        assert f"{figure.far.x}/{figure.far.n}" in text


@pytest.mark.parametrize("final", [False, True])
def test_bounds_are_the_reports(final: bool) -> None:
    """The counts shown for the bounds give the report's own bounds."""
    for name in ("full_policy", "open_verdicts", "rejected"):
        shown = examples.ALL[name]()
        assert isinstance(shown, Examination)
        report = shown.report
        (low_x, low_n), (high_x, high_n) = bound_counts(report.table, final=final)
        bounds = report.far_bounds_all_unknown if final else report.far_bounds
        assert (low_x / low_n, high_x / high_n) == pytest.approx((bounds.low, bounds.high))


def test_verdict_table_shows_every_unknown_zeros_too() -> None:
    """Six columns of unknowns stand in the table whatever the counts are."""
    text = page(examples.rejected()).text
    for word in ("Abstained", "Invalid", "Inconsistent", "Pending", "Missing", "Error", "Total"):
        assert word in text


def test_gaps_stand_side_by_side_with_their_reasons() -> None:
    """Not assessed and not established are two lists, each with every entry of the report."""
    shown = examples.rejected()
    text = page(shown).text
    assert text.index("Not assessed") < text.index("Not established by this evidence")
    for gap in shown.report.not_assessed:
        assert gap.reason in text
    for claim in shown.report.not_established:
        assert claim in text


def test_what_is_said_of_some_judges_names_them() -> None:
    """A gap that only one of several judges has is not said of all."""
    odd = examine(Evidence(fail=80, accepted_fail=1, good=120, accepted_good=120), judge="other")
    report = odd.report.model_copy(update={"not_established": ("A claim of its own.",)})
    shown = Comparison(examinations=(examples.rejected(), Examination(report=report, decision=odd.decision)))
    assert "other: A claim of its own." in page(shown).text


def test_constructed_evidence_is_stamped() -> None:
    """The stamp stands in the header and at the end, and nowhere else."""
    assert page(examples.constructed()).text.count("written for demonstration") >= 2
    assert "written for demonstration" not in page(examples.rejected()).text


def test_digests_are_short_to_read_and_whole_in_the_title() -> None:
    """Twelve digits are shown, all 64 can be copied."""
    shown = examples.rejected()
    found = page(shown)
    assert shown.decision is not None
    for full in (shown.report.report, shown.report.inputs, shown.decision.policy_digest):
        assert short(full) in found.text
        assert f"sha256:{full}" in [a.get("title") for a in found.all("dd")]


def test_time_is_printed_in_utc_or_not_at_all() -> None:
    """The page reads no clock: the time is an argument, and none prints none."""
    there = datetime(2026, 11, 30, 12, 30, tzinfo=timezone(timedelta(hours=2)))
    assert "Made 2026-11-30 10:30 UTC" in Page(render_html(examples.rejected(), made_at=there)).text
    assert "Made" not in page(examples.rejected()).text
    naive = datetime(2026, 11, 30, 12, 30, tzinfo=UTC).replace(tzinfo=None)
    assert "Made 2026-11-30 12:30 by" in Page(render_html(examples.rejected(), made_at=naive)).text


def test_same_examination_gives_the_same_bytes() -> None:
    """Rendering is pure."""
    assert render_html(examples.three_judges(), made_at=None) == render_html(
        examples.three_judges(), made_at=None
    )


def test_title_is_the_callers_or_names_judge_and_criterion() -> None:
    """A tab can be told from another."""
    assert "<title>Calibration report: judge-b, correct</title>" in render_html(
        examples.rejected(), made_at=None
    )
    assert "<title>Mine</title>" in render_html(examples.rejected(), made_at=None, title="Mine")


def test_picture_has_words_for_who_cannot_see_it() -> None:
    """Each interval is an image with its numbers as label."""
    labels = [a.get("aria-label") or "" for a in page(examples.open_verdicts()).all("svg")]
    told = [label.replace(NNBSP, " ") for label in labels if label.startswith("judge-c")]
    assert told == ["judge-c: 2/60 3 % [1, 11]; worst case 32/60, up to 65 %; limit 10 %"]


def test_rows_are_sorted_by_outcome_not_by_estimate() -> None:
    """Admitted first, then insufficient, then rejected."""
    outcomes = [reading.outcome for reading in Readings.of(examples.eleven_judges()).all]
    assert [o.value for o in outcomes if o] == ["admit"] * 2 + ["insufficient_evidence"] * 2 + ["reject"] * 7


def test_judges_that_differ_are_ranked_without_a_tie() -> None:
    """Where every pair is told apart, the places alone are named."""
    shown = examples.eleven_judges()
    text = page(shown.model_copy(update={"ties": ()})).text
    assert "Each p is adjusted" in page(shown).text
    assert "Each p is adjusted" not in text


def test_an_admitted_judge_that_turns_good_answers_away_is_told() -> None:
    """A gate on FAR alone admits a judge that accepts a third of what is good: the page says so."""
    costly = examine(Evidence(fail=60, good=120, accepted_good=40))
    assert costly.decision is not None
    assert costly.decision.outcome == "admit"
    said = "accepted only 40/120 good answers"
    assert said in page(costly).text
    assert said not in page(examples.admitted()).text


def test_many_ties_are_counted() -> None:
    """Six pairs are named, the rest is a number."""
    shown = examples.eleven_judges()
    tie = shown.ties[0]
    seven = page(shown.model_copy(update={"ties": (tie,) * 7})).text
    assert seven.count("JudgeLM and Llama-13B tie") == 6
    assert "One more pair ties." in seven
    assert "Two more pairs tie." in page(shown.model_copy(update={"ties": (tie,) * 8})).text


def test_rate_that_only_one_judge_has_is_not_assessed_for_the_other() -> None:
    """Side by side, a pairwise rate stands only where there is one."""
    one, other = examples.rejected(), examples.admitted()
    pair = one.report.model_copy(update={"wrong_side": one.report.far})
    shown = Comparison(examinations=(Examination(report=pair, decision=one.decision), other))
    assert re.search(
        r"Wrong side of a pair.{0,90}16/80 20 %.{0,20}not assessed|not assessed.{0,40}16/80", page(shown).text
    )


def test_comparison_without_examination_is_refused() -> None:
    """There is no page of nothing."""
    with pytest.raises(ValueError, match="nothing to show"):
        render_html(Comparison(examinations=()), made_at=None)


def test_rendering_module_loads_no_template_engine_before_it_renders() -> None:
    """Whoever only prints sentences does not pay for the template engine."""
    code = (
        "import sys, calibration.rendering.html; sys.exit('jinja2' in sys.modules or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def style_tokens() -> dict[str, dict[str, str]]:
    """Every colour of the style sheet by its name, for light, dark and print."""
    css = resources.files("calibration.rendering").joinpath("templates", "report.css").read_text("utf-8")
    light, dark, printed = re.findall(r":root\{(.*?)\}", css, re.DOTALL)[:3]
    found = {mode: dict(re.findall(r"--(\w+):(#[0-9A-F]{6})", block)) for mode, block in
             (("light", light), ("dark", dark), ("print", printed))}  # fmt: skip
    return {"light": found["light"], "dark": found["dark"], "print": {**found["light"], **found["print"]}}


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio (WCAG 2), from 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


TEXT = ("ink", "ink2", "ink3", "accent", "admit", "insufficient", "reject")
GROUND = ("paper", "sunk", "zone")


@pytest.mark.parametrize("mode", ["light", "dark", "print"])
@pytest.mark.parametrize("ground", GROUND)
@pytest.mark.parametrize("text", TEXT)
def test_every_text_colour_reads_on_every_ground(mode: str, ground: str, text: str) -> None:
    """Text has a contrast of at least 4.5 to 1 wherever it may stand."""
    tokens = style_tokens()[mode]
    assert contrast(tokens[text], tokens[ground]) >= 4.5


@pytest.mark.parametrize("mode", ["light", "dark", "print"])
def test_signs_and_group_lines_are_seen(mode: str) -> None:
    """The sign in a filled mark reads as text does; a group line has at least 3 to 1."""
    tokens = style_tokens()[mode]
    assert contrast(tokens["paper"], tokens["admit"]) >= 4.5
    assert contrast(tokens["paper"], tokens["reject"]) >= 4.5
    assert contrast(tokens["ruleS"], tokens["paper"]) >= 3


def test_contrast_is_the_known_one() -> None:
    """Black on white is 21, and the measure is symmetric."""
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.005)


def test_failing_answers_that_it_accepted_can_be_found() -> None:
    """A folded list names each accepted failure, whatever its id holds; without one there is no list."""
    found = examples.rejected()
    ids = ("i1", "<script>alert(1)</script>", "\x1b[2J", "")
    report = found.report.model_copy(update={"accepted_failures": ids})
    html = render_html(Examination(report=report, decision=found.decision), made_at=None)
    assert '<details class="ids"><summary>Failing answers that it accepted (the first 4 of 16)' in html
    assert "<li>i1</li><li>&lt;script&gt;alert(1)&lt;/script&gt;</li><li>‹U+001B›[2J</li>" in html
    assert "<script" not in html
    assert "<details" not in render_html(examples.admitted(), made_at=None)


def test_each_judge_has_its_own_list() -> None:
    """Several judges: each list says whose it is; pairs are not called answers."""
    html = render_html(examples.three_judges(), made_at=None)
    assert "<summary>judge-b: Failing answers that it accepted (16)</summary>" in html
    pairs = render_html(examples.preferences(Evidence(fail=100, accepted_fail=30, good=0)), made_at=None)
    assert "<summary>Pairs on which it took the wrong side (30)</summary>" in pairs
