"""Measured motions: files, filters, derivatives, and what is wrong with them."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from sixd.identification import fit, record

pytestmark = pytest.mark.one_target
ARM = sixd.zoo.planar(2)
NAMES = ARM.joint_names


def signal(t, orders=(0, 1, 2)):
    """Two joints, four whole waves in 10 s: the derivatives of these orders, (n, 2) each."""
    result = []
    for k in orders:
        w = 2 * np.pi * np.array([0.1, 0.3, 0.5, 0.8])
        phase = np.arange(4)[:, None] + np.array([0.0, 1.0]) + k * np.pi / 2
        result.append(sum(w[j] ** k / (j + 1) * np.sin(w[j] * t[:, None] + phase[j]) for j in range(4)))
    return result


@pytest.fixture
def measured():
    t = np.arange(2000) / 200
    q, qd, qdd = signal(t)
    return t, q, sixd.inverse_dynamics(ARM, q, qd, qdd)


def test_spectral_derivatives_are_exact(measured):
    t, q, tau = measured
    result = record(ARM, t=t, q=q, tau=tau, method="spectral", cutoff=20.0)
    assert len(result) == 2000
    assert len(result.reduction.apply(result.tau)) == 500  # thinned to 50 Hz
    expected = signal(result.t)
    for x, y in zip((result.q, result.qd, result.qdd), expected, strict=True):
        assert_allclose(x, y, atol=1e-9)  # rounding times the square of the highest frequency
    assert repr(result) == "<Recording: 2000 samples, 9.995 s, nv = 2>"


def test_the_filter_has_no_phase(measured):
    """Of low frequencies the filter changes nothing, and the derivatives lag by nothing."""
    t, q, tau = measured
    result = record(ARM, t=t, q=q, tau=tau, cutoff=10.0)
    expected = signal(result.t)
    # the filter's gain at 0.8 Hz of 10 is 1 - (0.08)⁸ = 1 - 2e-9; at the ends it does not know what was before and after
    for x, y, ends in zip((result.q, result.qd, result.qdd), expected, (1e-3, 1e-2, 0.1), strict=True):
        assert_allclose(x[200:-200], y[200:-200], atol=1e-6 * np.abs(y).max())
        assert_allclose(x[20:-20], y[20:-20], atol=ends * np.abs(y).max())
    inner = slice(200, -200)
    shifts = [np.abs(result.qd[inner] - signal(result.t[inner] + s)[1]).max() for s in (-1e-5, 0.0, 1e-5)]
    assert shifts[1] < 0.1 * min(shifts[0], shifts[2])


def test_differences_are_of_order_four():
    errors = []
    for rate in (50, 100):
        t = np.arange(10 * rate) / rate
        q, qd, qdd = signal(t)
        result = record(ARM, t=t, q=q, tau=q)
        errors.append([np.abs(result.qd - qd[2:-2]).max(), np.abs(result.qdd - qdd[2:-2]).max()])
    assert_allclose(np.log2(np.divide(*errors)), 4, atol=0.1)  # halved steps: 16 times smaller


def test_noise_on_positions_is_removed(measured):
    """1 mrad on encoders at 200 Hz: without a filter accelerations are lost in noise, with it base parameters are accurate."""
    t, q, tau = measured
    rng = np.random.default_rng(0)
    noisy, torque = q + 1e-3 * rng.normal(size=q.shape), tau + 0.01 * rng.normal(size=tau.shape)
    result = fit(ARM, record(ARM, t=t, q=noisy, tau=torque, cutoff=4.0), friction=False)
    raw = fit(ARM, record(ARM, t=t, q=noisy, tau=torque), friction=False)
    truth = result.base.of(ARM)
    assert np.abs(result.base_values - truth).max() < 0.02
    assert np.abs(raw.base_values - truth).max() > 0.2


def test_intervals_after_the_filter_are_honest(measured):
    """Thinned samples of filtered noise are nearly white: the intervals hold the truth about as often as they say."""
    t, q, tau = measured
    inside = []
    for seed in range(40):
        noise = 0.05 * np.random.default_rng(seed).normal(size=tau.shape)
        result = fit(ARM, record(ARM, t=t, q=q, tau=tau + noise, cutoff=5.0), friction=False)
        low, high = result.intervals(0.9).T
        truth = result.base.of(ARM)
        inside += [*((low < truth) & (truth < high))]
    assert 0.78 < np.mean(inside) < 0.98


def test_friction_is_not_biased_by_the_filter(measured):
    """Friction jumps where a joint reverses: filtered on one side only, it would be too small by some percent."""
    t, q, _ = measured
    rubbing = dataclasses.replace(ARM, friction=np.array([2.0, 0.7]), damping=np.array([0.3, 0.1]))
    tau = sixd.inverse_dynamics(rubbing, *signal(t))
    for method in ("filter", "spectral"):
        result = fit(ARM, record(ARM, t=t, q=q, tau=tau, cutoff=8.0, method=method), friction=["viscous", "coulomb"])
        assert_allclose(result.model.friction, [2.0, 0.7], atol=2e-3)
        assert_allclose(result.model.damping, [0.3, 0.1], atol=2e-3)


@pytest.mark.parametrize("method", ["filter", "spectral"])
def test_the_filter_s_gain_of_noise(measured, method):
    """A prescribed deviation is that of the torques as measured; after the filter it is smaller."""
    t, q, tau = measured
    noise = np.random.default_rng(0).normal(size=(2000, 2))
    result = record(ARM, t=t, q=q, tau=tau, cutoff=10.0, method=method)
    left = result.reduction.apply(noise)
    assert_allclose(left.std(), result.reduction.gain, rtol=0.1)  # 250 independent numbers
    fitted = fit(ARM, record(ARM, t=t, q=q, tau=tau, cutoff=10.0, method=method), noise=0.1, friction=False)
    assert_allclose(fitted.noise, 0.1 * result.reduction.gain)
    assert fitted.residuals.shape == left.shape


def test_uneven_times_are_interpolated(measured):
    t, _, _ = measured
    uneven = np.sort(t + np.random.default_rng(0).uniform(-1e-3, 1e-3, len(t)))
    q, qd, qdd = signal(uneven)
    result = record(ARM, t=uneven, q=q, tau=sixd.inverse_dynamics(ARM, q, qd, qdd), cutoff=10.0)
    assert np.ptp(np.diff(result.t)) < 1e-9
    assert_allclose(result.qd[50:-50], signal(result.t)[1][50:-50], atol=5e-3)


def header(kind):
    return {
        "names": ["t", *(f"{w}.{n}" for w in ("q", "tau") for n in NAMES)],
        "underscores": ["time", *(f"{w}_{n}" for w in ("q", "tau") for n in NAMES)],
        "numbers": ["timestamp", "q1", "q2", "tau1", "tau2"],
    }[kind]


def write_csv(path, names, table):
    lines = [",".join(names), *(",".join(map(repr, row)) for row in table.tolist())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["names", "underscores", "numbers"])
def test_csv(kind, measured, tmp_path):
    t, q, tau = measured
    path = write_csv(tmp_path / "log.csv", header(kind), np.column_stack([t, q, tau]))
    result, expected = record(ARM, path, cutoff=10.0), record(ARM, t=t, q=q, tau=tau, cutoff=10.0)
    assert_allclose(result.qdd, expected.qdd, atol=0)
    assert_allclose(result.tau, expected.tau, atol=0)


def test_csv_with_columns_of_other_names(measured, tmp_path):
    t, q, tau = measured
    names = ["pc_time", "shoulder", "elbow", "temperature", "i1", "i2"]
    path = write_csv(tmp_path / "log.csv", names, np.column_stack([t, q, 0 * t, tau]))
    columns = {"t": "pc_time", "q": ["shoulder", "elbow"], "tau": ["i1", "i2"]}
    assert_allclose(record(ARM, path, columns=columns).tau, tau[2:-2], atol=0)
    with pytest.raises(sixd.UnknownNameError, match=r"log.csv has no column 't'.*columns="):
        record(ARM, path)
    with pytest.raises(sixd.ScalarTypeError, match="names 1 columns for tau, expected 2"):
        record(ARM, path, columns=columns | {"tau": "i1"})
    with pytest.raises(sixd.UnknownNameError, match="Did you mean 'elbow'"):
        record(ARM, path, columns=columns | {"q": ["shoulder", "elbo"]})
    with pytest.raises(sixd.ScalarTypeError, match="expected names for"):
        record(ARM, path, columns={"t": "pc_time"})


def test_npz_and_mappings(measured, tmp_path):
    t, q, tau = measured
    np.savez(tmp_path / "log.npz", t=t, q=q, tau=tau, other=np.zeros(3))
    result = record(ARM, tmp_path / "log.npz")
    assert_allclose(result.q, q[2:-2], atol=0)
    assert_allclose(record(ARM, {"t": t, "q": q, "tau": tau}).q, result.q, atol=0)


def test_trajectories_of_simulations(tmp_path):
    """A file that Trajectory.save wrote has the same columns."""
    motion = sixd.simulate(ARM, [0.1, 0.2], None, 1.0, controller=np.array([1.0, 0.5]))
    motion.save(tmp_path / "motion.csv")
    motion.save(tmp_path / "motion.npz")
    for name in ("motion.csv", "motion.npz"):
        result = record(ARM, tmp_path / name)
        assert_allclose(result.qd, motion.qd[2:-2], atol=1e-8)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("0.0,1,2,3,4\n0.1,1,2,3,4\n", "starts with numbers"),
        ("t,q1,q2,tau1\n0,1,2,3\n", "no column 'tau2'"),
        ("t,q1,q2,tau1,tau2\n0,1,2,3,4\n0.1,1,x,3,4\n", "damaged in line 3: 'x' is not a number"),
        ("t,q1,q2,tau1,tau2\n0,1,2,3,4\n0.1,1\n", "damaged in line 3: it has 2 entries"),
        (
            "t,q1,q2,tau1,tau2\n0,1,2,3,4\n0,1,0,5,0,2,1,5,0,4\n",
            "line 3: it has 10 entries, expected 5.*decimal points",
        ),
        ("t,q1,q1,q2,tau1,tau2\n0,1,1,2,3,4\n", "log.csv has the name 'q1' twice"),
        ("t,q1,q2,tau1,tau2\n", "got 0 samples, expected at least 16"),
        ("t,q1,q2,tau1,tau2\n" + "".join(f"{k},nan,2,3,4\n" for k in range(20)), "q is not finite in 20 of 20"),
    ],
)
def test_broken_tables(text, words, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(sixd.SixdError, match=words):
        record(ARM, path)


def test_wrong_names_of_columns(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,a,b,c,d\n0,1,2,3,4\n")
    with pytest.raises(sixd.ScalarTypeError, match="columns of t is 0, expected names"):
        record(ARM, path, columns={"t": 0, "q": [1, 2], "tau": [3, 4]})
    with pytest.raises(sixd.ScalarTypeError, match="columns= has the name 'a' twice"):
        record(ARM, path, columns={"t": "t", "q": ["a", "a"], "tau": ["c", "d"]})


def test_angles_that_wrap(measured):
    t, q, tau = measured
    turned = q + 20 * t[:, None]
    wrapped = (turned + np.pi) % (2 * np.pi) - np.pi
    with pytest.raises(sixd.ScalarTypeError, match="jumps by -6.* rad after sample .*numpy.unwrap"):
        record(ARM, t=t, q=wrapped, tau=tau)
    again = np.unwrap(wrapped, axis=0)
    assert_allclose(record(ARM, t=t, q=again, tau=tau).qd, record(ARM, t=t, q=turned, tau=tau).qd, atol=1e-9)


def test_broken_files(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"\xff\xfe\x00t,q")
    with pytest.raises(sixd.LoadError, match="not a table"):
        record(ARM, tmp_path / "log.csv")
    (tmp_path / "log.npz").write_bytes(b"PK\x03\x04nonsense")
    with pytest.raises(sixd.LoadError, match="damaged, or not an .npz file"):
        record(ARM, tmp_path / "log.npz")
    np.savez(tmp_path / "part.npz", t=np.arange(20.0), q=np.zeros((20, 2)))
    with pytest.raises(sixd.LoadError, match="tau is missing"):
        record(ARM, tmp_path / "part.npz")
    np.savez(tmp_path / "pickle.npz", t=np.array([{}], dtype=object), q=np.zeros(1), tau=np.zeros(1))
    with pytest.raises(sixd.LoadError, match="damaged"):
        record(ARM, tmp_path / "pickle.npz")
    with pytest.raises(sixd.LoadError, match="cannot read"):
        record(ARM, tmp_path / "none.csv")
    with pytest.raises(sixd.UnknownNameError, match="no file format named '.mat'"):
        record(ARM, tmp_path / "log.mat")


def test_times_that_do_not_increase(measured):
    t, q, tau = measured
    for change in (lambda t: t[::-1], lambda t: np.concatenate([t[:9], t[8:-1]]), lambda t: 0 * t):
        with pytest.raises(sixd.ScalarTypeError, match="does not increase after sample"):
            record(ARM, t=change(t), q=q, tau=tau)
    with pytest.raises(sixd.ScalarTypeError, match="gap from"):
        record(ARM, t=t + (t > 5) * 1.0, q=q, tau=tau)


def test_wrong_arguments(measured):
    t, q, tau = measured
    with pytest.raises(sixd.ShapeError, match=r"q has shape \(2000, 1\), expected \(n, 2\)"):
        record(ARM, t=t, q=q[:, :1], tau=tau)
    with pytest.raises(sixd.ShapeError, match="tau has shape"):
        record(ARM, t=t, q=q, tau=tau[:-1])
    with pytest.raises(sixd.ScalarTypeError, match="tau is missing"):
        record(ARM, t=t, q=q)
    with pytest.raises(sixd.ScalarTypeError, match="one of the two"):
        record(ARM, {"t": t, "q": q, "tau": tau}, q=q)
    with pytest.raises(sixd.ScalarTypeError, match="got columns without a file"):
        record(ARM, t=t, q=q, tau=tau, columns={})
    for cutoff in (0, -1, 120.0, np.nan, "low"):
        with pytest.raises(sixd.ScalarTypeError, match="cutoff is"):
            record(ARM, t=t, q=q, tau=tau, cutoff=cutoff)
    with pytest.raises(sixd.ShapeError, match="leave .* after the filter"):
        record(ARM, t=t[:60], q=q[:60], tau=tau[:60], cutoff=1.0)
    with pytest.raises(sixd.ShapeError, match="leave 0 after the filter"):
        record(ARM, t=t, q=q, tau=tau, cutoff=1e-9)
    with pytest.raises(sixd.ShapeError, match=r"expected \(n, 2\) with n = 1999 times"):
        record(ARM, t=t[1:], q=q, tau=tau)
    with pytest.raises(sixd.UnknownNameError, match="no method named 'kalman'"):
        record(ARM, t=t, q=q, tau=tau, method="kalman")
    with pytest.raises(sixd.ModelError, match="Free"):
        record(sixd.zoo.single_body(), t=t, q=q, tau=tau)
    with pytest.raises(sixd.ScalarTypeError, match="expected a sixd.Model"):
        record("arm", t=t, q=q, tau=tau)
