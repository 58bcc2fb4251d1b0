"""A thousand steps on a GPU, and the reciprocals that its code computes by its own method: bit-identical to the CPU."""

import dataclasses

import numpy as np
import pytest

import sixd

ROWS = 300


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["ur_arm", "panda_arm with friction", "humanoid on ground"])
def test_a_thousand_steps(name, dtype, library, rng):
    to, back, _ = library
    model = getattr(sixd.zoo, name.split()[0])()
    options = {"dt": 1e-3, "record_every": 500}
    q = model.random_configuration(rng, size=ROWS)
    if name == "panda_arm with friction":
        model = dataclasses.replace(model, friction=np.full(7, 0.5))
    elif name == "humanoid on ground":
        q = np.tile(model.neutral(), (ROWS, 1))
        q[:, 6] += rng.uniform(0, 0.1, ROWS)
        options |= {
            "dt": 2e-4,
            "method": "euler",
            "forces": sixd.Ground({model.body_names[-1]: [0, 0, 0]}, height=-0.5),
        }
        own = np.array([sixd.Inertia.from_matrix(x).parameters for x in model.inertia[1:]])
        options["parameters"] = {"inertia": (own * rng.uniform(0.8, 1.25, (ROWS, model.nb, 1))).astype(dtype)}
    q, qd = q.astype(dtype), rng.uniform(-0.1, 0.1, (ROWS, model.nv)).astype(dtype)
    duration = 1000 * options["dt"]
    expected = sixd.simulate(model, q, qd, duration, **options)
    if "parameters" in options:
        options["parameters"] = {key: to(x) for key, x in options["parameters"].items()}
    found = sixd.simulate(model, to(q), to(qd), duration, **options)
    assert expected.q.dtype == dtype
    assert np.array_equal(back(found.q), expected.q, equal_nan=True)
    assert np.array_equal(back(found.qd), expected.qd, equal_nan=True)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_reciprocals_are_rounded_to_nearest(dtype, library, rng):
    """All exponents except the outermost of float64; a quarter has digits that are nearly all ones or zeros."""
    to, back, _ = library
    digits, word, size = (52, np.uint64, 64) if dtype == "float64" else (23, np.uint32, 32)
    x = rng.integers(0, 2**size, 2**20, dtype=np.uint64, endpoint=False).astype(word)
    mask = word(2**digits - 1)
    ends = np.concatenate([np.arange(1024), 2**digits - 1 - np.arange(1024)]).astype(word)
    x[::4] = (x[::4] & ~mask) | rng.choice(ends, len(x[::4]))
    x = x.view(dtype)
    if dtype == "float64":
        x = x[(np.abs(x) < 2.0**1022) & (np.abs(x) >= 2.0**-1022) | (x == 0) | ~np.isfinite(x)]
    kernel = sixd.compile(lambda model, q: 1 / q, sixd.zoo.pendulum(), dtype=dtype, target="cuda")
    found = back(kernel(to(np.ascontiguousarray(x[:, None]))))
    with np.errstate(all="ignore"):
        expected = 1 / x[:, None]
    assert np.array_equal(found, expected, equal_nan=True)
