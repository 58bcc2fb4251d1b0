"""sixd.spatial_v2 on compiled code: models recognised by content, joints of several degrees of freedom, the course's functions."""

import copy
import threading

import numpy as np
import pytest

import sixd
import sixd.spatial_v2 as sv
from sixd.algorithms.aba import aba
from sixd.algorithms.crba import crba
from sixd.algorithms.rnea import bias_force, rnea
from sixd.spatial_v2 import compiled


def close(got, wanted, tolerance=1e-11):
    wanted = np.asarray(wanted, dtype=float)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * max(1.0, np.abs(wanted).max(initial=0.0)))


RACK = {"code": "rack", "pars": {"radius": 0.3}}
HELIX = {"code": "H", "pars": {"pitch": 0.2}}


def mixed(codes=("Rx", "Px", HELIX, "Ry", "Py", "R", RACK, "Rz")):
    model = sv.autoTree(len(codes), 1.6, 0.7, 0.9)
    model.jtype = list(codes)
    model.gravity = [0.5, -1, -9]
    return model


def several():
    """A tree with joints of several degrees of freedom."""
    return mixed(("C", "R", "S", RACK, "Fb", HELIX))


def state(model, seed=0):
    """q, and three arrays of the size of qd."""
    tree, rng = sv.to_model(model), np.random.default_rng(seed)
    return tree.random_configuration(rng), *rng.standard_normal((3, tree.nv))


@pytest.fixture(autouse=True)
def forgotten():
    """No model is known at first."""
    compiled._known.clear(), compiled._last.clear(), compiled._new.clear()


def plain(model, q, qd, x):
    tree = sv.to_model(model)
    return rnea(tree, q, qd, x), aba(tree, q, qd, x), crba(tree, q), bias_force(tree, q, qd)


def through(model, q, qd, x):
    return sv.ID(model, q, qd, x), sv.FDab(model, q, qd, x), *sv.HandC(model, q, qd)


MODELS = {"mixed": mixed, "several": several, "planar": lambda: sv.planar(3), "floating": lambda: sv.vee(0.7)}


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_compiled_equals_plain(name):
    model = MODELS[name]()
    for seed in range(3):
        q, qd, x, _ = state(model, seed)
        for got, wanted in zip(through(model, q, qd, x), plain(model, q, qd, x), strict=True):
            close(got, wanted)
            assert got.dtype == float
    kernels = compiled.mechanism("test", model)._kernels
    assert {name for name, *_ in kernels} == {"ID", "FDab", "HandC"}
    assert None not in kernels.values()


@pytest.mark.long
@pytest.mark.parametrize("name", ["mixed", "several"])
def test_forces_and_laws(name):
    model = MODELS[name]()
    q, qd, qdd, _ = state(model)
    f_ext = list(np.random.default_rng(1).standard_normal((model.NB, 6)))
    f_ext[1] = None
    tau = sv.ID(model, q, qd, qdd, f_ext)
    close(sv.FDab(model, q, qd, tau, f_ext), qdd, 1e-9)  # the inverse of a mass matrix
    H, C = sv.HandC(model, q, qd, f_ext)
    close(H @ qdd + C, tau)
    close(sv.ID(model, q, qd, qdd, []), sv.ID(model, q, qd, qdd))
    close(sv.FDcrb(model, q, qd, tau, f_ext), qdd, 1e-9)
    close(sv.EnerMo(model, q, qd).KE, qd @ H @ qd / 2)
    close(sv.CoriolisMatrix(model, q, qd)[2], H)


CHANGES = {
    "an entry of an inertia": lambda m: (
        m.I[1].__setitem__((3, 3), m.I[1][3, 3] + 0.5)
        or m.I[1].__setitem__((4, 4), m.I[1][3, 3])
        or m.I[1].__setitem__((5, 5), m.I[1][3, 3])
    ),
    "a whole inertia": lambda m: m.I.__setitem__(0, 2 * m.I[0]),
    "an entry of Xtree": lambda m: m.Xtree[2].__setitem__(slice(None), sv.xlt([0.1, 0.2, 0.3])),
    "a joint type": lambda m: m.jtype.__setitem__(4, "Pz"),
    "a pitch": lambda m: m.jtype[2]["pars"].__setitem__("pitch", 0.7),
    "a radius": lambda m: m.jtype[6]["pars"].__setitem__("radius", 0.5),
    "a parent": lambda m: m.parent.__setitem__(3, 1),
    "gravity": lambda m: m.gravity.__setitem__(2, -3.7),
    "gravity removed": lambda m: m.pop("gravity"),
}


@pytest.mark.many
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_in_place_changes_the_result(change):
    model = copy.deepcopy(mixed())
    model.parent = np.array(model.parent)
    q, qd, x, _ = state(model)
    before = through(model, q, qd, x)
    old = copy.deepcopy(model)
    CHANGES[change](model)
    after = through(model, q, qd, x)
    assert max(np.abs(a - b).max() for a, b in zip(after, before, strict=True)) > 1e-6
    for got, wanted in zip(after, plain(model, q, qd, x), strict=True):
        close(got, wanted)
    for got, wanted in zip(through(old, q, qd, x), before, strict=True):
        assert np.array_equal(got, wanted)


def test_a_model_of_the_same_values_is_the_same_model():
    first, second = sv.planar(2), copy.deepcopy(sv.planar(2))
    assert compiled.mechanism("test", first) is compiled.mechanism("test", second)
    lists = sv.Struct(sv.planar(2))
    lists.I, lists.Xtree = [x.tolist() for x in lists.I], [x.tolist() for x in lists.Xtree]
    close(sv.ID(lists, [0.3, 0.5], [1, -2], [0.4, 0.6]), sv.ID(first, [0.3, 0.5], [1, -2], [0.4, 0.6]))
    lists.I[0][0][0] += 1.0
    assert sv.ID(lists, [0.3, 0.5], [1, -2], [0.4, 0.6])[0] != sv.ID(first, [0.3, 0.5], [1, -2], [0.4, 0.6])[0]


def test_fields_of_other_kinds():
    """Cells as object arrays, whole numbers, single precision; values of unknown kinds are read at every call."""
    q, qd, x = [0.3, 0.5], [1, -2], [0.4, 0.6]
    wanted = sv.ID(sv.planar(2), q, qd, x)
    model = sv.planar(2)
    cells = np.empty(2, dtype=object)
    cells[:] = model.I
    model.I, model.NB, model.parent = cells, np.int64(2), np.array([0.0, 1.0])
    close(sv.ID(model, q, qd, x), wanted)
    model.I[1] = model.I[1] * 2
    assert np.abs(sv.ID(model, q, qd, x) - wanted).max() > 0.1
    model.I[1] = np.ma.array(sv.planar(2).I[1])
    close(sv.ID(model, q, qd, x), wanted)
    close(sv.ID(model, q, qd, x), wanted)


def test_sweeps_are_not_compiled():
    """After three models that were used once, new ones run plainly until they have been used often."""
    q, qd, x = [0.3, 0.5], [1, -2], [0.4, 0.6]
    made = []
    for k in range(6):
        model = sv.planar(2)
        model.I[1] = model.I[1] * (1 + k)
        close(sv.ID(model, q, qd, x), rnea(sv.to_model(model), q, qd, np.array(x)))
        made.append(len(compiled.mechanism("test", model)._kernels))
    assert made == [1, 1, 1, 0, 0, 0]
    for _ in range(compiled._PATIENCE):
        sv.ID(model, q, qd, x)
    assert len(compiled.mechanism("test", model)._kernels) == 1


def test_few_models_are_remembered():
    for k in range(compiled._MOST + 5):
        model = sv.planar(1)
        model.gravity = [0, float(k)]
        sv.ID(model, [0], [0], [0])
    assert len(compiled._known) == compiled._MOST
    assert len(compiled._last) <= compiled._MOST


def test_results_do_not_share_memory():
    model = sv.planar(2)
    first = sv.ID(model, [0.3, 0.5], [1, -2], [0.4, 0.6])
    kept = first.copy()
    sv.ID(model, [0.1, 0.2], [1, 1], [0, 0])
    assert np.array_equal(first, kept)
    first[:] = 0  # may be written to
    H, _ = sv.HandC(model, [0.3, 0.5], [1, -2])
    H[0, 0] = 0


def test_threads():
    model = mixed()
    q, qd, x, _ = state(model)
    wanted, got = rnea(sv.to_model(model), q, qd, x), []
    threads = [threading.Thread(target=lambda: got.extend(sv.ID(model, q, qd, x) for _ in range(20))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 80
    for tau in got:
        close(tau, wanted)


def test_massless_ends():
    """A massless body at the end of a chain is singular for FDab, not for ID; a negative moment is no obstacle."""
    model = sv.planar(2)
    model.I[1] = np.zeros((3, 3))
    for _ in range(2):
        with pytest.raises(sixd.SingularError, match="FDab: the mass matrix is singular"):
            sv.FDab(model, [0.3, 0.5], [1, -2], [1, 1])
        assert sv.ID(model, [0.3, 0.5], [1, -2], [1, 1])[1] == 0
    assert not np.isfinite(sv.FDab(sv.planar(2), [0, np.inf], [1, 1], [0, 0])).all()
    assert np.isnan(sv.FDab(sv.planar(2), [0, np.nan], [1, 1], [0, 0])).any()


# the course's functions -----------------------------------------------------------------------------


def test_index_sets():
    lam = [0, 1, 1, 3, 3]
    assert sv.kappa(lam) == [[1], [1, 2], [1, 3], [1, 3, 4], [1, 3, 5]]
    assert sv.mu(lam) == [[1], [2, 3], [], [4, 5], [], []]
    assert sv.nu(lam) == [[1, 2, 3, 4, 5], [2], [3, 4, 5], [4], [5]]
    assert sv.depth(lam) == 3
    assert sv.nu([0, 1, 1, 2, 3])[0] == [1, 2, 4, 3, 5]
    assert sv.mu(sv.autoTree(3)) == [[1], [2], [3], []]
    assert sv.kappa([]) == sv.nu([]) == []
    assert sv.mu([]) == [[]]
    assert sv.depth([]) == 0


@pytest.mark.parametrize("seed", range(3))
def test_index_sets_agree_with_each_other(seed):
    rng = np.random.default_rng(seed)
    lam = [int(rng.integers(0, i + 1)) for i in range(12)]
    kappa, mu, nu = sv.kappa(lam), sv.mu(lam), sv.nu(lam)
    for i in range(1, 13):
        assert sorted(nu[i - 1]) == [j for j in range(1, 13) if i in kappa[j - 1]]
        assert mu[i] == [j for j in range(1, 13) if lam[j - 1] == i]
    assert sv.depth(lam) == max(map(len, kappa))


def test_index_sets_refuse_what_is_not_a_parent_array():
    with pytest.raises(sixd.ModelError, match=r"kappa: lambda\(2\) is 2, expected 0 to 1"):
        sv.kappa([0, 2])
    with pytest.raises(sixd.ShapeError, match="mu: lambda is .*, expected a vector of numbers"):
        sv.mu([0, [1]])
    with pytest.raises(sixd.ModelError, match=r"mu: lambda\(1\) is -1"):
        sv.mu([-1])
    with pytest.raises(sixd.ScalarTypeError, match="depth: lambda"):
        sv.depth("abc")


def test_cylindrical():
    theta, d = 0.4, 0.7
    X, S, Sd = sv.jcalc("C", [theta, d], [1.0, 2.0])
    close(X, sv.rotz(theta) @ sv.xlt([0, 0, d]))
    assert S.T.tolist() == [[0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1]]
    assert Sd.tolist() == [0] * 6
    s, c = np.sin(theta), np.cos(theta)
    close(X[3:, :3], d * np.array([[-s, c, 0], [-c, -s, 0], [0, 0, 0]]))


def test_rack_and_pinion():
    r, theta, rate = 0.3, 0.4, 1.7
    X, S, Sd = sv.jcalc(RACK, theta, rate)
    s, c = np.sin(theta), np.cos(theta)
    close(X, sv.rotx(theta) @ sv.xlt([0, -r * theta, 0]))
    close(S, [1, 0, 0, 0, -r * c, r * s])
    close(Sd, rate**2 * np.array([0, 0, 0, 0, r * s, r * c]))


@pytest.mark.parametrize("code", ["Rx", "Pz", "R", HELIX, RACK, "C", "S", "Fb", "r", "px"], ids=str)
def test_jcalc_of_every_joint(code):
    """S° q̇ is the derivative of S's components along the motion, times q̇; S q̇ is the velocity that X's rate has."""
    joint = sixd.io.spatial_v2.structures.joint_of_type(code)
    rng, h = np.random.default_rng(2), 1e-6
    q, qd = joint.random(rng, np.full(joint.nq, -1.0), np.full(joint.nq, 1.0)), rng.standard_normal(joint.nv)
    X, S, Sd = sv.jcalc(code, q, qd)
    assert [a.tolist() for a in sv.jcalc(code, q)] == [X.tolist(), S.tolist()]
    ahead, behind = (sv.jcalc(code, joint.integrate(q, s * h * qd)) for s in (1, -1))
    column = lambda S: S.reshape(len(X), -1)  # noqa: E731
    rate = (column(ahead[1]) - column(behind[1])) / (2 * h)
    close(Sd, rate @ qd, 1e-8)  # central differences
    close((ahead[0] - behind[0]) / (2 * h), -sv.crm(column(S) @ qd) @ X, 1e-8)


def test_jcalc_and_models_refuse():
    with pytest.raises(sixd.ModelError, match=r"a rack and pinion 'rack' has no radius\. Give {'code': 'rack'"):
        sv.jcalc("rack", 0.1)
    with pytest.raises(sixd.ShapeError, match="jcalc: q has shape"):
        sv.jcalc("C", 0.1)
    with pytest.raises(sixd.ShapeError, match="jcalc: qd has shape"):
        sv.jcalc("C", [0.1, 0.2], 1.0)
    with pytest.raises(sixd.ModelError, match=r"unrecognised joint code 'Q', expected one of .*C, S, Fb, H, rack"):
        sv.jcalc("Q", 0.1)
    with pytest.raises(sixd.ModelError, match=r"HD: joint 1 has the code 'C' with 2 degrees of freedom, expected one"):
        sv.HD(several(), np.ones(6), *np.zeros((4, 6)))
    model = sv.planar(2)
    model.jtype = ["r", "C"]
    with pytest.raises(sixd.ModelError, match="planar model, expected r, px or py"):
        sv.ID(model, [0, 0, 0], [0, 0, 0], [0, 0, 0])
    with pytest.raises(sixd.ShapeError, match="ID: q has shape"):
        sv.ID(several(), [0, 0], [0, 0], [0, 0])
    with pytest.raises(sixd.ScalarTypeError, match="FDab: model is a list"):
        sv.FDab([1], [0], [0], [0])
    with pytest.raises(sixd.ModelError, match="ID: the model has no field Xtree"):
        sv.ID({"NB": 1, "parent": [0], "jtype": ["R"], "I": []}, [0], [0], [0])


def test_native_models_of_several_degrees_of_freedom():
    tree = sixd.load(several())
    assert [type(j).__name__ for j in tree.joints[1:]] == [
        "Cylindrical", "Revolute", "Spherical", "RackAndPinion", "Free", "Helical"
    ]  # fmt: skip
    q, qd, x, _ = state(several())
    close(sixd.inverse_dynamics(tree, q, qd, x), sv.ID(several(), q, qd, x))
