"""Numbers with units, dates and what cannot be read, as judge.figures finds them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.figures import Bare, Date, Figure, Fraction, Unit, convert, find_figures, plain_text


def figures(text: str) -> list[tuple[str, str]]:
    """Value and unit of each figure, as text."""
    return [(str(found.value), found.unit) for found in find_figures(text) if isinstance(found, Figure)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("within 30 days", [("30", "day")]),
        ("a 30-day window", [("30", "day")]),
        ("thirty days", [("30", "day")]),
        ("30 calendar days", [("30", "day")]),
        ("5 business days", [("5", "business_day")]),
        ("five working days", [("5", "business_day")]),
        ("10-14 days", [("10", "day"), ("14", "day")]),
        ("10–14 days", [("10", "day"), ("14", "day")]),
        ("between ten and fourteen days", [("10", "day"), ("14", "day")]),
        ("two or three weeks", [("2", "week"), ("3", "week")]),
        ("a week and an hour", [("1", "week"), ("1", "hour")]),
        ("a fortnight", [("1", "fortnight")]),
        ("a couple of days", [("2", "day")]),
        ("two years", [("2", "year")]),
        ("15%, 15 percent, fifteen per cent", [("15", "percent")] * 3),
        ("€4.95, 4,95 €, EUR 4.95", [("4.95", "EUR")] * 3),
        ("four euros ninety-five", [("4.95", "EUR")]),
        ("three euros and 50 cents", [("3.5", "EUR")]),
        ("50 euros 2 days later", [("50", "EUR"), ("2", "day")]),
        ("€1,000.50 or 1.000,50 euros", [("1000.50", "EUR")] * 2),
        ("€3 to €5", [("3", "EUR"), ("5", "EUR")]),
        ("€3 and 5 days", [("3", "EUR"), ("5", "day")]),
        ("$7 £8", [("7", "USD"), ("8", "GBP")]),
        ("a hundred and fifty euros", [("150", "EUR")]),
        ("two hundred and thirty-four days", [("234", "day")]),
        ("two, five days", [("5", "day")]),
        ("day nine, day 18, the 9th day", [("9", "day"), ("18", "day"), ("9", "day")]),
        ("24h", [("24", "hour")]),
        ("two lamps, one of them free", []),
        ("someday, holidays, the days", []),
    ],
)
def test_figures_are_read(text: str, expected: list[tuple[str, str]]) -> None:
    """Digits and words, ranges, currencies on either side and business days are told apart."""
    assert figures(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 March", (2, 3, 0)),
        ("2nd of March 2025", (2, 3, 2025)),
        ("March 14, 2025", (14, 3, 2025)),
        ("2025-03-14", (14, 3, 2025)),
        ("14 Sep", (14, 9, 0)),
    ],
)
def test_dates_are_read(text: str, expected: tuple[int, int, int]) -> None:
    """A date is read in words and in ISO form, and its digits are not bare numbers as well."""
    (found,) = find_figures(text)
    assert isinstance(found, Date)
    assert (found.day, found.month, found.year) == expected


def test_a_date_agrees_with_one_that_gives_no_year() -> None:
    """Day and month decide; years only where both are given."""
    plain, this, last = (find_figures(text)[0] for text in ("2 March", "2 March 2025", "2 March 2024"))
    assert isinstance(plain, Date)
    assert isinstance(this, Date)
    assert isinstance(last, Date)
    assert plain.agrees(this)
    assert not this.agrees(last)


@pytest.mark.parametrize(
    "text", ["half a day", "a year and a half", "two and a half weeks", "a quarter of it", "½ day", "1/2⁄3"]
)
def test_fractions_are_named_and_not_read(text: str) -> None:
    """A fraction is never taken for the whole number beside it."""
    assert any(isinstance(found, Fraction) for found in find_figures(text))
    assert not any(isinstance(f, Figure) and f.value == 1 for f in find_figures(text))


def test_digits_without_a_known_unit_are_bare() -> None:
    """Order numbers and slashed dates are numbers whose unit is not known."""
    found = find_figures("order 8812 of 12/03")
    assert [(type(thing), str(getattr(thing, "value", ""))) for thing in found] == [
        (Bare, "8812"),
        (Bare, "12"),
        (Bare, "3"),
    ]


def test_ago_marks_the_past() -> None:
    """A figure before `ago` tells what happened."""
    past, future = find_figures("nine days ago; within nine days")
    assert isinstance(past, Figure)
    assert isinstance(future, Figure)
    assert (past.past, future.past) == (True, False)


@pytest.mark.parametrize("hidden", ["\u200b", "\u00ad", "\u2060", "\ufe0f", "\U000e0030"])
def test_an_invisible_character_does_not_split_a_number(hidden: str) -> None:
    """Sixty that is written as 6, something unseen, 0 reads as sixty."""
    assert figures(f"within 6{hidden}0 days") == [("60", "day")]


def test_full_width_digits_read_as_digits() -> None:
    """Compatibility forms are read as the signs that they stand for."""
    assert figures("６０ days") == [("60", "day")]


def test_a_number_in_words_has_an_end() -> None:
    """A hostile row of number words is read in pieces of at most 16 words, not as one enormous number."""
    found = find_figures("hundred " * 2_000 + "days")
    assert [thing.value for thing in found if isinstance(thing, Figure)] == [Decimal(100) ** 16]


def test_a_digit_that_is_no_decimal_digit_is_an_ordinary_sign() -> None:
    """Kharosthi one counts as a digit in Unicode and not as a decimal one; it is passed over."""
    assert find_figures("\U00010a40 days") == ()


def test_convert_applies_once_and_leaves_other_units() -> None:
    """Two weeks are 14 days where the spec says so; days stay days."""
    weeks, days = find_figures("two weeks, 3 days")
    assert isinstance(weeks, Figure)
    assert isinstance(days, Figure)
    table = {Unit.WEEK: (7, Unit.DAY)}
    assert convert(weeks, table) == (Decimal(14), Unit.DAY)
    assert convert(days, table) == (Decimal(3), Unit.DAY)
    assert convert(weeks, {}) == (Decimal(2), Unit.WEEK)


SMALL = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
SMALL += " seventeen eighteen nineteen"
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"


def in_words(number: int, hyphen: str, conjunction: str) -> str:
    """The number in English words, written independently of the reader."""
    if number >= 1000:
        rest = number % 1000
        head = f"{in_words(number // 1000, hyphen, conjunction)} thousand"
        return (
            f"{head}{conjunction if rest < 100 else ' '}{in_words(rest, hyphen, conjunction)}"
            if rest
            else head
        )
    if number >= 100:
        head, rest = f"{SMALL.split()[number // 100 - 1]} hundred", number % 100
        return f"{head}{conjunction}{in_words(rest, hyphen, conjunction)}" if rest else head
    if number >= 20:
        tens, ones = TENS.split()[number // 10 - 2], number % 10
        return f"{tens}{hyphen}{SMALL.split()[ones - 1]}" if ones else tens
    return SMALL.split()[number - 1]


@settings(max_examples=200, derandomize=True)
@given(st.integers(1, 99_999), st.sampled_from(["-", " "]), st.sampled_from([" ", " and "]))
def test_number_words_read_back_as_the_number(number: int, hyphen: str, conjunction: str) -> None:
    """Every number that is written out in words is read as itself."""
    assert figures(f"within {in_words(number, hyphen, conjunction)} days.") == [(str(number), "day")]


@settings(max_examples=200, derandomize=True)
@given(st.integers(0, 10**7), st.integers(0, 99), st.sampled_from(["{:,}.{:02d}", "{}.{:02d}", "{},{:02d}"]))
def test_amounts_read_back_in_every_notation(whole: int, cents: int, form: str) -> None:
    """Thousands separators and both decimal signs give the same amount."""
    expected = Decimal(whole) + Decimal(cents) / 100
    (found,) = find_figures(f"pay €{form.format(whole, cents)} now")
    assert isinstance(found, Figure)
    assert (found.value, found.unit) == (expected, Unit.EUR)


WORDS = "a half and hundred thousand two 3 - to day days week of per cent € % euros ago ⁄ 4th may 2025 , ."


@settings(max_examples=300, derandomize=True)
@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WORDS.split()), max_size=30).map(" ".join)))
def test_no_text_breaks_the_reading(text: str) -> None:
    """Whatever the text, each thing that is found stands in it where it says."""
    plain = plain_text(text)
    for found in find_figures(text):
        assert found.text
        assert plain[found.at :].startswith(found.text[:1])
