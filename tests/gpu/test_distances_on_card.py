"""Distances on a GPU: bit-identical to the CPU by CuPy, PyTorch and JAX, with derivatives."""

import numpy as np
import pytest

import sixd
from collision_scenes import SOLIDS, three_bodies

ROWS = 500


@pytest.fixture(scope="module")
def model():
    """A free box, a ball on a spherical and a cylinder on a revolute joint; a box and a plane in the world."""
    made = three_bodies().with_collision("world", SOLIDS["box"], sixd.placement((1, 0.5, 0)), name="obstacle")
    return made.with_collision("world", sixd.Shape("plane"), sixd.placement((0, 0, -1)), name="floor")


@pytest.fixture(scope="module")
def states(model):
    return model.random_configuration(4, size=ROWS)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_arrays(model, states, library, dtype):
    to, back, kind = library
    q = states.astype(dtype)
    x = to(q)
    moved = {"obstacle": sixd.placement((0.2, 0.3, 0.1))}
    pairs = [
        (sixd.distance(model, x, **options).arrays(), sixd.distance(model, q, **options).arrays())
        for options in ({}, {"pairs": [("a", "floor")]}, {"placements": moved})
    ]
    pairs.append((sixd.distance_derivatives(model, x)[1:], sixd.distance_derivatives(model, q)[1:]))
    points, true = sixd.contact_points(model, x), sixd.contact_points(model, q)
    pairs.append(((points.points, points.depths, points.normal), (true.points, true.depths, true.normal)))
    pairs.append(((sixd.min_distance(model, x),), (sixd.min_distance(model, q),)))
    pairs.append(((sixd.in_collision(model, x, margin=0.05),), (sixd.in_collision(model, q, margin=0.05),)))
    along = np.random.default_rng(1).uniform(-1, 1, (ROWS, model.nv)).astype(dtype)
    rate = sixd.jvp(sixd.distance, model)
    pairs.append(((rate(x, to(along)),), (rate(q, along),)))
    for found, expected in pairs:
        for a, b in zip(found, expected, strict=True):
            assert type(a) is kind
            assert np.array_equal(back(a), b)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_torch(model, states, dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU")
    import sixd.torch as st

    for function in (st.distance, st.min_distance):
        there, here = (torch.tensor(states.astype(dtype), device=d, requires_grad=True) for d in ("cuda", "cpu"))
        a, b = function(model, there), function(model, here)
        assert torch.equal(a.detach().cpu(), b.detach())
        (x,), (y,) = (torch.autograd.grad(z.sum(), q) for z, q in ((a, there), (b, here)))
        assert x.device.type == "cuda"
        assert torch.equal(x.cpu(), y)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_jax(model, states, dtype):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU here: it is installed without CUDA")
    import sixd.jax as sj

    with jax.enable_x64(True):
        q, processor = states.astype(dtype), jax.devices("cpu")[0]
        for function in (sj.distance, sj.min_distance):
            value = lambda q: function(model, q)  # noqa: B023, E731
            gradient = jax.grad(lambda q: function(model, q).sum())  # noqa: B023
            for run in (value, gradient):
                with jax.default_device(processor):
                    expected = np.asarray(jax.jit(run)(jax.device_put(q, processor)))
                assert np.array_equal(np.asarray(jax.jit(run)(q)), expected)
