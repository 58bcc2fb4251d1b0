"""The tree of a URDF file: its links and joints by name, its root, and the joints ordered parents first."""

from __future__ import annotations

from dataclasses import dataclass

from sixd.errors import unknown_name
from sixd.io.xml import Element


@dataclass(frozen=True, eq=False)
class LinkTree:
    """The ``<link>`` and ``<joint>`` elements of a robot, connected."""

    links: dict[str, Element]
    joints: dict[str, Element]
    order: list[Element]  # the joints, parents first, children in file order
    root: str  # the link without a parent


def read_tree(robot: Element) -> LinkTree:
    """Return the tree of a ``<robot>``; raises unless its links and joints form one."""
    links, joints = _by_name(robot, "link"), _by_name(robot, "joint")
    if not links:
        raise robot.error("the robot has no <link>, expected at least one. Is it a part of another file?")
    if "world" not in links and any(joint_end(joint, "parent") == "world" for joint in joints.values()):
        links = {"world": Element("link", {"name": "world"}, robot.line, robot.source), **links}
    above, below = _connect(links, joints)
    root = _only_root(robot, links, above)
    order = _depth_first(below, root)
    if len(order) < len(joints):
        reached = {joint_end(j, "child") for j in order} | {root}
        raise _cycle_error(robot, above, next(name for name in links if name not in reached))
    assert root is not None  # without a root, every joint is on a cycle
    return LinkTree(links, joints, order, root)


def _connect(
    links: dict[str, Element], joints: dict[str, Element]
) -> tuple[dict[str, Element], dict[str, list[Element]]]:
    """Return the joint above each link that has one, and the joints below each link."""
    below: dict[str, list[Element]] = {name: [] for name in links}
    above: dict[str, Element] = {}
    for name, joint in joints.items():
        parent, child = joint_end(joint, "parent"), joint_end(joint, "child")
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
    return above, below


def _only_root(robot: Element, links: dict[str, Element], above: dict[str, Element]) -> str | None:
    """Return the link without a parent, None if every link has one; raises if there are several."""
    roots = [name for name in links if name not in above]
    if len(roots) > 1:
        listed = ", ".join(repr(r) for r in roots[:6]) + (", …" if len(roots) > 6 else "")
        raise robot.error(
            f"the robot is disconnected: {len(roots)} links have no parent ({listed}), expected one root."
        )
    return roots[0] if roots else None


def _depth_first(below: dict[str, list[Element]], root: str | None) -> list[Element]:
    """Return the joints below the root, parents first; without recursion, so that chains may have any length."""
    order: list[Element] = []
    stack = [] if root is None else list(reversed(below[root]))
    while stack:
        joint = stack.pop()
        order.append(joint)
        stack.extend(reversed(below[joint_end(joint, "child")]))
    return order


def joint_end(joint: Element, which: str) -> str:
    """Return the name of the link at one end of a ``<joint>``, "parent" or "child"."""
    element = joint.find(which)
    if element is None:
        raise joint.error(f'joint {joint.text("name")!r} has no <{which} link="…"/>, expected one.')
    return element.text("link")


def _by_name(robot: Element, tag: str) -> dict[str, Element]:
    named: dict[str, Element] = {}
    for element in robot.find_all(tag):
        name = element.text("name")
        if name in named:
            raise element.error(f"a second {tag} named {name!r} (the first is on line {named[name].line}). Rename one.")
        named[name] = element
    return named


def _cycle_error(robot: Element, above: dict[str, Element], link: str) -> Exception:
    cycle = [link]
    while (link := joint_end(above[link], "parent")) not in cycle:
        cycle.append(link)
    shown = " -> ".join([*reversed(cycle[cycle.index(link) :][:8]), "…"])
    return robot.error(f"the links form a cycle: {link} -> {shown}; expected a tree with one root.")
