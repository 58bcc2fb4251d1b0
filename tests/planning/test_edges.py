"""Edges: what is certified is free, what is blocked is not, and free parts end before what blocks them."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from obstacle_courses import course, scene
from sixd.collision.pair_gaps import PairGaps
from sixd.planning.edges import Edges, Pieces
from sixd.planning.motion_bounds import MotionBounds
from sixd.planning.region import Region


def edges_of(name, placements, clearance=0.0, resolution=1e-3):
    model = course(name)
    gaps = PairGaps("test", model, None, placements)
    return Edges(
        Region("test", model, True, ()),
        gaps,
        MotionBounds("test", model, gaps.solids, gaps.placed),
        clearance,
        resolution,
        np.zeros((0, model.nq)),
        resolution,
    )


def drawn(name, seed, count=60):
    rng = np.random.default_rng(seed)
    placements = scene(rng)
    edges = edges_of(name, placements)
    q = course(name).random_configuration(rng, size=6 * count)
    free = q[edges.gaps.exact(q).min(axis=1) > 2e-3]
    return edges, free[:count], edges.region.difference(free[:count], free[count : 2 * count])


def least_along(edges, y, dy, count=600):
    """The least distance (n,) on each edge, by samples."""
    s = np.linspace(0, 1, count)
    return np.array(
        [
            edges.gaps.exact(edges.region.moved(np.repeat(a[None], count, 0), s[:, None] * d)).min()
            for a, d in zip(y, dy, strict=True)
        ]
    )


def test_certified_edges_are_free():
    """And edges that samples show to be free by more than the resolution are certified."""
    for seed in range(3):
        edges, y, dy = drawn("arm", seed)
        free, least = edges.free(y, dy), least_along(edges, y, dy)
        assert (least[free] >= 0).all()
        assert free[least > 3e-3].all()
        assert 5 < free.sum() < len(y)


def test_free_parts_are_free():
    """Up to what blocks them: that is within a thirty-second of the edge, or the resolution."""
    edges, y, dy = drawn("arm", 5, 150)
    part = edges.free_part(y, dy)
    assert_array_equal(part == 1, edges.free(y, dy))
    assert (least_along(edges, y, dy * part[:, None]) >= 0).all()
    short = np.flatnonzero((part > 0) & (part < 1))
    assert len(short) > 5
    beyond = np.minimum(part[short] + 1 / 16, 1)
    assert (least_along(edges, y[short], dy[short] * beyond[:, None]) < 5e-3).mean() > 0.9


def test_pieces_are_divided():
    pieces = Pieces(np.array([4, 7]), np.array([0.25, 0.75]), np.array([0.25, 0.25]))
    parts = pieces.divided(np.array([2, 3]))
    assert_array_equal(parts.edge, [4, 4, 7, 7, 7])
    assert_allclose(parts.middle - parts.half, [0, 0.25, 0.5, 0.5 + 1 / 6, 0.5 + 1 / 3], atol=1e-15)
    assert_allclose(parts.middle + parts.half, [0.25, 0.5, 0.5 + 1 / 6, 0.5 + 1 / 3, 1], atol=1e-15)
    both = pieces.followed_by(parts)
    assert_array_equal(both.edge, [4, 7, 4, 4, 7, 7, 7])


def test_no_edges_and_edges_without_length():
    edges = edges_of("arm", scene(np.random.default_rng(0)))
    assert edges.free(np.zeros((0, 4)), np.zeros((0, 4))).shape == (0,)
    away = edges_of("arm", {})
    assert away.free(np.zeros((1, 4)), np.zeros((1, 4))).all()
    assert away.checks == 1
