"""The plain algorithms in the place of compiled code: every law and oracle holds for both."""

import contextlib
import importlib
import math

import numpy as np

from sixd.algorithms.singular import singular_joints
from sixd.model import Model
from sixd.runtime.routine import Part

evaluate = importlib.import_module("sixd.engine.evaluate")
junction = importlib.import_module("sixd.engine.artifact")


@contextlib.contextmanager
def plain_algorithms():
    """The public functions run the plain algorithms, whatever was compiled before for the same models.

    Calls of one row find their code by model and function, in tables that the functions hold: these are emptied in
    place, and filled again at the end. Models with code are kept meanwhile, so that no other gets their place in memory.
    """
    alive = [reference() for reference in junction._ALIVE.values()]
    entries = {name: dict(table) for name, table in junction.ENTRIES.items()}
    routine, shortcuts, PlainRoutine.rows = evaluate.routine, evaluate.SHORTCUTS, 0
    for table in junction.ENTRIES.values():
        table.clear()
    evaluate.routine, evaluate.SHORTCUTS = PlainRoutine, {}
    try:
        yield
    finally:
        evaluate.routine, evaluate.SHORTCUTS = routine, shortcuts
        for name, table in junction.ENTRIES.items():
            table.clear()
            table.update(entries.get(name, {}))
        del alive


class PlainRoutine:
    """Stands for a Routine: evaluates the algorithm on every row, and has every result looked at."""

    def __init__(self, model, request):
        self.model, self.request, self.dtype = model, request, request.dtype

    has_entry = False
    rows = 0  # that were evaluated in this test

    def entry(self, *arrays):
        """No short way in."""

    def quick(self, arrays, out):
        """No short way in."""

    def first_part(self, batch):
        function, model = self.request.function, self.model
        outputs = [np.shape(x) for x in self._row(*(np.zeros(function.core(model, n)) for n in self.request.arrays))]
        judged = function.solves and isinstance(model, Model)
        singular = singular_joints(model, function.prescribed(self.request.choices)) if judged else ()
        return Part(None, tuple(outputs), 0, tuple(model.joint_index(n) for n in singular))

    def __call__(self, arrays, batch, out):
        cores = [self.request.function.core(self.model, name) for name in self.request.arrays]
        count = math.prod(batch)
        rows = [
            np.broadcast_to(a, batch + c).reshape((count, *c)).astype(float) for a, c in zip(arrays, cores, strict=True)
        ]
        results = [self._row(*(r[k] for r in rows)) for k in range(count)]
        shapes = self.first_part(batch).outputs
        columns = [np.array([r[j] for r in results], dtype=self.dtype) for j in range(len(shapes))]
        made = [c.reshape(batch + s) for c, s in zip(columns, shapes, strict=True)]
        for place, result in zip(out or (), made, strict=bool(out)):
            place[...] = result
        return [x[()] for x in made] if out is None else list(out), True

    def _row(self, *row):
        request = self.request
        PlainRoutine.rows += 1
        with np.errstate(all="ignore"):
            result = request.function.row(self.model, request.choices, *request.split(row))
        return result if isinstance(result, tuple) else (result,)
