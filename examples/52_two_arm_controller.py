"""A controller in a computer: it looks at the arm every few milliseconds, and holds its torque in between.

Two unit rods on hinges, no gravity, from rest at q = 0. Both joints are led along straight lines between the points

    t     0  1  2  3  4
    q1    0  1  1  0  0
    q2    0  2  2  0  0       again and again,

by τ = Kp (e + 0.015 ė), e = command - q, with ė the backward difference of e from sample to sample. Higher gain,
smaller error: until the sampling is too slow for it. At Kp = 1500 and 5 ms the joints begin to shake whenever the arm
is straight, for then its smallest inertia, seen by one joint against the other, is least. At 2 ms the same gain is
quiet.

With ``sample_time`` the controller is an ordinary Python object that is called with numbers, and may keep a memory:
here the last error. Within a sample the motion is integrated with smaller steps, since shaking is fast.

The second figure is printed as 0.54265; steps of 0.5 ms give 0.542655, shorter ones, and DOP853, 0.542656.

    python 52_two_arm_controller.py            # prints
    python 52_two_arm_controller.py arm.html   # writes a page with the three motions as well
"""

import sys

import numpy as np

import sixd

arm = sixd.zoo.planar(2)
TIMES, POINTS = range(5), ([0, 1, 1, 0, 0], [0, 2, 2, 0, 0])


def command(t):
    """Where the joints should be (…, 2)."""
    return np.stack([np.interp(np.mod(t, 4), TIMES, y) for y in POINTS], axis=-1)


class Controller:
    """Proportional and differential, at a sampled rate."""

    def __init__(self, Kp, Ts):
        self.Kp, self.Ts, self.before = Kp, Ts, None

    def __call__(self, t, q, qd):
        e = command(t) - q
        rate = 0 if self.before is None else (e - self.before) / self.Ts
        self.before = e
        return self.Kp * (e + 0.015 * rate)


motions = {}
print("  Kp   Ts [ms]   largest error    book")
for Kp, Ts, book, unit in ((800, 5e-3, 0.0779142, 1e-7), (1500, 5e-3, 0.54265, 1e-5), (1500, 2e-3, 0.0528201, 1e-7)):
    # nine steps in ten are not recorded: what is left are the samples
    motion = sixd.simulate(
        arm, [0, 0], [0, 0], 10.0, controller=Controller(Kp, Ts), sample_time=Ts, dt=Ts / 10, record_every=10
    )
    error = np.abs(command(motion.t) - motion.q).max(axis=1)
    print(f"{Kp:5} {Ts * 1e3:5.0f}       {error.max():.8f}     {book}   at t = {motion.t[error.argmax()]:.3f} s")
    assert abs(error.max() - book) < unit  # one of the last digit printed
    motions[f"Kp {Kp}, {Ts * 1e3:.0f} ms"] = motion

# the middle one shakes: its torques turn about from sample to sample
for name, motion in motions.items():
    turns = np.mean(np.sign(motion.tau[1:, 1]) != np.sign(motion.tau[:-1, 1]))
    print(f"{name}: torque of the elbow turns about at {turns:5.1%} of the samples")
if len(sys.argv) > 1:
    print("written:", sixd.view(arm, motions, open_browser=False).save_html(sys.argv[1]))
