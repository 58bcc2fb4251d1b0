"""Identify a Puma 560: base parameters, a motion that excites them, the estimate, and a payload.

Measurements are simulated: positions and torques at 200 Hz, encoders with a noise of 20 µrad, torques with one of 1 %
of their RMS. The measured robot has links up to 60 % heavier than in the drawing, and other friction.

    python 74_identify_a_robot.py              # prints the results
    python 74_identify_a_robot.py report.html  # also writes a report with figures; needs matplotlib
"""

import dataclasses
import sys

import numpy as np

import sixd
from sixd import identification

FRICTION = ("viscous", "coulomb")

# the drawing, and the robot
drawing = sixd.zoo.puma560()
rng = np.random.default_rng(0)
heavier = 1 + 0.6 * rng.uniform(size=(drawing.nb, 1, 1))
robot = dataclasses.replace(
    drawing,
    inertia=np.concatenate([drawing.inertia[:1], drawing.inertia[1:] * heavier]),
    friction=drawing.friction * rng.uniform(0.5, 1.5, drawing.nv),
)

# base parameters
base = identification.base_parameters(drawing, friction=FRICTION, armature=True)
print(f"{len(base)} sums of {len(base.names)} parameters matter, such as")
for formula in base.formulas[8:11]:
    print("   ", formula)

# a motion from rest to rest, within limits
limits = {"velocity": 2.0, "acceleration": 8.0}
motion = identification.excitation(drawing, friction=FRICTION, armature=True, rate=200, iterations=40, **limits)
print(f"condition number: {motion.condition:.0f}, of a random motion {motion.random_condition:.0f}")


def record(model):
    """Three periods as the robot measures them, filtered and differentiated: all waves up to 5 Hz."""
    t = np.arange(3 * len(motion.t)) / 200
    q, qd, qdd = motion.series(t)
    tau = sixd.inverse_dynamics(model, q, qd, qdd)
    noise = 0.01 * np.sqrt((tau**2).mean(axis=0))
    q, tau = q + 2e-5 * rng.normal(size=q.shape), tau + noise * rng.normal(size=tau.shape)
    return identification.record(drawing, t=t, q=q, tau=tau, cutoff=5.0, method="spectral")


# the parameters, tried on states that were not measured
result = identification.fit(drawing, record(robot), friction=FRICTION, armature=True, consistent="log-det")
other = rng.uniform(-1.5, 1.5, (3, 1000, drawing.nv))
tau, by_drawing, identified = (sixd.inverse_dynamics(model, *other) for model in (robot, drawing, result.model))
before, after = (np.linalg.norm(x - tau) / np.linalg.norm(tau) for x in (by_drawing, identified))
print(f"error of torques in other motions: {100 * before:.0f} % by the drawing, {100 * after:.1f} % as identified")
print("Coulomb friction [N m], robot and estimate:")
print(np.array([robot.friction, result.model.friction]).round(2))
bodies = [result.model.body_inertia(name) for name in result.model.body_names]
print("all bodies can be real:", all(inertia.is_physical() for inertia in bodies))

# its payload
can = sixd.cylinder(0.05, 0.15, mass=1.2)
loaded = record(robot.with_payload("can", "link6", can))
held = identification.payload(result.model, "link6", loaded, consistent="log-det")
print(f"it holds {held.mass:.2f} kg; 1.20 kg is true")

if len(sys.argv) > 1:
    identification.report(result, sys.argv[1])
