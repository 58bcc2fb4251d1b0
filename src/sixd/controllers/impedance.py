"""Impedance control: frames on springs and dampers, passive in contact with their environment."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from typing import Any, final

import numpy as np

from sixd.algorithms.operational.terms import OperationalRows, operational_rows
from sixd.api.dynamics import coriolis_matrix, gravity_force, mass_matrix
from sixd.api.frames import jacobian
from sixd.controllers.arguments import read_model, read_state, saturated
from sixd.controllers.frame_target import read_row_gain, read_targets, scaled
from sixd.controllers.posture import Posture, checked_force
from sixd.errors import ModelError, ScalarTypeError
from sixd.forces.elements import nonnegative, set_fields
from sixd.model.system import System
from sixd.spatial.dual import duals, parts
from sixd.spatial.scalar import Array, ArrayLike, Scalar


@final
@dataclass(frozen=True, eq=False)
class Impedance:
    """tau = g + Jᵀ(K e + D ė) + M q̈_r + C q̇_r + N M q̈_posture: frames held by springs K and dampers D at targets.

    A steady force F on a frame displaces it by K⁻¹ F. The frames keep their natural inertia: changing it requires a
    force sensor.

    Parameters
    ----------
    model, frame, target, velocity, acceleration, rows, saturate : as for ``OperationalSpace``.
    stiffness, damping : K [N m/rad, N/m] and D [N m s/rad, N s/m] in world axes: a number, (m,) for the rows of all
        frames in order, a symmetric matrix (m, m), or a mapping by frame.
    posture, posture_kp, posture_kd : as for ``OperationalSpace``, in [1/s²] and [1/s]; they act in the null space. A
        redundant arm only comes to rest with posture_kd.
    gravity : compensates gravity.
    regularization : δ of the inverse that a posture and a moving target need; see ``operational_inertia``.

    Notes
    -----
    With q̇_r = J̄ ẋ_target, the rate of V = ½ (q̇ - q̇_r)ᵀM (q̇ - q̇_r) + ½ eᵀK e is -ėᵀD ė plus the power of external
    forces on the motion relative to the target: V never grows by itself, since dM/dt - 2 C is skew. This is exact if K
    of the angular rows is one number for each frame, else it holds to first order in e. posture_kd only dissipates
    energy; posture_kp may add energy. Joint friction, damping and springs of the model are not compensated. With a
    target at rest and without a posture no matrix is inverted, so singular poses are harmless. Each degree of freedom
    must have a motor.

    >>> import numpy as np, sixd
    >>> arm = sixd.zoo.planar(2)
    >>> q = np.array([0.3, 1.2])
    >>> target = sixd.pose(arm, q, "tip")[:3, 3] + [0.01, 0, 0]
    >>> hold = sixd.controllers.Impedance(arm, "tip", target, stiffness=500.0, damping=50.0, gravity=False)
    >>> force = sixd.dynamically_consistent_inverse(arm, q, {"tip": (3, 4)}, expressed_in="aligned").T
    >>> (force @ hold(0.0, q, [0, 0])).round(9) + 0.0
    array([5., 0.])
    """

    model: System
    frame: Any
    target: Any = None
    stiffness: Any = None
    damping: Any = None
    _: KW_ONLY
    velocity: Any = None
    acceleration: Any = None
    rows: Any = None
    posture: Any = None
    posture_kp: Any = 0.0
    posture_kd: Any = 0.0
    gravity: bool = True
    regularization: float = 0.0
    saturate: bool = False

    def __post_init__(self) -> None:
        where = "Impedance"
        read_model(where, self.model, saturate=self.saturate)
        if not isinstance(self.gravity, (bool, np.bool_)):
            raise ScalarTypeError(f"{where}: gravity is {self.gravity!r}, expected True or False.")
        for name, unit in (("stiffness", "N m/rad or N/m"), ("damping", "N m s/rad or N s/m")):
            if getattr(self, name) is None:
                raise ModelError(f"{where}: {name} is None, expected a number, a vector or a matrix [{unit}].")
            set_fields(self, **{name: read_row_gain(where, name, getattr(self, name), self._targets, matrix=True)})
        set_fields(self, posture_kp=self._posture.kp, posture_kd=self._posture.kd)
        set_fields(self, regularization=nonnegative(where, "regularization", self.regularization))

    _targets = cached_property(partial(read_targets, "Impedance"))

    @cached_property
    def _posture(self) -> Posture:
        return Posture("Impedance", self.model, self.posture, self.posture_kp, self.posture_kd)

    def __call__(self, t: Scalar, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return tau (nv,) at time t [s] in the state q (nq,), qd (nv,)."""
        q, qd = read_state("Impedance", q, qd, self.model)
        model, targets = self.model, self._targets
        J = jacobian(model, q, targets.stack, expressed_in="aligned")
        e_rate = targets.velocities(t) - J @ qd
        tau = J.T @ (scaled(self.stiffness, targets.errors(t, q)) + scaled(self.damping, e_rate))
        with np.errstate(all="ignore"):
            if targets.moves:
                tau = tau + self._along(t, q, qd)
            if self._posture.acts:
                wanted = self._posture.acceleration(t, q, qd)
                rows = self._rows(q)
                # N M x = M x - JᵀΛ J x
                tau = tau + mass_matrix(model, q) @ wanted - rows.marked(J.T @ rows.solve(J @ wanted)[1])
        if self.gravity:
            tau = tau + gravity_force(model, q)
        tau = checked_force("Impedance", model, targets.stack, q, qd, tau)
        return saturated(model, tau) if self.saturate else tau

    def _rows(self, q: Array) -> OperationalRows:
        options: dict[str, Any] = {"expressed_in": "aligned", "regularization": self.regularization}
        return operational_rows("Impedance", self.model, q, frame=self._targets.stack, **options)

    def _along(self, t: Scalar, q: Array, qd: Array) -> Array:
        """M q̈_r + C q̇_r with q̇_r = J̄ ẋ_target and its rate, by dual numbers along qd."""
        model, targets = self.model, self._targets
        rows = self._rows(duals(q, model.configuration_rate(q, qd)))
        motion = rows.marked(rows.solve(duals(targets.velocities(t), targets.accelerations(t)))[0])
        velocity, acceleration = parts(motion)
        return mass_matrix(model, q) @ acceleration + coriolis_matrix(model, q, qd) @ velocity
