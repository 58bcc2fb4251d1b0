"""``sixd.jvp`` and ``sixd.vjp`` of the functions of distances: on all kinds of pairs, against their derivatives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from sixd.collision.derivative_code import DerivativeKind, derivative_code
from sixd.collision.pair_query import PairQuery
from sixd.engine.targets import cpu
from sixd.errors import ScalarTypeError, ShapeError, TraceError, UnknownNameError

BOX, BALL = sixd.Shape("box", (0.1, 0.2, 0.3)), sixd.Shape("sphere", (0.1,))
H = 1e-6  # step of central differences


@pytest.fixture(scope="module")
def model():
    """A free box, a ball on a spherical and a box on a revolute joint, and a box in the world."""
    builder, parent = sixd.ModelBuilder("three"), "world"
    for name, joint, shape in (("a", sixd.Free(), BOX), ("b", sixd.Spherical(), BALL), ("c", sixd.Revolute("z"), BOX)):
        builder.add_body(
            name, parent, joint, placement=sixd.placement((0, 0.4, 0.3)), inertia=sixd.sphere(0.1, mass=1.0),
            collisions=[(shape, sixd.placement((0.3, 0, 0)))],
        )  # fmt: skip
        parent = name
    return builder.build().with_collision("world", BOX, sixd.placement((2, 1, 0)), name="obstacle")


@pytest.fixture(scope="module")
def states(model):
    return model.random_configuration(1, size=5)


def test_rates_and_gradients(model, states, rng):
    """Those of ``distance_derivatives``, and of its row for the least distance."""
    found, A = sixd.distance_derivatives(model, states)
    d_q, w = rng.normal(size=(5, model.nv)), rng.normal(size=found.distance.shape)
    rate, pull = sixd.jvp(sixd.distance, model, by="q"), sixd.vjp(sixd.distance, model)
    assert (rate.inputs, pull.inputs) == (("q", "d_q"), ("q", "w"))
    assert_allclose(rate(states, d_q), np.einsum("rnv,rv->rn", A, d_q), rtol=0, atol=1e-13)
    assert_allclose(pull(states, w), np.einsum("rnv,rn->rv", A, w), rtol=0, atol=1e-13)
    least = A[np.arange(5), found.distance.argmin(axis=-1)]
    assert_allclose(sixd.vjp(sixd.min_distance, model)(states, 2.0), 2 * least, rtol=0, atol=1e-13)
    along = sixd.jvp(sixd.min_distance, model)(states, d_q)
    assert_allclose(along, np.einsum("rv,rv->r", least, d_q), rtol=0, atol=1e-13)


def test_batches_and_options(model, states, rng):
    """Batches broadcast; pairs, placements and dtypes are those of the function."""
    d_q = rng.normal(size=model.nv)
    rate = sixd.jvp(sixd.distance, model)
    assert rate(states[0], d_q).shape == (4,)
    assert rate(states[:, None], d_q).shape == (5, 1, 4)
    assert rate(states[:0], d_q).shape == (0, 4)
    assert np.shape(sixd.jvp(sixd.min_distance, model)(states[0], d_q)) == ()
    single = [x.astype(np.float32) for x in (states, d_q)]
    assert rate(*single).dtype == np.float32
    assert sixd.jvp(sixd.distance, model, dtype="float64")(*single).dtype == np.float64
    assert_array_equal(sixd.jvp(sixd.distance, model, pairs=[])(states, d_q), np.zeros((5, 0)))
    options = {"pairs": [("c", "obstacle")], "placements": {"obstacle": sixd.placement((0, 1, 0))}}
    _, A = sixd.distance_derivatives(model, states, **options)
    assert_allclose(sixd.jvp(sixd.distance, model, **options)(states, d_q), A @ d_q, rtol=0, atol=1e-13)


def test_derivatives_with_respect_to_the_entries_of_q(model, states):
    """Differences of distances, also where quaternions are not of unit length.

    The tolerance is that of normals of boxes at 1e-8, of which iterations know the squares.
    """
    q = states.copy()
    q[:, :4] *= 1.0005
    q[:, 7:11] *= 0.9995
    run = PairQuery("test", model, q, None, None)
    sides = [sixd.distance(model, q[:, None] + s * H * np.eye(model.nq)).distance for s in (1, -1)]
    true = np.swapaxes((sides[0] - sides[1]) / (2 * H), 1, 2)
    code = derivative_code("test", model, run.solids, DerivativeKind(True, ambient=True), "float64", cpu)
    for k, e in enumerate(np.eye(model.nq)):
        (found,) = code.run(np.ones(1), [run.q, run.placed, np.tile(e, (5, 1)), *code.shared])
        assert_allclose(found[:, 0], true[..., k], rtol=0, atol=1e-7)


def test_equal_distances():
    """The gradient of the least of two equal distances is the mean of theirs."""
    builder = sixd.ModelBuilder("slide")
    builder.add_body("ball", "world", sixd.Prismatic("x"), inertia=sixd.sphere(0.1, mass=1.0), collisions=[BALL])
    model = builder.build()
    for side in (-1, 1):
        model = model.with_collision("world", BALL, sixd.placement((side, 0, 0)), name=f"at {side}")
    assert_array_equal(sixd.vjp(sixd.min_distance, model)([[0.0], [0.25]], 1.0), [[0.0], [-1.0]])


def test_errors(model, states):
    for order in (sixd.hvp, sixd.hessian):
        with pytest.raises(TraceError, match=r"the order of derivatives of distance is 2, expected 1\. Use jvp or vjp"):
            order(sixd.distance, model)
    with pytest.raises(UnknownNameError, match="jvp: by: no input named 'qd'"):
        sixd.jvp(sixd.distance, model, by="qd")
    with pytest.raises(UnknownNameError, match="vjp: no argument named 'pair'. Did you mean 'pairs'"):
        sixd.vjp(sixd.distance, model, pair=[])
    with pytest.raises(ScalarTypeError, match="vjp: parameters is .*expected none"):
        sixd.vjp(sixd.min_distance, model, parameters=("gravity",))
    with pytest.raises(ShapeError, match="distance_vjp: w has shape"):
        sixd.vjp(sixd.distance, model)(states, np.zeros(3))
