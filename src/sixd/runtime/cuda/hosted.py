"""Compiled steps in time on a GPU, called with arrays in CPU memory: they are copied to it, and the results back."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from sixd.runtime.cuda.device import device
from sixd.runtime.cuda.memory import Buffer
from sixd.runtime.cuda.rollout import DeviceRollout, with_records
from sixd.spatial.scalar import Array


class HostedRollout:
    """A rollout on the GPU of a number, called as ``sixd.runtime.routine.Rollout`` is, with arrays of NumPy."""

    def __init__(self, rollout: DeviceRollout, number: int) -> None:
        self._rollout, self._number = rollout, number
        self.dtype, self.inputs, self.outputs = rollout.dtype, rollout.inputs, rollout.outputs
        self.operations = rollout.operations

    def __call__(self, counts: Any, arrays: Sequence[Array], out: Sequence[Array | None] | None = None) -> list[Array]:
        """Return the outputs (rows, …), those with r records (rows, r, …); ``counts`` (r,): steps before each."""
        where = self._rollout.name
        gpu = device(where, self._number)
        targets = out or [None] * len(self.outputs)
        with contextlib.ExitStack() as stack:

            def buffer(shape: tuple[int, ...]) -> Buffer:
                made = Buffer(where, gpu, shape, self.dtype)
                stack.callback(made.free)
                return made

            given = [buffer(x.shape).write(x) for x in arrays]
            found = [buffer((len(arrays[0]), *with_records(core, len(counts)))) for core in self.outputs]
            self._rollout(counts, given, found)
            return [x.read(target) for x, target in zip(found, targets, strict=True)]
