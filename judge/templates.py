"""Prompt templates: the text around an item's texts, part of the judge's identity."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    StrictInt,
    model_serializer,
    model_validator,
)

from rubrics.errors import DeclarationError
from rubrics.record import Frozen, Misfit, Name, Text, shown

_REF = re.compile(r"([a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?)@([1-9][0-9]{0,3})")
_PART = re.compile(r"^=== (system|user) ===\n", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{ ?([a-z_]+) ?\}\}")
_Parts = Mapping[str, frozenset[str]]
"""Placeholders by part of a template."""
SCALES = ("binary", "ordinal", "preference")


class Template(Frozen):
    """The two messages for one scale, with placeholders in double braces."""

    allowed: ClassVar[_Parts] = {
        "system": frozenset({"title", "question", "options", "examples", "answer"}),
        "user": frozenset({"title", "question", "material", "answer_now"}),
    }
    needed: ClassVar[_Parts] = {
        "system": frozenset({"question", "options", "answer"}),
        "user": frozenset({"material", "answer_now"}),
    }

    system: Text
    user: Text

    @model_validator(mode="after")
    def _placeholders(self) -> Self:
        for misfit in _misfits(self):
            raise misfit
        return self


class SeveralTemplate(Template):
    """The two messages that ask about several criteria at once."""

    allowed: ClassVar[_Parts] = {
        "system": frozenset({"criteria", "answer"}),
        "user": frozenset({"material", "answer_now", "questions"}),
    }
    needed: ClassVar[_Parts] = {
        "system": frozenset({"criteria", "answer"}),
        "user": frozenset({"material", "answer_now"}),
    }


class PromptSet(Frozen):
    """The templates of a judge by scale; a criterion on a scale without one cannot be asked."""

    name: Name
    version: StrictInt = Field(ge=1)
    binary: Template | None = None
    ordinal: Template | None = None
    preference: Template | None = None
    several: SeveralTemplate | None = None
    """For judges that ask about several criteria in one call."""

    @model_serializer(mode="wrap")
    def _written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As recorded: a set without `several` is written as before there was such a template."""
        written: dict[str, Any] = handler(self)
        if self.several is None:
            written.pop("several", None)
        return written

    @property
    def ref(self) -> str:
        """name@version, as people write it."""
        return f"{self.name}@{self.version}"

    def for_scale(self, kind: str) -> Template:
        """The template for a scale's kind.

        Raises DeclarationError where the set has none.
        """
        template = {"binary": self.binary, "ordinal": self.ordinal, "preference": self.preference}[kind]
        if template is None:
            has = ", ".join(scale for scale in SCALES if getattr(self, scale) is not None) or "none"
            raise DeclarationError(
                f"the prompt {self.ref} has no template for {kind} criteria; it has: {has}; add one or take "
                "another prompt"
            )
        return template

    def for_several(self) -> SeveralTemplate:
        """The template for several criteria in one call; DeclarationError where the set has none."""
        if self.several is None:
            raise DeclarationError(
                f"the prompt {self.ref} has no template for several criteria; add `several` or take several@1"
            )
        return self.several


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with every placeholder replaced once; what is filled in is not searched again."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def pieces(text: str, values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The text cut at the placeholders that have no value yet: what stands before each, and its name.

    The last piece has no name. The others are filled as `filled` does it, so that nothing that was filled in
    is ever taken for a placeholder.
    """
    found: list[tuple[str, str]] = []
    before = ""
    words = _PLACEHOLDER.split(text)
    for literal, name in zip(words[::2], [*words[1::2], ""], strict=True):
        before += literal
        if name in values:
            before += values[name]
        else:
            found.append((before, name))
            before = ""
    return tuple(found)


def _misfits(template: Template) -> Iterator[Misfit]:
    for part, allowed in template.allowed.items():
        found = set(_PLACEHOLDER.findall(getattr(template, part)))
        if unknown := sorted(found - allowed):
            words = ", ".join(sorted(allowed))
            yield Misfit(f"has no placeholder {shown(unknown[0])}; allowed: {words}", part)
        if missing := sorted(template.needed[part] - found):
            yield Misfit(f"lacks the placeholder {{{{{missing[0]}}}}}; put it where that text belongs", part)


def shipped() -> tuple[str, ...]:
    """The prompt sets that ship, as name@version, in alphabetical order."""
    folders = (entry.name for entry in _folder().iterdir() if entry.is_dir())
    pairs = (name.rpartition("_") for name in folders if not name.startswith(("_", ".")))
    return tuple(sorted(f"{name}@{version}" for name, _, version in pairs))


@cache
def load_prompt(ref: str) -> PromptSet:
    """The prompt set that ships under name@version.

    Raises DeclarationError where there is none, naming those that there are.
    """
    found = _REF.fullmatch(ref)
    if not found or ref not in shipped():
        raise DeclarationError(
            f"no prompt {shown(ref)} ships with voirdire; there are: {', '.join(shipped())}"
        )
    folder = _folder().joinpath(f"{found[1]}_{found[2]}")
    files = {scale: folder.joinpath(f"{scale}.md") for scale in SCALES}
    templates: dict[str, Any] = {
        scale: parse_template(file.read_text("utf-8")) for scale, file in files.items() if file.is_file()
    }
    several = folder.joinpath("several.md")
    if several.is_file():
        templates["several"] = parse_template(several.read_text("utf-8"), SeveralTemplate)
    return PromptSet(name=found[1], version=int(found[2]), **templates)


def parse_template(text: str, kind: type[Template] = Template) -> Template:
    """The template of a file's text, its parts begun by `=== system ===` and `=== user ===`.

    `kind` says whether it asks about one criterion or several.

    Raises DeclarationError where it has other parts than these two.
    """
    before, *rest = _PART.split(text)
    parts = dict(zip(rest[::2], rest[1::2], strict=True))
    if before.strip() or list(rest[::2]) != ["system", "user"]:
        raise DeclarationError(
            "a template has two parts, begun by the lines '=== system ===' and '=== user ===', nothing before"
        )
    return kind(system=parts["system"], user=parts["user"])


def _folder() -> Any:
    return resources.files("judge").joinpath("prompts")


def _by_ref(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return load_prompt(value)
    except DeclarationError as error:
        raise ValueError(str(error)) from error


Prompts = Annotated[PromptSet, BeforeValidator(_by_ref)]
"""A prompt set: by name@version where it ships, else written out; the text enters the digest either way."""
