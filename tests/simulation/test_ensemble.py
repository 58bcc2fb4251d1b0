"""Ensembles: the same bits on one process, on several and on a cluster; no result is lost with a worker."""

import contextlib
import inspect
import multiprocessing
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import textwrap
import time
import types

import numpy as np
import pytest
import sympy as sp

import sixd
from control_laws import Integral, Unspeakable, deadly, falls, flaky, hopeless, law, noisy, stepped
from sixd.simulation.controller import row_seed
from sixd.simulation.ensemble.cluster import require_distributed
from sixd.simulation.ensemble.job import packed, run_packed

TOP = sixd.zoo.spinning_top()
ARM = sixd.zoo.pendulum(2)
posix = pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX")


def spin(rng):
    return [0, 0, rng.uniform(500, 1000)]


def tops(count, **options):
    """An ensemble of tops of 0.1 s at 1e-4 s, with random spin."""
    return sixd.ensemble(TOP, [0, 0.5, 0], spin, 0.1, count=count, dt=1e-4, keep="end", **options)


def same(a, b):
    """Equal bits, and equal facts of the samples."""
    for name in ("t", "q", "qd", "tau", "internal"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None)
        if x is not None:
            assert x.dtype == y.dtype
            assert np.array_equal(x, y, equal_nan=True), name
    assert list(a.parameters) == list(b.parameters)
    for name in a.parameters:
        assert np.array_equal(a.parameters[name], b.parameters[name])


# the same bits ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    """A dask cluster of two processes, on the loopback interface only."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "host": "127.0.0.1"}
    with (
        distributed.LocalCluster(dashboard_address="127.0.0.1:0", silence_logs=50, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


class Killer:
    """A progress function that kills a worker, once, when some of the work is done."""

    def __init__(self, pids):
        self.pids, self.killed, self.seen = pids, None, []

    def __call__(self, fraction):
        self.seen.append(fraction)
        if self.killed is None:
            self.killed = self.pids()[0]
            os.kill(self.killed, signal.SIGKILL)


def processes_of_pools():
    """Return those of this process; those of a dask cluster have other names."""
    return [p for p in multiprocessing.active_children() if "Process" in p.name]


def children():
    return [p.pid for p in processes_of_pools()]


@posix
@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_tops_with_random_spin(count, cluster):
    """Two processes and a cluster give the same bits, and lose nothing when a worker is killed during the run."""
    chunk = count // 40
    here = tops(count, processes=1)
    assert here.q.shape == (count, 2, 3)
    assert here.failed == 0
    assert np.ptp(here.qd[:, 0, 2]) > 490  # random spin
    same(here, tops(count, processes=2))
    same(here, tops(count, cluster=cluster))

    before = set(children())
    for options in (
        {"processes": 2, "progress": Killer(lambda: [p for p in children() if p not in before])},
        {"cluster": cluster, "progress": Killer(lambda: list(cluster.run(os.getpid).values()))},
    ):
        same(here, tops(count, chunk=chunk, **options))
        reported = options["progress"]
        assert reported.killed
        assert reported.seen == sorted(reported.seen)
        assert reported.seen[0] < 0.1
        assert reported.seen[-1] == 1


def test_any_chunks_and_simulate_itself():
    """Samples are those of one call of simulate, record by record."""
    q, qd = np.random.default_rng(1).normal(size=(2, 37, 2))
    options = {"dt": 1e-2, "record_every": 3, "controller": law}
    whole = sixd.simulate(ARM, q, qd, 0.2, **options)
    for chunk in (1, 5, 16, 100):
        found = sixd.ensemble(ARM, q, qd, 0.2, processes=1, chunk=chunk, **options)
        same(whole, found)
    assert found.batch == (37,)
    assert found.tau.any()
    same(whole.row(7), sixd.simulate(ARM, q[7], qd[7], 0.2, **options))


SAMPLES = {
    "midpoint": (ARM, {"method": "midpoint", "controller": [0.1, 0.2]}),
    "implicit": (ARM, {"method": "implicit", "controller": law}),
    "controller": (ARM, {"controller": sixd.controllers.ComputedTorque(ARM, [0.1, 0.2], 10.0, 2.0)}),
    "adaptive": (ARM, {"method": "adaptive", "dt": 0.02, "rtol": 1e-6}),
    "force elements": (ARM, {"forces": sixd.SpringDamper("world", "rod2", 10.0, 1.0, 0.5, point_a=(1, 0, 0))}),
    "parameters": (ARM, {"parameters": {"gravity": lambda rng: [0, 0, -rng.uniform(1, 10)]}}),
    "float32": (ARM, {"q": np.full((5, 2), 0.5, dtype=np.float32), "qd": np.zeros(2, dtype=np.float32)}),
}


def equations():
    """A pendulum by Lagrange's method, with a symbol."""
    q, qd, k = sp.symbols("q qd k")
    return sixd.lagrange(qd**2 / 2, -k * sp.cos(q), [q], qd=[qd])


def constrained():
    model = sixd.zoo.four_bar()
    return model, {"q": sixd.assemble(model, model.neutral())}


@pytest.mark.many
@pytest.mark.parametrize("name", [*SAMPLES, "equations", "constraints", "reduced"])
def test_what_travels(name):
    """Models, equations, controllers and force elements give the same bits after pickling."""
    if name == "equations":
        system, options = equations(), {"parameters": {"k": [1, 2, 3, 4, 5]}}
    elif name == "constraints":
        system, options = constrained()
    elif name == "reduced":
        system, options = sixd.zoo.double_elbow().reduce(), {}
    else:
        system, options = SAMPLES[name]
    given = {"q": [0.3] * system.nq, "qd": None, "count": 5, "dt": 1e-2, "processes": 1, **options}
    here = sixd.ensemble(system, duration=0.1, **given)
    assert here.failed == 0
    same(here, carried(system, duration=0.1, **{**given, "chunk": 2}))
    if name == "float32":
        assert here.q.dtype == np.float32


def carried(*args, **options):
    """An ensemble whose chunks are packed and unpacked as for other processes, in this process."""
    module = sys.modules["sixd.simulation.ensemble.ensemble"]
    straight = module.run_chunk
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "run_chunk", lambda job, *rest: run_packed(packed(job), *rest))
        assert module.run_chunk is not straight
        return sixd.ensemble(*args, **options)


# differences between samples ------------------------------------------------------------------------


def test_draws_depend_on_seed_and_index_alone():
    """Sample i is drawn from (seed, i), in the order q, qd, parameters, controller, f_ext, whatever the count."""
    order = []

    def draw(name, *shape):
        def one(rng):
            order.append(name)
            return rng.normal(size=shape)

        return one

    given = {"f_ext": draw("f_ext", 2, 6), "controller": draw("tau", 2)}
    parameters = {"gravity": draw("gravity", 3), "damping": draw("damping", 2)}
    arguments = (ARM, draw("q", 2), draw("qd", 2), 0.01)
    ten = sixd.ensemble(*arguments, count=10, parameters=parameters, processes=1, **given)
    assert order[:7] == ["q", "qd", "gravity", "damping", "tau", "f_ext", "q"]
    same(ten, sixd.ensemble(*arguments, count=10, parameters=parameters, processes=1, chunk=3, **given))
    four = sixd.ensemble(*arguments, count=4, parameters=parameters, processes=1, **given)
    same(ten.row(slice(4)), four)
    rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(3,)))
    drawn = [rng.normal(size=n) for n in (2, 2, 3, 2, 2)]
    found = four.q[3, 0], four.qd[3, 0], four.parameters["gravity"][3], four.parameters["damping"][3], four.tau[3, 0]
    for a, b in zip(drawn, found, strict=True):
        assert np.array_equal(a, b)
    other = sixd.ensemble(*arguments, count=4, parameters=parameters, processes=1, seed=1, **given)
    assert not np.isclose(other.q[:, 0], four.q[:, 0]).any()
    assert len(np.unique(ten.q[:, 0])) == 20


def test_random_configurations_and_seeds():
    body = sixd.zoo.single_body()
    found = sixd.ensemble(body, "random", None, 0.01, count=6, seed=[3, 4], processes=1)
    assert len(np.unique(found.q[:, 0, 1])) == 6
    assert np.allclose(np.linalg.norm(found.q[..., :4], axis=-1), 1, rtol=0, atol=1e-12)
    same(found, sixd.ensemble(body, "random", None, 0.01, count=6, seed=[3, 4], processes=1, chunk=1))
    a = sixd.ensemble(body, "random", None, 0.01, count=6, seed=None, processes=1)
    same(a, sixd.ensemble(body, "random", None, 0.01, count=6, seed=a.facts["seed"], processes=1))
    assert not np.array_equal(a.q, found.q)


def test_sweeps():
    """Arrays have an entry for each motion, everything else is the same for all; a grid has all combinations."""
    grid = sixd.grid(gravity=[[0, 0, -1], [0, 0, -9.81]], damping=[[0.0, 0.0], [0.1, 0.1], [0.2, 0.0]])
    found = sixd.ensemble(ARM, [0.5, 0], None, 0.1, parameters=grid, controller=[[1, 0]] * 6, processes=1, chunk=4)
    assert found.batch == (6,)
    k = 0
    for g in (1, 9.81):
        for d in ([0.0, 0.0], [0.1, 0.1], [0.2, 0.0]):
            parameters = {"gravity": [0, 0, -g], "damping": d}
            alone = sixd.simulate(ARM, [0.5, 0], None, 0.1, parameters=parameters, controller=[1, 0])
            same(found.row(k), alone)
            k += 1
    assert sixd.grid(a=[1, 2], b=[3, 4, 5])["b"].tolist() == [3, 4, 5, 3, 4, 5]
    one = sixd.ensemble(ARM, [[0.5, 0]], None, 0.1, count=3, processes=1)  # one sample is broadcast
    assert one.batch == (3,)


def test_keep_the_end():
    for options in ({"dt": 3e-3}, {"controller": stepped, "sample_time": 5e-4, "dt": 3e-4}, {"method": "adaptive"}):
        q = np.linspace(0.1, 1, 6).reshape(3, 2)
        every = sixd.ensemble(ARM, q, None, 0.1, processes=1, **options)
        end = sixd.ensemble(ARM, q, None, 0.1, processes=1, keep="end", **options)
        assert len(end) == 2
        assert np.array_equal(end.t, every.t[[0, -1]])
        assert np.array_equal(end.q, every.q[:, [0, -1]])
        assert np.array_equal(end.qd, every.qd[:, [0, -1]])
    assert len(sixd.ensemble(ARM, q, None, 0.0, processes=1, keep="end")) == 1


# controllers that are called with numbers ------------------------------------------------------------


def closure():
    total = 0.0

    def controller(t, q, qd):
        nonlocal total
        total += float(q[0])
        return np.array([-total, 0.0])

    return controller


@pytest.mark.parametrize("make", [Integral, closure])
def test_each_sample_has_its_own_memory(make):
    q = np.linspace(0.1, 1, 10).reshape(5, 2)
    options = {"sample_time": 1e-2, "dt": 5e-3}
    rows = [sixd.simulate(ARM, x, None, 0.1, controller=make(), **options) for x in q]
    used = make()
    for chunk in (1, 2, 5):
        found = sixd.ensemble(ARM, q, None, 0.1, controller=used, processes=1, chunk=chunk, **options)
        for k, row in enumerate(rows):
            same(found.row(k), row)
    assert used(0.0, [0.25], None)[0] == -0.25  # the argument is unchanged


def test_each_sample_has_its_own_noise():
    options = {"controller": noisy, "sample_time": 1e-2, "dt": 1e-2, "count": 4, "seed": 7}
    found = sixd.ensemble(ARM, None, None, 0.05, processes=1, **options)
    same(found, sixd.ensemble(ARM, None, None, 0.05, processes=1, chunk=1, **options))
    same(found, carried(ARM, None, None, 0.05, processes=1, chunk=3, **options))
    assert len(np.unique(found.tau[:, 0])) == 8
    alone = sixd.simulate(ARM, None, None, 0.05, controller=noisy, sample_time=1e-2, dt=1e-2, seed=row_seed(7, 2))
    same(found.row(2), alone)


def test_open_loop_tables():
    """A table for each sample of an ensemble, or one for all."""
    table = np.random.default_rng(0).normal(size=(5, 4, 2))
    for tau in (table, table[0]):
        control = sixd.controllers.Sequence(tau, sample_time=1e-2)
        q = np.zeros((5, 2))
        whole = sixd.simulate(ARM, q, None, 0.05, controller=control, dt=5e-3)
        same(whole, sixd.ensemble(ARM, None, None, 0.05, controller=control, count=5, dt=5e-3, processes=1, chunk=2))


def test_events_of_every_sample():
    q = np.array([[0.5, 0], [0.1, 0], [0.6, 0], [0.9, 0], [0.4, 0]])
    options = {"method": "adaptive", "events": [falls], "dt": 0.1}
    whole = sixd.simulate(ARM, q, None, 1.0, **options)
    found = sixd.ensemble(ARM, q, None, 1.0, processes=1, chunk=2, **options)
    same(whole, found)
    assert found.facts["steps"] == whole.facts["steps"]
    for a, b in zip(found.facts["events"], whole.facts["events"], strict=True):
        assert np.array_equal(a[0], b[0])


def test_samples_that_fail_are_reported_once():
    q = np.array([[0.1, 0.0]] * 6)
    q[4] = np.nan
    with pytest.warns(
        sixd.SimulationWarning, match="^ensemble: 1 of 6 simulations are not finite at the end"
    ) as caught:
        found = sixd.ensemble(ARM, q, None, 0.01, processes=1, chunk=2)
    assert len(caught) == 1
    assert found.failed == 1


def test_a_controller_that_cannot_be_traced_is_reported_once():
    options = {"controller": stepped, "count": 4, "processes": 1, "chunk": 1}
    with pytest.warns(sixd.SimulationWarning, match="^ensemble: the controller cannot be part") as caught:
        found = sixd.ensemble(ARM, [0.1, 0], None, 0.01, **options)
    assert len(caught) == 1
    assert (found.tau[..., 0] == 0.1).all()


# processes ------------------------------------------------------------------------------------------


def test_short_work_stays_in_this_process(monkeypatch):
    """No processes are started for short work, nor for one process."""
    monkeypatch.setitem(sys.modules, "sixd.simulation.ensemble.workers", None)
    found = sixd.ensemble(ARM, None, None, 0.01, count=5)
    same(found, sixd.ensemble(ARM, None, None, 0.01, count=5, processes=1))
    with pytest.raises(ImportError):
        sixd.ensemble(ARM, None, None, 0.01, count=5, processes=2)


def test_interrupted(tmp_path):
    """Ctrl-C stops the workers, and complete samples are kept; the others are NaN."""
    before, workers = set(children()), {}

    def press(fraction):
        workers.update({p.pid: p for p in processes_of_pools() if p.pid not in before})
        signal.raise_signal(signal.SIGINT)

    for processes in (1, 2):
        with pytest.warns(
            sixd.SimulationWarning, match="^ensemble: interrupted when 10 of 60 simulations were complete"
        ):
            found = tops(60, processes=processes, chunk=10, progress=press)
        assert found.interrupted
        assert found.failed == 50
        done = np.flatnonzero(np.isfinite(found.q[:, -1, 0]))
        assert len(done) == 10
        whole = tops(60, processes=1)
        assert np.array_equal(found.q[done], whole.q[done])
        found.save(tmp_path / "part.npz")
    assert len(workers) == 2
    for process in workers.values():
        multiprocessing.connection.wait([process.sentinel])  # as long as needed


def pressed(*args):
    raise KeyboardInterrupt


@pytest.mark.parametrize("when", ["run_chunk", "step_warning", "_results"])
def test_interrupted_during_start_up(when, monkeypatch):
    """Ctrl-C before any sample is complete gives the starts: in the first steps, in a check, at the first chunk."""
    monkeypatch.setattr(sys.modules["sixd.simulation.ensemble.ensemble"], when, pressed)
    for controller in (None, law):
        q = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
        with pytest.warns(
            sixd.SimulationWarning, match="^ensemble: interrupted when 0 of 3 simulations were complete"
        ) as seen:
            found = sixd.ensemble(ARM, q, [1, 2], 0.1, controller=controller)
        assert len(seen) == 1
        assert found.interrupted
        assert found.t.tolist() == [0]
        assert found.q.tolist() == [[x] for x in q]
        assert found.qd.tolist() == [[[1, 2]]] * 3
        assert np.isnan(found.tau).all() == (controller is law)
        assert found.facts["method"] == "rk4"


@pytest.mark.long
def test_errors_inside_workers():
    """Errors of the work are raised at once, unchanged; lost chunks are repeated, then reported."""
    run = {"dt": 1e-3, "sample_time": 1e-3, "count": 4, "processes": 2, "chunk": 2}
    with rehearsed(), pytest.raises(ZeroDivisionError, match="^the law$"):
        sixd.ensemble(ARM, None, None, 0.1, controller=hopeless, retries=50, **run)
    with rehearsed(), pytest.raises(sixd.WorkerError, match="failed in each of 1 attempts, the last time by BrokenPro"):
        sixd.ensemble(ARM, None, None, 0.1, controller=deadly, retries=0, **run)
    with (
        rehearsed(),
        pytest.raises(sixd.WorkerError, match="in each of 2 attempts, the last time by OSError: the disk"),
    ):
        sixd.ensemble(ARM, None, None, 0.1, controller=flaky, retries=1, **run)


@contextlib.contextmanager
def rehearsed():
    """Without the trial in this process, which would meet the errors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["sixd.simulation.ensemble.ensemble"], "run_chunk", lambda *args: None)
        yield


def test_errors_that_cannot_be_pickled(monkeypatch):
    job = sys.modules["sixd.simulation.ensemble.job"]
    monkeypatch.setattr(job, "_unpacked", lambda payload: types.SimpleNamespace(home=job.this_process()))

    def raised(error):
        def run(*args):
            raise error

        monkeypatch.setattr(job, "run_chunk", run)
        with pytest.raises(Exception) as caught:  # noqa: PT011 (which one is asserted by the caller)
            run_packed(b"", 0, {})
        return caught.value

    error = raised(Unspeakable("ab"))
    assert isinstance(error, sixd.WorkerError)
    assert str(error) == "ensemble: Unspeakable: ab"
    kept = ValueError("x")
    assert raised(kept) is kept


def script(text, path=None):
    """Run a program, as a file or, without a path, from the standard input; (status, output, errors)."""
    text = textwrap.dedent(text)
    if path is not None:
        path.write_text(text)
    given = {"input": None if path else text, "capture_output": True, "text": True, "env": environment()}
    run = subprocess.run([sys.executable, str(path or "-")], **given, check=False)
    return run.returncode, run.stdout, run.stderr


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


CALL = "sixd.ensemble(sixd.zoo.pendulum(), lambda rng: rng.normal(size=1), None, 0.1, count=4, chunk=2, processes=2{})"


@pytest.mark.long
def test_scripts_need_no_guard(tmp_path):
    """A script's own code is not run again in the workers, unless a function of it is needed there."""
    text = f"import sixd\nprint('begins')\nprint({CALL.format('')}.q.shape)"
    code, out, err = script(text, tmp_path / "plain.py")
    assert (code, out, err) == (0, "begins\n(4, 101, 1)\n", "")


LONG = """
import numpy as np, sixd
arm = sixd.zoo.pendulum(2)
def law(t, q, qd): return sixd.inverse_dynamics(arm, q, qd, -100 * q - 20 * qd)
print(sixd.ensemble(arm, np.zeros((9, 2)), None, 0.1, controller={}, keep="end").q.shape)
"""


def test_traced_controllers_need_no_processes(monkeypatch):
    """However long the work is, compiled steps stay in this process, whatever kind of function the controller is."""
    monkeypatch.setitem(sys.modules, "sixd.simulation.ensemble.workers", None)
    monkeypatch.setattr(sys.modules["sixd.simulation.ensemble.ensemble"], "_SHORT", 0.0)
    goal = np.array([0.2, 0.1])

    def closure(t, q, qd):
        return 5 * (goal - q) - qd

    q = np.random.default_rng(0).normal(size=(9, 2))
    for controller in (law, closure, lambda t, q, qd: -q, sixd.controllers.PD(goal, 5.0, 1.0), None):
        found = sixd.ensemble(ARM, q, None, 0.05, controller=controller)
        same(found, sixd.simulate(ARM, q, None, 0.05, controller=controller))
    names = {"__name__": "__main__"}  # like a cell of a notebook
    exec(LONG.format("law"), names)
    exec(LONG.format("lambda t, q, qd: law(t, q, qd)"), names)


def test_adaptive_steps_stay_here_if_workers_cannot_import_the_controller():
    """A lambda cannot be sent, but it was traced: no error, only one core."""
    found = sixd.ensemble(ARM, [0.1, 0.2], None, 0.05, controller=lambda t, q, qd: -q, count=3, method="adaptive")
    assert found.failed == 0


OWN = "import sixd\ndef law(t, q, qd): return [-float(q[0])]\n"
SAMPLED = ", controller=law, sample_time=0.01"
GUARD = "Write 'if __name__ == \"__main__\":' above the call and indent it, or give processes=1. "


def one_sentence(err, text):
    """The last line has the text, and before it there is one short traceback."""
    assert text in err.splitlines()[-1]
    assert err.count("Traceback") == 1
    assert len(err.splitlines()) < 25


def test_a_missing_guard_is_one_sentence(tmp_path):
    """Detected before a worker starts: the script runs once."""
    text = f"{OWN}print('begins')\nprint({CALL.format(SAMPLED)}.q.shape)"
    code, out, err = script(text, tmp_path / "bare.py")
    assert (code, out) == (1, "begins\n")
    one_sentence(err, GUARD)


@pytest.mark.long
def test_guards(tmp_path):
    """A condition that is true in workers too ends in the same sentence; the usual guards work."""
    call = f"print({CALL.format(SAMPLED)}.q.shape)"
    code, _, err = script(f"{OWN}if True:\n    {call}", tmp_path / "bare.py")
    assert code == 1
    one_sentence(err, GUARD)
    head = f"import multiprocessing\n{OWN}"
    for guard in (
        f"if __name__ == '__main__':\n    {call}",
        f"if multiprocessing.current_process().name == 'MainProcess':\n    {call}",
        f"def main():\n    {call}\n__name__ == '__main__' and main()",
    ):
        code, out, err = script(head + guard, tmp_path / "guarded.py")
        assert (code, out, err) == (0, "(4, 101, 1)\n", "")


@pytest.mark.long
def test_a_controller_of_the_prompt():
    """Workers cannot import what was typed at a prompt: the error comes before any starts."""
    code, _, err = script(f"{OWN}{CALL.format(SAMPLED)}")
    assert code == 1
    one_sentence(err, "ensemble: the work needs functions or classes that were typed at a prompt or into a notebook, ")


PRESSED = """
import os, sixd, time
def law(t, q, qd): return [-float(q[0])]
if __name__ == "__main__":
    found = {call}
    print("interrupted", found.interrupted, found.t.tolist(), found.q.shape)
else:
    print("worker", flush=True)
    while not os.path.exists({path!r}):
        time.sleep(0.01)
"""


@pytest.mark.long
@posix
def test_ctrl_c_while_workers_start(tmp_path):
    """It reaches all processes of a terminal; the workers print nothing, and the call returns the complete samples."""
    path, pressed = tmp_path / "pressed.py", tmp_path / "pressed"
    path.write_text(PRESSED.format(call=CALL.format(SAMPLED), path=str(pressed)))
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment()}
    with subprocess.Popen([sys.executable, str(path)], start_new_session=True, **given) as process:
        assert process.stdout.readline() == "worker\n"
        os.killpg(process.pid, signal.SIGINT)
        pressed.touch()
        out, err = process.communicate()
    assert process.returncode == 0, err
    assert out.splitlines()[-1] == "interrupted True [0.0] (4, 1, 1)"
    assert "Traceback" not in err
    assert err.count("SimulationWarning") == 1


@pytest.mark.long
@posix
def test_workers_end_with_their_parent(tmp_path):
    """A killed parent leaves no process behind."""
    text = """
        import multiprocessing, os, signal, sixd
        def report(fraction):
            print(*[p.pid for p in multiprocessing.active_children()], flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    """
    code, out, _ = script(textwrap.dedent(text) + CALL.format(", progress=report"), tmp_path / "killed.py")
    assert code == -signal.SIGKILL
    pids = [int(x) for x in out.split()]
    assert pids
    while any(alive(pid) for pid in pids):  # as long as needed
        time.sleep(0.01)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


# the cluster ------------------------------------------------------------------------------------------


def test_cluster_accepts_lambdas_and_addresses(cluster, monkeypatch):
    options = {"controller": lambda t, q, qd: -2 * q, "count": 5, "chunk": 2}
    here = sixd.ensemble(ARM, "random", None, 0.1, processes=1, **options)
    monkeypatch.setattr("distributed.client.default_client", None)  # none is required
    same(here, sixd.ensemble(ARM, "random", None, 0.1, cluster=cluster.scheduler.address, **options))
    same(here, sixd.ensemble(ARM, "random", None, 0.1, cluster=cluster.cluster, **options))
    with rehearsed(), pytest.raises(ZeroDivisionError, match="^the law$"):
        sixd.ensemble(ARM, None, None, 0.1, cluster=cluster, controller=hopeless, sample_time=1e-3, count=3)


def test_cluster_interrupted(cluster):
    def press(fraction):
        raise KeyboardInterrupt

    with pytest.warns(sixd.SimulationWarning, match="^ensemble: interrupted when 1 of 9 simulations were complete"):
        found = tops(9, cluster=cluster, chunk=1, progress=press)
    assert found.failed == 8


def test_cluster_threads_of_this_process_stay(cluster):
    """A cluster inside this process does not change the user's number of threads."""
    import distributed

    threads = sixd.get_num_threads()
    sixd.set_num_threads(3)
    try:
        with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
            same(tops(8, cluster=client, chunk=4), tops(8, processes=1))
        assert sixd.get_num_threads() == 3
        assert set(cluster.run(sixd.get_num_threads).values()) <= {1, threads}
    finally:
        sixd.set_num_threads(None)


@pytest.mark.long
def test_cluster_errors(monkeypatch):
    distributed = pytest.importorskip("distributed")
    module = sys.modules["sixd.simulation.ensemble.cluster"]
    monkeypatch.setattr(module, "_CONNECT", 0.5)
    with pytest.raises(sixd.WorkerError, match="^ensemble: no dask scheduler answers at 'tcp://127.0.0.1:1': "):
        tops(3, cluster="tcp://127.0.0.1:1")
    with pytest.raises(sixd.ScalarTypeError, match="^ensemble: cluster is 7, expected the address 'tcp://…' of"):
        tops(3, cluster=7)
    options = {"processes": False, "n_workers": 0, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options) as empty,
        pytest.raises(sixd.WorkerError, match="^ensemble: the cluster .* has no workers, expected at least one"),
    ):
        tops(3, cluster=empty)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(sixd.MissingPackageError, match=r"^ensemble: cluster needs .* pip install distributed"):
        require_distributed()


# arguments ----------------------------------------------------------------------------------------------

SIXD = (sixd.SixdError, ValueError)
WRONG = [
    ({}, sixd.ShapeError, "ensemble: all arguments have one value, and count is missing, expected the number"),
    ({"qd": spin}, sixd.ShapeError, "ensemble: values are drawn, and count is missing, expected the number"),
    ({"count": 0}, sixd.ScalarTypeError, "ensemble: count is 0, expected a whole number of at least 1."),
    ({"count": True}, sixd.ScalarTypeError, "ensemble: count is True, expected a whole number of at least 1."),
    ({"count": 2, "processes": 0}, sixd.ScalarTypeError, "ensemble: processes is 0, expected a whole number of at least 1."),
    ({"count": 2, "chunk": 1.5}, sixd.ScalarTypeError, "ensemble: chunk is 1.5, expected a whole number of at least 1."),
    ({"count": 2, "retries": None}, sixd.ScalarTypeError, "ensemble: retries is None, expected a whole number of at least 0."),
    ({"count": 2, "record_every": 0}, sixd.ScalarTypeError, "ensemble: record_every is 0, expected a whole number of at"),
    ({"count": 2, "seed": -1}, sixd.ScalarTypeError, "ensemble: seed is -1, expected a whole number of at least 0, a list"),
    ({"count": 2, "seed": "x"}, sixd.ScalarTypeError, "ensemble: seed is 'x', expected a whole number of at least 0, a list"),
    ({"count": 2, "keep": "last"}, sixd.UnknownNameError, "ensemble: keep: no choice named 'last'. There are: 'all', 'end'."),
    ({"count": 2, "method": "rk5"}, sixd.UnknownNameError, "ensemble: method: no choice named 'rk5'. Did you mean 'rk4'?"),
    ({"count": 2, "cluster": "tcp://x", "processes": 2}, sixd.ScalarTypeError, "ensemble: processes and cluster are both set"),
    ({"count": 2, "dt": 0}, sixd.ScalarTypeError, "ensemble: dt is 0, expected a finite number above 0 [s]."),
    ({"q": np.zeros((3, 3)), "count": 4}, sixd.ShapeError, "ensemble: numbers of simulations are count 4, q 3, expected the same"),
    ({"q": np.zeros((3, 3)), "qd": np.zeros((4, 3))}, sixd.ShapeError, "ensemble: numbers of simulations are q 3, qd 4, expected the same for all. For a full grid: sixd.grid."),
    ({"q": np.zeros((0, 3))}, sixd.ShapeError, "ensemble: q is empty, expected at least one value."),
    ({"q": np.zeros((2, 2, 3))}, sixd.ShapeError, "ensemble: q has shape (2, 2, 3), expected (count, 3), or one value for all."),
    ({"q": np.zeros(4), "count": 2}, sixd.ShapeError, "ensemble: q has shape (2, 4), expected (..., 3)"),
    ({"q": [[1], [1, 2]], "count": 2}, sixd.ShapeError, "ensemble: q is a ragged sequence, expected (count, 3), or one value for all."),
    ({"qd": lambda rng: rng.normal(size=4), "count": 2}, sixd.ShapeError, "ensemble: qd draws shape (4,) for simulation 0, expected (3,)."),
    ({"parameters": {"gravitas": 1}, "count": 2}, sixd.UnknownNameError, "ensemble: parameters: no parameter named 'gravitas'. Did you mean 'gravity'?"),
    ({"parameters": {"gravity": np.full((2, 3), np.nan)}}, sixd.ScalarTypeError, "ensemble: gravity holds NaN or infinity"),
    ({"controller": lambda t, q, qd: -q, "count": 2, "processes": 2}, sixd.ScalarTypeError, "ensemble: the work cannot be sent to other processes: "),
]  # fmt: skip


@pytest.mark.parametrize(("given", "kind", "message"), WRONG, ids=lambda x: x if isinstance(x, str) else "")
def test_wrong_arguments(given, kind, message):
    arguments = {"q": [0, 0.5, 0], "qd": None, **given}
    with pytest.raises(kind) as error:
        sixd.ensemble(TOP, duration=0.01, **arguments)
    assert str(error.value).startswith(message)


def test_other_errors():
    with pytest.raises(sixd.ScalarTypeError, match="^ensemble: model is a int, expected"):
        sixd.ensemble(3, None, None, 1, count=2)
    with pytest.raises(sixd.ShapeError, match="^grid: a is 3, expected a list of values."):
        sixd.grid(a=3)
    model, options = constrained()
    q = np.array([options["q"]] * 3)
    q[1] += 0.1
    with pytest.raises(
        sixd.AssemblyError, match="^ensemble: q does not satisfy the constraints of 'four_bar' in state 1"
    ):
        sixd.ensemble(model, q, None, 0.1)


def test_versions_must_agree(monkeypatch):
    monkeypatch.setattr(sys.modules["sixd.simulation.ensemble.ensemble"], "__version__", "9.9")
    seen = []
    module = sys.modules["sixd.simulation.ensemble.ensemble"]
    monkeypatch.setattr(
        module, "run_chunk", lambda job, *rest: seen.append(packed(job)) or (_ for _ in ()).throw(StopAsyncIteration)
    )
    with pytest.raises(StopAsyncIteration):
        tops(3, processes=1)
    monkeypatch.undo()
    with pytest.raises(
        sixd.WorkerError, match=r"^ensemble: a worker has sixd .*, expected 9\.9\. Install the same everywhere"
    ):
        run_packed(seen[0], 0, {})


def test_options_are_those_of_simulate():
    """An ensemble has all the arguments of simulate, with the same defaults, except those that stream a result."""
    ours, theirs = (inspect.signature(f).parameters for f in (sixd.ensemble, sixd.simulate))
    assert set(theirs) - set(ours) == {"on_chunk"}
    for name in set(theirs) - {"on_chunk", "seed"}:
        assert ours[name].default == theirs[name].default, name
