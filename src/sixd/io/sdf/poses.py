"""The frame graph of the scopes of an SDF document: which pose is in which frame, by the rules of SDF.

Without ``relative_to`` a link, frame or model is in the frame of its model or world, a joint in that of its child.
"""

from __future__ import annotations

from sixd.errors import LoadError
from sixd.io.sdf.frames import WORLD, FrameGraph, Node
from sixd.io.sdf.scopes import ModelFrame, Scope, SdfElement, joint_key
from sixd.io.sdf.values import Pose, read_pose, text_in
from sixd.spatial.transform import compose, inverse_pose


def frame_graph(world: Scope) -> FrameGraph:
    """Return the frames of all scopes, connected; raises for names that do not exist and for cycles."""
    graph = FrameGraph()
    scopes = list(world.walk())
    for scope in scopes:
        _add_frames(graph, scope)
    for scope in reversed(scopes):  # inner ones first, since a placement frame may be inside a nested model
        for frame in scope.merged.values():
            _place(graph, frame, scope)
        if scope.own is not None:
            _place(graph, scope.own, scope)
    for name in graph.nodes:  # cycles raise here, also those of frames that nothing else uses
        graph.depth(name)
        graph.link_of(name)
    return graph


def joint_end(scope: Scope, part: SdfElement, which: str) -> str:
    """Return the whole name of the frame at one end of a joint, "parent" or "child"; the parent may be the world."""
    joint, name = part.element, text_in(part.element, which)
    where = joint.find(which) or joint
    if name == WORLD:
        if which == "child":
            raise where.error(f"joint {joint.text('name')!r} has the child 'world'. Exchange its parent and child.")
        return WORLD
    frame = scope.resolve(where, name, part.home, f"joint {joint.text('name')!r}: <{which}>")
    if frame == joint_key(scope.prefix + joint.text("name")):
        raise where.error(f"joint {joint.text('name')!r} is its own {which}, expected a link or frame.")
    return frame


def _add_frames(graph: FrameGraph, scope: Scope) -> None:
    for frame in scope.merged.values():
        _add_model_frame(graph, frame, scope, scope)
    if scope.own is not None and scope.parent is not None:
        _add_model_frame(graph, scope.own, scope.parent, scope)
    for name, part in scope.links.items():
        pose = read_pose(part.element)
        graph.add_link(scope.prefix + name, _on(scope, pose, part.home, part.home), pose.matrix, part.element)
    for name, part in scope.frames.items():
        pose = read_pose(part.element)
        attached = _attached_to(scope, part)
        on = _on(scope, pose, part.home, attached)
        graph.nodes[scope.prefix + name] = Node(on, pose.matrix, attached, part.element)
    for name, part in scope.joints.items():
        pose, child = read_pose(part.element), joint_end(scope, part, "child")
        on = _on(scope, pose, part.home, child)
        graph.nodes[joint_key(scope.prefix + name)] = Node(on, pose.matrix, child, part.element)


def _add_model_frame(graph: FrameGraph, frame: ModelFrame, outside: Scope, inside: Scope) -> None:
    on = _on(outside, frame.pose, frame.home, frame.home)
    graph.nodes[frame.key] = Node(on, frame.pose.matrix, _canonical(frame, inside), frame.element)


def _place(graph: FrameGraph, frame: ModelFrame, scope: Scope) -> None:
    """If the pose of a model is that of its placement frame, move the model accordingly."""
    if not frame.placed:
        return
    placed = scope.resolve(frame.element, frame.placed, frame.key, "the placement frame")
    if placed == WORLD:
        raise frame.element.error("the placement frame is 'world', expected a frame of the model.")
    node = graph.nodes[frame.key]
    node.pose = compose(frame.pose.matrix, inverse_pose(graph.relative(frame.key, placed)))


def _canonical(frame: ModelFrame, scope: Scope) -> str:
    """Return the link that a model's frame is attached to: the one it names, or its first."""
    if frame.canonical:
        return scope.resolve(frame.element, frame.canonical, frame.key, "the canonical link")
    if scope.links:
        return scope.prefix + next(iter(scope.links))
    if scope.models:
        return next(iter(scope.models.values())).frame
    raise LoadError(f"{frame.element.location}: the model has no <link>, expected at least one.")


def _attached_to(scope: Scope, part: SdfElement) -> str:
    name = part.element.attributes.get("attached_to", "").strip()
    what = f"<{part.element.tag} name={part.element.text('name')!r}>: attached_to"
    return scope.resolve(part.element, name, part.home, what) if name else part.home


def _on(scope: Scope, pose: Pose, home: str, usual: str) -> str:
    """Return the frame that a pose is relative to: the one it names, or the usual one."""
    return usual if not pose.relative_to else scope.resolve(pose.element, pose.relative_to, home, "relative_to")
