"""The model judge of the demo, where its weights and runtime are there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calibration.store.database import Store
from judge.demo.records import Sample
from judge.spec import ModelJudge


@dataclass(frozen=True, slots=True)
class ModelStep:
    """The model judge that the demo examines under the criterion of judgment, or why there is none."""

    judges: tuple[ModelJudge, ...]
    """One, or none."""
    absent: str
    """Why there is none and the one command that changes it; empty where there is one."""
    asking: Callable[[Store, Sample], None] | None = None

    def ask(self, store: Store, sample: Sample) -> None:
        """Have it judge every item of the set in both orders; verdicts that are there are not asked again."""
        if self.asking is not None:
            self.asking(store, sample)


def no_model(reason: str) -> ModelStep:
    """The step without a model."""
    return ModelStep((), reason)


def find_model(*, wanted: bool) -> ModelStep:
    """The embedded model, if it is wanted and installed."""
    return no_model("" if wanted else "No model judge was examined, as asked.")
