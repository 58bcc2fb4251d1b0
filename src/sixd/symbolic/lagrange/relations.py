"""Constraints written as SymPy expressions of coordinates and velocities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.errors import ModelError
from sixd.lazy import Expr, sympy
from sixd.model.constraint import Constraint
from sixd.model.joints import parameters_of
from sixd.spatial.expressions import evaluate_expressions
from sixd.spatial.scalar import Array, Scalar, symbols_in
from sixd.symbolic.ring.derivative import real_derivative
from sixd.symbolic.ring.normal_form import canonical


@dataclass(frozen=True, eq=False)
class Relation(Constraint):
    """One equation: φ(q) = 0, or A(q) q̇ = b(t), as SymPy expressions.

    ``row`` is A, ``rate`` is Ȧ q̇, ``right`` is b, ``free`` the symbols in it; ``phi`` is None if the constraint is not
    known to be a derivative.
    """

    phi: Any
    row: Any
    rate: Any
    right: Any
    free: frozenset[Expr]

    @property
    def label(self) -> str:
        """The equation as text."""
        if self.phi is not None:
            return f"{self.phi} = 0"
        return f"({', '.join(map(str, self.row))}) q̇ = {self.right}"

    def position(self, system: Any, q: Array) -> Array:
        """φ(q) (1,), or (0,) if it is not known."""
        return system.evaluate([] if self.phi is None else [self.phi], q)

    def velocity(self, system: Any, q: Array, qd: Array) -> Array:
        """A(q) q̇ (1,)."""
        return np.array([system.evaluate(list(self.row), q) @ qd])

    def jacobian(self, system: Any, q: Array) -> Array:
        """A (1, nv)."""
        return system.evaluate(list(self.row), q)[None, :]

    def bias(self, system: Any, q: Array, qd: Array) -> Array:
        """Ȧ q̇ (1,)."""
        return system.evaluate([self.rate], q, qd)

    def target(self, t: Scalar) -> Array | None:
        """b(t) (1,), or None if it is zero."""
        if not getattr(self.right, "free_symbols", None) and self.right == 0:
            return None
        time = next(iter(self.right.free_symbols), None)
        return evaluate_expressions([self.right], {} if time is None else {time: t})


def symbols_of(constraint: Constraint) -> set[Expr]:
    """The SymPy symbols in a constraint, coordinates and velocities among them."""
    return set(constraint.free) if isinstance(constraint, Relation) else symbols_in([parameters_of(constraint)])


def make_relation(e: Expr, q: list[Expr], qd: list[Expr]) -> Relation:
    """The relation e = 0 of q alone, or linear in the velocities with a right-hand side of time ``t``."""
    if not e.free_symbols & {*q, *qd}:
        raise ModelError(f"lagrange: the constraint {e} = 0 contains neither a coordinate nor a velocity.")
    if e.free_symbols & set(qd):
        phi = None
        row = [real_derivative(e, v) for v in qd]
        if any(canonical(real_derivative(a, v)) != 0 for a in row for v in qd):
            raise ModelError(
                f"lagrange: the constraint {e} = 0 is not linear in the velocities, expected A(q) q̇ = b(t)."
            )
        right = -canonical(sympy.expand(e - sum(a * v for a, v in zip(row, qd, strict=True))))
        extra = right.free_symbols - {sympy.Symbol("t")}
        if extra:
            raise ModelError(
                f"lagrange: the constraint {e} = 0 has the right-hand side {right}, which depends on "
                f"{', '.join(sorted(map(str, extra)))}, expected a function of the time t."
            )
    elif sympy.Symbol("t") in e.free_symbols - {*q}:
        raise ModelError(
            f"lagrange: the constraint {e} = 0 depends on the time t, expected one of the coordinates alone. Give its "
            f"rate instead: {e.diff(sympy.Symbol('t'))} + ∂φ/∂q · q̇ = 0, linear in the velocities."
        )
    else:
        phi, right = e, sympy.Integer(0)
        row = [real_derivative(e, x) for x in q]
    if all(canonical(a) == 0 for a in row):
        raise ModelError(f"lagrange: the constraint {e} = 0 does not restrict any motion.")
    rate = sum(real_derivative(a, x) * u * v for a, v in zip(row, qd, strict=True) for x, u in zip(q, qd, strict=True))
    if sympy.sympify(rate).has(sympy.DiracDelta, sympy.Derivative):
        raise ModelError(
            f"lagrange: the constraint {e} = 0 has a kink, where its rate jumps, expected a smooth one. Write the part "
            f"that is meant (theta for Abs(theta)), or round it: sqrt(theta**2 + eps**2)."
        )
    free = e.free_symbols - right.free_symbols
    return Relation(phi, sympy.Matrix(row), sympy.sympify(rate), right, frozenset(free))
