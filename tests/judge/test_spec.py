"""A judge's identity: any change is another judge; and what a file may declare."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

import judge.spec
from calibration.calibrate import same_calls
from judge.baselines import BaselineSpec
from judge.direct_client import SPOKEN
from judge.parsing import Reading
from judge.rule_spec import RuleSpec
from judge.spec import (
    BaselineJudge,
    BlankOutput,
    Endpoint,
    ExternalJudge,
    Labels,
    ModelJudge,
    Parameters,
    ReasonPlace,
    RuleJudge,
    TextOrder,
    load_judge,
    parse_judge,
)
from judge.spec import settings as settings_of
from judge.templates import load_prompt
from rubrics.errors import DeclarationError, TableError
from rubrics.order import OrderPolicy
from tests.judge.cases import judge as model_judge

SHA = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
KNOWN = "c90923600a3dca657f977c2826488158563207104a34fb10e266b422532cd493"
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,10}[a-z0-9]", fullmatch=True)
SEVERAL = load_prompt("several@1")
STANDARD = load_prompt("standard@1").model_copy(update={"several": SEVERAL.several})


@st.composite
def prompts(draw: st.DrawFn) -> Any:
    """The shipped prompt, or one with a word more in one of its parts."""
    part = draw(st.sampled_from(["none", "version", "system", "user", "several"]))
    if part == "none":
        return STANDARD
    if part == "version":
        return STANDARD.model_copy(update={"version": draw(st.integers(2, 9))})
    scale = "several" if part == "several" else draw(st.sampled_from(["binary", "ordinal", "preference"]))
    part = "system" if part == "several" else part
    template = getattr(STANDARD, scale)
    changed = template.model_copy(update={part: f"{getattr(template, part)} {draw(NAMES)}"})
    return STANDARD.model_copy(update={scale: changed})


PARAMETERS = st.builds(
    Parameters,
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0.01, 1),
    seed=st.none() | st.integers(0, 99),
    max_output_tokens=st.integers(8, 4096),
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "name": NAMES,
    "model": st.sampled_from(["openai/a", "openai/b", "anthropic/a"]),
    "endpoint": st.sampled_from(
        [
            {"endpoint": Endpoint.PROVIDER},
            {"endpoint": Endpoint.COMPATIBLE, "api_base": "http://127.0.0.1:8000/v1"},
            {"endpoint": Endpoint.COMPATIBLE, "api_base": "http://127.0.0.1:8001/v1"},
            {"endpoint": Endpoint.EMBEDDED, "weights": SHA},
            {"endpoint": Endpoint.EMBEDDED, "weights": SHA[::-1]},
            {"endpoint": Endpoint.EMBEDDED, "weights": SHA, "context": 4096},
        ]
    ),
    "parameters": PARAMETERS,
    "prompt": prompts(),
    "reading": st.sampled_from([Reading.STRUCTURED, Reading.MARKED]),
    "labels": st.sampled_from(Labels),
    "reason": st.sampled_from(ReasonPlace),
    "order": st.sampled_from(OrderPolicy),
    "texts": st.sampled_from([TextOrder.EVIDENCE_FIRST, TextOrder.CANDIDATE_FIRST]),
    "abstention": st.booleans(),
    "criteria_per_call": st.sampled_from([1, 2, 3, "all"]),
    "blank_output": st.sampled_from(BlankOutput),
    "max_characters": st.none() | st.integers(1, 10_000),
    "show": st.none() | st.lists(st.sampled_from(["input", "policy", "notes"]), unique=True).map(tuple),
    "reask": st.booleans(),
}
TOGETHER = {"endpoint": {"endpoint", "api_base", "weights", "context"}}


def built(values: dict[str, Any]) -> ModelJudge:
    """The judge with these fields; those of an endpoint come together."""
    flat = {k: v for k, v in values.items() if k != "endpoint"}
    return ModelJudge(kind="model", **flat, **values["endpoint"])


@settings(max_examples=80, derandomize=True, deadline=None)
@given(st.fixed_dictionaries(FIELDS), st.sampled_from(sorted(FIELDS)), st.data())
def test_any_field_changed_is_another_digest(values: dict[str, Any], field: str, data: st.DataObject) -> None:
    """Two judges that differ in one field differ in digest; two that differ in none do not."""
    changed = {**values, field: data.draw(FIELDS[field])}
    assume(changed[field] != values[field])
    assert built(changed).digest != built(values).digest
    assert built(dict(values)).digest == built(values).digest


def test_the_property_covers_every_field() -> None:
    """A field that is added to the spec must be added to the property above."""
    covered = {name for field in FIELDS for name in TOGETHER.get(field, {field})}
    assert covered | {"kind"} == set(ModelJudge.model_fields)


def _leaves(model: type[BaseModel], at: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = [cls for cls in _classes(field.annotation) if issubclass(cls, BaseModel)]
        yield from (leaf for cls in inner for leaf in _leaves(cls, f"{at}{name}."))
        if not inner:
            yield f"{at}{name}"


def _classes(annotation: Any) -> Iterator[type]:
    for inner in typing.get_args(annotation):
        yield from _classes(inner)
    if isinstance(annotation, type):
        yield annotation


OTHER: dict[str, Any] = {
    "name": "other",
    "model": "openai/other",
    "endpoint": Endpoint.EMBEDDED,
    "api_base": "http://127.0.0.1:1/v1",
    "weights": SHA,
    "context": 4096,
    "parameters.temperature": 0.5,
    "parameters.top_p": 0.5,
    "parameters.seed": 0,
    "parameters.max_output_tokens": 9,
    "prompt.name": "other",
    "prompt.version": 2,
    **{
        f"prompt.{s}.{part}": "other"
        for s in ("binary", "ordinal", "preference", "several")
        for part in ("system", "user")
    },
    "reading": Reading.MARKED,
    "labels": Labels.LETTERS,
    "reason": ReasonPlace.AFTER,
    "order": OrderPolicy.AS_DECLARED,
    "texts": TextOrder.CANDIDATE_FIRST,
    "abstention": False,
    "criteria_per_call": 2,
    "blank_output": BlankOutput.ASK,
    "max_characters": 1,
    "show": (),
    "reask": True,
}


@pytest.mark.parametrize("leaf", [leaf for leaf in _leaves(ModelJudge) if leaf != "kind"])
def test_every_single_value_is_in_the_digest(leaf: str) -> None:
    """Changed alone, each value down to one template's text moves the digest."""
    base = model_judge(prompt=STANDARD)
    assert _changed(base, leaf.split("."), OTHER[leaf]).digest != base.digest


def _changed(record: Any, path: list[str], value: Any) -> Any:
    name, *rest = path
    inner = _changed(getattr(record, name), rest, value) if rest else value
    return record.model_copy(update={name: inner})


@pytest.mark.parametrize("part", ["fence", "prompt", "reading"])
def test_another_version_of_the_engine_is_another_judge(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that renders or reads otherwise makes every judge another one, without anyone remembering."""
    before = model_judge().digest
    monkeypatch.setattr(judge.spec, "ENGINE", {**judge.spec.ENGINE, part: 99})
    assert model_judge().digest != before


def test_what_is_written_out_or_left_to_the_default_is_the_same_judge() -> None:
    """Identity is what a judge is, not how its file is written."""
    short = parse_judge("kind: model\nname: a\nmodel: openai/x\n")
    long = parse_judge(
        "# a comment\nmodel: openai/x\nname: a\nkind: model\nendpoint: provider\nreading: structured\n"
        "prompt: standard@1\nparameters: {temperature: 0, max_output_tokens: 1024}\norder: both\n"
    )
    assert short.digest == long.digest
    assert short == long


def test_the_digest_of_a_known_judge_does_not_move() -> None:
    """This digest is stored in people's databases: a change here takes every judge's admission away."""
    known = parse_judge("kind: model\nname: a\nmodel: openai/x\n")
    assert known.digest == KNOWN
    assert "several" not in known.model_dump(mode="json")["prompt"]
    one_by_one = parse_judge("kind: model\nname: a\nmodel: openai/x\ncriteria_per_call: 1\n")
    assert one_by_one.digest == KNOWN


FIRST = "kind: model\nname: a\nmodel: openai/x\n"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("criteria_per_call: 0\n", "0 is no number of criteria; give 1 to 50, or `all`"),
        ("criteria_per_call: 51\n", "51 is no number of criteria"),
        ("criteria_per_call: true\n", "True is no number of criteria"),
        ("criteria_per_call: most\n", "'most' is no number of criteria"),
        ("criteria_per_call: all\n", "needs a prompt for several criteria, and standard@1 has none"),
        (
            "criteria_per_call: 2\nprompt: several@1\nreading: decision\nreason: none\n"
            "parameters: {temperature: null}\n",
            "asks about one criterion a call, as a decision is one verdict",
        ),
    ],
)
def test_criteria_per_call_is_refused_where_it_cannot_be(more: str, words: str) -> None:
    """A number from 1, or all; with a prompt for several criteria; never a typed decision; by its line."""
    with pytest.raises(TableError, match=r"judge:4: criteria_per_call") as raised:
        parse_judge(FIRST + more)
    assert words in str(raised.value)


def test_a_judge_of_several_criteria_is_recorded_and_read_back() -> None:
    """Its number is part of it: 2, 3 and all are three judges, and none is the one that asks one by one."""
    judges = [parse_judge(f"{FIRST}criteria_per_call: {n}\nprompt: several@1\n") for n in (1, 2, 3, "all")]
    assert len({each.digest for each in judges}) == 4
    for each in judges:
        assert ModelJudge.model_validate(each.model_dump(mode="json")) == each
    assert [isinstance(each, ModelJudge) and each.several for each in judges] == [False, True, True, True]


def test_a_stored_judge_is_read_back_the_same() -> None:
    """The stored form holds the prompt's text, so a judge outlives the prompt that shipped with it."""
    spec = model_judge(labels=Labels.LETTERS)
    again = ModelJudge.model_validate_json(spec.model_dump_json())
    assert again == spec
    assert again.digest == spec.digest
    assert STANDARD.binary is not None
    assert json.loads(spec.model_dump_json())["prompt"]["binary"]["system"] == STANDARD.binary.system


MODEL = "kind: model\nname: a\nmodel: openai/x\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("name: a\n", 1, "'kind' is missing"),
        (
            *("kind: modl\n", 1),
            "'modl' is not allowed; allowed: 'model', 'rule', 'baseline', 'panel', 'cascade' or 'external'",
        ),
        ("kind: model\nname: a\n", 1, "'model' is missing"),
        ("kind: model\nname: a\nmodel: gpt-5\n", 3, "lacks its provider; write it in front: openai/gpt-5"),
        ("kind: model\nname: a\nmodel: 'a b'\n", 3, "'a b' is no model"),
        (f"{MODEL}temperature: 1\n", 4, "'temperature' is not a known key"),
        (f"{MODEL}parameters:\n  temprature: 1\n", 5, "did you mean 'temperature'"),
        (f"{MODEL}parameters:\n  temperature: 3\n", 5, "less than or equal to 2"),
        (f"{MODEL}parameters:\n  temperature: true\n", 5, "temperature"),
        (f"{MODEL}labels: digits\n", 4, "allowed: 'words' or 'letters'"),
        (f"{MODEL}prompt: standard@99\n", 4, "there are: brief@1, reference@1, several@1, standard@1, traj"),
        (f"{MODEL}endpoint: compatible\n", 4, "'compatible' needs 'api_base'"),
        (f"{MODEL}endpoint: embedded\n", 4, "'embedded' needs 'weights'"),
        (f"{MODEL}endpoint: embedded\nweights: abc\n", 5, "'abc' is no SHA-256"),
        (f"{MODEL}context: 4096\n", 4, "is not used at endpoint 'provider'"),
        (f"{MODEL}api_base: http://h/v1\n", 4, "is not used at endpoint 'provider'"),
        (f"{MODEL}show: [a, a]\n", 4, "names a field twice"),
        ("kind: baseline\nname: vibes\n", 2, "'vibes' is not allowed"),
        ("- kind: model\n", 1, "a judge is a mapping with at least the keys kind"),
        (f"{MODEL}\tlabels: words\n", 4, "a tab stands where spaces belong"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, line: int, words: str) -> None:
    """One clear sentence: what was given, what is allowed, and where."""
    with pytest.raises(TableError) as caught:
        parse_judge(text, source="judge.yaml")
    assert str(caught.value).startswith(f"judge.yaml:{line}: ")
    assert words in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize(
    "address",
    [
        "http://user:canary@host/v1",
        "http://host/v1?key=canary",
        "http://host/#canary",
        "ftp://canary/",
        "canary",
        "http://[canary",
        "http://",
    ],
)
def test_an_address_holds_no_key_and_is_not_repeated(address: str) -> None:
    """What may be a key in an address is refused, and the message does not show it."""
    with pytest.raises(TableError) as caught:
        parse_judge(f"kind: model\nname: a\nmodel: openai/x\nendpoint: compatible\napi_base: '{address}'\n")
    assert "is no address of a server" in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_judge_is_loaded_from_a_file(tmp_path: Path) -> None:
    """The file door and the text door lead to the same judge; a file that is not there is named."""
    text = f"kind: model\nname: smol\nmodel: SmolLM2\nendpoint: embedded\nweights: {SHA}\n"
    (tmp_path / "judge.yaml").write_text(text)
    assert load_judge(tmp_path / "judge.yaml") == parse_judge(text)
    with pytest.raises(DeclarationError, match=r"cannot read .*none\.yaml"):
        load_judge(tmp_path / "none.yaml")


def test_a_declared_rule_judge_is_the_rule_judge() -> None:
    """The word `kind` in the file does not make it another judge than its RuleSpec."""
    fields = (
        "name: terms\nversion: 1\ncriterion: states_terms\nevidence: [policy]\n"
        "rules:\n- {kind: forbidden, name: free, patterns: [free], says: that it is free}\n"
    )
    declared = parse_judge("kind: rule\n" + fields)
    assert isinstance(declared, RuleJudge)
    plain = RuleSpec.model_validate(declared.model_dump(exclude={"kind"}))
    assert declared.digest == plain.digest
    assert parse_judge("kind: rule\n" + fields.replace("[free]", "[gratis]")).digest != declared.digest


def test_a_declared_baseline_is_the_baseline() -> None:
    """As for rules; its threshold is part of it."""
    declared = parse_judge("kind: baseline\nname: length\naccept_from: 0.6\n")
    assert isinstance(declared, BaselineJudge)
    assert declared.digest == BaselineSpec.model_validate({"name": "length", "accept_from": 0.6}).digest
    assert declared.digest != parse_judge("kind: baseline\nname: length\naccept_from: 0.7\n").digest


def test_an_external_judge_is_what_is_said_of_it() -> None:
    """Another stated version is another judge."""
    one, two = (parse_judge(f"kind: external\nname: promptfoo\nversion: '{n}'\n") for n in (1, 2))
    assert isinstance(one, ExternalJudge)
    assert one.digest != two.digest
    assert one.digest == parse_judge("kind: external\nname: promptfoo\nversion: '1'\norigin: ''\n").digest


def test_settings_show_everything_but_the_prompts_text() -> None:
    """For people: every field with its value, the prompt by its name."""
    shown = settings_of(model_judge())
    assert set(shown) == set(ModelJudge.model_fields)
    assert shown["prompt"] == "standard@1"
    assert shown["parameters"]["temperature"] == 0.0


def test_a_judge_cannot_be_changed() -> None:
    """A spec is frozen."""
    with pytest.raises(ValidationError, match="frozen"):
        model_judge().labels = Labels.LETTERS  # type: ignore[misc]


DECIDES = {"reading": Reading.DECISION, "reason": ReasonPlace.NONE, "parameters": {"temperature": None}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reason": ReasonPlace.BEFORE}, "is not given with a decision; declare `reason: none`"),
        ({"parameters": {"temperature": 0.0}}, "are not sent with a decision"),
        ({"parameters": {"temperature": None, "seed": 1}}, "are not sent with a decision"),
        ({"endpoint": Endpoint.EMBEDDED, "weights": "a" * 64, "model": "any"}, "needs a decision endpoint"),
    ],
)
def test_what_a_decision_cannot_have_is_refused(changes: dict[str, Any], said: str) -> None:
    """A parameter that is not sent would stand in the digest all the same."""
    with pytest.raises(ValidationError, match=said):
        model_judge(**{**DECIDES, **changes})
    decides = model_judge(**DECIDES)
    assert model_judge(**DECIDES, labels=Labels.LETTERS).digest != decides.digest != model_judge().digest


def test_every_field_is_decided_as_asking_the_same_or_not() -> None:
    """A field that is added needs a place here: set aside in what was found of a judge, spelled, or kept."""
    aside = {"name", "reask", "blank_output", "max_characters", "context"}
    spelled = {"model", "api_base", "weights", "prompt", "show", "criteria_per_call"}
    kept = {
        "kind",
        "endpoint",
        "parameters",
        "reading",
        "labels",
        "reason",
        "order",
        "texts",
        "abstention",
    }
    assert aside | spelled | kept == ModelJudge.model_fields.keys()
    assert same_calls.MOVES_NO_CALL["model"] == aside
    assert same_calls.ONE_PROTOCOL == SPOKEN
