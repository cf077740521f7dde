"""Text -> Rubric, with the line of whatever is wrong; the one file reader here.

`parse_declaration` reads any other frozen record from YAML in the same way.
"""

from __future__ import annotations

import codecs
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from rubrics.errors import DeclarationError, TableError
from rubrics.problems import KeyPath, Problem, problems
from rubrics.record import hidden_character, raw_bytes, shown
from rubrics.rubric import Rubric, parse_ref

MAX_BYTES = 65_536
"""Largest declaration: about thirty printed pages, far more than a rater would read."""
MAX_LISTED = 10
"""Problems listed in one message."""

Declared = TypeVar("Declared", bound=BaseModel)


def load_rubric(path: str | Path) -> Rubric:
    """The rubric that a file declares.

    Raises DeclarationError for a file that cannot be read, TableError (with line and field) for one
    that is no rubric.
    """
    return parse_rubric(read_declaration(path), source=str(path))


def read_declaration(path: str | Path) -> str:
    """The text of a file that declares something.

    Raises DeclarationError for a file that cannot be read or is too large, TableError for one that is
    not UTF-8.
    """
    return _decoded(_bytes_of(Path(path)), str(path))


def parse_rubric(text: str, *, source: str = "rubric") -> Rubric:
    """The rubric that a YAML text declares; `source` is what messages call the text.

    Raises TableError with the line and field of the first problem; the message has a line for each.
    """
    return parse_declaration(text, Rubric, source=source)


def parse_declaration(text: str, model: type[Declared], *, source: str) -> Declared:
    """The record of type `model` that a YAML text declares.

    Raises TableError with the line and field of the first problem; the message has a line for each.
    """
    from rubrics.yaml_reader import YamlRefused, read_yaml  # YAML is loaded where a file is read, not before

    what = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", model.__name__).lower()
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    _refuse_unreadable(text, source)
    try:
        data, lines = read_yaml(text)
    except YamlRefused as refused:
        raise _at_line(source, refused.line, refused.sentence) from refused
    if not isinstance(data, dict):
        raise _at_line(source, 1, _not_a_mapping(data, what, model))
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _file_error(problems(error, model=model, data=data), lines, source) from error


def catalog() -> tuple[str, ...]:
    """The names of the rubrics that ship, in alphabetical order."""
    folder = resources.files("rubrics").joinpath("catalog")
    files = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in files if name.endswith(".yaml")))


@cache
def load_catalog(name: str) -> Rubric:
    """The rubric that ships under a name, or under name@version.

    Raises DeclarationError where none of that name, or not that version of it, ships.
    """
    stem = parse_ref(name).name if "@" in name else name
    if stem not in catalog():
        raise DeclarationError(
            f"no rubric {shown(stem)} ships with voirdire; there are: {', '.join(catalog())}"
        )
    text = resources.files("rubrics").joinpath("catalog", f"{stem}.yaml").read_text("utf-8")
    rubric = parse_rubric(text, source=f"{stem}.yaml")
    if "@" in name and rubric.ref != name:
        raise DeclarationError(f"{name} does not ship with voirdire; the version that does is {rubric.ref}")
    return rubric


def open_rubric(name_or_path: str) -> Rubric:
    """The rubric that ships under a name or name@version, else the rubric in the file at that path.

    Raises DeclarationError for what is neither, TableError for a file that is no rubric.
    """
    if name_or_path.partition("@")[0] in catalog():
        return load_catalog(name_or_path)
    if not Path(name_or_path).exists():
        raise DeclarationError(
            f"{shown(name_or_path)} is neither a file nor a rubric that ships; these ship: "
            f"{', '.join(catalog())}; or give the path of a YAML file"
        )
    return load_rubric(name_or_path)


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DeclarationError(
            f"cannot read {shown(str(path))}: {error.strerror}; give a YAML file"
        ) from error
    except ValueError as error:  # a NUL in the path
        raise DeclarationError(f"{shown(str(path))} is not a path: {error}; give a YAML file") from error
    _refuse_large(len(data), str(path))
    return data


def _refuse_large(size: int, source: str) -> None:
    if size > MAX_BYTES:
        raise DeclarationError(
            f"{source} is larger than {MAX_BYTES:,} bytes, more than people can read; is this the right file?"
        )


def _decoded(data: bytes, source: str) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise _at_line(source, 1, "the file is UTF-16; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        wrong = data[error.start]
        raise _at_line(
            source, line, f"the byte 0x{wrong:02X} is not UTF-8; save the file as UTF-8"
        ) from error


def _refuse_unreadable(text: str, source: str) -> None:
    _refuse_large(len(raw_bytes(text)), source)
    found = hidden_character(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise _at_line(source, line, f"holds the invisible character U+{ord(found[0]):04X}; delete it")


def _not_a_mapping(data: Any, what: str, model: type[BaseModel]) -> str:
    needed = ", ".join(name for name, field in model.model_fields.items() if field.is_required())
    given = "the file is empty" if data is None else f"the file holds {shown(data)}"
    article = "an" if what[0] in "aeiou" else "a"
    return f"{given}; {article} {what} is a mapping with at least the keys {needed}"


def _at_line(source: str, line: int, sentence: str) -> TableError:
    return TableError(f"{source}:{line}: {sentence}", line=line)


def _file_error(found: tuple[Problem, ...], lines: dict[KeyPath, int], source: str) -> TableError:
    placed = sorted(((_line_of(problem.at, lines), problem) for problem in found), key=lambda pair: pair[0])
    messages = [f"{source}:{line}: {problem}" for line, problem in placed[:MAX_LISTED]]
    if len(placed) > MAX_LISTED:
        messages.append(f"and {len(placed) - MAX_LISTED} more problems")
    line, first = placed[0]
    return TableError("\n".join(messages), line=line, field=".".join(map(str, first.at)) or None)


def _line_of(at: KeyPath, lines: dict[KeyPath, int]) -> int:
    """The line of the path, or of the nearest thing around it."""
    return next((lines[at[:end]] for end in range(len(at), 0, -1) if at[:end] in lines), 1)
