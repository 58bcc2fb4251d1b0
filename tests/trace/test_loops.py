"""Tables and loops of recipes, evaluated by NumPy and by compiled code."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from recipes import (
    PAIRS,
    both,
    compiled,
    nested,
    nested_by_numbers,
    roots,
    roots_by_numpy,
    springs,
    springs_by_numpy,
)
from sixd.codegen.js_module import emit_js_module
from sixd.engine.artifact import recipe_key
from sixd.errors import TraceError
from sixd.spatial import sin, where
from sixd.trace.adjoint import forward_backward
from sixd.trace.program import trace
from sixd.trace.recipe import Repeated, TableCall
from sixd.trace.stages import Into, Rows, trace_stages


@pytest.mark.parametrize("batch", [1, 8, 19])
def test_a_table(batch, rng):
    """Rows share parts of arrays; results of several rows are added to one part."""
    x, k = rng.normal(size=(batch, 5, 3)), rng.uniform(size=(batch, 6))
    expected = springs_by_numpy(*springs_by_numpy(x, k))
    for result in both(springs(), (x, k), (), 2):
        for ours, theirs in zip(result, expected, strict=True):
            assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)


def test_the_code_does_not_grow_with_rows():
    """One function, called in a loop: more rows make a longer table of numbers."""

    def text_of(rows):
        double = trace(lambda x: sin(x) * 2, {"x": ()})
        table, into = range(rows), [Into(rows, range(rows))]
        recipe = trace_stages(lambda stages, x: (stages.each(double, Rows(x, table), into=into),), {"x": (rows,)}, {})
        assert recipe.operations == 2
        return [line for line in compiled(recipe)[1].splitlines() if "constant [" not in line]

    # reading and writing whole arrays of a batch is unrolled, entry by entry
    assert sum("call void @program0" in line for line in text_of(100)) == 1


@pytest.mark.parametrize("flags", [lambda i: i < 0, lambda i: i >= 0, lambda i: i % 3 == 1, lambda i: i > 15])
def test_nested_loops(flags):
    """A sample's numbers do not depend on how often its neighbours iterate, nor on what is left out for all of them."""
    x, when = np.geomspace(1e-4, 1e3, 21), flags(np.arange(21)).astype(float)
    y, count = np.linspace(-1, 1, 21), np.zeros(21)
    expected = [nested_by_numbers(*row) for row in zip(x, y, when, count, strict=True)]
    for result in both(nested(), (x, y, when, count), (), 1):
        assert_allclose(np.column_stack(result), expected, rtol=1e-15)
    roll = compiled(nested())[0]
    alone = [roll(np.array([1]), [a[i : i + 1] for a in (x, y, when, count)]) for i in range(21)]
    together = roll(np.array([1]), [x, y, when, count])
    for k in range(4):
        assert_array_equal(np.concatenate([a[k] for a in alone]), together[k])


@pytest.mark.parametrize("flags", [lambda x: x < 0, lambda x: x > 0, lambda x: x > 0.5])
def test_loops_for_each_row(flags, rng):
    """Rows that read one part, loops that end at different times, rows and states that are left out."""
    x, when, y = (
        rng.uniform(0, 100, (19, 4)),
        flags(rng.uniform(size=(19, 4))).astype(float),
        rng.normal(size=(19, 5, 2)),
    )
    expected = [roots_by_numpy(*row) for row in zip(x, when, y, strict=True)]
    for result in both(roots(), (x, when, y), (), 1):
        assert_allclose(result[2], expected, rtol=1e-15)
    roll = compiled(roots())[0]
    alone = [roll(np.array([1]), [a[i : i + 1] for a in (x, when, y)])[2] for i in range(19)]
    assert_array_equal(np.concatenate(alone), roll(np.array([1]), [x, when, y])[2])


def test_loops_for_each_row_are_not_differentiated():
    """An error says so, instead of derivatives that are none."""
    with pytest.raises(TraceError, match="loops over the rows of a table are not differentiated"):
        forward_backward(roots(), ("x",), (), "float64")
    assert recipe_key(roots(), "float64") != recipe_key(roots(into=(1, 3, 0, 2)), "float64")


def test_exchange_in_a_loop():
    """States that become each other, as many times as another counts."""

    def step(stages, a, b, n):
        return stages.repeat(lambda a, b, n: (b, a, n - 1), a, b, n, most=7)

    recipe = trace_stages(step, {"a": (3,), "b": (3,), "n": ()}, {})
    n = np.arange(2.0, 9.0)
    a, b = np.arange(21.0).reshape(7, 3), -np.arange(21.0).reshape(7, 3)
    odd = (n - 1) % 2 == 1
    for result in both(recipe, (a, b, n), (), 1):
        assert_array_equal(result[0], np.where(odd[:, None], b, a))
        assert_array_equal(result[1], np.where(odd[:, None], a, b))
        assert_array_equal(result[2], 1)


def test_the_adjoint_of_a_table(rng):
    """Weights go back through the rows: compared with differences along a random direction."""

    def step(stages, x, k, whole):
        first, second = zip(*PAIRS, strict=True)
        force = trace(
            lambda a, b, k, w: (sin(b - a) * k * w, sin(a - b) * k + w), {"a": (3,), "b": (3,), "k": (), "w": ()}
        )
        into = [Into(5, first, True), Into(5, second, True)]
        a, b = stages.each(force, Rows(x, first), Rows(x, second), Rows(k, range(6)), whole, into=into)
        return x + (a + b * 2) * 0.1, k, whole

    recipe = trace_stages(step, {"x": (5, 3), "k": (6,), "w": ()}, {}, smooth=True)
    assert any(isinstance(work, TableCall) for work in recipe.works)
    require_adjoint(recipe, [rng.normal(size=(5, 3)), rng.uniform(1, 2, 6), np.array(0.7)], rng)


@pytest.mark.parametrize("when", [0.0, 1.0])
def test_the_adjoint_of_a_loop(when, rng):
    """Over several works, one of them a table: weights go back through each iteration that was made."""
    force = trace(lambda a, b, k: (sin(b - a) * k, sin(a - b) * k), {"a": (3,), "b": (3,), "k": ()})
    double = trace(lambda k: (k * 1.5, k * k), {"k": (6,)})

    def step(stages, x, k, when):
        first, second = zip(*PAIRS, strict=True)

        def once(x, k, count, done):
            into = [Into(5, first, True), Into(5, second, True)]
            a, b = stages.each(force, Rows(x, first), Rows(x, second), Rows(k, range(6)), into=into)
            k, _ = stages(double, k)
            return x + (a + b * 2) * 0.1, k, count + 1, where(count >= 2, 1, 0)

        x, k, *_ = stages.repeat(once, x, k, 0.0, 0.0, most=5, when=when)
        return x * 2, k, when

    recipe = trace_stages(step, {"x": (5, 3), "k": (6,), "when": ()}, {}, smooth=True)
    require_adjoint(recipe, [rng.normal(size=(5, 3)), rng.uniform(1, 2, 6), np.array(when)], rng, ("x", "k"))


def test_tapes_are_part_of_a_key_and_not_of_javascript():
    """Recipes that differ in a tape alone have keys of their own; pages step forwards, without tapes."""

    def kept(keeps):
        def step(stages, x):
            return (stages.repeat(lambda x, done: (x / 2, where(x < 2, 1, 0)), x, 0.0, most=3, keeps=keeps)[0],)

        return trace_stages(step, {"x": ()}, {})

    plain, taped = kept(False), kept(True)
    loops = (replace(work, tape=(), made="") if isinstance(work, Repeated) else work for work in taped.works)
    bare = replace(taped, works=tuple(loops))
    assert len({recipe_key(recipe, "float64") for recipe in (plain, taped, bare)}) == 3
    assert emit_js_module(plain, {})
    with pytest.raises(TraceError, match="loops with tapes"):
        emit_js_module(taped, {})


def require_adjoint(recipe, state, rng, weighed=None):
    """Compare the adjoint of a recipe with differences along a random direction."""
    weighed = recipe.state if weighed is None else weighed
    at = [recipe.state.index(name) for name in weighed]
    weights, along = ([rng.normal(size=np.shape(state[k])) for k in at] for _ in range(2))
    d, ends = 1e-6, []
    for sign in (1, -1):
        moved = list(state)
        for k, v in zip(at, along, strict=True):
            moved[k] = moved[k] + sign * d * v
        ends.append(recipe.evaluate(*moved))
    rate = sum(((ends[0][k] - ends[1][k]) / (2 * d) * w).sum() for k, w in zip(at, weights, strict=True))
    there, back = forward_backward(recipe, weighed, (), "float64")
    values = [_array_of(there, name, state) for name in back.series]
    gradients = back.evaluate(*weights, *values)
    assert_allclose(sum((g * v).sum() for g, v in zip(gradients, along, strict=True)), rate, rtol=1e-7)  # differences


def _array_of(recipe, name, state):
    """Return an array of a recipe's memory: what it was at the beginning of a step, or else after it."""
    memory = {n: np.ravel(x) for n, x in zip(recipe.inputs, state, strict=True)}
    recipe.run(recipe.works, memory)
    return memory[name].reshape(recipe.memory[name])
