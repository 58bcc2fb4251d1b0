"""Where a ray first crosses the surface of a convex hull: GJK towards a point that moves along the ray.

A plane of support between the point and the hull tells how far the point may move. Two casts, from the origin and back
from beyond the hull, tell where the ray enters and leaves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.distance.raycast import Hit
from sixd.algorithms.distance.simplex import Simplex
from sixd.algorithms.distance.supports import bounding_radius, support_core
from sixd.algorithms.distance.vectors import X, choose, direction, negated
from sixd.spatial.scalar import Array, Scalar, sqrt, where

MOST = 60  # iterations; of 300 casts on 64 vertices the longest take 15
_CLOSE = 1e-24  # part of the squared size at which the point has reached the hull


class Cast(NamedTuple):
    """The vertices (n, 3) of a hull, and in its axes the origin x (3,) of a ray, its unit vector d (3,), and a length
    [m] beyond the hull."""

    vertices: Array
    x: Array
    d: Array
    length: Scalar


def casts(vertices: Any, E: Array, p: Array, origin: Array, toward: Array) -> tuple[Cast, Cast]:
    """The casts along a ray and back, each an argument of ``start`` and ``iteration``."""
    x, d = E.T @ (origin - p), E.T @ toward
    length = sqrt(x @ x) + bounding_radius("hull", vertices) * 2
    vertices = np.asarray(vertices)
    return Cast(vertices, x, d, length), Cast(vertices, x + d * length, -d, length)


def start(cast: Cast) -> Array:
    """State: the simplex (27,) relative to the point, the distance along the ray, the normal (3,), whether the ray
    misses the hull, whether the origin is inside, and whether the cast is done."""
    return np.array([*Simplex.empty(direction(-cast.x, X)).entries, 0, *-cast.d, 0, 0, 0])


def iteration(cast: Cast, state: Array) -> Array:
    """The next state of a cast."""
    old, t, n, began = Simplex.read(state[:27]), state[27], state[28:31], state[18] > 0
    v = old.v
    w = support_core("hull", cast.vertices, -v) - (cast.x + cast.d * t)
    gap, rate = v @ w, v @ cast.d
    outside = gap > 0
    misses = outside & (rate <= 0)
    moves = outside & (rate > 0)
    by = where(moves, gap / where(moves, rate, 1), 0)
    shifted = old._replace(W=old.W - cast.d * by)
    new, inside = shifted.extended(w - cast.d * by, np.zeros(3))
    near = new.v @ new.v <= cast.length * cast.length * _CLOSE
    stuck = began & negated(moves) & (new.v @ new.v >= v @ v)
    starts_inside = inside & (t <= 0) & negated(moves)
    done = misses | inside | near | stuck
    return np.array([
        *new.entries, t + by, *choose(moves, direction(-v, -cast.d), n), where(misses, 1, 0),
        where(starts_inside, 1, 0), where(done, 1, 0),
    ])  # fmt: skip


def hit(cast: Cast, forward: Array, back: Array, E: Array) -> Hit:
    """What the ray meets, from the final states of both casts."""
    inside = forward[-2] > 0
    t = where(inside, cast.length - back[27], forward[27])
    n = choose(inside, back[28:31], forward[28:31])
    return Hit(where(forward[-3] > 0, np.inf, t), E @ n)


def raycast_hull(vertices: Any, E: Array, p: Array, origin: Array, toward: Array) -> Hit:
    """The first crossing of a ray with a hull, for numbers: both casts, run to their end."""
    both = casts(vertices, E, p, origin, toward)
    states = []
    for cast in both:
        state = start(cast)
        for _ in range(MOST):
            state = iteration(cast, state)
            if state[-1]:
                break
        states.append(state)
    return hit(both[0], states[0], states[1], E)
