"""Records as they are computed: the states of all rows at some steps, and the arrays that hold them to the end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.errors import ScalarTypeError
from sixd.runtime.routine import new_array
from sixd.simulation.setup import Setup
from sixd.spatial.scalar import Array


class Records(NamedTuple):
    """States at some steps: q (rows, r, nq), qd (rows, r, nv), u (rows, r, nu), sampled forces tau (rows, r, nv)."""

    steps: Array
    q: Array
    qd: Array
    u: Array
    tau: Array | None

    @property
    def last(self) -> Records:
        """A copy of the last record."""
        q, qd, u = (x[:, -1:].copy() for x in (self.q, self.qd, self.u))
        return Records(self.steps[-1:], q, qd, u, None if self.tau is None else self.tau[:, -1:].copy())


class RecordBuffer:
    """Arrays (rows, records, …) for all records of q, qd and u, filled from the first on."""

    def __init__(self, setup: Setup, records: int) -> None:
        system, dtype = setup.problem.system, np.dtype(setup.dtype)
        widths = {"q": system.nq, "qd": system.nv, "u": setup.problem.nu}
        try:
            self.arrays = {name: new_array((setup.rows, records, width), dtype) for name, width in widths.items()}
        except MemoryError:
            raise ScalarTypeError(
                f"{setup.problem.where}: {setup.rows} rows of {records} records do not fit into memory, expected "
                f"fewer. Give record_every, or take the records in pieces by on_chunk."
            ) from None
        self.records, self.used = records, 0

    def next(self, name: str, count: int) -> Array:
        """Return the view for the next ``count`` records of an array.

        They count as used only when ``used`` is raised: a state that is not recorded is overwritten by the next call.
        """
        assert self.used + count <= self.records
        return self.arrays[name][:, self.used : self.used + count]
