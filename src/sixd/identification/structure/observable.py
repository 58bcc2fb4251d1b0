"""Which combinations of parameters joint torques depend on, by a recursion over the bodies.

A change of parameters leaves the torques unchanged if it leaves kinetic energy unchanged and changes potential energy
only by a constant. A change e of body i has the effect of the change A(q) e of its parent, where A moves parameters
through the joint, if it has no effect on its own joint:

    Sᵀ I(e) S = 0,   Sᵀ I(e) X v = 0,   k (A(q) - A(q₀)) e = 0,   u (A(q) - A(q₀)) e = 0     for all q of the joint

for all velocities v of the parent, all rows k with k θ = v·I(θ) v, and all rows u with u θ its potential energy. Then
A(q₀) e is added to the change of the parent. So the rows that affect a joint, applied to the parameters of its body and
of all bodies that it carries at q₀, are the base parameters. Only the spans of velocities and rows matter: each is a
matrix whose rows are a basis. The recursion is exact; ``Arithmetic`` defines the numbers and computes the bases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sixd.algorithms.regressor import momentum_regressor
from sixd.model.joints import Joint
from sixd.model.model import Model
from sixd.spatial.inertia import Inertia, first_moment
from sixd.spatial.scalar import Array, Scalar

_BASIS = np.array([np.rint(Inertia.from_parameters(row).matrix) for row in np.eye(10)]).astype(int)  # (10, 6, 6)
_SAMPLES = 24  # configurations of a joint: each adds a row while there are more, and there are at most 10 + 2 · 6


class JointSample(NamedTuple):
    """A joint at one configuration: X_ip (6, 6), S (6, nv), and the motion (nv,) from the reference to it."""

    X: Array
    S: Array
    moved: Array


class Arithmetic(ABC):
    """Numbers of one kind: joints at sufficiently many configurations, and bases of rows."""

    zero: Scalar = 0

    @abstractmethod
    def reference(self, i: int) -> Array:
        """X_ip (6, 6) of joint i at its reference configuration."""

    @abstractmethod
    def motions(self, i: int) -> Iterator[JointSample]:
        """Joint i at sufficiently many configurations."""

    @abstractmethod
    def unit(self, row: Array) -> float:
        """A number that scales the row (10,), by division, to about the size of others."""

    @abstractmethod
    def basis(self, rows: Array, size: float = 0.0) -> Array:
        """Independent rows that span the same space, at all configurations; ``size`` is that of other rows."""


def observable(model: Model, kinds: tuple[str, ...], arithmetic: Arithmetic) -> Array:
    """Independent rows (r, 10 nb + nv for each kind) that torques depend on; columns as in ``Columns``."""
    nb, nv = model.nb, model.nv
    # the rows of each joint for the parameters of all bodies that it carries
    whole = [np.zeros((10, 10 * nb), dtype=int)] * (nb + 1)
    total = []
    for i, rows in zip(reversed(model.bodies), reversed(_joint_rows(model, kinds, arithmetic)), strict=True):
        whole[i] = whole[i] + np.eye(10, 10 * nb, 10 * (i - 1), dtype=int)
        p, n = model.parent[i], model.joints[i].nv
        whole[p] = whole[p] + transport(arithmetic.reference(i)) @ whole[i]
        passive = {"armature": rows[:, 10 : 10 + n], "offset": rows[:, rows.shape[1] - n :]}
        parts = [rows[:, :10] @ whole[i]]
        for kind in kinds:
            parts.append(np.full((len(rows), nv), arithmetic.zero))
            if kind in passive:
                parts[-1][:, model.iv[i]] = passive[kind]
        total.append(np.concatenate(parts, axis=1))
    # only friction dissipates energy
    every = np.eye(10 * nb + nv * len(kinds), dtype=int)
    for k, kind in enumerate(kinds):
        if kind in ("viscous", "coulomb"):
            total.insert(0, every[10 * nb + nv * k : 10 * nb + nv * (k + 1)])
    return np.concatenate([every[:0], *reversed(total)])


def _joint_rows(model: Model, kinds: tuple[str, ...], arithmetic: Arithmetic) -> list[Array]:
    """Of each joint, the rows that affect its torques, in columns of its body (10), its armature and its offsets."""
    nothing, basis = np.zeros((0, 10), dtype=int), arithmetic.basis
    # of each body: a basis of its velocities, of their squares, its potential energy as one row, and its changes
    linear, squares = [np.zeros((0, 6), dtype=int)], [nothing]
    height = np.concatenate([[0], -model.gravity, [0] * 6])
    unit = arithmetic.unit(height)
    potential, varying = [height[None] / unit], [nothing]
    effective = []
    for i in model.bodies:
        p, n = model.parent[i], model.joints[i].nv
        A0, upper = transport(arithmetic.reference(i)), np.triu_indices(n)
        diagonal = np.eye(n, dtype=int)[upper[0]] * (upper[0] == upper[1])[:, None]
        seen, carried, spanned, heights = [_apart(model.joints[i])], [], [], []
        for X, S, moved in arithmetic.motions(i):
            A = transport(X)
            own, cross = _forms(S.T, S.T)[upper], _forms(S.T, linear[p] @ X.T).reshape(-1, 10)
            seen.append(_widened(own, n, armature=diagonal))
            seen.append(_widened(np.concatenate([cross, squares[p] @ (A - A0), varying[p] @ (A - A0)]), n))
            seen.append(_widened(potential[p] @ (A - A0), n, offset=np.asarray(moved)[None] / unit))
            carried += [own, cross, squares[p] @ A]
            heights += [varying[p] @ A, potential[p] @ (A - A0)]
            spanned += [S.T, linear[p] @ X.T]
        squares.append(basis(np.concatenate(carried)))
        linear.append(basis(np.concatenate(spanned)))
        varying.append(basis(np.concatenate(heights), 1.0))
        potential.append(potential[p] @ A0)
        columns = [np.arange(10), *(_of(kind, n, kinds) for kind in ("armature", "offset"))]
        effective.append(basis(np.concatenate(seen)[:, np.concatenate(columns)]))
    return effective


def transport(X: Array) -> Array:
    """A (10, 10): parameters A θ in the parent of a body with parameters θ, for X_ip."""
    I = X.T @ _BASIS @ X
    six = [I[:, 0, 0], I[:, 1, 1], I[:, 2, 2], I[:, 1, 2], I[:, 0, 2], I[:, 0, 1]]
    return np.array([I[:, 5, 5], *first_moment(np.moveaxis(I, 0, -1)), *six])


def _forms(V: Array, W: Array) -> Array:
    """Rows (n, m, 10) with row · θ = v·I(θ) w, for rows v of V (n, 6) and w of W (m, 6)."""
    rows = [V @ momentum_regressor(w) for w in W]
    return np.stack(rows, axis=1) if rows else np.zeros((len(V), 0, 10), dtype=int)


def _widened(rows: Array, n: int, armature: Array | None = None, offset: Array | None = None) -> Array:
    """Rows (k, 10) with columns for the armature and the offset of a joint with n degrees of freedom."""
    none = np.zeros((len(rows), n), dtype=int)
    return np.concatenate([rows, none if armature is None else armature, none if offset is None else offset], axis=1)


def _of(kind: str, n: int, kinds: tuple[str, ...]) -> Array:
    """The numbers of the columns of a kind in widened rows; empty if it is not estimated."""
    start = 10 if kind == "armature" else 10 + n
    return np.arange(start, start + n if kind in kinds else start)


def _apart(joint: Joint) -> Array:
    """Rows (k, 10 + 2 nv) that show the armature and the offsets of a joint whose velocities are not rates of q.

    A constant force along body axes has no potential, unlike all other forces. Armature adds Ia qdd without ad*(Ia qd),
    which a body with the same kinetic energy would add: only a change for which that is zero is not observable.
    """
    n = joint.nv
    if joint.is_vector_space:
        return np.zeros((0, 10 + 2 * n), dtype=int)
    q, rows = joint.neutral(), [np.eye(n, 10 + 2 * n, 10 + n, dtype=int)]
    for qd in (*np.eye(n, dtype=int), np.arange(1, n + 1), np.arange(n, 0, -1) ** 2):
        gyroscopic = np.array([joint.coadjoint(q, qd, part) for part in np.diag(qd)])
        rows.append(_widened(np.zeros((n, 10), dtype=int), n, armature=gyroscopic.T))
    return np.concatenate(rows)


class Floats(Arithmetic):
    """Floating-point numbers: joints at random configurations, ranks by singular values above ``tolerance``."""

    zero = 0.0

    def __init__(self, model: Model, tolerance: float) -> None:
        self.model, self.tolerance = model, tolerance
        self._rng = np.random.default_rng(0)
        length = np.abs(model.placement[:, :3, 3]).max(initial=0.0) or 1.0
        self.scale = np.concatenate([[length**-2], [1 / length] * 3, np.ones(6)])

    def reference(self, i: int) -> Array:
        """X_ip at the neutral configuration."""
        joint = self.model.joints[i]
        return np.asarray(joint.transform(joint.neutral()) @ self.model.X_tree[i], dtype=float)

    def motions(self, i: int) -> Iterator[JointSample]:
        """The joint at random configurations, whatever its limits are."""
        joint, q0 = self.model.joints[i], self.model.joints[i].neutral()
        free = np.full(joint.nq, np.inf)
        for q in joint.random_rows(self._rng, -free, free, _SAMPLES):
            X = np.asarray(joint.transform(q) @ self.model.X_tree[i], dtype=float)
            yield JointSample(X, np.asarray(joint.subspace(q), dtype=float), np.asarray(joint.difference(q0, q)))

    def unit(self, row: Array) -> float:
        """The norm of the row, with lengths in units of the model's size."""
        return float(np.linalg.norm(row * self.scale)) or 1.0

    def basis(self, rows: Array, size: float = 0.0) -> Array:
        """Orthonormal rows, in the same units."""
        scale = np.ones(rows.shape[1])
        if len(scale) >= 10:
            scale[:10] = self.scale
        _, values, directions = np.linalg.svd(rows * scale, full_matrices=False)
        return directions[values > self.tolerance * values.max(initial=size)] / scale
