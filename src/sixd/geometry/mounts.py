"""Mounts that hold a mechanism fixed to the world, and the height of the floor.

A base with shapes stands on the floor. A mechanism without a base gets one: a foot or a post on the floor, or a plate
above if it hangs. The height of the floor is chosen once for a scene, from all of its motions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from sixd.geometry.pieces import AXLES, GROUND, DrawnPiece, along, axis_of, box_corners
from sixd.geometry.sticks import rail_ends
from sixd.model.joints import Joint
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.spatial.transform import make_pose

_FOOT = 3.1  # height of a joint above its foot, in radii of rods: just below its drum
_UP = np.array([0.0, 0.0, 1.0])
_CAMERA = np.array([0.6, -0.8, 0.0])  # direction of the first view in the page: posts stand behind


class Stand(NamedTuple):
    """Pieces that hold the base, and the height [m] of the floor in the page; None lets the page choose it."""

    pieces: list[DrawnPiece]
    floor: float | None


def stand(
    model: Model, pieces: Sequence[DrawnPiece], poses: Array, lowest: float, r: float | None, size: float
) -> Stand:
    """Return the stand of a mechanism of that size [m] that is drawn with ``pieces``.

    Parameters
    ----------
    poses : (nb + 1, 4, 4) of the bodies in the page at the start; that of the world is the rotation of its axes.
    lowest : smallest height [m] of the motions.
    r : radius [m] of the rods that the mechanism is drawn with; None if it has a base of its own.
    """
    turn = poses[0]
    roots = [i for i in model.bodies if model.parent[i] == 0 and model.joints[i].is_held]
    fixed, moving = [p for p in pieces if p.body == 0], [p for p in pieces if p.body]
    if not roots or not moving or _has_floor(fixed, turn) or (r is None and not fixed):
        return Stand([], None)
    joints = turn @ model.placement[roots].astype(float)
    around = box_corners(fixed, poses) if r is None else joints[:, :3, 3]
    base, heights = np.array([around.min(axis=0), around.max(axis=0)]), box_corners(moving, poses)[:, 2]
    hangs, floats = _attitude(joints, base, heights, size, r is None)
    if floats:
        return Stand([], None)
    if r is None:
        height = float(base[0, 2])  # if it is nearly 0, the world's axes lie on the floor
        level = 0.0 if abs(height) < 0.005 * size else height
        return Stand(_lid(base, turn, size), None) if hangs else Stand([], level)
    maker = _Mounts(model, turn, r, size)
    if hangs:
        return Stand([*chain.from_iterable(map(maker.hung, roots))], None)
    floor = _floor_below(float(base[0, 2]), min(lowest, maker.deepest(roots, moving, poses)), r, size)
    return Stand([*chain.from_iterable(maker.standing(i, floor) for i in roots)], floor)


def _has_floor(fixed: Sequence[DrawnPiece], turn: Array) -> bool:
    """Whether one of the pieces fixed to the world is a level plane."""
    return any(p.kind == "plane" and (turn @ p.pose)[2, 2] > 0.9999 for p in fixed)


def _attitude(joints: Array, base: Array, heights: Array, size: float, has_base: bool) -> tuple[bool, bool]:
    """Whether a mechanism hangs, and whether it neither stands nor hangs, as a figure held by its waist.

    ``joints`` (k, 4, 4) are poses of its first joints, ``base`` (2, 3) the corners of what holds it, ``heights`` those
    of its moving pieces.
    """
    below, above = base[0, 2] - heights.min(), heights.max() - base[1, 2]
    # an arm stretched level hangs if its joint is upside down or below its base
    inverted = (joints[:, 2, 2] < -0.7).all() or (joints[:, 2, 3] < base[0, 2]).all()
    hangs = bool(5 * above < below and (inverted or below > 0.25 * size))
    held = below > 0.15 * size and (has_base or (len(joints) > 1 and above > 0.15 * size))
    return hangs, bool(held and not hangs)


def _floor_below(base: float, lowest: float, r: float, size: float) -> float:
    """The height of the floor: 0 if all is above, else just below the base or, if motions go deeper, below them."""
    just_below = base - _FOOT * r
    if min(just_below, lowest) > -0.005 * size and base < 1.5 * size:
        return 0.0
    return just_below if lowest > just_below - 0.5 * r else lowest - 0.02 * size


def _lid(base: Array, turn: Array, size: float) -> list[DrawnPiece]:
    """A plate on top of a base from which a robot hangs, unless the base is a plate itself."""
    low, high = base
    width = high - low
    if min(width[0], width[1]) > 2 * width[2]:
        return []
    x, y, _ = 1.4 * np.maximum(width, 0.05 * size)
    centre = (low[0] + high[0]) / 2, (low[1] + high[1]) / 2, high[2] + 0.015 * size
    T = make_pose(np.eye(3), centre)
    return [DrawnPiece(0, "box", (float(x), float(y), 0.03 * size), turn.T @ T, (*GROUND, 1.0))]


class _Mounts:
    """Mounts for joints drawn with rods of radius r [m]; positions are in the page."""

    def __init__(self, model: Model, turn: Array, r: float, size: float) -> None:
        self.model, self.turn, self.r, self.size = model, turn, r, size

    def standing(self, i: int, floor: float) -> list[DrawnPiece]:
        """Return a foot below the joint, a post behind a level hinge, or posts below the ends of a rail."""
        r, side = self.r, self._behind(i)
        pieces = []
        for p in self._supports(i):
            top = p + side * (3.7 * r)
            foot = np.array([top[0], top[1], floor])
            if side.any():
                pieces.append(self._rod(p, top, 0.9 * r))
                top = top + _UP * (1.2 * r)
            pieces += [self._box(foot, top, 1.2 * r), self._box(foot, foot + _UP * (0.8 * r), 5 * r)]
        return pieces

    def hung(self, i: int) -> list[DrawnPiece]:
        """Return a plate above the joint, or above each end of a rail, with a bracket down to it."""
        r, pieces = self.r, []
        for p in self._supports(i):
            top = p + _UP * (4.5 * r)
            pieces += [self._box(p, top, 1.1 * r), self._box(top, top + _UP * (1.2 * r), 6 * r)]
        return pieces

    def deepest(self, roots: Sequence[int], moving: list[DrawnPiece], poses: Array) -> float:
        """Return the lowest height [m] of the moving pieces, now and as their level hinges swing."""
        heights = [float(box_corners(moving, poses)[:, 2].min())]
        for k in (k for i in roots for k in self.level_hinges(i, poses)):
            carried, origin = set(self.model.tree.subtree(k)), poses[k][:3, 3]
            away = box_corners([p for p in moving if p.body in carried], poses) - origin
            heights.append(float(origin[2] - np.linalg.norm(away, axis=1).max(initial=0.0)))
        return min(heights)

    def _supports(self, i: int) -> list[Array]:
        """Points (3,) where joint i is held: its origin, or the ends of its rail, the lower one of a steep rail."""
        T = self.turn @ np.asarray(self.model.placement[i], dtype=float)
        joint = self.model.joints[i]
        if joint.symbol != "slide":
            return [T[:3, 3]]
        ends = [T[:3, :3] @ p + T[:3, 3] for p in rail_ends(self.model, i, joint, self.r, self.size)]
        steep = abs(T[2, :3] @ axis_of(joint)) > 0.5
        return [min(ends, key=lambda p: float(p[2]))] if steep else ends

    def level_hinges(self, i: int, poses: Array) -> list[int]:
        """Return the level hinges that root i carries, itself included, if its own axis is level; else []."""
        T, joint = poses[0] @ np.asarray(self.model.placement[i], dtype=float), self.model.joints[i]
        rail = joint.symbol == "slide" and abs(T[2, :3] @ axis_of(joint)) < 0.5
        if not rail and not self._is_level(i, T):  # hinges on a turntable may stay above it
            return []
        # a hinge's axis is the same before and after its own rotation
        return [k for k in self.model.tree.subtree(i) if self._is_level(k, poses[k])]

    def _is_level(self, i: int, T: Array) -> bool:
        """Whether joint i is a hinge with a level axis, its frame at the pose T (4, 4) in the page."""
        axis = _hinge_axis(self.model.joints[i])
        return axis is not None and abs(float(T[2, :3] @ axis)) < 0.7

    def _behind(self, i: int) -> Array:
        """The horizontal direction (3,) along a level hinge's axis, away from the camera; zero for other joints."""
        T, axis = self.turn @ np.asarray(self.model.placement[i], dtype=float), _hinge_axis(self.model.joints[i])
        if axis is None or not self._is_level(i, T):
            return np.zeros(3)
        a = T[:3, :3] @ axis
        level = np.array([a[0], a[1], 0.0]) / np.hypot(a[0], a[1])
        return -level if level @ _CAMERA > 0 else level

    def _rod(self, start: Array, end: Array, radius: float) -> DrawnPiece:
        T, length = along(start, end)
        return DrawnPiece(0, "cylinder", (radius, length), self.turn.T @ T, (*GROUND, 1.0))

    def _box(self, foot: Array, top: Array, half: float) -> DrawnPiece:
        """An upright box between a point and one above it."""
        T = make_pose(np.eye(3), (foot + top) / 2)
        return DrawnPiece(0, "box", (2 * half, 2 * half, float(top[2] - foot[2])), self.turn.T @ T, (*GROUND, 1.0))


def _hinge_axis(joint: Joint) -> Array | None:
    """The only axis (3,) about which a joint rotates, or None."""
    if joint.symbol == "pinion":
        return np.array([1.0, 0.0, 0.0])
    return axis_of(joint) if joint.symbol in AXLES else None
