"""Differences between the collision shapes of two models, for ``sixd.compare``.

Shapes are matched by name, then by kind, size and place: names in two files of one robot often differ. Meshes from
files are not read: of those only the kind and the body count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sixd.inspection.comparison import Difference
from sixd.model import Collision, Model
from sixd.spatial.scalar import Array

_SINGLE = 1e-6  # relative: MuJoCo stores vertices in single precision
_ABSENT = "absent"
Values = Callable[..., Iterator[Difference]]


def collision_differences(
    a: Model, b: Model, pairs: dict[int, int], aligned: dict[int, Array], tol: float, values: Values, pose: Values
) -> Iterator[Difference]:
    """Yield the differences of the collision shapes.

    Parameters
    ----------
    pairs : the bodies of b by those of a.
    aligned : by a's body, the pose C_BA (4, 4) of its frame in that of b's body.
    values, pose : yield the difference of two arrays, and of two poses.
    """
    if bool(a.collisions) != bool(b.collisions):
        yield Difference("collisions", a.name, "collision shapes", len(a.collisions), len(b.collisions))
        return
    theirs = {c.name: c for c in b.collisions}
    names = {(c.name, pairs.get(c.body)) for c in a.collisions}

    def unlike(mine: Collision, other: Collision) -> Iterator[Difference]:
        C, where = aligned[mine.body], mine.name
        if _kind(mine) != _kind(other):
            yield Difference("collisions", where, "shape", mine.shape.kind, other.shape.kind)
        elif _kind(mine) == "mesh":
            yield from _extents(C, mine, other, tol)
        else:
            yield from values("collisions", where, "size [m]", mine.shape.size, other.shape.size)
            yield from pose("collisions", where, "shape", C @ mine.pose, other.pose)

    for mine in a.collisions:
        on_body = [o for o in theirs.values() if mine.body in pairs and o.body == pairs[mine.body]]
        same = next((o for o in on_body if o.name == mine.name), None)
        # a shape whose name the other model does not have on this body may be there under another
        same = same or next((o for o in on_body if (o.name, o.body) not in names and not any(unlike(mine, o))), None)
        if same is None:
            yield Difference("collisions", mine.name, "collision shape", mine.shape.kind, _ABSENT)
        else:
            del theirs[same.name]
            yield from unlike(mine, same)
    for other in theirs.values():
        yield Difference("collisions", other.name, "collision shape", _ABSENT, other.shape.kind)


def _kind(collision: Collision) -> str:
    kind = collision.shape.kind
    return "mesh" if kind == "hull" else kind


def _extents(C: Array, mine: Collision, other: Collision, tol: float) -> Iterator[Difference]:
    """Yield the difference of the bounding boxes of two meshes or hulls, if both have their vertices."""
    one, two = _box(C @ mine.pose, mine), _box(other.pose, other)
    if one is None or two is None:
        return
    size = float(np.abs(one - two).max())
    if size > max(tol, _SINGLE * float(np.ptp(two, axis=0).max())):
        yield Difference("collisions", mine.name, "bounding box [m]", one.ravel(), two.ravel(), size)


def _box(pose: Array, collision: Collision) -> Array | None:
    """Return the lowest and highest coordinates (2, 3) of a shape's vertices; None if they are in a file."""
    if collision.shape.vertices is None:
        return None
    points = np.asarray(collision.shape.vertices, dtype=float) * collision.shape.scale
    placed = points @ pose[:3, :3].T + pose[:3, 3]
    return np.stack([placed.min(axis=0), placed.max(axis=0)])
