"""From ring elements to SymPy expressions: the objects that SymPy itself would build, without its slow constructors.

SymPy keeps the arguments of sums and products sorted by ``Basic.compare``; here every object goes with a tuple that
sorts the same way, so that an expression of thousands of terms takes milliseconds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sixd.symbolic.poly import Poly

if TYPE_CHECKING:
    from sixd.symbolic.ring import Ring

Node = tuple[Any, Any]  # sort key, SymPy object
_SIMPLE = 5544  # least common multiple of the denominators up to 12 without 5 and 10, which are decimals


def build(poly: Poly, *, exact: bool = False) -> Any:
    """The expanded expression."""
    return builder(poly.ring, exact).expanded(poly)


def builder(ring: Ring, exact: bool = False) -> Builder:
    """The ring's builder of expressions."""
    found = ring.objects.get(exact)
    if found is None:
        found = ring.objects[exact] = Builder(ring, exact)
    return found


class Builder:
    """Builds expressions of one ring and keeps the objects of its generators."""

    def __init__(self, ring: Ring, exact: bool) -> None:
        import sympy
        from sympy.core import basic

        self.ring, self.exact, self.sympy, self._basic = ring, exact, sympy, basic
        self._classes = {name: k for k, name in enumerate(basic.ordering_of_classes)}
        self._factors: dict[tuple[int, int], Node] = {}
        self._awkward: set[int] = set()  # generators that SymPy combines with others in a product
        self._mul = (self._classes["Mul"], "Mul")
        self._add = (self._classes["Add"], "Add")

    def expanded(self, poly: Poly) -> Any:
        """Σ number · generators."""
        return self.sum([self.product(v, poly.den, self.ring.exponents(k)) for k, v in poly.terms.items()])[1]

    # numbers ------------------------------------------------------------------------------------------

    def is_simple(self, n: int, d: int) -> bool:
        """Whether n/d is written as a rational number: always in a ring without floats."""
        if self.exact or not self.ring.inexact or not n % d:
            return True
        return not (_SIMPLE * n) % d and abs(n) <= 12 * abs(d)

    def number(self, n: int, d: int) -> Any:
        """n/d as SymPy's rational number or float."""
        return self.sympy.Rational(n, d) if self.is_simple(n, d) else self.sympy.Float(n / d)

    def number_cost(self, n: int, d: int) -> int:
        """Operations that a factor n/d adds to a product."""
        if abs(n) == abs(d):
            return 0
        if not n % d or not self.is_simple(n, d):
            return 1
        return 1 + (abs(d) != math.gcd(n, d) * 1 and abs(n) != math.gcd(n, d))

    # objects with their sort keys ---------------------------------------------------------------------

    def sort_key(self, x: Any) -> Any:
        """A tuple that sorts as ``Basic.compare`` does."""
        name = type(x).__name__
        content = [
            self.sort_key(self._basic.Basic(*c) if isinstance(c, frozenset) else c)
            if isinstance(c, (self._basic.Basic, frozenset))
            else c
            for c in x._hashable_content()
        ]
        return (self._classes.get(name, len(self._classes)), name, len(content), *content)

    def factor(self, i: int, exponent: int) -> Node:
        """A power of a generator."""
        found = self._factors.get((i, exponent))
        if found is None:
            x = self.sympy.Pow(self.generator(i), exponent)
            found = self._factors[i, exponent] = (self.sort_key(x), x)
        return found

    def generator(self, i: int) -> Any:
        """The SymPy object of a generator."""
        g, sympy = self.ring.generators[i], self.sympy
        if g.expr is not None:
            x = g.expr
        else:
            assert g.base is not None
            base = self.expanded(g.base)
            unit = sympy.Rational(g.unit.numerator, g.unit.denominator)
            x = {"root": sympy.sqrt, "inverse": lambda b: 1 / b}.get(g.kind, getattr(sympy, g.kind, None))(unit * base)
        if not (x.is_Symbol or isinstance(x, (sympy.sin, sympy.cos)) or x.is_Function and not isinstance(x, sympy.exp)):
            self._awkward.add(i)
        return x

    def product(self, n: int, d: int, factors: list[tuple[int, int]], brackets: tuple[Node, ...] = ()) -> Node:
        """n/d · generators · brackets."""
        nodes = [self.factor(i, e) for i, e in factors]
        nodes += brackets
        if self._awkward and not self._awkward.isdisjoint(i for i, _ in factors):
            x = self.sympy.Mul(self.number(n, d), *(x for _, x in nodes))
            return self.sort_key(x), x
        nodes.sort(key=lambda node: node[0])
        if n != d or not nodes:
            number = self.number(n, d)
            nodes.insert(0, (self.sort_key(number), number))
        if len(nodes) == 1:
            return nodes[0]
        x = self.sympy.Mul._from_args(tuple(x for _, x in nodes), True)
        return (*self._mul, len(nodes), *(key for key, _ in nodes)), x

    def power(self, node: Node, exponent: int) -> Node:
        """A power of a sum."""
        x = self.sympy.Pow(node[1], exponent)
        return self.sort_key(x), x

    def sum(self, nodes: list[Node]) -> Node:
        """The sum of different products."""
        if any(x.is_Add for _, x in nodes) or self._awkward:
            x = self.sympy.Add(*(x for _, x in nodes))
            return self.sort_key(x), x
        nodes = sorted(nodes, key=lambda node: (not node[1].is_Number, node[0]))
        if len(nodes) == 1:
            return nodes[0]
        x = self.sympy.Add._from_args(tuple(x for _, x in nodes), True)
        return (*self._add, len(nodes), *(key for key, _ in nodes)), x
