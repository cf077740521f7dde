"""Policies: read from YAML, checked, identified by their content."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibration.policy import (
    GUARDS,
    LEAST_LIMIT,
    SHIPPED,
    Guard,
    far_only,
    load_policy,
    parse_policy,
    shipped_policy,
)
from calibration.statistics.planning import min_failures_clean
from rubrics.errors import DeclarationError, TableError

MINIMAL = "name: mine\nversion: 1\nprimary: {upper_at_most: 0.05}\n"


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_policies_load(name: str) -> None:
    """Each shipped policy reads, and is found by its name."""
    assert shipped_policy(name).name == name
    assert load_policy(name) == shipped_policy(name)


def test_acceptance_is_the_design_s_policy() -> None:
    """Limit 10 %, three looks at z 2.394, 52 failures, two raters, Holm."""
    policy = shipped_policy("acceptance")
    assert policy.primary.upper_at_most == 0.10
    assert round(policy.z, 3) == 2.394
    assert (policy.minimum.fail, policy.minimum.raters_per_case) == (52, 2)
    assert policy.judges_compared == "holm"
    assert set(policy.guards) == set(GUARDS) - {"frr"}


def test_far_only_takes_a_limit_and_gets_another_digest() -> None:
    """far_only 5 % differs from far_only 10 % in its limit and so in its identity."""
    assert far_only(0.05).primary.upper_at_most == 0.05
    assert far_only(0.05).digest != far_only(0.10).digest
    assert far_only(0.10).digest == shipped_policy("far_only").digest


@pytest.mark.parametrize("limit", [0.0, 1.0, 10.0, -0.1, float("nan"), 1e-300, 0.00009])
def test_a_limit_that_is_no_rate_is_refused(limit: float) -> None:
    """A limit that is no rate, or that no evidence could show, is named with what is allowed."""
    with pytest.raises(DeclarationError, match=r"between 0\.0001 and 1"):
        far_only(limit)


def test_the_least_limit_is_what_its_comment_says() -> None:
    """0.0001 is taken, and takes 38,411 failures of a judge without a fault."""
    policy = far_only(LEAST_LIMIT)
    assert policy.primary.upper_at_most == 0.0001
    assert min_failures_clean(0.0001, z=policy.z) == 38_411


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a\n- b\n", ":1: the file holds ['a', 'b']; an admission policy is a mapping with at least"),
        ("", ":1: the file is empty; an admission policy is a mapping with at least the keys name, version"),
        ("a: [", ":1: not YAML: a quote or bracket that is opened here is never closed"),
        (MINIMAL + "colour: red\n", ":4: 'colour' is not a known key; allowed: name, version"),
        (MINIMAL + "minimm: {}\n", ":4: 'minimm' is not a known key; did you mean 'minimum'?"),
        (MINIMAL + "minimum: {passs: 3}\n", ":4: minimum: 'passs' is not a known key; did you mean 'pass'?"),
        ("name: mine\nversion: 1\n", ":1: 'primary' is missing"),
        (MINIMAL.replace("0.05", "5"), ":3: primary.upper_at_most: must be less than 1.0, not 5"),
        (MINIMAL.replace("0.05", "1e-300"), ":3: primary.upper_at_most: must be 0.0001 or more"),
        (MINIMAL + "name: other\n", ":4: 'name' is given twice, first on line 1"),
        (MINIMAL + "minimum: {fail: 1000000000}\n", ":4: minimum.fail: "),
        (MINIMAL + "looks: {max: 1000000000000000000}\n", ":4: looks.max: "),
        (MINIMAL + "guards:\n  speed: {point_at_most: 1}\n", ":5: guards.speed: no such guard is known"),
        (
            MINIMAL + "guards:\n  coverage: {point_at_most: 0.1}\n",
            ":5: guards.coverage: takes point_at_least",
        ),
        (MINIMAL + "guards:\n  frr: {}\n  coverage: {}\n", ":6: guards.coverage: a guard has exactly one of"),
        (
            MINIMAL + "guards: {invalid: {point_at_most: 0.1, upper_at_most: 0.1}}\n",
            ":4: guards.invalid: a guard has exactly one of",
        ),
        (
            MINIMAL + "guards:\n  coverage: {pont_at_least: 0.9}\n",
            ":5: guards.coverage: 'pont_at_least' is not a known key; did you mean 'point_at_least'?",
        ),
    ],
)
def test_a_wrong_policy_is_refused_with_file_and_line(text: str, words: str) -> None:
    """What is wrong, the file's name and the line; a mistyped key is told which one was meant."""
    with pytest.raises(TableError) as caught:
        parse_policy(text, source="mine.yaml")
    assert f"mine.yaml{words}" in str(caught.value)


def test_several_problems_have_a_line_each() -> None:
    """Everything that is wrong is told at once, in the order of the file."""
    with pytest.raises(TableError) as caught:
        parse_policy("name: mine\nversion: 0\nrole: boss\nprimary: {upper_at_most: 0.1}\n", source="m")
    assert [line.partition(" ")[0] for line in str(caught.value).splitlines()] == ["m:2:", "m:3:"]


def test_a_file_is_read_and_a_missing_one_named(tmp_path: Path) -> None:
    """A path is read as UTF-8 with or without BOM; neither name nor file is said in one sentence."""
    path = tmp_path / "mine.yaml"
    path.write_text(MINIMAL, encoding="utf-8-sig")
    assert load_policy(str(path)).name == "mine"
    path.write_bytes(b"name: \xff\n")
    with pytest.raises(TableError, match=r"mine\.yaml:1: the byte 0xFF is not UTF-8"):
        load_policy(str(path))
    with pytest.raises(DeclarationError, match="cannot read"):
        load_policy(str(tmp_path))
    with pytest.raises(DeclarationError, match="neither a shipped policy"):
        load_policy("nowhere")
    with pytest.raises(DeclarationError, match="no policy 'nowhere' ships"):
        shipped_policy("nowhere")


def test_a_guard_tells_its_comparison() -> None:
    """The one comparison and its limit are read off a guard."""
    guard = Guard(point_at_least=0.9)
    assert (guard.comparison, guard.limit) == ("point_at_least", 0.9)
