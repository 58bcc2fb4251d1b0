"""Derivatives of functions as kernels: ``sixd.jvp``, ``sixd.vjp``, ``sixd.hvp`` and ``sixd.hessian``.

A function with an attribute ``differentiate`` brings derivatives of its own: those of distances are no single program.

Users differentiate with respect to a configuration along velocities. Other libraries (PyTorch, JAX) differentiate with
respect to its entries; requests of derivatives in ambient coordinates serve them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sixd.engine.functions import Request
from sixd.engine.kernel import Kernel
from sixd.engine.primal import (
    Derived,
    Primal,
    Row,
    fresh_names,
    gradients_class,
    make_kernel,
    make_primal,
    request_of,
    resolved_results,
    scalars_of,
    shaped,
    weight_shapes,
)
from sixd.engine.targets import cpu
from sixd.errors import ShapeError
from sixd.model.memo import remember
from sixd.model.system import System
from sixd.spatial.scalar import require_scalars
from sixd.trace import derivative
from sixd.trace.expr import Expr, Graph


def jvp(
    function: Callable[..., Any] | Sequence[Callable[..., Any]],
    model: System,
    *,
    by: str | Sequence[str] | None = None,
    dtype: str | None = None,
    parameters: Sequence[str] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    **static: Any,
) -> Any:
    """A kernel of directional derivatives, (x…, dx…) -> dy: of a function's results, along directions of its inputs.

    Parameters
    ----------
    function, model, dtype, parameters, shapes, static : as for ``compile``.
    by : names of the inputs that vary, arrays or parameters; all of them by default. The others are constant.
    f_ext : True makes the external forces (nb, 6) an input after the others. Otherwise the kernel takes ``f_ext=`` as
        the function does, and holds it fixed in the world.

    Returns
    -------
    A kernel that takes the inputs x of the function, then one direction for each name in ``by``, called ``d_q``,
    ``d_qd``, … (with _ added if the function has an input of that name), in the shape of the input; the direction of a
    configuration q has the shape (…, nv) of a velocity, and the derivative is along the motion with that velocity. It
    returns arrays in the shapes of the function's results.

    Where the function is not smooth, the derivative is that of the branch that was evaluated; that of dry friction is
    zero. An infinite derivative of a root, a logarithm or an arc counts as zero: that of √max(0, x) is zero up to
    x = 0. A kernel of derivatives returns inf or NaN where it divides by zero. It can be passed to ``compile``,
    ``export_c``, ``jvp`` and ``vjp`` in turn.

    Of ``sixd.distance`` and ``sixd.min_distance`` the signed distances are differentiated with respect to q, of all
    kinds of pairs: ``pairs=`` and ``placements=`` are fixed, and there are ``jvp`` and ``vjp`` alone.

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> derivative = sixd.jvp(sixd.inverse_dynamics, arm, by="q")
    >>> derivative.inputs
    ('q', 'qd', 'qdd', 'd_q')
    >>> derivative([0.3, 0.5], [1, -2], [0.4, 0.6], [1, 0]).round(6)
    array([0., 0.])
    """
    if own := getattr(function, "differentiate", None):
        return own("jvp", model, by=by, dtype=dtype, parameters=parameters, shapes=shapes, **static)
    return make_kernel(_jvp(make_primal("jvp", function, model, dtype, by, parameters, shapes, static)), model, dtype)


def _jvp(primal: Primal) -> Derived:
    names = fresh_names(primal, [f"d_{name}" for name in primal.by])

    def one(model: System, graph: Graph, x: Row, rest: Sequence[Any], f_ext: Any) -> tuple[Any, ...]:
        results = primal.results(model, graph, x, f_ext)
        rates = primal.rates(model, graph, x, dict(zip(primal.by, rest, strict=True)))
        outputs = [e for _, es in results for e in es]
        flat = derivative.jvp(outputs, primal.inputs(graph, x), rates, bounded=True)
        at = iter(flat)
        return tuple(shaped([next(at) for _ in es], shape) for shape, es in results)

    cores = dict(zip(names, map(primal.tangent_shape, primal.by), strict=True))
    return Derived("jvp", primal, one, cores, primal.request.function.result)


def vjp(
    function: Callable[..., Any] | Sequence[Callable[..., Any]],
    model: System,
    *,
    by: str | Sequence[str] | None = None,
    dtype: str | None = None,
    parameters: Sequence[str] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    **static: Any,
) -> Any:
    """A kernel of gradients, (x…, w) -> gradients of the sum w·f(x) with respect to a function's inputs x.

    Parameters
    ----------
    function, model, by, dtype, parameters, shapes, static : as for ``jvp``.

    Returns
    -------
    A kernel that takes the inputs x of the function, then weights ``w`` in the shape of its result (``w0``, ``w1``, …
    if it has several). It returns a named tuple with a gradient for each name in ``by``, or just the gradient if there
    is one name. A gradient has the shape of its input. The gradient with respect to a configuration q has the shape (…,
    nv): entry k is the derivative along the motion with the velocity e_k.

    The whole gradient costs about as much as two or three evaluations of the function, however many inputs there are.

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> gradient = sixd.vjp(sixd.inverse_dynamics, arm, parameters=("inertia",), by=("qdd", "inertia"))
    >>> gradient.inputs
    ('q', 'qd', 'qdd', 'inertia', 'w')
    >>> bodies = [sixd.Inertia.from_matrix(x).parameters for x in arm.inertia[1:]]
    >>> result = gradient([0.3, 0.5], [1, -2], [0.4, 0.6], bodies, [1, 0])
    >>> result.qdd.shape, result.inertia.shape
    ((2,), (2, 10))
    """
    if own := getattr(function, "differentiate", None):
        return own("vjp", model, by=by, dtype=dtype, parameters=parameters, shapes=shapes, **static)
    primal = make_primal("vjp", function, model, dtype, by, parameters, shapes, static)
    return make_kernel(_vjp(primal, model), model, dtype)


def _vjp(primal: Primal, model: System) -> Derived:
    weights = weight_shapes(primal, model)

    def one(model: System, graph: Graph, x: Row, rest: Sequence[Any], f_ext: Any) -> tuple[Any, ...]:
        outputs = [e for _, es in primal.results(model, graph, x, f_ext) for e in es]
        return _gradients(primal, model, graph, x, outputs, list(scalars_of(rest)))

    return Derived("vjp", primal, one, weights, gradients_class(primal.by))


def hvp(
    function: Callable[..., Any] | Sequence[Callable[..., Any]],
    model: System,
    *,
    by: str | Sequence[str] | None = None,
    dtype: str | None = None,
    parameters: Sequence[str] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    **static: Any,
) -> Kernel:
    """A kernel of second derivatives along a direction, (x…, w, dx…) -> change of the gradients of w·f(x).

    Parameters
    ----------
    function, model, by, dtype, parameters, shapes, static : as for ``jvp``.

    Returns
    -------
    A kernel that takes the inputs of ``vjp``, then the directions of ``jvp``. It returns the derivatives of the results
    of ``vjp`` along these directions, in the same form: the Hessian of w·f times the direction. For a configuration
    with quaternions, both derivatives are in the tangent space, one after the other, and the Hessian is not symmetric.

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> product = sixd.hvp(sixd.inverse_dynamics, arm, by=("q", "qd"))
    >>> product.inputs
    ('q', 'qd', 'qdd', 'w', 'd_q', 'd_qd')
    """
    if own := getattr(function, "differentiate", None):
        return own("hvp", model, by=by, dtype=dtype, parameters=parameters, shapes=shapes, **static)
    primal = make_primal("hvp", function, model, dtype, by, parameters, shapes, static)
    weights = weight_shapes(primal, model)
    names = fresh_names(primal, [f"d_{name}" for name in primal.by])

    def one(model: System, graph: Graph, x: Row, rest: Sequence[Any], f_ext: Any) -> tuple[Any, ...]:
        ws, along = rest[: len(weights)], dict(zip(primal.by, rest[len(weights) :], strict=True))
        outputs = [e for _, es in primal.results(model, graph, x, f_ext) for e in es]
        gradients = _gradients(primal, model, graph, x, outputs, list(scalars_of(ws)))
        rates = primal.rates(model, graph, x, along)
        flat = iter(derivative.jvp(_entries(graph, gradients), primal.inputs(graph, x), rates, bounded=True))
        return tuple(shaped([next(flat) for _ in range(g.size)], g.shape) for g in map(np.asarray, gradients))

    extra = {**weights, **dict(zip(names, map(primal.tangent_shape, primal.by), strict=True))}
    return make_kernel(Derived("hvp", primal, one, extra, gradients_class(primal.by)), model, dtype)


def hessian(
    function: Callable[..., Any] | Sequence[Callable[..., Any]],
    model: System,
    *,
    weight: Any = None,
    by: str | Sequence[str] | None = None,
    dtype: str | None = None,
    parameters: Sequence[str] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    **static: Any,
) -> Kernel:
    """A kernel of second derivatives, (x…) -> the Hessian (n, n) of weight·f(x), or of each entry of f(x).

    Parameters
    ----------
    function, model, by, dtype, parameters, shapes, static : as for ``jvp``.
    weight : fixed numbers in the shape of the result, a tuple of arrays if there are several results; None for the
        second derivatives of each entry.

    Returns
    -------
    A kernel that takes the inputs of the function. It returns the matrix (…, n, n). A row belongs to an entry of the
    gradient, a column to an entry of the variable; both run over all inputs in ``by``, one after the other, a
    configuration with its nv entries. Without ``weight`` there is such a matrix for each entry of the result, (…,
    *shape, n, n). With quaternions it is not symmetric: see ``hvp``. Meant for few degrees of freedom; for many use
    ``hvp``.

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> sixd.hessian(sixd.inverse_dynamics, arm, by=("q", "qd"))([0.3, 0.5], [1, -2], [0.4, 0.6]).shape
    (2, 4, 4)
    """
    if own := getattr(function, "differentiate", None):
        return own("hessian", model, by=by, dtype=dtype, parameters=parameters, shapes=shapes, **static)
    primal = make_primal("hessian", function, model, dtype, by, parameters, shapes, static)
    fixed = None if weight is None else _fixed_weights(primal, model, weight)

    def one(model: System, graph: Graph, x: Row, rest: Sequence[Any], f_ext: Any) -> tuple[Any, ...]:
        results = primal.results(model, graph, x, f_ext)
        groups = [([e], [1.0]) for _, es in results for e in es]
        if fixed is not None:
            groups = [([e for _, es in results for e in es], fixed)]
        found = [_entries(graph, _gradients(primal, model, graph, x, *group)) for group in groups]
        n = len(primal.directions(model, x))
        rates = np.array([primal.rates(model, graph, x, d) for d in primal.directions(model, x)], dtype=object)
        flat = [e for gradient in found for e in gradient]
        table = derivative.directional(flat, primal.inputs(graph, x), rates).reshape(-1, n, n)
        if fixed is not None:
            return (table[0],)
        at = np.cumsum([0, *(len(es) for _, es in results)])
        return tuple(table[a:b].reshape(*s, n, n) for (s, _), a, b in zip(results, at[:-1], at[1:], strict=True))

    result = primal.request.function.result if fixed is None else None
    return make_kernel(Derived("hessian", primal, one, {}, result), model, dtype)


# in ambient coordinates ---------------------------------------------------------------------------


def jvp_request(system: System, request: Request, by: tuple[int, ...]) -> Request:
    """The request of the derivative of a request's results along directions of its arrays with the numbers ``by``: (x…,
    dx…) -> dy.

    A configuration is an array like others: its direction has nq entries, and the derivatives are those of the
    function as it is computed, which does not depend on the length of a quaternion. Equal requests of a system give the
    same object. Derivatives of derivatives are the same functions again.
    """
    return _ambient(system, request, by, "jvp", _jvp)


def vjp_request(system: System, request: Request, by: tuple[int, ...]) -> Request:
    """The request of the gradients of w·y with respect to a request's arrays with the numbers ``by``: (x…, w…) ->
    gradients, in the shapes of the arrays; see :func:`jvp_request`."""
    return _ambient(system, request, by, "vjp", lambda primal: _vjp(primal, system))


def _ambient(
    system: System, request: Request, by: tuple[int, ...], kind: str, derive: Callable[[Primal], Derived]
) -> Request:
    request = request._replace(target=cpu)

    def make() -> Request:
        names = request.arrays
        return request_of(derive(Primal(request, names, tuple(names[k] for k in by), ambient=True)))

    return remember(system, (kind, request, by), make)


def _gradients(
    primal: Primal, model: System, graph: Graph, x: Row, outputs: Sequence[Expr], weights: Sequence[Any]
) -> tuple[Any, ...]:
    """The gradients of Σ weight · output, without held values."""
    gradients = derivative.vjp(outputs, primal.inputs(graph, x), weights, bounded=True)
    return resolved_results(primal.pulled(model, graph, x, gradients))


def _entries(graph: Graph, arrays: Sequence[Any]) -> list[Expr]:
    return [e for array in arrays for e in graph.entries(array)]


def _fixed_weights(primal: Primal, model: System, weight: Any) -> list[float]:
    """The numbers of fixed weights, checked."""
    cores = list(weight_shapes(primal, model).values())
    given = list(weight) if len(cores) > 1 and isinstance(weight, (tuple, list)) else [weight]
    require_scalars("hessian: weight", *given)
    found = [np.shape(w) for w in given]
    if found != cores:
        raise ShapeError(f"hessian: weight has shape {found}, expected {cores}, as the results of the function have.")
    return [float(e) for w in given for e in np.ravel(w)]
