"""Motions that excite all base parameters, within limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from sixd.identification import base_parameters, excitation
from sixd.identification.excitations import _Search
from sixd.identification.limits import make_limits

pytestmark = pytest.mark.one_target


@pytest.fixture(scope="module")
def motion():
    return excitation(sixd.zoo.panda_arm(), acceleration=12.0, iterations=40)


@pytest.mark.long
def test_its_condition_is_far_below_a_random_one(motion):
    assert motion.condition < 80
    assert motion.condition < 0.3 * motion.random_condition
    W = motion.base.regressor(motion.q, motion.qd, motion.qdd) / motion.base.model.effort_limit[:, None]
    assert_allclose(np.linalg.cond(W.reshape(-1, 43)), motion.condition, rtol=1e-6)


def test_limits_are_kept(motion):
    model = motion.base.model
    q, qd, qdd = motion.series(np.linspace(0, 10, 5000))
    tau = sixd.inverse_dynamics(model, q, qd, qdd)
    assert (q >= model.lower).all()
    assert (q <= model.upper).all()
    assert (np.abs(qd) <= model.velocity_limit).all()
    assert (np.abs(qdd) <= 12.0).all()
    assert (np.abs(tau) <= model.effort_limit).all()


def test_torque_limits_are_kept():
    """Limits on torques alone: half of what the free motion takes."""
    model = sixd.zoo.planar(2).with_gravity((0, -9.81, 0))
    free = excitation(model, iterations=10)
    most = 0.9 * np.abs(free.tau).max(axis=0)
    bound = excitation(model, effort=most, iterations=10)
    _, _, _ = result = bound.series(np.linspace(0, 10, 3000))
    assert (np.abs(sixd.inverse_dynamics(model, *result)) <= most).all()


def test_it_begins_and_ends_at_rest(motion):
    for t in (0.0, 10.0):
        q, qd, qdd = motion.series([t])
        assert_allclose(qd, 0, atol=1e-10)
        assert_allclose(qdd, 0, atol=1e-9)
        assert_allclose(q[0], motion.q[0], atol=1e-10)


def test_series_and_its_derivatives(motion):
    assert_allclose(motion.series(motion.t)[0], motion.q)
    h = 1e-5
    after, before = (motion.series(motion.t + x) for x in (h, -h))
    assert_allclose((after[0] - before[0]) / (2 * h), motion.qd, atol=1e-7)  # rounding / h
    assert_allclose((after[1] - before[1]) / (2 * h), motion.qdd, atol=1e-7)
    assert {k: x.shape for k, x in motion.coefficients.items()} == {"centre": (7,), "sine": (7, 5), "cosine": (7, 5)}


@pytest.mark.parametrize("kinds", [{}, {"friction": ("viscous", "offset"), "armature": True}])
def test_gradients_are_those_of_differences(kinds, rng):
    model = sixd.zoo.puma560()
    base = base_parameters(model, **kinds)
    limits = make_limits(model, 0.05, {"velocity": 1.0, "acceleration": 3.0, "effort": 30.0})
    search = _Search(base, limits, np.diag(rng.uniform(0.5, 2, 6)), 10.0, 3)
    x = 0.4 * rng.normal(size=6 + 6 * 4)
    along = rng.normal(size=x.size)
    h = 1e-6
    differences = (search.cost(x + h * along, 50.0)[0] - search.cost(x - h * along, 50.0)[0]) / (2 * h)
    assert_allclose(search.cost(x, 50.0)[1] @ along, differences, rtol=1e-6)  # of the differences


def test_the_same_seed_gives_the_same_motion():
    model = sixd.zoo.planar(2)
    a, b = (excitation(model, iterations=5, seed=4) for _ in range(2))
    assert_allclose(a.q, b.q, atol=0)
    assert excitation(model, iterations=0).condition <= 1.3 * excitation(model, iterations=0).random_condition


def test_files(motion, tmp_path):
    motion.save(tmp_path / "motion.npz")
    motion.save(tmp_path / "motion.csv")
    stored = np.load(tmp_path / "motion.npz")
    assert_allclose(stored["qdd"], motion.qdd, atol=0)
    table = np.genfromtxt(tmp_path / "motion.csv", delimiter=",", names=True, deletechars="")
    assert table.dtype.names[:3] == ("t", "q.joint1", "q.joint2")
    assert_allclose(table["tau.joint7"], motion.tau[:, 6], atol=0)
    again = sixd.identification.record(motion.base.model, tmp_path / "motion.csv", method="spectral")
    assert_allclose(again.qdd, motion.qdd, atol=1e-8)
    with pytest.raises(sixd.UnknownNameError, match="no file format named '.txt'"):
        motion.save(tmp_path / "motion.txt")
    with pytest.raises(sixd.FileError, match="Make the folder first"):
        motion.save(tmp_path / "none" / "motion.csv")


def test_plot(motion, tmp_path):
    pytest.importorskip("matplotlib")
    figure = motion.plot(tmp_path / "motion.png")
    assert len(figure.axes) == 4
    assert (tmp_path / "motion.png").stat().st_size > 10_000
    assert "condition" in repr(motion)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"period": 0}, "period is 0"),
        ({"period": np.inf}, "period is inf"),
        ({"rate": -5}, "rate is -5"),
        ({"harmonics": 1}, "harmonics is 1"),
        ({"harmonics": 2.5}, "harmonics is 2.5"),
        ({"starts": 0}, "starts is 0"),
        ({"period": 1e9}, "1e.11 samples, expected more than 10"),
        ({"rate": 1.0}, "10 samples, expected more than 10"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"seed": -1}, "seed is -1"),
        ({"margin": 1.0}, "margin is 1.0"),
        ({"velocity": 0.0}, "velocity is 0.0"),
        ({"velocity": [1.0, 2.0, 3.0]}, r"velocity has shape \(3,\)"),
        ({"acceleration": np.nan}, "acceleration is nan"),
        ({"lower": 1.0, "upper": 1.0}, "no range to move in"),
        ({"noise": -1.0}, "noise"),
        ({"friction": "dry"}, "no kind named 'dry'"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(sixd.SixdError, match=words):
        excitation(sixd.zoo.planar(2), **options)


def test_the_series_takes_times_of_any_shape(motion):
    t = np.array([[0.1, 0.2, 0.3], [1.0, 2.0, 3.0]])
    for whole, row, one in zip(motion.series(t), motion.series(t[1]), motion.series(2.0), strict=True):
        np.testing.assert_array_equal(whole[1], row)
        np.testing.assert_allclose(row[1], one, rtol=0, atol=1e-12)
    with pytest.raises(sixd.ScalarTypeError, match="series: t is 'now'"):
        motion.series("now")


def test_models_that_cannot_be_excited():
    with pytest.raises(sixd.ModelError, match="Free"):
        excitation(sixd.zoo.single_body())
    with pytest.raises(sixd.ModelError, match="cannot hold its own weight"):
        excitation(sixd.zoo.ur_arm(), effort=1e-3)
