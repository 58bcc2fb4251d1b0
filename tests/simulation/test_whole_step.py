"""A step as one function, and steps back with weights of all states: the basis of PyTorch's and JAX's operators."""

import dataclasses

import numpy as np
import pytest

import sixd
from samples import KINDS, single_joint
from sixd.engine.differentiation import vjp_request
from sixd.engine.evaluate import evaluate
from sixd.simulation.gradients.adjoint_steps import TAU, forward_backward_steps
from sixd.simulation.gradients.whole_step import MOST_OPERATIONS, equations, step_request

pytestmark = pytest.mark.one_target
DT = 0.02


def smooth(model):
    """The model without dry friction."""
    return dataclasses.replace(model, friction=0 * model.friction)


def evaluated(system, request, *arrays):
    """Return the results of a request."""
    return evaluate(request.function, system, request.choices, arrays)


def state(model, rows=3):
    """A configuration, velocities and forces."""
    rng = np.random.default_rng(0)
    return model.random_configuration(rng, size=rows), *rng.uniform(-1, 1, (2, rows, model.nv))


@pytest.mark.many
@pytest.mark.parametrize("method", ["euler", "rk4", "implicit"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_function_is_the_step(kind, method):
    """Quaternions may have any length."""
    model = smooth(single_joint(kind))
    q, qd, tau = state(model)
    request = step_request("step", sixd.Scenario(model, method=method), "float64")
    long = q.copy()
    for i in model.bodies:
        if isinstance(model.joints[i], (sixd.Free, sixd.Spherical)):
            long[:, model.iq[i]][:, :4] *= 1.5
    found = evaluated(model, request, long, qd, DT, 0.0, tau)
    for x, y in zip(found, sixd.step(model, q, qd, DT, controller=tau, method=method), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12)


def test_external_forces_parameters_and_constraints():
    model = smooth(single_joint("revolute"))
    q, qd, tau = state(model)
    force, gravity = np.ones((model.nb, 6)), np.array([1.0, 2, 3])
    request = step_request("step", sixd.Scenario(model, f_ext=force, parameters={"gravity": gravity}), "float64")
    found = evaluated(model, request, q, qd, DT, 0.0, tau, force, gravity)
    expected = sixd.step(model, q, qd, DT, controller=tau, f_ext=force, parameters={"gravity": gravity})
    np.testing.assert_allclose(found[0], expected[0], atol=1e-13)
    bar = sixd.zoo.four_bar()
    q = sixd.assemble(bar, [np.pi / 3, -0.5, 1.6], fixed=["crank"])
    found = evaluated(bar, step_request("step", sixd.Scenario(bar), "float64"), q, 0 * q, DT, 0.0, 0 * q)
    np.testing.assert_allclose(found[0], sixd.step(bar, q, 0 * q, DT)[0], atol=1e-13)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["free", "spherical", "planar"])
def test_gradients_by_entries(kind):
    model = smooth(single_joint(kind))
    q, qd, tau = (x[0] for x in state(model))
    q = 1.3 * q if model.nq != model.nv else q
    request = step_request("step", sixd.Scenario(model, method="euler"), "float64")
    w = np.random.default_rng(1).uniform(-1, 1, (2, max(model.nq, model.nv)))
    ws = w[0, : model.nq], w[1, : model.nv]

    def value(q, dt):
        found = evaluated(model, request, q, qd, dt, 0.0, tau)
        return found[0] @ ws[0] + found[1] @ ws[1]

    by_q, by_dt = evaluated(model, vjp_request(model, request, (0, 2)), q, qd, DT, 0.0, tau, *ws)
    h = 1e-6
    differences = [(value(q + h * e, DT) - value(q - h * e, DT)) / (2 * h) for e in np.eye(model.nq)]
    np.testing.assert_allclose(by_q, differences, atol=1e-7)  # of differences
    assert by_dt == pytest.approx((value(q, DT + h) - value(q, DT - h)) / (2 * h), abs=1e-6)  # of differences


def test_steps_that_are_not_functions():
    """With dry friction or contact, or with the midpoint rule, calls are repeated; others may be long."""
    assert step_request("step", sixd.Scenario(single_joint("revolute")), "float64") is None
    assert step_request("step", sixd.Scenario(smooth(single_joint("revolute")), method="midpoint"), "float64") is None
    long = sixd.zoo.planar(60)
    assert 4 * sixd.compile(sixd.forward_dynamics, long).program.operations > MOST_OPERATIONS
    assert step_request("step", sixd.Scenario(long), "float64") is None


def test_adaptive_methods_are_rejected():
    with pytest.raises(sixd.UnknownNameError, match="step: method: .*adaptive"):
        step_request("step", sixd.Scenario(smooth(single_joint("revolute")), method="adaptive"), "float64")


@pytest.mark.long
@pytest.mark.parametrize("friction", [False, True])
def test_weights_of_all_states(friction):
    """The gradient of Σ w·q + v·qd over all steps is that of the same cost in ``rollout_gradient``."""
    model = single_joint("spherical") if friction else smooth(single_joint("spherical"))
    q, qd, _ = state(model, 2)
    steps, rng = 4, np.random.default_rng(2)
    taus, w, v = rng.uniform(-1, 1, (2, steps, model.nv)), rng.uniform(-1, 1, model.nq), rng.uniform(-1, 1, model.nv)
    expected = sixd.rollout_gradient(
        model, q, qd, taus, dt=DT, cost=lambda t, q, qd, tau: w @ q + v @ qd, final=lambda q, qd: w @ q + v @ qd
    )
    problem = equations("rollout", sixd.Scenario(model), "float64")(model)
    pair = forward_backward_steps(problem, "rk4", "float64", None, along=("q", "qd"))
    motion = sixd.simulate(model, q, qd, DT, dt=DT, controller=taus[:, 0])
    np.testing.assert_array_equal(motion.q[:, 0], q)
    numbers = {"h": np.array([DT]), "start": np.zeros(1)}
    start = {name: np.zeros((2, *core)) for name, core in pair.state.items()} | {"q": q, "qd": qd}
    found = pair.forward(np.ones(steps), [*start.values(), *(numbers[n] for n in pair.constants), taus])
    after = dict(zip(pair.outputs, found, strict=True))
    series = {n: np.concatenate([start[n][:, None], after[n][:, :-1]], axis=1) for n in pair.series if n in start}
    series |= {"weight of q": np.tile(w, (2, steps, 1)), "weight of qd": np.tile(v, (2, steps, 1))}
    zeros = {name: np.zeros((2, *core)) for name, core in pair.gradients.items()}
    given = [*zeros.values(), *(numbers[n] for n in pair.constants), *(series[n] for n in pair.series), taus]
    gradients = dict(zip(zeros, pair.backward(np.ones(steps), given), strict=True))
    np.testing.assert_allclose(gradients["qd"] + v, expected.qd, atol=1e-12)
    np.testing.assert_allclose(gradients[TAU], expected.controls, atol=1e-12)
