"""An arm reaches for a thousand points of a table, writes a circle on it, and follows a moving target.

A place on the table fixes five degrees of freedom: the position of the tool, and its direction, which is down. Its
rotation about its axis is free. ``sixd.Direction`` expresses this. An arm with seven joints then has two degrees of
freedom left, and every point has a surface of solutions. ``posture`` selects the one nearest to the middle of the
joints' ranges.

Points out of reach are not errors: their results are as near as the limits allow, and include the distance. A circle is
one call with ``path=True``: each pose starts from the previous one, and joints move as smoothly as the tool.

At last the target moves: ``sixd.differential_ik`` computes joint velocities, within the velocity limits, 50 times a
second."""

import numpy as np

import sixd

arm = sixd.zoo.panda_arm()
down = sixd.Direction([0, 0, -1])
middle = (arm.lower + arm.upper) / 2

# a thousand points of a table, some beyond the arm's reach
rng = np.random.default_rng(0)
points = np.column_stack([rng.uniform(0.2, 1.1, 1000), rng.uniform(-0.6, 0.6, 1000), np.full(1000, 0.1)])
result = sixd.inverse_kinematics(arm, {"tool": [points, down]})
distance = np.linalg.norm(points - [0, 0, 0.333], axis=1)  # from the shoulder
farthest = distance[result.success].max()
print(f"{result.success.sum()} of 1000 points reached, the farthest {farthest:.2f} m from the shoulder")
print(f"of the others the nearest to the base is {distance[~result.success].min():.2f} m away")
there = sixd.pose(arm, result.q, "tool")
assert result.success.mean() > 0.5
assert np.abs((there[:, :3, 3] - points)[result.success]).max() < 1e-6
assert np.abs(there[result.success, 2, 2] + 1).max() < 1e-9  # pointing down
assert ((result.q >= arm.lower) & (result.q <= arm.upper)).all()
assert (result.gradient[~result.success] <= 1e-6).all()  # as near as it gets

# of all solutions the one in the middle of the ranges
reached = points[result.success][:100]
calm = sixd.inverse_kinematics(arm, {"tool": [reached, down]}, posture=middle)
away = [np.linalg.norm(x - middle, axis=1).mean() for x in (result.q[result.success][:100], calm.q)]
print(f"mean distance from the middle of the ranges: {away[0]:.2f} rad, with a posture {away[1]:.2f} rad")
assert calm.success.mean() > 0.95
assert away[1] < away[0]

# a circle on the table
angle = np.linspace(0, 2 * np.pi, 400)
circle = np.column_stack([0.5 + 0.12 * np.cos(angle), 0.12 * np.sin(angle), np.full(400, 0.1)])
along = sixd.Direction(np.broadcast_to([0.0, 0.0, -1.0], (400, 3)))
drawn = sixd.inverse_kinematics(arm, {"tool": [circle, along]}, path=True)
steps = np.abs(np.diff(drawn.q, axis=0)).max()
count = drawn.iterations[1:].mean()
print(f"circle: {drawn.success.sum()} of 400 poses, {count:.1f} iterations each, steps up to {steps:.4f} rad")
assert drawn.success.all()
assert steps < 0.05

# a target that moves away, followed at 50 Hz within the limits of velocity
q, dt, errors = drawn.q[0], 0.02, []
for k in range(200):
    target = circle[0] + [0, 0.1 * np.sin(k * dt), 0.05 * k * dt]
    T = sixd.pose(arm, q, "tool")
    velocity = 5 * (target - T[:3, 3]) + [0, 0.1 * np.cos(k * dt), 0.05]
    servo = sixd.differential_ik(
        arm, q, {"tool": velocity}, expressed_in="aligned", posture=middle, posture_weight=1e-3
    )
    assert (np.abs(servo.qd) <= arm.velocity_limit + 1e-9).all()
    q = arm.integrate(q, dt * servo.qd)
    errors.append(np.linalg.norm(target - T[:3, 3]))
print(f"servoing: {1e3 * max(errors[50:]):.2f} mm behind at most")
assert max(errors[50:]) < 2e-3
