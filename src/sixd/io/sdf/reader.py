"""The SDF reader: a parsed ``<sdf>`` to a Model.

``scopes`` collects the elements of the file and of those it includes, ``poses`` and ``frames`` compute poses,
``forest`` finds the trees that joints form; this module adds the links to a builder. Each link is a body whose frame is
that of its joint. Elements that act on the dynamics and that a Model cannot hold cause a warning; sensors, plugins
and lights are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any

import numpy as np

from sixd.errors import LoadError, ModelError, SixdError
from sixd.io.files import Source, unused_name
from sixd.io.sdf.forest import TreeStep, span
from sixd.io.sdf.frames import WORLD
from sixd.io.sdf.includes import Document, Includes, read_version
from sixd.io.sdf.joints import Connection, read_kind, read_mimic, read_motion, read_properties, reverse
from sixd.io.sdf.links import is_empty, not_carried, pose_in_link, read_color, read_inertia, read_shape
from sixd.io.sdf.loops import close_loop
from sixd.io.sdf.poses import frame_graph, joint_end
from sixd.io.sdf.scopes import Scope, SdfElement, collect
from sixd.io.sdf.spelling import sdf_spelling
from sixd.io.sdf.values import numbers_in
from sixd.io.urdf.meshes import Folders
from sixd.io.xml import Element
from sixd.model import Fixed, Free, Joint, Model, ModelBuilder
from sixd.model.parts import Finding
from sixd.model.validate import InertiaFindings
from sixd.spatial.scalar import Array
from sixd.spatial.transform import compose, placement

_HARMLESS = {"drake:collision_filter_group", "drake:controller_gains"}


def read_sdf(source: Source, sdf: Element, *, floating_base: bool | None = None, package_dirs: Folders = ()) -> Model:
    """Return the model of a parsed ``<sdf>``: all its models, with their poses in the file at q = neutral."""
    path = () if source.folder is None else ((source.folder / source.name).resolve(),)
    document = Document(read_version(sdf), source.folders, path)
    includes = Includes(list(package_dirs))
    world = collect(sdf, document, includes)
    reader = _SdfReader(world, _model_name(world, source), list(package_dirs))
    for root in (sdf, *includes.roots):
        reader.builder.notes.extend(sdf_spelling(root))
    reader.note_extensions()
    reader.add_links(floating_base)
    reader.add_frames()
    reader.add_relations()
    return reader.build()


def _model_name(world: Scope, source: Source) -> str:
    if world.element.tag == "world":
        return world.element.attributes.get("name", "").strip() or "world"
    return next(iter(world.models)) if len(world.models) == 1 else PurePath(source.name).stem


class _SdfReader:
    """Adds links, joints and frames to a builder and collects the findings about them."""

    def __init__(self, world: Scope, name: str, package_dirs: Folders) -> None:
        self.world, self.package_dirs = world, package_dirs
        self.graph = frame_graph(world)
        gravity = numbers_in(world.element, "gravity", 3, (0.0, 0.0, -9.81)) if world.element.tag == "world" else None
        self.builder = ModelBuilder(name, (0.0, 0.0, -9.81) if gravity is None else gravity)
        self.builder.is_of_file = True
        self.links: dict[str, tuple[Scope, SdfElement]] = {
            scope.prefix + name: (scope, part) for scope in world.walk() for name, part in scope.links.items()
        }
        self.joints = [self._connection(s, n, p) for s in world.walk() for n, p in s.joints.items()]
        self.joint_names = {joint.name for joint in self.joints}
        self.loops: list[Connection] = []
        self.inertias = InertiaFindings()

    def _connection(self, scope: Scope, name: str, part: SdfElement) -> Connection:
        parent, child = (self.graph.link_of(joint_end(scope, part, end)) for end in ("parent", "child"))
        joint = Connection(scope.prefix + name, parent, child, read_kind(part.element), scope, part)
        if parent == child:
            raise part.element.error(f"joint {joint.name!r} connects {parent!r} with itself, expected two links.")
        return joint

    def add_links(self, floating_base: bool | None) -> None:
        """Add all links, parents first; ``floating_base`` False fixes the bases that the file leaves free."""
        static = {name: scope.static for name, (scope, _) in self.links.items()}
        steps, self.loops = span(static, self.joints)
        free = [s for s in steps if s.by is None and not static[s.link]]
        if floating_base and not free:
            raise LoadError(
                f"{self.world.element.location}: floating_base=True, but every model is static or has a joint to the "
                f"world, expected one without. Leave the argument out."
            )
        for step in steps:
            if step.by is not None:
                self._add_moving(step, step.by)
            else:
                fixed = static[step.link] or floating_base is False
                joint_name = unused_name(f"{step.link}_{'fixed' if fixed else 'free'}", self.joint_names)
                joint, pose = Fixed() if fixed else Free(), self.graph.in_world(step.link)
                self._add(step.link, WORLD, joint, joint_name=joint_name, placement=pose)
        for one in self.joints:
            if one.kind != "fixed" and all(end == WORLD or static[end] for end in (one.parent, one.child)):
                message = f"it is a {one.kind} joint between links that cannot move; it is held"
                self.builder.notes.append(Finding("held", one.name, message, True))

    def note_extensions(self) -> None:
        """Report drake's own elements, which may act; raise for its joints, which would change the tree."""
        holders = {scope.prefix.removesuffix("::") or self.builder.name: scope.element for scope in self.world.walk()}
        holders |= {joint.name: joint.element for joint in self.joints}
        for where, element in holders.items():
            tags = {child.tag: child for child in element.children if child.tag.startswith("drake:")}
            if "drake:joint" in tags:
                raise tags["drake:joint"].error("<drake:joint> is not supported. Write a <joint> of SDF.")
            for tag in sorted(set(tags) - _HARMLESS):
                self.builder.notes.append(Finding("not-carried", where, f"<{tag}> is not supported"))

    def _add_moving(self, step: TreeStep, by: Connection) -> None:
        motion, graph = read_motion(by, self.graph), self.graph
        if step.reverse:
            motion = reverse(by, motion)
        properties = read_properties(by, self.builder.notes)
        rotation, back = (placement(R=R) for R in (motion.rotation, motion.rotation.T))
        pose = compose(graph.relative(step.parent, by.frame), rotation)
        link_pose = compose(back, graph.relative(by.frame, step.link))
        options: dict[str, Any] = {} if np.array_equal(link_pose, np.eye(4)) else {"link_pose": link_pose}
        self._add(step.link, step.parent, motion.joint, joint_name=by.name, placement=pose, **options, **properties)

    def _add(self, link: str, parent: str, joint: Joint, **options: Any) -> None:
        scope, part = self.links[link]
        pose_of = partial(pose_in_link, scope=scope, part=part, link=link, graph=self.graph)
        inertia, incomplete = read_inertia(part.element, link, pose_of)
        self.inertias.add(link, inertia, incomplete)
        try:
            self.builder.add_body(link, parent, joint, inertia=inertia, **options)
        except SixdError as error:
            raise part.element.error(str(error)) from None
        self.builder.notes.extend(Finding("not-carried", link, text) for text in not_carried(part.element))
        for element in part.element.children:
            if element.tag in ("visual", "collision"):
                self._add_shape(element, link, part, pose_of)

    def _add_shape(self, element: Element, link: str, part: SdfElement, pose_of: Callable[[Element], Array]) -> None:
        """Add a visual or collision; a broken one becomes a note, since it has no effect on the dynamics."""
        name = element.attributes.get("name", "")
        try:
            shape = read_shape(element, self.package_dirs, part.document.folders)
            color, pose = read_color(element), pose_of(element)
            if element.tag == "visual" and shape is not None:
                self.builder.add_visual(link, shape[0], compose(pose, shape[1]), color=color, name=name)
            elif shape is not None:
                # names of collisions differ only within a link
                self.builder.add_collision(link, shape[0], compose(pose, shape[1]), name=name and f"{link}::{name}")
            elif element.tag == "collision" and not is_empty(element):
                raise element.error("the shape of the <collision> is not supported.")
        except ModelError as error:
            self.builder.notes.append(Finding(element.tag, link, f"a shape is left out: {error}"))

    def add_frames(self) -> None:
        """Add the ``<frame>`` elements, and the frames of models by the names that they have in SDF."""
        for scope in self.world.walk():
            for name, part in scope.frames.items():
                self._add_frame(scope.prefix + name, scope.prefix + name, part.element)
            if scope.own is not None:
                shown = scope.frame if not scope.prefix else scope.prefix.removesuffix("::")
                if shown not in self.builder.frames:
                    self._add_frame(shown, scope.frame, scope.element)

    def _add_frame(self, name: str, key: str, element: Element) -> None:
        link = self.graph.link_of(key)
        try:
            self.builder.add_frame(name, link, self.graph.relative(link, key))
        except SixdError as error:
            raise element.error(str(error)) from None

    def add_relations(self) -> None:
        """Add the constraints: joints that close loops, and mimic relations."""
        for joint in self.loops:
            close_loop(self.builder, joint, self.graph)
        for joint in self.joints:
            relation, finding = read_mimic(joint)
            if relation is not None:
                try:
                    self.builder.add_constraint(relation)
                except ModelError as error:
                    finding = Finding("mimic", joint.name, f"the relation is ignored: {error}")
            self.builder.notes.extend([] if finding is None else [finding])

    def build(self) -> Model:
        """Return the model; the findings about the inertia of moving bodies are added to its notes."""
        model = self.builder.build()
        return replace(model, notes=(*self.builder.notes, *self.inertias.of(model)))
