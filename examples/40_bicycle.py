"""A bicycle that balances itself: its published linear equations, from a nonlinear model of rolling bodies.

A bicycle without a rider stays up at 5 m/s. At 3 m/s it weaves and falls, and at 8 m/s it slowly leans over. J. P.
Meijaard and others (2007) reviewed a century of papers about it. They published linear equations for lean and steer,
both positive to the right,

    M q̈ + v C1 q̇ + (g K0 + v² K2) q = f,        q = (lean, steer),

with numbers to fifteen digits, so that programs can be checked against them. This example contains no such equation.
The bicycle is four rigid bodies on a free base, with two hinges for the wheels, one for the steering, and two wheels
that roll without slipping. It may lean and steer by any angle. ``sixd.linearize`` differentiates its accelerations
exactly; the four matrices are the result.

    python 40_bicycle.py                  # prints
    python 40_bicycle.py eigenvalues.png  # also draws them against speed; needs matplotlib
"""

import sys

import numpy as np
from scipy.optimize import brentq

import sixd

g = 9.81
model = sixd.zoo.bicycle()
print(model)
print(sixd.mobility(model))

# degrees of freedom: the base's rotation about x is the lean; its velocity along x is the speed
LEAN, FORWARD, STEER = 0, 3, model.v_slice("steer").start


def running(speed):
    """The linear equations about upright, straight running at that speed [m/s]."""
    qd = np.zeros(model.nv)
    qd[FORWARD] = speed
    # the base moves, the handlebars are straight; the speed of the wheels follows
    q, qd = sixd.assemble(model, model.neutral(), qd, fixed=["base", "steer"])
    # position, heading and wheel angles do not matter, and to first order lean and steer leave the speed alone
    return sixd.linearize(model, q, qd, positions=[LEAN, STEER], speeds=[LEAN, STEER])


def second_order(linear):
    """M, C, K of M q̈ + C q̇ + K q = f, where f is a torque that leans and one that steers."""
    M = np.linalg.inv(linear.B[2:, [LEAN, STEER]])
    return M, -M @ linear.A[2:, 2:], -M @ linear.A[2:, :2]


# at rest there is only gravity; at 1 m/s terms with v and with v² are added
at_rest, at_one, at_five = (second_order(running(v)) for v in (0.0, 1.0, 5.0))
M, C1, K0, K2 = at_rest[0], at_one[1], at_rest[2] / g, at_one[2] - at_rest[2]
# a third speed shows that there are no other terms
assert np.allclose(at_five[0], M, rtol=0, atol=1e-10)
assert np.allclose(at_five[1], 5 * C1, rtol=0, atol=1e-10)
assert np.allclose(at_five[2], g * K0 + 25 * K2, rtol=0, atol=1e-10)

PUBLISHED = {
    "M": [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]],
    "C1": [[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]],
    "K0": [[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]],
    "K2": [[0, 76.59734589573222], [0, 2.65431523794604]],
}
print(f"\n{'':4}{'from the nonlinear model':>36}    {'published':>36}")
for (name, published), computed in zip(PUBLISHED.items(), (M, C1, K0, K2), strict=True):
    for k, (row, expected) in enumerate(zip(computed, published, strict=True)):
        left, right = ("".join(f"{x + 0.0:18.12f}" for x in np.round(r, 12)) for r in (row, expected))
        print(f"{name if k == 0 else '':4}{left}    {right}")
    assert np.abs(computed - published).max() < 1e-8


def eigenvalues(speed):
    """Those of lean and steer [1/s], by growing real part."""
    n = np.zeros((2, 2))
    A = np.block([[n, np.eye(2)], [-np.linalg.solve(M, g * K0 + speed**2 * K2), -np.linalg.solve(M, speed * C1)]])
    return np.sort_complex(np.linalg.eigvals(A))


def growth(speed):
    """The fastest growth [1/s]: below zero, the bicycle balances itself."""
    return eigenvalues(speed).real.max()


print("\nspeed [m/s]   eigenvalues [1/s]")
for speed in range(11):
    values = [f"{x.real:+9.4f}{f' {x.imag:+.4f}i' if abs(x.imag) > 1e-9 else '':10}" for x in eigenvalues(speed)]
    print(f"{speed:8}     {' '.join(values)}{'   stays up' if growth(speed) < 0 else ''}")

weave, capsize = brentq(growth, 3, 5, xtol=1e-13), brentq(growth, 5, 8, xtol=1e-13)
print(f"\nstays up by itself from {weave:.10f} to {capsize:.10f} m/s; published 4.2923825363 and 6.0242620154")
assert abs(weave - 4.2923825363) < 1e-8
assert abs(capsize - 6.0242620154) < 1e-8

if len(sys.argv) > 1:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        sys.exit("40_bicycle.py: drawing needs matplotlib: pip install matplotlib")
    speeds = np.linspace(0, 10, 501)
    table = np.array([eigenvalues(v) for v in speeds])
    axes = (figure := Figure(figsize=(7, 5))).subplots()
    axes.axvspan(weave, capsize, color="0.9", label="stays up by itself")
    axes.plot(speeds, table.real, "k.", markersize=1.5)
    axes.plot(speeds, np.where(table.imag > 1e-9, table.imag, np.nan), ".", color="tab:blue", markersize=1.5)
    axes.plot([], [], "k", label="real part")
    axes.plot([], [], color="tab:blue", label="imaginary part (weave)")
    axes.axhline(0, color="k", linewidth=0.5)
    axes.set(
        xlabel="speed [m/s]", ylabel="eigenvalues [1/s]", ylim=(-10, 10), xlim=(0, 10), title="The benchmark bicycle"
    )
    axes.legend()
    figure.savefig(sys.argv[1], dpi=150)
    print(f"drawn in {sys.argv[1]}")
