"""Program: the live part of a graph, from named inputs to named outputs, ready to be evaluated or compiled."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from sixd.body_marks import listening
from sixd.errors import ShapeError, TraceError
from sixd.gc_pause import PAUSED
from sixd.spatial.scalar import Array
from sixd.trace.expr import Expr, Graph, Mark
from sixd.trace.ops import Op


@dataclass(frozen=True, eq=False)
class Slot:
    """An input or output array: its name, its shape, and its scalars in row-major order."""

    name: str
    shape: tuple[int, ...]
    entries: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """Inputs, outputs, and every node between them in an order in which arguments come first.

    ``watched`` are nodes with weights: compiled code marks a state as suspect where their weighted sum is large.
    ``marks`` are the graph's. ``source``, if any, is the traced function, to be traced again where derivatives are
    wanted.
    """

    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    nodes: tuple[Expr, ...]
    watched: tuple[tuple[Expr, float], ...] = ()
    marks: tuple[Mark, ...] = ()
    source: Callable[..., Any] | None = None

    def count(self) -> Counter[str]:
        """Number of operations of each kind, each node once; constants and inputs do not count."""
        kinds = Counter(map(attrgetter("op"), self.nodes))
        return Counter({op.word: count for op, count in kinds.items() if op not in (Op.CONST, Op.INPUT)})

    @property
    def operations(self) -> int:
        """Number of operations of all kinds."""
        return sum(self.count().values())

    def evaluate(self, *arrays: Any) -> tuple[Array, ...]:
        """The outputs for NumPy arrays with leading batch dimensions: the reference for every target."""
        values = [np.asarray(a, dtype=float) for a in arrays]
        if len(values) != len(self.inputs):
            raise ShapeError(f"evaluate: got {len(values)} arrays, expected {len(self.inputs)}.")
        known: dict[int, Any] = {}
        for slot, array in zip(self.inputs, values, strict=True):
            core = len(slot.shape)
            if array.shape[array.ndim - core :] != slot.shape:
                raise ShapeError(f"evaluate: {slot.name} has shape {array.shape}, expected (..., {slot.shape}).")
            flat = array.reshape((*array.shape[: array.ndim - core], math.prod(slot.shape)))
            known |= {e.index: flat[..., k] for k, e in enumerate(slot.entries)}
        with np.errstate(all="ignore"):
            for node in self.nodes:
                if node.op is Op.CONST:
                    known[node.index] = np.float64(node.value)
                elif node.op is not Op.INPUT:
                    known[node.index] = node.op.on_floats(*(known[a.index] for a in node.args))
        batch = np.broadcast_shapes(
            *(a.shape[: a.ndim - len(slot.shape)] for slot, a in zip(self.inputs, values, strict=True))
        )
        return tuple(_gather([known[e.index] for e in slot.entries], slot.shape, batch) for slot in self.outputs)


def _gather(entries: list[Any], shape: tuple[int, ...], batch: tuple[int, ...]) -> Array:
    columns = [np.broadcast_to(np.asarray(x, dtype=float), batch) for x in entries]
    return np.stack(columns, axis=-1).reshape(batch + shape) if columns else np.zeros(batch + shape)


@PAUSED  # nodes stay alive: to look for garbage among them takes a third of the time of 100,000 operations
def trace(
    function: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    dtype: str = "float64",
    *,
    watch: Callable[..., Sequence[tuple[Any, float]]] | None = None,
) -> Program:
    """The program of ``function``, called once with arrays of traced scalars of these names and shapes.

    It returns an array or a tuple of arrays, which are the outputs. ``dtype`` is that of the compiled code. ``watch``,
    called with the same arrays, returns scalars with weights to be watched; those that the function does not compute
    are dropped.
    """
    graph = Graph(dtype)
    arrays = {name: graph.input(name, shape) for name, shape in inputs.items()}
    # copies, so that a function may change its arguments
    with listening(graph):
        result = function(*(a.copy() if isinstance(a, np.ndarray) else a for a in arrays.values()))
    results = result if isinstance(result, tuple) else (result,)
    for r in results:
        require_numbers(r)
    slots = [Slot(name, inputs[name], graph.entries(a)) for name, a in arrays.items()]
    outputs = [Slot(f"out{k}", np.shape(r), graph.entries(r)) for k, r in enumerate(results)]
    program = make_program(slots, outputs)
    if watch is None:
        return program
    live = {node.index for node in program.nodes if not node.is_const}
    pairs = [(x, weight) for x, weight in watch(*arrays.values()) if isinstance(x, Expr) and x.index in live]
    return replace(program, watched=tuple(pairs))


def require_numbers(result: object) -> None:
    """Raise TraceError unless a traced function returned numbers."""
    if isinstance(result, (np.ndarray, list, tuple, float, int, np.generic)):
        return
    if isinstance(result, Expr):
        if result.op.boolean:
            raise TraceError("it returns a condition, expected numbers. Return sixd.where(condition, 1, 0).")
        return
    hint = " Is a return missing?" if result is None else ""
    raise TraceError(f"it returns a {type(result).__name__}, expected an array or a tuple of arrays.{hint}")


def make_program(inputs: list[Slot], outputs: list[Slot]) -> Program:
    """The program of these slots, without nodes that no output needs."""
    live = live_nodes([e for slot in outputs for e in slot.entries])
    marks = tuple(live[-1].graph.marks) if live else ()
    program = Program(tuple(inputs), tuple(outputs), tuple(live), marks=marks)
    check(program)
    return program


def live_nodes(outputs: list[Expr], held: int | None = None) -> list[Expr]:
    """The nodes that the outputs need, in the order of creation.

    With ``held``, only one argument of HELD nodes counts: 0 the value, 1 the one with its derivatives.
    """
    if not outputs:
        return []
    # arguments are created before their users: one sweep back through the graph marks them all
    newest = max(e.index for e in outputs)
    needed = bytearray(newest + 1)
    for e in outputs:
        needed[e.index] = 1
    live: list[Expr] = []
    for node in reversed(outputs[0].graph.nodes[: newest + 1]):
        if needed[node.index]:
            live.append(node)
            for a in node.args if held is None or node.op is not Op.HELD else (node.args[held],):
                needed[a.index] = 1
    live.reverse()
    return live


def check(program: Program) -> None:
    """Raise TraceError if the program is not well formed; called between the stages of the compiler."""
    known: set[int] = set()
    inputs = {e.index for slot in program.inputs for e in slot.entries}
    for node in program.nodes:
        index, op, args = node.index, node.op, node.args
        if len(args) != op.arity:
            raise TraceError(f"check: %{index} = {node!r} has {len(args)} arguments, expected {op.arity}.")
        for a in args:
            if a.index not in known:
                raise TraceError(f"check: %{index} = {node!r} uses %{a.index} before it is made.")
            if a.op.boolean or op.takes_conditions:  # few do
                _check_conditions(node)
        if not args and op is Op.INPUT and index not in inputs:
            raise TraceError(f"check: {node!r} is not an input of any slot.")
        if index in known:
            raise TraceError(f"check: %{index} occurs twice.")
        known.add(index)
    for slot in program.outputs:
        for e in slot.entries:
            if e.op.boolean:
                raise TraceError("a condition is used as a number. Write sixd.where(condition, 1, 0).")
            if e.index not in known:
                raise TraceError(f"check: output {slot.name} has {e!r}, expected a number that was computed.")


def _check_conditions(node: Expr) -> None:
    """Raise TraceError if a number stands where a truth value is expected, or the reverse."""
    for k, a in enumerate(node.args):
        if a.op.boolean is not node.op.argument_boolean(k) and not a.is_const:
            raise TraceError(f"check: argument {k} of %{node.index} = {node!r} is a {a.op.word}.")


def depth_first(nodes: Sequence[Expr], ends: Iterable[Expr]) -> list[Expr]:
    """Those of the nodes that the ends need, arguments first, each as late as possible; from the last end to the first.

    Of the arguments of a node, the one that needs more registers comes first.
    """
    known = {node.index: node for node in nodes}
    order = _depth_first({n.index: [a.index for a in n.args] for n in nodes}, [e.index for e in ends])
    return [known[k] for k in order]


def by_visits(program: Program) -> list[Expr]:
    """The nodes of a program, one visit of a body after the other; visits depth-first, operations of each as traced.

    The passes of an algorithm over a limb then stand together, before those over the next limb: in forward dynamics of
    Talos, 32 joints, at most 240 values are live at a time, 334 in depth-first order, 500 as traced.
    """
    starts = [mark.start for mark in program.marks]
    visit = {node.index: bisect_right(starts, node.index) for node in program.nodes if node.args}
    members: dict[int, list[Expr]] = defaultdict(list)
    needs: dict[int, dict[int, None]] = defaultdict(dict)  # keys in order
    for node in program.nodes:
        if node.args:
            own = visit[node.index]
            members[own].append(node)
            needs[own] |= {visit[a.index]: None for a in node.args if a.args and visit[a.index] != own}
    ends = [visit[e.index] for slot in program.outputs for e in slot.entries if e.args]
    order: dict[int, Expr] = {}
    for own in _depth_first({k: list(needs[k]) for k in members}, ends):
        for node in members[own]:
            order |= {a.index: a for a in node.args if not a.args}
            order[node.index] = node
    return list((order | {node.index: node for node in program.nodes}).values())


def _depth_first(arguments: Mapping[int, Sequence[int]], ends: Iterable[int]) -> list[int]:
    """The keys that the ends need, in the order of :func:`depth_first`; arguments come before their users as keys."""
    need: dict[int, int] = {}
    for key, own in arguments.items():
        need[key] = _registers([need.get(a, 1) for a in own])
    order: dict[int, None] = {}
    stack = [(end, False) for end in ends]
    while stack:
        key, ready = stack.pop()
        if key in order:
            continue
        if ready or not arguments[key]:
            order[key] = None
            continue
        stack.append((key, True))
        stack.extend((a, False) for a in sorted((a for a in arguments[key] if a in need), key=need.__getitem__))
    return list(order)


def _registers(needs: Sequence[int]) -> int:
    """Sethi and Ullman's count for a tree: values live at once when the neediest argument is computed first."""
    return max((n + k for k, n in enumerate(sorted(needs, reverse=True))), default=1)


def work_indices(parts: Iterable[Iterable[Expr]], last: Mapping[int, int]) -> tuple[dict[int, int], int]:
    """The index in a work array of each node's value that passes from one part of a program to another; its length.

    ``parts`` are the nodes that each part computes, ``last`` has the last part that reads a node's value. That part may
    reuse the value's entry of the array.
    """
    index: dict[int, int] = {}
    free: list[int] = []
    ends: dict[int, list[int]] = defaultdict(list)
    size = 0
    for k, part in enumerate(parts):
        free += ends[k]
        for n in part:
            if last.get(n.index, k) > k:
                if not free:
                    free, size = [size], size + 1
                index[n.index] = free.pop()
                ends[last[n.index]].append(index[n.index])
    return index, size
