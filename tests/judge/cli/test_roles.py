"""Roles on the command line."""

from __future__ import annotations

from judge.cli.roles import check_role
from rubrics.criterion import JudgeRole
from tests.command_line import run


def test_a_role_that_there_is_none_of_is_refused_before_anything_is_looked_up() -> None:
    """One sentence with the roles that there are; each of these, and none, is taken."""
    done = run("grade", "no-such-file.jsonl", "--role", "bogus")
    assert done.exit_code == 64
    said = " ".join(done.stderr.split())
    assert "'bogus' is no role; give one of acceptance, review_trigger, diagnostic" in said
    assert "missing" not in said
    for role in (None, *(each.value for each in JudgeRole)):
        check_role(role)
