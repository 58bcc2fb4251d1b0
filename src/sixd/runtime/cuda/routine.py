"""A compiled program called with arrays on a GPU.

Its code is provided, from the disk or by compiling, when it is first needed, and loaded on each device once. A call
launches it on the caller's current stream and does not wait. What arrays of some layout need is found at the first call
with them and kept as a plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sixd.codegen.nvptx.launch import FARTHEST, block_of
from sixd.errors import DeviceError, ScalarTypeError, ShapeError
from sixd.locks import Lock
from sixd.runtime.arrays.interface import NUMBERS, Look
from sixd.runtime.arrays.layouts import ArrayLayout, DeviceArray, Shape, is_row_major, layout_of, row_major, row_stride
from sixd.runtime.arrays.registry import LOOKS, library_of, look, maker_of, read_array
from sixd.runtime.batch import common_batch
from sixd.runtime.cuda.device import Launch, LoadedKernel, device
from sixd.runtime.cuda.driver import driver

MOST_PLANS = 256  # of a routine; all are dropped then
MISSED = object()  # instead of a result


class LaunchPlan(NamedTuple):
    """A launch on arrays of known layouts: the form of the code, the number of rows, shapes of the results, and the
    words after the addresses. ``copied`` are inputs that are copied to contiguous rows, by index, with their shapes;
    ``reaches`` the first and last byte of each array, counted from its address; ``launches`` are those of each GPU."""

    form: str
    rows: int
    shapes: tuple[Shape, ...]
    words: tuple[int, ...]
    copied: tuple[tuple[int, Shape], ...]
    reaches: tuple[tuple[int, int], ...]
    launches: dict[int, Launch]


class _LastLaunch(NamedTuple):
    """The call before: what must be the same to repeat it, and what that needs."""

    layouts: tuple[Any, ...]
    numbers: tuple[int, ...]
    outputs: tuple[tuple[int, int, int], ...]  # index and reach of those in out
    reaches: tuple[tuple[int, int], ...]
    shapes: tuple[Shape, ...]
    launch: Launch
    stream: Callable[[int], int]
    empty: Callable[[Any, Shape], Any]
    apart: list[Any]  # the addresses that were found not to overlap


class DeviceRoutine:
    """Code of the program ``name`` for inputs of these core shapes; ``provide("rows" | "strided")`` gives its parts."""

    def __init__(self, name: str, inputs: tuple[Shape, ...], dtype: str, provide: Callable[[str], Any]) -> None:
        self.name, self.inputs, self.dtype = name, inputs, dtype
        self._provide = provide
        self._lock = Lock()
        self._parts: dict[str, Any] = {}
        self._loaded: dict[tuple[int, str], LoadedKernel] = {}
        self._plans: dict[tuple[Any, ...], LaunchPlan] = {}
        self._before: _LastLaunch | None = None
        self._scalars = tuple(k for k, core in enumerate(inputs) if core == ())

    def part(self, form: str) -> Any:
        """The part of that form, provided at the first call."""
        if form not in self._parts:
            with self._lock:
                if form not in self._parts:
                    self._parts[form] = self._provide(form)
        return self._parts[form]

    @property
    def is_provided(self) -> bool:
        """Whether some code was provided."""
        return bool(self._parts)

    @property
    def ptx(self) -> str:
        """The text of the code for row-major arrays."""
        return str(self.part("rows").image.code.decode())

    def again(self, arrays: tuple[Any, ...], out: Any) -> Any:
        """Launch the code on arrays with the layouts of the call before; return ``MISSED`` if it cannot be.

        This is as short as it can be: the host's time of a launch.
        """
        before = self._before
        if before is None:
            return MISSED
        given = arrays if out is None else arrays + out if type(out) is tuple else (*arrays, out)
        try:
            layouts, addresses, numbers = zip(*[LOOKS[type(x)](x) for x in given])  # noqa: B905  (of three each)
        except Exception:  # found again, and named, by the general way
            return MISSED
        if layouts != before.layouts or numbers != before.numbers:
            return MISSED
        if out is not None:
            if addresses != before.apart[0]:  # found not to overlap before
                for k, low, high in before.outputs:
                    low, high = low + addresses[k], high + addresses[k]
                    for start, (first, last) in zip(addresses[:k], before.reaches):  # noqa: B905  (the first ones)
                        if start + first < high and low < start + last:
                            return MISSED
                before.apart[0] = addresses
            before.launch(addresses, before.stream(numbers[0]))
            return out
        results = tuple([before.empty(arrays[0], shape) for shape in before.shapes])
        before.launch((*addresses, *[look(x)[1] for x in results]), before.stream(numbers[0]))
        return results if len(results) > 1 else results[0]

    def __call__(self, names: Sequence[str], arrays: Sequence[Any], out: Any, check: Callable[[Any], None]) -> Any:
        """Launch the code on arrays whose leading dimensions broadcast; return the results, or ``out``.

        ``check(part)`` may raise before that. Scalars may be plain numbers.
        """
        if self._scalars:
            arrays = self._with_scalars(arrays)
        targets = None if out is None else tuple(out) if isinstance(out, (tuple, list)) else (out,)
        given = [*arrays, *(targets or ())]
        looks = self._looks(names, arrays, targets)
        key = tuple([layout for layout, _, _ in looks])
        plan = self._plans.get(key)
        if plan is None:
            plan = self._make_plan(key, names, arrays, targets, check)
        number = common_device(self.name, names, looks)
        library: Any = library_of(arrays[0])
        if targets is not None:
            check_overlap(self.name, looks, plan.reaches, len(arrays))
        addresses = [address for _, address, _ in looks]
        for k, shape in plan.copied:
            given[k] = library.rows(arrays[k], shape)  # held until the launch
            addresses[k] = look(given[k])[1]
        if targets is None:
            targets = tuple([library.empty(arrays[0], shape) for shape in plan.shapes])
            addresses += [look(x)[1] for x in targets]
        if plan.rows:
            launch = self._prepared(plan, number, len(addresses))
            launch(addresses, library.stream(number))
            if not plan.copied and looks[0][2] == number:
                numbers = tuple([found for _, _, found in looks])
                outputs = tuple((k, *plan.reaches[k]) for k in range(len(arrays), len(given)))
                self._before = _LastLaunch(
                    key, numbers, outputs, plan.reaches, plan.shapes, launch, library.stream, library.empty, [None]
                )
        return out if out is not None else targets if len(targets) > 1 else targets[0]

    def _looks(self, names: Sequence[str], arrays: Sequence[Any], targets: Sequence[Any] | None) -> list[Look]:
        """A look at each array; raise with the name of one that is not on a GPU."""
        try:
            return [look(x) for x in (*arrays, *(targets or ()))]
        except (DeviceError, ScalarTypeError, RuntimeError, TypeError, AttributeError):
            driver(self.name)
            self._read(names, arrays, targets)  # raises with the name of the array, if it is wrong
            raise

    def _prepared(self, plan: LaunchPlan, number: int, addresses: int) -> Launch:
        """The launch of a plan on a GPU."""
        found = plan.launches.get(number)
        if found is None:
            gpu, key = device(self.name, number), (number, plan.form)
            part = self.part(plan.form)
            kernel = self._loaded.get(key)
            if kernel is None:
                kernel = self._loaded[key] = gpu.load(self.name, part.image.code.decode())
            threads, shared = block_of(part.image.functions["shared"])
            blocks, words = -(-plan.rows // threads), (*plan.words, kernel.counter)
            found = plan.launches[number] = gpu.prepare(self.name, kernel, blocks, threads, shared, addresses, words)
        return found

    def _with_scalars(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The arrays, with plain numbers for scalars as arrays of the first array's library."""
        if not any(type(arrays[k]) in NUMBERS for k in self._scalars):
            return arrays
        like = next((x for x in arrays if type(x) not in NUMBERS), None)
        if like is None:
            return arrays
        full = maker_of(self.name, like).full
        fill = {k: full(like, (), float(arrays[k])) for k in self._scalars if type(arrays[k]) in NUMBERS}
        return tuple(fill.get(k, x) for k, x in enumerate(arrays))

    # plans ----------------------------------------------------------------------------------------

    def _read(
        self, names: Sequence[str], arrays: Sequence[Any], targets: Sequence[Any] | None
    ) -> tuple[list[DeviceArray], list[DeviceArray] | None]:
        inputs = [read_array(self.name, name, x) for name, x in zip(names, arrays, strict=True)]
        return inputs, None if targets is None else [read_array(self.name, "out", x) for x in targets]

    def _make_plan(
        self, key: tuple[Any, ...], names: Sequence[str], arrays: Sequence[Any], targets: Sequence[Any] | None,
        check: Callable[[Any], None],
    ) -> LaunchPlan:  # fmt: skip
        """Check the arrays and make their plan."""
        where, part = self.name, self.part("rows")
        check(part)
        inputs, outputs = self._read(names, arrays, targets)
        for name, array in zip(names, inputs, strict=True):
            if array.dtype != self.dtype:
                raise ScalarTypeError(
                    f"{where}: {name} holds {array.dtype}, expected {self.dtype}, for which this was compiled. Convert "
                    f"it on the GPU."
                )
        layouts = [layout_of(where, *given) for given in zip(names, inputs, self.inputs, strict=True)]
        batch = common_batch(where, names, [layout.batch for layout in layouts])
        strided = bool(part.image.functions["strided"])
        shapes = tuple(batch + core for core in part.outputs)
        if targets is None:
            maker_of(where, arrays[0])
        every, copied = [], []
        for k, (layout, core) in enumerate(zip(layouts, self.inputs, strict=True)):
            if self._fits(batch, layout, core, strided):
                every.append((layout, core))
            else:
                maker_of(where, arrays[0])
                copied.append((k, batch + core))
                every.append((_contiguous(batch, core), core))
        for k, core in enumerate(part.outputs):
            every.append((self._target(outputs, k, batch, core, strided, len(part.outputs)), core))
        rows = all(is_row_major(core, layout.inner) for layout, core in every)
        words: list[int] = []
        for layout, _ in every:
            words += [row_stride(batch, layout) or 0, *(() if rows else layout.inner)]
        count = math.prod(batch)
        reaches = tuple(a.reach for a in (*inputs, *(outputs or ())))
        plan = LaunchPlan("rows" if rows else "strided", count, shapes, (*words, count), tuple(copied), reaches, {})
        if len(self._plans) >= MOST_PLANS:
            self._plans = {}
        return self._plans.setdefault(key, plan)

    def _fits(self, batch: Shape, layout: ArrayLayout, core: Shape, strided: bool) -> bool:
        distance = row_stride(batch, layout)
        near = distance is not None and 0 <= distance <= FARTHEST
        return near and (strided or is_row_major(core, layout.inner))

    def _target(
        self, outputs: list[DeviceArray] | None, k: int, batch: Shape, core: Shape, strided: bool, count: int
    ) -> ArrayLayout:
        """The layout of result k: of a new array, or of that in ``out``, which is checked."""
        if outputs is None:
            return _contiguous(batch, core)
        if len(outputs) != count:
            raise ShapeError(f"{self.name}: out has {len(outputs)} arrays, expected {count}.")
        array = outputs[k]
        if array.shape != batch + core or array.dtype != self.dtype or not array.writeable:
            kind = "" if array.writeable else "read-only "
            raise ShapeError(
                f"{self.name}: out is a {kind}{array.dtype} array of shape {array.shape}, expected a writeable "
                f"{self.dtype} array of shape {batch + core}."
            )
        layout = layout_of(self.name, "out", array, core)
        if not self._fits(batch, layout, core, strided):
            raise ShapeError(f"{self.name}: out has strides {array.strides} [entries], expected a contiguous array.")
        if 0 not in array.shape and any(s == 0 and n > 1 for n, s in zip(array.shape, array.strides, strict=True)):
            raise ShapeError(
                f"{self.name}: entries of out are at one address, expected an array that is not broadcast."
            )
        return layout


def check_overlap(where: str, looks: Sequence[Look], reaches: Sequence[tuple[int, int]], inputs: int) -> None:
    """Raise if an array after the first ``inputs`` overlaps one before it; ``reaches``: their bytes from an address."""
    spans = [(look[1] + low, look[1] + high) for look, (low, high) in zip(looks, reaches, strict=True)]
    for k in range(inputs, len(spans)):
        low, high = spans[k]
        for start, end in spans[:k]:
            if start < high and low < end:
                raise DeviceError(
                    f"{where}: out overlaps another array, expected memory of its own: rows are read after others are "
                    f"written. Give another array, or copy the argument."
                )


def common_device(where: str, names: Sequence[str], looks: Sequence[Look]) -> int:
    """The number of the GPU on which arrays are; those that are empty go with any."""
    numbers = {number for _, _, number in looks} - {-1}
    if len(numbers) <= 1:
        return numbers.pop() if numbers else 0
    labels = (*names, *["out"] * (len(looks) - len(names)))
    listed = ", ".join(f"{name} on {number}" for name, (_, _, number) in zip(labels, looks, strict=True))
    raise DeviceError(f"{where}: arrays are on several GPUs ({listed}), expected all on one. Copy some.")


def _contiguous(batch: Shape, core: Shape) -> ArrayLayout:
    strides = row_major(batch + core)
    return ArrayLayout(batch, strides[: len(batch)], strides[len(batch) :])
