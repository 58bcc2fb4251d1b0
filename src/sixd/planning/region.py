"""The configurations among which a path is searched: independent coordinates, limits, joints that do not move.

Knows no collisions. y are coordinates of the reduced system, q those of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sixd.constraints.functions import Coupling
from sixd.errors import ModelError, OutOfRangeError, ScalarTypeError, ShapeError
from sixd.ik.coordinates import Coordinates
from sixd.ik.task_rows import joint_slices
from sixd.model.joints import Joint
from sixd.model.manifold import require_unit_quaternions
from sixd.model.model import Model
from sixd.spatial.scalar import Array

_ROUNDING = 1e-9  # rad or m: by so much a start or a goal may be beyond a limit
_AROUND = (
    1.0  # m or rad: paths of coordinates without limits reach so far, and as far as the way, beyond start and goal
)
_COUPLED = 2.0  # times the rate in the middle of a piece: of joints that follow others by a function


class Region:
    """A product of the joints' spaces within limits; all arrays have one row for each configuration."""

    def __init__(self, where: str, model: Model, limits: Any, locked: Any) -> None:
        space = Coordinates(where, model)
        self.where, self.model, self.space, self.system = where, model, space, space.system
        if isinstance(locked, Mapping):
            raise ScalarTypeError(
                f"{where}: locked is a mapping, expected names of joints: their values are those of q0."
            )
        if self.system.constraints:
            raise ModelError(
                f"{where}: {model.name!r} has the constraint {self.system.constraints[0].label}, expected a tree, with "
                f"mimic joints or couplings at most: configurations and motions that satisfy it cannot be sampled."
            )
        self.dofs, _ = space.locked(locked)
        self.lower, self.upper = space.limits(limits)
        self.joints: list[tuple[Joint, slice, slice]] = []
        v = 0
        for joint, i in joint_slices(self.system):
            self.joints.append((joint, i, slice(v, v + joint.nv)))
            v += joint.nv
        self.flat = all(joint.is_vector_space for joint, *_ in self.joints)
        self.fixed = np.zeros(self.system.nq, dtype=bool)
        for _, i, k in self.joints:
            self.fixed[i] = any(dof in self.dofs for dof in range(k.start, k.stop))
        self.coupled = np.ones(model.nv)  # factors of rates
        for c in model.constraints:
            for name in c.dependent if isinstance(c, Coupling) else ():
                self.coupled[model.v_slice(name)] = _COUPLED

    # arguments ------------------------------------------------------------------------------------

    def end(self, name: str, q: Any) -> Array:
        """Return an end of the path as a float array (nq,); raise if it is not a configuration within the limits."""
        where, model = self.where, self.model
        array = np.asarray(q)
        if array.dtype.kind not in "fiu" or array.shape != (model.nq,):
            raise ShapeError(
                f"{where}: {name} has shape {array.shape} of {array.dtype}, expected ({model.nq},), nq of model "
                f"{model.name!r}."
            )
        x = array.astype(float)
        if not np.isfinite(x).all():
            k = int(np.argmin(np.isfinite(x)))
            raise ShapeError(f"{where}: {name} is {x[k]} at {k}, expected finite numbers.")
        require_unit_quaternions(where, model, name, x)
        y = self.space.inner(x)
        off = np.abs(self.lifted(y[None])[0] - x)
        if off.max(initial=0.0) > _ROUNDING:
            k = int(off.argmax())
            raise ModelError(
                f"{where}: {name} is {x[k]:.6g} at {k}, where a mimic joint or a coupling of "
                f"{model.name!r} follows another joint and would be {off.max():.3g} away. See model.configuration."
            )
        beyond = np.maximum(self.lower - y, y - self.upper)
        if beyond.max(initial=0.0) > _ROUNDING:
            k = int(beyond.argmax())
            joint = next(
                name for name in self.system.joint_names if k in range(self.system.nq)[self.system.q_slice(name)]
            )
            raise OutOfRangeError(
                f"{where}: {name} is {y[k]:.6g} at joint {joint!r}, expected {self.lower[k]:.6g} … "
                f"{self.upper[k]:.6g}. Pass limits=False, or other limits."
            )
        return x

    def bound(self, y0: Array, y1: Array) -> None:
        """Bound what is sampled of coordinates without limits, and check that locked joints stay."""
        if (self.fixed & (np.abs(y1 - y0) > _ROUNDING)).any():
            k = int(np.argmax(self.fixed & (np.abs(y1 - y0) > _ROUNDING)))
            raise ModelError(
                f"{self.where}: coordinate {k} of a locked joint is {y0[k]:.6g} in q0 and {y1[k]:.6g} in q1, expected "
                f"equal values."
            )
        around = _AROUND + float(np.linalg.norm(self.difference(y0[None], y1[None])))
        least, most = np.minimum(y0, y1), np.maximum(y0, y1)
        self.low = np.where(np.isfinite(self.lower), self.lower, least - around)
        self.high = np.where(np.isfinite(self.upper), self.upper, most + around)
        self.base = y0

    # the manifold ---------------------------------------------------------------------------------

    def lifted(self, y: Array) -> Array:
        """Return configurations of the model."""
        return np.asarray(self.space.outer(y), dtype=float)

    def rates(self, y: Array, dy: Array) -> Array:
        """Return the model's velocities (n, nv), or bounds of them for joints that follow others by a function."""
        return np.asarray(self.space.outer_velocity(y, dy), dtype=float) * self.coupled

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return configurations drawn within the bounds; locked joints keep their values."""
        columns = [joint.random_rows(rng, self.low[i], self.high[i], count) for joint, i, _ in self.joints]
        drawn = np.concatenate([np.zeros((count, 0)), *columns], axis=1)
        return np.where(self.fixed, self.base, drawn)

    def difference(self, y0: Array, y1: Array) -> Array:
        """Return the velocities (n, nv) that lead from y0 to y1 in unit time."""
        return y1 - y0 if self.flat else np.asarray(self.system.difference(y0, y1))

    def moved(self, y: Array, dy: Array) -> Array:
        """Return where the velocities lead in unit time."""
        return y + dy if self.flat else np.asarray(self.system.integrate(y, dy))

    def distances(self, y0: Array, y1: Array) -> Array:
        """Return ‖difference‖ (n, m) of all pairs, for orientations and positions of free joints separately."""
        if self.flat:
            square = (y0 * y0).sum(axis=1)[:, None] + (y1 * y1).sum(axis=1) - 2 * (y0 @ y1.T)
            return np.sqrt(np.maximum(square, 0.0))
        total = np.zeros((len(y0), len(y1)))
        for joint, i, _ in self.joints:
            a, b = y0[:, i], y1[:, i]
            if joint.has_quaternion:
                total += (2 * np.arccos(np.clip(np.abs(a[:, :4] @ b[:, :4].T), 0, 1))) ** 2
                a, b = a[:, 4:], b[:, 4:]
            total += ((a[:, None] - b) ** 2).sum(axis=2)
        return np.sqrt(total)

    def outside(self, y: Array, dy: Array) -> tuple[Array, Array]:
        """Return how far positions of free joints, whose geodesics are curved, are within their limits (n, k), and
        bounds of their motion; other coordinates stay between their ends."""
        nothing = np.zeros((len(y), 0))
        if self.flat:
            return nothing, nothing
        inside, bounds = [nothing], [nothing]
        for joint, i, k in self.joints:
            places = np.arange(i.start, i.stop)[4:] if joint.has_quaternion else np.zeros(0, dtype=int)
            for sign, limit in ((1, self.lower[places]), (-1, self.upper[places])):
                kept = np.isfinite(limit)
                inside.append(sign * (y[:, places] - limit)[:, kept])
                speed = np.linalg.norm(dy[:, k][:, 3:], axis=1, keepdims=True)
                bounds.append(np.broadcast_to(speed, (len(y), int(kept.sum()))))
        return np.hstack(inside), np.hstack(bounds)
