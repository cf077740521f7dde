"""`voirdire grade`: grade outputs with admitted judges, or be refused with what is missing."""

from __future__ import annotations

from typing import Annotated, Any

import typer

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

_EPILOG = """
[bold]Example[/bold]

voirdire grade answers.jsonl --rubric refund-policy@1 --criterion states_terms

[bold]Exit codes[/bold]  0 graded, 3 failure, 4 a judge is not admitted (the refusal names what is missing), \
64 usage.
"""


@app.command(epilog=_EPILOG)
def grade(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Items as JSON Lines or CSV; - is standard input.")
    ],
    rubric: Annotated[str, typer.Option(metavar="NAME[@V]", help="The published rubric.")],
    criterion: Annotated[
        list[str] | None, typer.Option(help="Criterion; repeatable. Default: every required one.")
    ] = None,
    judge: Annotated[
        str, typer.Option(metavar="NAME|auto", help="auto takes each criterion's own admitted judge.")
    ] = "auto",
    population: Annotated[str, typer.Option(help="The outputs that are graded.")] = "as calibrated",
    role: Annotated[str, typer.Option(help="acceptance, review_trigger or diagnostic.")] = "acceptance",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Grade outputs: one verdict per criterion by its admitted judge, overall by the four-verdict rule.

    Every required criterion needs a live admission for exactly this judge, rubric, criterion, population and
    role. Without one nothing is graded.
    """
    from calibration.interchange.native.unrecorded import read_items
    from judge.cli.lookups import recorded_rubric
    from judge.cli.stores import now, opened
    from judge.service import GradeRequest, appoint, grade_items

    with opened(context) as store, store.read() as session:
        published = recorded_rubric(session, rubric)
        keys = tuple(criterion or [c.key for c in published.required])
        request = GradeRequest(published, keys, judge, population, role)
        graders = appoint(session=session, request=request, at=now())
    grades = list(grade_items(request, graders, read_items(file)))
    _print(grades, published.ref, graders, as_json=as_json)


def grade_object(grade: Any) -> dict[str, Any]:
    """One grade as JSON; the format that consumers read."""
    return {
        "item_id": grade.item_id,
        "overall": grade.overall.value,
        "content_digest": grade.content_digest,
        "criteria": [
            {
                "criterion": c.criterion,
                "verdict": c.outcome.verdict.value,
                "reason": c.outcome.reason.value if c.outcome.reason else None,
                "detail": c.outcome.detail,
                "rationale": c.rationale,
                "judge": c.judge,
                "decision": c.decision,
            }
            for c in grade.criteria
        ],
    }


def _print(grades: list[Any], ref: str, graders: Any, *, as_json: bool) -> None:
    from collections import Counter

    from judge.cli.output import print_json, print_lines, print_rows
    from rubrics.digest import short

    if as_json:
        print_json({"rubric": ref, "grades": [grade_object(g) for g in grades]})
        return
    constructed = any(g.decision.content.get("constructed") for g in graders)
    head = ("item", "overall", *(g.criterion for g in graders))
    rows = [
        (g.item_id, g.overall.value, *(c.outcome.reason or c.outcome.verdict for c in g.criteria))
        for g in grades
    ]
    print_rows(head, [tuple(str(cell) for cell in row) for row in rows], empty="No item to grade.")
    counted = Counter(g.overall.value for g in grades)
    print_lines(
        [
            f"{len(grades)} items under {ref}: "
            + ", ".join(f"{n} {w}" for w, n in sorted(counted.items()))
            + ".",
            *(
                f"{g.criterion}: {g.judge.name}, admitted by decision {short(g.decision.hash)}"
                + (f" until {g.decision.valid_until:%Y-%m-%d}" if g.decision.valid_until else "")
                + "."
                for g in graders
            ),
            *(["Constructed evidence: the decision says nothing of real outputs."] if constructed else []),
        ]
    )
