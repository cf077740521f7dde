"""Whether two recorded judges ask the same calls, so that what one was found to do the other does."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from sqlmodel import Session

from calibration.store.judges import StoredJudge, get_judge
from rubrics.criterion import ALL_OUTPUTS
from rubrics.digest import digest
from rubrics.rubric import Rubric

MOVES_NO_CALL: Mapping[str, frozenset[str]] = {
    # the last three say of which items a verdict stands without a call, or finds no room
    "model": frozenset({"name", "reask", "blank_output", "max_characters", "context"}),
    "rule": frozenset({"name", "version", "description"}),
    "panel": frozenset({"name"}),
    "cascade": frozenset({"name"}),
}
"""By kind the fields of a spec that leave what is asked, and what is answered, as it is."""


ONE_PROTOCOL = frozenset({"openai", "custom_openai", "openai_like", "hosted_vllm", "lm_studio", "llamafile"})
"""Words before a model that stand for the same calls at a declared address."""
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
_PORTS = {"http": 80, "https": 443}


def ask_the_same(*, session: Session, one: StoredJudge, other: StoredJudge, rubric: Rubric) -> bool:
    """True if, under the rubric, the specs differ only in what changes no call and not how its reply is read.

    Of a model that is its name, whether an unreadable reply is asked for again, what becomes of a blank or
    a long item, the room for an embedded model, the name of a prompt, templates for which the rubric has no
    use, fields in `show` that it does not have, a number of criteria that is all of its own, another spelling
    of the same server, and what weights with a SHA-256 are called. Another host name of a server is another
    server. Of a panel or cascade the same holds of its members. Two judges of one spec, the name included,
    were written by versions whose prompts differ, and do not ask the same.
    """
    if one.digest == other.digest:
        return True
    if one.kind != other.kind or one.content == other.content:
        return False
    return _asks(session, one, rubric) == _asks(session, other, rubric)


def _asks(session: Session, judge: StoredJudge, rubric: Rubric) -> str:
    """Identity of what the judge asks; its own where no field of its kind is without effect."""
    aside = MOVES_NO_CALL.get(judge.kind)
    if aside is None:
        return judge.digest
    kept = {name: value for name, value in judge.content.items() if name not in aside}

    def member(named: str) -> str:
        return _asks(session, get_judge(session=session, judge=named), rubric)

    if judge.kind == "model":
        kept |= _model(kept, rubric)
    if judge.kind == "panel":
        kept["members"] = sorted([member(each["judge"]), each["votes"]] for each in kept["members"])
    if judge.kind == "cascade":
        kept |= {place: member(kept[place]) for place in ("first", "then")}
        kept["escalate"] = sorted(set(kept["escalate"]))
    content: dict[str, Any] = {"kind": judge.kind, **kept}
    return digest(content)


def _model(spec: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """The fields of a model's spec that can be written in several ways, in one."""
    together = spec.get("criteria_per_call", 1)
    scales = {criterion.scale.kind for criterion in rubric.criteria} if together == 1 else {"several"}
    unused = {"name", "version", "binary", "ordinal", "preference", "several"} - scales
    found: dict[str, Any] = {
        "prompt": {part: text for part, text in spec.get("prompt", {}).items() if part not in unused}
    }
    if together != 1 and (together == "all" or together >= len(rubric.criteria)):
        found["criteria_per_call"] = "all"
    shown = {field.key for field in rubric.fields} - ALL_OUTPUTS  # outputs are always shown
    found["show"] = sorted(shown if spec.get("show") is None else shown.intersection(spec["show"]))
    if spec.get("weights") is not None:
        found["model"] = ""
    if spec.get("api_base") is not None:
        found["api_base"] = server(spec["api_base"])
        protocol, _, model = spec["model"].partition("/")
        found["model"] = model if protocol in ONE_PROTOCOL else spec["model"]
    return found


def server(address: str) -> str:
    """The address in one spelling: host in lower case, its port, no slash at the end, localhost as 127.0.0.1.

    Raises ValueError for what is no address.
    """
    parts = urlsplit(address)
    host = (parts.hostname or "").rstrip(".")
    with suppress(ValueError):  # a name
        host = str(ip_address(host))
    host = "127.0.0.1" if host in _THIS_MACHINE else host
    port = parts.port or _PORTS.get(parts.scheme)
    return f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}"
