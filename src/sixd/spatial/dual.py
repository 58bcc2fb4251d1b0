"""Dual numbers a + b ε with ε² = 0, over any scalar: exact derivatives of code that is written for numbers.

The value and the derivative are floats, SymPy expressions, traced scalars, or dual numbers again, which give second
derivatives. In nested use every variable is lifted to the same depth; only constants may be plain numbers. A
derivative may also be ``Several``, for many directions at once; it is the left factor of every product.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from sixd.spatial import scalar
from sixd.spatial.scalar import CHOOSES_FIRST, RULES, Array, ArrayLike, DerivativeRule, Scalar, object_array


def _function(name: str) -> Callable[[Any], Dual]:
    """Return the method of ``Dual`` for the function of one argument of that name, by its derivative rule."""
    function, rule = getattr(scalar, name), RULES[name]

    def method(self: Dual) -> Dual:
        value = function(self.value)
        return Dual(value, _over(*_fraction(rule, (value, self.value), (self.derivative,))))

    method.__name__, method.__doc__ = name, function.__doc__
    return method


def _comparison(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Condition]:
    """Return the operator of ``Dual`` for a comparison."""
    return lambda self, other: Condition(compare(self.value, _lift(other).value))


class Dual:
    """value + derivative ε. Arithmetic, comparison and the functions of ``sixd.spatial`` carry the derivative along."""

    __slots__ = ("derivative", "value")

    def __init__(self, value: Scalar, derivative: Scalar = 0) -> None:
        self.value, self.derivative = value, derivative

    def __add__(self, other: Scalar) -> Dual:
        if isinstance(other, np.ndarray):
            return NotImplemented
        b = _lift(other)
        return Dual(self.value + b.value, self.derivative + b.derivative)

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.derivative)

    def __pos__(self) -> Dual:
        return self

    def __sub__(self, other: Scalar) -> Dual:
        return NotImplemented if isinstance(other, np.ndarray) else self + (-_lift(other))

    def __rsub__(self, other: Scalar) -> Dual:
        return _lift(other) + (-self)

    def __mul__(self, other: Scalar) -> Dual:
        if isinstance(other, np.ndarray):
            return NotImplemented
        b = _lift(other)
        return Dual(self.value * b.value, _times(self.derivative, b.value) + _times(b.derivative, self.value))

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Dual:
        if isinstance(other, np.ndarray):
            return NotImplemented
        b = _lift(other)
        ratio = _ratio(self.value, b.value)
        return Dual(ratio, _over(self.derivative - _times(b.derivative, ratio), b.value))

    def __rtruediv__(self, other: Scalar) -> Dual:
        return _lift(other) / self

    def __pow__(self, exponent: Scalar) -> Dual:
        if isinstance(exponent, Dual):
            return (self.log() * exponent).exp()
        if isinstance(exponent, (int, np.integer)) and 0 <= exponent <= 1:
            return self if exponent else self * 0 + 1
        below = self.value ** (exponent - 1)
        return Dual(below * self.value, _times(self.derivative, below * exponent))

    def __rpow__(self, base: Scalar) -> Dual:
        return (self * scalar.log(base)).exp()

    # functions, by the names of sixd.spatial ---------------------------------------------------------

    sin, cos, tan = _function("sin"), _function("cos"), _function("tan")
    asin, acos = _function("asin"), _function("acos")
    sqrt, exp, log = _function("sqrt"), _function("exp"), _function("log")
    log1p, tanh = _function("log1p"), _function("tanh")
    sign, absolute = _function("sign"), _function("absolute")
    __abs__ = absolute

    def atan2(self, x: Scalar) -> Dual:
        """Angle [rad] in (-pi, pi] of the point (x, self)."""
        x = _lift(x)
        derivative = _fraction(RULES["atan2"], (None, self.value, x.value), (self.derivative, x.derivative))
        return Dual(scalar.atan2(self.value, x.value), _over(*derivative))

    def ratan2(self, y: Scalar) -> Dual:
        """``atan2(y, self)`` for a plain number ``y``."""
        return _lift(y).atan2(self)

    def hypot(self, other: Scalar) -> Dual:
        """√(self² + other²)."""
        y = _lift(other)
        value = scalar.hypot(self.value, y.value)
        return Dual(
            value, _over(*_fraction(RULES["hypot"], (value, self.value, y.value), (self.derivative, y.derivative)))
        )

    def minimum(self, other: Scalar) -> Dual:
        """The smaller of two."""
        return CHOOSES_FIRST["minimum"](self, other).where(self, other)

    def maximum(self, other: Scalar) -> Dual:
        """The larger of two."""
        return CHOOSES_FIRST["maximum"](self, other).where(self, other)

    # comparisons use the values only ------------------------------------------------------------

    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)
    __eq__ = _comparison(operator.eq)  # type: ignore[assignment]

    def __ne__(self, other: Scalar) -> Condition:  # type: ignore[override]
        return ~(self == other)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {self.derivative!r})"


class Condition:
    """A comparison of dual numbers: chooses values and derivatives together."""

    __slots__ = ("holds",)

    def __init__(self, holds: Scalar) -> None:
        self.holds = holds

    def where(self, a: Scalar, b: Scalar) -> Dual:
        """``a`` where the condition holds, else ``b``."""
        a, b = _lift(a), _lift(b)
        return Dual(scalar.where(self.holds, a.value, b.value), _choose(self.holds, a.derivative, b.derivative))

    def __bool__(self) -> bool:
        return bool(self.holds)  # raises for traced values, with a hint what to use

    def __and__(self, other: Condition) -> Condition:
        return Condition(self.holds & other.holds)

    def __or__(self, other: Condition) -> Condition:
        return Condition(self.holds | other.holds)

    def __invert__(self) -> Condition:
        return Condition(not self.holds if isinstance(self.holds, (bool, np.bool_)) else ~self.holds)


class Several:
    """Derivatives (m,) in several directions instead of one derivative; NumPy arrays hold it as a scalar."""

    __slots__ = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def __add__(self, other: Scalar) -> Several:
        return Several(self.values + _values(other))

    __radd__ = __add__

    def __neg__(self) -> Several:
        return Several(-self.values)

    def __sub__(self, other: Scalar) -> Several:
        return Several(self.values - _values(other))

    def __rsub__(self, other: Scalar) -> Several:
        return Several(_values(other) - self.values)

    def __mul__(self, scalar: Scalar) -> Several:
        return Several(self.values * scalar)

    def __truediv__(self, scalar: Scalar) -> Several:
        return Several(self.values / scalar)


def _values(x: Scalar) -> Any:
    return x.values if isinstance(x, Several) else x


def _choose(holds: Scalar, a: Scalar, b: Scalar) -> Any:
    if not isinstance(a, Several) and not isinstance(b, Several):
        return scalar.where(holds, a, b)
    m = len(a.values if isinstance(a, Several) else b.values)
    return Several(scalar.where(holds, *(np.broadcast_to(_values(x), (m,)) for x in (a, b))))


def _lift(x: Scalar) -> Dual:
    return x if isinstance(x, Dual) else Dual(x)


def _times(derivative: Scalar, value: Scalar) -> Any:
    """derivative · value; a constant's derivative stays the int 0, which can be added to every kind of derivative."""
    return 0 if type(derivative) is int and derivative == 0 else derivative * value


def _over(derivative: Scalar, value: Scalar) -> Any:
    """derivative / value (None for 1); a constant's derivative stays the int 0."""
    if value is None or (type(derivative) is int and derivative == 0):
        return derivative
    return _ratio(derivative, value)


def _fraction(rule: DerivativeRule, known: tuple[Any, ...], derivatives: tuple[Any, ...]) -> tuple[Any, Any]:
    """Σ derivative · partial derivative as numerator and denominator (None for 1); ``known``: value and arguments."""
    # over traced scalars the order of these lines is the order of nodes, and so of the generated code
    sign, derivative = rule.signs[0], derivatives[0]
    derivative = derivative if sign > 0 else -derivative if sign else 0
    below: Any = None if rule.below is None else rule.below(*known)
    total = derivative if rule.above is None else _times(derivative, rule.above[0](*known))
    for k in range(1, len(derivatives)):
        term = derivatives[k] if rule.above is None else _times(derivatives[k], rule.above[k](*known))
        total = total + term if rule.signs[k] > 0 else total - term
    return total, below if rule.divisor == 1 else rule.divisor * below


def _ratio(a: Scalar, b: Scalar) -> Any:
    """a / b; inf or NaN where Python's numbers raise ZeroDivisionError, as in NumPy."""
    try:
        return a / b
    except ZeroDivisionError:
        return float(np.float64(a) / np.float64(b))


def duals(values: ArrayLike, derivatives: ArrayLike) -> Array:
    """The array of dual numbers with these values and derivatives, arrays of one shape."""
    values, derivatives = np.asarray(values), np.asarray(derivatives)
    pairs = zip(values.ravel().tolist(), derivatives.ravel().tolist(), strict=True)
    return object_array([Dual(a, b) for a, b in pairs], values.shape)


def parts(array: ArrayLike) -> tuple[Array, Array]:
    """Values and derivatives, as two arrays, of an array of dual numbers and constants."""
    flat = [_lift(x) for x in np.asarray(array, dtype=object).ravel()]
    shape = np.shape(array)
    return _array([x.value for x in flat], shape), _array([x.derivative for x in flat], shape)


def derivative(function: Callable[[Array], Any], x: Array, direction: Array) -> tuple[Array, Array]:
    """f(x) and its derivative along ``direction``, for a function of one array (n,) written for any scalar."""
    return parts(function(duals(x, direction)))


def gradient(function: Callable[[Array], Any], x: Array, directions: Array) -> tuple[Array, Array]:
    """f(x) (k,) and its derivatives (k, m) along the rows of ``directions`` (m, n), by one evaluation."""
    columns = np.asarray(directions).T
    values, derivatives = parts(function(duals(x, object_array([Several(column) for column in columns]))))
    rows = [np.broadcast_to(_values(s), (len(directions),)) for s in derivatives.ravel()]
    return values, np.array(rows).reshape(*values.shape, len(directions))


def _array(entries: list[Any], shape: tuple[int, ...]) -> Array:
    plain = all(isinstance(x, (int, float, np.integer, np.floating)) for x in entries)
    kind = (float if any(isinstance(x, float) for x in entries) else int) if plain and entries else object
    return object_array(entries, shape).astype(kind)
