"""Speed on an NVIDIA GPU, as a table with its copy bandwidth: ``python -m benchmarks.gpu``, or ``make gpu``.

CuPy holds the arrays and times the launches; nothing else of CUDA is needed. Robots are those of the other benchmarks,
or files ``ur5.urdf``, ``panda.urdf``, ``talos.urdf`` and ``anymal.urdf`` in the folder that is the only argument.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy
import numpy as np

import sixd
from benchmarks.report import Report, progress

ROWS = 2**20
LAUNCHES = 32  # one after the other, so that a launch's cost on the CPU does not count
FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
DTYPES = ("float32", "float64")


def main() -> None:
    """Measure, and write GPU.md next to this file."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    report = Report()
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    bandwidth = _bandwidth()
    report.heading("Speed on a GPU", 1)
    report.paragraph(
        f"{name}, driver {cupy.cuda.runtime.driverGetVersion() / 1000:g}, copies {bandwidth / 1e12:.2f} TB/s. "
        f"Row-major arrays of {ROWS:,} states on the GPU, with `out=`, {LAUNCHES} launches one after the other; best "
        f"of seven."
    )
    robots = {name: _load(name, folder) for name in ("ur5", "panda", "talos")}
    robots["talos, floating"] = _load("talos", folder, floating=True)
    _functions(report, robots, bandwidth)
    _starts(report, folder)
    _launches(report, robots["ur5"])
    _rollouts(report, robots["ur5"])
    _quadruped(report, _load("anymal", folder, floating=True))
    report.write(Path(__file__).parent / "GPU.md", Path(__file__).parent)


def _file(name: str, folder: Path | None) -> Path:
    """The file of a robot."""
    if folder is not None:
        return folder / f"{name}.urdf"
    from benchmarks.robots import file_of

    return file_of(name)


def _load(name: str, folder: Path | None, floating: bool = False) -> sixd.Model:
    """A robot without friction and damping in its joints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.ModelWarning)
        return sixd.load(_file(name, folder), floating_base=floating).without_passive()


def seconds(work: Callable[[], Any], launches: int = LAUNCHES) -> float:
    """The time of a launch [s]."""
    work()
    start, end, best = cupy.cuda.Event(), cupy.cuda.Event(), np.inf
    for _ in range(7):
        start.record()
        for _ in range(launches):
            work()
        end.record()
        end.synchronize()
        best = min(best, cupy.cuda.get_elapsed_time(start, end) * 1e-3 / launches)
    return best


def _bandwidth() -> float:
    a = cupy.zeros(1 << 28, dtype=cupy.float32)
    b = cupy.empty_like(a)
    return 2 * a.nbytes / seconds(lambda: cupy.copyto(b, a))


def _states(model: sixd.Model, dtype: str, rows: int = ROWS) -> list[Any]:
    """Configurations, velocities and accelerations on the GPU; 256 rows, repeated."""
    rng = np.random.default_rng(0)
    q = np.stack([model.random_configuration(rng) for _ in range(256)])
    arrays = [q, *(rng.uniform(-1, 1, (256, model.nv)) for _ in range(2))]
    return [cupy.asarray(np.resize(x, (rows, x.shape[1])).astype(dtype)) for x in arrays]


def _functions(report: Report, robots: dict[str, sixd.Model], bandwidth: float) -> None:
    report.heading("Functions: states a second, and the share of the copy bandwidth")
    table = []
    for name, model in robots.items():
        calls: dict[str, tuple[Callable[..., Any], int]] = {
            "RNEA": (sixd.inverse_dynamics, 3), "ABA": (sixd.forward_dynamics, 3), "mass matrix": (sixd.mass_matrix, 1),
            "Jacobian": (lambda model, q, out=None: sixd.jacobian(model, q, model.body_names[-1], out=out), 1),
        }  # fmt: skip
        for title, (function, count) in calls.items():
            cells = []
            for dtype in DTYPES:
                progress(f"{title} {name} {dtype}")
                arrays = _states(model, dtype)[:count]
                out = function(model, *arrays)
                time = seconds(lambda f=function, m=model, a=arrays, o=out: f(m, *a, out=o))
                size = out.nbytes + sum(x.nbytes for x in arrays)
                cells += [f"{ROWS / time:.2e}", f"{size / time / bandwidth:.0%}"]
                del arrays, out
            table.append([name, title, *cells])
    report.table(["robot", "function", "float32", "", "float64", ""], table, left=2)


_START = """
import sys, time, warnings, cupy, sixd
warnings.simplefilter("ignore")
model = sixd.load(sys.argv[1]).without_passive()
q, v = cupy.zeros((64, model.nq)), cupy.zeros((64, model.nv))
cupy.cuda.Device().synchronize()
start = time.perf_counter()
sixd.forward_dynamics(model, q, v, v)
cupy.cuda.Device().synchronize()
print(time.perf_counter() - start)
"""


def _starts(report: Report, folder: Path | None) -> None:
    report.heading("First ABA of a new model in a new process [s], without and with the code on disk, float64")
    table = []
    for name in ("ur5", "panda", "talos"):
        progress(f"first calls {name}")
        with tempfile.TemporaryDirectory() as cache:
            run = [sys.executable, "-c", _START, str(_file(name, folder))]
            # the driver's own cache of machine code is switched off
            environment = {**os.environ, "SIXD_CACHE_DIR": cache, "CUDA_CACHE_DISABLE": "1"}
            times = [subprocess.run(run, env=environment, capture_output=True, text=True, check=True) for _ in "12"]
        table.append([name, *(f"{float(x.stdout):.2f}" for x in times)])
    report.table(["robot", "new", "on disk"], table)


def _host_seconds(work: Callable[[], Any], count: int = 2000) -> float:
    """The time of a call on the CPU [s]: the best of several runs of many calls."""
    best = np.inf
    for _ in range(5):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        for _ in range(count):
            work()
        best = min(best, (time.perf_counter() - start) / count)
    return float(best)


def _launches(report: Report, model: sixd.Model) -> None:
    report.heading("CPU time of a call [us], RNEA of the ur5, 64 states, float64")
    arrays = _states(model, "float64", 64)
    out = cupy.empty((64, model.nv))
    table = [
        ["CuPy, out=", lambda: sixd.inverse_dynamics(model, *arrays, out=out)],
        ["CuPy", lambda: sixd.inverse_dynamics(model, *arrays)],
        ["CuPy's own: a + b, out=", lambda: cupy.add(arrays[1], arrays[2], out=out)],
    ]
    try:
        import torch

        from sixd import torch as operators
    except ImportError:
        report.paragraph("PyTorch is not installed.")
    else:
        tensors = [torch.as_tensor(x, device="cuda") for x in arrays]
        target = torch.empty((64, model.nv), dtype=torch.float64, device="cuda")
        table += [
            ["PyTorch, out=", lambda: sixd.inverse_dynamics(model, *tensors, out=target)],
            ["sixd.torch (torch.library)", lambda: operators.inverse_dynamics(model, *tensors)],
            ["PyTorch's own: a + b, out=", lambda: torch.add(tensors[1], tensors[2], out=target)],
        ]
    report.table(["call", "us"], [[title, f"{_host_seconds(work) * 1e6:.1f}"] for title, work in table])


def _rollouts(report: Report, model: sixd.Model, rows: int = 2**19) -> None:
    report.heading(f"Rollouts of the ur5 in one launch, {rows:,} states: steps a second")
    table = []
    for title, method, steps in (("semi-implicit Euler", "euler", 400), ("RK4", "rk4", 100)):
        cells = []
        for dtype in DTYPES:
            progress(f"rollouts {title} {dtype}")
            q, qd, _ = _states(model, dtype, rows)
            qd *= 0.1

            def run(q: Any = q, qd: Any = qd, method: str = method, steps: int = steps) -> Any:
                return sixd.simulate(model, q, qd, steps * 1e-3, dt=1e-3, method=method, record_every=steps)

            cells.append(f"{rows * steps / seconds(run, 1):.2e}")
        table.append([title, *cells])
    report.table(["method", "float32", "float64"], table)


def _quadruped(report: Report, model: sixd.Model, rows: int = 65_536) -> None:
    report.heading(f"A quadruped on compliant ground, {rows:,} states with masses of their own: steps a second")
    rng = np.random.default_rng(0)
    height = -min(float(sixd.pose(model, model.neutral(), foot)[2, 3]) for foot in FEET)
    masses = rng.uniform(0.8, 1.25, (rows, 1, 1))
    own = np.array([sixd.Inertia.from_matrix(x).parameters for x in model.inertia[1:]])
    ground = sixd.Ground({foot: [0, 0, 0] for foot in FEET})
    table = []
    for title, method, steps in (("semi-implicit Euler", "euler", 100), ("RK4", "rk4", 30)):
        cells = []
        for dtype in DTYPES:
            progress(f"quadruped {title} {dtype}")
            q = np.tile(model.neutral(), (rows, 1))
            q[:, 6] = height + rng.uniform(0, 0.02, rows)
            arguments = [cupy.asarray(x.astype(dtype)) for x in (q, np.zeros((rows, model.nv)))]
            inertia = cupy.asarray((own * masses).astype(dtype))

            def run(
                arguments: Any = arguments, inertia: Any = inertia, method: str = method, steps: int = steps
            ) -> Any:
                return sixd.simulate(
                    model, *arguments, steps * 2e-4, dt=2e-4, method=method, record_every=steps, forces=ground,
                    parameters={"inertia": inertia},
                )  # fmt: skip

            cells.append(f"{rows * steps / seconds(run, 1):.2e}")
        table.append([title, *cells])
    report.table(["method", "float32", "float64"], table)


if __name__ == "__main__":
    main()
