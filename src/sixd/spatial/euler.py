"""Euler angles of any sequence, and roll-pitch-yaw.

Upper-case letters turn about the moving axes: "ZXZ" is R = Rz(a0) Rx(a1) Rz(a2). Lower-case letters
turn about the fixed axes: "xyz" is R = Rz(a2) Ry(a1) Rx(a0), which is roll, pitch, yaw.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.errors import ModelError, ShapeError
from sixd.spatial.rotation import EYE3, axis_rotation
from sixd.spatial.scalar import Array, atan2, cos, exact, is_object, sin, sqrt, where

_AXES = {"x": 0, "y": 1, "z": 2}


def _parse(sequence: str) -> tuple[int, int, int]:
    letters = sequence.lower()
    good = len(letters) == 3 and set(letters) <= set("xyz") and letters[0] != letters[1] != letters[2]
    if not good or sequence not in (letters, letters.upper()):
        raise ModelError(
            f"euler: sequence is {sequence!r}, expected three letters of x, y, z, no two neighbours equal, "
            f"all upper case (moving axes) or all lower case (fixed axes), such as 'ZYX' or 'xyz'."
        )
    i, j, k = (_AXES[c] for c in letters)
    return i, j, k


def rotation_from_euler(sequence: str, angles: Any) -> Array:
    """R (3, 3) of three angles [rad] about the axes of ``sequence``."""
    axes, angles = _parse(sequence), list(angles)
    if len(angles) != 3:
        raise ShapeError(f"euler: got {len(angles)} angles, expected 3 for the sequence {sequence!r}.")
    if sequence.islower():
        axes, angles = axes[::-1], angles[::-1]
    turns = [axis_rotation(EYE3[i], a) for i, a in zip(axes, angles, strict=True)]
    if is_object(angles):
        turns = [exact(turn) for turn in turns]  # else the turn by a plain 0 leaves 1.0 in equations
    return turns[0] @ turns[1] @ turns[2]


def rotation_to_euler(sequence: str, R: Any) -> Array:
    """Angles (3,) [rad] of R about the axes of ``sequence``; inverse of :func:`rotation_from_euler`.

    The middle angle lies in [0, pi] when first and last axis agree, else in [-pi/2, pi/2]. Where it
    makes the sequence singular, one outer angle is arbitrary: the one about the first moving axis is 0.
    The three angles reproduce R to rounding, also near the singularity.
    """
    i, j, k = _parse(sequence)
    if sequence.islower():
        i, k = k, i
    R = np.asarray(R)
    n = 3 - i - j
    s = 1 if (j - i) % 3 == 1 else -1  # +1 when i, j, n are in cyclic order
    if i == k:  # column i: cos b, sin b sin a, -s sin b cos a
        y, x = R[j, i], -s * R[n, i]
        outer = sqrt(y * y + x * x)
        b = atan2(outer, R[i, i])
    else:  # column k = n: s sin b, -s cos b sin a, cos b cos a
        y, x = -s * R[j, n], R[n, n]
        outer = sqrt(y * y + x * x)
        b = atan2(s * R[i, n], outer)
    a = where(outer < 1e-14, 0.0, atan2(y, x))
    # undoing the first turn leaves only row j of the last turn
    row = cos(a) * R[j] + s * sin(a) * R[n]
    m = 3 - j - k
    sin_c = row[m] if (j - m) % 3 == 1 else -row[m]
    c = atan2(sin_c, row[j])
    angles = [a, b, c]
    return np.array(angles[::-1] if sequence.islower() else angles)


def rotation_from_rpy(rpy: Any) -> Array:
    """R (3, 3) = Rz(yaw) Ry(pitch) Rx(roll) of (roll, pitch, yaw) [rad], as in URDF."""
    return rotation_from_euler("xyz", rpy)


def rotation_to_rpy(R: Any) -> Array:
    """(roll, pitch, yaw) [rad] of R, pitch in [-pi/2, pi/2]."""
    return rotation_to_euler("xyz", R)
