"""Derivatives of traces: forward, reverse, their sparsity, against closed forms and differences."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import sixd
from arithmetic import ARITHMETIC
from samples import KINDS, single_joint
from sixd.algorithms.rnea import rnea
from sixd.spatial import maximum, sqrt
from sixd.trace import Graph, Op, Slot, jacobian, jvp, make_program, sparsity, vjp
from sixd.trace.derivative import directional, resolved

SMOOTH = [name for name in ARITHMETIC if name not in ("where ==", "where !=", "sign")]


def evaluate(inputs, outputs, values):
    """Return the numbers of an object array of nodes for one sample of inputs."""
    graph = inputs[0].graph
    flat = [graph.lift(x) for x in np.ravel(outputs)]
    program = make_program([Slot("v", (len(inputs),), tuple(inputs))], [Slot("out", np.shape(outputs), tuple(flat))])
    return program.evaluate(values)[0]


def inputs_of(n):
    return list(Graph().input("v", (n,)))


@pytest.mark.many
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", SMOOTH)
def test_each_operation_by_differences(name, mode, rng):
    function, step = ARITHMETIC[name], 1e-6
    x = inputs_of(2)
    J = jacobian([x[0].graph.lift(function(*x))], x, mode=mode)
    for _ in range(5):
        v = rng.uniform(0.3, 2.5, 2) * rng.choice([-1, 1], 2)
        numeric = [(function(*(v + e)) - function(*(v - e))) / (2 * step) for e in np.eye(2) * step]
        assert_allclose(evaluate(x, J, v)[0], numeric, rtol=1e-7, atol=1e-7)  # central differences


def test_closed_form_and_structure():
    """x y + sin z, atan2(x, z): exact entries, exact zeros."""
    x, y, z = v = inputs_of(3)
    outputs = [x * y + z.sin(), x.atan2(z), x.graph.const(3.0)]
    for mode in ("forward", "reverse"):
        J = jacobian(outputs, v, mode=mode)
        assert J[0, 0] is y
        assert J[0, 1] is x
        assert J[0, 2] is z.cos()
        assert sparsity(J).tolist() == [[True] * 3, [True, False, True], [False] * 3]
        at = np.array([0.3, 0.5, 0.7])
        r2 = at[0] ** 2 + at[2] ** 2
        assert_allclose(evaluate(v, J, at)[1], [at[2] / r2, 0, -at[0] / r2], rtol=1e-14)


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
def test_inverse_dynamics_of_every_joint(kind, rng):
    """Forward and reverse agree on RNEA; ∂tau/∂qdd is the mass matrix; jvp and vjp are its products."""
    model = single_joint(kind).without_passive()
    x = inputs_of(model.nq + 2 * model.nv)
    q, qd, qdd = x[: model.nq], x[model.nq : -model.nv], x[-model.nv :]
    tau = rnea(model, np.array(q), np.array(qd), np.array(qdd))
    forward, reverse = (jacobian(list(tau), x, mode=mode) for mode in ("forward", "reverse"))
    at = np.concatenate([model.random_configuration(rng), rng.uniform(-1, 1, 2 * model.nv)])
    J = evaluate(x, forward, at)
    scale = max(1.0, np.abs(J).max())
    assert_allclose(evaluate(x, reverse, at), J, rtol=0, atol=1e-11 * scale)
    assert_allclose(J[:, -model.nv :], sixd.mass_matrix(model, at[: model.nq]), rtol=0, atol=1e-11 * scale)
    direction, weights = rng.normal(size=len(x)), rng.normal(size=model.nv)
    assert_allclose(evaluate(x, jvp(list(tau), x, direction), at), J @ direction, atol=1e-10 * scale)
    assert_allclose(evaluate(x, vjp(list(tau), x, weights), at), weights @ J, atol=1e-10 * scale)


def test_second_derivatives(rng):
    """A derivative is a graph again: the Hessian of a random expression equals SymPy's."""
    x = inputs_of(3)
    symbols = sp.symbols("x0:3")
    expression = sp.sin(symbols[0] * symbols[1]) / (1 + symbols[2] ** 2) + sp.exp(symbols[0]) * sp.sqrt(
        1 + symbols[1] ** 2
    )
    traced = (x[0] * x[1]).sin() / (1 + x[2] ** 2) + x[0].exp() * (1 + x[1] ** 2).sqrt()
    gradient = [x[0].graph.lift(g) for g in vjp([traced], x, [1])]
    H = jacobian(gradient, x)
    at = rng.normal(size=3)
    expected = np.array(sp.hessian(expression, symbols).subs(dict(zip(symbols, at, strict=True))), dtype=float)
    assert_allclose(evaluate(x, H, at), expected, rtol=1e-12, atol=1e-12)


def test_directions_are_products_with_the_jacobian(rng):
    """Several at once, of numbers and of nodes; structural zeros are the int 0."""
    x = inputs_of(3)
    outputs = [x[0] * x[1] + x[2].sin(), x[1] * 3]
    directions = np.array([[1, 0, 0], [0, x[0], 0], [0.5, 0, x[2]]], dtype=object)
    found = directional(outputs, x, directions)
    assert [type(found[1, k]) is int and found[1, k] == 0 for k in range(3)] == [True, False, True]
    v = rng.uniform(0.3, 2.5, 3)
    J = evaluate(x, jacobian(outputs, x), v)
    expected = J @ np.array([[1, 0, 0], [0, v[0], 0], [0.5, 0, v[2]]]).T
    assert_allclose(evaluate(x, found, v), expected, atol=1e-14)


def test_infinite_derivatives_count_as_zero():
    """√max(0, x) times something: flat where x ≤ 0, not NaN."""
    x = inputs_of(1)
    found = directional([sqrt(maximum(0, x[0])) * (x[0] + 1)], x, np.eye(1, dtype=int))
    for value, expected in ((-1.0, 0.0), (0.0, 0.0), (4.0, 2 + 5 / 4)):
        assert_allclose(evaluate(x, found, np.array([value]))[0, 0], expected, atol=1e-15)


def test_held_values():
    """A held value has the derivative of another node, is not folded, and is finally replaced by its value."""
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    stopped, swapped = (x * y).held(), x.sin().held(x * x)
    z = stopped * x + swapped * swapped
    assert (stopped - x * y).op is Op.SUB  # not zero by structure
    assert x.held() is x.held()
    assert graph.const(2.0).held().is_value(2)
    forward, reverse = jvp([z], [x, y], [1, 0]), vjp([z], [x, y], [1])
    assert reverse[1] == 0
    value, *derivatives = resolved([z, forward[0], reverse[0]])
    slots = [Slot("x", (), (x,)), Slot("y", (), (y,))]
    program = make_program(slots, [Slot("out", (3,), (value, *derivatives))])
    assert "held" not in program.count()
    (found,) = program.evaluate(0.3, 0.7)
    expected = 0.3 * 0.7 + 2 * np.sin(0.3) * 2 * 0.3
    assert np.allclose(found, [0.3 * 0.7 * 0.3 + np.sin(0.3) ** 2, expected, expected], rtol=1e-14)
    assert resolved([0, x - x.held()])[1].is_value(0)


def test_branches_that_are_not_selected_do_not_matter():
    """Derivatives that are not finite, in branches that are not selected: also of a value that two selections use."""
    (x,) = inputs_of(1)
    s = sqrt(x)
    twice = (x > 0).where(s, 0) + (x > -1).where((x > 0.5).where(s, 2), 1)
    for y in (twice, (x > 0).where(1 / x, 3), (x > 0).where(s * s * s, x)):
        (gradient,) = vjp([y], [x], [1.0])
        assert evaluate([x], np.array([gradient]), [0.0])[0] in (0.0, 1.0)
    (gradient,) = vjp([twice], [x], [1.0])
    assert_allclose(evaluate([x], np.array([gradient]), [4.0]), [0.5], rtol=1e-14)


def test_bounded_derivatives_of_roots():
    (x,) = inputs_of(1)
    y = sqrt(maximum(x, 0)) * maximum(x, 0)
    for found in (vjp([y], [x], [1.0], bounded=True), jvp([y], [x], [1.0], bounded=True)):
        assert_allclose([evaluate([x], np.array(found), [v])[0] for v in (-1.0, 0.0, 4.0)], [0, 0, 3], rtol=1e-14)
