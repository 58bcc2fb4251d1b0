"""The trees of links of an SDF document, whose joints may form any graph.

Links that joints connect form a component. If a joint or a static link connects the component with the world, its tree
begins there; else at a link that is not the child of a joint: the first from which no ball or universal joint is
traversed in reverse. A joint is traversed from parent to child where possible, else in reverse. Joints between links
that are in the tree already close loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from sixd.io.sdf.frames import WORLD
from sixd.io.sdf.joints import REVERSIBLE, Connection

_MOST_BASES = 20  # that are tried for one component


@dataclass(frozen=True, eq=False)
class TreeStep:
    """A link added to the tree: on the joint ``by``, traversed from child to parent if ``reverse``.

    Without a joint the link is the base of a tree: fixed to the world if it is static, else free.
    """

    link: str
    parent: str
    by: Connection | None = None
    reverse: bool = False


def span(links: Mapping[str, bool], joints: Iterable[Connection]) -> tuple[list[TreeStep], list[Connection]]:
    """Return the links in the order in which they are added, parents first, and the joints that close loops.

    ``links`` maps names, in file order, to whether the link is static. Joints between links that cannot move are left
    out.
    """
    held = {WORLD, *(name for name, static in links.items() if static)}
    moving = [j for j in joints if not {j.parent, j.child} <= held]
    forest = _Forest(links, moving, held)
    for component in forest.components():
        forest.grow(component)
    used = {step.by.name for step in forest.steps if step.by is not None}
    return forest.steps, [j for j in moving if j.name not in used]


class _Forest:
    """Links and joints, with the steps so far."""

    def __init__(self, links: Iterable[str], joints: list[Connection], held: set[str]) -> None:
        self.held = held
        self.moving = [name for name in links if name not in held]
        self.steps = [TreeStep(name, WORLD) for name in links if name in held]
        self._below: dict[str, list[Connection]] = {name: [] for name in (WORLD, *links)}
        self._above: dict[str, list[Connection]] = {name: [] for name in (WORLD, *links)}
        for joint in joints:
            self._below[joint.parent].append(joint)
            self._above[joint.child].append(joint)

    def components(self) -> Iterator[list[str]]:
        """Yield the moving links of each component, in file order."""
        number = {name: k for k, name in enumerate(self.moving)}
        seen = set(self.held)
        for first in self.moving:
            if first in seen:
                continue
            seen.add(first)
            stack, component = [first], [first]
            while stack:
                link = stack.pop()
                ends = [*(j.child for j in self._below[link]), *(j.parent for j in self._above[link])]
                new = [end for end in dict.fromkeys(ends) if end not in seen]
                seen.update(new)
                component += new
                stack += new
            yield sorted(component, key=number.__getitem__)

    def grow(self, component: list[str]) -> None:
        """Add the tree of a component: from the world, else from the first base that allows all joints' directions."""
        above = [TreeStep(link, j.parent, j) for link in component for j in self._above[link] if j.parent in self.held]
        below = [
            TreeStep(link, j.child, j, True) for link in component for j in self._below[link] if j.child in self.held
        ]
        if above or below:
            self.steps += self._tree(above + below, len(component))
            return
        bases = [link for link in component if not self._above[link]] or component[:1]
        trees = (self._tree([TreeStep(base, WORLD)], len(component)) for base in bases[:_MOST_BASES])
        first = next(trees)
        self.steps += next((tree for tree in chain([first], trees) if _passable(tree)), first)

    def _tree(self, starts: list[TreeStep], size: int) -> list[TreeStep]:
        """Return the steps to the links of a component, from parents to children where possible."""
        steps: list[TreeStep] = []
        reached = set(self.held)
        for start in starts:
            self._add(start, steps, reached)
        # links that are only parents of those reached: in reverse, beginning at the links that were reached first
        k = 0
        while len(steps) < size:
            for joint in self._above[steps[k].link]:
                self._add(TreeStep(joint.parent, steps[k].link, joint, reverse=True), steps, reached)
            k += 1
        return steps

    def _add(self, first: TreeStep, steps: list[TreeStep], reached: set[str]) -> None:
        """Add a step, and all that follow it from parent to child, depth first."""
        stack = [first]
        while stack:
            step = stack.pop()
            if step.link in reached:
                continue
            reached.add(step.link)
            steps.append(step)
            stack.extend(TreeStep(j.child, step.link, j) for j in reversed(self._below[step.link]))


def _passable(tree: list[TreeStep]) -> bool:
    return all(step.by is None or not step.reverse or step.by.kind in REVERSIBLE for step in tree)
