"""The displacement onto the ground at the end of a step: 0 ≤ φ + G p ⟂ p ≥ 0, by Gauss–Seidel."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.simulation.contact.newton import product
from sixd.simulation.contact.sparse_rows import SparseRows
from sixd.spatial.scalar import Array, absolute, maximum, minimum, where
from sixd.trace.program import Program, trace
from sixd.trace.stages import Stages

CLOSE = {"float64": 1e-9, "float32": 1e-6}  # m: changes of heights in a sweep
# errors of the configuration are small, and are removed in the next steps too
_SWEEPS = 12


class HeightSolver:
    """The displacement of k points and m joint rows, as a call within a recipe."""

    def __init__(self, rows: SparseRows, k: int, m: int, dtype: str) -> None:
        self.rows, self.k, self.m, self.dtype = rows, k, m, dtype
        self.program = self._sweep()

    def __call__(self, stages: Stages, U: Array, phi: Array, pressed: Array, reach: Array, z: Array) -> Array:
        """Return z (nv,) of the displacement after which no point at the heights phi (k,) is below the ground.

        z before is a displacement that takes place anyway; points that are ``pressed`` (k,) end on the ground.
        """
        given = (np.zeros(self.k + self.m), z, 0.0)
        _, z, _ = stages(self.program, *given, U, phi, pressed, reach, most=_SWEEPS)
        return z

    def _sweep(self) -> Program:
        """Return the program (p, z, done, U, φ, pressed, reach) -> (p, z, done) of a sweep of 0 ≤ φ + (U z)_n ⟂ p ≥ 0.

        Of points that are ``pressed`` φ + (U z)_n = 0. Joint rows stay within ``reach`` (2m,), from below and above.
        """
        k, m = self.k, self.m
        shapes: dict[str, tuple[int, ...]] = {"p": (k + m,), "z": (self.rows.nv,), "done": (), "U": (self.rows.size,)}
        shapes |= {"phi": (k,), "pressed": (k,), "reach": (2 * m,)}

        def sweep(p: Array, z: Array, done: Any, entries: Array, phi: Array, pressed: Array, reach: Array) -> Any:
            U, pushes, collected = self.rows.rows(entries), list(p), list(z)
            largest: Any = 0
            for i in range(k + m):
                row = U[3 * i] if i < k else U[2 * k + i]
                response = sum(a * a for a in row.values())
                scale = 1 / where(response > 0, response, 1)
                if i < k:
                    step = -(phi[i] + product(row, collected)) * scale
                    step = where(pressed[i] > 0, step, maximum(-pushes[i], step))
                else:
                    here = product(row, collected)
                    free = here - response * pushes[i]
                    step = (minimum(maximum(free, -reach[2 * (i - k)]), reach[2 * (i - k) + 1]) - here) * scale
                pushes[i] = pushes[i] + step
                for j, a in row.items():
                    collected[j] = collected[j] + a * step
                largest = maximum(largest, absolute(step * response))
            before = done > 0
            return (
                where(before, p, np.array(pushes)),
                where(before, z, np.array(collected)),
                where(before, 1, where(largest >= CLOSE[self.dtype], 0, 1)),
            )

        return trace(sweep, shapes, self.dtype)
