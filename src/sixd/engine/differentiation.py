"""Derivatives of functions as kernels: ``sixd.jvp`` and ``sixd.vjp``.

The function is traced, and the operations of its derivative are added to the same graph, forward or in reverse.
Whatever compiles can be differentiated, by its arrays and by parameters of the model.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sixd.engine.artifact import trace_request
from sixd.engine.functions import Function, Request, Shape
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


class _Primal(NamedTuple):
    """A function to be differentiated: its request, the names of its inputs, of those to differentiate by, and of
    parameters."""

    request: Request
    names: tuple[str, ...]
    by: tuple[str, ...]
    parameters: tuple[str, ...]

    def shapes(self) -> dict[str, Shape]:
        """Core shapes of the inputs."""
        return {name: self.request.function.shape(name) for name in self.names}

    def slope_shape(self, name: str) -> Shape:
        """Core shape of a direction, or of a gradient, for one of the inputs."""
        return ("nv",) if self._is_configuration(name) else self.request.function.shape(name)

    def _is_configuration(self, name: str) -> bool:
        return self.request.function.shape(name) == _CONFIGURATION

    def results(self, model: System, graph: Graph, x: Row, f_ext: Any) -> list[tuple[tuple[int, ...], list[Expr]]]:
        """Run the function: the shape and the entries of each result."""
        function, choices, dtype, force, _ = self.request
        arrays = [_copy(x[name]) for name in function.arrays]
        found = function.row(model, choices, arrays, _copy(x["f_ext"]) if force else f_ext, dtype)
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

    def pulled(self, model: System, graph: Graph, x: Row, slopes: Sequence[Any]) -> tuple[Any, ...]:
        """The gradients of the inputs, in the tangent space, from the slopes by these scalars."""
        system, at = self._system(model, x), iter(slopes)
        found: list[Any] = []
        for name in self.by:
            own = [next(at) for _ in graph.entries(x[name])]
            if self._is_configuration(name):
                # a linear function of the velocity: its transpose does not depend on that
                velocity = graph.input("velocity of a gradient", (system.nv,))
                rate = graph.entries(system.configuration_rate(x[name], velocity))
                own = derivative.vjp(rate, graph.entries(velocity), own)
                found.append(_shaped(own, (system.nv,)))
            else:
                found.append(_shaped(own, np.shape(x[name])))
        return tuple(found)

    def _system(self, model: System, x: Row) -> System:
        return with_parameters(model, {name: x[name] for name in self.parameters}) if self.parameters else model


def jvp(
    function: Callable[..., Any] | Sequence[Callable[..., Any]],
    model: System,
    *,
    by: str | Sequence[str] | None = None,
    dtype: str = "float64",
    parameters: Sequence[str] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    **static: Any,
) -> Kernel:
    """A kernel of directional derivatives, (x…, dx…) -> dy: of a function's results, along directions of its inputs.

    Parameters
    ----------
    function, model, dtype, parameters, shapes, static : as for ``compile``.
    by : names of the inputs to differentiate by, arrays or parameters; all of them by default. The others are constant.
    f_ext : True makes the external forces (nb, 6) an input after the others. Otherwise the kernel takes ``f_ext=`` as
        the function does, and holds it fixed in the world.

    Returns
    -------
    A kernel that takes the inputs x of the function, then one direction for each name in ``by``, called ``d_q``,
    ``d_qd``, … (with _ added if the function has an input of that name), in the shape of the input; that of a
    configuration q has the shape (…, nv) of a velocity, and the derivative is along the motion with that velocity. It
    returns arrays in the shapes of the function's results.

    Where the function is not smooth, the slope is that of the branch taken; dry friction has slope 0. A kernel of
    derivatives returns inf or NaN where it divides by zero. It can be passed to ``compile``, ``export_c``, ``jvp`` and
    ``vjp`` in turn.

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> slope = sixd.jvp(sixd.inverse_dynamics, arm, by="q")
    >>> slope.inputs
    ('q', 'qd', 'qdd', 'd_q')
    >>> slope([0.3, 0.5], [1, -2], [0.4, 0.6], [1, 0]).round(6)
    array([0., 0.])
    """
    primal = _primal("jvp", function, model, dtype, by, parameters, shapes, static)
    names = _fresh_names(primal, [f"d_{name}" for name in primal.by])

    def one(model: System, graph: Graph, x: Row, rest: Sequence[Any], f_ext: Any) -> tuple[Any, ...]:
        results = primal.results(model, graph, x, f_ext)
        rates = primal.rates(model, graph, x, dict(zip(primal.by, rest, strict=True)))
        flat = derivative.jvp([e for _, es in results for e in es], primal.inputs(graph, x), rates)
        at = iter(flat)
        return tuple(_shaped([next(at) for _ in es], shape) for shape, es in results)

    cores = dict(zip(names, map(primal.slope_shape, primal.by), strict=True))
    return _kernel("jvp", primal, model, one, cores, primal.request.function.result)


def vjp(
    function: Callable[..., Any] | Sequence[Callable[..., Any]],
    model: System,
    *,
    by: str | Sequence[str] | None = None,
    dtype: str = "float64",
    parameters: Sequence[str] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    **static: Any,
) -> Kernel:
    """A kernel of gradients, (x…, w) -> gradients of the sum w·f(x) with respect to a function's inputs x.

    Parameters
    ----------
    function, model, by, dtype, parameters, shapes, static : as for ``jvp``.

    Returns
    -------
    A kernel that takes the inputs x of the function, then weights ``w`` in the shape of its result (``w0``, ``w1``, …
    if it has several). It returns a named tuple with a gradient for each name in ``by``, or just the gradient if there
    is one name. A gradient has the shape of its input, that by a configuration q the shape (…, nv): entry k is the
    derivative along the motion with the velocity e_k.

    The whole gradient costs about as much as two or three evaluations of the function, however many inputs there are.

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> gradient = sixd.vjp(sixd.inverse_dynamics, arm, parameters=("inertia",), by=("qdd", "inertia"))
    >>> gradient.inputs
    ('q', 'qd', 'qdd', 'inertia', 'w')
    >>> bodies = [sixd.Inertia.from_matrix(x).parameters for x in arm.inertia[1:]]
    >>> found = gradient([0.3, 0.5], [1, -2], [0.4, 0.6], bodies, [1, 0])
    >>> found.qdd.shape, found.inertia.shape
    ((2,), (2, 10))
    """
    primal = _primal("vjp", function, model, dtype, by, parameters, shapes, static)
    weights = _weights(primal, model)

    def one(model: System, graph: Graph, x: Row, rest: Sequence[Any], f_ext: Any) -> tuple[Any, ...]:
        return _gradients(primal, model, graph, x, rest, f_ext)

    return _kernel("vjp", primal, model, one, weights, _named(primal.by))


def _gradients(
    primal: _Primal, model: System, graph: Graph, x: Row, weights: Sequence[Any], f_ext: Any
) -> tuple[Any, ...]:
    outputs = [e for _, es in primal.results(model, graph, x, f_ext) for e in es]
    flat = [e for w in weights for e in graph.entries(w)]
    return primal.pulled(model, graph, x, derivative.vjp(outputs, primal.inputs(graph, x), flat))


# the arguments ----------------------------------------------------------------------------------


def _primal(
    where: str,
    function: Any,
    model: System,
    dtype: str,
    by: str | Sequence[str] | None,
    parameters: Sequence[str],
    shapes: Mapping[str, tuple[int, ...]] | None,
    static: dict[str, Any],
) -> _Primal:
    force = static.pop("f_ext", None) not in (None, False)
    request = make_request(where, function, model, "cpu", dtype, parameters, shapes, static)
    own = request.function
    own.require_numeric(f"{where}: {own.name}", model)
    if own.check is not None:
        raise ScalarTypeError(f"{where}: {own.name} checks its results one by one, so it cannot be differentiated.")
    if force and "f_ext" not in own.arrays:
        if not own.force:
            raise ScalarTypeError(f"{where}: f_ext was given, but {own.name} takes no external forces.")
        request = request._replace(force=True)
    names = request.arrays
    chosen = names if by is None else (by,) if isinstance(by, str) else tuple(by)
    for name in chosen:
        if name not in names:
            raise unknown_name(f"{where}: by", "input", name, names)
    if not chosen or len(set(chosen)) != len(chosen):
        raise ScalarTypeError(f"{where}: by is {by!r}, expected names of inputs, each once: {', '.join(names)}.")
    return _Primal(request, names, chosen, tuple(parameters))


def _fresh_names(primal: _Primal, names: list[str]) -> list[str]:
    """The names, with _ added to those that the function itself uses."""
    for k in range(len(names)):
        while names[k] in (*primal.names, *names[:k], *names[k + 1 :]):
            names[k] += "_"
    return names


def _weights(primal: _Primal, model: System) -> dict[str, Shape]:
    """Names and core shapes of weights, one for each result: the function is traced for that."""
    outputs = trace_request(model, primal.request).outputs
    names = ["w"] if len(outputs) == 1 else [f"w{k}" for k in range(len(outputs))]
    return {name: slot.shape for name, slot in zip(_fresh_names(primal, names), outputs, strict=True)}


# the kernel -------------------------------------------------------------------------------------


def _kernel(
    kind: str,
    primal: _Primal,
    model: System,
    one: Callable[[System, Graph, Row, Sequence[Any], Any], tuple[Any, ...]],
    extra: Mapping[str, Shape],
    result: type | None,
) -> Kernel:
    """The kernel of ``one(model, graph, x, rest, f_ext)``: x the inputs of the function, rest those named in extra."""
    own, count = primal.request.function, len(primal.names)

    def algorithm(model: System, *row: Any, f_ext: Any = None) -> Any:
        scalars = list(_scalars(row if f_ext is None else (*row, f_ext)))
        if any(map(is_sympy, scalars)):
            raise ScalarTypeError(f"{made.name}: got SymPy expressions, expected numbers. Differentiate by SymPy.")
        if not _are_inputs(scalars):
            request = Request(made, (), primal.request.dtype, f_ext is not None)
            return _only(replay(trace_request(model, request), row if f_ext is None else (*row, f_ext)))
        x = dict(zip(primal.names, row, strict=False))
        graph = scalars[0].graph if scalars else Graph()  # none of a model without freedoms
        return _only(one(model, graph, x, row[count:], f_ext))

    made = Function(
        f"{own.name}_{kind}",
        algorithm,
        (*primal.names, *extra),
        {**primal.shapes(), **extra},
        force=own.force and not primal.request.force,
        needs_mass=own.needs_mass,
        named=False,
        judged=False,
        result=result,
    )
    return Kernel(primal.request._replace(function=made, choices=(), force=False), model)


def _scalars(row: Sequence[Any]) -> Iterator[Any]:
    return (e for array in row for e in np.asarray(array, dtype=object).ravel())


def _are_inputs(scalars: Sequence[Any]) -> bool:
    """Whether all are inputs of one trace, each once: variables to differentiate by."""
    if not all(isinstance(e, Expr) and e.op is Op.INPUT for e in scalars):
        return False
    return len({id(e) for e in scalars}) == len(scalars)


def _copy(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def _shaped(entries: list[Any], shape: tuple[int, ...]) -> Any:
    return object_array(entries, shape) if shape else entries[0]


def _only(results: tuple[Any, ...]) -> Any:
    return results if len(results) > 1 else results[0]


@cache
def _named(fields: tuple[str, ...]) -> type | None:
    """The class of several gradients, with a field for each input."""
    return namedtuple("Gradients", fields, rename=True) if len(fields) > 1 else None
