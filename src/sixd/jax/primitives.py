"""Two primitives of JAX: the call of an operator, and its derivative along directions, which is linear in these.

The derivative's transpose is a call of the operator of gradients; both are operators again, so that derivatives of any
order are compiled code, and jit, vmap, grad, jvp and their compositions follow from the rules below.

Each array has the core shape, one for all states, or has all the leading dimensions of the results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from sixd.jax.handlers import TARGETS, register
from sixd.jax.operators import Operator, Shape
from sixd.runtime.xla import PlanReference, call_plan

_KEPT = 512  # operators that are called outside of jit, whose programs are kept

call_p = Primitive("sixd_call")
linear_p = Primitive("sixd_linear")
call_p.multiple_results = linear_p.multiple_results = True


# shapes -----------------------------------------------------------------------------------------


def _cores(operator: Operator, by: tuple[int, ...] = ()) -> list[Shape]:
    """The core shapes of the operands."""
    return [*operator.inputs, *(operator.inputs[k] for k in by)]


def _batch(shapes: Sequence[Shape], cores: Sequence[Shape]) -> Shape:
    """The leading dimensions of the results."""
    leading = [shape[: len(shape) - len(core)] for shape, core in zip(shapes, cores, strict=True)]
    return max(leading, key=len, default=())


def _abstract(*operands: Any, operator: Operator, by: tuple[int, ...] = ()) -> list[Any]:
    batch = _batch([x.shape for x in operands], _cores(operator, by))
    # inside of shard_map, results vary along the axes of the mesh that the operands vary along
    varying = next((x for x in operands if _axes(x)), None)

    def result(shape: Shape) -> Any:
        options = {}
        if varying is not None:
            whole = jax.sharding.NamedSharding(varying.sharding.mesh, jax.sharding.PartitionSpec(*[None] * len(shape)))
            options = {"manual_axis_type": varying.manual_axis_type, "sharding": whole}
        return jax.core.ShapedArray(shape, np.dtype(operator.dtype), **options)

    return [result(batch + core) for core in operator.outputs]


def _axes(aval: Any) -> frozenset[Any]:
    """The axes of a mesh along which an array varies, inside of shard_map."""
    return getattr(getattr(aval, "manual_axis_type", None), "varying", frozenset())


def bind(primitive: Any, *operands: Any, **options: Any) -> list[Any]:
    """Apply one of the primitives; inside of shard_map, all operands vary along the same axes."""
    found = [_axes(jax.typeof(x)) for x in operands]
    every = frozenset().union(*found)
    if every:
        missing = [tuple(every - own) for own in found]
        pairs = zip(operands, missing, strict=True)
        operands = tuple(jax.lax.pcast(x, axes, to="varying") if axes else x for x, axes in pairs)
    return list(primitive.bind(*operands, **options))


call_p.def_abstract_eval(_abstract)
linear_p.def_abstract_eval(_abstract)


# calls outside of jit ---------------------------------------------------------------------------


@lru_cache(_KEPT)
def _compiled(primitive: Any, operator: Operator, by: tuple[int, ...] | None) -> Any:
    options: dict[str, Any] = {} if by is None else {"by": by}
    return jax.jit(partial(primitive.bind, operator=operator, **options))


def clear_caches() -> None:
    """Drop the programs of calls outside of jit, at most 512, and with them the models that they hold.

    Those in jitted functions are JAX's: ``jax.clear_caches()``.
    """
    _compiled.cache_clear()


def _run(primitive: Any, *operands: Any, operator: Operator, by: tuple[int, ...] | None = None) -> Any:
    found = _compiled(primitive, operator, by)
    if not jax.config.jax_disable_jit:
        return found(*operands)
    with jax.disable_jit(False):  # there is no other way to run it
        return found(*operands)


call_p.def_impl(partial(_run, call_p))
linear_p.def_impl(partial(_run, linear_p))


# lowering ---------------------------------------------------------------------------------------


def _lower(platform: str, context: Any, *operands: Any, operator: Operator, by: tuple[int, ...] | None = None) -> Any:
    if by is not None:
        operator = operator.jvp(by)
    shapes = [x.shape for x in context.avals_in]
    rows = math.prod(_batch(shapes, operator.inputs))
    sizes = [
        0 if shape == core else math.prod(core) for shape, core in zip(shapes, operator.inputs, strict=True)
    ] + [math.prod(core) for core in operator.outputs]  # fmt: skip
    unit = np.dtype(operator.dtype).itemsize
    if not register(platform):
        return _lower_to_callback(context, operands, operator, rows, [unit * size for size in sizes])
    hold: PlanReference
    if platform == "cuda":
        devices = [d.local_hardware_id for d in jax.local_devices(backend="cuda")]
        number, hold = operator.cuda_plan(devices, rows)
        context = context.replace(avals_in=context.avals_in[operator.head :])
        operands, sizes, unit = operands[operator.head :], sizes[operator.head :], 1
    else:
        number, hold = operator.cpu_plan(rows)
    context.module_context.add_keepalive(hold)
    words = np.array([number, rows, *(unit * size for size in sizes), *operator.tail], dtype=np.int64)
    return jax.ffi.ffi_lowering(TARGETS[platform])(context, *operands, words=words)


def _lower_to_callback(
    context: Any, operands: Sequence[Any], operator: Operator, rows: int, steps: Sequence[int]
) -> Sequence[Any]:
    """A Python callback that calls the CPU's code: for versions of jaxlib whose call frames are unknown."""
    hold = operator.cpu_plan(rows)[1]

    def call(*arrays: Any) -> tuple[np.ndarray, ...]:
        results = tuple(np.empty(x.shape, x.dtype) for x in context.avals_out)
        call_plan(hold.plan, rows, steps, [*map(np.ascontiguousarray, arrays), *results])
        return results

    results, _, _ = mlir.emit_python_callback(
        context, call, None, operands, context.avals_in, context.avals_out, has_side_effect=False, returns_token=False
    )
    return results


for _primitive in (call_p, linear_p):
    for _platform in ("cpu", "cuda"):
        mlir.register_lowering(_primitive, partial(_lower, _platform), platform=_platform)


# vmap -------------------------------------------------------------------------------------------


def _vmap(
    primitive: Any, operands: Sequence[Any], axes: Sequence[Any], *, operator: Operator, by: tuple[int, ...] = ()
) -> Any:
    cores = _cores(operator, by)
    size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
    moved = [x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(operands, axes, strict=True)]
    inner = [x.shape if axis is None else x.shape[1:] for x, axis in zip(moved, axes, strict=True)]
    batch = _batch(inner, cores)

    def fit(x: Any, axis: Any, core: Shape) -> Any:
        if axis is None and x.shape == core:
            return x
        if axis is not None and x.shape[1:] == core:
            x = x.reshape((size,) + (1,) * len(batch) + core)
        return jnp.broadcast_to(x, (size, *batch, *core))

    given = [fit(*each) for each in zip(moved, axes, cores, strict=True)]
    results = bind(primitive, *given, operator=operator, **({"by": by} if primitive is linear_p else {}))
    return results, [0] * len(results)


batching.primitive_batchers[call_p] = partial(_vmap, call_p)
batching.primitive_batchers[linear_p] = partial(_vmap, linear_p)


# derivatives ------------------------------------------------------------------------------------


def _is_zero(tangent: Any) -> bool:
    return type(tangent) is ad.Zero


def _along(operator: Operator, operands: Sequence[Any], tangents: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """The tangents of the results of an operator, along those of its operands that are not zero."""
    by = tuple(k for k, t in enumerate(tangents) if not _is_zero(t))
    if not by:
        return [ad.Zero.from_primal_value(y) for y in results]
    found = bind(linear_p, *operands, *(tangents[k] for k in by), operator=operator, by=by)
    return [jnp.broadcast_to(d, y.shape) for d, y in zip(found, results, strict=True)]


def _jvp_of_call(operands: Sequence[Any], tangents: Sequence[Any], *, operator: Operator) -> Any:
    results = bind(call_p, *operands, operator=operator)
    return results, _along(operator, operands, tangents, results)


def _jvp_of_linear(operands: Sequence[Any], tangents: Sequence[Any], *, operator: Operator, by: tuple[int, ...]) -> Any:
    results = bind(linear_p, *operands, operator=operator, by=by)
    count = len(operator.inputs)
    if not all(map(_is_zero, tangents[:count])):
        return results, _along(operator.jvp(by), operands, tangents, results)
    kept = [k for k, t in enumerate(tangents[count:]) if not _is_zero(t)]
    directions: list[Any] = [ad.Zero.from_primal_value(x) for x in operands[:count]]
    for k in kept:
        directions[by[k]] = tangents[count + k]
    return results, _along(operator, operands[:count], directions, results)


def _transpose(weights: Sequence[Any], *operands: Any, operator: Operator, by: tuple[int, ...]) -> list[Any]:
    count = len(operator.inputs)
    x, directions = operands[:count], operands[count:]
    wanted = [k for k, d in enumerate(directions) if ad.is_undefined_primal(d)]
    found: list[Any] = [None] * len(operands)
    if all(map(_is_zero, weights)):
        for k in wanted:
            found[count + k] = ad.Zero(directions[k].aval)
        return found
    gradient = operator.vjp(tuple(by[k] for k in wanted))
    results = bind(call_p, *x, *map(ad.instantiate_zeros, weights), operator=gradient)
    for k, g in zip(wanted, results, strict=True):
        extra = g.ndim - len(directions[k].aval.shape)
        found[count + k] = g.sum(tuple(range(extra))) if extra else g
    return found


ad.primitive_jvps[call_p] = _jvp_of_call
ad.primitive_jvps[linear_p] = _jvp_of_linear
ad.primitive_transposes[linear_p] = _transpose
