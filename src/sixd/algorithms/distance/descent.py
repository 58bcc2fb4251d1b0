"""Depth of two cores that overlap: descents from the best of a sample to the least support of their difference.

C = {x_a - x_b} has the support function h. The depth is the least h(n) over all unit vectors n, which has local minima.
From each start n, the point y = (h(n) + δ) n outside of C is projected onto C by GJK, and the direction from the
projection to y is the next n. h(n) never grows, and one step suffices where C is flat. Elsewhere steps shrink by the
factor (h + δ) / (ρ + δ), with the radius of curvature ρ of C, and are extrapolated.

A descent is coarse first, and made fine if it may end below the best result. Any n bounds the depth from above: what
starts miss is a smaller depth along another direction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.algorithms.distance.gjk import (
    CLOSE,
    EPS,
    CorePair,
    Kinds,
    PairLoop,
    at_least,
    at_least_square,
    support,
)
from sixd.algorithms.distance.samples import FAR, STARTS, DirectionSample
from sixd.algorithms.distance.simplex import Simplex
from sixd.algorithms.distance.vectors import X, choose, direction, negated
from sixd.spatial.scalar import Array, Scalar, maximum, minimum, where

OUTSIDE = 0.05  # δ as a part of the size of C, in addition to half the depth
# iterations of all descents: 50 to 150 on the average of deep overlaps, rarely more than 1000
MOST = 1500
SIZE = 59 + 3 * STARTS  # entries of the state
_COARSE = 1e-2  # like CLOSE, of coarse descents
_FINER = 1e-3  # factor of tolerances from step to step, and of the square of a step for the tolerance of the next
_STILL, _COARSE_STILL = 1e-14, 1e-3  # parts of the size of C by which h must fall for a descent to go on
_STUCK = 1e-6  # part of v · v by which a projection that does not move may be off
_PROMISING = 0.01  # part of the size of C by which the end of a coarse descent may exceed the best result
_STAYS = 1e-12  # rad²: the square of a step that ends a descent
_SAME = 0.995  # cosine of the angle between directions that belong to one minimum
_STRIDE = 3.0  # factor of steps that grow, which lead away from a saddle
_LONGEST = 250  # iterations of a descent that is not below an earlier result: others would have no time


class Descent(NamedTuple):
    """The state: a simplex (27,) relative to y (3,), the least h of this descent, the number of its start, its
    tolerance, whether y is new; the best result so far, n and a point of both cores (9,), with its h and the number of
    its start; the last steps (12,): n, its change, and the change of both before; the iterations of this descent;
    the directions of all starts (STARTS, 3); and whether all descents are done."""

    simplex: Simplex
    y: Array
    lowest: Scalar
    k: Scalar
    tolerance: Scalar
    is_new: Scalar
    best: Array
    best_h: Scalar
    best_k: Scalar
    history: Array
    count: Scalar
    starts: Array
    done: Scalar

    @classmethod
    def read(cls, s: Array) -> Descent:
        """The descent with these entries."""
        starts = s[58:-1].reshape(STARTS, 3)
        return cls(
            Simplex.read(s[:27]), s[27:30], s[30], s[31], s[32], s[33], s[34:43], s[43], s[44], s[45:57], s[57], starts,
            s[-1],
        )  # fmt: skip

    @property
    def entries(self) -> Array:
        """All numbers (SIZE,)."""
        scalars = self.lowest, self.k, self.tolerance, self.is_new
        return np.array(
            [
                *self.simplex.entries,
                *self.y,
                *scalars,
                *self.best,
                self.best_h,
                self.best_k,
                *self.history,
                self.count,
                *self.starts.ravel(),
                self.done,
            ]
        )


def overlap_loop(kinds: Kinds, eps: float = EPS) -> PairLoop:
    """The loop for cores that overlap."""

    def start(problem: CorePair, before: Array) -> Array:
        starts, zero = DirectionSample.read(before).best, np.zeros(12)
        point, p = support(kinds, problem, starts[0])
        best, h = np.array([*starts[0], *p, *(p - point)]), starts[0] @ point
        return Descent(
            Simplex.empty(-starts[0]), zero[:3], FAR, 0, _COARSE, 1, best, h, FAR, zero, 0, starts, 0
        ).entries

    def iteration(problem: CorePair, state: Array) -> Array:
        return _iteration(kinds, eps, problem, Descent.read(state))

    return PairLoop(start, iteration, lambda before: before[-1], MOST)


def result(state: Array) -> tuple[Array, Array, Array]:
    """The normal, and the deepest points of both cores."""
    best = Descent.read(state).best
    return best[:3], best[3:6], best[6:]


def _iteration(kinds: Kinds, eps: float, problem: CorePair, s: Descent) -> Array:
    size, is_new, last = problem.size, s.is_new > 0, s.history[:3]
    still, finest = at_least(_STILL, eps), at_least(CLOSE, eps)
    u = direction(-s.simplex.v, X)
    point, p = support(kinds, problem, u)
    h = u @ point

    # a new y lies outside of C along u; an extrapolated u may be higher than the last: then back to that
    back = is_new & (last @ last > 0.5) & (h > s.lowest + size * still)
    y = choose(is_new, u * (maximum(h * 1.5, 0) + size * OUTSIDE), s.y)
    old = s.simplex._replace(W=s.simplex.W + (s.y - y))

    # one iteration of GJK towards y
    w = point - y
    simplex, inside = old.extended(w, p)
    square = old.v @ old.v
    gap = square - old.v @ w
    close = gap <= square * maximum(s.tolerance, finest)
    stuck = old.contains(w, eps) | (simplex.v @ simplex.v >= square) | inside
    # after y has moved, the nearest point may need vertices without the last one: begin without vertices
    off = (gap > square * max(_STUCK, 1000 * eps)) & (s.count < _LONGEST)
    retries = negated(is_new) & stuck & negated(close) & off
    ends = negated(is_new | retries) & (close | stuck)

    # y is projected: the next step of this descent, the same finer, or the next start
    coarse = s.tolerance > _COARSE / 2
    known = (s.best_k < s.k) & (u @ s.best[:3] > _SAME) & (h > s.best_h - size * _COARSE_STILL)
    falls = (h < s.lowest - size * where(coarse, _COARSE_STILL, still)) & negated(known)
    promising = (h < s.best_h + size * _PROMISING) & negated(known)
    in_time = (s.count < _LONGEST) | (s.best_k >= s.k)
    again = ends & falls & in_time
    refines = ends & negated(falls) & in_time & (s.tolerance > finest) & promising
    leaves = ends & negated(again | refines)
    # of equal h the one whose points are along u, that of a step that stays where it is
    n = direction(y, X)
    square_step = (u - n) @ (u - n)
    better = (
        ends
        & negated(coarse)
        & (h < s.best_h + size * where(square_step < at_least_square(_STAYS, eps), still, -still))
    )

    k = where(leaves, s.k + 1, s.k)
    guess, history = _extrapolated(n, u, s.history)
    finer = minimum(square_step, _COARSE) * _FINER
    finer = where(refines, s.tolerance * _FINER, where(again & negated(coarse), finer, s.tolerance))
    # a coarse projection may lead upwards: refined from where it began
    here = choose(h > s.lowest + size * still, n, u)
    turned = choose(again, guess, choose(leaves, _start(s.starts, k), here))
    kept = Simplex(old.W, old.P, old.used * where(leaves | retries, 0, 1), -choose(back, last, turned), old.x)
    return Descent(
        simplex=Simplex.read(choose(ends | back | retries, kept.entries, simplex.entries)),
        y=y,
        lowest=where(leaves, FAR, where(again, h, s.lowest)),
        k=k,
        tolerance=where(leaves, _COARSE, maximum(finer, finest / 2)),
        is_new=where(ends | back | retries, 1, 0),
        best=choose(better, [*u, *old.x, *(old.x - old.v - y)], s.best),
        best_h=where(better, h, s.best_h),
        best_k=where(better, s.k, s.best_k),
        history=choose(leaves | refines | back | retries, np.zeros(12), choose(again, history, s.history)),
        count=where(leaves, 0, s.count + 1),
        starts=s.starts,
        done=where(leaves & (k > STARTS - 0.5), 1, 0),
    ).entries


def _start(starts: Array, k: Scalar) -> Array:
    """The direction from which descent k > 0 starts."""
    n: Array = starts[1]
    for j in range(2, STARTS):
        n = choose(k > j - 0.5, starts[j], n)
    return n


def _extrapolated(n: Array, u: Array, history: Array) -> tuple[Array, Array]:
    """The next n of a descent whose step from n leads to u, by Anderson's method with the last two steps; and the new
    history: u, u - n and their last changes."""
    last_u, last_r, du2, dr2 = history[:3], history[3:6], history[6:9], history[9:]
    r = u - n
    some = last_u @ last_u > 0.5
    du1, dr1 = (u - last_u) * where(some, 1, 0), (r - last_r) * where(some, 1, 0)
    a = dr1 @ dr1
    inverse = where(a > 0, 1 / where(a > 0, a, 1), 0)
    mixed = dr1 @ dr2 * inverse
    rest = dr2 - dr1 * mixed
    c = rest @ rest
    second = c > dr2 @ dr2 * 1e-4
    two = where(second, rest @ r / where(second, c, 1), 0)
    one = dr1 @ r * inverse - mixed * two
    grows = some & (r @ last_r > 0) & (r @ r > last_r @ last_r)
    step = choose(grows, r * -_STRIDE, du1 * one + du2 * two)
    step = step * where(step @ step < 0.1, 1, 0)
    return direction(u - step, X), np.array([*u, *r, *du1, *dr1])
