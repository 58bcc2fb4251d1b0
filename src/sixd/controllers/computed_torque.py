"""Computed torque: inverse dynamics that makes the error obey a linear equation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, final

from sixd.api import dynamics as api
from sixd.controllers.arguments import read_gain, read_model, read_state, saturated
from sixd.controllers.reference import Reference
from sixd.forces.elements import set_fields
from sixd.model.system import System
from sixd.spatial.scalar import Array, ArrayLike, Scalar


@final
@dataclass(frozen=True, eq=False)
class ComputedTorque:
    """tau = M (q̈_target + kd ė + kp e) + h: the error then obeys ë + kd ė + kp e = 0, whatever the mechanism.

    Parameters
    ----------
    model : the model of the mechanism; its passive forces and armature are compensated too. Every state of a batch uses
        this model, even if ``parameters`` of ``sixd.simulate`` change the simulated mechanism.
    target : (nq,), or a function t -> (nq,) written with the functions of ``sixd.spatial``.
    kp, kd : gains [1/s²] and [1/s], a number or (nv,); kd = 2 √kp damps critically.
    velocity, acceleration : (nv,) of the target, or functions of t; None: exact derivatives of the target.
    saturate : cuts tau to the model's effort limits; the error equation then no longer holds.

    Notes
    -----
    For a spherical or free joint e is the rotation vector (and displacement) from q to the target in the axes of the
    body, and ė is v - qd with v the target's velocity expressed in these axes; ë is the rate of the components of ė.
    Constraints of the model are ignored: control ``model.reduce()`` if the model has explicit constraints.
    """

    model: System
    target: Any
    kp: Any
    kd: Any
    _: KW_ONLY
    velocity: Any = None
    acceleration: Any = None
    saturate: bool = False

    def __post_init__(self) -> None:
        read_model("ComputedTorque", self.model, saturate=self.saturate)
        for name in ("kp", "kd"):
            gain = read_gain("ComputedTorque", name, getattr(self, name), self.model.nv, system=self.model)
            set_fields(self, **{name: gain})
        read = self._reference
        set_fields(self, target=read.target, velocity=read.velocity, acceleration=read.acceleration)

    @cached_property
    def _reference(self) -> Reference:
        return Reference("ComputedTorque", self.model, self.target, self.velocity, self.acceleration)

    def __call__(self, t: Scalar, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return tau (nv,) at time t [s] in the state q (nq,), qd (nv,)."""
        q, qd = read_state("ComputedTorque", q, qd, self.model)
        e, e_rate = self._reference.errors(t, q, qd)
        qdd = self._reference.carried_acceleration(t, q, qd) + e_rate * self.kd + e * self.kp
        tau = api.inverse_dynamics(self.model, q, qd, qdd)
        return saturated(self.model, tau) if self.saturate else tau
