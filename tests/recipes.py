"""Recipes with tables and loops, and their evaluation by NumPy and by compiled code."""

import numpy as np

from sixd.codegen.llvm.machine import assemble, host
from sixd.codegen.llvm.recipes.rollout import emit_rollout
from sixd.runtime.machine_code import make_image
from sixd.runtime.routine import Rollout
from sixd.spatial import where
from sixd.trace.program import trace
from sixd.trace.stages import Into, Rows, trace_stages


def compiled(recipe, dtype="float64"):
    machine = host()
    text = emit_rollout(recipe, dtype, machine.lanes(dtype), machine.has_fma)
    inputs, outputs = [recipe.memory[n] for n in recipe.inputs], [("r", *recipe.memory[n]) for n in recipe.outputs]
    return Rollout(make_image(assemble(text, machine)), "test", dtype, inputs, outputs, recipe.operations), text


def both(recipe, state, constants, steps):
    """Return the state after so many steps, from ``Recipe.evaluate`` and from compiled code."""
    state = [np.asarray(x, dtype=float) for x in state]
    found = compiled(recipe)[0](np.array([steps]), [*state, *(np.asarray(x, dtype=float) for x in constants)])
    for _ in range(steps):
        state = recipe.evaluate(*state, *constants)
    return state, [x[:, -1] for x in found]


# springs between masses: a table whose rows read parts of arrays, and add to parts of others
MASSES = 5
PAIRS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)]
_FORCE = trace(lambda a, b, k: ((b - a) * k, (a - b) * k, k + a[0]), {"a": (3,), "b": (3,), "k": ()})


def springs():
    """Return the recipe (x (5, 3), k (6,)) -> (x + forces of springs, stiffness and a coordinate of each spring)."""

    def step(stages, x, k):
        first, second = zip(*PAIRS, strict=True)
        rows = range(len(PAIRS))
        into = [Into(MASSES, first, True), Into(MASSES, second, True), Into(len(PAIRS), rows)]
        a, b, c = stages.each(_FORCE, Rows(x, first), Rows(x, second), Rows(k, rows), into=into)
        return x + (a + b) * 0.01, c

    return trace_stages(step, {"x": (MASSES, 3), "k": (len(PAIRS),)}, {})


def springs_by_numpy(x, k):
    """Return what :func:`springs` does to arrays (…, 5, 3) and (…, 6)."""
    force = np.zeros_like(x)
    for n, (i, j) in enumerate(PAIRS):
        f = (x[..., j, :] - x[..., i, :]) * k[..., n, None]
        force[..., i, :] += f
        force[..., j, :] -= f
    return x + 0.01 * force, k + x[..., [i for i, _ in PAIRS], 0]


def nested(most=12, inner=3):
    """Return the recipe (x, y, when, count) -> the same after a loop of two calls with a loop in it.

    Each iteration halves x ``inner`` times, at most until it is below 1, and adds a table's sum to y; the loop ends at
    x < 1e-3. Where ``when`` is 0, nothing changes.
    """
    halve = trace(lambda x, done: (x / 2, where(x < 2, 1, 0)), {"x": (), "done": ()})
    part = trace(lambda x, i, flag: where(flag > 0, x * i, 0), {"x": (), "i": (), "flag": ()})
    numbers = np.arange(1.0, 5.0)

    def step(stages, x, y, when, count):
        def once(x, y, count, done):
            flags = np.array([1.0, 1.0, where(x > 1, 1, 0), 0.0])
            (total,) = (
                stages.each(part, x, Rows(numbers, range(4)), Rows(flags, range(4)), into=[Into(1, [0] * 4, True)],
                            when=flags),
            )  # fmt: skip
            x, _ = stages(halve, x, 0.0, most=inner)
            return x, y + total[0], count + 1, where(x < 1e-3, 1, 0)

        x, y, count, _ = stages.repeat(once, x, y, count, 0.0, most=most, when=when)
        return x, y, when, count

    return trace_stages(step, {"x": (), "y": (), "when": (), "count": ()}, {})


def nested_by_numbers(x, y, when, count, most=12, inner=3):
    """Return what :func:`nested` does to numbers."""
    for _ in range(most if when else 0):
        y = y + (1 + 2 + (3 if x > 1 else 0)) * x
        for _ in range(inner):
            small, x = x < 2, x / 2
            if small:
                break
        count += 1
        if x < 1e-3:
            break
    return x, y, when, count


def roots(parts=(3, 0, 2, 2), into=(1, 3, 0, 4)):
    """Return the recipe (x (4,), when (4,), y (5, 2)) -> the same with square roots and their numbers of iterations.

    Row k finds the root of entry ``parts[k]`` of x by Newton's method, in a loop of its own, and puts it into row
    ``into[k]`` of y; where entry k of ``when`` is 0, nothing changes.
    """

    def step(stages, x, when, y):
        def one(x):
            def newton(r, count, _):
                after = (r + x / r) / 2
                return after, count + 1, where(abs(after - r) < 1e-12 * after, 1, 0)

            r, count, _ = stages.repeat(newton, x + 1, 0.0, 0.0, most=50)
            return (np.array([r, count]),)

        (y,) = stages.each_row(one, Rows(x, parts), into=[(y, into)], when=when)
        return x, when, y

    return trace_stages(step, {"x": (4,), "when": (4,), "y": (5, 2)}, {})


def roots_by_numpy(x, when, y, parts=(3, 0, 2, 2), into=(1, 3, 0, 4)):
    """Return what :func:`roots` does to arrays (4,), (4,) and (5, 2)."""
    y = np.array(y)
    for k, (source, target) in enumerate(zip(parts, into, strict=True)):
        if when[k]:
            before, after, count = 0.0, x[source] + 1, 0
            while not (count and abs(after - before) < 1e-12 * after):
                before, count = after, count + 1
                after = (before + x[source] / before) / 2
            y[target] = after, count
    return y
