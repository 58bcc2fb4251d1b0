"""Robot files of the test packages, and Pinocchio's view of them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import sixd
from peers import pin

SITE = Path(np.__file__).parent.parent
ROBOTS = SITE / "cmeel.prefix/share/example-robot-data/robots"
RTB = SITE / "rtbdata"
DM_CONTROL = SITE / "dm_control"

FIVE = {
    "ur5": ROBOTS / "ur_description/urdf/ur5_robot.urdf",
    "panda": ROBOTS / "panda_description/urdf/panda.urdf",
    "anymal": ROBOTS / "anymal_b_simple_description/robots/anymal.urdf",
    "talos": ROBOTS / "talos_data/robots/talos_reduced.urdf",
    "simple_humanoid": ROBOTS / "simple_humanoid_description/urdf/simple_humanoid.urdf",
}


def all_urdfs() -> list[Path]:
    return sorted([*ROBOTS.rglob("*.urdf"), *RTB.rglob("*.urdf")])


def require_file(path: Path) -> Path:
    """Return the path, or skip the test if the robot file is not installed."""
    if not path.exists():
        pytest.skip(f"{path.relative_to(SITE)} is not installed: pip install example-robot-data rtb-data dm-control")
    return path


def quiet_load(source, **options) -> sixd.Model:
    """Load a file without its warnings."""
    if isinstance(source, Path) and source.is_relative_to(SITE):
        require_file(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.ModelWarning)
        return sixd.load(source, **options)


def pinocchio_model(path: Path, *, floating: bool = False):
    """Return Pinocchio's model of a file, or None if it cannot load it; its messages on stderr are dropped."""
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        return pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    except (ValueError, RuntimeError):
        return None
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


class ByName:
    """Maps states between a sixd model and Pinocchio's by joint name, as the two conventions define them."""

    def __init__(self, model: sixd.Model, pinocchio) -> None:
        self.model, self.pinocchio = model, pinocchio
        self.columns = np.zeros(model.nv, dtype=int)  # sixd's DoF -> Pinocchio's
        for name in model.joint_names:
            joint = pinocchio.joints[pinocchio.getJointId(name)]
            columns = np.arange(joint.idx_v, joint.idx_v + joint.nv)
            if isinstance(model.joint(name).joint, sixd.Free):
                columns = np.roll(columns, 3)  # angular first
            self.columns[model.v_slice(name)] = columns

    def q(self, q):
        out = pin.neutral(self.pinocchio)
        for name in self.model.joint_names:
            joint, x = self.pinocchio.joints[self.pinocchio.getJointId(name)], q[self.model.q_slice(name)]
            if isinstance(self.model.joint(name).joint, sixd.Free):
                x = np.concatenate([x[4:], x[1:4], x[:1]])
            elif joint.nq == 2:
                x = np.array([np.cos(x[0]), np.sin(x[0])])
            out[joint.idx_q : joint.idx_q + joint.nq] = x
        return out

    def v(self, v):
        out = np.zeros(self.pinocchio.nv)
        out[self.columns] = v
        return out

    def back(self, x):
        """Return Pinocchio's vector or square matrix in sixd's order."""
        return x[self.columns] if x.ndim == 1 else x[np.ix_(self.columns, self.columns)]
