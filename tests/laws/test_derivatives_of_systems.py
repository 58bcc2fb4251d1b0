"""Derivatives of frames, momentum and energy of systems that are not trees: reduced models, equations, Lagrangians."""

import numpy as np
import pytest
import sympy as sp

import sixd
from sixd.algorithms import kinematics, momentum
from sixd.spatial.dual import duals, parts

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and with the plain algorithms

TIGHT = 1e-13  # norm-wise, relative


def error(x, y):
    """Norm of the difference, relative to that of y (or to 1)."""
    assert np.shape(x) == np.shape(y)
    return np.linalg.norm(np.ravel(x - y)) / max(1.0, np.linalg.norm(np.ravel(y)))


def gripper():
    """A floating gripper: a spherical wrist and two fingers, one of which follows the other nonlinearly."""
    builder = sixd.ModelBuilder("gripper")
    builder.add_body("palm", "world", sixd.Free(), inertia=sixd.box(0.2, 0.3, 0.1, mass=1.0))
    builder.add_body("wrist", "palm", sixd.Spherical(), inertia=sixd.box(0.1, 0.2, 0.1, mass=0.5), stiffness=0.4)
    for name, side in (("left", 1), ("right", -1), ("thumb", 0)):
        pose = np.eye(4)
        pose[:3, 3] = 0.1, 0.05 * side, 0.02
        builder.add_body(
            name,
            "wrist",
            sixd.Revolute([1, 2, side]),
            placement=pose,
            inertia=sixd.box(0.1, 0.1, 0.2, mass=0.4),
            armature=0.1,
            damping=0.1,
            stiffness=0.7,
        )
    builder.add_constraint(sixd.Mimic("right", "left", -1.5, 0.1))
    builder.add_constraint(sixd.Coupling("thumb", "left", lambda y: y * y + 0.3 * y))
    return builder.build().reduce()


def follower():
    return sixd.zoo.planar(3).with_constraints(sixd.Mimic("link2", "link1", 2.0, 0.1)).reduce()


def by_duals(system, function, arrays):
    """Return the derivatives (…, nv) of a function of q, qd, … with respect to each argument."""

    def derivative(k, e):
        rates = [np.zeros(len(x)) for x in arrays]
        rates[k] = e if k else np.asarray(system.configuration_rate(arrays[0], e), dtype=float)
        return np.asarray(parts(np.array(function(*map(duals, arrays, rates))))[1], dtype=float)

    return [np.stack([derivative(k, e) for e in np.eye(system.nv)], axis=-1) for k in range(len(arrays))]


@pytest.mark.parametrize("make", [gripper, follower])
def test_reduced_models(make, rng):
    """The model's function at the lifted state, with dual numbers."""
    system = make()
    model, frame = system.model, system.model.body_names[-1]
    q, (qd, qdd) = system.random_configuration(rng), rng.normal(size=(2, system.nv))

    def lifted(algorithm, **options):
        return lambda *row: algorithm(model, *system.state(*row), **options)

    for choice in ("body", "aligned", "world"):
        found = sixd.velocity_derivatives(system, q, qd, frame, expressed_in=choice)
        expected = by_duals(system, lifted(kinematics.velocity, frame=frame, expressed_in=choice), (q, qd))
        assert max(map(error, found, expected)) < TIGHT
    assert error(found.qd, sixd.jacobian(system, q, frame, expressed_in="world")) < TIGHT
    options = {"frame": frame, "kind": "classical", "expressed_in": "aligned"}
    found = sixd.acceleration_derivatives(system, q, qd, qdd, **options)
    expected = by_duals(system, lifted(kinematics.acceleration, **options), (q, qd, qdd))
    assert max(map(error, found, expected)) < TIGHT
    (expected,) = by_duals(system, lifted(momentum.center_of_mass), (q,))
    assert error(sixd.center_of_mass_derivatives(system, q), expected) < TIGHT
    for per in ("model", "body", "subtree"):
        found = sixd.momentum_derivatives(system, q, qd, per=per)
        expected = by_duals(system, lifted(momentum.momentum, per=per), (q, qd))
        assert max(map(error, found, expected)) < TIGHT
        found = sixd.energy_derivatives(system, q, qd, per=per)
        by_q, by_qd = by_duals(system, lifted(momentum.energy, per=per), (q, qd))
        assert max(map(error, found, (by_q[0], by_qd[0], by_q[1]))) < TIGHT
    assert error(sixd.energy_derivatives(system, q, qd).kinetic_qd, sixd.mass_matrix(system, q) @ qd) < TIGHT


def test_batches_of_reduced_models(rng):
    system = follower()
    q, qd = rng.normal(size=(2, 5, system.nv))
    q[3, 0] = np.nan
    found = sixd.velocity_derivatives(system, q, qd, "link3")
    assert [x.shape for x in found] == [(5, 6, 2)] * 2
    assert np.isnan(found.q[3]).any()
    for k in (0, 1, 2, 4):
        row = sixd.velocity_derivatives(system, q[k], qd[k], "link3")
        assert all(np.array_equal(a[k], b) for a, b in zip(found, row, strict=True))
    single = sixd.energy_derivatives(system, q.astype("f4"), qd.astype("f4"))
    assert single.kinetic_q.dtype == np.float32


@pytest.mark.one_target
def test_parameters_of_reduced_models(rng):
    """Inertias as inputs of a kernel: their numbers give the usual results."""
    system = follower()
    bodies = np.array([sixd.Inertia.from_matrix(x).parameters for x in system.model.inertia[1:]], dtype=float)
    q, qd, qdd = rng.normal(size=(3, system.nv))
    for function, row in (
        (sixd.energy_derivatives, (q, qd)),
        (sixd.momentum_derivatives, (q, qd)),
        (sixd.inverse_dynamics_derivatives, (q, qd, qdd)),
        (sixd.forward_dynamics_derivatives, (q, qd, qdd)),
    ):
        found = sixd.compile(function, system, parameters=("inertia",))(*row, bodies)
        assert max(map(error, found, function(system, *row))) < TIGHT


def test_equations(rng):
    """Equations of a model have the model's derivatives, also of frames and bodies; equations from energies have no
    bodies.
    """
    model = sixd.zoo.pendulum(2)
    equations = sixd.equations(model)
    q, qd = rng.normal(size=(2, 2))
    frame = model.body_names[-1]
    pairs = [
        (sixd.velocity_derivatives, (q, qd, frame), {}),
        (sixd.acceleration_derivatives, (q, qd, q, frame), {}),
        (sixd.momentum_derivatives, (q, qd), {"per": "body"}),
        (sixd.energy_derivatives, (q, qd), {}),
        (sixd.energy_derivatives, (q, qd), {"per": "subtree"}),
    ]
    for function, row, options in pairs:
        found, expected = (function(system, *row, **options) for system in (equations, model))
        assert max(map(error, found, expected)) < TIGHT
    assert error(sixd.center_of_mass_derivatives(equations, q), sixd.center_of_mass_derivatives(model, q)) < TIGHT


def test_lagrangians(rng):
    """Gradients of the prescribed energies; there are no frames and no momentum in space."""
    x, y, xd, yd = sp.symbols("x y xd yd")
    kinetic = (1 + x**2) * xd**2 / 2 + yd**2 * sp.cos(x) ** 2
    system = sixd.lagrange(kinetic, 3 * x**2 * y + sp.sin(y), [x, y], qd=[xd, yd])
    (a, b), (u, v) = q, qd = rng.uniform(0.2, 1, (2, 2))
    found = sixd.energy_derivatives(system, q, qd)
    assert error(found.kinetic_q, [a * u * u - 2 * v * v * np.cos(a) * np.sin(a), 0]) < TIGHT
    assert error(found.kinetic_qd, [(1 + a * a) * u, 2 * v * np.cos(a) ** 2]) < TIGHT
    assert error(found.potential_q, [6 * a * b, 3 * a * a + np.cos(b)]) < TIGHT
    for refused in (sixd.momentum_derivatives, sixd.center_of_mass_derivatives):
        row = (q,) if refused is sixd.center_of_mass_derivatives else (q, qd)
        with pytest.raises(sixd.ModelError, match=f"{refused.__name__}: .* It has .* energy_derivatives"):
            refused(system, *row)
    with pytest.raises(sixd.ModelError, match="velocity_derivatives: .* without bodies and frames"):
        sixd.velocity_derivatives(system, q, qd, "tool")
    with pytest.raises(sixd.ModelError, match="without bodies. Expected per='model'"):
        sixd.energy_derivatives(system, q, qd, per="body")


def test_no_degrees_of_freedom():
    """A block fixed to the world, and its reduced model: arrays without columns."""
    builder = sixd.ModelBuilder("block")
    builder.add_body("block", "world", sixd.Fixed(), inertia=sixd.box(0.1, 0.2, 0.3, mass=1.0))
    for system in (builder.build(), builder.build().reduce()):
        none = np.zeros(0)
        assert sixd.velocity_derivatives(system, none, none, "block").q.shape == (6, 0)
        assert sixd.momentum_derivatives(system, none, none).q.shape == (6, 0)
        assert sixd.momentum_derivatives(system, none, none, per="body").q.shape == (0, 6, 0)
        assert sixd.energy_derivatives(system, none, none, per="subtree").potential_q.shape == (0, 0)
        assert sixd.inverse_dynamics_derivatives(system, none, none, none).q.shape == (0, 0)
