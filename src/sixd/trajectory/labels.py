"""Names and units of the coordinates, velocities and forces of a system, for files, tables and plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sixd.model import joints
from sixd.model.joints import Joint
from sixd.model.memo import remember
from sixd.model.model import Model
from sixd.model.system import System

QUATERNION = "1"  # the unit of a quaternion's entries

# of each joint: name:unit of every coordinate, of every degree of freedom, and of its force; a joint of one DoF needs
# no name. Joints that are not listed have numbers for names, and no units
_KINDS: dict[type[Joint], tuple[str, str, str]] = {
    joints.Revolute: (":rad", ":rad/s", ":N m"),
    joints.Prismatic: (":m", ":m/s", ":N"),
    joints.Helical: (":rad", ":rad/s", ":N m"),
    joints.RackAndPinion: (":rad", ":rad/s", ":N m"),
    joints.Cylindrical: ("turn:rad,slide:m", "turn:rad/s,slide:m/s", "turn:N m,slide:N"),
    joints.Universal: ("x:rad,y:rad", "x:rad/s,y:rad/s", "x:N m,y:N m"),
    joints.Planar: ("theta:rad,x:m,y:m", "theta:rad/s,x:m/s,y:m/s", "theta:N m,x:N,y:N"),
    joints.Spherical: ("qw:1,qx:1,qy:1,qz:1", "wx:rad/s,wy:rad/s,wz:rad/s", "nx:N m,ny:N m,nz:N m"),
    joints.Free: (
        "qw:1,qx:1,qy:1,qz:1,x:m,y:m,z:m",
        "wx:rad/s,wy:rad/s,wz:rad/s,vx:m/s,vy:m/s,vz:m/s",
        "nx:N m,ny:N m,nz:N m,fx:N,fy:N,fz:N",
    ),
}


class Column(NamedTuple):
    """One entry of q, qd or tau: "elbow", "base.qw", …, its joint, and its unit ("1" for quaternions, "" unknown)."""

    name: str
    joint: str
    unit: str = ""

    @property
    def shown_unit(self) -> str:
        """The unit as tables show it: nothing for a quaternion."""
        return "" if self.unit == QUATERNION else self.unit


class Labels(NamedTuple):
    """The entries of q (nq), qd and tau (nv each)."""

    q: tuple[Column, ...]
    qd: tuple[Column, ...]
    tau: tuple[Column, ...]

    def names(self, what: str) -> tuple[str, ...]:
        """Names of the entries of "q", "qd" or "tau"."""
        return tuple(column.name for column in getattr(self, what))


UNKNOWN = Labels((), (), ())  # replaced by the labels of the system


def by_unit(columns: Sequence[Column]) -> dict[str, list[tuple[int, Column]]]:
    """Return unit -> the columns in that unit, each with its index: what one plot may show on a common axis."""
    groups: dict[str, list[tuple[int, Column]]] = {}
    for k, column in enumerate(columns):
        groups.setdefault(column.unit, []).append((k, column))
    return groups


def labels_of(system: System) -> Labels:
    """Return the labels of a system's entries; those of a Lagrangian system are its coordinates, without units."""
    return remember(system, "labels", lambda: _labels(system))


def _labels(system: System) -> Labels:
    columns: list[tuple[Column, ...]] = []
    for k in range(3):
        entries: list[Column] = []
        for name in system.joint_names:
            own = (system.v_slice if k else system.q_slice)(name)
            entries += _columns(name, _joint(system, name), k, own.stop - own.start)
        columns.append(tuple(entries))
    return Labels(*columns)


def numbered(nq: int, nv: int) -> Labels:
    """Return numbers as labels, for a trajectory without a system."""
    q, v = (tuple(Column(str(k), str(k)) for k in range(n)) for n in (nq, nv))
    return Labels(q, v, v)


def tree_behind(system: object) -> Model | None:
    """Return the model that a reduced model or equations were made from, or the model itself; None without a model."""
    while system is not None and not isinstance(system, Model):
        system = getattr(system, "model", None)
    return system


def _joint(system: System, name: str) -> Joint | None:
    """The joint of that name in the model behind a system, if there is one."""
    tree = tree_behind(system)
    return tree.joint(name).joint if tree is not None and name in tree.joint_names else None


def _columns(name: str, joint: Joint | None, k: int, count: int) -> list[Column]:
    known = _KINDS.get(type(joint)) if joint is not None else None
    texts = [f"{n}:" for n in range(count)] if known is None else known[k].split(",")
    pairs = [text.split(":") for text in texts]
    return [Column(name if count == 1 else f"{name}.{entry}", name, unit) for entry, unit in pairs]
