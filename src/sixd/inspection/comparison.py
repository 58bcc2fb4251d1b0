"""The result of ``sixd.compare``: differences between two descriptions of a robot, as data, text and tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.notebook import table

# what may differ, in the order of the output
KINDS = (
    "joints", "names", "masses", "inertias", "placements", "limits", "passive", "frames", "collisions", "constraints",
    "gravity", "dynamics",
)  # fmt: skip
_MOST_LINES = 200
_ROUNDING = 1e-12  # smaller errors of joint forces are printed as 'below'
_HEAD = ("where", "what", "a", "b", "difference")


@dataclass(frozen=True, eq=False)
class Difference:
    """One quantity that differs: its kind, the joint, body or frame, its values, and their difference if numeric."""

    kind: str
    where: str
    what: str
    a: Any
    b: Any
    difference: float | None = None

    def __str__(self) -> str:
        size = "" if self.difference is None else f", by {self.difference:.3g}"
        return f"{self.where}: {self.what} is {_value(self.a)} in a, {_value(self.b)} in b{size}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """The differences between two descriptions of a robot; true if they are equal within the tolerances.

    ``dynamics_error`` is the largest difference of joint forces over ``states`` random states, relative to the largest
    force; None if the joints differ, so that no state fits both.
    """

    a: str
    b: str
    differences: tuple[Difference, ...]
    states: int
    dynamics_error: float | None

    @property
    def equal(self) -> bool:
        """Whether nothing differs by more than the tolerances."""
        return not self.differences

    def __bool__(self) -> bool:
        return self.equal

    def to_dict(self) -> dict[str, Any]:
        """Return everything in the types of JSON; arrays become lists, infinity stays Python's."""
        return {
            "a": self.a, "b": self.b, "equal": self.equal,
            "differences": [{name: _plain(x) for name, x in vars(d).items()} for d in self.differences],
            "states": self.states, "dynamics_error": self.dynamics_error,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<Comparison of {self.a!r} and {self.b!r}: {self._count()}>"

    def __str__(self) -> str:
        lines = [f"a: {self.a}, b: {self.b}: {self._count()}"]
        if self.differences:
            shown = [_cells(d) for d in self.differences[:_MOST_LINES]]
            widths = [max(len(row[k]) for row in (_HEAD, *shown)) for k in range(len(_HEAD))]
            cells = [[cell.ljust(w) for cell, w in zip(row, widths, strict=True)] for row in (_HEAD, *shown)]
            lines += ["", *("  ".join(row).rstrip() for row in cells)]
            more = len(self.differences) - len(shown)
            lines += [f"… and {more} more"] if more else []
            lines.append("")
        return "\n".join([*lines, self.dynamics_summary()])

    def _repr_html_(self) -> str:
        """The differences as a table, for notebooks."""
        title = f"Comparison: a is {self.a}, b is {self.b}; {self._count()}"
        return table(title, _HEAD, [_cells(d) for d in self.differences], note=self.dynamics_summary())

    def _count(self) -> str:
        if self.equal:
            return "no differences"
        counts = Counter(d.kind for d in self.differences)
        total = len(self.differences)
        parts = ", ".join(f"{counts[kind]} in {kind}" for kind in KINDS if counts[kind])
        return f"{total} difference{'s' if total > 1 else ''} ({parts})"

    def dynamics_summary(self) -> str:
        """Return one sentence on the comparison of inverse dynamics."""
        if self.dynamics_error is None:
            why = "no states were requested" if not self.states else "the joints are not the same"
            return f"inverse dynamics: not compared, {why}"
        size = f"below {_ROUNDING:g}" if self.dynamics_error < _ROUNDING else f"{self.dynamics_error:.2g}"
        return f"inverse dynamics at {self.states} random states: largest difference {size} of the largest force"


def _cells(d: Difference) -> tuple[str, ...]:
    size = "" if d.difference is None else f"{d.difference:.3g}"
    return d.where, d.what, _value(d.a), _value(d.b), size


def _value(x: object) -> str:
    """Return a number, an array or a text in few characters."""
    if isinstance(x, (np.ndarray, list, tuple)):
        return "(" + ", ".join(_value(y) for y in np.ravel(np.asarray(x)).tolist()) + ")"
    return f"{x + 0.0:.6g}" if isinstance(x, (float, int, np.number)) else str(x)


def _plain(x: object) -> object:
    return x.tolist() if isinstance(x, (np.ndarray, np.generic)) else x
