"""Articulated bodies with contact: how velocities change, where impulses on bodies and joints follow linear laws.

Contact points give each body a law for the impulse on it, f - K dv with the change dv of its velocity: the law of one
point is x = r - D u, its velocity is P v of that of its body, and K = Σ PᵀDP. Then (M + JᵀKJ) dw = Jᵀf for the change
dw of the joints' velocities: forward dynamics of bodies with the inertias I + K. K need not be symmetric. A joint may
have a law of its own, left - D dw.

All is in world axes, about one origin for the bodies of a tree, so that transforms between bodies are 1. Bodies that
carry neither points nor joints with a law are eliminated before: they add to the inertias of those that do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.kinematics import joint_transforms, path
from sixd.algorithms.linear.dense import inverse_small, solve_rows
from sixd.model.model import Model
from sixd.spatial.inertia import first_moment
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array, is_zero
from sixd.spatial.transform import blocks, mirror_upper, pose_from_transform, rotate_both

_NONE = np.zeros(6, dtype=int)
_UPPER = np.triu_indices(6)


class ContactBodies(NamedTuple):
    """S (6, nv_i), the inertia (6, 6) and the armature (nv_i,) of each body in world axes, about the origin of its
    tree; the inertia includes that of bodies eliminated before."""

    S: list[Array]
    inertia: list[Array]
    armature: list[Array]

    @property
    def entries(self) -> Array:
        """All numbers in one array, of symmetric inertias the upper triangles."""
        parts = ([*S.ravel(), *I[_UPPER], *a] for S, I, a in zip(self.S, self.inertia, self.armature, strict=True))
        return np.array([x for part in parts for x in part])


class ContactTree:
    """The bodies of a model that take part in contact, and those that carry them."""

    def __init__(self, model: Model, bodies: Collection[int], dofs: Collection[int]) -> None:
        """``bodies`` have contact points, ``dofs`` are entries of qd with laws of their own."""
        self.parent, self.iv = model.parent, model.iv
        taking = {i for i in model.bodies if i in bodies or any(j in dofs for j in range(model.nv)[model.iv[i]])}
        self.bodies = sorted({0}.union(*(path(model, i) for i in taking)) - {0})
        roots = [i for i in self.bodies if not model.parent[i] and len(model.armature[model.iv[i]]) == 6]
        self.free = {i for i in roots if all(map(is_zero, model.armature[model.iv[i]]))}

    def prepare(self, model: Model, S: Sequence[Array], inertia: Sequence[Array]) -> ContactBodies:
        """Return what does not change within a step, from S and the inertias of all bodies in world axes."""
        IA, kept = list(inertia), set(self.bodies)
        for i in reversed(model.bodies):
            if i not in kept:  # the parent feels what is left where the joint gives way
                U = IA[i] @ S[i]
                D = mirror_upper(S[i].T @ U) + np.diag(model.armature[model.iv[i]])
                IA[model.parent[i]] = IA[model.parent[i]] + IA[i] - mirror_upper(U @ inverse_small(D) @ U.T)
        own = self.bodies
        return ContactBodies([S[i] for i in own], [IA[i] for i in own], [model.armature[model.iv[i]] for i in own])

    def read(self, entries: Array) -> ContactBodies:
        """Return the bodies whose ``entries`` these are."""
        at, found = 0, ContactBodies([], [], [])
        for i in self.bodies:
            n = self.iv[i].stop - self.iv[i].start
            S, upper, armature = np.split(entries[at : at + 7 * n + 21], [6 * n, 6 * n + 21])
            inertia = np.zeros((6, 6), dtype=object)
            inertia[_UPPER] = upper
            found.S.append(S.reshape(6, n))
            found.inertia.append(mirror_upper(inertia))
            found.armature.append(armature)
            at += 7 * n + 21
        return found

    def changes(
        self, of: ContactBodies, K: Mapping[int, Array], f: Mapping[int, Array], laws: Mapping[int, tuple[Any, Any]]
    ) -> tuple[dict[int, Array], dict[int, Any]]:
        """Return dv (6,) of each body, and dw of the degrees of freedom with ``laws`` (left, D) of their own.

        K (6, 6) and f (6,) are the laws of bodies with points.
        """
        IA, pA = dict(zip(self.bodies, of.inertia, strict=True)), dict.fromkeys(self.bodies, _NONE)
        S = dict(zip(self.bodies, of.S, strict=True))
        for i in K:
            IA[i], pA[i] = IA[i] + K[i], pA[i] + f[i]
        own: dict[int, Array] = {}  # dw of a joint: its last column, minus the others times dv of the parent

        # inward: what the parent feels where the joint gives way
        for i, armature in reversed(list(zip(self.bodies, of.armature, strict=True))):
            p, dofs = self.parent[i], range(self.iv[i].start, self.iv[i].stop)
            if self._is_free(i, laws):
                continue
            left, more = zip(*(laws.get(j, (0, 0)) for j in dofs), strict=True) if dofs else ((), ())
            D = S[i].T @ IA[i] @ S[i] + np.diag(armature) + np.diag(np.array(more, dtype=object))
            u = S[i].T @ pA[i] + np.array(left, dtype=object)
            sides = np.column_stack([S[i].T @ IA[i], u]) if p else u[:, None]
            own[i] = np.array(solve_rows(list(map(list, D)), list(map(list, sides))), dtype=object).reshape(sides.shape)
            if p:
                U = IA[i] @ S[i]
                IA[p] = IA[p] + IA[i] - U @ own[i][:, :-1]
                pA[p] = pA[p] + pA[i] - U @ own[i][:, -1]

        # outward
        dv: dict[int, Array] = {}
        dw: dict[int, Any] = {}
        for i in self.bodies:
            p = self.parent[i]
            if self._is_free(i, laws):  # S is invertible
                dv[i] = np.array(solve_rows(list(map(list, IA[i])), [[x] for x in pA[i]]))[:, 0]
                continue
            change = own[i][:, -1] - own[i][:, :-1] @ dv[p] if p else own[i][:, -1]
            dw |= {j: x for j, x in zip(range(self.iv[i].start, self.iv[i].stop), change, strict=True) if j in laws}
            dv[i] = (dv[p] if p else _NONE) + S[i] @ change
        return dv, dw

    def _is_free(self, i: int, laws: Collection[int]) -> bool:
        """Whether a body moves freely, with six degrees of freedom, without armature or laws."""
        dofs = range(self.iv[i].start, self.iv[i].stop)
        return i in self.free and not any(j in laws for j in dofs)


def in_world_axes(model: Model, q: Array) -> tuple[list[Array], list[Array]]:
    """S (6, nv_i) and the inertias (6, 6) of all bodies in world axes, about the origin of each body's tree: that of
    its first body, counted from the world."""
    X, S = joint_transforms(model, q)
    R, p = [np.eye(3, dtype=int)], [np.zeros(3, dtype=int)]
    S_O, I_O = [S[0]], [np.zeros((6, 6), dtype=int)]
    for i in model.bodies:
        j, T = model.parent[i], pose_from_transform(X[i])
        R.append(R[j] @ T[:3, :3])
        p.append(p[j] + R[j] @ T[:3, 3] if j else p[0])
        turned = rotate_both(R[i], S[i])
        S_O.append(np.concatenate([turned[:3], turned[3:] + skew(p[i]) @ turned[:3]]))
        mass, h = model.inertia[i][3, 3], R[i] @ first_moment(model.inertia[i])
        h_O = h + p[i] * mass
        about = mirror_upper(R[i] @ model.inertia[i][:3, :3] @ R[i].T)
        moments = mirror_upper(about - skew(p[i]) @ skew(h) - skew(h_O) @ skew(p[i]))
        I_O.append(blocks(moments, skew(h_O), -skew(h_O), np.eye(3, dtype=int) * mass))
    return S_O, I_O


def jacobians(model: Model, S: Sequence[Array], bodies: Sequence[int]) -> Array:
    """The velocities of bodies in world axes, about the origins of their trees, by qd: (6 bodies, nv)."""
    J = np.zeros((6 * len(bodies), model.nv), dtype=object)
    for k, body in enumerate(bodies):
        for i in path(model, body) if body else ():
            J[6 * k : 6 * k + 6, model.iv[i]] = S[i]
    return J


def origin_of(model: Model, body: int) -> int:
    """The body whose origin is that of the tree of a body: the first one on the way from the world."""
    return path(model, body)[-1] if body else 0
