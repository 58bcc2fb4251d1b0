"""Rigid limits of joint rows: the graphs of the rows at each point of a step, and what is recorded of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.forces.rigid_limits import RigidLimits
from sixd.simulation.impulses.active_set import FAR, Bounds, Solution
from sixd.simulation.impulses.joint_rows import JointRows
from sixd.simulation.problem import Problem
from sixd.spatial.scalar import Array, absolute, maximum, minimum, where


class LimitRows:
    """Rigid limits of joint rows: what the graphs of the rows are at each point of a step; ``per`` is 1/h."""

    def __init__(self, problem: Problem, rows: JointRows, dtype: str) -> None:
        self.rows = [rows.limits.get(j) for j in rows.freedoms]
        self.near = 1e-12 if dtype == "float64" else 1e-5  # rad or m: a joint is at its limit
        first = 0
        for force, size in zip(problem.forces, problem.sizes, strict=True):
            if isinstance(force, RigidLimits):
                self.restitution, self.first = force.restitution, first
            first += size
        at = list(rows.limits)
        self.recorded_at = [at.index(j) if j in rows.limits else None for j in rows.freedoms]

    def gaps(self, q: Array) -> tuple[Array, Array]:
        """Return the distances (k,) to the lower and upper limits."""
        low = [FAR if x is None or not np.isfinite(x[1]) else q[x[0]] - x[1] for x in self.rows]
        high = [FAR if x is None or not np.isfinite(x[2]) else x[2] - q[x[0]] for x in self.rows]
        return np.array(low), np.array(high)

    @staticmethod
    def moved(gaps: tuple[Array, Array], dq: Array) -> tuple[Array, Array]:
        """Return the distances after the rows have moved by dq (k,)."""
        return gaps[0] + dq, gaps[1] - dq

    @staticmethod
    def inside(gaps: tuple[Array, Array]) -> Bounds:
        """Return the graphs of displacements that lead back inside the limits."""
        none = np.zeros(len(gaps[0]))
        return Bounds(none, none, -gaps[0], gaps[1])

    @staticmethod
    def persisting(bounds: Bounds, gaps: tuple[Array, Array], v: Array, slow: Array, per: Any) -> Bounds:
        """Return the bounds with the limits that no row strikes within this step at its present speed v (k,)."""
        low, high = (maximum(gap, 0) * per for gap in gaps)
        k = range(len(v))
        low = np.array([where(v[i] + low[i] < -slow[i], -FAR, -low[i]) for i in k])
        high = np.array([where(high[i] - v[i] < -slow[i], FAR, high[i]) for i in k])
        return Bounds(bounds.lo, bounds.hi, low, high)

    def striking(self, bounds: Bounds, gaps: tuple[Array, Array], v: Array, slow: Array, per: Any) -> Bounds:
        """Return the bounds with all limits: rows that arrive with the velocity v (k,) bounce, or stop."""
        e, lo, hi = self.restitution, list(bounds.lo), list(bounds.hi)
        low, high = ([*(maximum(gap, 0) * per)] for gap in gaps)
        for i in range(len(v)):
            touches, strikes = gaps[0][i] <= self.near, v[i] < -slow[i]
            low[i] = where(strikes, where(touches, v[i] * -e, -FAR), -low[i])
            touches, strikes = gaps[1][i] <= self.near, v[i] > slow[i]
            high[i] = where(strikes, where(touches, v[i] * -e, FAR), high[i])
            # after a bounce friction is against the motion that begins
            lo[i], hi[i] = where(high[i] < 0, hi[i], lo[i]), where(low[i] > 0, lo[i], hi[i])
        return Bounds(np.array(lo), np.array(hi), np.array(low), np.array(high))

    @staticmethod
    def since(gaps: tuple[Array, Array], v: Array, slow: Array, h: Any) -> Array:
        """Return the time (k,) [s] since rows that arrive with the velocity v (k,) struck a limit, 0 for others."""
        found: list[Any] = []
        for i, x in enumerate(v):
            depth = maximum(-minimum(gaps[0][i], gaps[1][i]), 0)
            fast = absolute(x) > slow[i]
            found.append(where(fast, minimum(depth / where(fast, absolute(x), 1), h), 0))
        return np.array(found)

    @staticmethod
    def guess(bounds: Bounds, v: Array, state: Array) -> Array:
        """Return the states with those rows at a limit that would pass it with the velocity v (k,)."""
        low, high = bounds.low, bounds.high
        assert low is not None
        assert high is not None
        return np.array([where(v[i] < low[i], 2, where(v[i] > high[i], -2, x)) for i, x in enumerate(state)])

    @staticmethod
    def impulse(bounds: Bounds, found: Solution) -> Array:
        """Return the part (k,) of the impulses that is due to limits."""
        l, state = found.impulse, found.state
        above = [where(state[i] > 1.5, l[i] - bounds.hi[i], 0) for i in range(len(l))]
        return np.array([where(state[i] < -1.5, l[i] - bounds.lo[i], x) for i, x in enumerate(above)])

    def clipped(self, q: Array) -> Array:
        """Return q (nq,) within the limits; rounding may leave it beyond."""
        out = list(q)
        for x in self.rows:
            if x is not None:
                out[x[0]] = minimum(maximum(out[x[0]], x[1]), x[2])
        return np.array(out)

    def recorded(self, u: Array, force: Array) -> Array:
        """Return the states u of the force elements with the limits' forces (k,)."""
        out = list(u)
        for i, at in enumerate(self.recorded_at):
            if at is not None:
                out[self.first + at] = force[i]
        return np.array(out)
