"""Distances of an arm from obstacles and from itself: nearest points, derivatives, and a step away from what is near.

The signed distance of two convex shapes is the length of the shortest way between them. If they overlap, it is minus
the depth: the shortest translation that separates them. Between the nearest points p_a and p_b, along the normal n,

    d = (p_b - p_a) · n,      ∂d/∂q = nᵀ (J_b - J_a),

where J_a and J_b are the Jacobians of the points of the two bodies that are nearest. The points slide along the
surfaces while the arm moves, but this has no effect on d to first order.

The arm gets a capsule for each part of its links, and stands in a cell with a table, a shelf, a can and a ball. The
first part lists the nearest pairs. The second part compares the derivatives with differences. The third part uses them:
each step moves the joints along the gradient of the least distance, until the arm has a clearance of 5 cm. The least
distance of several pairs has kinks where another pair becomes the nearest, so the step considers all pairs that are
near: it solves a small least-squares problem for joint velocities that raise all of their distances."""

import numpy as np

import sixd

TURN = {"x": (0, np.pi / 2, 0), "y": (np.pi / 2, 0, 0), "z": (0, 0, 0)}  # from z to the axis of a capsule
CAPSULES = [  # link, axis, centre [m], length without the caps, radius
    ("link1", "z", (0, 0, -0.08), 0.16, 0.070), ("link2", "y", (0, -0.09, 0), 0.18, 0.065),
    ("link3", "z", (0, 0, -0.06), 0.12, 0.065), ("link3", "x", (0.04, 0, 0), 0.08, 0.065),
    ("link4", "x", (-0.04, 0, 0), 0.08, 0.065), ("link4", "y", (-0.082, 0.06, 0), 0.12, 0.060),
    ("link5", "z", (0, 0.02, -0.11), 0.20, 0.060), ("link6", "x", (0.044, 0, 0), 0.088, 0.055),
    ("link7", "z", (0, 0, 0.07), 0.08, 0.045),
]  # fmt: skip
OBSTACLES = {
    "table": (sixd.Shape("box", (0.8, 1.4, 0.05)), (0.6, 0, -0.025)),
    "shelf": (sixd.Shape("box", (0.25, 0.5, 0.03)), (0.6, 0.15, 0.6)),
    "can": (sixd.Shape("cylinder", (0.04, 0.14)), (0.5, -0.05, 0.07)),
    "ball": (sixd.Shape("sphere", (0.08,)), (0.35, -0.35, 0.45)),
}

cell = sixd.zoo.panda_arm()
for link, axis, centre, length, radius in CAPSULES:
    cell = cell.with_collision(link, sixd.Shape("capsule", (radius, length)), sixd.placement(centre, TURN[axis]))
for name, (shape, centre) in OBSTACLES.items():
    cell = cell.with_collision("world", shape, sixd.placement(centre), name=name)
# of the arm's own pairs those that can touch: the others overlap never, or always, as neighbours at a joint do
own = sixd.sample_pairs(cell, "self", samples=10_000)
pairs = sixd.collision_pairs(cell, [*own, ("*", "world")])
print(f"{len(cell.collisions)} shapes; of {len(sixd.collision_pairs(cell))} pairs {len(pairs)} are tested")

# 1. the nearest pairs of a configuration
q = np.array([0.1, -0.1, 0.1, -2.2, 0.1, 2.0, 0.8])
near = sixd.distance(cell, q, pairs)
for k in np.argsort(near.distance)[:4]:
    (one, two), start, end = near.pairs[k], near.point_a[k].round(3), near.point_b[k].round(3)
    print(f"   {one:6} - {two:6} {1e3 * near.distance[k]:6.1f} mm, from {start} to {end}")
assert np.allclose(np.linalg.norm(near.point_b - near.point_a, axis=1), np.abs(near.distance), atol=1e-9)

# 2. derivatives, compared with central differences. A capsule parallel to a face has many nearest points, and its
#    distance a kink: this configuration avoids that
_, rates = sixd.distance_derivatives(cell, q, pairs)
h = 1e-6 * np.eye(7)
above, below = (sixd.distance(cell, q + s * h, pairs).distance for s in (1, -1))  # 7 configurations in a call
differences = (above - below).T / 2e-6
print(f"derivatives {rates.shape}: differ from differences by {np.abs(rates - differences).max():.0e}")
assert np.abs(rates - differences).max() < 1e-6

# 3. away from what is near: all distances below 10 cm shall grow to it, with the least motion of the joints
CLEARANCE, RANGE = 0.05, 0.10
for step in range(100):
    near, rates = sixd.distance_derivatives(cell, q, pairs)
    if step % 3 == 0 or near.distance.min() >= CLEARANCE:
        print(f"   step {step:2}: {1e3 * near.distance.min():5.1f} mm, {' - '.join(near.nearest())}")
    if near.distance.min() >= CLEARANCE:
        break
    active = near.distance < RANGE
    J, wanted = rates[active], RANGE - near.distance[active]
    q = q + 0.1 * J.T @ np.linalg.solve(J @ J.T + 0.05 * np.eye(active.sum()), wanted)
assert sixd.min_distance(cell, q, pairs) >= CLEARANCE
assert not sixd.in_collision(cell, q, pairs, margin=CLEARANCE)
