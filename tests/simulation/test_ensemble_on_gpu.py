"""Ensembles whose steps are computed on a GPU: a fake one, which runs the code of GPUs on the CPU."""

import concurrent.futures
import ctypes
import os

import numpy as np
import pytest

import nonsmooth
import sixd
from control_laws import law, noisy, stepped
from fake_gpu import Array, install
from sixd.codegen.llvm.machine import host
from sixd.errors import DeviceError
from sixd.runtime.cuda import driver, ranks
from sixd.runtime.cuda.device import device
from sixd.runtime.cuda.memory import Buffer
from sixd.simulation.ensemble import workers
from sixd.simulation.stepping import compiled_steps, fixed

fused = pytest.mark.skipif(not host().has_fma, reason="bits are those of CPUs with fused multiply-add")
Q, QD = np.random.default_rng(1).normal(size=(2, 7, 2))
VARIABLES = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK")


@pytest.fixture
def gpus(monkeypatch):
    """A machine with two GPUs."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(compiled_steps, "_RECENT", {})  # without code that was loaded by another driver
    yield install(monkeypatch, devices=2)
    driver.is_installed.cache_clear()


@pytest.fixture
def arm():
    """Two links; a new model, without code that was loaded by another driver."""
    return sixd.zoo.pendulum(2)


def same(a, b):
    for name in ("t", "q", "qd", "tau", "internal", "friction"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None)
        if x is not None:
            assert type(x) is type(y) is np.ndarray
            assert x.dtype == y.dtype
            assert np.array_equal(x, y, equal_nan=True), name
    assert a.facts.get("unsolved") == b.facts.get("unsolved")


def both(system, *args, **options):
    """Return the ensemble on the CPU, and on a GPU."""
    here = sixd.ensemble(system, *args, processes=1, **options)
    return here, sixd.ensemble(system, *args, device="cuda", **options)


# the same bits ------------------------------------------------------------------------------------------


@pytest.mark.long
@fused
@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "implicit"])
def test_methods(method, gpus, arm):
    here, there = both(arm, Q, QD, 0.05, dt=1e-2, method=method, controller=law)
    same(here, there)
    same(there, sixd.simulate(arm, Q, QD, 0.05, dt=1e-2, method=method, controller=law))
    assert len(gpus.launches) == 1  # all samples, steps and records; none for warnings, which the ensemble gives
    assert len(gpus.buffers) == 1  # the counts of the device: all others are freed


OPTIONS = {
    "chunks": {"chunk": 3, "record_every": 2},
    "the end": {"keep": "end"},
    "float32": {"q": Q.astype("float32"), "qd": QD.astype("float32")},
    "parameters": {"parameters": {"gravity": np.random.default_rng(2).normal(size=(7, 3))}, "controller": [0.1, 0.2]},
    "draws": {"q": "random", "qd": lambda rng: rng.normal(size=2), "count": 7},
    "one record": {"duration": 0.0},
    "external forces": {"f_ext": np.random.default_rng(3).normal(size=(7, 2, 6))},
    "force elements": {"forces": sixd.SpringDamper("world", "rod2", 10.0, 1.0, 0.5, point_a=(1, 0, 0))},
}


@pytest.mark.many
@fused
@pytest.mark.parametrize("name", OPTIONS)
def test_options(name, gpus, arm):
    same(*both(arm, **{"q": Q, "qd": QD, "duration": 0.05, "dt": 1e-2, **OPTIONS[name]}))
    assert len(gpus.buffers) == 1


@pytest.mark.long
@fused
def test_friction_ground_and_quaternions(gpus):
    """Repeated calls, states of force elements, and q with more entries than qd."""
    box = nonsmooth.free_body(sixd.box(0.2, 0.2, 0.1, mass=1.5), "box")
    corners = [(x, y, -0.05) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    ground = sixd.RigidGround({"box": corners}, friction=0.4)
    q = np.tile(box.neutral(), (3, 1))
    q[:, -1] = 0.05
    qd = np.random.default_rng(4).normal(size=(3, 6))
    here, there = both(box, q, qd, 0.01, forces=ground)
    same(here, there)
    assert "unsolved" in there.facts
    assert there.failed == 0


@fused
def test_pieces_of_bounded_length(gpus, monkeypatch, arm):
    """Long work is launched in pieces, so that Ctrl-C works."""
    monkeypatch.setattr(fixed, "_CALL_ON_GPU", 1.0)
    same(*both(arm, Q, QD, 0.3, dt=1e-2))
    assert len(gpus.launches) == 4


@fused
def test_samples_that_fail_are_reported_once(gpus, arm):
    q = Q.copy()
    q[4] = np.nan
    with pytest.warns(
        sixd.SimulationWarning, match="^ensemble: 1 of 7 simulations are not finite at the end"
    ) as caught:
        found = sixd.ensemble(arm, q, None, 0.01, device="cuda", chunk=2)
    assert len(caught) == 1
    assert found.failed == 1


# which GPU ------------------------------------------------------------------------------------------------


@fused
def test_the_gpu_of_the_process(gpus, monkeypatch, arm):
    here = sixd.ensemble(arm, Q, QD, 0.05, dt=1e-2, processes=1)
    for rank in range(3):
        monkeypatch.setenv("LOCAL_RANK", str(rank))
        same(here, sixd.ensemble(arm, Q, QD, 0.05, dt=1e-2, device="cuda"))
    assert gpus.used == [0, 1, 0]


@fused
def test_executors(gpus, arm):
    """Workers of a cluster use their own GPUs."""
    here = sixd.ensemble(arm, Q, QD, 0.05, dt=1e-2, processes=1)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        same(here, sixd.ensemble(arm, Q, QD, 0.05, dt=1e-2, device="cuda", cluster=pool, chunk=3))
    assert len(gpus.launches) == 3


def test_worker_processes_have_a_gpu_each(monkeypatch):
    started = workers._Context(needs_main=False).Value("i", 0)
    monkeypatch.setattr(workers.signal, "signal", lambda *args: None)
    monkeypatch.setattr(workers, "_exit_with_parent", lambda: None)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for number in range(3):
        workers._initialize_worker(started)
        assert os.environ["LOCAL_RANK"] == str(number)
        monkeypatch.delenv("LOCAL_RANK")
    workers._initialize_worker(None)
    assert "LOCAL_RANK" not in os.environ  # they compute on the CPU
    monkeypatch.setenv("SLURM_LOCALID", "5")  # of the process that starts them
    ranks.set_local_rank("test", 2)
    assert os.environ["LOCAL_RANK"] == "7"
    monkeypatch.delenv("LOCAL_RANK")


# errors -----------------------------------------------------------------------------------------------------


@pytest.fixture
def no_driver(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(driver, "open_library", missing)
    monkeypatch.setattr(driver, "_found", [])


def test_without_a_gpu(no_driver, arm):
    with pytest.raises(DeviceError, match=r"^ensemble: there is no driver of an NVIDIA GPU .* device='cpu'\.$"):
        sixd.ensemble(arm, Q, QD, 0.05, device="cuda")
    with pytest.raises(DeviceError, match="^ensemble: there is no driver of an NVIDIA GPU"):
        sixd.ensemble(arm, Q, QD, 0.05, device="cuda", processes=2)
    # a cluster may have GPUs when this computer has none: its worker reports it
    with (
        concurrent.futures.ThreadPoolExecutor(1) as pool,
        pytest.raises(DeviceError, match="^simulate: there is no driver of an NVIDIA GPU"),
    ):
        sixd.ensemble(arm, Q, QD, 0.05, device="cuda", cluster=pool)


WRONG = [
    ({"device": "gpu"}, sixd.UnknownNameError, "ensemble: device: no choice named 'gpu'. "),
    ({"device": None}, sixd.UnknownNameError, "ensemble: device: no choice named None. There are: 'cpu', 'cuda'."),
    ({"method": "adaptive"}, sixd.ScalarTypeError, "ensemble: method is 'adaptive', expected fixed steps without events"),
    ({"method": "stiff", "events": [len]}, sixd.ScalarTypeError, "ensemble: method is 'stiff' with events, expected fixed"),
    ({"events": [len]}, sixd.ScalarTypeError, "ensemble: method is 'rk4' with events, expected fixed steps without events"),
    ({"controller": noisy, "sample_time": 1e-2}, sixd.ScalarTypeError, "ensemble: the controller is called with numbers, on"),
    ({"controller": sixd.controllers.Sequence(np.zeros((3, 2)), 1e-2)}, sixd.ScalarTypeError, "ensemble: the controller is"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "kind", "message"), WRONG, ids=lambda x: x if isinstance(x, str) else "")
def test_wrong_arguments(given, kind, message, gpus, arm):
    with pytest.raises(kind) as caught:
        sixd.ensemble(arm, Q, QD, 0.05, **{"device": "cuda", **given})
    assert str(caught.value).startswith(message)


def test_arrays_that_are_on_a_gpu(gpus, arm):
    """Samples are split and sent as arrays of the CPU."""
    there = Array(Q)
    for given in ({"q": there}, {"qd": there}, {"controller": there}, {"parameters": {"damping": there}}):
        with pytest.raises(DeviceError, match=r"^ensemble: \w+ is a cupy.Array on a GPU, expected an array of the CPU"):
            sixd.ensemble(arm, **{"q": Q, "qd": QD, "duration": 0.05, "device": "cuda", **given})


def test_a_controller_that_cannot_be_compiled(gpus, arm):
    with (
        pytest.warns(sixd.SimulationWarning, match="^ensemble: the controller cannot be part"),
        pytest.raises(
            sixd.ScalarTypeError, match=r"^ensemble: the controller is called with numbers, .* device='cpu'\.$"
        ),
    ):
        sixd.ensemble(arm, Q, QD, 0.05, device="cuda", controller=stepped)


def test_too_much_for_the_memory(gpus, monkeypatch, arm):
    monkeypatch.setattr(gpus, "memory", 100)
    with pytest.raises(
        DeviceError, match=r"An array of shape \(7, 2\) takes 112 bytes on GPU 0. Compute fewer states at"
    ):
        sixd.ensemble(arm, Q, QD, 0.05, device="cuda")
    assert not gpus.buffers


def test_forked_processes(gpus, monkeypatch):
    found = driver.driver("test")
    assert "forked" not in str(found.error("test", "cuMemAlloc_v2", 3))
    monkeypatch.setattr(found, "_process", os.getpid() + 1)
    assert "was forked from one that had used the GPU" in str(found.error("test", "cuMemAlloc_v2", 3))
    assert "forked" not in str(found.error("test", "cuMemAlloc_v2", 2))


# buffers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(3, 2), (1, 5, 4), (4, 0), (0, 3)])
def test_buffers(shape, dtype, gpus, rng):
    x = rng.normal(size=shape).astype(dtype)
    buffer = Buffer("test", device("test", 1), shape, dtype).write(x)
    interface = buffer.__cuda_array_interface__
    assert (interface["shape"], interface["typestr"]) == (shape, np.dtype(dtype).str)
    if x.size:
        assert ctypes.string_at(interface["data"][0], x.nbytes) == x.tobytes()
    else:
        assert interface["data"][0] == 0
    strided = np.zeros((2 * shape[0], *shape[1:]), dtype)[::2]
    for found in (buffer.read(), buffer.read(np.empty_like(x)), buffer.read(strided)):
        assert np.array_equal(found, x)
    assert found is strided
    buffer.free()
    buffer.free()
    assert not gpus.buffers
