"""A disc is thrown onto a table: it rolls, or it falls over.

A coin-like disc (R = 5 cm, 1 cm thick, 3000 kg/m³, axis along its y axis) is let go with its centre 10 cm above the
table, its wheel plane upright, at 0.6 m/s along x. It does not spin, and it is turned a little about the vertical, so
that it does not fly quite where it points. The ground is compliant (K = 1e6, D = 2000, friction μ = 0.1) and touches
the disc at 2×16 points on its rims: it is really a 16-gon.

Turned by 0.18 rad, the disc skids, catches itself and still rolls at 1.5 s, its axis within 15° of horizontal. Turned
by 0.22 rad it trips over its side, and lies flat by 1.2 s. That so little makes the difference is in the nature of
contact: let go 5 cm higher, the second disc rolls on as well.

    python 58_rolling_disc.py             # prints
    python 58_rolling_disc.py disc.html   # writes a page with both motions and the contact forces as well
"""

import sys

import numpy as np

import sixd

disc = sixd.zoo.rolling_disc(16)
rim = np.array([disc.frames[f"contact{k}"].pose[:3, 3] for k in range(32)])
ground = sixd.Ground({"disc": rim}, stiffness=1e6, damping=2000, friction=0.1)
mass = disc.inertia[1][5, 5]
print(f"{mass:.4f} kg on one point: steps of at most {ground.time_step(mass, speed=1.0) * 1e3:.2f} ms; taken 0.1 ms\n")

headings = np.array([0.18, 0.22])
# both at once, as a batch
start = np.array([[np.cos(a / 2), 0, 0, np.sin(a / 2), 0, 0, 0.1] for a in headings])
velocity = np.array([[0, 0, 0, 0.6 * np.cos(a), -0.6 * np.sin(a), 0] for a in headings])  # 0.6 m/s along the world's x
motion = sixd.simulate(disc, start, velocity, 1.5, forces=ground, dt=1e-4, record_every=50)

# how far the axis is from horizontal [°]
lean = np.degrees(np.arcsin(np.clip(np.abs(sixd.pose(disc, motion.q, "disc")[..., 2, 1]), 0, 1)))
print("axis above horizontal [°] at t [s]")
print("heading ", *(f"{t:6.1f}" for t in motion.t[::20]))
for heading, row in zip(headings, lean, strict=True):
    print(f"{heading:6.2f}  ", *(f"{x:6.1f}" for x in row[::20]))
rolls, falls = lean
print(f"\n0.18 rad: at 1.5 s within {rolls[-1]:.1f}° of horizontal; book: it still rolls, within 15°")
print(f"0.22 rad: at 1.2 s within {90 - falls[240]:.2f}° of lying flat; book: flat, within 1°")
assert rolls[-1] < 15
assert (falls[motion.t >= 1.2 - 1e-9] > 89).all()

# rolling: it moves as fast as its rim goes round; lying: at rest, half its thickness high
rolling = np.linalg.norm(motion.q[0, -1, 4:6] - motion.q[0, -21, 4:6]) / 0.1
print(f"the first moves at {rolling:.3f} m/s, its rim at {0.05 * abs(motion.qd[0, -21:, 1].mean()):.3f} m/s")
sunk, expected = 0.005 - motion.q[1, -1, 6], (mass * 9.81 / 16e6) ** (2 / 3)
print(f"the second has sunk in by {sunk * 1e6:.1f} µm, (m g/16 K)^(2/3) = {expected * 1e6:.1f} µm")
assert abs(sunk / expected - 1) < 0.01

if len(sys.argv) > 1:
    print("written:", sixd.view(disc, motion, open_browser=False).save_html(sys.argv[1]))
