"""What a person reads of a batch of which another model answered a part, and the command that goes on."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from calibration.store.database import Store
from judge.spec import Endpoint
from rubrics.order import OrderPolicy
from tests.judge.cases import judge
from tests.judge.cli.records import address, on
from tests.judge.run_world import DATASET, KEY, lay_down, numbered

SPEC = judge(
    name="batched",
    order=OrderPolicy.AS_DECLARED,
    endpoint=Endpoint.COMPATIBLE,
    api_base="http://127.0.0.1:9/v1",
)
RUN = ("judge", "run", "--judge", "batched", "--dataset", DATASET, "--criterion", KEY)


def answered(request: dict[str, Any], model: str) -> str:
    """A line of the answer to a request."""
    said = {"content": '{"reason": "x", "verdict": "pass"}', "role": "assistant"}
    body = {"model": model, "choices": [{"message": said, "finish_reason": "stop"}]}
    return (
        json.dumps({"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}}) + "\n"
    )


@pytest.fixture
def files(sqlite_store: Store, tmp_path: Path) -> tuple[str, str, str]:
    """Six calls of seven are answered: two by one model, one by another, two by the first, and one failed."""
    lay_down(sqlite_store, numbered(7), SPEC)
    out = tmp_path / "requests.jsonl"
    assert on(address(sqlite_store))(*RUN, "--emit-batch", str(out)).exit_code == 0
    requests = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    failed = {"custom_id": requests[5]["custom_id"], "response": {"status_code": 500, "body": {}}}
    parts = {
        "a mixture.jsonl": [
            answered(each, m) for each, m in zip(requests[:3], ("m-1", "m-1", "m-2"), strict=True)
        ],
        "plain.jsonl": [answered(each, "m-1") for each in requests[3:5]],
        "failed.jsonl": [json.dumps(failed) + "\n"],
    }
    for name, lines in parts.items():
        (tmp_path / name).write_text("".join(lines), encoding="utf-8")
    mixture, plain, broken = (str(tmp_path / name) for name in parts)
    return mixture, plain, broken


def test_answers_of_another_model_are_no_failures(sqlite_store: Store, files: tuple[str, str, str]) -> None:
    """They are named, by the file that holds them and by later ones, with the option that takes them."""
    command = on(address(sqlite_store))
    mixture, plain, broken = files
    first = command(*RUN, "--ingest-batch", mixture)
    assert "1 answer of another model gives no verdict" in first.stdout
    assert "open: answered by another model, not taken 1, out in a batch or cut off 4" in first.stdout
    takes = f"voirdire {shlex.join(RUN)} --allow-model-change --ingest-batch"
    assert f"go on with both models: {takes} {shlex.quote(mixture)}" in first.stderr
    anew = f"voirdire {shlex.join(RUN)} --allow-model-change\n"
    assert first.stderr.endswith(f"or ask what is open now, which may be paid twice: {anew}")
    command(*RUN, "--ingest-batch", plain)
    later = command(*RUN, "--ingest-batch", broken)
    assert "3 units have no verdict: 1 was answered by another model and not taken, 1 failed" in later.stderr
    assert f"go on with both models: {takes} ANSWERS" in later.stderr
    told = json.loads(command(*RUN, "--ingest-batch", broken, "--json").stdout)
    assert (told["stopped"]["kind"], told["resume"]) == ("model_changed", f"{takes} ANSWERS")
    both = command(*shlex.split(told["resume"])[1:-1], mixture)
    assert "Took 1 verdict from" in both.stdout
    assert "2 units have no verdict: 1 failed in the batch and 1 has no answer yet" in both.stderr
