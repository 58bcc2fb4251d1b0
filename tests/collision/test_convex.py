"""Hulls in place of the meshes of a model: what is replaced, noted, left out and warned of."""

import warnings

import numpy as np
import pytest

import sixd
from peers import trimesh

pytestmark = pytest.mark.one_target

CUBE = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)


def ball(rng):
    points = rng.normal(size=(500, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def robot(rng, folder):
    """A box, a ball of 500 vertices, an inline cube, a torus from a file and a mesh that is missing."""
    trimesh.creation.torus(1.0, 0.2).export(folder / "torus.stl")
    builder = sixd.ModelBuilder("r")
    builder.add_body("a", "world", sixd.Revolute("y"), inertia=sixd.box(1, 1, 1, mass=1))
    builder.add_collision("a", sixd.Shape("box", (1, 1, 1)), name="box")
    builder.add_collision("a", sixd.Shape("mesh", vertices=ball(rng)), sixd.placement((1, 2, 3)), name="ball")
    builder.add_collision("a", sixd.Shape("mesh", vertices=CUBE), name="cube")
    builder.add_collision("world", sixd.Shape("mesh", file=str(folder / "torus.stl")), name="torus")
    builder.add_collision("world", sixd.Shape("mesh", file=str(folder / "gone.stl")), name="gone")
    return builder.build()


def test_meshes_become_hulls(rng, tmp_path):
    """Two warnings, one for each kind; notes with deviation and volume; a second call has nothing to replace."""
    model = robot(rng, tmp_path)
    with pytest.warns(sixd.ModelWarning) as caught:
        found = sixd.convex_collisions(model)
    assert [c.name for c in found.collisions] == ["box", "ball", "cube", "torus"]
    assert [c.shape.kind for c in found.collisions] == ["box", "hull", "hull", "hull"]
    assert [len(c.shape.vertices) for c in found.collisions[1:]] == [64, 8, 64]
    np.testing.assert_array_equal(found.collisions[1].pose, model.collisions[1].pose)
    texts = [str(w.message) for w in caught]
    assert len(texts) == 2
    assert texts[0].startswith("convex_collisions: 1 collision shapes are left out. gone: the mesh ")
    assert "gone.stl' is not found" in texts[0]
    assert "torus: the mesh torus.stl is not convex: the volume of its hull is" in texts[1]
    assert {w.filename for w in caught} == {__file__}
    notes = {(n.where, n.code): n.message for n in found.notes}
    assert set(notes) == {
        ("ball", "simplified-hull"),
        ("torus", "simplified-hull"),
        ("torus", "not-convex"),
        ("gone", "lost-mesh"),
    }
    assert notes["ball", "simplified-hull"].endswith(" mm beyond its hull of 64 vertices")
    again = sixd.convex_collisions(found)  # warnings are errors here
    assert (again.collisions, again.notes) == (found.collisions, found.notes)


def test_some_and_exact(rng, tmp_path):
    model = robot(rng, tmp_path)
    found = sixd.convex_collisions(model, "b*", vertices=None)
    assert [c.shape.kind for c in found.collisions] == ["box", "hull", "mesh", "mesh", "mesh"]
    assert len(found.collisions[1].shape.vertices) == 500
    assert found.notes == model.notes
    few = sixd.convex_collisions(model, "ball", vertices=16)
    assert len(few.collisions[1].shape.vertices) == 16


def test_reading_a_file_reads_no_mesh(rng, tmp_path, monkeypatch):
    """Nor do pairs: only hulls need them."""
    text = sixd.to_urdf(sixd.convex_collisions(sixd.zoo.pendulum()))
    shape = "<collision><geometry><mesh filename='a.stl'/></geometry></collision>"
    text = text.replace("</inertial>", f"</inertial>{shape}{shape}", 1)
    monkeypatch.setattr("sixd.geometry.meshes.read_mesh", None)
    model = sixd.load(text)
    assert len(model.collisions) == 2
    assert sixd.collision_pairs(model) == ()


def test_bad_arguments(rng, tmp_path):
    with pytest.raises(sixd.ScalarTypeError, match="expected a sixd.Model"):
        sixd.convex_collisions("panda")
    with warnings.catch_warnings(), pytest.raises(sixd.ScalarTypeError, match="most is 2, expected a whole number"):
        sixd.convex_collisions(robot(rng, tmp_path), vertices=2)
    with pytest.raises(sixd.ScalarTypeError, match="concavity is 3"):
        sixd.convex_collisions(robot(rng, tmp_path), decompose=3)


def test_a_pattern_that_matches_nothing():
    arm = sixd.zoo.pendulum().with_collision("world", sixd.Shape("sphere", (0.1,)), name="ball")
    with pytest.raises(sixd.ModelError, match=r"names is 'grip\*', expected a pattern of collision shapes: 'ball'"):
        sixd.convex_collisions(arm, "grip*")
