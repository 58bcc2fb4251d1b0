"""Bodies to draw of a system defined by energies: poses as SymPy functions of q, and shapes.

They do not affect the equations. ``sixd.view`` draws them, ``sixd.body_poses`` returns their poses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sixd.errors import ModelError, ScalarTypeError, require_known
from sixd.lazy import Expr, sympy
from sixd.model.parts import Shape
from sixd.spatial.scalar import is_sympy
from sixd.symbolic.arguments import expression, require_positions, vector
from sixd.symbolic.lagrange.energies import rotation_of

_KEYS = ("position", "angle", "rotation", "euler", "shapes")


@dataclass(frozen=True, eq=False)
class DrawnBody:
    """A body to draw: ``pose`` (3, 4), a SymPy matrix, has its axes and origin in the world, z up."""

    name: str
    pose: Any
    shapes: tuple[Shape, ...] = ()

    def substituted(self, table: Mapping[Expr, Expr]) -> DrawnBody:
        """The body with symbols replaced by SymPy expressions, also in the sizes of its shapes."""

        def changed(shape: Shape) -> Shape:
            size: tuple[Expr, ...] = shape.size
            return replace(shape, size=tuple(x.xreplace(dict(table)) if is_sympy(x) else x for x in size))

        return replace(self, pose=self.pose.xreplace(dict(table)), shapes=tuple(changed(s) for s in self.shapes))

    @property
    def free_symbols(self) -> set[Expr]:
        """All symbols, coordinates among them."""
        sizes: list[Expr] = [x for shape in self.shapes for x in shape.size if is_sympy(x)]
        return set(self.pose.free_symbols).union(*(x.free_symbols for x in sizes))


def read_bodies(bodies: object, qd: Sequence[Expr], rename: Mapping[Expr, Expr]) -> tuple[DrawnBody, ...]:
    """The bodies passed to ``lagrange``: a dictionary for each name, with keys of ``_KEYS``."""
    if not isinstance(bodies, Mapping):
        raise ScalarTypeError(
            f"lagrange: bodies is {bodies!r}, expected a dictionary: {{'bob': {{'position': (x, y), 'angle': theta}}}}."
        )
    return tuple(_read(str(name), body, qd, rename) for name, body in bodies.items())


def _read(name: str, body: object, qd: Sequence[Expr], rename: Mapping[Expr, Expr]) -> DrawnBody:
    where = f"lagrange: body {name!r}"
    if not isinstance(body, Mapping) or "position" not in body:
        raise ScalarTypeError(f"{where} is {body!r}, expected a dictionary with a 'position', and others of {_KEYS}.")
    for key in body:
        require_known(where, "key", key, _KEYS)
    p = vector(where, "position", body["position"], (2, 3)).xreplace(dict(rename))
    if p.rows == 2:
        R, p = _upright(where, body), sympy.Matrix([p[0], 0, p[1]])
    elif body.get("angle") is not None:
        raise ModelError(f"{where}: position has 3 components, expected 2 with an angle. Give rotation or euler.")
    else:
        R = rotation_of(where, body.get("rotation"), body.get("euler"), qd)
    pose = R.xreplace(dict(rename)).row_join(p)
    require_positions(where, "its pose", pose, qd)
    return DrawnBody(name, pose, _shapes(where, body.get("shapes", ())))


def _upright(where: str, body: Mapping[str, Any]) -> Any:
    """Axes of a planar body in the world: its x and y are the world's x and z, so that it stands upright."""
    if body.get("rotation") is not None or body.get("euler") is not None:
        raise ModelError(f"{where}: position has 2 components, expected 3 with a rotation. Give an angle in the plane.")
    angle = expression(where, "angle", body.get("angle", 0))
    c, s = sympy.cos(angle), sympy.sin(angle)
    return sympy.Matrix([[c, 0, -s], [0, 1, 0], [s, 0, c]])


def _shapes(where: str, entry: Shape | Iterable[Shape]) -> tuple[Shape, ...]:
    shapes = (entry,) if isinstance(entry, Shape) else tuple(entry)
    for shape in shapes:
        if not isinstance(shape, Shape):
            raise ScalarTypeError(
                f"{where}: a shape is {shape!r}, expected a sixd.Shape such as Shape('sphere', (0.1,))."
            )
    return shapes
