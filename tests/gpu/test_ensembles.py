"""Ensembles on a GPU, and samples of several processes that share it: bit-identical to one call on the CPU."""

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import sixd
from control_laws import law

ROWS = 777


def same(a, b):
    for name in ("t", "q", "qd", "tau"):
        assert np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True), name


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "implicit"])
def test_methods(method, dtype, rng):
    arm = sixd.zoo.pendulum(2)
    q, qd = rng.normal(size=(2, ROWS, 2)).astype(dtype)
    options = {"dt": 1e-2, "method": method, "controller": law}
    here = sixd.simulate(arm, q, qd, 0.3, **options)
    for chunk in (None, 100, 1):
        rows = ROWS if chunk != 1 else 5
        found = sixd.ensemble(arm, q[:rows], qd[:rows], 0.3, device="cuda", chunk=chunk, **options)
        same(here.row(slice(rows)), found)


def test_draws_of_parameters():
    arm = sixd.zoo.ur_arm()
    options = {
        "q": "random", "qd": None, "duration": 0.2, "count": ROWS, "dt": 1e-3, "keep": "end",
        "parameters": {"gravity": lambda rng: [0, 0, -rng.uniform(1, 10)]},
    }  # fmt: skip
    same(sixd.ensemble(arm, processes=1, **options), sixd.ensemble(arm, device="cuda", **options))


def test_processes_and_executors(rng):
    arm = sixd.zoo.pendulum(2)
    q, qd = rng.normal(size=(2, ROWS, 2))
    here = sixd.simulate(arm, q, qd, 0.3, dt=1e-2)
    same(here, sixd.ensemble(arm, q, qd, 0.3, dt=1e-2, device="cuda", processes=2, chunk=200))
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        same(here, sixd.ensemble(arm, q, qd, 0.3, dt=1e-2, device="cuda", cluster=pool, chunk=400))
    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        same(here, sixd.ensemble(arm, q, qd, 0.3, dt=1e-2, device="cuda", cluster=threads, chunk=100))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked on other systems")
def test_forked_processes():
    """The driver does not work in processes that are forked after it was used: the error says how to start them."""
    arm = sixd.zoo.pendulum(2)
    sixd.ensemble(arm, None, None, 0.01, count=3, device="cuda")
    with (
        concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool,
        pytest.raises(sixd.DeviceError, match=r"was forked from one that had used the GPU"),
    ):
        sixd.ensemble(arm, None, None, 0.01, count=3, device="cuda", cluster=pool)


PROGRAM = """
    import sys
    import numpy as np
    import sixd

    q, qd, qdd = np.load(sys.argv[1])
    rows = sixd.cuda.share(len(q))
    arm = sixd.zoo.ur_arm()
    found = sixd.ensemble(arm, q[rows], qd[rows], 0.1, device="cuda", keep="end")
    kernel = sixd.compile(sixd.inverse_dynamics, arm, target="cuda")
    np.savez(f"{sys.argv[2]}/{rows.start}.npz", q=found.q, qd=found.qd, arch=kernel.arch, gpu=sixd.cuda.local_device())
"""


@pytest.mark.parametrize("size", [1, 3])
def test_several_processes(size, rng, tmp_path):
    """Ranks as torchrun sets them, more of them than GPUs."""
    states = rng.uniform(-1, 1, (3, 100, 6))
    np.save(tmp_path / "states.npy", states)
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    running = []
    for rank in range(size):
        ranks = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size}
        path = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, **{name: str(x) for name, x in ranks.items()}, "PYTHONPATH": path}
        command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "states.npy"), str(tmp_path)]
        running.append(subprocess.Popen(command, env=environment))
    assert [process.wait() for process in running] == [0] * size
    files = sorted(tmp_path.glob("*.npz"), key=lambda file: int(file.stem))
    parts = [np.load(file) for file in files]
    assert len(parts) == size
    here = sixd.ensemble(sixd.zoo.ur_arm(), *states[:2], 0.1, processes=1, keep="end")
    for name in ("q", "qd"):
        assert np.array_equal(np.concatenate([part[name] for part in parts]), getattr(here, name))


def test_shares_of_arrays(library, rng, monkeypatch):
    """Samples on the GPU in shares equal those of one call, and those of the CPU."""
    to, back, _ = library
    arm = sixd.zoo.ur_arm()
    states = rng.uniform(-1, 1, (3, ROWS, 6))
    parts = []
    for rank in range(4):
        for name, value in (("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", 4)):
            monkeypatch.setenv(name, str(value))
        rows = sixd.cuda.share(ROWS)
        parts.append(back(sixd.forward_dynamics(arm, *(to(x[rows]) for x in states))))
    assert np.array_equal(np.concatenate(parts), back(sixd.forward_dynamics(arm, *map(to, states))))
    assert np.array_equal(np.concatenate(parts), sixd.forward_dynamics(arm, *states))
