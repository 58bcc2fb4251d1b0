"""Rules of operators: gradients and vmap, for autograd, torch.compile and the transforms of torch.func.

``torch.func.grad``, ``jacrev`` and ``jvp`` do not accept operators of PyTorch with registered gradients, and gradients
of operators take 0.3 ms of Python. These transforms accept PyTorch's class of functions, which is faster, while
torch.compile supports operators better. Therefore both exist, with the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Tensors = Sequence[torch.Tensor]
_LIBRARY = torch.library.Library("sixd", "FRAGMENT")


def define(schema: str, kernel: Callable[..., Any], fake: Callable[..., Any]) -> Any:
    """Define an operator of sixd by its schema and its work, for real tensors and for those that have a shape alone."""
    _LIBRARY.define(schema, tags=torch.Tag.pt2_compliant_tag)
    name = schema.partition("(")[0]
    _LIBRARY.impl(name, kernel, "CompositeExplicitAutograd")
    torch.library.register_fake(f"sixd::{name}", fake, lib=_LIBRARY)
    return getattr(torch.ops.sixd, name).default


def transformed(
    operator: Any,
    remember: Callable[[Any, Tensors, tuple[Any, ...], Tensors], None],
    gradient: Callable[[Any, Sequence[bool], Tensors], list[torch.Tensor | None]],
    mapped: Callable[[int, Sequence[int | None], Tensors, tuple[Any, ...]], list[Any]],
    derivative: Callable[[Any, Sequence[torch.Tensor | None]], list[torch.Tensor]] | None = None,
) -> Callable[..., list[torch.Tensor]]:
    """Give ``operator(arrays, *facts)`` its rules, and return it as a function that transforms of torch.func take, too.

    ``remember(ctx, arrays, facts, results)`` keeps what ``gradient(ctx, needed, weights)`` needs, which returns the
    gradients of the arrays; ``mapped(size, dims, arrays, facts)`` returns results with the mapped dimension first;
    ``derivative(ctx, rates)`` returns the rates of the results.
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

    torch.library.register_autograd(operator.name(), backward, setup_context=setup, lib=_LIBRARY)
    torch.library.register_vmap(operator.name(), vmap, lib=_LIBRARY)

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, facts: tuple[Any, ...], *arrays: torch.Tensor) -> tuple[torch.Tensor, ...]:
            ctx.facts, results = facts, tuple(operator(arrays, *facts))
            remember(ctx, arrays, facts, results)
            return results

        @staticmethod
        def backward(ctx: Any, *weights: torch.Tensor) -> Any:
            return None, *gradient(ctx, ctx.needs_input_grad[1:], weights)

    # with a method of its own for what is kept, as transforms need it, each call takes 30 us more
    class Transformed(torch.autograd.Function):
        @staticmethod
        def forward(facts: tuple[Any, ...], *arrays: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(operator(arrays, *facts))

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
            if derivative is None:
                raise NotImplementedError("sixd.torch: this operator has no derivatives in forward mode.")
            return tuple(derivative(ctx, rates))

        @staticmethod
        def vmap(info: Any, in_dims: Any, facts: tuple[Any, ...], *arrays: torch.Tensor) -> Any:
            found = tuple(mapped(info.batch_size, in_dims[1:], arrays, facts))
            return found, (0,) * len(found)

    def run(arrays: Tensors, *facts: Any) -> list[torch.Tensor]:
        if torch.compiler.is_compiling():
            return operator(arrays, *facts)
        if torch._C._are_functorch_transforms_active():
            return list(Transformed.apply(facts, *arrays))
        if torch.is_grad_enabled() and any(x.requires_grad for x in arrays):
            return list(Plain.apply(facts, *arrays))
        return operator(arrays, *facts)

    return run
