"""Derivatives of impulses at a solution: by one linear solution, with the modes of all laws held.

Points that are open, stick or slip, and joint rows that stick, slide or lean on a limit, go on doing so. Given impulses
x that obey the laws, x = r - D u with u = b + P U Uᵀ Pᵀ x, an iteration from x changes nothing; as a function of U, P,
b and of what r follows, with x, the modes and its matrix held, it has the derivatives of the solution. The direction in
which a point slips rotates with its velocity: D contains that too. The displacement onto the ground is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.algorithms.derivatives.implicit import held
from sixd.simulation.nonsmooth.contact.laws import linear_point, linear_row, times
from sixd.simulation.nonsmooth.contact.linear_system import FactorSystem, JointLaw, change_of, of_frames, product
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array, Scalar, where
from sixd.spatial.transform import blocks, force_at_point, point_velocity
from sixd.trace.program import Program, trace
from sixd.trace.recipe import Recipe
from sixd.trace.stages import Into, Rows, Stages, trace_stages

if TYPE_CHECKING:
    from sixd.simulation.nonsmooth.contact.solver import ContactSolver

SOFT = {"float64": 1e-8, "float32": 1e-3}  # part of γ by which laws that fix a velocity are softened
Value = Callable[[Any], Any]  # of an array, without its derivatives


def smooth_solution(solver: ContactSolver) -> Recipe:
    """Return the recipe of the arrays of a solver's loop -> the same, in which the impulses are functions of what the
    loop reads."""
    k, m, nv, width, dtype = solver.k, solver.m, solver.rows.nv, solver.points.width, solver.dtype
    frame_of, points, joint = solver.points.frame_of, range(solver.k), slice(3 * solver.k, None)
    axes: dict[str, tuple[int, ...]] = {} if solver.axes is not None else {"axes": (3, 3)}
    size, frames = (solver.rows.size,), (solver.frames, width)
    factor = FactorSystem(solver.rows, solver.points)

    def velocities(_: Value, U: Array, F: Array, y: Array, c: Array) -> tuple[Array, Array]:
        own, joints = factor.split(U)
        z = solver.rows.collected(U, np.concatenate([F.ravel(), y]))
        return of_frames(own, z), np.array([c[i] + product(row, z) for i, row in enumerate(joints)])

    def law(
        hold: Value, x: Array, r: Array, mu: Scalar, slide: Array, pressed: Scalar, part: Scalar, V: Array, b: Array,
        gamma: Scalar, *rest: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        a, _ = solver.axes_of([*rest, None] if solver.axes is None else [None])
        u = b + (a @ point_velocity(V, r) if width == 6 else V)
        seen, fixed, per = hold(u), hold(slide), 1 / hold(gamma)
        one, D = linear_point(per, per / SOFT[dtype], seen, x, mu, fixed, pressed, slide)
        D = [where(part > 0, d, 0) for d in D]
        left = [where(part > 0, o - d - e, 0) for o, d, e in zip(one, times(D, u), x, strict=True)]
        matrix = np.array([[D[0], 0, 0], [D[1], D[3], D[4]], [D[2], D[4], D[5]]], dtype=object)
        rho = np.array(left)
        if width == 3:
            return matrix, rho, rho, np.array(D)
        arm = hold(r)
        world, R = a.T @ matrix @ a, skew(arm)
        E = R @ world
        return blocks(E @ R.T, E, world @ R.T, world), force_at_point(a.T @ rho, arm), rho, np.array(D)

    def change(hold: Value, U: Array, K: Array, f: Array, y: Array, w: Array, bounds: Array) -> tuple[Array, Array]:
        own, joints = factor.split(hold(U))
        laws = []
        for i, row in enumerate(joints):
            four, B = slice(4 * i, 4 * i + 4), sum(a * a for a in row.values())
            one, D = linear_row(B, hold(w)[i], y[i], hold(bounds)[four], SOFT[dtype], bounds[four])
            laws.append(JointLaw(row, one - D * w[i] - y[i], D))
        dz = change_of(nv, own, hold(K), f, laws)
        after = [y[i] + left - D * product(row, dz) for i, (row, left, D) in enumerate(laws)]
        return of_frames(own, dz), np.array(after)

    def move(hold: Value, x: Array, rho: Array, D: Array, dV: Array, r: Array, *rest: Any) -> Array:
        a, _ = solver.axes_of([*rest, None] if solver.axes is None else [None])
        du = a @ point_velocity(dV, hold(r)) if width == 6 else dV
        return x + rho - np.array(times(hold(D), du))

    rows = {"r": (3,), "mu": (), "slide": (3,), "pressed": (), "part": ()}
    to_velocities = differentiable(velocities, {"U": size, "F": frames, "y": (m,), "c": (m,)}, dtype)
    linearize = differentiable(law, {"x": (3,), **rows, "V": (width,), "b": (3,), "gamma": (), **axes}, dtype)
    shapes = {"U": size, "K": (*frames, width), "f": frames, "y": (m,), "w": (m,), "bounds": (4 * m,)}
    solve = differentiable(change, shapes, dtype)
    advance = differentiable(move, {"x": (3,), "rho": (3,), "D": (6,), "dV": (width,), "r": (3,), **axes}, dtype)

    def again(
        stages: Stages, x: Array, before: Array, y: Array, count: Scalar, done: Any, U: Array, arms: Array,
        gamma: Scalar, b: Array, slide: Array, mu: Array, pressed: Array, bounds: Array, part: Array,
        *own_axes: Array,
    ) -> tuple[Any, ...]:  # fmt: skip
        by_frame, each = Into(solver.frames, frame_of, True), Into(k, points)
        more = [Rows(a, points) for a in own_axes]
        F = stages.each(solver.wrench, Rows(x, points), Rows(arms, points), *more, into=[by_frame])
        V, speeds = stages(to_velocities, U, F, y, b[joint])
        place = [Rows(a, points) for a in (arms, mu, slide, pressed, part)]
        normal = Rows(b[: 3 * k].reshape(k, 3), points)
        K, f, rho, D = stages.each(
            linearize, Rows(x, points), *place, Rows(V, frame_of), normal, gamma, *more,
            into=[by_frame, by_frame, each, each],
        )  # fmt: skip
        dV, y1 = stages(solve, U, K, f, y, speeds, bounds)
        x1 = stages.each(
            advance, Rows(x, points), Rows(rho, points), Rows(D, points), Rows(dV, frame_of), place[0], *more,
            into=[each],
        )  # fmt: skip
        return x1, before, y1, count, done

    return trace_stages(again, *_shapes(solver), dtype, smooth=True)


def constant_solution(solver: ContactSolver) -> Program:
    """Return the program of the same arrays that returns those of the loop, as constants."""
    state, reads = _shapes(solver)
    return differentiable(lambda hold, *arrays: tuple(map(hold, arrays[: len(state)])), state | reads, solver.dtype)


def _shapes(solver: ContactSolver) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
    """Return the shapes of the state of a solver's loop, and of what it reads."""
    k, m = solver.k, solver.m
    state = {"x": (k, 3), "F": (solver.frames, solver.points.width), "y": (m,), "count": (), "done": ()}
    reads = {"U": (solver.rows.size,), "arms": (k, 3), "gamma": (), "b": (3 * k + m,), "slide": (k, 3), "mu": (k,)}
    reads |= {"pressed": (k,), "bounds": (4 * m,), "part": (k,)}
    return state, reads if solver.axes is not None else {**reads, "axes": (k, 3, 3)}


def differentiable(function: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]], dtype: str) -> Program:
    """Return the program of ``function(hold, *arrays)``: it holds values only where derivatives are asked for."""
    program = trace(lambda *arrays: function(lambda x: x, *arrays), shapes, dtype)
    return replace(program, source=lambda *arrays: function(lambda x: held(np.asarray(x))[()], *arrays))
