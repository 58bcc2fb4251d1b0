"""A model as its equations of motion use it: with elements of a ring for its numbers, and with its own constraints."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.constraints.reduced import Reduced
from sixd.model.constraint import Constraint
from sixd.model.joints import Free, Spherical
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.scalar import Array, object_map

if TYPE_CHECKING:
    from sixd.symbolic.ring.ring import Ring


def ring_array(ring: Ring, values: Any) -> Array:
    """An array of any shape with elements of the ring."""
    array = np.asarray(values, dtype=object)
    return object_map(ring.convert, array) if array.size else array


def ring_system(system: System, ring: Ring) -> System:
    """The model, or reduced model, with elements of the ring for the numbers that the algorithms use."""
    tree = system.model if isinstance(system, Reduced) else system
    assert isinstance(tree, Model)
    arrays: dict[str, Any] = {
        name: ring_array(ring, getattr(tree, name)) for name in ("placement", "inertia", "gravity", "armature")
    }
    frames = {name: dataclasses.replace(f, pose=ring_array(ring, f.pose)) for name, f in tree.frames.items()}
    numbers = dataclasses.replace(tree, frames=frames, **arrays)
    return Reduced(numbers) if isinstance(system, Reduced) else numbers


def ring_coordinates(system: System, tree: Model, ring: Ring, symbols: list[Any]) -> Array:
    """q (nq,) in the ring, where quaternions have unit length."""
    q = ring_array(ring, symbols)
    for name in system.joint_names:
        if isinstance(tree.joint(name).joint, (Free, Spherical)):
            start = system.q_slice(name).start
            q[start : start + 4] = ring.quaternion(*symbols[start : start + 4])
    return q


@dataclass(frozen=True)
class ModelConstraint(Constraint):
    """A constraint of a model, computed with that model whatever system is passed: equations have no frames."""

    constraint: Constraint
    model: System

    @property
    def label(self) -> str:
        """The label of the model's constraint."""
        return self.constraint.label

    def closure(self, system: System, q: Array) -> tuple[Array, Array]:
        """The lack (h,) and its rows of A (h, nv), for assembly."""
        return self.constraint.closure(self.model, q)

    def position(self, system: System, q: Array) -> Array:
        """φ(q) (h,)."""
        return self.constraint.position(self.model, q)

    def velocity(self, system: System, q: Array, qd: Array) -> Array:
        """A(q) qd (k,)."""
        return self.constraint.velocity(self.model, q, qd)

    def target(self, t: Any) -> Array | None:
        """b(t) (k,), or None if it is zero."""
        return self.constraint.target(t)

    def jacobian(self, system: System, q: Array) -> Array:
        """A (k, nv)."""
        return self.constraint.jacobian(self.model, q)

    def bias(self, system: System, q: Array, qd: Array) -> Array:
        """Ȧ qd (k,)."""
        return self.constraint.bias(self.model, q, qd)


def model_constraints(model: System) -> tuple[ModelConstraint, ...]:
    """The constraints of a model, for its equations."""
    return tuple(ModelConstraint(c, model) for c in model.constraints)
