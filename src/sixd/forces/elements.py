"""Force elements: forces on a mechanism besides those of its joints, and the checks of their arguments.

An element is a frozen dataclass of numbers. ``apply`` is written like the algorithms: one state of any scalar type, no
``if`` on values, because a simulation traces it into its kernel. Knows models, neither time steps nor batches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from sixd.constraints.reduced_model import Reduced
from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar, is_number, is_object, require_scalars

NO_STATE = np.zeros(0, dtype=int)
ZERO_WRENCH = np.zeros(6, dtype=int)


class Applied(NamedTuple):
    """The effect of an element in one state: joint forces, external forces, and the rate of its internal state.

    tau : (nv,) [N m or N], or None.
    f_ext : (nb, 6) wrenches on the bodies, world axes, moment about the world's origin; or None.
    rate : (size,) du/dt.
    """

    tau: Array | None = None
    f_ext: Array | None = None
    rate: Array = NO_STATE


class Force(ABC):
    """Base class of all force elements; a subclass defines ``apply``, and ``size`` if it has an internal state u.

    The result of ``apply`` must depend on its arguments and on the element's fields alone: ``apply`` is traced once for
    all steps and states, so a value read from elsewhere (a counter, a clock, random numbers) would stay constant. Keep
    changing values in u.

    Example: a drag force on a frame, against its velocity::

        @dataclass(frozen=True)
        class Drag(sixd.Force):
            frame: str
            coefficient: float

            def apply(self, model, t, q, qd, u):
                v = sixd.velocity(model, q, qd, self.frame, expressed_in="aligned")
                f = v[3:] * -self.coefficient
                return sixd.Applied(f_ext=sixd.external_force(model, q, self.frame, f, expressed_in="aligned"))
    """

    def size(self, model: System) -> int:
        """Return the number of entries of the internal state; raise if the element does not fit the model."""
        return 0

    def start(self, model: System) -> Array:
        """Return the internal state (size,) at the start of a simulation."""
        return np.zeros(self.size(model))

    @abstractmethod
    def apply(self, model: System, t: Scalar, q: Array, qd: Array, u: Array) -> Applied:
        """Return the effect at time t [s], configuration q (nq,), velocity qd (nv,) and internal state u (size,)."""


class RigidForce(Force):
    """Base of the elements that act by impulses within fixed steps: rigid limits and rigid contact.

    The steps know them (``simulation/nonsmooth``). Their state u is the mean force of the step before.
    """

    def apply(self, model: System, t: Scalar, q: Array, qd: Array, u: Array) -> Applied:
        """Return no force: impulses are not forces of a state."""
        return Applied(rate=np.zeros(len(u), dtype=int))


def element_key(force: Force) -> Any:
    """Return the fields of one of the library's own elements as a key, by value; None of users' elements."""
    if not type(force).__module__.startswith("sixd."):
        return None
    try:
        return type(force).__name__, *(_frozen(getattr(force, field.name)) for field in fields(force))  # type: ignore[arg-type]
    except TypeError:
        return None


def _frozen(value: object) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, Mapping):
        return tuple((name, _frozen(x)) for name, x in value.items())
    if isinstance(value, (tuple, list)):
        return tuple(_frozen(x) for x in value)
    if value is None or isinstance(value, (str, bool, int, float, np.generic)):
        return value
    raise TypeError


def state_slices(sizes: Sequence[int]) -> list[slice]:
    """Return the entries that elements of these sizes have in the state u of all of them."""
    ends = accumulate(sizes)
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def finite_number(where: str, name: str, value: Any, unit: str = "") -> float:
    """Return ``value`` as a finite float."""
    if isinstance(value, bool) or not is_number(value) or not np.isfinite(float(value)):
        raise ModelError(f"{where}: {name} is {value!r}, expected a finite number{unit and f' [{unit}]'}.")
    return float(value)


def nonnegative(where: str, name: str, value: Any, unit: str = "") -> float:
    """Return ``value`` as a finite float of at least 0."""
    if finite_number(where, name, value, unit) < 0:
        raise ModelError(f"{where}: {name} is {value!r}, expected at least 0{unit and f' [{unit}]'}.")
    return float(value)


def elements(where: str, forces: object) -> tuple[Force, ...]:
    """Return the force elements, or the only one, as a tuple."""
    every = tuple(forces) if isinstance(forces, Iterable) and not isinstance(forces, str) else (forces,)
    for force in every:
        if not isinstance(force, Force):
            raise ScalarTypeError(f"{where}: forces holds {force!r}, expected elements such as sixd.Ground(…).")
    return every


def read_only(array: Array) -> Array:
    """Return the array itself, whose entries cannot be set from now on."""
    array.flags.writeable = False
    return array


def set_fields(instance: object, **values: Any) -> None:
    """Set fields of a frozen dataclass, in its ``__post_init__``."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def finite_array(
    what: str, value: object, fits: Callable[[tuple[int, ...]], bool], wanted: str, *, signed: bool = True
) -> Array:
    """Return ``value`` as a read-only array of finite floats, of at least 0 if not ``signed``. ``fits(shape)`` is
    whether it may have a shape, ``wanted`` describes those in the message."""
    require_scalars(what, value)
    array = np.array(value)
    if not fits(array.shape):
        raise ShapeError(f"{what} has shape {array.shape}, expected {wanted}.")
    if is_object(array) or not np.isfinite(array).all() or (not signed and (array < 0).any()):
        raise ModelError(f"{what} is {value!r}, expected finite numbers{'' if signed else ' of at least 0'}.")
    return read_only(array.astype(float))


def finite_vector(where: str, name: str, value: object, n: int | None, wanted: str = "") -> Array:
    """Return ``value`` as a read-only array of n finite floats (None: any number); ``wanted`` describes its shape."""
    return finite_array(
        f"{where}: {name}", value, lambda shape: len(shape) == 1 and n in (None, *shape), wanted or f"({n},)"
    )


def tree_of(where: str, system: System) -> Model:
    """Return the tree of bodies behind a system: the Model itself, or the one that a reduced model was made from."""
    tree = system.model if isinstance(system, Reduced) else system
    if not isinstance(tree, Model):
        raise ModelError(f"{where}: {system.name!r} is a system without bodies and joints, expected a sixd.Model.")
    return tree
