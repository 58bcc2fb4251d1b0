"""Trajectories as a scene holds them: rows side by side or as ghosts, as few records as the eye needs, and plots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.model.system import System
from sixd.simulation.labels import Column, labels_of
from sixd.simulation.trajectory import Trajectory
from sixd.spatial.scalar import Array
from sixd.view.packing import buffer
from sixd.view.pieces import PALETTE

MOST_ROWS = 16
RATE = 60.0  # records/s, what screens show
# numbers of all motions of a page: 8 MB of float32 in base64
_MOST_NUMBERS = 1_500_000
_VISIBLE = 0.02  # [rad or m] by which a motion between two records may differ from a straight one, unseen
_WORDS = {"q": "position", "qd": "velocity", "tau": "force"}
_UNITS = {
    "rad": "angle",
    "m": "position",
    "rad/s": "angular velocity",
    "m/s": "velocity",
    "N m": "torque",
    "N": "force",
}


@dataclass(frozen=True, eq=False)
class Motion:
    """One motion to be shown: times (r,), q (r, nq), and the trajectory of that row, if it has more to tell."""

    name: str
    t: Array
    q: Array
    trajectory: Trajectory | None = None
    ghost: bool = False


def read_motions(
    system: System, given: Any, names: Sequence[str] | None, ghost: bool, notes: list[str]
) -> list[Motion]:
    """The motions of a trajectory, a pair (t, q), a list of these or a mapping from names; a batch gives several."""
    found: list[Motion] = []
    left_out = 0
    for name, item in _named(given, names):
        rows = list(_rows(system, name, item, MOST_ROWS - len(found)))
        found += rows
        left_out += _row_count(item) - len(rows)
    if left_out:
        notes.append(
            f"{len(found)} motions are shown, {left_out} more are left out. Choose with trajectory.row([...])."
        )
    if ghost:
        found = [Motion(m.name, m.t, m.q, m.trajectory, ghost=k > 0) for k, m in enumerate(found)]
    return found


def _named(given: Any, names: Sequence[str] | None) -> list[tuple[str, Any]]:
    if given is None:
        items: list[tuple[str, Any]] = []
    elif isinstance(given, Mapping):
        items = [(str(k), v) for k, v in given.items()]
    elif isinstance(given, (list, tuple)) and not _is_pair(given):
        items = [(f"motion {k + 1}" if len(given) > 1 else "", v) for k, v in enumerate(given)]
    else:
        items = [("", given)]
    if names is None:
        return items
    if isinstance(names, str) or len(names) != len(items):
        raise ShapeError(f"view: names is {names!r}, expected {len(items)} names, one a trajectory.")
    return [(str(n), item) for n, (_, item) in zip(names, items, strict=True)]


def _is_pair(given: Any) -> bool:
    """Whether it is (t, q) as arrays, not a list of trajectories."""
    return len(given) == 2 and not any(isinstance(x, (Trajectory, Mapping, list, tuple)) and _holds(x) for x in given)


def _holds(x: Any) -> bool:
    return isinstance(x, Trajectory) or any(isinstance(y, (Trajectory, np.ndarray)) for y in x)


def _row_count(item: Any) -> int:
    q = item.q if isinstance(item, Trajectory) else np.asarray(item[1])
    return int(np.prod(q.shape[:-2]))


def _rows(system: System, name: str, item: Any, most: int) -> Iterator[Motion]:
    """Up to ``most`` of the rows of an item."""
    if isinstance(item, Trajectory):
        t, q = item.t, item.q
    else:
        try:
            t, q = (np.asarray(x, dtype=float) for x in item)
        except (TypeError, ValueError):
            raise ScalarTypeError(
                f"view: the trajectory is a {type(item).__name__}, expected a sixd.Trajectory, a pair (t, q), or "
                f"several in a list or a dictionary."
            ) from None
    if t.ndim != 1 or q.ndim < 2 or q.shape[-2:] != (len(t), system.nq):
        raise ShapeError(
            f"view: the trajectory has t {t.shape} and q {q.shape}, expected (r,) and (…, r, {system.nq}) for "
            f"{system.name!r}. Is it of another model?"
        )
    if not len(t):
        raise ModelError("view: the trajectory has no records, expected at least one.")
    if not (np.diff(t) >= 0).all():
        raise ModelError("view: the trajectory's times do not ascend.")
    if t[-1] - t[0] > 0:  # two records of one time are a jump
        t = np.maximum.accumulate(t + np.arange(len(t)) * 1e-12 * (t[-1] - t[0]))
    batch = q.shape[:-2]
    for k, index in enumerate(np.ndindex(batch)):
        if k == most:
            return
        label = ", ".join(str(i) for i in index)
        row = item.row(index) if isinstance(item, Trajectory) and batch else item
        title = " ".join(x for x in (name, f"row {label}" if batch else "") if x) or "motion"
        yield Motion(title, t, q[index], row if isinstance(row, Trajectory) else None)


# records ------------------------------------------------------------------------------------------


def pack(
    system: System, motions: Sequence[Motion], offsets: Array, turn: Array, notes: list[str]
) -> list[dict[str, Any]]:
    """The scene's entries; ``offsets`` (n, 3) are the places of the motions, ``turn`` (3, 3) that of the world."""
    rate = RATE
    # a record has its time, in float64, its coordinates, and what is plotted beside them
    sizes = [2 + system.nq + (0 if m.trajectory is None else 2 * system.nv + 4) for m in motions]
    records = [min(len(m.t), RATE * float(m.t[-1] - m.t[0]) + 2) for m in motions]
    count = sum(n * size for n, size in zip(records, sizes, strict=True))
    if count > _MOST_NUMBERS:
        rate *= _MOST_NUMBERS / count
        notes.append(f"A long motion is shown with {rate:.3g} records a second, to keep the page small.")
    entries = []
    for k, (motion, offset) in enumerate(zip(motions, offsets, strict=True)):
        keep = thinned(motion.t, rate)
        if _loses(motion, keep):
            notes.append(
                f"The motion ({motion.name}) changes faster than {rate:.3g} records a second can show. Slice the "
                f"trajectory to look at a part."
            )
        color = PALETTE[k % len(PALETTE)] if len(motions) > 1 else None
        entries.append({
            "name": motion.name, "color": None if color is None else list(color), "offset": [float(x) for x in offset],
            "ghost": motion.ghost, "t": buffer(motion.t[keep], "float64"), "q": buffer(motion.q[keep], "float32"),
            "plots": plots(system, motion, keep), "contacts": _contacts(motion, keep, turn, notes),
        })  # fmt: skip
    return entries


def thinned(t: Array, rate: float = RATE) -> Array:
    """Numbers of records, at most about ``rate`` a second: those nearest to a grid, first and last among them."""
    if len(t) < 3 or (len(t) - 1) <= rate * (t[-1] - t[0]) * 1.02:
        return np.arange(len(t))
    grid = np.linspace(t[0], t[-1], max(int(np.ceil(rate * (t[-1] - t[0]))) + 1, 2))
    right = np.clip(np.searchsorted(t, grid), 1, len(t) - 1)
    nearest = np.where(grid - t[right - 1] < t[right] - grid, right - 1, right)
    return np.unique(np.concatenate([[0], nearest, [len(t) - 1]]))


def _loses(motion: Motion, keep: Array) -> bool:
    """Whether straight lines between the kept records miss what was recorded by more than the eye lets pass."""
    if len(keep) == len(motion.t):
        return False
    t, q = motion.t, motion.q
    good = np.isfinite(q).all(axis=1)
    for k in range(q.shape[1]):
        straight = np.interp(t[good], t[keep], q[keep, k])
        if (np.abs(straight - q[good, k]) > _VISIBLE).any():
            return True
    return False


def _contacts(motion: Motion, keep: Array, turn: Array, notes: list[str]) -> dict[str, Any] | None:
    if motion.trajectory is None or not motion.trajectory.forces:
        return None
    found = motion.trajectory.contacts()
    if not found:
        return None
    points, forces = (np.concatenate([f[k] for f in found], axis=-2)[keep] @ turn.T for k in (1, 2))
    return {"points": buffer(points, "float32"), "forces": buffer(forces, "float32"), "count": points.shape[-2]}


# plots --------------------------------------------------------------------------------------------


def plots(system: System, motion: Motion, keep: Array) -> list[dict[str, Any]]:
    """Energy, coordinates, velocities, forces and the error of constraints, each in plots of one unit."""
    labels, trajectory = labels_of(system), motion.trajectory
    found = [] if trajectory is None else _energy(trajectory, keep)
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
                {"title": title, "unit": unit, "series": [_series(c.name, values[:, k], keep) for k, c in group]}
                for title, unit, group in _by_unit(what, columns)
            ]
    if system.constraints and (trajectory.system is not None or "constraint_error" in trajectory.known):
        error = trajectory.constraint_error
        found.append({"title": "constraint error", "unit": "", "series": [_series("largest", error, keep)]})
    return found


def _energy(trajectory: Trajectory, keep: Array) -> list[dict[str, Any]]:
    if trajectory.system is None and not {"kinetic", "potential"} <= set(trajectory.known):
        return []
    parts = {"total": trajectory.energy, "kinetic": trajectory.kinetic, "potential": trajectory.potential}
    return [{"title": "energy [J]", "unit": "J", "series": [_series(n, x, keep) for n, x in parts.items()]}]


def _series(label: str, values: Array, keep: Array) -> dict[str, Any]:
    return {"label": label, "values": buffer(np.asarray(values)[keep], "float32")}


def _by_unit(what: str, columns: Sequence[Column]) -> Iterator[tuple[str, str, list[tuple[int, Column]]]]:
    """(title, unit, columns with their numbers) for each unit that occurs."""
    for unit in dict.fromkeys(c.unit for c in columns):
        group = [(k, c) for k, c in enumerate(columns) if c.unit == unit]
        if all(c.name.rpartition(".")[2] in ("qw", "qx", "qy", "qz") for _, c in group):
            yield "orientation, quaternion", "", group
        else:
            word = _UNITS.get(unit, _WORDS[what])
            yield (f"{word} [{unit}]" if unit else word), unit, group
