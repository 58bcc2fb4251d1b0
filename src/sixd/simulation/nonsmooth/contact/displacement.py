"""The displacement at the end of a step: by what impulses changed, and onto the ground, without gaining energy.

In the mass metric 0 ≤ φ + G p ⟂ p ≥ 0, and φ + G p = 0 where a point is pressed onto the ground: a problem of the
solver of impulses, with heights for velocities and without friction. What the displacement and the impulses of a part
gain together is taken from the velocity.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from sixd.simulation.nonsmooth.contact.contact_rows import ContactRows
from sixd.simulation.nonsmooth.contact.derivatives import Value, differentiable
from sixd.simulation.nonsmooth.contact.solver import ContactSolver
from sixd.spatial.scalar import Array, Scalar, maximum, sqrt, where
from sixd.trace.stages import Stages

_OFF = {"float64": 1e-9, "float32": 1e-6}  # m: heights that are not corrected; a go2 that stands is never off
_NOTHING = 1e-5  # of the kinetic energy that impulses could take: work that is not looked at
_LIFTED = 1e-22  # kg m²: square of a displacement in the mass metric whose energy is not looked at


class Displacement:
    """The displacement of a step and its energy, as calls within a recipe."""

    def __init__(self, rows: ContactRows, solve: ContactSolver, dtype: str) -> None:
        self.rows, self.solve, self.dtype, self.k = rows, solve, dtype, rows.k
        problem = rows.problem
        nq, nv = (problem.system.nq,), (problem.system.nv,)
        shapes = {"t": (), "q": nq, "after": nq, "before": nv, "qd": nv, "u": (problem.nu,), "dq": nv}
        self.energy = problem.traced(rows.displacement_energy, shapes, dtype)
        self.reduce = differentiable(self._reduced, {"v": nv, "kinetic": (), "gain": ()}, dtype)

    def onto_ground(
        self, stages: Stages, known: tuple[Array, Array, Array], gamma: Scalar, after: Array, moved: Array,
        by_joints: Array, x: Array, held: Array, reach: Any,
    ) -> tuple[Array, Any]:  # fmt: skip
        """Return z (nv,) of the displacement at the end of a part: by the impulses that changed, and onto the ground;
        and 1 if the latter was not found."""
        k = self.k

        U, _, arms = known

        def begin(axes: Array, after: Scalar, x: Array, held: Scalar, V: Array, r: Array) -> tuple[Any, ...]:
            b = self.rows.points.velocity(axes, V, r) * 1
            b[0] = b[0] + after
            presses = (x[0] > 0) & (held > 0)
            far = where(presses, maximum(b[0], -b[0]), -b[0])
            return b, where(presses, 1, 0), where(far > _OFF[self.dtype], 1, 0)

        z = self.rows.collect(stages, U, arms, np.concatenate([moved, by_joints]) if len(by_joints) else moved)
        V, joints = self.rows.frame_velocities(stages, U, z)
        points = self.rows.points
        b, pressed, far = points.over(
            stages, begin, [after], [x[: 3 * k]], [held], points.by_frame(V), [arms], into="foo"
        )  # fmt: skip
        b = np.concatenate([b, joints]) if len(joints) else b
        off = reduce(maximum, list(far))
        bounds = None
        if reach is not None:
            off = 1.0
            bounds = np.ravel(np.column_stack([np.zeros(self.rows.m)] * 2 + [-reach[0::2], reach[1::2]]))
        none = np.zeros(3 * k + self.rows.m)
        _, shift, done = self.solve(
            stages, known, gamma, b, none, none[: 3 * k], bounds, np.zeros(k), off, pressed=pressed, cold=True
        )  # fmt: skip
        return z + shift, 1 - done

    def work(
        self, stages: Stages, before: Array, after: Array, path: Array, path1: Array, speeds: Array, w: Array, l: Array,
        x: Array, z: Array, lift: Array, U: Array, arms: Array, per: Scalar,
    ) -> Array:  # fmt: skip
        """Return the work of the impulses on points, of l (n,) that was held along their paths (k, 4) and while they
        rose from the heights ``before`` to ``after`` (k,), and of its change x - l, at the velocities w after, and with
        the changes z (nv,); that of all impulses on joint rows, whose mean ``speeds`` (m,) were these while l was held;
        and 1 if it has to be looked at. By velocities at both ends instead of paths, a leg that turns at 70 rad/s would
        gain 2e-2 J in a step of 1 ms.

        Without the normal impulses, a point that is pressed down by the prediction and lifts off instead would gain
        0.3 J (a go2 without limits that falls, 5 ms). What the displacement ``lift`` (nv,) onto the ground gains is
        added in :meth:`without_gain`.
        """
        k, points = self.k, self.rows.points
        V, joints = self.rows.frame_velocities(stages, U, z)

        def one(
            axes: Array, per: Scalar, before: Scalar, after: Scalar, path: Array, path1: Array, w: Array, l: Array,
            x: Array, V: Array, r: Array,
        ) -> tuple[Any, Array]:  # fmt: skip
            rolled = (path[2:] + path1[2:]) * 0.5
            mean = np.array([(after - before) * per, *((path1[:2] - path[:2]) * per + rolled)])
            total = l @ mean + (x - l) @ (w * 2 + points.velocity(axes, V, r)) * 0.5
            return total, points.wrench(axes, l, r)

        known = [before], [after], [path], [path1], [w[: 3 * k]], [l[: 3 * k]], [x[: 3 * k]], points.by_frame(V), [arms]
        own, F = points.over(stages, one, per, *known, into="++")
        kinetic = self.rows.collect_wrenches(stages, U, F, l[3 * k :])
        total = sum(own)
        if len(joints):
            joint = slice(3 * k, None)
            total = total + l[joint] @ speeds + (x - l)[joint] @ (w[joint] * 2 + joints) * 0.5
        lifts = where(lift @ lift > _LIFTED, 1, 0)
        return np.array([total, where(total > kinetic @ kinetic * _NOTHING, 1, lifts)])

    def without_gain(
        self, stages: Stages, t: Scalar, q1: Array, q2: Array, v1: Array, v: Array, u: Array, lift: Array,
        response: Any, work: Scalar, constants: Any,
    ) -> Array:  # fmt: skip
        """Return the velocity v, which was v1 before the displacement (the axes of a free body turn), reduced by the
        energy that the displacement onto the ground and the impulses gain."""
        work, gains = work
        t, q1, q2, v1, v, u, lift, work, *response = stages.kept(t, q1, q2, v1, v, u, lift, work, *response)

        def reduced(v: Array) -> tuple[Array, ...]:
            dq = stages.part(self.rows.sparse.change, *response, lift)
            kinetic, gain = stages(self.energy, t, q1, q2, v1, v, u, dq, *constants)
            return (stages(self.reduce, v, kinetic, gain + work),)

        return stages.repeat(reduced, v, most=1, when=gains)[0]

    def _reduced(self, hold: Value, v: Array, kinetic: Scalar, gain: Scalar) -> Array:
        """Return the velocity with less energy. Derivatives leave that out: it is about as small as rounding."""
        return v * hold(sqrt(maximum(1 - maximum(gain, 0) / where(kinetic > 0, kinetic, 1), 0)))
