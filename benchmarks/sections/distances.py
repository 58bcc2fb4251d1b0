"""Distances of pairs of solids, and those by coal."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.contenders import coal_calls
from benchmarks.report import progress
from benchmarks.session import Session
from sixd.algorithms.distance.gjk import CorePair
from sixd.algorithms.distance.pairs import PAIRS, IteratedPair
from sixd.cli.output import digits
from sixd.engine.artifact import make_rollout, recipe_key
from sixd.trace.program import trace
from sixd.trace.stages import Stages, trace_stages

Array = np.ndarray
ROWS, ROUNDS = 2048, 15
CASES: list[tuple[str, str, int]] = [
    ("sphere", "sphere", 0), ("sphere", "box", 0), ("sphere", "cylinder", 0), ("capsule", "capsule", 0),
    ("capsule", "box", 0), ("box", "box", 0), ("capsule", "cylinder", 0), ("box", "cylinder", 0),
    ("cylinder", "cylinder", 0), ("hull", "hull", 16), ("hull", "hull", 64),
]  # fmt: skip
SIZES: dict[str, tuple[float, ...]] = {
    "sphere": (0.05,), "capsule": (0.05, 0.2), "box": (0.2, 0.14, 0.1), "cylinder": (0.05, 0.2),
}  # fmt: skip


def measure(session: Session) -> None:
    """A table: all placements of a cube of 40 cm, and those that are apart."""
    session.report.heading("Distances of two solids, one thread")
    session.report.paragraph(
        f"Nanoseconds per pair: {ROWS} random placements of solids of 10 to 20 cm in a cube of 40 cm, and those among "
        "them, repeated, in which the cores are apart. The result is the distance, both points and the normal. coal, "
        f"with a signed distance: {coal_calls.how()}."
    )
    head = [
        "pair",
        "overlap",
        "all",
        "coal, all",
        "ratio",
        "apart",
        "coal, apart",
        "ratio",
        "largest difference, apart",
    ]
    rows = []
    for kind_a, kind_b, vertices in CASES:
        name = f"{kind_a}-{kind_b}" + (f", {vertices} vertices" if vertices else "")
        progress(f"distances: {name}")
        rows.append([name, *_compare((kind_a, kind_b), vertices)])
    session.report.table(head, rows)


def _compare(kinds: tuple[str, str], vertices: int) -> list[str]:
    rng = np.random.default_rng(0)
    sizes = [_hull(vertices, rng) if kind == "hull" else np.array(SIZES[kind]) for kind in kinds]
    code = compiled(kinds, [size.shape for size in sizes])
    a, b = (_placements(rng, size) for size in sizes)
    d = code(a, b)[:, 0]
    solids = list(zip(kinds, sizes, strict=True))
    cells = [f"{np.mean(d < 0):.0%}"]
    radius = sum(SIZES[kind][0] for kind in kinds if kind in ("sphere", "capsule"))
    apart = np.resize(np.flatnonzero(d > -radius + 1e-6), ROWS)
    for rows in (np.arange(ROWS), apart):
        own, theirs = _time(code, a[rows], b[rows]), _time_coal(solids, a[rows], b[rows])
        cells += [digits(own), digits(theirs[0]), f"{digits(theirs[0] / own)}×"]
    return [*cells, f"{np.abs(theirs[1] - d[apart]).max():.0e}"]


def compiled(kinds: tuple[str, str], shapes: list[tuple[int, ...]]) -> Any:
    """Machine code: arrays (n, sizes, rotation, position) of both solids -> (n, 10)."""
    pair = PAIRS[kinds]

    def split(x: Any, shape: tuple[int, ...]) -> list[Any]:
        n = math.prod(shape)
        return [x[:n].reshape(shape), x[n : n + 9].reshape(3, 3), x[n + 9 :]]

    def step(stages: Stages, out: Any, a: Any, b: Any) -> tuple[Any, ...]:
        arguments = [*split(a, shapes[0]), *split(b, shapes[1])]
        nearest = iterate(stages, pair, arguments) if isinstance(pair, IteratedPair) else pair(*arguments)
        return (np.concatenate([np.ravel(x) for x in nearest]),)

    constants = {name: (math.prod(shape) + 12,) for name, shape in zip("ab", shapes, strict=True)}
    recipe = trace_stages(step, {"out": (10,)}, constants)
    code = make_rollout(recipe, recipe_key(recipe, "float64"), "distance", "own", "own", "float64")
    one = np.array([1.0])
    return lambda a, b: code(one, [np.zeros((len(a), 10)), a, b])[0][:, 0]


def iterate(stages: Stages, pair: IteratedPair, arguments: list[Any]) -> Any:
    """The distance of an iterated pair as loops of a recipe."""
    problem = CorePair(*stages.kept(*pair.problem(*arguments)))
    shapes = {f"part {k}": np.shape(x) for k, x in enumerate(problem)}
    states: list[Any] = []
    for loop in pair.loops:
        when = loop.needed(states[-1]) if states else None
        state = loop.start(problem, states[-1] if states else np.zeros(0))
        program = trace(lambda *xs, f=loop.iteration: f(CorePair(*xs[1:]), xs[0]), {"state": state.shape, **shapes})

        def once(state: Any, done: Any, program: Any = program) -> tuple[Any, Any]:
            state = stages(program, state, *problem)
            return state, state[-1]

        state, _ = stages.repeat(once, state, 0.0, most=loop.most, when=when)
        states.append(state)
    return pair.result(problem, states, arguments[1], arguments[2])


def _hull(n: int, rng: np.random.Generator) -> Array:
    x = rng.normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1)[:, None] * (0.1, 0.08, 0.06)


def _placements(rng: np.random.Generator, size: Array) -> Array:
    turns = Rotation.random(ROWS, rng=rng).as_matrix().reshape(ROWS, 9)
    return np.concatenate([np.tile(size.ravel(), (ROWS, 1)), turns, rng.uniform(-0.2, 0.2, (ROWS, 3))], axis=1)


def _time(code: Any, a: Array, b: Array) -> float:
    """The least ns a pair."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        code(a, b)
        times.append(time.perf_counter_ns() - start)
    return min(times) / len(a)


def _time_coal(solids: list[coal_calls.Solid], *places: Array) -> tuple[float, Array]:
    """The least ns a pair, and the distances."""
    R, p = [x[:, -12:-3].reshape(-1, 3, 3) for x in places], [x[:, -3:] for x in places]
    return coal_calls.distances(solids, R, p)
