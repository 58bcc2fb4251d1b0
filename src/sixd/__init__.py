"""sixd: robot dynamics written once. Read it as the textbook, run it at speed, print it as equations."""

from sixd import controllers, interop, spatial, spatial_v2, zoo
from sixd.api import (
    acceleration,
    bias_force,
    body_poses,
    center_of_mass,
    centroidal_matrix,
    christoffel,
    composite_inertia,
    coriolis_matrix,
    energy,
    external_force,
    forward_dynamics,
    gravity_force,
    hybrid_dynamics,
    inverse_dynamics,
    inverse_mass_matrix,
    inverse_operational_inertia,
    jacobian,
    jacobian_rate,
    mass_matrix,
    mass_matrix_solve,
    momentum,
    operational_inertia,
    pose,
    velocity,
)
from sixd.check import check
from sixd.constrained_api import (
    assemble,
    constrained_dynamics,
    constraint_error,
    constraint_forces,
    constraint_jacobian,
    constraint_velocity,
    mobility,
    projections,
)
from sixd.constraints import Coupling, Distance, Holonomic, KnifeEdge, Loop, Pfaffian, Rolling, RollingSphere
from sixd.errors import (
    AssemblyError,
    CacheWarning,
    CompileWarning,
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
from sixd.io import from_dh, load, to_urdf
from sixd.kernel import Kernel, compile, export_c
from sixd.linearize import Linearization, linearize
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
from sixd.simulation.contact import Ground
from sixd.simulation.draws import grid
from sixd.simulation.ensemble import ensemble
from sixd.simulation.forces import Applied, Force
from sixd.simulation.limits import JointLimits
from sixd.simulation.simulate import simulate, step
from sixd.simulation.springs import SpringDamper
from sixd.simulation.trajectory import State, Trajectory
from sixd.spatial import (
    Inertia,
    box,
    capsule,
    cone,
    cylinder,
    ellipsoid,
    mesh,
    placement,
    point,
    rod,
    sphere,
    tube,
    where,
)
from sixd.symbolic.actuation import Actuation
from sixd.symbolic.actuators import Motor, Thruster
from sixd.symbolic.bodies import angular_velocity, body_energy
from sixd.symbolic.derive import equations
from sixd.symbolic.equations import Equations
from sixd.symbolic.forces import point_forces
from sixd.symbolic.holonomic import Integrability, is_holonomic
from sixd.symbolic.lagrange import lagrange
from sixd.view import Viewer, view

__version__ = "0.1.0"
