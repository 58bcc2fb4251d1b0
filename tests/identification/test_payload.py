"""Payloads identified from torques."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from robots import FIVE, quiet_load
from sixd.identification import Recording, excitation, payload

pytestmark = pytest.mark.one_target
LOAD = sixd.Inertia(2.3, (0.02, -0.01, 0.06), (0.010, 0.012, 0.008))


def slow_motion(nv, t):
    """A gentle motion of all joints, some tenths of a hertz: q, qd, qdd (n, nv)."""
    w = 2 * np.pi * np.linspace(0.1, 0.3, nv)
    a = np.linspace(1.0, 0.5, nv)
    angle = w * t[:, None] + np.arange(nv)
    return a * np.sin(angle), a * w * np.cos(angle), -a * w**2 * np.sin(angle)


@pytest.fixture(scope="module")
def ur5():
    return quiet_load(FIVE["ur5"])


def test_2_3_kg_on_a_ur5_within_a_percent(ur5):
    """10 s at 500 Hz, noise of 1 % of the RMS of each torque."""
    loaded = ur5.with_payload("can", "tool0", LOAD)
    motion = slow_motion(ur5.nv, np.arange(5000) / 500)
    tau = sixd.inverse_dynamics(loaded, *motion)
    noise = 0.01 * np.sqrt((tau**2).mean(axis=0))
    for seed in range(5):
        noisy = tau + noise * np.random.default_rng(seed).normal(size=tau.shape)
        result = payload(ur5, "tool0", *motion, noisy)
        assert abs(result.mass - 2.3) < 0.01 * 2.3
        assert abs(result.mass - 2.3) < 5 * result.mass_deviation
        assert np.abs(result.com - LOAD.com).max() < 2e-3
        assert (np.abs(result.com - LOAD.com) < 5 * result.com_deviation + 1e-6).all()
        assert np.linalg.eigvalsh(result.inertia.pseudo_inertia)[0] > 0
        assert_allclose(result.noise, noise, rtol=0.1)


def test_without_noise_it_is_exact():
    arm = sixd.zoo.ur_arm()
    motion = np.random.default_rng(0).uniform(-1, 1, (3, 60, 6))
    T = sixd.placement((0.1, 0.0, 0.05), rpy=(0.4, 0.2, 0.1))
    arm = arm.with_frame("grip", "link6", T)
    tau = sixd.inverse_dynamics(arm.with_payload("can", "grip", LOAD), *motion)
    for consistent in (True, "log-det", False):
        result = payload(arm, "grip", *motion, tau, consistent=consistent)
        assert_allclose(result.inertia.parameters, LOAD.parameters, atol=1e-7)
        assert_allclose(result.residuals, 0, atol=1e-6)
        assert result.model.mass == pytest.approx(arm.mass + 2.3)
    assert repr(result).startswith("<Payload at 'grip': 2.3 ± ")
    low, high = result.intervals().T
    assert (low <= LOAD.parameters + 1e-9).all()
    assert (LOAD.parameters - 1e-9 <= high).all()


def test_sensors_with_offsets():
    arm = sixd.zoo.ur_arm()
    motion = np.random.default_rng(0).uniform(-1, 1, (3, 200, 6))
    offset = np.array([1.0, -2.0, 0.5, 0.1, 0.0, -0.1])
    tau = sixd.inverse_dynamics(arm.with_payload("can", "link6", LOAD), *motion) + offset
    result = payload(arm, "link6", *motion, tau, offset=True)
    assert_allclose(result.offset, offset, atol=1e-7)
    assert_allclose(result.mass, 2.3, atol=1e-7)


def test_friction_of_the_model_is_known():
    arm = sixd.zoo.puma560()
    motion = slow_motion(6, np.arange(400) / 40)
    tau = sixd.inverse_dynamics(arm.with_payload("can", "link6", LOAD), *motion)
    assert_allclose(payload(arm, "link6", *motion, tau).mass, 2.3, atol=1e-6)


def test_what_a_motion_does_not_show():
    """One joint about a vertical axis shows a moment of inertia, not a mass."""
    builder = sixd.ModelBuilder("turntable")
    builder.add_body("disc", "world", sixd.Revolute("z"), inertia=sixd.cylinder(0.2, 0.1, mass=3.0))
    table = builder.build()
    motion = slow_motion(1, np.arange(200) / 20)
    loaded = table.with_payload("can", "disc", sixd.Inertia(1.0, (0.1, 0, 0), (0.01, 0.01, 0.01)))
    tau = sixd.inverse_dynamics(loaded, *motion)
    with pytest.raises(sixd.SingularError, match="do not determine the mass"):
        payload(table, "disc", *motion, tau, noise=0.01)


def test_an_arm_at_rest_shows_weights():
    """Postures without motion: mass and centre of mass are determined, and inertias have the width of the prior."""
    arm = sixd.zoo.ur_arm()
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (30, 6))
    still = np.zeros_like(q)
    tau = sixd.inverse_dynamics(arm.with_payload("can", "link6", LOAD), q, still, still)
    result = payload(arm, "link6", q, still, still, tau, noise=0.05)
    assert abs(result.mass - 2.3) < 0.05
    assert np.abs(result.com - LOAD.com).max() < 0.01
    assert np.linalg.eigvalsh(result.inertia.pseudo_inertia)[0] > 0
    assert result.deviation[4] > 0.05


def test_nothing_held():
    """No payload: the mass is within its interval of zero, and still positive."""
    arm = sixd.zoo.ur_arm()
    motion = slow_motion(6, np.arange(500) / 50)
    tau = sixd.inverse_dynamics(arm, *motion) + 0.05 * np.random.default_rng(0).normal(size=(500, 6))
    result = payload(arm, "link6", *motion, tau)
    assert 0 < result.mass < 5 * result.mass_deviation


def test_recordings_are_taken():
    arm = sixd.zoo.ur_arm()
    t = np.arange(100) / 10
    motion = slow_motion(6, t)
    tau = sixd.inverse_dynamics(arm.with_payload("can", "link6", LOAD), *motion)
    assert_allclose(payload(arm, "link6", Recording(t, *motion, tau)).mass, 2.3, atol=1e-6)
    with pytest.raises(sixd.ScalarTypeError, match="in addition to a Recording"):
        payload(arm, "link6", Recording(t, *motion, tau), motion[1])


def test_wrong_arguments():
    arm = sixd.zoo.ur_arm()
    motion = slow_motion(6, np.arange(20) / 10)
    tau = sixd.inverse_dynamics(arm, *motion)
    with pytest.raises(sixd.UnknownNameError, match="no frame named 'tool9'"):
        payload(arm, "tool9", *motion, tau)
    with pytest.raises(sixd.ModelError, match="fixed to the world"):
        payload(arm, "world", *motion, tau)
    with pytest.raises(sixd.ShapeError, match="tau has shape"):
        payload(arm, "link6", *motion, tau[:, :5])
    with pytest.raises(sixd.ScalarTypeError, match="not finite"):
        payload(arm, "link6", *motion, np.full_like(tau, np.nan))
    with pytest.raises(sixd.ShapeError, match="got 0 samples"):
        payload(arm, "link6", *(x[:0] for x in motion), tau[:0])
    with pytest.raises(sixd.ModelError, match="link6"):  # torques of the arm alone: nothing is held, which is no error
        payload(arm, "link6", *motion, tau, name="link6")


def test_an_excitation_and_its_payload():
    """The whole way: a motion for the robot, what it measures, what it holds."""
    arm = sixd.zoo.ur_arm()
    motion = excitation(arm, harmonics=3, starts=1, iterations=3, rate=20)
    tau = sixd.inverse_dynamics(arm.with_payload("can", "link6", LOAD), motion.q, motion.qd, motion.qdd)
    assert_allclose(payload(arm, "link6", motion.q, motion.qd, motion.qdd, tau).mass, 2.3, atol=1e-6)
