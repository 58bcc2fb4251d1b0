"""spatial_v2 structures and .mat files as sources of models."""

import numpy as np
import pytest
import scipy.io
from numpy.testing import assert_allclose

import sixd
from sixd import spatial_v2 as sv


def structure(**changes):
    return {**sv.autoTree(4, 2, 0.3, 0.8), **changes}


def flat(**changes):
    return {**sv.planar(3), **changes}


@pytest.mark.parametrize("make", [structure, flat])
def test_a_dictionary_loads(make, rng):
    """The same dynamics as through the layer of the original names."""
    source = make()
    model = sixd.load(source)
    q, qd, qdd = rng.normal(size=(3, model.nv))
    assert_allclose(sixd.inverse_dynamics(model, q, qd, qdd), sv.ID(source, q, qd, qdd), atol=1e-12)
    assert sixd.check(model) == []


@pytest.mark.parametrize("make", [structure, flat])
def test_a_mat_file_loads(make, tmp_path, rng):
    """A .mat file with one model; its variable's name is the model's."""
    source = make()
    nb = source["NB"]
    cells = {k: np.empty(nb, dtype=object) for k in ("jtype", "Xtree", "I")}
    for key, cell in cells.items():
        for i in range(nb):
            cell[i] = source[key][i]
    path = tmp_path / "robot.mat"
    scipy.io.savemat(
        path, {"arm": {"NB": nb, "parent": source["parent"], "gravity": source.get("gravity", []), **cells}, "x": 1}
    )
    model = sixd.load(path)
    assert model.name == "arm"
    q, qd, qdd = rng.normal(size=(3, nb))
    assert_allclose(sixd.inverse_dynamics(model, q, qd, qdd), sv.ID(source, q, qd, qdd), atol=1e-12)
    scipy.io.savemat(path, {"x": 1})
    with pytest.raises(sixd.LoadError, match=r"robot.mat: holds 0 spatial_v2 models \(variables: x\)"):
        sixd.load(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(sixd.LoadError, match="cannot be read as a .mat file"):
        sixd.load(path)


def bent():
    X = np.eye(6)
    X[3, 0] = 5
    return X


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "no field NB, parent, jtype, Xtree, I"),
        (structure(NB="x"), "NB is 'x', expected numbers"),
        (structure(parent=[0, 1]), r"parent has shape \(2,\), expected a vector of 4"),
        (structure(parent=[0, 1, 3, 1]), r"parent\(3\) is 3, expected 0 to 2"),
        (structure(jtype=["R"] * 3), "jtype has 3 entries, expected NB = 4"),
        (structure(jtype=["R", "Q", "R", "R"]), "unrecognised joint code 'Q'"),
        (structure(jtype=["R", "H", "R", "R"]), "'H' has no pitch"),
        (structure(gravity=[0, 0]), "gravity"),
        (structure(Xtree=[bent()] * 4), "Xtree of joint 1 is not a coordinate transform"),
        (flat(jtype=["r", "Rx", "r"]), "Planar and spatial joints cannot be mixed"),
        (flat(Xtree=[np.eye(3), np.eye(6), np.eye(3)]), r"Xtree of joint 2 has shape \(6, 6\)"),
        (flat(I=[np.triu(np.ones((3, 3)))] * 3), "I of body 1 is not symmetric"),
    ],
)
def test_broken_structures_raise(source, message):
    with pytest.raises(sixd.SixdError, match=message):
        sixd.load(source)


def test_floating_base_is_for_urdf():
    with pytest.raises(sixd.LoadError, match="floating_base=True is for URDF"):
        sixd.load(structure(), floating_base=True)
