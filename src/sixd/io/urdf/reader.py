"""The URDF reader.

Bears what real files hold: missing inertials, masses and limits, bodies that cannot exist, mimic tags, axes of
any length, planar, floating and spherical joints. What cannot be meant is one error with the line.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sixd.errors import LoadError, ModelError, SixdError, unknown_name
from sixd.io.files import unused
from sixd.io.urdf.links import (
    incomplete_inertial,
    read_color,
    read_inertia,
    read_joint,
    read_limit,
    read_materials,
    read_origin,
    read_shape,
)
from sixd.io.urdf.spelling import name_findings, refuse_xacro
from sixd.io.xml import Element
from sixd.model import Free, Joint, Mimic, Model, ModelBuilder
from sixd.model.findings import inertia_finding, missing_inertia
from sixd.model.parts import Finding


def read_urdf(
    robot: Element,
    *,
    floating_base: bool = False,
    package_dirs: Iterable[str | os.PathLike[str]] = (),
    folders: Sequence[Path] = (),
) -> Model:
    """The model of a parsed ``<robot>``."""
    refuse_xacro(robot)
    links = _by_name(robot, "link")
    joints = _by_name(robot, "joint")
    if not links:
        raise robot.error("the robot has no <link>, expected at least one. Is it a part of another file?")
    if "world" not in links and any(_end(joint, "parent") == "world" for joint in joints.values()):
        links = {"world": Element("link", {"name": "world"}, robot.line, robot.source), **links}
    order, root = _depth_first(robot, links, joints)
    builder = ModelBuilder(robot.attributes.get("name", "").strip() or "robot")
    reader = _Reader(builder, links, list(package_dirs), folders, read_materials(robot), joints)
    builder.notes.extend(name_findings(robot))
    reader.add_root(root, floating_base)
    for joint in order:
        reader.add_joint(joint)
    for joint in order:
        reader.add_mimic(joint, joints)
    return reader.finish()


class _Reader:
    """Adds links and joints to a builder, remembering what was doubtful."""

    def __init__(
        self,
        builder: ModelBuilder,
        links: dict[str, Element],
        package_dirs: list[str | os.PathLike[str]],
        folders: Sequence[Path],
        materials: dict[str, Any],
        joint_names: Collection[str],
    ) -> None:
        self.builder, self.links, self.materials = builder, links, materials
        self.package_dirs, self.folders = package_dirs, folders
        self.joint_names, self.renamed = joint_names, dict[str, str]()
        self.with_inertial: set[str] = set()
        self.suspects: list[tuple[str, Finding]] = []

    def add_root(self, link: str, floating_base: bool) -> None:
        if "world" in self.links and (floating_base or link != "world"):
            self.renamed["world"] = unused("world_link", self.links)
            new = self.renamed["world"]
            message = f"a moving link cannot be called 'world', which is the fixed base; it is called {new!r}"
            self.builder.notes.append(Finding("renamed", "world", message))
        if floating_base:
            self._add(link, "world", Free(), joint_name=unused("root_joint", self.joint_names))
            return
        if link != "world":
            self.builder.add_frame(link, "world")
        inertia = read_inertia(self.links[link])
        if inertia is not None:
            self.builder.add_inertia(link, inertia)
        self._visuals(link)

    def add_joint(self, joint: Element) -> None:
        name, kind = joint.text("name"), joint.text("type")
        parent, child = _end(joint, "parent"), _end(joint, "child")
        options: dict[str, Any] = {}
        dynamics, limit = joint.find("dynamics"), joint.find("limit")
        if dynamics is not None:
            options["damping"] = dynamics.number("damping", 0.0)
            options["friction"] = dynamics.number("friction", 0.0)
        if limit is not None:
            options["effort"] = read_limit(limit, "effort", np.inf)
            options["velocity"] = read_limit(limit, "velocity", np.inf)
            if kind in ("revolute", "prismatic"):
                options["limits"] = self._limits(limit, name)
        kinematics = read_joint(joint, kind)
        self._add(child, self._name(parent), kinematics, joint_name=name, placement=read_origin(joint), **options)

    def _limits(self, limit: Element, joint: str) -> tuple[float, float] | None:
        """The range of a joint; none if its ends are exchanged, since nobody can tell what was meant."""
        lower, upper = (read_limit(limit, key, 0.0) for key in ("lower", "upper"))
        if lower <= upper:
            return lower, upper
        message = (
            f"the lower limit {lower:g} is above the upper {upper:g}; the joint is left without limits: correct them"
        )
        self.builder.notes.append(Finding("limits", joint, message))
        return None

    def _name(self, link: str) -> str:
        return self.renamed.get(link, link)

    def _add(self, link: str, parent: str, joint: Joint, **options: Any) -> None:
        element, name = self.links[link], self._name(link)
        inertia = read_inertia(element)
        if inertia is not None:
            if inertia.matrix.any():
                self.with_inertial.add(name)
            for finding in (inertia_finding(name, inertia), incomplete_inertial(element, name)):
                if finding:
                    self.suspects.append((name, finding))
        try:
            self.builder.add_body(name, parent, joint, inertia=inertia, **options)
        except SixdError as error:
            raise element.error(str(error)) from None
        self._visuals(link)

    def _visuals(self, link: str) -> None:
        """The link's shapes; a broken one is a note, since it has no part in the dynamics."""
        for visual in self.links[link].find_all("visual"):
            try:
                shape = read_shape(visual, self.package_dirs, self.folders)
                color, pose = read_color(visual.find("material"), self.materials), read_origin(visual)
            except LoadError as error:
                self.builder.notes.append(Finding("visual", self._name(link), f"a shape is left out: {error}"))
                continue
            if shape is not None:
                name = visual.attributes.get("name", "")
                self.builder.add_visual(self._name(link), shape, pose, color=color, name=name)

    def add_mimic(self, joint: Element, joints: dict[str, Element]) -> None:
        mimic, name = joint.find("mimic"), joint.text("name")
        if mimic is None or joint.text("type") == "fixed":
            return
        source = mimic.text("joint")
        if source not in joints or joints[source].text("type") == "fixed" or source == name:
            reason = "does not exist" if source not in joints else "does not move by itself"
            message = f"it mimics {source!r}, which {reason}; the relation is ignored"
            self.builder.notes.append(Finding("mimic", name, message))
            return
        relation = Mimic(name, source, mimic.number("multiplier", 1.0), mimic.number("offset", 0.0))
        try:
            self.builder.add_constraint(relation)
        except ModelError as error:
            self.builder.notes.append(Finding("mimic", name, f"the relation is ignored: {error}"))

    def finish(self) -> Model:
        model = self.builder.build()
        moving = {name for name, frame in model.frames.items() if frame.body}
        findings = [f for link, f in self.suspects if link in moving]
        carried: set[int] = {model.frames[link].body for link in self.with_inertial}
        told = {f.where for f in findings if f.code == "missing-inertia"}
        bare = [model.body_names[i - 1] for i in model.bodies if i not in carried]
        findings += [missing_inertia(name) for name in bare if name not in told]
        notes = [*self.builder.notes, *findings]
        return dataclasses.replace(model, notes=tuple(notes))


# the tree ---------------------------------------------------------------------------------------


def _by_name(robot: Element, tag: str) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in robot.find_all(tag):
        name = element.text("name")
        if name in found:
            raise element.error(f"a second {tag} named {name!r} (the first is on line {found[name].line}). Rename one.")
        found[name] = element
    return found


def _end(joint: Element, which: str) -> str:
    element = joint.find(which)
    if element is None:
        raise joint.error(f'joint {joint.text("name")!r} has no <{which} link="…"/>, expected one.')
    return element.text("link")


def _depth_first(robot: Element, links: dict[str, Element], joints: dict[str, Element]) -> tuple[list[Element], str]:
    """The joints, parents first, children in file order; and the root link. No recursion, so any depth."""
    below: dict[str, list[Element]] = {name: [] for name in links}
    above: dict[str, Element] = {}
    for name, joint in joints.items():
        parent, child = _end(joint, "parent"), _end(joint, "child")
        for link in (parent, child):
            if link not in links:
                raise joint.error(str(unknown_name(f"joint {name!r}", "link", link, links)))
        if child in above:
            other = above[child].text("name")
            raise joint.error(
                f"link {child!r} is the child of two joints, {other!r} and {name!r}: a URDF is a tree. Close the loop "
                f"by a constraint instead."
            )
        above[child] = joint
        below[parent].append(joint)
    roots = [name for name in links if name not in above]
    if len(roots) > 1:
        listed = ", ".join(repr(r) for r in roots[:6]) + (", …" if len(roots) > 6 else "")
        raise robot.error(
            f"the robot is disconnected: {len(roots)} links have no parent ({listed}), expected one root."
        )
    order: list[Element] = []
    stack = list(reversed(below[roots[0]])) if roots else []
    while stack:
        joint = stack.pop()
        order.append(joint)
        stack.extend(reversed(below[_end(joint, "child")]))
    if len(order) < len(joints):
        reached = {_end(j, "child") for j in order} | set(roots)
        link = next(name for name in links if name not in reached)
        cycle = [link]
        while (link := _end(above[link], "parent")) not in cycle:
            cycle.append(link)
        shown = " -> ".join([*reversed(cycle[cycle.index(link) :][:8]), "…"])
        raise robot.error(f"the links form a cycle: {link} -> {shown}; expected a tree with one root.")
    return order, roots[0]
