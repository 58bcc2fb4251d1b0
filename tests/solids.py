"""Random solids and placements for tests of distances, and evaluation of traced pairs on whole batches."""

import numpy as np
from scipy.spatial.transform import Rotation

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
    """The results of an iterated pair on a batch, and the number of iterations of each state in each loop."""
    shapes = shapes_of(pair.kinds)
    with np.errstate(all="ignore"):
        problem = trace(lambda *xs: tuple(pair.problem(*xs)), shapes)
        given = problem.evaluate(*arguments)
        sizes = {slot.name: slot.shape for slot in problem.outputs}
        state, states, counts = np.zeros((len(arguments[2]), 1)), [], []
        for loop in pair.loops:
            before = {**sizes, "before": state.shape[1:]}
            needed = trace(lambda *xs, f=loop.needed: f(xs[-1]), before).evaluate(*given, state)[0]
            start = trace(lambda *xs, f=loop.start: f(type_of(pair)(*xs[:-1]), xs[-1]), before)
            state = np.broadcast_to(start.evaluate(*given, state)[0], (len(needed), start.outputs[0].shape[0])).copy()
            step = trace(lambda *xs, f=loop.iteration: f(type_of(pair)(*xs[:-1]), xs[-1]), {**sizes, "s": state.shape[1:]})
            active, count = np.flatnonzero(np.broadcast_to(needed, len(state)) > 0), np.zeros(len(state), int)
            for _ in range(loop.most):
                if not len(active):
                    break
                state[active] = step.evaluate(*(x[active] for x in given), state[active])[0]
                count[active] += 1
                active = active[state[active, -1] != 1]
            states.append(state)
            counts.append(count)
        inputs = {**sizes, "apart": states[0].shape[1:], "overlap": states[1].shape[1:], "E": (3, 3), "p": (3,)}
        last = trace(lambda *xs: tuple(pair.result(type_of(pair)(*xs[:4]), *xs[4:])), inputs)
        return last.evaluate(*given, *states, arguments[1], arguments[2]), counts, step.operations


def type_of(pair):
    from sixd.algorithms.distance.gjk import Problem

    return Problem
