"""Constraints: equations that a mechanism's motion satisfies in addition to its tree of joints.

A constraint has k equations A(q) qd = b(t). The first of them may be holonomic: they are the rates of ``position``,
which must be zero. A new kind defines only ``position`` or ``velocity``; the Jacobian and its rate follow by dual
numbers, exactly and for any scalar type. This module does not depend on the algorithms that use constraints.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sixd.errors import ModelError, ModelWarning
from sixd.model.joints import Joint
from sixd.spatial.dual import derivative, duals, gradient, parts
from sixd.spatial.scalar import Array, Scalar

if TYPE_CHECKING:
    from sixd.model.system import System


class Constraint:
    """Base of the constraints in ``model.constraints``; ``joints`` and ``frames`` are the names of those it acts on.

    A new kind defines ``position``, if it is holonomic, or ``velocity``; ``jacobian`` and ``bias`` only to save work.
    Its force on the mechanism is Aᵀλ: M qdd + h = tau + Aᵀλ.
    """

    joints: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    joint_fields: ClassVar[tuple[str, ...]] = ()  # dataclass fields that hold names of joints, and of frames
    frame_fields: ClassVar[tuple[str, ...]] = ()
    spatial: bool = False  # whether it is a joint in space, which has equations that are zero in a planar mechanism
    by_names: ClassVar[bool] = True  # False for a function of the whole q, whose joints have no names

    @property
    def label(self) -> str:
        """Name of the constraint in messages."""
        return f"{type(self).__name__}({', '.join((*self.joints, *self.frames))})"

    @property
    def acted_frame(self) -> str | None:
        """The frame on whose body its force counts as positive, by default the last; None if it acts on joints."""
        return self.frames[-1] if self.frames and not self.joints else None

    def verify(self, joints: Mapping[str, Joint]) -> None:
        """Raise if joints of these kinds cannot satisfy it; called when it is added to a mechanism."""

    def position(self, system: System, q: Array) -> Array:
        """Return φ(q) (h,), zero when satisfied; its rates are the first h equations. Empty by default."""
        return np.zeros(0, dtype=int)

    def velocity(self, system: System, q: Array, qd: Array) -> Array:
        """Return A(q) qd (k,), linear in qd; by default the rate of ``position``."""
        return derivative(lambda x: self.position(system, x), q, system.configuration_rate(q, qd))[1]

    def target(self, t: Scalar) -> Array | None:
        """Return b(t) (k,), or None if it is zero."""
        return None

    def branch(self, system: System, q: Array) -> Any:
        """Return a scalar that is above 0 where ``position`` vanishes as wanted; by default it always does."""
        return 1

    def closure(self, system: System, q: Array) -> tuple[Array, Array]:
        """Return the residual (h,) for assembly and its rows of A (h, nv); floats only.

        By default ``position`` and its rows. A kind whose position also vanishes in unwanted configurations returns a
        residual that does not, with rows that are exact where it vanishes.
        """
        phi = self.position(system, q)
        return phi, self.jacobian(system, q)[: len(phi)]

    def jacobian(self, system: System, q: Array) -> Array:
        """Return A (k, nv)."""
        unit = np.eye(system.nv, dtype=int)
        if type(self).velocity is Constraint.velocity:
            rates = np.array([system.configuration_rate(q, e) for e in unit]).reshape(system.nv, len(q))
            return gradient(lambda x: self.position(system, x), q, rates)[1]
        return np.array([self.velocity(system, q, e) for e in unit]).reshape(system.nv, -1).T

    def bias(self, system: System, q: Array, qd: Array) -> Array:
        """Return Ȧ qd (k,): the rate of ``velocity`` at qdd = 0."""
        moving = duals(q, system.configuration_rate(q, qd))
        return parts(self.velocity(system, moving, duals(qd, np.zeros(len(qd), dtype=int))))[1]


class Explicit(Constraint):
    """Coordinates of some joints as a function of those of others: q[dependent] = γ(q[independent])."""

    dependent: tuple[str, ...]
    independent: tuple[str, ...]

    def map(self, y: Array) -> Array:
        """Return γ(y), the dependent joints' coordinates for the coordinates y of the independent ones, in order."""
        raise NotImplementedError

    def position(self, system: System, q: Array) -> Array:
        """Return q[dependent] - γ(q[independent])."""
        return gather(system, q, self.dependent) - self.map(gather(system, q, self.independent))

    def jacobian(self, system: System, q: Array) -> Array:
        """Return A (k, nv), computed only in the columns of its own joints."""
        # only the columns of its own joints: in a hand with twenty mimic joints each has few
        rows = len(gather(system, q, self.dependent))
        columns: list[Array] = [np.zeros(rows, dtype=int)] * system.nv
        for joint in self.joints:
            for k in range(system.nv)[system.v_slice(joint)]:
                columns[k] = self.velocity(system, q, np.eye(system.nv, dtype=int)[k])
        return np.array(columns).reshape(system.nv, rows).T

    def verify(self, joints: Mapping[str, Joint]) -> None:
        """Raise if a dependent joint has coordinates that are not real numbers, such as a quaternion."""
        for name in self.dependent:
            if not joints[name].is_vector_space:
                raise ModelError(
                    f"add_constraint: {self.label} makes joint {name!r} dependent, a {type(joints[name]).__name__}, "
                    f"expected joints with coordinates on the real line. Use sixd.Loop between two frames."
                )

    @property
    def joints(self) -> tuple[str, ...]:  # type: ignore[override]
        """The dependent joints, then the independent ones."""
        return self.dependent + self.independent


def warn_of_zero_rows(where: str, system: System, first: int = 0, level: int = 3) -> None:
    """Warn of equations, from constraint ``first`` on, that are zero in every configuration: three random ones.

    ``level`` is the number of calls from here to the user's.
    """
    rng = np.random.default_rng(0)
    if system.symbols:
        values = rng.uniform(0.5, 1.5, len(system.symbols)).tolist()
        system = system.substitute(dict(zip(system.symbols, values, strict=True)))
    states = [np.asarray(system.random_configuration(rng), dtype=float) for _ in range(3)]
    for c in system.constraints[first:]:
        size = np.ones(0)
        # what a user's function raises, it raises again where it is used
        with suppress(Exception), np.errstate(all="ignore"):
            if not isinstance(c, Explicit):
                size = np.abs(np.array([c.jacobian(system, q) for q in states], dtype=float)).max(axis=(0, 2))
        rows = np.flatnonzero(size <= 1e-12 * size.max(initial=0.0)).tolist()  # sums that cancel leave 1e-16
        if rows and not (c.spatial and len(rows) < len(size)):
            warnings.warn(
                f"{where}: equation {' and '.join(str(k + 1) for k in rows)} of {len(size)} of {c} is zero in every "
                f"configuration, expected one that restricts the motion. Does the mechanism move in another plane? "
                f"Correct its directions, frames or function, or leave it out.",
                ModelWarning,
                stacklevel=level,
            )


def renamed(c: Constraint, joint: Callable[[str], str], frame: Callable[[str], str]) -> Constraint:
    """Return the constraint with other names for its joints and frames."""

    def change(rename: Callable[[str], str], value: Scalar) -> Any:
        return rename(value) if isinstance(value, str) else tuple(map(rename, value))

    changes = {name: change(joint, getattr(c, name)) for name in c.joint_fields}
    changes |= {name: change(frame, getattr(c, name)) for name in c.frame_fields}
    if is_dataclass(c) and not changes:  # a user's class that does not declare them: fields that equal a name
        own = {f.name: getattr(c, f.name) for f in fields(c)}
        changes = {name: joint(x) for name, x in own.items() if isinstance(x, str) and x in c.joints}
        changes |= {name: frame(x) for name, x in own.items() if isinstance(x, str) and x in c.frames}
    return replace(c, **changes) if changes else c  # type: ignore[type-var]


def with_followers(values: Mapping[str, Any], constraints: Iterable[Constraint]) -> dict[str, Any]:
    """Return the coordinates of joints by name, and those of the mimic joints that follow them and are not named."""
    found, before = dict(values), -1
    relations = [c for c in constraints if isinstance(c, Mimic)]
    while len(found) != before:  # a follower may be the source of another
        before = len(found)
        for c in relations:
            if c.source in found and c.joint not in found:
                found[c.joint] = c.map(np.atleast_1d(np.asarray(found[c.source])))
    return found


def gather(system: System, q: Array, joints: tuple[str, ...]) -> Array:
    """Return the coordinates of these joints, in order, out of q (nq,)."""
    return np.concatenate([q[:0], *(q[system.q_slice(j)] for j in joints)])


@dataclass(frozen=True)
class Mimic(Explicit):
    """q[joint] = multiplier · q[source] + offset: a gear, a belt, a coupled finger."""

    joint: str
    source: str
    multiplier: Any = 1.0
    offset: Any = 0.0
    joint_fields: ClassVar[tuple[str, ...]] = ("joint", "source")

    @property
    def dependent(self) -> tuple[str, ...]:  # type: ignore[override]
        """The joint that follows."""
        return (self.joint,)

    @property
    def independent(self) -> tuple[str, ...]:  # type: ignore[override]
        """The joint that it follows."""
        return (self.source,)

    def map(self, y: Array) -> Array:
        """Return multiplier · y + offset."""
        return y * self.multiplier + self.offset
