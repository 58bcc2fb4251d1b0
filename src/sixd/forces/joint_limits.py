"""Joint limits as one-sided springs and dampers: the force element ``JointLimits``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from sixd.algorithms import solve
from sixd.errors import ModelError
from sixd.forces.elements import Applied, Force, read_only, set_fields, tree_of
from sixd.model import memo
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar, is_number, is_object, maximum, require_scalars, sqrt, where

# [1/s]: the default step of simulations, 1 ms, is then 0.1 √(I/k), whatever the mechanism
_FREQUENCY = 100.0


@final
@dataclass(frozen=True, eq=False)
class JointLimits(Force):
    """Springs and dampers that act where a joint is beyond a finite limit, ``model.lower`` or ``model.upper``.

    tau = max(0, k d - c q̇) below the lower limit, by the depth d = lower - q; likewise above the upper. Dampers act
    only beyond the limit, and never hold back a joint that leaves it.

    Parameters
    ----------
    stiffness : k [N m/rad or N/m], a number or (nv,). None: k = I (100/s)², with the inertia I that a force on the
        joint feels while all others are free, 1/(M⁻¹)ᵢᵢ in the neutral configuration (moved within the limits).
    damping : c [N m s/rad or N s/m], a number or (nv,). None: critical, c = 2 √(k I).

    Notes
    -----
    By default the limits of every mechanism, small or large, are equally stiff against its inertia: steps of 1 ms are
    a tenth of √(I/k), and a joint that meets its limit at speed v goes v/270 s beyond it. An arm of 1 m that leans
    on a limit under its weight sinks in by 1.5 mrad. Explicit steps must be below about 0.1 √(I/k) for a k of your own.
    The damper sets in at once, so a step across a limit is exact to first order only.
    Limits of joints with as many coordinates as DoF count: all but spherical and free ones. Effort limits
    are applied by controllers (``saturate``).
    """

    stiffness: Any = None
    damping: Any = None

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            value = getattr(self, name)
            if value is None:
                continue
            require_scalars(f"JointLimits: {name}", value)
            array = np.array(value)
            if array.ndim > 1 or is_object(array) or not np.isfinite(array).all() or (array < 0).any():
                raise ModelError(
                    f"JointLimits: {name} is {value!r}, expected a finite number of at least 0, or (nv,) of them."
                )
            set_fields(self, **{name: read_only(array)})

    def size(self, model: System) -> int:
        """Return 0, no internal state; raise unless stiffness and damping fit the model."""
        tree_of("JointLimits", model)
        for name in ("stiffness", "damping"):
            value = getattr(self, name)
            if value is not None and value.shape not in ((), (model.nv,)):
                raise ModelError(
                    f"JointLimits: {name} has shape {value.shape}, expected a number or ({model.nv},), nv of "
                    f"{model.name!r}."
                )
        return 0

    def apply(self, model: System, t: Scalar, q: Array, qd: Array, u: Array) -> Applied:
        """Return the joint forces tau (nv,) of the springs and dampers."""
        q, qd = np.asarray(q), np.asarray(qd)
        k, c = self._coefficients(model)
        tau: list[Any] = [0] * model.nv
        for i, j, lower, upper in limited_coordinates(model):
            for limit, side in ((lower, 1), (upper, -1)):
                if np.isfinite(limit):
                    depth, speed = (limit - q[i]) * side, qd[j] * -side
                    tau[j] = tau[j] + side * where(depth > 0, maximum(0, depth * k[j] + speed * c[j]), 0)
        return Applied(np.array(tau), None)

    def _coefficients(self, model: System) -> tuple[Array, Array]:
        """Return stiffness k and damping c (nv,)."""
        k, c = self.stiffness, self.damping
        if k is None:
            k = _felt_inertia(model) * _FREQUENCY**2
        if c is None:
            c = sqrt(_felt_inertia(model) * k) * 2
        return np.broadcast_to(k, (model.nv,)), np.broadcast_to(c, (model.nv,))


def limited_coordinates(model: System, where: str = "JointLimits") -> list[tuple[int, int, float, float]]:
    """Return (index in q, index in qd, lower limit, upper limit) of each coordinate with a finite limit. Only those are
    listed whose rate is an entry of the joint's velocity."""
    tree_of(where, model)
    lower, upper = model.lower, model.upper  # type: ignore[attr-defined]
    if not all(is_number(x) for x in (*lower, *upper)):
        raise ModelError(f"{where}: the limits of {model.name!r} are symbolic, expected numbers. Use substitute.")
    limited: list[tuple[int, int, float, float]] = []
    for name in model.joint_names:
        iq, iv = range(model.nq)[model.q_slice(name)], range(model.nv)[model.v_slice(name)]
        if len(iq) == len(iv):
            limited += [(i, j, float(lower[i]), float(upper[i])) for i, j in zip(iq, iv, strict=True)]
    return [x for x in limited if np.isfinite(x[2:]).any()]


def _felt_inertia(model: System) -> Array:
    """Return 1/(M⁻¹)ᵢᵢ (nv,) in the neutral configuration, moved within the limits; computed once per system."""

    def compute() -> Array:
        q = model.neutral()
        for i, _, lower, upper in limited_coordinates(model):
            q[i] = min(max(q[i], lower), upper)
        return 1 / np.diagonal(model.apply("inverse_mass_matrix", solve.inverse_mass_matrix, q))

    return memo.remember(model, "felt inertia", compute)
