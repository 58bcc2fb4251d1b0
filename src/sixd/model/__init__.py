"""Mechanisms: joints, the frozen Model, its builder and its checks."""

from sixd.model import edit  # gives Model the methods that need a builder
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
from sixd.model.parts import Finding, Frame, JointRecord, Shape, Visual
from sixd.model.tree import Tree
