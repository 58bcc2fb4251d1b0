"""The scopes of names in an SDF document: the world, the models in it, and the models nested in those.

A whole name is a path from the top, ``arm::gripper::finger``. Names inside a scope may refer to what it holds and,
by ``::``, to what its models hold. ``collect`` reads the elements of all scopes, those of included files too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sixd.errors import unknown_name
from sixd.io.sdf.frames import WORLD
from sixd.io.sdf.includes import Document, Includes
from sixd.io.sdf.values import Pose, flag_attribute, flag_in, read_pose, text_in
from sixd.io.xml import Element

MODEL = "__model__"
_MOST_LEVELS = 100  # of models in models
_MOST_PARTS = 1_000_000  # links, joints and frames


@dataclass(frozen=True, eq=False)
class SdfElement:
    """A link, joint or ``<frame>``; ``home`` is the frame that its pose is in, unless it names another."""

    element: Element
    home: str
    document: Document


@dataclass(frozen=True, eq=False)
class ModelFrame:
    """The frame of a model: its pose in ``home``, or that of the frame ``placed`` if the model names one."""

    key: str
    pose: Pose
    home: str
    placed: str  # the placement frame, empty for the model's own
    canonical: str  # the canonical link, empty for the first
    element: Element


@dataclass(eq=False)
class Scope:
    """A model or world, with its contents by name."""

    element: Element
    prefix: str  # of whole names
    frame: str  # whole name of its frame
    static: bool = False
    own: ModelFrame | None = None  # None for the world
    parent: Scope | None = None
    links: dict[str, SdfElement] = field(default_factory=dict)
    joints: dict[str, SdfElement] = field(default_factory=dict)
    frames: dict[str, SdfElement] = field(default_factory=dict)
    models: dict[str, Scope] = field(default_factory=dict)
    merged: dict[str, ModelFrame] = field(default_factory=dict)  # frames of models merged into this one

    def walk(self) -> Iterator[Scope]:
        """Yield this scope and those inside it, outer ones first, in file order."""
        stack = [self]
        while stack:
            scope = stack.pop()
            yield scope
            stack.extend(reversed(scope.models.values()))

    def find(self, name: str) -> str | None:
        """Return the whole name of the frame that ``name`` means here; None if there is none."""
        scope = self
        while True:
            if name == MODEL and scope.own is not None:
                return scope.frame
            if name == WORLD and scope.own is None:
                return WORLD
            if name in scope.merged:
                return scope.merged[name].key
            if name in scope.links or name in scope.frames:
                return scope.prefix + name
            if name in scope.joints:
                return joint_key(scope.prefix + name)
            if name in scope.models:
                return scope.models[name].frame
            first, separator, rest = name.partition("::")
            if not separator or first not in scope.models:
                return None
            scope, name = scope.models[first], rest

    def resolve(self, element: Element, name: str, home: str, what: str) -> str:
        """Return the whole name of a frame that an element names; raises if there is none."""
        frame = home if name == MODEL and self.own is not None else self.find(name)
        if frame is not None:
            return frame
        known = [*self.links, *self.frames, *self.joints, *self.models]
        if name == WORLD:
            raise element.error(f"{what} is 'world', which is not known inside a model. Name a frame of the model.")
        raise element.error(str(unknown_name(what, "link, joint, frame or model", name, known)))


def joint_key(name: str) -> str:
    """Return the name of a joint's frame."""
    return f"joint:{name}"


def collect(sdf: Element, document: Document, includes: Includes) -> Scope:
    """Return the world of an ``<sdf>``: its own, or one that holds the models of the file.

    Whole names in a file's only model have no prefix; where there are several, each begins with its model's name.
    """
    worlds = sdf.find_all("world")
    if len(worlds) > 1:
        raise worlds[1].error(f"the file has {len(worlds)} worlds, expected one. Delete the others.")
    if worlds and sdf.find("model") is not None:
        raise worlds[0].error("the file has a world and a model outside it, expected one of them.")
    top = worlds[0] if worlds else sdf
    counts = {tag: len(top.find_all(tag)) for tag in ("model", "include", "frame", "joint")}
    models = counts["model"] + counts["include"]
    collector = _Collector(includes, alone=models == sum(counts.values()) == 1)
    scope = Scope(top, "", WORLD)
    collector.fill(scope, top, document, WORLD, 0)
    if not scope.models:
        raise top.error(f"<{top.tag}> has no <model>, expected at least one.")
    return scope


class _Collector:
    """Fills scopes with the parts of their elements."""

    def __init__(self, includes: Includes, *, alone: bool) -> None:
        self.includes = includes
        self.alone = alone  # whether the document is one model, whose names need no prefix
        self._parts = 0

    def fill(self, scope: Scope, element: Element, document: Document, home: str, level: int) -> None:
        """Add the children of an element to a scope."""
        top = element.tag == "sdf"
        for child in element.children:
            if child.tag in ("link", "joint", "frame") and not top:
                if child.tag == "link" and scope.own is None:
                    raise child.error("a <link> is directly in the world, expected it in a <model>.")
                self._parts += 1
                if self._parts > _MOST_PARTS:
                    raise child.error(f"the document has more than {_MOST_PARTS} links, joints and frames.")
                parts = {"link": scope.links, "joint": scope.joints, "frame": scope.frames}[child.tag]
                name = _name(child)
                _claim(scope, child, name, document)
                parts[name] = SdfElement(child, home, document)
            elif child.tag == "model":
                self._add_model(scope, child, child, document, document, home, level)
            elif child.tag == "include":
                model, inner = self.includes.model(child, document)
                if flag_attribute(child, "merge"):
                    self._merge(scope, child, model, inner, home, level)
                else:
                    self._add_model(scope, child, model, document, inner, home, level)

    def _add_model(
        self, scope: Scope, site: Element, model: Element, outer: Document, inner: Document, home: str, level: int
    ) -> None:
        """Add a model to a scope; ``site`` is the model, or the ``<include>`` whose name and pose replace its own."""
        if level >= _MOST_LEVELS:
            raise site.error(f"models are nested more than {_MOST_LEVELS} levels deep, expected fewer.")
        included = site is not model
        name = text_in(site, "name", "") or _name(model) if included else _name(model)
        _claim(scope, site, name, outer)
        prefix = "" if self.alone and level == 0 else f"{scope.prefix}{name}::"
        frame = f"{prefix}{MODEL}"
        static = scope.static or flag_in(site, "static", flag_in(model, "static"))
        own = _model_frame(frame, site, model, home)
        scope.models[name] = Scope(model, prefix, frame, static, own, scope)
        self.fill(scope.models[name], model, inner, frame, level + 1)
        if not scope.models[name].links and not scope.models[name].models:
            raise model.error(f"model {name!r} has no <link>, expected at least one.")

    def _merge(self, scope: Scope, site: Element, model: Element, inner: Document, home: str, level: int) -> None:
        """Add the contents of an included model to the scope itself; its frame gets a name that SDF reserves."""
        if scope.own is None:
            raise site.error('<include merge="true"> is in a world, expected it in a <model>.')
        if flag_in(site, "static", flag_in(model, "static")) and not scope.static:
            raise site.error("a static model is merged into one that moves. Leave merge out.")
        if level >= _MOST_LEVELS:
            raise site.error(f"models are nested more than {_MOST_LEVELS} levels deep, expected fewer.")
        name = text_in(site, "name", "") or _name(model)
        proxy = f"_merged__{name}__model__"
        _claim(scope, site, proxy, inner)
        key, before = scope.prefix + proxy, len(scope.links)
        self.fill(scope, model, inner, key, level + 1)
        frame = _model_frame(key, site, model, home)
        if not frame.canonical and len(scope.links) > before:
            frame = ModelFrame(key, frame.pose, home, frame.placed, list(scope.links)[before], frame.element)
        scope.merged[proxy] = frame


def _model_frame(key: str, site: Element, model: Element, home: str) -> ModelFrame:
    """Return the frame of a model; the pose and placement frame of an ``<include>`` replace the model's."""
    placed = model.attributes.get("placement_frame", "").strip()
    canonical = model.attributes.get("canonical_link", "").strip()
    if site is model:
        return ModelFrame(key, read_pose(model), home, placed, canonical, model)
    placed = text_in(site, "placement_frame", "") or placed
    pose = read_pose(site if site.find("pose") is not None else model)
    if site.find("pose") is None and pose.relative_to:
        pose = Pose(pose.matrix, "", pose.element)  # a name in the included file is unknown outside it
    return ModelFrame(key, pose, home, placed, canonical, site)


def _name(element: Element) -> str:
    name = element.text("name")
    if name == WORLD:
        raise element.error(f"a <{element.tag}> is named 'world', which in SDF is the fixed frame. Rename it.")
    if name == "__root__" or (name.startswith("__") and name.endswith("__")):
        raise element.error(f"<{element.tag} name={name!r}>: the name is reserved in SDF. Rename it.")
    if name.startswith("joint:"):
        raise element.error(f"<{element.tag} name={name!r}>: the prefix 'joint:' is reserved for frames. Rename it.")
    return name


def _claim(scope: Scope, element: Element, name: str, document: Document) -> None:
    """Raise if the name is in use in the scope; before SDF 1.7 a joint may have the name of something else."""
    for kind in ("links", "joints", "frames", "models"):
        other = getattr(scope, kind).get(name)
        old = document.version < (1, 7) and (kind == "joints") != (element.tag == "joint")
        if other is not None and not old:
            where = other.element
            raise element.error(
                f"a second {where.tag if where.tag == element.tag else 'element'} named {name!r} (the first, a "
                f"<{where.tag}>, is on line {where.line}). Rename one."
            )
