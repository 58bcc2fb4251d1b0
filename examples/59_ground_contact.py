"""The law of a compliant ground, and what a point does on it: it bounces, it sticks, it slips.

A point at height z < 0 has sunk in. With s = √-z the ground pushes it up by

    fn = s (-K z - D ż)     while that is positive, else it is free: the ground cannot pull.

Sideways the ground gives way by u, which is a state of its own. Sticking takes

    ft = -s (K u + D ṗ);    if that is more than μ fn, the point slips, and ft is scaled down to μ fn;

the ground then follows by u̇ = -(ft + s K u)/(s D), and when the point is free it relaxes, u̇ = -(K/D) u.

Featherstone's numbers are for K = 1e6, D = 2000, μ = 0.1, z = -1 mm. Then a block on a slope: below the angle of
friction it stays, and does not creep, since u is remembered; above, it slides at g (sin α - μ cos α)."""

import numpy as np

import sixd
from sixd.spatial_v2 import gcontact

K, D, mu = 1e6, 2000, 0.1
CASES = [
    # name, velocity of the point, u in x, force on it, rate of u in x
    ("sticks", (0.002, 0, -0.1), 5e-5, (-1.70763, 0, 37.947332), 0.002),
    ("slips", (0.05, 0, -0.1), 2e-4, (-3.7947332, 0, 37.947332), -0.04),
    ("free", (0, 0, 0.6), 0, (0, 0, 0), 0),
]
builder = sixd.ModelBuilder("point", gravity=(0, 0, 0))
builder.add_body("point", "world", sixd.Free(), inertia=sixd.point(1.0))
point = builder.build()
ground = sixd.Ground({"point": (0, 0, 0)}, stiffness=K, damping=D, friction=mu)
print(f"{'':8}{'force on the point':^33}  rate of u")
for name, speed, u, force, rate in CASES:
    place = np.array([0, 0, -1e-3])
    state = np.append([1, 0, 0, 0], place), np.append([0, 0, 0], speed)
    found = ground.apply(point, 0.0, *state, np.array([u, 0]))
    pushed, deforms = found.f_ext[0, 3:], found.rate
    print(f"{name:8}", *(f"{x + 0.0:10.7f}" for x in pushed), f"{deforms[0]:8.4f}")
    print(f"{'  book':8}", *(f"{x:10.7f}" for x in force), f"{rate:8.4f}")
    assert np.abs(pushed - force).max() < 5e-7  # to the digits printed
    assert abs(deforms[0] - rate) < 1e-15
    # the original toolbox's function of the same name
    toolbox = gcontact(K, D, mu, place[:, None], np.array(speed)[:, None], np.array([[u], [0]]))
    assert np.abs(toolbox[0][:, 0] - pushed).max() < 1e-13

# a block on slopes: tan α is below, and above, the coefficient of friction
print("\nblock on a slope")
size, friction = np.array([0.2, 0.2, 0.02]), 0.3
builder = sixd.ModelBuilder("block")
builder.add_body("block", "world", sixd.Free(), inertia=sixd.box(*size, mass=1.0))
block = builder.build()
corners = [(x, y, -size[2] / 2) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
for tangent in (0.2, 0.4):
    angle = np.arctan(tangent)
    slope = sixd.Ground({"block": corners}, friction=friction, normal=(np.sin(angle), 0, np.cos(angle)))
    # put down flat on the slope, as deep as its weight will press it
    depth = (9.81 * np.cos(angle) / (4 * slope.stiffness)) ** (2 / 3)
    normal = np.array([np.sin(angle), 0, np.cos(angle)])
    start = np.concatenate([[np.cos(angle / 2), 0, np.sin(angle / 2), 0], normal * (size[2] / 2 - depth)])
    motion = sixd.simulate(block, start, None, 0.5, forces=slope, dt=1e-4, record_every=100)
    # speed downhill, world axes; the first moments are left out, in which the ground gives way and friction builds up
    speed = sixd.velocity(block, motion.q, motion.qd, "block", expressed_in="aligned")[:, 3:]
    speed = speed @ np.array([np.cos(angle), 0, -np.sin(angle)])
    gains = (speed[-1] - speed[10]) / 0.4
    expected = max(0.0, 9.81 * (np.sin(angle) - friction * np.cos(angle)))
    print(f"tan α = {tangent}, μ = {friction}: {gains:8.5f} m/s² downhill; Coulomb: {expected:8.5f}")
    assert abs(gains - expected) < 1e-4
    if tangent < friction:
        went = np.linalg.norm(motion.q[-1, 4:] - motion.q[0, 4:])
        print(f"   it stays where the ground has given way by {went * 1e6:.0f} µm, at {np.abs(speed[-1]):.0e} m/s")
        assert abs(speed[-1]) < 1e-10
        assert went < 1e-4
