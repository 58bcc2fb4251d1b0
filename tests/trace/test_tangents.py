"""Recipes with tangents: their derivatives along unit directions, compared with differences, by NumPy and compiled."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from recipes import PAIRS, compiled
from sixd.spatial import sin, sqrt, where
from sixd.trace.adjoint import forward_backward
from sixd.trace.program import trace
from sixd.trace.recipe import Recipe, Repeated, TableCall
from sixd.trace.stages import Into, Rows, trace_stages
from sixd.trace.tangents import linear
from sixd.trace.tangents.linear import Linearised
from sixd.trace.tangents.needed import needed_works
from sixd.trace.tangents.tangent_recipe import TangentRecipe

E = 1e-6  # of differences


def with_tangents(recipe, names):
    """Return the recipe (its state) -> for each of these arrays of the state, and each result that depends on it, the
    derivatives along unit directions; and the pairs of them."""
    tangents = TangentRecipe(recipe.memory, "float64")
    sizes = {name: int(np.prod(recipe.memory[name])) for name in names}
    tangents.follow(recipe.works, {name: (n, {name: tangents.arrays.unit(n)}) for name, n in sizes.items()})
    found = {
        (name, k): tangents.tangents.get(result, {}).get(name)
        for name in names
        for k, result in enumerate(recipe.results)
    }
    found = {pair: tangent for pair, tangent in found.items() if tangent is not None}
    works = needed_works([*tangents.arrays.first, *tangents.works], set(found.values()))
    return Recipe(tangents.arrays.memory, recipe.state, (), tuple(works), tuple(found.values())), list(found)


def require_tangents(recipe, state, names=None):
    """Compare the tangents of a recipe with differences, for a batch of states, and return the recipe with them."""
    names = recipe.state if names is None else names
    whole, pairs = with_tangents(recipe, names)
    arrays = [np.asarray(x, dtype=float) for x in state]
    by_numpy = dict(zip(pairs, whole.evaluate(*arrays), strict=True))
    recorded = replace(whole, state=(), constants=whole.state, results=(), recorded=whole.results)
    code = compiled(recorded)[0]
    by_code = dict(zip(pairs, (x[:, 0] for x in code(np.ones(1), arrays)), strict=True))
    rows = len(arrays[0])
    for name in names:
        at = recipe.state.index(name)
        n = arrays[at][0].size
        ends = []
        for sign in (1, -1):
            moved = [np.repeat(x, n, axis=0) for x in arrays]
            unit = np.tile(np.eye(n), (rows, 1)).reshape(moved[at].shape)
            moved[at] = moved[at] + sign * E * unit
            ends.append(recipe.evaluate(*moved))
        for k, (plus, minus) in enumerate(zip(*ends, strict=True)):
            wanted = ((plus - minus) / (2 * E)).reshape(rows, n, -1)
            for found in (by_numpy, by_code):
                ours = found[name, k].reshape(wanted.shape) if (name, k) in found else np.zeros_like(wanted)
                assert_allclose(ours, wanted, rtol=1e-7, atol=1e-8 * max(1, np.abs(wanted).max()))
    return whole


FORCE = trace(lambda a, b, k: (sin(b - a) * k, sin(a - b) * k), {"a": (3,), "b": (3,), "k": ()})


def forces(stages, x, k):
    """The forces (5, 3) of springs k (6,) between masses x (5, 3)."""
    first, second = zip(*PAIRS, strict=True)
    into = [Into(5, first, True), Into(5, second, True)]
    a, b = stages.each(FORCE, Rows(x, first), Rows(x, second), Rows(k, range(6)), into=into)
    return a + b * 2


def test_a_program():
    """The coefficients are computed once; parts for fewer inputs have fewer operations."""
    program = trace(
        lambda x, y: (np.array([sin(x[0]) * y, where(x[1] > 0, sqrt(x[1]) * y, 3 * x[0])]), x * 2),
        {"x": (2,), "y": ()},
    )
    linearised = Linearised(program, (0, 1), "float64")
    x, y, dx, dy = np.array([0.3, 0.7]), 1.2, np.array([0.1, 0.2]), 0.4
    *values, coefficients = linearised.primal.evaluate(x, y)
    for ours, theirs in zip(values, program.evaluate(x, y), strict=True):
        assert_allclose(ours, theirs, rtol=1e-15)
    part = linearised.part(frozenset([0, 1]))
    plus, minus = (program.evaluate(x + s * E * dx, y + s * E * dy) for s in (1, -1))
    for ours, a, b in zip(part.program.evaluate(coefficients, dx, dy), plus, minus, strict=True):
        assert_allclose(ours, (a - b) / (2 * E), rtol=1e-9)
    alone = linearised.part(frozenset([1]))
    assert alone.makes == (0,)
    assert alone.program.operations < part.program.operations


def test_a_jacobian_and_its_products(monkeypatch, rng):
    """Along unit directions entries are taken in groups; products skip what is zero."""
    monkeypatch.setattr(linear, "_SMALL", 0)
    program = trace(lambda x: np.array([sin(x[0]) * x[1], x[1] * x[1], x[2] * 2, sin(x[3])]), {"x": (4,)})
    linearised = Linearised(program, (0,), "float64")
    assert sorted(j for group in linearised.groups[0] for j in group) == [0, 1, 2, 3]
    assert linearised.nonzeros == 5
    x, dx = rng.normal(size=(2, 4))
    coefficients = linearised.primal.evaluate(x)[-1]
    rows = np.zeros((4, 4))
    for group in linearised.groups[0]:
        part = linearised.unit_part(0, group)
        for unit, j in zip(np.eye(len(group)), group, strict=True):
            (rows[j],) = part.program.evaluate(coefficients, unit)
    product, pairs = linearised.product(frozenset([0]))
    assert pairs == [(0, 0)]
    (whole,) = linearised.part(frozenset([0])).program.evaluate(coefficients, dx)
    assert_allclose(product.evaluate(rows, dx)[0], whole, rtol=1e-14)


def test_a_table(rng):
    """A table of the linear part has a row for each direction and row; rows share parts of arrays."""
    recipe = trace_stages(lambda stages, x, k: (x + forces(stages, x, k), k * k), {"x": (5, 3), "k": (6,)}, {})
    whole = require_tangents(recipe, [rng.normal(size=(11, 5, 3)), rng.uniform(1, 2, (11, 6))])
    assert sum(isinstance(work, TableCall) for work in whole.works) >= 3


@pytest.mark.parametrize("when", [lambda i: i < 0, lambda i: i >= 0, lambda i: i % 3 == 1])
def test_loops_and_guards(when, rng):
    """Two works in a loop that ends at its own time for each state, within one that may be left out."""
    double = trace(lambda k: (k * 1.5, k * k), {"k": (6,)})

    def step(stages, x, k, start, when):
        x = x + forces(stages, x, k)

        def once(x, k, count, done):
            k, _ = stages(double, k)
            return x + forces(stages, x, k) * 0.1, k, count + 1, where(count >= start, 1, 0)

        x, k, *_ = stages.repeat(once, x, k, 0.0, 0.0, most=5, when=when)
        (x,) = stages.repeat(lambda x: (x * x,), x, most=1, when=when)
        return x * 2, k, start, when

    recipe = trace_stages(step, {"x": (5, 3), "k": (6,), "start": (), "when": ()}, {}, smooth=True)
    flags = when(np.arange(11)).astype(float)
    state = [rng.normal(size=(11, 5, 3)), rng.uniform(1, 2, (11, 6)), np.arange(11.0) % 4 + 0.5, flags]
    require_tangents(recipe, state, ("x", "k"))


def test_iterations_with_directions_of_their_own(rng):
    """At its start x does not change with v, and later with all: each iteration is differentiated along its own state."""
    push = trace(lambda x, v: (x + sin(v) * 0.1, v - sin(x) * 0.2), {"x": (4,), "v": (4,)})

    def step(stages, x, v, count):
        def once(x, v, left, _):
            x, v = stages(push, x, v)
            return x, v, left - 1, where(left <= 1, 1, 0)

        x, v, *_ = stages.repeat(once, x, v, count, 0.0, most=6)
        return x, v, count

    recipe = trace_stages(step, {"x": (4,), "v": (4,), "count": ()}, {})
    state = [rng.normal(size=(19, 4)), rng.normal(size=(19, 4)), np.arange(19.0) % 5 + 1]
    whole = require_tangents(recipe, state, ("x", "v"))
    (loop,) = (work for work in whole.works if isinstance(work, Repeated))
    assert sum(isinstance(work, Repeated) and not work.outputs for work in loop.works) == 2  # the first, and later ones


def test_a_fixed_point(rng):
    """y = a contraction of y and x, differentiated at its solution, not along its iterations."""
    smooth = trace(
        lambda y, left, done, x: (sin(y * 0.5) + x * x, left, done), {"y": (3,), "left": (), "done": (), "x": (3,)}
    )
    again = trace(lambda y, n, done, x: (sin(y * 0.5) + x * x, n + 1, where(n >= 60, 1, 0)),
                  {"y": (3,), "n": (), "done": (), "x": (3,)})  # fmt: skip

    def step(stages, x):
        y, _, _ = stages(again, np.zeros(3), 0.0, 0.0, x, most=80, smooth=lambda: smooth)
        return (y * 2,)

    recipe = trace_stages(step, {"x": (3,)}, {}, smooth=True)
    require_tangents(recipe, [rng.normal(size=(9, 3))])


def test_tangents_and_adjoints_agree(rng):
    """The adjoint of a recipe is the transpose of its tangent."""
    recipe = trace_stages(lambda stages, x, k: (x + forces(stages, x, k), k * k), {"x": (5, 3), "k": (6,)}, {},
                          smooth=True)  # fmt: skip
    state = [rng.normal(size=(5, 3)), rng.uniform(1, 2, 6)]
    weights = [rng.normal(size=(5, 3)), rng.normal(size=6)]
    _, back = forward_backward(recipe, recipe.state, (), "float64")
    memory = {name: np.ravel(x) for name, x in zip(recipe.inputs, state, strict=True)}
    recipe.run(recipe.works, memory)
    gradients = back.evaluate(*weights, *(memory[name].reshape(recipe.memory[name]) for name in back.series))
    whole, pairs = with_tangents(recipe, recipe.state)
    tangents = dict(zip(pairs, whole.evaluate(*state), strict=True))
    for name, gradient in zip(recipe.state, gradients, strict=True):
        total = sum(tangents[name, k].reshape(gradient.size, -1) @ w.ravel()
                    for k, w in enumerate(weights) if (name, k) in tangents)  # fmt: skip
        assert_allclose(total, gradient.ravel(), rtol=1e-12, atol=1e-13)
