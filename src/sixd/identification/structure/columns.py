"""The standard parameters of a model, on which torques depend linearly, and the regressor with these columns.

Ten numbers for each body (``Inertia.parameters``), then, where they are estimated, viscous friction D, Coulomb friction
F, offset o and armature Ia of each degree of freedom:

    tau = Y(q, qd, qdd) θ + D qd + F sign(qd) + o + Ia qdd + (passive forces that are not estimated)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sixd.api.dynamics import inverse_dynamics, joint_torque_regressor
from sixd.errors import ModelError, ScalarTypeError, require_known
from sixd.model.model import Model, require_model
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array
from sixd.trajectory.labels import labels_of

INERTIAL = ("m", "hx", "hy", "hz", "Ixx", "Iyy", "Izz", "Iyz", "Ixz", "Ixy")
UNITS = ("kg", *["kg m"] * 3, *["kg m²"] * 6)
FRICTION = ("viscous", "coulomb", "offset")
Friction = bool | str | Iterable[str]  # True: all kinds

# of each kind of column of the joints: letter of its name, field of the model that holds its value
_LETTERS = {"viscous": "D", "coulomb": "F", "offset": "o", "armature": "Ia"}
_FIELDS = {"viscous": "damping", "coulomb": "friction", "armature": "armature"}


@dataclass(frozen=True, eq=False)
class Columns:
    """The parameters of a model that are estimated: 10 for each body, and nv for each of ``kinds``."""

    model: Model
    kinds: tuple[str, ...] = ()  # of "viscous", "coulomb", "offset", "armature", in this order

    @property
    def count(self) -> int:
        """Number of columns, 10 nb + nv for each kind."""
        return 10 * self.model.nb + self.model.nv * len(self.kinds)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names: m1, hx1, … of body 1, …; D1, F1, o1, Ia1 of DoF 1, …; numbers count from 1."""
        bodies = [f"{name}{i}" for i in self.model.bodies for name in INERTIAL]
        return (*bodies, *(f"{_LETTERS[kind]}{k + 1}" for kind in self.kinds for k in range(self.model.nv)))

    @cached_property
    def units(self) -> tuple[str, ...]:
        """The unit of each column, [N m s/rad] of the damping of an angle."""
        force = [column.unit for column in labels_of(self.model).tau]
        angle = ["rad" if unit == "N m" else "m" for unit in force]
        inertia = ["kg m²" if unit == "N m" else "kg" for unit in force]
        damping = [f"{f} s/{a}" for f, a in zip(force, angle, strict=True)]
        units = {"viscous": damping, "coulomb": force, "offset": force, "armature": inertia}
        return (*(UNITS * self.model.nb), *(unit for kind in self.kinds for unit in units[kind]))

    def slice(self, kind: str) -> slice:
        """The columns of a kind, one for each degree of freedom."""
        start = 10 * self.model.nb + self.model.nv * self.kinds.index(kind)
        return slice(start, start + self.model.nv)

    @cached_property
    def values(self) -> Array:
        """(p,): the parameters of the model; offsets, which are no part of a model, are zero."""
        model = self.model
        bodies = [Inertia.from_matrix(model.inertia[i]).parameters for i in model.bodies]
        own = [getattr(model, _FIELDS[kind]) if kind in _FIELDS else np.zeros(model.nv) for kind in self.kinds]
        return np.concatenate([np.zeros(0), *bodies, *own])

    def regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """W (n, nv, p) of samples (n, …): torques are W θ + ``known``."""
        rows = {"viscous": qd, "coulomb": np.sign(qd), "offset": np.ones_like(qd), "armature": qdd}
        out = np.zeros((len(qd), self.model.nv, self.count))
        out[:, :, : 10 * self.model.nb] = joint_torque_regressor(self.model, q, qd, qdd)
        every = np.arange(self.model.nv)
        for kind in self.kinds:
            out[:, every, every + self.slice(kind).start] = rows[kind]
        return out

    def known(self, q: Array, qd: Array, qdd: Array) -> Array:
        """(n, nv): the forces of the model's springs, and of its friction and armature that are not estimated."""
        still = self._still
        return np.zeros_like(qd) if still is None else inverse_dynamics(still, q, qd, qdd)

    @cached_property
    def _still(self) -> Model | None:
        """The model without inertia and without the estimated parameters; None if no force is left."""
        model = self.model
        fields: dict[str, Any] = {_FIELDS[kind]: np.zeros(model.nv) for kind in self.kinds if kind in _FIELDS}
        left = dataclasses.replace(model, inertia=np.zeros_like(model.inertia), **fields)
        parts = (left.damping, left.friction, left.armature, left.stiffness)
        return left if any(part.any() for part in parts) else None

    def model_with(self, values: Array) -> Model:
        """The model with these parameters (p,) in place of its own; offsets are left out."""
        rows = np.reshape(values[: 10 * self.model.nb], (-1, 10))
        inertia = np.array([self.model.inertia[0], *(Inertia.from_parameters(row).matrix for row in rows)])
        fields: dict[str, Any] = {_FIELDS[kind]: values[self.slice(kind)] for kind in self.kinds if kind in _FIELDS}
        return dataclasses.replace(self.model, inertia=inertia, **fields)


def require_rates(where: str, model: Model) -> None:
    """Raise if the velocity of a joint is not the rate of its coordinates, as that of a free joint."""
    for name in model.joint_names:
        joint = model.joint(name).joint
        if not joint.is_vector_space:
            raise ModelError(
                f"{where}: joint {name!r} is {type(joint).__name__}, expected joints whose velocities are the rates of "
                f"their coordinates. Lock it, or give fit your own q, qd, qdd and tau."
            )


def make_columns(where: str, model: Model, friction: Friction, armature: bool, *, symbols: bool = False) -> Columns:
    """The columns that a user asks for; raise for a model whose torques they do not describe."""
    require_model(where, model)
    if not symbols:
        model.require_numeric(where)
    if model.constraints:
        raise ModelError(
            f"{where}: model {model.name!r} has constraints ({model.constraints[0]}, …), expected a tree whose joint "
            f"torques are all measured. Lock the joints that they involve, with model.lock."
        )
    if not model.nv:
        raise ModelError(f"{where}: model {model.name!r} has no joints, expected at least one.")
    if not isinstance(armature, (bool, np.bool_)):
        raise ScalarTypeError(f"{where}: armature is {armature!r}, expected True or False.")
    if isinstance(friction, (bool, np.bool_)):
        friction = FRICTION if friction else ()
    if not isinstance(friction, (str, Iterable)):
        raise ScalarTypeError(f"{where}: friction is {friction!r}, expected some of {FRICTION}.")
    chosen = (friction,) if isinstance(friction, str) else tuple(friction)
    for kind in chosen:
        require_known(f"{where}: friction", "kind", kind, FRICTION)
    kinds = tuple(kind for kind in FRICTION if kind in chosen)
    return Columns(model, (*kinds, "armature") if armature else kinds)
