"""Models from spatial_v2 structures: dictionaries with the original fields, or .mat files with one such structure.

A model has NB, parent (1-based, 0 is the base), jtype, Xtree and I, and may have gravity and appearance; cells are
lists. Planar models (3×3 matrices) move in the xy-plane.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from sixd.errors import LoadError, ModelError, ScalarTypeError, ShapeError
from sixd.io.spatial_v2.drawing import read_appearance
from sixd.io.spatial_v2.matlab import count, sampled, scalar, square, vector
from sixd.model import Model, ModelBuilder
from sixd.model.joints import Cylindrical, Free, Helical, Joint, Prismatic, RackAndPinion, Revolute, Spherical
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, is_sympy
from sixd.spatial.transform import make_pose, pose_from_transform, transform_from_pose

PLANE = [2, 3, 4]  # indices of [ω; vx; vy] and [n; fx; fy] in a spatial vector
PLANAR_CODES = ("r", "px", "py")
_REQUIRED = ("NB", "parent", "jtype", "Xtree", "I")
_ROUNDING = 1e-9

_JOINTS: dict[str, Joint] = {
    "R": Revolute("z"), "Rx": Revolute("x"), "Ry": Revolute("y"), "Rz": Revolute("z"),
    "P": Prismatic("z"), "Px": Prismatic("x"), "Py": Prismatic("y"), "Pz": Prismatic("z"),
    "r": Revolute("z"), "px": Prismatic("x"), "py": Prismatic("y"),
    "C": Cylindrical("z"), "S": Spherical(), "Fb": Free(),
}  # fmt: skip
# codes with a parameter: its name, what it is, and the joint
_WITH_PARAMETER: dict[str, tuple[str, str, Callable[[float], Joint]]] = {
    "H": ("pitch", "a helical joint", lambda pitch: Helical("z", pitch)),
    "rack": ("radius", "a rack and pinion", RackAndPinion),
}


def joint_of_type(jtype: object) -> Joint:
    """Return the joint of a type: a string, or a structure with ``code`` and ``pars.pitch`` (H) or ``.radius`` (rack).

    C is cylindrical about z, q = (angle, distance); S and Fb are spatial_v2_extended's ball and floating base.
    """
    code = joint_code(jtype)
    if code in _WITH_PARAMETER:
        name, kind, joint = _WITH_PARAMETER[code]
        pars = jtype.get("pars") if isinstance(jtype, Mapping) else None
        value = pars.get(name) if isinstance(pars, Mapping) else None
        if value is None:
            raise ModelError(
                f"jcalc: {kind} {code!r} has no {name}. Give {{'code': {code!r}, 'pars': {{{name!r}: …}}}}."
            )
        number = scalar("jcalc", name, value)
        return joint(number if is_sympy(number) else float(number))
    if code not in _JOINTS:
        known = ", ".join([*_JOINTS, *_WITH_PARAMETER])
        raise ModelError(f"jcalc: unrecognised joint code {code!r}, expected one of {known}.")
    return _JOINTS[code]


def entry(field: object, i: int) -> Any:
    """Return entry i (0-based) of a cell: a list, an object array, a stacked array, or the entry itself."""
    return field[i] if _is_cell(field) else field  # a cell of one, as loadmat simplifies it


def _is_cell(field: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(field, (list, tuple)) or (isinstance(field, np.ndarray) and field.ndim not in (0, 2))


def planar_pose(X: Array) -> Array:
    """Return the pose (4, 4) of a planar transform [1 0 0; s·x-c·y c s; c·x+s·y -s c]."""
    c, s = X[1, 1], X[1, 2]
    x, y = s * X[1, 0] + c * X[2, 0], s * X[2, 0] - c * X[1, 0]
    return make_pose(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), (x, y, 0))


@dataclass(frozen=True, eq=False)
class Parts:
    """The checked values of a model dictionary; entry k is body k + 1."""

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


def read(where: str, model: Mapping[str, Any], *, several: bool = False) -> Parts:
    """Return the checked values of a model dictionary; ``several`` allows joints of several degrees of freedom."""
    nb, d = body_count(where, model), dimension(where, model)
    for name in ("jtype", "Xtree", "I"):
        if cells(model[name]) != nb:
            raise ShapeError(f"{where}: {name} has {cells(model[name])} entries, expected NB = {nb}.")
    joints = []
    for i in range(nb):
        jtype = entry(model["jtype"], i)
        joints.append(joint_of_type(jtype))
        code = joint_code(jtype)
        if joints[-1].nv > 1 and not several:
            raise ModelError(
                f"{where}: joint {i + 1} has the code {code!r} with {joints[-1].nv} degrees of freedom, expected one. "
                f"ID, HandC, FDab, FDcrb, CoriolisMatrix, EnerMo and sixd.load accept several."
            )
        if (code in PLANAR_CODES) != (d == 3):
            kind, wanted = ("spatial", "Rx … H") if d == 6 else ("planar", "r, px or py")
            raise ModelError(
                f"{where}: joint {i + 1} has the code {code!r} in a {kind} model, expected {wanted}. "
                f"Planar and spatial joints cannot be mixed."
            )
    return Parts(
        dimension=d,
        parent=parents(where, "parent", model["parent"], nb),
        joints=tuple(joints),
        placement=np.array([_placement(where, model, i, d) for i in range(nb)]).reshape(nb, 4, 4),
        inertia=np.array([_inertia(where, model, i, d) for i in range(nb)]).reshape(nb, 6, 6),
        gravity=get_gravity(model)[3:] if d == 6 else np.append(get_gravity(model)[1:], 0.0),
    )


def get_gravity(model: Mapping[str, Any]) -> Array:
    """Return gravity as a motion vector: [0; g] (6,), by default g = (0, 0, -9.81) m/s²; planar (3,), by default 0."""
    d = dimension("get_gravity", model)
    gravity = model.get("gravity")
    if gravity is None or np.size(gravity) == 0:
        gravity = (0.0, 0.0, -9.81) if d == 6 else (0.0, 0.0)
    kind = f"gravity of a {'spatial' if d == 6 else 'planar'} model"
    g = vector("get_gravity", kind, gravity, d // 3 + 1, symbols=True)
    if not np.isfinite(sampled(g)).all():
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
    """Return NB, the number of bodies."""
    require_fields(where, model)
    return count(where, "NB", model["NB"])


def dimension(where: str, model: Mapping[str, Any]) -> int:
    """Return 6, or 3 for a planar model, according to Xtree's first entry."""
    require_fields(where, model)
    if cells(model["Xtree"]) == 0:
        return 6
    return len(square(where, "Xtree of joint 1", entry(model["Xtree"], 0), 6, 3, symbols=True))


def cells(field: object) -> int:
    """Return the number of entries of a cell, as ``entry`` reads it."""
    return len(field) if _is_cell(field) else 1


def parents(where: str, name: str, value: object, n: int | None = None) -> tuple[int, ...]:
    """Return a parent array λ, checked: 0 ≤ λ(i) < i, counting from 1."""
    try:
        x = np.asarray(value)
    except ValueError:  # lists of several lengths
        raise ShapeError(f"{where}: {name} is {value!r}, expected a vector of numbers.") from None
    array = vector(where, name, x, x.size if n is None else n)
    for i, p in enumerate(array.tolist(), start=1):
        if not 0 <= p < i or p != int(p):
            raise ModelError(f"{where}: {name}({i}) is {p:g}, expected 0 to {i - 1}. Number parents first.")
    return tuple(int(p) for p in array)


def joint_code(jtype: object) -> str:
    """Return the code of a joint type, a string or a structure."""
    return str(jtype.get("code") if isinstance(jtype, Mapping) else jtype)


def _placement(where: str, model: Mapping[str, Any], i: int, d: int) -> Array:
    transform = square(where, f"Xtree of joint {i + 1}", entry(model["Xtree"], i), d, symbols=True)
    pose, X = planar_pose if d == 3 else pose_from_transform, sampled(transform)
    T = pose(X)
    back = transform_from_pose(T)
    rebuilt = back[np.ix_(PLANE, PLANE)] if d == 3 else back
    rigid = np.abs(T[:3, :3] @ T[:3, :3].T - np.eye(3)).max() < _ROUNDING
    if not rigid or np.abs(rebuilt - X).max() > _ROUNDING * max(1.0, np.abs(X).max()):
        raise ModelError(
            f"{where}: Xtree of joint {i + 1} is not a coordinate transform. Make it with "
            f"{'plnr' if d == 3 else 'rotx … xlt, or plux'}."
        )
    return pose(transform)


def _inertia(where: str, model: Mapping[str, Any], i: int, d: int) -> Array:
    I = square(where, f"I of body {i + 1}", entry(model["I"], i), d, symbols=True)
    known = sampled(I)
    if not np.abs(known - known.T).max() <= _ROUNDING * np.abs(known).max():
        raise ModelError(f"{where}: I of body {i + 1} is not symmetric or not finite. Make it with mcI.")
    if d == 6:
        return I
    spatial = np.zeros((6, 6), dtype=I.dtype)
    spatial[np.ix_(PLANE, PLANE)] = I
    return spatial


def from_structure(model: Mapping[str, Any], *, name: str = "spatial_v2") -> Model:
    """Return the Model of a dictionary with NB, parent, jtype, Xtree, I and optionally gravity and appearance."""
    parts = read("load", model, several=True)
    builder = ModelBuilder(name, parts.gravity)
    for k, parent in enumerate(parts.parent):
        inertia = _lamina(parts.inertia[k]) if parts.dimension == 3 else Inertia.from_matrix(parts.inertia[k])
        options: dict[str, Any] = {"placement": parts.placement[k], "inertia": inertia, "joint_name": f"joint{k + 1}"}
        builder.add_body(f"body{k + 1}", f"body{parent}" if parent else "world", parts.joints[k], **options)
    builder.visuals += read_appearance("load", model.get("appearance"), parts.count)
    return builder.build()


def _lamina(I: Array) -> Inertia:
    """Return the planar inertia [I -m·cy m·cx; · m 0; · 0 m], stored as 6×6, of a flat body in the xy-plane."""
    mass, x, y = I[3, 3], I[2, 4], -I[2, 3]  # x and y times the mass
    if mass == 0:
        return Inertia.from_moments(mass, (x, y, 0), np.diag([0, 0, I[2, 2]]))
    moment = I[2, 2] - (x * x + y * y) / mass
    return Inertia(mass, (x / mass, y / mass, 0), (moment / 2, moment / 2, moment))


def read_mat(data: bytes, where: str) -> dict[str, Any]:
    """Return the variables of a .mat file by name; ``where`` begins the error."""
    from scipy.io import loadmat

    try:
        return loadmat(io.BytesIO(data), simplify_cells=True)
    except Exception as error:  # loadmat raises many kinds
        raise LoadError(f"{where} cannot be read as a .mat file: {error}.") from None


def from_mat(data: bytes, source: str) -> Model:
    """Return the Model of a .mat file that contains one structure with the fields of a spatial_v2 model."""
    content = read_mat(data, f"{source}:")
    models = {k: v for k, v in content.items() if isinstance(v, dict) and "NB" in v and "Xtree" in v}
    if len(models) != 1:
        names = ", ".join(k for k in content if not k.startswith("__")) or "nothing"
        raise LoadError(
            f"{source}: holds {len(models)} spatial_v2 models (variables: {names}), expected one structure with NB, "
            f"parent, jtype, Xtree and I. Save just the model, or pass the dictionary itself to sixd.load."
        )
    ((name, structure),) = models.items()
    return from_structure(structure, name=name)
