"""The implicit midpoint rule in canonical variables: the variational integrator of L_d = h L(q_m, v).

v is the constant velocity that leads from q0 to q1 = q0 ⊕ h v in the time h, q_m = q0 ⊕ h v/2. The momenta at both ends
are the derivatives of L_d, so that a step is symplectic and conserves the momenta of symmetries [J. E. Marsden, M.
West, "Discrete mechanics and variational integrators", *Acta Numerica* 10 (2001)]; forces act at the midpoint. On
groups (quaternions) the derivatives contain those of exponential and logarithm. In a vector space it is the midpoint
rule of Hamilton's equations. Momenta p (nv,) are M qd, in the axes of qd.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sixd.algorithms.constrained.dynamics import mass_metric
from sixd.algorithms.constrained.least_norm import COARSE
from sixd.algorithms.coriolis import coriolis_matrix
from sixd.algorithms.crba import crba
from sixd.algorithms.rnea import bias_force
from sixd.engine.functions import Function
from sixd.forces.elements import Applied
from sixd.model.system import System
from sixd.simulation.problem import NOTHING, Problem
from sixd.spatial.dual import duals, gradient
from sixd.spatial.scalar import Array, Scalar, where

Holding = Callable[[System, Array], Applied]
MOST = 60  # iterations; each reduces the error by a factor of about h |v|
# largest change of v when iterations no longer shrink it: energy of the change over that of the motion
TOLERANCE = 1e-20
COARSE_TOLERANCE = 1e-11  # the same in float32
FLOOR = 1e-26  # J, of motions that come to rest


def momentum(system: System, q: Array, qd: Array) -> Array:
    """Return the momentum p (nv,) = M qd."""
    return system.apply("mass_matrix", crba, q) @ qd


def velocity(system: System, q: Array, p: Array) -> Array:
    """Return the velocity qd (nv,) = M⁻¹ p."""
    return mass_metric(system, q).solve(p)


MOMENTUM = Function("momentum", momentum, ("q", "qd"), named=False, check_finite=False)
VELOCITY = Function("velocity", velocity, ("q", "p"), {"p": ("nv",)}, named=False, check_finite=False)


def ends(
    problem: Problem, t: Scalar, h: Scalar, q: Array, v: Array, u: Array, constants: Mapping[str, Any],
    held: Holding | None = None,
) -> Any:  # fmt: skip
    """Return (p0, p1, p·v, rates of u): the momenta at both ends of the step with velocity v from q, and 2 T. ``held``
    gives further forces in a configuration."""
    system = problem.system_with(constants)
    middle, end = system.integrate_row(q, v * (h / 2)), system.integrate_row(q, v * h)
    p = momentum(system, middle, v)
    time = t + h / 2
    if problem.nu:  # states of force elements by the explicit midpoint rule
        u = u + problem.total_force(system, time, middle, v, u, constants)[2] * (h / 2)
    more = NOTHING if held is None else held(system, middle)
    tau, f_ext, rate = problem.total_force(system, time, middle, v, u, constants, more)
    force = {} if f_ext is None else {"f_ext": f_ext}

    # derivative of L in q, and forces: (dM/dt) v - h + tau, minus the part that rotates with the axes of v
    C = system.apply("coriolis_matrix", coriolis_matrix, middle, v)
    force_on_q = C @ v + C.T @ v - system.apply("bias_force", bias_force, middle, v, **force) + tau
    force_on_q = force_on_q - system.coadjoint_row(middle, v, p)

    def action(q0: Array, q1: Array) -> Scalar:
        """Return a function whose derivatives are those of L_d in small displacements of the ends."""
        dq = system.difference_row(q0, q1)
        return dq @ p + system.difference_row(_fixed(middle), system.integrate_row(q0, dq / 2)) @ force_on_q * h

    _, p0 = gradient(lambda x: np.array([action(x, _fixed(end))]), q, _rates(system, q))
    _, p1 = gradient(lambda x: np.array([action(_fixed(q), x)]), end, _rates(system, end))
    return -p0[0], p1[0], p @ v, rate


def _fixed(q: Array) -> Array:
    """Return a constant configuration as dual numbers."""
    return duals(q, np.zeros(len(q), dtype=int))


def _rates(system: System, q: Array) -> Array:
    """Return (nv, nq): the rate of the configuration with each degree of freedom."""
    return np.array([system.configuration_rate(q, e) for e in np.eye(system.nv, dtype=int)])


def iterate(
    problem: Problem, v: Array, left: Scalar, done: Scalar, t: Scalar, h: Scalar, q: Array, p: Array, u: Array,
    constants: Mapping[str, Any], held: Holding | None = None,
) -> tuple[Array, Scalar, Scalar]:  # fmt: skip
    """Return (v, left, done): the next guess of the velocity, the energy of its change, and 1 if that has not shrunk.

    Newton's method with the mass matrix instead of the exact derivative. A state that is done does not change any more,
    so that it does not depend on its neighbours.
    """
    system = problem.system_with(constants)
    p0, _, _, _ = ends(problem, t, h, q, v, u, constants, held)
    metric = mass_metric(system, system.integrate_row(q, v * (h / 2)))
    residual = p - p0
    change = metric.solve(residual)
    # in J, not relative to the motion's energy: that changes with the guess, and may change faster than the residual
    size = change @ residual
    size = where(size < 0, 0, size)
    shrinks = (size < left) & (size > 0)
    before = done > 0
    return where(before, v, v + change), where(before, left, size), where(shrinks, done, 1)


def finish(
    problem: Problem, v: Array, left: Scalar, t: Scalar, h: Scalar, q: Array, u: Array, constants: Mapping[str, Any],
    held: Holding | None = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Return (q, p, u) at the end of the step; NaN if the iterations have not converged."""
    system = problem.system_with(constants)
    _, p1, energy, rate = ends(problem, t, h, q, v, u, constants, held)
    end = system.integrate_row(q, v * h)
    tolerance = COARSE_TOLERANCE if problem.limits is COARSE else TOLERANCE
    good = left <= (energy + FLOOR / TOLERANCE) * tolerance
    q, p, u = (where(good, x, np.full(x.shape, np.nan)) for x in (end, p1, u + rate * h))
    return q, p, u
