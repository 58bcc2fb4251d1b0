"""Stability limits: the linearized motion at a state, and the longest step for which a fixed-step method is stable.

At a state x = [q; qd; u] small changes obey dx/dt = A x. A method with the step h maps x linearly, and modes that decay
or oscillate must not grow under that map. For a single mode λ the limits of h |λ| are the known ones: rk4 2.78 (decay)
and 2.83 (oscillation), semi-implicit Euler 2. A comes from differences of the compiled step itself, with a very
short step, so that controllers, force elements, constraints and quaternions are included, and nothing else is compiled.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sixd.simulation.stepping import midpoint
from sixd.simulation.stepping.compiled_steps import MIDPOINT
from sixd.simulation.stepping.fixed import Runner
from sixd.simulation.stepping.implicit import IMPLICIT
from sixd.simulation.stepping.runge_kutta import EXPLICIT
from sixd.spatial.scalar import Array

MARGIN = 0.897  # part of the limit from which on a step is reported: h λ = 2.5 (rk4) and 1.8 (euler) are beyond it
_MOST_ROWS = 16  # of a batch that are examined
_SAFE = 0.5  # |h λ| at which all methods are stable: semi-implicit Euler is to 0.83, midpoint's iterations to 0.59
_GROWTH = {"float64": 1e-4, "float32": 1e-2}  # of a mode in a step by rounding, besides its own growth
_SHIFT = 100  # differences: a speed at which dry friction keeps its sign


class Limit(NamedTuple):
    """The longest stable step [s] at a state, the mode [1/s] that limits it, and the DoF that moves most in it."""

    step: float
    mode: complex
    dof: int


def step_limit(runner: Runner, rows: Array, *, has_friction: bool) -> Limit | None:
    """Return the shortest limit of some states of a runner if its step is beyond ``MARGIN`` of it, else None.

    "implicit" has no limit: it is L-stable, and a mode that decays does so with any step.
    ``has_friction``: dry friction has a derivative of zero except at rest, so linearize near rest, not at rest.
    """
    if runner.method == IMPLICIT:
        return None
    good = np.isfinite(runner.setup.q[rows]).all(axis=1) & np.isfinite(runner.setup.qd[rows]).all(axis=1)
    rows = rows[good]
    if not len(rows):
        return None
    nq = runner.setup.q.shape[1]
    with np.errstate(all="ignore"):  # the results are checked
        matrices = _linearized(runner, rows, has_friction)
        matrices = matrices[np.isfinite(matrices).all(axis=(1, 2))]
        limits = []
        for A in matrices[_bound(matrices, nq, runner.h) > _SAFE * MARGIN]:
            with contextlib.suppress(np.linalg.LinAlgError):  # numbers near the largest ones
                limits.append(_limit(runner, A, nq))
    return min((x for x in limits if x is not None), key=lambda x: x.step, default=None)


def some_rows(count: int) -> Array:
    """Return the indices of a few states, spread evenly over all."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, _MOST_ROWS)).astype(int))


# linearization ----------------------------------------------------------------------------------


def _linearized(runner: Runner, rows: Array, has_friction: bool) -> Array:
    """Return A (rows, n, n) by central differences."""
    # differences of states, the short step as a part of h, and the h |λ| above which it is not short enough: rounding
    # leaves 1e-6 of 1/h in A, and 1e-3 in single precision
    size, part, most = (1e-5, 1e-5, 1e-3) if runner.setup.dtype == "float64" else (1e-2, 1e-2, 0.1)
    short = runner.h * part
    for _ in range(3):
        A = _differences(runner, rows, short, size, has_friction)
        if not (_bound(A, runner.setup.q.shape[1], short) > most).any():
            break
        short *= 1e-3
    return A


def _differences(runner: Runner, rows: Array, short: float, size: float, has_friction: bool) -> Array:
    """Return A (rows, n, n) from steps of length ``short`` of states that differ by ``size``."""
    setup = runner.setup
    nq, nv = setup.q.shape[1], setup.qd.shape[1]
    x = np.concatenate([setup.q[rows], setup.qd[rows], setup.u[rows]], axis=1)
    delta = size * np.maximum(1.0, np.abs(x))
    if has_friction:
        qd, least = x[:, nq : nq + nv], _SHIFT * delta[:, nq : nq + nv]
        x[:, nq : nq + nv] = np.where(np.abs(qd) < least, np.where(qd < 0, -least, least), qd)
    # (rows, entry that changes, ±, with a short step or of length 0, state): length 0 gives the effect of projections
    n = x.shape[1]
    changes = np.eye(n)[:, None] * np.array([1.0, -1.0])[:, None]
    x = (x[:, None, None] + changes * delta[:, None, None])[:, :, :, None].repeat(2, axis=3)
    flat = x.reshape(-1, n).astype(setup.dtype)
    each = 4 * n
    constants = {k: np.repeat(c[rows], each, axis=0) if len(c) > 1 else c for k, c in setup.constants.items()}
    q, qd, u = (np.ascontiguousarray(part) for part in np.split(flat, [nq, nq + nv], axis=1))
    other = replace(setup, batch=(len(flat),), q=q, qd=qd, u=u, constants=constants, sampled=None)
    after = runner.restarted(other, np.tile([short, 0.0], len(flat) // 2), runner.start).advance([1], 1, None)
    y = np.concatenate([after.q[:, 0], after.qd[:, 0], after.u[:, 0]], axis=1, dtype=float).reshape(x.shape)
    change = (y[:, :, 0] - y[:, :, 1]) / (2 * delta[:, :, None, None])
    return np.swapaxes(change[:, :, 0] - change[:, :, 1], 1, 2) / short


def _bound(A: Array, nq: int, h: float) -> Array:
    """Return an upper bound (rows,) of h |λ| from ‖(hA)^16‖: 20 us for six joints, where eigenvalues take 100."""
    Z = A * h
    Z[:, :nq, nq:] /= h  # velocities times h
    Z[:, nq:, :nq] *= h
    for _ in range(4):
        Z = Z @ Z
    size = np.linalg.norm(Z, axis=(1, 2)) ** (1 / 16)
    return np.where(np.isnan(size), np.inf, size)  # an overflow


# limits -----------------------------------------------------------------------------------------


def _limit(runner: Runner, A: Array, nq: int) -> Limit | None:
    """Return the limit that A sets, by bisection, if the step of the runner is beyond ``MARGIN`` of it."""
    nv = runner.setup.qd.shape[1]
    values, vectors = np.linalg.eig(A)
    fastest = np.abs(values).max()
    dtype, grows = runner.setup.dtype, values.real.max(initial=0.0)

    def fits(h: float) -> bool:
        errors = _MAPS[runner.method](A, h, nq, nv)
        if not np.isfinite(errors).all():  # an overflow
            return False
        size = np.abs(np.linalg.eigvals(errors)).max()
        if runner.method == MIDPOINT:  # the number of iterations is bounded
            tolerance = midpoint.TOLERANCE if dtype == "float64" else midpoint.COARSE_TOLERANCE
            return bool(size <= tolerance ** (0.5 / midpoint.MOST))  # of energies, hence the root for velocities
        # no mode grows faster by a step than the motion itself, which may be unstable
        return bool(size <= (1 + _GROWTH[dtype]) * np.exp(min(h * grows, 700.0)))

    low, high = _SAFE / fastest, runner.h / MARGIN
    if not low < high or fits(high):
        return None
    for _ in range(30):
        middle = low**0.5 * high**0.5  # their product may be too small for a number
        low, high = (middle, high) if fits(middle) else (low, middle)
    worst = int(np.argmax(np.where(values.real <= fastest * 1e-3, np.abs(values), 0)))
    # participation of the degrees of freedom in the mode: whatever the units, the sum over all states is 1
    parts = np.abs(vectors[:, worst] * np.linalg.pinv(vectors)[worst])[nq : nq + nv]
    return Limit(low, complex(values[worst]), int(np.argmax(parts)))


def _midpoint(A: Array, h: float, nq: int, nv: int) -> Array:
    """Each iteration multiplies the error by (h/2) (M⁻¹D + (h/2) M⁻¹K)."""
    qv, vq, vv = A[:nq, nq : nq + nv], A[nq : nq + nv, :nq], A[nq : nq + nv, nq : nq + nv]
    return (vv + vq @ qv * (h / 2)) * (h / 2)


# the maps of errors: of a state by a step, or of the velocity by an iteration
_MAPS = {**{name: method.errors for name, method in EXPLICIT.items()}, MIDPOINT: _midpoint}
