"""Mass matrices and Jacobians of contact points in numbers of 50 digits, apart from the library's algorithms.

Knows trees of free and revolute joints. Velocities of bodies are (ω, v) in world axes, v at the world's origin. The
numbers of a model are those of its floats: a rotation in it is orthogonal to 1e-16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mpmath
import numpy as np

import sixd

Array = Any

DIGITS = 50


def exact(x: Any) -> Array:
    """Return an array of floats as numbers of 50 digits, without rounding."""
    return np.vectorize(mpmath.mpf, otypes=[object])(np.asarray(x, float))


def cross(r: Array) -> Array:
    """Return r× (3, 3)."""
    x, y, z = r
    return np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]])


def size_of(v: Array) -> Any:
    """Return ‖v‖."""
    return mpmath.sqrt(v @ v)


def solve(M: Array, b: Array) -> Array:
    """Return M⁻¹ b (nv,)."""
    return np.array(list(mpmath.lu_solve(mpmath.matrix(M.tolist()), mpmath.matrix(b.tolist()))), dtype=object)


class ExactRobot:
    """A mechanism and its points, by frame (k, 3), or (k, 4) with the radii of balls, on the plane z = 0."""

    def __init__(self, model: sixd.Model, points: Mapping[str, Array]) -> None:
        kinds = {type(joint).__name__ for joint in model.joints[1:]} - {"Free", "Revolute"}
        if kinds:
            raise ValueError(f"ExactRobot: joints are {', '.join(sorted(kinds))}, expected Free and Revolute.")
        self.model, self.points = model, {name: np.atleast_2d(own).astype(float) for name, own in points.items()}

    def bodies(self, q: Array) -> tuple[dict[int, Array], dict[int, Array], dict[int, Array]]:
        """Return orientations (3, 3), positions (3,) and Jacobians (6, nv) of all bodies, for exact q (nq,)."""
        model = self.model
        R, p, J = {0: exact(np.eye(3))}, {0: exact(np.zeros(3))}, {0: exact(np.zeros((6, model.nv)))}
        for i in model.bodies:
            parent, X, own, iv = model.parent[i], exact(model.X_tree[i]), q[model.iq[i]], model.iv[i]
            place = -X[:3, :3].T @ X[3:, :3]  # r× of the joint in its parent
            p[i] = p[parent] + R[parent] @ np.array([place[2, 1], place[0, 2], place[1, 0]])
            R[i], J[i] = R[parent] @ X[:3, :3].T, J[parent].copy()
            if isinstance(model.joints[i], sixd.Free):
                p[i] = p[i] + R[i] @ own[4:]
                R[i] = R[i] @ _of_quaternion(own[:4])
                J[i][:, iv.start : iv.start + 3] = np.concatenate([R[i], cross(p[i]) @ R[i]])
                J[i][3:, iv.start + 3 : iv.stop] = R[i]
            else:
                axis = exact(model.joints[i].subspace(np.zeros(1))[:3, 0])
                axis = axis / size_of(axis)
                R[i] = R[i] @ _about(axis, own[0])
                J[i][:, iv.start] = np.concatenate([R[i] @ axis, cross(p[i]) @ (R[i] @ axis)])
        return R, p, J

    def at(self, q: Array) -> tuple[Array, Array]:
        """Return M (nv, nv), and J (k, 3, nv) of the points, rows z, x, y; for floats q (nq,)."""
        model = self.model
        R, p, J = self.bodies(exact(q))
        M = exact(np.diag(model.armature))
        for i in model.bodies:
            own = np.concatenate([R[i].T @ J[i][:3], R[i].T @ (J[i][3:] - cross(p[i]) @ J[i][:3])])
            M = M + own.T @ exact(model.inertia[i]) @ own
        rows = []
        for name, points in self.points.items():
            pose, b = exact(model.frames[name].pose), model.frames[name].body
            for point in exact(points):
                at = p[b] + R[b] @ (pose[:3, :3] @ point[:3] + pose[:3, 3])
                at = at - exact([0, 0, 1]) * sum(point[3:])
                rows.append((J[b][3:] - cross(at) @ J[b][:3])[[2, 0, 1]])
        return M, np.array(rows)


def _of_quaternion(q: Array) -> Array:
    """Return the rotation (3, 3) of a quaternion wxyz of any length."""
    v = cross(q[1:])
    return exact(np.eye(3)) + (v * q[0] + v @ v) * (2 / (q @ q))


def _about(axis: Array, angle: Any) -> Array:
    """Return the rotation (3, 3) about a unit vector (Rodrigues)."""
    v = cross(axis)
    return exact(np.eye(3)) + v * mpmath.sin(angle) + v @ v * (1 - mpmath.cos(angle))
