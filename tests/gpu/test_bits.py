"""Every public function on a GPU is bit-identical to the CPU, for every joint type, in both widths and layouts."""

import numpy as np
import pytest

import group_functions
import sixd
from samples import KINDS, OPERATIONAL, single_joint
from sixd.engine.functions import LIBRARY
from sixd.model.system import library

cupy = pytest.importorskip("cupy", reason="arrays on the GPU are CuPy's")
ROWS = 75  # two warps, and a part of one
ON_LOOPS = sorted(name for name in LIBRARY if LIBRARY[name].generic and name not in OPERATIONAL)
ON_TREES = sorted(set(LIBRARY) - set(ON_LOOPS))


def arguments(model, function, rng, dtype):
    """Random arrays of a function's shapes; some angles are huge."""
    for name in function.arrays:
        if name in ("q", "q0", "q1"):
            x = model.random_configuration(rng, size=ROWS)
            flat = np.concatenate([np.full(joint.nq, joint.nq == joint.nv) for joint in model.joints])
            x[:3] *= np.where(flat, [[1e3], [1e12], [1e30]], 1.0)  # quaternions have unit length
        else:
            x = rng.uniform(-1, 1, (ROWS, *function.core(model, name)))
        yield x.astype(dtype)


def parts(result):
    result = getattr(result, "raw", result)  # of sixd.newton_euler
    return result if isinstance(result, tuple) else (result,)


def check(model, name, rng, dtype):
    """Compare both sides, on row-major and on column-major arrays."""
    function = LIBRARY[name].for_system(model)
    fixed = {"frame": model.body_names[-1], "given": [model.joint_names[-1]]}
    choices = {key: fixed[key] for key, usual in function.choices.items() if usual is ...}
    given = list(arguments(model, function, rng, dtype))

    def call(arrays):
        return parts(library(name)(model, **dict(zip(function.arrays, arrays, strict=True)), **choices))

    try:
        true = call(given)
    except sixd.SingularError:  # huge angles that differ in the last digit
        given = [x[3:] for x in given]
        true = call(given)
    for order in "CF":
        for found, expected in zip(call([cupy.asarray(x, order=order) for x in given]), true, strict=True):
            assert isinstance(found, cupy.ndarray)
            assert found.dtype == dtype
            assert np.array_equal(cupy.asnumpy(found), expected, equal_nan=True), (name, order)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ON_TREES)
def test_trees(name, kind, dtype, rng):
    model = single_joint(kind)
    if name in OPERATIONAL:  # of a frame that must be able to move in all directions
        model = sixd.zoo.random_tree(7, kinds=("free", kind))
    check(model, name, rng, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("make", [sixd.zoo.four_bar, sixd.zoo.bicycle, sixd.zoo.rolling_disc])
@pytest.mark.parametrize("name", ON_LOOPS)
def test_constrained_systems(name, make, dtype, rng):
    check(make(), name, rng, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kinds", [("free", "revolute", "spherical"), ("revolute", "revolute x")])
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobian", "coriolis_matrix"])
def test_large_robots(name, kinds, dtype, rng):
    """Their code is compact: sine and cosine are called, tiles are copied by calls, operations come by visits."""
    check(sixd.zoo.random_tree(7, kinds=kinds, rounds=5), name, rng, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_users_functions(dtype, rng):
    """Exponentials, logarithms, lengths and the like, and their derivatives, in kernels."""
    model, shapes = sixd.zoo.pendulum(), {"x": (group_functions.SIZE,)}
    x, dx = group_functions.arguments(rng, ROWS).astype(dtype), rng.standard_normal((ROWS, group_functions.SIZE))
    x[::10] *= 1e30
    for make, given in ((sixd.compile, [x]), (sixd.jvp, [x, dx.astype(dtype)])):
        kernel = make(group_functions.all_of_them, model, shapes=shapes, dtype=dtype)
        found = kernel(*map(cupy.asarray, given))
        assert isinstance(found, cupy.ndarray)
        assert np.array_equal(cupy.asnumpy(found), kernel(*given), equal_nan=True)
