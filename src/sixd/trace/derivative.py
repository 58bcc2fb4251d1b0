"""Derivatives of a graph: new nodes in the same graph, forward or in reverse, with structural zeros left out."""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from sixd.body_marks import new_loop
from sixd.spatial.scalar import CHOOSES_FIRST, RULES, Array, object_array
from sixd.trace.expr import Expr, Mark
from sixd.trace.ops import Op
from sixd.trace.program import live_nodes
from sixd.trace.replay import apply

_FUNCTIONS = {Op.ABS: "absolute", Op.MIN: "minimum", Op.MAX: "maximum"}  # names in sixd.spatial that differ

# arithmetic: the partial derivatives with respect to both arguments; dual numbers have these as operators
_ARITHMETIC: dict[Op, Callable[[Expr], tuple[Any, ...]]] = {
    Op.ADD: lambda n: (1, 1),
    Op.SUB: lambda n: (1, -1),
    Op.MUL: lambda n: (n.args[1], n.args[0]),
    Op.DIV: lambda n: (1 / n.args[1], -n / n.args[1]),
    Op.NEG: lambda n: (-1,),
}


def _partials(node: Expr, bounded: bool) -> Sequence[Any]:
    """The partial derivatives of an operation with respect to its arguments; if ``bounded``, zero where infinite."""
    if node.op in _ARITHMETIC:
        return _ARITHMETIC[node.op](node)
    name = _FUNCTIONS.get(node.op, node.op.word)
    if name in CHOOSES_FIRST:
        first = CHOOSES_FIRST[name](*node.args)
        return first.where(1, 0), first.where(0, 1)
    rule = RULES[name]
    partials = rule.partials(node, *node.args)
    if not bounded or rule.below is None:
        return partials
    below = node.graph.lift(rule.below(node, *node.args))
    return [(below == 0).where(0, x) for x in partials]


def _numbers(node: Expr, bounded: bool = False) -> list[tuple[Expr, Any]]:
    """Arguments that are numbers, not conditions, each with the function d ↦ d · partial derivative."""
    if node.op is Op.SELECT:
        c, a, b = node.args
        return [(a, lambda d: c.where(d, 0)), (b, lambda d: c.where(0, d))]
    if node.op is Op.HELD:
        return [(node.args[1], lambda d: d)]
    return [(a, lambda d, p=p: d * p) for a, p in zip(node.args, _partials(node, bounded), strict=True)]


def directional(outputs: Sequence[Expr], inputs: Sequence[Expr], directions: Array, *, bounded: bool = True) -> Array:
    """Derivatives (m, k) of the outputs along the rows of ``directions`` (k, n), numbers or nodes for the n inputs.

    An entry that is zero by structure is the int 0. If ``bounded``, infinite derivatives of roots, logarithms and
    inverse trigonometric functions count as zero: the derivative of √max(0, x) is then zero up to x = 0, not NaN.
    """
    seeds = {x.index: {k: row[i] for k, row in enumerate(directions)} for i, x in enumerate(inputs)}
    out = np.zeros((len(outputs), len(directions)), dtype=object)
    for i, row in enumerate(_forward(outputs, seeds, bounded=bounded)):
        for k, d in row.items():
            out[i, k] = d
    return out


def jvp(
    outputs: Sequence[Expr], inputs: Sequence[Expr], tangents: Sequence[Any], *, bounded: bool = False
) -> list[Any]:
    """Directional derivatives of the outputs along ``tangents`` (one number or node for each input), forward; see
    :func:`directional` for ``bounded``."""
    rows = _forward(outputs, {x.index: {0: t} for x, t in zip(inputs, tangents, strict=True)}, bounded=bounded)
    return [row.get(0, 0) for row in rows]


def _forward(
    outputs: Sequence[Expr], seeds: dict[int, dict[int, Any]], *, bounded: bool = False
) -> list[dict[int, Any]]:
    """The derivatives of each output that are not zero, by direction; ``seeds`` has those of inputs."""
    rates: dict[int, dict[int, Any]] = {}
    for node in _revisited(live_nodes(list(outputs), held=1)):
        row = dict(seeds.get(node.index, {}))
        if node.op not in (Op.CONST, Op.INPUT) and not node.op.boolean:
            for a, times in _numbers(node, bounded) if any(rates.get(a.index) for a in node.args) else ():
                for k, d in rates[a.index].items():
                    term = times(node.graph.lift(d))
                    row[k] = row[k] + term if k in row else term
        rates[node.index] = {k: d for k, d in row.items() if not is_zero(d)}
    return [rates[y.index] for y in outputs]


def vjp(
    outputs: Sequence[Expr], inputs: Sequence[Expr], cotangents: Sequence[Any], *, bounded: bool = False
) -> list[Any]:
    """Derivatives of Σ cotangent · output with respect to each input, in one reverse sweep; see :func:`directional` for
    ``bounded``.

    Values that a selection does not choose do not contribute, even where they or their derivatives are not finite.
    """
    weight: dict[int, _Weight] = {}
    for y, w in zip(outputs, cotangents, strict=True):
        _add(weight, y, _Weight(w))
    for node in _revisited(live_nodes(list(outputs), held=1)[::-1]):
        own = weight.get(node.index)
        if node.op in (Op.CONST, Op.INPUT) or node.op.boolean or own is None or is_zero(own.value):
            continue
        value, chosen = node.graph.lift(own.value), own.chosen
        if node.op is Op.SELECT:
            c, *sides = node.args
            for a, side in zip(sides, (True, False), strict=True):
                _add(weight, a, _Weight(value, (*chosen, (c, side))))
            continue
        for a, times in _numbers(node, bounded):
            _add(weight, a, _Weight(times(value), chosen))
    return [weight[x.index].total if x.index in weight else 0 for x in inputs]


class _Weight(NamedTuple):
    """A weight in the reverse sweep: ``value`` where all conditions hold (True) or fail (False), else zero.

    The selection is made late. Made at once, a zero would be multiplied by the derivatives of what was not chosen,
    which may be infinite.
    """

    value: Any
    chosen: tuple[tuple[Expr, bool], ...] = ()

    @property
    def condition(self) -> Expr:
        """Whether it is chosen."""
        return reduce(operator.and_, (c if side else ~c for c, side in self.chosen))

    @property
    def total(self) -> Any:
        """The weight with its selections made."""
        value = self.value
        for c, side in reversed(self.chosen):
            value = c.where(value, 0) if side else c.where(0, value)
        return value


def _add(weights: dict[int, _Weight], node: Expr, more: _Weight) -> None:
    """Add to the weight of a node. Selections that both weights have are made later, as is one that is zero where
    neither is chosen."""
    old = weights.get(node.index)
    if node.op is Op.CONST or is_zero(more.value):
        return
    if old is None:
        weights[node.index] = more
        return
    pairs = zip(old.chosen, more.chosen, strict=False)
    n = len(list(takewhile(lambda pair: pair[0][0].index == pair[1][0].index and pair[0][1] == pair[1][1], pairs)))
    common, first, second = old.chosen[:n], old._replace(chosen=old.chosen[n:]), more._replace(chosen=more.chosen[n:])
    total = first.total + second.total
    if first.chosen and second.chosen and node.op is not Op.INPUT:
        either = first.condition | second.condition
        common = common if either.is_const else (*common, (either, True))
    weights[node.index] = _Weight(total, common)


def resolved(outputs: Sequence[Any], known: Mapping[int, Expr] | None = None) -> list[Any]:
    """The outputs, numbers or nodes, with HELD nodes replaced by their values, and ``known`` nodes by their equals."""
    nodes = [y for y in outputs if isinstance(y, Expr)]
    changed: dict[int, Expr] = dict(known or {})
    for node in _revisited(live_nodes(nodes, held=0)):
        if known and node.index in known:
            continue
        args = [changed.get(a.index, a) for a in node.args]
        if node.op is Op.HELD:
            changed[node.index] = args[0]
        elif any(a.index in changed for a in node.args):
            changed[node.index] = node.graph.lift(apply(node.op, *args))
    return [changed.get(y.index, y) if isinstance(y, Expr) else y for y in outputs]


def _revisited(nodes: Sequence[Expr]) -> Iterator[Expr]:
    """The nodes in order; operations made meanwhile are marked as of the body to which the node belongs."""
    if not nodes:
        return
    graph = nodes[0].graph
    marks = [Mark(0, 0, 0), *graph.marks]
    starts = [mark.start for mark in marks]
    loops: defaultdict[int, int] = defaultdict(new_loop)
    now = -1
    for node in nodes:
        k = bisect_right(starts, node.index) - 1
        if k != now:
            now = k
            graph.visit(loops[marks[k].loop] if marks[k].loop else 0, marks[k].body)
        yield node
    graph.visit(0, 0)


def jacobian(outputs: Sequence[Expr], inputs: Sequence[Expr], *, mode: str = "forward") -> Array:
    """∂outputs/∂inputs (m, n) as an object array; an entry that is zero by structure is the int 0.

    ``mode`` "forward" propagates the derivatives with respect to all inputs at once, where they are not zero; "reverse"
    does one sweep for each output. Both compute the same function.
    """
    out = np.zeros((len(outputs), len(inputs)), dtype=object)
    if mode == "reverse":
        for i, y in enumerate(outputs):
            out[i, :] = [0 if is_zero(x) else x for x in vjp([y], inputs, [1])]
    else:
        for i, row in enumerate(_forward(outputs, {x.index: {k: 1} for k, x in enumerate(inputs)})):
            for k, d in row.items():
                out[i, k] = d
    return out


def with_matrix(outputs: Array, *inputs: Array) -> Array:
    """The same values, whose derivatives with respect to the inputs are products with a matrix that is computed once:
    along many directions that takes less than the derivatives of each operation."""
    graph = next(x.graph for x in outputs.ravel() if isinstance(x, Expr))
    entries = [x for array in inputs for x in np.ravel(array)]
    table = jacobian(graph.entries(outputs), entries)

    def product(row: Array) -> Any:
        pairs = ((d.held() if isinstance(d, Expr) else d, x) for d, x in zip(row, entries, strict=True))
        return sum(d * x for d, x in pairs if not is_zero(d))

    along = [product(row) for row in table]
    held = [graph.lift(y).held(d) for y, d in zip(outputs.ravel(), along, strict=True)]
    return object_array(held, outputs.shape)


def sparsity(jacobian: Array) -> Array:
    """Boolean array: True where a Jacobian from :func:`jacobian` is not zero by structure."""
    return np.array([not is_zero(x) for x in jacobian.ravel()], dtype=bool).reshape(jacobian.shape)


def is_zero(x: object) -> bool:
    """Whether a number or node is zero by structure."""
    return x.is_value(0) if isinstance(x, Expr) else bool(x == 0)
