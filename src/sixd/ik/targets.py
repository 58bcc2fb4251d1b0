"""Targets of frames: arrays for poses and positions, small classes for the others.

The argument ``{frame: target}`` becomes tasks, which say what is compiled, and arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.ik.task_rows import FrameTask, total_mass
from sixd.model.joints.base import parse_axis
from sixd.model.system import System
from sixd.runtime.arrays.registry import require_cpu
from sixd.runtime.batch import Argument, require_unmasked
from sixd.spatial.scalar import Array, is_number

WORLD = "world"
_ROTATION = {8: 1e-6, 4: 1e-4}  # by the size of a number: how far R Rᵀ may be from 1


class IKTarget:
    """Base of the targets that an array alone cannot express."""


@final
@dataclass(frozen=True, eq=False)
class Orientation(IKTarget):
    """The frame has the orientation ``rotation`` (…, 3, 3), the rotation matrix R_WF; its origin is anywhere."""

    rotation: Any


@final
@dataclass(frozen=True, eq=False)
class Direction(IKTarget):
    """An ``axis`` of the frame ("x", "y", "z" or three numbers in it) points along ``along`` (…, 3), in world axes.

    The error is the angle [rad] between both; rotation about the axis is free.
    """

    along: Any
    axis: Any = "z"


@final
@dataclass(frozen=True, eq=False)
class LookAt(IKTarget):
    """An ``axis`` of the frame, drawn from its origin, passes through the ``point`` (…, 3) of the world [m]: a camera.

    The error is the angle [rad] between the axis and the line to the point.
    """

    point: Any
    axis: Any = "z"


@final
@dataclass(frozen=True, eq=False)
class CenterOfMass(IKTarget):
    """The centre of mass of all moving bodies is at ``position`` (…, 3) in the world [m]; the target of "world"."""

    position: Any


@final
@dataclass(frozen=True, eq=False)
class RelativeTo(IKTarget):
    """A target in the coordinates of another frame: a pose (…, 4, 4), a position (…, 3), or any but a centre of mass.

    ``{"left_hand": sixd.RelativeTo("right_hand", T)}``: T is the pose of the left hand in the right hand's coordinates.
    """

    frame: str
    target: Any = field(default=None)


class Wanted(NamedTuple):
    """Tasks, with an argument for each target's array and weights (2,) for its metres and radians."""

    tasks: tuple[FrameTask, ...]
    arguments: list[Argument]
    weights: Array


def read_targets(where: str, system: System, frame: Any, target: Any, weights: Any) -> Wanted:
    """The tasks of ``frame`` and ``target``, or of a mapping {frame: target}; a target may be a list of several."""
    if isinstance(frame, Mapping):
        if not frame:
            raise ShapeError(f"{where}: frame is an empty mapping, expected at least one {{frame: target}}.")
        if target is not None:
            raise ScalarTypeError(f"{where}: frame is a mapping and target is not None, expected targets in one place.")
        wanted = dict(frame)
    else:
        if target is None:
            raise ScalarTypeError(
                f"{where}: target is None, expected a pose (…, 4, 4), a position (…, 3), or a target."
            )
        frame = WORLD if isinstance(target, CenterOfMass) and frame is None else frame
        if not isinstance(frame, str):
            swapped = ". They are swapped" if isinstance(target, str) else ", or {frame: target}"
            raise ScalarTypeError(
                f"{where}: frame is a {type(frame).__name__} and target a {type(target).__name__}, expected the name "
                f"of a frame and its target{swapped}: {where}(model, 'tool', target)."
            )
        wanted = {frame: target}
    tasks: list[FrameTask] = []
    arguments: list[Argument] = []
    shares: list[Array] = []
    pairs = read_weights(where, weights, wanted)
    for name, value in wanted.items():
        several = isinstance(value, (list, tuple)) and any(isinstance(x, IKTarget) for x in value)
        for one in value if several else [value]:
            task, array = _task(where, system, name, one)
            label = f"the target of {name!r}"
            tasks.append(task)
            arguments.append(Argument(label, _checked(where, label, task, array), task.shape))
            shares.append(pairs[name])
    return Wanted(tuple(tasks), arguments, np.array(shares).reshape(2 * len(tasks)))


def _task(where: str, system: System, frame: Any, target: Any, other: str = "") -> tuple[FrameTask, Any]:
    """A task and its array."""
    if isinstance(target, CenterOfMass):
        if frame != WORLD or other:
            raise ModelError(
                f"{where}: a CenterOfMass is the target of {frame!r}, expected that of {WORLD!r}, on its own: "
                f"{{'world': sixd.CenterOfMass(…)}}."
            )
        if not total_mass(system) > 0:
            raise ModelError(f"{where}: {system.name!r} has no mass, and so no centre of mass.")
        return FrameTask("center of mass", WORLD), target.position
    if not isinstance(frame, str):
        raise ScalarTypeError(f"{where}: frame is {frame!r}, expected the name of a frame, or {{frame: target}}.")
    body = system.frame(frame, where).body
    if isinstance(target, RelativeTo):
        if other:
            raise ModelError(f"{where}: a RelativeTo is within another, expected one frame to which {frame!r} refers.")
        if system.frame(target.frame, where).body == body:
            raise ModelError(
                f"{where}: {frame!r} and {target.frame!r} are on one body, expected two frames that move against each "
                f"other."
            )
        return _task(where, system, frame, target.target, target.frame)
    if body == 0 and not other:
        raise ModelError(f"{where}: frame {frame!r} is fixed to the world, expected one that moves.")
    if isinstance(target, Orientation):
        return FrameTask("orientation", frame, other=other), target.rotation
    if isinstance(target, (Direction, LookAt)):
        axis = tuple(float(x) for x in parse_axis(type(target).__name__, target.axis))
        if isinstance(target, Direction):
            return FrameTask("direction", frame, axis, other), target.along
        return FrameTask("look at", frame, axis, other), target.point
    return _array_task(where, system, frame, target, other)


def _array_task(where: str, system: System, frame: str, target: Any, other: str) -> tuple[FrameTask, Any]:
    """The task of an array, which is a pose or a position."""
    if isinstance(target, type) or target is None:
        raise ScalarTypeError(f"{where}: the target of {frame!r} is {target!r}, expected an array or a target.")
    if isinstance(target, (str, System, Mapping)):
        kind = type(target).__name__
        raise ScalarTypeError(f"{where}: the target of {frame!r} is a {kind}, expected an array or a target.")
    shape = shape_of(where, f"the target of {frame!r}", target)
    if shape[-2:] == (3, 3) and _are_rotations(target):
        raise ShapeError(
            f"{where}: the target of {frame!r} has shape {shape} and is a rotation matrix, expected a pose (…, 4, 4) "
            f"or a position (…, 3). For an orientation: sixd.Orientation(R); for positions: target[..., None, :]."
        )
    if shape[-2:] == (4, 4):
        return FrameTask("pose", frame, other=other), target
    if shape[-1:] == (3,):
        return FrameTask("position", frame, other=other), target
    raise ShapeError(
        f"{where}: the target of {frame!r} has shape {shape}, expected a pose (…, 4, 4) or a position (…, 3). Others "
        f"are sixd.Orientation, Direction, LookAt, CenterOfMass and RelativeTo."
        + (" Pass a configuration as q0=…." if shape[-1:] == (system.nq,) else "")
    )


def _are_rotations(value: Any) -> bool:
    """Whether all matrices (…, 3, 3) are rotations; a permutation of axes, such as the identity, is one."""
    R = np.asarray(value)
    if R.dtype.kind not in "fiu" or not R.size:
        return False
    with np.errstate(all="ignore"):
        away = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max()
    return bool(away < _ROTATION[4]) and bool((np.linalg.det(R) > 0).all())


def _checked(where: str, label: str, task: FrameTask, value: Any) -> Array:
    """The array of a target; raise if it has no rotations, or directions of no length. NaN passes."""
    require_unmasked(where, label, value)
    require_cpu(where, **{label: value})
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.shape[array.ndim - len(task.shape) :] != task.shape:
        return value  # refused with the other arguments
    if task.kind == "direction":
        longest = np.abs(array).max(axis=-1, keepdims=True)
        _refuse(where, label, longest[..., 0] == 0, "has no length, expected a direction")
        with np.errstate(all="ignore"):
            array = array / longest  # squares of it neither overflow nor vanish
    if task.kind in ("pose", "orientation"):
        R = array[..., :3, :3].astype(float)
        with np.errstate(all="ignore"):
            away = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(axis=(-1, -2))
            bad = (away > _ROTATION[4 if array.dtype == np.float32 else 8]) | (np.linalg.det(R) < 0)
        _refuse(where, label, bad, "is not a rotation, expected a matrix with R Rᵀ = 1 and determinant 1")
    if task.kind == "pose":
        with np.errstate(all="ignore"):
            bad = np.abs(array[..., 3, :] - np.array([0, 0, 0, 1])).max(axis=-1) > 1e-6
        _refuse(where, label, bad, "does not end with the row (0, 0, 0, 1), expected a pose")
        if np.isnan(array[..., 3, :]).any():  # that row is not computed with
            array = np.where(np.isnan(array[..., 3:, :]).any(axis=-1, keepdims=True), np.nan, array)
    return array


def shape_of(where: str, label: str, value: Any) -> tuple[int, ...]:
    """The shape of an array; raise if a list of lists has none."""
    try:
        return np.shape(value)
    except ValueError:
        raise ShapeError(f"{where}: {label} is {value!r:.60}, expected an array: its rows differ in length.") from None


def _refuse(where: str, label: str, bad: Any, what: str) -> None:
    if np.any(bad):
        index = tuple(int(k) for k in np.argwhere(bad)[0])
        row = f" at index {index if len(index) > 1 else index[0]}" if index else ""
        raise ModelError(f"{where}: {label} {what}{row}. See sixd.placement.")


def read_weights(where: str, weights: Any, frames: Iterable[Any]) -> dict[Any, Array]:
    """The weights (of metres, of radians) of each frame, (2,) each."""
    names = list(frames)
    if isinstance(weights, Mapping):
        for name in weights:
            if name not in names:
                raise ModelError(f"{where}: weights name {name!r}, expected frames with a target: {names}.")
        return {name: _pair(where, weights.get(name)) for name in names}
    return dict.fromkeys(names, _pair(where, weights))


def _pair(where: str, value: Any) -> Array:
    if value is None:
        return np.ones(2)
    pair = (value, value) if is_number(value) else tuple(value) if isinstance(value, (tuple, list, np.ndarray)) else ()
    good = len(pair) == 2 and all(is_number(x) and 0 <= x < np.inf for x in pair)
    if not good or max(pair) == 0:
        raise ScalarTypeError(
            f"{where}: a weight is {value!r}, expected a number above 0, or two (of metres, of radians), or a mapping "
            f"{{frame: weight}}."
        )
    return np.array(pair, float)


def require_clearance(where: str, clearance: Any, pairs: Any, placements: Any) -> None:
    """Raise if pairs or placements are passed without a clearance, for which alone they count."""
    for name, value in (("pairs", pairs), ("placements", placements)):
        if clearance is None and value is not None:
            raise ScalarTypeError(
                f"{where}: {name} is passed without clearance, expected both: collisions are ignored unless clearance "
                f"is a distance [m], 0 included."
            )
