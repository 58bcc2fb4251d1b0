"""Derivatives of frames, momentum, centre of mass and energy: dual numbers, differences, closed laws."""

import numpy as np
import pytest

import sixd
from samples import KINDS, single_joint, states, trees
from sixd.algorithms import kinematics, momentum
from sixd.spatial.dual import duals, parts

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and with the plain algorithms

TIGHT = 1e-13  # norm-wise, relative
COORDINATES = ("body", "aligned", "world")

MODELS = {f"tree{k}": tree for k, tree in enumerate(trees()[:2])}
MODELS |= {kind: single_joint(kind) for kind in KINDS}
each = pytest.mark.parametrize("name", MODELS)


def error(x, y):
    """Norm of the difference, relative to that of y (or to 1)."""
    assert np.shape(x) == np.shape(y)
    return np.linalg.norm(np.ravel(x - y)) / max(1.0, np.linalg.norm(np.ravel(y)))


def by_duals(function, model, arrays):
    """Return the derivatives (…, nv) of a function of q, qd, … with one result (…), with respect to each argument."""

    def derivative(k, e):
        rates = [np.zeros(len(x)) for x in arrays]
        rates[k] = e if k else np.asarray(model.configuration_rate(arrays[0], e), dtype=float)
        return np.asarray(parts(function(*map(duals, arrays, rates)))[1], dtype=float)

    return [np.stack([derivative(k, e) for e in np.eye(model.nv)], axis=-1) for k in range(len(arrays))]


def frame_of(model):
    return f"frame{model.nb}"


@pytest.mark.many
@each
@pytest.mark.parametrize("expressed_in", COORDINATES)
def test_velocity(name, expressed_in, rng):
    model, frame = MODELS[name], frame_of(MODELS[name])
    for q, qd, _ in states(model, rng, count=2):
        found = sixd.velocity_derivatives(model, q, qd, frame, expressed_in=expressed_in)
        expected = by_duals(
            lambda *row: kinematics.velocity(model, *row, frame, expressed_in=expressed_in), model, (q, qd)
        )
        assert max(map(error, found, expected)) < TIGHT
        assert error(found.qd, sixd.jacobian(model, q, frame, expressed_in=expressed_in)) < TIGHT


@pytest.mark.many
@each
@pytest.mark.parametrize("kind", ["spatial", "classical"])
@pytest.mark.parametrize("expressed_in", COORDINATES)
def test_acceleration(name, expressed_in, kind, rng):
    model, frame = MODELS[name], frame_of(MODELS[name])
    options = {"kind": kind, "expressed_in": expressed_in}
    row = next(states(model, rng))
    found = sixd.acceleration_derivatives(model, *row, frame, **options)
    expected = by_duals(lambda *r: kinematics.acceleration(model, *r, frame, **options), model, row)
    assert max(map(error, found, expected)) < TIGHT


@pytest.mark.many
@each
def test_momentum_mass_and_energy(name, rng):
    model = MODELS[name]
    for q, qd, _ in states(model, rng, count=2):
        found = sixd.momentum_derivatives(model, q, qd)
        expected = by_duals(lambda *row: momentum.momentum(model, *row), model, (q, qd))
        assert max(map(error, found, expected)) < TIGHT
        (expected,) = by_duals(lambda x: momentum.center_of_mass(model, x), model, (q,))
        assert error(sixd.center_of_mass_derivatives(model, q), expected) < TIGHT
        derivatives = sixd.energy_derivatives(model, q, qd)
        by_q, by_qd = by_duals(lambda *row: np.array(momentum.energy(model, *row)), model, (q, qd))
        assert error(derivatives.kinetic_q, by_q[0]) < TIGHT
        assert error(derivatives.potential_q, by_q[1]) < TIGHT
        assert error(derivatives.kinetic_qd, by_qd[0]) < TIGHT
        assert error(derivatives.kinetic_qd, sixd.mass_matrix(model, q) @ qd) < TIGHT


@pytest.mark.many
@each
@pytest.mark.parametrize("per", ["body", "subtree"])
def test_bodies_and_subtrees(name, per, rng):
    """Values of all bodies; those of the world's children add up to the model's."""
    model = MODELS[name]
    q, qd, _ = next(states(model, rng))
    found = sixd.momentum_derivatives(model, q, qd, per=per)
    expected = by_duals(lambda *row: momentum.momentum(model, *row, per=per), model, (q, qd))
    assert found.q.shape == (model.nb, 6, model.nv)
    assert max(map(error, found, expected)) < TIGHT
    summed = range(model.nb) if per == "body" else [k - 1 for k in model.bodies if not model.parent[k]]
    assert error(found.q[summed].sum(0), sixd.momentum_derivatives(model, q, qd).q) < TIGHT
    found = sixd.energy_derivatives(model, q, qd, per=per)
    by_q, by_qd = by_duals(lambda *row: np.array(momentum.energy(model, *row, per=per)), model, (q, qd))
    assert max(map(error, found, (by_q[0], by_qd[0], by_q[1]))) < TIGHT
    assert error(found.kinetic_q[summed].sum(0), sixd.energy_derivatives(model, q, qd).kinetic_q) < TIGHT


@pytest.mark.parametrize("name", ["tree0"])
def test_differences(name, rng):
    """Central differences of the public functions: truncation and rounding have an error of 1e-8."""
    model, step = MODELS[name], 1e-5
    q, qd, qdd = next(states(model, rng))
    frame, E = frame_of(model), step * np.eye(model.nv)

    def derivatives(function):
        ahead, behind = (function(model.integrate(q, s * E)) for s in (1, -1))
        return np.moveaxis(ahead - behind, 0, -1) / (2 * step)

    pairs = [
        (sixd.velocity_derivatives(model, q, qd, frame).q, lambda x: sixd.velocity(model, x, qd, frame)),
        (sixd.acceleration_derivatives(model, q, qd, qdd, frame).q, lambda x: sixd.acceleration(model, x, qd, qdd, frame)),
        (sixd.momentum_derivatives(model, q, qd).q, lambda x: sixd.momentum(model, x, qd)),
        (sixd.center_of_mass_derivatives(model, q), lambda x: sixd.center_of_mass(model, x)),
        (sixd.energy_derivatives(model, q, qd).potential_q, lambda x: sixd.energy(model, x, qd)[1]),
    ]  # fmt: skip
    assert max(error(found, derivatives(function)) for found, function in pairs) < 1e-7


@pytest.mark.one_target
def test_arrays(rng):
    """Batches, out= and float32; names of the results; NaN stays in its sample."""
    arm = sixd.zoo.planar(2)
    q, qd = rng.uniform(-1, 1, (2, 4, 2))
    found = sixd.velocity_derivatives(arm, q, qd, "link2")
    assert found._fields == ("q", "qd")
    assert found.q.shape == (4, 6, 2)
    out = tuple(np.empty_like(x) for x in found)
    assert sixd.velocity_derivatives(arm, q, qd, "link2", out=out) is out
    assert all(map(np.array_equal, out, found))
    assert sixd.momentum_derivatives(arm, *(x.astype(np.float32) for x in (q, qd))).q.dtype == np.float32
    assert sixd.compile(sixd.energy_derivatives, arm)(q, qd).kinetic_q.shape == (4, 2)
    qd[1] = np.nan
    derivatives = sixd.energy_derivatives(arm, q, qd).kinetic_q
    assert np.isnan(derivatives[1]).any()
    assert np.isfinite(derivatives[[0, 2, 3]]).all()
