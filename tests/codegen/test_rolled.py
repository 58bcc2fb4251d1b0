"""Rolled code is bit-identical to uncut code: every function, every joint type, both float widths, entries, loops,
rollouts.

The switch ``rolled.WHEN`` forces either form. The cache on disk is off, because its keys do not contain the switch.
"""

import numpy as np
import pytest

import sixd
from samples import KINDS, OPERATIONAL, Parabola
from sixd.algorithms.rnea import rnea
from sixd.codegen.llvm import machine, rolled
from sixd.codegen.llvm.loop import emit_loop
from sixd.engine.functions import LIBRARY
from sixd.trace import segments
from sixd.trace.program import trace

ROWS = (1, 2, 7, 8, 9, 16, 17, 40)
MAIN = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
CONSTRAINED = ("constrained_dynamics", "projections", "constraint_jacobian", "constraint_error", "constraint_velocity", "constraint_forces")  # fmt: skip
both_widths = pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.long)])


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("SIXD_CACHE_DIR", "off")


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def assert_same_bits(a, b):
    for x, y in zip(as_tuple(a), as_tuple(b), strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        assert np.array_equal(x, y, equal_nan=True)
        known = ~np.isnan(x)
        assert np.array_equal(np.signbit(x[known]), np.signbit(y[known]))


def two_ways(monkeypatch, make):
    """Return the results of ``make()`` with programs uncut, and with all rolled."""
    found = []
    for when in ("never", "always"):
        monkeypatch.setattr(rolled, "WHEN", when)
        found.append(make())
    return found


def compare(monkeypatch, model, function, rng, dtype="float64", **static):
    """Call kernels of both kinds with batches, single samples, NaN, and huge numbers, which make results suspect."""
    declared = LIBRARY[function]
    if "frame" in declared.choices:
        static = {"frame": model.frame_names[-1], **static}

    def draw(rows):
        arrays = {a: rng.uniform(-1, 1, (rows, *declared.core(model, a))) for a in declared.arrays}
        arrays["q"] = np.array([model.random_configuration(rng) for _ in range(rows)]).reshape(rows, model.nq)
        return [x.astype(dtype) for x in arrays.values()]

    batches = [draw(rows) for rows in ROWS]
    batches[3][0][5] = np.nan
    batches[-1][-1][33] *= 1e30

    def make():
        kernel = sixd.compile(getattr(sixd, function), model, dtype=dtype, **static)
        results = [_result(kernel, arrays) for arrays in batches]
        results += [_result(kernel, [x[k] for x in batches[5]]) for k in range(3)]
        kernel(*batches[1])  # the loop exists
        return [*results, *(_result(kernel, [x[k] for x in batches[3]]) for k in (4, 5))]

    for a, b in zip(*two_ways(monkeypatch, make), strict=True):
        if isinstance(a, str):
            assert a == b
        else:
            assert_same_bits(a, b)


def _result(kernel, arrays):
    try:
        return kernel(*arrays)
    except sixd.SixdError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.many
@both_widths
@pytest.mark.parametrize("name", [n for n in LIBRARY if n not in (*CONSTRAINED, "integrate", "difference")])
def test_every_function(name, dtype, monkeypatch, rng):
    kinds = ("free",) if name in OPERATIONAL else ("spherical", "revolute", "prismatic")
    static = {"given": ["joint1"]} if name == "hybrid_dynamics" else {}
    compare(monkeypatch, sixd.zoo.random_tree(2, kinds=kinds), name, rng, dtype, **static)


@pytest.mark.many
@both_widths
@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize("kind", KINDS)
def test_every_joint_type(kind, name, dtype, monkeypatch, rng):
    compare(monkeypatch, sixd.zoo.random_tree(3, kinds=("revolute", kind)), name, rng, dtype)


@both_widths
def test_own_joints(dtype, monkeypatch, rng):
    builder = sixd.ModelBuilder("own")
    builder.add_body("bead", "world", Parabola(), inertia=sixd.box(1, 2, 3, mass=4.0))
    for name in MAIN:
        compare(monkeypatch, builder.build(), name, rng, dtype)


@pytest.mark.long
@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize("longest", [5, 50])
def test_short_parts(longest, name, monkeypatch, rng):
    """Cut every few operations: values that pass from one function to another keep their bits."""
    monkeypatch.setattr(segments, "LONGEST", longest)
    monkeypatch.setattr(segments, "PART", longest)
    compare(monkeypatch, sixd.zoo.random_tree(2, kinds=("planar", "free")), name, rng)


@both_widths
def test_external_forces_and_parameters(dtype, monkeypatch, rng):
    model = sixd.zoo.random_tree(2, kinds=("spherical", "revolute"))
    q = np.array([model.random_configuration(rng) for _ in range(9)]).astype(dtype)
    v, tau, force = (rng.normal(size=(9, *n)).astype(dtype) for n in ((model.nv,), (model.nv,), (model.nb, 6)))
    own = np.array([sixd.Inertia.from_matrix(I).parameters for I in model.inertia[1:]])
    inertia = (own * rng.uniform(1, 2, (9, 1, 1))).astype(dtype)

    def make():
        kernel = sixd.compile(sixd.forward_dynamics, model, dtype=dtype)
        other = sixd.compile(sixd.forward_dynamics, model, dtype=dtype, parameters=["inertia"])
        return kernel(q, v, tau, f_ext=force), kernel(q[0], v[0], tau[0], f_ext=force[0]), other(q, v, tau, inertia)

    assert_same_bits(*two_ways(monkeypatch, make))


def test_conditions_constants_and_inputs_as_results(monkeypatch, rng):
    model = sixd.zoo.planar(2)

    def f(q, qd):
        big = q[0] > 0.1
        y = [sixd.spatial.sin(q[0]), q[1] * 2]
        for _ in range(30):
            y.append(sixd.where(big & (y[-1] < 0.5), y[-1] + qd[0], sixd.spatial.maximum(y[-2], -0.2) * y[-1]))
        return np.array([y[-1], 3.0, q[1], 0.0]), sixd.where(big | ~(y[7] < y[9]), 1.5, y[-1]), np.zeros((2, 9))

    monkeypatch.setattr(segments, "LONGEST", 6)
    monkeypatch.setattr(segments, "PART", 6)
    x, y = rng.normal(size=(2, 21, 2))

    def make():
        kernel = sixd.compile(f, model)
        return [*kernel(x, y), *kernel(x[3], y[3])]

    assert_same_bits(*(tuple(map(np.asarray, found)) for found in two_ways(monkeypatch, make)))


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sines_of_one_sample_in_vectors(dtype, monkeypatch, rng):
    """Many angles, some huge, and sines that are results themselves: those of NaN and infinity are suspect."""
    compare(monkeypatch, sixd.zoo.random_tree(1, kinds=("revolute",) * 19), "inverse_dynamics", rng, dtype)
    model, x = sixd.zoo.pendulum(37), rng.uniform(-9, 9, 37).astype(dtype)
    x[3:6] = 1e6, -3e8, 0.0

    def f(q):
        s, c = (np.array([g(a) for a in q]) for g in (sixd.spatial.sin, sixd.spatial.cos))
        return s * c[::-1] + q, s[::2]

    def make():
        kernel = sixd.compile(f, model, dtype=dtype)
        return [*kernel(x), *kernel(x * np.nan), *kernel(np.where(np.arange(37) == 8, np.inf, x).astype(dtype))]

    assert_same_bits(*(tuple(found) for found in two_ways(monkeypatch, make)))


@pytest.mark.long
def test_many_zeros_in_outputs(monkeypatch, rng):
    """A loop fills long runs of zeros; groups of zeros are not read."""
    compare(monkeypatch, sixd.zoo.random_tree(1, kinds=("revolute",) * 17), "christoffel", rng)


@pytest.mark.many
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "implicit"])
def test_rollouts(method, dtype, monkeypatch, rng):
    q0, v0 = rng.normal(size=(2, 11, 3)).astype(dtype)

    def make():
        model = sixd.zoo.pendulum(3)
        motion = sixd.simulate(model, q0, v0, 0.02, dt=2e-3, method=method, controller=lambda t, q, qd: -q * 0.3)
        q, v = sixd.step(model, q0[0], v0[0], 1e-3, method=method)
        return motion.q, motion.qd, q, v

    assert_same_bits(*two_ways(monkeypatch, make))


def test_rollouts_of_constrained_systems(monkeypatch):
    def make():
        model = sixd.zoo.four_bar()
        q = sixd.assemble(model, [1.0, -0.5, 1.6], fixed=["crank"])
        motion = sixd.simulate(model, q, None, 0.02, dt=2e-3)
        qdd, lam = sixd.constrained_dynamics(model, q, 0 * q, 0 * q)
        return motion.q, motion.qd, qdd, lam

    assert_same_bits(*two_ways(monkeypatch, make))


@pytest.mark.long
@pytest.mark.parametrize("has_fma", [True, False])
def test_work_memory_from_the_heap(has_fma, monkeypatch, rng):
    """More than fits on the stack of a small thread; also in code for CPUs without fused products."""
    if not has_fma:
        host = machine.host()
        plain = machine.Machine(host.cpu, host.features, host.bits, has_fma=False)
        monkeypatch.setattr("sixd.codegen.llvm.machine.host", lambda: plain)
    monkeypatch.setattr(rolled, "ON_STACK", 64)
    for name in MAIN:
        compare(monkeypatch, sixd.zoo.random_tree(2, kinds=("free", "revolute")), name, rng)
    test_rollouts("rk4", "float64", monkeypatch, rng)


def test_no_memory(monkeypatch, rng):
    """A loop that gets no memory raises; it does not return the previous content of its results."""
    model = sixd.zoo.pendulum(3)
    monkeypatch.setattr(rolled, "WHEN", "always")
    monkeypatch.setattr(rolled, "ON_STACK", 64)
    monkeypatch.setattr(rolled, "LINE", 1 << 60)  # more than exists
    x = rng.normal(size=(9, 3))
    for arrays in ((x, x, x), (x[0], x[0], x[0])):
        with pytest.raises(MemoryError):
            sixd.compile(sixd.inverse_dynamics, model)(*arrays)
    with pytest.raises(MemoryError):
        sixd.simulate(model, x, None, 0.002)


def test_by_size(monkeypatch):
    """Programs below the limit stay uncut; the text of a rolled program does not grow with the mechanism."""

    def text(n):
        model = sixd.zoo.pendulum(n)
        program = trace(lambda *x: rnea(model, *x), dict.fromkeys(("q", "qd", "qdd"), (n,)))
        return emit_loop(program, "float64", 8, 1e300)

    assert "table" not in text(2)
    monkeypatch.setattr(rolled, "FROM", 100)
    monkeypatch.setattr(rolled, "ON_STACK", 1 << 30)
    lengths = [len([line for line in text(n).splitlines() if ".table = " not in line]) for n in (40, 80)]
    assert lengths[0] == lengths[1]
