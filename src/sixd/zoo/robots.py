"""Two arms from published parameters: similar to the UR5 and to the Franka Panda."""

from __future__ import annotations

import numpy as np

from sixd.io.dh import from_dh
from sixd.model import Model
from sixd.spatial import cylinder
from sixd.zoo.arm_appearance import draw_panda, draw_ur

_H = np.pi / 2


def ur_arm() -> Model:
    """Return a six-axis arm with the UR5's published DH parameters, masses and centres; links as solid cylinders."""
    # alpha, a, d, mass, centre of mass in the DH frame, cylinder radius, length, axis
    table = [
        (_H, 0.0, 0.089159, 3.7, (0.0, -0.02561, 0.00193), 0.06, 0.15, "y"),
        (0.0, -0.425, 0.0, 8.393, (0.2125, 0.0, 0.11336), 0.06, 0.56, "x"),
        (0.0, -0.39225, 0.0, 2.275, (0.15, 0.0, 0.0265), 0.06, 0.50, "x"),
        (_H, 0.0, 0.10915, 1.219, (0.0, -0.0018, 0.01634), 0.06, 0.12, "y"),
        (-_H, 0.0, 0.09465, 1.219, (0.0, 0.0018, 0.01634), 0.06, 0.12, "y"),
        (0.0, 0.0, 0.0823, 0.1879, (0.0, 0.0, -0.001159), 0.0375, 0.0458, "z"),
    ]
    rows = [
        {
            "alpha": alpha, "a": a, "d": d, "mass": m, "com": com,
            "inertia": cylinder(r, length, mass=m, axis=axis).about_com,
            "limits": (-2 * np.pi, 2 * np.pi), "effort": 150.0 if k < 3 else 28.0, "velocity": np.pi,
        }
        for k, (alpha, a, d, m, com, r, length, axis) in enumerate(table)
    ]  # fmt: skip
    return draw_ur(from_dh(rows, convention="standard", name="ur_arm"))


def panda_arm() -> Model:
    """Return a seven-axis arm with the Panda's published DH parameters and the inertias of Gaz et al. (2019)."""
    # alpha and a of the previous frame, d; limits; mass; com; Ixx Ixy Ixz Iyy Iyz Izz about the centre of mass
    table = [
        (0, 0, 0.333, (-2.8973, 2.8973), 4.970684, (3.875e-3, 2.081e-3, -0.1750),
         (7.0337e-1, -1.3900e-4, 6.7720e-3, 7.0661e-1, 1.9169e-2, 9.1170e-3)),
        (-_H, 0, 0, (-1.7628, 1.7628), 0.646926, (-3.141e-3, -2.872e-2, 3.495e-3),
         (7.9620e-3, -3.9250e-3, 1.0254e-2, 2.8110e-2, 7.0400e-4, 2.5995e-2)),
        (_H, 0, 0.316, (-2.8973, 2.8973), 3.228604, (2.7518e-2, 3.9252e-2, -6.6502e-2),
         (3.7242e-2, -4.7610e-3, -1.1396e-2, 3.6155e-2, -1.2805e-2, 1.0830e-2)),
        (_H, 0.0825, 0, (-3.0718, -0.0698), 3.587895, (-5.317e-2, 1.04419e-1, 2.7454e-2),
         (2.5853e-2, 7.7960e-3, -1.3320e-3, 1.9552e-2, 8.6410e-3, 2.8323e-2)),
        (-_H, -0.0825, 0.384, (-2.8973, 2.8973), 1.225946, (-1.1953e-2, 4.1065e-2, -3.8437e-2),
         (3.5549e-2, -2.1170e-3, -4.0370e-3, 2.9474e-2, 2.2900e-4, 8.6270e-3)),
        (_H, 0, 0, (-0.0175, 3.7525), 1.666555, (6.0149e-2, -1.4117e-2, -1.0517e-2),
         (1.9640e-3, 1.0900e-4, -1.1580e-3, 4.3540e-3, 3.4100e-4, 5.4330e-3)),
        (_H, 0.088, 0, (-2.8973, 2.8973), 0.735522, (1.0517e-2, -4.252e-3, 6.1597e-2),
         (1.2516e-2, -4.2800e-4, -1.1960e-3, 1.0027e-2, -7.4100e-4, 4.8150e-3)),
    ]  # fmt: skip
    rows = [
        {
            "alpha": alpha, "a": a, "d": d, "mass": mass, "com": com,
            "inertia": np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), "limits": limits,
            "effort": 87.0 if k < 4 else 12.0, "velocity": 2.175 if k < 4 else 2.61,
        }
        for k, (alpha, a, d, limits, mass, com, (xx, xy, xz, yy, yz, zz)) in enumerate(table)
    ]  # fmt: skip
    return draw_panda(from_dh(rows, convention="modified", name="panda_arm", tool=(0, 0, 0.107)))
