"""Words on a page that are hard to read: contrast as drawn, by the formula of WCAG 2.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

READABLE = 4.5
"""WCAG 2.2, 1.4.3, level AA; what is disabled is excepted there."""

_LOOK = """least => {
  const parse = colour => {
    const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
    return colour.startsWith("color(srgb") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
  };
  const over = (front, back) => [0, 1, 2].map(i => front[i] * front[3] + back[i] * (1 - front[3])).concat(1);
  const light = colour => {
    const linear = colour.slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const ancestors = element => element ? [element, ...ancestors(element.parentElement)] : [];
  const ground = element => ancestors(element).map(e => parse(getComputedStyle(e).backgroundColor))
    .reduceRight((below, layer) => over(layer, below), [255, 255, 255, 1]);
  const found = [];
  const walk = document.createTreeWalker(document.querySelector(".stApp"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const words = walk.currentNode.textContent.trim();
    const element = walk.currentNode.parentElement;
    const box = element.getBoundingClientRect();
    if (!words || box.width < 2 || box.height < 2) continue;
    if (!element.checkVisibility({visibilityProperty: true}) || element.closest("style, :disabled")) continue;
    const opacity = ancestors(element).reduce((all, e) => all * parseFloat(getComputedStyle(e).opacity), 1);
    const behind = ground(element);
    const [r, g, b, a] = parse(getComputedStyle(element).color);
    const lights = [light(over([r, g, b, a * opacity], behind)), light(behind)].sort((x, y) => y - x);
    const ratio = (lights[0] + 0.05) / (lights[1] + 0.05);
    if (ratio < least) found.push(`${ratio.toFixed(2)} ${words.slice(0, 40)}`);
  }
  return found;
}"""


def hard_to_read(page: Page, least: float = READABLE) -> list[str]:
    """The words whose contrast with what lies behind them is below the least, each with its ratio."""
    found: list[str] = page.evaluate(_LOOK, least)
    return found
