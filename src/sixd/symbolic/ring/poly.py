"""Poly: a sparse polynomial with exact rational coefficients, a scalar for the library's algorithms.

A dict {packed exponents: integer} over one common denominator. The exponents of all generators sit in one Python
int, ``ring.bits`` bits each, so that monomials are multiplied by one addition; relations such as sin² = 1 - cos²
belong to the ring. Independent of SymPy, models and mechanics.
"""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from sixd.errors import ScalarTypeError, SingularError
from sixd.lazy import Symbol

if TYPE_CHECKING:
    from sixd.spatial.scalar import Scalar
    from sixd.symbolic.ring.ring import Ring

Terms = dict[int, int]


class Poly:
    """An element of a ``Ring``: made by the ring's methods, combined by + - * and non-negative powers, immutable."""

    __slots__ = ("den", "ring", "terms")
    _op_priority = 100.0  # SymPy leaves its operators to this class

    def __init__(self, ring: Ring, terms: Terms, den: int = 1) -> None:
        self.ring, self.terms, self.den = ring, terms, den

    # arithmetic; an array on the other side does its own loop ----------------------------------------

    def __add__(self, other: Scalar) -> Poly:
        if other.__class__ is not Poly or other.ring is not self.ring:
            if other.__class__ is int and not other:
                return self
            other = _operand(self, other)
            if other is NotImplemented:
                return NotImplemented
        a, b, den = self.terms, other.terms, self.den
        if not b:
            return self
        if not a:
            return other
        if den != other.den:
            a, b, den = _same_denominator(a, den, b, other.den)
        if len(a) < len(b):
            a, b = b, a
        out = added(a, b)
        return Poly(self.ring, out, den if out else 1)

    __radd__ = __add__

    def __neg__(self) -> Poly:
        return Poly(self.ring, {k: -v for k, v in self.terms.items()}, self.den)

    def __pos__(self) -> Poly:
        return self

    def __sub__(self, other: Scalar) -> Poly:
        other = _operand(self, other)
        return NotImplemented if other is NotImplemented else self + -other

    def __rsub__(self, other: Scalar) -> Poly:
        return -self + other

    def __mul__(self, other: Scalar) -> Poly:
        if other.__class__ is not Poly or other.ring is not self.ring:
            if other.__class__ is int and -1 <= other <= 1:
                return self if other == 1 else -self if other else self.ring.zero
            other = _operand(self, other)
            if other is NotImplemented:
                return NotImplemented
        a, b = self.terms, other.terms
        if not a or not b:
            return self.ring.zero
        if len(a) < len(b):
            a, b = b, a
        if len(b) == 1:
            ((kb, vb),) = b.items()
            if not kb:  # a number
                out = a if vb == 1 else {k: v * vb for k, v in a.items()}
                return Poly(self.ring, out, self.den * other.den)
            out = {k + kb: v * vb for k, v in a.items()}
        else:
            out = {}
            for kb, vb in b.items():
                for ka, va in a.items():
                    k = ka + kb
                    out[k] = out.get(k, 0) + va * vb
        return self.ring.reduced(out, self.den * other.den)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Poly:
        other = _operand(self, other)
        if other is NotImplemented:
            return NotImplemented
        value = other.number
        if value is None:
            raise ScalarTypeError(
                f"Poly: the divisor is {_brief(other)}, expected a number: a polynomial ring has no quotients. "
                f"Multiply by ring.convert(1/expression), which makes it a generator."
            )
        if not value:
            raise SingularError("Poly: the divisor is 0, expected a nonzero number.")
        n, d = value.numerator, value.denominator
        if n < 0:
            n, d = -n, -d
        return Poly(self.ring, self.terms if d == 1 else {k: v * d for k, v in self.terms.items()}, self.den * n)

    def __rtruediv__(self, other: Scalar) -> Poly:
        other = _operand(self, other)
        return NotImplemented if other is NotImplemented else other / self

    def __pow__(self, exponent: object) -> Poly:
        if not isinstance(exponent, numbers.Integral) or exponent < 0:
            raise ScalarTypeError(f"Poly: the exponent is {exponent!r}, expected a whole number, not negative.")
        n = int(exponent)
        result, square = self.ring.one, self
        while n:
            if n & 1:
                result = result * square
            n >>= 1
            if n:
                square = square * square
        return result

    # comparison -------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        other = _operand(self, other, strict=False)
        return NotImplemented if other is NotImplemented else (self - other).is_zero

    def __hash__(self) -> int:
        own = self.normalized().lowest_terms()
        number = own.number
        return hash(number) if number is not None else hash((frozenset(own.terms.items()), own.den))

    def __bool__(self) -> bool:
        return not self.is_zero

    @property
    def is_zero(self) -> bool:
        """Whether it is zero; exact."""
        return not self.normalized().terms

    @property
    def number(self) -> Fraction | None:
        """Its value if it is a number, else None."""
        terms = self.normalized().terms
        if not terms:
            return Fraction(0)
        return Fraction(terms[0], self.normalized().den) if len(terms) == 1 and 0 in terms else None

    def normalized(self) -> Poly:
        """The same element by the rules of the ring as it is now: retired generators are replaced."""
        return self.ring.reduced(dict(self.terms), self.den) if self.ring.retired else self

    def lowest_terms(self) -> Poly:
        """The same element without a common factor of coefficients and denominator."""
        common = math.gcd(self.den, *self.terms.values())
        if common == 1:
            return self
        return Poly(self.ring, {k: v // common for k, v in self.terms.items()}, self.den // common)

    # functions, by the names of sixd.spatial ---------------------------------------------------------

    def sin(self) -> Poly:
        """Sine; a sum of angles is expanded in the sines and cosines of each."""
        return self.ring.sin_cos(self)[0]

    def cos(self) -> Poly:
        """Cosine, likewise."""
        return self.ring.sin_cos(self)[1]

    def sqrt(self) -> Poly:
        """Square root of a number that is not negative: exact, a surd, or (of long decimals) rounded to a double."""
        value = self.number
        if value is None or value < 0:
            raise ScalarTypeError(
                f"sqrt: the argument is {_brief(self)}, expected a number that is not negative. Make the root of "
                f"another polynomial a generator by ring.convert(sympy.sqrt(…))."
            )
        return self.ring.root(value)

    def _none(self, *_: object) -> NoReturn:
        raise ScalarTypeError(
            "Poly: a function other than sin, cos and sqrt was called on a polynomial, expected ring operations. Make "
            "its value a generator by ring.convert(expression)."
        )

    tan = asin = acos = atan2 = ratan2 = exp = log = sign = absolute = minimum = maximum = where = _none
    arcsin = arccos = arctan2 = arctan = log1p = tanh = hypot = _none
    __lt__ = __le__ = __gt__ = __ge__ = __abs__ = _none

    def __float__(self) -> float:
        value = self.number
        if value is None:
            raise ScalarTypeError(f"Poly: float() was called on {_brief(self)}, expected a number.")
        return float(value)

    # derivative and text -----------------------------------------------------------------------------------------

    def diff(self, symbol: Symbol) -> Poly:
        """Derivative with respect to a SymPy symbol, through every generator that depends on it."""
        return self.ring.derivative(self, symbol)

    def to_sympy(self, *, exact: bool = False) -> Any:
        """The expanded SymPy expression; ``exact`` keeps every coefficient a rational number.

        Otherwise, in a ring that has seen floats, coefficients are written as floats (the nearest double), except
        whole numbers and fractions up to 12 with a denominator up to 12 and without the 5 of decimals: 1/2, 5/12.
        """
        return self.ring.to_sympy(self.normalized(), exact=exact)

    def __repr__(self) -> str:
        return str(self.to_sympy())


def exponents(key: int, bits: int) -> list[tuple[int, int]]:
    """(generator, exponent) of a packed monomial, exponents not zero."""
    out, ones = [], (1 << bits) - 1
    while key:
        i = ((key & -key).bit_length() - 1) // bits
        e = (key >> (bits * i)) & ones
        out.append((i, e))
        key -= e << (bits * i)
    return out


def added(a: Terms, b: Terms) -> Terms:
    """The terms of a sum."""
    out = a.copy()
    for k, v in b.items():
        old = out.get(k)
        if old is None:
            out[k] = v
        elif old + v:
            out[k] = old + v
        else:
            del out[k]
    return out


def _operand(one: Poly, other: object, *, strict: bool = True) -> Any:
    """``other`` as an element of the same ring; NotImplemented for an array and, unless strict, for other types."""
    if other.__class__ is Poly:
        if other.ring is one.ring:
            return other
        if strict:
            raise ScalarTypeError(
                "Poly: two rings were mixed, expected elements of one ring. Convert both with one Ring."
            )
        return NotImplemented
    if isinstance(other, np.ndarray):
        return NotImplemented if other.shape else one.ring.convert(other[()])
    known = (isinstance(other, numbers.Real) and not isinstance(other, bool)) or hasattr(other, "free_symbols")
    return one.ring.convert(other) if strict or known else NotImplemented


def _brief(poly: Poly) -> str:
    text = repr(poly)
    return text if len(text) <= 60 else text[:60] + "…"


def _same_denominator(a: Terms, da: int, b: Terms, db: int) -> tuple[Terms, Terms, int]:
    """Both over one denominator. Decimals keep powers of ten: mostly one divides the other, and no gcd is needed."""
    if not da % db:
        f = da // db
        return a, {k: v * f for k, v in b.items()}, da
    if not db % da:
        f = db // da
        return {k: v * f for k, v in a.items()}, b, db
    g = math.gcd(da, db)
    fa, fb = db // g, da // g
    return {k: v * fa for k, v in a.items()}, {k: v * fb for k, v in b.items()}, da * fa
