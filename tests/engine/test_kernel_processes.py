"""Compiled code and its environment: racing processes, interruptions, broken disks, and entries on disk."""

import itertools
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from sixd.algorithms import rnea
from sixd.codegen.llvm import machine as machines
from sixd.engine import artifact, targets
from sixd.engine.functions import LIBRARY
from sixd.runtime import cache, routine
from sixd.spatial import placement

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits are POSIX")
STATE = np.array([[0.3, -0.5], [1.0, 2.0], [-1.0, 0.25]])
ROWS = np.linspace(-2, 2, 3 * 11 * 2).reshape(3, 11, 2)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty cache, and a process that has not written yet."""
    monkeypatch.setenv("SIXD_CACHE_DIR", str(tmp_path / "cache"))
    for counter in ("_writes", "_warnings"):
        monkeypatch.setattr(cache, counter, itertools.count())
    monkeypatch.setattr(cache, "_failed", set())
    return tmp_path / "cache"


@pytest.fixture
def compilations(monkeypatch):
    """A list that grows by one for each compiled piece of machine code."""
    made, assemble = [], machines.assemble
    monkeypatch.setattr(machines, "assemble", lambda *args: made.append(args) or assemble(*args))
    return made


@pytest.fixture
def traces(monkeypatch):
    """A list that grows by one for each trace."""
    made, trace = [], artifact.trace
    monkeypatch.setattr(artifact, "trace", lambda *args, **options: made.append(args) or trace(*args, **options))
    return made


def arm():
    """A new model, for which this process has compiled nothing."""
    return sixd.zoo.pendulum(2)


def python(code, *args, wait=True, **env):
    """Run a script in a process of its own, and return its output when it has ended without an error."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **{k: str(v) for k, v in env.items()}}
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    run = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return finish(run) if wait else run


def finish(run):
    out, err = run.communicate()
    assert run.returncode == 0, err
    return out, err


# many processes --------------------------------------------------------------------------------------------------

RACE = """
    import os, sys, time
    import numpy as np
    import sixd
    model = sixd.zoo.panda_arm()
    x = np.linspace(-1, 1, 63).reshape(9, 7)
    open(sys.argv[1] + f"/ready{os.getpid()}", "w").close()
    while not os.path.exists(sys.argv[1] + "/go"):
        time.sleep(0.001)
    result = sixd.inverse_dynamics(model, x, x, x)
    one = sixd.inverse_dynamics(model, x[4], x[4], x[4])
    assert np.array_equal(one, result[4])
    print(result.tobytes().hex())
"""


@pytest.mark.parametrize("count", [3, pytest.param(8, marks=pytest.mark.long)])
def test_processes_compile_the_same_at_once(count, tmp_path):
    """All succeed without messages, with the same bits, and leave one complete file for each form of the code."""
    home = tmp_path / "cache"
    processes = [python(RACE, tmp_path, wait=False, SIXD_CACHE_DIR=home) for _ in range(count)]
    while len(list(tmp_path.glob("ready*"))) < count and all(p.poll() is None for p in processes):
        threading.Event().wait(0.01)
    (tmp_path / "go").touch()
    results = [finish(p) for p in processes]
    assert {out for out, _ in results} == {results[0][0]}
    assert {err for _, err in results} == {""}
    assert [path.suffix for path in home.iterdir()] == [".sixd"] * 3  # the third is the code of calls


def test_a_model_in_another_process(tmp_path, home):
    """A pickled model gives the same bits there, with code that was compiled here."""
    model = sixd.zoo.random_tree(4, kinds=("spherical", "helical"))
    q = np.array([model.random_configuration(k) for k in range(6)])
    v = np.linspace(-1, 1, 6 * model.nv).reshape(6, model.nv)
    expected = sixd.forward_dynamics(model, q, v, v)
    artifact.shell()  # the code of calls is on disk too
    (tmp_path / "model").write_bytes(pickle.dumps((model, q, v)))
    code = """
        import pickle, sys, sixd
        with open(sys.argv[1], "rb") as file:
            model, q, v = pickle.load(file)
        print(sixd.forward_dynamics(model, q, v, v).tobytes().hex(), "llvmlite" in sys.modules)
    """
    out, err = python(code, tmp_path / "model")
    assert out.split() == [expected.tobytes().hex(), "False"]
    assert err == ""


# interrupted and failed compilations -----------------------------------------------------------------------------

STEPS = {
    "trace": (artifact, "trace"),
    "assembly": (machines, "assemble"),
    "linking": (targets, "make_image"),
    "reading": (cache, "read"),
    "writing": (cache, "write"),
    "loading": (routine, "LoadedImage"),
}


class Failing:
    """A function that fails the first time."""

    def __init__(self, function, error):
        self.function, self.errors = function, [error]

    def __call__(self, *args, **options):
        if self.errors:
            raise self.errors.pop()
        return self.function(*args, **options)


@pytest.mark.many
@pytest.mark.parametrize("form", ["one row", "batch"])
@pytest.mark.parametrize("way", ["public", "kernel"])
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), MemoryError(), RuntimeError("LLVM gave up")], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("step", STEPS)
def test_what_failed_once_works_the_next_time(step, error, way, form, home, monkeypatch):
    """An interruption or error at any step of a compilation is raised unchanged, and leaves nothing behind."""
    model = arm()
    call = (
        sixd.compile(sixd.inverse_dynamics, model) if way == "kernel" else lambda *a: sixd.inverse_dynamics(model, *a)
    )
    arrays = STATE if form == "one row" else ROWS
    owner, name = STEPS[step]
    failing = Failing(getattr(owner, name), error)
    monkeypatch.setattr(owner, name, failing)
    with pytest.raises(type(error)):
        call(*arrays)
    assert not failing.errors
    result = call(*arrays)
    rows = np.reshape(arrays, (3, -1, 2))
    assert_allclose(
        np.reshape(result, (-1, 2)),
        [rnea.rnea(model, *rows[:, k]) for k in range(rows.shape[1])],
        rtol=1e-12,
        atol=1e-12,
    )
    assert np.array_equal(call(*arrays), result)
    assert not list(home.glob("*.tmp"))


def test_threads_that_waited_for_a_failed_compilation(home, monkeypatch):
    """The first thread gets the error, the others compile again and get their results."""
    model, barrier = arm(), threading.Barrier(6)
    monkeypatch.setattr(machines, "assemble", Failing(machines.assemble, RuntimeError("LLVM gave up")))

    def task(_):
        barrier.wait()
        try:
            return sixd.inverse_dynamics(model, *ROWS)
        except RuntimeError as error:
            return error

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(task, range(6)))
    good = [x for x in results if isinstance(x, np.ndarray)]
    assert len(good) == 5
    assert all(np.array_equal(x, good[0]) for x in good)


INTERRUPT = """
    import sys
    import numpy as np
    import sixd
    from sixd.algorithms.rnea import rnea

    x = np.linspace(-1, 1, 9).reshape(3, 3)

    def run(model, last):
        # the batch and one row, up to the call of a function with this number; how many calls there were
        calls = 0

        def count(*_):
            nonlocal calls
            calls += 1
            if calls == last:
                raise KeyboardInterrupt

        sys.setprofile(count)
        try:
            sixd.inverse_dynamics(model, x, x, x), sixd.inverse_dynamics(model, *x)
        finally:
            sys.setprofile(None)
        return calls

    run(sixd.zoo.pendulum(3), None)
    usual, met = run(sixd.zoo.pendulum(3), None), 0
    for k in range(24):
        model = sixd.zoo.pendulum(3, mass=1.0 + k)
        try:
            run(model, usual * (k + 1) // 25)
        except KeyboardInterrupt:
            met += 1
        batch, one = sixd.inverse_dynamics(model, x, x, x), sixd.inverse_dynamics(model, *x)
        assert np.allclose(batch, [rnea(model, r, r, r) for r in x], rtol=1e-12, atol=1e-12)
        assert np.allclose(one, rnea(model, *x), rtol=1e-12, atol=1e-12)
    print(met)
"""


@pytest.mark.long
@posix
def test_interruptions_at_any_moment():
    """Ctrl-C somewhere in a compilation, two dozen times, placed by calls and not by time: the next call works."""
    out, _ = python(INTERRUPT, SIXD_CACHE_DIR="off")
    assert int(out) > 12  # an interruption in a finalizer is ignored


FORKS = """
    import os, threading, time
    import numpy as np
    import sixd
    from sixd.locks import FORKS_WAIT

    x = np.linspace(-1, 1, 12).reshape(3, 4)

    def compile_one(k):
        return sixd.inverse_dynamics(sixd.zoo.pendulum(4, mass=1.0 + k), x, x, x)

    def compile_on():
        for k in range(10**6):
            compile_one(k)

    for _ in range(2):  # from the first import on: a module half loaded is no better in a child
        threading.Thread(target=compile_on, daemon=True).start()
    children = []
    for k in range(12):
        time.sleep(0.02)
        child = os.fork()
        if child == 0:
            compile_one(0.5 + k)
            with FORKS_WAIT:
                grandchild = os.fork()
            if grandchild == 0:
                compile_one(0.25 + k)
            elif os.waitpid(grandchild, 0)[1]:
                os._exit(1)
            os._exit(0)
        children.append(child)
    end, ended = time.monotonic() + 100, []
    while len(ended) < 12 and time.monotonic() < end:  # a guard alone: each takes some tenths of a second
        for child in set(children) - set(ended):
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                assert status == 0
                ended.append(pid)
        time.sleep(0.01)
    for child in set(children) - set(ended):
        os.kill(child, 9)
    print(len(ended), flush=True)
    os._exit(0)  # other threads are at it still
"""


@pytest.mark.long
@posix
def test_forks_while_other_threads_compile():
    """A dozen children, and their own, compile and end: a fork waits while another thread is in LLVM, or imports."""
    assert python(FORKS, SIXD_CACHE_DIR="off")[0].strip() == "12"


LLVM = """
    import threading
    import numpy as np
    import sixd
    from llvmlite.binding import ffi
    from sixd.locks import FORKS_WAIT

    calls = []
    ffi.lib._lock.register(lambda: calls.append(threading.get_ident() in FORKS_WAIT._depths), lambda: None)
    x = np.linspace(-1, 1, 12).reshape(3, 4)
    model = sixd.zoo.pendulum(4)
    sixd.inverse_dynamics(model, x, x, x), sixd.inverse_dynamics(model, x[0], x[0], x[0])
    sixd.simulate(model, x, None, 0.1, dt=0.01)
    print(len(calls) > 10, all(calls))
"""


@pytest.mark.long
def test_every_call_of_llvm_keeps_forks_waiting():
    """llvmlite holds a lock in each of its functions: a child of a fork during a call could never acquire it."""
    assert python(LLVM, SIXD_CACHE_DIR="off")[0].split() == ["True", "True"]


# unusable disks --------------------------------------------------------------------------------------------------

USE = """
    import sys, warnings
    import numpy as np
    {before}
    import sixd
    x = np.linspace(-1, 1, 6).reshape(3, 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for model in (sixd.zoo.planar(2), sixd.zoo.pendulum(2)):
            tau = sixd.inverse_dynamics(model, x, x, x)
            assert np.array_equal(tau[0], sixd.inverse_dynamics(model, x[0], x[0], x[0]))
            sixd.compile((sixd.mass_matrix, lambda q: q * 2), model)(x)
    print([w.category.__name__ for w in caught])
"""
LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))"


@pytest.mark.long
@posix
@pytest.mark.parametrize("case", ["a file", "full", "no home", "shared", "read-only"])
def test_a_cache_that_cannot_be_used(case, tmp_path):
    """Everything works, with one warning in total."""
    where, before, env = tmp_path / "cache", "", {}
    if case == "a file":
        where.write_text("not a folder")
    elif case == "full":
        before = LIMIT
    elif case == "no home":
        env = {"HOME": "/proc/nobody", "XDG_CACHE_HOME": ""}
    elif case == "shared":
        where.mkdir()
        where.chmod(0o777)
    else:
        where.mkdir(mode=0o500)
        if os.access(where, os.W_OK):  # root may write everywhere except here
            where = "/proc/sixd"
    code = textwrap.dedent(USE).format(before=before)
    if case == "no home":
        code = "import os; del os.environ['SIXD_CACHE_DIR']\n" + code
    out, err = python(code, SIXD_CACHE_DIR=where, **env)
    assert out.strip() == "['CacheWarning']"
    assert err == ""


@pytest.mark.long
def test_the_cache_can_be_off(tmp_path):
    """No warning, no file."""
    out, err = python(USE.format(before=""), SIXD_CACHE_DIR="off", HOME=tmp_path, XDG_CACHE_HOME=tmp_path / "xdg")
    assert out.strip() == "[]"
    assert err == ""
    assert list(tmp_path.iterdir()) == []


# warm starts -----------------------------------------------------------------------------------------------------

WARM = """
    import importlib, sys
    import numpy as np
    import sixd
    from sixd.spatial import sin
    from sixd.engine import artifact
    traces, trace = [], artifact.trace
    artifact.trace = lambda *a, **k: traces.append(a) or trace(*a, **k)
    model = sixd.zoo.panda_arm()
    x = np.linspace(-1, 1, 63).reshape(9, 7)
    results = [sixd.inverse_dynamics(model, x, x, x), sixd.inverse_dynamics(model, *x[:3])]
    results += [sixd.forward_dynamics(model, x, x, x), sixd.jacobian(model, x[0], "tool", expressed_in="world")]
    results += [sixd.compile(sixd.mass_matrix, model, dtype="float32")(x.astype("f4")), *sixd.energy(model, x, x)]
    library = len(traces)
    results += [sixd.compile(lambda q: sin(q) @ q, model)(x)]
    print("llvmlite" in sys.modules, library, len(traces))
    print(b"".join(np.asarray(r).tobytes() for r in results).hex())
"""


@pytest.mark.long
def test_a_warm_start_needs_neither_traces_nor_llvm(home):
    """Code from the disk is bit-identical to that of the process that made it; only a user's function is traced to find its key."""
    cold, first = python(WARM)[0].splitlines()
    assert cold == "True 6 7"
    warm, second = python(WARM)[0].splitlines()
    assert second == first
    assert warm == "False 0 1"


def damaged(data, other):
    """Ways in which a file can be damaged."""
    yield b""
    yield data[: len(data) // 2]
    yield data + b"\\0"
    yield data[:-40] + bytes([data[-40] ^ 1]) + data[-39:]
    yield bytes(len(data))
    yield other  # a complete entry, of another kernel


def test_damaged_entries_are_compiled_again(home, compilations, recwarn):
    """Without a message; afterwards the file is complete again."""
    expected = sixd.inverse_dynamics(arm(), *ROWS)
    (path,) = home.iterdir()
    data = path.read_bytes()
    sixd.mass_matrix(arm(), ROWS[0])
    (other,) = [p for p in home.iterdir() if p != path]
    assert len(compilations) == 2
    for k, bad in enumerate(damaged(data, other.read_bytes())):
        path.write_bytes(bad)
        for _ in range(2):
            assert np.array_equal(sixd.inverse_dynamics(arm(), *ROWS), expected)
            assert len(compilations) == 3 + k
    assert not [w for w in recwarn if issubclass(w.category, sixd.CacheWarning)]


def test_clearing_the_cache(home, compilations):
    """Code in use keeps working; later code is compiled again."""
    model = arm()
    expected = sixd.inverse_dynamics(model, *ROWS)
    assert "inverse_dynamics of" in str(sixd.cache_info())
    assert sixd.cache_info().entries == sixd.clear_cache() == 1
    assert np.array_equal(sixd.inverse_dynamics(model, *ROWS), expected)
    assert len(compilations) == 1
    assert np.array_equal(sixd.inverse_dynamics(arm(), *ROWS), expected)
    assert len(compilations) == 2


# identity of code ------------------------------------------------------------------------------------------------


def test_a_function_that_changed(home, compilations):
    """Functions of one name are distinguished by what they compute; the same one is recognised again, whatever its
    name.
    """

    def make(factor, name="gain"):
        def gain(q, shift=0.0):
            return factor * q + shift

        gain.__name__ = name
        return gain

    q = ROWS[0]
    for made, (factor, static, name) in enumerate(
        [(2, {}, "gain"), (3, {}, "gain"), (3, {"shift": 1.0}, "gain"), (3, {"shift": 2.0}, "gain")], 1
    ):
        kernel = sixd.compile(make(factor, name), arm(), **static)
        assert_allclose(kernel(q), factor * q + static.get("shift", 0.0), rtol=0, atol=1e-14)
        assert len(compilations) == made
    assert np.array_equal(sixd.compile(make(3, "other"), arm())(q), 3 * q)
    assert len(compilations) == 4


@pytest.mark.long
def test_a_function_that_changed_between_processes(tmp_path, home):
    """The same file and name, another body: the new one runs."""
    code = """
        import numpy as np, sixd
        def controller(q, qd):
            return GAIN * q - qd
        print(sixd.compile(controller, sixd.zoo.planar(2))(np.ones((3, 2)), np.ones((3, 2)))[0, 0])
    """
    results = [float(python(code.replace("GAIN", gain))[0]) for gain in ("2.0", "3.0", "2.0")]
    assert results == [1.0, 2.0, 1.0]


def build(**changes):
    """Return a small model, every number of which can be changed."""
    numbers = {
        "gravity": -9.81, "mass": 2.0, "com": 0.3, "moment": 0.1, "axis": 1.0, "offset": 0.4, "pitch": 0.2,
        "damping": 0.5, "friction": 0.3, "armature": 0.7, "stiffness": 2.0, "rest": 0.1, "frame": 0.6,
    } | changes  # fmt: skip
    n = numbers.get
    builder = sixd.ModelBuilder(n("name", "m"), gravity=(0, 0.1, n("gravity")))
    body = sixd.Inertia(n("mass"), [0.1, n("com"), 0], np.diag([n("moment"), 0.12, 0.13]))
    first = sixd.Prismatic if n("kind") == "prismatic" else sixd.Revolute
    builder.add_body(n("body", "a"), "world", first([n("axis"), 1, 0]), inertia=body, damping=n("damping"), friction=n("friction"),
                     armature=n("armature"), stiffness=n("stiffness"), rest=n("rest"))  # fmt: skip
    parent = "world" if n("parent") == "world" else n("body", "a")
    builder.add_body(
        "b", parent, sixd.Helical("z", n("pitch")), placement=placement([0, n("offset"), 0.2]), inertia=body
    )
    builder.add_frame(n("tip", "tip"), "b", placement([0, 0, n("frame")]))
    return builder.build()


NUMBERS = (
    "gravity",
    "mass",
    "com",
    "moment",
    "axis",
    "offset",
    "pitch",
    "damping",
    "friction",
    "armature",
    "stiffness",
    "rest",
)
DEFAULT = dict(zip(NUMBERS, (-9.81, 2.0, 0.3, 0.1, 1.0, 0.4, 0.2, 0.5, 0.3, 0.7, 2.0, 0.1), strict=True))


def test_models_that_differ_in_one_number(home, compilations):
    """A change in the 14th digit of any number gives another key, and so does another joint or parent; names do not."""
    q, qd, qdd = ROWS
    sixd.inverse_dynamics(build(), q, qd, qdd)
    assert len(compilations) == 1
    for change in ({}, {"name": "other"}, {"body": "other"}, {"tip": "other"}, {"frame": 0.7}):
        sixd.inverse_dynamics(build(**change), q, qd, qdd)
        assert len(compilations) == 1
    changes = [{name: x * (1 + 1e-14)} for name, x in DEFAULT.items()] + [
        {"kind": "prismatic"},
        {"parent": "world"},
    ]
    for made, change in enumerate(changes, 2):
        model = build(**change)
        result = sixd.inverse_dynamics(model, q, qd, qdd)
        assert len(compilations) == made, change
        rows = [rnea.rnea(model, *row) for row in zip(q, qd, qdd, strict=True)]
        assert_allclose(result, rows, rtol=1e-12, atol=1e-12)


def test_choices_are_part_of_the_key(home, compilations):
    """Frames by their places, coordinates, kinds, prescribed joints, dtypes and external forces."""
    q, qd, qdd = ROWS
    calls = [
        lambda m: sixd.velocity(m, q, qd, "tip"),
        lambda m: sixd.velocity(m, q, qd, "b"),
        lambda m: sixd.velocity(m, q, qd, "tip", expressed_in="world"),
        lambda m: sixd.acceleration(m, q, qd, qdd, "tip"),
        lambda m: sixd.acceleration(m, q, qd, qdd, "tip", kind="classical"),
        lambda m: sixd.hybrid_dynamics(m, [], q, qd, qdd, qdd),
        lambda m: sixd.hybrid_dynamics(m, ["a"], q, qd, qdd, qdd),
        lambda m: sixd.inverse_dynamics(m, q, qd, qdd),
        lambda m: sixd.inverse_dynamics(m, q, qd, qdd, f_ext=np.ones((2, 6))),
        lambda m: sixd.inverse_dynamics(m, *ROWS.astype("f4")),
        lambda m: sixd.inverse_dynamics(m, *ROWS[:, 0]),
        lambda m: sixd.external_force(m, q, "tip", np.ones(6)),
        lambda m: sixd.external_force(m, q, "tip", np.ones(3)),
        lambda m: sixd.external_force(m, q, "tip", np.ones(3), point=np.ones(3)),
        lambda m: m.integrate(q, qd),
        lambda m: m.difference(q, qd),
    ]
    results = [call(build()) for call in calls]
    assert len(compilations) == len(calls)
    for call, result in zip(calls, results, strict=True):
        again = call(build())
        assert all(map(np.array_equal, again, result)) if isinstance(result, tuple) else np.array_equal(again, result)
    assert len(compilations) == len(calls)
    moved = sixd.velocity(build(frame=0.7), q, qd, "tip")
    assert len(compilations) == len(calls) + 1
    assert not np.array_equal(moved, results[0])


def test_equal_models_share_code_on_disk_but_not_each_other(home, compilations, traces):
    """A second model like the first needs no trace; each keeps working when the other is gone."""
    first, second = arm(), arm()
    names = [name for name, f in LIBRARY.items() if f.arrays == ("q",) and not f.choices]
    expected = {name: getattr(sixd, name)(first, ROWS[0]) for name in names}
    made = len(compilations)
    assert made == len(traces) == len(names)
    del first
    for name in names:
        assert np.array_equal(getattr(sixd, name)(second, ROWS[0]), expected[name])
    assert len(compilations) == len(traces) == made
