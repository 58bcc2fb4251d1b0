"""A brick on a slope: it sticks, slides, or is pushed uphill and comes back, according to Coulomb's law.

Rigid contact has two laws. A point of the brick at height φ over the plane has a normal force

    fn ≥ 0,   φ ≥ 0,   fn φ = 0.

Its friction force holds it while ‖ft‖ ≤ μ fn, and is μ fn against the motion while it slides. On a slope of angle α a
brick therefore sticks for tan α ≤ μ, and otherwise slides with the acceleration g (sin α - μ cos α). If it is pushed
uphill at speed v, it decelerates by g (sin α + μ cos α), stops, and then sticks or comes back:

    s = v²/(2 g (sin α + μ cos α)),   back at the start at the speed  v √((sin α - μ cos α)/(sin α + μ cos α)).

``sixd.RigidGround`` computes the impulses of each step of 1 ms that satisfy the laws. There is no compliance, and a
brick that sticks does not creep."""

import numpy as np

import sixd

MU, G, SIZE = 0.5, 9.81, np.array([0.24, 0.12, 0.06])
builder = sixd.ModelBuilder("brick")
builder.add_body("brick", "world", sixd.Free(), inertia=sixd.box(*SIZE, mass=3.0))
brick = builder.build()
corners = [(x, y, -SIZE[2] / 2) for x in (-SIZE[0] / 2, SIZE[0] / 2) for y in (-SIZE[1] / 2, SIZE[1] / 2)]


def slide(tangent, uphill=0.0, duration=1.0):
    """The way downhill [m] of a brick on a slope, at every ms, and its speed [m/s]."""
    angle = np.arctan(tangent)
    normal, down = np.array([np.sin(angle), 0, np.cos(angle)]), np.array([np.cos(angle), 0, -np.sin(angle)])
    slope = sixd.RigidGround({"brick": corners}, friction=MU, normal=normal)
    q = np.concatenate([[np.cos(angle / 2), 0, np.sin(angle / 2), 0], normal * SIZE[2] / 2])  # flat on the slope
    motion = sixd.simulate(brick, q, [0, 0, 0, -uphill, 0, 0], duration, forces=slope)
    way = motion.q[:, 4:] - motion.q[0, 4:]
    assert np.abs(way @ normal).max() < 1e-8  # it neither sinks in nor lifts off
    return motion.t, way @ down, motion.qd[:, 3]


print("let go, after 1 s:")
for tangent in (0.3, 0.999 * MU, 1.001 * MU, 0.8):
    t, way, speed = slide(tangent)
    angle = np.arctan(tangent)
    exact = max(0.0, G * (np.sin(angle) - MU * np.cos(angle))) * t**2 / 2
    print(f"   tan α = {tangent:.4f}: {1e3 * abs(way[-1]):9.3f} mm downhill; Coulomb: {1e3 * exact[-1]:9.3f} mm")
    assert np.abs(way - exact).max() < 1e-6

print("\npushed uphill at 2 m/s:")
for tangent in (0.3, 0.8):
    t, way, speed = slide(tangent, uphill=2.0, duration=1.5)
    sin, cos = np.sin(np.arctan(tangent)), np.cos(np.arctan(tangent))
    up = 2.0**2 / (2 * G * (sin + MU * cos))
    print(f"   tan α = {tangent}: stops after {-way.min():.6f} m; Coulomb: {up:.6f} m")
    assert abs(-way.min() - up) < 1e-5  # records are 1 ms apart
    if tangent < MU:
        assert np.ptp(way[t > 1.0]) < 1e-7
        assert abs(-way[-1] - up) < 2e-6  # the deceleration in a part of a step, a h²/8 = 1 µm
    else:
        home = np.interp(0.0, way[t > 0.5], speed[t > 0.5])
        exact = 2.0 * np.sqrt((sin - MU * cos) / (sin + MU * cos))
        print(f"      back at the start at {home:.5f} m/s; Coulomb: {exact:.5f} m/s")
        assert abs(home - exact) < 1e-4
