"""The initial state of ``sixd simulate``: prescribed or random, and assembled if there are constraints."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np

import sixd
from sixd.cli.arguments.state import named_joints, parse_state, random_states
from sixd.cli.output import console, count, duration, print_notes
from sixd.errors import AssemblyError, SimulationWarning
from sixd.model import Model
from sixd.spatial.scalar import Array

_CHANGED = 1e-6  # a coordinate that assembly moved by less counts as unchanged
_MOST_CHANGES = 6  # that are listed one by one
_MANY, _TRIED, _LONG = 100, 5, 10.0  # states from which the time is estimated, states tried, seconds worth a note


class InitialState(NamedTuple):
    """States (n,) or (batch, n), the seed if values are random, and notes on values that were changed."""

    q: Array
    qd: Array
    seed: int | None
    notes: list[str]


def initial_state(model: Model, q: str | None, qd: str | None, seed: int | None, size: int | None) -> InitialState:
    """Return the states of the options; joints in --q and --qd keep their values if the constraints allow it."""
    if seed is None and size is not None and q is None:
        seed = 0
    position, velocity = model.initial_configuration(), np.zeros(model.nv)
    if seed is not None:
        position, velocity = random_states(model, seed, size)
    position = position if q is None else parse_state(model, "--q", q, position)
    velocity = velocity if qd is None else parse_state(model, "--qd", qd, velocity)
    notes: list[str] = []
    if model.constraints:
        _announce_wait(model, position, velocity)
        with console(stderr=True).status("assembling"):
            position, velocity, notes = _assembled(model, position, velocity, q, qd)
    if size is not None:
        position, velocity = (
            np.ascontiguousarray(np.broadcast_to(x, (size, x.shape[-1]))) for x in (position, velocity)
        )
    return InitialState(position, velocity, seed, notes)


def _announce_wait(model: Model, q: Array, qd: Array) -> None:
    """Print an estimate before a long wait: states are assembled one by one, some 10 ms each."""
    states = max(len(x) if x.ndim > 1 else 1 for x in (q, qd))
    if states < _MANY:
        return
    began = perf_counter()
    for k in range(_TRIED):
        sixd.assemble(model, *(x[k] if x.ndim > 1 else x for x in (q, qd)))
    seconds = states * (perf_counter() - began) / _TRIED
    if seconds > _LONG:
        print_notes([f"assembling {count(states, 'state')} one by one takes about {duration(seconds)}."])


def _assembled(
    model: Model, q: Array, qd: Array, q_text: str | None, qd_text: str | None
) -> tuple[Array, Array, list[str]]:
    """Return (q, qd, notes): first the configuration is assembled, then the velocity there."""
    in_q, in_qd = named_joints(q_text), named_joints(qd_text)
    position = _holding([[*in_q, *in_qd], in_q, in_q[:1], []], lambda fixed: sixd.assemble(model, q, fixed=fixed))
    velocity = _holding([in_qd, in_qd[:1], []], lambda fixed: sixd.assemble(model, position, qd, fixed=fixed)[1])
    notes = []
    if q_text is not None:
        notes += _changes("--q", q, position, [(n, model.q_slice(n)) for n in in_q or model.joint_names])
    if qd_text is not None:
        notes += _changes("--qd", qd, velocity, [(n, model.v_slice(n)) for n in in_qd or model.joint_names])
    return position, velocity, notes


def _holding(choices: Sequence[list[str]], assemble: Callable[[list[str]], Array]) -> Array:
    """Return the state assembled with the first of these lists of fixed joints that allows it."""
    for k, fixed in enumerate(choices):
        if fixed in choices[k + 1 :]:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", SimulationWarning)  # a state that cannot be assembled
                return assemble(fixed)
        except (AssemblyError, SimulationWarning) as error:
            if not fixed:
                raise AssemblyError(str(error)) from None
    raise AssertionError


def _changes(option: str, asked: Array, used: Array, joints: Iterable[tuple[str, slice]]) -> list[str]:
    asked, used = np.broadcast_arrays(asked, used)
    moved = [(name, asked[..., s], used[..., s]) for name, s in joints]
    moved = [m for m in moved if np.abs(m[1] - m[2]).max() > _CHANGED]
    if not moved:
        return []
    if asked.ndim > 1:
        listed = ", ".join(name for name, *_ in moved[:_MOST_CHANGES])
    else:
        listed = ", ".join(f"{name} {_written(a)} → {_written(b)}" for name, a, b in moved[:_MOST_CHANGES])
    more = f" and {len(moved) - _MOST_CHANGES} more" if len(moved) > _MOST_CHANGES else ""
    return [f"{option} was changed, because it violates the constraints: {listed}{more}."]


def _written(x: Array) -> str:
    return ":".join(f"{v:.4g}" for v in x)
