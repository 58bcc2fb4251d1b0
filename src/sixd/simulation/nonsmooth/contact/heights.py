"""The displacement onto the ground at the end of a step: 0 ≤ φ + G p ⟂ p ≥ 0, by Gauss–Seidel or active sets.

Two points of one foot that are pressed onto the ground are close to each other: sweeps over them converge slowly, and
12 % of the problems of a go2 on 16 points reached the limit of 12. Once it is known which points push, the pushes
follow directly, with the matrix 1 + Uᵀ D U as in ``newton.py``: 1.2 times for a vector of 8 rows, of 4,600 operations
each, where 8.4 sweeps of 1,100 left heights of up to 1e-5 m. For few points sweeps cost less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.simulation.nonsmooth.contact.derivatives import height_derivative
from sixd.simulation.nonsmooth.contact.newton import MANY, product, solved_symmetric
from sixd.simulation.nonsmooth.contact.sparse_rows import SparseRows
from sixd.spatial.scalar import Array, absolute, maximum, minimum, where
from sixd.trace.program import Program, trace
from sixd.trace.stages import Stages

CLOSE = {"float64": 1e-9, "float32": 1e-6}  # m: changes of heights in a sweep
# errors of the configuration are small, and are removed in the next steps too
_SWEEPS = 12
_SETS = 4
_SOFT = {"float64": 1e-6, "float32": 1e-3}  # part of a point's response, as in newton.py


class HeightSolver:
    """The displacement of k points and m joint rows, as a call within a recipe."""

    def __init__(self, rows: SparseRows, k: int, m: int, dtype: str) -> None:
        self.rows, self.k, self.m, self.dtype = rows, k, m, dtype
        self.most, self.program = (_SETS, self._set()) if k >= MANY and not m else (_SWEEPS, self._sweep())

    def __call__(self, stages: Stages, U: Array, phi: Array, pressed: Array, reach: Array, z: Array) -> Array:
        """Return z (nv,) of the displacement after which no point at the heights phi (k,) is below the ground. z before
        is a displacement that takes place anyway; points that are ``pressed`` (k,) end on the ground."""
        state = (np.zeros(self.k + self.m), z, 0.0)
        known = U, phi, pressed, reach, z
        _, z, _ = stages(self.program, *state, *known, most=self.most, smooth=self._derivative)
        return z

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of what an iteration reads: first what it replaces, then what is known."""
        k, m, z = self.k, self.m, (self.rows.nv,)
        known = {"U": (self.rows.size,), "phi": (k,), "pressed": (k,), "reach": (2 * m,), "start": z}
        return {"p": (k + m,), "z": z, "done": (), **known}

    def _derivative(self) -> Program:
        return height_derivative(self.rows, self.k, self._shapes, self.dtype)

    def _set(self) -> Program:
        """Return the program (p, z, done, U, φ, pressed, reach, start) -> (p, z, done) of one set that pushes."""
        k = self.k

        def once(
            p: Array, z: Array, done: Any, entries: Array, phi: Array, pressed: Array, reach: Array, _: Any
        ) -> Any:
            U = self.rows.rows(entries)[: 3 * k : 3]
            heights = [y + product(row, z) for y, row in zip(phi, U, strict=True)]
            responses = [sum(a * a for a in row.values()) for row in U]
            safe = [where(B > 0, B, 1) for B in responses]
            pushes = [where(pressed[i] > 0, 1, where(p[i] * safe[i] > heights[i], 1, 0)) for i in range(k)]
            stiff = [pushes[i] / (safe[i] * _SOFT[self.dtype]) for i in range(k)]
            change = [where(pushes[i] > 0, -heights[i] * stiff[i], -p[i]) for i in range(k)]
            dz = solved_symmetric(self.rows.nv, U, stiff, change)
            new = [p[i] + change[i] - stiff[i] * product(U[i], dz) for i in range(k)]
            moved = z + dz
            wrong: Any = 0
            for i in range(k):
                after = phi[i] + product(U[i], moved)
                beyond = where(pressed[i] > 0, absolute(after), maximum(-after, -new[i] * safe[i]))
                wrong = maximum(wrong, beyond)
            before = done > 0
            result = where(wrong >= CLOSE[self.dtype], 0, 1)
            return where(before, p, np.array(new)), where(before, z, moved), where(before, 1, result)

        return trace(once, self._shapes, self.dtype)

    def _sweep(self) -> Program:
        """Return the program (p, z, done, U, φ, pressed, reach, start) -> (p, z, done) of a sweep.

        Of 0 ≤ φ + (U z)_n ⟂ p ≥ 0, where z is ``start`` and what the pushes p change.
        Of points that are ``pressed`` φ + (U z)_n = 0. Joint rows stay within ``reach`` (2m,), from below and above.
        """
        k, m = self.k, self.m

        def sweep(
            p: Array, z: Array, done: Any, entries: Array, phi: Array, pressed: Array, reach: Array, _: Any
        ) -> Any:
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

        return trace(sweep, self._shapes, self.dtype)
