"""Random solids and placements for tests of distances, and evaluation of traced pairs on whole batches."""

from functools import cache

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from sixd.algorithms.distance import points
from sixd.algorithms.distance.gjk import CorePair
from sixd.algorithms.distance.pairs import ITERATED, PAIRS, IteratedPair
from sixd.algorithms.distance.supports import core_radius, support_core
from sixd.trace.program import trace

SIZES = {"sphere": 1, "capsule": 2, "box": 3, "cylinder": 2, "cone": 2, "ellipsoid": 3, "plane": 0, "hull": 3}
HULL = 12  # vertices of hulls
CLOUD = np.random.default_rng(3).normal(size=(HULL, 3))
CLOUD /= np.linalg.norm(CLOUD, axis=1)[:, None]


def shape_of_size(kind):
    """The shape of the array of a solid's sizes."""
    return (HULL, 3) if kind == "hull" else (SIZES[kind],)


def random_sizes(kind, n, rng):
    """Sizes of n solids of 5 to 20 cm."""
    sizes = rng.uniform(0.05, 0.2, (n, SIZES[kind]))
    return CLOUD * sizes[:, None] if kind == "hull" else sizes


def placements(n, spread, rng):
    """Rotations (n, 3, 3) and positions (n, 3)."""
    return Rotation.random(n, rng=rng).as_matrix(), rng.uniform(-spread, spread, (n, 3))


def inputs(kinds, n, spread, rng):
    """The six arguments of a pair for n random placements."""
    a, b = kinds
    sizes = random_sizes(a, n, rng), random_sizes(b, n, rng)
    (E_a, p_a), (E_b, p_b) = placements(n, spread, rng), placements(n, spread, rng)
    return [sizes[0], E_a, p_a, sizes[1], E_b, p_b]


def shapes_of(kinds):
    """Names and shapes of the six arguments of a pair."""
    a, b = (shape_of_size(kind) for kind in kinds)
    return {"size_a": a, "E_a": (3, 3), "p_a": (3,), "size_b": b, "E_b": (3, 3), "p_b": (3,)}


def evaluated(function, kinds, arguments):
    """The results of a closed form on a batch, by the graph of its operations."""
    return trace(lambda *xs: tuple(function(*xs)), shapes_of(kinds)).evaluate(*arguments)


@cache
def programs(pair):
    """The traced parts of an iterated pair: its problem, the start and the iteration of each loop, and its result."""
    problem = trace(lambda *xs: tuple(pair.problem(*xs)), shapes_of(pair.kinds))
    sizes = {f"part {k}": slot.shape for k, slot in enumerate(problem.outputs)}
    loops, states = [], {}
    for loop in pair.loops:
        before = {"before": list(states.values())[-1] if states else (0,)}
        start = trace(lambda *xs, f=loop.start: f(CorePair(*xs[:-1]), xs[-1]), {**sizes, **before})
        state = {f"state {len(loops)}": start.outputs[0].shape}
        step = trace(lambda *xs, f=loop.iteration: f(CorePair(*xs[:-1]), xs[-1]), {**sizes, **state})
        loops.append((start, step, loop))
        states |= state
    n = len(sizes)
    inputs = {**sizes, **states, "E": (3, 3), "p": (3,)}
    return problem, loops, trace(lambda *xs: tuple(pair.result(CorePair(*xs[:n]), xs[n:-2], *xs[-2:])), inputs)


def run_loops(pair, arguments):
    """The results of an iterated pair on a batch, the number of iterations of each state in each loop, and the number
    of operations of an iteration of the last loop."""
    prepare, loops, last = programs(pair)
    states, counts = [], []
    problem = prepare.evaluate(*arguments)
    for start, step, loop in loops:
        needed = np.broadcast_to(loop.needed(states[-1].T) if states else 1, len(arguments[2]))
        state = start.evaluate(*problem, states[-1] if states else np.zeros((len(needed), 0)))[0]
        state = np.broadcast_to(state, (len(needed), state.shape[-1])).copy()
        active, count = np.flatnonzero(needed > 0), np.zeros(len(state), int)
        for _ in range(loop.most):
            if not len(active):
                break
            state[active] = step.evaluate(*(x[active] for x in problem), state[active])[0]
            count[active] += 1
            active = active[state[active, -1] != 1]
        states.append(state)
        counts.append(count)
    return last.evaluate(*problem, *states, arguments[1], arguments[2]), counts, step.operations


def distances(kinds, arguments):
    """The distance, both points and the normal of a pair on a batch."""
    pair = PAIRS[kinds]
    if isinstance(pair, IteratedPair):
        return run_loops(pair, arguments)[0]
    if kinds[::-1] in ITERATED:
        d, b, a, n = run_loops(ITERATED[kinds[::-1]], [*arguments[3:], *arguments[:3]])[0]
        return d, a, b, -n
    return evaluated(pair, kinds, arguments)


def support_of_pair(kinds, arguments, n):
    """h(n) of solids: by how much b must be moved along n until it is apart from a."""
    a, b = kinds

    def both(size_a, E_a, p_a, size_b, E_b, p_b, n):
        x = E_a @ support_core(a, size_a, E_a.T @ n) + p_a
        y = E_b @ support_core(b, size_b, E_b.T @ n * -1) + p_b
        return (x - y) @ n + core_radius(a, size_a) + core_radius(b, size_b)

    return trace(both, {**shapes_of(kinds), "n": (3,)}).evaluate(*arguments, n)[0]


def off_surface(kind, size, E, p, x):
    """How far points (k, 3) in the world are from the surfaces of solids."""
    local = np.einsum("kji,kj->ki", E, x - p)
    if kind == "hull":
        planes = [ConvexHull(v).equations for v in size]
        return np.array([abs((q[:, :3] @ y + q[:, 3]).max()) for q, y in zip(planes, local, strict=True)])
    point = {"plane": points.point_plane}.get(kind) or getattr(points, f"point_{kind}")
    return np.abs(trace(lambda s, y: point(s, y)[0], {"s": shape_of_size(kind), "y": (3,)}).evaluate(size, local)[0])
