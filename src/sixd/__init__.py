"""sixd: robot dynamics written once. Read it as the textbook, run it at speed, print it as equations."""

import importlib as _importlib
from typing import Any as _Any

from sixd import controllers, cuda, interop, spatial, spatial_v2, zoo
from sixd.actuation.actuation import Actuation
from sixd.actuation.actuators import Motor, Thruster
from sixd.api.bodies import joint_reactions
from sixd.api.constraints import (
    assemble,
    constrained_dynamics,
    constraint_error,
    constraint_forces,
    constraint_jacobian,
    constraint_velocity,
    mobility,
    projections,
)
from sixd.api.derivatives import (
    acceleration_derivatives,
    center_of_mass_derivatives,
    constrained_dynamics_derivatives,
    energy_derivatives,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    momentum_derivatives,
    velocity_derivatives,
)
from sixd.api.dynamics import (
    bias_force,
    center_of_mass,
    centroidal_matrix,
    christoffel,
    composite_inertia,
    coriolis_matrix,
    energy,
    forward_dynamics,
    gravity_force,
    hybrid_dynamics,
    inverse_dynamics,
    inverse_mass_matrix,
    joint_torque_regressor,
    mass_matrix,
    mass_matrix_solve,
    momentum,
)
from sixd.api.frames import (
    acceleration,
    body_poses,
    dynamically_consistent_inverse,
    external_force,
    inverse_operational_inertia,
    jacobian,
    jacobian_rate,
    null_space_projector,
    operational_bias,
    operational_inertia,
    pose,
    velocity,
)
from sixd.api.linearization import Linearization, linearize
from sixd.constraints import Coupling, Distance, Holonomic, KnifeEdge, Loop, Pfaffian, Rolling, RollingSphere
from sixd.drawing import Drawing, draw
from sixd.engine.differentiation import hessian, hvp, jvp, vjp
from sixd.engine.gpu_calls import DeviceKernel
from sixd.engine.kernel import Kernel, compile, export_c
from sixd.engine.patterns import derivative_pattern
from sixd.errors import (
    AssemblyError,
    CacheWarning,
    CompileWarning,
    DeviceError,
    FileError,
    LoadError,
    MissingPackageError,
    ModelError,
    ModelWarning,
    OutOfRangeError,
    ScalarTypeError,
    ShapeError,
    SimulationWarning,
    SingularError,
    SixdError,
    TraceError,
    UnknownNameError,
    WorkerError,
)
from sixd.forces.elements import Applied, Force
from sixd.forces.ground import Ground
from sixd.forces.joint_limits import JointLimits
from sixd.forces.spring_damper import SpringDamper
from sixd.ik.differential import DifferentialIK, differential_ik
from sixd.ik.inverse import InverseKinematics, inverse_kinematics
from sixd.ik.targets import CenterOfMass, Direction, LookAt, Orientation, RelativeTo
from sixd.inspection.check_model import check
from sixd.inspection.compare_models import compare
from sixd.inspection.comparison import Comparison, Difference
from sixd.io import from_dh, load, to_mjcf, to_urdf
from sixd.model import (
    Constraint,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Mimic,
    Model,
    ModelBuilder,
    Planar,
    Prismatic,
    RackAndPinion,
    Revolute,
    Shape,
    Spherical,
    Universal,
)
from sixd.runtime.cache import cache_info, clear_cache
from sixd.runtime.threads import get_num_threads, set_num_threads
from sixd.simulation.ensemble.draws import grid
from sixd.simulation.functions import ensemble, rollout_gradient, simulate, step, step_derivatives
from sixd.simulation.nonsmooth.rigid_ground import RigidGround
from sixd.simulation.nonsmooth.rigid_limits import RigidLimits
from sixd.simulation.scenario import Scenario
from sixd.simulation.stepper import Stepper
from sixd.spatial import (
    Inertia,
    box,
    capsule,
    cone,
    constrained_body,
    cylinder,
    ellipsoid,
    mesh,
    placement,
    point,
    relative_inertia,
    rod,
    sphere,
    tube,
    where,
)
from sixd.symbolic.equations.equations import Equations
from sixd.symbolic.equations.from_energies import lagrange
from sixd.symbolic.equations.from_model import equations
from sixd.symbolic.integrability.holonomic import Integrability, is_holonomic
from sixd.symbolic.lagrange.energies import angular_velocity, body_energy
from sixd.symbolic.lagrange.forces import point_forces
from sixd.symbolic.newton.result import NewtonEuler, newton_euler
from sixd.trajectory.device_trajectory import DeviceTrajectory
from sixd.trajectory.trajectory import State, Trajectory
from sixd.version import __version__
from sixd.viewer import Viewer, picture, view

__all__ = [
    "Actuation",
    "Applied",
    "AssemblyError",
    "CacheWarning",
    "CenterOfMass",
    "Comparison",
    "CompileWarning",
    "Constraint",
    "Coupling",
    "Cylindrical",
    "DeviceError",
    "DeviceKernel",
    "DeviceTrajectory",
    "Difference",
    "DifferentialIK",
    "Direction",
    "Distance",
    "Drawing",
    "Equations",
    "FileError",
    "Fixed",
    "Force",
    "Free",
    "Ground",
    "Helical",
    "Holonomic",
    "Inertia",
    "Integrability",
    "InverseKinematics",
    "Joint",
    "JointLimits",
    "Kernel",
    "KnifeEdge",
    "Linearization",
    "LoadError",
    "LookAt",
    "Loop",
    "Mimic",
    "MissingPackageError",
    "Model",
    "ModelBuilder",
    "ModelError",
    "ModelWarning",
    "Motor",
    "NewtonEuler",
    "Orientation",
    "OutOfRangeError",
    "Pfaffian",
    "Planar",
    "Prismatic",
    "RackAndPinion",
    "RelativeTo",
    "Revolute",
    "RigidGround",
    "RigidLimits",
    "Rolling",
    "RollingSphere",
    "ScalarTypeError",
    "Scenario",
    "Shape",
    "ShapeError",
    "SimulationWarning",
    "SingularError",
    "SixdError",
    "Spherical",
    "SpringDamper",
    "State",
    "Stepper",
    "Thruster",
    "TraceError",
    "Trajectory",
    "Universal",
    "UnknownNameError",
    "Viewer",
    "WorkerError",
    "__version__",
    "acceleration",
    "acceleration_derivatives",
    "angular_velocity",
    "assemble",
    "bias_force",
    "body_energy",
    "body_poses",
    "box",
    "cache_info",
    "capsule",
    "center_of_mass",
    "center_of_mass_derivatives",
    "centroidal_matrix",
    "check",
    "christoffel",
    "clear_cache",
    "compare",
    "compile",
    "composite_inertia",
    "cone",
    "constrained_body",
    "constrained_dynamics",
    "constrained_dynamics_derivatives",
    "constraint_error",
    "constraint_forces",
    "constraint_jacobian",
    "constraint_velocity",
    "controllers",
    "coriolis_matrix",
    "cuda",
    "cylinder",
    "derivative_pattern",
    "differential_ik",
    "draw",
    "dynamically_consistent_inverse",
    "ellipsoid",
    "energy",
    "energy_derivatives",
    "ensemble",
    "equations",
    "export_c",
    "external_force",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "from_dh",
    "get_num_threads",
    "gravity_force",
    "grid",
    "hessian",
    "hvp",
    "hybrid_dynamics",
    "identification",
    "interop",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_kinematics",
    "inverse_mass_matrix",
    "inverse_operational_inertia",
    "is_holonomic",
    "jacobian",
    "jacobian_rate",
    "joint_reactions",
    "joint_torque_regressor",
    "jvp",
    "lagrange",
    "linearize",
    "load",
    "mass_matrix",
    "mass_matrix_solve",
    "mesh",
    "mobility",
    "momentum",
    "momentum_derivatives",
    "newton_euler",
    "null_space_projector",
    "operational_bias",
    "operational_inertia",
    "picture",
    "placement",
    "point",
    "point_forces",
    "pose",
    "projections",
    "relative_inertia",
    "rod",
    "rollout_gradient",
    "set_num_threads",
    "simulate",
    "spatial",
    "spatial_v2",
    "sphere",
    "step",
    "step_derivatives",
    "to_mjcf",
    "to_urdf",
    "tube",
    "velocity",
    "velocity_derivatives",
    "view",
    "vjp",
    "where",
    "zoo",
]


def __getattr__(name: str) -> _Any:
    if name == "identification":  # imported when it is first used: a tenth of the time that the others take
        return _importlib.import_module("sixd.identification")
    raise AttributeError(f"module 'sixd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)  # the public names alone, not the modules that the package is made of
