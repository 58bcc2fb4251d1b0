"""Constrained motion of equations in closed form: multipliers, projections, independent coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.algorithms.constrained.dynamics import constrained_dynamics, projections
from sixd.algorithms.constrained.rows import is_timed
from sixd.errors import ModelError, ShapeError
from sixd.symbolic.echelon import tidy
from sixd.symbolic.elimination.eliminate import eliminate as eliminate_energies

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


_LONG = 300  # operations; common factors of longer fractions take minutes to find


def _tidy(e: Any) -> Any:
    """A short expression made readable; a long one, of which nobody reads more, as it came."""
    import sympy

    return tidy(e) if sympy.count_ops(e) < _LONG else sympy.sympify(e)


class ConstrainedMotion:
    """What constraints do to equations of motion; a part of ``Equations``."""

    def constrained(self: Equations, tau: Any = None) -> Constrained:  # type: ignore[misc]
        """Accelerations and multipliers under generalised forces ``tau`` (nv,), by default the symbols u1, u2, …

        The time of prescribed rates is the symbol t. Long results are left as they come, fractions within fractions.
        """
        import sympy

        forces = [sympy.Symbol(f"u{k + 1}") for k in range(self.nv)] if tau is None else list(tau)
        if len(forces) != self.nv:
            raise ShapeError(f"constrained: tau has {len(forces)} entries, expected {self.nv}.")
        q, qd, u = (np.array(list(x), dtype=object) for x in (self.q, self.qd, forces))
        rows = constrained_dynamics(self, q, qd, u, sympy.Symbol("t") if is_timed(self) else 0)
        qdd, lam = (sympy.Matrix(len(x), 1, [_tidy(e) for e in x]) for x in rows)
        return Constrained(qdd, lam)

    def projections(self: Equations) -> Projections:  # type: ignore[misc]
        """P_u = 1 - Aᵀ(A M⁻¹ Aᵀ)⁻¹ A M⁻¹, which takes from forces what the constraints bear, and P = P_uᵀ."""
        import sympy

        P, P_u = projections(self, np.array(list(self.q), dtype=object))
        return Projections(*(sympy.Matrix(self.nv, self.nv, [_tidy(e) for e in X.ravel()]) for X in (P, P_u)))

    def eliminate(  # type: ignore[misc]
        self: Equations,
        explicit: Mapping[Any, Any] | None = None,
        *,
        new: Any = None,
        dependent: Any = None,
        near: Mapping[Any, Any] | None = None,
    ) -> Equations:
        """The equations in independent coordinates: the holonomic constraints solved, or put in by ``explicit``.

        Parameters
        ----------
        explicit : the old coordinates as functions of the new ones, {x: R*cos(phi), y: R*sin(phi)}; it must satisfy the
            constraints. Without it the constraints are solved for ``dependent`` coordinates, ``near`` a point.
        new : the new coordinates, where they are not among the old ones; by default the symbols that ``explicit``
            brings in, sorted by name.
        """
        from sixd.symbolic.lagrange.euler_lagrange import lagrange

        if any(self.lossy) or self.nq != self.nv:
            raise ModelError(
                f"eliminate: {self.name!r} has dissipation or quaternions, expected energies alone. Put the new "
                f"coordinates into the energies and the dissipation yourself, with sixd.lagrange."
            )
        if self.A.shape[0] != self.phi.shape[0]:
            raise ModelError(
                f"eliminate: {self.name!r} has constraints on velocities that are not known to be holonomic, so no "
                f"coordinate can be removed. Ask sixd.is_holonomic, and give the integral as the constraint."
            )
        if explicit is not None and new is None:
            known = {*self.q, *self.qd, *self.symbols}
            fresh = {s for e in explicit.values() for s in getattr(e, "free_symbols", ())} - known
            kept = [x for x in self.q if x not in explicit]
            new = kept + sorted(fresh, key=str) if fresh else None
        T, V = (p.to_sympy(exact=True) for p in self._energies())
        options = {"dependent": dependent, "near": near, "explicit": explicit, "new": new}
        found = eliminate_energies(T, V, list(self.q), list(self.phi), qd=list(self.qd), **options)
        inputs = found.G.T * self.input_matrix.xreplace(dict(found.map))
        return lagrange(found.T, found.V, found.q, qd=found.qd, inputs=inputs, name=self.name)
