"""An arm takes a part from one side of a post to the other, without touching the post, the table or itself.

Distances between collision shapes are the base: ``sixd.inverse_kinematics`` with ``clearance`` selects configurations
that keep away from everything, ``sixd.plan_path`` connects them, and ``sixd.clearance`` measures how far a motion keeps
away, between its waypoints too. Paths are not sampled but certified: each piece of an edge is farther away from
everything than it can move. Obstacles are data: when the post moves, nothing is compiled again.

At last the arm is pulled straight through the post, and ``sixd.differential_ik`` holds it back at 2 cm."""

import numpy as np

import sixd

# six joints; capsules around the links, whose axes are along z
builder, parent, height = sixd.ModelBuilder("arm"), "world", 0.0
for k, (axis, length) in enumerate([("z", 0.3), ("y", 0.4), ("y", 0.2), ("z", 0.2), ("y", 0.1), ("z", 0.1)]):
    rod = (sixd.Shape("capsule", (0.04, length - 0.04)), sixd.placement((0, 0, length / 2)))
    builder.add_body(
        f"link{k + 1}",
        parent,
        sixd.Revolute(axis),
        placement=sixd.placement((0, 0, height)),
        inertia=sixd.rod(length, mass=1.0),
        collisions=[rod],
    )
    parent, height = f"link{k + 1}", length
arm = builder.build().with_joints(limits={f"link{k}": (-2.8, 2.8) for k in range(1, 7)})
arm = arm.with_frame("tip", "link6", sixd.placement((0, 0, 0.1)))
post = sixd.Shape("box", (0.12, 0.12, 0.9))
arm = arm.with_collision("world", post, sixd.placement((0.5, 0, 0.45)), name="post")
arm = arm.with_collision("world", sixd.Shape("box", (1.4, 1.4, 0.1)), sixd.placement((0.8, 0, -0.06)), name="table")
pairs = sixd.collision_pairs(arm)  # not of links with their neighbours, nor of the first link with the world
print(f"{len(arm.collisions)} shapes, {len(pairs)} pairs")

# places on both sides of the post, from above
down = sixd.Direction([0, 0, -1])
places = np.array([[0.5, -0.35, 0.15], [0.5, 0.35, 0.15]])
elbow_up = [0, 0.4, 1.4, 0, 1.3, 0]
ends = sixd.inverse_kinematics(arm, {"tip": [places, down]}, posture=elbow_up, clearance=0.02, pairs=pairs)
assert ends.success.all()
print("distances at the ends:", sixd.min_distance(arm, ends.q, pairs).round(3))

# the straight way collides, the path does not
straight = sixd.clearance(arm, ends.q, pairs)
print(f"straight: {straight.least:.3f} m")
path = sixd.plan_path(arm, ends.q[0], ends.q[1], pairs=pairs, clearance=0.02)
print(f"{len(path.q)} waypoints, length {path.length:.2f} rad, {path.checks} configurations checked")
motion = sixd.clearance(arm, path.q, pairs, tol=1e-4)
print(f"planned: {motion.least:.3f} m, nearest {' and '.join(motion.nearest())}")
assert path.success
assert straight.least < 0
assert motion.least > 0.02 - 1e-4  # the tolerance of the bound
assert sixd.min_distance(arm, path.sample(2000), pairs).min() >= 0.02

# the post moves: its placement is data
moved = {"post": sixd.placement((0.45, 0.1, 0.45), rpy=(0, 0, 0.5))}
again = sixd.plan_path(arm, ends.q[0], ends.q[1], pairs=pairs, placements=moved, clearance=0.02)
assert again.success
assert sixd.min_distance(arm, again.sample(2000), pairs, placements=moved).min() >= 0.02
print(f"with the post moved: {len(again.q)} waypoints, length {again.length:.2f} rad")

# pulled along the straight line between the places, and held back by the post
q, nearest = ends.q[0], np.inf
for _ in range(250):
    away = places[1] - sixd.pose(arm, q, "tip")[:3, 3]
    velocity = 0.4 * away / max(np.linalg.norm(away), 0.05)
    servo = sixd.differential_ik(
        arm, q, {"tip": velocity}, expressed_in="aligned", velocity_limits=2.0, dt=0.02, clearance=0.02, pairs=pairs
    )
    q = arm.integrate(q, 0.02 * servo.qd)
    nearest = min(nearest, sixd.min_distance(arm, q, pairs))
print(f"pulled: stops {np.linalg.norm(away):.2f} m from the goal, {nearest:.4f} m from the nearest shape")
assert nearest > 0.019
