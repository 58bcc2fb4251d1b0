"""Canvas: marks on a page in layers, and the SVG element made of them. Knows nothing of mechanisms.

Coordinates are in px, y down. Styles are CSS classes within the figure; no identifiers, scripts or outside fonts, so
that any number of figures can be in one page. Every mark leaves ink: points that labels keep away from.
"""

from __future__ import annotations

import itertools
from html import escape
from typing import Any

import numpy as np

from sixd.drawing.labels import Label, place
from sixd.spatial.scalar import Array

LAYERS = ("ground", "behind", "solid", "marks", "frames", "dimensions", "coordinates", "arrows")
_MARGIN = 14

# of page, notebook and editor, in this order; Canvas is the browser's own background
_PAPER = (
    "var(--sixd-paper,var(--color-background-primary,var(--jp-layout-color0,var(--vscode-editor-background,Canvas))))"
)
_INK = "var(--sixd-ink,currentColor)"
_TINT = "#5b86b5"
_STYLE = (
    f".sixd-drawing{{max-width:100%;height:auto;font:italic 15px 'STIX Two Text','Cambria','Georgia',serif}}"
    f".sixd-drawing *{{vector-effect:none}}"
    # b bodies, p paper (joints), k black, n thin lines, d dashed, h hatching
    f".sixd-drawing .b{{fill:{_PAPER};fill:color-mix(in srgb,{_TINT} 24%,{_PAPER});stroke:{_INK};stroke-width:1.3}}"
    f".sixd-drawing .s{{fill:{_PAPER};fill:color-mix(in srgb,{_TINT} 10%,{_PAPER});stroke:{_INK};stroke-width:1}}"
    f".sixd-drawing .p{{fill:{_PAPER};stroke:{_INK};stroke-width:1.3}}"
    f".sixd-drawing .k{{fill:{_INK};stroke:none}}"
    f".sixd-drawing .n{{fill:none;stroke:{_INK};stroke-width:.9}}"
    f".sixd-drawing .m{{fill:none;stroke:{_INK};stroke-width:1.6}}"
    f".sixd-drawing .d{{fill:none;stroke:{_INK};stroke-width:.9;stroke-dasharray:5 4;opacity:.65}}"
    f".sixd-drawing .h{{fill:none;stroke:{_INK};stroke-width:.8;opacity:.7}}"
    f".sixd-drawing .g{{fill:{_INK};stroke:none;opacity:.8}}"
    f".sixd-drawing text{{fill:{_INK};stroke:{_PAPER};stroke-width:4;paint-order:stroke;stroke-linejoin:round}}"
    f".sixd-drawing .u{{font:12px system-ui,sans-serif}}"
    f".sixd-drawing .r{{font-style:normal}}"
)
# colours that are readable on light and on dark paper: axes, coordinates, arrows
_COLORS = {"X": "#d9483b", "Y": "#2f9e55", "Z": "#4585dd", "C": "#c96f17", "A": "#8b54c4"}
_STYLE += "".join(
    f".sixd-drawing .{c}{{fill:none;stroke:{color};stroke-width:1.7}}"
    f".sixd-drawing .{c}f{{fill:{color};stroke:none}}.sixd-drawing text.{c}t{{fill:{color}}}"
    for c, color in _COLORS.items()
)


class Canvas:
    """Marks in layers; those of "solid" are sorted by depth, far ones first."""

    def __init__(self) -> None:
        self._marks: dict[str, list[tuple[float, str]]] = {name: [] for name in LAYERS}
        self._ink: list[Array] = []
        self._extent: list[Array] = []
        self.labels: list[Label] = []

    # marks ------------------------------------------------------------------------------------

    def line(self, layer: str, style: str, points: Any, *, depth: float = 0.0, closed: bool = False) -> None:
        """Add a line through points (n, 2), or a polygon if it is ``closed``."""
        p = np.asarray(points, dtype=float)
        steps = "L".join(f"{_n(x)} {_n(y)}" for x, y in p)
        self._add(layer, f'<path class="{style}" d="M{steps}{"Z" if closed else ""}"/>', depth)
        self._note(np.concatenate([p, p[:1]]) if closed else p)

    def circle(self, layer: str, style: str, centre: Any, radius: float, *, depth: float = 0.0) -> None:
        """Add a circle."""
        x, y = centre
        self._add(layer, f'<circle class="{style}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"/>', depth)
        turns = np.linspace(0, 2 * np.pi, max(8, int(radius)))
        self._note(np.stack([x + radius * np.cos(turns), y + radius * np.sin(turns)], axis=1))

    def bar(self, layer: str, style: str, start: Any, end: Any, width: float, *, depth: float = 0.0) -> None:
        """Add a bar with round ends."""
        a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
        along = _unit(b - a)
        side, r = np.array([-along[1], along[0]]) * (width / 2), width / 2
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = a + side, b + side, b - side, a - side
        text = (
            f"M{_n(x0)} {_n(y0)}L{_n(x1)} {_n(y1)}A{_n(r)} {_n(r)} 0 0 0 {_n(x2)} {_n(y2)}"
            f"L{_n(x3)} {_n(y3)}A{_n(r)} {_n(r)} 0 0 0 {_n(x0)} {_n(y0)}Z"
        )
        self._add(layer, f'<path class="{style}" d="{text}"/>', depth)
        self._note(np.array([a + side, b + side, b + along * r, b - side, a - side, a - along * r, a + side]))
        self._note(np.array([a, b]))

    def arrow(self, layer: str, style: str, points: Any, *, size: float = 8.0, both: bool = False) -> None:
        """Add a line through points (n, 2) with an arrowhead at its end, or at ``both`` ends."""
        p = np.asarray(points, dtype=float)
        filled = {"n": "g", "m": "k"}.get(style, style + "f")
        for line in (p, p[::-1]) if both else (p,):
            self._head(layer, filled, line, size)
        cut = p.copy()
        cut[-1] = p[-1] - _unit(p[-1] - p[-2]) * (size * 0.6)
        if both:
            cut[0] = p[0] - _unit(p[0] - p[1]) * (size * 0.6)
        self.line(layer, style, cut)

    def _head(self, layer: str, style: str, p: Array, size: float) -> None:
        # an arrow along a curve has the direction of its last part
        away = np.linalg.norm(p - p[-1], axis=1)
        far = np.nonzero(away > 0.7 * size)[0]
        along = _unit(p[-1] - p[far[-1] if len(far) else 0])
        side = np.array([-along[1], along[0]]) * (0.36 * size)
        self.line(layer, style, [p[-1], p[-1] - along * size + side, p[-1] - along * size - side], closed=True)

    def cross(self, layer: str, style: str, centre: Any, half: float) -> None:
        """Add two crossed strokes."""
        x, y = centre
        for s in (half, -half):
            self.line(layer, style, [(x - half, y - s), (x + half, y + s)])

    def label(self, at: Any, text: str, **options: Any) -> None:
        """Add a label near a point; see ``Label``. Labels are placed when everything else is drawn."""
        self.labels.append(Label(np.asarray(at, dtype=float), text, **options))

    # the page -----------------------------------------------------------------------------------

    @property
    def extent(self) -> tuple[Array, Array]:
        """The smallest and the largest coordinates (2,) of all marks."""
        p = np.concatenate(self._extent) if self._extent else np.zeros((1, 2))
        return p.min(axis=0), p.max(axis=0)

    def crowding(self, points: Any, reach: float) -> int:
        """Return how many points of ink are within ``reach`` [px] of points (n, 2)."""
        p, ink = np.asarray(points, dtype=float), np.concatenate([np.zeros((0, 2)), *self._ink])
        return int((np.abs(ink[:, None] - p[None]).max(axis=2) < reach).any(axis=1).sum()) if len(ink) else 0

    def svg(self, title: str) -> tuple[str, int, int]:
        """Return the SVG element as text, and its size [px]."""
        texts = []
        for text, low, high in place(self.labels, np.concatenate([np.zeros((0, 2)), *self._ink])):
            texts.append(text)
            self._extent.append(np.array([low, high]))
        low, high = self.extent
        low, size = low - _MARGIN, high - low + 2 * _MARGIN
        width, height = (int(np.ceil(x)) for x in size)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="sixd-drawing" role="img" width="{width}" '
            f'height="{height}" viewBox="{_n(low[0])} {_n(low[1])} {width} {height}" fill="#fff" stroke="#222">'
            f"<title>{escape(title)}</title><style>{_STYLE}</style>"
        ]
        for name in LAYERS:
            marks = [text for _, text in sorted(self._marks[name], key=lambda pair: pair[0])]
            parts += ["<g>", *marks, "</g>"] if marks else []
        return "".join([*parts, '<g fill="#222" stroke="none">', *texts, "</g></svg>"]), width, height

    def _add(self, layer: str, text: str, depth: float) -> None:
        self._marks[layer].append((depth, text))

    def _note(self, p: Array) -> None:
        """Keep points every few px of a line as ink."""
        self._extent.append(p)
        for a, b in itertools.pairwise(p):
            n = int(np.hypot(*(b - a)) / 4) + 1
            self._ink.append(a + (b - a) * np.linspace(0, 1, n + 1)[:, None])


def _unit(v: Array) -> Array:
    length = float(np.hypot(v[0], v[1]))
    return v / length if length > 1e-12 else np.array([1.0, 0.0])


def _n(x: float) -> str:
    """A coordinate with one decimal."""
    text = f"{float(x):.1f}"
    return text.removesuffix(".0").replace("-0", "0") if text in ("-0.0", "0.0") else text.removesuffix(".0")
