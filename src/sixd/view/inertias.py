"""What a body's inertia looks like: its ellipsoid, and the sphere, cylinder or box that has the same one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.errors import ModelError
from sixd.model.model import Model
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array

_ALIKE = 0.03  # moments that differ by less of the largest are taken for equal


class Principal(NamedTuple):
    """Mass [kg], centre (3,), axes (3, 3) as columns, right-handed, and Σ (3,) = ∫ x² dm / m [m²] along each."""

    mass: float
    com: Array
    axes: Array
    spread: Array


def principal(model: Model, i: int) -> Principal | None:
    """The principal axes of body i; None if it has no mass or no centre."""
    try:
        inertia = Inertia.from_moments(model.inertia[i][5, 5], _moment(model.inertia[i]), model.inertia[i][:3, :3])
        mass, com = float(inertia.mass), np.asarray(inertia.com, dtype=float)
        about = np.asarray(inertia.about_com, dtype=float)
    except ModelError:
        return None
    if not mass > 0 or not np.isfinite(about).all():
        return None
    moments, axes = np.linalg.eigh((about + about.T) / 2)
    axes = _tidy(axes)
    moments = np.diag(axes.T @ about @ axes)
    # a thin body's rounding, or a matrix that no body has, must not give a root of a negative number
    return Principal(mass, com, axes, np.maximum(moments.sum() / 2 - moments, 0) / mass)


def _moment(I: Array) -> Array:
    return np.array([I[2, 4], I[0, 5], I[1, 3]])


def _tidy(axes: Array) -> Array:
    """The axes sorted to lie as near as they can to x, y and z, right-handed."""
    order: list[int] = []
    for row in np.abs(axes):
        order.append(max((k for k in range(3) if k not in order), key=lambda k: row[k]))
    axes = axes[:, order]
    axes = axes * np.where(np.diag(axes) < 0, -1, 1)
    return axes if np.linalg.det(axes) > 0 else axes * np.array([1, 1, -1])


def ellipsoid_radii(body: Principal) -> Array:
    """Radii (3,) [m] of the solid ellipsoid of the same mass and moments: ∫ x² dm = m a²/5."""
    return np.sqrt(5 * body.spread)


class Solid(NamedTuple):
    """A shape with a body's inertia: kind and size as in ``sixd.Shape``, axes (3, 3) in the body's frame."""

    kind: str
    size: tuple[float, ...]
    axes: Array


def equivalent_solid(body: Principal, thinnest: float) -> Solid:
    """The sphere, cylinder or box, whichever is simplest, of the body's moments, nowhere thinner than ``thinnest``."""
    s = body.spread
    scale = s.max()
    if scale < (thinnest / 4) ** 2:  # all mass near one point
        return Solid("sphere", (thinnest,), np.eye(3))
    if np.ptp(s) < _ALIKE * scale:
        return Solid("sphere", (float(max(np.sqrt(5 * s.mean()), thinnest)),), np.eye(3))
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        if abs(s[i] - s[j]) < _ALIKE * scale:
            # ∫ x² dm = m r²/4 across, m l²/12 along; z of the shape is axis k
            radius, length = np.sqrt(2 * (s[i] + s[j])), np.sqrt(12 * s[k])
            size = (float(max(radius, thinnest)), float(max(length, thinnest)))
            return Solid("cylinder", size, body.axes[:, [i, j, k]])
    size = np.maximum(np.sqrt(12 * s), 2 * thinnest)
    return Solid("box", (float(size[0]), float(size[1]), float(size[2])), body.axes)
