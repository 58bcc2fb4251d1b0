"""Equations of motion M q̈ + C q̇ + g + b = τ in closed form, without constraints, bodies or parameter values.

The entries are elements of a polynomial ring, in which equal functions are identical. The SymPy fields are made from
them on first access, as a textbook prints them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sixd.lazy import Expr, Matrix, NDimArray, sympy
from sixd.model.constraint import Constraint
from sixd.spatial.scalar import Array, Scalar, is_sympy, object_map
from sixd.symbolic.ring.poly import Poly
from sixd.symbolic.ring.ring import Ring
from sixd.symbolic.writing.readable import readable

_LONGEST_CONVERTED = 150  # operations; a rolling wheel's row of 230 takes seconds, of 1000 the whole stack


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """M q̈ + C q̇ + g + b = τ: entries in a ring, and SymPy fields ``M``, ``C``, ``g``, … made from them.

    ``polys`` holds the entries: M (nv, nv), Gamma (nv, nv, nv), g and b (nv,). ``make_energies`` returns the kinetic
    and potential energy in the ring. ``parallel`` are groups of coordinates whose angles may be added up.
    """

    ring: Ring
    q: Any
    qd: Any
    qdd: Any
    polys: dict[str, Array]
    make_energies: Callable[[], tuple[Poly, Poly]] | None
    parallel: tuple[tuple[Expr, ...], ...] = ()

    def __post_init__(self) -> None:
        for name in ("q", "qd", "qdd"):
            symbols = list(getattr(self, name))
            object.__setattr__(self, name, sympy.Matrix(len(symbols), 1, symbols))

    def __getstate__(self) -> dict[str, Any]:
        # functions defined inside functions cannot be pickled: compute the energies first
        return {**self.__dict__, "energies": self.energies, "make_energies": None}

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.qd)

    # in the ring ----------------------------------------------------------------------------------

    @cached_property
    def energies(self) -> tuple[Poly, Poly]:
        """Kinetic and potential energy in the ring."""
        assert self.make_energies is not None
        return self.make_energies()

    @cached_property
    def ring_q(self) -> Array:
        """Coordinates (nq,) in the ring."""
        return self.ring.array(list(self.q))

    @cached_property
    def ring_qd(self) -> Array:
        """Velocities (nv,) in the ring."""
        return self.ring.array(list(self.qd))

    @cached_property
    def coriolis(self) -> Array:
        """C (nv, nv) in the ring."""
        return self.polys["Gamma"] @ self.ring_qd if self.nv else np.zeros((0, 0), dtype=object)

    def replaced(self, table: Mapping[Expr, Expr]) -> ClosedForm:
        """The form with symbols replaced by SymPy expressions, in a new ring."""
        ring = Ring()

        def change(p: Poly) -> Poly:
            return ring.convert(p.to_sympy(exact=True).xreplace(dict(table)))

        def energies() -> tuple[Poly, Poly]:
            T, V = self.energies
            return change(T), change(V)

        polys = {name: object_map(change, x) if x.size else x for name, x in self.polys.items()}
        return ClosedForm(ring, self.q, self.qd, self.qdd, polys, energies, self.parallel)

    # SymPy fields ---------------------------------------------------------------------------------

    @cached_property
    def M(self) -> Matrix:
        """Mass matrix (nv, nv)."""
        n = self.nv
        upper = {(i, j): self.shown(self.polys["M"][i, j]) for i in range(n) for j in range(i, n)}
        return sympy.Matrix(n, n, lambda i, j: upper[min(i, j), max(i, j)])

    @cached_property
    def Gamma(self) -> NDimArray:
        """Christoffel symbols (nv, nv, nv), a SymPy array: C_ij = Σ_k Γ_ijk q̇_k."""
        return sympy.ImmutableDenseNDimArray([self.shown(x) for x in self.polys["Gamma"].ravel()], (self.nv,) * 3)

    @cached_property
    def C(self) -> Matrix:
        """Coriolis matrix (nv, nv) with Ṁ - 2C skew."""
        return sympy.Matrix(self.nv, self.nv, [self.shown(x) for x in self.coriolis.ravel()])

    @cached_property
    def g(self) -> Matrix:
        """Forces of potential energy (nv,)."""
        return self._column("g")

    @cached_property
    def b(self) -> Matrix:
        """Other forces (nv,), on the side of the inertia."""
        return self._column("b")

    @cached_property
    def h(self) -> Matrix:
        """C q̇ + g + b (nv,), the products of velocities collected."""
        return self._velocity_terms() + self.g + self.b

    @cached_property
    def tau(self) -> Matrix:
        """M q̈ + h (nv,)."""
        return self.M * self.qdd + self.h

    @cached_property
    def T(self) -> Expr:
        """Kinetic energy."""
        return self.shown(self.energies[0])

    @cached_property
    def V(self) -> Expr:
        """Potential energy."""
        return self.shown(self.energies[1])

    def conserved(self, lossy: Sequence[bool], constraints: Sequence[Constraint]) -> dict[Expr, Expr]:
        """Momenta of cyclic coordinates, by the coordinate, and Jacobi's integral as ``"energy"``.

        ``lossy`` says which coordinates have dissipation.
        """
        T, V = self.energies
        momenta = [T.diff(v) for v in self.qd]
        constants: dict[Expr, Expr] = {}
        if len(self.q) == self.nv and not constraints:
            for x, p, is_lossy in zip(self.q, momenta, lossy, strict=True):
                if not is_lossy and (T.diff(x) - V.diff(x)).is_zero:
                    constants[x] = self.shown(p)
        if not any(lossy) and all(c.target(0) is None for c in constraints):
            constants["energy"] = self.shown(sum((p * v for p, v in zip(momenta, self.ring_qd, strict=True)), V - T))
        return constants

    def shown(self, poly: Poly) -> Expr:
        """The SymPy expression of an element of the ring."""
        return readable(poly, parallel=self.parallel)

    def shown_rows(self, blocks: Sequence[Array]) -> Matrix:
        """The SymPy matrix of blocks of rows, one below the other; (0, nv) without blocks.

        Long SymPy expressions stay as they are: the ring expands roots and divisions, and they would explode.
        """

        def entry(x: Scalar) -> Expr:
            too_long = is_sympy(x) and sympy.count_ops(x) > _LONGEST_CONVERTED
            return sympy.sympify(x) if too_long else self.shown(self.ring.convert(x))

        rows = [[entry(x) for x in row] for block in blocks for row in np.asarray(block)]
        return sympy.Matrix(rows) if rows else sympy.zeros(0, self.nv)

    def _column(self, name: str) -> Matrix:
        return sympy.Matrix(self.nv, 1, [self.shown(x) for x in self.polys[name]])

    def _velocity_terms(self) -> Matrix:
        """C q̇ (nv,) as a sum over products of velocities."""
        Gamma, qd, n = self.polys["Gamma"], self.qd, self.nv
        rows = []
        for i in range(n):
            pairs = [(j, k) for j in range(n) for k in range(j, n)]
            polys = [Gamma[i, j, k] + Gamma[i, k, j] if j != k else Gamma[i, j, j] for j, k in pairs]
            rows.append(self._joined((p, qd[j] * qd[k]) for p, (j, k) in zip(polys, pairs, strict=True)))
        return sympy.Matrix(n, 1, rows)

    def collected(self, poly: Poly) -> Expr:
        """The SymPy expression of an element collected by the velocities and accelerations in it."""
        rates = [(self.ring.convert(x), x) for x in (*self.qdd, *self.qd)]
        field = (1 << self.ring.bits) - 1
        units = [(next(iter(p.terms)), x) for p, x in rates]  # packed monomial of each rate
        mask = sum(unit * field for unit, _ in units)
        parts: dict[int, dict[int, int]] = {}
        for k, v in poly.terms.items():
            parts.setdefault(k & mask, {})[k & ~mask] = v

        products = {key: sympy.Mul(*(x ** ((key // unit) & field) for unit, x in units)) for key in sorted(parts)}
        return self._joined(((Poly(self.ring, parts[k], poly.den), x) for k, x in products.items()), halves=True)

    def _joined(self, pairs: Iterable[tuple[Poly, Any]], *, halves: bool = False) -> Expr:
        """Σ poly · product; products with proportional coefficients share a bracket: -h (2 q̇1 q̇2 + q̇2²).

        With ``halves`` a denominator stands before a bracket, as in ½ (I + m r²) q̇1².
        """
        shared: dict[Poly, list[tuple[Fraction, Any]]] = {}
        for poly, product in pairs:
            if not poly.is_zero:
                factor, bare = _primitive(poly)
                shared.setdefault(bare, []).append((factor, product))
        total = sympy.Integer(0)
        for bare, products in shared.items():
            factors = [factor for factor, _ in products]
            common = Fraction(math.gcd(*(f.numerator for f in factors)), math.lcm(*(f.denominator for f in factors)))
            common = -common if len(factors) > 1 and factors[0] < 0 else common  # its first product is positive
            inside = [sympy.Rational(factor / common) * x for factor, x in products]
            whole = Fraction(common.numerator) if halves and not self.ring.inexact else common
            total = total + sympy.Rational(common / whole) * (self.shown(bare * whole) * sympy.Add(*inside))
        return total


def _primitive(poly: Poly) -> tuple[Fraction, Poly]:
    """A number and a polynomial of whole coefficients without common factor, the leading one positive."""
    terms = poly.normalized().terms
    content = math.gcd(*terms.values()) * (1 if terms[max(terms)] > 0 else -1)
    return Fraction(content, poly.den), Poly(poly.ring, {k: v // content for k, v in terms.items()})
