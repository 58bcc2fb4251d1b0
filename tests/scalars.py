"""Scalars unknown to NumPy: they compute, but an algorithm that branches on one or converts it fails."""

from __future__ import annotations

import math
import operator

import numpy as np


class Opaque:
    """A float that has arithmetic only; truth, conversion and comparison raise, as for a traced scalar."""

    def __init__(self, value):
        self._hidden = value

    @staticmethod
    def _value(x):
        return x._hidden if isinstance(x, Opaque) else x

    def _refuse(self, *_):
        raise TypeError("an algorithm looked at a traced value")

    __bool__ = __float__ = __int__ = __index__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse
    __hash__ = None

    def _closed(operation):
        def method(self, other):
            if isinstance(other, np.ndarray):
                raise TypeError("an algorithm wrote scalar * array; write array * scalar")
            return Opaque(operation(self._hidden, self._value(other)))

        return method

    __add__ = __radd__ = _closed(operator.add)
    __mul__ = __rmul__ = _closed(operator.mul)
    __sub__, __rsub__ = _closed(operator.sub), _closed(lambda a, b: b - a)
    __truediv__, __rtruediv__ = _closed(operator.truediv), _closed(lambda a, b: b / a)

    def __neg__(self):
        return Opaque(-self._hidden)

    def sin(self):
        return Opaque(math.sin(self._hidden))

    def cos(self):
        return Opaque(math.cos(self._hidden))

    def sqrt(self):
        return Opaque(math.sqrt(self._hidden))

    def sign(self):
        return Opaque(float(np.sign(self._hidden)))

    def atan2(self, x):
        return Opaque(math.atan2(self._hidden, self._value(x)))


def hide(array):
    """Return an object array of opaque scalars."""
    return np.array([Opaque(float(x)) for x in np.ravel(array)], dtype=object).reshape(np.shape(array))


def reveal(array):
    """Return the floats behind an array of opaque scalars and numbers."""
    return np.array([Opaque._value(x) for x in np.ravel(array)], dtype=float).reshape(np.shape(array))


# a foreign scalar with the functions of sixd.spatial ------------------------------------------------

UNARY = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos, "sqrt": math.sqrt,
    "exp": math.exp, "log": math.log, "log1p": math.log1p, "tanh": math.tanh, "sign": lambda x: (x > 0) - (x < 0), "absolute": abs,
}  # fmt: skip
BINARY = {"atan2": math.atan2, "minimum": min, "maximum": max, "hypot": math.hypot}


class Condition:
    """A comparison without a truth value: it can only select."""

    def __init__(self, holds):
        self.holds = holds

    def where(self, a, b):
        return a if self.holds else b

    def __bool__(self):
        raise AssertionError("asked for truth")


class Foreign:
    """A scalar unknown to NumPy, like a tracer's: arithmetic and methods, but no truth value and no float."""

    def __init__(self, value):
        self.value = value

    def __bool__(self):
        raise AssertionError("asked for truth")

    __float__ = __int__ = __index__ = __bool__
    __hash__ = None

    def __neg__(self):
        return type(self)(-self.value)


class Algebraic(Foreign):
    """A foreign scalar that cannot even be compared."""


def value(x):
    return x.value if isinstance(x, Foreign) else x


def values(array):
    return np.vectorize(value, otypes=[float])(array)


def _operator(name, wrap):
    def method(self, *others):
        if any(isinstance(x, np.ndarray) for x in others):
            return NotImplemented
        return wrap(self, getattr(float, name)(float(self.value), *(float(value(x)) for x in others)))

    return method


def _refuse(self, other):
    raise AssertionError("asked for a comparison")


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv"):
    setattr(Foreign, f"__{_name}__", _operator(f"__{_name}__", lambda self, x: type(self)(x)))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Foreign, f"__{_name}__", _operator(f"__{_name}__", lambda self, x: Condition(x)))
    setattr(Algebraic, f"__{_name}__", _refuse)
for _name, _function in {**UNARY, **BINARY}.items():
    setattr(Foreign, _name, lambda self, *xs, f=_function: type(self)(f(self.value, *map(value, xs))))
for _name, _function in BINARY.items():
    setattr(Foreign, f"r{_name}", lambda self, x, f=_function: type(self)(f(value(x), self.value)))
