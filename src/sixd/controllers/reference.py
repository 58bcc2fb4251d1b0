"""A target in configuration space: its configuration, velocity and acceleration, and the error of a state.

A function of time is differentiated exactly, by dual numbers. Errors are on the configuration manifold: e is the dq
that leads from q to the target. Velocities of spherical and free joints are in the axes of the body; the velocity of
the target is expressed in the present axes of the body.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.linear.dense import inverse_small
from sixd.constraints.reduced_model import Reduced
from sixd.errors import ScalarTypeError, ShapeError
from sixd.forces.elements import finite_vector, set_fields
from sixd.model.joints import Joint
from sixd.model.manifold import require_unit_quaternions
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.dual import Dual, duals, parts
from sixd.spatial.scalar import Array, ArrayLike, Scalar, common_dtype, is_number, is_object
from sixd.spatial.transform import inverse_transform

ArrayOrFunction = Any  # an array, or a function of t


class TargetMotion(NamedTuple):
    """q (nq,), qd (nv,), qdd (nv,) of the target."""

    q: Array
    qd: Array
    qdd: Array


@dataclass(frozen=True, eq=False)
class Reference:
    """A target (nq,), or a function t -> (nq,); velocity and acceleration (nv,) likewise, or None: its derivatives.
    Without a ``system`` q and qd are plain vectors of the same length."""

    where: str
    system: System | None
    target: ArrayOrFunction
    velocity: ArrayOrFunction = None
    acceleration: ArrayOrFunction = None

    def __post_init__(self) -> None:
        n = None if self.system is None else self.system.nq
        for name in ("target", "velocity", "acceleration"):
            value = getattr(self, name)
            if not (callable(value) or (value is None and name != "target")):
                wanted = f"{'(nq,)' if n is None else f'({n},)'}, or a function of t"
                wanted += _target_of_joints(self.system) if name == "target" else ""
                set_fields(self, **{name: finite_vector(self.where, name, value, n, wanted)})
            n = self.nv
        if not callable(self.target) and self.system is not None:
            require_unit_quaternions(self.where, self.system, "target", self.target)

    @property
    def nv(self) -> int | None:
        """Number of velocities; None if only a call of the target determines it."""
        if self.system is not None:
            return self.system.nv
        return None if callable(self.target) else len(self.target)

    def at(self, t: Scalar) -> TargetMotion:
        """Return the target's motion at time t [s], of any scalar type."""
        return TargetMotion(self._value("target", t), self._velocity(t), self._acceleration(t))

    def errors(self, t: Scalar, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return e (nv,), and the target's velocity, expressed in the axes at q, minus qd."""
        q_t, qd_t = self._value("target", t), self._velocity(t)
        if q_t.shape != q.shape:  # known only now, without a system
            raise ShapeError(f"{self.where}: target has shape {q_t.shape}, expected {q.shape}, that of q.")
        return self._difference(q, q_t), carried_velocity(self.system, q, q_t, qd_t) - qd

    def carried_acceleration(self, t: Scalar, q: Array, qd: Array) -> Array:
        """Return the rate (nv,) of the target's velocity in the axes at q, while q moves with qd."""
        to, system = self.at(t), self.system
        assert system is not None
        moving = duals(q, system.configuration_rate(q, qd)), duals(to.q, system.configuration_rate(to.q, to.qd))
        return parts(carried_velocity(system, *moving, duals(to.qd, to.qdd)))[1]

    def _velocity(self, t: Scalar) -> Array:
        if self.velocity is not None:
            return self._value("velocity", t)
        q = self._value("target", t)
        if not callable(self.target):
            return np.zeros(len(q) if self.system is None else self.system.nv, dtype=int)
        # d/ds difference(q(t), q(s)) at s = t; both sides are lifted, t may be a dual number already
        here = duals(q, np.zeros(len(q), dtype=int))
        there = differentiable(self.where, "target", self.target, Dual(t, 1))
        return parts(self._difference(here, there))[1]

    def _acceleration(self, t: Scalar) -> Array:
        if self.acceleration is not None:
            return self._value("acceleration", t)
        if callable(self.velocity):
            return parts(differentiable(self.where, "velocity", self.velocity, Dual(t, 1)))[1]
        return parts(self._velocity(Dual(t, 1)))[1]

    def _value(self, name: str, t: Scalar) -> Array:
        prescribed = getattr(self, name)
        if not callable(prescribed):
            return np.asarray(prescribed)
        value = as_numbers(prescribed(t))
        n = None if self.system is None else self.system.nq if name == "target" else self.system.nv
        if value.ndim != 1 or n not in (None, len(value)):
            wanted = "nq" if n is None else n
            raise ShapeError(f"{self.where}: {name}(t) has shape {value.shape}, expected ({wanted},).")
        return value

    def _difference(self, q0: Array, q1: Array) -> Array:
        return q1 - q0 if self.system is None else self.system.difference_row(q0, q1)


def as_numbers(value: ArrayLike) -> Array:
    """Return ``value`` as an array, of floats if it holds only numbers: a function may build an array of objects."""
    array = np.asarray(value)
    return array.astype(float) if is_object(array) and all(map(is_number, array.ravel())) else array


def differentiable(where: str, name: str, function: Callable[[Any], Any], t: Dual) -> Array:
    """Return ``function`` at a dual number; raise if the function does not accept one."""
    try:
        return np.asarray(function(t), dtype=object)
    except (TypeError, AttributeError, ValueError) as error:
        raise ScalarTypeError(
            f"{where}: {name}(t) cannot be differentiated: {error}. Write it with the functions of sixd.spatial (sin, "
            f"sqrt, where …), or pass its derivatives too."
        ) from error


def carried_velocity(system: System | None, q: Array, q_target: Array, qd_target: Array) -> Array:
    """Return the velocity (nv,) at q of a mechanism at rest relative to the moving target. It is the target's own
    velocity, expressed in the axes of the body at q."""
    curved = curved_joints(system)
    if not curved:
        return qd_target
    w = np.zeros(len(qd_target), dtype=common_dtype([q, q_target, qd_target]))
    w[:] = qd_target
    for _, joint, iq, iv in curved:
        X = joint.transform(q[iq]) @ inverse_transform(joint.transform(q_target[iq]))  # target's axes to ours
        S, v = joint.subspace(q[iq]), X @ (joint.subspace(q_target[iq]) @ qd_target[iv])
        w[iv] = inverse_small(S.T @ S) @ (S.T @ v)
    return w


def curved_joints(system: System | None) -> list[tuple[str, Joint, slice, slice]]:
    """Return (name, joint, slice of q, slice of qd) of the joints whose coordinates are not a vector space."""
    tree = system.model if isinstance(system, Reduced) else system
    if system is None or not isinstance(tree, Model):
        return []
    joints = {name: tree.joints[tree.joint_index(name)] for name in system.joint_names}
    curved = [name for name, joint in joints.items() if not joint.is_vector_space]
    return [(name, joints[name], system.q_slice(name), system.v_slice(name)) for name in curved]


def _target_of_joints(system: System | None) -> str:
    """Return the end of the message on a wrong number of coordinates, for systems with curved joints; else ''."""
    curved = curved_joints(system)
    if system is None or not curved:
        return ""
    name, _, iq, _ = curved[0]
    others = [n for n in system.joint_names if n not in {c[0] for c in curved}]
    rest = f", then target[model.q_slice({others[0]!r})] = …" if others else ""
    return f". Joint {name!r} has {iq.stop - iq.start} of them: begin with target = model.neutral(){rest}"


def gains_of_joints(system: System | None, gain: str) -> str:
    """Return the end of the message on a wrong number of gains, for systems with curved joints; else ''."""
    curved = curved_joints(system)
    if system is None or not curved:
        return ""
    name, _, _, iv = curved[0]
    return (
        f". Joint {name!r} has {iv.stop - iv.start} of them, {gain}[{iv.start}:{iv.stop}]: begin with {gain} = "
        f"np.zeros({system.nv}), which does not control it, and set those of the other joints"
    )
