"""A compiled program called with arrays on a GPU.

Its code is provided, from the disk or by compiling, when it is first needed, and loaded on each device once. A call
launches it on the caller's current stream and does not wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sixd.errors import DeviceError, ScalarTypeError, ShapeError
from sixd.locks import Lock
from sixd.runtime.cuda.arrays import DeviceArray, Shape, is_row_major, layout_of, library_of, read_array, row_stride
from sixd.runtime.cuda.device import Device, Loaded, device
from sixd.runtime.cuda.driver import driver

THREADS = 128  # of a block
WARP = 32


class DeviceRoutine:
    """Code of the program ``name`` for inputs of these core shapes; ``provide("rows" | "strided")`` gives its parts."""

    def __init__(self, name: str, inputs: tuple[Shape, ...], dtype: str, provide: Callable[[str], Any]) -> None:
        self.name, self.inputs, self.dtype = name, inputs, dtype
        self._provide = provide
        self._lock = Lock()
        self._parts: dict[str, Any] = {}
        self._loaded: dict[tuple[int, str], Loaded] = {}

    def part(self, form: str) -> Any:
        """The part of that form, provided at the first call."""
        if form not in self._parts:
            with self._lock:
                if form not in self._parts:
                    self._parts[form] = self._provide(form)
        return self._parts[form]

    @property
    def ptx(self) -> str:
        """The text of the code for row-major arrays."""
        return str(self.part("rows").image.code.decode())

    def __call__(self, names: Sequence[str], arrays: Sequence[Any], out: Any, check: Callable[[Any], None]) -> Any:
        """Launch the code on arrays whose leading dimensions broadcast; return the results, or ``out``.

        ``check(part)`` may raise before that.
        """
        where = self.name
        found = driver(where)
        part = self.part("rows")
        check(part)
        inputs = [read_array(where, name, x) for name, x in zip(names, arrays, strict=True)]
        for name, array in zip(names, inputs, strict=True):
            if array.dtype != self.dtype:
                raise ScalarTypeError(
                    f"{where}: {name} holds {array.dtype}, expected {self.dtype}, for which this was compiled."
                )
        batch = self._batch(names, inputs)
        place = next((found.device_of(where, a.address) for a in inputs if a.address), 0)
        library = library_of(where, arrays[0])
        targets = self._targets(part.outputs, batch, out, lambda shape: library.empty(arrays[0], shape))
        outputs = [read_array(where, "out", x) for x in targets]
        self._check_outputs(outputs, inputs, [batch + core for core in part.outputs])
        for name, array in zip((*names, *["out"] * len(outputs)), (*inputs, *outputs), strict=True):
            if array.address and found.device_of(where, array.address) != place:
                raise DeviceError(f"{where}: {name} is on another GPU than {names[0]}, expected all on one.")
        cores = (*self.inputs, *part.outputs)
        every = self._as_rows(names, arrays, inputs, outputs, batch, library.rows)
        if math.prod(batch):
            self._launch(device(where, place), every, cores, batch, library.stream(place))
        return out if out is not None else targets if len(targets) > 1 else targets[0]

    def _batch(self, names: Sequence[str], inputs: Sequence[DeviceArray]) -> Shape:
        shapes = [layout_of(self.name, *given).batch for given in zip(names, inputs, self.inputs, strict=True)]
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            listed = ", ".join(f"{name} {shape}" for name, shape in zip(names, shapes, strict=True))
            raise ShapeError(f"{self.name}: leading dimensions do not broadcast: {listed}.") from None

    def _targets(
        self, cores: Sequence[Shape], batch: Shape, out: Any, empty: Callable[[Shape], Any]
    ) -> tuple[Any, ...]:
        if out is None:
            return tuple(empty(batch + core) for core in cores)
        given = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if len(given) != len(cores):
            raise ShapeError(f"{self.name}: out has {len(given)} arrays, expected {len(cores)}.")
        return given

    def _check_outputs(self, outputs: list[DeviceArray], inputs: list[DeviceArray], shapes: list[Shape]) -> None:
        for k, (array, shape) in enumerate(zip(outputs, shapes, strict=True)):
            if array.shape != shape or array.dtype != self.dtype or not array.writeable:
                kind = "" if array.writeable else "read-only "
                raise ShapeError(
                    f"{self.name}: out is a {kind}{array.dtype} array of shape {array.shape}, expected a writeable "
                    f"{self.dtype} array of shape {shape}."
                )
            low, high = array.extent
            for other in (*inputs, *outputs[:k]):
                start, end = other.extent
                if start < high and low < end:
                    raise DeviceError(
                        f"{self.name}: out overlaps another array, expected memory of its own: rows are read after "
                        f"others are written. Give another array, or copy the argument."
                    )

    def _as_rows(
        self, names: Sequence[str], arrays: Sequence[Any], inputs: list[DeviceArray], outputs: list[DeviceArray],
        batch: Shape, copy: Callable[[Any, Shape], Any],
    ) -> list[DeviceArray]:  # fmt: skip
        """All arrays, inputs copied whose rows do not have one distance, or whose program takes only rows."""
        strided = bool(self.part("rows").image.functions["strided"])

        def fits(name: str, array: DeviceArray, core: Shape) -> bool:
            layout = layout_of(self.name, name, array, core)
            return row_stride(batch, layout) is not None and (strided or is_row_major(core, layout.inner))

        found = []
        for name, x, array, core in zip(names, arrays, inputs, self.inputs, strict=True):
            usable = fits(name, array, core)
            found.append(array if usable else read_array(self.name, name, copy(x, batch + core)))
        for array, core in zip(outputs, self.part("rows").outputs, strict=True):
            if not fits("out", array, core):
                raise ShapeError(
                    f"{self.name}: out has strides {array.strides} [entries], expected a contiguous array."
                )
        return found + outputs

    def _launch(
        self, gpu: Device, arrays: list[DeviceArray], cores: Sequence[Shape], batch: Shape, stream: int
    ) -> None:
        layouts = [layout_of(self.name, "array", a, core) for a, core in zip(arrays, cores, strict=True)]
        rows = all(is_row_major(core, layout.inner) for core, layout in zip(cores, layouts, strict=True))
        form = "rows" if rows else "strided"
        key = (gpu.number, form)
        if key not in self._loaded:
            self._loaded[key] = gpu.load(self.name, self.part(form).image.code.decode())
        kernel, shared = self._loaded[key], self.part(form).image.functions["shared"]
        words = [a.address for a in arrays]
        for layout in layouts:
            words += [row_stride(batch, layout) or 0, *(layout.inner if form == "strided" else ())]
        count = math.prod(batch)
        blocks = -(-count // THREADS)
        gpu.launch(
            self.name, kernel, blocks, THREADS, shared * (THREADS // WARP), stream, [*words, count, kernel.counter]
        )
