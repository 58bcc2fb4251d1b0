"""Derivatives of the problems of contact at their solutions: by one linear solution, with the modes of all laws held.

Points that are open, stick or slip, and joint rows that stick, slide or lean on a limit, go on doing so. Given impulses
x that obey the laws, x = r - D u with u = b + U Uᵀx, a step of Newton's method from x changes nothing; as a function of
U, b and of what r follows, with x, the modes and its matrix held, it has the derivatives of the solution. The direction
in which a point slips rotates with its velocity: D contains that too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sixd.algorithms.derivatives.implicit import held
from sixd.simulation.nonsmooth.contact.cone import linear_point, linear_row
from sixd.simulation.nonsmooth.contact.newton import (
    SOFT,
    Law,
    Newton,
    block,
    product,
    residual_of,
    solved_laws,
    solved_symmetric,
)
from sixd.simulation.nonsmooth.contact.sparse_rows import SparseRows
from sixd.spatial.scalar import Array, where
from sixd.trace.program import Program, trace

Value = Callable[[Any], Any]  # of an array, without its derivatives


def impulse_derivative(newton: Newton, shapes: Mapping[str, tuple[int, ...]]) -> Program:
    """Return the program of an iteration's arrays, (x, z, kept, best, count, soft, done, U, b, slide, bounds) -> the
    first seven, in which x and z are functions of U, b, slide and bounds."""
    k, rows, soft = newton.k, newton.rows, SOFT[newton.dtype]

    def again(hold: Value, x: Array, z: Any, *rest: Any) -> tuple[Any, ...]:
        *flags, entries, b, slide, bounds = rest
        x = hold(x)
        u = b + rows.velocities(entries, rows.collected(entries, x))
        U, seen, known, graphs = rows.rows(hold(entries)), hold(u), hold(slide), hold(bounds)
        laws: list[Law] = []
        for i, mu in enumerate(newton.friction):
            own, B = slice(3 * i, 3 * i + 3), block(U[3 * i : 3 * i + 3])
            r, D = linear_point(B, seen[own], x[own], mu, known[own], newton.dtype, soft, slide[own])
            laws.append((U[own], residual_of(r, D, u[own], x[own]), D))
        for i in range(newton.m):
            at, four = 3 * k + i, slice(4 * i, 4 * i + 4)
            B = sum(a * a for a in U[at].values())
            one, D = linear_row(B, seen[at], x[at], graphs[four], soft, bounds[four])
            laws.append(([U[at]], residual_of([one], [[D]], u[at : at + 1], x[at : at + 1]), [[D]]))
        new = x + solved_laws(rows.nv, laws)
        return new, rows.collected(entries, new), *map(hold, flags)

    return _with_derivatives(again, shapes, newton.dtype)


def height_derivative(rows: SparseRows, k: int, shapes: Mapping[str, tuple[int, ...]], dtype: str) -> Program:
    """Return the program (p, z, done, U, φ, pressed, reach, start) -> (p, z, done), in which p and z are functions of
    U, φ, reach and start."""

    def again(
        hold: Value, p: Array, z: Any, done: Any, entries: Array, phi: Array, pressed: Array, reach: Array, start: Array
    ) -> tuple[Any, ...]:
        p = hold(p)
        U, fixed = _pushed(rows, entries, k), _pushed(rows, hold(entries), k)
        moved = _sum(start, U, p)
        heights: list[Any] = []
        stiff: list[Any] = []
        for i, row in enumerate(U):
            here, B = product(row, moved), sum(a * a for a in fixed[i].values())
            if i < k:
                heights.append(phi[i] + here)
                pushes: Any = (p[i] > 0) | (pressed[i] > 0)
            else:
                low, high = reach[2 * (i - k)], reach[2 * (i - k) + 1]
                heights.append(where(p[i] > 0, here + low, here - high))
                pushes = (p[i] > 0) | (p[i] < 0)
            stiff.append(where(pushes & (B > 0), 1 / (where(B > 0, B, 1) * SOFT[dtype]), 0))
        change = [-y * weight for y, weight in zip(heights, stiff, strict=True)]
        dz = solved_symmetric(rows.nv, fixed, stiff, change)
        new = p + np.array([x - weight * product(row, dz) for x, weight, row in zip(change, stiff, fixed, strict=True)])
        return new, _sum(start, U, new), hold(done)

    return _with_derivatives(again, shapes, dtype)


def _pushed(rows: SparseRows, entries: Array, k: int) -> list[dict[int, Any]]:
    """Return the rows of U of the normals, and of joints."""
    U = rows.rows(entries)
    return [*U[: 3 * k : 3], *U[3 * k :]]


def _sum(start: Array, U: list[dict[int, Any]], p: Array) -> Array:
    """Return start + Uᵀp (nv,)."""
    z = list(start)
    for row, x in zip(U, p, strict=True):
        for j, a in row.items():
            z[j] = z[j] + a * x
    return np.array(z)


def _with_derivatives(again: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]], dtype: str) -> Program:
    """Return the program of ``again(hold, *arrays)``: it holds values only where derivatives are asked for."""
    program = trace(lambda *arrays: again(lambda x: x, *arrays), shapes, dtype)
    return replace(program, source=lambda *arrays: again(lambda x: held(x)[()], *arrays))
