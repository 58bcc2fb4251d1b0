"""Labels: mathematics as SVG text, and positions where labels do not cover each other or the drawing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from sixd.notebook import number
from sixd.spatial.scalar import Array, is_number

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
}  # fmt: skip
_TOKEN = re.compile(r"\*\*\(?(-?[\w/]+)\)?|([^\W\d_]+)(?:_?\{?([\w]+)\}?)?(['′]*)|(\d+\.?\d*)|(\s+)|(.)")
_SIZE, _SMALL = 15.0, 10.5  # px of letters and of subscripts
_LONGEST = 22  # characters of a label


@dataclass(frozen=True, eq=False)
class Label:
    """A text near ``at`` (2,) [px], ``gap`` away, best in the direction ``towards`` (2,); ``plain`` is not mathematics.

    A ``firm`` label keeps to its direction: only its distance varies.
    """

    at: Array
    text: str
    towards: tuple[float, float] = (1.0, -1.0)
    gap: float = 6.0
    color: str = ""
    plain: bool = False
    firm: bool = False


def expression(x: Any) -> str:
    """Return a number or an expression as a label: four digits, or as it is written."""
    return number(x) if is_number(x) else str(x)


def typeset(text: str) -> list[tuple[str, str, int]]:
    """Return a text as mathematics: parts with their style, "" for italic or "r" for upright, and level -1, 0 or 1.

    "L1", "L_1" and "theta_1" have a subscript, "x**2" a power; a product is written without its sign.
    """
    parts: list[tuple[str, str, int]] = []
    for power, word, below, primes, digits, space, other in _TOKEN.findall(text):
        if power:
            parts.append((power.replace("-", "−"), "r", 1))
        elif word == "sqrt":
            parts.append(("√", "r", 0))
        elif word:
            name = _GREEK.get(word, _GREEK.get(word.lower(), "").upper() or word)
            upright = name in ("sin", "cos", "tan")
            parts.append((name + primes, "r" if upright else "", 0))
            parts += [(below, "r" if below.isdigit() else "", -1)] if below else []
        elif digits or space:
            parts.append((digits or space, "r", 0))
        else:
            parts.append(({"*": "\u2009", "-": "−"}.get(other, other), "r", 0))
    return parts


def place(labels: Sequence[Label], ink: Array) -> Iterator[tuple[str, Array, Array]]:
    """Yield each label as SVG text with its smallest and largest coordinates; those that keep to a direction first."""
    boxes: list[tuple[Array, Array]] = []
    for label in sorted(labels, key=lambda one: not one.firm):
        size = _extent(label)
        best, cost = None, np.inf
        for rank, centre in enumerate(_candidates(label, size)):
            low, high = centre - size / 2, centre + size / 2
            covered = ((ink > low) & (ink < high)).all(axis=1).sum() if len(ink) else 0
            overlap = sum(_overlap(low - 1, high + 1, *box) for box in boxes)
            price = rank * 0.7 + 3.0 * covered + (40 + overlap if overlap > 0 else 0)
            if price < cost:
                best, cost = centre, price
        assert best is not None  # there are always candidates
        boxes.append((best - size / 2, best + size / 2))
        yield _text(label, best), best - size / 2, best + size / 2


def _candidates(label: Label, size: Array) -> Iterator[Array]:
    """Centres of the text, the best first: around the point, then farther away."""
    d = np.asarray(label.towards, dtype=float)
    angle = float(np.arctan2(d[1], d[0]))
    turns = (0.0,) if label.firm else (0, 0.5, -0.5, 1.0, -1.0, 1.6, -1.6, 2.3, -2.3, np.pi)
    for distance in (0, 5, 11, 18, 27):
        for turn in turns:
            u = np.array([np.cos(angle + turn), np.sin(angle + turn)])
            # the box touches a circle around the point
            reach = min(size[0] / 2 / max(abs(u[0]), 1e-9), size[1] / 2 / max(abs(u[1]), 1e-9))
            yield label.at + u * (label.gap + distance + reach)


def _extent(label: Label) -> Array:
    if label.plain:
        return np.array([6.4 * len(label.text), 13.0])
    width = sum(len(text) * (0.52 * (_SMALL if level else _SIZE)) for text, _, level in typeset(_cut(label.text)))
    return np.array([max(width, 8.0), 15.0])


def _overlap(low: Array, high: Array, low2: Array, high2: Array) -> float:
    w = np.minimum(high, high2) - np.maximum(low, low2)
    return float(w[0] * w[1]) if (w > 0).all() else 0.0


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _text(label: Label, centre: Array) -> str:
    """The label as an SVG element, its middle at ``centre``."""
    classes = " ".join(name for name in ("u" if label.plain else "", label.color + "t" if label.color else "") if name)
    start = f'<text x="{centre[0]:.1f}" y="{centre[1] + (4 if label.plain else 5):.1f}" text-anchor="middle"'
    start += f' class="{classes}">' if classes else ">"
    if label.plain:
        return f"{start}{escape(_cut(label.text))}</text>"
    body, level = "", 0
    for text, style, new in typeset(_cut(label.text)):
        shift = {-1: 4.0, 0: 0.0, 1: -6.0}
        attributes = f' dy="{shift[new] - shift[level]:g}"' if new != level else ""
        attributes += ' font-size="10.5"' if new else ""
        attributes += ' class="r"' if style else ""
        body += f"<tspan{attributes}>{escape(text)}</tspan>" if attributes else escape(text)
        level = new
    return f"{start}{body}</text>"
