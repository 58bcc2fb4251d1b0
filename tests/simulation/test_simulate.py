"""``sixd.simulate`` and ``sixd.step``: orders of the methods, samples and their bits, every kind of system, independent
programs.
"""

import dataclasses
import functools
import itertools
import os
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.integrate
import sympy as sp
from numpy.testing import assert_allclose, assert_array_equal

import robots
import samples
import sixd
from peers import mujoco
from sixd.spatial import cos, sin, where
from sixd.trajectory.trajectory import Trajectory

PENDULUM, DOUBLE = sixd.zoo.pendulum(), sixd.zoo.pendulum(2)


def smooth(model):
    """Without dry friction, whose discontinuities spoil every order."""
    return dataclasses.replace(model, friction=np.zeros(model.nv))


def distance(model, a, b):
    """Return how far two states are apart, on the manifold."""
    return max(np.abs(model.difference(a.q, b.q)).max(), np.abs(a.qd - b.qd).max())


# dry friction is reported; here its errors do not matter
rubbing = pytest.mark.filterwarnings("ignore:.*has dry friction:sixd.SimulationWarning")


def start(model, rng, rows=None, speed=1.0):
    if rows is None:
        return model.random_configuration(rng), rng.uniform(-speed, speed, model.nv)
    return tuple(map(np.array, zip(*(start(model, rng, speed=speed) for _ in range(rows)), strict=True)))


# orders -------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("kind", samples.KINDS)
def test_orders_on_every_joint(kind, rng):
    """Halving the step divides the error by 2 to the power of the order, with damping, springs and armature."""
    model = smooth(samples.single_joint(kind))
    q, qd = start(model, rng)
    ends = {}
    orders = {"euler": (1, 64), "midpoint": (2, 32), "implicit": (2, 32), "rk4": (4, 8)}  # and a number of steps
    assert {*orders} == {*samples.METHODS}, "every method with fixed steps has an order here"
    for method, (order, n) in orders.items():
        ends[method] = [sixd.simulate(model, q, qd, 0.4, dt=0.4 / k, method=method)[-1] for k in (n, 2 * n, 4 * n)]
        steps = [distance(model, a, b) for a, b in zip(ends[method], ends[method][1:], strict=False)]
        hint = f"order of {method!r}; on quaternions more than 2 needs several moves a step: see rk4 in runge_kutta.py"
        assert_allclose(np.log2(steps[0] / steps[1]), order, atol=0.2, err_msg=hint)
    # and all to one motion: an error of the order e is e/(2^p - 1) of the last difference
    assert distance(model, ends["midpoint"][-1], ends["rk4"][-1]) < 1e-3
    assert distance(model, ends["euler"][-1], ends["rk4"][-1]) < 1e-1


@pytest.mark.long
def test_random_tree_against_scipy(rng):
    """DOP853 on sixd.forward_dynamics with quaternions as four numbers, to the fourth order of rk4's steps."""
    model = smooth(sixd.zoo.random_tree(0))
    q, qd = start(model, rng, speed=0.5)

    def rate(t, y):
        q, qd = y[: model.nq], y[model.nq :]
        return np.concatenate(
            [model.configuration_rate(q, qd), sixd.forward_dynamics(model, q, qd, np.zeros(model.nv))]
        )

    exact = scipy.integrate.solve_ivp(rate, (0, 0.3), np.append(q, qd), method="DOP853", rtol=1e-12, atol=1e-12).y[
        :, -1
    ]
    errors = []
    for n in (50, 100):
        end = sixd.simulate(model, q, qd, 0.3, dt=0.3 / n)[-1]
        errors.append(np.abs(np.append(model.difference(exact[: model.nq], end.q), end.qd - exact[model.nq :])).max())
    assert errors[1] < 1e-4
    assert 12 < errors[0] / errors[1] < 20


@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_quaternions_stay_unit(method, rng):
    """Over 10⁴ steps, from quaternions not exactly of unit length."""
    builder = sixd.ModelBuilder("two")
    builder.add_body("a", "world", sixd.Free(), inertia=sixd.box(0.1, 0.2, 0.3, mass=1.0))
    builder.add_body("b", "a", sixd.Spherical(), inertia=sixd.sphere(0.1, mass=1.0).translated((0.2, 0, 0)))
    model = builder.build()
    q, qd = start(model, rng, 3, speed=3.0)
    q[1] *= 1.0009
    motion = sixd.simulate(model, q, qd, 20.0, dt=2e-3, method=method, record_every=50)
    for part in (slice(0, 4), slice(7, 11)):
        assert_allclose(np.linalg.norm(motion.q[..., part], axis=-1), 1, atol=1e-12)
    assert not motion.failed


def test_energy_of_rk4_falls_with_the_fifth_power(rng):
    """No force changes the energy: its change is the method's error, h⁵ a step and h⁴ in total or better."""
    model = sixd.zoo.random_tree(2, passive=False, kinds=("revolute", "universal"))
    q, qd = start(model, rng)
    errors = [np.abs(np.ptp(sixd.simulate(model, q, qd, 1.0, dt=dt).energy)) for dt in (0.02, 0.01)]
    assert errors[0] / errors[1] > 12
    assert errors[1] < 1e-3


def test_friction_and_damping_remove_energy(rng):
    model = samples.single_joint("universal")
    motion = sixd.simulate(model, *start(model, rng, speed=3.0), 1.0)
    assert (np.diff(motion.energy) <= 0).all()
    assert motion.energy[-1] < motion.energy[0] - 0.1


# independent program --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_arm_against_mujoco(name, rng):
    """The same arm and torques, Runge–Kutta steps of 1 ms for 1 s."""
    model = robots.quiet_load(robots.FIVE[name]).without_passive()
    if name == "panda":
        model = model.lock({"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0})
    head, tag, rest = sixd.to_urdf(dataclasses.replace(model, visuals=(), collisions=())).partition(">")
    extra = '<mujoco><compiler fusestatic="true" discardvisual="true" balanceinertia="false"/></mujoco>'
    start_of, robot, body = (head + tag + rest).partition("<robot ")
    opening, end, body = body.partition(">")
    theirs = mujoco.MjModel.from_xml_string(start_of + robot + opening + end + extra + body)
    theirs.opt.integrator, theirs.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-3
    theirs.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    q, qd, tau = rng.uniform(-1, 1, model.nq), rng.uniform(-1, 1, model.nv), rng.uniform(-3, 3, model.nv)
    data = mujoco.MjData(theirs)
    data.qpos, data.qvel, _, data.qfrc_applied = sixd.interop.to_mujoco(
        model, q, qd, np.zeros(model.nv), tau, mujoco_model=theirs
    )
    mujoco.mj_step(theirs, data, 1000)
    motion = sixd.simulate(model, q, qd, 1.0, controller=tau, record_every=1000)
    found_q, found_qd = sixd.interop.from_mujoco(model, data.qpos, data.qvel, mujoco_model=theirs)
    assert np.abs(motion.q[-1] - q).max() > 0.3
    assert_allclose(motion.q[-1], found_q, atol=1e-9)
    assert_allclose(motion.qd[-1], found_qd, atol=1e-9)


# bits -------------------------------------------------------------------------------------------------


@rubbing
@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_samples_do_not_depend_on_each_other(method, rng):
    """Alone, in batches of 1 … 40, on threads: the same bits."""
    model = sixd.zoo.random_tree(5, kinds=("spherical", "helical"))
    q, qd = start(model, rng, 40)
    options = {"method": method, "dt": 2e-3, "record_every": 10}
    whole = sixd.simulate(model, q, qd, 0.06, **options)
    for n in range(1, 40, 1 if method == "rk4" else 6):
        part = sixd.simulate(model, q[40 - n :], qd[40 - n :], 0.06, **options)
        assert_array_equal(part.q, whole.q[40 - n :])
        assert_array_equal(part.qd, whole.qd[40 - n :])
    alone = sixd.simulate(model, q[11], qd[11], 0.06, **options)
    assert_array_equal(alone.q, whole.q[11])
    assert_array_equal(alone.energy, whole.row(11).energy)
    grid = sixd.simulate(model, q.reshape(5, 8, -1), qd.reshape(5, 8, -1), 0.06, **options)
    assert_array_equal(grid.q, whole.q.reshape(5, 8, 4, -1))


@pytest.mark.parametrize("rows", [3, 15, 40, 130])
def test_threads_give_the_same_bits(rows):
    q = np.linspace(-2, 2, rows)[:, None]
    found = []
    try:
        for n in (1, 2, 3):
            sixd.set_num_threads(n)
            found.append(sixd.simulate(PENDULUM, q, None, 20.0, record_every=3333).q)
    finally:
        sixd.set_num_threads(None)
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("every", [1, 2, 3, 7, 100, 1000])
def test_the_number_of_records_changes_no_bit(every, monkeypatch):
    """With calls of any length."""

    def law(t, q, qd):
        return q * -2 + cos(t * 5)

    q = np.array([[0.5, 0.2], [1.0, -0.3]])
    whole = sixd.simulate(DOUBLE, q, None, 0.1, controller=law)
    monkeypatch.setattr("sixd.simulation.stepping.fixed._CALL", 1e3)
    monkeypatch.setattr("sixd.simulation.stepping.fixed._SHORTEST", 5)
    thin = sixd.simulate(DOUBLE, q, None, 0.1, controller=law, record_every=every)
    chosen = np.unique(np.append(np.arange(0, 101, every), 100))
    for name in ("t", "q", "qd", "tau"):
        x, y = getattr(thin, name), getattr(whole, name)
        assert_array_equal(x, y[chosen] if name == "t" else y[:, chosen])


@pytest.mark.long
@rubbing
def test_steps_are_those_of_a_simulation(rng):
    """Repeated calls of sixd.step end in the same bits; quaternions are normalised at each call, to rounding."""
    model = sixd.zoo.random_tree(4, kinds=("free", "revolute"))
    q, qd = start(model, rng, 3)
    tau = rng.uniform(-1, 1, (3, model.nv))
    for method in ("rk4", "euler"):
        motion = sixd.simulate(model, q, qd, 0.5, dt=0.125, method=method, controller=tau)
        x, v = motion.q[:, 0], qd
        for k in range(4):
            x, v = sixd.step(model, x, v, 0.125, t=k * 0.125, method=method, controller=tau)
            assert_allclose(x, motion.q[:, k + 1], atol=1e-13)
            assert_allclose(v, motion.qd[:, k + 1], atol=1e-13)
    one = sixd.step(model, q[0], qd[0], 0.01)
    assert one[0].shape == (model.nq,)
    assert one[1].shape == (model.nv,)
    assert sixd.step(model, q[:0], qd[:0], 0.01)[0].shape == (0, model.nq)

    def push(t, q, qd):
        return qd * sin(t) - q

    for method in ("rk4", "euler"):
        motion = sixd.simulate(DOUBLE, [1.0, 0.5], None, 0.5, dt=0.125, method=method, controller=push)
        x, v = motion.q[0], motion.qd[0]
        for k in range(4):  # times of 1/8 s are exact
            x, v = sixd.step(DOUBLE, x, v, 0.125, t=k * 0.125, method=method, controller=push)
            assert_array_equal(x, motion.q[k + 1])
            assert_array_equal(v, motion.qd[k + 1])


# what acts ----------------------------------------------------------------------------------------------


@pytest.mark.long
@rubbing
def test_samples_of_parameters_are_models_of_their_own(rng):
    """Inertia and gravity per sample give what models with those numbers give, bit for bit."""
    model = sixd.zoo.random_tree(6, kinds=("revolute", "spherical", "prismatic"))
    q, qd = start(model, rng, 3)
    inertia = np.array(
        [_parameters(sixd.zoo.random_tree(s, kinds=("revolute", "spherical", "prismatic"))) for s in (1, 2, 3)]
    )
    gravity = rng.normal(size=(3, 3))
    damping = rng.uniform(0, 1, model.nv)
    given = {"inertia": inertia, "gravity": gravity, "damping": damping}
    motion = sixd.simulate(model, q, qd, 0.05, parameters=given)
    for k in range(3):
        alone = sixd.simulate(
            model, q[k], qd[k], 0.05, parameters={"inertia": inertia[k], "gravity": gravity[k], "damping": damping}
        )
        assert_array_equal(alone.q, motion.q[k])
        assert_array_equal(alone.energy, motion.row(k).energy)
        # and the models themselves, whose zeros and ones are folded: the same sums in another order
        matrices = np.array([model.inertia[0], *(sixd.Inertia.from_parameters(x).matrix for x in inertia[k])])
        other = dataclasses.replace(model.with_gravity(gravity[k]), inertia=matrices, damping=damping)
        assert_allclose(motion.q[k], sixd.simulate(other, q[k], qd[k], 0.05).q, atol=1e-12)


def _parameters(model):
    def row(I):
        m, h, J = I[5, 5], np.array([I[2, 4], I[0, 5], I[1, 3]]), I[:3, :3]
        return [m, *h, J[0, 0], J[1, 1], J[2, 2], J[1, 2], J[0, 2], J[0, 1]]

    return np.array([row(I) for I in model.inertia[1:]])


@pytest.mark.many
@pytest.mark.parametrize("method", ["rk4", "midpoint", "implicit"])
@pytest.mark.parametrize("name", ["m", "h", "p", "t", "steps"])
def test_symbols_per_sample_whatever_their_names(name, method):
    """Also with names that the step uses itself; a symbol may be passed instead of its name."""
    symbol = sp.Symbol(name)
    builder = sixd.ModelBuilder("rod")
    inertia = sixd.Inertia(symbol, [0, 0, -1], np.diag([0.1, 0.1, 0.1]))
    builder.add_body("a", "world", sixd.Revolute("y"), inertia=inertia)
    model = builder.build()
    motion = sixd.simulate(model, [0.5], None, 0.1, parameters={symbol: [1.0, 2.0]}, method=method)
    again = sixd.simulate(model, [0.5], None, 0.1, parameters={name: [1.0, 2.0]}, method=method)
    assert_array_equal(motion.q, again.q)
    for k, value in enumerate((1.0, 2.0)):
        alone = sixd.simulate(model.substitute({symbol: value}), [0.5], None, 0.1, method=method)
        assert_allclose(motion.q[k], alone.q, atol=1e-14)
        assert_allclose(motion.energy[k], alone.energy, atol=1e-12)


def test_symbols_of_a_model_with_quaternions(rng):
    m = sp.Symbol("m", positive=True)
    builder = sixd.ModelBuilder("ball")
    builder.add_body("a", "world", sixd.Spherical(), inertia=sixd.Inertia(m, [0, 0, -1], np.diag([0.1, 0.2, 0.25])))
    model = builder.build()
    q, qd = start(model, rng)
    motion = sixd.simulate(model, 1.0005 * q, qd, 0.05, parameters={"m": [1.0, 3.0]})
    alone = sixd.simulate(model.substitute({m: 3.0}), 1.0005 * q, qd, 0.05)
    assert_allclose(motion.q[1], alone.q, atol=1e-13)


@pytest.mark.long
@rubbing
def test_external_forces_as_arrays_and_as_functions(rng):
    model = samples.single_joint("planar")
    q, qd = start(model, rng, 3)
    f_ext = rng.uniform(-1, 1, (3, model.nb, 6))
    motion = sixd.simulate(model, q, qd, 0.05, f_ext=f_ext)
    for k in range(3):
        assert_array_equal(sixd.simulate(model, q[k], qd[k], 0.05, f_ext=f_ext[k]).q, motion.q[k])
    same = sixd.simulate(model, q[0], qd[0], 0.05, f_ext=lambda t, q, qd: f_ext[0])
    assert_allclose(same.q, motion.q[0], atol=1e-13)
    h = 1e-3
    qdd = sixd.forward_dynamics(model, q, qd, np.zeros(model.nv), f_ext=f_ext)
    euler = sixd.step(model, q, qd, h, f_ext=f_ext, method="euler")
    assert_allclose(euler[1], qd + h * qdd, atol=1e-13)
    assert_allclose(euler[0], q + h * euler[1], atol=1e-14)  # with the new velocity

    def wind(t, q, qd):
        return np.array([[0, 0, 0, sin(t * 9), q[0], 0]] * model.nb) * 3

    def plain(y, t):
        a = sixd.forward_dynamics(
            model, y[: model.nq], y[model.nq :], np.zeros(model.nv), f_ext=wind(t, y[: model.nq], None)
        )
        return np.append(y[model.nq :], a)

    y = np.append(q[0], qd[0])
    for k in range(20):  # the Runge–Kutta step, for coordinates on lines
        t, h = k * 5e-3, 5e-3
        a = plain(y, t)
        b = plain(y + h / 2 * a, t + h / 2)
        c = plain(y + h / 2 * b, t + h / 2)
        y = y + h / 6 * (a + 2 * b + 2 * c + plain(y + h * c, t + h))
    end = sixd.simulate(model, q[0], qd[0], 0.1, dt=5e-3, f_ext=wind)[-1]
    assert_allclose(np.append(end.q, end.qd), y, atol=1e-11)


# controllers ----------------------------------------------------------------------------------------------


def law(t, q, qd):
    return q * -20 - qd * 2 + np.array([sin(t), 0])


class Law:
    def __call__(self, t, q, qd):
        return law(t, q, qd)

    def method(self, t, q, qd):
        return law(t, q, qd)


@pytest.mark.parametrize(
    "form", [law, Law(), Law().method, functools.partial(lambda gain, t, q, qd: gain * law(t, q, qd), 1)],
    ids=["function", "class", "method", "partial"],
)  # fmt: skip
def test_forms_of_controllers(form):
    """All are traced: one motion, and the force at the records."""
    motion = sixd.simulate(DOUBLE, [1.0, 0.5], None, 0.2, controller=form)
    assert_array_equal(motion.q, sixd.simulate(DOUBLE, [1.0, 0.5], None, 0.2, controller=law).q)
    for k in (0, 77, -1):
        assert_allclose(motion.tau[k], law(motion.t[k], motion.q[k], motion.qd[k]), atol=1e-12)
    assert abs(motion.q[-1]).max() > 1e-3


def test_constant_forces_are_recorded(rng):
    tau = rng.uniform(-1, 1, (4, 2))
    motion = sixd.simulate(DOUBLE, [0.1, 0.2], None, 0.01, controller=tau)
    assert motion.q.shape == (4, 11, 2)
    assert_array_equal(motion.tau, np.broadcast_to(tau[:, None], (4, 11, 2)))
    assert_array_equal(sixd.simulate(DOUBLE, [0.1, 0.2], None, 0.01).tau, np.zeros((11, 2)))


def test_a_sampled_controller_is_held(rng):
    """Called at every sample, with numbers, once for each motion; its force is held until the next."""
    calls = []

    def sampled(t, q, qd):
        assert isinstance(q, np.ndarray)
        assert q.dtype == float
        calls.append((t, q.copy()))
        q[:] = 0  # its own copy
        return [len(calls), 0.0] if t > 0 else np.zeros(2)

    motion = sixd.simulate(DOUBLE, [1.0, 0.5], None, 0.05, controller=sampled, sample_time=0.02, record_every=5)
    assert_allclose([t for t, _ in calls], [0, 0.02, 0.04])
    assert_allclose(motion.t, np.arange(0, 0.0501, 0.005))
    # a record at a sample has the force that begins there
    assert_array_equal(motion.tau[:, 0], [0, 0, 0, 0, 2, 2, 2, 2, 3, 3, 3])
    by_hand = motion[0]
    for n, tau in ((20, 0), (20, 2), (10, 3)):
        by_hand = sixd.simulate(DOUBLE, by_hand.q, by_hand.qd, n * 1e-3, controller=[tau, 0.0])[-1]
    assert_allclose(motion.q[-1], by_hand.q, atol=1e-14)
    assert_allclose(calls[1][1], motion.q[4], atol=0)


def test_sampling_faster_converges_to_the_traced_controller():
    exact = sixd.simulate(DOUBLE, [1.0, 0.5], None, 0.2, controller=law).q[-1]
    errors = [
        np.abs(sixd.simulate(DOUBLE, [1.0, 0.5], None, 0.2, controller=law, sample_time=ts).q[-1] - exact).max()
        for ts in (4e-3, 2e-3, 1e-3)
    ]
    assert 1.8 < errors[0] / errors[1] < 2.2
    assert 1.8 < errors[1] / errors[2] < 2.2


def test_memory_and_random_numbers(rng):
    """A controller with a memory, one instance a simulation; a generator made from the seed."""

    class Integral:
        def __init__(self):
            self.sum = 0.0

        def __call__(self, t, q, qd):
            self.sum += q[0]
            return np.array([-self.sum])

    motion = sixd.simulate(PENDULUM, [0.5], None, 0.05, controller=Integral(), sample_time=0.01)
    at_samples = motion.q[:-1:10, 0]
    assert_allclose(motion.tau[:-1:10, 0], -np.cumsum(at_samples), atol=1e-15)

    def noisy(t, q, qd, rng):
        return rng.normal(size=1)

    class Noisy:
        def __call__(self, t, q, qd, rng):
            return rng.normal(size=1)

    def run(controller, seed):
        return sixd.simulate(
            PENDULUM, [[0.5], [0.6]], None, 0.05, controller=controller, seed=seed, sample_time=0.01
        ).tau

    taus = run(noisy, 3)
    assert len(np.unique(taus)) == 10  # two rows, five samples
    for other in (Noisy(), Noisy().__call__, functools.partial(noisy)):
        assert_array_equal(run(other, 3), taus)
    assert not np.array_equal(run(noisy, 4), taus)
    assert len(np.unique(sixd.simulate(PENDULUM, [0.5], None, 0.01, controller=noisy, seed=3).tau)) == 10  # every step

    def with_a_local(t, q, qd):
        rng = 2.0
        return q * -rng

    assert np.isfinite(sixd.simulate(PENDULUM, [0.5], None, 0.01, controller=with_a_local).q).all()


def test_an_untraceable_controller_is_called_every_step():
    def stubborn(t, q, qd):
        return np.array([-5.0 if q[0] > 0 else 5.0])

    with pytest.warns(sixd.SimulationWarning, match="cannot be part of the compiled step, so it is called every step"):
        motion = sixd.simulate(PENDULUM, [0.05], None, 0.2, controller=stubborn)
    assert_array_equal(motion.tau[:-1, 0], np.where(motion.q[:-1, 0] > 0, -5.0, 5.0))
    traced = sixd.simulate(
        PENDULUM, [0.05], None, 0.2, controller=lambda t, q, qd: np.array([where(q[0] > 0, -5.0, 5.0)])
    )
    assert np.abs(motion.q - traced.q).max() < 0.01  # held over a step of 1 ms
    with pytest.warns(sixd.SimulationWarning, match="called every step"):
        q, _ = sixd.step(PENDULUM, [0.05], None, 1e-3, controller=stubborn)
    assert_array_equal(q, motion.q[1])


# systems ----------------------------------------------------------------------------------------------------


def test_equations_move_as_their_model(rng):
    """A model, its closed form, and Lagrange's equations written by hand: one motion."""
    model = sixd.zoo.pendulum(2)
    equations = sixd.equations(model)
    q, qd = rng.uniform(-1, 1, (2, 5, 2))
    motion = sixd.simulate(model, q, qd, 0.5, dt=2e-3)
    for method in ("rk4", "midpoint"):
        motion = sixd.simulate(model, q, qd, 0.5, dt=2e-3, method=method)
        other = sixd.simulate(equations, q, qd, 0.5, dt=2e-3, method=method)
        assert_allclose(other.q, motion.q, atol=1e-10)
        assert_allclose(other.energy, motion.energy, atol=1e-9)


def test_lagranges_equations_with_symbols():
    """A bead on a parabola z = a x²: another a for each sample, and the pendulum's quarter period as a check by hand."""
    t = sp.Symbol("t")
    x, a = sp.Function("x")(t), sp.Symbol("a", positive=True)
    T = (x.diff(t) ** 2 + (2 * a * x * x.diff(t)) ** 2) / 2
    system = sixd.lagrange(T, sp.Float(9.81) * a * x**2, [x], parameters=[a])
    small = 1e-4
    motion = sixd.simulate(system, [small], None, 1.0, parameters={"a": [0.5, 2.0]})
    for k, value in enumerate((0.5, 2.0)):
        # cubic terms are 1e-8 of the motion
        assert_allclose(motion.q[k, :, 0], small * np.cos(np.sqrt(2 * 9.81 * value) * motion.t), atol=1e-10)
    assert motion.energy.shape == (2, 1001)
    assert np.ptp(motion.energy, axis=1).max() < 1e-15


def test_reduced_model_and_constrained_model(rng):
    """A mimic joint, in independent coordinates and by its constraint, projected or stabilised, both to rounding."""
    model = sixd.zoo.double_elbow()
    reduced = model.reduce()
    y, yd = rng.uniform(-0.5, 0.5, (2, reduced.nv))
    q, qd = reduced.lift(y, yd)
    small = sixd.simulate(reduced, y, yd, 0.3)
    for constraints, most in (("projected", 1e-12), ("stabilised", 1e-9)):
        large = sixd.simulate(model, q, qd, 0.3, constraints=constraints)
        assert_allclose(large.q, reduced.lift(small.q), atol=1e-9)
        assert large.constraint_error.max() < most
        assert_allclose(small.energy, large.energy, atol=1e-8)
    symplectic = sixd.simulate(reduced, y, yd, 0.3, method="midpoint")
    assert_allclose(symplectic.q, small.q, atol=1e-4)


@pytest.mark.parametrize("constraints", ["projected", "stabilised"])
def test_four_bar(constraints, rng):
    """Order, errors of constraints and of energy; samples alone."""
    model = sixd.zoo.four_bar()
    q = np.array([sixd.assemble(model, [x, -0.5, 1.6], fixed=["crank"]) for x in (0.8, 1.0, 1.2)])
    options = {"constraints": constraints}
    motion = sixd.simulate(model, q, None, 1.0, **options, record_every=20)
    assert motion.constraint_error.max() < (1e-12 if constraints == "projected" else 1e-8)
    assert np.ptp(motion.energy, axis=-1).max() < 1e-7  # of 30 J, by steps of 1 ms
    alone = sixd.simulate(model, q[1], None, 1.0, **options, record_every=20)
    assert_array_equal(alone.q, motion.q[1])
    ends = [sixd.simulate(model, q[0], None, 1.0, dt=dt, **options)[-1] for dt in (0.008, 0.004, 0.002)]
    steps = [distance(model, a, b) for a, b in itertools.pairwise(ends)]
    assert steps[0] / steps[1] > 10


@pytest.mark.parametrize("method", ["rk4", "midpoint", "adaptive"])
def test_a_users_joint(method):
    """The bead on a parabola again, from its joint and from Lagrange's equations."""
    builder = sixd.ModelBuilder("bead", (0, -9.81, 0))
    builder.add_body("a", "world", samples.Parabola(), inertia=sixd.Inertia(1.0))
    t = sp.Symbol("t")
    x = sp.Function("x")(t)
    system = sixd.lagrange((x.diff(t) ** 2 * (1 + 4 * x**2)) / 2, sp.Float(9.81) * x**2, [x])
    motions = [sixd.simulate(s, [0.7], [0.1], 0.5, dt=1e-3, method=method) for s in (builder.build(), system)]
    assert_allclose(motions[0].q, motions[1].q, atol=1e-9)
    assert np.ptp(motions[0].energy) < 1e-4  # the midpoint rule's, of 5 J


@pytest.mark.long
@rubbing
def test_single_precision(rng):
    model = samples.single_joint("free")
    q, qd = (x.astype(np.float32) for x in start(model, rng, 9))
    exact = sixd.simulate(model, q.astype(float), qd.astype(float), 0.2)
    for given in (qd, None):
        motion = sixd.simulate(model, q, given, 0.2)
        assert {x.dtype for x in (motion.q, motion.qd, motion.tau)} == {np.dtype(np.float32)}
    motion = sixd.simulate(model, q, qd, 0.2, controller=lambda t, q, qd: qd * 0)
    assert motion.q.dtype == np.float32
    # 200 roundings of 6e-8 in numbers up to 10
    assert_allclose(motion.q, exact.q, atol=2e-3)
    linkage = sixd.zoo.four_bar()
    closed = np.float32(sixd.assemble(linkage, [1.0, -0.5, 1.6], fixed=["crank"]))
    assert sixd.simulate(linkage, closed, None, 0.1).constraint_error.max() < 1e-5


# records, streams, progress ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("duration", "dt", "every", "times"),
    [
        (0.0, 1e-3, 1, [0]),
        (1.0, 0.25, 1, [0, 0.25, 0.5, 0.75, 1]),
        (1.0, 0.25, 3, [0, 0.75, 1]),
        (1.0, 0.3, 1, [0, 0.25, 0.5, 0.75, 1]),  # shortened to divide the duration
        (1.0, 5.0, 1, [0, 1]),
        (0.1, 0.025, 100, [0, 0.1]),
        (0.1, 0.025, 10**18, [0, 0.1]),
        (0.1, 0.025, sys.maxsize, [0, 0.1]),
    ],
)
def test_schedule(duration, dt, every, times):
    motion = sixd.simulate(PENDULUM, [0.5], None, duration, dt=dt, record_every=every)
    assert_allclose(motion.t, times, atol=1e-15)
    assert motion.facts["dt"] <= dt
    assert motion.facts["record_every"] == every
    assert_array_equal(motion.q[0], [0.5])


@pytest.mark.parametrize("duration", [0.7, 0.9, 1.4, 2.1, 1 / 3, 3.3])
def test_the_last_record_is_at_the_duration(duration):
    """To the bit: a query for the state at the end gets it."""
    for dt in (0.1, 0.3, 0.007):
        motion = sixd.simulate(PENDULUM, [0.5], None, duration, dt=dt)
        assert motion.t[-1] == duration
        assert_array_equal(motion.at(duration)[0], motion.q[-1])
    sampled = sixd.simulate(PENDULUM, [0.5], None, 0.3, controller=lambda t, q, qd: -q, sample_time=1.0, dt=0.4)
    assert_allclose(sampled.t, [0, 0.3])


def test_pieces_equal_the_whole(monkeypatch):
    """Streamed and joined, the same; the result is the last record."""
    monkeypatch.setattr("sixd.simulation.stepping.fixed._CALL", 1e4)
    q = np.linspace(0.1, 1, 7)[:, None]
    for extra in ({}, {"controller": lambda t, q, qd: -q}, {"controller": lambda t, q, qd: -q, "sample_time": 0.01}):
        whole = sixd.simulate(PENDULUM, q, None, 0.2, **extra)
        pieces = []
        last = sixd.simulate(PENDULUM, q, None, 0.2, **extra, on_chunk=pieces.append)
        assert len(pieces) > 3
        joined = Trajectory.concatenate(pieces)
        for name in ("t", "q", "qd", "tau"):
            assert_array_equal(getattr(joined, name), getattr(whole, name))
        assert len(last) == 1
        assert last.t[0] == 0.2
        assert_array_equal(last.q[:, 0], whole.q[:, -1])


def test_progress_rises_to_one(monkeypatch):
    monkeypatch.setattr("sixd.simulation.stepping.fixed._CALL", 1e4)
    for options in ({}, {"controller": lambda t, q, qd: -q, "sample_time": 0.01}, {"method": "adaptive"}):
        seen = []
        sixd.simulate(PENDULUM, [0.5], None, 0.7, progress=seen.append, **options)
        assert len(seen) > 3
        assert (np.diff(seen) >= 0).all()
        assert seen[0] > 0
        assert seen[-1] == pytest.approx(1.0, abs=1e-12)


def test_no_bar_without_a_terminal(capsys):
    sixd.simulate(PENDULUM, [0.5], None, 0.1, progress=False)
    sixd.simulate(PENDULUM, [0.5], None, 0.1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("channel", ["progress", "on_chunk"])
@pytest.mark.parametrize("after", [1, 4])
def test_interruption_keeps_what_was_computed(channel, after, monkeypatch):
    monkeypatch.setattr("sixd.simulation.stepping.fixed._CALL", 1e4)
    calls = []

    def stop(x):
        calls.append(x)
        if len(calls) == after:
            raise KeyboardInterrupt

    whole = sixd.simulate(PENDULUM, [0.5], None, 1.0)
    with pytest.warns(sixd.SimulationWarning, match="interrupted at t = .* s; what was computed is kept"):
        part = sixd.simulate(PENDULUM, [0.5], None, 1.0, **{channel: stop})
    assert part.interrupted
    assert not whole.interrupted
    assert 0 < part.t[-1] < 1.0
    if channel == "progress":
        assert_array_equal(part.q, whole.q[: len(part)])
        assert part.t[-1] == pytest.approx(calls[-1])
    else:
        assert_array_equal(part.q[-1], calls[-1].q[-1])


def test_errors_of_users_functions_pass():
    class Mine(Exception):
        pass

    def fails(t, q, qd):
        raise Mine("at work")

    def fails_later(t, q, qd):
        if t > 0.005:
            raise Mine("later")
        return -q

    for options in (
        {"controller": fails}, {"controller": fails_later, "sample_time": 1e-3}, {"f_ext": fails},
        {"progress": lambda x: fails(0, 0, 0)}, {"on_chunk": lambda x: fails(0, 0, 0)},
    ):  # fmt: skip
        with pytest.raises(Mine):
            sixd.simulate(PENDULUM, [0.5], None, 0.01, **options)


def test_memory_stays_flat():
    """Half a million steps thinned, or streamed: only the list of steps to record is allocated."""
    sixd.simulate(PENDULUM, [0.5], None, 0.1)
    tracemalloc.start()
    try:
        sixd.simulate(PENDULUM, [0.5], None, 500.0, record_every=50_000)
        thinned = tracemalloc.get_traced_memory()[1]
        sixd.simulate(PENDULUM, [0.5], None, 500.0, record_every=5, on_chunk=lambda piece: None)
        streamed = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert thinned < 1e6
    assert streamed < 8e5 * 5 + 1e6  # 1e5 whole numbers, sorted; states would be 4e6 more


def test_many_records(rng):
    """Longer than any piece: 20,000 records of three samples."""
    motion = sixd.simulate(PENDULUM, [[0.1], [0.2], [0.3]], None, 20.0)
    assert motion.q.shape == (3, 20001, 1)
    assert_allclose(np.diff(motion.t), 1e-3, atol=1e-12)
    again = sixd.simulate(PENDULUM, [0.2], None, 20.0, record_every=9999)
    assert_array_equal(again.q, motion.q[1, [0, 9999, 19998, 20000]])


# samples that fail -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "implicit", "adaptive", "stiff"])
def test_invalid_samples_affect_no_other(method, rng):
    """NaN and infinity in states: these samples are NaN, reported and counted, the others are unchanged."""
    q = np.linspace(0.1, 1, 11)[:, None]
    qd = np.zeros((11, 1))
    good = sixd.simulate(PENDULUM, q, qd, 0.02, method=method, dt=1e-3)
    q[3], q[9], qd[5] = np.nan, np.inf, -np.inf
    with pytest.warns(sixd.SimulationWarning, match=r"simulate: 3 of 11 rollouts are not finite from t = 0 s on"):
        motion = sixd.simulate(PENDULUM, q, qd, 0.02, method=method, dt=1e-3)
    assert motion.failed == 3
    bad = np.isin(np.arange(11), [3, 5, 9])
    assert_array_equal(motion.q[~bad], good.q[~bad])
    assert not (np.isfinite(motion.q[bad, 1:]) & np.isfinite(motion.qd[bad, 1:])).any()


@pytest.mark.parametrize("method", ["rk4", "midpoint", "implicit", "adaptive", "stiff"])
def test_no_mass_and_no_number(method):
    """A joint that moves no mass is named; a controller that gives NaN is reported; no hanging, no traceback."""
    builder = sixd.ModelBuilder("massless")
    builder.add_body("a", "world", sixd.Revolute("y"), inertia=sixd.Inertia(0.0))
    with pytest.raises(
        sixd.SingularError, match=r"simulate: the mass matrix of 'massless' is singular: joints \['a'\]"
    ):
        sixd.simulate(builder.build(), [0.5], [0.1], 0.01, method=method)
    with pytest.warns(sixd.SimulationWarning, match="the motion is not finite from t = "):
        motion = sixd.simulate(PENDULUM, [0.5], [0.1], 0.01, method=method, controller=lambda t, q, qd: q * np.nan)
    assert motion.failed == 1
    assert np.isnan(motion.q[-1]).all()


def test_a_motion_that_explodes_is_reported():
    """With the first record at which it did."""
    with pytest.warns(
        sixd.SimulationWarning, match=r"not finite from t = \S+ s on, joint 'rod1' first, beyond .*: a step"
    ):
        motion = sixd.simulate(PENDULUM, [0.5], None, 30.0, dt=0.1, controller=lambda t, q, qd: qd * qd * qd)
    first = int(np.argmax(~np.isfinite(motion.q[:, 0])))
    assert first > 1
    assert np.isfinite(motion.q[:first]).all()


@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "implicit", "adaptive", "stiff"])
def test_no_samples_at_all(method):
    motion = sixd.simulate(PENDULUM, np.zeros((0, 1)), None, 0.01, method=method, dt=1e-3)
    assert motion.q.shape == (0, 11, 1)
    assert motion.failed == 0
    assert motion.energy.shape == (0, 11)


def test_no_samples_of_a_linkage():
    assert sixd.simulate(sixd.zoo.four_bar(), np.zeros((0, 3)), None, 0.01).q.shape == (0, 11, 3)


def test_starts():
    """None is neutral, or rest; "random" is drawn from the seed."""
    model = sixd.zoo.ur_arm()
    motion = sixd.simulate(model, None, None, 0.0)
    assert_array_equal(motion.q[0], model.neutral())
    assert not motion.qd.any()
    one, same, other = (sixd.simulate(model, "random", None, 0.0, seed=s).q for s in (1, 1, 2))
    assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.long
def test_kernels_come_from_the_disk(tmp_path):
    """A second process loads the first one's code, and computes the same bits."""
    import subprocess
    import sys

    code = (
        "import sixd; m = sixd.simulate(sixd.zoo.pendulum(2), [1.0, 0.5], None, 0.1);"
        "print(m.q[-1].tobytes().hex(), 'llvmlite' in __import__('sys').modules)"
    )
    env = {**os.environ, "SIXD_CACHE_DIR": str(tmp_path)}
    runs = [subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True) for _ in range(2)]
    (first, cold), (second, warm) = (run.stdout.split() for run in runs)
    assert first == second
    assert (cold, warm) == ("True", "False")


@pytest.mark.long
def test_a_million_pendulums():
    """Each sample is what it is alone, to the last bit; none depends on its place in the batch."""
    pendulum = sixd.zoo.pendulum()
    angles = np.linspace(-3, 3, 10**6)[:, None]
    motion = sixd.simulate(pendulum, angles, None, 10.0, dt=0.01, record_every=1000)
    assert motion.failed == 0
    for k in (0, 1, 123_457, 999_999):
        alone = sixd.simulate(pendulum, angles[k], None, 10.0, dt=0.01, record_every=1000)
        assert np.array_equal(alone.q, motion.q[k])
    assert_allclose(motion.q[:, -1], -motion.q[::-1, -1], rtol=0, atol=1e-9)  # left and right


def test_named_starts():
    """A configuration of the model by its name, in simulations and ensembles; the error lists the existing ones."""
    builder = sixd.ModelBuilder.from_model(sixd.zoo.ur_arm())
    builder.add_configuration("home", {"joint2": -1.0})
    model = builder.build()
    expected = model.configuration("home")
    np.testing.assert_array_equal(sixd.simulate(model, "home", None, 0.002).q[0], expected)
    np.testing.assert_array_equal(sixd.ensemble(model, "home", None, 0.002, count=2).q[:, 0], [expected, expected])
    for run in (sixd.simulate, sixd.ensemble):
        with pytest.raises(sixd.UnknownNameError, match="q: no configuration named 'hone'. Did you mean 'home'?"):
            run(model, "hone", None, 0.002)


def test_arguments_of_a_controller_in_another_order():
    """The names t, q and qd in another order are an error: such a controller would run with wrong values."""
    arm = sixd.zoo.ur_arm()
    with pytest.raises(
        sixd.ScalarTypeError, match=r"controller takes \(q, qd, t\), expected \(t, q, qd\), in this order"
    ):
        sixd.simulate(arm, None, None, 0.1, controller=lambda q, qd, t: -9 * q - 6 * qd)
