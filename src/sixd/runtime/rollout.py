"""Rollout: compiled code that advances rows in time, called with arrays on one thread or on several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from sixd.runtime import threads
from sixd.runtime.image import Image, Loaded
from sixd.runtime.python_api import GeneralizedUfunc
from sixd.runtime.routine import LARGE, PIECES, new_array
from sixd.spatial.scalar import Array

Shape = tuple[int, ...]


class Rollout:
    """Code of a recipe for a state and constants of these core shapes; ``operations``: their number in one step."""

    def __init__(
        self,
        image: Image,
        name: str,
        dtype: str,
        state: Sequence[Shape],
        constants: Sequence[Shape],
        operations: int,
        load: Callable[[Image], Loaded] = Loaded,
    ) -> None:
        self.dtype, self.state, self.operations = np.dtype(dtype), tuple(state), operations
        loaded = load(image)
        inputs: list[Any] = [(), ("r",), *state, *constants]
        outputs: list[Any] = [("r", *shape) for shape in state]
        # kept whole, since it owns what the ufunc points to
        self._loop = GeneralizedUfunc(loaded.address("loop"), name, dtype, inputs, outputs, loaded)

    def __call__(
        self,
        counts: Array,
        state: Sequence[Array],
        constants: Sequence[Array],
        out: Sequence[Array | None] | None = None,
    ) -> list[Array]:
        """The states (rows, r, …) at r records, from ``state`` (rows, …); ``counts`` (r,): steps before each record.

        ``constants`` are (rows, …) or (1, …). Arrays of this dtype; each of ``out`` is None or an array of the shape of
        its result, with contiguous records, to write it to.
        """
        rows = len(state[0])
        counts = np.ascontiguousarray(counts, dtype=self.dtype)
        results = [
            new_array((rows, len(counts), *shape), self.dtype) if target is None else target
            for shape, target in zip(self.state, out or [None] * len(self.state), strict=True)
        ]
        given = [np.ascontiguousarray(x, dtype=self.dtype) for x in (*state, *constants)]
        number = np.array(len(counts), dtype=self.dtype)

        def work(cut: slice) -> None:
            part = [x[cut] if len(x) == rows else x for x in given]
            with np.errstate(all="ignore"):
                self._loop.ufunc(number, counts, *part, out=tuple(x[cut] for x in results))

        count = threads.get_num_threads()
        if count == 1 or rows == 1 or rows * self.operations * counts.sum() < LARGE:
            work(slice(None))
        else:
            # whole vectors of rows: an incomplete last vector of a piece would repeat rows
            edges = np.unique(np.linspace(0, rows, count * PIECES + 1)[:-1].astype(int) // VECTOR * VECTOR)
            edges = np.append(edges, rows)
            threads.spread([partial(work, slice(a, b)) for a, b in pairwise(edges)])
        return results


VECTOR = 16  # rows: as many as the widest vectors have
