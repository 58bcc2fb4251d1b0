"""The interface of a joint: a few methods, the same for built-in and user-defined joints.

A joint connects a predecessor frame p (fixed in the parent body) to a successor frame c (the child body's
own frame). Methods act on one unbatched state of any scalar type; use ``sin cos where …`` of
``sixd.spatial``. Letters: RBDA sections 3.5 and 4.4.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np

from sixd.errors import ModelError
from sixd.spatial.dual import derivative, duals
from sixd.spatial.motion_constraint import force_subspace
from sixd.spatial.rotation import unit_vector
from sixd.spatial.scalar import Array, Scalar, Vector, is_number, numeric, object_map, require_scalars, whole

T = TypeVar("T")
_LETTERS = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


class Joint(ABC):
    """Base of all joints. A new joint needs ``nq``, ``nv``, ``transform`` and ``subspace``.

    If S depends on q, it also needs ``subspace_rate``; if q is not an element of a vector space, also ``integrate``,
    ``difference``, ``neutral`` and ``random`` (and ``configuration_rate``, if ``integrate`` has no derivative at zero).

    Example: a point sliding along the parabola y = x²::

        class Parabola(sixd.Joint):
            nq = nv = 1

            def transform(self, q):
                return xlt([q[0], q[0] * q[0], 0])

            def subspace(self, q):
                return np.array([[0, 0, 0, 1, 2 * q[0], 0]]).T

            def subspace_rate(self, q, qd):
                return np.array([[0, 0, 0, 0, 2 * qd[0], 0]]).T
    """

    nq: ClassVar[int]
    nv: ClassVar[int]
    half_range: ClassVar[tuple[float, ...] | None] = None
    """Largest |q| that :meth:`random` draws where no limit is set, per coordinate; None means pi."""
    has_quaternion: ClassVar[bool] = False
    """Whether the first four coordinates are a unit quaternion."""
    coordinate_names: ClassVar[tuple[str, ...]] = ()
    """Names of the coordinates in tables and files, numbers if there are none; a single coordinate needs no name."""
    coordinate_units: ClassVar[tuple[str, ...]] = ()
    """Their units: "rad", "m", or "1" for the entries of a quaternion."""
    dof_names: ClassVar[tuple[str, ...]] = ()
    """Names of the velocities, if other than those of the coordinates."""
    dof_units: ClassVar[tuple[str, ...]] = ()
    """Units of the velocities times s, if other than those of the coordinates: "rad" for an angular velocity."""
    force_names: ClassVar[tuple[str, ...]] = ()
    """Names of the forces, if other than those of the velocities."""
    symbol: ClassVar[str] = "mark"
    """How figures show the joint.

    "hinge", "screw", "slide" (one coordinate along or about an ``axis``), "sleeve" (about it, then along it), "cross"
    (axes x and y), "plate" (θ, x, y in a ``plane`` with a ``normal``), "pinion" (with a ``radius``; rolls about x along
    y), "ball" (a quaternion), "none", or "mark", a plain mark. Figures set so many coordinates.
    """
    is_held: ClassVar[bool] = True
    """Whether figures show what holds the body on the world: nothing holds one that floats or slides on a plane."""

    @property
    def is_vector_space(self) -> bool:
        """Whether q is an element of a vector space and qd is dq/dt."""
        return type(self).integrate is Joint.integrate

    @abstractmethod
    def transform(self, q: Array) -> Array:
        """Return X_cp (6, 6): motion coordinates from predecessor to successor frame."""

    @abstractmethod
    def subspace(self, q: Array) -> Array:
        """Return S (6, nv): the joint's velocity is vJ = S qd, in successor coordinates."""

    def subspace_rate(self, q: Array, qd: Array) -> Array:
        """Return S° (6, nv): the derivative of S's components along qd (zero where S is constant)."""
        if type(self).bias is Joint.bias:
            return np.zeros((6, self.nv))
        if self.nv == 1:  # cJ = S° qd is quadratic in qd, so its value at qd = 1 determines S°
            return (self.bias(q, np.ones(1)) * qd[0]).reshape(6, 1)
        raise ModelError(
            f"{type(self).__name__}: bias is defined but subspace_rate is not; a joint of {self.nv} DoF "
            f"needs subspace_rate(q, qd) -> (6, {self.nv}) for Jacobian rates. Define it instead of bias."
        )

    def bias(self, q: Array, qd: Array) -> Array:
        """Return cJ (6,) = S° qd  [RBDA section 3.5]."""
        return self.subspace_rate(q, qd) @ qd

    def constraint_force_subspace(self, q: Array | None = None) -> Array:
        """Return T (6, 6 - nv): the forces [n; f] that the joint supports, SᵀT = 0, in successor coordinates.

        The joint's reaction is T λ plus the force along S. ``q`` (nq,) is needed where S depends on it.
        """
        return force_subspace(self.subspace(self.neutral() if q is None else np.asarray(q)))

    def configuration_rate(self, q: Array, qd: Array) -> Array:
        """Return dq/dt (nq,) of the configuration along the joint velocity qd."""
        if self.is_vector_space:
            return qd
        return derivative(lambda dq: self.integrate(_fixed(q), dq), np.zeros(self.nv, dtype=int), qd)[1]

    def coadjoint(self, q: Array, qd: Array, p: Array) -> Array:
        """Return ad* (nv,) of a momentum p (nv,): p·[qd, e] for each DoF e, brackets of the joint's velocities.

        Zero where qd is dq/dt. With dq/dt = E(q) qd the bracket [v, w] is that of the fields E v and E w.
        """
        if self.is_vector_space:
            return np.zeros(self.nv, dtype=int)

        def along(w: Array, v: Array) -> Array:
            return derivative(lambda x: self.configuration_rate(x, _fixed(w)), q, self.configuration_rate(q, v))[1]

        fields = [along(e, qd) - along(qd, e) for e in np.eye(self.nv, dtype=int)]
        brackets = [derivative(lambda x: self.difference(_fixed(q), x), q, field)[1] for field in fields]
        return np.array([bracket @ p for bracket in brackets])

    def integrate(self, q: Array, dq: Array) -> Array:
        """Return the configuration reached from q by the constant joint velocity dq in unit time."""
        return q + dq

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the dq with ``integrate(q0, dq)`` = q1."""
        return q1 - q0

    def neutral(self) -> Array:
        """Return the configuration (nq,) at which successor and predecessor frame coincide (by convention)."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator, lower: Array, upper: Array) -> Array:
        """Draw a configuration (nq,) uniformly within the limits; unlimited coordinates within ``half_range``."""
        return self.between(rng.uniform(size=self.nq), lower, upper)

    def random_rows(self, rng: np.random.Generator, lower: Array, upper: Array, count: int) -> Array:
        """Draw ``count`` configurations (count, nq), all at once unless the joint has its own ``random``.

        10⁵ states of a tree with every joint type need 0.4 s, one at a time 60 s.
        """
        if type(self).random is Joint.random:
            return self.between(rng.uniform(size=(count, self.nq)), lower, upper)
        return np.array([self.random(rng, lower, upper) for _ in range(count)]).reshape(count, self.nq)

    def between(self, u: Array, lower: Array, upper: Array) -> Array:
        """Map u (…, nq) from [0, 1] to the limits, or to ``half_range`` where there are none."""
        half = np.full(self.nq, np.pi) if self.half_range is None else np.array(self.half_range)
        low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * half, -half))
        high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + 2 * half, half))
        return low * (1 - u) + high * u


def _fixed(x: Array) -> Array:
    """Return x as dual numbers with zero derivative: traced scalars and dual numbers do not mix."""
    return duals(x, np.zeros(len(x), dtype=int))


def finite_parameter(what: str, value: Scalar, unit: str) -> None:
    """Raise unless ``value`` is a finite number or a symbolic expression; ``unit`` is added to the message."""
    require_scalars(what, value)
    if np.ndim(value) or (is_number(value) and not np.isfinite(float(value))):
        raise ModelError(f"{what} is {value!r}, expected a finite number {unit}.")


def parse_axis(joint: str, axis: str | Vector) -> tuple[Any, Any, Any]:
    """Return the unit vector of "x", "y", "z" or of three numbers or symbols."""
    if isinstance(axis, str):
        if axis not in _LETTERS:
            raise ModelError(f"{joint}: axis is {axis!r}, expected 'x', 'y', 'z' or three numbers.")
        return _LETTERS[axis]
    require_scalars(f"{joint}: axis", axis)
    try:
        # whole numbers stay exact, so that symbolic results are free of 1.0
        x, y, z = (whole(a) for a in unit_vector(axis, name="axis").tolist())
    except ValueError as error:
        raise ModelError(f"{joint}: {error}") from None
    return x, y, z


def parameters_of(joint: object) -> Array:
    """Return the dataclass fields of a joint or constraint as a flat object array; empty for other classes."""
    values: list[Any] = []
    if dataclasses.is_dataclass(joint) and not isinstance(joint, type):
        for field in dataclasses.fields(joint):
            value = getattr(joint, field.name)
            many = isinstance(value, (tuple, list, np.ndarray))
            values.extend(np.ravel(np.array(value, dtype=object)) if many else [value])
    return np.array(values, dtype=object)


def replace_parameters(joint: T, change: Callable[[Any], Any]) -> T:
    """Return the joint or constraint with ``change`` applied to its dataclass fields, element by element."""
    if not dataclasses.is_dataclass(joint) or isinstance(joint, type):
        return joint

    def changed(value: object) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(changed(x) for x in value)
        return object_map(change, value) if isinstance(value, np.ndarray) and value.size else change(value)

    fields = {f.name: changed(getattr(joint, f.name)) for f in dataclasses.fields(joint)}
    return dataclasses.replace(joint, **fields)


def with_numbers(joint: T) -> T:
    """Return the joint or constraint with exact numbers (SymPy's, fractions) as floats, for a model without symbols."""
    return joint if all(numeric(x) is x for x in parameters_of(joint)) else replace_parameters(joint, numeric)
