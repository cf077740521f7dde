"""Items from files: texts as they came, evidence, tags, clusters and splits, nothing dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calibration.interchange.native.items import import_items
from calibration.store.columns import table_of
from calibration.store.database import Store
from calibration.store.imports import list_imports
from calibration.store.items import Scope, get_item, iter_items
from calibration.store.payloads import ItemPayloadRow
from rubrics.errors import DeclarationError, DifferentRecord, JudgeCalibrationError, TableError
from rubrics.item import Item, Split
from tests.calibration.interchange.native.files import BY, DATASET, item, options, pair, rows, take, write
from tests.databases import BOTH


def stored(store: Store, item_id: str = "i0") -> Item:
    """One item of the dataset."""
    with store.read() as session:
        found = get_item(session=session, dataset=DATASET, item_id=item_id)
    assert isinstance(found, Item)
    return found


def one(store: Store, folder: Path, record: Any, **changes: Any) -> Item:
    """The item that a record becomes."""
    take(store, "items", write(folder, record), **changes)
    return stored(store)


def refused(store: Store, source: str, **changes: Any) -> str:
    """The sentence with which a file is refused; nothing of it is stored."""
    before = rows(store)
    with pytest.raises(JudgeCalibrationError) as caught:
        take(store, "items", source, **changes)
    assert rows(store) == before
    return str(caught.value)


def test_an_item_with_everything(sqlite_store: Store, tmp_path: Path) -> None:
    """Texts, group, tags, split, system and family have their own place."""
    more = {"group": "g", "tags": {"channel": "mail", "n": 3, "no": None}, "split": "tuning"}
    found = one(sqlite_store, tmp_path, item(0, **more, system="bot", model_family="llama"))
    assert (found.input, found.output, found.group) == ("question 0", "answer 0", "g")
    assert dict(found.tags) == {"channel": "mail", "n": "3"}
    assert (found.split, found.system, found.model_family) == (Split.TUNING, "bot", "llama")


def test_further_fields_are_evidence_or_tags(sqlite_store: Store, tmp_path: Path) -> None:
    """A text is evidence by its name; a number, a truth value and a name that cannot be a key are tags."""
    more = {
        "policy": "30 days",
        "turns": 3,
        "escalated": True,
        "my field": "x",
        "messages": [{"a": 1}],
        "gone": None,
    }
    found = one(sqlite_store, tmp_path, item(0, **more), tags=())
    assert dict(found.evidence) == {"policy": "30 days", "messages": '[{"a": "1"}]'}
    assert dict(found.tags) == {"turns": "3", "escalated": "true", "my field": "x"}


def test_fields_that_are_said_to_be_tags(sqlite_store: Store, tmp_path: Path) -> None:
    """--tag, slice_ and tags. make a tag of any field; one that no item has is refused."""
    more = {"channel": "mail", "slice_age": "old", "tags.plan": "gold"}
    found = one(sqlite_store, tmp_path, item(0, **more), tags=("channel",))
    assert dict(found.tags) == {"channel": "mail", "age": "old", "plan": "gold"}
    assert "no item of" in refused(sqlite_store, write(tmp_path, item(1)), tags=("chanel",))


def test_a_name_with_two_contents_is_refused(sqlite_store: Store, tmp_path: Path) -> None:
    """Neither of two texts under one name is dropped."""
    both = item(0, policy="a", evidence={"policy": "b"})
    assert "'policy' stands twice" in refused(sqlite_store, write(tmp_path, both))
    both = item(0, slice_age="a", tags={"age": "b"})
    assert "'age' stands twice" in refused(sqlite_store, write(tmp_path, both))


def test_texts_that_are_no_texts_are_kept_as_written(sqlite_store: Store, tmp_path: Path) -> None:
    """A truth value or an object as output is its JSON, and is counted."""
    found = take(sqlite_store, "items", write(tmp_path, pair(0, output_a=True, output_b={"x": 1.50})))
    assert stored(sqlite_store).outputs == ("true", '{"x": "1.5"}')
    assert found.notes == ("2 texts given as a number, truth value or object, kept as written",)


@BOTH
def test_texts_that_no_database_holds_keep_their_bytes(store: Store, tmp_path: Path) -> None:
    """NUL and half a character are shown as escapes; what came in lies beside."""
    line = '{"item_id":"i0","input":"a\\u0000b","output":"\\ud83d","policy":"\\udc00"}'
    found = one(store, tmp_path, line)
    assert (found.input, found.output) == ("a\\u{0}b", "\\u{D83D}")
    with store.read() as session:
        raw = session.connection().execute(table_of(ItemPayloadRow).select()).mappings().one()["raw"]
    original = json.loads(raw.decode("utf-8", "surrogatepass"))
    assert (original["input"], original["output"], original["evidence"]["policy"]) == (
        "a\0b",
        "\ud83d",
        "\udc00",
    )


@pytest.mark.parametrize(
    ("changes", "group"),
    [
        ({}, "g"),
        ({"cluster": "group"}, "g"),
        ({"cluster": "none"}, "i0"),
        ({"cluster": "conversation"}, "c7"),
        ({"cluster": "tags.plan"}, "gold"),
        ({"cluster": "plan"}, "gold"),
        ({"cluster": "input"}, "question 0"),
    ],
)
def test_the_cluster_that_was_named(changes: Any, group: str, sqlite_store: Store, tmp_path: Path) -> None:
    """A field, a tag, a text, or none; the file's own group stays as a tag where another is used."""
    found = one(
        sqlite_store, tmp_path, item(0, group="g", conversation="c7", tags={"plan": "gold"}), **changes
    )
    assert found.group == group
    assert found.tags.get("group") == (None if group == "g" else "g")


def test_a_cluster_that_no_item_has_is_refused(sqlite_store: Store, tmp_path: Path) -> None:
    """An interval that ignores a misspelt cluster would be too narrow."""
    assert "--cluster promt: no item" in refused(sqlite_store, write(tmp_path, item(0)), cluster="promt")


def test_an_item_without_the_cluster_stands_alone(sqlite_store: Store, tmp_path: Path) -> None:
    """It is counted."""
    found = take(sqlite_store, "items", write(tmp_path, item(0, ticket="t"), item(1)), cluster="ticket")
    assert (stored(sqlite_store).group, stored(sqlite_store, "i1").group) == ("t", "i1")
    assert found.notes == ("1 item without the field of --cluster taken to stand alone",)


@pytest.mark.parametrize("group", ["two\nlines", "x" * 600, "\U0001f600" * 500, "\0"])
def test_a_group_that_is_no_id_is_named_by_its_words(group: str, store: Store, tmp_path: Path) -> None:
    """The same group stays one group and another one another, whatever it holds."""
    take(
        store,
        "items",
        write(tmp_path, item(0, group=group), item(1, group=group), item(2, group=group + "!")),
    )
    names = [stored(store, f"i{n}").group for n in range(3)]
    assert names[0] == names[1] != names[2]
    assert len(names[0]) <= 80


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"input": "q", "output": "a"}, "item_id is missing"),
        ({"item_id": "  ", "input": "q", "output": "a"}, "item_id is empty"),
        ({"item_id": "NaN", "input": "q", "output": "a"}, "is how a missing value is written"),
        ({"item_id": "a\0", "input": "q", "output": "a"}, "U+0000"),
        ({"item_id": "a\nb", "input": "q", "output": "a"}, "control character"),
        ({"item_id": ["a"], "input": "q", "output": "a"}, "is no text"),
        ({"item_id": "x" * 600, "input": "q", "output": "a"}, "600"),
        ({"item_id": "a", "output": "a"}, "input is missing"),
        ({"item_id": "a", "input": None, "output": "a"}, "input is empty"),
        ({"item_id": "a", "input": "q"}, "no output"),
        ({"item_id": "a", "input": "q", "output": "a", "output_a": "b"}, "allowed: output, or output_a and"),
        (item(0, split="test"), "split 'test' is none of"),
        (item(0, tags=["x"]), "tags '[\"x\"]' is no object"),
        (item(0, evidence="text"), "evidence is not a JSON object"),
        (item(0, evidence={"input": "x"}), "field of the item itself"),
    ],
)
def test_a_record_that_is_no_item_is_refused(
    record: Any, said: str, sqlite_store: Store, tmp_path: Path
) -> None:
    """With file, line and what is allowed; the lines before it are not stored either."""
    told = refused(sqlite_store, write(tmp_path, item(1), record))
    assert "file.jsonl, line 2: " in told
    assert said in told


def test_the_split_option_is_for_items_that_do_not_say(sqlite_store: Store, tmp_path: Path) -> None:
    """It overrides nothing: an item that says otherwise is refused."""
    assert one(sqlite_store, tmp_path, item(0), split=Split.TUNING).split is Split.TUNING
    told = refused(sqlite_store, write(tmp_path, item(1, split="calibration")), split=Split.TUNING)
    assert "split calibration stands beside --split tuning" in told


def test_csv_has_the_same_columns(sqlite_store: Store, tmp_path: Path) -> None:
    """Both kinds of item in one table; an empty output is an output, an empty cell of the other none."""
    text = (
        "item_id,input,output,output_a,output_b,group,tags,policy,slice_age\n"
        'i0,q,,,,g,"{""plan"": ""gold""}","30\ndays",old\n'
        "i1,,x,,,,,,\n"
        "i2,q,,a,,,,,\n"
    )
    found = take(sqlite_store, "items", write(tmp_path, text.rstrip("\n"), name="items.csv"))
    assert found.records == 3
    first, second, third = (stored(sqlite_store, f"i{n}") for n in range(3))
    assert (first.output, dict(first.evidence), dict(first.tags)) == (
        "",
        {"policy": "30\ndays"},
        {"plan": "gold", "age": "old"},
    )
    assert (second.input, second.output) == ("", "x")
    assert third.outputs == ("a", "")


def test_a_second_import_adds_nothing(store: Store, tmp_path: Path) -> None:
    """Not a row, not an event; the answer says when it was imported."""
    source = write(tmp_path, item(0), item(1), item(0))
    first = take(store, "items", source)
    assert (first.records, first.added, first.present) == (3, 2, 1)
    before = rows(store)
    again = take(store, "items", source)
    assert (again.added, again.present, again.import_key) == (0, 3, None)
    assert again.imported_before == BY.at
    assert rows(store) == before


@BOTH
def test_a_changed_item_is_refused_by_its_line(store: Store, tmp_path: Path) -> None:
    """Within a file and against what is recorded; what changed is named."""
    twice = write(tmp_path, item(0), item(1), item(0, output="other"))
    assert "file.jsonl, line 3: item 'i0'" in refused(store, twice)
    take(store, "items", write(tmp_path, item(0), item(1)))
    for change, said in (
        ({"output": "x"}, "text"),
        ({"group": "x"}, "group"),
        ({"tags": {"a": "b"}}, "tags"),
    ):
        changed = write(tmp_path, item(2), item(1, **change))
        told = refused(store, changed)
        assert "line 2: item 'i1'" in told
        assert said in told
    with pytest.raises(DifferentRecord):
        take(store, "items", write(tmp_path, item(0, output="x")))


def test_bad_lines_are_left_out_where_asked(store: Store, tmp_path: Path) -> None:
    """The rest is imported; refused lines lie in a new file as they stood, and can be mended and imported."""
    take(store, "items", write(tmp_path, item(9)))
    source = write(tmp_path, item(0), "nonsense", item(1, split="x"), item(9, output="changed"), item(2))
    found = take(store, "items", source, skip_bad=True)
    assert (found.records, found.added, found.present) == (5, 2, 0)
    assert [each.line for each in found.rejected] == [2, 3, 4]
    lines = Path(source).read_text().splitlines()
    assert found.rejected_file == f"{source}.rejected"
    assert Path(found.rejected_file).read_text().splitlines() == lines[1:4]
    again = take(store, "items", source, skip_bad=True)
    assert (again.added, len(again.rejected), again.rejected_file) == (0, 3, None)


def test_a_file_of_bad_lines_only_is_refused(sqlite_store: Store, tmp_path: Path) -> None:
    """Leaving out everything would look like success."""
    told = refused(sqlite_store, write(tmp_path, "x", "y"), skip_bad=True)
    assert "none of its 2 lines can be taken, the first (line 1)" in told


def test_lines_that_could_not_be_taken_can_follow(store: Store, tmp_path: Path) -> None:
    """What a file lacked at first is a further import; the trail of the first one still holds."""
    source = write(tmp_path, item(0), item(1, output="changed"))
    take(store, "items", write(tmp_path, item(1), name="other.jsonl"))
    take(store, "items", source, skip_bad=True)
    Path(source).write_text(json.dumps(item(0)) + "\n" + json.dumps(item(2)) + "\n")
    assert take(store, "items", source).added == 1
    with store.read() as session:
        assert len(list_imports(session=session, dataset=DATASET)) == 3


def test_where_a_file_came_from_is_recorded(store: Store, tmp_path: Path) -> None:
    """Name, size, date, origin, licence, collector and options, under the digest of its bytes."""
    source = write(tmp_path, item(0))
    found = take(store, "items", source, origin="desk", licence="CC0", collector="R. Ito", cluster="none")
    with store.read() as session:
        recorded = list_imports(session=session, dataset=DATASET)[0]
    assert recorded.key == found.import_key
    assert recorded.file_digest == found.file_digest
    told = dict(recorded.provenance)
    assert told.pop("options")["cluster"] == "none"
    assert told == {
        "file": "file.jsonl",
        "bytes": Path(source).stat().st_size,
        "date": "2026-11-30",
        "origin": "desk",
        "licence": "CC0",
        "collector": "R. Ito",
        "constructed": False,
        "rubrics": [],
    }


def test_constructed_items_say_so(sqlite_store: Store, tmp_path: Path) -> None:
    """By a field of the line, or for the whole file by --origin constructed."""
    assert one(sqlite_store, tmp_path, item(0, origin="constructed")).tags["origin"] == "constructed"
    take(sqlite_store, "items", write(tmp_path, item(1)), origin="constructed")
    assert stored(sqlite_store, "i1").tags["origin"] == "constructed"
    take(sqlite_store, "items", write(tmp_path, item(2)), origin="github")
    assert "origin" not in stored(sqlite_store, "i2").tags


def test_progress_is_told(sqlite_store: Store, tmp_path: Path) -> None:
    """How many bytes of how many, every thousand records."""
    told: list[tuple[int, int]] = []
    source = write(tmp_path, *(item(n) for n in range(2500)))
    by = type(BY)(BY.actor, BY.at, lambda done, total: told.append((done, total)))
    import_items(store=sqlite_store, source=source, options=options(), by=by)
    size = Path(source).stat().st_size
    assert [total for _, total in told] == [size, size]
    assert 0 < told[0][0] < told[1][0] < size


def test_items_keep_the_order_of_the_file(store: Store, tmp_path: Path) -> None:
    """Over several files, the first before the second."""
    take(store, "items", write(tmp_path, item(3), item(1)))
    take(store, "items", write(tmp_path, item(2), item(1), item(0)))
    with store.read() as session:
        found = [each.item_id for each in iter_items(session=session, scope=Scope(dataset=DATASET))]
    assert found == ["i3", "i1", "i2", "i0"]


def test_a_file_that_is_not_there(sqlite_store: Store) -> None:
    """It is a declaration error before the store is touched."""
    with pytest.raises(DeclarationError, match="cannot read"):
        take(sqlite_store, "items", "none.jsonl")


def test_a_name_that_is_no_dataset(sqlite_store: Store, tmp_path: Path) -> None:
    """A dataset's name is stored exactly or refused."""
    with pytest.raises(DeclarationError, match="dataset"):
        take(sqlite_store, "items", write(tmp_path, item(0)), dataset="a\0b")


def test_problems_beyond_the_first_are_counted(sqlite_store: Store, tmp_path: Path) -> None:
    """The sentence names the first and says how many more there are."""
    with pytest.raises(
        TableError, match=r"\(2 more lines cannot be taken; --skip-bad imports the rest\)"
    ) as caught:
        take(sqlite_store, "items", write(tmp_path, item(0), "x", item(1, split="y"), "z"))
    assert caught.value.line == 2
