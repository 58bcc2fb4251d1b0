"""Explicit steps: the fourth-order Runge–Kutta method (RK4) on Lie groups, and semi-implicit Euler.

``move(q, dq)`` is the system's ``integrate_row``, the group's exponential. For coordinates in a vector space it is a
sum, and both methods are the classical ones. For quaternions exponentials do not commute: one exponential of
a weighted sum of velocities has at most order 2. ``f(t, q, qd, u)`` returns qdd and the rates of the states u of force
elements. Both functions return (q, qd, u) after a step of length h [s].

``…_errors(A, h, nq, nv)`` is the map of small changes of x = [q; qd; u] by a step, if dx/dt = A x: the step is stable
while no mode grows under it. ``EXPLICIT`` has both of each method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sixd.spatial.scalar import Array, Scalar

Rates = Callable[[Scalar, Array, Array, Array], tuple[Array, Array]]
Move = Callable[[Array, Array], Array]
State = tuple[Array, Array, Array]


def euler(move: Move, f: Rates, t: Scalar, h: Scalar, q: Array, qd: Array, u: Array) -> State:
    """Semi-implicit Euler: the new velocity moves the configuration. First order. Symplectic only where the mass matrix
    is constant: in general it is not, since M depends on q."""
    qdd, ud = f(t, q, qd, u)
    qd = qd + qdd * h
    return move(q, qd * h), qd, u + ud * h


def rk4(move: Move, f: Rates, t: Scalar, h: Scalar, q: Array, qd: Array, u: Array) -> State:
    """Commutator-free Runge–Kutta method of fourth order: the configuration moves by two exponentials.

    E. Celledoni, A. Marthinsen, B. Owren, "Commutator-free Lie group methods", *Future Generation Computer Systems* 19
    (2003), equation for order 4 with four stages. In a vector space the two add up to the classical Runge–Kutta sum.
    """
    v1 = qd
    a1, r1 = f(t, q, v1, u)
    q2, v2 = move(q, v1 * (h / 2)), qd + a1 * (h / 2)
    a2, r2 = f(t + h / 2, q2, v2, u + r1 * (h / 2))
    q3, v3 = move(q, v2 * (h / 2)), qd + a2 * (h / 2)
    a3, r3 = f(t + h / 2, q3, v3, u + r2 * (h / 2))
    q4, v4 = move(q2, (v3 - v1 / 2) * h), qd + a3 * h
    a4, r4 = f(t + h, q4, v4, u + r3 * h)

    first = (v1 * 3 + v2 * 2 + v3 * 2 - v4) * (h / 12)
    second = (v2 * 2 + v3 * 2 + v4 * 3 - v1) * (h / 12)
    return move(move(q, first), second), qd + _sum(a1, a2, a3, a4) * (h / 6), u + _sum(r1, r2, r3, r4) * (h / 6)


def _sum(a: Array, b: Array, c: Array, d: Array) -> Array:
    return a + b * 2 + c * 2 + d


def euler_errors(A: Array, h: float, nq: int, nv: int) -> Array:
    """The configuration moves by the new velocity."""
    step = np.eye(len(A)) + A * h
    old = step[:nq].copy()
    old[:, nq : nq + nv] = 0
    step[:nq] = old + A[:nq, nq : nq + nv] * h @ step[nq : nq + nv]
    return step


def rk4_errors(A: Array, h: float, nq: int, nv: int) -> Array:
    """The Taylor polynomial of order 4."""
    Z, one = A * h, np.eye(len(A))
    return one + Z @ (one + Z @ (one + Z @ (one + Z / 4) / 3) / 2)


class ExplicitMethod(NamedTuple):
    """A method: its step, and the map of errors by a step, whose eigenvalues give the stable region."""

    step: Callable[..., State]
    errors: Callable[[Array, float, int, int], Array]

    def __call__(self, *arguments: Any) -> State:
        return self.step(*arguments)


EXPLICIT = {"rk4": ExplicitMethod(rk4, rk4_errors), "euler": ExplicitMethod(euler, euler_errors)}  # the default first
