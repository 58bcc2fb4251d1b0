"""The arrays of a trajectory: checked when it is made, selected by record or by rollout, and joined in time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.engine.parameters import parameter_shape
from sixd.errors import OutOfRangeError, ScalarTypeError, ShapeError
from sixd.forces.elements import elements, read_only
from sixd.model.system import System, require_system
from sixd.spatial.scalar import Array
from sixd.trajectory.labels import UNKNOWN, labels_of, numbered

if TYPE_CHECKING:
    from sixd.forces.elements import Force
    from sixd.trajectory.trajectory import Trajectory

STATES = ("q", "qd", "tau", "friction", "internal")  # arrays (…, r, n)
KEPT = ("kinetic", "potential", "constraint_error")  # arrays (…, r) that parts and files of a trajectory keep


class Known(dict[str, Array]):
    """Values (…, r) that need not be computed, with the states, parameters and system from which they follow."""

    states: dict[str, Array]
    system: System | None


# checks -----------------------------------------------------------------------------------------


def checked_fields(traj: Trajectory) -> dict[str, Any]:
    """Return the fields of a trajectory as arrays; raise if their shapes do not fit each other or the system."""
    system = traj.system
    if system is not None:
        require_system("Trajectory", system)
    t = float_array("t", traj.t)
    _require_times(t)
    q, qd = (float_array(name, getattr(traj, name)) for name in ("q", "qd"))
    others = {name: None if (x := getattr(traj, name)) is None else float_array(name, x) for name in STATES[2:]}
    batch, r = q.shape[:-2], len(t)
    nq, nv = (q.shape[-1:], qd.shape[-1:]) if system is None else ((system.nq,), (system.nv,))
    internal = others["internal"]
    own = () if internal is None else internal.shape[-1:]
    arrays = {"q": q, "qd": qd, **others}
    for (name, x), core in zip(arrays.items(), (nq, nv, nv, nv, own), strict=True):
        if x is not None and (x.ndim < 2 or x.shape != (*batch, r, *core)):
            raise ShapeError(f"Trajectory: {name} has shape {x.shape}, expected {(*batch, r, *core)}.")
    forces = elements("Trajectory", traj.forces)
    parameters = {name: float_array(name, x) for name, x in (traj.parameters or {}).items()}
    if system is not None:
        if forces:
            _require_internal(internal, [(element, element.size(system)) for element in forces])
        for name, x in parameters.items():
            _require_parameter(name, x, batch, parameter_shape("Trajectory", system, name))
    states = {"q": q, "qd": qd, **{f"parameters.{name}": x for name, x in parameters.items()}}
    labels = traj.labels
    if labels is UNKNOWN:
        labels = numbered(*nq, *nv) if system is None else labels_of(system)
    rest = {"facts": dict(traj.facts), "forces": forces, "labels": labels, "parameters": parameters}
    return {"t": t, **arrays, **rest, "known": _checked_known(traj.known, states, system, (*batch, r))}


def float_array(name: str, value: object) -> Array:
    """Return the value as a read-only array of float32 or float64."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiuO":
            raise TypeError
        array = array if array.dtype in (np.float32, np.float64) else array.astype(float)
    except (TypeError, ValueError):
        raise ScalarTypeError(
            f"Trajectory: {name} is a {type(value).__name__} that holds no numbers, expected an array of numbers."
        ) from None
    return read_only(array.view())


def _checked_known(
    source: Mapping[str, Array], states: dict[str, Array], system: System | None, shape: tuple[int, ...]
) -> Known:
    """The known values; none if they belong to other states, since ``dataclasses.replace`` passes on the source's."""
    if isinstance(source, Known):
        same = source.system is system and source.states.keys() == states.keys()
        source = source if same and all(_is_view(source.states[name], x) for name, x in states.items()) else {}
    known = Known({name: float_array(name, x) for name, x in source.items()})
    known.states, known.system = states, system
    for name, x in known.items():
        if name not in KEPT or x.shape != shape:
            raise ShapeError(f"Trajectory: known[{name!r}] has shape {x.shape}, expected {shape} for one of {KEPT}.")
    return known


def _is_view(a: Array, b: Array) -> bool:
    """Whether the arrays are the same numbers in the same memory."""
    same = (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
    return same and a.__array_interface__["data"][0] == b.__array_interface__["data"][0]


def _require_times(t: Array) -> None:
    if t.ndim != 1:
        raise ShapeError(f"Trajectory: t has shape {t.shape}, expected (r,), a time for each record.")
    ascends = t[1:] > t[:-1]
    if not (np.isfinite(t).all() and ascends.all()):
        k = int(np.argmin(ascends)) if not ascends.all() else 0
        raise ShapeError(f"Trajectory: t goes {t[k : k + 2].tolist()} at record {k}, expected finite times, ascending.")


def _require_internal(internal: Array | None, sizes: list[tuple[Force, int]]) -> None:
    total, count = sum(n for _, n in sizes), 0 if internal is None else internal.shape[-1]
    if count != total:
        names = ", ".join(f"{type(element).__name__} {n}" for element, n in sizes)
        raise ShapeError(f"Trajectory: internal has {count} entries, expected {total} of its forces: {names}.")


def _require_parameter(name: str, x: Array, batch: tuple[int, ...], core: tuple[int, ...]) -> None:
    k = x.ndim - len(core)
    try:
        fits = k >= 0 and x.shape[k:] == core and np.broadcast_shapes(x.shape[:k], batch) == batch
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"Trajectory: parameter {name!r} has shape {x.shape}, expected {(*batch, *core)} or {core}.")


def finite_rollouts(traj: Trajectory) -> Array:
    """Return which rollouts have finite states at the end: booleans of the batch's shape."""
    good = [np.isfinite(x[..., -1:, :]).all(axis=(-2, -1)) for x in (traj.q, traj.qd)]
    return np.asarray(good[0] & good[1])


# parts ------------------------------------------------------------------------------------------


def available(traj: Trajectory) -> dict[str, Array]:
    """Return those of the arrays KEPT that were passed in or are computed already."""
    made = {name: x for name, x in traj.__dict__.items() if name in KEPT}
    if "_energies" in traj.__dict__:
        made |= dict(zip(("kinetic", "potential"), traj.__dict__["_energies"], strict=True))
    return {**traj.known, **made}


def mapped(
    traj: Trajectory, states: Callable[[Array], Array], values: Callable[[Array], Array], **changes: Any
) -> Trajectory:
    """Return the trajectory with ``states`` applied to the arrays (…, r, n) and ``values`` to available ones (…, r)."""
    for name in STATES:
        x = getattr(traj, name)
        changes[name] = None if x is None else states(x)
    return replace(traj, known={name: values(x) for name, x in available(traj).items()}, **changes)


def select_rollouts(traj: Trajectory, index: Any) -> Trajectory:
    """Return the rollouts of a batch that an index of its dimensions selects."""
    batch = traj.batch
    if not batch:
        raise OutOfRangeError("row: the trajectory is one rollout, expected a batch of them.")
    try:
        shape = np.broadcast_to(0, batch)[index].shape  # a view: costs nothing, however large the batch
    except (IndexError, TypeError, ValueError) as error:
        raise OutOfRangeError(f"row: {index!r} does not fit a batch of shape {batch}: {error}.") from None

    def pick(x: Array) -> Array:
        part = x[index]
        if part.shape != shape + x.shape[len(batch) :]:  # an ellipsis would reach beyond the batch
            raise OutOfRangeError(
                f"row: {index!r} does not fit a batch of shape {batch}: give an index for each dimension."
            )
        return part

    parameters = dict(traj.parameters)
    for name, x in parameters.items() if traj.system is not None else ():
        core = parameter_shape("Trajectory", traj.system, name)  # type: ignore[arg-type]
        parameters[name] = pick(np.broadcast_to(x, (*batch, *core)))
    return mapped(traj, pick, pick, parameters=parameters)


def joined(pieces: list[Trajectory]) -> Trajectory:
    """Return the pieces of one motion as one trajectory, without records that repeat the end of the piece before."""
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

    values = [available(piece) for piece in used]
    common = [name for name in KEPT if all(name in own for own in values)]
    known = {name: np.concatenate([own[name] for own in values], axis=-1) for name in common}
    t = np.concatenate([piece.t for piece in used])
    interrupted = any(piece.interrupted for piece in pieces)
    return replace(pieces[0], t=t, known=known, interrupted=interrupted, **{name: join(name) for name in STATES})


def _require_same(first: Trajectory, piece: Trajectory, k: int) -> None:
    """Raise unless part k of a motion has the system, the batch and the arrays of the first."""
    if piece.system is not first.system or piece.batch != first.batch:
        raise ShapeError(f"concatenate: part {k} is {piece!r}, expected the system and the batch of {first!r}.")
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
