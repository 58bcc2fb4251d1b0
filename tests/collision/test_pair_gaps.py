"""Lower bounds of distances: exact up to a margin, below the distance beyond it, with obstacles elsewhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from obstacle_courses import course, scene
from sixd.collision.pair_gaps import PairGaps


@pytest.mark.parametrize("name", ["arm", "gripper"])
def test_bounds_of_distances(name):
    model, rng = course(name), np.random.default_rng(0)
    placements = scene(rng)
    gaps = PairGaps("test", model, None, placements)
    q = model.random_configuration(rng, size=200)
    exact = sixd.distance(model, q, placements=placements).distance
    assert_array_equal(gaps.exact(q), exact)
    for margin in (0.0, 0.1, 10.0):
        bound = gaps.at(q, margin)
        near = (exact >= 0) & (bound <= margin)
        assert_allclose(bound[near], exact[near], atol=1e-9)  # the accuracy of iterations
        assert (bound[exact >= 0] <= exact[exact >= 0] + 1e-9).all()
        assert (bound[exact < 0] < 0).all()
        assert_array_equal(gaps.near(q, margin), sixd.in_collision(model, q, margin=margin, placements=placements))


def test_placements_of_hulls():
    """The middle of a hull is not its origin."""
    corners = [(x, y, z) for x in (0.1, 0.4) for y in (0, 0.1) for z in (0, 0.2)]
    own = sixd.placement((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    model = sixd.zoo.pendulum().with_collision("world", sixd.Shape("hull", vertices=corners), own, name="hull")
    model = model.with_collision(model.body_names[0], sixd.Shape("sphere", (0.05,)), name="ball")
    other = sixd.placement((0.7, 0.1, -0.2), (0.3, -0.5, 0.2))
    gaps = PairGaps("test", model, None, {"hull": other})
    assert_allclose(
        gaps.at(np.zeros((1, 1)), 10.0), [sixd.distance(model, [0.0], placements={"hull": other}).distance], atol=1e-9
    )


def test_no_pairs():
    gaps = PairGaps("test", course("arm"), sixd.CollisionPairs(), None)
    assert gaps.at(np.zeros((3, 4)), 0.1).shape == (3, 0)
    assert_array_equal(gaps.near(np.zeros((3, 4)), 0.1), [False] * 3)
    with pytest.raises(sixd.ShapeError, match=r"test: the placement of 'ball' has shape \(3,\), expected \(4, 4\)"):
        PairGaps("test", course("arm"), None, {"ball": [0, 0, 1]})
