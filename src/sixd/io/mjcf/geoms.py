"""The geoms of a compiled MuJoCo model as shapes to draw and for collisions; they have no effect on the dynamics.

Drawn are those that MuJoCo's own viewer shows by default: of groups 0 to 2 and not fully transparent. Collision shapes
are those with a contype or conaffinity, or in a ``<pair>``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sixd.io.mjcf.compiled import given_names
from sixd.model import ModelBuilder, Shape
from sixd.spatial.rotation import quaternion_to_rotation, tidy_rotation
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


def add_geoms(builder: ModelBuilder, compiled: MjModel, body_names: list[str], *, with_parent: bool) -> None:
    """Add the visible geoms to their bodies to be drawn, and those that can touch others for collisions.

    ``with_parent``: whether bodies collide with their parents, as by the flag filterparent="disable".
    """
    meshes: dict[int, Shape] = {}
    names = given_names(compiled, "geom")
    partners = _partners(compiled, names)
    for g, name in enumerate(names):
        color = _color(compiled, g)
        is_shown = compiled.geom_group[g] <= _LAST_VISIBLE_GROUP and color[3] != 0
        contype, conaffinity = int(compiled.geom_contype[g]), int(compiled.geom_conaffinity[g])
        collides = bool(contype or conaffinity or name in partners)
        shape = _shape(compiled, g, meshes) if is_shown or collides else None
        if shape is None:
            continue
        body = body_names[compiled.geom_bodyid[g]]
        pose = placement(np.array(compiled.geom_pos[g]), R=tidy_rotation(quaternion_to_rotation(compiled.geom_quat[g])))
        if is_shown:
            builder.add_visual(body, shape, pose, color=color, name=name)
        if collides:
            builder.add_collision(body, shape, pose, name=name, contype=contype, conaffinity=conaffinity)
            paired = tuple(dict.fromkeys(partners.get(name, ())))
            builder.collisions[-1] = replace(builder.collisions[-1], paired=paired, with_parent=with_parent)


def add_exclusions(builder: ModelBuilder, compiled: MjModel, body_names: list[str]) -> None:
    """Add the pairs of bodies that MuJoCo excludes from collisions."""
    for signature in compiled.exclude_signature:
        first, second = divmod(int(signature), 1 << 16)
        builder.disabled_collisions.append((body_names[first], body_names[second]))


def _partners(compiled: MjModel, names: list[str]) -> dict[str, list[str]]:
    """Return the names of geoms that are tested against each geom in any case, by ``<pair>``."""
    partners: dict[str, list[str]] = {}
    for one, two in zip(compiled.pair_geom1, compiled.pair_geom2, strict=True):
        partners.setdefault(names[one], []).append(names[two])
        partners.setdefault(names[two], []).append(names[one])
    return partners


def _color(compiled: MjModel, g: int) -> tuple[float, float, float, float]:
    rgba, material = compiled.geom_rgba[g], compiled.geom_matid[g]
    if material >= 0 and np.allclose(rgba, _UNSET):
        rgba = compiled.mat_rgba[material]
    red, green, blue, alpha = (float(x) for x in rgba)
    return red, green, blue, alpha


def _shape(compiled: MjModel, g: int, meshes: dict[int, Shape]) -> Shape | None:
    """Return the shape of geom g, or None for an unknown kind; MuJoCo's sizes are radii and half lengths."""
    kind, data = int(compiled.geom_type[g]), int(compiled.geom_dataid[g])
    if kind in _FACTORS:
        name, factors = _FACTORS[kind]
        return Shape(name, tuple(f * float(x) for f, x in zip(factors, compiled.geom_size[g], strict=False)))
    if kind in (MESH, SDF) and data >= 0:
        if data not in meshes:
            meshes[data] = _mesh(compiled, data)
        return meshes[data]
    return _height_field(compiled, data) if kind == HEIGHT_FIELD else None


def _height_field(compiled: MjModel, k: int) -> Shape:
    x, y, elevation, depth = (float(size) for size in compiled.hfield_size[k])
    rows, columns, first = compiled.hfield_nrow[k], compiled.hfield_ncol[k], compiled.hfield_adr[k]
    heights = np.array(compiled.hfield_data[first : first + rows * columns], dtype=float).reshape(rows, columns)
    return Shape("height_field", (2 * x, 2 * y, depth), heights=elevation * heights)


def _mesh(compiled: MjModel, k: int) -> Shape:
    first, count = compiled.mesh_vertadr[k], compiled.mesh_vertnum[k]
    vertices = np.array(compiled.mesh_vert[first : first + count], dtype=float)
    first, count = compiled.mesh_faceadr[k], compiled.mesh_facenum[k]
    return Shape("mesh", vertices=vertices, triangles=np.array(compiled.mesh_face[first : first + count]))
