"""Open-loop control: joint forces from a table, each held for a sample time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.forces.elements import read_only, set_fields
from sixd.spatial.scalar import Array, ArrayLike, Scalar, is_number, is_object, require_scalars, where

# a sample's time k·Ts, computed as a sum of steps, may be too early by this fraction of Ts
_EARLY = 1e-6
_LONGEST_TRACE = 1000  # numbers; each is an operation of the kernel, and 10⁴ of them compile in a second


@final
@dataclass(frozen=True, eq=False)
class Sequence:
    """tau from a table: line k is held from t = k Ts until the next one, the last line to the end.

    Parameters
    ----------
    tau : (n, nv), or (…, n, nv) with a table for each state of a batch [N m or N].
    sample_time : Ts [s].

    Notes
    -----
    ``sixd.simulate`` reads the sample time from the object and calls ``sample`` once every Ts. The batch of the tables
    broadcasts to that of the states, such as tables (2, 3, n, nv) for states q (2, 3, nq). Inside another controller a
    short table (n, nv) can also be traced; a step that ends on a multiple of Ts then uses the next force in its last
    stage.
    """

    tau: Any
    sample_time: float

    def __post_init__(self) -> None:
        require_scalars("Sequence: tau", self.tau)
        array = np.array(self.tau)
        if array.ndim < 2 or not array.shape[-2]:
            raise ShapeError(f"Sequence: tau has shape {array.shape}, expected (..., n, nv) with n at least 1.")
        if is_object(array) or not np.isfinite(array).all():
            raise ModelError("Sequence: tau holds NaN, infinity or symbols, expected finite numbers.")
        Ts = self.sample_time
        if isinstance(Ts, bool) or not is_number(Ts) or not 0 < Ts < np.inf:
            raise ScalarTypeError(f"Sequence: sample_time is {Ts!r}, expected a positive finite number [s].")
        set_fields(self, tau=read_only(array.astype(float)), sample_time=float(Ts))

    def __call__(self, t: Scalar, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return tau (nv,) at time t [s]; it does not depend on the state."""
        if self.tau.ndim > 2:
            raise ShapeError(
                f"Sequence: tau has shape {self.tau.shape}, a table for each state of a batch, expected (n, nv) for "
                f"one state. Pass the Sequence itself to sixd.simulate, as its controller."
            )
        if is_number(t):
            return self.tau[self._line(t)].copy()
        if self.tau.size > _LONGEST_TRACE:
            raise ModelError(
                f"Sequence: tau has {self.tau.size} numbers, expected at most {_LONGEST_TRACE} in a traced controller. "
                f"Pass the Sequence itself to sixd.simulate, or sample_time={self.sample_time:g} with your controller."
            )
        force: Any = self.tau[0]
        for k, line in enumerate(self.tau[1:], 1):
            force = where(t >= (k - _EARLY) * self.sample_time, line, force)
        return np.asarray(force)

    def sample(self, t: float, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return tau (…, nv) at time t [s] for a batch of states q (…, nq), qd (…, nv)."""
        force, batch = self.tau[..., self._line(t), :], np.shape(q)[:-1]
        try:
            return np.broadcast_to(force, (*batch, force.shape[-1])).copy()
        except ValueError:
            raise ShapeError(
                f"Sequence: tau has the batch {force.shape[:-1]}, expected one that broadcasts to {batch}, that of q."
            ) from None

    def held(self, t: float) -> Array | None:
        """Return tau (nv,), read-only, at time t [s] for one state; None if there is a table for each state."""
        table = self.tau
        if table.ndim != 2:
            return None
        # written out: with calls of _line, min and max a step would take 0.3 us longer
        k, last = t / self.sample_time + _EARLY, len(table) - 1
        return table[0 if k < 0 else last if k >= last else int(k)]

    def _line(self, t: float) -> int:
        k = float(t) / self.sample_time + _EARLY
        return int(min(max(k, 0), self.tau.shape[-2] - 1))
