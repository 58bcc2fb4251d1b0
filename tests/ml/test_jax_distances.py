"""``sixd.jax.distance`` and ``min_distance`` on the CPU: bit-identical to sixd's, JAX's transformations, first
derivatives."""

import gc
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from collision_scenes import three_and_a_box
from sixd.errors import ShapeError, TraceError

jax = pytest.importorskip("jax", reason="JAX is not installed; make ml installs it")

import sixd.jax as sj  # noqa: E402


@pytest.fixture(autouse=True)
def wide():
    """float64 in every test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def model():
    return three_and_a_box()


@pytest.fixture(scope="module")
def states(model):
    return model.random_configuration(4, size=3)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values(model, states, dtype):
    """The bits of sixd, jitted and not, with pairs and placements."""
    q = states.astype(dtype)
    moved = {"obstacle": sixd.placement((0, 2, 0))}
    for pairs in (None, [("a", "obstacle")]):
        for options in ({}, {"placements": moved}):
            expected = sixd.distance(model, q, pairs, **options).distance
            for run in (lambda f: f, jax.jit):
                found = run(lambda q: sj.distance(model, q, pairs, **options))(q)  # noqa: B023
                assert found.dtype == dtype
                assert np.array_equal(found, expected)
                least = run(lambda q: sj.min_distance(model, q, pairs, **options))(q)  # noqa: B023
                assert np.array_equal(least, expected.min(axis=-1))
    assert sj.distance(model, q[0]).shape == (4,)
    assert sj.min_distance(model, q[:, None]).shape == (3, 1)


def test_transformations(model, states):
    """vmap, grad, jacrev and jacfwd, composed; derivatives against central differences of 1e-6.

    The tolerance is that of normals of iterated pairs, whose squares of errors are 1e-14.
    """
    one = lambda q: sj.distance(model, q)  # noqa: E731
    assert np.array_equal(jax.vmap(one)(states), one(states))
    reverse = jax.jit(jax.vmap(jax.jacrev(one)))(states)
    forward = jax.jit(jax.vmap(jax.jacfwd(one)))(states)
    h = 1e-6
    sides = [np.asarray(one(states[:, None] + s * h * np.eye(model.nq))) for s in (1, -1)]
    true = np.swapaxes((sides[0] - sides[1]) / (2 * h), 1, 2)
    assert_allclose(reverse, true, rtol=0, atol=1e-6)
    assert_allclose(forward, reverse, rtol=0, atol=1e-14)
    gradient = jax.grad(lambda q: sj.min_distance(model, q).sum())(states)
    nearest = np.asarray(one(states)).argmin(axis=-1)
    assert_allclose(gradient, reverse[np.arange(3), nearest], rtol=0, atol=1e-14)
    (shared,) = jax.vjp(lambda q: sj.distance(model, q + np.zeros((5, 1))), states[0])[1](np.ones((5, 4)))
    assert_allclose(shared, 5 * reverse[0].sum(axis=0), rtol=0, atol=1e-13)


def test_errors(model, states):
    with pytest.raises(TraceError, match="order of the derivative is 2, expected 1"):
        jax.hessian(lambda q: sj.min_distance(model, q))(states[0])
    with pytest.raises(ShapeError, match="distance: q has shape"):
        sj.distance(model, states[:, :3])


def test_models_are_released(states):
    """Once JAX's caches are empty."""

    def used():
        model = three_and_a_box()
        jax.jit(lambda q: sj.distance(model, q))(states)
        return weakref.ref(model)

    seen = used()
    jax.clear_caches()
    sj.clear_caches()
    gc.collect()
    assert seen() is None
