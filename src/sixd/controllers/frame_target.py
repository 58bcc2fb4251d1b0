"""Targets of frames: poses, orientations and positions that may move, their velocities and accelerations, and errors.

All vectors are in world axes, those of ``expressed_in="aligned"``. A function of time is differentiated exactly, by
dual numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sixd.algorithms.operational.stack import PARTS, Stack, read_part
from sixd.api.frames import pose
from sixd.controllers.reference import as_numbers, differentiable
from sixd.errors import ModelError, ScalarTypeError, ShapeError, require_known
from sixd.forces.elements import finite_array, finite_vector, read_only, set_fields
from sixd.model import validate
from sixd.model.system import System
from sixd.spatial.dual import Dual, parts
from sixd.spatial.rotation import rotation_to_vector, unskew
from sixd.spatial.scalar import Array, ArrayLike, Scalar

# the rows of a Jacobian that a target of each shape concerns
ROWS = {(4, 4): PARTS["pose"], (3, 3): PARTS["orientation"], (3,): PARTS["position"]}
_SHAPES = "(4, 4), (3, 3) or (3,)"


@dataclass(frozen=True, eq=False)
class FrameTarget:
    """A pose (4, 4), an orientation (3, 3), a position (3,), or a function of t that returns one of them. ``velocity``
    and ``acceleration`` (6,) or (3,) of the target may be functions of t; None: its derivatives."""

    where: str
    target: Any
    velocity: Any = None
    acceleration: Any = None

    def __post_init__(self) -> None:
        if not callable(self.target):
            set_fields(self, target=_read_target(self.where, self.target))
        n = None if callable(self.target) else len(ROWS[self.target.shape])
        for name in ("velocity", "acceleration"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                wanted = "(3,) or (6,)" if n is None else ""
                set_fields(self, **{name: finite_vector(self.where, name, value, n, wanted)})

    @property
    def moves(self) -> bool:
        """Whether the target may move."""
        return callable(self.target) or self.velocity is not None or self.acceleration is not None

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """The rows of the frame's Jacobian that the target concerns; a function is called with t = 0 for its shape."""
        return ROWS[self.at(0.0).shape]

    def at(self, t: Scalar) -> Array:
        """The target (4, 4), (3, 3) or (3,) at time t [s], of any scalar type."""
        target = as_numbers(self.target(t)) if callable(self.target) else self.target
        if target.shape not in ROWS:
            raise ShapeError(f"{self.where}: target(t) has shape {target.shape}, expected {_SHAPES}.")
        return target

    def velocity_at(self, t: Scalar) -> Array:
        """The target's velocity [ω; v], ω or v at time t."""
        target = self.at(t)
        if self.velocity is not None:
            return self._prescribed("velocity", t, target)
        if not callable(self.target):
            return np.zeros(len(ROWS[target.shape]), dtype=int)
        rate = parts(differentiable(self.where, "target", self.target, Dual(t, 1)))[1]
        if target.ndim == 1:
            return rate
        angular = unskew(rate[:3, :3] @ target[:3, :3].T)
        return angular if len(target) == 3 else np.concatenate([angular, rate[:3, 3]])

    def acceleration_at(self, t: Scalar) -> Array:
        """The rate of the target's velocity at time t."""
        if self.acceleration is not None:
            return self._prescribed("acceleration", t, self.at(t))
        if callable(self.velocity):
            return parts(differentiable(self.where, "velocity", self.velocity, Dual(t, 1)))[1]
        return parts(self.velocity_at(Dual(t, 1)))[1]

    def error(self, t: Scalar, T: Array) -> Array:
        """The error of a pose T (4, 4): [rotation vector of R_target Rᵀ; p_target - p], or one of both parts."""
        target = self.at(t)
        if target.ndim == 1:
            return target - T[:3, 3]
        rotation = rotation_to_vector(target[:3, :3] @ T[:3, :3].T)
        return rotation if len(target) == 3 else np.concatenate([rotation, target[:3, 3] - T[:3, 3]])

    def _prescribed(self, name: str, t: Scalar, target: Array) -> Array:
        value = getattr(self, name)
        value = as_numbers(value(t) if callable(value) else value)
        wanted = (len(ROWS[target.shape]),)
        if value.shape != wanted:
            raise ShapeError(f"{self.where}: {name} has shape {value.shape}, expected {wanted}.")
        return value


@dataclass(frozen=True, eq=False)
class FrameTargets:
    """Targets of several frames, by name, and the rows of each that are controlled."""

    system: System
    targets: Mapping[str, FrameTarget]
    stack: Stack

    @property
    def moves(self) -> bool:
        """Whether a target may move."""
        return any(target.moves for target in self.targets.values())

    @property
    def size(self) -> int:
        """The number of rows m."""
        return sum(len(rows) for _, rows in self.stack)

    def errors(self, t: Scalar, q: Array) -> Array:
        """e (m,) at time t in the configuration q (nq,)."""
        return self._rows(lambda name, target: target.error(t, pose(self.system, q, name)))

    def velocities(self, t: Scalar) -> Array:
        """The targets' velocities (m,)."""
        return self._rows(lambda name, target: target.velocity_at(t))

    def accelerations(self, t: Scalar) -> Array:
        """The rates (m,) of the targets' velocities."""
        return self._rows(lambda name, target: target.acceleration_at(t))

    def _rows(self, vector: Callable[[str, FrameTarget], Array]) -> Array:
        values = []
        for name, rows in self.stack:
            target = self.targets[name]
            values.append(vector(name, target)[[target.rows.index(row) for row in rows]])
        return np.concatenate(values)


def read_targets(where: str, controller: Any) -> FrameTargets:
    """The targets of a controller by its attributes model, frame, target, velocity, acceleration and rows: ``frame`` is
    a name, or a mapping of names to targets; then velocity, acceleration and rows are mappings as well, or None."""
    system, frame, target = controller.model, controller.frame, controller.target
    options = {name: getattr(controller, name) for name in ("velocity", "acceleration", "rows")}
    if isinstance(frame, Mapping):
        if target is not None:
            raise ModelError(f"{where}: target is set, but frame is a mapping to targets. Leave one of them out.")
        by_frame = dict(frame)
    elif isinstance(frame, str):
        if target is None:
            raise ModelError(f"{where}: target is None, expected a pose (4, 4), a position (3,), or a function of t.")
        by_frame = {frame: target}
        options = {option: None if value is None else {frame: value} for option, value in options.items()}
    else:
        raise ScalarTypeError(f"{where}: frame is {frame!r}, expected a name, or a mapping of names to targets.")
    if not by_frame:
        raise ModelError(f"{where}: frame is an empty mapping, expected at least one frame and its target.")
    for name in by_frame:
        system.frame(name, where)
    for option, value in options.items():
        named = {} if value is None else value
        if not isinstance(named, Mapping):
            raise ScalarTypeError(f"{where}: {option} is {value!r:.60}, expected a mapping by the names of the frames.")
        for name in named:
            require_known(f"{where}: {option}", "frame", name, by_frame)
        options[option] = named
    targets = {
        name: FrameTarget(where, x, options["velocity"].get(name), options["acceleration"].get(name))
        for name, x in by_frame.items()
    }
    stack = []
    for name, one in targets.items():
        part = options["rows"].get(name)
        chosen = one.rows if part is None else read_part(where, name, part)
        if not set(chosen) <= set(one.rows):
            raise ModelError(
                f"{where}: rows of frame {name!r} are {chosen}, expected some of {one.rows}, those of its target."
            )
        stack.append((name, chosen))
    return FrameTargets(system, targets, tuple(stack))


def read_row_gain(
    where: str, name: str, value: ArrayLike | Mapping[str, ArrayLike], targets: FrameTargets, *, matrix: bool = False
) -> Array:
    """A gain for each row: (m,), or (m, m) if one is a matrix. ``value`` may be a mapping by frame."""
    what = f"{where}: {name}"
    if not isinstance(value, Mapping):
        return _one_gain(what, value, targets.size, matrix)
    for frame in value:
        require_known(what, "frame", frame, targets.targets)
    missing = [frame for frame in targets.targets if frame not in value]
    if missing:
        raise ModelError(f"{what} has no entry for {missing}, expected one for each frame.")
    blocks = [_one_gain(f"{what} of {frame!r}", value[frame], len(rows), matrix) for frame, rows in targets.stack]
    if all(block.ndim == 1 for block in blocks):
        return read_only(np.concatenate(blocks))
    whole, at = np.zeros((targets.size, targets.size)), 0
    for block in blocks:
        end = at + len(block)
        whole[at:end, at:end], at = block if block.ndim == 2 else np.diag(block), end
    return read_only(whole)


def scaled(gain: Array, x: Array) -> Array:
    """The product of a gain (m,) or (m, m) and x (m,)."""
    return gain @ x if gain.ndim == 2 else x * gain


def _one_gain(what: str, value: ArrayLike, n: int, matrix: bool) -> Array:
    allowed = ((), (n,), (n, n)) if matrix else ((), (n,))
    wanted = f"a number, ({n},) or ({n}, {n})" if matrix else f"a number or ({n},)"
    array = finite_array(what, value, allowed.__contains__, wanted)
    if array.ndim == 2:
        is_symmetric = np.allclose(array, array.T, rtol=1e-12, atol=0)
        if not is_symmetric or np.linalg.eigvalsh(array)[0] < -1e-12 * np.abs(array).max():
            raise ModelError(f"{what} is not symmetric with eigenvalues of at least 0, expected a passive gain.")
        return array
    if (array < 0).any():
        raise ModelError(f"{what} is {value!r}, expected finite numbers of at least 0.")
    return read_only(np.broadcast_to(array, (n,)).copy())


def _read_target(where: str, value: ArrayLike) -> Array:
    wanted = (
        "a pose (4, 4) such as sixd.placement(xyz, rpy), an orientation (3, 3), a position (3,), or a function of t"
    )
    array = finite_array(f"{where}: target", value, ROWS.__contains__, wanted)
    if array.ndim == 2:
        T = np.eye(4)
        T[: len(array), : len(array)] = array
        validate.pose(f"{where}: target", T)
    return array
