"""Motion and forces of every body, and the forces in joints and loops: definitions, balance, and Pinocchio's results."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import sixd
from peers import pin
from robots import FIVE, ROBOTS, ByName, pinocchio_model, quiet_load
from samples import KINDS, SEEDS, single_joint, states, trees
from sixd.algorithms.body_dynamics import constraint_wrenches
from sixd.algorithms.passive_forces import passive_force

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and with the plain algorithms

trees_and_singles = pytest.mark.parametrize(
    "model", trees() + [single_joint(k) for k in KINDS], ids=[f"tree{s}" for s in SEEDS] + list(KINDS)
)
AXES = ("body", "aligned", "world")


def close(x, y, tolerance=1e-10):
    assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max(initial=0.0)))


def centers(model):
    """Return masses (nb,), centres of mass (nb, 3) and inertias (nb, 3, 3) about them, in the bodies' axes."""
    inertias = [model.body_inertia(name) for name in model.body_names]
    return [np.array([getattr(i, name) for i in inertias]) for name in ("mass", "com", "about_com")]


@pytest.mark.many
@trees_and_singles
def test_forces_and_moments_of_every_body_balance(model, rng):
    """In world coordinates: joint force + weight + f_ext - joint forces of the children = rate of momentum."""
    mass, com, _ = centers(model)
    for q, qd, qdd in states(model, rng):
        f_ext = rng.uniform(-3, 3, (model.nb, 6))
        r = sixd.newton_euler(model, q, qd, qdd, f_ext=f_ext, expressed_in="world")
        poses = sixd.body_poses(model, q)
        c = np.einsum("kij,kj->ki", poses[:, :3, :3], com) + poses[:, :3, 3]
        weight = mass[:, None] * model.gravity
        force, moment = r.f + weight + f_ext[:, 3:], r.n + np.cross(c, weight) + f_ext[:, :3]
        for i in model.bodies:
            if model.parent[i]:
                force[model.parent[i] - 1] -= r.f[i - 1]
                moment[model.parent[i] - 1] -= r.n[i - 1]
        close(force, r.F)
        close(moment, r.N + np.cross(c, r.F))


@trees_and_singles
def test_joint_forces_are_the_part_along_the_joint(model, rng):
    """Sᵀ[n; f] + armature q̈ + passive forces = tau, for every joint; tau is that of inverse_dynamics."""
    for q, qd, qdd in states(model, rng):
        f_ext = rng.uniform(-3, 3, (model.nb, 6))
        r = sixd.newton_euler(model, q, qd, qdd, f_ext=f_ext)
        wrench = np.concatenate([r.n, r.f], axis=1)
        rest = model.armature * qdd + passive_force(model, q, qd)
        for i in model.bodies:
            S = model.joints[i].subspace(q[model.iq[i]])
            close(S.T @ wrench[i - 1] + rest[model.iv[i]], r.tau[model.iv[i]])
        close(r.tau, sixd.inverse_dynamics(model, q, qd, qdd, f_ext=f_ext), 1e-12)


@pytest.mark.many
@trees_and_singles
def test_motion_is_that_of_the_bodies_frames(model, rng):
    """Spatial and classical, in every choice of coordinates; F = m c̈ and N = I_C ω̇ + ω×I_C ω."""
    mass, com, about = centers(model)
    for q, qd, qdd in states(model, rng, count=2):
        found = {axes: sixd.newton_euler(model, q, qd, qdd, expressed_in=axes) for axes in AXES}
        turns = sixd.body_poses(model, q)[:, :3, :3]
        for k, joint in enumerate(model.joint_names):
            frame = f"joint:{joint}"
            for axes, r in found.items():
                close(r.velocity[k], sixd.velocity(model, q, qd, frame, expressed_in=axes), 1e-12)
                close(r.acceleration[k], sixd.acceleration(model, q, qd, qdd, frame, expressed_in=axes), 1e-12)
            aligned = sixd.acceleration(model, q, qd, qdd, frame, kind="classical", expressed_in="aligned")
            close(found["world"].vd[k], aligned[3:], 1e-12)
            close(found["world"].v[k], sixd.velocity(model, q, qd, frame, expressed_in="aligned")[3:], 1e-12)
        body = found["body"]
        w, wd = body.omega, body.omegad
        close(body.vd_com, body.vd + np.cross(wd, com) + np.cross(w, np.cross(w, com)), 1e-12)
        close(body.F, mass[:, None] * body.vd_com)
        spin = np.einsum("kij,kj->ki", about, w)
        close(body.N, np.einsum("kij,kj->ki", about, wd) + np.cross(w, spin))
        for name in ("omega", "omegad", "v", "vd", "vd_com", "F", "N", "f", "gravity"):
            turned = np.einsum("kij,kj->ki", turns, getattr(body, name))
            for axes in ("aligned", "world"):
                close(getattr(found[axes], name), turned, 1e-12)
        close(found["aligned"].n, np.einsum("kij,kj->ki", turns, body.n), 1e-12)
        p = sixd.body_poses(model, q)[:, :3, 3]
        close(found["world"].n, found["aligned"].n + np.cross(p, found["aligned"].f), 1e-12)


@trees_and_singles
def test_the_printed_rules_hold(model, rng):
    """The recursion that ``steps`` prints, written with vectors of three, for every joint."""
    mass, com, about = centers(model)
    for q, qd, qdd in states(model, rng, count=1):
        f_ext = rng.uniform(-3, 3, (model.nb, 6))
        r = sixd.newton_euler(model, q, qd, qdd, f_ext=f_ext)
        w, wd, vd = [np.zeros(3)], [np.zeros(3)], [np.zeros(3)]
        R, P, f, n = [None], [None], [np.zeros(3)], [np.zeros(3)]
        poses = sixd.body_poses(model, q)
        for i in model.bodies:
            p, joint, own, rate = model.parent[i], model.joints[i], q[model.iq[i]], qd[model.iv[i]]
            T = sixd.spatial.pose_from_transform(joint.transform(own) @ model.X_tree[i])
            R.append(T[:3, :3].T)
            P.append(T[:3, 3])
            w_J, v_J = np.split(joint.subspace(own) @ rate, 2)
            wd_J, vd_J = np.split(joint.subspace(own) @ qdd[model.iv[i]] + joint.bias(own, rate), 2)
            carried = R[i] @ w[p]
            w.append(carried + w_J)
            wd.append(R[i] @ wd[p] + np.cross(carried, w_J) + wd_J)
            at = vd[p] + np.cross(wd[p], P[i]) + np.cross(w[p], np.cross(w[p], P[i]))
            vd.append(R[i] @ at + 2 * np.cross(carried, v_J) + np.cross(w_J, v_J) + vd_J)
            close(r.omega[i - 1], w[i])
            close(r.omegad[i - 1], wd[i])
            close(r.vd[i - 1], vd[i])
            X_W = sixd.spatial.transform_from_pose(poses[i - 1])
            n_ext, f_other = np.split(np.linalg.inv(X_W).T @ f_ext[i - 1], 2)
            weight = mass[i - 1] * (poses[i - 1][:3, :3].T @ model.gravity)
            F, N, c = r.F[i - 1], about[i - 1] @ wd[i], com[i - 1]
            f.append(F - weight - f_other)
            n.append(N + np.cross(w[i], about[i - 1] @ w[i]) + np.cross(c, F - weight) - n_ext)
        for i in reversed(model.bodies):
            close(r.f[i - 1], f[i])
            close(r.n[i - 1], n[i])
            p = model.parent[i]
            f[p] = f[p] + R[i].T @ f[i]
            n[p] = n[p] + R[i].T @ n[i] + np.cross(P[i], R[i].T @ f[i])


# Pinocchio ------------------------------------------------------------------------------------------

TEN = {
    **FIVE,
    "kinova": ROBOTS / "kinova_description/robots/kinova.urdf",
    "hyq": ROBOTS / "hyq_description/robots/hyq_no_sensors.urdf",
    "solo12": ROBOTS / "solo_description/robots/solo12.urdf",
    "a1": ROBOTS / "a1_description/urdf/a1.urdf",
    "z1": ROBOTS / "z1_description/urdf/z1.urdf",
}
EVERYDAY = {("ur5", False), ("panda", False), ("solo12", True)}
ROBOT_CASES = [
    pytest.param(name, floating, marks=[] if (name, floating) in EVERYDAY else [pytest.mark.long])
    for name in TEN
    for floating in (False, True)
]


def angular_first(x):
    """Return Pinocchio's [linear; angular] rows as [angular; linear]."""
    return np.concatenate([x.angular, x.linear])


@pytest.mark.parametrize(("name", "floating"), ROBOT_CASES)
def test_ten_robots_against_pinocchio(name, floating, rng):
    """Velocities, accelerations and joint forces of every body to 1e-12 of the largest entry of the same kind."""
    model = quiet_load(TEN[name], floating_base=floating).without_passive()
    reference = pinocchio_model(TEN[name], floating=floating)
    data, names = reference.createData(), ByName(model, reference)
    for _ in range(2):
        q, (qd, qdd) = model.random_configuration(rng), rng.uniform(-2, 2, (2, model.nv))
        f_ext = rng.uniform(-5, 5, (model.nb, 6))
        r = sixd.newton_euler(model, q, qd, qdd, f_ext=f_ext)
        ids = [reference.getJointId(joint) for joint in model.joint_names]
        forces = [pin.Force.Zero() for _ in range(reference.njoints)]
        pin.forwardKinematics(reference, data, names.q(q), names.v(qd), names.v(qdd))
        for k, i in enumerate(ids):
            forces[i] = data.oMi[i].actInv(pin.Force(f_ext[k][3:], f_ext[k][:3]))
        v, a = ([angular_first(x[i]) for i in ids] for x in (data.v, data.a))
        close(r.velocity, np.array(v), 1e-12)
        close(r.acceleration, np.array(a), 1e-12)
        pin.rnea(reference, data, names.q(q), names.v(qd), names.v(qdd), forces)
        f = np.array([angular_first(data.f[i]) for i in ids])
        close(np.concatenate([r.n, r.f], axis=1), f, 1e-12)


# forward dynamics and constraints -------------------------------------------------------------------


@pytest.mark.many
@trees_and_singles
def test_reactions_are_those_of_the_resulting_motion(model, rng):
    for q, qd, tau in states(model, rng, count=2):
        f_ext = rng.uniform(-3, 3, (model.nb, 6))
        qdd = sixd.forward_dynamics(model, q, qd, tau, f_ext=f_ext)
        r = sixd.newton_euler(model, q, qd, qdd, f_ext=f_ext)
        got = sixd.joint_reactions(model, q, qd, tau, f_ext=f_ext)
        assert got.shape == (model.nb, 6)
        close(got, np.concatenate([r.n, r.f], axis=1))


def linkage(cut):
    """Return a four-bar linkage whose loop is cut at the pin of that name; the bodies are the same."""
    builder = sixd.ModelBuilder("four_bar", gravity=(0, -9.81, 0))
    lengths = {"crank": 0.5, "coupler": 2.0, "rocker": 1.5}

    def bar(name, parent, at, *, turned=False):
        far = lengths[name]
        inertia = sixd.rod(far, mass=far, axis="x").translated((far / 2, 0, 0))
        own = sixd.placement((-far, 0, 0)) if turned else np.eye(4)  # the joint is at the other end
        builder.add_body(name, parent, sixd.Revolute("z"), placement=sixd.placement(at), inertia=inertia.moved(own))
        builder.add_frame(f"{name}_start", name, own)
        builder.add_frame(f"{name}_end", name, own @ sixd.placement((far, 0, 0)))

    bar("crank", "world", (0, 0, 0))
    bar("coupler", "crank", (0.5, 0, 0))
    if cut == "coupler-rocker":
        bar("rocker", "world", (2, 0, 0))
        builder.add_constraint(sixd.Loop("coupler_end", "rocker_end", "planar"))
    else:
        bar("rocker", "coupler", (2, 0, 0), turned=True)
        builder.add_frame("post", "world", sixd.placement((2, 0, 0)))
        builder.add_constraint(sixd.Loop("post", "rocker_start", "planar"))
    return builder.build()


def test_reactions_do_not_depend_on_where_the_loop_is_cut(rng):
    """The pins of a four-bar linkage carry the same forces whichever of them closes the loop."""
    one, two = linkage("coupler-rocker"), linkage("rocker-post")
    q = sixd.assemble(one, [np.pi / 3, -0.5, 1.6], fixed=["crank"])
    poses = sixd.body_poses(one, q)
    angles = np.arctan2(poses[:, 1, 0], poses[:, 0, 0])
    q2 = np.array([angles[0], angles[1] - angles[0], angles[2] - angles[1]])
    assert_allclose(sixd.constraint_error(two, q2), 0, atol=1e-12)
    _, qd = sixd.assemble(one, q, [0.7, 0.1, 0.2], fixed=["crank"])
    qd2 = np.array([qd[0], qd[1], qd[2] - qd[0] - qd[1]])
    first = sixd.joint_reactions(one, q, qd, [3.0, 0, 0], expressed_in="world")
    second = sixd.joint_reactions(two, q2, qd2, [3.0, 0, 0], expressed_in="world")
    assert first.shape == (4, 6)
    close(second[:2], first[:2])  # crank and coupler
    close(second[2], first[3])  # the force of the coupler on the rocker: a joint in one model, a loop in the other
    close(second[3], first[2])  # the force of the ground on the rocker


def test_every_body_of_a_loop_balances(rng):
    """Newton's law with the loop's wrench on one body and its opposite on the other, in a spatial mechanism."""
    model = sixd.zoo.bricard()
    q = sixd.assemble(model, model.neutral() + 0.01)
    q, qd = sixd.assemble(model, q, rng.uniform(-1, 1, model.nv))
    tau = rng.uniform(-1, 1, model.nv)
    r = sixd.joint_reactions(model, q, qd, tau, expressed_in="world")
    qdd, _ = sixd.constrained_dynamics(model, q, qd, tau)
    motion = sixd.newton_euler(model, q, qd, qdd, expressed_in="world")
    total = r[: model.nb].copy()
    for i in model.bodies:
        if model.parent[i]:
            total[model.parent[i] - 1] -= r[i - 1]
    for k, c in enumerate(model.constraints):
        for sign, frame in ((1, c.frame_b), (-1, c.frame_a)):
            body = model.frame(frame).body
            if body:
                total[body - 1] += sign * r[model.nb + k]
    mass, com, _ = centers(model)
    poses = sixd.body_poses(model, q)
    at = np.einsum("kij,kj->ki", poses[:, :3, :3], com) + poses[:, :3, 3]
    weight = mass[:, None] * model.gravity
    close(total[:, 3:], motion.F - weight)
    close(total[:, :3], motion.N + np.cross(at, motion.F - weight))


ON_BODIES = {
    "loop": sixd.Loop("frame1", "frame2", "weld"),
    "hinge": sixd.Loop("frame2", "frame1", "axis"),
    "rod": sixd.Distance("frame1", "frame2", 0.5),
    "rod to the ground": sixd.Distance("frame2", "world", 0.5),
    "knife edge": sixd.KnifeEdge("frame2"),
    "disc": sixd.Rolling("frame2", 0.3),
    "ball": sixd.RollingSphere("frame2", 0.3, ground="frame1"),
}


@pytest.mark.many
@pytest.mark.parametrize("kind", ON_BODIES)
def test_wrenches_of_constraints_are_their_generalised_forces(kind, rng):
    """Σ JᵀW over the bodies is ``constraint_forces``: the wrench on one body, its opposite on the other."""
    tree = sixd.zoo.random_tree(5, kinds=("free", "spherical"), passive=False)
    model = tree.with_constraints(ON_BODIES[kind])
    c = model.constraints[0]
    q, qd, tau = model.random_configuration(rng), rng.uniform(-1, 1, model.nv), rng.uniform(-1, 1, model.nv)
    _, lam = sixd.constrained_dynamics(model, q, qd, tau)
    r = sixd.joint_reactions(model, q, qd, tau, expressed_in="world")
    assert np.isfinite(r).all()
    other = next(name for name in c.frames if name != c.acted_frame)
    J = sixd.jacobian(model, q, c.acted_frame, expressed_in="world")
    J = J - sixd.jacobian(model, q, other, expressed_in="world")
    close(J.T @ r[model.nb], sixd.constraint_forces(model, q, lam)[0])
    # each joint carries the rest of motion, weight and wrench
    qdd = sixd.constrained_dynamics(model, q, qd, tau)[0]
    f_ext = np.zeros((model.nb, 6))
    for sign, frame in ((1, c.acted_frame), (-1, other)):
        if model.frame(frame).body:
            f_ext[model.frame(frame).body - 1] += sign * r[model.nb]
    motion = sixd.newton_euler(model, q, qd, qdd, f_ext=f_ext, expressed_in="world")
    close(r[: model.nb], np.concatenate([motion.n, motion.f], axis=1))
    close(motion.tau, tau)
    # at the frame, in its axes
    X = sixd.spatial.transform_from_pose(sixd.pose(model, q, c.acted_frame))
    close(X.T @ sixd.joint_reactions(model, q, qd, tau)[model.nb], r[model.nb])


class Above(sixd.Constraint):
    """A user's constraint on frames that defines only a position: a point stays above another, along x and y."""

    frames = ("frame1", "frame2")

    def position(self, system, q):
        one, two = (sixd.pose(system, q, name)[:2, 3] for name in self.frames)
        return two - one


@pytest.mark.long
def test_wrenches_of_a_users_constraint(rng):
    """For a constraint that defines only its position, and relates the bodies to the world's axes: a wrench on each
    body.
    """
    model = sixd.zoo.random_tree(5, kinds=("free", "spherical"), passive=False).with_constraints(Above())
    q, qd, tau = model.random_configuration(rng), rng.uniform(-1, 1, model.nv), rng.uniform(-1, 1, model.nv)
    qdd, lam = sixd.constrained_dynamics(model, q, qd, tau)
    (wrenches,) = constraint_wrenches(model, q, lam)
    for k, force in enumerate((-lam, lam)):
        point = sixd.pose(model, q, f"frame{k + 1}")[:3, 3]
        close(wrenches[k], np.concatenate([np.cross(point, [*force, 0]), [*force, 0]]))
    r = sixd.joint_reactions(model, q, qd, tau, expressed_in="world")
    close(r[2], wrenches[1])
    close(sixd.newton_euler(model, q, qd, qdd, f_ext=wrenches).tau, tau)


def test_gears_act_along_joints(rng):
    """A mimic joint's force acts along the coordinates: Sᵀ[n; f] = tau + Aᵀλ, its row is zero."""
    model = sixd.zoo.planar(3).with_constraints(sixd.Mimic("link2", "link1", 2.0))
    q = np.array([0.2, 0.4, 0.5])
    qd, tau = np.array([0.3, 0.6, -0.2]), np.array([1.0, 0.5, 0.2])
    r = sixd.joint_reactions(model, q, qd, tau)
    _, lam = sixd.constrained_dynamics(model, q, qd, tau)
    assert r.shape == (4, 6)
    assert not r[3].any()
    close(r[:3, 2], tau + sixd.constraint_forces(model, q, lam)[0])


# energy and momentum of bodies ----------------------------------------------------------------------


@pytest.mark.many
@trees_and_singles
def test_energy_and_momentum_of_bodies_and_subtrees(model, rng):
    """Their sums are those of the model; those of a subtree are the sums over its body and its children."""
    roots = [i - 1 for i in model.bodies if model.parent[i] == 0]
    for q, qd, qdd in states(model, rng, count=2):
        r = sixd.newton_euler(model, q, qd, qdd)
        inertias = model.inertia[1:]
        h = np.einsum("kij,kj->ki", inertias, r.velocity)
        X_W = np.array([sixd.spatial.transform_from_pose(T) for T in sixd.body_poses(model, q)])
        momentum = sixd.momentum(model, q, qd, per="body")
        close(momentum, np.einsum("kji,kj->ki", X_W, h))
        kinetic, potential = sixd.energy(model, q, qd, per="body")
        stored = [(model.armature * qd * qd)[model.iv[i]].sum() for i in model.bodies]
        close(kinetic, (np.einsum("ki,ki->k", r.velocity, h) + stored) / 2)
        for whole, body, subtree in (
            (sixd.momentum(model, q, qd), momentum, sixd.momentum(model, q, qd, per="subtree")),
            *zip(
                sixd.energy(model, q, qd),
                (kinetic, potential),
                sixd.energy(model, q, qd, per="subtree"),
                strict=True,
            ),
        ):
            close(body.sum(axis=0), whole)
            close(subtree[roots].sum(axis=0), whole)
            for i in model.bodies:
                close(subtree[i - 1], body[i - 1] + sum(subtree[j - 1] for j in model.tree.children(i)))


@pytest.mark.one_target
def test_rule_of_forces_in_reduced_coordinates():
    reduced = sixd.zoo.double_elbow().reduce()
    steps = sixd.newton_euler(reduced, [0.3] * reduced.nq, [1.0] * reduced.nv, [0.0] * reduced.nv).steps()
    assert "τ = Gᵀ(Sᵀ[n; f]), q̇ = G ẏ" in str(steps)
    assert r"G^T\bigl(" in steps.markdown()


@pytest.mark.one_target
def test_reactions_of_loops_in_symbols_are_rejected():
    with pytest.raises(sixd.ScalarTypeError, match="expected numbers: the closed form would be too long"):
        sixd.joint_reactions(sixd.zoo.four_bar(), sp.symbols("a b c"), [0, 0, 0], [0, 0, 0])
