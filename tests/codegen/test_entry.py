"""Code for one sample: sines in vectors have the bits of those in batches, whatever the angles and wherever they are."""

import numpy as np
import pytest

import sixd
from sixd.codegen.llvm.entry import emit_entry
from sixd.spatial import cos, sin
from sixd.trace.program import trace

ARM = sixd.zoo.planar(2)
AWKWARD = np.array(
    [0.0, -0.0, 0.5, -1.5707963267948966, 3.141592653589793, 1e5, -1e15, 1e20, 3e37, 1e-20, -1e-40, np.inf, -np.inf, np.nan,
     131072.0, 131073.0, 4398046511104.0, -4398046511105.0]
)  # fmt: skip
each_dtype = pytest.mark.parametrize("dtype", ["float64", "float32"])


def agrees(function, shapes, arrays, dtype):
    """Whether each sample alone has the bits of the batch; all NaN are equal."""
    kernel = sixd.compile(function, ARM, dtype=dtype, shapes=shapes)
    with np.errstate(over="ignore"):
        arrays = [np.ascontiguousarray(x.astype(dtype)) for x in arrays]
    batch = kernel(*arrays)
    rows = np.array([kernel(*(x[k] for x in arrays)) for k in range(len(batch))])
    nan = np.isnan(batch)
    assert np.array_equal(nan, np.isnan(rows))
    return batch.dtype == dtype and batch[~nan].tobytes() == rows[~nan].tobytes()


@pytest.mark.many
@each_dtype
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33])
def test_any_number_of_angles(count, dtype, rng):
    """Fewer and more than the lanes of a vector; one huge angle does not change its neighbours."""

    def both(x):
        return np.concatenate([[sin(a) for a in x], [cos(a) for a in x[::-1]]])

    x = rng.uniform(-10, 10, (30, count))
    x[rng.integers(0, 30, 40), rng.integers(0, count, 40)] = rng.choice(AWKWARD, 40)
    assert agrees(both, {"x": (count,)}, [x], dtype)


@each_dtype
def test_angles_in_any_order(dtype, rng):
    """In several arrays, not neighbours, only the sine or only the cosine, and sums as angles."""

    def some(x, y, z):
        return np.array([
            sin(x[0]) * cos(x[2]), cos(y[1]) + sin(z[3, 0]), sin(y[1]), cos(x[4]) * x[4], sin(z[0, 1] + x[0]),
            cos(z[1, 1]), sin(z[2, 1]) - cos(z[3, 1]), sin(sin(y[0])), x[1] * cos(x[5]),
        ])  # fmt: skip

    arrays = rng.uniform(-9, 9, (20, 6)), rng.uniform(-9, 9, (20, 2)), rng.uniform(-9, 9, (20, 4, 2))
    assert agrees(some, {"x": (6,), "y": (2,), "z": (4, 2)}, arrays, dtype)


def test_angles_are_computed_together():
    """Six angles are one vector of eight; without fused products, or with one lane, each has its own code."""
    program = trace(lambda x: np.array([sin(a) for a in x] + [cos(a) for a in x]), {"x": (6,)})
    joined = emit_entry(program, "float64", 1e300, True, 8)
    assert "<8 x double>" in joined
    assert joined.count("llvm.fma.f64(") <= 2 * 12 + 2  # the sum of squares is computed one by one
    for text in (emit_entry(program, "float64", 1e300), emit_entry(program, "float64", 1e300, False, 8)):
        assert "x double>" not in text


@each_dtype
def test_robots_with_many_angles(dtype, rng):
    """A humanoid's samples, alone and in a batch."""
    model = sixd.zoo.humanoid()
    q = np.array([model.random_configuration(rng) for _ in range(9)]).astype(dtype)
    v = rng.uniform(-1, 1, (9, model.nv)).astype(dtype)
    kernel = sixd.compile(sixd.inverse_dynamics, model, dtype=dtype)
    batch = kernel(q, v, v)
    assert all(np.array_equal(kernel(q[k], v[k], v[k]), batch[k]) for k in range(9))
