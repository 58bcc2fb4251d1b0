"""Few of many points: of each body those two that take part in a step, as a problem of its own.

A body that rolls over its edge touches the ground with one or two of its points; which ones differs from row to row,
while a program is the same for all rows. So the two are selected by their data: the first and the last point of each
body that takes part. Where more do, as under a foot that lies flat, the problem of all points is solved. Of a go2 on 16
points, 4 at each foot, 82 % of the problems have one point at each foot, and all of them at most two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sixd.simulation.nonsmooth.contact.impulse_solver import FAR, ImpulseSolver
from sixd.simulation.nonsmooth.contact.newton import MANY
from sixd.simulation.nonsmooth.contact.sparse_rows import SparseRows
from sixd.spatial.scalar import Array, where
from sixd.trace.program import Program, trace
from sixd.trace.stages import Stages

SLOTS = 2
_TAKES_PART = FAR / 10  # m/s: normal velocities of points that do


def impulse_solver(
    rows: SparseRows, friction: list[float], m: int, most: int, dtype: str, bodies: list[int]
) -> Callable[..., tuple[Array, Array, Any]]:
    """Return the solver of points of some bodies, and m joint rows: (stages, U, b, x, slide, bounds) -> (x, z, done).
    See :class:`~sixd.simulation.nonsmooth.contact.impulse_solver.ImpulseSolver`."""
    first = len(friction) >= MANY and not m
    every = ImpulseSolver(rows, friction, m, most, dtype, first)
    groups = _groups(rows, bodies, friction) if first else None
    if groups is None:
        return every
    packing = Packing(rows, groups, friction, dtype)
    few = ImpulseSolver(packing.rows, packing.friction, 0, most, dtype, first)
    pack, unpack = packing.pack(), packing.unpack()

    def solve(stages: Stages, U: Array, b: Array, x: Array, slide: Array, bounds: None) -> tuple[Array, Array, Any]:
        xs, *data, fits = stages(pack, x, U, b, slide)
        U_few, b_few, slide_few = data
        xs, z, done = few(stages, U_few, b_few, xs, slide_few, None, (np.zeros(rows.nv), fits))
        x = stages(unpack, x, fits, xs, b)
        x, z, result = every(stages, U, b, x, slide, None, (z, 1 - fits))
        return x, z, done * result

    return solve


def _groups(rows: SparseRows, bodies: list[int], friction: list[float]) -> list[list[int]] | None:
    """Return the points of each body, or None unless each has more than ``SLOTS`` of one friction. One body alone rests
    on more: a box on 12 points that slides took 1.1 times as long."""
    result: dict[int, list[int]] = {}
    for i, body in enumerate(bodies):
        result.setdefault(body, []).append(i)
    for group in result.values():
        alike = {(friction[i], tuple(rows.pattern[3 * i])) for i in group}
        if len(group) <= SLOTS or len(alike) > 1:
            return None
    return list(result.values()) if len(result) > 1 else None


class Packing:
    """The selection of ``SLOTS`` points of each of some groups: lists of points with the same pattern and friction."""

    def __init__(self, rows: SparseRows, groups: list[list[int]], friction: list[float], dtype: str) -> None:
        self.groups, self.n = groups, 3 * len(friction)
        slots = [group[0] for group in groups for _ in range(SLOTS)]
        self.friction = [friction[i] for i in slots]
        self.rows = SparseRows(rows.nv, rows.limits)
        self.rows.pattern = [rows.pattern[3 * i + r] for i in slots for r in range(3)]
        self.all, self.dtype = rows, dtype

    def pack(self) -> Program:
        """Return the program (x, U, b, slide) -> (those of the slots, 1 if all points that take part are among them).
        Points do not take part whose normal velocity b is ``FAR``."""
        shapes = {"x": (self.n,), "U": (self.all.size,), "b": (self.n,), "slide": (self.n,)}

        def pack(x: Array, entries: Array, b: Array, slide: Array) -> Any:
            U = self.all.rows(entries)
            xs: list[Any] = []
            Us: list[Any] = []
            bs: list[Any] = []
            slides: list[Any] = []
            fits: Any = 1
            for group in self.groups:
                takes = [b[3 * i] < _TAKES_PART for i in group]
                count = sum(where(y, 1, 0) for y in takes)
                fits = where(count > SLOTS + 0.5, 0, fits)
                for order, least in ((1, 0.5), (-1, 1.5)):
                    at, on = group[::order], takes[::order]
                    there = count > least  # one point alone is in the first slot
                    for r in range(3):
                        own = [3 * i + r for i in at]
                        xs.append(where(there, _chosen(on, [x[i] for i in own]), 0))
                        value = _chosen(on, [b[i] for i in own])
                        bs.append(where(there, value, FAR) if r == 0 else value)
                        slides.append(_chosen(on, [slide[i] for i in own]))
                        Us += [_chosen(on, [U[i][j] for i in own]) for j in self.rows.pattern[len(xs) - 1]]
            return np.array(xs), np.array(Us), np.array(bs), np.array(slides), fits

        return trace(pack, shapes, self.dtype)

    def unpack(self) -> Program:
        """Return the program (x, todo, packed, b) -> x, with the impulses of the slots where ``todo`` is not 0."""
        shapes = {"x": (self.n,), "todo": (), "packed": (3 * len(self.friction),), "b": (self.n,)}

        def unpack(x: Array, todo: Any, packed: Array, b: Array) -> Array:
            result = list(x)
            for g, group in enumerate(self.groups):
                takes = [where(b[3 * i] < _TAKES_PART, 1, 0) for i in group]
                before: Any = 0
                first = 3 * SLOTS * g
                for i, on in zip(group, takes, strict=True):
                    for r in range(3):
                        value = where(before > 0.5, packed[first + 3 + r], packed[first + r])
                        result[3 * i + r] = where(todo > 0, where(on > 0, value, 0), x[3 * i + r])
                    before = before + on
            return np.array(result)

        return trace(unpack, shapes, self.dtype)


def _chosen(on: list[Any], values: list[Any]) -> Any:
    """Return the first value whose point takes part."""
    result = values[-1]
    for takes, value in zip(reversed(on[:-1]), reversed(values[:-1]), strict=True):
        result = where(takes, value, result)
    return result
