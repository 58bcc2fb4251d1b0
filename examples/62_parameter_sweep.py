"""A parameter sweep: how much damping does a door closer need?

A door (0.9 m wide, mass m) hangs on vertical hinges with a spring of 20 N m/rad that pulls it shut and a damper c.
Released at 60°, it should shut soon and not swing through. Its equation is linear,

    I φ̈ + c φ̇ + k φ = 0,    I = m w²/3,    ζ = c/(2√(k I)),

so the answer is known: for ζ < 1 it swings through to φ0 exp(-πζ/√(1-ζ²)) on the other side.

The model has a symbol for the mass. ``parameters`` gives each simulation of a batch its own values: of symbols by their
names, and of "damping", "stiffness", "armature", "gravity", "inertia" of any model. The code is compiled once, with the
parameters as inputs, and 21×30 doors shut side by side. ``sixd.grid`` lists all pairs. ``sixd.ensemble`` runs them in
chunks on all threads of this process, or on a cluster, with the same bits as ``sixd.simulate``.

    python 62_parameter_sweep.py            # prints
    python 62_parameter_sweep.py door.png   # also draws a map; needs matplotlib
"""

import sys

import numpy as np
import sympy as sp

import sixd

WIDTH, STIFFNESS, OPENED = 0.9, 20.0, np.radians(60)
MASSES, DAMPERS = np.linspace(10, 60, 21), np.linspace(1, 60, 30)


def make_door():
    """A plate on a hinge with a spring; its mass is a symbol."""
    mass = sp.Symbol("mass", positive=True)
    plate = sixd.Inertia(mass, (WIDTH / 2, 0, 0), (0, mass * WIDTH**2 / 12, mass * WIDTH**2 / 12))
    builder = sixd.ModelBuilder("door")
    builder.add_body("door", "world", sixd.Revolute("z"), inertia=plate, stiffness=STIFFNESS, joint_name="hinge")
    return builder.build()


def main():
    door = make_door()
    pairs = sixd.grid(mass=MASSES, damping=DAMPERS[:, None])
    motion = sixd.ensemble(door, [OPENED], None, 10.0, dt=4e-3, parameters=pairs)
    print(motion)
    angle = motion.q[..., 0].reshape(len(MASSES), len(DAMPERS), -1)

    # how far it swings through, compared with the closed form
    through = -angle.min(axis=-1)
    zeta = DAMPERS / (2 * np.sqrt(STIFFNESS * MASSES[:, None] * WIDTH**2 / 3))
    with np.errstate(invalid="ignore", divide="ignore"):
        exact = np.where(zeta < 1, OPENED * np.exp(-np.pi * zeta / np.sqrt(1 - zeta**2)), 0)
    swings = (zeta < 1) & (exact > 1e-4)
    difference = np.abs(through - exact)[swings].max()
    print(f"{swings.sum()} of {swings.size} doors swing through; off the closed form by at most {difference:.0e} rad")
    assert difference < 5e-5  # the lowest of records 4 ms apart
    assert (through[zeta >= 1] < 1e-12).all()

    # the time after which it stays within 2°
    late = np.abs(angle) > np.radians(2)
    shut = motion.t[late.shape[-1] - 1 - np.argmax(late[..., ::-1], axis=-1)]
    print("\n mass [kg]   best damper [N m s]   shut after [s]      ζ")
    for i in range(0, len(MASSES), 5):
        best = shut[i].argmin()
        print(f"{MASSES[i]:8.1f} {DAMPERS[best]:17.1f} {shut[i, best]:18.2f} {zeta[i, best]:13.2f}")
        # a little below critical: the swing through the doorway just stays within 2°
        assert 0.6 < zeta[i, best] < 1

    # a simulation of the sweep is bit-identical to the simulation alone
    values = {"mass": MASSES[7], "damping": DAMPERS[9:10]}
    alone = sixd.simulate(door, [OPENED], None, 10.0, dt=4e-3, parameters=values)
    assert np.array_equal(alone.q, motion.q[7 * len(DAMPERS) + 9])

    if len(sys.argv) > 1:
        draw(sys.argv[1], shut, zeta)


def draw(path, shut, zeta):
    """A map of the time to shut."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        sys.exit("62_parameter_sweep.py: drawing needs matplotlib: pip install matplotlib")
    axes = (figure := Figure(figsize=(7, 5))).subplots()
    shown = axes.pcolormesh(DAMPERS, MASSES, shut, shading="nearest")
    axes.contour(DAMPERS, MASSES, zeta, [1], colors="white")
    axes.set(xlabel="damper [N m s/rad]", ylabel="mass [kg]", title="When is the door shut? (white: ζ = 1)")
    figure.colorbar(shown, label="within 2° after [s]")
    figure.savefig(path, dpi=150)
    print(f"drawn in {path}")


if __name__ == "__main__":
    main()
