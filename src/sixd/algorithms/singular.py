"""Which joints make the mass matrix exactly singular, whatever the configuration."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from weakref import WeakKeyDictionary

import numpy as np

from sixd.algorithms.aba import articulated_inertias
from sixd.algorithms.crba import composite_inertias
from sixd.algorithms.kinematics import joint_transforms
from sixd.model.model import Model

_KNOWN: WeakKeyDictionary[Model, dict[AbstractSet[int], tuple[str, ...]]] = WeakKeyDictionary()
_ROUNDING = 1e-13


def singular_joints(model: Model, prescribed: AbstractSet[int] = frozenset()) -> tuple[str, ...]:
    """Names of the joints whose pivot of M vanishes: they move no inertia that others do not move already.

    The pivot is D of the articulated-body algorithm, compared with the composite inertia SᵀIcS, at three
    configurations; a joint is named if it vanishes to rounding at all three. Joints of the bodies in ``prescribed``
    have their motion given and need no pivot. Symbolic models: none.
    """
    known = _KNOWN.setdefault(model, {})
    if prescribed not in known:
        known[prescribed] = () if model.symbols else _find(model, prescribed)
    return known[prescribed]


def _find(model: Model, prescribed: AbstractSet[int]) -> tuple[str, ...]:
    rng = np.random.default_rng(0)
    singular = set(model.bodies) - prescribed
    for _ in range(3):
        parts = []
        for i in model.bodies:
            unlimited = np.full(model.joints[i].nq, np.inf)
            parts.append(model.joints[i].random(rng, -unlimited, unlimited))
        X, S = joint_transforms(model, np.concatenate([np.zeros(0), *parts]))
        Ic = composite_inertias(model, X)
        with np.errstate(all="ignore"):
            D = articulated_inertias(model, X, S, prescribed).D
        for i in tuple(singular):
            size = np.abs(S[i].T @ Ic[i] @ S[i] + np.diag(model.armature[model.iv[i]])).max(initial=0.0)
            lowest = np.linalg.eigvalsh(D[i])[0] if np.isfinite(D[i]).all() and len(D[i]) else np.inf
            if abs(lowest) > _ROUNDING * size:
                singular.discard(i)
    return tuple(model.joint_names[i - 1] for i in sorted(singular))
