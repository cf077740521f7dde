"""JudgeSpec: everything that makes a judge this judge, and its digest.

A judge is a model with a prompt, a way to read its reply, an order of presentation and a rule for what it
cannot tell; five readings of the same weights differ as much as five models do. So whatever can move a
verdict stands here and enters the digest, and a judge whose digest was not examined may accept nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    model_validator,
)

from judge.baselines import BaselineSpec
from judge.fence import FENCE_VERSION
from judge.panel import CascadeJudge, PanelJudge
from judge.parsing import READING_VERSION, Reading
from judge.rule_spec import RuleSpec
from judge.templates import Prompts, load_prompt
from rubrics.digest import digest
from rubrics.loader import parse_declaration, read_declaration
from rubrics.order import OrderPolicy
from rubrics.record import EvidenceKey, Frozen, Misfit, Name, OptionalText, shown

PROMPT_VERSION = 1
"""Raised whenever the same spec, rubric and item would lead to other messages: part of every digest."""
ENGINE = {"fence": FENCE_VERSION, "prompt": PROMPT_VERSION, "reading": READING_VERSION}

DEFAULT_CONTEXT = 2048
"""Tokens; what the default weights were trained with."""

_MODEL = re.compile(r"[A-Za-z0-9][\w./:@+-]{0,199}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")


class JudgeKind(StrEnum):
    """What gives the verdicts."""

    MODEL = "model"
    RULE = "rule"
    BASELINE = "baseline"
    PANEL = "panel"
    """Votes of other judges."""
    CASCADE = "cascade"
    """A second judge where a first one does not settle the item."""
    EXTERNAL = "external"
    """Another tool; its verdicts are imported and its decisions say "external, unverified"."""


class Endpoint(StrEnum):
    """Where a model is called."""

    PROVIDER = "provider"
    """The provider's own address; the key comes from the environment."""
    COMPATIBLE = "compatible"
    """An OpenAI-compatible server at `api_base`."""
    EMBEDDED = "embedded"
    """A GGUF file served on this machine for the time of the run."""


class Labels(StrEnum):
    """What stands for an option in the prompt and in the reply."""

    WORDS = "words"
    LETTERS = "letters"
    """A, B, C by place: the order of the options then shows most clearly in the verdicts."""


class ReasonPlace(StrEnum):
    """Whether the reply holds a reason, and on which side of the verdict."""

    BEFORE = "before"
    AFTER = "after"
    NONE = "none"


class TextOrder(StrEnum):
    """Whether the texts that the output is held against stand before it."""

    EVIDENCE_FIRST = "evidence_first"
    """Record and reference, input, output."""
    CANDIDATE_FIRST = "candidate_first"
    """Input, output, record and reference."""
    SWAPPED = "swapped"
    """Evidence first in the order `ab`, the candidate first in `ba`: a lean to either place shows."""


class BlankOutput(StrEnum):
    """What becomes of an output in which a reader would see nothing."""

    FAIL = "fail"
    """It fails without a call: models are known to accept nothing at all."""
    ASK = "ask"
    """The model is asked, for criteria that a silent output can meet."""


def _model_name(text: str) -> str:
    if not _MODEL.fullmatch(text):
        raise ValueError(
            f"{shown(text)} is no model; write it as the provider does: openai/gpt-4.1-2025-04-14"
        )
    return text


def _address(text: str) -> str:
    try:
        parts = urlsplit(text)
        known = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ValueError(_NO_ADDRESS) from None
    if not known or "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError(_NO_ADDRESS)
    return text


_NO_ADDRESS = (  # the value is not repeated: it may hold a password
    "is no address of a server; write it like http://127.0.0.1:8000/v1, without a password or a key in it"
)


def _sha256(text: str) -> str:
    if not _SHA256.fullmatch(text):
        raise ValueError(f"{shown(text)} is no SHA-256; write 64 lower-case hexadecimal digits")
    return text


def _per_call(value: Any) -> Any:
    known = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_CRITERIA
    if not known and value != "all":
        raise ValueError(
            f"{value!r} is no number of criteria; give 1 to {MAX_CRITERIA}, or `all` for every criterion of "
            "the rubric in one call"
        )
    return value


MAX_CRITERIA = 50
CriteriaPerCall = Annotated[int | Literal["all"], BeforeValidator(_per_call)]
"""1 asks criteria one by one."""


class Parameters(Frozen):
    """What is sent to the model beside the messages; null leaves the provider's default."""

    temperature: Annotated[float, Field(strict=True, ge=0, le=2)] | None = 0.0
    """0 for one answer as repeatable as the provider makes it; reasoning models want null."""
    top_p: Annotated[float, Field(strict=True, gt=0, le=1)] | None = None
    seed: Annotated[StrictInt, Field(ge=0, lt=2**31)] | None = None
    max_output_tokens: Annotated[StrictInt, Field(ge=8, le=100_000)] = 1024
    """Reasoning included; a reply that is cut off is unknown(invalid, truncated)."""


class ModelJudge(Frozen):
    """A language model as a judge."""

    kind: Literal["model"]
    name: Name
    model: Annotated[str, AfterValidator(_model_name)]
    """Provider and model as LiteLLM writes them; for an embedded model the name of its weights."""
    endpoint: Endpoint = Endpoint.PROVIDER
    api_base: Annotated[str, AfterValidator(_address)] | None = None
    """The server of a compatible endpoint: another address may serve another model under the same name."""
    weights: Annotated[str, AfterValidator(_sha256)] | None = None
    """SHA-256 of the GGUF file of an embedded model."""
    context: Annotated[StrictInt, Field(ge=256, le=1_000_000)] | None = None
    """Tokens of prompt and reply that an embedded model is given room for; null is DEFAULT_CONTEXT. A longer
    prompt is unknown(invalid, too_long)."""
    parameters: Parameters = Parameters()
    prompt: Prompts = Field(default_factory=lambda: load_prompt("standard@1"))
    reading: Reading = Reading.STRUCTURED
    labels: Labels = Labels.WORDS
    reason: ReasonPlace = ReasonPlace.BEFORE
    order: OrderPolicy = OrderPolicy.BOTH
    texts: TextOrder = TextOrder.EVIDENCE_FIRST
    """In which order texts stand; criteria stand in the order of the rubric."""
    abstention: StrictBool = True
    """Whether the model is offered verdicts for what it cannot tell."""
    criteria_per_call: CriteriaPerCall = 1
    """How many criteria of the rubric, in its order, one call asks about: a number, or `all`. A call always
    asks about its whole group, whichever of its criteria is wanted."""
    blank_output: BlankOutput = BlankOutput.FAIL
    max_characters: Annotated[StrictInt, Field(ge=1)] | None = None
    """Longest item in characters of all texts shown; a longer one is unknown(invalid, too_long), no call."""
    show: tuple[EvidenceKey, ...] | None = None
    """The evidence fields shown beside the outputs; null shows every field of the rubric."""
    reask: StrictBool = False
    """Whether a reply not of the agreed form is asked for once more; both calls are counted and paid."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for misfit in _model_misfits(self):
            raise misfit
        return self

    @property
    def several(self) -> bool:
        """Whether a call asks about several criteria."""
        return self.criteria_per_call != 1

    @property
    def digest(self) -> str:
        """Identity: the digest of every field, the text of the prompt and the version of fence and reading.

        Fields left at their default do not enter, so that a field added later leaves older judges alone;
        therefore no default may ever change its meaning. The text of the prompt always enters.
        """
        dump = self.model_dump(mode="json", exclude_defaults=True)
        prompt = self.prompt.model_dump(mode="json")
        return digest({"schema": "model-judge/1", "engine": ENGINE, **dump, "prompt": prompt})


class RuleJudge(RuleSpec):
    """A rule judge as a file declares it: its RuleSpec with the word `kind`, and the same identity."""

    kind: Literal["rule"]

    @property
    def digest(self) -> str:
        """The digest of the RuleSpec."""
        return RuleSpec(**{name: getattr(self, name) for name in RuleSpec.model_fields}).digest


class BaselineJudge(BaselineSpec):
    """A baseline as a file declares it: its BaselineSpec with the word `kind`, and the same identity."""

    kind: Literal["baseline"]

    @property
    def digest(self) -> str:
        """The digest of the BaselineSpec."""
        return BaselineSpec(**{name: getattr(self, name) for name in BaselineSpec.model_fields}).digest


class ExternalJudge(Frozen):
    """A judge that runs elsewhere: only its verdicts are known here."""

    kind: Literal["external"]
    name: Name
    version: OptionalText = ""
    """What its owner calls this state of it; another state is another judge."""
    origin: OptionalText = ""
    """Tool, model and prompt as far as they are known."""

    @property
    def digest(self) -> str:
        """The digest of what is declared of it."""
        return digest({"schema": "external-judge/1", **self.model_dump(mode="json", exclude_defaults=True)})


JudgeSpec: TypeAlias = ModelJudge | RuleJudge | BaselineJudge | PanelJudge | CascadeJudge | ExternalJudge
_BY_KIND: dict[
    JudgeKind,
    type[ModelJudge | RuleJudge | BaselineJudge | PanelJudge | CascadeJudge | ExternalJudge],
] = {
    JudgeKind.MODEL: ModelJudge,
    JudgeKind.RULE: RuleJudge,
    JudgeKind.BASELINE: BaselineJudge,
    JudgeKind.PANEL: PanelJudge,
    JudgeKind.CASCADE: CascadeJudge,
    JudgeKind.EXTERNAL: ExternalJudge,
}


class Judge(BaseModel):
    """The one key of a file that says what its other keys are."""

    model_config = ConfigDict(extra="ignore")
    kind: JudgeKind


def parse_judge(text: str, *, source: str = "judge") -> JudgeSpec:
    """The judge that a YAML text declares; `source` is what messages call the text.

    Raises TableError with the line and field of the first problem; the message has a line for each.
    """
    kind = parse_declaration(text, Judge, source=source).kind
    return parse_declaration(text, _BY_KIND[kind], source=source)


def load_judge(path: str | Path) -> JudgeSpec:
    """The judge that a file declares.

    Raises DeclarationError for a file that cannot be read, TableError (with line and field) for one that is
    no judge.
    """
    return parse_judge(read_declaration(path), source=str(path))


_ONLY_AT = {"api_base": Endpoint.COMPATIBLE, "weights": Endpoint.EMBEDDED, "context": Endpoint.EMBEDDED}


def _model_misfits(judge: ModelJudge) -> Iterator[Misfit]:
    for field, endpoint in _ONLY_AT.items():
        given, needed = getattr(judge, field) is not None, judge.endpoint is endpoint
        if needed and not given and field != "context":
            yield Misfit(
                f"{judge.endpoint.value!r} needs {field!r}; add it, or take another endpoint", "endpoint"
            )
        if given and not needed:
            yield Misfit(
                f"is not used at endpoint {judge.endpoint.value!r}; delete it, or change the endpoint", field
            )
    if judge.endpoint is not Endpoint.EMBEDDED and "/" not in judge.model:
        yield Misfit(f"{judge.model!r} lacks its provider; write it in front: openai/{judge.model}", "model")
    if judge.reading is Reading.DECISION:
        yield from _decision_misfits(judge)
    if judge.several:
        yield from _several_misfits(judge)
    if judge.texts is TextOrder.SWAPPED and judge.order is not OrderPolicy.BOTH:
        yield Misfit("swaps nothing where the judge is asked in one order; declare `order: both`", "texts")
    if judge.show is not None and len(judge.show) != len(set(judge.show)):
        yield Misfit("names a field twice; name it once", "show")


def _several_misfits(judge: ModelJudge) -> Iterator[Misfit]:
    if judge.reading is Reading.DECISION:
        yield Misfit(
            "asks about one criterion a call, as a decision is one verdict; delete it, or change the reading",
            "criteria_per_call",
        )
    if judge.prompt.several is None:
        yield Misfit(
            f"needs a prompt for several criteria, and {judge.prompt.ref} has none; declare "
            "`prompt: several@1`, or write a prompt with `several`",
            "criteria_per_call",
        )


def _decision_misfits(judge: ModelJudge) -> Iterator[Misfit]:
    if judge.endpoint is Endpoint.EMBEDDED:
        yield Misfit("needs a decision endpoint, which an embedded model does not have", "reading")
    if judge.reason is not ReasonPlace.NONE:
        yield Misfit("is not given with a decision; declare `reason: none`", "reason")
    sent = judge.parameters
    if (sent.temperature, sent.top_p, sent.seed) != (None, None, None):
        yield Misfit("are not sent with a decision; declare `parameters: {temperature: null}`", "parameters")


def settings(judge: ModelJudge) -> dict[str, Any]:
    """Every field of the judge by name, defaults included and the prompt by name@version, to show people."""
    return {**judge.model_dump(mode="json", exclude={"prompt"}), "prompt": judge.prompt.ref}
