"""Constrained motion in closed form: multipliers, projections, independent coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.algorithms.constrained import dynamics
from sixd.algorithms.constrained.rows import is_timed
from sixd.errors import ModelError, ShapeError
from sixd.lazy import Expr, Symbol, sympy
from sixd.model.constraint import Constraint
from sixd.symbolic.arguments import Coordinates, VectorLike
from sixd.symbolic.echelon import tidy
from sixd.symbolic.elimination.eliminate import eliminate
from sixd.symbolic.elimination.remainders import on_constraints
from sixd.symbolic.equations.printing import entries, paragraphs, symbol_letters, text_letters
from sixd.symbolic.lagrange.euler_lagrange import EulerLagrange, euler_lagrange
from sixd.symbolic.ring.derivative import real_derivative
from sixd.symbolic.writing.latex import latex
from sixd.symbolic.writing.latex_lines import aligned_latex
from sixd.symbolic.writing.unicode_text import aligned, text

if TYPE_CHECKING:
    from sixd.symbolic.equations.equations import Equations


class Constrained(NamedTuple):
    """Accelerations (nv,) and multipliers (k,) as SymPy columns: M q̈ + h = τ + Aᵀλ."""

    qdd: Any
    lam: Any


class Projections(NamedTuple):
    """P of velocities and P_u = Pᵀ of forces, SymPy matrices (nv, nv)."""

    P: Any
    P_u: Any


@dataclass(frozen=True, eq=False)
class ConstrainedEquations:
    """Equations of motion under constraints A q̇ = c(t), as SymPy columns of equations.

    ``motion`` (nv,): M q̈ + C q̇ + g + b = u + Aᵀλ; ``rows`` (k,): A q̈ + Ȧ q̇ = ċ; ``projected`` (nv,): the same motion
    without multipliers, P q̈ = P M⁻¹(u - C q̇ - g - b), of which n - k are independent, where φ(q) = 0. Matrices ``A``,
    ``A_rate`` = Ȧ (k, nv), ``P`` (nv, nv), which projects velocities onto A P q̇ = 0; symbols ``u`` (nv,) and ``lam``
    (k,).
    """

    equations: Equations
    motion: tuple[Expr, ...]
    rows: tuple[Expr, ...]
    projected: tuple[Expr, ...]
    A: Any
    A_rate: Any
    P: Any
    u: Any
    lam: Any

    def __str__(self) -> str:
        letters = text_letters(self.equations)
        blocks = [f"{self.equations.name}: motion under constraints"]
        for heading, lines in self._blocks(
            "M q̈ + C q̇ + g + b = u + Aᵀλ", "A q̈ + Ȧ q̇ = ċ", "P q̈ = P M⁻¹(u - C q̇ - g - b)"
        ):
            pairs = [(text(e.lhs, letters), text(e.rhs, letters)) for e in lines]
            blocks.append(f"{heading}\n{aligned(pairs)}")
        for name in ("A", "A_rate", "P"):
            shown = {"A_rate": "Ȧ"}.get(name, name)
            blocks.append(aligned(entries(shown, getattr(self, name), letters)))
        return "\n\n".join(blocks)

    def latex(self, *, short: bool = True, digits: int | None = 4) -> str:
        """The equations as LaTeX, one a line: the motion, the rows of the constraints, the projected motion."""
        return aligned_latex(line for _, pairs in self._latex(short, digits) for line in pairs)

    def markdown(self, *, short: bool = True, digits: int | None = 4) -> str:
        """The same as Markdown, each part below its general form."""
        blocks = self._latex(short, digits)
        return paragraphs([f"${heading}$:\n\n$$\n{aligned_latex(pairs)}\n$$" for heading, pairs in blocks])

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def __repr__(self) -> str:
        return f"<ConstrainedEquations of {self.equations.name!r}: {len(self.motion)} + {len(self.rows)} equations>"

    def _latex(self, short: bool, digits: int | None) -> list[tuple[str, list[tuple[str, str]]]]:
        letters = symbol_letters(self.equations)
        motion = r"M \ddot q + C \dot q + g + b = u + A^T \lambda"
        rows, projected = r"A \ddot q + \dot A \dot q = \dot c", r"P \ddot q = P M^{-1} (u - C \dot q - g - b)"

        written = partial(latex, coordinates=letters, short=short, digits=digits)
        blocks = self._blocks(motion, rows, projected)
        return [(heading, [(written(e.lhs), written(e.rhs)) for e in lines]) for heading, lines in blocks]

    def _blocks(self, *headings: str) -> list[tuple[str, tuple[Expr, ...]]]:
        return list(zip(headings, (self.motion, self.rows, self.projected), strict=True))


_LONG = 300  # operations; factoring longer fractions takes minutes


def constrained(system: Equations, tau: VectorLike | None = None) -> Constrained:
    """Accelerations and multipliers under generalised forces ``tau`` (nv,), by default the symbols u1, u2, …

    The time of prescribed rates is t. Results hold where φ(q) = 0; long ones are not simplified.
    """
    q, qd, u = (np.array(list(x), dtype=object) for x in (system.q, system.qd, _forces(system, tau, "constrained")))
    solution = dynamics.constrained_dynamics(system, q, qd, u, sympy.Symbol("t") if is_timed(system) else 0)
    written = _written(system)
    return Constrained(*(sympy.Matrix(len(x), 1, [written(e) for e in x]) for x in solution))


def _forces(system: Equations, tau: VectorLike | None, where: str) -> list[Expr]:
    """The generalised forces, by default u1, u2, …"""
    if tau is None:
        return [sympy.Symbol(f"u{k + 1}") for k in range(system.nv)]
    forces = [sympy.sympify(x) for x in tau]
    if len(forces) != system.nv:
        raise ShapeError(f"{where}: tau has {len(forces)} entries, expected {system.nv}.")
    return forces


def rate_of_rows(system: Equations) -> Any:
    """Ȧ (k, nv), the time derivative of A along q̇ (coordinates that are the integrals of the velocities)."""
    if system.nq != system.nv:
        raise ModelError(
            f"A_rate: {system.name!r} has quaternions among its coordinates, expected as many coordinates as "
            f"velocities. sixd.constrained_dynamics has Ȧ q̇ of such systems in numbers."
        )
    A = system.A
    moved = (real_derivative(A[i, j], x) for i in range(A.rows) for j in range(A.cols) for x in system.q)
    speeds = list(system.qd)
    rates = [sum((next(moved) * v for v in speeds), sympy.Integer(0)) for _ in range(A.rows * A.cols)]
    return sympy.Matrix(A.rows, A.cols, [_tidy_if_short(e) for e in rates])


def constrained_equations(system: Equations, tau: VectorLike | None = None) -> ConstrainedEquations:
    """M q̈ + C q̇ + g + b = τ + Aᵀλ with A q̈ + Ȧ q̇ = ḃ in symbols, and projected: P q̈ = P M⁻¹(τ - C q̇ - g - b).

    ``tau`` (nv,) are the symbols u1, u2, … if omitted; the multipliers are lambda1, lambda2, …
    """
    if not system.constraints:
        raise ModelError(
            f"constrained_equations: {system.name!r} has no constraints, expected at least one. Its equations are "
            f".tau; give constraints=[…] to sixd.lagrange, or constraints to the model."
        )
    A, A_rate, P = system.A, system.A_rate, system.projections().P
    u = sympy.Matrix(_forces(system, tau, "constrained_equations"))
    lam = sympy.Matrix(sympy.symbols(f"lambda1:{A.rows + 1}"))
    time = sympy.Symbol("t")
    targets = [x for c in system.constraints for x in _target_rates(system, c, time)]
    left, right = A * system.qdd + A_rate * system.qd, sympy.Matrix(len(targets), 1, targets)
    free = P * system.M.adjugate() * (u - system.h) / _tidy_if_short(system.M.det())
    pushed, written = A.T * lam, _written(system)

    def equal(lhs: Iterable[Expr], rhs: Iterable[Expr]) -> tuple[Expr, ...]:
        return tuple(sympy.Eq(a, b, evaluate=False) for a, b in zip(lhs, rhs, strict=True))

    return ConstrainedEquations(
        system,
        equal(system.tau, u + pushed),
        equal(left, right),
        equal(P * system.qdd, [written(e) for e in free]),
        *(A, A_rate, P, u, lam),
    )


def _target_rates(system: Equations, constraint: Constraint, time: Symbol) -> list[Expr]:
    """ċ of the rows of one constraint."""
    count = len(constraint.jacobian(system, np.array(list(system.q), dtype=object)))
    target = constraint.target(time)
    return [sympy.Integer(0)] * count if target is None else [sympy.sympify(x).diff(time) for x in target]


def projections(system: Equations) -> Projections:
    """P_u = 1 - Aᵀ(A M⁻¹ Aᵀ)⁻¹ A M⁻¹, forces without the part that constraints support, where φ = 0; P = P_uᵀ."""
    n = system.nv
    projection, written = dynamics.projections(system, np.array(list(system.q), dtype=object))[0], _written(system)
    P = sympy.Matrix(n, n, [written(e) for e in projection.ravel()])
    return Projections(P, P.T)


def eliminated(system: Equations, explicit: Any, new: Coordinates | None, **options: Any) -> EulerLagrange:
    """See ``Equations.eliminate``."""
    if any(system.lossy) or system.nq != system.nv:
        raise ModelError(
            f"eliminate: {system.name!r} has dissipation or quaternions, expected energies alone. Put the new "
            f"coordinates into the energies and the dissipation yourself, with sixd.lagrange."
        )
    if system.A.shape[0] != system.phi.shape[0]:
        raise ModelError(
            f"eliminate: {system.name!r} has constraints on velocities that are not known to be holonomic, so no "
            f"coordinate can be removed. Ask sixd.is_holonomic, and give the integral as the constraint."
        )
    if explicit is not None and new is None:
        known = {*system.q, *system.qd, *system.symbols}
        fresh = {s for e in explicit.values() for s in getattr(e, "free_symbols", ())} - known
        kept = [x for x in system.q if x not in explicit]
        new = kept + sorted(fresh, key=str) if fresh else None
    T, V = (p.to_sympy(exact=True) for p in system.form.energies)
    options |= {"explicit": explicit, "new": new}
    free = eliminate(T, V, list(system.q), list(system.phi), qd=list(system.qd), **options)
    inputs = free.G.T * system.input_matrix.xreplace(dict(free.map))
    absent: dict[str, Any] = {"dissipation": None, "b": None, "constraints": (), "parameters": (), "bodies": None}
    return euler_lagrange(free.T, free.V, free.q, free.qd, inputs, **absent)


def _written(system: Equations) -> Callable[[Expr], Expr]:
    """A function that simplifies a short expression where the holonomic constraints hold."""
    write = on_constraints(list(system.phi), list(system.q))
    return lambda e: _tidy_if_short(e, write)


def _tidy_if_short(e: Expr, write: Callable[[Expr], Expr] = tidy) -> Any:
    return write(e) if sympy.count_ops(e) < _LONG else sympy.sympify(e)
