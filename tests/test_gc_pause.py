"""Pauses of the garbage collector: after threads, errors and forks, the collector is in the same state as before."""

import gc
import os
import threading

import pytest

from sixd.gc_pause import PAUSED, Pause
from sixd.trace import trace


@pytest.fixture(autouse=True)
def collector():
    enabled = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if enabled else gc.disable)()


def test_the_collector_pauses_inside_and_runs_afterwards():
    pause = Pause()
    with pause:
        assert not gc.isenabled()
        with pause:
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_the_user_stopped_stays_stopped():
    gc.disable()
    with PAUSED:
        pass
    assert not gc.isenabled()


def test_an_error_ends_the_pause():
    def broken(x):
        assert not gc.isenabled()
        raise KeyError("mine")

    with pytest.raises(KeyError):
        trace(broken, {"x": (2,)})
    assert gc.isenabled()


def test_traces_inside_traces():
    """A function that is being traced may trace another."""

    def outer(x):
        trace(lambda y: y * 2, {"y": (3,)})
        assert not gc.isenabled()
        return x + 1

    assert trace(outer, {"x": (2,)}).operations == 2
    assert gc.isenabled()


def test_the_last_of_several_threads_ends_the_pause():
    pause, inside, leave = Pause(), threading.Barrier(3), [threading.Event(), threading.Event()]

    def work(k):
        with pause:
            inside.wait()
            leave[k].wait()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for t in threads:
        t.start()
    inside.wait()
    for k in range(2):
        assert not gc.isenabled()
        leave[k].set()
        threads[k].join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("own", [True, False])
def test_a_forked_child_collects(own):
    """The child lacks the other threads. The pause may be that of the forking thread or of another one."""
    pause, inside, leave = Pause(), threading.Event(), threading.Event()

    def hold():
        with pause:
            inside.set()
            leave.wait()

    def fork():
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    if own:
        with pause:
            assert fork() == 0
    else:
        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait()
        assert fork() == 0
        leave.set()
        thread.join()
    assert gc.isenabled()
