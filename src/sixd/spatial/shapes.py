"""Inertias of bodies of uniform density: simple shapes, and the solid inside a closed triangle mesh.

A shape has its centre of mass at the origin. It has dimensions [m] and exactly one of ``mass`` [kg] and ``density``
[kg/m³]; bodies of revolution have the letter of their axis. Move and combine them by ``.moved(pose)`` and ``+``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np

from sixd.errors import MissingPackageError, ModelError, ModelWarning, ShapeError
from sixd.file_limits import mesh_problem
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, ArrayLike, Scalar, is_number, is_sympy, is_zero, require_scalars

Volume = Callable[[Scalar], Scalar]


def _mass(shape: str, mass: Scalar | None, density: Scalar | None, volume: Volume, **dimensions: Scalar) -> Scalar:
    """The mass, or density times ``volume(pi)``; pi is exact if there are symbols."""
    for name, x in {**dimensions, "mass": mass, "density": density}.items():
        if x is not None or name in dimensions:
            require_scalars(f"{shape}: {name}", x)
    for name, x in dimensions.items():
        if is_number(x) and not (x >= 0 and np.isfinite(float(x))):
            raise ModelError(f"{shape}: {name} is {x}, expected a finite length of at least 0 m.")
    if (mass is None) == (density is None):
        got = "neither" if mass is None else "both"
        raise ModelError(
            f"{shape}: got {got} of mass and density, expected one. Give mass=… [kg] or density=… [kg/m³]."
        )
    _require_not_negative(shape, mass=mass, density=density)
    if mass is not None:
        return mass
    return density * volume(_pi(density, *dimensions.values()))


def _require_not_negative(shape: str, **amounts: Any) -> None:
    """Raise if a mass or a density is a negative number, or not finite."""
    for name, x in amounts.items():
        bad = not (x >= 0 and np.isfinite(float(x))) if is_number(x) else getattr(x, "is_negative", None) is True
        if x is not None and bad:
            raise ModelError(
                f"{shape}: {name} is {x}, expected a finite number of at least 0. A hole is a difference: "
                f"sixd.box(…) - sixd.cylinder(…)."
            )


def _pi(*values: Scalar) -> Scalar:
    if not any(is_sympy(x) for x in values):
        return np.pi
    import sympy

    return sympy.pi


def _about(axis: str, along: Scalar, across: Scalar) -> list[Scalar]:
    if axis not in ("x", "y", "z"):
        raise ModelError(f"shape: axis is {axis!r}, expected 'x', 'y' or 'z'. For others use .rotated(R).")
    return [along if letter == axis else across for letter in "xyz"]


def point(mass: Scalar, at: ArrayLike = (0.0, 0.0, 0.0)) -> Inertia:
    """Point mass at ``at`` (3,)."""
    _require_not_negative("point", mass=mass)
    return Inertia(mass, at)


def sphere(radius: Scalar, *, mass: Scalar | None = None, density: Scalar | None = None) -> Inertia:
    """Solid sphere: 2 m R²/5 about every axis."""
    m = _mass("sphere", mass, density, lambda pi: 4 * pi * radius**3 / 3, radius=radius)
    return Inertia(m, about_com=[2 * m * radius**2 / 5] * 3)


def ellipsoid(a: Scalar, b: Scalar, c: Scalar, *, mass: Scalar | None = None, density: Scalar | None = None) -> Inertia:
    """Solid ellipsoid with semi-axes a, b, c along x, y, z: m (b² + c²)/5, …"""
    m = _mass("ellipsoid", mass, density, lambda pi: 4 * pi * a * b * c / 3, a=a, b=b, c=c)
    return Inertia(m, about_com=[m * (b**2 + c**2) / 5, m * (a**2 + c**2) / 5, m * (a**2 + b**2) / 5])


def box(x: Scalar, y: Scalar, z: Scalar, *, mass: Scalar | None = None, density: Scalar | None = None) -> Inertia:
    """Solid box with edges x, y, z: m (y² + z²)/12, …"""
    m = _mass("box", mass, density, lambda pi: x * y * z, x=x, y=y, z=z)
    return Inertia(m, about_com=[m * (y**2 + z**2) / 12, m * (x**2 + z**2) / 12, m * (x**2 + y**2) / 12])


def cylinder(
    radius: Scalar, length: Scalar, *, mass: Scalar | None = None, density: Scalar | None = None, axis: str = "z"
) -> Inertia:
    """Solid cylinder: m R²/2 along its axis, m (3R² + L²)/12 across."""
    m = _mass("cylinder", mass, density, lambda pi: pi * radius**2 * length, radius=radius, length=length)
    return Inertia(m, about_com=_about(axis, m * radius**2 / 2, m * (3 * radius**2 + length**2) / 12))


def tube(
    inner_radius: Scalar,
    outer_radius: Scalar,
    length: Scalar,
    *,
    mass: Scalar | None = None,
    density: Scalar | None = None,
    axis: str = "z",
) -> Inertia:
    """Hollow cylinder between two radii: m (r² + R²)/2 along its axis, half of it + m L²/12 across."""
    if is_number(inner_radius) and is_number(outer_radius) and inner_radius > outer_radius:
        raise ModelError(f"tube: inner_radius {inner_radius} is larger than outer_radius {outer_radius}.")
    sizes = {"inner_radius": inner_radius, "outer_radius": outer_radius, "length": length}
    m = _mass("tube", mass, density, lambda pi: pi * (outer_radius**2 - inner_radius**2) * length, **sizes)
    along = m * (inner_radius**2 + outer_radius**2) / 2
    return Inertia(m, about_com=_about(axis, along, along / 2 + m * length**2 / 12))


def cone(
    radius: Scalar, height: Scalar, *, mass: Scalar | None = None, density: Scalar | None = None, axis: str = "z"
) -> Inertia:
    """Solid right cone: 3 m R²/10 along its axis, 3 m (4R² + h²)/80 across.

    The centre of mass is at the origin: the base lies at -h/4 of the axis, the tip at 3h/4.
    """
    m = _mass("cone", mass, density, lambda pi: pi * radius**2 * height / 3, radius=radius, height=height)
    return Inertia(m, about_com=_about(axis, 3 * m * radius**2 / 10, 3 * m * (4 * radius**2 + height**2) / 80))


def capsule(
    radius: Scalar, length: Scalar, *, mass: Scalar | None = None, density: Scalar | None = None, axis: str = "z"
) -> Inertia:
    """Cylinder of ``length`` with a half sphere on each end (total length L + 2R)."""
    height = length + 4 * radius / 3  # of a cylinder of the same volume
    m = _mass("capsule", mass, density, lambda pi: pi * radius**2 * height, radius=radius, length=length)
    if is_zero(height):
        return point(m)
    m_cyl = m * length / height
    m_ball = m - m_cyl
    along = m_cyl * radius**2 / 2 + 2 * m_ball * radius**2 / 5
    # half spheres: 83/320 m R² about their own centre, which lies 3R/8 beyond the flat face
    across_ball = m_ball * (83 * radius**2 / 320 + (length / 2 + 3 * radius / 8) ** 2)
    across = m_cyl * (3 * radius**2 + length**2) / 12 + across_ball
    return Inertia(m, about_com=_about(axis, along, across))


def rod(length: Scalar, *, mass: Scalar, axis: str = "z") -> Inertia:
    """Thin rod: 0 along its axis, m L²/12 across."""
    m = _mass("rod", mass, None, lambda pi: 0, length=length)
    return Inertia(m, about_com=_about(axis, 0 * m, m * length**2 / 12))


# triangle meshes --------------------------------------------------------------------------------


def mesh(
    vertices: Any, triangles: ArrayLike | None = None, *, mass: float | None = None, density: float | None = None
) -> Inertia:
    """Uniform solid bounded by triangles, in the mesh's own frame.

    ``vertices`` (n, 3) [m] and ``triangles`` (m, 3) vertex numbers, counter-clockwise from outside; or,
    alone, an object with ``.vertices`` and ``.faces`` (a trimesh) or the path of a mesh file (by trimesh:
    ``pip install trimesh``). A mesh that is not closed has no inside: the result is then unreliable, and
    a ``ModelWarning`` is issued.
    """
    P, T = _surface(vertices, triangles)
    if (mass is None) == (density is None):
        raise ModelError("mesh: give exactly one of mass=… [kg] and density=… [kg/m³].")
    _require_not_negative("mesh", mass=mass, density=density)
    if not is_closed(T):
        warnings.warn("mesh: the surface is not closed, so its volume is unreliable.", ModelWarning, stacklevel=2)

    # signed tetrahedra from the mean of the vertices (less cancellation than from a far origin)
    middle = P.mean(axis=0)
    A, B, C = (P[T[:, k]] - middle for k in range(3))
    volumes = np.einsum("ij,ij->i", A, np.cross(B, C)) / 6
    volume = volumes.sum()
    extent = np.ptp(P, axis=0).max()
    if not abs(volume) > 1e-14 * extent**3:
        raise ModelError("mesh: the volume is zero, expected a solid. Is the surface flat or open?")
    total = A + B + C
    first = (volumes[:, None] * total).sum(axis=0) / 4
    second = sum(np.einsum("i,ij,ik->jk", volumes, V, V) for V in (A, B, C, total)) / 20
    rho = density if mass is None else mass / abs(volume)
    assert rho is not None
    rho = rho * np.sign(volume)  # triangles seen from inside give a negative volume
    about = np.trace(second) * np.eye(3) - second
    return Inertia.from_moments(rho * volume, rho * first, rho * about).translated(middle)


def _surface(vertices: Any, triangles: ArrayLike | None) -> tuple[Array, Array]:
    """Vertices (n, 3) and triangles (m, 3) of the arguments of :func:`mesh`; raise if they are invalid."""
    if isinstance(vertices, (str, PathLike)):
        vertices = _read(vertices)
    if triangles is None:
        if not hasattr(vertices, "faces"):
            raise ShapeError("mesh: triangles are missing. Give (m, 3) vertex numbers, or a trimesh, or a path.")
        vertices, triangles = vertices.vertices, vertices.faces
    P, T = np.asarray(vertices, dtype=float), np.asarray(triangles)
    if T.dtype.kind == "f" and (np.floor(T) == T).all():
        T = T.astype(int)
    if T.dtype.kind not in "iu":
        raise ShapeError(f"mesh: triangles hold {T.dtype} values, expected whole vertex numbers.")
    if P.ndim != 2 or P.shape[1] != 3 or T.ndim != 2 or T.shape[1] != 3 or not len(T):
        raise ShapeError(f"mesh: vertices have shape {P.shape}, triangles {T.shape}; expected (n, 3) and (m, 3).")
    if T.min() < 0 or T.max() >= len(P):
        raise ShapeError(f"mesh: triangles name vertices {T.min()} to {T.max()}, expected 0 to {len(P) - 1}.")
    if not np.isfinite(P).all():
        raise ModelError("mesh: vertices contain NaN or infinity, expected finite coordinates.")
    return P, T


def is_closed(triangles: Array) -> bool:
    """Whether every directed edge of triangles (m, 3), indices of vertices, occurs as often as its reverse."""
    start, end = triangles.ravel().astype(np.int64), np.roll(triangles, -1, axis=1).ravel().astype(np.int64)
    count = int(triangles.max(initial=0)) + 1
    return np.array_equal(np.sort(start * count + end), np.sort(end * count + start))


def _read(path: str | PathLike[str]) -> Any:
    try:
        import trimesh
    except ImportError:
        raise MissingPackageError(
            "mesh: reading a mesh file needs trimesh, which is not installed. Run: pip install trimesh"
        ) from None
    try:
        problem = mesh_problem(path)
        if problem is not None:
            raise ValueError(problem)
        read: Any = trimesh.load(str(path), force="mesh")
    except Exception as error:
        raise ModelError(f"mesh: cannot read {str(path)!r}: {error}.") from error
    read.merge_vertices()
    return read
