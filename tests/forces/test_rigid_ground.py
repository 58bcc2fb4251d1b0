"""Rigid ground as an element: its arguments, its points, what it records; messages."""

import numpy as np
import pytest

import sixd
from sixd import RigidGround
from sixd.errors import ModelError, ScalarTypeError, ShapeError, SixdError


def ball(radius=0.1):
    builder = sixd.ModelBuilder("ball")
    builder.add_body("ball", "world", sixd.Free(), inertia=sixd.sphere(radius, mass=1.0))
    return builder.build()


def test_points_are_those_of_the_compliant_ground():
    """Given as a table or taken from shapes, both grounds have the same points, in the same order."""
    builder = sixd.ModelBuilder("shapes")
    builder.add_body("a", "world", sixd.Free(), inertia=sixd.box(1, 1, 1, mass=1.0))
    builder.add_body("b", "a", sixd.Revolute("x"), inertia=sixd.box(1, 1, 1, mass=1.0))
    builder.add_visual("a", sixd.Shape("box", (2.0, 4.0, 6.0)), sixd.placement((0, 0, 1)))
    builder.add_visual("b", sixd.Shape("capsule", (0.1, 2.0)))
    model = builder.build()
    rigid, soft = RigidGround.of(model), sixd.Ground.of(model)
    assert {k: v.tolist() for k, v in rigid.points.items()} == {k: v.tolist() for k, v in soft.points.items()}
    assert rigid.size(model) == 3 * sum(map(len, rigid.points.values()))
    bare = RigidGround()
    assert bare.size(model) == rigid.size(model)
    q = model.neutral()
    wanted, _ = soft.contacts(model, 0.0, q, np.zeros(model.nv), np.zeros(soft.size(model)))
    got, forces = rigid.contacts(model, 0.0, q, np.zeros(model.nv), np.arange(rigid.size(model)))
    np.testing.assert_allclose(got, wanted, rtol=1e-14, atol=1e-14)
    assert forces.tolist() == np.arange(rigid.size(model)).reshape(-1, 3).tolist()


def test_it_has_no_force_of_a_state():
    model, ground = ball(), RigidGround({"ball": (0, 0, 0, 0.1)})
    found = ground.apply(model, 0.0, model.neutral(), np.zeros(6), np.ones(3))
    assert found.tau is None
    assert found.f_ext is None
    assert found.rate.tolist() == [0, 0, 0]
    assert ground.start(model).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"friction": -0.1}, "friction is -0.1, expected at least 0"),
        ({"friction": np.nan}, "friction is nan, expected a finite number"),
        ({"friction": "rough"}, "friction is 'rough', expected a finite number"),
        ({"restitution": 1.5}, "restitution is 1.5, expected a number from 0 to 1"),
        ({"restitution": -0.5}, "restitution is -0.5, expected at least 0"),
        ({"sweeps": 0}, "sweeps is 0, expected a whole number of at least 1"),
        ({"sweeps": 2.5}, "sweeps is 2.5, expected a whole number"),
        ({"sweeps": True}, "sweeps is True, expected a whole number"),
        ({"normal": (0, 0, 0)}, "RigidGround: normal"),
        ({"height": np.inf}, "height is inf, expected a finite number [m]"),
        ({"points": {}}, "points is empty, expected {frame: points (k, 3)}"),
        ({"points": [(0, 0, 0)]}, "points is a list, expected {frame: points (k, 3)}"),
        ({"points": {"ball": (0, 0)}}, "points of 'ball' have shape (2,), expected (k, 3), or (k, 4) with radii"),
        ({"points": {"ball": (0, 0, 0, -1)}}, "radii at least 0"),
    ],
)
def test_wrong_arguments_are_named(options, text):
    with pytest.raises(SixdError) as error:
        RigidGround(**{"points": {"ball": (0, 0, 0)}, **options})
    assert str(error.value).startswith("RigidGround: ")
    assert text in str(error.value)
    assert isinstance(error.value, (ModelError, ShapeError, ScalarTypeError))


def test_frames_must_move():
    model = ball()
    with pytest.raises(ModelError, match="RigidGround: frame 'world' is fixed in the world, expected one of a moving"):
        sixd.simulate(model, None, None, 0.1, forces=RigidGround({"world": (0, 0, 0)}))
    with pytest.raises(ModelError, match=r"RigidGround: model 'ball': no frame named 'bal'. Did you mean 'ball'"):
        sixd.simulate(model, None, None, 0.1, forces=RigidGround({"bal": (0, 0, 0)}))
    with pytest.raises(ModelError, match="RigidGround: model 'ball' has no boxes"):
        RigidGround.of(model)


@pytest.mark.parametrize("method", ["adaptive", "stiff"])
def test_adaptive_methods_name_another(method):
    model = ball()
    with pytest.raises(ScalarTypeError, match=r'RigidGround acts by impulses, which need fixed steps.*method="rk4"'):
        sixd.simulate(model, None, None, 0.1, method=method, forces=RigidGround({"ball": (0, 0, 0, 0.1)}))
