"""The tests' fixture for the plain algorithms: a test of them does not run code that an earlier test compiled."""

import numpy as np

import sixd
from plain import PlainRoutine, plain_algorithms
from sixd.algorithms.rnea import rnea

MODEL = sixd.zoo.planar(2)
ROW = np.array([0.3, -0.5])


def test_plain_after_compiled():
    """Calls of one sample, of batches, with a frame and without: the plain algorithm; afterwards compiled code again."""
    calls = [
        lambda q: sixd.inverse_dynamics(MODEL, q, q, q),
        lambda q: sixd.pose(MODEL, q, MODEL.body_names[-1]),
        lambda q: MODEL.integrate(q, q),
    ]
    for call in calls:
        arrays = (ROW, np.stack([ROW, ROW]))
        compiled = [call(q) for q in arrays]
        with plain_algorithms():
            for q, expected in zip(arrays, compiled, strict=True):
                before = PlainRoutine.rows
                assert np.allclose(call(q), expected, rtol=0, atol=1e-12)
                assert PlainRoutine.rows > before
        before = PlainRoutine.rows
        assert all(np.array_equal(call(q), c) for q, c in zip(arrays, compiled, strict=True))
        assert PlainRoutine.rows == before


def test_models_that_are_created_and_freed():
    """A model made while the plain algorithms run does not get the code of an earlier one."""
    for k in range(5):
        first = sixd.zoo.pendulum(2, mass=1.0 + k)
        sixd.inverse_dynamics(first, ROW, ROW, ROW)
        with plain_algorithms():
            del first
            second = sixd.zoo.pendulum(2, mass=0.5 + k)
        expected = rnea(second, ROW, ROW, ROW)
        assert np.allclose(sixd.inverse_dynamics(second, ROW, ROW, ROW), expected, rtol=0, atol=1e-10)
