"""Checks of a model's parts: arguments that cannot be used raise, possible mistakes become findings.

The builder uses the first kind, the file readers and ``sixd.check`` the second.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, ShapeError, look_up
from sixd.model.constraint import Constraint, Mimic
from sixd.model.joints import Free, Joint, Revolute, Spherical
from sixd.model.manifold import UNIT
from sixd.model.parts import PER_Q, PER_V, Finding, Shape
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, ArrayLike, is_object, require_scalars

if TYPE_CHECKING:
    from sixd.model.model import Model

TWO_TURNS = 4 * math.pi  # rad: an angle beyond it, of a joint with limits, looks like degrees
_MOST_DEGREES = 720.0  # larger numbers are another way to write that there is no limit, such as 1e16


# arguments ----------------------------------------------------------------------------------------


def vector(what: str, value: ArrayLike, n: int, *, finite: bool = True, spread: bool = True) -> Array:
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


def coordinates(what: str, joint: Joint, value: ArrayLike, *, spread: bool) -> Array:
    """Return ``value`` as the coordinates (nq,) of a joint; a quaternion must have unit length."""
    q = vector(what, value, joint.nq, spread=spread)
    if joint.has_quaternion:
        length = 0.0 if not q[:4].any() else 1.0 if is_object(q) else float(np.linalg.norm(q[:4]))
        if abs(length - 1) > UNIT:
            got = f"quaternion of length {length:.5g}" if length else "zero quaternion"
            raise ModelError(f"{what} has a {got}, expected length 1, in the order w, x, y, z.")
    return q


def named_coordinates(where: str, joints: Mapping[str, Joint], values: Mapping[str, Any]) -> dict[str, Array]:
    """Return the coordinates of joints by name, each (nq,) of its joint."""
    result: dict[str, Array] = {}
    for name, value in values.items():
        joint = look_up(where, "joint", name, joints)
        result[name] = coordinates(f"{where}: joint {name!r}", joint, value, spread=joint.nq == 1)
    return result


def joint_properties(where: str, joint: Joint, values: Mapping[str, Any]) -> dict[str, Array]:
    """Return properties of a joint, by their names in ``PROPERTIES``, as arrays by the names of a model's fields."""
    properties: dict[str, Array] = {}
    for key, value in values.items():
        if key == "limits":
            properties["lower"], properties["upper"] = limits(where, joint, value)
        elif key == "rest":
            rest = joint.neutral() if value is None else coordinates(f"{where}: rest", joint, value, spread=True)
            properties["rest"] = rest
        else:
            bound = key in ("effort", "velocity")
            properties[f"{key}_limit" if bound else key] = vector(f"{where}: {key}", value, joint.nv, finite=not bound)
    if "stiffness" in properties:
        check_springs(where, joint, properties["stiffness"])
    return properties


def require_inertia(where: str, inertia: object) -> None:
    """Raise unless ``inertia`` is an Inertia."""
    if not isinstance(inertia, Inertia):
        raise ScalarTypeError(f"{where}: inertia is a {type(inertia).__name__}, expected a sixd.Inertia.")


def require_solid(where: str, shape: object) -> None:
    """Raise unless ``shape`` is a Shape with a surface: of positive size, not a line or an empty mesh."""
    if not isinstance(shape, Shape):
        raise ScalarTypeError(f"{where}: shape is {shape!r}, expected a sixd.Shape such as Shape('box', (1, 2, 3)).")
    if shape.kind == "line":
        raise ModelError(f"{where}: the shape is a line, expected a solid. Use a thin capsule.")
    if not is_object(np.asarray(shape.size)) and not all(0 < x < math.inf for x in shape.size):
        raise ModelError(f"{where}: the size of a {shape.kind} is {shape.size}, expected finite numbers above 0 [m].")
    if shape.kind != "mesh":
        return
    if not all(math.isfinite(x) and x for x in shape.scale):
        raise ModelError(f"{where}: the scale of a mesh is {shape.scale}, expected finite numbers other than 0.")
    vertices = np.asarray([] if shape.vertices is None else shape.vertices)
    if shape.vertices is None and not shape.file:
        raise ModelError(f"{where}: the mesh has neither a file nor vertices, expected one of them.")
    if shape.vertices is not None and (vertices.ndim != 2 or not len(vertices) or vertices.shape[1] != 3):
        raise ModelError(f"{where}: the vertices of a mesh have shape {vertices.shape}, expected (n, 3), n at least 1.")
    if not np.isfinite(vertices).all():
        raise ModelError(f"{where}: the vertices of a mesh contain NaN or infinity, expected finite numbers.")


def require_masks(where: str, **masks: object) -> None:
    """Raise unless these are whole numbers, or None."""
    for name, mask in masks.items():
        if mask is not None and (isinstance(mask, bool) or not isinstance(mask, (int, np.integer))):
            raise ScalarTypeError(f"{where}: {name} is {mask!r}, expected a whole number, whose bits count, or None.")


def pose(what: str, value: ArrayLike | None) -> Array:
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


def limits(where: str, joint: Joint, value: object) -> tuple[Array, Array]:
    """Return (lower, upper), each (nq,); infinite if ``value`` is None."""
    both = (-np.inf, np.inf) if value is None else pair(f"{where}: limits", value)
    low, high = (vector(f"{where}: limits", x, joint.nq, finite=False) for x in both)
    return low, high


def pair(what: str, value: object) -> tuple[Any, Any]:
    """Return ``value`` as (lower, upper)."""
    if not isinstance(value, (tuple, list, np.ndarray)) or getattr(value, "shape", None) == () or len(value) != 2:
        raise ModelError(f"{what} are {value!r}, expected (lower, upper).")
    return value[0], value[1]


def turns_within_limits(joint: Joint, low: Array, high: Array) -> bool:
    """Whether the joint is revolute, not continuous, and its limits (1,) are finite numbers."""
    limited = isinstance(joint, Revolute) and not joint.continuous and not is_object(low, high)
    return limited and bool(np.isfinite([low, high]).all())


def in_degrees(joint: Joint, low: Array, high: Array) -> str | None:
    """Return a remark on the limits (1,) of a revolute joint if they look like degrees: beyond two turns in radians."""
    if not turns_within_limits(joint, low, high) or not TWO_TURNS < max(-low[0], high[0]) <= _MOST_DEGREES:
        return None
    return f"its limits {low[0]:g} … {high[0]:g} rad are beyond two turns and look like degrees; give radians"


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


def model_arrays(model: Model) -> dict[str, Array]:
    """Return the arrays of a model by the names of its fields; raise unless all fields fit its joints."""
    n = len(model.joints)
    for name, length in {"parent": n, "body_names": n - 1, "joint_names": n - 1}.items():
        if len(getattr(model, name)) != length:
            raise ShapeError(f"Model: {name} has {len(getattr(model, name))} entries, expected {length}.")
    shapes = {"placement": (n, 4, 4), "inertia": (n, 6, 6), "gravity": (3,)}
    shapes |= dict.fromkeys(PER_Q, (model.nq,)) | dict.fromkeys(PER_V, (model.nv,))
    arrays = {name: np.asarray(getattr(model, name)) for name in shapes}
    given = [(name, arrays[name], shape) for name, shape in shapes.items()]
    given += [(f"configuration {name!r}", np.asarray(q), (model.nq,)) for name, q in model.configurations.items()]
    for name, array, shape in given:
        if array.shape != shape or array.dtype.kind not in "fiuO":
            hint = " See model.with_joints." if name in (*PER_Q, *PER_V) else ""
            raise ShapeError(f"Model: {name} has shape {array.shape} of {array.dtype}, expected numbers {shape}.{hint}")
    return arrays


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
        """Examine the inertia of a link; ``incomplete`` is what the reader reports itself."""
        if inertia.matrix.any():
            self._with_inertia.add(name)
        self._found += [f for f in (inertia_finding(name, inertia), incomplete) if f]

    def of(self, model: Model, massless: Set[str] = frozenset()) -> list[Finding]:
        """Return the findings about moving bodies, those without any inertia last; ``massless`` ones need none."""
        found = [f for f in self._found if model.frames[f.where].body]
        expected = massless | {f.where for f in found if f.code == "missing-inertia"}
        with_inertia = {model.frames[name].body for name in self._with_inertia}
        without = [model.body_names[i - 1] for i in model.bodies if i not in with_inertia]
        message = "it has no inertia, zero is assumed; give it a mass and a matrix"
        return found + [Finding("missing-inertia", name, message) for name in without if name not in expected]


def findings_at_load(model: Model) -> list[Finding]:
    """Return the findings that loading a file warns of; ``sixd.check`` also lists the quiet ones, and more."""
    return [*(note for note in model.notes if not note.quiet), *property_findings(model)]


def property_findings(model: Model) -> Iterator[Finding]:
    """Yield the findings about limits in the wrong order or in degrees, and about negative properties."""
    for i in model.bodies:
        low, high = model.lower[model.iq[i]], model.upper[model.iq[i]]
        if not is_object(low, high) and (low > high).any():
            message = f"the lower limit {low.tolist()} is above the upper {high.tolist()}; exchange them"
            yield Finding("limits", model.joint_names[i - 1], message)
        degrees = in_degrees(model.joints[i], low, high)
        if degrees is not None:
            yield Finding("degrees", model.joint_names[i - 1], degrees)
        for key in PER_V:
            values = getattr(model, key)[model.iv[i]]
            if not is_object(values) and (values < 0).any():
                message = f"its {key.replace('_', ' ')} is negative ({values.min():g}); give a number of at least 0"
                yield Finding("negative-property", model.joint_names[i - 1], message)
