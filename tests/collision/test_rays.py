"""Rays on collision shapes: distances by hand and by stepping along the ray, sensors, batches, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from collision_scenes import SOLIDS


def scene(kind, T):
    """One shape on a link that moves, and a small ball in the world to measure distances with."""
    builder = sixd.ModelBuilder("scene")
    builder.add_body("link", "world", sixd.Prismatic("x"), inertia=sixd.point(1.0), collisions=[(SOLIDS[kind], T)])
    return builder.build().with_collision("world", sixd.Shape("sphere", (1e-9,)), name="probe")


@pytest.mark.parametrize("kind", SOLIDS)
def test_rays_on_solids(kind, rng):
    """Where a ray meets a solid, a point has the distance 0 and the normal of the ray's; before, it is apart."""
    model = scene(kind, sixd.placement((0.1, -0.1, 0.05), rpy=(0.3, 0.8, -0.5)))
    origins = rng.normal(size=(60, 3))
    origins *= (0.6 / np.linalg.norm(origins, axis=1))[:, None]
    targets = np.array([0.1, -0.1, 0.05]) + rng.normal(size=(60, 3)) * 0.08
    hits = sixd.raycast(model, [0.2], origins + np.array([0.2, 0, 0]), targets - origins, among="link")
    met = np.isfinite(hits.distance)
    assert 0.3 < met.mean() < 1
    assert_array_equal(hits.shape, np.where(met, 0, -1))
    assert hits.names == ("link",)
    along = (targets - origins) / np.linalg.norm(targets - origins, axis=1)[:, None]

    def gap(t):
        poses = np.tile(np.eye(4), (60, 1, 1))
        poses[:, :3, 3] = origins + np.array([0.2, 0, 0]) + along * t[:, None]
        return sixd.distance(model, np.full((60, 1), 0.2), [("link", "probe")], placements={"probe": poses})

    at = gap(np.where(met, hits.distance, 0))
    assert np.abs(at.distance[met, 0]).max() < 1e-8
    assert (gap(np.where(met, 0.9 * hits.distance, 0)).distance[met, 0] > 0).all()
    # the nearest surface of a point off the surface, along the normal: at edges others are as near
    smooth = (at.normal[:, 0] * hits.normal).sum(axis=1) > 0.99
    assert smooth[met].mean() > 0.9
    for t in np.linspace(0.05, 1.2, 24):
        assert (gap(np.full(60, t)).distance[~met, 0] > -1e-9).all()


def test_a_range_sensor(rng):
    """Rays in the frame of a link turn with it; the nearest of several shapes is named; a batch of configurations."""
    ball = sixd.Shape("sphere", (0.5,))
    arm = sixd.zoo.planar(2).with_collision("world", sixd.Shape("plane"), sixd.placement((0, 0, -1)), name="floor")
    arm = arm.with_collision("world", ball, sixd.placement((5, 0, 0)), name="ball")
    q = np.array([[0.0, 0.0], [np.pi / 2, -np.pi / 2], [0.3, 0.2]])
    directions = [[1, 0, 0], [0, 0, -2.0], [0, 0, 1], [1, 0, -1]]
    hits = sixd.raycast(arm, q, np.zeros((4, 3)), directions, frame="link2")
    assert_allclose(hits.distance[0], [3.5, 1, np.inf, np.sqrt(2)], rtol=1e-12)
    assert [hits.names[k] if k >= 0 else "" for k in hits.shape[0]] == ["ball", "floor", "", "floor"]
    assert_allclose(hits.normal[0, :2], [[-1, 0, 0], [0, 0, 1]], atol=1e-12)
    # from (0, 1) along x: past the ball
    assert_allclose(hits.distance[1], [np.inf, 1, np.inf, np.sqrt(2)], rtol=1e-12)
    for k in range(3):
        assert_array_equal(
            sixd.raycast(arm, q[k], np.zeros((4, 3)), directions, frame="link2").distance, hits.distance[k]
        )
    inside = sixd.raycast(arm, q[0], [[5, 0, 0]], [[0, 1, 0]])
    assert_allclose(inside.distance, [0.5], rtol=1e-12)
    single = sixd.raycast(
        arm, q.astype(np.float32), np.zeros((4, 3), np.float32), np.float32(directions), frame="link2"
    )
    assert single.distance.dtype == np.float32


def test_bad_rays():
    arm = sixd.zoo.planar(2)
    with pytest.raises(sixd.ModelError, match="no collision shapes"):
        sixd.raycast(arm, [0, 0], [[0, 0, 0]], [[1, 0, 0]])
    arm = arm.with_collision("world", sixd.Shape("sphere", (0.5,)), name="ball")
    with pytest.raises(sixd.ScalarTypeError, match="directions: one is 0 long"):
        sixd.raycast(arm, [0, 0], [[0, 0, 0]], [[0, 0, 0]])
    with pytest.raises(sixd.SixdError, match="Did you mean 'ball'"):
        sixd.raycast(arm, [0, 0], [[0, 0, 0]], [[1, 0, 0]], among="bal")
    with pytest.raises(sixd.ShapeError, match="directions has shape"):
        sixd.raycast(arm, [0, 0], [[0, 0, 0]], [[1, 0]])
    lost = sixd.raycast(arm, [[0, 0], [np.nan, 0]], [[5, 0, 0], [np.nan, 0, 0]], [[-1, 0, 0], [1, 0, 0]])
    assert_array_equal(np.isnan(lost.distance), [[False, True], [True, True]])
    flat = arm.with_collision("world", sixd.Shape("hull", vertices=[[1, -1, -1], [1, 1, -1], [1, 0, 2]]), name="flat")
    flat = flat.with_collision("world", sixd.Shape("hull", vertices=[[0, 0, 0], [0, 0, 1]]), name="line")
    hits = sixd.raycast(flat, [0, 0], [[3, 0, 0], [3, 5, 0]], [[-1, 0, 0], [-1, 0, 0]])
    assert_allclose(hits.distance, [2, np.inf])
    assert_allclose(np.abs(hits.normal[0]), [1, 0, 0], atol=1e-12)
    assert sixd.raycast(arm, [0, 0], np.zeros((0, 3)), np.zeros((0, 3))).distance.shape == (0,)


def test_height_fields(rng):
    """A plane field at a height is a plane: distances of a ball, and rays; other solids have no distance from it."""
    x, y = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-2, 2, 4))
    field = sixd.Shape("height_field", (2.0, 4.0, 1.0), heights=0.3 * x + 0.1 * y)
    tilt = np.array([-0.3, -0.1, 1.0]) / np.sqrt(1.1)
    builder = sixd.ModelBuilder("ball")
    ball = sixd.Shape("sphere", (0.05,))
    for name, parent, axis in (("x", "world", "x"), ("y", "x", "y")):
        builder.add_body(name, parent, sixd.Prismatic(axis), inertia=sixd.point(1.0))
    builder.add_body("ball", "y", sixd.Prismatic("z"), inertia=sixd.point(1.0), collisions=[ball])
    model = builder.build().with_collision("world", field, name="field")
    q = rng.uniform((-0.6, -1.5, -0.1), (0.6, 1.5, 0.4), (40, 3))
    found = sixd.distance(model, q)
    expected = (q - np.column_stack([q[:, :2], 0.3 * q[:, 0] + 0.1 * q[:, 1]])) @ tilt - 0.05
    assert_allclose(found.distance[:, 0], expected, rtol=0, atol=1e-12)
    assert_array_equal(sixd.in_collision(model, q), expected < 0)
    hits = sixd.raycast(model, q[0], [[0.2, 0.5, 2.0], [3.0, 0, 1]], [[0, 0, -1], [0, 0, -1]], among="field")
    assert_allclose(hits.distance, [2 - 0.06 - 0.05, np.inf], rtol=1e-12)
    assert_allclose(hits.normal[0], tilt, atol=1e-12)
    other = model.with_collision("ball", sixd.Shape("box", (0.1, 0.1, 0.1)), name="box")
    with pytest.raises(sixd.ModelError, match="'field', a height_field, from 'box', a box, is not known"):
        sixd.distance(other, q, ("field", "*"))
    with pytest.warns(sixd.ModelWarning, match="distance: 1 pairs of height fields with other shapes"):
        assert sixd.distance(other, q).pairs == found.pairs
    large = sixd.Shape("height_field", (1.0, 1.0, 1.0), heights=np.zeros((30, 30)))
    with pytest.raises(sixd.ModelError, match="841 cells, expected at most 400"):
        sixd.distance(model.with_collision("world", large, name="large"), q)
