"""A model's reply read into an answer, or into an unknown with its reason; never into a guess.

A verdict is read only from a JSON object of the agreed form: the whole reply (`structured`), or the last
complete one after the reply mark that the prompt asked for (`marked`). Words like "Final verdict: PASS" are
never read as a verdict, because the item could have supplied them; where they contradict the object they make
it invalid. A reply that the provider cut off, filtered or refused is never a pass or a fail.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from rubrics.answer import Answer, no_answer
from rubrics.record import normalise_text

READING_VERSION = 1
"""Raised whenever the same reply would be read differently: part of every model judge's digest."""
MAX_REPLY = 100_000
"""Characters of a reply that are read; no verdict with its reason is longer."""
MAX_OBJECTS = 200
"""Opening braces that are tried in one reply, so that a hostile reply costs no time."""
VERDICT = "verdict"
REASON = "reason"

_SPACE = " \t\r\n"
_CODE_FENCE = re.compile(r"\A```[a-zA-Z0-9]*[ \t]*\r?\n(?P<inside>.*?)\r?\n?```\Z", re.DOTALL)
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_VERDICT_KEY = re.compile(r'"verdict"\s*:')
# What a model writes that declines in words instead of in the agreed form; read only where no object is.
_REFUSAL = re.compile(
    r"\A\W*(?:i['’]?m (?:very |so )?sorry|i am sorry|sorry|i apologi[sz]e|as an ai"
    r"|i (?:can(?:['’]t|not|\snot)|won['’]t|am (?:not able|unable)))\b"
    r".{0,200}?\b(?:can(?:['’]t|not|\snot)|unable|not able|won['’]t|decline|assist|help|comply|judge)\b",
    re.IGNORECASE | re.DOTALL,
)


class Reading(StrEnum):
    """Where in a reply the verdict stands; part of the judge's digest."""

    STRUCTURED = "structured"
    """The whole reply is one object; asked for with a JSON schema."""
    MARKED = "marked"
    """The last complete object after a line that carries the call's reply mark."""
    DECISION = "decision"
    """A typed decision endpoint: the model picks one of the verdicts and writes nothing."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What the reply to one call must look like."""

    reading: Reading
    options: tuple[tuple[str, Answer], ...]
    """Each word that may stand as the verdict, in the order shown, and the answer that it means."""
    with_reason: bool
    """Whether the object has a reason beside the verdict."""
    mark: str | None = None
    """The call's reply mark, where the reading is `marked`."""

    def __post_init__(self) -> None:
        _require_mark(self.reading, self.mark)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the object: these and no others."""
        return frozenset({VERDICT, REASON} if self.with_reason else {VERDICT})


@dataclass(frozen=True, slots=True)
class SeveralForm:
    """What the reply to a call about several criteria must look like: an object with one object for each."""

    reading: Reading
    forms: tuple[tuple[str, AnswerForm], ...]
    """By criterion, in the order asked, what its own object must look like, its reading `structured`."""
    mark: str | None = None
    """The call's reply mark, where the reading is `marked`."""

    def __post_init__(self) -> None:
        _require_mark(self.reading, self.mark)


Form: TypeAlias = AnswerForm | SeveralForm


def _require_mark(reading: Reading, mark: str | None) -> None:
    if (mark is None) == (reading is Reading.MARKED):
        raise ValueError(f"reading {reading!s} with mark {mark!r}: exactly `marked` has a mark")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reply says: the answer and the reason that the judge gave for it ("" where none)."""

    answer: Answer
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class _Object:
    """One decoded object with its place in the text; a duplicate key keeps both its values."""

    pairs: tuple[tuple[str, Any], ...]
    start: int
    end: int


_UNPARSED = Parsed(no_answer("invalid", "unparsed"))
_CONTRADICTORY = Parsed(no_answer("invalid", "contradictory"))
_OUT_OF_RANGE = no_answer("invalid", "out_of_range")
_REFUSED = no_answer("abstained", "refusal")


def parse(text: str | None, form: AnswerForm, *, finish: str | None, refusal: str | None = None) -> Parsed:
    """The answer in a reply, or unknown with the reason why it cannot be read.

    `finish` is the provider's finish reason and `refusal` its refusal text, where it has one. Never raises.
    """
    if (cut_off := _without_answer(text, finish=finish, refusal=refusal)) is not None:
        return cut_off
    said = str(text)
    parsed = _whole(said, form) if form.reading is Reading.STRUCTURED else _after_mark(said, form)
    return _refusal_in_words(said) if parsed is _UNPARSED else parsed


def parse_several(
    text: str | None, form: SeveralForm, *, finish: str | None, refusal: str | None = None
) -> dict[str, Parsed]:
    """The answer to each criterion in a reply, or unknown with the reason why it cannot be read.

    A reply that was cut off, filtered or refused, or that is no object with the criteria as its keys, settles
    every criterion; what is missing, off the scale or contradictory under one criterion settles that one.
    `finish` and `refusal` as for `parse`. Never raises.
    """
    read = _without_answer(text, finish=finish, refusal=refusal)
    if read is None:
        said = str(text)
        marked = form.reading is Reading.MARKED
        by_criterion = _several_after_mark(said, form) if marked else _several_whole(said, form)
        if by_criterion is not None:
            return {key: by_criterion.get(key, _UNPARSED) for key, _ in form.forms}
        read = _refusal_in_words(said)
    return dict.fromkeys((key for key, _ in form.forms), read)


def _without_answer(text: str | None, *, finish: str | None, refusal: str | None) -> Parsed | None:
    """What a reply comes to that holds no answer to be read; None where it may hold one."""
    if refusal:
        return Parsed(_REFUSED, normalise_text(refusal))
    if finish == "content_filter":
        return Parsed(no_answer("invalid", "content_filter"))
    if finish == "length":
        return Parsed(no_answer("invalid", "truncated"))
    return _UNPARSED if finish != "stop" or not text or len(text) > MAX_REPLY else None


def _refusal_in_words(text: str) -> Parsed:
    declines = "{" not in text and _REFUSAL.match(text)
    return Parsed(_REFUSED, normalise_text(text)) if declines else _UNPARSED


def _whole(text: str, form: AnswerForm) -> Parsed:
    found, body = _only_object(text)
    return _UNPARSED if found is None else _read(found, body, form)


def _several_whole(text: str, form: SeveralForm) -> dict[str, Parsed] | None:
    found, body = _only_object(text)
    return None if found is None else _read_several(found, body, form)


def _only_object(text: str) -> tuple[_Object | None, str]:
    """The object that the whole reply is, alone or in one Markdown fence, and the text in which it stands."""
    stripped = text.strip(_SPACE)
    fenced = _CODE_FENCE.match(stripped)
    body = fenced["inside"].strip(_SPACE) if fenced else stripped
    found = _decode(body, 0)
    return (None if found is None or found.end != len(body) else found), body


def _after_mark(text: str, form: AnswerForm) -> Parsed:
    """The last complete verdict object after the mark; contradictory where objects or words there differ."""
    objects, region = _verdict_objects(text, form.mark)
    if not objects:
        return _UNPARSED
    last = _read(objects[-1], region, form)
    if any(_read(o, region, form).answer != last.answer for o in objects[:-1]):
        return _CONTRADICTORY
    return _CONTRADICTORY if _says_otherwise(region[objects[-1].end :], last.answer, form) else last


def _several_after_mark(text: str, form: SeveralForm) -> dict[str, Parsed] | None:
    """The last complete object after the mark; contradictory where objects or words there differ."""
    objects, region = _verdict_objects(text, form.mark)
    if not objects or (last := _read_several(objects[-1], region, form)) is None:
        return None
    earlier = [_read_several(each, region, form) or {} for each in objects[:-1]]
    rest = region[objects[-1].end :]
    for key, own in form.forms:
        answer = last.get(key, _UNPARSED).answer
        differs = any(each.get(key, _UNPARSED).answer != answer for each in earlier)
        if differs or _says_otherwise(rest, answer, own):
            last[key] = _CONTRADICTORY
    return last


def _verdict_objects(text: str, mark: str | None) -> tuple[list[_Object], str]:
    """The complete objects after the mark that hold a verdict, and the text in which they stand."""
    _, _, region = _THOUGHT.sub("", text).partition(str(mark))
    return [o for o in _objects(region) if _VERDICT_KEY.search(region, o.start, o.end)], region


def _says_otherwise(rest: str, answer: Answer, form: AnswerForm) -> bool:
    """True where the text after the last object opens another one or names another option as the verdict."""
    if _VERDICT_KEY.search(rest):
        return True
    for word, meaning in form.options:
        named = re.search(rf"\bverdict\b\W{{1,12}}{re.escape(word)}\b", rest, re.IGNORECASE)
        if named and meaning != answer:
            return True
    return False


def _objects(text: str) -> Iterator[_Object]:
    """The complete top-level objects of the text, from left to right."""
    at, tried = text.find("{"), 0
    while at != -1 and tried < MAX_OBJECTS:
        tried += 1
        found = _decode(text, at)
        if found is not None:
            yield found
        at = text.find("{", at + 1 if found is None else found.end)


class _Pairs(tuple[tuple[str, Any], ...]):
    """An object as its pairs: a dictionary would silently keep the last of two equal keys."""

    __slots__ = ()


_DECODER = json.JSONDecoder(object_pairs_hook=_Pairs)


def _decode(text: str, at: int) -> _Object | None:
    """The object that starts at the place, or None where none does or it is not well-formed."""
    if text[at : at + 1] != "{":
        return None
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):  # also more digits than an int may have, and nesting without end
        return None
    return _Object(tuple(value), at, end)


def _read(found: _Object, text: str, form: AnswerForm) -> Parsed:
    """The answer of one object: its keys must be exactly the agreed ones, spelled without escapes."""
    verdicts = _verdicts(found.pairs)
    if len(verdicts) < 2 and not _VERDICT_KEY.search(text, found.start, found.end):
        return _UNPARSED
    return _read_pairs(found.pairs, form)


def _read_several(found: _Object, text: str, form: SeveralForm) -> dict[str, Parsed] | None:
    """The answers of one object by criterion, those missing left out.

    None where its keys are others than the criteria asked, or the key of a verdict is spelled with escapes.
    """
    forms, values = dict(form.forms), [value for _, value in found.pairs]
    if not {key for key, _ in found.pairs} <= set(forms):
        return None
    decoded = sum(len(_verdicts(value)) for value in values if isinstance(value, _Pairs))
    if len(_VERDICT_KEY.findall(text, found.start, found.end)) < decoded:
        return None
    read: dict[str, Parsed] = {}
    for key, value in found.pairs:
        parsed = _read_pairs(value, forms[key]) if isinstance(value, _Pairs) else _UNPARSED
        if key in read:
            parsed = _UNPARSED if parsed.answer == read[key].answer else _CONTRADICTORY
        read[key] = parsed
    return read


def _verdicts(pairs: tuple[tuple[str, Any], ...]) -> list[Any]:
    return [value for key, value in pairs if key == VERDICT]


def _read_pairs(pairs: tuple[tuple[str, Any], ...], form: AnswerForm) -> Parsed:
    """The answer of one object by its pairs: exactly the agreed keys, each once."""
    verdicts, keys = _verdicts(pairs), [key for key, _ in pairs]
    if len(verdicts) > 1:
        return _UNPARSED if all(value == verdicts[0] for value in verdicts) else _CONTRADICTORY
    if len(keys) != len(set(keys)) or set(keys) != form.keys:
        return _UNPARSED
    reason = dict(pairs).get(REASON, "")
    if not isinstance(reason, str):
        return _UNPARSED
    answer = _option(verdicts[0], form)
    if answer is _OUT_OF_RANGE:
        return Parsed(answer, _why_none(verdicts[0], form))
    return _UNPARSED if answer is None else Parsed(answer, normalise_text(reason))


_OUT_OF = re.compile(r"\s*[\d.,]+\s*(?:/|out of)\s*[\d.,]+\s*", re.IGNORECASE)
_FIGURE = re.compile(r"\s*[-+]?\d+(?:[.,]\d+)?\s*")
_NUMBER_WORDS = frozenset(
    ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "half")
)


def _why_none(value: Any, form: AnswerForm) -> str:
    """What a verdict that is none of the options looks like, for whoever looks into a run."""
    said = str(value)[:40]
    words = set(re.findall(r"[a-z]+", said.lower()))
    if _OUT_OF.fullmatch(said):
        kind = "a score out of some number"
    elif isinstance(value, float) or (("." in said or "," in said) and _FIGURE.fullmatch(said)):
        kind = "a number between two levels"
    elif _FIGURE.fullmatch(said):
        kind = "a number off the scale"
    elif words and words <= _NUMBER_WORDS | {"and", "a"}:
        kind = "a number in words"
    else:
        kind = "another word"
    allowed = ", ".join(option for option, _ in form.options)
    return normalise_text(f"the verdict {said!r} is {kind}; allowed: {allowed}")


def _option(value: Any, form: AnswerForm) -> Answer | None:
    """The answer that the value names; out of range for another word or number; None for another type."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, float):
        return _OUT_OF_RANGE
    word = value if isinstance(value, str) else str(value) if abs(value) < 10**9 else ""
    for option, answer in form.options:
        if word == option or _folded(word) == _folded(option):
            return answer
    return _OUT_OF_RANGE


def _folded(word: str) -> str:
    """The word in lower case where it is ASCII; a look-alike letter never folds onto an option."""
    return word.lower() if word.isascii() else word
