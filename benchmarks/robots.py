"""The robots of the benchmarks: files of example-robot-data, and chains of any length.

Only sixd is imported, so that a fresh process can load a robot without the other programs.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sixd

_FOLDER = Path(np.__file__).parent.parent / "cmeel.prefix/share/example-robot-data/robots"

# file; link whose Jacobian is taken; joints locked at 0
_FILES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "wrist_3_link", ()),
    "panda": (
        "panda_description/urdf/panda.urdf",
        "panda_link7",
        ("panda_finger_joint1", "panda_finger_joint2"),
    ),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", "LF_SHANK", ()),
    "talos": ("talos_data/robots/talos_reduced.urdf", "arm_left_7_link", ()),
    "go2": ("go2_description/urdf/go2.urdf", "FL_foot", ()),  # for rigid contact alone
}
ALL = (("ur5", False), ("panda", False), ("anymal", False), ("talos", False), ("anymal", True), ("talos", True))
NAMES = tuple(_FILES)


@dataclass(frozen=True, eq=False)
class Robot:
    """A mechanism without friction, which the others leave out, and with it where its file has some."""

    name: str
    floating: bool
    model: sixd.Model
    frame: str
    path: Path | None = None
    locked: tuple[str, ...] = ()
    with_friction: sixd.Model | None = None

    @property
    def title(self) -> str:
        """The name in tables."""
        return f"{self.name}, floating" if self.floating else self.name


def file_of(name: str) -> Path:
    """The file of one of the robots."""
    return _FOLDER / _FILES[name][0]


def load(name: str, floating: bool = False) -> Robot:
    """One of the robots; the panda has both fingers locked."""
    _, frame, locked = _FILES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.ModelWarning)
        model = sixd.load(file_of(name), floating_base=floating)
        model = model.lock(dict.fromkeys(locked, 0.0)) if locked else model
    rubs = bool(np.any(model.damping) or np.any(model.friction))
    without = model.without_passive()
    return Robot(name, floating, without, frame, file_of(name), locked, model if rubs else None)


def chain(n: int) -> Robot:
    """n equal links on revolute joints, each axis skewed by 0.3 rad to the one before; gravity across the first."""
    model = sixd.zoo.autotree(n, skew=0.3).with_gravity((0.0, -9.81, 0.0))
    return Robot(f"chain of {n}", False, model, f"link{n}")
