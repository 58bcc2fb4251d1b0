"""Trajectory: a motion in time, of one mechanism or of a batch of them; what ``sixd.simulate`` returns.

Time is the axis before the last. Quantities that follow from the states are computed on first use and kept. Knows no
method of integration. Files and tables are in ``storage``, figures in ``plotting``; both are imported on first use.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.errors import ModelError, OutOfRangeError, ScalarTypeError, ShapeError
from sixd.model.system import System, library
from sixd.spatial.scalar import Array, ArrayLike
from sixd.trajectory import derived
from sixd.trajectory.arrays import checked_fields, finite_rollouts, float_array, joined, mapped, select_rollouts
from sixd.trajectory.interpolation import interpolate
from sixd.trajectory.labels import UNKNOWN, Labels
from sixd.trajectory.printing import describe, describe_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from sixd.forces.elements import Force


class State(NamedTuple):
    """One record: time [s], q (…, nq), qd (…, nv) and the controller's force tau (…, nv), or None."""

    t: float
    q: Array
    qd: Array
    tau: Array | None


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """A motion: records at the times t (r,) [s], ascending, of one mechanism or of a batch of them.

    q (…, r, nq), qd (…, r, nv), tau (…, r, nv) the controller's force at the records, or None; ``friction`` (…, r, nv)
    the mean force of dry friction in the step before each record, None where no joint has any; ``internal`` (…, r, nu)
    the states of the elements in ``forces``; ``parameters`` name -> (…, core), one set per rollout. ``system`` is the
    system that moves, None after ``load`` without one. ``facts``: how the motion was made (dt, method, …);
    ``interrupted``: whether it ended early. ``known``: those of kinetic, potential and constraint_error that need not
    be computed; ``dataclasses.replace`` drops them if the states, the system or the parameters change.

    ``kinetic``, ``potential``, ``energy`` (…, r) [J] and ``constraint_error`` (…, r) follow from the states. The
    potential energy is that of gravity and of the joints' springs, without what the elements in ``forces`` store.

    ``len``, ``traj[k]`` (a ``State``), ``traj[a:b:s]``, iteration over records; ``row(i)``, ``rows``, ``at(t)``.
    """

    t: Array
    q: Array
    qd: Array
    system: System | None = None
    tau: Array | None = None
    internal: Array | None = None
    forces: tuple[Force, ...] = ()
    parameters: Mapping[str, Array] = field(default_factory=dict)
    interrupted: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
    known: Mapping[str, Array] = field(default_factory=dict)
    labels: Labels = field(default_factory=lambda: UNKNOWN)
    friction: Array | None = None

    def __post_init__(self) -> None:
        for name, value in checked_fields(self).items():
            object.__setattr__(self, name, value)

    # shape ----------------------------------------------------------------------------------------

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of rollouts, () for a single one."""
        return self.q.shape[:-2]

    @property
    def duration(self) -> float:
        """Time [s] from the first record to the last."""
        return float(self.t[-1] - self.t[0]) if len(self.t) else 0.0

    @property
    def failed(self) -> int:
        """Number of rollouts with a q or qd that is not finite at the end.

        A rollout that blew up may still have finite states, but so large that their energy is not finite: ``energy``
        and the printed trajectory show that.
        """
        return int(np.sum(~finite_rollouts(self)))

    def __len__(self) -> int:
        return len(self.t)

    # parts ----------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        """``traj[k]``: the record k, a ``State``; ``traj[a:b:s]``: a trajectory of some of the records."""
        if isinstance(index, slice):
            self._require_slice(index)
            return mapped(self, lambda x: x[..., index, :], lambda x: x[..., index], t=self.t[index])
        try:
            k = operator.index(index)
        except TypeError:
            raise ScalarTypeError(
                f"Trajectory: the index is {index!r}, expected a whole number or a slice. For rollouts of a batch use "
                f".row(i), for times .at(t)."
            ) from None
        if not -len(self) <= k < len(self):
            raise OutOfRangeError(f"Trajectory: no record {k}, expected {-len(self)} … {len(self) - 1}.")
        tau = None if self.tau is None else self.tau[..., k, :]
        return State(float(self.t[k]), self.q[..., k, :], self.qd[..., k, :], tau)

    def __iter__(self) -> Iterator[State]:
        return (self[k] for k in range(len(self)))

    def row(self, index: Any) -> Trajectory:
        """One rollout of a batch, by its number (or a tuple with one for each dimension of the batch).

        A slice, a list of numbers or a mask gives a smaller batch.
        """
        return select_rollouts(self, index)

    @property
    def rows(self) -> Iterator[Trajectory]:
        """The rollouts of a batch, one after the other; the trajectory itself if it has no batch."""
        return (self.row(i) for i in np.ndindex(self.batch)) if self.batch else iter((self,))

    @classmethod
    def concatenate(cls, parts: Iterable[Trajectory]) -> Trajectory:
        """Join pieces of one motion in time; a record that repeats the end of the piece before is dropped."""
        return joined(list(parts))

    # derived quantities -------------------------------------------------------------------------------

    @cached_property
    def _energies(self) -> tuple[Array, Array]:
        return derived.energies(self._require_system("energy"), self.q, self.qd, self.parameters)

    @cached_property
    def kinetic(self) -> Array:
        """Kinetic energy (…, r) [J], that of the armature included."""
        return self.known["kinetic"] if "kinetic" in self.known else self._energies[0]

    @cached_property
    def potential(self) -> Array:
        """Potential energy (…, r) [J] of gravity and of the joints' springs, without the elements in ``forces``."""
        return self.known["potential"] if "potential" in self.known else self._energies[1]

    @cached_property
    def energy(self) -> Array:
        """Total energy (…, r) [J]: kinetic and potential."""
        with np.errstate(invalid="ignore", over="ignore"):  # NaN where a rollout blew up
            return self.kinetic + self.potential

    @cached_property
    def constraint_error(self) -> Array:
        """Largest |φ| (…, r) of the constraints, each in its own unit; zero without constraints."""
        if "constraint_error" in self.known:
            return self.known["constraint_error"]
        return derived.constraint_errors(self._require_system("constraint_error"), self.q, self.parameters)

    def contacts(self) -> list[tuple[str, Array, Array]]:
        """(name, points (…, r, k, 3) [m], forces (…, r, k, 3) [N]) of each force element with contacts, in world axes.

        The list is empty without such elements, also after ``load`` without ``forces``.
        """
        return derived.contacts(self._require_system("contacts"), self) if self.forces else []

    def at(self, t: ArrayLike) -> tuple[Array, Array]:
        """(q, qd) at a time, each (…, n), or at times (m,), each (…, m, n), interpolated on the manifold.

        The interpolation is a cubic between neighbouring records that uses their velocities: q and qd are exact at the
        records, qd is the velocity of q, and where the motion is smooth the errors are of order h⁴ in q and h³ in qd
        for records h apart. Orientations must rotate by less than half a turn from record to record.
        """
        system = self._require_system("at")
        times = float_array("time", t)
        if times.ndim > 1:
            raise ShapeError(f"at: t has shape {times.shape}, expected one time, or times (m,).")
        if len(self):  # a sum of steps may miss the end by rounding
            ends = self.t[[0, -1]]
            slack = 1e-12 * np.abs(ends).max()
            wrong = ~((times >= ends[0] - slack) & (times <= ends[1] + slack))
            times = np.where(wrong, times, np.clip(times, *ends))
        else:
            wrong = np.ones(times.shape, dtype=bool)
        if wrong.any():
            span = f"{self.t[0]} … {self.t[-1]} s" if len(self) else "records, of which there are none"
            raise OutOfRangeError(f"at: t is {np.extract(wrong, times)[0]} s, expected a time within {span}.")
        if len(self) == 1:
            q, qd = (np.repeat(x, times.size, axis=-2) for x in (self.q, self.qd))
        else:
            q, qd = interpolate(system, self.t, self.q, self.qd, np.atleast_1d(times), self.parameters)
        return (q, qd) if times.ndim else (q[..., 0, :], qd[..., 0, :])

    # files, tables, figures ---------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trajectory to a file, ``.npz`` or ``.csv``: see ``sixd.trajectory.storage``."""
        from sixd.trajectory.storage import save

        save(self, path)

    @staticmethod
    def load(
        path: str | os.PathLike[str], system: System | None = None, *, forces: Force | Iterable[Force] = ()
    ) -> Trajectory:
        """Read a trajectory from a file that ``save`` wrote; a ``system`` must have the coordinates named in the file.

        ``forces``: the elements that acted, or a single one. Without a system the energies are those of the file, and
        ``at`` and ``contacts`` raise an error.
        """
        from sixd.trajectory.storage import load

        return load(Trajectory, path, system, forces)

    def to_pandas(self) -> DataFrame:
        """Return the records as a pandas DataFrame with the columns of the CSV file."""
        from sixd.trajectory.storage import to_pandas

        return to_pandas(self)

    def plot(
        self, what: Sequence[str] | None = None, joints: Sequence[str] | None = None, show: bool | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Figure:  # fmt: skip
        """Draw the motion as a matplotlib figure: see ``sixd.trajectory.plotting.plot``."""
        from sixd.trajectory.plotting import plot

        return plot(self, what, joints, show, path)

    def to_video(
        self, path: str | os.PathLike[str], fps: float = 30.0, size: Sequence[int] = (640, 480), *, speed: float = 1.0,
        camera: Mapping[str, Any] | None = None, renderer: str | None = None, collisions: bool = False,
        distances: bool | float = False, pairs: Any = None,
    ) -> Path:  # fmt: skip
        """Write the motion as a video, .mp4 (by the program ffmpeg) or .gif (by pillow), and return its path.

        ``fps`` pictures a second of ``size``, width and height [pixels]; ``speed`` 0.5 plays it at half its speed. A
        mechanism that leaves the picture is followed. ``camera``, ``renderer`` and what follows are as in
        ``sixd.picture``.
        """
        system = self._require_system("to_video")
        options = camera, renderer, collisions, distances, pairs
        return library("write_video")(self, system, path, fps, size, speed, *options)

    # checks and text ----------------------------------------------------------------------------------

    @staticmethod
    def _require_slice(index: slice) -> None:
        """Raise unless the slice keeps the records in the order of their times."""
        try:
            step = index.indices(0)[2]
        except TypeError:
            raise ScalarTypeError(f"Trajectory: the index is {index!r}, expected whole numbers in a slice.") from None
        except ValueError:
            step = 0
        if step < 1:
            raise OutOfRangeError(
                f"Trajectory: the step of a slice is {step}, expected at least 1: records in the order of their times."
            )

    def _require_system(self, where: str) -> System:
        if self.system is None:
            raise ModelError(
                f"{where}: the trajectory has no system, expected one. Load it with Trajectory.load(path, system)."
            )
        return self.system

    def __repr__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        """A table for notebooks: the printed line and the range of each coordinate."""
        return describe_html(self)
