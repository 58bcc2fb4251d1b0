"""A spinning top: it ought to fall, and goes round instead.

A thin disc of 1 kg (R = 5 cm), its centre 10 cm above the pivot, on three hinges Rz, Ry, Rz: precession φ, nutation θ,
spin ψ. Two of the bodies between the hinges have no mass. Its mass matrix,

    M = [I1 s² + I3 c²   0    I3 c]
        [0               I1   0   ]        s, c = sin θ, cos θ;   I1 = 0.010625, I3 = 0.00125, m g h = 0.981,
        [I3 c            0    I3  ]

does not contain φ or ψ, so their momenta p_φ, p_ψ = I3 ω3 are kept, and the energy is. Let go at θ = 0.5 with nothing
but 1000 rad/s of spin, the axis first falls; the fall turns it sideways, and it nods between two angles, going
round slowly. That is a small, fast motion on top of a fast spin: 1 s has 18 nods and 159 turns.

RK4 with steps of 0.1 ms meets the digits below: its error is 1e-10. The top cannot stand upright in these
coordinates: at θ = 0 the first and third axis are one, and M is singular.

    python 51_spinning_top.py            # prints
    python 51_spinning_top.py top.html   # writes a page with the motion as well
"""

import sys

import numpy as np

import sixd

top = sixd.zoo.spinning_top()
print(top)

start, spin = [0, 0.5, 0], [0, 0, 1000]
qdd = sixd.forward_dynamics(top, start, spin, np.zeros(3))
print("\nacceleration at the start:", qdd, " book: 44.26507796 about the middle axis")
assert np.abs(qdd - [0, 44.26507796, 0]).max() < 1e-8  # to the digits printed

motion = sixd.simulate(top, start, spin, 1.0, dt=1e-4)
print("after 1 s:", motion.q[-1].round(9), " book: (0.789608321, 0.506509529, 999.308909616)")
assert np.abs(motion.q[-1] - [0.789608321, 0.506509529, 999.308909616]).max() < 1e-9

nutation = motion.q[:, 1]
print(f"it nods between {nutation.min():.9f} and {nutation.max():.9f}; book: 0.5 and 0.506510645")
assert nutation.min() > 0.5 - 1e-11
assert abs(nutation.max() - 0.506510645) < 1e-7  # the highest of the records, 0.1 ms apart
# where it turns back, by the energy: θ̇ = 0, with both momenta known
I1, I3, mgh = 0.010625, 0.00125, 0.981
p3, p1 = I3 * 1000, I3 * 1000 * np.cos(0.5)


def fall(theta):
    """Kinetic energy that is left for θ̇, which vanishes where the top turns back."""
    return mgh * (np.cos(0.5) - np.cos(theta)) - (p1 - p3 * np.cos(theta)) ** 2 / (2 * I1 * np.sin(theta) ** 2)


below, above = 0.503, 0.51
for _ in range(60):
    middle = (below + above) / 2
    below, above = (middle, above) if fall(middle) > 0 else (below, middle)
print(f"the equation of energy turns it back at {below:.9f}")
assert abs(below - 0.506510645) < 1e-9

momenta = (sixd.mass_matrix(top, motion.q) @ motion.qd[..., None])[..., 0]
kept = {"energy": motion.energy, "p_φ": momenta[:, 0], "I3 ω3": momenta[:, 2]}
for name, values in kept.items():
    print(f"{name:7} {values[0]:12.9f}, changes by {np.ptp(values):.0e}")
    assert np.ptp(values) < 2e-11  # 625 J of spin, rounded in 10⁴ steps

print(f"\nit goes round at {motion.q[-1, 0]:.4f} rad/s; slow precession, m g h/(I3 ω3), is {mgh / p3:.4f}")
if len(sys.argv) > 1:
    print("written:", sixd.view(top, motion[::20], open_browser=False).save_html(sys.argv[1]))
