"""Detached signatures: the right key finds its decision signed, any other key or changed byte is refused."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from calibration.registry.bundle import export_bundle, open_bundle
from calibration.registry.detached import (
    DetachedSignature,
    read_public_keys,
    read_signature,
    record_signature,
    require_signed,
    sign_detached,
    signatures_of,
)
from calibration.registry.verifying import verify
from calibration.store.database import Store
from calibration.store.decisions import StoredDecision
from calibration.store.schema import open_store
from rubrics.errors import DeclarationError, RecordError
from tests.calibration.filling import CRITERION
from tests.calibration.registry.deciding import CLEAN, again, examined, later, signed
from tests.judge.cli.records import address, on

PKCS8, SPKI = serialization.PrivateFormat.PKCS8, serialization.PublicFormat.SubjectPublicKeyInfo
OPENSSL = shutil.which("openssl")
PEM, OPEN = serialization.Encoding.PEM, serialization.NoEncryption()


def key_pair(folder: Path, name: str = "ito") -> tuple[str, str]:
    """Files of a private key that only its owner may read, and of its public half."""
    private = Ed25519PrivateKey.generate()
    secret, public = folder / f"{name}.pem", folder / f"{name}.pub"
    secret.touch(0o600)
    secret.write_bytes(private.private_bytes(PEM, PKCS8, OPEN))
    public.write_bytes(private.public_key().public_bytes(PEM, SPKI))
    return str(secret), str(public)


@pytest.fixture(scope="module")
def decided_once(
    migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, StoredDecision]:
    """A file with a signed admission, to be copied, never opened; the decision."""
    path = tmp_path_factory.mktemp("decided") / "decided.db"
    shutil.copy(migrated_sqlite, path)
    with open_store(path) as store, store.write() as session:
        decision = signed(session, examined(session, CLEAN))
    return path, decision


@pytest.fixture
def decided(decided_once: tuple[Path, StoredDecision]) -> StoredDecision:
    """A signed admission."""
    return decided_once[1]


@pytest.fixture
def decided_store(decided_once: tuple[Path, StoredDecision], tmp_path: Path) -> Iterator[Store]:
    """A store of its own with that admission."""
    with open_store(shutil.copy(decided_once[0], tmp_path / "voirdire.db")) as store:
        yield store


def test_only_its_own_key_finds_a_decision_signed(decided: StoredDecision, tmp_path: Path) -> None:
    """Another key, another decision, and any changed byte of the signature are refused."""
    (secret, public), (_, other) = key_pair(tmp_path), key_pair(tmp_path, "blum")
    made = sign_detached(decision=decided, key_file=secret)
    mine, theirs = read_public_keys([public]), read_public_keys([other])
    assert require_signed(decided.hash, [made], [*theirs, *mine], what="it").name == public
    with pytest.raises(RecordError, match=r"it is not signed by .*blum\.pub.*; signed by: "):
        require_signed(decided.hash, [made], theirs, what="it")
    with pytest.raises(RecordError, match="signed by: nobody"):
        require_signed("0" * 64, [made], mine, what="it")
    for moved in (replace(made, decision="0" * 64), replace(made, key=theirs[0].digest)):
        with pytest.raises(RecordError, match="does not hold"):
            require_signed(moved.decision, [moved], [*mine, *theirs], what="it")
    rng = random.Random(5)
    for place in range(len(made.signature)):
        letter = rng.choice([each for each in "AQgwBRhx01+/=" if each != made.signature[place]])
        changed = made.signature[:place] + letter + made.signature[place + 1 :]
        with pytest.raises(RecordError):
            require_signed(decided.hash, [replace(made, signature=changed)], mine, what="it")


def test_a_signature_goes_with_the_bundle(
    decided: StoredDecision, decided_store: Store, tmp_path: Path
) -> None:
    """Recorded once, in the trail and in the export; without one the export is as it always was."""
    secret, public = key_pair(tmp_path)
    keys = read_public_keys([public])
    with decided_store.write() as session:
        bare = export_bundle(session=session, decision_prefix=decided.hash, at=later(1))
        made = sign_detached(decision=decided, key_file=secret)
        for _ in range(2):
            record_signature(session=session, signature=made, actor="lead", at=later(1))
        assert signatures_of(session=session, decision=decided.hash) == (made,)
        assert signatures_of(session=session, decision="0" * 64) == ()
        bundle = open_bundle(
            export_bundle(session=session, decision_prefix=decided.hash, at=later(1)), source="it"
        )
    assert b"signatures" not in bare
    assert require_signed(decided.hash, bundle.signatures, keys, what="it") == keys[0]
    with pytest.raises(RecordError, match="signed by: nobody"):
        require_signed(decided.hash, open_bundle(bare, source="it").signatures, keys, what="it")


def test_verification_by_a_key_names_what_it_did_not_sign(
    decided: StoredDecision, decided_store: Store, tmp_path: Path
) -> None:
    """Whoever appends a decision with all hashes right, and lacks the key, is found."""
    secret, public = key_pair(tmp_path)
    keys = read_public_keys([public])
    with decided_store.write() as session:
        made = sign_detached(decision=decided, key_file=secret)
        record_signature(session=session, signature=made, actor="lead", at=later(1))
        assert verify(session=session, checkpoints={}, public_keys=keys).findings == ()
        second = signed(session, again(session), days=2)
        (finding,) = verify(session=session, checkpoints={}, public_keys=keys).findings
        assert verify(session=session, checkpoints={}).findings == ()
    assert (finding.table, finding.key) == ("decision", second.hash[:12])
    assert "is not signed by" in finding.what


@pytest.mark.parametrize(
    ("name", "content", "mode", "words"),
    [
        ("none.pem", None, 0o600, "cannot be read"),
        ("open.pem", b"", 0o644, "others may read the private key"),
        ("words.pem", b"no key", 0o600, "holds no private key in PEM form"),
        (
            "curve.pem",
            generate_private_key(SECP256R1()).private_bytes(PEM, PKCS8, OPEN),
            0o600,
            "is not Ed25519",
        ),
    ],
)
def test_a_key_that_is_none_is_refused(
    decided: StoredDecision, tmp_path: Path, name: str, content: bytes | None, mode: int, words: str
) -> None:
    """Missing, readable by others, no PEM, or another curve: each with how to make one."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(mode)
    with pytest.raises(DeclarationError, match=words):
        sign_detached(decision=decided, key_file=str(tmp_path / name))


def test_a_public_key_that_is_none_is_refused(tmp_path: Path) -> None:
    """No PEM, or another curve; no file asks for no library."""
    (tmp_path / "a.pub").write_bytes(b"no key")
    with pytest.raises(DeclarationError, match="holds no public key"):
        read_public_keys([str(tmp_path / "a.pub")])
    curve = generate_private_key(SECP256R1()).public_key().public_bytes(PEM, SPKI)
    (tmp_path / "b.pub").write_bytes(curve)
    with pytest.raises(DeclarationError, match="is not Ed25519"):
        read_public_keys([str(tmp_path / "b.pub")])
    assert read_public_keys([]) == ()


@pytest.mark.parametrize("content", [{}, {"decision": "a", "key": "b", "signature": 3}, None])
def test_what_is_no_signature(content: object) -> None:
    """Fields that lack, or are no text."""
    with pytest.raises(RecordError):
        read_signature(content)  # type: ignore[arg-type]
    assert read_signature({"decision": "a", "key": "b", "signature": "c"}) == DetachedSignature("a", "b", "c")


@pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed; run: apt install openssl")
def test_a_key_of_a_standard_tool_is_taken(decided: StoredDecision, tmp_path: Path) -> None:
    """What the commands of the README make signs, and its public half finds the signature."""
    secret, public = str(tmp_path / "key.pem"), str(tmp_path / "key.pub")
    subprocess.run([str(OPENSSL), "genpkey", "-algorithm", "ed25519", "-out", secret], check=True)
    Path(secret).chmod(0o600)
    subprocess.run([str(OPENSSL), "pkey", "-in", secret, "-pubout", "-out", public], check=True)
    made = sign_detached(decision=decided, key_file=secret)
    assert require_signed(decided.hash, [made], read_public_keys([public]), what="it").name == public


def test_from_the_command_line(sqlite_store: Store, tmp_path: Path) -> None:
    """Signed by `admit`; shown, verified and let through the gate by its public key alone."""
    secret, public = key_pair(tmp_path)
    _, other = key_pair(tmp_path, "somebody-else")
    with sqlite_store.write() as session:
        examined(session, CLEAN)
    db = on(address(sqlite_store))
    made = db(
        "admit", "--judge", "gpt", "--criterion", CRITERION, "--dataset", "support", "--policy", "far_only",
        "--sign", "R. Ito", "--reason", "read the accepted failures", "--signing-key", secret, "--json",
    )  # fmt: skip
    assert made.exit_code == 0, made.stderr
    decision = json.loads(made.stdout)["decision"]
    assert "holds" in db("decisions", "show", decision, "--public-key", public).stdout
    assert "give --public-key" in db("decisions", "show", decision).stdout
    bundle = str(tmp_path / "d.bundle")
    assert db("decisions", "export", decision, "--bundle", bundle).exit_code == 0
    for key, codes in ((public, (0, 0, 0)), (other, (3, 1, 3))):
        found = (
            db("decisions", "show", decision, "--public-key", key).exit_code,
            db("audit", "verify", "--public-key", key).exit_code,
            db("gate", "--decision", bundle, "--public-key", key).exit_code,
        )
        assert found == codes
    assert db("gate", "--rubric", "x", "--criterion", "y", "--public-key", public).exit_code == 3
    again_ = db("decisions", "sign", decision, "--signing-key", secret)
    assert "is signed by the key" in again_.stdout


def test_no_library_is_loaded_unless_a_key_is_given() -> None:
    """The registry and its commands start without it."""
    code = (
        "import sys, calibration.registry.detached, calibration.registry.bundle, judge.cli.decisions, "
        "judge.cli.signing; sys.exit('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
