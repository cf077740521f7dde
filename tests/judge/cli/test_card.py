"""`voirdire decisions card`: a signed decision as one page."""

from __future__ import annotations

import re
from pathlib import Path

from calibration.policy import shipped_policy
from calibration.registry.carded import LAPSES, lapse_words
from calibration.store.database import Store
from tests.calibration.filling import EXERCISE_3
from tests.judge.cli.test_admit import admit
from tests.judge.cli.test_decisions import admitted


def text_of(page: str) -> str:
    """The words of a page, without its marks."""
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL).split())


def test_the_card_of_an_admission(sqlite_store: Store, tmp_path: Path) -> None:
    """The page says what is allowed, until when, by whom and by which record."""
    db, decision = admitted(sqlite_store)
    out = tmp_path / "card.html"
    result = db("decisions", "card", decision["decision"][:10], "--html", str(out))
    assert result.exit_code == 0, result.stderr
    said = text_of(out.read_text("utf-8"))
    assert "gpt may accept answers on its own until" in said
    assert "external judge" in said
    assert decision["decision"] in out.read_text("utf-8")
    assert "R. Ito" in said
    assert "read the accepted failures" in said
    again = db("decisions", "card", decision["decision"][:10], "--html", str(out), "--json")
    assert (again.exit_code, decision["decision"] in again.stdout) == (0, True)


def test_the_card_of_an_override_names_both_signers(sqlite_store: Store, tmp_path: Path) -> None:
    """An admission against the policy says so on its card, with the second signer."""
    db, rejected = admitted(sqlite_store, EXERCISE_3)
    out = tmp_path / "card.html"
    db("decisions", "card", rejected["decision"][:10], "--html", str(out))
    assert "gpt may not accept answers on its own: it breaks the policy" in text_of(out.read_text("utf-8"))
    words = ("--override-days", "7", "--second", "A. Blum", "--second-reason", "a person reads all of it")
    standing = admit(db, "far_only", *words, "--json")
    number = re.search(r'"decision": "([0-9a-f]{64})"', standing.stdout)
    assert number is not None
    assert db("decisions", "card", number[1], "--html", str(out)).exit_code == 0
    said = text_of(out.read_text("utf-8"))
    assert "Also signed by A. Blum (local, unverified)" in said
    assert "Against the policy result" in said


def test_a_file_that_is_none_of_ours_is_kept(sqlite_store: Store, tmp_path: Path) -> None:
    """Another file under the name is refused in one sentence and stays as it is."""
    db, decision = admitted(sqlite_store)
    other = tmp_path / "notes.html"
    other.write_text("<p>mine</p>", "utf-8")
    refused = db("decisions", "card", decision["decision"][:10], "--html", str(other))
    assert refused.exit_code == 3
    assert other.read_text("utf-8") == "<p>mine</p>"


def test_what_ends_an_admission_is_the_policys() -> None:
    """Each trigger that suspends is a clause; one that only warns is none; the words are known for all."""
    policy = shipped_policy("acceptance")
    assert lapse_words(policy) == tuple(LAPSES[trigger] for trigger in policy.recalibrate_on)
    milder = policy.model_copy(update={"warn_on": ("cusum",)})
    assert LAPSES["cusum"] not in lapse_words(milder)
    assert lapse_words(shipped_policy("far_only")) == ()
