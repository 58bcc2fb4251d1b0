"""``sixd.Scenario``: its methods compute what the functions of the same names do, and its arguments are checked once."""

import dataclasses
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import samples
import sixd

ARM = sixd.zoo.planar(2)
H = 0.01


def law(t, q, qd):
    """A controller without a closure."""
    return -q * 3.0 - qd * 0.1


def force(t, q, qd):
    """A force on the first body that depends on time."""
    return np.array([[0, 0, 0, 0.1 * t, 0, 0], [0] * 6])


SCENARIOS = {
    "plain": (ARM, {}),
    "euler": (ARM, {"method": "euler", "controller": law}),
    "constant forces": (ARM, {"controller": np.array([1.0, -2.0]), "f_ext": np.ones((2, 6))}),
    "functions": (ARM, {"controller": law, "f_ext": force, "method": "implicit"}),
    "limits": (sixd.zoo.ur_arm(), {"forces": sixd.JointLimits(stiffness=100.0, damping=1.0)}),
    "parameters": (ARM, {"parameters": {"gravity": [0, 0, -1.6]}, "method": "midpoint"}),
    "free": (samples.single_joint("free", passive=False), {"method": "midpoint"}),
    "constraints": (sixd.zoo.four_bar(), {"constraints": "stabilised", "stabilisation": 5.0}),
    "reduced": (sixd.zoo.double_elbow().reduce(), {}),
    "equations": (sixd.equations(ARM), {"controller": law}),
}


def start(system, rng):
    q, qd = system.random_configuration(rng), rng.uniform(-1, 1, system.nv)
    return sixd.assemble(system, system.neutral(), qd) if system.constraints else (q, qd)


def same(one, two):
    for x, y in zip(one, two, strict=True):
        assert_array_equal(x, y)


@pytest.mark.parametrize("name", SCENARIOS)
def test_methods_are_the_functions(name, rng):
    system, options = SCENARIOS[name]
    run, (q, qd) = sixd.Scenario(system, dt=H, **options), start(system, rng)
    motion, expected = run.simulate(q, qd, 0.1), sixd.simulate(system, q, qd, 0.1, dt=H, **options)
    same((motion.q, motion.qd, motion.tau), (expected.q, expected.qd, expected.tau))
    same(run.step(q, qd, t=0.3), sixd.step(system, q, qd, H, t=0.3, **options))
    if not isinstance(options.get("controller"), np.ndarray):
        same(run.derivatives(q, qd, tau=qd), sixd.step_derivatives(system, q, qd, H, tau=qd, **options))
    if "controller" not in options:
        taus = rng.uniform(-1, 1, (5, system.nv))
        found = run.gradient(q, qd, taus, final=lambda q, qd: qd @ qd)
        expected = sixd.rollout_gradient(system, q, qd, taus, dt=H, final=lambda q, qd: qd @ qd, **options)
        same((found.cost, found.q, found.qd, found.controls), expected[:4])
    many = run.ensemble(q, lambda rng: rng.uniform(-1, 1, system.nv) * (not system.constraints), 0.1, count=3)
    expected = sixd.ensemble(
        system, q, lambda rng: rng.uniform(-1, 1, system.nv) * (not system.constraints), 0.1, count=3, dt=H, **options
    )
    same((many.q, many.qd), (expected.q, expected.qd))


def test_a_controller_acts_in_gradients(rng):
    """It is added to the controls; the derivative agrees with differences of simulations."""
    run, (q, qd) = sixd.Scenario(ARM, controller=law, dt=H), start(ARM, rng)
    taus, direction, h = rng.uniform(-1, 1, (4, 2)), rng.uniform(-1, 1, (4, 2)), 1e-6
    found = run.gradient(q, qd, taus, final=lambda q, qd: q @ q)

    def cost(taus):
        x, v = q, qd
        for k, tau in enumerate(taus):
            x, v = run.stepper()(x, v, k * H, tau)
        return x @ x

    assert cost(taus) == pytest.approx(found.cost, abs=1e-14)
    derivative = (cost(taus + h * direction) - cost(taus - h * direction)) / (2 * h)
    assert np.sum(found.controls * direction) == pytest.approx(derivative, abs=1e-8)  # of differences


def test_the_fields_are_stored_in_one_form():
    limits = sixd.JointLimits(stiffness=1.0)
    run = sixd.Scenario(ARM, forces=limits, parameters=None, dt=np.float32(0.5), stabilisation=2)
    assert run.forces == (limits,)
    assert run.parameters == {}
    assert (run.dt, run.stabilisation) == (0.5, 2.0)
    assert type(run.stabilisation) is float
    assert dataclasses.replace(run, dt=0.25).dt == 0.25
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.dt = 0.1
    assert run != dataclasses.replace(run)
    assert "where" not in repr(run)


def test_a_scenario_can_be_pickled(rng):
    run = pickle.loads(pickle.dumps(sixd.Scenario(ARM, controller=law, dt=H)))
    q, qd = start(ARM, rng)
    same(run.step(q, qd), sixd.step(ARM, q, qd, H, controller=law))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rk5"}, "Scenario: method: no choice named 'rk5'"),
        ({"constraints": "none"}, "Scenario: constraints: no choice named 'none'"),
        ({"stabilisation": -1}, r"Scenario: stabilisation is -1, expected a finite number of at least 0 \[1/s\]"),
        ({"dt": 0}, r"Scenario: dt is 0, expected a finite number above 0 \[s\]"),
        ({"sample_time": np.nan}, "Scenario: sample_time is nan, expected a finite number above 0"),
        ({"method": "adaptive", "rtol": True}, "Scenario: rtol is True"),
        ({"forces": ["ground"]}, "Scenario: forces holds 'ground', expected elements such as sixd.Ground"),
        ({"parameters": 3}, "Scenario: parameters is 3, expected a mapping of names to arrays"),
        ({"parameters": {"q": 1}}, "Scenario: parameters has 'q', which means something else"),
        ({"model": "arm"}, "Scenario: .*expected a sixd.Model"),
    ],
)
def test_arguments_are_checked_at_once(options, message):
    with pytest.raises(sixd.SixdError, match=message):
        sixd.Scenario(**{"model": ARM, **options})


def test_messages_name_the_function_that_was_called():
    run = sixd.Scenario(ARM, method="adaptive")
    for call, where in (
        (lambda: run.simulate([0.0], None, 1.0), "simulate: q"),
        (lambda: run.step([0.0, 0.0], None), "step: method"),
        (run.stepper, "stepper: method"),
        (lambda: run.derivatives([0.0, 0.0], None), "step_derivatives: method"),
        (lambda: run.gradient([0.0, 0.0], None, np.zeros((1, 2)), final=lambda q, qd: 0.0), "rollout_gradient: method"),
        (lambda: run.ensemble([0.0, 0.0], None, 1.0), "ensemble: all arguments have one value"),
        (lambda: sixd.Scenario(ARM, controller=np.zeros(2)).gradient(0, 0, np.zeros((1, 2)), final=abs), "controller"),
    ):
        with pytest.raises(sixd.SixdError, match=where):
            call()
