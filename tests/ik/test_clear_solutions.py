"""Inverse kinematics with a clearance: no success is nearer, most reachable targets are found, failures say so."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sixd
from obstacle_courses import TIGHT, course

CLEARANCE = 0.02


def problem(seed, count=60):
    """An arm of four joints, obstacles, and positions of its tip that configurations with the clearance reach."""
    rng = np.random.default_rng(seed)
    model, placements = course("arm").with_frame("tip", "link3", sixd.placement((0, 0, 0.3))), TIGHT
    q = model.random_configuration(rng, size=10 * count)
    q = q[sixd.min_distance(model, q, placements=placements) > 2 * CLEARANCE][:count]
    return model, placements, sixd.pose(model, q, "tip")[:, :3, 3]


@pytest.mark.parametrize("seed", range(3))
def test_no_success_is_nearer(seed):
    """And all of these targets can be reached."""
    model, placements, targets = problem(seed)
    options = {"placements": placements, "seed": 1}
    free = sixd.inverse_kinematics(model, "tip", targets, seed=1)
    assert (sixd.min_distance(model, free.q, placements=placements) < CLEARANCE).mean() > 0.05
    found = sixd.inverse_kinematics(model, "tip", targets, clearance=CLEARANCE, **options)
    solved = found.q[found.success]
    assert sixd.min_distance(model, solved, placements=placements).min() >= CLEARANCE - 1e-9
    assert found.success.mean() > 0.97
    assert np.abs(sixd.pose(model, found.q, "tip")[:, :3, 3] - targets).max() < 2e-6
    assert (solved >= model.lower - 1e-12).all()
    assert (solved <= model.upper + 1e-12).all()
    same = found.q[(free.q == found.q).all(axis=1)]
    assert (sixd.min_distance(model, same, placements=placements) >= CLEARANCE - 1e-9).all()


def test_a_result_does_not_depend_on_the_others():
    model, placements, targets = problem(0)
    whole = sixd.inverse_kinematics(model, "tip", targets, clearance=CLEARANCE, placements=placements)
    part = sixd.inverse_kinematics(model, "tip", targets[10:30], clearance=CLEARANCE, placements=placements)
    assert_array_equal(part.q, whole.q[10:30])
    assert_array_equal(part.iterations, whole.iterations[10:30])


def test_a_target_in_an_obstacle_fails():
    """With the solution that has the largest distance of those that were tried."""
    model, placements, targets = problem(1, 5)
    targets = np.concatenate([targets, [placements["ball"][:3, 3]]])
    reach = np.linalg.norm(placements["ball"][:3, 3] - [0, 0, 0.6])
    assert reach < 0.85
    found = sixd.inverse_kinematics(model, "tip", targets, clearance=CLEARANCE, placements=placements, restarts=3)
    assert not found.success[-1]
    assert found.residual[-1] <= 1e-6
    plain = sixd.inverse_kinematics(model, "tip", targets[-1], restarts=3)
    away = sixd.min_distance(model, np.array([found.q[-1], plain.q]), placements=placements)
    assert away[0] >= away[1]


def test_steps_away_alone_find_solutions(monkeypatch):
    """A redundant arm moves within its null space."""
    from sixd.ik import clear_solutions

    model, placements, targets = problem(2)
    plain = sixd.inverse_kinematics(model, "tip", targets)
    lost = sixd.min_distance(model, plain.q, placements=placements) < CLEARANCE
    monkeypatch.setattr(clear_solutions.Clearance, "_others", lambda self, *arguments: np.ones(len(arguments[5]), bool))
    found = sixd.inverse_kinematics(model, "tip", targets, clearance=CLEARANCE, placements=placements)
    assert found.success[lost].mean() > 0.3
    solved = found.q[found.success]
    assert sixd.min_distance(model, solved, placements=placements).min() >= CLEARANCE - 1e-9


def test_the_nearest_to_the_posture():
    """Of the solutions that were tried; never farther than the mean of others by much."""
    model, placements, targets = problem(0)
    posture = np.array([0.3, 0.5, -0.2, 0.4])
    options = {"clearance": CLEARANCE, "placements": placements}
    plain = sixd.inverse_kinematics(model, "tip", targets, **options)
    near = sixd.inverse_kinematics(model, "tip", targets, posture=posture, **options)
    both = plain.success & near.success
    away = [np.linalg.norm(x.q[both] - posture, axis=1).mean() for x in (plain, near)]
    assert away[1] < away[0]


def test_mimic_joints_and_locked_joints():
    model = course("gripper").with_frame("tip", "lower", sixd.placement((0, 0, 0.5)))
    targets = sixd.pose(model, [model.configuration({"upper": a, "lower": 0.4}) for a in (-0.5, 0.2, 0.6)], "tip")[
        :, :3, 3
    ]
    found = sixd.inverse_kinematics(model, "tip", targets, clearance=0.001, locked=["left"], pairs=("pole", "*"))
    assert found.success.all()
    assert_array_equal(found.q[:, 2], -found.q[:, 3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clearance": -0.1}, "clearance is -0.1, expected a finite number of at least 0"),
        ({"clearance": 0.1, "path": True}, "path is True and clearance is 0.1, expected one of them"),
        ({"clearance": 0.1, "pairs": "nothing"}, "nothing"),
        (
            {"clearance": 0.1, "placements": {"ball": np.zeros(3)}},
            r"inverse_kinematics: the placement of 'ball' has shape",
        ),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(sixd.SixdError, match=message):
        sixd.inverse_kinematics(course("arm"), "link3", np.zeros((2, 3)), **options)


def test_reduced_models_are_refused():
    model = course("gripper").reduce()
    with pytest.raises(sixd.ModelError, match="is in reduced coordinates, expected a sixd.Model with clearance"):
        sixd.inverse_kinematics(model, "lower", np.zeros(3), clearance=0.1)
    with pytest.raises(sixd.ModelError, match="is in reduced coordinates, expected a sixd.Model"):
        sixd.differential_ik(model, np.zeros(3), {"lower": np.zeros(3)}, clearance=0.1)


def test_other_arguments():
    """Without restarts, in float32, and for targets without a position."""
    model, placements, targets = problem(1, 10)
    options = {"clearance": CLEARANCE, "placements": placements}
    q0 = np.array([0.1, 0.5, 0.1, 0.5])
    one = sixd.inverse_kinematics(model, "tip", targets, q0=q0, restarts=0, **options)
    assert sixd.min_distance(model, one.q[one.success], placements=placements).min() >= CLEARANCE - 1e-9
    single = sixd.inverse_kinematics(model, "tip", targets.astype(np.float32), **options)
    assert single.q.dtype == np.float32
    assert single.success.mean() > 0.8
    # 1e-6 m: the rounding of q in float32
    least = sixd.min_distance(model, single.q[single.success].astype(float), placements=placements).min()
    assert least >= CLEARANCE - 1e-6
    ways = sixd.inverse_kinematics(model, "tip", sixd.Direction([[0, 0, -1.0], [1.0, 0, 0]]), **options)
    assert ways.success.all()
    assert sixd.min_distance(model, ways.q, placements=placements).min() >= CLEARANCE - 1e-9
    nothing = sixd.inverse_kinematics(model, "tip", np.zeros((0, 3)), **options)
    assert nothing.q.shape == (0, 4)
    nan = sixd.inverse_kinematics(model, "tip", np.array([targets[0], np.full(3, np.nan)]), **options)
    assert nan.success.tolist() == [True, False]
