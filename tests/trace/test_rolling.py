"""Rolled programs: marks, segments and shapes, run by a small interpreter of the code generators' input."""

import pickle
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from samples import KINDS, Parabola
from sixd import body_marks
from sixd.algorithms.aba import aba
from sixd.algorithms.crba import crba
from sixd.algorithms.rnea import rnea
from sixd.spatial import cos, maximum, sin, sqrt, where
from sixd.trace import segments
from sixd.trace.derivative import jacobian
from sixd.trace.expr import Graph
from sixd.trace.program import Slot, make_program, trace
from sixd.trace.rolling import CONSTANT, INSIDE, OUTSIDE, TRUTH, roll

ALGORITHMS = {"rnea": (rnea, 3), "aba": (aba, 3), "crba": (crba, 1)}


def traced(model, name):
    function, count = ALGORITHMS[name]
    shapes = {"q": (model.nq,), "qd": (model.nv,), "qdd": (model.nv,)}
    return trace(lambda *arrays: function(model, *arrays), dict(list(shapes.items())[:count]))


def chain(n):
    """Links that differ in all numbers."""
    rng, builder = np.random.default_rng(0), sixd.ModelBuilder("chain")
    for k in range(n):
        placement = sixd.spatial.placement(rng.uniform(0.1, 0.5, 3), rpy=rng.uniform(0.1, 0.5, 3))
        inertia = sixd.box(*rng.uniform(0.1, 0.3, 3), mass=rng.uniform(1, 2)).translated(rng.uniform(0.1, 0.2, 3))
        parent = f"link{k - 1}" if k else "world"
        builder.add_body(f"link{k}", parent, sixd.Revolute("z"), placement=placement, inertia=inertia)
    return builder.build()


def run(program, rolled, *arrays):
    """Return the outputs of a rolled program for one sample: its calls, one after another, on a work memory full of
    NaN.
    """
    work = np.full(rolled.size, np.nan)
    for first, slot, array in zip(rolled.inputs, program.inputs, arrays, strict=True):
        work[first : first + len(slot.entries)] = np.ravel(array)
    a = c = 0
    for number in rolled.calls:
        shape = rolled.shapes[number]
        call(shape, work, rolled.addresses[a : a + shape.addresses], rolled.constants[c : c + shape.constants])
        a, c = a + shape.addresses, c + shape.constants
    assert (a, c) == (len(rolled.addresses), len(rolled.constants))
    results = []
    for slot, at in zip(program.outputs, rolled.outputs, strict=True):
        assert [k < 0 for k in at] == [e.is_const for e in slot.entries]
        values = [e.value if k < 0 else work[k] for e, k in zip(slot.entries, at, strict=True)]
        results.append(np.reshape(values, slot.shape))
    return results


def call(shape, work, addresses, constants):
    values = []
    with np.errstate(all="ignore"):
        for node, arguments in zip(shape.nodes, shape.arguments, strict=True):
            given = []
            for kind, detail in arguments:
                if kind == INSIDE:
                    given.append(values[detail])
                elif kind == CONSTANT:
                    given.append(constants[detail])
                elif kind == TRUTH:
                    given.append(bool(detail))
                else:
                    given.append(work[addresses[kind - OUTSIDE] + detail])
            values.append(node.op.on_floats(*given))
    for value, kept in zip(values, shape.results, strict=True):
        if kept is not None:
            work[addresses[kept[0]] + kept[1]] = value


def check(program, rng, **options):
    """Run a program rolled, and compare it with its evaluation; return the parts that ran."""
    arrays = [rng.uniform(-1, 1, slot.shape) for slot in program.inputs]
    for fuse in (False, True):
        rolled = roll(program, fuse=fuse)
        for got, want in zip(run(program, rolled, *arrays), program.evaluate(*arrays), strict=True):
            assert_array_equal(got, want)
    return rolled


# results --------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_joint_type(kind, name, rng):
    check(traced(sixd.zoo.random_tree(2, kinds=("revolute", kind, "prismatic", kind)), name), rng)


@pytest.mark.long
@pytest.mark.parametrize("name", ALGORITHMS)
def test_trees_and_own_joints(name, rng):
    check(traced(sixd.zoo.random_tree(1), name), rng)
    builder = sixd.ModelBuilder("own")
    builder.add_body("bead", "world", Parabola(), inertia=sixd.box(1, 2, 3, mass=4.0))
    builder.add_body("arm", "bead", sixd.Revolute("x"), inertia=sixd.box(3, 2, 1, mass=2.0))
    check(traced(builder.build(), name), rng)


def test_conditions_constants_and_inputs_as_results(rng):
    """Truth values pass from one segment to another; constants and inputs are results too; one input is not used."""

    def f(x, unused):
        big = x[0] > 0.1
        y = [sin(x[0]), cos(x[0]) * 2]
        for k in range(40):
            y.append(where(big & (y[-1] < 0.5), y[-1] + x[k % 3], maximum(y[-2], -0.2) * y[-1]))
        z = where(big | ~(y[7] < y[9]), 1.5, sqrt(y[-1] * y[-1]))
        return np.array([z, y[-1], 3.0, x[1], z, 0.0]), x[2], np.zeros((0, 2))

    program = trace(f, {"x": (3,), "unused": (2,)})
    for _ in range(20):
        check(program, rng)


def test_programs_without_operations(rng):
    check(trace(lambda x: (x, np.array([1.0, 2.0])), {"x": (2,)}), rng)
    check(trace(lambda: np.array([3.0]), {}), rng)


@pytest.mark.parametrize("longest", [3, 10, 100])
def test_programs_without_marks_are_cut(longest, rng, monkeypatch):
    monkeypatch.setattr(segments, "LONGEST", longest)
    monkeypatch.setattr(segments, "PART", longest)

    def f(x):
        y = list(x)
        for k in range(300):
            y.append(y[-1] * y[k] + sin(y[k % 7] - x[k % 5]))
        return np.array([y[-1], y[100], y[2] * y[1]])

    program = trace(f, {"x": (5,)})
    rolled = check(program, rng)
    assert max(len(shape.nodes) for shape in rolled.shapes) <= 2 * longest  # with fused products


def test_bodies_visited_in_no_order(rng):
    """Marks are hints: whatever they are, results are right."""

    def f(x):
        graph, y = x[0].graph, list(x)
        order = np.random.default_rng(5)
        for k in range(200):
            graph.visit(int(order.integers(0, 4)), int(order.integers(0, 6)))
            y.append(y[-1] * y[int(order.integers(0, len(y)))] + x[k % 5])
        return np.array(y[-3:])

    for _ in range(5):
        check(trace(f, {"x": (5,)}), rng)


# shapes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rnea", "aba"])
def test_shapes_do_not_grow_with_a_chain(name, rng):
    """Equal links share functions: 60 links need as many as 30, with as many operations in total."""
    found = [check(traced(sixd.zoo.pendulum(n), name), rng) for n in (30, 60)]
    small, large = ([len(shape.nodes) for shape in rolled.shapes] for rolled in found)
    assert small == large
    assert len(found[1].calls) > 1.9 * len(found[0].calls)
    assert found[1].size < 2.1 * found[0].size


def test_steps_along_a_branch_are_segments(rng):
    """The inner loop of the mass matrix: without its marks, each body of a chain would have a shape of its own."""
    small, large = (check(traced(sixd.zoo.pendulum(n), "crba"), rng) for n in (20, 40))
    assert len(large.shapes) <= len(small.shapes) + 2
    assert len(large.calls) > 2.5 * len(small.calls)


def test_a_constant_is_not_part_of_a_shape(rng):
    rolled = check(traced(chain(12), "rnea"), rng)
    most = max(rolled.calls.count(k) for k in range(len(rolled.shapes)))
    assert most >= 9


def test_memory_is_used_again(rng):
    """A sweep needs the values of one body at a time, and those that a later sweep reads."""
    rolled = check(traced(chain(30), "aba"), rng)
    kept = sum(kept is not None for number in rolled.calls for kept in rolled.shapes[number].results)
    assert rolled.size < 0.7 * kept


def test_derivatives_inherit_the_marks(rng):
    """Nodes of a derivative belong to the body of the differentiated node, forward and in reverse."""
    for mode, most in (("forward", 40), ("reverse", 60)):
        counts = []
        for n in (12, 24):
            model, graph = sixd.zoo.pendulum(n), Graph()
            q, qd, qdd = (graph.input(name, (n,)) for name in ("q", "qd", "qdd"))
            with body_marks.listening(graph):
                tau = rnea(model, q, qd, qdd)
            last = [tau[-1]] if mode == "forward" else [tau.sum()]
            inputs = list(qdd)[-3:] if mode == "forward" else list(qdd)
            J = jacobian(last, inputs, mode=mode)
            slots = [Slot(name, (n,), graph.entries(x)) for name, x in (("q", q), ("qd", qd), ("qdd", qdd))]
            program = make_program(slots, [Slot("J", J.shape, graph.entries(J))])
            rolled = check(program, rng)
            counts.append(len(rolled.shapes))
            M = crba(model, np.full(n, 0.1))
            want = M[-1, -1] if mode == "forward" else M[:, -1].sum()
            assert_allclose(program.evaluate(*(np.full(n, 0.1),) * 3)[0][0, -1], want, rtol=1e-12)
        assert counts[1] <= min(counts[0] + 3, most)


# visits ---------------------------------------------------------------------------------------------


class Recorder:
    """A listener that stores the reported visits."""

    def __init__(self):
        self.visits = []

    def visit(self, loop, body):
        self.visits.append((loop, body))


def test_visits_are_reported_to_the_listener_of_the_thread():
    model, heard = sixd.zoo.pendulum(3), Recorder()
    assert model.bodies == range(1, 4)
    with body_marks.listening(heard):
        assert list(model.bodies) == [1, 2, 3]
        assert list(reversed(model.bodies)) == [3, 2, 1]
        assert [len(model.bodies), model.bodies[1], 3 in model.bodies, 4 in model.bodies] == [3, 2, True, False]
        assert model.bodies == range(1, 4) == model.bodies
        assert {range(1, 4): "here"}[model.bodies] == "here"
        assert (model.bodies.stop, model.bodies.index(2), repr(model.bodies)) == (4, 1, "range(1, 4)")
        assert model.parent[2] == 1
        assert model.parent[1:3] == (0, 1)
        other = threading.Thread(target=lambda: list(model.bodies))
        other.start()
        other.join()
    list(model.bodies)
    loops = [loop for loop, _ in heard.visits]
    assert [body for _, body in heard.visits] == [1, 2, 3, 0, 3, 2, 1, 0, 2]
    assert loops[0] == loops[1] == loops[2] != loops[4] == loops[5] == loops[6]
    assert loops[3] == loops[7] == loops[8] == 0


def test_the_parents_are_a_tuple():
    model = sixd.zoo.pendulum(3)
    assert isinstance(model.parent, tuple)
    assert repr(model.parent) == "(-1, 0, 1, 2)"
    copy = pickle.loads(pickle.dumps(model))
    assert copy.parent == model.parent
    assert type(pickle.loads(pickle.dumps(model.parent))) is tuple
