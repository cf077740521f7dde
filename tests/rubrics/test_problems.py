"""What pydantic refused, in sentences."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, StrictInt, ValidationError

from rubrics.errors import DeclarationError
from rubrics.problems import Problem, declaration_error, problems
from rubrics.record import Frozen


class Small(Frozen):
    """One of two kinds."""

    kind: Literal["small"]
    size: StrictInt = Field(default=1, le=3)


class Large(Frozen):
    """The other kind."""

    kind: Literal["large"]
    name: str = ""


class Box(Frozen):
    """A record with nested records of every sort."""

    key: str
    parts: tuple[Annotated[Small | Large, Field(discriminator="kind")], ...] = ()
    texts: dict[str, str] = Field(default_factory=dict)
    inner: Small | None = None


class Open(BaseModel):
    """A record whose validator knows nothing of ours."""

    size: float


def found(model: type[BaseModel], data: Any) -> tuple[Problem, ...]:
    """The problems of the data."""
    with pytest.raises(ValidationError) as caught:
        model.model_validate(data)
    return problems(caught.value, model=model, data=data)


@pytest.mark.parametrize(
    ("data", "at", "said"),
    [
        ({}, (), "'key' is missing"),
        (
            {"key": "b", "kye": 1},
            ("kye",),
            "'kye' is not a known key; did you mean 'key'? allowed: key, parts, texts, inner",
        ),
        ({"key": "b", "zzz": 1}, ("zzz",), "'zzz' is not a known key; allowed: key, parts, texts, inner"),
        (
            {"key": "b", "parts": [{"kind": "small"}, {"kind": "large", "nme": 1}]},
            ("parts", 1, "nme"),
            "parts 2: 'nme' is not a known key; did you mean 'name'? allowed: kind, name",
        ),
        (
            {"key": "b", "parts": [{"kind": "small", "size": "3"}]},
            ("parts", 0, "size"),
            "parts 1, size: must be a whole number, not '3'",
        ),
        (
            {"key": "b", "parts": [{"kind": "small", "size": 4}]},
            ("parts", 0, "size"),
            "parts 1, size: 4 is refused: Input should be less than or equal to 3",
        ),
        ({"key": "b", "parts": [3]}, ("parts", 0), "parts 1: must be a mapping of keys to values, not 3"),
        (
            {"key": "b", "parts": [{"kind": "tiny"}]},
            ("parts", 0),
            "parts 1: 'tiny' is not allowed; allowed: 'small', 'large'",
        ),
        (
            {"key": "b", "inner": {"kind": "tiny"}},
            ("inner", "kind"),
            "inner.kind: 'tiny' is not allowed; allowed: 'small'",
        ),
        (
            {"key": "b", "inner": {"kind": "small", "sise": 1}},
            ("inner", "sise"),
            "inner: 'sise' is not a known key; did you mean 'size'? allowed: kind, size",
        ),
        ({"key": "b", "inner": 3}, ("inner",), "inner: must be a mapping of keys to values, not 3"),
        (
            {"key": "b", "texts": {"a": None}},
            ("texts", "a"),
            "texts.a: has no value; write text after the colon",
        ),
        (3, (), "must be a mapping of keys to values, not 3"),
    ],
)
def test_problem_has_place_and_sentence(data: Any, at: tuple[str | int, ...], said: str) -> None:
    """The tags that pydantic puts into paths are left out, and the place is said in words."""
    assert found(Box, data) == (Problem(at, said),)


def test_entry_is_called_by_its_key() -> None:
    """A list entry with a key of its own is named by it, one without by its number."""

    class Shelf(Frozen):
        criteria: tuple[Box, ...]

    data = {"criteria": [{"key": "a", "x": 1}, {"x": 1, "key": 3}, {"x": 1}]}
    sentences = [str(problem) for problem in found(Shelf, data)]
    assert [sentence.split(":")[0] for sentence in sentences] == [
        "criterion 'a'",
        "criterion 2, key",
        "criterion 2",
        "criterion 3",
        "criterion 3",
    ]


def test_unforeseen_refusal_is_said_in_pydantic_s_words() -> None:
    """Nothing is swallowed for want of a sentence."""
    (problem,) = found(Open, {"size": "wide"})
    assert str(problem).startswith("size: 'wide' is refused: Input should be a valid number")


def test_top_level_list_is_named() -> None:
    """An entry of a list that has no name is an entry."""

    class Shelf(Frozen):
        rows: tuple[tuple[StrictInt, ...], ...]

    assert (
        str(found(Shelf, {"rows": [[1], [2, "x"]]})[0]) == "rows 2, entry 2: must be a whole number, not 'x'"
    )


def test_problems_become_one_error() -> None:
    """One line for each."""
    with pytest.raises(ValidationError) as caught:
        Box.model_validate({"kye": 1})
    error = declaration_error(caught.value, model=Box, data={"kye": 1})
    assert isinstance(error, DeclarationError)
    assert str(error).splitlines()[0] == "'key' is missing"
    assert len(str(error).splitlines()) == 2
