"""From ring elements to SymPy expressions as a textbook prints them.

Several forms are compared: products of sines and cosines, sines and cosines of sums of parallel angles, and of
multiples of angles; factored by the most profitable factor first, or collected by angles. The one with the fewest
operations is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from typing import Any

from sixd.lazy import Expr, sympy
from sixd.symbolic.ring.build import Node, builder
from sixd.symbolic.ring.poly import Poly, Terms
from sixd.symbolic.ring.ring import Ring
from sixd.symbolic.writing.factoring import Factoring, primitive
from sixd.symbolic.writing.forms import Atoms
from sixd.symbolic.writing.layout import BracketLayout, Product, Sum

# beyond, only the form that is shortest for most long sums is tried: a Panda's C takes 4 s, not 13, and is 0.2 % longer
_MANY_TERMS = 300
# textbooks write sin q cos q: in symbols, sines and cosines of 2q must save more than a sixth of the operations
_MULTIPLES = 1.2
_FEW_TERMS = 50  # up to this, plain products are always tried; never the shortest for longer sums of the zoo's arms


def readable(poly: Poly, parallel: Sequence[Sequence[Expr]] = ()) -> Any:
    """The SymPy expression of an element in the shortest of a few forms, by ``sympy.count_ops``.

    ``parallel`` are groups of coordinates (SymPy symbols) whose axes are parallel, so that their angles may be added.
    """
    poly = builder(poly.ring).shown(poly.normalized())
    poly = Poly(poly.ring, dict(sorted(poly.terms.items())), poly.den)  # the result must not depend on their order
    return poly.to_sympy() if len(poly.terms) < 2 else _writer(poly.ring, parallel).written(poly)


def _writer(ring: Ring, parallel: Sequence[Sequence[Expr]]) -> Writer:
    name = ("readable", tuple(map(tuple, parallel)))
    writer = ring.objects.get(name)
    if writer is None or writer.atoms.first != len(ring.generators) or writer.inexact != ring.inexact:
        writer = ring.objects[name] = Writer(ring, parallel)
    return writer


class Writer:
    """Writes elements of a ring with its present generators; keeps atoms, their costs and SymPy objects."""

    def __init__(self, ring: Ring, parallel: Sequence[Sequence[Expr]]) -> None:
        self.ring, self.inexact = ring, ring.inexact
        groups = [[i for q in group if (i := ring.cosine_of(q)) is not None] for group in parallel]
        self.atoms = Atoms(ring, [g for g in groups if len(g) > 1])
        self.build = builder(ring)
        self._harmonic = cache(self._harmonic_power)
        self.factoring = Factoring(ring.bits, cache(self._cost), lambda: self.atoms.first + len(self.atoms.harmonics))
        self.layout = BracketLayout(self.factoring, self.build.number_cost, ring.inexact)

    def written(self, poly: Poly) -> Any:
        """The shortest expression."""
        return self._sum(self._shortest(poly.terms, poly.den).products)[1]

    def _shortest(self, terms: Terms, den: int) -> Sum:
        orders, summed = [0, self.atoms.angles], self.atoms.summed
        plain, everywhere = (terms, den), summed(terms, den, everywhere=True)
        if len(terms) > _MANY_TERMS:
            forms, orders = [min(everywhere, plain, key=lambda form: len(form[0]))], orders[:1]
        else:
            forms = [summed(terms, den), everywhere]
            if len(terms) <= _FEW_TERMS or len(terms) < min(len(form[0]) for form in forms):
                forms.append(plain)
            squared = self.atoms.squared
            forms = [(squared(terms, singly=singly), den) for terms, den in forms for singly in (False, True)]
        forms = [form for k, form in enumerate(forms) if form not in forms[:k]]
        candidates = []
        for terms, den in forms:
            content, whole = primitive(terms)
            extra = _MULTIPLES if not self.inexact and self.atoms.has_multiples(terms) else 1
            sums = [self.layout.sum(self.factoring.bracket(whole, order), content, den) for order in orders]
            candidates += [(s.cost * extra, s) for s in sums]
        return min(candidates, key=itemgetter(0))[1]  # the first of equals

    # atoms ----------------------------------------------------------------------------------------------

    def _cost(self, i: int) -> int:
        """Operations in an atom."""
        x = self.build.generator(i) if i < self.atoms.first else self._harmonic(i, 1)[1][1]
        return int(sympy.count_ops(x))

    def _harmonic_power(self, i: int, exponent: int) -> tuple[int, Node]:
        """(sign, node) of a power of a harmonic."""
        group, harmonic = self.atoms.harmonics[i - self.atoms.first]
        x = group.to_sympy(harmonic)
        sign = -1 if x.is_Mul else 1
        return sign**exponent, self.build.node((sign * x) ** exponent)

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
