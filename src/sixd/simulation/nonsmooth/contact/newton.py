"""Newton's method on the laws of all points and joint rows, until all of them hold.

An iteration linearizes the laws where it is, x = r - D u, and solves for the change of u = b + U z, z = Uᵀx, with the
matrix 1 + Uᵀ D U, which has the zeros of the tree. In increments: (1 + Uᵀ D U) dz = Uᵀ ρ with the residual
ρ = r - D u - x, du = U dz and dx = ρ - D du; whole impulses from whole velocities would lose as many digits as D is
stiff. Impulses stay where the step takes them, also beyond their cones: (x, u) then says which laws change their mode
(open, sticking, slipping), and the method is that of active sets. Moved into the cones, points of one foot would be
thrown apart.

The first iteration uses the modes of its initial guess, the impulses of the last step: a point without one is open,
one on the edge of its cone slips. By the velocities that these impulses leave, points that the ground has just reached
would stick next to others of the same body, which contradicts them, and throws the body off: 5 iterations of a vector
of 8 rows (go2 on 16 points), 2.8 from the modes of the last step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from sixd.algorithms.linear.dense import solve_rows
from sixd.algorithms.linear.patterns import solve_entries
from sixd.simulation.nonsmooth.contact.cone import (
    in_cone,
    linear_point,
    linear_row,
    on_graph,
    point_residual,
    row_impulse,
)
from sixd.simulation.nonsmooth.contact.sparse_rows import SparseRows
from sixd.spatial.scalar import Array, absolute, maximum, where
from sixd.trace.program import Program, trace
from sixd.trace.stages import Stages

TOLERANCE = {"float64": 1e-10, "float32": 1e-5}  # m/s: by which velocities contradict the laws
# with joint rows, of points, and for rows this part counts (1e-5 rad/s): where joints that stick and feet that stick
# hold the same mechanism, impulses wander on by 1e-6 rad/s for thousands of sweeps
TOLERANCE_OF_JOINTS = {"float64": 1e-7, "float32": 1e-4}
COARSER = 0.01
MANY = 9  # points, from which on Newton's method alone comes first
# part of the mean of a point's own response by which a law that fixes a velocity is softened where it is linearized:
# x = x0 - u/soft. Repeated, it fixes the velocity, also where impulses are redundant
SOFT = {"float64": 1e-8, "float32": 1e-3}
SOFT_JOINTS = 1e-4  # with joint rows, whose impulses and those of the points are often redundant
# without sweeps: the tolerance [m/s] of the first iteration, the next ones, and from ``_EASIER`` on: where more points
# stick than it takes to hold a mechanism, their velocities may contradict each other by 1e-6 m/s, and the force that
# removes that is without bounds. 84 % of the problems of a go2 on 16 points end with the first iteration, with 1e-9 m/s
# left; with 1e-12 as tolerance they took a second one
_TOLERANCES = {"float64": (1e-8, 1e-7, 1e-6), "float32": (1e-5, 1e-5, 1e-5)}
_EASIER = 3
_SOFT = {"float64": 1e-6, "float32": 1e-3}
_LATE, _LATE_SOFT = 6, 1e-4
_EXACT = 0.01  # part of the tolerance with sweeps: a guess that obeys the laws as well as that stays
_SLIPS = 0.1  # of its friction: how close to the edge of its cone an impulse was that of a point that slips


Law = tuple[list[dict[int, Any]], list[Any], list[list[Any]]]


class Newton:
    """Newton's method for points with coefficients of friction, and m joint rows, as calls within a recipe."""

    def __init__(self, rows: SparseRows, friction: list[float], m: int, most: int, dtype: str) -> None:
        self.rows, self.friction, self.m, self.most, self.dtype = rows, friction, m, most, dtype
        self.k = len(friction)
        self.tolerance = (TOLERANCE_OF_JOINTS if m else TOLERANCE)[dtype]
        self.soft = max(SOFT[dtype], SOFT_JOINTS) if m else SOFT[dtype]

    def __call__(
        self, stages: Stages, x: Array, z: Array, todo: Any, U: Array, b: Array, slide: Array, bounds: Array
    ) -> Any:
        """Return impulses (n,) that obey the laws, from a guess x (n,), or else that; z (nv,); and 1 if they obey.
        Where ``todo`` is 0, x and z are returned as they are, with 1."""
        start, step, end = self._programs
        known = U, b, slide, bounds
        own = np.zeros(len(x)), todo, np.zeros(6 * self.k), np.zeros(self.m)
        u, left, *own = stages(start, *own, x, *known, when=todo)
        found, _, _, done = stages(step, x, u, 0.0, 1 - left, *known, *own, most=self.most, when=left)
        x, z = stages(end, x, z, todo, found, done, *known, when=todo)
        return x, z, done

    @cached_property
    def _programs(self) -> tuple[Program, Program, Program]:
        k, n = self.k, (3 * self.k + self.m,)
        known: dict[str, tuple[int, ...]] = {"U": (self.rows.size,), "b": n, "slide": (3 * k,), "bounds": (4 * self.m,)}
        found: dict[str, tuple[int, ...]] = {"x": n, "u": n, "count": (), "done": ()}
        own: dict[str, tuple[int, ...]] = {"blocks": (6 * k,), "responses": (self.m,)}
        return (
            trace(self._start, {"u": n, "todo": (), **own, "x": n, **known}, self.dtype),
            trace(self._step, {**found, **known, **own}, self.dtype),
            trace(self._end, {"x": n, "z": (self.rows.nv,), "todo": (), "found": n, "done": (), **known}, self.dtype),
        )

    def _start(
        self, u: Any, todo: Any, blocks: Any, responses: Any, x: Array, entries: Array, b: Array, slide: Array,
        bounds: Array,
    ) -> Any:  # fmt: skip
        """Return the velocities (n,) with the impulses x, ``todo`` or 0 if they obey the laws, and the points' and
        rows' own responses."""
        U = self.rows.rows(entries)
        found = [block(U[3 * i : 3 * i + 3]) for i in range(self.k)]
        own = [sum(a * a for a in row.values()) for row in U[3 * self.k :]]
        u = self._velocities(entries, b, x)
        obey = self._size(found, own, u, x, slide, bounds) < TOLERANCE[self.dtype] * _EXACT
        entries_of = np.array([B[i][j] for B in found for i in range(3) for j in range(i, 3)])
        return u, where(obey, 0, todo), entries_of, np.array(own)

    def _velocities(self, entries: Array, b: Array, x: Array) -> Array:
        """Return b + U Uᵀx (n,). The sum of du would differ from it by rounding, times how stiff the laws are."""
        return b + self.rows.velocities(entries, self.rows.collected(entries, x))

    def _size(self, blocks: Any, responses: Any, u: Any, x: Any, slide: Array, bounds: Array) -> Any:
        """Return by how much velocities contradict the laws [m/s]."""
        size: Any = 0
        for i, mu in enumerate(self.friction):
            own = slice(3 * i, 3 * i + 3)
            size = maximum(size, point_residual(blocks[i], u[own], x[own], mu, slide[own], self.dtype))
        for i, B in enumerate(responses):
            at = 3 * self.k + i
            new = row_impulse(B, u[at], x[at], bounds[4 * i : 4 * i + 4])
            size = maximum(size, absolute((new - x[at]) * B) * COARSER)
        return size

    def _step(
        self, x: Array, u: Array, count: Any, done: Any, entries: Array, b: Array, slide: Array, bounds: Array,
        blocks: Array, responses: Array,
    ) -> Any:  # fmt: skip
        first, later, last = _TOLERANCES[self.dtype]
        tolerance = where(count > 0, where(count >= _EASIER, last, later), first)
        soft = where(count >= _LATE, max(_SOFT[self.dtype], _LATE_SOFT), _SOFT[self.dtype])
        own = [_symmetric(blocks[6 * i : 6 * i + 6]) for i in range(self.k)]
        seen = where(count > 0, u, self._before(own, u, x))
        x1 = x + self.changes(self.rows.rows(entries), own, responses, u, x, slide, bounds, soft, seen)
        u1 = self._velocities(entries, b, x1)
        found = where(self._size(own, responses, u1, x1, slide, bounds) < tolerance, 1, 0)
        before = done > 0
        return where(before, x, x1), where(before, u, u1), count + 1, where(before, 1, found)

    def _before(self, blocks: Any, u: Array, x: Array) -> Array:
        """Return velocities (n,) by which the laws take the modes of the impulses x alone. Those of points that slide
        faster than friction could stop them stay: the direction of slip follows them."""
        seen = list(u)
        for i, B in enumerate(blocks):
            scale = maximum(B[1][1], B[2][2])
            along = [x[3 * i + 1] * scale, x[3 * i + 2] * scale]
            n, t = 3 * i, (u[3 * i + 1], u[3 * i + 2])
            fast = t[0] * t[0] + t[1] * t[1] > along[0] * along[0] + along[1] * along[1]
            seen[n] = where(x[n] > 0, 0, 1)
            seen[n + 1 : n + 3] = [where(fast, v, y * -_SLIPS) for v, y in zip(t, along, strict=True)]
        return np.array(seen)

    def changes(
        self, U: Any, blocks: Any, responses: Any, u: Any, x: Array, slide: Array, bounds: Array, soft: Any,
        seen: Any = None,
    ) -> Array:  # fmt: skip
        """Return the changes of impulses (n,) by which the linearized laws hold. The modes of points are those of the
        velocities ``seen`` (n,), if any, instead of u."""
        seen = u if seen is None else seen
        laws: list[Law] = []
        for i, mu in enumerate(self.friction):
            own = slice(3 * i, 3 * i + 3)
            r, D = linear_point(blocks[i], seen[own], x[own], mu, slide[own], self.dtype, soft)
            laws.append((U[own], residual_of(r, D, u[own], x[own]), D))
        for i in range(self.m):
            at = 3 * self.k + i
            one, D = linear_row(responses[i], u[at], x[at], bounds[4 * i : 4 * i + 4], soft)
            laws.append(([U[at]], residual_of([one], [[D]], u[at : at + 1], x[at : at + 1]), [[D]]))
        return solved_laws(self.rows.nv, laws)

    def within(self, x: Any, slide: Array, bounds: Array) -> Array:
        """Return impulses (n,) moved into the cones of points and onto the graphs of rows."""
        new = list(x)
        for i, mu in enumerate(self.friction):
            own = slice(3 * i, 3 * i + 3)
            new[own] = in_cone(new[own], mu, slide[own])
        for i in range(self.m):
            new[3 * self.k + i] = on_graph(new[3 * self.k + i], bounds[4 * i : 4 * i + 4])
        return np.array(new)

    def _end(
        self, x: Array, z: Array, todo: Any, found: Array, done: Any, entries: Array, b: Array, slide: Array,
        bounds: Array,
    ) -> Any:  # fmt: skip
        """Return the impulses that were found, of which rounding is removed, else x; and z."""
        new = where(done > 0, self.within(found, slide, bounds), x)
        return where(todo > 0, new, x), where(todo > 0, self.rows.collected(entries, new), z)


def solved_laws(nv: int, laws: list[Law]) -> Array:
    """Return the changes of impulses (n,) that satisfy the contact laws; each law has rows of U, a residual ρ and D."""
    A: dict[tuple[int, int], Any] = {(j, j): 1 for j in range(nv)}
    right: list[Any] = [0] * nv
    uses = Counter(j for rows, _, _ in laws for j in rows[0])
    finish: list[Callable[[Array], list[Any]]] = []
    for rows, rest, D in laws:
        alone = [j for j in rows[0] if uses[j] == 1]
        finish.append((_add_reduced if len(alone) >= len(rows) else _add_law)(A, right, rows, rest, D, alone))
    dz = solve_entries(A, right)
    return np.array([x for changes in finish for x in changes(dz)])


def block(rows: list[dict[int, Any]]) -> list[list[Any]]:
    """Return the response (3, 3) of a point to its own impulse."""
    return [[sum(a * other[j] for j, a in row.items()) for other in rows] for row in rows]


def _symmetric(entries: Any) -> list[list[Any]]:
    a, b, c, d, e, f = entries
    return [[a, b, c], [b, d, e], [c, e, f]]


def product(row: dict[int, Any], z: Any) -> Any:
    """Return a row of U times z (nv,)."""
    return sum(a * z[j] for j, a in row.items())


def residual_of(r: list[Any], D: list[list[Any]], u: list[Any], x: Any) -> list[Any]:
    """Return r - D u - x."""
    n = range(len(u))
    return [r[a] - sum(D[a][c] * u[c] for c in n) - x[a] for a in n]


def _add_law(
    A: Any, right: list[Any], rows: list[dict[int, Any]], residual: list[Any], D: list[list[Any]], _: Any
) -> Callable[[Array], list[Any]]:
    """Add Uᵀ D U to A and Uᵀ ρ to the right side, for the rows of one law; return the function dz -> dx of it. Of D the
    part without the first row and column is symmetric, and the first row is zero off the diagonal."""
    n, columns = range(len(rows)), list(rows[0])
    left = {j: [sum(rows[a][j] * D[a][c] for a in n if c == 0 or a) for c in n] for j in columns}
    for j in columns:
        right[j] = right[j] + sum(rows[a][j] * residual[a] for a in n)
    for at, j in enumerate(columns):
        for m in columns[at:]:
            both = sum(left[j][c] * rows[c][m] for c in n[1:])
            A[j, m] = A.get((j, m), 0) + left[j][0] * rows[0][m] + both
            if m != j:
                A[m, j] = A.get((m, j), 0) + left[m][0] * rows[0][j] + both
    return lambda dz: residual_of(residual, D, [product(row, dz) for row in rows], [0] * len(rows))


def _add_reduced(
    A: Any, right: list[Any], rows: list[dict[int, Any]], residual: list[Any], D: list[list[Any]], alone: list[int]
) -> Callable[[Array], list[Any]]:
    """The same for a law whose rows have columns that no other law has, ``alone``: these are eliminated before.

    With R = U Uᵀ of these columns and V the others, dx = (1 + D R)⁻¹ (ρ - D V dz). An iteration for a go2 on 4 points
    takes 0.69 times the operations with this.
    """
    n = range(len(rows))
    others = [j for j in rows[0] if j not in alone]
    R = [[sum(rows[a][j] * rows[c][j] for j in alone) for c in n] for a in n]
    T = [[sum(D[a][c] * R[c][e] for c in n) + (1 if a == e else 0) for e in n] for a in n]
    right_sides = [[sum(D[a][c] * rows[c][j] for c in n) for j in others] + [residual[a]] for a in n]
    found = solve_rows(T, right_sides)
    for j in others:
        right[j] = right[j] + sum(rows[a][j] * found[a][-1] for a in n)
        for by, m in enumerate(others):
            A[j, m] = A.get((j, m), 0) + sum(rows[a][j] * found[a][by] for a in n)
    return lambda dz: [row[-1] - sum(y * dz[j] for y, j in zip(row, others, strict=False)) for row in found]


def solved_symmetric(nv: int, U: list[dict[int, Any]], D: list[Any], change: list[Any]) -> Array:
    """Return (1 + Uᵀ D U)⁻¹ Uᵀ change (nv,) for rows of U with the weights D, from the leaves to the root."""
    A: dict[tuple[int, int], Any] = {(j, j): 1 for j in range(nv)}  # of j ≥ m
    y: list[Any] = [0] * nv
    for row, weight, x in zip(U, D, change, strict=True):
        for j, a in row.items():
            y[j] = y[j] + a * x
            for m in (m for m in row if m <= j):
                A[j, m] = A.get((j, m), 0) + a * weight * row[m]
    return solve_entries(A, y, is_symmetric=True)
