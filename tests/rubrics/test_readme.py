"""The README of rubrics: its example is a rubric, its message is what the loader says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rubrics
from rubrics.errors import TableError
from rubrics.loader import parse_rubric
from rubrics.rubric import publishing_problems
from rubrics.scale import PreferenceScale
from rubrics.yaml_reader import read_yaml
from tests.readme import blocks
from tests.rubrics.builders import PREFERENCE, criterion

README = (Path(rubrics.__file__).parent / "README.md").read_text("utf-8")
YAML = [block.body for block in blocks(README) if block.language == "yaml"]


def test_example_is_a_rubric_that_can_be_published() -> None:
    """The complete file in the README loads as it stands."""
    rubric = parse_rubric(YAML[0])
    assert publishing_problems(rubric) == ()
    assert [each.scale.kind for each in rubric.criteria] == ["binary", "ordinal"]


def test_pair_of_the_readme_is_a_scale() -> None:
    """The lines about pairs are read as written."""
    declared, _ = read_yaml(YAML[1])
    assert criterion(**PREFERENCE | declared).scale == PreferenceScale(kind="preference")


def test_message_of_the_readme_is_the_loader_s() -> None:
    """The mistake that is shown gives the message that is shown, with its line."""
    shown = re.search(r"^tone\.yaml:.*$", README, re.MULTILINE)
    assert shown
    with pytest.raises(TableError) as caught:
        parse_rubric(YAML[0].replace("accept_at: 2", "accept_at: 4"), source="tone.yaml")
    assert str(caught.value) == shown[0]
