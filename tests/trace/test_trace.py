"""Traces: folding, sharing, evaluation, the checker, and what a traced value cannot do."""

from bisect import bisect_right
from functools import partial
from itertools import groupby

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from arithmetic import ARITHMETIC
from robots import FIVE, quiet_load
from samples import KINDS, single_joint, trees
from sixd.algorithms.aba import aba
from sixd.algorithms.coriolis import christoffel, coriolis_matrix
from sixd.algorithms.crba import crba
from sixd.algorithms.jacobian import jacobian, jacobian_rate
from sixd.algorithms.momentum import energy
from sixd.algorithms.rnea import rnea
from sixd.algorithms.solve import inverse_mass_matrix
from sixd.codegen.llvm.body import most_live, tasks
from sixd.spatial import minimum, sin, where
from sixd.trace import Graph, Op, Program, check, trace
from sixd.trace.program import by_visits


def two_scalars(function):
    return trace(lambda v: np.array([function(v[0], v[1])]), {"v": (2,)})


@pytest.mark.parametrize("name", ARITHMETIC)
def test_every_operation_evaluates_as_on_floats(name, rng):
    """A traced function of two scalars gives the same results over a batch as on floats."""
    function, v = ARITHMETIC[name], rng.uniform(-3, 3, (50, 2))
    (result,) = two_scalars(function).evaluate(v)
    assert_allclose(result[:, 0], [function(np.float64(x), np.float64(y)) for x, y in v], rtol=1e-14, atol=1e-14)


def test_folding():
    """Zeros, ones, signs and constants disappear; equal expressions are one node."""
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    assert x + 0 is x
    assert x - 0 is x
    assert x * 1 is x
    assert x / 1 is x
    assert (x * 0).is_value(0)
    assert (x - x).is_value(0)
    minus = -x
    assert -minus is x
    assert x * -1 is -x
    assert x * y is y * x
    assert x + y is y + x
    assert (x * 2) * 3 is x * 6
    assert (-x) * y is -(x * y)
    assert -(x - y) is y - x
    assert x - (-y) is x + y
    assert (-x).cos() is x.cos()
    assert (-x).sin() is -(x.sin())
    assert minimum(x, x) is x
    assert where(x < y, x, x) is x
    assert (graph.const(2) + 3).value == 5
    assert graph.const(-0.0) is graph.const(0.0)
    assert sin(graph.const(0.5)).value == np.sin(0.5)
    assert ~(~(x < y)) is (x < y)
    assert where(graph.const(1) < 2, x, y) is x


@pytest.mark.parametrize(
    ("look", "message"),
    [
        (bool, "asked whether it is true.*sixd.where"),
        (float, "asked for a number.*sixd.spatial"),
        (int, "asked for a number"),
        (lambda x: [1, 2][x], "asked for a number"),
        (lambda x: max(x, 1.0), "asked whether it is true"),
        (lambda x: np.where(np.array([x]) > 0, 1, 2), "asked whether it is true"),
        (lambda x: x**0.3, r"raised to 0.3, expected a whole number"),
        (lambda x: x + "a", r"met a str"),
        (lambda x: x + None, r"met a NoneType"),
        (lambda x: x + Graph().input("y"), "two traces were mixed"),
        (lambda x: where(x, 1.0, 2.0), "expected a comparison"),
        (lambda x: (x > 0) & x, "expected another condition"),
    ],
)
def test_what_a_traced_value_cannot_do(look, message):
    with pytest.raises(sixd.TraceError, match=message):
        look(Graph().input("x"))


def test_arrays_on_either_side():
    """scalar * array and array * scalar are element by element."""
    x = Graph().input("x")
    for product in (x * np.arange(3.0), np.arange(3.0) * x, np.arange(3.0) + x, x - np.arange(3.0)):
        assert product.shape == (3,)
        assert product.dtype == object


# the algorithms -------------------------------------------------------------------------------------


ALGORITHMS = {
    "rnea": (rnea, ("q", "qd", "qdd")), "aba": (aba, ("q", "qd", "tau")), "crba": (crba, ("q",)), "energy": (energy, ("q", "qd")),
    "inverse_mass_matrix": (inverse_mass_matrix, ("q",)), "jacobian": (lambda m, q: jacobian(m, q, "frame2"), ("q",)),
    "jacobian_rate": (lambda m, q, qd: jacobian_rate(m, q, qd, "frame2", expressed_in="world"), ("q", "qd")),
    "coriolis_matrix": (coriolis_matrix, ("q", "qd")), "christoffel": (christoffel, ("q",)),
}  # fmt: skip


def program_of(function, names, model) -> Program:
    shapes = {n: (model.nq if n == "q" else model.nv,) for n in names}
    return trace(lambda *arrays: function(model, *arrays), shapes)


@pytest.mark.many
@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("model", [*trees()[:2], *map(single_joint, KINDS)], ids=["tree0", "tree1", *KINDS])
def test_algorithms_trace_to_what_they_compute(name, model, rng):
    """Every algorithm, with every joint type: the trace evaluated on a batch equals the plain run on each sample."""
    function, names = ALGORITHMS[name]
    program = program_of(function, names, model)
    q = np.array([model.random_configuration(rng) for _ in range(3)])
    arrays = [q if n == "q" else rng.uniform(-2, 2, (3, model.nv)) for n in names]
    result = program.evaluate(*arrays)
    for k in range(3):
        plain = function(model, *(a[k] for a in arrays))
        for traced, one in zip(result, plain if isinstance(plain, tuple) else (plain,), strict=True):
            assert_allclose(traced[k], one, rtol=0, atol=1e-11 * max(1, np.abs(one).max()))


@pytest.mark.many
@pytest.mark.parametrize(
    ("name", "algorithm", "most"),
    [
        ("ur5", "rnea", 630), ("panda", "rnea", 1014), ("talos", "rnea", 5044), ("ur5", "aba", 1461), ("panda", "aba", 2183), ("talos", "aba", 10665),
        ("ur5", "coriolis_matrix", 1522), ("panda", "coriolis_matrix", 2303), ("talos", "coriolis_matrix", 12648),
        ("ur5", "christoffel", 702), ("panda", "christoffel", 2031), ("talos", "christoffel", 12285),
    ],
)  # fmt: skip
def test_operation_counts_are_a_ratchet(name, algorithm, most):
    """Dense textbook code, folded, costs as much as hand-specialised code: at most 5 % more than the known counts."""
    model = quiet_load(FIVE[name]).without_passive()
    if name == "panda":
        model = model.lock({"panda_finger_joint1": 0, "panda_finger_joint2": 0})
    program = program_of(*ALGORITHMS[algorithm], model)
    assert program.operations <= 1.05 * most, program.count()


# the checker ----------------------------------------------------------------------------------------


def test_the_checker_finds_broken_programs():
    """Arguments used before they are computed, wrong arities, truth values as numbers, strange inputs."""
    graph = Graph()
    x = graph.input("x", (2,))
    good = trace(lambda v: v[:1] + sin(v[1]), {"v": (2,)})
    check(good)

    def broken(nodes, outputs=None, inputs=good.inputs):
        return Program(inputs, good.outputs if outputs is None else outputs, tuple(nodes))

    for program, message in (
        (broken(good.nodes[::-1]), "before it is made"),
        (broken([*good.nodes, good.nodes[0]]), "occurs twice"),
        (broken(good.nodes[:-1]), "expected a number that was computed"),
        (broken(good.nodes, inputs=()), "is not an input of any slot"),
        (broken([x[0], graph.node(Op.ADD, x[0])], outputs=(), inputs=()), "is not an input of any slot"),
        (broken([graph.const(1), graph.node(Op.ADD, graph.const(1))], outputs=()), "has 1 arguments, expected 2"),
    ):
        with pytest.raises(sixd.TraceError, match=message):
            check(program)
    condition = graph.node(Op.LT, graph.const(1), graph.const(2))
    with pytest.raises(sixd.TraceError, match="argument 0 of .* is a lt"):
        check(broken([graph.const(1), graph.const(2), condition, graph.node(Op.SIN, condition)], outputs=()))


def test_evaluation_checks_its_arrays():
    program = two_scalars(lambda x, y: x + y)
    with pytest.raises(sixd.ShapeError, match="got 2 arrays, expected 1"):
        program.evaluate([1, 2], [3, 4])
    with pytest.raises(sixd.ShapeError, match="v has shape"):
        program.evaluate([1, 2, 3])
    assert program.evaluate(np.zeros((0, 2)))[0].shape == (0, 1)


# orders -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [rnea, aba])
def test_orders_by_visits(algorithm):
    """Every node once, arguments first, one visit of a body after another; one limb comes after another."""
    model = sixd.zoo.humanoid()
    program = trace(partial(algorithm, model), {"q": (model.nq,), "qd": (model.nv,), "x": (model.nv,)})
    order = by_visits(program)
    at = {node.index: k for k, node in enumerate(order)}
    assert sorted(at) == sorted(node.index for node in program.nodes)
    assert all(at[a.index] < at[node.index] for node in order for a in node.args)
    starts = [mark.start for mark in program.marks]
    visits = [bisect_right(starts, node.index) for node in order if node.args]
    assert len([v for v, _ in groupby(visits)]) == len(set(visits))  # no visit is interrupted
    entries = [[(k, j, 1) for k, slot in enumerate(slots) for j in range(len(slot.entries))]
               for slots in (program.inputs, program.outputs)]  # fmt: skip
    visited, traced, deep = (most_live(tasks(program, *entries, True, x)) for x in (order, program.nodes, None))
    assert visited < min(traced, deep)


def test_order_without_visits(rng):
    """A function without bodies: in the order of the trace. Constants and inputs that are results are included."""
    program = trace(lambda x: np.array([x[1], 3.0, x[0] * x[1] + 1, x[0]]), {"x": (3,)})
    order = by_visits(program)
    assert [n for n in order if n.args] == [n for n in program.nodes if n.args]
    assert {n.index for n in order} == {n.index for n in program.nodes}
