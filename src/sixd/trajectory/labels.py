"""Names and units of the coordinates, velocities and forces of a system: for files, tables and pictures."""

from __future__ import annotations

from typing import Any, NamedTuple

from sixd.model.joints import (
    Cylindrical,
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
from sixd.model.system import System

# of each joint: a word and a unit for every coordinate, then for every freedom, then for its force; a joint of one
# freedom needs no word. What is not listed has numbers for words, and no units
_KINDS: dict[type[Joint], tuple[str, str, str]] = {
    Revolute: (":rad", ":rad/s", ":N m"),
    Prismatic: (":m", ":m/s", ":N"),
    Helical: (":rad", ":rad/s", ":N m"),
    RackAndPinion: (":rad", ":rad/s", ":N m"),
    Cylindrical: ("turn:rad,slide:m", "turn:rad/s,slide:m/s", "turn:N m,slide:N"),
    Universal: ("x:rad,y:rad", "x:rad/s,y:rad/s", "x:N m,y:N m"),
    Planar: ("theta:rad,x:m,y:m", "theta:rad/s,x:m/s,y:m/s", "theta:N m,x:N,y:N"),
    Spherical: ("qw:1,qx:1,qy:1,qz:1", "wx:rad/s,wy:rad/s,wz:rad/s", "nx:N m,ny:N m,nz:N m"),
    Free: (
        "qw:1,qx:1,qy:1,qz:1,x:m,y:m,z:m",
        "wx:rad/s,wy:rad/s,wz:rad/s,vx:m/s,vy:m/s,vz:m/s",
        "nx:N m,ny:N m,nz:N m,fx:N,fy:N,fz:N",
    ),
}


class Column(NamedTuple):
    """One entry of q, qd or tau: "elbow", "base.qw", …, its joint, and its unit ("1" of quaternions, "" unknown)."""

    name: str
    joint: str
    unit: str = ""


class Labels(NamedTuple):
    """The entries of q (nq), qd and tau (nv each)."""

    q: tuple[Column, ...]
    qd: tuple[Column, ...]
    tau: tuple[Column, ...]

    def names(self, what: str) -> tuple[str, ...]:
        """Names of the entries of "q", "qd" or "tau"."""
        return tuple(column.name for column in getattr(self, what))


UNKNOWN = Labels((), (), ())  # to be found


def labels_of(system: System) -> Labels:
    """The labels of a system's entries; a Lagrangian system's are those of its coordinates, without units."""
    columns: list[tuple[Column, ...]] = []
    for k in range(3):
        found: list[Column] = []
        for name in system.joint_names:
            place = (system.v_slice if k else system.q_slice)(name)
            found += _columns(name, _joint(system, name), k, place.stop - place.start)
        columns.append(tuple(found))
    return Labels(*columns)


def numbered(nq: int, nv: int) -> Labels:
    """The labels of a system of which nothing is known."""
    q, v = (tuple(Column(str(k), str(k)) for k in range(n)) for n in (nq, nv))
    return Labels(q, v, v)


def tree_behind(system: Any) -> Model | None:
    """The tree of bodies that a reduced model or equations were made of, or the tree itself; None if there is none."""
    while system is not None and not isinstance(system, Model):
        system = getattr(system, "model", None)
    return system


def _joint(system: System, name: str) -> Joint | None:
    """The joint of that name, in the tree that lies behind a system, if there is one."""
    tree = tree_behind(system)
    return tree.joint(name).joint if tree is not None and name in tree.joint_names else None


def _columns(name: str, joint: Joint | None, k: int, count: int) -> list[Column]:
    known = _KINDS.get(type(joint)) if joint is not None else None
    words = [f"{n}:" for n in range(count)] if known is None else known[k].split(",")
    pairs = [word.split(":") for word in words]
    return [Column(name if count == 1 else f"{name}.{word}", name, unit) for word, unit in pairs]
