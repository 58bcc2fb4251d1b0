"""Objects that Python calls without a frame of its own: plans for the code of ``sixd.codegen.llvm.shell``.

A plan is a table of words: the core shapes of the arrays, and for each float width the addresses of the code for one
row and for batches, as far as they were provided. Calls that the shell does not take go to a fallback.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sixd.codegen.llvm.machine import (
    FRONT,
    KIND,
    MOST_ARRAYS,
    MOST_DIMENSIONS,
    PLAN,
    SLOT,
    SPEC,
    TYPE_NUMBER,
    index_of,
    slot_of,
)
from sixd.locks import Lock
from sixd.runtime.cpython import Called, fast_calls, interface
from sixd.runtime.machine_code import Image, LoadedImage

Shape = tuple[int, ...]
_FOREVER = 2**62
_SLOTS = 512  # of a table

_LOCK = Lock()
_RESULTS: set[type] = set()  # classes of results, which compiled code uses as long as the process lives
_shell: LoadedImage | None = None


def shell_is_loaded() -> bool:
    """Whether the code of calls was provided."""
    return _shell is not None


def shell(provide: Callable[[], Image] | None = None) -> LoadedImage:
    """The code of calls, provided once in a process and kept for ever; without ``provide`` it is there already."""
    global _shell
    if _shell is None:
        with _LOCK:
            if _shell is None:
                assert provide is not None
                _shell = LoadedImage(provide())
    return _shell


class CallableCode(NamedTuple):
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


class _Names:
    """The names of a callable's parameters, by their addresses, and its options with their defaults; names and texts in
    source code are interned."""

    def __init__(self, names: Sequence[str], options: Mapping[str, str], out: bool) -> None:
        self._kept = [sys.intern(name) for name in (*names, *options, "out")]
        self._table = (ctypes.c_int64 * len(self._kept))(*map(id, self._kept))
        self._defaults = list(options.values())
        self.words = {
            "arguments": len(names), "options": len(options), "default0": 0, "default1": 0,
            **{f"default{k}": id(text) for k, text in enumerate(self._defaults)},
            "parameters": ctypes.addressof(self._table), "out": id(self._kept[-1]) if out else 0,
        }  # fmt: skip


class CallPlan:
    """The words of a plan for arrays of these core shapes and names; ``owner`` is the object that has the plan.

    ``result`` is the class of several outputs, a named tuple, or None for a plain one.
    """

    def __init__(
        self,
        inputs: Sequence[Shape],
        outputs: Sequence[Shape],
        fallback: Callable[..., Any],
        owner: Any,
        names: Sequence[str] = (),
        result: type | None = None,
    ) -> None:
        cores: tuple[Shape, ...] = (*inputs, *outputs)
        if not inputs or len(cores) > MOST_ARRAYS or any(len(core) > MOST_DIMENSIONS for core in cores):
            cores = ()  # left to the fallback
        self.usable = bool(cores)
        first = index_of("specs")
        lengths = [n for core in cores for n in core]
        self._words = (ctypes.c_int64 * (first + len(SPEC) * len(cores) + len(lengths)))()
        self._fallback, self._names = fallback, _Names(names or [""] * len(inputs), {}, out=True)
        self._codes: dict[str, CallableCode] = {}
        own = {"fallback": id(fallback), "owner": id(owner), "outputs": len(outputs), "named": 0}
        if result is not None:
            _RESULTS.add(result)
            own["named"] = id(result)
        words = {**interface(), **own, **self._names.words, "arguments": len(inputs) if cores else -1}
        for k, name in enumerate(PLAN):
            self._words[k] = words[name]
        at = first + len(SPEC) * len(cores)
        for k, core in enumerate(cores):
            self._words[at : at + len(core)] = list(core)
            spec = first + len(SPEC) * k
            self._words[spec : spec + len(SPEC)] = [len(core), math.prod(core), self.address + 8 * at]
            at += len(core)

    @property
    def address(self) -> int:
        """The address of the words."""
        return ctypes.addressof(self._words)

    def set(self, code: CallableCode) -> None:
        """Use this code for arrays of its dtype."""
        if self._codes.get(code.dtype) == code:
            return
        self._codes[code.dtype] = code
        kind = np.dtype(code.dtype)
        words = {**code._asdict(), "descr": id(kind), "type_number": TYPE_NUMBER[code.dtype], "size": kind.itemsize}
        first = index_of(code.dtype)
        # other threads may call meanwhile: first what belongs to the code, then its addresses, then the dtype
        for name in sorted(KIND, key=("entry", "loop", "descr", "descr").count):
            self._words[first + KIND.index(name)] = words[name]


class FastCall(Called):
    """A function of arrays (and ``out=``) in compiled code, which calls ``fallback`` where it does not serve."""

    def __init__(
        self,
        inputs: Sequence[Shape],
        outputs: Sequence[Shape],
        fallback: Callable[..., Any],
        routines: Any = None,
        result: type | None = None,
    ) -> None:
        self._fallback, self.routines = fallback, routines
        self.provided: Any = None  # what the code depends on
        self.plan = CallPlan(inputs, outputs, fallback, self, result=result)

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """Call the fallback: compiled code is not attached."""
        return self._fallback(*arrays, **options)

    def attach(self, provide: Callable[[], Image] | None, codes: Sequence[CallableCode], provided: Any = None) -> None:
        """Use this code from now on; ``provide`` gives the shell."""
        if fast_calls() and codes:
            for code in codes:
                self.plan.set(code)
            self._attach(shell(provide).address("call"), self.plan.address)
        self.provided = provided


class CallTable(dict[int, Any]):
    """The entries of a public function by id of the system (then by its choice, such as a frame, if it has one), and
    the words by which compiled code finds their plans.

    ``parameters`` are the names of the system, the arrays and the choice, if there is one; ``choice`` is its index, 0
    for none; ``options`` are other choices with their defaults; ``out``: whether it takes out=; ``lock`` is that of the
    memo, which drops entries. Compiled code reads one slot, by the addresses of the system and of the choices: if
    several have the same slot, the last is found there, the others by the fallback.
    """

    def __init__(
        self,
        parameters: Sequence[str],
        choice: int,
        options: Mapping[str, str],
        out: bool,
        fallback: Callable[..., Any],
        lock: Lock,
    ) -> None:
        super().__init__()
        assert len(options) <= len(SLOT) - 3
        self.function: Called | None = None  # that these entries belong to
        self._choice, self._options, self._fallback, self._lock = choice, options, fallback, lock
        self._slots: Any = None
        # by system and addresses of choices: the choices and the entry, which stay as long as their addresses are known
        self._kept: dict[int, dict[tuple[int, ...], Any]] = {}
        self._names = _Names(parameters, options, out)
        words = {"fallback": id(fallback), "choice": choice, **self._names.words}
        self._words = (ctypes.c_int64 * len(FRONT))(*(words.get(name, 0) for name in FRONT))

    def add(self, system: int, choices: Sequence[str], entry: FastCall, provide: Callable[[], Image]) -> None:
        """Enter the entry of a system, by its id, for texts as choices: first that with an index, then the options.

        The caller holds the system, so that it is not dropped meanwhile.
        """
        first = 1 if self._choice else 0
        with self._lock:
            if entry.plan.usable and fast_calls():
                self._begin(provide)
                keys = [id(choices[0]) if first else system, *map(id, choices[first:]), 0, 0][: len(SLOT) - 2]
                self._kept.setdefault(system, {})[tuple(keys)] = choices, entry
                at = self._find(system, keys)
                self._slots[at : at + len(SLOT)] = [system, *keys, entry.plan.address]
            # after that: the entry that was there before may be freed now
            if list(choices[first:]) == list(self._options.values()):
                if first:
                    self.setdefault(system, {})[choices[0]] = entry
                else:
                    self[system] = entry

    def _begin(self, provide: Callable[[], Image]) -> None:
        function = self.function
        if function is None or self._slots is not None:
            return
        address = shell(provide).address("front")
        self._slots = (ctypes.c_int64 * (_SLOTS * len(SLOT)))()
        words = {**interface(), "mask": _SLOTS - 1, "table": ctypes.addressof(self._slots)}
        for k, name in enumerate(FRONT):
            self._words[k] = words.get(name, self._words[k])
        function._attach(address, ctypes.addressof(self._words))

    def _find(self, system: int, keys: Sequence[int]) -> int:
        return len(SLOT) * (slot_of(system, *keys) & _SLOTS - 1)

    def pop(self, system: int, default: Any = None) -> Any:
        """Drop the entries of a system."""
        with self._lock:
            kept = self._kept.pop(system, {})
            for keys in kept:
                at = self._find(system, keys)
                if self._slots[at] == system:
                    self._slots[at] = 0
            return super().pop(system, default)

    def clear(self) -> None:
        """Drop all entries."""
        with self._lock:
            if self._slots is not None:
                ctypes.memset(self._slots, 0, ctypes.sizeof(self._slots))
            self._kept.clear()
            super().clear()
