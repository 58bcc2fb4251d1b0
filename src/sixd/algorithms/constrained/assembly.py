"""Assembly: a configuration near another one that satisfies the constraints, and a velocity that does.

Works on floats only. Levenberg-Marquardt on the configuration manifold with steps of least norm; the damping is
proportional to the square of the error, so that it converges quadratically also where constraints are redundant
(Fan and Yuan 2005).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.algorithms.constrained.rows import constraint_jacobian, constraint_velocity, row_slices
from sixd.algorithms.crba import crba
from sixd.errors import AssemblyError
from sixd.model.constraint import Constraint
from sixd.model.system import System
from sixd.spatial.scalar import Array

# errors are measured by the joint motion [rad or m] that would remove them: rounding leaves 1e-16 of a mechanism's
# size, and 1e-13 of one that is a thousand times smaller than its distance from the origin
ACCEPTED = 1e-10
_ROUNDING = 1e-15
_STEPS = 60
_LONGEST = 0.5  # step of any coordinate [rad or m]
_NEARBY = (0.0, 0.05, 0.2, 0.5, 1.0)  # distances [rad or m] of the starts from the requested one
_ELSEWHERE = 6  # random starts, to distinguish a bad start from constraints that no configuration satisfies


class Attempt(NamedTuple):
    """End of an iteration: the configuration, the worst constraint, its error, and whether it is assembled."""

    q: Array
    worst: Constraint | None
    error: float
    done: bool
    residual: float = 0.0  # |φ| of the worst constraint, in its own unit


def assembled(system: System, q: Array, free: Array, rng: np.random.Generator) -> Attempt:
    """The first success from q (nq,) and from starts near it, else the attempt with the smallest error.

    DoF outside the mask ``free`` (nv,) keep their coordinates.
    """
    best: Attempt | None = None
    for size in _NEARBY:
        start = q if size == 0 else _moved(system, q, rng.uniform(-size, size, system.nv) * free)
        attempt = solve_nearby(system, start, free)
        if attempt.done:
            return attempt
        best = attempt if best is None or attempt.error < best.error else best
    assert best is not None
    return best


def assembled_anywhere(system: System, q: Array, free: Array, rng: np.random.Generator) -> bool:
    """Whether some random start succeeds; coordinates that are not free keep their values."""
    for _ in range(_ELSEWHERE):
        dq = _difference(system, q, np.asarray(system.random_configuration(rng), dtype=float))
        if solve_nearby(system, _moved(system, q, dq * free), free).done:
            return True
    return False


def solve_nearby(system: System, q: Array, free: Array) -> Attempt:
    """The result of the Levenberg-Marquardt iteration from q (nq,); DoF outside the mask ``free`` (nv,) stay."""
    damping, (phi, A) = 1.0, holonomic_rows(system, q)
    for _ in range(_STEPS):
        scale = row_scale(A)
        f, J = phi / scale, A[:, free] / scale[:, None]
        size = float(np.linalg.norm(f))
        if not len(f) or size < _ROUNDING or not free.any() or not (np.isfinite(size) and np.isfinite(J).all()):
            break
        # the damped step of least norm: min ‖J dq + f‖² + μ‖dq‖²; with μ below 1e-16 rounding errors would enter
        # where equations are redundant
        weight = max(np.sqrt(damping) * min(size, 1.0), 1e-8)
        rows = np.vstack([J, np.eye(J.shape[1]) * weight])
        step = np.linalg.lstsq(rows, np.concatenate([-f, np.zeros(J.shape[1])]), rcond=None)[0]
        step *= min(1.0, _LONGEST / max(np.abs(step).max(), 1e-300))
        dq = np.zeros(system.nv)
        dq[free] = step
        there = _moved(system, q, dq)
        phi_there, A_there = holonomic_rows(system, there)
        if np.linalg.norm(phi_there / scale) < size:
            q, phi, A, damping = there, phi_there, A_there, max(damping / 8, 1e-6)
        elif size < ACCEPTED or damping > 1e9:
            break
        else:
            damping *= 8
    return _judged(system, q, phi, A)


def holonomic_rows(system: System, q: Array) -> tuple[Array, Array]:
    """Residual (h,) of the holonomic constraints and its rows of A (h, nv), as floats; see ``Constraint.closure``."""
    pairs = [c.closure(system, q) for c in system.constraints]
    phi = [np.zeros(0), *(np.asarray(error, dtype=float) for error, _ in pairs)]
    A = [np.zeros((0, system.nv)), *(np.asarray(rows, dtype=float) for _, rows in pairs)]
    return np.concatenate(phi), np.concatenate(A)


def row_scale(A: Array) -> Array:
    """The norm (k,) of each row of A, 1 if it is negligible; an error over it is the joint motion that removes it."""
    size = np.linalg.norm(A, axis=1)
    return np.where(size > 1e-12 * size.max(initial=0.0), size, 1.0)


def _judged(system: System, q: Array, phi: Array, A: Array) -> Attempt:
    if not len(phi):
        return Attempt(q, None, 0.0, True)
    errors = np.abs(phi) / row_scale(A)
    errors = np.where(np.isfinite(errors), errors, np.inf)
    owner = [c for c in system.constraints for _ in c.position(system, q)]
    error = float(errors.max())
    worst = int(np.argmax(errors))
    return Attempt(q, owner[worst], error, error <= ACCEPTED, float(abs(phi[worst])))


def assembled_velocity(system: System, q: Array, qd: Array, t: float, free: Array) -> Array:
    """The velocity (nv,) with A qd = b(t) nearest to qd in the mass metric; DoF outside ``free`` keep theirs."""
    A = np.asarray(constraint_jacobian(system, q), dtype=float)
    M = np.asarray(system.apply("mass_matrix", crba, q), dtype=float)[np.ix_(free, free)]
    J, scale, n = A[:, free], row_scale(A), int(free.sum())
    # scale each DoF by its inertia
    inertia = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1.0))
    rows = J / scale[:, None] / inertia
    K = np.block([[M / np.outer(inertia, inertia), rows.T], [rows, np.zeros((len(A), len(A)))]])
    for _ in range(2):  # the second pass removes rounding errors
        residual = -np.asarray(constraint_velocity(system, q, qd, t), dtype=float) / scale
        change = np.linalg.lstsq(K, np.concatenate([np.zeros(n), residual]), rcond=1e-12)[0][:n] / inertia
        qd = qd.copy()
        qd[free] += change
    left = np.abs(np.asarray(constraint_velocity(system, q, qd, t), dtype=float)) / scale
    if not (left <= ACCEPTED * max(1.0, np.abs(qd).max(initial=0.0))).all():
        worst = int(np.argmax(np.where(np.isfinite(left), left, np.inf)))
        name = next(c for c, s in zip(system.constraints, row_slices(system), strict=True) if s.start <= worst < s.stop)
        raise AssemblyError(
            f"assemble: no velocity satisfies the constraints at that configuration: {name.label} is off by "
            f"{left[worst] * scale[worst]:.3g}, expected 0. Do prescribed rates contradict others, or fixed joints?"
        )
    return qd


def _moved(system: System, q: Array, dq: Array) -> Array:
    return np.asarray(system.integrate_row(q, dq), dtype=float)


def _difference(system: System, q0: Array, q1: Array) -> Array:
    return np.asarray(system.difference_row(q0, q1), dtype=float)
