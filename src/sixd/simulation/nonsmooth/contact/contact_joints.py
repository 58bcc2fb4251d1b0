"""Joint rows with rigid contact: dry friction and rigid limits on the graphs of ``laws.py``, solved with the points.

Bounds are lists of four numbers a row: lo, hi, low, high; see ``active_set.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.algorithms.linear.active_set import FAR, SLACK, Bounds
from sixd.model.system import System
from sixd.simulation.nonsmooth.contact.laws import NEVER
from sixd.simulation.nonsmooth.impulses.joint_rows import JointRows
from sixd.simulation.nonsmooth.impulses.joint_step import BOUNCE, kept_at_rest, turning
from sixd.simulation.nonsmooth.impulses.limit_rows import LimitRows
from sixd.simulation.problem import Problem
from sixd.spatial.scalar import Array, Scalar, absolute, maximum, minimum, sign, where

_NEAR = {"float64": 1e-6, "float32": 1e-3}  # rad/s or m/s: from the velocity that a limit leaves
_SLOW = {"float64": 1e-10, "float32": 1e-6}  # rad/s or m/s: what the solver leaves of a joint that rests


class ContactJoints:
    """The joint rows of a step with contact."""

    def __init__(self, problem: Problem, rows: JointRows, dtype: str) -> None:
        self.rows, self.m, self.dtype = rows, rows.k, dtype
        self.limits = LimitRows(problem, rows, dtype) if rows.limits else None
        self.system = problem.system

    def guess(self, friction: Array) -> Array:
        """Return the forces (m,) of the last step, from those on the degrees of freedom (nv,)."""
        return np.array([*(friction[j] for j in self.rows.dofs), *([0] * len(self.rows.followers))])

    def persisting(self, h: Scalar, per: Scalar, q: Array, v: Array, v_e: Array, F: Array) -> Array:
        """Return the bounds (4m,) at the start of a step, for rows with the velocities v, and v_e without impulses."""
        bounds = Bounds(-F * h, F * h)
        if self.limits is not None:
            bounds = self.limits.persisting(bounds, self.limits.gaps(q), v, self._slow(v, v_e), per)
        return _flat(bounds)

    def with_impacts(
        self,
        h: Scalar,
        per: Scalar,
        q: Array,
        v: Array,
        v_e: Array,
        w: Array,
        F: Array,
        l: Array,
        W: Array,
        still: Array,
    ) -> tuple[Array, ...]:
        """Return the bounds (4m,) of total impulses at the end of a step; the times at which rows come to rest within
        it, and the friction until then; and the times since rows hit a limit.

        w (m,) are the velocities with the impulses l (m,) held, W (m,) the rows' responses to their own impulses.
        """
        turn = turning(v, w, l, W, F, h)
        bounds, since = Bounds(turn.lo, turn.hi), np.zeros(self.m)
        if self.limits is not None:
            gaps, slow = self.limits.gaps(q), self._slow(v, v_e)
            bounds, since = self.limits.with_impacts(bounds, gaps, v, w, still, slow, per, h)
        return _flat(bounds), turn.t1, sign(v) * F, since

    def moment(
        self, h: Scalar, lag: Scalar, x: Array, l: Array, bounds: Array, t1: Array, braked: Array, since: Array
    ) -> Any:
        """Return what the impulses x (m,) move by, beyond those that were held, as a moment (m,) about the end."""
        stop = self._stops(x, bounds)
        friction = x - stop
        smooth = (x - l) * (h * lag)
        return np.array([
            where(since[i] > 0, stop[i] * since[i], smooth[i]) - (friction[i] + braked[i] * h) * t1[i] * 0.5
            for i in range(self.m)
        ])  # fmt: skip

    def reach(self, q: Array, q1: Array, rests: Array) -> Array:
        """Return how far (2m,) rows may move from q1, backwards and forwards, within their limits; those that rest
        (m,) return to where they are in q."""
        low, high = ([FAR] * self.m, [FAR] * self.m) if self.limits is None else map(list, self.limits.gaps(q1))
        back = self.system.difference_row(q1, q)
        for i, j in enumerate(self.rows.dofs):
            low[i], high[i] = where(rests[i] > 0, -back[j], low[i]), where(rests[i] > 0, back[j], high[i])
        return np.array([x for pair in zip(low, high, strict=True) for x in pair])

    def mean_speeds(self, q: Array, q1: Array, per: Scalar, v: Array, w: Array) -> Array:
        """Return the mean velocities (m,) of rows from q to q1, where they are v and w."""
        mean, path = list((v + w) * 0.5), self.system.difference_row(q, q1)
        for i, j in enumerate(self.rows.dofs):
            mean[i] = path[j] * per
        return np.array(mean)

    def rests(self, v: Array, x: Array, bounds: Array) -> Array:
        """Return 1 for rows (m,) that were at rest, with velocities v (m,), and stay there with the impulses x (m,)."""
        result = []
        for i in range(self.m):
            lo, hi, low, high = bounds[4 * i : 4 * i + 4]
            fixed = (x[i] > hi) | (x[i] < lo) | ((x[i] > lo) & (x[i] < hi))
            speed = where(x[i] > hi, low, where(x[i] < lo, high, 0))
            result.append(where(fixed & (absolute(v[i]) <= 0) & (absolute(speed) <= 0), 1, 0))
        return np.array(result)

    def finished(
        self, system: System, per: Scalar, q: Array, q2: Array, v2: Array, u: Array, x: Array, bounds: Array,
        W: Array, done: Any, kept: Array,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return (q, qd, u) and the mean friction (nv,): rows that stick have the velocity 0, within their limits, and
        joints that are ``kept`` (m,) at rest have the coordinates of q. Others keep those of the displacement onto the
        ground: put back, they would move points into it by 1e-5 m.

        W (m,) are the rows' responses to their own impulses: at the edge between sticking and sliding velocities that
        are small compared with what friction can change are 0 too.
        """
        stop, out = self._stops(x, bounds), list(v2)
        for i, j in enumerate(self.rows.dofs):
            lo, hi, low, high = bounds[4 * i : 4 * i + 4]
            # at the edge of sticking an impulse may be beyond its bounds by rounding, also where there is no limit
            above, below = (x[i] > hi) & (low > -NEVER), (x[i] < lo) & (high < NEVER)
            above, below = (
                on & (absolute(out[j] - limit) <= _NEAR[self.dtype]) for on, limit in ((above, low), (below, high))
            )
            slow = maximum(W[i] * (hi - lo) * SLACK[self.dtype], where(hi > lo, _SLOW[self.dtype], 0))
            rests = ((x[i] > lo) & (x[i] < hi)) | (absolute(out[j]) <= slow)
            exact = where(above, low, where(below, high, where(rests, 0, out[j])))
            out[j] = where(done > 0, exact, out[j])
        v2 = np.array(out)
        if self.limits is not None:
            q2, u = self.limits.clipped(q2), self.limits.recorded(u, stop * per)
        moves: list[Any] = [1] * len(v2)
        for i, j in enumerate(self.rows.dofs):
            moves[j] = 1 - kept[i]
        return kept_at_rest(self.rows, q, q2, moves), v2, u, self.rows.apply(system, q, (x - stop) * per).tau

    def _stops(self, x: Array, bounds: Array) -> Array:
        """Return the part (m,) of impulses that is due to limits."""
        lo, hi = bounds[0::4], bounds[1::4]
        return np.array([maximum(x[i] - hi[i], 0) + minimum(x[i] - lo[i], 0) for i in range(self.m)])

    @staticmethod
    def _slow(v: Array, v_e: Array) -> Array:
        return absolute(v_e - v) * BOUNCE


def _flat(bounds: Bounds) -> Array:
    low = [-FAR] * len(bounds.lo) if bounds.low is None else bounds.low
    high = [FAR] * len(bounds.lo) if bounds.high is None else bounds.high
    return np.array([x for row in zip(bounds.lo, bounds.hi, low, high, strict=True) for x in row])
