"""The functions of the library on JAX arrays: arguments are checked, then an operator is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sixd.engine.functions import CHOICES, Function, Request, takes_time
from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.jax.operators import Operator, Shape, operator_of
from sixd.jax.primitives import bind, call_p
from sixd.model.model import Model
from sixd.model.system import System, require_system
from sixd.runtime.batch import common_batch
from sixd.spatial.scalar import is_zero

_FLOATS = (np.dtype("float32"), np.dtype("float64"))


def mirror(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the library on JAX arrays: the same arguments, but for ``out``."""
    declared: Function = function.declared  # type: ignore[attr-defined]
    whole = inspect.signature(function)
    signature = whole.replace(parameters=[p for p in whole.parameters.values() if p.name != "out"])
    names = [name for name in list(signature.parameters)[1:] if name != "f_ext" and name not in CHOICES]
    first = next(iter(signature.parameters))

    def mirrored(*args: Any, **options: Any) -> Any:
        try:
            given = signature.bind(*args, **options)
        except TypeError as error:
            raise TypeError(f"sixd.jax.{declared.name}: {error}") from None
        given.apply_defaults()
        found = given.arguments
        system = found[first]
        require_system(f"sixd.jax.{declared.name}", system)
        arrays = [found[name] for name in names if name != "t" or takes_time(system)]
        choices = tuple(found[name] for name in declared.choices)
        return evaluate(declared, system, choices, arrays, found.get("f_ext"))

    mirrored.__name__ = mirrored.__qualname__ = declared.name
    mirrored.__doc__ = f"{function.__doc__}\n\n    On JAX arrays, without ``out``: see ``sixd.jax``.\n    "
    mirrored.__signature__ = signature  # type: ignore[attr-defined]
    mirrored.__module__ = "sixd.jax"
    return mirrored


def evaluate(declared: Function, system: System, choices: tuple[Any, ...], arrays: list[Any], f_ext: Any) -> Any:
    """The results of a declared function; ``choices`` as passed, in its own order."""
    function = declared.for_system(system)
    where = f"sixd.jax.{function.name}"
    function.require_numeric(where, system)
    if function.needs_mass and isinstance(system, Model) and is_zero(system.mass):
        raise ModelError(f"{where}: model {system.name!r} has no mass, so no centre of mass. Give its bodies a mass.")
    checked = function.check_choices(system, choices)
    names = [*function.arrays, *(["point"] if len(arrays) > len(function.arrays) else [])]
    values = [
        None if x is None and name not in function.arrays else as_array(where, name, x)
        for name, x in zip(names, arrays, strict=True)
    ]
    if function.adapt is not None:
        function, values = _adapt(function, system, checked, values)
    if f_ext is not None:
        values.append(as_array(where, "f_ext", f_ext))
    dtype = common_dtype(values)
    request = Request(function, checked, dtype, f_ext is not None)
    results = call(where, operator_of(system, request), request.arrays, values)
    return function.pack(tuple(results)) if len(results) > 1 else results[0]


def _adapt(
    function: Function, system: System, choices: tuple[Any, ...], arrays: list[Any]
) -> tuple[Function, list[Any]]:
    """The variant of a function for these arrays; entries of arrays that it ignores are set to zero."""
    ones = tuple(None if x is None else np.ones(x.shape) for x in arrays)
    assert function.adapt is not None
    variant, kept = function.adapt(function, system, choices, ones)
    used = [x for x in arrays if x is not None]
    return variant, [
        x if np.all(one) else jnp.where(np.asarray(one) != 0, x, 0) for x, one in zip(used, kept, strict=True)
    ]


def as_array(where: str, name: str, value: Any) -> Any:
    """The argument as a JAX array of floats."""
    if isinstance(value, jax.Array) and value.dtype in _FLOATS:  # 100 us less of three arguments
        return value
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise ScalarTypeError(f"{where}: {name} is {value!r:.60}, expected an array of numbers ({error}).") from None
    if array.dtype.kind in "iub":
        return array.astype(jnp.result_type(float))
    if array.dtype not in _FLOATS:
        raise ScalarTypeError(
            f"{where}: {name} holds {array.dtype}, expected float32, or float64 after "
            f'jax.config.update("jax_enable_x64", True).'
        )
    return array


def common_dtype(arrays: list[Any]) -> str:
    """The dtype in which functions of these arrays are computed."""
    found = {x.dtype for x in arrays}
    return str(found.pop() if len(found) == 1 else jnp.result_type(*arrays) if arrays else jnp.result_type(float))


def call(where: str, operator: Operator, names: tuple[str, ...], arrays: list[Any]) -> list[Any]:
    """The results of an operator for arrays whose leading dimensions broadcast."""
    leading: list[Shape] = []
    for name, x, core in zip(names, arrays, operator.inputs, strict=True):
        split = x.ndim - len(core)
        if split < 0 or x.shape[split:] != core:
            expected = f"(..., {', '.join(map(str, core))})" if core else "(...)"
            raise ShapeError(
                f"{where}: {name} has shape {x.shape}, expected {expected} for model {operator.system.name!r}."
            )
        leading.append(x.shape[:split])
    batch = common_batch(where, names, leading)

    def fit(x: Any, shape: Shape, core: Shape) -> Any:
        if x.dtype != operator.dtype:
            x = x.astype(operator.dtype)
        if shape == batch:
            return x
        # one value for all states is not repeated in memory
        return x.reshape(core) if all(n == 1 for n in shape) else jnp.broadcast_to(x, batch + core)

    given = [fit(*each) for each in zip(arrays, leading, operator.inputs, strict=True)]
    if batch and not any(x.shape[: x.ndim - len(core)] for x, core in zip(given, operator.inputs, strict=True)):
        results = bind(call_p, *given, operator=operator)
        return [y.reshape(batch + core) for y, core in zip(results, operator.outputs, strict=True)]
    return bind(call_p, *given, operator=operator)
