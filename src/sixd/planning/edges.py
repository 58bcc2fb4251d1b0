"""Edges: geodesics that are certified to keep their distance, thousands of pieces of them at a time.

A piece of an edge is free if every pair, in the middle of the piece, is farther apart than the clearance by more than
it can move within half of the piece. Pieces that are not are divided; at a piece whose motion is below the resolution,
or whose middle is nearer than the clearance, the edge ends. Near the ends of a path, which may touch something, the
resolution is finer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sixd.collision.pair_gaps import MARGIN, PairGaps
from sixd.planning.motion_bounds import MotionBounds
from sixd.planning.region import Region
from sixd.spatial.scalar import Array

_AT_ONCE = 4096  # pieces: arrays of motions of a panda's hulls take some 10 MB
_PARTS = 8  # a piece is divided into at most so many
_COARSE = 1 / 32  # of an edge: its free part is not searched for in steps shorter than that
_NEAR = 0.1  # rad or m: so far from an end its own resolution holds
_LEAST_MOTION = 1e-12  # m: pieces in which nothing moves are not divided


@dataclass
class Pieces:
    """Pieces of edges: the edge's number, the middle in [0, 1] and half the length."""

    edge: Array
    middle: Array
    half: Array

    def some(self, which: Array | slice) -> Pieces:
        """Return some of them."""
        return Pieces(self.edge[which], self.middle[which], self.half[which])

    def divided(self, parts: Array) -> Pieces:
        """Return each piece in so many parts."""
        which = np.repeat(np.arange(len(parts)), parts)
        number = np.arange(len(which)) - np.repeat(np.cumsum(parts) - parts, parts)
        half = self.half[which] / parts[which]
        middle = self.middle[which] - self.half[which] + (2 * number + 1) * half
        return Pieces(self.edge[which], middle, half)

    def followed_by(self, others: Pieces) -> Pieces:
        """Return both, one after the other."""
        mine, theirs = (self.edge, self.middle, self.half), (others.edge, others.middle, others.half)
        return Pieces(*(np.concatenate(pair) for pair in zip(mine, theirs, strict=True)))


@dataclass
class Edges:
    """Checks edges from y along velocities dy: ``checks`` counts the configurations whose distances were computed."""

    region: Region
    gaps: PairGaps
    bounds: MotionBounds
    clearance: float
    resolution: float
    ends: Array  # (k, nq): configurations near which pieces may be as short as the resolution ``finest`` requires
    finest: float
    checks: int = field(default=0)

    def free(self, y: Array, dy: Array) -> Array:
        """Return which edges (n,) are free from end to end."""
        return self.free_part(y, dy, whole=True) >= 1

    def free_part(self, y: Array, dy: Array, *, whole: bool = False) -> Array:
        """Return up to which part (n,) of their length edges are free; ``whole``: 0 if it is not all of it."""
        n = len(y)
        end = np.ones(n)
        queue = Pieces(np.arange(n), np.full(n, 0.5), np.full(n, 0.5))
        while len(queue.edge):
            now, queue = queue.some(slice(_AT_ONCE)), queue.some(slice(_AT_ONCE, None))
            needed, blocked, fine = self._judge(now, y, dy)
            bad = blocked | ((needed > 1) & fine)
            if whole:
                end[now.edge[bad]] = 0
            else:  # before a middle that is blocked there may be a free part
                stop = now.middle - now.half * (~blocked | (now.half < _COARSE))
                np.minimum.at(end, now.edge[bad], stop[bad])
            again = (needed > 1) & ~fine | (blocked & (now.half >= _COARSE))
            # an even number at a blocked middle: the edge ends between two parts
            parts = np.where(blocked, 4, np.clip(np.ceil(1.2 * needed), 2, _PARTS)).astype(int)
            queue = now.some(again).divided(parts[again]).followed_by(queue)
            queue = queue.some(queue.middle + queue.half <= end[queue.edge] + 1e-12)
        return np.where(end < 1, np.maximum(end, 0), 1.0)

    def _judge(self, pieces: Pieces, y: Array, dy: Array) -> tuple[Array, Array, Array]:
        """Return for each piece into how many parts it would have to be divided, whether its middle is blocked, and
        whether it is not to be divided."""
        velocity = dy[pieces.edge]
        at = self.region.moved(y[pieces.edge], velocity * pieces.middle[:, None])
        q = self.region.lifted(at)
        self.checks += len(q)
        gaps = self.gaps.at(q, self.clearance + MARGIN) - self.clearance
        moved = self.bounds.of_pairs(q, self.region.rates(at, velocity)) * pieces.half[:, None]
        inside, slid = self.region.outside(at, velocity)
        if inside.shape[1]:
            gaps, moved = np.hstack([gaps, inside]), np.hstack([moved, slid * pieces.half[:, None]])
        if not gaps.shape[1]:
            return np.zeros(len(q)), np.zeros(len(q), dtype=bool), np.ones(len(q), dtype=bool)
        gaps = np.where(np.isnan(gaps), -np.inf, gaps)  # what is unknown is not free
        moves = moved > _LEAST_MOTION
        ratio = np.where(moves, moved / np.maximum(gaps, 1e-9), 0.0)
        blocked = (gaps < 0) & (moves | (gaps < -_LEAST_MOTION))
        near = self.region.distances(at, self.ends).min(axis=1, initial=np.inf) < _NEAR
        tight = (ratio > 1) & (moved <= np.where(near, self.finest, self.resolution)[:, None])
        return ratio.max(axis=1), np.asarray(blocked.any(axis=1)), np.asarray(tight.any(axis=1))
