"""``sixd.jax.distance`` and ``sixd.jax.min_distance``: signed distances of JAX arrays, with first derivatives.

The compiled code of pairs has the form of an operator of ``sixd.jax.primitives``. Sizes and placements are arrays of
its calls. All modes have the same inputs in the same order; a direction or weights come last.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from sixd.collision.derivative_code import DerivativeKind, derivative_recipe
from sixd.collision.pair_code import ALONE, LEAST, finite_bounds, pair_recipe, size_shapes, supports
from sixd.collision.pair_query import fixed_placements
from sixd.collision.solids import SolidPairs, solid_pairs
from sixd.engine.artifact import make_rollout, recipe_key
from sixd.engine.targets import cpu, cuda
from sixd.errors import TraceError
from sixd.gc_pause import PAUSED
from sixd.jax.functions import as_array, call, common_dtype
from sixd.jax.operators import Shape, kernel_plan, loop_plan
from sixd.model.memo import remember
from sixd.model.model import Model, require_model
from sixd.runtime.cuda.device import own_architecture
from sixd.runtime.xla import PlanReference
from sixd.slow_work import watched

_VALUE, _RATE, _GRADIENT = "value", "rate", "gradient"
_MARGIN = 1e15  # m, of the least distance
_Q = 2  # the number of q among the inputs of an operator


def distance(model: Model, q: Any, pairs: Any = None, *, placements: Mapping[str, Any] | None = None) -> jax.Array:
    """Signed distances (…, n) of pairs of collision shapes: ``sixd.distance`` on JAX arrays.

    Parameters
    ----------
    q : (…, nq) configurations.
    pairs : as for ``sixd.distance``.
    placements : {shape: pose (4, 4)}, numbers that hold for all states.

    Notes
    -----
    First derivatives with respect to q, which have nq entries: ``jax.grad``, ``jax.jacrev``, ``jax.jvp``. Second ones
    raise an error.
    """
    return _evaluate("distance", model, q, pairs, placements, least=False)


def min_distance(model: Model, q: Any, pairs: Any = None, *, placements: Mapping[str, Any] | None = None) -> jax.Array:
    """The least signed distance (…) of all pairs: ``sixd.min_distance`` on JAX arrays; see ``distance``.

    Where several pairs have the least distance, the gradient is the mean of theirs.
    """
    return _evaluate("min_distance", model, q, pairs, placements, least=True)


def _evaluate(where: str, model: Model, q: Any, pairs: Any, placements: Any, *, least: bool) -> jax.Array:
    name = f"sixd.jax.{where}"
    require_model(name, model)
    solids = solid_pairs(name, model, pairs)
    placed = fixed_placements(name, model, solids, placements)
    array = as_array(name, "q", q)
    if not solids.pairs:
        return jnp.full(array.shape[:-1] + (() if least else (0,)), jnp.inf, array.dtype)
    made = _pairs_of(name, model, solids, least, common_dtype([array]))
    operator: Any = PairOperator(made, _VALUE)
    dtype = made.dtype
    given = [jnp.asarray(1, dtype), jnp.ones(1, dtype), array, jnp.asarray(placed, dtype)]
    given += [jnp.asarray(x, dtype) for x in made.data]
    names = "the number of records", "steps", "q", *list(made.inputs)[1:]
    return call(name, operator, tuple(names), given)[0]


class JaxPairs:
    """Distances of pairs of a model, or the least one: their code in each mode, and the data of its calls."""

    def __init__(self, where: str, model: Model, solids: SolidPairs, least: bool, dtype: str, key: bytes) -> None:
        self.where, self.model, self.solids, self.least, self.dtype, self.key = where, model, solids, least, dtype, key
        n, pairs = len(solids.solids), len(solids.pairs)
        self.kinds = {mode: DerivativeKind(mode == _RATE, least, True) for mode in (_RATE, _GRADIENT)}
        self.along = {mode: kind.along(model, pairs) for mode, kind in self.kinds.items()}
        self.outputs = {mode: kind.result(model, pairs) for mode, kind in self.kinds.items()}
        self.outputs[_VALUE] = () if least else (pairs,)
        self.inputs: dict[str, Shape] = {"q": (model.nq,), "placements": (n, 12)}
        self.inputs |= {"margin": (), "bounds": (n, 4)} if least else {}
        self.inputs |= {"signs": (pairs, model.nq), **size_shapes(solids)}
        self.data = [_MARGIN, finite_bounds(solids)] if least else []
        self.data += [supports(model, solids, ambient=True), *(solids.sizes(kind) for kind in solids.kinds)]
        self._codes: dict[tuple[str, str], Any] = {}

    def code(self, mode: str, platform: str) -> Any:
        """The code for the CPU ("cpu") or for GPUs."""
        if (mode, platform) not in self._codes:
            target = cpu if platform == "cpu" else cuda(own_architecture(self.where))
            with watched(f"compiling {self.where} for {self.model.name!r}"), PAUSED:
                recipe, key = self._recipe(mode), self.model.name
                made = make_rollout(recipe, recipe_key(recipe, self.dtype), mode, "", key, self.dtype, target)
            self._codes[mode, platform] = made
        return self._codes[mode, platform]

    def _recipe(self, mode: str) -> Any:
        """The recipe with the inputs of all modes, in their order."""
        if mode == _VALUE:
            what, guard = (LEAST, "least") if self.least else (ALONE, "")
            recipe, inputs = pair_recipe(self.model, self.solids, what, guard, self.dtype), self.inputs
        else:
            recipe = derivative_recipe(self.model, self.solids, self.kinds[mode], self.dtype)
            inputs = {**self.inputs, "along": self.along[mode]}
        return replace(recipe, memory={**inputs, **recipe.memory}, constants=tuple(inputs))


def _pairs_of(where: str, model: Model, solids: SolidPairs, least: bool, dtype: str) -> JaxPairs:
    """The pairs, found again as long as something holds them."""
    key = "pairs of XLA", solids.key, least, dtype
    found: list[Any] = remember(model, key, lambda: [os.urandom(16), None])
    made = found[1]() if found[1] is not None else None  # weak: it holds the model
    if made is None:
        made = JaxPairs(where, model, solids, least, dtype, found[0])
        found[1] = weakref.ref(made)
    return made


class PairOperator:
    """One mode of the distances of pairs, in the form of an operator; see :class:`Operator`."""

    head, tail = 2, (1, 1, 1, 1)  # one record, of one step

    def __init__(self, made: JaxPairs, mode: str) -> None:
        self.made, self.mode = made, mode
        self.system, self.name, self.dtype = made.model, made.where, made.dtype
        self.key = made.key, mode
        last = [] if mode == _VALUE else [made.along[mode]]
        self.inputs: tuple[Shape, ...] = ((), (1,), *made.inputs.values(), *last)
        self.outputs: tuple[Shape, ...] = (made.outputs[mode],)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PairOperator) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"{self.name} of {self.system.name!r}"

    def jvp(self, by: tuple[int, ...]) -> PairOperator:
        """The operator (x…, d_q) -> rates of the distances."""
        return self._derivative(_RATE, by)

    def vjp(self, by: tuple[int, ...]) -> PairOperator:
        """The operator (x…, w) -> the gradient of w·distances with respect to q."""
        return self._derivative(_GRADIENT, by)

    def _derivative(self, mode: str, by: tuple[int, ...]) -> PairOperator:
        if self.mode != _VALUE or by != (_Q,):
            raise TraceError(
                f"{self.name}: the order of the derivative is 2, expected 1. For pairs with closed forms use "
                f"sixd.hessian of a function of your own."
            )
        return PairOperator(self.made, mode)

    def cpu_plan(self, rows: int) -> tuple[int, PlanReference]:
        """The key and a hold on the plan of the code."""
        return loop_plan(self.key, "pairs", lambda: self.made.code(self.mode, "cpu"))

    def cuda_plan(self, devices: list[int], rows: int) -> tuple[int, PlanReference]:
        """The key and a hold on the plan of the code for these GPUs, on which it is loaded."""
        return kernel_plan(self.name, self.key, "pairs", self.made.code(self.mode, "cuda"), devices, rows)
