"""A box that tumbles in free space: what is kept, and what is not.

A box 3×2×1 of 1 kg, its frame at a corner, spun at ω = (0.4, 2, 0) about its centre c = (1.5, 1, 0.5). As a spatial
velocity that is [ω; c×ω]: the centre is at rest. The middle axis of a body is unstable: the box turns over again and
again (Dzhanibekov saw it with a wing nut). No force acts, so

    energy                     ½ vᵀ I v = 1.7
    spatial momentum, world    h = [1/6, 5/3, 0, 0, 0, 0]
    centre of mass             at rest

stay as they are, though v in the axes of the body changes all the time. Runge and Kutta's method, 1 ms: to 1e-12 over
20 s. The implicit midpoint rule with steps 50 times as long keeps the momentum to rounding whatever the step, because
it has the symmetry that momentum comes from; its energy errs a little, and does not drift.

    python 53_tumbling_box.py            # prints
    python 53_tumbling_box.py box.html   # writes a page with the motion as well
"""

import sys

import numpy as np

import sixd

box = sixd.zoo.single_body()
centre, omega = np.array([1.5, 1, 0.5]), np.array([0.4, 2, 0])
velocity = np.concatenate([omega, np.cross(centre, omega)])

print("                 energy        momentum    centre      (largest change over 20 s)")
for method, dt, tolerance in (("rk4", 1e-3, 1e-11), ("midpoint", 5e-2, 1e-3)):
    motion = sixd.simulate(box, None, velocity, 20.0, dt=dt, method=method)
    momentum, place = sixd.momentum(box, motion.q, motion.qd), sixd.center_of_mass(box, motion.q)
    changes = [np.abs(x - x[0]).max() for x in (motion.energy, momentum, place)]
    print(f"{method:9}{dt * 1e3:3.0f} ms ", *(f"{x:12.1e}" for x in changes))
    assert abs(motion.energy[0] - 1.7) < 1e-14
    assert np.abs(momentum[0] - [1 / 6, 5 / 3, 0, 0, 0, 0]).max() < 1e-15
    assert changes[0] < tolerance
    assert max(changes[1:]) < 1e-11
    if method == "rk4":
        exact = motion

print("energy", exact.energy[0], " book: 1.7")
print("momentum", sixd.momentum(box, exact.q[0], exact.qd[0]).round(15) + 0.0, " book: [1/6, 5/3, 0, 0, 0, 0]")

# it turns over: ω about the middle axis (y) changes its sign
about_y = exact.qd[:, 1]
turns = exact.t[1:][np.sign(about_y[1:]) != np.sign(about_y[:-1])]
print("the spin about the middle axis, 2 rad/s at first, turns about at t =", turns.round(3))
assert len(turns) > 2
assert np.abs(np.diff(turns) - np.diff(turns)[0]).max() < 2.1e-3  # at regular times, to the records' distance
if len(sys.argv) > 1:
    print("written:", sixd.view(box, exact[::20], open_browser=False).save_html(sys.argv[1]))
