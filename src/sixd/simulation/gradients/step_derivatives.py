"""``sixd.step_derivatives``: the matrices of one step of a simulation, by the adjoint of the step."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sixd.errors import ScalarTypeError, ShapeError, SimulationWarning, unknown_name
from sixd.model.system import System, require_system
from sixd.simulation.gradients.adjoint_steps import (
    TAU,
    Pair,
    evaluated,
    forward_backward_steps,
    from_tangent,
    to_tangent,
)
from sixd.simulation.known_steps import NO_FORCES
from sixd.simulation.problem import PROJECTED
from sixd.simulation.setup import Setup, make_setup, positive
from sixd.simulation.stepping.compiled_steps import FIXED_STEP, UNSOLVED
from sixd.simulation.stepping.fixed import normalized
from sixd.spatial.scalar import Array, is_number

_ROWS = 4096  # of a call: states times entries of a state


class StepDerivatives(NamedTuple):
    """The derivatives of the state (q, qd, u) after a step, n = 2 nv + nu entries.

    A : (…, n, n), by the state before.
    B : (…, n, nv), by the joint forces tau.

    Changes of q, before and after, are in the tangent space, measured as qd is.
    """

    A: Array
    B: Array


def step_derivatives(
    system: System,
    q: Any,
    qd: Any,
    dt: float,
    *,
    tau: Any = None,
    u: Any = None,
    t: float = 0.0,
    method: str = "rk4",
    controller: Any = None,
    f_ext: Any = None,
    forces: Any = NO_FORCES,
    parameters: Mapping[str, Any] | None = None,
    constraints: str = PROJECTED,
    stabilisation: float = 20.0,
) -> StepDerivatives:
    """The matrices A and B of one step of ``sixd.step``: δx⁺ = A δx + B δtau with x = (q, qd, u).

    Parameters
    ----------
    system, q, qd, dt, t, method, f_ext, forces, parameters, constraints, stabilisation : as for ``sixd.step``.
    tau : (…, nv), joint forces that are held during the step [N m or N]; zero if omitted.
    u : (…, nu), the states of force elements, as they are at the start of a simulation if omitted.
    controller : a function (t, q, qd) -> (nv,), whose forces are added to tau: A is then that of the closed loop.

    Returns
    -------
    ``StepDerivatives``: ``A`` (…, n, n) and ``B`` (…, n, nv), n = 2 nv + nu; row: of what, column: by what.

    Notes
    -----
    Exact derivatives of the step as it is computed (with states u of force elements, a step of ``sixd.simulate``). Dry
    friction, rigid limits and contact: what sticks, slides or is open does so in the derivatives, too; the velocity of
    a joint that sticks has zero rows. Of rows whose impulses were not found they are NaN. Under constraints the step
    ends on them: changes across the constraints are projected, too. Infinite slopes of roots count as zero. With a
    controller, a function f_ext or force elements of your own the step is traced at each call, for they may change:
    60 ms for two freedoms, most of a second for six.

    >>> import sixd
    >>> A, B = sixd.step_derivatives(sixd.zoo.pendulum(), [0.5], [0.0], 1e-3)
    >>> A.shape, B.shape
    ((2, 2), (2, 1))
    """
    where = "step_derivatives"
    require_system(where, system)
    if method not in FIXED_STEP:
        raise unknown_name(f"{where}: method", "choice", method, FIXED_STEP)
    h = positive(where, "dt", dt, "s", zero=False)
    if isinstance(t, bool) or not is_number(t) or not np.isfinite(t):
        raise ScalarTypeError(f"{where}: t is {t!r}, expected a finite number [s].")
    if controller is not None and not callable(controller):
        raise ScalarTypeError(f"{where}: controller is {controller!r:.60}, expected a function. Give arrays as tau=.")
    if tau is not None and np.asarray(tau).dtype.kind not in "fiu":
        raise ScalarTypeError(f"{where}: tau is {tau!r:.60}, expected numbers. Give a function as controller=.")
    if tau is not None and np.shape(tau)[-1:] != (system.nv,):
        raise ShapeError(f"{where}: tau has shape {np.shape(tau)}, expected (…, {system.nv}), nv of {system.name!r}.")
    held = np.zeros(system.nv, np.float32) if tau is None else tau
    setup = make_setup(
        where, system, q, qd, controller=held, sample_time=None, f_ext=f_ext,
        forces=forces, parameters=parameters, constraints=constraints, stabilisation=stabilisation, seed=None,
        start=float(t),
    )  # fmt: skip
    if controller is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)  # the error below says the same
            law = make_setup(
                where, system, q, qd, controller=controller, sample_time=None, f_ext=None, forces=(),
                parameters=parameters, constraints=constraints, stabilisation=stabilisation, seed=None, start=float(t),
            )  # fmt: skip
        if law.sampled is not None:
            raise ScalarTypeError(
                f"{where}: the controller cannot be run on traced scalars, so it cannot be differentiated. Write it "
                f"with the functions of sixd.spatial (sin, sqrt, where …), or give its forces as tau=."
            )
        setup = replace(setup, problem=replace(setup.problem, law=law.problem.law))
    setup = replace(setup, u=_states(where, setup, u))
    pair = forward_backward_steps(setup.problem, method, setup.dtype, None)
    return _matrices(setup, pair, h, float(t))


def _states(where: str, setup: Setup, u: Any) -> Array:
    """Return the states of force elements (rows, nu)."""
    if u is None:
        return setup.u
    given, nu = np.asarray(u), setup.problem.nu
    shape = (*setup.batch, nu)
    if given.dtype.kind not in "fiu" or not np.isfinite(given).all():
        raise ScalarTypeError(f"{where}: u is {u!r:.60}, expected finite numbers.")
    try:
        if given.shape[-1:] != (nu,):
            raise ValueError
        return np.broadcast_to(given, shape).reshape(setup.u.shape).astype(setup.dtype)
    except ValueError:
        raise ShapeError(
            f"{where}: u has shape {given.shape}, expected {shape}: the force elements have {nu} states."
        ) from None


def _matrices(setup: Setup, pair: Pair, h: float, t: float) -> StepDerivatives:
    system, dtype, rows = setup.problem.system, setup.dtype, setup.rows
    nv, n = system.nv, 2 * system.nv + setup.problem.nu
    given = {f"constant {name}": x for name, x in setup.constants.items()}
    given |= {"h": np.array([h], dtype), "start": np.array([t], dtype)}
    state = {name: np.zeros((rows, *shape), dtype) for name, shape in pair.state.items()}
    state |= {"q": normalized(setup), "qd": setup.qd, "u": setup.u}
    constants = [given[name] for name in pair.constants]
    found = pair.forward(np.ones(1), [*state.values(), *constants, given[TAU][:, None]])
    after = {name: x[:, 0] if each else x for (name, each), x in zip(pair.outputs.items(), found, strict=True)}

    seeds = np.zeros((rows, n, system.nq), dtype)
    (seeds[:, :nv],) = evaluated(from_tangent(system, dtype), (after["q"],), dtype)
    unit = np.eye(n, dtype=dtype)
    others = {"qd": unit[:, nv : 2 * nv], "u": unit[:, 2 * nv :]}
    series = [state[name] if name in state else after[name] for name in pair.series]
    A, B = np.empty((rows, n, n), dtype), np.empty((rows, n, nv), dtype)
    tangent = to_tangent(system, dtype)
    size = max(1, _ROWS // n)
    for first in range(0, rows, size):
        cut = slice(first, min(first + size, rows))
        count = cut.stop - cut.start

        def repeated(x: Array, cut: slice = cut) -> Array:
            return x if len(x) == 1 and rows > 1 else np.repeat(x[cut], n, axis=0)

        weights: dict[str, Array] = {}
        for name, shape in pair.gradients.items():
            if name == "q":
                weights[name] = seeds[cut].reshape((-1, system.nq))
            elif name in others:
                weights[name] = np.tile(others[name], (count, 1))
            else:
                weights[name] = np.zeros((count * n, *shape), dtype)
        inputs = [*weights.values(), *map(repeated, constants)]
        inputs += [repeated(x)[:, None] for x in (*series, given[TAU])]
        gradients = dict(zip(weights, pair.backward(np.ones(1), inputs), strict=True))
        (by_q,) = evaluated(tangent, (repeated(state["q"]), gradients["q"]), dtype)
        parts = [by_q, gradients["qd"], *([gradients["u"]] if "u" in gradients else [])]
        A[cut] = np.concatenate(parts, axis=-1).reshape((count, n, n))
        B[cut] = gradients[TAU].reshape((count, n, nv))
    if UNSOLVED in after:
        bad = after[UNSOLVED] > 0
        A[bad], B[bad] = np.nan, np.nan
    return StepDerivatives(A.reshape((*setup.batch, n, n)), B.reshape((*setup.batch, n, nv)))
