"""Gradients of motions: the adjoint against the tangent (an independent method), against differences, and its limits."""

import dataclasses
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from robots import FIVE, quiet_load
from samples import METHODS
from sixd.errors import ScalarTypeError, ShapeError, TraceError, UnknownNameError
from sixd.simulation.gradients import rollout_gradient as module
from sixd.simulation.gradients.adjoint_steps import traced_cost
from sixd.simulation.setup import make_setup
from sixd.spatial import sin, sqrt, where
from tangents import pushed_cost

FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")


def cost(t, q, qd, tau):
    return q @ q + 0.1 * (qd @ qd) + 0.01 * (tau @ tau) + 0.1 * t * q[0]


def final(q, qd):
    return qd @ qd + q @ q


def directions(model, controls, seed=5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=model.nv), rng.normal(size=model.nv), rng.normal(size=controls.shape)


def derivative(found, dq, dqd, dtau):
    return found.q @ dq + found.qd @ dqd + (found.controls * dtau).sum()


def difference(model, q, qd, controls, along, e, **options):
    """The central difference of the cost along a direction."""
    dq, dqd, dtau = along

    def at(k):
        start = model.integrate(q, k * dq), qd + k * dqd, controls + k * dtau
        return sixd.rollout_gradient(model, *start, cost=cost, final=final, **options).cost

    return (at(e) - at(-e)) / (2 * e)


def pushed(model, q, qd, controls, along, found, *, method="rk4", dt=1e-3, forces=()):
    """Return the derivative of the cost along a direction, forward."""
    dq, dqd, dtau = along
    setup = make_setup("test", sixd.Scenario(model, controller=controls[0], forces=forces), q, qd)
    shapes = {"t": (), "q": (model.nq,), "qd": (model.nv,), "tau": (model.nv,)}
    program = traced_cost("test", "cost", cost, shapes, "float64")
    rates = {"q": np.asarray(model.configuration_rate(q, dq), dtype=float), "qd": dqd, "tau": dtau}
    by_q, by_qd, by_cost = pushed_cost(setup, method, program, dt, controls, rates)
    return by_cost + 2 * found.last_qd @ by_qd + 2 * found.last_q @ by_q


# motions of 1,000 steps ---------------------------------------------------------------------------


def anymal():
    """A quadruped with springs in its legs, standing on compliant ground."""
    model = quiet_load(FIVE["anymal"], floating_base=True)
    q = model.neutral()
    for name in model.joint_names:
        if name.endswith(("HFE", "KFE")):
            bend = 0.6 if name.endswith("HFE") else -1.2
            q[model.q_slice(name)] = bend if name.startswith(("LF", "RF")) else -bend
    legs = np.arange(model.nv) > 5
    model = dataclasses.replace(
        model, stiffness=400.0 * legs, damping=10.0 * legs, rest=q.copy(), friction=np.zeros(model.nv)
    )
    q[6] -= min(sixd.pose(model, q, foot)[2, 3] for foot in FEET)
    ground = sixd.Ground({foot: [0, 0, 0] for foot in FEET})
    stands = sixd.simulate(model, q, None, 1.0, forces=ground, method="implicit")
    return model, stands.q[-1], stands.qd[-1], 0.5 * legs, ground


def motion(name):
    """A system, its start, the sizes of random forces, and force elements."""
    rng = np.random.default_rng(0)
    if name == "quadruped on ground":
        return anymal()
    if name == "pendulum":
        return sixd.zoo.pendulum(), np.array([0.5]), np.array([0.3]), np.ones(1), ()
    if name == "acrobot":
        return sixd.zoo.planar(2), np.array([0.3, 0.2]), np.array([0.1, 0.2]), np.array([0.0, 1.0]), ()
    if name == "ur5":
        model, size = quiet_load(FIVE["ur5"]), 1.0
    else:  # dry friction
        model, size = dataclasses.replace(sixd.zoo.panda_arm(), friction=np.full(7, 0.5)), 5.0
    return model, model.random_configuration(rng), rng.normal(size=model.nv), np.full(model.nv, size), ()


LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("quadruped on ground", "panda with friction")]


@pytest.mark.long
@pytest.mark.parametrize("name", ["pendulum", "ur5", "acrobot", *LONG])
def test_a_thousand_steps(name):
    """The adjoint is the transpose of the tangent to 1e-11, and agrees with differences.

    It agrees to 1e-6 in smooth motions (and between changes of friction), to 1e-4 in contact, where the steps of a
    difference cross stiff springs.
    """
    model, q, qd, sizes, forces = motion(name)
    controls = np.random.default_rng(2).normal(size=(1000, model.nv)) * sizes  # no joint comes to rest near this motion
    along = directions(model, controls)
    found = sixd.rollout_gradient(model, q, qd, controls, dt=1e-3, cost=cost, final=final, forces=forces)
    backward = derivative(found, *along)
    assert abs(pushed(model, q, qd, controls, along, found, forces=forces) / backward - 1) < 1e-11
    there = difference(model, q, qd, controls, along, 1e-6, dt=1e-3, forces=forces)
    assert abs(there / backward - 1) < (1e-4 if forces else 1e-6)


# methods and systems ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(("falling_sphere", method) for method in METHODS if method != "midpoint"),
        *(("spinning_top", method) for method in METHODS),
        pytest.param("falling_sphere", "midpoint", marks=pytest.mark.long),
        pytest.param("ur_arm", "midpoint", marks=pytest.mark.long),
        pytest.param("humanoid", "euler", marks=pytest.mark.long),
    ],
)
def test_methods(name, method):
    model = getattr(sixd.zoo, name)()
    rng = np.random.default_rng(2)
    q, qd, controls = model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=(20, model.nv))
    along = directions(model, controls)
    found = sixd.rollout_gradient(model, q, qd, controls, dt=1e-3, cost=cost, final=final, method=method)
    backward = derivative(found, *along)
    forward = pushed(model, q, qd, controls, along, found, method=method)
    assert abs(forward / backward - 1) < 1e-11
    there = difference(model, q, qd, controls, along, 1e-5, dt=1e-3, method=method)
    assert abs(there / backward - 1) < 1e-6  # of differences
    same = sixd.simulate(model, q, qd, 1e-3, dt=1e-3, method=method, controller=controls[0])
    one = sixd.rollout_gradient(model, q, qd, controls[:1], dt=1e-3, final=final, method=method)
    # the midpoint rule passes momenta from step to step; here they are computed from velocities
    assert_allclose(one.last_q, same.q[-1], rtol=0, atol=1e-13)
    assert_allclose(one.last_qd, same.qd[-1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", ["rk4", "implicit"])
def test_closed_loops(method):
    model = sixd.zoo.four_bar()
    q = sixd.assemble(model, [1.0, -0.3, 1.5])
    rng = np.random.default_rng(2)
    controls, dtau = rng.normal(size=(2, 50, 3))
    found = sixd.rollout_gradient(model, q, None, controls, cost=cost, final=final, method=method)
    along = np.zeros(3), np.zeros(3), dtau
    there = difference(model, q, np.zeros(3), controls, along, 1e-4, method=method)
    assert abs(there / derivative(found, *along) - 1) < 1e-6  # of differences


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_parameters(method):
    """Gradients with respect to inertias, gravity, damping and friction."""
    model = sixd.zoo.planar(2)
    rng = np.random.default_rng(3)
    q, qd, controls = rng.normal(size=2), rng.normal(size=2), rng.normal(size=(30, 2))
    given = {
        "inertia": np.array([sixd.Inertia.from_matrix(x).parameters for x in model.inertia[1:]]),
        "gravity": np.array([0.1, 0.2, -9.0]),
        "damping": np.array([0.3, 0.2]),
        "friction": np.array([0.1, 0.05]),
    }
    along = {name: rng.normal(size=x.shape) * 0.1 for name, x in given.items()}

    def at(k):
        moved = {name: x + k * along[name] for name, x in given.items()}
        return sixd.rollout_gradient(model, q, qd, controls, cost=cost, final=final, method=method, parameters=moved)

    found = at(0.0).parameters
    there = (at(1e-5).cost - at(-1e-5).cost) / 2e-5
    back = sum((found[name] * along[name]).sum() for name in given)
    assert abs(there / back - 1) < 1e-6  # of differences
    assert {name: x.shape for name, x in found.items()} == {name: x.shape for name, x in given.items()}


def test_a_symbol_as_parameter():
    import sympy

    m = sympy.Symbol("m", positive=True)
    model = sixd.zoo.pendulum(1, 1.0, m)
    controls = np.full((50, 1), 0.3)

    def at(mass):
        return sixd.rollout_gradient(model, [0.5], [0.0], controls, cost=cost, parameters={"m": mass})

    there = (at(2.0 + 1e-5).cost - at(2.0 - 1e-5).cost) / 2e-5
    assert abs(at(2.0).parameters["m"] - there) < 1e-6 * abs(there)  # of differences


@dataclasses.dataclass(frozen=True)
class Wind(sixd.Force):
    """A user's own element with a state."""

    strength: float

    def size(self, model):
        return 1

    def apply(self, model, t, q, qd, u):
        return sixd.Applied(tau=self.strength * (u[0] - qd), rate=np.array([sin(q[0]) - u[0]]))


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_users_forces(method):
    model = sixd.zoo.planar(2)
    rng = np.random.default_rng(4)
    q, qd, controls = rng.normal(size=2), rng.normal(size=2), rng.normal(size=(30, 2))
    along, options = directions(model, controls), {"method": method, "forces": (Wind(0.7), sixd.JointLimits())}
    found = sixd.rollout_gradient(model, q, qd, controls, cost=cost, final=final, **options)
    there = difference(model, q, qd, controls, along, 1e-5, **options)
    assert abs(there / derivative(found, *along) - 1) < 1e-6  # of differences


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_dry_friction(method):
    """Joints that stick keep their velocity of zero: forces below their friction change nothing.

    At rest, derivatives with respect to velocities are one-sided: differences are computed along those of joints that
    slide.
    """
    model = dataclasses.replace(sixd.zoo.planar(4), friction=np.array([30, 0.1, 30, 0.1]), gravity=np.zeros(3))
    rng = np.random.default_rng(0)
    q, qd = model.random_configuration(rng), np.array([0, 1.0, 0, -1.0])
    controls, moving = rng.normal(size=(30, 4)), qd != 0
    found = sixd.rollout_gradient(model, q, qd, controls, dt=1e-3, final=lambda q, qd: qd[0] + q[2], method=method)
    assert_array_equal(found.controls, 0)
    dq, dqd, dtau = directions(model, controls)
    along = dq, dqd * moving, dtau
    found = sixd.rollout_gradient(model, q, qd, controls, cost=cost, final=final, method=method)
    there = difference(model, q, qd, controls, along, 1e-6, method=method)
    assert abs(there / derivative(found, *along) - 1) < 1e-6  # of differences
    assert found.facts["unsolved"] == 0


# samples --------------------------------------------------------------------------------------------


def rows_of(model, shape, steps, seed=0):
    rng = np.random.default_rng(seed)
    q = np.array([model.random_configuration(rng) for _ in range(int(np.prod(shape)))]).reshape((*shape, model.nq))
    return q, rng.normal(size=(*shape, model.nv)), rng.normal(size=(*shape, steps, model.nv))


def test_samples_do_not_depend_on_others(monkeypatch):
    """A sample's bits are the same alone, in a batch, in small pieces and blocks, and on several threads."""
    model = sixd.zoo.falling_sphere()
    q, qd, controls = rows_of(model, (3, 7), 40)
    found = sixd.rollout_gradient(model, q, qd, controls, cost=cost, final=final)
    assert found.cost.shape == (3, 7)
    assert found.q.shape == found.qd.shape == (3, 7, 6)
    assert found.controls.shape == (3, 7, 40, 6)
    assert found.last_q.shape == (3, 7, 7)
    alone = sixd.rollout_gradient(model, q[1, 2], qd[1, 2], controls[1, 2], cost=cost, final=final)
    monkeypatch.setattr(module, "CACHED", 1.0)
    monkeypatch.setattr(module, "MEMORY", 1.0)
    pieces = sixd.rollout_gradient(model, q, qd, controls, cost=cost, final=final)
    assert pieces.facts["memory"] < found.facts["memory"]
    before = sixd.get_num_threads()
    sixd.set_num_threads(2)
    try:
        spread = sixd.rollout_gradient(model, q, qd, controls, cost=cost, final=final)
    finally:
        sixd.set_num_threads(before)
    for name in ("cost", "q", "qd", "controls", "last_q", "last_qd"):
        whole = getattr(found, name)
        assert_array_equal(whole[1, 2], getattr(alone, name))
        assert_array_equal(whole, getattr(pieces, name))
        assert_array_equal(whole, getattr(spread, name))


def test_many_samples_in_bounded_memory():
    model = sixd.zoo.planar(2)
    q, qd, controls = rows_of(model, (4096,), 100)
    found = sixd.rollout_gradient(model, q, qd, controls, cost=cost, final=final)
    assert found.facts["memory"] <= 64
    assert np.isfinite(found.controls).all()


def test_shared_controls_and_starts():
    """One array for all samples: gradients are those of each sample."""
    model = sixd.zoo.planar(2)
    q, qd, controls = rows_of(model, (4,), 10)
    shared = sixd.rollout_gradient(model, q, qd, controls[0], cost=cost)
    assert shared.controls.shape == (4, 10, 2)
    each = sixd.rollout_gradient(model, q, qd, np.broadcast_to(controls[0], controls.shape), cost=cost)
    assert_array_equal(shared.controls, each.controls)
    one = sixd.rollout_gradient(model, q[0], qd[0], controls, cost=cost)
    assert one.q.shape == (4, 2)


def test_float32():
    model = sixd.zoo.planar(2)
    q, qd, controls = (x.astype(np.float32) for x in rows_of(model, (5,), 20))
    coarse = sixd.rollout_gradient(model, q, qd, controls, cost=cost, final=final)
    fine = sixd.rollout_gradient(model, *(x.astype(float) for x in (q, qd, controls)), cost=cost, final=final)
    assert coarse.controls.dtype == np.float32
    assert_allclose(coarse.controls, fine.controls, rtol=0, atol=1e-4 * np.abs(fine.controls).max())  # of float32


def test_nan_stays_in_its_sample():
    model = sixd.zoo.planar(2)
    q, qd, controls = rows_of(model, (20,), 10)
    wanted = sixd.rollout_gradient(model, q, qd, controls, cost=cost)
    q[3, 0] = np.nan
    found = sixd.rollout_gradient(model, q, qd, controls, cost=cost)
    others = np.arange(20) != 3
    assert np.isnan(found.controls[3]).any()
    assert_array_equal(found.controls[others], wanted.controls[others])


def test_no_steps_no_samples():
    model = sixd.zoo.planar(2)
    found = sixd.rollout_gradient(model, [0.3, 0.4], [1.0, 2.0], np.zeros((0, 2)), cost=cost, final=final)
    assert_allclose(found.cost, 0.25 + 5)
    assert_allclose(found.q, [0.6, 0.8])
    empty = sixd.rollout_gradient(model, np.zeros((0, 2)), np.zeros((0, 2)), np.zeros((5, 2)), cost=cost)
    assert empty.controls.shape == (0, 5, 2)


# functions ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_costs_of_library_functions():
    """A cost may call the library: the distance of a frame from a point."""
    model = sixd.zoo.ur_arm()
    target = np.array([0.3, 0.2, 0.5])

    def miss(q, qd):
        d = sixd.pose(model, q, "link6")[:3, 3] - target
        return d @ d

    q, qd, controls = np.full(6, 0.3), np.zeros(6), np.zeros((20, 6))
    found = sixd.rollout_gradient(model, q, qd, controls, final=miss)
    d = sixd.pose(model, found.last_q, "link6")[:3, 3] - target
    assert_allclose(found.cost, d @ d, rtol=1e-13)
    e = np.eye(6)[1] * 1e-6
    ends = [sixd.rollout_gradient(model, q + s * e, qd, controls, final=miss).cost for s in (1, -1)]
    assert abs((ends[0] - ends[1]) / 2e-6 - found.q[1]) < 1e-8  # of differences


def test_a_function_that_has_changed_is_read_again():
    model = sixd.zoo.pendulum()
    weight = [1.0]

    def weighed(t, q, qd, tau):
        return weight[0] * q[0]

    first = sixd.rollout_gradient(model, [0.5], [0.0], np.zeros((5, 1)), cost=weighed)
    weight[0] = 3.0
    second = sixd.rollout_gradient(model, [0.5], [0.0], np.zeros((5, 1)), cost=weighed)
    assert_allclose(second.controls, 3 * first.controls, rtol=1e-13)


def test_no_nan_from_branches_that_are_not_selected():
    """The derivative of √x at 0, which is not finite, is in a branch that is not selected."""
    model = sixd.zoo.pendulum()

    def guarded(t, q, qd, tau):
        far = q[0] > 10
        return where(far, sqrt(where(far, 1, 0) * tau[0]) / tau[0], 2 * q[0])

    found = sixd.rollout_gradient(model, [0.5], [0.0], np.zeros((5, 1)), cost=guarded)
    assert np.isfinite(found.controls).all()
    assert np.isfinite(found.q).all()


def test_a_motion_that_fails_has_nan():
    model = sixd.zoo.planar(2)
    start = [[0.5, 0.3]] * 2, [[0.0, 0.0], [1e200, 0.0]]
    with pytest.warns(sixd.SimulationWarning, match="1 of 2 motions"):
        found = sixd.rollout_gradient(model, *start, np.zeros((5, 2)), final=lambda q, qd: qd[0])
    assert np.isfinite(found.q[0]).all()
    assert np.isnan(found.qd[1]).all()


@pytest.mark.parametrize("method", METHODS)
def test_points_above_the_ground(method):
    """A ball that falls next to one that touches the ground: the derivative at a depth of zero is zero."""
    builder = sixd.ModelBuilder("ball")
    builder.add_body("ball", "world", sixd.Prismatic("z"), inertia=sixd.sphere(0.1, mass=1.0))
    ball, ground = builder.build(), sixd.Ground({"ball": (0, 0, 0, 0.1)})
    start = [[0.099], [0.2]]
    found = sixd.rollout_gradient(ball, start, None, np.zeros((3, 1)), final=lambda q, qd: q[0], forces=ground, method=method)  # fmt: skip
    assert np.isfinite(found.q).all()
    assert_allclose(found.q[1], 1, rtol=1e-13)
    assert_allclose(found.qd[1], 3e-3, rtol=1e-13)


# arguments ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"controls": np.zeros(2)}, ShapeError, r"controls has shape \(2,\), expected .*steps, 2.*controls\[None\]"),
        ({"controls": np.zeros((5, 3))}, ShapeError, "expected .*steps, 2"),
        ({"controls": [["a", "b"]]}, ScalarTypeError, "controls hold"),
        ({"controls": np.full((5, 2), np.nan)}, ScalarTypeError, "NaN or infinity"),
        ({"controls": None}, ScalarTypeError, "controls hold"),
        ({"cost": None}, ScalarTypeError, "cost and final are both missing"),
        ({"cost": 3.0}, ScalarTypeError, "cost is 3.0, expected a function"),
        ({"cost": lambda t, q: 0}, TraceError, r"cost\(t, q, qd, tau\)"),
        ({"cost": lambda t, q, qd, tau: q}, TraceError, r"array of shape \(2,\), expected one number"),
        ({"cost": lambda t, q, qd, tau: None}, TraceError, "expected one number"),
        ({"cost": lambda t, q, qd, tau: math.sin(q[0])}, TraceError, "sixd.spatial"),
        ({"cost": lambda t, q, qd, tau: q[0] if q[0] > 0 else -q[0]}, TraceError, "cost"),
        ({"method": "adaptive"}, UnknownNameError, "method"),
        ({"dt": 0.0}, ScalarTypeError, "dt"),
        ({"q": np.zeros(3)}, ShapeError, "q has shape"),
        ({"parameters": {"mas": 1.0}}, UnknownNameError, "mas"),
    ],
)
def test_errors_say_what_was_wrong(change, error, words):
    given = {"q": [0.1, 0.2], "qd": None, "controls": np.zeros((5, 2)), "cost": cost} | change
    q, qd, controls = (given.pop(name) for name in ("q", "qd", "controls"))
    with pytest.raises(error, match=words):
        sixd.rollout_gradient(sixd.zoo.planar(2), q, qd, controls, **given)


def test_progress():
    seen = []
    sixd.rollout_gradient(sixd.zoo.pendulum(), [0.5], [0.0], np.zeros((5, 1)), cost=cost, progress=seen.append)
    assert seen == [1.0]
