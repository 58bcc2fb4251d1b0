"""Compliant ground: a plane of springs, dampers and friction under points of bodies, or of their shapes.

The ground deforms along its normal and, under each point, along its tangents; the tangential deformation u is an
internal state, so that a point at rest on an incline stays there. The model is Featherstone's (his simulation software,
``gcontact``). Contact without deformation is ``rigid_ground.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from sixd.algorithms import kinematics
from sixd.errors import ModelError
from sixd.forces.elements import ZERO_WRENCH, Applied, Force, finite_number, nonnegative, set_fields, tree_of
from sixd.forces.ground_points import plane_axes, require_moving, set_plane, shape_points
from sixd.model.system import System
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array, Scalar, maximum, sqrt, where
from sixd.spatial.transform import force_at_point


class Contact(NamedTuple):
    """Forces of the ground on a point [N], the rate of its deformation [m/s], and the friction. ``demand`` is the size
    of the force that would make the point stick, ``limit`` = μ fn: it slips if demand > limit."""

    normal: Any
    tangential: Any
    rate: Any
    demand: Any
    limit: Any


def normal_pressure(K: Scalar, D: Scalar, z: Scalar, zd: Scalar) -> tuple[Any, Any]:
    """Return s = √max(0, -z), and the pressure p ≥ 0 with fn = s p; p = 0 while the point is free."""
    return sqrt(maximum(0, -z)), where(z >= 0, 0, maximum(0, -(z * K) - zd * D))


def contact_law(K: Scalar, D: Scalar, mu: Scalar, z: Scalar, zd: Scalar, v_t: Array, u: Array) -> Contact:
    """Return the ground's reaction to a point at height z [m], of any scalar; or, of floats, to several points at once.

    fn = s max(0, -K z - D ż) with s = √max(0, -z). Sticking needs ft = -s (K u + D v_t), slipping that
    force scaled to μ fn; du/dt = -(ft + s K u)/(s D), and -(K/D) u where the point is free.

    Parameters
    ----------
    K, D : stiffness [N/m^1.5] and damping [N s/m^1.5]. mu : coefficient of friction.
    z, zd : height of the point over the ground [m] and its rate [m/s].
    v_t, u : (2,) tangential velocity [m/s] and deformation [m]; several points: (2, n).

    Notes
    -----
    With e = K u + D v_t and c = min(1, μ p/‖e‖), all cases are ft = -s c e and du/dt = c v_t - (1 - c)(K/D) u: a free
    point has p = 0, so c = 0. Nothing is divided by s, which is 0 there.
    """
    s, pressure = normal_pressure(K, D, z, zd)
    e = u * K + v_t * D
    size, grip = sqrt((e * e).sum(axis=0)), pressure * mu
    sticks = size <= grip
    # both branches are computed: the divisor is 1 where the quotient is not used
    c = where(sticks, 1, grip / where(sticks, 1, size))
    return Contact(pressure * s, e * (-(s * c)), v_t * c - u * ((1 - c) * (K / D)), size * s, grip * s)


class _Touch(NamedTuple):
    """A point of a body: the body's number, position and force (3,) in world axes, rate of its deformation."""

    body: int
    position: Array
    force: Array
    rate: Array


@final
@dataclass(frozen=True, eq=False)
class Ground(Force):
    """A compliant plane that holds points of bodies up, sticking or slipping.

    Parameters
    ----------
    points : name of a frame or body -> its points (k, 3), or one (3,), in that frame [m]. A fourth number is the radius
        of a ball about the point, whose lowest point touches the ground. None: corners of boxes, rims of cylinders,
        balls of spheres and capsules among the model's visual shapes.
    stiffness, damping : K [N/m^1.5] and D [N s/m^1.5]: fn = √d (K d + D ḋ) at depth d, so K = F/d^1.5 for a force F at
        depth d. A body that rests on n points sinks by (m g/(n K))^(2/3).
    friction : coefficient μ; 0 leaves out all tangential forces.
    normal, height : the plane {x : normal · x = height}; ``normal`` (3,) points out of the ground. A mechanism that
        moves in the xy-plane stands on normal=(0, 1, 0).

    Notes
    -----
    Internal state: the tangential deformation, two numbers a point [m]; none without friction.

    Contact is stiff. A mass m on a point at depth d is a spring k = 1.5 K √d: explicit steps must be below about
    h = 0.1 √(m/k), see ``time_step``, and below D/K, the time in which the ground under a free point relaxes (2 ms
    by default). For larger steps use less stiffness and accept more depth, or method="implicit".
    An impact has a duration, and its rebound follows from D; ``sixd.RigidGround`` has impacts without duration.

    >>> import sixd
    >>> ball = sixd.ModelBuilder("ball")
    >>> ball.add_body("ball", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=1.0))
    >>> ground = sixd.Ground({"ball": (0, 0, 0, 0.1)})
    >>> ground.apply(ball.build(), 0.0, [1, 0, 0, 0, 0, 0, 0.099], [0, 0, 0, 0, 0, 0], [0, 0]).f_ext.round(4)
    array([[ 0.    ,  0.    ,  0.    ,  0.    ,  0.    , 31.6228]])
    """

    points: Mapping[str, Any] | None = None
    _: KW_ONLY
    stiffness: float = 1e6
    damping: float = 2000.0
    friction: float = 0.8
    normal: Any = (0.0, 0.0, 1.0)
    height: float = 0.0

    def __post_init__(self) -> None:
        units = {"stiffness": "N/m^1.5", "damping": "N s/m^1.5", "friction": ""}
        for name, unit in units.items():
            set_fields(self, **{name: nonnegative("Ground", name, getattr(self, name), unit)})
        if not self.stiffness:
            raise ModelError("Ground: stiffness is 0, expected a positive number [N/m^1.5].")
        if self.friction and not self.damping:
            raise ModelError("Ground: damping is 0, expected a positive number with friction, which relaxes by it.")
        set_plane("Ground", self)

    @classmethod
    def of(cls, model: System, *, rim: int = 8, **options: Any) -> Ground:
        """Return the ground under the model's visual shapes, with ``rim`` points on each rim of a cylinder."""
        return cls(shape_points("Ground", tree_of("Ground", model), rim), **options)

    def time_step(self, mass: float, *, speed: float = 0.0, gravity: float = 9.81) -> float:
        """Return a time step [s] for explicit methods: a tenth of √(m/k), and at most D/(4K) with friction.

        ``mass`` [kg] is the mass that one point carries: a body on n points has an n-th on each. k = 1.5 K √d at the
        depth d where the point rests, (m g/K)^(2/3), or to which it falls with ``speed`` [m/s], (1.25 m v²/K)^(2/5).
        Measured with RK4 on balls of 0.1 g to 50 kg that hit the ground at 1 m/s: speeds afterwards are within 1.2 %,
        mostly 0.4 %, of the true ones; twice the step doubles that, and from eight times the step on light balls fly
        off.
        """
        m, K = nonnegative("time_step", "mass", mass, "kg"), self.stiffness
        if not m:
            raise ModelError("time_step: mass is 0, expected the mass that one point carries [kg].")
        g = abs(finite_number("time_step", "gravity", gravity, "m/s²"))
        v = finite_number("time_step", "speed", speed, "m/s")
        depth = max((m * g / K) ** (2 / 3), (1.25 * m * v * v / K) ** 0.4)
        if not depth:
            raise ModelError("time_step: gravity and speed are 0, expected one of them: nothing presses on the ground.")
        step = 0.1 * (m / (1.5 * K * depth**0.5)) ** 0.5
        return min(step, self.damping / (4 * K)) if self.friction else step

    def size(self, model: System) -> int:
        """Return two entries a point, none without friction; raise unless all frames are of moving bodies."""
        require_moving("Ground", model, self._points(model))
        return 2 * sum(len(points) for points in self._points(model).values()) if self.friction else 0

    def apply(self, model: System, t: Scalar, q: Array, qd: Array, u: Array) -> Applied:
        """Return the ground's forces on the bodies, and the rates of the deformations."""
        f_ext, rates = [ZERO_WRENCH] * model.nb, [np.zeros(0, dtype=int)]
        for touch in self._touches(model, q, qd, u):
            f_ext[touch.body - 1] = f_ext[touch.body - 1] + force_at_point(touch.force, touch.position)
            rates.append(touch.rate)
        return Applied(None, np.array(f_ext), np.concatenate(rates))

    def contacts(self, model: System, t: Scalar, q: Array, qd: Array, u: Array) -> tuple[Array, Array]:
        """Return points (k, 3) [m] and the ground's forces on them (k, 3) [N], world axes."""
        touches = list(self._touches(model, q, qd, u))
        return np.array([x.position for x in touches]), np.array([x.force for x in touches])

    def _touches(self, model: System, q: Array, qd: Array, u: Array) -> Iterator[_Touch]:
        """Yield each point with the ground's force on it."""
        q, qd, u = np.asarray(q), np.asarray(qd), np.asarray(u)
        n, tangents = self._axes
        start = 0
        for name, points in self._points(model).items():
            body = model.frame(name, "Ground").body
            T = model.apply("pose", kinematics.pose, q, frame=name)
            v = model.apply("velocity", kinematics.velocity, q, qd, frame=name, expressed_in="aligned")
            for point in points:
                arm = T[:3, :3] @ point[:3] - n * point[3]
                position, speed = T[:3, 3] + arm, v[3:] + skew(v[:3]) @ arm
                z, zd = n @ position - self.height, n @ speed
                if self.friction:
                    K, D, mu = self.stiffness, self.damping, self.friction
                    c = contact_law(K, D, mu, z, zd, tangents @ speed, u[start : start + 2])
                    yield _Touch(body, position, n * c.normal + tangents.T @ c.tangential, c.rate)
                else:
                    s, pressure = normal_pressure(self.stiffness, self.damping, z, zd)
                    yield _Touch(body, position, n * (pressure * s), u[:0])
                start += 2

    def _points(self, model: System) -> Mapping[str, Array]:
        """Return name -> (k, 4), positions and radii."""
        return shape_points("Ground", tree_of("Ground", model)) if self.points is None else self.points

    @cached_property
    def _axes(self) -> tuple[Array, Array]:
        """Return the normal (3,), and two tangents (2, 3)."""
        return plane_axes(self.normal)
