"""SDF links: inertia, shapes and colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from sixd.errors import LoadError, SixdError
from sixd.io.sdf.frames import FrameGraph
from sixd.io.sdf.scopes import Scope, SdfElement
from sixd.io.sdf.values import flag_attribute, flag_in, number_in, numbers_in, read_pose, text_in
from sixd.io.urdf.meshes import Folders, find_mesh
from sixd.io.xml import Element
from sixd.model import Shape
from sixd.model.parts import Finding
from sixd.spatial import shapes
from sixd.spatial.inertia import Inertia
from sixd.spatial.rotation import frame_along
from sixd.spatial.scalar import Array
from sixd.spatial.transform import compose, placement

_WATER = 1000.0  # kg/m³, SDF's default density
_SOLIDS: dict[str, Callable[..., Inertia]] = {
    kind: getattr(shapes, kind) for kind in ("box", "sphere", "cylinder", "capsule", "ellipsoid", "cone")
}
_DIAGONAL = ("ixx", "iyy", "izz")


def read_inertia(link: Element, name: str, pose_of: Callable[[Element], Array]) -> tuple[Inertia, Finding | None]:
    """Return the inertia of a ``<link>`` in its frame, and the finding about missing parts.

    By SDF's rule these are 1 kg, and 1 kg m² about each axis of the ``<inertial>``'s frame. ``pose_of`` returns the
    pose of a collision in the link's frame.
    """
    inertial = link.find("inertial")
    if inertial is None:
        message = "it has no <inertial>, 1 kg and 1 kg m² about each axis are assumed, as SDF says; write it"
        return Inertia(1.0, about_com=np.eye(3)), Finding("missing-inertia", name, message)
    if flag_attribute(inertial, "auto"):
        return _from_collisions(link, inertial, pose_of), None
    pose, matrix = read_pose(inertial), inertial.find("inertia")
    missing = [f"<{tag}>" for tag in ("mass", "inertia") if inertial.find(tag) is None]
    entries = dict.fromkeys(_DIAGONAL, 1.0) | dict.fromkeys(("ixy", "ixz", "iyz"), 0.0)
    if matrix is not None:
        missing += [key for key in _DIAGONAL if matrix.find(key) is None]
        entries = {key: number_in(matrix, key, value) for key, value in entries.items()}
    xx, yy, zz, xy, xz, yz = entries.values()
    inertia = Inertia(number_in(inertial, "mass", 1.0), about_com=np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    message = f"its <inertial> has no {', '.join(missing)}, 1 is assumed, as SDF says; write it"
    return inertia.moved(pose.matrix), Finding("missing-inertia", name, message) if missing else None


def _from_collisions(link: Element, inertial: Element, pose_of: Callable[[Element], Array]) -> Inertia:
    """Return the inertia that SDF 1.11 computes from the shapes of the collisions and their densities."""
    usual, total = number_in(inertial, "density", _WATER), Inertia(0.0)
    for collision in link.find_all("collision"):
        shape = _geometry(collision)
        if shape is None or shape.tag not in _SOLIDS:
            kind = "nothing" if shape is None else f"<{shape.tag}>"
            raise collision.error(
                f'<inertial auto="true">: the inertia of {kind} is not computed, expected one of '
                f"{', '.join(_SOLIDS)}. Write <mass> and <inertia>."
            )
        try:
            solid = _SOLIDS[shape.tag](*_sizes(shape), density=number_in(collision, "density", usual))
        except LoadError:
            raise
        except SixdError as error:
            raise shape.error(str(error)) from None
        total = total + solid.moved(compose(pose_of(collision), _shift(shape)))
    if not total.mass > 0:
        raise inertial.error('<inertial auto="true">, but no <collision> has a volume. Write <mass> and <inertia>.')
    if inertial.find("mass") is not None:
        total = Inertia.from_matrix(total.matrix * (number_in(inertial, "mass") / total.mass))
    return total


def not_carried(link: Element) -> list[str]:
    """Return a sentence for each element that acts on the link's motion and that a Model cannot hold."""
    lost = []
    if not flag_in(link, "gravity", True):
        lost.append("<gravity>false</gravity> is not supported; gravity acts on it")
    if flag_in(link, "kinematic"):
        lost.append("<kinematic> is not supported; forces move it")
    decay, inertial = link.find("velocity_decay"), link.find("inertial")
    if decay is not None and any(number_in(decay, tag, 0.0) for tag in ("linear", "angular")):
        lost.append("<velocity_decay> is not supported")
    if inertial is not None and inertial.find("fluid_added_mass") is not None:
        lost.append("<fluid_added_mass> is not supported; it moves as in a vacuum")
    return lost


# shapes -----------------------------------------------------------------------------------


def read_shape(holder: Element, package_dirs: Folders, folders: Sequence[Path]) -> tuple[Shape, Array] | None:
    """Return the shape of a ``<visual>`` or ``<collision>`` and its pose there; None for other kinds."""
    shape = _geometry(holder)
    if shape is None:
        return None
    if shape.tag in _SOLIDS:
        return Shape(shape.tag, tuple(_sizes(shape))), _shift(shape)
    if shape.tag == "plane":
        normal = np.array(numbers_in(shape, "normal", 3, (0.0, 0.0, 1.0)))
        length = np.linalg.norm(normal)
        rotation = np.eye(3) if length == 0 or not normal[:2].any() else frame_along(normal / length)
        return Shape("plane"), placement(R=rotation)
    if shape.tag == "mesh":
        x, y, z = numbers_in(shape, "scale", 3, (1.0, 1.0, 1.0))
        file = find_mesh(text_in(shape, "uri"), package_dirs, folders)
        return Shape("mesh", file=file, scale=(x, y, z)), np.eye(4)
    return None


def pose_in_link(element: Element, scope: Scope, part: SdfElement, link: str, graph: FrameGraph) -> Array:
    """Return the pose of a ``<visual>`` or ``<collision>`` in its link's frame."""
    pose = read_pose(element)
    if not pose.relative_to:
        return pose.matrix
    frame = scope.resolve(pose.element, pose.relative_to, part.home, "relative_to")
    return compose(graph.relative(link, frame), pose.matrix)


def read_color(visual: Element) -> tuple[float, ...] | None:
    """Return the rgba of a ``<visual>``: the diffuse colour of its material; None if it has none."""
    material = visual.find("material")
    diffuse = None if material is None else material.find("diffuse")
    if diffuse is None or not diffuse.content:
        return None
    numbers = diffuse.content_numbers(len(diffuse.content.split()))
    if len(numbers) not in (3, 4):
        raise diffuse.error(f"<diffuse> has {len(numbers)} numbers, expected red, green, blue and alpha.")
    return tuple(min(max(x, 0.0), 1.0) for x in (*numbers, 1.0)[:4])


def is_empty(element: Element) -> bool:
    """Whether a ``<visual>`` or ``<collision>`` has no shape: no geometry, or SDF's ``<empty/>``."""
    shape = _geometry(element)
    return shape is None or shape.tag == "empty"


def _geometry(element: Element) -> Element | None:
    geometry = element.find("geometry")
    return geometry.children[0] if geometry is not None and geometry.children else None


def _sizes(shape: Element) -> list[float]:
    """Return the sizes of a solid in the order of ``Shape`` and of the functions of ``sixd.spatial.shapes``."""
    if shape.tag == "box":
        return numbers_in(shape, "size", 3)
    if shape.tag == "ellipsoid":
        return numbers_in(shape, "radii", 3)
    radius = number_in(shape, "radius")
    return [radius] if shape.tag == "sphere" else [radius, number_in(shape, "length")]


def _shift(shape: Element) -> Array:
    """Return the pose of a solid's centre of mass in SDF's frame of it; only a cone's differs from the identity."""
    return placement((0, 0, -number_in(shape, "length") / 4)) if shape.tag == "cone" else np.eye(4)
