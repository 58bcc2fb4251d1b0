"""Writing MJCF: MuJoCo compiles it and computes the same forces; what MJCF cannot hold raises, what is lost warns."""

import dataclasses
import os
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from peers import mujoco, pin
from robots import DM_CONTROL, FIVE, ROBOTS, ByName, all_urdfs, pinocchio_model, quiet_load, require_file
from samples import Parabola
from sixd.constraints.functions import Polynomial
from sixd.zoo.random_trees import JOINT_KINDS

pytestmark = pytest.mark.targets("plain")  # compiling for each model would take minutes and show no more

TEN = FIVE | {
    "kinova": ROBOTS / "kinova_description/robots/kinova.urdf",
    "solo12": ROBOTS / "solo_description/robots/solo12.urdf",
    "hyq": ROBOTS / "hyq_description/robots/hyq_no_sensors.urdf",
    "tiago": ROBOTS / "tiago_description/robots/tiago_no_hand.urdf",
    "icub": ROBOTS / "icub_description/robots/icub_reduced.urdf",
}
BALL = sixd.box(0.1, 0.2, 0.3, mass=1.5).translated((0.1, 0.05, -0.2))


def quiet_text(model):
    """The text, without the warning of what is not in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.ModelWarning)
        return sixd.to_mjcf(model)


def compiled(text):
    """MuJoCo's model of a text, without its constraints, of which friction and limits are two."""
    theirs = mujoco.MjModel.from_xml_string(text)
    theirs.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    return theirs


def forces(theirs, qpos, qvel, qacc):
    data = mujoco.MjData(theirs)
    data.qpos, data.qvel, data.qacc = qpos, qvel, qacc
    mujoco.mj_inverse(theirs, data)
    return data.qfrc_inverse.copy()


def scaled(ours, theirs):
    return np.abs(ours - theirs).max(initial=0.0) / max(1.0, np.abs(theirs).max(initial=0.0))


def frictionless(model):
    return dataclasses.replace(model, friction=np.zeros(model.nv))


def worst(model, theirs, rng, states=3):
    """The largest scaled difference between inverse dynamics and MuJoCo's."""
    model, found = frictionless(model), 0.0
    for _ in range(states):
        q, (qd, qdd) = model.random_configuration(rng), rng.uniform(-2, 2, (2, model.nv))
        tau = sixd.inverse_dynamics(model, q, qd, qdd)
        *state, tau = sixd.interop.to_mujoco(model, q, qd, qdd, tau, mujoco_model=theirs)
        found = max(found, scaled(tau, forces(theirs, *state)))
    return found


def one_body(joint=None, **options):
    builder = sixd.ModelBuilder("m")
    joint = sixd.Revolute("z") if joint is None else joint
    builder.add_body("a", "world", joint, **{"inertia": BALL, "joint_name": "j", **options})
    return builder


# robots -------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("name", TEN)
def test_ten_robots(name, floating, rng):
    """URDF → MJCF → MuJoCo: joint forces are those of sixd and of Pinocchio, and so is the model that is read back."""
    model = dataclasses.replace(quiet_load(TEN[name], floating_base=floating), visuals=()).without_passive()
    text = quiet_text(model)
    theirs, other = compiled(text), pinocchio_model(TEN[name], floating=floating)
    by_name, data = ByName(model, other), other.createData()
    for _ in range(3):
        q, (qd, qdd) = model.random_configuration(rng), rng.uniform(-2, 2, (2, model.nv))
        tau = sixd.inverse_dynamics(model, q, qd, qdd)
        peer = by_name.back(pin.rnea(other, data, by_name.q(q), by_name.v(qd), by_name.v(qdd)))
        *state, peer_tau = sixd.interop.to_mujoco(model, q, qd, qdd, peer, mujoco_model=theirs)
        found = forces(theirs, *state)
        assert scaled(tau, peer) <= 1e-10
        # icub has inertias of rods, which MuJoCo refuses: their least moment is 1e-14
        assert scaled(peer_tau, found) <= 1e-10
    again = quiet_load(text)
    assert (again.joint_names, again.body_names) == (model.joint_names, model.body_names)
    # collision meshes that MuJoCo does not read are not in the file
    comparison = sixd.compare(model, again, ignore=["limits", "collisions"], states=3)
    assert comparison.equal, str(comparison)


@pytest.mark.long
@pytest.mark.parametrize("path", all_urdfs(), ids=lambda p: p.stem)
def test_every_urdf(path, rng):
    """With shapes and meshes: MuJoCo compiles all of them but those with inertias that no body has."""
    try:
        model = quiet_load(path)
    except sixd.LoadError as error:
        pytest.skip(f"not a robot: {error}")
    impossible = [name for name in model.body_names if not model.body_inertia(name).is_physical()]
    if impossible:
        with pytest.raises(sixd.ModelError, match=f"MuJoCo refuses the inertia of body '({'|'.join(impossible)})'"):
            quiet_text(model)
        return
    text = quiet_text(model)
    if model.nv:
        # flat inertias that are off by up to 1e-9 are corrected, because MuJoCo refuses them
        assert worst(model, compiled(text), rng, states=1) <= 1e-9


def test_damping_springs_armature_and_limits_of_a_robot(rng):
    """Passive properties and limits are in the file, and act in MuJoCo."""
    model = quiet_load(FIVE["panda"])
    n = np.arange(1.0, model.nv + 1)
    model = dataclasses.replace(
        model, visuals=(), damping=n / 7, friction=n / 9, armature=n / 5, stiffness=n, rest=n / 3
    )
    text = quiet_text(model)
    assert worst(model, compiled(text), rng) <= 1e-10
    again = quiet_load(text)
    for key in ("damping", "friction", "armature", "stiffness", "rest", "lower", "upper", "effort_limit"):
        assert_allclose(getattr(again, key), getattr(model, key), rtol=1e-15)
    assert again.constraints == model.constraints  # the finger that mimics the other


SUITE = ["acrobot", "cartpole", "cheetah", "hopper", "walker", "humanoid", "finger", "quadruped", "fish", "swimmer"]


@pytest.mark.many
@pytest.mark.parametrize("name", SUITE)
def test_mjcf_to_mjcf(name, rng):
    """MJCF → sixd → MJCF: MuJoCo computes the same forces for both files; joints on one body are on one body again."""
    path = require_file(DM_CONTROL / "suite" / f"{name}.xml")
    mujoco.set_mju_user_warning(lambda text: None)  # it would write a log file
    first = mujoco.MjModel.from_xml_path(str(path))
    mujoco.set_mju_user_warning(None)
    first.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    first.opt.density = first.opt.viscosity = 0
    first.tendon_stiffness[:] = first.tendon_damping[:] = 0
    model = quiet_load(path)
    text = quiet_text(model)
    second = compiled(text)
    assert first.jnt_type.tolist() == second.jnt_type.tolist()
    assert (np.bincount(first.jnt_bodyid) > 0).sum() == (np.bincount(second.jnt_bodyid) > 0).sum()
    for _ in range(3):
        q, (qd, qdd) = model.random_configuration(rng), rng.uniform(-2, 2, (2, model.nv))
        state = sixd.interop.to_mujoco(model, q, qd, qdd)
        assert scaled(forces(second, *state), forces(first, *state)) <= 1e-10
    again = quiet_load(text)
    assert again.configuration_names == model.configuration_names
    assert len(again.visuals) == len(model.visuals)
    assert sixd.compare(model, again, states=2)


# joints -------------------------------------------------------------------------------------------

COUPLED = ("helical", "rack and pinion")
NOT_IN_MJCF = ()  # kinds of joints for which ``parts_of`` of io/mjcf/parts.py has no parts
KINDS = tuple(k for k in JOINT_KINDS if k not in NOT_IN_MJCF)
ALIKE = ("free", "spherical")  # passive properties of theirs are one number


@pytest.mark.parametrize("seed", range(3))
def test_trees_of_every_joint(seed, rng):
    """Joints of several degrees of freedom are several joints in MuJoCo, with the same coordinates; a free joint may be on a body."""
    plain = sixd.zoo.random_tree(seed, passive=False, kinds=tuple(k for k in KINDS if k not in COUPLED), rounds=2)
    theirs = compiled(sixd.to_mjcf(plain))
    assert worst(plain, theirs, rng) <= 1e-10
    state = plain.random_configuration(rng, size=4), *rng.uniform(-1, 1, (3, 4, plain.nv))
    other = sixd.interop.to_mujoco(plain, *state, mujoco_model=theirs)
    for back, original in zip(sixd.interop.from_mujoco(plain, *other, mujoco_model=theirs), state, strict=True):
        assert_allclose(back, original, atol=1e-12)
    kinds = tuple(k for k in KINDS if k not in (*COUPLED, *ALIKE))
    passive = sixd.zoo.random_tree(seed, kinds=kinds, rounds=2)
    assert worst(passive, compiled(sixd.to_mjcf(passive)), rng) <= 1e-10


@pytest.mark.parametrize("joint", [sixd.Helical((1, 2, 3), 0.3), sixd.RackAndPinion(0.2)], ids=["screw", "rack"])
def test_coupled_joints(joint, rng):
    """A screw and a rack are a hinge and a slide with an equality between them: forces project onto the same."""
    builder = one_body(joint, placement=sixd.zoo.random_trees.random_pose(rng), damping=0.3, stiffness=2.0, rest=0.4)
    builder.add_body("b", "a", sixd.Revolute("x"), inertia=BALL, placement=sixd.placement((0.1, 0.2, 0.3)))
    builder.add_constraint(sixd.Mimic("b", "j", 2.0, 0.1))
    model = builder.build()
    text = sixd.to_mjcf(model)
    theirs = compiled(text)
    slide = joint.pitch if isinstance(joint, sixd.Helical) else -joint.radius
    G = np.zeros((3, 2))  # from the degrees of freedom of the model to MuJoCo's
    G[theirs.joint("j:turn").dofadr[0]] = 1, 0
    G[theirs.joint("j:slide").dofadr[0]] = slide, 0
    G[theirs.joint("b").dofadr[0]] = 0, 1
    q, qd, qdd = rng.uniform(-1, 1, (3, 2))
    tau = sixd.inverse_dynamics(model, q, qd, qdd)
    assert_allclose(G.T @ forces(theirs, G @ q, G @ qd, G @ qdd), tau, rtol=0, atol=1e-12)
    # read back, the equalities are hard: in independent coordinates it is the same mechanism
    y, yd, ydd = rng.uniform(-1, 1, (3, 1))
    again = sixd.inverse_dynamics(quiet_load(text).reduce(), y, yd, ydd)
    assert_allclose(again, sixd.inverse_dynamics(model.reduce(), y, yd, ydd), rtol=0, atol=1e-12)


def test_a_free_joint_with_damping_of_its_own(rng):
    """Where translations and rotations are damped differently, a free joint is three slides and a ball."""
    pose = sixd.zoo.random_trees.random_pose(rng)
    even = one_body(sixd.Free(), damping=0.7, placement=pose).build()
    assert 'type="free"' in sixd.to_mjcf(even)
    uneven = one_body(sixd.Free(), damping=[1, 1, 1, 2, 2, 2], armature=[0.1] * 3 + [0] * 3, placement=pose).build()
    assert 'name="j:ball" type="ball"' in sixd.to_mjcf(uneven)
    for model in (even, uneven):
        assert worst(model, compiled(sixd.to_mjcf(model)), rng) <= 1e-12


def test_frames_that_are_not_on_their_joints(rng):
    """The link is at its named frame where the coordinates allow it, else the frame becomes a site NAME_frame."""
    pose = sixd.placement((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    for joint in (sixd.Revolute((1, 2, 3)), sixd.Prismatic("y"), sixd.Universal(), sixd.Planar()):
        model = one_body(joint, link_pose=pose).build()
        text = sixd.to_mjcf(model)
        q = model.random_configuration(rng)
        data = mujoco.MjData(compiled(text))
        data.qpos = sixd.interop.to_mujoco(model, q, mujoco_model=compiled(text))
        mujoco.mj_kinematics(compiled(text), data)
        assert_allclose(data.body("a").xpos, sixd.pose(model, q, "a")[:3, 3], atol=1e-12)
        assert_allclose(data.body("a").xmat.reshape(3, 3), sixd.pose(model, q, "a")[:3, :3], atol=1e-12)
    model = one_body(sixd.Spherical(), link_pose=pose).build()
    with pytest.warns(sixd.ModelWarning, match="frames a cannot be those of their bodies, and are written as NAME"):
        again = sixd.load(sixd.to_mjcf(model))
    q = model.random_configuration(rng)
    assert_allclose(sixd.pose(again, q, "a_frame"), sixd.pose(model, q, "a"), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joint": Parabola()}, r"cannot hold joint 'j' \(Parabola\)"),
        ({"joint": sixd.Spherical(), "damping": [1, 2, 3]}, "one damping per joint, but 'j' has"),
        ({"joint": sixd.Spherical(), "stiffness": 1.0, "rest": [0, 1, 0, 0]}, "spring of joint 'j' is at rest at"),
        ({"joint": sixd.Free(), "armature": 1.0}, "translations of free joint 'j'"),
        ({"joint": sixd.Free(), "friction": 1.0}, "translations of free joint 'j'"),
        ({"joint": sixd.Free(), "damping": [0, 0, 0, 1, 2, 3]}, "translations of free joint 'j'"),
        ({"inertia": sixd.Inertia(-1.0)}, "MuJoCo refuses the inertia of body 'a': the mass is negative"),
        ({"inertia": sixd.Inertia(1.0, (0, 0, 0), (1, 1, 3))}, "body 'a': .* break the triangle inequality"),
        ({"inertia": sixd.point(1.0, (1, 0, 0)) - sixd.point(1.0)}, "body 'a': it has a first moment but no mass"),
    ],
)
def test_what_mjcf_cannot_hold(options, message, tmp_path):
    model = one_body(**options).build()
    with pytest.raises(sixd.ModelError, match=message):
        sixd.to_mjcf(model, tmp_path / "x.xml")
    assert not list(tmp_path.iterdir())


# masses, limits, shapes ---------------------------------------------------------------------------


def test_massless_bodies_and_points(rng):
    """MuJoCo refuses bodies without mass or moments; 1e-14 is added, and a warning names them."""
    builder = one_body(inertia=None)
    builder.add_body("point", "a", sixd.Universal(), inertia=sixd.point(2.0, (0.3, 0, 0)))
    builder.add_body("rod", "point", sixd.Revolute("x"), inertia=sixd.rod(1.0, mass=100.0), armature=0.1)
    flat = sixd.Inertia(1.0, (0, 0, 0), np.diag([1.0, 2.0, 3.0])).rotated(
        sixd.zoo.random_trees.random_pose(rng)[:3, :3]
    )
    builder.add_body("plate", "rod", sixd.Spherical(), inertia=flat)  # A + B = C, but for rounding
    model = builder.build()
    with pytest.warns(sixd.ModelWarning, match="kg m² for a, point, rod"):
        text = sixd.to_mjcf(model)
    assert worst(model, compiled(text), rng) <= 1e-10


def test_plates_and_rods_of_every_size(rng):
    """A + B = C but for rounding, in rotated axes: MuJoCo would refuse the full matrix of some."""
    builder = sixd.ModelBuilder("flat")
    for k, size in enumerate(10.0 ** rng.uniform(-6, 4, 60)):
        moments = rng.uniform(0.1, 1, 2) * (rng.random(2) < 0.8)
        flat = sixd.Inertia(1.0, rng.normal(size=3), np.array([*moments, moments.sum()]) * size)
        builder.add_body(
            f"b{k}", "world", sixd.Revolute("z"), inertia=flat.moved(sixd.zoo.random_trees.random_pose(rng))
        )
    model = builder.build()
    assert worst(model, compiled(quiet_text(model)), rng) <= 1e-12


def test_inertia_fixed_to_the_world(rng):
    """It is a body without a joint at the first frame of the world."""
    builder = one_body()
    builder.add_frame("base", "world", sixd.placement((1, 2, 3), (0.1, 0.2, 0.3)))
    builder.add_inertia("base", BALL)
    model = builder.build()
    again = sixd.load(sixd.to_mjcf(model))
    assert_allclose(again.inertia[0], model.inertia[0], atol=1e-12)
    assert sixd.compare(model, again)
    bare = one_body()
    bare.add_inertia("world", BALL)
    assert_allclose(sixd.load(sixd.to_mjcf(bare.build())).inertia[0], BALL.matrix, atol=1e-12)
    bare.add_inertia("world", sixd.Inertia(-5.0))
    with pytest.warns(sixd.ModelWarning, match="fixed to the world is not physical and not in the file"):
        sixd.to_mjcf(bare.build())


def test_limits():
    """Half-infinite limits are in the file; those that MuJoCo refuses are named in the warning."""
    assert sixd.load(sixd.to_mjcf(one_body(limits=(-np.inf, 1.0)).build())).lower == [-np.inf]
    for options, message in (
        ({"limits": (1, 1)}, "limits of j are not in the file: MuJoCo expects the lower one below"),
        ({"limits": (1, -1)}, "limits of j are not in the file: MuJoCo expects the lower one below"),
        ({"effort": 0.0}, "effort limits of j are not in the file"),
        ({"velocity": 2.0}, "velocity limits of j are not in the file, MJCF has none"),
        ({"joint": sixd.Spherical(), "effort": 1.0}, "limits of j, which are balls or free, are not in the file"),
    ):
        with pytest.warns(sixd.ModelWarning, match=message):
            mujoco.MjModel.from_xml_string(sixd.to_mjcf(one_body(**options).build()))


def test_shapes(tmp_path):
    """Geoms of every kind that MuJoCo has; they have no mass and touch nothing."""
    builder = one_body()
    sizes = {"box": (1, 2, 3), "cylinder": (1, 2), "capsule": (1, 2), "sphere": (1,), "ellipsoid": (1, 2, 3)}
    pose = sixd.placement((1, 2, 3), (0.1, 0.2, 0.3))
    for kind, size in sizes.items():
        builder.add_visual("a", sixd.Shape(kind, size), pose, color=(1, 0, 0, 0.5), name="same <name>")
    builder.add_visual("world", sixd.Shape("plane"))
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    pyramid = sixd.Shape("mesh", vertices=corners, triangles=[[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
    for body in ("a", "world"):
        builder.add_visual(body, pyramid, pose)
    model = builder.build()
    text = sixd.to_mjcf(model)
    theirs = mujoco.MjModel.from_xml_string(text)
    assert (theirs.ngeom, theirs.nmesh) == (8, 1)
    assert not theirs.geom_contype.any()
    assert theirs.body_mass[1] == pytest.approx(1.5)
    again = sixd.load(text)
    shapes = sorted((v.shape.kind, v.shape.size) for v in again.visuals)
    assert shapes == sorted((v.shape.kind, v.shape.size) for v in model.visuals)
    for v in again.visuals:
        if v.shape.kind in sizes:
            assert_allclose(v.pose, pose, atol=1e-12)
        if v.shape.kind == "mesh":  # MuJoCo moves the vertices to the centre, and the geom with them
            points = v.shape.vertices @ v.pose[:3, :3].T + v.pose[:3, 3]
            assert_allclose(points, corners @ pose[:3, :3].T + pose[:3, 3], atol=1e-6)  # MuJoCo has floats


def test_shapes_that_are_lost(tmp_path):
    """A warning says which shapes and meshes MuJoCo does not read; the file compiles."""
    builder = one_body()
    (tmp_path / "text.stl").write_text("solid x\nendsolid x\n")
    (tmp_path / "robot.dae").write_text("<COLLADA/>")
    for file in ("text.stl", "robot.dae", "none.obj"):
        builder.add_visual("a", sixd.Shape("mesh", file=str(tmp_path / file)))
    builder.add_visual("a", sixd.Shape("cone", (1, 2)))
    builder.add_visual("a", sixd.Shape("plane"))
    builder.add_visual("a", sixd.Shape("box", (1, 0, 2)))
    builder.add_visual("a", sixd.Shape("mesh", vertices=np.eye(3), triangles=[[0, 1, 2]]))
    flat = {"triangles": [[0, 1, 2], [1, 2, 3]]}
    builder.add_visual("a", sixd.Shape("mesh", vertices=np.ones((4, 3)), **flat))
    builder.add_visual("a", sixd.Shape("mesh", vertices=np.full((4, 3), np.nan), **flat))
    builder.add_visual("a", sixd.Shape("mesh", vertices=np.eye(4)[:, :3], triangles=[[0, 1, 7]]))
    builder.add_visual("a", sixd.Shape("sphere", (np.inf,)))
    with pytest.warns(sixd.ModelWarning) as caught:
        text = sixd.to_mjcf(builder.build())
    (message,) = [str(w.message) for w in caught]
    for part in (
        "in .stl as text", "in .dae", "that are not found", "cone", "plane on moving bodies", "box of size 0",
        "of fewer than four vertices", "without a surface", "with invalid vertices or triangles", "sphere of size 0 or infinite",
    ):  # fmt: skip
        assert part in message
    assert mujoco.MjModel.from_xml_string(text).ngeom == 0


def test_mesh_files(tmp_path):
    """A mesh is named by its whole path, once for each scale."""
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed: pip install trimesh")
    file = tmp_path / "a & b.stl"
    file.write_bytes(trimesh.creation.box((1, 2, 3)).export(file_type="stl"))
    builder = one_body()
    for scale in ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (2.0, 1.0, 1.0)):
        builder.add_visual("a", sixd.Shape("mesh", file=str(file), scale=scale))
    theirs = mujoco.MjModel.from_xml_string(sixd.to_mjcf(builder.build()))
    assert (theirs.ngeom, theirs.nmesh) == (3, 2)


# constraints, keyframes ---------------------------------------------------------------------------


def equality_rows(model, q):
    """Residuals and Jacobian of MuJoCo's equalities at a configuration, in sixd's order of velocities."""
    theirs = mujoco.MjModel.from_xml_string(sixd.to_mjcf(model))
    data = mujoco.MjData(theirs)
    data.qpos = sixd.interop.to_mujoco(model, q, mujoco_model=theirs)
    mujoco.mj_forward(theirs, data)
    J = np.zeros((data.nefc, theirs.nv))
    if mujoco.mj_isSparse(theirs):
        mujoco.mju_sparse2dense(J, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    else:
        J = data.efc_J.reshape(data.nefc, theirs.nv)
    rows = data.efc_type[: data.nefc] == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    columns = sixd.interop.to_mujoco(model, q, np.eye(model.nv), mujoco_model=theirs)[1]
    return data.efc_pos[: data.nefc][rows], J[rows] @ columns.T


@pytest.mark.parametrize("directions", ["point", "axis", "weld"])
@pytest.mark.parametrize("frames", [("tip", "end"), ("a", "end"), ("joint:j", "world")], ids=str)
def test_loops(directions, frames, rng):
    """A loop becomes connections or a weld between sites: the same directions are held, and closed loops are closed."""
    builder = one_body(sixd.Free())
    builder.add_body("b", "a", sixd.Spherical(), inertia=BALL, placement=sixd.placement((0.3, 0.1, 0)))
    builder.add_body("c", "world", sixd.Free(), inertia=BALL)
    for name, body in (("tip", "b"), ("end", "c")):
        builder.add_frame(name, body, sixd.zoo.random_trees.random_pose(rng))
    builder.add_constraint(sixd.Loop(*frames, directions))
    model = builder.build()
    q = sixd.assemble(model, model.random_configuration(rng))
    residual, J = equality_rows(model, q)
    assert np.abs(residual).max() <= 1e-9  # assembly is to 1e-10
    A = sixd.constraint_jacobian(model, q)
    both = np.linalg.matrix_rank(np.vstack([A, J]), tol=1e-7)
    assert len(A) == np.linalg.matrix_rank(A) == both == np.linalg.matrix_rank(J, tol=1e-7)
    again = quiet_load(sixd.to_mjcf(model))
    assert {type(c) for c in again.constraints} == {sixd.Loop}


def test_bricard_and_others(rng):
    """A closed chain of the zoo; relations between joints; what MJCF cannot hold is an error with its name."""
    bricard = sixd.zoo.get("bricard")
    mujoco.MjModel.from_xml_string(sixd.to_mjcf(bricard))
    builder = one_body()
    for name in ("b", "c", "d"):
        builder.add_body(name, "a", sixd.Prismatic("x"), inertia=BALL)
    polynomial = Polynomial((0.3, 0.2, -0.1, 0.05), center=0.7)
    builder.add_constraint(sixd.Coupling("b", "j", polynomial))
    builder.add_constraint(sixd.Mimic("c", "j", -2.0, 0.5))
    model = builder.build()
    again = quiet_load(sixd.to_mjcf(model))
    y = rng.uniform(-1, 1, (2,))
    assert_allclose(again.reduce().lift(y)[0], model.reduce().lift(y)[0], atol=1e-12)
    # a joint that is held, as MJCF has it, survives as well
    held = sixd.to_mjcf(model).replace("<equality>", '<equality><joint joint1="d" polycoef="0.4 0 0 0 0"/>')
    again = quiet_load(sixd.to_mjcf(quiet_load(held)))
    assert len(again.constraints) == 3
    for constraint in (
        sixd.Coupling("d", "j", np.sin), sixd.Loop("b", "c", "x"), sixd.Distance("b", "c", 1.0),
        sixd.Coupling("d", "j", Polynomial((0, 0, 0, 0, 0, 1.0))), sixd.KnifeEdge("b"),
    ):  # fmt: skip
        with pytest.raises(
            sixd.ModelError, match=r"MJCF cannot hold the constraint (Coupling|Loop|Distance|KnifeEdge)\("
        ):
            sixd.to_mjcf(model.with_constraints(constraint))


def test_keyframes(rng):
    """Named configurations are keyframes: MuJoCo has the bodies where sixd has them."""
    kinds = tuple(k for k in KINDS if k not in COUPLED)
    model = sixd.zoo.random_tree(4, passive=False, kinds=(*kinds, *COUPLED))
    builder = sixd.ModelBuilder.from_model(model)
    q = model.random_configuration(rng)
    builder.add_configuration('home "<1>"', q)
    model = builder.build()
    theirs = mujoco.MjModel.from_xml_string(sixd.to_mjcf(model))
    data = mujoco.MjData(theirs)
    mujoco.mj_resetDataKeyframe(theirs, data, theirs.key('home "<1>"').id)
    mujoco.mj_kinematics(theirs, data)
    for name in model.body_names:
        assert_allclose(data.body(name).xpos, sixd.pose(model, q, name)[:3, 3], atol=1e-12)
        assert_allclose(data.body(name).xmat.reshape(3, 3), sixd.pose(model, q, name)[:3, :3], atol=1e-12)
    for k in range(1, model.nb + 1):
        assert_allclose(data.site(f"frame{k}").xpos, sixd.pose(model, q, f"frame{k}")[:3, 3], atol=1e-12)


# names and files ----------------------------------------------------------------------------------


def test_hostile_names(rng):
    """Names that XML has to escape, and names that the parts of other joints would get."""
    builder = sixd.ModelBuilder('a "b" & <c>')
    names = ["<x>&'\"", "&lt;x&gt;", "  spaces  ", "ünïcødé 関節", "a/b", "'"]
    parent = "world"
    for name in names:
        builder.add_body(name, parent, sixd.Revolute("x"), inertia=BALL, placement=sixd.placement((0.1, 0, 0.2)))
        builder.add_frame(f"{name}>", name)
        parent = name
    builder.add_body("pair", parent, sixd.Cylindrical("z"), inertia=BALL)
    builder.add_body("pair:turn", parent, sixd.Revolute("z"), inertia=BALL)
    model = builder.build()
    text = sixd.to_mjcf(model)
    theirs = mujoco.MjModel.from_xml_string(text)
    assert {theirs.joint(k).name for k in range(theirs.njnt)} == {*names, "pair:turn", "pair:turn_", "pair:slide"}
    again = sixd.load(text)
    assert again.name == model.name
    assert set(again.body_names) >= set(model.body_names)
    assert set(again.frame_names) >= {f"{name}>" for name in names}


@pytest.mark.parametrize("name", ["a\x01b", "a\nb", "\ud800"])
def test_names_that_xml_cannot_hold(name):
    for make in (lambda n: one_body(joint_name=n).build(), lambda n: sixd.ModelBuilder(n).build()):
        with pytest.raises(sixd.ModelError, match="has a control character"):
            sixd.to_mjcf(make(name))
    builder = one_body()
    builder.add_configuration(name, [0.0])
    with pytest.raises(sixd.ModelError, match="has a control character"):
        sixd.to_mjcf(builder.build())


def test_long_chains():
    """No recursion; beyond the depth that MuJoCo reads an error says so."""
    for count in (488, 600):
        builder, parent = sixd.ModelBuilder("chain"), "world"
        for k in range(count):
            builder.add_body(f"b{k}", parent, sixd.Revolute("z"), inertia=BALL)
            parent = f"b{k}"
        if count < 490:
            assert sixd.to_mjcf(builder.build()).count("<body") == count
        else:
            with pytest.raises(sixd.ModelError, match="'b490' is on a path of more than 490 bodies"):
                sixd.to_mjcf(builder.build())


def test_wrong_arguments_and_empty_models():
    sympy = pytest.importorskip("sympy")
    with pytest.raises(sixd.ScalarTypeError, match="to_mjcf: model is a int"):
        sixd.to_mjcf(3)
    with pytest.raises(sixd.ScalarTypeError, match="has symbolic parameters m"):
        sixd.to_mjcf(one_body(inertia=sixd.point(sympy.Symbol("m"))).build())
    empty = sixd.load(sixd.to_mjcf(sixd.ModelBuilder("empty", (0, 0, -1.62)).build()))
    assert (empty.nb, empty.gravity.tolist()) == (0, [0, 0, -1.62])


def test_files_are_whole(tmp_path, monkeypatch):
    """A file is replaced whole or not at all; a folder that cannot be written is an error."""
    model, path = one_body().build(), tmp_path / "m.xml"
    assert sixd.to_mjcf(model, path) == path.read_text()
    for wrong in (tmp_path / "none" / "m.xml", tmp_path, "a\0b.xml"):
        with pytest.raises(sixd.FileError, match="cannot write"):
            sixd.to_mjcf(model, wrong)
    path.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        sixd.to_mjcf(model, path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.xml"]
