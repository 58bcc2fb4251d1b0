"""Rollouts for GPUs: the kernel's own LLVM code, run on the CPU, compared with the vector code; NVIDIA's assembler."""

import dataclasses
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import nonsmooth
import recipes
import sixd
from fake_gpu import Array, install
from ptxas import assemble
from samples import METHODS
from sixd.codegen.llvm import rolled
from sixd.codegen.llvm.machine import host
from sixd.codegen.nvptx import rollout as emitter
from sixd.codegen.nvptx.ptx import make_ptx
from sixd.codegen.nvptx.rollout import emit_rollout_kernel
from sixd.engine.artifact import make_rollout, recipe_key
from sixd.engine.targets import cpu, cuda
from sixd.errors import DeviceError, ScalarTypeError, ShapeError
from sixd.runtime.cuda import driver
from sixd.runtime.cuda.rollout import _pieces
from sixd.simulation.gradients.adjoint_steps import final_code, forward_backward_steps, traced_cost
from sixd.simulation.setup import make_setup
from sixd.simulation.stepping import compiled_steps
from sixd.simulation.stepping.compiled_steps import make_recipe, rollout
from sixd.simulation.stepping.fixed import Runner
from sixd.simulation.stepping.single_step import step_rollout

fused = pytest.mark.skipif(not host().has_fma, reason="bits are those of CPUs with fused multiply-add")
DTYPES = ("float64", "float32")
TARGET = cuda("sm_90")
BOX = nonsmooth.free_body(sixd.box(0.2, 0.2, 0.1, mass=1.5), "box")
CORNERS = [(x, y, -0.05) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(compiled_steps, "_RECENT", {})  # without code that was loaded by another driver
    yield install(monkeypatch)
    driver.is_installed.cache_clear()


def setup_of(model, rng, dtype="float64", rows=33, q=None, qd=None, **options):
    """Return a setup with random states."""
    q = np.stack([model.random_configuration(rng) for _ in range(rows)]) if q is None else q
    qd = rng.uniform(-1, 1, (rows, model.nv)) if qd is None else qd
    return make_setup("test", sixd.Scenario(model, **options), q.astype(dtype), qd.astype(dtype))


def on_cpu(setup, method, h):
    """Return the code for the CPU, and its arrays."""
    runner = Runner(setup, method, h)
    numbers = [np.array([x], setup.dtype) for x in (h, 0.0)]
    return runner.rollout, [*runner.state.values(), *numbers, *runner.constants.values()]


def on_gpu(code, counts, arrays, out=None):
    return [x.data for x in code(counts, [Array(x) for x in arrays], out)]


def compare(setup, method, counts=(3, 2), h=1e-3):
    """Check that both sides have the same bits, and return the results."""
    code, arrays = on_cpu(setup, method, h)
    expected = code(np.array(counts), arrays)
    found = on_gpu(rollout(setup.problem, method, setup.dtype, target=TARGET), counts, arrays)
    for x, y in zip(found, expected, strict=True):
        assert_array_equal(x, y)
    assert all(np.isfinite(x).all() for x in found)
    return found


# the same bits ----------------------------------------------------------------------------------------------


@pytest.mark.many
@fused
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_bit_identical_to_the_cpu(method, dtype, gpu, rng):
    """A tree with a free and a spherical joint, springs and damping, in 33 samples: some threads have none."""
    model = sixd.zoo.random_tree(3, kinds=("free", "spherical") if method in ("rk4", "euler") else ("spherical",))
    model = dataclasses.replace(model, friction=np.zeros(model.nv))
    compare(setup_of(model, rng, dtype), method)
    assert len(gpu.launches) == 1


@pytest.mark.long
@fused
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", ["rk4", "midpoint"])
def test_dry_friction_and_limits(method, dtype, gpu, rng):
    """Calls that are repeated until a sample has converged, and calls that most samples skip."""
    model = sixd.zoo.pendulum(2)
    model = dataclasses.replace(model, friction=np.array([0.3, 0.1]), lower=-0.5 * np.ones(2), upper=0.5 * np.ones(2))
    setup = setup_of(model, rng, dtype, q=rng.uniform(-0.49, 0.49, (33, 2)), forces=sixd.RigidLimits(0.5))
    compare(setup, method, (9,), h=5e-3)


@pytest.mark.long
@fused
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", [sixd.Ground, sixd.RigidGround])
def test_a_box_on_ground(kind, dtype, gpu, rng):
    """Some samples are in the air, some in contact, some lean on two points."""
    q = np.stack([BOX.random_configuration(rng) for _ in range(33)])
    q[:, -3:] = rng.uniform(-0.02, 0.12, (33, 3))
    setup = setup_of(BOX, rng, dtype, q=q, forces=kind({"box": CORNERS}))
    compare(setup, "euler", (5, 4), h=2e-3)


@pytest.mark.long
@fused
@pytest.mark.parametrize("rows", [1, 31, 64, 200])
def test_parameters_forces_and_numbers_of_samples(rows, gpu, rng):
    """Inertias of each sample, one gravity for all; f_ext of each sample; samples that fill several blocks."""
    model = sixd.zoo.ur_arm()
    own = np.array([sixd.Inertia.from_matrix(x).parameters for x in model.inertia[1:]])
    parameters = {"inertia": own * rng.uniform(0.5, 2, (rows, 1, 1)), "gravity": np.array([0, 0.5, -3.7])}
    f_ext = rng.normal(size=(rows, model.nb, 6))
    setup = setup_of(model, rng, rows=rows, parameters=parameters, f_ext=f_ext, controller=rng.normal(size=model.nv))
    compare(setup, "euler", (1, 1, 1))


@fused
def test_constraints(gpu, rng):
    model = sixd.zoo.four_bar()
    q = sixd.assemble(model, model.neutral() + 0.1)
    compare(setup_of(model, rng, q=np.stack([q] * 3), qd=np.zeros((3, model.nv))), "rk4", (5,))


@pytest.mark.many
@fused
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", METHODS)
def test_steps_back(method, dtype, gpu, rng):
    """Series of forces, records of states and results, and records from the last to the first."""
    model = sixd.zoo.pendulum(2)
    check_gradient(
        setup_of(model, rng, dtype, 37, controller=np.zeros(2), parameters={"gravity": model.gravity}), method, rng
    )


@pytest.mark.long
@fused
def test_steps_back_of_friction(gpu, rng):
    """Repeated calls of an adjoint."""
    model = dataclasses.replace(sixd.zoo.pendulum(2), friction=np.array([0.3, 0.1]))
    check_gradient(setup_of(model, rng, controller=np.zeros(2)), "midpoint", rng)


def check_gradient(setup, method, rng, steps=4):
    """Forward and backward, and a final cost, on both sides."""
    dtype, model, problem = setup.dtype, setup.problem.system, setup.problem
    shapes = {"t": (), "q": (model.nq,), "qd": (model.nv,), "tau": (model.nv,)}
    cost = traced_cost("test", "cost", lambda t, q, qd, tau: q @ q + t * (tau @ qd), shapes, dtype)
    here, there = (forward_backward_steps(problem, method, dtype, cost, target) for target in (cpu, TARGET))
    numbers = {"h": np.array([1e-3], dtype), "start": np.zeros(1, dtype)}
    constants = [(numbers | {f"constant {k}": x for k, x in setup.constants.items()})[n] for n in here.constants]
    state = {name: np.zeros((setup.rows, *shape), dtype) for name, shape in here.state.items()}
    state |= {"q": setup.q, "qd": setup.qd}
    taus = rng.normal(size=(setup.rows, steps, model.nv)).astype(dtype)
    arrays = [*state.values(), *constants, taus]
    expected, found = here.forward(np.ones(steps), arrays), on_gpu(there.forward, np.ones(steps), arrays)
    for x, y in zip(found, expected, strict=True):
        assert_array_equal(x, y)
    made = dict(zip(here.outputs, expected, strict=True))
    records = [np.concatenate([state[n][:, None], made[n][:, :-1]], 1) if n in state else made[n] for n in here.series]
    weights = [rng.normal(size=(setup.rows, *shape)).astype(dtype) for shape in here.gradients.values()]
    arrays = [*weights, *constants, *records, taus]
    expected, found = here.backward(np.ones(steps), arrays), on_gpu(there.backward, np.ones(steps), arrays)
    for x, y in zip(found, expected, strict=True):
        assert_array_equal(x, y)
    assert np.isfinite(found[-1]).all()
    final = traced_cost("test", "final", lambda q, qd: q @ q, {"q": (model.nq,), "qd": (model.nv,)}, dtype)
    arrays = [setup.q, setup.qd, np.zeros(setup.rows, dtype), 0 * setup.q, 0 * setup.qd]
    ends = (
        final_code(problem, final, dtype)([1], arrays),
        on_gpu(final_code(problem, final, dtype, TARGET), [1], arrays),
    )
    for x, y in zip(*ends, strict=True):
        assert_array_equal(x, y)


@pytest.mark.many
@fused
@pytest.mark.parametrize("limit", [0, 50, 10**6])
@pytest.mark.parametrize("dtype", DTYPES)
def test_programs_in_the_kernel_and_as_functions(limit, dtype, gpu, rng, monkeypatch):
    monkeypatch.setattr(emitter, "INLINED", limit)
    compare(setup_of(sixd.zoo.pendulum(2), rng, dtype), "midpoint")


@fused
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_programs(dtype, gpu, rng, monkeypatch):
    monkeypatch.setattr(rolled, "WHEN", "always")
    compare(setup_of(sixd.zoo.pendulum(3), rng, dtype, 5), "midpoint", (1, 1))


# tables and loops -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [recipes.springs, recipes.nested, recipes.roots])
def test_tables_and_loops(make, dtype, gpu, rng):
    """One function for the rows of a table, also on GPUs; bit-identical to the CPU's results."""
    recipe = make()
    arrays = [rng.uniform(0, 3, (33, *recipe.memory[name])).astype(dtype) for name in recipe.state]
    key = recipe_key(recipe, dtype)
    on_host, code = (make_rollout(recipe, key, "test", "loops", "none", dtype, target) for target in (cpu, TARGET))
    for x, y in zip(on_gpu(code, [2], arrays), on_host(np.array([2]), arrays), strict=True):
        assert_array_equal(x, y)


# one step ---------------------------------------------------------------------------------------------------


@fused
def test_a_step_skips_samples_that_it_cannot_compute(gpu, rng):
    """Quaternions not exactly of unit length; samples with a number that is not finite become NaN, and are counted."""
    model = sixd.zoo.random_tree(2, kinds=("free", "revolute"))
    model = dataclasses.replace(model, friction=np.zeros(model.nv))
    setup = setup_of(model, rng, rows=40)
    q, qd = setup.q * 1.0005, setup.qd.copy()
    q[7, 0], q[20, 3] = np.nan, np.inf
    code = step_rollout(setup.problem, "rk4", "float64", TARGET)
    found = on_gpu(code, [1], [q, qd, np.array([1e-3]), np.zeros(1)])
    good = np.isin(np.arange(40), (7, 20), invert=True)
    expected = sixd.step(model, q[good], qd[good], 1e-3)
    for x, y in zip(found, expected, strict=True):
        assert_array_equal(x[good], y)
        assert np.isnan(x[~good]).all()
    with pytest.raises(sixd.SingularError, match=r"step \(2 states\)"):
        sixd.cuda.check()


# arguments --------------------------------------------------------------------------------------------------


@pytest.mark.many
@fused
@pytest.mark.parametrize(
    "counts", [[], [4], [0, 3], [2, 2, 2, 2], [5, 2, 2, 1], [1, 2, 3, 4, 5, 5, 5, 1], [3, 3, 0, 0, 7]]
)
@pytest.mark.parametrize("backwards", [False, True])
def test_any_numbers_of_steps(counts, backwards, gpu, rng):
    """Several launches, each from the state that the one before left, recorded or not."""
    setup = setup_of(sixd.zoo.pendulum(2), rng)
    _, arrays = on_cpu(setup, "euler", 1e-3)
    plain = make_recipe(setup.problem, "euler", "float64")
    recipe = dataclasses.replace(plain, recorded=("q",), backwards=backwards)
    key = recipe_key(recipe, "float64")
    codes = [make_rollout(recipe, key, "test", "euler", "arm", "float64", target) for target in (cpu, TARGET)]
    expected = codes[0](np.array(counts, dtype=int), arrays)
    found = on_gpu(codes[1], counts, arrays)
    for x, y in zip(found, expected, strict=True):
        assert_array_equal(x, y)
    assert len(gpu.launches) == len(_pieces(np.array(counts)))


def test_pieces():
    def pieces(*counts):
        return _pieces(np.array(counts, dtype=int))

    assert pieces(5, 2, 2, 2, 1) == [(0, 5)]
    assert pieces(1) == [(0, 1)]
    assert pieces() == [(0, 0)]
    assert pieces(1, 2, 3, 4, 4, 4, 5, 6) == [(0, 3), (3, 7), (7, 8)]


@fused
def test_records_go_to_arrays_of_the_caller(gpu, rng):
    """Samples with any stride; nothing else is written. One state for all, and cores that are not contiguous."""
    setup = setup_of(sixd.zoo.pendulum(2), rng)
    code, arrays = on_cpu(setup, "euler", 1e-3)
    device = rollout(setup.problem, "euler", "float64", target=TARGET)
    buffer = np.full((33, 6, 2), 5.0)
    out = [None, Array(buffer[:, 2:5]), *[None] * (len(device.outputs) - 2)]
    turned = [*arrays[:2], np.asfortranarray(arrays[2]), *arrays[3:]]
    found = device([1, 1, 1], [Array(x) for x in turned], out)
    assert found[1] is out[1]
    assert_array_equal(buffer[:, 2:5], code(np.ones(3), arrays)[1])
    assert (buffer[:, [0, 1, 5]] == 5).all()


def test_mistakes(gpu, rng):
    setup = setup_of(sixd.zoo.pendulum(2), rng)
    arrays = [x.copy() for x in on_cpu(setup, "euler", 1e-3)[1]]
    code = rollout(setup.problem, "euler", "float64", target=TARGET)
    good = [Array(x) for x in arrays]
    for change, error, text in [
        (lambda a: a.__setitem__(1, Array(arrays[1].astype("float32"))), ScalarTypeError, "array 1 holds float32"),
        (
            lambda a: a.__setitem__(2, Array(arrays[2][:5])),
            ShapeError,
            r"array 2 has shape \(5, 2\), expected \(33, 2\)",
        ),
        (lambda a: a.__setitem__(1, arrays[1]), DeviceError, "in CPU memory"),
    ]:
        bad = list(good)
        change(bad)
        with pytest.raises(error, match=text):
            code([1], bad)
    empty = [None] * (len(code.outputs) - 2)
    with pytest.raises(ShapeError, match=r"expected a writeable float64 array of shape \(33, 1, 2\)"):
        code([1], good, [None, Array(np.zeros((33, 2))), *empty])
    with pytest.raises(DeviceError, match="out overlaps"):
        code([1], good, [None, Array(arrays[1][:, None]), *empty])


# the assembler ----------------------------------------------------------------------------------------------

ALLOWED = re.compile(
    r"(add|sub|mul|fma|div|rcp|sqrt)\.rn\.f(32|64)|cvt\.rn\.f32\.f64|cvt\.f64\.f32|cvt\.rn\.f64\.s64|rcp\.approx\.ftz\.f64"
)


@pytest.mark.many
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", METHODS)
def test_kernels_assemble(method, dtype, tmp_path, rng):
    """Every result is rounded once; the values that a step passes from call to call are in registers."""
    model = sixd.zoo.random_tree(7, kinds=("revolute", "spherical"))
    recipe = make_recipe(setup_of(model, rng, dtype, 2).problem, method, dtype)
    ptx = make_ptx(emit_rollout_kernel(recipe, dtype), "sm_90")
    pattern = r"^\s+(?:@!?%p\d+ )?((?:add|sub|mul|fma|mad|div|sqrt|rcp|rsqrt|ex2|lg2|sin|cos|cvt)\.\S*f(?:32|64)\S*)"
    assert {word for word in re.findall(pattern, ptx, re.M) if not ALLOWED.fullmatch(word)} == set()
    assert not re.search(r"\.ftz|\.approx|\.full|\.sat|\.extern \.func", ptx.replace("rcp.approx.ftz.f64", ""))
    assert assemble(ptx, "sm_90", tmp_path) > 0


def test_an_arm_keeps_its_state_in_registers(rng):
    recipe = make_recipe(setup_of(sixd.zoo.ur_arm(), rng, rows=2).problem, "rk4")
    assert not re.search(r"\.local", make_ptx(emit_rollout_kernel(recipe, "float64"), "sm_90"))
