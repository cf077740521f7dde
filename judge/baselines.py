"""Trivial baselines, to be shown beside every judge: a judge that is no better than one has shown nothing.

`always_accept` and `always_reject` look at nothing. `length` and `word_overlap` are logistic regressions on
shallow features of the texts, cross-fitted: the items are dealt into folds by group, and each is judged by a
model that was fitted on the other folds, so never on its own label nor on one of its group. In a set where
the features say nothing, cross-fitting pushes kappa slightly below 0: the share of failures that a model has
seen is lower where its own fold holds more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from calibration.labels import ReferenceLabel
from rubrics.digest import digest
from rubrics.item import Item
from rubrics.record import Frozen
from rubrics.verdict import FAIL, PASS, Outcome, UnknownReason, Verdict, unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class BaselineName(StrEnum):
    """The baselines that there are."""

    ALWAYS_ACCEPT = "always_accept"
    ALWAYS_REJECT = "always_reject"
    LENGTH = "length"
    """Words and characters of the output."""
    WORD_OVERLAP = "word_overlap"
    """How many words the output shares with evidence and input; digits are words like any other."""


class BaselineSpec(Frozen):
    """A baseline judge; its digest is its identity. Only the fitted ones heed the fields after `name`."""

    name: BaselineName
    folds: Annotated[int, Field(ge=2, le=20)] = 5
    """Fewer where there are fewer groups."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Of the deal into folds; nothing else is random."""
    inverse_penalty: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """scikit-learn's C: L2 penalty of strength 1/C on the weights of the standardised features."""
    accept_from: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Least fitted probability of a reference pass at which the output is accepted."""

    @property
    def digest(self) -> str:
        """The digest of everything that can move a verdict, given the items and references."""
        return digest({"schema": "baseline/1", **self.model_dump(mode="json")})


@dataclass(frozen=True, slots=True)
class BaselineRun:
    """The outcome of every item by its id, and in words why some are unknown ("" where none is)."""

    outcomes: Mapping[str, Outcome]
    note: str = ""


def judge_all(
    spec: BaselineSpec, items: Iterable[Item], references: Mapping[str, ReferenceLabel]
) -> dict[str, Outcome]:
    """The outcome of every item by its id; run_baseline() also says why some are unknown."""
    return dict(run_baseline(spec, items, references).outcomes)


def run_baseline(
    spec: BaselineSpec, items: Iterable[Item], references: Mapping[str, ReferenceLabel]
) -> BaselineRun:
    """The outcomes of a baseline on a set, in any order of the items.

    The fitted baselines learn from the items with a pass or fail as reference and judge all of them. They
    abstain (cannot_tell) where there is nothing to learn from: one class or one group only; on a pair of
    outputs (not_applicable); and `word_overlap` on an item without evidence and input (evidence_missing).
    """
    ordered = sorted(items, key=lambda item: item.item_id)
    if spec.name in _CONSTANT:
        return BaselineRun(dict.fromkeys((item.item_id for item in ordered), _CONSTANT[spec.name]))
    known: dict[str, Outcome] = {}
    for item in ordered:
        if outcome := _unsuited(spec.name, item):
            known[item.item_id] = outcome
    suited = [item for item in ordered if item.item_id not in known]
    fitted = _cross_fitted(spec, suited, references)
    outcomes = known | dict(fitted.outcomes)
    return BaselineRun({item.item_id: outcomes[item.item_id] for item in ordered}, fitted.note)


_CONSTANT = {BaselineName.ALWAYS_ACCEPT: PASS, BaselineName.ALWAYS_REJECT: FAIL}
_CANNOT_TELL = unknown(UnknownReason.ABSTAINED, "cannot_tell")


def _unsuited(name: BaselineName, item: Item) -> Outcome | None:
    if item.output is None:
        return unknown(UnknownReason.ABSTAINED, "not_applicable")
    if name is BaselineName.WORD_OVERLAP and not (_evidence(item) + item.input).strip():
        return unknown(UnknownReason.ABSTAINED, "evidence_missing")
    return None


def _cross_fitted(
    spec: BaselineSpec, items: Sequence[Item], references: Mapping[str, ReferenceLabel]
) -> BaselineRun:
    """Each item judged by a model of the other folds; folds hold whole groups."""
    verdicts = [_reference(references, item.item_id) for item in items]
    abstained = dict.fromkeys((item.item_id for item in items), _CANNOT_TELL)
    if note := _nothing_to_learn(items, verdicts):
        return BaselineRun(abstained, note)
    outcomes: dict[str, Outcome] = {}
    skipped = 0
    for train, test in _folds(spec, items):
        resolved = [i for i in train if verdicts[i] is not Verdict.UNKNOWN]
        if len({verdicts[i] for i in resolved}) < 2:
            skipped += len(test)
            outcomes |= {items[i].item_id: _CANNOT_TELL for i in test}
            continue
        accepted = _fit_and_accept(
            spec, items, resolved, [verdicts[i] is Verdict.PASS for i in resolved], test
        )
        outcomes |= {
            items[i].item_id: PASS if accept else FAIL for i, accept in zip(test, accepted, strict=True)
        }
    note = f"{skipped} items have no model: the other folds hold one class only" if skipped else ""
    return BaselineRun(outcomes, note)


def _reference(references: Mapping[str, ReferenceLabel], item_id: str) -> Verdict:
    label = references.get(item_id)
    return label.verdict if label is not None and label.resolved else Verdict.UNKNOWN


def _nothing_to_learn(items: Sequence[Item], verdicts: Sequence[Verdict]) -> str:
    """Why no model can be fitted at all, or "" where one can."""
    classes = sorted({str(verdict) for verdict in verdicts} - {str(Verdict.UNKNOWN)})
    if not classes:
        return "no item has a pass or fail as reference, so there is nothing to learn from"
    if len(classes) == 1:
        return f"every reference is a {classes[0]}: with one class there is nothing to learn"
    if len({item.group for item in items}) < 2:
        return "all items are of one group, so none could be judged by a model that has not seen its group"
    return ""


def _folds(spec: BaselineSpec, items: Sequence[Item]) -> list[tuple[list[int], list[int]]]:
    from sklearn.model_selection import GroupKFold  # heavy: loaded where something is fitted

    groups = [item.group for item in items]
    deal = GroupKFold(min(spec.folds, len(set(groups))), shuffle=True, random_state=spec.seed)
    return [
        (list(map(int, train)), list(map(int, test))) for train, test in deal.split(groups, groups=groups)
    ]


def _fit_and_accept(
    spec: BaselineSpec, items: Sequence[Item], train: list[int], passes: list[bool], test: list[int]
) -> list[bool]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features = _FEATURES[spec.name]([items[i] for i in train], [items[i] for i in (*train, *test)])
    # l1_ratio 0 is a pure L2 penalty; lbfgs is deterministic
    regression = LogisticRegression(C=spec.inverse_penalty, l1_ratio=0.0, solver="lbfgs", max_iter=1000)
    model = make_pipeline(StandardScaler(), regression)
    model.fit(features[: len(train)], passes)
    passing = list(model.classes_).index(True)
    return [bool(p[passing] >= spec.accept_from) for p in model.predict_proba(features[len(train) :])]


def _length_features(_train: Sequence[Item], items: Sequence[Item]) -> NDArray[np.float64]:
    import numpy as np

    outputs = [item.output or "" for item in items]
    return np.array([[len(_words(output)), len(output)] for output in outputs], dtype=np.float64)


def _overlap_features(train: Sequence[Item], items: Sequence[Item]) -> NDArray[np.float64]:
    """TF-IDF cosines of output with evidence and input, and the share of each one's words in the other.

    The word weights are those of the training folds; their labels play no part here.
    """
    import numpy as np

    columns = [
        _cosines(train, [item.output or "" for item in items], [context(item) for item in items])
        for context in (_evidence, _input)
    ]
    shares = [
        [_share(item.output or "", _evidence(item)), _share(_evidence(item), item.output or "")]
        for item in items
    ]
    return np.column_stack((*columns, np.array(shares, dtype=np.float64)))


def _cosines(train: Sequence[Item], left: list[str], right: list[str]) -> NDArray[np.float64]:
    import numpy as np
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [text for item in train for text in (item.output or "", _evidence(item), item.input)]
    if not any(map(_words, texts)):
        return np.zeros(len(left))
    weights: Any = TfidfVectorizer(analyzer=_words).fit(texts)
    product = weights.transform(left).multiply(weights.transform(right))
    return np.asarray(product.sum(axis=1), dtype=np.float64).ravel()


_FEATURES = {BaselineName.LENGTH: _length_features, BaselineName.WORD_OVERLAP: _overlap_features}


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _share(of: str, found_in: str) -> float:
    """The share of the distinct words of one text that the other holds; 0 for a text without words."""
    words = set(_words(of))
    return len(words & set(_words(found_in))) / len(words) if words else 0.0


def _evidence(item: Item) -> str:
    return "\n".join(item.evidence[key] for key in sorted(item.evidence))


def _input(item: Item) -> str:
    return item.input
