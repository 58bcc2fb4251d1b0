"""From ring elements to SymPy expressions: the objects that SymPy would build, without its slow constructors.

SymPy keeps the arguments of sums and products sorted by ``Basic.compare``; here every object is paired with a tuple
that sorts the same way, so that an expression of thousands of terms takes milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sixd.lazy import Basic, Expr, sympy
from sixd.symbolic.ring.poly import Poly

if TYPE_CHECKING:
    from sixd.symbolic.ring.ring import Ring

Node = tuple[Any, Any, bool]  # sort key, SymPy object, whether SymPy keeps it unchanged in a sum or product
_LARGEST_SIMPLE = 12  # largest denominator and value of a fraction that is written as such among floats
_SIMPLE = 5544  # least common multiple of those denominators without 5 and 10, which are decimals


def build(poly: Poly, *, exact: bool = False) -> Any:
    """The expanded expression."""
    make = builder(poly.ring, exact)
    return make.expanded(make.shown(poly))


def builder(ring: Ring, exact: bool = False) -> Builder:
    """The ring's builder of expressions; numbers are rationals or, if floats were converted, floats."""
    exact = exact or not ring.inexact
    make = ring.objects.get(exact)
    if make is None:
        make = ring.objects[exact] = Builder(ring, exact)
    return make


class Builder:
    """Builds expressions of one ring and caches the objects of its generators."""

    def __init__(self, ring: Ring, exact: bool) -> None:
        from sympy.core import basic

        self.ring, self.exact, self.sympy, self._basic = ring, exact, sympy, basic
        self._classes = {name: k for k, name in enumerate(basic.ordering_of_classes)}
        self.factor = cache(self._factor)
        self._mul = (self._classes["Mul"], "Mul")
        self._add = (self._classes["Add"], "Add")

    def expanded(self, poly: Poly) -> Any:
        """Σ number · generators."""
        return self.sum([self.product(v, poly.den, self.ring.exponents(k)) for k, v in poly.terms.items()])[1]

    def shown(self, poly: Poly) -> Poly:
        """The element to print: in a ring of floats sin(0.3) is a number."""
        if self.exact:
            return poly
        ring = poly.ring
        values = {
            i: ring.convert((math.sin if g.kind == "sin" else math.cos)(g.unit))
            for i, g in enumerate(ring.generators)
            if g.kind in ("sin", "cos") and 0 in g.base.terms
        }
        if not values:
            return poly
        total = ring.zero
        for k, v in poly.terms.items():
            product = Poly(ring, {0: v}, poly.den)
            for i, e in ring.exponents(k):
                product = product * values.get(i, ring.element(i)) ** e
            total = total + product
        return total

    # numbers ------------------------------------------------------------------------------------------

    def is_simple(self, n: int, d: int) -> bool:
        """Whether n/d is written as a rational number: always in a ring without floats."""
        if self.exact or not n % d:
            return True
        if (_SIMPLE * n) % d or abs(n) > _LARGEST_SIMPLE * d:
            return False
        return d // math.gcd(n, d) <= _LARGEST_SIMPLE

    def number(self, n: int, d: int) -> Any:
        """n/d as SymPy's rational number or float."""
        return self.sympy.Rational(n, d) if self.is_simple(n, d) else self.sympy.Float(n / d)

    def number_cost(self, n: int, d: int) -> int:
        """Operations that a factor n/d adds to a product."""
        if abs(n) == abs(d):
            return 0
        if not n % d or not self.is_simple(n, d):
            return 1
        return 1 if abs(n) == math.gcd(n, d) else 2  # x/3 or 2 x/3

    # objects with their sort keys ---------------------------------------------------------------------

    def sort_key(self, x: Basic) -> Any:
        """A tuple that sorts as ``Basic.compare`` does."""
        name = type(x).__name__
        content = [
            self.sort_key(self._basic.Basic(*c) if isinstance(c, frozenset) else c)
            if isinstance(c, (self._basic.Basic, frozenset))
            else c
            for c in x._hashable_content()
        ]
        return (self._classes.get(name, len(self._classes)), name, len(content), *content)

    def node(self, x: Expr, *, plain: bool = True) -> Node:
        """An expression with its sort key."""
        return self.sort_key(x), x, plain

    def _factor(self, i: int, exponent: int) -> Node:
        base = self.generator(i)
        x = self.sympy.Pow(base, exponent)
        plain = base.is_Symbol or (base.is_Function and not isinstance(base, self.sympy.exp))
        return self.node(x, plain=plain and (exponent == 1 or x.args == (base, exponent)))

    def generator(self, i: int) -> Any:
        """The SymPy object of a generator."""
        g, sympy = self.ring.generators[i], self.sympy
        if g.base is None:
            return g.expr
        base = self.expanded(g.base)
        if g.kind in ("root", "inverse"):
            return sympy.sqrt(base) if g.kind == "root" else 1 / base
        function = sympy.sin if g.kind == "sin" else sympy.cos
        return function(sympy.Rational(g.unit.numerator, g.unit.denominator) * base)

    # sums and products --------------------------------------------------------------------------------

    def product(self, n: int, d: int, factors: list[tuple[int, int]], brackets: Sequence[Node] = ()) -> Node:
        """n/d · generators · brackets."""
        nodes = [self.factor(i, e) for i, e in factors]
        nodes += brackets
        if not all(plain for _, _, plain in nodes):
            return self.node(self.sympy.Mul(self.number(n, d), *(x for _, x, _ in nodes)), plain=False)
        nodes.sort(key=itemgetter(0))
        if n != d or not nodes:
            nodes.insert(0, self.node(self.number(n, d)))
        if len(nodes) == 1:
            return nodes[0]
        x = self.sympy.Mul._from_args(tuple(x for _, x, _ in nodes), True)
        return (*self._mul, len(nodes), *(key for key, _, _ in nodes)), x, True

    def power(self, node: Node, exponent: int) -> Node:
        """A power of a sum."""
        return self.node(self.sympy.Pow(node[1], exponent), plain=node[2])

    def sum(self, nodes: list[Node]) -> Node:
        """The sum of different products."""
        if not all(plain for _, _, plain in nodes):
            return self.node(self.sympy.Add(*(x for _, x, _ in nodes)), plain=False)
        nodes = sorted(nodes, key=itemgetter(0))
        for k, node in enumerate(nodes):
            if node[1].is_Number:
                nodes.insert(0, nodes.pop(k))
        if len(nodes) == 1:
            return nodes[0]
        x = self.sympy.Add._from_args(tuple(x for _, x, _ in nodes), True)
        return (*self._add, len(nodes), *(key for key, _, _ in nodes)), x, True
