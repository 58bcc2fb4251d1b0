"""Functions of a system on batches of states, each row with its own values of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sixd.engine.evaluate import evaluate
from sixd.engine.functions import Function
from sixd.engine.kernel import Kernel
from sixd.engine.parameters import parameter_shape, with_parameters
from sixd.model.system import System
from sixd.spatial.scalar import Array


def batched(
    where: str, function: Function, system: System, parameters: Sequence[str], dtype: str
) -> Callable[..., Any]:
    """Return ``f(*arrays, *values)`` of arrays (…, core) and of values (…, core) of the named parameters.

    Without parameters the compiled code is kept with the system, so the function should be defined once in a module;
    with parameters it is traced here.
    """
    if not parameters:
        return lambda *arrays: evaluate(function, system, (), arrays)
    count = len(function.arrays)

    def algorithm(model: System, *row: Array) -> Any:
        own, values = row[:count], dict(zip(parameters, row[count:], strict=True))
        return function.row(with_parameters(model, values), (), own)

    # names with a blank, as a model's symbol may be called p
    cores = {f"the {name}": function.core(system, name) for name in function.arrays}
    cores |= {name: parameter_shape(where, system, name) for name in parameters}
    made = Function(function.name, algorithm, tuple(cores), named=False, judged=False, shapes=cores)
    return Kernel(made, system, (), dtype)
