"""Arguments of functions of pairs of solids: checked, and run by compiled code on the CPU or on a GPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sixd.collision.pair_code import GRADIENT, LEAST, NEAR, WIDTHS, PairCode, pair_code
from sixd.collision.solids import SolidPairs, flat_pose, solid_pairs
from sixd.engine.targets import CodeTarget, cpu, cuda
from sixd.errors import DeviceError, ScalarTypeError, ShapeError, unknown_name
from sixd.model.manifold import require_unit_quaternions
from sixd.model.model import Model, require_model
from sixd.runtime.arrays.interface import describe
from sixd.runtime.arrays.registry import is_on_gpu, library_of, native_library, read_array
from sixd.runtime.batch import Argument, common_batch, prepare
from sixd.runtime.cuda.device import device
from sixd.spatial.scalar import Array


class PairQuery:
    """Arguments of functions of pairs, checked, as rows; ``more`` are further arrays besides q."""

    def __init__(
        self,
        where: str,
        model: Model,
        q: Any,
        pairs: Any,
        placements: Mapping[str, Any] | None,
        more: Sequence[Argument] = (),
    ) -> None:
        require_model(where, model)
        model.require_numeric(where)
        self.where, self.model = where, model
        self.solids: SolidPairs = solid_pairs(where, model, pairs)
        names, values = ["q", *(a.name for a in more)], [q, *(a.value for a in more)]
        self.library = native_library(where, names, values)
        moved = {name: np.asarray(T) for name, T in self._moved(placements).items()}
        whole = [Argument("q", q, (model.nq,), f"nq of model {model.name!r}"), *more]
        (configurations, *others), batch, kind = prepare(where, whole, self.library)
        poses = [Argument(f"the placement of {name!r}", T, (4, 4)) for name, T in moved.items()]
        arrays, own, other = prepare(where, poses) if poses else ([], (), np.float64)
        if object in (kind, other):
            raise ScalarTypeError(
                f"{where}: an argument holds symbols, expected numbers. Use sixd.distance or "
                "sixd.min_distance, which accept symbols."
            )
        self.batch = common_batch(where, ["q", *(a.name for a in poses)], [batch, *([own] * len(poses))])
        self.dtype, self.count = np.dtype(kind).name, math.prod(self.batch)
        if not self.library.on_gpu:
            require_unit_quaternions(where, model, "q", np.broadcast_to(configurations, (*self.batch, model.nq)))
            configurations, *others = (x.astype(self.dtype, copy=False) for x in (configurations, *others))
        self.like = configurations
        self.q, *self.more = (
            self.library.rows(x, (*self.batch, *a.core)).reshape((self.count, *a.core))
            for x, a in zip((configurations, *others), whole, strict=True)
        )
        self.placed = self.solids.placements()[None].astype(self.dtype)
        if moved:
            self._place(dict(zip(moved, arrays, strict=True)))

    def _moved(self, placements: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return the placements that were passed, of shapes of the model."""
        if placements is None:
            return {}
        if not isinstance(placements, Mapping):
            raise ScalarTypeError(f"{self.where}: placements is {placements!r}, expected {{shape: pose (…, 4, 4)}}.")
        known = [c.name for c in self.model.collisions]
        for name, T in placements.items():
            if name not in known:
                raise unknown_name(f"{self.where}: placements", "collision shape", name, known)
            if is_on_gpu(T):
                raise DeviceError(
                    f"{self.where}: the placement of {name!r} is a {describe(T)} on a GPU, expected an array in CPU "
                    f"memory. Copy it there: {library_of(T).copy_to_cpu.format('it')}."
                )
        return placements

    def _place(self, moved: Mapping[str, Array]) -> None:
        """Set placements of shapes for each state, or for all."""
        same = all(T.ndim == 2 for T in moved.values())
        self.placed = np.repeat(self.placed, 1 if same else self.count, axis=0)
        index = {solid.name: k for k, solid in enumerate(self.solids.solids)}
        for name, T in moved.items():
            _require_poses(self.where, name, T)
            if name in index:
                own = flat_pose(T @ self._own(name, self.solids.solids[index[name]].pose))
                batch = () if same else self.batch
                self.placed[:, index[name]] = np.broadcast_to(own, (*batch, 12)).reshape(-1, 12)

    def _own(self, name: str, solid: Array) -> Array:
        """Return the pose of a solid in the frame of its shape: the middle of a hull's vertices is its origin."""
        shape = next(c for c in self.model.collisions if c.name == name)
        own: Array = np.linalg.inv(np.asarray(shape.pose, dtype=float)) @ solid
        return own

    def results(self, what: str, guard: str = "", margin: float = np.inf) -> list[Any]:
        """Return what is computed, (…, pairs, width) of each pair or (…) of all."""
        library, solids, like = self.library, self.solids, self.like
        if not solids.pairs or not self.count:
            shape = () if what in (LEAST, NEAR) else (len(solids.pairs), WIDTHS[what])
            empty = [library.full(like, (*self.batch, *shape), np.inf)]
            more = (*self.batch, len(solids.pairs), self.model.nv)
            return [*empty, library.full(like, more, 0.0)] if what == GRADIENT else empty
        target, number = self.target()
        code = pair_code(self.where, self.model, solids, what, guard, self.dtype, target)
        return self.run(code, number, [np.full(1, min(margin, 1e15), self.dtype)] if guard else [])

    def target(self) -> tuple[CodeTarget, int]:
        """Return the target of the code, and the number of the GPU; -1 is the CPU."""
        if not self.library.on_gpu:
            return cpu, -1
        number = read_array(self.where, "q", self.like).device
        return cuda(device(self.where, number).architecture), number

    def run(self, code: PairCode, number: int, own: Sequence[Array] = ()) -> list[Any]:
        """Return the results (…, *shape) of code for the rows of q, placements, ``own`` NumPy arrays and ``more``."""
        library, like = self.library, self.like
        placed = [self.placed, *own]
        if library.on_gpu:
            placed = [library.upload(like, x) for x in placed]
        results = code.run(np.ones(1), [self.q, *placed, *self.more, *code.shared_on(library, like, number)])
        finite = self._finite()
        if finite is not None:
            nan = [library.full(like, x.shape, np.nan) for x in results]
            rows = [finite.reshape((self.count, *[1] * (x.ndim - 1))) for x in results]
            results = [library.choose(*each) for each in zip(rows, results, nan, strict=True)]
        return [x.reshape((*self.batch, *x.shape[2:])) for x in results]

    def _finite(self) -> Any:
        """Return where q is finite (rows,), None if it is everywhere: comparisons with NaN choose any branch."""
        total = self.q.sum(-1)
        finite = (total - total) >= 0
        return None if not self.library.on_gpu and finite.all() else finite


def _require_poses(where: str, name: str, T: Array) -> None:
    """Raise unless these are poses (…, 4, 4)."""
    R = np.asarray(T, dtype=float)[..., :3, :3]
    finite = np.isfinite(np.asarray(T, dtype=float)).all()
    square = finite and np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0) < 1e-5
    good = square and (np.linalg.det(R) > 0).all()
    if not good or np.abs(np.asarray(T, dtype=float)[..., 3, :] - [0, 0, 0, 1]).max(initial=0.0) > 0:
        raise ShapeError(
            f"{where}: the placement of {name!r} is no pose, expected (…, 4, 4) with a rotation matrix and the last "
            f"row [0, 0, 0, 1]. See sixd.placement."
        )


def fixed_placements(where: str, model: Model, solids: SolidPairs, placements: Mapping[str, Any] | None) -> Array:
    """Return the placements (n, 12) of solids, with poses (4, 4) that replace the model's for all states."""
    if not placements:
        return solids.placements()
    for name, T in placements.items():
        if np.shape(T) != (4, 4):
            raise ShapeError(
                f"{where}: the placement of {name!r} has shape {np.shape(T)}, expected (4, 4): one for all states."
            )
    placed: Array = PairQuery(where, model, model.neutral(), solids.names, placements).placed[0]
    return placed
