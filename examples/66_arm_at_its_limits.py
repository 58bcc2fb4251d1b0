"""An arm runs into its joint limits: rigid stops, with and without a rebound, compared with springs.

A stop is one-sided: the joint's distance φ to it and the stop's force f satisfy φ ≥ 0, f ≥ 0, φ f = 0. A joint that
hits it at speed v leaves it with e v. The other joints also change their speeds, since the impact acts on the whole
arm; the impulse is (1 + e) v/(M⁻¹)ᵢᵢ. A joint at rest on the stop gets exactly the force that holds it.

The first part is a pendulum that falls on a stop, computed by hand: energy determines its speed on arrival, it leaves
with e of this speed, and swings to a height of e². The second part is an arm with limits and dry friction in all
joints. It falls, hits stops, slides, and comes to rest, partly on its stops, where it stays exactly.
``sixd.JointLimits`` uses springs and dampers instead: the arm exceeds its limits by as much as they give way."""

import numpy as np

import sixd

G = 9.81
# a pendulum that falls from 1.2 rad onto a stop at 0.3 rad
builder = sixd.ModelBuilder("pendulum")
rod = sixd.rod(1.0, mass=1.0, axis="z").translated((0, 0, -0.5))
builder.add_body("rod", "world", sixd.Revolute("y"), inertia=rod, limits=(0.3, np.inf))
pendulum = builder.build()
START, STOP, E = 1.2, 0.3, 0.7
fall = np.cos(STOP) - np.cos(START)
speed = np.sqrt(3 * G * fall)  # ½ (1/3) ω² = ½ g fall
for restitution in (0.0, E):
    motion = sixd.simulate(pendulum, [START], None, 3.0, forces=sixd.RigidLimits(restitution=restitution))
    angle, rate = motion.q[:, 0], motion.qd[:, 0]
    print(f"pendulum, e = {restitution}: arrives at {-rate.min():.4f} rad/s; from energy {speed:.4f}")
    assert abs(-rate.min() - speed) < 0.02  # the record before the impact is up to 1 ms early
    assert angle.min() >= STOP - 1e-12
    if restitution:
        rise = np.cos(STOP) - np.cos(angle[np.argmax(rate > 0) :].max())
        print(f"   rises to {rise / fall:.5f} of the height; e² = {E**2:.5f}")
        assert abs(rise / fall - E**2) < 1e-3
    else:
        torque, leaning = motion.internal[-1, 0], G / 2 * np.sin(STOP)
        print(f"   rests at {float(angle[-1])!r} rad, held by {torque:.9f} N m; m g l/2 sin q = {leaning:.9f}")
        assert rate[-1] == 0
        assert abs(angle[-1] - STOP) < 1e-12
        assert abs(torque - leaning) < 1e-9

# an arm, released
arm = sixd.zoo.panda_arm()
arm = arm.with_joints(friction=[2.0, 2.0, 2.0, 2.0, 0.5, 0.5, 0.5])
q = [0.5, -0.3, 0.4, -1.2, 0.3, 1.5, 0.6]
stops = sixd.simulate(arm, q, None, 6.0, forces=sixd.RigidLimits())
springs = sixd.simulate(arm, q, None, 6.0, forces=sixd.JointLimits())
for name, motion in (("rigid stops", stops), ("springs", springs)):
    beyond = np.maximum(motion.q - arm.upper, arm.lower - motion.q).max()
    at = int((np.abs(motion.qd) > 0).any(axis=1).sum())
    print(f"\n{name}: at most {max(0.0, beyond):.1e} rad beyond the limits, moving for {motion.t[at - 1]:.3f} s")
    print("   at the end:", motion.q[-1].round(4))
at_stop = (stops.q[-1] == arm.lower) | (stops.q[-1] == arm.upper)
leaning = [name for name, at in zip(arm.joint_names, at_stop, strict=True) if at]
print(f"on their stops, to the bit: {', '.join(leaning)}")
assert leaning
assert np.maximum(stops.q - arm.upper, arm.lower - stops.q).max() <= 1e-12
assert np.diff(stops.energy).max() < 1e-5
