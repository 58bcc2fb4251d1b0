"""Dry friction in equations of motion: forces b that jump with the sign of their own coordinate's velocity."""

from __future__ import annotations

from typing import NamedTuple

from sixd.lazy import Expr, sympy
from sixd.model.memo import remember
from sixd.symbolic.equations.equations import Equations


class DryFriction(NamedTuple):
    """The forces F (nv,) in b = F sign(q̇) + …, functions of q; and the coordinates with forces that jump otherwise."""

    coefficients: list[Expr]
    others: tuple[str, ...]


def dry_friction(equations: Equations) -> DryFriction:
    """Return the dry friction of a system; computed once."""

    def compute() -> DryFriction:
        coefficients: list[Expr] = [sympy.Integer(0)] * equations.nv
        others = []
        if any(equations.lossy):
            for i, (qd, force) in enumerate(zip(equations.qd, equations.b, strict=True)):
                if not force.has(sympy.sign):
                    continue
                own = sympy.sign(qd)
                force = sympy.expand(force)
                coefficient = force.coeff(own)
                rest = sympy.expand(force - coefficient * own)
                if rest.has(sympy.sign) or coefficient.has(*equations.qd):
                    others.append(equations.joint_names[i] if equations.model is None else str(equations.q[i]))
                else:
                    coefficients[i] = coefficient
        return DryFriction(coefficients, tuple(others))

    return remember(equations, "dry friction", compute)
