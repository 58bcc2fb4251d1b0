"""Meshes of flat facets for drawing instructions: prisms, globes, tiles; triangles counter-clockwise from outside."""

from __future__ import annotations

import numpy as np

from sixd.model.parts import Shape
from sixd.spatial.scalar import Array

_GAP = 0.04  # gap between tiles, as a fraction of a tile's side


def tiling(x: Array, y: Array, side: float, axes: tuple[int, int, int], height: float, *, away: bool) -> Shape:
    """Return tiles over the ranges x and y (2,) along the first two of ``axes``, at a height along the third.

    Their faces point along the third axis, or against it if ``away``.
    """
    rectangles = [(a, b, c, d) for a, b in _strips(x[0], x[1], side) for c, d in _strips(y[0], y[1], side)]
    flat = np.array([[(a, c), (b, c), (b, d), (a, d)] for a, b, c, d in rectangles]).reshape(-1, 2)
    vertices = np.zeros((len(flat), 3))
    vertices[:, axes[0]], vertices[:, axes[1]], vertices[:, axes[2]] = flat[:, 0], flat[:, 1], height
    quads = np.arange(len(flat)).reshape(-1, 4)
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return Shape("mesh", vertices=vertices, triangles=triangles[:, ::-1] if away else triangles)


def _strips(low: float, high: float, side: float) -> list[tuple[float, float]]:
    """Return the ends of the tiles, and parts of tiles, between low and high; edges are at multiples of the side."""
    first, last = np.floor(low / side + 1e-9), np.ceil(high / side - 1e-9)
    edges = [(max(k * side, low), min((k + 1) * side, high)) for k in np.arange(first, last)]
    gap = _GAP * side / 2
    return [(a + gap, b - gap) for a, b in edges if b - a > 2 * gap]


def prism(n: int, r: float, length: float) -> Shape:
    """Return a cylinder of n facets along z."""
    angle = 2 * np.pi * np.arange(n) / n
    ring = np.stack([r * np.cos(angle), r * np.sin(angle), np.zeros(n)], axis=1)
    ends = [ring + np.array([0, 0, z]) for z in (-length / 2, length / 2)]
    k, next_ = np.arange(n), (np.arange(n) + 1) % n
    side = [np.stack([k, next_, next_ + n], axis=1), np.stack([k, next_ + n, k + n], axis=1)]
    caps = [np.stack([np.zeros(n - 2, int), k[2:], k[1:-1]], axis=1), np.stack([0 * k[2:], k[1:-1], k[2:]], axis=1) + n]
    return Shape("mesh", vertices=np.concatenate(ends), triangles=np.concatenate([*side, *caps]))


def globe(n: int, r: float, octants: int | None) -> Shape:
    """Return a sphere of n facets around: all of it, or the octants where x y z is positive (0) or negative (1)."""
    polar, azimuth = np.pi * np.arange(n // 2 + 1) / (n // 2), 2 * np.pi * np.arange(n + 1) / n
    p, t = np.meshgrid(polar, azimuth, indexing="ij")
    vertices = r * np.stack([np.sin(p) * np.cos(t), np.sin(p) * np.sin(t), np.cos(p)], axis=-1).reshape(-1, 3)
    i, j = (x.ravel() for x in np.meshgrid(np.arange(n // 2), np.arange(n), indexing="ij"))
    a, b = i * (n + 1) + j, (i + 1) * (n + 1) + j
    faces = np.concatenate([np.stack([a, b, b + 1], axis=1), np.stack([a, b + 1, a + 1], axis=1)])
    middle = vertices[faces].mean(axis=1)
    area = np.linalg.norm(np.cross(*(vertices[faces[:, k]] - vertices[faces[:, 0]] for k in (1, 2))), axis=1)
    keep = area > 1e-9 * r * r
    if octants is not None:
        keep &= (middle.prod(axis=1) > 0) == (octants == 0)
    return Shape("mesh", vertices=vertices, triangles=faces[keep])
