"""How a cat turns over: two rods that move each other without momentum.

Two rods float in space, joined at their ends by a hinge that is askew to both (45°). A motor turns the hinge at π
rad/s for 20 s, ten whole turns. Total momentum is zero all the time, so the first rod must turn as well. After each
turn the *shape* is what it was; is the orientation?

- Equal rods come back to where they started.
- With the second rod of 0.7 m and 0.7 kg the pair has turned in the end: max |E - 1| = 0.1067157, and yet no torque
  from outside has ever acted. What is kept is a velocity constraint, h = 0, that does not
  integrate to one of position (see 21_holonomic_or_not.py). Cats and divers live by it.

The motor is given a velocity, not a torque: ``sixd.hybrid_dynamics`` gives the torque that keeps the hinge at q̈ = 0
while the base is free. It is a controller like any other, traced into the step.

    python 56_vee.py            # prints
    python 56_vee.py vee.html   # writes a page with both motions as well
"""

import sys

import numpy as np

import sixd

motions = {}
for length, book in ((1.0, 0.0), (0.7, 0.1067157)):
    vee = sixd.zoo.vee(length)

    def motor(t, q, qd, vee=vee):
        """The torque that keeps the hinge's speed; nothing acts on the base."""
        nothing = np.zeros(7, dtype=int)
        return sixd.hybrid_dynamics(vee, ["hinge"], q, qd, nothing, nothing)[1]

    # the base's velocity that makes the momentum zero
    M = sixd.mass_matrix(vee, vee.neutral())
    start = np.append(-np.linalg.solve(M[:6, :6], M[:6, 6] * np.pi), np.pi)
    motion = sixd.simulate(vee, None, start, 20.0, controller=motor, dt=5e-4, record_every=20)
    momentum = np.abs(sixd.momentum(vee, motion.q, motion.qd)).max()
    turned = np.abs(sixd.pose(vee, motion.q, "first")[:, :3, :3] - np.eye(3)).max(axis=(1, 2))
    print(f"second rod {length} m: turned by up to {turned.max():.3f} on the way, in the end {turned[-1]:.7f}", end="")
    print(f" (book: {book or 'below 1e-9'}); momentum below {momentum:.0e}")
    assert abs(turned[-1] - book) < (1e-7 if book else 1e-9)
    assert momentum < 1e-11
    assert abs(motion.q[-1, -1] - 20 * np.pi) < 1e-9
    motions[f"{length} m"] = motion

if len(sys.argv) > 1:
    # the two models differ in masses alone: one page, by the first
    moving = {name: (m.t[::2], m.q[::2]) for name, m in motions.items()}
    print("written:", sixd.view(sixd.zoo.vee(), moving, open_browser=False).save_html(sys.argv[1]))
