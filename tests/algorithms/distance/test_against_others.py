"""Distances next to those of independent programs: coal, and a conic program of the points of two solids."""

import clarabel
import numpy as np
import pytest
from scipy import sparse
from scipy.spatial import ConvexHull

import solids
from sixd.algorithms.distance.pairs import ITERATED, PAIRS

coal = pytest.importorskip("coal")
pytestmark = pytest.mark.one_target

PRIMITIVES = ("sphere", "capsule", "box")
PRIMITIVE_PAIRS = [pair for pair in PAIRS if {*pair} <= {*PRIMITIVES}] + [
    ("sphere", "cylinder"),
    ("cylinder", "sphere"),
]


def coal_shape(kind, size):
    cls = {"sphere": coal.Sphere, "capsule": coal.Capsule, "box": coal.Box, "cylinder": coal.Cylinder}[kind]
    return cls(*map(float, size))


def coal_distances(kinds, arguments):
    request = coal.DistanceRequest(True)
    request.gjk_tolerance, request.gjk_max_iterations, request.enable_signed_distance = 1e-13, 500, True
    size_a, E_a, p_a, size_b, E_b, p_b = arguments
    return np.array([
        coal.distance(
            coal_shape(kinds[0], size_a[k]), coal.Transform3s(E_a[k], p_a[k]),
            coal_shape(kinds[1], size_b[k]), coal.Transform3s(E_b[k], p_b[k]), request, coal.DistanceResult(),
        )
        for k in range(len(p_a))
    ])  # fmt: skip


def against_coal(kinds, count, seed):
    """The largest differences from coal where the cores are apart, and where they overlap.

    Of a sphere whose centre is inside of a cylinder, coal's depth is not the least (by up to 0.17 m here).
    """
    rng = np.random.default_rng(seed)
    apart, overlap = [], [np.zeros(0)]
    for spread in (0.1, 0.3):
        arguments = solids.inputs(kinds, count, spread, rng)
        d = solids.distances(kinds, arguments)[0]
        off = np.abs(d - coal_distances(kinds, arguments))
        radius = sum(arguments[3 * k][:, 0] for k, kind in enumerate(kinds) if kind in ("sphere", "capsule"))
        apart.append(off[d + radius > 0])
        overlap.append(off[d + radius <= 0] if "cylinder" not in kinds else np.zeros(0))
    return np.concatenate(apart).max(), np.concatenate(overlap).max(initial=0)


@pytest.mark.parametrize("kinds", PRIMITIVE_PAIRS, ids="-".join)
def test_primitives_equal_coal(kinds):
    apart, overlap = against_coal(kinds, 300, 0)
    assert apart < 1e-10  # coal's GJK of boxes: 2e-11
    assert overlap < 1e-6  # coal's EPA, whose results with swapped arguments differ by 6e-8


@pytest.mark.long
@pytest.mark.parametrize("kinds", PRIMITIVE_PAIRS, ids="-".join)
def test_primitives_equal_coal_on_many_placements(kinds):
    """11 pairs, together 1e6 placements."""
    apart, overlap = against_coal(kinds, 45_000, 1)
    assert apart < 1e-9
    assert overlap < 1e-5  # coal's EPA


def constraints(kind, size, E, p, at, n):
    """Rows (A, b, cone) of s = b - A x in the cones of Clarabel that keep point ``at`` of x (n,) in a solid's core."""
    M = np.zeros((3, n))
    M[:, at : at + 3] = E.T  # local coordinates y = M x - E.T p
    y0 = -E.T @ p

    def linear(c, limit):  # c · y <= limit
        return c[None] @ M, np.array([limit - c @ y0]), clarabel.NonnegativeConeT(1)

    def ball(B, radius_row, radius):  # ‖B y‖ <= radius + radius_row · y
        A = -np.concatenate([radius_row[None] @ M, B @ M])
        return A, np.concatenate([[radius + radius_row @ y0], B @ y0]), clarabel.SecondOrderConeT(1 + len(B))

    x, y, z = np.eye(3)
    none = np.zeros(3)
    if kind == "sphere":
        return [ball(np.eye(3), none, 0.0)]
    if kind == "capsule":
        return [ball(np.array([x, y]), none, 0.0), linear(z, size[1] / 2), linear(-z, size[1] / 2)]
    if kind == "box":
        return [linear(s * e, h / 2) for e, h in zip(np.eye(3), size, strict=True) for s in (1, -1)]
    if kind == "cylinder":
        return [ball(np.array([x, y]), none, size[0]), linear(z, size[1] / 2), linear(-z, size[1] / 2)]
    if kind == "cone":
        k = size[0] / size[1]
        return [ball(np.array([x, y]), -k * z, k * 0.75 * size[1]), linear(-z, size[1] / 4)]
    if kind == "ellipsoid":
        return [ball(np.diag(1 / size), none, 1.0)]
    return [linear(q[:3], -q[3]) for q in ConvexHull(size).equations]


def conic_distance(kinds, size_a, E_a, p_a, size_b, E_b, p_b):
    """The least t with ‖x_a - x_b‖ <= t, over x = (t, x_a, x_b)."""
    n = 7
    rows = [*constraints(kinds[0], size_a, E_a, p_a, 1, n), *constraints(kinds[1], size_b, E_b, p_b, 4, n)]
    A = np.zeros((4, n))
    A[0, 0], A[1:, 1:4], A[1:, 4:] = -1, -np.eye(3), np.eye(3)
    rows.append((A, np.zeros(4), clarabel.SecondOrderConeT(4)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    q = np.zeros(n)
    q[0] = 1
    whole, b = sparse.csc_matrix(np.concatenate([r[0] for r in rows])), np.concatenate([r[1] for r in rows])
    solved = clarabel.DefaultSolver(sparse.csc_matrix((n, n)), q, whole, b, [r[2] for r in rows], settings).solve()
    radius = sum(s[0] for k, s in zip(kinds, (size_a, size_b), strict=True) if k in ("sphere", "capsule"))
    return solved.x[0] - radius


@pytest.mark.parametrize(
    "kinds", [*ITERATED, *(("sphere", k) for k in ("cylinder", "cone", "ellipsoid"))], ids="-".join
)
def test_distances_apart_equal_a_conic_program(kinds):
    """Cores that are apart; both are accurate to some 1e-12."""
    arguments = solids.inputs(kinds, 40, 0.4, np.random.default_rng(5))
    d = solids.distances(kinds, arguments)[0]
    e = np.array([conic_distance(kinds, *(x[k] for x in arguments)) for k in range(len(d))])
    radius = sum(arguments[3 * i][:, 0] for i, k in enumerate(kinds) if k in ("sphere", "capsule"))
    apart = d + radius > 1e-3
    assert apart.sum() > 10
    np.testing.assert_allclose(d[apart], e[apart], rtol=0, atol=1e-10)


@pytest.mark.parametrize("kinds", [("hull", "hull"), ("box", "hull")], ids="-".join)
def test_depths_of_polytopes_are_those_of_their_difference(kinds):
    """Next to all faces of the difference of both solids: never less than the least depth, and rarely more."""
    arguments = solids.inputs(kinds, 1500, 0.07, np.random.default_rng(11))
    d = solids.distances(kinds, arguments)[0]
    deep = np.flatnonzero(d < -5e-3)
    cube = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
    exact = []
    for k in deep:
        a, b = (
            (size[k] if kind == "hull" else cube * size[k]) @ E[k].T + p[k]
            for kind, size, E, p in zip(kinds, *(arguments[i::3] for i in range(3)), strict=True)
        )
        exact.append(ConvexHull((a[:, None] - b[None]).reshape(-1, 3)).equations[:, 3].max())
    d, exact = d[deep], np.array(exact)
    assert len(deep) > 400
    assert (d - exact).max() < 1e-12
    assert (exact - d > 1e-6).mean() < 0.04  # a local minimum: docs/shapes_and_distances.md has the shares
    assert (d / exact).max() < 1.15
