"""From ring elements to the SymPy expressions that a textbook would print.

A few forms are tried: products of sines and cosines, sines and cosines of sums of parallel angles, and of multiples of
angles; the most profitable factor first, or collected by angles. The one with the fewest operations is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sixd.symbolic.ring.build import Node, builder
from sixd.symbolic.ring.poly import Poly, Terms
from sixd.symbolic.ring.ring import Ring
from sixd.symbolic.writing.factor import Factoring, primitive
from sixd.symbolic.writing.forms import Atoms
from sixd.symbolic.writing.layout import Layout, Product, Sum

# beyond, only what was shortest for most long sums is tried: a Panda's C takes 4 s instead of 13, with 0.2 % more in it
_MANY_TERMS = 300
_FEW_TERMS = 50  # up to this, plain products are tried in any case; they never won for longer sums of the zoo's arms


def readable(poly: Poly, parallel: Sequence[Sequence[Any]] = (), *, collect: Sequence[Iterable[Any]] = ()) -> Any:
    """The SymPy expression of an element in the shortest of a few forms, by ``sympy.count_ops``.

    Parameters
    ----------
    parallel : groups of coordinates (SymPy symbols) whose axes are parallel, so that their angles may be added.
    collect : groups of symbols to collect by, such as the accelerations, then the velocities: terms without the first
        are collected by the second, and so on.
    """
    poly = builder(poly.ring).shown(poly.normalized())
    poly = Poly(poly.ring, dict(sorted(poly.terms.items())), poly.den)  # the result must not depend on their order
    if len(poly.terms) < 2:
        return poly.to_sympy()
    return _writer(poly.ring, parallel).written(poly, collect)


def _writer(ring: Ring, parallel: Sequence[Sequence[Any]]) -> Writer:
    name = ("readable", tuple(map(tuple, parallel)))
    found = ring.objects.get(name)
    if found is None or found.atoms.first != len(ring.generators) or found.inexact != ring.inexact:
        found = ring.objects[name] = Writer(ring, parallel)
    return found


class Writer:
    """Writes elements of one ring as it is now: atoms, their costs and SymPy objects are kept between elements."""

    def __init__(self, ring: Ring, parallel: Sequence[Sequence[Any]]) -> None:
        self.ring, self.inexact = ring, ring.inexact
        groups = [[i for q in group if (i := ring.cosine_of(q)) is not None] for group in parallel]
        self.atoms = Atoms(ring, [g for g in groups if len(g) > 1])
        self.build = builder(ring)
        self.factoring = Factoring(ring.bits, self.cost, lambda: self.atoms.first + len(self.atoms.harmonics))
        self.layout = Layout(self.factoring, self.build.number_cost, ring.inexact)
        self._nodes: dict[tuple[int, int], tuple[int, Node]] = {}
        self._costs: dict[int, int] = {}

    def written(self, poly: Poly, collect: Sequence[Iterable[Any]]) -> Any:
        """The expression, the terms of each group to collect by on their own."""
        products: list[Product] = []
        for terms, mask in self._classes(poly.terms, [self._mask(group) for group in collect]):
            products += self._shortest(terms, poly.den, [mask] if mask else []).products
        return self._sum(products)[1]

    def _classes(self, terms: Terms, masks: Sequence[int]) -> list[tuple[Terms, int]]:
        """The terms by the first mask that they have atoms in, the others last."""
        out = []
        for mask in masks:
            out.append(({k: v for k, v in terms.items() if k & mask}, mask))
            terms = {k: v for k, v in terms.items() if not k & mask}
        return [(part, mask) for part, mask in [*out, (terms, 0)] if part]

    def _shortest(self, terms: Terms, den: int, masks: list[int]) -> Sum:
        orders, summed = [masks, [*masks, self.atoms.angles]], self.atoms.summed
        plain, everywhere = (terms, den), summed(terms, den, everywhere=True)
        if len(terms) > _MANY_TERMS:
            forms, orders = [min(everywhere, plain, key=lambda form: len(form[0]))], orders[:1]
        else:
            forms = [summed(terms, den), everywhere]
            if len(terms) <= _FEW_TERMS or len(terms) < min(len(form[0]) for form in forms):
                forms.append(plain)
            forms = [(self.atoms.squared(terms), den) for terms, den in forms]
        forms = [form for k, form in enumerate(forms) if form not in forms[:k]]
        candidates = []
        for terms, den in forms:
            content, whole = primitive(terms)
            candidates += [self.layout.sum(self.factoring.bracket(whole, order), content, den) for order in orders]
        return min(candidates, key=lambda s: s.cost)  # of equals the first

    def _mask(self, symbols: Iterable[Any]) -> int:
        ones = (1 << self.ring.bits) - 1
        return sum(ones << (self.ring.bits * i) for s in symbols if (i := self.ring.index.get(s)) is not None)

    # atoms ----------------------------------------------------------------------------------------------

    def cost(self, i: int) -> int:
        """Operations in an atom."""
        found = self._costs.get(i)
        if found is None:
            import sympy

            x = self.build.generator(i) if i < self.atoms.first else self._harmonic(i, 1)[1][1]
            found = self._costs[i] = int(sympy.count_ops(x))
        return found

    def _harmonic(self, i: int, exponent: int) -> tuple[int, Node]:
        """(sign, node) of a power of a harmonic."""
        found = self._nodes.get((i, exponent))
        if found is None:
            group, harmonic = self.atoms.harmonics[i - self.atoms.first]
            x = group.to_sympy(harmonic)
            sign = -1 if x.is_Mul else 1
            x = (sign * x) ** exponent
            found = self._nodes[i, exponent] = (sign**exponent, self.build.node(x))
        return found

    # expressions ----------------------------------------------------------------------------------------

    def _sum(self, products: list[Product]) -> Node:
        return self.build.sum([self._product(p) for p in products])

    def _product(self, p: Product) -> Node:
        n, own, more = p.n, [], []
        for i in self.factoring.atoms(p.key):
            exponent = self.factoring.exponent(p.key, i)
            if i < self.atoms.first:
                own.append((i, exponent))
            else:
                sign, node = self._harmonic(i, exponent)
                n *= sign
                more.append(node)
        for bracket, exponent in p.brackets:
            node = self._sum(bracket.products)
            more.append(node if exponent == 1 else self.build.power(node, exponent))
        return self.build.product(n, p.d, own, more)
