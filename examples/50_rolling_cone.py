"""A cone that rolls on a table, in coordinates that do not move: its orientation, position and acceleration.

A cone of half angle 30° rolls about its apex P = (0, 1, 0), once round the vertical per second. It turns about the
line on which it touches the table, at the speed 2π/tan 30°:

    ω(t) = -2√3π (cos 2πt, sin 2πt, 0).

Its spatial velocity in world coordinates is v = [ω; P×ω], since the point P does not move; its spatial acceleration is
simply the derivative of that, a = [ω̇; P×ω̇], without a word about centripetal terms. A body-fixed point r moves at
ṙ = v_O - r×ω.

Here the cone is handed to the simulator as a free body under the force [n; f] that gives it this acceleration (inverse
dynamics; which inertia it has does not matter), and nothing else is given: velocity, orientation and position are
integrals. In closed form the orientation is a turn about the vertical after one about the cone's axis,
R = Rz(2πt) R(a, -4πt), a = (√3/2, 0, 1/2). As a quaternion it returns to -q after one round, which is the same
orientation: at t = 0.5 integration gives (0, 0, 0, -1), where (0, 0, 0, 1) is printed.

    python 50_rolling_cone.py             # prints
    python 50_rolling_cone.py cone.html   # writes a page with the motion as well
"""

import sys

import numpy as np

import sixd
from sixd.spatial import cos, quaternion_from_vector, quaternion_multiply, sin, skew, transform_from_pose

APEX = np.array([0, 1, 0])
SPEED = 2 * np.sqrt(3) * np.pi

cone = sixd.zoo.rolling_cone()  # of half angle 30°, its apex at P


def velocity(t):
    """[ω; v_O] in world coordinates."""
    omega = np.array([cos(2 * np.pi * t), sin(2 * np.pi * t), 0]) * -SPEED
    return np.concatenate([omega, skew(APEX) @ omega])


def acceleration(t):
    """Its derivative in time."""
    alpha = np.array([sin(2 * np.pi * t), -cos(2 * np.pi * t), 0]) * (2 * np.pi * SPEED)
    return np.concatenate([alpha, skew(APEX) @ alpha])


def force(t, q, qd):
    """The force that gives the cone its acceleration, which the free joint wants in the axes of the body."""
    X_BW = transform_from_pose(sixd.pose(cone, q, "cone"))
    return sixd.inverse_dynamics(cone, q, qd, X_BW @ acceleration(t))


motion = sixd.simulate(cone, None, velocity(0.0), 1.0, controller=force, dt=1e-3)

print("   t   quaternion                                       place")
PRINTED = {
    0.25: ([0.35355339, -0.61237244, -0.61237244, -0.35355339], [-1, 1, 0]),
    0.5: ([0, 0, 0, -1], [0, 2, 0]),
    0.75: (None, [1, 1, 0]),
    1.0: ([-1, 0, 0, 0], [0, 0, 0]),
}
for t, (quaternion, place) in PRINTED.items():
    q, _ = motion.at(t)
    print(f"{t:5}  ", *(f"{x:11.8f}" for x in q.round(8) + 0.0))
    print("  book ", *(f"{x:11.8f}" if x is not None else " " * 11 for x in (*(quaternion or [None] * 4), *place)))
    assert quaternion is None or np.abs(q[:4] - quaternion).max() < 1e-8  # to the digits printed
    assert np.abs(q[4:] - place).max() < 1e-9  # RK4 at 1 ms: 1e-10

# at all times: the closed form, the velocity, and the apex, which stays put
axis = np.array([np.sqrt(3) / 2, 0, 0.5])
angles = 2 * np.pi * motion.t
exact = [
    quaternion_multiply(quaternion_from_vector([0, 0, a]), quaternion_from_vector(-2 * a * axis)) for a in angles
]  # fmt: skip
found = sixd.velocity(cone, motion.q, motion.qd, "cone", expressed_in="world")
apex = sixd.pose(cone, motion.q, "apex")[:, :3, 3]
errors = {
    "orientation": motion.q[:, :4] - exact,
    "velocity": found - [velocity(t) for t in motion.t],
    "apex": apex - APEX,
}
print("\nlargest error over the second:", ", ".join(f"{k} {np.abs(x).max():.0e}" for k, x in errors.items()))
assert all(np.abs(x).max() < 1e-7 for x in errors.values())

# the velocity of the body's origin at the start is classical: straight up
rate = sixd.velocity(cone, motion.q[0], motion.qd[0], "cone", expressed_in="aligned")[3:]
print("ṙ(0) =", rate, " book: (0, 0, 2√3π), 2√3π =", SPEED)
assert np.abs(rate - [0, 0, SPEED]).max() < 1e-14

if len(sys.argv) > 1:
    print("written:", sixd.view(cone, motion, open_browser=False).save_html(sys.argv[1]))
