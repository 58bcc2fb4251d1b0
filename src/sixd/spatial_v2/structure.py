"""Models as dictionaries with the original fields, and the sixd Model that their values describe at the moment.

A model has NB, parent (1-based, 0 is the base), jtype, Xtree and I, and may have gravity, gamma_q, appearance,
camera and gc; cells are lists. Exercises change models between calls, so every call reads the fields anew and
nothing is kept. Any symmetric inertia is taken, physical or not. Planar models (3×3) are laid into the xy-plane.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.io.spatial_v2 import entry, joint_of_type, planar_pose
from sixd.model.joints import Fixed, Joint
from sixd.model.model import Model
from sixd.model.parts import Frame
from sixd.spatial.scalar import Array
from sixd.spatial.transform import pose_from_transform, transform_from_pose
from sixd.spatial_v2.arguments import count, square, vector

PLANE = [2, 3, 4]  # where [ω; vx; vy] and [n; fx; fy] stand in a spatial vector
PLANAR_CODES = ("r", "px", "py")
_REQUIRED = ("NB", "parent", "jtype", "Xtree", "I")
_ROUNDING = 1e-9


class Struct(dict[str, Any]):
    """A dictionary whose entries are also attributes: ``model.NB`` is ``model["NB"]``.

    Assigning does not copy, unlike in MATLAB: ``copy.deepcopy(model)`` gives an independent model.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no field {name!r}; there are {', '.join(self)}.") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self:
            raise AttributeError(f"no field {name!r}; there are {', '.join(self)}.")
        del self[name]


@dataclass(frozen=True, eq=False)
class Parts:
    """What a model dictionary says, checked; entry k is body k + 1."""

    dimension: int  # 6, or 3 for a planar model
    parent: tuple[int, ...]
    joints: tuple[Joint, ...]
    placement: Array  # (NB, 4, 4)
    inertia: Array  # (NB, 6, 6)
    gravity: Array  # (3,) [m/s²]

    @property
    def count(self) -> int:
        """NB, the number of bodies."""
        return len(self.parent)


def to_model(model: Mapping[str, Any]) -> Model:
    """The sixd Model of the dictionary as it is now; bodies are ``body1`` …, joints ``joint1`` …

    Unlike ``sixd.load`` it takes any symmetric inertia, such as that of a massless body with a negative moment.
    """
    return assemble(read("to_model", model))


def read(where: str, model: Mapping[str, Any]) -> Parts:
    """Check the fields of a model dictionary and take its values."""
    require_fields(where, model)
    nb, d = body_count(where, model), dimension(where, model)
    for name in ("jtype", "Xtree", "I"):
        if cells(model[name]) != nb:
            raise ShapeError(f"{where}: {name} has {cells(model[name])} entries, expected NB = {nb}.")
    joints = []
    for i in range(nb):
        joints.append(joint_of_type(entry(model["jtype"], i)))
        code = joint_code(entry(model["jtype"], i))
        if (code in PLANAR_CODES) != (d == 3):
            kind, wanted = ("spatial", "Rx … H") if d == 6 else ("planar", "r, px or py")
            raise ModelError(
                f"{where}: joint {i + 1} has the code {code!r} in a {kind} model, expected {wanted}. "
                f"Planar and spatial cannot be mixed."
            )
    return Parts(
        dimension=d,
        parent=parents(where, "parent", model["parent"], nb),
        joints=tuple(joints),
        placement=np.array([_placement(where, model, i, d) for i in range(nb)]).reshape(nb, 4, 4),
        inertia=np.array([_inertia(where, model, i, d) for i in range(nb)]).reshape(nb, 6, 6),
        gravity=get_gravity(model)[3:] if d == 6 else np.append(get_gravity(model)[1:], 0.0),
    )


def assemble(parts: Parts) -> Model:
    """The sixd Model, built directly: the builder would refuse inertias that no rigid body has."""
    n = parts.count
    nq, nv = sum(j.nq for j in parts.joints), sum(j.nv for j in parts.joints)
    zero, unlimited = np.zeros(nv), np.full(nv, np.inf)
    names = tuple(f"body{i}" for i in range(1, n + 1))
    frames = {name: Frame(i, np.eye(4)) for i, name in enumerate(("world", *names))}
    return Model(
        name="spatial_v2",
        parent=(-1, *parts.parent),
        joints=(Fixed(), *parts.joints),
        body_names=names,
        joint_names=tuple(f"joint{i}" for i in range(1, n + 1)),
        placement=np.concatenate([np.eye(4)[None], parts.placement]),
        inertia=np.concatenate([np.zeros((1, 6, 6)), parts.inertia]),
        gravity=parts.gravity,
        lower=np.full(nq, -np.inf),
        upper=np.full(nq, np.inf),
        rest=np.zeros(nq),
        stiffness=zero,
        damping=zero,
        friction=zero,
        armature=zero,
        effort_limit=unlimited,
        velocity_limit=unlimited,
        frames=frames,
    )


def get_gravity(model: Mapping[str, Any]) -> Array:
    """Gravity as a motion vector: [0; g] (6,), by default g = (0, 0, -9.81) m/s²; planar (3,), by default 0."""
    d = dimension("get_gravity", model)
    given = model.get("gravity")
    if given is None or np.size(given) == 0:
        given = (0.0, 0.0, -9.81) if d == 6 else (0.0, 0.0)
    g = vector(
        "get_gravity", "gravity of a spatial model" if d == 6 else "gravity of a planar model", given, d // 3 + 1
    )
    if not np.isfinite(g).all():
        raise ModelError(f"get_gravity: gravity is {g.tolist()}, expected finite numbers [m/s²].")
    return np.concatenate([np.zeros(d - g.size), g])


def require_fields(where: str, model: Mapping[str, Any]) -> None:
    """Raise unless ``model`` is a dictionary with the fields that every model has."""
    if not isinstance(model, Mapping):
        raise ScalarTypeError(f"{where}: model is a {type(model).__name__}, expected a dictionary with NB, parent, ….")
    missing = [name for name in _REQUIRED if name not in model]
    if missing:
        raise ModelError(f"{where}: the model has no field {', '.join(missing)}, expected {', '.join(_REQUIRED)}.")


def body_count(where: str, model: Mapping[str, Any]) -> int:
    """NB."""
    require_fields(where, model)
    return count(where, "NB", model["NB"])


def dimension(where: str, model: Mapping[str, Any]) -> int:
    """6, or 3 for a planar model, as Xtree's first entry tells."""
    require_fields(where, model)
    if cells(model["Xtree"]) == 0:
        return 6
    return len(square(where, "Xtree of joint 1", entry(model["Xtree"], 0), 6, 3))


def cells(field: Any) -> int:
    """Number of entries of a cell, as ``entry`` reads it."""
    is_array = isinstance(field, np.ndarray) and field.ndim != 2 and field.shape != ()
    return len(field) if is_array or isinstance(field, (list, tuple)) else 1


def parents(where: str, name: str, value: Any, n: int | None = None) -> tuple[int, ...]:
    """A parent array λ: 0 ≤ λ(i) < i, counting from 1."""
    x = np.asarray(value)
    array = vector(where, name, x, x.size if n is None else n)
    for i, p in enumerate(array.tolist(), start=1):
        if not 0 <= p < i or p != int(p):
            raise ModelError(f"{where}: {name}({i}) is {p:g}, expected 0 to {i - 1}. Number parents first.")
    return tuple(int(p) for p in array)


def joint_code(jtype: Any) -> str:
    """The code of a joint type, given as a string or a structure."""
    return str(jtype.get("code") if isinstance(jtype, Mapping) else jtype)


def _placement(where: str, model: Mapping[str, Any], i: int, d: int) -> Array:
    X = square(where, f"Xtree of joint {i + 1}", entry(model["Xtree"], i), d)
    T = planar_pose(X) if d == 3 else pose_from_transform(X)
    back = transform_from_pose(T)
    rebuilt = back[np.ix_(PLANE, PLANE)] if d == 3 else back
    rigid = np.abs(T[:3, :3] @ T[:3, :3].T - np.eye(3)).max() < _ROUNDING
    if not rigid or np.abs(rebuilt - X).max() > _ROUNDING * max(1.0, np.abs(X).max()):
        raise ModelError(
            f"{where}: Xtree of joint {i + 1} is not a coordinate transform. Make it with "
            f"{'plnr' if d == 3 else 'rotx … xlt, or plux'}."
        )
    return T


def _inertia(where: str, model: Mapping[str, Any], i: int, d: int) -> Array:
    I = square(where, f"I of body {i + 1}", entry(model["I"], i), d)
    if not np.abs(I - I.T).max() <= _ROUNDING * np.abs(I).max():
        raise ModelError(f"{where}: I of body {i + 1} is not symmetric or not finite. Make it with mcI.")
    if d == 6:
        return I
    laid = np.zeros((6, 6))
    laid[np.ix_(PLANE, PLANE)] = I
    return laid
