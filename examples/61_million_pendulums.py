"""A million pendulums at once, each compared with Jacobi's elliptic functions.

A rod of 1 m hangs on a hinge and is released at an angle between 0 and nearly upright. Its motion is one of the few in
closed form. With k = sin(θ0/2) and Ω² = m g l/I = 3g/(2L),

    θ(t) = 2 arcsin(k cd(Ω t, k)),     period 4 K(k)/Ω.

From a thousandth of a radian below the top a swing takes 9.1 s, near the bottom 1.6 s.

With q of shape (count, 1), one call of ``sixd.simulate`` computes all motions. An RK4 step for this pendulum is
compiled into 70 operations, and the loop over time and pendulums is compiled around it. The CPU's vector registers hold
eight pendulums or four side by side, on all cores, without memory in between. ``record_every`` keeps the records small:
here start and end.

    python 61_million_pendulums.py               # a million
    python 61_million_pendulums.py --rows 10000  # fewer
"""

import argparse
import time

import numpy as np
from scipy.special import ellipj, ellipk

import sixd

parser = argparse.ArgumentParser(description="Simulate many pendulums at once.")
parser.add_argument("--rows", type=int, default=1_000_000, help="how many")
count = parser.parse_args().rows

pendulum = sixd.zoo.pendulum()
duration, dt = 2.0, 0.02
angles = np.linspace(1e-3, np.pi - 1e-3, count)
steps = round(duration / dt)

sixd.simulate(pendulum, angles[:1, None], None, duration, dt=dt, record_every=steps)  # compiles
begin = time.perf_counter()
motion = sixd.simulate(pendulum, angles[:, None], None, duration, dt=dt, record_every=steps)
took = time.perf_counter() - begin
print(f"{count} pendulums, {steps} steps each, in {took:.2f} s: {count * steps / took:.2e} steps a second, ", end="")
print(f"{took / (count * steps) * 1e9:.1f} ns a step; {sixd.get_num_threads()} threads")
assert motion.q.shape == (count, 2, 1)
assert motion.failed == 0

# about every hundredth of them, compared with the closed form
some = slice(None, None, max(1, count // 10000))
k, rate = np.sin(angles[some] / 2), np.sqrt(1.5 * 9.81)
sn, cn, dn, _ = ellipj(rate * duration, k**2)
exact = 2 * np.arcsin(k * cn / dn)
error = np.abs(motion.q[some, -1, 0] - exact)
print(f"largest difference from the closed form after {duration} s: {error.max():.0e} rad; RK4 at {dt * 1e3:.0f} ms")
assert error.max() < 1e-5
print("periods [s] from", (4 * ellipk(k[0] ** 2) / rate).round(4), "to", (4 * ellipk(k[-1] ** 2) / rate).round(4))

energy = motion.row(some).energy
drift = np.abs(energy[:, 1] - energy[:, 0]).max()
print(f"energy changes by at most {drift:.0e} J of {energy.max():.2f} J")
assert drift < 1e-5
