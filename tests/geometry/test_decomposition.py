"""Convex decomposition: what is passed to coacd, and that its parts are kept on disk."""

import dataclasses
import sys
import types

import numpy as np
import pytest

import sixd
from sixd.geometry.decomposition import convex_parts

pytestmark = pytest.mark.one_target

CUBE = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
TRIANGLES = np.array([(0, 1, 2)])  # which it is: coacd is a stand-in
SHAPE = sixd.Shape("mesh", vertices=CUBE, triangles=TRIANGLES, scale=(2, 1, 1))


@pytest.fixture
def coacd(monkeypatch, tmp_path):
    """A stand-in for the package that returns two cubes, and counts its calls."""
    calls = []
    module = types.ModuleType("coacd")
    module.Mesh = lambda vertices, faces: (vertices, faces)
    module.set_log_level = lambda level: None

    def run_coacd(mesh, threshold):
        calls.append(threshold)
        return [(mesh[0], mesh[1]), (mesh[0] + 5, mesh[1])]

    module.run_coacd = run_coacd
    monkeypatch.setitem(sys.modules, "coacd", module)
    monkeypatch.setenv("SIXD_CACHE_DIR", str(tmp_path / "cache"))
    return calls


def test_parts(coacd):
    """Scaled as the shape is, and computed once for each concavity."""
    for _ in range(2):
        one, two = convex_parts(SHAPE)
        np.testing.assert_allclose(one.vertices.max(axis=0), [2, 1, 1])
        np.testing.assert_allclose(two.vertices.min(axis=0), [10, 5, 5])
        assert (one.deviation, len(one.triangles)) == (0, 12)
    convex_parts(SHAPE, concavity=0.2)
    assert coacd == [0.05, 0.2]


def test_model(coacd):
    """Parts of a name each; pairs of the whole become pairs of the parts."""
    model = sixd.zoo.pendulum()
    model = model.with_collision(model.body_names[0], SHAPE, name="hook")
    model = model.with_collision("world", sixd.Shape("sphere", (1.0,)), name="ball")
    hook, ball = model.collisions
    model = dataclasses.replace(model, collisions=(hook, dataclasses.replace(ball, paired=("hook",))))
    found = sixd.convex_collisions(model, decompose=True)
    assert [c.name for c in found.collisions] == ["hook:1", "hook:2", "ball"]
    assert found.collisions[-1].paired == ("hook:1", "hook:2")
    assert len(sixd.collision_pairs(found)) == 2


def test_bad_arguments(coacd, monkeypatch):
    with pytest.raises(sixd.ScalarTypeError, match=r"concavity is 2, expected a number from 0\.01 to 1"):
        convex_parts(SHAPE, concavity=2)
    with pytest.raises(sixd.ModelError, match="the mesh has no triangles"):
        convex_parts(sixd.Shape("mesh", vertices=CUBE))
    monkeypatch.setitem(sys.modules, "coacd", None)
    with pytest.raises(sixd.MissingPackageError, match="pip install coacd"):
        convex_parts(SHAPE, concavity=0.3)
