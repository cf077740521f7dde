"""What pydantic refused, as sentences for the person who wrote the input, each with its place."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rubrics.errors import DeclarationError
from rubrics.record import Misfit, shown

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input."""

    at: KeyPath
    """Keys and positions that lead to it from the top of the input."""
    sentence: str
    """What was given, what is allowed, what to do."""

    def __str__(self) -> str:
        return self.sentence


def problems(error: ValidationError, *, model: type[BaseModel], data: Any) -> tuple[Problem, ...]:
    """Every problem of the input `data` that was refused as a `model`, in the order of the model's fields.

    Each sentence names its place by the `key` of the record that it is in, where that has one.
    """
    return tuple(_problem(details, model, data) for details in error.errors(include_url=False))


def declaration_error(error: ValidationError, *, model: type[BaseModel], data: Any) -> DeclarationError:
    """A DeclarationError with one line for each problem."""
    return DeclarationError("\n".join(map(str, problems(error, model=model, data=data))))


def _problem(details: ErrorDetails, root: type[BaseModel], data: Any) -> Problem:
    at, owner = _without_tags(root, details["loc"])
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, Misfit):
        at = (*at, *cause.at)
    parent, name = (at[:-1], at[-1]) if at else ((), "")
    if details["type"] == "missing":
        return Problem(parent, f"{_place(parent, data)}{str(name)!r} is missing")
    if details["type"] == "extra_forbidden":
        return Problem(at, f"{_place(parent, data)}{_unknown_key(str(name), owner)}")
    return Problem(at, f"{_place(at, data)}{_complaint(details)}")


def _without_tags(root: type[BaseModel], loc: KeyPath) -> tuple[KeyPath, type[BaseModel] | None]:
    """The path without the tags that pydantic puts in for unions, and the model that holds its last key."""
    candidates: list[type[BaseModel]] = [root]
    owner: type[BaseModel] | None = None
    path: list[str | int] = []
    in_mapping = False
    for segment in loc:
        tagged = [model for model in candidates if len(candidates) > 1 and segment in _kinds(model)]
        if tagged:
            candidates = tagged
            continue
        if segment == "[key]":  # pydantic's mark that the key, not its value, is refused
            continue
        path.append(segment)
        if in_mapping:  # the key is the writer's own name for a value, not a field
            in_mapping = False
        elif isinstance(segment, str):
            owner = candidates[0] if len(candidates) == 1 else None
            field = owner.model_fields.get(segment) if owner else None
            candidates = list(_models_in(field.annotation)) if field else []
            in_mapping = field is not None and get_origin(field.annotation) is dict
    return tuple(path), owner


def _kinds(model: type[BaseModel]) -> tuple[Any, ...]:
    field = model.model_fields.get("kind")
    return get_args(field.annotation) if field else ()


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


def _unknown_key(name: str, owner: type[BaseModel] | None) -> str:
    allowed = [field.alias or key for key, field in owner.model_fields.items()] if owner else []
    near = difflib.get_close_matches(name, allowed, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{shown(name)} is not a known key; {hint}allowed: {', '.join(allowed)}"


_SINGULAR = {
    "criteria": "criterion",
    "evidence": "evidence field",
    "examples": "example",
    "failure_modes": "failure mode",
    "levels": "level",
    "severity": "severity level",
}


def _place(at: KeyPath, data: Any) -> str:
    """The path in words, with a colon: "criterion 'x', guidance.pass_when: "."""
    words: list[str] = []
    names: list[str] = []
    for segment in at:
        data = _inside(data, segment)
        if isinstance(segment, str):
            names.append(segment)
            continue
        plural = names.pop() if names else "entry"
        words += [".".join(names)] if names else []
        words.append(f"{_SINGULAR.get(plural, plural)} {_name_of(data, segment)}")
        names = []
    words += [".".join(names)] if names else []
    return f"{', '.join(words)}: " if words else ""


def _inside(data: Any, segment: str | int) -> Any:
    try:
        return data[segment]
    except (KeyError, IndexError, TypeError):
        return None


def _name_of(entry: Any, place: int) -> str:
    key = entry.get("key") if isinstance(entry, dict) else None
    return shown(key) if isinstance(key, str) else str(place + 1)


def _complaint(details: ErrorDetails) -> str:
    given, ctx = shown(details["input"]), details.get("ctx", {})
    match details["type"]:
        case "value_error":
            return str(ctx["error"])
        case "string_type" if details["input"] is None:
            return "has no value; write text after the colon"
        case "string_type":
            return f"must be text, not {given}; put it in quotes if it is meant as text"
        case "enum" | "literal_error":
            return f"{given} is not allowed; allowed: {ctx['expected']}"
        case "union_tag_invalid":
            return f"{shown(ctx['tag'])} is not allowed; allowed: {ctx['expected_tags']}"
        case "union_tag_not_found":
            return f"{ctx['discriminator']} is missing from {given}"
        case "less_than":
            return f"must be less than {ctx['lt']}, not {given}"
        case "greater_than_equal":
            return f"must be {ctx['ge']} or more, not {given}"
        case kind:
            return _type_complaint(kind, given) or f"{given} is refused: {details['msg']}"


def _type_complaint(kind: str, given: str) -> str:
    wanted = {
        "int_type": "a whole number",
        "bool_type": "true or false",
        "tuple_type": "a list",
        "model_type": "a mapping of keys to values",
        "model_attributes_type": "a mapping of keys to values",
        "dict_type": "a mapping of keys to values",
        "mapping_type": "a mapping of keys to values",
    }.get(kind)
    return f"must be {wanted}, not {given}" if wanted else ""
