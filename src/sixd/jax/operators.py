"""Operators: a function of one system, or a derivative of it, as a static parameter of JAX's primitives.

Operators of equal content are equal, so that JAX compiles once for two models with the same numbers. An operator holds
its system; JAX's caches hold operators.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Callable
from typing import Any

from sixd.codegen.nvptx.launch import block_of
from sixd.codegen.xla import DEVICE
from sixd.engine.artifact import library_key, make_routine, routine, trace_request
from sixd.engine.differentiation import jvp_request, vjp_request
from sixd.engine.evaluate import require_regular
from sixd.engine.functions import Request
from sixd.engine.targets import cuda
from sixd.model.memo import remember
from sixd.model.system import System
from sixd.runtime.cuda.device import device, own_architecture
from sixd.runtime.xla import TABLE, PlanReference, XlaPlan, device_words

Shape = tuple[int, ...]


class Operator:
    """A request of a system: ``inputs`` and ``outputs`` are the core shapes of its arrays."""

    head = 0  # inputs before the others that only the CPU's code reads
    tail: tuple[int, ...] = ()  # further arguments of a kernel

    def __init__(self, system: System, request: Request, key: tuple[Any, ...], outputs: tuple[Shape, ...]) -> None:
        self.system, self.request, self.key = system, request, key
        self.name, self.dtype = request.function.name, request.dtype
        self.inputs: tuple[Shape, ...] = tuple(request.function.core(system, name) for name in request.arrays)
        self.outputs = outputs
        self._hash = hash(key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Operator) and self.key == other.key)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{self.name} of {self.system.name!r}"

    def jvp(self, by: tuple[int, ...]) -> Operator:
        """The operator (x…, dx…) -> dy, with directions of the inputs with the numbers ``by``."""
        request = jvp_request(self.system, self.request, by)
        return Operator(self.system, request, (*self.key, "jvp", by), self.outputs)

    def vjp(self, by: tuple[int, ...]) -> Operator:
        """The operator (x…, w…) -> gradients of w·y with respect to the inputs with the numbers ``by``."""
        request = vjp_request(self.system, self.request, by)
        return Operator(self.system, request, (*self.key, "vjp", by), tuple(self.inputs[k] for k in by))

    # code -------------------------------------------------------------------------------------------

    def cpu_plan(self, rows: int) -> tuple[int, PlanReference]:
        """The key and a hold on the plan of the code for that many states."""
        form = "entry" if rows == 1 else "loop"

        def make() -> XlaPlan:
            made = routine(self.system, self.request)
            require_regular(self.name, self.system, made.part(form).singular)
            code = made.code
            assert code is not None
            if form == "entry":
                return XlaPlan([0, code.entry, code.entry_context], made)
            return XlaPlan([1, code.loop, code.loop_context], made)

        key = number_of(self.key, form)
        return key, TABLE.find(key, make)

    def cuda_plan(self, devices: list[int], rows: int) -> tuple[int, PlanReference]:
        """The key and a hold on the plan of the code for these GPUs, on which it is loaded."""

        def make() -> XlaPlan:
            request = self.request._replace(target=cuda(own_architecture(self.name)))
            made = make_routine(self.system, request)
            part = made.part("rows")
            require_regular(self.name, self.system, part.singular)
            entries: list[tuple[int, ...] | None] = [None] * (max(devices) + 1)
            for number in devices:
                gpu = device(self.name, number)
                loaded = gpu.load(self.name, part.image.code.decode())
                words = {"function": loaded.function, "counter": loaded.counter, "context": gpu.context}
                entries[number] = tuple(words[name] for name in DEVICE)
            threads, shared = block_of(part.image.functions["shared"])
            return XlaPlan(device_words(shared, threads, entries), made)

        key = number_of(self.key, f"cuda {devices}")
        return key, TABLE.find(key, make)


def number_of(key: tuple[Any, ...], form: str) -> int:
    """The key of a plan: the same for equal operators in every process, if it can be."""
    found = hashlib.sha256(repr((key, form)).encode()).digest()
    return int.from_bytes(found[:8], "little") >> 1 | 1


def loop_plan(key: tuple[Any, ...], form: str, code: Callable[[], Any]) -> tuple[int, PlanReference]:
    """The key and a hold on the plan of a recipe's code for the CPU."""

    def make() -> XlaPlan:
        made = code()
        return XlaPlan([1, *made.loop], made)

    number = number_of(key, form)
    return number, TABLE.find(number, make)


def kernel_plan(
    name: str, key: tuple[Any, ...], form: str, code: Any, devices: list[int], rows: int
) -> tuple[int, PlanReference]:
    """The key and a hold on the plan of a recipe's code for these GPUs, on which it is loaded."""
    threads, shared = code.block(rows)

    def make() -> XlaPlan:
        entries: list[tuple[int, ...] | None] = [None] * (max(devices) + 1)
        for number in devices:
            gpu = device(name, number)
            loaded = code.load(gpu)
            words = {"function": loaded.function, "counter": loaded.counter, "context": gpu.context}
            entries[number] = tuple(words[name] for name in DEVICE)
        return XlaPlan(device_words(shared, threads, entries), code)

    number = number_of(key, f"{form} cuda {devices} {threads}")
    return number, TABLE.find(number, make)


def operator_of(system: System, request: Request) -> Operator:
    """The operator of a request of a function of the library or of a kernel."""
    found: list[weakref.ref[Operator]] = remember(system, ("operator of XLA", request), list)
    made = found[0]() if found else None  # weak: it holds the system
    if made is None:
        made = _make(system, request)
        found[:] = [weakref.ref(made)]
    return made


def _make(system: System, request: Request) -> Operator:
    content = library_key(system, request)
    if content is None:  # the system itself identifies it, in this process
        content = remember(system, ("token of XLA", request), lambda: os.urandom(16))
    outputs = remember(
        system,
        ("outputs", request),
        lambda: tuple(slot.shape for slot in trace_request(system, request).outputs),
    )
    return Operator(system, request, (content, request.dtype), outputs)
