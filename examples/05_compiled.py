"""Compiled functions: batches, kernels, your own controller, parameters as inputs, and C.

Every public function compiles for a model at its first call. ``sixd.compile`` returns the kernel itself. It also joins
functions, compiles your own, and makes numbers of the model inputs. The printed times vary from run to run.
"""

import time

import numpy as np

import sixd
from sixd.spatial import minimum, sin

arm = sixd.zoo.get("panda_arm")
rng = np.random.default_rng(0)
q, qd, qdd = rng.uniform(-1, 1, (3, 20_000, arm.nv))

# a batch is one call; the first one compiles
for word in ("first call ", "second call"):
    start = time.perf_counter()
    tau = sixd.inverse_dynamics(arm, q, qd, qdd)
    print(f"{word}: 20,000 states in {1e3 * (time.perf_counter() - start):6.1f} ms")
assert np.array_equal(tau[7], sixd.inverse_dynamics(arm, q[7], qd[7], qdd[7]))  # alone or in a batch: the same bits

# several functions in one kernel share their common work
both = sixd.compile((sixd.mass_matrix, sixd.bias_force), arm)
M, h = both(q, qd)
alone = [sixd.compile(f, arm).program.operations for f in (sixd.mass_matrix, sixd.bias_force)]
print(f"\nmass matrix and bias force: {both.program.operations} operations together, {sum(alone)} apart")
assert np.allclose(np.einsum("nij,nj->ni", M, qdd) + h, tau)


# a function of your own, in NumPy style; sin, minimum, where … come from sixd.spatial
def controller(q, qd, t, stiffness=50.0):
    """Computed torque for a wave, limited to 80 N m."""
    target = np.array([sin(t + 0.3 * k) for k in range(7)])
    torque = sixd.inverse_dynamics(arm, q, qd, (target - q) * stiffness - qd * 10)
    return np.array([minimum(x, 80) for x in torque])


compiled = sixd.compile(controller, arm, shapes={"t": ()}, stiffness=200.0)
print("\ncontroller:", compiled(q[0], qd[0], 0.5).round(2))

# numbers of the model as inputs: a thousand arms, each with other masses
identify = sixd.compile(sixd.gravity_force, arm, parameters=("inertia",))
nominal = np.array([arm.body_inertia(name).parameters for name in arm.body_names])
scale = rng.uniform(0.8, 1.2, (1000, arm.nb, 1))
spread = identify(q[0], nominal * scale)
print(f"\ntorque that holds joint 2, masses within 20 %: {spread[:, 1].mean():.2f} ± {spread[:, 1].std():.2f} N m")

# the same as C
prototype = next(line for line in sixd.export_c(sixd.gravity_force, arm).header.splitlines() if "void" in line)
print(f"\n{prototype}")
