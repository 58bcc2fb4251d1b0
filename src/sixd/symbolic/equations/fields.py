"""The SymPy fields of equations of motion, each made from the ring when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import ModelError, ScalarTypeError
from sixd.model.constraint import Constraint
from sixd.model.system import System
from sixd.spatial.scalar import Array
from sixd.symbolic.ring.poly import Poly

if TYPE_CHECKING:
    from sixd.symbolic.ring.ring import Ring


class Fields:
    """What is kept of M q̈ + C q̇ + g + b = τ, in a ring, and the SymPy matrices made of it."""

    name: str
    nq: int
    nv: int
    ring: Ring
    q: Any
    qd: Any
    qdd: Any
    polys: dict[str, Array]  # M (nv, nv), Gamma (nv, nv, nv), g and b (nv,)
    parallel: tuple[tuple[Any, ...], ...]  # coordinates whose angles may be added up
    constraints: tuple[Constraint, ...]
    lossy: tuple[bool, ...]  # whether a coordinate's motion is damped
    model: Any  # the model or reduced model they belong to, or None
    _energies: Callable[[], tuple[Poly, Poly]]

    @cached_property
    def M(self) -> Any:
        """Mass matrix (nv, nv)."""
        import sympy

        n = self.nv
        upper = {(i, j): self._show(self.polys["M"][i, j]) for i in range(n) for j in range(i, n)}
        return sympy.Matrix(n, n, lambda i, j: upper[min(i, j), max(i, j)])

    @cached_property
    def Gamma(self) -> Any:
        """Christoffel symbols (nv, nv, nv), a SymPy array: C_ij = Σ_k Γ_ijk q̇_k."""
        import sympy

        return sympy.ImmutableDenseNDimArray([self._show(x) for x in self.polys["Gamma"].ravel()], (self.nv,) * 3)

    @cached_property
    def C(self) -> Any:
        """Coriolis matrix (nv, nv) with Ṁ - 2C skew."""
        import sympy

        return sympy.Matrix(self.nv, self.nv, [self._show(x) for x in self._coriolis.ravel()])

    @cached_property
    def g(self) -> Any:
        """Forces of potential energy (nv,): those that hold the system at rest."""
        return self._column(self.polys["g"])

    @cached_property
    def b(self) -> Any:
        """Other forces (nv,), on the side of the inertia: damping, friction, a model's springs, gyroscopic terms."""
        return self._column(self.polys["b"])

    @cached_property
    def h(self) -> Any:
        """C q̇ + g + b (nv,), the products of velocities collected."""
        return self._velocity_terms + self.g + self.b

    @cached_property
    def tau(self) -> Any:
        """M q̈ + h (nv,): the generalised forces that produce the motion."""
        return self.M * self.qdd + self.h

    @cached_property
    def T(self) -> Any:
        """Kinetic energy."""
        return self._show(self._energies()[0])

    @cached_property
    def V(self) -> Any:
        """Potential energy."""
        return self._show(self._energies()[1])

    @property
    def L(self) -> Any:
        """Lagrangian T - V."""
        return self.T - self.V

    @cached_property
    def A(self) -> Any:
        """Matrix (k, nv) of the constraints A q̇ = b(t)."""
        return self._rows(lambda c, q: c.jacobian(self, q))

    @cached_property
    def phi(self) -> Any:
        """Holonomic constraints φ(q) = 0, a column."""
        return self._rows(lambda c, q: c.position(self, q)[:, None])

    @cached_property
    def conserved(self) -> dict[Any, Any]:
        """Momenta of cyclic coordinates, by the coordinate, and ``"energy"`` (Jacobi's integral) if nothing takes it.

        A coordinate is cyclic if L does not depend on it; dissipation in it, or constraints, spoil its momentum.
        """
        T, V = self._energies()
        momenta = [T.diff(v) for v in self.qd]
        found: dict[Any, Any] = {}
        if self.nq == self.nv and not self.constraints:
            for x, p, lossy in zip(self.q, momenta, self.lossy, strict=True):
                if not lossy and (T.diff(x) - V.diff(x)).is_zero:
                    found[x] = self._show(p)
        if not any(self.lossy) and all(c.target(0) is None for c in self.constraints):
            found["energy"] = self._show(sum((p * v for p, v in zip(momenta, self._ring_qd, strict=True)), V - T))
        return found

    def pose(self, frame: str) -> Any:
        """Pose (4, 4) of a frame in the world."""
        from sixd.algorithms.kinematics import pose

        return self._matrix([self._ring_system("pose").apply("pose", pose, self._ring_q, frame=frame)])

    def jacobian(self, frame: str, *, expressed_in: str = "body") -> Any:
        """Jacobian (6, nv) of a frame, angular rows first."""
        from sixd.algorithms.jacobian import jacobian

        options = {"frame": frame, "expressed_in": expressed_in}
        return self._matrix([self._ring_system("jacobian").apply("jacobian", jacobian, self._ring_q, **options)])

    # making them ----------------------------------------------------------------------------------

    def _show(self, poly: Poly) -> Any:
        from sixd.symbolic.writing.readable import readable

        return readable(poly, parallel=self.parallel)

    def _column(self, entries: Array) -> Any:
        import sympy

        return sympy.Matrix(len(entries), 1, [self._show(x) for x in entries])

    def _matrix(self, blocks: list[Array]) -> Any:
        import sympy

        rows = [[self._show(self.ring.convert(x)) for x in row] for block in blocks for row in np.asarray(block)]
        return sympy.Matrix(rows) if rows else sympy.zeros(0, self.nv)

    def _rows(self, rows: Callable[[Any, Array], Array]) -> Any:
        """What each constraint gives, one below the other: in the ring, or on symbols if it takes roots or divides."""
        try:
            return self._matrix([rows(c, self._ring_q) for c in self.constraints])
        except ScalarTypeError:
            return self._matrix([rows(c, np.array(list(self.q), dtype=object)) for c in self.constraints])

    @cached_property
    def _coriolis(self) -> Array:
        """C (nv, nv) in the ring."""
        return self.polys["Gamma"] @ self._ring_qd if self.nv else np.zeros((0, 0), dtype=object)

    @cached_property
    def _velocity_terms(self) -> Any:
        """C q̇ (nv,) as a sum over products of velocities."""
        import sympy

        Gamma, qd = self.polys["Gamma"], self.qd
        terms = [sympy.Integer(0)] * self.nv
        for i in range(self.nv):
            shared: dict[Poly, list[tuple[Fraction, Any]]] = {}
            for j in range(self.nv):
                for k in range(j, self.nv):
                    poly = Gamma[i, j, k] + Gamma[i, k, j] if j != k else Gamma[i, j, j]
                    if not poly.is_zero:
                        factor, bare = _primitive(poly)
                        shared.setdefault(bare, []).append((factor, qd[j] * qd[k]))
            for bare, products in shared.items():
                # those with proportional coefficients stand together: -h (2 q̇1 q̇2 + q̇2²)
                common = reduce(_gcd, (factor for factor, _ in products)) * (1 if products[0][0] > 0 else -1)
                inside = [
                    sympy.Rational(f.numerator * common.denominator, f.denominator * common.numerator) * x
                    for f, x in products
                ]
                terms[i] = terms[i] + self._show(bare * common) * sympy.Add(*inside)
        return sympy.Matrix(self.nv, 1, terms)

    @cached_property
    def _ring_q(self) -> Array:
        return self._generators(self.q)

    @cached_property
    def _ring_qd(self) -> Array:
        return self._generators(self.qd)

    def _generators(self, symbols: Any) -> Array:
        out = np.empty(len(symbols), dtype=object)
        out[:] = [self.ring.convert(s) for s in symbols]
        return out

    def _ring_system(self, where: str) -> System:
        from sixd.symbolic.equations.derive import ring_system

        if self.model is None:
            raise ModelError(f"{where}: {self.name!r} was given by energies and has no frames, expected a model's.")
        return ring_system(self.model, self.ring)


def _primitive(poly: Poly) -> tuple[Fraction, Poly]:
    """A number and a polynomial of whole coefficients without common factor, the leading one positive."""
    terms = poly.normalized().terms
    content = math.gcd(*terms.values()) * (1 if terms[max(terms)] > 0 else -1)
    return Fraction(content, poly.den), Poly(poly.ring, {k: v // content for k, v in terms.items()})


def _gcd(a: Fraction, b: Fraction) -> Fraction:
    """The largest positive number of which both are whole multiples."""
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)
