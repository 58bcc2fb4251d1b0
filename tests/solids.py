"""Random solids and placements for tests of distances, and evaluation of traced pairs on whole batches."""

import numpy as np
from scipy.spatial.transform import Rotation

from sixd.algorithms.distance.gjk import Problem
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


def run_loops(pair, arguments):
    """The results of an iterated pair on a batch, the number of iterations of each state in each loop, and the number
    of operations of an iteration of the last loop."""
    with np.errstate(all="ignore"):
        traced = trace(lambda *xs: tuple(pair.problem(*xs)), shapes_of(pair.kinds))
        problem = traced.evaluate(*arguments)
        sizes = {f"part {k}": slot.shape for k, slot in enumerate(traced.outputs)}
        state, states, counts = np.zeros((len(arguments[2]), 1)), [], []
        for loop in pair.loops:
            needed = np.broadcast_to(loop.needed(states[-1].T) if states else 1, len(state))
            start = trace(lambda *xs, f=loop.start: f(Problem(*xs)), sizes)
            state = start.evaluate(*problem)[0]
            state = np.broadcast_to(state, (len(needed), state.shape[-1])).copy()
            whole = {**sizes, "state": state.shape[1:]}
            step = trace(lambda *xs, f=loop.iteration: f(Problem(*xs[:-1]), xs[-1]), whole)
            active, count = np.flatnonzero(needed > 0), np.zeros(len(state), int)
            for _ in range(loop.most):
                if not len(active):
                    break
                state[active] = step.evaluate(*(x[active] for x in problem), state[active])[0]
                count[active] += 1
                active = active[state[active, -1] != 1]
            states.append(state)
            counts.append(count)
        shapes = {**sizes, **{f"state {k}": s.shape[1:] for k, s in enumerate(states)}, "E": (3, 3), "p": (3,)}
        n = len(sizes)
        last = trace(lambda *xs: tuple(pair.result(Problem(*xs[:n]), xs[n:-2], *xs[-2:])), shapes)
        return last.evaluate(*problem, *states, arguments[1], arguments[2]), counts, step.operations
