"""``sixd.rollout_gradient``: the cost of a motion under given forces, and its gradients by the adjoint of all steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sixd.errors import ScalarTypeError, ShapeError, unknown_name
from sixd.model.system import System, require_system
from sixd.runtime import threads
from sixd.runtime.batch import require_unmasked
from sixd.runtime.routine import VECTOR, Rollout, new_array
from sixd.simulation.diagnostics import warn
from sixd.simulation.gpu_rows import are_on_gpu
from sixd.simulation.gradients.adjoint_steps import (
    COST,
    TAU,
    Pair,
    evaluated,
    final_code,
    forward_backward_steps,
    to_tangent,
    traced_cost,
)
from sixd.simulation.gradients.gpu_gradient import gradient_on_gpu
from sixd.simulation.problem import PROJECTED
from sixd.simulation.progress import Progress
from sixd.simulation.setup import Setup, make_setup, positive
from sixd.simulation.stepping.compiled_steps import FIXED_STEP, UNSOLVED
from sixd.simulation.stepping.fixed import STEP, normalized
from sixd.spatial.scalar import Array

# bytes of the records of a thread, which then stay in a cache between both ways (ur_arm, rk4: 3.7 times the motion
# alone instead of 4.1)
CACHED = 2e6
MEMORY = 64e6  # bytes of all records; for more, the steps are done in pieces, all but the last of them twice
_SHORTEST = 16  # steps of a piece


class RolloutGradient(NamedTuple):
    """The cost of motions and its gradients; the leading dimensions … are those of the batch.

    cost : (…).
    q, qd : (…, nv), by the start; by a configuration in the tangent space, measured as qd is.
    controls : (…, steps, nv).
    parameters : name -> (…, core).
    last_q, last_qd : (…, nq), (…, nv), the state at the end.
    facts : "memory" [MB] of recorded states; with friction, limits, contact or method "implicit" also "unsolved", by
        row: how many problems of impulses, or matrices of steps, had no solution; gradients of such rows are NaN.
    """

    cost: Array
    q: Array
    qd: Array
    controls: Array
    parameters: dict[str, Array]
    last_q: Array
    last_qd: Array
    facts: dict[str, Any]


def rollout_gradient(
    system: System,
    q: Any,
    qd: Any,
    controls: Any,
    *,
    dt: float = STEP,
    cost: Callable[..., Any] | None = None,
    final: Callable[..., Any] | None = None,
    method: str = "rk4",
    forces: Any = (),
    parameters: Mapping[str, Any] | None = None,
    f_ext: Any = None,
    constraints: str = PROJECTED,
    stabilisation: float = 20.0,
    progress: bool | Callable[[float], Any] | None = None,
) -> RolloutGradient:
    """The cost of a motion under given joint forces, and its gradients by start, forces and parameters.

    Parameters
    ----------
    system, q, qd : as for ``sixd.simulate``; q (…, nq), qd (…, nv), or None.
    controls : (…, steps, nv), the joint forces [N m or N], held during each step; their number is that of the steps.
    dt : the step [s].
    cost : a function ``cost(t, q, qd, tau)`` of one state and the forces that begin there, a number. It is summed over
        the steps, from the start to the last but one state; multiply by dt for an integral.
    final : a function ``final(q, qd)`` of the last state, a number. Both are written like controllers, with NumPy's
        operators and the functions of ``sixd.spatial``, and may call the functions of the library.
    method : "rk4", "euler", "midpoint" or "implicit".
    forces, f_ext, constraints, stabilisation, progress : as for ``sixd.simulate``.
    parameters : name -> (…, core), as for ``sixd.simulate``; the result has the gradients by all of them.

    Returns
    -------
    ``RolloutGradient``: ``cost`` (…), ``q``, ``qd`` (…, nv), ``controls`` (…, steps, nv), ``parameters``, ``last_q``,
    ``last_qd``, ``facts``.

    Notes
    -----
    Exact derivatives of the steps as they are computed, not differences, for all rows in one compiled loop there and
    one back. It takes three to four times as long as the motion, however many controls and parameters there are. Dry
    friction, rigid limits and contact: joints and points that stick, slide or are open do so in the derivatives, too.
    The functions are traced at each call, a millisecond and more if they call the library, and compiled when they are
    new; with a function f_ext or force elements of your own the steps are traced, too. Infinite slopes of roots count
    as zero. Ctrl-C raises KeyboardInterrupt.

    Arrays may be on an NVIDIA GPU, all of them, of CuPy or PyTorch; those of the result (and "unsolved" in ``facts``)
    are then there, too, nothing waits for them, numbers are not checked, and rows that fail are NaN without a warning.

    >>> import numpy as np, sixd
    >>> arm = sixd.zoo.pendulum()
    >>> found = sixd.rollout_gradient(
    ...     arm, [0.5], [0.0], np.zeros((100, 1)), cost=lambda t, q, qd, tau: q @ q, final=lambda q, qd: qd @ qd
    ... )
    >>> found.controls.shape
    (100, 1)
    """
    where = "rollout_gradient"
    require_system(where, system)
    if method not in FIXED_STEP:
        raise unknown_name(f"{where}: method", "choice", method, FIXED_STEP)
    h = positive(where, "dt", dt, "s", zero=False)
    for name, function in (("cost", cost), ("final", final)):
        if function is not None and not callable(function):
            raise ScalarTypeError(f"{where}: {name} is {function!r}, expected a function, or None.")
    if cost is None and final is None:
        raise ScalarTypeError(f"{where}: neither cost nor final was given, expected at least one of them.")
    if are_on_gpu(q, qd, controls, f_ext, parameters=parameters):
        found = gradient_on_gpu(
            where, system, q, qd, controls, h, cost=cost, final=final, method=method, f_ext=f_ext,
            parameters=parameters, forces=forces, constraints=constraints, stabilisation=stabilisation,
        )  # fmt: skip
        return RolloutGradient(**found)
    taus = _controls(where, system, controls)
    steps = taus.shape[-2]
    setup = make_setup(
        where, system, q, qd, controller=taus[..., 0, :] if steps else np.zeros(system.nv), sample_time=None,
        f_ext=f_ext, forces=forces, parameters=parameters, constraints=constraints, stabilisation=stabilisation,
        seed=None,
    )  # fmt: skip
    nq, nv, dtype = system.nq, system.nv, setup.dtype
    along = None
    if cost is not None:
        along = traced_cost(where, "cost", cost, {"t": (), "q": (nq,), "qd": (nv,), "tau": (nv,)}, dtype)
    end = None
    if final is not None:
        program = traced_cost(where, "final", final, {"q": (nq,), "qd": (nv,)}, dtype)
        end = final_code(setup.problem, program, dtype)
    pair = forward_backward_steps(setup.problem, method, dtype, along)
    sweeps = _BlockSweeps(setup, pair, h, taus.astype(dtype, copy=False), end)
    with Progress(f"{where} {system.name}", max(setup.rows, 1), progress) as bar:
        sweeps.run(bar)
    warn(where, sweeps.trouble, 2)
    return sweeps.result()


def _controls(where: str, system: System, controls: Any) -> Array:
    """Return the controls as an array, checked."""
    require_unmasked(where, "controls", controls)
    taus = np.asarray(controls)
    if taus.dtype.kind not in "fiu":
        hint = " A law of feedback can be a force element (sixd.Force)." if callable(controls) else ""
        raise ScalarTypeError(f"{where}: controls hold {taus.dtype} values, expected real numbers.{hint}")
    if taus.ndim < 2 or taus.shape[-1] != system.nv:
        hint = "" if taus.ndim != 1 or len(taus) != system.nv else " For one step write controls[None]."
        raise ShapeError(
            f"{where}: controls has shape {taus.shape}, expected (…, steps, {system.nv}), the joint forces of "
            f"{system.name!r} in each step.{hint}"
        )
    if not np.isfinite(taus).all():
        raise ScalarTypeError(f"{where}: controls hold NaN or infinity, expected finite numbers.")
    return taus if taus.dtype == np.float32 else taus.astype(float, copy=False)


class _BlockSweeps:
    """All rows, block by block: there, with states recorded, and back."""

    def __init__(self, setup: Setup, pair: Pair, h: float, taus: Array, end: Rollout | None) -> None:
        self.setup, self.pair, self.end = setup, pair, end
        self.steps, self.nv = taus.shape[-2:]
        rows, dtype = setup.rows, setup.dtype
        batch = setup.batch if taus.ndim > 2 else ()
        whole = np.ascontiguousarray(np.broadcast_to(taus, (*batch, self.steps, self.nv)))
        self.taus = whole.reshape((math.prod(batch), self.steps, self.nv))
        numbers = {"h": np.array([h], dtype), "start": np.zeros(1, dtype)}
        own = {f"constant {name}": x for name, x in setup.constants.items()}
        self.constants = [(numbers | own)[name] for name in pair.constants]
        self.tangent = to_tangent(setup.problem.system, dtype)
        self.start = {name: np.zeros((rows, *shape), dtype) for name, shape in pair.state.items()}
        self.start |= {"q": normalized(setup), "qd": setup.qd, "u": setup.u}
        made = {name: np.zeros((rows, *shape), dtype) for name, shape in pair.gradients.items() if name != TAU}
        self.found = made | {TAU: new_array((rows, self.steps, self.nv), np.dtype(dtype))}
        self.last = {name: x.copy() for name, x in self.start.items()}
        self.cost = np.zeros(rows, dtype)
        self._plan()

    def _plan(self) -> None:
        """Choose the rows of a block and the steps of a piece, so that records take little memory."""
        kind = np.dtype(self.setup.dtype)
        step = max(sum(map(math.prod, self.pair.series.values())), 1) * kind.itemsize  # bytes of a row
        rows, steps = max(self.setup.rows, 1), max(self.steps, 1)
        count = threads.get_num_threads()
        self.block = min(rows, max(int(CACHED * count / (step * steps)) // VECTOR, count) * VECTOR)
        self.piece = min(steps, max(int(MEMORY / (step * self.block)), _SHORTEST))
        self.records = {
            name: new_array((self.block, self.piece + (name in self.pair.state), *shape), kind)
            for name, shape in self.pair.series.items()
        }
        self.memory = sum(x.nbytes for x in self.records.values()) / 1e6

    def run(self, bar: Progress) -> None:
        """Do the work."""
        for first in range(0, self.setup.rows, self.block):
            self._block(slice(first, min(first + self.block, self.setup.rows)))
            bar.update(min(first + self.block, self.setup.rows))

    def _block(self, rows: slice) -> None:
        state = {name: x[rows] for name, x in self.start.items()}
        pieces = [slice(a, min(a + self.piece, self.steps)) for a in range(0, self.steps, self.piece)]
        starts: list[dict[str, Array]] = []
        for piece in pieces:
            starts.append(state)
            state = self._there(rows, piece, state)
        for name, x in state.items():
            self.last[name][rows] = x
        weights = self._weights(rows, state)
        for k, piece in reversed(list(enumerate(pieces))):
            if k < len(pieces) - 1:
                self._there(rows, piece, starts[k])
            weights = self._back(rows, piece, weights)
        for name, x in weights.items():
            if name != TAU:
                self.found[name][rows] = x

    def _given(self, rows: slice, piece: slice) -> tuple[list[Array], Array]:
        """The constants and tau of the rows; some have one row for all."""
        *constants, taus = (x if len(x) == 1 else x[rows] for x in (*self.constants, self.taus))
        return constants, taus[:, piece]

    def _there(self, rows: slice, piece: slice, state: dict[str, Array]) -> dict[str, Array]:
        """Return the state after a piece of the steps; the records get what the way back needs."""
        pair, steps, count = self.pair, piece.stop - piece.start, len(state["q"])
        constants, taus = self._given(rows, piece)
        out: list[Array | None] = []
        for name in pair.outputs:
            record = self.records.get(name)
            if record is not None and name in pair.state:
                record[:count, 0] = state[name]
                out.append(record[:count, 1 : steps + 1])
            else:
                out.append(None if record is None else record[:count, :steps])
        found = pair.forward(np.ones(steps), [*state.values(), *constants, taus], out)
        pairs = zip(pair.state, found, strict=False)
        return {name: x[:, -1].copy() if pair.outputs[name] else x for name, x in pairs}

    def _weights(self, rows: slice, state: dict[str, Array]) -> dict[str, Array]:
        """Return the gradients at the end of the motion, and note the cost."""
        dtype = self.setup.dtype
        weights = {name: np.zeros((len(state["q"]), *shape), dtype) for name, shape in self.pair.gradients.items()}
        if COST in state:
            self.cost[rows] = state[COST]
            weights[COST][:] = 1
        if self.end is not None:
            given = state["q"], state["qd"]
            zeros = [np.zeros(len(given[0]), dtype), *map(np.zeros_like, given)]
            _, _, value, weights["q"], weights["qd"] = self.end(np.ones(1), [*given, *zeros])
            self.cost[rows] += value
        return weights

    def _back(self, rows: slice, piece: slice, weights: dict[str, Array]) -> dict[str, Array]:
        """Return the gradients before a piece of the steps; those by its forces are noted."""
        steps, count = piece.stop - piece.start, len(weights["q"])
        constants, taus = self._given(rows, piece)
        series = [record[:count, :steps] for record in self.records.values()]
        out = [self.found[TAU][rows, piece] if name == TAU else None for name in weights]
        found = self.pair.backward(np.ones(steps), [*weights.values(), *constants, *series, taus], out)
        return {name: x[:, 0] if name == TAU else x for name, x in zip(weights, found, strict=True)}

    @property
    def trouble(self) -> str | None:
        """What a warning says of motions that failed."""
        start, end = (
            np.isfinite(np.concatenate([x["q"], x["qd"]], axis=-1)).all(axis=-1) for x in (self.start, self.last)
        )
        failed = int(np.sum(start & ~end))
        text = f"{failed} of {self.setup.rows} motions are not finite at their end, nor are their gradients"
        return f"{text}. A shorter dt, or method='implicit', may help." if failed else None

    def result(self) -> RolloutGradient:
        """Return the results in the shape of the batch."""
        setup, found, last = self.setup, self.found, self.last
        (q,) = evaluated(self.tangent, (self.start["q"], found["q"]), setup.dtype)
        gradients = {"q": q, "qd": found["qd"], "controls": found[TAU]}
        parameters = {name: found[f"constant {name}"] for name in setup.problem.parameters}
        facts: dict[str, Any] = {"memory": self.memory}
        if UNSOLVED in last:
            bad = last[UNSOLVED] > 0
            for x in (*gradients.values(), *parameters.values()):
                x[bad] = np.nan
            facts["unsolved"] = last[UNSOLVED].astype(int).reshape(setup.batch)[()]

        def batched(x: Array) -> Any:
            return x.reshape((*setup.batch, *x.shape[1:]))[()]

        return RolloutGradient(
            batched(self.cost), **{name: batched(x) for name, x in gradients.items()},
            parameters={name: batched(x) for name, x in parameters.items()},
            last_q=batched(last["q"]), last_qd=batched(last["qd"]), facts=facts,
        )  # fmt: skip
