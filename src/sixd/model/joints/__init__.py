"""Joints: how a body can move relative to its parent."""

from sixd.model.joints.base import Joint, parameters_of, replace_parameters, with_numbers
from sixd.model.joints.quaternion import Free, Spherical
from sixd.model.joints.simple import Cylindrical, Fixed, Helical, Prismatic, Revolute
from sixd.model.joints.varying import Planar, RackAndPinion, Universal
from sixd.model.joints.verify import has_constant_subspace, verify_joint

BUILT_IN = (Fixed, Revolute, Prismatic, Helical, Cylindrical, Universal, Planar, Spherical, Free, RackAndPinion)
