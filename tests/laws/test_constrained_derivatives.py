"""Derivatives of constrained dynamics: dual numbers, and differences along the constraints."""

import functools

import numpy as np
import pytest

import sixd
from robots import FIVE, quiet_load
from sixd.algorithms.constrained.dynamics import constrained_dynamics
from sixd.spatial.dual import duals, parts

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and with the plain algorithms

TIGHT = 1e-12  # norm-wise, relative: the multipliers of nearly parallel rows lose a digit


def error(x, y):
    """Norm of the difference, relative to that of y (or to 1)."""
    assert np.shape(x) == np.shape(y)
    return np.linalg.norm(np.ravel(x - y)) / max(1.0, np.linalg.norm(np.ravel(y)))


@functools.cache
def quadruped():
    """Return Anymal with its four feet pinned to the ground where they stand."""
    model = quiet_load(FIVE["anymal"], floating_base=True).without_passive()
    q = model.neutral()
    for name in model.joint_names:
        if name.endswith(("HFE", "KFE")):
            bend = 0.6 if name.endswith("HFE") else -1.2
            q[model.q_slice(name)] = bend if name.startswith(("LF", "RF")) else -bend
    feet = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
    for foot in feet:
        pose = np.eye(4)
        pose[:3, 3] = sixd.pose(model, q, foot)[:3, 3]
        model = model.with_frame(f"ground_{foot}", "world", pose)
    return model.with_constraints(*(sixd.Loop(f"ground_{foot}", foot, "point") for foot in feet)), q


def mechanism(name):
    """Return a model, and a configuration near an assembled one."""
    if name == "quadruped":
        return quadruped()
    model = getattr(sixd.zoo, name)()
    return model, np.array([np.pi / 3, -0.5, 1.6]) if name == "four_bar" else model.neutral()


NAMES = ["four_bar", "bricard", "bicycle", "quadruped"]


def state(name, rng):
    model, q = mechanism(name)
    q, qd = sixd.assemble(model, q, 0.5 * rng.normal(size=model.nv))
    return model, q, qd, rng.normal(size=model.nv)


def changes(model, q, qd, tau, rng):
    """Return random changes of q and qd that satisfy the constraints."""
    linear = sixd.linearize(model, q, qd, tau)
    for x in rng.normal(size=(2, linear.A.shape[0])):
        yield linear.dq @ x, linear.dqd @ x


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES[:3])
def test_dual_numbers(name, rng):
    """Of accelerations and multipliers, along changes that satisfy the constraints, and with respect to tau."""
    model, q, qd, tau = state(name, rng)
    found = sixd.constrained_dynamics_derivatives(model, q, qd, tau)

    def along(a, b, u):
        rate = np.asarray(model.configuration_rate(q, a), dtype=float)
        result = constrained_dynamics(model, duals(q, rate), duals(qd, b), duals(tau, u))
        return [np.asarray(parts(x)[1], dtype=float) for x in result]

    zero = np.zeros(model.nv)
    for a, b in changes(model, q, qd, tau, rng):
        x, y = along(a, b, zero)
        assert error(found.qdd_q @ a + found.qdd_qd @ b, x) < TIGHT
        assert error(found.lam_q @ a + found.lam_qd @ b, y) < TIGHT
    u = rng.normal(size=model.nv)
    x, y = along(zero, zero, u)
    assert error(found.qdd_tau @ u, x) < TIGHT
    assert error(found.lam_tau @ u, y) < TIGHT


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_differences_along_the_constraints(name, rng):
    """Neighbouring states are assembled; four-point differences have an error of 1e-9."""
    model, q, qd, tau = state(name, rng)
    found = sixd.constrained_dynamics_derivatives(model, q, qd, tau)
    a, b = next(changes(model, q, qd, tau, rng))
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(a)

    def at(s):
        there = sixd.assemble(model, model.integrate(q, s * a), qd + s * b)
        return sixd.constrained_dynamics(model, *there, tau)

    h = 2e-3
    values = {s: at(s * h) for s in (-2, -1, 1, 2)}
    derivatives = [(8 * (values[1][k] - values[-1][k]) - (values[2][k] - values[-2][k])) / (12 * h) for k in (0, 1)]
    assert error(found.qdd_q @ a + found.qdd_qd @ b, derivatives[0]) < 1e-7
    assert error(found.lam_q @ a + found.lam_qd @ b, derivatives[1]) < 1e-7


def test_stabilisation_and_forces(rng):
    """If the equations are independent, every column is defined, also along changes that violate the constraints."""
    model, q, qd, tau = state("four_bar", rng)
    q, f_ext, options = q + 0.01, rng.normal(size=(model.nb, 6)), {"stabilisation": 5.0}
    found = sixd.constrained_dynamics_derivatives(model, q, qd, tau, f_ext=f_ext, **options)
    zero, fixed = np.zeros(3), duals(f_ext, np.zeros_like(f_ext))
    for e in np.eye(3):
        for field, row in {
            "q": (duals(q, e), duals(qd, zero)),
            "qd": (duals(q, zero), duals(qd, e)),
        }.items():
            result = constrained_dynamics(model, *row, duals(tau, zero), f_ext=fixed, **options)
            x, y = (np.asarray(parts(r)[1], dtype=float) for r in result)
            assert error(getattr(found, f"qdd_{field}") @ e, x) < TIGHT
            assert error(getattr(found, f"lam_{field}") @ e, y) < TIGHT


def test_without_constraints_they_equal_those_of_the_tree(rng):
    model = sixd.zoo.random_tree(1, kinds=("free", "universal", "revolute"))
    q = model.random_configuration(rng)
    qd, tau = rng.normal(size=(2, model.nv))
    found = sixd.constrained_dynamics_derivatives(model, q, qd, tau)
    assert max(map(error, found[:3], sixd.forward_dynamics_derivatives(model, q, qd, tau))) < TIGHT
    assert found.lam_q.shape == (0, model.nv)


def test_batches_and_dead_centres(rng):
    """NaN where the motion is not determined, in that sample alone."""
    model, q, qd, tau = state("four_bar", rng)
    rows = np.stack([q, q * np.nan, q])
    found = sixd.constrained_dynamics_derivatives(model, rows, qd, tau)
    one = sixd.constrained_dynamics_derivatives(model, q, qd, tau)
    assert all(np.isnan(x[1]).any() for x in found)
    assert all(np.allclose(x[k], y, rtol=1e-13, atol=1e-13) for k in (0, 2) for x, y in zip(found, one, strict=True))


# systems that are not trees -------------------------------------------------------------------------


def reduced():
    return sixd.zoo.planar(3).with_constraints(sixd.Mimic("link2", "link1", 2.0, 0.1)).reduce()


def equations():
    return sixd.equations(sixd.zoo.pendulum(2))


@pytest.mark.parametrize("make", [reduced, equations])
def test_reduced_models_and_equations(make, rng):
    """Inverse and forward dynamics of any system, compared with differences of its own functions."""
    system = make()
    q, qd, x = rng.uniform(-1, 1, (3, system.nv))
    for function, primal in (
        (sixd.inverse_dynamics_derivatives, sixd.inverse_dynamics),
        (sixd.forward_dynamics_derivatives, sixd.forward_dynamics),
    ):
        found, h = function(system, q, qd, x), 1e-5
        E = h * np.eye(system.nv)
        expected = [
            (primal(system, q + E, qd, x) - primal(system, q - E, qd, x)).T / (2 * h),
            (primal(system, q, qd + E, x) - primal(system, q, qd - E, x)).T / (2 * h),
            (primal(system, q, qd, x + E) - primal(system, q, qd, x - E)).T / (2 * h),
        ]
        assert max(map(error, found, expected)) < 1e-8  # differences


def test_loops_of_reduced_models(rng):
    """A loop closed by a chain in independent coordinates: differences along it, and the gradients of ``vjp``."""
    arm = sixd.zoo.planar(4).with_frame("pin", "world", sixd.placement((1.2, 0.5, 0)))
    system = arm.with_constraints(sixd.Mimic("link2", "link1", 0.5, 0.1), sixd.Loop("pin", "tip", "point")).reduce()
    q, qd = sixd.assemble(system, rng.uniform(-1, 1, system.nv), 0.3 * rng.normal(size=system.nv))
    tau, h = rng.normal(size=system.nv), 1e-4
    a, b = next(changes(system, q, qd, tau, rng))
    found = sixd.constrained_dynamics_derivatives(system, q, qd, tau)
    values = {
        s: sixd.constrained_dynamics(system, *sixd.assemble(system, q + s * h * a, qd + s * h * b), tau)
        for s in (-2, -1, 1, 2)
    }
    derivatives = [(8 * (values[1][k] - values[-1][k]) - (values[2][k] - values[-2][k])) / (12 * h) for k in (0, 1)]
    assert error(found.qdd_q @ a + found.qdd_qd @ b, derivatives[0]) < 1e-7  # differences
    assert error(found.lam_q @ a + found.lam_qd @ b, derivatives[1]) < 1e-7
    w, v = rng.normal(size=system.nv), rng.normal(size=found.lam_q.shape[0])
    gradient = sixd.vjp(sixd.constrained_dynamics, system)(q, qd, tau, w, v)
    assert abs(gradient.q @ a + gradient.qd @ b - (w @ derivatives[0] + v @ derivatives[1])) < 1e-7 * np.linalg.norm(
        gradient.q
    )
    assert error(gradient.tau, w @ found.qdd_tau + v @ found.lam_tau) < TIGHT
