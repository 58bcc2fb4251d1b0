"""Checks of a model's parts: arguments that cannot be used raise, possible mistakes become findings.

The builder uses the first kind, the file readers and ``sixd.check`` the second.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import ModelError, ScalarTypeError
from sixd.model.constraint import Constraint, Mimic
from sixd.model.joints import Free, Joint, Spherical
from sixd.model.manifold import UNIT
from sixd.model.parts import PER_V, Finding
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, is_object, require_scalars

if TYPE_CHECKING:
    from sixd.model.model import Model


# arguments ----------------------------------------------------------------------------------------


def vector(what: str, value: Any, n: int, *, finite: bool = True, spread: bool = True) -> Array:
    """Return ``value`` as n numbers or symbols; with ``spread`` one number is repeated n times. NaN is refused."""
    if spread and type(value) is float and (math.isfinite(value) or (not finite and not math.isnan(value))):
        return np.full(n, value)  # the usual case, 1 µs instead of 10: a file of 10,000 links has 80,000 of them
    require_scalars(what, value)
    array = np.asarray(value)
    if array.shape != (n,) and not (spread and array.shape == ()):
        raise ModelError(f"{what} has shape {array.shape}, expected {'a number or ' if spread else ''}({n},).")
    if array.dtype != object:
        array = array.astype(float)
        if np.isnan(array).any() or (finite and not np.isfinite(array).all()):
            wanted = "finite numbers" if finite else "numbers, infinity allowed"
            raise ModelError(f"{what} is {array.tolist()}, expected {wanted}. Fix the value.")
    return np.broadcast_to(array, (n,)).copy()


def coordinates(what: str, joint: Joint, value: Any, *, spread: bool) -> Array:
    """Return ``value`` as the coordinates (nq,) of a joint; a quaternion must have unit length."""
    q = vector(what, value, joint.nq, spread=spread)
    if isinstance(joint, (Spherical, Free)):
        length = 0.0 if not q[:4].any() else 1.0 if is_object(q) else float(np.linalg.norm(q[:4]))
        if abs(length - 1) > UNIT:
            found = f"quaternion of length {length:.5g}" if length else "zero quaternion"
            raise ModelError(f"{what} has a {found}, expected length 1, in the order w, x, y, z.")
    return q


def require_inertia(where: str, inertia: object) -> None:
    """Raise unless ``inertia`` is an Inertia."""
    if not isinstance(inertia, Inertia):
        raise ScalarTypeError(f"{where}: inertia is a {type(inertia).__name__}, expected a sixd.Inertia.")


def pose(what: str, value: Any) -> Array:
    """Return ``value`` as a rigid pose (4, 4); the identity if it is None."""
    if value is None:
        return np.eye(4)
    T = np.asarray(value)
    if T.shape != (4, 4):
        raise ModelError(f"{what} has shape {T.shape}, expected (4, 4). Make one with sixd.placement(xyz, rpy).")
    if T.dtype == object:
        return T
    T = T.astype(float)
    if not np.isfinite(T).all():
        raise ModelError(f"{what} contains NaN or infinity, expected finite numbers.")
    R = T[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0 or np.abs(T[3] - [0, 0, 0, 1]).max() > 1e-9:
        raise ModelError(f"{what} is not a rigid pose, expected a rotation matrix, a position and (0, 0, 0, 1).")
    return T


def limits(where: str, joint: Joint, value: Any) -> tuple[Array, Array]:
    """Return (lower, upper), each (nq,); infinite if ``value`` is None."""
    if value is None:
        value = (-np.inf, np.inf)
    if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != 2:
        raise ModelError(f"{where}: limits are {value!r}, expected (lower, upper).")
    low, high = (vector(f"{where}: limits", x, joint.nq, finite=False) for x in value)
    return low, high


def check_springs(where: str, joint: Joint, stiffness: Array) -> None:
    """Raise if a spring's force would not be the gradient of an energy."""
    if isinstance(joint, Free) and stiffness.any():
        raise ModelError(
            f"{where}: a free joint cannot have a spring. Use a spherical and three prismatic joints instead."
        )
    if isinstance(joint, Spherical) and len(set(stiffness.tolist())) > 1:
        raise ModelError(f"{where}: stiffness of a spherical joint is {stiffness.tolist()}, expected one number.")


def check_mimic(mimic: Mimic, others: Iterable[Constraint], joints: Mapping[str, Joint]) -> None:
    """Raise if a mimic relation has joints of several coordinates, bad numbers, or makes a circle with ``others``."""
    where = f"add_constraint: joint {mimic.joint!r} mimics {mimic.source!r}"
    for value in (mimic.multiplier, mimic.offset):
        vector(f"{where}: multiplier or offset", value, 1)
    for name in mimic.joints:
        if joints[name].nq != 1:
            raise ModelError(
                f"{where}, but {name!r} has {joints[name].nq} coordinates, expected revolute or prismatic joints."
            )
    source = {c.joint: c.source for c in [*others, mimic] if isinstance(c, Mimic)}
    seen, name = {mimic.joint}, mimic.source
    while name in source and name not in seen:
        seen.add(name)
        name = source[name]
    if name == mimic.joint:
        raise ModelError(f"{where}, which follows {mimic.joint!r} itself, expected no circle. Leave one relation out.")


# findings -----------------------------------------------------------------------------------------


def inertia_finding(name: str, inertia: Inertia) -> Finding | None:
    """Return the finding about a body's inertia, if there is one."""
    problem = inertia.problem()
    if problem is None:
        return None
    code = "negative-mass" if inertia.mass < 0 else "impossible-inertia"
    return Finding(code, name, f"no real body has this inertia: {problem}; fix the file or the parameters")


class InertiaFindings:
    """Collects, while a file is read, the findings about the inertias of its links."""

    def __init__(self) -> None:
        self._found: list[Finding] = []
        self._with_inertia: set[str] = set()

    def add(self, name: str, inertia: Inertia, incomplete: Finding | None = None) -> None:
        """Examine the inertia of a link; ``incomplete`` is what the reader found itself."""
        if inertia.matrix.any():
            self._with_inertia.add(name)
        self._found += [f for f in (inertia_finding(name, inertia), incomplete) if f]

    def of(self, model: Model, massless: Set[str] = frozenset()) -> list[Finding]:
        """Return the findings about moving bodies, those without any inertia last; ``massless`` ones need none."""
        found = [f for f in self._found if model.frames[f.where].body]
        expected = massless | {f.where for f in found if f.code == "missing-inertia"}
        with_inertia = {model.frames[name].body for name in self._with_inertia}
        without = [model.body_names[i - 1] for i in model.bodies if i not in with_inertia]
        message = "it has no inertia, zero is taken; give it a mass and a matrix"
        return found + [Finding("missing-inertia", name, message) for name in without if name not in expected]


def findings_at_load(model: Model) -> list[Finding]:
    """Return the findings that loading a file warns of; ``sixd.check`` also lists the quiet ones, and more."""
    return [*(note for note in model.notes if not note.quiet), *property_findings(model)]


def property_findings(model: Model) -> Iterator[Finding]:
    """Yield the findings about limits in the wrong order and about negative properties."""
    for i in model.bodies:
        low, high = model.lower[model.iq[i]], model.upper[model.iq[i]]
        if not is_object(low, high) and (low > high).any():
            message = f"the lower limit {low.tolist()} is above the upper {high.tolist()}; exchange them"
            yield Finding("limits", model.joint_names[i - 1], message)
        for key in PER_V:
            values = getattr(model, key)[model.iv[i]]
            if not is_object(values) and (values < 0).any():
                message = f"its {key.replace('_', ' ')} is negative ({values.min():g}); give a number of at least 0"
                yield Finding("negative-property", model.joint_names[i - 1], message)
