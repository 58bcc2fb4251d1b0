"""``sixd.lagrange``: equations of motion from kinetic and potential energy, in coordinates of the user's choice.

d/dt ∂L/∂q̇ - ∂L/∂q + ∂D/∂q̇ = τ, sorted into M q̈ + C q̇ + g + b. T may have terms of degree two, one and zero in the
velocities (moving frames give the last two); they are told apart exactly, in the ring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import ModelError, ShapeError
from sixd.model.constraint import Constraint
from sixd.spatial.scalar import Array
from sixd.symbolic.coordinates import coordinates, expression, is_listed, time_in, velocities, with_dots
from sixd.symbolic.equations.equations import Equations
from sixd.symbolic.lagrange import plausibility
from sixd.symbolic.lagrange.drawn_bodies import read_bodies
from sixd.symbolic.lagrange.relations import make_relations, symbols_of
from sixd.symbolic.ring.derivative import as_real
from sixd.symbolic.ring.poly import Poly

if TYPE_CHECKING:
    from sixd.symbolic.ring.ring import Ring


def lagrange(
    T: Any,
    V: Any,
    q: Sequence[Any],
    *,
    qd: Sequence[Any] | None = None,
    inputs: Any = None,
    dissipation: Any = None,
    constraints: Sequence[Any] = (),
    parameters: Sequence[Any] = (),
    bodies: Mapping[str, Any] | None = None,
    name: str = "system",
) -> Equations:
    """Equations of motion of a system with kinetic energy T and potential energy V, both SymPy expressions.

    Parameters
    ----------
    T : polynomial of degree at most two in the velocities; the coefficients may depend on q in any way, but not on the
        time. All symbols are taken for real, whatever they were declared. A ``ModelWarning`` tells where T is negative.
    V : function of q alone.
    q : coordinates: SymPy symbols, or functions of time such as those of ``sympy.physics.mechanics.dynamicsymbols``.
    qd : symbols of the velocities; q1 has qd1, theta has thetad, if omitted. For functions of time, their derivatives.
    inputs : matrix (n, m) T(q) that maps input forces f to generalised forces τ = T f; the identity if omitted.
    dissipation : Rayleigh's function D(q, q̇); its slope by q̇ is a force against the motion. c*qd**2/2 is damping,
        F*Abs(qd) dry friction.
    constraints : expressions that must be zero (or ``sympy.Eq``): of q alone (holonomic), or linear in the velocities;
        or constraints such as ``sixd.Holonomic`` and ``sixd.Coupling``, with coordinates' names for joints'.
    parameters : symbols besides q and qd that may occur; if given, any other is an error. If not, a ``ModelWarning``
        tells of symbols that look like a misspelt coordinate or velocity: one letter wrong, missing, put in or doubled,
        or two exchanged, in names of three letters or more; other digits, another case, an underscore or a letter
        before or behind the name (theta0, theta_r, ktheta) mean another thing, and so do names of Greek letters.
    bodies : what ``sixd.view`` draws, without a part in the equations: name -> a dictionary with "position", (2,) or
        (3,) [m], if it turns "angle", "rotation" or "euler", as for ``body_energy``, and "shapes", a ``sixd.Shape`` or
        several, in the body's axes about its position; a small sphere without. z is up; of a planar body x points right
        and y up, and its shapes have the axes x, depth, y. Sizes of shapes may be symbols, too.

    Returns
    -------
    Equations : the fields of ``sixd.equations``, and a system for all functions that need no bodies or frames.

    >>> import sympy as sp, sixd
    >>> m, l, g, theta, w = sp.symbols("m l g theta w")
    >>> pendulum = sixd.lagrange(m * l**2 * w**2 / 2, -m * g * l * sp.cos(theta), [theta], qd=[w])
    >>> pendulum.tau
    Matrix([[g*l*m*sin(theta) + l**2*m*thetadd]])
    """
    from sympy.core.function import AppliedUndef

    from sixd.symbolic.ring.ring import Ring

    symbols, rename = _coordinates(q, qd)
    energy_T, energy_V = _expression("T", T, rename), _expression("V", V, rename)
    loss = _expression("dissipation", 0 if dissipation is None else dissipation, rename)
    matrix = _input_matrix(inputs, len(symbols[0]), symbols[1], rename)
    listed = constraints if is_listed(constraints) else [constraints]
    given = [c if isinstance(c, Constraint) else _expression("a constraint", c, rename) for c in listed]
    relations = make_relations(given, symbols)
    drawn = read_bodies(bodies or {}, symbols[1], rename)
    parts = [energy_T, energy_V, loss, *drawn] + ([] if matrix is None else [matrix])
    free = set().union(*(x.free_symbols for x in parts), *(symbols_of(r) for r in relations))
    left = sorted(free - set(symbols[0]) - set(symbols[1]), key=str)
    known = [str(p) for p in ([parameters] if isinstance(parameters, str) else parameters)]
    _require_known(left, symbols, known)
    unknown = [f for e in (energy_T, energy_V, loss) for f in e.atoms(AppliedUndef)]
    _require_no_functions(unknown, symbols[0])
    plausibility.warn_of_misspelt(left, [*symbols[0], *symbols[1]], known)
    _require_no_time(unknown if "t" in known else [*left, *unknown])

    ring = Ring()
    kinetic, potential, rayleigh = (ring.convert(x) for x in (energy_T, energy_V, loss))
    M, linear, rest = _split(ring, kinetic, symbols[1])
    _require_positions(potential, kinetic, symbols[1])
    system = Equations(
        name,
        ring,
        symbols,
        M=M,
        Gamma=_christoffel(M, symbols[0]),
        g=_array([potential.diff(x) for x in symbols[0]]),
        b=_other_forces(ring, linear, rest, rayleigh, symbols),
        energies=lambda: (kinetic, potential),
        parallel=_angle_groups((energy_T, energy_V, loss), symbols[0]),
        constraints=tuple(relations),
        input_matrix=matrix,
        lossy=tuple(not rayleigh.diff(v).is_zero for v in symbols[1]),
        symbols=tuple(left),
        drawn=drawn,
    )
    _require_no_jumps(system)
    _require_independent(system)
    plausibility.warn_if_negative(system)
    return system


# what is given ----------------------------------------------------------------------------------


def _coordinates(q: Any, qd: Any) -> tuple[tuple[list[Any], list[Any], list[Any]], dict[Any, Any]]:
    """Symbols of q, qd, qdd, and what functions of time and their derivatives are called."""
    import sympy

    given = coordinates("lagrange", q)
    rename: dict[Any, Any] = {}
    names = [x if isinstance(x, sympy.Symbol) else sympy.Symbol(x.func.__name__) for x in given]
    speeds = []
    for x, name, v in zip(given, names, velocities("lagrange", given, qd), strict=True):
        speeds.append(v if isinstance(v, sympy.Symbol) else sympy.Symbol(with_dots(str(name))))
        if x is not name:  # a function of time
            rename |= {x.diff(x.args[0]): speeds[-1], v: speeds[-1], x: name}
    return (names, speeds, [sympy.Symbol(with_dots(str(x), "dd")) for x in names]), rename


def _expression(what: str, x: Any, rename: dict[Any, Any]) -> Any:
    import sympy

    x = x[0, 0] if isinstance(x, sympy.MatrixBase) and x.shape == (1, 1) else x
    value = expression("lagrange", what, x)
    if value.has(sympy.I):
        raise ModelError(f"lagrange: {what} is {x}, expected a real expression. Is I meant as a moment of inertia?")
    return as_real(value.doit().xreplace(rename) if rename else value)


def _input_matrix(inputs: Any, n: int, qd: list[Any], rename: dict[Any, Any]) -> Any:
    import sympy

    if inputs is None:
        return None
    matrix = sympy.Matrix(inputs).xreplace(rename)
    moving = matrix.free_symbols & set(qd)
    if moving:
        raise ModelError(f"lagrange: inputs contains the velocity {moving.pop()}, expected functions of q alone.")
    if matrix.shape[0] != n:
        raise ShapeError(f"lagrange: inputs has shape {matrix.shape}, expected ({n}, m): a row for each coordinate.")
    return matrix


def _require_known(left: list[Any], symbols: tuple[list[Any], ...], known: Sequence[str]) -> None:
    unknown = [s for s in left if str(s) not in known] if known else [s for s in left if str(s) in map(str, symbols[2])]
    for s in left:
        twins = [x for group in symbols[:2] for x in group if str(x) == str(s)]
        if twins:
            raise ModelError(
                f"lagrange: {s} occurs as a coordinate or velocity and, with other assumptions, in the energies. Make "
                f"all symbols with the same assumptions, or give qd=."
            )
    if unknown:
        raise ModelError(
            f"lagrange: unknown symbols {', '.join(map(str, unknown))}, expected coordinates, velocities "
            f"({', '.join(map(str, symbols[1]))}) or parameters. Name them in parameters=, or correct the expression."
        )


def _require_no_functions(found: Sequence[Any], q: list[Any]) -> None:
    """Raise if functions of time stand in the energies where the coordinates are symbols."""
    for f in found:
        name = f.func.__name__
        if name in map(str, q):
            raise ModelError(
                f"lagrange: the energies contain the function {f}, and q the symbol {name}, expected the same in both. "
                f"Give q=[{f}], or write the energies with the symbols {name} and {with_dots(name)}."
            )


def _require_no_time(expressions: Sequence[Any]) -> None:
    """Raise if there is time besides the coordinates: the forces of a drive would be lost."""
    what = time_in(expressions)
    if what is not None:
        raise ModelError(
            f"lagrange: the energies depend on the time by {what}, expected coordinates, velocities and parameters "
            f"alone. Make a driven motion a coordinate with a constraint on its velocity, such as xd - cos(t), or, if "
            f"t is no time, name it in parameters=."
        )


# from energies to forces ------------------------------------------------------------------------


def _split(ring: Ring, T: Poly, qd: list[Any]) -> tuple[Array, list[Poly], Poly]:
    """M, the coefficients of the terms linear in the velocities, and what has none: T = ½ q̇ᵀM q̇ + a·q̇ + T0."""
    slopes = [T.diff(v) for v in qd]
    M = _array([[a.diff(v) for v in qd] for a in slopes]).reshape(len(qd), len(qd))
    for v in qd:
        if any(not x.diff(v).is_zero for x in M.ravel()):
            raise ModelError(
                f"lagrange: T is not quadratic in the velocities: its second derivatives depend on {v}. Assumed is "
                f"T = ½ q̇ᵀM(q)q̇ + a(q)·q̇ + T0(q), as rigid bodies have it. Is a coordinate missing, or a velocity "
                f"misspelt?"
            )
    speeds = _array([ring.convert(v) for v in qd])
    linear = [a - row @ speeds for a, row in zip(slopes, M, strict=True)]
    quadratic = speeds @ (M @ speeds) / 2 if len(qd) else ring.zero
    return M, linear, T - quadratic - sum((a * v for a, v in zip(linear, speeds, strict=True)), ring.zero)


def _christoffel(M: Array, q: list[Any]) -> Array:
    """Γ_ijk = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i)."""
    n = len(q)
    D = _array([[[M[i, j].diff(x) for x in q] for j in range(n)] for i in range(n)]).reshape(n, n, n)
    return (D + D.transpose(0, 2, 1) - D.transpose(2, 0, 1)) / 2 if n else D


def _other_forces(ring: Ring, linear: list[Poly], rest: Poly, loss: Poly, symbols: Any) -> Array:
    """Gyroscopic forces of the linear terms, those of T0, and the slope of the dissipation."""
    q, qd, _ = symbols
    forces = []
    for i, (x, v) in enumerate(zip(q, qd, strict=True)):
        turning = [(linear[i].diff(y) - linear[j].diff(x)) * ring.convert(qd[j]) for j, y in enumerate(q)]
        forces.append(sum(turning, ring.zero) - rest.diff(x) + loss.diff(v))
    return _array(forces)


def _require_positions(V: Poly, T: Poly, qd: list[Any]) -> None:
    swapped = all(T.diff(v).is_zero for v in qd)
    for v in qd:
        if not V.diff(v).is_zero:
            raise ModelError(
                f"lagrange: V depends on the velocity {v}, expected a function of the coordinates alone. "
                + (
                    "Are T and V exchanged? T comes first."
                    if swapped
                    else "Put terms that are linear in velocities into T, with the other sign."
                )
            )


def _require_no_jumps(system: Equations) -> None:
    """Raise if an energy jumps, or has a slope that SymPy cannot tell: no force has such a value."""
    from sympy import Derivative, DiracDelta
    from sympy.core.function import AppliedUndef

    ring = system.ring
    used = {i for x in system.polys.values() for p in x.ravel() for i, _ in ring.exponents(reduce(or_, p.terms, 0))}
    found = [e for i in sorted(used) if (e := ring.generators[i].expr) is not None]
    # slopes of functions that are yet unknown are as they should be
    bad = [d for e in found for d in e.atoms(DiracDelta, Derivative) if not d.has(AppliedUndef)]
    if bad:
        raise ModelError(
            f"lagrange: the forces contain {bad[0]}, expected energies without jumps, of functions with a derivative. "
            f"Write Abs(x) for x*sign(x), Max(x, 0) for x*Heaviside(x), or a Piecewise."
        )


def _require_independent(system: Equations) -> None:
    """Raise if M is singular in every state: a coordinate that moves no mass of its own."""
    rng = np.random.default_rng(1)
    if not system.nv:
        return
    best = np.zeros(system.nv)
    for _ in range(4):
        table = {s: rng.uniform(0.3, 1.2) for s in (*system.symbols, *system.q)}
        M = plausibility.values_of(system.M, table)
        if M is None:  # nothing can be said there
            return
        if not np.isfinite(M).all():
            continue
        size = np.sqrt(np.abs(np.diag(M)))
        if not size.all():
            lost = [k for k, s in enumerate(size) if not s]
            raise ModelError(
                f"lagrange: T has no square of {', '.join(str(system.qd[k]) for k in lost)}, expected kinetic energy "
                f"that is quadratic in every velocity. {_velocity_hint(system, lost[0])}"
            )
        values = np.linalg.svd(M / np.outer(size, size), compute_uv=False)
        best = np.maximum(best, values / values[0])
    if best[0] > 0 and best[-1] < 1e-12:
        raise ModelError(
            f"lagrange: the coordinates {list(system.q)} are dependent: the mass matrix has rank "
            f"{int((best > 1e-12).sum())} of {system.nv} in every configuration. Leave out those that the others tell."
        )


def _velocity_hint(system: Equations, k: int) -> str:
    """What may be meant for the velocity of a coordinate on whose velocity T does not depend."""
    q, qd = str(system.q[k]), str(system.qd[k])
    others = [s for s in map(str, system.symbols) if len(q) > 1 and q in s and s != q]
    if others:
        return f"Is {others[0]} the velocity of {q}? Give qd=[…, {others[0]}, …], or call it {qd}."
    return f"{qd} is what the velocity of {q} is called; give qd= to call it otherwise, or drop the coordinate."


def _angle_groups(expressions: Sequence[Any], q: list[Any]) -> tuple[tuple[Any, ...], ...]:
    """Coordinates that the user adds up in an angle, in groups."""
    import sympy

    groups: list[set[Any]] = []
    for e in expressions:
        for f in e.atoms(sympy.sin, sympy.cos):
            found = f.args[0].free_symbols & set(q)
            if len(found) > 1:
                joined = found.union(*(g for g in groups if g & found))
                groups = [g for g in groups if not g & found] + [joined]
    # written out, the same angles stand in products; combining them is tried for all coordinates in angles
    angles = {s for e in expressions for f in e.atoms(sympy.sin, sympy.cos) for s in f.args[0].free_symbols & set(q)}
    groups = groups or ([angles] if 1 < len(angles) <= 3 else [])
    return tuple(tuple(x for x in q if x in g) for g in groups if len(g) > 1)


def _array(entries: Any) -> Array:
    return np.array(entries, dtype=object)
