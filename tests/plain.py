"""The plain algorithms in place of compiled code: every law and every comparison holds for both."""

import contextlib
import math

import numpy as np

from sixd.algorithms.singular import singular_joints
from sixd.engine import artifact
from sixd.model import Model, memo
from sixd.runtime.routine import CodeForm


@contextlib.contextmanager
def plain_algorithms():
    """Let the public functions run the plain algorithms, even if code was compiled before for the same models."""
    routine, PlainRoutine.rows = artifact.routine, 0
    memo.clear()
    artifact.routine = PlainRoutine
    try:
        yield
    finally:
        artifact.routine = routine
        memo.clear()


class PlainRoutine:
    """Replaces a Routine: evaluates the algorithm on every sample, and has every result checked."""

    def __init__(self, model, request):
        self.model, self.request, self.dtype = model, request, request.dtype

    rows = 0  # the arrays that were evaluated in this test
    code = None

    def quick(self, arrays, out):
        """There is no fast entry."""

    def first_part(self, batch):
        function, model = self.request.function, self.model
        outputs = [np.shape(x) for x in self._sample(*(np.zeros(function.core(model, n)) for n in self.request.arrays))]
        examined = function.solves and isinstance(model, Model)
        singular = singular_joints(model, function.prescribed(self.request.choices)) if examined else ()
        return CodeForm(None, tuple(outputs), 0, tuple(model.joint_index(n) for n in singular))

    def __call__(self, arrays, batch, out):
        cores = [self.request.function.core(self.model, name) for name in self.request.arrays]
        count = math.prod(batch)
        rows = [
            np.broadcast_to(a, batch + c).reshape((count, *c)).astype(float) for a, c in zip(arrays, cores, strict=True)
        ]
        results = [self._sample(*(r[k] for r in rows)) for k in range(count)]
        shapes = self.first_part(batch).outputs
        columns = [np.array([r[j] for r in results], dtype=self.dtype) for j in range(len(shapes))]
        made = [c.reshape(batch + s) for c, s in zip(columns, shapes, strict=True)]
        for place, result in zip(out or (), made, strict=bool(out)):
            place[...] = result
        return [x[()] for x in made] if out is None else list(out), True

    def _sample(self, *row):
        request = self.request
        PlainRoutine.rows += 1
        with np.errstate(all="ignore"):
            result = request.function.row(self.model, request.choices, *request.split(row))
        return result if isinstance(result, tuple) else (result,)
