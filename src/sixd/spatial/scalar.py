"""Scalar functions that work on any scalar (float, SymPy expression, traced scalar), and their derivatives.

Physics code imports ``sin cos sqrt where …`` from here, never from NumPy: ``np.cos`` fails on SymPy
symbols, and ``np.where(a < b, …)`` evaluates the truth value of each element of an object array. A scalar of
another class provides methods of the same names (``x.sin()``, ``y.atan2(x)``, ``condition.where(a, b)``; after a plain
number ``x.ratan2(y)``).
Functions of arrays act element by element. Physics code writes ``array * scalar``, the array first: NumPy then
multiplies each element, whatever the scalar's own ``__mul__`` does with arrays.
"""

from __future__ import annotations

import decimal
import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.errors import ScalarTypeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike
    from numpy.typing import NDArray

    Array = NDArray[Any]
else:  # the import of numpy.typing needs 20 ms
    Array, ArrayLike = np.ndarray, Any
Scalar = Any  # a number, a SymPy expression, a traced scalar, or one of another class
Vector = Array | Sequence[Scalar]  # numbers by index

_SYMPY_NAMES = {"minimum": "Min", "maximum": "Max", "absolute": "Abs"}
_SYMPY_FORMS: dict[str, Callable[..., Any]] = {
    "log1p": lambda sympy, x: sympy.log(1 + x),
    "hypot": lambda sympy, x, y: sympy.sqrt(x**2 + y**2),
}
_SYMMETRIC = ("minimum", "maximum", "hypot")
_PLAIN = (float, int, np.float64)
_NOT_SCALARS = (str, bytes, complex, np.complexfloating, decimal.Decimal, dict, set, type(None))


def is_sympy(x: object) -> bool:
    """Whether ``x`` is a SymPy object; does not import SymPy."""
    return hasattr(x, "free_symbols") or str(type(x).__module__).partition(".")[0] == "sympy"


def is_number(x: object) -> bool:
    """Whether ``x`` is a plain real number (not symbolic, not traced)."""
    # most are of these types, which need no full test: a sine of a float needs 1.1 us instead of 1.9
    return type(x) in _PLAIN or (isinstance(x, (numbers.Real, np.bool_)) and not is_sympy(x))


def require_scalars(what: str, *values: object) -> None:
    """Raise unless every element is a real number, a SymPy expression or a scalar of another class."""
    for value in values:
        try:
            elements = np.asarray(value).ravel()
        except ValueError:
            raise ScalarTypeError(f"{what} is {value!r:.300}, expected numbers in a regular shape.") from None
        plain = elements.dtype.kind in "fiu"
        for x in () if plain else elements:
            foreign = hasattr(x, "__mul__") and not isinstance(x, _NOT_SCALARS) and not hasattr(x, "__len__")
            if isinstance(x, (bool, np.bool_)) or not (is_number(x) or is_sympy(x) or foreign):
                raise ScalarTypeError(f"{what} is {value!r:.300}, expected numbers (or SymPy expressions).")
            if isinstance(x, int) and abs(x) > 2**1023:
                raise ScalarTypeError(f"{what} holds a whole number too large for a float.")


def numeric(x: Scalar) -> Any:
    """``x`` as a float if it is a SymPy or other exact number without symbols, else as it is."""
    if is_sympy(x) and not getattr(x, "free_symbols", True) and getattr(x, "is_real", False):
        return float(x)
    return float(x) if isinstance(x, numbers.Rational) and not isinstance(x, int) else x


def is_zero(x: object) -> bool:
    """Whether ``x`` is a number, or a scalar with an attribute ``is_zero``, and is exactly zero."""
    return bool(x == 0) if is_number(x) else getattr(x, "is_zero", None) is True


def is_object(*arrays: ArrayLike) -> bool:
    """Whether any of the arrays holds objects (symbols, traced scalars) instead of numbers."""
    return any(np.asarray(a).dtype == object for a in arrays)


def common_dtype(*groups: Iterable[Array]) -> Any:
    """float, or object if any array of the groups holds objects: the dtype of an array that can hold them all."""
    return np.result_type(float, *{a.dtype for group in groups for a in group})


def whole(x: Scalar) -> Any:
    """``x`` as an int if it is a float without a fraction, else as it is."""
    if isinstance(x, (float, np.floating)) and float(x).is_integer() and abs(float(x)) < 2**53:
        return int(x)
    return x


def exact(array: ArrayLike) -> Array:
    """An object array with its whole floats as ints, so that no 1.0 appears in symbolic results."""
    array = np.asarray(array, dtype=object)
    return object_map(whole, array) if array.size else array


def symbols_in(arrays: Iterable[Any]) -> set[Any]:
    """Free SymPy symbols of all elements of the arrays."""
    objects = (x for array in arrays if is_object(array) for x in np.asarray(array).ravel())
    return set().union(*(getattr(x, "free_symbols", ()) for x in objects))


def object_map(function: Callable[..., Any], *arrays: ArrayLike) -> Any:
    """``function`` of each element; a 0-d result is returned as the bare scalar."""
    broadcast = np.broadcast(*(np.asarray(a, dtype=object) for a in arrays))
    if broadcast.shape == ():
        return function(*(np.asarray(a, dtype=object)[()] for a in arrays))
    return object_array([function(*xs) for xs in broadcast], broadcast.shape)


def object_array(entries: list[Any], shape: tuple[int, ...] = (-1,)) -> Array:
    """The array of that shape, (n,) by default, that holds these scalars of any class."""
    out = np.empty(len(entries), dtype=object)
    out[:] = entries
    return out.reshape(shape)


def _dispatch(name: str, on_floats: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def one(*xs: Scalar) -> Any:
        if all(is_number(x) for x in xs):
            return on_floats(*(float(x) for x in xs))
        if any(is_sympy(x) for x in xs):
            import sympy

            if name in _SYMPY_FORMS:
                return _SYMPY_FORMS[name](sympy, *xs)
            return getattr(sympy, _SYMPY_NAMES.get(name, name))(*xs)
        # a scalar of another class; after a plain number by its reflected method, as for Python's operators
        k = next(k for k, x in enumerate(xs) if not is_number(x))
        wanted = f"r{name}" if k and name not in _SYMMETRIC else name
        method = getattr(xs[k], wanted, None)
        if method is None:
            raise ScalarTypeError(
                f"{name}: a scalar of type {type(xs[k]).__name__} has no method {wanted!r}, expected a "
                f"number, a SymPy expression or a scalar with that method. Give the class one."
            )
        return method(*xs[:k], *xs[k + 1 :])

    def function(*xs: Scalar) -> Any:
        if any(isinstance(x, (np.ndarray, list, tuple)) for x in xs):
            return object_map(one, *xs) if is_object(*xs) else on_floats(*xs)
        return one(*xs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


sin = _dispatch("sin", np.sin, "Sine of an angle [rad].")
cos = _dispatch("cos", np.cos, "Cosine of an angle [rad].")
tan = _dispatch("tan", np.tan, "Tangent of an angle [rad].")
asin = _dispatch("asin", np.arcsin, "Angle [rad] in [-pi/2, pi/2] whose sine is x.")
acos = _dispatch("acos", np.arccos, "Angle [rad] in [0, pi] whose cosine is x.")
atan2 = _dispatch("atan2", np.arctan2, "Angle [rad] in (-pi, pi] of the point (x, y); called as atan2(y, x).")
sqrt = _dispatch("sqrt", np.sqrt, "Square root.")
exp = _dispatch("exp", np.exp, "Exponential.")
log = _dispatch("log", np.log, "Natural logarithm.")
log1p = _dispatch("log1p", np.log1p, "log(1 + x), accurate near x = 0.")
tanh = _dispatch("tanh", np.tanh, "Hyperbolic tangent, between -1 and 1.")
hypot = _dispatch("hypot", np.hypot, "√(x² + y²), also where the squares overflow or vanish.")
sign = _dispatch("sign", np.sign, "-1, 0 or 1; sign(0) = 0.")
absolute = _dispatch("absolute", np.abs, "Absolute value.")
minimum = _dispatch("minimum", np.minimum, "The smaller of two.")
maximum = _dispatch("maximum", np.maximum, "The larger of two.")


def clip(x: Scalar, lower: Scalar, upper: Scalar) -> Any:
    """x, but at least ``lower`` and at most ``upper``; the derivative is 1 within these bounds and 0 beyond."""
    return minimum(maximum(x, lower), upper)


def where(condition: Scalar, a: Scalar, b: Scalar) -> Any:
    """``a`` where the condition holds, else ``b``; both are evaluated.

    The condition is a bool, a bool array, a SymPy relation or a traced comparison of two scalars.
    """

    def one(c: Scalar, x: Scalar, y: Scalar) -> Any:
        if isinstance(c, (bool, np.bool_)):
            return x if c else y
        if is_sympy(c):
            import sympy

            return sympy.Piecewise((x, c), (y, True))
        if not hasattr(c, "where"):
            raise ScalarTypeError(
                f"where: the condition is {c!r}, expected a bool, a comparison, or a scalar with a method 'where'."
            )
        return c.where(x, y)

    if isinstance(condition, (list, tuple, np.ndarray)):
        condition = np.asarray(condition)[()]
    if isinstance(condition, (bool, np.bool_)):
        return a if condition else b
    if isinstance(condition, np.ndarray) and condition.dtype == bool:
        return np.where(condition, a, b)
    return object_map(one, condition, a, b)


# derivatives, for dual numbers (``sixd.spatial.dual``) and traces (``sixd.trace.derivative``) ----------

Part = Callable[..., Scalar]  # a function of the value and the arguments


class DerivativeRule(NamedTuple):
    """Partial derivatives sign · above / (divisor · below) of a function; omitted parts are 1.

    ``signs`` (1, -1 or 0) and ``above`` have an entry for each argument. Signs, the common denominator and its
    whole-number factor are kept apart: a dual number then needs one division and stays exact over SymPy
    (ẋ / (2 √x)), and a trace folds the constants (0.5 / √x).
    """

    signs: tuple[int, ...] = (1,)
    above: tuple[Part, ...] | None = None
    below: Part | None = None
    divisor: int = 1

    def partials(self, value: Scalar, *arguments: Scalar) -> list[Scalar]:
        """Return each partial derivative as one scalar."""
        below = None if self.below is None else self.below(value, *arguments)
        partials: list[Scalar] = []
        for k, direction in enumerate(self.signs):
            x = 1 if self.above is None else self.above[k](value, *arguments)
            x = x if direction > 0 else -x if direction else 0
            x = x if self.divisor == 1 else x / self.divisor
            partials.append(x if below is None else x / below)
        return partials


RULES: dict[str, DerivativeRule] = {
    "sin": DerivativeRule(above=(lambda y, x: cos(x),)),
    "cos": DerivativeRule(signs=(-1,), above=(lambda y, x: sin(x),)),
    "tan": DerivativeRule(above=(lambda y, x: 1 + y * y,)),
    "asin": DerivativeRule(below=lambda y, x: sqrt(1 - x * x)),
    "acos": DerivativeRule(signs=(-1,), below=lambda y, x: sqrt(1 - x * x)),
    "atan2": DerivativeRule(
        signs=(1, -1), above=(lambda angle, y, x: x, lambda angle, y, x: y), below=lambda angle, y, x: y * y + x * x
    ),
    "sqrt": DerivativeRule(below=lambda y, x: y, divisor=2),
    "exp": DerivativeRule(above=(lambda y, x: y,)),
    "log": DerivativeRule(below=lambda y, x: x),
    "log1p": DerivativeRule(below=lambda y, x: 1 + x),
    "tanh": DerivativeRule(above=(lambda y, x: 1 - y * y,)),
    "hypot": DerivativeRule(signs=(1, 1), above=(lambda h, x, y: x, lambda h, x, y: y), below=lambda h, x, y: h),
    "absolute": DerivativeRule(above=(lambda y, x: sign(x),)),
    "sign": DerivativeRule(signs=(0,)),
}

# functions that return one of their two arguments: the condition under which it is the first
CHOOSES_FIRST: dict[str, Callable[[Any, Any], Any]] = {
    "minimum": lambda a, b: a <= b,
    "maximum": lambda a, b: a >= b,
}
