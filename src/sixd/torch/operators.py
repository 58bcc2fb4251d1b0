"""The operator ``sixd::call``: a function of the library, or a derivative of one, on tensors.

A graph of PyTorch cannot hold a model. The operator gets a number instead, the handle of a :class:`Call`, which the
memo of the model keeps. Its gradient is the same operator with the handle of another call, and so on to every order.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sixd.engine.artifact import trace_request
from sixd.engine.differentiation import jvp_request, vjp_request
from sixd.engine.evaluate import call, evaluate
from sixd.engine.functions import Request
from sixd.errors import ModelError
from sixd.model.memo import remember
from sixd.model.system import System
from sixd.torch.tensors import Shape, batch_of, mapped, summed_to
from sixd.torch.transforms import Tensors, define, transformed

_NUMBERS = itertools.count(1)
# by handle; the memo of a call's system holds it, an autograd graph, or _COMPILED
_CALLS: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
# graphs of torch.compile hold numbers alone: what they may call lives as long as the process
_COMPILED: dict[int, Any] = {}


class Handled:
    """What a handle stands for: work for one system, which it does not keep alive."""

    def __init__(self, system: System) -> None:
        self.handle = next(_NUMBERS)
        self._system = weakref.ref(system)
        _CALLS[self.handle] = self

    @property
    def system(self) -> System:
        """The system."""
        system = self._system()
        if system is None:
            raise ModelError("sixd.torch: the model of this operator was garbage-collected. Keep a reference to it.")
        return system


def handled(handle: int) -> Any:
    """What a handle stands for."""
    found = _CALLS.get(handle)
    if found is None:
        raise ModelError("sixd.torch: the model of this operator was garbage-collected. Keep a reference to it.")
    return found


def keep(made: Handled) -> None:
    """Keep it, and its system, for graphs that are compiled."""
    _COMPILED[made.handle] = made, made.system


class Call(Handled):
    """A request of a system on tensors: ``names``, core shapes ``inputs`` of its arrays, ``outputs`` of its results."""

    def __init__(self, system: System, request: Request) -> None:
        super().__init__(system)
        self.request, self.names = request, request.arrays
        self.inputs: tuple[Shape, ...] = tuple(request.function.core(system, name) for name in self.names)
        self.dimensions = tuple(map(len, self.inputs))
        self._outputs: tuple[Shape, ...] | None = None
        self._derivatives: dict[tuple[str, tuple[int, ...]], Call] = {}

    @property
    def outputs(self) -> tuple[Shape, ...]:
        """The core shapes of the results; the function is traced for that."""
        if self._outputs is None:
            self._outputs = tuple(slot.shape for slot in trace_request(self.system, self.request).outputs)
        return self._outputs

    def gradient(self, by: tuple[int, ...]) -> Call:
        """The call (x…, w…) -> gradients of w·y with respect to the inputs of these numbers."""
        return self._derivative("gradient", by)

    def derivative(self, by: tuple[int, ...]) -> Call:
        """The call (x…, dx…) -> dy, the derivative along directions of the inputs of these numbers."""
        return self._derivative("derivative", by)

    def _derivative(self, kind: str, by: tuple[int, ...]) -> Call:
        found = self._derivatives.get((kind, by))
        if found is None:
            derive = vjp_request if kind == "gradient" else jvp_request
            found = self._derivatives[kind, by] = call_of(self.system, derive(self.system, self.request, by))
        return found

    def __call__(self, tensors: Sequence[torch.Tensor], out: Sequence[torch.Tensor] = ()) -> list[torch.Tensor]:
        """Evaluate it; ``out``, if there are some, get the results."""
        function, choices, *_ = self.request
        # a copy of strided tensors: kernels take these on a way that is 100 us longer
        dense = [x.contiguous() if x.is_cpu else x for x in tensors]
        own, f_ext = self.request.split(tuple(map(_array, dense)))
        into = tuple(map(_array, out)) if len(out) > 1 else _array(out[0]) if out else None
        if function.adapt is None:
            found = call(function, self.system, own, f_ext, into, choices)
        else:
            found = evaluate(function, self.system, choices, own, f_ext, into)
        return [_tensor(x) for x in (found if isinstance(found, tuple) else (found,))]


def _array(x: torch.Tensor) -> Any:
    """A tensor as kernels take it."""
    plain = x.detach() if x.requires_grad else x
    return plain.numpy() if plain.is_cpu else plain


def _tensor(x: Any) -> torch.Tensor:
    """A result as a tensor."""
    return torch.from_numpy(x) if type(x) is np.ndarray else torch.as_tensor(x)


def call_of(system: System, request: Request) -> Call:
    """The call of a request, kept in the memo of the system."""
    return remember(system, ("torch", request), lambda: Call(system, request))


# the operator -------------------------------------------------------------------------------------


def _results(arrays: Sequence[torch.Tensor], handle: int) -> list[torch.Tensor]:
    return handled(handle)(arrays)


def _shapes(arrays: Sequence[torch.Tensor], handle: int) -> list[torch.Tensor]:
    made = handled(handle)
    batch = batch_of(made.names, arrays, made.dimensions)
    return [arrays[0].new_empty((*batch, *core)) for core in made.outputs]


operator = define("call(Tensor[] arrays, int handle) -> Tensor[]", _results, _shapes)


def _remember(ctx: Any, arrays: Tensors, facts: tuple[Any, ...], results: Tensors) -> None:
    made = handled(facts[0])
    ctx.made, ctx.alive = made, made.system  # until the gradient was computed
    ctx.save_for_backward(*arrays)
    ctx.save_for_forward(*arrays)


def _gradient(ctx: Any, needed: Sequence[bool], weights: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
    by = tuple(k for k, wanted in enumerate(needed) if wanted)
    arrays = ctx.saved_tensors
    made = _followed(ctx.made, ctx.made.gradient(by))
    found = run([*arrays, *weights], made.handle)
    gradients: list[torch.Tensor | None] = [None] * len(arrays)
    for k, gradient in zip(by, found, strict=True):
        gradients[k] = summed_to(gradient, arrays[k].shape)
    return gradients


def _rates(ctx: Any, rates: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
    by = tuple(k for k, rate in enumerate(rates) if rate is not None)
    arrays = ctx.saved_tensors
    made = _followed(ctx.made, ctx.made.derivative(by))
    return run([*arrays, *(rates[k].expand_as(arrays[k]) for k in by)], made.handle)  # type: ignore[union-attr]


def _followed(made: Call, derivative: Call) -> Call:
    """The derivative of a call, kept if that may be in a compiled graph."""
    if made.handle in _COMPILED:
        keep(derivative)
    return derivative


def _mapped(size: int, dims: Sequence[int | None], arrays: Sequence[torch.Tensor], facts: tuple[Any, ...]) -> list[Any]:
    return run(mapped(size, arrays, dims, handled(facts[0]).dimensions), *facts)


run = transformed(operator, _remember, _gradient, _mapped, _rates)


@torch.library.custom_op("sixd::call_into", mutates_args={"out"})
def _operator_into(arrays: Sequence[torch.Tensor], out: Sequence[torch.Tensor], handle: int) -> None:
    handled(handle)(arrays, out)


@_operator_into.register_fake
def _nothing(arrays: Sequence[torch.Tensor], out: Sequence[torch.Tensor], handle: int) -> None:
    return None


def run_into(arrays: Sequence[torch.Tensor], out: Sequence[torch.Tensor], handle: int) -> None:
    """Write the results of a call into ``out``, tensors without gradients."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        _operator_into(arrays, out, handle)
    else:  # the way through an operator takes 20 us
        handled(handle)(arrays, out)
        torch.autograd.graph.increment_version(out)
