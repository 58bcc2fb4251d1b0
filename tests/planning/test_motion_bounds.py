"""Bounds of relative motion: no pair's distance changes by more, for every type of joint; and they are sharp."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from obstacle_courses import AWAY
from samples import KINDS, single_joint
from sixd.collision.pair_gaps import PairGaps
from sixd.planning.motion_bounds import MotionBounds

BALL = sixd.Shape("sphere", (0.05,))


def with_balls(model):
    """A ball off the origin of each body, and one in the world."""
    rng = np.random.default_rng(1)
    model = model.with_collision("world", BALL, sixd.placement((0.3, 0.2, 0.1)), name="obstacle")
    for name in model.body_names:
        model = model.with_collision(name, BALL, sixd.placement(rng.uniform(-0.3, 0.3, 3)), name=f"ball of {name}")
    return model


def bounds_of(model, pairs=None):
    gaps = PairGaps("test", model, pairs, None)
    return gaps, MotionBounds("test", model, gaps.solids, gaps.placed)


@pytest.mark.parametrize("kind", KINDS)
def test_distances_change_by_no_more(kind):
    """From the middle of a geodesic to both sides."""
    model = with_balls(single_joint(kind))
    pairs = [(a.name, b.name) for a in model.collisions for b in model.collisions if a.name < b.name]
    gaps, bounds = bounds_of(model, sixd.CollisionPairs(pairs))
    rng = np.random.default_rng(2)
    q, dq = model.random_configuration(rng, size=50), 2 * rng.normal(size=(50, model.nv))
    most = bounds.of_pairs(q, dq)
    start = gaps.exact(q)
    for s in (-0.5, -0.1, 1e-3, 0.2, 0.5):
        moved = np.abs(gaps.exact(model.integrate(q, s * dq)) - start)
        assert (moved <= abs(s) * most + 1e-12).all()


def test_a_revolute_joint_has_its_lever():
    """The bound of a small motion is the speed of the farthest point of the ball."""
    model = sixd.zoo.pendulum().with_collision("world", BALL, AWAY, name="far")
    model = model.with_collision(model.body_names[0], BALL, sixd.placement((0.3, 0.4, 0.5)), name="bob")
    _, bounds = bounds_of(model)
    joint = model.joints[1]
    axis = np.asarray(joint.subspace(np.zeros(1)), dtype=float)[:3, 0]
    lever = np.linalg.norm(np.cross(axis, [0.3, 0.4, 0.5])) + 0.05
    assert_allclose(bounds.of_pairs(np.array([[0.7]]), np.array([[2.0]])), [[2 * lever]], rtol=1e-14)


def test_planes():
    """In the world they are endless obstacles; on a body that moves their motion has no bound."""
    arm, plane = sixd.zoo.planar(2), sixd.Shape("plane")
    arm = arm.with_collision(arm.body_names[1], BALL, sixd.placement((1, 0, 0)), name="ball")
    _, bounds = bounds_of(arm.with_collision("world", plane, name="ground"))
    assert bounds.of_pairs(np.zeros((1, 2)), np.array([[1.0, 0.5]])) == pytest.approx(2.05 + 0.5 * 1.05)
    moving = arm.with_collision(arm.body_names[0], plane, name="sheet").with_collision("world", BALL, AWAY)
    with pytest.raises(
        sixd.ModelError, match="test: 'sheet' is a plane on a body that moves, expected it in the world"
    ):
        bounds_of(moving)


def test_common_joints_do_not_count():
    """Bodies that a base carries do not move relative to each other when it moves."""
    model = with_balls(sixd.zoo.planar(3))
    first, last = model.body_names[0], model.body_names[2]
    _, bounds = bounds_of(
        model, sixd.CollisionPairs([(f"ball of {first}", f"ball of {last}"), ("obstacle", f"ball of {last}")])
    )
    found = bounds.of_pairs(np.zeros((2, 3)), np.array([[1.0, 0, 0], [0, 0, 1.0]]))
    assert found[0, 0] == 0
    assert found[0, 1] > 1
    assert found[1, 0] == found[1, 1] > 0
    assert bounds.of_pairs(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 2)
