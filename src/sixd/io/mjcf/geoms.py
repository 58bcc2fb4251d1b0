"""The geoms of a compiled MuJoCo model as shapes to draw; they have no effect on the dynamics.

Only geoms that MuJoCo's own viewer shows by default are read: those of groups 0 to 2 that are not fully transparent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sixd.io.mjcf.compiled import given_names
from sixd.model import ModelBuilder, Shape
from sixd.spatial.rotation import quaternion_to_rotation
from sixd.spatial.transform import placement

if TYPE_CHECKING:
    from mujoco import MjModel

PLANE, HEIGHT_FIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = range(9)  # MuJoCo's mjtGeom
# the kind of shape, and its sizes in units of MuJoCo's radii and half lengths
_FACTORS: dict[int, tuple[str, tuple[int, ...]]] = {
    PLANE: ("plane", ()), SPHERE: ("sphere", (1,)), CAPSULE: ("capsule", (1, 2)), ELLIPSOID: ("ellipsoid", (1, 1, 1)),
    CYLINDER: ("cylinder", (1, 2)), BOX: ("box", (2, 2, 2)),
}  # fmt: skip
_LAST_VISIBLE_GROUP = 2
_UNSET = (0.5, 0.5, 0.5, 1.0)  # a geom of this color has that of its material


def add_geoms(builder: ModelBuilder, compiled: MjModel, body_names: list[str]) -> None:
    """Add the visible geoms to their bodies."""
    meshes: dict[int, Shape] = {}
    for g, name in enumerate(given_names(compiled, "geom")):
        color = _color(compiled, g)
        if compiled.geom_group[g] > _LAST_VISIBLE_GROUP or color[3] == 0:
            continue
        shape = _shape(compiled, g, meshes)
        if shape is not None:
            pose = placement(np.array(compiled.geom_pos[g]), R=quaternion_to_rotation(compiled.geom_quat[g]))
            builder.add_visual(body_names[compiled.geom_bodyid[g]], shape, pose, color=color, name=name)


def _color(compiled: MjModel, g: int) -> tuple[float, float, float, float]:
    rgba, material = compiled.geom_rgba[g], compiled.geom_matid[g]
    if material >= 0 and np.allclose(rgba, _UNSET):
        rgba = compiled.mat_rgba[material]
    red, green, blue, alpha = (float(x) for x in rgba)
    return red, green, blue, alpha


def _shape(compiled: MjModel, g: int, meshes: dict[int, Shape]) -> Shape | None:
    """Return the shape of geom g, or None for a height field; MuJoCo's sizes are radii and half lengths."""
    kind = int(compiled.geom_type[g])
    if kind in _FACTORS:
        name, factors = _FACTORS[kind]
        return Shape(name, tuple(f * float(x) for f, x in zip(factors, compiled.geom_size[g], strict=False)))
    mesh = int(compiled.geom_dataid[g])
    if kind in (MESH, SDF) and mesh >= 0:
        if mesh not in meshes:
            meshes[mesh] = _mesh(compiled, mesh)
        return meshes[mesh]
    return None


def _mesh(compiled: MjModel, k: int) -> Shape:
    first, count = compiled.mesh_vertadr[k], compiled.mesh_vertnum[k]
    vertices = np.array(compiled.mesh_vert[first : first + count], dtype=float)
    first, count = compiled.mesh_faceadr[k], compiled.mesh_facenum[k]
    return Shape("mesh", vertices=vertices, triangles=np.array(compiled.mesh_face[first : first + count]))
