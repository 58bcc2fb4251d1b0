"""``Scenario.gradient``: the cost of a motion under prescribed forces, and its gradients by the adjoint of all steps.

On a GPU all states are one block: the steps are one launch forward, and one backward.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.errors import ScalarTypeError, ShapeError, require_known
from sixd.model.system import System
from sixd.runtime import threads
from sixd.runtime.arrays.registry import common_library, read_array
from sixd.runtime.batch import require_unmasked
from sixd.runtime.routine import VECTOR, new_array
from sixd.simulation.gradients.adjoint_steps import (
    COST,
    TAU,
    Pair,
    final_code,
    forward_backward_steps,
    tangent_gradient,
    traced_cost,
)
from sixd.simulation.progress import Progress
from sixd.simulation.setup import Setup, are_on_gpu, make_setup
from sixd.simulation.stepping.compiled_steps import FIXED_STEP, UNSOLVED
from sixd.simulation.stepping.fixed import STEP, start_of
from sixd.simulation.user_warnings import warn
from sixd.spatial.scalar import Array, ArrayLike

if TYPE_CHECKING:
    from sixd.simulation.scenario import Scenario

# bytes of the records of a thread, which then stay in a cache between both ways (ur_arm, rk4: 3.7 times the motion
# alone instead of 4.1)
CACHED = 2e6
# bytes of all records; for more, the steps are done in pieces, all but the last of them twice
MEMORY, MEMORY_ON_GPU = 64e6, 4e9
_SHORTEST = 16  # steps of a piece


class RolloutGradient(NamedTuple):
    """The cost of motions and its gradients; the leading dimensions … are those of the batch.

    cost : (…).
    q, qd : (…, nv), with respect to the initial state; for a configuration in the tangent space, in the units of qd.
    controls : (…, steps, nv).
    parameters : name -> (…, core).
    last_q, last_qd : (…, nq), (…, nv), the state at the end.
    facts : "memory" [MB] of recorded states; with friction, limits, contact or method "implicit" also "unsolved", for
        each state the number of impulse problems, or matrices of steps, without a solution. Gradients of such states
        are NaN.
    """

    cost: Array
    q: Array
    qd: Array
    controls: Array
    parameters: dict[str, Array]
    last_q: Array
    last_qd: Array
    facts: dict[str, Any]


def gradient_of_rollout(
    run: Scenario, q: ArrayLike | str | None, qd: ArrayLike | None, controls: ArrayLike,
    cost: Callable[..., Any] | None, final: Callable[..., Any] | None, progress: bool | Callable[[float], Any] | None,
) -> RolloutGradient:  # fmt: skip
    """Return the cost of the motions of a scenario, and its gradients; the arguments are those of
    ``sixd.rollout_gradient``."""
    where, system, method, controller = "rollout_gradient", run.model, run.method, run.controller
    require_known(f"{where}: method", "choice", method, FIXED_STEP)
    for name, function in (("cost", cost), ("final", final)):
        if function is not None and not callable(function):
            raise ScalarTypeError(f"{where}: {name} is {function!r}, expected a function, or None.")
    if cost is None and final is None:
        raise ScalarTypeError(f"{where}: cost and final are both missing, expected at least one of them.")
    if controller is not None and not callable(controller):
        raise ScalarTypeError(f"{where}: controller is {controller!r:.60}, expected a function. Add it to controls.")
    if not are_on_gpu(q, qd, controls, run):
        controls = _controls(where, system, controls)
        steps = controls.shape[-2]
    else:
        common_library(where, ("q", "qd", "controls"), (q, qd, controls))
        shape = read_array(where, "controls", controls).shape
        if len(shape) < 2 or shape[-1] != system.nv:
            wanted = f"(…, steps, {system.nv}), forces of {system.name!r}"
            raise ShapeError(f"{where}: controls has shape {shape}, expected {wanted}.")
        steps = shape[-2]
    setup = make_setup(where, run, q, qd, tau=controls, steps=steps)
    nq, nv, dtype = system.nq, system.nv, setup.dtype
    along, end = None, None
    if cost is not None:
        along = traced_cost(where, "cost", cost, {"t": (), "q": (nq,), "qd": (nv,), "tau": (nv,)}, dtype)
    if final is not None:
        program = traced_cost(where, "final", final, {"q": (nq,), "qd": (nv,)}, dtype)
        end = final_code(setup.problem, program, dtype, setup.target)
    pair = forward_backward_steps(setup.problem, method, dtype, along, setup.target)
    sweeps = _Sweeps(setup, pair, method, STEP if run.dt is None else run.dt, end)
    with Progress(f"{where} {system.name}", max(setup.rows, 1), progress) as bar:
        sweeps.run(bar)
    warn(where, sweeps.trouble)
    return sweeps.result()


def _controls(where: str, system: System, controls: ArrayLike) -> Array:
    """Return the controls as an array, checked."""
    require_unmasked(where, "controls", controls)
    taus = np.asarray(controls)
    if taus.dtype.kind not in "fiu":
        hint = " A feedback controller can be a force element (sixd.Force)." if callable(controls) else ""
        raise ScalarTypeError(f"{where}: controls hold {taus.dtype} values, expected real numbers.{hint}")
    if taus.ndim < 2 or taus.shape[-1] != system.nv:
        hint = "" if taus.ndim != 1 or len(taus) != system.nv else " For one step write controls[None]."
        raise ShapeError(
            f"{where}: controls has shape {taus.shape}, expected (…, steps, {system.nv}), the joint forces of "
            f"{system.name!r} in each step.{hint}"
        )
    return taus if taus.dtype == np.float32 else taus.astype(float, copy=False)


class _Sweeps:
    """All states, block by block: forward, with states recorded, and backward."""

    def __init__(self, setup: Setup, pair: Pair, method: str, h: float, end: Any) -> None:
        self.setup, self.pair, self.end = setup, pair, end
        self.taus = setup.constants["tau"]  # (rows or 1, steps, nv)
        self.steps = int(self.taus.shape[1])
        own = {f"constant {name}": x for name, x in setup.constants.items()}
        own |= {"h": setup.number(h), "start": setup.number(0.0)}
        self.constants = [own[name] for name in pair.constants]
        begun = start_of(setup, method, momenta=False)
        rows, empty = setup.rows, setup.library.empty
        self.start = {name: begun[name] if name in begun else setup.zeros((rows,)) for name in pair.state}
        self.gradients = {name: empty(setup.q, (rows, *shape)) for name, shape in pair.gradients.items() if name != TAU}
        self.gradients[TAU] = self._array((rows, self.steps, setup.problem.system.nv))
        self.last = {name: empty(setup.q, (rows, *shape)) for name, shape in pair.state.items()}
        self.cost = setup.zeros((rows,))
        self._plan()

    def _array(self, shape: tuple[int, ...]) -> Any:
        library, dtype = self.setup.library, np.dtype(self.setup.dtype)
        return library.empty(self.setup.q, shape) if library.on_gpu else new_array(shape, dtype)

    def _plan(self) -> None:
        """Choose the states of a block and the steps of a piece, so that records need little memory."""
        pair, rows, steps = self.pair, max(self.setup.rows, 1), max(self.steps, 1)
        step = max(sum(map(math.prod, pair.series.values())), 1) * np.dtype(self.setup.dtype).itemsize  # bytes a state
        self.block, memory = rows, MEMORY_ON_GPU
        if not self.setup.library.on_gpu:
            count, memory = threads.get_num_threads(), MEMORY
            self.block = min(rows, max(int(CACHED * count / (step * steps)) // VECTOR, count) * VECTOR)
        self.piece = min(steps, max(int(memory / (step * self.block)), _SHORTEST))
        self.records = {
            name: self._array((self.block, self.piece + (name in pair.state), *shape))
            for name, shape in pair.series.items()
        }
        each = [math.prod(x.shape) for x in self.records.values()]
        self.memory = sum(each) * np.dtype(self.setup.dtype).itemsize / 1e6

    def run(self, bar: Progress) -> None:
        """Do the work."""
        for first in range(0, self.setup.rows, self.block):
            self._block(slice(first, min(first + self.block, self.setup.rows)))
            bar.update(min(first + self.block, self.setup.rows))

    def _block(self, rows: slice) -> None:
        state = {name: x[rows] for name, x in self.start.items()}
        pieces = [slice(a, min(a + self.piece, self.steps)) for a in range(0, self.steps, self.piece)]
        starts: list[dict[str, Any]] = []
        for piece in pieces:
            starts.append(state)
            state = self._forward(rows, piece, state)
        for name, x in state.items():
            self.last[name][rows] = x
        weights = self._weights(rows, state)
        for k, piece in reversed(list(enumerate(pieces))):
            if k < len(pieces) - 1:
                self._forward(rows, piece, starts[k])
            weights = self._backward(rows, piece, weights)
        for name, x in weights.items():
            if name != TAU:
                self.gradients[name][rows] = x

    def _inputs(self, rows: slice, piece: slice) -> tuple[list[Any], Any]:
        """The constants and tau of the states; some have one value for all."""
        *constants, taus = (x if x.shape[0] == 1 else x[rows] for x in (*self.constants, self.taus))
        return constants, taus[:, piece]

    def _forward(self, rows: slice, piece: slice, state: dict[str, Any]) -> dict[str, Any]:
        """Return the state after a piece of the steps; the records get what the way back needs."""
        pair, steps, count = self.pair, piece.stop - piece.start, state["q"].shape[0]
        constants, taus = self._inputs(rows, piece)
        out: list[Any] = []
        for name in pair.outputs:
            record = self.records.get(name)
            if record is not None and name in pair.state:
                record[:count, 0] = state[name]
                out.append(record[:count, 1 : steps + 1])
            else:
                out.append(None if record is None else record[:count, :steps])
        results = pair.forward(np.ones(steps), [*state.values(), *constants, taus], out)
        pairs = zip(pair.state, results, strict=False)
        # the records are written again by the next piece
        return {name: self.setup.library.copy(x[:, -1]) if pair.outputs[name] else x for name, x in pairs}

    def _weights(self, rows: slice, state: dict[str, Any]) -> dict[str, Any]:
        """Return the gradients at the end of the motion, and note the cost."""
        setup, count = self.setup, state["q"].shape[0]
        weights = {name: setup.zeros((count, *shape)) for name, shape in self.pair.gradients.items()}
        if COST in state:
            self.cost[rows] = state[COST]
            weights[COST] = setup.library.full(setup.q, (count,), 1.0)
        if self.end is not None:
            zeros = [setup.zeros((count,)), *(setup.zeros(tuple(state[name].shape)) for name in ("q", "qd"))]
            results = self.end(np.ones(1), [state["q"], state["qd"], *zeros])
            _, _, value, weights["q"], weights["qd"] = results
            self.cost[rows] += value
        return weights

    def _backward(self, rows: slice, piece: slice, weights: dict[str, Any]) -> dict[str, Any]:
        """Return the gradients before a piece of the steps; those with respect to its forces are noted."""
        steps, count = piece.stop - piece.start, weights["q"].shape[0]
        constants, taus = self._inputs(rows, piece)
        series = [record[:count, :steps] for record in self.records.values()]
        out = [self.gradients[TAU][rows, piece] if name == TAU else None for name in weights]
        results = self.pair.backward(np.ones(steps), [*weights.values(), *constants, *series, taus], out)
        copy = self.setup.library.copy
        return {name: copy(x[:, 0]) if name == TAU else x for name, x in zip(weights, results, strict=True)}

    @property
    def trouble(self) -> str | None:
        """What a warning says of motions that failed."""
        if self.setup.library.on_gpu:
            return None
        states = [np.concatenate([x["q"], x["qd"]], axis=-1) for x in (self.start, self.last)]
        start, end = (np.isfinite(x).all(axis=-1) for x in states)
        failed = int(np.sum(start & ~end))
        text = f"{failed} of {self.setup.rows} motions are not finite at their end, nor are their gradients"
        return f"{text}. A shorter dt, or method='implicit', may help." if failed else None

    def result(self) -> RolloutGradient:
        """Return the results in the shape of the batch."""
        setup, gradients, last = self.setup, dict(self.gradients), self.last
        gradients["q"] = tangent_gradient(setup.problem.system, self.start["q"], gradients["q"])
        facts: dict[str, Any] = {"memory": self.memory}
        if UNSOLVED in last:
            counts, bad = last[UNSOLVED], last[UNSOLVED] > 0
            facts[UNSOLVED] = self._shaped(counts if setup.library.on_gpu else counts.astype(int))
            for name, x in gradients.items():
                gradients[name] = setup.library.choose(bad.reshape((-1, *[1] * (x.ndim - 1))), math.nan, x)
        shaped = self._shaped
        parameters = {name: shaped(gradients[f"constant {name}"]) for name in setup.problem.parameters}
        cost, q, qd, controls = map(shaped, (self.cost, gradients["q"], gradients["qd"], gradients[TAU]))
        return RolloutGradient(cost, q, qd, controls, parameters, shaped(last["q"]), shaped(last["qd"]), facts)

    def _shaped(self, x: Any) -> Any:
        shaped = self.setup.shaped(x)
        return shaped if self.setup.library.on_gpu else shaped[()]
