"""``Scenario.stepper``: the bits of ``sixd.step``, forces that are added, and what it was made from is fixed."""

import dataclasses
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import samples
import sixd
from fake_gpu import Array, install
from samples import METHODS
from sixd.codegen.llvm.machine import host
from sixd.runtime.cuda import driver
from sixd.simulation.stepping import compiled_steps

ARM = sixd.zoo.planar(2)
H = 0.01


def state(system, rng, dtype=float):
    return system.random_configuration(rng).astype(dtype), rng.uniform(-1, 1, system.nv).astype(dtype)


def same(one, two):
    for x, y in zip(one, two, strict=True):
        assert_array_equal(x, y)
        assert x.dtype == y.dtype


@pytest.mark.many
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", samples.KINDS)
def test_every_joint_and_method(kind, method, rng):
    model = samples.single_joint(kind)
    advance = sixd.Scenario(model, method=method, dt=H).stepper()
    q, qd = state(model, rng)
    tau = rng.uniform(-1, 1, model.nv)
    for t in (0.0, 0.5):
        same(advance(q, qd, t), sixd.step(model, q, qd, H, t=t, method=method))
        same(advance(q, qd, t, tau), sixd.step(model, q, qd, H, t=t, method=method, controller=tau))
    batch = np.array([q, q]), np.array([qd, -qd])
    same(advance(*batch), sixd.step(model, *batch, H, method=method))
    same(advance(*batch, tau=tau), sixd.step(model, *batch, H, method=method, controller=tau))
    single = q.astype(np.float32), qd.astype(np.float32)
    same(advance(*single), sixd.step(model, *single, H, method=method))


def test_forces_are_added_to_the_controllers(rng):
    q, qd = state(ARM, rng)
    tau, constant = rng.uniform(-1, 1, (2, 2))
    table = sixd.controllers.Sequence([[1.0, 2.0], [3.0, 4.0]], 0.1)
    for controller, force in (
        (constant, constant), (list(constant), constant), (table, np.array([3.0, 4.0])),
        (lambda t, q, qd: -q * t, -q * 0.1), (lambda t, q, qd: np.sqrt(np.array([1.0, 4.0]) + 0 * float(t)), [1.0, 2.0]),
    ):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sixd.SimulationWarning)  # of the controller that cannot be traced
            advance = sixd.Scenario(ARM, controller=controller, dt=H).stepper()
        for more in (None, tau, list(tau)):
            total = np.asarray(force) if more is None else np.asarray(force) + tau
            found = advance(q, qd, 0.1, more)
            expected = sixd.step(ARM, q, qd, H, t=0.1, controller=total)
            tolerance = 1e-3 if callable(controller) and not hasattr(controller, "sample") else 0  # held or not
            np.testing.assert_allclose(found, expected, atol=tolerance)


def test_it_is_frozen(rng):
    """Attributes, arrays, closures and elements that change later have no effect; each stepper has its own memory."""
    q, qd = state(ARM, rng)
    gain, array = [2.0], np.ones(2)

    class Controller:
        def __init__(self):
            self.gain = 1.0

        def __call__(self, t, q, qd):
            return -q * self.gain * gain[0]

    class Drag(sixd.Force):
        coefficient = 0.5

        def apply(self, model, t, q, qd, u):
            return sixd.Applied(tau=qd * -self.coefficient)

    controller, drag = Controller(), Drag()
    cases = [
        (sixd.Scenario(ARM, controller=controller), lambda: setattr(controller, "gain", 5.0)),
        (sixd.Scenario(ARM, controller=lambda t, q, qd: -q * gain[0]), lambda: gain.__setitem__(0, 9.0)),
        (sixd.Scenario(ARM, controller=array), lambda: array.__setitem__(0, 7.0)),
        (sixd.Scenario(ARM, forces=[drag]), lambda: setattr(drag, "coefficient", 3.0)),
    ]
    for run, change in cases:
        advance = run.stepper()
        before = advance(q, qd)
        change()
        same(advance(q, qd), before)
        same(advance(np.array([q]), np.array([qd])), [x[None] for x in before])
        assert (run.stepper()(q, qd)[1] != before[1]).any()
        assert (run.step(q, qd)[1] == run.stepper()(q, qd)[1]).all()


calls = []  # at the top, since closures of a stepper's controller are copied


def test_sampled_controllers(rng):
    """A controller with a sample time is called at its samples, as long as times follow each other."""
    calls.clear()

    def law(t, q, qd):
        calls.append(t)
        return np.array([np.floor(10 * t), float(q[0] > 0)])

    q, qd = state(ARM, rng)
    run = sixd.Scenario(ARM, controller=law, sample_time=0.05, dt=H)
    advance, (x, v) = run.stepper(), (q, qd)
    for k in range(20):
        x, v = advance(x, v, k * H)
    motion = run.simulate(q, qd, 20 * H)
    assert calls == pytest.approx(2 * [0.0, 0.05, 0.1, 0.15])
    np.testing.assert_allclose(x, motion.q[-1], atol=1e-12)
    advance(q, qd, 0.2)
    before = len(calls)
    advance(q, qd, 0.0)  # back at the start: sampled anew
    assert len(calls) == before + 1


def test_constraints_parameters_and_wrong_arguments(rng):
    model = sixd.zoo.four_bar()
    q, qd = sixd.assemble(model, model.neutral(), rng.uniform(-1, 1, model.nv))
    same(sixd.Scenario(model, dt=H).stepper()(q, qd), sixd.step(model, q, qd, H))
    with pytest.raises(sixd.AssemblyError, match="stepper: q does not satisfy"):
        sixd.Scenario(model, dt=H).stepper()(q + 0.1, qd)
    values = {"gravity": [0.0, 0.0, -1.6]}
    spinning = samples.single_joint("spherical", passive=False)
    q, qd = state(spinning, rng)
    same(
        sixd.Scenario(spinning, parameters=values, dt=H).stepper()(q, qd),
        sixd.step(spinning, q, qd, H, parameters=values),
    )
    advance = sixd.Scenario(ARM).stepper()
    q, qd = state(ARM, rng)
    for arguments, message in (
        ((q[:1], qd), r"stepper: q has shape \(1,\), expected \(..., 2\)"),
        ((q, qd, np.nan), "stepper: t is nan"),
        ((q, qd, 0.0, np.zeros(3)), r"stepper: tau has shape \(3,\)"),
        ((q, qd, 0.0, "torque"), "stepper: tau"),
    ):
        with pytest.raises(sixd.SixdError, match=message):
            advance(*arguments)
    builder = sixd.ModelBuilder("massless")
    builder.add_body("a", parent="world", joint=sixd.Revolute("z"))
    massless = sixd.Scenario(builder.build())
    with pytest.raises(sixd.SingularError, match="stepper"):
        massless.stepper()
    with pytest.raises(sixd.ScalarTypeError, match="no degrees of freedom"):
        sixd.Scenario(sixd.ModelBuilder("none").build()).stepper()


@pytest.mark.skipif(not host().has_fma, reason="bits are those of CPUs with fused multiply-add")
def test_arrays_on_a_gpu(monkeypatch, rng):
    monkeypatch.setattr(compiled_steps, "_RECENT", {})
    install(monkeypatch)
    try:
        q, qd, tau = (rng.uniform(-1, 1, (3, 2)) for _ in range(3))
        advance = sixd.Scenario(ARM, controller=lambda t, q, qd: -q, dt=H).stepper()
        for forces in (None, tau):
            expected = advance(q, qd, 0.1, forces)
            for _ in range(3):
                found = advance(Array(q), Array(qd), 0.1, None if forces is None else Array(forces))
                for x, y in zip(found, expected, strict=True):
                    assert type(x) is Array
                    assert_array_equal(x.data, y)
    finally:
        driver.is_installed.cache_clear()


def test_a_stepper_outlives_its_scenario(rng):
    """It holds what it needs."""
    q, qd = state(ARM, rng)
    expected = sixd.step(ARM, q, qd, H)
    advance = sixd.Scenario(dataclasses.replace(ARM), dt=H).stepper()
    for _ in range(3):
        same(advance(q, qd), expected)
