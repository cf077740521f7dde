"""Recorded judges as specs that can be run."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError
from sqlmodel import Session

from calibration.store.judges import StoredJudge, get_judge
from judge.panel import CascadeJudge, PanelJudge
from judge.spec import BaselineJudge, ExternalJudge, JudgeSpec, ModelJudge, RuleJudge
from rubrics.errors import RecordError

_SPEC: TypeAdapter[JudgeSpec] = TypeAdapter(
    Annotated[
        ModelJudge | RuleJudge | BaselineJudge | PanelJudge | CascadeJudge | ExternalJudge,
        Field(discriminator="kind"),
    ]
)


def recorded_judge(*, session: Session, judge: str) -> JudgeSpec:
    """The spec of a recorded judge, by its name (the newest of that name) or its digest.

    Raises:
        RecordError: there is none, or this version of voirdire does not read its spec as the same judge.
    """
    return spec_of(get_judge(session=session, judge=judge))


def spec_of(stored: StoredJudge) -> JudgeSpec:
    """The spec in a judge's record; raises RecordError as recorded_judge() does."""
    try:
        spec = _SPEC.validate_json(json.dumps({**stored.content, "kind": stored.kind}))
    except ValidationError as error:
        raise RecordError(
            f"the {stored.kind} judge {stored.name!r} cannot be run here: its recorded spec is not one that "
            f"this version of voirdire knows ({error.error_count()} fields differ); add it anew"
        ) from error
    if spec.digest != stored.digest and not isinstance(spec, ExternalJudge):
        raise RecordError(
            f"the judge {stored.name!r} was recorded as {stored.digest[:12]}, and this version makes "
            f"another judge of its spec ({spec.digest[:12]}); add it anew and examine it"
        )
    return spec
