"""``sixd.jax.step`` and ``sixd.jax.rollout``: motions of JAX arrays, differentiable through time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from sixd.api.manifold import integrate
from sixd.engine.parameters import parameter_shape
from sixd.engine.public import declaration
from sixd.errors import ScalarTypeError, ShapeError, TraceError
from sixd.jax.functions import as_array, call, common_dtype, evaluate
from sixd.jax.operators import operator_of
from sixd.jax.rollouts import roll, rolled_of
from sixd.model.system import System, require_system
from sixd.simulation.arguments import positive, whole
from sixd.simulation.gradients.whole_step import MOST_OPERATIONS, Motion, require_arrays, step_request
from sixd.simulation.problem import PROJECTED
from sixd.simulation.scenario import Scenario


def step(
    model: System,
    q: Any,
    qd: Any,
    dt: Any,
    *,
    tau: Any = None,
    t: Any = 0.0,
    method: str = "rk4",
    f_ext: Any = None,
    forces: Any = (),
    parameters: Mapping[str, Any] | None = None,
    constraints: str = PROJECTED,
    stabilisation: float = 20.0,
) -> tuple[jax.Array, jax.Array]:
    """The state (q, qd) one step of dt [s] later: ``sixd.step`` on JAX arrays.

    Parameters
    ----------
    q, qd : (…, nq), (…, nv).
    dt : the step [s], a number or an array (…).
    tau : (…, nv), joint forces that are held during the step [N m or N]; zero if omitted.
    t : the time [s], for constraints that prescribe a motion.
    method : with fixed steps, as for ``sixd.step``, but not "midpoint".
    f_ext, forces, constraints, stabilisation : as for ``sixd.step``; f_ext (…, nb, 6) is an array.
    parameters : name -> (…, core), as for ``sixd.simulate``.

    Returns
    -------
    q, qd : (…, nq), (…, nv).

    Notes
    -----
    Differentiable with respect to all arrays, to any order. Derivatives with respect to q have nq entries, also if its
    quaternions are not of unit length (the step normalises them). Steps that iterate (dry friction, rigid limits,
    contact, the midpoint rule), or have more than 20,000 operations, raise an error. Values are not checked: a state
    off the constraints, or not finite, raises no error.
    """
    where = "sixd.jax.step"
    require_system(where, model)
    run, more = _scenario(
        where, model, method=method, f_ext=f_ext, forces=forces, parameters=parameters, constraints=constraints,
        stabilisation=stabilisation,
    )  # fmt: skip
    given = {"q": q, "qd": qd, "dt": dt, "t": t, "tau": tau, **more}
    arrays = {name: as_array(where, name, x) for name, x in given.items() if x is not None or name != "tau"}
    # numbers do not widen arrays
    dtype = common_dtype([x for name, x in arrays.items() if name not in ("dt", "t") or hasattr(given[name], "dtype")])
    if tau is None:
        arrays["tau"] = jnp.zeros(model.nv, dtype)
    request = step_request(where, run, dtype)
    if request is None:
        raise TraceError(
            f"{where}: a step of {model.name!r} by {method!r} iterates (dry friction, rigid limits, contact, the "
            f"midpoint rule) or has more than {MOST_OPERATIONS:,} operations, expected one that is a function as a "
            f"whole. Use sixd.jax.rollout(…, fused=True)."
        )
    order = [name.removeprefix("the ") for name in request.arrays]
    found = call(where, operator_of(model, request), tuple(order), [arrays[name].astype(dtype) for name in order])
    return found[0], found[1]


def _scenario(where: str, model: System, **options: Any) -> tuple[Scenario, dict[str, Any]]:
    """The scenario of a step, and its arrays by name."""
    f_ext, parameters = options.get("f_ext"), options.get("parameters")
    require_arrays(where, "array", f_ext, parameters)
    options["parameters"] = {} if parameters is None else parameters
    run = Scenario(model, where=where, **options)
    return run, ({} if f_ext is None else {"f_ext": f_ext}) | dict(run.parameters)


def rollout(
    model: System,
    q: Any,
    qd: Any,
    controls: Any,
    dt: Any,
    *,
    steps: int | None = None,
    t: Any = 0.0,
    fused: bool = False,
    **options: Any,
) -> Motion:
    """The motion under prescribed joint forces, or under a policy: all states, differentiable.

    Parameters
    ----------
    q, qd : (…, nq), (…, nv), the start.
    controls : (…, steps, nv), joint forces [N m or N], each held during its step; or a function ``policy(t, q, qd)`` of
        the time [s] and arrays, such as a network, that returns them (…, nv). A policy requires ``steps``.
    dt : the step [s].
    steps : the number of steps under a policy.
    t : the time of the start [s].
    fused : True computes all steps in one compiled loop, on a GPU in one launch; controls are then an array, and dt and
        t numbers.
    options : method, f_ext, forces, parameters, constraints, stabilisation, as for ``step``.

    Returns
    -------
    ``Motion``: ``q`` (…, steps + 1, nq), ``qd`` (…, steps + 1, nv), the start first, with unit quaternions.

    Notes
    -----
    A ``jax.lax.scan`` of ``step``, with the properties described there: differentiable to any order, forward and in
    reverse. With ``fused`` it also supports dry friction, rigid limits, contact and the midpoint rule. It then has
    first derivatives in reverse (``jax.grad``) with respect to the initial state, the controls, f_ext and parameters.
    Gradients are NaN for states whose impulses did not converge.
    """
    where = "sixd.jax.rollout"
    require_system(where, model)
    if fused:
        return _fused(model, q, qd, controls, dt, steps, t, options)
    q, qd, dt, t = (as_array(where, name, x) for name, x in (("q", q), ("qd", qd), ("dt", dt), ("t", t)))
    taus = None if _is_function(controls) else _controls(where, model, controls, steps)
    if taus is None and steps is None:
        raise ScalarTypeError(f"{where}: controls is a function, expected steps=, the number of steps, with it.")
    count = whole(where, "steps", steps, least=0) if taus is None else taus.shape[-2]
    dtype = common_dtype([q, qd] if taus is None else [q, qd, taus])
    h, start = dt.astype(dtype), t.astype(dtype)
    policy: Callable[..., Any] = controls if taus is None else lambda t, q, qd: None

    def one(state: Any, given: Any) -> Any:
        k, tau = given
        now = start + k * h
        q, qd = state
        after = step(model, q, qd, h, tau=policy(now, q, qd) if taus is None else tau, t=now, **options)
        return after, after

    first: tuple[Any, ...] = _start(model, q.astype(dtype), qd.astype(dtype), taus, dtype, options)
    numbers = jnp.arange(count, dtype=dtype)
    series = numbers, None if taus is None else jnp.moveaxis(taus.astype(dtype), -2, 0)
    if taus is None:  # the policy may enlarge the batch
        shapes = jax.eval_shape(lambda state: one(state, (start, None))[0], first)
        first = tuple(jnp.broadcast_to(x, s.shape) for x, s in zip(first, shapes, strict=True))
    _, records = jax.lax.scan(one, first, series)
    states = [jnp.concatenate([x[None], y]) for x, y in zip(first, records, strict=True)]
    return Motion(*(jnp.moveaxis(x, 0, -2) for x in states))


def _is_function(x: Any) -> bool:
    return callable(x) and not hasattr(x, "shape")


def _controls(where: str, model: System, controls: Any, steps: int | None) -> Any:
    """Prescribed joint forces, as an array."""
    taus = as_array(where, "controls", controls)
    if taus.ndim < 2 or taus.shape[-1] != model.nv:
        raise ShapeError(f"{where}: controls has shape {taus.shape}, expected (..., steps, {model.nv}).")
    if steps not in (None, taus.shape[-2]):
        raise ScalarTypeError(f"{where}: steps is {steps}, expected {taus.shape[-2]}, as controls have, or None.")
    return taus


def _fused(
    model: System, q: Any, qd: Any, controls: Any, dt: Any, steps: int | None, t: Any, options: Mapping[str, Any]
) -> Motion:
    """All steps in one call."""
    where = "sixd.jax.rollout"
    if _is_function(controls):
        raise ScalarTypeError(f"{where}: controls is a function, expected an array with fused=True.")
    taus = _controls(where, model, controls, steps)
    run, more = _scenario(where, model, **options)
    extra = [as_array(where, name, x) for name, x in more.items()]
    dtype = common_dtype([as_array(where, "q", q), as_array(where, "qd", qd), taus, *extra])
    first, rate = (as_array(where, name, x).astype(dtype) for name, x in (("q", q), ("qd", qd)))
    q, qd = _start(model, first, rate, taus, dtype, options)
    if taus.shape[-2] == 0:
        return Motion(q[..., None, :], qd[..., None, :])
    h = positive(where, "dt", dt, "s")
    rolled = rolled_of(run, dtype)
    given = (q, qd, taus.astype(dtype), *(x.astype(dtype) for x in extra))
    return Motion(*roll(rolled, float(h), float(t), given))


def _start(model: System, q: Any, qd: Any, taus: Any, dtype: str, options: Mapping[str, Any]) -> tuple[Any, Any]:
    """The start, with unit quaternions, in the shape of the whole batch."""
    if model.nq != model.nv:
        q = evaluate(declaration(integrate), model, (), [q, jnp.zeros(model.nv, dtype)], None)
    shapes = [q.shape[:-1], qd.shape[:-1]] + ([] if taus is None else [taus.shape[:-2]])
    if options.get("f_ext") is not None:
        shapes.append(jnp.shape(options["f_ext"])[:-2])
    for name, x in (options.get("parameters") or {}).items():
        shapes.append(jnp.shape(x)[: jnp.ndim(x) - len(parameter_shape("sixd.jax.rollout", model, name))])
    batch = jnp.broadcast_shapes(*shapes)
    return jnp.broadcast_to(q, (*batch, model.nq)), jnp.broadcast_to(qd, (*batch, model.nv))
