"""A reworded rubric or prompt: carried over with its words, or calibrated anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import Session

from calibration.registry import Signature, carry_over, require_admission
from calibration.store.database import Store
from calibration.store.decisions import StoredDecision, get_decision, verify_decisions
from calibration.store.judges import add_judge, get_judge
from calibration.store.rubrics import add_rubric
from calibration.store.watching import raise_alarm
from rubrics.criterion import Criterion
from rubrics.digest import digest
from rubrics.errors import AdmissionExpired, DeclarationError, JudgeNotAdmitted, RecordError
from rubrics.rubric import Rubric
from tests.calibration.filling import CRITERION, NOW, RUBRIC
from tests.calibration.registry.deciding import CLEAN, examined, later, scope_of, signed
from tests.databases import BOTH

TYPO = Signature("R. Ito", "only a typing mistake was corrected")


def reworded(version: int = 2, **changes: Any) -> Rubric:
    """The rubric of the tests with other words in its one criterion."""
    criterion = RUBRIC.criterion(CRITERION)
    content = {**criterion.model_dump(), **changes}
    return Rubric.model_validate(
        {**RUBRIC.model_dump(), "version": version, "criteria": (Criterion.model_validate(content),)}
    )


def published(session: Session, rubric: Rubric) -> Rubric:
    """The rubric, published."""
    add_rubric(session=session, rubric=rubric, actor="lead", at=NOW)
    return rubric


def carried(session: Session, standing: StoredDecision, **to: Any) -> StoredDecision:
    """The decision carried over a day later."""
    return carry_over(session=session, standing=standing, signature=TYPO, at=later(1), **to)


@BOTH
def test_a_typing_mistake_does_not_orphan_evidence(store: Store) -> None:
    """The new version is admitted on the same report until the same day; every changed word is recorded."""
    with store.write() as session:
        first = signed(session, examined(session, CLEAN))
        new = published(session, reworded(title="Correct and complete"))
        second = carried(session, first, rubric=new)
        asked = replace(first.scope, rubric_digest=new.digest)
        may = require_admission(session=session, scope=asked, judge="gpt", rubric=new.ref, at=later(2))
        assert may.hash == second.hash
        assert (may.report_digest, may.valid_until) == (first.report_digest, first.valid_until)
        assert may.content["carried_over"]["from"] == first.hash
        (words,) = may.content["carried_over"]["words"]
        assert "{+" in words["words"]
        assert may.content["rubric"] == new.ref
        assert verify_decisions(session=session) == ()
        with pytest.raises(AdmissionExpired):
            require_admission(session=session, scope=asked, judge="gpt", rubric=new.ref, at=later(30))


def test_words_are_counted_from_the_evidence_on(sqlite_store: Store) -> None:
    """A second carry-over names the words of the first as well: many small steps are one long one."""
    with sqlite_store.write() as session:
        first = signed(session, examined(session, CLEAN))
        second = carried(session, first, rubric=published(session, reworded(2, title="One")))
        third = carried(
            session,
            second,
            rubric=published(session, reworded(3, title="One", question="Is it really correct?")),
        )
        parts = {each["part"] for each in third.content["carried_over"]["words"]}
    assert parts == {f"{CRITERION} title", f"{CRITERION} question"}


@pytest.mark.parametrize(
    "change",
    [
        {"required": False},
        {"requires": ("input",)},
        {
            "scale": {
                "kind": "ordinal",
                "levels": [{"level": str(n), "anchor": "a"} for n in (1, 2, 3)],
                "accept_at": "2",
            }
        },
    ],
)
def test_a_changed_rule_is_not_carried_over(sqlite_store: Store, change: dict[str, Any]) -> None:
    """The first substantive change is named."""
    with sqlite_store.write() as session:
        first = signed(session, examined(session, CLEAN))
        if "required" in change:
            other = RUBRIC.criterion(CRITERION).model_copy(update={"key": "other"})
            content = {**RUBRIC.model_dump(), "version": 2}
            changed = RUBRIC.criterion(CRITERION).model_copy(update=change)
            new = Rubric.model_validate({**content, "criteria": (changed, other)})
        else:
            new = reworded(**change)
        published(session, new)
        with pytest.raises(DeclarationError, match="in more than words"):
            carried(session, first, rubric=new)


def test_what_may_not_be_carried(sqlite_store: Store) -> None:
    """Neither or both, the same scope, a lapsed or suspended admission, or over a decision of its own."""
    with sqlite_store.write() as session:
        first = signed(session, examined(session, CLEAN))
        new = published(session, reworded(title="One"))
        gpt = get_judge(session=session, judge="gpt")
        with pytest.raises(DeclarationError, match="either the rubric"):
            carried(session, first)
        with pytest.raises(DeclarationError, match="either the rubric"):
            carried(session, first, rubric=new, judge=gpt)
        with pytest.raises(DeclarationError, match="for exactly this already"):
            carried(session, first, rubric=RUBRIC)
        with pytest.raises(AdmissionExpired):
            carry_over(session=session, standing=first, signature=TYPO, at=later(30), rubric=new)
        carried(session, first, rubric=new)
        with pytest.raises(RecordError, match="stands for the new version"):
            carried(session, first, rubric=new)


SPEC = {
    "kind": "external",
    "name": "gpt",
    "prompt": {"name": "p", "system": "Judge the anser.", "parts": ["a"]},
}


def declared(session: Session, **changes: Any) -> Any:
    """A judge with another spec."""
    content = {**SPEC, **changes}
    add_judge(
        session=session,
        digest=digest(content),
        judge_name=content["name"],
        kind="external",
        content=content,
        actor="lead",
        at=later(0.5),
    )
    return get_judge(session=session, judge=digest(content))


def prompted(session: Session) -> StoredDecision:
    """An admission whose judge has a prompt."""
    first = signed(session, examined(session, CLEAN))
    old = declared(session)
    content = dict(first.content)
    from calibration.store.decisions import add_decision
    from calibration.store.reports import add_report, get_report

    report = get_report(session=session, digest_prefix=first.report_digest)
    add_report(
        session=session,
        digest=digest("again"),
        input_digest=digest("inputs"),
        judge_digest=old.digest,
        rubric_digest=RUBRIC.digest,
        criterion=CRITERION,
        dataset=report.dataset,
        content=report.content,
        actor="test",
        at=NOW,
    )
    return add_decision(
        session=session,
        scope=replace(first.scope, judge_digest=old.digest),
        report_digest=digest("again"),
        policy_digest=first.policy_digest,
        outcome="admit",
        content=content,
        signer="R. Ito",
        valid_until=later(30),
        supersedes=None,
        at=NOW,
    )


def test_a_reworded_prompt_is_carried_over(store: Store) -> None:
    """Only the prompt differs; each changed text is shown word by word."""
    with store.write() as session:
        first = prompted(session)
        new = declared(session, prompt={**SPEC["prompt"], "system": "Judge the answer.", "parts": ["a", "b"]})  # type: ignore[dict-item]
        second = carried(session, first, judge=new)
        assert second.scope.judge_digest == new.digest
        words = {each["part"]: each["words"] for each in second.content["carried_over"]["words"]}
    assert words == {"prompt.system": "Judge the [-anser-]{+answer+}.", "prompt.parts.1": "{+b+}"}


def test_another_model_is_not_carried_over(sqlite_store: Store) -> None:
    """Whatever else of the spec changed is named."""
    with sqlite_store.write() as session:
        first = prompted(session)
        with pytest.raises(DeclarationError, match=r"more than its prompt \(model\)"):
            carried(session, first, judge=declared(session, model="openai/other"))


def test_an_alarm_of_the_origin_holds_for_what_was_carried(sqlite_store: Store) -> None:
    """A carry-over is no way out of an alarm."""
    watched = {"recalibrate_on": ("anchor_change",)}
    from tests.calibration.registry.deciding import TEN

    policy = TEN.model_copy(update=watched)
    with sqlite_store.write() as session:
        first = signed(session, examined(session, CLEAN, policy), policy=policy)
        new = published(session, reworded(title="One"))
        second = carried(session, first, rubric=new)
        raise_alarm(
            session=session,
            decision=first.hash,
            trigger="anchor_change",
            sentence="moved",
            actor="w",
            at=later(2),
        )
        assert get_decision(session=session, hash_prefix=second.hash).outcome == "admit"
        with pytest.raises(JudgeNotAdmitted, match="suspended by an alarm"):
            require_admission(session=session, scope=second.scope, judge="gpt", rubric=new.ref, at=later(3))


def test_a_refusal_names_what_changed(sqlite_store: Store) -> None:
    """Another rubric, judge, population or role of the same name: which of them, since which decision."""
    with sqlite_store.write() as session:
        first = signed(session, examined(session, CLEAN))
        new = published(session, reworded(title="One"))
        other = declared(session, model="openai/other")
        diagnostic = replace(first.scope, role="diagnostic")
        scopes = {
            "the rubric changed since decision": (replace(first.scope, rubric_digest=new.digest), new.ref),
            "the judge changed since decision": (scope_of(session, judge_digest=other.digest), RUBRIC.ref),
            "is for population 'as calibrated', not 'chats'": (
                replace(first.scope, population="chats"),
                RUBRIC.ref,
            ),
            "is for role 'acceptance', not 'diagnostic'": (diagnostic, RUBRIC.ref),
        }
        for words, (scope, ref) in scopes.items():
            with pytest.raises(JudgeNotAdmitted, match=words) as caught:
                require_admission(session=session, scope=scope, judge="gpt", rubric=ref, at=later(1))
            assert any(words in line for line in caught.value.missing)
