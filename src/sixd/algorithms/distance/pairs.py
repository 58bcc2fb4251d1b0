"""The distance of every pair of kinds of solids: a table of functions, or of iterations where no closed form exists."""

from __future__ import annotations

from typing import Any

from sixd.algorithms.distance.closed_forms import (
    Nearest,
    PairDistance,
    capsule_box,
    capsule_capsule,
    plane_and,
    sphere_and,
)
from sixd.algorithms.distance.height_field import point_height_field
from sixd.algorithms.distance.iterated import IteratedPair, iterated
from sixd.algorithms.distance.points import (
    point_box,
    point_capsule,
    point_cone,
    point_cylinder,
    point_ellipsoid,
    point_sphere,
)
from sixd.spatial.scalar import Array

# the order of arguments for which a pair is written; the others are the same with the solids swapped
KINDS = ("sphere", "capsule", "box", "cylinder", "cone", "ellipsoid", "hull", "plane", "height_field")


def swapped(function: PairDistance | IteratedPair) -> PairDistance:
    """The distance of the solids in the other order."""

    def distance(size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array) -> Nearest:
        gap, b, a, n = function(size_b, E_b, p_b, size_a, E_a, p_a)
        return Nearest(gap, a, b, -n)

    return distance


CLOSED: dict[tuple[str, str], PairDistance] = {
    ("sphere", "sphere"): sphere_and(point_sphere),
    ("sphere", "capsule"): sphere_and(point_capsule),
    ("sphere", "box"): sphere_and(point_box),
    ("sphere", "cylinder"): sphere_and(point_cylinder),
    ("sphere", "cone"): sphere_and(point_cone),
    ("sphere", "ellipsoid"): sphere_and(point_ellipsoid),
    ("sphere", "height_field"): sphere_and(point_height_field),
    ("capsule", "capsule"): capsule_capsule,
    ("capsule", "box"): capsule_box,
    **{(kind, "plane"): plane_and(kind) for kind in KINDS[: KINDS.index("plane")]},
}
_SOLIDS = KINDS[: KINDS.index("plane")]
ITERATED: dict[tuple[str, str], IteratedPair] = {
    (a, b): iterated(a, b) for i, a in enumerate(_SOLIDS) for b in _SOLIDS[i:] if (a, b) not in CLOSED
}
PAIRS: dict[tuple[str, str], PairDistance | IteratedPair] = {**CLOSED, **ITERATED}
PAIRS |= {(b, a): swapped(f) for (a, b), f in PAIRS.items() if a != b}
