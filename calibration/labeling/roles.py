"""The roles of people; a module of its own, so that a command line knows them without a database."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a person may be."""

    RATER = "rater"
    ADJUDICATOR = "adjudicator"
    REVIEWER = "reviewer"
    ADMIN = "admin"
    GRADER = "grader"
