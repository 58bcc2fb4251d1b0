"""How models look: cones, the zoo's robots, sticks of any size, mounts, and the floor."""

import dataclasses
import json
import pickle
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

import sixd
from sixd.engine.artifact import _model_key
from sixd.geometry.meshes import Mesh
from sixd.geometry.pieces import DrawnPiece, box_corners
from sixd.trajectory.trajectory import Trajectory
from sixd.viewer.page import FOLDER, PROGRAM
from sixd.viewer.scene.poses import display_turn
from sixd.viewer.scene.scene import make_scene

DRESSED = (
    "ur_arm", "panda_arm", "puma560", "bicycle", "four_bar", "rack_and_pinion", "rolling_cone",
)  # fmt: skip


def bare(model):
    return dataclasses.replace(model, visuals=())


def fallen():
    """The cone without its table."""
    cone = sixd.zoo.rolling_cone()
    return dataclasses.replace(cone, visuals=tuple(v for v in cone.visuals if v.body))


def pieces_of(scene, body=None):
    """The pieces of a scene, those of one body, as the page has them."""
    found = []
    for v in scene["visuals"]:
        g = scene["geometries"][v["geometry"]]
        if (body is None or v["body"] == body) and "size" in g:
            found.append(DrawnPiece(v["body"], g["kind"], tuple(g["size"]), np.reshape(v["pose"], (4, 4))))
    return found


def heights(scene, body=0):
    """The lowest and highest point of a body's boxes in its own axes, of the world's in the page."""
    z = box_corners([dataclasses.replace(p, body=0) for p in pieces_of(scene, body)], np.eye(4)[None])[:, 2]
    return z.min(), z.max()


# cones --------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize(
    ("kind", "size", "volume"),
    [
        ("box", (0.2, 0.3, 0.4), 0.024), ("cylinder", (0.2, 0.5), np.pi * 0.02), ("cone", (0.3, 0.8), np.pi * 0.024),
        ("capsule", (0.2, 0.5), np.pi * (0.02 + 4 * 0.008 / 3)), ("sphere", (0.2,), 4 * np.pi * 0.008 / 3),
        ("ellipsoid", (0.2, 0.3, 0.4), 4 * np.pi * 0.024 / 3),
    ],
)  # fmt: skip
@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed (Debian's package nodejs)")
def test_the_pages_solids(kind, size, volume):
    """Closed, facing outward, of the volume, with the centre of mass at the origin and within the box around them."""
    source = "\n".join((FOLDER / name).read_text() for name in ("algebra.js", "data.js", "shapes.js"))
    script = f"{source}\nconsole.log(JSON.stringify(shapeOf({json.dumps({'kind': kind, 'size': size})})))"
    done = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True, timeout=60)
    shape = json.loads(done.stdout)
    points = np.reshape(shape["positions"], (-1, 3))
    a, b, c = (points[np.reshape(shape["indices"], (-1, 3))[:, k]] for k in range(3))
    parts = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
    assert np.isclose(parts.sum(), volume, rtol=0.015)  # facets, and the bevel of a cylinder
    assert np.abs((parts[:, None] * (a + b + c) / 4).sum(axis=0) / volume).max() < 1e-12
    centre, half = DrawnPiece(1, kind, size).half_box()
    assert np.abs(points - centre).max(axis=0) == pytest.approx(half)
    normals, flat = np.reshape(shape["normals"], (-1, 3)), np.cross(b - a, c - a)
    facing = normals[np.reshape(shape["indices"], (-1, 3))].sum(axis=1)
    assert (np.einsum("ij,ij->i", flat, facing)[np.linalg.norm(flat, axis=1) > 1e-9] > 0).all()


def test_a_cone_touches_the_ground_by_its_rim_and_its_tip():
    builder = sixd.ModelBuilder("cone")
    builder.add_body("a", "world", sixd.Free(), inertia=sixd.cone(0.3, 0.8, mass=1.0))
    builder.add_visual("a", sixd.Shape("cone", (0.3, 0.8)))
    points = sixd.Ground.of(builder.build(), rim=5).points["joint:a"]
    assert sorted(points[:, 2].round(12)) == [-0.2] * 5 + [0.6]
    assert np.allclose(np.hypot(points[:, 0], points[:, 1]), np.where(points[:, 2] < 0, 0.3, 0))


@pytest.mark.parametrize(
    ("kind", "size", "message"),
    [
        ("cone", (0.3,), r"Shape: the size of a cone is \(0.3,\), expected \(radius, height\) \[m\]"),
        ("sphere", 0.3, r"expected \(radius,\) \[m\]"),
        ("box", (1, 2), r"expected \(x, y, z\) \[m\]"),
        ("plane", (1, 2), r"expected \(\) \[m\]"),
    ],
)
def test_sizes_of_shapes_are_checked(kind, size, message):
    with pytest.raises(sixd.ShapeError, match=message):
        sixd.Shape(kind, size)


def test_urdf_has_no_cones():
    model = dataclasses.replace(sixd.zoo.rolling_cone(), gravity=np.array([0, 0, -9.81]))
    with pytest.warns(sixd.ModelWarning, match="shapes of the kinds cone are not in the file"):
        text = sixd.to_urdf(model)
    assert text.count("<visual>") == len(model.visuals) - 1


# the zoo ------------------------------------------------------------------------------------------


def is_drum(visual, axis, at):
    """Whether a shape is round about the line along ``axis`` through ``at``, both in its body's frame."""
    if visual.shape.kind not in ("cylinder", "capsule", "mesh"):
        return False
    z = visual.pose[:3, 1 if visual.shape.kind == "mesh" else 2]  # a wheel is about y
    off = visual.pose[:3, 3] - at
    return np.linalg.norm(np.cross(z, axis)) < 1e-9 and np.linalg.norm(np.cross(off, axis)) < 1e-9


@pytest.mark.parametrize("name", DRESSED)
def test_shapes_sit_on_the_joints(name):
    """Every body has shapes, and every hinge a drum about its axis, on the body or on the one that carries it."""
    model = sixd.zoo.get(name)
    assert {v.body for v in model.visuals} >= set(model.bodies)
    assert all(v.color is not None and np.allclose(v.pose[:3, :3].T @ v.pose[:3, :3], np.eye(3)) for v in model.visuals)
    for i in model.bodies:
        if not isinstance(model.joints[i], sixd.Revolute):
            continue
        axis, T, parent = np.asarray(model.joints[i].axis), model.placement[i], model.parent[i]
        own = [v for v in model.visuals if v.body == i and is_drum(v, axis, np.zeros(3))]
        carrier = [v for v in model.visuals if v.body == parent and is_drum(v, T[:3, :3] @ axis, T[:3, 3])]
        assert own or carrier, model.joint_names[i - 1]


@pytest.mark.parametrize("name", DRESSED)
def test_shapes_have_no_part_in_the_dynamics(name):
    """All that the algorithms and the keys of compiled code take from a model is that of the model without shapes."""
    model = sixd.zoo.get(name)
    naked = bare(model)
    assert _model_key(model) == _model_key(naked)
    for field in dataclasses.fields(model):
        if isinstance(getattr(model, field.name), np.ndarray):
            assert np.array_equal(getattr(model, field.name), getattr(naked, field.name))
    again = pickle.loads(pickle.dumps(model))
    assert len(again.visuals) == len(model.visuals)


def test_arms_reach_as_far_as_they_look():
    """The last shape ends where the flange is, in the frame that the published parameters give."""
    for name, tool in (("ur_arm", "link6"), ("panda_arm", "tool")):
        model = sixd.zoo.get(name)
        flange = model.frames[tool]
        tops = [
            v.pose @ [0, 0, s * v.shape.size[1] / 2, 1] for v in model.visuals if v.body == model.nb for s in (-1, 1)
        ]
        assert flange.body == model.nb
        assert min(np.linalg.norm(p - flange.pose[:, 3]) for p in tops) < 1e-12


def test_wheels_touch_the_ground_and_links_meet_their_pins():
    bicycle = sixd.zoo.bicycle(rear_radius=0.25, front_radius=0.4)
    for wheel, radius in (("rear_wheel", 0.25), ("front_wheel", 0.4)):
        i = bicycle.body_names.index(wheel) + 1
        tyre = next(v.shape for v in bicycle.visuals if v.body == i and v.shape.kind == "mesh")
        assert np.isclose(np.abs(tyre.vertices[:, [0, 2]]).max(), radius)
        a, b, c = (tyre.vertices[tyre.triangles[:, k]] for k in range(3))
        assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() > 0  # facing outward
    linkage = sixd.zoo.four_bar(crank=0.6)
    ends = {v.pose[0, 3] for v in linkage.visuals if v.body == 1 and v.shape.kind == "cylinder"}
    assert ends == {0.0, 0.6}


def test_symbols_bring_no_shapes():
    sympy = pytest.importorskip("sympy")
    assert not sixd.zoo.four_bar(crank=sympy.Symbol("c")).visuals
    assert not sixd.zoo.bicycle(wheelbase=sympy.Symbol("w")).visuals


def test_the_rolling_cone_lies_on_the_table():
    """Apex, contact line and inertia as the course gives the cone: half angle 30°, apex at (0, 1, 0), along x."""
    model = sixd.zoo.rolling_cone(slant=2.0, mass=3.0)
    q = model.neutral()
    apex, base = (sixd.pose(model, q, name) for name in ("apex", "base"))
    assert np.allclose(apex[:3, 3], [0, 1, 0])
    assert np.allclose(base[:3, 0], [np.sqrt(3) / 2, 0, 0.5])
    lowest = base[:3, 3] + np.array([0.5, 0, -np.sqrt(3) / 2])  # a radius of 1 m down the base
    assert np.allclose(lowest, [2, 1, 0])
    inertia = model.body_inertia("cone")
    axis = np.array([np.sqrt(3) / 2, 0, 0.5])
    assert np.allclose(inertia.com, [0, 1, 0] + axis * (0.75 * np.sqrt(3)))
    assert np.isclose(axis @ inertia.about_com @ axis, 0.3 * 3.0)
    shape = next(v for v in model.visuals if v.shape.kind == "cone")
    assert np.allclose(shape.pose @ [0, 0, 0.75 * shape.shape.size[1], 1], [0, 1, 0, 1])
    assert make_scene(model)["settings"]["ground"] is None
    with pytest.raises(sixd.ModelError, match="rolling_cone: half_angle is 2"):
        sixd.zoo.rolling_cone(half_angle=2)


# sticks -------------------------------------------------------------------------------------------


def arm(scale=1.0, upside_down=False):
    """A turntable, a lifting link and a slide, of some ``scale`` metres."""
    builder = sixd.ModelBuilder("arm")
    foot = sixd.placement((0, 0, 0.2 * scale), (np.pi if upside_down else 0, 0, 0))
    builder.add_body("a", "world", sixd.Revolute("z"), placement=foot, inertia=sixd.Inertia(1, (0, 0, 0.1 * scale)))
    rod = sixd.rod(0.5 * scale, mass=1.0, axis="x").translated((0.25 * scale, 0, 0))
    up, out = sixd.placement((0, 0, 0.2 * scale)), sixd.placement((0.5 * scale, 0, 0))
    builder.add_body("b", "a", sixd.Revolute("y"), placement=up, inertia=rod)
    builder.add_body("c", "b", sixd.Prismatic("x"), placement=out, inertia=rod, limits=(0, 0.2 * scale))
    return builder.build()


@pytest.mark.parametrize("scale", [1e-3, 100.0])
def test_sticks_have_the_size_of_the_mechanism(scale):
    """A millimetre or a hundred metres: the same picture."""
    small, one = make_scene(arm(scale)), make_scene(arm())
    for a, b in zip(pieces_of(small), pieces_of(one), strict=True):
        assert a.kind == b.kind
        assert np.allclose(np.array(a.size) / scale, b.size)
        assert np.allclose(a.pose[:3, 3] / scale, b.pose[:3, 3])
    assert small["settings"]["ground"] == one["settings"]["ground"] == 0


def test_rods_end_at_the_joints():
    """Of the arms without shapes: each rod begins at its body's joint, and one ends at each that the body carries."""
    model = bare(sixd.zoo.panda_arm())
    scene = make_scene(model)
    for i in model.bodies:
        ends = [
            p.pose @ [0, 0, s * p.size[1] / 2, 1] for p in pieces_of(scene, i) if p.kind == "capsule" for s in (-1, 1)
        ]
        for k in model.bodies:
            point = model.placement[k][:3, 3]
            if model.parent[k] == i and point.any():
                assert min(np.linalg.norm(e[:3] - point) for e in ends) < 1e-12
                assert min(np.linalg.norm(e[:3]) for e in ends) < 1e-12


# mounts and the floor -----------------------------------------------------------------------------


def swung(model, *configurations):
    """A trajectory through these configurations."""
    q = np.array([model.neutral(), *configurations], dtype=float)
    return Trajectory(np.arange(len(q), dtype=float), q, np.zeros((len(q), model.nv)), system=model)


@pytest.mark.parametrize("name", ["ur_arm", "panda_arm", "puma560", "four_bar"])
def test_the_floor_is_where_the_base_stands(name):
    """At the lowest point of what is fixed, whatever the motion does."""
    model = sixd.zoo.get(name)
    still = make_scene(model)
    low, _ = heights(still)
    assert still["settings"]["ground"] == pytest.approx(low, abs=1e-12)
    down = model.neutral()
    down[1] = 1.5 if name != "ur_arm" else -1.5
    moved = make_scene(model, swung(model, down, -down))
    assert moved["settings"]["ground"] == still["settings"]["ground"]


def test_a_mechanism_without_a_base_is_given_one():
    """A turntable stands on a foot at height 0, a hinge that lies on a post as tall as its arm can swing down."""
    scene = make_scene(arm())
    assert scene["settings"]["ground"] == 0
    assert heights(scene)[0] == pytest.approx(0, abs=1e-12)
    model = sixd.zoo.planar(2).with_gravity((0, -9.81, 0))
    scene = make_scene(model)
    assert -2.2 < scene["settings"]["ground"] < -2
    assert heights(scene)[0] == pytest.approx(scene["settings"]["ground"])
    swing = swung(model, [-1.5, 0.0], [1.5, 0.0])
    assert make_scene(model, swing)["settings"]["ground"] == pytest.approx(scene["settings"]["ground"], abs=0.1)


def test_the_post_reaches_below_what_moves():
    model = bare(sixd.zoo.craig_arm())
    still, moved = make_scene(model), make_scene(model, swung(model, [0, -1.5]))
    assert moved["settings"]["ground"] < -0.5 < still["settings"]["ground"]
    assert heights(moved)[0] == pytest.approx(moved["settings"]["ground"])


@pytest.mark.parametrize("model", [sixd.zoo.pendulum(2), arm(upside_down=True)], ids=["pendulum", "arm"])
def test_what_hangs_has_a_plate_above(model):
    """The plate is above the joint, nothing stands, and the floor is left below all that moves."""
    scene = make_scene(model)
    base = float((display_turn(model) @ model.placement[1])[2, 3])
    low, high = heights(scene)
    assert scene["settings"]["ground"] is None
    assert high > base
    assert low > base - 0.1


def test_a_robot_hung_by_its_base_has_a_plate_on_it():
    upside = sixd.placement((0, 0, 1.5), (np.pi, 0, 0))
    model = sixd.ModelBuilder("hung").build().attach(sixd.zoo.panda_arm(), placement=upside)
    scene = make_scene(model)
    assert scene["settings"]["ground"] is None
    assert heights(scene)[1] > 1.5 + 0.01
    assert len(pieces_of(scene, 0)) == len([v for v in model.visuals if v.body == 0]) + 1


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed (Debian's package nodejs)")
@pytest.mark.parametrize(
    ("model", "ground"),
    [(fallen(), 0.0), (sixd.zoo.pendulum(), -1.0), (arm(), 0.0), (sixd.zoo.falling_sphere(), -0.05)],
    ids=["cone", "pendulum", "arm", "sphere"],
)
def test_the_pages_floor_is_below_the_lowest_point_itself(model, ground):
    """Not below the box around a slanting shape: a cone that lies on the table stays there."""
    files = PROGRAM[: PROGRAM.index("world.js") + 1]
    source = "\n".join((FOLDER / name).read_text() for name in files)
    scene = make_scene(model)
    script = f"""{source}
    const scene = {json.dumps(scene)};
    console.log(new World(scene, new Function("q", "out", scene.kinematics)).ground)"""
    done = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True, timeout=60)
    size = max(abs(ground), 0.1)
    assert ground - 0.06 * size <= float(done.stdout) <= ground


@pytest.mark.parametrize("drawn", [True, False])
def test_a_figure_held_by_its_waist_has_no_mount(drawn):
    """The humanoid with its pelvis fixed to the world: no plate through it, no posts next to its legs."""
    model = sixd.zoo.humanoid().lock({"pelvis": sixd.Free().neutral()})
    scene = make_scene(model if drawn else bare(model))
    assert scene["settings"]["ground"] is None
    kinds = [p.kind for p in pieces_of(scene, 0)]
    assert kinds == ["box"] if drawn else "box" not in kinds


def test_a_plane_is_the_floor_and_what_floats_has_no_mount():
    builder = sixd.ModelBuilder("on a plane")
    builder.add_body("a", "world", sixd.Revolute("y"), inertia=sixd.Inertia(1.0, (0.5, 0, 0)))
    builder.add_visual("world", sixd.Shape("plane"), sixd.placement((0, 0, -2)))
    assert make_scene(builder.build())["settings"]["ground"] is None
    for model in (sixd.zoo.humanoid(), sixd.zoo.vee()):
        scene = make_scene(model)
        assert scene["settings"]["ground"] is None
        assert not pieces_of(scene, 0)


def test_every_zoo_model_is_drawn_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in DRESSED:
            assert all(np.isfinite(v["pose"]).all() for v in make_scene(sixd.zoo.get(name))["visuals"])


def test_boxes_of_many_poses_at_once(rng):
    """The same corners as pose by pose."""
    pieces = [DrawnPiece(1, "cone", (0.1, 0.4)), DrawnPiece(0, "box", (1.0, 2.0, 3.0)), DrawnPiece(1, "plane")]
    mesh = Mesh(rng.normal(size=(4, 3)), np.array([[0, 1, 2]]))
    pieces.append(DrawnPiece(1, "mesh", mesh=mesh))
    model = sixd.zoo.pendulum()
    poses = np.stack([np.concatenate([np.eye(4)[None], sixd.body_poses(model, [x])]) for x in rng.normal(size=3)])
    together = box_corners(pieces, poses)
    apart = np.concatenate([box_corners(pieces, T) for T in poses])
    assert np.allclose(sorted(map(tuple, together)), sorted(map(tuple, apart)))


def test_the_readmes_picture_is_small():
    """Made by docs/make_picture.py."""
    picture = Path(__file__).parents[2] / "docs" / "picture.webp"
    data = picture.read_bytes()
    assert data[8:16] == b"WEBPVP8X"
    assert b"ANIM" in data[:64]
    assert len(data) <= 300_000
