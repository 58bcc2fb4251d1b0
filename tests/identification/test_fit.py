"""Identified parameters: exact without noise, as precise as can be with it, realisable always."""

import dataclasses
import gc
import pickle
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from sixd.identification import Identification, fit

pytestmark = pytest.mark.one_target
CONSISTENT = ["lmi", "log-det"]


def waves(nv, count, seed=0, seconds=10.0, size=1.2, fastest=6):
    """Smooth motions of several frequencies: q, qd, qdd (count, nv)."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, seconds, count, endpoint=False)[:, None]
    q = qd = qdd = np.zeros((count, nv))
    for k in range(1, fastest):
        a, phase, w = size / k * rng.uniform(0.3, 1, nv), rng.uniform(0, 6, nv), 2 * np.pi * k / seconds
        q, qd = q + a * np.sin(w * t + phase), qd + a * w * np.cos(w * t + phase)
        qdd = qdd - a * w**2 * np.sin(w * t + phase)
    return q, qd, qdd


def measure(model, motion, part, seed=0):
    """Torques with noise of that part of their RMS, and its deviations."""
    tau = sixd.inverse_dynamics(model, *motion)
    noise = part * np.sqrt((tau**2).mean(axis=0))
    return tau + noise * np.random.default_rng(seed).normal(size=tau.shape), noise


def is_realisable(model):
    """Whether every body has a positive definite pseudo-inertia."""
    least = [np.linalg.eigvalsh(model.body_inertia(name).pseudo_inertia)[0] for name in model.body_names]
    return min(least) > 0


@pytest.mark.parametrize("name", ["panda_arm", "puma560", "ur_arm"])
def test_without_noise_it_is_exact(name):
    model = sixd.zoo.get(name)
    motion = waves(model.nv, 300)
    result = fit(model, *motion, sixd.inverse_dynamics(model, *motion), armature=True)
    assert isinstance(result, Identification)
    # the least noise that is assumed is 1e-9 of the largest torque
    assert_allclose(result.base_values, result.base.of(model), atol=1e-8)
    assert_allclose(result.base.of(result.parameters), result.base_values, atol=1e-6)
    assert np.abs(result.residuals).max() < 1e-9 * np.abs(result.samples.tau).max()
    assert is_realisable(result.model)


@pytest.mark.parametrize(("name", "count"), [("panda_arm", 43), ("puma560", 36 + 22)])
@pytest.mark.parametrize(("times", "most"), [(200, 0.40), pytest.param(2000, 0.15, marks=pytest.mark.long)])
def test_the_variance_is_cramer_and_rao_s(name, count, times, most):
    """The variance of the base parameters over draws of noise is the bound, within 5 % in their mean.

    A single variance of 200 draws has itself a deviation of √(2/199) = 10 %, so that of 58 the largest may be 35 % off;
    of 2000 draws, 3 %: each is within 15 %.
    """
    model = sixd.zoo.get(name)
    friction = name == "puma560"
    motion = waves(model.nv, 150)
    tau = sixd.inverse_dynamics(model, *motion)
    noise = 0.02 * np.sqrt((tau**2).mean(axis=0))
    rng = np.random.default_rng(3)
    options = {"noise": noise, "friction": friction, "armature": friction, "consistent": False}
    draws = [fit(model, *motion, tau + noise * rng.normal(size=tau.shape), **options) for _ in range(times)]
    base = draws[0].base
    assert len(base) == count
    values = np.array([result.base_values for result in draws])

    # the bound, by the regressor itself: (Σ Wᵀ W / noise²)⁻¹
    W = base.columns.regressor(*motion)[..., base.independent] / noise[:, None]
    W = W.reshape(-1, count)
    bound = np.diag(np.linalg.inv(W.T @ W))
    ratio = values.var(axis=0, ddof=1) / bound
    assert abs(ratio.mean() - 1) < 0.05
    assert np.abs(ratio - 1).max() < most
    assert_allclose(draws[0].base_deviation, np.sqrt(bound), rtol=1e-6)
    # the whole covariance: the squared distances have the mean of χ²
    away = values - base.of(model)
    assert_allclose(np.einsum("ki,ij,kj->k", away, W.T @ W, away).mean(), count, rtol=0.05)


@pytest.mark.many
@pytest.mark.parametrize("consistent", CONSISTENT)
@pytest.mark.parametrize("part", [0.001, 0.05, 0.5, 3.0])
def test_parameters_are_always_realisable(consistent, part):
    for seed, name in enumerate(["panda_arm", "puma560", "ur_arm"]):
        model = sixd.zoo.get(name)
        motion = waves(model.nv, 60, seed)
        tau, _ = measure(model, motion, part, seed)
        result = fit(model, *motion, tau, armature=True, consistent=consistent)
        assert is_realisable(result.model)
        assert min(result.model.damping.min(), result.model.friction.min(), result.model.armature.min()) >= 0
        # what was moved is within the noise: each base parameter by a few deviations at most
        moved = result.base.of(result.parameters) - result.base_values
        assert moved @ np.linalg.solve(result.base_covariance, moved) < 4 * len(result.base)


def test_the_program_finds_the_nearest(rng):
    """The optimum of the semidefinite program: no realisable parameters on the way to others are nearer."""
    model = sixd.zoo.ur_arm()
    motion = waves(6, 80)
    tau, noise = measure(model, motion, 0.1)
    result = fit(model, *motion, tau, noise=noise, friction=False, consistent="lmi")
    free = fit(model, *motion, tau, noise=noise, friction=False, consistent=False)
    assert not is_realisable(free.model)

    def distance(theta):
        away = result.base.of(theta) - result.base_values
        return away @ np.linalg.solve(result.base_covariance, away)

    here = distance(result.parameters)
    other = np.concatenate([model.body_inertia(name).parameters for name in model.body_names])
    for part in (1e-3, 1e-2, 0.1):  # towards the truth, which is realisable; 0.01 for the weak prior
        assert distance((1 - part) * result.parameters + part * other) > here - 0.01


def test_without_constraints_it_is_nearest_to_the_prior():
    model = sixd.zoo.ur_arm()
    motion = waves(6, 200)
    result = fit(model, *motion, sixd.inverse_dynamics(model, *motion), friction=False, consistent=False)
    assert_allclose(result.parameters, result.columns.values, atol=1e-7)


def test_noise_is_estimated():
    model = sixd.zoo.puma560()
    motion = waves(6, 2500)  # more than one block
    tau, noise = measure(model, motion, 0.02)
    result = fit(model, *motion, tau, armature=True)
    assert_allclose(result.noise, noise, rtol=0.08)
    away = (result.base_values - result.base.of(model)) / result.base_deviation
    assert np.abs(away).max() < 4.5
    # 58 intervals of 95 %: at least 48 hold the truth
    low, high = result.intervals().T
    assert ((low < result.base.of(model)) & (result.base.of(model) < high)).sum() >= 48
    wide = result.intervals(0.999)
    assert (wide[:, 0] < low).all()


def test_noise_may_be_correlated(rng):
    model = sixd.zoo.planar(3)
    motion = waves(3, 400)
    root = rng.normal(size=(3, 3)) * 0.1
    tau = sixd.inverse_dynamics(model, *motion) + rng.normal(size=(400, 3)) @ root.T
    result = fit(model, *motion, tau, noise=root @ root.T)
    away = result.base_values - result.base.of(model)
    assert away @ np.linalg.solve(result.base_covariance, away) < 3 * len(result.base)
    plain = fit(model, *motion, tau)
    assert np.trace(result.base_covariance) < np.trace(plain.base_covariance)


def test_what_is_not_estimated_is_the_model_s():
    """Springs always; friction and armature if they are not asked for."""
    model = sixd.zoo.random_tree(4, kinds=("revolute", "prismatic", "universal"), passive=True)
    assert model.stiffness.any()
    assert model.damping.any()
    motion = waves(model.nv, 300, size=0.7)
    tau = sixd.inverse_dynamics(model, *motion)
    for options in ({"friction": False}, {"friction": "viscous"}, {"friction": True, "armature": True}):
        result = fit(model, *motion, tau, **options)
        assert_allclose(result.base_values, result.base.of(model), atol=1e-6)
        assert_allclose(result.predicted, tau, atol=1e-8 * np.abs(tau).max())
        assert_allclose(result.model.damping, model.damping, atol=1e-6)
        assert_allclose(sixd.inverse_dynamics(result.model, *motion), tau, atol=1e-4 * np.abs(tau).max())


def test_offsets(rng):
    model = sixd.zoo.planar(2)
    motion = waves(2, 200)
    offset = np.array([0.5, -0.2])
    tau = sixd.inverse_dynamics(model, *motion) + offset
    result = fit(model, *motion, tau, friction="offset")
    assert_allclose(result.offset, offset, atol=1e-7)
    assert_allclose(fit(model, *motion, tau - offset, friction=False).offset, 0)


def test_a_floating_body():
    """Joints whose velocity is not the rate of q: torques are the wrench on the body."""
    model = sixd.zoo.single_body()
    rng = np.random.default_rng(0)
    q = model.random_configuration(rng, size=200)
    qd, qdd = rng.normal(size=(2, 200, 6))
    result = fit(model, q, qd, qdd, sixd.inverse_dynamics(model, q, qd, qdd), friction=False)
    assert len(result.base) == 10
    assert_allclose(result.parameters, result.columns.values, atol=1e-6)


def test_several_motions_at_once():
    model = sixd.zoo.planar(2)
    motions = np.array([waves(2, 50, seed) for seed in range(3)]).swapaxes(0, 1)  # (3, 3 motions, 50, 2)
    result = fit(model, *motions, sixd.inverse_dynamics(model, *motions), friction=False)
    assert_allclose(result.base_values, result.base.of(model), atol=1e-8)
    assert result.residuals.shape == (150, 2)


def test_the_identified_model_as_urdf(tmp_path):
    model = sixd.zoo.panda_arm()
    motion = waves(7, 200)
    tau, _ = measure(model, motion, 0.02)
    result = fit(model, *motion, tau, friction=["viscous", "coulomb"])
    result.to_urdf(tmp_path / "result.urdf")
    again = sixd.load(tmp_path / "result.urdf")
    expected = sixd.inverse_dynamics(result.model, *motion)
    assert_allclose(sixd.inverse_dynamics(again, *motion), expected, atol=1e-9 * np.abs(expected).max())
    with_motors = fit(model, *motion, tau, armature=True)
    with pytest.warns(sixd.ModelWarning, match="armature and offsets are not in the file"):
        with_motors.to_urdf()


def test_it_prints():
    model = sixd.zoo.planar(2)
    motion = waves(2, 50)
    text = str(fit(model, *motion, measure(model, motion, 0.5)[0], friction=False))
    assert "Identification of 'planar2': 4 base parameters from 50 samples" in text
    assert "Izz2" in text


# hostile data -----------------------------------------------------------------------------------


@pytest.fixture
def data():
    model = sixd.zoo.planar(2)
    motion = waves(2, 50)
    return model, [*motion, sixd.inverse_dynamics(model, *motion)]


@pytest.mark.parametrize("k", range(4))
def test_numbers_that_are_not_finite(data, k):
    model, arrays = data
    arrays[k] = arrays[k].copy()
    arrays[k][7, 1] = np.nan
    arrays[k][9, 0] = np.inf
    with pytest.raises(sixd.ScalarTypeError, match="not finite in 2 of 50 samples, first in sample 7"):
        fit(model, *arrays)


def test_shapes(data):
    model, (q, qd, qdd, tau) = data
    with pytest.raises(sixd.ShapeError, match=r"tau has shape \(50, 1\), expected \(n, 2\)"):
        fit(model, q, qd, qdd, tau[:, :1])
    with pytest.raises(sixd.ShapeError, match="as many samples"):
        fit(model, q, qd, qdd, tau[:-1])
    with pytest.raises(sixd.ShapeError, match=r"q has shape \(2,\)"):
        fit(model, q[0], qd[0], qdd[0], tau[0])
    with pytest.raises(sixd.ShapeError, match="got 0 samples"):
        fit(model, q[:0], qd[:0], qdd[:0], tau[:0])
    with pytest.raises(sixd.ShapeError, match="got 3 samples of 2 torques, expected more than 5"):
        fit(model, q[:3], qd[:3], qdd[:3], tau[:3])
    with pytest.raises(sixd.ScalarTypeError, match="qdd and tau is missing"):
        fit(model, q, qd)
    with pytest.raises(sixd.ScalarTypeError, match="q is"):
        fit(model, "q", qd, qdd, tau)


def test_motions_that_do_not_excite(data):
    model, (q, qd, qdd, tau) = data
    with pytest.raises(sixd.SingularError, match="do not determine .*D1"):
        fit(model, q, 0 * qd, qdd, tau)
    still = np.zeros_like(q)
    with pytest.raises(sixd.SingularError, match="excitation"):
        fit(model, still, still, still, still)
    held = q.copy()
    held[:, 1] = 0.3
    for x in (qd, qdd):
        x[:, 1] = 0
    with pytest.raises(sixd.SingularError, match="h.2"):
        fit(model, held, qd, qdd, sixd.inverse_dynamics(model, held, qd, qdd), friction=False)


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (0.0, "positive"),
        ([-1.0, 1.0], "positive"),
        ([1.0, np.nan], "positive"),
        ([1.0, 1.0, 1.0], "expected a standard deviation"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        ("small", "noise is 'small'"),
    ],
)
def test_wrong_noise(data, noise, words):
    model, arrays = data
    with pytest.raises(sixd.SixdError, match=words):
        fit(model, *arrays, noise=noise)


def test_wrong_options(data):
    model, arrays = data
    with pytest.raises(sixd.UnknownNameError, match="no method named 'sdp'"):
        fit(model, *arrays, consistent="sdp")
    with pytest.raises(sixd.ModelError, match="has constraints"):
        fit(sixd.zoo.four_bar(), *arrays)
    with pytest.raises(sixd.ScalarTypeError, match="level is 95"):
        fit(model, *arrays).intervals(95)


@pytest.mark.parametrize("factor", [0.0, -1.0])
def test_torques_that_no_body_has(factor):
    arm = sixd.zoo.planar(2)
    q, qd, qdd = np.random.default_rng(0).uniform(-2, 2, (3, 60, 2))
    tau = factor * sixd.inverse_dynamics(arm, q, qd, qdd)
    with pytest.raises(sixd.SixdError, match="Check signs and units of the data"):
        fit(arm, q, qd, qdd, tau, friction=False, consistent="log-det")
    result = fit(arm, q, qd, qdd, tau, friction=False, consistent=False)
    np.testing.assert_allclose(result.base_values, factor * result.base.of(arm), atol=1e-12)


def test_a_prior_that_is_not_realisable():
    """The model of the Puma that everyone uses has no mass of link 1: what is identified is realisable all the same."""
    model = sixd.zoo.puma560()
    assert not is_realisable(model)
    motion = waves(6, 100)
    for consistent in CONSISTENT:
        result = fit(model, *motion, sixd.inverse_dynamics(model, *motion), armature=True, consistent=consistent)
        assert is_realisable(result.model)


def test_massless_prior():
    """A model without inertias, as drawings have them: the data say everything, the rest is made up."""
    model = sixd.zoo.ur_arm()
    motion = waves(6, 200)
    tau, _ = measure(model, motion, 0.01)
    empty = dataclasses.replace(model, inertia=np.zeros_like(model.inertia))
    for consistent in CONSISTENT:
        result = fit(empty, *motion, tau, friction=False, consistent=consistent)
        assert is_realisable(result.model)
        again = sixd.inverse_dynamics(result.model, *motion)
        assert np.sqrt(((again - tau) ** 2).mean() / (tau**2).mean()) < 0.02


def test_numbers_of_other_sizes_and_types(data):
    model, arrays = data
    truth = fit(model, *arrays, friction=False).base_values
    for change in (lambda x: x.tolist(), lambda x: x.astype("float32")):
        assert_allclose(fit(model, *map(change, arrays), friction=False).base_values, truth, atol=1e-5)  # float32
    *motion, tau = arrays
    for bad in (1e300 * tau, tau > 0, tau + 1j, tau.astype(str), np.array([[sixd]] * 50)):
        with pytest.raises(sixd.ScalarTypeError, match="fit: tau"):
            fit(model, *motion, bad)
    assert np.isfinite(fit(model, *motion, 1e-200 * tau, consistent="log-det").parameters).all()
    with pytest.raises(sixd.SixdError, match="fit: the torques are all zero"):
        fit(model, *motion, 0 * tau, consistent="log-det", friction=False)
    for consistent, friction in ((False, False), ("lmi", False), ("lmi", True)):
        nothing = fit(model, *motion, 0 * tau, consistent=consistent, friction=friction)
        assert np.abs(nothing.base_values).max() < 1e-12
        assert is_realisable(nothing.model) == bool(consistent)


def test_models_are_not_kept_alive():
    model = sixd.zoo.planar(2)
    motion = waves(2, 50)
    fit(model, *motion, sixd.inverse_dynamics(model, *motion))
    sixd.identification.excitation(model, iterations=1)
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None


def test_recordings_can_be_sent_to_other_processes(data):
    model, (q, _, _, tau) = data
    result = sixd.identification.record(model, t=np.arange(50) / 5, q=q, tau=tau, cutoff=1.5)
    again = pickle.loads(pickle.dumps(result))
    assert_allclose(again.reduction.apply(tau), result.reduction.apply(tau), atol=0)
