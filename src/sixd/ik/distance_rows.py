"""How fast pairs of collision shapes may approach each other: rows G qd ≥ h of ``sixd.differential_ik``.

The distance of a pair changes at the rate n·(v_b - v_a), of its nearest points with the velocities of their bodies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.collision.distances import distance_derivatives
from sixd.collision.pair_gaps import PairGaps
from sixd.ik.coordinates import Coordinates
from sixd.spatial.scalar import Array

MOST_ROWS = 12  # pairs of a sample: those that could reach the clearance first
_SHARE = 0.5  # of the fastest separation that velocity limits allow: what is asked of pairs that are too near


class DistanceRows(NamedTuple):
    """Rows of n samples: G (n, rows, nv) [m/rad] and h (n, rows) [m/s]; ``pair`` (n, rows) are their pairs."""

    G: Array
    h: Array
    pair: Array

    def violation(self, qd: Array) -> Array:
        """The largest violation (n,) of velocities (n, nv) [m/s]."""
        found: Array = (self.h - np.einsum("nrv,nv->nr", self.G, qd)).max(axis=1, initial=0.0)
        return found


def distance_rows(
    space: Coordinates, gaps: PairGaps, y: Array, clearance: float, dt: float, fastest: Array
) -> DistanceRows:
    """The rows at configurations y (n, nq) of the system, whose largest speeds are ``fastest`` (nv,)."""
    n, nv, count = len(y), space.system.nv, len(gaps.names)
    if not count or not n:
        return DistanceRows(np.zeros((n, 0, nv)), np.zeros((n, 0)), np.zeros((n, 0), dtype=int))
    finite = np.asarray(np.isfinite(y).all(axis=1))
    at = np.where(finite[:, None], y, space.inner(np.asarray(space.model.neutral(), dtype=float)))
    distances, G = distance_gradients(space, gaps, at)
    speed = np.abs(G) @ fastest
    away = distances - clearance
    order = np.argsort(away / np.maximum(speed, 1e-12), axis=1, kind="stable")[:, :MOST_ROWS]
    G = np.take_along_axis(G, order[..., None], axis=1)
    h = np.minimum(-away / dt, _SHARE * speed)
    return DistanceRows(G, np.take_along_axis(h, order, axis=1), order)


def distance_gradients(space: Coordinates, gaps: PairGaps, y: Array) -> tuple[Array, Array]:
    """The distances (n, pairs) and their derivatives (n, pairs, nv) with respect to the system's velocity."""
    q = np.asarray(space.outer(y), dtype=float)
    found, rates = distance_derivatives(gaps.model, q, gaps.names, placements=gaps.placements)
    return found.distance, _in_system(space, y, rates)


def _in_system(space: Coordinates, y: Array, rates: Array) -> Array:
    """The derivatives with respect to the system's velocity: joints that follow others move with these."""
    if not space.lifted:
        return rates
    n, nv = len(y), space.system.nv
    states, units = np.repeat(y, nv, axis=0), np.tile(np.eye(nv), (n, 1))
    lift = np.asarray(space.outer_velocity(states, units)).reshape(n, nv, -1)
    found: Array = rates @ np.swapaxes(lift, 1, 2)
    return found
