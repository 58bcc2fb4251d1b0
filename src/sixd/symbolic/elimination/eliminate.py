"""Elimination to independent coordinates, in SymPy: holonomic constraints φ(q) = 0 are solved, q = γ(y).

T and V become functions of y and ẏ. ``solving.py`` solves the equations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sixd.errors import ModelError, ScalarTypeError, unknown_name
from sixd.lazy import Expr, sympy
from sixd.symbolic.arguments import (
    Coordinates,
    ExprLike,
    VectorLike,
    coordinates,
    entries_of,
    expression,
    is_listed,
    velocities,
)
from sixd.symbolic.echelon import is_zero, tidy
from sixd.symbolic.elimination.solving import solutions


def solve_for(
    phi: VectorLike | ExprLike,
    q: Coordinates,
    dependent: Coordinates | Expr | None = None,
    *,
    near: Mapping[Expr, Expr] | None = None,
    where: str = "solve_for",
) -> dict[Expr, Expr]:
    """Dependent coordinates as functions of the others, from holonomic constraints φ(q) = 0.

    Parameters
    ----------
    phi : one expression that must vanish, or several (``sympy.Eq`` allowed).
    q : all coordinates.
    dependent : those to solve for; by default as many as there are independent constraints, those first in which a
        constraint is linear.
    near : a point {coordinate or parameter: number} that selects one of several branches.
    where : name of the function that the user called, for errors.

    Returns
    -------
    {coordinate: expression in the independent coordinates}, in the order of q.

    Redundant constraints are ignored. Raises ``ModelError`` if the constraints contradict each other, if no closed form
    was found (as for most loops of rods), or if there are several branches and no ``near``.

    >>> import sympy as sp
    >>> from sixd.symbolic.elimination.eliminate import solve_for
    >>> x, y, a = sp.symbols("x y a")
    >>> solve_for(y - a * x**2, [x, y])
    {y: a*x**2}
    """
    q = coordinates(where, q)
    equations = [expression(where, "phi", e) for e in _listed(where, phi)]
    candidates = q if dependent is None else _members(where, q, dependent)
    for e in equations:
        if not e.has(*q) and not is_zero(e):
            raise ModelError(f"{where}: the constraint {e} = 0 has no coordinate of {list(q)} and does not hold.")
    branches = solutions(where, equations, q, candidates)
    if dependent is not None and len(branches[0]) != len(candidates):
        raise ModelError(
            f"{where}: dependent has {len(candidates)} coordinates, expected {len(branches[0])}, one for each "
            f"independent constraint."
        )
    chosen = branches[0] if len(branches) == 1 else _nearest(where, branches, near)
    return {x: chosen[x] for x in q if x in chosen}


def _listed(where: str, phi: VectorLike | ExprLike) -> list[Expr]:
    return entries_of(where, "phi", phi) if is_listed(phi) else [phi]


def _members(where: str, q: tuple[Expr, ...], dependent: Coordinates | Expr) -> tuple[Expr, ...]:
    members = coordinates(where, [dependent] if not is_listed(dependent) else dependent, "dependent")
    for x in members:
        if x not in q:
            raise unknown_name(f"{where}: dependent", "coordinate", str(x), map(str, q))
    return members


def _nearest(where: str, branches: list[dict[Expr, Expr]], near: Mapping[Expr, Expr] | None) -> dict[Expr, Expr]:
    """The branch whose dependent coordinates are nearest to the point's."""
    listed = "; ".join(str(b) for b in branches[:6]) + ("; …" if len(branches) > 6 else "")
    if near is None:
        raise ModelError(f"{where}: there are {len(branches)} branches: {listed}. Give near={{coordinate: number, …}}.")
    if not isinstance(near, Mapping):
        raise ScalarTypeError(f"{where}: near is {near!r}, expected a mapping {{coordinate: number}}.")
    point = {sympy.sympify(k): sympy.sympify(v) for k, v in near.items()}
    distances = []
    for branch in branches:
        gaps = [(value - x).xreplace(point).evalf() for x, value in branch.items()]
        missing = sorted({str(s) for g in gaps for s in g.free_symbols})
        if missing:
            raise ModelError(f"{where}: near has no value for {', '.join(missing)}, expected a number for each.")
        distances.append(float(sum(abs(g) ** 2 for g in gaps)))
    return branches[min(range(len(branches)), key=distances.__getitem__)]


@dataclass(frozen=True)
class Eliminated:
    """Energies in independent coordinates: ``T``, ``V`` of ``q`` and ``qd``.

    ``map`` gives the old coordinates as functions of the new ones, ``G`` (old, new) their velocities: q̇ = G ẏ.
    """

    T: Any
    V: Any
    q: tuple[Expr, ...]
    qd: tuple[Expr, ...]
    map: Mapping[Expr, Expr]
    G: Any


def eliminate(
    T: ExprLike,
    V: ExprLike,
    q: Coordinates,
    phi: VectorLike | ExprLike = (),
    *,
    qd: Coordinates | None = None,
    dependent: Coordinates | Expr | None = None,
    near: Mapping[Expr, Expr] | None = None,
    explicit: Mapping[Expr, Expr] | None = None,
    new: Coordinates | None = None,
) -> Eliminated:
    """Energies T(q, q̇) and V(q) in independent coordinates y: q = γ(y) and q̇ = (∂γ/∂y) ẏ are substituted.

    Parameters
    ----------
    T, V : SymPy expressions.
    q, qd : coordinates and velocities; q1 has qd1, theta has thetad, if qd is omitted.
    phi : holonomic constraints, solved by :func:`solve_for` (with ``dependent`` and ``near``), or
    explicit : the map γ, {x: R*cos(phi), y: R*sin(phi)}; with ``phi`` as well, the map must satisfy it.
    new : the new coordinates, if ``explicit`` contains others than those of q: [phi].

    >>> import sympy as sp
    >>> from sixd.symbolic.elimination.eliminate import eliminate
    >>> m, R, x, y, xd, yd, a = sp.symbols("m R x y xd yd a")
    >>> eliminate(m * (xd**2 + yd**2) / 2, 0, [x, y], explicit={x: R * sp.cos(a), y: R * sp.sin(a)}, new=[a]).T
    R**2*ad**2*m/2
    """
    where = "eliminate"
    q = coordinates(where, q)
    qd = velocities(where, q, qd, (T,))
    T, V = expression(where, "T", T), expression(where, "V", V)
    if explicit is None:
        if new is not None:
            raise ModelError(f"{where}: new is passed without explicit, expected both. Give explicit={{x: …, y: …}}.")
        table = solve_for(phi, q, dependent, near=near, where=where)
        y = tuple(x for x in q if x not in table)
    else:
        table, y = _explicit(where, q, explicit, new)
        _require_satisfied(where, phi, table)
    known = dict(zip(q, qd, strict=True))
    yd = tuple(known.get(x) or velocities(where, [x], None)[0] for x in y)
    gamma = sympy.Matrix([table.get(x, x) for x in q])
    G = sympy.Matrix(len(q), len(y), lambda i, j: tidy(gamma[i].diff(y[j])))
    rates = G * sympy.Matrix(len(y), 1, yd)
    full = dict(zip(qd, rates, strict=True)) | dict(zip(q, gamma, strict=True))
    return Eliminated(tidy(T.xreplace(full)), tidy(V.xreplace(full)), y, yd, table, G)


def _explicit(
    where: str, q: tuple[Expr, ...], explicit: Mapping[Expr, ExprLike], new: Coordinates | None
) -> tuple[dict[Expr, Expr], tuple[Expr, ...]]:
    """The checked map, and the new coordinates."""
    if not isinstance(explicit, Mapping):
        raise ScalarTypeError(f"{where}: explicit is {explicit!r}, expected a mapping {{coordinate: expression}}.")
    _members(where, q, list(explicit))
    table = {x: expression(where, f"the expression for {x}", explicit[x]) for x in q if x in explicit}
    kept = tuple(x for x in q if x not in table)
    y = kept if new is None else coordinates(where, new, "new")
    for x in y:
        if x in table:
            raise ModelError(f"{where}: new contains {x}, which explicit replaces. Use another symbol.")
    for x in kept:
        if x not in y:
            raise ModelError(f"{where}: {x} is neither in explicit nor in new, expected it in one of them.")
    for x, e in table.items():
        if any(e.has(z) for z in table):
            raise ModelError(f"{where}: the expression for {x} is {e}, expected one in the new coordinates alone.")
    return table, y


def _require_satisfied(where: str, phi: VectorLike | ExprLike, table: Mapping[Expr, Expr]) -> None:
    for e in _listed(where, phi):
        left = expression(where, "phi", e).xreplace(dict(table))
        if not is_zero(left):
            raise ModelError(f"{where}: explicit leaves {tidy(left)} of the constraint {e}, expected 0. Fix the map.")
