"""The constraints of a system side by side: φ(q) = 0 and A(q) qd = b(t), rows in the order of ``system.constraints``.

Generic over systems; each constraint computes its own rows of A.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sixd.errors import ModelError
from sixd.model.constraint import Constraint
from sixd.model.memo import remember
from sixd.model.system import System
from sixd.spatial.dual import derivative
from sixd.spatial.scalar import Array, Scalar


def row_counts(system: System) -> tuple[tuple[int, int], ...]:
    """(k, h) of each constraint: the number of its rows of A, and of those that are rates of a position."""
    return remember(system, "row counts", lambda: _row_counts(system))


@np.errstate(all="ignore")  # only the lengths matter
def _row_counts(system: System) -> tuple[tuple[int, int], ...]:
    q, qd = np.asarray(system.neutral()), np.zeros(system.nv)
    if system.symbols:  # floats do not mix with them
        q, qd = _symbolic(system.nq, "q"), _symbolic(system.nv, "v")
    return tuple((len(c.velocity(system, q, qd)), len(c.position(system, q))) for c in system.constraints)


def _symbolic(n: int, letter: str) -> Array:
    import sympy

    out = np.empty(n, dtype=object)
    out[:] = [sympy.Dummy(f"{letter}{k}") for k in range(n)]
    return out


def row_slices(system: System) -> list[slice]:
    """The slice of each constraint's rows among the rows of A."""
    ends = np.cumsum([k for k, _ in row_counts(system)], dtype=int).tolist()
    return [slice(end - k, end) for end, (k, _) in zip(ends, row_counts(system), strict=True)]


def is_timed(system: System) -> bool:
    """Whether a constraint prescribes a rate b(t)."""
    return any(c.target(0.0) is not None for c in system.constraints)


def constraint_error(system: System, q: Array) -> Array:
    """φ (h,): the residual of the holonomic constraints, zero when the mechanism is assembled."""
    return _join([c.position(system, q) for c in system.constraints])


def constraint_jacobian(system: System, q: Array) -> Array:
    """A (k, nv): the constraints are A qd = b(t)."""
    none = np.zeros((0, system.nv), dtype=int)
    return np.concatenate([none, *(c.jacobian(system, q) for c in system.constraints)])


def constraint_velocity(system: System, q: Array, qd: Array, t: Scalar = 0.0) -> Array:
    """A qd - b(t) (k,): the residual of the velocity."""
    return _join([c.velocity(system, q, qd) for c in system.constraints]) - constraint_target(system, t)[0]


def constraint_bias(system: System, q: Array, qd: Array) -> Array:
    """dA/dt qd (k,): the rate of A qd at qdd = 0."""
    return _join([c.bias(system, q, qd) for c in system.constraints])


def constraint_target(system: System, t: Scalar) -> tuple[Array, Array]:
    """b(t) and db/dt, each (k,)."""
    pairs = [_target(c, k, t) for c, (k, _) in zip(system.constraints, row_counts(system), strict=True)]
    return _join([b for b, _ in pairs]), _join([rate for _, rate in pairs])


def padded_error(system: System, q: Array) -> Array:
    """φ (k,) with zeros for the rows that are not rates of a position."""
    parts = []
    for c, (k, h) in zip(system.constraints, row_counts(system), strict=True):
        parts += [c.position(system, q), np.zeros(k - h, dtype=int)]
    return _join(parts)


def constraint_forces(system: System, q: Array, lam: Array) -> Array:
    """Aᵢᵀλᵢ (number of constraints, nv): the generalised force of each constraint."""
    forces = [lam[rows] @ c.jacobian(system, q) for c, rows in zip(system.constraints, row_slices(system), strict=True)]
    return np.array(forces).reshape(len(forces), system.nv)


def _target(c: Constraint, k: int, t: Scalar) -> tuple[Array, Array]:
    zero = np.zeros(k, dtype=int)
    if c.target(0.0) is None:
        return zero, zero
    b, rate = derivative(lambda x: c.target(x[0]), np.array([t]), np.ones(1, dtype=int))
    if b.shape != (k,):
        raise ModelError(f"{c.label}: its rate gives shape {b.shape}, expected ({k},), one for each row.")
    return b, rate


def _join(parts: Sequence[Array]) -> Array:
    return np.concatenate([np.zeros(0, dtype=int), *parts])
