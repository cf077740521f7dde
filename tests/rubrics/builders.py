"""Rubrics and items for tests: one valid of each kind, and strategies that make many."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from rubrics.item import Item
from rubrics.rubric import Criterion, Rubric

BINARY_GUIDANCE = {
    "pass_when": "the first line is a greeting.",
    "fail_when": "the first line is anything else.",
    "cannot_decide_when": "the output is cut off before its first full line.",
}
LEVELS = [
    {"level": 1, "anchor": "It insults the reader."},
    {"level": 2, "anchor": "It is neutral."},
    {"level": 3, "anchor": "It thanks the reader."},
]
ORDINAL: dict[str, Any] = {
    "scale": {"kind": "ordinal", "levels": LEVELS, "accept_at": 2},
    "guidance": {"cannot_decide_when": "the output is cut off."},
}
PREFERENCE: dict[str, Any] = {
    "scale": {"kind": "preference"},
    "guidance": {
        "prefer_when": "it names the fee.",
        "cannot_decide_when": "the outputs answer different requests.",
    },
}


def criterion_data(**changes: Any) -> dict[str, Any]:
    """A binary criterion as a file would declare it, with some keys replaced."""
    data = {
        "key": "greets",
        "title": "It greets the reader",
        "question": "Does the output open with a greeting?",
        "scale": "binary",
        "guidance": BINARY_GUIDANCE,
    }
    return data | changes


def criterion(**changes: Any) -> Criterion:
    """A binary criterion with some keys replaced."""
    return Criterion.model_validate(criterion_data(**changes))


def rubric_data(**changes: Any) -> dict[str, Any]:
    """A rubric of one binary criterion as a file would declare it, with some keys replaced."""
    data = {
        "name": "politeness",
        "version": 1,
        "title": "Polite answers",
        "purpose": "Decide whether an answer may be sent.",
        "evidence": [{"key": "policy", "source": "recorded", "title": "House style"}],
        "criteria": [criterion_data()],
    }
    return data | changes


def rubric(*criteria: dict[str, Any], **changes: Any) -> Rubric:
    """A rubric of the criteria (of one binary criterion by default) with some keys replaced."""
    chosen = {"criteria": list(criteria)} if criteria else {}
    return Rubric.model_validate(rubric_data(**chosen, **changes))


def item(**changes: Any) -> Item:
    """An item with one output, with some keys replaced."""
    return Item.model_validate({"item_id": "i1", "input": "May I?", "output": "You may."} | changes)


# -- strategies: every field of a rubric takes several values

WORDS = st.sampled_from(
    ["no", "yes", "30 days", "a: b", "# not a comment", "it's", "é ü", "1", "null", "two\nlines"]
)
LINES = WORDS.filter(lambda text: "\n" not in text)
KEYS = st.sampled_from(["a", "b", "Q0", "c_1", "d-2"])


def keyed(
    entries: st.SearchStrategy[dict[str, Any]], key: str = "key"
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Up to three entries with different keys."""
    return st.lists(entries, max_size=3, unique_by=lambda entry: entry[key])


@st.composite
def scales(draw: st.DrawFn, pairwise: bool) -> dict[str, Any]:
    """A scale of either mode."""
    if pairwise:
        candidate = draw(st.sampled_from(["A", "B", None]))
        ties = draw(st.booleans()) if candidate else False
        return {"kind": "preference", "candidate": candidate, "tie_accepts": ties}
    if draw(st.booleans()):
        return {"kind": "binary"}
    names = draw(
        st.lists(st.sampled_from(["bad", "no", "fair", "good"]), min_size=2, max_size=4, unique=True)
    )
    levels = [{"level": name, "anchor": draw(WORDS)} for name in names]
    return {"kind": "ordinal", "levels": levels, "accept_at": draw(st.sampled_from(names[1:]))}


GUIDED = {
    "binary": ["pass_when", "fail_when", "cannot_decide_when"],
    "ordinal": ["cannot_decide_when"],
    "preference": ["prefer_when", "cannot_decide_when"],
}
OPTIONAL = {"binary": [], "ordinal": ["pass_when", "fail_when"], "preference": ["tie_when"]}


@st.composite
def criteria(draw: st.DrawFn, pairwise: bool) -> dict[str, Any]:
    """A criterion of either mode; its evidence keys are among those of `rubrics`."""
    scale = draw(scales(pairwise))
    optional = [name for name in OPTIONAL[scale["kind"]] if draw(st.booleans())]
    severity = draw(keyed(st.fixed_dictionaries({"key": KEYS, "when": WORDS})))
    levels = st.sampled_from([None, *(level["key"] for level in severity)])
    modes = st.fixed_dictionaries({"key": KEYS, "when": WORDS, "severity": levels})
    answers = {"binary": ["pass", "fail"], "preference": ["A", "B", "tie"]}.get(scale["kind"]) or [
        level["level"] for level in scale["levels"]
    ]
    outputs = ["output_a", "output_b"] if pairwise else ["output"]
    case = st.fixed_dictionaries(
        dict.fromkeys(outputs, WORDS)
        | {"verdict": st.sampled_from([*answers, "unknown"]), "why": WORDS, "input": WORDS}
    )
    role = draw(st.sampled_from(["acceptance", "review_trigger", "diagnostic"]))
    return {
        "key": draw(KEYS),
        "title": draw(LINES),
        "question": draw(WORDS),
        "scale": scale,
        "role": role,
        "required": role == "acceptance" and draw(st.booleans()),
        "guidance": {name: draw(WORDS) for name in GUIDED[scale["kind"]] + optional},
        "severity": severity,
        "failure_modes": draw(keyed(modes)),
        "requires": draw(st.lists(st.sampled_from(["input", "policy"]), unique=True)),
        "examples": draw(
            st.lists(case, max_size=2, unique_by=lambda c: (c["input"], *(c[name] for name in outputs)))
        ),
        "dimension": draw(st.none() | KEYS),
        "imported": draw(st.booleans()),
    }


@st.composite
def rubric_contents(draw: st.DrawFn) -> dict[str, Any]:
    """Everything of a valid rubric but its name and version."""
    pairwise = draw(st.booleans())
    outputs = ["output_a", "output_b"] if pairwise else ["output"]
    field = {
        "source": st.sampled_from(["recorded", "candidate", "reference"]),
        "title": LINES,
        "description": WORDS,
    }
    evidence = [{"key": "policy"} | {name: draw(values) for name, values in field.items()}]
    for key in ("input", *outputs):
        if draw(st.booleans()):
            source = draw(st.sampled_from(["recorded", "candidate"])) if key == "input" else "candidate"
            evidence.append({"key": key, "source": source, "title": draw(LINES)})
    claims = st.lists(WORDS, max_size=2, unique=True)
    return {
        "title": draw(LINES),
        "purpose": draw(WORDS),
        "evidence": draw(st.permutations(evidence)),
        "criteria": draw(keyed(criteria(pairwise)).filter(bool)),
        "establishes": draw(claims),
        "does_not_establish": draw(claims),
    }


def rubrics() -> st.SearchStrategy[Rubric]:
    """Valid rubrics."""
    return rubric_contents().map(lambda data: Rubric.model_validate({"name": "r", "version": 1} | data))
