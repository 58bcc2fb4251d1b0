"""The dtype of a kernel is that of its arguments, unless it was compiled for one: float32 in, float32 out."""

import sys

import numpy as np
import pytest

import sixd
from fake_gpu import Array, install
from sixd.codegen.llvm.machine import host
from sixd.errors import ScalarTypeError
from sixd.runtime.cuda import driver

ARM = sixd.zoo.panda_arm()
TWO = sixd.zoo.planar(2)


def energy_rate(model, q, qd):
    return sixd.bias_force(model, q, qd) @ qd


MAKERS = {
    "compile": lambda **kw: sixd.compile(sixd.inverse_dynamics, ARM, **kw),
    "several": lambda **kw: sixd.compile((sixd.mass_matrix, sixd.bias_force), ARM, **kw),
    "a frame": lambda **kw: sixd.compile(sixd.jacobian, ARM, frame="tool", **kw),
    "own": lambda **kw: sixd.compile(energy_rate, ARM, **kw),
    "parameters": lambda **kw: sixd.compile(sixd.gravity_force, ARM, parameters=("gravity",), **kw),
    "jvp": lambda **kw: sixd.jvp(sixd.inverse_dynamics, ARM, by="q", **kw),
    "vjp": lambda **kw: sixd.vjp(sixd.inverse_dynamics, ARM, **kw),
    "vjp of own": lambda **kw: sixd.vjp(energy_rate, ARM, **kw),
    "hvp": lambda **kw: sixd.hvp(sixd.energy, TWO, by="q", **kw),
    "hessian": lambda **kw: sixd.hessian(energy_rate, TWO, by="q", **kw),
    "vjp of a kernel": lambda **kw: sixd.vjp(sixd.compile(sixd.pose, TWO, frame="link2"), TWO, **kw),
}


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def same(x, y):
    pairs = list(zip(as_tuple(x), as_tuple(y), strict=True))
    return type(x) is type(y) and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def draw(kernel, rng, batch=(), dtype="float32"):
    cores = [kernel._function.core(kernel.model, name) for name in kernel.inputs]
    return [rng.uniform(-1, 1, (*batch, *core)).astype(dtype) for core in cores]


def functions_run(call, *arrays):
    """Return the files of sixd whose Python functions a call runs."""
    seen = []
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_filename) if event == "call" else None)
    try:
        call(*arrays)
    finally:
        sys.setprofile(None)
    return [path for path in seen if "sixd" in path]


@pytest.mark.parametrize("name", MAKERS)
def test_results_have_the_dtype_of_the_arguments(name, rng):
    """Single samples and batches: bit-identical to a kernel of that dtype, and warm without a Python frame."""
    kernel, single, double = (MAKERS[name](dtype=d) for d in (None, "float32", "float64"))
    assert (kernel.dtype, single.dtype, double.dtype) == (None, "float32", "float64")
    for batch in ((), (3,)):
        small = draw(kernel, rng, batch)
        large = [x.astype(float) for x in small]
        for arrays, one in ((small, single), (large, double), (small, single)):
            assert same(kernel(*arrays), one(*arrays))
        assert all(x.dtype == np.float32 for x in as_tuple(kernel(*small)))
        assert functions_run(kernel, *small) == functions_run(kernel, *large) == []
    # arguments that NumPy promotes to float64 are float64
    for arrays in ([large[0], *small[1:]], [x.tolist() for x in small], [x.astype(">f8") for x in small]):
        assert same(kernel(*arrays), double(*large))


def test_out_and_forces(rng):
    """``out=`` of float32, and external forces, whose dtype counts too."""
    kernel = sixd.compile(sixd.inverse_dynamics, ARM)
    small = draw(kernel, rng, (4,))
    out = np.empty((4, 7), np.float32)
    assert kernel(*small, out=out) is out
    assert np.array_equal(out, sixd.inverse_dynamics(ARM, *small))
    force = rng.normal(size=(4, ARM.nb, 6))
    for f in (force, force.astype("float32")):
        assert same(kernel(*small, f_ext=f), sixd.inverse_dynamics(ARM, *small, f_ext=f))
    with pytest.raises(ScalarTypeError, match="q holds float64, expected float32, for which this was compiled"):
        sixd.compile(sixd.mass_matrix, ARM, dtype="float32")(np.zeros(7))


def test_own_functions_run_once():
    """The variables in the closure of a user's function are fixed when it is compiled, for every dtype."""
    gain, runs = 2.0, []

    def law(q):
        runs.append(gain)
        return gain * q

    kernel, gradient = sixd.compile(law, TWO), sixd.vjp(law, TWO)
    count, gain = len(runs), 5.0
    for dtype in ("float32", "float64"):
        x = np.array([1.0, -3.0], dtype)
        assert same(kernel(x), 2 * x)
        assert same(gradient(x, x), 2 * x)
    assert len(runs) == count


@pytest.mark.long
def test_rank_of_redundant_loops(rng):
    """Derivatives of constrained dynamics determine ranks with the accuracy of float32."""
    model = sixd.zoo.bricard()
    q, qd = sixd.assemble(model, model.neutral(), 0.5 * rng.normal(size=model.nv))
    kernel, single = (sixd.vjp(sixd.constrained_dynamics, model, by="tau", dtype=d) for d in (None, "float32"))
    arrays = [q, qd, *(rng.normal(size=kernel._function.core(model, n)) for n in kernel.inputs[2:])]
    small = [x.astype("float32") for x in arrays]
    assert same(kernel(*small), single(*small))
    assert np.allclose(kernel(*small), kernel(*arrays), rtol=1e-3, atol=1e-3)  # of single precision


# on GPUs ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def gpu(monkeypatch):
    yield install(monkeypatch)
    driver.is_installed.cache_clear()


@pytest.mark.skipif(not host().has_fma, reason="bits are those of CPUs with fused multiply-add")
@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_arrays_on_gpus(target, gpu, rng):
    """Kernels of both targets have the dtype of arrays on a GPU, in any order."""
    kernel = sixd.compile((sixd.mass_matrix, energy_rate), TWO, target=target)
    assert kernel.dtype is None
    assert "float64 or float32" in repr(kernel)
    for dtype in ("float32", "float64", "float32", "float32"):
        q, qd = rng.uniform(-1, 1, (2, 70, 2)).astype(dtype)
        M, p = kernel(Array(q), Array(qd))
        assert np.array_equal(M.data, sixd.mass_matrix(TWO, q))
        assert (M.dtype, p.dtype) == (dtype, dtype)
    with pytest.raises(ScalarTypeError, match="qd holds float64"):
        kernel(Array(q), Array(qd.astype(float)))
