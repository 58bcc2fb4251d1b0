"""Folding at the ends of the range of floats: if plain floats give the right number, folded code gives it too."""

import numpy as np
import pytest

import sixd
from c_compiler import build, call, needs_cc
from sixd.spatial import exp, sqrt
from sixd.trace import Graph

each_dtype = pytest.mark.parametrize("dtype", ["float64", "float32"])
MODEL = sixd.zoo.planar(1)

# function, argument, result
EXTREMES = {
    "float64": [
        (lambda a: (a * 1e200) * 1e200, 1e-300, 1e100),
        (lambda a: (a * 1e-200) * 1e-200, 1e300, 1e-100),
        (lambda a: (a / 1e200) / 1e200, 1e300, 1e-100),
        (lambda a: 1e200 * (a / 1e-200), 1e-300, 1e100),
        (lambda a: (a * 1e200) * 1e-200, 1e200, 1e200),  # the floats overflow here
        (lambda a: a / 1e-310, 0.0, 0.0),
        (lambda a: a / 1e-310, 1e-310, 1.0),
        (lambda a: a / 1.7e308, 1.7e308, 1.0),
        (lambda a: -(a / 5e-324), 5e-324, -1.0),
        (lambda a: a * sqrt(a * 0 + 1e-300) * exp(a * 0 - 700), 1e300, 1e150 * np.exp(-700)),
        (lambda a: 0.0 / a, 0.0, np.nan),
        (lambda a: (a * 0) / a, 0.0, np.nan),
        (lambda a: 0.0 / a, 2.0, 0.0),
    ],
    "float32": [
        (lambda a: (a * 1e25) * 1e25, 1e-30, 1e20),
        (lambda a: (a * 1e-25) * 1e-25, 1e30, 1e-20),
        (lambda a: (a / 1e25) / 1e25, 1e30, 1e-20),
        (lambda a: a / 1e-40, 0.0, 0.0),
        (lambda a: a / 3e38, 3e38, 1.0),
        (lambda a: (a * 1e60) * 1e-50, 1.0, 1e10),  # 1e60 is no float32
        (lambda a: 0.0 / a, 0.0, np.nan),
    ],
}


@each_dtype
def test_ends_of_the_range(dtype):
    """The cases of one dtype in one kernel, one sample each."""
    functions, arguments, expected = zip(*EXTREMES[dtype], strict=True)
    kernel = sixd.compile(lambda q: np.array([f(q[0]) for f in functions]), MODEL, dtype=dtype)
    result = np.diagonal(kernel(np.array(arguments, dtype=dtype)[:, None]))
    np.testing.assert_allclose(result, expected, rtol=1e-6 if dtype == "float32" else 1e-15, atol=0)


def test_constants_merge_where_the_merged_one_is_normal():
    """In the dtype of the graph; ordinary constants always merge."""
    for dtype, large in (("float64", 1e200), ("float32", 1e25)):
        x = Graph(dtype).input("x")
        assert (x * 2) / 8 is x * 0.25
        assert (x * large) / large is x
        product = (x * large) * large
        assert product.args[0] is x * large
        assert product.args[1].value == large
        assert ((x / large) / large).args[0] is x * (1 / large)
    assert (x * 1e-30) * 1e-10 is not x * 1e-40
    y = Graph().input("y")
    assert (y * 1e-30) * 1e-10 is y * (1e-30 * 1e-10)


# chains of products and quotients ----------------------------------------------------------------------------------

CONSTANTS = {
    "float64": [1e200, -1e-200, 1e300, 1e-300, 3.0, -0.5, 1e154, 1e-154, 1.7e308, 2.3e-308, 1e-310, 5e-324, 7.0, 1e20],
    "float32": [1e25, -1e-25, 1e37, 1e-37, 3.0, -0.5, 1e19, 1e-19, 3.3e38, 1.2e-38, 1e-40, 1.5e-45, 7.0, 1e5],
}
INPUTS = {
    "float64": [0.0, 1.0, -3.0, 1e-300, 1e300, -1e-310, 1e150, 1e-150, np.inf, np.nan],
    "float32": [0.0, 1.0, -3.0, 1e-37, 1e37, -1e-40, 1e18, 1e-18, np.inf, np.nan],
}
STEPS = [
    lambda a, x, c: a * c, lambda a, x, c: a / c, lambda a, x, c: c * a, lambda a, x, c: c / a, lambda a, x, c: -a,
    lambda a, x, c: a * x, lambda a, x, c: x / a, lambda a, x, c: a * c,
]  # fmt: skip


def random_chains(dtype, count=150):
    rng = np.random.default_rng(5)
    # rounded to the dtype: a merged constant is made of the written numbers, and better than theirs
    constants = np.array(CONSTANTS[dtype], dtype=dtype).astype(float)
    return [[(STEPS[rng.integers(8)], rng.choice(constants)) for _ in range(n)] for n in rng.integers(2, 7, count)]


def partial_results(chain, x, kind):
    """Return what each step of a chain gives on numbers of that kind."""
    a, found = x, []
    for step, c in chain:
        a = step(a, x, kind(c))
        found.append(a)
    return found


def wanted(chain, x, dtype):
    """Return the exact result of a chain if plain floats of that dtype stay in range in every step, else None."""
    kind, info = np.dtype(dtype).type, np.finfo(dtype)
    with np.errstate(all="ignore"):
        exact = partial_results(chain, np.longdouble(kind(x)), lambda c: np.longdouble(kind(c)))
        plain = partial_results(chain, kind(x), kind)
    for e, p in zip(exact, plain, strict=True):
        usual = info.tiny <= abs(e) <= info.max
        if not (usual or e == p or (np.isnan(e) and np.isnan(p))):
            return None
    return exact[-1]


def disagreements(dtype, evaluate):
    """Return chains and arguments where ``evaluate(x)``, all chains at x, differs from plain floats by more than
    rounding.
    """
    kind, eps, bad, checked = np.dtype(dtype).type, float(np.finfo(dtype).eps), [], 0
    chains = random_chains(dtype)
    for x in INPUTS[dtype]:
        for k, result in enumerate(np.asarray(evaluate(kind(x)), dtype=np.longdouble)):
            want = wanted(chains[k], x, dtype)
            if want is None:
                continue
            checked += 1
            if not np.isclose(result, want, rtol=16 * eps, atol=0, equal_nan=True):
                bad.append((k, x, result, want))
    assert checked > 300
    return bad


def all_chains(dtype):
    chains = random_chains(dtype)
    return lambda q: np.array([partial_results(chain, q[0], float)[-1] for chain in chains])


needs_range = pytest.mark.skipif(np.finfo(np.longdouble).maxexp < 16000, reason="long double is no wider than double")


@needs_range
@each_dtype
def test_compiled_chains_keep_the_range_of_floats(dtype):
    """Random products and quotients of extreme constants: right wherever plain floats are, in a batch and in one
    sample.
    """
    kernel = sixd.compile(all_chains(dtype), MODEL, dtype=dtype)
    rows = kernel(np.array(INPUTS[dtype], dtype=dtype)[:, None])
    table = dict(zip(map(repr, np.array(INPUTS[dtype], dtype=dtype)), rows, strict=True))
    assert disagreements(dtype, lambda x: table[repr(x)]) == []
    for x, row in zip(INPUTS[dtype], rows, strict=True):
        assert np.array_equal(kernel(np.array([x], dtype=dtype)), row, equal_nan=True)


@needs_range
@needs_cc
@each_dtype
def test_chains_in_c_keep_the_range_of_floats(dtype, tmp_path):
    """The same chains as C."""
    kernel = sixd.compile(all_chains(dtype), MODEL, dtype=dtype)
    function = build(sixd.export_c(all_chains(dtype), MODEL, name="chains", dtype=dtype), tmp_path)
    assert disagreements(dtype, lambda x: call(function, kernel.program, [x], dtype=dtype)[0]) == []
