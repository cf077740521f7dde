"""Detached signatures: who holds a private key binds a decision's hash to it; a public key shows it later.

The chain finds what somebody changed; a signature finds a decision that somebody with the whole database made
up. It is optional: keys are Ed25519 in PEM files made by a standard tool, and the library that reads them is
loaded only where a key is given.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmodel import Session

from calibration.store.chain import append_event, events
from calibration.store.decisions import StoredDecision
from rubrics.digest import canonical_json, short
from rubrics.errors import DeclarationError, RecordError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

STREAM, SIGNED = "signatures", "decision.signed"
SIGNATURE_SCHEMA = "voirdire.decision-signature/1"
LARGEST_KEY = 10_000
HOW = (
    "make one with `openssl genpkey -algorithm ed25519 -out key.pem`, and its public half with "
    "`openssl pkey -in key.pem -pubout -out key.pub`"
)


@dataclass(frozen=True, slots=True)
class DetachedSignature:
    """A signature over one decision."""

    decision: str
    """Hash of the decision, which covers its scope, outcome, report, policy, reasons and validity."""
    key: str
    """Digest of the public key."""
    signature: str
    """Base64."""

    def to_json(self) -> dict[str, str]:
        """As it is recorded and exported."""
        return {"decision": self.decision, "key": self.key, "signature": self.signature}


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key that somebody keeps outside the database."""

    name: str
    """The file, for messages."""
    digest: str
    key: Ed25519PublicKey


def read_public_keys(paths: Sequence[str]) -> tuple[PublicKey, ...]:
    """The public keys of the files.

    Raises:
        DeclarationError: a file cannot be read or holds no Ed25519 public key, or the library is missing.
    """
    if not paths:
        return ()
    serialization, ed25519 = _library()
    found = []
    for path in paths:
        data = _read(path)
        try:
            key = serialization.load_pem_public_key(data)
        except (ValueError, TypeError) as error:
            raise DeclarationError(f"{path!r} holds no public key in PEM form; {HOW}") from error
        if not isinstance(key, ed25519.Ed25519PublicKey):
            raise DeclarationError(f"the key in {path!r} is not Ed25519; {HOW}")
        found.append(PublicKey(path, _digest(key), key))
    return tuple(found)


def sign_detached(*, decision: StoredDecision, key_file: str) -> DetachedSignature:
    """The signature of the private key in the file over the decision.

    Raises:
        DeclarationError: the file cannot be read, may be read by others, or holds no Ed25519 private key
            without a passphrase; or the library is missing.
    """
    private = _private(key_file)
    key = _digest(private.public_key())
    made = private.sign(_statement(decision.hash, key))
    return DetachedSignature(decision.hash, key, base64.b64encode(made).decode())


def _private(path: str) -> Ed25519PrivateKey:
    serialization, ed25519 = _library()
    data = _read(path, secret=True)
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError) as error:
        raise DeclarationError(
            f"{path!r} holds no private key in PEM form without a passphrase; {HOW}"
        ) from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise DeclarationError(f"the key in {path!r} is not Ed25519; {HOW}")
    private: Ed25519PrivateKey = key
    return private


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise DeclarationError(
            "signing keys need the library cryptography; run `pip install 'voirdire[signing]'`"
        ) from error
    return serialization, ed25519


def _read(path: str, *, secret: bool = False) -> bytes:
    """The content of a key file; a private one only where nobody else may read it."""
    try:
        mode = Path(path).stat().st_mode
        if secret and os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise DeclarationError(f"others may read the private key {path!r}; run `chmod 600 {path}`")
        with Path(path).open("rb") as file:
            return file.read(LARGEST_KEY)
    except OSError as error:
        raise DeclarationError(f"the key {path!r} cannot be read ({error.strerror})") from error


def _digest(key: Ed25519PublicKey) -> str:
    serialization, _ = _library()
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()


def _statement(decision: str, key: str) -> bytes:
    """What is signed: a typed statement, so that the signature of anything else is none of a decision."""
    return canonical_json({"schema": SIGNATURE_SCHEMA, "decision": decision, "key": key}).encode()


def record_signature(
    *, session: Session, signature: DetachedSignature, actor: str, at: datetime
) -> DetachedSignature:
    """The signature, appended to the trail; one that is there is not appended again."""
    if signature not in signatures_of(session=session, decision=signature.decision):
        append_event(
            session=session, stream=STREAM, kind=SIGNED, actor=actor, payload=signature.to_json(), at=at
        )
    return signature


def signatures_of(*, session: Session, decision: str | None = None) -> tuple[DetachedSignature, ...]:
    """The recorded signatures, oldest first; of one decision where given."""
    found = (read_signature(event.payload) for event in events(session=session, stream=STREAM, kind=SIGNED))
    return tuple(each for each in found if decision is None or each.decision == decision)


def read_signature(content: Mapping[str, Any]) -> DetachedSignature:
    """A signature as it was exported or recorded.

    Raises:
        RecordError: it is none.
    """
    try:
        values = {field: content[field] for field in DetachedSignature.__slots__}
    except (KeyError, TypeError) as error:
        raise RecordError("a signature lacks its decision, its key or itself") from error
    if not all(isinstance(value, str) for value in values.values()):
        raise RecordError("a signature is not written in text")
    return DetachedSignature(**values)


def require_signed(
    decision: str, signatures: Iterable[DetachedSignature], keys: Sequence[PublicKey], *, what: str
) -> PublicKey:
    """The first key whose signature over the decision holds.

    Raises:
        RecordError: no signature by any of the keys is there, or one does not hold.
    """
    mine = [each for each in signatures if each.decision == decision]
    for key in keys:
        for each in mine:
            if each.key == key.digest:
                if not _holds(each, key):
                    raise RecordError(
                        f"{what}: its signature by {key.name!r} does not hold: it was changed, or is of "
                        "another decision"
                    )
                return key
    others = ", ".join(short(each.key) for each in mine) or "nobody"
    raise RecordError(
        f"{what} is not signed by {', '.join(repr(key.name) for key in keys)}; signed by: {others}"
    )


def _holds(signature: DetachedSignature, key: PublicKey) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        made = base64.b64decode(signature.signature, validate=True)
        key.key.verify(made, _statement(signature.decision, signature.key))
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    # the last letter before padding has bits that no byte holds
    return base64.b64encode(made).decode() == signature.signature
