"""The benchmark bicycle of Meijaard, Papadopoulos, Ruina and Schwab (2007), as a nonlinear model.

Four bodies: rear frame with rider, rear wheel, front frame (fork and handlebars), front wheel; thin wheels that roll
without slipping on flat ground. Nothing here is linearised: lean, steer and pitch may be large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.constraints import Rolling
from sixd.model import Free, Model, ModelBuilder, Revolute
from sixd.spatial import Inertia, cos, placement, sin
from sixd.spatial.scalar import is_number
from sixd.zoo.bicycle_appearance import bicycle_looks

# the published axes are x forward, y right, z down; the model's x forward, y left, z up: half a turn about x
_TURN = np.diag([1, -1, -1])


def _symmetric(mass: float, x: float, z: float, xx: float, yy: float, zz: float, xz: float) -> Inertia:
    """A body symmetric about the plane of the bicycle; xz is the entry of the matrix, minus the integral of x z."""
    return Inertia(mass, (x, 0, z), ((xx, 0, xz), (0, yy, 0), (xz, 0, zz)))


# the frames' numbers are in the published axes, from the rear contact point [kg, m, kg m²]
_REAR_FRAME = _symmetric(85.0, 0.3, -0.9, 9.2, 11.0, 2.8, 2.4)
_FRONT_FRAME = _symmetric(4.0, 0.9, -0.7, 0.05892, 0.06, 0.00708, -0.00756)
_REAR_WHEEL = Inertia(2.0, about_com=(0.0603, 0.12, 0.0603))
_FRONT_WHEEL = Inertia(3.0, about_com=(0.1405, 0.28, 0.1405))


def bicycle(
    wheelbase: Any = 1.02,
    trail: Any = 0.08,
    tilt: Any = np.pi / 10,
    rear_radius: Any = 0.3,
    front_radius: Any = 0.35,
    *,
    rear_frame: Inertia = _REAR_FRAME,
    front_frame: Inertia = _FRONT_FRAME,
    rear_wheel: Inertia = _REAR_WHEEL,
    front_wheel: Inertia = _FRONT_WHEEL,
    gravity: Any = 9.81,
) -> Model:
    """A bicycle with a rigid rider, hands off; the defaults are the published benchmark.

    World and bodies: x forward, y left, z up; ground z = 0. At the neutral configuration it stands upright and
    straight, assembled, the rear wheel touching at the origin, and all bodies have parallel axes.

    Parameters
    ----------
    wheelbase : between the contact points [m].
    trail : from the front contact point forward to where the steer axis meets the ground [m].
    tilt : of the steer axis, backward from the vertical [rad].
    rear_radius, front_radius : of the wheels [m].
    rear_frame, front_frame : inertias in the PUBLISHED axes, x forward, y right, z down, at the rear contact point.
    rear_wheel, front_wheel : inertias about the wheels' centres, axles along y.
    Shapes come with sizes that are numbers; among symbols there are none.

    Returns
    -------
    nv = 9: the joint ``base``, free (the frame ``rear_frame`` has its origin at the rear contact point when upright),
    then ``rear_axle``, ``steer`` and ``front_axle``. Lean, the turn of the base about x, and steer are positive to the
    right, as published; axles turn forward. Two ``Rolling`` constraints, six equations, leave three freedoms of
    velocity: lean, steer and forward speed.

    J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, "Linearized dynamics equations for the balance and steer
    of a bicycle: a benchmark and review", Proc. R. Soc. A 463 (2007).

    >>> import sixd
    >>> print(sixd.mobility(sixd.zoo.bicycle()))
    bicycle: 3 freedoms = 9 of the joints - 6 independent of 6 equations
    """
    head = (wheelbase + trail, 0, 0)  # a point of the steer axis: where it meets the ground
    builder = ModelBuilder("bicycle", (0, 0, -gravity))
    builder.add_body("rear_frame", "world", Free(), inertia=rear_frame.rotated(_TURN), joint_name="base")
    builder.add_body(
        "rear_wheel", "rear_frame", Revolute("y"), placement=placement((0, 0, rear_radius)),
        inertia=rear_wheel.rotated(_TURN), joint_name="rear_axle",
    )  # fmt: skip
    builder.add_body(
        "front_frame", "rear_frame", Revolute((sin(tilt), 0, -cos(tilt))), placement=placement(head),
        inertia=front_frame.rotated(_TURN).translated((-head[0], 0, 0)), joint_name="steer",
    )  # fmt: skip
    builder.add_body(
        "front_wheel", "front_frame", Revolute("y"), placement=placement((-trail, 0, front_radius)),
        inertia=front_wheel.rotated(_TURN), joint_name="front_axle",
    )  # fmt: skip
    builder.add_constraint(Rolling("rear_wheel", rear_radius))
    builder.add_constraint(Rolling("front_wheel", front_radius))
    sizes = (wheelbase, trail, tilt, rear_radius, front_radius)
    return bicycle_looks(builder.build(), *(float(x) for x in sizes)) if all(map(is_number, sizes)) else builder.build()
