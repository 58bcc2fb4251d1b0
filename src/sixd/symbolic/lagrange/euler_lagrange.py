"""Lagrange's equations: from kinetic and potential energy to M q̈ + C q̇ + g + b = τ.

d/dt ∂L/∂q̇ - ∂L/∂q + ∂D/∂q̇ = τ. T may have terms of degree two, one and zero in the velocities (moving frames give the
last two); they are separated exactly, in the ring. ``sixd.lagrange`` makes ``Equations`` of the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from sixd.errors import ModelError, ShapeError, require_known
from sixd.lazy import Expr, sympy
from sixd.model.constraint import Constraint
from sixd.spatial.scalar import Array
from sixd.symbolic import arguments
from sixd.symbolic.arguments import Coordinates, ExprLike, MatrixLike, VectorLike
from sixd.symbolic.closed_form import ClosedForm
from sixd.symbolic.lagrange import plausibility
from sixd.symbolic.lagrange.drawn_bodies import DrawnBody, read_bodies
from sixd.symbolic.lagrange.relations import make_relation, symbols_of
from sixd.symbolic.ring.derivative import as_real
from sixd.symbolic.ring.poly import Poly
from sixd.symbolic.ring.ring import Ring


class EulerLagrange(NamedTuple):
    """Lagrange's equations in closed form, with inputs, constraints and bodies: the arguments of ``Equations``."""

    form: ClosedForm
    constraints: tuple[Constraint, ...]
    input_matrix: Any
    lossy: tuple[bool, ...]
    symbols: tuple[Expr, ...]
    drawn: tuple[DrawnBody, ...]


def euler_lagrange(
    T: ExprLike,
    V: ExprLike,
    q: Coordinates,
    qd: Coordinates | None,
    inputs: MatrixLike | None,
    dissipation: ExprLike | None,
    b: VectorLike | Mapping[Expr, ExprLike] | None,
    constraints: Constraint | ExprLike | Sequence[Constraint | ExprLike],
    parameters: str | Sequence[Expr | str],
    bodies: Mapping[str, Any] | None,
) -> EulerLagrange:
    """Lagrange's equations of the energies; see ``sixd.lagrange`` for the arguments."""
    # the arguments, with symbols for all functions of time
    symbols, rename = _coordinates(q, qd, (T, V, dissipation, constraints))
    q, qd, _ = symbols
    energy_T, energy_V = _expression("T", T, rename), _expression("V", V, rename)
    loss = _expression("dissipation", 0 if dissipation is None else dissipation, rename)
    resistance = [_expression("b", e, rename) for e in _forces(b, q, rename)]
    matrix = _input_matrix(inputs, len(q), qd, rename)
    relations = _relations(constraints, q, qd, rename)
    drawn = read_bodies(bodies or {}, qd, rename)

    # all other symbols are parameters
    expressions = [energy_T, energy_V, loss, *resistance]
    parts = [*expressions, *drawn] + ([] if matrix is None else [matrix])
    free = set().union(*(x.free_symbols for x in parts), *(symbols_of(r) for r in relations))
    left = sorted(free - set(q) - set(qd), key=str)
    _check_parameters(left, symbols, expressions, parameters)

    # the equations, in a ring
    ring = Ring()
    kinetic, potential, rayleigh = (ring.convert(x) for x in (energy_T, energy_V, loss))
    forces = ring.array(resistance)
    M, linear, rest = _split(ring, kinetic, qd)
    _require_positions(potential, kinetic, qd)
    polys = {
        "M": M,
        "Gamma": _christoffel(ring, M, q),
        "g": ring.array([potential.diff(x) for x in q]),
        "b": _other_forces(ring, linear, rest, rayleigh, q, qd) + forces,
    }
    groups = _angle_groups((energy_T, energy_V, loss), q)
    form = ClosedForm(ring, *symbols, polys, lambda: (kinetic, potential), groups)
    lossy = tuple(not (rayleigh.diff(v).is_zero and f.is_zero) for v, f in zip(qd, forces, strict=True))
    _require_no_jumps(form)
    _require_independent(form, left)
    plausibility.warn_if_negative(form, left)
    return EulerLagrange(form, tuple(relations), matrix, lossy, tuple(left), drawn)


# arguments -----------------------------------------------------------------------------------------


def _coordinates(
    q: Coordinates, qd: Coordinates | None, used: Sequence[Expr]
) -> tuple[tuple[list[Expr], list[Expr], list[Expr]], dict[Expr, Expr]]:
    """Symbols of q, qd, qdd, and the symbols that replace functions of time and their derivatives."""
    positions = arguments.coordinates("lagrange", q)
    rename: dict[Expr, Expr] = {}
    names = [x if isinstance(x, sympy.Symbol) else sympy.Symbol(x.func.__name__) for x in positions]
    speeds = []
    for x, name, v in zip(positions, names, arguments.velocities("lagrange", positions, qd, used), strict=True):
        speeds.append(v if isinstance(v, sympy.Symbol) else sympy.Symbol(arguments.with_dots(str(name))))
        if x is not name:  # a function of time
            rename |= {x.diff(x.args[0]): speeds[-1], v: speeds[-1], x: name}
    return (names, speeds, [sympy.Symbol(arguments.with_dots(str(x), "dd")) for x in names]), rename


def _expression(what: str, x: object, rename: dict[Expr, Expr]) -> Any:
    x = x[0, 0] if isinstance(x, sympy.MatrixBase) and x.shape == (1, 1) else x
    value = arguments.expression("lagrange", what, x)
    if value.has(sympy.I):
        raise ModelError(f"lagrange: {what} is {x}, expected a real expression. Is I meant as a moment of inertia?")
    return as_real(value.doit().xreplace(rename) if rename else value)


def _input_matrix(inputs: MatrixLike | None, n: int, qd: list[Expr], rename: dict[Expr, Expr]) -> Any:
    if inputs is None:
        return None
    matrix = sympy.Matrix(inputs).xreplace(rename)
    moving = matrix.free_symbols & set(qd)
    if moving:
        raise ModelError(f"lagrange: inputs contains the velocity {moving.pop()}, expected functions of q alone.")
    if matrix.shape[0] != n:
        raise ShapeError(f"lagrange: inputs has shape {matrix.shape}, expected ({n}, m): a row for each coordinate.")
    return matrix


def _forces(b: VectorLike | Mapping[Expr, ExprLike] | None, q: list[Expr], rename: dict[Expr, Expr]) -> list[Expr]:
    """The forces b (n,), zero if omitted."""
    if b is None:
        return [0] * len(q)
    if not isinstance(b, Mapping):
        forces = arguments.entries_of("lagrange", "b", b)
        if len(forces) != len(q):
            raise ShapeError(f"lagrange: b has {len(forces)} entries, expected {len(q)}, one for each coordinate.")
        return forces
    names = {str(rename.get(x, x)): e for x, e in b.items()}
    for name in names:
        require_known("lagrange: b", "coordinate", name, [str(x) for x in q])
    return [names.get(str(x), 0) for x in q]


def _relations(constraints: Any, q: list[Expr], qd: list[Expr], rename: dict[Expr, Expr]) -> list[Constraint]:
    """The constraints; expressions become relations."""
    listed = constraints if arguments.is_listed(constraints) else [constraints]
    checked = [c if isinstance(c, Constraint) else _expression("a constraint", c, rename) for c in listed]
    return [c if isinstance(c, Constraint) else make_relation(c, q, qd) for c in checked]


def _check_parameters(
    left: list[Expr], symbols: tuple[list[Expr], ...], expressions: Sequence[Expr], parameters: str | Sequence[Expr]
) -> None:
    """Raise for symbols ``left`` that cannot be parameters and for functions of time; warn of misspelt names."""
    from sympy.core.function import AppliedUndef

    q, qd, _ = symbols
    known = [str(p) for p in ([parameters] if isinstance(parameters, str) else parameters)]
    _require_known(left, symbols, known)
    functions = [f for e in expressions for f in e.atoms(AppliedUndef)]
    _require_no_functions(functions, q)
    plausibility.warn_of_misspelt(left, [*q, *qd], known)
    _require_no_time(functions if "t" in known else [*left, *functions])


def _require_known(left: list[Expr], symbols: tuple[list[Expr], ...], known: Sequence[str]) -> None:
    unknown = [s for s in left if str(s) not in known] if known else [s for s in left if str(s) in map(str, symbols[2])]
    for s in left:
        if str(s) in map(str, [*symbols[0], *symbols[1]]):
            raise ModelError(
                f"lagrange: {s} occurs as a coordinate or velocity and, with other assumptions, in the energies. Make "
                f"all symbols with the same assumptions, or give qd=."
            )
    if unknown:
        raise ModelError(
            f"lagrange: unknown symbols {', '.join(map(str, unknown))}, expected coordinates, velocities "
            f"({', '.join(map(str, symbols[1]))}) or parameters. Name them in parameters=, or correct the expression."
        )


def _require_no_functions(functions: Sequence[Expr], q: list[Expr]) -> None:
    """Raise if the energies contain functions of time whose names are those of coordinates."""
    for f in functions:
        name = f.func.__name__
        if name in map(str, q):
            raise ModelError(
                f"lagrange: the energies contain the function {f}, and q the symbol {name}, expected the same in both. "
                f"Give q=[{f}], or write the energies with the symbols {name} and {arguments.with_dots(name)}."
            )


def _require_no_time(expressions: Sequence[Expr]) -> None:
    """Raise if the energies depend on time explicitly: the forces of a drive would be lost."""
    what = arguments.time_in(expressions)
    if what is not None:
        raise ModelError(
            f"lagrange: the energies depend on the time by {what}, expected coordinates, velocities and parameters "
            f"alone. Make a driven motion a coordinate with a constraint on its velocity, such as xd - cos(t), or, if "
            f"t is not the time, name it in parameters=."
        )


# from energies to forces ------------------------------------------------------------------------


def _split(ring: Ring, T: Poly, qd: list[Expr]) -> tuple[Array, list[Poly], Poly]:
    """M, a and T0 of T = ½ q̇ᵀM q̇ + a·q̇ + T0."""
    momenta = [T.diff(v) for v in qd]
    M = ring.array([[a.diff(v) for v in qd] for a in momenta]).reshape(len(qd), len(qd))
    for v in qd:
        if any(not x.diff(v).is_zero for x in M.ravel()):
            raise ModelError(
                f"lagrange: T is not quadratic in the velocities: its second derivatives depend on {v}, expected "
                f"T = ½ q̇ᵀM(q)q̇ + a(q)·q̇ + T0(q), as for rigid bodies. Is a coordinate missing, or a velocity "
                f"misspelt?"
            )
    speeds = ring.array(qd)
    linear = [a - row @ speeds for a, row in zip(momenta, M, strict=True)]
    quadratic = speeds @ (M @ speeds) / 2 if len(qd) else ring.zero
    return M, linear, T - quadratic - sum((a * v for a, v in zip(linear, speeds, strict=True)), ring.zero)


def _christoffel(ring: Ring, M: Array, q: list[Expr]) -> Array:
    """Γ_ijk = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i)."""
    n = len(q)
    D = ring.array([[[M[i, j].diff(x) for x in q] for j in range(n)] for i in range(n)]).reshape(n, n, n)
    return (D + D.transpose(0, 2, 1) - D.transpose(2, 0, 1)) / 2 if n else D


def _other_forces(ring: Ring, linear: list[Poly], rest: Poly, loss: Poly, q: list[Expr], qd: list[Expr]) -> Array:
    """Gyroscopic forces of the linear terms, forces of T0, and of the dissipation."""
    forces = []
    for i, (x, v) in enumerate(zip(q, qd, strict=True)):
        gyroscopic = [(linear[i].diff(y) - linear[j].diff(x)) * ring.convert(qd[j]) for j, y in enumerate(q)]
        forces.append(sum(gyroscopic, ring.zero) - rest.diff(x) + loss.diff(v))
    return ring.array(forces)


def _require_positions(V: Poly, T: Poly, qd: list[Expr]) -> None:
    swapped = all(T.diff(v).is_zero for v in qd)
    hint = "Are T and V exchanged? T comes first."
    if not swapped:
        hint = "Put terms that are linear in velocities into T, with the other sign."
    for v in qd:
        if not V.diff(v).is_zero:
            raise ModelError(
                f"lagrange: V depends on the velocity {v}, expected a function of the coordinates alone. {hint}"
            )


def _require_no_jumps(form: ClosedForm) -> None:
    """Raise if an energy jumps, or has a derivative unknown to SymPy: the force would have no value."""
    from sympy.core.function import AppliedUndef

    ring = form.ring
    used = {i for x in form.polys.values() for p in x.ravel() for i, _ in ring.exponents(reduce(or_, p.terms, 0))}
    present = [e for i in sorted(used) if (e := ring.generators[i].expr) is not None]
    # derivatives of the user's undefined functions are correct as they are
    bad = [d for e in present for d in e.atoms(sympy.DiracDelta, sympy.Derivative) if not d.has(AppliedUndef)]
    if bad:
        raise ModelError(
            f"lagrange: the forces contain {bad[0]}, expected energies without jumps, of functions with a derivative. "
            f"Write Abs(x) for x*sign(x), Max(x, 0) for x*Heaviside(x), or a Piecewise."
        )


def _require_independent(form: ClosedForm, parameters: Sequence[Expr]) -> None:
    """Raise if M is singular in every state, as with a coordinate that moves no mass."""
    rng = np.random.default_rng(1)
    if not form.nv:
        return
    best = np.zeros(form.nv)
    for _ in range(4):
        M = plausibility.values_of(form.M, {s: rng.uniform(0.3, 1.2) for s in (*parameters, *form.q)})
        if M is None:  # undecidable
            return
        if not np.isfinite(M).all():
            continue
        size = np.sqrt(np.abs(np.diag(M)))
        if not size.all():
            lost = [k for k, s in enumerate(size) if not s]
            raise ModelError(
                f"lagrange: T has no square of {', '.join(str(form.qd[k]) for k in lost)}, expected kinetic energy "
                f"that is quadratic in every velocity. {_velocity_hint(form, parameters, lost[0])}"
            )
        values = np.linalg.svd(M / np.outer(size, size), compute_uv=False)
        best = np.maximum(best, values / values[0])
    if best[0] > 0 and best[-1] < 1e-12:
        raise ModelError(
            f"lagrange: the coordinates {list(form.q)} are dependent: the mass matrix has rank "
            f"{int((best > 1e-12).sum())} of {form.nv} in every configuration. Leave out those that depend on the "
            f"others."
        )


def _velocity_hint(form: ClosedForm, parameters: Sequence[Expr], k: int) -> str:
    """A hint about the velocity of coordinate k, on which T does not depend: a parameter may be meant as it."""
    q, qd = str(form.q[k]), str(form.qd[k])
    others = [s for s in map(str, parameters) if len(q) > 1 and q in s and s != q]
    if others:
        return f"Is {others[0]} the velocity of {q}? Give qd=[…, {others[0]}, …], or call it {qd}."
    return f"The velocity of {q} is called {qd}; give qd= to call it otherwise, or drop the coordinate."


def _angle_groups(expressions: Sequence[Expr], q: list[Expr]) -> tuple[tuple[Expr, ...], ...]:
    """Groups of coordinates that the user adds up in angles."""
    sums = [f.args[0].free_symbols & set(q) for e in expressions for f in e.atoms(sympy.sin, sympy.cos)]
    groups: list[set[Expr]] = []
    for summed in sums:
        if len(summed) > 1:
            joined = summed.union(*(g for g in groups if g & summed))
            groups = [g for g in groups if not g & summed] + [joined]
    # the user may have expanded the sums: then try to combine all coordinates that are angles
    angles = set().union(*sums)
    groups = groups or ([angles] if 1 < len(angles) <= 3 else [])
    return tuple(tuple(x for x in q if x in g) for g in groups if len(g) > 1)
