"""Distance of two cores by support functions: the GJK algorithm, and where they overlap a descent from several starts.

All is in the axes of the first solid. C = {x_a - x_b} is the difference of the cores, h(u) its support function. Where
the origin is outside of C, the distance is that of the origin from C. Inside, the depth is the least h(n) over all unit
vectors n, which has local minima: from each of some starts n, the point y = (h(n) + δ) n outside of C is projected onto
C, and the direction of the projection is the next n. h(n) never grows, and one step suffices where C is flat.

Iterations are functions of arrays of a fixed size, whose last entry is 1 when they are done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.distance.boxes import box_separation
from sixd.algorithms.distance.closed_forms import Nearest
from sixd.algorithms.distance.simplex import Simplex
from sixd.algorithms.distance.supports import bounding_radius, core_radius, support_core
from sixd.algorithms.distance.vectors import X, choose, direction
from sixd.spatial.scalar import Array, Scalar, absolute, maximum, minimum, where

_CLOSE = 1e-14  # part of v · v by which the distance may still fall when an iteration ends
_TOUCHING = 1e-16  # part of w · w below which v · v counts as overlap
_BOXES = ("box", "box")
_STARTS = 7
MOST = 60
MOST_DESCENT = 1500
_STILL = 1e-14  # part of the size of C by which h must fall for a descent to go on
_SAME = 0.995  # cosine of the angle between directions that belong to one minimum
_FINER = 1e-3
_STRIDE = 3.0
_COARSE = 1e-2  # the same as _CLOSE and _STILL, until a descent is near its end
_COARSE_STILL = 1e-3
_PROMISING = 0.01  # part of the size of C by which the end of a coarse descent may exceed the best result
_FAR = 1e30
_BOX_TOUCHING = 1e-9  # part of the size below which the distance of boxes counts as overlap
_OUTSIDE = 0.05  # δ as a part of the size of C, in addition to half the depth


class Problem(NamedTuple):
    """Two solids, the second with the rotation R (3, 3) and position t (3,) in the axes of the first; a ``guess`` of the
    normal (3,), and a ``shift`` (3,) that is part of t: boxes that overlap are moved apart along their normal."""

    size_a: Array
    size_b: Array
    R: Array
    t: Array
    guess: Array
    shift: Array


class Loop(NamedTuple):
    """An iteration: ``start(problem, before)`` returns its state, an array; ``iteration(problem, state)`` the next one,
    whose last entry is 1 when it is done, at the latest after ``most``. ``before`` is the final state of the loop
    before; where ``needed(before)`` is 0 the loop, its start included, is not needed."""

    start: Callable[[Problem, Array], Array]
    iteration: Callable[[Problem, Array], Array]
    needed: Callable[[Array], Scalar]
    most: int


class IteratedPair(NamedTuple):
    """The distance of two kinds of solids by loops: for cores apart, then, except for boxes, for cores that overlap.

    ``problem`` makes the arguments of the loops from those of a pair, ``result`` the distance from their final states.
    Called with numbers, an object runs the loops.
    """

    kinds: tuple[str, str]
    loops: tuple[Loop, ...]

    def problem(self, size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array) -> Problem:
        """The arguments of the loops."""
        R, t = E_a.T @ E_b, E_a.T @ (p_b - p_a)
        sizes = np.asarray(size_a), np.asarray(size_b)
        if self.kinds != _BOXES:
            return Problem(*sizes, R, t, direction(t, X), np.zeros(3))
        gap, n = box_separation(*sizes, R, t)
        size = bounding_radius("box", size_a) + bounding_radius("box", size_b)
        shift = n * where(gap < size * _BOX_TOUCHING, size * _OUTSIDE - gap, 0)
        return Problem(*sizes, R, t + shift, n, shift)

    def result(self, problem: Problem, states: Sequence[Array], E_a: Array, p_a: Array) -> Nearest:
        """The distance from the final states of all loops."""
        found = Simplex.read(states[0][:27])
        n, x_a, x_b = direction(-found.v, problem.guess), found.x, found.x - found.v
        if self.kinds == _BOXES:
            n = choose(problem.shift @ problem.shift > 0, problem.guess, n)
            x_b = x_b - problem.shift
        else:
            deep, best = states[0][-2] > 0, states[1][_BEST]
            n, x_a, x_b = (choose(deep, best[3 * k : 3 * k + 3], x) for k, x in enumerate((n, x_a, x_b)))
        r_a, r_b = core_radius(self.kinds[0], problem.size_a), core_radius(self.kinds[1], problem.size_b)
        distance = (x_b - x_a) @ n - (r_a + r_b)
        x_a, x_b = x_a + n * r_a, x_b - n * r_b
        return Nearest(distance, p_a + E_a @ x_a, p_a + E_a @ x_b, E_a @ n)

    def __call__(self, size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array) -> Nearest:
        problem = self.problem(size_a, E_a, p_a, size_b, E_b, p_b)
        states = [np.zeros(0)]
        for loop in self.loops:
            state = loop.start(problem, states[-1])
            for _ in range(loop.most if loop.needed(states[-1]) else 0):
                state = loop.iteration(problem, state)
                if state[-1]:
                    break
            states.append(state)
        return self.result(problem, states[1:], E_a, p_a)


def iterated(kind_a: str, kind_b: str) -> IteratedPair:
    """The distance of two kinds of solids by their support functions."""
    kinds = kind_a, kind_b
    apart = Loop(_apart_start, lambda *x: _apart_iteration(kinds, *x), lambda _: 1, MOST)
    overlap = Loop(_overlap_start, lambda *x: _overlap_iteration(kinds, *x), lambda s: s[-2], MOST_DESCENT)
    return IteratedPair(kinds, (apart,) if kinds == _BOXES else (apart, overlap))


def _support(kinds: tuple[str, str], problem: Problem, u: Array) -> tuple[Array, Array]:
    """The point of C that is farthest along u, and the point of the first core that it is from."""
    x_a = support_core(kinds[0], problem.size_a, u)
    x_b = problem.R @ support_core(kinds[1], problem.size_b, problem.R.T @ u * -1) + problem.t
    return x_a - x_b, x_a


# apart -------------------------------------------------------------------------------------------


def _apart_start(problem: Problem, before: Array) -> Array:
    return np.array([*Simplex.empty(-problem.guess).entries, 0, 0])


def _apart_iteration(kinds: tuple[str, str], problem: Problem, state: Array) -> Array:
    """State: the simplex (27,), whether the cores overlap, and whether the iteration is done."""
    old, began = Simplex.read(state[:27]), state[18] > 0
    w, p = _support(kinds, problem, old.v * -1)
    new, inside = old.extended(w, p)
    square, fresh = old.v @ old.v, new.v @ new.v
    ends = (square - old.v @ w <= square * _CLOSE) | old.contains(w)
    stop = began & (ends | ((fresh >= square) & where_not(inside)))
    overlap = where(stop, 0, where(inside | (fresh <= w @ w * _TOUCHING), 1, 0))
    entries = choose(stop, old.entries, new.entries)
    return np.array([*entries, overlap, where(stop, 1, overlap)])


def where_not(condition: Any) -> Any:
    """The negated condition, also of Python's own truth values."""
    return where(condition, 0, 1) > 0


# overlap -----------------------------------------------------------------------------------------

# entries of the state after those of the simplex
_Y, _H, _K, _FINE, _FRESH = slice(27, 30), 30, 31, 32, 33
_BEST, _BEST_H = slice(34, 43), 43  # normal, point of a, point of b
_HISTORY = slice(44, 56)


def _overlap_start(problem: Problem, before: Array) -> Array:
    zeros = np.zeros(12)
    return np.array([*Simplex.empty(-problem.guess).entries, *zeros[:3], _FAR, 0, _COARSE, 1, *zeros[:9], _FAR, *zeros, 0])


def _start_direction(problem: Problem, k: Scalar) -> Array:
    """The direction from which descent k starts: that of the centres, then the axes of both solids."""
    axes = [*np.eye(3), *problem.R.T]
    n = problem.guess
    for i, axis in enumerate(axes):
        n = choose(k > i + 0.5, axis, n)
    return n * where(n @ problem.t < 0, -1, 1)


def _overlap_iteration(kinds: tuple[str, str], problem: Problem, state: Array) -> Array:
    """State: the simplex (27,) relative to y, y (3,), the least h of this descent, the number of the start, whether the
    descent is fine, whether y is new, the best result so far with its h, and the last steps."""
    old, y, lowest, k, fine = Simplex.read(state[:27]), state[_Y], state[_H], state[_K], state[_FINE]
    is_fresh = state[_FRESH] > 0
    u = direction(-old.v, X)
    point, p = _support(kinds, problem, u)
    h = u @ point

    # begin: put y outside of C along u, unless that is higher than where the descent has been
    size = bounding_radius(kinds[0], problem.size_a) + bounding_radius(kinds[1], problem.size_b)
    last = state[_HISTORY][:3]
    too_high = is_fresh & (last @ last > 0.5) & (h > lowest + size * _STILL)
    moved = choose(is_fresh, u * (h + absolute(h) * 0.5 + size * _OUTSIDE), y)
    W = old.W + (y - moved)
    old, y = old._replace(W=W), moved
    w = point - y
    new, inside = old.extended(w, p)
    square, after = old.v @ old.v, new.v @ new.v
    close = square - old.v @ w <= square * maximum(fine, _CLOSE)
    ends = where_not(is_fresh) & (close | old.contains(w) | (after >= square) | inside)

    # y is projected: the next step of the descent, a finer one, or the next start
    coarse = fine > _COARSE * 0.5
    known = coarse & (u @ state[_BEST][:3] > _SAME) & (h > state[_BEST_H] - size * _COARSE_STILL)
    falls = (h < lowest - size * where(coarse, _COARSE_STILL, _STILL)) & where_not(known)
    promising = (h < state[_BEST_H] + size * _PROMISING) & where_not(known)
    better = ends & where_not(coarse) & (h < state[_BEST_H])
    refines = ends & where_not(falls) & (fine > _CLOSE) & promising
    again = ends & falls
    leaves = ends & where_not(falls | refines)
    found = np.array([*u, *old.x, *(old.x - old.v - y)])
    best, best_h = choose(better, found, state[_BEST]), where(better, h, state[_BEST_H])
    k = where(leaves, k + 1, k)
    n = direction(y, X)
    guess, history = _accelerated(n, u, state[_HISTORY])
    step = (u - n) @ (u - n) * _FINER
    finer = where(refines, fine * _FINER, where(again & where_not(coarse), minimum(step, fine), fine))
    fine = where(leaves, _COARSE, maximum(finer, _CLOSE * 0.5))
    cleared = leaves | refines | too_high
    history = choose(cleared, np.zeros(12), choose(again, history, state[_HISTORY]))
    v = choose(leaves, -_start_direction(problem, k), choose(again, -guess, -u))
    v = choose(too_high, -last, v)
    kept = Simplex(old.W, old.P, old.used * where(leaves, 0, 1), v, old.x)
    entries = choose(ends | too_high, kept.entries, new.entries)
    lowest = where(leaves, _FAR, where(again, h, lowest))
    done = where(leaves & (k > _STARTS - 0.5), 1, 0)
    fresh = where(ends | too_high, 1, 0)
    return np.array([*entries, *y, lowest, k, fine, fresh, *best, best_h, *history, done])


def _accelerated(n: Array, u: Array, history: Array) -> tuple[Array, Array]:
    """The next n of a descent whose step from n leads to u, by Anderson's method with the last two steps; and the new
    history: u, u - n and their last changes. Steps shrink by factors, so that extrapolation saves most of them."""
    last_u, last_r, du2, dr2 = history[:3], history[3:6], history[6:9], history[9:]
    r = u - n
    some = last_u @ last_u > 0.5
    du1, dr1 = (u - last_u) * where(some, 1, 0), (r - last_r) * where(some, 1, 0)
    a = dr1 @ dr1
    inverse = where(a > 0, 1 / where(a > 0, a, 1), 0)
    mixed = dr1 @ dr2 * inverse
    rest = dr2 - dr1 * mixed
    c = rest @ rest
    second = c > 1e-4 * (dr2 @ dr2)
    two = where(second, rest @ r / where(second, c, 1), 0)
    one = dr1 @ r * inverse - mixed * two
    step = du1 * one + du2 * two
    # away from a saddle steps grow
    grows = some & (r @ last_r > 0) & (r @ r > last_r @ last_r)
    step = choose(grows, r * -_STRIDE, step)
    step = step * where(step @ step < 0.1, 1, 0)
    return direction(u - step, X), np.array([*u, *r, *du1, *dr1])
