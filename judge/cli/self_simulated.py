"""`simulate self`: promised against delivered, in words and as JSON."""

from __future__ import annotations

from typing import Any

from calibration.rendering.characters import Glyphs
from calibration.rendering.text import capital, counted
from calibration.simulating.promises import Claim, Promise
from calibration.simulating.running import SelfTest
from judge.cli.answers import Answer, chance


def self_answer(found: SelfTest, *, glyphs: Glyphs) -> Answer:
    """Every promise beside what was delivered and the band that chance leaves."""
    promises = found.promises
    kept = sum(promise.kept for promise in promises)
    calibrations = sum(judge.calibrations for judge in found.examined)
    rows: list[tuple[str, ...]] = []
    for judge in found.examined:
        rows.append((capital(judge.name), "", "", ""))
        rows += [_row(promise, glyphs) for promise in judge.promises]
    verdict = (
        f"All {counted(kept, 'promise')} kept"
        if found.kept
        else f"{counted(len(promises) - kept, 'promise')} of {len(promises)} broken"
    )
    return Answer(
        words=(
            f"{verdict}: {counted(len(found.examined), 'planted judge')}, {calibrations:,} calibrations "
            f"through the report and the decision that ship, seed {found.seed}.",
        ),
        head=("", "promised", "delivered", "band"),
        rows=tuple(rows),
        following="voirdire simulate gate"
        if found.kept
        else "sign nothing with this installation; voirdire simulate self --seed 1 tells chance from a fault",
        data=_object(found),
        notes=(
            "Band: chance alone leaves it at either end once in 4,000 times. Promised numbers are exact, or "
            "simulated of the gate alone; delivered ones come from whole reports.",
        ),
    )


def _row(promise: Promise, glyphs: Glyphs) -> tuple[str, ...]:
    mark = glyphs.admit if promise.kept else glyphs.reject
    claim = {Claim.IS: "", Claim.AT_MOST: "at most ", Claim.AT_LEAST: "at least "}[promise.claim]
    return (
        f"  {mark} {promise.what}",
        claim + chance(promise.promised),
        chance(promise.delivered),
        f"[{chance(promise.low).removesuffix(' %')}, {chance(promise.high).removesuffix(' %')}]",
    )


def _object(found: SelfTest) -> dict[str, Any]:
    return {
        "schema": "voirdire.self/1",
        "seed": found.seed,
        "kept": found.kept,
        "promises": [
            {
                "judge": judge.name,
                "calibrations": judge.calibrations,
                "what": promise.what,
                "claim": promise.claim.value,
                "promised": promise.promised,
                "delivered": promise.delivered,
                "n": promise.n,
                "band": [promise.low, promise.high],
                "kept": promise.kept,
            }
            for judge in found.examined
            for promise in judge.promises
        ],
    }
