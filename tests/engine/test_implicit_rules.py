"""Derivatives of hybrid and constrained dynamics, by the implicit rule: dual numbers, analytic derivatives, second
order, cost.
"""

import numpy as np
import pytest

import sixd
from samples import KINDS, single_joint, states
from sixd.algorithms.aba import hybrid
from sixd.spatial.dual import duals, parts


def error(x, y):
    """Norm of the difference, relative to that of y (or to 1)."""
    assert np.shape(x) == np.shape(y)
    return np.linalg.norm(np.ravel(x - y)) / max(1.0, np.linalg.norm(np.ravel(y)))


def inner(a, b):
    return sum(float(np.sum(np.asarray(x) * y)) for x, y in zip(a, b, strict=True))


# hybrid dynamics ------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", [0, 1])
def test_hybrid_dynamics(kind, given, rng):
    """For every joint type, prescribed or free; f_ext constant in the world; jvp against dual numbers, vjp against jvp."""
    model = single_joint(kind)
    names = (model.joint_names[given],)
    q, qd, qdd = next(states(model, rng))
    tau, f_ext = rng.normal(size=model.nv), rng.normal(size=(model.nb, 6))
    dx = rng.normal(size=(4, model.nv))
    rates = [np.asarray(model.configuration_rate(q, dx[0]), dtype=float), *dx[1:]]
    row = [duals(v, r) for v, r in zip((q, qd, qdd, tau), rates, strict=True)]
    bodies = frozenset(model.joint_index(n) for n in names)
    expected = [
        np.asarray(parts(y)[1], dtype=float)
        for y in hybrid(model, bodies, *row, f_ext=duals(f_ext, np.zeros_like(f_ext)))
    ]
    found = sixd.jvp(sixd.hybrid_dynamics, model, given=names)(q, qd, qdd, tau, *dx, f_ext=f_ext)
    assert max(map(error, found, expected)) < 1e-13
    w = rng.normal(size=(2, model.nv))
    gradients = sixd.vjp(sixd.hybrid_dynamics, model, given=names)(q, qd, qdd, tau, *w, f_ext=f_ext)
    size = max(1.0, *(np.linalg.norm(g) for g in gradients))
    assert abs(inner(w, found) - inner(gradients, dx)) < 1e-12 * size


def test_second_order_of_hybrid_dynamics(rng):
    model = sixd.zoo.random_tree(1, kinds=("universal", "revolute", "spherical"))
    given = model.joint_names[::2]
    first, second = (d(sixd.hybrid_dynamics, model, given=given) for d in (sixd.vjp, sixd.hvp))
    q, qd, qdd = next(states(model, rng))
    tau, *w = rng.normal(size=(3, model.nv))
    dx, h = rng.normal(size=(4, model.nv)), 1e-6
    found = second(q, qd, qdd, tau, *w, *dx)
    ahead, behind = (
        first(model.integrate(q, s * dx[0]), qd + s * dx[1], qdd + s * dx[2], tau + s * dx[3], *w) for s in (h, -h)
    )
    for x, a, b in zip(found, ahead, behind, strict=True):
        assert error(x, (a - b) / (2 * h)) < 1e-6  # differences of forces near 1e3


# constrained dynamics -------------------------------------------------------------------------------

NAMES = ["four_bar", "bricard", "bicycle"]


def state(name, rng):
    """A model and an assembled state, tau, and the changes of q and qd that satisfy the constraints."""
    model = getattr(sixd.zoo, name)()
    q = np.array([np.pi / 3, -0.5, 1.6]) if name == "four_bar" else model.neutral()
    q, qd = sixd.assemble(model, q, 0.5 * rng.normal(size=model.nv))
    tau = rng.normal(size=model.nv)
    return model, q, qd, tau, sixd.linearize(model, q, qd, tau)


def weights(kernel, rng):
    return [rng.normal(size=kernel._function.core(kernel.model, n)) for n in kernel.inputs[-2:]]


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_constrained_dynamics(name, rng):
    """The gradients equal the analytic derivatives, along changes that satisfy the constraints, and with respect to
    tau.
    """
    model, q, qd, tau, linear = state(name, rng)
    gradient = sixd.vjp(sixd.constrained_dynamics, model)
    w, v = weights(gradient, rng)
    g = gradient(q, qd, tau, w, v)
    partials = sixd.constrained_dynamics_derivatives(model, q, qd, tau)
    along = g.q @ linear.dq + g.qd @ linear.dqd
    by_q, by_qd = w @ partials.qdd_q + v @ partials.lam_q, w @ partials.qdd_qd + v @ partials.lam_qd
    assert error(along, by_q @ linear.dq + by_qd @ linear.dqd) < 1e-12
    assert error(g.tau, w @ partials.qdd_tau + v @ partials.lam_tau) < 1e-12

    # the adjoint equals the tangent, along any change
    dx = rng.normal(size=(3, model.nv))
    dy = sixd.jvp(sixd.constrained_dynamics, model)(q, qd, tau, *dx)
    assert abs(inner((w, v), dy) - inner(g, dx)) < 1e-12 * sum(map(np.linalg.norm, g))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_second_order_of_constrained_dynamics(name, rng):
    """Differences of gradients along the constraints; truncation and rounding have an error of 1e-8."""
    model, q, qd, tau, linear = state(name, rng)
    first, second = (d(sixd.constrained_dynamics, model) for d in (sixd.vjp, sixd.hvp))
    w, x, u, h = weights(first, rng), rng.normal(size=linear.A.shape[0]), rng.normal(size=model.nv), 1e-5
    dx = linear.dq @ x, linear.dqd @ x, u
    found = second(q, qd, tau, *w, *dx)
    ahead, behind = (first(model.integrate(q, s * dx[0]), qd + s * dx[1], tau + s * u, *w) for s in (h, -h))
    for y, a, b in zip(found, ahead, behind, strict=True):
        assert error(y, (a - b) / (2 * h)) < 1e-7


def test_stabilisation_forces_and_no_constraints(rng):
    """If the equations are independent, every direction is defined; without constraints it is forward dynamics."""
    model, q, qd, tau, _ = state("four_bar", rng)
    f_ext, w = rng.normal(size=(model.nb, 6)), rng.normal(size=3)
    partials = sixd.constrained_dynamics_derivatives(model, q + 0.01, qd, tau, f_ext=f_ext, stabilisation=5.0)
    gradient = sixd.vjp(sixd.constrained_dynamics, model, stabilisation=5.0)
    g = gradient(q + 0.01, qd, tau, w, np.zeros(2), f_ext=f_ext)
    assert max(map(error, g, (w @ partials.qdd_q, w @ partials.qdd_qd, w @ partials.qdd_tau))) < 1e-12
    arm = sixd.zoo.planar(3)
    g = sixd.vjp(sixd.constrained_dynamics, arm)(q, qd, tau, w, np.zeros(0))
    assert max(map(error, g, sixd.vjp(sixd.forward_dynamics, arm)(q, qd, tau, w))) < 1e-13


def test_prescribed_rates(rng):
    """A constraint whose rate depends on time: t is an input, and there is a gradient with respect to it."""
    motor = sixd.Pfaffian(lambda q: [[1, q[1]]], rate=lambda t: [sixd.spatial.sin(3 * t)])
    model = sixd.zoo.planar(2).with_constraints(motor)
    gradient = sixd.vjp(sixd.constrained_dynamics, model)
    assert gradient.inputs == ("q", "qd", "tau", "t", "w0", "w1")
    x, t, w, h = rng.normal(size=(3, 2)), 0.4, (rng.normal(size=2), rng.normal(size=1)), 1e-6
    ahead, behind = (inner(w, sixd.constrained_dynamics(model, *x, t=t + s)) for s in (h, -h))
    assert abs(gradient(*x, t, *w).t - (ahead - behind) / (2 * h)) < 1e-7 * abs(ahead)  # a difference


# cost -----------------------------------------------------------------------------------------------


@pytest.mark.long
def test_operations():
    """A gradient of hybrid dynamics needs 1.8 to 2.25 times its operations; differentiating its steps needs more than
    2.6.

    For constrained dynamics it is 1.9 to 2.3, compared with 2.6 to 2.9.
    """
    for model in (sixd.zoo.ur_arm(), sixd.zoo.panda_arm(), sixd.zoo.random_tree(0)):
        options = {"given": model.joint_names[1:2]}
        own = sixd.compile(sixd.hybrid_dynamics, model, **options).program.operations
        assert sixd.vjp(sixd.hybrid_dynamics, model, **options).program.operations <= 2.25 * own
    for name in NAMES:
        model = getattr(sixd.zoo, name)()
        own = sixd.compile(sixd.constrained_dynamics, model).program.operations
        assert sixd.vjp(sixd.constrained_dynamics, model).program.operations <= 2.3 * own
