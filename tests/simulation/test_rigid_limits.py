"""Rigid limits: joints that lean on them, hit them and rebound, with and without dry friction."""

import dataclasses
import warnings

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from samples import METHODS

H, G = 1e-3, 9.81


def elevator(friction=0.0, lower=0.0, upper=np.inf):
    """A mass of 1 kg on a vertical rail."""
    builder = sixd.ModelBuilder("elevator")
    joint = sixd.Prismatic("z")
    builder.add_body("cab", "world", joint, inertia=sixd.point(1.0), friction=friction, limits=(lower, upper))
    return builder.build()


def elbow(friction=0.0):
    """A double pendulum with a limited elbow."""
    model = sixd.zoo.get("double_pendulum")
    limits = {"lower": np.array([-np.inf, -0.4]), "upper": np.array([np.inf, 0.9])}
    return dataclasses.replace(model, **limits, friction=np.full(2, friction))


@pytest.mark.many
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", METHODS)
def test_it_falls_and_rests(method, dtype):
    """It stops at the limit when it gets there, and stays; the stop carries the weight."""
    motion = sixd.simulate(elevator(), dtype([0.5]), dtype([0.0]), 1.0, dt=H, method=method, forces=sixd.RigidLimits())
    assert motion.q.min() == 0
    assert_array_equal(motion.q[-1], 0)
    assert_array_equal(motion.qd[-1], 0)
    landed = motion.t[int(np.argmax(motion.q[:, 0] == 0))]
    assert abs(landed - np.sqrt(2 * 0.5 / G)) <= 3 * H
    assert_allclose(motion.internal[-1, 0], G, rtol=1e-6 if dtype is np.float32 else 1e-12)
    assert motion.facts["unsolved"] == 0


@pytest.mark.parametrize("restitution", [0.3, 0.8, 1.0])
def test_it_bounces(restitution):
    """The height of the first rebound is e² times that of the fall: impacts are computed within a step."""
    motion = sixd.simulate(elevator(), [0.5], None, 1.0, dt=H, forces=sixd.RigidLimits(restitution))
    first = int(np.argmax(np.diff(motion.qd[:, 0]) > 0.5))
    top = motion.q[first : first + int(2 * restitution * np.sqrt(2 * 0.5 / G) / H), 0].max()
    assert_allclose(top, restitution**2 * 0.5, rtol=2e-6 / restitution**2)  # it is highest between two records
    assert motion.q.min() >= 0
    assert np.diff(motion.energy).max() < 1e-9


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_friction_and_limit_of_one_joint(method):
    """Pushed against the limit, it leans with the rest of the force after friction; pulled away, it sticks until
    friction is overcome.
    """
    model = elevator(friction=4.0)
    limits = sixd.RigidLimits()
    rests = sixd.simulate(model, [0.0], None, 0.1, dt=H, method=method, forces=limits)
    assert_array_equal(rests.q, 0)
    assert_allclose(rests.internal[-1, 0] + rests.friction[-1, 0], G, atol=1e-9)
    for pull, moves in ((G + 3.9, False), (G + 4.1, True)):
        motion = sixd.simulate(model, [0.0], None, 0.1, dt=H, method=method, forces=limits, controller=[pull])
        assert (motion.q[-1, 0] > 0) == moves
    assert_allclose(motion.q[-1, 0], 0.5 * 0.1 * 0.1**2, rtol=0.03 if method == "euler" else 1e-6)


@pytest.mark.many
@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("method", METHODS)
def test_an_elbow_stays_within_its_limits(method, friction):
    model = elbow(friction)
    motion = sixd.simulate(model, [1.2, 0.8], None, 2.0, dt=H, method=method, forces=sixd.RigidLimits())
    assert motion.q[:, 1].min() >= -0.4
    assert motion.q[:, 1].max() <= 0.9
    # the gain of the method itself, without limits
    free = sixd.simulate(dataclasses.replace(model, friction=np.zeros(2)), [1.2, 0.8], None, 2.0, dt=H, method=method)
    assert np.diff(motion.energy).max() <= max(2 * np.abs(np.diff(free.energy)).max(), 1e-7)
    assert motion.energy[-1] < motion.energy[0] - 0.1


def test_shorter_steps_come_closer():
    """An impact is located within its step; what follows from it is accurate to first order."""
    runs = [sixd.simulate(elbow(0.2), [1.2, 0.8], None, 0.6, dt=h, forces=sixd.RigidLimits()).q[-1] for h in (2e-3, 1e-3, 2.5e-4, 2.5e-5)]  # fmt: skip
    errors = [np.abs(x - runs[-1]).max() for x in runs[:-1]]
    assert errors[1] < 5e-3
    assert errors[2] < errors[0]


def test_samples_and_single_steps():
    model, limits = elbow(0.3), sixd.RigidLimits(0.5)
    q, qd = np.array([[1.2, 0.8], [0.3, 0.899], [-1.0, -0.4]]), np.array([[0, 0], [1.0, 5.0], [0.5, -2.0]])
    together = sixd.simulate(model, q, qd, 0.2, dt=H, forces=limits)
    for i in range(3):
        assert_array_equal(sixd.simulate(model, q[i], qd[i], 0.2, dt=H, forces=limits).q, together.q[i])
        one = sixd.step(model, q[i], qd[i], H, forces=limits)
        assert_array_equal(one[1], together.qd[i, 1])
    assert_array_equal(sixd.step(model, q, qd, H, forces=limits)[0], together.q[:, 1])


def pendulum(damping=0.0):
    """A mass of 1 kg at 1 m that may rotate by 0.3 rad to both sides."""
    builder = sixd.ModelBuilder("pendulum")
    weight = sixd.point(1.0, (0, 0, -1))
    builder.add_body("rod", "world", sixd.Revolute("y"), inertia=weight, limits=(-0.3, 0.3), damping=damping)
    return builder.build()


def warned(function, *args, **options):
    """Return the motion, and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        motion = function(*args, **options, forces=sixd.RigidLimits())
    return motion, [str(w.message) for w in caught]


def test_a_start_beyond_a_limit_is_moved_back_and_reported():
    """Once, for the worst sample; a start at a limit, or beyond it by rounding, is not reported."""
    motion, (text,) = warned(sixd.simulate, elevator(), [-0.2], None, 0.01, dt=H)
    assert_array_equal(motion.q[1:], 0)
    assert text == (
        "simulate: joint 'cab' starts at -0.2 m, 0.2 m beyond its rigid limits 0 … inf, and is moved onto them in the "
        "first step. Start within them."
    )
    starts = [[0.3], [1.0], [-0.31], [np.nan]]
    for function in (sixd.simulate, sixd.ensemble):
        texts = warned(function, pendulum(), starts, None, 0.01)[1]
        assert [": joint 'rod' starts at 1 rad in state 1, 0.7 rad beyond" in text for text in texts] == [True, False]
        assert warned(function, pendulum(), [[0.3], [-0.3], [0.3005]], None, 0.01)[1] == []
    assert warned(sixd.simulate, elevator(lower=-np.inf), [-9.0], None, 0.01)[1] == []  # no limits at all


@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint"])
def test_a_limit_does_not_shorten_the_step(method):
    """Neither where a joint is pressed against it, nor with a damper; only a stiff damper does."""
    for force in ([20.0], lambda t, q, qd: 20 - qd):
        for damping in (0.0, 1.0):
            motion, texts = warned(sixd.simulate, pendulum(damping), [0.3], None, 0.01, controller=force, method=method)
            assert texts == []
            assert_array_equal(motion.q, 0.3)
    _, texts = warned(sixd.simulate, pendulum(5e3), [0.3], None, 0.001, controller=[20.0], method=method)
    assert "a mode mostly of joint 'rod' decays at 5e+03 1/s" in texts[0]


@pytest.mark.long
def test_every_arm_of_the_zoo_lies_down(rng):
    """On their limits, without a motor."""
    for name in ("panda_arm", "ur_arm"):
        arm = dataclasses.replace(sixd.zoo.get(name), friction=np.full(sixd.zoo.get(name).nv, 0.2))
        motion = sixd.simulate(arm, arm.random_configuration(rng), None, 1.0, dt=H, forces=sixd.RigidLimits())
        assert (motion.q >= arm.lower).all()
        assert (motion.q <= arm.upper).all()
        assert motion.facts["unsolved"] == 0


@pytest.mark.parametrize(("stiffness", "damping"), [(1e4, 300.0), (1e6, 1e4)])
@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_a_light_foot_under_a_stiff_spring(stiffness, damping, dt):
    """10 kg on a spring on 10 g that land on a limit: implicit steps of any length come to rest, and gain nothing."""
    builder = sixd.ModelBuilder("hopper")
    builder.add_body("foot", "world", sixd.Prismatic("z"), inertia=sixd.point(0.01), limits=(0.0, np.inf))
    spring = {"stiffness": stiffness, "damping": damping}
    builder.add_body("trunk", "foot", sixd.Prismatic("z"), inertia=sixd.point(10.0), **spring)
    motion = sixd.simulate(builder.build(), [0.1, 0.0], None, 3.0, dt=dt, method="implicit", forces=sixd.RigidLimits())
    assert motion.q[:, 0].min() >= 0
    assert_allclose(motion.internal[-1, 0], 10.01 * G, rtol=1e-9)
    assert_allclose(motion.q[-1, 1], -10 * G / stiffness, rtol=1e-9)
    assert np.diff(motion.energy).max() < 1e-3  # of 9.8 J; the spring's energy to the order of the method


def test_symbolic_masses_together_with_limits():
    mass = sympy.Symbol("m", positive=True)
    builder = sixd.ModelBuilder("elevator")
    builder.add_body("cab", "world", sixd.Prismatic("z"), inertia=sixd.point(mass), limits=(0.0, 1.0))
    motion = sixd.simulate(builder.build(), [0.5], None, 0.6, forces=sixd.RigidLimits(), parameters={"m": [1.0, 3.0]})
    assert_allclose(motion.internal[:, -1, 0], [G, 3 * G])


def test_invalid_arguments_are_rejected():
    for wrong in (-0.1, 1.1, np.nan, "hard", True, None):
        with pytest.raises(sixd.ModelError, match=r"RigidLimits: restitution is .*, expected a number from 0 to 1"):
            sixd.RigidLimits(wrong)
    with pytest.raises(sixd.ModelError, match="forces holds 2 RigidLimits, expected one"):
        sixd.simulate(elevator(), [0.5], None, 0.1, forces=(sixd.RigidLimits(0.3), sixd.RigidLimits()))
    with pytest.raises(sixd.ScalarTypeError, match="forces holds 'stops', expected elements"):
        sixd.simulate(elevator(), [0.5], None, 0.1, forces="stops")
    with pytest.raises(sixd.ModelError, match="expected the lower one first"):
        sixd.simulate(dataclasses.replace(elevator(), lower=np.array([1.0]), upper=np.array([0.0])), None, None, 0.1, forces=sixd.RigidLimits())  # fmt: skip
    with pytest.raises(sixd.ScalarTypeError, match=r"RigidLimits acts by impulses.*method=\"rk4\""):
        sixd.simulate(elevator(), [0.5], None, 0.1, method="adaptive", forces=sixd.RigidLimits())
    x, v = sympy.symbols("x v", real=True)
    weight = sixd.lagrange(v**2, x, [x], qd=[v])
    with pytest.raises(sixd.ModelError, match=r"expected a sixd\.Model"):
        sixd.simulate(weight, [0.0], [0.0], 0.1, forces=sixd.RigidLimits())
