"""Collision shapes in the page: hulls and height fields as meshes, notes of what is left out."""

import dataclasses

import numpy as np
import pytest

import sixd
from sixd.viewer.scene.scene import make_scene

pytestmark = pytest.mark.one_target

CUBE = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)


def robot():
    """A body that is drawn as a box; for collisions it is a sphere and two meshes, on ground of two kinds."""
    builder = sixd.ModelBuilder("r")
    builder.add_body("a", "world", sixd.Revolute("y"), inertia=sixd.box(1, 1, 1, mass=1))
    builder.add_visual("a", sixd.Shape("box", (1, 1, 1)))
    builder.add_collision("a", sixd.Shape("sphere", (1.0,)))
    builder.add_collision("a", sixd.Shape("mesh", vertices=CUBE))
    builder.add_collision("a", sixd.Shape("mesh", file="gone.stl"), name="lost")
    builder.add_collision("world", sixd.Shape("plane"))
    builder.add_collision("world", sixd.Shape("height_field", (4, 4, 1), heights=np.eye(3)))
    return builder.build()


def kinds(scene, body):
    return [scene["geometries"][v["geometry"]]["kind"] for v in scene["visuals"] if v["body"] == body]


def test_collision_shapes_replace_visuals():
    model = robot()
    assert kinds(make_scene(model), 1) == ["box"]
    scene = make_scene(model, collisions=True)
    assert kinds(scene, 1) == ["sphere", "mesh"]
    assert kinds(scene, 0)[:2] == ["plane", "mesh"]
    lengths = [g["positions"]["length"] for g in scene["geometries"] if g["kind"] == "mesh"]
    assert lengths[0] == 3 * 8 * 3  # corners of a cube, each split by three creases
    assert any("gone.stl' is not found" in note for note in scene["notes"])
    with sixd.view(model, collisions=True, open_browser=False) as viewer:
        assert viewer.scene["visuals"] == scene["visuals"]


def test_live_pages_too():
    scene = sixd.view(robot(), live=True, collisions=True, open_browser=False).scene
    assert kinds(scene, 1) == ["sphere", "mesh"]


def test_a_model_without_any():
    """It is drawn by sticks, with a note."""
    scene = make_scene(dataclasses.replace(robot(), collisions=()), collisions=True)
    assert "The model has no collision shapes." in scene["notes"]
    assert kinds(scene, 1)
    assert "box" not in kinds(scene, 1)


def test_hulls_and_fields_are_visuals_as_well():
    """The same class serves both."""
    builder = sixd.ModelBuilder("r")
    builder.add_visual("world", sixd.Shape("hull", vertices=CUBE))
    builder.add_visual("world", sixd.Shape("height_field", (4, 4, 1), heights=np.eye(3)))
    builder.add_body("a", "world", sixd.Revolute("y"), inertia=sixd.box(1, 1, 1, mass=1))
    assert kinds(make_scene(builder.build()), 0)[:2] == ["mesh", "mesh"]
