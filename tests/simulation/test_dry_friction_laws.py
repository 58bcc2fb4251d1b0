"""Dry friction in steps: motions known exactly, energy, orders, and MuJoCo's frictionloss."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import mujoco_runs
import nonsmooth
import robots
import sixd

METHODS = ("rk4", "euler", "midpoint", "implicit")
H = 1e-3
PANDA = robots.ROBOTS / "panda_description/urdf/panda.urdf"
ARMS = {
    "xarm7": robots.ROBOTS / "xarm_description/urdf/xarm7.urdf",
    "z1": robots.ROBOTS / "z1_description/urdf/z1.urdf",
}


def order(errors):
    """Return the order of errors of steps that are halved from one to the next."""
    return np.log2(errors[0] / errors[-1]) / (len(errors) - 1)


def rubbing_panda():
    """The panda with locked fingers, and friction on its seven joints."""
    arm = robots.quiet_load(PANDA).lock({"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0})
    return dataclasses.replace(arm, friction=np.array([1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5]))


# stopping -----------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("speed", [5.0, 4.0, 7.7])
@pytest.mark.parametrize("method", METHODS)
def test_a_rod_stops(method, speed, dtype):
    """It stands still from the end of the step in which it stops, where the exact motion ends except for a h²/8."""
    deceleration = 0.1 / 2e-5
    motion = sixd.simulate(nonsmooth.rod(), dtype([0.0]), dtype([speed]), 10 * H, dt=H, method=method)
    stopped = int(np.ceil(speed / deceleration / H - 1e-9))
    # from 5 rad/s the end of the first step is the exact time: rounding may move the last bit to the second
    rounding = 1e-15 if dtype is np.float64 else 1e-6
    assert abs(motion.qd[stopped, 0]) <= (5 * rounding if speed == 5.0 else 0.0)
    assert_array_equal(motion.qd[stopped + 1 :], 0)
    # the stopping place is known to the deceleration in a part of a step; euler also has an error of first order
    bound = deceleration * H**2 * (1 if method == "euler" else 1 / 8)
    assert abs(motion.q[-1, 0] - speed**2 / (2 * deceleration)) <= bound * (1 + (1e-9 if dtype is np.float64 else 1e-4))
    if speed == 5.0 and method != "euler":
        assert abs(motion.q[-1, 0] - 2.5e-3) < 1e-4


@pytest.mark.parametrize("method", METHODS)
def test_a_stuck_pendulum_does_not_creep(method):
    """Friction holds its weight at every angle: no bit of its state changes in 10 s."""
    model, angles = nonsmooth.stuck_pendulum(), np.linspace(-3, 3, 7)[:, None]
    motion = sixd.simulate(model, angles, None, 10.0, dt=H, method=method, record_every=1000)
    assert_array_equal(motion.q, np.broadcast_to(angles[:, None], motion.q.shape))
    assert_array_equal(motion.qd, 0)


# exact motions ------------------------------------------------------------------------------------


def oscillator_error(h, method="rk4", duration=1.0):
    motion = sixd.simulate(nonsmooth.slider(100.0), [0.105], None, duration, dt=h, method=method)
    return np.abs(motion.q[:, 0] - nonsmooth.oscillator_motion(motion.t)[0]).max()


def belt_error(h, speed, method="rk4", duration=0.7):
    law = nonsmooth.belt_force(speed)
    motion = sixd.simulate(nonsmooth.slider(), [0.0], [0.0], duration, dt=h, method=method, controller=law)
    return np.abs(motion.q[:, 0] - nonsmooth.belt_motion(motion.t, speed)[0]).max()


def test_oscillator_with_three_reversals():
    """Each reversal is within a step, and its error is h² times the change of friction there."""
    errors = [oscillator_error(h) for h in (4e-3, 2e-3, 1e-3, 5e-4)]
    assert errors[2] <= 1e-5
    assert order(errors) > 1.7  # the place of the reversal in a step differs from one h to the next


@pytest.mark.parametrize(("method", "least"), [("midpoint", 1.8), ("implicit", 1.7), ("rk4", 3.5), ("euler", 0.9)])
def test_order_while_sliding(method, least):
    """Without a reversal the order is that of the method."""
    errors = [oscillator_error(h, method, 0.3) for h in (4e-3, 2e-3, 1e-3)]
    assert order(errors) >= least


def test_breaking_away_from_a_belt():
    """At the end of a step, the order of rk4 remains; within a step, h² times the change of force."""
    errors = [belt_error(h, 0.1) for h in (4e-3, 2e-3, 1e-3)]
    assert errors[2] <= 1e-9
    assert order(errors) >= 3.5
    assert belt_error(1e-3, 0.0937, duration=1.0) <= 5e-7
    assert belt_error(1e-3, 0.0871, duration=1.0) <= 5e-7


def test_panda_with_friction_converges(rng):
    """Seven joints that slide, reverse and stick, from 16 starts, against steps of 25 µs."""
    arm = dataclasses.replace(rubbing_panda(), friction=np.array([8.0, 8.0, 8.0, 8.0, 4.0, 4.0, 4.0]))
    q = np.array([0.3, -0.6, 0.4, -1.8, 0.5, 1.5, 0.2]) + rng.uniform(-0.5, 0.5, (16, 7))
    steps = (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4, 2.5e-5)
    runs = [sixd.simulate(arm, q, None, 1.0, dt=h, record_every=round(4e-3 / h)).q for h in steps]
    errors = [np.median(np.abs(run - runs[-1]).max(axis=(1, 2))) for run in runs[:-1]]
    assert errors[2] <= 3e-4  # break-aways and reversals within steps: of second order, and amplified by the fall
    assert order(errors) >= 1.7


# energy -------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_friction_adds_no_energy(method, rng):
    """No step of 256 pandas gains more than twice the energy error of the method from the same states without friction."""
    arm = dataclasses.replace(rubbing_panda(), damping=np.zeros(7))
    bare = dataclasses.replace(arm, friction=np.zeros(7))
    q, qd = rng.uniform(arm.lower, arm.upper, (256, 7)), rng.normal(size=(256, 7))
    motion = sixd.simulate(arm, q, qd, 0.02, dt=H, method=method)
    starts = motion.q[:, :-1].reshape(-1, 7), motion.qd[:, :-1].reshape(-1, 7)
    free = sixd.simulate(bare, *starts, H, dt=H, method=method)
    assert np.diff(motion.energy, axis=1).max() <= 2 * np.abs(np.diff(free.energy, axis=1)).max()


@pytest.mark.long
@pytest.mark.parametrize("path", sorted(robots.ROBOTS.rglob("*.urdf")), ids=lambda p: p.stem)
def test_every_robot_file(path, rng):
    """From random velocities without gravity, by implicit steps of 1 ms with the file's own damping and friction."""
    try:
        model = robots.quiet_load(path).with_gravity((0.0, 0.0, 0.0))
    except sixd.LoadError:
        pytest.skip("not a robot")
    if not model.nv:
        pytest.skip("no joints")
    q, qd = model.random_configuration(rng), 0.3 * rng.normal(size=model.nv)
    if model.constraints:
        q, qd = sixd.assemble(model, q, qd)
    try:
        motion = sixd.simulate(model, q, qd, 1.0, method="implicit")
    except sixd.SingularError:
        pytest.skip("joints without inertia")
    assert np.isfinite(motion.q).all()
    energy, begin = motion.energy, motion.kinetic[0]
    # without derivatives the method is Heun's, whose error is of the order (h q̇)² of the energy
    assert (energy - np.minimum.accumulate(energy)).max() <= 1e-4 * begin
    if model.damping.any() or model.friction.any():
        assert energy[-1] < energy[0]


# an independent program ---------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(("name", "most"), [("xarm7", 5e-5), ("z1", 2e-3)])
def test_against_mujoco(name, most):
    """MuJoCo's frictionloss with stiff settings and Euler's method converges to it as its steps become shorter."""
    arm = robots.quiet_load(ARMS[name])
    q = np.clip(0.5, arm.lower, arm.upper)
    ours = sixd.simulate(arm, q, None, 2.0, method="implicit").q  # their dampers are too stiff for rk4
    far, near = (np.abs(ours - mujoco_runs.friction_run(arm, q, 0 * q, 2.0, h)[0]).max() for h in (1e-3, 1e-4))
    assert near <= most
    assert far >= 5 * near
