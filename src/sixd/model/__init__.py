"""Mechanisms: joints, the frozen Model, its builder and its checks."""

from sixd.model import edit  # registers the functions behind methods of Model
from sixd.model.builder import ModelBuilder
from sixd.model.constraint import Constraint, Mimic
from sixd.model.joints import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    RackAndPinion,
    Revolute,
    Spherical,
    Universal,
)
from sixd.model.model import Model
from sixd.model.parts import Collision, Finding, Frame, JointRecord, Shape, Visual
from sixd.model.tree import Tree
