"""A model for the derivation of its equations of motion: elements of a ring for its numbers, and its constraints."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sixd.algorithms.momentum import energy
from sixd.constraints.reduced_model import Reduced
from sixd.errors import ModelError
from sixd.lazy import sympy
from sixd.model.constraint import Constraint
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar, is_sympy
from sixd.symbolic.ring.poly import Poly
from sixd.symbolic.ring.ring import Ring


def ring_system(system: System, ring: Ring) -> System:
    """The model, or reduced model, with elements of the ring for the numbers that the algorithms use."""
    tree = system.model if isinstance(system, Reduced) else system
    assert isinstance(tree, Model)
    names = ("placement", "inertia", "gravity", "armature")
    arrays: dict[str, Any] = {name: ring.array(getattr(tree, name)) for name in names}
    frames = {name: dataclasses.replace(f, pose=ring.array(f.pose)) for name, f in tree.frames.items()}
    numbers = dataclasses.replace(tree, frames=frames, **arrays)
    return Reduced(numbers) if isinstance(system, Reduced) else numbers


def ring_coordinates(system: System, tree: Model, ring: Ring, symbols: list[Any]) -> Array:
    """q (nq,) in the ring, where quaternions have unit length."""
    q = ring.array(symbols)
    for name in system.joint_names:
        if tree.joint(name).joint.has_quaternion:
            start = system.q_slice(name).start
            q[start : start + 4] = ring.quaternion(*symbols[start : start + 4])
    return q


def ring_force(ring: Ring, x: Scalar) -> Poly:
    """A force or an energy of springs in the ring; springs of orientations have roots, and stay opaque."""
    rooted = is_sympy(x) and x.has(sympy.Piecewise, sympy.atan2)
    return ring.opaque(x) if rooted else ring.convert(x)


def energy_of_bodies(model: System | None, name: str, q: Array, qd: Array, per: str) -> Any:
    """Energies of the bodies of a model, or of their subtrees; raise for the equations of that name without a model."""
    if model is None:
        raise ModelError(f"energy: {name!r} is defined by energies, without bodies. Expected per='model'.")
    return model.apply("energy", energy, q, qd, per=per)


def _by_model(name: str) -> Callable[..., Any]:
    """A method that calls the model's constraint with that model."""

    def method(self: ModelConstraint, system: System, *state: Array) -> Any:
        return getattr(self.constraint, name)(self.model, *state)

    return method


@dataclass(frozen=True)
class ModelConstraint(Constraint):
    """A constraint of a model, computed with that model whatever system is passed: equations have no frames."""

    constraint: Constraint
    model: System

    @property
    def label(self) -> str:
        """The label of the model's constraint."""
        return self.constraint.label

    def target(self, t: Scalar) -> Array | None:
        """b(t) (k,), or None if it is zero."""
        return self.constraint.target(t)

    position, velocity, closure = _by_model("position"), _by_model("velocity"), _by_model("closure")
    jacobian, bias = _by_model("jacobian"), _by_model("bias")


def model_constraints(model: System) -> tuple[Constraint, ...]:
    """The constraints of a model, for its equations."""
    return tuple(ModelConstraint(c, model) for c in model.constraints)
