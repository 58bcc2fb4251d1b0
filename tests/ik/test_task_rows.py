"""Errors of targets: their gradients by differences, on every joint type, and their values in plain words."""

import numpy as np
import pytest

import sixd
from samples import constrained, trees
from sixd.ik.iteration import IKProblem
from sixd.ik.task_rows import FrameTask, posture_error
from sixd.spatial import rotation_from_vector

TASKS = [
    FrameTask("pose", "F"),
    FrameTask("position", "F"),
    FrameTask("orientation", "F"),
    FrameTask("direction", "F", (0.0, 0.6, 0.8)),
    FrameTask("look at", "F", (1.0, 0.0, 0.0)),
    FrameTask("center of mass", "world"),
    FrameTask("pose", "F", other="G"),
    FrameTask("position", "F", other="G"),
    FrameTask("look at", "F", (0.0, 0.0, 1.0), "G"),
]


def with_frames(model):
    """The model with a frame F on its last body and one, G, on its first."""
    T = sixd.placement([0.2, -0.1, 0.3], [0.3, -0.4, 0.5])
    return model.with_frame("F", model.body_names[-1], T).with_frame("G", model.body_names[0], T)


def target_of(task, rng):
    if task.kind == "pose":
        return sixd.placement(rng.normal(size=3), rng.normal(size=3))
    return rotation_from_vector(rng.normal(size=3)) if task.kind == "orientation" else rng.normal(size=3)


def differences(function, model, q, h=1e-6):
    """Central differences (…, nv) along the degrees of freedom."""
    units = np.eye(model.nv) * h
    return np.array([(function(model.integrate(q, e)) - function(model.integrate(q, -e))) / (2 * h) for e in units]).T


@pytest.mark.parametrize("task", TASKS, ids=lambda t: f"{t.kind}{' relative' * bool(t.other)}")
@pytest.mark.parametrize("model", [with_frames(m) for m in trees()], ids=lambda m: m.name)
def test_gradients(model, task):
    """Jᵀr is the gradient of half the squared error; exact rows are derivatives."""
    rng = np.random.default_rng(3)
    q, target = model.random_configuration(rng), target_of(task, rng)
    weights = np.array([1.3, 0.7])
    problem = IKProblem(model, (task,))

    def errors(x, target=target):
        return problem.errors(x, {"target 0": target, "weights": weights})

    r, J = errors(q)
    found = differences(lambda x: np.array(errors(x)[0] @ errors(x)[0] / 2), model, q)
    np.testing.assert_allclose(J.T @ r, found, atol=2e-7 * max(1, np.abs(found).max()))  # rounding of differences
    rows = task.rows(model, q, target, exact=True)
    J = np.concatenate([rows.J_metres, rows.J_radians])

    def plain(x):
        rows = task.rows(model, x, target)
        return np.concatenate([rows.metres, rows.radians])

    np.testing.assert_allclose(J, differences(plain, model, q), atol=1e-6)


@pytest.mark.parametrize("model", trees(), ids=lambda m: m.name)
def test_posture_error(model):
    """The way to a posture is the gradient of half its square, for every joint type."""
    rng = np.random.default_rng(1)
    q, wanted = model.random_configuration(rng), model.random_configuration(rng)

    def half_square(x):
        away = posture_error(model, x, wanted)
        return np.array(away @ away / 2)

    np.testing.assert_allclose(posture_error(model, q, wanted), differences(half_square, model, q), atol=1e-7)


def test_values():
    """An error is a distance, or an angle."""
    arm = sixd.zoo.panda_arm()
    q = arm.random_configuration(0)
    T = sixd.pose(arm, q, "tool")
    turn = np.array([0.3, -0.2, 0.5])
    pose = sixd.placement(T[:3, 3] + [0.1, 0.2, -0.2], R=T[:3, :3] @ rotation_from_vector(turn))
    rows = FrameTask("pose", "tool").rows(arm, q, pose)
    assert np.linalg.norm(rows.metres) == pytest.approx(0.3, abs=1e-12)
    np.testing.assert_allclose(rows.radians, -turn, atol=1e-12)
    across = T[:3, :3] @ [np.sin(0.4), 0, np.cos(0.4)]
    task = FrameTask("direction", "tool", (0.0, 0.0, 1.0))
    assert np.linalg.norm(task.rows(arm, q, across).radians) == pytest.approx(0.4, abs=1e-12)
    opposite = task.rows(arm, q, -T[:3, 2])
    assert np.linalg.norm(opposite.radians) == pytest.approx(np.pi)
    sight = FrameTask("look at", "tool", (0.0, 0.0, 1.0))
    np.testing.assert_allclose(sight.rows(arm, q, T[:3, 3] + 2 * T[:3, 2]).radians, 0, atol=1e-12)
    assert np.linalg.norm(sight.rows(arm, q, T[:3, 3]).radians) > 1  # no direction to the frame itself: not a success


def test_reduced_rows():
    """In reduced coordinates errors and Jacobians are those of the model at the lifted state."""
    model = with_frames(sixd.zoo.planar(3))
    names = model.joint_names
    reduced = constrained(model, sixd.Mimic(names[2], names[1], 0.5, 0.1)).reduce()
    y, target = np.array([0.3, -0.7]), np.array([0.4, 0.2, 0.1])
    for task in (
        FrameTask("position", "F"),
        FrameTask("position", "F", other="G"),
        FrameTask("center of mass", "world"),
    ):
        rows = task.rows(reduced, y, target)
        full = task.rows(model, reduced.lift(y), target)
        np.testing.assert_allclose(rows.metres, full.metres, atol=1e-14)
        np.testing.assert_allclose(rows.J_metres, full.J_metres @ reduced.G(y), atol=1e-14)
