"""The table of plans by key in which handlers of XLA's foreign function interface look up code of this process.

Programs that XLA compiled refer to a plan by its key, and JAX keeps an object that holds it. See ``sixd.codegen.xla``.
"""

from __future__ import annotations

import ctypes
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sixd.codegen.llvm.machine import CONTEXT, NO_MEMORY
from sixd.codegen.xla import DEVICE, MESSAGES, ROOT, ROOTS
from sixd.locks import Lock
from sixd.runtime.machine_code import Image, LoadedImage

_LOCK = Lock()
_FIRST = 256  # slots of the first table
_RELEASED = 256  # plans that are kept though nothing holds them
_FORMER = 8  # former tables that are kept: a handler may be reading one
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_bool, *[ctypes.c_void_p] * 2)
_LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


class XlaPlan:
    """The words of a plan, and the object that keeps their code alive."""

    def __init__(self, words: Sequence[int], owner: object) -> None:
        self.words = (ctypes.c_uint64 * len(words))(*words)
        self.address = ctypes.addressof(self.words)
        self._owner = owner


class PlanReference:
    """Keeps a plan in the table."""

    def __init__(self, plan: XlaPlan) -> None:
        self.plan = plan


class PlanTable:
    """Plans by key, in memory that handlers read without a lock: open addressing, at most half full.

    A plan stays while an object of :class:`PlanReference` is alive, and for some time after that: XLA runs programs
    after Python has dropped them.
    """

    def __init__(self) -> None:
        self.roots = (ctypes.c_uint64 * len(ROOTS))()
        self._plans: dict[int, XlaPlan] = {}
        self._holds: dict[int, weakref.ref[PlanReference]] = {}
        self._released: dict[int, None] = {}  # keys, the oldest first
        # dead holds; handled at the next call, since the garbage collector may run at any time
        self._dropped: deque[tuple[int, weakref.ref[PlanReference]]] = deque()
        self._former: deque[object] = deque(maxlen=_FORMER)
        self._words: Any = None
        self._begin(_FIRST)

    def __len__(self) -> int:
        return len(self._plans)

    def _begin(self, slots: int) -> None:
        """Use a new table of that many slots, with the present plans."""
        words = (ctypes.c_uint64 * (1 + 2 * slots))()
        self._former.append(self._words)
        words[0] = slots - 1
        self._words, self._slots, self._used = words, slots, 0
        for key, plan in list(self._plans.items()):
            self._write(key, plan.address)
        self.roots[ROOTS.index("table")] = ctypes.addressof(words)

    def _write(self, key: int, address: int) -> None:
        slot = key & (self._slots - 1)
        while self._words[1 + 2 * slot] not in (0, key):
            slot = (slot + 1) & (self._slots - 1)
        self._words[2 + 2 * slot] = address  # first: the key makes it visible
        if self._words[1 + 2 * slot] == 0:
            self._words[1 + 2 * slot] = key
            self._used += 1

    def find(self, key: int, make: Callable[[], XlaPlan]) -> PlanReference:
        """A hold on the plan of a key; a missing plan is made and entered."""
        with _LOCK:
            self._release()
            if key in self._plans:
                return self._hold(key)
        made = make()  # compiles: without the lock
        with _LOCK:
            if key not in self._plans:
                self._plans[key] = made
                if 2 * (self._used + 1) > self._slots:
                    self._begin(self._slots * (2 if 4 * len(self._plans) > self._slots else 1))
                self._write(key, made.address)
            return self._hold(key)

    def _hold(self, key: int) -> PlanReference:
        known = self._holds.get(key)
        hold = None if known is None else known()
        if hold is None:
            hold = PlanReference(self._plans[key])
            self._holds[key] = weakref.ref(hold, lambda ref: self._dropped.append((key, ref)))
            self._released.pop(key, None)
        return hold

    def _release(self) -> None:
        """Drop plans that nothing holds, once enough others were released after them."""
        while self._dropped:
            key, ref = self._dropped.popleft()
            if self._holds.get(key) is ref:
                del self._holds[key]
                self._released[key] = None
        while len(self._released) > _RELEASED:
            old = next(iter(self._released))
            del self._released[old], self._plans[old]
            self._write(old, 0)


def device_words(shared: int, threads: int, entries: Sequence[tuple[int, ...] | None]) -> list[int]:
    """The words of a plan for GPUs: bytes of shared memory and threads of a block, and for each device its entry."""
    flat = [word for entry in entries for word in (entry or (0,) * len(DEVICE))]
    return [shared, threads, len(entries), *flat]


def call_plan(plan: XlaPlan, rows: int, steps: Sequence[int], arrays: Sequence[np.ndarray]) -> None:
    """Call the code of a plan for the CPU from Python, as the handler does: contiguous inputs, then outputs."""
    form, code, own = plan.words
    data = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
    context = (ctypes.c_uint64 * len(CONTEXT)).from_buffer_copy((ctypes.c_uint64 * len(CONTEXT)).from_address(own))
    context[0] = 0
    if form:
        dims, distances = (ctypes.c_int64 * 1)(rows), (ctypes.c_int64 * len(steps))(*steps)
        _LOOP(code)(data, dims, distances, context)
    else:
        _ENTRY(code)(data, context)
    if context[0] >= NO_MEMORY:
        raise MemoryError(MESSAGES["memory"])


TABLE = PlanTable()


def load_handlers(image: Image) -> LoadedImage:
    """The handlers in memory; they find the table by an address that is put into their code."""
    root = ROOT.to_bytes(8, "little")
    assert image.code.count(root) == 1
    address = ctypes.addressof(TABLE.roots).to_bytes(8, "little")
    return LoadedImage(image._replace(code=image.code.replace(root, address)))
