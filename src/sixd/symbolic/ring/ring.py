"""Ring: trigonometric polynomials with exact rational coefficients, in a normal form.

Generators are added on first use: symbols; the cosine and sine of an angle; square roots; inverses; and opaque SymPy
expressions of any other kind. Rules such as sin² -> 1 - cos² rewrite a power of a generator in generators that come
before it, so that equal functions become equal polynomials. Independent of models and mechanics.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from sixd.errors import ScalarTypeError, SixdError
from sixd.lazy import Expr, Symbol
from sixd.spatial.scalar import Array, object_map
from sixd.symbolic.ring import angles, generators
from sixd.symbolic.ring.build import build
from sixd.symbolic.ring.convert import convert
from sixd.symbolic.ring.derivative import derivative
from sixd.symbolic.ring.generators import Generator
from sixd.symbolic.ring.poly import Poly, Terms, exponents

Items = tuple[tuple[int, int], ...]

# a float of so many digits counts as a fraction up to this denominator that rounds to it: 0.3333333333333333 is 1/3
_LONG_DECIMAL = 15
_LARGEST_DENOMINATOR = 1000


class ExponentError(SixdError, OverflowError):
    """An exponent does not fit in the bits that the ring has for it."""


class Ring:
    """The polynomials in a growing list of generators; an exponent has ``bits`` - 1 bits, and a guard bit.

    ``kind`` and ``argument_form`` are for ``canonical``: a "tame" ring refuses fractions and large multiples of angles,
    a ring of "waves" has exponentials instead of sines and cosines; ``argument_form`` normalizes the arguments of
    opaque functions, by default the ring itself.
    """

    def __init__(self, *, bits: int = 8, kind: str = "", argument_form: Callable[[Any], Any] | None = None) -> None:
        self.bits, self.kind, self.argument_form = bits, kind, argument_form
        self.generators: list[Generator] = []
        self.index: dict[Any, int] = {}  # symbol, expression or name of a generator -> its number
        self.inexact = False  # whether a float was converted that is not a simple fraction
        self.retired = False  # whether a rule was added after elements that it applies to
        self.zero = Poly(self, {})
        self.one = Poly(self, {0: 1})
        self.pi = -1  # packed monomial of pi, once it is a generator
        # tables of other modules, kept here because they live as long as the ring
        self.angles: dict[tuple[int, Fraction | None], int] = {}  # monomial -> number of its base angle's cosine
        self.wide: set[int] = set()  # monomials whose multiples are angles of their own
        self.multiples: dict[tuple[int, int], tuple[Poly, Poly]] = {}  # base angle, factor -> sin, cos
        self.partials: dict[tuple[int, Any], Poly] = {}  # generator, symbol -> derivative
        self.memo: dict[Any, Poly] = {}  # SymPy expression -> element
        self.objects: dict[Any, Any] = {}  # builders and printers
        self.inverses: list[tuple[int, int, int, Items]] = []  # packed 1/base; lead, factor, rest of the base
        self.bound: dict[int, int] = {}  # generator with a rule -> bits of all exponents in the rule
        self._rules: dict[int, tuple[int, Items]] = {}  # generator -> packed power, its replacement
        self._mask = 0  # bits of exponents that need a rule, and guard bits
        self._guard = 0
        self._multiplied = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "objects": {}}

    # elements -----------------------------------------------------------------------------------------

    def constant(self, value: numbers.Rational | int) -> Poly:
        """A rational number as an element."""
        return Poly(self, {0: int(value.numerator)}, int(value.denominator)) if value else self.zero

    def symbol(self, symbol: Symbol) -> Poly:
        """A SymPy symbol as an element."""
        i = self.index.get(symbol)
        return self.element(self.add(symbol, Generator("symbol", expr=symbol)) if i is None else i)

    def quaternion(self, w: Symbol, x: Symbol, y: Symbol, z: Symbol) -> tuple[Poly, Poly, Poly, Poly]:
        """Four SymPy symbols as elements, with w² = 1 - x² - y² - z²."""
        vector = [self.symbol(s) for s in (x, y, z)]
        W = self.symbol(w)
        self.retired |= self._multiplied
        self.set_rule(self.index[w], 2, {0: 1} | {2 * k: -1 for p in vector for k in p.terms})
        return W, vector[0], vector[1], vector[2]

    def convert(self, x: Poly | Expr | float) -> Poly:
        """A number, a SymPy expression or an element as an element.

        A float counts as its shortest decimal, so that 0.1 + 0.2 is 0.3, or as the simple fraction that rounds to it.
        An expression that is not a polynomial in symbols, sines and cosines becomes a generator.
        """
        if isinstance(x, Poly):
            if x.ring is not self:
                raise ScalarTypeError("convert: got an element of another ring, expected one of this ring.")
            return x
        if hasattr(x, "free_symbols"):
            return convert(self, x)
        if isinstance(x, (float, np.floating)):
            return self.decimal(repr(float(x)))
        if isinstance(x, numbers.Rational) and not isinstance(x, bool):
            return self.constant(x)
        raise ScalarTypeError(f"convert: got {x!r}, expected a number, a SymPy expression or an element of the ring.")

    def array(self, values: object) -> Array:
        """An array of any shape with elements of the ring."""
        array = np.asarray(values, dtype=object)
        return object_map(self.convert, array) if array.size else array

    def decimal(self, text: str) -> Poly:
        """A decimal number as an element."""
        number = Decimal(text)
        if not number.is_finite():
            raise ScalarTypeError(f"convert: got {text}, expected a finite number.")
        value = Fraction(number)
        if value.denominator == 1:
            return self.constant(value)
        if len(number.as_tuple().digits) >= _LONG_DECIMAL:
            simple = value.limit_denominator(_LARGEST_DENOMINATOR)
            if float(simple) == float(value):
                return self.constant(simple)
        self.inexact = True
        tens = 10 ** -int(number.as_tuple().exponent)
        return Poly(self, {0: int(value * tens)}, tens)  # not in lowest terms: powers of ten add without a gcd

    def element(self, index: int) -> Poly:
        """A generator as an element."""
        return Poly(self, {1 << (self.bits * index): 1})

    def exponents(self, key: int) -> list[tuple[int, int]]:
        """(generator, exponent) of a packed monomial, exponents not zero."""
        return exponents(key, self.bits)

    def cosine_of(self, symbol: Symbol) -> int | None:
        """The number of the cosine of a symbol's base angle, if there is one; the sine's is the next."""
        i = self.index.get(symbol)
        return None if i is None else self.angles.get((1 << (self.bits * i), None))

    # functions of elements, of other modules ------------------------------------------------------------------------

    sin_cos = angles.sin_cos
    root = generators.root
    opaque = generators.opaque
    derivative = staticmethod(derivative)
    to_sympy = staticmethod(build)

    # rules ----------------------------------------------------------------------------------------------

    def add(self, key: object, generator: Generator) -> int:
        """Add a generator that is looked up by ``key``; return its number."""
        number = len(self.generators)
        self.generators.append(generator)
        self.index[key] = number
        guard = 1 << (self.bits * (number + 1) - 1)
        self._guard |= guard
        self._mask |= guard
        return number

    def set_rule(self, number: int, power: int, value: Mapping[int, int]) -> None:
        """Let generator ** power, 1 or 2, become a polynomial in generators before it (for a retired one, after it)."""
        shift = self.bits * number
        self._rules[number] = (power << shift, tuple(value.items()))
        self._mask |= ((1 << self.bits) - power) << shift  # every exponent from ``power`` on
        ones = (1 << self.bits) - 1
        self.bound[number] = sum(ones << (self.bits * i) for i, _ in self.exponents(reduce(or_, value, 1 << shift)))

    def reduced(self, terms: Terms, den: int) -> Poly:
        """The element of these terms after all rules; changes the dict."""
        mask = self._mask
        self._multiplied = True
        high = [k for k in terms if k & mask]
        while high:
            touched = set()
            for k in high:
                v = terms.pop(k, 0)
                if v:
                    touched.update(self._rewrite(terms, k, v, mask))
            high = list(touched)
        if self.kind == "waves":
            terms = angles.cancel_waves(self, terms)
        if 0 in terms.values():
            terms = {k: v for k, v in terms.items() if v}
        for inverse in self.inverses:
            cancelled = self._cancelled(terms, *inverse)
            if cancelled is not None:
                return self.reduced(cancelled, den * inverse[2])
        return Poly(self, terms, den if terms else 1)

    def _rewrite(self, terms: Terms, key: int, v: int, mask: int) -> list[int]:
        """Add v · monomial by the rule of its first generator that has one; return the keys that need another rule."""
        high = key & mask
        number = ((high & -high).bit_length() - 1) // self.bits
        if number not in self._rules:
            raise ExponentError(
                f"Ring: an exponent is {dict(self.exponents(key))[number]}, expected less than {1 << (self.bits - 1)}. "
                f"Make the ring with more bits: Ring(bits={2 * self.bits})."
            )
        power, value = self._rules[number]
        again = []
        for k, x in value:
            new = key - power + k
            terms[new] = terms.get(new, 0) + v * x
            if new & mask:
                again.append(new)
        return again

    def _cancelled(self, terms: Terms, unit: int, lead: int, factor: int, rest: Items) -> Terms | None:
        """``factor`` times the terms, by base · (1/base) = 1 with base = factor · lead + rest; None if none cancels."""
        guard, both = self._guard, unit + lead
        hit = [k for k in terms if ((k | guard) - both) & guard == guard]
        if not hit:
            return None
        out = {k: v * factor for k, v in terms.items()}
        for k in hit:
            del out[k]
        for k in hit:
            out[k - both] = out.get(k - both, 0) + terms[k]
            for kr, v in rest:
                out[k - lead + kr] = out.get(k - lead + kr, 0) - terms[k] * v
        return out
