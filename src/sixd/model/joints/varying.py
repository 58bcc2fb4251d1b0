"""Joints whose motion subspace depends on q: universal, planar, rack and pinion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from sixd.model.joints.base import Joint, finite_parameter, parse_axis
from sixd.spatial.rotation import rotation_from_vector
from sixd.spatial.scalar import Array, cos, is_number, sin
from sixd.spatial.transform import plucker, rotate_both, rotx, roty, rotz, xlt


@final
@dataclass(frozen=True)
class Universal(Joint):
    """Turn by q[0] [rad] about the predecessor's x, then by q[1] [rad] about the successor's y."""

    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2
    coordinate_names: ClassVar[tuple[str, ...]] = ("x", "y")
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad", "rad")
    symbol: ClassVar[str] = "cross"

    def transform(self, q: Array) -> Array:
        """Return the rotation by q[0] about x, then by q[1] about the new y."""
        return roty(q[1]) @ rotx(q[0])

    def subspace(self, q: Array) -> Array:
        """Return S (6, 2); its first column depends on q[1]."""
        s, c = sin(q[1]), cos(q[1])
        return np.array([[c, 0, s, 0, 0, 0], [0, 1, 0, 0, 0, 0]]).T

    def subspace_rate(self, q: Array, qd: Array) -> Array:
        """Return S° (6, 2)."""
        s, c = sin(q[1]), cos(q[1])
        return np.array([[-s * qd[1], 0, c * qd[1], 0, 0, 0], [0, 0, 0, 0, 0, 0]]).T


@final
@dataclass(frozen=True)
class Planar(Joint):
    """q = (θ, x, y): slide by (x, y) [m] along the predecessor's axes, turn by θ [rad] about the plane's normal.

    qd is the derivative of q. With a ``normal`` other than z, the plane's x and y are those of the frame turned by the
    shortest rotation from z to the normal.
    """

    normal: Any = "z"
    nq: ClassVar[int] = 3
    nv: ClassVar[int] = 3
    half_range: ClassVar[tuple[float, ...]] = (np.pi, 1.0, 1.0)
    coordinate_names: ClassVar[tuple[str, ...]] = ("theta", "x", "y")
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad", "m", "m")
    symbol: ClassVar[str] = "plate"
    is_held: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", parse_axis("Planar", self.normal))

    @cached_property
    def plane(self) -> Array:
        """R (3, 3) from the plane's axes, normal along z, to the joint frame's."""
        x, y, z = self.normal
        if not all(is_number(a) for a in self.normal):  # the same rotation, for symbols
            return np.array(
                [[1 - x * x / (1 + z), -x * y / (1 + z), x], [-x * y / (1 + z), 1 - y * y / (1 + z), y], [-x, -y, z]]
            )
        across = np.array([-y, x, 0])
        length = np.sqrt(float(x * x + y * y))
        if length == 0:
            return np.diag([1, 1, 1] if z > 0 else [1, -1, -1])
        return rotation_from_vector(across / length * np.arctan2(length, z))

    @cached_property
    def _to_plane(self) -> Array:
        return plucker(self.plane.T, np.zeros(3, dtype=int))

    def transform(self, q: Array) -> Array:
        """Return the translation by (x, y) in the plane, then the rotation by θ about its normal."""
        return self._to_plane.T @ rotz(q[0]) @ xlt([q[1], q[2], 0]) @ self._to_plane

    def subspace(self, q: Array) -> Array:
        """Return S (6, 3); its linear columns depend on θ."""
        s, c = sin(q[0]), cos(q[0])
        S = np.array([[0, 0, 1, 0, 0, 0], [0, 0, 0, c, -s, 0], [0, 0, 0, s, c, 0]]).T
        return rotate_both(self.plane, S)

    def subspace_rate(self, q: Array, qd: Array) -> Array:
        """Return S° (6, 3)."""
        s, c = sin(q[0]) * qd[0], cos(q[0]) * qd[0]
        S = np.array([[0, 0, 0, 0, 0, 0], [0, 0, 0, -s, -c, 0], [0, 0, 0, c, -s, 0]]).T
        return rotate_both(self.plane, S)


@final
@dataclass(frozen=True)
class RackAndPinion(Joint):
    """A pinion of ``radius`` [m] rolling by q [rad] about x along a rack in -y."""

    radius: Any
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad",)
    symbol: ClassVar[str] = "pinion"

    def __post_init__(self) -> None:
        finite_parameter("RackAndPinion: radius", self.radius, "[m]")

    def transform(self, q: Array) -> Array:
        """Return the translation along -y by the rolled length, then the rotation by q about x."""
        return rotx(q[0]) @ xlt([0, -self.radius * q[0], 0])

    def subspace(self, q: Array) -> Array:
        """Return S (6, 1); its linear part depends on q."""
        return np.array([[1, 0, 0, 0, -self.radius * cos(q[0]), self.radius * sin(q[0])]]).T

    def subspace_rate(self, q: Array, qd: Array) -> Array:
        """Return S° (6, 1)."""
        r = self.radius * qd[0]
        return np.array([[0, 0, 0, 0, r * sin(q[0]), r * cos(q[0])]]).T
