"""Arrays of every derivative function, for every joint type: batches, ``out=``, float32, NaN, threads, C."""

import numpy as np
import pytest

import sixd
from c_compiler import build, call, needs_cc
from samples import trees

MODELS = {"some": sixd.zoo.random_tree(3, kinds=("free", "universal", "revolute")), "every": trees()[0]}
FUNCTIONS = {
    "inverse": (sixd.inverse_dynamics_derivatives, 3, {}),
    "packed": (sixd.inverse_dynamics_derivatives, 3, {"packed": True}),
    "forward": (sixd.forward_dynamics_derivatives, 3, {}),
    "velocity": (sixd.velocity_derivatives, 2, {"frame": "frame3", "expressed_in": "aligned"}),
    "acceleration": (sixd.acceleration_derivatives, 3, {"frame": "frame3", "kind": "classical"}),
    "center_of_mass": (sixd.center_of_mass_derivatives, 1, {}),
    "momentum": (sixd.momentum_derivatives, 2, {}),
    "momentum_of_bodies": (sixd.momentum_derivatives, 2, {"per": "body"}),
    "energy": (sixd.energy_derivatives, 2, {}),
    "energy_of_subtrees": (sixd.energy_derivatives, 2, {"per": "subtree"}),
}
each = pytest.mark.parametrize("name", FUNCTIONS)
# compiling for the tree with every joint type takes a minute in total
on_both = pytest.mark.parametrize("model", ["some", pytest.param("every", marks=pytest.mark.long)])


def rows(model, rng, size, count):
    return [model.random_configuration(rng, size=size), *rng.normal(size=(2, size, model.nv))][:count]


def arrays(result):
    return result if isinstance(result, tuple) else (result,)


def same(a, b):
    return all(map(np.array_equal, arrays(a), arrays(b)))


def error(x, y):
    """Norm of the difference, relative to that of y (or to 1)."""
    assert np.shape(x) == np.shape(y)
    return np.linalg.norm(np.ravel(x - y)) / max(1.0, np.linalg.norm(np.ravel(y)))


@pytest.mark.many
@each
@on_both
def test_batches_out_and_nan(name, model, rng):
    """Samples are bit-identical to single calls; NaN in one sample stays there, and its derivatives are NaN."""
    model, (function, count, options) = MODELS[model], FUNCTIONS[name]
    x = rows(model, rng, 9, count)
    found = function(model, *x, **options)
    for k in (0, 8):
        assert same(function(model, *(a[k] for a in x), **options), type_of(found, [a[k] for a in arrays(found)]))
    out = tuple(np.full_like(a, np.nan) for a in arrays(found))
    out = out if isinstance(found, tuple) else out[0]
    assert function(model, *x, out=out, **options) is out
    assert same(out, found)
    assert all(a.shape[0] == 0 for a in arrays(function(model, *(a[:0] for a in x), **options)))
    grid = function(model, x[0].reshape(3, 3, -1), *(a.reshape(3, 3, -1) for a in x[1:]), **options)
    assert all(np.array_equal(g.reshape(a.shape), a) for g, a in zip(arrays(grid), arrays(found), strict=True))

    x[0] = x[0].copy()
    x[0][4] = np.nan
    spoiled, others = function(model, *x, **options), [0, 1, 2, 3, 5, 6, 7, 8]
    assert any(np.isnan(a[4]).any() for a in arrays(spoiled))
    assert all(np.array_equal(a[others], b[others]) for a, b in zip(arrays(spoiled), arrays(found), strict=True))


def type_of(like, values):
    return type(like)(*values) if isinstance(like, tuple) else values[0]


@pytest.mark.many
@each
@on_both
def test_float32(name, model, rng):
    model, (function, count, options) = MODELS[model], FUNCTIONS[name]
    x = rows(model, rng, 3, count)
    single = function(model, *(a.astype(np.float32) for a in x), **options)
    assert all(a.dtype == np.float32 for a in arrays(single))
    expected = arrays(function(model, *x, **options))
    assert max(map(error, arrays(single), expected)) < 1e-3  # of float32, times the condition number of M


@pytest.mark.many
@each
@on_both
def test_threads(name, model, rng):
    """The bits of a sample do not depend on the number of threads."""
    model, (function, count, options) = MODELS[model], FUNCTIONS[name]
    x = rows(model, rng, 700, count)
    try:
        sixd.set_num_threads(1)
        alone = function(model, *x, **options)
        sixd.set_num_threads(3)
        assert same(function(model, *x, **options), alone)
    finally:
        sixd.set_num_threads(None)


@pytest.mark.many
@needs_cc
@each
@on_both
def test_c(name, model, rng, tmp_path):
    """The exported function of a tree with every joint type."""
    model, (function, count, options) = MODELS[model], FUNCTIONS[name]
    x = [a[0] for a in rows(model, rng, 1, count)]
    code, kernel = sixd.export_c(function, model, **options), sixd.compile(function, model, **options)
    found = call(build(code, tmp_path, optimize="-O0"), kernel.program, *x)
    assert max(map(error, found, arrays(function(model, *x, **options)))) < 1e-13


@needs_cc
@pytest.mark.parametrize("mechanism", ["four_bar", "follower"])
def test_c_of_constraints(mechanism, rng, tmp_path):
    """Constrained dynamics, and a model in independent coordinates."""
    arm = sixd.zoo.planar(3).with_constraints(sixd.Mimic("link2", "link1", 2.0, 0.1))
    system = sixd.zoo.four_bar() if mechanism == "four_bar" else arm.reduce()
    name = "constrained" if mechanism == "four_bar" else "forward"
    function = getattr(sixd, f"{name}_dynamics_derivatives")
    x = rng.uniform(0.2, 0.8, (3, system.nv))
    code, kernel = sixd.export_c(function, system), sixd.compile(function, system)
    found = call(build(code, tmp_path), kernel.program, *x)
    assert max(map(error, found, function(system, *x))) < 1e-12
    single = sixd.compile(function, system, dtype="float32")(*x.astype(np.float32))
    assert all(a.dtype == np.float32 for a in single)
    assert max(map(error, single, function(system, *x))) < 1e-3  # of float32
