"""Clearances of motions: bounds between records hold and are near, batches, trajectories, figures, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from obstacle_courses import COURSES, course, dense, scene


def motion_of(name, seed=0, count=6):
    rng = np.random.default_rng(seed)
    model = course(name)
    q = model.random_configuration(rng, size=count)
    if model.constraints:
        q = np.array([model.configuration({"upper": x[0], "lower": x[1], "left": abs(x[2])}) for x in q])
    return model, q, scene(rng)


@pytest.mark.parametrize("name", COURSES)
def test_bounds_between_records(name):
    """They are below all distances there, by at most the tolerance where the shapes are apart."""
    model, q, placements = motion_of(name)
    found = sixd.clearance(model, q, placements=placements, tol=2e-3)
    exact = sixd.distance(model, q, placements=placements).distance
    assert_allclose(found.distance, exact.min(axis=1), rtol=1e-14)
    assert_array_equal(found.index, exact.argmin(axis=1))
    for k in range(len(q) - 1):
        least = sixd.min_distance(model, dense(model, q[k : k + 2], 3000), placements=placements).min()
        assert found.between[k] <= least + 1e-9
        if least > 0:
            assert found.between[k] >= least - 2e-3 - 1e-9
    assert found.least == min(found.between.min(), found.distance.min())


def test_names_batches_and_parts():
    model, q, placements = motion_of("arm", 1, 7)
    found = sixd.clearance(model, q, placements=placements)
    assert found.names() == [found.pairs[k] for k in found.index]
    assert found.nearest() == found.names()[int(found.distance.argmin())]
    assert_array_equal(found.t, np.arange(7))
    batch = sixd.clearance(model, np.stack([q, q[::-1]]), placements=placements)
    assert_array_equal(batch.distance, [found.distance, found.distance[::-1]])
    assert_allclose(batch.between[1], found.between[::-1], atol=1e-3)  # by other pieces
    with pytest.raises(sixd.ShapeError, match=r"names: the motions are a batch \(2,\), expected one"):
        batch.names()
    one = sixd.clearance(model, q[:1], placements=placements)
    assert one.between.shape == (0,)
    none = sixd.clearance(model, q, sixd.CollisionPairs())
    assert np.isinf(none.distance).all()
    assert none.least == np.inf
    with pytest.raises(sixd.ModelError, match="nearest: there is no record or no pair"):
        none.nearest()


def test_long_motions_are_cut():
    """Parts share their ends."""
    model = course("arm")
    q = np.column_stack([np.linspace(-1, 1, 2100), np.linspace(0, 1, 2100), np.zeros((2100, 2))])
    placements = scene(np.random.default_rng(2))
    found = sixd.clearance(model, q, placements=placements)
    assert found.distance.shape == (2100,)
    assert found.between.shape == (2099,)
    assert_allclose(found.distance, sixd.min_distance(model, q, placements=placements), atol=1e-12)
    assert (found.between <= np.minimum(found.distance[1:], found.distance[:-1])).all()


def test_a_planned_path_keeps_its_clearance():
    model, _, placements = motion_of("arm", 3)
    q = model.random_configuration(np.random.default_rng(3), size=30)
    free = q[sixd.min_distance(model, q, placements=placements) > 0.05]
    path = sixd.plan_path(model, free[0], free[1], placements=placements, clearance=0.02)
    assert sixd.clearance(model, path.q, placements=placements, tol=1e-4).least >= 0.02 - 1e-4


def test_a_planned_path_is_shown_at_a_constant_speed():
    arm = sixd.zoo.planar(2).with_collision("world", sixd.Shape("sphere", (0.1,)), sixd.placement((9, 0, 0)))
    arm = arm.with_collision(arm.body_names[-1], sixd.Shape("sphere", (0.1,)))
    path = sixd.plan_path(arm, [0.0, 0.0], [1.0, 0.5])
    t, q = path.timed(2.0)
    assert t[-1] == pytest.approx(path.length / 2)
    speeds = np.linalg.norm(np.diff(q, axis=0), axis=1) / np.diff(t)
    np.testing.assert_allclose(speeds, 2.0, rtol=1e-9)
    assert sixd.view(arm, path, open_browser=False).url
    with pytest.raises(sixd.ScalarTypeError, match="speed is 0, expected a finite number above 0"):
        path.timed(0)


def test_trajectories_and_figures(tmp_path):
    model = course("arm")
    motion = sixd.simulate(model, [0.3, 0.5, 0.1, 0.4], None, 0.5, dt=0.01)
    placements = scene(np.random.default_rng(4))
    found = sixd.clearance(model, motion, placements=placements)
    assert_array_equal(found.t, motion.t)
    assert_allclose(found.distance, sixd.min_distance(model, motion.q, placements=placements), atol=1e-12)
    figure = found.plot(tmp_path / "clearance.png")
    assert (tmp_path / "clearance.png").stat().st_size > 5000
    assert len(figure.axes[0].lines) == 2


@pytest.mark.parametrize(
    ("motion", "message"),
    [
        (
            np.zeros((3, 2)),
            r"motion has shape \(3, 2\) of float64, expected a Trajectory, a PlannedPath, or configurations \(…, n, 4\)",
        ),
        (np.zeros(4), r"motion has shape \(4,\)"),
        (np.full((2, 4), np.nan), "motion has values that are not finite"),
        (np.array([["a"] * 4]), "of <U1"),
    ],
)
def test_bad_motions(motion, message):
    with pytest.raises(sixd.ShapeError, match=message):
        sixd.clearance(course("arm"), motion)


def test_bad_tolerance():
    with pytest.raises(sixd.ScalarTypeError, match="tol is 0, expected a finite number above 0"):
        sixd.clearance(course("arm"), np.zeros((2, 4)), tol=0)
