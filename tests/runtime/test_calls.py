"""Calls that go directly from Python to compiled code: bit-identical to general calls, and only for arguments that they
support.
"""

import copy
import ctypes
import functools
import gc
import inspect
import os
import pickle
import pydoc
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

import sixd
from samples import single_joint
from sixd.codegen.llvm.machine import SLOT
from sixd.engine import evaluate, kernel
from sixd.model import memo
from sixd.model.system import library
from sixd.runtime import calls, cpython, routine
from sixd.zoo.random_trees import JOINT_KINDS

pytestmark = pytest.mark.skipif(cpython._Words is object, reason="another Python: all calls go the long way")

ARM = sixd.zoo.planar(2)
DTYPES = ("float64", "float32")
BATCHES = ((), (0,), (1,), (2,), (7,), (8,), (9,), (16,), (40,), (3, 2), (2, 0, 3), (1, 1, 4))
FUNCTIONS = {
    "inverse_dynamics": ("q", "v", "v"),
    "forward_dynamics": ("q", "v", "v"),
    "mass_matrix": ("q",),
    "energy": ("q", "v"),
    "pose": ("q",),
    "jacobian": ("q",),
    "integrate": ("q", "v"),
}
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
each_way = pytest.mark.parametrize("way", ["public", "kernel"])


def draw(model, name, batch, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    count = int(np.prod(batch))
    q = np.array([model.random_configuration(rng) for _ in range(count)]).reshape((*batch, model.nq))
    kinds = {"q": lambda: q, "v": lambda: rng.uniform(-1, 1, (*batch, model.nv))}
    return [np.ascontiguousarray(kinds[k]().astype(dtype)) for k in FUNCTIONS[name]]


def caller(way, name, model, dtype):
    frame = (model.body_names[-1],) if name in ("pose", "jacobian") else ()
    if way == "kernel":
        return sixd.compile(library(name), model, dtype=dtype, **dict.fromkeys(["frame"][: len(frame)], *frame))

    def public(*arrays, **options):
        return library(name)(model, *arrays, *frame, **options)

    return public


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def same(a, b):
    pairs = list(zip(as_tuple(a), as_tuple(b), strict=True))
    return all(type(x) is type(y) and x.dtype == y.dtype and x.shape == y.shape for x, y in pairs) and all(
        np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in pairs
    )


@pytest.fixture
def direct():
    """Return a context in which no call may take the general path."""

    class Direct:
        def __enter__(self):
            def refuse(*_, **__):
                raise AssertionError("this call went the long way")

            self.patch = pytest.MonkeyPatch()
            self.patch.setattr(evaluate, "evaluate", refuse)
            self.patch.setattr(kernel, "evaluate", refuse)
            self.patch.setattr(routine.Routine, "quick", refuse)

        def __exit__(self, *_):
            self.patch.undo()

    return Direct()


def awkward(x):
    """Return the same numbers in another layout, which only the general path supports."""
    wide = np.zeros((*x.shape, 2), x.dtype)
    wide[..., 1] = x
    return wide[..., 1]


# bits ------------------------------------------------------------------------------------------------------------


@pytest.mark.many
@each_dtype
@each_way
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_direct_calls_are_bit_identical_to_general_ones(kind, name, way, dtype, direct):
    """One sample and batches, with and without out, on every joint type: entry, loop and general path agree."""
    model = single_joint(kind)
    call = caller(way, name, model, dtype)
    takes_out = way == "kernel" or name != "integrate"
    for batch in ((), (3,)):
        call(*draw(model, name, batch, dtype))  # provides both forms
    whole = draw(model, name, (40,), dtype)
    rows = [as_tuple(call(*(x[k].copy() for x in whole))) for k in range(40)]
    for batch in BATCHES:
        count = int(np.prod(batch))
        arrays = [x[:count].reshape((*batch, x.shape[-1])).copy() for x in whole]
        kept = [x.copy() for x in arrays]
        expected = call(*map(awkward, arrays))
        with direct:
            result = call(*arrays)
            assert same(result, expected)
            if takes_out:
                targets = tuple(np.full(np.shape(x), 7, dtype) for x in as_tuple(expected))
                out = targets if len(targets) > 1 else targets[0]
                assert call(*arrays, out=out) is out
                assert same(targets, tuple(np.asarray(x) for x in as_tuple(expected)))
                assert same(call(*arrays, out=None), expected)
        assert all(np.array_equal(x, y) for x, y in zip(arrays, kept, strict=True))
        for k, x in enumerate(as_tuple(result)):
            flat = np.reshape(x, (count, *np.shape(rows[0][k])))
            assert all(np.asarray(flat[r]).tobytes() == np.asarray(rows[r][k]).tobytes() for r in range(count))


@each_dtype
def test_results_are_new_arrays_of_their_own(dtype, direct):
    """Every result has its own memory, is writeable and owns its data."""
    call, arrays = caller("kernel", "inverse_dynamics", ARM, dtype), draw(ARM, "inverse_dynamics", (), dtype)
    call(*arrays)
    with direct:
        results = [call(*arrays) for _ in range(50)]
    assert len({x.ctypes.data for x in results}) == 50
    assert all(x.flags.owndata and x.flags.writeable and x.flags.c_contiguous for x in results)
    results[0][:] = 0
    assert all(same(x, results[1]) for x in results[1:])


def test_both_widths_by_one_public_function(direct):
    """float32 is recognised without a choice: the same function and the same model, alternating."""
    model = sixd.zoo.planar(2)
    both = {dtype: draw(model, "inverse_dynamics", (), dtype) for dtype in DTYPES}
    first = {dtype: sixd.inverse_dynamics(model, *both[dtype]) for dtype in DTYPES}
    with direct:
        for _ in range(3):
            for dtype in DTYPES:
                assert same(sixd.inverse_dynamics(model, *both[dtype]), first[dtype])


@each_way
def test_only_what_is_needed_is_compiled(way, monkeypatch):
    """One sample needs no code for batches, and vice versa; each is compiled at the first call that needs it."""
    provided, install = [], routine.Routine._install
    monkeypatch.setattr(routine.Routine, "_install", lambda self, form: provided.append(form) or install(self, form))
    call, one, many = (
        caller(way, "mass_matrix", sixd.zoo.planar(2), "float64"),
        draw(ARM, "mass_matrix", ()),
        draw(ARM, "mass_matrix", (3,)),
    )
    for _ in range(3):
        call(*one)
        call(*one, out=np.zeros((2, 2)))
    assert provided == ["entry"]
    for _ in range(3):
        call(*many)
    assert provided == ["entry", "loop"]
    other = caller(way, "mass_matrix", sixd.zoo.planar(2), "float64")
    other(*many)
    assert provided[2:] == ["loop"]


# arguments that direct calls do not support --------------------------------------------------------------------------


class Subclass(np.ndarray):
    """A class of arrays."""


ODD_OUT = {
    "wrong shape": lambda x: np.zeros(3),
    "more dimensions": lambda x: np.zeros((1, 2)),
    "a list": lambda x: [0.0, 0.0],
    "a tuple": lambda x: (np.zeros(2),),
    "whole numbers": lambda x: np.zeros(2, int),
    "complex": lambda x: np.zeros(2, complex),
    "objects": lambda x: np.zeros(2, object),
    "read-only": lambda x: np.broadcast_to(0.0, 2),
    "the other width": lambda x: np.zeros(2, np.float32),
    "other byte order": lambda x: np.zeros(2, ">f8"),
    "every other entry": lambda x: np.zeros(4)[::2],
    "unaligned": lambda x: np.zeros(17, np.uint8)[1:].view(float),
    "a subclass": lambda x: np.zeros(2).view(Subclass),
    "an input": lambda x: x[0],
    "part of an input": lambda x: x[1].base[1:3],
    "a scalar": lambda x: 3.0,
    "nothing": lambda x: (),
}


@each_way
@pytest.mark.parametrize("odd", ODD_OUT)
def test_out_of_other_kinds(odd, way):
    """What the general path writes into gets the same numbers; what it rejects is rejected with its message."""
    model = sixd.zoo.planar(2)
    call = caller(way, "inverse_dynamics", model, "float64")
    rng = np.random.default_rng(1)
    line = rng.uniform(-1, 1, 3)
    arrays = [rng.uniform(-1, 1, 2), line[:2], rng.uniform(-1, 1, 2)]
    fresh = [x.copy() for x in arrays]
    long = sixd.inverse_dynamics(model, *map(awkward, fresh))
    call(*fresh)
    out = ODD_OUT[odd](arrays)

    def attempt(function):
        try:
            return np.array([complex(x).real for x in function()])
        except (TypeError, ValueError, sixd.SixdError) as error:
            return f"{type(error).__name__}: {error}"

    found = attempt(lambda: call(*arrays, out=out))
    if isinstance(found, str):
        other = ODD_OUT[odd](fresh)
        assert found == attempt(lambda: call(*map(awkward, fresh), out=other))
    else:
        assert isinstance(out, np.ndarray)
        assert np.array_equal(found, long.astype(np.float32) if out.dtype == np.float32 else long)


@each_way
@pytest.mark.parametrize(
    "form", ["list", "tuple of three", "one array", "equal arrays", "overlapping", "in an input", "good"]
)
def test_out_of_several_outputs(form, way):
    """A tuple of arrays is supported directly; a list, and overlapping arrays, take the general path, with the same
    result.
    """
    call, arrays = caller(way, "energy", ARM, "float64"), draw(ARM, "energy", (6,))
    expected = call(*arrays)
    line, buffer = np.zeros(9), np.zeros((6, 2))
    out = {
        "list": lambda: [np.zeros(6), np.zeros(6)],
        "tuple of three": lambda: (np.zeros(6), np.zeros(6), np.zeros(6)),
        "one array": lambda: np.zeros(6),
        "equal arrays": lambda: (line[:6], line[:6]),
        "overlapping": lambda: (line[:6], line[3:]),
        "in an input": lambda: (buffer.reshape(-1)[:6], np.zeros(6)),
        "good": lambda: (np.zeros(6), np.zeros(6)),
    }[form]()
    if form in ("tuple of three", "one array"):
        for _ in range(2):
            with pytest.raises(sixd.ShapeError, match="out has"):
                call(*arrays, out=out)
        return
    if form == "in an input":
        buffer[...] = arrays[0]
        arrays = [buffer, arrays[1]]
    assert call(*arrays, out=out) is out
    if form not in ("equal arrays", "overlapping"):
        assert same(tuple(out), expected)


@each_way
def test_keywords(way, direct):
    """Names in any order; unknown and repeated ones raise the same errors as before."""
    model = sixd.zoo.planar(2)
    call, (q, qd, qdd) = caller(way, "inverse_dynamics", model, "float64"), draw(model, "inverse_dynamics", ())
    expected, out = call(q, qd, qdd), np.zeros(2)
    for _ in range(2):
        with direct:
            assert same(call(q, qdd=qdd, qd=qd), expected)
            assert same(call(qdd=qdd, qd=qd, q=q), expected)
            assert same(call(qdd=qdd, out=None, qd=qd, q=q), expected)
            assert call(q, out=out, qdd=qdd, qd=qd) is out
        assert call(q, qd, qdd, f_ext=None, out=out) is out
        assert call(q, qd, qdd, out=out, f_ext=np.zeros((2, 6))) is out
        assert call(q, qd, qdd, **{"".join(["o", "ut"]): out}) is out  # not the interned name
        assert same(out, expected)
        with pytest.raises((TypeError, sixd.SixdError), match="outt"):
            call(q, qd, qdd, outt=out)
        with pytest.raises((TypeError, sixd.SixdError)):
            call(q, qd, qdd, qdd=qdd)
        with pytest.raises((TypeError, sixd.SixdError)):
            call(q, qd)
        with pytest.raises((TypeError, sixd.SixdError)):
            call(q, qd, qdd, qdd)
        with pytest.raises((TypeError, sixd.SixdError)):
            call()


def test_a_function_without_out_rejects_it():
    model, (q, v) = sixd.zoo.planar(2), draw(ARM, "integrate", ())
    for _ in range(3):
        library("integrate")(model, q, v)
        with pytest.raises(TypeError, match=r"integrate\(\) got an unexpected keyword argument 'out'"):
            library("integrate")(model, q, v, out=np.zeros(2))


ODD_ARRAYS = {
    "a list": lambda x: x.tolist(),
    "a tuple": lambda x: tuple(x.tolist()),
    "objects": lambda x: x.astype(object),
    "the other width": lambda x: x.astype(np.float32).astype(float).astype(np.float32),
    "other byte order": lambda x: x.astype(">f8"),
    "a subclass": lambda x: x.view(Subclass),
    "whole numbers": lambda x: np.round(x).astype(int),
    "long double": lambda x: x.astype(np.longdouble),
    "a dtype of its own": lambda x: x.astype(np.dtype("f8", metadata={"a": 1})),
    "None": lambda x: None,
    "text": lambda x: "q",
    "a class": lambda x: np.ndarray,
    "an int": lambda x: 3,
    "too long": lambda x: np.zeros(3),
    "too short": lambda x: np.zeros(1),
    "without dimensions": lambda x: np.array(0.5),
    "17 dimensions": lambda x: x.reshape((1,) * 17 + (2,)),
    "complex": lambda x: x.astype(complex),
    "NaN": lambda x: x * np.nan,
    "infinite": lambda x: x * np.inf,
}


@each_way
@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("odd", ODD_ARRAYS)
def test_arrays_of_other_kinds(odd, place, way):
    """The same result, or the same error, before and after compiled code is attached."""
    model = sixd.zoo.planar(2)
    call, arrays = caller(way, "inverse_dynamics", model, "float64"), draw(model, "inverse_dynamics", ())
    changed = [ODD_ARRAYS[odd](x) if k == place else x for k, x in enumerate(arrays)]

    def attempt():
        try:
            result = call(*changed)
            return result.dtype, result.shape, result.tobytes() if result.dtype != object else str(result)
        except (TypeError, ValueError, sixd.SixdError) as error:
            return type(error), str(error)

    before = attempt()
    call(*arrays)
    call(*(x[None] for x in arrays))
    assert attempt() == before == attempt()


# references ------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_no_reference_is_lost():
    """10,000 calls of each kind leave all reference counts unchanged."""
    model = sixd.zoo.planar(2)
    kernel_ = sixd.compile(sixd.energy, model)
    q, v = np.array([0.3, 0.5]), np.array([1.0, -2.0])
    rows = np.tile(q, (3, 1)), np.tile(v, (3, 1))
    long = np.tile(q, (3000, 1)), np.tile(v, (3000, 1))
    nan, short, out = v * np.nan, np.zeros(1), np.zeros((2, 2))
    pair, batch = (np.zeros(()), np.zeros(())), (np.zeros(3), np.zeros(3))
    frame = model.body_names[-1]

    def fail():
        with pytest.raises(sixd.ShapeError):
            sixd.mass_matrix(model, short)

    kinds = {
        "row": lambda: sixd.mass_matrix(model, q),
        "row, out": lambda: sixd.mass_matrix(model, q, out=out),
        "out is None": lambda: sixd.mass_matrix(model, q, out=None),
        "scalars": lambda: kernel_(q, v),
        "scalars, out": lambda: kernel_(q, v, out=pair),
        "batch": lambda: kernel_(*rows),
        "batch, out": lambda: kernel_(*rows, out=batch),
        "frame": lambda: sixd.pose(model, q, frame),
        "long": lambda: kernel_(*long),
        "suspect": lambda: kernel_(q, nan),
        "suspect, out": lambda: kernel_(q, nan, out=pair),
        "refused": fail,
    }
    kept = [model, kernel_, q, v, *rows, *long, nan, short, out, pair, *pair, batch, *batch, frame, np.ndarray]
    kept += [np.dtype("float64"), np.dtype("float32"), None, sixd.mass_matrix, sixd.pose]
    for name, function in kinds.items():
        for _ in range(3):
            function()
        gc.collect()
        before = [sys.getrefcount(x) for x in kept]
        for _ in range({"long": 300, "suspect": 300, "suspect, out": 300, "refused": 300}.get(name, 10_000)):
            function()
        gc.collect()
        off = [abs(a - sys.getrefcount(x)) for a, x in zip(before, kept, strict=True)]
        assert max(off) < 20, name


def test_a_kernel_is_freed_with_its_code():
    """A kernel, its plan and its routine are freed with the last reference, as far as the collector is concerned."""
    kernels = [sixd.compile(sixd.mass_matrix, sixd.zoo.planar(2)) for _ in range(3)]
    for x in kernels:
        x(np.zeros(2))
    watched = [weakref.ref(x) for kernel in kernels for x in (kernel, *kernel._routines.values())]
    assert len(watched) == 6
    del kernels, x
    gc.collect()
    assert not any(reference() for reference in watched)


# systems and choices ---------------------------------------------------------------------------------------------


@pytest.mark.long
def test_many_systems_at_once(direct):
    """More systems than slots: each has its own numbers, whether it is in a slot or not."""
    length = np.linspace(0.5, 2, 700)
    q = np.array([0.3])
    models = [sixd.zoo.pendulum(1).with_gravity((0, 0, -float(g))) for g in length]
    expected = [sixd.gravity_force(m, q).copy() for m in models]
    for _ in range(2):
        assert all(same(sixd.gravity_force(m, q), e) for m, e in zip(models, expected, strict=True))
    kept = models[::7]
    del models
    gc.collect()
    assert all(same(sixd.gravity_force(m, q), e) for m, e in zip(kept, expected[::7], strict=True))


@pytest.mark.long
def test_a_system_at_the_address_of_another():
    """The table forgets a system when it is freed: one at the same address has numbers of its own."""
    q, seen = np.array([0.3]), set()
    for g in np.linspace(1, 9, 200):
        model = sixd.zoo.pendulum(1).with_gravity((0, 0, -float(g)))
        for _ in range(2):
            result = sixd.gravity_force(model, q)
            assert same(result, sixd.inverse_dynamics(model, q, 0 * q, 0 * q))
        seen.add(id(model))
        del model
    assert len(seen) < 200


def test_slots_of_dead_systems_are_empty():
    gc.collect()
    table = sixd.pose._entries
    model = sixd.zoo.planar(2)
    names = ["".join(["link", n]) for n in "12"]
    for name in names:
        sixd.pose(model, np.zeros(2), name)
    key, addresses = id(model), {id(name) for name in names}
    filled = [s for s in slots(table) if s[0] == key]
    assert {s[1] for s in filled} <= addresses
    assert filled
    del names, name
    for k in "12":  # the names are kept as long as their addresses are in the table
        text = "".join(["link", k])
        assert same(sixd.pose(model, np.zeros(2), text), sixd.pose(model, [0.0, 0.0], text))
    del model
    gc.collect()
    assert not [s for s in slots(table) if s[0] == key]
    assert key not in table


def slots(table):
    words = list(table._slots)
    return [tuple(words[k : k + len(SLOT)]) for k in range(0, len(words), len(SLOT))]


def test_frames_by_any_string(direct):
    """Equal names are equal frames, whatever object they are; another name is another frame."""
    model, q = sixd.zoo.planar(2), np.array([0.3, 0.5])
    one, two = sixd.pose(model, q, "link1"), sixd.pose(model, q, "link2")
    assert not np.array_equal(one, two)
    with direct:
        assert same(sixd.pose(model, q, "link1"), one)
        assert same(sixd.pose(model, q, "link2"), two)
    for name, expected in (("link1", one), ("link2", two)):
        assert same(sixd.pose(model, q, "".join(list(name))), expected)
        assert same(sixd.pose(model, q, np.str_(name)), expected)
        assert same(sixd.pose(model, q, frame=name), expected)
    with pytest.raises(sixd.SixdError, match="no frame named 'link3'"):
        sixd.pose(model, q, "link3")


def test_choices_other_than_the_defaults(direct):
    """Each combination has its own code; literals are looked up directly, other objects take the general path."""
    model, q = sixd.zoo.planar(2), np.array([0.3, 0.5])
    qd, qdd = np.array([1.0, -2.0]), np.array([0.4, 0.6])
    words = ("body", "world", "aligned")
    results = {e: sixd.jacobian(model, q, "link2", expressed_in=e) for e in words}
    both = {
        (e, k): sixd.acceleration(model, q, qd, qdd, "link2", expressed_in=e, kind=k)
        for e in words
        for k in ("spatial", "classical")
    }
    assert len({x.tobytes() for x in both.values()}) > 3
    with direct:
        assert same(sixd.jacobian(model, q, "link2"), results["body"])
        assert same(sixd.acceleration(model, q, qd, qdd, "link2"), both["body", "spatial"])
        assert same(sixd.acceleration(model, q, qd, qdd, "link2", kind="classical"), both["body", "classical"])
        for e, expected in results.items():
            assert same(sixd.jacobian(model, q, "link2", expressed_in=e), expected)
            assert same(sixd.jacobian(frame="link2", expressed_in=e, model=model, q=q), expected)
        for (e, k), expected in both.items():
            assert same(sixd.acceleration(model, q, qd, qdd, "link2", kind=k, expressed_in=e), expected)
            out = np.zeros(6)
            sixd.acceleration(model, q, out=out, qdd=qdd, qd=qd, expressed_in=e, frame="link2", kind=k)
            assert same(out, expected)
    for e, expected in results.items():
        assert same(sixd.jacobian(model, q, "link2", expressed_in="".join(list(e))), expected)
        assert same(sixd.jacobian(model, q[None], "link2", expressed_in=e)[0], expected)
    for _ in range(2):
        with pytest.raises(sixd.SixdError, match="expected_in|expressed_in"):
            sixd.jacobian(model, q, "link2", expressed_in="bodi")
        with pytest.raises(TypeError, match="takes 3 positional arguments"):
            sixd.jacobian(model, q, "link2", "world")
        with pytest.raises(TypeError, match="kind"):
            sixd.jacobian(model, q, "link2", kind="spatial")


def test_the_memo_is_cleared_between_calls(direct):
    model, q = sixd.zoo.planar(2), np.array([0.3, 0.5])
    expected = sixd.mass_matrix(model, q)
    for _ in range(3):
        memo.clear()
        assert not any(word for s in slots(sixd.mass_matrix._entries) for word in s)
        for _ in range(2):
            assert same(sixd.mass_matrix(model, q), expected)


# threads and forks -----------------------------------------------------------------------------------------------


@each_way
def test_threads_at_once(way):
    """One kernel in eight threads, single samples and long batches, from the first call on: each result has its own
    numbers.
    """
    model = sixd.zoo.planar(2)
    call = caller(way, "inverse_dynamics", model, "float64")
    jobs = [draw(model, "inverse_dynamics", batch, seed=k) for k, batch in enumerate([(), (5,), (3000,), ()] * 2)]
    expected = [caller("kernel", "inverse_dynamics", ARM, "float64")(*job) for job in jobs]
    start, wrong = threading.Barrier(8), []

    def work(k):
        start.wait()
        for _ in range(200):
            if not same(call(*jobs[k]), expected[k]):
                wrong.append(k)

    together(work, 8)
    assert not wrong


@pytest.mark.long
def test_the_memo_is_cleared_while_threads_call():
    """Code in use stays, even if it is forgotten and made again meanwhile."""
    model = sixd.zoo.planar(2)
    jobs = [draw(model, "inverse_dynamics", batch) for batch in ((), (4000,), (4000,))]
    expected = [sixd.inverse_dynamics(model, *job) for job in jobs]
    start, wrong = threading.Barrier(4), []

    def work(k):
        start.wait()
        for _ in range(100):
            if k == 3:
                memo.clear()
                gc.collect()
            elif not same(sixd.inverse_dynamics(model, *jobs[k]), expected[k]):
                wrong.append(k)

    together(work, 4)
    assert not wrong


def together(work, count):
    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_forks():
    """A child calls the code that its parent attached, and attaches more."""
    code = """
        import os, threading
        import numpy as np
        import sixd

        model, x = sixd.zoo.planar(2), np.array([0.3, 0.5])
        kernel = sixd.compile(sixd.inverse_dynamics, model)
        expected = [sixd.inverse_dynamics(model, x, x, x), kernel(x, x, x), sixd.mass_matrix(model, x)]
        for _ in range(5):
            child = os.fork()
            if not child:
                found = [sixd.inverse_dynamics(model, x, x, x), kernel(x, x, x), sixd.mass_matrix(model, x)]
                found32 = sixd.inverse_dynamics(model, *[np.float32(x)] * 3)
                good = all(map(np.array_equal, found, expected)) and found32.dtype == np.float32
                batch = sixd.inverse_dynamics(model, *[np.tile(x, (3000, 1))] * 3)
                os._exit(0 if good and (batch == expected[0]).all() else 1)
            assert os.waitpid(child, 0)[1] == 0
        print("good")
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.stdout == "good\n", run.stderr


# functions as objects --------------------------------------------------------------------------------------------


def test_public_functions_behave_as_functions():
    f = sixd.inverse_dynamics
    assert (f.__name__, f.__qualname__, f.__module__) == ("inverse_dynamics", "inverse_dynamics", "sixd.api.dynamics")
    assert list(inspect.signature(f).parameters) == ["model", "q", "qd", "qdd", "f_ext", "out"]
    assert inspect.isroutine(f)
    assert "inverse_dynamics(model" in pydoc.render_doc(f, renderer=pydoc.plaintext)
    assert "Joint forces" in pydoc.render_doc(f, renderer=pydoc.plaintext)
    assert pickle.loads(pickle.dumps(f)) is f
    assert copy.copy(f) is copy.deepcopy(f) is f
    assert repr(f) == "<function inverse_dynamics of sixd>"

    class Robot:
        torque = f

    assert Robot.torque is f
    assert Robot().torque.__func__ is f
    x = np.array([0.3, 0.5])
    assert same(functools.partial(f, ARM)(x, x, x), f(ARM, x, x, x))
    assert same(f(*[ARM, x, x, x]), f(model=ARM, q=x, qd=x, qdd=x))


def test_a_kernel_without_arrays_or_with_too_many():
    """Calls of no array, of 17 dimensions and of 63 arrays have the right numbers, on whichever path."""
    nothing = sixd.compile(lambda: np.array([1.0, 2.0]), ARM)
    deep = sixd.compile(lambda x: x.reshape((1,) * 17), ARM, shapes={"x": (1,)})
    names = [f"x{k}" for k in range(63)]
    space = {}
    exec(f"def add({', '.join(names)}): return {' + '.join(names)}", space)
    many = sixd.compile(space["add"], ARM, shapes=dict.fromkeys(names, ()))
    numbers = [np.array(float(k)) for k in range(63)]
    for _ in range(3):
        assert nothing().tolist() == [1, 2]
        assert deep(np.array([3.0])).shape == (1,) * 17
        assert deep(np.array([[3.0], [4.0]])).shape == (2,) + (1,) * 17
        assert many(*numbers) == 63 * 31
        assert type(many(*numbers)) is np.float64
        with pytest.raises(sixd.SixdError):
            nothing(*numbers)


def test_an_object_can_be_called_from_the_start():
    """Until code is attached, and where the layout of objects is unknown, objects are called by ``__call__``."""
    entry = calls.FastCall([(2,)], [(2,)], fallback=lambda *arrays, out=None: (len(arrays), out))
    assert entry(1, 2, out=3) == (2, 3)
    word = ctypes.c_uint64.from_address(id(entry) + 16)
    assert word.value == 0
