"""A recipe as one call: scalar code for one sample, vectors for batches, bits of a rollout, and samples that a guard
rejects.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sixd.codegen.llvm.machine import assemble, host
from sixd.codegen.llvm.recipes.rollout import emit_rollout
from sixd.codegen.llvm.recipes.single_step import emit_step
from sixd.engine.artifact import recipe_key, shell
from sixd.runtime.calls import FastCall
from sixd.runtime.machine_code import make_image
from sixd.runtime.routine import Rollout, load_step
from sixd.spatial import sin, where
from sixd.trace.program import trace
from sixd.trace.recipe import ProgramCall
from sixd.trace.stages import trace_stages

PAIR = trace(lambda x, y: (x * 2 + y, sin(y) + x[0]), {"x": (3,), "y": ()})
# repeated until all samples are small; one that is done does not change any more, so it depends on no other
HALVE = trace(lambda x, done: (where(done > 0, x, x * 0.5), where(x < 1, 1, done)), {"x": (), "done": ()})


def step(stages, x, y, c):
    a, b = stages(PAIR, x, y * c)
    b, _ = stages(HALVE, b, 0.0, most=20)
    return a + b, b - y


RECIPE = trace_stages(step, {"x": (3,), "y": ()}, {"c": ()})
GUARD = trace(lambda c: where(c > 0, 1, 0), {"c": ()})
GUARDED = replace(
    RECIPE,
    memory={**RECIPE.memory, "good": ()},
    works=(ProgramCall(GUARD, ("c",), ("good",)), *RECIPE.works),
    guard="good",
)


def compiled(recipe, dtype, form):
    machine = host()
    lanes = machine.lanes(dtype) if form == "steps" else 1
    image = make_image(assemble(emit_step(recipe, dtype, lanes, machine.has_fma), machine))
    inputs = [recipe.memory[n] for n in (*recipe.state, *recipe.constants)]
    outputs = [recipe.memory[n] for n in recipe.results]
    entry = FastCall(inputs, outputs, lambda *_: None)
    entry.attach(shell, [load_step(image, form, dtype, inputs, outputs, recipe.operations)])
    return entry


def rollout(recipe, dtype):
    machine = host()
    image = make_image(assemble(emit_rollout(recipe, dtype, machine.lanes(dtype), machine.has_fma), machine))
    inputs, outputs = [recipe.memory[n] for n in recipe.inputs], [("r", *recipe.memory[n]) for n in recipe.state]
    return Rollout(image, "test", dtype, inputs, outputs, recipe.operations)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits_of_a_rollout(dtype, rng):
    arrays = [rng.uniform(0.1, 5, shape).astype(dtype) for shape in ((40, 3), (40,), (40,))]
    one, rows, many = compiled(RECIPE, dtype, "step"), compiled(RECIPE, dtype, "steps"), rollout(RECIPE, dtype)
    wanted = [x[:, 0] for x in many(np.array([1]), arrays)]
    for a, b in zip(wanted, RECIPE.evaluate(*arrays), strict=True):
        assert_allclose(a, b, rtol=1e-5 if dtype == "float32" else 1e-13)
    for n in range(41):
        for found, y in zip(rows(*(x[:n] for x in arrays)), wanted, strict=True):
            assert found.dtype == dtype
            assert_array_equal(found, y[:n])
    for k in range(40):
        for found, y in zip(one(*(np.array(x[k]) for x in arrays)), wanted, strict=True):
            assert_array_equal(found, y[k])


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
def test_samples_that_the_guard_rejects(bad, rng):
    """The fallback computes them, and every batch that contains one."""
    arrays = [rng.uniform(0.1, 5, shape) for shape in ((20, 3), (20,), (20,))]
    one, rows = compiled(GUARDED, "float64", "step"), compiled(GUARDED, "float64", "steps")
    wanted = rollout(RECIPE, "float64")(np.array([1]), arrays)
    alone = [one(*map(np.array, row)) for row in zip(*arrays, strict=True)]
    for found in (rows(*arrays), [np.array(x) for x in zip(*alone, strict=True)]):
        for x, y in zip(found, wanted, strict=True):
            assert_array_equal(x, y[:, 0])
    for k in (0, 7, 19):
        spoilt = [x.copy() for x in arrays]
        spoilt[2][k] = bad
        assert rows(*spoilt) is None
        assert one(*(np.array(x[k]) for x in spoilt)) is None
    assert rows(*arrays) is not None


def test_the_guard_is_part_of_the_key():
    assert recipe_key(GUARDED, "float64") != recipe_key(replace(GUARDED, guard=""), "float64")
