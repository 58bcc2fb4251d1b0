"""Collision shapes of models: by hand, their names, and through everything that makes new models."""

import dataclasses
import pickle

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import sixd

pytestmark = pytest.mark.one_target

BALL = sixd.Shape("sphere", (0.1,))
BOX = sixd.Shape("box", (0.1, 0.2, 0.3))
UP = sixd.placement((0, 0, 1))


def arm(*, prefix=""):
    """Two links on hinges; the second carries a plate on a fixed joint."""
    builder = sixd.ModelBuilder("arm")
    mass = sixd.box(0.1, 0.1, 0.5, mass=1.0)
    builder.add_body("upper", "world", sixd.Revolute("y"), inertia=mass, collisions=[BOX, (BALL, UP)])
    builder.add_body("fore", "upper", sixd.Revolute("y"), inertia=mass, placement=UP, collisions=BALL)
    builder.add_body("plate", "fore", sixd.Fixed(), placement=UP, collisions=[(BOX, UP)])
    return builder.build()


def names(model):
    return [c.name for c in model.collisions]


def test_shapes_are_on_bodies_and_links():
    """A shape on a fixed body is on the body that carries it, and keeps the name of its link."""
    model = arm()
    assert names(model) == ["upper_1", "upper_2", "fore", "plate"]
    assert [c.link for c in model.collisions] == ["upper", "upper", "fore", "plate"]
    assert [c.body for c in model.collisions] == [1, 1, 2, 2]
    assert_allclose(model.collisions[3].pose[:3, 3], [0, 0, 2])
    assert [c.shape for c in model.collisions] == [BOX, BALL, BALL, BOX]
    assert model.visuals == ()


def test_names_differ():
    """Names of the caller must; those that are made avoid names of shapes and frames."""
    builder = sixd.ModelBuilder.from_model(arm())
    builder.add_frame("fore_1", "fore")
    builder.add_collision("fore", BALL)
    builder.add_collision("fore_1", BALL)
    builder.add_collision("world", BALL, name="floor", contype=2, conaffinity=np.int32(5))
    model = builder.build()
    assert names(model)[4:] == ["fore_2", "fore_1", "floor"]
    assert (model.collisions[-1].contype, model.collisions[-1].conaffinity) == (2, 5)
    with pytest.raises(sixd.ModelError, match="'floor': a collision shape of that name exists already"):
        builder.add_collision("fore", BALL, name="floor")


BAD = [
    (lambda b: b.add_collision("fore", "box"), sixd.ScalarTypeError, "shape is 'box', expected a sixd.Shape"),
    (lambda b: b.add_collision("for", BALL), sixd.UnknownNameError, "no body or frame named 'for'. Did you mean 'fore'"),
    (lambda b: b.add_collision("fore", sixd.Shape("sphere", (0.0,))), sixd.ModelError, r"size of a sphere is \(0.0,\), expected finite numbers above 0"),
    (lambda b: b.add_collision("fore", sixd.Shape("box", (1, np.nan, 1))), sixd.ModelError, "above 0"),
    (lambda b: b.add_collision("fore", sixd.Shape("line", vertices=[(0, 0, 0)])), sixd.ModelError, "a line, expected a solid"),
    (lambda b: b.add_collision("fore", sixd.Shape("mesh")), sixd.ModelError, "neither a file nor vertices"),
    (lambda b: b.add_collision("fore", sixd.Shape("mesh", vertices=np.zeros((0, 3)))), sixd.ModelError, r"shape \(0, 3\), expected \(n, 3\)"),
    (lambda b: b.add_collision("fore", sixd.Shape("mesh", vertices=[(0, 0, np.inf)])), sixd.ModelError, "NaN or infinity"),
    (lambda b: b.add_collision("fore", sixd.Shape("mesh", file="a.stl", scale=(1, 0, 1))), sixd.ModelError, "scale of a mesh"),
    (lambda b: b.add_collision("fore", BALL, np.full((4, 4), np.nan)), sixd.ModelError, "placement contains NaN"),
    (lambda b: b.add_collision("fore", BALL, name=3), sixd.ScalarTypeError, "name is 3, expected a string"),
    (lambda b: b.add_collision("fore", BALL, contype=0.5), sixd.ScalarTypeError, "contype is 0.5, expected a whole number"),
    (lambda b: sixd.Shape("hull"), sixd.ShapeError, r"vertices of a hull have shape \(0,\), expected finite numbers \(n, 3\)"),
    (lambda b: sixd.Shape("hull", vertices=[(0, 0, np.nan)]), sixd.ShapeError, "vertices of a hull contain NaN"),
    (lambda b: sixd.Shape("height_field", (1, 1, 1), heights=[[1, 2]]), sixd.ShapeError, r"heights of a height_field have shape \(1, 2\)"),
    (lambda b: b.add_body("c", "world", sixd.Fixed(), collisions=[(BALL, UP, 3)]), sixd.ScalarTypeError, "expected a sixd.Shape"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_what_is_no_shape(call, error, message):
    with pytest.raises(error, match=message):
        call(sixd.ModelBuilder.from_model(arm()))


def test_with_collision():
    """On the world, a body or a frame, without a new build: everything else is the same."""
    model = arm()
    more = model.with_collision("world", BOX, UP, name="table").with_collision("plate", BALL)
    assert names(more) == [*names(model), "table", "plate_1"]
    assert_allclose(more.collisions[-1].pose, model.frames["plate"].pose)
    assert (more.collisions[4].body, more.inertia is model.inertia) == (0, False)
    assert_allclose(more.inertia, model.inertia)
    with pytest.raises(sixd.UnknownNameError, match="Did you mean 'plate'"):
        model.with_collision("plat", BALL)


def test_new_models_keep_them():
    """Locked joints, subtrees, attached models, other gravity, copies by pickle."""
    model = dataclasses.replace(arm(), disabled_collisions=(("upper", "plate"),))
    locked = model.lock({"fore": np.pi / 2})
    assert [(c.name, c.body, c.link) for c in locked.collisions][2:] == [("fore", 1, "fore"), ("plate", 1, "plate")]
    assert_allclose(locked.collisions[3].pose[:3, 3], [2, 0, 1], atol=1e-15)
    part = model.submodel("fore")
    assert (names(part), [c.body for c in part.collisions]) == (["fore", "plate"], [1, 1])
    for copy in (pickle.loads(pickle.dumps(model)), model.with_gravity((0, 0, 0)), model.without_passive()):
        assert names(copy) == names(model)
        assert_allclose([c.pose for c in copy.collisions], [c.pose for c in model.collisions])
    old = {k: v for k, v in model.__getstate__().items() if k != "collisions"}
    other = object.__new__(sixd.Model)
    other.__setstate__(old)
    assert other.collisions == ()


def test_attach_renames():
    """Names get the prefix, or an underscore where they are taken; pairs refer to the new names."""
    host = arm().with_collision("world", BALL, name="floor")
    guest = arm().with_collision("world", BALL, UP, name="floor")
    first, second = guest.collisions[0], guest.collisions[-1]
    guest = dataclasses.replace(
        guest, collisions=(dataclasses.replace(first, paired=("floor",)), *guest.collisions[1:-1], second)
    )
    both = host.attach(guest, "plate", prefix="b_", placement=UP)
    assert names(both)[5:] == ["b_upper_1", "b_upper_2", "b_fore", "b_plate", "b_floor"]
    assert both.collisions[5].paired == ("b_floor",)
    assert (both.collisions[-1].link, both.collisions[-1].body) == ("plate", 2)
    assert_allclose(both.collisions[-1].pose, both.frames["plate"].pose @ UP @ UP)
    scene = sixd.ModelBuilder("scene").build().with_collision("world", BALL, name="floor")
    assert names(scene.attach(guest))[-1] == "floor_"
    assert scene.attach(guest).collisions[1].paired == ("floor_",)


def test_symbolic_places():
    """Placements and sizes may be symbols; those of the model are substituted."""
    length = sympy.Symbol("l")
    builder = sixd.ModelBuilder("rod")
    builder.add_body("rod", "world", sixd.Revolute("y"), inertia=sixd.point(1, (0, 0, length)))
    builder.add_collision("rod", sixd.Shape("sphere", (sympy.Symbol("r"),)), sixd.placement((0, 0, length)))
    model = builder.build()
    assert length in model.symbols
    assert model.substitute({"l": 2.0}).collisions[0].pose[2, 3] == 2.0
