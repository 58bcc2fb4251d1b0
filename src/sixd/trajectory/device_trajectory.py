"""DeviceTrajectory: a motion whose arrays are on a GPU; what ``sixd.simulate`` returns for such arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sixd.errors import DeviceError
from sixd.model.system import System
from sixd.runtime.arrays.registry import maker_of
from sixd.spatial.scalar import Array
from sixd.trajectory.arrays import STATES
from sixd.trajectory.trajectory import Trajectory


@dataclass(frozen=True, eq=False, repr=False)
class DeviceTrajectory:
    """A motion on a GPU: records at the times t (r,) [s], of one mechanism or of a batch of them.

    ``t`` is a NumPy array; q (…, r, nq), qd (…, r, nv), tau (…, r, nv) the controller's force at the records,
    ``friction`` (…, r, nv) or None, ``internal`` (…, r, nu) or None, and ``parameters`` (name -> (…, core)) are arrays
    on the GPU, of the library of the initial state (CuPy or PyTorch), as in :class:`Trajectory`. They may still be
    computing when ``simulate`` returns; work on the same stream waits for them. ``facts``: how the motion was made.

    Energies, errors of constraints, figures, tables and files are made on the CPU: :meth:`to_cpu` copies the motion.
    """

    t: Array
    q: Any
    qd: Any
    system: System
    tau: Any
    friction: Any = None
    internal: Any = None
    forces: tuple[Any, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of rollouts, () for a single one."""
        return tuple(self.q.shape[:-2])

    def __len__(self) -> int:
        return len(self.t)

    def to_cpu(self) -> Trajectory:
        """The motion as a :class:`Trajectory` of NumPy arrays; waits until it has been computed."""
        copy = maker_of("Trajectory", self.q).download
        facts = dict(self.facts)
        if "unsolved" in facts:
            facts["unsolved"] = copy(facts["unsolved"]).astype(int).ravel().tolist()
            facts["unsolved"] = facts["unsolved"] if self.batch else facts["unsolved"][0]
        arrays: dict[str, Any] = {name: None if (x := getattr(self, name)) is None else copy(x) for name in STATES}
        parameters = {name: copy(x) for name, x in self.parameters.items()}
        return Trajectory(
            t=np.array(self.t), system=self.system, forces=self.forces, parameters=parameters, facts=facts, **arrays
        )

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(Trajectory, name):
            raise DeviceError(
                f"Trajectory: {name} is made on the CPU, but this motion is on a GPU. Copy it: "
                f"trajectory.to_cpu().{name}."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        batch = f", a batch {self.batch}" if self.batch else ""
        return f"<DeviceTrajectory of {self.system.name!r}: {len(self)} records in {self.t[-1]:g} s{batch}, on a GPU>"
