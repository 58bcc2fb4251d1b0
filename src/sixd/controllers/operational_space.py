"""Operational-space control: linear error equations for frames, a posture for the rest of the motion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from typing import Any, final

import numpy as np

from sixd.algorithms.operational.terms import operational_rows, velocity_product
from sixd.api.dynamics import bias_force, inverse_dynamics
from sixd.controllers.arguments import read_model, read_state, saturated
from sixd.controllers.frame_target import read_row_gain, read_targets
from sixd.controllers.posture import Posture, checked_force
from sixd.errors import ModelError, ScalarTypeError
from sixd.forces.elements import nonnegative, read_only, set_fields
from sixd.model.system import System
from sixd.spatial.scalar import Array, ArrayLike, Scalar


@final
@dataclass(frozen=True, eq=False)
class OperationalSpace:
    """tau = Jᵀ(Λ a + μ) + N (M q̈_posture + h) with a = ẍ_target + kd ė + kp e, for the rows of one frame or several.

    The errors of the frames then obey ë + kd ė + kp e = 0, whatever the mechanism. The posture acts in the null space:
    it does not accelerate the frames.

    Parameters
    ----------
    model : the model of the mechanism; its passive forces and armature are compensated too. Every state of a batch uses
        this model, even if ``parameters`` of ``sixd.simulate`` change the simulated mechanism.
    frame, target : the name of a frame and its target: a pose (4, 4) in the world, an orientation (3, 3), a position
        (3,), or a function of t that returns one, written with the functions of ``sixd.spatial``. Or a mapping of names
        to targets, without ``target``.
    kp, kd : gains [1/s²] and [1/s]: a number, (m,) for the rows of all frames in order, or a mapping by frame. kd None
        means 2 √kp, critical damping.
    velocity, acceleration : [ω; v] and its rate (6,) of the target in world axes, only one part (3,) for an orientation
        or a position, or functions of t; None: exact derivatives of the target. Mappings by frame, if ``frame`` is one.
    rows : the rows of the Jacobian that are controlled, as for ``sixd.jacobian``, such as (3, 4) for an arm in the
        xy-plane; None: all rows that the target concerns.
    posture : (nq,), or a function t -> (nq,), the target of the rest of the motion; requires posture_kp [1/s²].
    posture_kp, posture_kd : a number or (nv,); without a posture, posture_kd damps the rest of the motion.
    regularization : δ; bounds tau near singular poses, where the frames then lag behind. See ``operational_inertia``.
    unactuated : names of joints without motors, such as a floating base: their tau is zero, the others compensate.
    saturate : cuts tau to the model's effort limits; the error equation then no longer holds.

    Notes
    -----
    e = [rotation vector of R_target Rᵀ; p_target - p] in world axes, ė the difference of velocities. The error equation
    is exact for positions; for orientations it holds to first order in e, where the rate of the rotation vector is
    ω_target - ω. At a singular pose without regularisation tau does not exist: a call raises ``SingularError``, a
    motion ends with NaN.
    Constraints of the model are ignored: control ``model.reduce()`` if the model has explicit constraints.
    """

    model: System
    frame: Any
    target: Any = None
    kp: Any = None
    kd: Any = None
    _: KW_ONLY
    velocity: Any = None
    acceleration: Any = None
    rows: Any = None
    posture: Any = None
    posture_kp: Any = 0.0
    posture_kd: Any = 0.0
    regularization: float = 0.0
    unactuated: Any = ()
    saturate: bool = False

    def __post_init__(self) -> None:
        where = "OperationalSpace"
        read_model(where, self.model, saturate=self.saturate)
        if self.kp is None:
            raise ModelError(f"{where}: kp is None, expected a gain [1/s²], such as kp=100.0.")
        kp = read_row_gain(where, "kp", self.kp, self._targets)
        kd = read_only(2 * np.sqrt(kp)) if self.kd is None else read_row_gain(where, "kd", self.kd, self._targets)
        posture = self._posture
        delta = nonnegative(where, "regularization", self.regularization)
        if isinstance(self.unactuated, str) or not isinstance(self.unactuated, Iterable):
            raise ScalarTypeError(f"{where}: unactuated is {self.unactuated!r}, expected names of joints in a tuple.")
        set_fields(self, kp=kp, kd=kd, posture_kp=posture.kp, posture_kd=posture.kd)
        set_fields(self, regularization=delta, unactuated=tuple(self.unactuated))
        self._free  # noqa: B018 - raises for unknown names of joints

    _targets = cached_property(partial(read_targets, "OperationalSpace"))

    @cached_property
    def _posture(self) -> Posture:
        return Posture("OperationalSpace", self.model, self.posture, self.posture_kp, self.posture_kd)

    @cached_property
    def _free(self) -> tuple[int, ...]:
        """The degrees of freedom without motors."""
        slices = [self.model.v_slice(name) for name in self.unactuated]
        return tuple(k for s in slices for k in range(*s.indices(self.model.nv)))

    def __call__(self, t: Scalar, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return tau (nv,) at time t [s] in the state q (nq,), qd (nv,)."""
        q, qd = read_state("OperationalSpace", q, qd, self.model)
        model, targets, free = self.model, self._targets, self._free
        with np.errstate(all="ignore"):
            options: dict[str, Any] = {"expressed_in": "aligned", "regularization": self.regularization}
            rows = operational_rows("OperationalSpace", model, q, frame=targets.stack, unactuated=free, **options)
            J = rows.A[len(free) :]
            a = targets.accelerations(t) + (targets.velocities(t) - J @ qd) * self.kd + targets.errors(t, q) * self.kp
            wanted = a - velocity_product(model, q, qd, targets.stack, "aligned")
            if free:  # the forces of joints without motors are zero: M qdd = -h there
                wanted = np.concatenate([-bias_force(model, q, qd)[list(free)], wanted])
            # of all accelerations that satisfy these equations, the one nearest to the posture's, in the metric of M
            posture = self._posture.acceleration(t, q, qd)
            qdd = rows.marked(posture + rows.solve(wanted - rows.A @ posture)[0])
        tau = inverse_dynamics(model, q, qd, qdd)
        tau = np.array([0 * x if k in free else x for k, x in enumerate(tau)])
        tau = checked_force("OperationalSpace", model, targets.stack, q, qd, tau)
        return saturated(model, tau) if self.saturate else tau
