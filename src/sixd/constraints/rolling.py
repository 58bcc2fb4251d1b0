"""Constraints of velocities that are not rates of a position: a knife edge, a rolling disc, a rolling sphere.

All quantities are in the axes of the ground's frame G; the ground is G's xy-plane with the normal z.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from sixd.algorithms.constrained.relative import relative_jacobian, relative_motion, relative_pose
from sixd.constraints.loop import OnFrames, require_positive, tree_of
from sixd.model.joints.base import parse_axis
from sixd.model.system import System
from sixd.spatial.rotation import EYE3, skew
from sixd.spatial.scalar import Array, Scalar, sqrt

_HEIGHT_FIRST = [2, 0, 1]  # the rows z, x, y


class OnGround(OnFrames):
    """Base of constraints between a frame and the ground."""

    frame_fields: ClassVar[tuple[str, ...]] = ("frame", "ground")
    frame: str
    ground: str

    @property
    def acted_frame(self) -> str:
        """The frame that moves over the ground."""
        return self.frame


@final
@dataclass(frozen=True)
class KnifeEdge(OnGround):
    """No velocity of the frame's origin along its own y axis: a skate, a knife, a wheel seen from above.

    One row, v_y = 0 [m/s], not integrable. λ is the lateral force [N] on the body along y.
    """

    frame: str
    ground: str = "world"

    def velocity(self, system: System, q: Array, qd: Array) -> Array:
        """A qd (1,): velocity of the frame's origin along its y axis [m/s]."""
        m = relative_motion(tree_of(self, system), q, qd, self.ground, self.frame)
        return np.array([m.R[:, 1] @ m.pd])

    def jacobian(self, system: System, q: Array) -> Array:
        """A (1, nv)."""
        R, _, _, J_p = relative_jacobian(tree_of(self, system), q, self.ground, self.frame)
        return (R[:, 1] @ J_p)[None]

    def bias(self, system: System, q: Array, qd: Array) -> Array:
        """dA/dt qd (1,)."""
        m = relative_motion(tree_of(self, system), q, qd, self.ground, self.frame)
        y = m.R[:, 1]
        return np.array([y @ m.pdd + (skew(m.w) @ y) @ m.pd])


class RollingContact(OnGround):
    """Base of bodies that roll without slipping: d is the vector from the centre to the point of contact.

    The material point at the contact is at rest. Rows: its height (the rate of ``position``), then x and y. λ is the
    force [N] of the ground on the body: normal, then along the ground's x and y.
    """

    spatial = True

    def contact(self, R: Array, w: Array) -> tuple[Array, Array]:
        """d (3,) [m] and its rate, for the body's orientation R (3, 3) and angular velocity w (3,), in ground axes."""
        raise NotImplementedError

    def velocity(self, system: System, q: Array, qd: Array) -> Array:
        """A qd (3,): velocity of the material point at the contact, along z, x and y [m/s]."""
        m = relative_motion(tree_of(self, system), q, qd, self.ground, self.frame)
        d, _ = self.contact(m.R, m.w)
        return (m.pd + skew(m.w) @ d)[_HEIGHT_FIRST]

    def jacobian(self, system: System, q: Array) -> Array:
        """A (3, nv)."""
        R, _, J_w, J_p = relative_jacobian(tree_of(self, system), q, self.ground, self.frame)
        d, _ = self.contact(R, EYE3[0] * 0)
        return (J_p - skew(d) @ J_w)[_HEIGHT_FIRST]

    def bias(self, system: System, q: Array, qd: Array) -> Array:
        """dA/dt qd (3,)."""
        m = relative_motion(tree_of(self, system), q, qd, self.ground, self.frame)
        d, dd = self.contact(m.R, m.w)
        return (m.pdd + skew(m.wd) @ d + skew(m.w) @ dd)[_HEIGHT_FIRST]


@final
@dataclass(frozen=True)
class Rolling(RollingContact):
    """A thin disc or wheel of ``radius`` [m] about the frame's ``axis`` rolls on the ground's xy-plane.

    The centre is the frame's origin. φ = height of the lowest point of the rim [m]. Undefined (NaN) when the disc lies
    flat.
    """

    frame: str
    radius: Any
    axis: Any = "y"
    ground: str = "world"

    def __post_init__(self) -> None:
        require_positive("Rolling", "radius", self.radius)
        object.__setattr__(self, "axis", parse_axis("Rolling", self.axis))

    def position(self, system: System, q: Array) -> Array:
        """φ (1,): height of the lowest point of the rim [m]."""
        R, p = relative_pose(tree_of(self, system), q, self.ground, self.frame)
        return np.array([p[2] - self.radius * self._steepness(R @ np.array(self.axis))])

    def contact(self, R: Array, w: Array) -> tuple[Array, Array]:
        """d (3,) from the centre to the lowest point of the rim [m], and its rate."""
        a = R @ np.array(self.axis)
        ad = skew(w) @ a
        s = self._steepness(a)
        down = a * a[2] - EYE3[2]  # towards the ground, within the disc, of length s
        rate = ad * a[2] + a * ad[2]
        return down * (self.radius / s), (rate + down * (a[2] * ad[2] / (s * s))) * (self.radius / s)

    def _steepness(self, a: Array) -> Scalar:
        """The cosine of the angle between the disc's steepest line and the vertical."""
        return sqrt(1 - a[2] * a[2])


@final
@dataclass(frozen=True)
class RollingSphere(RollingContact):
    """A sphere of ``radius`` [m] about the frame's origin rolls on the ground's xy-plane.

    It may spin about the normal. φ = height of its lowest point [m].
    """

    frame: str
    radius: Any
    ground: str = "world"

    def __post_init__(self) -> None:
        require_positive("RollingSphere", "radius", self.radius)

    def position(self, system: System, q: Array) -> Array:
        """φ (1,): height of the lowest point of the sphere [m]."""
        _, p = relative_pose(tree_of(self, system), q, self.ground, self.frame)
        return np.array([p[2] - self.radius])

    def contact(self, R: Array, w: Array) -> tuple[Array, Array]:
        """d (3,) = -radius z [m], and its rate, which is zero."""
        return EYE3[2] * (-self.radius), EYE3[2] * 0
