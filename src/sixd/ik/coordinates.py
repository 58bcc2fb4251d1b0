"""The coordinates that inverse kinematics solves for: without joints that follow others, with limits and locked joints.

A model with explicit constraints (``Mimic``, ``Coupling``) is solved for in its independent coordinates, so that these
constraints hold exactly. Users pass and receive configurations of the model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sixd.constraints.independent import narrowed_limits
from sixd.constraints.reduced_model import Reduced
from sixd.engine.functions import Function
from sixd.engine.kernel import batched
from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.model.model import Model
from sixd.model.system import System
from sixd.runtime.batch import Argument
from sixd.spatial.scalar import Array, require_scalars


def _lift(system: Any, q: Array) -> Array:
    return system.coordinates(q)


def _lift_velocity(system: Any, q: Array, qd: Array) -> Array:
    return system.velocity(q, qd)


_LIFT = Function("inverse_kinematics", _lift, ("q",), named=False, check_finite=False)
_LIFT_VELOCITY = Function("differential_ik", _lift_velocity, ("q", "qd"), named=False, check_finite=False)


class Coordinates:
    """The system that is solved for, and maps of configurations between it and the user's model."""

    def __init__(self, where: str, model: System) -> None:
        if not isinstance(model, (Model, Reduced)):
            raise ModelError(f"{where}: {model.name!r} has no frames, expected a sixd.Model.")
        model.require_numeric(where)
        self.where, self.model = where, model
        self.system: Any = model.reduce() if isinstance(model, Model) else model
        self.lifted = self.system is not model

    def inner(self, q: Array) -> Array:
        """Configurations (…, nq) of the system for those of the model."""
        return q[..., self._places("q")] if self.lifted else q

    def inner_velocity(self, qd: Array) -> Array:
        """Velocities (…, nv) of the system for those of the model."""
        return qd[..., self._places("v")] if self.lifted else qd

    def _places(self, kind: str) -> list[int]:
        cut = self.model.q_slice if kind == "q" else self.model.v_slice
        size = self.model.nq if kind == "q" else self.model.nv
        return [k for name in self.system.joint_names for k in range(size)[cut(name)]]

    def outer(self, q: Array) -> Array:
        """Configurations (n, nq) of the model for those of the system."""
        return np.asarray(batched(self.where, _LIFT, self.system, (), str(q.dtype))(q)) if self.lifted else q

    def outer_velocity(self, q: Array, qd: Array) -> Array:
        """Velocities (n, nv) of the model for those of the system at q."""
        return np.asarray(batched(self.where, _LIFT_VELOCITY, self.system, (), "")(q, qd)) if self.lifted else qd

    def limits(self, limits: Any) -> tuple[Array, Array]:
        """Lower and upper bounds (nq,) of the system: the model's if True, none if False, or a pair (lower, upper)."""
        where, system = self.where, self.system
        if isinstance(limits, (bool, np.bool_)):
            lower, upper = system.lower, system.upper
            if not limits:
                lower, upper = np.full(system.nq, -np.inf), np.full(system.nq, np.inf)
            return np.asarray(lower, float), np.asarray(upper, float)
        lower, upper = _bounds(where, "limits", limits, self.model.nq)
        if self.lifted and isinstance(self.model, Model):
            changed = dataclasses.replace(self.model, lower=lower, upper=upper)
            lower, upper = narrowed_limits(changed, system.steps, system.space)
        bad = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
        if bad.any():
            k = int(np.argmax(bad))
            raise ModelError(
                f"{where}: limits are {lower[k]} and {upper[k]} at coordinate {k}, expected the lower one first, and "
                f"finite numbers between them."
            )
        return np.asarray(lower, float), np.asarray(upper, float)

    def locked(self, joints: Any) -> tuple[tuple[int, ...], dict[int, float]]:
        """The degrees of freedom of locked joints, and the values in the model's q at which a mapping holds them."""
        where = self.where
        if isinstance(joints, str) or not isinstance(joints, Iterable):
            raise ScalarTypeError(f"{where}: locked is {joints!r}, expected names of joints, or {{joint: value}}.")
        dofs: set[int] = set()
        values: dict[int, float] = {}
        for name in joints:
            cut = self.model.q_slice(name)
            for joint in self._independent(name):
                dofs |= set(range(self.system.nv)[self.system.v_slice(joint)])
            if isinstance(joints, Mapping):
                require_scalars(f"{where}: locked joint {name!r}", joints[name])
                value, size = np.atleast_1d(np.asarray(joints[name])), cut.stop - cut.start
                if value.dtype.kind not in "fiu" or value.shape != (size,) or not np.isfinite(value).all():
                    raise ShapeError(
                        f"{where}: locked joint {name!r} is {joints[name]!r}, expected {size} finite numbers."
                    )
                if self.lifted and name not in self.system.joint_names:
                    raise ModelError(f"{where}: locked joint {name!r} follows another. Lock that one instead.")
                values |= dict(zip(range(cut.start, cut.stop), value.tolist(), strict=True))
        return tuple(sorted(dofs)), values

    def _independent(self, joint: str) -> list[str]:
        """The joints of the system that move a joint of the model."""
        if joint in self.system.joint_names:
            return [joint]
        leaders = [j for c in self.system.steps if joint in c.dependent for j in c.independent]
        return [k for j in leaders for k in self._independent(j)]

    def argument(self, name: str, value: Any) -> Argument:
        """An argument that is a configuration of the model."""
        return Argument(name, value, (self.model.nq,), f"nq of model {self.model.name!r}")


def _bounds(where: str, name: str, value: Any, n: int) -> tuple[Array, Array]:
    """A pair of bounds, each a number or (n,)."""
    if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != 2:
        raise ScalarTypeError(f"{where}: {name} is {value!r}, expected True, False, or a pair (lower, upper).")
    pair = []
    for x in value:
        array = np.asarray(x)
        if array.dtype.kind not in "fiu" or array.shape not in ((), (n,)) or np.isnan(array.astype(float)).any():
            raise ShapeError(f"{where}: {name} has {x!r}, expected a number or ({n},), infinity allowed.")
        pair.append(np.broadcast_to(array.astype(float), (n,)).copy())
    return pair[0], pair[1]
