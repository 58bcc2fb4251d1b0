"""Where ``sixd simulate`` starts: states given or drawn, put together where there are constraints."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import sixd
from sixd.cli.arguments.state import named_joints, parse_state, random_states
from sixd.cli.motion_summary import tell
from sixd.cli.output import console, count, digits, duration
from sixd.errors import AssemblyError, ScalarTypeError, SimulationWarning
from sixd.model import Model
from sixd.spatial.scalar import Array

_UNKNOWN_MEMORY = 8e9  # bytes taken for available where the system does not tell
_CHANGED = 1e-6  # a coordinate that assembly moved by less is as it was given
_MOST_CHANGES = 6  # that are told one by one
_MANY, _TRIED, _LONG = 100, 5, 10.0  # rows from which a wait is estimated, rows tried for that, seconds worth a note


class Start(NamedTuple):
    """States (n,) or (batch, n), the seed if something was drawn, and what is not as it was given."""

    q: Array
    qd: Array
    seed: int | None
    notes: list[str]


def start(model: Model, q: str | None, qd: str | None, seed: int | None, rows: int | None) -> Start:
    """The states that the options name; joints in --q and --qd keep their values where the constraints allow it."""
    if seed is None and rows is not None and q is None:
        seed = 0
    place, speed = model.neutral(), np.zeros(model.nv)
    if seed is not None:
        place, speed = random_states(model, seed, rows)
    place = place if q is None else parse_state(model, "--q", q, place)
    speed = speed if qd is None else parse_state(model, "--qd", qd, speed)
    notes: list[str] = []
    if model.constraints:
        _tell_of_waiting(model, place, speed)
        with console(stderr=True).status("assembling"):
            place, speed, notes = _assembled(model, place, speed, q, qd)
    if rows is not None:
        place, speed = (np.ascontiguousarray(np.broadcast_to(x, (rows, x.shape[-1]))) for x in (place, speed))
    return Start(place, speed, seed, notes)


def _tell_of_waiting(model: Model, q: Array, qd: Array) -> None:
    """Assembly goes row by row, some 10 ms each: a long wait is told before it begins."""
    rows = max(len(x) if x.ndim > 1 else 1 for x in (q, qd))
    if rows < _MANY:
        return
    began = perf_counter()
    for k in range(_TRIED):
        sixd.assemble(model, *(x[k] if x.ndim > 1 else x for x in (q, qd)))
    seconds = rows * (perf_counter() - began) / _TRIED
    if seconds > _LONG:
        tell([f"assembling {count(rows, 'state')} one by one takes some {duration(seconds)}."])


def _assembled(
    model: Model, q: Array, qd: Array, q_text: str | None, qd_text: str | None
) -> tuple[Array, Array, list[str]]:
    """(q, qd, notes): first the configuration, then the velocity there."""
    in_q, in_qd = named_joints(q_text), named_joints(qd_text)
    there = _holding([[*in_q, *in_qd], in_q, in_q[:1], []], lambda fixed: sixd.assemble(model, q, fixed=fixed))
    speed = _holding([in_qd, in_qd[:1], []], lambda fixed: sixd.assemble(model, there, qd, fixed=fixed)[1])
    notes = []
    if q_text is not None:
        notes += _changes("--q", q, there, [(n, model.q_slice(n)) for n in in_q or model.joint_names])
    if qd_text is not None:
        notes += _changes("--qd", qd, speed, [(n, model.v_slice(n)) for n in in_qd or model.joint_names])
    return there, speed, notes


def _holding(choices: Sequence[list[str]], assemble: Callable[[list[str]], Array]) -> Array:
    """Assembled with the first of these lists of joints fixed that allow it."""
    for k, fixed in enumerate(choices):
        if fixed in choices[k + 1 :]:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", SimulationWarning)  # a row that is not assembled
                return assemble(fixed)
        except (AssemblyError, SimulationWarning) as error:
            if not fixed:
                raise AssemblyError(str(error)) from None
    raise AssertionError


def _changes(option: str, given: Array, taken: Array, joints: Iterable[tuple[str, slice]]) -> list[str]:
    given, taken = np.broadcast_arrays(given, taken)
    moved = [(name, given[..., s], taken[..., s]) for name, s in joints]
    moved = [m for m in moved if np.abs(m[1] - m[2]).max() > _CHANGED]
    if not moved:
        return []
    if given.ndim > 1:
        told = ", ".join(name for name, *_ in moved[:_MOST_CHANGES])
    else:
        told = ", ".join(f"{name} {_written(a)} → {_written(b)}" for name, a, b in moved[:_MOST_CHANGES])
    more = f" and {len(moved) - _MOST_CHANGES} more" if len(moved) > _MOST_CHANGES else ""
    return [f"{option} was changed, because the constraints do not hold there: {told}{more}."]


def _written(x: Array) -> str:
    return ":".join(f"{v:.4g}" for v in x)


# memory ---------------------------------------------------------------------------------------------


def require_memory(model: Model, rows: int | None, records: float) -> None:
    """Raise if the motion would not fit into this machine's memory; asked before anything is drawn."""
    # q, qd and tau of each record, energies and what the summary makes of them
    need = 8.0 * (rows or 1) * (records + 3) * (model.nq + 2 * model.nv + 8)
    have = _available_memory()
    if need > have:
        raise ScalarTypeError(
            f"simulate: the motion needs some {digits(need / 1e9)} GB, expected at most the {digits(have / 1e9)} GB of "
            f"memory that are free. Give a smaller --batch, a shorter --duration, or a larger --record-every."
        )


def _available_memory() -> float:
    """Bytes; Linux tells."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        facts: dict[str, Any] = dict(line.split(":", 1) for line in lines)
        return 1024.0 * int(facts["MemAvailable"].split()[0])
    except (OSError, ValueError, KeyError):
        return _UNKNOWN_MEMORY
