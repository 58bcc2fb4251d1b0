"""sixd: robot dynamics written once. Read it as the textbook, run it at speed, print it as equations."""

import importlib as _importlib
import importlib.util as _util

# what everything else needs; the rest can then be imported in any order, by several threads at once
from sixd import model, spatial, trace
from sixd.locks import FORKS_WAIT as _FORKS_WAIT

# modules and the public names that they define: a module is imported when a name of it is first used. Type checkers
# and editors read the same names in __init__.pyi
_TABLE = """
actuation.actuation                    Actuation
actuation.actuators                    Motor Thruster
api.bodies                             joint_reactions
api.constraints                        assemble constrained_dynamics constraint_error constraint_forces
api.constraints                        constraint_jacobian constraint_velocity mobility projections
api.derivatives                        acceleration_derivatives center_of_mass_derivatives
api.derivatives                        constrained_dynamics_derivatives energy_derivatives forward_dynamics_derivatives
api.derivatives                        inverse_dynamics_derivatives momentum_derivatives velocity_derivatives
api.dynamics                           bias_force center_of_mass centroidal_matrix christoffel composite_inertia
api.dynamics                           coriolis_matrix energy forward_dynamics gravity_force hybrid_dynamics
api.dynamics                           inverse_dynamics inverse_mass_matrix joint_torque_regressor mass_matrix
api.dynamics                           mass_matrix_solve momentum
api.frames                             acceleration body_poses dynamically_consistent_inverse external_force
api.frames                             inverse_operational_inertia jacobian jacobian_rate null_space_projector
api.frames                             operational_bias operational_inertia pose velocity
api.linearization                      Linearization linearize
collision.convex                       convex_collisions
collision.distances                    ContactPoints Distances contact_points distance distance_derivatives
collision.distances                    in_collision min_distance sample_pairs
collision.pairs                        CollisionPairs collision_pairs
collision.rays                         RayHits raycast
constraints.functions                  Coupling Holonomic Pfaffian
constraints.loop                       Distance Loop
constraints.rolling                    KnifeEdge Rolling RollingSphere
drawing.drawing                        Drawing
drawing.figure                         draw
engine.differentiation                 hessian hvp jvp vjp
engine.gpu_calls                       DeviceKernel
engine.kernel                          Kernel compile export_c
engine.patterns                        derivative_pattern
errors                                 AssemblyError CacheWarning CompileWarning DeviceError FileError LoadError
errors                                 MissingPackageError ModelError ModelWarning OutOfRangeError ScalarTypeError
errors                                 ShapeError SimulationWarning SingularError SixdError TraceError UnknownNameError
errors                                 WorkerError
forces.elements                        Applied Force
forces.ground                          Ground
forces.joint_limits                    JointLimits
forces.spring_damper                   SpringDamper
ik.differential                        DifferentialIK differential_ik
ik.inverse                             InverseKinematics inverse_kinematics
ik.targets                             CenterOfMass Direction LookAt Orientation RelativeTo
inspection.check_model                 check
inspection.compare_models              compare
inspection.comparison                  Comparison Difference
io.dh                                  from_dh
io.loading                             load
io.mjcf.writer                         to_mjcf
io.urdf.writer                         to_urdf
model                                  Constraint Cylindrical Fixed Free Helical Joint Mimic Model ModelBuilder Planar
model                                  Prismatic RackAndPinion Revolute Shape Spherical Universal
planning.clearances                    MotionClearance clearance
planning.paths                         PlannedPath plan_path
runtime.cache                          cache_info clear_cache
runtime.threads                        get_num_threads set_num_threads
simulation.ensemble.draws              grid
simulation.functions                   ensemble rollout_gradient simulate step step_derivatives
simulation.nonsmooth.rigid_ground      RigidGround
simulation.nonsmooth.rigid_limits      RigidLimits
simulation.scenario                    Scenario
simulation.stepper                     Stepper
spatial                                Inertia box capsule cone constrained_body cylinder ellipsoid mesh placement
spatial                                point relative_inertia rod sphere tube where
symbolic.equations.equations           Equations
symbolic.equations.from_energies       lagrange
symbolic.equations.from_model          equations
symbolic.integrability.holonomic       Integrability is_holonomic
symbolic.lagrange.energies             angular_velocity body_energy
symbolic.lagrange.forces               point_forces
symbolic.newton.result                 NewtonEuler newton_euler
trajectory.device_trajectory           DeviceTrajectory
trajectory.trajectory                  State Trajectory
version                                __version__
viewer.pictures.pictures               picture
viewer.viewer                          Viewer view
"""
_PACKAGES = ("controllers", "cuda", "identification", "interop", "spatial", "spatial_v2", "zoo")  # public as a whole

_MODULES = {name: f"sixd.{module}" for module, *names in map(str.split, _TABLE.strip().splitlines()) for name in names}

__all__ = sorted([*_MODULES, *_PACKAGES])


def __getattr__(name: str) -> object:
    """Import what is used for the first time: a public name, or a module of sixd such as ``sixd.torch``."""
    with _FORKS_WAIT:  # in a forked process a module that another thread had half imported would never be complete
        if name in _MODULES:
            value = getattr(_importlib.import_module(_MODULES[name]), name)
            globals()[name] = value  # later uses do not come here
            return value
        if name.isidentifier() and not name.startswith("_") and _util.find_spec(f"sixd.{name}"):
            return _importlib.import_module(f"sixd.{name}")
    from sixd.errors import suggestion

    raise AttributeError(f"module 'sixd' has no attribute {name!r}. {suggestion(name, __all__)}".rstrip())


def __dir__() -> list[str]:
    return list(__all__)  # the public names alone, not the modules that the package is made of
