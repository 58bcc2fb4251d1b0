"""The picture of growth: times against the number of bodies, both logarithmic, as SVG text.

Colours and greys are readable on white and on black, and there is no background: pages have either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

Point = tuple[float, float]

WIDTH, HEIGHT = 960, 400
LEFT, TOP, WIDE, HIGH = 64, 92, 214, 250  # of the first panel's axes
PITCH = 312  # from one panel to the next
GREY = "#808790"
COLOURS = {"rnea": ("RNEA", "#3b8eea"), "aba": ("ABA", "#e0752d"), "crba": ("CRBA", "#2fa36b")}
UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


class Panel(NamedTuple):
    """A title, what is below it, and the series of ours and of Pinocchio's by their names in the measurements."""

    title: str
    subtitle: str
    ours: str
    theirs: str | None
    scale: float = 1.0  # to ns


PANELS = (
    Panel("Batch", "time per state", "sixd", "Pinocchio batch"),
    Panel("One call", "from Python, for one state", "sixd call", "Pinocchio call"),
    Panel("First call", "traced and compiled, nothing cached", "first call", None, 1e9),
)


def draw(measured: Mapping[tuple[str, ...], float]) -> str:
    """The picture of what was measured under ("growth", function, bodies, series)."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="13" '
        f'fill="{GREY}" role="img">',
        f"<title>{escape('Time against the number of bodies of a chain, sixd and Pinocchio')}</title>",
        *_legend(),
    ]
    for k, panel in enumerate(PANELS):
        parts += [f'<g transform="translate({LEFT + k * PITCH} {TOP})">', *_panel(panel, measured), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> list[str]:
    parts, x = [], LEFT
    for label, dashes in (("sixd", ""), ("Pinocchio", ' stroke-dasharray="5 4"')):
        parts.append(f'<line x1="{x}" y1="20" x2="{x + 34}" y2="20" stroke="{GREY}" stroke-width="2.2"{dashes}/>')
        parts.append(f'<text x="{x + 42}" y="24.5">{label}</text>')
        x += 92 if label == "sixd" else 146
    for label, colour in COLOURS.values():
        parts.append(f'<circle cx="{x + 8}" cy="20" r="4.5" fill="{colour}"/>')
        parts.append(f'<text x="{x + 20}" y="24.5" fill="{colour}" font-weight="600">{label}</text>')
        x += 76
    parts.append(f'<text x="{WIDTH - 16}" y="24.5" text-anchor="end">chains of links, float64, one thread</text>')
    return parts


def _panel(panel: Panel, measured: Mapping[tuple[str, ...], float]) -> list[str]:
    lines = [
        (colour, is_ours, points)
        for word, (_, colour) in COLOURS.items()
        for name, is_ours in ((panel.theirs, False), (panel.ours, True))
        if name and (points := _points(measured, word, name, panel.scale))
    ]
    if not lines:
        return []
    across = _decades([x for _, _, points in lines for x, _ in points])
    up = _decades([y for _, _, points in lines for _, y in points])

    def at(x: float, y: float) -> Point:
        return _along(x, across) * WIDE, (1 - _along(y, up)) * HIGH

    parts = [
        f'<text x="0" y="-30" font-size="15" font-weight="600">{escape(panel.title)}</text>',
        f'<text x="0" y="-13">{escape(panel.subtitle)}</text>',
    ]
    for d in range(up[0], up[1] + 1):
        y = at(10 ** across[0], 10**d)[1]
        parts.append(f'<path d="M0 {y:.1f}H{WIDE}" stroke="{GREY}" stroke-opacity=".3"/>')
        parts.append(f'<text x="-8" y="{y + 4.5:.1f}" text-anchor="end">{_time(10**d)}</text>')
    for d in range(across[0], across[1] + 1):
        x = at(10**d, 10 ** up[0])[0]
        parts.append(f'<path d="M{x:.1f} 0V{HIGH}" stroke="{GREY}" stroke-opacity=".3"/>')
        parts.append(f'<text x="{x:.1f}" y="{HIGH + 19}" text-anchor="middle">{10**d:,}</text>')
    parts.append(f'<text x="{WIDE / 2}" y="{HIGH + 40}" text-anchor="middle">bodies</text>')
    for colour, is_ours, points in lines:
        parts += _line(colour, is_ours, [at(*p) for p in points])
    return parts


def _line(colour: str, is_ours: bool, points: Sequence[Point]) -> list[str]:
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dashes = "" if is_ours else ' stroke-dasharray="5 4"'
    parts = [f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2.2" stroke-linejoin="round"{dashes}/>']
    if is_ours:
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    return parts


def _points(measured: Mapping[tuple[str, ...], float], word: str, series: str, scale: float) -> list[Point]:
    """Bodies and time [ns] of a series, from the shortest chain on."""
    keys = [key for key in measured if key[:2] == ("growth", word) and key[3] == series]
    return sorted((float(key[2]), measured[key] * scale) for key in keys)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten around the values."""
    low, high = math.floor(math.log10(min(values)) + 1e-9), math.ceil(math.log10(max(values)) - 1e-9)
    return low, max(high, low + 1)


def _along(x: float, decades: tuple[int, int]) -> float:
    return (math.log10(x) - decades[0]) / (decades[1] - decades[0])


def _time(nanoseconds: float) -> str:
    size, unit = next((s, u) for s, u in UNITS if nanoseconds >= s * (1 - 1e-9) or s == 1.0)
    return f"{nanoseconds / size:g} {unit}"
