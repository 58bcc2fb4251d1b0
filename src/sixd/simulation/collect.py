"""From records to a Trajectory: pieces are joined or streamed, interruptions handled, diverged rollouts reported."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sixd.engine.kernel import row_kernel
from sixd.simulation.diagnostics import divergence_warning, unsolved_warning
from sixd.simulation.progress import finish
from sixd.simulation.setup import Setup
from sixd.simulation.stepping.fixed import RecordBuffer, Runner, StateRecords
from sixd.simulation.user_warnings import is_quiet, warn
from sixd.spatial.scalar import Array
from sixd.trajectory.device_trajectory import DeviceTrajectory
from sixd.trajectory.trajectory import Trajectory


def collect(
    setup: Setup, pieces: Iterator[StateRecords], facts: dict[str, Any], on_chunk: Callable[[Trajectory], Any] | None,
    buffer: RecordBuffer | None = None, runner: Runner | None = None,
) -> Any:  # fmt: skip
    """Return the trajectory of all pieces, which are in the buffer already if there is one. ``on_chunk`` is called with
    each piece; then only the last record is kept. ``runner`` made the pieces, if steps are fixed."""
    where = setup.problem.where
    controller = None if setup.problem.law is None else _compiled_controller(setup)
    kept: list[StateRecords] = []
    interrupted = False

    def trajectory(records: StateRecords) -> Trajectory:
        if runner is not None:
            facts.update(runner.facts)
        if controller is not None:
            t = setup.library.upload(setup.q, records.t.astype(setup.dtype))
            records = records._replace(tau=controller(t, records.q, records.qd))
        return make_trajectory(setup, records, facts)

    try:
        for piece in pieces:
            if on_chunk is not None:
                kept = [piece.last]
                on_chunk(trajectory(piece))
            else:
                kept.append(piece)
    except KeyboardInterrupt:
        if not kept:
            raise
        interrupted = True
    # the controller's forces at the records are computed here
    motion, interrupted = finish(lambda: trajectory(_joined(kept, buffer)), interrupted)
    if interrupted:
        motion = replace(motion, interrupted=True)
        warn(where, _interruption(motion, runner))
    if (runner is not None or not interrupted) and not is_quiet() and not setup.library.on_gpu:
        warn(where, divergence_warning(motion, runner))
        warn(where, unsolved_warning(motion))
    return motion


def _interruption(motion: Trajectory, runner: Runner | None) -> str:
    """Return the text of the warning of an interruption."""
    if runner is None and motion.batch:  # one after the other: those that were not reached are NaN
        rows = math.prod(motion.batch)
        return f"interrupted when {rows - motion.failed} of {rows} rollouts were complete; what was computed is kept."
    return f"interrupted at t = {motion.t[-1]:g} s; what was computed is kept."


def _compiled_controller(setup: Setup) -> Callable[..., Array]:
    """Return the controller as a compiled function on batches."""
    controller, system = setup.problem.law, setup.problem.system
    assert controller is not None
    cores = {"t": (), "q": (system.nq,), "qd": (system.nv,)}
    return row_kernel("controller", lambda _, t, q, qd: np.asarray(controller(t, q, qd)), cores, system, setup.dtype)


def _joined(pieces: list[StateRecords], buffer: RecordBuffer | None) -> StateRecords:
    """Return the records of all pieces, from the buffer; without one there is a single piece."""
    if len(pieces) == 1 or buffer is None:
        (piece,) = pieces
        return piece
    t = np.concatenate([piece.t for piece in pieces])
    sampled = [piece.tau for piece in pieces if piece.tau is not None]
    tau = np.concatenate(sampled, axis=1) if sampled else None
    return StateRecords(t, tau=tau, **{name: x[:, : len(t)] for name, x in buffer.arrays.items()})


def make_trajectory(setup: Setup, records: StateRecords, facts: Mapping[str, Any], interrupted: bool = False) -> Any:
    """Return the trajectory of a setup's states from their records; without ``tau`` forces are constant."""
    problem, library, tau = setup.problem, setup.library, records.tau
    if tau is None:
        tau = setup.constants["tau"][:, None] if "tau" in setup.constants else setup.zeros((1, 1, 1))
    elif not library.on_gpu:
        tau = tau.astype(setup.dtype, copy=False)
    parameters = {name: setup.constants[name] for name in problem.parameters}
    parameters = {name: library.view(x, (setup.rows, *x.shape[1:])) for name, x in parameters.items()}
    fields: dict[str, Any] = {
        "t": records.t, "q": setup.shaped(records.q), "qd": setup.shaped(records.qd), "system": problem.system,
        "tau": setup.shaped(library.view(tau, tuple(records.qd.shape))), "forces": problem.forces, "facts": dict(facts),
        "friction": None if records.friction is None else setup.shaped(records.friction),
        "internal": setup.shaped(records.u) if problem.nu else None,
        "parameters": {name: setup.shaped(x) for name, x in parameters.items()},
    }  # fmt: skip
    return DeviceTrajectory(**fields) if library.on_gpu else Trajectory(**fields, interrupted=interrupted)
