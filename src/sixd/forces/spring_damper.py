"""A spring and damper between points of two bodies, or of a body and the world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from sixd.algorithms import kinematics
from sixd.errors import ModelError
from sixd.forces.elements import ZERO_WRENCH, Applied, Force, finite_vector, nonnegative, set_fields, tree_of
from sixd.model.system import System
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array, Scalar, sqrt, where
from sixd.spatial.transform import force_at_point


@final
@dataclass(frozen=True, eq=False)
class SpringDamper(Force):
    """A spring and a damper in line between two points: f = k (r - length) + c ṙ pulls them together at distance r.

    Parameters
    ----------
    frame_a, frame_b : frames of a model, "world" among them.
    stiffness, damping : k [N/m] and c [N s/m].
    length : length of the unloaded spring [m].
    point_a, point_b : (3,) the ends, in their frames [m]; the frames' origins if omitted.

    Notes
    -----
    Where the points coincide the line has no direction, and the force is zero. A spring with ``length`` > 0 can be
    pushed through that point, where its force jumps.
    """

    frame_a: str
    frame_b: str
    stiffness: float
    damping: float = 0.0
    length: float = 0.0
    point_a: Any = (0.0, 0.0, 0.0)
    point_b: Any = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for name, unit in (("stiffness", "N/m"), ("damping", "N s/m"), ("length", "m")):
            set_fields(self, **{name: nonnegative("SpringDamper", name, getattr(self, name), unit)})
        for name in ("point_a", "point_b"):
            set_fields(self, **{name: finite_vector("SpringDamper", name, getattr(self, name), 3)})

    def size(self, model: System) -> int:
        """Return 0, no internal state; raise unless the frames belong to two bodies of the model."""
        tree = tree_of("SpringDamper", model)
        bodies = {tree.frame(name, "SpringDamper").body for name in (self.frame_a, self.frame_b)}
        if len(bodies) == 1:
            raise ModelError(
                f"SpringDamper: frames {self.frame_a!r} and {self.frame_b!r} are fixed in one body, expected two."
            )
        return 0

    def apply(self, model: System, t: Scalar, q: Array, qd: Array, u: Array) -> Applied:
        """Return the opposite forces on both bodies."""
        a, b, f = self._pull(model, np.asarray(q), np.asarray(qd))
        f_ext = [ZERO_WRENCH] * model.nb
        for name, position, force in ((self.frame_a, a, f), (self.frame_b, b, -f)):
            body = model.frame(name, "SpringDamper").body
            if body:
                f_ext[body - 1] = f_ext[body - 1] + force_at_point(force, position)
        return Applied(None, np.array(f_ext))

    def contacts(self, model: System, t: Scalar, q: Array, qd: Array, u: Array) -> tuple[Array, Array]:
        """Return the two ends (2, 3) [m] and the forces on them (2, 3) [N], world axes."""
        a, b, f = self._pull(model, np.asarray(q), np.asarray(qd))
        return np.array([a, b]), np.array([f, -f])

    def _pull(self, model: System, q: Array, qd: Array) -> tuple[Array, Array, Array]:
        """Return the positions of both ends, and the force on the first."""
        ends = ((self.frame_a, self.point_a), (self.frame_b, self.point_b))
        (a, va), (b, vb) = (self._end(model, q, qd, name, point) for name, point in ends)
        d, rate = b - a, vb - va
        r = sqrt(d @ d)
        along = d / where(r > 0, r, 1)
        pull = (d - along * self.length) * self.stiffness  # smooth where the ends meet, if the length is 0
        return a, b, pull + along * ((along @ rate) * self.damping)

    @staticmethod
    def _end(model: System, q: Array, qd: Array, name: str, point: Array) -> tuple[Array, Array]:
        """Return the position and velocity (3,) of an end, world axes."""
        T = model.apply("pose", kinematics.pose, q, frame=name)
        v = model.apply("velocity", kinematics.velocity, q, qd, frame=name, expressed_in="aligned")
        arm = T[:3, :3] @ point
        return T[:3, 3] + arm, v[3:] + skew(v[:3]) @ arm
