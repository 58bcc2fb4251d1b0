"""What is plotted beside a motion: which quantities, by which names and units. Drawing is the page's business."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sixd.model.system import System
from sixd.spatial.scalar import Array
from sixd.trajectory.labels import Column, labels_of
from sixd.trajectory.trajectory import Trajectory
from sixd.viewer.scene.packing import buffer
from sixd.viewer.scene.thinning import Bins

_WORDS = {"q": "position", "qd": "velocity", "tau": "force"}
_UNITS = {
    "rad": "angle",
    "m": "position",
    "rad/s": "angular velocity",
    "m/s": "velocity",
    "N m": "torque",
    "N": "force",
}


def plots(system: System, trajectory: Trajectory | None, bins: Bins) -> list[dict[str, Any]]:
    """Energy, coordinates, velocities, forces and the error of constraints, each in plots of one unit.

    Without a trajectory the coordinates alone, which the page has already.
    """
    labels = labels_of(system)
    found = [] if trajectory is None else _energy(trajectory, bins)
    found += [
        {"title": title, "unit": unit, "series": [{"label": c.name, "coordinate": k} for k, c in columns]}
        for title, unit, columns in _by_unit("q", labels.q)
    ]
    if trajectory is None:
        return found
    for what, columns in (("qd", labels.qd), ("tau", labels.tau)):
        values = getattr(trajectory, what)
        if values is not None and np.any(values):
            found += [
                {"title": title, "unit": unit, "series": [_series(c.name, values[:, k], bins) for k, c in group]}
                for title, unit, group in _by_unit(what, columns)
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


def _by_unit(what: str, columns: Sequence[Column]) -> Iterator[tuple[str, str, list[tuple[int, Column]]]]:
    """(title, unit, columns with their numbers) for each unit that occurs."""
    for unit in dict.fromkeys(c.unit for c in columns):
        group = [(k, c) for k, c in enumerate(columns) if c.unit == unit]
        if all(c.name.rpartition(".")[2] in ("qw", "qx", "qy", "qz") for _, c in group):
            yield "orientation, quaternion", "", group
        else:
            word = _UNITS.get(unit, _WORDS[what])
            yield (f"{word} [{unit}]" if unit else word), unit, group
