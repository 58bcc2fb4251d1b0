"""Ways in which a simulation could silently go wrong: memories, shared arrays, functions that change, times that do not
fit.
"""

import copy
import sys

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from sixd.simulation.controller import independent_copy, may_remember
from sixd.spatial import sin

ARM = sixd.zoo.get("double_pendulum")
STARTS = np.array([[0.1, 0.2], [0.5, 0.1], [0.9, 0.0]])


class Buffer:
    """Returns the same array at every call, with other numbers in it."""

    def __init__(self):
        self.tau = np.zeros(2)

    def __call__(self, t, q, qd):
        self.tau[:] = -5 * q
        return self.tau


class Integral:
    """Stores the sum of all errors."""

    def __init__(self):
        self.sum = 0.0

    def __call__(self, t, q, qd):
        self.sum += q[0]
        return np.array([-self.sum, 0.0])


class Counter:
    """Cannot be traced, and counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, t, q, qd):
        self.calls += 1
        return np.array([-float(self.calls), 0.0]) if q[0] > -10 else np.zeros(2)


def test_a_buffer_is_copied():
    options = {"controller": Buffer(), "sample_time": 0.01}
    motion = sixd.simulate(ARM, STARTS, None, 0.1, **options)
    expected = sixd.simulate(ARM, STARTS, None, 0.1, controller=lambda t, q, qd: -5 * q, sample_time=0.01)
    assert_array_equal(motion.q, expected.q)


def closure():
    total = [0.0]

    def law(t, q, qd):
        total[0] += q[0]
        return np.array([-total[0], 0.0])

    return law


@pytest.mark.parametrize("make", [Integral, closure], ids=["object", "closure"])
def test_each_sample_has_a_memory_of_its_own(make):
    together = sixd.simulate(ARM, STARTS, None, 0.2, controller=make(), sample_time=0.02)
    for row, start in zip(together.rows, STARTS, strict=True):
        assert_array_equal(row.q, sixd.simulate(ARM, start, None, 0.2, controller=make(), sample_time=0.02).q)


def test_one_sample_uses_the_controller_itself():
    """So users can examine its memory."""
    controller = Integral()
    sixd.simulate(ARM, STARTS[0], None, 0.1, controller=controller, sample_time=0.02)
    assert controller.sum != 0


def test_each_sample_has_random_numbers_of_its_own():
    def noise(t, q, qd, rng):
        return rng.normal(size=2)

    together = sixd.simulate(ARM, STARTS, None, 0.1, controller=noise, sample_time=0.02, seed=5)
    fewer = sixd.simulate(ARM, STARTS[:2], None, 0.1, controller=noise, sample_time=0.02, seed=5)
    assert_array_equal(together.tau[:2], fewer.tau)
    assert not np.array_equal(together.tau[0], together.tau[1])
    ensemble = sixd.ensemble(ARM, STARTS, None, 0.1, controller=noise, sample_time=0.02, seed=5, processes=1)
    assert_array_equal(ensemble.tau, together.tau)


def test_what_cannot_be_copied():
    class Locked:
        def __init__(self):
            self.file = open(__file__)  # noqa: SIM115

        def __call__(self, t, q, qd):
            return np.zeros(2)

    controller = Locked()
    with pytest.raises(sixd.ScalarTypeError, match="simulate: the controller cannot be copied, expected one that can"):
        sixd.simulate(ARM, STARTS, None, 0.1, controller=controller, sample_time=0.02)
    controller.file.close()


def test_systems_are_never_copied():
    for system in (ARM, sixd.equations(ARM), sixd.zoo.double_elbow().reduce()):
        assert copy.deepcopy(system) is system
    law = sixd.controllers.GravityCompensation(ARM)
    assert independent_copy(law).model is ARM
    assert may_remember(law)
    assert not may_remember(lambda t, q, qd: q)


def test_trying_to_trace_leaves_no_trace():
    """A controller that cannot be traced is first called at the first step."""
    with pytest.warns(sixd.SimulationWarning, match="cannot be part of the compiled step"):
        motion = sixd.simulate(ARM, STARTS[0], None, 0.003, controller=Counter())
    assert_array_equal(motion.tau[:, 0], [-1, -2, -3, -3])


# objects that are not functions -----------------------------------------------------------------


def test_external_forces_must_be_functions():
    rng = np.random.default_rng(0)
    with pytest.raises(sixd.ScalarTypeError, match="simulate: f_ext, or an element of forces, gives another result"):
        sixd.simulate(ARM, STARTS[0], None, 0.05, f_ext=lambda t, q, qd: rng.normal(size=(2, 6)))


class Drag(sixd.Force):
    """Damps all joints."""

    def __init__(self, c):
        self.c = c

    def apply(self, model, t, q, qd, u):
        return sixd.Applied(tau=qd * -self.c)


def test_a_force_that_was_changed():
    """Code that was compiled for an element is not used after the element has changed."""
    drag = Drag(0.0)
    first = sixd.simulate(ARM, [1, 0.5], [1, 1], 0.1, forces=drag)
    drag.c = 5.0
    second = sixd.simulate(ARM, [1, 0.5], [1, 1], 0.1, forces=drag)
    assert_array_equal(second.q, sixd.simulate(ARM, [1, 0.5], [1, 1], 0.1, forces=Drag(5.0)).q)
    assert np.abs(second.q - first.q).max() > 1e-3


def test_arrays_of_the_caller_may_change_later():
    tau, gravity = np.ones(2), np.array([0.0, 0.0, -1.6])
    motion = sixd.simulate(ARM, STARTS[0], None, 0.01, controller=tau, parameters={"gravity": gravity})
    tau[:], gravity[:] = 9.0, 0.0
    assert_array_equal(motion.tau, np.ones((11, 2)))
    same = sixd.simulate(ARM, STARTS[0], None, 0.01, controller=np.ones(2), parameters={"gravity": [0, 0, -1.6]})
    assert_array_equal(motion.energy, same.energy)


def test_an_event_that_writes():
    def event(t, q, qd):
        q[:] = 0
        qd[:] = 0
        return 1.0

    plain = sixd.simulate(ARM, STARTS[0], None, 0.5, method="adaptive", dt=0.1)
    assert_array_equal(sixd.simulate(ARM, STARTS[0], None, 0.5, method="adaptive", dt=0.1, events=[event]).q, plain.q)


# times ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("duration", "dt", "interval"),
    [(1.0, 0.3, 0.8), (1.0, 0.25, 0.3), (1.0, 0.01, 0.0333), (0.1, 0.03, 0.7), (0.9, 0.1, 0.3)],
)
@pytest.mark.parametrize("every", [1, 3])
def test_it_ends_at_the_duration(duration, dt, interval, every):
    """A last step may be shorter; samples are at their times, and the force at each is that of its own state."""
    seen = []

    def law(t, q, qd):
        seen.append((t, q.copy()))
        return -3 * q - 0.1 * qd + 0.2 * np.sin(t)

    options = {"dt": dt, "controller": law, "sample_time": interval, "record_every": every}
    motion = sixd.simulate(ARM, STARTS[1], None, duration, **options)
    assert motion.t[-1] == duration
    assert_allclose([t for t, _ in seen], np.arange(0, duration - 1e-9, interval), atol=1e-12)
    # the same by hand, from sample to sample
    q, qd, t = STARTS[1], np.zeros(2), 0.0
    for k, (_, state) in enumerate(seen):
        assert_allclose(state, q, atol=1e-12)
        tau = -3 * q - 0.1 * qd + 0.2 * np.sin(t)
        end = min((k + 1) * interval, duration)
        steps = max(1, int(np.ceil(min(interval, duration) / dt - 1e-9)))
        h = min(interval, duration) / steps
        while end - t > 1e-9:
            length = min(h, end - t)
            q, qd = sixd.step(ARM, q, qd, length, controller=tau)
            t += length
    assert_allclose(motion.q[-1], q, atol=1e-11)
    assert_allclose(motion.qd[-1], qd, atol=1e-10)


def test_a_start_is_checked_at_its_time():
    """A velocity that a constraint prescribes in time."""
    rolling = sixd.Pfaffian(lambda q: np.array([[1, 0]]), lambda t: [0.5 + sin(3 * t)])
    model = ARM.with_constraints(rolling)
    right = [0.5 + np.sin(6.0), 0.1]
    _, qd = sixd.step(model, STARTS[0], right, 1e-3, t=2.0)
    assert_allclose(qd[0], 0.5 + np.sin(3 * 2.001), atol=1e-12)
    with pytest.raises(sixd.AssemblyError, match="step: qd does not satisfy the constraints"):
        sixd.step(model, STARTS[0], right, 1e-3)


def test_a_start_with_parameters_is_checked():
    linkage = sixd.zoo.four_bar()
    with pytest.raises(sixd.AssemblyError, match="simulate: q does not satisfy the constraints of 'four_bar'"):
        sixd.simulate(linkage, linkage.neutral() + 0.3, None, 0.01, parameters={"gravity": [0, 0, -9.81]})


@pytest.mark.parametrize("t", ["a", [0.0, 1.0], np.nan, None])
def test_an_invalid_time(t):
    with pytest.raises(sixd.ScalarTypeError, match="step: t is .*, expected a finite number"):
        sixd.step(ARM, STARTS[0], None, 1e-3, t=t)


# the rest ---------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("method", ["rk4", "midpoint", "implicit", "adaptive", "stiff"])
def test_symbols_as_parameters(method):
    symbols = sp.symbols("m1 m2 I1 I2 r1 r2 L1 g", positive=True)
    numbers = (1.0, 0.7, 0.1, 0.05, 0.5, 0.3, 1.0, 9.81)
    options = {"method": method, "dt": 0.01}
    given = {str(s): x for s, x in zip(symbols, numbers, strict=True)}
    motion = sixd.simulate(sixd.zoo.two_link_arm(*symbols), [0.4, 0.2], [0, 0.3], 0.1, parameters=given, **options)
    plain = sixd.simulate(sixd.zoo.two_link_arm(*numbers), [0.4, 0.2], [0, 0.3], 0.1, **options)
    assert_allclose(motion.q, plain.q, atol=1e-9)  # other operations in another order, and adaptive steps


def test_tolerances_above_zero():
    with pytest.raises(sixd.ScalarTypeError, match="simulate: atol is 0, expected a finite number above 0"):
        sixd.simulate(ARM, STARTS[0], None, 0.01, method="adaptive", atol=0)


def test_a_start_that_is_not_finite_is_reported():
    with pytest.warns(sixd.SimulationWarning, match="not finite from t = 0 s on: the start is not finite"):
        sixd.simulate(ARM, [np.nan, 0], None, 0.01)


def test_tables_for_batches_of_several_dimensions():
    table = np.random.default_rng(1).normal(size=(2, 3, 4, 2))
    sequence = sixd.controllers.Sequence(table, 0.01)
    motion = sixd.simulate(ARM, np.zeros((2, 3, 2)), None, 0.04, controller=sequence)
    assert_array_equal(motion.tau[..., ::10, :][..., :4, :], table)


def test_long_work_is_announced(monkeypatch):
    monkeypatch.setattr(sys.modules["sixd.engine.artifact"], "_LONG", 1e-3)
    with pytest.warns(sixd.CompileWarning, match="simulate: compiling .* operations for .* takes about"):
        sixd.simulate(sixd.zoo.planar(3), None, None, 0.002, controller=lambda t, q, qd: q * 0.123456)


@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "implicit", "adaptive"])
def test_functions_that_change_their_arguments(method):
    """A controller that works in place gives the motion of one that does not, and so do f_ext and force elements."""

    class Brake(sixd.Force):
        def apply(self, model, t, q, qd, u):
            qd *= -0.1
            return sixd.Applied(tau=qd)

    def in_place(t, q, qd):
        q -= 0.5
        qd *= 2
        return -5 * q - qd

    def push(t, q, qd):
        q *= 0
        return np.zeros((2, 6)) + q[0]

    start, options = ([1.2, 0.8], [0.3, 0.1], 0.05), {"method": method, "dt": None if method == "adaptive" else 1e-3}
    want = sixd.simulate(ARM, *start, controller=lambda t, q, qd: -5 * (q - 0.5) - 2.1 * qd, **options)
    found = sixd.simulate(ARM, *start, controller=in_place, f_ext=push, forces=Brake(), **options)
    # the sums round differently, and so adaptive steps are not the same
    assert_allclose(found.q, want.q, rtol=1e-9 if method == "adaptive" else 1e-12)
