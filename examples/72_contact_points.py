"""Contact points: a box on a plane, a capsule in a corner, a box on a box, and how they carry a load.

Two shapes that touch have one common normal, but often several points. A box that lies on a plane touches it with four
corners; one pair of nearest points would not say that it cannot tip over. ``contact_points`` returns up to four points
of each pair with their depths, in the middle between both surfaces. Slots that are not used have the depth -inf.

Each part compares the points with what geometry says. The last part computes how the four corners of a box carry its
weight, if a second box stands on it off its centre: non-negative forces at the points, along the normals, in balance
with the weights. Four forces on a rigid body on a plane are not unique; the result has the least sum of squares."""

import numpy as np

import sixd

DEPTH = 1e-3  # m
BOX, ROD = sixd.Shape("box", (0.4, 0.2, 0.1)), sixd.Shape("capsule", (0.05, 0.3))


def free_body(shape, *others):
    """A model with one free body, and shapes (shape, placement, name) in the world."""
    builder = sixd.ModelBuilder("body")
    builder.add_body("body", "world", sixd.Free(), inertia=sixd.box(0.4, 0.2, 0.1, mass=1.0), collisions=[shape])
    for other, placement, name in others:
        builder.add_collision("world", other, placement, name=name)
    return builder.build()


def at(xyz, axis=(0, 0, 1), angle=0.0):
    """q of the free body: a quaternion and a position."""
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * np.array(axis, float), xyz])


def used(contacts, k=0):
    """The points and depths of pair k, without empty slots."""
    some = contacts.depths[k] > -np.inf
    return contacts.points[k][some], contacts.depths[k][some]


# 1. a box on a plane: flat, on an edge, on a corner
floor = free_body(BOX, (sixd.Shape("plane"), None, "floor"))
lying = at((0, 0, 0.05 - DEPTH))
points, depths = used(sixd.contact_points(floor, lying))
print(f"a box lies: {len(points)} points, depths {depths.round(6)}")
assert np.allclose(sorted(map(tuple, points[:, :2])), [(x, y) for x in (-0.2, 0.2) for y in (-0.1, 0.1)])
assert np.allclose(depths, DEPTH)
tilt = 0.3
height = 0.2 * np.sin(tilt) + 0.05 * np.cos(tilt)
points, depths = used(sixd.contact_points(floor, at((0, 0, height - DEPTH), (0, 1, 0), tilt)))
print(f"   tilted: depths {depths.round(6)}, {(depths > 0).sum()} of them touch")
assert np.allclose(np.sort(depths)[-2:], DEPTH)

# 2. a capsule in a corner: two walls and the floor, one call
walls = [
    (sixd.Shape("plane"), None, "floor"),
    (sixd.Shape("plane"), sixd.placement((0, 0, 0), (0, np.pi / 2, 0)), "wall x"),
    (sixd.Shape("plane"), sixd.placement((0, 0, 0), (-np.pi / 2, 0, 0)), "wall y"),
]
corner = free_body(ROD, *walls)
reach = 0.05 - DEPTH
contacts = sixd.contact_points(corner, at((reach, 0.15 + reach, reach), (1, 0, 0), np.pi / 2))  # its axis is along y
for k, (a, b) in enumerate(contacts.pairs):
    points, depths = used(contacts, k)
    print(f"{a} - {b}: normal {contacts.normal[k].round(6) + 0.0}")
    for point, depth in zip(points, depths, strict=True):
        print(f"   at {point.round(4) + 0.0}, depth {1e3 * depth:.3f} mm")
assert [int((contacts.depths[k] > 0).sum()) for k in range(3)] == [2, 2, 1]

# 3. faces of boxes are clipped: the overlap of two rectangles has up to eight corners, of which four are kept
table = free_body(BOX, (sixd.Shape("box", (0.3, 0.3, 0.1)), sixd.placement((0, 0, -0.05)), "table"))
turned = np.array([at((0, 0, 0.05 - DEPTH), angle=angle) for angle in np.radians([0, 15, 30, 45])])  # a batch
contacts = sixd.contact_points(table, turned)
for angle, points in zip((0, 15, 30, 45), contacts.points[:, 0], strict=True):
    print(f"box on table, turned by {angle:2}°: {' '.join(str(p[:2].round(3) + 0.0) for p in points)}")
assert np.allclose(contacts.depths, DEPTH)

# 4. forces: weights of the box, and of a load of 2 kg off its centre
points, _ = used(sixd.contact_points(floor, lying))
weights = [(1.0 * 9.81, (0, 0)), (2.0 * 9.81, (0.12, 0.05))]
A = np.array([np.ones(4), points[:, 0], points[:, 1]])  # balance of forces along z, of torques about y and x
b = sum(f * np.array([1, x, y]) for f, (x, y) in weights)
forces = np.linalg.pinv(A) @ b  # if one of them pulled: scipy.optimize.nnls(A, b)
for point, force in zip(points, forces, strict=True):
    print(f"   at {point[:2].round(2)}: {force:6.3f} N")
assert np.allclose(A @ forces, b)
assert forces.min() >= 0
