"""Two trees that grow towards each other: RRT-Connect with a batch of samples in each round.

J. J. Kuffner, S. M. LaValle, "RRT-Connect: an efficient approach to single-query path planning", ICRA 2000. Edges are
as long as they are free, not one step long: their checks cost the same, and trees have fewer nodes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sixd.planning.edges import Edges
from sixd.planning.region import Region
from sixd.spatial.scalar import Array

_FIRST, _MOST = 8, 64  # samples of a round: few solve easy problems at once, in hard ones rounds are not much slower
_LEAST = 1e-3  # of a node's distance from its parent, as a part of the range


class SearchTree:
    """Configurations (n, nq) with their parents, the root first."""

    def __init__(self, region: Region, root: Array) -> None:
        self.region, self.count = region, 1
        self.nodes = np.empty((64, len(root)))
        self.nodes[0] = root
        self.parent: list[int] = [-1]

    def add(self, y: Array, parents: Array) -> Array:
        """Add nodes, and return their numbers."""
        first, self.count = self.count, self.count + len(y)
        if self.count > len(self.nodes):
            more = np.empty((2 * self.count, self.nodes.shape[1]))
            more[:first] = self.nodes[:first]
            self.nodes = more
        self.nodes[first : self.count] = y
        self.parent += parents.tolist()
        return np.arange(first, self.count)

    def nearest(self, y: Array) -> Array:
        """Return the numbers of the nodes that are nearest to configurations."""
        nearest: Array = self.region.distances(y, self.nodes[: self.count]).argmin(axis=1)
        return nearest

    def branch(self, node: int) -> list[Array]:
        """Return the nodes from the root to one of them."""
        found = []
        while node >= 0:
            found.append(self.nodes[node])
            node = self.parent[node]
        return found[::-1]


def grow(
    edges: Edges, y0: Array, y1: Array, rng: np.random.Generator, reach: float, proceed: Callable[[int], bool]
) -> tuple[list[Array] | None, tuple[int, int]]:
    """Return configurations from y0 to y1 with free edges, None if ``proceed(rounds)`` ends the search; and the
    numbers of nodes of both trees. Edges that are grown to samples are at most ``reach`` long."""
    region = edges.region
    trees = [SearchTree(region, y0), SearchTree(region, y1)]
    rounds = 0
    while proceed(rounds):
        count = min(_FIRST << (rounds // 4), _MOST)
        near, far = trees[rounds % 2], trees[1 - rounds % 2]
        new = _extend(edges, near, region.sample(rng, count), reach)
        if len(new):
            joined = _connect(edges, far, near.nodes[new])
            ends = [(near.branch(int(new[k])), far.branch(int(node))) for k, node in joined]
            if ends:
                paths = [a + b[-2::-1] for a, b in ends]
                best = min(paths, key=lambda path: path_length(region, np.array(path)))
                return (best if rounds % 2 == 0 else best[::-1]), (trees[0].count, trees[1].count)
        rounds += 1
    return None, (trees[0].count, trees[1].count)


def path_length(region: Region, y: Array) -> float:
    """Return the length of a path (n, nq): the sum of ‖difference‖."""
    return float(np.linalg.norm(region.difference(y[:-1], y[1:]), axis=1).sum())


def _extend(edges: Edges, tree: SearchTree, samples: Array, reach: float) -> Array:
    """Grow a tree towards samples, at most ``reach``; return the numbers of the new nodes."""
    start = tree.nearest(samples)
    dy = edges.region.difference(tree.nodes[start], samples)
    length = np.linalg.norm(dy, axis=1)
    dy = dy * np.minimum(1, reach / np.maximum(length, 1e-300))[:, None]
    part = edges.free_part(tree.nodes[start], dy)
    kept = part * np.minimum(length, reach) > _LEAST * reach
    y = edges.region.moved(tree.nodes[start[kept]], dy[kept] * part[kept, None])
    return tree.add(y, start[kept])


def _connect(edges: Edges, tree: SearchTree, goals: Array) -> list[tuple[int, int]]:
    """Grow a tree towards nodes of the other one; return (goal, number of its node there) of those it reaches."""
    start = tree.nearest(goals)
    dy = edges.region.difference(tree.nodes[start], goals)
    part = edges.free_part(tree.nodes[start], dy)
    whole = part >= 1
    kept = ~whole & (part * np.linalg.norm(dy, axis=1) > _LEAST)
    tree.add(edges.region.moved(tree.nodes[start[kept]], dy[kept] * part[kept, None]), start[kept])
    reached = np.flatnonzero(whole)
    return list(zip(reached.tolist(), tree.add(goals[reached], start[reached]).tolist(), strict=True))
