"""``sixd.step_derivatives``: the matrices of one step of a simulation, by the tangents of the step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sixd.errors import ScalarTypeError, ShapeError, require_known
from sixd.runtime.arrays.registry import require_cpu
from sixd.simulation.arguments import finite_time
from sixd.simulation.gradients.tangent_steps import StepMatrices, step_matrices
from sixd.simulation.setup import Setup, make_setup
from sixd.simulation.stepping.compiled_steps import FIXED_STEP
from sixd.simulation.stepping.fixed import STEP, start_of
from sixd.simulation.user_warnings import quietly
from sixd.spatial.scalar import Array, ArrayLike

if TYPE_CHECKING:
    from sixd.simulation.scenario import Scenario


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
    made = step_matrices(setup.problem, method, setup.dtype)
    return _matrices(setup, made, method, STEP if run.dt is None else run.dt, t)


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


def _matrices(setup: Setup, made: StepMatrices, method: str, h: float, t: float) -> StepDerivatives:
    system, dtype = setup.problem.system, setup.dtype
    nv, n = system.nv, 2 * system.nv + setup.problem.nu
    named = {f"constant {name}": x for name, x in setup.constants.items()}
    named |= {"h": np.array([h], dtype), "start": np.array([t], dtype), **start_of(setup, method, momenta=False)}
    results = made.code(np.ones(1), [named[name] for name in made.inputs])
    after = {name: x[:, 0] for name, x in zip(made.outputs, results, strict=True)}
    by = [after[f"by {block}"] for block in ("q", "qd", "u") if f"by {block}" in after]
    A, B = np.concatenate(by, axis=1), after["by tau"]
    for name, x in after.items():
        if not name.startswith("by "):  # the number of problems without a solution
            A[x > 0], B[x > 0] = np.nan, np.nan
    A, B = A.swapaxes(1, 2), B.swapaxes(1, 2)
    return StepDerivatives(A.reshape((*setup.batch, n, n)), B.reshape((*setup.batch, n, nv)))
