"""Compiled derivatives of distances with respect to q: rates along directions, and gradients of weighted sums.

A distance changes by nᵀ(v_b - v_a) with the velocities of the nearest points, so that one more table over the pairs
follows the distances. Derivatives are with respect to velocities (nv), or to the entries of q (nq).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.kinematics import joint_transforms, world_transforms
from sixd.body_marks import listening
from sixd.collision.pair_code import (
    DISTANCE,
    PairCode,
    PairStages,
    gradient_of_row,
    motion_subspaces,
    size_shapes,
    supports,
)
from sixd.collision.solids import SolidPairs
from sixd.engine.targets import CodeTarget
from sixd.gc_pause import PAUSED
from sixd.model.memo import known_of
from sixd.model.model import Model
from sixd.slow_work import watched
from sixd.spatial.scalar import Array, Scalar, minimum, where
from sixd.spatial.transform import inverse_transform
from sixd.trace.derivative import jacobian
from sixd.trace.expr import Expr
from sixd.trace.program import trace
from sixd.trace.recipe import Recipe, Shape
from sixd.trace.stages import Into, Rows, Stages


class DerivativeKind(NamedTuple):
    """A derivative: forward, along a direction of q, or of the sum of weighted distances; of all distances, or of the
    ``least``, where that of equal distances is their mean; ``ambient``: with respect to the nq entries of q."""

    forward: bool
    least: bool = False
    ambient: bool = False

    @property
    def text(self) -> str:
        """A name for messages and caches."""
        return " ".join(["jvp" if self.forward else "vjp", *["least"] * self.least, *["ambient"] * self.ambient])

    def size(self, model: Model) -> int:
        """The number of entries of a gradient."""
        return model.nq if self.ambient else model.nv

    def along(self, model: Model, pairs: int) -> Shape:
        """The shape of the direction, or of the weights."""
        return (self.size(model),) if self.forward else () if self.least else (pairs,)

    def result(self, model: Model, pairs: int) -> Shape:
        """The shape of the result."""
        return (self.size(model),) if not self.forward else () if self.least else (pairs,)


def derivative_code(
    where: str, model: Model, solids: SolidPairs, kind: DerivativeKind, dtype: str, target: CodeTarget
) -> PairCode:
    """Return the code (q, placements, direction or weights, shared …) -> derivative, made at the first call."""
    memo = known_of(model)
    key = "derivatives of pairs", solids.key, kind, dtype, target
    code: Any = memo.get(key)
    if code is None:
        with watched(f"compiling {where} for {model.name!r}"), PAUSED:
            shared = [supports(model, solids, ambient=kind.ambient), *(solids.sizes(k) for k in solids.kinds)]
            recipe = derivative_recipe(model, solids, kind, dtype)
            code = memo.setdefault(key, PairCode(recipe, shared, kind.text, "", model, dtype, target))
    return code


def derivative_recipe(model: Model, solids: SolidPairs, kind: DerivativeKind, dtype: str) -> Recipe:
    """Return the recipe (q, placements (n, 12), direction or weights, signs, sizes …) -> derivative."""
    pairs = len(solids.pairs)
    inputs: dict[str, Shape] = {"q": (model.nq,), "placements": (len(solids.solids), 12)}
    inputs |= {"along": kind.along(model, pairs), "signs": (pairs, kind.size(model)), **size_shapes(solids)}
    stages = Stages(dtype)
    given = {name: stages.input(name, shape) for name, shape in inputs.items()}
    with listening(stages.graph):
        rows = PairStages(stages, model, solids, DISTANCE, given).pairs("")
        subspaces = trace(partial(_subspaces_of, kind, model), {"q": (model.nq,)}, dtype)
        result = _derivative(stages, kind, rows, given, stages(subspaces, given["q"]))
        names = stages.store({"derivative": result})
    return Recipe(stages.memory, (), tuple(inputs), tuple(stages.works), (), recorded=names)


def _derivative(stages: Stages, kind: DerivativeKind, rows: Array, given: dict[str, Any], S: Array) -> Any:
    """Return the derivative from the rows of ``distance`` and the subspaces S (m, 6)."""
    pairs, m = np.shape(given["signs"])
    along, weights = given["along"], None
    if kind.least:
        weights = np.array(_shares(rows))
    if not kind.forward:
        weights = along if weights is None else weights * along
    arguments = [Rows(rows, range(pairs)), Rows(given["signs"], range(pairs)), S]
    if weights is not None:
        arguments.append(Rows(np.reshape(weights, (pairs, 1)), range(pairs)))
    shapes: list[Shape] = [(10,), (m,), (m, 6), *([(1,)] if weights is not None else [])]

    def traced(function: Callable[..., Any], *more: Shape) -> Any:
        return trace(function, {f"x{k}": shape for k, shape in enumerate([*shapes, *more])}, stages.graph.dtype)

    if kind.forward:

        def rate(*x: Array) -> Array:
            d = gradient_of_row(*x[:3]) @ x[-1]
            return np.array([d if weights is None else d * x[3][0]])

        to = Into(1, [0] * pairs, True) if kind.least else Into(pairs, range(pairs))
        rates = stages.each(traced(rate, (m,)), *arguments, along, into=[to])
        return rates[0, 0] if kind.least else rates[:, 0]
    pulled = traced(lambda row, signs, S, w: gradient_of_row(row, signs, S) * w[0])
    return stages.each(pulled, *arguments, into=[Into(1, [0] * pairs, True)])[0]


def _shares(rows: Array) -> list[Scalar]:
    """Return 1 / k for the k pairs with the least distance, 0 for others; NaN if one is NaN."""
    distances = [row[0] for row in rows]
    least = reduce(minimum, distances)
    one = [where(d <= least, 1, 0) for d in distances]
    each = 1 / sum(one[1:], one[0])
    return [where(d <= least, each, each * 0) for d in distances]


def _subspaces_of(kind: DerivativeKind, model: Model, q: Array) -> Array:
    """The velocities (m, 6) in the world by unit rates of the DoF, or of the entries of q."""
    if not kind.ambient:
        return motion_subspaces(model, q)
    X, S = joint_transforms(model, q)
    X_W = world_transforms(model, X)
    rows = [np.zeros((0, 6), dtype=int)]
    for i in model.bodies:
        joint, qi = model.joints[i], q[model.iq[i]]
        own = S[i].T if joint.is_vector_space else _twists(np.asarray(joint.transform(qi)), qi)
        rows.append(own @ inverse_transform(X_W[i]).T)
    return np.concatenate(rows)


def _twists(X: Array, q: Array) -> Array:
    """The velocities (nq, 6) of a joint's successor frame by unit rates of its coordinates: Ẋ = -crm(v) X."""
    inputs = [x for x in q if isinstance(x, Expr)]
    graph = inputs[0].graph
    rates = jacobian(graph.entries(X), inputs).reshape(6, 6, len(q))
    rows = []
    for k in range(len(q)):
        E, L, dE, dL = X[:3, :3], X[3:, :3], rates[:3, :3, k], rates[3:, :3, k]
        turn = -dE @ E.T
        rows.append([*_axial(turn), *_axial(-(dL + turn @ L) @ E.T)])
    return np.array(rows)


def _axial(W: Array) -> list[Scalar]:
    """The vector of a skew matrix."""
    return [W[2, 1], W[0, 2], W[1, 0]]
