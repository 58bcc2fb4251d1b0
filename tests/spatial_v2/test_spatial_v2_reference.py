"""sixd.spatial_v2 reproduces the numbers of the original functions (tests/data/README.md)."""

import json
from pathlib import Path

import numpy as np
import pytest

import sixd.spatial_v2 as sv

DATA = Path(__file__).parents[1] / "data"
CASES = json.loads((DATA / "spatial_v2_cases.json").read_text())
MORE = json.loads((DATA / "spatial_v2_more.json").read_text())
EXACT, SOLVED = 1e-12, 1e-10  # the looser where a mass matrix is solved with

case = pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
with_force = pytest.mark.parametrize("case", [c for c in CASES if "f_ext" in c], ids=lambda c: c["name"])


def close(got, wanted, tolerance=EXACT):
    """Equal in shape, and in value relative to the largest number (or to 1)."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * max(1.0, np.abs(wanted).max()))


def model_of(case):
    """The model dictionary of a case, with helical joints as structures."""
    jtype = [
        {"code": code, "pars": {"pitch": pitch}} if code == "H" else code
        for code, pitch in zip(case["jtype"], case["pitch"], strict=True)
    ]
    d = len(case["gravity"])
    return {
        "NB": case["NB"],
        "parent": case["parent"],
        "jtype": jtype,
        "Xtree": [np.array(X) for X in case["Xtree"]],
        "I": [np.array(I) for I in case["I"]],
        "gravity": case["gravity"][d - (d // 3 + 1) :],
    }


def forces_of(case):
    return [f if any(f) else None for f in case["f_ext"]]


# trees ------------------------------------------------------------------------------------------


@case
def test_inverse_dynamics(case):
    close(sv.ID(model_of(case), case["q"], case["qd"], case["qdd"]), case["ID"])


@case
@pytest.mark.parametrize("function", ["FDab", "FDcrb"])
def test_forward_dynamics(case, function):
    close(getattr(sv, function)(model_of(case), case["q"], case["qd"], case["tau"]), case[function], SOLVED)


@case
def test_mass_matrix_and_bias(case):
    H, C = sv.HandC(model_of(case), case["q"], case["qd"])
    close(H, case["H"])
    close(C, case["C"])


@pytest.mark.parametrize("case", [c for c in CASES if "Coriolis" in c], ids=lambda c: c["name"])
def test_coriolis_matrix(case):
    C, H_dot, H = sv.CoriolisMatrix(model_of(case), case["q"], case["qd"])
    close(C, case["Coriolis"])
    close(H_dot, C + C.T)
    close(H, case["H"])


@with_force
def test_external_forces(case):
    model, f_ext = model_of(case), forces_of(case)
    assert None in f_ext
    close(sv.ID(model, case["q"], case["qd"], case["qdd"], f_ext), case["ID_fext"])
    close(sv.FDab(model, case["q"], case["qd"], case["tau"], f_ext), case["FDab_fext"], SOLVED)
    close(sv.FDcrb(model, case["q"], case["qd"], case["tau"], f_ext), case["FDab_fext"], SOLVED)


@case
@pytest.mark.parametrize("field", ["KE", "PE", "htot", "Itot", "mass", "cm", "vcm"])
def test_energy_and_momentum(case, field):
    close(sv.EnerMo(model_of(case), case["q"], case["qd"])[field], case[field])


@case
def test_gravity(case):
    close(sv.get_gravity(model_of(case)), case["gravity"])


@case
def test_sparse_factors(case):
    close(sv.LTL(case["H"], case["parent"]), case["LTL"])
    L, D = sv.LTDL(case["H"], case["parent"])
    close(L, case["LTDL_L"])
    close(D, case["LTDL_D"])


@pytest.mark.parametrize(("name", "model"), [("planar3", sv.planar(3)), ("vee", sv.vee(0.1))])
def test_constructors(name, model):
    case = next(c for c in CASES if c["name"] == name)
    assert (model.NB, model.parent.tolist(), model.jtype) == (case["NB"], case["parent"], case["jtype"])
    close(model.Xtree, case["Xtree"])
    close(model.I, case["I"])


# more -------------------------------------------------------------------------------------------


def test_floating_base():
    fb = MORE["fb"]
    nb, *rest = fb["tree_args"]
    model = sv.floatbase(sv.autoTree(int(nb), *rest))
    xd, qdd = sv.FDfb(model, fb["xfb"], fb["q"], fb["qd"], fb["tau"])
    close(xd, fb["FDfb_xd"], SOLVED)
    close(qdd, fb["FDfb_qdd"], SOLVED)
    xd, tau = sv.IDfb(model, fb["xfb"], fb["q"], fb["qd"], fb["qdd"])
    close(xd, fb["IDfb_xd"], SOLVED)
    close(tau, fb["IDfb_tau"], SOLVED)


def test_geared_double_elbow():
    g = {key.removeprefix("doubleElbow_"): value for key, value in MORE["g"].items()}
    close(sv.FDgq(sv.doubleElbow(), g["q"], g["qd"], g["tau"]), g["qdd"], SOLVED)


def test_ground_contact():
    gc = MORE["gc"]
    f, ud, fcone = sv.gcontact(gc["K"], gc["D"], gc["mu"], gc["p"], gc["pd"], gc["u"])
    close(f, gc["f"])
    close(ud, gc["ud"])
    close(fcone, gc["fcone"])
    close(sv.gcontact(gc["K"], gc["D"], 0, gc["p"], gc["pd"]), gc["f"][2])


def test_hybrid_dynamics():
    hd = MORE["hd"]
    nb, *rest = hd["args"]
    model = sv.autoTree(int(nb), *rest)
    qdd, tau = sv.HD(model, hd["fd"], hd["q"], hd["qd"], hd["qdd"], hd["tau"])
    close(qdd, hd["qdd_out"], SOLVED)
    close(tau, hd["tau_out"], SOLVED)


FN = MORE["fn"]
FUNCTIONS = {
    "rotx": lambda: sv.rotx(0.4),
    "roty": lambda: sv.roty(0.5),
    "rotz": lambda: sv.rotz(0.6),
    "xlt": lambda: sv.xlt([1, 2, 3]),
    "mcI": lambda: sv.mcI(2, [0.1, 0.2, 0.3], np.diag([1, 2, 3])),
    "rq": lambda: sv.rq(FN["q"]),
    "rqd_A": lambda: sv.rqd(FN["w"], FN["q"]),
    "rqd_B": lambda: sv.rqd(FN["q"], FN["w"]),
    "rv": lambda: sv.rv(FN["v"]),
    "X": lambda: sv.plux(sv.rq(FN["q"]), [1, 2, 3]),
    "pluho": lambda: sv.pluho(FN["X"]),
    "Xpt": lambda: sv.Xpt(FN["X"], [1, 1, 2]),
    "crm": lambda: sv.crm(FN["m"]),
    "crf": lambda: sv.crf(FN["m"]),
    "Vpt": lambda: sv.Vpt(FN["m"], [1, 1, 2]),
    "Fpt": lambda: sv.Fpt([1, 2, 3], [0.1, 0.2, 0.3]),
    "plnr": lambda: sv.plnr(0.3, [1, 2]),
    "XtoV": lambda: sv.XtoV(sv.plux(sv.rv([0.01, 0.02, -0.01]), [0.01, 0.03, 0.02])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_function(name):
    close(FUNCTIONS[name](), FN[name])


def test_all_single_functions_are_covered():
    assert set(FN) - set(FUNCTIONS) == {"q", "w", "v", "m", "lam"}  # the arguments
