"""The MJCF writer: a model as MJCF text that has the same dynamics in MuJoCo, and when it is read back."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

import numpy as np

from sixd.errors import ModelError, ModelWarning
from sixd.io.files import claimed_name, unused_name
from sixd.io.mjcf.contacts import contact_elements, parent_flag, twins
from sixd.io.mjcf.elements import Losses, fixed_inertial_element, inertial_element, joint_element, pose_attributes
from sixd.io.mjcf.equalities import equality_elements, relation_element
from sixd.io.mjcf.links import Link, Member, links_of
from sixd.io.mjcf.parts import JointPart
from sixd.io.mjcf.shapes import Shapes
from sixd.io.writing import base_frame, numbers, quoteattr, require_writable, write_text
from sixd.model import Collision, Model, Visual
from sixd.model.parts import FILE
from sixd.spatial.rotation import quaternion_from_rotation, quaternion_to_rotation
from sixd.spatial.scalar import Array
from sixd.spatial.transform import inverse_pose, placement

_DEEPEST = 490  # bodies on a path: MuJoCo's XML reader allows 500 nested elements
_HEAD = [
    '  <compiler angle="radian" autolimits="false" inertiafromgeom="false"/>',
    "  <default>",
    '    <geom contype="0" conaffinity="0" group="2"/>',
    '    <site group="4"/>',
    "  </default>",
]


def to_mjcf(model: Model, path: str | os.PathLike[str] | None = None) -> str:
    """Return the model as MJCF text, for MuJoCo; with ``path`` also write it there, completely or not at all.

    Bodies and joints keep their names; frames other than those of joints become sites. Bodies are in the order of the
    tree: match states by name, with ``sixd.interop.to_mujoco(model, q, qd, mujoco_model=…)``. A joint of several
    degrees of freedom becomes several joints on one body, with the same coordinates: NAME:x and NAME:y for a universal
    joint, NAME:turn and NAME:slide for a cylindrical one, NAME:x, NAME:y and NAME:turn for a planar one. A free joint
    on another body, or with different damping along its degrees of freedom, becomes NAME:x, NAME:y, NAME:z and
    NAME:ball. Helical joints and racks with pinions become NAME:turn and NAME:slide, coupled by an equality.

    Mimic joints, couplings by polynomials, and loops in the directions "point", "axis" and "weld" become equalities,
    which MuJoCo enforces softly. Configurations become keyframes. Shapes become geoms: visuals never collide, collision
    shapes do in MuJoCo, by its own law of contact, with the masks, exclusions and pairs of the model. Free bodies
    are at their poses in ``configuration("file")``, if it exists.
    A joint, spring, inertia or constraint that MJCF cannot hold raises an error with its name.

    One warning lists what is not in the file: velocity limits, limits that MuJoCo refuses, shapes and meshes that it
    cannot read. MuJoCo refuses moving bodies without mass or without moments of inertia: they get 1e-14 kg and kg m²,
    and the warning names them. If a body's named frame cannot be its frame in the file (rotated on a ball joint, away
    from a free joint), the body is at its joint and the named frame becomes the site NAME_frame.

    >>> import sixd
    >>> builder = sixd.ModelBuilder("top")
    >>> builder.add_body("disc", "world", sixd.Spherical(), inertia=sixd.cylinder(0.1, 0.02, mass=1.0))
    >>> '<joint name="disc" type="ball"/>' in sixd.to_mjcf(builder.build())
    True
    """
    require_writable("to_mjcf", model, configurations=True)
    writer = _MjcfWriter(model)
    text = "\n".join([*writer.lines(), ""])
    lost = writer.losses.text()
    if lost:
        warnings.warn(f"to_mjcf: {lost}", ModelWarning, stacklevel=2)
    return write_text(text, path)


class _MjcfWriter:
    """The text of one model, part by part."""

    def __init__(self, model: Model) -> None:
        self.model, self.losses = model, Losses()
        self.links = links_of(model)
        self.children: dict[int, list[Link]] = {}
        for link in self.links.values():
            self.children.setdefault(link.parent, []).append(link)
        self.names = self._joint_names()
        self.shapes = Shapes(self.losses, (c.name for c in model.collisions))
        self.twins = twins(model)
        self.drawn: dict[int, list[tuple[Visual | Collision, Collision | None]]] = {}
        for k, visual in enumerate(model.visuals):
            self.drawn.setdefault(visual.body, []).append((visual, self.twins.get(k)))
        single = {c.name for c in model.collisions} - {c.name for c in self.twins.values()}
        for collision in (c for c in model.collisions if c.name in single):
            self.drawn.setdefault(collision.body, []).append((collision, None))
        self.base = base_frame(model)
        self.fixed = self._fixed_body()
        self.sites: dict[int, list[str]] = {}  # elements by body
        self.site_names = set(model.frames)
        self._add_frames()

    def lines(self) -> Iterator[str]:
        """Yield the lines of the file."""
        equalities = [*self._followers(), *equality_elements(self.model, self._scalar_joints(), self.site)]
        bodies = list(self._bodies())
        yield f"<mujoco model={quoteattr(self.model.name)}>"
        yield from _HEAD
        flag = parent_flag(self.model, self.losses)
        yield f"  <option gravity={numbers(self.model.gravity)}" + (f">{flag[0]}</option>" if flag else "/>")
        yield from _section("asset", self.shapes.assets)
        yield "  <worldbody>"
        yield from bodies
        yield "  </worldbody>"
        yield from _section("contact", list(contact_elements(self.model, self.shapes.colliding, self.losses)))
        yield from _section("equality", equalities)
        kept = {n: q for n, q in self.model.configurations.items() if n != FILE or not self._is_qpos0(q)}
        keys = [f"<key name={quoteattr(n)} qpos={numbers(self._qpos(q))}/>" for n, q in kept.items()]
        yield from _section("keyframe", keys if self.model.nq else [])
        yield "</mujoco>"

    # joints ---------------------------------------------------------------------------------------

    def _members(self) -> Iterator[Member]:
        """Yield the joints of all links in the order of the file."""
        stack = [*reversed(self.children.get(0, []))]
        while stack:
            link = stack.pop()
            yield from link.joints
            stack.extend(reversed(self.children.get(link.body, [])))

    def _joint_names(self) -> dict[tuple[int, str], str]:
        """Return the names of the parts by the number of their body and their suffix."""
        names, used = {}, set(self.model.joint_names)
        for member in self._members():
            joint = self.model.joint_names[member.body - 1]
            for part in member.parts:
                name = part.name(joint)
                names[member.body, part.suffix] = unused_name(name, used) if part.suffix else name
                used.add(names[member.body, part.suffix])
        return names

    def _scalar_joints(self) -> dict[str, str]:
        """Return the names in the file of joints with one coordinate."""
        names = {}
        for member in self._members():
            free = [part for part in member.parts if part.multiplier is None]
            if self.model.joints[member.body].nq == 1:
                names[self.model.joint_names[member.body - 1]] = self.names[member.body, free[0].suffix]
        return names

    def _followers(self) -> Iterator[str]:
        """Yield the equalities inside joints: of screws, and of racks with their pinions."""
        for body, parts, _ in self._members():
            hinge = next((part for part in parts if part.multiplier is None), None)
            for part in parts:
                if part.multiplier is not None and hinge is not None:
                    names = self.names[body, part.suffix], self.names[body, hinge.suffix]
                    yield relation_element(*names, (0.0, part.multiplier))

    def _qpos(self, q: Array) -> Array:
        """Return a configuration in the order and conventions of the file."""
        values = [np.zeros(0)]
        for body, parts, _ in self._members():
            own = q[self.model.iq[body]]
            values += [self._coordinates(body, part, own[part.q]) for part in parts]
        return np.concatenate(values)

    def _is_qpos0(self, q: Array) -> bool:
        """Whether q is the file's own configuration: all joints neutral except the free ones."""
        start = self.model.neutral()
        for body, parts, _ in self._members():
            if parts[0].kind == "free":
                start[self.model.iq[body]] = q[self.model.iq[body]]
        return np.array_equal(q, start)

    def _coordinates(self, body: int, part: JointPart, q: Array) -> Array:
        if part.kind == "free":  # [p, quaternion] in the world
            pose = self.model.placement[body] @ placement(q[4:], R=quaternion_to_rotation(q[:4]))
            return np.concatenate([pose[:3, 3], quaternion_from_rotation(pose[:3, :3])])
        if part.kind == "ball":
            return q / np.linalg.norm(q)
        return q if part.multiplier is None else q * part.multiplier

    # bodies ---------------------------------------------------------------------------------------

    def _bodies(self) -> Iterator[str]:
        """Yield the lines inside ``<worldbody>``; without recursion, so that chains may have any length."""
        yield from self._contents(0, np.eye(4), "    ")
        yield from self.fixed
        stack: list[tuple[Link | None, int]] = [(link, 1) for link in reversed(self.children.get(0, []))]
        while stack:
            link, depth = stack.pop()
            indent = "  " * (depth + 1)
            if link is None:
                yield f"{indent}</body>"
                continue
            if depth > _DEEPEST:
                name = self.model.body_names[link.body - 1]
                raise ModelError(
                    f"to_mjcf: body {name!r} is on a path of more than {_DEEPEST} bodies, "
                    f"expected fewer: MuJoCo does not read files that are nested so deeply."
                )
            yield f"{indent}<body name={quoteattr(self.model.body_names[link.body - 1])}{pose_attributes(link.pose)}>"
            yield from self._body(link, indent + "  ")
            stack.append((None, depth))
            stack.extend((child, depth + 1) for child in reversed(self.children.get(link.body, [])))

    def _body(self, link: Link, indent: str) -> Iterator[str]:
        model = self.model
        for body, parts, in_link in link.joints:
            record = model.joint(model.joint_names[body - 1])
            for part in parts:
                yield indent + joint_element(record, part, self.names[body, part.suffix], in_link, self.losses)
        name, to_link = model.body_names[link.body - 1], inverse_pose(link.frame)
        yield indent + inertial_element(name, model.body_inertia(name).moved(to_link), self.losses)
        yield from self._contents(link.body, to_link, indent)

    def _contents(self, body: int, to_link: Array, indent: str) -> Iterator[str]:
        """Yield the shapes and frames of a body."""
        elements = [self.shapes.element(part, to_link, twin) for part, twin in self.drawn.get(body, [])]
        yield from (indent + element for element in elements if element is not None)
        yield from (indent + site for site in self.sites.get(body, []))

    def _fixed_body(self) -> list[str]:
        """Return the body with the inertia that is fixed to the world, at the first frame there."""
        frame = np.eye(4) if self.base is None else self.model.frames[self.base].pose
        inertial = fixed_inertial_element(self.model.body_inertia("world").moved(inverse_pose(frame)), self.losses)
        if inertial is None:
            self.base = None
            return []
        name = self.base or unused_name("fixed", self.model.frames)
        return [f"    <body name={quoteattr(name)}{pose_attributes(frame)}>", f"      {inertial}", "    </body>"]

    # frames ---------------------------------------------------------------------------------------

    def _add_frames(self) -> None:
        """Add the frames other than the bodies' as sites."""
        bodies = {name: k for k, name in enumerate(self.model.body_names, start=1)}
        for name, frame in self.model.frames.items():
            if name.startswith("joint:") or name in ("world", self.base):
                continue
            if name not in bodies:
                self._add_site(name, frame.body, frame.pose)
            elif bodies[name] in self.links and not np.array_equal(self.links[bodies[name]].frame, frame.pose):
                self._add_site(claimed_name(f"{name}_frame", self.site_names), frame.body, frame.pose)
                self.losses.add("The frames {} cannot be those of their bodies, and are written as NAME_frame", name)

    def site(self, frame: str, moved: Array | None = None) -> str:
        """Return the name of a site at a frame, or moved from it; it is added if it does not exist."""
        known = self.model.frames[frame]
        own = frame in ("world", self.base, *self.model.body_names) or frame.startswith("joint:")
        if moved is None and not own:
            return frame
        name = claimed_name(f"{frame.removeprefix('joint:')}_site", self.site_names)
        self._add_site(name, known.body, known.pose if moved is None else known.pose @ moved)
        return name

    def _add_site(self, name: str, body: int, pose: Array) -> None:
        in_link = inverse_pose(self.links[body].frame) @ pose if body else pose
        self.sites.setdefault(body, []).append(f"<site name={quoteattr(name)}{pose_attributes(in_link)}/>")


def _section(tag: str, elements: list[str]) -> list[str]:
    return [f"  <{tag}>", *(f"    {element}" for element in elements), f"  </{tag}>"] if elements else []
