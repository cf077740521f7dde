"""The admission review: numbers of the calibration module, and a decision that nothing suggests."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1.element_tree import Button  # noqa: TID251

from calibration.evidence import AdmissionOutcome
from calibration.policy import far_only, shipped_policy
from calibration.registry.verifying import Recomputed, verify
from calibration.store.assessments import LabelEntry, add_labels
from calibration.store.chain import events
from calibration.store.database import Store
from calibration.store.decisions import StoredDecision, iter_decisions
from calibration.store.reports import list_looks
from calibration.store.schema import open_store
from labeling_ui.review import here
from tests.calibration.filling import CRITERION, DATASET, NOW, RUBRIC
from tests.labeling_ui.review.judged import judged, measured
from tests.labeling_ui.review.looking import Looking

REASON = "Both margins and every accepted failure were read."
SECOND = "I read the sixteen too; a person looks at every output."


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store in which three judges were measured, made once."""
    path = tmp_path_factory.mktemp("judged") / "judged.db"
    made = open_store(path)
    with made.write() as session:
        judged(session)
    made.close()
    return path


@pytest.fixture
def db(template: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of that file of the test's own."""
    path = tmp_path / "voirdire.db"
    shutil.copyfile(template, path)
    yield path
    here._store.clear()


@pytest.fixture
def store(db: Path) -> Iterator[Store]:
    """The store in that file."""
    opened = open_store(db)
    yield opened
    opened.close()


def judges(db: Path, name: str = "R. Ito") -> Looking:
    """Somebody at the page Judges."""
    page = Looking(db, name)
    page.app.switch_page("views/judges.py")
    return page.run()


def decide_on(page: Looking, judge: str) -> Looking:
    """The page with this judge chosen."""
    box = next(each for each in page.app.selectbox if each.label == "Judge to decide on")
    box.select_index(box.options.index(judge))
    return page.run()


def fill(page: Looking, word: str | None = None, reason: str | None = None) -> Looking:
    """The page with this word of the decision chosen, and this reason."""
    if word is not None:
        control(page).set_value(word)
    if reason is not None:
        (area,) = page.app.text_area
        area.set_value(reason)
    return page.run()


def control(page: Looking) -> Any:
    """The control of the decision."""
    groups: Sequence[Any] = page.app.get("button_group")
    (found,) = [each for each in groups if each.label == "Decision"]
    return found


def button(page: Looking, label: str) -> Button:
    """The button with this label."""
    return next(each for each in page.app.button if each.label == label)


def press(page: Looking, label: str) -> Looking:
    """The page after this button."""
    button(page, label).click()
    return page.run()


def decisions(store: Store) -> list[StoredDecision]:
    """All signed decisions."""
    with store.read() as session:
        return list(iter_decisions(session=session))


def test_numbers_are_the_calibration_modules(db: Path) -> None:
    """Exercise 3: 16/80 = 20 % [13, 30] rejected, 4/80 insufficient, 1/80 admitted; looking costs no look."""
    said = judges(db).words
    assert "Admit judge-a. Reject judge-b. Collect more evidence on judge-c." in said
    rows = said[said.index("Judge and outcome") : said.index("always-accept")].replace("\u202f", " ")
    # Wilson, two-sided 95 %: 16/80 [12.7, 30.0] %, 4/80 [2.0, 12.2] %, 1/80 [0.2, 6.7] %
    assert "judge-aadmit1/80 1 % [0, 7]below the limit" in rows
    assert "judge-cinsufficient evidence4/80 5 % [2, 12]crosses the limit" in rows
    assert "judge-breject16/80 20 % [13, 30]above the limit" in rows
    assert rows.index("judge-a") < rows.index("judge-c") < rows.index("judge-b")


def test_unknowns_margins_and_what_is_needed_stand_there(db: Path, store: Store) -> None:
    """The kappas with both margins, the looks, and the failures that judge-c still needs."""
    page = decide_on(judges(db), "judge-c")
    said = page.words
    assert "Agreement beyond chance" in said
    assert "178/200" in said  # 16 accepted + 6 rejected differ: 200 - 22
    assert "130/200120/200" in said  # what judge-b accepts beside what people pass
    assert "Looks used1 of 1" in said
    assert "More failures needed, none of them accepted19" in said
    assert "More failures needed at the rate seen59" in said
    assert "What more labels would buy" in said
    assert "Signed in as R. Ito, local, unverified" in said
    # of judges at 5 % as seen 80 failures admit 23.1 %, exact
    assert 'aria-label="true rate 5 %, as seen: 23 % with 80 failures' in page.html.replace("\u202f", " ")
    with store.read() as session:
        assert len(list_looks(session=session)) == 3


def test_nothing_is_preselected_and_sign_waits_for_a_reason(db: Path, store: Store) -> None:
    """AppTest list 15: no default decision; Sign opens with a choice and twenty characters, not before."""
    page = judges(db)
    assert not control(page).value
    assert button(page, "Sign").disabled
    fill(page, reason=REASON)
    assert button(page, "Sign").disabled
    fill(page, "Admit")
    assert not button(page, "Sign").disabled
    fill(page, reason="nineteen characters")
    assert button(page, "Sign").disabled
    assert decisions(store) == []


def test_signed_outcome_shows_its_hash_and_its_card(db: Path, store: Store) -> None:
    """The record is the policy's outcome with its reason, and verifies; hash and card stand there."""
    page = press(fill(judges(db), "Admit", REASON), "Sign")
    (stored,) = decisions(store)
    assert (stored.outcome, stored.signer) == ("admit", "R. Ito")
    assert stored.content["reason"] == REASON
    assert stored.content["signer_established"] == "local, unverified"
    assert stored.hash in page.words
    assert [each.proto.label for each in page.app.get("download_button")] == ["Printable card"]
    assert "Every policy item is as it was" in page.words
    with store.read() as session:
        assert verify(session=session, checkpoints={}).recomputed == {stored.hash: Recomputed.SAME}


def test_a_word_that_the_policy_did_not_say_is_not_signed(db: Path, store: Store) -> None:
    """Reject where the policy admits: the button stays shut, and a sentence says why."""
    page = fill(judges(db), "Reject", REASON)
    assert button(page, "Sign").disabled
    assert "The policy says: admit." in page.words
    assert decisions(store) == []


def test_an_override_takes_a_second_person(db: Path, store: Store) -> None:
    """Proposed by one it admits nobody; the same person cannot second it; another signs, with an expiry."""
    page = fill(decide_on(judges(db), "judge-b"), "Admit")
    assert "another person signs in and signs too" in page.words
    assert button(page, "Propose the override").disabled
    press(fill(page, reason=REASON), "Propose the override")
    assert decisions(store) == []
    assert "R. Ito proposes to admit against the policy, for 7 days." in page.words
    assert [each.label for each in page.app.button] == ["Take the proposal back"]
    same = decide_on(judges(db, "r.  ito "), "judge-b")
    assert "Sign as the second person" not in [each.label for each in same.app.button]
    other = decide_on(judges(db, "A. Blum"), "judge-b")
    assert button(other, "Sign as the second person").disabled
    press(fill(other, reason=SECOND), "Sign as the second person")
    (stored,) = decisions(store)
    assert (stored.outcome, stored.signer) == ("admit", "R. Ito")
    assert stored.content["override"]["second_signer"] == "A. Blum"
    assert stored.content["override"]["policy_outcome"] == AdmissionOutcome.REJECT.value
    assert stored.valid_until is not None
    assert (stored.valid_until - stored.decided_at).days == 7
    assert "Against the policy, which says reject." in other.words
    with store.read() as session:
        kinds = [each.kind for each in events(session=session, stream="overrides")]
    assert kinds == ["override.proposed", "override.signed"]


def test_labels_that_came_later_close_the_signature(db: Path, store: Store) -> None:
    """A report that the records no longer give is not signed, also where the page was drawn before."""
    page = fill(judges(db), "Admit", REASON)
    with store.write() as session:
        entry = LabelEntry("i0000", CRITERION, "late", "pass")
        add_labels(session=session, dataset=DATASET, rubric_digest=RUBRIC.digest, labels=[entry], at=NOW)
    press(page, "Sign")
    assert decisions(store) == []
    assert "labels or verdicts were added since" in page.words.lower()
    with store.write() as session:
        measured(session)
    assert "Decide on" in judges(db).words


def test_who_labelled_in_the_set_may_sign_and_the_record_says_so(db: Path, store: Store) -> None:
    """Rater a reviews: told on the page, and said in the signed reason."""
    page = judges(db, "a")
    assert "You labelled 200 items of this set yourself" in page.words
    press(fill(page, "Admit", REASON), "Sign")
    (stored,) = decisions(store)
    assert stored.content["reason"] == f"{REASON} (a labelled 200 items of this set.)"


def test_another_signature_meanwhile_is_not_overwritten(db: Path, store: Store) -> None:
    """Two reviewers before the same page: the second to press reads what stands first."""
    first, second = (fill(judges(db, name), "Admit", REASON) for name in ("R. Ito", "A. Blum"))
    press(first, "Sign")
    press(second, "Sign")
    assert [each.signer for each in decisions(store)] == ["R. Ito"]
    assert "stands now: read it on this page, then sign" in second.words


def test_expired_and_soon(db: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of decisions counts what stands, warns before a lapse and names it afterwards."""
    press(fill(judges(db), "Admit", REASON), "Sign")
    page = Looking(db, "R. Ito")
    page.app.switch_page("views/decisions.py")
    assert "1 admit, 0 lapsed, 0 admit nobody." in page.run().words
    (stored,) = decisions(store)
    assert stored.valid_until is not None
    until = stored.valid_until
    monkeypatch.setattr(here, "clock", lambda: datetime.fromtimestamp(until.timestamp() - 3 * 86_400, UTC))
    assert "1 admission lapses within 14 days." in page.run().words
    monkeypatch.setattr(here, "clock", lambda: until)
    assert "0 admit, 1 lapsed" in page.run().words
    assert stored.hash in page.words
    assert json.dumps(stored.content["reason"]).strip('"') in page.words


def test_judges_that_share_the_error_are_signed_among_all(sqlite_store: Store, tmp_path: Path) -> None:
    """Under Holm the page signs what the policy says among the three, and the record verifies so."""
    shared = far_only(0.10).model_copy(update={"name": "shared", "judges_compared": "holm"})
    with sqlite_store.write() as session:
        judged(session, shared)
    page = decide_on(judges(tmp_path / "voirdire.db"), "judge-a")
    press(fill(page, "Admit", REASON), "Sign")
    (stored,) = decisions(sqlite_store)
    assert stored.outcome == "admit"
    assert len(stored.content["decision"]["rivals"]) == 2
    with sqlite_store.read() as session:
        found = verify(session=session, checkpoints={})
    assert (found.findings, found.count(Recomputed.SAME)) == ((), 1)
    here._store.clear()


def test_a_policy_without_a_gate_promises_nothing(sqlite_store: Store, tmp_path: Path) -> None:
    """Under the diagnostic policy no limit is drawn from thin air, and no label buys an admission."""
    with sqlite_store.write() as session:
        judged(session, shipped_policy("diagnostic"), judges=("judge-a",))
    said = judges(tmp_path / "voirdire.db").words
    assert "This policy has no gate" in said
    assert "What more labels would buy" not in said
    here._store.clear()
