"""Rollouts in one call: all steps of all states in one compiled loop, on a GPU in one launch, and the reverse sweep.

The way there records the states; the way back does each step once more from its state, and carries gradients through
it. That is a first derivative in reverse; ``sixd.jax.step`` has the others.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sixd.engine.targets import CodeTarget, cpu, cuda
from sixd.errors import TraceError
from sixd.jax.functions import call
from sixd.jax.operators import Shape, kernel_plan, loop_plan
from sixd.model.memo import remember
from sixd.runtime.cuda.device import own_architecture
from sixd.runtime.xla import PlanReference
from sixd.simulation.gradients.adjoint_steps import TAU, Pair, forward_backward_steps
from sixd.simulation.gradients.whole_step import equations
from sixd.simulation.scenario import Scenario
from sixd.simulation.stepping.compiled_steps import UNSOLVED

_ALONG = ("q", "qd")
_WHERE = "sixd.jax.rollout"


class JaxRollout:
    """The steps of a scenario, forward and backward."""

    def __init__(self, run: Scenario, dtype: str, key: bytes) -> None:
        self.system, self.method, self.dtype, self.key = run.model, run.method, dtype, key
        self.problem = problem = equations(_WHERE, run, dtype)(run.model)
        self.constants: dict[str, Shape] = {k: x for k, x in problem.constants.items() if k != "tau"}
        self.start = np.concatenate([np.zeros(0), *(force.start(run.model) for force in problem.forces)])
        self._pairs: dict[CodeTarget, Pair] = {}

    def pair(self, platform: str) -> Pair:
        """The code for the CPU ("cpu") or for GPUs."""
        target = cpu if platform == "cpu" else cuda(own_architecture(_WHERE))
        if target not in self._pairs:
            made = forward_backward_steps(self.problem, self.method, self.dtype, None, target, _ALONG)
            self._pairs[target] = made
        return self._pairs[target]

    @property
    def facts(self) -> Pair:
        """The names and shapes of its arrays, from the code that is likely to be used."""
        return self.pair("cpu" if jax.default_backend() == "cpu" else "cuda")


def rolled_of(run: Scenario, dtype: str) -> JaxRollout:
    """The steps of a scenario, found again as long as something holds them."""
    key = "rollout of XLA", run.structure, dtype
    found: list[Any] = remember(run.model, key, lambda: [os.urandom(16), None])
    made = found[1]() if found[1] is not None else None  # weak: it holds the system
    if made is None:
        made = JaxRollout(run, dtype, found[0])
        found[1] = weakref.ref(made)
    return made


class JaxSteps:
    """The way there or back with a number of steps, in the form of an operator; see :class:`Operator`."""

    head = 2

    def __init__(self, rolled: JaxRollout, steps: int, *, back: bool) -> None:
        self.rolled, self.steps, self.back = rolled, steps, back
        self.system, self.name, self.dtype = rolled.system, _WHERE, rolled.dtype
        self.key = rolled.key, steps, back
        code = self._code(rolled.facts)
        sized = [[tuple(steps if n == "r" else n for n in core) for core in x] for x in (code.inputs, code.outputs)]
        self.inputs: tuple[Shape, ...] = ((), (steps,), *sized[0])
        self.outputs: tuple[Shape, ...] = tuple(sized[1])
        self.tail = (steps, 1, 1, 1)

    def _code(self, pair: Pair) -> Any:
        return pair.backward if self.back else pair.forward

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JaxSteps) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def jvp(self, by: tuple[int, ...]) -> Any:
        """Raise: there is no code for that."""
        raise TraceError(
            f"{_WHERE}: with fused=True only a first derivative in reverse (jax.grad) is there. Use fused=False for "
            f"jvp and for second derivatives."
        )

    vjp = jvp

    def cpu_plan(self, rows: int) -> tuple[int, PlanReference]:
        """The key and a hold on the plan of the code."""
        return loop_plan(self.key[::2], "steps", lambda: self._code(self.rolled.pair("cpu")))

    def cuda_plan(self, devices: list[int], rows: int) -> tuple[int, PlanReference]:
        """The key and a hold on the plan of the code for these GPUs, on which it is loaded."""
        return kernel_plan(self.name, self.key[::2], "steps", self._code(self.rolled.pair("cuda")), devices, rows)


# there and back -----------------------------------------------------------------------------------


@partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def roll(rolled: JaxRollout, dt: float, t: float, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The states q (…, steps + 1, nq) and qd, of q, qd, controls (…, steps, nv) and the problem's constants."""
    return _there(rolled, dt, t, arrays)[0]


def _there(rolled: JaxRollout, dt: float, t: float, arrays: tuple[Any, ...]) -> tuple[Any, Any]:
    q, qd, taus, *constants = arrays
    pair, steps = rolled.facts, taus.shape[-2]
    state = {name: jnp.zeros(core, rolled.dtype) for name, core in pair.state.items()} | {"q": q, "qd": qd}
    if len(rolled.start):
        state["u"] = jnp.asarray(rolled.start, rolled.dtype)
    found = _call(rolled, steps, [*state.values(), *_fixed(rolled, pair, constants, dt, t), taus], back=False)
    results = dict(zip(pair.outputs, found, strict=True))
    each = [name for name, recorded in pair.outputs.items() if recorded]
    kept = {name: _with_start(state[name], results[name], pair.state[name]) for name in each}
    return (kept["q"], kept["qd"]), (arrays, kept, results.get(UNSOLVED))


def _with_start(start: Any, records: Any, core: Shape) -> Any:
    """Records (…, steps, core) with the start before them."""
    at = records.ndim - len(core) - 1
    first = jnp.broadcast_to(start, records.shape[:at] + core)
    return jnp.concatenate([jnp.expand_dims(first, at), records], at)


def _back(rolled: JaxRollout, dt: float, t: float, kept: Any, weights: tuple[Any, ...]) -> tuple[Any, ...]:
    arrays, records, unsolved = kept
    taus, *constants = arrays[2:]
    pair, by = rolled.facts, dict(zip(_ALONG, weights, strict=True))
    series = {name: jax.lax.slice_in_dim(x, 0, -1, axis=-1 - len(pair.state[name])) for name, x in records.items()}
    series |= {f"weight of {name}": w[..., 1:, :] for name, w in by.items()}
    zeros = [jnp.zeros(core, rolled.dtype) for core in pair.gradients.values()]
    fixed = _fixed(rolled, pair, constants, dt, t)
    given = [*zeros, *fixed, *(series[name] for name in pair.series), taus]
    found = dict(zip(pair.gradients, _call(rolled, taus.shape[-2], given, back=True), strict=True))
    gradients = [found[name] + by[name][..., 0, :] for name in _ALONG]
    gradients += [found[TAU], *(found[f"constant {name}"] for name in rolled.constants)]
    return (tuple(_fitted(x, a.shape, unsolved) for x, a in zip(gradients, arrays, strict=True)),)


def _fitted(gradient: Any, shape: Shape, unsolved: Any) -> Any:
    """A gradient summed over the batch dimensions that an input lacks; NaN where impulses did not converge."""
    if unsolved is not None:
        bad = (unsolved > 0).reshape(unsolved.shape + (1,) * (gradient.ndim - unsolved.ndim))
        gradient = jnp.where(bad, jnp.nan, gradient)
    extra = gradient.ndim - len(shape)
    ones = tuple(extra + k for k, n in enumerate(shape) if n == 1 and gradient.shape[extra + k] != 1)
    return gradient.sum((*range(extra), *ones), keepdims=True).reshape(shape) if extra or ones else gradient


def _fixed(rolled: JaxRollout, pair: Pair, constants: Sequence[Any], dt: float, t: float) -> list[Any]:
    known = {"h": jnp.asarray(dt, rolled.dtype), "start": jnp.asarray(t, rolled.dtype)}
    known |= {f"constant {name}": x for name, x in zip(rolled.constants, constants, strict=True)}
    return [known[name] for name in pair.constants]


def _call(rolled: JaxRollout, steps: int, arrays: list[Any], *, back: bool) -> list[Any]:
    made: Any = JaxSteps(rolled, steps, back=back)
    head = [jnp.asarray(steps, rolled.dtype), jnp.ones(steps, rolled.dtype)]
    names = tuple(f"array {k}" for k in range(len(made.inputs)))
    return call(_WHERE, made, names, [*head, *arrays])


roll.defvjp(_there, _back)
