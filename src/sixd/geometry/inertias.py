"""Shapes with the inertia of a body: its ellipsoid, and the sphere, disc, rod or box of the same moments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.errors import ModelError
from sixd.model.model import Model
from sixd.spatial.inertia import Inertia, first_moment
from sixd.spatial.scalar import Array

_ALIKE = 0.03  # moments that differ by less than this fraction of the largest count as equal
_AXES = ((1, 2, 0), (2, 0, 1), (0, 1, 2))  # two axes across, and the one along which a solid is symmetric
_DISC = 0.35  # largest thickness of a disc, in radii: a thicker one is drawn as a box


class PrincipalInertia(NamedTuple):
    """Mass [kg], centre (3,), axes (3, 3) as columns, right-handed, and Σ (3,) = ∫ x² dm / m [m²] along each."""

    mass: float
    com: Array
    axes: Array
    spread: Array


def principal(model: Model, i: int) -> PrincipalInertia | None:
    """Return the principal axes of body i; None if it has no mass or no centre."""
    try:
        inertia = Inertia.from_moments(model.inertia[i][5, 5], first_moment(model.inertia[i]), model.inertia[i][:3, :3])
        mass, com = float(inertia.mass), np.asarray(inertia.com, dtype=float)
        about = np.asarray(inertia.about_com, dtype=float)
    except ModelError:
        return None
    if not mass > 0 or not np.isfinite(about).all():
        return None
    moments, axes = np.linalg.eigh((about + about.T) / 2)
    axes = _sorted_axes(axes)
    moments = np.diag(axes.T @ about @ axes)
    # rounding in a thin body, or a matrix that is not an inertia, must not give a root of a negative number
    return PrincipalInertia(mass, com, axes, np.maximum(moments.sum() / 2 - moments, 0) / mass)


def _sorted_axes(axes: Array) -> Array:
    """The axes in the order that is nearest to x, y and z, right-handed."""
    order: list[int] = []
    for part in np.abs(axes):
        order.append(max((k for k in range(3) if k not in order), key=lambda k: part[k]))
    axes = axes[:, order]
    axes = axes * np.where(np.diag(axes) < 0, -1, 1)
    return axes if np.linalg.det(axes) > 0 else axes * np.array([1, 1, -1])


def ellipsoid_radii(body: PrincipalInertia) -> Array:
    """Return the radii (3,) [m] of the solid ellipsoid of the same mass and moments: ∫ x² dm = m a²/5."""
    return np.sqrt(5 * body.spread)


class Solid(NamedTuple):
    """A shape with a body's inertia: kind and size as in ``sixd.Shape``, axes (3, 3) in the body's frame."""

    kind: str
    size: tuple[float, ...]
    axes: Array


def equivalent_solid(body: PrincipalInertia, thinnest: float, spin: Array | None = None) -> Solid:
    """Return the simplest solid of the body's moments, nowhere thinner than ``thinnest`` [m].

    Two equal moments fit a square bar as well as a cylinder. The solid is a box unless it is a thin disc, a thin rod,
    or turns about its axis of symmetry: ``spin`` (3,) is the axis of its joint through its centre, if any.
    """
    s = body.spread
    scale = s.max()
    if scale < (thinnest / 4) ** 2:  # all mass near one point
        return Solid("sphere", (thinnest,), np.eye(3))
    if np.ptp(s) < _ALIKE * scale:
        return Solid("sphere", (float(max(np.sqrt(5 * s.mean()), thinnest)),), np.eye(3))
    for i, j, k in _AXES:
        if abs(s[i] - s[j]) >= _ALIKE * scale:
            continue
        # ∫ x² dm = m r²/4 across, m l²/12 along; z of the shape is axis k
        radius, length = np.sqrt(2 * (s[i] + s[j])), np.sqrt(12 * s[k])
        spins = spin is not None and abs(float(body.axes[:, k] @ spin)) > 0.99
        if spins or length < _DISC * radius or radius <= thinnest:
            size = (float(max(radius, thinnest)), float(max(length, thinnest)))
            return Solid("cylinder", size, body.axes[:, [i, j, k]])
    size = np.maximum(np.sqrt(12 * s), 2 * thinnest)
    return Solid("box", (float(size[0]), float(size[1]), float(size[2])), _in_body_axes(body.axes, s, scale))


def solid_through(body: PrincipalInertia, points: Array, thinnest: float, spin: Array | None = None) -> Solid | None:
    """Return the solid of the body's moments whose surface passes through the points (k, 4): positions and radii [m].

    Of several fitting solids ``equivalent_solid`` comes first. None if no solid fits within a twentieth of its extent.
    """
    s, usual = body.spread, equivalent_solid(body, thinnest, spin)
    box = Solid("box", tuple(float(x) for x in np.sqrt(12 * s)), _in_body_axes(body.axes, s, s.max()))
    found = [usual, box, Solid("sphere", (float(np.sqrt(5 * s.mean())),), np.eye(3))]
    for i, j, k in _AXES:
        size = (float(np.sqrt(2 * (s[i] + s[j]))), float(np.sqrt(12 * s[k])))
        found.append(Solid("cylinder", size, body.axes[:, [i, j, k]]))
    extent = max(float(np.sqrt(12 * s.max())), thinnest)
    misses = [round(_largest_gap(solid, body.com, points) / extent, 3) for solid in found]
    return found[int(np.argmin(misses))] if min(misses) < 0.05 else None


def _largest_gap(solid: Solid, centre: Array, points: Array) -> float:
    """The largest distance [m] between the solid's surface and the balls' surfaces."""
    p = np.abs((points[:, :3] - centre) @ solid.axes)
    if solid.kind == "sphere":
        away = np.linalg.norm(p, axis=1) - solid.size[0]
    else:
        if solid.kind == "cylinder":
            p = np.stack([np.hypot(p[:, 0], p[:, 1]), p[:, 2]], axis=1)
            d = p - (solid.size[0], solid.size[1] / 2)
        else:
            d = p - np.array(solid.size) / 2
        away = np.linalg.norm(np.maximum(d, 0), axis=1) + np.minimum(d.max(axis=1), 0)
    return float(np.abs(away + points[:, 3]).max())


def _in_body_axes(axes: Array, s: Array, scale: float) -> Array:
    """The axes of a box; where two moments are equal, and so two axes arbitrary, those nearest to the body's own."""
    for i, j, k in _AXES:
        if abs(s[i] - s[j]) < _ALIKE * scale:
            n = axes[:, k]
            own = np.eye(3)[:, i] - n * n[i]
            if np.linalg.norm(own) < 0.5:
                return axes
            axes = axes.copy()
            axes[:, i] = own / np.linalg.norm(own)
            axes[:, j] = np.cross(n, axes[:, i])
            return axes
    return axes
