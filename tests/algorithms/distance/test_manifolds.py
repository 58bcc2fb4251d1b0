"""Contact points: the deepest is the distance's, points lie between both surfaces, and known contacts."""

import numpy as np
import pytest

import solids
from sixd.algorithms.distance.clipping import UNUSED
from sixd.algorithms.distance.closed_forms import Nearest
from sixd.algorithms.distance.manifolds import CONTACTS
from sixd.algorithms.distance.pairs import PAIRS
from sixd.trace.program import trace

pytestmark = pytest.mark.one_target
SEVERAL = [
    ("capsule", "plane"),
    ("box", "plane"),
    ("cylinder", "plane"),
    ("cone", "plane"),
    ("hull", "plane"),
    ("capsule", "capsule"),
    ("capsule", "box"),
    ("box", "box"),
]
PLANE = (np.zeros(0), np.eye(3), np.zeros(3))


def contacts(kinds, arguments):
    nearest = solids.distances(kinds, arguments)
    shapes = {**solids.shapes_of(kinds), "d": (), "a": (3,), "b": (3,), "n": (3,)}
    program = trace(lambda *xs: tuple(CONTACTS[kinds](*xs[:6], Nearest(*xs[6:]))), shapes)
    return *program.evaluate(*arguments, *nearest), nearest


def manifold(kinds, a, b):
    arguments = (*a, *b)
    return CONTACTS[kinds](*arguments, PAIRS[kinds](*arguments))


@pytest.mark.parametrize(
    "kinds", [*SEVERAL, *(pair[::-1] for pair in SEVERAL), ("sphere", "box"), ("cylinder", "box")], ids="-".join
)
def test_the_deepest_point_is_that_of_the_distance(kinds):
    arguments = solids.inputs(kinds, 300, 0.15, np.random.default_rng(0))
    points, depths, n, nearest = contacts(kinds, arguments)
    assert np.isfinite(points).all()
    np.testing.assert_allclose(depths.max(axis=1), -nearest[0], atol=1e-9)
    np.testing.assert_array_equal(n, nearest[3])
    # each pair of surface points is half of its depth away: the planes through them do not cut deeper than the solids
    used = depths > UNUSED / 2
    assert used.any(axis=1).all()


@pytest.mark.parametrize(
    "pair",
    [
        ("box", (0.2, 0.2, 0.1)),
        ("cylinder", (0.1, 0.1)),
        ("cone", (0.1, 0.1)),
        ("capsule", (0.05, 0.2)),
        ("hull", solids.CLOUD),
    ],
    ids=lambda p: p[0],
)
def test_solids_on_a_plane(pair):
    """Used points of a solid that stands 1 mm in the plane lie between the plane and its surface."""
    kind, size = pair
    r = manifold((kind, "plane"), (np.array(size), np.eye(3), np.array([0, 0, 0.03])), PLANE)
    for x, depth in zip(r.points, r.depths, strict=True):
        if depth > UNUSED / 2:
            assert x[2] == pytest.approx(-depth / 2)


@pytest.mark.parametrize("offset", [(0.0, 0.0), (0.03, 0.02), (0.06, -0.07)])
def test_stacked_boxes_touch_in_the_corners_of_their_overlap(offset):
    size, E = np.full(3, 0.1), np.eye(3)
    r = manifold(("box", "box"), (size, E, np.zeros(3)), (size, E, np.array([*offset, 0.099])))
    np.testing.assert_allclose(r.depths, 0.001, atol=1e-12)
    np.testing.assert_allclose(r.normal, [0, 0, 1], atol=1e-12)
    x, y = offset
    expected = {
        (a, b) for a in (max(-0.05, x - 0.05), min(0.05, x + 0.05)) for b in (max(-0.05, y - 0.05), min(0.05, y + 0.05))
    }
    assert {(round(p[0], 9), round(p[1], 9)) for p in r.points} == {(round(a, 9), round(b, 9)) for a, b in expected}
    np.testing.assert_allclose(r.points[:, 2], 0.0495, atol=1e-12)


def test_parallel_capsules_touch_along_their_common_length():
    E = np.eye(3)
    r = manifold(
        ("capsule", "capsule"),
        (np.array([0.1, 1.0]), E, np.zeros(3)),
        (np.array([0.1, 1.0]), E, np.array([0.199, 0, 0.4])),
    )
    used = r.depths > UNUSED / 2
    np.testing.assert_allclose(r.depths[used], 0.001, atol=1e-12)
    assert sorted(r.points[used][:, 2]) == pytest.approx([-0.1, 0.2, 0.5])


def test_a_capsule_lies_on_a_box():
    """Its axis is clipped to the face."""
    turned = np.array([[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]])  # the axis along x
    r = manifold(
        ("capsule", "box"),
        (np.array([0.1, 2.0]), turned, np.array([0, 0, 0.149])),
        (np.array([1.0, 1.0, 0.1]), np.eye(3), np.zeros(3)),
    )
    used = r.depths > UNUSED / 2
    np.testing.assert_allclose(r.depths[used], 0.001, atol=1e-12)
    assert {-0.5, 0.5} <= {round(x, 9) for x in r.points[used][:, 0]}
