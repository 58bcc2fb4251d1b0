"""The plots next to a motion: their quantities, names and units, and fewer points that keep every peak.

The page draws them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.model.system import System
from sixd.spatial.scalar import Array
from sixd.trajectory.labels import QUATERNION, Column, by_unit, labels_of
from sixd.trajectory.trajectory import Trajectory
from sixd.viewer.scene.packing import buffer

_TITLES = {"q": "position", "qd": "velocity", "tau": "force"}
_TITLES_BY_UNIT = {
    "rad": "angle", "m": "position", "rad/s": "angular velocity", "m/s": "velocity", "N m": "torque", "N": "force",
}  # fmt: skip


@dataclass(frozen=True)
class Bins:
    """Groups of consecutive records; a plot shows the smallest and the largest value of each, in their order."""

    records: int
    most: int

    @property
    def width(self) -> int:
        """Records in a bin; 1 if all are kept."""
        return 1 if self.records <= max(self.most, 2) else -(-2 * self.records // max(self.most, 2))

    def times(self, t: Array) -> Array:
        """Return the times of the points: the start and the middle of each bin, then the last record."""
        if self.width == 1:
            return t
        first = np.arange(0, self.records, self.width)
        middle = np.minimum(first + self.width // 2, self.records - 1)
        return np.append(np.stack([t[first], t[middle]], axis=1).ravel(), t[-1])

    def values(self, x: Array) -> Array:
        """Return the values of the points: the two extremes of each bin in their order, then the last value."""
        if self.width == 1:
            return np.asarray(x)
        x = np.asarray(x, dtype=float)
        full = np.append(x, np.repeat(x[-1], -len(x) % self.width)).reshape(-1, self.width)
        bins = np.arange(len(full))
        # argmin and argmax return a value that is not finite, so that the line has a gap there
        low, high = full.argmin(axis=1), full.argmax(axis=1)
        pair = np.stack([full[bins, np.minimum(low, high)], full[bins, np.maximum(low, high)]], axis=1)
        return np.append(pair.ravel(), x[-1])


def plots(system: System, trajectory: Trajectory | None, bins: Bins) -> list[dict[str, Any]]:
    """Return the plots of energy, coordinates, velocities, forces and the constraints' error, each in one unit.

    Without a trajectory there are only the coordinates, whose values the page has already.
    """
    labels = labels_of(system)
    found = [] if trajectory is None else _energy(trajectory, bins)
    found += [
        {"title": title, "unit": unit, "series": [{"label": c.name, "coordinate": k} for k, c in group]}
        for title, unit, group in titled_groups("q", labels.q)
    ]
    if trajectory is None:
        return found
    for what, columns in (("qd", labels.qd), ("tau", labels.tau)):
        values = getattr(trajectory, what)
        if values is not None and np.any(values):
            found += [
                {"title": title, "unit": unit, "series": [_series(c.name, values[:, k], bins) for k, c in group]}
                for title, unit, group in titled_groups(what, columns)
            ]
    if system.constraints and (trajectory.system is not None or "constraint_error" in trajectory.known):
        error = trajectory.constraint_error
        found.append({"title": "constraint error", "unit": "", "series": [_series("largest", error, bins)]})
    return found


def _energy(trajectory: Trajectory, bins: Bins) -> list[dict[str, Any]]:
    if trajectory.system is None and not {"kinetic", "potential"} <= set(trajectory.known):
        return []
    parts = {"total": trajectory.energy, "kinetic": trajectory.kinetic, "potential": trajectory.potential}
    return [{"title": "energy [J]", "unit": "J", "series": [_series(n, x, bins) for n, x in parts.items()]}]


def _series(label: str, values: Array, bins: Bins) -> dict[str, Any]:
    return {"label": label, "values": buffer(bins.values(values), "float32")}


def titled_groups(what: str, columns: Sequence[Column]) -> Iterator[tuple[str, str, list[tuple[int, Column]]]]:
    """Return the title, the unit and the columns of "q", "qd" or "tau", with their indices, of each plot."""
    for unit, group in by_unit(columns).items():
        title = _TITLES_BY_UNIT.get(unit, _TITLES[what])
        if unit == QUATERNION:
            yield "orientation, quaternion", "", group
        else:
            yield (f"{title} [{unit}]" if unit else title), unit, group
