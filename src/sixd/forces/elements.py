"""Force elements: what acts on a mechanism beside its joints' own forces.

An element is a frozen record of numbers. ``apply`` is physics like the algorithms: one state of any scalar, no ``if``
on values, because a simulation traces it into its kernel. Knows models, neither time steps nor batches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from sixd.constraints.reduced import Reduced
from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar, is_number, is_object, require_scalars

NO_STATE = np.zeros(0, dtype=int)


class Applied(NamedTuple):
    """What an element does in a state: joint forces, external forces, and the rate of its internal state.

    tau : (nv,) [N m or N], or None.
    f_ext : (nb, 6) wrenches on the bodies, world axes, moment about the world's origin, as everywhere; or None.
    rate : (size,) du/dt.
    """

    tau: Array | None = None
    f_ext: Array | None = None
    rate: Array = NO_STATE


class Force(ABC):
    """Base of all force elements; a new one needs ``apply``, and ``size`` if it has an internal state u.

    What ``apply`` returns must follow from its arguments and the element's own fields alone: it is traced, once for
    all steps and rows, and what it reads or remembers elsewhere (a counter, a clock, random numbers) stays as it was
    then. A memory is what u is for.

    Example: a drag on the first body's origin, against its velocity::

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
        """Number of entries of the internal state; raises if the element does not fit the model."""
        return 0

    def start(self, model: System) -> Array:
        """The internal state (size,) at the beginning of a simulation."""
        return np.zeros(self.size(model))

    @abstractmethod
    def apply(self, model: System, t: Scalar, q: Array, qd: Array, u: Array) -> Applied:
        """What the element does at time t [s], configuration q (nq,), velocity qd (nv,), internal state u (size,)."""


def finite_number(where: str, name: str, value: Any, unit: str = "") -> float:
    """``value`` as a finite float."""
    if isinstance(value, bool) or not is_number(value) or not np.isfinite(float(value)):
        raise ModelError(f"{where}: {name} is {value!r}, expected a finite number{unit and f' [{unit}]'}.")
    return float(value)


def nonnegative(where: str, name: str, value: Any, unit: str = "") -> float:
    """``value`` as a finite float of at least 0."""
    if finite_number(where, name, value, unit) < 0:
        raise ModelError(f"{where}: {name} is {value!r}, expected at least 0{unit and f' [{unit}]'}.")
    return float(value)


def elements(where: str, forces: Any) -> tuple[Force, ...]:
    """The elements that are given, or the only one, as a tuple."""
    every = tuple(forces) if isinstance(forces, Iterable) else (forces,)
    for force in every:
        if not isinstance(force, Force):
            raise ScalarTypeError(f"{where}: forces holds {force!r}, expected elements such as sixd.Ground(…).")
    return every


def finite_vector(where: str, name: str, value: Any, n: int | None, wanted: str = "") -> Array:
    """``value`` as a read-only array of n finite floats, or of any number of them; ``wanted``: these in words."""
    require_scalars(f"{where}: {name}", value)
    array = np.array(value)
    if array.ndim != 1 or (n is not None and len(array) != n):
        raise ShapeError(f"{where}: {name} has shape {array.shape}, expected {wanted or f'({n},)'}.")
    if is_object(array) or not np.isfinite(array).all():
        raise ModelError(f"{where}: {name} is {value!r}, expected finite numbers.")
    array = array.astype(float)
    array.flags.writeable = False
    return array


def tree_of(where: str, system: System) -> Model:
    """The tree of bodies behind a system: a Model, or that of a reduced one."""
    tree = system.model if isinstance(system, Reduced) else system
    if not isinstance(tree, Model):
        raise ModelError(f"{where}: {system.name!r} is a system without bodies and joints, expected a sixd.Model.")
    return tree
