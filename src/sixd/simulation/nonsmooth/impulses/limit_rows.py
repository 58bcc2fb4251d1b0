"""Rigid limits of joint rows: the graphs of the rows at each point of a step, and what is recorded of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.algorithms.linear.active_set import FAR, Bounds, Solution
from sixd.forces.elements import state_slices
from sixd.simulation.nonsmooth.impulses.impacts import Impact
from sixd.simulation.nonsmooth.impulses.joint_rows import JointRows
from sixd.simulation.nonsmooth.rigid_limits import RigidLimits
from sixd.simulation.problem import Problem
from sixd.spatial.scalar import Array, absolute, maximum, minimum, where


class LimitRows:
    """Rigid limits of joint rows: what the graphs of the rows are at each point of a step; ``per`` is 1/h."""

    def __init__(self, problem: Problem, rows: JointRows, dtype: str) -> None:
        self.rows = [rows.limits.get(j) for j in rows.dofs]
        self.near = 1e-12 if dtype == "float64" else 1e-5  # rad or m: a joint is at its limit
        for force, own in zip(problem.forces, state_slices(problem.sizes), strict=True):
            if isinstance(force, RigidLimits):
                self.restitution, self.first = force.restitution, own.start
        at = list(rows.limits)
        self.recorded_at = [at.index(j) if j in rows.limits else None for j in rows.dofs]

    def gaps(self, q: Array) -> tuple[Array, Array]:
        """Return the distances (k,) to the lower and upper limits."""
        low = [FAR if x is None or not np.isfinite(x[1]) else q[x[0]] - x[1] for x in self.rows]
        high = [FAR if x is None or not np.isfinite(x[2]) else x[2] - q[x[0]] for x in self.rows]
        return np.array(low), np.array(high)

    def persisting(self, bounds: Bounds, gaps: tuple[Array, Array], v: Array, slow: Array, per: Any) -> Bounds:
        """Return the bounds with the limits that no row hits within this step at its present speed v (k,)."""
        low, high = (self._speeds(gap, per) for gap in gaps)
        k = range(len(v))
        low = np.array([where(v[i] + low[i] < -slow[i], -FAR, -low[i]) for i in k])
        high = np.array([where(high[i] - v[i] < -slow[i], FAR, high[i]) for i in k])
        return bounds._replace(low=low, high=high)

    def _speeds(self, gap: Array, per: Any) -> Array:
        """Return the speeds (k,) by which rows reach a limit at the end of a step; 0 of those that are there."""
        return np.array([where(x <= self.near, 0, x * per) for x in gap])

    def with_impacts(
        self, bounds: Bounds, gaps: tuple[Array, Array], v: Array, w: Array, still: Array, slow: Array, per: Any, h: Any
    ) -> tuple[Bounds, Array]:
        """Return the bounds with all limits, and the times (k,) [s] since rows hit one.

        v and w (k,) are the velocities before and at the end of the step, ``still`` (k,) accelerations at rest, (0,) if
        there is no restitution: rows that hit a limit rebound, or stop.
        """
        e, lo, hi = self.restitution, list(bounds.lo), list(bounds.hi)
        low, high = ([*self._speeds(gap, per)] for gap in gaps)
        since: list[Any] = []
        for i in range(len(v)):
            below, above = (
                Impact(absolute(s * w[i]) <= slow[i], gap[i] - self.near, s * v[i], s * w[i], per, h)
                for s, gap in zip((1, -1), gaps, strict=True)
            )
            a = still[i] if e else 0
            low[i] = where(w[i] < -slow[i], where(below.happens, below.rebound(e, slow[i], a), -FAR), -low[i])
            high[i] = where(w[i] > slow[i], where(above.happens, -above.rebound(e, slow[i], -a), FAR), high[i])
            since.append(where(w[i] < 0, below.since, above.since))
            # after a bounce friction is against the motion that begins
            lo[i], hi[i] = where(high[i] < 0, hi[i], lo[i]), where(low[i] > 0, lo[i], hi[i])
        return Bounds(np.array(lo), np.array(hi), np.array(low), np.array(high)), np.array(since)

    @staticmethod
    def guess(bounds: Bounds, v: Array, state: Array) -> Array:
        """Return the states with those rows at a limit that would pass it with the velocity v (k,)."""
        low, high = bounds.low, bounds.high
        assert low is not None
        assert high is not None
        return np.array([where(v[i] < low[i], 2, where(v[i] > high[i], -2, x)) for i, x in enumerate(state)])

    @staticmethod
    def impulse(bounds: Bounds, result: Solution) -> Array:
        """Return the part (k,) of the impulses that is due to limits."""
        l, state = result.impulse, result.state
        above = [where(state[i] > 1.5, l[i] - bounds.hi[i], 0) for i in range(len(l))]
        return np.array([where(state[i] < -1.5, l[i] - bounds.lo[i], x) for i, x in enumerate(above)])

    def clipped(self, q: Array, bounds: Bounds | None = None, state: Array | None = None) -> Array:
        """Return q (nq,) within the limits, which rounding may leave; and at them where rows lean on them."""
        out = list(q)
        for i, x in enumerate(self.rows):
            if x is None:
                continue
            j, least, most = x
            out[j] = minimum(maximum(out[j], least), most)
            if bounds is not None and bounds.low is not None and bounds.high is not None and state is not None:
                if np.isfinite(least):
                    out[j] = where((state[i] > 1.5) & (absolute(bounds.low[i]) <= 0), least, out[j])
                if np.isfinite(most):
                    out[j] = where((state[i] < -1.5) & (absolute(bounds.high[i]) <= 0), most, out[j])
        return np.array(out)

    def recorded(self, u: Array, force: Array) -> Array:
        """Return the states u of the force elements with the limits' forces (k,)."""
        out = list(u)
        for i, at in enumerate(self.recorded_at):
            if at is not None:
                out[self.first + at] = force[i]
        return np.array(out)
