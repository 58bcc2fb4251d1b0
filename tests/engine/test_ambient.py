"""Derivatives in ambient coordinates: with respect to the entries of a configuration, compared with finite differences."""

import numpy as np
import pytest

from samples import KINDS, single_joint
from sixd.engine.artifact import routine
from sixd.engine.differentiation import jvp_request, vjp_request
from sixd.engine.functions import LIBRARY, Request

H = 1e-6
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "integrate", "difference", "energy")


def run(model, request, *arrays):
    return routine(model, request)([np.asarray(x, dtype=float) for x in arrays], (), None)[0]


def sample(name, model, rng):
    """A request and a sample of its arrays; a configuration's quaternions are not of unit length."""
    function = LIBRARY[name]
    request = Request(function, tuple(function.choices.values()), "float64", False)
    q = model.random_configuration(rng)
    given = {"q": q, "q0": q, "q1": model.integrate(q, rng.uniform(-0.5, 0.5, model.nv))}
    x = [given[a] if a in given else rng.uniform(-1, 1, function.core(model, a)) for a in request.arrays]
    if model.nq != model.nv:
        x = [1.1 * a if name in given else a for name, a in zip(request.arrays, x, strict=True)]
    return request, x


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_with_respect_to_entries(name, kind, rng):
    """Both orders, every input; tolerances are those of central differences with a step of 1e-6."""
    model = single_joint(kind)
    request, x = sample(name, model, rng)
    by = tuple(range(len(x)))
    dx = [rng.uniform(-1, 1, a.shape) for a in x]

    def moved(arrays, directions, h):
        return [a + h * d for a, d in zip(arrays, directions, strict=True)]

    def difference(request, arrays, directions):
        high, low = (run(model, request, *moved(arrays, directions, h)) for h in (H, -H))
        return [(a - b) / (2 * H) for a, b in zip(high, low, strict=True)]

    dy = run(model, jvp_request(model, request, by), *x, *dx)
    for found, expected in zip(dy, difference(request, x, dx), strict=True):
        assert np.allclose(found, expected, rtol=1e-7, atol=1e-6)
    w = [rng.uniform(-1, 1, np.shape(y)) for y in dy]
    gradient = vjp_request(model, request, by)
    g = run(model, gradient, *x, *w)
    assert [a.shape for a in g] == [a.shape for a in x]
    assert sum(np.sum(a * b) for a, b in zip(g, dx, strict=True)) == pytest.approx(
        sum(np.sum(a * b) for a, b in zip(w, dy, strict=True)), abs=1e-10
    )
    dw = [rng.uniform(-1, 1, np.shape(y)) for y in w]
    second = jvp_request(model, gradient, tuple(range(len(x) + len(w))))
    found = run(model, second, *x, *w, *dx, *dw)
    for a, b in zip(found, difference(gradient, [*x, *w], [*dx, *dw]), strict=True):
        assert np.allclose(a, b, rtol=1e-6, atol=1e-5)


def test_length_of_a_quaternion_has_no_derivative(rng):
    """For forward dynamics, the gradient with respect to a quaternion is perpendicular to it, and shrinks as it grows."""
    model = single_joint("spherical")
    request, x = sample("forward_dynamics", model, rng)
    gradient = vjp_request(model, request, (0,))
    assert vjp_request(model, request, (0,)) is gradient
    part = next(model.iq[i] for i in model.bodies if model.joints[i].nq == 4)
    w = rng.uniform(-1, 1, model.nv)
    (once,) = run(model, gradient, *x, w)
    x[0] = x[0].copy()
    x[0][part] *= 2
    (twice,) = run(model, gradient, *x, w)
    assert abs(once[part] @ x[0][part]) < 1e-12
    assert np.allclose(once[part], 2 * twice[part], rtol=1e-12)
