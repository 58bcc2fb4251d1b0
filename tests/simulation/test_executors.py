"""Ensembles on executors of other libraries: the same bits, lost tasks are repeated, errors of the simulation are
raised.
"""

import concurrent.futures
import contextlib
import multiprocessing
import pickle
import sys
import threading

import numpy as np
import pytest

import sixd
from control_laws import deadly, flaky, hopeless, law, noisy, stepped

ARM = sixd.zoo.pendulum(2)
Q, QD = np.random.default_rng(1).normal(size=(2, 37, 2))
OPTIONS = {"dt": 1e-2, "record_every": 3, "controller": law}
MODULE = "sixd.simulation.ensemble.ensemble"


def arms(cluster, **options):
    return sixd.ensemble(ARM, Q, QD, 0.2, cluster=cluster, **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def whole():
    """Return all samples from one call of simulate."""
    return sixd.simulate(ARM, Q, QD, 0.2, **OPTIONS)


def same(a, b):
    for name in ("t", "q", "qd", "tau"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


@pytest.fixture(scope="module")
def processes():
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
        yield pool


class Job:
    """A future like submitit's: no callbacks, no cancel, not hashable, done after a few queries."""

    def __init__(self, compute):
        self.compute, self.asked = compute, 0

    def __eq__(self, other):
        raise AssertionError("not compared")

    __hash__ = None

    def done(self):
        self.asked += 1
        return self.asked > 2

    def result(self):
        return self.compute()


class Batch:
    """An executor like submitit's: work is pickled."""

    def __init__(self, lose=lambda number: None):
        self.lose, self.jobs, self.most = lose, [], 0

    def submit(self, function, *arguments):
        work = pickle.dumps((function, arguments))
        number = len(self.jobs)
        self.most = max(self.most, 1 + sum(job.asked < 3 for job in self.jobs))

        def compute():
            error = self.lose(number)
            if error is not None:
                raise error
            function, arguments = pickle.loads(work)
            return pickle.loads(pickle.dumps(function(*arguments)))

        self.jobs.append(Job(compute))
        return self.jobs[-1]


# the same bits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [1, 5, 16, 100])
def test_chunks_on_threads_and_jobs(chunk, whole):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        same(whole, arms(pool, chunk=chunk))
        same(whole, arms(pool, chunk=chunk))  # the pool is left open
    same(whole, arms(Batch(), chunk=chunk))


@pytest.mark.parametrize("chunk", [3, None])
def test_chunks_on_processes(chunk, whole, processes):
    same(whole, arms(processes, chunk=chunk))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked on other systems")
def test_forked_processes(whole):
    with (
        pytest.MonkeyPatch.context() as patch,
        concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool,
    ):
        patch.setattr("warnings.warn", lambda *args, **options: None)  # of forks in programs with threads
        threads = sixd.get_num_threads()
        same(whole, arms(pool, chunk=20))
        assert pool.submit(sixd.get_num_threads).result() == 1
        assert sixd.get_num_threads() == threads


def test_executor_of_dask(whole):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
    with distributed.Client(processes=False, **options) as client, client.get_executor() as pool:
        same(whole, arms(pool, chunk=10))


def test_controllers_with_noise_and_memory(processes):
    options = {"controller": noisy, "sample_time": 1e-2, "count": 4, "seed": 7, "dt": 1e-2}
    here = sixd.ensemble(ARM, None, None, 0.05, processes=1, **options)
    for cluster in (processes, Batch()):
        same(here, sixd.ensemble(ARM, None, None, 0.05, cluster=cluster, chunk=1, **options))


def test_tasks_do_not_pile_up(whole):
    """Two for each worker that an executor is known to have."""
    for name, window in (("_max_workers", 6), ("max_workers", 6), ("num_workers", 6), ("other", 32)):
        batch = Batch()
        setattr(batch, name, 3)
        same(whole, arms(batch, chunk=1))
        assert len(batch.jobs) == 37
        assert batch.most == window


# losses and errors ------------------------------------------------------------------------------------


def named(name, base=RuntimeError):
    return type(name, (base,), {})("gone")


LOST = [
    concurrent.futures.CancelledError(),
    concurrent.futures.BrokenExecutor("gone"),
    ConnectionResetError("gone"),
    *map(named, ("KilledWorker", "UncompletedJobError", "WorkerCrashedError", "ActorDiedError", "NodeDiedError")),
]


@pytest.mark.many
@pytest.mark.parametrize("error", LOST, ids=lambda error: type(error).__name__)
def test_lost_tasks_are_repeated(error, whole):
    batch = Batch(lambda number: error if number % 2 == 0 else None)
    same(whole, arms(batch, chunk=4, retries=10))
    assert len(batch.jobs) > 10
    always = Batch(lambda number: error)
    with pytest.raises(
        sixd.WorkerError, match=r"^ensemble: rows \d+ … \d+ failed in each of 3 attempts, the last time"
    ):
        arms(always, chunk=4)


def test_lost_futures_with_callbacks(whole):
    """Those that another party cancels."""
    pool = concurrent.futures.ThreadPoolExecutor(2)

    class Cancels:
        count = 0

        def submit(self, function, *arguments):
            self.count += 1
            if self.count % 3:
                return pool.submit(function, *arguments)
            future = concurrent.futures.Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    with pool:
        same(whole, arms(Cancels(), chunk=4))


@contextlib.contextmanager
def rehearsed():
    """Without the trial in this process, which would meet the errors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[MODULE], "run_chunk", lambda *args: None)
        yield


def test_errors_of_the_simulation_are_raised_at_once(processes):
    run = {"sample_time": 1e-3, "chunk": 2, "retries": 50}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for cluster in (pool, processes, Batch()):
            with rehearsed(), pytest.raises(ZeroDivisionError, match="^the law$"):
                arms(cluster, controller=hopeless, **run)
        with rehearsed(), pytest.raises(sixd.WorkerError, match="in each of 2 attempts, the last time by OSError: the"):
            arms(pool, controller=flaky, **{**run, "retries": 1})
    failed = Batch(lambda number: type("FailedJobError", (type(LOST[4]),), {})("in the job"))
    with pytest.raises(RuntimeError, match="^in the job$"):  # submitit's error of the function itself
        arms(failed)
    assert len(failed.jobs) > 0


def test_a_broken_pool_cannot_be_used_again():
    run = {"sample_time": 1e-3, "chunk": 2, "controller": deadly}
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        with (
            rehearsed(),
            pytest.raises(sixd.WorkerError, match="with it all of the pool: .* Make a new pool, or give p"),
        ):
            arms(pool, **run)
        with pytest.raises(sixd.WorkerError, match="^ensemble: a worker of <.*> was lost, and with it all of the pool"):
            arms(pool)
    closed = concurrent.futures.ThreadPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(sixd.WorkerError, match="does not take a task: RuntimeError: cannot schedule new futures after"):
        arms(closed)


def test_interrupted():
    """Ctrl-C cancels waiting tasks, and keeps complete samples."""
    gate, futures = threading.Event(), []
    pool = concurrent.futures.ThreadPoolExecutor(1)

    class Watched:
        _max_workers = 4

        def submit(self, function, *arguments):
            def wait_and_run():
                if len(futures) > 1:
                    gate.wait()
                return function(*arguments)

            futures.append(pool.submit(wait_and_run if futures else function, *([] if futures else arguments)))
            return futures[-1]

    def press(fraction):
        raise KeyboardInterrupt

    with pool:
        with pytest.warns(sixd.SimulationWarning, match="^ensemble: interrupted when 4 of 37 rows were complete"):
            found = arms(Watched(), chunk=4, progress=press)
        cancelled = sum(future.cancelled() for future in futures)
        gate.set()
    assert found.failed == 33
    assert len(futures) == 8
    assert cancelled >= 6  # all but the first, and the one that runs


def test_threads_keep_the_filters_of_warnings(recwarn):
    """Workers do not warn, the ensemble does, and afterwards simulate does again."""
    q = np.array([[0.1, 0.0]] * 6)
    q[4] = np.nan
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        sixd.ensemble(ARM, q, None, 0.01, cluster=pool, chunk=1, controller=stepped)
    texts = [str(w.message) for w in recwarn if issubclass(w.category, sixd.SimulationWarning)]
    assert [text.startswith("ensemble: 1 of 6 rows") for text in texts] == [False, True]
    assert texts[0].startswith("ensemble: the controller cannot be part")
    with pytest.warns(sixd.SimulationWarning, match="^simulate: "):
        sixd.simulate(ARM, q, None, 0.01)


# pickling ----------------------------------------------------------------------------------------------


def test_lambdas_need_cloudpickle(whole, monkeypatch):
    pytest.importorskip("cloudpickle")
    given = {"chunk": 10, "controller": lambda t, q, qd: -3 * q - 0.5 * qd}
    same(whole, arms(Batch(), **given))
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(sixd.ScalarTypeError, match="^ensemble: the work cannot be sent to other processes: "):
        arms(Batch(), **given)
    same(whole, arms(Batch(), chunk=10))


# invalid executors ------------------------------------------------------------------------------------


class Answers:
    """An executor that returns something else."""

    def __init__(self, answer):
        self.answer = answer

    def submit(self, function, *arguments):
        return self.answer


class Finished:
    def __init__(self, value):
        self.value = value

    def done(self):
        return True

    def result(self):
        return self.value


class NoSignal:
    def result(self):
        return None


@pytest.mark.parametrize("cluster", [7, 2.5, [], {}, object(), concurrent.futures.ThreadPoolExecutor, len])
def test_not_a_cluster(cluster):
    with pytest.raises(
        sixd.ScalarTypeError, match="^ensemble: cluster is .*, expected the address .* or an executor: an"
    ):
        arms(cluster)


@pytest.mark.parametrize("answer", [None, 3, NoSignal()])
def test_not_a_future(answer):
    with pytest.raises(
        sixd.ScalarTypeError, match="^ensemble: submit returned .*, expected a future with add_done_cal"
    ):
        arms(Answers(answer))


@pytest.mark.long
def test_not_a_result():
    with pytest.raises(
        sixd.ScalarTypeError, match=r"^ensemble: result\(\) of its future returned 'x' with the executor"
    ):
        arms(Answers(Finished("x")), chunk=100)
