"""Every derivative function, on a floating base with every joint type, springs, damping, armature and f_ext.

They are compared with dual numbers and central differences of compiled code; second order with differences of first
order. ``make long`` runs this file: compiling takes nearly all of its time.
"""

import numpy as np
import pytest

import sixd
from samples import KINDS, states
from sixd.algorithms import kinematics, momentum
from sixd.algorithms.aba import aba
from sixd.algorithms.rnea import rnea
from sixd.engine.parameters import with_parameters
from sixd.spatial.dual import duals, parts

pytestmark = pytest.mark.long

DUALS = 1e-13  # norm-wise, relative; measured: 1e-14
DIFFERENCES = 1e-7  # central, step 1e-5; measured: 4e-10


def error(x, y):
    """Norm of the difference, relative to that of y (or to 1)."""
    assert np.shape(x) == np.shape(y)
    return np.linalg.norm(np.ravel(x - y)) / max(1.0, np.linalg.norm(np.ravel(y)))


def by_duals(function, model, arrays):
    """Return the derivatives (…, nv) with respect to each of the arrays q, qd, …."""

    def derivative(k, e):
        rates = [np.zeros(len(x)) for x in arrays]
        rates[k] = e if k else np.asarray(model.configuration_rate(arrays[0], e), dtype=float)
        return np.asarray(parts(np.array(function(*map(duals, arrays, rates))))[1], dtype=float)

    return [np.stack([derivative(k, e) for e in np.eye(model.nv)], axis=-1) for k in range(len(arrays))]


def by_differences(function, model, arrays, step=1e-5):
    """Return the same by central differences of a public function, all columns as one batch."""
    E = step * np.eye(model.nv)

    def sides(k):
        for s in (1, -1):
            moved = model.integrate(arrays[0], s * E) if k == 0 else arrays[k] + s * E
            value = function(*arrays[:k], moved, *arrays[k + 1 :])
            yield np.stack(value, axis=1) if isinstance(value, tuple) else value

    return [np.moveaxis(np.subtract(*sides(k)), 0, -1) / (2 * step) for k in range(len(arrays))]


@pytest.fixture(params=KINDS)
def model(request):
    return sixd.zoo.random_tree(7, kinds=("free", request.param))


@pytest.fixture(params=["random", "near zero", "near pi", "neutral"])
def state(request, model, rng):
    """q, qd, a third array, and f_ext; friction is discontinuous at rest, so no velocity is near zero."""
    found = dict(zip(("random", "near zero", "near pi"), states(model, rng, count=3), strict=True))
    found["neutral"] = model.neutral(), *rng.normal(size=(2, model.nv))
    q, qd, x = found[request.param]
    return (q, np.where(np.abs(qd) < 0.1, 0.5, qd), x), rng.normal(size=(model.nb, 6))


def test_every_function(model, state):
    (q, qd, x), f_ext = state
    frame, held = f"frame{model.nb}", duals(f_ext, np.zeros_like(f_ext))

    def compare(found, algorithm, public, arrays, pick=lambda result: result):
        assert max(map(error, found, pick(by_duals(algorithm, model, arrays)))) < DUALS
        assert max(map(error, found, pick(by_differences(public, model, arrays)))) < DIFFERENCES

    for name, algorithm in {"inverse": rnea, "forward": aba}.items():
        derivatives, primal = getattr(sixd, f"{name}_dynamics_derivatives"), getattr(sixd, f"{name}_dynamics")
        compare(
            derivatives(model, q, qd, x, f_ext=f_ext),
            lambda *row, a=algorithm: a(model, *row, f_ext=held),
            lambda *row, p=primal: p(model, *row, f_ext=f_ext),
            (q, qd, x),
        )
    for choice in ("body", "aligned", "world"):
        options = {"frame": frame, "expressed_in": choice}
        compare(
            sixd.velocity_derivatives(model, q, qd, **options),
            lambda *row, o=options: kinematics.velocity(model, *row, **o),
            lambda *row, o=options: sixd.velocity(model, *row, **o),
            (q, qd),
        )
        options["kind"] = "classical" if choice == "aligned" else "spatial"
        compare(
            sixd.acceleration_derivatives(model, q, qd, x, **options),
            lambda *row, o=options: kinematics.acceleration(model, *row, **o),
            lambda *row, o=options: sixd.acceleration(model, *row, **o),
            (q, qd, x),
        )
    compare(
        [sixd.center_of_mass_derivatives(model, q)],
        lambda a: momentum.center_of_mass(model, a),
        lambda a: sixd.center_of_mass(model, a),
        (q,),
    )
    for per in ("model", "body"):
        compare(
            sixd.momentum_derivatives(model, q, qd, per=per),
            lambda *row, p=per: momentum.momentum(model, *row, per=p),
            lambda *row, p=per: sixd.momentum(model, *row, per=p),
            (q, qd),
        )
        compare(
            sixd.energy_derivatives(model, q, qd, per=per),
            lambda *row, p=per: momentum.energy(model, *row, per=p),
            lambda *row, p=per: sixd.energy(model, *row, per=p),
            (q, qd),
            lambda result: (result[0][0], result[1][0], result[0][1]),
        )


def test_products_and_second_order(model, state, rng):
    """vjp and jvp are products with the analytic derivatives; hvp is the derivative of vjp along a direction."""
    row, f_ext = state
    w, d, h = rng.normal(size=model.nv), rng.normal(size=(3, model.nv)), 1e-5
    d = d / np.linalg.norm(d)
    for name in ("inverse", "forward"):
        derivatives, primal = getattr(sixd, f"{name}_dynamics_derivatives"), getattr(sixd, f"{name}_dynamics")
        partials = derivatives(model, *row, f_ext=f_ext)
        assert max(map(error, sixd.vjp(primal, model)(*row, w, f_ext=f_ext), [w @ s for s in partials])) < DUALS
        along = sixd.jvp(primal, model)(*row, *d, f_ext=f_ext)
        assert error(along, sum(s @ x for s, x in zip(partials, d, strict=True))) < DUALS
        ahead, behind = (
            derivatives(model, model.integrate(row[0], s * d[0]), row[1] + s * d[1], row[2] + s * d[2], f_ext=f_ext)
            for s in (h, -h)
        )
        second = sixd.hvp(primal, model)(*row, w, *d, f_ext=f_ext)
        expected = [w @ (a - b) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
        assert max(map(error, second, expected)) < DIFFERENCES


def test_parameters_and_hessians(model, rng):
    """With respect to inertia, placements, damping, friction, armature and gravity, all at once; columns of the Hessian
    are products.
    """
    q, qd, x = next(states(model, rng))
    values = {
        "inertia": np.array([sixd.Inertia.from_matrix(I).parameters for I in model.inertia[1:]], dtype=float),
        "placements": model.placement[1:].astype(float),
        **{
            name: np.asarray(getattr(model, name), dtype=float)
            for name in ("damping", "friction", "armature", "gravity")
        },
    }
    names, w = tuple(values), rng.normal(size=model.nv)
    changes = [rng.normal(size=v.shape) for v in values.values()]
    moved = with_parameters(model, {n: duals(v, d) for (n, v), d in zip(values.items(), changes, strict=True)})
    for primal, algorithm in ((sixd.inverse_dynamics, rnea), (sixd.forward_dynamics, aba)):
        row = (q, qd, x, *values.values())
        along = sixd.jvp(primal, model, parameters=names, by=names)(*row, *changes)
        expected = parts(algorithm(moved, *(duals(v, np.zeros_like(v)) for v in (q, qd, x))))[1]
        assert error(along, np.asarray(expected, dtype=float)) < DUALS
        gradients = sixd.vjp(primal, model, parameters=names, by=names)(*row, w)
        product = sum(float(np.sum(g * d)) for g, d in zip(gradients, changes, strict=True))
        assert abs(w @ along - product) < 1e-12 * max(map(np.linalg.norm, gradients))
    H, second = (
        d(sixd.inverse_dynamics, model, by="q", **o) for d, o in ((sixd.hessian, {"weight": w}), (sixd.hvp, {}))
    )
    for k in (0, model.nv - 1):
        assert error(second(q, qd, x, w, np.eye(model.nv)[k]), H(q, qd, x)[:, k]) < DUALS
