"""``sixd.lagrange``: equations of motion from kinetic and potential energy, in coordinates of the user's choice.

``symbolic/lagrange/euler_lagrange.py`` derives them; here they become ``Equations``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sixd.lazy import Expr
from sixd.symbolic.arguments import ExprLike, MatrixLike, VectorLike
from sixd.symbolic.equations.equations import Equations
from sixd.symbolic.lagrange.euler_lagrange import euler_lagrange


def lagrange(
    T: ExprLike,
    V: ExprLike,
    q: Sequence[Expr],
    *,
    qd: Sequence[Expr] | None = None,
    inputs: MatrixLike | None = None,
    dissipation: ExprLike | None = None,
    b: VectorLike | Mapping[Expr, ExprLike] | None = None,
    constraints: Sequence[Expr] = (),
    parameters: Sequence[Expr] = (),
    bodies: Mapping[str, Any] | None = None,
    name: str = "system",
) -> Equations:
    """Equations of motion of a system with kinetic energy T and potential energy V, both SymPy expressions.

    Parameters
    ----------
    T : polynomial of degree at most two in the velocities; the coefficients may depend on q in any way, but not on the
        time. All symbols count as real, whatever their assumptions. A ``ModelWarning`` reports a negative T.
    V : function of q alone.
    q : coordinates: SymPy symbols, or functions of time such as those of ``sympy.physics.mechanics.dynamicsymbols``.
    qd : symbols of the velocities; q1 has qd1, theta has thetad, if omitted. For functions of time, their derivatives.
    inputs : matrix (n, m) T(q) that maps input forces f to generalised forces τ = T f; the identity if omitted.
    dissipation : Rayleigh's function D(q, q̇); ∂D/∂q̇ is a force against the motion. c*qd**2/2 is damping, F*Abs(qd) dry
        friction.
    b : forces b(q, q̇) against the motion that need not have a function D: M q̈ + C q̇ + g + b = τ. One expression for
        each coordinate, or {coordinate: expression}: {theta: c*thetad + F*sign(thetad)} is viscous and Coulomb's
        friction. They are added to those of ``dissipation``.
    constraints : expressions that must be zero (or ``sympy.Eq``): of q alone (holonomic), or linear in the velocities;
        or constraints such as ``sixd.Holonomic`` and ``sixd.Coupling``, with names of coordinates in place of joints.
    parameters : symbols besides q and qd that may occur; any other is then an error. If omitted, a ``ModelWarning``
        names symbols that look like a misspelt coordinate or velocity: one letter wrong, missing, inserted or doubled,
        or two exchanged, in names of three letters or more. Names with other digits, another case, an underscore or a
        letter before or behind (theta0, theta_r, ktheta) and names of Greek letters do not count as misspelt.
    bodies : the bodies that ``sixd.view`` draws; they do not affect the equations. Name -> a dictionary with
        "position", (2,) or (3,) [m], for a rotating body "angle", "rotation" or "euler", as for ``body_energy``, and
        "shapes", a ``sixd.Shape`` or several, in the body's axes about its position; by default a small sphere. z is
        up; of a planar body x points right and y up, and its shapes have the axes x, depth, y. Sizes of shapes may be
        symbols.

    Returns
    -------
    Equations : the fields of ``sixd.equations``, and a system for all functions that do not need bodies or frames.

    >>> import sympy as sp, sixd
    >>> m, l, g, theta, w = sp.symbols("m l g theta w")
    >>> pendulum = sixd.lagrange(m * l**2 * w**2 / 2, -m * g * l * sp.cos(theta), [theta], qd=[w])
    >>> pendulum.tau
    Matrix([[g*l*m*sin(theta) + l**2*m*thetadd]])
    """
    derived = euler_lagrange(T, V, q, qd, inputs, dissipation, b, constraints, parameters, bodies)
    return Equations(name, **derived._asdict())
