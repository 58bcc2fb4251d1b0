"""Conversion of states to the coordinates of Pinocchio and MuJoCo, and back."""

from sixd.interop.states import from_mujoco, from_pinocchio, to_mujoco, to_pinocchio
