"""Names and units of the coordinates, velocities and forces of a system, for files, tables and plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sixd.model.joints import Joint
from sixd.model.memo import remember
from sixd.model.model import Model
from sixd.model.system import System

QUATERNION = "1"  # the unit of a quaternion's entries

_RATES = {"rad": "rad/s", "m": "m/s"}
_FORCES = {"rad": "N m", "m": "N"}


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
    columns: list[list[Column]] = [[], [], []]
    for name in system.joint_names:
        joint = _joint(system, name)
        for k, own in enumerate((system.q_slice(name), system.v_slice(name), system.v_slice(name))):
            columns[k] += _columns(name, joint, k, own.stop - own.start)
    return Labels(*map(tuple, columns))


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
    """The columns of a joint in q, qd or tau (k = 0, 1, 2): with numbers for names and no units, unless it has them."""
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    if joint is not None and k == 0:
        names, units = joint.coordinate_names, joint.coordinate_units
    elif joint is not None:
        names, table = joint.dof_names or joint.coordinate_names, _RATES if k == 1 else _FORCES
        names = joint.force_names or names if k == 2 else names
        units = tuple(table.get(unit, "") for unit in joint.dof_units or joint.coordinate_units)
    pairs = zip(names or map(str, range(count)), units or ("",) * count, strict=True)
    return [Column(name if count == 1 else f"{name}.{entry}", name, unit) for entry, unit in pairs]
