"""A rubric that stands for labels made elsewhere, whose raters' guidance is not known."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from rubrics.problems import declaration_error
from rubrics.rubric import Rubric


def stub_rubric(
    name: str,
    criterion: str,
    *,
    levels: Sequence[str | int] = (),
    accept_at: str | int | None = None,
    pairwise: bool = False,
    candidate: str | None = "B",
    tie_accepts: bool = False,
) -> Rubric:
    """Version 1 of a rubric with one required criterion that is marked imported.

    Binary unless `levels` (worst first, with `accept_at`) or `pairwise` (with its claim) is given.
    Such a rubric lets labels be counted; it says nothing of what raters were asked, and states so.

    Raises DeclarationError for a name, key, level or claim that is not allowed.
    """
    scale: object = "binary"
    if levels or accept_at is not None:
        anchor = "Not recorded: the level came with imported labels."
        named = [{"level": level, "anchor": anchor} for level in levels]
        scale = {"kind": "ordinal", "levels": named, "accept_at": accept_at}
    elif pairwise:
        scale = {"kind": "preference", "candidate": candidate, "tie_accepts": tie_accepts}
    data = {
        "name": name,
        "version": 1,
        "title": f"Imported labels: {criterion}",
        "purpose": "Hold labels that were made elsewhere; what their raters were asked is not recorded.",
        "criteria": [
            {
                "key": criterion,
                "title": f"{criterion} (imported)",
                "question": "Not recorded: the labels were made elsewhere.",
                "scale": scale,
                "imported": True,
            }
        ],
        "does_not_establish": ["What the labels mean: the guidance that their raters had is not recorded."],
    }
    try:
        return Rubric.model_validate(data)
    except ValidationError as error:
        raise declaration_error(error, model=Rubric, data=data) from error
