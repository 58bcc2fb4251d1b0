"""Proportional and derivative control of a frame: a spring and a damper that pull it to a target pose."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, final

import numpy as np

from sixd.api.dynamics import gravity_force
from sixd.api.frames import jacobian, pose
from sixd.controllers.arguments import read_gain, read_model, read_state, require_gains, saturated
from sixd.controllers.reference import as_numbers, differentiable
from sixd.errors import ShapeError
from sixd.forces.elements import finite_array, finite_vector
from sixd.model import validate
from sixd.model.system import System
from sixd.spatial.dual import Dual, parts
from sixd.spatial.rotation import rotation_to_vector, unskew
from sixd.spatial.scalar import Array, Scalar

_SHAPES = ((3,), (4, 4))


@final
@dataclass(frozen=True, eq=False)
class TaskSpacePD:
    """tau = Jᵀ(kp e + kd ė): a wrench that pulls a frame to the target pose; plus gravity and joint damping.

    Parameters
    ----------
    model, frame : the mechanism, and the name of the frame that is controlled.
    target : pose (4, 4) in the world, or a position (3,), which leaves the orientation free; or a function of t that
        returns one, written with the functions of ``sixd.spatial``.
    kp, kd : gains in world axes, a number or (6,): [N m/rad] and [N m s/rad] thrice, then [N/m] and [N s/m]. For a
        position: a number or (3,).
    velocity : [ω; v] (6,) of the target in world axes, for a position v (3,), or a function of t; None: its exact
        derivative.
    gravity : adds the joint forces that hold the model against gravity; all rows use this model, also where
        ``parameters`` of ``sixd.simulate`` give a row another gravity or other inertias.
    joint_damping : [N m s/rad or N s/m], a number or (nv,): damps joint motions that do not move the frame.
    saturate : cuts tau to the model's effort limits.

    Notes
    -----
    e = [rotation vector of R_target Rᵀ; p_target - p], both in world axes; the rotation is the shortest, and jumps
    where the frame is half a turn away. No inverse is taken, so singular poses are harmless.
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
        if not callable(self.target):
            object.__setattr__(self, "target", _read_target(self.target))
        sizes = (3, 6) if callable(self.target) else (3,) if self.target.shape == (3,) else (6,)
        if self.velocity is not None and not callable(self.velocity):
            n = sizes[0] if len(sizes) == 1 else None
            velocity = finite_vector("TaskSpacePD", "velocity", self.velocity, n, "(3,) or (6,)" if n is None else "")
            object.__setattr__(self, "velocity", velocity)
        for name in ("kp", "kd"):
            object.__setattr__(self, name, read_gain("TaskSpacePD", name, getattr(self, name), *sizes))
        damping = read_gain("TaskSpacePD", "joint_damping", self.joint_damping, self.model.nv)
        object.__setattr__(self, "joint_damping", damping)

    def __call__(self, t: Scalar, q: Any, qd: Any) -> Array:
        """Return tau (nv,) at time t [s] in the state q (nq,), qd (nv,)."""
        q, qd = read_state("TaskSpacePD", q, qd, self.model)
        target, v = self._target(t)
        T = pose(self.model, q, self.frame)
        J = jacobian(self.model, q, self.frame, expressed_in="aligned")
        if target.ndim == 1:
            J, e = J[3:], target - T[:3, 3]
        else:
            e = np.concatenate([rotation_to_vector(target[:3, :3] @ T[:3, :3].T), target[:3, 3] - T[:3, 3]])
        if v.shape != e.shape:
            raise ShapeError(f"TaskSpacePD: velocity has shape {v.shape}, expected {e.shape}.")
        require_gains("TaskSpacePD", len(e), kp=self.kp, kd=self.kd)
        tau = J.T @ (e * self.kp + (v - J @ qd) * self.kd) - qd * self.joint_damping
        if self.gravity:
            tau = tau + gravity_force(self.model, q)
        return saturated(self.model, tau) if self.saturate else tau

    def _target(self, t: Scalar) -> tuple[Array, Array]:
        """Return the target (3,) or (4, 4), and its velocity (3,) or (6,)."""
        target = self.target
        if callable(target):
            target = as_numbers(target(t))
        if target.shape not in _SHAPES:
            raise ShapeError(f"TaskSpacePD: target(t) has shape {target.shape}, expected (4, 4) or (3,).")
        if self.velocity is not None:
            return target, as_numbers(self.velocity(t) if callable(self.velocity) else self.velocity)
        if not callable(self.target):
            return target, np.zeros(3 if target.ndim == 1 else 6, dtype=int)
        rate = parts(differentiable("TaskSpacePD", "target", self.target, Dual(t, 1)))[1]
        if target.ndim == 1:
            return target, rate
        return target, np.concatenate([unskew(rate[:3, :3] @ target[:3, :3].T), rate[:3, 3]])


def _read_target(value: Any) -> Array:
    wanted = "a pose (4, 4) such as sixd.placement(xyz, rpy), a position (3,), or a function of t"
    array = finite_array("TaskSpacePD: target", value, _SHAPES.__contains__, wanted)
    if array.ndim == 2:
        validate.pose("TaskSpacePD: target", array)
    return array
