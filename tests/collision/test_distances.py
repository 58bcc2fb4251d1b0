"""Distances of a model's solids: the functions of pairs on its poses, derivatives, bounds, batches, and bad input."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from collision_scenes import SOLIDS
from sixd.algorithms.distance.manifolds import CONTACTS
from sixd.algorithms.distance.pairs import PAIRS

SHAPES = {**SOLIDS, "plane": sixd.Shape("plane")}


def pose(rng, spread=0.4):
    return sixd.placement(rng.uniform(-spread, spread, 3), rpy=rng.uniform(-3, 3, 3))


@pytest.fixture(scope="module")
def arm():
    """Seven joints, each link with a solid of its own kind; a plane and three solids in the world."""
    rng = np.random.default_rng(3)
    builder = sixd.ModelBuilder("arm of solids")
    parent = "world"
    for k, kind in enumerate(kind for kind in SHAPES if kind != "plane"):
        joint = sixd.Revolute("xyz"[k % 3]) if k % 2 else sixd.Prismatic("zxy"[k % 3])
        builder.add_body(
            f"link {kind}", parent, joint, placement=sixd.placement((0, 0.1, 0.3)), inertia=sixd.sphere(0.1, mass=1.0),
            collisions=[(SHAPES[kind], pose(rng, 0.1))],
        )  # fmt: skip
        parent = f"link {kind}"
    model = builder.build()
    for kind in ("box", "cylinder", "hull"):
        model = model.with_collision("world", SHAPES[kind], pose(rng, 1.0), name=f"obstacle {kind}")
    return model.with_collision("world", SHAPES["plane"], sixd.placement((0, 0, -1)), name="floor")


@pytest.fixture(scope="module")
def states():
    return np.random.default_rng(5).uniform(-1, 1, (23, 7))


def arguments(model, q, name):
    """The kind of a shape, and its size and placement in the world."""
    shape = next(c for c in model.collisions if c.name == name)
    T = np.eye(4) if shape.body == 0 else np.asarray(sixd.pose(model, q, model.body_names[shape.body - 1]))
    T = T @ shape.pose
    size = np.asarray(shape.shape.vertices if shape.shape.kind == "hull" else shape.shape.size, dtype=float)
    return shape.shape.kind, (size, T[:3, :3], T[:3, 3])


def test_functions_of_pairs(arm, states):
    """The compiled distances and contact points of all kinds of pairs are those of the functions on poses."""
    found, points = sixd.distance(arm, states[:3]), sixd.contact_points(arm, states[:3])
    assert len(found.pairs) > 40
    for row, q in enumerate(states[:3]):
        for k, (a, b) in enumerate(found.pairs):
            (kind_a, one), (kind_b, two) = arguments(arm, q, a), arguments(arm, q, b)
            nearest = PAIRS[kind_a, kind_b](*one, *two)
            # iterations stop at 1e-14 of squares: at edges points differ by the root of that
            assert_allclose(found.distance[row, k], nearest.distance, rtol=0, atol=1e-9)
            if found.distance[row, k] > 1e-3:
                assert_allclose(found.normal[row, k], nearest.normal, rtol=0, atol=1e-6)
            manifold = CONTACTS[kind_a, kind_b](*one, *two, nearest)
            used = manifold.depths > -1e9
            assert_array_equal(np.isfinite(points.depths[row, k]), used)
            assert_allclose(points.depths[row, k][used].max(), manifold.depths[used].max(), rtol=0, atol=1e-9)


def test_laws_of_pairs(arm, states):
    """d = (b - a)·n with unit normals; the least of all; whether any is below a margin."""
    found = sixd.distance(arm, states)
    along = ((found.point_b - found.point_a) * found.normal).sum(axis=-1)
    assert_allclose(along, found.distance, rtol=0, atol=1e-9)
    assert_allclose(np.linalg.norm(found.normal, axis=-1), 1, rtol=0, atol=1e-12)
    least = found.distance.min(axis=-1)
    assert_allclose(sixd.min_distance(arm, states), least, rtol=0, atol=1e-15)
    assert (found.distance < 0).any()
    assert (found.distance > 0).any()
    for margin in (0.0, 0.05, -0.02):
        assert_array_equal(sixd.in_collision(arm, states, margin=margin), least < margin)
    assert found.nearest() == found.pairs[int(found.distance.min(axis=0).argmin())]


def test_derivatives(arm, states):
    """Differences, away from kinks: where the difference itself changes with its step, another pair of features is
    nearest on one side."""
    found, A = sixd.distance_derivatives(arm, states)
    assert_array_equal(found.distance, sixd.distance(arm, states).distance)

    def differences(h):
        sides = [sixd.distance(arm, states[:, None] + s * h * np.eye(7)).distance for s in (1, -1)]
        return np.swapaxes((sides[0] - sides[1]) / (2 * h), 1, 2)

    rough, fine = differences(1e-5), differences(1e-6)
    smooth = np.abs(rough - fine).max(axis=-1) < 1e-6
    assert smooth.mean() > 0.9
    # of an iterated distance: 1e-12 m over twice the step
    assert np.abs(A - fine).max(axis=-1)[smooth].max() < 2e-6


def test_batches(arm, states):
    """Results do not depend on neighbours; shapes of batches; none at all."""
    whole = sixd.distance(arm, states)
    for k in (0, 9, 22):
        assert_array_equal(sixd.distance(arm, states[k]).distance, whole.distance[k])
        assert sixd.in_collision(arm, states[k]) == sixd.in_collision(arm, states)[k]
    assert sixd.distance(arm, states.reshape(23, 1, 7)).normal.shape == (23, 1, len(whole.pairs), 3)
    assert sixd.distance(arm, states[:0]).distance.shape == (0, len(whole.pairs))
    assert sixd.min_distance(arm, states[:0]).shape == (0,)
    single = sixd.distance(arm, states.astype(np.float32))
    assert single.distance.dtype == np.float32
    assert_allclose(single.distance, whole.distance, rtol=0, atol=2e-4)


def test_placements_are_data(arm, states):
    """A placement that is passed is the same as one in the model, for all states or for each."""
    rng = np.random.default_rng(1)
    moved = [pose(rng, 0.8) for _ in range(3)]
    for name, body in (("obstacle hull", "world"), ("link box", "link box")):
        shape = next(c for c in arm.collisions if c.name == name).shape
        rest = dataclasses.replace(arm, collisions=tuple(c for c in arm.collisions if c.name != name))
        own = sixd.distance(arm, states[:3], placements={name: np.array(moved)})
        for k, T in enumerate(moved):
            changed = rest.with_collision(body, shape, T, name=name)
            expected = sixd.distance(changed, states[k], own.pairs)
            assert_allclose(own.distance[k], expected.distance, rtol=0, atol=1e-9)
            same = sixd.distance(arm, states[k], placements={name: T})
            assert_allclose(same.distance, own.distance[k], rtol=0, atol=1e-12)


def test_random_scenes(rng):
    """Thrown at random: no NaN, and what is moved by its depth along the normal is apart."""
    ball = sixd.Shape("sphere", (0.1,))
    for _ in range(4):
        builder = sixd.ModelBuilder("two")
        for name in ("a", "b"):
            kind = str(rng.choice([k for k in SHAPES if k != "plane"]))
            builder.add_body(name, "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=1.0), collisions=[SHAPES[kind]])
        model = builder.build().with_collision("world", ball, name="ball")
        q = np.tile(model.neutral(), (50, 1))
        for start in (0, 7):
            turn = rng.normal(size=(50, 4))
            q[:, start : start + 4] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
            q[:, start + 4 : start + 7] = rng.uniform(-0.25, 0.25, (50, 3))
        found = sixd.distance(model, q, [("a", "b")])
        assert np.isfinite(found.distance).all()
        assert np.isfinite(found.point_a).all()
        deep = found.distance[:, 0] < 0
        q[:, 11:14] += np.where(deep, -found.distance[:, 0] + 1e-6, 0)[:, None] * found.normal[:, 0]
        assert (sixd.distance(model, q, [("a", "b")]).distance[:, 0][deep] > 0).all()


def test_bad_input(arm, states):
    """Errors name what is wrong."""
    with pytest.raises(sixd.ModelError, match="no collision shapes, expected some"):
        sixd.distance(sixd.zoo.pendulum(), [0.0])
    with pytest.raises(sixd.ShapeError, match="distance: q has shape"):
        sixd.distance(arm, np.zeros(3))
    with pytest.raises(sixd.SixdError, match="link boxx"):
        sixd.distance(arm, states, [("link boxx", "floor")])
    with pytest.raises(sixd.SixdError, match="placements.*Did you mean 'obstacle box'"):
        sixd.distance(arm, states, placements={"obstacle boxx": np.eye(4)})
    with pytest.raises(sixd.ShapeError, match="no pose"):
        sixd.distance(arm, states, placements={"obstacle box": np.ones((4, 4))})
    with pytest.raises(sixd.ScalarTypeError, match="margin is"):
        sixd.in_collision(arm, states, margin=np.inf)
    q = states.copy()
    q[4, 2] = np.nan
    found = sixd.distance(arm, q)
    assert_array_equal(found.distance[5], sixd.distance(arm, states).distance[5])
    assert np.isnan(found.distance[4]).all()
    assert np.isnan(sixd.min_distance(arm, q)[4])
    assert sixd.in_collision(arm, q)[4]  # what is not known is not free
    assert sixd.in_collision(arm, q, margin=-10.0).sum() == 1
    with pytest.raises(sixd.ShapeError, match="no pose"):
        sixd.distance(arm, states, placements={"obstacle box": np.full((4, 4), np.nan)})
    with pytest.raises(sixd.ScalarTypeError, match="a tuple of tuples, expected a list of pairs"):
        sixd.distance(arm, states, (("link box", "floor"), ("link cone", "floor")))
    with pytest.raises(ValueError, match="read-only"):
        arm.collisions[0].pose[0, 3] = 1.0


def test_pairs_that_differ_by_sizes_alone():
    """Shapes of one kind on one body: each selection has its own sizes."""
    arm = sixd.zoo.planar(2).with_collision("world", SHAPES["sphere"], sixd.placement((0, 2, 0)), name="ball")
    for name, radius in (("small", 0.1), ("large", 0.3)):
        arm = arm.with_collision("link2", sixd.Shape("sphere", (radius,)), name=name)
    for name, radius in (("small", 0.1), ("large", 0.3)):
        expected = np.sqrt(5) - 0.1 - radius
        assert_allclose(sixd.distance(arm, [0, 0], [(name, "ball")]).distance, expected, rtol=0, atol=1e-12)
        assert_allclose(sixd.min_distance(arm, [0, 0], [(name, "ball")]), expected, rtol=0, atol=1e-12)


def test_sampled_pairs_follow_mimic_joints():
    """Two fingers that move together are always 1 m apart; without the relation they meet."""
    ball, builder = sixd.Shape("sphere", (0.1,)), sixd.ModelBuilder("gripper")
    for name, x in (("l", 0.5), ("r", -0.5)):
        builder.add_body(
            name, "world", sixd.Prismatic("x"), placement=sixd.placement((x, 0, 0)), inertia=sixd.point(1.0),
            collisions=[ball], limits=(-1.0, 1.0),
        )  # fmt: skip
    free = builder.build()
    assert sixd.sample_pairs(free) == (("l", "r"),)
    assert sixd.sample_pairs(free.with_constraints(sixd.Mimic("r", "l", 1.0, 0.0))) == ()


@pytest.mark.parametrize("kinds", [("cone", "cone"), ("cylinder", "cone"), ("ellipsoid", "hull")], ids="-".join)
def test_float32_depths_of_aligned_solids(kinds, rng):
    """Parallel axes and coincident centres: a projection that rounding stops has a result."""
    cube = np.array(np.meshgrid(*[(-0.05, 0.05)] * 3)).reshape(3, -1).T
    sizes = {"cone": (0.06, 0.1), "cylinder": (0.05, 0.12), "ellipsoid": (0.03, 0.06, 0.09)}
    a, b = (sixd.Shape("hull", (), vertices=cube) if k == "hull" else sixd.Shape(k, sizes[k]) for k in kinds)
    builder = sixd.ModelBuilder("pair")
    builder.add_body("a", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=1.0), collisions=[a])
    builder.add_collision("world", b, name="b")
    model, q = builder.build(), np.tile([1.0, 0, 0, 0, 0, 0, 0], (2000, 1))
    q[1:, 4:] = rng.uniform(-0.01, 0.01, (1999, 3))
    exact, single = sixd.distance(model, q).distance, sixd.distance(model, q.astype(np.float32)).distance
    assert_allclose(single, exact, rtol=0, atol=5e-3)  # docs/shapes_and_distances.md
    assert sixd.in_collision(model, q.astype(np.float32)).all()
