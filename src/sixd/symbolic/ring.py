"""Ring: trigonometric polynomials with exact rational coefficients, in a normal form.

Generators are added as they are met: symbols; the cosine and sine of an angle; square roots; inverses; and opaque
SymPy expressions that are none of these. Rules such as sin² -> 1 - cos² rewrite a power of a generator in generators
that come before it, so that equal functions become equal polynomials. Knows no robot.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sixd.errors import ScalarTypeError
from sixd.symbolic.poly import Poly, Terms

__all__ = ["Poly", "Ring", "canonical"]

_LARGEST_MULTIPLE = 30  # of a base angle that is written out: cos(30 x) has 16 terms, its square fits in 7 bits
_LONGEST_RADICAND = 10**12  # beyond, in a ring with floats, a root is a rounded number and no surd
_SMALL_PRIMES = [p for p in range(2, 100) if all(p % d for d in range(2, p))]


@dataclass(frozen=True, eq=False)
class Generator:
    """What a variable of the ring stands for; ``kind`` says which fields tell it.

    symbol, opaque: ``expr``. cos, sin: the angle ``unit`` · ``base``, and the index of the ``partner``.
    root: the square root of ``base``. inverse: 1/``base``.
    """

    kind: str
    expr: Any = None
    base: Poly | None = None
    unit: Fraction = Fraction(1)
    partner: int = -1


class Ring:
    """The polynomials in a growing list of generators; ``bits`` of each exponent, one of them a guard."""

    def __init__(self, *, bits: int = 8) -> None:
        self.bits = bits
        self.generators: list[Generator] = []
        self.inexact = False  # whether a float that is no whole number was converted
        self.retired = False  # whether a rule came after elements that it applies to
        self.memo: dict[Any, Any] = {}  # SymPy expression -> element
        self.objects: dict[Any, Any] = {}  # SymPy objects of generators and their powers
        self.zero = Poly(self, {})
        self.one = Poly(self, {0: 1})
        self._mask = 0  # bits of exponents that ask for a rule, and guard bits
        self._guard = 0
        self._rules: dict[int, tuple[int, tuple[tuple[int, int], ...]]] = {}
        self._inverses: list[tuple[int, int, int, tuple[tuple[int, int], ...]]] = []
        self._index: dict[Any, int] = {}
        self._angles: dict[tuple[int, Fraction | None], int] = {}
        self._pi = -1  # packed monomial of pi, once it is there
        self._multiples: dict[tuple[int, int], tuple[Poly, Poly]] = {}
        self._partials: dict[tuple[int, Any], Poly] = {}

    # elements -----------------------------------------------------------------------------------------

    def constant(self, value: numbers.Rational | int) -> Poly:
        """A rational number as an element."""
        return Poly(self, {0: int(value.numerator)}, int(value.denominator)) if value else self.zero

    def symbol(self, symbol: Any) -> Poly:
        """A SymPy symbol as an element."""
        i = self._index.get(symbol)
        return self.element(self._add(symbol, Generator("symbol", expr=symbol)) if i is None else i)

    def quaternion(self, w: Any, x: Any, y: Any, z: Any) -> tuple[Poly, Poly, Poly, Poly]:
        """Four SymPy symbols as elements, with w² = 1 - x² - y² - z²."""
        X, Y, Z = (self.symbol(s) for s in (x, y, z))
        self.retired |= w in self._index
        W = self.symbol(w)
        self._set_rule(self._index[w], 2, self.one - X * X - Y * Y - Z * Z)
        return W, X, Y, Z

    def convert(self, x: Any) -> Poly:
        """A number, a SymPy expression or an element as an element.

        A float is taken as its shortest decimal, so that 0.1 + 0.2 is 0.3. What is no polynomial in SymPy's symbols,
        sines and cosines becomes a generator, its arguments made canonical.
        """
        if isinstance(x, Poly):
            if x.ring is not self:
                raise ScalarTypeError("convert: got an element of another ring, expected one of this ring.")
            return x
        if hasattr(x, "free_symbols"):
            from sixd.symbolic.convert import convert

            return convert(self, x)
        if isinstance(x, (float, np.floating)):
            return self._decimal(repr(float(x)))
        if isinstance(x, numbers.Rational) and not isinstance(x, bool):
            return self.constant(x)
        raise ScalarTypeError(f"convert: got {x!r}, expected a number, a SymPy expression or an element of the ring.")

    def element(self, index: int) -> Poly:
        """A generator as an element."""
        return Poly(self, {1 << (self.bits * index): 1})

    def exponents(self, key: int) -> list[tuple[int, int]]:
        """(generator, exponent) of a packed monomial, exponents not zero."""
        out, bits, ones = [], self.bits, (1 << self.bits) - 1
        while key:
            i = ((key & -key).bit_length() - 1) // bits
            e = (key >> (bits * i)) & ones
            out.append((i, e))
            key -= e << (bits * i)
        return out

    def index_of(self, symbol: Any) -> int | None:
        """The number of a symbol's generator, if there is one."""
        return self._index.get(symbol)

    def cosine_of(self, symbol: Any) -> int | None:
        """The number of the cosine of a symbol's base angle, if there is one; the sine's is the next."""
        i = self._index.get(symbol)
        return None if i is None else self._angles.get((1 << (self.bits * i), None))

    def _decimal(self, text: str) -> Poly:
        number = Decimal(text)
        if not number.is_finite():
            raise ScalarTypeError(f"convert: got {text}, expected a finite number.")
        sign, digits, exponent = number.as_tuple()
        value = int("".join(map(str, digits))) * (-1 if sign else 1)
        assert isinstance(exponent, int)
        if exponent >= 0 or not value % 10**-exponent:
            return self.constant(Fraction(number))
        self.inexact = True
        return Poly(self, {0: value}, 10**-exponent)  # not in lowest terms: powers of ten add without a gcd

    # rules ----------------------------------------------------------------------------------------------

    def _add(self, key: Any, generator: Generator) -> int:
        index = len(self.generators)
        self.generators.append(generator)
        self._index[key] = index
        guard = 1 << (self.bits * (index + 1) - 1)
        self._guard |= guard
        self._mask |= guard
        return index

    def _set_rule(self, index: int, power: int, value: Poly) -> None:
        """generator ** power -> value, whose denominator must be 1."""
        shift = self.bits * index
        self._rules[index] = (power << shift, tuple(value.terms.items()))
        self._mask |= ((1 << self.bits) - power) << shift  # every exponent from ``power``, 1 or 2, on

    def reduced(self, terms: Terms, den: int) -> Poly:
        """The element of these terms, by the rules; the dict is used up."""
        mask = self._mask
        high = [k for k in terms if k & mask]
        while high:
            touched = set()
            for k in high:
                v = terms.pop(k, 0)
                if not v:
                    continue
                i = (((k & mask) & -(k & mask)).bit_length() - 1) // self.bits
                if i not in self._rules:
                    raise OverflowError(
                        f"Ring: an exponent is {self.exponents(k)[-1]}, expected less than {1 << (self.bits - 1)}. "
                        f"Make the ring with more bits: Ring(bits={2 * self.bits})."
                    )
                step, replacement = self._rules[i]
                k -= step
                for kr, vr in replacement:
                    key = k + kr
                    terms[key] = terms.get(key, 0) + v * vr
                    if key & mask:
                        touched.add(key)
            high = list(touched)
        if 0 in terms.values():
            terms = {k: v for k, v in terms.items() if v}
        if self._inverses:
            for inverse in self._inverses:
                changed = self._cancelled(terms, *inverse)
                if changed is not None:
                    return self.reduced(changed, den * inverse[2])
        return Poly(self, terms, den if terms else 1)

    def _cancelled(
        self, terms: Terms, unit: int, lead: int, factor: int, rest: tuple[tuple[int, int], ...]
    ) -> Terms | None:
        """``factor`` times the terms, by base · (1/base) = 1 for base = factor · lead + rest; None if nothing cancels."""
        guard, both = self._guard, unit + lead
        hit = [k for k in terms if ((k | guard) - both) & guard == guard]
        if not hit:
            return None
        out = {k: v * factor for k, v in terms.items()}
        for k in hit:
            del out[k]
        for k in hit:
            v = terms[k]
            out[k - both] = out.get(k - both, 0) + v
            for kr, vr in rest:
                key = k - lead + kr
                out[key] = out.get(key, 0) - v * vr
        return out

    # generators that are no symbols -----------------------------------------------------------------------

    def opaque(self, expr: Any) -> Poly:
        """A SymPy expression as a generator of its own."""
        i = self._index.get(expr)
        if i is None:
            i = self._add(expr, Generator("opaque", expr=expr))
            if str(expr) == "pi":
                self._pi = 1 << (self.bits * i)
        return self.element(i)

    def root(self, value: Fraction) -> Poly:
        """Square root of a rational number that is not negative: primes and what is left of them are generators."""
        if value == 0:
            return self.zero
        n, d = value.numerator, value.denominator
        whole = math.isqrt(n * d)
        if whole * whole == n * d:
            return self.constant(Fraction(whole, d))
        if self.inexact and n * d > _LONGEST_RADICAND:
            return self.convert(math.sqrt(value))
        result, left = self.constant(Fraction(1, d)), n * d
        for p in _SMALL_PRIMES:
            while not left % (p * p):
                left //= p * p
                result = result * p
            if not left % p:
                left //= p
                result = result * self.square_root(self.constant(p))
        whole = math.isqrt(left)
        return result * whole if whole * whole == left else result * self.square_root(self.constant(left))

    def square_root(self, base: Poly) -> Poly:
        """The generator whose square is ``base``, an element with whole coefficients."""
        key = ("root", frozenset(base.terms.items()))
        i = self._index.get(key)
        if i is None:
            i = self._add(key, Generator("root", base=base))
            self._set_rule(i, 2, base)
        return self.element(i)

    def inverse(self, value: Poly) -> Poly:
        """1/value as an element: content and common monomial apart, what is left a generator."""
        value = value.settled().lowest_terms()
        number = value.number
        if number is not None:
            return self.constant(1 / number)
        lead = max(value.terms)
        content = math.gcd(*value.terms.values()) * (1 if value.terms[lead] > 0 else -1)
        common = {i: e for i, e in self.exponents(lead)}
        for k in value.terms:
            own = dict(self.exponents(k))
            common = {i: min(e, own[i]) for i, e in common.items() if i in own}
        monomial = sum(e << (self.bits * i) for i, e in common.items())
        result = self.constant(Fraction(value.den, content))
        for i, e in common.items():
            result = result * self._inverse_generator(self.element(i)) ** e
        rest = Poly(self, {k - monomial: v // content for k, v in value.terms.items()})
        return result if rest.number is not None else result * self._inverse_generator(rest)

    def _inverse_generator(self, base: Poly) -> Poly:
        key = ("inverse", frozenset(base.terms.items()))
        i = self._index.get(key)
        if i is None:
            i = self._add(key, Generator("inverse", base=base))
            lead = max(base.terms)
            rest = tuple((k, v) for k, v in base.terms.items() if k != lead)
            self._inverses.append((1 << (self.bits * i), lead, base.terms[lead], rest))
        return self.element(i)

    # angles -----------------------------------------------------------------------------------------------

    def sin_cos(self, angle: Poly) -> tuple[Poly, Poly]:
        """(sin, cos) of an element: each of its terms is an angle of its own, or a multiple of one."""
        angle = angle.settled()
        s, c = self.zero, self.one
        for key, v in sorted(angle.terms.items()):
            s1, c1 = self._term_sin_cos(key, Fraction(v, angle.den))
            s, c = s * c1 + c * s1, c * c1 - s * s1
        return s, c

    def _term_sin_cos(self, key: int, factor: Fraction) -> tuple[Poly, Poly]:
        if key == self._pi:
            factor %= 2
            if not (known := self._known_sin_cos(factor)) is None:
                return known
        base = self._angles.get((key, None))
        unit = self.generators[base].unit if base is not None else Fraction(1)
        finest = Fraction(1, math.lcm(unit.denominator, factor.denominator))
        if abs(factor / finest) > _LARGEST_MULTIPLE or unit / finest > _LARGEST_MULTIPLE:
            i = self._angle(key, abs(factor), own=True)  # an angle beside the others: not written out
            return self._multiple(i, 1 if factor > 0 else -1)
        if base is None:
            base = self._angle(key, finest)
        elif finest != unit:
            base = self._refine(base, key, finest)
        return self._multiple(base, int(factor / finest))

    def _known_sin_cos(self, factor: Fraction) -> tuple[Poly, Poly] | None:
        """(sin, cos) of factor · pi where SymPy knows them as surds."""
        if factor.denominator <= 2:
            s = (0, 1, 0, -1)
            quarter = int(2 * factor)
            return self.constant(s[quarter % 4]), self.constant(s[(quarter + 1) % 4])
        import sympy

        angle = sympy.pi * sympy.Rational(factor.numerator, factor.denominator)
        s, c = sympy.sin(angle), sympy.cos(angle)
        return None if (s + c).has(sympy.sin, sympy.cos) else (self.convert(s), self.convert(c))

    def _angle(self, key: int, unit: Fraction, *, own: bool = False) -> int:
        """Index of the cosine of unit · monomial; its sine comes after it."""
        name = (key, unit if own else None)
        if name not in self._angles:
            base, i = Poly(self, {key: 1}), len(self.generators)
            self._add(("cos", key, unit), Generator("cos", base=base, unit=unit, partner=i + 1))
            self._add(("sin", key, unit), Generator("sin", base=base, unit=unit, partner=i))
            c = self.element(i)
            self._set_rule(i + 1, 2, self.one - c * c)
            self._angles[name] = i
        return self._angles[name]

    def _refine(self, old: int, key: int, unit: Fraction) -> int:
        """A finer base angle in the place of one in use, whose sine and cosine are written out in the finer ones."""
        ratio = int(self.generators[old].unit / unit)
        del self._angles[key, None]
        new = self._angle(key, unit)
        s, c = self._multiple(new, ratio)
        self._set_rule(old, 1, c)
        self._set_rule(old + 1, 1, s)
        self._multiples = {k: v for k, v in self._multiples.items() if k[0] != old}
        self.retired = True
        self.memo.clear()
        return new

    def _multiple(self, index: int, n: int) -> tuple[Poly, Poly]:
        """(sin, cos) of n times a base angle."""
        if n < 0:
            s, c = self._multiple(index, -n)
            return -s, c
        if (index, n) not in self._multiples:
            if n == 0:
                return self.zero, self.one
            s1, c1 = self.element(index + 1), self.element(index)
            s, c = self._multiple(index, n - 1)
            self._multiples[index, n] = (s * c1 + c * s1, c * c1 - s * s1)
        return self._multiples[index, n]

    # derivatives --------------------------------------------------------------------------------------------

    def derivative(self, poly: Poly, symbol: Any) -> Poly:
        """∂ poly/∂ symbol = Σ ∂ poly/∂ generator · ∂ generator/∂ symbol."""
        support, field, total = 0, (1 << self.bits) - 1, self.zero
        for k in poly.terms:
            support |= k
        for i, _ in self.exponents(support):
            inner = self._partial(i, symbol)
            if inner.terms:
                shift = self.bits * i
                unit = 1 << shift
                outer = {k - unit: v * e for k, v in poly.terms.items() if (e := (k >> shift) & field)}
                total = total + Poly(self, outer, poly.den) * inner
        return total

    def _partial(self, i: int, symbol: Any) -> Poly:
        """∂ generator/∂ symbol."""
        found = self._partials.get((i, symbol))
        if found is None:
            found = self._partials[i, symbol] = self._partial_of(i, self.generators[i], symbol)
        return found

    def _partial_of(self, i: int, g: Generator, symbol: Any) -> Poly:
        if g.kind in ("symbol", "opaque"):
            if g.expr == symbol:
                return self.one
            return self.zero if g.kind == "symbol" else self.convert(g.expr.diff(symbol))
        assert g.base is not None
        inner = self.derivative(g.base, symbol)
        if not inner.terms:
            return self.zero
        if g.kind == "inverse":
            return -(self.element(i) ** 2) * inner
        if g.kind == "root":
            return inner * self.element(i) * self.inverse(g.base * 2)
        outer = self.element(g.partner) * self.constant(g.unit)
        return inner * (outer if g.kind == "sin" else -outer)


def canonical(*expressions: Any) -> Any:
    """SymPy expressions in the ring's normal form; one expression, or a tuple of several."""
    from sixd.symbolic.convert import canonical_form

    results = tuple(canonical_form(e) for e in expressions)
    return results[0] if len(results) == 1 else results
