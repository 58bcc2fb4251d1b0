"""Velocities that move frames: least squares, bounds by the conditions of an optimum, constraints."""

import numpy as np
import pytest

import sixd
from samples import constrained, trees

dik = sixd.differential_ik


MODELS = [sixd.zoo.panda_arm().with_frame("F", "tool"), *(m.with_frame("F", m.body_names[-1]) for m in trees())]
CASES = [(MODELS[0], "body"), (MODELS[0], "aligned"), (MODELS[0], "world")]
CASES += [pytest.param(model, "body", marks=pytest.mark.long) for model in MODELS[1:]]


@pytest.mark.parametrize(("model", "expressed_in"), CASES, ids=lambda x: getattr(x, "name", x))
def test_without_bounds_it_is_damped_least_squares(model, expressed_in):
    rng = np.random.default_rng(0)
    q, v = model.random_configuration(rng, size=10), rng.normal(size=(10, 6))
    found = dik(model, q, {"F": v}, expressed_in=expressed_in, damping=0.1, limits=False, velocity_limits=False)
    assert found.success.all()
    J = sixd.jacobian(model, q, "F", expressed_in=expressed_in)
    for k in range(10):
        expected = np.linalg.solve(J[k].T @ J[k] + 0.01 * np.eye(model.nv), J[k].T @ v[k])
        np.testing.assert_allclose(found.qd[k], expected, atol=1e-9 * max(1, np.abs(expected).max()))  # condition 1e4
        assert found.residual[k] == pytest.approx(np.linalg.norm(J[k] @ found.qd[k] - v[k]), abs=1e-10)


def test_bounds():
    """The conditions of an optimum: the gradient vanishes inside, and points outwards on a bound."""
    arm, rng = sixd.zoo.panda_arm(), np.random.default_rng(1)
    q, v = arm.random_configuration(rng, size=200), 3 * rng.normal(size=(200, 6))
    posture, weights, dt = (arm.lower + arm.upper) / 2, (2.0, 0.5), 0.05
    found = dik(arm, q, {"tool": v}, posture=posture, posture_gain=2.0, posture_weight=0.3, weights=weights, dt=dt)
    assert found.success.all()
    low, high = (
        np.maximum((arm.lower - q) / dt, -arm.velocity_limit),
        np.minimum((arm.upper - q) / dt, arm.velocity_limit),
    )
    assert (found.qd >= low - 1e-9).all()
    assert (found.qd <= high + 1e-9).all()
    J, w = sixd.jacobian(arm, q, "tool"), np.array([0.5] * 3 + [2.0] * 3)
    error = np.einsum("nij,nj->ni", J, found.qd) - v
    g = np.einsum("nij,ni->nj", J, error * w**2) + 1e-6 * found.qd + 0.09 * (found.qd + 2.0 * (q - posture))
    lower, upper = found.qd <= low + 1e-9, found.qd >= high - 1e-9
    assert (lower | upper).any(axis=1).mean() > 0.5
    assert np.abs(g[~lower & ~upper]).max() < 1e-8
    assert g[lower].min() > -1e-8
    assert g[upper].max() < 1e-8
    np.testing.assert_allclose(found.residual, np.linalg.norm(error * w, axis=1), atol=1e-10)


def test_a_joint_beyond_its_limit_returns():
    arm = sixd.zoo.panda_arm()
    q = np.clip(np.zeros(7), arm.lower, arm.upper)
    q[1] = arm.upper[1] + 0.01
    found = dik(arm, q, {"tool": np.zeros(6)}, dt=0.1)
    assert found.qd[1] <= -0.1 + 1e-9


def test_servoing_arrives():
    """Steps of it bring a frame to a pose, as inverse kinematics does at once."""
    arm = sixd.zoo.panda_arm()
    q, goal = np.array([0, -0.4, 0, -2.0, 0, 1.8, 0.8]), np.array([0.3, -0.2, 0.1, -1.8, 0.2, 1.9, 0.6])
    T = sixd.pose(arm, goal, "tool")
    for _ in range(300):
        there = sixd.pose(arm, q, "tool")
        turn = sixd.spatial.rotation_to_vector(there[:3, :3].T @ T[:3, :3])
        move = there[:3, :3].T @ (T - there)[:3, 3]
        q = q + 0.05 * dik(arm, q, {"tool": 2 * np.concatenate([turn, move])}, dt=0.05).qd
    assert np.abs(sixd.pose(arm, q, "tool") - T).max() < 1e-6


def test_constraints():
    """Closed loops stay closed, mimic joints follow, and rolling bodies roll."""
    bars = sixd.zoo.four_bar()
    q = sixd.assemble(bars, [np.pi / 3, -0.5, 1.6], fixed=["crank"])
    found = dik(bars, q, {"coupler_end": [0.1, -0.2, 0.0]}, expressed_in="aligned", velocity_limits=False)
    assert found.success
    assert np.abs(found.qd).max() > 0.01
    assert np.abs(sixd.constraint_velocity(bars, q, found.qd)).max() < 1e-10
    chain = sixd.zoo.planar(3)
    a, b, c = chain.joint_names
    model = constrained(chain, sixd.Mimic(c, b, 2.0))
    q = np.array([[0.1, 0.2, 0.4], [0.3, -0.2, -0.4]])
    found = dik(model, q, {chain.body_names[-1]: np.array([0.1, 0.3, 0.0])})
    assert found.qd.shape == (2, 3)
    np.testing.assert_allclose(found.qd[:, 2], 2 * found.qd[:, 1], atol=1e-14)
    held = dik(model, q, {chain.body_names[-1]: np.array([0.1, 0.3, 0.0])}, locked=[a])
    assert (held.qd[:, 0] == 0).all()


def test_rows():
    """NaN stays in its row, the centre of mass can be a target, float32 and empty batches work."""
    arm = sixd.zoo.panda_arm()
    q = arm.random_configuration(0, size=5)
    v = np.full((5, 6), 0.1)
    v[2] = np.nan
    found = dik(arm, q, {"tool": v})
    assert np.isnan(found.qd[2]).all()
    assert not np.isnan(np.delete(found.qd, 2, axis=0)).any()
    found = dik(arm, q, {"world": sixd.CenterOfMass([0.05, 0, 0])}, velocity_limits=False, limits=False)
    velocity = sixd.momentum(arm, q, found.qd)[:, 3:] / arm.mass
    np.testing.assert_allclose(velocity, np.broadcast_to([0.05, 0, 0], (5, 3)), atol=1e-3)  # damping of 1e-3
    small = dik(arm, q.astype(np.float32), {"tool": np.full(6, 0.1, np.float32)}, damping=0.1)
    assert small.qd.dtype == np.float32
    np.testing.assert_allclose(small.qd, dik(arm, q, {"tool": np.full(6, 0.1)}, damping=0.1).qd, atol=1e-4)  # float32
    assert dik(arm, q[:0], {"tool": np.zeros(6)}).qd.shape == (0, 7)
    assert dik(arm, q[0], {"tool": np.zeros(6)}).success.shape == ()


def test_nan_is_not_success():
    arm, q, v = sixd.zoo.panda_arm(), np.array([0.1, -0.4, 0, -2.0, 0, 1.8, 0.8]), np.full(6, 0.1)
    both = np.array([q, q])
    for found in (
        dik(arm, np.array([q, q * np.nan]), {"tool": v}),
        dik(arm, q, {"tool": np.array([v, v * np.nan])}),
        dik(arm, q, {"tool": v}, posture=both * [[1], [np.nan]]),
    ):
        assert found.success.tolist() == [True, False]
        assert np.isfinite(found.qd[0]).all()
        assert np.isnan(found.qd[1]).any()


def test_the_least_damping_is_above_rounding():
    arm, q, v = sixd.zoo.panda_arm(), np.array([0.1, -0.4, 0, -2.0, 0, 1.8, 0.8]), np.array([0, 0, 0, 0.1, 0, 0])
    found = dik(arm, q, {"tool": v}, damping=1e-6, limits=False, velocity_limits=False)
    smallest = np.linalg.pinv(sixd.jacobian(arm, q, "tool")) @ v
    np.testing.assert_allclose(found.qd, smallest, atol=1e-4)  # rounding of 1e-16 next to 1e-12


@pytest.mark.parametrize(
    ("targets", "options", "error", "words"),
    [
        ({}, {}, sixd.ScalarTypeError, "not empty"),
        ("tool", {}, sixd.ScalarTypeError, "expected a mapping"),
        ({"tool": [1, 2]}, {}, sixd.ShapeError, "a twist"),
        ({"tol": np.zeros(6)}, {}, sixd.UnknownNameError, "tol"),
        ({"world": np.zeros(6)}, {}, sixd.ModelError, "fixed to the world"),
        ({"tool": sixd.CenterOfMass([0, 0, 0])}, {}, sixd.ModelError, "expected that of 'world'"),
        ({"tool": np.zeros(6)}, {"expressed_in": "tool"}, sixd.UnknownNameError, "expressed_in"),
        ({"tool": np.zeros(6)}, {"damping": 0}, sixd.ScalarTypeError, "damping"),
        ({"tool": np.zeros(6)}, {"damping": 1e-8}, sixd.ScalarTypeError, "damping is 1e-08, expected at least 1e-06"),
        ({"tool": np.zeros(6)}, {"damping": 1e-5, "weights": 100}, sixd.ScalarTypeError, "expected at least 0.0001"),
        ({"tool": [[1], [2, 3]]}, {}, sixd.ShapeError, "its rows differ in length"),
        ({"tool": np.zeros(6)}, {"velocity_limits": "fast"}, sixd.ScalarTypeError, "velocity_limits is 'fast'"),
        ({"tool": np.zeros(6)}, {"limits": (np.inf, np.inf)}, sixd.ModelError, "finite numbers between"),
        ({"tool": np.zeros(6)}, {"dt": -1}, sixd.ScalarTypeError, "dt"),
        ({"tool": np.zeros(6)}, {"velocity_limits": [1, 2]}, sixd.ShapeError, "velocity_limits"),
        ({"tool": np.zeros(6)}, {"velocity_limits": -1}, sixd.ShapeError, "velocity_limits"),
        ({"tool": np.zeros(6)}, {"locked": {"joint1": 0}}, sixd.ScalarTypeError, "locked"),
        ({"tool": np.zeros(6)}, {"posture": np.zeros(3)}, sixd.ShapeError, "posture"),
    ],
)
def test_errors(targets, options, error, words):
    with pytest.raises(error, match=words):
        dik(sixd.zoo.panda_arm(), np.zeros(7), targets, **options)
