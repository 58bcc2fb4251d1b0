"""sixd.spatial_v2: ground contact, the model constructors, models as dictionaries, and the messages of errors."""

import copy
import pickle

import numpy as np
import pytest

import sixd
import sixd.spatial_v2 as sv


def close(got, wanted, tolerance=1e-12):
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


# contact ----------------------------------------------------------------------------------------


def test_gcontact_sticks_slips_and_lets_go():
    K, D, mu, z = 1e6, 2000, 0.1, -1e-3
    f, ud, fcone = sv.gcontact(K, D, mu, [0, 0, z], [0.002, 0, -0.1], [5e-5, 0])
    close(f, [-1.70763, 0, 37.947332], 1e-6)
    close(fcone, 0.45)
    close(ud, [0.002, 0])
    f, ud, fcone = sv.gcontact(K, D, mu, [0, 0, z], [0.05, 0, -0.1], [2e-4, 0])
    close(f, [-3.7947332, 0, 37.947332], 1e-7)
    close(ud, [-0.04, 0])
    assert fcone == 2
    f, ud, fcone = sv.gcontact(K, D, mu, [0, 0, z], [0.002, 0, 0.6], [5e-5, 0])
    assert f.tolist() == [0, 0, 0]
    close(ud, [-K / D * 5e-5, 0])
    assert fcone == 2


def test_gcontact_in_the_plane_and_without_friction():
    p, pd, u = np.array([[0, 0], [-1e-3, 1]]), np.array([[0.002, 0], [-0.1, 0]]), np.array([[5e-5, 0]])
    f, ud, fcone = sv.gcontact(1e6, 2000, 0.1, p, pd, u)
    close(f, [[-1.70763, 0], [37.947332, 0]], 1e-6)
    assert (ud.shape, fcone.shape) == ((1, 2), (2,))
    close(sv.gcontact(1e6, 2000, 0.1, p, pd, u[0])[1], ud)
    close(sv.gcontact(1e6, 2000, 0, p, pd), f[1])
    with pytest.raises(sixd.ModelError, match="u is None, expected the ground's deformation"):
        sv.gcontact(1e6, 2000, 0.1, p, pd)


def test_contact_points_move_with_their_bodies(rng):
    """Velocities are the derivatives of positions, in space, in the plane and on a floating base."""
    h = 1e-6
    for model in (sv.autoTree(4, 1.5, 0.4, 0.9), sv.planar(3)):
        height = 3 if "R" in model.jtype else 2
        model.gc = {"body": [1, 3, 0, 3], "point": rng.standard_normal((height, 4))}
        q, qd = rng.standard_normal((2, model.NB))
        out = sv.gcPosVel(model, q, qd)
        assert out.shape == (2 * height, 4)
        moved = [sv.gcPosVel(model, q + s * qd, qd)[:height] for s in (h, -h)]
        close(out[height:], (moved[0] - moved[1]) / (2 * h), 1e-8)  # central differences


def test_contact_points_of_a_floating_base(rng):
    model = sv.floatbase(sv.autoTree(3, 1, 0.4))
    model.gc = {"body": [6, 8], "point": rng.standard_normal((3, 2))}
    q, qd = rng.standard_normal((2, 8))
    close(sv.gcPosVel(model, sv.fbkin(q[:6], qd[:6]), q[6:], qd[6:]), sv.gcPosVel(model, q, qd))
    disc = sv.rollingdisc(5)
    close(sv.gcPosVel(disc, sv.fbkin(q[:6], qd[:6])), sv.gcPosVel(disc, q[:6], qd[:6]))
    model.gc["body"] = [6, 3]
    with pytest.raises(sixd.ModelError, match=r"gc\.body holds 3, expected 0 or 6 to 8"):
        sv.gcPosVel(model, sv.fbkin(q[:6], qd[:6]), q[6:], qd[6:])


# models -----------------------------------------------------------------------------------------


def test_autoTree_parents():
    assert sv.autoTree(6, 2).parent.tolist() == [0, 1, 1, 2, 2, 3]
    assert sv.autoTree(8, 1.5).parent.tolist() == [0, 1, 2, 2, 3, 4, 4, 5]


def test_constructors_agree_with_the_zoo(rng):
    tree, native = sv.autoTree(6, 1.5, 0.3, 0.9), sixd.zoo.autotree(6, 1.5, 0.3, 0.9)
    q, qd, qdd = rng.standard_normal((3, 6))
    close(sv.ID(tree, q, qd, qdd), sixd.inverse_dynamics(native, q, qd, qdd))
    close(
        sv.ID(sv.planar(3), q[:3], qd[:3], qdd[:3]), sixd.inverse_dynamics(sixd.zoo.planar(3), q[:3], qd[:3], qdd[:3])
    )
    for name, native in [("singlebody", sixd.zoo.single_body()), ("scissor", sixd.zoo.scissor())]:
        close(getattr(sv, name)().I[-native.nb :], native.inertia[1:])


def test_rollingdisc():
    disc = sv.rollingdisc(16)
    assert disc.gc.point.shape == (3, 32)
    assert set(disc.gc.body.tolist()) == {6} == {disc.camera.body}
    close(disc.I[5][5, 5], 0.2356194490192345)
    close(np.hypot(disc.gc.point[0], disc.gc.point[2]), np.full(32, 0.05))
    close(sv.get_gravity(disc), [0, 0, 0, 0, 0, -9.81])


def test_gfxExample_holds_every_drawing_instruction():
    def words(group):
        for item in group:
            if isinstance(item, list):
                yield from words(item)
            elif isinstance(item, str):
                yield item

    model = sv.gfxExample()
    wanted = {"box", "cyl", "sphere", "line", "vertices", "triangles", "colour", "facets", "tiles"}
    assert set(words([model.appearance.base, model.appearance.body])) == wanted
    assert len(model.appearance.body) == model.NB
    assert "camera" not in model
    assert sv.gfxExample(1).camera.body == 2


def test_models_are_dictionaries_with_attributes():
    model = sv.planar(2)
    twin = copy.deepcopy(model)
    twin.I[0][0, 0] = 7
    assert model["I"][0][0, 0] != 7
    assert pickle.loads(pickle.dumps(model)).NB == model["NB"] == 2
    assert isinstance(twin, dict)
    del twin.appearance
    assert "appearance" not in twin
    with pytest.raises(AttributeError, match="no field 'nb'; there are NB"):
        _ = twin.nb


def test_to_model_reads_the_values_at_each_call():
    model = sv.planar(2)
    before = sv.ID(model, [0, 0], [0, 0], [1, 0])
    model.I[1] = 2 * model.I[1]
    model.gravity = [0, -9.81]
    after = sv.ID(model, [0, 0], [0, 0], [0, 0])
    close(after, 9.81 * np.array([0.5 + 2 * 1.5, 2 * 0.5]))
    assert not np.allclose(before, sv.ID(model, [0, 0], [0, 0], [1, 0]) - after)
    assert sv.to_model(model).joint_names == ("joint1", "joint2")


def test_cells_may_be_stacked_arrays_or_a_single_entry():
    """As scipy.io.loadmat(…, simplify_cells=True) returns them."""
    model = sv.planar(3)
    stacked = {
        **model,
        "NB": 3.0,
        "Xtree": np.array(model.Xtree),
        "I": np.array(model.I),
        "jtype": np.array(model.jtype),
    }
    q = np.array([0.1, 0.2, 0.3])
    close(sv.ID(stacked, q, q, q), sv.ID(model, q, q, q))
    one = sv.planar(1)
    bare = {"NB": 1, "parent": 0, "jtype": "r", "Xtree": one.Xtree[0], "I": one.I[0]}
    close(sv.ID(bare, 0.1, 0.2, 0.3), sv.ID(one, [0.1], [0.2], [0.3]))


# errors -----------------------------------------------------------------------------------------


def changed(model=None, **fields):
    return {**(model or sv.planar(2)), **fields}


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (changed(jtype=["r", "q"]), sixd.ModelError, "unrecognised joint code 'q', expected one of R, Rx"),
        (changed(jtype=["r", "Rz"]), sixd.ModelError, "joint 2 has the code 'Rz' in a planar model, expected r"),
        (changed(sv.autoTree(2), jtype=["R", "r"]), sixd.ModelError, "Planar and spatial joints cannot be mixed"),
        (changed(sv.autoTree(2), jtype=["R", "H"]), sixd.ModelError, "helical joint 'H' has no pitch"),
        (changed(Xtree=[np.eye(3), np.eye(6)]), sixd.ShapeError, r"Xtree of joint 2 has shape \(6, 6\)"),
        (changed(Xtree=[np.eye(3), 2 * np.eye(3)]), sixd.ModelError, "Xtree of joint 2 is not a coordinate transform"),
        (changed(I=[np.eye(6)] * 2), sixd.ShapeError, "I of body 1 has shape"),
        (changed(I=[np.eye(3), np.triu(np.ones((3, 3)))]), sixd.ModelError, "I of body 2 is not symmetric"),
        (changed(I=[np.eye(3)]), sixd.ShapeError, "I has 1 entries, expected NB = 2"),
        (changed(parent=[0, 2]), sixd.ModelError, r"parent\(2\) is 2, expected 0 to 1. Number parents first"),
        (changed(parent=[0, 1, 2]), sixd.ShapeError, "parent has shape"),
        (changed(gravity=[0, 0, -9.81]), sixd.ShapeError, "gravity of a planar model has shape"),
        (changed(gravity=[0, np.nan]), sixd.ModelError, "expected finite numbers"),
        (changed(NB=2.5), sixd.ModelError, r"ID: NB is 2\.5, expected a whole number"),
        ({"NB": 1}, sixd.ModelError, "the model has no field parent, jtype, Xtree, I"),
        ([1, 2], sixd.ScalarTypeError, "ID: model is a list, expected a dictionary"),
    ],
)  # fmt: skip
def test_broken_models(model, error, message):
    with pytest.raises(error, match=message):
        sv.ID(model, [0, 0], [0, 0], [0, 0])


def test_wrong_arguments():
    model = sv.planar(2)
    with pytest.raises(sixd.ShapeError, match=r"FDab: tau has shape \(3,\), expected a vector of 2 numbers"):
        sv.FDab(model, [0, 0], [0, 0], [0, 0, 0])
    with pytest.raises(sixd.ScalarTypeError, match="ID: q is 'left', expected numbers"):
        sv.ID(model, "left", [0, 0], [0, 0])
    with pytest.raises(sixd.ShapeError, match="f_ext has 1 entries, expected NB = 2"):
        sv.ID(model, [0, 0], [0, 0], [0, 0], [[0, 1, 2]])
    with pytest.raises(sixd.ScalarTypeError, match="f_ext is 3, expected a list of forces"):
        sv.ID(model, [0, 0], [0, 0], [0, 0], 3)
    with pytest.raises(sixd.ShapeError, match="an entry of f_ext has shape"):
        sv.ID(model, [0, 0], [0, 0], [0, 0], [None, np.zeros(6)])
    with pytest.raises(sixd.ModelError, match=r"fd is .* expected 1"):
        sv.HD(model, [1, 2], [0, 0], [0, 0], [0, 0], [0, 0])
    with pytest.raises(sixd.ModelError, match="FDgq: the model has no function gamma_q"):
        sv.FDgq(model, [0, 0], [0, 0], [0, 0])
    with pytest.raises(
        sixd.UnknownNameError, match=r"no forward dynamics function named 'FDabc'\. Did you mean 'FDab'"
    ):
        sv.gcFD(model, "FDabc", np.zeros(6))
    with pytest.raises(sixd.ModelError, match="unrecognised joint code 'Rw'"):
        sv.jcalc("Rw", 0)
    with pytest.raises(sixd.ModelError, match=r"autoTree: bf is 0\.5"):
        sv.autoTree(3, 0.5)
    with pytest.raises(sixd.ModelError, match="planar: n is 0, expected a whole number of at least 1"):
        sv.planar(0)
    with pytest.raises(sixd.ModelError, match=r"D is 0\.0, expected positive damping"):
        sv.gcontact(1, 0, 0.1, [0, 0, -1], [0, 0, 0], [0, 0])


@pytest.mark.parametrize("function", ["FDab", "FDcrb"])
def test_singular_mass_matrix(function):
    model = sv.planar(2)
    model.I[1] = np.zeros((3, 3))
    with pytest.raises(sixd.SingularError, match=f"{function}: the mass matrix is singular"):
        getattr(sv, function)(model, [0, 0], [0, 0], [1, 0])
    # a state that overflows is not the model's fault
    assert not np.isfinite(sv.FDab(sv.planar(2), [0, 1], [1e200, 1e200], [0, 0])).all()
    massless = changed(I=[np.zeros((3, 3))] * 2)
    with pytest.raises(sixd.ModelError, match="EnerMo: the total mass is 0"):
        sv.EnerMo(massless, [0, 0], [0, 0])


def test_floating_base_errors():
    with pytest.raises(sixd.ModelError, match="floatbase: the model is planar"):
        sv.floatbase(sv.planar(2))
    with pytest.raises(sixd.ModelError, match="floatbase: 2 bodies are joined to the base"):
        sv.floatbase(changed(sv.autoTree(2), parent=[0, 0]))
    with pytest.raises(sixd.ModelError, match="FDfb: the model has no floating base"):
        sv.FDfb(sv.autoTree(7, 2), np.zeros(13), [0], [0], [0])
    with pytest.raises(sixd.ShapeError, match=r"IDfb: xfb has shape \(7,\), expected a vector of 13"):
        sv.IDfb(sv.singlebody(), [1, 0, 0, 0, 0, 0, 0])
