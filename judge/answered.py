"""The finish reason in a provider's answer as it was sent, whatever the form of its API."""

from __future__ import annotations

import json
from typing import Any, Final

from judge.direct_client import FINISHES


class _Unsaid:
    """That an answer is of no form whose finish reason is known to stand somewhere."""


UNSAID: Final = _Unsaid()
_STOPS = {"end_turn", "stop_sequence", "STOP", "COMPLETE", "STOP_SEQUENCE", "eos", "eos_token", "stop"}
_LISTS = (("choices", "finish_reason"), ("candidates", "finishReason"))
_PLAIN = ("stop_reason", "stopReason", "done_reason", "finish_reason")


def finish_said(content: bytes) -> Any:
    """What stands where the finish reason belongs, in OpenAI's words; None where that is empty or absent.

    UNSAID for an answer that is no object, or of a form that is not known here.
    """
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return UNSAID
    if not isinstance(answer, dict):
        return UNSAID
    for name, key in _LISTS:
        found = answer.get(name)
        if isinstance(found, list) and len(found) == 1 and isinstance(found[0], dict):
            return _word(found[0].get(key))
    return next((_word(answer[key]) for key in _PLAIN if key in answer), UNSAID)


def _word(said: Any) -> Any:
    if not isinstance(said, str):
        return said
    return "stop" if said in _STOPS else FINISHES.get(said, said)
