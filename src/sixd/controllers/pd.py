"""Proportional and derivative control in joint space."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, final

from sixd.api import dynamics as api
from sixd.controllers.arguments import read_gain, read_model, read_state, require_gains, saturated
from sixd.controllers.reference import Reference
from sixd.errors import ModelError
from sixd.forces.elements import set_fields
from sixd.model.system import System
from sixd.spatial.scalar import Array, ArrayLike, Scalar


@final
@dataclass(frozen=True, eq=False)
class PD:
    """tau = kp e + kd ė, with e the displacement from q to the target; plus gravity compensation, if ``gravity``.

    Parameters
    ----------
    target : (nq,), or a function t -> (nq,) written with the functions of ``sixd.spatial``.
    kp, kd : gains [N m/rad or N/m] and [N m s/rad or N s/m], a number or (nv,). For a floating base, which has no
        motor, use zeros for its six degrees of freedom.
    velocity : (nv,) of the target, or a function of t; None: the target's exact derivative.
    model : required for spherical and free joints, whose errors are rotations, for gravity and for effort limits.
        Without it q and the target are plain vectors.
    gravity : adds the joint forces that hold the model against gravity. Every state of a batch uses this model, even if
        ``parameters`` of ``sixd.simulate`` change the simulated mechanism.
    saturate : cuts tau to the model's effort limits.

    Notes
    -----
    For a spherical or free joint e is the rotation vector (and displacement) in the axes of the body, and ė the
    target's velocity, expressed in these axes, minus qd.

    >>> import sixd
    >>> sixd.controllers.PD([1.0, 0.5], kp=10.0, kd=2.0)(0.0, [0.0, 0.0], [0.1, 0.0])
    array([9.8, 5. ])
    """

    target: Any
    kp: Any
    kd: Any = 0.0
    _: KW_ONLY
    velocity: Any = None
    model: System | None = None
    gravity: bool = False
    saturate: bool = False

    def __post_init__(self) -> None:
        if self.model is not None:
            read_model("PD", self.model, saturate=self.saturate)
        elif self.gravity or self.saturate:
            raise ModelError("PD: model is None, expected the model for gravity or saturate. Pass model=….")
        reference = self._reference
        set_fields(self, target=reference.target, velocity=reference.velocity)
        sizes = () if reference.nv is None else (reference.nv,)
        for name in ("kp", "kd"):
            set_fields(self, **{name: read_gain("PD", name, getattr(self, name), *sizes, system=self.model)})

    @cached_property
    def _reference(self) -> Reference:
        return Reference("PD", self.model, self.target, self.velocity)

    def __call__(self, t: Scalar, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return tau (nv,) at time t [s] in the state q (nq,), qd (nv,)."""
        q, qd = read_state("PD", q, qd, self.model)
        e, e_rate = self._reference.errors(t, q, qd)
        require_gains("PD", len(e), kp=self.kp, kd=self.kd)
        tau = e * self.kp + e_rate * self.kd
        if self.gravity:
            tau = tau + api.gravity_force(self.model, q)  # type: ignore[arg-type]
        return saturated(self.model, tau) if self.saturate else tau
