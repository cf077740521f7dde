"""Items: one thing to be judged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from rubrics.item import Item, Split
from rubrics.problems import problems
from rubrics.scale import GradingMode
from tests.rubrics.builders import item

PAIR = {"item_id": "i1", "input": "q", "output_a": "x", "output_b": ""}


def refusal(**data: Any) -> str:
    """Why the item is refused, in one sentence."""
    with pytest.raises(ValidationError) as caught:
        Item.model_validate(data)
    (problem,) = problems(caught.value, model=Item, data=data)
    return str(problem)


def test_defaults() -> None:
    """What an item with the three keys of the format is."""
    plain = item()
    assert (plain.group, plain.split, plain.system, plain.model_family) == ("i1", Split.CALIBRATION, "", "")
    assert (plain.evidence, plain.tags) == ({}, {})


@pytest.mark.parametrize("group", ["", None])
def test_item_without_group_is_its_own_cluster(group: str | None) -> None:
    """An empty cell and a null say the same as no group."""
    assert item(group=group).group == "i1"
    assert item(group=group).digest == item().digest == item(group="i1").digest


def test_item_holds_one_output_or_a_pair() -> None:
    """The mode follows from what is there; an empty output is there."""
    assert (item(output="").mode, item(output="").outputs) == (GradingMode.POINTWISE, ("",))
    pair = Item.model_validate(PAIR)
    assert (pair.mode, pair.outputs) == (GradingMode.PAIRWISE, ("x", ""))


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ({}, "no output"),
        ({"output_a": "x"}, "output_a"),
        ({"output": "x", "output_b": "y"}, "output, output_b"),
        ({"output": "x", "output_a": "y", "output_b": "z"}, "output, output_a, output_b"),
    ],
)
def test_other_sets_of_outputs_are_refused(outputs: dict[str, str], words: str) -> None:
    """Half a pair and a mixture are no item."""
    said = refusal(item_id="i1", input="q", **outputs)
    assert said == f"the item has {words}; allowed: output, or output_a and output_b"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"item_id": " "}, "item_id: ' ' is blank; write at least one character"),
        ({"item_id": "x" * 513}, "has 513 characters; an id has at most 512"),
        ({"item_id": "a\nb"}, "holds a control character; an id is one line of text"),
        ({"item_id": 7}, "item_id: must be text, not 7; put it in quotes if it is meant as text"),
        ({"group": "a\tb"}, "group: 'a\\tb' holds a control character"),
        ({"output": 4}, "output: must be text, not 4"),
        ({"evidence": {"policy": {"a": 1}}}, "evidence.policy: must be text, not {'a': 1}"),
        ({"evidence": {"the policy": "x"}}, "evidence.the policy: 'the policy' is not a key"),
        (
            {"evidence": {"system": "x"}},
            "'system' is a field of the item itself; give the evidence another name",
        ),
        ({"evidence": "x"}, "evidence: must be a mapping of keys to values, not 'x'"),
        ({"tags": {"lang": ["en"]}}, "tags.lang: must be text, not ['en']"),
        ({"tags": {"score": float("nan")}}, "tags.score: must be text, not nan"),
        ({"tags": {" ": "x"}}, "' ' is blank"),
        ({"tags": "x"}, "tags: must be a mapping of keys to values, not 'x'"),
        ({"split": "test"}, "split: 'test' is not allowed; allowed: 'calibration' or 'tuning'"),
        ({"ouput": "x"}, "'ouput' is not a known key; did you mean 'output'? allowed: item_id, input,"),
    ],
)
def test_bad_item_is_refused_in_one_sentence(changes: dict[str, Any], said: str) -> None:
    """What was given, what is allowed."""
    assert said in refusal(**({"item_id": "i1", "input": "q", "output": "o"} | changes))


def test_refused_id_does_not_also_complain_about_the_group() -> None:
    """One mistake, one sentence, though the group falls back on the id."""
    assert refusal(item_id="", input="q", output="o").startswith("item_id: '' is blank")


def test_long_text_is_not_echoed() -> None:
    """The message about a value of 10 MB is short."""
    assert len(refusal(item_id="x" * 10_000_000, input="q", output="o")) < 200


def test_tags_are_text_and_null_is_no_tag() -> None:
    """Numbers and truth values as JSON writes them; "007" stays text."""
    tags = {"lang": "en", "turns": 3, "hard": True, "easy": False, "share": 0.5, "none": None, "agent": "007"}
    assert item(tags=tags).tags == {
        "lang": "en", "turns": "3", "hard": "true", "easy": "false", "share": "0.5", "agent": "007"
    }  # fmt: skip


def test_unstorable_characters_are_made_visible_wherever_they_stand() -> None:
    """A NUL or half a character in any text of an item cannot stop an import or a paid run."""
    made = item(output="a\0\ud83d", evidence={"policy": "\0"}, tags={"t\ud83d": "\0"}, system="\0")
    assert made.output == "a\\u{0}\\u{D83D}"
    assert made.evidence["policy"] == made.tags["t\\u{D83D}"] == made.system == "\\u{0}"
    json.dumps(made.model_dump(mode="json"), ensure_ascii=False).encode()


def test_text_is_found_by_the_rubric_s_key() -> None:
    """Input, outputs and evidence alike; nothing that must stay hidden."""
    made = item(evidence={"policy": "p"}, system="secret", model_family="secret", tags={"t": "secret"})
    assert [made.text(key) for key in ("input", "output", "policy")] == ["May I?", "You may.", "p"]
    hidden = ("output_a", "absent", "system", "model_family", "tags", "split", "group", "item_id")
    assert {made.text(key) for key in hidden} == {""}


def test_missing_evidence_is_absent_or_blank() -> None:
    """In the order asked."""
    made = item(evidence={"policy": "p", "order": " \n"})
    assert made.missing(["order", "policy", "receipt", "input"]) == ("order", "receipt")


SEEN = [
    {"input": "x"},
    {"output": "You may. "},
    {"output": None, "output_a": "You may.", "output_b": ""},
    {"evidence": {"policy": "p"}},
    {"evidence": {"policy": ""}},
]
UNSEEN = [
    {"item_id": "i2"},
    {"group": "g"},
    {"tags": {"lang": "en"}},
    {"split": "tuning"},
    {"system": "s"},
    {"model_family": "m"},
]


@pytest.mark.parametrize("changes", SEEN)
def test_changed_text_changes_the_content_digest(changes: dict[str, Any]) -> None:
    """A verdict is bound to the texts that judge and rater were shown."""
    assert item(**changes).content_digest != item().content_digest
    assert item(**changes).digest != item().digest


@pytest.mark.parametrize("changes", UNSEEN)
def test_changed_record_keeps_the_content_digest(changes: dict[str, Any]) -> None:
    """What nobody is shown is no content, and yet a second import of it is not the same record."""
    assert item(**changes).content_digest == item().content_digest
    assert item(**changes).digest != item().digest


def test_texts_cannot_change_places_unseen() -> None:
    """A and B swapped, and a text moved from one field to another, are other contents."""
    one = item(output=None, output_a="x", output_b="y", evidence={"a": "1", "b": "2"})
    assert (
        one.content_digest
        != item(output=None, output_a="y", output_b="x", evidence=one.evidence).content_digest
    )
    assert one.content_digest != item(**one.model_dump() | {"evidence": {"a": "2", "b": "1"}}).content_digest
    assert one.content_digest == item(**one.model_dump() | {"evidence": {"b": "2", "a": "1"}}).content_digest


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.text(),
    st.text(),
    st.dictionaries(st.sampled_from(["a", "b"]), st.text()),
    st.text(min_size=1, max_size=20),
)
def test_stored_item_is_the_same_item(input_: str, output: str, evidence: dict[str, str], tag: str) -> None:
    """Written as JSON and read back, an item of any texts is equal and keeps both digests."""
    made = item(input=input_, output=output, evidence=evidence, tags={"t": tag})
    again = Item.model_validate(json.loads(json.dumps(made.model_dump(mode="json"))))
    assert again == made
    assert (again.digest, again.content_digest) == (made.digest, made.content_digest)
