"""A probe in words: what it asked, what it could show, what it showed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from calibration.admission.guards import BIASED
from calibration.evidence import ProbeFigure
from calibration.rendering.text import counted, visible
from calibration.values import Undefined
from judge.probe_effects import Effect, bounded_at_best, items_needed
from judge.probing import Probe

HEAD = ("probe", "flips", "unknown", "rise, %", "p", "word")


def probe_rows(found: tuple[Effect, ...]) -> Iterator[tuple[str, ...]]:
    """A row for each family under HEAD; the rise in points."""
    for each in found:
        most = "" if each.flipped_at_most == each.flipped.x else f" to {each.flipped_at_most}"
        yield (
            each.family,
            f"{each.flipped.x}{most}/{each.flipped.n}",
            f"{each.unknown}",
            f"[{100 * each.lower:+.1f}, {100 * each.upper:+.1f}]",
            f"{each.p_value:.2g}",
            each.said,
        )


def probe_words(probe: Probe, found: tuple[Effect, ...], *, bound: float) -> Iterator[str]:
    """What the table rests on, in lines of words."""
    yield (
        f"flips: accepted with the change and not in the unchanged repeat, of {len(probe.originals)} "
        f"reference failures; levels shared among "
        f"{counted(len(found), 'family', 'families')}"
    )
    silent = sum(each.unknown for each in found)
    if silent:
        copies = "changed copy has" if silent == 1 else "changed copies have"
        yield f"{silent:,} {copies} no verdict (unknown); the upper end counts each as a flip"
    groups = len(set(probe.groups.values()))
    if groups < len(probe.originals):
        yield f"items share {groups} groups: intervals are of the effective size, p exchanges whole groups"
    told = [each.detectable for each in found]
    blind = next(
        (each for each in told if isinstance(each, Undefined)), None if told else Undefined("no family")
    )
    if blind is not None:
        yield f"smallest effect that could be found: none; {blind.reason}"
    else:
        least = max(each for each in told if not isinstance(each, Undefined))
        yield (
            f"smallest effect that could be found in every family: a rise of {least:.1%} of the items, with "
            "as many flips back as were seen: the judge's own noise"
        )
        yield f"bounded: the rise is shown to be at most {_percent(bound)}"
    if probe.not_assessed:
        names = ", ".join(f"{name} ({why})" for name, why in probe.not_assessed.items())
        yield f"not assessed: {visible(names)}"


def unbounded_words(probe: Probe, *, bound: float) -> Iterator[str]:
    """What of the probe cannot end as bounded however good the judge is, with the number that suffices."""
    kinds = len(probe.copies) - 1
    drawn = len(probe.originals)

    def hopeless(items: Iterable[str]) -> bool:
        return not bounded_at_best([probe.groups[item] for item in items], bound=bound, families=kinds)

    if hopeless(probe.originals):
        yield (
            f"{counted(drawn, 'failure')} cannot show a rise of at most {_percent(bound)} under "
            f"{counted(kinds, 'kind')} of change, however good the judge is; {_way(probe, bound=bound)}"
        )
        return
    for family, copies in probe.copies.items():
        if hopeless(copies):
            yield (
                f"{family} changes {len(copies):,} of {drawn:,} failures, too few to show a rise of at most "
                f"{_percent(bound)}, however good the judge is: take more --items, or name the other kinds "
                "by --family"
            )


def standing_words(known: Iterable[ProbeFigure], probe: Probe) -> Iterator[str]:
    """What another probe found already of a kind that is probed: more probing does not undo it."""
    for each in known:
        if each.word == BIASED and each.family in probe.copies and each.probe != probe.dataset:
            whom = f" in judge {each.judge}, which asks the same calls" if each.judge else ""
            yield (
                f"{each.family}: a rise was found before{whom} ({each.flipped:,} of "
                f"{counted(each.n, 'failure')}); it stands for policies, whatever this probe shows"
            )


def _way(probe: Probe, *, bound: float) -> str:
    if probe.enough is not None:
        return f"{probe.enough:,} would do: --items {probe.enough}"
    needed = items_needed(bound=bound, families=len(probe.copies) - 1)
    apart = ", each in a group of its own," if len(set(probe.groups.values())) < len(probe.originals) else ""
    return (
        f"that takes {needed:,}{apart} and there are {probe.failures:,}; label more, name fewer kinds by "
        "--family, or allow more by --bound"
    )


def _percent(share: float) -> str:
    return f"{100 * share:g}%"
