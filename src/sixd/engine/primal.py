"""Functions to be differentiated: their inputs and results in a trace, and the kernels of derivatives.

The function is traced, and the operations of its derivative are added to the same graph, forward or in reverse.
Whatever compiles can be differentiated, by its arrays and by parameters of the model.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sixd.engine.artifact import trace_request
from sixd.engine.functions import Function, Request, Shape, dtype_of_trace
from sixd.engine.kernel import Kernel
from sixd.engine.parameters import with_parameters
from sixd.engine.request import make_request
from sixd.errors import ScalarTypeError, unknown_name
from sixd.model.system import System
from sixd.spatial.scalar import is_sympy, object_array
from sixd.trace import derivative
from sixd.trace.expr import Expr, Graph
from sixd.trace.ops import Op
from sixd.trace.program import require_numbers
from sixd.trace.replay import replay

_CONFIGURATION: Shape = ("nq",)
Row = dict[str, Any]  # the inputs of a function by name


class Primal(NamedTuple):
    """A function to be differentiated: its request, names of inputs, of those differentiated by, of parameters.

    ``ambient``: configurations are arrays like others, so that derivatives are with respect to their nq
    entries, not to velocities.
    """

    request: Request
    names: tuple[str, ...]
    by: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    ambient: bool = False

    def shapes(self) -> dict[str, Shape]:
        """Core shapes of the inputs."""
        return {name: self.request.function.shape(name) for name in self.names}

    def tangent_shape(self, name: str) -> Shape:
        """Core shape of a direction, or of a gradient, for one of the inputs."""
        return ("nv",) if self._is_configuration(name) else self.request.function.shape(name)

    def _is_configuration(self, name: str) -> bool:
        return not self.ambient and self.request.function.shape(name) == _CONFIGURATION

    def results(self, model: System, graph: Graph, x: Row, f_ext: Any) -> list[tuple[tuple[int, ...], list[Expr]]]:
        """Run the function: the shape and the entries of each result."""
        function, choices, _, force, _ = self.request
        arrays = [_copy(x[name]) for name in function.arrays]
        found = function.row(model, choices, arrays, _copy(x["f_ext"]) if force else f_ext, graph.dtype)
        results = found if isinstance(found, tuple) else (found,)
        for result in results:
            require_numbers(result)
        return [(np.shape(result), list(graph.entries(result))) for result in results]

    def inputs(self, graph: Graph, x: Row) -> list[Expr]:
        """The scalars to differentiate by."""
        return [e for name in self.by for e in graph.entries(x[name])]

    def rates(self, model: System, graph: Graph, x: Row, along: Row) -> list[Any]:
        """The rates of these scalars along directions by name, those of configurations in the tangent space."""
        system = self._system(model, x)
        found: list[Any] = []
        for name in self.by:
            is_q = self._is_configuration(name)
            rate = system.configuration_rate(x[name], along[name]) if is_q else along[name]
            found.extend(graph.entries(rate))
        return found

    def pulled(self, model: System, graph: Graph, x: Row, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """The gradients of the inputs, in the tangent space, from those with respect to these scalars."""
        system, at = self._system(model, x), iter(gradients)
        found: list[Any] = []
        for name in self.by:
            own = [next(at) for _ in graph.entries(x[name])]
            if self._is_configuration(name):
                # a linear function of the velocity: its transpose does not depend on that
                velocity = graph.input("velocity of a gradient", (system.nv,))
                rate = graph.entries(system.configuration_rate(x[name], velocity))
                own = derivative.vjp(rate, graph.entries(velocity), own)
                found.append(shaped(own, (system.nv,)))
            else:
                found.append(shaped(own, np.shape(x[name])))
        return tuple(found)

    def directions(self, model: System, x: Row) -> list[Row]:
        """The unit directions of all the inputs to differentiate by, each by name."""
        zero = {n: np.zeros(model.nv if self._is_configuration(n) else np.shape(x[n]), dtype=int) for n in self.by}
        units = [
            (n, np.eye(1, zero[n].size, k, dtype=int).reshape(zero[n].shape))
            for n in self.by
            for k in range(zero[n].size)
        ]
        return [{**zero, n: unit} for n, unit in units]

    def _system(self, model: System, x: Row) -> System:
        return with_parameters(model, {name: x[name] for name in self.parameters}) if self.parameters else model


# the arguments ----------------------------------------------------------------------------------


def make_primal(
    where: str,
    function: Any,
    model: System,
    dtype: str | None,
    by: str | Sequence[str] | None,
    parameters: Sequence[str],
    shapes: Mapping[str, tuple[int, ...]] | None,
    static: dict[str, Any],
) -> Primal:
    """The function of a call of ``sixd.jvp`` and the like, whose arguments are checked here."""
    force = static.pop("f_ext", None)
    if force is not None and not isinstance(force, (bool, np.bool_)):
        raise ScalarTypeError(f"{where}: f_ext is {force!r:.60}, expected True to make the forces an input, or False.")
    request = make_request(where, function, model, "cpu", dtype, parameters, shapes, static)
    own = request.function
    if force and "f_ext" not in own.arrays:
        if not own.force:
            raise ScalarTypeError(f"{where}: f_ext was passed, but {own.name} takes no external forces.")
        request = request._replace(force=True)
    names = request.arrays
    if not names:
        raise ScalarTypeError(f"{where}: {own.name} has no inputs, expected some to differentiate by.")
    if by is not None and not isinstance(by, Iterable):
        raise ScalarTypeError(f"{where}: by is {by!r}, expected names of inputs: {', '.join(names)}.")
    chosen = names if by is None else (by,) if isinstance(by, str) else tuple(by)
    for name in chosen:
        if name not in names:
            raise unknown_name(f"{where}: by", "input", name, names)
    if not chosen or len(set(chosen)) != len(chosen):
        raise ScalarTypeError(f"{where}: by is {by!r}, expected names of inputs, each once: {', '.join(names)}.")
    return Primal(request, names, chosen, tuple(parameters))


def fresh_names(primal: Primal, names: list[str]) -> list[str]:
    """The names, with _ added to those that the function itself uses."""
    for k in range(len(names)):
        while names[k] in (*primal.names, *names[:k], *names[k + 1 :]):
            names[k] += "_"
    return names


def weight_shapes(primal: Primal, model: System) -> dict[str, Shape]:
    """Names and core shapes of weights, one for each result: the function is traced for that."""
    outputs = trace_request(model, primal.request).outputs
    names = ["w"] if len(outputs) == 1 else [f"w{k}" for k in range(len(outputs))]
    return {name: slot.shape for name, slot in zip(fresh_names(primal, names), outputs, strict=True)}


# the kernel -------------------------------------------------------------------------------------


class Derived(NamedTuple):
    """A derivative, ``one(model, graph, x, rest, f_ext)``: x the inputs of the function, rest those named in extra."""

    kind: str
    primal: Primal
    one: Callable[[System, Graph, Row, Sequence[Any], Any], tuple[Any, ...]]
    extra: Mapping[str, Shape]
    result: type | None


def make_kernel(derived: Derived, model: System, dtype: str | None) -> Kernel:
    """The kernel of a derivative; ``dtype`` as for ``compile``."""
    return Kernel(request_of(derived), model, by_arguments=dtype is None)


def request_of(derived: Derived) -> Request:
    """The request of a derivative."""
    kind, primal, one, extra, result = derived
    own, count = primal.request.function, len(primal.names)

    def algorithm(model: System, *row: Any, f_ext: Any = None) -> Any:
        scalars = list(scalars_of(row if f_ext is None else (*row, f_ext)))
        if any(map(is_sympy, scalars)):
            raise ScalarTypeError(f"{made.name}: got SymPy expressions, expected numbers. Differentiate by SymPy.")
        if not _are_inputs(scalars):
            request = Request(made, (), dtype_of_trace(row), f_ext is not None)
            return _only(replay(trace_request(model, request), row if f_ext is None else (*row, f_ext)))
        x = dict(zip(primal.names, row, strict=False))
        graph = scalars[0].graph if scalars else Graph()  # none of a model without degrees of freedom
        before, graph.implicit = graph.implicit, True
        try:
            found = one(model, graph, x, row[count:], f_ext)
        finally:
            graph.implicit = before
        return _only(resolved_results(found))

    made = Function(
        f"{own.name}_{kind}",
        algorithm,
        (*primal.names, *extra),
        {**primal.shapes(), **extra},
        force=own.force and not primal.request.force,
        needs_mass=own.needs_mass,
        named=False,
        own=own.own,
        check_finite=False,
        result=result,
    )
    return primal.request._replace(function=made, choices=(), force=False)


def scalars_of(row: Sequence[Any]) -> Iterator[Any]:
    """The scalars of all the arrays."""
    return (e for array in row for e in np.asarray(array, dtype=object).ravel())


def _are_inputs(scalars: Sequence[Any]) -> bool:
    """Whether all are inputs of one trace, each once: variables to differentiate by."""
    if not all(isinstance(e, Expr) and e.op is Op.INPUT for e in scalars):
        return False
    return len({id(e) for e in scalars}) == len(scalars)


def resolved_results(results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results without held values."""
    arrays = [np.asarray(y, dtype=object) for y in results]
    at = iter(derivative.resolved(list(scalars_of(arrays))))
    return tuple(shaped([next(at) for _ in range(a.size)], a.shape) for a in arrays)


def _copy(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def shaped(entries: list[Any], shape: tuple[int, ...]) -> Any:
    """An array of these scalars, or the only one."""
    return object_array(entries, shape) if shape else entries[0]


def _only(results: tuple[Any, ...]) -> Any:
    return results if len(results) > 1 else results[0]


@cache
def gradients_class(fields: tuple[str, ...]) -> type | None:
    """The class of several gradients, with a field for each input."""
    if len(fields) < 2:
        return None
    plain = namedtuple("Gradients", fields, rename=True)  # type: ignore[misc]
    # a class made now is not found by its name, so that pickles keep its fields
    return type("Gradients", (plain,), {"__slots__": (), "__reduce__": lambda self: (_gradients, (fields, (*self,)))})


def _gradients(fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """Gradients from a pickle."""
    made = gradients_class(fields)
    assert made is not None
    return made(*values)
