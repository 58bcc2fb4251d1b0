"""Compiled code of pairs of solids: their placements, then one program, or loop, for each two kinds.

A program is called for every pair of its kinds, in a loop over the rows of a table. Iterations of the GJK algorithm are
loops within that. So code grows with the kinds, and data with the pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from sixd.algorithms.distance import descent
from sixd.algorithms.distance.closed_forms import Nearest
from sixd.algorithms.distance.gjk import CorePair, PairLoop, overlaps
from sixd.algorithms.distance.manifolds import CONTACTS
from sixd.algorithms.distance.pairs import CLOSED, ITERATED, iterated
from sixd.algorithms.distance.vectors import cross
from sixd.algorithms.kinematics import body_poses, joint_transforms, path, world_transforms
from sixd.body_marks import listening
from sixd.collision.solids import PairGroup, SolidPairs, flat_pose, pair_groups, size_of
from sixd.engine.artifact import make_rollout, recipe_key
from sixd.engine.targets import CodeTarget
from sixd.gc_pause import PAUSED
from sixd.model.memo import known_of
from sixd.model.model import Model
from sixd.slow_work import watched
from sixd.spatial.scalar import Array, Scalar, absolute, maximum, minimum, sqrt, where
from sixd.spatial.transform import inverse_transform
from sixd.trace.program import Program, trace
from sixd.trace.recipe import Recipe, Shape
from sixd.trace.stages import Into, Rows, Stages

WRITTEN = {**CLOSED, **ITERATED}  # pairs of kinds, in the order in which they are written
# what is computed of each pair: the distance, nearest points and normal, (pairs, 10); the same and the gradients of the
# distances, (pairs, nv); contact points, (pairs, 19); distances alone, (pairs,), or the least of them, (); gaps, which
# are distances where these are not negative, and any negative number where they are, or the least of these
DISTANCE, GRADIENT, POINTS, ALONE, LEAST = "distance", "gradient", "points", "alone", "least"
GAPS, NEAR = "gaps", "near"
WIDTHS = {DISTANCE: 10, GRADIENT: 10, POINTS: 19, ALONE: 1, LEAST: 1, GAPS: 1, NEAR: 1}
_NO_DEPTHS = (GAPS, NEAR)
_POSE: Shape = (12,)


class PairCode:
    """Code (q, placements, …, shared …) -> what is computed of the pairs; ``shared`` are the last inputs, which are the
    same for all states."""

    def __init__(
        self,
        recipe: Recipe,
        shared: Sequence[Array],
        name: str,
        detail: str,
        model: Model,
        dtype: str,
        target: CodeTarget,
    ) -> None:
        self.run: Any = make_rollout(recipe, recipe_key(recipe, dtype), name, detail, model.name, dtype, target)
        self.shared = [np.asarray(x, dtype)[None] for x in shared]
        self._uploaded: dict[Any, list[Any]] = {}

    def shared_on(self, library: Any, like: Any, device: int) -> list[Any]:
        """Return the shared inputs as arrays of a library, on the device of ``like``; -1 is the CPU."""
        if device < 0:
            return list(self.shared)
        key = type(library), device
        if key not in self._uploaded:
            self._uploaded[key] = [library.upload(like, x) for x in self.shared]
        return self._uploaded[key]


def pair_code(
    where: str, model: Model, solids: SolidPairs, what: str, guard: str, dtype: str, target: CodeTarget
) -> PairCode:
    """Return the code for these pairs, made at the first call and kept with the model."""
    memo = known_of(model)
    key = "pair code", solids.key, what, guard, dtype, target
    code: Any = memo.get(key)
    if code is None:
        with watched(f"compiling {where} for {model.name!r}"), PAUSED:
            shared = [finite_bounds(solids)] if guard else []
            shared += [supports(model, solids)] if what == GRADIENT else []
            shared += [solids.sizes(kind) for kind in solids.kinds]
            recipe = pair_recipe(model, solids, what, guard, dtype)
            code = memo.setdefault(key, PairCode(recipe, shared, what, guard, model, dtype, target))
    return code


def pair_recipe(model: Model, solids: SolidPairs, what: str, guard: str, dtype: str) -> Recipe:
    """Return the recipe (q, placements (n, 12), margin, bounds (n, 4), supports, sizes …) -> what is computed.

    ``guard``: "" for all pairs; "margin" for those whose bounds are nearer than the margin; "least" for those that may
    be the nearest. The distance of others is that of their bounds.
    """
    n, inputs = len(solids.solids), {"q": (model.nq,), "placements": (len(solids.solids), 12)}
    if guard:
        inputs |= {"margin": (), "bounds": (n, 4)}
    if what == GRADIENT:
        inputs["supports"] = (len(solids.pairs), model.nv)
    inputs |= size_shapes(solids)
    stages = Stages(dtype)
    given = {name: stages.input(name, shape) for name, shape in inputs.items()}
    with listening(stages.graph):
        calls = PairStages(stages, model, solids, what, given)
        results = {"pairs": calls.pairs(guard)}
        if what == GRADIENT:
            results["gradients"] = calls.gradients(model, results["pairs"])
        if what in (LEAST, NEAR):
            results["pairs"] = reduce(minimum, results["pairs"].ravel())
        if what in (ALONE, GAPS):
            results["pairs"] = results["pairs"][:, 0]
        names = stages.store(results)
    return Recipe(stages.memory, (), tuple(inputs), tuple(stages.works), (), recorded=names)


def finite_bounds(solids: SolidPairs) -> Array:
    """Return the bounds (n, 4) of solids as inputs of the code: those of endless ones are large numbers."""
    return np.minimum(solids.bounds(), 1e16)


def size_shapes(solids: SolidPairs) -> dict[str, Shape]:
    """Return names and shapes of the inputs with the sizes of solids."""
    return {f"sizes {k}": (len(solids.of_kind(kind)), *kind[1]) for k, kind in enumerate(solids.kinds)}


def supports(model: Model, solids: SolidPairs, *, ambient: bool = False) -> Array:
    """Return 1 (pairs, nv) where a degree of freedom moves the second solid of a pair alone, -1 where the first;
    ``ambient``: (pairs, nq), for the entries of q."""
    width, places = (model.nq, model.iq) if ambient else (model.nv, model.iv)
    moved = np.zeros((model.nb + 1, width))
    for body in model.bodies:
        for i in path(model, body):
            moved[body, places[i]] = 1
    body_of = [solid.body for solid in solids.solids]
    return np.array([moved[body_of[j]] - moved[body_of[i]] for i, j in solids.pairs]).reshape(-1, width)


class PairStages:
    """The calls of a recipe."""

    def __init__(self, stages: Stages, model: Model, solids: SolidPairs, what: str, given: dict[str, Any]) -> None:
        self.stages, self.solids, self.what, self.given = stages, solids, what, given
        bodies = [solid.body for solid in solids.solids]
        self.frames = placed(stages, model, given["q"], bodies, given["placements"])

    def _traced(self, function: Callable[..., Any], *shapes: Shape) -> Program:
        return trace(function, {f"x{k}": shape for k, shape in enumerate(shapes)}, self.stages.graph.dtype)

    def pairs(self, guard: str) -> Array:
        """Return the rows of all pairs."""
        count = len(self.solids.pairs)
        result: Any = np.zeros((count, WIDTHS[self.what]))
        flags = None
        if guard:
            gaps = self._gaps()
            limit = self.given["margin"]
            if guard == "least":
                limit = minimum(limit, self._least_upper_bound())
            (limit,) = self.stages.kept(limit)
            near = self._traced(lambda gap, limit: where(gap[0] <= limit, 1, 0), (1,), ())
            flags = self.stages.each(near, Rows(gaps, range(count)), limit, into=[Into(count, range(count))])
            far = self._traced(lambda gap: np.array([gap[0], *np.zeros(WIDTHS[self.what] - 1)]), (1,))
            result = self.stages.each(far, Rows(gaps, range(count)), into=[Into(count, range(count))])
        for group in pair_groups(self.solids, WRITTEN):
            result = self._group(group, result, flags)
        return result

    def gradients(self, model: Model, rows: Array) -> Array:
        """Return the gradients (pairs, nv) of the distances: nᵀ(J_b - J_a) at the nearest points.

        A unit force n at the second point and -n at the first one are the same wrench w in the world, up to the sign.
        """
        count, nv = len(self.solids.pairs), model.nv
        S = self.stages(self._traced(partial(motion_subspaces, model), (model.nq,)), self.given["q"])
        program = self._traced(gradient_of_row, (10,), (nv,), (nv, 6))
        arguments = Rows(rows, range(count)), Rows(self.given["supports"], range(count)), S
        return self.stages.each(program, *arguments, into=[Into(count, range(count))])

    def _group(self, group: PairGroup, result: Array, flags: Any) -> Array:
        """Return the rows with those of a group."""
        sizes = []
        for kind, indices in zip(group.kinds, (group.first, group.second), strict=True):
            place = {solid: k for k, solid in enumerate(self.solids.of_kind(kind))}
            array = self.given[f"sizes {self.solids.kinds.index(kind)}"]
            sizes.append(Rows(array, [place[i] for i in indices]))
        rows = sizes[0], Rows(self.frames, group.first), sizes[1], Rows(self.frames, group.second)
        when = None if flags is None else self._some(flags, group.numbers)
        one = self._iterated if (group.kinds[0][0], group.kinds[1][0]) in ITERATED else self._closed
        return self.stages.each_row(partial(one, group), *rows, into=[(result, group.numbers)], when=when)[0]

    def _some(self, flags: Any, numbers: tuple[int, ...]) -> Any:
        """Return some entries of an array."""
        n = len(numbers)
        if numbers == tuple(range(len(self.solids.pairs))):
            return flags
        copy = self._traced(lambda x: x[0], (1,))
        return self.stages.each(copy, Rows(flags.reshape(-1, 1), numbers), into=[Into(n, range(n))])

    def _closed(self, group: PairGroup, *arrays: Any) -> tuple[Any]:
        """Return the row of a pair with a closed form."""
        function: Callable[..., Nearest] = CLOSED[group.kinds[0][0], group.kinds[1][0]]

        def row(*arguments: Array) -> Array:
            return self._row(group, function(*_unpacked(group, arguments)), arguments)

        return (self.stages.part(row, *arrays),)

    def _iterated(self, group: PairGroup, *arrays: Any) -> tuple[Any]:
        """Return the row of a pair whose distance is iterated."""
        stages = self.stages
        pair = iterated(group.kinds[0][0], group.kinds[1][0], float(np.finfo(stages.graph.dtype).eps))
        problem = stages.part(lambda *x: tuple(pair.problem(*_unpacked(group, x)))[2:], *arrays)
        known = arrays[0], arrays[2], *problem
        states: list[Any] = []
        for loop in pair.loops[: 1 if self.what in _NO_DEPTHS else None]:
            before = states[-1] if states else np.zeros(0)
            state = stages.part(lambda *x, loop=loop: loop.start(CorePair(*x[:-1]), x[-1]), *known, before)
            needed = stages.part(loop.needed, before) if states else None

            def iterate(state: Any, _: Any, loop: PairLoop = loop) -> tuple[Any, ...]:
                after = stages.part(lambda s, *x: loop.iteration(CorePair(*x), s), state, *known)
                return after, after[-1]

            states.append(stages.repeat(iterate, state, 0.0, most=loop.most, when=needed)[0])

        def row(a: Array, b: Array, *rest: Any) -> Array:
            count = len(known)
            problem, ends = CorePair(*rest[:count]), list(rest[count:])
            if self.what in _NO_DEPTHS and len(pair.loops) > 1:  # how deep an overlap is does not matter
                overlap = where(absolute(overlaps(ends[0]) - 1) < 0.5, 1, 0)
                ends = [np.array([*ends[0][:-2], overlap, 1]), np.zeros(descent.SIZE)]
            nearest = pair.result(problem, ends, a[:9].reshape(3, 3), a[9:])
            if self.what in _NO_DEPTHS and len(pair.loops) > 1:
                nearest = nearest._replace(distance=where(overlap > 0, -_ENDLESS, nearest.distance))
            return self._row(group, nearest, (problem.size_a, a, problem.size_b, b))

        return (stages.part(row, arrays[1], arrays[3], *known, *states),)

    def _row(self, group: PairGroup, nearest: Nearest, arguments: tuple[Array, ...]) -> Array:
        """Return what is computed of a pair: distance, points and normal; or contact points, depths and normal."""
        sign = -1 if group.swapped else 1
        if WIDTHS[self.what] == 1:
            return np.array([nearest.distance])
        if self.what == POINTS:
            contacts = CONTACTS[group.kinds[0][0], group.kinds[1][0]]
            manifold = contacts(*_unpacked(group, arguments), nearest)
            return np.concatenate([np.ravel(manifold.points), manifold.depths, manifold.normal * sign])
        points = (nearest.point_b, nearest.point_a) if group.swapped else (nearest.point_a, nearest.point_b)
        return np.array([nearest.distance, *points[0], *points[1], *(nearest.normal * sign)])

    # bounds ----------------------------------------------------------------------------------------

    def _gaps(self) -> Any:
        """Return lower bounds (pairs, 1) of distances: of the bounding spheres, and of the bounding boxes along the
        line of their centres; minus infinity for endless solids."""

        def gap(a: Array, b: Array, s: Array, t: Array) -> Array:
            d, reach = b[9:] - a[9:], s[3] + t[3]
            length = sqrt(d @ d)
            n = d * (1 / where(length > 0, length, 1))
            boxes = length
            for frame, half in ((a, s), (b, t)):
                for x, y in zip(frame[:9].reshape(3, 3).T @ n, half[:3], strict=True):
                    boxes = boxes - absolute(x) * y
            return np.array([where(reach < _ENDLESS, maximum(length - reach, boxes), -_ENDLESS)])

        return self._of_pairs(gap)

    def _least_upper_bound(self) -> Scalar:
        """Return the least distance of the origins of two solids of a pair, which are inside of them."""

        def upper(a: Array, b: Array, s: Array, t: Array) -> Array:
            d = a[9:] - b[9:]
            return np.array([where(s[3] + t[3] < _ENDLESS, sqrt(d @ d), _ENDLESS)])

        bounds = self._of_pairs(upper)
        return reduce(minimum, bounds.ravel())

    def _of_pairs(self, function: Callable[..., Any]) -> Any:
        """Return what a function of placements and bounds gives for each pair."""
        first, second = zip(*self.solids.pairs, strict=True)
        bounds, count = self.given["bounds"], len(self.solids.pairs)
        rows = [Rows(self.frames, first), Rows(self.frames, second), Rows(bounds, first), Rows(bounds, second)]
        program = self._traced(function, _POSE, _POSE, (4,), (4,))
        return self.stages.each(program, *rows, into=[Into(count, range(count))])


def gradient_of_row(row: Array, signs: Array, S: Array) -> Array:
    """The gradient of a distance from its nearest points and normal: of the power of the wrench w on the second solid,
    for the subspaces S (m, 6) in the world and the signs (m,) of ``supports``."""
    w = np.concatenate([cross(row[4:7], row[7:10]), row[7:10]])
    return np.array([(s @ w) * sign for s, sign in zip(S, signs, strict=True)])


_ENDLESS = 1e15  # m: radii from here on are those of endless solids


def motion_subspaces(model: Model, q: Array) -> Array:
    """The motion subspaces (nv, 6) of all joints in the world."""
    X, S = joint_transforms(model, q)
    X_W = world_transforms(model, X)
    columns = [(inverse_transform(X_W[i]) @ S[i]).T for i in model.bodies]
    return np.concatenate([np.zeros((0, 6), dtype=int), *columns])


def placed(stages: Stages, model: Model, q: Array, bodies: Sequence[int], placements: Array) -> Array:
    """Return the placements in the world (n, 12) of what has these placements in bodies, as calls within a recipe."""
    n, dtype = len(bodies), stages.graph.dtype
    every = stages(trace(partial(_bodies, model), {"q": (model.nq,)}, dtype), q)
    program = trace(_composed, {"body": _POSE, "own": _POSE}, dtype)
    return stages.each(program, Rows(every, bodies), Rows(placements, range(n)), into=[Into(n, range(n))])


def _bodies(model: Model, q: Array) -> Array:
    """The placements (nb + 1, 12) of the world and of all bodies."""
    world = flat_pose(np.eye(4, dtype=int))
    return np.array([world, *(flat_pose(T) for T in body_poses(model, q))])


def _composed(body: Array, own: Array) -> Array:
    """The placement in the world of a solid with a placement in its body."""
    E = body[:9].reshape(3, 3)
    return np.concatenate([np.ravel(E @ own[:9].reshape(3, 3)), body[9:] + E @ own[9:]])


def _unpacked(group: PairGroup, arguments: tuple[Array, ...]) -> tuple[Any, ...]:
    """The arguments of a pair's distance from sizes and placements."""
    size_a, a, size_b, b = arguments[:4]
    sizes = [size_of(kind[0], size) for kind, size in zip(group.kinds, (size_a, size_b), strict=True)]
    return sizes[0], a[:9].reshape(3, 3), a[9:], sizes[1], b[:9].reshape(3, 3), b[9:]
