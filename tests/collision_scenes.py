"""Collision shapes of every kind, and a mechanism with three of them, for tests of distances."""

import sixd

CORNERS = [(x, y, z) for x in (-0.1, 0.2) for y in (-0.1, 0.1) for z in (-0.1, 0.15)]
SOLIDS = {
    "sphere": sixd.Shape("sphere", (0.1,)), "capsule": sixd.Shape("capsule", (0.05, 0.2)),
    "box": sixd.Shape("box", (0.1, 0.2, 0.3)), "cylinder": sixd.Shape("cylinder", (0.1, 0.2)),
    "cone": sixd.Shape("cone", (0.1, 0.3)), "ellipsoid": sixd.Shape("ellipsoid", (0.1, 0.15, 0.2)),
    "hull": sixd.Shape("hull", vertices=CORNERS),
}  # fmt: skip


def three_bodies():
    """Return a free box, a ball on a spherical and a cylinder on a revolute joint."""
    builder, parent = sixd.ModelBuilder("three"), "world"
    rod = sixd.Shape("cylinder", (0.05, 0.3))
    for name, joint, shape in (
        ("a", sixd.Free(), SOLIDS["box"]), ("b", sixd.Spherical(), SOLIDS["sphere"]), ("c", sixd.Revolute("z"), rod),
    ):  # fmt: skip
        builder.add_body(
            name, parent, joint, placement=sixd.placement((0, 0.4, 0.3)), inertia=sixd.sphere(0.1, mass=1.0),
            collisions=[(shape, sixd.placement((0.3, 0, 0)))],
        )  # fmt: skip
        parent = name
    return builder.build()


def three_and_a_box():
    """Return the same with a box in the world, "obstacle"."""
    return three_bodies().with_collision(
        "world", SOLIDS["box"], sixd.placement((2, 1, 0), rpy=(0.3, 0.2, 0.1)), name="obstacle"
    )
