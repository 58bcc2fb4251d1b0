"""Distances of arrays on a GPU, by a driver that runs the kernels' own code on the CPU: bit-identical results."""

import numpy as np
import pytest

import sixd
from fake_gpu import Array, install
from sixd.codegen.llvm.machine import host
from sixd.errors import DeviceError
from sixd.runtime.cuda import driver

fused = pytest.mark.skipif(not host().has_fma, reason="bits are those of CPUs with fused multiply-add")
SHAPES = {
    "ball": sixd.Shape("sphere", (0.1,)), "rod": sixd.Shape("capsule", (0.05, 0.2)),
    "box": sixd.Shape("box", (0.1, 0.2, 0.3)), "can": sixd.Shape("cylinder", (0.1, 0.2)),
}  # fmt: skip


@pytest.fixture
def gpu(monkeypatch):
    yield install(monkeypatch)
    driver.is_installed.cache_clear()


@pytest.fixture
def arm():
    """Four links with a solid each; a box and a plane in the world: closed forms and iterated pairs."""
    builder, parent = sixd.ModelBuilder("arm"), "world"
    for k, (name, shape) in enumerate(SHAPES.items()):
        builder.add_body(
            name, parent, sixd.Revolute("xyz"[k % 3]), placement=sixd.placement((0, 0.1, 0.2)),
            inertia=sixd.sphere(0.1, mass=1.0), collisions=[(shape, sixd.placement((0.1, 0, 0), rpy=(0.1, 0.2, 0.3)))],
        )  # fmt: skip
        parent = name
    model = builder.build().with_collision("world", SHAPES["box"], sixd.placement((0.3, 0.2, 0.1)), name="obstacle")
    return model.with_collision("world", sixd.Shape("plane"), sixd.placement((0, 0, -0.2)), name="floor")


def same(found, true):
    """Check that an array on the GPU has the same bits."""
    assert type(found) is Array
    assert found.dtype == true.dtype
    assert np.array_equal(found.data, true)


@fused
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.long)])
def test_results_are_bit_identical_to_the_cpu(gpu, arm, rng, dtype):
    """Distances, derivatives, contact points, the least, collisions; batches, pairs, placements, no pairs."""
    q = rng.uniform(-1, 1, (37, 4)).astype(dtype)
    x = Array(q)
    moved = {"obstacle": sixd.placement((0.2, 0.3, 0.1))}
    for found, true in (
        (sixd.distance(arm, x), sixd.distance(arm, q)),
        (sixd.distance(arm, x, [("ball", "floor")]), sixd.distance(arm, q, [("ball", "floor")])),
        (sixd.distance(arm, x, placements=moved), sixd.distance(arm, q, placements=moved)),
    ):
        for name in ("distance", "point_a", "point_b", "normal"):
            same(getattr(found, name), getattr(true, name))
    (found, gradients), (true, expected) = sixd.distance_derivatives(arm, x), sixd.distance_derivatives(arm, q)
    same(found.normal, true.normal)
    same(gradients, expected)
    found, true = sixd.contact_points(arm, x), sixd.contact_points(arm, q)
    for name in ("points", "depths", "normal"):
        same(getattr(found, name), getattr(true, name))
    same(sixd.min_distance(arm, x), sixd.min_distance(arm, q))
    for margin in (0.0, 0.05, -0.01):
        same(sixd.in_collision(arm, x, margin=margin), sixd.in_collision(arm, q, margin=margin))
    assert sixd.distance(arm, Array(q[0])).normal.shape == true.normal.shape[1:]
    assert sixd.distance(arm, Array(q[:0])).distance.shape == (0, len(true.pairs))
    assert sixd.distance(arm, x, []).distance.shape == (37, 0)


@fused
def test_derivatives_are_bit_identical_to_the_cpu(gpu, arm, rng):
    """The kernels of jvp and vjp, with batches that broadcast."""
    q, d_q = rng.uniform(-1, 1, (2, 37, 4))
    n = len(sixd.collision_pairs(arm))
    w = rng.uniform(-1, 1, n)
    for function in (sixd.distance, sixd.min_distance):
        rate, pull = sixd.jvp(function, arm), sixd.vjp(function, arm)
        weights = w if function is sixd.distance else w[0]
        same(rate(Array(q), Array(d_q)), rate(q, d_q))
        same(rate(Array(q), Array(d_q[0])), rate(q, d_q[0]))
        same(pull(Array(q), Array(np.asarray(weights))), pull(q, weights))


def test_arrays_of_two_memories_are_refused(gpu, arm):
    with pytest.raises(DeviceError, match="distance_jvp: d_q is a numpy.ndarray in CPU memory, but q is on a GPU"):
        sixd.jvp(sixd.distance, arm)(Array(np.zeros((3, 4))), np.zeros((3, 4)))
    with pytest.raises(DeviceError, match="placement of 'obstacle' is .* on a GPU"):
        sixd.distance(arm, np.zeros(4), placements={"obstacle": Array(np.eye(4))})
