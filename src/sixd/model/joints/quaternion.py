"""Joints whose orientation is a unit quaternion (wxyz): spherical and free. No singularity anywhere.

``integrate`` and ``difference`` are the exponential and logarithm of SO(3) and SE(3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from sixd.model.joints.base import Joint
from sixd.spatial.exponential import log_coupling, sine_coefficient
from sixd.spatial.rotation import (
    quaternion_conjugate,
    quaternion_from_vector,
    quaternion_multiply,
    quaternion_normalize,
    quaternion_rate,
    quaternion_to_rotation,
    quaternion_to_vector,
    random_quaternion,
    sinc,
    skew,
)
from sixd.spatial.scalar import Array, sqrt
from sixd.spatial.transform import crm, plucker


def _exp_coupling(w: Array) -> Array:
    """V (3, 3): ∫₀¹ exp(s w×) ds, which maps a body velocity to the displacement of the origin."""
    t2 = w @ w
    c = sine_coefficient(2, t2)
    half = sinc(sqrt(t2 + 1e-36) / 2)  # differentiable at 0
    W = skew(w)
    return np.eye(3, dtype=int) + W * (half * half / 2) + (W @ W) * c


def _relative(q0: Array, q1: Array) -> Array:
    return quaternion_to_vector(quaternion_normalize(quaternion_multiply(quaternion_conjugate(q0), q1)))


@final
@dataclass(frozen=True)
class Spherical(Joint):
    """Ball joint: q = [qw qx qy qz], R(q) maps successor to predecessor components; qd = ω in successor axes."""

    nq: ClassVar[int] = 4
    nv: ClassVar[int] = 3
    has_quaternion: ClassVar[bool] = True
    coordinate_names: ClassVar[tuple[str, ...]] = ("qw", "qx", "qy", "qz")
    coordinate_units: ClassVar[tuple[str, ...]] = ("1",) * 4
    dof_names: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz")
    dof_units: ClassVar[tuple[str, ...]] = ("rad",) * 3
    force_names: ClassVar[tuple[str, ...]] = ("nx", "ny", "nz")
    symbol: ClassVar[str] = "ball"

    def transform(self, q: Array) -> Array:
        """Return the rotation of the quaternion."""
        return plucker(quaternion_to_rotation(q).T, np.zeros(3, dtype=int))

    def subspace(self, q: Array) -> Array:
        """Return S (6, 3) = [1; 0]."""
        return np.eye(6, dtype=int)[:, :3]

    def configuration_rate(self, q: Array, qd: Array) -> Array:
        """Return the quaternion's rate ½ q ⊗ [0; ω]."""
        return quaternion_rate(q, qd)

    def coadjoint(self, q: Array, qd: Array, p: Array) -> Array:
        """Return p × ω."""
        return skew(qd).T @ p

    def integrate(self, q: Array, dq: Array) -> Array:
        """Return q ⊗ exp(dq), normalized."""
        return quaternion_normalize(quaternion_multiply(q, quaternion_from_vector(dq)))

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the logarithm of q0⁻¹ ⊗ q1."""
        return _relative(q0, q1)

    def neutral(self) -> Array:
        """Return the quaternion (1, 0, 0, 0)."""
        return np.array([1.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator, lower: Array, upper: Array) -> Array:
        """Draw a unit quaternion uniformly; limits are ignored."""
        return random_quaternion(rng)

    def random_rows(self, rng: np.random.Generator, lower: Array, upper: Array, count: int) -> Array:
        """Draw ``count`` unit quaternions uniformly; limits are ignored."""
        return _random_quaternions(rng, count)


@final
@dataclass(frozen=True)
class Free(Joint):
    """Six DoF: q = [qw qx qy qz, x y z]; qd = [ω; v], v the velocity of the origin, both in body axes."""

    nq: ClassVar[int] = 7
    nv: ClassVar[int] = 6
    half_range: ClassVar[tuple[float, ...]] = (1.0,) * 7
    has_quaternion: ClassVar[bool] = True
    coordinate_names: ClassVar[tuple[str, ...]] = (*Spherical.coordinate_names, "x", "y", "z")
    coordinate_units: ClassVar[tuple[str, ...]] = (*Spherical.coordinate_units, "m", "m", "m")
    dof_names: ClassVar[tuple[str, ...]] = (*Spherical.dof_names, "vx", "vy", "vz")
    dof_units: ClassVar[tuple[str, ...]] = (*Spherical.dof_units, "m", "m", "m")
    force_names: ClassVar[tuple[str, ...]] = (*Spherical.force_names, "fx", "fy", "fz")
    symbol: ClassVar[str] = "none"
    is_held: ClassVar[bool] = False

    def transform(self, q: Array) -> Array:
        """Return the transform of the quaternion and the position."""
        return plucker(quaternion_to_rotation(q[:4]).T, q[4:])

    def subspace(self, q: Array) -> Array:
        """Return S = identity (6, 6)."""
        return np.eye(6, dtype=int)

    def configuration_rate(self, q: Array, qd: Array) -> Array:
        """Return [½ quaternion ⊗ [0; ω]; R v]."""
        return np.concatenate([quaternion_rate(q[:4], qd[:3]), quaternion_to_rotation(q[:4]) @ qd[3:]])

    def coadjoint(self, q: Array, qd: Array, p: Array) -> Array:
        """Return (qd×)ᵀ p."""
        return crm(qd).T @ p

    def integrate(self, q: Array, dq: Array) -> Array:
        """Return the pose reached from q by the constant twist dq: the exponential of SE(3)."""
        R, w, v = quaternion_to_rotation(q[:4]), dq[:3], dq[3:]
        quaternion = quaternion_normalize(quaternion_multiply(q[:4], quaternion_from_vector(w)))
        return np.concatenate([quaternion, q[4:] + R @ (_exp_coupling(w) @ v)])

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the twist that leads from q0 to q1: the logarithm of SE(3)."""
        R0, w = quaternion_to_rotation(q0[:4]), _relative(q0[:4], q1[:4])
        return np.concatenate([w, log_coupling(w) @ (R0.T @ (q1[4:] - q0[4:]))])

    def neutral(self) -> Array:
        """Return the unit quaternion and a zero position."""
        return np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator, lower: Array, upper: Array) -> Array:
        """Draw a unit quaternion uniformly, and a position within the limits, else within ±1 m."""
        position = super().random(rng, lower, upper)[4:]
        return np.concatenate([random_quaternion(rng), position])

    def random_rows(self, rng: np.random.Generator, lower: Array, upper: Array, count: int) -> Array:
        """Draw ``count`` configurations as :meth:`random` does."""
        position = self.between(rng.uniform(size=(count, 7)), lower, upper)[:, 4:]
        return np.hstack([_random_quaternions(rng, count), position])


def _random_quaternions(rng: np.random.Generator, count: int) -> Array:
    """Unit quaternions (count, 4), drawn uniformly over all orientations."""
    q = rng.standard_normal((count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)
