"""The arrays of a trajectory: checked when it is made, picked by record or by row, joined, and told in a line."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import OutOfRangeError, ScalarTypeError, ShapeError, SixdError
from sixd.forces.elements import elements
from sixd.model.system import require_system
from sixd.notebook import MOST_ROWS, table
from sixd.spatial.scalar import Array
from sixd.trajectory.derived import energy_of_state, parameter_core
from sixd.trajectory.labels import UNKNOWN, labels_of, numbered

if TYPE_CHECKING:
    from sixd.trajectory.trajectory import Trajectory

STATES = ("q", "qd", "tau", "internal")  # arrays (…, r, n)
KEPT = ("kinetic", "potential", "constraint_error")  # arrays (…, r) that are handed on to parts, and to files


_MOST_SCANNED = 10_000_000  # numbers of q whose least and largest are looked for to show a trajectory: 20 ms


class Known(dict[str, Array]):
    """Values (…, r) that need not be computed, with the states, the parameters and the system that they belong to."""

    states: dict[str, Array]
    system: Any


# checks -----------------------------------------------------------------------------------------


def checked(traj: Trajectory) -> dict[str, Any]:
    """The fields of a trajectory as arrays that fit each other, or an error."""
    system = traj.system
    if system is not None:
        require_system("Trajectory", system)
    t = numbers("t", traj.t)
    _require_times(t)
    given = {name: getattr(traj, name) for name in STATES}
    arrays = {name: None if x is None else numbers(name, x) for name, x in given.items()}
    q, qd = arrays["q"], arrays["qd"] = [numbers(name, arrays[name]) for name in ("q", "qd")]
    batch, r = q.shape[:-2], len(t)
    nq, nv = (q.shape[-1:], qd.shape[-1:]) if system is None else ((system.nq,), (system.nv,))
    internal = arrays["internal"]
    own = () if internal is None else internal.shape[-1:]
    for name, core in {"q": nq, "qd": nv, "tau": nv, "internal": own}.items():
        x = arrays[name]
        if x is not None and (x.ndim < 2 or x.shape != (*batch, r, *core)):
            raise ShapeError(f"Trajectory: {name} has shape {x.shape}, expected {(*batch, r, *core)}.")
    forces = elements("Trajectory", traj.forces)
    if system is not None and forces:
        _require_internal(internal, [(element, element.size(system)) for element in forces])
    parameters = {name: numbers(name, x) for name, x in (traj.parameters or {}).items()}
    for name, x in parameters.items() if system is not None else ():
        _require_parameter(name, x, batch, parameter_core(system, name))  # type: ignore[arg-type]
    states = {"q": q, "qd": qd, **{f"parameters.{name}": x for name, x in parameters.items()}}
    known = Known({name: numbers(name, x) for name, x in _still_known(traj.known, states, system).items()})
    known.states, known.system = states, system
    for name, x in known.items():
        if name not in KEPT or x.shape != (*batch, r):
            raise ShapeError(
                f"Trajectory: known[{name!r}] has shape {x.shape}, expected {(*batch, r)} for one of {KEPT}."
            )
    labels = traj.labels
    if labels is UNKNOWN:
        labels = numbered(*nq, *nv) if system is None else labels_of(system)
    rest = {"facts": dict(traj.facts), "forces": forces, "known": known, "labels": labels}
    return {"t": t, **arrays, "parameters": parameters, **rest}


def numbers(name: str, value: Any) -> Array:
    """The value as a read-only array of floats, float32 or float64."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiuO":
            raise TypeError
        array = array if array.dtype in (np.float32, np.float64) else array.astype(float)
    except (TypeError, ValueError):
        raise ScalarTypeError(
            f"Trajectory: {name} is a {type(value).__name__} that holds no numbers, expected an array of numbers."
        ) from None
    array = array.view()
    array.flags.writeable = False
    return array


def _still_known(known: Mapping[str, Any], states: dict[str, Array], system: Any) -> Mapping[str, Any]:
    """What is known, unless another trajectory, whose it was, had other states: ``dataclasses.replace`` hands it on."""
    if not isinstance(known, Known):
        return known
    same = known.system is system and known.states.keys() == states.keys()
    return known if same and all(_is_view(known.states[name], x) for name, x in states.items()) else {}


def _is_view(a: Array, b: Array) -> bool:
    """Whether the arrays are the same numbers in the same memory."""
    same = (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
    return same and a.__array_interface__["data"][0] == b.__array_interface__["data"][0]


def _require_times(t: Array) -> None:
    if t.ndim != 1:
        raise ShapeError(f"Trajectory: t has shape {t.shape}, expected (r,), a time for each record.")
    bad = np.flatnonzero(~(np.diff(t) > 0))
    if not np.isfinite(t).all() or len(bad):
        k = int(bad[0]) if len(bad) else 0
        raise ShapeError(f"Trajectory: t goes {t[k : k + 2].tolist()} at record {k}, expected finite times, ascending.")


def _require_internal(internal: Array | None, sizes: list[tuple[Any, int]]) -> None:
    total, found = sum(n for _, n in sizes), 0 if internal is None else internal.shape[-1]
    if found != total:
        names = ", ".join(f"{type(element).__name__} {n}" for element, n in sizes)
        raise ShapeError(f"Trajectory: internal has {found} entries, expected {total} of its forces: {names}.")


def _require_parameter(name: str, x: Array, batch: tuple[int, ...], core: tuple[int, ...]) -> None:
    k = x.ndim - len(core)
    try:
        fits = k >= 0 and x.shape[k:] == core and np.broadcast_shapes(x.shape[:k], batch) == batch
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"Trajectory: parameter {name!r} has shape {x.shape}, expected {(*batch, *core)} or {core}.")


def alive(traj: Trajectory) -> Array:
    """Which rollouts have finite states at the end: truths of the batch's shape."""
    good = [np.isfinite(x[..., -1:, :]).all(axis=(-2, -1)) for x in (traj.q, traj.qd)]
    return np.asarray(good[0] & good[1])


# parts ------------------------------------------------------------------------------------------


def at_hand(traj: Trajectory) -> dict[str, Array]:
    """What was given or computed of the energies and the error of the constraints."""
    made = {name: x for name, x in traj.__dict__.items() if name in KEPT}
    if "_energies" in traj.__dict__:
        made |= dict(zip(("kinetic", "potential"), traj.__dict__["_energies"], strict=True))
    return {**traj.known, **made}


def changed(
    traj: Trajectory, states: Callable[[Array], Array], values: Callable[[Array], Array], **changes: Any
) -> Trajectory:
    """With functions applied to the arrays (…, r, n), and to those (…, r) that are at hand."""
    for name in STATES:
        x = getattr(traj, name)
        changes[name] = None if x is None else states(x)
    return replace(traj, known={name: values(x) for name, x in at_hand(traj).items()}, **changes)


def picked(traj: Trajectory, index: Any) -> Trajectory:
    """The rollouts of a batch that an index of its dimensions names."""
    batch = traj.batch
    if not batch:
        raise OutOfRangeError("row: the trajectory is one rollout, expected a batch of them.")
    try:
        shape = np.broadcast_to(0, batch)[index].shape  # a view: costs nothing, however large the batch
    except (IndexError, TypeError, ValueError) as error:
        raise OutOfRangeError(f"row: {index!r} fits no batch of shape {batch}: {error}.") from None

    def pick(x: Array) -> Array:
        part = x[index]
        if part.shape != shape + x.shape[len(batch) :]:  # an ellipsis would reach beyond the batch
            raise OutOfRangeError(f"row: {index!r} fits no batch of shape {batch}: give an index for each dimension.")
        return part

    parameters = dict(traj.parameters)
    for name, x in parameters.items() if traj.system is not None else ():
        core = parameter_core(traj.system, name)  # type: ignore[arg-type]
        parameters[name] = pick(np.broadcast_to(x, (*batch, *core)))
    return changed(traj, pick, pick, parameters=parameters)


def joined(pieces: list[Trajectory]) -> Trajectory:
    """Pieces of one motion as one; a record that the piece before holds already is dropped."""
    if not pieces:
        raise ShapeError("concatenate: got no trajectories, expected at least one.")
    used: list[Trajectory] = []
    end = -np.inf
    for k, piece in enumerate(pieces):
        _require_same(pieces[0], piece, k)
        kept = piece[1:] if len(piece) and piece.t[0] == end else piece
        if len(kept) and not kept.t[0] > end:
            raise ShapeError(f"concatenate: part {k} starts at {kept.t[0]} s, expected a time after {end} s.")
        end = kept.t[-1] if len(kept) else end
        used.append(kept)

    def join(name: str) -> Any:
        arrays = [getattr(piece, name) for piece in used]
        return None if arrays[0] is None else np.concatenate(arrays, axis=-2)

    hands = [at_hand(piece) for piece in used]
    common = [name for name in KEPT if all(name in hand for hand in hands)]
    known = {name: np.concatenate([hand[name] for hand in hands], axis=-1) for name in common}
    t = np.concatenate([piece.t for piece in used])
    ended = any(piece.interrupted for piece in pieces)
    return replace(pieces[0], t=t, known=known, interrupted=ended, **{name: join(name) for name in STATES})


def _require_same(first: Trajectory, piece: Trajectory, k: int) -> None:
    """Raise unless part k of a motion has the system, the rows and the arrays of the first."""
    if piece.system is not first.system or piece.batch != first.batch:
        raise ShapeError(f"concatenate: part {k} is {piece!r}, expected the system and the rows of {first!r}.")
    other = [n for n in {*first.parameters, *piece.parameters} if not _is_same(first, piece, n)]
    if other or piece.forces != first.forces:
        raise ShapeError(
            f"concatenate: part {k} has other {f'parameters {sorted(other)}' if other else 'forces'} than part 0, "
            f"expected pieces of one motion."
        )
    for name in STATES:
        a, b = (getattr(x, name) for x in (first, piece))
        if (a is None) != (b is None) or (a is not None and a.shape[-1] != b.shape[-1]):
            raise ShapeError(f"concatenate: part {k} has another {name} than part 0, expected the same in all.")


def _is_same(a: Trajectory, b: Trajectory, name: str) -> bool:
    return name in a.parameters and name in b.parameters and np.array_equal(a.parameters[name], b.parameters[name])


# in a line --------------------------------------------------------------------------------------


def counted(n: int, word: str) -> str:
    """1 row, 2 rows."""
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def describe(traj: Trajectory) -> str:
    """System, shapes, time span and how the energy changed, where that is told at once."""
    name = "" if traj.system is None else f" of {traj.system.name!r}"
    rows = f"{' × '.join(map(str, traj.batch))} row{'' if math.prod(traj.batch) == 1 else 's'} × " if traj.batch else ""
    span = f", {traj.t[0]:.6g} … {traj.t[-1]:.6g} s" if len(traj) else ""
    size = f"nq = {traj.q.shape[-1]}, nv = {traj.qd.shape[-1]}"
    text = f"<Trajectory{name}: {rows}{counted(len(traj), 'record')}{span}, {size}{_energy_words(traj)}"
    if traj.failed:
        text += f", {counted(traj.failed, 'row')} failed" if traj.batch else ", failed"
    return text + (", interrupted>" if traj.interrupted else ">")


def describe_html(traj: Trajectory) -> str:
    """The same as a table of the coordinates: the first and the last record, the least and the largest value."""
    columns = traj.labels.q
    small = 0 < traj.q.size <= _MOST_SCANNED
    rows: list[list[Any]] = []
    for k, column in enumerate(columns[: MOST_ROWS + 1] if small else ()):
        x = traj.q[..., k]
        one = [x[0], x[-1]] if not traj.batch else []
        rows.append([column.name, "" if column.unit == "1" else column.unit, *one, x.min(), x.max()])
    if small:
        rows += [[]] * (len(columns) - len(rows))  # counted alone
    ends = () if traj.batch else ("start", "end")
    return table(describe(traj).strip("<>"), ("coordinate", "unit", *ends, "least", "largest") if rows else (), rows)


def _energy_words(traj: Trajectory) -> str:
    """How the energy changed from start to end, the most of all rows; and whether it overflows in finite states."""
    ends = _end_energies(traj)
    if ends is None:
        return ""
    start, end = ends
    finite = np.isfinite(start) & np.isfinite(end)
    change = end[finite] - start[finite]
    text = f", energy changes by {change[np.argmax(np.abs(change))]:.2g} J" if change.size else ""
    over = int(np.sum(~finite & alive(traj)))
    if over:
        text += f", energy not finite in {counted(over, 'row')}" if traj.batch else ", energy not finite"
    return text


def _end_energies(traj: Trajectory) -> tuple[Array, Array] | None:
    """Total energy of the first and of the last record, each of the batch's shape; None if it takes work to tell."""
    if len(traj) < 2:
        return None
    hand = at_hand(traj)
    with np.errstate(all="ignore"):  # a rollout that blew up: told by its result
        if {"kinetic", "potential"} <= set(hand):
            first, last = (np.asarray(hand["kinetic"][..., k] + hand["potential"][..., k]) for k in (0, -1))
            return first, last
        if traj.batch or traj.parameters or traj.system is None or traj.failed:
            return None
        try:
            first, last = (np.array(energy_of_state(traj.system, traj.q[k], traj.qd[k])) for k in (0, -1))
        except (SixdError, ArithmeticError, ValueError):  # a system that cannot tell
            return None
    return first, last
