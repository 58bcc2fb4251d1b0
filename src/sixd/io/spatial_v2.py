"""Models from spatial_v2 structures: dictionaries with the original fields, or .mat files that hold one.

Numbering there is 1-based with the base as 0; planar models (3×3 matrices) are laid into the xy-plane.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from sixd.errors import LoadError, ModelError
from sixd.model import Helical, Joint, Model, ModelBuilder, Prismatic, Revolute
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array
from sixd.spatial.transform import placement, pose_from_transform

_JOINTS: dict[str, Joint] = {
    "R": Revolute("z"), "Rx": Revolute("x"), "Ry": Revolute("y"), "Rz": Revolute("z"),
    "P": Prismatic("z"), "Px": Prismatic("x"), "Py": Prismatic("y"), "Pz": Prismatic("z"),
    "r": Revolute("z"), "px": Prismatic("x"), "py": Prismatic("y"),
}  # fmt: skip


def joint_of_type(jtype: Any, pitch: Any = None) -> Joint:
    """The joint of a spatial_v2 type: a string, or a structure with ``code`` and, for "H", ``pars.pitch``."""
    code = jtype
    if isinstance(jtype, Mapping):
        code, pars = jtype.get("code"), jtype.get("pars")
        pitch = pars.get("pitch") if isinstance(pars, Mapping) else pitch
    code = str(code)
    if code == "H":
        if pitch is None:
            raise ModelError("jcalc: a helical joint 'H' has no pitch. Give {'code': 'H', 'pars': {'pitch': …}}.")
        return Helical("z", float(pitch))
    if code not in _JOINTS:
        raise ModelError(f"jcalc: unrecognised joint code {code!r}, expected one of {', '.join([*_JOINTS, 'H'])}.")
    return _JOINTS[code]


def entry(field: Any, i: int) -> Any:
    """Entry i (0-based) of a cell: a list, an object array, a stacked array, or the entry itself."""
    if isinstance(field, (list, tuple)) or (isinstance(field, np.ndarray) and field.ndim != 2 and field.shape != ()):
        return field[i]
    return field  # a cell of one, as loadmat simplifies it


def planar_pose(X: Array) -> Array:
    """Pose (4, 4) of a planar transform [1 0 0; s·x-c·y c s; c·x+s·y -s c]."""
    c, s = X[1, 1], X[1, 2]
    x, y = s * X[1, 0] + c * X[2, 0], s * X[2, 0] - c * X[1, 0]
    return placement((x, y, 0), R=np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]))


def from_structure(model: Mapping[str, Any], *, name: str = "spatial_v2") -> Model:
    """The Model of a dictionary with the fields NB, parent, jtype, Xtree, I and optionally gravity."""
    for key in ("NB", "parent", "jtype", "Xtree", "I"):
        if key not in model:
            raise LoadError(
                f"load: the spatial_v2 structure has no field {key!r}, expected NB, parent, jtype, Xtree and I."
            )
    nb = int(model["NB"])
    parent = np.atleast_1d(np.asarray(model["parent"], dtype=int))
    flat = np.shape(entry(model["Xtree"], 0)) == (3, 3)
    gravity = np.asarray(model.get("gravity", (0, 0) if flat else (0, 0, -9.81)), dtype=float).ravel()
    if gravity.shape not in ((2,), (3,)):
        raise LoadError(f"load: gravity has {gravity.size} entries, expected 3, or 2 for a planar model.")
    builder = ModelBuilder(name, np.concatenate([gravity, [0.0]])[:3])
    pitches = model.get("pitch")
    for i in range(nb):
        X, I = np.asarray(entry(model["Xtree"], i), dtype=float), np.asarray(entry(model["I"], i), dtype=float)
        pitch = None if pitches is None else entry(pitches, i)
        if not 0 <= parent[i] <= i:
            raise LoadError(f"load: parent({i + 1}) is {parent[i]}, expected 0 to {i}. Number parents first.")
        builder.add_body(
            f"body{i + 1}",
            f"body{parent[i]}" if parent[i] else "world",
            joint_of_type(entry(model["jtype"], i), pitch),
            placement=planar_pose(X) if flat else pose_from_transform(X),
            inertia=_lamina(I) if flat else Inertia.from_matrix(I),
            joint_name=f"joint{i + 1}",
        )
    return builder.build()


def _lamina(I: Array) -> Inertia:
    """A planar inertia [I -m·cy m·cx; · m 0; · 0 m] as a flat body in the xy-plane."""
    moment = I[0, 0] / 2
    return Inertia.from_moments(I[1, 1], (I[0, 2], -I[0, 1], 0), np.diag([moment, moment, I[0, 0]]))


def from_mat(data: bytes, source: str) -> Model:
    """The Model of a .mat file that holds one structure with the fields of a spatial_v2 model."""
    from scipy.io import loadmat

    try:
        content = loadmat(io.BytesIO(data), simplify_cells=True)
    except Exception as error:
        raise LoadError(f"{source}: cannot be read as a .mat file: {error}.") from None
    models = {k: v for k, v in content.items() if isinstance(v, dict) and "NB" in v and "Xtree" in v}
    if len(models) != 1:
        names = ", ".join(k for k in content if not k.startswith("__")) or "nothing"
        raise LoadError(
            f"{source}: holds {len(models)} spatial_v2 models (variables: {names}), expected one structure with NB, "
            f"parent, jtype, Xtree and I. Save just the model, or pass the dictionary itself to sixd.load."
        )
    ((name, structure),) = models.items()
    return from_structure(structure, name=name)
