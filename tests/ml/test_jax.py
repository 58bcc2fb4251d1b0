"""``sixd.jax`` on the CPU: bit-identical to sixd's own functions, JAX's transformations, derivatives of both orders."""

import gc
import inspect
import os
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sixd
from samples import KINDS, OPERATIONAL, Parabola, single_joint
from sixd.engine.functions import LIBRARY, Request
from sixd.errors import ModelError, ScalarTypeError, ShapeError, SingularError, UnknownNameError
from sixd.model.system import library

jax = pytest.importorskip("jax", reason="JAX is not installed; make ml installs it")

import jax.numpy as jnp  # noqa: E402

import sixd.jax as sj  # noqa: E402
from sixd.jax.operators import operator_of  # noqa: E402

FUNCTIONS = sorted(set(LIBRARY) - {"newton_euler"})  # whose result is an object of its own
DTYPES = ("float64", "float32")
H = 1e-6  # step of central differences


@pytest.fixture(autouse=True)
def wide():
    """float64 in every test."""
    with jax.enable_x64(True):
        yield


def model_for(name):
    """Return a tree on a free joint with a spherical one, or a loop for functions of constraints."""
    if LIBRARY[name].generic and name not in OPERATIONAL:
        return sixd.zoo.four_bar()
    return sixd.zoo.random_tree(7, kinds=("free", "revolute", "spherical"))


def arguments(name, model, rng, batch=(), dtype="float64"):
    """Return all arguments of a public function after the model; arrays in the order of its signature."""
    function, values = LIBRARY[name].for_system(model), []
    for p in list(inspect.signature(library(name)).parameters.values())[1:]:
        if p.name == "frame":
            values.append(model.body_names[-1])
        elif p.name == "given":
            values.append([model.joint_names[0]])
        elif p.name in function.arrays and p.kind is not p.KEYWORD_ONLY:
            x = rng.uniform(-1, 1, (*batch, *function.core(model, p.name)))
            if p.name in ("q", "q0", "q1"):
                x = np.reshape([model.random_configuration(rng) for _ in range(int(np.prod(batch)))], x.shape)
            values.append(x.astype(dtype))
    return values


def is_array(x):
    return isinstance(x, np.ndarray)


def as_tuple(result):
    return tuple(result) if isinstance(result, tuple) else (result,)


def same_bits(found, expected):
    found, expected = as_tuple(found), as_tuple(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == np.asarray(b).dtype
        assert np.array_equal(np.asarray(a), b, equal_nan=True)


# values -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_the_bits_of_sixd(name, rng):
    """One sample and a batch, jitted and not, in both dtypes."""
    model, function = model_for(name), library(name)
    mirrored = getattr(sj, name)
    for dtype in DTYPES:
        for batch in ((), (2, 3)):
            values = arguments(name, model, rng, batch, dtype)
            arrays = [k for k, x in enumerate(values) if is_array(x)]
            expected = function(model, *values)

            def call(*given, values=values, arrays=arrays):
                every = list(values)
                for k, x in zip(arrays, given, strict=True):
                    every[k] = x
                return mirrored(model, *every)

            given = [jnp.asarray(values[k]) for k in arrays]
            same_bits(call(*given), expected)
            same_bits(jax.jit(call)(*given), expected)
        mapped = jax.vmap(jax.vmap(call))(*given)
        same_bits(mapped, expected)


def test_all_names_are_functions_of_the_library():
    assert set(FUNCTIONS) <= set(sj.__all__)
    for name in FUNCTIONS:
        own, mirrored = inspect.signature(library(name)), inspect.signature(getattr(sj, name))
        assert list(mirrored.parameters) == [p for p in own.parameters if p != "out"]
        assert getattr(sj, name).__doc__


@pytest.mark.parametrize("kind", KINDS)
def test_every_joint(kind, rng):
    """Values, gradients with respect to all inputs against sixd.vjp and differences, and second derivatives against
    differences.
    """
    model = single_joint(kind)
    q, qd, x = (a for a in arguments("inverse_dynamics", model, rng))
    w = rng.uniform(-1, 1, model.nv)
    for name in ("inverse_dynamics", "forward_dynamics"):
        function, mirrored = library(name), getattr(sj, name)
        same_bits(mirrored(model, q, qd, x), function(model, q, qd, x))

        def cost(q, qd, x, mirrored=mirrored):
            return jnp.sum(w * mirrored(model, q, qd, x))

        by_q, by_qd, by_x = jax.grad(cost, (0, 1, 2))(q, qd, x)
        kernel = sixd.vjp(function, model)(q, qd, x, w)
        assert np.allclose(by_qd, kernel.qd, rtol=1e-12, atol=1e-12)
        assert np.allclose(by_x, kernel[2], rtol=1e-12, atol=1e-12)
        # along a velocity the ambient gradient is that of the tangent space
        rate = np.stack([model.configuration_rate(q, e) for e in np.eye(model.nv)])
        assert np.allclose(rate @ by_q, kernel.q, rtol=1e-11, atol=1e-11)
        dq = rng.uniform(-1, 1, model.nq)
        difference = (cost(q + H * dq, qd, x) - cost(q - H * dq, qd, x)) / (2 * H)
        assert by_q @ dq == pytest.approx(float(difference), rel=1e-6, abs=1e-6)  # of differences
        gradient = jax.grad(cost)
        second = jax.jvp(lambda q: gradient(q, qd, x), (q,), (dq,))[1]  # noqa: B023
        change = (gradient(q + H * dq, qd, x) - gradient(q - H * dq, qd, x)) / (2 * H)
        assert np.allclose(second, change, rtol=1e-5, atol=1e-5)  # of differences
        again = jax.grad(lambda q: gradient(q, qd, x) @ dq)(q)  # noqa: B023
        assert np.allclose(second, again, rtol=1e-9, atol=1e-9)


def test_quaternions_keep_their_length(rng):
    """The length of a quaternion has no effect, so its derivative is zero."""
    model = single_joint("spherical")
    q, qd, qdd = arguments("inverse_dynamics", model, rng)
    part = next(model.iq[i] for i in model.bodies if model.joints[i].nq == 4)
    q[part] *= 1.7
    by_q = jax.grad(lambda q: sj.inverse_dynamics(model, q, qd, qdd).sum())(q)
    assert abs(by_q[part] @ q[part]) < 1e-12
    # of a result of unit length
    jacobian = jax.jacobian(lambda q: sj.integrate(model, q, 0.1 * qd))(q)
    result = sj.integrate(model, q, 0.1 * qd)
    assert np.allclose(result[part] @ jacobian[part], 0, atol=1e-12)


# transformations --------------------------------------------------------------------------------------------


@pytest.fixture
def arm():
    return sixd.zoo.planar(3)


@pytest.fixture
def state(arm, rng):
    return tuple(jnp.asarray(x) for x in rng.uniform(-1, 1, (3, 3)))


def test_jacobians_agree(arm, state):
    """Forward, in reverse, jitted, and the library's own derivatives."""
    expected = sixd.inverse_dynamics_derivatives(arm, *state)

    def force(*x):
        return sj.inverse_dynamics(arm, *x)

    for transform in (jax.jacfwd, jax.jacrev):
        found = jax.jit(transform(force, (0, 1, 2)))(*state)
        for a, b in zip(found, expected, strict=False):
            assert np.allclose(a, b, rtol=1e-12, atol=1e-12)


def test_second_order_in_four_ways(arm, state):
    for name in ("inverse_dynamics", "forward_dynamics"):

        def first(q, name=name):
            return getattr(sj, name)(arm, q, *state[1:])

        expected = sixd.hessian(library(name), arm, by="q")(*state)
        for outer in (jax.jacfwd, jax.jacrev):
            for inner in (jax.jacfwd, jax.jacrev):
                assert np.allclose(outer(inner(first))(state[0]), expected, rtol=1e-10, atol=1e-10)


def test_third_order(arm, state):
    def energy(q):
        return sj.energy(arm, q, state[1])[0]

    third = jax.jacfwd(jax.jacfwd(jax.grad(energy)))(state[0])
    second = jax.jacfwd(jax.grad(energy))
    for k, e in enumerate(np.eye(3)):
        change = (second(state[0] + H * e) - second(state[0] - H * e)) / (2 * H)
        assert np.allclose(third[..., k], change, atol=1e-6)  # of differences


def test_vmap_over_some_arguments(arm, rng):
    """Inside and outside of grad, nested, along any axis, over batches that are there already."""
    q = jnp.asarray(rng.uniform(-1, 1, (4, 5, 3)))
    qd, qdd = jnp.asarray(rng.uniform(-1, 1, (2, 3)))

    def force(q, qd=qd, qdd=qdd):
        return sj.inverse_dynamics(arm, q, qd, qdd)

    expected = sixd.inverse_dynamics(arm, np.asarray(q), np.asarray(qd), np.asarray(qdd))
    same_bits(force(q), expected)
    same_bits(jax.vmap(force)(q), expected)
    same_bits(jax.vmap(force, in_axes=1, out_axes=1)(q), expected)
    same_bits(jax.vmap(lambda a, b: force(q, b, qdd), (None, 0))(q, qd[None]), expected[None])
    # an argument with one entry for each mapped sample, and a batch inside
    qds = jnp.asarray(rng.uniform(-1, 1, (6, 3)))
    found = jax.vmap(lambda qd: force(q, qd))(qds)
    same_bits(found, sixd.inverse_dynamics(arm, np.asarray(q), np.asarray(qds)[:, None, None], np.asarray(qdd)))
    gradient = jax.grad(lambda q, qd: force(q, qd)[0])
    for mapped in (jax.vmap(gradient, (0, None)), jax.jit(jax.vmap(gradient, (0, None)))):
        each = np.stack([gradient(row, qd) for row in q[0]])
        assert np.allclose(mapped(q[0], qd), each, rtol=1e-13, atol=1e-14)
    # the gradient with respect to what all samples share is the sum over the samples
    shared = jax.grad(lambda qd: force(q, qd).sum())(qd)
    rows = jax.vmap(jax.vmap(jax.grad(lambda qd, q: force(q, qd).sum()), (None, 0)), (None, 0))(qd, q)
    assert np.allclose(shared, rows.sum((0, 1)), rtol=1e-12)


def test_broadcasting(arm, rng):
    q, qd, qdd = rng.uniform(-1, 1, (4, 1, 3)), rng.uniform(-1, 1, (5, 3)), rng.uniform(-1, 1, (1, 1, 1, 3))
    same_bits(sj.inverse_dynamics(arm, q, qd, qdd), sixd.inverse_dynamics(arm, q, qd, qdd))
    one = rng.uniform(-1, 1, (3, 1, 1, 3))
    same_bits(sj.inverse_dynamics(arm, *one), sixd.inverse_dynamics(arm, *one))
    empty = np.zeros((0, 3))
    assert sj.inverse_dynamics(arm, empty, qd[0], qd[0]).shape == (0, 3)
    assert jax.grad(lambda qd: sj.inverse_dynamics(arm, empty, qd, qd).sum())(qd[0]).tolist() == [0, 0, 0]


def test_scan_and_cond(arm, state):
    """Inside JAX's own control flow, and differentiated through it."""

    def move(q, qd):
        def step(carry, _):
            q, qd = carry
            qdd = sj.forward_dynamics(arm, q, qd, jnp.zeros(3))
            qd = qd + 1e-2 * qdd
            return (sj.integrate(arm, q, 1e-2 * qd), qd), q

        return jax.lax.scan(step, (q, qd), None, length=20)[0]

    q, qd = np.asarray(state[0]), np.asarray(state[1])
    for _ in range(20):
        qd = qd + 1e-2 * sixd.forward_dynamics(arm, q, qd, np.zeros(3))
        q = arm.integrate(q, 1e-2 * qd)
    found = jax.jit(move)(*state[:2])
    assert np.allclose(found[0], q, rtol=1e-13)
    gradient = jax.jit(jax.grad(lambda q, qd: move(q, qd)[0].sum()))(*state[:2])
    e = np.eye(3)[1]
    change = (move(state[0] + H * e, state[1])[0].sum() - move(state[0] - H * e, state[1])[0].sum()) / (2 * H)
    assert gradient[1] == pytest.approx(float(change), rel=1e-6)  # of differences
    chosen = jax.jit(lambda q: jax.lax.cond(q[0] > 0, lambda: sj.gravity_force(arm, q), lambda: q))(state[0])
    assert chosen.shape == (3,)


def test_without_jit(arm, state):
    with jax.disable_jit():
        same_bits(
            jax.jit(lambda *x: sj.inverse_dynamics(arm, *x))(*state),
            sixd.inverse_dynamics(arm, *map(np.asarray, state)),
        )
        assert jax.grad(lambda q: sj.gravity_force(arm, q).sum())(state[0]).shape == (3,)


def test_donated_arrays(arm, rng):
    """Memory of an argument that JAX may use for the result: not before it is read."""
    x = rng.uniform(-1, 1, (3, 1000, 3))
    expected = sixd.forward_dynamics(arm, *x)
    donated = jax.jit(lambda q, qd, tau: sj.forward_dynamics(arm, q, qd, tau), donate_argnums=0)
    same_bits(donated(*map(jnp.asarray, x)), expected)


def test_several_threads(arm, rng):
    x = rng.uniform(-1, 1, (3, 500, 3))
    expected = sixd.forward_dynamics(arm, *x)
    function = jax.jit(lambda *x: sj.forward_dynamics(arm, *x))

    def run(_):
        with jax.enable_x64(True):  # of a thread
            return np.asarray(function(*x))

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(run, range(40)):
            same_bits(found, expected)


def test_checkpoint_and_linearize(arm, state):
    def cost(q):
        return sj.inverse_dynamics(arm, q, *state[1:]).sum()

    assert np.array_equal(jax.grad(jax.checkpoint(cost))(state[0]), jax.grad(cost)(state[0]))
    _, tangent = jax.linearize(cost, state[0])
    assert np.allclose(tangent(jnp.ones(3)), jax.grad(cost)(state[0]).sum())


def test_external_forces(arm, state, rng):
    f_ext = rng.uniform(-1, 1, (arm.nb, 6))
    same_bits(
        sj.inverse_dynamics(arm, *state, f_ext=f_ext), sixd.inverse_dynamics(arm, *map(np.asarray, state), f_ext=f_ext)
    )
    gradient = jax.grad(lambda f: sj.inverse_dynamics(arm, *state, f_ext=f)[0])(f_ext)
    e = np.eye(6)[2][None] * np.eye(arm.nb)[:, 1:2]
    change = sj.inverse_dynamics(arm, *state, f_ext=f_ext + e)[0] - sj.inverse_dynamics(arm, *state, f_ext=f_ext)[0]
    assert gradient[1, 2] == pytest.approx(float(change), abs=1e-12)


def test_ignored_entries_have_no_gradient(arm, state):
    """Hybrid dynamics: ignored entries may be anything, and a wrench may be a force at a point."""
    qdd, tau = jnp.array([1.0, np.nan, np.nan]), jnp.array([np.nan, 0.1, 0.2])
    given = [arm.joint_names[0]]
    found = sj.hybrid_dynamics(arm, given, *state[:2], qdd, tau)
    same_bits(found, sixd.hybrid_dynamics(arm, given, *map(np.asarray, (*state[:2], qdd, tau))))
    slope = jax.grad(lambda tau: sj.hybrid_dynamics(arm, given, *state[:2], qdd, tau)[0].sum())(tau)
    assert slope[0] == 0
    assert np.isfinite(slope).all()
    q, force, point = np.asarray(state[0]), np.array([1.0, 2, 3]), np.array([0.1, 0.2, 0.3])
    frame = arm.body_names[-1]
    same_bits(
        jax.jit(lambda f, p: sj.external_force(arm, q, frame, f, point=p))(force, point),
        sixd.external_force(arm, q, frame, force, point=point),
    )


# dtypes and invalid input ---------------------------------------------------------------------------------------


def test_float32_without_x64(arm, state):
    with jax.enable_x64(False):
        x = [np.asarray(a, dtype=np.float32) for a in state]
        found = sj.forward_dynamics(arm, *x)
        assert found.dtype == jnp.float32
        same_bits(found, sixd.forward_dynamics(arm, *x))
        assert sj.mass_matrix(arm, [0, 1, 0]).dtype == jnp.float32
        slope = jax.grad(lambda q: sj.gravity_force(arm, q).sum())(x[0])
        assert slope.dtype == jnp.float32


def test_mixed_dtypes_are_computed_in_the_wider(arm, state):
    x = [np.asarray(state[0], dtype=np.float32), *map(np.asarray, state[1:])]
    found = sj.inverse_dynamics(arm, *x)
    same_bits(found, sixd.inverse_dynamics(arm, x[0].astype(float), *x[1:]))
    assert sj.gravity_force(arm, [0, 1, 0]).dtype == jnp.float64
    slopes = jax.grad(lambda q, qd: sj.inverse_dynamics(arm, q, qd, state[2]).sum(), (0, 1))(*map(jnp.asarray, x[:2]))
    assert [s.dtype for s in slopes] == [jnp.float32, jnp.float64]


@pytest.mark.parametrize("bad", [jnp.zeros(3, jnp.bfloat16), np.zeros(3, complex), "text", None, object()])
def test_values_that_are_not_floats(arm, bad):
    with pytest.raises(ScalarTypeError, match=r"sixd\.jax\.gravity_force: q "):
        sj.gravity_force(arm, bad)


def test_errors_name_what_is_wrong(arm, state):
    with pytest.raises(ShapeError, match=r"qd has shape \(4,\), expected \(..., 3\)"):
        sj.inverse_dynamics(arm, state[0], np.zeros(4), state[2])
    with pytest.raises(ShapeError, match=r"the batch dimensions do not broadcast: q \(2,\), qd \(3,\)"):
        sj.bias_force(arm, np.zeros((2, 3)), np.zeros((3, 3)))
    with pytest.raises(TypeError, match=r"sixd\.jax\.gravity_force: missing a required argument: 'q'"):
        sj.gravity_force(arm)
    with pytest.raises(TypeError, match="out"):
        sj.gravity_force(arm, state[0], out=np.zeros(3))
    with pytest.raises(UnknownNameError, match="toool"):
        sj.pose(arm, state[0], "toool")
    with pytest.raises(ScalarTypeError, match="model"):
        sj.gravity_force("arm", state[0])
    massless = sixd.ModelBuilder("empty").build()
    with pytest.raises(ModelError, match="has no mass"):
        sj.center_of_mass(massless, np.zeros(0))


def test_models_that_are_singular_everywhere_are_rejected():
    b = sixd.ModelBuilder("light")
    b.add_body("body", "world", sixd.Revolute("z"))
    model = b.build()
    with pytest.raises(SingularError, match="mass matrix of 'light' is singular"):
        sj.forward_dynamics(model, np.zeros(1), np.zeros(1), np.zeros(1))


def test_samples_that_are_not_finite_affect_no_other(arm, rng):
    q = rng.uniform(-1, 1, (40, 3))
    q[7, 1] = np.nan
    found = sj.forward_dynamics(arm, q, np.zeros(3), np.zeros(3))
    assert np.isnan(found[7]).any()
    good = np.arange(40) != 7
    same_bits(found[good], sixd.forward_dynamics(arm, q[good], np.zeros(3), np.zeros(3)))


def test_own_joints_and_systems(rng):
    b = sixd.ModelBuilder("rail")
    b.add_body("bead", "world", Parabola(), inertia=sixd.box(1, 2, 3, mass=4.0))
    model = b.build()
    x = rng.uniform(-1, 1, (3, 1))
    same_bits(sj.inverse_dynamics(model, *x), sixd.inverse_dynamics(model, *x))
    slope = jax.grad(lambda q: sj.inverse_dynamics(model, q, *x[1:])[0])(x[0])
    assert np.allclose(slope, sixd.vjp(sixd.inverse_dynamics, model, by="q")(*x, np.ones(1)))


# memory and processes ---------------------------------------------------------------------------------------


def test_equal_models_share_code():
    """Operators of two models with the same numbers are equal, and so are their derivatives."""
    request = Request(LIBRARY["gravity_force"], (), "float64", False)
    first, second, other = sixd.zoo.planar(3), sixd.zoo.planar(3), sixd.zoo.planar(4)
    a, b = operator_of(first, request), operator_of(second, request)
    assert a is operator_of(first, request) is not b
    assert a == b
    assert hash(a) == hash(b)
    assert a.jvp((0,)) == b.jvp((0,)) != a.vjp((0,))
    assert a.cpu_plan(1)[1] is b.cpu_plan(1)[1]
    assert a != operator_of(other, request)


def test_models_are_not_kept(rng):
    """After JAX's caches are cleared, nothing keeps a model alive."""

    def use(k):
        b = sixd.ModelBuilder("one")
        b.add_body("body", "world", sixd.Revolute("z"), inertia=sixd.box(1, 2, 3, mass=4.0 + k))
        model = b.build()
        jax.jit(lambda q: sj.gravity_force(model, q))(np.zeros(1))
        sj.mass_matrix(model, np.zeros(1))
        return weakref.ref(model)

    found = [use(k) for k in range(3)]
    jax.clear_caches()
    sj.clear_caches()
    gc.collect()
    assert [r() for r in found] == [None] * 3


def test_programs_run_after_python_has_dropped_them(arm, rng):
    """XLA runs a program on a thread of its own, while Python keeps no reference to it."""

    def motion():
        def step(carry, _):
            return carry + 1e-3 * sj.forward_dynamics(arm, carry, carry, carry), None

        start = rng.uniform(-1, 1, (500, 3))
        return jax.jit(lambda x: jax.lax.scan(step, x, None, length=300)[0])(start)

    found = motion()
    jax.clear_caches()
    sj.clear_caches()
    gc.collect()
    assert np.isfinite(found).all()


RELOAD = """
import sys, numpy as np, jax
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
import sixd, sixd.jax
arm = sixd.zoo.planar(3)
print(jax.jit(jax.grad(lambda q: sixd.jax.gravity_force(arm, q).sum()))(np.array([0.1, 0.2, 0.3], dtype=np.float32)).tolist())
"""


def test_programs_that_jax_keeps_on_disk(tmp_path):
    """A program from the disk gets its code in another process: it contains no addresses."""
    found = []
    for _ in range(2):
        command = [sys.executable, "-c", RELOAD, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ), timeout=300)
        found.append(done.stdout)
    assert found[0] == found[1] != ""
    assert any(tmp_path.iterdir())


SHARDED = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import numpy as np, jax
jax.config.update("jax_enable_x64", True)
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import sixd, sixd.jax
arm, mesh = sixd.zoo.planar(3), Mesh(np.array(jax.devices()), ("i",))
q, qd, tau = np.random.default_rng(0).uniform(-1, 1, (3, 8, 3))
def f(*x): return sixd.jax.forward_dynamics(arm, *x)
def cost(*x): return (f(*x) ** 2).sum()
rows = [jax.device_put(x, NamedSharding(mesh, P("i"))) for x in (q, qd)]
expected = sixd.forward_dynamics(arm, q, qd, tau[0])
split = dict(mesh=mesh, in_specs=(P("i"), P("i"), P()))
assert np.array_equal(jax.jit(f)(*rows, tau[0]), expected)
assert np.array_equal(jax.jit(jax.shard_map(f, out_specs=P("i"), **split))(*rows, tau[0]), expected)
for k, specs in ((0, P("i")), (2, P())):
    found = jax.jit(jax.shard_map(jax.grad(cost, k), out_specs=specs, **split))(*rows, tau[0])
    assert np.allclose(found, jax.grad(cost, k)(q, qd, tau[0]), rtol=1e-12)
print("done")
"""


def test_several_devices():
    """Sharded arrays, and shard_map with gradients with respect to split and shared arguments."""
    done = subprocess.run([sys.executable, "-c", SHARDED], capture_output=True, text=True, timeout=300)
    assert done.stdout == "done\n", done.stderr


def test_missing_package(tmp_path):
    """Without JAX the error says how to install it; sixd itself does not import JAX."""
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("raise ImportError('no')")
    code = "import sys, sixd\nassert 'jax' not in sys.modules\nimport sixd.jax"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300)
    assert "pip install 'jax>=0.10'" in done.stderr


# GPUs -------------------------------------------------------------------------------------------------------


def test_plan_of_a_gpu(arm, monkeypatch):
    """The code that handlers launch, loaded by a fake driver; blocks are smaller where samples are wide."""
    import fake_gpu
    from sixd.runtime.cuda import driver

    fake_gpu.install(monkeypatch)
    try:
        words = {}
        for name, model in (("gravity_force", arm), ("mass_matrix", sixd.zoo.planar(12))):
            operator = operator_of(model, Request(LIBRARY[name], (), "float64", False))
            number, hold = operator.cuda_plan([0], 10)
            assert operator.cuda_plan([0], 10)[1] is hold
            assert number != operator.cpu_plan(2)[0]
            words[name] = list(hold.plan.words)
        shared, threads, devices, function, counter, _context = words["gravity_force"]
        assert (shared, devices) == (0, 1)
        assert function
        assert counter
        shared, threads, *_ = words["mass_matrix"]
        assert 0 < shared <= 48 * 1024
        assert threads % 32 == 0
    finally:
        driver.is_installed.cache_clear()


def test_stacks_of_frames(rng):
    """Several frames, by a mapping; a singular pose is NaN in its sample."""
    arm, stack = sixd.zoo.panda_arm(), {"tool": "position", "link4": [3, 5]}
    q = arm.random_configuration(rng, size=3)
    for name in ("jacobian", *(name for name in OPERATIONAL if name != "operational_bias")):
        same_bits(jax.jit(lambda x, name=name: getattr(sj, name)(arm, x, stack))(q), getattr(sixd, name)(arm, q, stack))
    found = sj.operational_inertia(sixd.zoo.planar(2), jnp.array([[0.3, 0.0], [0.3, 1.0]]), {"tip": (3, 4)})
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()
