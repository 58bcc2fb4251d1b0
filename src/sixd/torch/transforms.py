"""Rules of operators: gradients and vmap, for autograd, torch.compile and the transforms of torch.func.

Operators of PyTorch with registered gradients are not taken by ``torch.func.grad``, ``jacrev`` and ``jvp``; its
class of functions is, but torch.compile takes operators better. So there are both, with the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Tensors = Sequence[torch.Tensor]


def transformed(
    operator: Any,
    remember: Callable[[Any, Tensors, tuple[Any, ...], Tensors], None],
    gradient: Callable[[Any, Sequence[bool], Tensors], list[torch.Tensor | None]],
    mapped: Callable[[int, Sequence[int | None], Tensors, tuple[Any, ...]], list[Any]],
    slope: Callable[[Any, Sequence[torch.Tensor | None]], list[torch.Tensor]] | None = None,
) -> Callable[..., list[torch.Tensor]]:
    """Give ``operator(arrays, *facts)`` its rules, and return it as a function that transforms of torch.func take, too.

    ``remember(ctx, arrays, facts, results)`` keeps what ``gradient(ctx, needed, weights)`` needs, which returns the
    gradients of the arrays; ``mapped(size, dims, arrays, facts)`` returns results with the mapped dimension first;
    ``slope(ctx, rates)`` returns the rates of the results.
    """

    def backward(ctx: Any, weights: Tensors) -> tuple[Any, ...]:
        return gradient(ctx, ctx.needs_input_grad[0], weights), *(None for _ in ctx.facts)

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
        arrays, *facts = inputs
        ctx.facts = tuple(facts)
        remember(ctx, arrays, ctx.facts, output)

    def vmap(info: Any, in_dims: Any, arrays: Tensors, *facts: Any) -> tuple[Any, Any]:
        found = mapped(info.batch_size, in_dims[0], arrays, facts)
        return found, [0] * len(found)

    operator.register_autograd(backward, setup_context=setup)
    operator.register_vmap(vmap)

    class Transformed(torch.autograd.Function):
        @staticmethod
        def forward(facts: tuple[Any, ...], *arrays: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(operator(list(arrays), *facts))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
            facts, *arrays = inputs
            ctx.facts = facts
            remember(ctx, arrays, facts, output)

        @staticmethod
        def backward(ctx: Any, *weights: torch.Tensor) -> Any:
            return None, *gradient(ctx, ctx.needs_input_grad[1:], weights)

        @staticmethod
        def jvp(ctx: Any, _: Any, *rates: Any) -> Any:
            if slope is None:
                raise NotImplementedError("sixd.torch: this operator has no derivatives in forward mode.")
            return tuple(slope(ctx, rates))

        @staticmethod
        def vmap(info: Any, in_dims: Any, facts: tuple[Any, ...], *arrays: torch.Tensor) -> Any:
            found = tuple(mapped(info.batch_size, in_dims[1:], arrays, facts))
            return found, (0,) * len(found)

    def run(arrays: Tensors, *facts: Any) -> list[torch.Tensor]:
        if not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active():
            return list(Transformed.apply(facts, *arrays))
        return operator(arrays, *facts)

    return run
