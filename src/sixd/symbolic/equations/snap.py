"""Snapping: the numbers of a model that are almost 0 or ±1 become exact. Robot files write 1.57079632679 for 90°.

Entries of rotations, axes and positions within a tolerance of 0 become 0; entries of rotations and axes within it of ±1
become ±1; entries of inertias whose ratio to the largest of the same unit is below it become 0.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from sixd.errors import ScalarTypeError
from sixd.model.joints import replace_parameters
from sixd.model.model import Model
from sixd.model.numbers import normalize_numbers
from sixd.spatial.scalar import Array, Scalar, is_number, object_map


class Moved(NamedTuple):
    """Numbers that were changed: where, how many, and the largest change."""

    where: str
    numbers: int
    farthest: float

    def __str__(self) -> str:
        many = "numbers" if self.numbers > 1 else "number"
        return f"{self.where}: {self.numbers} {many} moved by at most {self.farthest:.2g}"


def snap_model(model: Model, tolerance: float) -> tuple[Model, tuple[Moved, ...]]:
    """The model with its numbers snapped, and the changes."""
    if not is_number(tolerance) or not 0 <= float(tolerance) < 1e-2:
        raise ScalarTypeError(f"equations: snap is {tolerance!r}, expected a small number such as 1e-9, or 0.")
    report: list[Moved] = []

    def note(where: str, before: Array, after: Array) -> None:
        pairs = zip(np.ravel(before), np.ravel(after), strict=True)
        moves = [abs(float(b) - float(a)) for a, b in pairs if is_number(a) and a != b]
        if moves:
            report.append(Moved(where, len(moves), max(moves)))

    names = ("world", *model.body_names)
    placement = [_snap_pose(T, tolerance) for T in model.placement]
    inertia = [_snap_moments(I, tolerance) for I in model.inertia]
    joints = [replace_parameters(j, lambda x: _snap_entry(x, tolerance)) for j in model.joints]
    frames = {name: dataclasses.replace(f, pose=_snap_pose(f.pose, tolerance)) for name, f in model.frames.items()}
    for i in model.bodies:
        joint = model.joint_names[i - 1]
        note(f"placement of joint {joint!r}", model.placement[i], placement[i])
        note(f"axis of joint {joint!r}", *(np.ravel(getattr(j, "axis", ())) for j in (model.joints[i], joints[i])))
        note(f"inertia of body {names[i]!r}", model.inertia[i], inertia[i])
    snapped = dataclasses.replace(
        model, placement=np.array(placement), inertia=np.array(inertia), joints=tuple(joints), frames=frames
    )
    return normalize_numbers(snapped), tuple(report)


def _snap_entry(x: Scalar, tolerance: float) -> Any:
    """An entry of a rotation or an axis, snapped to -1, 0 or 1."""
    if not is_number(x) or isinstance(x, bool):
        return x
    nearest = round(float(x))
    return type(x)(nearest) if nearest in (-1, 0, 1) and 0 < abs(x - nearest) < tolerance else x


def _snap_pose(T: Array, tolerance: float) -> Array:
    new = object_map(lambda x: _snap_entry(x, tolerance), T)
    for k in range(3):  # positions snap to 0 only: 1 m is not special
        x = T[k, 3]
        new[k, 3] = type(x)(0) if is_number(x) and abs(x) < tolerance else x
    return new.astype(T.dtype)


def _snap_moments(I: Array, tolerance: float) -> Array:
    """An inertia (6, 6) with zero for entries that are tiny compared with the largest of the same unit."""
    new = I.copy()
    for rows, columns in ((slice(0, 3), slice(0, 3)), (slice(0, 3), slice(3, 6)), (slice(3, 6), slice(0, 3))):
        block = I[rows, columns]
        if all(is_number(x) for x in block.ravel()):
            limit = tolerance * np.abs(block.astype(float)).max()
            new[rows, columns] = np.where(np.abs(block.astype(float)) < limit, 0, block)
    return new
