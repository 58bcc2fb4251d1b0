"""sixd.spatial_v2: dynamics of trees and of floating bases, by identities, by course cases and against sixd's own joints."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sixd
import sixd.spatial_v2 as sv


def close(got, wanted, tolerance=1e-12):
    wanted = np.asarray(wanted, dtype=float)
    scale = max(1.0, np.abs(wanted).max(initial=0.0))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * scale)


def mixed():
    """A spatial tree of every joint type."""
    model = sv.autoTree(8, 1.6, 0.7, 0.9)
    model.jtype = ["Rx", "Px", {"code": "H", "pars": {"pitch": 0.2}}, "Ry", "Py", "R", "Pz", "Rz"]
    model.gravity = [0.5, -1, -9]
    return model


def flat():
    """A planar tree of every joint type."""
    model = sv.planar(5)
    model.parent, model.jtype, model.gravity = [0, 1, 1, 2, 3], ["r", "px", "r", "py", "r"], [0, -9.81]
    model.Xtree[2] = sv.plnr(0.4, [0.3, 0.2])
    return model


MODELS = pytest.mark.parametrize("model", [mixed(), flat(), sv.vee(0.7), sv.autoTree(7, 2, 1, 0.8)], ids=lambda m: m.NB)


@pytest.fixture
def state(rng):
    return lambda model: rng.uniform(-1, 1, (4, model.NB))


# course cases -----------------------------------------------------------------------------------


def test_Mod1_index_sets():
    model = sv.autoTree(5)
    model.parent = [0, 1, 1, 3, 3]
    tree = sv.to_model(model).tree
    assert [tree.ancestors(i) for i in range(1, 6)] == [(1,), (1, 2), (1, 3), (1, 3, 4), (1, 3, 5)]
    assert [tree.children(i) for i in range(6)] == [(1,), (2, 3), (), (4, 5), (), ()]
    assert [tree.subtree(i) for i in range(1, 6)] == [(1, 2, 3, 4, 5), (2,), (3, 4, 5), (4,), (5,)]
    assert tree.depth() == 3
    # H has the pattern that the supports give
    H, _ = sv.HandC(model, [0.1, 0.2, 0.3, 0.4, 0.5], np.zeros(5))
    related = [[i in tree.ancestors(j) or j in tree.ancestors(i) for j in range(1, 6)] for i in range(1, 6)]
    assert np.array_equal(H != 0, related)


def test_Mod2a_cylindrical():
    """A revolute after a prismatic joint on one axis is a cylindrical joint."""
    theta, d = 0.4, 0.7
    (R, S1), (P, S2) = sv.jcalc("R", theta), sv.jcalc("Pz", d)
    X = R @ P
    close(X, sv.rotz(theta) @ sv.xlt([0, 0, d]))
    s, c = np.sin(theta), np.cos(theta)
    close(X[3:, :3], d * np.array([[-s, c, 0], [-c, -s, 0], [0, 0, 0]]))
    assert S1.tolist() == [0, 0, 1, 0, 0, 0]
    assert (R @ S2).tolist() == [0, 0, 0, 0, 0, 1]


def test_Mod2b_helical():
    X, S = sv.jcalc({"code": "H", "pars": {"pitch": 0.3}}, 0.4)
    close(X, sv.rotz(0.4) @ sv.xlt([0, 0, 0.12]))
    close(S, [0, 0, 1, 0, 0, 0.3])


def test_planar_joints():
    for code, X, S in [("r", sv.plnr(0.4, [0, 0]), [1, 0, 0]), ("px", sv.plnr(0, [0.4, 0]), [0, 1, 0]),
                       ("py", sv.plnr(0, [0, 0.4]), [0, 0, 1])]:  # fmt: skip
        close(sv.jcalc(code, 0.4)[0], X)
        close(sv.jcalc(code, 0.4)[1], S)


def test_ID1_mass_matrix_and_bias_from_inverse_dynamics():
    model, q, qd, qdd = sv.planar(2), [0.3, 0.5], np.array([1.0, -2.0]), [0.4, 0.6]
    C = sv.ID(model, q, qd, [0, 0])
    H = np.array([sv.ID(model, q, qd, e) - C for e in np.eye(2)]).T
    s2, c2 = np.sin(0.5), np.cos(0.5)
    close(H, [[5 / 3 + c2, 1 / 3 + c2 / 2], [1 / 3 + c2 / 2, 1 / 3]])
    close(C, [-s2 * (2 * qd[0] * qd[1] + qd[1] ** 2) / 2, s2 * qd[0] ** 2 / 2])
    for got, wanted in zip(sv.HandC(model, q, qd), (H, C), strict=True):
        close(got, wanted)
    close(sv.ID(model, q, qd, qdd), [1.48097445999, 0.748562615014], 1e-11)


def test_coriolis_matrix(state):
    """Closed form of the planar arm; C q̇ and dH/dt for any factor, by HandC and by differences."""
    u1, u2, h = 1.0, -2.0, np.sin(0.5) / 2
    close(sv.CoriolisMatrix(sv.planar(2), [0.3, 0.5], [u1, u2])[0], [[-h * u2, -h * (u1 + u2)], [h * u1, 0]])
    for model in (mixed(), flat()):
        q, qd, *_ = state(model)
        first, second = (sv.CoriolisMatrix(model, q, qd, fn) for fn in (None, lambda I, v: sv.crf(v) @ I))
        assert np.abs(first[0] - second[0]).max() > 1e-3
        step = 1e-6
        ahead, behind = (sv.HandC(model, q + s * qd, qd)[0] for s in (step, -step))
        velocity_force = sv.HandC(model, q, qd)[1] - sv.HandC(model, q, 0 * qd)[1]
        for C, H_dot, H in (first, second):
            close(C @ qd, velocity_force, 1e-11)
            close(H, sv.HandC(model, q, qd)[0])
            close(H_dot, (ahead - behind) / (2 * step), 1e-7)  # central differences


def test_coriolis_matrix_wants_a_function():
    with pytest.raises(sixd.ScalarTypeError, match=r"CoriolisMatrix: fn is 3, expected a function B = fn\(I, v\)"):
        sv.CoriolisMatrix(sv.planar(2), [0, 0], [0, 0], 3)
    with pytest.raises(sixd.ShapeError, match=r"CoriolisMatrix: B of fn has shape \(6,\), expected a matrix 6×6"):
        sv.CoriolisMatrix(sv.planar(2), [0, 0], [0, 0], lambda I, v: v)


def test_Effi1_equal_dynamics(rng):
    """A point mass at the joint may go from link 1 to link 2; m = 1 leaves link 1 massless with a negative moment."""
    for m in (0.4, 1.0):
        model = sv.planar(2)
        model.I[0] = model.I[0] - sv.mcI(m, [1, 0], 0)
        model.I[1] = model.I[1] + sv.mcI(m, [0, 0], 0)
        q, qd, qdd = rng.standard_normal((3, 2))
        close(sv.ID(model, q, qd, qdd), sv.ID(sv.planar(2), q, qd, qdd))
        close(sv.FDab(model, q, qd, qdd), sv.FDab(sv.planar(2), q, qd, qdd), 1e-11)
    assert model.I[0][1, 1] == 0 > model.I[0][0, 0]


def test_planar_tip_load():
    model, q = sv.planar(2), np.array([0.3, 0.5])
    F = np.array([2.0, -3.0])
    (s1, s12), (c1, c12) = np.sin([0.3, 0.8]), np.cos([0.3, 0.8])
    J = np.array([[-s1 - s12, -s12], [c1 + c12, c12]])
    load = sv.Fpt(F, [c1 + c12, s1 + s12])
    change = sv.ID(model, q, [1, 2], [3, 4], [None, load]) - sv.ID(model, q, [1, 2], [3, 4])
    close(change, -J.T @ F)
    close(sv.ID(model, q, [1, 2], [3, 4], []), sv.ID(model, q, [1, 2], [3, 4]))


# identities -------------------------------------------------------------------------------------


@MODELS
def test_forward_inverts_inverse(model, state, rng):
    q, qd, qdd, _ = state(model)
    f_ext = list(rng.standard_normal((model.NB, len(model.Xtree[0]))))
    f_ext[1] = []
    tau = sv.ID(model, q, qd, qdd, f_ext)
    close(sv.FDab(model, q, qd, tau, f_ext), qdd, 1e-11)
    close(sv.FDcrb(model, q, qd, tau, f_ext), qdd, 1e-11)
    H, C = sv.HandC(model, q, qd, f_ext)
    close(H @ qdd + C, tau)


@MODELS
def test_hybrid_dynamics_agrees_with_ID_and_FDab(model, state):
    q, qd, qdd, tau = state(model)
    n = model.NB
    ignored = np.full(n, np.nan)
    close(sv.HD(model, np.ones(n), q, qd, ignored, tau)[0], sv.FDab(model, q, qd, tau), 1e-11)
    close(sv.HD(model, np.zeros(n), q, qd, qdd, ignored)[1], sv.ID(model, q, qd, qdd))
    fd = np.arange(n) % 2
    qdd_out, tau_out = sv.HD(model, fd, q, qd, np.where(fd, np.nan, qdd), np.where(fd, tau, np.nan))
    close(tau_out, sv.ID(model, q, qd, qdd_out), 1e-10)
    assert np.array_equal(np.where(fd, tau_out, qdd_out), np.where(fd, tau, qdd))


@MODELS
def test_energy_and_momentum(model, state):
    q, qd, qdd, tau = state(model)
    ret = sv.EnerMo(model, q, qd)
    H, _ = sv.HandC(model, q, qd)
    close(ret.KE, qd @ H @ qd / 2)
    d = len(ret.htot)
    gravity = sv.get_gravity(model)[-len(ret.cm) :]
    close(ret["PE"], -ret.mass * ret.cm @ gravity)
    close(ret.vcm, ret.htot[d - len(ret.cm) :] / ret.mass)
    m, c, _ = sv.mcI(ret.Itot)
    close([m, *c], [ret.mass, *ret.cm])
    # power of the joints is the rate of the energy, here by differences of 1e-6 s
    h = 1e-6
    qdd = sv.FDab(model, q, qd, tau)
    ahead, behind = (sv.EnerMo(model, q + s * qd + s * s / 2 * qdd, qd + s * qdd) for s in (h, -h))
    power = (ahead.KE + ahead.PE - behind.KE - behind.PE) / (2 * h)
    assert abs(power - tau @ qd) < 1e-5 * max(1.0, abs(tau @ qd), np.abs(qdd).max())


def test_apply_external_forces_is_what_ID_does(state, rng):
    for model in (mixed(), flat()):
        q, d = state(model)[0], len(model.Xtree[0])
        Xup = [sv.jcalc(j, x)[0] @ X for j, x, X in zip(model.jtype, q, model.Xtree, strict=True)]
        f_ext = [None, *rng.standard_normal((model.NB - 1, d))]
        f = sv.apply_external_forces(model.parent, Xup, [np.zeros(d)] * model.NB, f_ext)
        for i in reversed(range(model.NB)):  # hand the forces down to the base
            if model.parent[i]:
                f[model.parent[i] - 1] = f[model.parent[i] - 1] + Xup[i].T @ f[i]
        tau = [sv.jcalc(j, x)[1] @ fi for j, x, fi in zip(model.jtype, q, f, strict=True)]
        zero = np.zeros(model.NB)
        close(tau, sv.ID(model, q, zero, zero, f_ext) - sv.ID(model, q, zero, zero))


def test_default_gravity():
    assert sv.get_gravity(sv.autoTree(1)).tolist() == [0, 0, 0, 0, 0, -9.81]
    assert sv.get_gravity(sv.planar(1)).tolist() == [0, 0, 0]
    assert sv.get_gravity({**sv.planar(1), "gravity": np.array([[1], [2]])}).tolist() == [0, 1, 2]


# loop closure -----------------------------------------------------------------------------------


def test_only_projected_torques_matter():
    q, qd = [0.3, 0.7, 0.7], [0.5, -0.4, -0.4]
    close(sv.FDgq(sv.doubleElbow(), q, qd, [1, 2, 3]), sv.FDgq(sv.doubleElbow(), q, qd, [1, 5, 0]))


def test_gamma_q_pulls_back_to_the_constraint():
    model = sv.doubleElbow()
    qo, qdo = [0.3, 0.7, 0.75], [0.5, -0.4, -0.3]
    q, qd, _, g = model.gamma_q(model, qo, qdo)
    close(q, [0.3, 0.7, 0.7])
    close(qd, [0.5, -0.4, -0.4])
    close(g, [0, 0, 20 * -0.1 + 100 * -0.05])
    qdd = sv.FDgq(model, qo, qdo, [0, 0, 0])
    close(qdd[2] - qdd[1], g[2], 1e-11)


def sine_gear(model, qo, qdo):
    """planar(2) with q2 = 2 sin q1."""
    y, yd, Ts = qo[0], qdo[0], 0.1
    G = np.array([[1.0], [2 * np.cos(y)]])
    q, qd = np.array([y, 2 * np.sin(y)]), G[:, 0] * yd
    return q, qd, G, [0, -2 * np.sin(y) * yd**2] + 2 / Ts * (qd - qdo) + (q - qo) / Ts**2


def test_gear_turns_work_into_kinetic_energy():
    """tau = [1, 0] from rest: the work done is q1."""
    model = sv.planar(2)
    model.gamma_q = sine_gear

    def rate(_, x):
        return np.concatenate([x[2:], sv.FDgq(model, x[:2], x[2:], [1, 0])])

    x = solve_ivp(rate, (0, 5), np.zeros(4), method="DOP853", rtol=1e-10, atol=1e-10).y[:, -1]
    close([x[0], sv.EnerMo(model, x[:2], x[2:]).KE], [3.946604705427] * 2, 1e-8)  # the integrator's accuracy
