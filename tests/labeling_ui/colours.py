"""Contrast of colours, by the formula of WCAG 2.2."""

from __future__ import annotations


def channels(colour: str) -> tuple[float, float, float]:
    """Red, green and blue of #RRGGBB, each in [0, 1]."""
    return tuple(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))  # type: ignore[return-value]


def luminance(rgb: tuple[float, float, float]) -> float:
    """The relative luminance in [0, 1] (WCAG 2.2, definition of relative luminance)."""
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def mixed(front: str, back: str, share: float) -> tuple[float, float, float]:
    """The front colour at an opacity over the back."""
    pairs = zip(channels(front), channels(back), strict=True)
    return tuple(share * f + (1 - share) * b for f, b in pairs)  # type: ignore[return-value]


def contrast(front: str, back: str, *, opacity: float = 1.0) -> float:
    """The contrast ratio in [1, 21] of text in the front colour on the back (WCAG 2.2, 1.4.3)."""
    lights = sorted((luminance(mixed(front, back, opacity)), luminance(channels(back))))
    return (lights[1] + 0.05) / (lights[0] + 0.05)
