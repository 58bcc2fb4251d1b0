"""The frames of an SDF document: poses by ``relative_to``, bodies by ``attached_to``.

Every link, joint, model and ``<frame>`` is a node with a pose in another node; the root is the world. Poses between two
nodes are composed only along the path between them, so that a joint at its link has exactly the identity there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from sixd.errors import LoadError
from sixd.io.xml import Element
from sixd.spatial.rotation import tidy_rotation
from sixd.spatial.scalar import Array
from sixd.spatial.transform import compose, inverse_pose, make_pose

WORLD = "world"
_MOST_SHOWN = 8  # names of a cycle


@dataclass(eq=False)
class Node:
    """A frame: its pose (4, 4) in the frame ``on``, and the frame it is attached to."""

    on: str
    pose: Array
    attached: str
    element: Element


class FrameGraph:
    """All frames of a document by their whole names."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._depth = {WORLD: 0}
        self._poses = {WORLD: np.eye(4)}  # in the world
        self._links = {WORLD: WORLD}  # of each frame: the link that it moves with

    def add_link(self, name: str, on: str, pose: Array, element: Element) -> None:
        """Add a link, which moves with itself."""
        self.nodes[name] = Node(on, pose, name, element)
        self._links[name] = name

    def relative(self, a: str, b: str) -> Array:
        """Return the pose (4, 4) of frame b in frame a, with every joint at zero."""
        deep_a, deep_b = self.depth(a), self.depth(b)
        from_a, from_b = np.eye(4), np.eye(4)  # poses of a and b in the frames reached so far
        while a != b:
            if deep_a > deep_b:
                from_a, a, deep_a = compose(self.nodes[a].pose, from_a), self.nodes[a].on, deep_a - 1
            else:
                from_b, b, deep_b = compose(self.nodes[b].pose, from_b), self.nodes[b].on, deep_b - 1
        if np.array_equal(from_a, np.eye(4)):
            return from_b
        T = compose(inverse_pose(from_a), from_b)
        return make_pose(tidy_rotation(T[:3, :3]), T[:3, 3])

    def in_world(self, name: str) -> Array:
        """Return the pose (4, 4) of a frame in the world, with every joint at zero; poses are cached."""
        self.depth(name)
        path = self._climb(name, self._poses, "relative_to", lambda node: node.on)
        for other in reversed(path[:-1]):
            node = self.nodes[other]
            self._poses[other] = compose(self._poses[node.on], node.pose)
        return self._poses[name]

    def link_of(self, name: str) -> str:
        """Return the link that a frame moves with, or the world."""
        path = self._climb(name, self._links, "attached_to", lambda node: node.attached)
        for other in path:
            self._links[other] = self._links[path[-1]]
        return self._links[name]

    def depth(self, name: str) -> int:
        """Return the number of poses between a frame and the world; raises if they form a cycle."""
        path = self._climb(name, self._depth, "relative_to", lambda node: node.on)
        for other in reversed(path[:-1]):
            self._depth[other] = self._depth[self.nodes[other].on] + 1
        return self._depth[name]

    def _climb(self, name: str, known: Collection[str], word: str, above: Callable[[Node], str]) -> list[str]:
        """Return the names from ``name`` up to the first one that is known."""
        path, seen = [name], {name}
        while path[-1] not in known:
            following = above(self.nodes[path[-1]])
            if following in seen:
                cycle = path[path.index(following) :]
                shown = " -> ".join([*cycle[:_MOST_SHOWN], "…"] if len(cycle) > _MOST_SHOWN else [*cycle, following])
                raise LoadError(
                    f"{self.nodes[following].element.location}: the frames form a cycle by {word}: {shown}; expected "
                    f"a chain that ends at the model."
                )
            path.append(following)
            seen.add(following)
        return path
