"""``sixd.rollout_gradient`` on arrays that are on a GPU: all rows at once, the steps there in a launch, and back.

If records of all steps would need much memory, steps are done in pieces, all but the last of them twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sixd.engine.evaluate import evaluate
from sixd.engine.functions import Function
from sixd.errors import ShapeError
from sixd.model.system import System
from sixd.runtime.array_libraries import common_kind
from sixd.runtime.cuda.arrays import read_array
from sixd.simulation.gpu_rows import GpuRows, constants_of, make_rows, make_setup_of
from sixd.simulation.gradients.adjoint_steps import (
    COST,
    TAU,
    Pair,
    final_code,
    forward_backward_steps,
    traced_cost,
)
from sixd.simulation.setup import Setup
from sixd.simulation.stepping.compiled_steps import UNSOLVED
from sixd.spatial.scalar import Array, object_array
from sixd.trace import derivative

MEMORY = 4e9  # bytes of records
_SHORTEST = 16  # steps of a piece


def _pulled(system: System, q: Array, slopes: Array) -> Array:
    """The gradient (nv,) in the tangent space at q (nq,), of traced scalars, from slopes by the entries of q (nq,)."""
    graph = q[0].graph
    velocity = graph.input("velocity", (system.nv,))  # a linear function of it: its transpose does not depend on it
    rate = graph.entries(system.configuration_rate(q, velocity))
    return object_array(derivative.vjp(rate, graph.entries(velocity), graph.entries(slopes)), (system.nv,))


_TO_TANGENT = Function("gradient", _pulled, ("q", "slopes"), {"slopes": ("nq",)}, named=False, check_finite=False)


def gradient_on_gpu(
    where: str,
    system: System,
    q: Any,
    qd: Any,
    controls: Any,
    h: float,
    *,
    cost: Callable[..., Any] | None,
    final: Callable[..., Any] | None,
    method: str,
    f_ext: Any,
    parameters: Mapping[str, Any] | None,
    **options: Any,
) -> dict[str, Any]:
    """The fields of the result for rows whose arrays are on a GPU; arguments as for ``sixd.rollout_gradient``."""
    nq, nv = system.nq, system.nv
    common_kind(where, ("q", "qd", "controls"), (q, qd, controls))
    shape = read_array(where, "controls", controls).shape
    if len(shape) < 2 or shape[-1] != nv:
        raise ShapeError(f"{where}: controls has shape {shape}, expected (…, steps, {nv}), forces of {system.name!r}.")
    given = constants_of(system, None, f_ext) | {"controls": (controls, shape[-2:])}
    rows = make_rows(where, system, q, qd, given, parameters)
    series = rows.constants.pop("controls")
    setup = make_setup_of(
        rows,
        system,
        controller=np.zeros(nv, rows.dtype),
        sample_time=None,
        f_ext=f_ext,
        parameters=parameters,
        **options,
    )
    along, end = None, None
    if cost is not None:
        along = traced_cost(where, "cost", cost, {"t": (), "q": (nq,), "qd": (nv,), "tau": (nv,)}, rows.dtype)
    if final is not None:
        program = traced_cost(where, "final", final, {"q": (nq,), "qd": (nv,)}, rows.dtype)
        end = final_code(setup.problem, program, rows.dtype, rows.target)
    pair = forward_backward_steps(setup.problem, method, rows.dtype, along, target=rows.target)
    return _Sweep(rows, setup, pair, h, series, end).run(method)


class _Sweep:
    """All rows there, with states recorded, and back."""

    def __init__(self, rows: GpuRows, setup: Setup, pair: Pair, h: float, taus: Any, end: Any) -> None:
        self.rows, self.setup, self.pair, self.taus, self.end = rows, setup, pair, taus, end
        self.steps = int(taus.shape[1])
        own = {f"constant {name}": x for name, x in rows.constants.items()}
        own |= {"h": rows.number(h), "start": rows.number(0.0)}
        self.constants = [own[name] for name in pair.constants]
        size = {"float64": 8, "float32": 4}[rows.dtype]
        step = max(sum(map(math.prod, pair.series.values())), 1) * size * max(rows.rows, 1)
        self.piece = min(max(self.steps, 1), max(int(MEMORY / step), _SHORTEST))
        self.memory = step * (self.piece + 1) / 1e6

    def run(self, method: str) -> dict[str, Any]:
        """Start the work, and return the fields of the result."""
        rows, pair = self.rows, self.pair
        self.records = {
            name: rows.library.empty(rows.like, (rows.rows, self.piece + (name in pair.state), *shape))
            for name, shape in pair.series.items()
        }
        begun = rows.started(self.setup, method, momenta=False)
        state = {name: begun[name] if name in begun else rows.zeros((rows.rows,)) for name in pair.state}
        q = state["q"]
        pieces = [slice(a, min(a + self.piece, self.steps)) for a in range(0, self.steps, self.piece)]
        starts = []
        for piece in pieces:
            starts.append(state)
            state = self._there(piece, state)
        last, (weights, cost) = state, self._weights(state)
        controls = rows.library.empty(rows.like, (rows.rows, self.steps, self.setup.problem.system.nv))
        for k, piece in reversed(list(enumerate(pieces))):
            if k < len(pieces) - 1:
                self._there(piece, starts[k])
            weights = self._back(piece, weights, controls[:, piece])
        return self._result(q, last, weights, cost, controls)

    def _there(self, piece: slice, state: dict[str, Any]) -> dict[str, Any]:
        """The state after a piece of the steps; the records get what the way back needs."""
        pair, steps = self.pair, piece.stop - piece.start
        out: list[Any] = []
        for name in pair.outputs:
            record = self.records.get(name)
            if record is not None and name in pair.state:
                record[:, 0] = state[name]
                out.append(record[:, 1 : steps + 1])
            else:
                out.append(None if record is None else record[:, :steps])
        given = [*state.values(), *self.constants, self.taus[:, piece]]
        found = pair.forward(np.ones(steps), given, out)
        pairs = zip(pair.state, found, strict=False)
        # the records are written again by the next piece
        return {name: self._copy(x[:, -1]) if pair.outputs[name] else x for name, x in pairs}

    def _copy(self, x: Any) -> Any:
        return x.clone() if hasattr(x, "clone") else x.copy()

    def _weights(self, state: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """The gradients at the end of the motion, and the cost."""
        rows = self.rows
        weights = {name: rows.zeros((rows.rows, *shape)) for name, shape in self.pair.gradients.items()}
        cost = None
        if COST in state:
            cost = state[COST]
            weights[COST] = rows.library.full(rows.like, (rows.rows,), 1.0)
        if self.end is not None:
            zeros = [rows.zeros((rows.rows,)), *(rows.zeros(tuple(state[name].shape)) for name in ("q", "qd"))]
            found = self.end(np.ones(1), [state["q"], state["qd"], *zeros])
            _, _, value, weights["q"], weights["qd"] = found
            cost = value if cost is None else cost + value
        return weights, cost

    def _back(self, piece: slice, weights: dict[str, Any], by_tau: Any) -> dict[str, Any]:
        """The gradients before a piece of the steps; those by its forces go to ``by_tau``."""
        steps = piece.stop - piece.start
        series = [record[:, :steps] for record in self.records.values()]
        given = [*weights.values(), *self.constants, *series, self.taus[:, piece]]
        out = [by_tau if name == TAU else None for name in weights]
        found = dict(zip(weights, self.pair.backward(np.ones(steps), given, out), strict=True))
        found[TAU] = self._copy(by_tau[:, 0])
        return found

    def _result(self, q: Any, last: Mapping[str, Any], weights: dict[str, Any], cost: Any, controls: Any) -> Any:
        rows, problem, module = self.rows, self.setup.problem, self.rows.library.module
        by_q = evaluate(_TO_TANGENT, problem.system, (), (q, weights["q"]))
        found = {"q": by_q, "qd": weights["qd"], "controls": controls}
        found |= {f"constant {name}": weights[f"constant {name}"] for name in problem.parameters}
        facts: dict[str, Any] = {"memory": self.memory}
        if UNSOLVED in last:
            facts[UNSOLVED] = rows.shaped(last[UNSOLVED])
            bad = last[UNSOLVED] > 0
            for name, x in found.items():
                found[name] = module.where(bad.reshape((-1, *[1] * (x.ndim - 1))), math.nan, x)
        shaped = {name: rows.shaped(x) for name, x in found.items()}
        return {
            "cost": rows.shaped(cost), "q": shaped["q"], "qd": shaped["qd"], "controls": shaped["controls"],
            "parameters": {name: shaped[f"constant {name}"] for name in problem.parameters},
            "last_q": rows.shaped(last["q"]), "last_qd": rows.shaped(last["qd"]), "facts": facts,
        }  # fmt: skip
