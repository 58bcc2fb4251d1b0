"""A box on an edge: it rocks back and loses speed at every impact, or it topples onto its side.

A box, 2b wide and 2h high, stands on an edge and rotates about it. With p = √(3g/4R), R² = b² + h² and the tilt θ
measured towards the balance at α = arctan b/h,

    θ'' = -p² sin(α - θ):   it rocks back from θ < α, and topples from θ > α.

When it comes flat, its other edge hits the ground, and it continues to rotate about that edge. Angular momentum about
the new edge does not change in the impact (Housner, 1963). Of its speed remains the fraction

    r = 1 - 3/2 sin²α.

The simulation contains none of this. Its input is eight points that may touch a rigid plane, with enough friction to
prevent slip. The impact, the change of edges and the fall onto the side follow from Coulomb's law and φ ≥ 0, fn ≥ 0, φ
fn = 0.

    python 64_toppling_box.py             # prints
    python 64_toppling_box.py box.html    # also writes a page with the motion
"""

import sys

import numpy as np

import sixd

B, H, DEPTH, MASS, G = 0.1, 0.25, 0.2, 4.0, 9.81
ALPHA, R = np.arctan2(B, H), np.hypot(B, H)
builder = sixd.ModelBuilder("box")
builder.add_body("box", "world", sixd.Free(), inertia=sixd.box(2 * B, DEPTH, 2 * H, mass=MASS))
box = builder.build()
corners = [(x, y, z) for x in (-B, B) for y in (-DEPTH / 2, DEPTH / 2) for z in (-H, H)]
ground = sixd.RigidGround({"box": corners}, friction=1.0)


def tilted(angle):
    """The box on its edge x = +b, tilted by an angle about it, with that edge at the origin."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([np.cos(angle / 2), 0, np.sin(angle / 2), 0, s * H - c * B, 0, c * H + s * B])


def tilt(motion):
    """The angle about y [rad] and its rate [rad/s] at every record."""
    q, rate = motion.q, motion.qd[:, 1]
    return 2 * np.arctan2(q[:, 2], q[:, 0]), rate


# rocking: it starts at 58 % of the balance
motion = sixd.simulate(box, tilted(0.58 * ALPHA), None, 2.0, forces=ground)
angle, rate = tilt(motion)
# rotation about an edge conserves energy: the speed at θ = 0, from any record before or after
flat = np.sqrt(np.maximum(0.0, rate**2 + 2 * MASS * G * (motion.q[:, 6] - H) / (4 / 3 * MASS * R**2)))
impacts = np.flatnonzero(angle[1:] * angle[:-1] < 0)
r = 1 - 1.5 * np.sin(ALPHA) ** 2
print(
    f"balance at {np.degrees(ALPHA):.2f}°, let go at {np.degrees(angle[0]):.2f}°; Housner: {r:.4f} of the speed remain"
)
for k in impacts[:4]:
    before, after = flat[k - 3], flat[k + 4]
    print(f"   impact at {motion.t[k]:.3f} s: {before:.4f} -> {after:.4f} rad/s, {after / before:.4f} of it remain")
    assert abs(after / before - r) < 0.01  # with steps of 1 ms; 0.001 with 0.1 ms: the impact is within a step
assert np.diff(motion.energy).max() < 1e-5

# toppling: a little beyond the balance
motion = sixd.simulate(box, tilted(1.02 * ALPHA), None, 2.5, forces=ground)
angle, rate = tilt(motion)
print(f"\nlet go at {np.degrees(angle[0]):.2f}°: after {motion.t[-1]:.1f} s it lies at {np.degrees(angle[-1]):.6f}°")
speed = np.abs(motion.qd[-1]).max()
print(f"   its centre is {motion.q[-1, 6]:.6f} m high, half its width {B} m; it moves at {speed:.0e} rad/s or m/s")
assert abs(angle[-1] - np.pi / 2) < 1e-6
assert abs(motion.q[-1, 6] - B) < 1e-6
assert np.diff(motion.energy).max() < 1e-5  # of 6.6 J that are lost
[(_, points, forces)] = motion.contacts()
print(f"   the ground carries {forces[-1, :, 2].sum():.4f} N, its weight is {MASS * G:.4f} N")
assert abs(forces[-1, :, 2].sum() - MASS * G) < 1e-6
lowest = points[..., 2].min()
print(f"   lowest point of any corner in the whole motion: {lowest:.1e} m")
assert lowest > -1e-6
if len(sys.argv) > 1:
    print("written:", sixd.view(box, motion[::5], open_browser=False).save_html(sys.argv[1]))
