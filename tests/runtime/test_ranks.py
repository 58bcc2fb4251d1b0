"""Several processes, one for each GPU: which process has which GPU and which samples; results do not depend on it."""

import itertools
import math

import numpy as np
import pytest

import sixd
from fake_gpu import Array, install
from sixd.codegen.llvm.machine import host
from sixd.engine.targets import cuda
from sixd.errors import DeviceError, ScalarTypeError
from sixd.runtime.cuda import device, driver
from sixd.simulation.setup import make_setup
from sixd.simulation.stepping import compiled_steps
from sixd.simulation.stepping.compiled_steps import rollout
from sixd.simulation.stepping.fixed import Runner

fused = pytest.mark.skipif(not host().has_fma, reason="bits are those of CPUs with fused multiply-add")
NAMES = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "RANK", "WORLD_SIZE")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def gpus(monkeypatch):
    """A machine with three GPUs."""
    monkeypatch.setattr(compiled_steps, "_RECENT", {})  # without code that was loaded by another driver
    yield install(monkeypatch, devices=3)
    driver.is_installed.cache_clear()


@pytest.fixture
def no_driver(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(driver, "open_library", missing)
    monkeypatch.setattr(driver, "_found", [])


def become(monkeypatch, rank, size):
    """Be one of several processes on one machine, as torchrun starts them."""
    for name, value in (("LOCAL_RANK", rank), ("RANK", rank), ("WORLD_SIZE", size)):
        monkeypatch.setenv(name, str(value))


# the GPU ----------------------------------------------------------------------------------------------------


def test_the_gpu_of_a_process(gpus, monkeypatch):
    assert sixd.cuda.local_device() == 0
    for name in NAMES[2::-1]:  # torchrun's name has priority
        found = []
        for rank in range(5):
            monkeypatch.setenv(name, str(rank))
            found.append(sixd.cuda.local_device())
        assert found == [0, 1, 2, 0, 1]


def test_code_is_made_for_the_gpu_of_the_process(gpus, monkeypatch):
    """Machines may have GPUs of several kinds."""
    capabilities = {0: (9, 0), 1: (7, 5), 2: (8, 0)}
    major_minor = {75: 0, 76: 1}
    monkeypatch.setattr(
        gpus,
        "cuDeviceGetAttribute",
        lambda ref, which, number: gpus._set(ref, capabilities[number.value][major_minor[which.value]]),
        raising=False,
    )
    found = []
    for rank in range(3):
        become(monkeypatch, rank, 3)
        found.append(sixd.compile(sixd.mass_matrix, sixd.zoo.pendulum(), target="cuda").arch)
    assert found == ["sm_90", "sm_75", "sm_80"]


def test_without_a_driver(no_driver, monkeypatch):
    assert sixd.cuda.local_device() == 0
    assert sixd.cuda.share(7) == slice(0, 7)
    monkeypatch.setenv("LOCAL_RANK", "1")
    with pytest.raises(DeviceError, match=r"^cuda.local_device: there is no driver of an NVIDIA GPU"):
        sixd.cuda.local_device()
    with pytest.raises(DeviceError, match=r"^compile: .* To compile without a GPU name its architecture"):
        sixd.compile(sixd.mass_matrix, sixd.zoo.pendulum(), target="cuda")


# the samples ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 63, 64, 65, 1_000_003])
def test_shares_are_contiguous_complete_and_fair(count, size, monkeypatch):
    shares = []
    for rank in range(size):
        become(monkeypatch, rank, size)
        shares.append(sixd.cuda.share(count))
    assert shares[0].start == 0
    assert shares[-1].stop == count
    assert all(a.stop == b.start for a, b in itertools.pairwise(shares))
    sizes = {s.stop - s.start for s in shares}
    assert sizes <= {count // size, math.ceil(count / size)}
    assert all(s.step is None and type(s.start) is int for s in shares)


def test_numbers_of_numpy(monkeypatch):
    become(monkeypatch, 1, 2)
    found = sixd.cuda.share(np.int32(2**31 - 1))
    assert (found.start, found.stop) == (2**30 - 1, 2**31 - 1)


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "0x1", "²", "1 2", "None"])
@pytest.mark.parametrize("name", NAMES)
def test_nonsense_in_variables(name, text, gpus, monkeypatch):
    given = dict.fromkeys(("RANK", "WORLD_SIZE"), "1") if name in ("RANK", "WORLD_SIZE") else {}
    for key, value in {**given, name: text}.items():
        monkeypatch.setenv(key, value)
    call = (lambda: sixd.cuda.share(3)) if given else sixd.cuda.local_device
    with pytest.raises(DeviceError) as caught:
        call()
    what = f"the variable {name} is set to {text!r}, expected a whole number of at least 0. Fix it, or unset it."
    assert str(caught.value) == f"cuda.{'share' if given else 'local_device'}: {what}"


@pytest.mark.parametrize(("rank", "size"), [(1, 1), (5, 3), (0, 0)])
def test_ranks_beyond_the_size(rank, size, monkeypatch):
    become(monkeypatch, rank, size)
    with pytest.raises(
        DeviceError, match=rf"^cuda.share: .* set to {rank} and {size}, expected a RANK below WORLD_SIZE"
    ):
        sixd.cuda.share(3)


@pytest.mark.parametrize("name", ["RANK", "WORLD_SIZE"])
def test_one_variable_without_the_other(name, monkeypatch):
    monkeypatch.setenv(name, "1")
    with pytest.raises(DeviceError, match=rf"^cuda.share: the variable {name} is set to '1' and the other of RANK and"):
        sixd.cuda.share(3)


@pytest.mark.parametrize("count", [-1, 2.5, "3", None, True, [3], math.nan])
def test_wrong_counts(count):
    with pytest.raises(
        ScalarTypeError, match=r"^cuda.share: count is .*, expected a whole number of at least 0, of states"
    ):
        sixd.cuda.share(count)


# the same bits ----------------------------------------------------------------------------------------------


def in_shares(monkeypatch, size, count, compute):
    """Compute the samples of each of several processes, one after another; join the results of ``compute(rows, gpu)``."""
    parts = []
    for rank in range(size):
        become(monkeypatch, rank, size)
        rows = sixd.cuda.share(count)
        if rows.start < rows.stop:
            parts.append(compute(rows, sixd.cuda.local_device()))
    return [np.concatenate(x) for x in zip(*parts, strict=True)]


@pytest.mark.long
@fused
@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_in_shares(size, dtype, gpus, monkeypatch, rng):
    """Samples computed by several processes on several GPUs equal those of one call, and those of the CPU."""
    model, count = sixd.zoo.ur_arm(), 37
    states = [rng.uniform(-1, 1, (count, 6)).astype(dtype) for _ in range(3)]

    def compute(rows, gpu):
        device_arrays = [Array(x[rows].copy(), gpu) for x in states]
        found = sixd.inverse_dynamics(model, *device_arrays), sixd.mass_matrix(model, device_arrays[0])
        assert all(x.data.device_id == gpu for x in found)
        return [x.get() for x in found]

    expected = [sixd.inverse_dynamics(model, *states), sixd.mass_matrix(model, states[0])]
    at_once = compute(slice(0, count), 0)
    found = in_shares(monkeypatch, size, count, compute)
    for x, y, z in zip(found, at_once, expected, strict=True):
        assert np.array_equal(x, y)
        assert np.array_equal(x, z)
    assert set(gpus.used) == set(range(min(size, 3)))


@fused
def test_rollouts_in_shares(gpus, monkeypatch, rng):
    """The same for all steps of a motion, recorded, with masses of each sample."""
    model, count, counts = sixd.zoo.pendulum(2), 11, np.array([3, 2, 2])
    run = sixd.Scenario(model, parameters={"gravity": rng.normal(size=(count, 3))})
    q, qd = rng.normal(size=(2, count, 2))
    setup = make_setup("test", run, q, qd)
    runner = Runner(setup, "rk4", 1e-2)
    numbers = [np.array([x]) for x in (1e-2, 0.0)]
    arrays = [*runner.state.values(), *numbers, *runner.constants.values()]
    code = rollout(setup.problem, "rk4", setup.dtype, target=cuda("sm_90"))

    def compute(rows, gpu):
        own = [Array((x[rows] if len(x) == count else x).copy(), gpu) for x in arrays]
        return [x.get() for x in code(counts, own)]

    expected = runner.rollout(counts, arrays)
    found = in_shares(monkeypatch, 4, count, compute)
    for x, y, z in zip(found, compute(slice(0, count), 0), expected, strict=True):
        assert np.array_equal(x, y)
        assert np.array_equal(x, z)
    assert set(gpus.used) == {0, 1, 2}
    assert set(device._devices) == {0, 1, 2}
