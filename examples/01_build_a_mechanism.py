"""Build a mechanism body by body: a two-wheeled cart with an arm, and the forces that hold it.

``ModelBuilder.add_body`` takes a name, the parent body, a joint, the joint's placement, and the inertia. Inertias come
from shapes. A wheel on a fixed joint would be merged into the body that carries it.
"""

import numpy as np

import sixd

builder = sixd.ModelBuilder("cart")
builder.add_body("platform", "world", sixd.Planar(), inertia=sixd.box(0.6, 0.4, 0.1, mass=12.0), joint_name="drive")
for side, y in (("left", 0.25), ("right", -0.25)):
    builder.add_body(
        f"{side}_wheel",
        "platform",
        sixd.Revolute("y", continuous=True),
        placement=sixd.placement((0, y, 0)),
        inertia=sixd.cylinder(0.1, 0.03, mass=0.8, axis="y"),
    )
builder.add_body(
    "boom",
    "platform",
    sixd.Universal(),
    placement=sixd.placement((0.1, 0, 0.05)),
    inertia=sixd.capsule(0.03, 0.7, mass=1.5).translated((0, 0, 0.35)),
    damping=0.1,
)
builder.add_frame("tip", "boom", sixd.placement((0, 0, 0.7)))
model = builder.build()
print(model)

# hold the boom leaning by 30° about x, with 2 kg hanging from its tip
q = model.neutral()
q[model.q_slice("boom")] = [np.pi / 6, 0.0]
weight = sixd.external_force(model, q, "tip", [0, 0, -2 * 9.81], expressed_in="aligned")
tau = sixd.bias_force(model, q, np.zeros(model.nv), f_ext=weight)
print("\njoint forces that hold it:", tau.round(4))

# by hand: the boom's own weight at 0.35 m and the load at 0.7 m, both times sin 30°
expected = -(1.5 * 9.81 * 0.35 + 2 * 9.81 * 0.7) * np.sin(np.pi / 6)
print("about the boom's x axis, by hand:", round(expected, 4))
assert abs(tau[model.v_slice("boom")][0] - expected) < 1e-12
