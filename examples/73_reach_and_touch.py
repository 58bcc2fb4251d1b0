"""An arm reaches with operational-space control, moves its elbow meanwhile, and touches a wall with impedance control.

The equations of motion at the tool are F = Λ a + μ. With F = Λ (kp e + kd ė) + μ the error of the tool satisfies a
linear equation, here e(t) = e₀ (1 + ωt) exp(-ωt), although the arm is nonlinear. Forces N tau, with N of the null
space, move the rest of the arm and not the tool. In contact a spring is better than a path: K e, with dampers, stores ½
eᵀK e and no more, so the arm is stable against any passive wall. The force is known in advance: it is that of two
springs in series."""

import numpy as np

import sixd
from sixd.spatial import maximum

arm = sixd.zoo.panda_arm()
q = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.8, 0.8])
start = sixd.pose(arm, q, "tool")

# reach a pose according to the error equation; the posture differs and moves the elbow
goal = start.copy()
goal[:3, 3] += [0.1, -0.05, 0.08]
posture = q + np.array([1.0, 0, 0, 0, 0, 0, 0])
reach = sixd.controllers.OperationalSpace(arm, "tool", goal, kp=16.0, posture=posture, posture_kp=9.0, posture_kd=6.0)
motion = sixd.simulate(arm, q, None, 3.0, controller=reach)
tool = sixd.pose(arm, motion.q, "tool")[:, :3, 3]
by_hand = goal[:3, 3] - (goal - start)[:3, 3] * ((1 + 4 * motion.t) * np.exp(-4 * motion.t))[:, None]
elbow = np.ptp(sixd.pose(arm, motion.q, "link4")[:, :3, 3], axis=0).max()
print(f"reach: {np.abs(tool - by_hand).max():.1e} m from the closed form, while the elbow moves by {elbow:.2f} m")
assert np.abs(tool - by_hand).max() < 1e-9

# touch: the target is 0.1 m behind a wall; V = kinetic energy + ½ K e² + the wall's falls all the time
K, wall = 400.0, start[0, 3] + 0.03
press = sixd.controllers.Impedance(arm, "tool", start[:3, 3] + [0.13, 0, 0], stiffness=K, damping=60.0, posture_kd=5.0)
stiffness = np.array([500.0, 5000.0, 20000.0])  # of the walls


def depth(q):
    return sixd.pose(arm, q, "tool")[..., 0, 3] - wall


for k in stiffness:

    def touch(t, q, qd, k=k):
        row = sixd.jacobian(arm, q, {"tool": (3,)}, expressed_in="aligned")[0]
        return press(t, q, qd) - row * maximum(depth(q) * k, 0.0)

    motion = sixd.simulate(arm, q, None, 6.0, controller=touch)
    moving = 0.5 * np.einsum("ti,tij,tj->t", motion.qd, sixd.mass_matrix(arm, motion.q), motion.qd)
    away = press.target - sixd.pose(arm, motion.q, "tool")[:, :3, 3]
    V = moving + 0.5 * K * np.sum(away**2, axis=1) + 0.5 * k * np.maximum(depth(motion.q), 0) ** 2
    force, series = k * depth(motion.q)[-1], K * k / (K + k) * 0.1
    print(f"wall of {k:6.0f} N/m: force {force:.4f} N, two springs in line {series:.4f} N")
    assert abs(force - series) < 1e-3
    assert np.diff(V).max() < 1e-6  # what the integrator adds
