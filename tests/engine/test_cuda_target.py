"""Kernels for GPUs from ``sixd.compile``: without a GPU, and with a driver that runs their code on the CPU."""

import ctypes

import numpy as np
import pytest

import sixd
from fake_gpu import Array, install
from sixd.codegen.llvm.machine import host
from sixd.codegen.nvptx import ptx
from sixd.errors import DeviceError, ScalarTypeError, ShapeError, SingularError, UnknownNameError
from sixd.runtime.cuda import driver

fused = pytest.mark.skipif(not host().has_fma, reason="bits are those of CPUs with fused multiply-add")


@pytest.fixture
def arm():
    return sixd.zoo.ur_arm()


@pytest.fixture
def no_driver(monkeypatch):
    """A computer without a driver."""

    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(driver, "open_library", missing)
    monkeypatch.setattr(driver, "_found", [])
    driver.is_installed.cache_clear()
    yield
    driver.is_installed.cache_clear()


@pytest.fixture
def gpu(monkeypatch):
    yield install(monkeypatch)
    driver.is_installed.cache_clear()


def states(model, rng, n, dtype="float64"):
    return [rng.uniform(-1, 1, (n, model.nv)).astype(dtype) for _ in range(3)]


# without a GPU ----------------------------------------------------------------------------------------------


def test_ptx_needs_no_gpu(arm, no_driver):
    kernel = sixd.compile(sixd.inverse_dynamics, arm, target="cuda", arch="sm_90")
    assert ".target sm_90" in kernel.ptx
    assert ".entry kernel" in kernel.ptx
    assert (kernel.arch, kernel.inputs, kernel.dtype) == ("sm_90", ("q", "qd", "qdd"), None)
    assert kernel.program.operations > 100
    assert "cuda" not in repr(kernel).lower() or "sm_90" in repr(kernel)
    assert not sixd.cuda.is_available()
    sixd.cuda.check()  # nothing ran


def test_calls_without_a_driver(arm, no_driver):
    kernel = sixd.compile(sixd.mass_matrix, arm, target="cuda", arch="sm_90")
    with pytest.raises(DeviceError, match=r"mass_matrix: there is no driver .* Compile with target='cpu'"):
        kernel(np.zeros(6))
    with pytest.raises(DeviceError, match=r"To compile without a GPU name its architecture, such as arch='sm_90'"):
        sixd.compile(sixd.mass_matrix, arm, target="cuda")


def test_wrong_arguments_of_compile(arm):
    with pytest.raises(UnknownNameError, match="sm_75"):
        sixd.compile(sixd.mass_matrix, arm, target="cuda", arch="sm_61")
    with pytest.raises(UnknownNameError, match="no architecture named 'H100'"):
        sixd.compile(sixd.mass_matrix, arm, target="cuda", arch="H100")
    with pytest.raises(ScalarTypeError, match="only target='cuda' takes one"):
        sixd.compile(sixd.mass_matrix, arm, arch="sm_90")
    with pytest.raises(UnknownNameError, match="target: no choice named 'gpu'"):
        sixd.compile(sixd.mass_matrix, arm, target="gpu")


def test_ptx_is_kept_on_disk(arm, monkeypatch, tmp_path):
    monkeypatch.setenv("SIXD_CACHE_DIR", str(tmp_path / "cache"))
    first = sixd.compile(sixd.gravity_force, arm, target="cuda", arch="sm_80").ptx
    made = []
    monkeypatch.setattr(ptx, "make_ptx", lambda *args: made.append(args) or "made again")
    again = sixd.compile(sixd.gravity_force, sixd.zoo.ur_arm(), target="cuda", arch="sm_80").ptx
    assert (again, made) == (first, [])
    assert sixd.compile(sixd.gravity_force, arm, target="cuda", arch="sm_90").ptx == "made again"


def test_own_functions_and_parameters(arm, no_driver):
    def law(model, q, gain):
        return gain * q + sixd.gravity_force(model, q)

    kernel = sixd.compile(law, arm, target="cuda", arch="sm_90", shapes={"gain": ()}, dtype="float32")
    assert kernel.inputs == ("q", "gain")
    assert "fma.rn.f32" in kernel.ptx
    both = sixd.compile((sixd.mass_matrix, sixd.bias_force), arm, target="cuda", arch="sm_90", parameters=["inertia"])
    assert both.inputs == ("q", "qd", "inertia")
    assert ".shared" in both.ptx


# with a driver ----------------------------------------------------------------------------------------------


@fused
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_results_are_bit_identical_to_the_cpu(arm, gpu, rng, dtype):
    q, qd, qdd = states(arm, rng, 150, dtype)
    kernel = sixd.compile((sixd.inverse_dynamics, sixd.mass_matrix), arm, target="cuda", dtype=dtype)
    assert kernel.arch == "sm_90"
    tau, M = kernel(Array(q), Array(qd), qdd=Array(qdd))
    assert type(tau) is Array
    assert np.array_equal(tau.data, sixd.inverse_dynamics(arm, q, qd, qdd))
    assert np.array_equal(M.data, sixd.mass_matrix(arm, q))
    assert gpu.launches[0][:2] == (3, 64)
    assert gpu.launches[0][3] == 42  # the caller's stream


@fused
def test_layouts(arm, gpu, rng):
    """Broadcast arrays, column-major arrays, slices, several leading dimensions, one sample, and no samples."""
    q, qd, qdd = states(arm, rng, 12)
    kernel = sixd.compile(sixd.inverse_dynamics, arm, target="cuda")
    true = sixd.inverse_dynamics
    cases = [
        (q, qd[0], qdd),
        (np.asfortranarray(q), qd, np.asfortranarray(qdd)),
        (q[::3], qd[1::3], qdd[:4]),
        (q.reshape(3, 4, 6), qd.reshape(3, 4, 6), qdd.reshape(3, 4, 6)),
        (q[:3, None], qd[:4], qdd[0]),  # q has no single stride: it is copied
        (q[0], qd[0], qdd[0]),
        (q[:0], qd[:0], qdd[:0]),
    ]
    for given in cases:
        found = kernel(*map(Array, given)).data
        assert np.array_equal(found, true(arm, *given))


@fused
def test_out(arm, gpu, rng):
    q, *_ = states(arm, rng, 9)
    kernel = sixd.compile(sixd.mass_matrix, arm, target="cuda")
    for memory in (np.zeros((9, 6, 6)), np.zeros((9, 6, 6), order="F"), np.zeros((18, 6, 6))[::2]):
        out = Array(memory)
        assert kernel(Array(q), out=out) is out
        assert np.array_equal(memory, sixd.mass_matrix(arm, q))
    with pytest.raises(ShapeError, match=r"out is a float64 array of shape \(8, 6, 6\), expected"):
        kernel(Array(q), out=Array(np.zeros((8, 6, 6))))
    gravity = sixd.compile(sixd.gravity_force, arm, target="cuda")
    with pytest.raises(DeviceError, match="out overlaps another array"):
        gravity(Array(q), out=Array(q))


def test_wrong_arrays(arm, gpu, rng):
    q, qd, qdd = states(arm, rng, 5)
    kernel = sixd.compile(sixd.inverse_dynamics, arm, target="cuda")
    with pytest.raises(DeviceError, match=r"qd is a numpy.ndarray in CPU memory, expected an array on"):
        kernel(Array(q), qd, Array(qdd))
    with pytest.raises(ScalarTypeError, match="qdd holds float32, expected float64"):
        kernel(Array(q), Array(qd), Array(qdd.astype("float32")))
    with pytest.raises(ScalarTypeError, match="q holds <i8, expected float64 or float32"):
        kernel(Array(q.astype(int)), Array(qd), Array(qdd))
    with pytest.raises(ShapeError, match=r"qd has shape \(5, 5\), expected \('...', 6\)"):
        kernel(Array(q), Array(qd[:, :5]), Array(qdd))
    with pytest.raises(ShapeError, match="batch dimensions do not broadcast"):
        kernel(Array(q), Array(qd[:2]), Array(qdd))
    with pytest.raises(ScalarTypeError, match="got 2 arrays, expected 3"):
        kernel(Array(q), Array(qd))


def test_suspect_samples_are_counted(arm, gpu, rng):
    q, qd, qdd = states(arm, rng, 40)
    q[[2, 39]] = np.nan
    kernel = sixd.compile(sixd.forward_dynamics, arm, target="cuda")
    assert np.isnan(kernel(Array(q), Array(qd), Array(qdd)).data[2]).any()
    with pytest.raises(SingularError, match=r"forward_dynamics \(2 states\)"):
        sixd.cuda.check()
    sixd.cuda.check()  # set to zero


def test_errors_of_the_driver(arm, gpu, monkeypatch):
    monkeypatch.setattr(ptx, "make_ptx", lambda *args: "broken")
    kernel = sixd.compile(sixd.gravity_force, arm, target="cuda")
    with pytest.raises(DeviceError, match="cuLinkAddData_v2 failed: CUDA_ERROR_INVALID_PTX: a PTX JIT"):
        kernel(Array(np.zeros((3, 6))))
    assert not gpu.contexts  # left unchanged


def test_no_card(monkeypatch):
    install(monkeypatch, devices=0)
    assert not sixd.cuda.is_available()
    driver.is_installed.cache_clear()


@fused
def test_dlpack(arm, gpu, rng):
    """Arrays that have only DLPack; NumPy's capsule, marked as on a GPU."""

    class Tensor:
        def __init__(self, data):
            self.data = data

        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, stream=None):
            assert stream == 1
            return self.data.__dlpack__()

    q = rng.uniform(-1, 1, (20, 12))[:, ::2]
    out = Tensor(np.zeros((20, 6)))
    kernel = sixd.compile(sixd.gravity_force, arm, target="cuda")
    kernel(Tensor(q), out=out)
    assert np.array_equal(out.data, sixd.gravity_force(arm, q))
    with pytest.raises(DeviceError, match="give out="):
        kernel(Tensor(q))
    assert ctypes.sizeof(ctypes.c_void_p) == 8
