"""What the demo says on a terminal, and as JSON; the figures themselves are the report's own words."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import Any

from calibration.evidence import Comparison
from calibration.rendering.page import rule_sentence
from calibration.rendering.reading import Readings
from calibration.rendering.text import counted, listed
from calibration.rendering.vocabulary import OUTCOME_WORDS
from judge.demo.files import DemoFiles
from judge.demo.run import DemoResult, Grading
from rubrics.digest import short
from rubrics.errors import JudgeNotAdmitted

STAMP = "(constructed)"
"""Stands in every line that states a decision or a grade."""
OWN_FILE = (
    "Your own file: a table with one row per answer and the columns id, human_label",
    "and judge_label (pass or fail, by people and by the judge; CSV or JSON Lines):",
)
OWN_COMMAND = ("check", "yours.csv", "--far-limit", "0.10")


def introduction(found: DemoResult) -> list[str]:
    """What is examined on what, that it is evidence about nothing, and what the policy asks."""
    sizes = {each.report.criterion: each.report.table.all.total for each in found.comparison.examinations}
    drawn = listed([f"{n} for {criterion}" for criterion, n in sizes.items()])
    kept = len(found.sample.kept)
    total = next(iter(sizes.values())) + kept
    return [
        f"The demo examines judges on a constructed sample: {total} answers of an invented shop's support "
        "desk, labelled by two invented raters and an adjudicator. It is evidence about no judge. Drawn at "
        f"random to examine on: {drawn}. The {kept} that the first leaves out are graded at the end.",
        rule_sentence(Readings.of(found.comparison)),
    ]


def criteria(found: DemoResult) -> list[tuple[str, Comparison]]:
    """Each criterion with its question, and its examination."""
    rubric = found.sample.rubric
    return [
        (
            f"{each.report.criterion}: {rubric.criterion(each.report.criterion).question}",
            Comparison(examinations=(each,)),
        )
        for each in found.comparison.examinations
    ]


def signed(found: DemoResult) -> list[str]:
    """What was signed, one line a decision."""
    lines = []
    for each in found.decisions:
        word = next(words for outcome, words in OUTCOME_WORDS.items() if outcome.value == each.outcome)
        until = f", valid until {each.valid_until:%Y-%m-%d}" if each.valid_until else ""
        lines.append(
            f"Signed by {each.signer}: {each.content['judge']} on {each.scope.criterion}: {word} {STAMP}"
            f"{until}. Decision {short(each.hash)}."
        )
    return lines


def graded(found: DemoResult) -> list[str]:
    """What became of grading the kept items, one line a criterion."""
    return [_graded(each, len(found.sample.kept)) for each in found.gradings]


def _graded(grading: Grading, kept: int) -> str:
    asked = f"{STAMP}: {counted(kept, 'new answer')} on {grading.criterion}"
    if grading.refused is not None:
        missing = grading.refused.missing if isinstance(grading.refused, JudgeNotAdmitted) else ()
        return f"Refused {asked}, exit 4: {grading.refused}. Missing: {'; '.join(missing) or 'nothing else'}."
    words = Counter(grade.overall.value for grade in grading.grades)
    told = ", ".join(f"{n} {word}" for word, n in words.most_common())
    judges = listed(sorted({criterion.judge for grade in grading.grades for criterion in grade.criteria}))
    return f"Graded {asked}, by {judges}: {told}."


def commands(found: DemoResult, files: DemoFiles, program: str) -> list[str]:
    """The command lines that grade as the demo did, each broken as a shell takes it to fit 80 columns."""
    lines = []
    for each in found.gradings:
        parts = (
            [program, "--db", str(files.store)],
            ["grade", str(files.answers), "--rubric", found.sample.rubric.ref],
            ["--criterion", each.criterion],
        )
        ends = "  # exit 4" if each.refused else ""
        lines.append("  " + " \\\n    ".join(map(shlex.join, parts)) + ends)
    return lines


def own_command(program: str) -> str:
    """The command line for a file of one's own."""
    return f"  {shlex.join([program, *OWN_COMMAND])}"


def written(files: DemoFiles) -> list[str]:
    """The files, one a line."""
    told = {
        str(files.page): "the report; open it in a browser",
        str(files.store): "the evidence store",
        str(files.answers): "the answers that were to be graded",
    }
    width = max(map(len, told))
    return [f"  {path:{width}}  {what}" for path, what in told.items()]


def demo_object(found: DemoResult, files: DemoFiles) -> dict[str, Any]:
    """Everything that was found, as JSON."""
    return {
        "constructed": True,
        "sets": {criterion: stored.ref for criterion, stored in found.sample.sets.items()},
        **found.comparison.to_json(),
        "new_looks": found.new_looks,
        "decisions": [
            {
                "decision": each.hash,
                "judge": each.content["judge"],
                "criterion": each.scope.criterion,
                "outcome": each.outcome,
                "report": each.report_digest,
                "valid_until": each.valid_until.isoformat() if each.valid_until else None,
            }
            for each in found.decisions
        ],
        "grading": [
            {
                "criterion": each.criterion,
                "graded": len(each.grades),
                "overall": dict(Counter(grade.overall.value for grade in each.grades)),
                "refused": str(each.refused) if each.refused else None,
            }
            for each in found.gradings
        ],
        "model_absent": found.model_absent or None,
        "files": {
            "report": str(files.page),
            "store": str(files.store),
            "new_answers": str(files.answers),
        },
    }
