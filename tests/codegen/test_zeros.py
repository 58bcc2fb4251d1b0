"""Outputs with long runs of zeros, which compiled code fills by a loop: every position, every batch, both dtypes."""

import numpy as np
import pytest

import sixd

ARM = sixd.zoo.planar(2)
# positions that are not zero in an output of 4200 entries: none, the ends, the middle, a run of just the shortest
# length
PLACES = {
    "none": [],
    "ends": [0, 4199],
    "middle": [150],
    "short": [10, 27],
    "shortest": [10, 26, 44],
    "all but": range(40),
}


@pytest.mark.many
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", PLACES)
def test_runs_of_zeros(name, dtype, rng):
    places = list(PLACES[name])

    def sparse(q):
        out = [0] * 4200
        for k in places:
            out[k] = q[0] * k + q[1]
        return np.array(out, dtype=object).reshape(60, 70), q

    kernel = sixd.compile(sparse, ARM, dtype=dtype)
    for batch in ((), (1,), (7,), (8,), (33,)):
        q = rng.uniform(1, 2, (*batch, 2)).astype(dtype)
        out = np.full((*batch, 60, 70), np.nan, dtype=dtype), np.full((*batch, 2), np.nan, dtype=dtype)
        expected = np.zeros((*batch, 4200), dtype=dtype)
        for k in places:
            expected[..., k] = q[..., 0] * k + q[..., 1]
        for got, same in (kernel(q), kernel(q, out=out)):
            np.testing.assert_allclose(got.reshape(expected.shape), expected, rtol=1e-6)
            np.testing.assert_array_equal(same, q)


@pytest.mark.long
def test_christoffel_symbols_of_a_tree(rng):
    """Most of them are zero by structure: joints on different branches."""
    model = sixd.zoo.random_tree(3, kinds=("revolute",) * 7)
    q = rng.uniform(-1, 1, (9, model.nq))
    Gamma = sixd.christoffel(model, q)
    np.testing.assert_array_equal(Gamma[4], sixd.christoffel(model, q[4]))
    qd = rng.uniform(-1, 1, (9, model.nv))
    np.testing.assert_allclose(np.einsum("bijk,bk->bij", Gamma, qd), sixd.coriolis_matrix(model, q, qd), atol=1e-12)
