"""Index sets of a kinematic tree, from its parent array λ alone  [RBDA section 4.1].

Bodies are 1 … n, body 0 is the world, λ(i) < i. Sets are computed on request: storing κ of all bodies of a long chain
would need quadratic space.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from sixd.errors import ModelError


class Tree:
    """The tree of a parent array with ``parent[i] < i`` for i ≥ 1; ``parent[0]`` is not read."""

    def __init__(self, parent: Sequence[int]) -> None:
        self.parent = tuple(int(p) for p in parent)
        for i, p in enumerate(self.parent):
            if i and not 0 <= p < i:
                raise ModelError(f"Tree: parent of body {i} is {p}, expected 0 to {i - 1}. Number parents first.")

    @cached_property
    def _children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.parent]
        for i, p in enumerate(self.parent):
            if i:
                children[p].append(i)
        return children

    @cached_property
    def _depths(self) -> list[int]:
        depths = [0]
        for p in self.parent[1:]:
            depths.append(depths[p] + 1)
        return depths

    def ancestors(self, i: int) -> tuple[int, ...]:
        """Return κ(i): the bodies on the path from the root to body i, itself included; empty for the world."""
        path = []
        while i > 0:
            path.append(i)
            i = self.parent[i]
        return tuple(reversed(path))

    def children(self, i: int) -> tuple[int, ...]:
        """Return μ(i): the bodies whose parent is body i."""
        return tuple(self._children[i])

    def subtree(self, i: int) -> tuple[int, ...]:
        """Return ν(i): body i and all its descendants, depth first; the world itself is left out."""
        members, stack = [], [i]
        while stack:
            k = stack.pop()
            if k:
                members.append(k)
            stack.extend(reversed(self._children[k]))
        return tuple(members)

    def depth(self, i: int | None = None) -> int:
        """Return the number of joints between the world and body i; without i the largest of all."""
        return max(self._depths) if i is None else self._depths[i]


def expand_parent(parent: Sequence[int], counts: Sequence[int]) -> tuple[int, ...]:
    """Return the per-DoF parent array of bodies with ``counts[i]`` DoF each  [RBDA Table 6.4].

    ``parent`` and ``counts`` have an entry for the world first (its count is not read).

    >>> expand_parent([-1, 0, 1, 1], [0, 2, 1, 3])
    (-1, 0, 1, 1, 3, 4)
    """
    last = [-1]  # the last DoF of each body, or of its nearest ancestor that has one
    expanded: list[int] = []
    for i in range(1, len(parent)):
        before = last[parent[i]]
        for _ in range(counts[i]):
            expanded.append(before)
            before = len(expanded) - 1
        last.append(before)
    return tuple(expanded)
