"""Compiled steps in time, called with arrays on a GPU: all steps and records of all rows in one launch.

Numbers of steps go to the device as arguments of the launch, so that nothing is copied and nothing waits. A launch
takes any number of records with equally many steps before each, but for the first and the last; others are made by
several launches, each of which begins with the state that the former one left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sixd.codegen.nvptx.launch import WARP
from sixd.errors import ScalarTypeError, ShapeError
from sixd.locks import Lock
from sixd.runtime.arrays.layouts import DeviceArray, Shape, is_row_major, row_major
from sixd.runtime.arrays.registry import library_of, look, maker_of, read_array
from sixd.runtime.cuda.device import Device, LoadedKernel, device
from sixd.runtime.cuda.routine import MOST_PLANS, check_overlap, common_device
from sixd.runtime.machine_code import Image
from sixd.spatial.scalar import Array

# threads of a block, and blocks from which on it has more than a warp. RK4 of a six-joint arm in float64, 2**19 rows on
# an H200: 2.6e9 steps a second in blocks of 256 threads, whose warps share instructions, 2.2e9 in blocks of 128
THREADS, BLOCKS = 256, 512


class _ArrayRows(NamedTuple):
    """The rows of an array: its index among all arrays, the distance of its first row from its address [bytes], that of
    rows [entries], and the size of a record [bytes], 0 if it has none."""

    array: int
    offset: int
    distance: int
    record: int

    def after(self, records: int) -> _ArrayRows:
        """The rows without their first records."""
        return self._replace(offset=self.offset + records * self.record)


class _Plan(NamedTuple):
    """Launches on arrays of known layouts: the number of rows, shapes of the results, inputs that are copied, by index,
    with their shapes, the first and last byte of each array passed, counted from its address, and the arrays and
    last words of each launch."""

    rows: int
    shapes: tuple[Shape, ...]
    copied: tuple[tuple[int, Shape], ...]
    reaches: tuple[tuple[int, int], ...]
    launches: tuple[tuple[tuple[_ArrayRows, ...], tuple[int, ...]], ...]


class DeviceRollout:
    """Code of a recipe for arrays of these core shapes, as ``sixd.runtime.routine.Rollout`` has it.

    The image's "functions" are the number of states, whether records are made from the last to the first, the bytes of
    shared memory of a warp, and whether the threads of a block wait for each other.
    """

    def __init__(
        self, image: Image, name: str, dtype: str, inputs: Sequence[Any], outputs: Sequence[Any], operations: int
    ) -> None:
        self.name, self.dtype = name, np.dtype(dtype)
        self.inputs, self.outputs, self.operations = tuple(inputs), tuple(outputs), operations
        self._image = image
        self._lock = Lock()
        self._loaded: dict[int, LoadedKernel] = {}
        self._plans: dict[Any, _Plan] = {}

    @property
    def ptx(self) -> str:
        """The text of the code."""
        return self._image.code.decode()

    def __call__(self, counts: Any, arrays: Sequence[Any], out: Sequence[Any] | None = None) -> list[Any]:
        """Start the rollout on the caller's current stream; return the outputs (rows, …), those with r records
        (rows, r, …); ``counts`` (r,), on the CPU: steps before each record.

        All arrays are on one GPU and of this dtype; each has as many rows as the first, or one for all. Each of ``out``
        is None or an array of the shape of its result, with contiguous records, that overlaps no other.
        """
        steps = np.asarray(counts).astype(np.int64)
        results = [None] * len(self.outputs) if out is None else list(out)
        new = [k for k, x in enumerate(results) if x is None]
        looks = [look(x) for x in (*arrays, *(x for x in results if x is not None))]
        key = steps.tobytes(), tuple(new), *(layout for layout, _, _ in looks)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._make_plan(key, steps, arrays, results)
        number = common_device(self.name, [f"array {k}" for k in range(len(arrays))], looks)
        check_overlap(self.name, looks, plan.reaches, len(arrays))
        library: Any = library_of(arrays[0])
        given = list(arrays)
        for k, shape in plan.copied:
            given[k] = library.rows(given[k], shape)
        for k in new:
            results[k] = library.empty(arrays[0], plan.shapes[k])
        if plan.rows:
            gpu = device(self.name, number)
            kernel, stream = self.load(gpu), library.stream(number)
            threads, shared = self.block(plan.rows)
            blocks = -(-plan.rows // threads)
            addresses = [look(x)[1] for x in (*given, *results)]
            for rows, words in plan.launches:
                starts = (addresses[x.array] + x.offset for x in rows)
                gpu.launch(self.name, kernel, blocks, threads, shared, stream, (*starts, *words, kernel.counter))
        return results

    def block(self, rows: int) -> tuple[int, int]:
        """The threads of a block and its shared memory [bytes], for that many rows."""
        blocks = BLOCKS // 2 if self._image.functions["waits"] else BLOCKS  # waits are for as many threads as possible
        threads = min(max(rows // blocks // WARP, 1) * WARP, THREADS)
        return threads, self._image.functions["shared"] * (threads // WARP)

    def load(self, gpu: Device) -> LoadedKernel:
        """Its kernel on a device."""
        if gpu.number not in self._loaded:
            with self._lock:
                if gpu.number not in self._loaded:
                    self._loaded[gpu.number] = gpu.load(self.name, self.ptx)
        return self._loaded[gpu.number]

    # plans ----------------------------------------------------------------------------------------

    def _make_plan(self, key: Any, steps: Array, arrays: Sequence[Any], results: Sequence[Any]) -> _Plan:
        """Check the arrays and make their plan."""
        given = [read_array(self.name, f"array {k}", x) for k, x in enumerate(arrays)]
        reaches = [x.reach for x in given]
        count, copied = given[0].shape[0], []
        every: list[_ArrayRows] = []
        for k, (x, core) in enumerate(zip(given, self.inputs, strict=True)):
            self._check_input(f"array {k}", x, count, with_records(core, len(steps)))
            strides = x.strides
            if not is_row_major(x.shape[1:], x.strides[1:]):
                copied.append((k, x.shape))
                strides = row_major(x.shape)
            every.append(self._rows(k, x.shape, strides, core))
        shapes = tuple((count, *with_records(core, len(steps))) for core in self.outputs)
        for k, (x, shape, core) in enumerate(zip(results, shapes, self.outputs, strict=True)):
            strides = row_major(shape)
            if x is not None:
                target = read_array(self.name, "out", x)
                self._check_target(target, shape)
                strides = target.strides
                reaches.append(target.reach)
            every.append(self._rows(len(given) + k, shape, strides, core))
        if copied or any(x is None for x in results):
            maker_of(self.name, arrays[0])
        launches = tuple(self._launches(count, steps, every[: len(given)], every[len(given) :]))
        if len(self._plans) >= MOST_PLANS:
            self._plans = {}
        return self._plans.setdefault(key, _Plan(count, shapes, tuple(copied), tuple(reaches), launches))

    def _check_input(self, name: str, x: DeviceArray, rows: int, core: Shape) -> None:
        if x.dtype != self.dtype.name:
            raise ScalarTypeError(f"{self.name}: {name} holds {x.dtype}, expected {self.dtype}.")
        if x.shape not in ((rows, *core), (1, *core)):
            raise ShapeError(f"{self.name}: {name} has shape {x.shape}, expected {(rows, *core)}.")

    def _check_target(self, x: DeviceArray, shape: Shape) -> None:
        contiguous = x.writeable and x.dtype == self.dtype.name and is_row_major(x.shape[1:], x.strides[1:])
        if x.shape != shape or not contiguous:
            kind = "" if x.writeable else "read-only "
            raise ShapeError(
                f"{self.name}: out is a {kind}{x.dtype} array of shape {x.shape} and strides {x.strides} [entries], "
                f"expected a writeable {self.dtype} array of shape {shape} whose rows are contiguous."
            )

    def _launches(
        self, rows: int, steps: Array, sources: list[_ArrayRows], targets: list[_ArrayRows]
    ) -> Iterator[tuple[tuple[_ArrayRows, ...], tuple[int, ...]]]:
        """The arrays of each launch, and its words after their addresses but the last, the address of the count."""
        states, backwards = self._image.functions["states"], self._image.functions["backwards"]
        for start, stop in _pieces(steps)[:: -1 if backwards else 1]:
            every = tuple(x.after(start) for x in (*sources, *targets))
            part = steps[start:stop].tolist() or [0]
            numbers = rows, stop - start, part[0], part[min(1, len(part) - 1)], part[-1]
            yield every, (*(x.distance for x in every), *numbers)
            last = start if backwards else stop - 1
            sources[:states] = [x.after(last)._replace(record=0) for x in targets[:states]]

    def _rows(self, array: int, shape: Shape, strides: Shape, core: Sequence[Any]) -> _ArrayRows:
        record = int(np.prod(shape[2:], dtype=int)) * self.dtype.itemsize if core[:1] == ("r",) else 0
        return _ArrayRows(array, 0, strides[0] if shape[0] > 1 else 0, record)


def with_records(core: Sequence[Any], records: int) -> Shape:
    """The core shape of an array with that many records."""
    return tuple(records if n == "r" else n for n in core)


def _pieces(steps: Array) -> list[tuple[int, int]]:
    """First record and the one after the last of pieces whose inner records have equally many steps before them."""
    found = [(0, 0)] if not len(steps) else []
    start = 0
    while start < len(steps):
        others = np.flatnonzero(steps[start + 1 :] != steps[min(start + 1, len(steps) - 1)])
        stop = start + int(others[0]) + 2 if len(others) else len(steps)
        found.append((start, stop))
        start = stop
    return found
