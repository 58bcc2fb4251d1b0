"""The distance of every pair of kinds of solids: functions in closed form, and loops where none exists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.distance import descent
from sixd.algorithms.distance.closed_forms import (
    Nearest,
    PairDistance,
    box_separation,
    capsule_box,
    capsule_capsule,
    plane_and,
    sphere_and,
)
from sixd.algorithms.distance.gjk import EPS, CorePair, PairLoop, apart_loop, overlaps
from sixd.algorithms.distance.height_field import point_height_field
from sixd.algorithms.distance.points import (
    point_box,
    point_capsule,
    point_cone,
    point_cylinder,
    point_ellipsoid,
    point_sphere,
)
from sixd.algorithms.distance.samples import sample_loop
from sixd.algorithms.distance.simplex import Simplex
from sixd.algorithms.distance.supports import bounding_radius, core_radius
from sixd.algorithms.distance.vectors import X, choose, direction
from sixd.spatial.scalar import Array, where

# the order of arguments for which a pair is written; the others are the same with the solids swapped
KINDS = ("sphere", "capsule", "box", "cylinder", "cone", "ellipsoid", "hull", "plane", "height_field")
_BOXES = ("box", "box")
_BOX_TOUCHING = 1e-9  # part of the size below which the distance of boxes counts as overlap


class IteratedPair(NamedTuple):
    """The distance of two kinds of solids by loops: for cores apart, then for cores that overlap.

    ``problem`` makes the arguments of the loops from those of a pair, ``result`` the distance from their final states.
    Called with numbers, an object runs the loops. The normal of boxes that overlap is known before: they have the first
    loop alone.
    """

    kinds: tuple[str, str]
    loops: tuple[PairLoop, ...]
    eps: float

    def problem(self, size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array) -> CorePair:
        """The arguments of the loops."""
        R, t = E_a.T @ E_b, E_a.T @ (p_b - p_a)
        sizes = np.asarray(size_a), np.asarray(size_b)
        size = bounding_radius(self.kinds[0], size_a) + bounding_radius(self.kinds[1], size_b)
        if self.kinds != _BOXES:
            return CorePair(*sizes, R, t, direction(t, X), np.zeros(3), size)
        gap, n = box_separation(*sizes, R, t)
        shift = n * where(gap < size * max(_BOX_TOUCHING, 30 * self.eps), size * descent.OUTSIDE - gap, 0)
        return CorePair(*sizes, R, t + shift, n, shift, size)

    def result(self, problem: CorePair, states: Sequence[Array], E_a: Array, p_a: Array) -> Nearest:
        """The distance from the final states of all loops."""
        found = Simplex.read(states[0][:27])
        n, x_a, x_b = direction(-found.v, problem.guess), found.x, found.x - found.v
        if self.kinds == _BOXES:
            n = choose(problem.shift @ problem.shift > 0, problem.guess, n)
            x_b = x_b - problem.shift
        else:
            deep = overlaps(states[0]) > 0
            n, x_a, x_b = (choose(deep, y, x) for x, y in zip((n, x_a, x_b), descent.result(states[-1]), strict=True))
        r_a, r_b = core_radius(self.kinds[0], problem.size_a), core_radius(self.kinds[1], problem.size_b)
        distance = (x_b - x_a) @ n - (r_a + r_b)
        x_a, x_b = x_a + n * r_a, x_b - n * r_b
        return Nearest(distance, p_a + E_a @ x_a, p_a + E_a @ x_b, E_a @ n)

    def __call__(self, size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array) -> Nearest:
        problem = self.problem(size_a, E_a, p_a, size_b, E_b, p_b)
        states: list[Array] = []
        for loop in self.loops:
            needed = not states or loop.needed(states[-1])
            state = loop.start(problem, states[-1] if states else np.zeros(0))
            for _ in range(loop.most if needed else 0):
                state = loop.iteration(problem, state)
                if state[-1]:
                    break
            states.append(state)
        return self.result(problem, states, E_a, p_a)


def iterated(kind_a: str, kind_b: str, eps: float = EPS) -> IteratedPair:
    """The distance of two kinds of solids by their support functions, for numbers with the spacing ``eps`` at 1."""
    kinds = kind_a, kind_b
    loops = apart_loop(kinds, eps), sample_loop(kinds), descent.overlap_loop(kinds, eps)
    return IteratedPair(kinds, loops[:1] if kinds == _BOXES else loops, eps)


def swapped(function: PairDistance | IteratedPair) -> PairDistance:
    """The distance of the solids in the other order."""

    def distance(size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array) -> Nearest:
        gap, b, a, n = function(size_b, E_b, p_b, size_a, E_a, p_a)
        return Nearest(gap, a, b, -n)

    return distance


CLOSED: dict[tuple[str, str], PairDistance] = {
    ("sphere", "sphere"): sphere_and(point_sphere),
    ("sphere", "capsule"): sphere_and(point_capsule),
    ("sphere", "box"): sphere_and(point_box),
    ("sphere", "cylinder"): sphere_and(point_cylinder),
    ("sphere", "cone"): sphere_and(point_cone),
    ("sphere", "ellipsoid"): sphere_and(point_ellipsoid),
    ("sphere", "height_field"): sphere_and(point_height_field),
    ("capsule", "capsule"): capsule_capsule,
    ("capsule", "box"): capsule_box,
    **{(kind, "plane"): plane_and(kind) for kind in KINDS[: KINDS.index("plane")]},
}
_SOLIDS = KINDS[: KINDS.index("plane")]
ITERATED: dict[tuple[str, str], IteratedPair] = {
    (a, b): iterated(a, b) for i, a in enumerate(_SOLIDS) for b in _SOLIDS[i:] if (a, b) not in CLOSED
}
PAIRS: dict[tuple[str, str], PairDistance | IteratedPair] = {**CLOSED, **ITERATED}
PAIRS |= {(b, a): swapped(f) for (a, b), f in PAIRS.items() if a != b}
