"""A first look: load a robot, print its tree, compute its dynamics, and compare the results with each other.

Run it with ``make demo``. With the path of a URDF file as argument it shows that robot instead of the built-in arm.
"""

import sys

import numpy as np

import sixd

np.set_printoptions(precision=4, suppress=True, linewidth=100)

# a robot: from the file in the argument, otherwise the URDF text of an arm of the zoo
source = sys.argv[1] if len(sys.argv) > 1 else sixd.to_urdf(sixd.zoo.panda_arm())
model = sixd.load(source)

print("THE ROBOT\n")
print(model)
print("\ndoubtful in it:", sixd.check(model))

# a state: q is random within the joint limits; the seed makes it reproducible
rng = np.random.default_rng(1)
q = model.random_configuration(rng)
qd, qdd = rng.uniform(-1, 1, (2, model.nv))

print("\nITS DYNAMICS AT A STATE\n")
print("q                    =", q)
print("qd                   =", qd)
print("qdd                  =", qdd)
tau = sixd.inverse_dynamics(model, q, qd, qdd)
print("tau = M qdd + h      =", tau, " inverse_dynamics")
print("gravity's part of it =", sixd.gravity_force(model, q), " gravity_force")
kinetic, potential = sixd.energy(model, q, qd)
print(f"energy               = {kinetic:.4f} J kinetic, {potential:.4f} J potential")
print("centre of mass       =", sixd.center_of_mass(model, q), "m")
last = model.body_names[-1] if model.nb else "world"
print(f"\nmass matrix M, {model.nv} × {model.nv}:\n{sixd.mass_matrix(model, q)}")
print(f"\nJacobian of {last!r}, angular rows first:\n{sixd.jacobian(model, q, last)}")

print("\nFORWARD AGAINST INVERSE DYNAMICS\n")
try:
    back = sixd.forward_dynamics(model, q, qd, tau)
except sixd.SingularError as error:
    print(error)
else:
    difference = np.abs(back - qdd).max(initial=0.0)
    print(f"forward_dynamics(tau) gives qdd back to {difference:.1e}")
    assert difference < 1e-8 * np.linalg.cond(sixd.mass_matrix(model, q)), "forward and inverse dynamics disagree"

print(
    """
WHAT TO TRY NEXT

  python examples/00_first_look.py robot.urdf         your own robot
  sixd.load("robot.urdf", floating_base=True)         with a free base
  sixd.inverse_dynamics(model, Q, QD, QDD)            with Q of shape (1000, nq): a batch
  sixd.zoo.names()                                    ready models
  print(sixd.equations(sixd.zoo.puma560()))           the equations of motion, in closed form
  examples/                                           more, each with an explanation at its top
"""
)
