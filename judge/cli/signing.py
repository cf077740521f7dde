"""`voirdire decisions sign`: bind a decision to a private key that the database never sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

PublicKeys = Annotated[
    list[str] | None,
    typer.Option("--public-key", metavar="FILE", help="By one of these it must be signed; repeatable."),
]


def sign(
    context: typer.Context,
    decision: Annotated[str, typer.Argument(help="The first digits of its digest.")],
    signing_key: Annotated[
        str, typer.Option(metavar="FILE", help="An Ed25519 key in PEM form, readable by you alone.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Sign a decision with a key, for whoever keeps the public half; the decision itself stays as it is."""
    from calibration.registry.detached import record_signature, sign_detached
    from calibration.store.decisions import get_decision
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened
    from rubrics.digest import short

    with opened(context) as store, store.write() as session:
        stored = get_decision(session=session, hash_prefix=decision.replace(" ", ""))
        made = sign_detached(decision=stored, key_file=signing_key)
        record_signature(session=session, signature=made, actor=actor(), at=now())
    if as_json:
        print_json(made.to_json())
        return
    print_lines([f"Decision {short(stored.hash)} is signed by the key {short(made.key)}."])


def signature_lines(signatures: Sequence[Any], held: Any) -> list[str]:
    """Who signed with a key: found to hold, or only said to."""
    from rubrics.digest import short

    if held is not None:
        return [f"Its signature by {held.name} ({short(held.digest)}) holds."]
    keys = ", ".join(dict.fromkeys(short(each.key) for each in signatures))
    return (
        [f"Said to be signed by the key {keys}; give --public-key to see whether it holds."] if keys else []
    )
