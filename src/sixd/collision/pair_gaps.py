"""Lower bounds of the distances of pairs of solids, for thousands of configurations.

Pairs whose bounding volumes are farther apart than a margin get that gap, others their distance. Knows no motions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sixd.collision.distances import distance
from sixd.collision.pair_code import GAPS, pair_code
from sixd.collision.pair_query import fixed_placements
from sixd.collision.pairs import CollisionPairs
from sixd.collision.solids import SolidPairs, solid_pairs
from sixd.engine.targets import cpu
from sixd.model.model import Model
from sixd.spatial.scalar import Array

# m beyond the clearance, up to which distances are exact where edges are checked: 30 queries of a panda among four
# obstacles take 1.2 s at 0.03, 2.4 s at 0.05, 3.7 s at 0.1; 10 through a window 17, 14 and 20 s
MARGIN = 0.04


class PairGaps:
    """Pairs of a model's solids, with ``placements`` {shape: pose (4, 4)} of those that are elsewhere than the model's.

    ``solids`` are the solids as arrays, ``names`` the n pairs of their names, ``placed`` (solids, 12) their placements
    in the frames of their bodies.
    """

    def __init__(self, where: str, model: Model, pairs: Any, placements: Mapping[str, Any] | None) -> None:
        self.where, self.model, self.placements = where, model, placements
        self.solids: SolidPairs = solid_pairs(where, model, pairs)
        self.names: CollisionPairs = self.solids.names
        self.placed = fixed_placements(where, model, self.solids, placements)

    def at(self, q: Array, margin: float) -> Array:
        """Return lower bounds (n, pairs) [m] at configurations (n, nq), exact up to ``margin``; far below zero of
        solids that overlap."""
        if not self.solids.pairs or not len(q):
            return np.zeros((len(q), len(self.solids.pairs)))
        code = pair_code(self.where, self.model, self.solids, GAPS, "margin", "float64", cpu)
        own = self.placed[None], np.full(1, min(max(margin, 0.0), 1e15))
        (gaps,) = code.run(np.ones(1), [np.ascontiguousarray(q, dtype=float), *own, *code.shared])
        return np.asarray(gaps).reshape(len(q), -1)

    def near(self, q: Array, margin: float) -> Array:
        """Return whether any pair is nearer than ``margin`` (n,) at configurations (n, nq)."""
        return np.asarray((self.at(q, margin) < margin).any(axis=1))

    def exact(self, q: Array) -> Array:
        """Return the signed distances (…, pairs) [m] at configurations (…, nq)."""
        found: Array = distance(self.model, q, self.names, placements=self.placements).distance
        return found
