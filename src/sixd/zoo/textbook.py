"""Textbook mechanisms. Parameters may be numbers or SymPy symbols.

Planar arms move in the xy-plane, joint axes along z, gravity along -y.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.errors import ModelError
from sixd.io.dh import from_dh
from sixd.model import Model, ModelBuilder, Planar, Prismatic, Revolute
from sixd.spatial import Inertia, placement, point, rod
from sixd.spatial.scalar import Scalar, is_number
from sixd.zoo.arm_appearance import draw_puma
from sixd.zoo.contact_appearance import draw_top


def _require_count(where: str, n: int) -> None:
    if not isinstance(n, int) or n < 0:
        raise ModelError(f"{where}: n is {n!r}, expected a whole number of links.")


def _flat(mass: Scalar, at: Scalar, moment: Scalar) -> Inertia:
    """Return the inertia of a flat body in xy, centre at x = ``at``, ``moment`` about z through the centre."""
    return Inertia(mass, (at, 0, 0), (moment / 2, moment / 2, moment))


def planar(n: int = 2) -> Model:
    """Return a chain of n unit thin rods (1 kg, 1 m) with revolute joints about z, no gravity."""
    _require_count("planar", n)
    builder = ModelBuilder(f"planar{n}", (0, 0, 0))
    inertia = rod(1.0, mass=1.0, axis="x").translated((0.5, 0, 0))
    for k in range(n):
        parent, at = (f"link{k}", (1, 0, 0)) if k else ("world", (0, 0, 0))
        builder.add_body(f"link{k + 1}", parent, Revolute("z"), placement=placement(at), inertia=inertia)
    if n:
        builder.add_frame("tip", f"link{n}", placement((1, 0, 0)))
    return builder.build()


def planar_body(mass: Scalar = 1.0, inertia: Scalar = 1.0, gravity: Scalar = 9.81) -> Model:
    """Return one body free in the xy-plane, q = (θ, x, y)."""
    builder = ModelBuilder("planar_body", (0, -gravity, 0))
    builder.add_body("body", "world", Planar(), inertia=_flat(mass, 0, inertia))
    return builder.build()


def rp_arm(
    m1: Scalar = 2.0, m2: Scalar = 1.5, I1: Scalar = 0.4, I2: Scalar = 0.3, r1: Scalar = 0.35, gravity: Scalar = 9.81
) -> Model:
    """Return a revolute, then a prismatic joint; link 1's centre is at r1, link 2's at q2 along link 1's x axis."""
    builder = ModelBuilder("rp_arm", (0, -gravity, 0))
    builder.add_body("link1", "world", Revolute("z"), inertia=_flat(m1, r1, I1))
    builder.add_body("link2", "link1", Prismatic("x"), inertia=_flat(m2, 0, I2))
    return builder.build()


def two_link_arm(
    m1: Scalar = 2.0,
    m2: Scalar = 1.5,
    I1: Scalar = 0.4,
    I2: Scalar = 0.3,
    r1: Scalar = 0.35,
    r2: Scalar = 0.5,
    L1: Scalar = 1.2,
    gravity: Scalar = 9.81,
) -> Model:
    """Return the 2R arm: centres at r1, r2 along the links, elbow at L1; moments I1, I2 about the centres."""
    builder = ModelBuilder("two_link_arm", (0, -gravity, 0))
    builder.add_body("link1", "world", Revolute("z"), inertia=_flat(m1, r1, I1))
    elbow = placement((L1, 0, 0))
    builder.add_body("link2", "link1", Revolute("z"), placement=elbow, inertia=_flat(m2, r2, I2))
    return builder.build()


def pr_arm(m1: Scalar = 2.0, m2: Scalar = 1.5, I2: Scalar = 0.3, r2: Scalar = 0.5, gravity: Scalar = 9.81) -> Model:
    """Return a horizontal slide that carries a revolute link with its centre at r2."""
    builder = ModelBuilder("pr_arm", (0, -gravity, 0))
    builder.add_body("slide", "world", Prismatic("x"), inertia=point(m1))
    builder.add_body("link", "slide", Revolute("z"), inertia=_flat(m2, r2, I2))
    return builder.build()


def point_arm(l1: Scalar = 0.7, l2: Scalar = 0.5, m1: Scalar = 2.0, m2: Scalar = 1.3, gravity: Scalar = 9.81) -> Model:
    """Return a planar 2R arm with point masses at the links' ends, as derived in Craig's section 6.7."""
    return two_link_arm(m1, m2, 0, 0, l1, l2, l1, gravity)


def craig_arm(
    L1: Scalar = 0.7,
    L2: Scalar = 0.5,
    M1: Scalar = 2.0,
    M2: Scalar = 1.3,
    V1: Scalar = 0.0,
    V2: Scalar = 0.0,
    gravity: Scalar = 9.81,
) -> Model:
    """Return an arm with crossed axes, point masses at the links' ends, viscous friction V (Craig 6.5)."""
    quarter = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])  # 90° about x, exact
    builder = ModelBuilder("craig_arm", (0, 0, -gravity))
    builder.add_body("link1", "world", Revolute("z"), inertia=point(M1, (L1, 0, 0)), damping=V1)
    elbow = placement((L1, 0, 0), R=quarter)
    builder.add_body("link2", "link1", Revolute("z"), placement=elbow, inertia=point(M2, (L2, 0, 0)), damping=V2)
    builder.add_frame("tip", "link2", placement((L2, 0, 0)))
    return builder.build()


def spinning_top(radius: float = 0.05, height: float = 0.1, mass: float = 1.0) -> Model:
    """Return a thin disc whose centre is ``height`` above the pivot, on joints Rz, Ry, Rz; singular at q2 = 0.

    The frame ``tip`` is the upper end of its axle.
    """
    disc = Inertia(mass, (0, 0, height), np.array([1, 1, 2]) * mass * radius**2 / 4)
    builder = ModelBuilder("spinning_top")
    builder.add_body("precession", "world", Revolute("z"))
    builder.add_body("nutation", "precession", Revolute("y"))
    builder.add_body("top", "nutation", Revolute("z"), inertia=disc)
    builder.add_frame("tip", "top", placement((0, 0, 2 * height)))
    return draw_top(builder.build(), radius, height) if all(map(is_number, (radius, height))) else builder.build()


def pendulum(n: int = 1, length: Scalar = 1.0, mass: Scalar = 1.0) -> Model:
    """Return n uniform rods hanging in the xz-plane, joints about y; q = 0 hangs down."""
    _require_count("pendulum", n)
    builder = ModelBuilder("pendulum" if n == 1 else f"pendulum{n}")
    inertia = rod(length, mass=mass, axis="z").translated((0, 0, -length / 2))
    for k in range(n):
        parent, at = (f"rod{k}", (0, 0, -length)) if k else ("world", (0, 0, 0))
        builder.add_body(f"rod{k + 1}", parent, Revolute("y"), placement=placement(at), inertia=inertia)
    return builder.build()


def cart_pole(cart: Scalar = 1.0, pole: Scalar = 0.1, length: Scalar = 1.0) -> Model:
    """Return a cart on the x axis with a uniform pole of ``length`` on it; q2 = 0 is upright."""
    builder = ModelBuilder("cart_pole")
    builder.add_body("cart", "world", Prismatic("x"), inertia=point(cart), joint_name="slider")
    upright = rod(length, mass=pole, axis="z").translated((0, 0, length / 2))
    builder.add_body("pole", "cart", Revolute("y"), inertia=upright, joint_name="hinge")
    return builder.build()


def puma560() -> Model:
    """Return the Unimation Puma 560 with its classic parameters, with reflected motor inertia and friction.

    The published Coulomb friction differs slightly between directions; the mean is used.
    """
    h = np.pi / 2
    # alpha, a, d, mass, com, moments about com, motor inertia, gear ratio, motor damping, Coulomb +, -
    table: list[tuple[Any, ...]] = [
        (h, 0, 0, 0, (0, 0, 0), (0, 0.35, 0), 2e-4, -62.6111, 1.48e-3, 0.395, -0.435),
        (0, 0.4318, 0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539), 2e-4, 107.815, 0.817e-3, 0.126, -0.071),
        (-h, 0.0203, 0.15005, 4.8, (-0.0203, -0.0141, 0.07), (0.066, 0.086, 0.0125),
         2e-4, -53.7063, 1.38e-3, 0.132, -0.105),
        (h, 0, 0.4318, 0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3), 33e-6, 76.0364, 71.2e-6, 11.2e-3, -16.9e-3),
        (-h, 0, 0, 0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3), 33e-6, 71.923, 82.6e-6, 9.26e-3, -14.5e-3),
        (0, 0, 0, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3), 33e-6, 76.686, 36.7e-6, 3.96e-3, -10.5e-3),
    ]  # fmt: skip
    rows = [
        {
            "alpha": alpha, "a": a, "d": d, "mass": m, "com": c, "inertia": I, "armature": G * G * Jm,
            "damping": G * G * B, "friction": abs(G) * (plus - minus) / 2,
        }
        for alpha, a, d, m, c, I, Jm, G, B, plus, minus in table
    ]  # fmt: skip
    return draw_puma(from_dh(rows, convention="standard", name="puma560"))
