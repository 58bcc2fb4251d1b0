"""The public names of sixd, for type checkers; written by ``tests/public_stub.py``."""

from sixd import controllers as controllers
from sixd import cuda as cuda
from sixd import identification as identification
from sixd import interop as interop
from sixd import spatial as spatial
from sixd import spatial_v2 as spatial_v2
from sixd import zoo as zoo
from sixd.actuation.actuation import Actuation as Actuation
from sixd.actuation.actuators import Motor as Motor
from sixd.actuation.actuators import Thruster as Thruster
from sixd.api.bodies import joint_reactions as joint_reactions
from sixd.api.constraints import assemble as assemble
from sixd.api.constraints import constrained_dynamics as constrained_dynamics
from sixd.api.constraints import constraint_error as constraint_error
from sixd.api.constraints import constraint_forces as constraint_forces
from sixd.api.constraints import constraint_jacobian as constraint_jacobian
from sixd.api.constraints import constraint_velocity as constraint_velocity
from sixd.api.constraints import mobility as mobility
from sixd.api.constraints import projections as projections
from sixd.api.derivatives import acceleration_derivatives as acceleration_derivatives
from sixd.api.derivatives import center_of_mass_derivatives as center_of_mass_derivatives
from sixd.api.derivatives import constrained_dynamics_derivatives as constrained_dynamics_derivatives
from sixd.api.derivatives import energy_derivatives as energy_derivatives
from sixd.api.derivatives import forward_dynamics_derivatives as forward_dynamics_derivatives
from sixd.api.derivatives import inverse_dynamics_derivatives as inverse_dynamics_derivatives
from sixd.api.derivatives import momentum_derivatives as momentum_derivatives
from sixd.api.derivatives import velocity_derivatives as velocity_derivatives
from sixd.api.dynamics import bias_force as bias_force
from sixd.api.dynamics import center_of_mass as center_of_mass
from sixd.api.dynamics import centroidal_matrix as centroidal_matrix
from sixd.api.dynamics import christoffel as christoffel
from sixd.api.dynamics import composite_inertia as composite_inertia
from sixd.api.dynamics import coriolis_matrix as coriolis_matrix
from sixd.api.dynamics import energy as energy
from sixd.api.dynamics import forward_dynamics as forward_dynamics
from sixd.api.dynamics import gravity_force as gravity_force
from sixd.api.dynamics import hybrid_dynamics as hybrid_dynamics
from sixd.api.dynamics import inverse_dynamics as inverse_dynamics
from sixd.api.dynamics import inverse_mass_matrix as inverse_mass_matrix
from sixd.api.dynamics import joint_torque_regressor as joint_torque_regressor
from sixd.api.dynamics import mass_matrix as mass_matrix
from sixd.api.dynamics import mass_matrix_solve as mass_matrix_solve
from sixd.api.dynamics import momentum as momentum
from sixd.api.frames import acceleration as acceleration
from sixd.api.frames import body_poses as body_poses
from sixd.api.frames import dynamically_consistent_inverse as dynamically_consistent_inverse
from sixd.api.frames import external_force as external_force
from sixd.api.frames import inverse_operational_inertia as inverse_operational_inertia
from sixd.api.frames import jacobian as jacobian
from sixd.api.frames import jacobian_rate as jacobian_rate
from sixd.api.frames import null_space_projector as null_space_projector
from sixd.api.frames import operational_bias as operational_bias
from sixd.api.frames import operational_inertia as operational_inertia
from sixd.api.frames import pose as pose
from sixd.api.frames import velocity as velocity
from sixd.api.linearization import Linearization as Linearization
from sixd.api.linearization import linearize as linearize
from sixd.collision.convex import convex_collisions as convex_collisions
from sixd.collision.distances import ContactPoints as ContactPoints
from sixd.collision.distances import Distances as Distances
from sixd.collision.distances import contact_points as contact_points
from sixd.collision.distances import distance as distance
from sixd.collision.distances import distance_derivatives as distance_derivatives
from sixd.collision.distances import in_collision as in_collision
from sixd.collision.distances import min_distance as min_distance
from sixd.collision.distances import sample_pairs as sample_pairs
from sixd.collision.pairs import CollisionPairs as CollisionPairs
from sixd.collision.pairs import collision_pairs as collision_pairs
from sixd.collision.rays import RayHits as RayHits
from sixd.collision.rays import raycast as raycast
from sixd.constraints.functions import Coupling as Coupling
from sixd.constraints.functions import Holonomic as Holonomic
from sixd.constraints.functions import Pfaffian as Pfaffian
from sixd.constraints.loop import Distance as Distance
from sixd.constraints.loop import Loop as Loop
from sixd.constraints.rolling import KnifeEdge as KnifeEdge
from sixd.constraints.rolling import Rolling as Rolling
from sixd.constraints.rolling import RollingSphere as RollingSphere
from sixd.drawing.drawing import Drawing as Drawing
from sixd.drawing.figure import draw as draw
from sixd.engine.differentiation import hessian as hessian
from sixd.engine.differentiation import hvp as hvp
from sixd.engine.differentiation import jvp as jvp
from sixd.engine.differentiation import vjp as vjp
from sixd.engine.gpu_calls import DeviceKernel as DeviceKernel
from sixd.engine.kernel import Kernel as Kernel
from sixd.engine.kernel import compile as compile
from sixd.engine.kernel import export_c as export_c
from sixd.engine.patterns import derivative_pattern as derivative_pattern
from sixd.errors import AssemblyError as AssemblyError
from sixd.errors import CacheWarning as CacheWarning
from sixd.errors import CompileWarning as CompileWarning
from sixd.errors import DeviceError as DeviceError
from sixd.errors import FileError as FileError
from sixd.errors import LoadError as LoadError
from sixd.errors import MissingPackageError as MissingPackageError
from sixd.errors import ModelError as ModelError
from sixd.errors import ModelWarning as ModelWarning
from sixd.errors import OutOfRangeError as OutOfRangeError
from sixd.errors import ScalarTypeError as ScalarTypeError
from sixd.errors import ShapeError as ShapeError
from sixd.errors import SimulationWarning as SimulationWarning
from sixd.errors import SingularError as SingularError
from sixd.errors import SixdError as SixdError
from sixd.errors import TraceError as TraceError
from sixd.errors import UnknownNameError as UnknownNameError
from sixd.errors import WorkerError as WorkerError
from sixd.forces.elements import Applied as Applied
from sixd.forces.elements import Force as Force
from sixd.forces.ground import Ground as Ground
from sixd.forces.joint_limits import JointLimits as JointLimits
from sixd.forces.spring_damper import SpringDamper as SpringDamper
from sixd.ik.differential import DifferentialIK as DifferentialIK
from sixd.ik.differential import differential_ik as differential_ik
from sixd.ik.inverse import InverseKinematics as InverseKinematics
from sixd.ik.inverse import inverse_kinematics as inverse_kinematics
from sixd.ik.targets import CenterOfMass as CenterOfMass
from sixd.ik.targets import Direction as Direction
from sixd.ik.targets import LookAt as LookAt
from sixd.ik.targets import Orientation as Orientation
from sixd.ik.targets import RelativeTo as RelativeTo
from sixd.inspection.check_model import check as check
from sixd.inspection.compare_models import compare as compare
from sixd.inspection.comparison import Comparison as Comparison
from sixd.inspection.comparison import Difference as Difference
from sixd.io.dh import from_dh as from_dh
from sixd.io.loading import load as load
from sixd.io.mjcf.writer import to_mjcf as to_mjcf
from sixd.io.urdf.writer import to_urdf as to_urdf
from sixd.model import Constraint as Constraint
from sixd.model import Cylindrical as Cylindrical
from sixd.model import Fixed as Fixed
from sixd.model import Free as Free
from sixd.model import Helical as Helical
from sixd.model import Joint as Joint
from sixd.model import Mimic as Mimic
from sixd.model import Model as Model
from sixd.model import ModelBuilder as ModelBuilder
from sixd.model import Planar as Planar
from sixd.model import Prismatic as Prismatic
from sixd.model import RackAndPinion as RackAndPinion
from sixd.model import Revolute as Revolute
from sixd.model import Shape as Shape
from sixd.model import Spherical as Spherical
from sixd.model import Universal as Universal
from sixd.planning.clearances import MotionClearance as MotionClearance
from sixd.planning.clearances import clearance as clearance
from sixd.planning.paths import PlannedPath as PlannedPath
from sixd.planning.paths import plan_path as plan_path
from sixd.runtime.cache import cache_info as cache_info
from sixd.runtime.cache import clear_cache as clear_cache
from sixd.runtime.threads import get_num_threads as get_num_threads
from sixd.runtime.threads import set_num_threads as set_num_threads
from sixd.simulation.ensemble.draws import grid as grid
from sixd.simulation.functions import ensemble as ensemble
from sixd.simulation.functions import rollout_gradient as rollout_gradient
from sixd.simulation.functions import simulate as simulate
from sixd.simulation.functions import step as step
from sixd.simulation.functions import step_derivatives as step_derivatives
from sixd.simulation.nonsmooth.rigid_ground import RigidGround as RigidGround
from sixd.simulation.nonsmooth.rigid_limits import RigidLimits as RigidLimits
from sixd.simulation.scenario import Scenario as Scenario
from sixd.simulation.stepper import Stepper as Stepper
from sixd.spatial import Inertia as Inertia
from sixd.spatial import box as box
from sixd.spatial import capsule as capsule
from sixd.spatial import cone as cone
from sixd.spatial import constrained_body as constrained_body
from sixd.spatial import cylinder as cylinder
from sixd.spatial import ellipsoid as ellipsoid
from sixd.spatial import mesh as mesh
from sixd.spatial import placement as placement
from sixd.spatial import point as point
from sixd.spatial import relative_inertia as relative_inertia
from sixd.spatial import rod as rod
from sixd.spatial import sphere as sphere
from sixd.spatial import tube as tube
from sixd.spatial import where as where
from sixd.symbolic.equations.equations import Equations as Equations
from sixd.symbolic.equations.from_energies import lagrange as lagrange
from sixd.symbolic.equations.from_model import equations as equations
from sixd.symbolic.integrability.holonomic import Integrability as Integrability
from sixd.symbolic.integrability.holonomic import is_holonomic as is_holonomic
from sixd.symbolic.lagrange.energies import angular_velocity as angular_velocity
from sixd.symbolic.lagrange.energies import body_energy as body_energy
from sixd.symbolic.lagrange.forces import point_forces as point_forces
from sixd.symbolic.newton.result import NewtonEuler as NewtonEuler
from sixd.symbolic.newton.result import newton_euler as newton_euler
from sixd.trajectory.device_trajectory import DeviceTrajectory as DeviceTrajectory
from sixd.trajectory.trajectory import State as State
from sixd.trajectory.trajectory import Trajectory as Trajectory
from sixd.version import __version__ as __version__
from sixd.viewer.pictures.pictures import picture as picture
from sixd.viewer.viewer import Viewer as Viewer
from sixd.viewer.viewer import view as view

__all__ = [
    "Actuation",
    "Applied",
    "AssemblyError",
    "CacheWarning",
    "CenterOfMass",
    "CollisionPairs",
    "Comparison",
    "CompileWarning",
    "Constraint",
    "ContactPoints",
    "Coupling",
    "Cylindrical",
    "DeviceError",
    "DeviceKernel",
    "DeviceTrajectory",
    "Difference",
    "DifferentialIK",
    "Direction",
    "Distance",
    "Distances",
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
    "MotionClearance",
    "Motor",
    "NewtonEuler",
    "Orientation",
    "OutOfRangeError",
    "Pfaffian",
    "Planar",
    "PlannedPath",
    "Prismatic",
    "RackAndPinion",
    "RayHits",
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
    "clearance",
    "collision_pairs",
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
    "contact_points",
    "controllers",
    "convex_collisions",
    "coriolis_matrix",
    "cuda",
    "cylinder",
    "derivative_pattern",
    "differential_ik",
    "distance",
    "distance_derivatives",
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
    "in_collision",
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
    "min_distance",
    "mobility",
    "momentum",
    "momentum_derivatives",
    "newton_euler",
    "null_space_projector",
    "operational_bias",
    "operational_inertia",
    "picture",
    "placement",
    "plan_path",
    "point",
    "point_forces",
    "pose",
    "projections",
    "raycast",
    "relative_inertia",
    "rod",
    "rollout_gradient",
    "sample_pairs",
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
