"""OperationalSpace and Impedance: the properties they promise, closed forms, passivity, and the same in compiled steps."""

import pickle

import numpy as np
import pytest

import samples
import sixd
from sixd import controllers
from sixd.controllers.frame_target import FrameTarget
from sixd.spatial import cos, sin

ARM = sixd.zoo.panda_arm()
HOME = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.8, 0.8])
START = sixd.pose(ARM, HOME, "tool")
PLANAR = sixd.zoo.planar(2)


def close(got, wanted, tolerance=1e-12):
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


class Course:
    """A pose that moves on a circle and rotates, from the arm's first pose on."""

    def __call__(self, t):
        T = START.astype(object)
        T[:3, 3] = START[:3, 3] + np.array([sin(t * 2), 1 - cos(t * 2), sin(t) * 0.5]) * 0.08
        T[:3, :3] = sixd.spatial.rotation_from_vector(np.array([0.2, -0.1, 0.3]) * sin(t)) @ START[:3, :3]
        return T


def circle(t):
    return START[:3, 3] + np.array([sin(t * 2), 1 - cos(t * 2), 0]) * 0.08


def turned(t):
    return sixd.spatial.rotation_from_vector(np.array([0.2, -0.1, 0.3]) * sin(t)) @ START[:3, :3]


def every_controller():
    """Controllers of the panda arm, with the options that add work."""
    posture = {"posture": HOME, "posture_kp": 4.0, "posture_kd": 4.0}
    elbow = {"tool": circle, "link4": sixd.pose(ARM, HOME, "link4")[:3, 3]}
    return {
        "pose": controllers.OperationalSpace(ARM, "tool", START, 25.0, **posture),
        "moving pose": controllers.OperationalSpace(ARM, "tool", Course(), 25.0, 8.0, **posture),
        "orientation": controllers.OperationalSpace(ARM, "tool", turned, 25.0, posture_kd=3.0),
        "two frames": controllers.OperationalSpace(ARM, elbow, kp={"tool": 25.0, "link4": [9.0, 9.0]}, rows={"link4": (3, 5)}),
        "regularised": controllers.OperationalSpace(ARM, ("tool"), circle, 16.0, regularization=0.1, saturate=True),
        "impedance": controllers.Impedance(ARM, "tool", START, [20.0] * 3 + [400.0] * 3, [1.0] * 3 + [40.0] * 3),
        "moving impedance": controllers.Impedance(ARM, "tool", Course(), [20.0] * 3 + [400.0] * 3, [1.0] * 3 + [40.0] * 3, **posture),
        "matrix": controllers.Impedance(ARM, "tool", circle, np.diag([100.0, 200.0, 300.0]) + 20, 30.0, posture_kd=2.0),
    }  # fmt: skip


@pytest.mark.many
@pytest.mark.parametrize("name", every_controller())
def test_the_same_as_compiled_code_and_after_pickling(name, rng):
    """On numbers, traced, in steps of one state and of a batch, and pickled; a step has derivatives."""
    controller = every_controller()[name]
    kernel = sixd.compile(lambda t, q, qd: controller(t, q, qd), ARM, shapes={"t": ()})
    q, qd = HOME + rng.uniform(-0.1, 0.1, (3, 7)), rng.normal(size=(3, 7))
    for k in range(3):
        tau = controller(0.3, q[k], qd[k])
        close(kernel(0.3, q[k], qd[k]), tau, 1e-9)  # sums of some 1e2 N m
        close(pickle.loads(pickle.dumps(controller))(0.3, q[k], qd[k]), tau)
    h = 1e-4
    found = sixd.step(ARM, q, qd, h, controller=controller, method="euler")
    for k in range(3):
        alone = sixd.step(ARM, q[k], qd[k], h, controller=controller, method="euler")
        assert np.array_equal(np.concatenate(alone), np.concatenate([x[k] for x in found]))
    qdd = sixd.forward_dynamics(ARM, q[0], qd[0], kernel(0.0, q[0], qd[0]))
    close(found[1][0], qd[0] + h * qdd, 1e-9)


@pytest.mark.long
def test_derivatives_of_a_step():
    """A of a controlled step, against central differences."""
    controller = controllers.OperationalSpace(ARM, "tool", START, 25.0, posture=HOME, posture_kp=4.0, posture_kd=4.0)
    q, qd, h, d = HOME + 0.05, np.full(7, 0.1), 1e-3, 1e-6
    A = sixd.step_derivatives(ARM, q, qd, h, controller=controller)[0]
    for k in (1, 9):
        dx = np.eye(14)[k] * d
        ahead, behind = (
            np.concatenate(sixd.step(ARM, q + s * dx[:7], qd + s * dx[7:], h, controller=controller)) for s in (1, -1)
        )
        close(A[:, k], (ahead - behind) / (2 * d), 1e-7)  # differences


# OperationalSpace -----------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("kind", samples.KINDS)
def test_errors_obey_their_equation_on_every_joint_type(kind, rng):
    """The acceleration of the frames is ẍ_target + kd ė + kp e, for any posture, passive forces included."""
    model = sixd.zoo.random_tree(5, kinds=("free", kind))
    frame = model.body_names[-1]
    controller = controllers.OperationalSpace(
        model, frame, Course(), 9.0, 4.0, posture=model.neutral(), posture_kp=2.0, posture_kd=1.0
    )
    q, qd = model.random_configuration(rng), rng.normal(size=model.nv)
    qdd = sixd.forward_dynamics(model, q, qd, controller(0.4, q, qd))
    target = FrameTarget("", Course())
    e, v = target.error(0.4, sixd.pose(model, q, frame)), sixd.velocity(model, q, qd, frame, expressed_in="aligned")
    wanted = target.acceleration_at(0.4) + (target.velocity_at(0.4) - v) * 4 + e * 9
    found = sixd.acceleration(model, q, qd, qdd, frame, kind="classical", expressed_in="aligned")
    close(found, wanted.astype(float), 1e-8)  # forces of 1e2 N on bodies of 0.1 kg


def test_derivatives_of_targets():
    """Velocity and acceleration of a pose, an orientation and a position, against central differences."""
    t, h = 0.6, 1e-4
    for path in (Course(), circle, turned):
        target = FrameTarget("", path)
        before, after = (np.asarray(path(t + s), dtype=float) for s in (-h, h))
        v = np.asarray(target.velocity_at(t), dtype=float)
        if before.ndim == 1:
            close(v, (after - before) / (2 * h), 1e-7)  # differences of order h²
        else:
            rotation = sixd.spatial.rotation_to_vector(after[:3, :3] @ before[:3, :3].T) / (2 * h)
            close(v[:3], rotation, 1e-7)
        rate = (target.velocity_at(t + h) - target.velocity_at(t - h)) / (2 * h)
        close(np.asarray(target.acceleration_at(t), dtype=float), rate.astype(float), 1e-7)
    moving = FrameTarget("", circle, lambda t: np.array([t * t, 0, 1]))
    close(np.asarray(moving.acceleration_at(2.0), dtype=float), [4, 0, 0])
    close(FrameTarget("", circle, np.ones(3), np.full(3, 2.0)).acceleration_at(2.0), [2, 2, 2])


def test_regulation_in_closed_form():
    """A displaced tool returns by the critically damped e(t) = e₀ (1 + ωt) exp(-ωt), while the posture drifts home."""
    controller = controllers.OperationalSpace(
        ARM, "tool", START[:3, 3] + [0.1, -0.05, 0.08], 16.0, posture=HOME, posture_kp=4.0, posture_kd=4.0
    )
    motion = sixd.simulate(ARM, HOME, None, 2.0, controller=controller)
    e = START[:3, 3] + [0.1, -0.05, 0.08] - sixd.pose(ARM, motion.q, "tool")[:, :3, 3]
    t = motion.t[:, None]
    close(e, np.array([0.1, -0.05, 0.08]) * (1 + 4 * t) * np.exp(-4 * t), 1e-9)  # the integrator's error


@pytest.mark.long
def test_tracking_a_moving_pose():
    """From the right start the tool stays on its course; from rest it comes to it."""
    controller = controllers.OperationalSpace(
        ARM, "tool", Course(), 100.0, posture=HOME, posture_kp=9.0, posture_kd=6.0
    )
    target = FrameTarget("", Course())
    qd = sixd.dynamically_consistent_inverse(ARM, HOME, "tool", expressed_in="aligned") @ target.velocity_at(
        0.0
    ).astype(float)
    for start, tolerance in ((qd, 1e-9), (None, 1e-6)):
        motion = sixd.simulate(ARM, HOME, start, 3.0, controller=controller)
        at = range(len(motion.t)) if start is not None else [-1]
        errors = [
            target.error(motion.t[k], sixd.pose(ARM, motion.q[k], "tool"))
            for k in list(at)[:: 1 if start is None else 250]
        ]
        assert np.abs(np.array(errors, dtype=float)).max() < tolerance


def test_the_posture_moves_the_arm_but_not_the_tool():
    elsewhere = HOME + np.array([0.4, 0, 0, 0, 0, 0, 0])
    controller = controllers.OperationalSpace(
        ARM, "tool", START, 25.0, posture=elsewhere, posture_kp=9.0, posture_kd=6.0
    )
    motion = sixd.simulate(ARM, HOME, None, 3.0, controller=controller)
    assert np.abs(sixd.pose(ARM, motion.q[::100], "tool") - START).max() < 1e-9
    assert np.abs(motion.q[-1] - HOME).max() > 0.05


@pytest.mark.long
def test_a_floating_base_without_motors(rng):
    """Its forces are zero, momentum is kept, and the hand reaches its target all the same."""
    builder, parent, base, hand = sixd.ModelBuilder("satellite", (0, 0, 0)), "base", "base", "link7"
    builder.add_body("base", "world", sixd.Free(), inertia=sixd.box(0.5, 0.4, 0.3, mass=8.0))
    for k in range(1, 8):
        link = sixd.cylinder(0.05, 0.3, mass=1.0).translated((0.02, 0.01, 0.15))
        at = sixd.placement((0.25, 0, 0) if k == 1 else (0, 0, 0.3))
        builder.add_body(f"link{k}", parent, sixd.Revolute("xyz"[k % 3]), placement=at, inertia=link)
        parent = f"link{k}"
    model = builder.build()
    q = model.neutral()
    q[7:] = 0.4
    goal = sixd.pose(model, q, hand)[:3, 3] + [0.05, 0.03, -0.04]
    controller = controllers.OperationalSpace(model, hand, goal, 16.0, posture_kd=1.0, unactuated=[base])
    states = (model.random_configuration(rng), rng.normal(size=model.nv))
    tau = controller(0.0, *states)
    assert np.array_equal(tau[:6], np.zeros(6))
    qdd = sixd.forward_dynamics(model, *states, tau)
    e, v = (
        goal - sixd.pose(model, states[0], hand)[:3, 3],
        sixd.velocity(model, *states, hand, expressed_in="aligned")[3:],
    )
    found = sixd.acceleration(model, *states, qdd, hand, kind="classical", expressed_in="aligned")[3:]
    close(found, 16 * e - 8 * v, 1e-8)
    motion = sixd.simulate(model, q, None, 3.0, controller=controller)
    assert np.abs(sixd.pose(model, motion.q[-1], hand)[:3, 3] - goal).max() < 1e-4
    assert np.abs(sixd.momentum(model, motion.q, motion.qd)).max() < 1e-9


# Impedance ------------------------------------------------------------------------------------------


def storage(controller, q, qd):
    """½ q̇ᵀM q̇ + ½ eᵀK e."""
    kinetic = 0.5 * np.einsum("...i,...ij,...j", qd, sixd.mass_matrix(ARM, q), qd)
    e = np.array([controller._targets.errors(0.0, x) for x in q])
    return kinetic + 0.5 * np.sum(controller.stiffness * e * e, axis=1)


@pytest.mark.long
@pytest.mark.parametrize("what", ["pose", "position"])
def test_stored_energy_decreases(what):
    """V̇ = -ėᵀD ė and -posture_kd (qdᵀN M qd), so V falls from any start, with gravity and large motions."""
    target = START.copy()
    target[:3, 3] += [0.1, -0.15, 0.1]
    target[:3, :3] = sixd.spatial.rotation_from_vector(np.array([0.3, 0.5, -0.4])) @ START[:3, :3]
    gains = ([15.0] * 3 + [300.0] * 3, [0.5] * 3 + [30.0] * 3) if what == "pose" else (300.0, 30.0)
    controller = controllers.Impedance(ARM, "tool", target if what == "pose" else target[:3, 3], *gains, posture_kd=2.0)
    motion = sixd.simulate(ARM, HOME, np.full(7, 0.4), 2.0, dt=2.5e-4, controller=controller)
    V = storage(controller, motion.q[::20], motion.qd[::20])
    assert (np.diff(V) < 0).all()
    assert V[-1] < 0.05 * V[0]
    # without dampers it is kept
    free = controllers.Impedance(ARM, "tool", target[:3, 3], 300.0, 0.0)
    motion = sixd.simulate(ARM, HOME, np.full(7, 0.4), 1.0, controller=free)
    V = storage(free, motion.q[::100], motion.qd[::100])
    close(V, V[0], 1e-7)  # the integrator's error


@pytest.mark.long
def test_a_moving_spring_is_passive():
    """V = ½ (q̇ - q̇_r)ᵀM (q̇ - q̇_r) + ½ eᵀK e falls along a course that moves, and the tool follows it exactly."""
    controller = controllers.Impedance(ARM, "tool", circle, 300.0, 30.0, posture_kd=2.0)
    target = controller._targets
    J_bar = [sixd.dynamically_consistent_inverse, {"tool": "position"}]

    def energy(t, q, qd):
        qr = J_bar[0](ARM, q, J_bar[1], expressed_in="aligned") @ target.velocities(t).astype(float)
        e = target.errors(t, q).astype(float)
        return 0.5 * (qd - qr) @ sixd.mass_matrix(ARM, q) @ (qd - qr) + 150 * e @ e

    no_posture = controllers.Impedance(ARM, "tool", circle, 300.0, 30.0)
    motion = sixd.simulate(ARM, HOME + 0.1, None, 1.0, controller=no_posture)
    V = np.array([energy(*x) for x in zip(motion.t[::20], motion.q[::20], motion.qd[::20], strict=True)])
    assert (np.diff(V) < 1e-9).all()
    assert V[-1] < 0.5 * V[0]
    qd = J_bar[0](ARM, HOME, J_bar[1], expressed_in="aligned") @ target.velocities(0.0).astype(float)
    motion = sixd.simulate(ARM, HOME, qd, 2.0, controller=no_posture)
    errors = np.array([target.errors(t, q) for t, q in zip(motion.t[::100], motion.q[::100], strict=True)], dtype=float)
    assert np.abs(errors).max() < 1e-9


def test_a_steady_force_displaces_by_its_stiffness():
    """K⁻¹ F, by a force at the tool in equilibrium; K is a matrix in world axes."""
    K = np.array([[400.0, 50, 0], [50, 300, 20], [0, 20, 500]])
    controller = controllers.Impedance(ARM, "tool", START[:3, 3], K, 40.0, posture_kd=5.0)
    F = np.array([5.0, -3.0, 8.0])

    def pushed(t, q, qd):
        return controller(t, q, qd) + sixd.jacobian(ARM, q, "tool", expressed_in="aligned")[3:].T @ F

    motion = sixd.simulate(ARM, HOME, None, 6.0, controller=pushed)
    close(sixd.pose(ARM, motion.q[-1], "tool")[:3, 3] - START[:3, 3], np.linalg.solve(K, F), 1e-5)  # not quite at rest


def test_contact_with_a_wall_that_is_a_spring():
    """Target 0.1 m behind a wall of stiffness k: the force is K k/(K + k) · 0.1 m, the spring's and the wall's in line."""
    K, k, deep = 400.0, 5000.0, 0.1
    wall = START[0, 3] + 0.03
    goal = START[:3, 3] + [0.03 + deep, 0, 0]
    controller = controllers.Impedance(ARM, "tool", goal, K, 60.0, posture_kd=5.0)

    def against(t, q, qd):
        depth = sixd.pose(ARM, q, "tool")[0, 3] - wall
        force = sixd.spatial.maximum(depth * k, 0.0)
        return controller(t, q, qd) - sixd.jacobian(ARM, q, "tool", expressed_in="aligned")[3] * force

    motion = sixd.simulate(ARM, HOME, None, 6.0, controller=against)
    depth = sixd.pose(ARM, motion.q[-1], "tool")[0, 3] - wall
    assert depth > 0
    expected = K * k / (K + k) * deep
    close(k * depth, expected, 1e-4)  # not quite at rest
    close(K * (goal[0] - sixd.pose(ARM, motion.q[-1], "tool")[0, 3]), expected, 1e-4)


def test_impedance_at_rest_takes_no_inverse():
    """At a singular pose it is the spring of TaskSpacePD; with a posture there it is refused."""
    q, still = np.array([0.3, 0.0]), np.zeros(2)
    goal = [0.5, 0.5, 0.0]
    controller = controllers.Impedance(PLANAR, "tip", goal, 100.0, 10.0)
    close(
        controller(0.0, q, still),
        controllers.TaskSpacePD(PLANAR, "tip", goal, 100.0, 10.0, gravity=True)(0.0, q, still),
    )
    controller = controllers.Impedance(PLANAR, "tip", goal, 100.0, 10.0, rows=(3, 4), posture_kd=1.0)
    with pytest.raises(sixd.SingularError, match=r"Impedance: the 2 rows of 'tip' are dependent there"):
        controller(0.0, q, still)
    controller = controllers.OperationalSpace(PLANAR, "tip", goal, 100.0, rows=(3, 4))
    with pytest.raises(sixd.SingularError, match=r"OperationalSpace: the 2 rows of 'tip' are dependent there \(rank 1"):
        controller(0.0, q, still)
    controller = controllers.OperationalSpace(PLANAR, "tip", goal, 100.0)
    with pytest.raises(sixd.SingularError, match="dependent in any configuration"):
        controller(0.0, q, still)
    controller = controllers.OperationalSpace(PLANAR, "tip", goal, 100.0, regularization=0.3)
    assert np.isfinite(controller(0.0, q, still)).all()


def test_effort_limits_are_kept():
    builder = sixd.ModelBuilder("limited", (0, 0, 0))
    builder.add_body("a", "world", sixd.Revolute("z"), inertia=sixd.box(1.0, 0.1, 0.1, mass=1.0), effort=3.0)
    builder.add_body(
        "b", "a", sixd.Revolute("z"), placement=sixd.placement((1, 0, 0)), inertia=sixd.box(1.0, 0.1, 0.1, mass=1.0)
    )
    builder.add_frame("tip", "b", sixd.placement((1, 0, 0)))
    model, q = builder.build(), np.array([0.3, 0.9])
    for controller in (
        controllers.OperationalSpace(model, "tip", (0.0, 9.0, 0.0), 100.0, rows=(3, 4), saturate=True),
        controllers.Impedance(model, "tip", (0.0, 9.0, 0.0), 1e3, 1.0, saturate=True),
    ):
        assert abs(controller(0.0, q, np.zeros(2))[0]) == 3


def test_singular_mass_matrices_are_refused():
    """A rod that rotates about itself: the error is that of other functions, and no NaN is returned."""
    builder = sixd.ModelBuilder("rods")
    builder.add_body("a", "world", sixd.Revolute("z"), inertia=sixd.box(1.0, 0.1, 0.1, mass=1.0))
    builder.add_body("b", "a", sixd.Revolute("z"), placement=sixd.placement((1, 0, 0)), inertia=sixd.point(1.0))
    builder.add_frame("tip", "b", sixd.placement((1, 0, 0)))
    controller = controllers.OperationalSpace(builder.build(), "tip", np.zeros(3), 1.0, rows=(3, 4))
    with pytest.raises(sixd.SingularError, match="mass matrix of 'rods' is singular"):
        controller(0.0, np.array([0.3, 0.5]), np.zeros(2))


OS, IM = controllers.OperationalSpace, controllers.Impedance
P = np.zeros(3)
ERRORS = {
    "frame": (lambda: OS(PLANAR, "tap", P, 1.0), "OperationalSpace: model 'planar2': no frame named 'tap'"),
    "no target": (lambda: OS(PLANAR, "tip", kp=1.0), "target is None"),
    "two targets": (lambda: OS(PLANAR, {"tip": P}, P, 1.0), "target is set, but frame is a mapping"),
    "no frames": (lambda: OS(PLANAR, {}, kp=1.0), "empty mapping"),
    "names": (lambda: OS(PLANAR, ("tip", "link2"), P, 1.0), "expected a name, or a mapping of names to targets"),
    "no kp": (lambda: OS(PLANAR, "tip", P), "kp is None, expected a gain"),
    "kp": (lambda: OS(PLANAR, "tip", P, [1.0, 2.0]), r"kp has shape \(2,\), expected a number or \(3,\)"),
    "negative": (lambda: OS(PLANAR, "tip", P, -1.0), "kp is -1.0, expected finite numbers of at least 0"),
    "kp by frame": (lambda: OS(PLANAR, {"tip": P}, kp={"tap": 1.0}), "kp: no frame named 'tap'"),
    "kp of one": (lambda: OS(PLANAR, {"tip": P, "link2": P}, kp={"tip": 1.0}), "no entry for .*'link2'"),
    "rows": (lambda: OS(PLANAR, "tip", P, 1.0, rows=(0, 3)), r"rows of frame 'tip' are \(0, 3\), expected some of \(3, 4, 5\)"),
    "rows by name": (lambda: OS(PLANAR, {"tip": P}, kp=1.0, rows=(3, 4)), "rows is .* expected a mapping by the names"),
    "posture": (lambda: OS(PLANAR, "tip", P, 1.0, posture=[0, 0]), "posture is set and posture_kp is 0.0, expected both"),
    "no posture": (lambda: OS(PLANAR, "tip", P, 1.0, posture_kp=2.0), "posture is None and posture_kp is 2.0"),
    "unactuated": (lambda: OS(PLANAR, "tip", P, 1.0, unactuated="link1"), "unactuated is 'link1', expected names"),
    "unknown joint": (lambda: OS(PLANAR, "tip", P, 1.0, unactuated=["link9"]), "no joint named 'link9'"),
    "regularization": (lambda: OS(PLANAR, "tip", P, 1.0, regularization=-1), "regularization is -1, expected at least 0"),
    "saturate": (lambda: OS(PLANAR, "tip", P, 1.0, saturate=1), "saturate is 1, expected True or False"),
    "velocity": (lambda: OS(PLANAR, "tip", P, 1.0, velocity=np.zeros(6)), r"velocity has shape \(6,\), expected \(3,\)"),
    "shape": (lambda: OS(PLANAR, "tip", lambda t: np.zeros(2), 1.0), r"target\(t\) has shape \(2,\)"),
    "rotation": (lambda: OS(PLANAR, "tip", 2 * np.eye(3), 1.0), "target is not a rigid pose"),
    "last row": (lambda: OS(PLANAR, "tip", np.diag([1, 1, 1, 2.0]), 1.0), "target is not a rigid pose"),
    "posture's shape": (lambda: OS(PLANAR, "tip", P, 1.0, posture=[0], posture_kp=1.0), r"posture: target has shape \(1,\)"),
    "gravity": (lambda: IM(PLANAR, "tip", P, 1.0, 1.0, gravity="no"), "gravity is 'no', expected True or False"),
    "whole numbers": (lambda: OS(PLANAR, "tip", P, 1.0, rows=(3, 4))(0, [1, 0], [0, 0]), "rows of 'tip' are dependent there"),
    "stiffness": (lambda: IM(PLANAR, "tip", P), "Impedance: stiffness is None"),
    "damping": (lambda: IM(PLANAR, "tip", P, 1.0), "Impedance: damping is None"),
    "skew": (lambda: IM(PLANAR, "tip", P, np.triu(np.ones((3, 3))), 1.0), "stiffness is not symmetric"),
    "indefinite": (lambda: IM(PLANAR, "tip", P, np.diag([1.0, -1, 1]), 1.0), "stiffness is not symmetric with eigenvalues"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    make, message = ERRORS[case]
    with pytest.raises(sixd.SixdError, match=message):
        make()
