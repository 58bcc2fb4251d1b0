"""Controllers: closed forms, the properties they promise on every joint type, the same results as compiled code, and messages."""

import pickle

import numpy as np
import pytest
import sympy

import samples
import sixd
from sixd import controllers
from sixd.controllers.reference import Reference
from sixd.spatial import cos, sin

KINDS = samples.KINDS


def close(got, wanted, tolerance=1e-12):
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


class Course:
    """A target that moves every joint: from ``start`` along ``dq`` and back; picklable."""

    def __init__(self, model, rng):
        self.model, self.start = model, model.random_configuration(rng)
        self.dq = rng.normal(scale=0.4, size=model.nv)

    def __call__(self, t):
        return self.model.integrate_row(self.start, self.dq * sin(t * 1.3) + np.flip(self.dq) * t)


class Circle:
    """A pose that moves on a circle and rotates about an axis of its own."""

    def __call__(self, t):
        T = sixd.placement((0.3, 0.1, 0.2)).astype(object)
        T[:3, 3] = T[:3, 3] + np.array([cos(t), sin(t), 0]) * 0.2
        T[:3, :3] = sixd.spatial.rotation_from_vector(np.array([0.3, -0.5, 0.2]) * t)
        return T


def circle_centre(t):
    return Circle()(t)[:3, 3]


def compiled(controller, model):
    return sixd.compile(lambda t, q, qd: controller(t, q, qd), model, shapes={"t": ()})


def every_controller(model, rng):
    """One of each kind, with the options that add work."""
    course, frame = Course(model, rng), f"frame{model.nb}"
    gains = rng.uniform(1, 3, model.nv)
    return [
        controllers.PD(course, gains, 0.7, model=model, gravity=True),
        controllers.PD(course.start, 2.0, gains, model=model),
        controllers.ComputedTorque(model, course, gains, 2.0),
        controllers.GravityCompensation(model),
        controllers.TaskSpacePD(model, frame, Circle(), 3.0, np.arange(6.0), gravity=True, joint_damping=0.1),
        controllers.TaskSpacePD(model, frame, circle_centre, [1.0, 2.0, 3.0], 0.5),
        controllers.Sequence(rng.normal(size=(5, model.nv)), 0.1),
    ]


# properties on every joint type -----------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
def test_controllers_are_the_same_as_compiled_code_and_after_pickling(kind, rng):
    model = samples.single_joint(kind)
    several = every_controller(model, rng)
    kernel = sixd.compile(lambda t, q, qd: tuple(c(t, q, qd) for c in several), model, shapes={"t": ()})
    for t, (q, qd, _) in zip((0.1, 0.3, 0.47), samples.states(model, rng, 3), strict=True):
        for controller, tau in zip(several, kernel(t, q, qd), strict=True):
            close(tau, controller(t, q, qd), 1e-11)  # sums of some 1e2 N m
            again = pickle.loads(pickle.dumps(controller))
            assert (again(t, q, qd) == controller(t, q, qd)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_targets_derivatives_are_exact(kind, rng):
    """Velocity and acceleration against central differences on the manifold; first and second order of the same thing."""
    model = samples.single_joint(kind)
    course, t, h = Course(model, rng), 0.4, 1e-4
    reference = Reference("PD", model, course)
    at = reference.at(t)
    close(at.q, course(t))
    close(at.qd, model.difference(course(t - h), course(t + h)) / (2 * h), 1e-7)  # differences of order h²
    close(at.qdd, (reference.at(t + h).qd - reference.at(t - h).qd) / (2 * h), 1e-7)
    # explicit velocities and accelerations are used as they are; else the velocity is differentiated
    explicit = Reference("PD", model, course, lambda t: reference.at(t).qd)
    close(explicit.at(t).qd, at.qd)
    close(explicit.at(t).qdd, at.qdd)
    close(Reference("PD", model, course, at.qd, at.qd * 2).at(t).qdd, at.qd * 2)
    still = Reference("PD", model, course.start).at(t)
    assert not still.qd.any()
    assert not still.qdd.any()


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
def test_computed_torque_makes_the_error_linear(kind, rng):
    """Forward dynamics of its torque: d/dt ė + kd ė + kp e = 0, by differences along the true motion."""
    model = samples.single_joint(kind)
    course, kp, kd = Course(model, rng), rng.uniform(3, 9, model.nv), rng.uniform(1, 4, model.nv)
    controller = controllers.ComputedTorque(model, course, kp, kd)
    reference = Reference("", model, course)
    for t, (q, qd, _) in zip((0.1, 0.6), samples.states(model, rng, 2), strict=True):
        qdd = sixd.forward_dynamics(model, q, qd, controller(t, q, qd))
        h = 1e-5
        before, after = (
            reference.errors(t + s, model.integrate(q, qd * s + qdd * (s * s / 2)), qd + qdd * s) for s in (-h, h)
        )
        e, e_rate = reference.errors(t, q, qd)
        close((after[1] - before[1]) / (2 * h) + kd * e_rate + kp * e, np.zeros(model.nv), 1e-6)  # differences
        if model.nq == model.nv:  # on a vector space the error equation is an identity of the accelerations
            close(reference.at(t).qdd - qdd + kd * e_rate + kp * e, np.zeros(model.nv), 1e-9)
            close((after[0] - before[0]) / (2 * h), e_rate, 1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_on_the_target_nothing_is_left_to_correct(kind, rng):
    """There e = ė = 0, PD gives gravity alone, and computed torque the inverse dynamics of the target's motion."""
    model = samples.single_joint(kind)
    course, t = Course(model, rng), 0.8
    at = Reference("", model, course).at(t)
    pd = controllers.PD(course, 5.0, 3.0, model=model, gravity=True)
    close(pd(t, at.q, at.qd), sixd.gravity_force(model, at.q), 1e-10)
    ct = controllers.ComputedTorque(model, course, 5.0, 3.0)
    close(ct(t, at.q, at.qd), sixd.inverse_dynamics(model, at.q, at.qd, at.qdd), 1e-9)


def test_orientation_errors_do_not_see_the_sign_of_a_quaternion(rng):
    model = samples.single_joint("free")
    q, qd = model.random_configuration(rng), rng.normal(size=model.nv)
    target = model.random_configuration(rng)
    other, index = target.copy(), next(model.iq[i] for i in model.bodies if isinstance(model.joints[i], sixd.Free))
    other[index.start : index.start + 4] *= -1
    pd = [controllers.PD(x, 3.0, 1.0, model=model)(0.0, q, qd) for x in (target, other)]
    close(pd[0], pd[1])


# closed forms -----------------------------------------------------------------------------------


def rk4(rate, x, h, steps):
    for k in range(steps):
        t = k * h
        k1 = rate(t, x)
        k2 = rate(t + h / 2, x + h / 2 * k1)
        k3 = rate(t + h / 2, x + h / 2 * k2)
        k4 = rate(t + h, x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


def closed_loop(model, controller):
    def rate(t, x):
        q, qd = x[: model.nq], x[model.nq :]
        return np.concatenate([qd, sixd.forward_dynamics(model, q, qd, controller(t, q, qd))])

    return rate


def test_pd_on_a_mass_is_a_damped_oscillator():
    builder = sixd.ModelBuilder("cart", (0, 0, 0))
    builder.add_body("cart", "world", sixd.Prismatic("x"), inertia=sixd.Inertia(2.0))
    model = builder.build()
    controller = controllers.PD([0.7], kp=50.0, kd=4.0)
    x = rk4(closed_loop(model, controller), np.array([0.0, 0.0]), 1e-3, 500)
    decay, t = 4.0 / (2 * 2.0), 0.5
    w = np.sqrt(50 / 2.0 - decay**2)
    e = -0.7 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    close(x[0] - 0.7, e, 1e-9)  # RK4 at 1 ms


def test_computed_torque_follows_a_moving_target_as_the_linear_equation_says():
    """ë + kd ė + kp e = 0 with critical damping: e(t) = (e0 + (ė0 + ω e0) t) exp(-ω t), though the arm is coupled."""
    model = sixd.zoo.two_link_arm()
    controller = controllers.ComputedTorque(model, _wave, 25.0, 10.0)
    start = np.array([0.5, -0.3])
    x = rk4(closed_loop(model, controller), np.concatenate([start, [0, 0]]), 1e-3, 600)
    t, e0, rate0 = 0.6, start - _wave(0.0), -np.array([1.0, 0.5])
    close(x[:2] - _wave(t), (e0 + (rate0 + 5 * e0) * t) * np.exp(-5 * t), 1e-9)  # RK4 at 1 ms


def _wave(t):
    return np.array([sin(t), 1 - cos(t) + t / 2])


def test_gravity_compensation_keeps_an_arm_where_it_is():
    model = sixd.zoo.puma560()
    q = np.array([0.3, 0.7, -0.5, 0.2, 0.4, 0.1])
    tau = controllers.GravityCompensation(model)(0.0, q, np.zeros(6))
    close(sixd.forward_dynamics(model, q, np.zeros(6), tau), np.zeros(6), 1e-11)


def test_task_space_pd_is_a_spring_at_the_frame(rng):
    """tau is the gradient of ½ kp ‖e‖², against central differences; the damper dissipates kd ‖v‖²."""
    model = samples.single_joint("free", passive=False)
    target, frame, h = sixd.placement((0.5, 0.2, 0.1), (0.3, 0.2, 0.1)), "frame2", 1e-6
    for goal, kp in ((target, np.array([5.0] * 3 + [2.0] * 3)), (target[:3, 3], np.array([2.0, 3.0, 4.0]))):
        spring = controllers.TaskSpacePD(model, frame, goal, kp)

        def energy(q, goal=goal, kp=kp):
            T = sixd.pose(model, q, frame)
            e = np.asarray(goal)[..., -1][:3] - T[:3, 3] if np.ndim(goal) == 2 else goal - T[:3, 3]
            if np.ndim(goal) == 2:
                e = np.concatenate([sixd.spatial.rotation_to_vector(goal[:3, :3] @ T[:3, :3].T), e])
            return 0.5 * kp @ (e * e)

        q, qd = model.random_configuration(rng), rng.normal(size=model.nv)
        gradient = [
            (energy(model.integrate(q, d * h)) - energy(model.integrate(q, -d * h))) / (2 * h) for d in np.eye(model.nv)
        ]
        close(spring(0.0, q, np.zeros(model.nv)), -np.array(gradient), 1e-7)  # central differences
        both = controllers.TaskSpacePD(model, frame, goal, kp, 3.0)
        v = sixd.velocity(model, q, qd, frame, expressed_in="aligned")
        v = v if np.ndim(goal) == 2 else v[3:]
        close((both(0.0, q, qd) - spring(0.0, q, qd)) @ qd, -3.0 * v @ v, 1e-10)


def test_task_space_pd_knows_how_its_target_moves(rng):
    """At a frame that moves with the target, only gravity is left; an explicit velocity does the same."""
    model = samples.single_joint("free")
    frame, t, h = "frame2", 0.7, 1e-6
    T = [np.array(Circle()(s), dtype=float) for s in (t - h, t, t + h)]
    rotation = sixd.spatial.rotation_to_vector(T[2][:3, :3] @ T[0][:3, :3].T)
    v = np.concatenate([rotation, T[2][:3, 3] - T[0][:3, 3]]) / (2 * h)
    moving = controllers.TaskSpacePD(model, frame, Circle(), 3.0, 2.0)
    explicit = controllers.TaskSpacePD(model, frame, T[1], 3.0, 2.0, velocity=v)
    in_time = controllers.TaskSpacePD(model, frame, T[1], 3.0, 2.0, velocity=lambda t: v)
    q, qd = model.random_configuration(rng), rng.normal(size=model.nv)
    close(moving(t, q, qd), explicit(t, q, qd), 1e-8)  # central differences
    close(in_time(t, q, qd), explicit(t, q, qd))


def test_effort_limits_are_kept():
    model = sixd.zoo.two_link_arm()
    builder = sixd.ModelBuilder("limited", (0, 0, 0))
    builder.add_body("a", "world", sixd.Revolute("z"), inertia=sixd.sphere(0.1, mass=1.0), effort=3.0)
    builder.add_body("b", "a", sixd.Revolute("z"), inertia=sixd.sphere(0.1, mass=1.0))
    model = builder.build()
    controller = controllers.PD([1.0, 1.0], 10.0, model=model, saturate=True)
    for q, tau in (([0, 0], [3, 10]), ([2, 2], [-3, -10]), ([0.9, 0.9], [1, 1])):
        close(controller(0.0, np.array(q), np.zeros(2)), tau)
        close(compiled(controller, model)(0.0, q, np.zeros(2)), tau)
    for other in (
        controllers.ComputedTorque(model, [100.0, 0.0], 10.0, 1.0, saturate=True),
        controllers.TaskSpacePD(model, "b", (0.0, 9.0, 0.0), 1e3, saturate=True),
        controllers.GravityCompensation(model, saturate=True),
    ):
        assert abs(other(0.0, np.array([0.1, 0.2]), np.zeros(2))[0]) <= 3


def test_controllers_of_other_systems():
    """Lagrangian systems and models in reduced coordinates are controlled by the same controllers."""
    x, v, m = *sympy.symbols("x v"), 2
    system = sixd.lagrange(m * v**2 / 2, 5 * x**2, [x], qd=[v])
    ct = controllers.ComputedTorque(system, lambda t: np.array([sin(t)]), 4.0, 3.0)
    qdd = sixd.forward_dynamics(system, [0.3], [0.2], ct(0.5, [0.3], [0.2]))
    e, e_rate = np.sin(0.5) - 0.3, np.cos(0.5) - 0.2
    close(qdd, [-np.sin(0.5) + 3 * e_rate + 4 * e], 1e-11)
    reduced = sixd.zoo.double_elbow().reduce()
    tau = controllers.ComputedTorque(reduced, [0.5, 0.1], 4.0, 3.0)(0.0, [0.1, 0.2], [0.3, 0.4])
    close(sixd.forward_dynamics(reduced, [0.1, 0.2], [0.3, 0.4], tau), [1.6 - 0.9, -0.4 - 1.2], 1e-11)
    close(controllers.PD([0.5, 0.1], 2.0, model=reduced, gravity=True)(0.0, [0.1, 0.2], [0.0, 0.0]), [0.8, -0.2])


# open loop --------------------------------------------------------------------------------------


def test_a_sequence_holds_each_row():
    table = np.arange(8.0).reshape(4, 2)
    controller = controllers.Sequence(table, 0.1)
    kernel = compiled(controller, sixd.zoo.planar(2))
    zero = np.zeros(2)
    for t, k in ((-1.0, 0), (0.0, 0), (0.0999, 0), (0.1, 1), (3 * 0.1, 3), (0.1 + 0.1 + 0.1, 3), (0.29, 2), (99.0, 3)):
        close(controller(t, zero, zero), table[k])
        close(kernel(t, zero, zero), table[k])
    # sample instants that were added up stay in their sample
    t = 0.0
    for k in range(1000):
        assert controllers.Sequence(np.arange(1000.0)[:, None], 0.1)(t, zero, zero) == [k]
        t += 0.1


def test_a_sequence_of_a_batch():
    table = np.arange(24.0).reshape(3, 4, 2)
    controller = controllers.Sequence(table, 0.5)
    close(controller.sample(0.6, np.zeros((3, 5)), np.zeros((3, 2))), table[:, 1])
    close(controller.sample(0.6, np.zeros((7, 3, 5)), None), np.broadcast_to(table[:, 1], (7, 3, 2)))
    close(controllers.Sequence(table[0], 0.5).sample(1.0, np.zeros((6, 2)), None), np.tile(table[0, 2], (6, 1)))
    with pytest.raises(
        sixd.ShapeError, match=r"Sequence: tau has the batch \(3,\), expected one that broadcasts to \(4,\)"
    ):
        controller.sample(0.0, np.zeros((4, 2)), None)
    with pytest.raises(
        sixd.ShapeError, match="a table for each state of a batch, expected .* Pass the Sequence itself to"
    ):
        controller(0.0, np.zeros(2), np.zeros(2))


# the two-arm controller of table C --------------------------------------------------------------


class TwoArm:
    """Commands between corner points, errors by backward differences: it remembers the last one."""

    def __init__(self, kp, sample_time):
        self.kp, self.sample_time, self.last, self.largest = kp, sample_time, None, 0.0

    def __call__(self, t, q, qd):
        s = t % 4.0
        e = np.array([np.interp(s, range(5), [0, a, a, 0, 0]) for a in (1, 2)]) - q
        rate = 0 if self.last is None else (e - self.last) / self.sample_time
        self.last, self.largest = e, max(self.largest, np.abs(e).max())
        return self.kp * (e + 0.015 * rate)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kp", "sample_time", "largest"), [(800, 5e-3, 0.0779142), (1500, 5e-3, 0.54265), (1500, 2e-3, 0.0528201)]
)
def test_the_two_arm_controller(kp, sample_time, largest):
    """A sampled controller with a memory: its force is held between samples."""
    model, controller = sixd.zoo.planar(2), TwoArm(kp, sample_time)
    x, steps = np.zeros(4), 10
    for k in range(round(10 / sample_time) + 1):
        tau = controller(k * sample_time, x[:2], x[2:])
        x = rk4(
            lambda t, x, tau=tau: np.concatenate([x[2:], sixd.forward_dynamics(model, x[:2], x[2:], tau)]),
            x,
            sample_time / steps,
            steps,
        )
    close(controller.largest, largest, 1e-5)  # printed digits


# messages ---------------------------------------------------------------------------------------


ARM = sixd.zoo.planar(2)
BALL = samples.single_joint("spherical")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: controllers.PD([0, 0], -1.0), r"PD: kp is -1\.0, expected finite numbers of at least 0"),
        (lambda: controllers.PD([0, 0], 1.0, [[1.0]]), r"PD: kd has shape \(1, 1\), expected a number or \(2,\)"),
        (lambda: controllers.PD(lambda t: [t], 1.0, [[1.0]]), r"PD: kd has shape \(1, 1\), expected a number or \(nv,\)"),
        (lambda: controllers.PD([1.0, 2.0], kp=[1, 2, 3], kd=1), r"PD: kp has shape \(3,\), expected a number or \(2,\)"),
        (lambda: controllers.PD([0, 0], 1.0, velocity=[1.0]), r"PD: velocity has shape \(1,\), expected \(2,\), or a function of t"),
        (lambda: controllers.PD([0, 0], [1, 2, 3], model=ARM), r"PD: kp has shape \(3,\), expected a number or \(2,\)"),
        (lambda: controllers.PD([0, 0], "strong"), "PD: kp is 'strong', expected numbers"),
        (lambda: controllers.PD([0, 0, 0], 1.0, model=ARM), r"PD: target has shape \(3,\), expected \(2,\), or a function of t"),
        (lambda: controllers.PD([0, np.nan], 1.0), "PD: target is .* expected finite numbers"),
        (lambda: controllers.PD([0, 0], 1.0, velocity=[1.0], model=ARM), r"PD: velocity has shape \(1,\), expected \(2,\)"),
        (lambda: controllers.PD([0, 0], 1.0, gravity=True), "PD: model is None, expected the model for gravity or saturate"),
        (lambda: controllers.PD([0, 0], 1.0, model="arm"), "PD: model is a str, expected a sixd.Model"),
        (lambda: controllers.PD([0, 0], 1.0, model=ARM, saturate=2), "PD: saturate is 2, expected True or False"),
        (lambda: controllers.PD(np.zeros(BALL.nq), 1.0, model=BALL), "PD: the quaternion of joint .* is zero in target, expected length 1, .* Start from model.neutral"),
        (lambda: controllers.ComputedTorque(BALL, 2 * BALL.neutral(), 1.0, 1.0), "ComputedTorque: the quaternion of joint .* has length 2 in target, expected 1. Its order is w, x, y, z"),
        (lambda: controllers.ComputedTorque(ARM, [0, 0], 1.0, np.inf), "ComputedTorque: kd is inf, expected finite numbers"),
        (lambda: controllers.GravityCompensation(3), "GravityCompensation: model is a int, expected a sixd.Model"),
        (lambda: controllers.GravityCompensation(sixd.zoo.double_elbow().reduce(), saturate=True), "has no effort limits, expected a sixd.Model"),
        (lambda: controllers.TaskSpacePD(ARM, "top", np.eye(4), 1.0), "TaskSpacePD: model 'planar2': no frame named 'top'. Did you mean 'tip'"),
        (lambda: controllers.TaskSpacePD(ARM, "tip", np.eye(2), 1.0), r"TaskSpacePD: target has shape \(2, 2\), expected a pose \(4, 4\)"),
        (lambda: controllers.TaskSpacePD(ARM, "tip", 2 * np.eye(4), 1.0), "TaskSpacePD: target is not a rigid pose"),
        (lambda: controllers.TaskSpacePD(ARM, "tip", np.full(3, np.nan), 1.0), "TaskSpacePD: target is .* expected finite numbers"),
        (lambda: controllers.TaskSpacePD(ARM, "tip", np.zeros(3), np.ones(6)), r"TaskSpacePD: kp has shape \(6,\), expected a number or \(3,\)"),
        (lambda: controllers.TaskSpacePD(ARM, "tip", np.zeros(3), 1.0, velocity=np.zeros(6)), r"TaskSpacePD: velocity has shape \(6,\), expected \(3,\)"),
        (lambda: controllers.Sequence([1.0, 2.0], 0.1), r"Sequence: tau has shape \(2,\), expected \(\.\.\., n, nv\)"),
        (lambda: controllers.Sequence([[np.inf]], 0.1), "Sequence: tau holds NaN, infinity or symbols"),
        (lambda: controllers.Sequence([[1.0]], 0), r"Sequence: sample_time is 0, expected a positive finite number \[s\]"),
    ],
)  # fmt: skip
def test_errors_when_made(make, message):
    with pytest.raises(sixd.SixdError, match=message):
        make()


@pytest.mark.parametrize(
    ("controller", "message"),
    [
        (controllers.PD([0, 0, 0], 1.0), r"PD: target has shape \(3,\), expected \(2,\), that of q"),
        (controllers.PD(lambda t: [t, t], [1.0, 2.0, 3.0]), r"PD: kp has shape \(3,\), expected a number or \(2,\)"),
        (controllers.PD(lambda t: np.zeros(3), 1.0, model=ARM), r"PD: target\(t\) has shape \(3,\), expected \(2,\)"),
        (controllers.PD(lambda t: [float(t), 0], 1.0), "PD: target.t. cannot be differentiated: .* Write it with the functions of sixd.spatial"),
        (controllers.ComputedTorque(BALL, BALL.neutral(), 1.0, 1.0), r"ComputedTorque: q has shape \(2,\), expected \(5,\), one state"),
        (controllers.TaskSpacePD(ARM, "tip", lambda t: np.zeros(2), 1.0), r"TaskSpacePD: target\(t\) has shape \(2,\), expected \(4, 4\), \(3, 3\) or \(3,\)"),
        (controllers.TaskSpacePD(ARM, "tip", lambda t: np.zeros(3), 1.0, velocity=np.zeros(6)), r"TaskSpacePD: velocity has shape \(6,\), expected \(3,\)"),
    ],
)  # fmt: skip
def test_errors_when_called(controller, message):
    with pytest.raises(sixd.SixdError, match=message):
        controller(0.0, np.zeros(2), np.zeros(2))


def test_errors_of_states_and_long_tables():
    with pytest.raises(sixd.ShapeError, match=r"PD: model is missing, .* q has 7 numbers and qd 6, .* model=model\)"):
        controllers.PD(np.zeros(7), 1.0)(0.0, np.zeros(7), np.zeros(6))
    with pytest.raises(
        sixd.ModelError, match="Sequence: tau has 2000 numbers, expected at most 1000 in a traced controller"
    ):
        compiled(controllers.Sequence(np.zeros((1000, 2)), 0.1), ARM)(0.0, np.zeros(2), np.zeros(2))


def floating_leg():
    """A free body with a leg: q has 8 numbers, qd 7."""
    builder = sixd.ModelBuilder("hopper")
    builder.add_body("base", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=1.0))
    builder.add_body("leg", "base", sixd.Revolute("y"), inertia=sixd.sphere(0.1, mass=1.0).translated((0, 0, -0.3)))
    return builder.build()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: controllers.PD(m.neutral(), 1.0), r"PD: model is missing.*Pass it: PD\(target, kp, kd, model=model\)"),
        (lambda m: controllers.PD([0.0], 1.0), r"PD: model is missing.*q has 8 numbers and qd 7, as with a floating base"),
        (lambda m: controllers.PD(lambda t: m.neutral(), 1.0), "PD: model is missing"),
        (lambda m: controllers.PD([0.0], 1.0, model=m), r"expected \(8,\), or a function of t\. Joint 'base' has 7 of them: begin with target = model.neutral\(\), then target\[model.q_slice\('leg'\)\]"),
        (lambda m: controllers.PD(m.neutral(), [1.0], model=m), r"PD: kp has shape \(1,\).*Joint 'base' has 6 of them, kp\[0:6\]: begin with kp = np.zeros\(7\)"),
        (lambda m: controllers.ComputedTorque(m, m.neutral(), 1.0, [1.0]), r"ComputedTorque: kd has shape \(1,\).*Joint 'base' has 6 of them, kd\[0:6\]"),
        (lambda m: controllers.Sequence(np.ones((5, 1)), 0.01), r"controller returns forces of shape \(1,\) at t = 0, expected 7 numbers"),
    ],
)  # fmt: skip
def test_a_floating_base_needs_more(make, message):
    """Whatever is missing or too short is named, with what to write."""
    model = floating_leg()
    with pytest.raises(sixd.SixdError, match=message):
        sixd.simulate(model, model.neutral(), None, 0.01, controller=make(model))


def test_tables_for_a_batch_of_two_dimensions():
    """Tables (2, 3, n, nv) are those of the states of a batch (2, 3); the sample time comes with them."""
    model = sixd.zoo.pendulum()
    tables = np.arange(12.0).reshape(2, 3, 2, 1)
    motion = sixd.simulate(
        model, np.zeros((2, 3, 1)), None, 0.04, controller=controllers.Sequence(tables, 0.02), dt=0.01
    )
    np.testing.assert_array_equal(motion.tau[..., [0, 1, 2, 3], 0], tables[..., [0, 0, 1, 1], 0])
