"""Tables of the acceptance lines, and the public tables flattened to the form that `check` reads."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

Row = dict[str, str]


def rows(*, fail: Mapping[str, int], passing: Mapping[str, int], start: int = 0, **columns: str) -> list[Row]:
    """Rows with human labels fail and pass and the given counts of judge labels.

    `rows(fail={"pass": 16, "fail": 64}, passing={"pass": 114, "fail": 6})` is the table with 16 of 80
    failures and 114 of 120 passes accepted.
    """
    found: list[Row] = []
    for human, counts in (("fail", fail), ("pass", passing)):
        for judge, count in counts.items():
            for _ in range(count):
                item_id = f"item-{start + len(found):04d}"
                found.append({"id": item_id, "human_label": human, "judge_label": judge, **columns})
    return found


def sixteen_of_eighty() -> list[Row]:
    """16 of 80 failures accepted, 114 of 120 passes accepted."""
    return rows(fail={"pass": 16, "fail": 64}, passing={"pass": 114, "fail": 6})


def none_of_fifty() -> list[Row]:
    """0 of 50 failures accepted, 114 of 120 passes accepted."""
    return rows(fail={"fail": 50}, passing={"pass": 114, "fail": 6})


def two_of_thirty(*, empty: int = 0) -> list[Row]:
    """2 of 30 failures accepted, 110 of 120 passes; and so many failures with an empty verdict."""
    return rows(fail={"pass": 2, "fail": 28, "": empty}, passing={"pass": 110, "fail": 10})


def twenty_of_eighty_and_empty() -> list[Row]:
    """20 of 80 failures accepted and 30 more without a verdict, 114 of 120 passes accepted."""
    return rows(fail={"pass": 20, "fail": 60, "": 30}, passing={"pass": 114, "fail": 6})


def five_outputs_of_twenty_prompts() -> list[Row]:
    """20 prompts x 5 failing outputs, 4 accepted; 120 passes of other prompts, 114 accepted."""
    failures = [
        {"id": f"f{n:03d}", "group": f"prompt-{n // 5}", "human_label": "fail", "judge_label": label}
        for n, label in enumerate(["pass"] * 4 + ["fail"] * 96)
    ]
    passes = [
        {"id": f"p{n:03d}", "group": f"other-{n}", "human_label": "pass", "judge_label": label}
        for n, label in enumerate(["pass"] * 114 + ["fail"] * 6)
    ]
    return failures + passes


def to_csv(found: Sequence[Mapping[str, str]], *, delimiter: str = ",", end: str = "\n") -> str:
    """The rows as CSV; the columns are those of the first row."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(found[0]), delimiter=delimiter, lineterminator=end)
    writer.writeheader()
    writer.writerows(found)
    return out.getvalue()


def to_json_lines(found: Iterable[Mapping[str, object]]) -> str:
    """The rows as JSON Lines, text unescaped."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found)


def write_csv(path: Path, found: Sequence[Mapping[str, str]]) -> Path:
    """The path of the file that now holds the rows as CSV."""
    path.write_text(to_csv(found), encoding="utf-8", newline="")
    return path


def json_lines(path: Path) -> Iterator[dict[str, object]]:
    """The objects of a JSON Lines file."""
    for line in path.read_text("utf-8").split("\n"):
        if line:
            yield json.loads(line)


def flatten(folder: Path) -> list[Row]:
    """One row per verdict of a public table (items, labels, verdicts), with the item's group and label."""
    groups = {str(i["item_id"]): str(i.get("group") or "") for i in json_lines(folder / "items.jsonl")}
    labels = {
        (str(label["item_id"]), str(label["criterion"])): str(label["label"] or "")
        for label in json_lines(folder / "labels.jsonl")
    }
    return [
        {
            "id": str(v["item_id"]),
            "group": groups[str(v["item_id"])],
            "criterion": str(v["criterion"]),
            "judge": str(v["judge"]),
            "human_label": labels[str(v["item_id"]), str(v["criterion"])],
            "judge_label": str(v["label"] or ""),
        }
        for v in json_lines(folder / "verdicts.jsonl")
    ]
