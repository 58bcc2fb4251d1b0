"""Compiled code: every operation, CPU and thread gives the numbers of the graph; models are created and freed."""

import contextlib
import copy
import ctypes
import dataclasses
import functools
import gc
import itertools
import multiprocessing
import os
import pickle
import platform
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from robots import FIVE, quiet_load
from samples import OPERATIONAL, single_joint
from sixd.algorithms import rnea
from sixd.codegen.llvm import machine as machines
from sixd.codegen.llvm.entry import emit_entry
from sixd.codegen.llvm.loop import emit_loop
from sixd.codegen.llvm.machine import Machine, assemble, host
from sixd.engine.functions import LIBRARY
from sixd.model import memo
from sixd.runtime.machine_code import Image, make_image
from sixd.runtime.routine import CodeForm, Routine
from sixd.spatial import (
    absolute,
    acos,
    asin,
    atan2,
    cos,
    exp,
    hypot,
    log,
    log1p,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
    where,
)  # fmt: skip
from sixd.spatial.dual import Dual
from sixd.trace import Expr, Op, trace
from sixd.trace import jacobian as derivative

MODEL = single_joint("spherical")
ARM = sixd.zoo.planar(2)
each_dtype = pytest.mark.parametrize("dtype", ["float64", "float32"])


@pytest.fixture(autouse=True)
def all_threads():
    """The number of threads is restored."""
    yield
    sixd.set_num_threads(None)


@pytest.fixture
def no_cache(monkeypatch):
    """Everything is compiled."""
    monkeypatch.setenv("SIXD_CACHE_DIR", "off")


@pytest.fixture
def small_tasks(monkeypatch):
    """Threads are used for the smallest batch of a model that is made now; a list of the numbers of tasks."""
    from sixd.runtime import threads

    handed, spread = [], threads.spread
    monkeypatch.setattr("sixd.runtime.routine.LARGE", 1)
    monkeypatch.setattr(threads, "spread", lambda tasks: handed.append(len(tasks)) or spread(tasks))
    return handed


@pytest.fixture
def compilations(monkeypatch, no_cache):
    """A list that grows by one for each compiled piece of machine code."""
    made = []

    def counted(module, machine):
        made.append(module)
        time.sleep(0.01)  # others may come during the compilation
        return assemble(module, machine)

    monkeypatch.setattr(machines, "assemble", counted)
    return made


def draw(model, rng, batch=(), count=2):
    rows = int(np.prod(batch))
    q = np.array([model.random_configuration(rng) for _ in range(rows)]).reshape((*batch, model.nq))
    return [q, *(rng.uniform(-1, 1, (*batch, model.nv)) for _ in range(count))]


def same(a, b):
    """Whether two arrays have the same bits; all NaN are equal."""
    a, b = np.asarray(a), np.asarray(b)
    known = ~np.isnan(a)
    return (
        a.dtype == b.dtype
        and np.array_equal(a, b, equal_nan=True)
        and np.array_equal(np.signbit(a[known]), np.signbit(b[known]))
    )


# code for any CPU
# -------------------------------------------------------------------------------------------------------


def make(program, dtype, machine, *, linked=True):
    """Return a routine of a program for a CPU, without a limit above which results are suspect."""

    def provide(form):
        if form == "entry":
            module = emit_entry(program, dtype, np.inf, machine.has_fma, machine.lanes(dtype))
        else:
            module = emit_loop(program, dtype, machine.lanes(dtype), np.inf, machine.has_fma)
        code = assemble(module, machine)
        image = make_image(code) if linked else Image(code, {}, linked=False)
        return CodeForm(image, tuple(slot.shape for slot in program.outputs), program.operations)

    return Routine("test", tuple(slot.shape for slot in program.inputs), dtype, provide)


def run(routine, *arrays):
    """Return the outputs, for a batch or a single sample."""
    batch = arrays[0].shape[: arrays[0].ndim - len(routine.inputs[0])]
    return [np.asarray(x) for x in routine(list(arrays), batch, None)[0]]


def supports(*features):
    known = machines.load_llvm().get_host_cpu_features()
    return platform.machine() in ("x86_64", "AMD64") and all(known.get(f) for f in features)


def machine(name, dtype):
    """Return a CPU that this computer can emulate."""
    if name == "host":
        return host()
    if name == "one lane":
        return dataclasses.replace(host(), bits={"float64": 64, "float32": 32}[dtype])
    cpu, bits, has_fma, *features = {
        "AVX2": ("x86-64-v3", 256, True, "avx2", "fma"),
        "SSE2": ("x86-64", 128, False, "sse2"),
        "wider than the registers": ("x86-64-v3", 1024, True, "avx2", "fma"),
        "no fused products": ("x86-64-v2", 128, False, "sse4.2"),
    }[name]
    if not supports(*features):
        pytest.skip(f"this CPU cannot run code for {cpu}")
    return Machine(cpu, "", bits, has_fma)


MACHINES = ("host", "AVX2", "SSE2", "one lane", "wider than the registers", "no fused products")


@functools.cache
def program_of(name):
    return sixd.compile(getattr(sixd, name), MODEL).program


@pytest.mark.many
@each_dtype
@pytest.mark.parametrize("cpu", MACHINES)
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "energy"])
def test_other_cpus(name, cpu, dtype, rng):
    """Code for other vectors gives the graph's numbers for any number of samples; batch and single sample agree to the
    bit.
    """
    program, routine = program_of(name), make(program_of(name), dtype, machine(cpu, dtype))
    arrays = [x.astype(dtype) for x in draw(MODEL, rng, (21,), len(program.inputs) - 1)]
    whole = run(routine, *arrays)
    for x, y in zip(whole, program.evaluate(*arrays), strict=True):
        if dtype == "float64":
            assert_allclose(x, y, rtol=1e-10, atol=1e-10)
        else:
            assert np.linalg.norm(x - y) <= 1e-4 * np.linalg.norm(y)
    for rows in range(1, 21):
        assert all(same(x, y[:rows]) for x, y in zip(run(routine, *(a[:rows] for a in arrays)), whole, strict=True))
    for row in range(21):
        assert all(same(x, y[row]) for x, y in zip(run(routine, *(a[row] for a in arrays)), whole, strict=True))


@pytest.mark.long
@each_dtype
def test_bits_do_not_depend_on_the_width_of_vectors(dtype, rng):
    """CPUs with fused products agree to the last bit, whatever their vectors; so do those without."""
    program = program_of("forward_dynamics")
    arrays = [x.astype(dtype) for x in draw(MODEL, rng, (21,))]
    for names in (("one lane", "AVX2", "wider than the registers"), ("SSE2", "no fused products")):
        results = [run(make(program, dtype, machine(name, dtype)), *arrays)[0] for name in names]
        assert all(same(x, results[0]) for x in results)
    if host().has_fma:
        assert same(
            run(make(program, dtype, host()), *arrays)[0],
            run(make(program, dtype, machine("one lane", dtype)), *arrays)[0],
        )


@pytest.mark.long
@each_dtype
def test_code_loaded_by_llvm(dtype, rng):
    """Where sixd does not link object files, LLVM's loader works too, to the bit."""
    program = program_of("forward_dynamics")
    ours, theirs = (make(program, dtype, host(), linked=linked) for linked in (True, False))
    assert not theirs.part("loop").image.linked
    assert not theirs.part("entry").image.linked
    for batch in ((), (1,), (13,), (2, 3)):
        arrays = [x.astype(dtype) for x in draw(MODEL, rng, batch)]
        assert same(run(theirs, *arrays)[0], run(ours, *arrays)[0])
    del ours, theirs
    gc.collect()


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="only these files are linked")
def test_code_is_linked_on_linux():
    """No relocation remains, so a warm start needs no LLVM."""
    for dtype in ("float64", "float32"):
        routine = make(program_of("forward_dynamics"), dtype, host())
        assert routine.part("loop").image.linked
        assert routine.part("entry").image.linked


# every operation -------------------------------------------------------------------------------------------------

OPERATIONS = {
    Op.ADD: lambda x, y: x + y, Op.SUB: lambda x, y: x - y, Op.MUL: lambda x, y: x * y, Op.DIV: lambda x, y: x / y,
    Op.NEG: lambda x: -x, Op.SIN: sin, Op.COS: cos, Op.TAN: tan, Op.ASIN: asin, Op.ACOS: acos, Op.ATAN2: atan2,
    Op.SQRT: sqrt, Op.EXP: exp, Op.LOG: log, Op.LOG1P: log1p, Op.TANH: tanh, Op.HYPOT: hypot, Op.ABS: absolute, Op.SIGN: sign, Op.MIN: minimum, Op.MAX: maximum,
    Op.LT: lambda x, y: where(x < y, 1.0, 2.0), Op.LE: lambda x, y: where(x <= y, 1.0, 2.0),
    Op.EQ: lambda x, y: where(x == y, 1.0, 2.0), Op.NOT: lambda x, y: where(x != y, 1.0, 2.0),
    Op.AND: lambda x, y: where((x < y) & (x < 1), x, y), Op.OR: lambda x, y: where((x < y) | (y < 0), x, y),
    Op.SELECT: lambda x, y: where(x > 0, y, x),
}  # fmt: skip
AWKWARD = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -1e-9, 0.7853981633974483, -1.5707963267948966, 3.141592653589793, 100.0,
     1e5, -1e15, 1e20, 3e37, -1e300, 1e-20, 1e-40, -5e-324, 1e-310, 88.7, -104.0, 709.7, -745.2, 1 + 2**-23, 1 - 2**-24,
     np.inf, -np.inf, np.nan]
)  # fmt: skip


@pytest.mark.many
@each_dtype
@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.word)
def test_every_operation_in_both_forms(op, dtype):
    """With extreme values, infinities, NaN and subnormals: NumPy's results to 2 ulp; one sample has the bits of a
    batch.
    """
    function = OPERATIONS[op]
    arity = (
        function.__code__.co_argcount if hasattr(function, "__code__") and function.__name__ == "<lambda>" else op.arity
    )
    program = trace(lambda *xs: function(*xs), {"xy"[k]: () for k in range(arity)})
    assert op.word in program.count()
    with np.errstate(over="ignore"):
        values = np.array(list(itertools.product(AWKWARD, repeat=arity))).T.astype(dtype)
    routine = make(program, dtype, host())
    (result,), (exact,) = run(routine, *values), program.evaluate(*values)
    with np.errstate(over="ignore"):
        expected = exact.astype(dtype)
    assert np.array_equal(np.isnan(result), np.isnan(expected))
    finite = np.isfinite(expected)
    assert np.array_equal(result[~finite], expected[~finite], equal_nan=True)
    off = np.abs(result[finite].astype(np.longdouble) - exact[finite])
    bound = 2 * np.spacing(np.abs(expected[finite]))
    if op in (Op.SIN, Op.COS, Op.TAN):  # huge angles are right to the rounding of π
        huge = np.abs(values[0][finite]) > {"float64": 2.0**42, "float32": 2.0**17}[dtype]
        bound = np.where(huge, 4 * np.finfo(dtype).eps * (1 + exact[finite] ** 2), bound)
    assert (off <= bound).all()
    for k in range(values.shape[1]):
        assert same(run(routine, *(np.asarray(x[k]) for x in values))[0], result[k])


def test_all_operations_are_tested():
    assert set(OPERATIONS) == set(Op) - {Op.CONST, Op.INPUT, Op.HELD}


@pytest.mark.skipif(os.name != "posix", reason="the C library's fma")
def test_products_in_sums_are_rounded_once(rng):
    """x y + z and z - x y are C's fma if the CPU has it, else two operations."""
    library = ctypes.CDLL(None)
    library.fma.restype, library.fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
    program = trace(lambda x, y, z: np.array([x * y + z, z - 2.5 * x * y]), {"x": (), "y": (), "z": ()})
    x, y = rng.uniform(-1, 1, (2, 200))
    z = -x * y * (1 + rng.uniform(-1e-15, 1e-15, 200))
    (fused,) = run(make(program, "float64", host()), x, y, z)
    (parted,) = run(make(program, "float64", dataclasses.replace(host(), has_fma=False)), x, y, z)
    assert np.array_equal(parted[:, 0], x * y + z)
    assert np.array_equal(parted[:, 1], z - x * 2.5 * y)
    if host().has_fma:
        assert [library.fma(*v) for v in zip(x, y, z, strict=True)] == fused[:, 0].tolist()
        assert np.array_equal(fused[:, 1], [library.fma(-(a * 2.5), b, c) for a, b, c in zip(x, y, z, strict=True)])


# unusual programs
# --------------------------------------------------------------------------------------------------------

ODD = {
    "an input": lambda x, y: x,
    "inputs in another order": lambda x, y: (y, x),
    "a constant": lambda x, y: np.array([1.5, -2.0, 0.0]),
    "a scalar constant": lambda x, y: 7.0,
    "the same twice": lambda x, y: (x + y, x + y),
    "an entry in many places": lambda x, y: np.array([[x[0], x[0] * y[1]], [x[0] * y[1], x[0]]]),
    "an intermediate value": lambda x, y: (x * y, x * y + y, (x * y + y) * x),
    "nothing": lambda x, y: np.zeros(0),
    "an empty result next to others": lambda x, y: (np.zeros((0, 3)), x, np.zeros((2, 0))),
    "infinities": lambda x, y: np.array([np.inf, -np.inf, x[0]]),
    "not a number": lambda x, y: np.array([np.nan, x[0]]),
    "many dimensions": lambda x, y: (x[:, None, None] * y[None, :, None] + np.zeros((2, 2, 3))).reshape(2, 1, 2, 3),
    "many outputs": lambda x, y: tuple(x[0] + k * y[1] for k in range(30)),
    "a long output": lambda x, y: np.array([x[k % 2] * (k + 1) + y[(k // 2) % 2] for k in range(67)]),
    "one input unused": lambda x, y: sin(y[0]),
}


@pytest.mark.many
@each_dtype
@pytest.mark.parametrize("name", ODD)
def test_unusual_programs(name, dtype, rng):
    """Outputs that are inputs, constants, equal, empty, without dimensions or of many."""
    kernel = sixd.compile(ODD[name], ARM, dtype=dtype, shapes={"x": (2,), "y": (2,)})
    program = kernel.program
    for batch in ((), (1,), (5,), (2, 9), (0,)):
        arrays = [x.astype(dtype) for x in rng.uniform(-1, 1, (2, *batch, 2))]
        for _ in range(2):
            result = kernel(*arrays)
            results = result if isinstance(result, tuple) else (result,)
            assert len(results) == len(program.outputs)
            for x, y in zip(results, program.evaluate(*arrays), strict=True):
                assert x.shape == y.shape
                assert x.dtype == dtype
                assert_allclose(
                    x, y, rtol=1e-14 if dtype == "float64" else 1e-6, atol=1e-7 if dtype == "float32" else 0
                )


def test_a_kernel_without_arrays():
    """A function of nothing is a constant."""
    kernel = sixd.compile(lambda: np.array([1.0, 2.0]), ARM)
    out = np.zeros(2)
    for _ in range(2):
        assert kernel().tolist() == [1, 2]
        assert kernel(out=out) is out
        assert out.tolist() == [1, 2]


@each_dtype
def test_models_without_degrees_of_freedom(dtype):
    """All joints fixed: arrays without columns, in batches or not, give results of the right shape."""
    builder = sixd.ModelBuilder("rock")
    builder.add_body("stone", "world", sixd.Fixed(), inertia=sixd.sphere(0.5, mass=1.0))
    rock = builder.build()
    assert rock.nq == 0
    for batch in ((), (1,), (4,), (2, 3), (0,)):
        x = np.zeros((*batch, 0), dtype)
        for _ in range(2):
            assert sixd.inverse_dynamics(rock, x, x, x).shape == (*batch, 0)
            assert sixd.forward_dynamics(rock, x, x, x).shape == (*batch, 0)
            assert sixd.mass_matrix(rock, x).shape == (*batch, 0, 0)
            assert sixd.jacobian(rock, x, "stone").shape == (*batch, 6, 0)
            assert [e.shape for e in sixd.hybrid_dynamics(rock, [], x, x, x, x)] == [(*batch, 0)] * 2
            kinetic, potential = sixd.energy(rock, x, x)
            assert kinetic.shape == potential.shape == batch
            pose = sixd.pose(rock, x, "stone")
            assert pose.dtype == dtype
            assert np.array_equal(pose, np.broadcast_to(np.eye(4), (*batch, 4, 4)))


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "free", "planar", "universal", "helical"])
def test_models_of_one_body(kind, rng):
    """One joint: every sample of a batch has the bits of a single call."""
    model = sixd.zoo.random_tree(1, kinds=(kind,))
    q, qd, qdd = draw(model, rng, (9,))
    whole = sixd.inverse_dynamics(model, q, qd, qdd)
    assert_allclose(whole, [rnea.rnea(model, *row) for row in zip(q, qd, qdd, strict=True)], rtol=1e-12, atol=1e-12)
    assert all(same(sixd.inverse_dynamics(model, q[k], qd[k], qdd[k]), whole[k]) for k in range(9))


def test_huge_angles_and_tiny_numbers(rng):
    """Angles to 1e22 are reduced exactly; subnormal speeds stay subnormal; one invalid lane does not change its
    neighbours.
    """
    q = np.array([[1e5, -1e9], [1e15, 3e20], [1e22, -1e20], [0.3, 0.5], [1e-310, -5e-324], [2.0**60, 0.1]] * 3)
    v = rng.uniform(-1, 1, q.shape)
    (expected,) = sixd.compile(sixd.inverse_dynamics, ARM).program.evaluate(q, v, v)
    result = sixd.inverse_dynamics(ARM, q, v, v)
    assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
    assert all(same(sixd.inverse_dynamics(ARM, q[k], v[k], v[k]), result[k]) for k in range(len(q)))
    tiny = np.full((5, 2), 1e-310)
    small = sixd.inverse_dynamics(ARM, q[:5] * 0, tiny * 0, tiny)
    assert_allclose(small, np.broadcast_to(sixd.mass_matrix(ARM, [0, 0]) @ tiny[0], (5, 2)), rtol=0, atol=2e-323)


@pytest.mark.long
def test_graphs_of_fifty_thousand_operations(rng, no_cache):
    """A graph of that size is cut into blocks, compiled in seconds, and right."""
    tree = sixd.zoo.autotree(32, 2.0, 0.3, 0.9)

    def sensitivity(q, qd, qdd, model):
        return derivative(list(sixd.inverse_dynamics(model, q, qd, qdd)), [*q, *qd])

    kernel = sixd.compile(sensitivity, tree)
    program = kernel.program
    assert program.operations > 50_000
    arrays = draw(tree, rng, (11,))
    (expected,) = program.evaluate(*arrays)
    assert_allclose(kernel(*arrays), expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


# float32 on robots -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [sixd.inverse_dynamics, sixd.forward_dynamics, sixd.mass_matrix])
@pytest.mark.parametrize("robot", ["ur5", "anymal", *(pytest.param(n, marks=pytest.mark.long) for n in ("panda", "talos", "simple_humanoid"))])  # fmt: skip
def test_float32_on_robots(robot, function, rng):
    """Single precision is within 1e-4 of the graph in double precision, norm-wise in every sample."""
    model = quiet_load(FIVE[robot])
    kernel = sixd.compile(function, model, dtype="float32")
    arrays = [x.astype("f4") for x in draw(model, rng, (16,), len(kernel.inputs) - 1)]
    result, (expected,) = kernel(*arrays), kernel.program.evaluate(*arrays)
    assert result.dtype == np.float32
    off, size = ((x.reshape(16, -1) ** 2).sum(axis=1) ** 0.5 for x in (result - expected, expected))
    assert (off <= 1e-4 * size).all()


# threads ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, -1, 1.5, "2", True, [2], float("nan")], ids=repr)
def test_wrong_numbers_of_threads(n):
    """A clear error; the number of threads does not change."""
    before = sixd.get_num_threads()
    with pytest.raises(sixd.ScalarTypeError, match="set_num_threads: n is .*, expected a whole number of at least 1"):
        sixd.set_num_threads(n)
    assert sixd.get_num_threads() == before


def test_the_number_of_threads():
    """It is the number that was set; None means all the cores that this process may use."""
    for n in (1, 2, 3, 50):
        sixd.set_num_threads(n)
        assert sixd.get_num_threads() == n
    sixd.set_num_threads(None)
    assert sixd.get_num_threads() == (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    )


@each_dtype
@pytest.mark.parametrize("batch", [(1,), (2,), (37,), (1, 19), (3, 7), (5, 1, 4)], ids=str)
def test_threads_do_not_change_bits(batch, dtype, rng, small_tasks):
    """One, two, three or fifty threads give the same bits, in new arrays and in ``out``, also if a sample is NaN."""
    model = copy.copy(MODEL)
    q, qd, tau = (x.astype(dtype) for x in draw(model, rng, batch))
    for row in (None, 0):
        if row is not None:
            qd.reshape(-1, MODEL.nv)[row, 0] = np.nan
        sixd.set_num_threads(1)
        expected = sixd.forward_dynamics(model, q, qd, tau)
        small_tasks.clear()
        for n in (2, 3, 50, None):
            sixd.set_num_threads(n)
            assert same(sixd.forward_dynamics(model, q, qd, tau), expected)
            out = np.full((2, *expected.shape), np.nan, dtype)[::-1][1]
            assert sixd.forward_dynamics(model, q, qd, tau, out=out) is out
            assert same(out, expected)
            one = sixd.forward_dynamics(model, q, qd[..., :1, :], tau)
            assert same(one[..., 0, :], expected[..., 0, :])
        assert len(small_tasks) >= 9


def test_errors_in_threads_name_the_sample(small_tasks):
    """A singular sample is reported whichever thread computed it."""
    top = sixd.zoo.spinning_top()
    q = np.tile([0.1, 0.5, 0.2], (40, 1))
    for row in (0, 13, 39):
        bad = q.copy()
        bad[row, 1] = 0
        for n in (1, 3):
            sixd.set_num_threads(n)
            with pytest.raises(sixd.SingularError, match=rf"in state \({row},\)"):
                sixd.forward_dynamics(top, bad, np.zeros(3), np.zeros(3))


def at_once(count, task):
    """Return results of task(0), …, called by as many threads that start together."""
    barrier = threading.Barrier(count)

    def one(k):
        barrier.wait()
        return task(k)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@pytest.mark.parametrize("rows", [(), (3,), (50,)], ids=str)
def test_many_threads_call_one_kernel(rows, rng):
    """Eight threads at once on their own data, one of them with NaN: each gets its own results."""
    kernel = sixd.compile(sixd.forward_dynamics, MODEL)
    data = [draw(MODEL, rng, rows) for _ in range(8)]
    data[3][1][...] = np.nan
    expected = [kernel(*x) for x in data]

    def task(k):
        out = np.empty_like(expected[k])
        for _ in range(200):
            assert same(kernel(*data[k]), expected[k])
            assert same(kernel(*data[k], out=out), expected[k])
            x = data[k][2].copy()  # over its own input
            assert same(kernel(*data[k][:2], x, out=x), expected[k])

    at_once(8, task)


def test_errors_stay_in_their_thread():
    """A thread at a singular configuration gets the error each time, other threads never."""
    top = sixd.zoo.spinning_top()
    good, bad, zero = np.array([[0.1, 0.5, 0.2]] * 9), np.array([[0.1, 0.0, 0.2]] * 9), np.zeros((9, 3))
    expected = sixd.forward_dynamics(top, good, zero, zero)

    def task(k):
        for _ in range(100):
            if k % 2:
                with pytest.raises(sixd.SingularError):
                    sixd.forward_dynamics(top, bad, zero, zero)
            else:
                assert same(sixd.forward_dynamics(top, good, zero, zero), expected)

    at_once(4, task)


@pytest.mark.parametrize("batch", [(), (5,)], ids=str)
def test_first_calls_from_many_threads_compile_once(batch, rng, compilations):
    """Eight threads that need the same uncompiled function wait for one compilation: public function and kernel."""
    model = sixd.zoo.pendulum(2)
    arrays = draw(model, rng, batch)
    results = at_once(8, lambda k: sixd.inverse_dynamics(model, *arrays))
    assert len(compilations) == 1
    for made in range(2, 8):
        kernel = sixd.compile(sixd.inverse_dynamics, model)
        results += at_once(8, lambda k, kernel=kernel: kernel(*arrays))
        assert len(compilations) == made
    assert all(same(x, results[0]) for x in results)


def test_different_functions_compile_side_by_side(rng, compilations):
    """Threads that need different code do not block each other."""
    models = [sixd.zoo.pendulum(1), sixd.zoo.pendulum(2)]
    names = ("gravity_force", "mass_matrix", "center_of_mass", "body_poses")
    states = [draw(m, rng, (3,), 0)[0] for m in models]
    results = at_once(8, lambda k: getattr(sixd, names[k // 2])(models[k % 2], states[k % 2]))
    assert len(compilations) == 8
    for k, result in enumerate(results):
        assert same(result, getattr(sixd, names[k // 2])(models[k % 2], states[k % 2]))


def test_the_number_of_threads_may_change_while_others_compute(rng, small_tasks):
    """Setting it does not remove a pool of threads that is in use."""
    model = copy.copy(ARM)
    q, qd, qdd = draw(model, rng, (40,))
    expected = sixd.inverse_dynamics(model, q, qd, qdd)
    stop = threading.Event()

    def change(_):
        for n in itertools.cycle((2, 3, 4)):
            sixd.set_num_threads(n)
            if stop.is_set():
                return True

    def compute(_):
        try:
            return all(same(sixd.inverse_dynamics(model, q, qd, qdd), expected) for _ in range(20))
        finally:
            stop.set()

    assert all(at_once(4, lambda k: change(k) if k == 0 else compute(k)))


def in_child(connection, model, arrays, expected):
    """What a forked process does: use known code, on threads, and compile new code."""
    try:
        good = same(sixd.inverse_dynamics(model, *arrays), expected)
        sixd.set_num_threads(3)
        good = good and same(sixd.inverse_dynamics(model, *arrays), expected)
        good = good and np.isfinite(sixd.forward_dynamics(sixd.zoo.pendulum(2), *arrays)).all()
        connection.send(bool(good))
    except BaseException as error:
        connection.send(repr(error))
        raise


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_after_a_fork(rng, small_tasks, no_cache):
    """A forked child computes on threads of its own, and compiles; the parent continues."""
    model = copy.copy(ARM)
    arrays = draw(model, rng, (30,))
    sixd.set_num_threads(2)
    expected = sixd.inverse_dynamics(model, *arrays)
    assert small_tasks
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=in_child, args=(theirs, model, arrays, expected))
    child.start()
    try:
        assert ours.poll(60), "the child hangs"
        assert ours.recv() is True
    finally:
        child.join(1)
        child.kill()
    assert same(sixd.inverse_dynamics(model, *arrays), expected)


# functions that run during a call ---------------------------------------------------------------------------------


class Watch:
    """Counts calls of functions of ``sixd.algorithms``, and lists those whose states are not traced scalars."""

    def __init__(self):
        self.calls, self.numeric, self._inside = [], [], 0

    def __call__(self, frame, event, _):
        code = frame.f_code
        # stack.py reads names of frames
        if f"sixd{os.sep}algorithms{os.sep}" not in code.co_filename or code.co_filename.endswith("stack.py"):
            return
        # pivots and sizes are computed in numbers, once, when a function that solves is compiled
        if code.co_name in ("singular_joints", "usual_sizes", "sizes_of_rows"):
            self._inside += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not self._inside:
            self.calls.append(code.co_name)
            given = [frame.f_locals.get(name) for name in ("q", "qd", "qdd", "tau", "b", "wrench", "f_ext")]
            # zeros replace arguments that a function omits; integers are unit vectors, dual numbers have traced scalars
            if not all(
                isinstance(e, (Expr, Dual, int, np.integer)) or e == 0
                for x in given
                if x is not None
                for e in np.ravel(x)
            ):
                self.numeric.append(code.co_name)

    @contextlib.contextmanager
    def on(self):
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield self
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def public_call(name, model, arrays):
    """Call a public function by the names of its arrays."""
    if name in ("integrate", "difference"):
        return getattr(model, name)(*arrays.values())
    fixed = {"frame": model.frame_names[-1], "given": list(model.joint_names[:1])}
    return getattr(sixd, name)(model, **arrays, **{k: fixed[k] for k in LIBRARY[name].choices if k in fixed})


@pytest.mark.many
@pytest.mark.parametrize("name", LIBRARY)
def test_public_functions_run_on_compiled_code(name, rng, compilations):
    """The first call traces, only on traced scalars; later calls of any form run no algorithm of the library."""
    # a frame with an operational inertia moves in all six directions
    model = sixd.zoo.random_tree(2, kinds=("free",) if name in OPERATIONAL else ("revolute", "helical"))
    function = LIBRARY[name]
    cores = {a: function.core(model, a) for a in function.arrays}

    def draw_arrays(batch):
        arrays = {a: rng.uniform(-1, 1, (*batch, *core)) for a, core in cores.items()}
        return arrays | {
            a: draw(model, rng, batch, 0)[0] for a in cores if a.startswith("q") and cores[a] == (model.nq,)
        }

    first, later = Watch(), Watch()
    with first.on():
        public_call(name, model, draw_arrays(()))
        public_call(name, model, draw_arrays((3,)))
    assert first.numeric == []
    if name not in ("integrate", "difference"):
        assert first.calls
    assert len(compilations) == 2
    with later.on():
        for batch in ((), (1,), (3,), (2, 5), (0,)):
            public_call(name, model, draw_arrays(batch))
            public_call(name, model, {a: x.tolist() if x.size else x for a, x in draw_arrays(batch).items()})
    assert later.calls == []
    assert len(compilations) == 2


def test_a_warm_kernel_runs_no_algorithm(rng):
    """Kernels too, float32 or joint, with or without f_ext, when a sample is NaN."""
    kernels = [sixd.compile(sixd.inverse_dynamics, MODEL, dtype=d) for d in ("float64", "float32")]
    kernels.append(sixd.compile((sixd.inverse_dynamics, sixd.energy), MODEL))
    data = {d: [[x.astype(d) for x in draw(MODEL, rng, b)] for b in ((), (4,))] for d in ("float64", "float32")}
    data["float64"][1][0][2] = np.nan
    force = np.ones((MODEL.nb, 6))

    def use():
        for kernel in kernels:
            for arrays in data[kernel.dtype or "float64"]:
                kernel(*arrays)
                kernel(*arrays, f_ext=force.astype(kernel.dtype))

    use()
    watch = Watch()
    with watch.on():
        use()
    assert watch.calls == []


# creating and freeing models ------------------------------------------------------------------------------------------


def tables():
    """Return the tables of the memo, including tables inside others."""
    found, rest = [], [memo.KNOWN, memo._ALIVE, *memo._INDEXES]
    while rest:
        found.append(rest.pop())
        rest.extend(x for x in found[-1].values() if isinstance(x, dict))
    return found


def models_in(table):
    """Return ids of models, which are keys or begin one."""
    return {k[0] if isinstance(k, tuple) else k for k in list(table)} - {k for k in table if isinstance(k, str)}


def known(key):
    """Return how many tables hold something of the model of this id."""
    return sum(key in models_in(table) for table in tables())


@pytest.mark.parametrize("cyclic", [False, True])
def test_a_freed_model_is_forgotten(cyclic):
    """Its routines are freed with it, at once or when a cycle is collected."""
    model = sixd.zoo.pendulum(2)
    for batch in ((), (3,)):
        q = np.zeros((*batch, 2))
        sixd.mass_matrix(model, q)
        sixd.forward_dynamics(model, q, q, q, f_ext=np.zeros((2, 6)))
        sixd.jacobian(model, q.astype("f4"), model.frame_names[-1])
    key, gone = id(model), weakref.ref(model)
    routine = weakref.ref(next(x for x in memo.KNOWN[key].values() if isinstance(x, Routine)))
    assert known(key) > 2
    if cyclic:
        loop = [model]
        loop.append(loop)
        del loop
    del model
    gc.collect()
    assert gone() is None
    assert routine() is None
    assert known(key) == 0


def executable_pages():
    """Return how many pieces of machine code without a file this process has mapped."""
    with open("/proc/self/maps") as maps:
        lines = [line.split() for line in maps]
    return sum("x" in line[1] and (len(line) == 5 or line[5] == "/dev/zero") for line in lines)


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="Linux tells what is mapped")
def test_a_freed_kernel_leaves_nothing(rng):
    """Its code and its model are freed with it, whatever it was used for."""
    arrays = draw(ARM, rng, (4,))
    counts, gone = [], []
    for k in range(5):
        model = sixd.zoo.pendulum(2, mass=1.0 + k)
        kernel = sixd.compile(sixd.inverse_dynamics, model)
        for _ in range(3):
            kernel(*(x[0] for x in arrays))
            kernel(*arrays)
        kernel(*arrays, f_ext=np.zeros((2, 6)))
        sixd.inverse_dynamics(model, *arrays)
        gone += [weakref.ref(x) for x in (model, kernel)]
        used = executable_pages()
        del model, kernel
        gc.collect()
        counts.append(executable_pages())
        assert used > counts[-1]
    assert [reference() for reference in gone] == [None] * 10
    assert len(set(counts[1:])) == 1  # the first call maps some for others: LLVM, ctypes


def test_code_outlives_its_kernel_while_it_runs(rng):
    """A kernel to which only the threads inside it have references."""
    arrays = draw(ARM, rng, (20_000,))
    expected = sixd.inverse_dynamics(ARM, *arrays)

    def task(_):
        return all(same(sixd.compile(sixd.inverse_dynamics, sixd.zoo.planar(2))(*arrays), expected) for _ in range(5))

    assert all(at_once(4, task))


def test_a_kernel_keeps_its_model():
    """A kernel works after its maker dropped the model."""
    kernel = sixd.compile(sixd.mass_matrix, sixd.zoo.pendulum(1, mass=3.0))
    gc.collect()
    assert_allclose(kernel([0.1]), [[1.0]], rtol=1e-15)
    assert_allclose(kernel([[0.1]]), [[[1.0]]], rtol=1e-15)


class Meanwhile:
    """A key: when it is compared in the search for a model's entries, another thread has just added one of its own."""

    def __init__(self, table, added):
        self.table, self.added = table, added

    def __eq__(self, _):
        self.table[self.added] = None
        return False

    __hash__ = object.__hash__


def test_a_model_that_is_freed_while_others_are_used():
    """Forgetting a model works even if a table changes at that moment: nothing may remain for a later model."""
    gc.collect()  # models of other tests, which would come back with the tables that are restored
    model = sixd.zoo.pendulum(1)
    sixd.mass_matrix(model, np.zeros(1))
    sixd.jacobian(model, np.zeros(1), model.frame_names[-1])
    key = id(model)
    mine = [table for table in tables() if key in models_in(table)]
    saved = [{k: x for k, x in table.items() if (k[0] if isinstance(k, tuple) else k) != key} for table in mine]
    for table in mine:
        entries = dict(table)
        table.clear()
        several = isinstance(next(iter(entries)), tuple)
        other = Meanwhile(table, (0, "added meanwhile", ()) if several else 0)
        table[(other, "watched", ()) if several else other] = None
        table.update(entries)
    try:
        del model
        gc.collect()
        assert known(key) == 0
    finally:
        for table, entries in zip(mine, saved, strict=True):
            table.clear()
            table.update(entries)


def check_pendulum(model, mass):
    """Check a rod of one metre with functions of three names."""
    for _ in range(2):
        assert_allclose(sixd.mass_matrix(model, np.zeros(1)), [[mass / 3]], rtol=1e-14)
        assert_allclose(sixd.momentum(model, np.zeros(1), np.ones(1))[[1, 3]], [mass / 3, -mass / 2], rtol=1e-14)
        level = sixd.bias_force(model, np.full((2, 1), np.pi / 2), np.zeros(1))
        assert_allclose(level, np.full((2, 1), mass * 9.81 / 2), rtol=1e-14)


def test_a_new_model_at_the_address_of_an_old_one():
    """Models at the address of a freed one have results of their own."""
    masses = np.arange(1.0, 9.0)
    templates = [sixd.zoo.pendulum(1, mass=mass) for mass in masses]
    addresses, repeated = set(), 0
    for k in range(1000):  # until the allocator has used an address again
        model = copy.copy(templates[k % 8])  # made at once, so that the last one's memory is used again
        repeated += id(model) in addresses
        addresses.add(id(model))
        check_pendulum(model, masses[k % 8])
        del model
        if k >= 8 and repeated:
            break
    assert repeated or sys.implementation.name != "cpython"


def test_models_are_created_and_freed_in_many_threads():
    """Each thread makes, uses and drops models of its own."""

    def task(k):
        for mass in 10.0 * k + np.arange(1, 6):
            check_pendulum(sixd.zoo.pendulum(1, mass=mass), mass)

    at_once(3, task)
    gc.collect()
    assert all(reference() is not None for reference in memo._ALIVE.values())
    for table in tables():
        assert {k for k in models_in(table) if isinstance(k, int)} <= set(memo._ALIVE)


COPIES = {
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "oldest pickle": lambda x: pickle.loads(pickle.dumps(x, protocol=2)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.long
@pytest.mark.parametrize("way", COPIES)
def test_copies_of_models_work(way, rng):
    """A copy of a used model gives the same bits, and outlives the original.

    Deep copies, such as those of controllers, are the model itself, which never changes.
    """
    model = sixd.zoo.random_tree(5, kinds=("free", "helical"))
    arrays = draw(model, rng, (5,))
    expected = sixd.forward_dynamics(model, *arrays), sixd.forward_dynamics(model, *(x[0] for x in arrays))
    other = COPIES[way](model)
    assert (other is model) == (way == "deepcopy")
    del model
    gc.collect()
    assert same(sixd.forward_dynamics(other, *arrays), expected[0])
    assert same(sixd.forward_dynamics(other, *(x[0] for x in arrays)), expected[1])


@pytest.mark.parametrize("way", COPIES)
def test_kernels_are_not_copied(way):
    """The error says what to do instead; a kernel that was called gives the same one."""
    kernel = sixd.compile(sixd.mass_matrix, ARM)
    for _ in range(2):
        with pytest.raises(
            TypeError, match=r"kernel mass_matrix cannot be pickled\. Pickle the model, and call sixd\.compile again"
        ):
            COPIES[way](kernel)
        kernel([0.1, 0.2])
