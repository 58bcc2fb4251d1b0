"""Names of spatial_v2_extended; symbols; structures in structures; every function of dynamics on compiled code."""

import copy
import sys

import numpy as np
import pytest
import sympy

import sixd
import sixd.spatial_v2 as sv
from sixd.spatial_v2 import compiled

HELIX = {"code": "H", "pars": {"pitch": 0.2}}


@pytest.fixture(autouse=True)
def forgotten():
    """No model is known at first."""
    compiled._known.clear(), compiled._last.clear(), compiled._new.clear()


def close(got, wanted, tolerance=1e-11):
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * max(1.0, np.abs(wanted).max(initial=0.0)))


def tree(codes=("Rx", "Px", HELIX, "Ry", "R")):
    model = sv.autoTree(len(codes), 1.6, 0.7, 0.9)
    model.jtype = list(codes)
    return model


# compiled code ----------------------------------------------------------------------------------------------------


def hybrid(model, rng, f_ext=None):
    return sv.HD(model, [1, 0, 1, 0, 0], *rng.standard_normal((4, 5)), f_ext)


def energy(model, rng, f_ext=None):
    return tuple(sv.EnerMo(model, *rng.standard_normal((2, 5))).values())


def floating(function):
    def call(model, rng, f_ext=None):
        return function(model, rng.standard_normal(13), *rng.standard_normal((3, 4)), f_ext)

    return call


def looped(model, rng, f_ext=None):
    q, qd, tau = rng.standard_normal((3, 5))
    G, g = rng.standard_normal((5, 3)), rng.standard_normal(5)
    model.gamma_q = lambda model, q, qd: (q, qd, G, g)
    return (sv.FDgq(model, q, qd, tau, f_ext),)


def coriolis(model, rng, f_ext=None):
    return sv.CoriolisMatrix(model, *rng.standard_normal((2, 5)))


CALLS = {
    "HD": (tree, hybrid), "EnerMo": (tree, energy), "FDgq": (tree, looped), "CoriolisMatrix": (tree, coriolis),
    "FDfb": (lambda: sv.floatbase(tree()), floating(sv.FDfb)), "IDfb": (lambda: sv.floatbase(tree()), floating(sv.IDfb)),
}  # fmt: skip


@pytest.mark.parametrize("forces", [False, True], ids=["", "f_ext"])
@pytest.mark.parametrize("name", CALLS)
def test_dynamics_runs_on_compiled_code(name, forces, monkeypatch):
    """The third call runs no algorithm, and returns what the plain algorithms do."""
    if forces and name in ("EnerMo", "CoriolisMatrix"):
        return
    make, call = CALLS[name]
    model = make()
    f_ext = [None, *np.random.default_rng(5).standard_normal((model.NB - 1, 6))] if forces else None
    for _ in range(2):
        call(model, np.random.default_rng(3), f_ext)
    ran = []

    def note(frame, event, _):
        if event == "call" and "algorithms" in frame.f_code.co_filename:
            ran.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        got = call(model, np.random.default_rng(3), f_ext)
    finally:
        sys.setprofile(None)
    assert ran == []
    monkeypatch.setattr(compiled, "row_kernel", lambda *_: 1 / 0)  # nothing can be compiled
    compiled._known.clear(), compiled._last.clear()
    for x, y in zip(got, call(model, np.random.default_rng(3), f_ext), strict=True):
        close(x, y)


def test_hybrid_dynamics_of_many_kinds_is_not_compiled():
    """A choice of joints is compiled when it is met for the second time."""
    model, zero = tree(), np.zeros((4, 5))
    for fd in ([1, 1, 0, 1, 1], [0, 1, 1, 1, 1], [1, 1, 1, 1, 0]):
        sv.HD(model, fd, *zero)
    kernels = compiled.mechanism("test", model)._kernels
    assert not kernels
    sv.HD(model, [0, 1, 1, 1, 1], *zero)
    assert [key[1] for key in kernels] == [frozenset({1})]


def test_regular_matrices_with_a_vanishing_pivot():
    """FDgq of inertias that no body has: the compiled factors fail, the matrix is regular, the answer is right."""
    model = sv.planar(2)
    model.I = [np.zeros((3, 3)), np.zeros((3, 3))]
    model.I[0][0, 0], model.I[1][0, 0] = 1.0, -1.0  # H = [[0, -1], [-1, -1]]
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    model.gamma_q = lambda model, q, qd: (q, qd, swap, np.zeros(2))
    for _ in range(3):
        close(sv.FDgq(model, [0, 0], [0, 0], [1, 2]), np.linalg.solve([[0, -1], [-1, -1]], [1, 2]))
    model.I[0][0, 0], model.I[1][0, 0] = 0.0, 0.0
    with pytest.raises(sixd.SingularError, match="FDgq: the mass matrix is singular"):
        sv.FDgq(model, [0, 0], [0, 0], [1, 2])


def test_functions_of_loops_may_change_their_arguments():
    """gamma_q gets copies of the state; a mechanism that cannot move has no independent variables."""
    model, q = sv.planar(2), np.array([0.1, 0.2])

    def gamma(model, q, qd):
        q[:] = 0
        return q, qd, np.zeros((2, 0)), np.array([0.5, -0.5])

    model.gamma_q = gamma
    for _ in range(2):
        close(sv.FDgq(model, q, np.zeros(2), [1, 2]), [0.5, -0.5])
    assert q.tolist() == [0.1, 0.2]


# symbols ----------------------------------------------------------------------------------------------------------

m, l, g, theta, rate, accel = sympy.symbols("m l g theta rate accel", positive=True)


def pendulum():
    """A point mass on a rod, from symbols alone."""
    I = sv.mcI(m, [0, 0, -l], np.zeros((3, 3)))
    return sv.Struct(NB=1, parent=[0], jtype=["Rx"], Xtree=[sv.xlt([l, 0, 0])], I=[I], gravity=[0, 0, -g])


def test_symbols_in_models_and_states():
    """The textbook's pendulum; and numbers in place of the symbols give the numbers."""
    model = pendulum()
    (tau,) = sv.ID(model, [theta], [rate], [accel])
    assert sympy.simplify(tau - m * l**2 * accel - m * g * l * sympy.sin(theta)) == 0
    H, C = sv.HandC(model, [theta], [rate])
    assert (H[0, 0], sympy.simplify(C[0] - m * g * l * sympy.sin(theta))) == (m * l**2, 0)
    assert sympy.simplify(sv.FDab(model, [theta], [rate], [0])[0] + g / l * sympy.sin(theta)) == 0
    assert sympy.simplify(sv.EnerMo(model, [theta], [rate]).KE - m * l**2 * rate**2 / 2) == 0
    assert set(sv.to_model(model).symbols) == set(sixd.load(model).symbols) == {m, l, g}
    arm, at = sv.planar(2), {theta: 0.3, rate: -1.2, accel: 0.7}
    for _ in range(2):
        found = sv.ID(arm, [theta, 0.5], [rate, 2], [accel, 0])
        close([float(e.subs(at)) for e in found], sv.ID(arm, [0.3, 0.5], [-1.2, 2], [0.7, 0]))


@pytest.mark.parametrize("code", ["Rx", "Pz", {"code": "H", "pars": {"pitch": l}}, "r", "px"], ids=str)
def test_jcalc_of_symbols(code):
    at = {theta: 0.3, rate: -1.2, l: 0.2}
    numeric = {"code": "H", "pars": {"pitch": 0.2}} if isinstance(code, dict) else code
    for x, y in zip(sv.jcalc(code, theta, rate), sv.jcalc(numeric, 0.3, -1.2), strict=True):
        close(np.array([float(sympy.sympify(e).subs(at)) for e in x.ravel()]).reshape(x.shape), y)


def test_arithmetic_of_symbols():
    """mcI there and back, transforms, points."""
    assert sv.mcI(m, [l, 0], 0).tolist() == [[m * l**2, 0, m * l], [0, m, 0], [m * l, 0, m]]
    mass, com, about = sv.mcI(sv.mcI(m, [l, 0, 0], np.diag([0, 1, 1])))
    assert (mass, com.tolist()) == (m, [l, 0, 0])
    assert sympy.simplify(sympy.Matrix(about)) == sympy.diag(0, 1, 1)
    assert sv.Xpt(sv.xlt([l, 0, 0]), [l, 1, 0]).tolist() == [0, 1, 0]
    assert sv.Fpt([0, m], [l, 0]).tolist() == [l * m, 0, m]


def test_wrong_symbols():
    model = pendulum()
    with pytest.raises(sixd.ScalarTypeError, match="ID: q is 'theta', expected numbers"):
        sv.ID(model, "theta", [0], [0])
    model.Xtree = [np.eye(6) * l]
    with pytest.raises(sixd.ModelError, match="Xtree of joint 1 is not a coordinate transform"):
        sv.ID(model, [theta], [0], [0])
    model = pendulum()
    model.I[0][0, 1] = m
    with pytest.raises(sixd.ModelError, match="I of body 1 is not symmetric"):
        sv.ID(model, [theta], [0], [0])


# structures -------------------------------------------------------------------------------------------------------


def test_structures_nest():
    """As in MATLAB: a model's structures need not be made first; dictionaries in a structure are structures."""
    model = sv.planar(1)
    model.camera.zoom = 2
    model.camera.up = [0, 1, 0]
    assert model["camera"] == {"zoom": 2, "up": [0, 1, 0]}
    model.gc = {"body": [1], "point": [[1], [0]]}
    model.gc.body = [0]
    assert model["gc"]["body"] == copy.deepcopy(model).gc.body == [0]
    joint = sv.Struct(code="H")
    joint.pars.pitch = 0.2
    assert sv.jcalc(joint, 0.3)[1][5] == 0.2
    # to look at one makes none
    empty = sv.Struct()
    assert not empty.appearance
    assert dict(empty) == {}
    with pytest.raises(AttributeError, match=r"no field 'camra'; there are NB, .* in it: .camra = Struct\(\)"):
        model.camra.zoom = 2


def test_models_typed_with_lists_are_saved_and_read(tmp_path):
    """showmotion("save") and back: the same dynamics, appearance and contact points."""
    model = {
        "NB": 2, "parent": [0, 1], "jtype": ["r", "r"], "gravity": [0, -9.81],
        "Xtree": [np.eye(3).tolist(), [[1, 0, 0], [0, 1, 0], [1, 0, 1]]],
        "I": [[[1, 0, 0.5], [0, 1, 0], [0.5, 0, 1]], ((0.3, 0, 0.5), (0, 1, 0), (0.5, 0, 1))],
        "appearance": {"base": [], "body": [["box", [[0, 0, 0], [1, 1, 1]]], [["colour", [1, 0, 0]], ["line", [[0, 0, 0], [1, 0, 0]]]]]},
        "camera": {"direction": [0, 0, 1], "up": [0, 1, 0]}, "gc": {"body": [1, 2], "point": [[1, 1], [0, 0]]},
    }  # fmt: skip
    single = {"NB": 1, "parent": [0], "jtype": [HELIX], "Xtree": [np.eye(6).tolist()], "I": [np.eye(6).tolist()]}
    for typed in (model, single):
        n = typed["NB"]
        first = sv.showmotion(typed, [0, 1, 2], [[0, 1, 0]] * n, open_browser=False)
        again = sv.showmotion(sv.showmotion("save", tmp_path / f"typed{n}"), open_browser=False)
        back = sixd.spatial_v2.motion._shown.motion[0]
        assert first.scene["visuals"] == again.scene["visuals"]
        assert first.scene["camera"] == again.scene["camera"]
        state = np.arange(3.0 * n).reshape(3, n)
        close(sv.ID(back, *state), sv.ID(typed, *state))
        close(sv.gcPosVel(back, *state[:2]), sv.gcPosVel(typed, *state[:2]))
        again.close()


# spatial_v2_extended ----------------------------------------------------------------------------------------------


def test_extended_names_obey_their_laws(rng):
    """Three calls each: plain, compiled, warm."""
    model = tree(("Rx", "C", "S", "Ry", "Fb"))
    native = sv.to_model(model)
    q, (qd, qdd) = native.random_configuration(rng), rng.standard_normal((2, native.nv))
    tau = sv.ID(model, q, qd, qdd)
    H = sv.HandC(model, q, qd)[0]
    for _ in range(3):
        close(sv.Hinverse(model, q) @ H, np.eye(native.nv), 1e-9)  # of the condition of H
        close(np.einsum("ijk,j->ik", sv.Christoffel(model, q), qd), sv.CoriolisMatrix(model, q, qd)[0])
        close(sv.RegressorClassical(model, q, qd, qdd) @ sv.getModelInertialParams(model), tau)
        d_q, d_qd = sv.ID_derivatives(model, q, qd, qdd)
        native_result = sixd.inverse_dynamics_derivatives(native, q, qd, qdd)
        close(d_q, native_result.q), close(d_qd, native_result.qd)
        forward = sv.FD_derivatives(model, q, qd, tau)
        close(H @ forward[2], np.eye(native.nv), 1e-9)
        close(H @ forward[0], -d_q, 1e-9), close(H @ forward[1], -d_qd, 1e-9)
        momentum, state = sv.CMM(model, q) @ qd, sv.EnerMo(model, q, qd)
        close(momentum, sv.xlt(state.cm).T @ np.linalg.inv(sv.xlt(state.cm)).T @ momentum)
        close(momentum[3:], state.mass * state.vcm)
        close(momentum[:3], state.htot[:3] - np.cross(state.cm, state.htot[3:]))
        X = sv.xlt([0.1, 0.2, 0.3])
        close(sv.BodyJacobian(model, q, 4, X), X @ sixd.jacobian(native, q, "body4"))
        close(sv.BodyJacobianTimeDerivative(model, q, qd, 4), sixd.jacobian_rate(native, q, qd, "body4"))
    assert [sv.jinfo(code) for code in ("Rx", "C", "S", "Fb")] == [(1, 1), (2, 2), (4, 3), (7, 6)]


def test_extended_names_refuse():
    model = tree()
    for body in (0, 6, 1.5, "tool"):
        with pytest.raises(sixd.SixdError, match="BodyJacobian: body is"):
            sv.BodyJacobian(model, np.zeros(5), body)
    with pytest.raises(sixd.ModelError, match="CMM: the model is planar, expected a spatial one"):
        sv.CMM(sv.planar(2), [0, 0])
    with pytest.raises(sixd.ShapeError, match="ID_derivatives: qd has shape"):
        sv.ID_derivatives(model, np.zeros(5), np.zeros(4), np.zeros(5))
