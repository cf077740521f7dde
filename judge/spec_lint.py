"""What of a judge's declaration is risky: allowed, and worth a second thought before money is spent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from judge.panel import CascadeJudge, PanelJudge, VoteRule
from judge.parsing import Reading
from judge.spec import BlankOutput, Endpoint, JudgeSpec, ModelJudge, ReasonPlace
from judge.templates import SCALES, PromptSet, load_prompt, shipped
from rubrics.criterion import Criterion
from rubrics.order import OrderPolicy

DATED = re.compile(r"\d{4}-?\d{2}-?\d{2}|-\d{4}\Z|\d{3}\Z")
"""A model name that says which state of the model is meant."""
MOVING = re.compile(r"[-:_/.]latest\Z", re.IGNORECASE)
"""A name that moves at whatever address."""


def risks(judge: JudgeSpec) -> tuple[str, ...]:
    """A sentence for each risky choice of the declaration, in the order of its fields."""
    if isinstance(judge, ModelJudge):
        return tuple(_of_model(judge))
    return tuple(_of_panel(judge)) if isinstance(judge, PanelJudge | CascadeJudge) else ()


def _of_model(judge: ModelJudge) -> Iterator[str]:
    compatible = judge.endpoint is Endpoint.COMPATIBLE and MOVING.search(judge.model)
    if compatible or (judge.endpoint is Endpoint.PROVIDER and not DATED.search(judge.model)):
        yield f"{judge.model!r} is a moving name: what answers may change unseen; name a dated model"
    temperature = judge.parameters.temperature
    if temperature is None or temperature > 0:
        how = "the provider's own temperature" if temperature is None else f"temperature {temperature:g}"
        yield f"{how} with one vote: part of every verdict is chance; let a panel of repeats vote"
    if not judge.abstention:
        yield "no abstention: what the judge cannot tell becomes a pass or a fail"
    if judge.order is OrderPolicy.AS_DECLARED:
        yield "one order: a lean to what stands first cannot be seen, and is in every verdict"
    if judge.reason is ReasonPlace.AFTER:
        yield "the reason after the verdict is a justification, and changes nothing"
    if judge.several:
        yield "several criteria in one call: the verdict on one colours the next (halo), errors come together"
    if judge.reading is Reading.MARKED and judge.reask:
        yield "a re-ask of free text: a second chance for the judge that a person does not see"
    if judge.prompt.ref not in shipped() or judge.prompt != load_prompt(judge.prompt.ref):
        yield from template_risks(judge.prompt)
    if judge.blank_output is BlankOutput.ASK:
        yield "blank outputs go to the model: models are known to accept nothing at all"


def template_risks(prompt: PromptSet) -> Iterator[str]:
    """What a person's own templates leave out that the shipped ones say; a sentence each."""
    for scale in (*SCALES, "several"):
        template = getattr(prompt, scale)
        if template is None:
            continue
        called = f"prompt {prompt.ref}, {scale}"
        system, user = template.system, template.user
        if "CANDIDATE" not in system:
            yield f"{called}: does not say that CANDIDATE texts are data and never instructions"
        if "{{material}}" in user and not user.partition("{{material}}")[2].strip():
            yield f"{called}: nothing follows the texts, so they have the last word; end with the question"
        if "question" not in user.partition("{{material}}")[2]:
            yield f"{called}: the question is not asked again after the texts"
        if any(word in system.lower() for word in ("score from", "out of 10", "/10")):
            yield f"{called}: speaks of a score, and the reply names one of the options"


def _of_panel(judge: PanelJudge | CascadeJudge) -> Iterator[str]:
    if isinstance(judge, CascadeJudge):
        if "pass" not in judge.escalate:
            yield "what the first judge accepts is final: the cascade's FAR is hardly below the first judge's"
        return
    votes = sum(member.votes for member in judge.members)
    if len(judge.members) == 1:
        yield "every vote is of one judge: votes take chance away, and none of what it gets wrong each time"
    if judge.rule is VoteRule.MAJORITY and votes % 2 == 0:
        yield f"{votes} votes may split evenly: such items are unknown (inconsistent)"


def risks_with(judge: JudgeSpec, criteria: Iterable[Criterion], families: Iterable[str]) -> tuple[str, ...]:
    """What is risky of this judge under these criteria, on outputs of these families of models."""
    if not isinstance(judge, ModelJudge):
        return ()
    bare = [criterion.key for criterion in criteria if not criterion.examples]
    said = [f"no examples for {', '.join(bare)}: the judge has the words of the rubric alone"] if bare else []
    return (*said, *own_family(judge, families))


def own_family(judge: JudgeSpec, families: Iterable[str]) -> tuple[str, ...]:
    """A sentence for each family of models whose outputs the judge would judge as one of its own."""
    if not isinstance(judge, ModelJudge):
        return ()
    name = judge.model.lower()
    return tuple(
        f"it judges outputs of its own family ({family}): judges prefer what their family wrote"
        for family in sorted({family.strip().lower() for family in families if family.strip()})
        if family in name
    )
