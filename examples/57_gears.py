"""Gears: joints that depend on each other, and motors of which only a part is felt.

If the joints follow fewer coordinates y, q = γ(y), then q̇ = G ẏ with G = ∂γ/∂y, and the equations of motion become

    Gᵀ M G ÿ = Gᵀ (τ - M Ġ ẏ - C q̇).

Only Gᵀτ matters. In the double elbow, two geared hinges with q3 = q2, the torques (1, 2, 3) and (1, 5, 0) do the same.

Gears need not be linear. Let the two-link arm without gravity be coupled by q2 = 2 sin q1, and push joint 1 with 1 N
m from rest. The coupling does no work, so the kinetic energy is what the torque has done: T(t) = q1(t). At t = 5 both
are 3.946604705427. Three ways to get there: a step on the tree with all joints, put back onto the coupling; the same
with the coupling held by a spring-like term (Baumgarte); and the model in its one independent coordinate."""

import numpy as np

import sixd
from sixd.spatial import sin

elbow = sixd.zoo.double_elbow()
q, qd = [0.3, 0.5, 0.5], [1.0, -2.0, -2.0]
answers = [sixd.constrained_dynamics(elbow, q, qd, tau)[0] for tau in ([1.0, 2, 3], [1.0, 5, 0])]
print("double elbow, τ = (1, 2, 3):", answers[0])
print("double elbow, τ = (1, 5, 0):", answers[1])
assert np.abs(answers[0] - answers[1]).max() < 1e-13
apart = sixd.constrained_dynamics(elbow, q, qd, [1.0, 5, 1])[0]
assert np.abs(answers[0] - apart).max() > 0.1  # (1, 5, 1) is another Gᵀτ

unit_rod = sixd.rod(1.0, mass=1.0, axis="x").translated((0.5, 0, 0))
builder = sixd.ModelBuilder("geared arm", gravity=(0, 0, 0))
builder.add_body("link1", "world", sixd.Revolute("z"), inertia=unit_rod)
builder.add_body("link2", "link1", sixd.Revolute("z"), placement=sixd.placement((1, 0, 0)), inertia=unit_rod)
builder.add_constraint(sixd.Coupling("link2", "link1", lambda y: 2 * sin(y)))
arm = builder.build()

BOOK = 3.946604705427
print(f"\n{'':24}q1(5)             T(5)              coupling off by    book: {BOOK}")
ways = {
    "projected": (arm, {"constraints": "projected"}),
    "stabilised": (arm, {"constraints": "stabilised"}),
    "one coordinate": (arm.reduce(), {}),
}
for name, (system, options) in ways.items():
    motion = sixd.simulate(system, None, None, 5.0, controller=[1.0, 0.0][: system.nv], dt=5e-4, **options)
    off = motion.constraint_error.max()
    print(f"{name:20}{motion.q[-1, 0]:18.12f}{motion.kinetic[-1]:18.12f}{off:12.0e}")
    assert abs(motion.q[-1, 0] - BOOK) < 1e-11
    assert abs(motion.kinetic[-1] - BOOK) < 2e-11
    assert np.abs(motion.kinetic - motion.q[:, 0]).max() < 5e-11  # at all times
    assert off < (1e-11 if name == "stabilised" else 1e-14)
