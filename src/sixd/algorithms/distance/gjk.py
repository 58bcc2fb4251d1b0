"""Distance of two cores that are apart, by their support functions: the GJK algorithm without branches.

All is in the axes of the first solid. C = {x_a - x_b} is the difference of the cores: the distance is that of the
origin from C. Iterations are functions of arrays of a fixed size, whose last entry is 1 when they are done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sixd.algorithms.distance.simplex import Simplex
from sixd.algorithms.distance.supports import support_core
from sixd.algorithms.distance.vectors import choose, negated
from sixd.spatial.scalar import Array, Scalar, where

# part of v · v by which the distance may still fall when an iteration ends: the distance is off by half of that part
CLOSE = 1e-14
EPS = float(np.finfo(float).eps)
UNSURE = 2
MOST = 60  # iterations; ellipsoids take up to 60, polytopes up to 11
_OFF = 1e-19  # square of the part of size and distance by which a distance may be off
_TOUCHING = 1e-12  # part of w · w below which v · v counts as overlap: directions of v would be off by rounding

Kinds = tuple[str, str]


class CorePair(NamedTuple):
    """Two solids, the second with the rotation R (3, 3) and position t (3,) in the axes of the first.

    ``guess`` (3,) is about the normal, ``shift`` (3,) a part of t by which solids that overlap are moved apart, and
    ``size`` the sum of the radii of balls around both.
    """

    size_a: Array
    size_b: Array
    R: Array
    t: Array
    guess: Array
    shift: Array
    size: Scalar


class PairLoop(NamedTuple):
    """An iteration: ``start(problem, before)`` returns its state, an array, from the final state of the loop before
    (none: an empty array); ``iteration(problem, state)`` the next one, whose last entry is 1 when it is done, at the
    latest after ``most``. Where ``needed(before)`` is 0 the loop is not needed, its start included."""

    start: Callable[[CorePair, Array], Array]
    iteration: Callable[[CorePair, Array], Array]
    needed: Callable[[Array], Scalar]
    most: int


def support(kinds: Kinds, problem: CorePair, u: Array) -> tuple[Array, Array]:
    """The point of C that is farthest along u, and the point of the first core that it is from."""
    x_a = support_core(kinds[0], problem.size_a, u)
    x_b = problem.R @ support_core(kinds[1], problem.size_b, problem.R.T @ u * -1) + problem.t
    return x_a - x_b, x_a


def at_least(tolerance: float, eps: float) -> float:
    """A relative tolerance that the rounding of numbers with the spacing ``eps`` at 1 allows."""
    return max(tolerance, 40 * eps)


def at_least_square(tolerance: float, eps: float) -> float:
    """The same for the square of a part."""
    return max(tolerance, (30 * eps) ** 2)


def apart_loop(kinds: Kinds, eps: float = EPS) -> PairLoop:
    """The loop for cores that are apart. State: the simplex (27,), whether the cores overlap, and whether the iteration
    is done."""

    def start(problem: CorePair, before: Array) -> Array:
        return np.array([*Simplex.empty(-problem.guess).entries, 0, 0])

    def iteration(problem: CorePair, state: Array) -> Array:
        old, began = Simplex.read(state[:27]), state[18] > 0
        w, p = support(kinds, problem, old.v * -1)
        new, inside = old.extended(w, p)
        square, after = old.v @ old.v, new.v @ new.v
        gap = square - old.v @ w
        ends = (gap <= square * at_least(CLOSE, eps)) | old.contains(w, eps)
        stop = began & (ends | ((after >= square) & negated(inside)))
        # by rounding some curved solids end early: those go on as if they overlap, from a target farther away
        off = gap * gap > square * (problem.size * problem.size + square) * at_least_square(_OFF, eps)
        touch = after <= w @ w * at_least_square(_TOUCHING, eps)
        overlap = where(stop, where(off, UNSURE, 0), where(inside | touch, 1, 0))
        return np.array([*choose(stop, old.entries, new.entries), overlap, where(stop, 1, overlap)])

    return PairLoop(start, iteration, lambda _: 1, MOST)


def overlaps(state: Array) -> Scalar:
    """1 where the cores of the final state of ``apart_loop`` overlap or touch, ``UNSURE`` where they are apart by a
    distance that is not accurate, else 0."""
    return state[-2]
