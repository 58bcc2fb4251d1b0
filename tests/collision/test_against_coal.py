"""Distances and collisions of robots, compared with Pinocchio and coal on the same solids."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import robots
import sixd

pytest.importorskip("coal")
pytest.importorskip("pinocchio")


@pytest.mark.parametrize("name", ["panda", pytest.param("ur5", marks=pytest.mark.long)])
def test_a_robot_in_a_cell(name):
    """A robot with hulls of its meshes and three boxes. coal stops within 1e-6 m where two solids are apart. Of pairs
    that overlap only the sign is compared: the depths of both programs are local minima."""
    from benchmarks.contenders.with_coal import distances, geometry_of

    rng = np.random.default_rng(0)
    model = robots.quiet_load(robots.FIVE[name])
    for k in range(3):
        placement = sixd.placement(rng.uniform((-0.6, -0.6, -0.2), (0.6, 0.6, 1.0)), rpy=rng.uniform(-1, 1, 3))
        model = model.with_collision("world", sixd.Shape("box", (0.2, 0.3, 0.4)), placement, name=f"obstacle {k}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of meshes that are not convex
        found = sixd.distance(model, q := rng.uniform(model.lower, model.upper, (40, model.nq)))
        theirs = distances(*geometry_of(model), q)
        hits = sixd.in_collision(model, q)
    apart = theirs > 1e-5
    assert np.abs(found.distance - theirs)[apart].max() < 2e-6
    assert (found.distance[theirs < -1e-5] < 0).all()
    assert_array_equal(hits, (found.distance < 0).any(axis=1))
    assert 0.1 < hits.mean() < 0.9
