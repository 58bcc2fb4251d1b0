"""The scene of the viewer's page: kinematics, shapes, sticks, inertias, motions and plots."""

import base64
import dataclasses
import gzip
import json
import shutil
import zipfile

import numpy as np
import pytest

import samples
import sixd
from robots import FIVE, quiet_load
from sixd.geometry.inertias import ellipsoid_radii, equivalent_solid, principal
from sixd.geometry.meshes import (
    Mesh,
    cluster,
    fit,
    read_mesh,
    split_creases,
    weld,
)
from sixd.geometry.sticks import joint_pieces
from sixd.trajectory.trajectory import Trajectory
from sixd.viewer.scene import motions
from sixd.viewer.scene.motions import thinned
from sixd.viewer.scene.plots import Bins
from sixd.viewer.scene.poses import display_turn, kinematics, world_poses
from sixd.viewer.scene.scene import make_scene


def unpack(buffer):
    """A buffer of the scene as an array."""
    array = np.frombuffer(base64.b64decode(buffer["data"]), dtype=buffer["type"])
    assert len(array) == buffer["length"]
    return array


def motion_of(model, count=5, duration=1.0, batch=()):
    """A trajectory through random configurations."""
    rng = np.random.default_rng(0)
    q = np.array([model.random_configuration(rng) for _ in range(int(np.prod(batch)) * count)])
    qd = rng.uniform(-1, 1, (*batch, count, model.nv))
    return Trajectory(np.linspace(0, duration, count), q.reshape(*batch, count, model.nq), qd, system=model, tau=qd * 2)


def bare(model):
    """The model without its shapes."""
    return dataclasses.replace(model, visuals=())


def sample_models():
    return [*samples.trees(), *(sixd.zoo.get(name) for name in sixd.zoo.names())]


@pytest.mark.many
@pytest.mark.parametrize("model", sample_models(), ids=lambda m: m.name)
def test_scene_is_complete(model):
    """Every mechanism, visuals or not, gives a scene of plain JSON whose indices are in range."""
    scene = make_scene(model)
    json.dumps(scene, allow_nan=False)
    assert len(scene["bodies"]) == model.nb + 1
    assert {v["geometry"] for v in scene["visuals"]} == set(range(len(scene["geometries"])))
    assert all(0 <= v["body"] <= model.nb and len(v["pose"]) == 16 and len(v["color"]) == 4 for v in scene["visuals"])
    assert {v["body"] for v in scene["visuals"]} - {0}
    assert sum(j["q"][1] - j["q"][0] for j in scene["joints"]) == scene["nq"] == len(scene["q"])
    assert all(len(j["labels"]) == len(j["lower"]) == len(j["upper"]) == j["q"][1] - j["q"][0] for j in scene["joints"])
    assert scene["frames"][0]["name"] == "world"


@pytest.mark.parametrize("model", samples.trees(), ids=lambda m: m.name)
def test_poses_are_those_of_the_library(model, rng):
    """The traced kinematics, turned so that gravity points down the page's z where it points far from it."""
    q = model.random_configuration(rng)
    turn = display_turn(model)
    got = world_poses(kinematics(model, turn), q)
    assert np.allclose(got[1:], turn @ sixd.body_poses(model, q), atol=1e-14)
    down = turn[:3, :3] @ model.gravity / np.linalg.norm(model.gravity)
    assert down[2] < -0.499


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed (Debian's package nodejs)")
def test_the_pages_kinematics():
    """The JavaScript of the scene, run by Node, for an arm whose gravity is along -y."""
    import subprocess

    model = sixd.zoo.two_link_arm()
    scene, q = make_scene(model), [0.3, -1.1]
    script = f"const f = new Function('q', 'out', {json.dumps(scene['kinematics'])}), out = new Float64Array(24); f({q}, out); console.log(JSON.stringify(Array.from(out)))"
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    want = (display_turn(model) @ sixd.body_poses(model, np.array(q)))[:, :3]
    assert np.allclose(np.array(json.loads(done.stdout)).reshape(2, 3, 4), want, atol=1e-12)


@pytest.mark.parametrize(
    ("gravity", "up"),
    [
        ((0, 0, -9.81), (0, 0, 1)),
        ((0, -9.81, 0), (0, 1, 0)),
        ((0, 0, 9.81), (0, 0, -1)),
        ((3, 0, -9), (0, 0, 1)),
        ((0, 0, 0), (0, 0, 1)),
    ],
)
def test_what_is_up(gravity, up):
    """Against gravity, where that is far from z; a tilted field leaves the world as it is."""
    model = sixd.zoo.pendulum().with_gravity(gravity)
    turn = display_turn(model)
    assert np.allclose(turn[:3, :3] @ up, [0, 0, 1])
    assert np.isclose(np.linalg.det(turn), 1)


def test_reduced_models_have_the_tree_of_their_model(rng):
    model = sixd.zoo.double_elbow()
    reduced = model.reduce()
    scene = make_scene(reduced)
    assert scene["nq"] == reduced.nq < model.nq
    assert [j["name"] for j in scene["joints"]] == list(reduced.joint_names)
    y = reduced.random_configuration(rng)
    turn = display_turn(model)
    poses = world_poses(kinematics(reduced, turn), y)
    assert np.allclose(poses[1:], turn @ sixd.body_poses(model, reduced.lift(y)), atol=1e-14)


def test_constrained_mechanisms_begin_assembled():
    model = sixd.zoo.four_bar()
    scene = make_scene(model)
    assert np.abs(sixd.constraint_error(model, np.array(scene["q"]))).max() < 1e-9
    assert any("do not keep the constraints" in note for note in scene["notes"])


# inertias -----------------------------------------------------------------------------------------


def body_of(inertia):
    builder = sixd.ModelBuilder("body")
    builder.add_body("body", "world", sixd.Free(), inertia=inertia)
    return principal(builder.build(), 1)


def moved(inertia, rng):
    from sixd.zoo.random_trees import random_pose

    T = random_pose(rng)
    return inertia.moved(T), T


@pytest.mark.parametrize("radii", [(0.3, 0.2, 0.1), (0.2, 0.2, 0.2), (0.5, 0.1, 0.1)])
def test_ellipsoid_of_an_ellipsoid(radii, rng):
    """The equivalent ellipsoid of a solid one is itself, wherever it lies."""
    inertia, T = moved(sixd.ellipsoid(*radii, mass=2.0), rng)
    body = body_of(inertia)
    assert np.allclose(body.com, T[:3, 3])
    assert np.isclose(np.linalg.det(body.axes), 1)
    ellipsoid = body.axes @ np.diag(ellipsoid_radii(body) ** 2) @ body.axes.T
    assert np.allclose(ellipsoid, T[:3, :3] @ np.diag(np.square(radii)) @ T[:3, :3].T)


@pytest.mark.parametrize(
    ("inertia", "kind", "size"),
    [
        (sixd.sphere(0.3, mass=2.0), "sphere", (0.3,)),
        (sixd.box(0.2, 0.1, 0.1, mass=1.0), "box", (0.2, 0.1, 0.1)),
        (sixd.box(0.1, 0.1, 0.3, mass=1.0), "box", (0.1, 0.1, 0.3)),
        (sixd.cylinder(0.5, 0.1, mass=3.0, axis="x"), "cylinder", (0.5, 0.1)),
        (sixd.box(1.0, 0.5, 0.2, mass=1.0), "box", (1.0, 0.5, 0.2)),
        (sixd.rod(1.0, mass=1.0), "cylinder", (0.01, 1.0)),
        (sixd.point(1.0), "sphere", (0.01,)),
    ],
    ids=["sphere", "bar", "post", "disc", "box", "rod", "point"],
)
def test_solid_of_an_inertia(inertia, kind, size):
    """The solid that a body is drawn as has the body's inertia, but for what would be too thin to be seen."""
    solid = equivalent_solid(body_of(inertia), 0.01)
    assert solid.kind == kind
    assert np.allclose(solid.size, size, atol=1e-9)


def test_what_turns_about_its_axis_of_symmetry_is_round():
    body = body_of(sixd.cylinder(0.2, 1.0, mass=3.0))
    assert equivalent_solid(body, 0.01).kind == "box"
    solid = equivalent_solid(body, 0.01, spin=np.array([0.0, 0.0, 1.0]))
    assert solid.kind == "cylinder"
    assert np.allclose(solid.size, (0.2, 1.0))


def corners(*size):
    return np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size


def standing(inertia, points):
    """The scene of a free body that meets the ground at points in its frame."""
    builder = sixd.ModelBuilder("body")
    builder.add_body("body", "world", sixd.Free(), inertia=inertia)
    model = builder.build()
    ground = sixd.Ground({"body": points})
    q, internal = np.tile(model.neutral(), (2, 1)), np.zeros((2, ground.size(model)))
    trajectory = Trajectory([0.0, 1.0], q, np.zeros((2, 6)), system=model, forces=(ground,), internal=internal)
    scene = make_scene(model, trajectory)
    return [scene["geometries"][v["geometry"]] for v in scene["visuals"]]


@pytest.mark.parametrize(
    ("inertia", "points", "kind", "size"),
    [
        (sixd.box(0.2, 0.2, 0.04, mass=1.0), corners(0.2, 0.2, 0.04), "box", (0.2, 0.2, 0.04)),
        (sixd.box(0.2, 0.2, 0.2, mass=1.0), corners(0.2, 0.2, 0.2), "box", (0.2, 0.2, 0.2)),
        (sixd.cylinder(0.2, 1.0, mass=1.0), [(0.2, 0, -0.5), (-0.2, 0, -0.5), (0, 0.2, 0.5)], "cylinder", (0.2, 1.0)),
        (sixd.sphere(0.3, mass=1.0), [(0, 0, 0, 0.3)], "sphere", (0.3,)),
        (sixd.sphere(0.1, mass=1.0), corners(0.6, 0.4, 0.2), "box", (0.6, 0.4, 0.2)),
    ],
    ids=["plate", "cube", "cylinder", "ball", "other"],
)
def test_contact_points_lie_on_what_is_drawn(inertia, points, kind, size):
    """Of the solids with a body's moments the one that they lie on; a box around them if there is none."""
    (solid,) = standing(inertia, points)
    assert solid["kind"] == kind
    assert np.allclose(solid["size"], size)


def test_contact_points_far_from_the_mass_are_feet():
    shapes = standing(sixd.sphere(0.1, mass=1.0), [(0.5, 0, -0.5), (-0.5, 0, -0.5)])
    assert sorted(g["kind"] for g in shapes) == ["capsule", "capsule", "sphere", "sphere"]


def test_massless_bodies_have_no_ellipsoid():
    scene = make_scene(sixd.zoo.spinning_top())
    assert [b.get("ellipsoid") is None for b in scene["bodies"]] == [True, True, True, False]


# sticks -------------------------------------------------------------------------------------------


def kinds(model, body):
    scene = make_scene(model)
    return sorted(scene["geometries"][v["geometry"]]["kind"] for v in scene["visuals"] if v["body"] == body)


def test_sticks_join_the_joints():
    """A rod from each hinge to the next, as long as the link."""
    scene = make_scene(sixd.zoo.pendulum(2, length=0.8))
    rods = [
        scene["geometries"][v["geometry"]]["size"][1]
        for v in scene["visuals"]
        if scene["geometries"][v["geometry"]]["kind"] == "capsule"
    ]
    assert np.allclose(rods, [0.8, 0.8])


def test_links_of_equal_inertia_look_alike():
    """Two thick links: the last one, which carries nothing, is as slender as the one before it."""
    builder, link = sixd.ModelBuilder("two"), sixd.cylinder(0.05, 0.4, mass=2.0).translated((0, 0, -0.2))
    builder.add_body("a", "world", sixd.Revolute("y"), inertia=link)
    builder.add_body("b", "a", sixd.Revolute("y"), placement=sixd.placement((0, 0, -0.4)), inertia=link)
    scene = make_scene(builder.build())
    rods = [v for v in scene["visuals"] if scene["geometries"][v["geometry"]]["kind"] == "capsule"]
    assert [v["body"] for v in rods] == [1, 2]
    sizes = [scene["geometries"][v["geometry"]]["size"] for v in rods]
    assert np.allclose(sizes[0], sizes[1])


@pytest.mark.parametrize(
    ("joint", "kind"),
    [
        (sixd.Revolute("y"), "cylinder"), (sixd.Prismatic("x"), "box"), (sixd.Spherical(), "sphere"), (sixd.Universal(), "sphere"),
        (sixd.Helical("z", 0.1), "cylinder"), (sixd.Cylindrical("z"), "cylinder"), (sixd.RackAndPinion(0.1), "cylinder"),
        (sixd.Planar(), "box"),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)  # fmt: skip
def test_joints_show_how_they_move(joint, kind):
    builder = sixd.ModelBuilder("one")
    builder.add_body("a", "world", joint, inertia=sixd.Inertia(1.0, (0.5, 0, 0)))
    assert kind in kinds(builder.build(), 1)


def test_a_slide_has_a_rail_as_long_as_its_limits():
    builder = sixd.ModelBuilder("slide")
    builder.add_body("a", "world", sixd.Prismatic("x"), inertia=sixd.Inertia(1.0), limits=(-0.5, 1.5))
    scene = make_scene(builder.build())
    rail = [v for v in scene["visuals"] if v["body"] == 0 and scene["geometries"][v["geometry"]]["kind"] == "cylinder"]
    assert [scene["geometries"][v["geometry"]]["size"][1] for v in rail] == [2.0]
    assert np.allclose(np.reshape(rail[0]["pose"], (4, 4))[:3, 3], [0.5, 0, 0])


def test_guessed_moments_do_not_swamp_the_picture():
    """simple_humanoid's file has moments of 1 kg m² throughout: its sticks are drawn, not spheres of a metre."""
    scene = make_scene(quiet_load(FIVE["simple_humanoid"]))
    assert max(max(g["size"]) for g in scene["geometries"]) < 1.0


def test_loops_are_closed_by_the_fixed_link():
    scene = make_scene(bare(sixd.zoo.four_bar()))
    fixed = [scene["geometries"][v["geometry"]] for v in scene["visuals"] if v["body"] == 0]
    assert [g["size"][1] for g in fixed if g["kind"] == "capsule"] == [2.0]


# shapes and meshes --------------------------------------------------------------------------------


def model_with(shape, **options):
    builder = sixd.ModelBuilder("m")
    builder.add_body("a", "world", sixd.Revolute("z"), inertia=sixd.Inertia(1.0, (0.1, 0, 0)))
    builder.add_visual("a", shape, **options)
    return builder.build()


@pytest.mark.parametrize(
    "shape",
    [
        sixd.Shape("box", (1, 2, 3)), sixd.Shape("cylinder", (0.1, 2)), sixd.Shape("capsule", (0.1, 2)),
        sixd.Shape("sphere", (0.1,)), sixd.Shape("ellipsoid", (1, 2, 3)), sixd.Shape("cone", (0.1, 2)),
    ],
    ids=lambda s: s.kind,
)  # fmt: skip
def test_shapes_of_the_file_are_shown(shape):
    scene = make_scene(model_with(shape, placement=sixd.placement((1, 2, 3)), color=(1, 0, 0, 0.5)))
    assert scene["geometries"] == [{"kind": shape.kind, "size": [float(x) for x in shape.size]}]
    (visual,) = scene["visuals"]
    assert visual["color"] == [1, 0, 0, 0.5]
    assert np.reshape(visual["pose"], (4, 4))[:3, 3].tolist() == [1, 2, 3]


def test_lines_and_triangles():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    scene = make_scene(model_with(sixd.Shape("line", vertices=points)))
    assert np.allclose(unpack(scene["geometries"][0]["positions"]), points.ravel())
    scene = make_scene(model_with(sixd.Shape("mesh", vertices=points, triangles=np.array([[0, 1, 2]]))))
    mesh = scene["geometries"][0]
    assert np.allclose(
        unpack(mesh["positions"]).reshape(-1, 3)[unpack(mesh["indices"])].sum(axis=0), points.sum(axis=0)
    )


def test_a_missing_mesh_is_noted_and_drawn_by_sticks():
    scene = make_scene(model_with(sixd.Shape("mesh", file="no/such/arm.stl")))
    assert scene["notes"] == ["Meshes not found: arm.stl. Give sixd.load their folder by package_dirs."]
    assert {g["kind"] for g in scene["geometries"]} >= {"cylinder"}


def test_a_broken_mesh_is_noted(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "arm.stl").write_bytes(b"solid nonsense")
    scene = make_scene(model_with(sixd.Shape("mesh", file=str(tmp_path / "arm.stl"))))
    assert len(scene["notes"]) == 1
    assert "arm.stl" in scene["notes"][0]
    assert str(tmp_path) not in scene["notes"][0]


def zipped(path, inside="arm.obj", size=10**6):
    """An archive with a file of zeros."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(inside, b"0" * size)
    return str(path)


def test_archives_are_no_meshes(tmp_path, monkeypatch):
    """By their bytes, not by their names; formats that are archives themselves are measured as they unpack."""
    pytest.importorskip("trimesh")
    monkeypatch.setattr("trimesh.load_scene", None)  # none of them is read
    monkeypatch.setattr("trimesh.load", None)
    packed = gzip.compress(b"solid")
    for name in ("arm.zip", "arm.stl", "arm.obj"):
        with pytest.raises(sixd.FileError, match=f"{name}' is not read: it is an archive, expected a mesh.* Unpack it"):
            read_mesh(zipped(tmp_path / name))
    (tmp_path / "arm.tar.gz").write_bytes(packed)
    with pytest.raises(sixd.ModelError, match=r"mesh: cannot read .*arm.tar.gz': it is an archive, expected a mesh"):
        sixd.mesh(tmp_path / "arm.tar.gz", mass=1.0)
    (tmp_path / "far.stl").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(sixd.ModelError, match=r"far.stl': it is a Git LFS pointer, not the mesh itself.* git lfs pull"):
        sixd.mesh(tmp_path / "far.stl", mass=1.0)
    monkeypatch.setattr("sixd.file_limits.LARGEST_MESH", 1 << 19)
    with pytest.raises(sixd.FileError, match="arm.3mf' is not read: it has 0 MiB, expected at most 0 MiB. Simplify"):
        read_mesh(zipped(tmp_path / "arm.3mf"))
    scene = make_scene(model_with(sixd.Shape("mesh", file=str(tmp_path / "arm.zip"))))
    assert scene["notes"][0].startswith("The mesh 'arm.zip' is not read: it is an archive")


def test_meshes_have_limits(tmp_path, monkeypatch):
    """Of each, and of all together: the others are drawn by sticks."""
    trimesh = pytest.importorskip("trimesh")
    for name in "abc":
        trimesh.creation.box((1, 2, 3)).export(tmp_path / f"{name}.stl")
    shapes = [sixd.Shape("mesh", file=str(tmp_path / f"{name}.stl")) for name in "abc"]
    builder = sixd.ModelBuilder.from_model(model_with(shapes[0]))
    for shape in shapes[1:]:
        builder.add_visual("a", shape)
    model = builder.build()
    assert make_scene(model)["notes"] == []
    monkeypatch.setattr("sixd.geometry.shapes.LARGEST_MESHES", 1)
    notes = make_scene(model)["notes"]
    assert notes == ["Further meshes are not read: those before them have more than 0 MiB."]
    monkeypatch.setattr("sixd.file_limits.LARGEST_MESH", 600)
    with pytest.raises(sixd.FileError, match=r"c\.stl' is not read: it has 0 MiB, expected at most 0 MiB"):
        read_mesh(shapes[2].file)


def test_without_trimesh_the_notes_say_what_to_install(tmp_path, monkeypatch):
    import sys

    (tmp_path / "arm.stl").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "trimesh", None)
    scene = make_scene(model_with(sixd.Shape("mesh", file=str(tmp_path / "arm.stl"))))
    assert scene["notes"] == [
        "Meshes are not shown, trimesh reads them. Install it with: pip install trimesh pillow pycollada."
    ]


def test_a_real_arm():
    """ur5: every visual has its mesh, with the colours of its parts, within the budget."""
    pytest.importorskip("trimesh")
    model = quiet_load(FIVE["ur5"])
    scene = make_scene(model)
    assert scene["notes"] == []
    assert len(scene["visuals"]) == len(model.visuals)
    assert all(g["kind"] == "mesh" and "colors" in g for g in scene["geometries"])
    colors = np.concatenate([unpack(g["colors"]).reshape(-1, 3) for g in scene["geometries"]])
    assert len(np.unique(colors, axis=0)) >= 3


def grid(n=40):
    """A bumpy square of 2 n² triangles, each with vertices of its own, as STL files have."""
    x, y = np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1), indexing="ij")
    points = np.stack([x, y, 0.05 * np.sin(6 * x) * np.sin(6 * y)], axis=-1).reshape(-1, 3)
    a = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    triangles = np.concatenate([np.stack([a, a + n + 1, a + n + 2], 1), np.stack([a, a + n + 2, a + 1], 1)])
    return Mesh(points[triangles.ravel()], np.arange(triangles.size).reshape(-1, 3))


def area(mesh):
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2


def test_welding_shares_vertices():
    loose = grid()
    welded = weld(loose)
    assert len(welded.vertices) == 41**2
    assert len(welded.triangles) == len(loose.triangles)
    assert np.isclose(area(welded), area(loose), rtol=1e-6)  # the grid of a millionth


def test_clusters_keep_the_surface():
    welded = weld(grid())
    coarse = cluster(welded, 0.1)
    assert len(coarse.triangles) < len(welded.triangles) / 8
    assert abs(area(coarse) / area(welded) - 1) < 0.1  # a coarse picture of it
    assert np.abs(coarse.vertices[:, 2]).max() < 0.06


def test_meshes_fit_the_budget():
    meshes = [weld(grid()) for _ in range(3)]
    whole = fit(meshes)
    assert sum(len(m.triangles) for m in whole) == 3 * 3200
    small = fit(meshes, budget=60_000)
    assert 20_000 < sum(m.size for m in small) <= 60_000
    assert fit([]) == []


def test_creases_split_vertices():
    """A cube's corners become three each; a fine cylinder's mantle stays whole."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    cube = Mesh(corners, np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))]))
    split = split_creases(cube)
    assert len(split.vertices) == 24
    assert np.allclose(split.vertices[split.triangles], cube.vertices[cube.triangles])
    smooth = weld(grid())
    assert len(split_creases(smooth).vertices) == len(smooth.vertices)


def test_colours_survive(rng):
    """Vertices of two colours at one position stay two."""
    mesh = grid(4)
    colors = np.repeat(rng.integers(0, 256, (len(mesh.triangles), 3)).astype(np.uint8), 3, axis=0)
    painted = Mesh(mesh.vertices, mesh.triangles, colors)
    for after in (weld(painted), split_creases(weld(painted))):
        assert len(after.triangles) == len(mesh.triangles)
        assert (after.colors[after.triangles] == after.colors[after.triangles[:, :1]]).all()
        assert {tuple(c) for c in after.colors} == {tuple(c) for c in colors}


def test_meshes_of_files(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box((1, 2, 3))
    for suffix in ("stl", "obj"):
        box.export(tmp_path / f"box.{suffix}")
        mesh = read_mesh(str(tmp_path / f"box.{suffix}"))
        assert len(mesh.vertices) == 8
        assert len(mesh.triangles) == 12
        assert np.isclose(area(mesh), 22, rtol=1e-5)
    mirrored = read_mesh(str(tmp_path / "box.stl")).scaled((-1, 1, 1))
    a, b, c = (mirrored.vertices[mirrored.triangles[:, k]] for k in range(3))
    assert np.isclose((np.cross(a, b) * c).sum() / 6, 6, rtol=1e-5)  # the outside stays outside
    with pytest.raises(sixd.FileError, match="is not found"):
        read_mesh(str(tmp_path / "none.stl"))


def test_planes_carry_what_floats():
    """A file with a floor: a floating body begins upon it, not half in it."""
    builder = sixd.ModelBuilder("ball")
    builder.add_body("ball", "world", sixd.Free(), inertia=sixd.sphere(0.3, mass=1.0))
    builder.add_visual("ball", sixd.Shape("sphere", (0.3,)))
    builder.add_visual("world", sixd.Shape("plane"))
    model = builder.build()
    assert np.allclose(make_scene(model)["q"], [1, 0, 0, 0, 0, 0, 0.3])
    assert np.allclose(make_scene(model, q=model.neutral())["q"], model.neutral())


# motions ------------------------------------------------------------------------------------------


def test_a_motion_and_its_plots():
    model = sixd.zoo.cart_pole()
    trajectory = motion_of(model, 30, 1.0)
    (entry,) = make_scene(model, trajectory)["trajectories"]
    assert np.allclose(unpack(entry["t"]), trajectory.t)
    assert np.allclose(unpack(entry["q"]).reshape(30, 2), trajectory.q, atol=1e-6)  # float32
    plots = {p["title"]: p["series"] for p in entry["plots"]}
    assert list(plots) == [
        "energy [J]", "position [m]", "angle [rad]", "velocity [m/s]", "angular velocity [rad/s]", "force [N]", "torque [N m]",
    ]  # fmt: skip
    assert [s["label"] for s in plots["energy [J]"]] == ["total", "kinetic", "potential"]
    assert np.allclose(unpack(plots["energy [J]"][0]["values"]), trajectory.energy, rtol=1e-6)
    assert plots["angle [rad]"] == [{"label": "hinge", "coordinate": 1}]
    assert np.allclose(unpack(plots["force [N]"][0]["values"]), trajectory.tau[:, 0], rtol=1e-6)


def test_quaternions_and_constraint_errors_are_plotted():
    free = sixd.zoo.single_body()
    titles = [p["title"] for p in make_scene(free, motion_of(free))["trajectories"][0]["plots"]]
    assert "orientation, quaternion" in titles
    closed = sixd.zoo.four_bar()
    plots = make_scene(closed, motion_of(closed))["trajectories"][0]["plots"]
    assert plots[-1]["title"] == "constraint error"


def test_plots_are_titled_by_unit():
    """A hinge that has the name of a quaternion's entry is an angle."""
    builder = sixd.ModelBuilder("named")
    builder.add_body("qw", "world", sixd.Revolute("z"), inertia=sixd.sphere(0.1, mass=1.0))
    model = builder.build()
    titles = [p["title"] for p in make_scene(model, motion_of(model))["trajectories"][0]["plots"]]
    assert "angle [rad]" in titles


def test_rows_of_a_batch_stand_side_by_side():
    model = sixd.zoo.pendulum()
    scene = make_scene(model, motion_of(model, batch=(4, 5)))
    entries = scene["trajectories"]
    assert len(entries) == 16
    assert entries[6]["name"] == "row 1, 1"
    assert scene["notes"][0].startswith("16 motions are shown, 4 more")
    offsets = np.array([e["offset"] for e in entries])
    apart = np.linalg.norm(offsets[:, None] - offsets[None], axis=-1)[np.triu_indices(16, 1)]
    assert apart.min() > 0.9  # a rod of a metre swings in each
    assert len({tuple(e["color"]) for e in entries}) == 16


def test_ghosts_share_a_position():
    model = sixd.zoo.pendulum()
    entries = make_scene(model, motion_of(model, batch=(3,)), ghost=True)["trajectories"]
    assert [e["ghost"] for e in entries] == [False, True, True]
    assert all(e["offset"] == [0, 0, 0] for e in entries)


def test_several_trajectories_by_name():
    model = sixd.zoo.pendulum()
    one, two = motion_of(model), motion_of(model, 7)
    assert [e["name"] for e in make_scene(model, {"a": one, "b": two})["trajectories"]] == ["a", "b"]
    assert [e["name"] for e in make_scene(model, [one, two], names=["x", "y"])["trajectories"]] == ["x", "y"]
    assert [e["name"] for e in make_scene(model, [one, two])["trajectories"]] == ["motion 1", "motion 2"]
    assert len(make_scene(model, (one, two))["trajectories"]) == 2


def test_times_and_coordinates_alone():
    model = sixd.zoo.pendulum()
    (entry,) = make_scene(model, ([0.0, 1.0], [[0.0], [1.0]]))["trajectories"]
    assert unpack(entry["q"]).tolist() == [0, 1]
    assert [p["title"] for p in entry["plots"]] == ["angle [rad]"]


def test_loaded_trajectories_keep_their_energies(tmp_path):
    model = sixd.zoo.pendulum()
    trajectory = motion_of(model)
    trajectory.save(tmp_path / "swing.npz")
    (entry,) = make_scene(model, Trajectory.load(tmp_path / "swing.npz"))["trajectories"]
    assert np.allclose(unpack(entry["plots"][0]["series"][0]["values"]), trajectory.energy, rtol=1e-6)


def test_records_are_thinned_to_what_screens_show():
    t = np.linspace(0, 2, 2001)
    kept = thinned(t)
    assert kept[0] == 0
    assert kept[-1] == 2000
    assert 119 <= len(kept) <= 122
    assert np.diff(t[kept]).max() < 1.1 / 60
    assert len(thinned(t[::20])) == 101  # fewer than 60 a second stay
    uneven = np.concatenate([np.linspace(0, 0.01, 500), [1.0, 2.0]])
    assert thinned(uneven).tolist()[-2:] == [500, 501]


@pytest.mark.parametrize("records", [7, 100, 101, 5003])
def test_plots_keep_every_peak(records, rng):
    """Of many records a plot has the smallest and the largest of each bin, in their order, and the ends."""
    bins, t, x = Bins(records, 100), np.linspace(0, 2, records), rng.normal(size=records)
    times, values = bins.times(t), bins.values(x)
    assert len(times) == len(values) <= 103
    assert (np.diff(times) >= 0).all()
    assert (times[0], times[-1], values[-1]) == (t[0], t[-1], x[-1])
    assert (values.min(), values.max()) == (x.min(), x.max())
    if records <= 100:
        assert values is x
    x[records // 2] = np.nan
    assert np.isnan(bins.values(x)).any()


def test_an_impact_is_in_the_plot():
    """A velocity that is large in one of 20,001 records, where poses have 60 a second."""
    model, t = sixd.zoo.pendulum(), np.linspace(0, 20, 20001)
    qd = np.zeros((20001, 1))
    qd[12345] = 7.0
    (entry,) = make_scene(model, Trajectory(t, np.zeros((20001, 1)), qd, system=model))["trajectories"]
    (velocity,) = [p["series"][0] for p in entry["plots"] if p["title"] == "angular velocity [rad/s]"]
    values, times = unpack(velocity["values"]), unpack(entry["plot_t"])
    assert len(values) == len(times) <= 4003
    assert values.max() == 7
    assert abs(times[values.argmax()] - t[12345]) < 0.011  # a bin


@pytest.mark.parametrize(("frequency", "rate"), [(1.0, 60), (5.0, 120), (40.0, 960)])
def test_a_fast_motion_keeps_more_records(frequency, rate):
    """As many as it needs, without a note."""
    model, t = sixd.zoo.pendulum(), np.linspace(0, 1, 2001)
    scene = make_scene(model, (t, np.sin(2 * np.pi * frequency * t)[:, None]))
    assert scene["notes"] == []
    assert scene["trajectories"][0]["t"]["length"] in (rate + 1, rate + 2)  # the last one may lie beyond the grid


def test_records_at_one_time_are_kept_as_they_are():
    model, t = sixd.zoo.pendulum(), np.zeros(5)
    assert make_scene(model, (t, np.arange(5.0)[:, None]))["trajectories"]


def test_what_thinning_loses_is_noted(monkeypatch):
    """Where the page would become too large."""
    monkeypatch.setattr(motions, "_MOST_NUMBERS", 1000)
    model, t = sixd.zoo.pendulum(), np.linspace(0, 1, 2001)
    (note,) = make_scene(model, (t, np.sin(80 * np.pi * t)[:, None]))["notes"]
    assert "changes faster than its records in this page, which is kept small, can show" in note


def test_a_long_motion_stays_small():
    """Ten hours of a double pendulum at 60 records a second would be 46 MB."""
    model, t = sixd.zoo.pendulum(2), np.linspace(0, 36000, 36000 * 60)
    scene = make_scene(model, (t, np.zeros((len(t), 2))))
    assert "to keep the page small" in scene["notes"][0]
    assert 7e6 < len(json.dumps(scene)) < 9e6


def test_contacts():
    model = sixd.zoo.falling_sphere()
    ground = sixd.Ground({model.body_names[0]: [(0, 0, -0.1), (0, 0, 0.1)]})
    q = np.tile(model.neutral(), (4, 1))
    trajectory = Trajectory(
        np.arange(4.0), q, np.zeros((4, 6)), system=model, forces=(ground,), internal=np.zeros((4, ground.size(model)))
    )
    contacts = make_scene(model, trajectory)["trajectories"][0]["contacts"]
    ((_, points, forces),) = trajectory.contacts()
    assert contacts["count"] == 2
    assert np.allclose(unpack(contacts["points"]).reshape(4, 2, 3), points)
    assert np.allclose(unpack(contacts["forces"]).reshape(4, 2, 3), forces, rtol=1e-6)
    assert unpack(contacts["forces"]).max() > 0


def test_states_that_are_not_finite_pass():
    """A row that failed is shown up to the failure, which is NaN in the page."""
    model = sixd.zoo.pendulum()
    q = np.array([[0.1], [0.2], [np.nan]])
    (entry,) = make_scene(model, (np.arange(3.0), q))["trajectories"]
    assert np.isnan(unpack(entry["q"])[-1])


def test_a_motion_without_any_finite_state_shows_the_mechanism_at_rest():
    model = sixd.zoo.single_body()
    assert make_scene(model, (np.arange(3.0), np.full((3, 7), np.nan)))["q"] == [1, 0, 0, 0, 0, 0, 0]


# what is wrong ------------------------------------------------------------------------------------


def lagrangian():
    import sympy

    x = sympy.Symbol("x")
    v = sympy.Symbol("xd")
    return sixd.lagrange(v**2 / 2, x**2 / 2, [x], qd=[v])


P = sixd.zoo.pendulum()
WRONG = {
    "is a system without bodies, expected a sixd.Model. Say where its bodies are": lambda: make_scene(lagrangian()),
    "model is a int, expected a sixd.Model": lambda: make_scene(3),
    "q has shape (2,), expected (1,) for 'pendulum'": lambda: make_scene(P, q=[1, 2]),
    "q is 'x', expected 1 numbers": lambda: make_scene(P, q="x"),
    "q is [nan], expected finite numbers": lambda: make_scene(P, q=[np.nan]),
    "t (2,) and q (2, 3), expected (r,) and (…, r, 1)": lambda: make_scene(P, ([0, 1], np.zeros((2, 3)))),
    "the trajectory's times do not ascend": lambda: make_scene(P, ([1, 0], np.zeros((2, 1)))),
    "the trajectory has no records": lambda: make_scene(P, (np.zeros(0), np.zeros((0, 1)))),
    "the trajectory has no rollouts": lambda: make_scene(P, (np.zeros(3), np.zeros((0, 3, 1)))),
    "the trajectory holds a int, expected a sixd.Trajectory, a path of sixd.plan_path, a pair (t, q)": lambda: make_scene(P, 3),
    "names is ['a', 'b'], expected 1 names": lambda: make_scene(P, motion_of(P), names=["a", "b"]),
    "camera: no body named 'rod'. Did you mean 'rod1'?": lambda: make_scene(P, camera={"position": [1, 0, 0], "track": "rod"}),
    "the camera has no position": lambda: make_scene(P, camera={"target": [0, 0, 0]}),
    "the camera's up is [1, 2], expected three finite numbers": lambda: make_scene(P, camera={"position": [1, 0, 0], "up": [1, 2]}),
    "camera is {'zoom': 1}, expected a dictionary with some of 'position'": lambda: make_scene(P, camera={"zoom": 1}),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments(message):
    with pytest.raises(sixd.SixdError) as caught:
        WRONG[message]()
    assert message in str(caught.value)


def test_symbolic_models_cannot_be_shown():
    import sympy

    with pytest.raises(sixd.ScalarTypeError, match="view: 'pendulum' has symbolic parameters l, expected numbers"):
        make_scene(sixd.zoo.pendulum(length=sympy.Symbol("l")))


def test_a_camera_is_given_in_world_axes():
    """Of an arm whose gravity is along -y the page shows y upwards, and the camera turns with it."""
    camera = make_scene(sixd.zoo.two_link_arm(), camera={"position": [0, 1, 5], "up": [0, 1, 0]})["camera"]
    assert np.allclose(camera["position"], [0, -5, 1])
    assert np.allclose(camera["up"], [0, 0, 1])
    assert camera["target"] == [0, 0, 0]


def test_a_camera_that_only_follows_a_body():
    """The page then chooses where it stands."""
    camera = make_scene(P, camera={"track": "rod1"})["camera"]
    assert camera["track"] == "rod1"
    assert camera["position"] is None


def test_a_pinion_without_a_shape_shows_its_turn():
    """Of a plain disc one could not see that it turns: a spoke goes with it, wider than the disc."""
    builder = sixd.ModelBuilder("pinion")
    builder.add_body(
        "pinion", "world", sixd.RackAndPinion(0.3), inertia=sixd.Inertia(1.0, (0, 0, -0.1), (0.02, 0.01, 0.01))
    )
    model = builder.build()
    kinds = [piece.kind for piece in joint_pieces(model, 1, 0.01, 1.0) if piece.body == 1]
    assert kinds == ["cylinder", "box"]
