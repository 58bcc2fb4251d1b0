"""Which shapes may touch, as elements of MJCF: excluded pairs of bodies, explicit pairs of geoms, and twins.

A twin is a collision shape that is drawn as well, as most geoms of MJCF files are: both are one geom in a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

import numpy as np

from sixd.io.mjcf.elements import Losses
from sixd.io.writing import quoteattr
from sixd.model import Collision, Model, Visual


def twins(model: Model) -> dict[int, Collision]:
    """Return the collision shapes that are the same geom as a visual, by the index of the visual."""
    waiting: dict[int, list[Collision]] = {}
    for c in model.collisions:
        waiting.setdefault(c.body, []).append(c)
    found: dict[int, Collision] = {}
    for k, visual in enumerate(model.visuals):
        own = waiting.get(visual.body, [])
        twin = next((c for c in own if visual.name in ("", c.name) and _is_twin(visual, c)), None)
        if twin is not None:
            found[k] = twin
            own.remove(twin)
    return found


def _is_twin(visual: Visual, collision: Collision) -> bool:
    one, two = visual.shape, collision.shape
    inline = one.vertices is not None or two.vertices is not None or one.heights is not None or two.heights is not None
    return (one is two or (one == two and not inline)) and np.array_equal(visual.pose, collision.pose)


def contact_elements(model: Model, written: Set[str], losses: Losses) -> Iterator[str]:
    """Yield the elements of ``<contact>`` for the collision shapes ``written``, by name, to the file.

    Disabled pairs of links that are only parts of their bodies are lost.
    """
    body_names = ("world", *model.body_names)
    links: dict[int, set[str]] = {}
    for c in model.collisions:
        links.setdefault(c.body, set()).add(c.link)
    disabled = {frozenset(pair) for pair in model.disabled_collisions}
    for i, j in _disabled_bodies(model, links):
        if all(frozenset((a, b)) in disabled for a in links[i] for b in links[j]):
            yield f"<exclude body1={quoteattr(body_names[i])} body2={quoteattr(body_names[j])}/>"
        else:
            losses.add(
                "Some pairs of links that may touch are not in the file, those on the same bodies may not: {}",
                f"{body_names[i]} and {body_names[j]}",
            )
    pairs = dict.fromkeys(tuple(sorted((c.name, name))) for c in model.collisions for name in c.paired)
    for one, two in pairs:
        if one in written and two in written:
            yield f"<pair geom1={quoteattr(one)} geom2={quoteattr(two)}/>"


def _disabled_bodies(model: Model, links: dict[int, set[str]]) -> list[tuple[int, int]]:
    """Return the pairs of bodies with shapes of which some links are disabled."""
    found: dict[tuple[int, int], None] = {}
    for pair in model.disabled_collisions:
        i, j = sorted(model.frames[name].body if name in model.frames else -1 for name in pair)
        if i != j and i in links and j in links:
            found[i, j] = None
    return list(found)


def parent_flag(model: Model, losses: Losses) -> list[str]:
    """Return the flag that lets bodies collide with their parents, if the shapes have it."""
    own = [c.name for c in model.collisions if c.with_parent]
    if not own:
        return []
    if len(own) == len(model.collisions):
        return ['<flag filterparent="disable"/>']
    losses.add("That {} can touch shapes of their parents is not in the file", ", ".join(own))
    return []
