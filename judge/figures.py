"""Figures in an English text: numbers with their units, dates, and what of a number cannot be read.

Read are digits (`1,000.50`, `4,95`), number words (`thirty`, `a hundred and fifty`), `a` or `an` before a
unit of time as 1, both ends of a range (`10-14 days`, `two or three weeks`), `day 9` and `9th day` as days,
and `three euros fifty` as 3.50. A comma or point before the last one or two digits is a decimal sign,
elsewhere it separates thousands. Fractions in words (`half a day`, `a quarter of`) and digits without a unit
known here are found and named, not read; number words without a unit are taken for ordinary words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class Unit(StrEnum):
    """What a figure counts. Nothing is converted unless a rule's spec says so."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    BUSINESS_DAY = "business_day"
    WEEK = "week"
    BUSINESS_WEEK = "business_week"
    FORTNIGHT = "fortnight"
    MONTH = "month"
    YEAR = "year"
    PERCENT = "percent"
    CENT = "cent"
    EUR = "EUR"
    USD = "USD"
    GBP = "GBP"


READING_VERSION = 1
"""Raised whenever a text would be read differently: part of every rule judge's digest."""

CURRENCIES = frozenset({Unit.EUR, Unit.USD, Unit.GBP})


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit, as it stands in a text."""

    value: Decimal
    unit: Unit
    text: str
    """The words it was read from."""
    at: int
    """Where they begin in plain_text()."""
    past: bool = False
    """True where "ago" follows: it tells what happened, not what holds."""


@dataclass(frozen=True, slots=True)
class Date:
    """A day of a month; `year` is 0 where the text gives none."""

    day: int
    month: int
    year: int
    text: str
    at: int

    def agrees(self, other: Date) -> bool:
        """True for the same day and month, and the same year where both give one."""
        years = {self.year, other.year} - {0}
        return (self.day, self.month) == (other.day, other.month) and len(years) < 2


@dataclass(frozen=True, slots=True)
class Fraction:
    """A fraction in words or signs, found and not read."""

    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Bare:
    """Digits without a unit known here."""

    value: Decimal
    text: str
    at: int


Found = Figure | Date | Fraction | Bare


def plain_text(text: str) -> str:
    """The text as it is seen: compatibility forms (NFKC), nothing invisible, one kind of dash and quote.

    A number that invisible characters split reads as the number that is seen.
    """
    if text.isascii():  # has none of what is changed here
        return text
    folded = unicodedata.normalize("NFKC", text)
    seen = "".join(c for c in folded if unicodedata.category(c) not in {"Cf", "Mn"})
    return seen.translate(_SAME_SIGN)


def find_figures(text: str) -> tuple[Found, ...]:
    """Everything of a text that is or looks like a figure, in the order of the text."""
    plain = plain_text(text)
    tokens = [_Token(m[0].lower(), m.start(), m.end()) for m in _TOKEN.finditer(plain)]
    found: list[Found] = []
    at = 0
    while at < len(tokens):
        things, after = _thing(tokens, at, plain)
        found.extend(things)
        at = max(after, at + 1)
    return tuple(found)


def convert(figure: Figure, conversions: Mapping[Unit, tuple[int, Unit]]) -> tuple[Decimal, Unit]:
    """The figure's value and unit after at most one conversion, such as weeks to 7 days each."""
    times, unit = conversions.get(figure.unit, (1, figure.unit))
    return figure.value * times, unit


# -- The reading: tokens, then one thing at a place; every step moves forward, so time is linear in the text.


@dataclass(frozen=True, slots=True)
class _Token:
    word: str
    start: int
    end: int


_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*|\S")
_SAME_SIGN = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-") | dict.fromkeys("‘’ʼ", "'"))
# fmt: off
_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)
# fmt: on
_VALUES = {word: i for i, word in enumerate(_SMALL)} | {word: 10 * i for i, word in enumerate(_TENS, 2)}
_MONTH_OF = {word[:cut]: i for i, word in enumerate(_MONTHS, 1) for cut in (3, None)}
_GROUPS = {"couple": 2, "dozen": 12}
_LONGEST = 16
"""Tokens of one number in words; a hostile text cannot make it longer."""
_SCALES = {"hundred": 100, "thousand": 1000}
_TIMES = {
    **dict.fromkeys(("minute", "minutes", "min", "mins"), Unit.MINUTE),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), Unit.HOUR),
    **dict.fromkeys(("day", "days", "d"), Unit.DAY),
    **dict.fromkeys(("week", "weeks"), Unit.WEEK),
    **dict.fromkeys(("fortnight", "fortnights"), Unit.FORTNIGHT),
    **dict.fromkeys(("month", "months"), Unit.MONTH),
    **dict.fromkeys(("year", "years", "yr", "yrs"), Unit.YEAR),
}
_AMOUNTS = {
    **dict.fromkeys(("€", "eur", "euro", "euros"), Unit.EUR),
    **dict.fromkeys(("$", "usd", "dollar", "dollars"), Unit.USD),
    **dict.fromkeys(("£", "gbp", "pound", "pounds"), Unit.GBP),
    **dict.fromkeys(("%", "percent", "pct"), Unit.PERCENT),
    **dict.fromkeys(("cent", "cents"), Unit.CENT),
}
_BUSINESS = {Unit.DAY: Unit.BUSINESS_DAY, Unit.WEEK: Unit.BUSINESS_WEEK}
_BUSINESS_WORDS = frozenset({"business", "working", "work", "bank"})
_ADJECTIVES = frozenset({"full", "whole", "complete", "consecutive", "calendar", "more", "further", "extra"})
_PARTS = frozenset({"half", "third", "thirds", "quarter", "quarters", "fifth", "fifths", "tenth", "tenths"})
_ORDINAL = frozenset({"st", "nd", "rd", "th"})
_FIRST = frozenset({"a", "an", "day", *_PARTS, *_MONTH_OF, *_AMOUNTS, *_GROUPS, *_SCALES, *_VALUES})
"""The words that a figure may begin with; it may begin with digits too, and with anything before a "⁄"."""


def _thing(tokens: Sequence[_Token], at: int, plain: str) -> tuple[list[Found], int]:
    """What begins at a token, and the place after it; nothing where nothing begins."""
    word = _word(tokens, at)
    if not (word[0].isdecimal() or word in _FIRST or _word(tokens, at + 1) == "⁄"):
        return [], at + 1  # most words of a text
    for read in (_fraction, _date, _counted_day, _amount, _measured):
        things, after = read(tokens, at, plain)
        if things:
            return things, after
    return ([Bare(_decimal(word), word, tokens[at].start)] if word[0].isdecimal() else []), at + 1


def _word(tokens: Sequence[_Token], at: int) -> str:
    return tokens[at].word if 0 <= at < len(tokens) else " "


def _span(tokens: Sequence[_Token], at: int, after: int, plain: str) -> str:
    return plain[tokens[at].start : tokens[after - 1].end]


def _decimal(digits: str) -> Decimal:
    head, mark, tail = digits.replace(",", ".").rpartition(".")
    if mark and len(tail) < 3:
        return Decimal(f"{head.replace('.', '')}.{tail}")
    return Decimal(digits.replace(",", "").replace(".", ""))


def _number(tokens: Sequence[_Token], at: int) -> tuple[Decimal | None, int]:
    """The number at a place, in digits or words, and the place after it."""
    word = _word(tokens, at)
    if word[0].isdecimal():
        return _decimal(word), at + 1
    if word == "a" and _word(tokens, at + 1) in _GROUPS | _SCALES:
        at += 1
        word = _word(tokens, at)
    if word in _GROUPS:
        return Decimal(_GROUPS[word]), at + (2 if _word(tokens, at + 1) == "of" else 1)
    return _in_words(tokens, at)


def _in_words(tokens: Sequence[_Token], at: int) -> tuple[Decimal | None, int]:
    total, current, after = 0, 0, at
    while after - at < _LONGEST:
        step = after + (after > at and _word(tokens, after) in {"-", "and"})
        word = _word(tokens, step)
        if word in _SCALES:
            total, current = _scaled(total, current, _SCALES[word])
        elif word in _VALUES and (after == at or _continues(total + current, _VALUES[word])):
            current += _VALUES[word]
        else:
            break
        after = step + 1
    return (Decimal(total + current), after) if after > at else (None, at)


def _scaled(total: int, current: int, scale: int) -> tuple[int, int]:
    current = max(current, 1) * scale
    return (total + current, 0) if scale == _SCALES["thousand"] else (total, current)


def _continues(so_far: int, value: int) -> bool:
    """Whether a number word adds to the number before it: thirty-two, hundred and five; not two, five."""
    if value < 10:
        return so_far % 10 == 0 and so_far % 100 != 10 and so_far > 0
    return so_far % 100 == 0 and so_far > 0


def _unit(tokens: Sequence[_Token], at: int) -> tuple[Unit | None, int]:
    """The unit at a place (after a hyphen or one adjective) and the place after it."""
    at += _word(tokens, at) == "-"
    at += _word(tokens, at) in _ADJECTIVES
    word = _word(tokens, at)
    if word == "per" and _word(tokens, at + 1) == "cent":
        return Unit.PERCENT, at + 2
    if word in _BUSINESS_WORDS:
        at += 1 + (_word(tokens, at + 1) == "-")
        unit = _BUSINESS.get(_TIMES.get(_word(tokens, at), Unit.CENT))
        return unit, at + 1
    return _TIMES.get(word, _AMOUNTS.get(word)), at + 1


def _time_unit(tokens: Sequence[_Token], at: int) -> tuple[Unit | None, int]:
    unit, after = _unit(tokens, at)
    return (None, at) if unit in {None, *_AMOUNTS.values()} else (unit, after)


def _fraction(tokens: Sequence[_Token], at: int, plain: str) -> tuple[list[Found], int]:
    """`half a day`, `a year and a half`, `two and a half weeks`, `a quarter of`, `1⁄2`."""
    after = at
    if _word(tokens, at) in _PARTS:
        rest = at + 1 + (_word(tokens, at + 1) in {"a", "an", "the"})
        unit, end = _time_unit(tokens, rest)
        after = end if unit else at + 2 if _word(tokens, at + 1) == "of" else at
    elif _word(tokens, at + 1) == "⁄":
        after = min(at + 3, len(tokens))
    else:
        after = _and_a_half(tokens, at)
    return ([Fraction(_span(tokens, at, after, plain), tokens[at].start)], after) if after > at else ([], at)


def _and_a_half(tokens: Sequence[_Token], at: int) -> int:
    number, after = (1, at + 1) if _word(tokens, at) in {"a", "an"} else _number(tokens, at)
    if number is None:
        return at
    unit, end = _time_unit(tokens, after)
    place = end if unit else after
    words = [_word(tokens, place + i) for i in range(3)]
    return place + 3 if words[:2] == ["and", "a"] and words[2] in _PARTS else at


def _date(tokens: Sequence[_Token], at: int, plain: str) -> tuple[list[Found], int]:
    """`14 March`, `14th of March 2025`, `March 14, 2025`, `2025-03-14`."""
    words = [_word(tokens, at + i) for i in range(5)]
    if words[1] == words[3] == "-" and re.fullmatch(r"\d{4}-\d\d-\d\d", "".join(words)):
        return [Date(int(words[4]), int(words[2]), int(words[0]), "".join(words), tokens[at].start)], at + 5
    start = tokens[at].start
    day, after = _day_of_month(tokens, at)
    if day:
        after += _word(tokens, after) == "of"
        month, after = _MONTH_OF.get(_word(tokens, after), 0), after + 1
    else:
        month = _MONTH_OF.get(words[0], 0)
        day, after = _day_of_month(tokens, at + 1)
    if not (day and month):
        return [], at
    comma = _word(tokens, after) == ","
    year = _word(tokens, after + comma)
    has_year = bool(re.fullmatch(r"\d{4}", year))
    after += has_year * (1 + comma)
    return [Date(day, month, int(year) if has_year else 0, _span(tokens, at, after, plain), start)], after


def _day_of_month(tokens: Sequence[_Token], at: int) -> tuple[int, int]:
    word = _word(tokens, at)
    if not re.fullmatch(r"\d{1,2}", word) or not 1 <= int(word) <= 31:
        return 0, at
    return int(word), at + 1 + (_word(tokens, at + 1) in _ORDINAL)


def _counted_day(tokens: Sequence[_Token], at: int, plain: str) -> tuple[list[Found], int]:
    """`day 9`, `day nine`, `9th day`, `9th business day`."""
    if _word(tokens, at) == "day":
        number, after = _number(tokens, at + 1)
        if number is not None and not _unit(tokens, after)[0]:
            return [Figure(number, Unit.DAY, _span(tokens, at, after, plain), tokens[at].start)], after
    elif _word(tokens, at)[0].isdecimal() and _word(tokens, at + 1) in _ORDINAL:
        unit, after = _time_unit(tokens, at + 2)
        if unit in {Unit.DAY, Unit.BUSINESS_DAY}:
            text = _span(tokens, at, after, plain)
            return [Figure(_decimal(tokens[at].word), unit, text, tokens[at].start)], after
    return [], at


def _amount(tokens: Sequence[_Token], at: int, plain: str) -> tuple[list[Found], int]:
    """`€4.95`, `EUR 5`, `€10-€14`, `$5 to 7`: a currency before its number."""
    unit = _AMOUNTS.get(_word(tokens, at))
    if unit not in CURRENCIES or not _word(tokens, at + 1)[0].isdecimal():
        return [], at
    low, after = _decimal(tokens[at + 1].word), at + 2
    ends = [low]
    signed = _AMOUNTS.get(_word(tokens, after + 1)) is unit
    high, end = _number(tokens, after + 1 + signed)
    if high is not None and _word(tokens, after) in _JOINS and (signed or not _unit(tokens, end)[0]):
        ends, after = [low, high], end
    text = _span(tokens, at, after, plain)
    return [Figure(value, unit, text, tokens[at].start) for value in ends], after


_JOINS = frozenset({"-", "to", "or", "and"})


def _measured(tokens: Sequence[_Token], at: int, plain: str) -> tuple[list[Found], int]:
    """`30 days`, `ten to fourteen working days`, `15%`, `three euros fifty`, `a week`."""
    low, after = _number(tokens, at)
    if low is None:
        if _word(tokens, at) not in {"a", "an"}:
            return [], at
        low, after = Decimal(1), at + 1
        unit, end = _time_unit(tokens, after)
    else:
        unit, end = _unit(tokens, after)
    ends = [low]
    if unit is None and _word(tokens, after) in _JOINS:
        high, after = _number(tokens, after + 1)
        unit, end = _unit(tokens, after) if high is not None else (None, after)
        ends = [low, high] if high is not None else ends
    if unit is None:
        return [], at
    cents, end = _cents(tokens, end, unit)
    text = _span(tokens, at, end, plain)
    past = _word(tokens, end) == "ago"
    return [Figure(value + cents, unit, text, tokens[at].start, past) for value in ends], end


def _cents(tokens: Sequence[_Token], at: int, unit: Unit) -> tuple[Decimal, int]:
    """The hundredths after `euros`, `dollars` or `pounds`: a number below 100 that has no unit of its own."""
    if unit not in CURRENCIES or not _word(tokens, at - 1).endswith("s"):
        return Decimal(0), at
    value, after = _number(tokens, at + (_word(tokens, at) == "and"))
    following, beyond = _unit(tokens, after)
    if value is None or not 1 <= value < 100 or following not in {None, Unit.CENT}:
        return Decimal(0), at
    return value / 100, beyond if following else after
