"""Poses of the bodies in the page: the traced program that computes them, the upward axis, the reach of motions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sixd.algorithms.kinematics import body_poses
from sixd.errors import ModelError, SixdError
from sixd.geometry.pieces import DrawnPiece, box_corners, turned_to
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.scalar import Array
from sixd.trace import Program, trace
from sixd.viewer.scene.motions import ShownMotion

_SAMPLES = 200  # configurations of a motion at which its reach is measured


def display_turn(model: Model) -> Array:
    """Return the rotation (4, 4) of the world that makes gravity point down in the page; none if it mostly does."""
    turn = np.eye(4)
    gravity = np.asarray(model.gravity, dtype=float)
    strength = np.linalg.norm(gravity)
    if strength > 0 and -gravity[2] / strength < 0.5:
        turn[:3, :3] = turned_to(-gravity).T
        turn[np.abs(turn) < 1e-15] = 0.0
    return turn


def kinematics(system: System, turn: Array) -> Program:
    """Return the program q (nq,) -> poses of all bodies in the page, the first three rows of each matrix (nb, 3, 4)."""
    unturned = np.array_equal(turn, np.eye(4))
    R = turn[:3, :3]

    def poses(q: Array) -> Array:
        T = system.apply("body_poses", body_poses, q)[:, :3]
        return T if unturned else np.array([R @ t for t in T]).reshape(system.nb, 3, 4)

    try:
        return trace(poses, {"q": (system.nq,)})
    except SixdError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"view: the kinematics of {system.name!r} cannot be traced: {error}.") from error


def world_poses(program: Program, q: Array) -> Array:
    """Return the poses (…, nb + 1, 4, 4) of the world and the bodies for q (…, nq)."""
    (rows,) = program.evaluate(q)
    poses = np.zeros((*rows.shape[:-3], rows.shape[-3] + 1, 4, 4))
    poses[..., 3, 3] = 1
    poses[..., 0, :, :] = np.eye(4)
    poses[..., 1:, :3, :] = rows
    return poses


def reach(motions: Sequence[ShownMotion], pieces: list[DrawnPiece], program: Program) -> Array:
    """Return the box (2, 3) [m] around the moving bodies in samples of the motions, in the page; zeros without any."""
    corners = [np.zeros((0, 3))]
    for motion in motions:
        good = motion.q[np.isfinite(motion.q).all(axis=1)]
        if len(good):
            samples = np.unique(np.linspace(0, len(good) - 1, min(len(good), _SAMPLES)).astype(int))
            corners.append(box_corners([p for p in pieces if p.body], world_poses(program, good[samples])))
    points = np.concatenate(corners)
    return np.array([points.min(axis=0), points.max(axis=0)]) if len(points) else np.zeros((2, 3))
