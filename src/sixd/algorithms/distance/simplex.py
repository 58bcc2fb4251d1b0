"""The point of a simplex that is nearest to the origin: the inner step of the GJK algorithm, without branches.

A simplex has three slots and a new vertex. The nearest point is on a face, edge or vertex that contains the new vertex,
or the origin is inside: eight candidates are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.distance.vectors import choose, cross
from sixd.spatial.scalar import Array, Scalar, absolute, where

_EDGES = ((0, 1), (0, 2), (1, 2))


class Simplex(NamedTuple):
    """Up to three vertices W (3, 3) of a difference of solids, the points P (3, 3) of the first solid that they are
    from, which slots are in use (3,), and the nearest point v (3,) of the simplex with its point x (3,)."""

    W: Array
    P: Array
    used: Array
    v: Array
    x: Array

    @classmethod
    def empty(cls, v: Array) -> Simplex:
        """A simplex without vertices."""
        return cls(np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3), v, np.zeros(3))

    @classmethod
    def read(cls, entries: Array) -> Simplex:
        """The simplex with these 27 entries."""
        return cls(entries[:9].reshape(3, 3), entries[9:18].reshape(3, 3), entries[18:21], entries[21:24], entries[24:])

    @property
    def entries(self) -> Array:
        """All numbers (27,)."""
        return np.concatenate([np.ravel(part) for part in self])

    def contains(self, w: Array, eps: float) -> Any:
        """Whether w is one of the vertices, up to rounding."""
        gaps = [a - w for a in self.W]
        size = w @ w * max(1e-30, eps * eps)
        return reduce(lambda p, q: p | q, [(u > 0) & (g @ g <= size) for u, g in zip(self.used, gaps, strict=True)])

    def extended(self, w: Array, p: Array) -> tuple[Simplex, Any]:
        """The vertices that the point nearest to the origin needs, w with the point p of the first solid among them;
        and whether the origin is inside, in which case they are arbitrary."""
        weights, inside = nearest_weights(self.W, [u > 0 for u in self.used], w)
        W, P, used, shares = [], [], [], []
        placed: Any = False
        for k in range(3):
            free = weights[k] <= 0
            here = free if k == 0 else free & (placed < 0.5)
            placed = where(free, 1, 0 if k == 0 else placed)
            W.append(choose(here, w, self.W[k]))
            P.append(choose(here, p, self.P[k]))
            used.append(where(here, 1, where(free, 0, 1)))
            shares.append(where(here, weights[3], weights[k]))
        v = W[0] * shares[0] + W[1] * shares[1] + W[2] * shares[2]
        x = P[0] * shares[0] + P[1] * shares[1] + P[2] * shares[2]
        return Simplex(np.array(W), np.array(P), np.array(used), v, x), inside


def nearest_weights(W: Array, used: Sequence[Any], w: Array) -> tuple[list[Scalar], Any]:
    """Weights (4,) of the used vertices W (3, 3) and of w at the point nearest to the origin, and whether the origin is
    inside the tetrahedron. Areas are cross products, whose relative error is small for thin triangles, too."""
    e = [a - w for a in W]
    normals = {(i, j): cross(e[i], e[j]) for i, j in _EDGES}
    best = w @ w
    weights: list[Any] = [0, 0, 0]
    for k in range(3):
        square, b = e[k] @ e[k], -(e[k] @ w)
        ok = used[k] & (b > 0) & (b < square)
        t = b / where(ok, square, 1)
        rest = w + e[k] * t
        distance = rest @ rest
        more = ok & (distance < best)
        best = where(more, distance, best)
        weights = [where(more, t if m == k else 0, weights[m]) for m in range(3)]
    for i, j in _EDGES:
        n = normals[i, j]
        area = n @ n
        ok = used[i] & used[j] & (area > 0)
        inverse = 1 / where(ok, area, 1)
        across = cross(n, w)
        s, t = -(across @ e[j]) * inverse, (across @ e[i]) * inverse
        height = w @ n
        distance = height * height * inverse
        more = ok & (s > 0) & (t > 0) & (s + t < 1) & (distance < best)
        best = where(more, distance, best)
        weights = [where(more, {i: s, j: t}.get(m, 0), weights[m]) for m in range(3)]
    # inside: coordinates by signed volumes
    volume = e[0] @ normals[1, 2]
    flip = where(volume < 0, 1, -1)
    shares = [w @ normals[1, 2] * flip, w @ normals[0, 2] * -flip, w @ normals[0, 1] * flip]
    positive = (shares[0] > 0) & (shares[1] > 0) & (shares[2] > 0)
    inside = used[0] & used[1] & used[2] & positive & (shares[0] + shares[1] + shares[2] < absolute(volume))
    return [*weights, 1 - weights[0] - weights[1] - weights[2]], inside
