"""Energy, momentum and the centre of mass: their laws, and Pinocchio's results."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from peers import pin
from robots import FIVE, ByName, pinocchio_model, quiet_load
from samples import states, trees

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and with the plain algorithms

each_tree = pytest.mark.parametrize("model", trees()[:4], ids=lambda m: m.name)


@each_tree
def test_momentum_is_the_bodies_sum(model, rng):
    """h = Σ X*ᵢ Iᵢ vᵢ, and about the centre of mass it is A_G qd."""
    for q, qd, _ in states(model, rng):
        h = sixd.momentum(model, q, qd)
        total = np.zeros(6)
        for name in model.body_names:
            J = sixd.jacobian(model, q, name)
            X_BW = sixd.spatial.transform_from_pose(
                sixd.pose(model, q, f"joint:{model.joint_names[model.body_index(name) - 1]}")
            )
            total += X_BW.T @ (model.body_inertia(name).matrix @ (J @ qd))
        assert_allclose(h, total, atol=1e-11)
        c = sixd.center_of_mass(model, q)
        at_center = np.concatenate([h[:3] - np.cross(c, h[3:]), h[3:]])
        assert_allclose(sixd.centroidal_matrix(model, q) @ qd, at_center, atol=1e-11)
        inertia = sixd.composite_inertia(model, q)
        assert_allclose(inertia[5, 5], model.mass)
        assert_allclose(sixd.spatial.unskew(inertia[:3, 3:]) / model.mass, c, atol=1e-12)


@each_tree
def test_force_changes_momentum(model, rng):
    """dh/dt = external wrench + weight + reactions of the world's joints; with a free root nothing else acts."""
    builder = sixd.ModelBuilder("base", model.gravity)
    builder.add_body("base", "world", sixd.Free(), inertia=sixd.box(1, 2, 3, mass=4.0))
    free = builder.build().attach(model, "base").without_passive()
    q, qd = free.random_configuration(rng), rng.uniform(-1, 1, free.nv)
    f_ext, tau = rng.uniform(-3, 3, (free.nb, 6)), rng.uniform(-1, 1, free.nv)
    tau[:6] = 0
    qdd = sixd.forward_dynamics(free, q, qd, tau, f_ext=f_ext)
    step = 1e-3

    def h(t):
        return sixd.momentum(free, free.integrate(q, t * qd + 0.5 * t * t * qdd), qd + t * qdd)

    rate = (h(-2 * step) - 8 * h(-step) + 8 * h(step) - h(2 * step)) / (12 * step)
    weight = free.mass * free.gravity
    expected = f_ext.sum(axis=0) + np.concatenate([np.cross(sixd.center_of_mass(free, q), weight), weight])
    assert_allclose(rate, expected, atol=1e-6)  # fourth-order differences of a fast motion


@pytest.mark.parametrize(
    ("name", "floating"), [("ur5", False), ("anymal", True), pytest.param("talos", True, marks=pytest.mark.long)]
)
def test_against_pinocchio(name, floating, rng):
    """Energies, centre of mass, centroidal matrix and M⁻¹."""
    model = quiet_load(FIVE[name], floating_base=floating).without_passive()
    reference = pinocchio_model(FIVE[name], floating=floating)
    data, names = reference.createData(), ByName(model, reference)
    q, qd = model.random_configuration(rng), rng.uniform(-2, 2, model.nv)
    kinetic, potential = sixd.energy(model, q, qd)
    assert_allclose(kinetic, pin.computeKineticEnergy(reference, data, names.q(q), names.v(qd)), rtol=1e-12)
    assert_allclose(potential, pin.computePotentialEnergy(reference, data, names.q(q)), rtol=1e-11)
    assert_allclose(sixd.center_of_mass(model, q), pin.centerOfMass(reference, data, names.q(q)), atol=1e-12)
    Ag = np.array(pin.computeCentroidalMap(reference, data, names.q(q)))
    assert_allclose(sixd.centroidal_matrix(model, q), np.vstack([Ag[3:], Ag[:3]])[:, names.columns], atol=1e-11)
    W = np.array(pin.computeMinverse(reference, data, names.q(q)))
    W = names.back(np.triu(W) + np.triu(W, 1).T)
    assert_allclose(sixd.inverse_mass_matrix(model, q), W, atol=1e-10 * np.abs(W).max())


@pytest.mark.one_target
def test_a_model_without_mass_has_no_center():
    builder = sixd.ModelBuilder("empty")
    builder.add_body("a", "world", sixd.Revolute("z"))
    with pytest.raises(sixd.ModelError, match="'empty' has no mass, so no centre of mass"):
        sixd.center_of_mass(builder.build(), [0.0])
