"""Systems defined by energies that say where their bodies are: poses, substitution, the scene, and mistakes."""

import pickle

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import sixd
from sixd.viewer.scene.drawn_model import drawn_model
from sixd.viewer.scene.poses import kinematics, world_poses
from sixd.viewer.scene.scene import make_scene

m, l, g, theta, w, x, y, a, b, c = sp.symbols("m l g theta thetad x y a b c")
ROD = {"position": (l * sp.sin(theta), -l * sp.cos(theta)), "angle": theta}


def pendulum(**more):
    bodies = {"rod": {**ROD, "shapes": sixd.Shape("capsule", (0.02, 2 * l))}, "bob": ROD}
    return sixd.lagrange(m * l**2 * w**2 / 2, -m * g * l * sp.cos(theta), [theta], bodies=bodies, **more)


@pytest.fixture(scope="module")
def numbers():
    return pendulum().substitute({m: 1.0, l: 0.5, g: 9.81})


def test_bodies_have_no_part_in_the_equations():
    plain = sixd.lagrange(m * l**2 * w**2 / 2, -m * g * l * sp.cos(theta), [theta])
    assert pendulum().tau == plain.tau
    assert pendulum().symbols == plain.symbols


def test_a_planar_body_stands_upright(numbers):
    """x to the right and y up: the world's x and z. At rest it hangs, its own axes are the world's."""
    q = 0.3
    rod, bob = sixd.body_poses(numbers, [q])
    want = [
        [np.cos(q), 0, -np.sin(q), 0.5 * np.sin(q)], [0, 1, 0, 0], [np.sin(q), 0, np.cos(q), -0.5 * np.cos(q)], [0, 0, 0, 1]
    ]  # fmt: skip
    assert np.allclose(rod, want, rtol=0, atol=1e-15)
    assert np.array_equal(rod, bob)


def test_a_spatial_body():
    q = sp.symbols("q1 q2 q3 q4")
    qd = sp.symbols("qd1 qd2 qd3 qd4")
    top = {"position": (0, 0, q[3]), "euler": ("ZXZ", q[:3])}
    system = sixd.lagrange(sum(v**2 for v in qd) / 2, 0, q, bodies={"top": top})
    T = sixd.body_poses(system, [0.1, 0.2, 0.3, 0.4])[0]
    assert np.allclose(T[:3, :3], sixd.spatial.rotation_from_euler("ZXZ", [0.1, 0.2, 0.3]), rtol=0, atol=1e-15)
    assert np.array_equal(T[:, 3], [0, 0, 0.4, 1])


def test_functions_of_time_are_coordinates():
    angle = dynamicsymbols("angle")
    T = angle.diff() ** 2 / 2
    system = sixd.lagrange(T, 0, [angle], bodies={"hand": {"position": (sp.sin(angle), 0), "angle": angle}})
    assert sixd.body_poses(system, [0.5])[0, 0, 3] == np.sin(0.5)


def test_the_scene_has_them(numbers):
    scene = make_scene(numbers, q=[0.3])
    assert [body["name"] for body in scene["bodies"]] == ["world", "rod", "bob"]
    kinds = [(v["body"], scene["geometries"][v["geometry"]]["kind"]) for v in scene["visuals"]]
    assert kinds == [(1, "capsule"), (2, "sphere")]  # without shapes, a sphere
    assert scene["geometries"][0]["size"] == [0.02, 1.0]  # 2 l
    (joint,) = scene["joints"]
    assert (joint["name"], joint["kind"], joint["q"]) == ("theta", "coordinate", [0, 1])
    poses = world_poses(kinematics(numbers, np.eye(4)), np.array([0.3]))
    assert np.array_equal(poses[1:], sixd.body_poses(numbers, [0.3]))


def test_a_motion_is_shown(numbers):
    motion = sixd.simulate(numbers, [1.0], None, 0.1)
    with sixd.view(numbers, motion, open_browser=False) as viewer:
        assert [p["title"] for p in viewer.scene["trajectories"][0]["plots"]] == ["energy [J]", "position", "velocity"]


def test_a_body_may_be_called_as_a_coordinate_is():
    system = sixd.lagrange(w**2, 0, [theta], bodies={"theta": {"position": (theta, 0)}})
    assert make_scene(system)["joints"][0]["kind"] == "coordinate"


def test_symbols_of_the_picture_are_parameters():
    system = sixd.lagrange(
        w**2, 0, [theta], bodies={"disc": {"position": (a, 0), "shapes": sixd.Shape("cylinder", (b, c))}}
    )
    assert system.symbols == (a, b, c)
    with pytest.raises(sixd.ScalarTypeError, match="view: 'system' has symbolic parameters a, b, c"):
        sixd.view(system)
    model = drawn_model(pickle.loads(pickle.dumps(system.substitute({a: 1, b: 2.0, c: 3}))))
    assert model.visuals[0].shape.size == (2.0, 3.0)
    with pytest.raises(sixd.ModelError, match="unknown symbols a"):
        sixd.lagrange(w**2, 0, [theta], bodies={"disc": {"position": (a, 0)}}, parameters=[b])


def test_equations_of_a_model_are_shown_as_the_model_is():
    model = sixd.zoo.pendulum(2)
    assert make_scene(sixd.equations(model))["joints"] == make_scene(model)["joints"]


@pytest.mark.parametrize(
    ("bodies", "message"),
    [
        ([ROD], r"bodies is \[.*expected a dictionary"),
        ({"rod": {"angle": theta}}, "body 'rod' is .*expected a dictionary with a 'position'"),
        ({"rod": {**ROD, "angel": 1}}, "no key named 'angel'.*'angle'"),
        ({"rod": {"position": (1, 2, 3), "angle": theta}}, "position has 3 components, expected 2 with an angle"),
        ({"rod": {"position": (1, 2), "euler": ("XYZ", (a, b, c))}}, "position has 2 components, expected 3 with a rotation"),
        ({"rod": {"position": (1, 2, 3), "rotation": 2 * sp.eye(3)}}, "body 'rod': rotation is not a rotation matrix"),
        ({"rod": {"position": (w, 2)}}, "its pose contains the velocity thetad"),
        ({"rod": {**ROD, "shapes": ["box"]}}, "a shape is 'box', expected a sixd.Shape"),
    ],
)  # fmt: skip
def test_mistakes(bodies, message):
    with pytest.raises(sixd.SixdError, match=message):
        sixd.lagrange(w**2, 0, [theta], bodies=bodies)


def test_a_system_without_bodies_says_what_to_do():
    with pytest.raises(sixd.ModelError, match=r"lagrange\(…, bodies=…\)"):
        sixd.view(sixd.lagrange(w**2, 0, [theta]))
