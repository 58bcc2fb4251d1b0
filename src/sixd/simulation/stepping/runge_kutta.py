"""Explicit steps: the fourth-order Runge–Kutta method (RK4) on Lie groups, and semi-implicit Euler.

``move(q, dq)`` is the system's ``integrate_row``, the group's exponential. For coordinates in a vector space it is a
sum, and both methods are the classical ones. ``f(t, q, qd, u)`` returns qdd and the rates of the states u of force
elements. Both functions return (q, qd, u) after a step of length h [s].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sixd.spatial.scalar import Array, Scalar

Rates = Callable[[Scalar, Array, Array, Array], tuple[Array, Array]]
Move = Callable[[Array, Array], Array]
State = tuple[Array, Array, Array]


def euler(move: Move, f: Rates, t: Scalar, h: Scalar, q: Array, qd: Array, u: Array) -> State:
    """Semi-implicit Euler: the new velocity moves the configuration.

    First order. Symplectic only where the mass matrix is constant: in general it is not, since M depends on q.
    """
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


def _sum(a: Any, b: Any, c: Any, d: Any) -> Any:
    return a + b * 2 + c * 2 + d


EXPLICIT = {"euler": euler, "rk4": rk4}
