"""Constrained motion in closed form: multipliers, projections, independent coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.algorithms.constrained import dynamics
from sixd.algorithms.constrained.rows import is_timed
from sixd.errors import ModelError, ShapeError
from sixd.symbolic.echelon import tidy
from sixd.symbolic.elimination.eliminate import eliminate
from sixd.symbolic.lagrange.euler_lagrange import EulerLagrange, euler_lagrange

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


def constrained(system: Equations, tau: Any) -> Constrained:
    """See ``Equations.constrained``."""
    import sympy

    forces = [sympy.Symbol(f"u{k + 1}") for k in range(system.nv)] if tau is None else list(tau)
    if len(forces) != system.nv:
        raise ShapeError(f"constrained: tau has {len(forces)} entries, expected {system.nv}.")
    q, qd, u = (np.array(list(x), dtype=object) for x in (system.q, system.qd, forces))
    found = dynamics.constrained_dynamics(system, q, qd, u, sympy.Symbol("t") if is_timed(system) else 0)
    return Constrained(*(sympy.Matrix(len(x), 1, [_tidy_if_short(e) for e in x]) for x in found))


def projections(system: Equations) -> Projections:
    """See ``Equations.projections``."""
    import sympy

    n = system.nv
    found = dynamics.projections(system, np.array(list(system.q), dtype=object))
    return Projections(*(sympy.Matrix(n, n, [_tidy_if_short(e) for e in X.ravel()]) for X in found))


def eliminated(
    system: Equations, explicit: Mapping[Any, Any] | None, new: Any, dependent: Any, near: Mapping[Any, Any] | None
) -> EulerLagrange:
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
    options = {"dependent": dependent, "near": near, "explicit": explicit, "new": new}
    found = eliminate(T, V, list(system.q), list(system.phi), qd=list(system.qd), **options)
    inputs = found.G.T * system.input_matrix.xreplace(dict(found.map))
    absent = {"dissipation": None, "constraints": (), "parameters": (), "bodies": None}
    return euler_lagrange(found.T, found.V, found.q, found.qd, inputs, **absent)


def _tidy_if_short(e: Any) -> Any:
    """A short expression made readable, a long one unchanged."""
    import sympy

    return tidy(e) if sympy.count_ops(e) < _LONG else sympy.sympify(e)
