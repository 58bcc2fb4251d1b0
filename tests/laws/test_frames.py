"""Poses, Jacobians, velocities and accelerations of frames in the three sets of coordinates."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import sixd
from c_compiler import build, needs_cc, pointer
from peers import pin
from robots import FIVE, ByName, pinocchio_model, quiet_load
from samples import states, trees

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and with the plain algorithms

COORDINATES = {"body": "LOCAL", "aligned": "LOCAL_WORLD_ALIGNED", "world": "WORLD"}  # Pinocchio's names
each_coordinates = pytest.mark.parametrize("expressed_in", COORDINATES)
each_tree = pytest.mark.parametrize("model", trees()[:4], ids=lambda m: m.name)


def derivative(function, step=1e-3):
    """Central difference of fourth order at 0."""
    return (function(-2 * step) - 8 * function(-step) + 8 * function(step) - function(2 * step)) / (12 * step)


@pytest.mark.many
@each_coordinates
@each_tree
def test_velocity_is_jacobian_times_qd(model, expressed_in, rng):
    """v = J qd, a = J qdd + dJ/dt qd (in fixed or body axes), classical = d/dt of the velocity in aligned axes."""
    for q, qd, qdd in states(model, rng):
        frame = f"frame{model.nb}"
        J = sixd.jacobian(model, q, frame, expressed_in=expressed_in)
        rate = sixd.jacobian_rate(model, q, qd, frame, expressed_in=expressed_in)
        assert_allclose(sixd.velocity(model, q, qd, frame, expressed_in=expressed_in), J @ qd, atol=1e-12)
        kind = "classical" if expressed_in == "aligned" else "spatial"
        a = sixd.acceleration(model, q, qd, qdd, frame, kind=kind, expressed_in=expressed_in)
        assert_allclose(a, J @ qdd + rate @ qd, atol=1e-10)


@pytest.mark.many
@each_coordinates
@each_tree
def test_jacobian_rate_is_the_derivative(model, expressed_in, rng):
    """dJ/dt by differences along the motion, component by component."""
    for q, qd, _ in states(model, rng):
        frame = f"frame{model.nb}"
        numeric = derivative(
            lambda t, q=q, qd=qd, frame=frame: sixd.jacobian(
                model, model.integrate(q, t * qd), frame, expressed_in=expressed_in
            )
        )
        # fourth-order differences with a step of 1e-3 s
        exact = sixd.jacobian_rate(model, q, qd, frame, expressed_in=expressed_in)
        assert_allclose(exact, numeric, atol=1e-8 * max(1, np.abs(exact).max()))


@each_tree
def test_jacobian_is_the_poses_derivative(model, rng):
    """The frame's velocity in aligned axes is the rate of its position, and ω that of its rotation."""
    for q, qd, _ in states(model, rng):
        T = sixd.pose(model, q, "frame5")
        rate = derivative(lambda t, q=q, qd=qd: sixd.pose(model, model.integrate(q, t * qd), "frame5"))
        v = sixd.velocity(model, q, qd, "frame5", expressed_in="aligned")
        assert_allclose(v[3:], rate[:3, 3], atol=1e-9)
        assert_allclose(sixd.spatial.skew(v[:3]), rate[:3, :3] @ T[:3, :3].T, atol=1e-9)


@each_tree
def test_columns_of_joints_that_do_not_carry_the_frame_are_zero(model, rng):
    """Exact zeros outside the frame's own branch; body_poses agrees with pose."""
    q = model.random_configuration(rng)
    for i in model.bodies:
        J = sixd.jacobian(model, q, model.body_names[i - 1], expressed_in="world")
        branch = model.tree.ancestors(i)
        for j in model.bodies:
            assert J[:, model.iv[j]].any() == (j in branch)
        assert_allclose(sixd.body_poses(model, q)[i - 1], sixd.pose(model, q, model.body_names[i - 1]), atol=1e-12)


@each_coordinates
@pytest.mark.parametrize("name", ["ur5", pytest.param("talos", marks=pytest.mark.long)])
def test_frames_against_pinocchio(name, expressed_in, rng):
    """Pose, Jacobian, velocity and accelerations of link frames, talos with a floating base."""
    floating = name == "talos"
    model, reference = quiet_load(FIVE[name], floating_base=floating), pinocchio_model(FIVE[name], floating=floating)
    data, names, where = reference.createData(), ByName(model, reference), getattr(pin, COORDINATES[expressed_in])

    def angular_first(x):
        return np.concatenate([x[3:], x[:3]])

    for _ in range(2):
        q, (qd, qdd) = model.random_configuration(rng), rng.uniform(-2, 2, (2, model.nv))
        pin.forwardKinematics(reference, data, names.q(q), names.v(qd), names.v(qdd))
        pin.updateFramePlacements(reference, data)
        links = [f for f in reference.frames if f.type == pin.FrameType.BODY and f.name in model.frames]
        assert len(links) > 5
        for frame in links[:: max(1, len(links) // 4)]:
            k, arguments = reference.getFrameId(frame.name, pin.FrameType.BODY), (q, qd, qdd, frame.name)
            assert_allclose(sixd.pose(model, q, frame.name), data.oMf[k].homogeneous, atol=1e-12)
            J = np.array(pin.computeFrameJacobian(reference, reference.createData(), names.q(q), k, where))
            ours = sixd.jacobian(model, q, frame.name, expressed_in=expressed_in)
            assert_allclose(ours, angular_first(J)[:, names.columns], atol=1e-11)
            v = pin.getFrameVelocity(reference, data, k, where).vector
            ours = sixd.velocity(model, q, qd, frame.name, expressed_in=expressed_in)
            assert_allclose(ours, angular_first(v), atol=1e-11)
            for kind, theirs in (
                ("spatial", pin.getFrameAcceleration),
                ("classical", pin.getFrameClassicalAcceleration),
            ):
                a = angular_first(theirs(reference, data, k, where).vector)
                ours = sixd.acceleration(model, *arguments, kind=kind, expressed_in=expressed_in)
                assert_allclose(ours, a, atol=1e-10 * max(1, np.abs(a).max()))


def test_frames_are_named_after_links_and_joints():
    """Links, joints (with a prefix) and the world are frames; merged links keep their names."""
    model = quiet_load(FIVE["panda"])
    assert model.frame_names[0] == "world"
    assert {"panda_link0", "panda_link8", "panda_hand", "joint:panda_joint7", "joint:panda_joint8"} <= set(
        model.frame_names
    )
    assert "panda_link8" not in model.body_names
    q = model.neutral()
    assert_allclose(sixd.pose(model, q, "joint:panda_joint3"), sixd.pose(model, q, "panda_link3"))
    assert_allclose(sixd.pose(model, q, "world"), np.eye(4))
    assert sixd.jacobian(model, q, "world").shape == (6, 9)


def test_operational_inertia(rng):
    """Λ maps the frame's acceleration to the force on it; at a frame with too few DoFs it raises."""
    model = sixd.zoo.panda_arm()
    q = model.random_configuration(rng)
    for expressed_in in COORDINATES:
        Lam = sixd.operational_inertia(model, q, "tool", expressed_in=expressed_in)
        J = sixd.jacobian(model, q, "tool", expressed_in=expressed_in)
        M = sixd.mass_matrix(model, q)
        assert_allclose(np.linalg.inv(Lam), J @ np.linalg.solve(M, J.T), rtol=1e-8, atol=1e-8)  # cond(Λ) is near 1e4
        assert_allclose(Lam, Lam.T)
    with pytest.raises(sixd.SingularError, match="'link3' cannot move in all six directions"):
        sixd.operational_inertia(model, q, "link3")


# relative to another frame ----------------------------------------------------------------------------


@each_tree
def test_relative_poses_compose(model, rng):
    """T_RF = T_WR⁻¹ T_WF for frames on any two bodies, in batches and in both directions; relative to the world it is
    the plain pose.
    """
    q = np.array([q for q, _, _ in states(model, rng)])
    frames = ["world", "frame2", f"frame{model.nb}", model.body_names[0]]
    in_world = {name: sixd.pose(model, q, name) for name in frames}
    for a in frames[1:]:
        for b in frames:
            T = sixd.pose(model, q, a, relative_to=b)
            assert_allclose(in_world[b] @ T, in_world[a], atol=1e-11)  # some metres from the world's origin
            assert_allclose(sixd.pose(model, q, b, relative_to=a) @ T, np.eye(4) + 0 * T, atol=1e-11)
        assert np.array_equal(sixd.pose(model, q, a, relative_to="world"), in_world[a])


def test_joints_that_carry_both_frames_change_nothing(rng):
    """The pose between two links depends only on the joints between them, to the last bit."""
    arm = sixd.zoo.panda_arm()
    q = arm.random_configuration(rng)
    T = sixd.pose(arm, q, "tool", relative_to="link4")
    q[:4] += 1.0
    assert np.array_equal(sixd.pose(arm, q, "tool", relative_to="link4"), T)
    q[5] += 1.0
    assert not np.allclose(sixd.pose(arm, q, "tool", relative_to="link4"), T)


@pytest.mark.one_target
def test_relative_poses_in_all_forms():
    """Kernels, users' functions, C, symbols, equations and reduced models; frames of the same name are not confused."""
    arm = sixd.zoo.planar(2).with_frame("base", "world", sixd.placement((1, 2, 0), (0, 0, 0.3)))
    first, last = arm.body_names
    q, frames = np.array([0.3, -0.7]), {"frame": last, "relative_to": "base"}
    T = sixd.pose(arm, q, **frames)
    assert_allclose(T, np.linalg.inv(arm.frames["base"].pose) @ sixd.pose(arm, q, last), atol=1e-15)
    assert np.array_equal(sixd.compile(sixd.pose, arm, **frames)(q), T)
    assert_allclose(sixd.compile(lambda q, model: sixd.pose(model, q, **frames), arm)(q), T, atol=1e-15)
    dq = np.array([1.0, -0.5])
    expected = np.linalg.inv(arm.frames["base"].pose) @ sixd.jvp(sixd.pose, arm, frame=last)(q, dq)
    assert_allclose(sixd.jvp(sixd.pose, arm, **frames)(q, dq), expected, atol=1e-15)
    moved = sixd.zoo.planar(2).with_frame("base", "world", sixd.placement((5, 2, 0)))
    assert_allclose(sixd.pose(moved, q, **frames)[:3, 3], sixd.pose(arm, q, last)[:3, 3] - [5, 2, 0], atol=1e-15)
    symbols = np.array(sp.symbols("a b"))
    between = sixd.pose(sixd.zoo.planar(2), symbols, last, relative_to=first)
    assert symbols[0] not in sp.Matrix(between).free_symbols
    assert sp.simplify(sp.Matrix(between)[0, 0] - sp.cos(symbols[1])) == 0
    equations = sixd.equations(sixd.zoo.planar(2))
    assert sp.Matrix(equations.pose(last, relative_to=first)).free_symbols == {equations.q[1]}
    hand = arm.with_constraints(sixd.Mimic(arm.joint_names[1], arm.joint_names[0], 2.0)).reduce()
    assert_allclose(sixd.pose(hand, [0.3], **frames), sixd.pose(arm, [0.3, 0.6], **frames), atol=1e-15)
    with pytest.raises(sixd.UnknownNameError, match="pose: relative_to: model .*: no frame named 'bass'. Did you mean"):
        sixd.pose(arm, q, last, relative_to="bass")


@needs_cc
@pytest.mark.one_target
def test_relative_pose_in_c(tmp_path):
    arm = sixd.zoo.panda_arm()
    q, T = arm.random_configuration(0), np.zeros((4, 4))
    code = sixd.export_c(sixd.pose, arm, frame="tool", relative_to="link2")
    build(code, tmp_path)(pointer(q), pointer(T))
    assert_allclose(T, sixd.pose(arm, q, "tool", relative_to="link2"), atol=1e-14)
