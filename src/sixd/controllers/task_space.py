"""Proportional and derivative control of a frame: a spring and a damper that pull it to a target pose."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, final

from sixd.api.dynamics import gravity_force
from sixd.api.frames import jacobian, pose
from sixd.controllers.arguments import read_gain, read_model, read_state, require_gains, saturated
from sixd.controllers.frame_target import ROWS, FrameTarget
from sixd.forces.elements import set_fields
from sixd.model.system import System
from sixd.spatial.scalar import Array, ArrayLike, Scalar


@final
@dataclass(frozen=True, eq=False)
class TaskSpacePD:
    """tau = Jᵀ(kp e + kd ė): a wrench that pulls a frame to the target pose; plus gravity and joint damping.

    Parameters
    ----------
    model, frame : the mechanism, and the name of the frame that is controlled.
    target : a pose (4, 4) in the world, a position (3,) (free orientation), an orientation (3, 3) (free position), or a
        function of t that returns one of them, written with the functions of ``sixd.spatial``.
    kp, kd : gains in world axes, a number or (6,): three of [N m/rad] and [N m s/rad], then three of [N/m] and [N s/m].
        For a position or an orientation: a number or (3,).
    velocity : [ω; v] (6,) of the target in world axes, for a position v (3,), for an orientation ω (3,), or a function
        of t; None: its exact derivative.
    gravity : adds the joint forces that hold the model against gravity. Every state of a batch uses this model, even if
        ``parameters`` of ``sixd.simulate`` change the simulated mechanism.
    joint_damping : [N m s/rad or N s/m], a number or (nv,): damps joint motions that do not move the frame.
    saturate : cuts tau to the model's effort limits.

    Notes
    -----
    e = [rotation vector of R_target Rᵀ; p_target - p], both in world axes; the rotation is the shortest and jumps at an
    angle of 180°. No matrix is inverted, so singular poses are harmless.
    """

    model: System
    frame: str
    target: Any
    kp: Any
    kd: Any = 0.0
    _: KW_ONLY
    velocity: Any = None
    gravity: bool = False
    joint_damping: Any = 0.0
    saturate: bool = False

    def __post_init__(self) -> None:
        read_model("TaskSpacePD", self.model, saturate=self.saturate)
        self.model.frame(self.frame, "TaskSpacePD")
        read = self._frame_target
        set_fields(self, target=read.target, velocity=read.velocity)
        sizes = (3, 6) if callable(self.target) else (len(ROWS[self.target.shape]),)
        for name in ("kp", "kd"):
            set_fields(self, **{name: read_gain("TaskSpacePD", name, getattr(self, name), *sizes)})
        set_fields(self, joint_damping=read_gain("TaskSpacePD", "joint_damping", self.joint_damping, self.model.nv))

    @cached_property
    def _frame_target(self) -> FrameTarget:
        return FrameTarget("TaskSpacePD", self.target, self.velocity)

    def __call__(self, t: Scalar, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return tau (nv,) at time t [s] in the state q (nq,), qd (nv,)."""
        q, qd = read_state("TaskSpacePD", q, qd, self.model)
        target = self._frame_target
        e, v = target.error(t, pose(self.model, q, self.frame)), target.velocity_at(t)
        J = jacobian(self.model, q, self.frame, expressed_in="aligned")[list(ROWS[target.at(t).shape])]
        require_gains("TaskSpacePD", len(e), kp=self.kp, kd=self.kd)
        tau = J.T @ (e * self.kp + (v - J @ qd) * self.kd) - qd * self.joint_damping
        if self.gravity:
            tau = tau + gravity_force(self.model, q)
        return saturated(self.model, tau) if self.saturate else tau
