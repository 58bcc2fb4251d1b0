"""States of other programs: the same motion in Pinocchio's and MuJoCo's coordinates, and back."""

from sixd.interop.states import from_mujoco, from_pinocchio, to_mujoco, to_pinocchio
