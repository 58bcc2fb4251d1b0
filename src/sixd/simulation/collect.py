"""From records to a Trajectory: pieces are joined or streamed, interruptions handled, diverged rows reported."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sixd.engine.kernel import row_kernel
from sixd.simulation.diagnostics import divergence_warning, warn
from sixd.simulation.progress import finish
from sixd.simulation.setup import Setup
from sixd.simulation.stepping.fixed import RecordBuffer, Records, Runner
from sixd.spatial.scalar import Array
from sixd.trajectory.trajectory import Trajectory


def collect(
    setup: Setup,
    pieces: Iterator[Records],
    facts: dict[str, Any],
    on_chunk: Callable[[Trajectory], Any] | None,
    buffer: RecordBuffer | None = None,
    runner: Runner | None = None,
) -> Trajectory:
    """Return the trajectory of all pieces, which are in the buffer already if there is one.

    ``on_chunk`` is called with each piece; then only the last record is kept. ``runner`` made the pieces, if steps are
    fixed.
    """
    where = setup.problem.where
    law = None if setup.problem.law is None else _compiled_law(setup)
    kept: list[Records] = []
    interrupted = False
    try:
        for piece in pieces:
            if on_chunk is not None:
                kept = [piece.last]
                on_chunk(_trajectory(setup, [piece], facts, law, None))
            else:
                kept.append(piece)
    except KeyboardInterrupt:
        if not kept:
            raise
        interrupted = True
    # the controller's forces at the records are computed here
    found, interrupted = finish(lambda: _trajectory(setup, kept, facts, law, buffer), interrupted)
    if interrupted:
        found = replace(found, interrupted=True)
        warn(where, _interruption(found, runner), 3)
    if runner is not None or not interrupted:
        warn(where, divergence_warning(found, runner), 3)
    return found


def _interruption(found: Trajectory, runner: Runner | None) -> str:
    """Return the text of the warning of an interruption."""
    if runner is None and found.batch:  # row by row: those that were not reached are NaN
        rows = math.prod(found.batch)
        return f"interrupted when {rows - found.failed} of {rows} rows were complete; what was computed is kept."
    return f"interrupted at t = {found.t[-1]:g} s; what was computed is kept."


def _compiled_law(setup: Setup) -> Callable[..., Array]:
    """Return the controller as a compiled function on batches."""
    law, system = setup.problem.law, setup.problem.system
    assert law is not None
    cores = {"t": (), "q": (system.nq,), "qd": (system.nv,)}
    return row_kernel("controller", lambda _, t, q, qd: np.asarray(law(t, q, qd)), cores, system, setup.dtype)


def _trajectory(
    setup: Setup,
    pieces: list[Records],
    facts: Mapping[str, Any],
    law: Callable[..., Array] | None,
    buffer: RecordBuffer | None,
) -> Trajectory:
    """Return the trajectory of some pieces, with the controller's forces at the records."""
    t = np.concatenate([p.t for p in pieces])
    if buffer is None:
        q, qd, u = (_joined([getattr(p, name) for p in pieces]) for name in ("q", "qd", "u"))
    else:
        q, qd, u = (buffer.arrays[name][:, : len(t)] for name in ("q", "qd", "u"))
    tau = None
    if law is not None:
        tau = law(t.astype(setup.dtype), q, qd)
    elif setup.sampled is not None:
        tau = _joined([p.tau for p in pieces if p.tau is not None])
    return make_trajectory(setup, t, q, qd, u if setup.problem.nu else None, tau, facts)


def make_trajectory(
    setup: Setup,
    t: Array,
    q: Array,
    qd: Array,
    internal: Array | None,
    tau: Array | None,
    facts: Mapping[str, Any],
    interrupted: bool = False,
) -> Trajectory:
    """Return the trajectory of a setup's rows from arrays (rows, r, n); without ``tau`` forces are constant."""
    problem, batch = setup.problem, setup.batch
    if tau is None:
        tau = setup.constants["tau"][:, None] if "tau" in setup.constants else np.zeros((1, 1, 1))
    tau = np.broadcast_to(tau.astype(setup.dtype, copy=False), qd.shape)
    parameters = {name: setup.constants[name] for name in problem.parameters}
    if batch:
        parameters = {name: np.broadcast_to(x, (setup.rows, *x.shape[1:])) for name, x in parameters.items()}
    return Trajectory(
        t=t,
        q=_shaped(q, batch),
        qd=_shaped(qd, batch),
        system=problem.system,
        tau=_shaped(tau, batch),
        internal=None if internal is None else _shaped(internal, batch),
        forces=problem.forces,
        parameters={name: _shaped(x, batch) for name, x in parameters.items()},
        interrupted=interrupted,
        facts=dict(facts),
    )


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _shaped(x: Array, batch: tuple[int, ...]) -> Array:
    return x.reshape((*batch, *x.shape[1:]))
