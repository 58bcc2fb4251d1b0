"""Objects that Python calls without a frame: a plan for the code of ``sixd.codegen.llvm.shell``.

A plan is a table of words: the core shapes of the arrays, and for each float width the addresses of the code for one row
and for batches, as far as they were provided. Calls that the shell does not take go to a fallback.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sixd.codegen.llvm.machine import FRONT, KIND, PLAN, SLOT, SPEC, TYPE_NUMBER, index_of, slot_of
from sixd.locks import Lock
from sixd.runtime.cpython import Called, interface, layout_is_known
from sixd.runtime.machine_code import Image, Loaded

Shape = tuple[int, ...]
_MOST_ARRAYS, _MOST_DIMENSIONS = 64, 16
_FOREVER = 2**62
_FEWEST, _MOST = 64, 1 << 16  # slots of a table

_LOCK = Lock()
_shell: Loaded | None = None


def shell(provide: Callable[[], Image]) -> Loaded:
    """The code of calls, provided once in a process and kept for ever."""
    global _shell
    if _shell is None:
        with _LOCK:
            if _shell is None:
                _shell = Loaded(provide())
    return _shell


class Code(NamedTuple):
    """Compiled code for arrays of a dtype: addresses, 0 where there is none, and whatever keeps them valid.

    ``most``: number of rows from which on the fallback is to be called; ``long``: from which on other threads may run.
    """

    dtype: str
    entry: int = 0
    entry_context: int = 0
    loop: int = 0
    loop_context: int = 0
    most: int = _FOREVER
    long: int = 1
    owner: Any = None


class Plan:
    """The words of a plan for arrays of these core shapes; ``owner`` is the object that has the plan."""

    def __init__(
        self,
        inputs: Sequence[Shape],
        outputs: Sequence[Shape],
        fallback: Callable[..., Any],
        owner: Any,
    ) -> None:
        cores: tuple[Shape, ...] = (*inputs, *outputs)
        if not inputs or len(cores) > _MOST_ARRAYS or any(len(core) > _MOST_DIMENSIONS for core in cores):
            cores = ()  # left to the fallback
        self.usable = bool(cores)
        first = index_of("specs")
        lengths = [n for core in cores for n in core]
        self._words = (ctypes.c_int64 * (first + len(SPEC) * len(cores) + len(lengths)))()
        self._fallback = fallback
        self._codes: dict[str, Code] = {}
        self._name = sys.intern("out")  # keyword names in source code are interned
        own = {
            "fallback": id(fallback),
            "owner": id(owner),
            "inputs": len(inputs) if cores else -1,
            "outputs": len(outputs),
        }
        words = {**interface(), **own, "out": id(self._name)}
        for k, name in enumerate(PLAN):
            self._words[k] = words[name]
        at = first + len(SPEC) * len(cores)
        for k, core in enumerate(cores):
            self._words[at : at + len(core)] = core
            spec = first + len(SPEC) * k
            self._words[spec : spec + len(SPEC)] = len(core), math.prod(core), self.address + 8 * at
            at += len(core)

    @property
    def address(self) -> int:
        """The address of the words."""
        return ctypes.addressof(self._words)

    def set(self, code: Code) -> None:
        """Use this code for arrays of its dtype."""
        before = self._codes.get(code.dtype)
        if before == code:
            return
        self._codes[code.dtype] = code
        kind = np.dtype(code.dtype)
        words = {**code._asdict(), "descr": id(kind), "type_number": TYPE_NUMBER[code.dtype], "size": kind.itemsize}
        first = index_of(code.dtype)
        # the addresses after what belongs to them, and the dtype, by which they are found, last
        for name in (*KIND[1:], KIND[0]):
            self._words[first + KIND.index(name)] = words[name]


class Entry(Called):
    """A function of arrays (and ``out=``) in compiled code, which calls ``fallback`` where it does not serve."""

    def __init__(self, inputs: Sequence[Shape], outputs: Sequence[Shape], fallback: Callable[..., Any]) -> None:
        self._fallback = fallback
        self.plan = Plan(inputs, outputs, fallback, self)
        self.routines: list[Any] = []

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """Call the fallback: compiled code is not attached."""
        return self._fallback(*arrays, **options)

    def attach(self, provide: Callable[[], Image], *codes: Code) -> None:
        """Use this code from now on."""
        if layout_is_known():
            for code in codes:
                self.plan.set(code)
            self._attach(shell(provide).address("call"), self.plan.address)


class Table(dict[int, Any]):
    """The entries of a public function by id of the system (then by its choice, such as a frame, if it has one), and the
    words by which compiled code finds their plans.

    ``arguments``: number of positional arguments; ``choice``: index of the choice among them, 0 for none; ``out``:
    whether it takes out=.

    That code reads one slot, by the addresses of system and choice. Of two pairs with the same slot the later is found
    there, the other by its fallback.
    """

    def __init__(self, arguments: int, choice: int, out: bool, fallback: Callable[..., Any]) -> None:
        super().__init__()
        self._choice = choice
        self._slots = _new_slots(_FEWEST)
        words = {"fallback": id(fallback), "arguments": arguments, "choice": choice, "out": int(out)}
        self._words = (ctypes.c_int64 * len(FRONT))(*(words.get(name, 0) for name in FRONT))
        self._fallback = fallback
        self.function: Called | None = None  # that these entries belong to
        self._use(self._slots)

    @property
    def address(self) -> int:
        """The address of the words."""
        return ctypes.addressof(self._words)

    def _use(self, slots: Any) -> None:
        self._words[FRONT.index("table")] = ctypes.addressof(slots)
        self._words[FRONT.index("mask")] = len(slots) // len(SLOT) - 1
        self._slots = slots

    def add(self, system: int, choice: Any, entry: Entry, provide: Callable[[], Image]) -> None:
        """Enter the entry of a system, by its id, and of a choice, if the function has one."""
        if self._choice:
            # copied, since other threads read it
            self[system] = {**self.get(system, {}), choice: entry}
        else:
            self[system] = entry
        if not entry.plan.usable or not layout_is_known():
            return
        if self.function is not None:
            self._words[FRONT.index("vectorcall")] = interface()["vectorcall"]
            self.function._attach(shell(provide).address("front"), self.address)
            self.function = None
        at, size = self._find(system, choice), len(self._slots) // len(SLOT)
        if self._slots[at] not in (0, system) and size < _MOST and len(self) <= size:
            self._use(_new_slots(2 * size))
            for key, kept in list(self.items()):
                for other, x in kept.items() if self._choice else [(None, kept)]:
                    self._enter(key, other, x)
        self._enter(system, choice, entry)

    def _find(self, system: int, choice: Any) -> int:
        second = id(choice) if self._choice else system
        return len(SLOT) * (slot_of(system, second) & len(self._slots) // len(SLOT) - 1)

    def _enter(self, system: int, choice: Any, entry: Entry) -> None:
        at = self._find(system, choice)
        second = id(choice) if self._choice else system
        self._slots[at : at + len(SLOT)] = system, second, entry.plan.address

    def pop(self, system: int, default: Any = None) -> Any:
        """Drop the entries of a system."""
        kept = super().pop(system, None)
        for choice in kept if self._choice and kept else (None,):
            at = self._find(system, choice)
            if self._slots[at] == system:
                self._slots[at] = 0
        return default if kept is None else kept

    def clear(self) -> None:
        """Drop all entries."""
        self._use(_new_slots(_FEWEST))
        super().clear()


def _new_slots(count: int) -> Any:
    return (ctypes.c_int64 * (count * len(SLOT)))()
