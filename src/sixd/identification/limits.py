"""Limits of a motion: positions, velocities, accelerations and torques, as a penalty and as a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sixd.api.dynamics import inverse_dynamics
from sixd.engine.differentiation import vjp
from sixd.engine.kernel import Kernel
from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.model.model import Model
from sixd.spatial.scalar import Array, ArrayLike, require_scalars


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """lower ≤ q ≤ upper, |qd| ≤ velocity, |qdd| ≤ acceleration, |tau| ≤ effort, (nv,) each, some of them infinite."""

    model: Model
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array

    @property
    def middle(self) -> Array:
        """The configuration in the middle (nv,)."""
        return (self.lower + self.upper) / 2

    @property
    def reach(self) -> Array:
        """Half of the range of each coordinate (nv,)."""
        return (self.upper - self.lower) / 2

    def torque_gradients(self) -> Kernel | None:
        """The kernel of gradients of torques; None if torques are not limited."""
        return vjp(inverse_dynamics, self.model) if np.isfinite(self.effort).any() else None

    def excess(self, q: Array, qd: Array, qdd: Array) -> float:
        """The largest excess of a motion over its limits, relative to them: at most 0 if it keeps all of them."""
        parts = [np.abs(q - self.middle) / self.reach, np.abs(qd) / self.velocity, np.abs(qdd) / self.acceleration]
        if np.isfinite(self.effort).any():
            parts.append(np.abs(inverse_dynamics(self.model, q, qd, qdd)) / self.effort)
        return float(max(part.max() for part in parts)) - 1

    def penalty(self, torque_gradients: Kernel | None, q: Array, qd: Array, qdd: Array) -> tuple[float, list[Array]]:
        """½ Σ (excess of each sample)² / n, and its gradients with respect to q, qd and qdd (n, nv)."""
        total, gradients = 0.0, []
        for x, limit in ((q - self.middle, self.reach), (qd, self.velocity), (qdd, self.acceleration)):
            value, gradient = _hinge(x, limit)
            total += value
            gradients.append(gradient)
        if torque_gradients is not None:
            value, weight = _hinge(inverse_dynamics(self.model, q, qd, qdd), self.effort)
            total += value
            if weight.any():
                gradients = [a + b for a, b in zip(gradients, torque_gradients(q, qd, qdd, weight), strict=True)]
        return total, gradients


def _hinge(x: Array, limit: Array) -> tuple[float, Array]:
    """½ Σ max(|x| / limit - 1, 0)² / n and its gradient."""
    over = np.maximum(np.abs(x) / limit - 1, 0) / len(x)
    return float((over**2).sum()) * len(x) / 2, over * np.sign(x) / limit


def make_limits(model: Model, margin: float, overrides: Mapping[str, ArrayLike | None]) -> MotionLimits:
    """The limits of a model, or the overrides, reduced by a margin relative to each.

    A coordinate without limits has ±π rad or ±1 m around zero, as in ``model.random_configuration``.
    """
    values = {
        "lower": model.lower, "upper": model.upper, "velocity": model.velocity_limit,
        "acceleration": np.full(model.nv, np.inf), "effort": model.effort_limit,
    }  # fmt: skip
    for name, x in overrides.items():
        if x is None:
            continue
        require_scalars(f"excitation: {name}", x)
        array = np.asarray(x, dtype=float)
        if array.shape not in ((), (model.nv,)):
            raise ShapeError(f"excitation: {name} has shape {array.shape}, expected one limit, or ({model.nv},).")
        if np.isnan(array).any() or (name not in ("lower", "upper") and not (array > 0).all()):
            raise ScalarTypeError(f"excitation: {name} is {array.tolist()}, expected limits above zero.")
        values[name] = np.broadcast_to(array, (model.nv,))
    joints = list(zip(model.joints, model.iq, strict=True))
    low, high = (
        np.concatenate([j.between(np.full(j.nq, u), values["lower"][k], values["upper"][k]) for j, k in joints])
        for u in (0.0, 1.0)
    )
    stuck = [name for name, a, b in zip(model.joint_names, low, high, strict=False) if not a < b]
    if stuck:
        raise ModelError(f"excitation: joint {stuck[0]!r} has no range to move in, expected lower < upper. Lock it.")
    middle, reach = (low + high) / 2, (1 - margin) * (high - low) / 2
    kept = {name: (1 - margin) * values[name] for name in ("velocity", "acceleration", "effort")}
    return MotionLimits(model, middle - reach, middle + reach, **kept)
