"""Rays: hits lie on the surface and nothing is before them; known hits; height fields."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import solids
from sixd.algorithms.distance import points
from sixd.algorithms.distance.height_field import point_height_field, raycast_height_field, triangles
from sixd.algorithms.distance.raycast import INTERVALS, raycast
from sixd.trace.program import trace

pytestmark = pytest.mark.one_target
HEIGHTS = np.array([[0.0, 0.1, 0.0, 0.2], [0.1, 0.3, 0.2, 0.1], [0.0, 0.1, 0.2, 0.0]])
FIELD = (HEIGHTS, 1.5, 1.0)


@pytest.mark.parametrize("kind", [kind for kind in INTERVALS if kind != "hull"])
def test_hits_are_the_first_crossings(kind):
    """The signed distance changes its sign at the hit, and not before."""
    rng, n = np.random.default_rng(0), 1500
    sizes, (E, p) = solids.random_sizes(kind, n, rng), solids.placements(n, 0.1, rng)
    origin, toward = rng.uniform(-0.3, 0.3, (n, 3)), rng.normal(size=(n, 3))
    toward /= np.linalg.norm(toward, axis=1)[:, None]
    shapes = {"s": solids.shape_of_size(kind), "E": (3, 3), "p": (3,), "o": (3,), "d": (3,)}
    t, normal = trace(lambda *xs: tuple(raycast(kind, *xs)), shapes).evaluate(sizes, E, p, origin, toward)
    point = trace(lambda s, x: getattr(points, f"point_{kind}")(s, x)[0], {"s": shapes["s"], "x": (3,)})

    def distance(t):
        return point.evaluate(sizes, np.einsum("kji,kj->ki", E, origin + toward * t[:, None] - p))[0]

    hit = np.isfinite(t)
    assert hit.sum() > 20
    # at 1e3 m, rays nearly parallel to the plane are off by rounding
    np.testing.assert_allclose(distance(np.where(hit, t, 0))[hit], 0, atol=1e-12)
    np.testing.assert_allclose((normal * normal).sum(-1), 1, atol=1e-13)
    inside = distance(np.zeros(n)) < 0
    for part in np.linspace(0.001, 0.999, 40):
        before = distance(np.where(hit, t, 2.0) * part)
        crossed = ((before < 0) != inside) & (np.abs(before) > 1e-9)
        assert not crossed.any()
    enters = hit & ~inside
    assert (np.einsum("ki,ki->k", normal, toward)[enters] < 1e-6).all()


def test_a_ray_along_the_axis_of_each_solid():
    E, p, origin, down = np.eye(3), np.zeros(3), np.array([0, 0, 2.0]), np.array([0, 0, -1.0])
    tops = {
        "sphere": ([0.3], 0.3),
        "capsule": ([0.1, 1.0], 0.6),
        "box": ([1.0, 1.0, 0.4], 0.2),
        "cylinder": ([0.1, 0.6], 0.3),
        "cone": ([0.1, 0.8], 0.6),
        "ellipsoid": ([0.1, 0.2, 0.5], 0.5),
        "plane": ([], 0.0),
    }
    for kind, (size, top) in tops.items():
        assert raycast(kind, np.array(size), E, p, origin, down).distance == pytest.approx(2 - top), kind
        away = raycast(kind, np.array(size), E, p, origin, -down)
        assert away.distance == np.inf, kind


def test_height_field_meets_rays_from_above():
    rng = np.random.default_rng(1)
    for x, y in rng.uniform(-0.45, 0.45, (20, 2)):
        hit = raycast_height_field(FIELD, np.eye(3), np.zeros(3), np.array([x, y, 2.0]), np.array([0, 0, -1.0]))
        d, _ = point_height_field(FIELD, np.array([x, y, 2.0 - hit.distance]))
        assert abs(d) < 1e-12
        assert hit.normal[2] > 0
        below, _ = point_height_field(FIELD, np.array([x, y, 2.0 - hit.distance - 1e-3]))
        assert -1e-3 <= below < 0
    outside = raycast_height_field(FIELD, np.eye(3), np.zeros(3), np.array([2.0, 0, 2.0]), np.array([0, 0, -1.0]))
    assert outside.distance == np.inf


def test_distance_from_a_height_field_is_the_least_of_dense_samples():
    rng = np.random.default_rng(2)
    weights = rng.dirichlet(np.ones(3), 4000)
    surface = np.concatenate([weights @ np.array(t) for t in triangles(FIELD)])
    for x in rng.uniform(-0.6, 0.6, (30, 3)):
        d, n = point_height_field(FIELD, x)
        least = np.linalg.norm(surface - x, axis=1).min()
        assert least - 0.02 < abs(d) <= least + 1e-12  # samples are 2 cm apart at most
        foot = x - d * n
        assert abs(point_height_field(FIELD, foot)[0]) < 1e-12


def test_hull_of_planes():
    rng = np.random.default_rng(3)
    hull = ConvexHull(solids.CLOUD * 0.2)
    planes = hull.equations * [1, 1, 1, -1]
    hits = 0
    for origin, toward in zip(rng.uniform(-0.25, 0.25, (150, 3)), rng.normal(size=(150, 3)), strict=True):
        E, p = solids.placements(1, 0.05, rng)
        d = toward / np.linalg.norm(toward)
        x, y = E[0].T @ (origin - p[0]), E[0].T @ d
        heights, rates = hull.equations[:, :3] @ x + hull.equations[:, 3], hull.equations[:, :3] @ y
        enters, leaves = (-heights / rates)[rates < 0].max(), (-heights / rates)[rates > 0].min()
        t = enters if enters >= 0 else leaves
        expected = t if enters <= leaves and t >= 0 else np.inf
        found = raycast("hull", planes, E[0], p[0], origin, d)
        assert found.distance == pytest.approx(expected, abs=1e-12)
        if np.isfinite(expected):
            hits += 1
            k = (
                np.flatnonzero(rates < 0)[(-heights / rates)[rates < 0].argmax()]
                if enters >= 0
                else np.flatnonzero(rates > 0)[(-heights / rates)[rates > 0].argmin()]
            )
            np.testing.assert_allclose(found.normal, E[0] @ hull.equations[k, :3], atol=1e-12)
    assert hits > 30
