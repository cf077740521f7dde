"""The role in which a judge is admitted and asked to grade, as an option."""

from __future__ import annotations

import typer


def check_role(role: str | None) -> None:
    """Refuse a role that there is none of; None asks for nothing."""
    from rubrics.criterion import JudgeRole

    roles = [each.value for each in JudgeRole]
    if role is not None and role not in roles:
        raise typer.BadParameter(f"{role!r} is no role; give one of {', '.join(roles)}", param_hint="--role")
