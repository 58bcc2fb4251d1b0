"""Which joints make the mass matrix singular, in one configuration or in all.

The measure is the pivot D of the articulated-body algorithm beside the composite inertia SᵀIcS: their ratio is 1 for a
joint that moves alone, and 0 for one that moves nothing that others do not move already.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from weakref import WeakKeyDictionary

import numpy as np

from sixd.algorithms.aba import articulated_inertias
from sixd.algorithms.crba import composite_inertias
from sixd.algorithms.kinematics import joint_transforms
from sixd.model.model import Model
from sixd.spatial.scalar import Array

_KNOWN: WeakKeyDictionary[Model, dict[AbstractSet[int], tuple[str, ...]]] = WeakKeyDictionary()
_ROUNDING = 1e-13


def vanishing_pivots(model: Model, q: Array, prescribed: AbstractSet[int] = frozenset()) -> list[int]:
    """Bodies whose joint has a pivot that vanishes to rounding at q (nq,), joints of ``prescribed`` excepted."""
    X, S = joint_transforms(model, q)
    Ic = composite_inertias(model, X)
    with np.errstate(all="ignore"):
        D = articulated_inertias(model, X, S, prescribed).D
    found = []
    for i in model.bodies:
        if i in prescribed or not len(D[i]) or not np.isfinite(D[i]).all():
            continue
        # each freedom in its own scale, so that metres and radians can be compared
        size = np.sqrt(np.abs(np.diag(S[i].T @ Ic[i] @ S[i]) + model.armature[model.iv[i]]))
        if not size.all() or abs(np.linalg.eigvalsh(D[i] / np.outer(size, size))[0]) <= _ROUNDING:
            found.append(i)
    return found


def singular_joints(model: Model, prescribed: AbstractSet[int] = frozenset()) -> tuple[str, ...]:
    """Names of the joints whose pivot vanishes in every configuration (three random ones are tried).

    Joints of the bodies in ``prescribed`` have their motion given and need no pivot. Symbolic models: none.
    """
    known = _KNOWN.setdefault(model, {})
    if prescribed not in known:
        known[prescribed] = () if model.symbols else _find(model, prescribed)
    return known[prescribed]


def _find(model: Model, prescribed: AbstractSet[int]) -> tuple[str, ...]:
    rng = np.random.default_rng(0)
    singular = set(model.bodies)
    for _ in range(3):
        unlimited = [np.full(model.joints[i].nq, np.inf) for i in model.bodies]
        parts = [model.joints[i].random(rng, -x, x) for i, x in zip(model.bodies, unlimited, strict=True)]
        singular &= set(vanishing_pivots(model, np.concatenate([np.zeros(0), *parts]), prescribed))
    return tuple(model.joint_names[i - 1] for i in sorted(singular))
