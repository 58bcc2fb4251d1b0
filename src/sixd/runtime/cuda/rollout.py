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
from sixd.errors import DeviceError, ScalarTypeError, ShapeError
from sixd.locks import Lock
from sixd.runtime.cuda.arrays import DeviceArray, Library, Shape, is_row_major, library_of, read_array
from sixd.runtime.cuda.device import Device, Loaded, device
from sixd.runtime.cuda.driver import driver
from sixd.runtime.machine_code import Image
from sixd.spatial.scalar import Array

# threads of a block, and blocks from which on it has more than a warp. RK4 of a six-joint arm in float64, 2**19 rows on
# an H200: 2.6e9 steps a second in blocks of 256 threads, whose warps share instructions, 2.2e9 in blocks of 128
THREADS, BLOCKS = 256, 512


class _Rows(NamedTuple):
    """The rows of an array: address, distance [entries], and the size of a record [bytes], 0 if it has none."""

    address: int
    distance: int
    record: int

    def after(self, records: int) -> _Rows:
        """The rows without their first records."""
        return self._replace(address=self.address + records * self.record)


class DeviceRollout:
    """Code of a recipe for arrays of these core shapes, as ``sixd.runtime.routine.Rollout`` has it.

    The image's "functions" are the number of states, whether records are made from the last to the first, and the bytes
    of shared memory of a warp.
    """

    def __init__(
        self, image: Image, name: str, dtype: str, inputs: Sequence[Any], outputs: Sequence[Any], operations: int
    ) -> None:
        self.name, self.dtype = name, np.dtype(dtype)
        self.inputs, self.outputs, self.operations = tuple(inputs), tuple(outputs), operations
        self._image = image
        self._lock = Lock()
        self._loaded: dict[int, Loaded] = {}

    @property
    def ptx(self) -> str:
        """The text of the code."""
        return self._image.code.decode()

    def __call__(self, counts: Any, arrays: Sequence[Any], out: Sequence[Any] | None = None) -> list[Any]:
        """Start the rollout on the caller's current stream; return the outputs (rows, …), those with r records
        (rows, r, …); ``counts`` (r,), on the processor: steps before each record.

        All arrays are on one GPU and of this dtype; each has as many rows as the first, or one for all. Each of ``out``
        is None or an array of the shape of its result, with contiguous records, that overlaps no other.
        """
        where, steps = self.name, np.asarray(counts).astype(np.int64)
        library = library_of(where, arrays[0])
        given = [read_array(where, f"array {k}", x) for k, x in enumerate(arrays)]
        rows = given[0].shape[0]
        for k, (x, core) in enumerate(zip(given, self.inputs, strict=True)):
            given[k] = self._usable(f"array {k}", x, rows, with_records(core, len(steps)), library)
        shapes = [(rows, *with_records(core, len(steps))) for core in self.outputs]
        targets = out or [None] * len(shapes)
        results = [
            library.empty(arrays[0], shape) if target is None else target
            for shape, target in zip(shapes, targets, strict=True)
        ]
        made = [read_array(where, "out", x) for x in results]
        for x, shape, target in zip(made, shapes, targets, strict=True):
            if target is not None:
                self._check_target(x, shape, [other for other in (*given, *made) if other is not x])
        if rows:
            gpu = self._device((*given, *made))
            kernel, stream = self._load(gpu), library.stream(gpu.number)
            threads = min(max(rows // BLOCKS // WARP, 1) * WARP, THREADS)
            blocks, shared = -(-rows // threads), self._image.functions["shared"] * (threads // WARP)
            for words in self._launches(rows, steps, given, made):
                gpu.launch(where, kernel, blocks, threads, shared, stream, [*words, kernel.counter])
        return results

    def _usable(self, name: str, x: DeviceArray, rows: int, core: Shape, library: Library) -> DeviceArray:
        """An input, copied if its core is not contiguous."""
        if x.dtype != self.dtype.name:
            raise ScalarTypeError(f"{self.name}: {name} holds {x.dtype}, expected {self.dtype}.")
        if x.shape not in ((rows, *core), (1, *core)):
            raise ShapeError(f"{self.name}: {name} has shape {x.shape}, expected {(rows, *core)}.")
        if is_row_major(x.shape[1:], x.strides[1:]):
            return x
        return read_array(self.name, name, library.rows(x.owner, x.shape))

    def _check_target(self, x: DeviceArray, shape: Shape, others: Sequence[DeviceArray]) -> None:
        contiguous = x.writeable and x.dtype == self.dtype.name and is_row_major(x.shape[1:], x.strides[1:])
        if x.shape != shape or not contiguous:
            kind = "" if x.writeable else "read-only "
            raise ShapeError(
                f"{self.name}: out is a {kind}{x.dtype} array of shape {x.shape} and strides {x.strides} [entries], "
                f"expected a writeable {self.dtype} array of shape {shape} whose rows are contiguous."
            )
        low, high = x.extent
        if any(start < high and low < end for start, end in (other.extent for other in others)):
            raise DeviceError(f"{self.name}: out overlaps another array, expected memory of its own.")

    def _device(self, arrays: Sequence[DeviceArray]) -> Device:
        found = {driver(self.name).device_of(self.name, x.address) for x in arrays if x.address}
        if len(found) > 1:
            raise DeviceError(f"{self.name}: arrays are on GPUs {sorted(found)}, expected all on one.")
        return device(self.name, found.pop() if found else 0)

    def _load(self, gpu: Device) -> Loaded:
        if gpu.number not in self._loaded:
            with self._lock:
                if gpu.number not in self._loaded:
                    self._loaded[gpu.number] = gpu.load(self.name, self.ptx)
        return self._loaded[gpu.number]

    def _launches(
        self, rows: int, steps: Array, given: list[DeviceArray], made: list[DeviceArray]
    ) -> Iterator[list[int]]:
        """The arguments of each launch but the last, the address of the count."""
        states, backwards = self._image.functions["states"], self._image.functions["backwards"]
        sources, targets = (
            [self._rows(x, core) for x, core in zip(arrays, cores, strict=True)]
            for arrays, cores in ((given, self.inputs), (made, self.outputs))
        )
        for start, stop in _pieces(steps)[:: -1 if backwards else 1]:
            every = [x.after(start) for x in (*sources, *targets)]
            part = steps[start:stop].tolist() or [0]
            numbers = [rows, stop - start, part[0], part[min(1, len(part) - 1)], part[-1]]
            yield [*(x.address for x in every), *(x.distance for x in every), *numbers]
            last = start if backwards else stop - 1
            sources[:states] = [x.after(last)._replace(record=0) for x in targets[:states]]

    def _rows(self, x: DeviceArray, core: Sequence[Any]) -> _Rows:
        has_records = core[:1] == ("r",)
        size = int(np.prod(x.shape[2:], dtype=int)) * self.dtype.itemsize if has_records else 0
        return _Rows(x.address, x.strides[0] if x.shape[0] > 1 else 0, size)


def with_records(core: Sequence[Any], records: int) -> Shape:
    """The shape of an array whose number of records is "r" in ``core``."""
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
