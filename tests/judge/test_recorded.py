"""Recorded judges are read back as the very judges that they were."""

from __future__ import annotations

import pytest

from calibration.store.database import Store
from calibration.store.judges import add_judge
from judge.local_model import local_judge
from judge.recorded import recorded_judge
from judge.spec import BaselineJudge, ExternalJudge, JudgeSpec, Parameters
from rubrics.errors import RecordError
from tests.judge.cases import judge
from tests.judge.run_world import NOW, lay_down
from tests.judge.test_runs_plan import RULE

SPECS: list[JudgeSpec] = [
    judge(parameters=Parameters(temperature=1.0, seed=3), show=("policy",)),
    local_judge(),
    RULE,
    BaselineJudge(kind="baseline", name="word_overlap", seed=4),
    ExternalJudge(kind="external", name="other", version="2"),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.kind)
def test_a_judge_is_read_back_as_itself(store: Store, spec: JudgeSpec) -> None:
    """By name and by digest: equal, with the same digest."""
    lay_down(store, [], spec)
    with store.read() as session:
        for named in (str(spec.name), spec.digest):
            found = recorded_judge(session=session, judge=named)
            assert (found, found.digest) == (spec, spec.digest)


def record(store: Store, content: dict[str, object], *, digest: str, kind: str = "model") -> None:
    """A judge recorded by a program that we do not know."""
    with store.write() as session:
        add_judge(
            session=session,
            digest=digest,
            judge_name="strange",
            kind=kind,
            content=content,
            actor="x",
            at=NOW,
        )


def test_a_spec_that_means_another_judge_now_is_refused(sqlite_store: Store) -> None:
    """Its digest is not the recorded one: what was examined is not what would judge."""
    record(sqlite_store, judge().model_dump(mode="json"), digest="0" * 64)
    with sqlite_store.read() as session, pytest.raises(RecordError, match="makes another judge of its spec"):
        recorded_judge(session=session, judge="strange")


@pytest.mark.parametrize("kind", ["model", "panel"])
def test_a_spec_that_cannot_be_read_is_refused(sqlite_store: Store, kind: str) -> None:
    """Unknown fields, or a kind that this version cannot run."""
    record(sqlite_store, {"members": 3}, digest="1" * 64, kind=kind)
    with (
        sqlite_store.read() as session,
        pytest.raises(RecordError, match=f"the {kind} judge 'strange' cannot be run"),
    ):
        recorded_judge(session=session, judge="strange")
