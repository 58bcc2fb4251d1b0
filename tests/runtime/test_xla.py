"""Handlers of XLA's interface, called with call frames made here: neither JAX nor a GPU is needed."""

import ctypes

import numpy as np
import pytest

from sixd.codegen.llvm.machine import CONTEXT, NO_MEMORY
from sixd.codegen.xla import ROOTS
from sixd.codegen.xla_frame import KnownCall, frame_fault
from sixd.engine.artifact import handlers
from sixd.runtime.cpython import common_context
from sixd.runtime.xla import _RELEASED, TABLE, PlanTable, XlaPlan, call_plan, device_words, load_handlers

ROW = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)
LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
ASK = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
CURRENT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
ERROR, STREAM, ORDINAL = 0xE0, 0x5EA, 1


@pytest.fixture(scope="module")
def loaded():
    return load_handlers(handlers())


class Frame:
    """A call frame like XLA's, with a table of functions."""

    def __init__(self, inputs=(), outputs=(), words=(0, 0), metadata=False):
        self.messages = []
        self._kept = []
        functions = {48: self._create, 80: self._stream, 184: self._device}
        api = (ctypes.c_uint64 * 24)(192, 0, 24)
        api[4] = 7 << 32  # version 0.7
        for at, function in functions.items():
            made = ASK(function)
            self._kept.append(made)
            api[at // 8] = self._address(made)
        self.api = api
        attribute = self._words(11, len(words), self._at(self._words(*words)))
        extension = self._words(32, 1, 0, self._at(self._words(36, 24, *[0] * 4))) if metadata else None
        self.metadata = self._kept[-2] if metadata else None
        self.frame = self._words(
            168, self._at(extension) if metadata else 0, self._at(api), 0xC0, 3,
            *self._list(inputs), *self._list(outputs), 48, 0, 1, 0, 0, self._at(self._words(self._at(attribute))), 0,
        )  # fmt: skip

    def _words(self, *values):
        made = (ctypes.c_int64 * len(values))(*values)
        self._kept.append(made)
        return made

    def _at(self, words):
        return ctypes.addressof(words)

    def _address(self, function):
        return ctypes.cast(function, ctypes.c_void_p).value

    def _list(self, arrays):
        buffers = [self._words(48, 0, 12, x.ctypes.data, x.ndim, self._at(self._words(*x.shape))) for x in arrays]
        return 40, 0, len(arrays), 0, self._at(self._words(*map(self._at, buffers)))

    def _create(self, args):
        size, _, message, code = (ctypes.c_int64 * 4).from_address(args)
        assert size == 28
        self.messages.append((ctypes.string_at(message).decode(), code & 0xFFFFFFFF))
        return ERROR

    def _stream(self, args):
        words = (ctypes.c_int64 * 4).from_address(args)
        assert tuple(words[:3]) == (32, 0, 0xC0)
        words[3] = STREAM
        return None

    def _device(self, args):
        words = (ctypes.c_int64 * 4).from_address(args)
        assert tuple(words[:3]) == (28, 0, 0xC0)
        ctypes.c_int32.from_address(args + 24).value = ORDINAL
        return None

    def call(self, address):
        return ASK(address)(self._at(self.frame))


def test_handlers_have_the_version_of_xla(loaded):
    """The version of the call frame; the version of the header if the frame has none.

    Handlers of GPUs can be recorded in graphs.
    """
    for name, traits in (("cpu", 0), ("cuda", 1)):
        frame = Frame(metadata=True)
        frame.api[4] = 7 << 32 | 3  # version 3.7
        assert frame.call(loaded.address(name)) is None
        assert frame.metadata[3] == 7 << 32 | 3
        assert frame.metadata[4] & 0xFFFFFFFF == traits
        frame.frame[2] = 0
        TABLE.roots[ROOTS.index("major")], TABLE.roots[ROOTS.index("minor")] = 0, 5
        assert frame.call(loaded.address(name)) is None
        assert frame.metadata[3] == 5 << 32


def test_layout_of_frames_is_checked():
    """Every size and every field that tells the layout: a change of one is a fault, and says which."""
    x, y, z = np.zeros((4, 3)), np.zeros(2), np.zeros((4, 5))
    words = (0xABC, 4, 24, 0, 40)
    known = KnownCall([x.shape, y.shape], [z.shape], words)
    frame = Frame([x, y], [z], words)
    assert frame_fault(frame._at(frame.frame), known) == ""
    for k, fault in ((0, "call frame's size"), (5, "list of inputs"), (7, "number of inputs"), (10, "list of outputs"),
                     (12, "number of outputs"), (15, "size of the attributes"), (17, "number of attributes")):  # fmt: skip
        before = frame.frame[k]
        frame.frame[k] = before + 8
        assert fault in frame_fault(frame._at(frame.frame), known)
        frame.frame[k] = before
    for k, value, fault in ((4, 1, "interface is 1, expected 0"), (0, 184, "functions is 184, expected at least 192")):
        frame.api[k] = value
        assert fault in frame_fault(frame._at(frame.frame), known)
    frame.api[0], frame.api[4] = 192, 0
    for other, fault in (
        (known._replace(inputs=[(4, 4), y.shape]), "an array's shape is (4, 3), expected (4, 4)"),
        (known._replace(inputs=[(3,), y.shape]), "number of dimensions is 2"),
        (known._replace(words=words[:4]), "attribute's length is 5"),
        (known._replace(words=(0xABD, *words[1:])), "the attribute is"),
    ):
        assert fault in frame_fault(frame._at(frame.frame), other)
    asked = Frame(metadata=True)
    assert frame_fault(asked._at(asked.frame), known) == ""
    for k, fault in ((0, "metadata's size"), (1, "metadata's version")):
        asked.metadata[k] += 8
        assert fault in frame_fault(asked._at(asked.frame), known)
        asked.metadata[k] -= 8


def test_plans_are_called_from_python():
    """What the handler does, without XLA: one row, many, and no memory."""

    def loop(args, dims, steps, context):
        seen.append([(ctypes.c_int64 * 2).from_address(args)[:], ctypes.c_int64.from_address(dims).value])
        seen.append((ctypes.c_int64 * 2).from_address(steps)[:])
        ctypes.c_uint64.from_address(context).value += added[0]

    def row(args, context):
        seen.append([(ctypes.c_int64 * 2).from_address(args)[:]])
        return False

    seen, added = [], [0]
    x, z = np.zeros((4, 3)), np.zeros((4, 5))
    addresses, own, context = [x.ctypes.data, z.ctypes.data], (LOOP(loop), ROW(row)), common_context().address
    many, one = (XlaPlan([k, ctypes.cast(f, ctypes.c_void_p).value, context], f) for k, f in ((1, own[0]), (0, own[1])))
    call_plan(many, 4, [24, 40], [x, z])
    call_plan(one, 1, [0, 0], [x, z])
    assert seen == [[addresses, 4], [24, 40], [addresses]]
    added[0] = NO_MEMORY
    with pytest.raises(MemoryError, match="no memory"):
        call_plan(many, 4, [24, 40], [x, z])
    assert (ctypes.c_uint64 * 1).from_address(context)[0] < NO_MEMORY


def test_code_gets_arrays_samples_and_steps(loaded):
    seen = []

    def loop(args, dims, steps, context):
        seen.append([(ctypes.c_int64 * 3).from_address(args)[:], ctypes.c_int64.from_address(dims).value])
        seen[-1].append((ctypes.c_int64 * 3).from_address(steps)[:])
        seen[-1].append((ctypes.c_uint64 * len(CONTEXT)).from_address(context)[:])

    def row(args, context):
        seen.append([(ctypes.c_int64 * 3).from_address(args)[:]])
        return True

    own = [LOOP(loop), ROW(row)]
    context = common_context().address
    plans = [
        TABLE.find(
            0x1234_5678_9ABC + k, lambda k=k, f=f: XlaPlan([k, ctypes.cast(f, ctypes.c_void_p).value, context], f)
        )
        for k, f in ((1, own[0]), (0, own[1]))
    ]
    x, y, z = np.zeros((4, 3)), np.zeros(2), np.zeros((4, 5))
    frame = Frame([x, y], [z], [0x1234_5678_9ABD, 4, 24, 0, 40])
    assert frame.call(loaded.address("cpu")) is None
    addresses = [a.ctypes.data for a in (x, y, z)]
    words = (ctypes.c_uint64 * len(CONTEXT)).from_address(context)[:]
    assert seen.pop() == [addresses, 4, [24, 0, 40], [0, *words[1:]]]
    frame = Frame([x[0], y], [z[0]], [0x1234_5678_9ABC, 1, 0, 0, 0])
    assert frame.call(loaded.address("cpu")) is None
    assert seen.pop() == [addresses]
    # a plan without references stays for some time
    del plans
    assert frame.call(loaded.address("cpu")) is None
    for k in range(_RELEASED):
        TABLE.find(k + 1, lambda: XlaPlan([0], None))
    assert frame.call(loaded.address("cpu")) == ERROR
    assert "another process" in frame.messages[0][0]
    assert frame.messages[0][1] == 5


def test_lack_of_memory_is_an_error(loaded):
    def loop(args, dims, steps, context):
        ctypes.c_uint64.from_address(context).value += NO_MEMORY

    own = LOOP(loop)
    address = ctypes.cast(own, ctypes.c_void_p).value
    plan = TABLE.find(0xABC, lambda: XlaPlan([1, address, common_context().address], own))
    frame = Frame([np.zeros(1)], [np.zeros(1)], [0xABC, 2, 8, 8])
    assert frame.call(loaded.address("cpu")) == ERROR
    assert "no memory" in frame.messages[0][0]
    del plan


def test_kernels_are_launched_on_the_stream(loaded):
    """The arguments of a kernel: addresses, strides, the number of samples, the count."""
    seen, answer = [], [0]

    def launch(function, bx, by, bz, tx, ty, tz, shared, stream, pointers, extra):
        values = [ctypes.c_int64.from_address(p).value for p in (ctypes.c_uint64 * 8).from_address(pointers)]
        seen.append((function, (bx, by, bz), (tx, ty, tz), shared, stream, values, extra))
        return answer[0]

    def push(context):
        seen.append(("push", context))
        return 0

    def pop(before):
        seen.append(("pop",))
        return 0

    own = {"cuLaunchKernel": LAUNCH(launch), "cuCtxPushCurrent_v2": CURRENT(push), "cuCtxPopCurrent_v2": CURRENT(pop)}
    saved = TABLE.roots[:]
    for name, function in own.items():
        TABLE.roots[ROOTS.index(name)] = ctypes.cast(function, ctypes.c_void_p).value
    try:
        words = device_words(4096, 64, [None, (0xF00, 0xC0FFEE, 0xAA)])
        plan = TABLE.find(0xDEF, lambda: XlaPlan(words, None))
        x, y, z = np.zeros((130, 3)), np.zeros(2), np.zeros((130, 5))
        frame = Frame([x, y], [z], [0xDEF, 130, 3, 0, 5])
        assert frame.call(loaded.address("cuda")) is None
        values = [*(a.ctypes.data for a in (x, y, z)), 3, 0, 5, 130, 0xC0FFEE]
        expected = (0xF00, (3, 1, 1), (64, 1, 1), 4096, STREAM, values, None)
        assert seen == [("push", 0xAA), expected, ("pop",)]
        more = Frame([x, y], [], [0xDEF, 130, 3, 0, 50, 1])
        assert more.call(loaded.address("cuda")) is None
        assert seen[-2][5] == [*values[:2], 3, 0, 130, 50, 1, 0xC0FFEE]
        answer[0] = 1
        assert frame.call(loaded.address("cuda")) == ERROR
        assert "refused to launch" in frame.messages[0][0]
        seen.clear()
        empty = Frame([x[:0], y], [z[:0]], [0xDEF, 0, 3, 0, 5])
        assert empty.call(loaded.address("cuda")) is None
        assert seen == []
        other = TABLE.find(0xDEE, lambda: XlaPlan(device_words(0, 128, [(1, 2, 3)]), None))
        assert Frame([x, y], [z], [0xDEE, 130, 3, 0, 5]).call(loaded.address("cuda")) == ERROR
        absent = TABLE.find(0xDED, lambda: XlaPlan(device_words(0, 128, [(1, 2, 3), None]), None))
        frame = Frame([x, y], [z], [0xDED, 130, 3, 0, 5])
        assert frame.call(loaded.address("cuda")) == ERROR
        assert "not loaded on this GPU" in frame.messages[0][0]
        del plan, other, absent
    finally:
        TABLE.roots[:] = saved


def test_table_grows_and_forgets():
    """Many plans, referenced or not: the table has those that are referenced, and the latest others."""
    table = PlanTable()
    held = [table.find(key, lambda key=key: XlaPlan([key], None)) for key in range(1, 400)]
    for key in range(1000, 5000):
        table.find(key, lambda: XlaPlan([0], None))
    assert table.find(7, lambda: None) is held[6]
    assert len(table) <= 399 + _RELEASED + 1
    assert table._slots <= 4096
    again = table.find(4999, lambda: None)
    for key in range(6000, 7000):
        table.find(key, lambda: XlaPlan([0], None))
    assert table.find(4999, lambda: None) is again
