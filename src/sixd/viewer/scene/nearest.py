"""The nearest points of pairs of collision shapes at the configurations that a scene shows.

A pair at a configuration is seven numbers: the nearest points of both shapes in the axes of the page, and the signed
distance [m]; NaN where it is farther than the stated reach.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.collision.distances import distance
from sixd.collision.pairs import CollisionPairs, collision_pairs
from sixd.errors import ModelError, ModelWarning, ScalarTypeError
from sixd.model.model import Model, require_model
from sixd.spatial.scalar import Array
from sixd.viewer.scene.packing import buffer

REACH = 0.1  # [m] of distances=True
WIDTH = 7  # numbers of a pair
_MOST_PAIRS = 32  # of a motion: more lines than that hide each other
_MOST_NUMBERS = 400_000  # of a motion: 2 MB of float32 in base64
_AT_ONCE = 2_000_000  # distances of states and pairs that are computed at once: 160 MB


@dataclass(frozen=True, eq=False)
class NearPairs:
    """Which pairs of a model are shown, up to which distance ``reach`` [m]; ``turn`` (3, 3) rotates the world."""

    model: Model
    pairs: CollisionPairs
    reach: float
    turn: Array

    def at(self, q: Array, notes: list[str]) -> tuple[list[list[str]], Array]:
        """Return the pairs that come within reach in the configurations q (r, nq), and their numbers (r, n, 7).

        ``notes`` gains how many more there are.
        """
        rows = np.full((len(q), len(self.pairs), WIDTH), np.nan, dtype=np.float32)
        good = np.flatnonzero(np.isfinite(q).all(axis=1))
        each = max(1, _AT_ONCE // max(len(self.pairs), 1))
        for some in np.split(good, range(each, len(good), each)) if len(self.pairs) else ():
            found = self._distances(q[some])
            values = [found.point_a @ self.turn.T, found.point_b @ self.turn.T, found.distance[..., None]]
            near = found.distance[..., None] <= self.reach
            rows[some] = np.where(near, np.concatenate(values, axis=-1), np.nan)
        least = np.where(np.isnan(rows[..., 6]), np.inf, rows[..., 6]).min(axis=0, initial=np.inf)
        order = np.argsort(least, kind="stable")[: np.isfinite(least).sum()]
        most = max(1, min(_MOST_PAIRS, _MOST_NUMBERS // (WIDTH * max(len(q), 1))))
        if len(order) > most:
            notes.append(
                f"The nearest {most} pairs of collision shapes are shown, {len(order) - most} more are within reach."
            )
        order = np.sort(order[:most])
        return [list(self.pairs[k]) for k in order], rows[:, order]

    def pack(self, q: Array, notes: list[str]) -> dict[str, Any]:
        """Return the scene's entry for the configurations q (r, nq)."""
        names, rows = self.at(q, notes)
        return {"names": names, "values": buffer(rows, "float32")}

    def _distances(self, q: Array) -> Any:
        with warnings.catch_warnings():  # meshes that are missing or not convex: the scene has notes of them
            warnings.simplefilter("ignore", ModelWarning)
            return distance(self.model, q, self.pairs)


def near_pairs(system: Any, distances: Any, pairs: Any, turn: Array) -> NearPairs | None:
    """Return which pairs are shown for the arguments of ``sixd.view``, None for none; raise if they are not valid."""
    if distances is False and pairs is None:
        return None
    is_number = isinstance(distances, (int, float, np.integer, np.floating)) and not isinstance(distances, bool)
    if not isinstance(distances, (bool, np.bool_)) and not (is_number and 0 < distances < np.inf):
        raise ScalarTypeError(f"view: distances is {distances!r}, expected True or a length above 0 [m].")
    require_model("view: distances", system)
    if not system.collisions:
        raise ModelError(
            f"view: distances is set, but model {system.name!r} has no collision shapes. Add them by "
            f"model.with_collision(body, shape)."
        )
    among = pairs if pairs is None or isinstance(pairs, CollisionPairs) else collision_pairs(system, pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        known = distance(system, np.zeros((0, system.nq)), among).pairs  # without shapes whose meshes are missing
    return NearPairs(system, known, float(distances) if is_number else REACH, turn[:3, :3])


def touching(names: Sequence[Sequence[str]], rows: Array) -> set[str]:
    """Return the names of the shapes that overlap, of the numbers (n, 7) of pairs."""
    return {name for pair, row in zip(names, rows, strict=True) if row[6] < 0 for name in pair}
