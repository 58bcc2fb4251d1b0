"""Constraints: what a mechanism's motion must satisfy beside its tree of joints.

A constraint has k rows, A(q) qd = b(t). The first of them may be holonomic: then they are the rates of ``position``,
which must be zero. A new kind needs ``position`` or ``velocity`` alone; the Jacobian and its rate follow by dual
numbers, exactly and for any scalar. Which algorithms use them, nothing here knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.spatial.dual import derivative, duals, parts
from sixd.spatial.scalar import Array

if TYPE_CHECKING:
    from sixd.model.system import System


class Constraint:
    """Base of the constraints that ``model.constraints`` holds; ``joints`` and ``frames`` name what it acts on.

    Give a new kind ``position``, if it is holonomic, or ``velocity``; ``jacobian`` and ``bias`` only to save work.
    """

    joints: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()

    def position(self, system: System, q: Array) -> Array:
        """φ(q) (h,), zero when satisfied; its rates are the first h rows. None by default."""
        return np.zeros(0, dtype=int)

    def velocity(self, system: System, q: Array, qd: Array) -> Array:
        """A(q) qd (k,), linear in qd; by default the rate of ``position``."""
        return derivative(lambda x: self.position(system, x), q, system.configuration_rate(q, qd))[1]

    def target(self, t: Any) -> Array | None:
        """b(t) (k,), if it is not zero."""
        return None

    def jacobian(self, system: System, q: Array) -> Array:
        """A (k, nv)."""
        unit = np.eye(system.nv, dtype=int)
        return np.array([self.velocity(system, q, e) for e in unit]).reshape(system.nv, -1).T

    def bias(self, system: System, q: Array, qd: Array) -> Array:
        """Ȧ qd (k,): the rate of ``velocity`` at qdd = 0."""
        moving = duals(q, system.configuration_rate(q, qd))
        return parts(self.velocity(system, moving, duals(qd, np.zeros(len(qd), dtype=int))))[1]


class Explicit(Constraint):
    """Coordinates of some joints as a function of those of others: q[dependent] = γ(q[independent])."""

    dependent: tuple[str, ...] = ()
    independent: tuple[str, ...] = ()

    def map(self, y: Array) -> Array:
        """γ(y): the dependent joints' coordinates for the coordinates y of the independent ones, in their order."""
        raise NotImplementedError

    def position(self, system: System, q: Array) -> Array:
        return gather(system, q, self.dependent) - self.map(gather(system, q, self.independent))

    @property
    def joints(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.dependent + self.independent


def gather(system: System, q: Array, joints: tuple[str, ...]) -> Array:
    """The coordinates of these joints, in their order, out of q (nq,)."""
    return np.concatenate([q[:0], *(q[system.q_slice(j)] for j in joints)])


@dataclass(frozen=True)
class Mimic(Explicit):
    """q[joint] = multiplier · q[source] + offset: a gear, a belt, a coupled finger."""

    joint: str
    source: str
    multiplier: Any = 1.0
    offset: Any = 0.0

    @property
    def dependent(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.joint,)

    @property
    def independent(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.source,)

    def map(self, y: Array) -> Array:
        return y * self.multiplier + self.offset
