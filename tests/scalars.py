"""A scalar that hides its value: any algorithm that looks at it, instead of computing with it, fails."""

from __future__ import annotations

import math
import operator

import numpy as np


class Opaque:
    """A float behind arithmetic alone; truth, conversion and comparison raise, as for a traced scalar."""

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
    """An object array of opaque scalars."""
    return np.array([Opaque(float(x)) for x in np.ravel(array)], dtype=object).reshape(np.shape(array))


def reveal(array):
    """The floats behind an array of opaque scalars and numbers."""
    return np.array([Opaque._value(x) for x in np.ravel(array)], dtype=float).reshape(np.shape(array))
