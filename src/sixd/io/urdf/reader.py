"""The URDF reader: a parsed ``<robot>`` to a Model.

Tolerates faults of real files: missing inertials, masses and limits, impossible inertias, mimic tags, axes of any
length, planar, floating and spherical joints. Possible mistakes become findings; a file that cannot be interpreted
raises an error with the line. ``joints`` reads joints, ``links`` reads links, ``tree`` orders them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sixd.errors import ModelError, SixdError
from sixd.io.files import unused_name
from sixd.io.urdf.joints import read_dynamics, read_joint, read_limits, read_mimic
from sixd.io.urdf.links import (
    KINDS,
    incomplete_inertial,
    read_color,
    read_inertia,
    read_materials,
    read_origin,
    read_shape,
)
from sixd.io.urdf.meshes import Folders
from sixd.io.urdf.spelling import refuse_xacro, spelling_findings
from sixd.io.urdf.tree import LinkTree, joint_end, read_tree
from sixd.io.xml import Element
from sixd.model import Free, Joint, Model, ModelBuilder
from sixd.model.parts import Finding
from sixd.model.validate import InertiaFindings


def read_urdf(
    robot: Element, *, floating_base: bool = False, package_dirs: Folders = (), folders: Sequence[Path] = ()
) -> Model:
    """Return the model of a parsed ``<robot>``."""
    refuse_xacro(robot)
    tree = read_tree(robot)
    builder = ModelBuilder(robot.attributes.get("name", "").strip() or "robot")
    builder.is_of_file = True
    reader = _UrdfReader(builder, tree, read_materials(robot), list(package_dirs), folders)
    builder.notes.extend(spelling_findings(robot))
    reader.add_root(floating_base)
    for joint in tree.order:
        reader.add_joint(joint)
    for joint in tree.order:
        reader.add_mimic(joint)
    return reader.build()


@dataclass(eq=False)
class _UrdfReader:
    """Adds links and joints to a builder and collects the findings about them."""

    builder: ModelBuilder
    tree: LinkTree
    materials: dict[str, Element]
    package_dirs: Folders
    folders: Sequence[Path]
    renamed: dict[str, str] = field(default_factory=dict)
    inertias: InertiaFindings = field(default_factory=InertiaFindings)

    def add_root(self, floating_base: bool) -> None:
        """Add the root link: on a free joint, or as a frame of the world."""
        links, link = self.tree.links, self.tree.root
        if "world" in links and (floating_base or link != "world"):
            self.renamed["world"] = unused_name("world_link", links)
            new = self.renamed["world"]
            message = f"a moving link cannot be called 'world', which is the fixed base; it is called {new!r}"
            self.builder.notes.append(Finding("renamed", "world", message))
        if floating_base:
            self._add_body(link, "world", Free(), joint_name=unused_name("root_joint", self.tree.joints))
            return
        if link != "world":
            self.builder.add_frame(link, "world")
        inertial = links[link].find("inertial")
        if inertial is not None:
            self.builder.add_inertia(link, read_inertia(inertial))
        self._add_shapes(link)

    def add_joint(self, joint: Element) -> None:
        """Add a ``<joint>`` with its child link."""
        name = joint.text("name")
        parent, child = self._name(joint_end(joint, "parent")), joint_end(joint, "child")
        options = read_dynamics(joint) | read_limits(joint, self.builder.notes)
        motion = read_joint(joint)
        self._add_body(child, parent, motion, joint_name=name, placement=read_origin(joint), **options)

    def add_mimic(self, joint: Element) -> None:
        """Add the mimic relation of a ``<joint>``, if it has one."""
        relation = read_mimic(joint, self.tree.joints, self.builder.notes)
        if relation is None:
            return
        try:
            self.builder.add_constraint(relation)
        except ModelError as error:
            self.builder.notes.append(Finding("mimic", relation.joint, f"the relation is ignored: {error}"))

    def build(self) -> Model:
        """Return the model; the findings about the inertia of moving bodies are added to its notes."""
        model = self.builder.build()
        return replace(model, notes=(*self.builder.notes, *self.inertias.of(model)))

    def _name(self, link: str) -> str:
        return self.renamed.get(link, link)

    def _add_body(self, link: str, parent: str, joint: Joint, **options: Any) -> None:
        element, name = self.tree.links[link], self._name(link)
        inertia, inertial = None, element.find("inertial")
        if inertial is not None:
            inertia = read_inertia(inertial)
            self.inertias.add(name, inertia, incomplete_inertial(inertial, name))
        try:
            self.builder.add_body(name, parent, joint, inertia=inertia, **options)
        except SixdError as error:
            raise element.error(str(error)) from None
        self._add_shapes(link)

    def _add_shapes(self, link: str) -> None:
        """Add the link's shapes; a broken one becomes a note, since it has no effect on the dynamics."""
        name = self._name(link)
        for element in self.tree.links[link].children:
            try:
                if element.tag == "visual":
                    self._add_visual(element, name)
                elif element.tag == "collision":
                    self._add_collision(element, name)
            except ModelError as error:
                self.builder.notes.append(Finding(element.tag, name, f"a shape is left out: {error}"))

    def _add_visual(self, visual: Element, link: str) -> None:
        shape = read_shape(visual, self.package_dirs, self.folders)
        color, pose = read_color(visual.find("material"), self.materials), read_origin(visual)
        if shape is not None:
            self.builder.add_visual(link, shape, pose, color=color, name=visual.attributes.get("name", ""))

    def _add_collision(self, collision: Element, link: str) -> None:
        shape = read_shape(collision, self.package_dirs, self.folders)
        if shape is None:
            raise collision.error(f"<collision> has no geometry, expected one of {', '.join(KINDS)}. Name one.")
        pose, name = read_origin(collision), collision.attributes.get("name", "").strip()
        try:
            self.builder.add_collision(link, shape, pose, name=name)
        except ModelError as error:
            raise collision.error(str(error)) from None
