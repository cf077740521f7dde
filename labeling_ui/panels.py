"""The panels of an item and of a criterion as HTML."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from markupsafe import Markup

from labeling_ui.blocks import steps
from labeling_ui.escaping import Range, untrusted
from labeling_ui.pieces import eyebrow, source_chip
from labeling_ui.texts import laid_out, prose, trajectory
from rubrics.criterion import Criterion, EvidenceSource, Example
from rubrics.scale import OrdinalScale

LONG: Final = 2_400
"""Characters of an evidence field beyond which the rest is folded; text under judgment never is."""


class Field(Protocol):
    """A text beside the criterion (calibration.labeling.records.ShownField)."""

    @property
    def key(self) -> str:
        """The rubric's key; of a pair `left` and `right`."""

    @property
    def title(self) -> str:
        """Its heading."""

    @property
    def source(self) -> EvidenceSource:
        """Where it comes from."""

    @property
    def text(self) -> str:
        """Untrusted."""


def field_panel(field: Field, spans: Iterable[Range] = (), *, folded: bool = False) -> Markup:
    """One text of an item with its heading and where it comes from.

    Text under judgment is whole and never folded; evidence may be, as a whole or beyond LONG characters.
    """
    marked = list(spans)
    candidate = field.source is EvidenceSource.CANDIDATE
    found = steps(field.text)
    inside = trajectory(field.text, found, marked) if found else _body(field.text, marked, candidate)
    body = Markup('<div class="vd-body">{}</div>').format(inside)
    chip = source_chip(field.source)
    kind = f"vd-field vd-{field.source.value}"
    if candidate or (field.source is EvidenceSource.RECORDED and not folded):
        section = Markup('<section class="{}" data-field="{}">{}{}</section>')
        return section.format(kind, field.key, eyebrow(field.title, chip), body)
    details = Markup(
        '<details class="{}" data-field="{}"{}><summary><span class="vd-eyebrow">{}</span> {}</summary>'
        "{}</details>"
    )
    opened = Markup("") if folded else Markup(" open")
    return details.format(kind, field.key, opened, untrusted(field.title), chip, body)


def _body(text: str, spans: Sequence[Range], whole: bool) -> Markup:
    if whole or len(text) <= LONG:
        return laid_out(text, spans)
    cut = _cut(text)
    rest = Markup('<details class="vd-rest"{}><summary>Show {} more characters</summary>{}</details>')
    opened = Markup(" open") if any(end > cut for _, end in spans) else Markup("")
    later = laid_out(text[cut:], [(a - cut, b - cut) for a, b in spans])
    return laid_out(text[:cut].rstrip(), spans) + rest.format(opened, f"{len(text) - cut:,}", later)


def _cut(text: str) -> int:
    """Where a long text is folded: at the last paragraph, line or word that begins within LONG."""
    for end in ("\n\n", "\n", " "):
        if (at := text.rfind(end, LONG // 2, LONG)) > 0:
            return at + len(end)
    return LONG


def item_panel(
    fields: Sequence[Field],
    spans: Mapping[str, Sequence[Range]] | None = None,
    *,
    folded: Collection[str] = (),
) -> Markup:
    """All texts of an item in their order; the two outputs of a pair side by side.

    Args:
        fields: what is shown.
        spans: marked stretches by the key of the field.
        folded: keys of evidence fields to show folded.
    """
    marked = spans or {}
    panels = {
        field.key: field_panel(field, marked.get(field.key, ()), folded=field.key in folded)
        for field in fields
    }
    pair = [panels.pop(key) for key in ("left", "right") if key in panels and len(panels) > 0]
    parts = list(panels.values())
    if pair:
        parts.append(Markup('<div class="vd-pair">{}</div>').format(Markup("").join(pair)))
    return Markup('<div class="vd-item">{}</div>').format(Markup("").join(parts))


def criterion_panel(criterion: Criterion, *, number: int, of: int, rubric: str) -> Markup:
    """The card of a criterion: its question, when to give which answer, and worked examples."""
    head = Markup(
        '<p class="vd-eyebrow">Criterion {} of {} · <span class="vd-ref">{}</span></p>'
        '<h1>{}</h1><p class="vd-q">{}</p>'
    )
    parts = [
        head.format(number, of, untrusted(rubric), untrusted(criterion.title), untrusted(criterion.question)),
        *_guidance(criterion),
        _failure_modes(criterion),
        _examples(criterion.examples),
    ]
    card = Markup('<section class="vd-card" aria-label="Criterion">{}</section>')
    return card.format(Markup("").join(parts))


_GUIDANCE: Final = (
    ("pass_when", "pass", "Pass when"),
    ("fail_when", "fail", "Fail when"),
    ("prefer_when", "pass", "Better when"),
    ("tie_when", "tie", "Tie when"),
    ("cannot_decide_when", "unknown", "Cannot decide when"),
)


def _guidance(criterion: Criterion) -> Iterator[Markup]:
    row = Markup('<div class="vd-gd"><i class="vd-m vd-m-{}"></i><b>{}</b><p>{}</p></div>')
    if isinstance(criterion.scale, OrdinalScale):
        level = Markup('<div class="vd-gd"><i class="vd-level">{}</i><p class="vd-anchor">{}</p></div>')
        for each in criterion.scale.levels:
            yield level.format(untrusted(each.level), untrusted(each.anchor))
    for name, mark, words in _GUIDANCE:
        if text := getattr(criterion.guidance, name):
            yield row.format(mark, words, untrusted(text))


def _failure_modes(criterion: Criterion) -> Markup:
    if not criterion.failure_modes:
        return Markup("")
    lines = Markup("").join(
        Markup("<li><b>{}</b> {}</li>").format(untrusted(mode.key.replace("_", " ")), untrusted(mode.when))
        for mode in criterion.failure_modes
    )
    folded = Markup('<details class="vd-more"><summary>Ways to fail: {}</summary><ul>{}</ul></details>')
    return folded.format(len(criterion.failure_modes), lines)


def _examples(examples: Sequence[Example]) -> Markup:
    if not examples:
        return Markup("")
    counts: dict[str, int] = {}
    for example in examples:
        counts[example.verdict] = counts.get(example.verdict, 0) + 1
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    folded = Markup('<details class="vd-more"><summary>Examples: {}</summary>{}</details>')
    return folded.format(untrusted(words), Markup("").join(_example(example) for example in examples))


def _example(example: Example) -> Markup:
    texts = [
        ("Input", example.input),
        *((key.replace("_", " ").capitalize(), text) for key, text in example.evidence.items()),
        ("Output", example.output),
        ("Output A", example.output_a),
        ("Output B", example.output_b),
    ]
    lines = Markup("").join(
        Markup("<dt>{}</dt><dd>{}</dd>").format(untrusted(name), prose(text)) for name, text in texts if text
    )
    shown_example = Markup('<div class="vd-ex"><b class="vd-v-{}">{}</b><dl>{}</dl><p>{}</p></div>')
    return shown_example.format(
        example.verdict if example.verdict in {"pass", "fail", "unknown"} else "other",
        untrusted(example.verdict),
        lines,
        untrusted(example.why),
    )
