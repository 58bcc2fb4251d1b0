"""Joints with a constant motion subspace about one axis: fixed, revolute, prismatic, helical, cylindrical."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from sixd.model.joints.base import Joint, finite_parameter, parse_axis
from sixd.spatial.rotation import axis_rotation
from sixd.spatial.scalar import Array, Scalar
from sixd.spatial.transform import plucker, xlt


@final
@dataclass(frozen=True)
class Fixed(Joint):
    """No DoF: the two bodies are merged when a model is built."""

    nq: ClassVar[int] = 0
    nv: ClassVar[int] = 0

    def transform(self, q: Array) -> Array:
        """Return the identity (6, 6)."""
        return np.eye(6, dtype=int)

    def subspace(self, q: Array) -> Array:
        """Return S (6, 0)."""
        return np.zeros((6, 0))


@dataclass(frozen=True)
class _AxisJoint(Joint):
    """A joint about or along ``axis``: "x", "y", "z" or a 3-vector (of any length, not zero)."""

    axis: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", parse_axis(type(self).__name__, self.axis))

    @cached_property
    def _a(self) -> Array:
        return np.array(self.axis)

    def _column(self, angular: Scalar, linear: Scalar) -> Array:
        return np.concatenate([self._a * angular, self._a * linear])[:, None]


@final
@dataclass(frozen=True)
class Revolute(_AxisJoint):
    """Turn by q [rad] about ``axis``; ``continuous`` marks one without limits (q stays a real number)."""

    continuous: bool = False
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad",)
    symbol: ClassVar[str] = "hinge"

    def transform(self, q: Array) -> Array:
        """Return the rotation by q about the axis."""
        return plucker(axis_rotation(self._a, q[0]).T, np.zeros(3, dtype=int))

    def subspace(self, q: Array) -> Array:
        """Return S (6, 1) = [axis; 0]."""
        return self._column(1, 0)


@final
@dataclass(frozen=True)
class Prismatic(_AxisJoint):
    """Slide by q [m] along ``axis``."""

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    half_range: ClassVar[tuple[float, ...]] = (1.0,)
    coordinate_units: ClassVar[tuple[str, ...]] = ("m",)
    symbol: ClassVar[str] = "slide"

    def transform(self, q: Array) -> Array:
        """Return the translation by q along the axis."""
        return xlt(self._a * q[0])

    def subspace(self, q: Array) -> Array:
        """Return S (6, 1) = [0; axis]."""
        return self._column(0, 1)


@final
@dataclass(frozen=True)
class Helical(_AxisJoint):
    """Screw: turn by q [rad] about ``axis`` while sliding ``pitch`` [m/rad] · q along it (right-handed if positive)."""

    pitch: Any = 0.0
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad",)
    symbol: ClassVar[str] = "screw"

    def __post_init__(self) -> None:
        super().__post_init__()
        finite_parameter("Helical: pitch", self.pitch, "[m/rad]")

    def transform(self, q: Array) -> Array:
        """Return the rotation by q about the axis, with the translation by pitch q along it."""
        return plucker(axis_rotation(self._a, q[0]).T, self._a * (self.pitch * q[0]))

    def subspace(self, q: Array) -> Array:
        """Return S (6, 1) = [axis; pitch axis]."""
        return self._column(1, self.pitch)


@final
@dataclass(frozen=True)
class Cylindrical(_AxisJoint):
    """Turn by q[0] [rad] about ``axis`` and slide by q[1] [m] along it, independently."""

    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2
    half_range: ClassVar[tuple[float, ...]] = (np.pi, 1.0)
    coordinate_names: ClassVar[tuple[str, ...]] = ("turn", "slide")
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad", "m")
    symbol: ClassVar[str] = "sleeve"

    def transform(self, q: Array) -> Array:
        """Return the rotation by q[0] about the axis, with the translation by q[1] along it."""
        return plucker(axis_rotation(self._a, q[0]).T, self._a * q[1])

    def subspace(self, q: Array) -> Array:
        """Return S (6, 2) = [axis 0; 0 axis]."""
        return np.concatenate([self._column(1, 0), self._column(0, 1)], axis=1)
