"""Linearization about a motion, with or without constraints: exact derivatives.

Works on floats only, generic over systems. A neighbouring motion has q moved by a (nv,), in the tangent space at q,
and the velocity qd + b. It satisfies the constraints to first order if A_h a = 0, A_h the holonomic rows, and
A b + D(A qd)[a] = 0. Its coordinates x are as many of the a and of the b as are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sixd.algorithms.constrained.assembly import holonomic_rows, row_scale
from sixd.algorithms.constrained.dynamics import projections
from sixd.algorithms.constrained.rows import constraint_jacobian, constraint_velocity
from sixd.algorithms.crba import crba
from sixd.errors import AssemblyError, ModelError, SingularError
from sixd.model.system import System
from sixd.notebook import listed, matrix_rows, table
from sixd.spatial.dual import derivative
from sixd.spatial.scalar import Array

WHERE = "linearize"
_ZERO = 1e-7  # part of the largest singular value: assembly leaves 1e-10 in the rows of A
_DEPENDENT = 1e-6  # rest of a unit vector that others determine; rounding leaves 1e-15
_ASSEMBLED = 1e-8  # in rad or m, and relative to the velocity: assemble leaves 1e-10
_SINGULAR = 1e-13  # smallest eigenvalue of the scaled mass matrix: rounding leaves 1e-15
_DECOUPLED = 1e-9  # part of the largest entry: rounding leaves 1e-13


@dataclass(frozen=True, eq=False)
class Linearization:
    """dx/dt = A x + B u: x (n,) are changes of q at ``positions`` and of qd at ``speeds``, u (nv,) of tau.

    dq, dqd (nv, n): x changes the whole configuration by dq x, in the tangent space at q, and the velocity by dqd x.
    """

    A: Array
    B: Array
    positions: tuple[int, ...]
    speeds: tuple[int, ...]
    dq: Array
    dqd: Array

    @property
    def eigenvalues(self) -> Array:
        """Eigenvalues of A (n,), complex [1/s], by increasing real part."""
        values = np.linalg.eigvals(self.A).astype(complex)
        return values[np.lexsort([values.imag, values.real.round(9)])]

    def _repr_html_(self) -> str:
        """Eigenvalues and matrices as tables, for notebooks."""
        n, m = self.B.shape
        tiny = 1e-12 * np.abs(self.eigenvalues).max(initial=0.0)  # rounding, shown as 0
        parts = [[x if abs(x) > tiny else 0.0 for x in (z.real, z.imag)] for z in self.eigenvalues]
        rows = [[real, imag, abs(imag) / (2 * np.pi)] for real, imag in parts]
        states = [f"δq[{k}]" for k in self.positions] + [f"δqd[{k}]" for k in self.speeds]
        head = ("real part [1/s]", "imaginary part [rad/s]", "frequency [Hz]")
        tables = [
            table(f"Linearization: dx/dt = A x + B u, x = ({listed(states)})", head, rows),
            table(f"A: ({n}, {n})", (), matrix_rows(self.A)),
            table(f"B: ({n}, {m})", (), matrix_rows(self.B)),
        ]
        return "".join(tables)


def linearized(
    system: System,
    q: Array,
    qd: Array,
    t: float,
    positions: Sequence[int] | None,
    speeds: Sequence[int] | None,
    derivatives: Callable[[], tuple[Array, Array]],
) -> Linearization:
    """The linear equations of motions near the one through q (nq,), qd (nv,).

    ``derivatives()`` returns the derivatives (nv, nv) of the accelerations there with respect to q, in the tangent
    space, and to qd.
    """
    _require_assembled(system, q, qd, t)
    M = _mass_matrix(system, q)
    p, s, dq, dqd = _nearby(system, q, qd, t, positions, speeds)
    basis = _columns([system.configuration_rate(q, e) for e in np.eye(system.nv)], system.nq)
    with np.errstate(all="ignore"):  # the result is checked below
        by_q, by_qd = derivatives()
        rates = [_rate(system, q, qd, a, b, basis) for a, b in zip(dq.T, dqd.T, strict=True)]
        P_u = np.asarray(projections(system, q)[1], dtype=float) if system.constraints else np.eye(system.nv)
    F = np.vstack([_columns(rates, system.nv)[p], (by_q @ dq + by_qd @ dqd)[s]])
    G = np.vstack([np.zeros((len(p), system.nv)), np.linalg.solve(M, P_u)[s]])
    if not (np.isfinite(F).all() and np.isfinite(G).all()):
        raise SingularError(
            f"{WHERE}: the accelerations of {system.name!r} are not finite at that state, expected numbers. Is the "
            f"mechanism in a dead centre?"
        )
    kept_p, kept_s = (len(all_ if some is None else some) for all_, some in ((p, positions), (s, speeds)))
    kept = [*range(kept_p), *range(len(p), len(p) + kept_s)]
    _require_decoupled(F, kept, p, s)
    A, B = F[np.ix_(kept, kept)], G[kept]
    return Linearization(A, B, tuple(p[:kept_p]), tuple(s[:kept_s]), dq[:, kept], dqd[:, kept])


def _nearby(
    system: System, q: Array, qd: Array, t: float, positions: Sequence[int] | None, speeds: Sequence[int] | None
) -> tuple[list[int], list[int], Array, Array]:
    """Independent positions and speeds, the requested ones first, and the changes dq and dqd (nv, n) they cause."""
    A = np.asarray(constraint_jacobian(system, q), dtype=float)
    p, Z = _independent("positions", holonomic_rows(system, q)[1], positions)
    s, Y = _independent("speeds", A, speeds)

    def rows_at(x: Array) -> Array:
        return constraint_velocity(system, x, qd, t)

    # the velocity that a change of configuration requires, speeds at s unchanged
    slip = _columns([derivative(rows_at, q, system.configuration_rate(q, a))[1] for a in Z.T], len(A))
    follow = -np.linalg.lstsq(A, slip, rcond=_ZERO)[0]
    dq = np.hstack([Z, np.zeros((system.nv, len(s)))])
    return p, s, dq, np.hstack([follow - Y @ follow[s], Y])


def _rate(system: System, q: Array, qd: Array, a: Array, b: Array, basis: Array) -> Array:
    """da/dt (nv,); dq/dt = basis qd."""
    # q depends on time and on the size of the change, and its mixed derivatives are equal
    along_a = derivative(lambda x: system.configuration_rate(x, qd), q, basis @ a)[1]
    along_qd = derivative(lambda x: system.configuration_rate(x, a), q, basis @ qd)[1]
    return b + np.linalg.lstsq(basis, np.asarray(along_a - along_qd, dtype=float), rcond=None)[0]


def _mass_matrix(system: System, q: Array) -> Array:
    M = np.asarray(system.apply("mass_matrix", crba, q), dtype=float)
    size = np.sqrt(np.maximum(np.diag(M), 0))
    # scale each DoF by its inertia, so that metres and radians can be compared
    if not size.all() or np.linalg.eigvalsh(M / np.outer(size, size)).min(initial=1.0) <= _SINGULAR:
        raise SingularError(
            f"{WHERE}: the mass matrix of {system.name!r} is singular at that configuration, expected inertia for "
            f"every DoF. See sixd.check."
        )
    return M


def _independent(kind: str, A: Array, wanted: Sequence[int] | None) -> tuple[list[int], Array]:
    """DoF that parametrise the solutions of A x = 0, the requested ones first, and Z (nv, m): x = Z x[those]."""
    _, sizes, V = np.linalg.svd(A / row_scale(A)[:, None])
    null = V[int((sizes > _ZERO * sizes.max(initial=0.0)).sum()) :].T
    first = [] if wanted is None else list(wanted)
    if len(first) > null.shape[1]:
        raise ModelError(
            f"{WHERE}: {kind} are {len(first)} DoF {first}, expected at most the {null.shape[1]} that are independent."
        )
    chosen: list[int] = []
    left = null.copy()
    for k in range(null.shape[1]):
        sizes = np.linalg.norm(left, axis=1)
        j = first[k] if k < len(first) else int(np.argmax(sizes))
        if sizes[j] < _DEPENDENT:
            raise ModelError(
                f"{WHERE}: {kind} are {first}, expected independent DoF: the constraints determine that of number "
                f"{j} by those before it. Leave it out."
            )
        u = left[j] / sizes[j]
        left = left - np.outer(left @ u, u)
        chosen.append(j)
    chosen = first + sorted(chosen[len(first) :])
    return chosen, null @ np.linalg.inv(null[chosen])


def _require_assembled(system: System, q: Array, qd: Array, t: float) -> None:
    phi, A_h = holonomic_rows(system, q)
    error = np.abs(phi / row_scale(A_h)).max(initial=0.0)
    A = np.asarray(constraint_jacobian(system, q), dtype=float)
    slip = np.asarray(constraint_velocity(system, q, qd, t), dtype=float) / row_scale(A)
    slip_error = np.abs(slip).max(initial=0.0) / max(1.0, np.abs(qd).max(initial=0.0))
    if not (error <= _ASSEMBLED and slip_error <= _ASSEMBLED):
        raise AssemblyError(
            f"{WHERE}: the state breaks the constraints of {system.name!r} by {max(error, slip_error):.3g}, expected a "
            f"motion that satisfies them. Use q, qd = sixd.assemble(model, q, qd)."
        )


def _require_decoupled(F: Array, kept: list[int], p: list[int], s: list[int]) -> None:
    """Raise if a DoF that is left out acts on one that is kept."""
    others = [j for j in range(len(F)) if j not in kept]
    if not kept or not others:
        return
    felt = np.abs(F[np.ix_(kept, others)]).max(axis=0)
    worst = int(np.argmax(felt))
    if felt[worst] > _DECOUPLED * np.abs(F[kept]).max():
        j = others[worst]
        kind, number = ("positions", p[j]) if j < len(p) else ("speeds", s[j - len(p)])
        raise ModelError(
            f"{WHERE}: {kind} leave out DoF {number}, on which those that are kept depend, expected none such. Add "
            f"it, or leave out the argument."
        )


def _columns(columns: list[Array], n: int) -> Array:
    """The columns (n,) as a matrix (n, m) of floats, m ≥ 0."""
    return np.array(columns, dtype=float).reshape(len(columns), n).T
