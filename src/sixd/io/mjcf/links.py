"""The bodies of a model as bodies of an MJCF file: which joints each has, and where it is.

A body's frame in the file is its named frame, wherever that is on the body. The reader turns several joints on one
body into a chain of massless bodies; here such a chain becomes one body with several joints again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.io.mjcf.elements import chosen_parts
from sixd.io.mjcf.parts import JointPart
from sixd.model import Model
from sixd.model.parts import all_shapes
from sixd.spatial.rotation import EYE3, quaternion_to_rotation
from sixd.spatial.scalar import Array
from sixd.spatial.transform import inverse_pose, placement

_MOST_DOFS = 6  # of a body in MuJoCo


class Member(NamedTuple):
    """A joint of a link: the body of the model that it moves, its parts, and its frame (4, 4) in the link's."""

    body: int
    parts: tuple[JointPart, ...]
    in_link: Array


class Link(NamedTuple):
    """A body of the file; ``parent`` is a body of the model that is a link as well."""

    body: int
    parent: int
    pose: Array  # (4, 4) in the parent link's frame, with the joints in their neutral positions
    frame: Array  # (4, 4) of the link in the model's body
    joints: tuple[Member, ...]  # the outermost first


def links_of(model: Model) -> dict[int, Link]:
    """Return the links by the number of their body in the model, parents first."""
    parts = [(), *(chosen_parts(model, i) for i in model.bodies)]
    frame = [np.eye(4), *(_frame(model, i, parts[i]) for i in model.bodies)]
    # for each body: the last body of its chain, and the pose of that link's frame in its own
    end, ahead = list(range(model.nb + 1)), list(frame)
    dofs = [joint.nv for joint in model.joints]  # of the chain from each body on
    used = _used_bodies(model)
    for i in reversed(model.bodies):
        below = model.tree.children(i)
        if len(below) != 1 or i in used or model.inertia[i].any():
            continue
        c = below[0]
        pose = model.placement[c] @ ahead[c]
        kinds = {part.kind for k in (i, c) for part in parts[k]}
        rotated = "ball" in {part.kind for part in parts[i]} and not np.array_equal(pose[:3, :3], EYE3)
        named = model.body_names[i - 1].startswith(f"{model.body_names[end[c] - 1]}:{model.joint_names[i - 1]}")
        if named and "free" not in kinds and not rotated and dofs[i] + dofs[c] <= _MOST_DOFS:
            end[i], ahead[i], dofs[i] = end[c], pose, dofs[i] + dofs[c]
    start = model.initial_configuration()
    links: dict[int, Link] = {}
    chain: list[int] = []
    for i in _by_chain(model, end):
        chain.append(i)
        if end[i] == i:
            first = chain[0]
            parent = model.parent[first]
            pose = inverse_pose(frame[parent]) @ model.placement[first] @ ahead[first]
            if parts[first][0].kind == "free":  # MuJoCo's qpos0 is its pose in the file
                q = start[model.iq[first]]
                pose = pose @ placement(q[4:], R=quaternion_to_rotation(q[:4]))
            members = tuple(Member(k, parts[k], inverse_pose(ahead[k])) for k in chain)
            links[i] = Link(i, parent, pose, frame[i], members)
            chain = []
    return links


def _by_chain(model: Model, end: list[int]) -> list[int]:
    """Return the bodies, parents first and the bodies of a chain in succession."""
    order: list[int] = []
    for i in model.bodies:
        if end[model.parent[i]] != end[i]:  # the first of its chain
            order.append(i)
            while order[-1] != end[i]:
                order.append(model.tree.children(order[-1])[0])
    return order


def _frame(model: Model, i: int, parts: tuple[JointPart, ...]) -> Array:
    """Return the pose of the link's frame in body i: the named frame's, unless it changes the joint's coordinates."""
    named = model.frames[model.body_names[i - 1]].pose
    kinds = {part.kind for part in parts}
    stays = "free" not in kinds and ("ball" not in kinds or np.array_equal(named[:3, :3], EYE3))
    return named if stays else np.eye(4)


def _used_bodies(model: Model) -> set[int]:
    """Return the bodies with shapes, or with frames other than their own."""
    own = {*model.body_names, *(f"joint:{name}" for name in model.joint_names)}
    loops = {frame for c in model.constraints for frame in c.frames}
    framed = {f.body for name, f in model.frames.items() if name not in own or name in loops}
    return framed | {part.body for part in all_shapes(model)}
