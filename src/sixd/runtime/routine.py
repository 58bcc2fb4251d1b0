"""Compiled code called with arrays, on one thread or on several: of a program (Routine), of steps in time (Rollout).

An entry computes one state of a routine, a generalised ufunc computes batches. Each form is provided (from the disk or
by compiling) when it is first needed, only once, even if several threads need it. Most calls do not come here: the code
that was provided is called by a plan (``sixd.runtime.calls``).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sixd.codegen.llvm.machine import ALIGNED, LINE, MALLOC
from sixd.locks import Lock
from sixd.runtime import calls, threads
from sixd.runtime.calls import CallableCode, shell_is_loaded
from sixd.runtime.cpython import GeneralizedUfunc, common_context
from sixd.runtime.machine_code import Image, LoadedImage
from sixd.spatial.scalar import Array

Shape = tuple[int, ...]
# rows times operations above which threads pay: starting them takes some 50 us, in which a core does 3e6 operations
LARGE = 1e7
# rows times operations above which other threads may run meanwhile: 5 us, of which letting them takes 0.1
LONG = 1.5e5
VECTOR = 16  # rows: as many as the widest vectors have
MANY = 1024  # rows, whose pieces may differ by a vector
PIECES = 4  # per thread on average; a thread on a busy core takes fewer


class CodeForm(NamedTuple):
    """One form of a program's code: the image, the shapes of the outputs, the number of operations, and the joints that
    make the program singular."""

    image: Image
    outputs: tuple[Shape, ...]
    operations: int
    singular: tuple[int, ...] = ()


class Row:
    """The code of one state at ``address``; ``owner`` keeps it alive."""

    def __init__(self, address: int, owner: Any) -> None:
        self.address, self._owner = address, owner
        self._function = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)(address)

    def __call__(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> bool:
        """Evaluate contiguous arrays, and return whether the result is suspect."""
        every = (*inputs, *outputs)
        data = (ctypes.c_void_p * len(every))(*(x.__array_interface__["data"][0] for x in every))
        return self._function(ctypes.addressof(data), common_context().address)

    def callable(self, dtype: str, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> calls.FastCall:
        """A function of arrays, which returns None for suspect results; only once the code of calls was provided."""
        made = calls.FastCall(inputs, outputs, _decline)
        made.attach(None, [CallableCode(dtype, self.address, common_context().address, owner=self)])
        return made


def _decline(*_: Any, **__: Any) -> None:
    """Return None, so that the caller takes another way."""


class Routine:
    """Code of the program ``name`` for inputs of these core shapes; ``provide("loop" | "entry")`` gives its parts."""

    def __init__(self, name: str, inputs: tuple[Shape, ...], dtype: str, provide: Callable[[str], CodeForm]) -> None:
        self.name, self.inputs, self.dtype = name, inputs, dtype
        self._kind = np.dtype(dtype)
        self._provide = provide
        self._lock = Lock()
        self._parts: dict[str, CodeForm] = {}
        self._entry: Row | None = None
        self._call: calls.FastCall | None = None
        self._loop: GeneralizedUfunc | None = None
        self._many = 0.0  # rows

    def first_part(self, batch: tuple[int, ...]) -> CodeForm:
        """The part that arrays of this batch shape need."""
        return self.part("loop" if batch else "entry")

    @property
    def provided(self) -> int:
        """The number of parts that were provided so far."""
        return len(self._parts)

    @property
    def code(self) -> CallableCode | None:
        """The code that was provided so far, for a plan; None if there is none, or if the program is singular."""
        parts, entry, loop = list(self._parts.values()), self._entry, self._loop
        if not parts or any(part.singular for part in parts):
            return None
        operations = max(parts[0].operations, 1)
        return CallableCode(
            self.dtype, entry.address if entry else 0, common_context().address, loop.address if loop else 0,
            loop.context if loop else 0, math.ceil(LARGE / operations), math.ceil(LONG / operations), self,
        )  # fmt: skip

    @property
    def outputs(self) -> tuple[Shape, ...]:
        """The core shapes of the outputs, if a part was provided."""
        return next(iter(list(self._parts.values()))).outputs

    def part(self, form: str) -> CodeForm:
        """The part of that form, provided at the first call."""
        if form not in self._parts:
            with self._lock:
                if form not in self._parts:
                    self._parts[form] = self._install(form)
        return self._parts[form]

    def _install(self, form: str) -> CodeForm:
        part = self._provide(form)
        loaded = LoadedImage(part.image)
        if form == "entry":
            self._entry = Row(loaded.address("entry"), loaded)
        else:
            address = loaded.address("loop")
            loop = GeneralizedUfunc(address, self.name, self.dtype, self.inputs, part.outputs, loaded)
            self._many = LARGE / max(part.operations, 1)
            self._loop = None if part.singular else loop
        return part

    def quick(self, arrays: tuple[Any, ...], out: Any) -> Any:
        """The result for the most common batch, contiguous arrays of this dtype with equally many rows; else None.

        The general path, which checks and converts arguments, takes 30 us; 4096 states of an arm's dynamics take 100.
        """
        loop = self._loop
        if loop is None or not self._is_batch(arrays):
            return None
        rows = arrays[0].shape[:1]
        if out is None:
            results: Any = tuple([new_array(rows + core, self._kind) for core in loop.outputs])
        else:
            results = out if isinstance(out, tuple) and len(out) > 1 else (out,)
        every = (*arrays, *results)
        if len(every) != len(loop.cores) or not self._are_contiguous(every, rows, loop.cores):
            return None
        if out is not None and any(not x.flags.writeable or shares_memory(x, arrays) for x in results):
            return None
        before = loop.count
        with np.errstate(all="ignore"):
            loop.ufunc(*every)
        if loop.count != before:
            return None
        return out if out is not None else results if len(results) > 1 else results[0]

    def _is_batch(self, arrays: tuple[Any, ...]) -> bool:
        """Whether the first array has this dtype and few enough rows for one thread."""
        first = arrays[0] if len(arrays) == len(self.inputs) else None
        if type(first) is not np.ndarray or first.dtype is not self._kind or first.ndim != len(self.inputs[0]) + 1:
            return False
        return len(first) < self._many or threads.get_num_threads() == 1

    def _are_contiguous(self, arrays: tuple[Any, ...], rows: Shape, cores: Sequence[Shape]) -> bool:
        """Whether all are contiguous arrays of this dtype, and of these rows and core shapes."""
        for array, core in zip(arrays, cores):  # noqa: B905  (checked by the caller)
            if type(array) is not np.ndarray or array.dtype is not self._kind or array.shape != rows + core:
                return False
            flags = array.flags
            if not (flags.c_contiguous and flags.aligned):
                return False
        return True

    def __call__(self, arrays: list[Array], batch: tuple[int, ...], out: list[Array] | None) -> tuple[list[Any], bool]:
        """The outputs for arrays of this dtype whose leading dimensions broadcast to ``batch``, and whether some are
        suspect. ``out``, if passed, has the right shapes, dtype and contiguous cores, and does not overlap the inputs:
        rows are read after others are written, and some twice."""
        if not batch and out is None:
            found = self._one(arrays)
            if found is not None:
                return found
        part = self.part("loop")
        loop = self._loop
        assert loop is not None
        results = out or [new_array(batch + shape, self._kind) for shape in part.outputs]
        before = loop.count
        inputs = [_with_contiguous_core(a, len(core)) for a, core in zip(arrays, self.inputs, strict=True)]
        self._run(loop.ufunc, inputs, batch, results, part.operations)
        return ([_scalar(x) for x in results] if out is None else list(out)), loop.count != before

    def _one(self, arrays: list[Array]) -> tuple[list[Any], bool] | None:
        """The outputs for one state, and whether they are suspect; None if they are, and the code of batches serves."""
        part, entry = self.part("entry"), self._entry
        assert entry is not None
        if self._call is None and shell_is_loaded():
            self._call = entry.callable(self.dtype, self.inputs, part.outputs)
        inputs = [np.array(a, dtype=self._kind, order="C") for a in arrays]
        if self._call is not None:  # 8 us faster
            result = self._call(*inputs)
            if result is not None:
                return list(result) if isinstance(result, tuple) else [result], False
            if self._loop is not None:
                return None
        results = [np.empty(shape, self._kind) for shape in part.outputs]
        suspect = entry(inputs, results)
        if suspect:
            common_context().count(self.name)  # raises if there was no memory
        return [_scalar(x) for x in results], suspect

    def _run(self, ufunc: Any, inputs: list[Array], batch: tuple[int, ...], results: list[Array], ops: int) -> None:
        if threads.get_num_threads() == 1 or math.prod(batch) * ops < LARGE:
            _call(ufunc, inputs, results)
            return
        axis = int(np.argmax(batch))
        index: tuple[Any, ...] = (slice(None),) * axis
        whole = [np.broadcast_to(a, batch + core) for a, core in zip(inputs, self.inputs, strict=True)]

        def part(arrays: list[Array], cut: slice) -> list[Array]:
            return [x[(*index, cut)] for x in arrays]

        # pieces of many rows begin with whole vectors, so that wide rows can be written past the cache
        cuts = _cuts(batch[axis], VECTOR if batch[axis] >= MANY else 1)
        threads.spread([partial(_call, ufunc, part(whole, cut), part(results, cut)) for cut in cuts])


def _scalar(array: Array) -> Any:
    """An array of no dimensions as a scalar; others as they are."""
    return array if array.ndim else array[()]


def _cuts(rows: int, multiple: int = 1) -> list[slice]:
    """Pieces of that many rows for all threads; each begins at a multiple of ``multiple``."""
    edges = np.linspace(0, rows, threads.get_num_threads() * PIECES + 1)[:-1].astype(int) // multiple * multiple
    return [slice(a, b) for a, b in pairwise([*np.unique(edges), rows])]


def _call(ufunc: Any, inputs: Sequence[Array], results: Sequence[Array]) -> None:
    # NaN in a state affects this state only; the caller handles suspect results
    with np.errstate(all="ignore"):
        ufunc(*inputs, out=tuple(results))


class Rollout:
    """Code of a recipe for arrays of these core shapes: ``inputs`` are the state, constants and series, ``outputs`` the
    next state, and what else is recorded. An array with an entry for each record has a first dimension "r".
    ``operations``: their number in one step."""

    def __init__(
        self, image: Image, name: str, dtype: str, inputs: Sequence[Any], outputs: Sequence[Any], operations: int
    ) -> None:
        self.dtype, self.inputs, self.outputs = np.dtype(dtype), tuple(inputs), tuple(outputs)
        self.operations = operations
        loaded = LoadedImage(image)
        given: list[Any] = [(), ("r",), *inputs]
        # kept whole, since it owns what the ufunc points to
        self._loop = GeneralizedUfunc(loaded.address("loop"), name, dtype, given, outputs, loaded)

    @property
    def loop(self) -> tuple[int, int]:
        """The addresses of its inner loop and of the loop's context."""
        return self._loop.address, self._loop.context

    def __call__(
        self, counts: Array, arrays: Sequence[Array], out: Sequence[Array | None] | None = None
    ) -> list[Array]:
        """The outputs (rows, …), those with r records (rows, r, …), from rows of the inputs; ``counts`` (r,): steps
        before each record.

        Constants and series may have one row for all. Arrays of this dtype; each of ``out`` is None or an array of the
        shape of its result, with contiguous records, to write it to.
        """
        rows, records = len(arrays[0]), len(counts)
        counts = np.ascontiguousarray(counts, dtype=self.dtype)
        results = [
            new_array((rows, *(records if n == "r" else n for n in shape)), self.dtype) if target is None else target
            for shape, target in zip(self.outputs, out or [None] * len(self.outputs), strict=True)
        ]
        cast = [np.asarray(x, dtype=self.dtype) for x in arrays]
        given = [x if has_contiguous_core(x, x.ndim - 1) else np.ascontiguousarray(x) for x in cast]
        number = np.array(records, dtype=self.dtype)

        def work(cut: slice) -> None:
            part = [x[cut] if len(x) == rows else x for x in given]
            _call(self._loop.ufunc, [number, counts, *part], [x[cut] for x in results])

        if threads.get_num_threads() == 1 or rows == 1 or rows * self.operations * counts.sum() < LARGE:
            work(slice(None))
        else:
            # whole vectors of rows: an incomplete last vector of a piece would repeat rows
            threads.spread([partial(work, cut) for cut in _cuts(rows, VECTOR)])
        self._loop.count  # noqa: B018  (raises if there was no memory)
        return results


def load_step(
    image: Image, form: str, dtype: str, inputs: Sequence[Shape], outputs: Sequence[Shape], ops: int
) -> CallableCode:
    """The code of a single step, of one state ("step") or of states ("steps"), for a plan; ``ops``: its operations."""
    loaded = LoadedImage(image)
    if form == "step":
        return CallableCode(dtype, loaded.address("entry"), common_context().address, owner=loaded)
    loop = GeneralizedUfunc(loaded.address("loop"), "step", dtype, inputs, outputs, loaded)
    most, long = (math.ceil(limit / max(ops, 1)) for limit in (LARGE, LONG))
    return CallableCode(dtype, loop=loop.address, loop_context=loop.context, most=most, long=long, owner=loop)


def new_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array for results; a large one is aligned as compiled code expects, as newly allocated memory is."""
    size = math.prod(shape) * dtype.itemsize
    if size <= ALIGNED:
        return np.empty(shape, dtype)
    memory = np.empty(size + LINE, np.uint8)
    start = (MALLOC - memory.ctypes.data) % LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def shares_memory(array: Array, others: Sequence[Array]) -> bool:
    """Whether an array may overlap one of the others in memory."""
    return any(np.may_share_memory(array, other) for other in others)


def has_contiguous_core(array: Array, core: int) -> bool:
    """Whether the last ``core`` dimensions are contiguous in memory."""
    step = array.itemsize
    for k in range(array.ndim - 1, array.ndim - 1 - core, -1):
        if array.strides[k] != step and array.shape[k] != 1:
            return False
        step *= array.shape[k]
    return True


def _with_contiguous_core(array: Array, core: int) -> Array:
    return array if has_contiguous_core(array, core) else np.ascontiguousarray(array)
