"""From ring elements to the SymPy expressions that a textbook would print.

A few forms are tried: products of sines and cosines, or sines and cosines of sums of parallel angles; collected by
velocities, by angles, or with the most profitable factor first. The one with the fewest operations is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sixd.symbolic.build import Builder, Node, builder
from sixd.symbolic.factor import Factoring, primitive
from sixd.symbolic.forms import Atoms
from sixd.symbolic.layout import Layout, Product, Sum
from sixd.symbolic.poly import Poly, Terms
from sixd.symbolic.ring import Ring

_MANY_TERMS = 1000  # beyond, only one candidate is tried


def readable(poly: Poly, parallel: Sequence[Sequence[Any]] = (), *, collect: Sequence[Iterable[Any]] = ()) -> Any:
    """The SymPy expression of an element in the shortest of a few forms.

    Parameters
    ----------
    parallel : groups of coordinates (SymPy symbols) whose axes are parallel, so that their angles may be added.
    collect : groups of symbols to collect by, such as the accelerations and the velocities.
    """
    poly = poly.settled()
    if len(poly.terms) < 2:
        return poly.to_sympy()
    return _printer(poly.ring, parallel).readable(poly, collect)


def _printer(ring: Ring, parallel: Sequence[Sequence[Any]]) -> Printer:
    name = ("readable", tuple(map(tuple, parallel)))
    found = ring.objects.get(name)
    if found is None or found.atoms.first != len(ring.generators) or found.inexact != ring.inexact:
        found = ring.objects[name] = Printer(ring, parallel)
    return found


class Printer:
    """Atoms, their costs and SymPy objects, for one ring and its groups of parallel coordinates."""

    def __init__(self, ring: Ring, parallel: Sequence[Sequence[Any]]) -> None:
        self.ring, self.inexact = ring, ring.inexact
        groups = [[i for q in group if (i := ring.cosine_of(q)) is not None] for group in parallel]
        self.atoms = Atoms(ring, [g for g in groups if len(g) > 1])
        self.build = builder(ring)
        self._nodes: dict[int, tuple[int, Node]] = {}
        self._costs: dict[int, int] = {}
        self.factoring = Factoring(ring.bits, self.cost, lambda: self.atoms.first + len(self.atoms.harmonics))
        self.layout = Layout(self.factoring, self.build.number_cost, ring.inexact)

    def readable(self, poly: Poly, collect: Sequence[Iterable[Any]]) -> Any:
        """The shortest candidate, apart for the terms of each group to collect by."""
        products = []
        for terms, mask in self._classes(poly.terms, [self._mask(group) for group in collect]):
            masks = [mask] if mask else []
            candidates = self._candidates(Poly(self.ring, terms, poly.den), masks)
            products += min(candidates, key=lambda s: s.cost).products
        return self._sum(products)[1]

    def _classes(self, terms: Terms, masks: Sequence[int]) -> list[tuple[Terms, int]]:
        """The terms by the first mask that they have atoms in, the others last."""
        out = []
        for mask in masks:
            out.append(({k: v for k, v in terms.items() if k & mask}, mask))
            terms = {k: v for k, v in terms.items() if not k & mask}
        return [(part, mask) for part, mask in [*out, (terms, 0)] if part]

    def _candidates(self, poly: Poly, masks: list[int]) -> list[Sum]:
        forms: list[tuple[Terms, int]] = [self.atoms.summed(poly)]
        if len(poly.terms) < _MANY_TERMS and forms[0][0] is not poly.terms:
            forms.append((poly.terms, poly.den))
        forms = [(self.atoms.squared(terms), den) for terms, den in forms]
        out = []
        for terms, den in forms:
            content, whole = primitive(terms)
            for order in (masks, [*masks, self.atoms.angles]):
                out.append(self.layout.sum(self.factoring.bracket(whole, order), content, den))
        return out

    def _mask(self, symbols: Iterable[Any]) -> int:
        ones = (1 << self.ring.bits) - 1
        found = [i for s in symbols if (i := self.ring.index_of(s)) is not None]
        return sum(ones << (self.ring.bits * i) for i in found)

    def cost(self, i: int) -> int:
        """Operations in an atom."""
        found = self._costs.get(i)
        if found is None:
            import sympy

            x = self.build.generator(i) if i < self.atoms.first else self._node(i, 1)[1][1]
            found = self._costs[i] = int(sympy.count_ops(x))
        return found

    def _node(self, i: int, exponent: int) -> tuple[int, Node]:
        """(sign, node) of a power of a harmonic; SymPy may turn sin(a - b) into -sin(b - a)."""
        name = (i, exponent)
        found = self._nodes.get(name)
        if found is None:
            import sympy

            group, (n, odd) = self.atoms.harmonics[i - self.atoms.first]
            angle = sympy.Integer(0)
            for m, c in zip(n, group.cosines, strict=True):
                g = self.ring.generators[c]
                angle += sympy.Rational(g.unit.numerator, g.unit.denominator) * m * g.base.to_sympy()
            x = sympy.sin(angle) if odd else sympy.cos(angle)
            sign = -1 if x.is_Mul else 1
            x = (sign * x) ** exponent
            found = self._nodes[name] = (sign**exponent, (self.build.sort_key(x), x))
        return found

    def _sum(self, products: list[Product]) -> Node:
        nodes = []
        for p in products:
            own, sign, more = [], 1, []
            for i in self.factoring.atoms(p.key):
                e = self.factoring.exponent(p.key, i)
                if i < self.atoms.first:
                    own.append((i, e))
                else:
                    s, node = self._node(i, e)
                    sign *= s
                    more.append(node)
            for b, e in p.brackets:
                node = self._sum(b.products)
                more.append(node if e == 1 else self.build.power(node, e))
            nodes.append(self.build.product(sign * p.n, p.d, own, tuple(more)))
        return self.build.sum(nodes)
