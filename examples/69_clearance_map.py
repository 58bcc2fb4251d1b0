"""A map of the clearance of an arm: the least distances of 100,000 configurations, and where its hand can be.

A planar arm with three links moves between obstacles. Each call processes all configurations: ``in_collision`` says
which ones touch anything, ``min_distance`` how far all others are from it, and ``distance`` which pair is the nearest.
The cheaper a question is, the faster is its answer: ``in_collision`` leaves out pairs whose bounds are apart, which is
most of them. Times are printed, and depend on the machine.

The table shows for squares of the plane which part of the configurations that bring the hand there is free of
collisions: 0 where every one of them collides, 9 where (almost) none does, a dot where the hand does not come."""

import time

import numpy as np

import sixd

COUNT, LENGTHS = 100_000, (0.5, 0.4, 0.3)
builder = sixd.ModelBuilder("arm")
parent, at = "world", 0.0
for k, length in enumerate(LENGTHS, 1):
    builder.add_body(
        f"link{k}",
        parent,
        sixd.Revolute("z"),
        placement=sixd.placement((at, 0, 0)),
        inertia=sixd.rod(length, mass=1.0),
        limits=(-2.6, 2.6),
        collisions=[(sixd.Shape("capsule", (0.04, length)), sixd.placement((length / 2, 0, 0), (0, np.pi / 2, 0)))],
    )
    parent, at = f"link{k}", length
builder.add_frame("hand", parent, sixd.placement((at, 0, 0)))
builder.add_collision("world", sixd.Shape("box", (0.3, 0.3, 0.3)), sixd.placement((0.7, 0.45, 0)), name="box")
builder.add_collision("world", sixd.Shape("cylinder", (0.15, 0.3)), sixd.placement((-0.5, 0.6, 0)), name="drum")
builder.add_collision("world", sixd.Shape("box", (2.4, 0.1, 0.3)), sixd.placement((0, -0.7, 0)), name="wall")
arm = builder.build()

q = arm.random_configuration(0, size=COUNT)
results = {}
for function in (sixd.in_collision, sixd.min_distance, sixd.distance, sixd.distance_derivatives):
    function(arm, q[:1])  # compiles
    start = time.perf_counter()
    results[function.__name__] = function(arm, q)
    seconds = time.perf_counter() - start
    print(f"{function.__name__:20} {COUNT:,} states in {1e3 * seconds:5.0f} ms, {1e6 * seconds / COUNT:.2f} µs each")
hits, clearance, near = results["in_collision"], results["min_distance"], results["distance"]
assert np.array_equal(hits, clearance < 0)
assert np.allclose(clearance, near.distance.min(axis=-1), atol=1e-9)
assert np.array_equal(near.distance, results["distance_derivatives"][0].distance)
middle = 100 * np.median(clearance[~hits])
print(f"\n{100 * hits.mean():.0f} % of the states collide; the median clearance of the others is {middle:.0f} cm")
for (a, b), share in zip(near.pairs, (near.distance < 0).mean(axis=0), strict=True):
    print(f"   {a} - {b}: {100 * share:.1f} %")

# the part of the configurations with the hand in a square that is free, in tenths
hand = sixd.pose(arm, q, "hand")[:, :2, 3]
edges = np.linspace(-1.2, 1.2, 25)
total, free = (np.histogram2d(*hand[rows].T, bins=[edges, edges])[0] for rows in (slice(None), ~hits))
print("\nfree configurations by the position of the hand, x to the right, y upwards:")
for line_total, line_free in zip(total.T[::-1], free.T[::-1], strict=True):
    digits = (min(9, int(10 * f / t)) if t else "." for t, f in zip(line_total, line_free, strict=True))
    print("   " + " ".join(map(str, digits)))
inside = (np.abs(hand - (0.7, 0.45)) < 0.15).all(axis=1)
assert hits[inside].all()  # the hand in the box
