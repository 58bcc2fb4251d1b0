"""Rigid ground: a plane that points of bodies cannot enter, with Coulomb's friction and impacts.

Its forces do not follow from a state: a fixed-step method finds the impulses of each step (``nonsmooth/contact``).
Here are its numbers and its points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from sixd.algorithms import kinematics
from sixd.errors import ModelError
from sixd.forces.elements import RigidForce, nonnegative, set_fields, tree_of
from sixd.forces.ground_points import plane_axes, require_moving, set_plane, shape_points
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar

_NAME = "RigidGround"


@final
@dataclass(frozen=True, eq=False)
class RigidGround(RigidForce):
    """A rigid plane under points of bodies: they stick, slip, collide and rebound, and do not sink in.

    Parameters
    ----------
    points : name of a frame or body -> its points (k, 3), or one (3,), in that frame [m]. A fourth number is the radius
        of a ball about the point, whose lowest point touches the ground. None: corners of boxes, rims of cylinders,
        balls of spheres and capsules among the model's visual shapes.
    friction : coefficient μ of Coulomb's law: a point that sticks has ‖ft‖ ≤ μ fn, one that slips ft = -μ fn v/‖v‖.
    restitution : e in [0, 1]: a point that hits the ground with the speed v leaves it with e v, or slower if the impact
        would otherwise add energy. A point that would be back on the ground within a quarter of the step does not
        rebound.
    normal, height : the plane {x : normal · x = height}; ``normal`` (3,) points out of the ground. A mechanism that
        moves in the xy-plane stands on normal=(0, 1, 0).
    sweeps : the most iterations of a problem before it begins again without impulses, 8 at most. With less than 9 it
        does not begin again; otherwise up to 452 iterations follow. They end earlier, when velocities violate the laws
        by less than 1e-10 m/s, from the eighth on 1e-8 m/s (float32: 2e-5 and 5e-5). Problems that reach the limit are
        counted in ``facts["unsolved"]``.

    Notes
    -----
    For fixed steps: "rk4", "euler" and others, in ``sixd.simulate``, ``sixd.step`` and ``sixd.ensemble``.
    Points on the ground at the beginning of a step get impulses that are held over the step. If a point reaches the
    ground within the step, the step stops there: Coulomb's law determines the impulses of the impact, and the rest of
    the step follows. A step has at most 16 such parts. In the last one points that hit the ground stop without a
    rebound, and the step is counted as unsolved. The step ends with φ ≥ 0 and with Coulomb's law for the total impulse.
    Contact adds no energy.

    Internal state: the mean force on each point over the last step, (3,) in world axes [N], impacts included. It is the
    first guess of the next step, and what ``Trajectory.contacts`` returns.

    >>> import sixd
    >>> ball = sixd.ModelBuilder("ball")
    >>> ball.add_body("ball", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=1.0))
    >>> ground = sixd.RigidGround({"ball": (0, 0, 0, 0.1)}, friction=0.5)
    >>> motion = sixd.simulate(ball.build(), [1, 0, 0, 0, 0, 0, 0.1], None, 0.1, forces=ground)
    >>> (name, points, forces), = motion.contacts()
    >>> name, forces[-1].round(6).tolist()
    ('rigidground', [[0.0, 0.0, 9.81]])
    """

    points: Mapping[str, Any] | None = None
    _: KW_ONLY
    friction: float = 0.8
    restitution: float = 0.0
    normal: Any = (0.0, 0.0, 1.0)
    height: float = 0.0
    sweeps: int = 220

    def __post_init__(self) -> None:
        set_fields(self, friction=nonnegative(_NAME, "friction", self.friction))
        restitution = nonnegative(_NAME, "restitution", self.restitution)
        if restitution > 1:
            raise ModelError(f"{_NAME}: restitution is {self.restitution!r}, expected a number from 0 to 1.")
        sweeps = self.sweeps
        if isinstance(sweeps, bool) or not isinstance(sweeps, (int, np.integer)) or sweeps < 1:
            raise ModelError(f"{_NAME}: sweeps is {sweeps!r}, expected a whole number of at least 1.")
        set_fields(self, restitution=restitution, sweeps=int(sweeps))
        set_plane(_NAME, self)

    @classmethod
    def of(cls, model: System, *, rim: int = 8, **options: Any) -> RigidGround:
        """Return the ground under the model's visual shapes, with ``rim`` points on each rim of a cylinder."""
        return cls(shape_points(_NAME, tree_of(_NAME, model), rim), **options)

    def size(self, model: System) -> int:
        """Return three entries a point; raise unless all frames are of moving bodies."""
        table = self.points_of(model)
        require_moving(_NAME, model, table)
        return 3 * sum(len(points) for points in table.values())

    def contacts(self, model: System, t: Scalar, q: Any, qd: Any, u: Any) -> tuple[Array, Array]:
        """Return points (k, 3) [m] and the ground's mean forces on them over the last step (k, 3) [N], world axes."""
        n, _ = self.axes
        positions: list[Array] = []
        for name, points in self.points_of(model).items():
            T = model.apply("pose", kinematics.pose, np.asarray(q), frame=name)
            positions += [T[:3, 3] + (T[:3, :3] @ point[:3] - n * point[3]) for point in points]
        return np.array(positions), np.asarray(u).reshape(-1, 3)

    def points_of(self, model: System) -> Mapping[str, Array]:
        """Return name of a frame -> (k, 4), positions in it and radii [m]."""
        return shape_points(_NAME, tree_of(_NAME, model)) if self.points is None else self.points

    @cached_property
    def axes(self) -> tuple[Array, Array]:
        """Return the normal (3,), and two tangents (2, 3)."""
        return plane_axes(self.normal)
