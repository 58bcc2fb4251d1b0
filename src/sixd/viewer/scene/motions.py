"""The motions of a scene: read from trajectories or arrays, and packed with as few records as the eye needs."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.forces.ground import Ground
from sixd.geometry.pieces import PALETTE
from sixd.model.manifold import require_unit_quaternions
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.scalar import Array
from sixd.trajectory.trajectory import Trajectory
from sixd.viewer.scene.nearest import NearPairs
from sixd.viewer.scene.packing import buffer
from sixd.viewer.scene.plots import Bins, plots

MOST_ROWS = 16
RATE = 60.0  # records per second that screens show
# numbers of all motions of a page: 8 MB of float32 in base64
_MOST_NUMBERS = 1_500_000
_MOST_POINTS = 4000  # points of a plotted series: two a pixel of the widest panel, with some reserve
_VISIBLE = 0.02  # [rad or m] deviation from a straight line between two kept records that is not noticed


@dataclass(frozen=True, eq=False)
class ShownMotion:
    """One motion to show: times (r,), q (r, nq), and the trajectory of that rollout, None if it consists of arrays."""

    name: str
    t: Array
    q: Array
    trajectory: Trajectory | None = None
    ghost: bool = False


def read_motions(
    system: System, given: Any, names: Sequence[str] | None, ghost: bool, notes: list[str]
) -> list[ShownMotion]:
    """Return the motions of a trajectory, a path, a pair (t, q), a list or a mapping of these; one for each rollout of
    a batch.

    ``notes`` gains how many rollouts are left out.
    """
    found: list[ShownMotion] = []
    left_out = 0
    for name, item in _named(given, names):
        t, q = _arrays(system, item)
        batch = q.shape[:-2]
        if not math.prod(batch):
            raise ModelError("view: the trajectory has no rollouts, expected at least one.")
        shown = list(islice(np.ndindex(batch), MOST_ROWS - len(found)))
        found += [_motion(name, t, q[row], item, row) for row in shown]
        left_out += math.prod(batch) - len(shown)
    if left_out:
        notes.append(
            f"{len(found)} motions are shown, {left_out} more are left out. Choose with trajectory.row([...])."
        )
    if ghost:
        found = [replace(motion, ghost=k > 0) for k, motion in enumerate(found)]
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
    """Whether ``given`` is (t, q), times and configurations, rather than a list of trajectories or of such pairs."""
    if len(given) != 2 or any(isinstance(x, (Trajectory, Mapping)) for x in given):
        return False
    try:
        return np.ndim(given[0]) == 1
    except ValueError:  # t and q of different shapes: the first item is a pair itself
        return False


def _arrays(system: System, item: Any) -> tuple[Array, Array]:
    """Times (r,) and configurations (…, r, nq) of a trajectory or a pair."""
    if isinstance(item, Trajectory):
        t, q = item.t, item.q
    else:
        pair = item.timed() if hasattr(item, "timed") else item  # raises for a path that was not found
        try:
            t, q = (np.asarray(x, dtype=float) for x in pair)
        except (TypeError, ValueError):
            raise ScalarTypeError(
                f"view: the trajectory holds a {type(item).__name__}, expected a sixd.Trajectory, a path of "
                f"sixd.plan_path, a pair (t, q), or several in a list or a dictionary. Pass a single configuration by "
                f"name: view(model, q=…)."
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
    require_unit_quaternions("view", system, "the trajectory's q", q)
    if t[-1] - t[0] > 0:  # two records at the same time are a jump: set them apart
        t = np.maximum.accumulate(t + np.arange(len(t)) * 1e-12 * (t[-1] - t[0]))
    return t, q


def _motion(name: str, t: Array, q: Array, item: Any, row: tuple[int, ...]) -> ShownMotion:
    """The motion of one rollout of an item; ``row`` is () for an item without a batch."""
    label = f"row {', '.join(map(str, row))}" if row else ""
    trajectory = item if isinstance(item, Trajectory) else None
    own = trajectory.row(row) if trajectory is not None and row else trajectory
    return ShownMotion(" ".join(filter(None, (name, label))) or "motion", t, q, own)


def contact_points(model: Model, motions: Sequence[ShownMotion]) -> dict[int, Array]:
    """Return body -> points (k, 4) by which it may touch the ground: positions in the body's frame, and radii [m]."""
    found: dict[int, list[Array]] = {}
    forces = [f for m in motions if m.trajectory is not None for f in m.trajectory.forces]
    for ground in {id(f): f for f in forces if isinstance(f, Ground)}.values():
        for name, points in (ground.points or {}).items():
            frame = model.frame(name, "view")
            positions = points[:, :3] @ frame.pose[:3, :3].T + frame.pose[:3, 3]
            found.setdefault(frame.body, []).append(np.column_stack([positions, points[:, 3]]))
    return {body: np.unique(np.concatenate(points), axis=0) for body, points in found.items()}


# records ------------------------------------------------------------------------------------------


def pack(
    system: System, motions: Sequence[ShownMotion], offsets: Array, turn: Array, notes: list[str],
    near: NearPairs | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return the scene's entries of the motions, shown at ``offsets`` (n, 3); ``turn`` (3, 3) rotates the world.

    ``notes`` gains what the page cannot show of fast or long motions.
    """
    rate = RATE
    # a record is its time, in float64, and its coordinates; plots have points of their own
    records = sum(min(len(m.t), RATE * float(m.t[-1] - m.t[0]) + 2) * (2 + system.nq) for m in motions)
    points = sum(min(len(m.t), _MOST_POINTS) * (2 * system.nv + 6) for m in motions if m.trajectory is not None)
    share = min(1.0, _MOST_NUMBERS / max(records + points, 1.0))
    if share < 1 and records > 0.1 * _MOST_NUMBERS:
        rate *= share
        notes.append(f"A long motion is shown with {rate:.3g} records a second, to keep the page small.")
    entries = []
    room = _MOST_NUMBERS - records - points
    for k, (motion, offset) in enumerate(zip(motions, offsets, strict=True)):
        keep = thinned(motion.t, rate)
        if _loses(motion, keep):
            finer = _finer(motion, rate, len(keep) + room / _numbers_a_record(system, motion))
            room -= (len(finer) - len(keep)) * _numbers_a_record(system, motion)
            keep = finer
        if _loses(motion, keep):
            notes.append(
                f"The motion ({motion.name}) changes faster than its records in this page, which is kept small, can "
                f"show. Slice the trajectory to look at a part."
            )
        color = motion_color(k, len(motions))
        bins = Bins(len(motion.t), int(_MOST_POINTS * share))
        entries.append({
            "name": motion.name, "color": None if color is None else list(color), "offset": [float(x) for x in offset],
            "ghost": motion.ghost, "t": buffer(motion.t[keep], "float64"), "q": buffer(motion.q[keep], "float32"),
            "plot_t": None if motion.trajectory is None else buffer(bins.times(motion.t), "float64"),
            "plots": plots(system, motion.trajectory, bins),
            "contacts": _contacts(motion, keep, turn),
            "pairs": None if near is None else near.pack(motion.q[keep], notes),
        })  # fmt: skip
    return entries


def motion_color(k: int, count: int) -> tuple[float, ...] | None:
    """Return the colour (3,) of motion k: None for a single one, from the palette, or spread hues if that is short."""
    if count < 2:
        return None
    if count <= len(PALETTE):
        return PALETTE[k]
    return colorsys.hls_to_rgb(k / count, 0.42 if k % 2 else 0.58, 0.5)  # neighbours differ in lightness too


def thinned(t: Array, rate: float = RATE) -> Array:
    """Return the indices of the records nearest to a grid of about ``rate`` a second, the first and the last included.

    All records are kept if there are no more than that.
    """
    if len(t) < 3 or (len(t) - 1) <= rate * (t[-1] - t[0]) * 1.02:
        return np.arange(len(t))
    grid = np.linspace(t[0], t[-1], max(int(np.ceil(rate * (t[-1] - t[0]))) + 1, 2))
    right = np.clip(np.searchsorted(t, grid), 1, len(t) - 1)
    nearest = np.where(grid - t[right - 1] < t[right] - grid, right - 1, right)
    return np.unique(np.concatenate([[0], nearest, [len(t) - 1]]))


def _finer(motion: ShownMotion, rate: float, most: float) -> Array:
    """Indices of the records to keep of a fast motion: ``rate`` is doubled until nothing is lost, up to ``most``."""
    keep = thinned(motion.t, rate)
    while motion.t[-1] > motion.t[0] and _loses(motion, keep):
        rate *= 2
        more = thinned(motion.t, rate)
        if len(more) > most:
            break
        keep = more
    return keep


def _numbers_a_record(system: System, motion: ShownMotion) -> int:
    """How many numbers a record takes: time, in float64, coordinates, and the contacts' points and forces."""
    found = motion.trajectory[:1].contacts() if motion.trajectory is not None else []
    return 2 + system.nq + 6 * sum(points.shape[-2] for _, points, _ in found)


def _loses(motion: ShownMotion, keep: Array) -> bool:
    """Whether straight lines between the kept records deviate visibly from the records left out."""
    if len(keep) == len(motion.t):
        return False
    t, q = motion.t, motion.q
    good = np.isfinite(q).all(axis=1)
    for k in range(q.shape[1]):
        straight = np.interp(t[good], t[keep], q[keep, k])
        if (np.abs(straight - q[good, k]) > _VISIBLE).any():
            return True
    return False


def _contacts(motion: ShownMotion, keep: Array, turn: Array) -> dict[str, Any] | None:
    if motion.trajectory is None or not motion.trajectory.forces:
        return None
    found = motion.trajectory.contacts()
    if not found:
        return None
    points, forces = (np.concatenate([f[k] for f in found], axis=-2)[keep] @ turn.T for k in (1, 2))
    return {"points": buffer(points, "float32"), "forces": buffer(forces, "float32"), "count": points.shape[-2]}
