"""Convex hulls: exact, simplified with the stated deviation, flat ones, of files; surfaces of height fields."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial import ConvexHull

import sixd
from peers import trimesh
from sixd.geometry.hulls import convex_hull, height_mesh, hull_mesh
from sixd.spatial.shapes import is_closed

pytestmark = pytest.mark.one_target

CORNERS = np.array([(x, y, z) for x in (0, 1) for y in (0, 2) for z in (0, 3)], dtype=float)
# two boxes that form an L: its hull has 7/6 of its volume
L_PROFILE = np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], dtype=float)


def sphere(n, rng):
    points = rng.normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def prism(profile, height=1.0):
    """The closed surface of a prism on a star-shaped polygon."""
    n = len(profile)
    points = np.concatenate([np.column_stack([profile, np.full(n, z)]) for z in (0, height)])
    bottom = [(0, k + 1, k) for k in range(1, n - 1)]
    top = [(n, n + k, n + k + 1) for k in range(1, n - 1)]
    sides = [t for k in range(n) for j in [(k + 1) % n] for t in ((k, j, n + j), (k, n + j, n + k))]
    return points, np.array([*bottom, *top, *sides])


def mesh(points, triangles=None, **options):
    return sixd.Shape("mesh", vertices=points, triangles=triangles, **options)


def outside(hull, points):
    """The largest height of points above the planes of a hull's triangles."""
    a, b, c = (hull.vertices[hull.triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return (np.einsum("mk,nk->mn", normals, points) - (normals * a).sum(axis=1)[:, None]).max()


@pytest.mark.parametrize("most", [64, None, 8])
def test_a_box_is_exact(most, rng):
    """Inner points are left out; triangles are seen from outside, the surface is closed."""
    points = np.concatenate([rng.uniform(0.1, 0.9, (50, 3)), CORNERS])
    hull = convex_hull(mesh(points), most=most)
    assert_allclose(hull.vertices, CORNERS)
    assert (hull.deviation, len(hull.triangles)) == (0, 12)
    assert is_closed(hull.triangles)
    assert outside(hull, points) < 1e-14
    assert np.isnan(hull.excess)


def test_scale_mirrors():
    hull = convex_hull(sixd.Shape("hull", vertices=CORNERS, scale=(-1, 1, 2)))
    assert_allclose(hull.vertices.min(axis=0), [-1, 0, 0])
    assert outside(hull, hull.vertices) < 1e-14


@pytest.mark.parametrize("most", [4, 16, 64, 200])
def test_simplified_hulls_state_their_deviation(most, rng):
    """It is the largest distance of the exact hull's vertices, computed here by minimization, and shrinks with n."""
    points = sphere(1000, rng) * (1, 0.5, 0.2)
    hull = convex_hull(mesh(points), most=most)
    assert len(hull.vertices) == most
    assert is_closed(hull.triangles)
    assert {tuple(p) for p in hull.vertices} <= {tuple(p) for p in points}
    distances = [_distance(hull, p) for p in points]
    assert_allclose(hull.deviation, max(distances), rtol=1e-6)  # that of the iteration
    assert hull.deviation < {4: 0.6, 16: 0.15, 64: 0.04, 200: 0.012}[most]


def _distance(hull, point):
    """The distance of a point from a polytope: by Wolfe's least-norm point, from the vertices alone."""
    from scipy.optimize import nnls

    A = np.vstack([1e4 * np.ones(len(hull.vertices)), (hull.vertices - point).T])
    weights, _ = nnls(A, np.array([1e4, 0, 0, 0]))
    return np.linalg.norm(weights @ hull.vertices / weights.sum() - point)


@pytest.mark.long
def test_many_vertices(rng):
    """A hundred thousand, all of them on the hull, or nearly all inside of it."""
    points = sphere(100_000, rng)
    hull = convex_hull(mesh(points))
    assert len(hull.vertices) == 64
    assert 0.03 < hull.deviation < 0.08
    inner = np.concatenate([0.5 * sphere(100_000, rng), 4 * (CORNERS - CORNERS.mean(axis=0))])
    assert convex_hull(mesh(inner)).deviation == 0


def test_excess_of_volume():
    """Of closed meshes, convex or not; rotated triangles have no volume."""
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], dtype=float)
    assert abs(convex_hull(mesh(*prism(square))).excess) < 1e-12
    assert_allclose(convex_hull(mesh(*prism(L_PROFILE))).excess, 3.5 / 3 - 1)
    points, triangles = prism(L_PROFILE)
    assert np.isnan(convex_hull(mesh(points, triangles[1:])).excess)


@pytest.mark.parametrize(
    ("points", "count", "faces"),
    [(CORNERS[:4], 4, 4), (CORNERS[:2], 2, 0), (CORNERS[:1], 1, 0), (np.repeat(CORNERS[:1], 5, axis=0), 1, 0), ([(k, 2 * k, 0) for k in range(9)], 2, 0)],
)  # fmt: skip
def test_flat_hulls(points, count, faces):
    """A polygon has two sides, a segment two ends, a point itself."""
    hull = convex_hull(mesh(np.asarray(points, dtype=float)))
    assert (len(hull.vertices), len(hull.triangles), hull.deviation) == (count, faces, 0)


def test_a_tilted_thin_plate_is_not_flat():
    """Of a micrometre on a metre, which single precision can tell."""
    R = sixd.placement(rpy=(0.3, 0.4, 0.5))[:3, :3]
    hull = convex_hull(mesh((CORNERS * (1, 1, 1e-6)) @ R.T))
    assert len(hull.vertices) == 8
    assert len(convex_hull(mesh((CORNERS * (1, 1, 1e-12)) @ R.T)).vertices) == 4


def test_files_are_cached(tmp_path):
    """By path and time of change; the error of a missing one names it."""
    file = tmp_path / "box.stl"
    trimesh.creation.box((1, 2, 3)).export(file)
    shape = sixd.Shape("mesh", file=str(file), scale=(2, 1, 1))
    hull = convex_hull(shape)
    assert_allclose(np.ptp(hull.vertices, axis=0), [2, 2, 3])
    assert abs(hull.excess) < 1e-6  # vertices are welded within a millionth of the size
    assert convex_hull(shape) is hull
    trimesh.creation.box((1, 1, 1)).export(file)
    os.utime(file, ns=(0, 1))
    assert_allclose(np.ptp(convex_hull(shape).vertices, axis=0), [2, 1, 1])
    with pytest.raises(sixd.FileError, match=r"convex_hull: the mesh '.*gone\.stl' is not found"):
        convex_hull(sixd.Shape("mesh", file=str(tmp_path / "gone.stl")))


def test_bad_arguments():
    with pytest.raises(sixd.ModelError, match="the shape is a box, expected a mesh or hull"):
        convex_hull(sixd.Shape("box", (1, 1, 1)))
    with pytest.raises(sixd.ScalarTypeError, match="most is 3, expected a whole number of at least 4"):
        convex_hull(mesh(CORNERS), most=3)
    with pytest.raises(sixd.ModelError, match="the mesh has no vertices, expected at least one"):
        convex_hull(mesh(np.zeros((0, 3))))


def test_surfaces(rng):
    """A hull's own, as qhull has it; a height field's with its corners in their places, seen from above."""
    points = rng.normal(size=(100, 3))
    surface = hull_mesh(sixd.Shape("hull", vertices=points))
    assert len(surface.triangles) == len(ConvexHull(points).simplices)
    field = height_mesh(sixd.Shape("height_field", (4, 2, 1), heights=[[0, 1, 2], [3, 4, 5]]))
    assert_allclose(field.vertices[[0, 2, 3]], [(-2, -1, 0), (2, -1, 2), (-2, 1, 3)])
    a, b, c = (field.vertices[field.triangles[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()
    assert len(field.triangles) == 4
