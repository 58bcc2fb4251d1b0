"""``sixd.collision_pairs``: which pairs of collision shapes are tested, for whole models and for parts of them.

The rule is MuJoCo's, of which that of URDF files with an SRDF is a case: no two shapes of one body, of a body and its
parent, or of links that a file excludes; masks must have a bit in common; explicit pairs are tested in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from sixd.collision.selection import Selection, mechanisms
from sixd.errors import ModelError, ScalarTypeError
from sixd.model.model import Model, require_model
from sixd.model.parts import Collision
from sixd.notebook import table

_WITHOUT_VOLUME = ("plane", "height_field")  # surfaces, of which no two are tested against each other
_MOST_LINES = 20
Accepts = Callable[[int, int], bool]


class CollisionPairs(tuple[tuple[str, str], ...]):
    """Pairs of names of collision shapes: a tuple of (name, name) that prints as a list."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<CollisionPairs: {len(self)}>"

    def __str__(self) -> str:
        more = [f"… and {len(self) - _MOST_LINES} more"] if len(self) > _MOST_LINES else []
        head = f"{len(self)} pairs of collision shapes"
        return "\n".join([head, *(f"  {a}  -  {b}" for a, b in self[:_MOST_LINES]), *more])

    def _repr_html_(self) -> str:
        """The pairs as a table, for notebooks."""
        return table(f"CollisionPairs: {len(self)}", ("shape", "shape"), self)


def collision_pairs(model: Model, among: Any = None) -> CollisionPairs:
    """Return the pairs of collision shapes that may touch, as names; all of them, or some.

    Left out are two shapes of one body or of bodies fixed to each other, also to the world; of a body and its parent,
    unless that is the world (massless bodies without shapes between them do not count); of links in
    ``model.disabled_collisions``, which come from SRDF files and from MJCF's ``<exclude>``; two planes; and two shapes
    of which neither one's contype has a bit in common with the other's conaffinity. In MJCF files this is MuJoCo's own
    rule, with their ``<pair>`` elements and the flag filterparent; the flag that disables contacts has no effect.

    Parameters
    ----------
    among : which of them.

        - a name: of a collision shape, else of the link that has shapes, else of the body; or the beginning of such
          names, up to one of ``_ / : .``, as of an attached model. ``"body:NAME"`` are the shapes of a body and of all
          that is fixed to it, ``"subtree:NAME"`` also those of the bodies that it carries. ``"world"`` are the shapes
          added to the world itself.
        - a pattern such as ``"finger*"``, of names of shapes, links or bodies.
        - a list of such: the pairs among all of their shapes.
        - a tuple of two of them: the pairs between one and the other. Two names of shapes are a pair in any case.
        - ``"self"``: the pairs within each mechanism, whose links joints connect other than through the world.
        - a list with tuples or ``"self"``: all pairs of its items, in their order; a tuple's first name comes first.

    >>> import sixd
    >>> ball = sixd.Shape("sphere", (0.1,))
    >>> arm = sixd.zoo.planar(3).with_collision("world", ball, name="obstacle")
    >>> for link in arm.body_names:
    ...     arm = arm.with_collision(link, ball)
    >>> len(sixd.collision_pairs(arm)), len(sixd.collision_pairs(arm, ("obstacle", "*")))
    (4, 3)
    """
    require_model("collision_pairs", model)
    if isinstance(among, np.ndarray):
        among = [tuple(item) if isinstance(item, list) else item for item in among.tolist()]
    if among is None:
        return _named(model, _tested(model, lambda i, j: True))
    selection = Selection(model)
    items = [*among] if isinstance(among, (list, CollisionPairs)) else [among]
    single = [item for item in items if isinstance(item, str) and item != "self"]
    found = [*_among(model, selection, single)] if single else []
    for item in (item for item in items if item not in single):
        if item == "self":
            found += _within_mechanisms(model)
        elif isinstance(item, tuple) and len(item) == 2:
            found += _between(model, selection, *item)
        else:
            raise ScalarTypeError(
                f"collision_pairs: among is {item!r}, expected a name, a pattern, 'self', a tuple of two, or a list of "
                f"these."
            )
    return _named(model, found)


def _named(model: Model, pairs: Iterable[tuple[int, int]]) -> CollisionPairs:
    """Return pairs of indices as names, each pair once."""
    once: dict[frozenset[int], tuple[int, int]] = {}
    for pair in pairs:
        once.setdefault(frozenset(pair), pair)
    names = [c.name for c in model.collisions]
    return CollisionPairs((names[i], names[j]) for i, j in once.values())


def _among(model: Model, selection: Selection, terms: list[str]) -> Iterator[tuple[int, int]]:
    """Return the pairs of shapes that are all selected by one of the terms."""
    chosen = {i for term in terms for i in selection.of(term)}
    if len(chosen) < 2:
        name, term = model.collisions[next(iter(chosen))].name, terms[0] if len(terms) == 1 else terms
        raise ModelError(
            f"collision_pairs: among is {term!r}, which is one shape, {name!r}, expected several. Write "
            f"({name!r}, '*') for its pairs with all others."
        )
    return _tested(model, lambda i, j: i in chosen and j in chosen)


def _within_mechanisms(model: Model) -> Iterator[tuple[int, int]]:
    home = mechanisms(model)
    return _tested(model, lambda i, j: home[i] == home[j] != "")


def _between(model: Model, selection: Selection, one: Any, two: Any) -> list[tuple[int, int]]:
    """Return the pairs of a shape of ``one`` and a shape of ``two``, in this order."""
    if isinstance(one, tuple) and isinstance(two, tuple):
        raise ScalarTypeError(
            f"collision_pairs: among is {(one, two)!r}, a tuple of tuples, expected a list of pairs: [{one!r}, "
            f"{two!r}]."
        )
    a, b = (
        {i for term in (side if isinstance(side, (list, tuple)) else [side]) for i in selection.of(term)}
        for side in (one, two)
    )
    if isinstance(one, str) and isinstance(two, str) and one in selection.by_name and two in selection.by_name:
        if one == two:
            raise ModelError(f"collision_pairs: both names are {one!r}, expected two shapes.")
        return [(selection.by_name[one], selection.by_name[two])]
    crossing = _tested(model, lambda i, j: (i in a and j in b) or (i in b and j in a))
    return [(i, j) if i in a and j in b else (j, i) for i, j in crossing]


# the rule -----------------------------------------------------------------------------------------


def _tested(model: Model, accepts: Accepts) -> Iterator[tuple[int, int]]:
    """Yield the indices (i, j), i < j, of shapes that may touch, and that ``accepts``."""
    shapes, parents = model.collisions, _carriers(model)
    disabled = {frozenset(pair) for pair in model.disabled_collisions}
    for i, one in enumerate(shapes):
        for j, two in enumerate(shapes[i + 1 :], start=i + 1):
            if accepts(i, j) and _may_touch(one, two, parents, disabled):
                yield i, j


def _may_touch(one: Collision, two: Collision, parents: list[int], disabled: set[frozenset[str]]) -> bool:
    if one.shape.kind in _WITHOUT_VOLUME and two.shape.kind in _WITHOUT_VOLUME:
        return False
    if two.name in one.paired or one.name in two.paired:
        return True
    if one.body == two.body or frozenset((one.link, two.link)) in disabled:
        return False
    near = parents[one.body] == two.body or parents[two.body] == one.body
    if near and one.body and two.body and not (one.with_parent and two.with_parent):
        return False
    return _share(one.contype, two.conaffinity) or _share(two.contype, one.conaffinity)


def _share(contype: int | None, conaffinity: int | None) -> bool:
    """Whether two masks have a bit in common; None has all bits."""
    first, second = (-1 if mask is None else mask for mask in (contype, conaffinity))
    return bool(first & second)


def _carriers(model: Model) -> list[int]:
    """Return for each body the next one towards the root that has inertia or shapes, 0 for the world."""
    solid = {c.body for c in model.collisions}
    carriers = [0]
    for i in model.bodies:
        p = model.parent[i]
        carriers.append(p if p == 0 or p in solid or model.inertia[p].any() else carriers[p])
    return carriers
