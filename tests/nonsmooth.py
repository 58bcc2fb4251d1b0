"""Small mechanisms with dry friction or rigid contact whose motions are known exactly, and these motions."""

from __future__ import annotations

import numpy as np

import sixd

G = 9.81
SLIDER = {"mass": 1.0, "stiffness": 100.0, "friction": 1.0}


def rod(inertia=2e-5, friction=0.1):
    """A rod on a hinge with dry friction [N m], without gravity: it stops after I v/F, v²I/(2F) further on."""
    builder = sixd.ModelBuilder("rod", gravity=(0, 0, 0))
    builder.add_body(
        "rod", "world", sixd.Revolute("z"), inertia=sixd.Inertia(1e-3, (0, 0, 0), [inertia] * 3), friction=friction
    )
    return builder.build()


def stuck_pendulum():
    """A pendulum whose weight, at most 4.9 N m, is smaller than the friction in its hinge, 6 N m."""
    builder = sixd.ModelBuilder("stuck pendulum")
    inertia = sixd.Inertia(1.0, (0, 0, -0.5), (0.01, 0.01, 0.01))
    builder.add_body("link", "world", sixd.Revolute("y"), inertia=inertia, friction=6.0)
    return builder.build()


def slider(stiffness=0.0):
    """A mass of 1 kg on a rail along x with friction of 1 N, and a spring [N/m] to x = 0."""
    builder = sixd.ModelBuilder("slider", gravity=(0, 0, 0))
    options = {"stiffness": stiffness} if stiffness else {}
    builder.add_body(
        "mass", "world", sixd.Prismatic("x"), inertia=sixd.point(SLIDER["mass"]), friction=SLIDER["friction"], **options
    )
    return builder.build()


def oscillator_motion(t, x0=0.105):
    """Return position and velocity (n,) of the slider on its spring, released at x0 > 0 at rest.

    Each half period π/ω is a cosine about ±F/k, whose amplitude is 2F/k smaller than that before. The slider stays at
    rest from the first reversal at which the spring is weaker than friction.
    """
    rate, offset = np.sqrt(SLIDER["stiffness"] / SLIDER["mass"]), SLIDER["friction"] / SLIDER["stiffness"]
    half, turn, begin = np.pi / rate, x0, 0.0
    t = np.asarray(t, float)
    x, v = np.full(t.shape, np.nan), np.zeros(t.shape)
    while abs(turn) > offset:
        center = np.sign(turn) * offset
        inside = t >= begin
        phase = rate * (t[inside] - begin)
        x[inside] = center + (turn - center) * np.cos(phase)
        v[inside] = -(turn - center) * rate * np.sin(phase)
        turn, begin = 2 * center - turn, begin + half
    x[t >= begin], v[t >= begin] = turn, 0.0
    return x, v


def belt_force(speed):
    """Return the spring's force on a mass on a belt of this speed, in the frame of the belt, as a controller.

    q is the position relative to the belt, so friction acts on q̇; the mass is at q + speed t.
    """

    def law(t, q, qd):
        return (q + speed * t) * -SLIDER["stiffness"]

    return law


def belt_motion(t, speed):
    """Return position and velocity (n,) relative to the belt of a mass that starts at rest on it, with a slack spring.

    It moves with the belt until k x = F, at x = F/k, and then slips: ẍ = F - k x. After a period 2π/ω its speed is that
    of the belt again. It begins to slip again at once, because the spring's force is then F.
    """
    rate, reach = np.sqrt(SLIDER["stiffness"] / SLIDER["mass"]), SLIDER["friction"] / SLIDER["stiffness"]
    t = np.asarray(t, float)
    later = np.maximum(0.0, t - reach / speed)
    x = speed / rate * np.sin(rate * later) - speed * later
    v = speed * np.cos(rate * later) - speed
    return x, v


def free_body(inertia, name="body"):
    """One body on a free joint, under gravity."""
    builder = sixd.ModelBuilder(name)
    builder.add_body(name, "world", sixd.Free(), inertia=inertia)
    return builder.build()


def lying_box(size=(0.2, 0.2, 0.1), mass=1.0):
    """Return a box on a free joint, its lower corners (4, 3), and its configuration flat on z = 0."""
    x, y, z = np.asarray(size) / 2
    corners = [(i * x, j * y, -z) for i in (-1, 1) for j in (-1, 1)]
    return free_body(sixd.box(*size, mass=mass), "box"), corners, np.array([1.0, 0, 0, 0, 0, 0, z])


def on_incline(angle, height):
    """Return the normal (3,) of a plane through the origin that falls towards +x, and q (7,) of a body flat on it."""
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    return normal, np.concatenate([[np.cos(angle / 2), 0, np.sin(angle / 2), 0], normal * height])


def velocity_of_origin(model, q, qd, frame):
    """Return the velocity (…, 3) of a frame's origin in world axes."""
    return np.asarray(sixd.velocity(model, q, qd, frame, expressed_in="aligned"))[..., 3:]


LEGS = ("FL", "FR", "RL", "RR")
FOOT_RADIUS = 0.022  # of the go2 [m]


def go2_feet():
    """Return the four feet of the go2 as balls (frame -> (x, y, z, radius)), for ``sixd.Ground`` and
    ``sixd.RigidGround``.
    """
    return {f"{leg}_foot": (0.0, 0.0, 0.0, FOOT_RADIUS) for leg in LEGS}


def go2_stance(model, above=0.0, thigh=0.8, calf=-1.6):
    """Return a configuration with bent legs whose lowest foot is this high above z = 0 [m]."""
    q = model.neutral()
    for leg in LEGS:
        q[model.q_slice(f"{leg}_thigh_joint")], q[model.q_slice(f"{leg}_calf_joint")] = thigh, calf
    feet = [np.asarray(sixd.pose(model, q, f"{leg}_foot"))[2, 3] for leg in LEGS]
    base = model.q_slice(model.joint_names[0])
    q[base.stop - 1] += above + FOOT_RADIUS - min(feet)
    return q


def go2_pd(model, q, kp=60.0, kd=2.0):
    """Return a PD controller that keeps the legs at q; the base is free."""
    gains = np.ones(model.nv)
    gains[model.v_slice(model.joint_names[0])] = 0.0
    return sixd.controllers.PD(q, kp * gains, kd * gains, model=model)


def deepest_foot(model, q):
    """Return how far (m) the lowest foot is below z = 0 at any of the configurations (…, nq)."""
    low = [np.asarray(sixd.pose(model, q, f"{leg}_foot"))[..., 2, 3].min() - FOOT_RADIUS for leg in LEGS]
    return max(0.0, -min(low))


def sledge():
    """Return a free body on two hinged runners with six points each, and three configurations on the ground.

    The runners are tilted and touch it with two points each, or flat, or one of each kind.
    """
    feet = np.array([(x, y, -0.05) for x in (-0.1, 0.1) for y in (-0.02, 0.0, 0.02)])
    builder = sixd.ModelBuilder("sledge")
    builder.add_body("sledge", "world", sixd.Free(), inertia=sixd.box(0.2, 0.2, 0.1, mass=2.0))
    for name, y in (("left", 0.1), ("right", -0.1)):
        builder.add_body(
            name, "sledge", sixd.Revolute("x"), placement=sixd.placement([0, y, 0]),
            inertia=sixd.box(0.2, 0.04, 0.05, mass=0.5), stiffness=20.0, damping=0.5,
        )  # fmt: skip
    model = builder.build()
    q = np.tile([1.0, 0, 0, 0, 0, 0, 0.05, 0.0, 0.0], (3, 1))
    q[0, 7:] = 0.2, -0.2
    q[2, 7:] = 0.2, 0.0
    for row in q:
        poses = [np.asarray(sixd.pose(model, row, name)) for name in ("left", "right")]
        row[6] -= min((T[2, :3] @ foot + T[2, 3]) for T in poses for foot in feet)
    return model, sixd.RigidGround({"left": feet, "right": feet}, friction=0.5), q
