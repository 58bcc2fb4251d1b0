"""``sixd.clearance``: the distance that a motion keeps, at its records and between them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.collision.pair_gaps import PairGaps
from sixd.collision.pairs import CollisionPairs
from sixd.errors import ModelError, ShapeError
from sixd.model.manifold import require_unit_quaternions
from sixd.model.model import Model, require_model
from sixd.planning.motion_bounds import MotionBounds
from sixd.planning.paths import PlannedPath
from sixd.simulation.arguments import positive
from sixd.spatial.scalar import Array
from sixd.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WHERE = "clearance"
_AT_ONCE = 1024  # pieces of a motion: each has four arrays of all pairs
_SHORTEST = 2.0**-20  # of the way between two records: shorter pieces are not divided


@dataclass(frozen=True, eq=False)
class MotionClearance:
    """The least distances of a motion with n records; the leading dimensions … are those of the batch.

    distance : (…, n) [m], of the nearest pair at each record, negative where it overlaps.
    index : (…, n), the number in ``pairs`` of that pair.
    between : (…, n - 1) [m], a lower bound of the distance on the geodesic from each record to the next.
    pairs : the pairs of names.
    t : (n,) the times of the records [s], their numbers if the motion was an array.
    """

    distance: Array
    index: Array
    between: Array
    pairs: CollisionPairs
    t: Array

    @property
    def least(self) -> float:
        """A lower bound of the distance of the whole motion, of all of the batch [m]."""
        return float(min(self.distance.min(initial=np.inf), self.between.min(initial=np.inf)))

    def nearest(self) -> tuple[str, str]:
        """Return the names of the pair with the least distance at any record."""
        if not self.distance.size or not self.pairs:
            raise ModelError("nearest: there is no record or no pair, expected at least one.")
        return self.pairs[int(self.index.flat[int(self.distance.argmin())])]

    def names(self) -> list[tuple[str, str]]:
        """Return the names of the nearest pair at each record of a single motion."""
        if self.index.ndim != 1:
            raise ShapeError(f"names: the motions are a batch {self.index.shape[:-1]}, expected one. See index.")
        return [self.pairs[k] for k in self.index.tolist()] if self.pairs else []

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the distances over time as a matplotlib figure; ``path`` saves it."""
        from sixd.trajectory.plotting import figure_maker, save_figure

        figure = figure_maker()(figsize=(8.0, 3.2), layout="constrained")
        axes = figure.add_subplot()
        for row, low in zip(
            self.distance.reshape(-1, len(self.t)), self.between.reshape(-1, max(len(self.t) - 1, 0)), strict=False
        ):
            (line,) = axes.plot(self.t, row, lw=1.2)
            axes.stairs(low, self.t, baseline=None, color=line.get_color(), alpha=0.4, lw=0.8) if len(low) else None
        axes.axhline(0, color="0.6", lw=0.8)
        axes.set(xlabel="t [s]", ylabel="least distance [m]")
        if path is not None:
            save_figure(figure, path)
        return figure


def clearance(
    model: Model,
    motion: Any,
    pairs: Any = None,
    *,
    placements: Mapping[str, Any] | None = None,
    tol: float = 1e-3,
) -> MotionClearance:
    """The least distance of all pairs of collision shapes along a motion, between its records too.

    Parameters
    ----------
    motion : a ``Trajectory`` of the model, or configurations (…, n, nq) such as the waypoints of ``plan_path``.
    pairs : the result of ``collision_pairs``, or what that accepts as ``among``; None for all of its pairs.
    placements : {shape: pose (4, 4)}: shapes that are elsewhere than in the model, as for ``distance``.
    tol : how far the bound of the distance between two records may be below the least distance that was computed
        there [m].

    Returns
    -------
    ``MotionClearance``: ``distance`` and ``index`` (…, n), ``between`` (…, n - 1), ``pairs``, ``least``.

    Notes
    -----
    ``between`` is guaranteed for the geodesic of ``model.integrate`` and ``difference`` from record to record: by the
    distances at its configurations, minus bounds of the motion from lever arms. A simulated motion leaves the geodesic
    by the order of ½ qdd h² for records h apart, times the lever arms.

    >>> import numpy as np, sixd
    >>> ball = sixd.Shape("sphere", (0.1,))
    >>> arm = sixd.zoo.pendulum().with_collision("world", ball, sixd.placement((1.2, 0, 0)), name="ball")
    >>> arm = arm.with_collision(arm.body_names[0], ball, sixd.placement((1, 0, 0)), name="bob")
    >>> result = sixd.clearance(arm, [[-1.0], [1.0]], [("ball", "bob")])
    >>> result.distance.round(2), abs(result.least) < 1e-3
    (array([0.87, 0.87]), True)
    """
    require_model(_WHERE, model)
    model.require_numeric(_WHERE)
    tol = positive(_WHERE, "tol", tol, "m")
    q, t = _records(model, motion)
    gaps = PairGaps(_WHERE, model, pairs, placements)
    lead, n, count = q.shape[:-2], q.shape[-2], len(gaps.names)
    if not count:
        far = np.full((*lead, n), np.inf)
        return MotionClearance(far, np.zeros(far.shape, dtype=int), far[..., 1:], gaps.names, t)
    flat = q.reshape(-1, n, model.nq)
    sweep = _MotionSweep(model, gaps, tol)
    rows = [sweep.along(x) for x in flat]
    distance, index, between = (np.array([row[k] for row in rows]) for k in range(3))
    return MotionClearance(
        distance.reshape(*lead, n),
        index.reshape(*lead, n).astype(int),
        between.reshape(*lead, max(n - 1, 0)),
        gaps.names,
        t,
    )


def _records(model: Model, motion: Any) -> tuple[Array, Array]:
    """Return the configurations (…, n, nq) of a motion and its times (n,)."""
    array = np.asarray(motion.q if isinstance(motion, (Trajectory, PlannedPath)) else motion)
    if array.dtype.kind not in "fiu" or array.ndim < 2 or array.shape[-1] != model.nq or not array.size:
        raise ShapeError(
            f"{_WHERE}: motion has shape {array.shape} of {array.dtype}, expected a Trajectory, a PlannedPath, or "
            f"configurations (…, n, {model.nq}) of model {model.name!r}."
        )
    q = array.astype(float)
    if not np.isfinite(q).all():
        raise ShapeError(
            f"{_WHERE}: motion has values that are not finite, expected finite numbers. Cut it before them."
        )
    require_unit_quaternions(_WHERE, model, "motion", q)
    return q, motion.t if isinstance(motion, Trajectory) else np.arange(q.shape[-2], dtype=float)


@dataclass(frozen=True, eq=False)
class _Ends:
    """Configurations with the distances (n, pairs) there, and bounds of motions at unit time."""

    q: Array
    distance: Array
    speed: Array


class _MotionSweep:
    """Distances along motions of a model."""

    def __init__(self, model: Model, gaps: PairGaps, tol: float) -> None:
        self.model, self.gaps, self.tol = model, gaps, tol
        self.bounds = MotionBounds(_WHERE, model, gaps.solids, gaps.placed)

    def along(self, q: Array) -> tuple[Array, Array, Array]:
        """Return the distances (n,), pairs (n,) and bounds between records (n - 1,) of one motion q (n, nq)."""
        starts = range(0, max(len(q) - 1, 1), _AT_ONCE)
        parts = [self._part(q[a : a + _AT_ONCE + 1]) for a in starts]
        # the last record of a part is the first of the next one
        ends = [slice(None) if k == len(parts) - 1 else slice(-1) for k in range(len(parts))]
        distance, index = (
            np.concatenate([part[k][end] for part, end in zip(parts, ends, strict=True)]) for k in (0, 1)
        )
        return distance, index, np.concatenate([part[2] for part in parts])

    def _part(self, q: Array) -> tuple[Array, Array, Array]:
        distance = self.gaps.exact(q)
        index = distance.argmin(axis=1) if len(q) else np.zeros(0, dtype=int)
        least = distance.min(axis=1) if len(q) else np.zeros(0)
        if len(q) < 2:
            return least, index, np.zeros(0)
        dq = np.asarray(self.model.difference(q[:-1], q[1:]))
        first = _Ends(q[:-1], distance[:-1], self.bounds.of_pairs(q[:-1], dq))
        last = _Ends(q[1:], distance[1:], self.bounds.of_pairs(q[1:], dq))
        return least, index, self._between(first, last, dq)

    def _between(self, first: _Ends, last: _Ends, dq: Array) -> Array:
        """Return lower bounds (n,) of the distances on geodesics: pieces are divided until they are near enough."""
        n, length = len(dq), 1.0
        bound = np.full(n, np.inf)
        found = np.minimum(first.distance, last.distance).min(axis=1)
        number = np.arange(n)
        while len(number):
            lower = _lower_bound(first, last, length)
            np.minimum.at(found, number, np.minimum(first.distance, last.distance).min(axis=1))
            again = (lower < found[number] - self.tol) & (length > _SHORTEST)
            np.minimum.at(bound, number[~again], lower[~again])
            number, first, last = number[again], _some(first, again), _some(last, again)
            if not len(number):
                break
            length /= 2
            q = np.asarray(self.model.integrate(first.q, dq[number] * length))
            middle = _Ends(q, self.gaps.exact(q), self.bounds.of_pairs(q, dq[number]))
            number = np.concatenate([number, number])
            first, last = _both(first, middle), _both(middle, last)
        return np.minimum(bound, found)


def _lower_bound(first: _Ends, last: _Ends, length: float) -> Array:
    """Return bounds (n,) on pieces: each pair is farther apart than its distance at one end minus its motion since."""
    a, b = first.speed * length, last.speed * length
    total = np.where(a + b > 0, a + b, 1.0)
    crossing = (first.distance * b + last.distance * a - a * b) / total
    ends = np.minimum(first.distance, last.distance)
    # where the two lines cross; rounding may put that beyond an end
    found: Array = np.where(a + b > 0, np.minimum(crossing, ends), ends).min(axis=1)
    return found


def _some(ends: _Ends, which: Array) -> _Ends:
    return _Ends(ends.q[which], ends.distance[which], ends.speed[which])


def _both(a: _Ends, b: _Ends) -> _Ends:
    pairs = ((a.q, b.q), (a.distance, b.distance), (a.speed, b.speed))
    return _Ends(*(np.concatenate(pair) for pair in pairs))
