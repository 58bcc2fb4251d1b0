"""Constraints by a user's function: explicit, holonomic or Pfaffian.

The functions get arrays of any scalar (use ``sixd.spatial``'s sin, sqrt, where …); all derivatives are computed from
them by dual numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, SixdError
from sixd.model.constraint import Constraint, Explicit
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar


@final
@dataclass(frozen=True)
class Coupling(Explicit):
    """q[dependent] = function(y), y the coordinates of the independent joints: a cam, or a linkage with a known ratio.

    >>> import sixd
    >>> from sixd.spatial import sin
    >>> sixd.Coupling("link2", "link1", lambda y: 2 * sin(y))
    Coupling(dependent=('link2',), independent=('link1',))
    """

    dependent: Any
    independent: Any
    function: Callable[[Array], Any] = field(repr=False)
    joint_fields: ClassVar[tuple[str, ...]] = ("dependent", "independent")

    def __post_init__(self) -> None:
        _require_function("Coupling", self.function)
        for name in self.joint_fields:
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        twice = set(self.dependent) & set(self.independent)
        if not self.dependent or twice or len(set(self.joints)) != len(self.joints):
            raise ModelError(
                f"Coupling: joints are {list(self.dependent)} and {list(self.independent)}, expected some dependent "
                f"ones, each joint once."
            )

    def map(self, y: Array) -> Array:
        """function(y): coordinates of the dependent joints for those of the independent ones, side by side."""
        with function_errors(self.label):
            return np.atleast_1d(np.asarray(self.function(y)))

    def position(self, system: System, q: Array) -> Array:
        """φ (h,): coordinates of the dependent joints less function(y)."""
        size = sum(system.q_slice(j).stop - system.q_slice(j).start for j in self.dependent)
        return _require_shape(super().position, system, q, self.label, (size,))


@final
@dataclass(frozen=True)
class Polynomial:
    """value(y) = Σ coefficients[k] (y - center)^k: a function for ``Coupling`` that can be pickled and compared."""

    coefficients: tuple[float, ...]
    center: float = 0.0

    def __call__(self, y: Array) -> Array:
        x, value = y - self.center, y * 0
        for c in reversed(self.coefficients):  # Horner's rule
            value = value * x + c
        return value


def _require_shape(
    position: Callable[..., Array], system: System, q: Array, label: str, shape: tuple[int, ...]
) -> Array:
    try:
        got = position(system, q)
    except ValueError as error:
        raise ModelError(f"{label}: its function gives another number of values than {shape[0]}: {error}.") from None
    if got.shape != shape:
        raise ModelError(f"{label}: its function gives shape {got.shape}, expected {shape}: one for each coordinate.")
    return got


class _OfAllCoordinates(Constraint):
    """Base of constraints by a function of the whole q, which is not defined in other coordinates."""

    by_names: ClassVar[bool] = False
    function: Callable[..., Any]
    name: str

    @property
    def label(self) -> str:
        """Name in messages: the kind, and its own name or that of the function."""
        return f"{type(self).__name__}({self.name or getattr(self.function, '__name__', 'function')})"

    def _value(self, system: System, q: Array) -> Array:
        takes_model = "model" in inspect.signature(self.function).parameters
        with function_errors(self.label):
            value = self.function(model=system, q=q) if takes_model else self.function(q)
        if value is None:
            raise ModelError(f"{self.label}: its function returns None, expected numbers. Is a return missing?")
        return np.asarray(value)


@final
@dataclass(frozen=True)
class Holonomic(_OfAllCoordinates):
    """φ(q) = 0 with φ = function(q), or function(model, q), one or more values.

    λ has the unit of energy over that of φ.
    """

    function: Callable[..., Any] = field(repr=False)
    name: str = ""

    def __post_init__(self) -> None:
        _require_function("Holonomic", self.function)

    def position(self, system: System, q: Array) -> Array:
        """φ (h,): the values of the function."""
        value = np.atleast_1d(self._value(system, q))
        if value.ndim != 1:
            raise ModelError(f"{self.label}: its function gives shape {value.shape}, expected a number or (h,).")
        return value


@final
@dataclass(frozen=True)
class Pfaffian(_OfAllCoordinates):
    """A(q) qd = b(t) with A = function(q), or function(model, q), (k, nv), and b = rate(t) (k,), zero if omitted.

    λ has the unit of power over that of the rows.
    """

    function: Callable[..., Any] = field(repr=False)
    rate: Callable[[Any], Any] | None = field(default=None, repr=False)
    name: str = ""

    def __post_init__(self) -> None:
        _require_function("Pfaffian", self.function)
        if self.rate is not None:
            _require_function("Pfaffian", self.rate)

    def velocity(self, system: System, q: Array, qd: Array) -> Array:
        """A qd (k,)."""
        return self.jacobian(system, q) @ qd

    def jacobian(self, system: System, q: Array) -> Array:
        """A (k, nv): the value of the function."""
        A = np.atleast_2d(self._value(system, q))
        if A.ndim != 2 or A.shape[1] != system.nv:
            raise ModelError(f"{self.label}: its function gives shape {A.shape}, expected (k, {system.nv}).")
        return A

    def target(self, t: Scalar) -> Array | None:
        """b (k,) = rate(t), None without a rate."""
        return None if self.rate is None else np.atleast_1d(np.asarray(self.rate(t)))


@contextmanager
def function_errors(label: str) -> Iterator[None]:
    """Context in which errors of a user's function are raised as ``ModelError`` that names the constraint."""
    try:
        yield
    except SixdError:
        raise
    except (TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise ModelError(
            f"{label}: its function fails: {error}. It takes q, an array of any scalar: use sixd.spatial's sin, sqrt, "
            f"where … instead of math's and NumPy's, and return numbers in an array."
        ) from error


def _require_function(kind: str, function: object) -> None:
    if not callable(function):
        raise ScalarTypeError(f"{kind}: function is {function!r}, expected a function.")
