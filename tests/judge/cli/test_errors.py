"""How an error ends a command: its code, its object, and what a judge lacks."""

from __future__ import annotations

import pytest

from judge.cli.errors import ExitCode, code_of, error_object
from rubrics.errors import AdmissionExpired, DeclarationError, JudgeNotAdmitted, RecordError


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (JudgeNotAdmitted("no", missing=("35 failures",)), ExitCode.NOT_ADMITTED),
        (AdmissionExpired("lapsed on 2026-12-30", decision="ab"), ExitCode.NOT_ADMITTED),
        (RecordError("none"), ExitCode.OPERATIONAL),
        (DeclarationError("bad"), ExitCode.OPERATIONAL),
        (ValueError("bug"), ExitCode.OPERATIONAL),
    ],
)
def test_a_judge_without_a_live_admission_ends_with_four(error: Exception, code: ExitCode) -> None:
    """Never admitted and no longer admitted are the same to a script; everything else is 3."""
    assert code_of(error) is code


def test_what_is_missing_stands_in_the_object() -> None:
    """The evidence, or an admission that has not lapsed, under the one name that scripts look for."""
    never = error_object(JudgeNotAdmitted("no", missing=("35 failures",)), ["grade"])
    lapsed = error_object(AdmissionExpired("lapsed on 2026-12-30"), ["grade"])
    assert (never["error"], never["missing"], never["exit"]) == ("judge_not_admitted", ["35 failures"], 4)
    assert (lapsed["error"], lapsed["exit"]) == ("judge_not_admitted", 4)
    assert lapsed["missing"] == ["an admission that has not lapsed"]
    assert lapsed["message"] == "lapsed on 2026-12-30"
