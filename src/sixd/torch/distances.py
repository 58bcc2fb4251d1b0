"""``sixd.torch.distance`` and ``sixd.torch.min_distance``: signed distances of tensors, with first derivatives.

The operator ``sixd::distance`` runs the compiled code of pairs; its gradient and its rate are the same operator in
another mode.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from sixd.collision.derivative_code import DerivativeKind, derivative_code
from sixd.collision.pair_code import ALONE, LEAST, PairCode, pair_code
from sixd.collision.pair_query import fixed_placements
from sixd.collision.solids import SolidPairs, solid_pairs
from sixd.engine.targets import cpu, cuda
from sixd.errors import TraceError
from sixd.model.memo import remember
from sixd.model.model import Model, require_model
from sixd.runtime.arrays.registry import library_of
from sixd.runtime.cuda.device import device as gpu
from sixd.torch.operators import Handled, handled, keep
from sixd.torch.tensors import NAMES, Shape, as_tensor, batch_of, kind_of, mapped, summed_to
from sixd.torch.transforms import Tensors, define, transformed

_VALUE, _RATE, _GRADIENT = 0, 1, 2  # modes of the operator: distances, (q, placements, direction), (…, weights)
_ENDLESS = 1e15  # m, the margin of the least distance


def distance(model: Model, q: Any, pairs: Any = None, *, placements: Mapping[str, Any] | None = None) -> torch.Tensor:
    """Signed distances (…, n) of pairs of collision shapes: ``sixd.distance`` on tensors, with gradients.

    Parameters
    ----------
    q : (…, nq) configurations.
    pairs : as for ``sixd.distance``.
    placements : {shape: pose (4, 4)}, numbers that hold for all states, without gradients.

    Notes
    -----
    Tensors of float32 or float64, on the CPU or on a GPU. First derivatives with respect to q, which have nq entries,
    forward and in reverse; second ones raise an error. Nearest points and normals have no gradients: use
    ``sixd.distance(model, q.detach())``.
    """
    return _evaluate("distance", model, q, pairs, placements, least=False)


def min_distance(
    model: Model, q: Any, pairs: Any = None, *, placements: Mapping[str, Any] | None = None
) -> torch.Tensor:
    """The least signed distance (…) of all pairs: ``sixd.min_distance`` on tensors; see ``distance``.

    Where several pairs have the least distance, the gradient is the mean of theirs.
    """
    return _evaluate("min_distance", model, q, pairs, placements, least=True)


def _evaluate(where: str, model: Model, q: Any, pairs: Any, placements: Any, *, least: bool) -> torch.Tensor:
    dtype, device = kind_of(where, (q,))
    if torch.compiler.is_compiling():
        handle, nq, poses = _constant_facts(id(model), where, pairs, placements, least, NAMES[dtype])
    else:
        handle, nq, poses = _facts(model, where, pairs, placements, least, NAMES[dtype])
    rows = as_tensor(where, "q", q, (nq,), dtype, device)
    fixed = torch.as_tensor(poses, dtype=dtype, device=device)
    return run([rows, fixed], handle, _VALUE)[0]


def _facts(model: Model, where: str, pairs: Any, placements: Any, least: bool, dtype: str) -> tuple[Any, ...]:
    """The handle of distances, nq, and the placements of the solids."""
    require_model(where, model)
    solids = solid_pairs(where, model, pairs)
    key = "torch distances", solids.key, least, dtype
    made = remember(model, key, lambda: TorchDistances(where, model, solids, least, dtype))
    return made.handle, model.nq, fixed_placements(where, model, solids, placements)


@torch.compiler.assume_constant_result
def _constant_facts(address: int, *key: Any) -> tuple[Any, ...]:
    found = _facts(ctypes.cast(address, ctypes.py_object).value, *key)
    keep(handled(found[0]))
    return found


class TorchDistances(Handled):
    """Distances of pairs of a model, or the least one, on tensors q (…, nq), placements (n, 12), and in modes other
    than the first a direction (…, nq) or weights (…, pairs), (…) of the least."""

    def __init__(self, where: str, model: Model, solids: SolidPairs, least: bool, dtype: str) -> None:
        super().__init__(model)
        self.where, self.solids, self.least, self.dtype = where, solids, least, dtype
        self.cores: dict[int, Shape] = {_VALUE: () if least else (len(solids.pairs),)}
        self.kinds = {mode: DerivativeKind(mode == _RATE, least, True) for mode in (_RATE, _GRADIENT)}
        self.cores |= {mode: kind.result(model, len(solids.pairs)) for mode, kind in self.kinds.items()}

    def dimensions(self, mode: int) -> tuple[int, ...]:
        """The numbers of core dimensions of the tensors."""
        if mode == _VALUE:
            return 1, 2
        return 1, 2, len(self.kinds[mode].along(self.system, len(self.solids.pairs)))  # type: ignore[arg-type]

    def batch(self, tensors: Sequence[torch.Tensor], mode: int) -> tuple[int, ...]:
        """The shape of the batch."""
        return batch_of(("q", "placements", "the weights")[: len(tensors)], tensors, self.dimensions(mode))

    def __call__(self, tensors: Sequence[torch.Tensor], mode: int) -> torch.Tensor:
        """The distances, rates or gradients."""
        q, batch = tensors[0], self.batch(tensors, mode)
        rows, core = math.prod(batch), self.cores[mode]
        if not rows or not self.solids.pairs:
            return q.new_full((*batch, *core), math.inf if mode == _VALUE else 0.0)
        given: list[torch.Tensor] = []
        for x, n in zip(tensors, self.dimensions(mode), strict=True):
            own = x.shape[x.ndim - n :]
            every = batch if len(given) != 1 or x.ndim > n else (1,)
            given.append(x.detach().expand((*every, *own)).reshape((math.prod(every), *own)).contiguous())
        return self._run(given, mode, q.device).reshape((*batch, *core))

    def _run(self, tensors: list[torch.Tensor], mode: int, place: torch.device) -> torch.Tensor:
        if place.type == "cpu":
            code, arrays = self._code(mode, cpu), [x.numpy() for x in tensors]
            own = [np.full(1, _ENDLESS, self.dtype)] if mode == _VALUE and self.least else []
            return torch.from_numpy(code.run(np.ones(1), [*arrays, *own, *code.shared])[0][:, 0])
        number = torch.cuda.current_device() if place.index is None else place.index
        code, like = self._code(mode, cuda(gpu(self.where, number).architecture)), tensors[0]
        margin = [like.new_full((1,), _ENDLESS)] if mode == _VALUE and self.least else []
        shared = code.shared_on(library_of(like), like, number)
        return code.run(np.ones(1), [*tensors, *margin, *shared])[0][:, 0]

    def _code(self, mode: int, target: Any) -> PairCode:
        model: Any = self.system
        if mode != _VALUE:
            return derivative_code(self.where, model, self.solids, self.kinds[mode], self.dtype, target)
        what, guard = (LEAST, "least") if self.least else (ALONE, "")
        return pair_code(self.where, model, self.solids, what, guard, self.dtype, target)


# the operator -------------------------------------------------------------------------------------


def _results(arrays: Sequence[torch.Tensor], handle: int, mode: int) -> list[torch.Tensor]:
    return [handled(handle)(arrays, mode)]


def _shapes(arrays: Sequence[torch.Tensor], handle: int, mode: int) -> list[torch.Tensor]:
    made = handled(handle)
    return [arrays[0].new_empty((*made.batch(arrays, mode), *made.cores[mode]))]


operator = define("distance(Tensor[] arrays, int handle, int mode) -> Tensor[]", _results, _shapes)


def _remember(ctx: Any, arrays: Tensors, facts: tuple[Any, ...], results: Tensors) -> None:
    ctx.made = handled(facts[0])
    ctx.alive = ctx.made.system  # until the gradient was computed
    ctx.save_for_backward(*arrays)
    ctx.save_for_forward(*arrays)


def _require_first(ctx: Any) -> None:
    if ctx.facts[1] != _VALUE:
        raise TraceError(
            f"sixd.torch.{ctx.made.where}: the order of the derivative is 2, expected 1. Detach the gradient, or for "
            f"pairs with closed forms use sixd.hessian of a function of your own."
        )


def _gradient(ctx: Any, needed: Sequence[bool], weights: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
    _require_first(ctx)
    q, placed = ctx.saved_tensors
    found = run([q, placed, weights[0]], ctx.facts[0], _GRADIENT)[0]
    return [summed_to(found, q.shape), None]


def _rates(ctx: Any, rates: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
    _require_first(ctx)
    q, placed = ctx.saved_tensors
    assert rates[0] is not None
    return run([q, placed, rates[0].expand_as(q)], ctx.facts[0], _RATE)


def _mapped(size: int, dims: Sequence[int | None], arrays: Sequence[torch.Tensor], facts: tuple[Any, ...]) -> list[Any]:
    return run(mapped(size, arrays, dims, handled(facts[0]).dimensions(facts[1])), *facts)


run = transformed(operator, _remember, _gradient, _mapped, _rates)
