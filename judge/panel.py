"""Several votes as one judge: panels, repeated votes of one judge, and cascades from a cheap to a strong one.

Declared before anything is judged and examined as one judge: its errors are measured on its own verdicts,
never multiplied from its members', whose errors come together. It makes no call; its members do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StrictInt, model_validator

from calibration.rendering.text import counted
from rubrics.answer import Answer, no_answer
from rubrics.digest import digest
from rubrics.order import reconcile
from rubrics.record import Frozen, Misfit, Name, shown
from rubrics.verdict import UnknownReason

_DIGEST = re.compile(r"[0-9a-f]{64}")


def _digest(text: str) -> str:
    if not _DIGEST.fullmatch(text):
        raise ValueError(
            f"{shown(text)} is no digest of a judge; `voirdire judge show NAME` prints its 64 digits"
        )
    return text


JudgeDigest = Annotated[str, AfterValidator(_digest)]


class VoteRule(StrEnum):
    """When votes make a verdict."""

    MAJORITY = "majority"
    """More than half of all votes say the same; votes without an answer count among all."""
    UNANIMOUS = "unanimous"
    """Every vote says the same."""


class Member(Frozen):
    """One judge of a panel."""

    judge: JudgeDigest
    votes: Annotated[StrictInt, Field(ge=1, le=15)] = 1
    """Repeats of it that vote, each in every order that it declares."""


class PanelJudge(Frozen):
    """Votes of one or several judges as one judge."""

    kind: Literal["panel"]
    name: Name
    members: Annotated[tuple[Member, ...], Field(min_length=1)]
    rule: VoteRule = VoteRule.MAJORITY

    @model_validator(mode="after")
    def _fits(self) -> Self:
        judges = [member.judge for member in self.members]
        if len(judges) != len(set(judges)):
            raise Misfit("names a judge twice; give it more `votes` instead", "members")
        if sum(member.votes for member in self.members) < 2:  # one vote is the judge itself
            raise Misfit("has one vote; name a second judge, or give the one more `votes`", "members")
        return self

    @property
    def digest(self) -> str:
        """Identity: members by their digests, votes and rule."""
        return digest({"schema": "panel-judge/1", **self.model_dump(mode="json")})

    @property
    def judges(self) -> tuple[Member, ...]:
        """The members with their votes."""
        return self.members

    def used(self, votes: Sequence[Sequence[Answer]]) -> tuple[int, ...]:
        """The places of the members whose votes made the answer: all of them."""
        return tuple(range(len(votes)))

    def decide(self, votes: Sequence[Sequence[Answer]]) -> Answer:
        """The panel's answer from the votes of each member, in the order of `judges`."""
        return vote([answer for member in votes for answer in member], self.rule)


class Escalates(StrEnum):
    """What a cascade's first judge may say that goes to the second."""

    UNKNOWN = "unknown"
    """Every final unknown: abstained, invalid, inconsistent."""
    PASS = "pass"
    FAIL = "fail"


class CascadeJudge(Frozen):
    """A first judge, and a second one where the first does not settle the item."""

    kind: Literal["cascade"]
    name: Name
    first: JudgeDigest
    then: JudgeDigest
    escalate: Annotated[tuple[Escalates, ...], Field(min_length=1)] = (Escalates.UNKNOWN,)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.first == self.then:
            raise Misfit("is the first judge again; name another", "then")
        if len(set(self.escalate)) == len(Escalates):
            raise Misfit("sends everything on; take the second judge alone", "escalate")
        return self

    @property
    def digest(self) -> str:
        """Identity: both judges by their digests, and what goes from one to the other."""
        kept = {**self.model_dump(mode="json"), "escalate": sorted(set(self.escalate))}
        return digest({"schema": "cascade-judge/1", **kept})

    @property
    def judges(self) -> tuple[Member, ...]:
        """Both judges, one vote each."""
        return (Member(judge=self.first), Member(judge=self.then))

    def decide(self, votes: Sequence[Sequence[Answer]]) -> Answer:
        """The cascade's answer from the answers of both; the second is read only where it is asked."""
        first, then = votes[0][0], votes[1][0]
        return then if self.escalates(first) else first

    def used(self, votes: Sequence[Sequence[Answer]]) -> tuple[int, ...]:
        """The places of the judges whose answers made the answer: the second only where it is asked."""
        return (0, 1) if self.escalates(votes[0][0]) else (0,)

    def escalates(self, first: Answer) -> bool:
        """Whether the first judge's answer goes to the second; an open one has to be answered first."""
        if first.reason is not None:
            return not first.reason.is_open and Escalates.UNKNOWN in self.escalate
        return first.value in {each.value for each in self.escalate}


def vote(votes: Sequence[Answer], rule: VoteRule) -> Answer:
    """What votes amount to; every vote counts in the denominator, those without an answer too.

    Without a verdict: the open reason where an open vote could still make one; inconsistent(votes) where
    votes differ; else the strongest reason among them (rubrics.order.reconcile). ValueError without a vote.
    """
    if not votes:
        raise ValueError("no vote was cast")
    given = Counter(answer.value for answer in votes if answer.value is not None)
    open_votes = [answer for answer in votes if answer.reason is not None and answer.reason.is_open]
    needed = len(votes) if rule is VoteRule.UNANIMOUS else len(votes) // 2 + 1
    for value, count in given.items():
        if count >= needed:
            return Answer(value=value)
    most = max(given.values(), default=0)
    if open_votes and most + len(open_votes) >= needed:
        return reconcile(open_votes)
    if len(given) > 1 or (given and rule is VoteRule.MAJORITY):
        return no_answer(UnknownReason.INCONSISTENT, "votes")
    return reconcile([answer for answer in votes if answer.value is None])


def panel_words(judge: PanelJudge | CascadeJudge) -> str:
    """How the judge decides, in words."""
    if isinstance(judge, CascadeJudge):
        words = {Escalates.UNKNOWN: "what it cannot tell", Escalates.PASS: "passes", Escalates.FAIL: "fails"}
        sent = ", ".join(words[each] for each in Escalates if each in judge.escalate)
        return f"a cascade: the first judge, then the second for {sent}"
    votes = sum(member.votes for member in judge.members)
    return f"{counted(votes, 'vote')} of {counted(len(judge.members), 'judge')}, {judge.rule.value}"
