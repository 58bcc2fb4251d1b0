"""Simulations, steps and gradients of rollouts with arrays on a GPU, by a driver that runs the code on the CPU."""

import dataclasses

import numpy as np
import pytest
import sympy

import sixd
from fake_gpu import Array, install
from sixd.codegen.llvm.machine import host
from sixd.errors import DeviceError, ScalarTypeError, ShapeError, SingularError
from sixd.runtime.cuda import driver
from sixd.simulation.gradients import rollout_gradient
from sixd.simulation.stepping import compiled_steps
from sixd.zoo.random_trees import JOINT_KINDS

fused = pytest.mark.skipif(not host().has_fma, reason="bits are those of CPUs with fused multiply-add")
ROWS = 5


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(compiled_steps, "_RECENT", {})
    yield install(monkeypatch)
    driver.is_installed.cache_clear()


def start(model, rng, n=ROWS, dtype="float64"):
    return model.random_configuration(rng, size=n).astype(dtype), rng.uniform(-1, 1, (n, model.nv)).astype(dtype)


def there(x):
    """Return arrays, also in a dictionary, on the GPU."""
    if isinstance(x, dict):
        return {name: there(y) for name, y in x.items()}
    return Array(x) if isinstance(x, np.ndarray) else x


def assert_same(found, true):
    assert type(found) is Array
    assert found.dtype == true.dtype
    assert np.array_equal(found.data, true, equal_nan=True)


def assert_same_motion(found, true):
    """Check that the records are equal, bit for bit."""
    assert np.array_equal(found.t, true.t)
    for name in ("q", "qd", "tau", "friction", "internal"):
        if getattr(true, name) is None:
            assert getattr(found, name) is None
        else:
            assert_same(getattr(found, name), getattr(true, name))
    assert {name: x.data.tolist() for name, x in found.parameters.items()} == {
        name: x.tolist() for name, x in true.parameters.items()
    }


def both(model, q, qd, duration, **options):
    """Return the motions of the GPU and of the CPU."""
    on_gpu = {name: there(x) for name, x in options.items()}
    return sixd.simulate(model, there(q), there(qd), duration, **on_gpu), sixd.simulate(
        model, q, qd, duration, **options
    )


# simulate ---------------------------------------------------------------------------------------------------


@pytest.mark.many
@fused
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "implicit"])
def test_methods(gpu, rng, method, dtype):
    """A tree on a free joint: quaternions that are not exactly of unit length at the start; records, and one launch."""
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute"), passive=False)
    q, qd = start(model, rng, dtype=dtype)
    found, true = both(model, q * np.float32(1.0005), qd, 0.0125, dt=1e-3, method=method, record_every=3)
    assert_same_motion(found, true)
    assert len(found) == 6
    assert found.batch == (ROWS,)


@fused
def test_one_launch(gpu, rng):
    arm = sixd.zoo.planar(2)
    q, qd = start(arm, rng)
    sixd.simulate(arm, there(q), there(qd), 0.1, dt=1e-3, record_every=10)
    assert len(gpu.launches) == 1


@fused
def test_forces(gpu, rng):
    """Constant forces of all samples and of each, constant f_ext, a controller and f_ext as functions."""
    arm = sixd.zoo.planar(2)
    q, qd = start(arm, rng)
    tau, f_ext = rng.uniform(-1, 1, (ROWS, 2)), rng.uniform(-1, 1, (2, 6))
    law = sixd.controllers.PD([0.5, 0.1], kp=10.0, kd=1.0, model=arm)

    def own(t, q, qd):
        return -3 * q - qd * sixd.spatial.cos(t)

    for controller, force in ((tau, None), (tau[0], f_ext), (own, f_ext), (law, None), (own, lambda t, q, qd: f_ext)):
        found, true = both(arm, q, qd, 0.01, controller=controller, f_ext=force)
        assert_same_motion(found, true)


@pytest.mark.long
@fused
def test_parameters(gpu, rng):
    """Masses, gravity and friction of each sample, lengths of all."""
    arm = sixd.zoo.planar(2)
    q, qd = start(arm, rng)
    bodies = np.array([sixd.Inertia.from_matrix(x).parameters for x in arm.inertia[1:]])
    inertia = bodies * rng.uniform(0.5, 2, (ROWS, 1, 1))
    gravity = np.array([0, 0, -9.81]) + rng.uniform(-1, 1, (ROWS, 3))
    for parameters in (
        {"inertia": inertia, "gravity": gravity},
        {"friction": rng.uniform(0.1, 1, (ROWS, 2))},
        {"placements": arm.placement[1:].astype(float), "damping": rng.uniform(0.1, 1, (ROWS, 2))},
    ):
        found, true = both(arm, q, qd, 0.01, parameters=parameters, method="euler")
        assert_same_motion(found, true)
        q1, qd1 = sixd.step(arm, there(q), there(qd), 1e-3, parameters=there(parameters))
        for x, y in zip((q1, qd1), sixd.step(arm, q, qd, 1e-3, parameters=parameters), strict=True):
            assert_same(x, y)


@fused
def test_symbols(gpu, rng):
    m = sympy.Symbol("m")
    model = sixd.zoo.rack_and_pinion(mass=m)
    q, qd = start(model, rng)
    found, true = both(model, q, qd, 0.01, parameters={"m": rng.uniform(1, 2, ROWS)})
    assert_same_motion(found, true)
    found = sixd.simulate(model, there(q), there(qd), 0.01, parameters={"m": 1.5})
    assert_same(found.q, sixd.simulate(model, q, qd, 0.01, parameters={"m": 1.5}).q)


@pytest.mark.long
@fused
def test_friction_and_contact(gpu, rng):
    """Joints that stick, compliant and rigid ground, limits."""
    arm = sixd.zoo.planar(2)
    rough = dataclasses.replace(arm, friction=np.array([0.5, 2.0]))
    assert_same_motion(*both(rough, *start(rough, rng), 0.02, method="euler"))
    ball = sixd.zoo.falling_sphere()
    points = {ball.body_names[-1]: [[0, 0, 0, 0.05]]}
    q, qd = start(ball, rng)
    q[:, 4:] = rng.uniform(0.051, 0.06, (ROWS, 3))
    for ground, method in ((sixd.Ground(points), "implicit"), (sixd.RigidGround(points), "euler")):
        found, true = both(ball, q, qd, 0.01, forces=[ground], method=method)
        assert_same_motion(found, true)
        assert found.to_cpu().facts == true.facts


@pytest.mark.long
@fused
@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_contact_under_every_joint(gpu, rng, kind):
    """A tree on a free joint with two points on each body, which falls onto the ground."""
    model = sixd.zoo.random_tree(7, kinds=("free", kind), passive=False)
    model = model.with_gravity((0, 0, -9.81))
    points = {name: [[0.05, 0, 0], [-0.05, 0.02, 0.01]] for name in model.body_names}
    q, qd = start(model, rng)
    poses = {name: np.asarray(sixd.pose(model, q, name)) for name in points}
    low = min((poses[n][:, 2, :3] @ np.transpose(own) + poses[n][:, 2, 3:]).min() for n, own in points.items())
    ground = sixd.RigidGround(points, friction=0.5, restitution=0.3, height=low - 2e-4)
    found, true = both(model, q, 0.05 * qd, 0.05, forces=[ground], method="euler")
    assert_same_motion(found, true)
    assert max(forces.max() for _, _, forces in true.contacts()) > 0
    assert found.to_cpu().facts == true.facts


@fused
def test_constraints(gpu, rng):
    linkage = sixd.zoo.four_bar()
    q = sixd.assemble(linkage, linkage.neutral())
    q, qd = np.tile(q, (3, 1)), np.zeros((3, linkage.nv))
    for constraints in ("projected", "stabilised"):
        found, true = both(linkage, q, qd, 0.01, constraints=constraints)
        assert_same_motion(found, true)


@fused
@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
def test_batches(gpu, rng, shape):
    arm = sixd.zoo.planar(2)
    q, qd = rng.uniform(-1, 1, (*shape, 2)), rng.uniform(-1, 1, 2)
    found, true = both(arm, q, qd, 0.005)
    assert_same_motion(found, true)
    assert found.batch == shape
    found = sixd.simulate(arm, None, there(rng.uniform(-1, 1, (4, 2))), 0.005)
    assert np.array_equal(found.q.data[:, 0], np.zeros((4, 2)))


@fused
def test_to_cpu(gpu, rng):
    arm = sixd.zoo.planar(2)
    q, qd = start(arm, rng)
    found, true = both(arm, q, qd, 0.01)
    copy = found.to_cpu()
    assert type(copy) is sixd.Trajectory
    assert np.array_equal(copy.energy, true.energy)
    assert copy.facts == true.facts
    assert "5" in repr(found)
    with pytest.raises(DeviceError, match=r"energy is made on the CPU.* trajectory.to_cpu\(\).energy"):
        found.energy  # noqa: B018
    with pytest.raises(DeviceError, match="plot is made on the CPU"):
        found.plot()
    with pytest.raises(AttributeError, match="no attribute 'plott'"):
        found.plott()


def test_wrong_arguments(gpu, rng):
    arm = sixd.zoo.planar(2)
    q, qd = map(there, start(arm, rng))
    for options, error, text in (
        ({"method": "adaptive"}, ScalarTypeError, "expected fixed steps: rk4"),
        ({"method": "verlet"}, sixd.UnknownNameError, "no choice named 'verlet'"),
        ({"controller": lambda t, q, qd: q, "sample_time": 0.01}, ScalarTypeError, "called with numbers"),
        (
            {"controller": np.zeros(2)},
            DeviceError,
            "controller is a numpy.ndarray in CPU memory, but q is on",
        ),
        ({"controller": Array(np.zeros(3))}, ShapeError, r"controller has shape \(3,\)"),
        ({"controller": Array(np.zeros((4, 2)))}, ShapeError, "do not broadcast"),
        ({"controller": Array(np.zeros(2, "f4"))}, ScalarTypeError, "controller holds float32, but others float64"),
        ({"events": [lambda t, q, qd: q[0]]}, ScalarTypeError, "events and on_chunk"),
        ({"on_chunk": print}, ScalarTypeError, "events and on_chunk"),
        ({"parameters": {"mass": q}}, sixd.UnknownNameError, "no parameter named 'mass'"),
        ({"parameters": {"damping": np.zeros(2)}}, DeviceError, "damping is a numpy.ndarray"),
        ({"constraints": "none"}, sixd.UnknownNameError, "no choice named 'none'"),
        ({"dt": -1}, ScalarTypeError, "dt is -1"),
    ):
        with pytest.raises(error, match=text):
            sixd.simulate(arm, q, qd, 0.01, **options)
    with pytest.raises(DeviceError, match="qd is a numpy.ndarray in CPU memory"):
        sixd.simulate(arm, q, np.zeros(2), 0.01)
    with pytest.raises(ScalarTypeError, match="q is 'random', expected an array on the GPU"):
        sixd.simulate(arm, "random", qd, 0.01)
    with pytest.raises(ShapeError, match=r"q has shape \(5, 1\)"):
        sixd.step(arm, q[:, :1], qd, 0.01)
    assert not gpu.launches


# step -------------------------------------------------------------------------------------------------------


@pytest.mark.many
@fused
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "implicit"])
def test_steps(gpu, rng, method, dtype):
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute"), passive=False)
    q, qd = start(model, rng, dtype=dtype)
    tau = rng.uniform(-1, 1, (ROWS, model.nv)).astype(dtype)
    for t, controller in ((0.0, None), (0.3, tau), (0.3, tau[0])):
        found = sixd.step(model, there(q), there(qd), 1e-3, t=t, method=method, controller=there(controller))
        for x, y in zip(found, sixd.step(model, q, qd, 1e-3, t=t, method=method, controller=controller), strict=True):
            assert_same(x, y)


CALLS = []


def law(t, q, qd):
    """A controller without a closure."""
    CALLS.append(t)
    return -3 * q - qd * t


@fused
def test_functions_are_traced_once(gpu, rng):
    """A controller is part of the code, which is made at its first step."""
    arm = sixd.zoo.planar(2)
    q, qd = start(arm, rng)
    true = sixd.step(arm, q, qd, 1e-3, t=0.5, controller=law)
    counts = set()
    for _ in range(3):
        found = sixd.step(arm, there(q), there(qd), 1e-3, t=0.5, controller=law)
        assert_same(found[1], true[1])
        counts.add(len(CALLS))
    assert len(counts) == 1


@pytest.mark.long
@fused
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (0,)])
def test_steps_are_repeated(gpu, rng, shape):
    """Steps like the one before use a shorter path: other numbers, times, layouts, and while a graph is recorded."""
    arm = sixd.zoo.planar(2)
    tau, wide = rng.uniform(-1, 1, 2), rng.uniform(-1, 1, (*shape, 4))
    for k, (h, t) in enumerate([(1e-3, 0.0), (1e-3, 0.0), (2e-3, 0.0), (1e-3, 0.5), (1e-3, 0.0)]):
        gpu.is_capturing = k == 0
        for q in (rng.uniform(-1, 1, (*shape, 2)), wide[..., ::2]):
            qd = rng.uniform(-1, 1, (*shape, 2))
            for _ in range(2):
                found = sixd.step(arm, there(q), there(qd), h, t=t, controller=there(tau))
                for x, y in zip(found, sixd.step(arm, q, qd, h, t=t, controller=tau), strict=True):
                    assert_same(x, y)
    with pytest.raises(DeviceError, match="qd is a numpy.ndarray"):
        sixd.step(arm, there(q), qd, 1e-3, controller=there(tau))


def test_steps_off_the_constraints_are_counted(gpu):
    linkage = sixd.zoo.four_bar()
    q = np.tile(sixd.assemble(linkage, linkage.neutral()), (3, 1))
    q[1] += 0.1
    q1, _ = sixd.step(linkage, there(q), there(np.zeros((3, linkage.nv))), 1e-3)
    assert np.isnan(q1.data[1]).all()
    assert np.isfinite(q1.data[[0, 2]]).all()
    with pytest.raises(SingularError, match=r"step \(1 states\)"):
        sixd.cuda.check()


# gradients --------------------------------------------------------------------------------------------------


def gradients(model, q, qd, controls, **options):
    """Return gradients of the GPU and of the CPU."""
    on_gpu = {name: there(x) for name, x in options.items()}
    functions = {"cost": lambda t, q, qd, tau: tau @ tau + t * (q @ q), "final": lambda q, qd: qd @ qd}
    return (
        sixd.rollout_gradient(model, there(q), there(qd), there(controls), **functions, **on_gpu),
        sixd.rollout_gradient(model, q, qd, controls, **functions, **options),
    )


def assert_same_gradients(found, true):
    for name in ("cost", "q", "qd", "controls", "last_q", "last_qd"):
        assert_same(getattr(found, name), np.asarray(getattr(true, name)))
    for name, x in true.parameters.items():
        assert_same(found.parameters[name], x)


@pytest.mark.many
@fused
@pytest.mark.parametrize("pieces", [False, True])
@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "implicit"])
def test_gradients(gpu, rng, method, pieces, monkeypatch):
    if pieces:
        monkeypatch.setattr(rollout_gradient, "MEMORY_ON_GPU", 0)
    arm = sixd.zoo.planar(2)
    q, qd = start(arm, rng)
    controls = rng.uniform(-1, 1, (ROWS, 20, 2))
    assert_same_gradients(*gradients(arm, q, qd, controls, method=method))
    assert_same_gradients(*gradients(arm, q, qd, controls[0], method=method))


@pytest.mark.long
@fused
def test_gradients_with_respect_to_parameters(gpu, rng):
    arm = dataclasses.replace(sixd.zoo.planar(2), friction=np.array([0.1, 0.3]))
    q, qd = start(arm, rng)
    parameters = {"gravity": np.array([0, 0, -9.81]), "damping": rng.uniform(0, 1, (ROWS, 2))}
    found, true = gradients(arm, q, qd, rng.uniform(-1, 1, (ROWS, 10, 2)), parameters=parameters)
    assert_same_gradients(found, true)
    assert np.array_equal(found.facts["unsolved"].data, true.facts["unsolved"])


@pytest.mark.long
@fused
def test_gradients_on_a_free_joint(gpu, rng):
    """With respect to q in the tangent space, which the CPU computes without fused multiply-add: up to rounding."""
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute"), passive=False)
    q, qd = start(model, rng)
    found, true = gradients(model, q, qd, rng.uniform(-1, 1, (ROWS, 3, model.nv)))
    assert np.allclose(found.q.data, true.q, rtol=1e-12, atol=1e-12)
    assert_same(found.qd, true.qd)
    assert_same(found.controls, true.controls)


def test_wrong_arguments_of_gradients(gpu, rng):
    arm = sixd.zoo.planar(2)
    q, qd = map(there, start(arm, rng))
    cost = {"final": lambda q, qd: q @ q}
    with pytest.raises(DeviceError, match="controls is a numpy.ndarray in CPU memory, but q is on"):
        sixd.rollout_gradient(arm, q, qd, np.zeros((3, 2)), **cost)
    with pytest.raises(ShapeError, match=r"controls has shape \(3,\), expected \(…, steps, 2\)"):
        sixd.rollout_gradient(arm, q, qd, Array(np.zeros(3)), **cost)
