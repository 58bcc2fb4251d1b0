"""Recipes: steps made of programs that are called, evaluated by NumPy and by compiled rollouts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import samples
import sixd
from recipes import both, compiled
from sixd.errors import TraceError
from sixd.simulation.problem import STABILISED, Problem
from sixd.simulation.stepping.compiled_steps import make_recipe, rollout, state_shapes
from sixd.spatial import sin, where
from sixd.trace.program import trace
from sixd.trace.recipe import Repeated, calls_in
from sixd.trace.stages import trace_stages

DOUBLE = trace(lambda x, y: (x * 2 + y, sin(y) + x), {"x": (2,), "y": (2,)})


# calls ------------------------------------------------------------------------------------------


def test_calls_and_the_operations_between():
    """A program called twice occurs twice in the recipe, once in the code; values in memory are not computed again."""

    def step(stages, x, y, c):
        a, b = stages(DOUBLE, x, y)
        d, e = stages(DOUBLE, a * c, b)
        return d + x, stages(DOUBLE, d, e)[1]

    recipe = trace_stages(step, {"x": (2,), "y": (2,)}, {"c": ()})
    calls = [call for call in calls_in(recipe.works) if call.program is DOUBLE]
    assert [len(calls), len(recipe.works)] == [3, 5]  # a * c, and d + x
    assert calls[0].inputs == ("x", "y")
    assert recipe.operations == sum(work.program.operations for work in recipe.works)
    text = compiled(recipe)[1]
    assert text.count("define internal void @program") == 3  # DOUBLE, and the two between
    rng = np.random.default_rng(0)
    x, y, c = rng.uniform(-0.5, 0.5, (5, 2)), rng.uniform(-0.5, 0.5, (5, 2)), rng.uniform(0, 0.2, 5)
    a, b = 2 * x + y, np.sin(y) + x
    d, e = 2 * a * c[:, None] + b, np.sin(b) + a * c[:, None]
    for found in both(recipe, (x, y), (c,), 1):
        assert_allclose(found[0], d + x, atol=1e-15)
        assert_allclose(found[1], np.sin(e) + d, atol=1e-15)


def test_exchanged_states():
    recipe = trace_stages(lambda stages, a, b, c: (b, a, c), {"a": (3,), "b": (3,), "c": ()}, {})
    a, b, c = np.arange(21.0).reshape(7, 3), -np.arange(21.0).reshape(7, 3), np.arange(7.0)
    for found in both(recipe, (a, b, c), (), 3):
        for x, expected in zip(found, (b, a, c), strict=True):
            assert_array_equal(x, expected)


def test_a_number_and_a_vector_of_it_have_separate_places():
    """One node, two shapes: each place has the shape that its reader expects."""
    scalar, vector = trace(lambda x: x * 2, {"x": ()}), trace(lambda x: x + 1, {"x": (1,)})

    def step(stages, x):
        return stages(scalar, x) + stages(vector, np.array([x]))[0]

    recipe = trace_stages(lambda stages, x: (step(stages, x),), {"x": ()}, {})
    for work in calls_in(recipe.works):
        assert [recipe.memory[name] for name in work.inputs] == [slot.shape for slot in work.program.inputs]
    x = np.arange(5.0)
    for found in both(recipe, (x,), (), 2):
        assert_array_equal(found[0], 3 * (3 * x + 1) + 1)


def test_numbers_and_empty_arrays():
    """Results that depend on no input, and arrays without entries."""
    empty = trace(lambda x, nothing: x + 1, {"x": (), "nothing": (0,)})
    recipe = trace_stages(
        lambda stages, x, y: (stages(empty, 2.5, np.zeros(0)), np.array([1.0, x])), {"x": (), "y": (2,)}, {}
    )
    for found in both(recipe, (np.zeros(3), np.ones((3, 2))), (), 2):
        # results that depend on no sample have no batch dimension in the reference
        assert_array_equal(np.broadcast_to(found[0], 3), np.full(3, 3.5))
        assert_array_equal(np.broadcast_to(found[1], (3, 2)), np.full((3, 2), [1.0, 3.5]))


def test_repeated_program_ends_sample_by_sample():
    """Newton's square root: finished samples do not depend on the others, and the limit holds."""

    def newton(x, done, a):
        better = (x + a / x) / 2
        return where(done > 0, x, better), where((better - x) * (better - x) < 1e-20 * a * a, 1, done)

    program = trace(newton, {"x": (), "done": (), "a": ()})

    def step(most):
        return lambda stages, x, a: (stages(program, x, 0.0, a, most=most)[0], a)

    a = np.geomspace(1e-6, 1e6, 19)
    full = trace_stages(step(80), {"x": (), "a": ()}, {})
    for found in both(full, (np.ones(19), a), (), 1):
        assert_allclose(found[0], np.sqrt(a), rtol=1e-12)
    roll = compiled(full)[0]
    together = roll(np.array([1]), [np.ones(19), a])[0][:, 0]
    alone = [roll(np.array([1]), [np.ones(1), a[k : k + 1]])[0][0, 0] for k in range(19)]
    assert_array_equal(together, alone)
    for found in both(trace_stages(step(2), {"x": (), "a": ()}, {}), (np.ones(19), a), (), 1):
        first = (1 + a) / 2
        assert_allclose(found[0], (first + a / first) / 2, rtol=1e-14)


@pytest.mark.parametrize("most", [1, 30])
def test_a_skipped_call(most):
    """Where the flag is 0 in every sample of a vector; samples next to others that need the call do not change."""
    once = trace(lambda x, flag: where(flag > 0, x / 2, x), {"x": (), "flag": ()})

    def halve(x, done, flag):
        less = where(flag > 0, x / 2, x)
        return where(done > 0, x, less), where(done > 0, 1, where(flag > 0, where(less < 1, 1, 0), 1))

    repeated = trace(halve, {"x": (), "done": (), "flag": ()})

    def step(stages, x, flag):
        if most == 1:
            return stages(once, x, flag, when=flag), flag
        return stages(repeated, x, 0.0, flag, most=most, when=flag)[0], flag

    recipe = trace_stages(step, {"x": (), "flag": ()}, {})
    assert [work.when for work in recipe.works if isinstance(work, Repeated)] == ["flag"]
    x, index = np.geomspace(1e-3, 1e4, 21), np.arange(21)
    wanted = x / 2 if most == 1 else np.where(x / 2 < 1, x / 2, x / 2.0 ** np.ceil(np.log2(x) + 1e-9))
    roll = compiled(recipe)[0]
    for flag in (index < 0, index >= 0, index % 3 == 1, index > 15):
        flags = flag.astype(float)
        for found in both(recipe, (x, flags), (), 1):
            assert_array_equal(found[0], np.where(flag, wanted, x))
        together = roll(np.array([1]), [x, flags])[0][:, 0]
        alone = [roll(np.array([1]), [x[k : k + 1], flags[k : k + 1]])[0][0, 0] for k in range(21)]
        assert_array_equal(together, alone)


def test_wrong_number_of_arrays():
    with pytest.raises(TraceError, match="stages: got 1 arrays, expected 2"):
        trace_stages(lambda stages, x: (stages(DOUBLE, x),), {"x": (2,)}, {})


# records ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rows", [0, 1, 3, 8, 17])
def test_records_of_a_counter(rows, dtype):
    """Counts of steps before each record, including 0; entries of several sizes."""
    recipe = trace_stages(lambda stages, n, x, c: (n + 1, x + c), {"n": (), "x": (11,)}, {"c": (11,)})
    roll = compiled(recipe, dtype)[0]
    x = np.arange(rows * 11, dtype=dtype).reshape(rows, 11)
    c = np.arange(11, dtype=dtype).reshape(1, 11)
    counts = np.array([0, 1, 0, 5, 2])
    n, found = roll(counts, [np.zeros(rows, dtype), x, c])
    assert n.shape == (rows, 5)
    assert found.shape == (rows, 5, 11)
    assert found.dtype == dtype
    done = np.cumsum(counts)
    assert_array_equal(n, np.tile(done, (rows, 1)))
    assert_array_equal(found, x[:, None] + done[:, None] * c)
    assert roll(np.zeros(0), [np.zeros(rows, dtype), x, c])[1].shape == (rows, 0, 11)


@pytest.mark.parametrize("rows", [2, 7, 15, 16, 33, 100])
def test_threads_do_every_sample(rows):
    """Whatever the number of samples: those within a vector too, and the remainder of a division."""
    recipe = trace_stages(lambda stages, x: (x * 0.5 + 1,), {"x": (3,)}, {})
    roll = compiled(recipe)[0]
    x = np.random.default_rng(0).standard_normal((rows, 3))
    counts = np.array([3_000_000 // rows, 5])  # enough for threads
    try:
        found = []
        for n in (1, 2, 3):
            sixd.set_num_threads(n)
            found.append(roll(counts, [x])[0])
    finally:
        sixd.set_num_threads(None)
    assert_allclose(found[0], 2.0, atol=1e-12)  # the fixed point: everything was written
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


# steps of mechanisms ------------------------------------------------------------------------------


def problems():
    tree = sixd.zoo.random_tree(1, kinds=("free", "universal", "planar"))
    four_bar = sixd.zoo.four_bar()
    return {
        "rk4": (Problem("test", tree), "rk4"),
        "euler, forces": (Problem("test", tree, has_tau=True, has_f_ext=True), "euler"),
        "midpoint, gravity": (Problem("test", samples.single_joint("spherical"), parameters=("gravity",)), "midpoint"),
        "implicit": (Problem("test", tree, has_tau=True), "implicit"),
        "projected": (Problem("test", four_bar), "rk4"),
        "stabilised": (Problem("test", four_bar, constraints=STABILISED, stabilisation=20.0), "rk4"),
    }


@pytest.mark.long
@pytest.mark.parametrize("name", list(problems()))
def test_reference_and_compiled_code_agree(name, rng):
    """``Recipe.evaluate`` is NumPy's arithmetic in the recipe's order; the code has fused and reordered sums."""
    problem, method = problems()[name]
    system, rows = problem.system, 3
    recipe = make_recipe(problem, method)
    q = np.array([system.random_configuration(rng) for _ in range(rows)])
    if system.constraints:
        q = np.array([sixd.assemble(system, [x, -0.5, 1.6], fixed=["crank"]) for x in (0.9, 1.0, 1.1)])
    v = rng.uniform(-0.5, 0.5, (rows, system.nv)) * (not system.constraints)
    given = {
        "steps": np.zeros(rows),
        "q": q,
        "qd": v,
        "v": v,
        "p": np.zeros((rows, system.nv)),
        "u": np.zeros((rows, 0)),
    }
    if method == "midpoint":
        given["p"] = np.einsum("bij,bj->bi", sixd.mass_matrix(system, q), v)
    state = [given.get(n, np.zeros((rows, *shape))) for n, shape in state_shapes(problem, method).items()]
    constants = [np.full(1, 1e-3), np.zeros(1)]
    constants += [rng.uniform(-1, 1, (rows, *shape)) for shape in problem.constants.values()]
    found = rollout(problem, method, "float64")(np.array([4]), [*state, *constants])
    for _ in range(4):
        state = recipe.evaluate(*state, *constants)
    for ours, reference in zip(found, state, strict=True):
        assert_allclose(ours[:, 0], reference, atol=1e-12, rtol=1e-12)
