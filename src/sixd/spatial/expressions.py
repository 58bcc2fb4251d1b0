"""SymPy expressions evaluated on any scalar: floats, traced scalars, dual numbers, or SymPy again.

One pass over the expression, which evaluates each shared subexpression once by the functions of ``sixd.spatial``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import add, and_, mul, or_
from typing import TYPE_CHECKING, Any

from sixd.errors import ScalarTypeError
from sixd.spatial import scalar
from sixd.spatial.scalar import Array, Scalar, is_sympy, object_array

if TYPE_CHECKING:
    from sympy import Basic

_SINH_SERIES = (1 / 39916800, 1 / 362880, 1 / 5040, 1 / 120, 1 / 6, 1.0)  # at 0.3 the next term is 3e-17


def _sinh(x: Scalar) -> Scalar:
    """sinh x; by its series near 0, where the difference of exponentials loses digits."""
    series = reduce(lambda total, c: total * (x * x) + c, _SINH_SERIES)
    return scalar.where(x * x < 0.09, series * x, (scalar.exp(x) - scalar.exp(-x)) / 2)


# SymPy's functions by name, on the scalars of their arguments
_FUNCTIONS: dict[str, Callable[..., Scalar]] = {
    **{name: getattr(scalar, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan2", "exp", "log", "tanh")},
    "sign": scalar.sign,
    "atan": lambda x: scalar.atan2(x, 1),
    "sinh": _sinh,
    "cosh": lambda x: (scalar.exp(x) + scalar.exp(-x)) / 2,
    "sec": lambda x: 1 / scalar.cos(x),
    "csc": lambda x: 1 / scalar.sin(x),
    "cot": lambda x: scalar.cos(x) / scalar.sin(x),
    "Abs": scalar.absolute,
    "Min": lambda *xs: reduce(scalar.minimum, xs),
    "Max": lambda *xs: reduce(scalar.maximum, xs),
    "Add": lambda *xs: reduce(add, xs),
    "StrictLessThan": lambda a, b: a < b,
    "LessThan": lambda a, b: a <= b,
    "StrictGreaterThan": lambda a, b: a > b,
    "GreaterThan": lambda a, b: a >= b,
    "Equality": lambda a, b: a == b,
    "And": lambda *xs: reduce(and_, xs),
    "Or": lambda *xs: reduce(or_, xs),
}


def evaluate_expressions(expressions: Iterable[Any], values: Mapping[Any, Scalar], where: str = "evaluate") -> Array:
    """The expressions (n,) with scalars substituted for symbols; raises if a symbol has no value.

    Among SymPy scalars this is a simultaneous substitution, which stays exact.
    """
    known: dict[Any, Scalar] = dict(values)
    if any(is_sympy(x) for x in values.values()):
        return object_array([x.xreplace(known) if hasattr(x, "xreplace") else x for x in expressions])
    return object_array([_walk(x, known, where) if is_sympy(x) else x for x in expressions])


def _walk(x: Basic, known: dict[Any, Scalar], where: str) -> Scalar:
    value = known.get(x)
    if value is None:
        known[x] = value = _value(x, known, where)
    return value


def _value(x: Basic, known: dict[Any, Scalar], where: str) -> Scalar:
    kind = type(x).__name__
    if x.is_Integer:
        return int(x)
    if getattr(x, "is_number", False):
        return float(x)
    if x.is_Symbol:
        raise ScalarTypeError(f"{where}: the symbol {x} has no value. Give it one by .substitute({{{x}: 1.0}}).")
    if kind in ("BooleanTrue", "BooleanFalse"):
        return bool(x)
    if kind == "Piecewise":
        return _piecewise(x, known, where)
    if x.is_Mul:
        return _product(x, known, where)
    if x.is_Pow:
        return _power(_walk(x.base, known, where), x.exp, known, where)
    if kind not in _FUNCTIONS:
        raise ScalarTypeError(
            f"{where}: {kind} in {x} cannot be evaluated on numbers. Known are {', '.join(sorted(_FUNCTIONS))}, "
            f"powers and Piecewise."
        )
    return _FUNCTIONS[kind](*(_walk(a, known, where) for a in x.args))


def _product(x: Basic, known: dict[Any, Scalar], where: str) -> Scalar:
    """One quotient; factors with negative exponents form the denominator."""
    above, below, sign = [], [], 1
    for factor in x.args:
        if factor.is_Pow and factor.exp.is_Rational and factor.exp < 0:
            below.append(_power(_walk(factor.base, known, where), -factor.exp, known, where))
        elif factor == -1:
            sign = -sign
        else:
            above.append(_walk(factor, known, where))
    product = reduce(mul, above) if above else 1
    product = product / reduce(mul, below) if below else product
    return -product if sign < 0 else product


def _power(base: Scalar, exponent: Basic, known: dict[Any, Scalar], where: str) -> Scalar:
    from sympy import sympify

    if exponent.is_Float and (2 * float(exponent)).is_integer():  # 2.0 and 0.5 mean 2 and 1/2
        exponent = sympify(int(2 * exponent)) / 2
    if exponent.is_Rational and exponent < 0:
        return 1 / _power(base, -exponent, known, where)
    if exponent.is_Integer:
        return _whole_power(base, int(exponent))
    if exponent.is_Rational and exponent.q == 2:
        root = scalar.sqrt(base)
        return root if exponent.p == 1 else root * _whole_power(base, exponent.p // 2)
    return scalar.exp(scalar.log(base) * _walk(exponent, known, where))


def _whole_power(base: Scalar, n: int) -> Scalar:
    if n == 0:
        return 1
    half = _whole_power(base, n // 2) if n > 1 else 1
    return half * half * base if n % 2 else half * half


def _piecewise(x: Basic, known: dict[Any, Scalar], where: str) -> Scalar:
    result: Scalar = float("nan")  # where no case holds
    for value, condition in reversed(x.args):
        chosen = _walk(value, known, where)
        result = chosen if condition == True else scalar.where(_walk(condition, known, where), chosen, result)  # noqa: E712
    return result
