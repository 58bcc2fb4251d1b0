"""The operator ``sixd::rollout``: many steps of many states, and ``sixd::rollout_gradient``, the reverse sweep.

The forward sweep records the states. The reverse sweep repeats each step from its state, and propagates gradients
through it. Both are one compiled loop (on a GPU one launch) for all steps and states.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sixd.engine.targets import CodeTarget, cpu, cuda
from sixd.errors import TraceError
from sixd.model.memo import remember
from sixd.runtime.cuda.device import device as gpu
from sixd.simulation.gradients.adjoint_steps import TAU, Pair, forward_backward_steps
from sixd.simulation.gradients.whole_step import equations
from sixd.simulation.scenario import Scenario
from sixd.simulation.stepping.compiled_steps import UNSOLVED
from sixd.torch.operators import Handled, handled
from sixd.torch.tensors import Shape, batch_of, mapped, summed_to
from sixd.torch.transforms import Tensors, define, transformed

_ALONG = ("q", "qd")


class TorchRollout(Handled):
    """Steps of a system on tensors q, qd, controls (…, steps, nv), and the constants of the problem without tau."""

    def __init__(self, where: str, run: Scenario, dtype: str) -> None:
        super().__init__(run.model)
        system, self.method, self.dtype = run.model, run.method, dtype
        self._equations = equations(where, run, dtype)
        problem = self._equations(system)
        self.constants: dict[str, Shape] = {k: x for k, x in problem.constants.items() if k != "tau"}
        self.names = ("q", "qd", "controls", *self.constants)
        self.dimensions = (1, 1, 2, *map(len, self.constants.values()))
        self.start = np.concatenate([np.zeros(0), *(force.start(system) for force in problem.forces)])
        self._pairs: dict[CodeTarget, Pair] = {}

    def pair(self, device: torch.device) -> Pair:
        """The code for a device."""
        target = cpu
        if device.type == "cuda":
            number = torch.cuda.current_device() if device.index is None else device.index
            target = cuda(gpu("sixd.torch", number).architecture)
        if target not in self._pairs:
            problem = self._equations(self.system)
            made = forward_backward_steps(problem, self.method, self.dtype, None, target, _ALONG)
            self._pairs[target] = made
        return self._pairs[target]

    def records(self, device: torch.device) -> dict[str, Shape]:
        """What the operator returns as (…, steps + 1, core), the states q and qd first."""
        pair = self.pair(device)
        names = [name for name, each in pair.outputs.items() if each]
        return {name: pair.state[name] for name in (*_ALONG, *(n for n in names if n not in _ALONG))}

    def counts(self, device: torch.device) -> bool:
        """Whether the operator returns, last, a number of failures (…)."""
        return UNSOLVED in self.pair(device).state

    def there(self, arrays: Sequence[torch.Tensor], dt: float, t: float) -> list[torch.Tensor]:
        """The records, and the number of failures."""
        q, *_ = arrays
        batch = batch_of(self.names, arrays, self.dimensions)
        rows, steps, pair = math.prod(batch), arrays[2].shape[-2], self.pair(q.device)
        own = [_rows(x, n, batch) for x, n in zip(arrays, self.dimensions, strict=True)]
        state = {name: q.new_zeros((rows, *core)) for name, core in pair.state.items()}
        state |= {"q": own[0].expand(rows, -1), "qd": own[1].expand(rows, -1)}
        if len(self.start):
            state["u"] = torch.as_tensor(self.start).to(q).expand(rows, -1)
        state = {name: x.contiguous() for name, x in state.items()}
        kept = {name: q.new_empty((rows, steps + 1, *core)) for name, core in self.records(q.device).items()}
        for name, record in kept.items():
            record[:, 0] = state[name]
        out = [kept[name][:, 1:] if each else None for name, each in pair.outputs.items()]
        given = [*state.values(), *self._constants(pair, own[3:], q, dt, t), own[2]]
        if steps and rows:
            found = _run(pair.forward, steps, given, out)
            state |= dict(zip(pair.state, found, strict=False))
        results = [x.reshape((*batch, *x.shape[1:])) for x in kept.values()]
        return [*results, state[UNSOLVED].reshape(batch)] if self.counts(q.device) else results

    def back(self, tensors: Sequence[torch.Tensor], dt: float, t: float) -> list[torch.Tensor]:
        """The gradients with respect to q, qd, controls and constants, from the records and the weights of q and qd."""
        shapes = self.records(tensors[0].device)
        *records, by_q, by_qd = *tensors[: len(shapes)], *tensors[-2:]
        arrays = tensors[len(shapes) : -2]
        batch = tuple(records[0].shape[:-2])
        rows, steps, pair = math.prod(batch), records[0].shape[-2] - 1, self.pair(by_q.device)
        controls, *constants = (_rows(x, n, batch) for x, n in zip(arrays, self.dimensions[2:], strict=True))
        whole = {name: x.reshape((rows, *x.shape[len(batch) :])) for name, x in zip(shapes, records, strict=True)}
        weights = {"q": by_q.reshape((rows, steps + 1, -1)), "qd": by_qd.reshape((rows, steps + 1, -1))}
        series = {name: x[:, :-1] for name, x in whole.items()}
        series |= {f"weight of {name}": x[:, 1:] for name, x in weights.items()}
        zeros = {name: by_q.new_zeros((rows, *core)) for name, core in pair.gradients.items()}
        fixed = self._constants(pair, constants, by_q, dt, t)
        given = [*zeros.values(), *fixed, *(series[name] for name in pair.series), controls]
        found = {**zeros, TAU: torch.zeros_like(controls)}
        if steps and rows:
            found = dict(zip(zeros, _run(pair.backward, steps, given, None), strict=True))
        first = {name: found[name] + weights[name][:, 0] for name in _ALONG}
        wanted = [first["q"], first["qd"], found[TAU], *(found[f"constant {n}"] for n in self.constants)]
        return [x.reshape((*batch, *x.shape[1:])).contiguous() for x in wanted]

    def _constants(self, pair: Pair, own: Sequence[torch.Tensor], like: torch.Tensor, dt: float, t: float) -> list[Any]:
        numbers = {"h": like.new_full((1,), dt), "start": like.new_full((1,), t)}
        given = {f"constant {name}": x for name, x in zip(self.constants, own, strict=True)}
        return [(numbers | given)[name] for name in pair.constants]


def _rows(x: torch.Tensor, dimensions: int, batch: tuple[int, ...]) -> torch.Tensor:
    """A tensor as rows, one for all if it has no leading dimensions."""
    core = x.shape[x.ndim - dimensions :]
    if x.ndim == dimensions or math.prod(x.shape[: x.ndim - dimensions]) == 1:
        return x.reshape((1, *core)).contiguous()
    return x.expand((*batch, *core)).reshape((math.prod(batch), *core)).contiguous()


def _run(code: Any, steps: int, arrays: Sequence[torch.Tensor], out: Sequence[Any] | None) -> list[torch.Tensor]:
    """The results of compiled steps."""
    counts = np.ones(steps)
    if arrays[0].device.type != "cpu":
        return list(code(counts, [x.detach() for x in arrays], out))
    into = None if out is None else [None if x is None else x.numpy() for x in out]
    return [torch.from_numpy(x) for x in code(counts, [x.detach().numpy() for x in arrays], into)]


def rolled_of(where: str, run: Scenario, dtype: str) -> TorchRollout:
    """The steps of a scenario, kept in the memo of its system."""
    return remember(run.model, ("torch", where, run.structure, dtype), lambda: TorchRollout(where, run, dtype))


# the operators ------------------------------------------------------------------------------------


def _there(arrays: Sequence[torch.Tensor], handle: int, dt: float, t: float) -> list[torch.Tensor]:
    return handled(handle).there(arrays, dt, t)


def _shapes(arrays: Sequence[torch.Tensor], handle: int, dt: float, t: float) -> list[torch.Tensor]:
    made, q = handled(handle), arrays[0]
    batch, steps = batch_of(made.names, arrays, made.dimensions), arrays[2].shape[-2]
    found = [q.new_empty((*batch, steps + 1, *core)) for core in made.records(q.device).values()]
    return [*found, q.new_empty(batch)] if made.counts(q.device) else found


def _back(tensors: Sequence[torch.Tensor], handle: int, dt: float, t: float) -> list[torch.Tensor]:
    return handled(handle).back(list(tensors), dt, t)


def _gradient_shapes(tensors: Sequence[torch.Tensor], handle: int, dt: float, t: float) -> list[torch.Tensor]:
    made, q = handled(handle), tensors[0]
    batch, system, steps = q.shape[:-2], made.system, q.shape[-2] - 1
    cores = [(system.nq,), (system.nv,), (steps, system.nv), *made.constants.values()]
    return [q.new_empty((*batch, *core)) for core in cores]


# the records of steps of length dt [s] that begin at the time t [s]
operator = define("rollout(Tensor[] arrays, int handle, float dt, float t) -> Tensor[]", _there, _shapes)
# the gradients of a rollout, from its records, controls, constants, and the weights of q and qd
gradient_operator = define(
    "rollout_gradient(Tensor[] tensors, int handle, float dt, float t) -> Tensor[]", _back, _gradient_shapes
)


def _remember(ctx: Any, arrays: Tensors, facts: tuple[Any, ...], results: Tensors) -> None:
    made = handled(facts[0])
    ctx.made, ctx.alive = made, made.system  # until the gradient was computed
    ctx.save_for_backward(*arrays, *results)


def _gradient(ctx: Any, needed: Sequence[bool], weights: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
    made, count = ctx.made, len(ctx.made.dimensions)
    arrays, records = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
    states = records[: len(made.records(arrays[0].device))]
    found = run_gradient([*states, *arrays[2:], weights[0], weights[1]], *ctx.facts)
    if made.counts(arrays[0].device):
        bad = records[-1] > 0
        found = [x.masked_fill(bad.reshape((*bad.shape, *(1,) * (x.ndim - bad.ndim))), math.nan) for x in found]
    pairs = zip(found, arrays, needed, strict=True)
    return [summed_to(x, a.shape) if wanted else None for x, a, wanted in pairs]


def _mapped(size: int, dims: Sequence[int | None], arrays: Sequence[torch.Tensor], facts: tuple[Any, ...]) -> list[Any]:
    return run(mapped(size, arrays, dims, handled(facts[0]).dimensions), *facts)


def _nothing(ctx: Any, arrays: Tensors, facts: tuple[Any, ...], results: Tensors) -> None:
    return None


def _refuse(ctx: Any, needed: Sequence[bool], weights: Sequence[torch.Tensor]) -> Any:
    raise TraceError(
        "sixd.torch.rollout: the gradient of a rollout is not differentiable, expected a first derivative. Second "
        "derivatives of single steps are those of sixd.torch.step, unless it has friction, contact or is long."
    )


def _mapped_gradient(
    size: int, dims: Sequence[int | None], tensors: Sequence[torch.Tensor], facts: tuple[Any, ...]
) -> list[Any]:
    made = handled(facts[0])
    shapes = made.records(tensors[0].device)
    dimensions = [*(len(core) + 1 for core in shapes.values()), *made.dimensions[2:], 2, 2]
    moved = mapped(size, tensors, dims, dimensions)
    names = [*shapes, *made.names[2:], *(f"weight of {name}" for name in _ALONG)]
    # records and weights have all states
    batch, whole = batch_of(names, moved, dimensions), {*range(len(shapes)), len(moved) - 2, len(moved) - 1}
    pairs = enumerate(zip(moved, dimensions, strict=True))
    given = [x.expand((*batch, *x.shape[x.ndim - n :])) if k in whole else x for k, (x, n) in pairs]
    return run_gradient(given, *facts)


run = transformed(operator, _remember, _gradient, _mapped)
run_gradient = transformed(gradient_operator, _nothing, _refuse, _mapped_gradient)
