"""Directions in which two overlapping cores may be apart soonest: those of the least support among a sample.

The support h(n) of the difference of both cores is how far the second one must be moved along n until they are apart.
It is computed along the line of the centres, the axes of both solids, and a spiral over the sphere. The best four that
differ by at least 20° are the starts of descents (``descent.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.distance.gjk import CorePair, Kinds, PairLoop, overlaps, support
from sixd.algorithms.distance.vectors import choose
from sixd.spatial.scalar import Array, Scalar, absolute, sqrt, where

FAR = 1e30  # a support that no direction has
STARTS = 4
_SPIRAL = 80  # directions: with 40, twice as many overlaps of boxes and cylinders end in a depth that is not the least
_AXES = 14
_APART = np.cos(np.radians(20))
_GOLDEN = np.pi * (3 - np.sqrt(5))  # rad: from one direction of the spiral to the next


class DirectionSample(NamedTuple):
    """The state: the number of the next direction, the cosine and sine (2,) of its azimuth on the spiral, the best
    directions (STARTS, 3) and their supports (STARTS,), the least first; and whether all are done."""

    k: Scalar
    azimuth: Array
    best: Array
    h: Array
    done: Scalar

    @classmethod
    def read(cls, s: Array) -> DirectionSample:
        """The samples with these entries."""
        best, h = s[3 : 3 + 3 * STARTS].reshape(STARTS, 3), s[3 + 3 * STARTS : -1]
        return cls(s[0], s[1:3], best, h, s[-1])

    @property
    def entries(self) -> Array:
        """All numbers."""
        return np.array([self.k, *self.azimuth, *self.best.ravel(), *self.h, self.done])


def sample_loop(kinds: Kinds) -> PairLoop:
    """The loop over the sample, for cores that overlap."""

    def start(problem: CorePair, before: Array) -> Array:
        return DirectionSample(0, np.array([1, 0]), np.zeros((STARTS, 3)), np.full(STARTS, FAR), 0).entries

    return PairLoop(start, lambda p, s: _iteration(kinds, p, DirectionSample.read(s)), overlaps, _AXES + _SPIRAL)


def _iteration(kinds: Kinds, problem: CorePair, s: DirectionSample) -> Array:
    n = _direction(problem, s.k, s.azimuth)
    h = n @ support(kinds, problem, n)[0]
    near = [m @ n > _APART for m in s.best]
    for is_near, other in zip(near, s.h, strict=True):
        h = where(is_near & (other <= h), FAR, h)
    rest = [where(is_near & (other > h), FAR, other) for is_near, other in zip(near, s.h, strict=True)]
    best, supports = _least([n, *s.best], [h, *rest])
    c, d = np.cos(_GOLDEN), np.sin(_GOLDEN)
    x, y = s.azimuth
    azimuth = np.array([x * c - y * d, x * d + y * c])
    return DirectionSample(s.k + 1, azimuth, best, supports, where(s.k > _AXES + _SPIRAL - 1.5, 1, 0)).entries


def _direction(problem: CorePair, k: Scalar, azimuth: Array) -> Array:
    """Direction k of the sample."""
    z = 1 - (k - _AXES + 0.5) * (2 / _SPIRAL)
    rim = 1 - z * z
    rim = sqrt(where(rim > 0, rim, 0))
    n: Any = np.array([azimuth[0] * rim, azimuth[1] * rim, z])
    for i, axis in enumerate([problem.guess, *np.eye(3), *problem.R.T]):
        for j, own in enumerate((axis, axis * -1)):
            n = choose(absolute(k - (2 * i + j)) < 0.5, own, n)
    return n


def _least(directions: Sequence[Array], supports: Sequence[Scalar]) -> tuple[Array, Array]:
    """The directions (STARTS, 3) with the least supports (STARTS,), sorted."""
    items = list(zip(directions, supports, strict=True))
    for a in range(STARTS):
        for b in range(a + 1, len(items)):
            (n, h), (m, g) = items[a], items[b]
            less = g < h
            items[a] = choose(less, m, n), where(less, g, h)
            items[b] = choose(less, n, m), where(less, h, g)
    return np.array([n for n, _ in items[:STARTS]]), np.array([h for _, h in items[:STARTS]])
