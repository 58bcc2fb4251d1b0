"""Shorter paths: the shortest one through points of the path, all of whose connections are checked at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sixd.planning.edges import Edges
from sixd.planning.region import Region
from sixd.planning.trees import path_length
from sixd.spatial.scalar import Array

_POINTS = 16  # of a round besides the waypoints: some 200 connections
_ROUNDS, _PATIENCE = 24, 3  # rounds, and those in a row that may gain less than a part _GAIN of the length
_GAIN = 0.01


def shortened(edges: Edges, path: Array, rng: np.random.Generator, proceed: Callable[[], bool]) -> Array:
    """Return a path (n, nq) with the same ends, free edges and no greater length."""
    length = path_length(edges.region, path)
    idle = 0
    for _ in range(_ROUNDS):
        if len(path) < 3 or idle == _PATIENCE or not proceed():
            break
        path = _shortest(edges, _with_points(edges.region, path, rng))
        shorter = path_length(edges.region, path)
        idle = idle + 1 if shorter > (1 - _GAIN) * length else 0
        length = shorter
    return path


def points_along(region: Region, path: Array, at: Array) -> Array:
    """Return the configurations of a path (n, nq) at distances (m,) from its beginning."""
    dy = region.difference(path[:-1], path[1:])
    lengths = np.linalg.norm(dy, axis=1)
    marks = np.concatenate([[0.0], np.cumsum(lengths)])
    k = np.clip(np.searchsorted(marks, at, side="right") - 1, 0, len(dy) - 1)
    part = np.clip((at - marks[k]) / np.maximum(lengths[k], 1e-300), 0, 1)
    return region.moved(path[k], dy[k] * part[:, None])


def _with_points(region: Region, path: Array, rng: np.random.Generator) -> Array:
    """Return the waypoints with points drawn between them, in order; of many waypoints all are kept."""
    lengths = np.linalg.norm(region.difference(path[:-1], path[1:]), axis=1)
    marks = np.concatenate([[0.0], np.cumsum(lengths)])
    drawn = np.sort(rng.uniform(0, marks[-1], _POINTS))
    order = np.argsort(np.concatenate([marks, drawn]), kind="stable")
    return np.concatenate([path, points_along(region, path, drawn)])[order]


def _shortest(edges: Edges, points: Array) -> Array:
    """Return the shortest path through some of the points, in order; neighbours are known to be connected."""
    region, n = edges.region, len(points)
    first, second = np.triu_indices(n, 1)
    dy = region.difference(points[first], points[second])
    cost = np.full((n, n), np.inf)
    cost[first, second] = np.linalg.norm(dy, axis=1)
    checked = np.flatnonzero(second > first + 1)
    blocked = checked[~edges.free(points[first[checked]], dy[checked])]
    cost[first[blocked], second[blocked]] = np.inf
    least, before = np.zeros(n), np.zeros(n, dtype=int)
    for k in range(1, n):
        through = least[:k] + cost[:k, k]
        before[k] = int(through.argmin())
        least[k] = through[before[k]]
    kept = [n - 1]
    while kept[-1]:
        kept.append(int(before[kept[-1]]))
    return points[kept[::-1]]
