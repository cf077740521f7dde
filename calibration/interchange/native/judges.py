"""Judges whose verdicts come in files: kind `external`, told apart by name and by the prompt that asked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import chain, count
from typing import Any, Final

from sqlmodel import Session

from calibration.interchange.native.survey import Survey
from calibration.store.judges import RunOrigin, RunState, add_judge, add_run, list_judges
from calibration.store.text import name as checked_name
from rubrics.digest import digest
from rubrics.rubric import Rubric

EXTERNAL: Final = "external"
_PLAN: Final[Mapping[str, Any]] = {"verdicts": "imported"}
"""The same for every file, so that a judge's imported verdicts are one run and a changed line is found."""


def external_judge(name: str, version: str = "") -> dict[str, Any]:
    """What is known of a judge that ran elsewhere; judge.spec.ExternalJudge has the same form and digest.

    Args:
        name: as the file calls it.
        version: the prompt or rubric by which the file says it was asked; another one is another judge.
    """
    return {"kind": EXTERNAL, "name": name, **({"version": version} if version else {})}


def external_digest(name: str, version: str = "") -> str:
    """The identity of such a judge: 64 hex digits."""
    return digest({"schema": "external-judge/1", **external_judge(name, version)})


class ImportedRuns:
    """The run of each judge of a file, made when it is first met."""

    def __init__(self, *, session: Session, dataset: str, survey: Survey, actor: str, at: datetime) -> None:
        self._session = session
        self._dataset = dataset
        self._actor = actor
        self._at = at
        self._several = {judge for judge, words in survey.judges.items() if len(words) > 1}
        self._runs: dict[tuple[str, str, str], str] = {}
        recorded = list_judges(session=session)
        self._called = {judge.digest: judge.name for judge in recorded}
        self._declared = {
            (judge.content.get("name"), judge.content.get("version", "")): judge.digest
            for judge in recorded
            if judge.kind == EXTERNAL
        }
        self.names: dict[str, None] = {}
        """What the judges of the file are called, in the order of their first verdicts."""

    def run(self, judge: str, asked: str, rubric: Rubric) -> str:
        """The key of the run that holds the verdicts of a judge.

        Args:
            judge: as the file calls it.
            asked: by which prompt or version the file says; another one is another judge.
            rubric: under which its verdicts stand.

        Raises:
            DeclarationError: no database can store the judge's name.
        """
        key = (judge, asked, rubric.ref)
        found = self._runs.get(key)
        if found is None:
            found = self._runs[key] = self._made(checked_name(judge, "judge"), asked, rubric)
        return found

    def _made(self, judge: str, asked: str, rubric: Rubric) -> str:
        identity = self._declared.get((judge, asked)) or external_digest(judge, asked)
        if identity not in self._called:
            self._called[identity] = self._free_name(judge, asked)
            add_judge(
                session=self._session,
                digest=identity,
                judge_name=self._called[identity],
                kind=EXTERNAL,
                content=external_judge(judge, asked),
                actor=self._actor,
                at=self._at,
            )
        self.names.setdefault(self._called[identity])
        return add_run(
            session=self._session,
            judge_digest=identity,
            rubric_digest=rubric.digest,
            dataset=self._dataset,
            origin=RunOrigin.IMPORT,
            plan=_PLAN,
            units=0,
            at=self._at,
            state=RunState.FINISHED,
        )

    def _free_name(self, judge: str, asked: str) -> str:
        """The judge's name as the file has it; with its prompt where the name alone would mean two judges."""
        taken = set(self._called.values())
        if judge not in self._several and judge not in taken:
            return judge
        base = f"{judge}/{asked}" if asked else judge
        further = chain([base, f"{base}/{EXTERNAL}"], (f"{base}/{EXTERNAL}-{n}" for n in count(2)))
        return checked_name(next(name for name in further if name not in taken), "judge")
