"""Spatial (6-D) vector algebra: pure functions on small arrays of any scalar.

Motion vectors are [ω; v], force vectors [n; f]. Independent of any robot model.
"""

from sixd.spatial.exponential import adjoint, exp_se3, exp_so3, log_se3, log_so3, product_of_exponentials
from sixd.spatial.inertia import Inertia
from sixd.spatial.motion_constraint import ConstrainedBody, constrained_body, force_subspace, relative_inertia
from sixd.spatial.rotation import (
    axis_rotation,
    quaternion_conjugate,
    quaternion_from_rotation,
    quaternion_from_vector,
    quaternion_multiply,
    quaternion_normalize,
    quaternion_rate,
    quaternion_to_rotation,
    quaternion_to_vector,
    random_quaternion,
    rotation_from_euler,
    rotation_from_rpy,
    rotation_from_vector,
    rotation_to_euler,
    rotation_to_rpy,
    rotation_to_vector,
    skew,
    unit_vector,
    unskew,
)
from sixd.spatial.scalar import (
    absolute,
    acos,
    asin,
    atan2,
    clip,
    cos,
    exp,
    hypot,
    log,
    log1p,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
    where,
)
from sixd.spatial.shapes import box, capsule, cone, cylinder, ellipsoid, mesh, point, rod, sphere, tube
from sixd.spatial.transform import (
    classical_acceleration,
    compose,
    congruence,
    crf,
    crm,
    force_at_point,
    force_transform,
    inverse_pose,
    inverse_transform,
    mirror_upper,
    placement,
    plucker,
    point_acceleration,
    point_velocity,
    pose_from_transform,
    rotate_both,
    rotx,
    roty,
    rotz,
    spatial_acceleration,
    transform_from_pose,
    transform_point,
    xlt,
)

# the functions and classes, not the submodules
__all__ = sorted(name for name, value in vars().items() if callable(value) and not name.startswith("_"))
