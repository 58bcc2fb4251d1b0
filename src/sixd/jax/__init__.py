"""The functions of the library on JAX arrays, for ``jax.jit``, ``jax.vmap``, ``jax.grad`` and ``jax.jvp``.

Each function has the name and the arguments of sixd's own, without ``out``; the model is a Python object that jitted
functions close over. It runs the compiled code of sixd through ``jax.ffi``, with bit-identical results on the CPU. The
code is not translated to JAX, so it adds only milliseconds to the compilation of a jitted function. Derivatives of
every order are compiled code, too, created when JAX requests them.

Batch dimensions broadcast. Arrays are float32, or float64 after ``jax.config.update("jax_enable_x64", True)``; for
mixed arguments the result has the wider dtype. The values of arrays raise no errors, inside or outside of jit: if a
function is not defined for a state, such as forward dynamics with a singular mass matrix, the result is NaN or inf. A
model whose mass matrix is singular everywhere raises an error when the function is compiled.

Gradients with respect to a configuration q are in ambient coordinates: they have the nq entries of q. Functions do not
depend on the length of a quaternion, so its gradient is perpendicular to it; use ``integrate`` to move along a
gradient.

``step`` and ``rollout`` move a model through time, differentiably. ``distance`` and ``min_distance`` have first
derivatives.

On NVIDIA's GPUs a call launches one kernel on XLA's stream; code is loaded on every GPU that JAX uses, and
``sixd.cuda.check()`` counts states whose results are not finite. On the CPU a call runs on one thread. Split arrays
over devices by ``jax.shard_map``: without it JAX gathers them for a call.

At the first use XLA calls the handler once with a known answer. If a version of jax fails this check, functions run
through a Python callback on the CPU, with bit-identical results, and a warning states the reason.

>>> import jax, sixd, sixd.jax  # doctest: +SKIP
>>> arm = sixd.zoo.planar(2)  # doctest: +SKIP
>>> force = jax.jit(lambda q, qd, qdd: sixd.jax.inverse_dynamics(arm, q, qd, qdd))  # doctest: +SKIP
"""

from __future__ import annotations

from sixd.errors import MissingPackageError

try:
    import jax.ffi as _ffi
except ImportError as error:
    raise MissingPackageError(
        "sixd.jax: JAX cannot be imported, expected version 0.10 or newer. Install it: pip install 'jax>=0.10', for "
        "GPUs 'jax[cuda13]'."
    ) from error

from sixd.api import bodies, constraints, derivatives, dynamics, frames, manifold
from sixd.jax.distances import distance, min_distance
from sixd.jax.functions import mirror
from sixd.jax.motions import Motion, rollout, step
from sixd.jax.primitives import clear_caches

inverse_dynamics = mirror(dynamics.inverse_dynamics)
forward_dynamics = mirror(dynamics.forward_dynamics)
hybrid_dynamics = mirror(dynamics.hybrid_dynamics)
bias_force = mirror(dynamics.bias_force)
gravity_force = mirror(dynamics.gravity_force)
joint_torque_regressor = mirror(dynamics.joint_torque_regressor)
mass_matrix = mirror(dynamics.mass_matrix)
inverse_mass_matrix = mirror(dynamics.inverse_mass_matrix)
mass_matrix_solve = mirror(dynamics.mass_matrix_solve)
coriolis_matrix = mirror(dynamics.coriolis_matrix)
christoffel = mirror(dynamics.christoffel)
energy = mirror(dynamics.energy)
momentum = mirror(dynamics.momentum)
center_of_mass = mirror(dynamics.center_of_mass)
centroidal_matrix = mirror(dynamics.centroidal_matrix)
composite_inertia = mirror(dynamics.composite_inertia)

pose = mirror(frames.pose)
body_poses = mirror(frames.body_poses)
velocity = mirror(frames.velocity)
acceleration = mirror(frames.acceleration)
jacobian = mirror(frames.jacobian)
jacobian_rate = mirror(frames.jacobian_rate)
inverse_operational_inertia = mirror(frames.inverse_operational_inertia)
operational_inertia = mirror(frames.operational_inertia)
operational_bias = mirror(frames.operational_bias)
dynamically_consistent_inverse = mirror(frames.dynamically_consistent_inverse)
null_space_projector = mirror(frames.null_space_projector)
external_force = mirror(frames.external_force)

joint_reactions = mirror(bodies.joint_reactions)

constrained_dynamics = mirror(constraints.constrained_dynamics)
projections = mirror(constraints.projections)
constraint_jacobian = mirror(constraints.constraint_jacobian)
constraint_error = mirror(constraints.constraint_error)
constraint_velocity = mirror(constraints.constraint_velocity)
constraint_forces = mirror(constraints.constraint_forces)

inverse_dynamics_derivatives = mirror(derivatives.inverse_dynamics_derivatives)
forward_dynamics_derivatives = mirror(derivatives.forward_dynamics_derivatives)
constrained_dynamics_derivatives = mirror(derivatives.constrained_dynamics_derivatives)
velocity_derivatives = mirror(derivatives.velocity_derivatives)
acceleration_derivatives = mirror(derivatives.acceleration_derivatives)
center_of_mass_derivatives = mirror(derivatives.center_of_mass_derivatives)
momentum_derivatives = mirror(derivatives.momentum_derivatives)
energy_derivatives = mirror(derivatives.energy_derivatives)

integrate = mirror(manifold.integrate)
difference = mirror(manifold.difference)

_FUNCTIONS = {name for name, x in list(globals().items()) if getattr(x, "__module__", "") == __name__}

__all__ = sorted(_FUNCTIONS | {"Motion", "clear_caches", "distance", "min_distance", "rollout", "step"})
