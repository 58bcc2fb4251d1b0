"""Laws of the distance of every pair of solids, over random, touching, parallel, deep and degenerate placements."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solids
from sixd.algorithms.distance.pairs import ITERATED, KINDS, PAIRS

pytestmark = pytest.mark.one_target
SOLIDS = [pair for pair in PAIRS if "height_field" not in pair]
ORDERED = [pair for pair in SOLIDS if KINDS.index(pair[0]) <= KINDS.index(pair[1])]
each_pair = pytest.mark.parametrize("kinds", ORDERED, ids="-".join)
COUNT = 60
# points of iterations lie inside of a solid by the tolerance of the iteration, 1e-14 of a square, times its size
SURFACE = 1e-9
SWAPPED = 1e-9  # iterations in other axes end elsewhere within their tolerance


def random_inputs(kinds, seed=0, spreads=(0.08, 0.2, 0.5)):
    """Arguments of a pair: deep, overlapping and apart."""
    rng = np.random.default_rng(seed)
    parts = [solids.inputs(kinds, COUNT, spread, rng) for spread in spreads]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def degenerate_inputs(kinds):
    """Arguments of a pair: coincident, parallel, touching, turned by right angles, of tiny and zero size."""
    a, b = (np.full(solids.shape_of_size(kind), 0.1) for kind in kinds)
    a, b = (solids.CLOUD * 0.1 if x.ndim == 2 else x for x in (a, b))
    rows = []
    turns = [
        np.eye(3),
        *Rotation.from_euler(
            "xyz", [[90, 0, 0], [0, 90, 0], [0, 0, 90], [45, 0, 0], [180, 0, 0]], degrees=True
        ).as_matrix(),
    ]
    # almost parallel
    turns += [Rotation.from_rotvec([angle, 0, 0]).as_matrix() for angle in (1e-15, 1e-12, 1e-8, 1e-5)]
    offsets = [
        np.zeros(3),
        *np.eye(3) * 0.1,
        *np.eye(3) * 0.2,
        np.full(3, 1e-300),
        np.full(3, 1e-16),
        np.array([0, 0, 0.1 + 1e-9]),
        np.array([0.3, 0, 0]),
        np.array([0, 0, -1.0]),
    ]
    for scale in (1, 1e-9, 0):
        for E in turns:
            rows += [(a, np.eye(3), np.zeros(3), b * scale, E, p) for p in offsets]
    return [np.array(column) for column in zip(*rows, strict=True)]


@each_pair
def test_results_are_consistent(kinds):
    """Normals are unit vectors, d = (point_b - point_a) · normal, and both points lie on their surfaces."""
    arguments = random_inputs(kinds)
    d, a, b, n = solids.distances(kinds, arguments)
    np.testing.assert_allclose((n * n).sum(-1), 1, atol=1e-13)
    np.testing.assert_allclose(((b - a) * n).sum(-1), d, atol=1e-13)
    assert solids.off_surface(kinds[0], *arguments[:3], a).max() < SURFACE
    assert solids.off_surface(kinds[1], *arguments[3:], b).max() < SURFACE
    # along the normal: nothing of the difference across it; what is left is that of an iteration's direction, 1e-7
    assert np.abs(b - a - n * d[:, None]).max() < 2e-6 * max(1, np.abs(d).max()) if "plane" not in kinds else True


@each_pair
def test_degenerate_placements_are_finite(kinds):
    """Of coincident centres, parallel axes, zero sizes the results are finite, with unit normals."""
    results = solids.distances(kinds, degenerate_inputs(kinds))
    assert all(np.isfinite(x).all() for x in results)
    d, a, b, n = results
    np.testing.assert_allclose((n * n).sum(-1), 1, atol=1e-13)
    np.testing.assert_allclose(((b - a) * n).sum(-1), d, atol=1e-13)


@each_pair
def test_swapped_arguments_agree(kinds):
    """Depths that are the least of several local ones may be another one from other axes: few, and never apart."""
    arguments = random_inputs(kinds)
    d = solids.distances(kinds, arguments)[0]
    e = solids.distances(kinds[::-1], [*arguments[3:], *arguments[:3]])[0]
    off = np.abs(d - e) > SWAPPED
    assert not off[d > 0].any()
    assert off.mean() <= (0.02 if kinds in ITERATED else 0)


@each_pair
def test_results_do_not_depend_on_the_frame(kinds):
    arguments = random_inputs(kinds)
    R, p = Rotation.from_rotvec([0.4, -1.2, 0.7]).as_matrix(), np.array([0.3, -0.2, 0.5])
    moved = [
        x @ R.T + p if x.shape[1:] == (3,) and k in (2, 5) else R @ x if k in (1, 4) else x
        for k, x in enumerate(arguments)
    ]
    d = solids.distances(kinds, arguments)[0]
    e = solids.distances(kinds, moved)[0]
    off = np.abs(d - e) > SWAPPED
    assert not off[d > 0].any()
    assert off.mean() <= (0.02 if kinds in ITERATED else 0)


@each_pair
def test_solids_touch_when_moved_by_their_distance(kinds):
    """The motion of b by -d along the normal leaves distance 0: no smaller one separates solids along it."""
    arguments = random_inputs(kinds)
    d, _, _, n = solids.distances(kinds, arguments)
    moved = [*arguments[:5], arguments[5] - n * d[:, None]]
    assert np.abs(solids.distances(kinds, moved)[0]).max() < 1e-8  # directions near contact are off by 1e-8


@pytest.mark.parametrize("kinds", [k for k in ORDERED if "plane" not in k], ids="-".join)
def test_no_direction_gives_a_larger_distance(kinds):
    """The signed distance is the largest separation -h(n) over all directions n: of 400 random ones and those of other
    descents none is larger. 2 % of deep overlaps may be another local one."""
    rng = np.random.default_rng(4)
    arguments = solids.inputs(kinds, 100, 0.15, rng)
    d, _, _, n = solids.distances(kinds, arguments)
    np.testing.assert_allclose(-solids.support_of_pair(kinds, arguments, n), d, atol=1e-9)
    best = np.full(len(d), -np.inf)
    for m in rng.normal(size=(400, 3)):
        m = np.broadcast_to(m / np.linalg.norm(m), n.shape)
        best = np.maximum(best, -solids.support_of_pair(kinds, arguments, m))
    worse = best > d + 1e-9
    assert not worse[d > 0].any()
    assert worse.mean() <= (0.02 if kinds in ITERATED and kinds != ("box", "box") else 0)


def test_spheres_and_capsules_in_closed_form():
    E, r = np.eye(3), PAIRS["sphere", "sphere"]([0.1], np.eye(3), np.zeros(3), [0.2], np.eye(3), np.array([0, 0, 1.0]))
    assert r.distance == pytest.approx(0.7)
    np.testing.assert_allclose(r.point_a, [0, 0, 0.1])
    np.testing.assert_allclose(r.normal, [0, 0, 1])
    # crossing axes: the normal is perpendicular to both
    turned = Rotation.from_euler("x", 90, degrees=True).as_matrix()
    crossed = PAIRS["capsule", "capsule"]([0.1, 1.0], E, np.zeros(3), [0.2, 1.0], turned, np.zeros(3))
    assert crossed.distance == pytest.approx(-0.3)
    np.testing.assert_allclose(np.abs(crossed.normal), [1, 0, 0], atol=1e-15)


def test_plain_numbers_give_what_graphs_give():
    """An iterated pair runs its loops on floats."""
    kinds = "cylinder", "box"
    arguments = random_inputs(kinds, 2)
    expected = solids.distances(kinds, arguments)
    for k in range(0, 3 * COUNT, 30):
        found = PAIRS[kinds](*(x[k] for x in arguments))
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y[k], atol=1e-6)  # points of curved solids, by the direction of an iteration
