"""Pairs of collision shapes judged by the distances of random configurations."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.collision.distances import distance
from sixd.collision.pairs import CollisionPairs
from sixd.errors import ScalarTypeError
from sixd.model.model import Model
from sixd.spatial.scalar import Array

SAMPLES = 1000
_ROWS = 4_000_000  # numbers of distances at once: 32 MB


def overlaps_of(model: Model, pairs: Any, q: Array) -> tuple[CollisionPairs, Array]:
    """Return pairs, and in how many of the configurations q (n, nq) each overlaps."""
    found = distance(model, q[:1], pairs).pairs
    count, each = np.zeros(len(found), dtype=int), max(1, _ROWS // (10 * max(len(found), 1)))
    for first in range(0, len(q), each):
        count += (distance(model, q[first : first + each], found).distance < 0).sum(axis=0)
    return found, count


def sample_pairs(model: Model, pairs: Any = None, *, samples: int = SAMPLES, seed: Any = 0) -> CollisionPairs:
    """Return the pairs of collision shapes that overlap in some random configurations, but not in all.

    Pairs that always overlap, as shapes around one joint do, tell nothing; those that never do cost time. The
    configurations are drawn within the limits of the joints; obstacles are where the model has them.

    Parameters
    ----------
    pairs : the result of ``collision_pairs``, or what that accepts as ``among``; None for all of its pairs.
    samples : the number of configurations. A pair that overlaps in a part p of all configurations is missed with the
        probability (1 - p)^samples: 5e-5 for p = 0.01 and 1,000 of them.
    seed : a number, or a NumPy generator. Equal seeds give equal results.

    >>> import sixd
    >>> ball = sixd.Shape("sphere", (0.1,))
    >>> arm = sixd.zoo.planar(3)
    >>> for link in arm.body_names:
    ...     arm = arm.with_collision(link, ball)
    >>> arm = arm.with_collision("world", ball, sixd.placement((0, 0, 5)), name="lamp")
    >>> sixd.collision_pairs(arm, ("lamp", "*")), sixd.sample_pairs(arm, ("lamp", "*"))
    (<CollisionPairs: 3; lamp - link1; lamp - link2; lamp - link3>, <CollisionPairs: 0>)
    """
    if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)) or samples < 1:
        raise ScalarTypeError(f"sample_pairs: samples is {samples!r}, expected a whole number of at least 1.")
    found, count = overlaps_of(model, pairs, np.asarray(model.random_configuration(seed, size=int(samples)), float))
    return CollisionPairs(pair for pair, n in zip(found, count, strict=True) if 0 < n < samples)
