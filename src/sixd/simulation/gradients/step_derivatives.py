"""``sixd.step_derivatives``: the matrices of one step of a simulation, by the adjoint of the step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sixd.errors import ScalarTypeError, ShapeError, require_known
from sixd.runtime.arrays.registry import require_cpu
from sixd.simulation.arguments import finite_time
from sixd.simulation.gradients.adjoint_steps import (
    TAU,
    Pair,
    evaluated,
    forward_backward_steps,
    from_tangent,
    tangent_gradient,
)
from sixd.simulation.setup import Setup, make_setup
from sixd.simulation.stepping.compiled_steps import FIXED_STEP, UNSOLVED
from sixd.simulation.stepping.fixed import STEP, start_of
from sixd.simulation.user_warnings import quietly
from sixd.spatial.scalar import Array, ArrayLike

if TYPE_CHECKING:
    from sixd.simulation.scenario import Scenario

_ROWS = 4096  # of a call: states times entries of a state


class StepDerivatives(NamedTuple):
    """The derivatives of the state (q, qd, u) after a step, n = 2 nv + nu entries.

    A : (…, n, n), with respect to the state before the step.
    B : (…, n, nv), with respect to the joint forces tau.

    Changes of q, before and after, are in the tangent space, in the units of qd.
    """

    A: Array
    B: Array


def derivatives_of_step(
    run: Scenario, q: ArrayLike | str | None, qd: ArrayLike | None, tau: ArrayLike | None, u: ArrayLike | None, t: float
) -> StepDerivatives:
    """Return the matrices of one step of a scenario; the arguments are those of ``sixd.step_derivatives``."""
    where, system, method = "step_derivatives", run.model, run.method
    require_known(f"{where}: method", "choice", method, FIXED_STEP)
    t, controller = finite_time(where, t), run.controller
    require_cpu(where, q=q, qd=qd, tau=tau, u=u, controller=controller, f_ext=run.f_ext, **run.parameters)
    if controller is not None and not callable(controller):
        raise ScalarTypeError(f"{where}: controller is {controller!r:.60}, expected a function. Give arrays as tau=.")
    if tau is not None and np.asarray(tau).dtype.kind not in "fiu":
        raise ScalarTypeError(f"{where}: tau is {tau!r:.60}, expected numbers. Give a function as controller=.")
    if tau is not None and np.shape(tau)[-1:] != (system.nv,):
        raise ShapeError(f"{where}: tau has shape {np.shape(tau)}, expected (…, {system.nv}), nv of {system.name!r}.")
    with quietly():  # an error says the same as the warning
        setup = make_setup(where, run, q, qd, start=t, tau=np.zeros(system.nv, np.float32) if tau is None else tau)
    setup = replace(setup, u=_states(where, setup, u))
    pair = forward_backward_steps(setup.problem, method, setup.dtype, None)
    return _matrices(setup, pair, method, STEP if run.dt is None else run.dt, t)


def _states(where: str, setup: Setup, u: ArrayLike | None) -> Array:
    """Return the states of force elements (rows, nu)."""
    if u is None:
        return setup.u
    array, nu = np.asarray(u), setup.problem.nu
    shape = (*setup.batch, nu)
    if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        raise ScalarTypeError(f"{where}: u is {u!r:.60}, expected finite numbers.")
    try:
        if array.shape[-1:] != (nu,):
            raise ValueError
        return np.broadcast_to(array, shape).reshape(setup.u.shape).astype(setup.dtype)
    except ValueError:
        raise ShapeError(
            f"{where}: u has shape {array.shape}, expected {shape}: the force elements have {nu} states."
        ) from None


def _matrices(setup: Setup, pair: Pair, method: str, h: float, t: float) -> StepDerivatives:
    system, dtype, rows = setup.problem.system, setup.dtype, setup.rows
    nv, n = system.nv, 2 * system.nv + setup.problem.nu
    named = {f"constant {name}": x for name, x in setup.constants.items()}
    named |= {"h": np.array([h], dtype), "start": np.array([t], dtype)}
    begun = start_of(setup, method, momenta=False)
    state = {name: begun[name] for name in pair.state}
    constants = [named[name] for name in pair.constants]
    results = pair.forward(np.ones(1), [*state.values(), *constants, named[TAU][:, None]])
    after = {name: x[:, 0] if each else x for (name, each), x in zip(pair.outputs.items(), results, strict=True)}

    seeds = np.zeros((rows, n, system.nq), dtype)
    (seeds[:, :nv],) = evaluated(from_tangent(system, dtype), (after["q"],), dtype)
    unit = np.eye(n, dtype=dtype)
    others = {"qd": unit[:, nv : 2 * nv], "u": unit[:, 2 * nv :]}
    series = [state[name] if name in state else after[name] for name in pair.series]
    A, B = np.empty((rows, n, n), dtype), np.empty((rows, n, nv), dtype)
    size = max(1, _ROWS // n)
    for first in range(0, rows, size):
        cut = slice(first, min(first + size, rows))
        count = cut.stop - cut.start

        def repeated(x: Array, cut: slice = cut) -> Array:
            return x if len(x) == 1 and rows > 1 else np.repeat(x[cut], n, axis=0)

        weights = {name: np.zeros((count * n, *shape), dtype) for name, shape in pair.gradients.items()}
        weights["q"] = seeds[cut].reshape((-1, system.nq))
        weights |= {name: np.tile(x, (count, 1)) for name, x in others.items() if name in weights}
        inputs = [*weights.values(), *map(repeated, constants)]
        inputs += [repeated(x)[:, None] for x in (*series, named[TAU])]
        gradients = dict(zip(weights, pair.backward(np.ones(1), inputs), strict=True))
        by_q = tangent_gradient(system, repeated(state["q"]), gradients["q"])
        parts = [by_q, gradients["qd"], *([gradients["u"]] if "u" in gradients else [])]
        A[cut] = np.concatenate(parts, axis=-1).reshape((count, n, n))
        B[cut] = gradients[TAU].reshape((count, n, nv))
    if UNSOLVED in after:
        bad = after[UNSOLVED] > 0
        A[bad], B[bad] = np.nan, np.nan
    return StepDerivatives(A.reshape((*setup.batch, n, n)), B.reshape((*setup.batch, n, nv)))
