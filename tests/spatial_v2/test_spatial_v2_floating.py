"""sixd.spatial_v2: floating bases."""

import numpy as np
import pytest

import sixd
import sixd.spatial_v2 as sv


def close(got, wanted, tolerance=1e-12):
    wanted = np.asarray(wanted, dtype=float)
    scale = max(1.0, np.abs(wanted).max(initial=0.0))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * scale)


def random_base(rng):
    x = rng.standard_normal(13)
    x[:4] /= np.linalg.norm(x[:4])
    return x


# floatbase --------------------------------------------------------------------------------------


def test_floatbase_numbering():
    tree = sv.autoTree(4, 2)
    tree.camera = {"body": 3}
    tree.gc = {"body": [1, 0, 4], "point": np.zeros((3, 3))}
    fb = sv.floatbase(tree)
    assert fb.NB == 9
    assert fb.parent.tolist() == [0, 1, 2, 3, 4, 5, 6, 6, 7]
    assert fb.jtype == ["Px", "Py", "Pz", "Rx", "Ry", "Rz", "R", "R", "R"]
    assert not np.any(fb.I[:5])
    assert np.array_equal(fb.I[5:], tree.I)
    assert np.array_equal(fb.Xtree[6:], tree.Xtree[1:])
    assert fb.camera["body"] == 8
    assert fb.gc["body"].tolist() == [6, 0, 9]
    assert fb.appearance.body[:5] == [[]] * 5
    assert len(fb.appearance.body) == 9
    fb.I[5][0, 0] = 99  # the old model is not touched
    assert tree.I[0][0, 0] != 99
    assert (tree.NB, tree.camera["body"]) == (4, 3)


def test_floatbase_warns():
    tree = sv.autoTree(2)
    tree.Xtree[0] = sv.xlt([1, 2, 3])
    with pytest.warns(sixd.ModelWarning, match=r"Xtree\(1\) is not the identity; it is kept as Xtree\(6\)"):
        fb = sv.floatbase(tree)
    close(fb.Xtree[5], sv.xlt([1, 2, 3]))
    tree = sv.autoTree(2)
    tree.gamma_q = sv.doubleElbow().gamma_q
    with pytest.warns(sixd.ModelWarning, match="gamma_q is kept"):
        sv.floatbase(tree)


# fbkin and fbanim -------------------------------------------------------------------------------


def test_fbkin_convention(rng):
    q, qd = rng.uniform(-1, 1, (2, 6))
    x = sv.fbkin(q, qd)
    close(sv.rq(x[:4]), sv.rz(q[5]) @ sv.ry(q[4]) @ sv.rx(q[3]))
    close(x[4:7], q[:3])
    close(x[:7], sv.fbkin(q))
    # the same as the joints of floatbase say
    model = sv.singlebody()
    close(sv.EnerMo(model, q, qd).htot, sv.EnerMo(model, q, np.zeros(6)).Itot @ x[7:])
    # the origin's velocity is that of the spatial velocity there
    close(sv.Vpt(x[7:], x[4:7]), qd[:3])


def test_fbkin_rates_are_derivatives(rng):
    q, qd, qdd = rng.uniform(-1, 1, (3, 6))
    x, xd = sv.fbkin(q, qd, qdd)
    h = 1e-6
    ahead, behind = (sv.fbkin(q + s * qd + s * s / 2 * qdd, qd + s * qdd) for s in (h, -h))
    close(xd, (ahead - behind) / (2 * h), 1e-8)  # central differences
    close(x, sv.fbkin(q, qd))


def test_fbkin_round_trips(rng):
    for _ in range(20):
        q, qd, qdd = rng.uniform(-1, 1, (3, 6)) * [1, 1, 1, np.pi, np.pi / 2, np.pi]
        x, xd = sv.fbkin(q, qd, qdd)
        close(sv.fbkin(x[:7]), q, 1e-11)
        for got, wanted in zip(sv.fbkin(x, xd), (q, qd, qdd), strict=True):
            close(got, wanted, 1e-8)  # q5 may come near the singularity

        x = random_base(rng)
        q, qd = sv.fbkin(x)
        assert abs(q[4]) <= np.pi / 2
        assert np.abs(q[[3, 5]]).max() <= np.pi
        back = sv.fbkin(q, qd)
        close(sv.rq(back[:4]), sv.rq(x[:4]))
        close(back[4:], x[4:], 1e-10)


def test_fbkin_at_the_singularity():
    x = np.concatenate([sv.rq(sv.rz(0.3) @ sv.ry(np.pi / 2)), np.zeros(3), np.ones(6)])
    q = sv.fbkin(x[:7])
    close(sv.rq(sv.fbkin(q)[:4]), sv.rq(x[:4]))
    with pytest.raises(sixd.SingularError, match=r"fbkin: q5 is ±π/2.*fbkin\(x\[:7\]\)"):
        sv.fbkin(x)
    with pytest.raises(sixd.ScalarTypeError, match="fbkin: qd is None"):
        sv.fbkin(q, None, q)


def test_fbanim_unwraps():
    t = np.linspace(0, 12, 200)
    Q = np.array([t, -t, 0 * t, 2 * t, 1.1 * t, -3 * t])  # q5 passes ±π/2 many times
    P = np.array([sv.fbkin(q) for q in Q.T]).T
    close(sv.fbanim(P), Q, 1e-9)
    X = np.vstack([P, np.zeros((6, 200))])
    close(sv.fbanim(X[:, None, :], [t, 2 * t]), np.vstack([Q, t, 2 * t]), 1e-9)
    close(sv.fbanim(P, t[None, None, :])[6], t)
    with pytest.raises(sixd.ShapeError, match="Qr has 3 samples, X 200"):
        sv.fbanim(P, np.zeros((1, 3)))


# dynamics ---------------------------------------------------------------------------------------


def test_FDfb_and_IDfb_agree(rng):
    model = sv.floatbase(sv.autoTree(5, 1.5, 1, 0.9))
    x, (q, qd, tau) = random_base(rng), rng.standard_normal((3, 4))
    f_ext = [None] * 5 + list(rng.standard_normal((5, 6)))
    xd, qdd = sv.FDfb(model, x, q, qd, tau, f_ext)
    xd_back, tau_back = sv.IDfb(model, x, q, qd, qdd, f_ext)
    close(xd_back, xd, 1e-10)
    close(tau_back, tau, 1e-10)
    # forces on the five massless bodies in front are not read
    close(sv.FDfb(model, x, q, qd, tau, [np.full(6, 7.0)] * 5 + f_ext[5:])[0], xd)


def test_FDfb_agrees_with_the_six_joints(rng):
    model = sv.floatbase(sv.autoTree(5, 1.5, 1, 0.9))
    q, qd, tau = rng.uniform(-1, 1, (3, 10))
    tau[:6] = 0
    f_ext = [None] * 5 + list(rng.standard_normal((5, 6)))
    qdd = sv.FDab(model, q, qd, tau, f_ext)
    x, xd = sv.fbkin(q[:6], qd[:6], qdd[:6])
    xd_fb, qdd_fb = sv.FDfb(model, x, q[6:], qd[6:], tau[6:], f_ext)
    close(xd_fb, xd, 1e-10)
    close(qdd_fb, qdd[6:], 1e-10)


def test_FDfb_agrees_with_the_free_joint(rng):
    """xfb to sixd's free joint: the same seven numbers, then the velocity in body coordinates."""
    x, (q, qd, tau) = random_base(rng), rng.standard_normal((3, 1))
    xd, qdd = sv.FDfb(sv.vee(0.7), x, q, qd, tau)
    X = sv.plux(sv.rq(x[:4]), x[4:7])
    native = sixd.zoo.vee(0.7)
    qdd_native = sixd.forward_dynamics(
        native, np.concatenate([x[:7], q]), np.concatenate([X @ x[7:], qd]), np.concatenate([np.zeros(6), tau])
    )
    close(X @ xd[7:], qdd_native[:6], 1e-10)
    close(qdd, qdd_native[6:], 1e-10)
    close(xd[:4], sv.rqd(x[7:10], x[:4]))
    close(xd[4:7], sv.rq(x[:4]).T @ (X @ x[7:])[3:])


def test_a_single_body_has_no_joint_forces(rng):
    """The original left tau unassigned here."""
    model = sv.singlebody()
    x = random_base(rng)
    xd, tau = sv.IDfb(model, x)
    assert tau.shape == (0,)
    close(xd, sv.FDfb(model, x, [], [], [])[0], 1e-11)


def test_tumbling_box():
    spin = [0.4, 2, 0]  # about the centre of mass
    x = np.concatenate([[1, 0, 0, 0], np.zeros(3), spin, np.cross([1.5, 1, 0.5], spin)])
    ret = sv.EnerMo(sv.singlebody(), *sv.fbkin(x))
    close(ret.KE, 1.7)
    close(ret.htot, [1 / 6, 5 / 3, 0, 0, 0, 0])
    close(ret.vcm, np.zeros(3))
    # the centre stays at rest and momentum is conserved: I a + v×* I v = 0
    xd, _ = sv.FDfb(sv.singlebody(), x)
    close(ret.Itot @ xd[7:] + sv.crf(x[7:]) @ ret.htot, np.zeros(6))


def test_scissor():
    q = 0.1
    x = [np.cos(q / 4), 0, -np.sin(q / 4), 0, 0, 0, 0, 0, 0, 3, 0, 0, 0]
    out = sv.gcFD(sv.scissor(), "FDfb", [*x, q, 0, 0])
    close(out[13], 0.8293853075, 1e-10)
    close(out[7:13], [0, -0.4146926538, 0, 0, 0, 0], 1e-10)


# contact forces ---------------------------------------------------------------------------------


def test_gcFD_sums_the_forces_of_each_body(rng):
    model = sv.rollingdisc(2)
    x, f = random_base(rng), rng.standard_normal((3, 4))
    points = sv.gcPosVel(model, x)[:3]
    forces = sv.Fpt(f, points)
    out = sv.gcFD(model, sv.FDfb, np.concatenate([x, forces.ravel(order="F")]))
    close(out, np.concatenate(sv.FDfb(model, x, f_ext=[None] * 5 + [forces.sum(axis=1)])))

    arm = sv.planar(2)
    arm.gc = {"body": [2, 1, 2], "point": rng.standard_normal((2, 3))}
    q, qd, tau = rng.standard_normal((3, 2))
    forces = rng.standard_normal((3, 3))
    f_ext = [forces[:, 1], forces[:, 0] + forces[:, 2]]
    u = np.concatenate([q, qd, tau, forces.ravel(order="F")])
    for name in ("FDab", "FDcrb"):
        close(sv.gcFD(arm, name, u), getattr(sv, name)(arm, q, qd, tau, f_ext), 1e-11)
    with pytest.raises(sixd.ShapeError, match="expected a vector of 15 numbers"):
        sv.gcFD(arm, "FDab", u[:-1])
